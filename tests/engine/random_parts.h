/* SPDX-License-Identifier: Apache-2.0 */
/* Operands that take a tensor's parts, or put them: behind the tensor, which is the line's first operand. */
#ifndef TESTS_ENGINE_RANDOM_PARTS_H
#define TESTS_ENGINE_RANDOM_PARTS_H

#include "random_graph.h"

static inline void text_add_sizes(text *t, int n, const int64_t *items) {
    text_add(t, "[");
    for (int i = 0; i < n; i++) {
        text_addf(t, i > 0 ? ", %lld" : "%lld", (long long)items[i]);
    }
    text_add(t, "]");
}

/* --- one of them -------------------------------------------------------------------------------------------------------------- */

/* Sizes, dimension, start, end and step of what a slice was taken from. */
static inline void maker_add_slice_back(maker *m) {
    int64_t sizes[TENSOR_MAX_DIMS], start = maker_draw(m, 4), step = 1 + maker_draw(m, 3);
    memcpy(sizes, m->x->sizes, sizeof sizes);
    m->dim = maker_draw(m, m->x->ndim);
    int64_t n = sizes[m->dim], end = n > 0 ? start + (n - 1) * step + 1 : start;
    sizes[m->dim] = end + maker_draw(m, 4);
    text_add_sizes(&m->call, m->x->ndim, sizes);
    text_addf(&m->call, ", %d, %lld, %lld, %lld", m->dim, (long long)start, (long long)end, (long long)step);
}

static inline void maker_add_select_back(maker *m) {
    int64_t sizes[TENSOR_MAX_DIMS + 1], n = 1 + maker_draw(m, 5);
    int at = maker_draw(m, m->x->ndim + 1);
    memcpy(sizes, m->x->sizes, (size_t)at * sizeof *sizes);
    memcpy(&sizes[at + 1], &m->x->sizes[at], (size_t)(m->x->ndim - at) * sizeof *sizes);
    sizes[at] = n;
    text_add_sizes(&m->call, m->x->ndim + 1, sizes);
    text_addf(&m->call, ", %d, %d", at, maker_draw(m, (int)n));
}

/* Windows of one dimension lie along the last one. */
static inline void maker_add_unfold_back(maker *m) {
    int64_t sizes[TENSOR_MAX_DIMS], step = 1 + maker_draw(m, 4);
    const int n = m->x->ndim - 1;
    if (n < 1 || m->x->sizes[n] == 0) {
        m->failed = true;
        return;
    }
    int at = maker_draw(m, n);
    memcpy(sizes, m->x->sizes, sizeof sizes);
    sizes[at] = (sizes[at] - 1) * step + sizes[n] + maker_draw(m, (int)step);
    m->failed |= m->x->sizes[at] == 0;
    text_add_sizes(&m->call, n, sizes);
    text_addf(&m->call, ", %d, %lld, %lld", at, (long long)m->x->sizes[n], (long long)step);
}

/* Indices for all but the last dimension, and of how many rows. */
static inline void maker_add_embedding_back(maker *m) {
    int64_t rows = 1 + maker_draw(m, 40);
    if (m->x->ndim == 0) {
        m->failed = true;
        return;
    }
    const made_value *at = maker_input(m, ASSAY_I64, m->x->ndim - 1, m->x->sizes, 0, rows);
    text_addf(&m->call, "%%%s, %lld, %d, False", at->name, (long long)rows, maker_draw(m, 2) == 0 ? -1 : 0);
}

/* Where it is put, and what: added, as places may come twice. */
static inline void maker_add_put(maker *m) {
    int64_t sizes[TENSOR_MAX_DIMS], n = m->x->ndim > 0 ? m->x->sizes[0] : 0, count = 1 + maker_draw(m, 20);
    if (n == 0) {
        m->failed = true;
        return;
    }
    const made_value *at = maker_input(m, ASSAY_I64, 1, &count, 0, n);
    memcpy(sizes, m->x->sizes, sizeof sizes);
    sizes[0] = count;
    const made_value *values = maker_input(m, m->x->dtype, m->x->ndim, sizes, 0, 0);
    text_addf(&m->call, "[%%%s], %%%s, True", at->name, values->name);
}

/* Bags of rows of a table: indices, where each bag begins, and how it is made one. */
static inline void maker_add_bags(maker *m) {
    int64_t rows = m->x->sizes[0], n = 1 + maker_draw(m, 30), bags = 1;
    if (rows == 0) {
        m->failed = true;
        return;
    }
    const made_value *at = maker_input(m, ASSAY_I64, 1, &n, 0, rows);
    const made_value *begins = maker_input(m, ASSAY_I64, 1, &bags, 0, 1);
    text_addf(&m->call, "%%%s, %%%s, False, %d", at->name, begins->name, maker_draw(m, 2));
}

/* --- several of a kind ------------------------------------------------------------------------------------------------------ */

/* Two parts of one dimension, the second of which may be nothing. */
static inline void maker_add_parts(maker *m) {
    if (m->x->ndim == 0) {
        m->failed = true;
        return;
    }
    m->dim = maker_draw(m, m->x->ndim);
    int64_t n = m->x->sizes[m->dim], first = rng_range(&m->r, 0, n + 1);
    text_add_sizes(&m->call, 2, (const int64_t[]){first, n - first});
}

