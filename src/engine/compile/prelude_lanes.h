/* SPDX-License-Identifier: Apache-2.0 */
/* A template, like prelude.h: halves by the processor's instruction, and sixteen lanes to one, in halves. What differs from plain loops is the code alone: compilers make
   scalars of the last sixteen. */

/* n halves, whole sixteens, by the instruction that there is for it: compilers find it for one element only. Both its sides are registers:
   beside one that reads memory they keep no sums in registers (down 32 columns 208 us so, and 56; layer norm of [2048, 768] 215, and 184:
   two cores of a Zen 4, 2026-11). */
VECTOR_INLINE void few_f32s_of_f16s(float *to, const uint16_t *from, int n) {
#if defined(__AVX512F__)
    typedef float wide __attribute__((vector_size(64), aligned(4), may_alias));
    typedef uint16_t half __attribute__((vector_size(32), aligned(2), may_alias));
    for (int l = 0; l < n; l += 16) {
        const half halves = *(const half *)(from + l);
        wide x;
        __asm__("vcvtph2ps %1, %0" : "=v"(x) : "v"(halves));
        *(wide *)(to + l) = x;
    }
#elif defined(__F16C__)
    typedef float wide __attribute__((vector_size(32), aligned(4), may_alias));
    typedef uint16_t half __attribute__((vector_size(16), aligned(2), may_alias));
    for (int l = 0; l < n; l += 8) {
        const half halves = *(const half *)(from + l);
        wide x;
        __asm__("vcvtph2ps %1, %0" : "=x"(x) : "x"(halves));
        *(wide *)(to + l) = x;
    }
#else
    for (int l = 0; l < n; l++) {
        to[l] = f32_of_f16(from[l]);
    }
#endif
}

/* A block of 64. */
VECTOR_INLINE void f32s_of_f16s(float *to, const uint16_t *from) {
    few_f32s_of_f16s(to, from, 64);
}

/* n of bf16, whole sixteens, each loaded for itself: of plain loops gcc loads twice as many and moves the upper ones down. They are stored
   as floats, or it would not see that those are what is read. */
VECTOR_INLINE void few_f32s_of_bf16s(float *to, const uint16_t *from, int n) {
#if defined(__AVX512F__)
    typedef float floats __attribute__((vector_size(64), aligned(4), may_alias));
    typedef uint32_t wide __attribute__((vector_size(64)));
    typedef uint16_t half __attribute__((vector_size(32), aligned(2), may_alias));
    for (int l = 0; l < n; l += 16) {
        const half halves = *(const half *)(from + l);
        wide words;
        __asm__("vpmovzxwd %1, %0" : "=v"(words) : "v"(halves));
        *(floats *)(to + l) = (floats)(words << 16);
    }
#else
    for (int l = 0; l < n; l++) {
        to[l] = f32_of_bf16(from[l]);
    }
#endif
}

VECTOR_INLINE void f32s_of_bf16s(float *to, const uint16_t *from) {
    few_f32s_of_bf16s(to, from, 64);
}

/* 32 at a time, those in even places first: a word holds two. */
VECTOR_INLINE void f32s_of_bf16_pairs(float *to, const uint16_t *from) {
#if defined(__AVX512F__)
    typedef float floats __attribute__((vector_size(64), aligned(4), may_alias));
    typedef uint32_t wide __attribute__((vector_size(64), aligned(2), may_alias));
    for (int l = 0; l < 64; l += 32) {
        const wide words = *(const wide *)(from + l);
        *(floats *)(to + l) = (floats)(words << 16);
        *(floats *)(to + l + 16) = (floats)(words & 0xffff0000u);
    }
#else
    f32s_of_bf16s(to, from);
#endif
}

VECTOR_INLINE void f16s_of_f32s(uint16_t *to, const float *from) {
#if defined(__AVX512F__)
    typedef float wide __attribute__((vector_size(64), aligned(4), may_alias));
    typedef uint16_t half __attribute__((vector_size(32), aligned(2), may_alias));
    for (int l = 0; l < 64; l += 16) {
        half halves;
        __asm__("vcvtps2ph $0, %1, %0" : "=v"(halves) : "v"(*(const wide *)(from + l)));
        *(half *)(to + l) = halves;
    }
#elif defined(__F16C__)
    typedef float wide __attribute__((vector_size(32), aligned(4), may_alias));
    typedef uint16_t half __attribute__((vector_size(16), aligned(2), may_alias));
    for (int l = 0; l < 64; l += 8) {
        half halves;
        __asm__("vcvtps2ph $0, %1, %0" : "=x"(halves) : "x"(*(const wide *)(from + l)));
        *(half *)(to + l) = halves;
    }
#else
    for (int l = 0; l < 64; l++) {
        to[l] = f16_of_f32(from[l]);
    }
#endif
}

