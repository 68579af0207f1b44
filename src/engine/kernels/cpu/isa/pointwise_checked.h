/* SPDX-License-Identifier: Apache-2.0 */
/* Quotients and angles of real numbers, a template: a few lines of arithmetic serve all but large arguments. A block of elements is
   looked through first, while it is brought into L1 for what follows; one that has such an argument goes another way. The including file
   defines `elem`, real_abs, real_turned(x, y), which is x with its sign turned where y is negative, and
     OF_ELEM(name)     what the C library calls a function for it,
     ANGLES_BY_LANES   whether its loops of angles stand elsewhere,
     ANGLES_MOST       up to which real_sin and real_cos hold,
     QUOTIENTS_MOST    2^(digits - 4),
     DIVISORS_MOST     well within the range of `elem`, as is 1 over it,
     QUOTIENTS_BY_DOUBLE  for float: double has digits to spare. */

enum { CHECKED_BLOCK = 512 };

/* A block of the call; y_is_number: the second operand is one for all elements. */
ALWAYS_INLINE pointwise_chunk block_of(const pointwise_chunk *c, int64_t from, bool y_is_number) {
    pointwise_chunk part = *c;
    part.n = c->n - from < CHECKED_BLOCK ? c->n - from : CHECKED_BLOCK;
    part.out = (elem *)c->out + from;
    part.in[0] = (const elem *)c->in[0] + from;
    part.in[1] = y_is_number ? c->in[1] : (const elem *)c->in[1] + from;
    return part;
}

/* --- angles --- */

#if !ANGLES_BY_LANES
static bool angles_fit(const elem *x, int64_t n) {
    int fits = 1;
#pragma omp simd reduction(& : fits)
    for (int64_t i = 0; i < n; i++) {
        fits &= !(real_abs(x[i]) > ANGLES_MOST);
    }
    return fits != 0;
}

ALWAYS_INLINE void of_angles(const pointwise_chunk *c, elem (*f)(elem x), elem (*slow)(elem x)) {
    for (int64_t from = 0; from < c->n; from += CHECKED_BLOCK) {
        pointwise_chunk part = block_of(c, from, true);
        const elem *x = part.in[0];
        elem *out = part.out;
        if (angles_fit(x, part.n)) {
            unary(&part, f);
            continue;
        }
        for (int64_t i = 0; i < part.n; i++) {
            out[i] = slow(x[i]);
        }
    }
}

static void sin_loop(const pointwise_chunk *c) {
    of_angles(c, real_sin, OF_ELEM(sin));
}

static void cos_loop(const pointwise_chunk *c) {
    of_angles(c, real_cos, OF_ELEM(cos));
}
#endif

/* --- quotients --- */

ALWAYS_INLINE elem with_divisors_sign(elem rest, elem y) {
    return ((rest != 0) & ((rest < 0) != (y < 0))) ? rest + y : rest;
}

static elem slow_remainder(elem x, elem y) {
    return with_divisors_sign(OF_ELEM(fmod)(x, y), y);
}

/* As ATen's div_floor, after CPython's float_divmod. */
static elem slow_divide_floor(elem x, elem y) {
    if (y == 0) {
        return x / y;
    }
    elem rest = OF_ELEM(fmod)(x, y);
    elem quotient = (x - rest) / y;
    quotient -= ((rest != 0) & ((y < 0) != (rest < 0))) ? 1 : 0;
    elem down = OF_ELEM(floor)(quotient);
    return quotient == 0 ? OF_ELEM(copysign)(0, x / y) : quotient - down > (elem)0.5 ? down + 1 : down;
}

#if QUOTIENTS_BY_DOUBLE
/* By double: a quotient of floats that is not whole lies at least 2^-48 of itself away from the next whole number, as long as it
   stays below 2^24. */
#define QUOTIENTS_OF_DOUBLE 0x1p24f

ALWAYS_INLINE elem double_fmod(elem x, elem y) {
    double quotient = (double)x / (double)y;
    return copysignf((elem)((double)x - (double)(int32_t)quotient * (double)y), x);
}

ALWAYS_INLINE elem double_remainder(elem x, elem y) {
    return with_divisors_sign(double_fmod(x, y), y);
}

ALWAYS_INLINE elem double_divide_floor(elem x, elem y) {
    double quotient = (double)x / (double)y;
    int32_t whole = (int32_t)quotient;
    return copysignf((elem)(whole - ((double)whole > quotient)), (elem)quotient); /* of 0, too */
}

