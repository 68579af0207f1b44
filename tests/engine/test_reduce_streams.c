/* SPDX-License-Identifier: Apache-2.0 */
/* Reductions and running sums whose loops take several rows or many elements at once: moments about the mean of what came before, columns
   by quarters, places of the largest found with the values, running sums eight at a time. */
#include "engine/call_kit.h"

#include "engine/kernels/cpu/row_loops.h"

#include <math.h>

static const dtype reals[] = {ASSAY_F32, ASSAY_F64, ASSAY_BF16, ASSAY_F16};

static void put(tensor *x, int64_t i, double value) {
    element_store(x->dtype, tensor_data(x) + i * (int64_t)dtype_size(x->dtype), value);
}

static void check_moments(kit *k, tensor *x, arg dims) {
    arg zero = arg_number(number_of_int(0));
    kit_check(k, "var_mean.correction", (const arg[]){arg_tensor(x), dims, zero}, 3);
    kit_check(k, "std.correction", (const arg[]){arg_tensor(x), dims, zero}, 3);
}

/* Runs of one output between those of others, of all lengths; so many that threads share the outputs, or each output. */
static void moments_in_turns_agree(void **state) {
    (void)state;
    static const int64_t sizes[][3] = {{5, 3, 63}, {5, 3, 64}, {7, 200, 65}, {3, 5, 2049}, {9, 2, 5000}, {40, 1, 3136}, {1, 1, 70000}, {300, 130, 81}};
    static const int64_t ends[] = {0, 2};
    kit k;
    kit_open(&k, 91);
    for (size_t i = 0; i < countof(reals) * countof(sizes); i++) {
        const int64_t *n = sizes[i / countof(reals)], gaps[] = {n[1] * (n[2] + 5), n[2] + 5, 1}, far[] = {n[2], n[0] * n[2], 1};
        const int64_t *const strides[] = {NULL, gaps, far};
        for (size_t s = 0; s < countof(strides); s++) {
            check_moments(&k, kit_tensor(&k, reals[i % countof(reals)], 3, n, strides[s]), arg_ints(ends, 2));
        }
        kit_reset(&k);
    }
    kit_close(&k);
}

/* What lies far from the mean of those before it, and what is not finite. */
typedef enum odd_kind { ODD_STEPS, ODD_EQUAL, ODD_FIRST, ODD_FAR_MEAN, ODD_NAN, ODD_INFINITE, ODD_HUGE, ODD_KINDS } odd_kind;

static double odd_value(odd_kind kind, int64_t run, int64_t at) {
    double small = (double)((at * 7 + run) % 5) / 4;
    switch (kind) {
    case ODD_STEPS:
        return 1000 * (double)(run % 3) + small;
    case ODD_EQUAL:
        return 0.1;
    case ODD_FIRST:
        return run == 0 ? 0 : 1024 + small;
    case ODD_FAR_MEAN:
        return 8192 + 4 * small;
    case ODD_NAN:
        return run == 1 && at == 70 ? (double)NAN : small;
    case ODD_INFINITE:
        return run == 2 && at == 0 ? (double)INFINITY : small;
    default:
        return run == 1 ? 1e15 * small : small;
    }
}

static void odd_moments_agree(void **state) {
    (void)state;
    enum { RUNS = 6, KEPT = 3, N = 2100 };
    static const int64_t ends[] = {0, 2};
    kit k;
    kit_open(&k, 92);
    for (int i = 0; i < ODD_KINDS * 3; i++) {
        dtype t = reals[i % 3];
        if (t == ASSAY_F64 && i / 3 == ODD_HUGE) {
            continue; /* the reference is no better there than this */
        }
        if (t == ASSAY_BF16 && (i / 3 == ODD_FAR_MEAN || i / 3 == ODD_FIRST)) {
            continue; /* has no such numbers */
        }
        tensor *x = kit_tensor(&k, t, 3, (const int64_t[]){RUNS, KEPT, N}, NULL);
        for (int64_t e = 0; e < RUNS * KEPT * N; e++) {
            put(x, e, odd_value((odd_kind)(i / 3), e / N / KEPT, e % N));
        }
        check_moments(&k, x, arg_ints(ends, 2));
        kit_reset(&k);
    }
    kit_close(&k);
}

