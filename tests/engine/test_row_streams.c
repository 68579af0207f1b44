/* SPDX-License-Identifier: Apache-2.0 */
/* The loops by which softmax, layer norm and their gradients finish one row while they read the next (softmax_step, layer_step and
   their like), against plain loops in double: rows of every type, of any length, that begin anywhere on a line of memory, by all
   instruction sets that this CPU has. */
#include "unit.h"

#include "base/rng.h"
#include "engine/kernels/cpu/row_loops.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SEED = 17, ROUNDS = 480, LEAST = STREAM_LEAST, MOST = 700, LINE = 64, GUARD = 64, ROWS = 2 };

extern const row_loops row_loops_f32_baseline, row_loops_f64_baseline;
#if defined(__x86_64__)
extern const row_loops row_loops_f32_avx2, row_loops_f64_avx2;
#endif

/* Loops for a type of this round's instruction set. */
static const row_loops *loops_of(dtype t, int round) {
    const row_loops *best = row_loops_for(t);
    if (round % 3 == 0) {
        return t == ASSAY_F64 ? &row_loops_f64_baseline : &row_loops_f32_baseline;
    }
#if defined(__x86_64__)
    if (round % 3 == 1 && isa_best() >= ISA_AVX2) {
        return t == ASSAY_F64 ? &row_loops_f64_avx2 : &row_loops_f32_avx2;
    }
#endif
    return best;
}

/* A row, what it holds, and room behind it that nobody may touch. */
typedef struct row {
    void *block;
    char *at;
    double is[MOST], guard;
} row;

static double get(dtype t, const row *r, int64_t i) {
    return element_load(t, r->at + i * (int64_t)dtype_size(t));
}

static void row_make(row *x, dtype t, rng *r, int64_t n, double scale, double offset) {
    int64_t size = (int64_t)dtype_size(t);
    size_t bytes = (MOST + 3 * GUARD) * sizeof(double);
    x->block = aligned_alloc(LINE, (bytes + LINE - 1) / LINE * LINE); /* a multiple, as the standard asks */
    assert_non_null(x->block);
    x->at = (char *)x->block + rng_range(r, 0, LINE / size) * size;
    for (int64_t i = 0; i < n + GUARD; i++) {
        element_store(t, x->at + i * size, (double)(float)((rng_uniform(r) * 2 - 1) * scale + offset));
    }
    for (int64_t i = 0; i < n; i++) {
        x->is[i] = get(t, x, i);
    }
    x->guard = get(t, x, n);
}

/* What goes with a row in the computing type. */
static void *beside_make(const row_loops *l) {
    void *room = aligned_alloc(LINE, ((size_t)row_beside_room(MOST) * l->size + LINE - 1) / LINE * LINE);
    assert_non_null(room);
    memset(room, 0, (size_t)row_beside_room(MOST) * l->size);
    return room;
}

static char *beside_at(const row_loops *l, void *room, dtype t, int64_t i, int64_t n) {
    return (char *)room + row_beside(t, i, n) * (int64_t)l->size;
}

typedef struct round_of {
    dtype type;
    const row_loops *l;
    int64_t n;
    int number;
    double eps; /* what rounding to the type takes off a number at most, as a share of it */
} round_of;

static void near(const round_of *c, double made, double wanted, double allowed, const char *what) {
    if (!(isnan(wanted) ? isnan(made) : made == wanted || fabs(made - wanted) <= allowed)) {
        print_error("%s: %g, not %g (round %d, seed %d, type %d, n %lld)\n", what, made, wanted, c->number, SEED, (int)c->type,
                    (long long)c->n);
        assert_true(false);
    }
}

/* --- softmax ---------------------------------------------------------------------------------------------------------------- */

static double exponentials(const round_of *c, const row *x, double less) {
    double sum = 0;
    for (int64_t i = 0; i < c->n; i++) {
        sum += exp(x->is[i] - less);
    }
    return sum;
}

static double largest_in(const round_of *c, const row *x) {
    double largest = -INFINITY;
    for (int64_t i = 0; i < c->n; i++) {
        largest = x->is[i] > largest ? x->is[i] : largest;
    }
    return largest;
}

