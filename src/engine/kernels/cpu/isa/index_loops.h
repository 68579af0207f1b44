/* SPDX-License-Identifier: Apache-2.0 */
/* The inner loops of reading and adding at places given by indices. */
#ifndef ENGINE_KERNELS_CPU_ISA_INDEX_LOOPS_H
#define ENGINE_KERNELS_CPU_ISA_INDEX_LOOPS_H

#include "engine/kernels/cpu/isa.h"
#include "engine/tensor/dtype.h"

#include <stddef.h>
#include <stdint.h>

/* What elements are multiplied by: f where sums are of floats, i where they are of integers. */
typedef struct row_factor {
    double f;
    int64_t i;
} row_factor;

static inline row_factor row_once(void) {
    return (row_factor){1, 1};
}

/* acc[i] += alpha * src[i]. acc holds f32 for f16, bf16 and f32, f64 for f64, i64 for integers and booleans. */
typedef void add_row_fn(void *acc, const void *src, int64_t n, row_factor alpha);

/* Rows at byte offsets from base. Those from n to n_ahead are wanted next: they are fetched, not read. */
typedef struct row_list {
    const char *base;
    const int64_t *offsets;
    int64_t n, n_ahead;
    const float *by;  /* NULL: 1 */
    int64_t by_step;  /* 0: one number for all rows */
} row_list;

typedef struct index_loops {
    /* offsets[i] (+)= wrapped index * step; answers the first i whose index is outside [-size, size), or n. */
    int64_t (*resolve_i64)(int64_t *offsets, const int64_t *index, int64_t n, int64_t size, int64_t step, int add);
    int64_t (*resolve_i32)(int64_t *offsets, const int32_t *index, int64_t n, int64_t size, int64_t step, int add);
    /* dst[i] = src[offsets[i] + i * src_step], all in bytes but i; by log2 of the element size, 0..4. */
    void (*gather[5])(char *dst, ptrdiff_t dst_stride, const char *src, const int64_t *offsets, int64_t n, ptrdiff_t src_step);
    /* dst[offsets[i] + i * dst_step] = src[i * src_stride]. */
    void (*scatter[5])(char *dst, ptrdiff_t dst_step, const int64_t *offsets, const char *src, ptrdiff_t src_stride, int64_t n);
    /* dst[to[j]] += the sum of alpha * values[from[p]] for p in [starts[slots[j]], starts[slots[j] + 1]); offsets in bytes.
       NULL for types that go by add_row. */
    void (*add_lists[ASSAY_DTYPE_COUNT])(char *dst, const ptrdiff_t *to, const char *values, const ptrdiff_t *from,
                                         const int64_t *starts, const int64_t *slots, int64_t n, row_factor alpha);
    /* acc[c] = sum over i of by[i] * rows[i][c], c below n. f32 sums; f16, bf16, f32. */
    void (*sum_rows[ASSAY_DTYPE_COUNT])(float *acc, const row_list *rows, int64_t n);
    add_row_fn *add_row[ASSAY_DTYPE_COUNT]; /* NULL for complex types: two numbers of their parts */
    /* The dot product of two rows: f32 sums for f16, bf16 and f32. NULL for other types than floats. */
    double (*dot[ASSAY_DTYPE_COUNT])(const void *a, const void *b, int64_t n);
    /* acc[i] = max(acc[i], src[i]), row[i] = where it changed; the first of equals stays. */
    void (*max_row_f32)(float *acc, int64_t *row, const float *src, int64_t n, int64_t from);
    void (*max_row_f64)(double *acc, int64_t *row, const double *src, int64_t n, int64_t from);
} index_loops;

extern const index_loops index_loops_baseline;
#if defined(__x86_64__)
extern const index_loops index_loops_avx2;
extern const index_loops index_loops_avx512;
#endif

static inline const index_loops *index_loops_best(void) {
#if defined(__x86_64__)
    isa best = isa_best();
    return best == ISA_AVX512 ? &index_loops_avx512 : best == ISA_AVX2 ? &index_loops_avx2 : &index_loops_baseline;
#else
    return &index_loops_baseline;
#endif
}

#endif
