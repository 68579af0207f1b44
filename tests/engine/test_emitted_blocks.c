/* SPDX-License-Identifier: Apache-2.0 */
/* What emitted code does with blocks beside functions of one operand: powers, also of one number or to one, the quick forms of
   quotients, and running sums. Built as emitted code is, for the processor at hand and as if it had neither tables nor fused products,
   against libm in double: special numbers among ordinary ones, and numbers of any bits. */
#include "engine/compile/build.h"
#include "engine/compile/dialect.h"

#include "unit.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { LANES = 64, WAYS = 3, ROUNDS = 20000 };

static const char without[] = "#undef __AVX512F__\n#undef __AVX512DQ__\n#undef __AVX512BF16__\n#undef __FMA__\n";

static const float specials[] = {0,    -0.0f, 1,    -1,     2,     -2,   3,        -3,       0.5f,    -0.5f,    1.5f,
                                 -1.5f, 4,    -5,   64,     -127,  129,  1e-40f,   -1e-40f,  FLT_MIN, FLT_MAX, -FLT_MAX,
                                 1e20f, -1e20f, 1e-20f, 16777216, 0x1p30f, 0x1p-30f, INFINITY, -INFINITY, NAN};

static float any_float(void) {
    uint32_t bits = (uint32_t)rand() << 17 ^ (uint32_t)rand() << 2 ^ (uint32_t)rand() >> 5;
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static float near_one(void) {
    return ldexpf(1 + (float)rand() / (float)RAND_MAX, rand() % 8 - 4) * (rand() % 8 == 0 ? -1 : 1);
}

static module *build(const char *body, bool plain) {
    text source = {0};
    module *m;
    error err = {0};
    text_add(&source, plain ? without : "");
    dialect_prelude(&source, body);
    text_add(&source, body);
    assert_int_equal(module_build(text_get(&source), BUILD_TO_LAST, &m, &err), ASSAY_OK);
    text_clear(&source);
    return m;
}

/* --- powers --- */

/* `may_overflow`: what is infinite as a half may be so already. */
static bool is_power(float x, float y, float actual, double most_ulp, bool may_overflow) {
    double exact = pow(x, y);
    float rounded = (float)exact;
    if (isnan(exact)) {
        return isnan(actual);
    }
    if (isinf(actual) && may_overflow && most_ulp > 100 && fabs(exact) >= 0x1.ffp+127) {
        return !signbit(actual) == !signbit(exact);
    }
    if (isinf(rounded) || rounded == 0 || isinf(actual)) {
        return actual == rounded && signbit(actual) == signbit(rounded);
    }
    double size = fabs(exact) < FLT_MIN ? FLT_MIN : fabs(exact);
    return fabs(actual - exact) <= most_ulp * ldexp(1, ilogb(size) - 23) && !signbit(actual) == !signbit(exact);
}

typedef struct power_block {
    float x[LANES], y[LANES], number[WAYS], out[LANES + 1];
} power_block;

static void check_powers(compiled_kernel_fn *const *probes, power_block *b, int n, const double *most_ulp) {
    for (int way = 0; way < WAYS; way++) {
        b->out[n] = 7;
        probes[way]((void *[]){b->out, b->x, b->y, &b->number[way]}, 0, n);
        assert_true(b->out[n] == 7);
        for (int l = 0; l < n; l++) {
            float x = way == 2 ? b->number[way] : b->x[l], y = way == 1 ? b->number[way] : b->y[l];
            if (!is_power(x, y, b->out[l], most_ulp[way], way == 2)) {
                print_error("pow(%a, %a) is %a, expected %a: way %d\n", (double)x, (double)y, (double)b->out[l], pow(x, y), way);
                assert_true(false);
            }
        }
    }
    float in_place[LANES];
    probes[0]((void *[]){b->out, b->x, b->y}, 0, n);
    memcpy(in_place, b->x, sizeof in_place);
    probes[0]((void *[]){in_place, in_place, b->y}, 0, n);
    assert_memory_equal(in_place, b->out, (size_t)n * sizeof(float));
    memcpy(in_place, b->y, sizeof in_place);
    probes[0]((void *[]){in_place, b->x, in_place}, 0, n);
    assert_memory_equal(in_place, b->out, (size_t)n * sizeof(float));
}

static void powers_follow_c(void **state) {
    (void)state;
    static const char *const operands[WAYS] = {"x, y", "x, *(const float *)buffers[3]", "*(const float *)buffers[3], y"};
    static const dtype digits[] = {ASSAY_F32, ASSAY_F16, ASSAY_BF16};
    static const double most[][WAYS] = {{4, 4, 4}, {4e-5 * 0x1p24, 4e-5 * 0x1p24, 4e-5 * 0x1p24}, {4e-5 * 0x1p24, 4e-5 * 0x1p24, 1.1e-4 * 0x1p24}};
    for (int round = 0; round < 6; round++) {
        const bool plain = round % 2 != 0;
        const double *const most_ulp = most[round / 2];
        module *m[WAYS];
        compiled_kernel_fn *probes[WAYS];
        for (int way = 0; way < WAYS; way++) { /* each with what it calls, no more */
            text body = {0};
            text_addf(&body,
                      "_Bool probe(void *const *buffers, int64_t first, int64_t last) {\n"
                      "    const float *const x = buffers[1], *const y = buffers[2];\n    (void)first;\n    (void)x;\n    (void)y;\n"
                      "    %s(buffers[0], %s, (int)last);\n    return 1;\n}\n\n",
                      dialect_block_of_two(FN_POW, ASSAY_F32, digits[round / 2], way == 2, way == 1), operands[way]);
            m[way] = build(text_get(&body), plain);
            probes[way] = module_find(m[way], "probe");
            text_clear(&body);
        }
        const int n_specials = (int)countof(specials);
        for (int i = 0; i < n_specials * n_specials; i++) {
            power_block b = {.number = {0, specials[i % n_specials], specials[i / n_specials]}};
            for (int l = 0; l < LANES; l++) {
                bool is_special = l % 7 == 3 && (i % 2 == 0 || l < 32);
                b.x[l] = is_special ? specials[i / n_specials] : near_one();
                b.y[l] = is_special ? specials[i % n_specials] : near_one();
            }
            check_powers(probes, &b, i % 3 == 0 ? 48 : i % 3 == 1 ? 16 : LANES, most_ulp);
        }
        for (int i = 0; i < ROUNDS; i++) {
            bool whole = i % 4 == 0, any = i % 3 == 0;
            power_block b = {.number = {0, whole ? (float)(rand() % 41 - 20) : any ? any_float() : near_one(), any ? any_float() : near_one()}};
            for (int l = 0; l < LANES; l++) {
                b.x[l] = any ? any_float() : near_one();
                b.y[l] = whole ? (float)(rand() % 41 - 20) : any ? any_float() : near_one();
            }
            check_powers(probes, &b, LANES, most_ulp);
        }
        for (int way = 0; way < WAYS; way++) {
            module_free(m[way]);
        }
    }
}

/* To a number that the compiler knows, which may make tables of it; as many blocks as numbers. */
static void powers_to_constants_follow_c(void **state) {
    (void)state;
    static const char *const written[] = {"-3.0f", "-2.5f", "-1.0f", "-0.7f", "0.001f", "1.5f", "2.5f", "4.0f", "5.0f", "7.0f", "7.5f"};
    enum { POWERS = countof(written) };
    for (int round = 0; round < 4; round++) {
        bool plain = round % 2 != 0, halves = round / 2 != 0;
        const char *block = dialect_block_of_two(FN_POW, ASSAY_F32, halves ? ASSAY_BF16 : ASSAY_F32, false, true);
        text body = {0};
        text_add(&body, "_Bool probe(void *const *buffers, int64_t first, int64_t last) {\n"
                        "    float *const out = buffers[0];\n    (void)first;\n");
        for (int k = 0; k < POWERS; k++) {
            text_addf(&body, "    %s(out + %d, buffers[1], %s, (int)last);\n", block, k * LANES, written[k]);
        }
        text_add(&body, "    return 1;\n}\n\n");
        module *m = build(text_get(&body), plain);
        compiled_kernel_fn *probe = module_find(m, "probe");
        text_clear(&body);
        for (int i = 0; i < ROUNDS / 4; i++) {
            float x[LANES], out[POWERS * LANES] = {0};
            for (int l = 0; l < LANES; l++) {
                x[l] = i % 4 == 0 && l % 7 == 3 ? specials[rand() % (int)countof(specials)] : i % 4 == 1 ? any_float() : near_one();
            }
            probe((void *[]){out, x}, 0, i % 5 == 0 ? 48 : LANES);
            for (int at = 0; at < POWERS * LANES; at++) {
                float power = strtof(written[at / LANES], NULL);
                bool is_made = at % LANES < (i % 5 == 0 ? 48 : LANES);
                if (is_made && !is_power(x[at % LANES], power, out[at], halves ? 4e-5 * 0x1p24 : 4, false)) {
                    print_error("pow(%a, %s) is %a, expected %a\n", (double)x[at % LANES], written[at / LANES], (double)out[at],
                                pow(x[at % LANES], power));
                    assert_true(false);
                }
            }
        }
        module_free(m);
    }
}

/* --- quotients --- */

static double remainder_exact(double x, double y) {
    double rest = fmod(x, y);
    return rest != 0 && (rest < 0) != (y < 0) ? rest + y : rest;
}

static double floor_exact(double x, double y) {
    return floor(x / y); /* of floats whose quotient is below 2^28 it is that of the exact one */
}

static const struct quotient {
    scalar_function fn;
    double (*exact)(double x, double y);
} quotients[] = {{FN_FMOD, fmod}, {FN_REMAINDER, remainder_exact}, {FN_FLOOR_DIV, floor_exact}};

/* Ordinary operands have to be served; whatever is, has to be right. */
static void check_quotients(compiled_kernel_fn *probe, const struct quotient *q, bool any) {
    float x[LANES], y[LANES], out[LANES];
    uint32_t fails[LANES];
    for (int l = 0; l < LANES; l++) {
        y[l] = any ? any_float() : near_one();
        x[l] = any ? any_float() : l % 4 == 0 ? y[l] * (float)(rand() % 2000 - 1000) : near_one() * ldexpf(1, rand() % 20 - 8);
        x[l] = l == 9 ? -0.0f : x[l];
        x[l] = any && l % 5 == 0 ? y[l] * ldexpf(near_one(), rand() % 24 - 6) : x[l];
        y[l] = any && l % 13 == 0 ? specials[rand() % (int)countof(specials)] : y[l];
    }
    probe((void *[]){out, x, y, fails}, 0, LANES);
    for (int l = 0; l < LANES; l++) {
        float expected = (float)q->exact(x[l], y[l]);
        assert_true(any || fails[l] == 0);
        if (fails[l] == 0 && (out[l] != expected || (q->fn != FN_FLOOR_DIV && !signbit(out[l]) != !signbit(expected)))) {
            print_error("%s(%a, %a) is %a, expected %a\n", scalar_function_name(q->fn), (double)x[l], (double)y[l], (double)out[l],
                        (double)expected);
            assert_true(false);
        }
    }
}

static void quick_quotients_are_exact(void **state) {
    (void)state;
    static const char *const operands[][2] = {{"x[l]", "y[l]"}, {"x[l]", "3.0f"}, {"x[l]", "(-0.7f)"}};
    for (int at = 0; at < 2 * 3 * 3; at++) {
        const struct quotient *q = &quotients[at % 3];
        bool plain = at >= 9;
        const char *const *words = operands[at / 3 % 3];
        text body = {0};
        text_add(&body, "_Bool probe(void *const *buffers, int64_t first, int64_t last) {\n"
                        "    float *const out = buffers[0], *const y = buffers[2];\n    const float *const x = buffers[1];\n"
                        "    uint32_t *const fails = buffers[3];\n    for (int64_t l = first; l < last; l++) {\n        fails[l] = ");
        dialect_quick_fails(&body, q->fn, ASSAY_F32, words);
        text_add(&body, ";\n        out[l] = ");
        dialect_quick(&body, q->fn, ASSAY_F32, words);
        text_addf(&body, ";\n%s%s%s    }\n    return 1;\n}\n", words[1][0] == 'y' ? "" : "        y[l] = ",
                  words[1][0] == 'y' ? "" : words[1], words[1][0] == 'y' ? "" : ";\n");
        module *m = build(text_get(&body), plain);
        for (int i = 0; i < ROUNDS / 4; i++) {
            check_quotients(module_find(m, "probe"), q, i % 2 != 0);
        }
        module_free(m);
        text_clear(&body);
    }
}

/* The form for all operands: what is finite over an infinity is -1 or 0, by the signs. */
static void floors_over_infinity_follow_aten(void **state) {
    (void)state;
    static const char *const words[] = {"x[l]", "y[l]"};
    text body = {0};
    text_add(&body, "_Bool probe(void *const *buffers, int64_t first, int64_t last) {\n    float *const out = buffers[0];\n"
                    "    const float *const x = buffers[1], *const y = buffers[2];\n"
                    "    for (int64_t l = first; l < last; l++) {\n        out[l] = ");
    dialect_function(&body, FN_FLOOR_DIV, ASSAY_F32, words);
    text_add(&body, ";\n    }\n    return 1;\n}\n");
    for (int plain = 0; plain < 2; plain++) {
        module *m = build(text_get(&body), plain != 0);
        float x[LANES], y[LANES], out[LANES];
        for (int l = 0; l < LANES; l++) {
            x[l] = l == 0 ? 0 : (l % 2 == 0 ? 1.0f : -1.0f) * near_one();
            y[l] = l % 4 < 2 ? INFINITY : -INFINITY;
        }
        module_find(m, "probe")((void *[]){out, x, y}, 0, LANES);
        for (int l = 0; l < LANES; l++) {
            assert_true(out[l] == (x[l] != 0 && (x[l] < 0) != (y[l] < 0) ? -1.0f : 0.0f));
        }
        module_free(m);
    }
    text_clear(&body);
}

/* --- running sums --- */

/* Whole numbers, whose sums are exact, then what is no number: each sum behind it is none either. */
static void running_sums_are_exact(void **state) {
    (void)state;
    static const char body[] = "_Bool probe(void *const *buffers, int64_t first, int64_t last) {\n    (void)first;\n    (void)last;\n"
                               "    scan_block_f32(buffers[0], buffers[1]);\n    return 1;\n}\n";
    for (int plain = 0; plain < 2; plain++) {
        module *m = build(body, plain != 0);
        compiled_kernel_fn *probe = module_find(m, "probe");
        for (int i = 0; i < ROUNDS / 10; i++) {
            float x[LANES], total = (float)(i % 7), expected[LANES], sum = total;
            int odd = i % 3 == 0 ? rand() % LANES : LANES;
            for (int l = 0; l < LANES; l++) {
                x[l] = l == odd ? (i % 2 == 0 ? NAN : -INFINITY) : (float)(rand() % 2001 - 1000);
                expected[l] = sum += x[l];
            }
            probe((void *[]){x, &total}, 0, LANES);
            for (int l = 0; l < LANES; l++) {
                assert_true(x[l] == expected[l] || (isnan(x[l]) && isnan(expected[l])));
            }
            assert_true(total == sum || (isnan(total) && isnan(sum)));
        }
        module_free(m);
    }
}

int main(void) {
    srand(20261123);
    const struct CMUnitTest tests[] = {cmocka_unit_test(powers_follow_c), cmocka_unit_test(powers_to_constants_follow_c),
                                       cmocka_unit_test(quick_quotients_are_exact), cmocka_unit_test(floors_over_infinity_follow_aten),
                                       cmocka_unit_test(running_sums_are_exact)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
