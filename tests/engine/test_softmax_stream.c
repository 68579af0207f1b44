/* SPDX-License-Identifier: Apache-2.0 */
/* Softmax and its gradients of tensors whose results go past the caches, along every dimension, against sums in double: too large for the
   reference to go over all of it, so some lines are looked at, those with infinities and NaN among them. And of smaller ones across
   memory, which go by the same steps. */
#include "call_kit.h"

#include <math.h>
#include <omp.h>

/* Sizes: outer, n, inner; the line runs along n. */
typedef struct big {
    dtype type;
    int64_t outer, n, inner;
} big;

static const big shapes[] = {
    {ASSAY_F32, 8, 512, 2048},  {ASSAY_F32, 3, 517, 5472},  {ASSAY_F32, 70, 40, 3008}, {ASSAY_F32, 5, 3, 560064},
    {ASSAY_F64, 9, 100, 4672},  {ASSAY_F32, 2, 1024, 4101}, {ASSAY_F32, 300, 30522, 1}, {ASSAY_F32, 9000, 1000, 1},
    {ASSAY_F32, 3, 1000, 3001}, {ASSAY_F64, 7, 65, 9999},   {ASSAY_F64, 4300, 1024, 1}, {ASSAY_F32, 8300, 1031, 1}, {ASSAY_BF16, 17000, 1024, 1},
    {ASSAY_F32, 9, 1000, 1000}, {ASSAY_F32, 5, 700, 2511},  {ASSAY_F32, 7, 513, 2600},  {ASSAY_F32, 33, 37, 7009},
    {ASSAY_BF16, 17000, 1031, 1}, {ASSAY_F16, 600, 30522, 1}, {ASSAY_F16, 130000, 131, 1},
    {ASSAY_BF16, 17, 512, 2048},  {ASSAY_F16, 7, 517, 5472},    {ASSAY_BF16, 5, 3, 1120128}, {ASSAY_BF16, 140, 40, 3008},
    {ASSAY_BF16, 4, 1024, 4101},  {ASSAY_F16, 17, 1000, 1000},  {ASSAY_BF16, 9, 700, 2761},  {ASSAY_F16, 66, 37, 7009},
    /* columns of which a core's own cache holds too few */
    {ASSAY_F32, 1, 6000, 448},    {ASSAY_F32, 2, 9001, 201},    {ASSAY_F64, 1, 5003, 130},   {ASSAY_BF16, 1, 20000, 165},
    /* lines of which no cache of a core holds one, piece by piece */
    {ASSAY_F32, 41, 262147, 1},   {ASSAY_F64, 20, 300007, 1},   {ASSAY_BF16, 15, 1400001, 1}, {ASSAY_F16, 60, 300032, 1},
    /* short lines, many in one call */
    {ASSAY_F32, 66000, 128, 1},   {ASSAY_F32, 50001, 201, 1},
    /* what a cache holds: of columns, by the same steps */
    {ASSAY_F32, 4, 64, 128},      {ASSAY_F32, 3, 37, 257},      {ASSAY_F32, 8, 19, 4099},    {ASSAY_F32, 2, 520, 1024},
    {ASSAY_F64, 3, 40, 200},      {ASSAY_BF16, 5, 70, 161},     {ASSAY_F16, 6, 33, 1000},    {ASSAY_BF16, 4, 517, 1031},
    {ASSAY_F32, 9, 4, 1000},      {ASSAY_BF16, 40, 64, 64},     {ASSAY_F32, 70, 3, 65},      {ASSAY_F16, 9, 5, 64},
    /* short rows, several together */
    {ASSAY_F32, 301, 10, 1},      {ASSAY_F32, 90, 16, 1},       {ASSAY_F32, 77, 49, 1},      {ASSAY_F32, 70, 128, 1},
    {ASSAY_F64, 99, 17, 1},       {ASSAY_BF16, 300, 10, 1},     {ASSAY_F16, 70, 200, 1},     {ASSAY_F32, 50, 256, 1},
    {ASSAY_F64, 50, 128, 1},      {ASSAY_F32, 9000, 131, 1},    {ASSAY_F32, 60, 257, 1},
    /* rows that a cache holds, by the steps of those that none does */
    {ASSAY_F32, 61, 1031, 1},     {ASSAY_F32, 2, 320, 1},       {ASSAY_F64, 41, 517, 1},     {ASSAY_BF16, 71, 1031, 1},
    {ASSAY_F16, 67, 777, 1},      {ASSAY_BF16, 40, 2048, 1},    {ASSAY_F16, 1, 4099, 1},     {ASSAY_F16, 90, 512, 1},
};

