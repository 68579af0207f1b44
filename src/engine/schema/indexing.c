/* SPDX-License-Identifier: Apache-2.0 */
/* Shapes of advanced indexing. */
#include "engine/schema/indexing.h"

#include <inttypes.h>
#include <string.h>

status index_fail(const op_call *call, int64_t index, int dim, int64_t size, error *err) {
    return fail(err, ASSAY_INVALID, "%s: index %" PRId64 " is out of bounds for dimension %d of size %" PRId64,
                call->op->signature.full, index, dim, size);
}

status index_check_type(const op_call *call, const tensor *t, error *err) {
    if (t->dtype == ASSAY_I64 || t->dtype == ASSAY_I32) {
        return ASSAY_OK;
    }
    return fail(err, ASSAY_INVALID, "%s: expected indices of type i64 or i32, got %s", call->op->signature.full,
                assay_dtype_name(t->dtype));
}

/* --- elements that are not zero ----------------------------------------------------------------------------------------- */

static bool is_nonzero(dtype t, const char *at) {
    if (dtype_size(t) == 1) {
        return *at != 0;
    }
    return dtype_is_complex(t) ? element_load_complex(t, at) != 0 : element_load(t, at) != 0;
}

/* Walks t in row-major order; coordinates may be NULL (then it only counts). */
static int64_t walk_nonzero(const tensor *t, int64_t *coordinates) {
    const char *data = tensor_data(t);
    int64_t index[TENSOR_MAX_DIMS] = {0};
    int64_t n = tensor_numel(t), found = 0, offset = 0;
    for (int64_t flat = 0; data != NULL && flat < n; flat++) {
        if (is_nonzero(t->dtype, data + offset * (int64_t)dtype_size(t->dtype))) {
            if (coordinates != NULL) {
                memcpy(coordinates + found * t->ndim, index, (size_t)t->ndim * sizeof *index);
            }
            found++;
        }
        for (int d = t->ndim - 1; d >= 0; d--) {
            offset += t->strides[d];
            if (++index[d] < t->sizes[d]) {
                break;
            }
            offset -= t->strides[d] * t->sizes[d];
            index[d] = 0;
        }
    }
    return found;
}

int64_t tensor_count_nonzero(const tensor *t) {
    return walk_nonzero(t, NULL);
}

void tensor_find_nonzero(const tensor *t, int64_t *coordinates) {
    walk_nonzero(t, coordinates);
}

/* --- the given indices ---------------------------------------------------------------------------------------------------- */

static status check_mask(const op_call *call, index_source *s, error *err) {
    const tensor *self = call_tensor(call, 0);
    for (int d = 0; d < s->n_dims; d++) {
        if (s->dim + d >= self->ndim || self->sizes[s->dim + d] != s->t->sizes[d]) {
            char mask[TENSOR_TEXT_BYTES], of[TENSOR_TEXT_BYTES];
            return fail(err, ASSAY_INVALID, "%s: the mask %.120s does not match %.120s at dimension %d",
                        call->op->signature.full, tensor_describe(mask, s->t), tensor_describe(of, self), s->dim + d);
        }
    }
    if (tensor_data(s->t) == NULL && tensor_numel(s->t) > 0) {
        return fail(err, ASSAY_UNSUPPORTED, "%s: the shape hangs on the values of a mask, and this one has none",
                    call->op->signature.full);
    }
    s->count = tensor_count_nonzero(s->t);
    return ASSAY_OK;
}

static status take_source(const op_call *call, const tensor *t, int item, int dim, indexing *out, error *err) {
    const tensor *self = call_tensor(call, 0);
    bool is_mask = t->dtype == ASSAY_B8 || t->dtype == ASSAY_U8;
    if (!is_mask && t->dtype != ASSAY_I64 && t->dtype != ASSAY_I32) {
        return fail(err, ASSAY_INVALID, "%s: expected indices of type i64, i32, b8 or u8, got %s",
                    call->op->signature.full, assay_dtype_name(t->dtype));
    }
    int n_dims = is_mask ? t->ndim : 1;
    if (dim + n_dims > self->ndim) {
        return fail(err, ASSAY_INVALID, "%s: too many indices for a tensor of %d dimensions", call->op->signature.full,
                    self->ndim);
    }
    index_source *s = &out->source[out->n++];
    *s = (index_source){.t = t, .item = item, .is_mask = is_mask, .dim = dim, .n_dims = n_dims};
    return is_mask ? check_mask(call, s, err) : ASSAY_OK;
}

