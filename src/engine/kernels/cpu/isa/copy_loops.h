/* SPDX-License-Identifier: Apache-2.0 */
/* The inner loops of copies that keep the element type: rows, strides, tiles turned round, stores past the caches. */
#ifndef ENGINE_KERNELS_CPU_ISA_COPY_LOOPS_H
#define ENGINE_KERNELS_CPU_ISA_COPY_LOOPS_H

#include "engine/kernels/cpu/isa.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Transposing past the caches: a tile's source rows are copied together first, because rows far apart in memory meet in the
   same few places of a cache. While one tile is turned round and stored, the next one is copied. A tile has `rows` rows of
   the source, a multiple of 16 (of 32 where elements have 2 bytes), of `run` bytes, a multiple of 64; where they are copied
   they lie turn_pitch(run) apart. Rows that do not meet so are turned round where they lie (full is the source itself). */
enum { TURN_MOST_ROWS = 64, TURN_MOST_RUN = 4096, TURN_BYTES = 132 * 1024 };
typedef struct turn_step {
    int log2;
    int64_t rows, run;
    const char *full; /* NULL: nothing is stored */
    ptrdiff_t full_pitch;
    bool in_place;    /* full is the source itself; nothing is copied */
    bool asks;        /* for memory, of any elements: where the CPU follows few rows by itself */
    bool asks_far;    /* far ahead, to come to L2 */
    char *to;
    ptrdiff_t to_stride;
    char *empty; /* room for a tile; NULL: nothing is copied */
    const char *from;
    ptrdiff_t from_stride;
} turn_step;

static inline ptrdiff_t turn_pitch(int64_t run) {
    return (ptrdiff_t)run + 64; /* no power of two */
}

/* The same where rows of dst begin within lines: what rows of the source leave of a line waits for those that come next. */
enum { TURN_MOST_BYTES = 256 };
typedef struct turn_across {
    int log2;
    int64_t rows, columns; /* of the source; of all rows but the last ones a line or more, and TURN_MOST_BYTES at most, comes to lie in dst */
    const char *from;
    ptrdiff_t from_stride;
    const char *soon; /* the rows that are read next, to come to L2; NULL: none are known */
    char *to;         /* on no boundary but elements' own */
    ptrdiff_t to_stride;
    char *rest;       /* 64 bytes for each column: what was written last, of the rows before and then of these */
    bool first, last; /* none are before, are behind */
} turn_across;

/* Strides count bytes and may be negative or 0. Elements have 1 << log2 bytes, log2 in 0..4. */
typedef struct copy_loops {
    /* n rows of row_bytes. */
    void (*rows)(char *dst, const char *src, size_t row_bytes, int64_t n, ptrdiff_t dst_stride, ptrdiff_t src_stride);
    /* n elements one by one. */
    void (*strided)(char *dst, const char *src, int log2, int64_t n, ptrdiff_t dst_stride, ptrdiff_t src_stride);
    /* ni x nj elements: i is contiguous in dst, j in src; the strides are those of the other index. */
    void (*transpose)(char *dst, const char *src, int log2, int64_t ni, int64_t nj, ptrdiff_t dst_stride,
                      ptrdiff_t src_stride);
    /* As memcpy, but past the caches: for outputs that no cache can hold. What is streamed, by this and the others below, is
       visible to other threads after settle. */
    void (*stream)(char *dst, const char *src, size_t n_bytes);
    void (*settle)(void);
    /* rows, past the caches */
    void (*stream_rows)(char *dst, const char *src, size_t row_bytes, int64_t n, ptrdiff_t dst_stride, ptrdiff_t src_stride);
    /* A row of whole lines, dst on a 64-byte boundary, past the caches: src's bytes [from, to), and 0 elsewhere. What lies `ahead` bytes
       behind what is read is asked for; it may lie outside. */
    void (*stream_part)(char *dst, const char *src, size_t from, size_t to, size_t n_bytes, ptrdiff_t ahead);
    /* dst and its stride on 64-byte boundaries; turns: whether there is such a step for elements of this size. */
    int (*turns)(int log2);
    void (*stream_turned)(const turn_step *step);
    void (*stream_across)(const turn_across *step);
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
