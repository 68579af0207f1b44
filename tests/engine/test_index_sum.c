/* SPDX-License-Identifier: Apache-2.0 */
/* Index expressions against brute force: random sums, products, quotients and remainders, at every place. */
#include "unit.h"

#include "base/rng.h"
#include "base/status.h"
#include "engine/graph/index_sum.h"

#include <string.h>

static const uint64_t seed = 20262;

static int64_t floor_of(int64_t a, int64_t b) {
    int64_t q = a / b;
    return q * b > a ? q - 1 : q;
}

enum { VARIABLES = 4, DATA_SIZE = 7 };

/* An element of the data that expressions read: any function of the place will do. */
static int64_t data_at(int id, int n_at, const int64_t *at) {
    uint64_t h = rng_mix((uint64_t)id);
    for (int i = 0; i < n_at; i++) {
        h = rng_mix(h ^ (uint64_t)at[i]);
    }
    return (int64_t)(h % DATA_SIZE);
}

static int64_t value_of(index_sum a, const int64_t *variables) {
    int64_t sum = a.constant;
    for (int i = 0; i < a.n; i++) {
        const index_atom *atom = a.terms[i].atom;
        int64_t value, at[2];
        if (atom->kind == ATOM_VARIABLE) {
            value = variables[atom->id];
        } else if (atom->kind == ATOM_DATA) {
            assert_true(atom->n_at <= 2);
            for (int k = 0; k < atom->n_at; k++) {
                at[k] = value_of(atom->at[k], variables);
            }
            value = data_at(atom->id, atom->n_at, at);
        } else {
            int64_t of = value_of(atom->of, variables), whole = floor_of(of, atom->divisor);
            value = atom->kind == ATOM_QUOTIENT ? whole : of - whole * atom->divisor;
        }
        assert_true(value >= atom->low && value <= atom->high);
        sum += a.terms[i].factor * value;
    }
    return sum;
}

/* An expression as it was asked for. */
typedef enum tree_kind { TREE_CONSTANT, TREE_VARIABLE, TREE_ADD, TREE_SCALE, TREE_QUOTIENT, TREE_REMAINDER, TREE_DATA } tree_kind;

typedef struct tree {
    tree_kind kind;
    int64_t number; /* the constant, variable, factor, divisor, or number of the data */
    const struct tree *a, *b;
} tree;

static int64_t tree_value(const tree *t, const int64_t *variables) {
    int64_t a = t->a != NULL ? tree_value(t->a, variables) : 0, b = t->b != NULL ? tree_value(t->b, variables) : 0;
    switch (t->kind) {
    case TREE_CONSTANT:
        return t->number;
    case TREE_VARIABLE:
        return variables[t->number];
    case TREE_ADD:
        return a + b;
    case TREE_SCALE:
        return a * t->number;
    case TREE_QUOTIENT:
        return floor_of(a, t->number);
    case TREE_REMAINDER:
        return a - floor_of(a, t->number) * t->number;
    case TREE_DATA:
        return data_at((int)t->number, 2, (int64_t[]){a, b});
    }
    return 0;
}

/* Every third divisor is unlike any size; the others meet the sizes, as in reshapes. */
static const int64_t divisors[] = {2, 3, 5, 4, 6, 7, 8, 12, 9, 24};

static const tree *draw_tree(arena *memory, rng *r, int depth) {
    tree *t = arena_make(memory, 1, sizeof *t);
    assert_non_null(t);
    t->kind = depth == 0 ? (tree_kind)rng_range(r, TREE_CONSTANT, TREE_ADD) : (tree_kind)rng_range(r, TREE_VARIABLE, TREE_DATA + 1);
    switch (t->kind) {
    case TREE_CONSTANT:
        t->number = rng_range(r, -30, 31);
        break;
    case TREE_VARIABLE:
        t->number = rng_range(r, 0, VARIABLES);
        break;
    case TREE_SCALE:
        t->number = rng_range(r, -12, 13);
        break;
    case TREE_DATA:
        t->number = rng_range(r, 0, 3);
        break;
    default:
        t->number = divisors[rng_range(r, 0, countof(divisors))];
        break;
    }
    if (t->kind >= TREE_ADD) {
        t->a = draw_tree(memory, r, depth - 1);
        t->b = t->kind == TREE_ADD || t->kind == TREE_DATA ? draw_tree(memory, r, depth - 1) : NULL;
    }
    return t;
}

static index_sum sum_of(index_pool *p, const tree *t, const int64_t *sizes) {
    index_sum a = t->a != NULL ? sum_of(p, t->a, sizes) : index_constant(0);
    index_sum b = t->b != NULL ? sum_of(p, t->b, sizes) : index_constant(0);
    switch (t->kind) {
    case TREE_CONSTANT:
        return index_constant(t->number);
    case TREE_VARIABLE:
        return index_variable(p, (int)t->number, sizes[t->number]);
    case TREE_ADD:
        return index_add(p, a, b);
    case TREE_SCALE:
        return index_scale(p, a, t->number);
    case TREE_QUOTIENT:
        return index_quotient(p, a, t->number);
    case TREE_REMAINDER:
        return index_remainder(p, a, t->number);
    case TREE_DATA:
        return index_data(p, (int)t->number, 2, (index_sum[]){a, b}, DATA_SIZE);
    }
    return a;
}

