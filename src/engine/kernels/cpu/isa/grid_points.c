/* SPDX-License-Identifier: Apache-2.0 */
/* Where grid points read, in f32: the vector twin of grid_taps (schema/resample.c), for linear and nearest sampling. */
#include "engine/kernels/cpu/isa/resample_loops.h"

#include <math.h>
#include <stdbool.h>
#include <stddef.h>

#define INLINE static inline __attribute__((always_inline))

typedef struct axis_taps {
    int32_t first;   /* may lie outside, as may the one behind it */
    float low, high; /* weights of the first and the one behind it */
    float slope;     /* of the second; the first's is its opposite */
} axis_taps;

INLINE axis_taps taps_of(const grid_quick_axis *a, float coordinate, bool nearest) {
    float last = (float)(a->size - 1), at = (coordinate + 1) * a->half - a->shift, slope = a->per_unit;
    bool fits = fabsf(at) < INFINITY;
    slope = a->border && (at <= 0 || at >= last) ? 0 : slope;
    float low = a->border ? 0 : -2, high = a->border ? last : last + 2; /* what is outside stays so */
    at = at < low ? low : at;
    at = at > high ? high : at;
    at = fits ? at : -2;
    if (nearest) {
        float rounded = (at + 0x1.8p23f) - 0x1.8p23f; /* half to even */
        return (axis_taps){.first = (int32_t)rounded};
    }
    int32_t whole = (int32_t)at;
    whole -= (float)whole > at;
    return (axis_taps){.first = whole, .low = (float)whole + 1 - at, .high = at - (float)whole, .slope = slope};
}

INLINE int32_t offset_of(int32_t row, int32_t column, const grid_quick_axis axes[2]) {
    bool inside = (row >= 0) & (row < axes[0].size) & (column >= 0) & (column < axes[1].size);
    int32_t offset = row * axes[1].size + column;
    return inside ? offset : -1;
}

INLINE void fill(const grid_quick *q, const grid_quick_axis *rows, const grid_quick_axis *columns, const float *xy, int64_t from,
                 int64_t n, bool nearest, bool slopes) {
    const grid_quick_axis axes[2] = {*rows, *columns};
    int64_t total = q->points;
    int32_t *o = q->offset + from;
    float *w = nearest ? NULL : q->weight + from, *r = slopes ? q->row_slope + from : NULL,
          *c = slopes ? q->column_slope + from : NULL;
#pragma omp simd
    for (int64_t p = 0; p < n; p++) {
        axis_taps x = taps_of(&axes[1], xy[2 * p], nearest), y = taps_of(&axes[0], xy[2 * p + 1], nearest);
        o[p] = offset_of(y.first, x.first, axes);
        if (!nearest) {
            o[total + p] = offset_of(y.first, x.first + 1, axes);
            o[2 * total + p] = offset_of(y.first + 1, x.first, axes);
            o[3 * total + p] = offset_of(y.first + 1, x.first + 1, axes);
            w[p] = y.low * x.low;
            w[total + p] = y.low * x.high;
            w[2 * total + p] = y.high * x.low;
            w[3 * total + p] = y.high * x.high;
        }
        if (slopes) {
            c[p] = -x.slope * y.low;
            c[total + p] = x.slope * y.low;
            c[2 * total + p] = -x.slope * y.high;
            c[3 * total + p] = x.slope * y.high;
            r[p] = -y.slope * x.low;
            r[total + p] = -y.slope * x.high;
            r[2 * total + p] = y.slope * x.low;
            r[3 * total + p] = y.slope * x.high;
        }
    }
}

void ISA_SYMBOL(grid_points)(const grid_quick *q, const grid_quick_axis axes[2], const float *xy, int64_t from, int64_t n) {
    if (q->taps == 1) {
        fill(q, &axes[0], &axes[1], xy, from, n, true, false);
    } else if (q->row_slope == NULL) {
        fill(q, &axes[0], &axes[1], xy, from, n, false, false);
    } else {
        fill(q, &axes[0], &axes[1], xy, from, n, false, true);
    }
}
