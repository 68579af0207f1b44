/* SPDX-License-Identifier: Apache-2.0 */
/* Conversions between element types, built once for each instruction set. */
#include "engine/kernels/cpu/isa/convert_loops.h"

#include "engine/kernels/cpu/isa/half.h"
#include "engine/kernels/cpu/isa/stream.h"

#include <stdbool.h>
#include <string.h>

#if defined(__F16C__)
#include <immintrin.h>
#endif

/* The three types that the others pass through, each with loops from and to every number type. */
#define MIDDLE         float
#define MIDDLE_IS_REAL 1
#define NAMED(name)    name##_f32
#include "engine/kernels/cpu/isa/convert_middle.h"
#undef NAMED
#undef MIDDLE
#define MIDDLE      double
#define NAMED(name) name##_f64
#include "engine/kernels/cpu/isa/convert_middle.h"
#undef NAMED
#undef MIDDLE_IS_REAL
#undef MIDDLE
#define MIDDLE         int64_t
#define MIDDLE_IS_REAL 0
#define NAMED(name)    name##_i64
#include "engine/kernels/cpu/isa/convert_middle.h"
#undef NAMED
#undef MIDDLE_IS_REAL
#undef MIDDLE

/* --- half types: by way of f32
 * --------------------------------------------------------------------------------------------- */

static void f32_of_bf16(void *dst, const void *src, int64_t n) {
    uint32_t *to = dst;
    const uint16_t *from = src;
    for (int64_t i = 0; i < n; i++) {
        to[i] = (uint32_t)from[i] << 16;
    }
}

/* To nearest, ties to even; a NaN stays one. */
static void bf16_of_f32(void *dst, const void *src, int64_t n) {
    uint16_t *to = dst;
    const uint32_t *from = src;
    for (int64_t i = 0; i < n; i++) {
        uint32_t bits = from[i], rounded = bits + 0x7fff + (bits >> 16 & 1);
        to[i] = (uint16_t)(((bits & 0x7fffffff) > 0x7f800000 ? bits | 0x400000 : rounded) >> 16);
    }
}

static void f32_of_f16(void *dst, const void *src, int64_t n) {
    floats_of_f16(dst, src, n);
}

static void f16_of_f32(void *dst, const void *src, int64_t n) {
    f16_of_floats(dst, src, n);
}

enum { BLOCK = 512 }; /* of the middle type, in L1 */

/* The half types and f64 or i64. From f64 they round twice, by way of f32, as ATen's casts do. */
static inline void two_steps(void *dst, size_t dst_size, convert_fn *second, const void *src, size_t src_size,
                             convert_fn *first, int64_t n) {
    float middle[BLOCK];
    for (int64_t i = 0; i < n; i += BLOCK) {
        int64_t some = n - i < BLOCK ? n - i : BLOCK;
        first(middle, (const char *)src + (size_t)i * src_size, some);
        second((char *)dst + (size_t)i * dst_size, middle, some);
    }
}

enum { LINE = STREAM_LINE / sizeof(double), HALVES_LINE = STREAM_LINE / sizeof(uint16_t) };

/* LINE halves, widened twice in registers. */
static inline __attribute__((always_inline)) void line_of_halves(double *to, const uint16_t *from, bool is_f16) {
#if defined(__AVX512F__)
    __m128i x = _mm_loadu_si128((const __m128i *)(const void *)from);
    __m256 widened = is_f16 ? _mm256_cvtph_ps(x) : _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(x), 16));
    _mm512_storeu_pd(to, _mm512_cvtps_pd(widened));
#else
    float widened[LINE];
    (is_f16 ? f32_of_f16 : f32_of_bf16)(widened, from, LINE);
    for (int k = 0; k < LINE; k++) {
        to[k] = (double)widened[k];
    }
#endif
}

/* past: the caches, from the first line of memory on. What a line of halves becomes is made before any of it is stored: loads wait for
   stores there. (64 MiB of f16 on two cores of a Zen 4: 5.3 ms; by way of a buffer in L1 10.6.) */
static inline __attribute__((always_inline)) void f64_of_halves(double *to, const uint16_t *from, int64_t n, bool is_f16, bool past) {
    int64_t head = past ? (int64_t)((-(uintptr_t)to & (STREAM_LINE - 1)) / sizeof *to) : 0, i = 0;
    for (; i < head && i < n; i++) {
        to[i] = is_f16 ? (double)f16_to_float(from[i]) : (double)bf16_to_float(from[i]);
    }
    for (; i + HALVES_LINE <= n; i += HALVES_LINE) {
        _Alignas(STREAM_LINE) double made[HALVES_LINE];
        for (int k = 0; k < HALVES_LINE; k += LINE) {
            line_of_halves(past ? made + k : to + i + k, from + i + k, is_f16);
        }
        for (int k = 0; past && k < HALVES_LINE; k += LINE) {
            stream_line(to + i + k, made + k);
        }
    }
    for (; i < n; i++) {
        to[i] = is_f16 ? (double)f16_to_float(from[i]) : (double)bf16_to_float(from[i]);
    }
}

static void f64_of_bf16(void *dst, const void *src, int64_t n) {
    f64_of_halves(dst, src, n, false, false);
}

static void f64_of_f16(void *dst, const void *src, int64_t n) {
    f64_of_halves(dst, src, n, true, false);
}

static void stream_f64_of_bf16(void *dst, const void *src, int64_t n) {
    f64_of_halves(dst, src, n, false, true);
}

static void stream_f64_of_f16(void *dst, const void *src, int64_t n) {
    f64_of_halves(dst, src, n, true, true);
}

static void i64_of_bf16(void *dst, const void *src, int64_t n) {
    two_steps(dst, 8, i64_out_of_f32, src, 2, f32_of_bf16, n);
}