/* Three steps: the first only reads, the last only finishes. */
static void check_softmax(const round_of *c, rng *r, bool logarithm) {
    static row x[ROWS], y[ROWS];
    void *made[ROWS] = {beside_make(c->l), beside_make(c->l)};
    double factor = 0, largest = 0, after = 0, digits = c->eps + (c->type == ASSAY_BF16 ? 4e-4 : c->type == ASSAY_F16 ? 3e-5 : 1e-5);
    for (int k = 0; k < ROWS; k++) {
        row_make(&x[k], c->type, r, c->n, 6, k == 0 ? 0 : -100);
        row_make(&y[k], c->type, r, c->n, 1, 0);
        if (k == 0 && c->number % 4 == 0) { /* as masks make them */
            element_store(c->type, x[k].at + c->n / 2 * (int64_t)dtype_size(c->type), -INFINITY);
            x[k].is[c->n / 2] = -INFINITY;
        }
    }
    for (int k = 0; k <= ROWS; k++) {
        softmax_step step = {.type = c->type, .logarithm = logarithm, .begins = k == 0 || c->number % 3 == 0, .shift = after, .n = c->n,
                             .past = c->number % 7 < 4};
        if (k < ROWS) {
            step.x = x[k].at;
            step.made = made[k];
            step.after = k + 1 < ROWS ? x[k + 1].at : NULL;
        }
        if (k > 0) {
            step.from = logarithm ? x[k - 1].at : made[k - 1];
            step.to = y[k - 1].at;
            step.factor = factor;
            step.finish_largest = largest;
        }
        c->l->softmax_stream(&step);
        if (k == ROWS) {
            continue;
        }
        if (step.after != NULL) { /* one of its first elements */
            after = step.near;
            assert_true(after <= largest_in(c, &x[k + 1]) && after > largest_in(c, &x[k + 1]) - SOFTMAX_REACH);
        }
        double sum = exponentials(c, &x[k], step.shift);
        near(c, step.sum, sum, digits * sum, "sum");
        largest = largest_in(c, &x[k]);
        if (logarithm) {
            near(c, step.largest, largest, 0, "largest");
            near(c, step.part, exp(largest - step.shift), digits * exp(largest - step.shift), "part");
        }
        factor = logarithm ? log(step.sum) + (step.shift - largest) : 1 / step.sum;
    }
    c->l->settle();
    for (int k = 0; k < ROWS; k++) {
        double above = largest_in(c, &x[k]), sum = exponentials(c, &x[k], above);
        for (int64_t i = 0; i < c->n; i++) {
            double v = x[k].is[i] - above, wanted = logarithm ? v - log(sum) : exp(v) / sum;
            near(c, get(c->type, &y[k], i), wanted, 2 * digits * fabs(wanted) + (c->type == ASSAY_F16 ? 0x1.1p-25 : 0), "softmax");
        }
        near(c, get(c->type, &y[k], c->n), y[k].guard, 0, "what lies behind");
        free(x[k].block);
        free(y[k].block);
        free(made[k]);
    }
}

static void check_softmax_back(const round_of *c, rng *r, bool logarithm) {
    static row g[ROWS], y[ROWS], out;
    for (int k = 0; k < ROWS; k++) {
        row_make(&g[k], c->type, r, c->n, 1, 0);
        row_make(&y[k], c->type, r, c->n, 1, logarithm ? -2 : 1);
    }
    row_make(&out, c->type, r, c->n, 1, 0);
    softmax_back_step step = {.past = c->number % 7 < 4, .type = c->type,
                              .logarithm = logarithm, .n = c->n, .g = g[1].at, .y = y[1].at, .from_g = g[0].at,
                              .from_y = y[0].at, .to = out.at, .finish_sum = 0.75};
    c->l->softmax_back_stream(&step);
    c->l->settle();
    double sum = 0;
    for (int64_t i = 0; i < c->n; i++) {
        double gi = g[0].is[i], yi = y[0].is[i], wanted = logarithm ? gi - exp(yi) * 0.75 : (gi - 0.75) * yi;
        sum += logarithm ? g[1].is[i] : g[1].is[i] * y[1].is[i];
        near(c, get(c->type, &out, i), wanted, c->eps * fabs(wanted) + 2e-6, "gradient of softmax");
    }
    near(c, step.sum, sum, 1e-6 * (double)c->n, "sum of g y");
    near(c, get(c->type, &out, c->n), out.guard, 0, "what lies behind");
    for (int k = 0; k < ROWS; k++) {
        free(g[k].block);
        free(y[k].block);
    }
    free(out.block);
}

