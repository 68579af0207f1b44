/* SPDX-License-Identifier: Apache-2.0 */
/* A template: functions that emitted C may call, beside those of vector_math.h. The emitter copies the paragraphs that a
   program needs, so each function stands in one of its own, after those that it calls. No header is needed. */

/* A choice in bits. With a branch gcc follows what it knows of a constant side (an infinity is no NaN, and larger than nothing)
   through all that comes after, one way for each side, and makes no vector code of it. */
VECTOR_INLINE float choose_f32(int condition, float a, float b) {
    uint32_t mask = (uint32_t)(-condition >> 31); /* it is not below 0 */
    return float_of_bits((mask & bits_of_float(a)) | (~mask & bits_of_float(b)));
}

/* The bits below the sign, of negative numbers turned round: integers compare as what they stand for. */
VECTOR_INLINE int32_t order_of_f32(float x) {
    int32_t bits = (int32_t)bits_of_float(x + 0.0f);
    int32_t order = bits ^ (int32_t)((uint32_t)(bits >> 31) >> 1);
    return x == x ? order : 0x7fffffff;
}

VECTOR_INLINE float f32_of_order(int32_t order) {
    return float_of_bits((uint32_t)order ^ ((uint32_t)(order >> 31) >> 1));
}

VECTOR_INLINE float maximum_f32(float a, float b) {
    return ((a > b) | (a != a)) ? a : b;
}

VECTOR_INLINE float minimum_f32(float a, float b) {
    return ((a < b) | (a != a)) ? a : b;
}

VECTOR_INLINE double maximum_f64(double a, double b) {
    return ((a > b) | (a != a)) ? a : b;
}

VECTOR_INLINE double minimum_f64(double a, double b) {
    return ((a < b) | (a != a)) ? a : b;
}

VECTOR_INLINE float sign_f32(float x) {
    return (float)(x > 0) - (float)(x < 0);
}

VECTOR_INLINE double sign_f64(double x) {
    return (double)(x > 0) - (double)(x < 0);
}

VECTOR_INLINE int32_t sign_i32(int32_t x) {
    return (x > 0) - (x < 0);
}

VECTOR_INLINE int64_t sign_i64(int64_t x) {
    return (x > 0) - (x < 0);
}

/* The larger and the smaller of x and a number that is not below 0, by their bits, which are in the same order: compilers make vectors'
   instructions for whole numbers of this, but masks of choices between floats, because of NaN. Of that either may come here. Zen 4 makes
   masks where it multiplies. */
VECTOR_INLINE float larger_by_bits_f32(float x, float number) {
    int32_t a = (int32_t)bits_of_float(x), b = (int32_t)bits_of_float(number);
    return float_of_bits((uint32_t)(a < b ? b : a));
}

VECTOR_INLINE float smaller_by_bits_f32(float x, float number) {
    int32_t a = (int32_t)bits_of_float(x), b = (int32_t)bits_of_float(number);
    return float_of_bits((uint32_t)(a > b ? b : a));
}

/* exp(x) for x <= 0, as exp_negative_f32, where products are fused: ln 2 comes off in one step, which costs |x| / 400 ulp, and the
   polynomial has one term less (1.1e-7). 2 ulp. */
VECTOR_INLINE float exp_below_f32(float x) {
#if defined(__FMA__) || defined(__aarch64__)
    float clipped = x < EXP_LOWEST ? EXP_LOWEST : x;
    float shifted = fmaf(clipped, 0x1.715476p+0f, EXPONENT_MAGIC);
    float r = fmaf(shifted - EXPONENT_MAGIC, -0x1.62e43p-1f, clipped);
    float p = fmaf(0.008312501f, r, 0.04189033f);
    p = fmaf(p, r, 0.16667116f);
    p = fmaf(p, r, 0.4999923f);
    p = fmaf(p, r, 1.0f);
    return fmaf(p, r, 1.0f) * exp_scale(shifted);
#else
    return exp_negative_f32(x);
#endif
}

/* e^x - 1 = 2^n (e^r - 1) + (2^n - 1), x at least -87: digits are kept near 0. In halves of 2^n, which lets n be 128. 2 ulp. */
VECTOR_INLINE float expm1_above_87(float x) {
    float shifted, r = exp_rest(x, &shifted);
    float m = exp_series(r) * (r * r) + r, half = float_of_bits((bits_of_float(shifted) - 1) << 23);
    return 2 * (half * m + (half - 0.5f));
}

VECTOR_INLINE float expm1_f32(float x) {
    float value = expm1_above_87(x < -87.0f ? -87.0f : x);
    return x > 89.0f ? INFINITY : value;
}

VECTOR_INLINE float expm1_below_f32(float x) {
    float low = x < -87.0f ? -87.0f : x;
    return expm1_above_87(low > 0 ? 0 : low);
}

