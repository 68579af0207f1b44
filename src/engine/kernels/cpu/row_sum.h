/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of any number type summed up in f32 (of f16, bf16, f32) or f64 (of f64, of integers): for kernels that add
   overlapping pieces. Complex elements are two numbers each. */
#ifndef ENGINE_KERNELS_CPU_ROW_SUM_H
#define ENGINE_KERNELS_CPU_ROW_SUM_H

#include "engine/kernels/cpu/isa/add_loops.h"
#include "engine/kernels/cpu/move.h"

#include "base/arena.h"

/* What every thread shares. Accumulators are floats or doubles, `parts` of them an element. */
typedef struct row_sum {
    dtype type;
    int log2; /* element size */
    int parts;
    bool is_f64; /* accumulators are doubles */
    converter load;
    converter store;
    const add_loops *add;
    const copy_loops *copy;
    int threads;      /* for which there is room */
    int64_t capacity; /* elements of a row */
    char *room;       /* three rows for each thread */
} row_sum;

/* Rows of up to `capacity` elements; room for omp_get_max_threads() threads in `memory`. */
status row_sum_make(row_sum *s, dtype type, int64_t capacity, arena *memory, error *err);
/* Threads worth using for work that moves `bytes`, as many as there is room for. */
int row_sum_threads(const row_sum *s, double bytes);
/* This thread's accumulators, zeroed for n elements. */
void *row_sum_start(const row_sum *s, int64_t n);
/* Adds n elements at src (stride in bytes) to the accumulators from element `at` on, `step` elements apart. */
void row_sum_add(const row_sum *s, void *acc, int64_t at, int64_t step, const char *src, ptrdiff_t stride, int64_t n);
/* n elements as accumulators have them, until the next call of this thread. */
const void *row_sum_load(const row_sum *s, const char *src, ptrdiff_t stride, int64_t n);
/* Adds rows of n of the loaded elements, the first from element `from` on, x_row apart; in the accumulators from `at`
   on, acc_row apart, elements `step` apart. */
void row_sum_add_rows(const row_sum *s, void *acc, int64_t at, int64_t acc_row, int64_t step, const void *loaded,
                      int64_t from, int64_t x_row, int64_t n, int64_t rows);
/* Stores n elements, `stride` bytes apart. */
void row_sum_store(const row_sum *s, const void *acc, char *dst, ptrdiff_t stride, int64_t n);

#endif
