/* SPDX-License-Identifier: Apache-2.0 */
/* Random programs of operators as text. A seed and a number give the same program on every machine.

   A program grows line by line: a pattern is drawn, its operands are drawn from what is there or become new inputs, and the
   line stays if the graph reads. What is not continuous (comparisons, rounding, the place of a maximum) is asked only of
   values that no arithmetic has touched: elsewhere a last bit may decide it, and no tolerance says how. One line in six is
   written in its operator's in-place form. What other names show is written in place by one line in four; none of them is
   exact from there on. */
#ifndef TESTS_ENGINE_RANDOM_GRAPH_H
#define TESTS_ENGINE_RANDOM_GRAPH_H

#include "base/rng.h"
#include "engine/graph/graph_text.h"

#include "random_patterns.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

enum { MAKER_VALUES = 96, MAKER_NODES = 12, MAKER_ELEMENTS = 20000, MAKER_DIMS = 5 };

typedef struct made_value {
    char name[8];
    dtype dtype;
    int ndim;
    int64_t sizes[TENSOR_MAX_DIMS];
    bool exact;    /* no rounding has happened to it */
    bool overlaps; /* elements may share memory */
    bool shares;   /* its memory may be another value's as well */
    int memory;    /* which: the same number for all that may share it */
    bool gone;     /* written: what it is now goes by another name */
    bool is_input;
    bool gaps; /* an input: between its elements lies memory that is not its own */
    bool used;
    bool drawn; /* no other run need answer it: it is shown, for what follows from it to be known */
} made_value;

typedef struct maker {
    rng r;
    const op_table *table;
    text lines;   /* the program so far */
    text pending; /* inputs that the line at hand needs */
    text call;    /* the line at hand */
    int n_values, n_kept, next_name, n_memories;
    made_value values[MAKER_VALUES];
    made_value *x; /* the line's first operand */
    int dim;       /* along which it works; -1: not chosen */
    int64_t count; /* indices drawn for that dimension */
    int64_t groups; /* of its channels; 0: not chosen */
    int of_zeros;  /* one size in so many is 0 */
    bool failed;   /* the line cannot be */
    bool exact, overlaps;
    bool writes_shared; /* into what other names show as well */
    bool in_place;      /* the line at hand is its operator's in-place form */
} maker;

static inline int maker_draw(maker *m, int n) {
    return (int)rng_range(&m->r, 0, n);
}

static inline dtype maker_floating(maker *m) {
    static const dtype types[] = {ASSAY_F32, ASSAY_F32, ASSAY_F32, ASSAY_BF16, ASSAY_F16, ASSAY_F64};
    return types[maker_draw(m, countof(types))];
}

static inline dtype maker_whole(maker *m) {
    static const dtype types[] = {ASSAY_I64, ASSAY_I64, ASSAY_I32, ASSAY_I32, ASSAY_I16, ASSAY_I8, ASSAY_U8};
    return types[maker_draw(m, countof(types))];
}

static inline int64_t maker_size(maker *m) {
    static const int64_t sizes[] = {1, 1, 2, 3, 3, 4, 5, 7, 8, 16, 17, 33, 64};
    return maker_draw(m, m->of_zeros) == 0 ? 0 : maker_draw(m, 25) == 0 ? 130 : sizes[maker_draw(m, countof(sizes))];
}

static inline int64_t made_elements(int ndim, const int64_t *sizes) {
    int64_t n = 1;
    for (int d = 0; d < ndim; d++) {
        n *= sizes[d];
    }
    return n;
}

/* The strides of an input: dense, dense in another order of dimensions, or with gaps. */
static inline void maker_add_strides(maker *m, made_value *v) {
    int order[TENSOR_MAX_DIMS], way = maker_draw(m, 5);
    if (v->ndim == 0 || way < 3) {
        return;
    }
    v->gaps = way == 4;
    int64_t strides[TENSOR_MAX_DIMS], stride = way == 4 ? 2 : 1;
    for (int d = 0; d < v->ndim; d++) {
        order[d] = d;
    }
    for (int d = v->ndim - 1; d > 0 && way == 3; d--) {
        int other = maker_draw(m, d + 1), kept = order[d];
        order[d] = order[other];
        order[other] = kept;
    }
    for (int d = v->ndim - 1; d >= 0; d--) {
        strides[order[d]] = stride;
        stride *= v->sizes[order[d]] > 0 ? v->sizes[order[d]] : 1;
        stride += way == 4 ? 3 : 0;
    }
    text_add(&m->pending, ", stride=(");
    for (int d = 0; d < v->ndim; d++) {
        text_addf(&m->pending, d > 0 ? ", %lld" : "%lld", (long long)strides[d]);
    }
    text_add(&m->pending, v->ndim == 1 ? ",)" : ")");
}