#endif

#if defined(__FMA__) || defined(__aarch64__)
/* By the whole number nearest to the rounded quotient: below this that is off by an eighth at most, so that what remains is at most 5/8 of
   the divisor and the fused product has it exactly; and so has the sum where it is on the wrong side of 0. */
#define QUOTIENTS_QUICK QUOTIENTS_MOST

ALWAYS_INLINE elem quick_fmod(elem x, elem y, elem ratio) {
    elem size = real_abs(y), rest = OF_ELEM(fma)(-OF_ELEM(rint)(real_abs(ratio)), size, real_abs(x));
    return OF_ELEM(copysign)(rest < 0 ? rest + size : rest, x);
}

ALWAYS_INLINE elem quick_remainder(elem x, elem y, elem ratio) {
    elem rest = OF_ELEM(fma)(-OF_ELEM(rint)(ratio), y, x);
    elem made = real_turned(rest, y) < 0 ? rest + y : rest;
    return rest == 0 ? OF_ELEM(copysign)(0, x) : made; /* as fmod has it */
}

ALWAYS_INLINE elem quick_divide_floor(elem x, elem y, elem ratio) {
    elem whole = OF_ELEM(rint)(ratio), rest = OF_ELEM(fma)(-whole, y, x);
    return real_turned(rest, y) < 0 ? whole - 1 : whole;
}
#elif QUOTIENTS_BY_DOUBLE
#define QUOTIENTS_QUICK QUOTIENTS_OF_DOUBLE

ALWAYS_INLINE elem quick_fmod(elem x, elem y, elem ratio) {
    (void)ratio;
    return double_fmod(x, y);
}

ALWAYS_INLINE elem quick_remainder(elem x, elem y, elem ratio) {
    (void)ratio;
    return double_remainder(x, y);
}

ALWAYS_INLINE elem quick_divide_floor(elem x, elem y, elem ratio) {
    (void)ratio;
    return double_divide_floor(x, y);
}
#else
#define QUOTIENTS_QUICK 0 /* none is below */

ALWAYS_INLINE elem quick_fmod(elem x, elem y, elem ratio) {
    (void)ratio;
    return OF_ELEM(fmod)(x, y);
}

ALWAYS_INLINE elem quick_remainder(elem x, elem y, elem ratio) {
    (void)ratio;
    return slow_remainder(x, y);
}

ALWAYS_INLINE elem quick_divide_floor(elem x, elem y, elem ratio) {
    (void)ratio;
    return slow_divide_floor(x, y);
}
#endif

ALWAYS_INLINE elem pair_fmod(elem x, elem y) {
    return quick_fmod(x, y, x / y);
}

ALWAYS_INLINE elem pair_remainder(elem x, elem y) {
    return quick_remainder(x, y, x / y);
}

ALWAYS_INLINE elem pair_divide_floor(elem x, elem y) {
    return quick_divide_floor(x, y, x / y);
}

ALWAYS_INLINE elem number_fmod(elem x, elem y, elem inverse, elem unused) {
    (void)unused;
    return quick_fmod(x, y, x * inverse);
}

ALWAYS_INLINE elem number_remainder(elem x, elem y, elem inverse, elem unused) {
    (void)unused;
    return quick_remainder(x, y, x * inverse);
}

ALWAYS_INLINE elem number_divide_floor(elem x, elem y, elem inverse, elem unused) {
    (void)unused;
    return quick_divide_floor(x, y, x * inverse);
}

/* How an operator is worked out: quickly, by two operands and with the second one's inverse; of floats by double; by libm. */
typedef struct quotient_ways {
    elem (*quick)(elem x, elem y);
    elem (*quick_number)(elem x, elem y, elem inverse, elem unused);
    elem (*slow)(elem x, elem y);
    elem (*by_double)(elem x, elem y); /* or NULL */
} quotient_ways;

ALWAYS_INLINE bool quotients_fit(const pointwise_chunk *c, bool y_is_number, elem most) {
    const elem *x = c->in[0], *y = c->in[1];
    int fits = 1;
    if (y_is_number) {
        elem size = real_abs(*y), limit = size < DIVISORS_MOST && size > 1 / DIVISORS_MOST ? size * most : 0;
#pragma omp simd reduction(& : fits)
        for (int64_t i = 0; i < c->n; i++) {
            fits &= real_abs(x[i]) < limit;
        }
        return fits != 0;
    }
#pragma omp simd reduction(& : fits)
    for (int64_t i = 0; i < c->n; i++) {
        elem size = real_abs(y[i]);
        fits &= (real_abs(x[i]) < size * most) & (size < DIVISORS_MOST) & (size > 1 / DIVISORS_MOST);
    }
    return fits != 0;
}

