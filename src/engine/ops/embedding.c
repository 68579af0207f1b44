/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of rows looked up by index, alone and in bags. Shapes: V rows of weight, D columns, N indices, B bags. */
#include "engine/ops/parts.h"
#include "engine/ops/rows.h"
#include "engine/schema/fill.h"
#include "engine/schema/indexing.h"
#include "engine/schema/reference.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static status push(outputs *out, dtype t, int ndim, const int64_t *sizes, error *err) {
    tensor *result = outputs_push(out);
    return result != NULL ? tensor_init(result, t, ndim, sizes, err)
                          : fail(err, ASSAY_OUT_OF_MEMORY, "no memory for outputs");
}

static status check_floating(const op_call *call, const tensor *t, error *err) {
    return dtype_is_floating(t->dtype) ? ASSAY_OK
                                       : fail(err, ASSAY_INVALID, "%s: expected a floating type, got %s",
                                              call->op->signature.full, assay_dtype_name(t->dtype));
}

/* --- embedding(weight, indices, padding_idx, ...) ---------------------------------------------------------------------------- */

static status embedding_infer(const op_call *call, outputs *out, error *err) {
    const tensor *weight = call_tensor(call, 0), *indices = call_tensor(call, 1);
    TRY(index_check_type(call, indices, err));
    if (weight->ndim != 2 || indices->ndim + 1 > TENSOR_MAX_DIMS) {
        return fail(err, ASSAY_INVALID, "%s: expected a weight of 2 dimensions and indices of fewer than %d, got %d and %d",
                    call->op->signature.full, TENSOR_MAX_DIMS, weight->ndim, indices->ndim);
    }
    int64_t sizes[TENSOR_MAX_DIMS];
    memcpy(sizes, indices->sizes, (size_t)indices->ndim * sizeof *sizes);
    sizes[indices->ndim] = weight->sizes[1];
    return push(out, weight->dtype, indices->ndim + 1, sizes, err);
}

static double embedding_element(ref_ctx *ctx, int out, int64_t flat, double *norm) {
    (void)norm;
    (void)out;
    const tensor *weight = call_tensor(ctx->call, 0);
    const double *w = ref_real(ctx, 0);
    const int64_t *indices = ref_ints(ctx, 1);
    if (w == NULL || indices == NULL) {
        return NAN;
    }
    int64_t d = weight->sizes[1] * (dtype_is_complex(weight->dtype) ? 2 : 1);
    int64_t row = index_wrap(indices[flat / d], weight->sizes[0]);
    return row < 0 ? NAN : w[row * d + flat % d];
}

/* Indices in [0, n), one in 64 of them the padding. */
static void fill_rows(tensor *indices, rng *r, int64_t n, int64_t padding) {
    int64_t count = tensor_numel(indices);
    double *values = malloc((size_t)(count > 0 ? count : 1) * sizeof *values);
    for (int64_t i = 0; values != NULL && i < count; i++) {
        bool pads = padding >= 0 && padding < n && rng_range(r, 0, 64) == 0;
        values[i] = (double)(pads ? padding : rng_range(r, 0, n));
    }
    if (values != NULL) {
        fill_from(indices, values);
    } else {
        fill_integers(indices, r, 0, n);
    }
    free(values);
}

static status embedding_inputs(const op_call *call, rng *r, error *err) {
    (void)err;
    fill_rows(call_tensor(call, 1), r, call_tensor(call, 0)->sizes[0], call_int(call, 2));
    return ASSAY_OK;
}

static void embedding_cost(const op_call *call, const outputs *out, op_cost *cost) {
    op_cost_reads(call, 0, tensor_bytes(&out->items[0]), cost);
}

/* --- embedding_dense_backward(grad_output, indices, num_weights, padding_idx, scale_grad_by_freq) ---------------------------- */

