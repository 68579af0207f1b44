/* SPDX-License-Identifier: Apache-2.0 */
/* Square tiles turned round in registers. dst and src are first elements, ds and ss bytes from row to row; past: the caches, where
   a tile's rows are whole lines of memory. */
#ifndef ENGINE_KERNELS_CPU_ISA_COPY_TILES_H
#define ENGINE_KERNELS_CPU_ISA_COPY_TILES_H

#include "engine/kernels/cpu/isa/stream.h"

#include <stdbool.h>
#include <stddef.h>

typedef void tile_fn(char *dst, const char *src, ptrdiff_t ds, ptrdiff_t ss, bool past);

/* A square tile is turned round by interleaving rows i and i + N/2, log2 N times. Registers: 64 bytes wide for 4 and 8
   byte elements under AVX-512, where one instruction interleaves across lanes; else 16 bytes, whose unpacks every x86
   and Arm CPU has. */
typedef uint8_t u8x16 __attribute__((vector_size(16)));
#if defined(__AVX512VL__) && defined(__AVX512BW__)
enum { TILE_16 = 16, TILE_32 = 16, TILE_64 = 8 };
typedef uint16_t u16xn __attribute__((vector_size(32)));
typedef uint32_t u32xn __attribute__((vector_size(64)));
typedef uint64_t u64xn __attribute__((vector_size(64)));
#define LOW_16(a, b)  __builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23)
#define HIGH_16(a, b) __builtin_shufflevector(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31)
#define LOW_32(a, b)  LOW_16(a, b)
#define HIGH_32(a, b) HIGH_16(a, b)
#define LOW_64(a, b)  __builtin_shufflevector(a, b, 0, 8, 1, 9, 2, 10, 3, 11)
#define HIGH_64(a, b) __builtin_shufflevector(a, b, 4, 12, 5, 13, 6, 14, 7, 15)
#else
enum { TILE_16 = 8, TILE_32 = 4, TILE_64 = 2 };
typedef uint16_t u16xn __attribute__((vector_size(16)));
typedef uint32_t u32xn __attribute__((vector_size(16)));
typedef uint64_t u64xn __attribute__((vector_size(16)));
#define LOW_16(a, b)  __builtin_shufflevector(a, b, 0, 8, 1, 9, 2, 10, 3, 11)
#define HIGH_16(a, b) __builtin_shufflevector(a, b, 4, 12, 5, 13, 6, 14, 7, 15)
#define LOW_32(a, b)  __builtin_shufflevector(a, b, 0, 4, 1, 5)
#define HIGH_32(a, b) __builtin_shufflevector(a, b, 2, 6, 3, 7)
#define LOW_64(a, b)  __builtin_shufflevector(a, b, 0, 2)
#define HIGH_64(a, b) __builtin_shufflevector(a, b, 1, 3)
#endif
#define LOW_8(a, b)  __builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23)
#define HIGH_8(a, b) __builtin_shufflevector(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31)

/* Fixed trip counts: the compiler unrolls these and keeps both arrays in registers. */
#define TILE(bits, vector, edge)                                                                                                        \
    static inline __attribute__((always_inline)) void interleave_##bits(vector a[edge]) {                                               \
        vector b[edge];                                                                                                                 \
        for (int width = 1; width < edge; width *= 2) {                                                                                 \
            for (int i = 0; i < edge / 2; i++) {                                                                                        \
                b[2 * i] = LOW_##bits(a[i], a[i + edge / 2]);                                                                           \
                b[2 * i + 1] = HIGH_##bits(a[i], a[i + edge / 2]);                                                                      \
            }                                                                                                                           \
            memcpy(a, b, sizeof b);                                                                                                     \
        }                                                                                                                               \
    }                                                                                                                                   \
    static inline void tile_##bits(char *dst, const char *src, ptrdiff_t ds, ptrdiff_t ss, bool past) {                                 \
        vector a[edge];                                                                                                                 \
        for (int i = 0; i < edge; i++) {                                                                                                \
            memcpy(&a[i], src + i * ss, sizeof a[i]);                                                                                   \
        }                                                                                                                               \
        interleave_##bits(a);                                                                                                           \
        for (int i = 0; i < edge; i++) {                                                                                                \
            past ? stream_lines(dst + i * ds, &a[i], sizeof a[i]) : (void)memcpy(dst + i * ds, &a[i], sizeof a[i]);                     \
        }                                                                                                                               \
    }
TILE(8, u8x16, 16)
TILE(16, u16xn, TILE_16)
TILE(32, u32xn, TILE_32)
TILE(64, u64xn, TILE_64)