/* The next coordinates in row-major order; false behind the last. */
static bool advance(int n, const int64_t *sizes, int64_t *at) {
    for (int d = n - 1; d >= 0; d--) {
        if (++at[d] < sizes[d]) {
            return true;
        }
        at[d] = 0;
    }
    return false;
}

static void draw_sizes(rng *r, int64_t *sizes) {
    static const int64_t choice[] = {1, 2, 3, 4, 6, 5, 8, 12};
    for (int v = 0; v < VARIABLES; v++) {
        sizes[v] = choice[rng_range(r, 0, v < 2 ? countof(choice) : 5)];
    }
}

/* Its value, its bounds, its variables and its strides, at every place. */
static void check_sum(index_sum a, const tree *t, const int64_t *sizes) {
    int64_t at[VARIABLES] = {0}, low, high;
    index_range(a, &low, &high);
    do {
        int64_t value = value_of(a, at);
        assert_int_equal(value, tree_value(t, at));
        assert_true(value >= low && value <= high);
        for (int v = 0; v < VARIABLES; v++) {
            int64_t stride, next[VARIABLES];
            memcpy(next, at, sizeof next);
            if (++next[v] == sizes[v]) {
                continue;
            }
            if (index_stride(a, v, &stride)) {
                assert_int_equal(value_of(a, next) - value, stride);
            }
            if ((index_variables(a) >> v & 1) == 0) {
                assert_int_equal(value_of(a, next), value);
            }
        }
    } while (advance(VARIABLES, sizes, at));
}

static void sums_are_what_was_asked_for(void **state) {
    (void)state;
    enum { EXPRESSIONS = 4000 };
    print_message("seed %llu\n", (unsigned long long)seed);
    for (uint64_t i = 0; i < EXPRESSIONS; i++) {
        arena memory = {0};
        index_pool p = {.memory = &memory};
        rng r = rng_make_stream(seed, i);
        int64_t sizes[VARIABLES];
        draw_sizes(&r, sizes);
        const tree *t = draw_tree(&memory, &r, 1 + (int)(i % 4));
        index_sum a = sum_of(&p, t, sizes);
        check_sum(a, t, sizes);
        assert_true(index_equal(a, sum_of(&p, t, sizes)));
        assert_false(p.failed);
        arena_clear(&memory);
    }
}

/* Variables replaced by expressions of others that stay within their sizes. */
static void replacing_is_substitution(void **state) {
    (void)state;
    enum { EXPRESSIONS = 3000 };
    for (uint64_t i = 0; i < EXPRESSIONS; i++) {
        arena memory = {0};
        index_pool p = {.memory = &memory};
        rng r = rng_make_stream(seed + 1, i);
        int64_t sizes[VARIABLES], from[VARIABLES];
        draw_sizes(&r, sizes);
        draw_sizes(&r, from);
        const tree *t = draw_tree(&memory, &r, 3);
        index_sum a = sum_of(&p, t, sizes), by[VARIABLES];
        const tree *inner[VARIABLES];
        for (int v = 0; v < VARIABLES; v++) {
            tree *within = arena_make(&memory, 1, sizeof *within);
            assert_non_null(within);
            *within = (tree){.kind = TREE_REMAINDER, .number = sizes[v], .a = draw_tree(&memory, &r, 1)};
            inner[v] = within;
            by[v] = sum_of(&p, within, from);
        }
        index_sum replaced = index_replace(&p, a, VARIABLES, by);
        int64_t at[VARIABLES] = {0};
        do {
            int64_t outer[VARIABLES];
            for (int v = 0; v < VARIABLES; v++) {
                outer[v] = tree_value(inner[v], at);
            }
            assert_int_equal(value_of(replaced, at), tree_value(t, outer));
        } while (advance(VARIABLES, from, at));
        arena_clear(&memory);
    }
}

/* What reshapes there and back must come to: the simplest form, not only an equal value. */
static void simple_sums_look_simple(void **state) {
    (void)state;
    arena memory = {0};
    index_pool p = {.memory = &memory};
    index_sum i = index_variable(&p, 0, 6), j = index_variable(&p, 1, 8);
    index_sum flat = index_add(&p, index_scale(&p, i, 8), j);
    int id;
    int64_t stride;
    assert_true(index_equal(index_quotient(&p, flat, 8), i));
    assert_true(index_equal(index_remainder(&p, flat, 8), j));
    assert_true(index_is_variable(index_quotient(&p, flat, 8), &id) && id == 0);
    index_sum third = index_quotient(&p, flat, 3), rest = index_remainder(&p, flat, 3);
    assert_true(index_equal(index_add(&p, index_scale(&p, third, 3), rest), flat));
    assert_false(index_stride(third, 0, &stride));
    assert_true(index_equal(index_quotient(&p, index_quotient(&p, j, 2), 3), index_quotient(&p, j, 6)));
    assert_true(index_equal(index_add(&p, i, j), index_add(&p, j, i)));
    assert_int_equal(index_add(&p, i, index_scale(&p, i, -1)).n, 0);
    assert_int_equal(index_variable(&p, 2, 1).n, 0);
    assert_int_equal(index_data(&p, 0, 1, &i, 1).n, 1); /* to be checked even where only 0 is left */
    arena_clear(&memory);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_are_what_was_asked_for),
        cmocka_unit_test(replacing_is_substitution),
        cmocka_unit_test(simple_sums_look_simple),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
