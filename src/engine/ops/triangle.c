/* SPDX-License-Identifier: Apache-2.0 */
/* Triangles of matrices. */
#include "engine/graph/dag.h"
#include "engine/ops/rows.h"
#include "engine/schema/reference.h"

#include <math.h>

/* tril(self, diagonal), triu(self, diagonal) */
static status triangle_infer(const op_call *call, outputs *out, error *err) {
    const tensor *self = call_tensor(call, 0);
    if (self->ndim < 2) {
        return fail(err, ASSAY_INVALID, "%s: expected at least 2 dimensions, got %d", call->op->signature.full,
                    self->ndim);
    }
    tensor *t;
    TRY(outputs_next(out, &t, err));
    return tensor_init(t, self->dtype, self->ndim, self->sizes, err);
}

static int64_t triangle_term(ref_ctx *ctx, int64_t flat, bool lower, ref_term *term) {
    const tensor *self = call_tensor(ctx->call, 0);
    int64_t columns = self->sizes[self->ndim - 1], rows = self->sizes[self->ndim - 2];
    int64_t column = flat % columns, row = flat / columns % rows, diagonal = call_int(ctx->call, 1);
    if (lower ? column - row <= diagonal : column - row >= diagonal) {
        ref_take(term, self, flat);
    }
    return 1;
}

static int64_t tril_moves(ref_ctx *ctx, int out, int64_t flat, int64_t k, ref_term *term) {
    (void)out, (void)k;
    return triangle_term(ctx, flat, true, term);
}

static int64_t triu_moves(ref_ctx *ctx, int out, int64_t flat, int64_t k, ref_term *term) {
    (void)out, (void)k;
    return triangle_term(ctx, flat, false, term);
}

/* --- in primitives ------------------------------------------------------------------------------------------------------ */

/* Bounds on how far right of the main diagonal an element may lie: outside of them it is 0 and self is not read. */
static void triangle_parts(dag *g, const op_call *call, int64_t low, int64_t high) {
    val x = v_raw(g, call, 0);
    if (g->failed || g->refused != NULL) {
        return;
    }
    int ndim = v_ndim(g, x);
    const int64_t *sizes = v_sizes(g, x);
    index_sum at[TENSOR_MAX_DIMS];
    for (int d = 0; d < ndim; d++) {
        at[d] = index_variable(&g->indices, d, sizes[d]);
    }
    index_sum right = index_add(&g->indices, at[ndim - 1], index_scale(&g->indices, at[ndim - 2], -1));
    view_bound bound = {right, low, high};
    view_map map = {.n_at = ndim, .at = at, .n_bounds = 1, .bounds = &bound, .fill = number_of_int(0)};
    v_result(g, 0, v_view(g, x, ndim, sizes, &map));
}

static void tril_parts(dag *g, const op_call *call, const outputs *out) {
    (void)out;
    triangle_parts(g, call, INT64_MIN, call_int(call, 1));
}

static void triu_parts(dag *g, const op_call *call, const outputs *out) {
    (void)out;
    triangle_parts(g, call, call_int(call, 1), INT64_MAX);
}

/* What becomes 0 is not read; in place, what stays is neither read nor written. */
static void triangle_cost(const op_call *call, bool lower, op_cost *cost) {
    const tensor *self = call_tensor(call, 0);
    int64_t columns = self->sizes[self->ndim - 1], rows = self->sizes[self->ndim - 2], diagonal = call_int(call, 1);
    double kept = 0, plane = (double)rows * (double)columns;
    for (int64_t row = 0; row < rows; row++) {
        double left = fmin(fmax((double)row + (double)diagonal + (lower ? 1 : 0), 0), (double)columns); /* of the diagonal */
        kept += lower ? left : (double)columns - left;
    }
    double share = plane > 0 ? kept / plane : 0, whole = tensor_bytes(self);
    if (call->op->in_place) {
        cost->bytes = (1 - share) * whole;
    } else {
        op_cost_reads(call, 0, share * whole, cost);
    }
}

static void tril_cost(const op_call *call, const outputs *out, op_cost *cost) {
    (void)out;
    triangle_cost(call, true, cost);
}

static void triu_cost(const op_call *call, const outputs *out, op_cost *cost) {
    (void)out;
    triangle_cost(call, false, cost);
}

static const op_family family_triangle = {.name = "move"};

static const op_row rows[] = {
    {.signature = "tril(Tensor self, SymInt diagonal=0) -> Tensor",
     .doc = "The lower triangle of matrices, zeros above the diagonal.",
     .family = &family_triangle,
     .cost = tril_cost,
     .infer = triangle_infer,
     .decompose = tril_parts,
     .reference_moves = tril_moves,
     .has_in_place = true},
    {.signature = "triu(Tensor self, SymInt diagonal=0) -> Tensor",
     .doc = "The upper triangle of matrices, zeros below the diagonal.",
     .family = &family_triangle,
     .cost = triu_cost,
     .infer = triangle_infer,
     .decompose = triu_parts,
     .reference_moves = triu_moves,
     .has_in_place = true},
};

const op_rows rows_triangle = {rows, countof(rows)};
