/* SPDX-License-Identifier: Apache-2.0 */
/* Moves that need to know an element's size and nothing else: turning tiles round, storing past the caches. */
#include "engine/kernels/cpu/isa/copy_loops.h"
#include "engine/kernels/cpu/isa/stream_edge.h"
#include "engine/kernels/cpu/pointwise.h"

#include <stdbool.h>
#include <string.h>

/* Reads run along the dimension whose elements lie nearer together; what they scatter stays in L1. */
#define TURN(bits)                                                                                                                      \
    static void turn_##bits(uint##bits##_t *to, const char *from, int64_t inner, int64_t outer, int64_t n_inner, int64_t n_outer) {     \
        bool by_rows = inner <= outer || n_outer == 1;                                                                                  \
        for (int64_t o = 0; by_rows && o < n_outer; o++) {                                                                              \
            for (int64_t i = 0; i < n_inner; i++) {                                                                                     \
                to[o * n_inner + i] = *(const uint##bits##_t *)(const void *)(from + i * inner + o * outer);                            \
            }                                                                                                                           \
        }                                                                                                                               \
        for (int64_t i = 0; !by_rows && i < n_inner; i++) {                                                                             \
            for (int64_t o = 0; o < n_outer; o++) {                                                                                     \
                to[o * n_inner + i] = *(const uint##bits##_t *)(const void *)(from + i * inner + o * outer);                            \
            }                                                                                                                           \
        }                                                                                                                               \
    }
TURN(8)
TURN(16)
TURN(32)
TURN(64)

static void turn(void *to, const char *from, int64_t inner, int64_t outer, int64_t n_inner, int64_t n_outer,
                 int64_t size) {
    if (outer == size && inner > outer && n_outer > 1) { /* dense columns: by tiles in registers */
        ISA_SYMBOL(copy_loops).transpose(to, from, __builtin_ctzll((unsigned long long)size), n_inner, n_outer, n_inner * size, inner);
        return;
    }
    switch (size) {
    case 1:
        turn_8(to, from, inner, outer, n_inner, n_outer);
        return;
    case 2:
        turn_16(to, from, inner, outer, n_inner, n_outer);
        return;
    case 4:
        turn_32(to, from, inner, outer, n_inner, n_outer);
        return;
    case 8:
        turn_64(to, from, inner, outer, n_inner, n_outer);
        return;
    default:
        for (int64_t i = 0; i < n_inner; i++) {
            for (int64_t o = 0; o < n_outer; o++) {
                memcpy((char *)to + (o * n_inner + i) * size, from + i * inner + o * outer, (size_t)size);
            }
        }
    }
}

static void stream(row_edge *edge, void *to, const void *from, size_t bytes) {
    stream_with_edge(edge, to, from, (int64_t)bytes);
}

static void settle(void) {
    stream_settle();
}

/* One value n times, for the sizes of numbers in vector code. */
static void repeat_1(uint8_t *to, const char *from, int64_t n) {
    memset(to, *(const uint8_t *)from, (size_t)n);
}

static void repeat_2(uint16_t *to, const char *from, int64_t n) {
    uint16_t x = *(const uint16_t *)(const void *)from;
#pragma omp simd
    for (int64_t i = 0; i < n; i++) {
        to[i] = x;
    }
}

static void repeat_4(float *to, const char *from, int64_t n) {
    float x = *(const float *)(const void *)from;
#pragma omp simd
    for (int64_t i = 0; i < n; i++) {
        to[i] = x;
    }
}

static void repeat_8(uint64_t *to, const char *from, int64_t n) {
    uint64_t x = *(const uint64_t *)(const void *)from;
#pragma omp simd
    for (int64_t i = 0; i < n; i++) {
        to[i] = x;
    }
}

static void repeat(void *to, const char *from, int64_t n, int64_t size) {
    switch (size) {
    case 1:
        repeat_1(to, from, n);
        return;
    case 2:
        repeat_2(to, from, n);
        return;
    case 4:
        repeat_4(to, from, n);
        return;
    case 8:
        repeat_8(to, from, n);
        return;
    default:
        for (int64_t i = 0; i < n; i++) {
            memcpy((char *)to + i * size, from, (size_t)size);
        }
    }
}

static void copy_rows(void *to, const char *from, int64_t inner, int64_t outer, int64_t n_inner, int64_t n_outer,
                      int64_t size) {
    char *out = to;
    if (inner != 0) {
        ISA_SYMBOL(copy_loops).rows(out, from, (size_t)(n_inner * size), n_outer, (ptrdiff_t)(n_inner * size), (ptrdiff_t)outer);
        return;
    }
    for (int64_t o = 0; o < n_outer; o++, out += n_inner * size, from += outer) {
        repeat(out, from, n_inner, size);
    }
}

const pointwise_moves ISA_SYMBOL(pointwise_moves) = {
    .turn = turn, .stream = stream, .settle = settle, .copy_rows = copy_rows};