/* A block that is not for the quick way. */
ALWAYS_INLINE void quotients_of_far(const pointwise_chunk *part, bool y_is_number, quotient_ways ways) {
    const elem *x = part->in[0], *y = part->in[1];
    elem *out = part->out;
    const int64_t step = y_is_number ? 0 : 1;
#if QUOTIENTS_BY_DOUBLE
    if (quotients_fit(part, y_is_number, QUOTIENTS_OF_DOUBLE)) {
#pragma omp simd
        for (int64_t i = 0; i < part->n; i++) {
            out[i] = ways.by_double(x[i], y[i * step]);
        }
        return;
    }
#endif
    for (int64_t i = 0; i < part->n; i++) {
        out[i] = ways.slow(x[i], y[i * step]);
    }
}

/* What streams, by one divisor: a few lines in one go, in turns, and once more where one number wants it. Answers how many elements
   it did. */
ALWAYS_INLINE int64_t quotients_in_turns(const pointwise_chunk *c, quotient_ways ways) {
    const elem *x = c->in[0], y = *(const elem *)c->in[1], inverted = 1 / y, size = real_abs(y);
    const elem limit = size < DIVISORS_MOST && size > 1 / DIVISORS_MOST ? size * QUOTIENTS_QUICK : 0;
    const int64_t blocks = in_blocks(c), turned = in_turns(blocks);
    for (int64_t from = 0; from < blocks; from += STREAM_BLOCK) {
        const int64_t at = next_block(x, from, turned);
        _Alignas(STREAM_LINE) elem made[STREAM_BLOCK];
        elem_bits far = 0;
#pragma omp simd reduction(| : far)
        for (int64_t i = 0; i < STREAM_BLOCK; i++) {
            far |= !(real_abs(x[at + i]) < limit);
            made[i] = ways.quick_number(x[at + i], y, inverted, 0);
        }
        if (far == 0) {
            stream_lines((elem *)c->out + at, made, sizeof made);
        } else {
            pointwise_chunk part = block_of(c, at, true);
            part.n = STREAM_BLOCK;
            quotients_of_far(&part, true, ways);
        }
    }
    return blocks;
}

ALWAYS_INLINE void quotients_of(const pointwise_chunk *c, bool y_is_number, quotient_ways ways) {
    for (int64_t from = y_is_number ? quotients_in_turns(c, ways) : 0; from < c->n; from += CHECKED_BLOCK) {
        pointwise_chunk part = block_of(c, from, y_is_number);
        if (!quotients_fit(&part, y_is_number, QUOTIENTS_QUICK)) {
            quotients_of_far(&part, y_is_number, ways);
        } else if (y_is_number) {
            const elem y = *(const elem *)c->in[1];
            unary_with(&part, ways.quick_number, y, 1 / y, 0);
        } else {
            binary(&part, ways.quick);
        }
    }
}

#if QUOTIENTS_BY_DOUBLE
#define BY_DOUBLE(f) f
#else
#define BY_DOUBLE(f) NULL
#endif

static const quotient_ways fmod_ways = {pair_fmod, number_fmod, OF_ELEM(fmod), BY_DOUBLE(double_fmod)};
static const quotient_ways remainder_ways = {pair_remainder, number_remainder, slow_remainder, BY_DOUBLE(double_remainder)};
static const quotient_ways divide_floor_ways = {pair_divide_floor, number_divide_floor, slow_divide_floor, BY_DOUBLE(double_divide_floor)};

static void fmod_loop(const pointwise_chunk *c) {
    quotients_of(c, false, fmod_ways);
}

static void remainder_loop(const pointwise_chunk *c) {
    quotients_of(c, false, remainder_ways);
}

static void divide_floor_loop(const pointwise_chunk *c) {
    quotients_of(c, false, divide_floor_ways);
}

static void fmod_number_loop(const pointwise_chunk *c) {
    quotients_of(c, true, fmod_ways);
}

static void remainder_number_loop(const pointwise_chunk *c) {
    quotients_of(c, true, remainder_ways);
}

static void divide_floor_number_loop(const pointwise_chunk *c) {
    quotients_of(c, true, divide_floor_ways);
}
