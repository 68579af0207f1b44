/* SPDX-License-Identifier: Apache-2.0 */
/* Arithmetic and comparisons of f16 and bf16 in one go, a block in registers at a time: with blocks of f32 in L1 between
   (half_blocks.c) it takes up to twice as long as memory. Results are those of f32 rounded to nearest, ties to even. The baseline has
   none of this: without instructions for f16 it does not matter. */
#include "device/caches.h"
#include "engine/kernels/cpu/isa/half_pairs.h"
#include "engine/kernels/cpu/isa/stream.h"
#include "engine/kernels/cpu/pointwise.h"

#if defined(__AVX2__)

#define ALWAYS_INLINE static inline __attribute__((always_inline))

typedef float elem;

#include "engine/kernels/cpu/isa/elementary_f32.h"
#include "engine/kernels/cpu/isa/pointwise_real_functions.h"

enum { STEP = 64 /* elements */, AHEAD_BYTES = 4096, PAGE = 4096 / sizeof(uint16_t), PAGES = 4, GROUP = PAGES * PAGE };

/* An operator. What it is is known where a loop is inlined. */
typedef struct body {
    int n;      /* operands that are halves */
    int number; /* which of two operands is one number for all elements; -1: none */
    elem (*one)(elem x);
    elem (*two)(elem x, elem y);
    elem (*three)(elem x, elem y, elem z, elem p);
    elem (*one_with)(elem x, elem p, elem q, elem r);
    elem (*two_with)(elem x, elem y, elem p, elem q, elem r);
    bool (*test_one)(elem x);
    bool (*test_two)(elem x, elem y);
    dtype type; /* ASSAY_F16 or ASSAY_BF16 */
} body;

/* Its parameters. */
typedef struct parameters {
    elem p, q, r;
    elem number;
} parameters;

/* STEP halves to f32: bf16 by even and odd places, where the order of results is that of the operands. */
ALWAYS_INLINE void widen(elem *to, const uint16_t *from, dtype t, bool in_order) {
    for (int k = 0; k < STEP; k += HALF_PAIR) {
        half_bits x;
        memcpy(&x, from + k, sizeof x);
        float_pair p = in_order ? float_pair_in_order(t, x) : float_pair_at(t, from + k);
        memcpy(to + k, &p, sizeof p);
    }
}

/* Back, in the order that widen leaves where it may choose one. */
ALWAYS_INLINE void narrow(uint16_t *to, const elem *from, dtype t, bool streams) {
    for (int k = 0; k < STEP; k += HALF_PAIR) {
        float_pair p;
        memcpy(&p, from + k, sizeof p);
        half_bits made = half_bits_of(t, p);
        if (streams) {
            stream_registers(to + k, &made, sizeof made);
        } else {
            memcpy(to + k, &made, sizeof made);
        }
    }
}

/* STEP elements. */
ALWAYS_INLINE void step(body f, parameters s, void *out, const uint16_t *const *in, bool streams) {
    _Alignas(STREAM_LINE) elem x[POINTWISE_INPUTS][STEP], made[STEP];
    bool tests = f.test_one != NULL || f.test_two != NULL;
    for (int k = 0; k < f.n; k++) {
        widen(x[k], in[k], f.type, tests);
    }
    if (tests) {
        _Alignas(STREAM_LINE) uint8_t answers[STEP];
#pragma omp simd
        for (int i = 0; i < STEP; i++) {
            answers[i] = f.test_one != NULL ? f.test_one(x[0][i])
                         : f.number == 0    ? f.test_two(s.number, x[0][i])
                                            : f.test_two(x[0][i], f.number == 1 ? s.number : x[1][i]);
        }
        if (streams) {
            stream_lines(out, answers, sizeof answers);
        } else {
            memcpy(out, answers, sizeof answers);
        }
        return;
    }
#pragma omp simd
    for (int i = 0; i < STEP; i++) {
        elem first = f.number == 0 ? s.number : x[0][i];
        elem second = f.number == 0 ? x[0][i] : f.number == 1 ? s.number : x[1][i];
        made[i] = f.one != NULL        ? f.one(first)
                  : f.one_with != NULL ? f.one_with(first, s.p, s.q, s.r)
                  : f.two != NULL      ? f.two(first, second)
                  : f.two_with != NULL ? f.two_with(first, second, s.p, s.q, s.r)
                                       : f.three(first, second, x[2][i], s.p);
    }
    narrow(out, made, f.type, streams);
}