VECTOR_INLINE double expm1_below_f64(double x) {
    return expm1_negative_f64(x > 0 ? 0 : x);
}

VECTOR_INLINE float log_f32(float x) {
    float value = (float)(log2_wide(x) * 0.693147180559945309417);
    value = x == INFINITY ? INFINITY : value;
    value = x == 0 ? -INFINITY : value;
    return x >= 0 ? value : NAN;
}

VECTOR_INLINE float pow_f32(float x, float y) {
    return pow_signed(pow_magnitude(x, y), x, y);
}

/* Where sin_f32 and cos_f32 have no digits left. */
VECTOR_INLINE uint32_t angle_is_large(float x) {
    return !(fabsf(x) <= TRIGONOMETRY_LIMIT);
}

/* The same digits as the quick forms wherever those hold. */
VECTOR_INLINE float sine_f32(float x) {
    return angle_is_large(x) ? __builtin_sinf(x) : sin_f32(x);
}

VECTOR_INLINE float cosine_f32(float x) {
    return angle_is_large(x) ? __builtin_cosf(x) : cos_f32(x);
}

VECTOR_INLINE uint32_t angle_is_large_f64(double x) {
    return !(fabs(x) <= TRIGONOMETRY_LIMIT_F64);
}

VECTOR_INLINE double sine_f64(double x) {
    return angle_is_large_f64(x) ? __builtin_sin(x) : sin_f64(x);
}

VECTOR_INLINE double cosine_f64(double x) {
    return angle_is_large_f64(x) ? __builtin_cos(x) : cos_f64(x);
}

VECTOR_INLINE float normal_cdf_f32(float x) {
    float size = normal_size(x), tail = normal_tail(size, exp_half_square(size));
    return x > 0 ? 1.0f - tail : tail;
}

VECTOR_INLINE float normal_slope_f32(float x) {
    return gelu_slope_f32(x);
}

/* By squaring; a negative exponent leaves 1, -1 or 0. */
VECTOR_INLINE int64_t pow_i64(int64_t a, int64_t b) {
    if (b < 0) {
        return a == 1 ? 1 : a == -1 ? (b & 1 ? -1 : 1) : 0;
    }
    uint64_t base = (uint64_t)a, value = 1;
    for (; b > 0; b >>= 1, base *= base) {
        value *= b & 1 ? base : 1;
    }
    return (int64_t)value;
}

VECTOR_INLINE int32_t pow_i32(int32_t a, int32_t b) {
    return (int32_t)pow_i64(a, b);
}

VECTOR_INLINE float f32_of_bf16(uint16_t x) {
    return float_of_bits((uint32_t)x << 16);
}

/* To nearest, ties to even; a NaN stays one. */
VECTOR_INLINE uint16_t bf16_of_f32(float x) {
    uint32_t bits = bits_of_float(x);
    uint32_t rounded = bits + 0x7fffu + (bits >> 16 & 1);
    uint32_t quiet = bits | 0x400000u, is_number = -(uint32_t)(x == x); /* a choice of words would be a branch, which no vector takes */
    return (uint16_t)((quiet ^ ((rounded ^ quiet) & is_number)) >> 16);
}

/* The exponent is moved by a multiplication; what f16 holds below its smallest normal number comes out of a difference. */
VECTOR_INLINE float f32_of_f16(uint16_t x) {
    uint32_t shifted = (uint32_t)x << 16, magnitude = shifted + shifted;
    float normal = float_of_bits((magnitude >> 4) + 0x70000000u) * 0x1p-112f;
    float small = float_of_bits((magnitude >> 17) | 0x3f000000u) - 0.5f;
    uint32_t bits = magnitude < 0x8000000u ? bits_of_float(small) : bits_of_float(normal);
    return float_of_bits((shifted & 0x80000000u) | bits);
}

/* To nearest, ties to even: adding a number 2^13 times the last place of f16 rounds in hardware. */
VECTOR_INLINE uint16_t f16_of_f32(float x) {
    uint32_t bits = bits_of_float(x), doubled = bits + bits;
    float scaled = fabsf(x) * 0x1p+112f * 0x1p-110f;
    uint32_t exponent = doubled & 0xff000000u;
    exponent = exponent < 0x71000000u ? 0x71000000u : exponent;
    uint32_t sum = bits_of_float(float_of_bits((exponent >> 1) + 0x07800000u) + scaled);
    uint32_t value = (sum >> 13 & 0x7c00u) + (sum & 0xfffu);
    return (uint16_t)((bits >> 16 & 0x8000u) | (doubled > 0xff000000u ? 0x7e00u : value));
}

/* Keeps compilers from making vector code of the loop over i: how far it goes they cannot know. */
#define ONE_BY_ONE(i) __asm__("" : "+r"(i))

