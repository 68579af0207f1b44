/* SPDX-License-Identifier: Apache-2.0 */
/* Rows added to rows of accumulators, built once for each instruction set. */
#include "engine/kernels/cpu/isa/add_loops.h"

#include <stdbool.h>
#include <string.h>

/* Short rows by parts of a register, where memory can be read and written so: answers how many elements are done. */
#if defined(__AVX512F__)
#include <immintrin.h>

static inline int64_t add_parts_f32(float *acc, const float *x, int64_t n) {
    int64_t i = 0;
    for (; i < n; i += 16) {
        __mmask16 part = n - i >= 16 ? 0xffff : (__mmask16)((1u << (n - i)) - 1);
        __m512 sum = _mm512_add_ps(_mm512_maskz_loadu_ps(part, acc + i), _mm512_maskz_loadu_ps(part, x + i));
        _mm512_mask_storeu_ps(acc + i, part, sum);
    }
    return n;
}

/* Every second accumulator. */
static inline int64_t add_second_f32(float *acc, const float *x, int64_t n) {
    const __m512i twice = _mm512_setr_epi32(0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7);
    for (int64_t i = 0; i < n; i += 8) {
        __mmask16 part = n - i >= 8 ? 0xff : (__mmask16)((1u << (n - i)) - 1);
        __mmask16 to = n - i >= 8 ? 0x5555 : (__mmask16)(0x5555 & ((1u << (2 * (n - i))) - 1));
        __m512 spread = _mm512_permutexvar_ps(twice, _mm512_maskz_loadu_ps(part, x + i));
        _mm512_mask_storeu_ps(acc + 2 * i, to, _mm512_add_ps(_mm512_maskz_loadu_ps(to, acc + 2 * i), spread));
    }
    return n;
}

static inline __mmask16 lanes_below(int64_t n) {
    return n >= 16 ? 0xffff : n <= 0 ? 0 : (__mmask16)((1u << n) - 1);
}

/* Parts whose lanes are told before the rows are gone through. */
enum { PARTS = 32 };

/* 16 columns from x on. Each result is summed up in a register: added to memory part by part, an addition would wait for the store
   before it. */
static void sum_columns_f32(float *to, int64_t to_pitch, int64_t rows, int64_t n, int64_t x, const float *base, int64_t pitch,
                            const shifted_rows *parts, int64_t n_parts, bool adds) {
    __mmask16 lanes[PARTS], all = lanes_below(n - x);
    for (int64_t p = 0; p < n_parts; p++) {
        lanes[p] = lanes_below(parts[p].to[1] - x) & (__mmask16)~lanes_below(parts[p].from[1] - x);
    }
    for (int64_t y = 0; y < rows; y++) {
        __m512 sum = adds ? _mm512_maskz_loadu_ps(all, to + y * to_pitch + x) : _mm512_setzero_ps();
        uintptr_t row = (uintptr_t)base + (uintptr_t)((y * pitch + x) * (int64_t)sizeof(float));
        for (int64_t p = 0; p < n_parts; p++) {
            if (y >= parts[p].from[0] && y < parts[p].to[0]) {
                const void *from = (const void *)(row + (uintptr_t)(parts[p].at * (int64_t)sizeof(float)));
                sum = _mm512_add_ps(sum, _mm512_maskz_loadu_ps(lanes[p], from));
            }
        }
        _mm512_mask_storeu_ps(to + y * to_pitch + x, all, sum);
    }
}

static inline bool sum_parts_f32(float *to, int64_t to_pitch, int64_t rows, int64_t n, const float *base, int64_t pitch,
                                 const shifted_rows *parts, int64_t n_parts) {
    for (int64_t x = 0; x < n; x += 16) {
        for (int64_t p = 0; p == 0 || p < n_parts; p += PARTS) {
            sum_columns_f32(to, to_pitch, rows, n, x, base, pitch, parts + p, n_parts - p < PARTS ? n_parts - p : PARTS, p > 0);
        }
    }
    return true;
}

