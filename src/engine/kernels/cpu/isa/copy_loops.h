/* SPDX-License-Identifier: Apache-2.0 */
/* The inner loops of copies that keep the element type: rows, strides, tiles turned round, stores past the caches. */
#ifndef ENGINE_KERNELS_CPU_ISA_COPY_LOOPS_H
#define ENGINE_KERNELS_CPU_ISA_COPY_LOOPS_H

#include "engine/kernels/cpu/isa.h"

#include <stddef.h>
#include <stdint.h>

/* Strides count bytes and may be negative or 0. Elements have 1 << log2 bytes, log2 in 0..4. */
typedef struct copy_loops {
    /* n rows of row_bytes. */
    void (*rows)(char *dst, const char *src, size_t row_bytes, int64_t n, ptrdiff_t dst_stride, ptrdiff_t src_stride);
    /* n elements one by one. */
    void (*strided)(char *dst, const char *src, int log2, int64_t n, ptrdiff_t dst_stride, ptrdiff_t src_stride);
    /* ni x nj elements: i is contiguous in dst, j in src; the strides are those of the other index. */
    void (*transpose)(char *dst, const char *src, int log2, int64_t ni, int64_t nj, ptrdiff_t dst_stride,
                      ptrdiff_t src_stride);
    /* As memcpy, but past the caches: for outputs that no cache can hold. */
    void (*stream)(char *dst, const char *src, size_t n_bytes);
    /* rows and transpose, past the caches; the latter answers 0, with nothing done, where its tiles are no whole lines. */
    void (*stream_rows)(char *dst, const char *src, size_t row_bytes, int64_t n, ptrdiff_t dst_stride, ptrdiff_t src_stride);
    int (*stream_transposed)(char *dst, const char *src, int log2, int64_t ni, int64_t nj, ptrdiff_t dst_stride,
                             ptrdiff_t src_stride);
    /* n elements of the one at value (which repeats through its 16 bytes); stream: past the caches. */
    void (*fill)(char *dst, const char value[16], int log2, int64_t n, int stream);
} copy_loops;

extern const copy_loops copy_loops_baseline;
#if defined(__x86_64__)
extern const copy_loops copy_loops_avx2;
extern const copy_loops copy_loops_avx512;
#endif

static inline const copy_loops *copy_loops_best(void) {
#if defined(__x86_64__)
    isa best = isa_best();
    return best == ISA_AVX512 ? &copy_loops_avx512 : best == ISA_AVX2 ? &copy_loops_avx2 : &copy_loops_baseline;
#else
    return &copy_loops_baseline;
#endif
}

#endif
