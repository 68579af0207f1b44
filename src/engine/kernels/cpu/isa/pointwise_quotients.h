/* SPDX-License-Identifier: Apache-2.0 */
/* A template, part of pointwise_integer.h: integers divided. There are no vector instructions for that, but there are for
   double: where numbers are within 2^51 it gives quotients and rests exactly. */

/* What is made of x and y: the quotient or the rest, rounded to the lower whole number or towards 0. */
typedef struct quotient_kind {
    bool floors, rests;
} quotient_kind;

/* A divisor of 0 was told of before; -1 apart, because the smallest integer over -1 traps. */
ALWAYS_INLINE elem quotient_trunc(elem x, elem y) {
    return y == 0 ? 0 : y == (elem)-1 && (elem)-1 < 0 ? neg(x) : x / y;
}

ALWAYS_INLINE elem rest_of(elem x, elem y) {
    return y == 0 || (y == (elem)-1 && (elem)-1 < 0) ? 0 : x % y;
}

/* What floors has from what rounds towards 0. */
ALWAYS_INLINE elem of_quotient(elem quotient, elem rest, elem y, quotient_kind kind) {
    bool is_above = kind.floors && rest != 0 && (rest < 0) != (y < 0);
    return kind.rests ? (elem)((uint64_t)rest + (is_above ? (uint64_t)y : 0)) : (elem)((uint64_t)quotient - is_above);
}

/* Whether all numbers lie within 2^51: their quotients then round down, or towards 0, in double as they should. One that is
   no whole number lies 1 / |y| or more from the next, and rounding it moves it by less. */
static bool fit_double(const elem *x, int64_t n) {
    uint64_t beyond = 0;
#pragma omp simd reduction(| : beyond)
    for (int64_t i = 0; i < n; i++) {
        beyond |= ((uint64_t)(int64_t)x[i] + (UINT64_C(1) << 51)) >> 52; /* unsigned: both sides at once */
    }
    return beyond == 0;
}

enum { QUOTIENT_BLOCK = POINTWISE_STREAMS ? STREAM_BLOCK : 256 };

/* Where a block is made: in its place, or beside it to be stored past the caches. */
ALWAYS_INLINE elem *target_of(elem *out, elem *beside, int64_t n) {
    return POINTWISE_STREAMS && n == QUOTIENT_BLOCK ? beside : out;
}

ALWAYS_INLINE void put_target(elem *out, const elem *made) {
    if (made != out) {
        stream_lines(out, made, QUOTIENT_BLOCK * sizeof *out);
    }
}

ALWAYS_INLINE void ask_ahead(const pointwise_chunk *c, int k, const elem *x) {
    if (POINTWISE_STREAMS) {
        fetch_operand(c, k, x, QUOTIENT_BLOCK * sizeof *x);
    }
}

/* A block at a time. */
ALWAYS_INLINE void quotients(const pointwise_chunk *c, quotient_kind kind) {
    elem *out = c->out;
    const elem *x = c->in[0], *y = c->in[1];
    int zeros = 0;
    for (int64_t at = 0; at < c->n; at += QUOTIENT_BLOCK, out += QUOTIENT_BLOCK, x += QUOTIENT_BLOCK, y += QUOTIENT_BLOCK) {
        int64_t n = c->n - at < QUOTIENT_BLOCK ? c->n - at : QUOTIENT_BLOCK;
        _Alignas(STREAM_LINE) elem beside[QUOTIENT_BLOCK];
        elem *made = target_of(out, beside, n);
        ask_ahead(c, 0, x);
        ask_ahead(c, 1, y);
        bool is_wide = sizeof(elem) == 8 && !(fit_double(x, n) && fit_double(y, n));
        for (int64_t i = is_wide ? 0 : n; i < n; i++) {
            zeros |= y[i] == 0;
            made[i] = of_quotient(quotient_trunc(x[i], y[i]), rest_of(x[i], y[i]), y[i], kind);
        }
#pragma omp simd reduction(| : zeros)
        for (int64_t i = is_wide ? n : 0; i < n; i++) {
            int is_zero = y[i] == 0;
            double dividend = (double)x[i], divisor = (double)(y[i] + is_zero), quotient = dividend / divisor;
            quotient = kind.floors ? floor(quotient) : trunc(quotient);
            double answer = kind.rests ? dividend - quotient * divisor : quotient; /* the product is exact */
            zeros |= is_zero;
            made[i] = is_zero ? 0 : (elem)(int64_t)answer;
        }
        put_target(out, made);
    }
    if (zeros != 0) {
#pragma omp atomic write
        *c->is_fault = true;
    }
}

/* --- one divisor for all -------------------------------------------------------------------------------------------------- */

/* Division of any 64 bits by y != 0 without dividing: by a product's upper half (Granlund and Montgomery 1994, figure 5.2). */
typedef struct inverse {
    int64_t factor, sign; /* sign: -1 where y is negative, else 0 */
    int shift;
} inverse;

__extension__ typedef unsigned __int128 wide_unsigned;
__extension__ typedef __int128 wide_signed;

static inverse inverse_of(int64_t y) {
    uint64_t size = y < 0 ? 0 - (uint64_t)y : (uint64_t)y;
    int log2 = 1;
    while (log2 < 63 && UINT64_C(1) << log2 < size) {
        log2++;
    }
    wide_unsigned factor = 1 + ((wide_unsigned)1 << (63 + log2)) / size;
    return (inverse){.factor = (int64_t)(uint64_t)factor, .sign = y < 0 ? -1 : 0, .shift = log2 - 1};
}

