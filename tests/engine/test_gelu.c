/* SPDX-License-Identifier: Apache-2.0 */
/* gelu and its gradient on the CPU at hand, whose loops may look them up in tables, against the error function in double: over the
   whole range and beyond, for sizes of every kind of loop. */
#include "call_kit.h"

#include <float.h>
#include <math.h>

/* The last is large enough to go past the caches, and leaves a rest. */
static const int64_t sizes[] = {1, 15, 16, 17, 63, 64, 65, 5000, 400000, 32 * 1024 * 1024 / 4 + 77};

static double exact(double x) {
    return 0.5 * x * erfc(-x * M_SQRT1_2);
}

static double ulp_of(double x) {
    double size = fabs(x) < FLT_MIN ? FLT_MIN : fabs(x);
    return ldexp(1, ilogb(size) - 23);
}

/* Element i of n: evenly over [-14, 14], every other one by magnitude from 1e-30 on. */
static float element(int64_t i, int64_t n) {
    double part = (double)i / (double)(n > 1 ? n - 1 : 1);
    double small = pow(10, -30 + 31 * part) * (i % 4 == 1 ? 1 : -1);
    return (float)(i % 2 == 0 ? 28 * part - 14 : small);
}

static void run_on(kit *k, tensor *x, outputs *out) {
    op_call call = kit_call(k, "gelu", (arg[]){arg_tensor(x)}, 1);
    kit_run(k, &call, out);
}

static void stays_within_8_ulp(void **state) {
    kit *k = *state;
    for (size_t s = 0; s < countof(sizes); s++) {
        int64_t n = sizes[s];
        tensor *x = kit_tensor(k, ASSAY_F32, 1, &n, NULL);
        float *in = (float *)(void *)tensor_data(x);
        for (int64_t i = 0; i < n; i++) {
            in[i] = element(i, n);
        }
        outputs out;
        run_on(k, x, &out);
        const float *made = (const float *)(const void *)tensor_data(&out.items[0]);
        double worst = 0;
        int64_t at = 0;
        for (int64_t i = 0; i < n; i++) {
            double wanted = exact((double)in[i]), off = fabs((double)made[i] - wanted);
            /* what is denormal may be 0: below -13.27 it is */
            double ulps = in[i] < -12 && off < FLT_MIN ? 0 : off / ulp_of(wanted);
            if (!(ulps <= worst)) {
                worst = ulps;
                at = i;
            }
        }
        print_message("%lld elements: %.2f ulp at %.9g\n", (long long)n, worst, (double)in[at]);
        assert_true(worst <= 8);
        outputs_clear(&out);
        kit_reset(k);
    }
}

/* Of Phi(x) + x phi(x), which crosses 0, in units in the last place of the sum of both sizes; what is beyond phi(13.19) may be 0. */
static double slope_ulps(double x, double made) {
    double share = 0.5 * erfc(-x * M_SQRT1_2), part = x * exp(-x * x / 2) * 0.39894228040143267794;
    double off = fabs(made - (share + part));
    return x < -13 && off < 6.5e-38 ? 0 : off / ulp_of(share + fabs(part));
}

static void gradient_stays_within_8_ulp(void **state) {
    kit *k = *state;
    for (size_t s = 0; s < countof(sizes); s++) {
        int64_t n = sizes[s];
        tensor *x = kit_tensor(k, ASSAY_F32, 1, &n, NULL), *g = kit_tensor(k, ASSAY_F32, 1, &n, NULL);
        float *in = (float *)(void *)tensor_data(x), *factor = (float *)(void *)tensor_data(g);
        for (int64_t i = 0; i < n; i++) {
            in[i] = element(i, n);
            factor[i] = i % 3 == 0 ? -2 : 1;
        }
        op_call call = kit_call(k, "gelu_backward", (arg[]){arg_tensor(g), arg_tensor(x)}, 2);
        outputs out;
        kit_run(k, &call, &out);
        const float *made = (const float *)(const void *)tensor_data(&out.items[0]);
        double worst = 0;
        for (int64_t i = 0; i < n; i++) {
            double ulps = slope_ulps((double)in[i], (double)made[i] / (double)factor[i]);
            worst = ulps <= worst ? worst : ulps;
        }
        print_message("%lld elements: %.2f ulp\n", (long long)n, worst);
        assert_true(worst <= 8);
        outputs_clear(&out);
        kit_reset(k);
    }
}