/* A mask without dimensions takes all of self or nothing. */
static bool is_mask_of_all(const tensor *t) {
    return t != NULL && t->ndim == 0 && (t->dtype == ASSAY_B8 || t->dtype == ASSAY_U8);
}

/* Beside indices that stand for dimensions ATen makes nothing of such a mask, whatever it holds. */
static bool has_indices_of_dims(tensor *const *items, int n) {
    for (int k = 0; k < n; k++) {
        if (items[k] != NULL && !is_mask_of_all(items[k])) {
            return true;
        }
    }
    return false;
}

static status take_sources(const op_call *call, indexing *out, error *err) {
    const tensor *self = call_tensor(call, 0);
    int n, dim = 0;
    tensor **items = call_tensors(call, 1, &n);
    const bool skips_masks_of_all = has_indices_of_dims(items, n);
    for (int k = 0; k < n; k++) {
        if (dim >= self->ndim || n > self->ndim) {
            return fail(err, ASSAY_INVALID, "%s: too many indices (%d) for a tensor of %d dimensions",
                        call->op->signature.full, n, self->ndim);
        }
        if (items[k] == NULL) {
            dim++;
            continue;
        }
        if (skips_masks_of_all && is_mask_of_all(items[k])) {
            continue;
        }
        TRY(take_source(call, items[k], k, dim, out, err));
        dim += out->source[out->n - 1].n_dims;
    }
    return out->n > 0 ? ASSAY_OK
                      : fail(err, ASSAY_INVALID, "%s: expected at least one index tensor", call->op->signature.full);
}

static status broadcast_sources(const op_call *call, indexing *out, error *err) {
    for (int k = 0; k < out->n; k++) {
        const index_source *s = &out->source[k];
        int ndim = s->is_mask ? 1 : s->t->ndim;
        const int64_t *sizes = s->is_mask ? &s->count : s->t->sizes;
        if (sizes_broadcast(&out->index_ndim, out->index_sizes, ndim, sizes, err) != ASSAY_OK) {
            return fail_within(err, ASSAY_INVALID, "%s: the indices do not broadcast together", call->op->signature.full);
        }
    }
    tensor broadcast; /* refuses more elements than can be counted */
    TRY(tensor_init(&broadcast, ASSAY_I64, out->index_ndim, out->index_sizes, err));
    out->index_numel = tensor_numel(&broadcast);
    for (int k = 0; k < out->n; k++) {
        index_source *s = &out->source[k];
        if (s->is_mask) {
            tensor row = {.ndim = 1, .sizes = {s->count}, .strides = {1}};
            tensor_broadcast_strides(&row, out->index_ndim, out->index_sizes, s->strides);
        } else {
            tensor_broadcast_strides(s->t, out->index_ndim, out->index_sizes, s->strides);
        }
    }
    return ASSAY_OK;
}

/* Lays out the result's dimensions: plain ones of self around, or behind, the index shape. */
static status place(const op_call *call, indexing *out, error *err) {
    const tensor *self = call_tensor(call, 0);
    bool indexed[TENSOR_MAX_DIMS] = {false};
    int n_indexed = 0;
    bool adjacent = true;
    for (int k = 0; k < out->n; k++) {
        const index_source *s = &out->source[k];
        adjacent = adjacent && (k == 0 || s->dim == out->source[k - 1].dim + out->source[k - 1].n_dims);
        for (int d = 0; d < s->n_dims; d++) {
            indexed[s->dim + d] = true;
            n_indexed++;
            if (self->sizes[s->dim + d] == 0 && out->index_numel > 0) {
                return fail(err, ASSAY_INVALID, "%s: an index is out of bounds for dimension %d of size 0",
                            call->op->signature.full, s->dim + d);
            }
        }
    }
    if (self->ndim - n_indexed + out->index_ndim > TENSOR_MAX_DIMS) {
        return fail(err, ASSAY_INVALID, "%s: expected a result of at most %d dimensions, got %d", call->op->signature.full,
                    TENSOR_MAX_DIMS, self->ndim - n_indexed + out->index_ndim);
    }
    int before = adjacent ? out->source[0].dim : 0;
    for (int d = 0; d <= self->ndim; d++) {
        if (out->ndim == before && out->at < 0) {
            out->at = out->ndim;
            for (int i = 0; i < out->index_ndim; i++) {
                out->plain[out->ndim] = -1;
                out->sizes[out->ndim++] = out->index_sizes[i];
            }
        }
        if (d < self->ndim && !indexed[d]) {
            out->plain[out->ndim] = d;
            out->sizes[out->ndim++] = self->sizes[d];
        }
    }
    return ASSAY_OK;
}

