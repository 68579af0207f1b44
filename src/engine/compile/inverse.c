/* SPDX-License-Identifier: Apache-2.0 */
/* Views that only deal the digits of coordinates out anew (permuted, split and joined dimensions), seen from their source: where each
   of its elements is shown. */
#include "engine/compile/schedule.h"

/* A part of one of the view's coordinates: coordinate / weight % size. */
typedef struct digit {
    int dim;
    int64_t weight, size;
    index_sum from; /* what it is, of the source's coordinates */
} digit;

enum { MOST_DIGITS = 2 * TENSOR_MAX_DIMS };

/* The digit that an atom stands for, of coordinates with these sizes; false when it is none. */
static bool digit_of(const index_atom *a, const int64_t *sizes, digit *out) {
    int64_t quotient = 1, remainder = 0;
    bool divides = a->kind == ATOM_QUOTIENT, cuts = a->kind == ATOM_REMAINDER;
    if (divides || cuts) {
        *(divides ? &quotient : &remainder) = a->divisor;
        if (a->of.constant != 0 || a->of.n != 1 || a->of.terms[0].factor != 1) {
            return false;
        }
        const index_atom *b = a->of.terms[0].atom;
        if (b->kind == ATOM_QUOTIENT && cuts) {
            quotient = b->divisor;
        } else if (b->kind == ATOM_REMAINDER && divides) {
            if (b->divisor % quotient != 0) {
                return false;
            }
            remainder = b->divisor / quotient;
        } else if (b->kind != ATOM_VARIABLE) {
            return false;
        }
        if (b->kind != ATOM_VARIABLE && (b->of.constant != 0 || b->of.n != 1 || b->of.terms[0].factor != 1)) {
            return false;
        }
        a = b->kind == ATOM_VARIABLE ? b : b->of.terms[0].atom;
    }
    if (a->kind != ATOM_VARIABLE || sizes[a->id] % quotient != 0) {
        return false;
    }
    int64_t most = sizes[a->id] / quotient;
    *out = (digit){.dim = a->id, .weight = quotient, .size = remainder > 0 ? remainder : most};
    return most % out->size == 0;
}

static index_sum part_of(index_pool *p, index_sum a, int64_t weight, int64_t size) {
    a = weight > 1 ? index_quotient(p, a, weight) : a;
    return size > 1 ? index_remainder(p, a, size) : index_constant(0);
}

/* The digits that coordinate i of the source is put together from, each of them weighing as much as those before come to. */
static bool take_apart(index_pool *p, index_sum at, int i, int64_t source_size, const int64_t *sizes, digit *list, int *n) {
    index_sum coordinate = index_variable(p, i, source_size);
    int64_t weight = 1;
    int taken = 0;
    for (bool found = true; found && taken < at.n;) {
        found = false;
        for (int t = 0; t < at.n && !found; t++) {
            found = at.terms[t].factor == weight && *n < MOST_DIGITS && digit_of(at.terms[t].atom, sizes, &list[*n]);
        }
        if (found) {
            list[*n].from = part_of(p, coordinate, weight, list[*n].size);
            weight *= list[(*n)++].size;
            taken++;
        }
    }
    return at.constant == 0 && taken == at.n && weight == source_size;
}

/* A coordinate of the view, put together again. */
static bool put_together(index_pool *p, int dim, int64_t size, const digit *list, int n, index_sum *out) {
    int64_t weight = 1;
    *out = index_constant(0);
    for (bool found = true; found;) {
        found = false;
        for (int i = 0; i < n && !found; i++) {
            if (list[i].dim == dim && list[i].weight == weight && list[i].size > 1) {
                *out = index_add(p, *out, index_scale(p, list[i].from, weight));
                weight *= list[i].size;
                found = true;
            }
        }
    }
    return weight == size;
}

bool shown_at(compiler *c, val v, val source, index_sum *at) {
    const dag_node *n = dag_at(&c->g, v), *s = dag_at(&c->g, source);
    digit list[MOST_DIGITS];
    int n_digits = 0;
    if (n->kind != PRIM_VIEW || n->view.n_bounds > 0 || n->n_sources != 1 || n->sources[0].id != source.id) {
        return false;
    }
    for (int i = 0; i < s->ndim; i++) {
        if (s->sizes[i] > 1 && !take_apart(&c->g.indices, n->view.at[i], i, s->sizes[i], n->sizes, list, &n_digits)) {
            return false;
        }
    }
    for (int d = 0; d < n->ndim; d++) {
        if (!put_together(&c->g.indices, d, n->sizes[d], list, n_digits, &at[d])) {
            return false;
        }
    }
    return dag_numel(n) == dag_numel(s);
}
