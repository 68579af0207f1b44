/* SPDX-License-Identifier: Apache-2.0 */
/* Softmax of tensors whose results go past the caches, along every dimension, against sums in double: too large for the
   reference to go over all of it, so some lines are looked at, those with infinities and NaN among them. */
#include "call_kit.h"

#include <math.h>

/* Sizes: outer, n, inner; the line runs along n. */
typedef struct big {
    dtype type;
    int64_t outer, n, inner;
} big;

static const big shapes[] = {
    {ASSAY_F32, 8, 512, 2048},  {ASSAY_F32, 3, 517, 5472},  {ASSAY_F32, 70, 40, 3008}, {ASSAY_F32, 5, 3, 560064},
    {ASSAY_F64, 9, 100, 4672},  {ASSAY_F32, 2, 1024, 4101}, {ASSAY_F32, 300, 30522, 1}, {ASSAY_F32, 9000, 1000, 1},
    {ASSAY_F64, 4300, 1024, 1}, {ASSAY_F32, 8300, 1031, 1}, {ASSAY_BF16, 17000, 1024, 1},
};

/* Lines that hold what the others do not. */
enum { PLAIN, ALL_LOWEST, SOME_LOWEST, FIRST_LOWEST, HIGHEST, NOT_A_NUMBER, LARGE, RISING, FALLING, PEAK, NEAR_PEAK, KINDS };

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
        return 1.5e38 * (i % 2 == 0 ? 1 : -1);
    case RISING: /* what came before counts for less and less */
        return (double)i * 0.5;
    case FALLING:
        return (double)i * -0.5;
    case PEAK: /* far above what came before, and what comes after */
        return i == n * 3 / 4 ? 300 : x;
    case NEAR_PEAK: /* just within what an exponential still bears */
        return i == n * 3 / 4 ? 55 : x;
    default:
        return x;
    }
}

static char *at(const tensor *t, const big *b, int64_t line, int64_t i) {
    int64_t place = (line / b->inner * b->n + i) * b->inner + line % b->inner;
    return tensor_data(t) + place * (int64_t)dtype_size(t->dtype);
}

static void check_line(const tensor *x, const tensor *y, const big *b, int64_t line, bool logarithm) {
    double largest = -INFINITY, sum = 0, ulp = b->type == ASSAY_F64 ? 1e-13 : b->type == ASSAY_F32 ? 2e-5 : 1e-2;
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
                                                      (!logarithm && fabs(wanted) < 1e-37 && fabs(made) < 1e-37);
        if (!same) {
            print_error("%s [%lld, %lld, %lld], line %lld, element %lld: %g, not %g\n", logarithm ? "log" : "softmax",
                        (long long)b->outer, (long long)b->n, (long long)b->inner, (long long)line, (long long)i, made, wanted);
            assert_true(false);
        }
    }
}

static void lines_agree(void **state) {
    kit *k = *state;
    for (size_t c = 0; c < countof(shapes); c++) {
        const big *b = &shapes[c];
        int64_t lines = b->outer * b->inner, step = lines / 61 + 1;
        tensor *x = kit_tensor(k, b->type, 3, (int64_t[]){b->outer, b->n, b->inner}, NULL);
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
            outputs_clear(&out);
        }
        kit_reset(k);
    }
}

static uint64_t seed = 11;

int main(void) {
    const struct CMUnitTest tests[] = {
        KIT_TEST(lines_agree, &seed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
