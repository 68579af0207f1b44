/* SPDX-License-Identifier: Apache-2.0 */
/* resample_template.h for its two types. */
#include "engine/kernels/cpu/isa/resample_loops.h"

#include "device/caches.h"
#include "engine/kernels/cpu/isa/convert_loops.h"
#include "engine/kernels/cpu/isa/gather.h"

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
#define GATHERS    1
#include "engine/kernels/cpu/isa/resample_template.h"
#define TYPE      double
#define NAME(x)   x##_f64
#define WEIGHTS   weight
#define OWN_DTYPE ASSAY_F64
#define INTO       to_f64
#define OUT_OF     from_f64
#define LOAD       element_load
#define STORE      element_store
#define GATHERS    0
#include "engine/kernels/cpu/isa/resample_template.h"

/* Loads are made whether they count or not and selections are bits, not branches: so loops become gathers. */
static inline float tap(const float *plane, int32_t offset) {
    int32_t outside = offset >> 31, bits;
    float value = plane[offset & ~outside];
    memcpy(&bits, &value, sizeof bits);
    bits &= ~outside;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* As many of four taps each as there are whole vectors, by gathers, for Intel's processors: three planes of [96, 96] take 19 us instead of
   44 (two cores of a Granite Rapids, 2026-11); not tried on others. Answers where they end. */
static int64_t grid_gathered(const grid_quick *q, const float *plane, float *restrict out, int64_t from, int64_t to) {
    typedef int32_t lanes __attribute__((vector_size(4 * GATHER_LANES)));
    const int64_t n = q->points;
    for (; from + GATHER_LANES <= to; from += GATHER_LANES) {
        gather_lanes product[GRID_TAPS];
        for (int k = 0; k < GRID_TAPS; k++) {
            lanes at, outside;
            gather_lanes weight;
            int32_t inside[GATHER_LANES];
            memcpy(&at, q->offset + k * n + from, sizeof at);
            memcpy(&weight, q->weight + k * n + from, sizeof weight);
            outside = at >> 31;
            at &= ~outside;
            memcpy(inside, &at, sizeof at);
            gather_f32(&product[k], plane, inside);
            product[k] = (gather_lanes)((lanes)product[k] & ~outside) * weight;
        }
        product[0] = (product[0] + product[1]) + (product[2] + product[3]);
        memcpy(out + from, &product[0], sizeof product[0]);
    }
    return from;
}

static void grid_quick_f32(const grid_quick *q, const float *plane, float *restrict out, int64_t from, int64_t to) {
    int64_t n = q->points;
    const int32_t *o = q->offset;
    const float *w = q->weight;
    if (q->taps == 1) {
        for (int64_t p = from; p < to; p++) { /* single loads: 1.4 times as fast as gathers where nothing else is to do */
            out[p] = o[p] < 0 ? 0 : plane[o[p]];
        }
        return;
    }
    from = cpu_is_intel() ? grid_gathered(q, plane, out, from, to) : from;
    for (int64_t p = from; p < to; p++) {
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
                sums[o[k * n + p]] += q->taps == 1 ? grad[p] : grad[p] * w[k * n + p];
            }
        }
    }
}

typedef float lanes __attribute__((vector_size(4 * GRID_LANES)));

static inline lanes lanes_at(const float *from) {
    lanes v;
    memcpy(&v, from, sizeof v);
    return v;
}

/* to[j * to_row + i] = from[i * from_row + j], i and j below 8, by halves, quarters and eighths of a vector. */
static inline void turn_8x8(float *to, int64_t to_row, const float *from, int64_t from_row) {
    lanes r[8], t[8], u[8], v[8];
    for (int i = 0; i < 8; i++) {
        r[i] = lanes_at(from + i * from_row);
    }
    for (int i = 0; i < 8; i += 2) {
        t[i] = __builtin_shufflevector(r[i], r[i + 1], 0, 8, 1, 9, 4, 12, 5, 13);
        t[i + 1] = __builtin_shufflevector(r[i], r[i + 1], 2, 10, 3, 11, 6, 14, 7, 15);
    }
    for (int i = 0; i < 8; i += 4) {
        for (int k = 0; k < 2; k++) {
            u[i + 2 * k] = __builtin_shufflevector(t[i + k], t[i + k + 2], 0, 1, 8, 9, 4, 5, 12, 13);
            u[i + 2 * k + 1] = __builtin_shufflevector(t[i + k], t[i + k + 2], 2, 3, 10, 11, 6, 7, 14, 15);
        }
    }
    for (int i = 0; i < 4; i++) {
        v[i] = __builtin_shufflevector(u[i], u[i + 4], 0, 1, 2, 3, 8, 9, 10, 11);
        v[i + 4] = __builtin_shufflevector(u[i], u[i + 4], 4, 5, 6, 7, 12, 13, 14, 15);
    }
    for (int i = 0; i < 8; i++) {
        memcpy(to + i * to_row, &v[i], sizeof v[i]);
    }
}

