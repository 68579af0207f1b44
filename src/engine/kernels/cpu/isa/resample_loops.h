/* SPDX-License-Identifier: Apache-2.0 */
/* Resampling by tables of sources and weights, and grid sampling, a row or a plane at a time. f16, bf16, u8 and f32
   compute in f32, f64 in f64. */
#ifndef ENGINE_KERNELS_CPU_ISA_RESAMPLE_LOOPS_H
#define ENGINE_KERNELS_CPU_ISA_RESAMPLE_LOOPS_H

#include "engine/kernels/cpu/isa.h"
#include "engine/tensor/dtype.h"

#include <stdbool.h>

/* Along one axis, target t is the sum of weight[k] * source[k] for k of [start[t], start[t + 1]). */
typedef struct resample_table {
    int64_t n; /* targets */
    int64_t *start;
    int32_t *source;
    double *weight;
    float *weight_f32;
} resample_table;

/* The same tap by tap, for vector code: tap k of target t is at k * lanes + t, where lanes is n in whole groups of
   RESAMPLE_LANES. Taps that there are not read the element behind the last one, by weight 0. */
enum { RESAMPLE_LANES = 16 };
typedef struct resample_lanes {
    int taps;      /* of each target; 0: too many, take the table */
    int64_t lanes;
    bool is_plain; /* one tap at most, by weight 1 */
    bool has_gaps; /* some taps there are not */
    int each, sums; /* targets of each source, sources of each target, where these are neighbours, by weight 1; 0: not so */
    int32_t *source;
    double *weight;
    float *weight_f32;
} resample_lanes;

/* Strides in elements: batch, channel, row, column. */
typedef struct resample_job {
    dtype dtype;
    int64_t channels, x_rows, x_columns;
    /* Where channels lie side by side in the input's rows, these are a plane's, of x_columns elements, and `channels` is 1. One of
       the following is then more than 1, or columns are of elements. */
    int64_t inside; /* planes of the output that each of the input's holds: the next one's sources begin an element later */
    int64_t pixel;  /* elements of each column in the output too */
    resample_table rows, columns;
    resample_lanes across; /* columns */
    const char *x;
    char *out;
    int64_t x_step[4], out_step[4];
} resample_job;

/* Rows of the input whose columns are made at once, each for all rows of the output that read it. */
enum { RESAMPLE_KEPT_ROWS = 4 };

/* Rows [y, end) of one plane of the output. work: 8 bytes for each of twice the input's columns, the output's elements in a row, 64 and
   `inside`; and for each lane of RESAMPLE_KEPT_ROWS where they are kept. */
typedef void resample_plane_fn(const resample_job *job, int64_t n, int64_t c, int64_t y, int64_t end, void *work);

/* The taps of grid points [first, first + points) of one image: `taps` per axis, [point][tap]; index -1 reads nothing. */
typedef struct grid_table {
    int taps;
    int64_t first, points;
    int32_t *row, *column;
    double *row_weight, *column_weight, *row_slope, *column_slope;
} grid_table;

/* How taps find an image's plane: as it lies, dense and of the loops' own type; made so in work, all of it; or element by element, which is
   less where there are fewer taps than elements. */
typedef enum grid_reading { GRID_AS_IT_LIES, GRID_WHOLE, GRID_BY_ELEMENT } grid_reading;

typedef struct grid_job {
    dtype dtype;
    grid_reading reading;
    bool sums_in_place;                  /* of a backward: in out, which is dense and of the loops' own type */
    int64_t rows, columns, out_columns;
    grid_table table;
    const char *x, *grad;                /* grad: of a backward */
    char *out;                           /* forward: the samples; backward: the input's gradient, or NULL */
    int64_t x_step[4], grad_step[4], out_step[4];
} grid_job;

/* The table's points of plane c of image n. work, in elements of the loops' type: rows * columns where a plane is made whole, and points. */
typedef void grid_plane_fn(const grid_job *job, int64_t n, int64_t c, void *work);
/* Of a table of all points. work: as many, and rows * columns for sums that have another place than out. As well adds to xy [points][2], this thread's part of the grid's gradient. */
typedef void grid_back_fn(const grid_job *job, int64_t n, int64_t c, void *work, double *xy);

/* Points of one image as the quick loops want them, for f32 with one tap or four per point: tap by tap, `points` each.
   offset: of the tap in its plane, -1 for one that reads nothing. Slopes are by the grid's coordinates. */
typedef struct grid_quick {
    int taps;
    int64_t points;
    int32_t *offset;
    float *weight, *row_slope, *column_slope;
} grid_quick;

/* One axis as the quick loops see it: padding by zeros or by the border. */
typedef struct grid_quick_axis {
    float half, shift; /* position = (coordinate + 1) * half - shift */
    float per_unit;    /* positions per coordinate: of slopes */
    int32_t size;
    int border;
} grid_quick_axis;

/* Points [from, from + n) from their coordinates xy [n][2], column first. axes: rows, columns. Slopes if q has them. */
typedef void grid_points_fn(const grid_quick *q, const grid_quick_axis axes[2], const float *xy, int64_t from, int64_t n);

