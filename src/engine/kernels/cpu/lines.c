/* SPDX-License-Identifier: Apache-2.0 */
/* Walks an index tensor line by line and hands out checked offsets. */
#include "engine/kernels/cpu/lines.h"

#include "engine/kernels/cpu/parallel.h"
#include "engine/schema/indexing.h"

#include <stdatomic.h>
#include <string.h>

static bool joins(const lines *l, int d, int64_t n, int64_t index, ptrdiff_t own, ptrdiff_t far, bool indexed) {
    return l->is_indexed[d] == indexed && l->index_strides[d] == index * n && l->own_strides[d] == own * n &&
           l->far_strides[d] == far * n;
}

void lines_init(lines *l, const op_call *call, const tensor *index, int dim, const tensor *own, size_t own_bytes,
                const tensor *far, const int64_t *far_strides, char *far_data, size_t far_bytes) {
    *l = (lines){.call = call, .loops = index_loops_best(), .index = index, .dim = dim, .index_data = tensor_data(index),
                 .own = own != NULL ? tensor_data(own) : NULL, .far = far_data,
                 .far_size = far->ndim > 0 ? far->sizes[dim] : 1,
                 .far_step = far->ndim > 0 ? (ptrdiff_t)far_strides[dim] * (ptrdiff_t)far_bytes : 0};
    for (int d = 0; d < index->ndim; d++) {
        int64_t n = index->sizes[d], strides = index->strides[d];
        ptrdiff_t mine = own != NULL && d < own->ndim ? (ptrdiff_t)own->strides[d] * (ptrdiff_t)own_bytes : 0;
        ptrdiff_t theirs = d == dim || d >= far->ndim ? 0 : (ptrdiff_t)far_strides[d] * (ptrdiff_t)far_bytes;
        if (n == 1) {
            continue;
        }
        bool joined = l->ndim > 0 && joins(l, l->ndim - 1, n, strides, mine, theirs, d == dim);
        int at = joined ? l->ndim - 1 : l->ndim++;
        l->sizes[at] = joined ? l->sizes[at] * n : n;
        l->index_strides[at] = strides;
        l->own_strides[at] = mine;
        l->far_strides[at] = theirs;
        l->is_indexed[at] = d == dim;
    }
    if (l->ndim == 0) {
        l->ndim = 1;
        l->sizes[0] = 1;
        l->is_indexed[0] = true;
    }
}

static bool resolve(const lines *l, const char *index, int64_t n, int64_t *offsets) {
    int64_t stride = l->index_strides[l->ndim - 1], row[LINES_BLOCK];
    bool narrow = l->index->dtype == ASSAY_I32;
    if (stride != 1) {
        for (int64_t i = 0; i < n; i++) {
            row[i] = narrow ? ((const int32_t *)(const void *)index)[i * stride] : ((const int64_t *)(const void *)index)[i * stride];
        }
    } else if (narrow) {
        return l->loops->resolve_i32(offsets, (const int32_t *)(const void *)index, n, l->far_size, l->far_step, 0) == n;
    }
    const int64_t *from = stride != 1 ? row : (const int64_t *)(const void *)index;
    return l->loops->resolve_i64(offsets, from, n, l->far_size, l->far_step, 0) == n;
}

static bool walk_line(const lines *l, lines_use *use, void *context, const char *index, char *own, char *far) {
    int last = l->ndim - 1;
    int64_t offsets[LINES_BLOCK], index_step = l->index_strides[last] * (int64_t)dtype_size(l->index->dtype);
    for (int64_t i = 0; i < l->sizes[last]; i += LINES_BLOCK) {
        int64_t n = l->sizes[last] - i < LINES_BLOCK ? l->sizes[last] - i : LINES_BLOCK;
        if (!resolve(l, index + i * index_step, n, offsets)) {
            return false;
        }
        use(context, own + i * l->own_strides[last], l->own_strides[last], far + i * l->far_strides[last],
            l->far_strides[last], offsets, n);
    }
    return true;
}

bool lines_walk(const lines *l, lines_use *use, void *context) {
    int64_t at[TENSOR_MAX_DIMS] = {0}, index_size = (int64_t)dtype_size(l->index->dtype);
    const char *index = l->index_data;
    char *own = l->own, *far = l->far;
    int last = l->ndim - 1;
    for (int d = 0; d < l->ndim; d++) {
        if (l->sizes[d] == 0) {
            return true;
        }
    }
    for (;;) {
        if (!walk_line(l, use, context, index, own, far)) {
            return false;
        }
        int d = last - 1;
        for (; d >= 0; d--) {
            index += l->index_strides[d] * index_size;
            own += l->own_strides[d];
            far += l->far_strides[d];
            if (++at[d] < l->sizes[d]) {
                break;
            }
            index -= l->index_strides[d] * index_size * l->sizes[d];
            own -= l->own_strides[d] * l->sizes[d];
            far -= l->far_strides[d] * l->sizes[d];
            at[d] = 0;
        }
        if (d < 0) {
            return true;
        }
    }
}

void lines_cut(lines *l, int d, int64_t from, int64_t to) {
    l->index_data += from * l->index_strides[d] * (int64_t)dtype_size(l->index->dtype);
    l->own += from * l->own_strides[d];
    l->far += from * l->far_strides[d];
    l->sizes[d] = to - from;
}

int lines_widest(const lines *l, bool may_be_indexed) {
    int widest = -1;
    for (int d = 0; d < l->ndim; d++) { /* of equals the outermost: its shares lie apart */
        if ((may_be_indexed || !l->is_indexed[d]) && (widest < 0 || l->sizes[d] > l->sizes[widest])) {
            widest = d;
        }
    }
    return widest;
}

status lines_fail(const lines *l, error *err) {
    int64_t n = tensor_numel(l->index);
    for (int64_t i = 0; i < n; i++) {
        const char *at = tensor_data(l->index) + tensor_offset_of(l->index, i) * (int64_t)dtype_size(l->index->dtype);
        int64_t value = element_load_int(l->index->dtype, at);
        if (index_wrap(value, l->far_size) < 0) {
            return index_fail(l->call, value, l->dim, l->far_size, err);
        }
    }
    return fail(err, ASSAY_INVALID, "%s: an index is out of bounds", l->call->op->signature.full);
}

typedef struct lines_share {
    const lines *l;
    int split;
    lines_use *use;
    void *context;
    atomic_bool *good; /* cleared by any thread */
} lines_share;

static void share_lines(const void *context) {
    const lines_share *share = context;
    lines mine = *share->l;
    if (share->split >= 0) {
        int64_t from, to;
        parallel_share(mine.sizes[share->split], 1, &from, &to);
        lines_cut(&mine, share->split, from, to);
    }
    if (!lines_walk(&mine, share->use, share->context)) {
        *share->good = false;
    }
}

bool lines_run(const lines *l, int split, int threads, lines_use *use, void *context) {
    atomic_bool good = true;
    parallel_run(threads, share_lines, &(const lines_share){l, split, use, context, &good});
    return good;
}