static status embedding_backward_infer(const op_call *call, outputs *out, error *err) {
    const tensor *grad = call_tensor(call, 0), *indices = call_tensor(call, 1);
    TRY(index_check_type(call, indices, err));
    TRY(check_floating(call, grad, err));
    int64_t n = tensor_numel(indices), expected;
    if (grad->ndim < 1 || !mul_i64(n, grad->sizes[grad->ndim - 1], &expected) || expected != tensor_numel(grad)) {
        char given[TENSOR_TEXT_BYTES];
        return fail(err, ASSAY_INVALID, "%s: expected one row of grad_output for each of %" PRId64 " indices, got %.160s",
                    call->op->signature.full, n, tensor_describe(given, grad));
    }
    return push(out, grad->dtype, 2, (const int64_t[]){call_int(call, 2), grad->sizes[grad->ndim - 1]}, err);
}

typedef struct row_lists {
    int64_t *head, *next, *count;
} row_lists;

static row_lists *row_lists_make(ref_ctx *ctx, int64_t n_rows) {
    const int64_t *indices = ref_ints(ctx, 1);
    int64_t n = tensor_numel(call_tensor(ctx->call, 1));
    row_lists *l = ref_make(ctx, 1, sizeof *l);
    int64_t *head = ref_make(ctx, (size_t)n_rows, sizeof *head), *count = ref_make(ctx, (size_t)n_rows, sizeof *count);
    int64_t *next = ref_make(ctx, (size_t)n, sizeof *next);
    if (l == NULL || head == NULL || next == NULL || count == NULL || indices == NULL) {
        return NULL;
    }
    memset(head, 0xFF, (size_t)n_rows * sizeof *head);
    for (int64_t i = 0; i < n; i++) {
        int64_t row = index_wrap(indices[i], n_rows);
        if (row >= 0) {
            next[i] = head[row];
            head[row] = i;
            count[row]++;
        }
    }
    *l = (row_lists){.head = head, .next = next, .count = count};
    return l;
}

static double embedding_backward_element(ref_ctx *ctx, int out, int64_t flat, double *norm) {
    const double *grad = ref_real(ctx, 0);
    int64_t n_rows = ctx->out->items[out].sizes[0], d = ctx->out->items[out].sizes[1];
    if (ctx->scratch == NULL) {
        ctx->scratch = row_lists_make(ctx, n_rows);
    }
    const row_lists *l = ctx->scratch;
    if (grad == NULL || l == NULL) {
        return NAN;
    }
    int64_t row = flat / d;
    if (row == call_int(ctx->call, 3)) {
        return 0;
    }
    double scale = call_bool(ctx->call, 4) && l->count[row] > 0 ? 1.0 / (double)l->count[row] : 1, sum = 0;
    for (int64_t i = l->head[row]; i >= 0; i = l->next[i]) {
        double term = scale * grad[i * d + flat % d];
        sum += term;
        *norm += term * term;
    }
    return sum;
}

static status embedding_backward_inputs(const op_call *call, rng *r, error *err) {
    (void)err;
    fill_rows(call_tensor(call, 1), r, call_int(call, 2), call_int(call, 3));
    return ASSAY_OK;
}

static void embedding_backward_cost(const op_call *call, const outputs *out, op_cost *cost) {
    double n = (double)tensor_numel(call_tensor(call, 1)), rows = (double)out->items[0].sizes[0];
    double load = 4 * n / (rows > 0 ? rows : 1) + n / 32 + 16; /* the padding row's share is 1 / 64 */
    cost->flops = (double)tensor_numel(call_tensor(call, 0));
    cost->reduction = load < n ? load : n > 1 ? n : 1;
}

/* --- _embedding_bag(weight, indices, offsets, scale_grad_by_freq, mode, sparse, per_sample_weights, include_last_offset,
       padding_idx) --------------------------------------------------------------------------------------------------------------- */

enum { BAG_SUM, BAG_MEAN, BAG_MAX };