#if defined(__AVX512VL__) && defined(__AVX512BW__)
/* Eight rows, as products of matrices have them. */
typedef uint32_t u32xh __attribute__((vector_size(32)));

static inline void tile_32_half(char *dst, const char *src, ptrdiff_t ds, ptrdiff_t ss, bool past) {
    (void)past;
    u32xh a[8], b[8];
    for (int i = 0; i < 8; i++) {
        memcpy(&a[i], src + i * ss, sizeof a[i]);
    }
    for (int width = 1; width < 8; width *= 2) {
        for (int i = 0; i < 4; i++) {
            b[2 * i] = LOW_64(a[i], a[i + 4]);
            b[2 * i + 1] = HIGH_64(a[i], a[i + 4]);
        }
        memcpy(a, b, sizeof a);
    }
    for (int i = 0; i < 8; i++) {
        memcpy(dst + i * ds, &a[i], sizeof a[i]);
    }
}
#define TILE_32_HALF tile_32_half
#else
#define TILE_32_HALF NULL
#endif

#if defined(__AVX512BW__)
/* Sixteen-bit elements by whole lines. In each quarter of a register eight rows are interleaved within themselves, after which
   register k holds their columns k, 8 + k, 16 + k and 24 + k; four such groups of rows then exchange quarters. */
enum { LINE_16 = 32 };
typedef uint16_t u16xl __attribute__((vector_size(STREAM_LINE)));
typedef uint32_t u32xl __attribute__((vector_size(STREAM_LINE)));
typedef uint64_t u64xl __attribute__((vector_size(STREAM_LINE)));

static inline void eight_rows(u64xl made[8], const char *src, ptrdiff_t ss) {
    u16xl a[8];
    u32xl b[8];
    u64xl c[8];
    for (int i = 0; i < 8; i++) {
        memcpy(&a[i], src + i * ss, sizeof a[i]);
    }
    for (int i = 0; i < 4; i++) { /* rows 2 i and 2 i + 1 */
        b[i] = (u32xl)_mm512_unpacklo_epi16((__m512i)a[2 * i], (__m512i)a[2 * i + 1]);     /* columns 0 to 3 of a quarter */
        b[i + 4] = (u32xl)_mm512_unpackhi_epi16((__m512i)a[2 * i], (__m512i)a[2 * i + 1]); /* 4 to 7 */
    }
    for (int i = 0; i < 4; i++) { /* rows 4 (i % 2) and three more, columns 4 (i / 2) and on */
        c[2 * i] = (u64xl)_mm512_unpacklo_epi32((__m512i)b[2 * i], (__m512i)b[2 * i + 1]);
        c[2 * i + 1] = (u64xl)_mm512_unpackhi_epi32((__m512i)b[2 * i], (__m512i)b[2 * i + 1]);
    }
    for (int i = 0; i < 4; i++) { /* columns 2 i and 2 i + 1 */
        int from = i / 2 * 4 + i % 2;
        made[2 * i] = (u64xl)_mm512_unpacklo_epi64((__m512i)c[from], (__m512i)c[from + 2]);
        made[2 * i + 1] = (u64xl)_mm512_unpackhi_epi64((__m512i)c[from], (__m512i)c[from + 2]);
    }
}

static inline void tile_lines_16(char *dst, const char *src, ptrdiff_t ds, ptrdiff_t ss, bool past) {
    u64xl group[4][8];
    for (int g = 0; g < 4; g++) {
        eight_rows(group[g], src + 8 * g * ss, ss);
    }
    for (int k = 0; k < 8; k++) {
        __m512i a = (__m512i)group[0][k], b = (__m512i)group[1][k], c = (__m512i)group[2][k], d = (__m512i)group[3][k];
        __m512i low_ab = _mm512_shuffle_i32x4(a, b, 0x88), high_ab = _mm512_shuffle_i32x4(a, b, 0xdd);
        __m512i low_cd = _mm512_shuffle_i32x4(c, d, 0x88), high_cd = _mm512_shuffle_i32x4(c, d, 0xdd);
        __m512i row[4] = {_mm512_shuffle_i32x4(low_ab, low_cd, 0x88), _mm512_shuffle_i32x4(high_ab, high_cd, 0x88),
                          _mm512_shuffle_i32x4(low_ab, low_cd, 0xdd), _mm512_shuffle_i32x4(high_ab, high_cd, 0xdd)};
        for (int q = 0; q < 4; q++) {
            char *to = dst + (8 * q + k) * ds;
            past ? stream_line(to, &row[q]) : (void)memcpy(to, &row[q], sizeof row[q]);
        }
    }
}
#else
enum { LINE_16 = 0 };
#endif

