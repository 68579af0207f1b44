/* SPDX-License-Identifier: Apache-2.0 */
/* Template: the shapes of loop that every class's operators are put into. A file that includes this first names its class's
   element `elem` (a typedef); the operator is a small inline function that the loop swallows whole. */
#ifndef ENGINE_KERNELS_CPU_ISA_POINTWISE_LOOPS_H
#define ENGINE_KERNELS_CPU_ISA_POINTWISE_LOOPS_H

#include "device/caches.h"
#include "engine/kernels/cpu/isa/stream.h"
#include "engine/kernels/cpu/pointwise.h"

/* Inlining is what turns the function pointer into straight code, so it is not left to the compiler's taste. Some instruction sets
   have no use for some of them, of which clang would tell. */
#define ALWAYS_INLINE static inline __attribute__((always_inline, unused))

/* Results for `streams` are made a few lines at a time and stored past the caches at once, so that reading, computing and
   writing go on side by side: in turns of 2 KiB they took up to half as long again (Sapphire Rapids, 2026-11). */
enum { STREAM_BLOCK = 64 /* elements */, AHEAD_BYTES = 2048 };

/* The elements that a streaming loop serves by blocks; the rest is left to the loop behind. A table of its own: even unused
   the blocks would cost a small call some 20 instructions. */
#if !defined(POINTWISE_STREAMS)
#define POINTWISE_STREAMS 0
#endif
ALWAYS_INLINE int64_t in_blocks(const pointwise_chunk *c) {
    return POINTWISE_STREAMS ? c->n / STREAM_BLOCK * STREAM_BLOCK : 0;
}

/* Lines of an operand that lie so far on. */
ALWAYS_INLINE void fetch_from(const void *x, size_t bytes, size_t ahead) {
    for (size_t at = 0; at < bytes; at += STREAM_LINE) {
        __builtin_prefetch((const char *)((uintptr_t)x + ahead + at)); /* they may lie outside */
    }
}

/* A block of an operand further on: the CPU reads ahead by itself within a page of 4 KiB, not into the next. */
ALWAYS_INLINE void fetch_ahead(const void *x, size_t bytes) {
    fetch_from(x, bytes, AHEAD_BYTES);
}

enum { TURN_PAGES = 4, TURN_PAGE = 4096 / sizeof(elem), TURN_GROUP = TURN_PAGES * TURN_PAGE /* elements */ };

/* How many elements of whole blocks of one operand go in turns, a block of each of four pages: Intel's cores read several pages ahead at
   once. */
ALWAYS_INLINE int64_t in_turns(int64_t blocks) {
    return POINTWISE_STREAMS && cpu_is_intel() ? blocks / TURN_GROUP * TURN_GROUP : 0;
}

/* The block taken where one after the other would have the one at `from`; what it will want later is asked for. */
ALWAYS_INLINE int64_t next_block(const elem *x, int64_t from, int64_t turned) {
    if (from >= turned) {
        fetch_ahead(x + from, STREAM_BLOCK * sizeof(elem));
        return from;
    }
    const int64_t k = from % TURN_GROUP / STREAM_BLOCK;
    const int64_t at = from / TURN_GROUP * TURN_GROUP + k % TURN_PAGES * TURN_PAGE + k / TURN_PAGES * STREAM_BLOCK;
    fetch_from(x + at, STREAM_BLOCK * sizeof(elem), TURN_GROUP * sizeof(elem));
    return at;
}

/* The same of operand k, where x is. What lies behind a row that repeats may be on no page at all, which the CPU looks for anew each time:
   products of [32768, 1024] floats and [1024] took 5.8 ms, and 4.3 without (two cores of a Zen 4, 2026-11). */
ALWAYS_INLINE void fetch_operand(const pointwise_chunk *c, int k, const void *x, size_t bytes) {
    if ((c->near >> k & 1) == 0) {
        fetch_ahead(x, bytes);
    }
}

/* The output may be one of the inputs, element on element: there is no order to keep, which is what `omp simd` says. */
ALWAYS_INLINE void unary(const pointwise_chunk *c, elem (*f)(elem x)) {
    elem *out = c->out;
    const elem *x = c->in[0];
    const int64_t blocks = in_blocks(c), turned = in_turns(blocks);
    for (int64_t from = 0; from < blocks; from += STREAM_BLOCK) {
        const int64_t at = next_block(x, from, turned);
        _Alignas(STREAM_LINE) elem made[STREAM_BLOCK];
#pragma omp simd
        for (int64_t i = 0; i < STREAM_BLOCK; i++) {
            made[i] = f(x[at + i]);
        }
        stream_lines(out + at, made, sizeof made);
    }
#pragma omp simd
    for (int64_t i = blocks; i < c->n; i++) {
        out[i] = f(x[i]);
    }
}