static status check_bags(const op_call *call, const tensor *weight, const tensor *indices, const tensor *offsets, error *err) {
    TRY(index_check_type(call, indices, err));
    TRY(index_check_type(call, offsets, err));
    TRY(check_floating(call, weight, err));
    if (weight->ndim != 2 || indices->ndim != 1 || offsets->ndim != 1) {
        return fail(err, ASSAY_INVALID, "%s: expected a weight of 2 dimensions, indices and offsets of 1, got %d, %d and %d",
                    call->op->signature.full, weight->ndim, indices->ndim, offsets->ndim);
    }
    return ASSAY_OK;
}

static status check_sample_weights(const op_call *call, int64_t mode, error *err) {
    const tensor *weight = call_tensor(call, 0), *indices = call_tensor(call, 1), *scale = call_tensor(call, 6);
    if (scale == NULL) {
        return ASSAY_OK;
    }
    if (mode != BAG_SUM || scale->dtype != weight->dtype || scale->ndim != 1 || scale->sizes[0] != indices->sizes[0]) {
        return fail(err, ASSAY_INVALID, "%s: expected per_sample_weights only with mode 0, of the weight's type, one an index",
                    call->op->signature.full);
    }
    return ASSAY_OK;
}

/* ATen's CPU code leaves offset2bag empty where its one-pass kernels serve the sum. */
static bool has_offset2bag(const op_call *call) {
    const tensor *weight = call_tensor(call, 0), *scale = call_tensor(call, 6);
    bool served = weight->dtype == ASSAY_F32 || weight->dtype == ASSAY_F16 || weight->dtype == ASSAY_BF16;
    bool fast = served && weight->strides[1] == 1 && call_int(call, 8) < 0 && (scale == NULL || scale->strides[0] == 1);
    return call_int(call, 4) != BAG_SUM || !fast;
}

static status embedding_bag_infer(const op_call *call, outputs *out, error *err) {
    const tensor *weight = call_tensor(call, 0), *indices = call_tensor(call, 1), *offsets = call_tensor(call, 2);
    int64_t mode = call_int(call, 4), last = call_bool(call, 7) ? 1 : 0;
    TRY(check_bags(call, weight, indices, offsets, err));
    TRY(check_sample_weights(call, mode, err));
    if (mode < BAG_SUM || mode > BAG_MAX || offsets->sizes[0] < last) {
        return fail(err, ASSAY_INVALID, "%s: expected mode 0, 1 or 2 and at least %" PRId64 " offsets, got mode %" PRId64
                    " and %" PRId64 " offsets", call->op->signature.full, last, mode, offsets->sizes[0]);
    }
    if (call_int(call, 8) >= weight->sizes[0]) {
        return fail(err, ASSAY_INVALID, "%s: padding_idx %" PRId64 " is out of bounds for %" PRId64 " rows",
                    call->op->signature.full, call_int(call, 8), weight->sizes[0]);
    }
    dtype t = indices->dtype == ASSAY_I64 || offsets->dtype == ASSAY_I64 ? ASSAY_I64 : ASSAY_I32;
    int64_t bags = offsets->sizes[0] - last, d = weight->sizes[1];
    TRY(push(out, weight->dtype, 2, (const int64_t[]){bags, d}, err));
    TRY(push(out, t, 1, (const int64_t[]){has_offset2bag(call) ? indices->sizes[0] : 0}, err));
    TRY(push(out, t, 1, &bags, err));
    return push(out, t, mode == BAG_MAX ? 2 : 1, (const int64_t[]){bags, d}, err);
}

/* The bag that index i lies in: the last one that starts at or before it. */
static int64_t bag_of(const int64_t *offsets, int64_t n_bags, int64_t i) {
    int64_t low = 0, high = n_bags;
    while (high - low > 1) {
        int64_t middle = low + (high - low) / 2;
        *(offsets[middle] <= i ? &low : &high) = middle;
    }
    return low;
}

typedef struct bag {
    int64_t from, to;
    int64_t counted; /* without padding */
} bag;