VECTOR_INLINE void bf16s_of_f32s(uint16_t *to, const float *from) {
#if defined(__AVX512BF16__)
    typedef float wide __attribute__((vector_size(64), aligned(4), may_alias));
    typedef uint16_t half __attribute__((vector_size(64), aligned(2), may_alias));
    for (int l = 0; l < 64; l += 32) {
        __asm__("vcvtne2ps2bf16 %1, %2, %0"
                : "=v"(*(half *)(to + l)) : "v"(*(const wide *)(from + l)), "v"(*(const wide *)(from + l + 16)));
    }
#else
    for (int l = 0; l < 64; l++) {
        to[l] = bf16_of_f32(from[l]);
    }
#endif
}

/* Back to nearest, ties away from 0; a NaN is one of bf16's. */
VECTOR_INLINE void bf16_pairs_of_f32s(uint16_t *to, const float *from) {
#if defined(__AVX512F__)
    typedef uint32_t wide __attribute__((vector_size(64), aligned(2), may_alias));
    for (int l = 0; l < 64; l += 32) {
        const wide even = *(const wide *)(from + l) + 0x8000u, odd = *(const wide *)(from + l + 16) + 0x8000u;
        *(wide *)(to + l) = (even >> 16) | (odd & 0xffff0000u);
    }
#else
    bf16s_of_f32s(to, from);
#endif
}

/* 64 halves made of floats, past the caches, without a way through memory. */
VECTOR_INLINE void stream_bf16s(uint16_t *to, const float *from) {
#if defined(__AVX512BF16__)
    typedef float floats __attribute__((vector_size(64), aligned(4), may_alias));
    if (((__UINTPTR_TYPE__)to & 63) == 0) {
        for (int l = 0; l < 64; l += 32) {
            floats made;
            __asm__("vcvtne2ps2bf16 %1, %2, %0"
                    : "=v"(made) : "v"(*(const floats *)(from + l)), "v"(*(const floats *)(from + l + 16)));
            __asm__("vmovntps %1, %0" : "=m"(*(floats *)(void *)(to + l)) : "v"(made));
        }
        return;
    }
#endif
    uint16_t halves[64];
    bf16s_of_f32s(halves, from);
    stream_lines(to, halves, sizeof halves);
}

/* Of such as f32s_of_bf16_pairs makes, to nearest, ties to even: sums end halfway between two as often as not. past: the caches, to a
   line of memory. */
VECTOR_INLINE void put_nearest_pairs(uint16_t *to, const float *from, const int past) {
#if defined(__AVX512BF16__) && defined(__AVX512BW__)
    typedef float floats __attribute__((vector_size(64), aligned(4), may_alias));
    typedef uint16_t words __attribute__((vector_size(64), aligned(2), may_alias));
    static const uint16_t places[32] __attribute__((aligned(64))) = {
        0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31
    };
    for (int l = 0; l < 64; l += 32) {
        words made;
        __asm__("vcvtne2ps2bf16 %1, %2, %0"
                : "=v"(made) : "v"(*(const floats *)(from + l)), "v"(*(const floats *)(from + l + 16)));
        __asm__("vpermw %1, %2, %0" : "=v"(made) : "v"(made), "v"(*(const words *)places));
        if (past) {
            __asm__("vmovntps %1, %0" : "=m"(*(words *)(to + l)) : "v"(made));
        } else {
            *(words *)(to + l) = made;
        }
    }
#elif defined(__AVX512F__)
    uint16_t halves[64];
    for (int l = 0; l < 64; l += 32) {
        for (int i = 0; i < 16; i++) {
            halves[l + 2 * i] = bf16_of_f32(from[l + i]);
            halves[l + 2 * i + 1] = bf16_of_f32(from[l + 16 + i]);
        }
    }
    if (past) {
        stream_lines(to, halves, sizeof halves);
    } else {
        __builtin_memcpy(to, halves, sizeof halves);
    }
#else
    (void)past;
    bf16s_of_f32s(to, from);
#endif
}