/* A new input; low = high: no range. */
static inline made_value *maker_input(maker *m, dtype t, int ndim, const int64_t *sizes, int64_t low, int64_t high) {
    if (m->n_values == MAKER_VALUES || ndim > MAKER_DIMS || made_elements(ndim, sizes) > MAKER_ELEMENTS) {
        m->failed = true;
        return &m->values[0];
    }
    made_value *v = &m->values[m->n_values++];
    *v = (made_value){.dtype = t, .ndim = ndim, .exact = true, .is_input = true, .memory = m->n_memories++};
    if (ndim > 0) { /* a number's sizes may be nowhere */
        memcpy(v->sizes, sizes, (size_t)ndim * sizeof *sizes);
    }
    snprintf(v->name, sizeof v->name, "x%d", m->next_name++);
    text_addf(&m->pending, "%%%s = input(T([", v->name);
    for (int d = 0; d < ndim; d++) {
        text_addf(&m->pending, d > 0 ? ", %lld" : "%lld", (long long)sizes[d]);
    }
    text_addf(&m->pending, "], %s", assay_dtype_name(t));
    maker_add_strides(m, v);
    text_add(&m->pending, ")");
    if (low == high && dtype_is_floating(t) && maker_draw(m, 12) == 0) { /* zeros, or numbers far apart */
        low = maker_draw(m, 2) == 0 ? 0 : -80;
        text_addf(&m->pending, ", low=%lld.0, high=%lld.0", (long long)low, (long long)-low);
    } else if (low < high) {
        text_addf(&m->pending, !dtype_is_floating(t) ? ", low=%lld, high=%lld" : ", low=%lld.0, high=%lld.0", (long long)low,
                  (long long)high);
    }
    text_add(&m->pending, ")\n");
    return v;
}

static inline made_value *maker_any_input(maker *m, dtype t, int ndim) {
    int64_t sizes[TENSOR_MAX_DIMS], n = 1;
    for (int d = 0; d < ndim; d++) {
        sizes[d] = maker_size(m);
        sizes[d] = n * sizes[d] > MAKER_ELEMENTS / 4 ? 3 : sizes[d];
        n *= sizes[d];
    }
    return maker_input(m, t, ndim, sizes, 0, 0);
}

typedef bool maker_wants_fn(const maker *m, const made_value *v);

/* What was drawn is to be shown as it was, for the rest to be known. */
static inline bool maker_may_write(const maker *m, const made_value *v) {
    return (!v->shares || m->writes_shared) && !v->overlaps && !v->drawn;
}

/* One of the values so far that fits, or NULL. */
static inline made_value *maker_find(maker *m, maker_wants_fn *wants) {
    int fit[MAKER_VALUES], n = 0;
    for (int i = 0; i < m->n_values; i++) {
        bool written = m->in_place && m->x == NULL;
        if (!m->values[i].gone && wants(m, &m->values[i]) && (!written || maker_may_write(m, &m->values[i]))) {
            fit[n++] = i;
        }
    }
    if (n == 0) {
        return NULL;
    }
    int at = maker_draw(m, n), other = maker_draw(m, n);
    return &m->values[fit[at > other ? at : other]]; /* rather a late one: programs that are deep */
}

static inline bool maker_floats(const maker *m, const made_value *v) {
    (void)m;
    return dtype_is_floating(v->dtype);
}

static inline bool maker_exact_floats(const maker *m, const made_value *v) {
    return maker_floats(m, v) && v->exact;
}

static inline bool maker_integers(const maker *m, const made_value *v) {
    (void)m;
    return dtype_category_of(v->dtype) == CATEGORY_INTEGRAL && v->exact;
}

static inline bool maker_booleans(const maker *m, const made_value *v) {
    (void)m;
    return v->dtype == ASSAY_B8;
}

static inline bool maker_all(const maker *m, const made_value *v) {
    (void)m, (void)v;
    return true;
}

static inline bool maker_matrices(const maker *m, const made_value *v) {
    return maker_floats(m, v) && v->ndim == 2;
}

static inline bool maker_grids(const maker *m, const made_value *v) {
    return maker_floats(m, v) && v->ndim == 3;
}

static inline bool maker_writable(const maker *m, const made_value *v) {
    return maker_floats(m, v) && maker_may_write(m, v);
}

static inline bool maker_writable_matrices(const maker *m, const made_value *v) {
    return maker_writable(m, v) && v->ndim == 2;
}

static inline bool maker_writable_grids(const maker *m, const made_value *v) {
    return maker_writable(m, v) && v->ndim == 3;
}

static inline bool maker_alike(const maker *m, const made_value *v) {
    return v->dtype == m->x->dtype && v->ndim == m->x->ndim && memcmp(v->sizes, m->x->sizes, (size_t)v->ndim * sizeof *v->sizes) == 0;
}

static inline bool maker_exact_alike(const maker *m, const made_value *v) {
    return maker_alike(m, v) && v->exact;
}
#endif
