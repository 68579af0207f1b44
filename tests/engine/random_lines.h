/* SPDX-License-Identifier: Apache-2.0 */
/* From patterns to lines: what stands for each letter behind '$', and the program that grows of it. */
#ifndef TESTS_ENGINE_RANDOM_LINES_H
#define TESTS_ENGINE_RANDOM_LINES_H

#include "random_layers.h"

#include <stdlib.h>

/* --- operands ----------------------------------------------------------------------------------------------------------- */

static inline void maker_take(maker *m, made_value *v) {
    text_addf(&m->call, "%%%s", v->name);
    v->used = true;
    m->exact &= v->exact;
    m->overlaps |= v->overlaps;
    m->x = m->x != NULL ? m->x : v;
}

/* An operand of a kind: rather an old one. */
static inline void maker_operand(maker *m, maker_wants_fn *wants, dtype t, int ndim) {
    made_value *v = maker_draw(m, 4) > 0 ? maker_find(m, wants) : NULL;
    maker_take(m, v != NULL ? v : maker_any_input(m, t, ndim));
}

/* One that broadcasts to the first. */
static inline void maker_broadcast(maker *m, dtype t, bool untouched) {
    made_value *old = t == m->x->dtype ? maker_find(m, untouched ? maker_exact_alike : maker_alike) : NULL;
    if (old != NULL && maker_draw(m, 2) == 0) {
        maker_take(m, old);
        return;
    }
    int64_t sizes[TENSOR_MAX_DIMS];
    int skip = maker_draw(m, 3) == 0 ? maker_draw(m, m->x->ndim + 1) : 0, ndim = m->x->ndim - skip;
    for (int d = 0; d < ndim; d++) {
        sizes[d] = maker_draw(m, 4) == 0 ? 1 : m->x->sizes[skip + d];
    }
    maker_take(m, maker_input(m, t, ndim, sizes, 0, 0));
}

static inline void maker_same(maker *m, bool untouched) {
    made_value *old = maker_find(m, untouched ? maker_exact_alike : maker_alike);
    maker_take(m, old != NULL && maker_draw(m, 3) > 0 ? old : maker_input(m, m->x->dtype, m->x->ndim, m->x->sizes, 0, 0));
}

/* Two that multiply to the first one's form. Where that is square they may be values that there are. */
static inline void maker_factors(maker *m) {
    const made_value *x = m->x;
    int64_t left[TENSOR_MAX_DIMS], right[TENSOR_MAX_DIMS], inner = maker_draw(m, 9) + 1;
    int n = x->ndim;
    bool square = n >= 2 && x->sizes[n - 2] == x->sizes[n - 1] && maker_draw(m, 4) > 0;
    memcpy(left, x->sizes, sizeof left);
    memcpy(right, x->sizes, sizeof right);
    if (square) {
        maker_same(m, false);
        text_add(&m->call, ", ");
        maker_same(m, false);
        return;
    }
    left[n - 1] = right[n - 2] = inner;
    maker_take(m, maker_input(m, x->dtype, n, left, 0, 0));
    text_add(&m->call, ", ");
    maker_take(m, maker_input(m, x->dtype, n, right, 0, 0));
}

static inline int maker_dim(maker *m) {
    if (m->x->ndim == 0) {
        m->failed = true;
        return 0;
    }
    m->dim = m->dim >= 0 ? m->dim : maker_draw(m, m->x->ndim);
    return m->dim;
}

/* As the first, with other sizes in the line's dimension. */
static inline void maker_resized(maker *m, dtype t, int64_t size, int64_t low, int64_t high) {
    int64_t sizes[TENSOR_MAX_DIMS];
    memcpy(sizes, m->x->sizes, sizeof sizes);
    sizes[maker_dim(m)] = size;
    maker_take(m, maker_input(m, t, m->x->ndim, sizes, low, high));
}

