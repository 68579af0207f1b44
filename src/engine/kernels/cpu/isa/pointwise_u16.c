/* SPDX-License-Identifier: Apache-2.0 */
/* Element-wise moves of 16-bit elements, whatever they mean: f16, bf16 and i16 need no conversion to be chosen between, nor
   the first two for what becomes of their sign. */
#include <math.h>
#include <stdint.h>
#include <string.h>

typedef uint16_t elem;

#include "engine/kernels/cpu/isa/pointwise_loops.h"

/* Only ever asked for elements of 16 bits. */
static void load(void *to, dtype t, const char *from, int64_t stride, int64_t n) {
    elem *out = to;
    (void)t;
    for (int64_t i = 0; i < n; i++, from += stride) {
        out[i] = *(const elem *)(const void *)from;
    }
}

static void store(dtype t, char *to, int64_t stride, const void *from, int64_t n) {
    const elem *x = from;
    (void)t;
    for (int64_t i = 0; i < n; i++, to += stride) {
        *(elem *)(void *)to = x[i];
    }
}

/* of.i holds the bits. */
static void fill(void *to, number of, int64_t n) {
    elem *out = to, x = (elem)of.i;
#pragma omp simd
    for (int64_t i = 0; i < n; i++) {
        out[i] = x;
    }
}

ALWAYS_INLINE elem other_sign(elem x) {
    return x ^ 0x8000;
}

ALWAYS_INLINE elem no_sign(elem x) {
    return x & 0x7fff;
}

static void neg_loop(const pointwise_chunk *c) {
    unary(c, other_sign);
}

static void abs_loop(const pointwise_chunk *c) {
    unary(c, no_sign);
}

#if POINTWISE_STREAMS
#define U16_LOOPS ISA_SYMBOL(pointwise_u16_streaming)
#else
#define U16_LOOPS ISA_SYMBOL(pointwise_u16)
#endif
const pointwise_loops U16_LOOPS = {
    .op = {[PW_COPY] = copy_loop, [PW_WHERE] = where_loop, [PW_NEG] = neg_loop, [PW_ABS] = abs_loop},
    .load = load,
    .store = store,
    .fill = fill,
};
