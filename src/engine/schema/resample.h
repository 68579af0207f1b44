/* SPDX-License-Identifier: Apache-2.0 */
/* Where a resampled position reads, along one axis. Reference and kernels share this arithmetic because it is part of the
   operators' definition: ATen computes positions in the tensor's own precision (f32 for the 16-bit types), and where a
   position rounds or a floor steps, another precision would read another element. */
#ifndef ENGINE_SCHEMA_RESAMPLE_H
#define ENGINE_SCHEMA_RESAMPLE_H

#include "engine/schema/op.h"

/* Named by how many elements one position reads. */
typedef enum resample_mode { RESAMPLE_NEAREST = 1, RESAMPLE_LINEAR = 2, RESAMPLE_CUBIC = 4 } resample_mode;
enum { RESAMPLE_MAX_TAPS = 4 };

/* One axis of an upsample_*2d call. */
typedef struct resample_axis {
    resample_mode mode;
    bool align_corners;
    bool in_double;  /* positions in f64, else in f32 */
    double factor;   /* the call's scale factor; 0: from the sizes */
    int64_t in, out;
} resample_axis;

/* The elements that position dst of `out` reads and their weights; returns how many (the mode). */
int resample_taps(const resample_axis *axis, int64_t dst, int64_t *index, double *weight);
/* What the rounding of the position does to the weights, in units of the type that positions are computed in: the position's
   size times d weight / d position. */
void resample_sensitivity(const resample_axis *axis, int64_t dst, double *sensitivity);

/* Axes of an upsample_*2d.vec call: rows, columns. in: the input's 4 sizes. align_arg < 0: no such argument. INVALID where
   ATen refuses: no size or two, sizes out of range. */
status resample_axes(const op_call *call, resample_mode mode, const int64_t *in, int size_arg, int align_arg, int factor_arg,
                     dtype t, resample_axis out[2], error *err);

/* grid_sampler's settings, as ATen numbers them. */
enum { GRID_LINEAR = 0, GRID_NEAREST = 1, GRID_CUBIC = 2 };
enum { GRID_ZEROS = 0, GRID_BORDER = 1, GRID_REFLECTION = 2 };
typedef struct grid_axis {
    int interpolation;
    int padding;
    bool align_corners;
    bool in_double;
    int64_t size;
} grid_axis;

/* What a grid coordinate (-1 to 1) reads; index -1: outside, counts as 0. slope: d weight / d coordinate; may be NULL.
   A coordinate that is not finite reads nothing. Returns how many. */
int grid_taps(const grid_axis *axis, double coordinate, int64_t *index, double *weight, double *slope);

#endif