VECTOR_INLINE void nearest_bf16_pairs(uint16_t *to, const float *from) {
    put_nearest_pairs(to, from, 0);
}

VECTOR_INLINE void stream_bf16_pairs(uint16_t *to, const float *from) {
    if (((__UINTPTR_TYPE__)to & 63) == 0) {
        put_nearest_pairs(to, from, 1);
    } else {
        put_nearest_pairs(to, from, 0);
    }
}

VECTOR_INLINE void stream_f16s(uint16_t *to, const float *from) {
#if defined(__AVX512F__)
    typedef float floats __attribute__((vector_size(64), aligned(4), may_alias));
    if (((__UINTPTR_TYPE__)to & 63) == 0) {
        typedef float eight __attribute__((vector_size(32), aligned(4), may_alias));
        for (int l = 0; l < 64; l += 16) {
            eight made;
            __asm__("vcvtps2ph $0, %1, %0" : "=v"(made) : "v"(*(const floats *)(from + l)));
            __asm__("vmovntps %1, %0" : "=m"(*(eight *)(void *)(to + l)) : "v"(made));
        }
        return;
    }
#endif
    uint16_t halves[64];
    f16s_of_f32s(halves, from);
    stream_lines(to, halves, sizeof halves);
}

/* One half, where no vector code can be made of what is around it. */
VECTOR_INLINE float f32_of_one_f16(uint16_t x) {
#if defined(__F16C__)
    typedef float four __attribute__((vector_size(16)));
    typedef uint16_t eight __attribute__((vector_size(16)));
    four y;
    __asm__("vcvtph2ps %1, %0" : "=x"(y) : "x"((eight){x}));
    return y[0];
#else
    return f32_of_f16(x);
#endif
}

VECTOR_INLINE uint16_t f16_of_one_f32(float x) {
#if defined(__F16C__)
    typedef float four __attribute__((vector_size(16)));
    typedef uint16_t eight __attribute__((vector_size(16)));
    eight y;
    __asm__("vcvtps2ph $0, %1, %0" : "=x"(y) : "x"((four){x}));
    return y[0];
#else
    return f16_of_f32(x);
#endif
}

VECTOR_INLINE float sum_of_16_f32(const float *a) {
#if HAS_SHUFFLE
    typedef float eight __attribute__((vector_size(32), aligned(4), may_alias));
    eight x = *(const eight *)a + *(const eight *)(a + 8);
    x += __builtin_shufflevector(x, x, 4, 5, 6, 7, 0, 1, 2, 3);
    x += __builtin_shufflevector(x, x, 2, 3, 0, 1, 6, 7, 4, 5);
    x += __builtin_shufflevector(x, x, 1, 0, 3, 2, 5, 4, 7, 6);
    return x[0];
#else
    float x[8];
    for (int i = 0; i < 8; i++) {
        x[i] = a[i] + a[i + 8];
    }
    return ((x[0] + x[4]) + (x[2] + x[6])) + ((x[1] + x[5]) + (x[3] + x[7]));
#endif
}

/* 64 lanes to one, in the same order as loops over halves: of those gcc takes the last 32 apart, one number after the other through
   memory, and the next phase waits for it. Softmax over rows of 128 takes 0.83 of the time so (Granite Rapids, gcc 12, 2026-11). */
VECTOR_INLINE float sum_of_64_f32(const float *a) {
#if HAS_SHUFFLE
    typedef float eight __attribute__((vector_size(32), aligned(4), may_alias));
    float sixteen[16];
    for (int l = 0; l < 16; l += 8) {
        const eight low = *(const eight *)(a + l) + *(const eight *)(a + l + 32);
        *(eight *)(sixteen + l) = low + (*(const eight *)(a + l + 16) + *(const eight *)(a + l + 48));
    }
    return sum_of_16_f32(sixteen);
#else
    float sixteen[16];
    for (int l = 0; l < 16; l++) {
        sixteen[l] = (a[l] + a[l + 32]) + (a[l + 16] + a[l + 48]);
    }
    return sum_of_16_f32(sixteen);
#endif
}