/* Asks for what lies further on: the CPU reads ahead by itself within a page of 4 KiB, not into the next. */
ALWAYS_INLINE void ask_ahead(const uint16_t *x, int64_t bytes) {
    for (int line = 0; line < STEP * 2; line += STREAM_LINE) {
        __builtin_prefetch((const char *)((uintptr_t)x + (uintptr_t)bytes + (uintptr_t)line)); /* it may lie outside */
    }
}

/* Where the step is taken that would be at `at` in a row: steps of some pages in turns (half_steps.h). */
ALWAYS_INLINE int64_t in_turns(int64_t at) {
    int64_t k = at % GROUP / STEP;
    return at / GROUP * GROUP + k % PAGES * PAGE + k / PAGES * STEP;
}

ALWAYS_INLINE void run_with(const pointwise_halves *h, body f, parameters s) {
    /* Of one operand: sums of two take as long either way, or a twentieth longer. */
    const bool turns = h->streams && h->fetches && f.n == 1 && cpu_is_intel();
    const int64_t n = h->chunk.n, whole = n / STEP * STEP, turned = turns ? n / GROUP * GROUP : 0;
    const uint16_t *in[POINTWISE_INPUTS], *now[POINTWISE_INPUTS];
    for (int k = 0; k < f.n; k++) {
        in[k] = h->chunk.in[f.number == 0 ? 1 : k];
    }
    char *out = h->chunk.out;
    for (int64_t row = 0; row < whole; row += STEP) {
        const int64_t at = row < turned ? in_turns(row) : row;
        for (int k = 0; k < f.n; k++) {
            now[k] = in[k] + at;
            if (h->fetches && (h->chunk.near >> (f.number == 0 ? 1 : k) & 1) == 0) {
                ask_ahead(now[k], row < turned ? PAGES * AHEAD_BYTES : AHEAD_BYTES);
            }
        }
        step(f, s, out + at * h->out_step, now, h->streams);
    }
    out += whole * h->out_step;
    for (int k = 0; k < f.n; k++) {
        in[k] += whole;
    }
    if (whole < n) {
        uint16_t rest[POINTWISE_INPUTS][STEP] = {{0}}, made[STEP];
        const uint16_t *rests[POINTWISE_INPUTS];
        for (int k = 0; k < f.n; k++) {
            memcpy(rest[k], in[k], (size_t)(n - whole) * sizeof *made);
            rests[k] = rest[k];
        }
        step(f, s, made, rests, false);
        memcpy(out, made, (size_t)((n - whole) * h->out_step));
    }
}

/* Of both types. A NaN among the numbers becomes one of few digits: rounding would carry into the sign of others. */
ALWAYS_INLINE void run(const pointwise_halves *h, body f) {
    elem p[POINTWISE_SCALARS], given = f.number >= 0 ? *(const elem *)h->chunk.in[f.number] : 0;
    for (int k = 0; k < POINTWISE_SCALARS; k++) {
        p[k] = is_nan((elem)h->chunk.s[k].f) ? NAN : (elem)h->chunk.s[k].f;
    }
    parameters s = {p[0], p[1], p[2], is_nan(given) ? NAN : given};
    if (h->type == ASSAY_F16) {
        f.type = ASSAY_F16;
        run_with(h, f, s);
    } else {
        f.type = ASSAY_BF16;
        run_with(h, f, s);
    }
}

#define LOOP(name, ...)                                                                                                \
    static void name(const pointwise_halves *h) {                                                                      \
        run(h, (body){__VA_ARGS__});                                                                                   \
    }
