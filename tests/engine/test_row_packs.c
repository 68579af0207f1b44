/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of every short length, whose sums, moments and places kernels find for as many rows together as a register has numbers. */
#include "engine/call_kit.h"

#include <math.h>

static const dtype reals[] = {ASSAY_F32, ASSAY_F64, ASSAY_BF16, ASSAY_F16};

/* As many rows as fill registers and some more, and few. */
static const int64_t row_counts[] = {70, 3};

static const int64_t lengths[] = {1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15,  16,  17,  18,  20,  23,  24,
                                  25, 31, 32, 33, 39, 40, 47, 48, 49, 63, 64, 65, 77, 79, 100, 127, 128, 129, 255, 256, 257};

static void check_sums(kit *k, arg self) {
    static const int64_t last[] = {1};
    const arg dim = arg_ints(last, 1), none = {.kind = ARG_NONE};
    kit_check(k, "sum.dim_IntList", (const arg[]){self, dim}, 2);
    kit_check(k, "mean.dim", (const arg[]){self, dim}, 2);
    kit_check(k, "norm.ScalarOpt_dim", (const arg[]){self, arg_number(number_of_int(1)), dim}, 3);
    kit_check(k, "norm.ScalarOpt_dim", (const arg[]){self, none, dim}, 3);
    kit_check(k, "var_mean.correction", (const arg[]){self, dim, arg_number(number_of_int(0))}, 3);
    kit_check(k, "std.correction", (const arg[]){self, dim, arg_number(number_of_int(0))}, 3);
}

static void sums_agree(void **state) {
    (void)state;
    kit k;
    kit_open(&k, 81);
    for (size_t i = 0; i < countof(lengths) * countof(reals) * countof(row_counts); i++) {
        const int64_t n = lengths[i / (countof(reals) * countof(row_counts))], rows = row_counts[i / countof(reals) % countof(row_counts)];
        const dtype t = reals[i % countof(reals)];
        check_sums(&k, arg_tensor(kit_tensor(&k, t, 2, (const int64_t[]){rows, n}, NULL)));
        check_sums(&k, arg_tensor(kit_tensor(&k, t, 2, (const int64_t[]){rows, n}, (const int64_t[]){n + 5, 1})));
        kit_reset(&k);
    }
    kit_close(&k);
}

/* Means far from 0: distances are from them, whichever way rows are read. */
static void far_means_agree(void **state) {
    (void)state;
    kit k;
    kit_open(&k, 82);
    for (size_t i = 0; i < countof(lengths); i++) {
        tensor *x = kit_tensor(&k, ASSAY_F32, 2, (const int64_t[]){70, lengths[i]}, NULL);
        float *values = (float *)(void *)tensor_data(x);
        for (int64_t j = 0; j < 70 * lengths[i]; j++) {
            values[j] += 1000.0f * (float)(1 + j / lengths[i] % 7);
        }
        check_sums(&k, arg_tensor(x));
        kit_reset(&k);
    }
    kit_close(&k);
}

/* The place of a row's first largest, or first NaN, looked for one after the other. */
static int64_t place_of(const float *row, int64_t n, bool smallest) {
    int64_t at = 0;
    for (int64_t i = 0; i < n; i++) {
        bool beats = smallest ? row[i] < row[at] : row[i] > row[at];
        at = (beats || isnan(row[i])) && !isnan(row[at]) ? i : at;
    }
    return at;
}

static void check_places(kit *k, tensor *x, int64_t rows, int64_t n, bool smallest) {
    outputs out;
    op_call call = kit_call(k, smallest ? "min.dim" : "max.dim", (const arg[]){arg_tensor(x), arg_int(1)}, 2);
    kit_run(k, &call, &out);
    const float *best = (const float *)(const void *)tensor_data(&out.items[0]);
    const int64_t *places = (const int64_t *)(const void *)tensor_data(&out.items[1]);
    for (int64_t r = 0; r < rows; r++) {
        const float *row = (const float *)(const void *)tensor_data(x) + r * n;
        const int64_t at = place_of(row, n, smallest);
        assert_int_equal(places[r], at);
        assert_memory_equal(&best[r], &row[at], sizeof(float));
    }
    outputs_clear(&out);
}

