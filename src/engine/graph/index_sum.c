/* SPDX-License-Identifier: Apache-2.0 */
/* Index expressions: sums kept in order, quotients and remainders taken apart wherever the bounds allow. */
#include "engine/graph/index_sum.h"

#include <assert.h>
#include <string.h>

static int order_of_sums(const index_sum *a, const index_sum *b);

static int order_i64(int64_t a, int64_t b) {
    return (a > b) - (a < b);
}

static int order_of_atoms(const index_atom *a, const index_atom *b) {
    if (a == b) {
        return 0;
    }
    int order = order_i64(a->kind, b->kind);
    order = order != 0 ? order : order_i64(a->id, b->id);
    order = order != 0 ? order : order_i64(a->divisor, b->divisor);
    order = order != 0 ? order : order_i64(a->high, b->high);
    order = order != 0 ? order : order_i64(a->size, b->size);
    order = order != 0 ? order : order_i64(a->is_sure, b->is_sure);
    order = order != 0 ? order : order_of_sums(&a->of, &b->of);
    order = order != 0 ? order : order_i64(a->n_at, b->n_at);
    for (int i = 0; order == 0 && i < a->n_at; i++) {
        order = order_of_sums(&a->at[i], &b->at[i]);
    }
    return order;
}

static int order_of_sums(const index_sum *a, const index_sum *b) {
    int order = order_i64(a->n, b->n);
    order = order != 0 ? order : order_i64(a->constant, b->constant);
    for (int i = 0; order == 0 && i < a->n; i++) {
        order = order_i64(a->terms[i].factor, b->terms[i].factor);
        order = order != 0 ? order : order_of_atoms(a->terms[i].atom, b->terms[i].atom);
    }
    return order;
}

bool index_equal(index_sum a, index_sum b) {
    return order_of_sums(&a, &b) == 0;
}

index_sum index_constant(int64_t value) {
    return (index_sum){.constant = value};
}

static index_sum alone(index_pool *p, const index_atom *atom) {
    index_atom *copy = arena_make(p->memory, 1, sizeof *copy);
    index_term *term = arena_make(p->memory, 1, sizeof *term);
    if (copy == NULL || term == NULL) {
        p->failed = true;
        return index_constant(0);
    }
    *copy = *atom;
    *term = (index_term){1, copy};
    return (index_sum){.n = 1, .terms = term};
}

static index_sum sum_of_atom(index_pool *p, const index_atom *atom) {
    return atom->low == atom->high ? index_constant(atom->low) : alone(p, atom);
}

index_sum index_variable(index_pool *p, int id, int64_t size) {
    assert(id >= 0 && id < 64);
    index_atom atom = {.kind = ATOM_VARIABLE, .id = id, .high = size > 0 ? size - 1 : 0, .variables = (uint64_t)1 << id};
    return sum_of_atom(p, &atom);
}

static index_sum data_of(index_pool *p, int id, int n_at, const index_sum *at, int64_t size, bool is_sure) {
    index_sum *copy = arena_make(p->memory, (size_t)n_at, sizeof *copy);
    if (copy == NULL) {
        p->failed = true;
        return index_constant(0);
    }
    index_atom atom = {.kind = ATOM_DATA, .id = id, .is_sure = is_sure, .n_at = n_at, .at = copy, .size = size, .high = size > 0 ? size - 1 : 0};
    for (int i = 0; i < n_at; i++) {
        copy[i] = at[i];
        atom.variables |= index_variables(at[i]);
    }
    return alone(p, &atom);
}

index_sum index_data(index_pool *p, int id, int n_at, const index_sum *at, int64_t size) {
    return data_of(p, id, n_at, at, size, false);
}

index_sum index_data_within(index_pool *p, int id, int n_at, const index_sum *at, int64_t size) {
    return data_of(p, id, n_at, at, size, true);
}

void index_range(index_sum a, int64_t *low, int64_t *high) {
    int64_t lowest = a.constant, highest = a.constant;
    for (int i = 0; i < a.n; i++) {
        int64_t factor = a.terms[i].factor;
        lowest += factor * (factor > 0 ? a.terms[i].atom->low : a.terms[i].atom->high);
        highest += factor * (factor > 0 ? a.terms[i].atom->high : a.terms[i].atom->low);
    }
    *low = lowest;
    *high = highest;
}

uint64_t index_variables(index_sum a) {
    uint64_t set = 0;
    for (int i = 0; i < a.n; i++) {
        set |= a.terms[i].atom->variables;
    }
    return set;
}

