/* SPDX-License-Identifier: Apache-2.0 */
/* Where grid points read, in f32: the vector twin of grid_taps (schema/resample.c), for linear and nearest sampling. */
#include "engine/kernels/cpu/isa/resample_loops.h"

#include <math.h>
#include <stdbool.h>
#include <stddef.h>

#define INLINE static inline __attribute__((always_inline))

/* An axis with its rules as numbers, so that a point takes no branch. */
typedef struct limits {
    grid_quick_axis axis;
    float low, high;   /* positions are brought between these: what lies outside the image stays outside */
    float first, last; /* no slope up to first and from last on */
} limits;

static limits limits_of(const grid_quick_axis *a) {
    float last = (float)(a->size - 1);
    return a->border ? (limits){*a, 0, last, 0, last} : (limits){*a, -2, last + 2, -INFINITY, INFINITY};
}

INLINE float unnormalised(const limits *a, float coordinate) {
    return (coordinate + 1) * a->axis.half - a->axis.shift;
}

INLINE float position_of(const limits *a, float coordinate) {
    float at = unnormalised(a, coordinate);
    bool fits = fabsf(at) < INFINITY;
    at = at < a->low ? a->low : at;
    at = at > a->high ? a->high : at;
    return fits ? at : -2;
}

INLINE float slope_of(const limits *a, float coordinate) {
    float at = unnormalised(a, coordinate);
    return ((at > a->first) & (at < a->last)) ? a->axis.per_unit : 0;
}

/* x rounded to the nearest, half to even. */
INLINE int32_t nearest(float x) {
    return (int32_t)((x + 0x1.8p23f) - 0x1.8p23f);
}

INLINE int32_t offset_of(int32_t row, int32_t column, int32_t rows, int32_t columns) {
    int32_t inside = -(int32_t)(((uint32_t)row < (uint32_t)rows) & ((uint32_t)column < (uint32_t)columns));
    return (row * columns + column) | ~inside; /* -1 outside */
}

enum { BLOCK = 128 };

/* One axis of a block of points: the first element read, the weights of it and the one behind it, the second's slope (the
   first's is its opposite). */
typedef struct block {
    int32_t first[BLOCK];
    float low[BLOCK], high[BLOCK], slope[BLOCK];
} block;

/* xy: coordinates, every second is the axis's. */
static void work_out(block *b, const limits *a, const float *xy, int64_t n) {
    const limits l = *a;
    for (int64_t p = 0; p < n; p++) {
        float at = position_of(&l, xy[2 * p]), down = floorf(at);
        b->first[p] = (int32_t)down;
        b->low[p] = down + 1 - at;
        b->high[p] = at - down;
        b->slope[p] = slope_of(&l, xy[2 * p]);
    }
}

static void work_out_nearest(block *b, const limits *a, const float *xy, int64_t n) {
    const limits l = *a;
    for (int64_t p = 0; p < n; p++) {
        b->first[p] = nearest(position_of(&l, xy[2 * p]));
    }
}

static void set_offsets(int32_t *restrict to, const block *rows, int32_t down, const block *columns, int32_t right,
                        const grid_quick_axis axes[2], int64_t n) {
    int32_t height = axes[0].size, width = axes[1].size;
    for (int64_t p = 0; p < n; p++) {
        to[p] = offset_of(rows->first[p] + down, columns->first[p] + right, height, width);
    }
}

static void set_products(float *restrict to, const float *x, const float *y, float sign, int64_t n) {
    for (int64_t p = 0; p < n; p++) {
        to[p] = sign * x[p] * y[p];
    }
}

void ISA_SYMBOL(grid_points)(const grid_quick *q, const grid_quick_axis axes[2], const float *xy, int64_t from, int64_t n) {
    const limits rows = limits_of(&axes[0]), columns = limits_of(&axes[1]);
    block y, x;
    for (int64_t done = 0; done < n; done += BLOCK) {
        int64_t m = n - done < BLOCK ? n - done : BLOCK, at = from + done;
        if (q->taps == 1) {
            work_out_nearest(&x, &columns, xy + 2 * done, m);
            work_out_nearest(&y, &rows, xy + 2 * done + 1, m);
            set_offsets(q->offset + at, &y, 0, &x, 0, axes, m);
            continue;
        }
        work_out(&x, &columns, xy + 2 * done, m);
        work_out(&y, &rows, xy + 2 * done + 1, m);
        for (int k = 0; k < 4; k++, at += q->points) {
            const float *by_row = k < 2 ? y.low : y.high, *by_column = k % 2 == 0 ? x.low : x.high;
            set_offsets(q->offset + at, &y, k / 2, &x, k % 2, axes, m);
            set_products(q->weight + at, by_row, by_column, 1, m);
            if (q->row_slope != NULL) {
                set_products(q->row_slope + at, y.slope, by_column, k < 2 ? -1 : 1, m);
                set_products(q->column_slope + at, by_row, x.slope, k % 2 == 0 ? -1 : 1, m);
            }
        }
    }
}

/* first, or where there is more than one element of border behind the last, the first such. */
INLINE int32_t kept(int32_t first, int32_t size) {
    return first < size ? first : size;
}

void ISA_SYMBOL(grid_places)(grid_places *restrict to, const grid_quick_axis axes[2], const float *restrict xy, int64_t n) {
    const limits rows = limits_of(&axes[0]), columns = limits_of(&axes[1]);
    for (int64_t p = 0; p < n; p++) {
        float x = position_of(&columns, xy[2 * p]), y = position_of(&rows, xy[2 * p + 1]), left = floorf(x), upper = floorf(y);
        int32_t row = kept((int32_t)upper, rows.axis.size) + GRID_BORDERS;
        int32_t column = kept((int32_t)left, columns.axis.size) + GRID_BORDERS;
        to->offset[p] = row * (columns.axis.size + GRID_BORDERS) + column;
        to->left[p] = left + 1 - x;
        to->right[p] = x - left;
        to->upper[p] = upper + 1 - y;
        to->lower[p] = y - upper;
    }
}

void ISA_SYMBOL(grid_nearest_places)(grid_places *restrict to, const grid_quick_axis axes[2], const float *restrict xy, int64_t n) {
    const limits rows = limits_of(&axes[0]), columns = limits_of(&axes[1]);
    for (int64_t p = 0; p < n; p++) {
        int32_t column = kept(nearest(position_of(&columns, xy[2 * p])), columns.axis.size) + GRID_BORDERS;
        int32_t row = kept(nearest(position_of(&rows, xy[2 * p + 1])), rows.axis.size) + GRID_BORDERS;
        to->offset[p] = row * (columns.axis.size + GRID_BORDERS) + column;
    }
}

void ISA_SYMBOL(grid_slopes)(float *restrict to, const grid_quick_axis axes[2], const float *restrict xy, const float *restrict by_x,
                             const float *restrict by_y, int64_t n) {
    const limits rows = limits_of(&axes[0]), columns = limits_of(&axes[1]);
    for (int64_t p = 0; p < n; p++) {
        to[2 * p] = by_x[p] * slope_of(&columns, xy[2 * p]);
        to[2 * p + 1] = by_y[p] * slope_of(&rows, xy[2 * p + 1]);
    }
}
