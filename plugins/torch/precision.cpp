/* SPDX-License-Identifier: Apache-2.0 */
/* A table from ATen's source, aten/src/ATen/native: each row names the file whose kernel computes in the tensors' own type
   (`scalar_t`) where others go through f32 (`opmath_t`, `acc_t`). That index_add, index_put, embedding_dense_backward,
   unfold_backward, avg_pool2d_backward and _adaptive_avg_pool2d_backward do so was also seen in their results: they are, to the bit,
   those of a sum rounded at each step. No row is there for nothing: without it 2.15's results on the embedded suite, on recorded inputs
   or on such with sizes altered at random are outside the tolerance, in bf16 and in f16. */
#include "precision.h"

#include <cstring>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace assay_torch {

/* WITHOUT_ONEDNN: where PyTorch has no oneDNN kernel for the type: for f16 on processors without arithmetic in it (AVX512_FP16), for bf16
   on those without AVX-512 (mkldnn/Utils.h). */
enum where { EVERYWHERE, F16_ONLY, WITHOUT_ONEDNN };

struct narrow_kernel {
    const char *op; /* without overload; in-place variants too */
    assay_precision precision;
    where holds;
    const char *source;
};

static const narrow_kernel narrow_kernels[] = {
    {"index_add", ASSAY_NARROW_SUMS, EVERYWHERE, "TensorAdvancedIndexing.cpp: self[index] += source, in scalar_t"},
    {"index_put", ASSAY_NARROW_SUMS, EVERYWHERE, "cpu/IndexKernel.cpp: *dst += *src, in scalar_t"},
    {"_index_put_impl", ASSAY_NARROW_SUMS, EVERYWHERE, "cpu/IndexKernel.cpp"},
    {"col2im", ASSAY_NARROW_SUMS, EVERYWHERE, "im2col.h: data_im[...] += data_col[...], in T"},
    {"im2col_backward", ASSAY_NARROW_SUMS, EVERYWHERE, "im2col.h: it runs as col2im"},
    {"unfold_backward", ASSAY_NARROW_SUMS, EVERYWHERE, "cpu/UnfoldBackwardKernel.cpp: *grad_in += *grad_out, in scalar_t"},
    {"embedding_dense_backward", ASSAY_NARROW_SUMS, EVERYWHERE, "Embedding.cpp: axpy into the rows of the result"},
    {"max_pool2d_with_indices_backward", ASSAY_NARROW_SUMS, EVERYWHERE, "cpu/MaxPoolKernel.cpp: grad_input[index] += ..."},
    {"avg_pool2d_backward", ASSAY_NARROW_SUMS, EVERYWHERE, "cpu/AvgPoolKernel.cpp: grad_input[...] += grad_delta, in scalar_t"},
    {"_adaptive_avg_pool2d_backward", ASSAY_NARROW_SUMS, EVERYWHERE, "cpu/AdaptiveAvgPoolKernel.cpp: grad_input[...] += grad_delta"},
    {"reflection_pad2d_backward", ASSAY_NARROW_SUMS, EVERYWHERE, "cpu/PaddingKernel.cpp: grad_in[...] += grad_out[...]"},
    {"nll_loss_forward", ASSAY_NARROW_SUMS, EVERYWHERE, "LossNLL.cpp: partial sums are of scalar_t"},
    {"grid_sampler_2d", ASSAY_NARROW_SUMS, EVERYWHERE, "cpu/GridSamplerKernel.cpp: positions too"},
    {"grid_sampler_2d_backward", ASSAY_NARROW_SUMS, EVERYWHERE, "cpu/GridSamplerKernel.cpp"},
    {"upsample_bilinear2d", ASSAY_NARROW_SUMS, EVERYWHERE, "cpu/UpSampleKernel.cpp: weights too"},
    {"upsample_bicubic2d", ASSAY_NARROW_SUMS, EVERYWHERE, "cpu/UpSampleKernel.cpp"},
    {"native_batch_norm", ASSAY_NARROW_STEPS, EVERYWHERE, "Normalization.cpp: statistics of the weights' type"},
    {"native_batch_norm_backward", ASSAY_NARROW_STEPS, EVERYWHERE, "Normalization.cpp: tensors that are not contiguous, by results"},
    {"native_layer_norm_backward", ASSAY_NARROW_SUMS, EVERYWHERE, "cpu/layer_norm_kernel.cpp: gradients of the weights, in T"},
    {"_log_softmax", ASSAY_NARROW_STEPS, EVERYWHERE, "cpu/SoftMaxKernel.cpp: sums are kept in scalar_t"},
    {"mse_loss", ASSAY_NARROW_STEPS, EVERYWHERE, "cpu/BinaryOpsKernel.cpp: the square of a - b, in scalar_t"},
    {"mse_loss_backward", ASSAY_NARROW_STEPS, EVERYWHERE, "cpu/PointwiseOpsKernel.cpp: scalar_val * (a - b) * c, in scalar_t"},
    {"sigmoid_backward", ASSAY_NARROW_STEPS, F16_ONLY, "cpu/BinaryOpsKernel.cpp: bf16 goes through f32"},
    {"convolution", ASSAY_NARROW_SUMS, WITHOUT_ONEDNN, "NaiveConvolutionTranspose2d.cpp: matrix products and col2im, in scalar_t"},
    {"convolution_backward", ASSAY_NARROW_SUMS, WITHOUT_ONEDNN, "ConvolutionMM2d.cpp: matrix products and col2im, in scalar_t"},
    {"_cudnn_rnn", ASSAY_NARROW_STEPS, EVERYWHERE, "RNN.cpp: a cell is several operators"},
    {"_cudnn_rnn_backward", ASSAY_NARROW_SUMS, EVERYWHERE, "RNN.cpp: autograd adds up over time"},
};

static bool has_onednn(int32_t t) {
#if defined(__x86_64__)
    unsigned a = 0, b = 0, c = 0, d = 0;
    const unsigned avx512_bw = 1u << 30, avx512_fp16 = 1u << 23;
    bool known = __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0;
    return known && (t == ASSAY_F16 ? d & avx512_fp16 : b & avx512_bw) != 0;
#else
    (void)t;
    return true;
#endif
}

static bool applies(const narrow_kernel &k, const assay_tensor_view &output) {
    switch (k.holds) {
    case EVERYWHERE:
        return true;
    case F16_ONLY:
        return output.dtype == ASSAY_F16;
    case WITHOUT_ONEDNN:
        return !has_onednn(output.dtype);
    }
    return true;
}

assay_precision precision_of(const char *op, const assay_tensor_view &output) {
    if (output.dtype != ASSAY_F16 && output.dtype != ASSAY_BF16) {
        return ASSAY_WIDE;
    }
    size_t length = std::strcspn(op, ".");
    if (length > 1 && op[length - 1] == '_') {
        length--;
    }
    for (const narrow_kernel &k : narrow_kernels) {
        if (std::strlen(k.op) == length && std::strncmp(k.op, op, length) == 0) {
            return applies(k, output) ? k.precision : ASSAY_WIDE;
        }
    }
    return ASSAY_WIDE;
}

} // namespace assay_torch