/* Lines that hold what the others do not. */
enum { PLAIN, ALL_LOWEST, SOME_LOWEST, FIRST_LOWEST, HIGHEST, NOT_A_NUMBER, LARGE, RISING, FALLING, PEAK, NEAR_PEAK, FAR_PEAK, HIGH, KINDS };

static double special(int kind, int64_t i, int64_t n, double x) {
    switch (kind) {
    case ALL_LOWEST:
        return -INFINITY;
    case SOME_LOWEST:
        return i % 3 == 0 ? -INFINITY : x;
    case FIRST_LOWEST:
        return i < n - 1 ? -INFINITY : x;
    case HIGHEST:
        return i == n / 2 ? INFINITY : x;
    case NOT_A_NUMBER:
        return i == n / 3 ? NAN : x;
    case LARGE:
        return 1.5e38 * (i % 2 == 0 ? 1 : -1); /* infinite in f16 */
    case RISING: /* what came before counts for less and less */
        return (double)i * 0.5;
    case FALLING:
        return (double)i * -0.5;
    case PEAK: /* far above what came before, and what comes after */
        return i == n * 3 / 4 ? 300 : x;
    case NEAR_PEAK: /* just within what an exponential still bears */
        return i == n * 3 / 4 ? 55 : x;
    case FAR_PEAK: /* its exponent would go round several times */
        return i == n / 4 ? 20000 : x;
    case HIGH: /* too far from 0 for what is quick near it */
        return x + 700;
    default:
        return x;
    }
}

static char *at(const tensor *t, const big *b, int64_t line, int64_t i) {
    int64_t place = line / b->inner * t->strides[0] + i * t->strides[1] + line % b->inner * t->strides[2];
    return tensor_data(t) + place * (int64_t)dtype_size(t->dtype);
}

static void check_line(const tensor *x, const tensor *y, const big *b, int64_t line, bool logarithm) {
    double largest = -INFINITY, sum = 0, ulp = b->type == ASSAY_F64 ? 1e-13 : b->type == ASSAY_F32 ? 2e-5 : b->type == ASSAY_F16 ? 6e-4 : 5e-3;
    for (int64_t i = 0; i < b->n; i++) {
        double v = element_load(b->type, at(x, b, line, i));
        largest = v > largest || isnan(v) ? v : largest;
    }
    for (int64_t i = 0; i < b->n; i++) {
        sum += exp(element_load(b->type, at(x, b, line, i)) - largest);
    }
    for (int64_t i = 0; i < b->n; i++) {
        double v = element_load(b->type, at(x, b, line, i)) - largest, made = element_load(b->type, at(y, b, line, i));
        double wanted = logarithm ? v - log(sum) : exp(v) / sum;
        bool same = isnan(wanted) ? isnan(made) : made == wanted || fabs(made - wanted) <= ulp * (fabs(wanted) + 1e-30) ||
                                                      (!logarithm && fabs(wanted) < 1e-37 && fabs(made) < 1e-37) ||
                                                      (logarithm && fabs(made - wanted) < 0x1p-52) || /* of a sum near 1, in double */
                                                      (b->type == ASSAY_F16 && fabs(made - wanted) <= 0x1.1p-25);
        if (!same) {
            print_error("%s [%lld, %lld, %lld], line %lld, element %lld: %g, not %g\n", logarithm ? "log" : "softmax",
                        (long long)b->outer, (long long)b->n, (long long)b->inner, (long long)line, (long long)i, made, wanted);
            assert_true(false);
        }
    }
}