/* A number near the mean of 16, as a multiple of a power of two about as large as the distances between them. What is summed after it
   is taken off then ends in the same digits as before: were each to end in the same odd rest, a sum that leaves such digits behind would
   leave it behind each time (the mean of 301056 numbers in f16 was off by 7e-6 of their deviation). */
VECTOR_INLINE float near_mean_of_16_f32(const float *a) {
    float low = a[0], high = a[0];
    for (int i = 1; i < 16; i++) {
        low = a[i] < low ? a[i] : low;
        high = a[i] > high ? a[i] : high;
    }
    const float mean = sum_of_16_f32(a) * 0.0625f, grid = float_of_bits(bits_of_float(high - low) & 0x7f800000u);
    const float steps = mean / grid, most = 4194304.0f;
    return steps > -most && steps < most ? grid * (float)(int32_t)(steps + (steps < 0 ? -0.5f : 0.5f)) : mean;
}

/* The same of one of many columns, of which so many are not to be far off: a multiple of a part of that. */
VECTOR_INLINE float near_mean_f32(float mean, float low, float high) {
    const float grid = 0.03125f * float_of_bits(bits_of_float(high - low) & 0x7f800000u), steps = mean / grid, most = 4194304.0f;
    return ((steps > -most) & (steps < most)) ? grid * (float)(int32_t)(steps + (steps < 0 ? -0.5f : 0.5f)) : mean;
}

/* What that is made of takes in x. */
VECTOR_INLINE void take_near_f32(float *sum, float *low, float *high, float x) {
    *sum += x;
    *low = x < *low ? x : *low;
    *high = x > *high ? x : *high;
}

typedef float eight_f32 __attribute__((vector_size(32), aligned(4), may_alias));
typedef int32_t eight_i32 __attribute__((vector_size(32)));
/* x where it is above y, else y. The instruction for it is not found: a mask takes 7 cycles where it takes 1. */
VECTOR_INLINE void keep_larger_f32(eight_f32 *x, const eight_f32 *y) {
#if defined(__AVX__)
    __asm__("vmaxps %1, %0, %0" : "+x"(*x) : "x"(*y));
#else
    const eight_i32 keeps = *x > *y;
    *x = (eight_f32)(((eight_i32)*x & keeps) | ((eight_i32)*y & ~keeps));
#endif
}

/* Of numbers; a NaN has been looked for. */
VECTOR_INLINE float largest_of_16_f32(const float *a) {
#if HAS_SHUFFLE
    eight_f32 x = *(const eight_f32 *)a, y = *(const eight_f32 *)(a + 8);
    keep_larger_f32(&x, &y);
    y = __builtin_shufflevector(x, x, 4, 5, 6, 7, 0, 1, 2, 3);
    keep_larger_f32(&x, &y);
    y = __builtin_shufflevector(x, x, 2, 3, 0, 1, 6, 7, 4, 5);
    keep_larger_f32(&x, &y);
    y = __builtin_shufflevector(x, x, 1, 0, 3, 2, 5, 4, 7, 6);
    keep_larger_f32(&x, &y);
    return x[0];
#else
    float x = a[0];
    for (int i = 1; i < 16; i++) {
        x = x > a[i] ? x : a[i];
    }
    return x;
#endif
}

/* Of numbers; a NaN has been looked for. */
VECTOR_INLINE float largest_of_64_f32(const float *a) {
#if HAS_SHUFFLE
    float sixteen[16];
    for (int l = 0; l < 16; l += 8) {
        eight_f32 x = *(const eight_f32 *)(a + l);
        for (int part = 16; part < 64; part += 16) {
            const eight_f32 y = *(const eight_f32 *)(a + l + part);
            keep_larger_f32(&x, &y);
        }
        *(eight_f32 *)(sixteen + l) = x;
    }
    return largest_of_16_f32(sixteen);
#else
    float x = a[0];
    for (int i = 1; i < 64; i++) {
        x = x > a[i] ? x : a[i];
    }
    return x;
#endif
}