/* --- layer norm ------------------------------------------------------------------------------------------------------------- */

static double param(int64_t i, int which) {
    return (double)(i % 13 - 6) / 8 + which;
}

static void *params(const round_of *c, int which) {
    void *room = beside_make(c->l);
    for (int64_t i = 0; i < c->n; i++) {
        c->l->fill(beside_at(c->l, room, c->type, i, c->n), param(i, which), 1);
    }
    return room;
}

static void check_layer(const round_of *c, rng *r, bool reads, bool stores, bool weighs, bool shifts) {
    static row x[ROWS], out;
    void *weight = params(c, 1), *bias = params(c, 2);
    for (int k = 0; k < ROWS; k++) {
        row_make(&x[k], c->type, r, c->n, 1, 0.5);
    }
    row_make(&out, c->type, r, c->n, 1, 0);
    layer_step step = {.past = c->number % 7 < 4, .type = c->type, .n = c->n, .x = reads ? x[1].at : NULL, .centre = 0.375, .from = x[0].at,
                       .to = stores ? out.at : NULL, .mean = 0.25, .rstd = 1.75, .weight = weighs ? weight : NULL,
                       .bias = shifts ? bias : NULL};
    c->l->layer_stream(&step);
    c->l->settle();
    double sum = 0, squares = 0;
    for (int64_t i = 0; i < c->n; i++) {
        double wanted = (x[0].is[i] - 0.25) * 1.75 * (weighs ? param(i, 1) : 1) + (shifts ? param(i, 2) : 0), off = x[1].is[i] - 0.375;
        sum += off;
        squares += off * off;
        near(c, get(c->type, &out, i), stores ? wanted : out.is[i], stores ? c->eps * fabs(wanted) + 4e-6 : 0, "layer norm");
    }
    near(c, step.sum, reads ? sum : 0, 1e-6 * (double)c->n, "sum");
    near(c, step.squares, reads ? squares : 0, 1e-6 * (double)c->n, "squares");
    near(c, get(c->type, &out, c->n), out.guard, 0, "what lies behind");
    free(x[0].block);
    free(x[1].block);
    free(out.block);
    free(weight);
    free(bias);
}