/* Few different numbers, so that the first of equal ones counts; both zeros, infinities, and a NaN in some rows. */
static void places_agree(void **state) {
    (void)state;
    static const float values[] = {-1, 0, -0.0f, 1, 2, -INFINITY, 2, -INFINITY};
    kit k;
    kit_open(&k, 83);
    for (size_t i = 0; i < countof(lengths) * 3 * countof(row_counts); i++) {
        const int64_t n = lengths[i / (3 * countof(row_counts))], rows = row_counts[i / 3 % countof(row_counts)];
        const bool has_nan = i % 3 == 2, all_low = i % 3 == 1;
        tensor *x = kit_tensor(&k, ASSAY_F32, 2, (const int64_t[]){rows, n}, NULL);
        float *to = (float *)(void *)tensor_data(x);
        rng r = rng_make_stream(k.seed, i);
        for (int64_t j = 0; j < rows * n; j++) {
            to[j] = all_low ? -INFINITY : values[rng_next(&r) % countof(values)];
            to[j] = has_nan && rng_next(&r) % 53 == 0 ? NAN : to[j];
        }
        check_places(&k, x, rows, n, false);
        check_places(&k, x, rows, n, true);
        kit_reset(&k);
    }
    kit_close(&k);
}

/* Within a caller's region a plan has fewer threads than it was made for: what others would have found is not there. Nothing is asserted
   in there. */
static void one_thread_finds_all(void **state) {
    (void)state;
    enum { ROWS = 600, N = 300, CALLS = 3 };
    static const char *const names[CALLS] = {"max.dim", "min.dim", "var_mean.correction"};
    static const int64_t first[] = {0};
    kit k;
    kit_open(&k, 84);
    for (int sign = -1; sign <= 1; sign += 2) {
        tensor *x = kit_tensor(&k, ASSAY_F32, 2, (const int64_t[]){ROWS, N}, NULL);
        for (int64_t i = 0; i < ROWS * N; i++) {
            ((float *)(void *)tensor_data(x))[i] = (float)(sign * (1 + (i / N * 7 + i) % 1000));
        }
        for (int c = 0; c < CALLS; c++) {
            const arg args[] = {arg_tensor(x), c < 2 ? arg_int(0) : arg_ints(first, 1), arg_number(number_of_int(0))};
            const int n_args = c < 2 ? 2 : 3;
            op_call call = kit_call(&k, names[c], args, n_args);
            outputs alone;
#pragma omp parallel num_threads(2)
#pragma omp master
            kit_run(&k, &call, &alone);
            kit_check(&k, names[c], args, n_args);
            for (int64_t i = 0; i < N; i++) {
                const float *got = (const float *)(const void *)tensor_data(&alone.items[0]);
                double most = -INFINITY, sum = 0, squares = 0;
                for (int64_t r = 0; r < ROWS; r++) {
                    const double value = (double)((const float *)(const void *)tensor_data(x))[r * N + i];
                    most = fmax(most, c == 1 ? -value : value);
                    sum += value;
                    squares += value * value;
                }
                const double variance = (squares - sum * sum / ROWS) / ROWS, expected = c == 2 ? variance : c == 1 ? -most : most;
                assert_true(fabs((double)got[i] - expected) <= (c == 2 ? 1e-4 * variance : 0));
            }
            outputs_clear(&alone);
        }
        kit_reset(&k);
    }
    kit_close(&k);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_agree),
        cmocka_unit_test(far_means_agree),
        cmocka_unit_test(places_agree),
        cmocka_unit_test(one_thread_finds_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
