/* SPDX-License-Identifier: Apache-2.0 */
/* Layer norm of tensors whose results go past the caches, against means and distances in double: too large for the reference
   to go over all of it, so some rows are looked at, those with infinities and NaN among them. */
#include "call_kit.h"

#include <math.h>

typedef struct big {
    dtype type;
    int64_t rows, n;
    bool weighs, shifts;
} big;

/* Rows that begin on lines of memory and not, fill blocks and not, that are as short as they may be and too long. */
static const big shapes[] = {
    {ASSAY_F32, 8200, 1024, true, true},   {ASSAY_F32, 8300, 1031, true, true},  {ASSAY_F32, 65600, 128, true, true},
    {ASSAY_F32, 64000, 137, true, false},  {ASSAY_F32, 70000, 127, true, true},  {ASSAY_F32, 1700, 5003, false, false},
    {ASSAY_F32, 130, 66001, true, true},   {ASSAY_F32, 140, 65536, true, true},  {ASSAY_F64, 4300, 1000, true, true},
    {ASSAY_F64, 16000, 263, false, true},  {ASSAY_BF16, 17000, 1024, true, true},
    {ASSAY_BF16, 16300, 1031, true, true}, {ASSAY_BF16, 125000, 137, true, false}, {ASSAY_F16, 16400, 1025, true, true},
    {ASSAY_F16, 140, 120001, false, true},
    /* several by one call: short ones, the last of them fewer, and long ones abreast of each other */
    {ASSAY_F32, 131101, 64, true, true},   {ASSAY_F32, 88003, 96, true, false},  {ASSAY_F32, 33001, 256, false, false},
    {ASSAY_F64, 33007, 128, true, true},   {ASSAY_BF16, 88005, 192, true, true}, {ASSAY_F16, 66001, 256, false, true},
    {ASSAY_F32, 4101, 2048, true, true},   {ASSAY_F32, 1367, 6144, true, false}, {ASSAY_F32, 531, 16384, false, true},
    {ASSAY_F64, 2051, 2080, true, true},   {ASSAY_BF16, 8203, 2048, true, true}, {ASSAY_F16, 2051, 8224, false, false},
    /* rows that a cache holds, by the same steps */
    {ASSAY_F32, 61, 1031, true, true},     {ASSAY_F64, 41, 517, true, true},     {ASSAY_BF16, 71, 1031, true, true},
    {ASSAY_F16, 67, 777, true, true},      {ASSAY_BF16, 40, 2048, true, false},  {ASSAY_F16, 3, 321, false, false},
    {ASSAY_F32, 61, 64, true, true},       {ASSAY_F32, 37, 96, true, false},     {ASSAY_F64, 19, 160, false, true},
    {ASSAY_BF16, 53, 768, true, true},     {ASSAY_F16, 45, 1024, false, false},  {ASSAY_F32, 5, 4096, true, true},
};

/* Rows that hold what the others do not. */
enum { PLAIN, ALL_SAME, HIGHEST, LOWEST, NOT_A_NUMBER, FIRST_NAN, LAST_NAN, FAR, KINDS };

static double special(int kind, int64_t i, int64_t n, double x) {
    switch (kind) {
    case ALL_SAME:
        return 3;
    case HIGHEST:
        return i == n / 2 ? INFINITY : x;
    case LOWEST:
        return i == n - 1 ? -INFINITY : x;
    case NOT_A_NUMBER:
        return i == n / 3 ? NAN : x;
    case FIRST_NAN:
        return i == 0 ? NAN : x;
    case LAST_NAN:
        return i == n - 1 ? NAN : x;
    case FAR: /* the mean is far from 0: squares of the elements themselves would cancel */
        return x + 1000;
    default:
        return x;
    }
}

static double load(const tensor *t, int64_t i) {
    return element_load(t->dtype, tensor_data(t) + i * (int64_t)dtype_size(t->dtype));
}

static void check_number(const big *b, const char *what, int64_t row, int64_t i, double made, double wanted, double tolerance) {
    bool same = isnan(wanted) ? isnan(made) : made == wanted || fabs(made - wanted) <= tolerance;
    if (!same) {
        print_error("[%lld, %lld], row %lld, %s %lld: %g, not %g\n", (long long)b->rows, (long long)b->n, (long long)row, what,
                    (long long)i, made, wanted);
        assert_true(false);
    }
}