/* A dimension of that size. */
static inline void maker_add_dim_of(maker *m, int64_t size) {
    for (int d = 0; d < m->x->ndim; d++) {
        if (m->x->sizes[d] == size) {
            text_addf(&m->call, "%d", d);
            return;
        }
    }
    m->failed = true;
}

/* Sizes, strides and offset within as much memory as the elements take. */
static inline void maker_add_strided(maker *m) {
    int64_t sizes[3] = {0}, strides[3] = {0}, left = made_elements(m->x->ndim, m->x->sizes), from = left > 1 ? rng_range(&m->r, 0, left / 2) : 0;
    int n = maker_draw(m, 4);
    left -= from + 1;
    m->failed |= left < 0;
    for (int i = 0; i < m->n_values; i++) { /* what lies there once it is written no compiler follows */
        m->failed |= m->values[i].gaps && m->values[i].memory == m->x->memory;
    }
    for (int d = 0; d < n; d++) {
        strides[d] = maker_draw(m, 6);
        sizes[d] = 1 + maker_draw(m, 5);
        while (sizes[d] > 1 && (sizes[d] - 1) * strides[d] > left) {
            sizes[d]--;
        }
        left -= (sizes[d] - 1) * strides[d];
    }
    text_add_sizes(&m->call, n, sizes);
    text_add(&m->call, ", ");
    text_add_sizes(&m->call, n, strides);
    text_addf(&m->call, ", %lld", (long long)from);
}

/* Indices for some of the dimensions: lists that broadcast, those from the end on as well. */
static inline void maker_add_index_list(maker *m) {
    int64_t sizes[2] = {1 + maker_draw(m, 5), 1 + maker_draw(m, 6)};
    text_add(&m->call, "[");
    for (int d = 0; d < m->x->ndim; d++) {
        text_add(&m->call, d > 0 ? ", " : "");
        if (maker_draw(m, 2) == 0) {
            text_add(&m->call, "None");
            continue;
        }
        const int64_t n = m->x->sizes[d], low = maker_draw(m, 3) == 0 ? -n : 0;
        const int64_t form[2] = {maker_draw(m, 3) == 0 ? 1 : sizes[0], maker_draw(m, 3) == 0 ? 1 : sizes[1]};
        const int skip = maker_draw(m, 2);
        m->failed |= n == 0;
        text_addf(&m->call, "%%%s", maker_input(m, maker_draw(m, 3) == 0 ? ASSAY_I32 : ASSAY_I64, 2 - skip, &form[skip], low, n)->name);
    }
    text_add(&m->call, "]");
}

/* One row of them, so that none comes twice: a dimension, where in it, and what. */
static inline void maker_add_scattered(maker *m) {
    int64_t sizes[TENSOR_MAX_DIMS];
    const int dim = m->x->ndim > 0 ? maker_draw(m, m->x->ndim) : 0;
    if (m->x->ndim == 0 || m->x->sizes[dim] == 0) {
        m->failed = true;
        return;
    }
    memcpy(sizes, m->x->sizes, sizeof sizes);
    sizes[dim] = 1;
    const made_value *at = maker_input(m, ASSAY_I64, m->x->ndim, sizes, 0, m->x->sizes[dim]);
    text_addf(&m->call, "%d, %%%s, %%%s", dim, at->name, maker_input(m, m->x->dtype, m->x->ndim, sizes, 0, 0)->name);
}

/* What is put, once, at one place of the first dimension. */
static inline void maker_add_put_once(maker *m) {
    int64_t sizes[TENSOR_MAX_DIMS], n = m->x->ndim > 0 ? m->x->sizes[0] : 0, one = 1;
    if (n == 0) {
        m->failed = true;
        return;
    }
    const made_value *at = maker_input(m, ASSAY_I64, 1, &one, -n, n);
    memcpy(sizes, m->x->sizes, sizeof sizes);
    sizes[0] = 1;
    text_addf(&m->call, "[%%%s], %%%s, False", at->name, maker_input(m, m->x->dtype, m->x->ndim, sizes, 0, 0)->name);
}

/* What a gradient of bags' own weights needs: the table, indices into it, and whose bag each is. */
static inline void maker_add_bag_weights_back(maker *m) {
    int64_t bags = m->x->sizes[0], n = 1 + maker_draw(m, 30), rows = 1 + maker_draw(m, 20);
    if (bags == 0) {
        m->failed = true;
        return;
    }
    const made_value *table = maker_input(m, m->x->dtype, 2, (const int64_t[]){rows, m->x->sizes[1]}, 0, 0);
    const made_value *at = maker_input(m, ASSAY_I64, 1, &n, 0, rows), *begins = maker_input(m, ASSAY_I64, 1, &bags, 0, 1);
    text_addf(&m->call, "%%%s, %%%s, %%%s, %%%s, 0, %d", table->name, at->name, begins->name,
              maker_input(m, ASSAY_I64, 1, &n, 0, bags)->name, maker_draw(m, 2) - 1);
}

#endif