/* out[p] = the sum of point p's taps in a plane of f32. */
typedef void grid_quick_fn(const grid_quick *q, const float *plane, float *out, int64_t from, int64_t to); /* points [from, to) */
typedef void grid_lanes_fn(const grid_quick *q, const float *planes, float *out);
/* Adds grad[p] times the weights to sums (or not: NULL), and each point's own gradient to x and y. */
typedef void grid_quick_back_fn(const grid_quick *q, const float *plane, const float *grad, float *sums, float *x, float *y);

/* The same for GRID_LANES planes at once, their elements side by side: [pixel][lane] and [point][lane]. Of GRID_TAPS taps, and so many
   pixels before the first are there for those outside the image: 0 where planes are read, anything where sums are added to. */
enum { GRID_LANES = 8, GRID_TAPS = 4 };

/* A few planes turned round, as f32: GRID_FEW side by side in each pixel, 0 for planes there are not. Around them lie GRID_BORDERS rows and
   columns of zeros, so that whatever is read outside is that; those to the right are the ones to the left of the next row. */
enum { GRID_FEW = 4, GRID_BORDERS = 2, GRID_BLOCK = 128 };
typedef struct grid_few {
    grid_quick_axis axes[2]; /* rows, columns */
    int64_t channels;        /* more than GRID_FEW of them are images one behind the other */
    const float *image;
    bool is_nearest;         /* samples only, and these are elements; else of linear interpolation */
} grid_few;

static inline int64_t grid_few_pixels(const grid_quick_axis axes[2]) {
    return ((int64_t)axes[0].size + 2 * GRID_BORDERS) * (axes[1].size + GRID_BORDERS) + GRID_BORDERS;
}

/* Where points read such images: the pixel of the first of four elements, and what its row's two and its column's two count. */
typedef struct grid_places {
    int32_t offset[GRID_BLOCK];
    float left[GRID_BLOCK], right[GRID_BLOCK], upper[GRID_BLOCK], lower[GRID_BLOCK];
} grid_places;

/* At most GRID_BLOCK points; the gradients of their coordinates, to [n][2], by those of their positions. */
typedef void grid_places_fn(grid_places *to, const grid_quick_axis axes[2], const float *xy, int64_t n);
typedef void grid_slopes_fn(float *to, const grid_quick_axis axes[2], const float *xy, const float *by_x, const float *by_y, int64_t n);
/* Samples at points from their coordinates xy [n][2], column first, in each plane: to out[plane * out_step + point]. */
typedef void grid_few_fn(const grid_few *f, const float *xy, float *out, int64_t out_step, int64_t n);
/* Gradients of the coordinates, out [n][2], by those of the samples, grad[plane * grad_step + point]. */
typedef void grid_few_back_fn(const grid_few *f, const float *xy, const float *grad, int64_t grad_step, float *out, int64_t n);
/* to[i][k] = from[k * from_step + i] for k below m, which is at most GRID_FEW, else 0. */
typedef void grid_few_in_fn(float *to, const float *from, int64_t from_step, int64_t m, int64_t n);

typedef struct resample_loops {
    resample_plane_fn *plane[2]; /* f32, f64 */
    resample_plane_fn *plane_kept[2]; /* the same for rows of at most so many taps, columns of no more, and neither pixels nor planes inside */
    grid_plane_fn *grid[2];
    grid_back_fn *grid_back[2];
    grid_points_fn *grid_points;
    grid_quick_fn *grid_quick;
    grid_quick_back_fn *grid_quick_back;
    /* m planes of n elements, `row` apart, to [element][lane] (lanes behind m are left) and back. */
    void (*to_lanes)(float *to, const float *from, int64_t row, int64_t m, int64_t n);
    void (*from_lanes)(float *to, const float *from, int64_t row, int64_t m, int64_t n);
    grid_lanes_fn *grid_lanes;
    grid_quick_back_fn *grid_lanes_back; /* sums: never NULL */
    grid_few_fn *grid_few;
    grid_few_back_fn *grid_few_back;
    grid_few_in_fn *grid_few_in;
} resample_loops;

/* In a file of its own, grid_points.c, which is built without contracted products (cmake/isa.cmake): schema/resample.h says
   why positions are computed in just one way. */
extern grid_points_fn grid_points_baseline, grid_points_avx2, grid_points_avx512;
extern grid_places_fn grid_places_baseline, grid_places_avx2, grid_places_avx512;
extern grid_places_fn grid_nearest_places_baseline, grid_nearest_places_avx2, grid_nearest_places_avx512; /* offsets only */
extern grid_slopes_fn grid_slopes_baseline, grid_slopes_avx2, grid_slopes_avx512;

/* grid_few_points.c */
extern grid_few_fn grid_few_baseline, grid_few_avx2, grid_few_avx512;
extern grid_few_back_fn grid_few_back_baseline, grid_few_back_avx2, grid_few_back_avx512;
extern grid_few_in_fn grid_few_in_baseline, grid_few_in_avx2, grid_few_in_avx512;

extern const resample_loops resample_loops_baseline, resample_loops_avx2, resample_loops_avx512;

#endif