static void check_row(const big *b, const tensor *x, const tensor *weight, const tensor *bias, const outputs *out, int64_t row) {
    double mean = 0, m2 = 0, eps = 1e-5, unit = b->type == ASSAY_F64 ? 1e-13 : 2e-6;
    double digits = b->type == ASSAY_BF16 ? 0x1p-8 : b->type == ASSAY_F16 ? 0x1p-11 : 0; /* what rounding to the type takes off */
    for (int64_t i = 0; i < b->n; i++) {
        mean += load(x, row * b->n + i) / (double)b->n;
    }
    for (int64_t i = 0; i < b->n; i++) {
        double distance = load(x, row * b->n + i) - mean;
        m2 += distance * distance / (double)b->n;
    }
    double rstd = 1 / sqrt(m2 + eps);
    check_number(b, "mean", row, 0, load(&out->items[1], row), mean, unit * (fabs(mean) + 1) + digits * fabs(mean));
    check_number(b, "rstd", row, 0, load(&out->items[2], row), rstd, 100 * unit * rstd + digits * rstd);
    for (int64_t i = 0; i < b->n; i++) {
        double v = load(x, row * b->n + i), w = b->weighs ? load(weight, i) : 1, p = b->shifts ? load(bias, i) : 0;
        double wanted = (v - mean) * rstd * w + p;
        double tolerance = unit * (100 * fabs(wanted) + 10 + rstd * fabs(w) * (fabs(mean) + fabs(v))) + digits * fabs(wanted);
        check_number(b, "element", row, i, load(&out->items[0], row * b->n + i), wanted, tolerance);
    }
}

static void rows_agree(void **state) {
    kit *k = *state;
    const arg none = {.kind = ARG_NONE};
    for (size_t c = 0; c < countof(shapes); c++) {
        const big *b = &shapes[c];
        int64_t step = b->rows / 61 + 1;
        tensor *x = kit_tensor(k, b->type, 2, (int64_t[]){b->rows, b->n}, NULL);
        tensor *weight = kit_tensor(k, b->type, 1, (int64_t[]){b->n}, NULL);
        tensor *bias = kit_tensor(k, b->type, 1, (int64_t[]){b->n}, NULL);
        for (int64_t row = 0, kind = 0; row < b->rows; row += step, kind++) {
            for (int64_t i = 0; kind % 2 == 0 && i < b->n; i++) {
                char *to = tensor_data(x) + (row * b->n + i) * (int64_t)dtype_size(b->type);
                element_store(b->type, to, special((int)(kind / 2) % KINDS, i, b->n, element_load(b->type, to)));
            }
        }
        op_call call = kit_call(k, "native_layer_norm",
                                (arg[]){arg_tensor(x), arg_ints((int64_t[]){b->n}, 1), b->weighs ? arg_tensor(weight) : none,
                                        b->shifts ? arg_tensor(bias) : none, arg_float(1e-5)},
                                5);
        outputs out;
        kit_run(k, &call, &out);
        for (int64_t row = 0; row < b->rows; row += step) {
            check_row(b, x, weight, bias, &out, row);
            check_row(b, x, weight, bias, &out, b->rows - 1 - row);
        }
        outputs_clear(&out);
        kit_reset(k);
    }
}

/* --- the gradient --- */

static const big gradients[] = {
    {ASSAY_F32, 131101, 64, true, true}, {ASSAY_F32, 65600, 128, true, true},  {ASSAY_F32, 33001, 256, false, false},
    {ASSAY_F64, 33007, 128, true, true}, {ASSAY_BF16, 88005, 192, true, true}, {ASSAY_F16, 66001, 256, true, false},
    {ASSAY_F32, 64000, 137, true, true}, {ASSAY_F32, 8200, 1024, true, true},  {ASSAY_F32, 37, 96, true, true},
    {ASSAY_BF16, 53, 768, true, true},   {ASSAY_F64, 45, 1024, true, true},
};

typedef struct gradient {
    const big *b;
    const tensor *dy, *x, *weight, *mean, *rstd;
} gradient;

static double scaled(const gradient *g, int64_t row, int64_t i) {
    return (load(g->x, row * g->b->n + i) - load(g->mean, row)) * load(g->rstd, row);
}