/* The same by columns, the rows of which are `run` and its places together. */
static void odd_columns_agree(void **state) {
    (void)state;
    enum { ROWS = 700, N = 200 };
    kit k;
    kit_open(&k, 93);
    for (int i = 0; i < ODD_KINDS * 2; i++) {
        tensor *x = kit_tensor(&k, reals[i % 2], 2, (const int64_t[]){ROWS, N}, NULL);
        for (int64_t e = 0; e < ROWS * N; e++) {
            put(x, e, odd_value((odd_kind)(i / 2), e / N / 100, e / N % 100 + e % N));
        }
        check_moments(&k, x, INTS(0));
        kit_reset(&k);
    }
    kit_close(&k);
}

/* Blocks of columns whose rows lie one behind the other, by quarters or not, and what is left of rows and columns. */
static void columns_by_quarters_agree(void **state) {
    (void)state;
    static const int64_t sizes[][3] = {{2, 67, 1024}, {3, 130, 64}, {1, 515, 71}, {2, 63, 300}, {1, 1030, 1000}, {2, 64, 1025}, {4, 3, 128}, {1, 600, 15}};
    static const dtype types[] = {ASSAY_F32, ASSAY_F64, ASSAY_BF16, ASSAY_F16, ASSAY_I64};
    kit k;
    kit_open(&k, 94);
    for (size_t i = 0; i < countof(types) * countof(sizes); i++) {
        const int64_t *n = sizes[i / countof(types)], gaps[] = {n[1] * (n[2] + 7), n[2] + 7, 1};
        for (int s = 0; s < 2; s++) {
            tensor *x = kit_tensor(&k, types[i % countof(types)], 3, n, s == 0 ? NULL : gaps);
            arg self = arg_tensor(x);
            kit_check(&k, "sum.dim_IntList", (const arg[]){self, INTS(1)}, 2);
            kit_check(&k, "max.dim", (const arg[]){self, arg_int(1)}, 2);
            kit_check(&k, "min.dim", (const arg[]){self, arg_int(1)}, 2);
            if (dtype_is_floating(x->dtype)) {
                kit_check(&k, "mean.dim", (const arg[]){self, INTS(1)}, 2);
                check_moments(&k, x, INTS(1));
            }
        }
        kit_reset(&k);
    }
    kit_close(&k);
}

/* Runs of channels larger than caches, one behind the other in each sample, or with gaps between the samples; of many samples, which threads
   share, and of few. */
static void channels_in_order_agree(void **state) {
    (void)state;
    static const int64_t sizes[][4] = {{41, 5, 1, 41000}, {700, 70, 9, 80}, {3, 300, 1, 9400}};
    static const int64_t across[] = {0, 2, 3};
    static const dtype types[] = {ASSAY_F32, ASSAY_BF16, ASSAY_F16, ASSAY_F64, ASSAY_I64};
    kit k;
    kit_open(&k, 95);
    for (size_t i = 0; i < countof(types) * countof(sizes); i++) {
        const int64_t *n = sizes[i % countof(sizes)], run = n[2] * n[3], gaps[] = {(n[1] + 1) * run, run, n[3], 1};
        const dtype t = types[i / countof(sizes)];
        tensor *x = kit_tensor(&k, t, 4, (const int64_t[]){n[0] * (t == ASSAY_BF16 || t == ASSAY_F16 ? 2 : 1), n[1], n[2], n[3]},
                               i % 2 == 0 ? NULL : gaps);
        kit_check(&k, "sum.dim_IntList", (const arg[]){arg_tensor(x), arg_ints(across, 3)}, 2);
        if (dtype_is_floating(t)) {
            kit_check(&k, "norm.ScalarOpt_dim", (const arg[]){arg_tensor(x), arg_number(number_of_int(2)), arg_ints(across, 3)}, 3);
            kit_check(&k, "var_mean.correction", (const arg[]){arg_tensor(x), arg_ints(across, 3), arg_number(number_of_int(0))}, 3);
        }
        kit_reset(&k);
    }
    kit_close(&k);
}