ALWAYS_INLINE int64_t divide_by_inverse(int64_t x, inverse by) {
    uint64_t upper = (uint64_t)(int64_t)(((wide_signed)by.factor * x) >> 64) + (uint64_t)x;
    uint64_t quotient = (uint64_t)((int64_t)upper >> by.shift) + (x < 0);
    return (int64_t)((quotient ^ (uint64_t)by.sign) - (uint64_t)by.sign);
}

/* In double by the divisor's inverse. Rounded twice, the quotient may be off by one; the exact rest tells. Answers whether a
   number was beyond 2^51, whose place in `out` then holds nothing. */
ALWAYS_INLINE bool small_over_number(elem *out, const elem *x, double divisor, int64_t n, quotient_kind kind) {
    const double size = fabs(divisor), inverted = 1 / size, sign = divisor < 0 ? -1 : 1;
    uint64_t beyond = 0;
#pragma omp simd reduction(| : beyond)
    for (int64_t i = 0; i < n; i++) {
        uint64_t far = sizeof(elem) == 8 ? ((uint64_t)(int64_t)x[i] + (UINT64_C(1) << 51)) >> 52 : 0;
        beyond |= far;
        double from = (double)(elem)((uint64_t)x[i] & (0 - (uint64_t)(far == 0)));
        double dividend = kind.floors ? from * sign : fabs(from); /* both positive, or signs as they come and floored */
        double quotient = floor(dividend * inverted), rest = dividend - quotient * size;
        double off = rest < 0 ? -1 : rest >= size ? 1 : 0;
        if (kind.rests) {
            rest -= off * size;
            rest = kind.floors ? rest * sign : copysign(rest, from);
            out[i] = (elem)(int64_t)rest;
        } else {
            quotient += off;
            quotient = kind.floors ? quotient : copysign(quotient, from) * sign;
            out[i] = (elem)(int64_t)quotient;
        }
    }
    return beyond != 0;
}

/* Without instructions that turn vectors of 64 bits into doubles the inverse is faster for all of them. */
#if defined(__AVX512DQ__) || defined(__aarch64__)
enum { LONGS_CONVERT = 1 };
#else
enum { LONGS_CONVERT = 0 };
#endif

ALWAYS_INLINE void quotients_of_number(const pointwise_chunk *c, quotient_kind kind) {
    elem *const out = c->out, y = *(const elem *)c->in[1];
    const elem *const x = c->in[0];
    if (y == 0 && c->n > 0) {
        memset(out, 0, (size_t)c->n * sizeof *out);
#pragma omp atomic write
        *c->is_fault = true;
        return;
    }
    bool is_long = sizeof(elem) == 8;
    bool may_fit = !is_long || (LONGS_CONVERT && fit_double(&y, 1));
    inverse by = is_long ? inverse_of((int64_t)y) : (inverse){0};
    const int64_t blocks = in_blocks(c), turned = in_turns(blocks);
    for (int64_t from = 0; from < c->n; from += QUOTIENT_BLOCK) {
        const int64_t n = c->n - from < QUOTIENT_BLOCK ? c->n - from : QUOTIENT_BLOCK;
        const int64_t at = from < blocks ? next_block(x, from, turned) : from;
        _Alignas(STREAM_LINE) elem beside[QUOTIENT_BLOCK];
        elem *made = target_of(out + at, beside, n);
        bool fits = may_fit;
        if (may_fit && made == beside) {
            fits = !small_over_number(made, x + at, (double)y, QUOTIENT_BLOCK, kind);
        } else if (may_fit) { /* what is over-written may be x */
            fits = !is_long || fit_double(x + at, n);
            if (fits) {
                (void)small_over_number(made, x + at, (double)y, n, kind);
            }
        }
        for (int64_t i = fits ? n : 0; i < n; i++) {
            int64_t quotient = divide_by_inverse((int64_t)x[at + i], by);
            elem rest = (elem)((uint64_t)x[at + i] - (uint64_t)quotient * (uint64_t)y);
            made[i] = of_quotient((elem)quotient, rest, y, kind);
        }
        put_target(out + at, made);
    }
}

static void quotient_trunc_loop(const pointwise_chunk *c) {
    quotients(c, (quotient_kind){.floors = false, .rests = false});
}

static void quotient_floor_loop(const pointwise_chunk *c) {
    quotients(c, (quotient_kind){.floors = true, .rests = false});
}

static void rest_floor_loop(const pointwise_chunk *c) {
    quotients(c, (quotient_kind){.floors = true, .rests = true});
}

static void rest_of_loop(const pointwise_chunk *c) {
    quotients(c, (quotient_kind){.floors = false, .rests = true});
}

static void quotient_trunc_number_loop(const pointwise_chunk *c) {
    quotients_of_number(c, (quotient_kind){.floors = false, .rests = false});
}

static void quotient_floor_number_loop(const pointwise_chunk *c) {
    quotients_of_number(c, (quotient_kind){.floors = true, .rests = false});
}

static void rest_floor_number_loop(const pointwise_chunk *c) {
    quotients_of_number(c, (quotient_kind){.floors = true, .rests = true});
}

static void rest_of_number_loop(const pointwise_chunk *c) {
    quotients_of_number(c, (quotient_kind){.floors = false, .rests = true});
}
