/* SPDX-License-Identifier: Apache-2.0 */
/* What is turned round past the caches, tiles and lines of it: a part of copy_loops.c. */
#ifndef ENGINE_KERNELS_CPU_ISA_COPY_PAST_H
#define ENGINE_KERNELS_CPU_ISA_COPY_PAST_H

#include "engine/kernels/cpu/isa/copy_loops.h"
#include "engine/kernels/cpu/isa/copy_tiles.h"

#include <string.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

/* Whether elements of that size are turned round here by whole lines. */
static inline int turns(int log2) {
    return (log2 == 1 && LINE_16 << 1 == STREAM_LINE) || (log2 == 2 && TILE_32 << 2 == STREAM_LINE) ||
           (log2 == 3 && TILE_64 << 3 == STREAM_LINE);
}

/* Where the copying of a tile stands: `at` bytes into a row. */
typedef struct turn_copy {
    const char *from;
    char *to;
    int64_t at;
} turn_copy;

/* Copies the next lines of a tile. */
static inline __attribute__((always_inline)) void copy_lines(const turn_step *s, turn_copy *c, int lines) {
    enum { ROWS_AHEAD = 2 };
    uintptr_t ahead = (uintptr_t)(ROWS_AHEAD * s->from_stride);
    for (int k = 0; k < lines; k++) {
        __builtin_prefetch((const char *)((uintptr_t)c->from + (uintptr_t)c->at + ahead)); /* it may lie outside */
        memcpy(c->to + c->at, c->from + c->at, STREAM_LINE);
        c->at += STREAM_LINE;
        if (c->at == s->run) {
            c->at = 0;
            c->from += s->from_stride;
            c->to += turn_pitch(s->run);
        }
    }
}

/* What the tile after the next reads, or, to wait in L2, the one so many tiles on. */
static inline void fetch_tile(const char *tile, ptrdiff_t pitch, int rows, bool far) {
    enum { FAR_TILES = 16 };
    for (int i = 0; i < rows; i++) { /* it may lie outside */
        uintptr_t row = (uintptr_t)tile + (uintptr_t)(i * pitch);
        if (far) {
            __builtin_prefetch((const char *)(row + FAR_TILES * STREAM_LINE), 0, 2);
        } else {
            __builtin_prefetch((const char *)(row + 2 * STREAM_LINE));
        }
    }
}

/* As many of dst's rows at a time as a tile of registers has; each is stored as a whole: lines of other rows between its own
   would cost memory a change of row each. Not so in place, where nothing is copied meanwhile: lines leave straight from
   registers. Golden Cove follows 32 rows by itself (asked for, and put together first, they took a sixth longer), but not the 64
   rows of elements of 2 bytes (asked for, a fifth less). Zen 4 follows neither: asked for far ahead, to come to L2, 32 rows take 6.2 ms
   instead of 9.6 (8192 x 4096 f32, 2026-11); nor does Zen 5, which takes 3.9 so, 4.7 without and 3.5 with lines near by. Inlined with a
   constant tile. */
static inline __attribute__((always_inline)) void turn_tiles(const turn_step *s, tile_fn *tile, int edge, int log2) {
    int64_t row_bytes = s->rows << log2;
    ptrdiff_t pitch = s->full_pitch;
    turn_copy copy = {.from = s->from, .to = s->empty, .at = 0};
    int lines = edge * edge << log2 >> 6; /* of a tile */
    char turned[32 * (TURN_MOST_ROWS << 2)];
    for (int64_t j = 0; j < s->run >> log2; j += edge) {
        for (int64_t i = 0; i < s->rows; i += edge) {
            if (s->in_place && (log2 == 1 || s->asks)) {
                fetch_tile(s->full + i * pitch + (j << log2), pitch, edge, s->asks_far);
            }
            if (s->empty != NULL) {
                copy_lines(s, &copy, lines);
            }
            if (s->in_place) {
                tile(s->to + j * s->to_stride + (i << log2), s->full + i * pitch + (j << log2), s->to_stride, pitch, true);
            } else if (s->full != NULL) {
                tile(turned + (i << log2), s->full + i * pitch + (j << log2), row_bytes, pitch, false);
            }
        }
        for (int k = 0; s->full != NULL && !s->in_place && k < edge; k++) {
            stream_lines(s->to + (j + k) * s->to_stride, turned + k * row_bytes, (size_t)row_bytes);
        }
    }
}

static inline void stream_turned(const turn_step *s) {
#if defined(__AVX512BW__)
    if (s->log2 == 1) {
        turn_tiles(s, tile_lines_16, LINE_16, 1);
        return;
    }
#endif
    if (s->log2 == 2 && TILE_32 << 2 == STREAM_LINE) {
        turn_tiles(s, tile_32, TILE_32, 2);
    } else if (s->log2 == 3 && TILE_64 << 3 == STREAM_LINE) {
        turn_tiles(s, tile_64, TILE_64, 3);
    }
}

/* A line of which `into` bytes are the last of `rest`, the others the first of `made`. */
static inline void stream_joined(char *to, const char *rest, const char *made, int64_t into) {
#if defined(__AVX512BW__)
    /* As two loads: a line put together in memory would be read before it is there. */
    __mmask64 before = ((__mmask64)1 << into) - 1;
    __m512i line = _mm512_maskz_loadu_epi8(before, rest + STREAM_LINE - into);
    _mm512_stream_si512((__m512i *)(void *)to, _mm512_mask_loadu_epi8(line, ~before, made - into));
#else
    _Alignas(STREAM_LINE) char line[STREAM_LINE];
    memcpy(line, rest + STREAM_LINE - into, (size_t)into);
    memcpy(line + into, made, (size_t)(STREAM_LINE - into));
    stream_line(to, line);
#endif
}

/* One row of dst, of which these are the next bytes. */
static inline void store_across(const turn_across *s, int64_t column, const char *made, int64_t bytes) {
    char *to = s->to + column * s->to_stride, *rest = s->rest + column * STREAM_LINE;
    int64_t into = (int64_t)((uintptr_t)to % STREAM_LINE), at = 0;
    if (into > 0) {
        at = bytes < STREAM_LINE - into ? bytes : STREAM_LINE - into; /* what goes to a line that has begun */
        if (s->first || at < STREAM_LINE - into) {
            memcpy(to, made, (size_t)at);
            if (!s->first) {
                memcpy(to - into, rest + STREAM_LINE - into, (size_t)into);
            }
        } else {
            stream_joined(to - into, rest, made, into);
        }
    }
    for (; at + STREAM_LINE <= bytes; at += STREAM_LINE) {
        stream_line(to + at, made + at);
    }
    if (s->last) {
        memcpy(to + at, made + at, (size_t)(bytes - at));
    } else {
        memcpy(rest, made + bytes - STREAM_LINE, STREAM_LINE);
    }
}

#endif
