/* SPDX-License-Identifier: Apache-2.0 */
/* Writing at places that several tensors of indices, or masks, name together: index_put. */
#include "engine/ops/parts.h"
#include "engine/ops/rows.h"
#include "engine/ops/scatter.h"
#include "engine/schema/fill.h"
#include "engine/schema/indexing.h"
#include "engine/schema/reference.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* index_put(self, indices, values, accumulate), _index_put_impl(..., unsafe) */

/* One value where one mask holds is what masked_fill writes, and ATen runs it as that: its value may be of another type than self, but no
   complex one where self is real. */
static bool fills_masked(const op_call *call, const indexing *ix) {
    const tensor *self = call_tensor(call, 0), *values = call_tensor(call, 2);
    return ix->n == 1 && ix->source[0].is_mask && !call_bool(call, 3) && tensor_numel(values) == 1 &&
           (!dtype_is_complex(values->dtype) || dtype_is_complex(self->dtype));
}

static status index_put_infer(const op_call *call, outputs *out, error *err) {
    indexing ix;
    const tensor *self = call_tensor(call, 0), *values = call_tensor(call, 2);
    TRY(indexing_analyse(call, &ix, err));
    if (!fills_masked(call, &ix)) {
        TRY(scatter_same_type(call, self, values, err));
    }
    int ndim = ix.ndim;
    int64_t sizes[TENSOR_MAX_DIMS];
    memcpy(sizes, ix.sizes, sizeof sizes);
    tensor checked;
    TRY(tensor_init(&checked, self->dtype, ndim, sizes, err));
    status joined = sizes_broadcast(&ndim, sizes, values->ndim, values->sizes, err);
    if (joined != ASSAY_OK || ndim != ix.ndim || memcmp(sizes, ix.sizes, (size_t)ndim * sizeof *sizes) != 0) {
        char given[TENSOR_TEXT_BYTES], needed[TENSOR_TEXT_BYTES];
        return fail(err, ASSAY_INVALID, "%s: expected values that broadcast to %.120s, got %.120s",
                    call->op->signature.full, tensor_describe(needed, &checked), tensor_describe(given, values));
    }
    tensor *t = outputs_push(out);
    return t != NULL ? tensor_init_like(t, self->dtype, self, err)
                     : fail(err, ASSAY_OUT_OF_MEMORY, "no memory for outputs");
}

static scatter_links *index_put_links(ref_ctx *ctx) {
    index_ref *index = index_ref_make(ctx);
    scatter_links *l = index != NULL ? scatter_links_make(ctx, index->n_slots, index->ix.index_numel) : NULL;
    if (l == NULL) {
        return NULL;
    }
    for (int64_t i = 0; i < index->ix.index_numel; i++) {
        scatter_links_add(l, index_ref_offset(index, i, index->slot_strides), i);
    }
    tensor dense = *call_tensor(ctx->call, 2);
    sizes_contiguous_strides(dense.ndim, dense.sizes, dense.strides);
    tensor_broadcast_strides(&dense, index->ix.ndim, index->ix.sizes, l->value_strides);
    l->index = index;
    return l;
}

/* Flat index into the dense values of what index position `source` writes to the element at `coordinates` of self. */
static int64_t value_place(const scatter_links *l, const int64_t *coordinates, int64_t source) {
    const indexing *ix = &l->index->ix;
    int64_t at = 0;
    for (int d = ix->ndim - 1; d >= 0; d--) {
        if (ix->plain[d] >= 0) {
            at += coordinates[ix->plain[d]] * l->value_strides[d];
        } else {
            at += source % ix->sizes[d] * l->value_strides[d];
            source /= ix->sizes[d];
        }
    }
    return at;
}