/* --- loops of all instruction sets ---------------------------------------------------------------------------------------------- */


extern const row_loops row_loops_f32_baseline;
#if defined(__x86_64__)
extern const row_loops row_loops_f32_avx2, row_loops_f32_avx512;
#endif

static size_t floats_loops(const row_loops *to[3]) {
    size_t n = 0;
    to[n++] = &row_loops_f32_baseline;
#if defined(__x86_64__)
    if (isa_best() >= ISA_AVX2) {
        to[n++] = &row_loops_f32_avx2;
    }
    if (isa_best() >= ISA_AVX512) {
        to[n++] = &row_loops_f32_avx512;
    }
#endif
    return n;
}

/* The plain meaning of max.dim: the first of the best, the first NaN before all. */
static int64_t first_best(const float *x, int64_t n, int64_t stride, bool smallest) {
    int64_t best = 0;
    for (int64_t i = 1; i < n && !isnan(x[best * stride]); i++) {
        float a = x[i * stride], b = x[best * stride];
        best = isnan(a) || (smallest ? a < b : a > b) ? i : best;
    }
    return best;
}

/* Few different numbers, so that many are equal; zeros of both signs. */
static void fill_with_ties(float *x, int64_t n, uint32_t seed) {
    static const float some[] = {0.0f, -0.0f, 1, 2, -1, -2, INFINITY, -INFINITY};
    int64_t kinds = seed % 5 == 0 ? 2 : seed % 5 == 1 ? 6 : seed % 5 == 2 ? 8 : 4;
    for (int64_t i = 0; i < n; i++) {
        seed = seed * 1664525u + 1013904223u;
        x[i] = seed >> 28 < 15 ? some[(seed >> 16) % (uint32_t)kinds] : (float)(seed >> 20) / 4096;
    }
}

static void places_in_rows(void **state) {
    (void)state;
    enum { MOST = ROW_BLOCK };
    static float x[MOST + 8192];
    const row_loops *loops[3];
    size_t n_loops = floats_loops(loops);
    for (int64_t n = 1; n <= MOST; n += n < 140 ? 1 : 211) {
        for (uint32_t seed = 0; seed < 12; seed++) {
            fill_with_ties(x, n, seed + (uint32_t)n * 31);
            for (uint32_t k = 0; k < seed / 4; k++) {
                x[(seed * 97 + k * 41) % n] = NAN;
            }
            for (size_t i = 0; i < 2 * n_loops; i++) {
                bool smallest = i % 2 == 1;
                const int64_t first = first_best(x, n, 1, smallest);
                int32_t both[2];
                assert_int_equal(loops[i / 2]->place(x, n, smallest), first);
                if (n <= ROW_SHORT_PLACED) { /* the row twice */
                    loops[i / 2]->place_short(both, x, 2, 0, n, smallest);
                    assert_true(both[0] == first && both[1] == first);
                }
            }
        }
    }
}

