/* SPDX-License-Identifier: Apache-2.0 */
/* A table from ATen's source: each row names the file whose kernel computes in the tensors' own type (`scalar_t`) where
   others go through f32 (`opmath_t`, `acc_t`). Files are those of aten/src/ATen/native. */
#include "precision.h"

#include <cstring>

namespace assay_torch {

struct narrow_kernel {
    const char *op; /* without overload; in-place variants too */
    assay_precision precision;
    bool f16_only;
    const char *source;
};

static const narrow_kernel narrow_kernels[] = {
    {"index_add", ASSAY_NARROW_SUMS, false, "TensorAdvancedIndexing.cpp: self[index] += source, in scalar_t"},
    {"index_put", ASSAY_NARROW_SUMS, false, "cpu/IndexKernel.cpp: *dst += *src, in scalar_t"},
    {"_index_put_impl", ASSAY_NARROW_SUMS, false, "cpu/IndexKernel.cpp"},
    {"col2im", ASSAY_NARROW_SUMS, false, "im2col.h: data_im[...] += data_col[...], in T"},
    {"im2col_backward", ASSAY_NARROW_SUMS, false, "im2col.h: it runs as col2im"},
    {"unfold_backward", ASSAY_NARROW_SUMS, false, "cpu/UnfoldBackwardKernel.cpp: *grad_in += *grad_out, in scalar_t"},
    {"embedding_dense_backward", ASSAY_NARROW_SUMS, false, "Embedding.cpp: axpy into the rows of the result"},
    {"max_pool2d_with_indices_backward", ASSAY_NARROW_SUMS, false, "cpu/MaxPoolKernel.cpp: grad_input[index] += grad_output"},
    {"reflection_pad2d_backward", ASSAY_NARROW_SUMS, false, "cpu/PaddingKernel.cpp: grad_in[...] += grad_out[...]"},
    {"nll_loss_forward", ASSAY_NARROW_SUMS, false, "LossNLL.cpp: partial sums are of scalar_t"},
    {"grid_sampler_2d", ASSAY_NARROW_SUMS, false, "cpu/GridSamplerKernel.cpp: positions, weights and sums in Vectorized<scalar_t>"},
    {"grid_sampler_2d_backward", ASSAY_NARROW_SUMS, false, "cpu/GridSamplerKernel.cpp"},
    {"upsample_bilinear2d", ASSAY_NARROW_SUMS, false, "cpu/UpSampleKernel.cpp: weights are stored, products added in scalar_t"},
    {"upsample_bicubic2d", ASSAY_NARROW_SUMS, false, "cpu/UpSampleKernel.cpp"},
    {"native_batch_norm", ASSAY_NARROW_STEPS, false, "Normalization.cpp: mean and 1/deviation are rounded to the weights' type"},
    {"mse_loss_backward", ASSAY_NARROW_STEPS, false, "cpu/PointwiseOpsKernel.cpp: scalar_val * (a - b) * c, in scalar_t"},
    {"sigmoid_backward", ASSAY_NARROW_STEPS, true, "cpu/BinaryOpsKernel.cpp: a * (1 - b) * b, in f16; bf16 goes through f32"},
    {"_cudnn_rnn", ASSAY_NARROW_STEPS, false, "RNN.cpp: a cell is several operators, each with its result in the tensors' type"},
    {"_cudnn_rnn_backward", ASSAY_NARROW_SUMS, false, "RNN.cpp: autograd adds up over time in the tensors' type"},
};

assay_precision precision_of(const char *op, int32_t dtype) {
    if (dtype != ASSAY_F16 && dtype != ASSAY_BF16) {
        return ASSAY_WIDE;
    }
    size_t length = std::strcspn(op, ".");
    if (length > 1 && op[length - 1] == '_') {
        length--;
    }
    for (const narrow_kernel &k : narrow_kernels) {
        if (std::strlen(k.op) == length && std::strncmp(k.op, op, length) == 0) {
            return k.f16_only && dtype != ASSAY_F16 ? ASSAY_WIDE : k.precision;
        }
    }
    return ASSAY_WIDE;
}

} // namespace assay_torch
