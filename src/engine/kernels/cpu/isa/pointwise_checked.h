/* SPDX-License-Identifier: Apache-2.0 */
/* Quotients and angles in f32, a template, part of pointwise_f32.c: a few lines of arithmetic serve all but large arguments. Each
   block of elements is worked out and looked through in one go; one that has such an argument is done over, one element after the
   other. */

/* Of n elements, STREAM_BLOCK at most; the results of a whole block go where the table's results go. */
ALWAYS_INLINE void put_block(elem *out, const elem *made, int64_t n) {
    if (POINTWISE_STREAMS && n == STREAM_BLOCK) {
        stream_lines(out, made, STREAM_BLOCK * sizeof(elem));
    } else {
        memcpy(out, made, (size_t)n * sizeof(elem));
    }
}

/* --- angles --- */

ALWAYS_INLINE bool angles_fit(elem *made, const elem *x, int64_t n, elem (*f)(elem x)) {
    int fits = 1;
#pragma omp simd reduction(& : fits)
    for (int64_t i = 0; i < n; i++) {
        fits &= !(fabsf(x[i]) > TRIGONOMETRY_LIMIT);
        made[i] = f(x[i]);
    }
    return fits != 0;
}

ALWAYS_INLINE void of_angles(const pointwise_chunk *c, elem (*f)(elem x), float (*slow)(float x)) {
    elem *out = c->out;
    const elem *x = c->in[0];
    for (int64_t from = 0; from < c->n; from += STREAM_BLOCK) {
        int64_t n = c->n - from < STREAM_BLOCK ? c->n - from : STREAM_BLOCK;
        _Alignas(STREAM_LINE) elem made[STREAM_BLOCK];
        if (POINTWISE_STREAMS) {
            fetch_ahead(x + from, STREAM_BLOCK * sizeof(elem));
        }
        bool fits = n == STREAM_BLOCK ? angles_fit(made, x + from, STREAM_BLOCK, f) : angles_fit(made, x + from, n, f);
        for (int64_t i = fits ? n : 0; i < n; i++) {
            made[i] = slow(x[from + i]);
        }
        put_block(out + from, made, n);
    }
}

static void sin_loop(const pointwise_chunk *c) {
    of_angles(c, sin_f32, sinf);
}

static void cos_loop(const pointwise_chunk *c) {
    of_angles(c, cos_f32, cosf);
}

/* --- quotients --- */

ALWAYS_INLINE elem with_divisors_sign(elem rest, elem y) {
    return ((rest != 0) & ((rest < 0) != (y < 0))) ? rest + y : rest;
}

static elem slow_remainder(elem x, elem y) {
    return with_divisors_sign(fmodf(x, y), y);
}

/* As ATen's div_floor, after CPython's float_divmod. */
static elem slow_divide_floor(elem x, elem y) {
    if (y == 0) {
        return x / y;
    }
    elem rest = fmodf(x, y);
    elem quotient = (x - rest) / y;
    quotient -= ((rest != 0) & ((y < 0) != (rest < 0))) ? 1 : 0;
    elem down = floorf(quotient);
    return quotient == 0 ? copysignf(0, x / y) : quotient - down > 0.5f ? down + 1 : down;
}

/* By double: a quotient of floats that is not whole lies at least 2^-48 of itself away from the next whole number, as long as it
   stays below 2^24. */
#define QUOTIENTS_OF_DOUBLE 0x1p24f

ALWAYS_INLINE elem double_fmod(elem x, elem y, elem ratio) {
    (void)ratio;
    double quotient = (double)x / (double)y;
    return copysignf((elem)((double)x - (double)(int32_t)quotient * (double)y), x);
}

ALWAYS_INLINE elem double_remainder(elem x, elem y, elem ratio) {
    return with_divisors_sign(double_fmod(x, y, ratio), y);
}

ALWAYS_INLINE elem double_divide_floor(elem x, elem y, elem ratio) {
    (void)ratio;
    double quotient = (double)x / (double)y;
    int32_t whole = (int32_t)quotient;
    return (elem)(whole - ((double)whole > quotient));
}

#if defined(__FMA__) || defined(__aarch64__)
/* Without double, by the whole number nearest to the rounded quotient: below 2^20 that is off by an eighth at most, so that what
   remains is at most 5/8 of the divisor and the fused product has it exactly; and so has the sum where it is on the wrong side of
   0. */
#define QUOTIENTS_OF_FLOAT 0x1p20f

ALWAYS_INLINE elem turned(elem x, elem y) {
    return float_of_bits(bits_of_float(x) ^ (bits_of_float(y) & 0x80000000u));
}

