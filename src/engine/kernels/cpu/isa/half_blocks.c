/* SPDX-License-Identifier: Apache-2.0 */
/* Element-wise loops over f16 and bf16: blocks are brought to f32, put through a loop in f32 and brought back, all in L1. */
#include "engine/kernels/cpu/isa/half.h"
#include "engine/kernels/cpu/isa/stream.h"
#include "engine/kernels/cpu/pointwise.h"

/* Of an operand further on: the CPU reads ahead by itself within a page of 4 KiB, not into the next. */
static inline void fetch_ahead(const char *x, int64_t bytes) {
    enum { AHEAD_BYTES = 4096 };
    for (int64_t at = 0; at < bytes; at += STREAM_LINE) {
        __builtin_prefetch((const char *)((uintptr_t)x + (uintptr_t)at + AHEAD_BYTES)); /* it may lie outside */
    }
}

static inline void widen(float *to, const void *from, dtype t, int64_t n) {
    if (t == ASSAY_F16) {
        floats_of_f16(to, from, n);
    } else {
        floats_of_bf16(to, from, n);
    }
}

static inline void narrow(uint16_t *to, const float *from, dtype t, int64_t n) {
    if (t == ASSAY_F16) {
        f16_of_floats(to, from, n);
    } else {
        bf16_of_floats(to, from, n);
    }
}

/* Results of a block, where they are not stored by the loop itself. */
static inline void put(const pointwise_halves *h, char *to, const float *made, int64_t n, bool streams) {
    _Alignas(STREAM_LINE) uint16_t halves[HALVES_BLOCK];
    if (h->out_step != sizeof *halves) {
        stream_lines(to, made, (size_t)(n * h->out_step));
        return;
    }
    narrow(streams ? halves : (uint16_t *)(void *)to, made, h->type, n);
    if (streams) {
        stream_lines(to, halves, sizeof halves);
    }
}

void ISA_SYMBOL(pointwise_halves_run)(const pointwise_halves *h) {
    _Alignas(STREAM_LINE) float wide[POINTWISE_INPUTS][HALVES_BLOCK], made[HALVES_BLOCK];
    pointwise_chunk part = h->chunk;
    for (int64_t at = 0; at < h->chunk.n; at += HALVES_BLOCK) {
        int64_t n = h->chunk.n - at < HALVES_BLOCK ? h->chunk.n - at : HALVES_BLOCK;
        bool streams = h->streams && n == HALVES_BLOCK;
        char *to = (char *)h->chunk.out + at * h->out_step;
        for (int k = 0; k < h->n; k++) {
            const char *x = (const char *)h->chunk.in[k] + at * h->step[k];
            part.in[k] = x;
            if (h->step[k] == sizeof(uint16_t)) {
                if (h->fetches && (h->chunk.near >> k & 1) == 0) {
                    fetch_ahead(x, n * h->step[k]);
                }
                widen(wide[k], x, h->type, n);
                part.in[k] = wide[k];
            }
        }
        part.n = n;
        part.out = h->out_step == sizeof(uint16_t) || streams ? (void *)made : to;
        h->loop(&part);
        if (part.out == made) {
            put(h, to, made, n, streams);
        }
    }
}