static void keeps_nan_and_limits(void **state) {
    kit *k = *state;
    static const float given[] = {NAN, INFINITY, -INFINITY, -20, 20, 0, -0.0f, FLT_MAX, -FLT_MAX, -13.28f, FLT_MIN, -FLT_MIN};
    enum { N = countof(given) };
    for (int64_t shift = 0; shift < 16; shift++) { /* at every place of a register */
        int64_t n = N + shift;
        tensor *x = kit_tensor(k, ASSAY_F32, 1, &n, NULL);
        memcpy(tensor_data(x) + shift * (int64_t)sizeof *given, given, sizeof given);
        outputs out;
        run_on(k, x, &out);
        const float *y = (const float *)(const void *)tensor_data(&out.items[0]) + shift;
        assert_true(isnan(y[0]) && isinf(y[1]) && y[1] > 0 && isnan(y[2]) && y[3] == 0 && y[4] == 20);
        assert_true(y[5] == 0 && !signbit(y[5]) && y[6] == 0 && signbit(y[6]));
        assert_true(y[7] == FLT_MAX && y[8] == 0 && y[9] == 0);
        assert_true(y[10] == FLT_MIN / 2 && y[11] == -FLT_MIN / 2);
        outputs_clear(&out);
        kit_reset(k);
    }
}

static double slope_wanted(double x) {
    return isinf(x) ? (double)NAN : 0.5 * erfc(-x * M_SQRT1_2) + x * exp(-x * x / 2) * 0.39894228040143267794;
}

/* One number far from 0, or none at all, among many that are near: steps of 64 go by what is in them. */
static void one_of_a_step(void **state) {
    kit *k = *state;
    static const float given[] = {NAN, -NAN, INFINITY, -INFINITY, -20, 20, 5.8124f, -5.8124f, 5.8125f, -5.8125f, 6, -6, FLT_MAX, -FLT_MAX, 0, -0.0f};
    for (size_t i = 0; i < countof(given) * 4; i++) {
        enum { N = 128 };
        int64_t n = N;
        size_t place = 64 + i % 4 * 16 + i % 13;
        tensor *x = kit_tensor(k, ASSAY_F32, 1, &n, NULL), *g = kit_tensor(k, ASSAY_F32, 1, &n, NULL);
        float *in = (float *)(void *)tensor_data(x), *factor = (float *)(void *)tensor_data(g);
        for (int j = 0; j < N; j++) {
            in[j] = (float)j * 0.03f - 1.9f;
            factor[j] = 1;
        }
        in[place] = given[i / 4];
        op_call call = kit_call(k, "gelu_backward", (arg[]){arg_tensor(g), arg_tensor(x)}, 2);
        outputs out, slopes;
        run_on(k, x, &out);
        kit_run(k, &call, &slopes);
        const float *y = (const float *)(const void *)tensor_data(&out.items[0]);
        const float *slope = (const float *)(const void *)tensor_data(&slopes.items[0]);
        for (int j = 0; j < N; j++) {
            double wanted = isinf(in[j]) ? (in[j] > 0 ? (double)INFINITY : (double)NAN) : exact((double)in[j]);
            double up = slope_wanted((double)in[j]);
            assert_true(isnan(wanted) ? isnan(y[j]) : (double)y[j] == wanted || fabs((double)y[j] - wanted) <= 8 * ulp_of(wanted));
            assert_true(isnan(up) ? isnan(slope[j]) : fabs((double)slope[j] - up) <= 8 * ulp_of(1));
        }
        outputs_clear(&out);
        outputs_clear(&slopes);
        kit_reset(k);
    }
}

static uint64_t seed = 5;

int main(void) {
    const struct CMUnitTest tests[] = {
        KIT_TEST(stays_within_8_ulp, &seed),
        KIT_TEST(gradient_stays_within_8_ulp, &seed),
        KIT_TEST(keeps_nan_and_limits, &seed),
        KIT_TEST(one_of_a_step, &seed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
