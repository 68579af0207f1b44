/* SPDX-License-Identifier: Apache-2.0 */
/* The loops by which norms finish one row while they read the next into its place, or several rows where they lie (ring_step), against
   plain loops in double, for rows of any length that begin anywhere on a line. */
#include "unit.h"

#include "base/rng.h"
#include "engine/kernels/cpu/row_loops.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SEED = 11, ROUNDS = 600, MOST = 400, LINE = 64, GUARD = 16 };

/* Rows of one type, with room behind them that nobody may touch. */
typedef struct row_set {
    double kept[MOST], kept_dy[MOST], next[MOST], next_dy[MOST]; /* what they hold */
    char *at[5];                                                 /* kept, kept_dy, next, next_dy and the output */
    void *block[5];
} row_set;

static double get(dtype t, const char *at, int64_t i) {
    return element_load(t, at + i * (int64_t)dtype_size(t));
}

static void fill(dtype t, rng *r, int64_t n, row_set *s) {
    int64_t size = (int64_t)dtype_size(t);
    double *values[] = {s->kept, s->kept_dy, s->next, s->next_dy, NULL};
    for (int k = 0; k < 5; k++) {
        s->block[k] = aligned_alloc(LINE, (MOST + 3 * GUARD) * sizeof(double));
        assert_non_null(s->block[k]);
        s->at[k] = (char *)s->block[k] + rng_range(r, 0, LINE / size) * size;
        for (int64_t i = 0; i < n + GUARD; i++) {
            double x = (double)(float)(rng_uniform(r) * 4 - 1);
            element_store(t, s->at[k] + i * size, x);
            if (values[k] != NULL && i < n) {
                values[k][i] = get(t, s->at[k], i);
            }
        }
    }
}

static void clear(row_set *s) {
    for (int k = 0; k < 5; k++) {
        free(s->block[k]);
    }
}

/* eps: what rounding takes off a number at most, as a share of it. */
static void near(double made, double expected, double eps, double scale, const char *what, int round) {
    if (!(fabs(made - expected) <= eps * (scale + fabs(expected)))) {
        print_error("%s: expected %g, got %g (round %d, seed %d)\n", what, expected, made, round, SEED);
        assert_true(false);
    }
}

static ring_numbers numbers_of(int64_t row) {
    double more = (double)row / 4;
    return (ring_numbers){.factor = 1.5 + more, .plus = -0.25, .mean = 0.5, .a = 0.75, .b = -0.125, .c = 2 + more};
}

/* What a row makes of an element. */
static double finished(int64_t row, bool backward, double dy, double x) {
    ring_numbers f = numbers_of(row);
    return backward ? dy * f.a + ((x - f.mean) * f.b + f.c) : x * f.factor + f.plus;
}

