/* SPDX-License-Identifier: Apache-2.0 */
/* Reading at places that tensors of indices name: index, index_select, gather, nonzero. */
#include "engine/ops/parts.h"
#include "engine/ops/rows.h"
#include "engine/schema/fill.h"
#include "engine/schema/indexing.h"
#include "engine/schema/pointwise.h"
#include "engine/schema/reference.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

static status push_contiguous(outputs *out, dtype t, int ndim, const int64_t *sizes, error *err) {
    tensor *result = outputs_push(out);
    return result != NULL ? tensor_init(result, t, ndim, sizes, err)
                          : fail(err, ASSAY_OUT_OF_MEMORY, "no memory for outputs");
}

/* A gather reads no more of self than it has, and no more than it writes. */
static void gather_cost(const op_call *call, const outputs *out, op_cost *cost) {
    op_cost_reads(call, 0, tensor_bytes(&out->items[0]), cost);
}

static const op_family family_gather = {.name = "gather", .cost = gather_cost};

/* --- index.Tensor(self, indices) ---------------------------------------------------------------------------------------- */

/* The output lies in memory as TensorIterator puts it for these operands: self with stride 0 along the index shape, and
   each index with stride 0 along the plain dimensions. */
static status index_infer(const op_call *call, outputs *out, error *err) {
    indexing ix;
    TRY(indexing_analyse(call, &ix, err));
    const tensor *self = call_tensor(call, 0);
    tensor views[POINTWISE_MAX_OPERANDS];
    tensor *operands[POINTWISE_MAX_OPERANDS];
    int n = 0;
    for (int k = -1; k < ix.n && n < POINTWISE_MAX_OPERANDS; k++) {
        tensor *v = &views[n];
        *v = (tensor){.dtype = k < 0 ? self->dtype : ASSAY_I64, .ndim = ix.ndim};
        for (int d = 0; d < ix.ndim; d++) {
            bool in_index = d >= ix.at && d < ix.at + ix.index_ndim;
            v->sizes[d] = ix.sizes[d];
            if (k < 0) {
                v->strides[d] = in_index ? 0 : self->strides[ix.plain[d]];
            } else {
                v->strides[d] = in_index ? ix.source[k].strides[d - ix.at] : 0;
            }
        }
        operands[n++] = v;
    }
    tensor *result = outputs_push(out);
    if (result == NULL) {
        return fail(err, ASSAY_OUT_OF_MEMORY, "no memory for outputs");
    }
    tensor checked;
    TRY(tensor_init(&checked, self->dtype, ix.ndim, ix.sizes, err));
    return pointwise_output(result, self->dtype, ix.ndim, ix.sizes, operands, n, err);
}

static double index_element(ref_ctx *ctx, int out, int64_t flat, double *norm) {
    (void)norm;
    if (ctx->scratch == NULL) {
        ctx->scratch = index_ref_make(ctx);
    }
    const double *x = ref_real(ctx, 0);
    if (ctx->scratch == NULL || x == NULL) {
        return NAN;
    }
    int width = dtype_is_complex(ctx->out->items[out].dtype) ? 2 : 1;
    int64_t at = index_ref_place(ctx->scratch, flat / width);
    return at < 0 ? NAN : x[at * width + flat % width];
}

static status index_inputs(const op_call *call, rng *r, error *err) {
    int n, dim = 0;
    tensor **items = call_tensors(call, 1, &n);
    const tensor *self = call_tensor(call, 0);
    (void)err;
    for (int k = 0; k < n && dim < self->ndim; k++) {
        bool is_mask = items[k] != NULL && (items[k]->dtype == ASSAY_B8 || items[k]->dtype == ASSAY_U8);
        if (items[k] == NULL || !is_mask) {
            if (items[k] != NULL) {
                fill_integers(items[k], r, 0, self->sizes[dim]);
            }
            dim++;
        } else {
            fill_integers(items[k], r, 0, 2);
            dim += items[k]->ndim;
        }
    }
    return ASSAY_OK;
}