/* Indices into the line's dimension, of this form. */
static inline void maker_indices(maker *m, int ndim, const int64_t *sizes) {
    int64_t n = m->x->ndim > 0 ? m->x->sizes[maker_dim(m)] : 0;
    m->failed |= n == 0;
    m->count = ndim > 0 ? sizes[0] : 1;
    maker_take(m, maker_input(m, ASSAY_I64, ndim, sizes, 0, n));
}

/* --- numbers and lists -------------------------------------------------------------------------------------------------- */

static inline void maker_list(maker *m, int n, const int64_t *items) {
    text_add_sizes(&m->call, n, items);
}

/* Some dimensions, or all of them in some order. */
static inline void maker_dims(maker *m, bool all) {
    int64_t order[TENSOR_MAX_DIMS];
    int n = m->x->ndim;
    for (int d = 0; d < n; d++) {
        order[d] = d;
    }
    for (int d = n - 1; d > 0; d--) {
        int other = maker_draw(m, d + 1);
        int64_t kept = order[d];
        order[d] = order[other];
        order[other] = kept;
    }
    m->failed |= !all && n == 0;
    maker_list(m, all || n == 0 ? n : 1 + maker_draw(m, n), order);
}

/* Other sizes of as many elements: two dimensions joined, one split, or all in one. */
static inline void maker_reshaped(maker *m) {
    int64_t sizes[TENSOR_MAX_DIMS];
    int n = m->x->ndim, at = n > 0 ? maker_draw(m, n) : 0;
    memcpy(sizes, m->x->sizes, sizeof sizes);
    if (n > 1 && at + 1 < n && maker_draw(m, 2) == 0) {
        sizes[at] *= sizes[at + 1];
        memmove(&sizes[at + 1], &sizes[at + 2], (size_t)(n - at - 2) * sizeof *sizes);
        n--;
    } else if (n > 0 && n < MAKER_DIMS) {
        int64_t part = sizes[at] % 4 == 0 ? 4 : sizes[at] % 3 == 0 ? 3 : sizes[at] % 2 == 0 ? 2 : 1;
        memmove(&sizes[at + 1], &sizes[at], (size_t)(n - at) * sizeof *sizes);
        bool first = maker_draw(m, 2) == 0;
        sizes[at + (first ? 0 : 1)] = part;
        sizes[at + (first ? 1 : 0)] /= part;
        n++;
    }
    maker_list(m, n, sizes);
}

static inline void maker_expanded(maker *m) {
    int64_t sizes[TENSOR_MAX_DIMS];
    int lead = m->x->ndim < MAKER_DIMS ? maker_draw(m, 2) : 0;
    sizes[0] = 1 + maker_draw(m, 4);
    for (int d = 0; d < m->x->ndim; d++) {
        sizes[lead + d] = m->x->sizes[d] == 1 ? 1 + maker_draw(m, 5) : m->x->sizes[d];
    }
    maker_list(m, lead + m->x->ndim, sizes);
}

static inline void maker_number(maker *m) {
    static const char *const numbers[] = {"0.5", "-1.25", "2", "3", "0", "-1", "0.1"};
    text_add(&m->call, numbers[maker_draw(m, countof(numbers))]);
}

static inline void maker_type(maker *m) {
    text_add(&m->call, assay_dtype_name(maker_floating(m)));
}

/* A range of the line's dimension: start, end, step. */
static inline void maker_range(maker *m) {
    int64_t n = m->x->ndim > 0 ? m->x->sizes[maker_dim(m)] : 0;
    int64_t from = maker_draw(m, 3) == 0 ? 0 : rng_range(&m->r, 0, n + 1), to = maker_draw(m, 3) == 0 ? n : rng_range(&m->r, from, n + 1);
    text_addf(&m->call, "%lld, %lld, %d", (long long)from, (long long)to, 1 + maker_draw(m, 3));
}

/* --- letters ------------------------------------------------------------------------------------------------------------ */