/* Rows that are kept, one or several side by side, some places apart in what is kept and as far, or further, elsewhere. */
static void check_round(dtype t, rng *r, int round, bool backward) {
    static row_set s;
    const row_loops *l = row_loops_for(t);
    double eps = t == ASSAY_BF16 ? 0x1p-8 : t == ASSAY_F16 ? 0x1p-11 : 1e-5;
    int64_t rows = rng_range(r, 1, RING_ROWS + 1), n = rng_range(r, 1, MOST / rows), kept = rng_range(r, n, MOST / rows);
    int64_t apart = rng_range(r, n, MOST / rows), size = (int64_t)dtype_size(t), last = rows - 1;
    fill(t, r, MOST, &s);
    bool finishes = round % 5 != 0, reads = round % 7 != 0;
    ring_step step = {.type = t, .n = n, .rows = rows, .x_step = apart * size, .dy_step = apart * size, .to_step = apart * size,
                      .kept_step = kept * size, .kept = reads ? s.at[0] : NULL, .kept_dy = reads ? s.at[1] : NULL, .from = s.at[0],
                      .from_dy = s.at[1], .centre = 0.875};
    for (int64_t k = 0; k < rows; k++) {
        step.finish[k] = numbers_of(k);
    }
    double before[MOST], sum = 0, products = 0;
    for (int64_t i = 0; i < MOST; i++) {
        before[i] = get(t, s.at[4], i);
    }
    double guard = get(t, s.at[4], MOST), kept_guard = get(t, s.at[0], MOST);
    step.to = finishes ? s.at[4] : NULL;
    step.next = reads ? s.at[2] : NULL;
    step.next_dy = reads ? s.at[3] : NULL;
    step.after = step.next;
    step.after_dy = step.next_dy;
    (backward ? l->ring_backward : l->ring_forward)(&step);
    l->settle();
    for (int64_t i = 0; i < MOST; i++) {
        int64_t row = i / apart, at = i % apart, from = row * kept + at;
        bool is_of_row = finishes && row <= last && at < n;
        near(get(t, s.at[4], i), is_of_row ? finished(row, backward, s.kept_dy[from], s.kept[from]) : before[i], is_of_row ? eps : 0, 1,
             "finished", round);
    }
    for (int64_t i = 0; i < MOST; i++) {
        int64_t row = i / kept, at = i % kept, from = row * apart + at;
        bool is_of_row = reads && row <= last && at < n;
        near(get(t, s.at[0], i), is_of_row ? s.next[from] : s.kept[i], 0, 0, "kept", round);
        near(get(t, s.at[1], i), is_of_row && backward ? s.next_dy[from] : s.kept_dy[i], 0, 0, "kept dy", round);
        double off = is_of_row ? s.next[from] - 0.875 : 0, dy = is_of_row ? s.next_dy[from] : 0;
        sum += backward ? dy : off;
        products += (backward ? dy : off) * off;
    }
    near(step.sum, sum, 1e-5, (double)(rows * n), "sum", round);
    near(step.products, products, 1e-5, (double)(rows * n), "products", round);
    assert_true(get(t, s.at[4], MOST) == guard);
    assert_true(get(t, s.at[0], MOST) == kept_guard);
    clear(&s);
}

/* Rows that overlap none but themselves, some places apart: the two runs read them and finish them from the last one back. */
static void check_rows(dtype t, rng *r, int round, bool backward) {
    static row_set s;
    const row_loops *l = row_loops_for(t);
    double eps = t == ASSAY_BF16 ? 0x1p-8 : t == ASSAY_F16 ? 0x1p-11 : 1e-5;
    int64_t rows = rng_range(r, 1, 6), n = rng_range(r, 1, MOST / rows), apart = rng_range(r, n, MOST / rows), last = (rows - 1) * apart;
    int64_t size = (int64_t)dtype_size(t);
    fill(t, r, MOST, &s);
    ring_step step = {.type = t, .n = n, .rows = rows, .next = s.at[0], .next_dy = s.at[1], .x_step = apart * size,
                      .dy_step = apart * size, .centre = 0.875};
    (backward ? l->ring_backward : l->ring_forward)(&step);
    ring_step finish = {.type = t, .n = n, .rows = rows, .from = s.at[0] + last * size, .from_dy = s.at[1] + last * size,
                        .to = s.at[4] + last * size, .x_step = -apart * size, .dy_step = -apart * size, .to_step = -apart * size,
                        .finish = {numbers_of(0)}};
    double before[MOST], sum = 0, products = 0;
    for (int64_t i = 0; i < MOST; i++) {
        before[i] = get(t, s.at[4], i);
    }
    (backward ? l->ring_backward : l->ring_forward)(&finish);
    l->settle();
    for (int64_t i = 0; i < MOST; i++) {
        if (i % apart >= n || i > last + n - 1) {
            assert_true(get(t, s.at[4], i) == before[i]);
            continue;
        }
        double x = s.kept[i], dy = s.kept_dy[i];
        near(get(t, s.at[4], i), finished(0, backward, dy, x), eps, 1, "finished", round);
        sum += backward ? dy : x - 0.875;
        products += (backward ? dy : x - 0.875) * (x - 0.875);
    }
    near(step.sum, sum, 1e-5, (double)(rows * n), "sum", round);
    near(step.products, products, 1e-5, (double)(rows * n), "products", round);
    clear(&s);
}

