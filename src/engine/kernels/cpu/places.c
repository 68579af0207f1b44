/* SPDX-License-Identifier: Apache-2.0 */
/* Resolves indices and masks, block by block. */
#include "engine/kernels/cpu/places.h"

#include <inttypes.h>
#include <string.h>

enum { BLOCK = 256 };

static bool is_flat(const places *p, const index_source *s) {
    int64_t expected = 1;
    for (int d = p->ndim - 1; d >= 0; d--) {
        if (p->sizes[d] != 1 && s->strides[d] != expected) {
            return false;
        }
        expected *= p->sizes[d];
    }
    return true;
}

status places_init(places *p, const kernel_plan *plan, const indexing *ix, const tensor *self, const int64_t *steps,
                   error *err) {
    *p = (places){.call = plan->call, .loops = index_loops_best(), .n = ix->n, .ndim = ix->index_ndim, .numel = ix->index_numel};
    memcpy(p->sizes, ix->index_sizes, sizeof p->sizes);
    p->source = arena_make(plan->memory, (size_t)ix->n, sizeof *p->source);
    if (p->source == NULL) {
        return fail(err, ASSAY_OUT_OF_MEMORY, "no memory for indices");
    }
    for (int k = 0; k < ix->n; k++) {
        place_source *s = &p->source[k];
        s->from = ix->source[k];
        s->is_flat = is_flat(p, &s->from);
        s->size = self->ndim > 0 ? self->sizes[s->from.dim] : 1;
        s->step = self->ndim > 0 ? steps[s->from.dim] : 0;
        for (int d = 0; s->from.is_mask && d < s->from.n_dims; d++) {
            s->mask_steps[d] = steps[s->from.dim + d];
        }
        if (s->from.is_mask) {
            s->positions = arena_make(plan->memory, (size_t)s->from.count, sizeof *s->positions);
            if (s->positions == NULL) {
                return fail(err, ASSAY_OUT_OF_MEMORY, "no memory for the places of a mask");
            }
        }
    }
    return ASSAY_OK;
}

static int64_t find_mask(place_source *s) {
    const tensor *t = s->from.t;
    const char *data = tensor_data(t);
    int64_t n = tensor_numel(t), index[TENSOR_MAX_DIMS] = {0}, offset = 0, at = 0, found = 0;
    int last = t->ndim - 1;
    if (t->ndim == 0) { /* all of self, from its first element */
        if (s->from.count > 0) {
            s->positions[0] = 0;
        }
        return data[0] != 0;
    }
    for (int64_t done = 0; done < n; done += t->sizes[last]) {
        for (int64_t i = 0; i < t->sizes[last]; i++) {
            bool is_set = data[offset + i * t->strides[last]] != 0;
            if (is_set && found < s->from.count) {
                s->positions[found] = at + i * s->mask_steps[last];
            }
            found += is_set;
        }
        for (int d = last - 1; d >= 0; d--) {
            offset += t->strides[d];
            at += s->mask_steps[d];
            if (++index[d] < t->sizes[d]) {
                break;
            }
            offset -= t->strides[d] * t->sizes[d];
            at -= s->mask_steps[d] * t->sizes[d];
            index[d] = 0;
        }
    }
    return found;
}

status places_find(places *p, error *err) {
    for (int k = 0; k < p->n; k++) {
        place_source *s = &p->source[k];
        int64_t found = s->from.is_mask ? find_mask(s) : s->from.count;
        if (found != s->from.count) {
            return fail(err, ASSAY_INVALID, "%s: expected a mask with %" PRId64 " true elements, as when it was prepared, got %" PRId64,
                        p->call->op->signature.full, s->from.count, found);
        }
    }
    return ASSAY_OK;
}