/* Elements of this size, of n, before the next line of memory. */
VECTOR_INLINE int64_t lanes_to_line(const void *at, int64_t size_bytes, int64_t n) {
    int64_t lanes = (int64_t)(-(__UINTPTR_TYPE__)at & 63) / size_bytes;
    return lanes < n ? lanes : n;
}

/* Asks for memory that is read soon. */
VECTOR_INLINE void fetch_soon(const void *at, int64_t bytes) {
    for (int64_t i = 0; i < bytes; i += 64) {
        __builtin_prefetch((const char *)at + i);
    }
}

/* Asks for memory that is read later: it waits in L2. */
VECTOR_INLINE void fetch_far(const void *at, int64_t bytes) {
    for (int64_t i = 0; i < bytes; i += 64) {
        __builtin_prefetch((const char *)at + i, 0, 2);
    }
}

/* Whole lines past the caches; as memcpy does where they are none. */
VECTOR_INLINE void stream_lines(void *to, const void *from, int64_t bytes) {
#if defined(__AVX512F__)
    typedef float line __attribute__((vector_size(64), aligned(1), may_alias));
    if (((__UINTPTR_TYPE__)to & 63) == 0) {
        for (int64_t i = 0; i < bytes; i += 64) {
            __asm__("vmovntps %1, %0" : "=m"(*(line *)((char *)to + i)) : "v"(*(const line *)((const char *)from + i)));
        }
        return;
    }
#elif defined(__SSE2__)
    typedef float line __attribute__((vector_size(16), aligned(1), may_alias));
    if (((__UINTPTR_TYPE__)to & 63) == 0) {
        for (int64_t i = 0; i < bytes; i += 16) {
            __asm__("movntps %1, %0" : "=m"(*(line *)((char *)to + i)) : "x"(*(const line *)((const char *)from + i)));
        }
        return;
    }
#endif
    memcpy(to, from, bytes);
}

/* Makes what was stored past the caches visible to other threads. */
VECTOR_INLINE void stream_settle(void) {
#if defined(__SSE2__)
    __asm__ volatile("sfence" ::: "memory");
#endif
}

VECTOR_INLINE float _Complex c64_of_c32(uint32_t x) {
    return __builtin_complex(f32_of_f16((uint16_t)x), f32_of_f16((uint16_t)(x >> 16)));
}

VECTOR_INLINE uint32_t c32_of_c64(float _Complex x) {
    return f16_of_f32(__real__ x) | (uint32_t)f16_of_f32(__imag__ x) << 16;
}

/* An index read from data: out of range it is noted and looks at element 0. */
VECTOR_INLINE int64_t checked(int64_t i, int64_t size, uint64_t *bad) {
    *bad |= (uint64_t)i >= (uint64_t)size;
    return (uint64_t)i < (uint64_t)size ? i : 0;
}

/* Quotients and remainders of coordinates that may be negative. */
VECTOR_INLINE int64_t floor_quotient(int64_t a, int64_t b) {
    return a / b - (a % b < 0);
}

VECTOR_INLINE int64_t floor_rest(int64_t a, int64_t b) {
    return a % b + (a % b < 0 ? b : 0);
}

/* 32 bits by Philox 2x32-10 (Salmon and others, SC 2011): of the block that half the place names the first word or the second, under a
   key made of the seed and the stream. */
VECTOR_INLINE int64_t random_bits(int64_t seed, int64_t stream, int64_t place) {
    uint32_t key = (uint32_t)seed + (uint32_t)stream * 0x85EBCA6Bu;
    uint64_t block = (uint64_t)place >> 1;
    uint32_t c0 = (uint32_t)block, c1 = (uint32_t)(block >> 32) ^ (uint32_t)((uint64_t)seed >> 32);
    for (int round = 0; round < 10; round++) {
        uint64_t product = (uint64_t)0xD256D193u * c0;
        c0 = (uint32_t)(product >> 32) ^ key ^ c1;
        c1 = (uint32_t)product;
        key += 0x9E3779B9u;
    }
    return (place & 1) != 0 ? c1 : c0;
}

/* Both words of 32 blocks in a row. Only the low half of each 64-bit lane counts: the instruction multiplies no other, and compilers
   multiply all of it where they are left to choose. A lane's rounds wait for each other, so several go side by side. */