static void to_lanes(float *to, const float *from, int64_t row, int64_t m, int64_t n) {
    int64_t j = 0;
    for (; m == GRID_LANES && j + 8 <= n; j += 8) {
        turn_8x8(to + j * GRID_LANES, GRID_LANES, from + j, row);
    }
    for (; j < n; j++) {
        for (int64_t k = 0; k < m; k++) {
            to[j * GRID_LANES + k] = from[k * row + j];
        }
    }
}

static void from_lanes(float *to, const float *from, int64_t row, int64_t m, int64_t n) {
    int64_t j = 0;
    for (; m == GRID_LANES && j + 8 <= n; j += 8) {
        turn_8x8(to + j, row, from + j * GRID_LANES, GRID_LANES);
    }
    for (; j < n; j++) {
        for (int64_t k = 0; k < m; k++) {
            to[k * row + j] = from[j * GRID_LANES + k];
        }
    }
}

/* Where tap k lies. Those outside the image, at -1, go to places before its first element, one for each tap, so that they need no branch,
   which for points anywhere would be guessed wrong every other time; written in bits, as compilers make a branch of a choice. */
static inline int64_t place_of(int32_t offset, int k) {
    return (int64_t)(offset - (k & (offset >> 31))) * GRID_LANES;
}

static void grid_lanes_f32(const grid_quick *q, const float *plane, float *out) {
    const grid_quick of = *q;
    for (int64_t p = 0; p < of.points; p++) {
        lanes sum = {0};
        for (int k = 0; k < GRID_TAPS; k++) {
            int64_t i = k * of.points + p;
            sum += of.weight[i] * lanes_at(plane + place_of(of.offset[i], k));
        }
        memcpy(out + p * GRID_LANES, &sum, sizeof sum);
    }
}

static inline float sum_of_lanes(lanes v) {
    return ((v[0] + v[1]) + (v[2] + v[3])) + ((v[4] + v[5]) + (v[6] + v[7]));
}

static void grid_lanes_back_f32(const grid_quick *q, const float *plane, const float *grad, float *sums, float *x, float *y) {
    const grid_quick of = *q;
    for (int64_t p = 0; p < of.points; p++) {
        lanes g = lanes_at(grad + p * GRID_LANES), by_column = {0}, by_row = {0};
        for (int k = 0; k < GRID_TAPS; k++) {
            int64_t i = k * of.points + p, at = place_of(of.offset[i], k);
            lanes sum = lanes_at(sums + at) + of.weight[i] * g, value = lanes_at(plane + at);
            memcpy(sums + at, &sum, sizeof sum);
            by_column += of.column_slope[i] * value;
            by_row += of.row_slope[i] * value;
        }
        x[p] += sum_of_lanes(g * by_column);
        y[p] += sum_of_lanes(g * by_row);
    }
}

extern const resample_loops ISA_SYMBOL(resample_loops);
const resample_loops ISA_SYMBOL(resample_loops) = {.plane = {plane_f32, plane_f64}, .plane_kept = {plane_kept_f32, plane_kept_f64},
                                                   .grid = {grid_f32, grid_f64},
                                                   .grid_back = {grid_back_f32, grid_back_f64},
                                                   .grid_points = ISA_SYMBOL(grid_points),
                                                   .grid_quick = grid_quick_f32,
                                                   .grid_quick_back = grid_quick_back_f32,
                                                   .to_lanes = to_lanes,
                                                   .from_lanes = from_lanes,
                                                   .grid_lanes = grid_lanes_f32,
                                                   .grid_lanes_back = grid_lanes_back_f32,
                                                   .grid_few = ISA_SYMBOL(grid_few),
                                                   .grid_few_back = ISA_SYMBOL(grid_few_back),
                                                   .grid_few_in = ISA_SYMBOL(grid_few_in)};