ALWAYS_INLINE elem quick_fmod(elem x, elem y, elem ratio) {
    elem size = fabsf(y), rest = fmaf(-rintf(fabsf(ratio)), size, fabsf(x));
    return copysignf(rest < 0 ? rest + size : rest, x);
}

ALWAYS_INLINE elem quick_remainder(elem x, elem y, elem ratio) {
    elem rest = fmaf(-rintf(ratio), y, x);
    elem made = turned(rest, y) < 0 ? rest + y : rest;
    return rest == 0 ? copysignf(0, x) : made; /* as fmod has it */
}

ALWAYS_INLINE elem quick_divide_floor(elem x, elem y, elem ratio) {
    elem whole = rintf(ratio), rest = fmaf(-whole, y, x);
    return turned(rest, y) < 0 ? whole - 1 : whole;
}
#else
#define QUOTIENTS_OF_FLOAT QUOTIENTS_OF_DOUBLE
#define quick_fmod         double_fmod
#define quick_remainder    double_remainder
#define quick_divide_floor double_divide_floor
#endif

/* How an operator is worked out: quickly from x, y and the rounded x / y, by double, and by libm. */
typedef struct quotient_ways {
    elem (*quick)(elem x, elem y, elem ratio);
    elem (*by_double)(elem x, elem y, elem ratio);
    elem (*slow)(elem x, elem y);
} quotient_ways;

/* False where one of the results does not count. y_is_number: y is one for all elements. */
ALWAYS_INLINE bool quotients_fit(elem *made, const elem *x, const elem *y, bool y_is_number, int64_t n, elem most,
                                 elem (*f)(elem x, elem y, elem ratio)) {
    int fits = 1;
    elem inverse = y_is_number ? 1 / *y : 0;
#pragma omp simd reduction(& : fits)
    for (int64_t i = 0; i < n; i++) {
        elem by = y_is_number ? *y : y[i], size = fabsf(by);
        fits &= (fabsf(x[i]) < size * most) & (size < 0x1p100f) & (size > 0x1p-100f);
        made[i] = f(x[i], by, y_is_number ? x[i] * inverse : x[i] / by);
    }
    return fits != 0;
}

ALWAYS_INLINE void float_quotients(const pointwise_chunk *c, bool y_is_number, quotient_ways ways) {
    elem *out = c->out;
    const elem *x = c->in[0], *all_y = c->in[1];
    for (int64_t from = 0; from < c->n; from += STREAM_BLOCK) {
        int64_t n = c->n - from < STREAM_BLOCK ? c->n - from : STREAM_BLOCK;
        const elem *y = y_is_number ? all_y : all_y + from;
        _Alignas(STREAM_LINE) elem made[STREAM_BLOCK];
        if (POINTWISE_STREAMS) {
            fetch_ahead(x + from, STREAM_BLOCK * sizeof(elem));
        }
        if (POINTWISE_STREAMS && !y_is_number) {
            fetch_ahead(y, STREAM_BLOCK * sizeof(elem));
        }
        bool fits = n == STREAM_BLOCK ? quotients_fit(made, x + from, y, y_is_number, STREAM_BLOCK, QUOTIENTS_OF_FLOAT, ways.quick)
                                      : quotients_fit(made, x + from, y, y_is_number, n, QUOTIENTS_OF_FLOAT, ways.quick);
        fits = fits || quotients_fit(made, x + from, y, y_is_number, n, QUOTIENTS_OF_DOUBLE, ways.by_double);
        for (int64_t i = fits ? n : 0; i < n; i++) {
            made[i] = ways.slow(x[from + i], y[y_is_number ? 0 : i]);
        }
        put_block(out + from, made, n);
    }
}

static const quotient_ways fmod_ways = {quick_fmod, double_fmod, fmodf};
static const quotient_ways remainder_ways = {quick_remainder, double_remainder, slow_remainder};
static const quotient_ways divide_floor_ways = {quick_divide_floor, double_divide_floor, slow_divide_floor};

static void fmod_loop(const pointwise_chunk *c) {
    float_quotients(c, false, fmod_ways);
}

static void remainder_loop(const pointwise_chunk *c) {
    float_quotients(c, false, remainder_ways);
}

static void divide_floor_loop(const pointwise_chunk *c) {
    float_quotients(c, false, divide_floor_ways);
}

static void fmod_number_loop(const pointwise_chunk *c) {
    float_quotients(c, true, fmod_ways);
}

static void remainder_number_loop(const pointwise_chunk *c) {
    float_quotients(c, true, remainder_ways);
}

static void divide_floor_number_loop(const pointwise_chunk *c) {
    float_quotients(c, true, divide_floor_ways);
}