static double index_put_element(ref_ctx *ctx, int out, int64_t flat, double *norm) {
    (void)out;
    if (ctx->scratch == NULL) {
        ctx->scratch = index_put_links(ctx);
    }
    const scatter_links *l = ctx->scratch;
    const double *x = ref_real(ctx, 0), *values = ref_real(ctx, 2);
    if (l == NULL || x == NULL || values == NULL || l->failed) {
        return NAN;
    }
    const tensor *self = l->index->self;
    int width = scatter_width(ctx);
    int64_t coordinates[TENSOR_MAX_DIMS], slot = 0, rest = flat / width;
    for (int d = self->ndim - 1; d >= 0; d--) {
        coordinates[d] = rest % self->sizes[d];
        rest /= self->sizes[d];
        slot += coordinates[d] * l->index->slot_strides[d];
    }
    bool adds = call_bool(ctx->call, 3);
    dtype given = call_tensor(ctx->call, 2)->dtype;
    if (given != self->dtype && l->head[slot] >= 0) { /* one number */
        const double given_number = self->dtype == ASSAY_B8 ? values[0] != 0 : values[0]; /* a fraction is true, too */
        return flat % width == 0 ? scatter_stored(ctx, given_number) : dtype_is_complex(given) ? values[1] : 0;
    }
    double sum = x[flat];
    for (int64_t s = l->head[slot]; s >= 0; s = l->next[s]) {
        double value = values[value_place(l, coordinates, s) * width + flat % width];
        if (!adds) {
            return value;
        }
        sum += value;
        *norm += value * value;
    }
    return scatter_stored(ctx, sum);
}

/* Distinct places where there are enough of them, so that the result does not hang on the order of writing. */
static status fill_distinct(const op_call *call, rng *r, error *err) {
    indexing ix;
    TRY(indexing_analyse(call, &ix, err));
    const tensor *self = call_tensor(call, 0);
    int64_t n_slots = 1;
    bool same_shape = true;
    for (int k = 0; k < ix.n; k++) {
        const tensor *t = ix.source[k].t;
        same_shape = same_shape && !ix.source[k].is_mask && t->ndim == ix.index_ndim &&
                     memcmp(t->sizes, ix.index_sizes, (size_t)t->ndim * sizeof t->sizes[0]) == 0;
        n_slots *= ix.source[k].is_mask ? 1 : self->sizes[ix.source[k].dim];
    }
    double *places = same_shape && ix.index_numel > 0 ? malloc((size_t)ix.index_numel * 2 * sizeof *places) : NULL;
    if (places == NULL) {
        return ASSAY_OK; /* what was filled in before stays */
    }
    double *parts = places + ix.index_numel;
    int64_t step = n_slots / ix.index_numel > 0 ? n_slots / ix.index_numel : 1;
    for (int64_t i = 0; i < ix.index_numel; i++) { /* one place out of each of n equal stretches, then shuffled */
        places[i] = (double)((i * step + rng_range(r, 0, step)) % n_slots);
    }
    for (int64_t i = ix.index_numel - 1; i > 0; i--) {
        int64_t j = rng_range(r, 0, i + 1);
        double kept = places[i];
        places[i] = places[j];
        places[j] = kept;
    }
    for (int k = ix.n - 1; k >= 0; k--) {
        int64_t size = self->sizes[ix.source[k].dim];
        for (int64_t i = 0; i < ix.index_numel; i++) {
            parts[i] = (double)((int64_t)places[i] % size);
            places[i] = (double)((int64_t)places[i] / size);
        }
        fill_from((tensor *)ix.source[k].t, parts);
    }
    free(places);
    return ASSAY_OK;
}

/* Makes exactly `wanted` elements of a mask true. */
static void fill_mask(tensor *mask, rng *r, int64_t wanted) {
    int64_t n = tensor_numel(mask);
    double *values = malloc((size_t)n * sizeof *values);
    for (int64_t i = 0; values != NULL && i < n; i++) { /* choose `wanted` of n, one pass (Knuth's algorithm S) */
        bool chosen = rng_range(r, 0, n - i) < wanted;
        values[i] = chosen;
        wanted -= chosen;
    }
    if (values != NULL) {
        fill_from(mask, values);
    }
    free(values);
}

