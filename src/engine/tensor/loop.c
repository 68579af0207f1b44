/* SPDX-License-Identifier: Apache-2.0 */
/* Orders and joins the dimensions of a loop nest. */
#include "engine/tensor/loop.h"

#include <string.h>

/* Whether dimension a belongs inside dimension b: by the first operand whose strides differ, 0s not asked. */
static bool inside(const loop *l, int a, int b) {
    for (int k = 0; k < l->n_operands; k++) {
        int64_t sa = l->strides[k][a], sb = l->strides[k][b];
        if (sa != 0 && sb != 0 && sa != sb) {
            return sa < sb;
        }
    }
    return false;
}

static void swap_dimensions(loop *l, int a, int b) {
    int64_t size = l->sizes[a];
    l->sizes[a] = l->sizes[b];
    l->sizes[b] = size;
    for (int k = 0; k < l->n_operands; k++) {
        int64_t stride = l->strides[k][a];
        l->strides[k][a] = l->strides[k][b];
        l->strides[k][b] = stride;
    }
}

static bool joins(const loop *l, int inner, int outer) {
    for (int k = 0; k < l->n_operands; k++) {
        if (l->strides[k][inner] * l->sizes[inner] != l->strides[k][outer]) {
            return false;
        }
    }
    return true;
}

static void join_dimensions(loop *l) {
    int kept = 0;
    for (int d = 1; d < l->ndim; d++) {
        if (joins(l, kept, d)) {
            l->sizes[kept] *= l->sizes[d];
            continue;
        }
        kept++;
        if (kept != d) {
            l->sizes[kept] = l->sizes[d];
            for (int k = 0; k < l->n_operands; k++) {
                l->strides[k][kept] = l->strides[k][d];
            }
        }
    }
    l->ndim = kept + 1;
}

void loop_init(loop *l, int ndim, const int64_t *sizes, tensor *const *operands, int n) {
    int64_t strides[TENSOR_MAX_DIMS];
    l->n_operands = n;
    l->numel = sizes_numel(ndim, sizes);
    l->ndim = 0;
    for (int d = ndim - 1; d >= 0; d--) {
        if (sizes[d] != 1) {
            l->sizes[l->ndim++] = sizes[d];
        }
    }
    for (int k = 0; k < n; k++) {
        l->data[k] = tensor_data(operands[k]);
        tensor_broadcast_strides(operands[k], ndim, sizes, strides);
        int64_t size = (int64_t)dtype_size(operands[k]->dtype);
        for (int d = ndim - 1, i = 0; d >= 0; d--) {
            if (sizes[d] != 1) {
                l->strides[k][i++] = strides[d] * size;
            }
        }
    }
    if (l->ndim == 0) {
        l->ndim = 1;
        l->sizes[0] = 1;
        for (int k = 0; k < n; k++) {
            l->strides[k][0] = (int64_t)dtype_size(operands[k]->dtype);
        }
        return;
    }
    for (int i = 1; i < l->ndim; i++) {
        for (int j = i; j > 0 && inside(l, j, j - 1); j--) {
            swap_dimensions(l, j, j - 1);
        }
    }
    join_dimensions(l);
}

void loop_seek(const loop *l, int64_t i, int64_t *index, int64_t *offsets) {
    for (int k = 0; k < l->n_operands; k++) {
        offsets[k] = 0;
    }
    for (int d = 0; d < l->ndim; d++) {
        index[d] = i % l->sizes[d];
        i /= l->sizes[d];
        for (int k = 0; k < l->n_operands; k++) {
            offsets[k] += index[d] * l->strides[k][d];
        }
    }
}