index_size index_size_of(index_sum a, const index_size *by) {
    index_size all = {0, 0};
    for (int i = 0; i < a.n; i++) {
        const index_atom *atom = a.terms[i].atom;
        if (atom->kind == ATOM_VARIABLE && by != NULL) {
            all.atoms += by[atom->id].atoms;
            all.data += by[atom->id].data;
            continue;
        }
        all.atoms++;
        all.data += atom->kind == ATOM_DATA;
        for (int k = -1; k < atom->n_at; k++) {
            index_size within = index_size_of(k < 0 ? atom->of : atom->at[k], by);
            all.atoms += within.atoms;
            all.data += within.data;
        }
    }
    return all;
}

int index_unsure(index_sum a, const index_atom **list, int n) {
    for (int i = 0; i < a.n; i++) {
        const index_atom *atom = a.terms[i].atom;
        n = index_unsure(atom->of, list, n);
        for (int d = 0; d < atom->n_at; d++) {
            n = index_unsure(atom->at[d], list, n);
        }
        if (atom->kind == ATOM_DATA && !atom->is_sure && n < INDEX_MOST_DATA) {
            list[n++] = atom;
        }
    }
    return n;
}

bool index_asks(index_sum a, const index_atom *data) {
    const index_atom *list[INDEX_MOST_DATA];
    int n = index_unsure(a, list, 0);
    bool found = false;
    for (int i = 0; i < n; i++) {
        found |= order_of_atoms(list[i], data) == 0;
    }
    return found;
}

bool index_is_variable(index_sum a, int *id) {
    if (a.constant != 0 || a.n != 1 || a.terms[0].factor != 1 || a.terms[0].atom->kind != ATOM_VARIABLE) {
        return false;
    }
    *id = a.terms[0].atom->id;
    return true;
}

bool index_stride(index_sum a, int id, int64_t *stride) {
    *stride = 0;
    for (int i = 0; i < a.n; i++) {
        const index_atom *atom = a.terms[i].atom;
        if (atom->kind == ATOM_VARIABLE && atom->id == id) {
            *stride = a.terms[i].factor;
        } else if ((atom->variables >> id & 1) != 0) {
            return false;
        }
    }
    return true;
}

/* divisor * floor(x / divisor) + x mod divisor, in any multiple, is that multiple of x. Looks for one such pair; *whole
   becomes the multiple of x. */
static bool rejoin(index_pool *p, index_term *terms, int *n, index_sum *whole) {
    for (int i = 0; i < *n; i++) {
        const index_atom *rest = terms[i].atom;
        for (int j = 0; rest->kind == ATOM_REMAINDER && j < *n; j++) {
            const index_atom *quotient = terms[j].atom;
            if (quotient->kind != ATOM_QUOTIENT || quotient->divisor != rest->divisor ||
                terms[j].factor != terms[i].factor * rest->divisor || order_of_sums(&quotient->of, &rest->of) != 0) {
                continue;
            }
            *whole = index_scale(p, rest->of, terms[i].factor);
            int high = i > j ? i : j, low = i > j ? j : i;
            memmove(&terms[high], &terms[high + 1], (size_t)(*n - high - 1) * sizeof *terms);
            memmove(&terms[low], &terms[low + 1], (size_t)(*n - low - 2) * sizeof *terms);
            *n -= 2;
            return true;
        }
    }
    return false;
}

index_sum index_add(index_pool *p, index_sum a, index_sum b) {
    index_sum sum = {.constant = a.constant + b.constant};
    if (a.n == 0 || b.n == 0) {
        sum.n = a.n + b.n;
        sum.terms = a.n > 0 ? a.terms : b.terms;
        return sum;
    }
    index_term *terms = arena_make(p->memory, (size_t)(a.n + b.n), sizeof *terms);
    if (terms == NULL) {
        p->failed = true;
        return index_constant(0);
    }
    int i = 0, j = 0, n = 0;
    while (i < a.n || j < b.n) {
        int order = i == a.n ? 1 : j == b.n ? -1 : order_of_atoms(a.terms[i].atom, b.terms[j].atom);
        index_term term = order <= 0 ? a.terms[i] : b.terms[j];
        if (order == 0) {
            term.factor += b.terms[j].factor;
        }
        i += order <= 0;
        j += order >= 0;
        if (term.factor != 0) {
            terms[n++] = term;
        }
    }
    index_sum whole;
    bool joined = rejoin(p, terms, &n, &whole);
    sum.n = n;
    sum.terms = terms;
    return joined ? index_add(p, sum, whole) : sum;
}