#define ONE(f)      LOOP(f##_loop, .n = 1, .number = -1, .one = f)
#define ONE_WITH(f) LOOP(f##_loop, .n = 1, .number = -1, .one_with = f)
#define ONE_TEST(f) LOOP(f##_loop, .n = 1, .number = -1, .test_one = f)
#define TWO_WITH(f) LOOP(f##_loop, .n = 2, .number = -1, .two_with = f)
#define THREE(f)    LOOP(f##_loop, .n = 3, .number = -1, .three = f)
#define BACKWARD(f) LOOP(f##_loop, .n = 2, .number = -1, .two = f)
/* And with a number for one of the two. */
#define TWO(f)                                                                                                         \
    LOOP(f##_loop, .n = 2, .number = -1, .two = f)                                                                     \
    LOOP(f##_number_loop, .n = 1, .number = 1, .two = f)                                                               \
    LOOP(number_##f##_loop, .n = 1, .number = 0, .two = f)
#define TWO_TEST(f)                                                                                                    \
    LOOP(f##_loop, .n = 2, .number = -1, .test_two = f)                                                                \
    LOOP(f##_number_loop, .n = 1, .number = 1, .test_two = f)                                                          \
    LOOP(number_##f##_loop, .n = 1, .number = 0, .test_two = f)

ONE(sgn)
ONE(square)
ONE(cube)
ONE(reciprocal)
ONE(root)
ONE(reciprocal_root)
ONE(real_floor)
ONE(real_round)
ONE(relu)
ONE(hardsigmoid)
ONE(hardswish)
ONE_WITH(hardtanh)
ONE_WITH(leaky_relu)
ONE_TEST(logical_not)
ONE_TEST(is_infinite)
ONE_TEST(is_nan)
TWO(add)
TWO(sub)
TWO(mul)
TWO(divide)
TWO(divide_trunc)
TWO(maximum)
TWO(minimum)
TWO_TEST(equal)
TWO_TEST(differ)
TWO_TEST(less)
TWO_TEST(at_most)
TWO_TEST(logical_and)
TWO_TEST(logical_or)
TWO_TEST(logical_xor)
TWO_WITH(add_scaled)
LOOP(add_scaled_number_loop, .n = 1, .number = 1, .two_with = add_scaled)
BACKWARD(sigmoid_backward)
BACKWARD(tanh_backward)
BACKWARD(hardsigmoid_backward)
BACKWARD(hardswish_backward)
TWO_WITH(elu_backward_result)
TWO_WITH(hardtanh_backward)
TWO_WITH(leaky_relu_backward)
TWO_WITH(threshold_backward)

ALWAYS_INLINE elem clamp_by(elem x, elem low, elem high, elem unused) {
    (void)unused;
    return clamp(x, low, high);
}

ALWAYS_INLINE elem addcmul(elem x, elem y, elem z, elem scale) {
    return x + scale * y * z;
}

THREE(clamp_by)
THREE(addcmul)

#define LOOPS                                                                                                          \
    {                                                                                                                  \
        .op = {[PW_SGN] = sgn_loop,                                                                                    \
               [PW_SQUARE] = square_loop,                                                                              \
               [PW_CUBE] = cube_loop,                                                                                  \
               [PW_RECIPROCAL] = reciprocal_loop,                                                                      \
               [PW_SQRT] = root_loop,                                                                                  \
               [PW_RSQRT] = reciprocal_root_loop,                                                                      \
               [PW_FLOOR] = real_floor_loop,                                                                           \
               [PW_ROUND] = real_round_loop,                                                                           \
               [PW_RELU] = relu_loop,                                                                                  \
               [PW_HARDSIGMOID] = hardsigmoid_loop,                                                                    \
               [PW_HARDSWISH] = hardswish_loop,                                                                        \
               [PW_HARDTANH] = hardtanh_loop,                                                                          \
               [PW_LEAKY_RELU] = leaky_relu_loop,                                                                      \
               [PW_LOGICAL_NOT] = logical_not_loop,                                                                    \
               [PW_ISINF] = is_infinite_loop,                                                                          \
               [PW_ISNAN] = is_nan_loop,                                                                               \
               [PW_ADD] = add_loop,                                                                                    \
               [PW_ADD_SCALED] = add_scaled_loop,                                                                      \
               [PW_SUB] = sub_loop,                                                                                    \
               [PW_MUL] = mul_loop,                                                                                    \
               [PW_DIV] = divide_loop,                                                                                 \
               [PW_DIV_TRUNC] = divide_trunc_loop,                                                                     \
               [PW_MAXIMUM] = maximum_loop,                                                                            \
               [PW_MINIMUM] = minimum_loop,                                                                            \
               [PW_EQ] = equal_loop,                                                                                   \
               [PW_NE] = differ_loop,                                                                                  \
               [PW_LT] = less_loop,                                                                                    \
               [PW_LE] = at_most_loop,                                                                                 \
               [PW_LOGICAL_AND] = logical_and_loop,                                                                    \
               [PW_LOGICAL_OR] = logical_or_loop,                                                                      \
               [PW_LOGICAL_XOR] = logical_xor_loop,                                                                    \
               [PW_SIGMOID_BACKWARD] = sigmoid_backward_loop,                                                          \
               [PW_TANH_BACKWARD] = tanh_backward_loop,                                                                \
               [PW_ELU_BACKWARD_RESULT] = elu_backward_result_loop,                                                    \
               [PW_HARDTANH_BACKWARD] = hardtanh_backward_loop,                                                        \
               [PW_HARDSIGMOID_BACKWARD] = hardsigmoid_backward_loop,                                                  \
               [PW_HARDSWISH_BACKWARD] = hardswish_backward_loop,                                                      \
               [PW_LEAKY_RELU_BACKWARD] = leaky_relu_backward_loop,                                                    \
               [PW_THRESHOLD_BACKWARD] = threshold_backward_loop,                                                      \
               [PW_CLAMP] = clamp_by_loop,                                                                             \
               [PW_ADDCMUL] = addcmul_loop},                                                                           \
        .number = {[PW_ADD] = add_number_loop,                                                                         \
                   [PW_ADD_SCALED] = add_scaled_number_loop,                                                           \
                   [PW_SUB] = sub_number_loop,                                                                         \
                   [PW_MUL] = mul_number_loop,                                                                         \
                   [PW_DIV] = divide_number_loop,                                                                      \
                   [PW_DIV_TRUNC] = divide_trunc_number_loop,                                                          \
                   [PW_MAXIMUM] = maximum_number_loop,                                                                 \
                   [PW_MINIMUM] = minimum_number_loop,                                                                 \
                   [PW_EQ] = equal_number_loop,                                                                        \
                   [PW_NE] = differ_number_loop,                                                                       \
                   [PW_LT] = less_number_loop,                                                                         \
                   [PW_LE] = at_most_number_loop,                                                                      \
                   [PW_LOGICAL_AND] = logical_and_number_loop,                                                         \
                   [PW_LOGICAL_OR] = logical_or_number_loop,                                                           \
                   [PW_LOGICAL_XOR] = logical_xor_number_loop},                                                        \
        .number_first = {[PW_ADD] = number_add_loop,                                                                   \
                         [PW_SUB] = number_sub_loop,                                                                   \
                         [PW_MUL] = number_mul_loop,                                                                   \
                         [PW_DIV] = number_divide_loop,                                                                \
                         [PW_DIV_TRUNC] = number_divide_trunc_loop,                                                    \
                         [PW_MAXIMUM] = number_maximum_loop,                                                           \
                         [PW_MINIMUM] = number_minimum_loop,                                                           \
                         [PW_EQ] = number_equal_loop,                                                                  \
                         [PW_NE] = number_differ_loop,                                                                 \
                         [PW_LT] = number_less_loop,                                                                   \
                         [PW_LE] = number_at_most_loop,                                                                \
                         [PW_LOGICAL_AND] = number_logical_and_loop,                                                   \
                         [PW_LOGICAL_OR] = number_logical_or_loop,                                                     \
                         [PW_LOGICAL_XOR] = number_logical_xor_loop},                                                  \
    }
#else
#define LOOPS {.op = {NULL}}
#endif

const pointwise_half_loops ISA_SYMBOL(pointwise_half_loops) = LOOPS;
