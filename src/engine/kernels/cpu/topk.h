/* SPDX-License-Identifier: Apache-2.0 */
/* The k largest of a line by 32-bit keys: for types that f32 or i32 holds exactly. */
#ifndef ENGINE_KERNELS_CPU_TOPK_H
#define ENGINE_KERNELS_CPU_TOPK_H

#include <stdbool.h>
#include <stdint.h>

/* A key in the upper half and the place's complement in the lower: the larger, the earlier in the answer. */
typedef uint64_t topk_entry;

/* A line that is gone through. Set room, n and k (of 1 to n); the rest begins as 0. */
typedef struct topk_line {
    topk_entry *room; /* topk_room(n, k) of them */
    int64_t n, k;
    int64_t held;     /* entries */
    bool has_low;     /* k of them are above all that went by: from now on only keys above `low` count, an equal one comes too late */
    int32_t low;
} topk_line;

/* Room for a line of n elements, in entries. */
int64_t topk_room(int64_t n, int64_t k);

/* Keys of n floats: signed integers in the order of the answer. NaN is the largest number; zeros are equal. */
void topk_keys(int32_t *keys, const float *x, int64_t n, bool largest);

/* Collects a line block by block; place counts from the line's first element. */
void topk_add(topk_line *line, const int32_t *keys, int64_t place, int64_t count);

/* Few of short lines go together: whether they do, and so many at most. */
enum { TOPK_LINES = 16, TOPK_LINE = 64 };
bool topk_goes_together(int64_t n, int64_t k);
/* The k largest of each of so many lines, in order, k entries a line. keys: TOPK_LINE of each, of which n count; the others change. */
void topk_together(topk_entry *entries, int32_t *keys, int64_t lines, int64_t n, int64_t k);

/* When all n are added: the places of the k largest, in order, equal ones by place; within room. */
const topk_entry *topk_take(topk_line *line);

static inline int64_t topk_place(topk_entry e) {
    return (int64_t)(uint32_t)~e;
}

#endif
