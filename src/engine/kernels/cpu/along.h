/* SPDX-License-Identifier: Apache-2.0 */
/* Plans of operators that go along one dimension, line by line: running sums (cumsum.c) and the k largest (sort.c). */
#ifndef ENGINE_KERNELS_CPU_ALONG_H
#define ENGINE_KERNELS_CPU_ALONG_H

#include "engine/kernels/cpu/isa/row_halves.h"
#include "engine/kernels/cpu/kernels.h"
#include "engine/kernels/cpu/nest.h"
#include "engine/kernels/cpu/row_loops.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct along {
    const row_loops *l;
    loop lines; /* all dimensions but one: operand 0 the input, then the outputs */
    dtype in, out;
    int64_t columns; /* cumsum: lines side by side at once */
    int64_t n, k, in_stride, out_stride, place_stride; /* strides along the line, in bytes */
    bool largest;
    bool streams; /* cumsum: lines of sums go past the caches */
    bool rows_stream; /* cumsum: rows of sums of lines side by side do. On two cores of a Granite Rapids [64, 512, 1024] f32 along dimension 1
                         takes 7.1 ms so, 10.3 otherwise, blocks of half a row 9.5 and 10.9 (2026-11) */
    row_wide *parts;          /* cumsum: NULL, or each thread's sums of its part of few lines side by side (run_cumsum_parts) */
    const row_halves *halves; /* cumsum: of one half type onto another tensor of it, both dense; else NULL */
    bool halves_stream;       /* the same of those */
    bool lines_stream;        /* the same of short lines */
    int threads;
    bool by_keys;  /* topk.h serves the type; of i64, lines whose numbers lie close together */
    int64_t least; /* of a smaller integer type: what keys count from */
    void *work;   /* topk: entries for each thread */
    size_t work_bytes;
} along;

/* The plan's state, in its memory: lines along dimension `dim` of the call's first tensor and of what it answers. */
status along_plan(kernel_plan *plan, int64_t dim, along **out, error *err);

#endif