static void places_in_columns(void **state) {
    (void)state;
    static const int64_t sizes[][2] = {{4, 16}, {8, 64}, {13, 65}, {67, 100}, {31, 1024}, {3, 64}};
    static float x[67 * 1024], best[1024];
    static int32_t where[1024];
    const row_loops *loops[3];
    size_t n_loops = floats_loops(loops);
    for (size_t i = 0; i < countof(sizes) * 12 * n_loops * 2; i++) {
        const int64_t rows = sizes[i % countof(sizes)][0], n = sizes[i % countof(sizes)][1], whole = rows / 4 * 4;
        const int64_t stride = i % 3 == 0 ? n : n + 5;
        const row_loops *l = loops[i / countof(sizes) / 24];
        bool smallest = i / countof(sizes) % 2 == 1, has_nan = i / countof(sizes) % 24 >= 20;
        fill_with_ties(x, rows * stride, (uint32_t)i);
        if (has_nan && whole > 0) {
            x[(int64_t)i * 131 % whole * stride + (int64_t)i * 17 % n] = NAN;
        }
        memcpy(best, x, (size_t)n * sizeof *best);
        memset(where, 0, sizeof where);
        bool is_found = l->place_rows(best, where, x, rows, stride, n, smallest);
        assert_int_equal(is_found, !has_nan || whole == 0);
        for (int64_t c = 0; is_found && c < n; c++) {
            int64_t at = whole > 0 ? first_best(x + c, whole, stride, smallest) : 0;
            assert_int_equal(where[c], at);
            assert_memory_equal(&best[c], &x[at * stride + c], sizeof *best);
        }
    }
}

/* Running sums round once, from double. */
static void running_sums_are_exact(void **state) {
    (void)state;
    enum { MOST = 300 };
    float x[MOST], y[MOST];
    const row_loops *loops[3];
    size_t n_loops = floats_loops(loops);
    for (size_t i = 0; i < MOST * n_loops; i++) {
        int64_t n = (int64_t)(i / n_loops);
        const row_loops *l = loops[i % n_loops];
        double sum = 0.5;
        for (int64_t k = 0; k < n; k++) { /* whole numbers: their sums are the same in any order, and too long for a float */
            x[k] = k % 3 == 1 ? 16777215.0f : k % 5 == 2 ? -3.0f : 1.0f;
        }
        if (n > 200) {
            x[n - 60] = i % 2 == 0 ? INFINITY : NAN;
            x[n - 9] = -INFINITY;
        }
        row_wide total = {.f = sum};
        l->scan(y, x, &total, n, false);
        for (int64_t k = 0; k < n; k++) {
            sum += (double)x[k];
            assert_true((isnan(sum) && isnan(y[k])) || y[k] == (float)sum);
        }
        assert_true((isnan(sum) && isnan(total.f)) || total.f == sum);
    }
}

/* Sums about a centre, with nothing of what lies behind the elements. */
static void sums_about_a_centre(void **state) {
    (void)state;
    enum { MOST = 200 };
    float x[MOST + 64];
    const row_loops *loops[3];
    size_t n_loops = floats_loops(loops);
    for (int64_t i = 0; i < MOST + 64; i++) {
        x[i] = (float)(i % 7);
    }
    for (int64_t i = 0; i < MOST * (int64_t)n_loops; i++) {
        int64_t n = i / (int64_t)n_loops;
        double sum = 5, squares = 7, expected = 5, expected_squares = 7;
        float behind = x[n];
        x[n] = NAN;
        loops[i % (int64_t)n_loops]->sums_about(x, n, 2, &sum, &squares);
        x[n] = behind;
        for (int64_t k = 0; k < n; k++) {
            expected += (double)x[k] - 2;
            expected_squares += ((double)x[k] - 2) * ((double)x[k] - 2);
        }
        assert_true(sum == expected && squares == expected_squares);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(moments_in_turns_agree), cmocka_unit_test(odd_moments_agree),  cmocka_unit_test(odd_columns_agree),
        cmocka_unit_test(columns_by_quarters_agree), cmocka_unit_test(channels_in_order_agree), cmocka_unit_test(places_in_rows),  cmocka_unit_test(places_in_columns),
        cmocka_unit_test(running_sums_are_exact), cmocka_unit_test(sums_about_a_centre),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