/* Elements between the rows and behind them are as they were. */
static void check_finished(dtype t, row_set *s, const double *before, const ring_step *step, bool backward, const double *dy, const double *x,
                           int round) {
    int64_t apart = step->to_step / (int64_t)dtype_size(t);
    double eps = t == ASSAY_BF16 ? 0x1p-8 : t == ASSAY_F16 ? 0x1p-11 : 1e-5;
    for (int64_t i = 0; i < MOST + GUARD; i++) {
        int64_t row = i / apart;
        bool is_of_row = row < step->rows && i % apart < step->n;
        near(get(t, s->at[4], i), is_of_row ? finished(row, backward, dy[i], x[i]) : before[i], is_of_row ? eps : 0, 1, "finished in turn",
             round);
    }
}

/* What is kept a block of each row in turn is finished as what was read, while others are read, and behind the last. */
static void check_in_turn(dtype t, rng *r, int round, bool backward) {
    static row_set s;
    const row_loops *l = row_loops_for(t);
    int64_t rows = rng_range(r, 1, RING_ROWS + 1), n = rng_range(r, 1, MOST / rows), apart = rng_range(r, n, MOST / rows);
    int64_t size = (int64_t)dtype_size(t);
    fill(t, r, MOST, &s);
    ring_step step = {.type = t, .n = n, .rows = rows, .x_step = apart * size, .dy_step = apart * size, .to_step = apart * size,
                      .kept_step = n * size, .in_turn = true, .kept = s.at[0], .kept_dy = s.at[1], .centre = 0.875};
    for (int64_t k = 0; k < rows; k++) {
        step.finish[k] = numbers_of(k);
    }
    double before[MOST + GUARD], kept_guard[GUARD];
    for (int64_t i = 0; i < MOST + GUARD; i++) {
        before[i] = get(t, s.at[4], i);
    }
    for (int64_t i = 0; i < GUARD; i++) {
        kept_guard[i] = get(t, s.at[0], rows * n + i);
    }
    for (int k = 0; k < 3; k++) { /* reads, finishes while it reads the same the other way about, finishes */
        step.next = k == 0 ? s.at[2] : k == 1 ? s.at[3] : NULL;
        step.next_dy = k == 0 ? s.at[3] : k == 1 ? s.at[2] : NULL;
        step.after = step.next;
        step.after_dy = step.next_dy;
        step.from = k > 0 ? s.at[0] : NULL;
        step.from_dy = k > 0 ? s.at[1] : NULL;
        step.to = k > 0 ? s.at[4] : NULL;
        (backward ? l->ring_backward : l->ring_forward)(&step);
        l->settle();
        if (k > 0) {
            check_finished(t, &s, before, &step, backward, k == 1 ? s.next_dy : s.next, k == 1 ? s.next : s.next_dy, round);
        }
    }
    for (int64_t i = 0; i < GUARD; i++) {
        assert_true(get(t, s.at[0], rows * n + i) == kept_guard[i]);
    }
    clear(&s);
}

static void test_rings(void **state) {
    (void)state;
    static const dtype types[] = {ASSAY_F32, ASSAY_F64, ASSAY_BF16, ASSAY_F16};
    rng r = rng_make(SEED);
    for (int round = 0; round < ROUNDS; round++) {
        check_round(types[round % 4], &r, round, round / 4 % 2 == 0);
        check_rows(types[round % 4], &r, round, round / 4 % 2 == 0);
        check_in_turn(types[round % 4], &r, round, round / 4 % 2 == 0);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_rings)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