static void i64_of_f16(void *dst, const void *src, int64_t n) {
    two_steps(dst, 8, i64_out_of_f32, src, 2, f32_of_f16, n);
}

static void bf16_of_f64(void *dst, const void *src, int64_t n) {
    two_steps(dst, 2, bf16_of_f32, src, 8, f64_into_f32, n);
}

static void f16_of_f64(void *dst, const void *src, int64_t n) {
    two_steps(dst, 2, f16_of_f32, src, 8, f64_into_f32, n);
}

static void bf16_of_i64(void *dst, const void *src, int64_t n) {
    two_steps(dst, 2, bf16_of_f32, src, 8, i64_into_f32, n);
}

static void f16_of_i64(void *dst, const void *src, int64_t n) {
    two_steps(dst, 2, f16_of_f32, src, 8, i64_into_f32, n);
}

/* --- truths: by the bits, as wide as they are
 * ------------------------------------------------------------------------------------------ */

/* kept: the bits that say something of a number; a half's sign does not. */
#define TRUTHS(name, type, kept)                                                                                                 \
    static void name(void *dst, const void *src, int64_t n) {                                                                    \
        uint8_t *to = dst;                                                                                                       \
        const type *from = src;                                                                                                  \
        for (int64_t i = 0; i < n; i++) {                                                                                        \
            to[i] = (from[i] & (kept)) != 0;                                                                                     \
        }                                                                                                                        \
    }

TRUTHS(truths_of_8, uint8_t, UINT8_MAX)
TRUTHS(truths_of_16, uint16_t, UINT16_MAX)
TRUTHS(truths_of_32, uint32_t, UINT32_MAX)
TRUTHS(truths_of_halves, uint16_t, 0x7fff)

const convert_loops ISA_SYMBOL(convert_loops) = {
    .to_b8 = {[ASSAY_F16] = truths_of_halves,
              [ASSAY_BF16] = truths_of_halves,
              [ASSAY_I8] = truths_of_8,
              [ASSAY_U8] = truths_of_8,
              [ASSAY_I16] = truths_of_16,
              [ASSAY_I32] = truths_of_32},
    .to_f32 = {[ASSAY_F16] = f32_of_f16,
               [ASSAY_BF16] = f32_of_bf16,
               [ASSAY_F32] = f32_into_f32,
               [ASSAY_F64] = f64_into_f32,
               [ASSAY_I8] = i8_into_f32,
               [ASSAY_I16] = i16_into_f32,
               [ASSAY_I32] = i32_into_f32,
               [ASSAY_I64] = i64_into_f32,
               [ASSAY_U8] = u8_into_f32,
               [ASSAY_B8] = b8_into_f32},
    .from_f32 = {[ASSAY_F16] = f16_of_f32,
                 [ASSAY_BF16] = bf16_of_f32,
                 [ASSAY_F32] = f32_out_of_f32,
                 [ASSAY_F64] = f64_out_of_f32,
                 [ASSAY_I8] = i8_out_of_f32,
                 [ASSAY_I16] = i16_out_of_f32,
                 [ASSAY_I32] = i32_out_of_f32,
                 [ASSAY_I64] = i64_out_of_f32,
                 [ASSAY_U8] = u8_out_of_f32,
                 [ASSAY_B8] = b8_out_of_f32},
    .to_f64 = {[ASSAY_F16] = f64_of_f16,
               [ASSAY_BF16] = f64_of_bf16,
               [ASSAY_F32] = f32_into_f64,
               [ASSAY_F64] = f64_into_f64,
               [ASSAY_I8] = i8_into_f64,
               [ASSAY_I16] = i16_into_f64,
               [ASSAY_I32] = i32_into_f64,
               [ASSAY_I64] = i64_into_f64,
               [ASSAY_U8] = u8_into_f64,
               [ASSAY_B8] = b8_into_f64},
    .stream_f64 = {[ASSAY_F16] = stream_f64_of_f16, [ASSAY_BF16] = stream_f64_of_bf16},
    .from_f64 = {[ASSAY_F16] = f16_of_f64,
                 [ASSAY_BF16] = bf16_of_f64,
                 [ASSAY_F32] = f32_out_of_f64,
                 [ASSAY_F64] = f64_out_of_f64,
                 [ASSAY_I8] = i8_out_of_f64,
                 [ASSAY_I16] = i16_out_of_f64,
                 [ASSAY_I32] = i32_out_of_f64,
                 [ASSAY_I64] = i64_out_of_f64,
                 [ASSAY_U8] = u8_out_of_f64,
                 [ASSAY_B8] = b8_out_of_f64},
    .to_i64 = {[ASSAY_F16] = i64_of_f16,
               [ASSAY_BF16] = i64_of_bf16,
               [ASSAY_F32] = f32_into_i64,
               [ASSAY_F64] = f64_into_i64,
               [ASSAY_I8] = i8_into_i64,
               [ASSAY_I16] = i16_into_i64,
               [ASSAY_I32] = i32_into_i64,
               [ASSAY_I64] = i64_into_i64,
               [ASSAY_U8] = u8_into_i64,
               [ASSAY_B8] = b8_into_i64},
    .from_i64 = {[ASSAY_F16] = f16_of_i64,
                 [ASSAY_BF16] = bf16_of_i64,
                 [ASSAY_F32] = f32_out_of_i64,
                 [ASSAY_F64] = f64_out_of_i64,
                 [ASSAY_I8] = i8_out_of_i64,
                 [ASSAY_I16] = i16_out_of_i64,
                 [ASSAY_I32] = i32_out_of_i64,
                 [ASSAY_I64] = i64_out_of_i64,
                 [ASSAY_U8] = u8_out_of_i64,
                 [ASSAY_B8] = b8_out_of_i64},
};