index_sum index_scale(index_pool *p, index_sum a, int64_t factor) {
    if (factor == 0) {
        return index_constant(0);
    }
    index_sum scaled = {.constant = a.constant * factor, .n = a.n, .terms = a.terms};
    if (factor == 1 || a.n == 0) {
        return scaled;
    }
    index_term *terms = arena_make(p->memory, (size_t)a.n, sizeof *terms);
    if (terms == NULL) {
        p->failed = true;
        return index_constant(0);
    }
    for (int i = 0; i < a.n; i++) {
        terms[i] = (index_term){a.terms[i].factor * factor, a.terms[i].atom};
    }
    scaled.terms = terms;
    return scaled;
}

static int64_t floor_divide(int64_t a, int64_t b) {
    return a / b - (a % b != 0 && (a < 0) != (b < 0));
}

static int64_t common_divisor(int64_t a, int64_t b) {
    a = a < 0 ? -a : a;
    b = b < 0 ? -b : b;
    while (b != 0) {
        int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* a = divisor * multiple + rest, with 0 <= the rest's constant < divisor. */
static void take_apart(index_pool *p, index_sum a, int64_t divisor, index_sum *multiple, index_sum *rest) {
    index_term *terms = arena_make(p->memory, (size_t)a.n * 2, sizeof *terms);
    if (terms == NULL) {
        p->failed = true;
        *multiple = *rest = index_constant(0);
        return;
    }
    int64_t whole = floor_divide(a.constant, divisor);
    *multiple = (index_sum){.constant = whole, .terms = terms};
    *rest = (index_sum){.constant = a.constant - whole * divisor, .terms = terms + a.n};
    int n_multiple = 0, n_rest = 0;
    for (int i = 0; i < a.n; i++) {
        /* A factor above the divisor gives its whole multiples away. */
        int64_t times = a.terms[i].factor / divisor, left = a.terms[i].factor % divisor;
        if (times != 0) {
            terms[n_multiple++] = (index_term){times, a.terms[i].atom};
        }
        if (left != 0) {
            terms[a.n + n_rest++] = (index_term){left, a.terms[i].atom};
        }
    }
    multiple->n = n_multiple;
    rest->n = n_rest;
}

/* The rest's factors and the divisor by what they share: floor((g A + k) / (g c)) = floor((A + floor(k / g)) / c). */
static int64_t shared_divisor(index_sum rest, int64_t divisor) {
    int64_t shared = divisor;
    for (int i = 0; i < rest.n; i++) {
        shared = common_divisor(shared, rest.terms[i].factor);
    }
    return shared;
}

/* A part of a sum, by which terms it takes. */
static index_sum part_of(index_pool *p, index_sum a, int64_t from, bool above) {
    index_term *terms = arena_make(p->memory, (size_t)a.n, sizeof *terms);
    index_sum part = {.constant = above ? 0 : a.constant, .terms = terms};
    if (terms == NULL) {
        p->failed = true;
        return index_constant(0);
    }
    for (int i = 0; i < a.n; i++) {
        int64_t size = a.terms[i].factor < 0 ? -a.terms[i].factor : a.terms[i].factor;
        if ((size >= from) == above) {
            terms[part.n++] = a.terms[i];
        }
    }
    return part;
}

/* rest = g A + small with 0 <= small < g and g a divisor of the divisor: then small decides neither the quotient nor more
   than the last digits of the remainder. Takes the largest such g; false when there is none above 1. */
static bool set_apart(index_pool *p, index_sum rest, int64_t divisor, int64_t *g, index_sum *large, index_sum *small) {
    *g = 1;
    for (int i = 0; i < rest.n; i++) {
        int64_t from = rest.terms[i].factor < 0 ? -rest.terms[i].factor : rest.terms[i].factor, shared = divisor;
        for (int k = 0; k < rest.n; k++) {
            int64_t size = rest.terms[k].factor < 0 ? -rest.terms[k].factor : rest.terms[k].factor;
            shared = size >= from ? common_divisor(shared, size) : shared;
        }
        if (shared <= *g) {
            continue;
        }
        index_sum below = part_of(p, rest, from, false);
        int64_t low, high;
        index_range(below, &low, &high);
        if (low >= 0 && high < shared && (below.n > 0 || below.constant > 0)) {
            *g = shared;
            *small = below;
            *large = part_of(p, rest, from, true);
        }
    }
    return *g > 1;
}

static index_sum divide_factors(index_pool *p, index_sum a, int64_t by) {
    index_term *terms = arena_make(p->memory, (size_t)a.n, sizeof *terms);
    if (terms == NULL) {
        p->failed = true;
        return index_constant(0);
    }
    for (int i = 0; i < a.n; i++) {
        terms[i] = (index_term){a.terms[i].factor / by, a.terms[i].atom};
    }
    return (index_sum){.constant = a.constant / by, .n = a.n, .terms = terms};
}

index_sum index_quotient(index_pool *p, index_sum a, int64_t divisor) {
    assert(divisor > 0);
    if (divisor == 1) {
        return a;
    }
    index_sum multiple, rest;
    take_apart(p, a, divisor, &multiple, &rest);
    int64_t low, high;
    index_range(rest, &low, &high);
    if (low >= 0 && high < divisor) {
        return multiple;
    }
    int64_t g;
    index_sum large, small;
    if (set_apart(p, rest, divisor, &g, &large, &small)) {
        return index_add(p, multiple, index_quotient(p, divide_factors(p, large, g), divisor / g));
    }
    int64_t shared = shared_divisor(rest, divisor);
    rest = divide_factors(p, rest, shared);
    divisor /= shared;
    if (divisor == 1) {
        return index_add(p, multiple, rest);
    }
    index_range(rest, &low, &high);
    index_atom atom = {.kind = ATOM_QUOTIENT, .divisor = divisor, .of = rest, .variables = index_variables(rest)};
    if (rest.n == 1 && rest.constant == 0 && rest.terms[0].factor == 1 && rest.terms[0].atom->kind == ATOM_QUOTIENT) {
        atom.of = rest.terms[0].atom->of;
        atom.divisor = divisor * rest.terms[0].atom->divisor;
    }
    atom.low = floor_divide(low, divisor);
    atom.high = floor_divide(high, divisor);
    return index_add(p, multiple, sum_of_atom(p, &atom));
}

index_sum index_remainder(index_pool *p, index_sum a, int64_t divisor) {
    assert(divisor > 0);
    if (divisor == 1) {
        return index_constant(0);
    }
    index_sum multiple, rest;
    take_apart(p, a, divisor, &multiple, &rest);
    int64_t low, high;
    index_range(rest, &low, &high);
    if (low >= 0 && high < divisor) {
        return rest;
    }
    int64_t g;
    index_sum large, small;
    if (set_apart(p, rest, divisor, &g, &large, &small)) {
        index_sum digits = index_remainder(p, divide_factors(p, large, g), divisor / g);
        return index_add(p, index_scale(p, digits, g), small);
    }
    int64_t shared = shared_divisor(rest, divisor), beside = rest.constant % shared;
    rest = divide_factors(p, rest, shared);
    index_range(rest, &low, &high);
    divisor /= shared;
    if (divisor == 1) {
        return index_constant(beside);
    }
    index_atom atom = {.kind = ATOM_REMAINDER, .divisor = divisor, .of = rest, .variables = index_variables(rest)};
    atom.high = divisor - 1;
    if (rest.n == 1 && rest.constant == 0 && rest.terms[0].factor == 1 && rest.terms[0].atom->kind == ATOM_REMAINDER &&
        rest.terms[0].atom->divisor % divisor == 0) {
        atom.of = rest.terms[0].atom->of;
    }
    return index_add(p, index_scale(p, sum_of_atom(p, &atom), shared), index_constant(beside));
}

index_sum index_replace(index_pool *p, index_sum a, int n, const index_sum *by) {
    index_sum sum = index_constant(a.constant);
    for (int i = 0; i < a.n; i++) {
        const index_atom *atom = a.terms[i].atom;
        index_sum value;
        if (atom->kind == ATOM_VARIABLE) {
            assert(atom->id < n);
            value = by[atom->id];
        } else if (atom->kind == ATOM_DATA) {
            index_sum *at = arena_make(p->memory, (size_t)atom->n_at, sizeof *at);
            if (at == NULL) {
                p->failed = true;
                return index_constant(0);
            }
            for (int k = 0; k < atom->n_at; k++) {
                at[k] = index_replace(p, atom->at[k], n, by);
            }
            value = data_of(p, atom->id, atom->n_at, at, atom->size, atom->is_sure);
        } else {
            index_sum of = index_replace(p, atom->of, n, by);
            value = atom->kind == ATOM_QUOTIENT ? index_quotient(p, of, atom->divisor)
                                                : index_remainder(p, of, atom->divisor);
        }
        sum = index_add(p, sum, index_scale(p, value, a.terms[i].factor));
    }
    return sum;
}