typedef int64_t eight_i64 __attribute__((vector_size(64), aligned(8), may_alias));
/* x where it is above y, else y. */
VECTOR_INLINE void keep_larger_i64(eight_i64 *x, const eight_i64 *y) {
#if defined(__AVX512F__)
    __asm__("vpmaxsq %1, %0, %0" : "+v"(*x) : "v"(*y));
#else
    const eight_i64 keeps = *x > *y;
    *x = (*x & keeps) | (*y & ~keeps);
#endif
}

VECTOR_INLINE int64_t largest_of_16_i64(const int64_t *a) {
#if HAS_SHUFFLE
    eight_i64 x = *(const eight_i64 *)a, y = *(const eight_i64 *)(a + 8);
    keep_larger_i64(&x, &y);
    y = __builtin_shufflevector(x, x, 4, 5, 6, 7, 0, 1, 2, 3);
    keep_larger_i64(&x, &y);
    y = __builtin_shufflevector(x, x, 2, 3, 0, 1, 6, 7, 4, 5);
    keep_larger_i64(&x, &y);
    y = __builtin_shufflevector(x, x, 1, 0, 3, 2, 5, 4, 7, 6);
    keep_larger_i64(&x, &y);
    return x[0];
#else
    int64_t x = a[0];
    for (int i = 1; i < 16; i++) {
        x = x > a[i] ? x : a[i];
    }
    return x;
#endif
}

/* Accumulators of a block of lanes in registers: of an array compilers store them each time. */
#define HELD_LANES 64
#if defined(__AVX512F__)
typedef struct held_f32 {
    wide_f32 a, b, c, d;
} held_f32;
VECTOR_INLINE void start_held_f32(held_f32 *to, float x) {
    to->a = to->b = to->c = to->d = wide_of(x);
}
#else
typedef struct held_f32 {
    float lanes[HELD_LANES];
} held_f32;
VECTOR_INLINE void start_held_f32(held_f32 *to, float x) {
    for (int l = 0; l < HELD_LANES; l++) {
        to->lanes[l] = x;
    }
}
#endif

/* Halves as whole numbers in their order, NaN above all, zeros of either sign alike; and in the opposite order, NaN above all as well. */
VECTOR_INLINE int16_t key_of_half(uint16_t x, int16_t infinity) {
    const int16_t size = (int16_t)(x & 0x7fff), sign = (int16_t)((int16_t)x >> 15), key = (int16_t)((size ^ sign) - sign);
    return size > infinity ? 0x7fff : key;
}

VECTOR_INLINE int16_t low_key_of_half(uint16_t x, int16_t infinity) {
    const int16_t size = (int16_t)(x & 0x7fff), sign = (int16_t)~((int16_t)x >> 15), key = (int16_t)((size ^ sign) - sign);
    return size > infinity ? 0x7fff : key;
}

VECTOR_INLINE uint16_t half_of_key(int key) {
    return (uint16_t)(key < 0 ? 0x8000 - key : key);
}

VECTOR_INLINE uint16_t half_of_low_key(int key) {
    return (uint16_t)(key == 0x7fff ? key : key > 0 ? 0x8000 + key : -key);
}

/* Half of them, or all. */
VECTOR_INLINE void held_from_f32(held_f32 *to, const float *from, int n) {
#if defined(__AVX512F__)
    const int c = n < HELD_LANES ? 0 : 32, d = n < HELD_LANES ? 16 : 48;
    to->a = *(const wide_f32_anywhere *)from;
    to->b = *(const wide_f32_anywhere *)(from + 16);
    to->c = *(const wide_f32_anywhere *)(from + c);
    to->d = *(const wide_f32_anywhere *)(from + d);
#else
    for (int l = 0; l < n; l++) {
        to->lanes[l] = from[l];
    }
#endif
}

VECTOR_INLINE void held_to_f32(float *to, const held_f32 *from, int n) {
#if defined(__AVX512F__)
    *(wide_f32_anywhere *)to = from->a;
    *(wide_f32_anywhere *)(to + 16) = from->b;
    if (n == HELD_LANES) {
        *(wide_f32_anywhere *)(to + 32) = from->c;
        *(wide_f32_anywhere *)(to + 48) = from->d;
    }
#else
    for (int l = 0; l < n; l++) {
        to[l] = from->lanes[l];
    }
#endif
}