/* Tensors as the first operand: $f floating, $F exact floating, $q floating inputs well above 0, $i exact whole numbers, $b
   booleans, $a any, $m a matrix, $3 of three dimensions, $X one to write, $W a matrix, $H of three dimensions to write. */
static inline bool maker_first(maker *m, char letter) {
    dtype t = maker_floating(m);
    int ndim = maker_draw(m, 5);
    switch (letter) {
    case 'f':
        return maker_operand(m, maker_floats, t, ndim), true;
    case 'F':
        return maker_operand(m, maker_exact_floats, t, ndim), true;
    case 'q':
        return maker_take(m, maker_input(m, t, 2, (const int64_t[]){maker_size(m), maker_size(m)}, 1, 3)), true;
    case 'i':
        return maker_operand(m, maker_integers, maker_whole(m), ndim), true;
    case 'b':
        return maker_operand(m, maker_booleans, ASSAY_B8, ndim), true;
    case 'a':
        return maker_operand(m, maker_all, t, ndim), true;
    case 'm':
        return maker_operand(m, maker_matrices, t, 2), true;
    case '3':
        return maker_operand(m, maker_grids, t, 3), true;
    case 'X':
        return maker_operand(m, maker_writable, t, ndim), true;
    case 'W':
        return maker_operand(m, maker_writable_matrices, t, 2), true;
    case 'H':
        return maker_operand(m, maker_writable_grids, t, 3), true;
    default:
        return false;
    }
}

/* Tensors by the first one's form: $y broadcasts to it, $Y as well and exact, $Q well above 0, $z booleans that do, $u may be
   of another type, $v alike, $V alike and exact; $w a row of its last size, $M what a matrix multiplies, $N for batches; $c
   another size in the dimension at hand; $P two factors of it; indices: $I a list, $J of any form into dimension 0, $G one for each element; $A and
   $B what is added there. */
static inline bool maker_second(maker *m, char letter) {
    const made_value *x = m->x;
    int64_t last = x->ndim > 0 ? x->sizes[x->ndim - 1] : 1, other = maker_size(m);
    dtype floating = dtype_is_floating(x->dtype) ? x->dtype : ASSAY_F32;
    switch (letter) {
    case 'y':
        return maker_broadcast(m, x->dtype == ASSAY_B8 ? ASSAY_F32 : x->dtype, false), true;
    case 'Y':
        return maker_broadcast(m, x->dtype, true), true;
    case 'Q':
        return maker_take(m, maker_input(m, floating, x->ndim, x->sizes, 1, 3)), true;
    case 'z':
        return maker_broadcast(m, ASSAY_B8, true), true;
    case 'u':
        return maker_broadcast(m, maker_floating(m), false), true;
    case 'v':
        return maker_same(m, false), true;
    case 'V':
        return maker_same(m, true), true;
    case 'w':
        return maker_take(m, maker_input(m, floating, 1, &last, 0, 0)), true;
    case 'M':
        return maker_take(m, maker_input(m, floating, 2, (const int64_t[]){last, other}, 0, 0)), true;
    case 'N':
        return maker_take(m, maker_input(m, floating, 3, (const int64_t[]){x->sizes[0], last, other}, 0, 0)), true;
    case 'P':
        return maker_factors(m), true;
    case 'c':
        return maker_resized(m, x->dtype, maker_size(m), 0, 0), true;
    case 'I':
        return maker_indices(m, 1, &other), true;
    case 'J':
        m->dim = 0;
        return maker_indices(m, 1 + maker_draw(m, 2), (const int64_t[]){1 + maker_draw(m, 9), 1 + maker_draw(m, 5)}), true;
    case 'G':
        m->count = other;
        m->failed |= x->ndim == 0 || x->sizes[maker_dim(m)] == 0;
        return maker_resized(m, ASSAY_I64, other, 0, x->ndim > 0 ? x->sizes[maker_dim(m)] : 0), true;
    case 'A':
    case 'B':
        return maker_resized(m, x->dtype, m->count, 0, 0), true;
    default:
        return false;
    }
}