#if defined(__AVX512VL__) && defined(__AVX512BW__)
/* Tiles that are not full: of so many rows and columns of src. */
enum { HAS_PART_TILES = 1 };

/* Quarters of four registers, turned round as the squares that they are. */
static inline void turn_quarters(__m512i a[4]) {
    __m512i even_low = _mm512_shuffle_i32x4(a[0], a[1], 0x88), odd_low = _mm512_shuffle_i32x4(a[0], a[1], 0xdd);
    __m512i even_high = _mm512_shuffle_i32x4(a[2], a[3], 0x88), odd_high = _mm512_shuffle_i32x4(a[2], a[3], 0xdd);
    a[0] = _mm512_shuffle_i32x4(even_low, even_high, 0x88);
    a[1] = _mm512_shuffle_i32x4(odd_low, odd_high, 0x88);
    a[2] = _mm512_shuffle_i32x4(even_low, even_high, 0xdd);
    a[3] = _mm512_shuffle_i32x4(odd_low, odd_high, 0xdd);
}

/* The words of each quarter. */
static inline void turn_words(__m512i a[4]) {
    __m512i low = _mm512_unpacklo_epi32(a[0], a[1]), high = _mm512_unpackhi_epi32(a[0], a[1]);
    __m512i low_after = _mm512_unpacklo_epi32(a[2], a[3]), high_after = _mm512_unpackhi_epi32(a[2], a[3]);
    a[0] = _mm512_unpacklo_epi64(low, low_after);
    a[1] = _mm512_unpackhi_epi64(low, low_after);
    a[2] = _mm512_unpacklo_epi64(high, high_after);
    a[3] = _mm512_unpackhi_epi64(high, high_after);
}

/* Sixteen columns of four rows that lie ss apart, one behind the other, and back. */
static inline void join_four(char *dst, const char *src, ptrdiff_t ss) {
    __m512i a[4];
    for (int i = 0; i < 4; i++) {
        a[i] = _mm512_loadu_si512(src + i * ss);
    }
    turn_words(a);
    turn_quarters(a);
    memcpy(dst, a, sizeof a);
}

static inline void part_four(char *dst, const char *src, ptrdiff_t ds) {
    __m512i a[4];
    memcpy(a, src, sizeof a);
    turn_quarters(a);
    turn_words(a);
    for (int i = 0; i < 4; i++) {
        _mm512_storeu_si512(dst + i * ds, a[i]);
    }
}
#define PART_TILE(name, vector, edge, interleave, mask, load, store)                                                                    \
    static inline void name(char *dst, const char *src, ptrdiff_t ds, ptrdiff_t ss, int rows, int columns) {                            \
        vector a[edge];                                                                                                                 \
        const mask across = (mask)((1U << columns) - 1), down = (mask)((1U << rows) - 1);                                               \
        for (int i = 0; i < edge; i++) {                                                                                                \
            a[i] = (vector)load(i < rows ? across : 0, src + (i < rows ? i : 0) * ss);                                                  \
        }                                                                                                                               \
        interleave(a);                                                                                                                  \
        for (int i = 0; i < edge; i++) {                                                                                                \
            if (i < columns) {                                                                                                          \
                store(dst + i * ds, down, a[i]);                                                                                        \
            }                                                                                                                           \
        }                                                                                                                               \
    }
#define STORE_PART_8(to, mask, x)  _mm_mask_storeu_epi8(to, mask, (__m128i)(x))
#define STORE_PART_16(to, mask, x) _mm256_mask_storeu_epi16(to, mask, (__m256i)(x))
#define STORE_PART_32(to, mask, x) _mm512_mask_storeu_epi32(to, mask, (__m512i)(x))
#define STORE_PART_64(to, mask, x) _mm512_mask_storeu_epi64(to, mask, (__m512i)(x))
PART_TILE(part_tile_8, u8x16, 16, interleave_8, __mmask16, _mm_maskz_loadu_epi8, STORE_PART_8)
PART_TILE(part_tile_16, u16xn, TILE_16, interleave_16, __mmask16, _mm256_maskz_loadu_epi16, STORE_PART_16)
PART_TILE(part_tile_32, u32xn, TILE_32, interleave_32, __mmask16, _mm512_maskz_loadu_epi32, STORE_PART_32)
PART_TILE(part_tile_64, u64xn, TILE_64, interleave_64, __mmask8, _mm512_maskz_loadu_epi64, STORE_PART_64)
#else
enum { HAS_PART_TILES = 0 };
#define part_tile_8  NULL
#define part_tile_16 NULL
#define part_tile_32 NULL
#define part_tile_64 NULL
#endif

#endif
