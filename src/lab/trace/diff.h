/* SPDX-License-Identifier: Apache-2.0 */
/* What changed between two traces, kernel by kernel and operator by operator. */
#ifndef LAB_TRACE_DIFF_H
#define LAB_TRACE_DIFF_H

#include "base/arena.h"
#include "base/json.h"
#include "lab/trace/figures.h"

/* One name in both; where a side has none of it, that side's count and time are 0. */
typedef struct trace_change {
    const char *name; /* NULL: kernels whose operator the trace does not tell */
    trace_work work;
    uint64_t count_a, count_b;
    double time_a_s, time_b_s;
    double change_s; /* b - a: more than 0 got slower */
} trace_change;

typedef struct trace_diff {
    const trace_figures *a, *b; /* borrowed */
    trace_change *kernels;      /* what got slower most first, equals by name */
    size_t n_kernels;
    trace_change *operators; /* likewise, by their kernels' time; none where a side was read without by_operator */
    size_t n_operators;
} trace_diff;

/* Arrays in `memory`; names borrowed from the figures, which outlive the result. */
status trace_diff_make(const trace_figures *a, const trace_figures *b, arena *memory, trace_diff *out, error *err);

/* One object. At most n_top changes each (0: all), the largest in either direction. */
void trace_diff_json(json_writer *w, const char *path_a, const char *path_b, const trace_diff *d, size_t n_top);

/* The n largest changes in either direction, in `largest` (room for n), slower ones first. Returns how many. */
size_t trace_diff_largest(const trace_change *changes, size_t n_changes, size_t n, const trace_change **largest);

#endif