/* --- index_select(self, dim, index) ------------------------------------------------------------------------------------- */

static status index_select_infer(const op_call *call, outputs *out, error *err) {
    const tensor *self = call_tensor(call, 0), *index = call_tensor(call, 2);
    int dim;
    TRY(dim_wrap(call_int(call, 1), self->ndim, &dim, err));
    TRY(index_check_type(call, index, err));
    if (index->ndim > 1) {
        return fail(err, ASSAY_INVALID, "%s: expected an index of at most 1 dimension, got %d", call->op->signature.full,
                    index->ndim);
    }
    int64_t sizes[TENSOR_MAX_DIMS], n = tensor_numel(index);
    if (self->ndim == 0 && n != 1) {
        return fail(err, ASSAY_INVALID, "%s: expected one index into a tensor of 0 dimensions, got %" PRId64,
                    call->op->signature.full, n);
    }
    memcpy(sizes, self->sizes, (size_t)self->ndim * sizeof *sizes);
    if (self->ndim > 0) {
        sizes[dim] = n;
    }
    return push_contiguous(out, self->dtype, self->ndim, sizes, err);
}

static double index_select_element(ref_ctx *ctx, int out, int64_t flat, double *norm) {
    (void)norm;
    const tensor *self = call_tensor(ctx->call, 0);
    const double *x = ref_real(ctx, 0);
    const int64_t *index = ref_ints(ctx, 2);
    int dim;
    if (x == NULL || index == NULL || dim_wrap(call_int(ctx->call, 1), self->ndim, &dim, NULL) != ASSAY_OK) {
        return NAN;
    }
    int width = dtype_is_complex(self->dtype) ? 2 : 1;
    int64_t inner = width, size = self->ndim > 0 ? self->sizes[dim] : 1, n = self->ndim > 0 ? ctx->out->items[out].sizes[dim] : 1;
    for (int d = dim + 1; d < self->ndim; d++) {
        inner *= self->sizes[d];
    }
    int64_t i = index_wrap(index[flat / inner % n], size);
    return i < 0 ? NAN : x[(flat / inner / n * size + i) * inner + flat % inner];
}

/* ATen's index_select on the CPU takes no negative indices; here they count from the end, which nobody can tell apart on
   inputs that ATen takes. */
static status index_select_inputs(const op_call *call, rng *r, error *err) {
    const tensor *self = call_tensor(call, 0);
    int dim;
    TRY(dim_wrap(call_int(call, 1), self->ndim, &dim, err));
    fill_integers(call_tensor(call, 2), r, 0, self->ndim > 0 ? self->sizes[dim] : 1);
    return ASSAY_OK;
}

/* --- gather(self, dim, index) ------------------------------------------------------------------------------------------- */

static status gather_infer(const op_call *call, outputs *out, error *err) {
    const tensor *self = call_tensor(call, 0), *index = call_tensor(call, 2);
    int dim;
    TRY(dim_wrap(call_int(call, 1), self->ndim, &dim, err));
    TRY(index_check_type(call, index, err));
    if (tensor_numel(index) > 0) {
        int ndim = self->ndim > 0 ? self->ndim : 1, index_ndim = index->ndim > 0 ? index->ndim : 1;
        bool fits = ndim == index_ndim;
        for (int d = 0; fits && d < self->ndim && d < index->ndim; d++) {
            fits = d == dim || index->sizes[d] <= self->sizes[d];
        }
        if (!fits) {
            char has[TENSOR_TEXT_BYTES], given[TENSOR_TEXT_BYTES];
            return fail(err, ASSAY_INVALID, "%s: expected an index within %.120s but for dimension %d, got %.120s",
                        call->op->signature.full, tensor_describe(has, self), dim, tensor_describe(given, index));
        }
    }
    return push_contiguous(out, self->dtype, index->ndim, index->sizes, err);
}

