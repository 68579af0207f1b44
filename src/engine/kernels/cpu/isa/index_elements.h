/* SPDX-License-Identifier: Apache-2.0 */
/* Single elements to and from places given by offsets: a part of index_loops.c. */
#ifndef ENGINE_KERNELS_CPU_ISA_INDEX_ELEMENTS_H
#define ENGINE_KERNELS_CPU_ISA_INDEX_ELEMENTS_H

#include "device/caches.h"
#include "engine/kernels/cpu/isa/gather_many.h"

#include <stddef.h>
#include <stdint.h>

typedef struct two_words {
    uint64_t part[2];
} two_words;

static inline void gather_1(char *dst, ptrdiff_t dst_stride, const char *src, const int64_t *offsets, int64_t n, ptrdiff_t src_step) {
    for (int64_t i = 0; i < n; i++) {
        dst[i * dst_stride] = src[offsets[i] + i * src_step];
    }
}

static inline void gather_2(char *dst, ptrdiff_t dst_stride, const char *src, const int64_t *offsets, int64_t n, ptrdiff_t src_step) {
    for (int64_t i = 0; i < n; i++) {
        *(uint16_t *)(void *)(dst + i * dst_stride) = *(const uint16_t *)(const void *)(src + offsets[i] + i * src_step);
    }
}

static inline void gather_4(char *dst, ptrdiff_t dst_stride, const char *src, const int64_t *offsets, int64_t n, ptrdiff_t src_step) {
    int64_t done = dst_stride != 4 ? 0 : (cpu_is_intel() ? gather_many_4 : gather_lanes_4)(dst, src, offsets, n, src_step);
    for (int64_t i = done; i < n; i++) {
        *(uint32_t *)(void *)(dst + i * dst_stride) = *(const uint32_t *)(const void *)(src + offsets[i] + i * src_step);
    }
}

static inline void gather_8(char *dst, ptrdiff_t dst_stride, const char *src, const int64_t *offsets, int64_t n, ptrdiff_t src_step) {
    int64_t done = dst_stride == 8 && cpu_is_intel() ? gather_many_8(dst, src, offsets, n, src_step) : 0;
    for (int64_t i = done; i < n; i++) {
        *(uint64_t *)(void *)(dst + i * dst_stride) = *(const uint64_t *)(const void *)(src + offsets[i] + i * src_step);
    }
}

static inline void gather_16(char *dst, ptrdiff_t dst_stride, const char *src, const int64_t *offsets, int64_t n, ptrdiff_t src_step) {
    for (int64_t i = 0; i < n; i++) {
        *(two_words *)(void *)(dst + i * dst_stride) = *(const two_words *)(const void *)(src + offsets[i] + i * src_step);
    }
}

static inline void scatter_1(char *dst, ptrdiff_t dst_step, const int64_t *offsets, const char *src, ptrdiff_t src_stride, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        dst[offsets[i] + i * dst_step] = src[i * src_stride];
    }
}

static inline void scatter_2(char *dst, ptrdiff_t dst_step, const int64_t *offsets, const char *src, ptrdiff_t src_stride, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        *(uint16_t *)(void *)(dst + offsets[i] + i * dst_step) = *(const uint16_t *)(const void *)(src + i * src_stride);
    }
}

static inline void scatter_4(char *dst, ptrdiff_t dst_step, const int64_t *offsets, const char *src, ptrdiff_t src_stride, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        *(uint32_t *)(void *)(dst + offsets[i] + i * dst_step) = *(const uint32_t *)(const void *)(src + i * src_stride);
    }
}

static inline void scatter_8(char *dst, ptrdiff_t dst_step, const int64_t *offsets, const char *src, ptrdiff_t src_stride, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        *(uint64_t *)(void *)(dst + offsets[i] + i * dst_step) = *(const uint64_t *)(const void *)(src + i * src_stride);
    }
}

static inline void scatter_16(char *dst, ptrdiff_t dst_step, const int64_t *offsets, const char *src, ptrdiff_t src_stride, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        *(two_words *)(void *)(dst + offsets[i] + i * dst_step) = *(const two_words *)(const void *)(src + i * src_stride);
    }
}

#endif