static void check_gradient_row(const gradient *g, const outputs *out, int64_t row) {
    const big *b = g->b;
    double sum = 0, products = 0, sizes = 0, unit = b->type == ASSAY_F64 ? 1e-13 : 1e-5;
    double digits = b->type == ASSAY_BF16 ? 0x1p-8 : b->type == ASSAY_F16 ? 0x1p-11 : 0;
    for (int64_t i = 0; i < b->n; i++) {
        double slope = load(g->dy, row * b->n + i) * (b->weighs ? load(g->weight, i) : 1);
        sum += slope / (double)b->n;
        products += slope * scaled(g, row, i) / (double)b->n;
        sizes += fabs(slope * scaled(g, row, i)) / (double)b->n;
    }
    for (int64_t i = 0; i < b->n; i++) {
        double slope = load(g->dy, row * b->n + i) * (b->weighs ? load(g->weight, i) : 1), rstd = load(g->rstd, row);
        double wanted = (slope - sum - scaled(g, row, i) * products) * rstd;
        double size = (fabs(slope) + fabs(sum) + (fabs(scaled(g, row, i)) + fabs(load(g->mean, row) * rstd) + 1) * sizes) * fabs(rstd);
        check_number(b, "gradient", row, i, load(&out->items[0], row * b->n + i), wanted,
                     unit * size + digits * fabs(wanted) + (b->type == ASSAY_F16 ? 0x1p-24 : 0)); /* denormal numbers lie so far apart */
    }
}

/* Sums over all rows, of one element in several. */
static void check_sums(const gradient *g, const outputs *out) {
    const big *b = g->b;
    double unit = b->type == ASSAY_F64 ? 1e-13 : 1e-5, digits = b->type == ASSAY_BF16 ? 0x1p-8 : b->type == ASSAY_F16 ? 0x1p-11 : 0;
    for (int64_t i = 0; i < b->n; i += 7) {
        double weight = 0, bias = 0, weights = 0, biases = 0;
        for (int64_t row = 0; row < b->rows; row++) {
            double dy = load(g->dy, row * b->n + i), product = dy * scaled(g, row, i);
            weight += product;
            bias += dy;
            weights += fabs(product) + fabs(dy * load(g->mean, row) * load(g->rstd, row));
            biases += fabs(dy);
        }
        check_number(b, "weight", 0, i, load(&out->items[1], i), weight, unit * weights + digits * fabs(weight));
        check_number(b, "bias", 0, i, load(&out->items[2], i), bias, unit * biases + digits * fabs(bias));
    }
}

/* Where only the input's gradient is asked for, shifts is false. */
static void gradients_agree(void **state) {
    kit *k = *state;
    const arg none = {.kind = ARG_NONE};
    for (size_t c = 0; c < countof(gradients); c++) {
        const big *b = &gradients[c];
        const int64_t sizes[] = {b->rows, b->n}, stats[] = {b->rows, 1}, step = b->rows / 61 + 1;
        tensor *dy = kit_tensor(k, b->type, 2, sizes, NULL), *x = kit_tensor(k, b->type, 2, sizes, NULL);
        tensor *weight = kit_tensor(k, b->type, 1, &b->n, NULL), *mean = kit_tensor(k, b->type == ASSAY_F64 ? ASSAY_F64 : ASSAY_F32, 2, stats, NULL);
        tensor *rstd = kit_tensor(k, mean->dtype, 2, stats, NULL);
        const gradient g = {b, dy, x, weight, mean, rstd};
        static const bool all[] = {true, true, true}, one[] = {true, false, false};
        op_call call = kit_call(k, "native_layer_norm_backward",
                                (arg[]){arg_tensor(dy), arg_tensor(x), arg_ints((int64_t[]){b->n}, 1), arg_tensor(mean), arg_tensor(rstd),
                                        b->weighs ? arg_tensor(weight) : none, b->weighs ? arg_tensor(weight) : none,
                                        (arg){.kind = ARG_BOOLS, .bools = b->shifts ? all : one, .n = 3}},
                                8);
        outputs out;
        kit_run(k, &call, &out);
        for (int64_t row = 0; row < b->rows; row += step) {
            check_gradient_row(&g, &out, row);
            check_gradient_row(&g, &out, b->rows - 1 - row);
        }
        if (b->shifts && b->weighs) {
            check_sums(&g, &out);
        }
        outputs_clear(&out);
        kit_reset(k);
    }
}

static uint64_t seed = 12;

int main(void) {
    const struct CMUnitTest tests[] = {
        KIT_TEST(rows_agree, &seed),
        KIT_TEST(gradients_agree, &seed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