status indexing_analyse(const op_call *call, indexing *out, error *err) {
    memset(out, 0, sizeof *out);
    out->at = -1;
    if (call_tensor(call, 0)->ndim == 0 && call->args[1].n > 0) {
        return fail(err, ASSAY_INVALID, "%s: too many indices for a tensor of 0 dimensions", call->op->signature.full);
    }
    TRY(take_sources(call, out, err));
    TRY(broadcast_sources(call, out, err));
    return place(call, out, err);
}

/* --- for references -------------------------------------------------------------------------------------------------------- */

static void slots_init(index_ref *r) {
    r->n_slots = 1;
    for (int k = r->ix.n - 1; k >= 0; k--) {
        for (int d = r->ix.source[k].n_dims - 1; d >= 0; d--) {
            int dim = r->ix.source[k].dim + d;
            r->slot_strides[dim] = r->n_slots;
            r->n_slots *= r->self->sizes[dim];
        }
    }
}

index_ref *index_ref_make(ref_ctx *ctx) {
    index_ref *r = ref_make(ctx, 1, sizeof *r);
    if (r == NULL || indexing_analyse(ctx->call, &r->ix, NULL) != ASSAY_OK) {
        return NULL;
    }
    r->self = call_tensor(ctx->call, 0);
    sizes_contiguous_strides(r->self->ndim, r->self->sizes, r->strides);
    slots_init(r);
    for (int k = 0; k < r->ix.n; k++) {
        index_source *s = &r->ix.source[k];
        if (s->is_mask) {
            int64_t *found = ref_make(ctx, (size_t)s->count * (size_t)s->n_dims, sizeof *found);
            if (found != NULL) {
                tensor_find_nonzero(s->t, found);
            }
            r->values[k] = found;
        } else {
            tensor dense = *s->t; /* read row-major, so its strides are those of the dense copy */
            sizes_contiguous_strides(dense.ndim, dense.sizes, dense.strides);
            tensor_broadcast_strides(&dense, r->ix.index_ndim, r->ix.index_sizes, s->strides);
            r->values[k] = ref_ints_item(ctx, 1, s->item);
        }
    }
    return ctx->failed == ASSAY_OK ? r : NULL;
}

int64_t index_ref_offset(const index_ref *r, int64_t at, const int64_t *strides) {
    const indexing *ix = &r->ix;
    int64_t offsets[TENSOR_MAX_DIMS] = {0}, result = 0;
    for (int d = ix->index_ndim - 1; d >= 0; d--) {
        int64_t position = at % ix->index_sizes[d];
        at /= ix->index_sizes[d];
        for (int k = 0; k < ix->n; k++) {
            offsets[k] += position * ix->source[k].strides[d];
        }
    }
    for (int k = 0; k < ix->n; k++) {
        const index_source *s = &ix->source[k];
        for (int j = 0; j < s->n_dims; j++) {
            int64_t i = index_wrap(r->values[k][offsets[k] * s->n_dims + j], r->self->sizes[s->dim + j]);
            if (i < 0) {
                return -1;
            }
            result += i * strides[s->dim + j];
        }
    }
    return result;
}

int64_t index_ref_place(const index_ref *r, int64_t flat) {
    const indexing *ix = &r->ix;
    int64_t plain = 0, at = 0, index_stride = 1;
    for (int d = ix->ndim - 1; d >= 0; d--) {
        int64_t position = flat % ix->sizes[d];
        flat /= ix->sizes[d];
        if (ix->plain[d] >= 0) {
            plain += position * r->strides[ix->plain[d]];
        } else {
            at += position * index_stride;
            index_stride *= ix->sizes[d];
        }
    }
    int64_t indexed = index_ref_offset(r, at, r->strides);
    return indexed < 0 ? -1 : plain + indexed;
}