/* Up to BLOCK indices of one source that is not flat, into a dense row. */
static void pick(const places *p, const place_source *s, int64_t from, int64_t n, int64_t *row) {
    int64_t index[TENSOR_MAX_DIMS], offset = 0, rest = from;
    for (int d = p->ndim - 1; d >= 0; d--) {
        index[d] = rest % p->sizes[d];
        rest /= p->sizes[d];
        offset += index[d] * s->from.strides[d];
    }
    const char *data = s->from.is_mask ? (const char *)s->positions : tensor_data(s->from.t);
    bool narrow = !s->from.is_mask && s->from.t->dtype == ASSAY_I32;
    for (int64_t i = 0; i < n; i++) {
        row[i] = narrow ? ((const int32_t *)(const void *)data)[offset] : ((const int64_t *)(const void *)data)[offset];
        for (int d = p->ndim - 1; d >= 0; d--) {
            offset += s->from.strides[d];
            if (++index[d] < p->sizes[d]) {
                break;
            }
            offset -= s->from.strides[d] * p->sizes[d];
            index[d] = 0;
        }
    }
}

static bool resolve_source(const places *p, const place_source *s, int64_t from, int64_t n, int64_t *offsets, bool add) {
    if (s->is_flat && !s->from.is_mask) {
        const char *data = tensor_data(s->from.t);
        return (s->from.t->dtype == ASSAY_I32
                    ? p->loops->resolve_i32(offsets, (const int32_t *)(const void *)data + from, n, s->size, s->step, add)
                    : p->loops->resolve_i64(offsets, (const int64_t *)(const void *)data + from, n, s->size, s->step, add)) == n;
    }
    int64_t row[BLOCK];
    for (int64_t done = 0; done < n; done += BLOCK) {
        int64_t m = n - done < BLOCK ? n - done : BLOCK;
        pick(p, s, from + done, m, row);
        if (!s->from.is_mask) {
            if (p->loops->resolve_i64(offsets + done, row, m, s->size, s->step, add) != m) {
                return false;
            }
            continue;
        }
        for (int64_t i = 0; i < m; i++) {
            offsets[done + i] = (add ? offsets[done + i] : 0) + row[i];
        }
    }
    return true;
}

bool places_resolve(const places *p, int64_t from, int64_t n, int64_t *offsets) {
    for (int k = 0; k < p->n; k++) {
        if (!resolve_source(p, &p->source[k], from, n, offsets, k > 0)) {
            return false;
        }
    }
    return true;
}

status places_fail(const places *p, error *err) {
    for (int k = 0; k < p->n; k++) {
        const place_source *s = &p->source[k];
        for (int64_t from = 0; from < p->numel && !s->from.is_mask; from += BLOCK) {
            int64_t row[BLOCK], n = p->numel - from < BLOCK ? p->numel - from : BLOCK;
            pick(p, s, from, n, row);
            for (int64_t i = 0; i < n; i++) {
                if (index_wrap(row[i], s->size) < 0) {
                    return index_fail(p->call, row[i], s->from.dim, s->size, err);
                }
            }
        }
    }
    return fail(err, ASSAY_INVALID, "%s: an index is out of bounds", p->call->op->signature.full);
}

void indexing_of_dim(indexing *out, const tensor *self, int dim, const tensor *index) {
    memset(out, 0, sizeof *out);
    bool spreads = self->ndim > 0 && index->ndim > 0; /* a 0-dim index stands for one of a single element */
    out->n = 1;
    out->source[0] = (index_source){.t = index, .dim = dim, .n_dims = 1};
    memcpy(out->source[0].strides, index->strides, sizeof out->source[0].strides);
    out->index_ndim = index->ndim;
    memcpy(out->index_sizes, index->sizes, sizeof out->index_sizes);
    out->index_numel = tensor_numel(index);
    out->at = dim;
    for (int d = 0; d < self->ndim; d++) {
        if (d != dim) {
            out->plain[out->ndim] = d;
            out->sizes[out->ndim++] = self->sizes[d];
            continue;
        }
        for (int i = 0; spreads && i < index->ndim; i++) {
            out->plain[out->ndim] = -1;
            out->sizes[out->ndim++] = index->sizes[i];
        }
    }
}
