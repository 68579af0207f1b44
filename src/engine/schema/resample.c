/* SPDX-License-Identifier: Apache-2.0 */
/* ATen's index arithmetic of resampling (native/UpSample.h, native/GridSampler.h), restated. */
#include "engine/schema/resample.h"

#include <inttypes.h>
#include <math.h>

static const int64_t SIZE_MAX_2D = INT64_C(1) << 30;

/* Input elements per output element. */
static double step_of(const resample_axis *a) {
    if (a->align_corners) {
        if (a->out <= 1) {
            return 0;
        }
        return a->in_double ? (double)(a->in - 1) / (double)(a->out - 1) : (float)(a->in - 1) / (float)(a->out - 1);
    }
    if (a->factor > 0) {
        return a->in_double ? 1.0 / a->factor : (float)(1.0 / a->factor);
    }
    return a->in_double ? (double)a->in / (double)a->out : (float)a->in / (float)a->out;
}

static double position_of(const resample_axis *a, int64_t dst) {
    double step = step_of(a);
    if (a->in_double) {
        return a->align_corners ? step * (double)dst : step * ((double)dst + 0.5) - 0.5;
    }
    return a->align_corners ? (float)step * (float)dst : (float)step * ((float)dst + 0.5F) - 0.5F;
}

static int64_t clip(int64_t i, int64_t size) {
    return i < 0 ? 0 : i < size ? i : size - 1;
}

/* The cubic convolution kernel (Keys, 1981) with A = -0.75, at distances 1 + t, t, 1 - t, 2 - t: the outer ones as polynomials of t and
   1 - t, whose terms are no larger than they are. Of 1 + t and 2 - t they reach 6, which costs three bits. */
static void cubic_weights(double t, double *weight) {
    const double a = -0.75;
    double u = 1 - t;
    weight[0] = ((a * t - 2 * a) * t + a) * t;
    weight[1] = ((a + 2) * t - (a + 3)) * t * t + 1;
    weight[2] = ((a + 2) * u - (a + 3)) * u * u + 1;
    weight[3] = ((a * u - 2 * a) * u + a) * u;
}

/* d weight / d t */
static void cubic_slopes(double t, double *slope) {
    const double a = -0.75;
    double u = 1 - t, far = 1 + t, back = 1 + u;
    slope[0] = (3 * a * far - 10 * a) * far + 8 * a;
    slope[1] = (3 * (a + 2) * t - 2 * (a + 3)) * t;
    slope[2] = -(3 * (a + 2) * u - 2 * (a + 3)) * u;
    slope[3] = -((3 * a * back - 10 * a) * back + 8 * a);
}

/* ATen takes the nearest position in f32 whatever the type, and doubling by a shift. */
static int64_t nearest_index(const resample_axis *a, int64_t dst) {
    if (a->out == a->in) {
        return dst;
    }
    if (a->out == 2 * a->in) {
        return dst >> 1;
    }
    float step = a->factor > 0 ? (float)(1.0 / a->factor) : (float)a->in / (float)a->out;
    return clip((int64_t)floorf((float)dst * step), a->in);
}

int resample_taps(const resample_axis *axis, int64_t dst, int64_t *index, double *weight) {
    weight[0] = 1;
    if (axis->mode == RESAMPLE_NEAREST) {
        index[0] = nearest_index(axis, dst);
        return 1;
    }
    double at = position_of(axis, dst);
    if (axis->mode == RESAMPLE_LINEAR) {
        at = axis->in == axis->out ? (double)dst : at > 0 ? at : 0;
    }
    int64_t first = (int64_t)floor(at) < axis->in - 1 ? (int64_t)floor(at) : axis->in - 1;
    double t = at - (double)first;
    t = t < 0 ? 0 : t > 1 ? 1 : t;
    if (axis->mode == RESAMPLE_LINEAR) {
        index[0] = first;
        index[1] = clip(first + 1, axis->in);
        weight[0] = 1 - t;
        weight[1] = t;
        return 2;
    }
    for (int k = 0; k < 4; k++) {
        index[k] = clip(first - 1 + k, axis->in);
    }
    cubic_weights(t, weight);
    return 4;
}

void resample_sensitivity(const resample_axis *axis, int64_t dst, double *sensitivity) {
    double at = position_of(axis, dst), size = fabs(at) + 0.5; /* the last step subtracts a half */
    sensitivity[0] = 0;
    if (axis->mode == RESAMPLE_LINEAR) {
        bool copies = axis->in == axis->out;
        sensitivity[0] = copies ? 0 : -size;
        sensitivity[1] = copies ? 0 : size;
    } else if (axis->mode == RESAMPLE_CUBIC) {
        cubic_slopes(at - floor(at), sensitivity);
        for (int k = 0; k < RESAMPLE_MAX_TAPS; k++) {
            sensitivity[k] *= size;
        }
    }
}