VECTOR_INLINE void random_words(uint32_t *to, int64_t seed, int64_t stream, uint64_t block) {
#if (defined(__AVX512F__) || defined(__AVX2__)) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#if defined(__AVX512F__)
    typedef uint64_t words __attribute__((vector_size(64)));
    const words offsets = {0, 1, 2, 3, 4, 5, 6, 7};
    enum { LANES = 8, SIDE_BY_SIDE = 4 };
#else
    typedef uint64_t words __attribute__((vector_size(32)));
    const words offsets = {0, 1, 2, 3};
    enum { LANES = 4, SIDE_BY_SIDE = 4 };
#endif
    const words factor = (words){0} + 0xD256D193u;
    for (int l = 0; l < 32; l += LANES * SIDE_BY_SIDE) {
        words c0[SIDE_BY_SIDE], c1[SIDE_BY_SIDE], key = (words){0} + ((uint32_t)seed + (uint32_t)stream * 0x85EBCA6Bu);
        for (int i = 0; i < SIDE_BY_SIDE; i++) {
            c0[i] = offsets + (block + (uint64_t)(l + LANES * i));
            c1[i] = (c0[i] >> 32) ^ ((uint64_t)seed >> 32);
        }
        for (int round = 0; round < 10; round++) {
            for (int i = 0; i < SIDE_BY_SIDE; i++) {
                words product, high;
#if defined(__AVX512F__)
                __asm__("vpmuludq %2, %1, %0" : "=v"(product) : "v"(c0[i]), "v"(factor));
                __asm__("vpshufd $0xF5, %1, %0" : "=v"(high) : "v"(product));
                __asm__("vpternlogq $0x96, %2, %1, %0" : "+v"(high) : "v"(key), "v"(c1[i]));
#else
                __asm__("vpmuludq %2, %1, %0" : "=x"(product) : "x"(c0[i]), "x"(factor));
                high = (product >> 32) ^ key ^ c1[i];
#endif
                c0[i] = high;
                c1[i] = product;
            }
            key += 0x9E3779B9u;
        }
        for (int i = 0; i < SIDE_BY_SIDE; i++) {
            const words both = (c0[i] & 0xFFFFFFFFu) | c1[i] << 32;
            memcpy(to + 2 * (l + LANES * i), &both, sizeof both);
        }
    }
#else
    for (int l = 0; l < 64; l++) {
        to[l] = (uint32_t)random_bits(seed, stream, (int64_t)(2 * block) + l);
    }
#endif
}

/* Of 64 places in a row, the first of which may be a block's second word. */
VECTOR_INLINE void random_block(uint32_t *to, int64_t seed, int64_t stream, int64_t place) {
    const uint64_t block = (uint64_t)place >> 1;
    if ((place & 1) == 0) {
        random_words(to, seed, stream, block);
        return;
    }
    uint32_t rest[64];
    random_words(rest, seed, stream, block + 1);
    to[0] = (uint32_t)random_bits(seed, stream, place);
    memcpy(to + 1, rest, 63 * sizeof *rest);
}

/* Complex products and quotients by parts, as ATen has them: C's own look for infinities among what comes out as NaN (base/complex_parts.h
   says more). */
VECTOR_INLINE float _Complex product_c64(float _Complex x, float _Complex y) {
    const float a = __real__ x, b = __imag__ x, c = __real__ y, d = __imag__ y;
    return __builtin_complex(a * c - b * d, a * d + b * c);
}

VECTOR_INLINE double _Complex product_c128(double _Complex x, double _Complex y) {
    const double a = __real__ x, b = __imag__ x, c = __real__ y, d = __imag__ y;
    return __builtin_complex(a * c - b * d, a * d + b * c);
}

VECTOR_INLINE double _Complex quotient_c128(double _Complex x, double _Complex y) {
    const double a = __real__ x, b = __imag__ x, c = __real__ y, d = __imag__ y;
    const int by_real = __builtin_fabs(c) >= __builtin_fabs(d);
    const double larger = by_real ? c : d, smaller = by_real ? d : c, u = by_real ? a : b, v = by_real ? b : a;
    const double ratio = smaller / larger, scale = 1 / (larger + smaller * ratio);
    const double re = (u + v * ratio) * scale, im = (v - u * ratio) * scale;
    const int by_zero = (c == 0) & (d == 0);
    return __builtin_complex(by_zero ? a / __builtin_fabs(c) : re, by_zero ? b / __builtin_fabs(d) : by_real ? im : -im);
}

VECTOR_INLINE float _Complex quotient_c64(float _Complex x, float _Complex y) {
    return (float _Complex)quotient_c128(x, y);
}

/* In double no square is too large or too small, and the root needs no call. */
VECTOR_INLINE float _Complex sign_c64(float _Complex x) {
    const double a = __real__ x, b = __imag__ x, square = a * a + b * b, factor = square == 0 ? 0 : 1 / __builtin_sqrt(square);
    return __builtin_complex((float)(a * factor), (float)(b * factor));
}

VECTOR_INLINE double _Complex sign_c128(double _Complex x) {
    double size = __builtin_cabs(x);
    return size == 0 ? 0 : x / size;
}
