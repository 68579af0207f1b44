/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of rows looked up by index, in primitives. Shapes: V rows of weight, D columns, N indices, B bags. */
#include "engine/ops/parts.h"

#include <string.h>

static val number_like(dag *g, val like, int64_t x) {
    return v_int(g, v_dtype(g, like), x);
}

void embedding_parts(dag *g, const op_call *call, const outputs *out) {
    const tensor *t = &out->items[0];
    val weight = v_raw(g, call, 0), indices = v_raw(g, call, 1);
    index_sum here[TENSOR_MAX_DIMS];
    int64_t rows = call_tensor(call, 0)->sizes[0];
    if (tensor_numel(t) == 0) {
        v_result(g, 0, v_int(g, t->dtype, 0));
        return;
    }
    for (int d = 0; d < t->ndim; d++) {
        here[d] = v_dim(g, t->sizes, d);
    }
    index_sum at[2] = {v_index_of(g, v_wrapped_index(g, indices, rows), here, rows), here[t->ndim - 1]};
    v_result(g, 0, v_view(g, weight, t->ndim, t->sizes, &(view_map){.n_at = 2, .at = at}));
}

/* `base` with each of the values [N, D] or [N] added to the row that rows [N] names. */
static val add_to_rows(dag *g, val base, val values, val rows) {
    const int64_t *sizes = v_sizes(g, values);
    index_sum here = v_dim(g, sizes, 0);
    index_sum at[2] = {v_index_of(g, rows, &here, v_size(g, base, 0))};
    if (v_ndim(g, values) == 2) {
        at[1] = v_dim(g, sizes, 1);
    }
    return v_scatter(g, base, values, &(view_map){.n_at = v_ndim(g, values), .at = at}, true);
}

void embedding_backward_parts(dag *g, const op_call *call, const outputs *out) {
    const tensor *t = &out->items[0];
    int64_t n = tensor_numel(call_tensor(call, 1)), padding = call_int(call, 3);
    val grad = v_arg(g, call, 0), indices = v_raw(g, call, 1);
    if (n == 0 || tensor_numel(t) == 0) {
        v_result(g, 0, v_int(g, t->dtype, 0));
        return;
    }
    grad = v_reshape(g, grad, 2, (const int64_t[]){n, t->sizes[1]});
    indices = v_wrapped_index(g, v_reshape(g, indices, 1, &n), t->sizes[0]);
    if (padding >= 0) {
        val pads = v_unsqueeze(g, v_2(g, FN_EQ, indices, v_int(g, ASSAY_I64, padding)), 1);
        grad = v_select(g, pads, number_like(g, grad, 0), grad);
    }
    val zeros = v_expand(g, number_like(g, grad, 0), 2, t->sizes);
    val sums = g->failed || g->refused != NULL ? grad : add_to_rows(g, zeros, grad, indices);
    if (call_bool(call, 4) && !g->failed && g->refused == NULL) {
        val none = v_expand(g, number_like(g, grad, 0), 1, t->sizes);
        val count = add_to_rows(g, none, v_expand(g, number_like(g, grad, 1), 1, &n), indices);
        sums = v_mul(g, sums, v_recip(g, v_unsqueeze(g, v_2(g, FN_MAXIMUM, count, number_like(g, count, 1)), 1)));
    }
    v_result(g, 0, sums);
}

/* For each of n indices how many of the offsets lie at or before it, less one: a mark for each offset, then running sums. */
static val bags_of(dag *g, val offsets, int64_t n) {
    int64_t n_offsets = v_size(g, offsets, 0), room = n + 1;
    val none = v_expand(g, v_int(g, ASSAY_I64, 0), 1, &room);
    val ones = v_expand(g, v_int(g, ASSAY_I64, 1), 1, &n_offsets);
    val marks = add_to_rows(g, none, ones, v_cast(g, offsets, ASSAY_I64));
    return v_slice(g, v_add(g, v_scan(g, RED_SUM, marks, 0), v_int(g, ASSAY_I64, -1)), 0, 0, n, 1);
}

/* Rows `index` [N] of a table, [N, D], in the type to compute in. */
static val rows_of(dag *g, val table, val index) {
    int64_t sizes[2] = {v_size(g, index, 0), v_size(g, table, 1)};
    index_sum here = v_dim(g, sizes, 0);
    index_sum at[2] = {v_index_of(g, index, &here, v_size(g, table, 0)), v_dim(g, sizes, 1)};
    return v_view(g, table, 2, sizes, &(view_map){.n_at = 2, .at = at});
}

void embedding_bag_sample_backward_parts(dag *g, const op_call *call, const outputs *out) {
    int64_t n = out->items[0].sizes[0], padding = call_int(call, 6);
    val grad = v_arg(g, call, 0), weight = v_arg(g, call, 1), raw = v_cast(g, v_raw(g, call, 2), ASSAY_I64);
    if (n == 0 || g->failed || g->refused != NULL) {
        v_result(g, 0, v_int(g, out->items[0].dtype, 0));
        return;
    }
    bool given = tensor_numel(call_tensor(call, 4)) > 0;
    val bag = given ? v_cast(g, v_raw(g, call, 4), ASSAY_I64) : bags_of(g, v_raw(g, call, 3), n);
    if (g->failed || g->refused != NULL) {
        return;
    }
    val product = v_mul(g, rows_of(g, grad, bag), rows_of(g, weight, v_wrapped_index(g, raw, v_size(g, weight, 0))));
    val pads = v_2(g, FN_EQ, raw, v_int(g, ASSAY_I64, padding));
    v_result(g, 0, v_select(g, pads, number_like(g, weight, 0), v_reduce(g, RED_SUM, product, 2, false)));
}