ALWAYS_INLINE void binary(const pointwise_chunk *c, elem (*f)(elem x, elem y)) {
    elem *out = c->out;
    const elem *x = c->in[0], *y = c->in[1];
    int64_t blocks = in_blocks(c);
    for (int64_t from = 0; from < blocks; from += STREAM_BLOCK) {
        fetch_operand(c, 0, x + from, STREAM_BLOCK * sizeof(elem));
        fetch_operand(c, 1, y + from, STREAM_BLOCK * sizeof(elem));
        _Alignas(STREAM_LINE) elem made[STREAM_BLOCK];
#pragma omp simd
        for (int64_t i = 0; i < STREAM_BLOCK; i++) {
            made[i] = f(x[from + i], y[from + i]);
        }
        stream_lines(out + from, made, sizeof made);
    }
#pragma omp simd
    for (int64_t i = blocks; i < c->n; i++) {
        out[i] = f(x[i], y[i]);
    }
}

ALWAYS_INLINE void ternary(const pointwise_chunk *c, elem (*f)(elem x, elem y, elem z)) {
    elem *out = c->out;
    const elem *x = c->in[0], *y = c->in[1], *z = c->in[2];
    int64_t blocks = in_blocks(c);
    for (int64_t from = 0; from < blocks; from += STREAM_BLOCK) {
        fetch_operand(c, 0, x + from, STREAM_BLOCK * sizeof(elem));
        fetch_operand(c, 1, y + from, STREAM_BLOCK * sizeof(elem));
        fetch_operand(c, 2, z + from, STREAM_BLOCK * sizeof(elem));
        _Alignas(STREAM_LINE) elem made[STREAM_BLOCK];
#pragma omp simd
        for (int64_t i = 0; i < STREAM_BLOCK; i++) {
            made[i] = f(x[from + i], y[from + i], z[from + i]);
        }
        stream_lines(out + from, made, sizeof made);
    }
#pragma omp simd
    for (int64_t i = blocks; i < c->n; i++) {
        out[i] = f(x[i], y[i], z[i]);
    }
}

/* The same with up to three parameters. */
ALWAYS_INLINE void unary_with(const pointwise_chunk *c, elem (*f)(elem x, elem p, elem q, elem r), elem p, elem q,
                              elem r) {
    elem *out = c->out;
    const elem *x = c->in[0];
    const int64_t blocks = in_blocks(c), turned = in_turns(blocks);
    for (int64_t from = 0; from < blocks; from += STREAM_BLOCK) {
        const int64_t at = next_block(x, from, turned);
        _Alignas(STREAM_LINE) elem made[STREAM_BLOCK];
#pragma omp simd
        for (int64_t i = 0; i < STREAM_BLOCK; i++) {
            made[i] = f(x[at + i], p, q, r);
        }
        stream_lines(out + at, made, sizeof made);
    }
#pragma omp simd
    for (int64_t i = blocks; i < c->n; i++) {
        out[i] = f(x[i], p, q, r);
    }
}

ALWAYS_INLINE void binary_with(const pointwise_chunk *c, elem (*f)(elem x, elem y, elem p, elem q, elem r), elem p,
                               elem q, elem r) {
    elem *out = c->out;
    const elem *x = c->in[0], *y = c->in[1];
    int64_t blocks = in_blocks(c);
    for (int64_t from = 0; from < blocks; from += STREAM_BLOCK) {
        fetch_operand(c, 0, x + from, STREAM_BLOCK * sizeof(elem));
        fetch_operand(c, 1, y + from, STREAM_BLOCK * sizeof(elem));
        _Alignas(STREAM_LINE) elem made[STREAM_BLOCK];
#pragma omp simd
        for (int64_t i = 0; i < STREAM_BLOCK; i++) {
            made[i] = f(x[from + i], y[from + i], p, q, r);
        }
        stream_lines(out + from, made, sizeof made);
    }
#pragma omp simd
    for (int64_t i = blocks; i < c->n; i++) {
        out[i] = f(x[i], y[i], p, q, r);
    }
}