static bag bag_bounds(const ref_ctx *ctx, const int64_t *indices, const int64_t *offsets, int64_t b) {
    int64_t n = call_tensor(ctx->call, 1)->sizes[0], n_offsets = call_tensor(ctx->call, 2)->sizes[0];
    bag result = {.from = offsets[b], .to = b + 1 < n_offsets ? offsets[b + 1] : n};
    if (result.from < 0 || result.to > n) {
        return (bag){0};
    }
    for (int64_t i = result.from; i < result.to; i++) {
        result.counted += indices[i] != call_int(ctx->call, 8);
    }
    return result;
}

/* Element (b, column) of the sum, the mean or the maximum; *row is the maximum's. */
static double bag_value(ref_ctx *ctx, bag range, int64_t column, int64_t *row, double *norm) {
    const tensor *weight = call_tensor(ctx->call, 0);
    const double *w = ref_real(ctx, 0), *scale = ref_real(ctx, 6);
    const int64_t *indices = ref_ints(ctx, 1);
    int64_t mode = call_int(ctx->call, 4), d = weight->sizes[1];
    double sum = 0, divisor = mode == BAG_MEAN ? (double)range.counted : 1;
    bool empty = true;
    *row = 0;
    for (int64_t i = range.from; i < range.to; i++) {
        int64_t index = index_wrap(indices[i], weight->sizes[0]);
        if (index < 0) {
            return NAN;
        }
        if (indices[i] == call_int(ctx->call, 8)) {
            continue;
        }
        double term = w[index * d + column] * (scale != NULL ? scale[i] : 1) / divisor;
        if (mode != BAG_MAX) {
            sum += term;
            *norm += term * term;
        } else if (empty || term > sum) {
            sum = term;
            *row = index;
        }
        empty = false;
    }
    return sum;
}

static double embedding_bag_element(ref_ctx *ctx, int out, int64_t flat, double *norm) {
    const int64_t *indices = ref_ints(ctx, 1), *offsets = ref_ints(ctx, 2);
    if (ref_real(ctx, 0) == NULL || indices == NULL || offsets == NULL) {
        return NAN;
    }
    int64_t mode = call_int(ctx->call, 4), n_bags = ctx->out->items[0].sizes[0], d = ctx->out->items[0].sizes[1];
    if (out == 1) {
        return (double)(n_bags > 0 ? bag_of(offsets, n_bags, flat) : -1);
    }
    bool per_row = out == 2 || (out == 3 && mode != BAG_MAX);
    if (per_row && mode == BAG_SUM) {
        return 0; /* the forward pass counts bags only where the mean or the maximum asks for it */
    }
    bag range = bag_bounds(ctx, indices, offsets, per_row ? flat : flat / d);
    if (per_row) {
        return (double)range.counted;
    }
    int64_t row;
    double value = bag_value(ctx, range, flat % d, &row, norm);
    return out == 0 ? value : (double)row;
}

/* Sorted offsets from 0 that leave every bag about the same share. */
static void fill_offsets(tensor *offsets, rng *r, int64_t n_indices, bool include_last) {
    int64_t n = tensor_numel(offsets), bags = include_last ? n - 1 : n;
    double *values = n > 0 ? malloc((size_t)n * sizeof *values) : NULL;
    if (values == NULL) {
        return;
    }
    double share = bags > 0 ? (double)n_indices / (double)bags : 0;
    for (int64_t b = 0; b < n; b++) {
        double at = floor(share * ((double)b + (b > 0 ? rng_uniform(r) - 0.5 : 0)));
        values[b] = include_last && b > 0 && b == bags ? (double)n_indices : at; /* the first is 0 in any case */
    }
    fill_from(offsets, values);
    free(values);
}

