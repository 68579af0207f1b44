/* SPDX-License-Identifier: Apache-2.0 */
/* resample_template.h for its two types. */
#include "engine/kernels/cpu/isa/resample_loops.h"

#include "engine/kernels/cpu/isa/convert_loops.h"

#include <stdbool.h>
#include <string.h>

static const convert_loops *const converters = &ISA_SYMBOL(convert_loops);

#define TYPE      float
#define NAME(x)   x##_f32
#define WEIGHTS   weight_f32
#define OWN_DTYPE ASSAY_F32
#define INTO       to_f32
#define OUT_OF     from_f32
#define LOAD       element_load
#define STORE      element_store
#include "engine/kernels/cpu/isa/resample_template.h"
#define TYPE      double
#define NAME(x)   x##_f64
#define WEIGHTS   weight
#define OWN_DTYPE ASSAY_F64
#define INTO       to_f64
#define OUT_OF     from_f64
#define LOAD       element_load
#define STORE      element_store
#include "engine/kernels/cpu/isa/resample_template.h"

/* Loads are made whether they count or not, which is what lets them become gathers. */
static inline float tap(const float *plane, int32_t offset) {
    float value = plane[offset < 0 ? 0 : offset];
    return offset < 0 ? 0 : value;
}

static void grid_quick_f32(const grid_quick *q, const float *plane, float *restrict out) {
    int64_t n = q->points;
    const int32_t *o = q->offset;
    const float *w = q->weight;
    if (q->taps == 1) {
        for (int64_t p = 0; p < n; p++) {
            out[p] = tap(plane, o[p]);
        }
        return;
    }
    for (int64_t p = 0; p < n; p++) {
        out[p] = (w[p] * tap(plane, o[p]) + w[n + p] * tap(plane, o[n + p])) +
                 (w[2 * n + p] * tap(plane, o[2 * n + p]) + w[3 * n + p] * tap(plane, o[3 * n + p]));
    }
}

static void grid_quick_back_f32(const grid_quick *q, const float *plane, const float *restrict grad, float *restrict sums,
                                float *restrict x, float *restrict y) {
    int64_t n = q->points;
    const int32_t *o = q->offset;
    const float *w = q->weight, *r = q->row_slope, *c = q->column_slope;
    for (int64_t p = 0; q->taps == 4 && p < n; p++) { /* nearest points have no slope */
        float v0 = tap(plane, o[p]), v1 = tap(plane, o[n + p]), v2 = tap(plane, o[2 * n + p]), v3 = tap(plane, o[3 * n + p]);
        x[p] += grad[p] * ((v0 * c[p] + v1 * c[n + p]) + (v2 * c[2 * n + p] + v3 * c[3 * n + p]));
        y[p] += grad[p] * ((v0 * r[p] + v1 * r[n + p]) + (v2 * r[2 * n + p] + v3 * r[3 * n + p]));
    }
    for (int64_t p = 0; sums != NULL && p < n; p++) {
        for (int k = 0; k < q->taps; k++) {
            if (o[k * n + p] >= 0) {
                sums[o[k * n + p]] += grad[p] * w[k * n + p];
            }
        }
    }
}

extern const resample_loops ISA_SYMBOL(resample_loops);
const resample_loops ISA_SYMBOL(resample_loops) = {.plane = {plane_f32, plane_f64},
                                                   .over_channels = {channels_f32, channels_f64},
                                                   .grid = {grid_f32, grid_f64},
                                                   .grid_back = {grid_back_f32, grid_back_f64},
                                                   .grid_points = ISA_SYMBOL(grid_points),
                                                   .grid_quick = grid_quick_f32,
                                                   .grid_quick_back = grid_quick_back_f32};