/* Answers that are b8. */
ALWAYS_INLINE void unary_test(const pointwise_chunk *c, bool (*f)(elem x)) {
    uint8_t *out = c->out;
    const elem *x = c->in[0];
    const int64_t blocks = in_blocks(c), turned = in_turns(blocks);
    for (int64_t from = 0; from < blocks; from += STREAM_BLOCK) {
        const int64_t at = next_block(x, from, turned);
        _Alignas(STREAM_LINE) uint8_t made[STREAM_BLOCK];
#pragma omp simd
        for (int64_t i = 0; i < STREAM_BLOCK; i++) {
            made[i] = f(x[at + i]);
        }
        stream_lines(out + at, made, sizeof made);
    }
#pragma omp simd
    for (int64_t i = blocks; i < c->n; i++) {
        out[i] = f(x[i]);
    }
}

ALWAYS_INLINE void binary_test(const pointwise_chunk *c, bool (*f)(elem x, elem y)) {
    uint8_t *out = c->out;
    const elem *x = c->in[0], *y = c->in[1];
    int64_t blocks = in_blocks(c);
    for (int64_t from = 0; from < blocks; from += STREAM_BLOCK) {
        fetch_operand(c, 0, x + from, STREAM_BLOCK * sizeof(elem));
        fetch_operand(c, 1, y + from, STREAM_BLOCK * sizeof(elem));
        _Alignas(STREAM_LINE) uint8_t made[STREAM_BLOCK];
#pragma omp simd
        for (int64_t i = 0; i < STREAM_BLOCK; i++) {
            made[i] = f(x[from + i], y[from + i]);
        }
        stream_lines(out + from, made, sizeof made);
    }
#pragma omp simd
    for (int64_t i = blocks; i < c->n; i++) {
        out[i] = f(x[i], y[i]);
    }
}

/* An element as a number that is only moved. */
#define UNSIGNED_OF(size) __builtin_choose_expr((size) == 4, (uint32_t)0, __builtin_choose_expr((size) == 8, (uint64_t)0, UNSIGNED_OTHER(size)))
#define UNSIGNED_OTHER(size) __builtin_choose_expr((size) == 1, (uint8_t)0, __builtin_choose_expr((size) == 2, (uint16_t)0, (unsigned_16)0))
__extension__ typedef unsigned __int128 unsigned_16;
typedef __typeof__(UNSIGNED_OF(sizeof(elem))) __attribute__((may_alias)) elem_bits;

/* Both are read and one is chosen by its bits. Of a choice between two places compilers make a branch, guessed wrong every other time by a
   mask of anything, or loads by mask, which take memory a third longer (two cores of a Zen 5, 2026-11). */
ALWAYS_INLINE elem_bits choose(uint8_t condition, elem_bits x, elem_bits y) {
    elem_bits mask = (elem_bits) - (elem_bits)(condition != 0);
    return (elem_bits)(y ^ ((x ^ y) & mask));
}

static void where_loop(const pointwise_chunk *c) {
    elem_bits *out = c->out;
    const uint8_t *condition = c->in[0];
    const elem_bits *x = c->in[1], *y = c->in[2];
    int64_t blocks = in_blocks(c);
    for (int64_t from = 0; from < blocks; from += STREAM_BLOCK) {
        fetch_operand(c, 0, condition + from, STREAM_BLOCK);
        fetch_operand(c, 1, x + from, STREAM_BLOCK * sizeof(elem));
        fetch_operand(c, 2, y + from, STREAM_BLOCK * sizeof(elem));
        _Alignas(STREAM_LINE) elem_bits made[STREAM_BLOCK];
#pragma omp simd
        for (int64_t i = 0; i < STREAM_BLOCK; i++) {
            made[i] = choose(condition[from + i], x[from + i], y[from + i]);
        }
        stream_lines(out + from, made, sizeof made);
    }
#pragma omp simd
    for (int64_t i = blocks; i < c->n; i++) {
        out[i] = choose(condition[i], x[i], y[i]);
    }
}

/* Inline: integers that go past the caches have no use for it. */
static inline void copy_loop(const pointwise_chunk *c) {
    if (c->out != c->in[0]) {
        memcpy(c->out, c->in[0], (size_t)c->n * sizeof(elem));
    }
}

#endif
