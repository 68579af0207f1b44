/* SPDX-License-Identifier: Apache-2.0 */
/* Stores past the caches, for results that no cache could hold: a line that is not read first saves a third of the
   traffic of a loop that reads one line and writes another. */
#ifndef ENGINE_KERNELS_CPU_ISA_STREAM_H
#define ENGINE_KERNELS_CPU_ISA_STREAM_H

#include "engine/kernels/cpu/isa/registers.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

enum { STREAM_LINE = 64 };

/* One register to a boundary of its size. */
static inline __attribute__((always_inline)) void stream_register(void *to, const void *from) {
#if defined(__AVX512F__)
    _mm512_stream_si512((__m512i *)to, _mm512_loadu_si512(from));
#elif defined(__AVX2__)
    _mm256_stream_si256((__m256i *)to, _mm256_loadu_si256((const __m256i *)from));
#elif defined(__SSE2__)
    _mm_stream_si128((__m128i *)to, _mm_loadu_si128((const __m128i *)from));
#else
    memcpy(to, from, REGISTER_BYTES);
#endif
}

/* Whole registers to a boundary of their size; bytes: a constant. Memory takes lines: the parts of one are to follow each other. */
static inline __attribute__((always_inline)) void stream_registers(void *to, const void *from, size_t bytes) {
    for (size_t at = 0; at < bytes; at += REGISTER_BYTES) {
        stream_register((char *)to + at, (const char *)from + at);
    }
}

/* One line to a 64-byte boundary. */
static inline __attribute__((always_inline)) void stream_line(void *to, const void *from) {
    stream_registers(to, from, STREAM_LINE);
}

/* Whole lines to a 64-byte boundary. Inlined with a constant size: a few lines become as many loads and stores, which stay in the order of
   memory: in another, that compilers choose (lines 1, 2, 3 and 0), products took 5 to 20% longer (two cores of a Zen 4, 2026-11). */
static inline __attribute__((always_inline)) void stream_lines(void *to, const void *from, size_t bytes) {
    for (size_t at = 0; at < bytes; at += STREAM_LINE) {
        stream_line((char *)to + at, (const char *)from + at);
        __asm__ volatile("" : : : "memory");
    }
}

/* As memcpy: whole lines past the caches, what is left at the ends by ordinary stores. */
static inline void stream_bytes(void *to, const void *from, size_t bytes) {
    char *out = (char *)to;
    const char *x = (const char *)from;
    size_t head = (size_t)(-(uintptr_t)out & (STREAM_LINE - 1));
    head = head < bytes ? head : bytes;
    memcpy(out, x, head);
    size_t whole = (bytes - head) / STREAM_LINE * STREAM_LINE;
    stream_lines(out + head, x + head, whole);
    memcpy(out + head + whole, x + head + whole, bytes - head - whole);
}

/* Makes what this thread streamed visible to others. */
static inline void stream_settle(void) {
#if defined(__SSE2__)
    _mm_sfence();
#endif
}

#endif