static status embedding_bag_inputs(const op_call *call, rng *r, error *err) {
    (void)err;
    int64_t n = tensor_numel(call_tensor(call, 1));
    fill_rows(call_tensor(call, 1), r, call_tensor(call, 0)->sizes[0], call_int(call, 8));
    fill_offsets(call_tensor(call, 2), r, n, call_bool(call, 7));
    return ASSAY_OK;
}

static void embedding_bag_parts(dag *g, const op_call *call, const outputs *out) {
    (void)call, (void)out;
    v_refuse(g, "a bag is one pass over its rows; of primitives it would be a scatter, which no two threads share");
}

static void embedding_bag_cost(const op_call *call, const outputs *out, op_cost *cost) {
    const tensor *weight = call_tensor(call, 0);
    double n = (double)tensor_numel(call_tensor(call, 1)), d = (double)weight->sizes[1];
    double bags = (double)out->items[0].sizes[0];
    op_cost_reads(call, 0, n * d * (double)dtype_size(weight->dtype), cost);
    cost->flops = n * d * (call_is_none(call, 6) ? 1 : 2);
    cost->reduction = bags > 0 && n > bags ? 2 * n / bags : 1;
}

/* --- _embedding_bag_per_sample_weights_backward(grad, weight, indices, offsets, offset2bag, mode, padding_idx) ----------------- */

static status sample_backward_infer(const op_call *call, outputs *out, error *err) {
    const tensor *grad = call_tensor(call, 0), *weight = call_tensor(call, 1), *indices = call_tensor(call, 2);
    const tensor *offset2bag = call_tensor(call, 4);
    TRY(check_bags(call, weight, indices, call_tensor(call, 3), err));
    TRY(index_check_type(call, offset2bag, err));
    if (call_int(call, 5) != BAG_SUM) {
        return fail(err, ASSAY_INVALID, "%s: expected mode 0 (sum), got %" PRId64, call->op->signature.full,
                    call_int(call, 5));
    }
    int64_t n = indices->sizes[0], given = tensor_numel(offset2bag);
    if (grad->ndim != 2 || grad->dtype != weight->dtype || grad->sizes[1] != weight->sizes[1] || offset2bag->ndim != 1 ||
        (given != 0 && given != n)) {
        char grad_text[TENSOR_TEXT_BYTES], weight_text[TENSOR_TEXT_BYTES];
        return fail(err, ASSAY_INVALID, "%s: expected rows of grad like those of weight and an offset2bag of 0 or %" PRId64
                    " bags, got %.100s, %.100s and %" PRId64, call->op->signature.full, n, tensor_describe(grad_text, grad),
                    tensor_describe(weight_text, weight), given);
    }
    return push(out, grad->dtype, 1, &n, err);
}

static double sample_backward_element(ref_ctx *ctx, int out, int64_t flat, double *norm) {
    (void)out;
    const op_call *call = ctx->call;
    const double *grad = ref_real(ctx, 0), *w = ref_real(ctx, 1);
    const int64_t *indices = ref_ints(ctx, 2), *offsets = ref_ints(ctx, 3), *bags = ref_ints(ctx, 4);
    if (grad == NULL || w == NULL || indices == NULL || offsets == NULL || bags == NULL) {
        return NAN;
    }
    int64_t d = call_tensor(call, 1)->sizes[1], n_bags = call_tensor(call, 0)->sizes[0];
    bool given = tensor_numel(call_tensor(call, 4)) > 0;
    int64_t b = given ? bags[flat] : bag_of(offsets, tensor_numel(call_tensor(call, 3)), flat);
    int64_t row = index_wrap(indices[flat], call_tensor(call, 1)->sizes[0]);
    if (row < 0 || b < 0 || b >= n_bags) {
        return NAN;
    }
    double sum = 0;
    for (int64_t k = 0; k < d && indices[flat] != call_int(call, 6); k++) {
        double term = grad[b * d + k] * w[row * d + k];
        sum += term;
        *norm += term * term;
    }
    return sum;
}