static double gather_element(ref_ctx *ctx, int out, int64_t flat, double *norm) {
    (void)norm;
    (void)out;
    const tensor *self = call_tensor(ctx->call, 0), *index_tensor = call_tensor(ctx->call, 2);
    const double *x = ref_real(ctx, 0);
    const int64_t *index = ref_ints(ctx, 2);
    int dim;
    if (x == NULL || index == NULL || dim_wrap(call_int(ctx->call, 1), self->ndim, &dim, NULL) != ASSAY_OK) {
        return NAN;
    }
    int width = dtype_is_complex(self->dtype) ? 2 : 1;
    int64_t at = flat % width, rest = flat / width, stride = width;
    int64_t i = index_wrap(index[rest], self->ndim > 0 ? self->sizes[dim] : 1);
    for (int d = self->ndim - 1; i >= 0 && d >= 0; d--) {
        int64_t size = index_tensor->ndim > 0 ? index_tensor->sizes[d] : 1;
        at += (d == dim ? i : rest % size) * stride;
        rest /= size;
        stride *= self->sizes[d];
    }
    return i < 0 ? NAN : x[at];
}

/* --- nonzero(self) -------------------------------------------------------------------------------------------------------- */

static status nonzero_infer(const op_call *call, outputs *out, error *err) {
    const tensor *self = call_tensor(call, 0);
    if (tensor_data(self) == NULL && tensor_numel(self) > 0) {
        return fail(err, ASSAY_UNSUPPORTED, "nonzero: the shape hangs on the values, and this tensor has none");
    }
    int64_t n = tensor_count_nonzero(self);
    tensor *result = outputs_push(out);
    if (result == NULL) {
        return fail(err, ASSAY_OUT_OF_MEMORY, "no memory for outputs");
    }
    return tensor_init_strided(result, ASSAY_I64, 2, (const int64_t[]){n, self->ndim}, (const int64_t[]){1, n}, err);
}

static double nonzero_element(ref_ctx *ctx, int out, int64_t flat, double *norm) {
    (void)norm;
    if (ctx->scratch == NULL) {
        int64_t *found = ref_make(ctx, (size_t)tensor_numel(&ctx->out->items[out]), sizeof *found);
        if (found == NULL) {
            return NAN;
        }
        tensor_find_nonzero(call_tensor(ctx->call, 0), found);
        ctx->scratch = found;
    }
    return (double)((const int64_t *)ctx->scratch)[flat];
}

static const op_family family_search = {.name = "search"};

static void nonzero_parts(dag *g, const op_call *call, const outputs *out) {
    (void)call, (void)out;
    v_refuse(g, "the shape hangs on the values");
}

static const op_row rows[] = {
    {.signature = "index.Tensor(Tensor self, Tensor?[] indices) -> Tensor",
     .doc = "The elements of self at the places that integer indices and masks name, after the rules of NumPy's indexing.",
     .family = &family_gather,
     .sizes_by_values = true,
     .infer = index_infer,
     .inputs = index_inputs,
     .decompose = index_parts,
     .reference_element = index_element},
    {.signature = "index_select(Tensor self, int dim, Tensor index) -> Tensor",
     .doc = "The slices of self along dim that the index names, in its order.",
     .family = &family_gather,
     .infer = index_select_infer,
     .inputs = index_select_inputs,
     .decompose = index_select_parts,
     .reference_element = index_select_element},
    {.signature = "gather(Tensor self, int dim, Tensor index, *, bool sparse_grad=False) -> Tensor",
     .doc = "For each element of index the element of self at the same place but for dim, where the index says.",
     .family = &family_gather,
     .infer = gather_infer,
     .inputs = index_select_inputs,
     .decompose = gather_parts,
     .reference_element = gather_element},
    {.signature = "nonzero(Tensor self) -> Tensor",
     .doc = "The coordinates of the elements that are not zero, in row-major order, one row each.",
     .family = &family_search,
     .sizes_by_values = true,
     .decompose = nonzero_parts,
     .infer = nonzero_infer,
     .reference_element = nonzero_element},
};

const op_rows rows_index = {rows, countof(rows)};