/* A lone mask must have as many true elements as the recorded values have rows. */
static void fit_mask(const op_call *call, rng *r) {
    const tensor *self = call_tensor(call, 0), *values = call_tensor(call, 2);
    int n, dim = 0, n_sources = 0, plain_behind = 0;
    tensor **items = call_tensors(call, 1, &n), *mask = NULL;
    for (int k = 0; k < n; k++) {
        bool is_mask = items[k] != NULL && (items[k]->dtype == ASSAY_B8 || items[k]->dtype == ASSAY_U8);
        mask = is_mask ? items[k] : mask;
        n_sources += items[k] != NULL;
        dim += is_mask ? items[k]->ndim : 1;
        plain_behind = items[k] != NULL ? self->ndim - dim : plain_behind;
    }
    int at = values->ndim - 1 - plain_behind; /* the values' dimension that runs along the mask's true elements */
    if (mask != NULL && n_sources == 1 && at >= 0 && values->sizes[at] != 1 && values->sizes[at] <= tensor_numel(mask)) {
        fill_mask(mask, r, values->sizes[at]);
    }
}

static status index_put_inputs(const op_call *call, rng *r, error *err) {
    int n, dim = 0;
    tensor **items = call_tensors(call, 1, &n);
    const tensor *self = call_tensor(call, 0);
    bool has_mask = false;
    for (int k = 0; k < n && dim < self->ndim; k++) {
        bool is_mask = items[k] != NULL && (items[k]->dtype == ASSAY_B8 || items[k]->dtype == ASSAY_U8);
        has_mask = has_mask || is_mask;
        if (is_mask) {
            fill_integers(items[k], r, 0, 2);
        } else if (items[k] != NULL) {
            fill_integers(items[k], r, 0, self->sizes[dim]);
        }
        dim += is_mask ? items[k]->ndim : 1;
    }
    if (has_mask) {
        fit_mask(call, r);
        return ASSAY_OK;
    }
    return call_bool(call, 3) ? ASSAY_OK : fill_distinct(call, r, err);
}

static void index_put_cost(const op_call *call, const outputs *out, op_cost *cost) {
    indexing ix;
    const tensor *self = call_tensor(call, 0);
    double n = indexing_analyse(call, &ix, NULL) == ASSAY_OK ? (double)sizes_numel(ix.ndim, ix.sizes) : 0;
    bool adds = call_bool(call, 3);
    scatter_destination_cost(call, out, n * (double)dtype_size(self->dtype), adds, cost);
    cost->flops = adds ? n * flops_of_add(self->dtype) : 0;
    cost->reduction = adds ? scatter_load(n, (double)tensor_numel(self)) : 1;
}

static const op_family family_scatter = {.name = "scatter", .has_in_place = true};

static const op_row rows[] = {
    {.signature = "index_put(Tensor self, Tensor?[] indices, Tensor values, bool accumulate=False) -> Tensor",
     .doc = "self with values written, or added, at the places that the indices name. One value for one mask may be of another type than self.",
     .family = &family_scatter,
     .infer = index_put_infer,
     .inputs = index_put_inputs,
     .cost = index_put_cost,
     .decompose = index_put_parts,
     .reference_element = index_put_element},
    {.signature = "_index_put_impl(Tensor self, Tensor?[] indices, Tensor values, bool accumulate=False, "
                  "bool unsafe=False) -> Tensor",
     .doc = "index_put as its backward calls it; unsafe allows skipping the check of the indices, which is done anyway.",
     .family = &family_scatter,
     .infer = index_put_infer,
     .inputs = index_put_inputs,
     .cost = index_put_cost,
     .decompose = index_put_parts,
     .reference_element = index_put_element},
};

const op_rows rows_index_put = {rows, countof(rows)};
