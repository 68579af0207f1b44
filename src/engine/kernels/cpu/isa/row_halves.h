/* SPDX-License-Identifier: Apache-2.0 */
/* Loops over rows of f16 or bf16 that lie together, which widen them in registers: row_loops would store and load each element once
   more. Sums as there, in float by blocks. */
#ifndef ENGINE_KERNELS_CPU_ISA_ROW_HALVES_H
#define ENGINE_KERNELS_CPU_ISA_ROW_HALVES_H

#include "engine/kernels/cpu/row_loops.h"

#include <stdbool.h>

/* Rows of n floats that loops by columns write have room for a multiple of so many; what lies behind the n means nothing. */
enum { ROW_HALVES_ROOM = 32 };

/* The most columns whose moments are found together. */
enum { ROW_HALVES_COLUMNS = 1024 };

/* The most rows that are summed up in float before their sums go to those in double. */
enum { SCAN_BLOCK = 64 };

/* What no element is worse than. */
enum { HALF_KEY_WORST = INT16_MIN };

/* The bits of the half that place and place_rows have this key for; not of a zero, whose sign it does not tell, nor of NaN. */
static inline uint16_t half_of_key(int16_t key, bool smallest) {
    return (uint16_t)((key < 0 ? -key : key) | ((key < 0) != smallest ? 0x8000 : 0));
}

typedef struct row_halves {
    void (*fold[ROW_KINDS])(row_wide *total, const void *x, int64_t n);
    /* totals[r] is row r of n elements, row_stride elements apart, or goes on by it; NULL where there is none. */
    void (*fold_short[ROW_KINDS])(row_wide *totals, const void *x, int64_t rows, int64_t row_stride, int64_t n, bool goes_on);
    /* Adds rows to sums, of floats, column by column; NULL where there is none. */
    void (*add_rows[ROW_KINDS])(float *sums, const void *x, int64_t rows, int64_t row_stride, int64_t n);
    /* The first largest (smallest) of n <= ROW_BLOCK elements or the first NaN, if it beats *best, which it becomes; -1: none does.
       Elements are told apart by keys: a number that beats another has the larger key. asks: for memory further on, where more
       is read that lies behind. */
    int64_t (*place)(int16_t *best, const void *x, int64_t n, bool smallest, bool asks);
    /* The same column by column, of INT16_MAX rows at most: where[i] becomes the row, if one beats best[i]. */
    void (*place_rows)(int16_t *best, int16_t *where, const void *x, int64_t rows, int64_t row_stride, int64_t n, bool smallest, bool asks);
    /* Of each of rows that lie one behind the other, ROW_BLOCK elements at most. */
    void (*moments)(const void *x, int64_t rows, int64_t n, double *mean, double *m2);
    void (*moments_columns)(const void *x, int64_t rows, int64_t row_stride, int64_t n, float *mean, float *m2);
    /* As row_loops has it. */
    void (*sums_about)(const void *x, int64_t n, double centre, double *sum, double *squares);
    /* x * factor + plus, computed in float; `to` does not touch x. */
    void (*scale)(void *to, const void *x, double factor, double plus, int64_t n);
    /* results * (gradient - the sum of gradient * results) of each of rows that lie one behind the other in all three; `to` touches neither. */
    void (*softmax_back)(void *to, const void *gradient, const void *results, int64_t rows, int64_t n);
    /* Running sums along ROW_BLOCK elements at most, from *total on; `to` does not touch x. past: whole lines go past the caches, and `to`
       begins one. False: a sum is not finite in float; *total is as it was, and what is stored means nothing. The second is for
       CPUs that isa_rounds_to_bf16. NULL where there is none. */
    bool (*scan[2])(void *to, const void *x, double *total, int64_t n, bool past);
    /* The same down columns, of SCAN_BLOCK rows and ROW_HALVES_COLUMNS columns at most. past: every row of `to` begins a line. */
    bool (*scan_columns)(void *to, int64_t to_stride, const void *x, int64_t x_stride, double *totals, int64_t rows, int64_t n, bool past);
} row_halves;

extern const row_halves row_halves_f16_baseline, row_halves_bf16_baseline;
#if defined(__x86_64__)
extern const row_halves row_halves_f16_avx2, row_halves_bf16_avx2;
extern const row_halves row_halves_f16_avx512, row_halves_bf16_avx512;
#endif

/* The loops for rows of type t, which is f16 or bf16, on this CPU. */
static inline const row_halves *row_halves_for(dtype t) {
#if defined(__x86_64__)
    isa best = isa_best();
    if (best == ISA_AVX512) {
        return t == ASSAY_F16 ? &row_halves_f16_avx512 : &row_halves_bf16_avx512;
    }
    if (best == ISA_AVX2) {
        return t == ASSAY_F16 ? &row_halves_f16_avx2 : &row_halves_bf16_avx2;
    }
#endif
    return t == ASSAY_F16 ? &row_halves_f16_baseline : &row_halves_bf16_baseline;
}

#endif