static void check_layer_back(const round_of *c, rng *r, bool reads, bool stores, bool weighs, bool adds) {
    static row x[ROWS], dy[ROWS], out;
    void *weight = params(c, 1), *weights = params(c, 3), *biases = params(c, 4);
    for (int k = 0; k < ROWS; k++) {
        row_make(&x[k], c->type, r, c->n, 1, 0.5);
        row_make(&dy[k], c->type, r, c->n, 1, 0);
    }
    row_make(&out, c->type, r, c->n, 1, 0);
    layer_back_step step = {.past = c->number % 7 < 4, .type = c->type, .n = c->n,
                            .dy = reads ? dy[1].at : NULL, .x = reads ? x[1].at : NULL, .mean = 0.375,
                            .rstd = 1.25, .weight_sums = adds ? weights : NULL, .bias_sums = adds ? biases : NULL, .from_dy = dy[0].at,
                            .from_x = x[0].at, .to = stores ? out.at : NULL, .from_mean = 0.25, .from_rstd = 1.75, .from_g = 0.125,
                            .from_gx = -0.5, .weight = weighs ? weight : NULL};
    c->l->layer_back_stream(&step);
    c->l->settle();
    double sum = 0, products = 0;
    for (int64_t i = 0; i < c->n; i++) {
        double w = weighs ? param(i, 1) : 1, hat = (x[1].is[i] - 0.375) * 1.25, from_hat = (x[0].is[i] - 0.25) * 1.75;
        double wanted = 1.75 * (dy[0].is[i] * w - 0.125 - from_hat * -0.5);
        double weight_sum = element_load(c->l->type, beside_at(c->l, weights, c->type, i, c->n));
        double bias_sum = element_load(c->l->type, beside_at(c->l, biases, c->type, i, c->n));
        sum += dy[1].is[i] * w;
        products += dy[1].is[i] * w * hat;
        near(c, get(c->type, &out, i), stores ? wanted : out.is[i], stores ? c->eps * fabs(wanted) + 8e-6 : 0, "gradient");
        double weight_more = (reads ? dy[1].is[i] * hat : 0) + (stores ? dy[0].is[i] * from_hat : 0);
        double bias_more = (reads ? dy[1].is[i] : 0) + (stores ? dy[0].is[i] : 0);
        near(c, weight_sum, param(i, 3) + (adds ? weight_more : 0), 4e-6, "weight's gradient");
        near(c, bias_sum, param(i, 4) + (adds ? bias_more : 0), 4e-6, "bias's gradient");
    }
    near(c, step.g, reads ? sum : 0, 1e-6 * (double)c->n, "sum of g");
    near(c, step.gx, reads ? products : 0, 2e-6 * (double)c->n, "sum of products");
    near(c, get(c->type, &out, c->n), out.guard, 0, "what lies behind");
    for (int k = 0; k < ROWS; k++) {
        free(x[k].block);
        free(dy[k].block);
    }
    free(out.block);
    free(weight);
    free(weights);
    free(biases);
}

/* --- differences ------------------------------------------------------------------------------------------------------------ */

/* Of any length; kind: which of the rows has a NaN. */
static void check_differences(const round_of *of, rng *r, int kind) {
    round_of c = *of;
    c.n = kind % 2 == 0 ? rng_range(r, 0, 70) : of->n;
    const double factor = kind % 3 == 0 ? 2 : -0.3;
    row x, y, out;
    row_make(&x, c.type, r, c.n, 3, 0);
    row_make(&y, c.type, r, c.n, 3, 0.5);
    row_make(&out, c.type, r, c.n, 1, 0);
    if (kind % 5 == 4 && c.n > 0) {
        row *one = kind % 2 == 0 ? &x : &y;
        int64_t place = rng_range(r, 0, c.n);
        element_store(c.type, one->at + place * (int64_t)dtype_size(c.type), NAN);
        one->is[place] = NAN;
    }
    double sum = 0;
    c.l->difference_stream(c.type, out.at, x.at, y.at, factor, c.n, kind % 4 < 2);
    c.l->settle();
    for (int64_t i = 0; i < c.n; i++) {
        double d = x.is[i] - y.is[i];
        sum += d * d;
        if (dtype_size(c.type) == 2) { /* ties go to even */
            uint16_t rounded;
            element_store(c.type, &rounded, (double)((float)d * (float)factor));
            near(&c, get(c.type, &out, i), element_load(c.type, &rounded), 0, "difference of halves");
        } else {
            near(&c, get(c.type, &out, i), factor * d, c.eps * fabs(factor * d) + 1e-7, "difference");
        }
    }
    near(&c, c.l->distance_of(c.type, x.at, y.at, c.n), sum, 1e-6 * sum, "distance");
    near(&c, get(c.type, &out, c.n), out.guard, 0, "what lies behind");
    free(x.block);
    free(y.block);
    free(out.block);
}

/* --- rounds ----------------------------------------------------------------------------------------------------------------- */

static void each_round(void (*check)(const round_of *c, rng *r, int kind)) {
    static const dtype types[] = {ASSAY_BF16, ASSAY_F16, ASSAY_F32, ASSAY_F64};
    rng r = rng_make(SEED);
    for (int k = 0; k < ROUNDS; k++) {
        dtype t = types[k % 4];
        round_of c = {.type = t, .l = loops_of(t, k / 4), .n = rng_range(&r, LEAST, MOST), .number = k,
                      .eps = t == ASSAY_BF16 ? 0x1p-8 : t == ASSAY_F16 ? 0x1p-11 : 1e-6};
        check(&c, &r, k / 12);
    }
}

