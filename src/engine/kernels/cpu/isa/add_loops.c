/* SPDX-License-Identifier: Apache-2.0 */
/* Rows added to rows of accumulators, built once for each instruction set. */
#include "engine/kernels/cpu/isa/add_loops.h"

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
#else
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

static void add_f32_rows(float *acc, int64_t acc_row, int64_t step, const float *x, int64_t x_row, int64_t n,
                         int64_t rows) {
    for (int64_t r = 0; r < rows; r++) {
        add_f32(acc + r * acc_row, step, x + r * x_row, n);
    }
}

static void add_f64_rows(double *acc, int64_t acc_row, int64_t step, const double *x, int64_t x_row, int64_t n,
                         int64_t rows) {
    for (int64_t r = 0; r < rows; r++) {
        add_f64(acc + r * acc_row, step, x + r * x_row, n);
    }
}

const add_loops ISA_SYMBOL(add_loops) = {
    .f32 = add_f32, .f64 = add_f64, .f32_rows = add_f32_rows, .f64_rows = add_f64_rows};
