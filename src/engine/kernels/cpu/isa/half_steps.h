/* SPDX-License-Identifier: Apache-2.0 */
/* Loops over f16 and bf16 from halves to halves, 64 elements in four registers at a time, a template of the function in question
   (half_functions.c, half_checked.c). For AVX-512. */
#include "device/caches.h"
#include "engine/kernels/cpu/isa/half_pairs.h"
#include "engine/kernels/cpu/isa/stream.h"
#include "engine/kernels/cpu/isa/vector_halves.h"
#include "engine/kernels/cpu/pointwise.h"

#include <math.h>

#define ALWAYS_INLINE static inline __attribute__((always_inline))

enum { STEP = 64 /* elements */, AHEAD_BYTES = 4096, PAGE = 4096 / sizeof(uint16_t), PAGES = 4 };

/* What a function takes beside its operands. */
typedef struct parameters {
    float p, q, r;
    int kind;           /* known where a loop is inlined, as the functions are */
    const float *table; /* on a line */
} parameters;

/* A function of one operand, or of two, of which the gradient comes first, and perhaps of parameters. Which of them it is is known where
   a loop is inlined. */
typedef struct function {
    wide_four (*one)(wide_four x);
    wide_four (*two)(wide_four g, wide_four x);
    wide_four (*one_with)(dtype t, wide_four x, parameters s);
    wide_four (*two_with)(dtype t, wide_four g, wide_four x, parameters s);
    bool is_second;  /* the one operand is the call's second: the first is a number */
    bool has_ties;   /* results may lie half-way between two halves, and not by chance: those go to the even one */
    bool is_checked; /* not for sizes above `most`, or for those between 0 and `least`: steps with such go by way of `slow`. Of two
                        operands the second is meant */
    pointwise_halves_loop *slow;
    dtype type;
    bool streams;
    parameters s;
    uint16_t least, most; /* bits of halves; least: 1 where all such will do */
} function;

/* 64 halves are brought to f32 in four registers. */
ALWAYS_INLINE wide_four four_of(dtype t, const uint16_t *from) {
    float_pair low = float_pair_at(t, from), high = float_pair_at(t, from + HALF_PAIR);
    return (wide_four){{low.a, low.b, high.a, high.b}};
}

/* NaN comes from a bf16 or from an invalid product: its lower bits are 0, and nothing is carried into its sign. */
ALWAYS_INLINE half_bits halves_of_two(function f, wide_f32 first, wide_f32 second) {
    float_pair made = {first, second};
    return f.has_ties ? half_bits_of(f.type, made) : half_bits_near(f.type, made);
}

/* 64 elements. */
ALWAYS_INLINE void step(function f, uint16_t *out, const uint16_t *x, const uint16_t *y) {
    wide_four a = four_of(f.type, x);
    if (f.two != NULL) {
        a = f.two(a, four_of(f.type, y));
    } else if (f.two_with != NULL) {
        a = f.two_with(f.type, a, four_of(f.type, y), f.s);
    } else if (f.one != NULL) {
        a = f.one(a);
    } else {
        a = f.one_with(f.type, a, f.s);
    }
    for (int k = 0; k < 4; k += 2) {
        half_bits made = halves_of_two(f, a.v[k], a.v[k + 1]);
        if (f.streams) {
            stream_line(out + 16 * k, &made);
        } else {
            memcpy(out + 16 * k, &made, sizeof made);
        }
    }
}

/* Whether the function is meant for 64 elements. Doubled, bits have no sign; and 0 less one is the largest number. */
ALWAYS_INLINE bool step_fits(function f, const uint16_t *x) {
    __m512i low = _mm512_loadu_si512(x), high = _mm512_loadu_si512(x + HALF_PAIR), one = _mm512_set1_epi16(1);
    low = _mm512_add_epi16(low, low);
    high = _mm512_add_epi16(high, high);
    __mmask32 wrong = _mm512_cmpgt_epu16_mask(_mm512_max_epu16(low, high), _mm512_set1_epi16((short)(2 * f.most)));
    if (f.least > 1) {
        __m512i smaller = _mm512_min_epu16(_mm512_sub_epi16(low, one), _mm512_sub_epi16(high, one));
        wrong |= _mm512_cmplt_epu16_mask(smaller, _mm512_set1_epi16((short)(2 * f.least - 1)));
    }
    return wrong == 0;
}

/* n elements, steps it is not meant for. y: the call's second operand; NULL: that is a number, or the first is, or there is but one. */
static __attribute__((noinline)) void slow_steps(const pointwise_halves *h, pointwise_halves_loop *slow, uint16_t *out, const uint16_t *x,
                                                 const uint16_t *y, int64_t n) {
    pointwise_halves part = *h;
    part.chunk.n = n;
    part.chunk.out = out;
    part.chunk.in[0] = x;
    part.chunk.in[1] = y != NULL ? y : h->chunk.in[1];
    part.streams = part.fetches = false;
    slow(&part);
}

/* Asks for what lies further on: the CPU reads ahead by itself within a page of 4 KiB, not into the next. Not where it is not Intel's: on
   Zen 4 lines that are asked into L1 are waited for (gelu's gradient of bf16 5.3 ms instead of 4.9). */