static void softmax_round(const round_of *c, rng *r, int kind) {
    check_softmax(c, r, kind % 2 == 0);
    check_softmax_back(c, r, kind % 2 == 0);
}

static void layer_round(const round_of *c, rng *r, int kind) {
    bool all = kind % 2 == 0;
    check_layer(c, r, all || kind % 4 == 1, all || kind % 4 == 3, all || kind % 8 < 4, all || kind % 16 < 8);
    check_layer_back(c, r, all || kind % 4 == 1, all || kind % 4 == 3, all || kind % 8 < 4, all || kind % 16 < 8);
}

static void test_softmax_steps(void **state) {
    (void)state;
    each_round(softmax_round);
}

static void test_layer_steps(void **state) {
    (void)state;
    each_round(layer_round);
}

static void test_differences(void **state) {
    (void)state;
    each_round(check_differences);
}

/* NaN in a row, and numbers beyond all others, in every type. */
static void test_ends_of_range(void **state) {
    (void)state;
    static const dtype types[] = {ASSAY_BF16, ASSAY_F16, ASSAY_F32, ASSAY_F64};
    static row x, out, masked;
    rng r = rng_make(SEED);
    for (int k = 0; k < 48; k++) {
        dtype t = types[k % 4];
        round_of c = {.type = t, .l = loops_of(t, k / 4), .n = 200 + k, .number = k};
        const double sizes[] = {t == ASSAY_F16 ? 65504 : 0x1.fep127, t == ASSAY_F16 ? 30000 : 1e9, 0x1p99, 1000};
        double most = k / 12 % 4 == 2 && t == ASSAY_F16 ? 4096 : sizes[k / 12 % 4];
        void *made = beside_make(c.l), *weight = params(&c, 1);
        row_make(&x, t, &r, c.n, 0, -most); /* all the same, as where all is masked */
        row_make(&out, t, &r, c.n, 1, 0);
        softmax_step step = {.past = true, .type = t, .begins = true, .n = c.n, .x = x.at, .made = made};
        c.l->softmax_stream(&step);
        near(&c, step.sum, exponentials(&c, &x, step.shift), 1e-2, "sum of what is all the same");
        assert_true(step.sum > 0.9 * (double)c.n && step.sum < 1.1 * (double)c.n);
        int64_t place = rng_range(&r, 0, c.n);
        element_store(t, x.at + place * (int64_t)dtype_size(t), NAN);
        c.l->softmax_stream(&step);
        near(&c, step.sum, NAN, 0, "sum with a NaN");
        layer_step norm = {.past = true, .type = t, .n = c.n, .from = x.at, .to = out.at, .mean = 0, .rstd = 1, .weight = weight};
        c.l->layer_stream(&norm);
        c.l->settle();
        for (int64_t i = 0; i < c.n; i++) {
            double wanted = i == place ? (double)NAN : x.is[i] * param(i, 1), made_of = get(t, &out, i);
            assert_true(isnan(wanted) ? isnan(made_of) : fabs(wanted) > most * 0.999 || fabs(made_of - wanted) <= 0x1p-7 * fabs(wanted));
        }
        row_make(&masked, t, &r, c.n, 0, 1);
        for (int64_t i = 0; i < c.n - 1; i++) {
            element_store(t, masked.at + i * (int64_t)dtype_size(t), -INFINITY);
        }
        softmax_step begun = {.type = t, .begins = true, .n = c.n, .x = masked.at, .made = made};
        c.l->softmax_stream(&begun);
        assert_true(begun.sum > exp(SOFTMAX_REACH)); /* is taken anew, less the largest */
        free(masked.block);
        free(made);
        free(weight);
        free(x.block);
        free(out.block);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_softmax_steps),
        cmocka_unit_test(test_layer_steps),
        cmocka_unit_test(test_differences),
        cmocka_unit_test(test_ends_of_range),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
