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
/* The same into `to`. */
void row_sum_load_into(const row_sum *s, void *to, const char *src, ptrdiff_t stride, int64_t n);
/* Whether elements lie as accumulators do. */
bool row_sum_is_native(const row_sum *s);
/* add_loops' sum, of elements as accumulators have them. Of complex elements all numbers of columns count parts. */
void row_sum_of(const row_sum *s, void *to, int64_t to_pitch, int64_t rows, int64_t n, const void *base, int64_t pitch,
                const shifted_rows *parts, int64_t n_parts);
/* Rows of n accumulated elements, to_pitch apart, each from `phases` rows of every so many-th, phase_room apart. */
void row_sum_interleave(const row_sum *s, void *to, int64_t to_pitch, int64_t rows, int64_t n, const void *from, int64_t phase_room,
                        int64_t phases);
/* Room for one more row of this thread's; row_sum_load and stores with a stride use it. */
void *row_sum_spare(const row_sum *s);
/* Stores n elements, `stride` bytes apart. */
void row_sum_store(const row_sum *s, const void *acc, char *dst, ptrdiff_t stride, int64_t n);

#endif