ALWAYS_INLINE void ask_ahead(const uint16_t *x, int64_t bytes) {
    for (int line = 0; line < STEP * 2; line += STREAM_LINE) {
        _mm_prefetch((const char *)((uintptr_t)x + (uintptr_t)bytes + (uintptr_t)line), _MM_HINT_T0); /* it may lie outside */
    }
}

ALWAYS_INLINE bool has_two(function f) {
    return f.two != NULL || f.two_with != NULL;
}

/* From `at` on as long as steps fit; where that ends. Nothing is called meanwhile: what is constant stays in registers. */
ALWAYS_INLINE int64_t fitting_steps(function f, bool asks, uint16_t *out, const uint16_t *x, const uint16_t *y, int64_t at, int64_t n) {
    for (; at < n; at += STEP) {
        const uint16_t *second = has_two(f) ? y + at : NULL;
        if (asks) {
            ask_ahead(x + at, AHEAD_BYTES);
            if (has_two(f)) {
                ask_ahead(second, AHEAD_BYTES);
            }
        }
        if (f.is_checked && __builtin_expect(!step_fits(f, has_two(f) ? second : x + at), 0)) {
            break;
        }
        step(f, out + at, x + at, second);
    }
    return at;
}

/* Elements [at, n), one step after the other. */
ALWAYS_INLINE void steps_in_row(const pointwise_halves *h, function f, bool asks, uint16_t *out, const uint16_t *x, const uint16_t *y,
                                int64_t at, int64_t n) {
    while (at < n) {
        at = fitting_steps(f, asks, out, x, y, at, n);
        int64_t from = at;
        while (f.is_checked && at < n && !step_fits(f, (has_two(f) ? y : x) + at)) {
            at += STEP;
        }
        if (at > from) {
            slow_steps(h, f.slow, out + from, x + from, has_two(f) ? y + from : NULL, at - from);
        }
    }
}

/* A step of each of some pages in turns, as long as they fit; how many steps that were. A processor that reads ahead within a page only has
   more of them on their way so, and each line that is stored has more time: gelu of 128 MiB of bf16 takes 3.3 ms instead of 4.3 (two cores
   of a Granite Rapids, 2026-11). */
ALWAYS_INLINE int64_t steps_in_turns(function f, uint16_t *out, const uint16_t *x, const uint16_t *y) {
    for (int64_t i = 0; i < PAGE; i += STEP) {
        for (int64_t p = 0; p < PAGES; p++) {
            const int64_t at = p * PAGE + i;
            const uint16_t *second = has_two(f) ? y + at : NULL;
            ask_ahead(x + at, PAGES * AHEAD_BYTES);
            if (has_two(f)) {
                ask_ahead(second, PAGES * AHEAD_BYTES);
            }
            if (f.is_checked && __builtin_expect(!step_fits(f, has_two(f) ? second : x + at), 0)) {
                return i / STEP * PAGES + p;
            }
            step(f, out + at, x + at, second);
        }
    }
    return PAGE / STEP * PAGES;
}

ALWAYS_INLINE void whole_steps(const pointwise_halves *h, function f, int64_t n) {
    uint16_t *out = h->chunk.out;
    const uint16_t *x = h->chunk.in[f.is_second ? 1 : 0], *y = h->chunk.in[1];
    const bool asks = h->fetches && cpu_is_intel();
    int64_t at = 0;
    for (; f.streams && asks && at + PAGES * PAGE <= n; at += PAGES * PAGE) {
        int64_t done = steps_in_turns(f, out + at, x + at, has_two(f) ? y + at : NULL);
        for (int64_t p = 0; p < PAGES && done < PAGE / STEP * PAGES; p++) { /* the rest of each page */
            int64_t own = done / PAGES + (p < done % PAGES), from = at + p * PAGE;
            steps_in_row(h, f, asks, out, x, y, from + own * STEP, from + PAGE);
        }
    }
    steps_in_row(h, f, asks, out, x, y, at, n);
}

ALWAYS_INLINE void run(const pointwise_halves *h, function f) {
    int64_t n = h->chunk.n, whole = n / STEP * STEP;
    f.streams = h->streams;
    if (f.streams) {
        f.streams = true;
        whole_steps(h, f, whole);
    } else {
        f.streams = false;
        whole_steps(h, f, whole);
    }
    if (whole < n) {
        uint16_t in[2][STEP] = {{0}}, out[STEP];
        size_t bytes = (size_t)(n - whole) * sizeof *out;
        memcpy(in[0], (const uint16_t *)h->chunk.in[f.is_second ? 1 : 0] + whole, bytes);
        if (has_two(f)) {
            memcpy(in[1], (const uint16_t *)h->chunk.in[1] + whole, bytes);
        }
        if (f.is_checked && !step_fits(f, in[has_two(f)])) {
            slow_steps(h, f.slow, out, in[0], has_two(f) ? in[1] : NULL, STEP);
        } else {
            f.streams = false;
            step(f, out, in[0], in[1]);
        }
        memcpy((uint16_t *)h->chunk.out + whole, out, bytes);
    }
}

/* Of both types. */
ALWAYS_INLINE void run_either(const pointwise_halves *h, function of_bf16, function of_f16) {
    if (h->type == ASSAY_F16) {
        of_f16.type = ASSAY_F16;
        run(h, of_f16);
    } else {
        of_bf16.type = ASSAY_BF16;
        run(h, of_bf16);
    }
}