/* What they have come to, added to others. */
VECTOR_INLINE void held_added_f32(float *to, const held_f32 *from, int n) {
    float x[HELD_LANES];
    held_to_f32(x, from, n);
    for (int l = 0; l < n; l++) {
        to[l] += x[l];
    }
}

VECTOR_INLINE void held_larger_f32(float *to, const held_f32 *from, int n) {
    float x[HELD_LANES];
    held_to_f32(x, from, n);
    for (int l = 0; l < n; l++) {
        to[l] = x[l] > to[l] ? x[l] : to[l];
    }
}

VECTOR_INLINE void add_held_f32(held_f32 *to, const float *x, int n) {
#if defined(__AVX512F__)
    to->a += *(const wide_f32_anywhere *)x;
    to->b += *(const wide_f32_anywhere *)(x + 16);
    if (n == HELD_LANES) {
        to->c += *(const wide_f32_anywhere *)(x + 32);
        to->d += *(const wide_f32_anywhere *)(x + 48);
    }
#else
    for (int l = 0; l < n; l++) {
        to->lanes[l] += x[l];
    }
#endif
}

/* What was held before where x is NaN. */
#if defined(__AVX512F__)
VECTOR_INLINE wide_f32 larger_wide(wide_f32 x, wide_f32 y) {
    wide_f32 z;
    __asm__("vmaxps %2, %1, %0" : "=v"(z) : "v"(x), "v"(y));
    return z;
}
#endif

VECTOR_INLINE void take_larger_held_f32(held_f32 *to, const float *x, int n) {
#if defined(__AVX512F__)
    to->a = larger_wide(*(const wide_f32_anywhere *)x, to->a);
    to->b = larger_wide(*(const wide_f32_anywhere *)(x + 16), to->b);
    if (n == HELD_LANES) {
        to->c = larger_wide(*(const wide_f32_anywhere *)(x + 32), to->c);
        to->d = larger_wide(*(const wide_f32_anywhere *)(x + 48), to->d);
    }
#else
    for (int l = 0; l < n; l++) {
        to->lanes[l] = x[l] > to->lanes[l] ? x[l] : to->lanes[l];
    }
#endif
}

/* In halves, as everywhere. */
VECTOR_INLINE float sum_of_held_f32(const held_f32 *x) {
    float sixteen[HELD_LANES / 4];
#if defined(__AVX512F__)
    *(wide_f32_anywhere *)sixteen = (x->a + x->c) + (x->b + x->d);
#else
    for (int l = 0; l < HELD_LANES / 4; l++) {
        sixteen[l] = (x->lanes[l] + x->lanes[l + 32]) + (x->lanes[l + 16] + x->lanes[l + 48]);
    }
#endif
    return sum_of_16_f32(sixteen);
}

/* There is no NaN among them. */
VECTOR_INLINE float largest_of_held_f32(const held_f32 *x) {
    float sixteen[HELD_LANES / 4];
#if defined(__AVX512F__)
    *(wide_f32_anywhere *)sixteen = larger_wide(larger_wide(x->a, x->c), larger_wide(x->b, x->d));
#else
    for (int l = 0; l < HELD_LANES / 4; l++) {
        const float a = x->lanes[l], b = x->lanes[l + 16], c = x->lanes[l + 32], d = x->lanes[l + 48];
        const float e = a > c ? a : c, f = b > d ? b : d;
        sixteen[l] = e > f ? e : f;
    }
#endif
    return largest_of_16_f32(sixteen);
}

/* Floats from where n places say. Compilers load them one by one unless they are told. */
VECTOR_INLINE void gather_f32(float *to, const float *from, const int32_t *at, int64_t n) {
    int64_t l = 0;
#if defined(__AVX512F__)
    typedef float floats __attribute__((vector_size(64), aligned(4), may_alias));
    typedef int32_t places __attribute__((vector_size(64), aligned(4), may_alias));
    for (; l + 16 <= n; l += 16) {
        floats some = {0};
        uint16_t all = 0xffff;
        __asm__("vgatherdps (%2,%3,4), %0%{%1%}"
                : "+&v"(some), "+&Yk"(all)
                : "r"(from), "v"(*(const places *)(at + l)), "m"(*(const float(*)[1 << 28])from));
        *(floats *)(to + l) = some;
    }
#endif
    for (; l < n; l++) {
        to[l] = from[at[l]];
    }
}