/* Two rows in turns, element by element. */
static inline void interleave_two_f32(float *to, int64_t n, const float *a, const float *b) {
    const __m512i turns = _mm512_setr_epi32(0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
    for (int64_t i = 0; i < n; i += 16) {
        __mmask16 own = lanes_below((n - i + 1) / 2 < 8 ? (n - i + 1) / 2 : 8);
        __m512 even = _mm512_maskz_loadu_ps(own, a + i / 2), odd = _mm512_maskz_loadu_ps(own, b + i / 2);
        _mm512_mask_storeu_ps(to + i, lanes_below(n - i), _mm512_permutex2var_ps(even, turns, odd));
    }
}
#else
static inline bool sum_parts_f32(float *to, int64_t to_pitch, int64_t rows, int64_t n, const float *base, int64_t pitch,
                                 const shifted_rows *parts, int64_t n_parts) {
    (void)to, (void)to_pitch, (void)rows, (void)n, (void)base, (void)pitch, (void)parts, (void)n_parts;
    return false;
}

static inline void interleave_two_f32(float *restrict to, int64_t n, const float *restrict a, const float *restrict b) {
    for (int64_t i = 0; i < n / 2; i++) {
        to[2 * i] = a[i];
        to[2 * i + 1] = b[i];
    }
    if (n % 2 != 0) {
        to[n - 1] = a[n / 2];
    }
}

static inline int64_t add_parts_f32(float *acc, const float *x, int64_t n) {
    (void)acc, (void)x, (void)n;
    return 0;
}

static inline int64_t add_second_f32(float *acc, const float *x, int64_t n) {
    (void)acc, (void)x, (void)n;
    return 0;
}
#endif

static void add_f32(float *restrict acc, int64_t step, const float *restrict x, int64_t n) {
    if (step == 1) {
        for (int64_t i = add_parts_f32(acc, x, n); i < n; i++) {
            acc[i] += x[i];
        }
        return;
    }
    for (int64_t i = step == 2 ? add_second_f32(acc, x, n) : 0; i < n; i++) {
        acc[i * step] += x[i];
    }
}

static void add_f64(double *restrict acc, int64_t step, const double *restrict x, int64_t n) {
    if (step == 1) {
        for (int64_t i = 0; i < n; i++) {
            acc[i] += x[i];
        }
        return;
    }
    for (int64_t i = 0; i < n; i++) {
        acc[i * step] += x[i];
    }
}

static int64_t clipped(int64_t i, int64_t n) {
    return i < 0 ? 0 : i < n ? i : n;
}

static void sum_f32(float *restrict to, int64_t to_pitch, int64_t rows, int64_t n, const float *restrict base, int64_t pitch,
                    const shifted_rows *parts, int64_t n_parts) {
    if (sum_parts_f32(to, to_pitch, rows, n, base, pitch, parts, n_parts)) {
        return;
    }
    for (int64_t y = 0; y < rows; y++) {
        float *row = to + y * to_pitch;
        memset(row, 0, (size_t)n * sizeof *row);
        for (const shifted_rows *p = parts; p < parts + n_parts; p++) {
            int64_t end = y >= p->from[0] && y < p->to[0] ? clipped(p->to[1], n) : 0;
            for (int64_t x = clipped(p->from[1], n); x < end; x++) {
                row[x] += base[p->at + y * pitch + x];
            }
        }
    }
}

static void sum_f64(double *restrict to, int64_t to_pitch, int64_t rows, int64_t n, const double *restrict base, int64_t pitch,
                    const shifted_rows *parts, int64_t n_parts) {
    for (int64_t y = 0; y < rows; y++) {
        double *row = to + y * to_pitch;
        memset(row, 0, (size_t)n * sizeof *row);
        for (const shifted_rows *p = parts; p < parts + n_parts; p++) {
            int64_t end = y >= p->from[0] && y < p->to[0] ? clipped(p->to[1], n) : 0;
            for (int64_t x = clipped(p->from[1], n); x < end; x++) {
                row[x] += base[p->at + y * pitch + x];
            }
        }
    }
}

static void interleave_f32(float *restrict to, int64_t to_pitch, int64_t rows, int64_t n, const float *restrict from, int64_t from_pitch,
                           int64_t phase_room, int64_t phases, int64_t unit) {
    for (int64_t y = 0; unit == 1 && phases == 2 && y < rows; y++) {
        interleave_two_f32(to + y * to_pitch, n, from + y * from_pitch, from + y * from_pitch + phase_room);
    }
    if (unit == 1 && phases == 2) {
        return;
    }
    for (int64_t y = 0; y < rows; y++, to += to_pitch, from += from_pitch) {
        for (int64_t p = 0; p < phases; p++) {
            for (int64_t i = 0; (i * phases + p) * unit < n; i++) {
                for (int64_t u = 0; u < unit; u++) {
                    to[(i * phases + p) * unit + u] = from[p * phase_room + i * unit + u];
                }
            }
        }
    }
}

static void interleave_f64(double *restrict to, int64_t to_pitch, int64_t rows, int64_t n, const double *restrict from, int64_t from_pitch,
                           int64_t phase_room, int64_t phases, int64_t unit) {
    for (int64_t y = 0; y < rows; y++, to += to_pitch, from += from_pitch) {
        for (int64_t p = 0; p < phases; p++) {
            for (int64_t i = 0; (i * phases + p) * unit < n; i++) {
                for (int64_t u = 0; u < unit; u++) {
                    to[(i * phases + p) * unit + u] = from[p * phase_room + i * unit + u];
                }
            }
        }
    }
}

const add_loops ISA_SYMBOL(add_loops) = {.f32 = add_f32, .f64 = add_f64, .f32_sum = sum_f32, .f64_sum = sum_f64,
                                         .f32_interleave = interleave_f32, .f64_interleave = interleave_f64};