/* The output size along dimension d, from output_size or the scale factor. */
static status output_size(const op_call *call, int size_arg, int factor_arg, int d, int64_t in, resample_axis *a, error *err) {
    a->factor = 0;
    if (!call_is_none(call, size_arg)) {
        a->out = call->args[size_arg].ints[d];
    } else {
        a->factor = call->args[factor_arg].floats[d];
        double out = (double)in * a->factor;
        a->out = out >= 1 && out <= (double)SIZE_MAX_2D ? (int64_t)out : -1;
    }
    if (in < 1 || in > SIZE_MAX_2D || a->out < 1 || a->out > SIZE_MAX_2D) {
        return fail(err, ASSAY_INVALID, "%s: expected sizes from 1 to 2^30, got input %" PRId64 ", output %" PRId64
                    " (scale factor %g)",
                    call->op->signature.full, in, a->out, a->factor);
    }
    return ASSAY_OK;
}

status resample_axes(const op_call *call, resample_mode mode, const int64_t *in, int size_arg, int align_arg, int factor_arg,
                     dtype t, resample_axis out[2], error *err) {
    bool sized = !call_is_none(call, size_arg), scaled = !call_is_none(call, factor_arg);
    if (sized == scaled || (sized ? call->args[size_arg].n : call->args[factor_arg].n) != 2) {
        return fail(err, ASSAY_INVALID, "%s: expected two numbers for exactly one of output_size and scale_factors",
                    call->op->signature.full);
    }
    resample_axis made[2];
    for (int d = 0; d < 2; d++) {
        made[d] = (resample_axis){.mode = mode,
                                  .align_corners = align_arg >= 0 && call_bool(call, align_arg),
                                  .in_double = t == ASSAY_F64,
                                  .in = in[2 + d]};
        TRY(output_size(call, size_arg, factor_arg, d, in[2 + d], &made[d], err));
    }
    out[0] = made[0];
    out[1] = made[1];
    return ASSAY_OK;
}

/* --- grid_sampler --------------------------------------------------------------------------------------------------------- */

static double unnormalise(const grid_axis *a, double coordinate) {
    if (a->in_double) {
        double half = (double)(a->align_corners ? a->size - 1 : a->size) / 2;
        return a->align_corners ? (coordinate + 1) * half : (coordinate + 1) * half - 0.5;
    }
    float half = (float)(a->align_corners ? a->size - 1 : a->size) / 2;
    return a->align_corners ? ((float)coordinate + 1) * half : ((float)coordinate + 1) * half - 0.5F;
}

/* Mirrors at between [low, low + span]; *sign becomes the mirror's slope. */
static double reflect(double at, double low, double span, double *sign) {
    if (span == 0) {
        *sign = 0;
        return 0;
    }
    double from = at - low, mirrored = fabs(from);
    double rest = fmod(mirrored, span), flips = floor(mirrored / span);
    bool odd = fmod(flips, 2) != 0;
    *sign = (from < 0) != odd ? -1 : 1;
    return odd ? span - rest + low : rest + low;
}

/* A position brought inside by the padding's rule; *sign: its slope (0 where it stands still). */
static double padded(const grid_axis *a, double at, double *sign) {
    double last = (double)(a->size - 1);
    *sign = 1;
    if (a->padding == GRID_ZEROS) {
        return at;
    }
    if (a->padding == GRID_REFLECTION) {
        at = a->align_corners ? reflect(at, 0, last, sign) : reflect(at, -0.5, (double)a->size, sign);
    }
    if (at <= 0 || at >= last) {
        *sign = 0;
        return at <= 0 ? 0 : last;
    }
    return at;
}

static int64_t index_or_outside(const grid_axis *a, double at) {
    return at >= 0 && at <= (double)(a->size - 1) ? (int64_t)at : -1;
}

int grid_taps(const grid_axis *axis, double coordinate, int64_t *index, double *weight, double *slope) {
    double unused[RESAMPLE_MAX_TAPS], sign;
    double per_unit = (double)(axis->align_corners ? axis->size - 1 : axis->size) / 2;
    double at = unnormalise(axis, coordinate);
    int n = axis->interpolation == GRID_NEAREST ? 1 : axis->interpolation == GRID_LINEAR ? 2 : 4;
    slope = slope != NULL ? slope : unused;
    if (!isfinite(at)) {
        for (int k = 0; k < n; k++) {
            index[k] = -1;
            weight[k] = slope[k] = 0;
        }
        return n;
    }
    if (axis->interpolation == GRID_CUBIC) { /* each tap is padded on its own */
        double first = floor(at);
        cubic_weights(at - first, weight);
        cubic_slopes(at - first, slope);
        for (int k = 0; k < 4; k++) {
            index[k] = index_or_outside(axis, padded(axis, first - 1 + k, &sign));
            slope[k] *= per_unit;
        }
        return n;
    }
    at = padded(axis, at, &sign);
    if (axis->interpolation == GRID_NEAREST) {
        index[0] = index_or_outside(axis, nearbyint(at));
        weight[0] = 1;
        slope[0] = 0;
        return n;
    }
    double first = floor(at);
    index[0] = index_or_outside(axis, first);
    index[1] = index_or_outside(axis, first + 1);
    weight[0] = first + 1 - at;
    weight[1] = at - first;
    slope[0] = -sign * per_unit;
    slope[1] = sign * per_unit;
    return n;
}
