/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes past the caches that lie one behind the other: what fills no line waits for those that do. */
#ifndef ENGINE_KERNELS_CPU_ISA_STREAM_EDGE_H
#define ENGINE_KERNELS_CPU_ISA_STREAM_EDGE_H

#include "engine/kernels/cpu/isa/stream.h"
#include "engine/kernels/cpu/row_edge.h"

/* n bytes, less than a line of memory and all in one: with what waits they make a line, or wait. */
static inline void edge_put(row_edge *e, char *to, const char *from, int64_t n) {
    const int64_t at = (int64_t)((uintptr_t)to % STREAM_LINE);
    if (n == 0) {
        return;
    }
    if (e->line != to - at || e->to != at) {
        row_edge_flush(e);
        e->line = to - at;
        e->from = at;
    }
    memcpy(e->bytes + at, from, (size_t)n);
    e->to = at + n;
    if (e->from == 0 && e->to == STREAM_LINE) {
        stream_line(e->line, e->bytes);
        e->line = NULL;
    }
}

/* n bytes to anywhere. */
static inline void stream_with_edge(row_edge *e, char *to, const char *from, int64_t n) {
    const int64_t begin = (int64_t)(-(uintptr_t)to % STREAM_LINE), head = begin < n ? begin : n;
    const int64_t whole = (n - head) / STREAM_LINE * STREAM_LINE;
    edge_put(e, to, from, head);
    stream_lines(to + head, from + head, (size_t)whole);
    edge_put(e, to + head + whole, from + head + whole, n - head - whole);
}

#endif