static status sample_backward_inputs(const op_call *call, rng *r, error *err) {
    (void)err;
    tensor *indices = call_tensor(call, 2), *offsets = call_tensor(call, 3), *offset2bag = call_tensor(call, 4);
    int64_t n = tensor_numel(indices), n_offsets = tensor_numel(offsets), n_bags = call_tensor(call, 0)->sizes[0];
    fill_rows(indices, r, call_tensor(call, 1)->sizes[0], call_int(call, 6));
    fill_offsets(offsets, r, n, n_offsets == n_bags + 1);
    int64_t *starts = malloc((size_t)(n_offsets + 1) * sizeof *starts);
    double *values = malloc((size_t)(n + 1) * sizeof *values);
    if (starts != NULL && values != NULL && tensor_data(offsets) != NULL && n_bags > 0 && n_offsets >= n_bags) {
        ref_gather_ints(offsets, starts);
        for (int64_t i = 0; i < n; i++) {
            values[i] = (double)bag_of(starts, n_bags, i);
        }
        if (tensor_numel(offset2bag) == n) {
            fill_from(offset2bag, values);
        }
    }
    free(starts);
    free(values);
    return ASSAY_OK;
}

static void sample_backward_cost(const op_call *call, const outputs *out, op_cost *cost) {
    const tensor *weight = call_tensor(call, 1);
    double n = (double)tensor_numel(&out->items[0]), d = (double)weight->sizes[1];
    op_cost_reads(call, 1, n * d * (double)dtype_size(weight->dtype), cost);
    cost->flops = 2 * n * d;
    cost->reduction = d > 1 ? d : 1;
}

static const op_family family_embedding = {.name = "embedding", .cost = embedding_cost};

static const op_row rows[] = {
    {.signature = "embedding(Tensor weight, Tensor indices, SymInt padding_idx=-1, bool scale_grad_by_freq=False, "
                  "bool sparse=False) -> Tensor",
     .doc = "The rows of weight that the indices name; the other arguments matter to the backward only.",
     .family = &family_embedding,
     .infer = embedding_infer,
     .inputs = embedding_inputs,
     .decompose = embedding_parts,
     .reference_element = embedding_element},
    {.signature = "embedding_dense_backward(Tensor grad_output, Tensor indices, SymInt num_weights, SymInt padding_idx, "
                  "bool scale_grad_by_freq) -> Tensor",
     .doc = "For each row of the table the sum of the gradients of its look-ups, none for the padding row.",
     .family = &family_embedding,
     .infer = embedding_backward_infer,
     .inputs = embedding_backward_inputs,
     .cost = embedding_backward_cost,
     .decompose = embedding_backward_parts,
     .reference_element = embedding_backward_element},
    {.signature = "_embedding_bag(Tensor weight, Tensor indices, Tensor offsets, bool scale_grad_by_freq=False, int mode=0, "
                  "bool sparse=False, Tensor? per_sample_weights=None, bool include_last_offset=False, int padding_idx=-1) "
                  "-> (Tensor, Tensor, Tensor, Tensor)",
     .doc = "The sum, mean or maximum of the rows of weight in each bag of indices, with what the backward wants to know.",
     .family = &family_embedding,
     .infer = embedding_bag_infer,
     .inputs = embedding_bag_inputs,
     .cost = embedding_bag_cost,
     .decompose = embedding_bag_parts,
     .reference_element = embedding_bag_element},
    {.signature = "_embedding_bag_per_sample_weights_backward(Tensor grad, Tensor weight, Tensor indices, Tensor offsets, "
                  "Tensor offset2bag, int mode, int padding_idx=-1) -> Tensor",
     .doc = "For each index the dot product of its row of weight with its bag's gradient.",
     .family = &family_embedding,
     .infer = sample_backward_infer,
     .inputs = sample_backward_inputs,
     .cost = sample_backward_cost,
     .decompose = embedding_bag_sample_backward_parts,
     .reference_element = sample_backward_element},
};

const op_rows rows_embedding = {rows, countof(rows)};