static void check_lines(kit *k, const big *list, size_t n_list) {
    for (size_t c = 0; c < n_list; c++) {
        const big *b = &list[c];
        int64_t lines = b->outer * b->inner, step = lines / 61 + 1;
        int64_t row = b->inner == 1 ? 1 : b->inner + (int64_t)(c % 3) * 13; /* of the input: elements lie between some's rows */
        tensor *x = kit_tensor(k, b->type, 3, (int64_t[]){b->outer, b->n, b->inner}, (int64_t[]){b->n * row, row, 1});
        for (int64_t line = 0, kind = 0; line < lines; line += step, kind++) {
            for (int64_t i = 0; kind % 2 == 0 && i < b->n; i++) {
                char *to = at(x, b, line, i);
                element_store(b->type, to, special((int)(kind / 2) % KINDS, i, b->n, element_load(b->type, to)));
            }
        }
        for (int l = 0; l < 2; l++) {
            op_call call = kit_call(k, l ? "_log_softmax" : "_softmax", (arg[]){arg_tensor(x), arg_int(1), arg_bool(false)}, 3);
            outputs out;
            kit_run(k, &call, &out);
            for (int64_t line = 0; line < lines; line += step) {
                check_line(x, &out.items[0], b, line, l == 1);
                check_line(x, &out.items[0], b, lines - 1 - line, l == 1);
            }
            /* Where rows of the output meet, and blocks of columns. */
            int64_t middle = b->outer / 2 * b->inner;
            for (int64_t line = middle > 20 ? middle - 20 : 0; line < middle + 20 && line < lines; line++) {
                check_line(x, &out.items[0], b, line, l == 1);
            }
            outputs_clear(&out);
        }
        kit_reset(k);
    }
}

static const big gradients[] = {
    {ASSAY_F32, 8, 512, 2048}, {ASSAY_F32, 2, 1024, 4101}, {ASSAY_F32, 30, 40, 7008}, {ASSAY_F64, 9, 100, 4672},
    {ASSAY_F64, 7, 65, 9999},  {ASSAY_F32, 8300, 1031, 1}, {ASSAY_F32, 9000, 1000, 1}, {ASSAY_F64, 4300, 1024, 1},
    {ASSAY_BF16, 17000, 1024, 1}, {ASSAY_F16, 16500, 1031, 1}, {ASSAY_BF16, 17, 512, 2048}, {ASSAY_F16, 17, 512, 2048},
    {ASSAY_BF16, 4, 1024, 4101},  {ASSAY_F16, 60, 40, 7008},    {ASSAY_F16, 9, 700, 2761},
    {ASSAY_F32, 2, 4096, 512},    {ASSAY_F32, 1, 5003, 501},    {ASSAY_F64, 1, 3001, 513},   {ASSAY_BF16, 1, 9001, 513},
    {ASSAY_F32, 1, 4096, 256},    {ASSAY_F16, 2, 8192, 256},
    {ASSAY_F32, 4, 64, 128},      {ASSAY_F32, 3, 37, 257},      {ASSAY_F32, 8, 19, 4099},    {ASSAY_F64, 3, 40, 200},
    {ASSAY_BF16, 5, 70, 161},     {ASSAY_F16, 6, 33, 1000},     {ASSAY_F32, 2, 520, 1024},   {ASSAY_BF16, 40, 64, 64},
    {ASSAY_F32, 61, 1031, 1},     {ASSAY_F32, 3, 131, 1},       {ASSAY_F64, 41, 517, 1},     {ASSAY_BF16, 71, 1031, 1},
    {ASSAY_F16, 67, 777, 1},      {ASSAY_BF16, 40, 130, 1},     {ASSAY_F16, 2, 4099, 1},     {ASSAY_F16, 90, 512, 1},
};