/* What is no tensor: $d, $e a dimension, $k a flag, $n a number, $t a type, $T the first's; $S a range, $o a place, $C a
   half; lists: $D dimensions, $p all of them in some order, $R sizes of as many elements, $E wider ones, $L the last one,
   $r repetitions. */
static inline void maker_third(maker *m, char letter) {
    const made_value *x = m->x;
    int64_t repeats[TENSOR_MAX_DIMS], size = x->ndim > 0 && strchr("oC", letter) != NULL ? x->sizes[maker_dim(m)] : 1;
    switch (letter) {
    case 'd':
        text_addf(&m->call, "%d", maker_draw(m, 2) == 0 ? maker_dim(m) : maker_dim(m) - x->ndim);
        break;
    case 'e':
        m->failed |= x->ndim == 0;
        text_addf(&m->call, "%d", x->ndim > 0 ? maker_draw(m, x->ndim) : 0);
        break;
    case 'k':
        text_add(&m->call, maker_draw(m, 2) == 0 ? "True" : "False");
        break;
    case 'n':
        maker_number(m);
        break;
    case 't':
        maker_type(m);
        break;
    case 'T':
        text_add(&m->call, assay_dtype_name(x->dtype));
        break;
    case 'S':
        maker_range(m);
        break;
    case 'o':
        m->failed |= size == 0;
        text_addf(&m->call, "%lld", (long long)rng_range(&m->r, 0, size));
        break;
    case 'C':
        m->failed |= size < 2;
        text_addf(&m->call, "%lld", (long long)(size + 1) / 2);
        break;
    case 'D':
    case 'p':
        maker_dims(m, letter == 'p');
        break;
    case 'R':
        maker_reshaped(m);
        break;
    case 'E':
        maker_expanded(m);
        break;
    case 'L':
        m->failed |= x->ndim == 0;
        maker_list(m, x->ndim > 0 ? 1 : 0, &x->sizes[x->ndim > 0 ? x->ndim - 1 : 0]);
        break;
    case 'r':
        for (int d = 0; d < x->ndim; d++) {
            repeats[d] = 1 + maker_draw(m, 2);
        }
        maker_list(m, x->ndim, repeats);
        break;
    default:
        m->failed = true;
    }
}

/* --- lines -------------------------------------------------------------------------------------------------------------- */

/* Names for the line's outputs, and the line. */
static inline void maker_write_line(maker *m, const pattern *p) {
    text_reset(&m->call);
    text_reset(&m->pending);
    m->x = NULL;
    m->dim = -1;
    m->count = m->groups = 0;
    m->failed = m->overlaps = false;
    m->exact = true;
    m->writes_shared = maker_draw(m, 4) == 0;
    m->in_place = (p->flags & (WRITES | DRAWS)) == 0 && p->n_outputs == 1 && maker_draw(m, 6) == 0;
    bool named = !m->in_place;
    for (const char *at = p->text; *at != '\0'; at++) {
        if (!named && strchr(".(", *at) != NULL) { /* its in-place form's name */
            text_add(&m->call, "_");
            named = true;
            while (strncmp(p->text, "transpose.", 10) == 0 && *at != '(') { /* which has no overload */
                at++;
            }
        }
        if (*at == '@') {
            maker_layer(m, *++at);
        } else if (*at != '$') {
            text_add_char(&m->call, *at);
        } else if (at++, !maker_first(m, *at) && !maker_second(m, *at)) {
            maker_third(m, *at);
        }
        if (m->failed) {
            return;
        }
    }
}