static void check_gradient(const tensor *const *g_y, const tensor *out, const big *b, int64_t line, bool logarithm) {
    double sum = 0, size = 0, most = b->type == ASSAY_F64 ? 1e-13 : b->type == ASSAY_F32 ? 1e-5 : 5e-3;
    for (int64_t i = 0; i < b->n; i++) {
        double g = element_load(b->type, at(g_y[0], b, line, i)), y = element_load(b->type, at(g_y[1], b, line, i));
        sum += logarithm ? g : g * y;
        size += logarithm ? fabs(g) : fabs(g * y);
    }
    for (int64_t i = 0; i < b->n; i++) {
        double g = element_load(b->type, at(g_y[0], b, line, i)), y = element_load(b->type, at(g_y[1], b, line, i));
        double wanted = logarithm ? g - exp(y) * sum : (g - sum) * y, scale = fabs(g) + (logarithm ? exp(y) : fabs(y)) * (size + fabs(g));
        double made = element_load(b->type, at(out, b, line, i));
        if (!(isnan(wanted) ? isnan(made) : fabs(made - wanted) <= most * scale)) {
            print_error("%s [%lld, %lld, %lld], line %lld, element %lld: %g, not %g\n", logarithm ? "log" : "softmax",
                        (long long)b->outer, (long long)b->n, (long long)b->inner, (long long)line, (long long)i, made, wanted);
            assert_true(false);
        }
    }
}

/* Two lines at least: every line with another step, so that all places of a row within its lines of memory are met; one holds a NaN. */
static void check_gradients(kit *k, const big *list, size_t n_list) {
    for (size_t c = 0; c < n_list; c++) {
        const big *b = &list[c];
        int64_t lines = b->outer * b->inner, step = lines / 97 + 1;
        tensor *g = kit_tensor(k, b->type, 3, (int64_t[]){b->outer, b->n, b->inner}, NULL);
        tensor *y = kit_tensor(k, b->type, 3, (int64_t[]){b->outer, b->n, b->inner}, NULL);
        element_store(b->type, at(g, b, step, b->n / 2), NAN);
        for (int l = 0; l < 2; l++) {
            arg type = arg_dtype(b->type);
            op_call call = kit_call(k, l ? "_log_softmax_backward_data" : "_softmax_backward_data",
                                    (arg[]){arg_tensor(g), arg_tensor(y), arg_int(1), type}, 4);
            outputs out;
            kit_run(k, &call, &out);
            for (int64_t line = 0; line < lines; line += step) {
                check_gradient((const tensor *const[]){g, y}, &out.items[0], b, line, l == 1);
                check_gradient((const tensor *const[]){g, y}, &out.items[0], b, lines - 1 - line, l == 1);
            }
            outputs_clear(&out);
        }
        kit_reset(k);
    }
}

static void lines_agree(void **state) {
    check_lines(*state, shapes, countof(shapes));
}

static void gradients_agree(void **state) {
    check_gradients(*state, gradients, countof(gradients));
}

/* So many rows that threads have a part of them each, on processors where they do. */
static const big shared[] = {
    {ASSAY_F32, 3, 1500, 1024}, {ASSAY_F32, 1, 2051, 2048}, {ASSAY_F64, 2, 900, 1000}, {ASSAY_F32, 40, 3001, 128},
};
static const big shared_gradients[] = {
    {ASSAY_F32, 5, 512, 1024}, {ASSAY_BF16, 9, 517, 1024}, {ASSAY_F64, 2, 331, 1000}, {ASSAY_F16, 3, 1025, 2048},
};

static void shared_rows_agree(void **state) {
    const int threads = omp_get_max_threads();
    for (int t = 2; t <= 5; t++) {
        omp_set_num_threads(t);
        check_lines(*state, shared, countof(shared));
        check_gradients(*state, shared_gradients, countof(shared_gradients));
    }
    omp_set_num_threads(threads);
}

/* Within someone's parallel region there are fewer threads than were planned for. */
static void shared_rows_of_one_thread_agree(void **state) {
    const int threads = omp_get_max_threads();
    omp_set_num_threads(2);
#pragma omp parallel num_threads(2)
#pragma omp single
    {
        check_lines(*state, shared, countof(shared));
        check_gradients(*state, shared_gradients, countof(shared_gradients));
    }
    omp_set_num_threads(threads);
}

static uint64_t seed = 11;

int main(void) {
    const struct CMUnitTest tests[] = {
        KIT_TEST(lines_agree, &seed),
        KIT_TEST(gradients_agree, &seed),
        KIT_TEST(shared_rows_agree, &seed),
        KIT_TEST(shared_rows_of_one_thread_agree, &seed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