/* Reads the program with the line at hand; answers whether it can be, with its outputs among the values. */
static inline bool maker_try(maker *m, const pattern *p, bool writes) {
    arena memory = {0};
    text all = {0};
    graph g;
    text_addf(&all, "graph random\n%s%s", text_get(&m->lines), text_get(&m->pending));
    text line = {0};
    for (int i = 0; i < p->n_outputs; i++) {
        text_addf(&line, i > 0 ? ", %%y%d" : "%%y%d", m->next_name + i);
    }
    text_addf(&line, " = %s\n", text_get(&m->call));
    text_addf(&all, "%sreturn %%y%d\n", text_get(&line), m->next_name);
    bool good = m->n_values + p->n_outputs <= MAKER_VALUES &&
                graph_read(&memory, m->table, text_get(&all), all.length, &(bind_options){0}, &g, NULL) == ASSAY_OK;
    if (good) {
        const outputs *out = g.nodes[g.n_nodes - 1].out;
        for (int i = 0; i < out->n; i++) {
            good &= out->items[i].ndim <= MAKER_DIMS && tensor_numel(&out->items[i]) <= 4 * MAKER_ELEMENTS;
        }
        for (int i = 0; good && i < out->n; i++) {
            made_value *v = &m->values[m->n_values++];
            *v = (made_value){.dtype = out->items[i].dtype, .ndim = out->items[i].ndim};
            memcpy(v->sizes, out->items[i].sizes, sizeof v->sizes);
            snprintf(v->name, sizeof v->name, "y%d", m->next_name + i);
            v->exact = m->exact && (p->flags & KEEPS) != 0;
            v->shares = writes || (p->flags & VIEWS) != 0;
            v->drawn = (p->flags & DRAWS) != 0;
            v->memory = v->shares ? m->x->memory : m->n_memories++;
            v->overlaps = m->overlaps || (p->flags & OVERLAPS) != 0;
        }
        graph_clear(&g);
    }
    if (good) {
        m->next_name += p->n_outputs;
        text_add(&m->lines, text_get(&m->pending));
        text_add(&m->lines, text_get(&line));
    }
    text_clear(&line);
    text_clear(&all);
    arena_clear(&memory);
    return good;
}

static inline bool maker_grow(maker *m) {
    const pattern *p = &patterns[maker_draw(m, countof(patterns))];
    made_value before[MAKER_VALUES];
    int n = m->n_values, name = m->next_name;
    memcpy(before, m->values, sizeof before);
    maker_write_line(m, p);
    const bool writes = (p->flags & WRITES) != 0 || m->in_place;
    const int n_old = m->n_values;
    if (!m->failed && maker_try(m, p, writes)) {
        m->x->shares |= (p->flags & VIEWS) != 0;
        m->x->gone |= writes;
        for (int i = 0; writes && i < n_old; i++) {
            m->values[i].exact &= m->values[i].memory != m->x->memory;
        }
        return true;
    }
    memcpy(m->values, before, sizeof before);
    m->n_values = n;
    m->next_name = name;
    return false;
}

/* Program `index` of a seed, as a graph's text; the caller clears it. */
static inline void random_graph(const op_table *table, uint64_t seed, uint64_t index, text *out) {
    maker *m = calloc(1, sizeof *m);
    *m = (maker){.r = rng_make_stream(seed, index), .table = table, .of_zeros = index % 16 == 15 ? 10 : 150};
    int wanted = 1 + maker_draw(m, MAKER_NODES), made = 0;
    for (int tries = 0; made < wanted && tries < 40 * wanted; tries++) {
        made += maker_grow(m);
    }
    text_addf(out, "graph random\n%sreturn", text_get(&m->lines));
    int n = 0, last = 0;
    for (int i = 0; i < m->n_values; i++) {
        const made_value *v = &m->values[i];
        last = v->is_input || v->gone ? last : i;
        if (!v->is_input && !v->gone && (v->drawn || maker_draw(m, 10) < (v->used ? 2 : 9))) {
            text_addf(out, n++ > 0 ? ", %%%s" : " %%%s", v->name);
        }
    }
    text_addf(out, n == 0 ? " %%%s\n" : "\n", m->values[last].name);
    text_clear(&m->lines);
    text_clear(&m->pending);
    text_clear(&m->call);
    free(m);
}

#endif
