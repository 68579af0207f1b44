/* SPDX-License-Identifier: Apache-2.0 */
/* Resampling of images [batch, channels, height, width]: to another size, and at the points of a grid. */
#include "engine/ops/parts.h"
#include "engine/ops/rows.h"
#include "engine/schema/fill.h"
#include "engine/schema/reference.h"
#include "engine/schema/resample.h"
#include "engine/schema/window.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>

static status floats_only(const op_call *call, const tensor *t, bool bytes_too, error *err) {
    if (!dtype_is_floating(t->dtype) && !(bytes_too && t->dtype == ASSAY_U8)) {
        return fail(err, ASSAY_INVALID, "%s: expected floating-point numbers%s, got %s", call->op->signature.full,
                    bytes_too ? " or u8" : "", assay_dtype_name(t->dtype));
    }
    return ASSAY_OK;
}

static status check_image(const op_call *call, const tensor *t, bool has_channels, error *err) {
    if (t->ndim != 4 || (has_channels && t->sizes[1] == 0) || t->sizes[2] == 0 || t->sizes[3] == 0) {
        char got[TENSOR_TEXT_BYTES];
        return fail(err, ASSAY_INVALID, "%s: expected [batch, channels, height, width] with none of the last %s 0, got %.200s",
                    call->op->signature.full, has_channels ? "three" : "two", tensor_describe(got, t));
    }
    return ASSAY_OK;
}

/* --- upsample_*2d.vec(input, output_size, [align_corners,] scale_factors) -------------------------------------------------- */

/* What the forward rows and the backward rows differ in. */
typedef struct upsample_layout {
    resample_mode mode;
    bool backward;
} upsample_layout;

static status axes_of(const op_call *call, upsample_layout l, resample_axis axes[2], error *err) {
    int align_arg = l.mode == RESAMPLE_NEAREST ? -1 : l.backward ? 3 : 2;
    int factor_arg = (l.backward ? 3 : 2) + (align_arg >= 0 ? 1 : 0);
    const int64_t *in = l.backward ? call->args[2].ints : call_tensor(call, 0)->sizes;
    return resample_axes(call, l.mode, in, 1, align_arg, factor_arg, call_tensor(call, 0)->dtype, axes, err);
}

static status upsample_shape(const op_call *call, resample_mode mode, outputs *out, error *err) {
    const tensor *input = call_tensor(call, 0);
    resample_axis axes[2];
    TRY(floats_only(call, input, mode == RESAMPLE_NEAREST, err));
    TRY(check_image(call, input, true, err));
    TRY(axes_of(call, (upsample_layout){mode, false}, axes, err));
    int64_t sizes[4] = {input->sizes[0], input->sizes[1], axes[0].out, axes[1].out};
    return outputs_push_format(out, input->dtype, 4, sizes, tensor_suggests_channels_last(input), err);
}

static status nearest_infer(const op_call *call, outputs *out, error *err) {
    return upsample_shape(call, RESAMPLE_NEAREST, out, err);
}

static status bilinear_infer(const op_call *call, outputs *out, error *err) {
    return upsample_shape(call, RESAMPLE_LINEAR, out, err);
}

static status bicubic_infer(const op_call *call, outputs *out, error *err) {
    return upsample_shape(call, RESAMPLE_CUBIC, out, err);
}

/* A position is three roundings away from exact: its step, the product, the difference, each eps / 2 of its size. The
   tolerance counts at least 2 (1 + sqrt terms) eps of `norm`, so that this much of it is the position's part. */
static double share_of_positions(double by_rows, double by_columns, double terms) {
    double part = 1.5 / (2 * (1 + sqrt(terms)));
    return part * part * (by_rows * by_rows + by_columns * by_columns);
}

/* The element before the first tap's, which rounding of a position may make the first one where that lies on an element or little behind it; else
   -1. */
static int64_t tap_before(resample_mode mode, const int64_t *taps, const double *weight, const double *moves) {
    bool may = mode == RESAMPLE_LINEAR && moves[1] != 0 && weight[1] <= 4 * FLT_EPSILON * moves[1];
    return may ? taps[0] - 1 : -1;
}

/* How a value changes along one of its axes where rounding takes the position to the other side of the element that it lies on, in place of
   `moved`, which is this side's. */
static double larger_move(double moved, double here, double before, const double *moves) {
    double other = moves[1] * (here - before);
    return fabs(other) > fabs(moved) ? other : moved;
}

static double upsample_at(ref_ctx *ctx, resample_mode mode, int64_t flat, double *norm) {
    const double *x = ref_real(ctx, 0);
    resample_axis axes[2];
    if (x == NULL || axes_of(ctx->call, (upsample_layout){mode, false}, axes, NULL) != ASSAY_OK) {
        return 0; /* infer has accepted the axes: only memory can fail */
    }
    int64_t rows[RESAMPLE_MAX_TAPS], columns[RESAMPLE_MAX_TAPS];
    double row_weight[RESAMPLE_MAX_TAPS], column_weight[RESAMPLE_MAX_TAPS];
    double row_moves[RESAMPLE_MAX_TAPS], column_moves[RESAMPLE_MAX_TAPS];
    int64_t row = flat / axes[1].out % axes[0].out, column = flat % axes[1].out;
    int n = resample_taps(&axes[0], row, rows, row_weight);
    resample_taps(&axes[1], column, columns, column_weight);
    resample_sensitivity(&axes[0], row, row_moves);
    resample_sensitivity(&axes[1], column, column_moves);
    const double *plane = x + flat / axes[1].out / axes[0].out * axes[0].in * axes[1].in;
    double sum = 0, by_rows = 0, by_columns = 0;
    for (int i = 0; i < n * n; i++) {
        double value = plane[rows[i / n] * axes[1].in + columns[i % n]];
        double term = row_weight[i / n] * column_weight[i % n] * value;
        sum += term;
        by_rows += row_moves[i / n] * column_weight[i % n] * value;
        by_columns += row_weight[i / n] * column_moves[i % n] * value;
        *norm += term * term;
    }
    const int64_t row_before = tap_before(mode, rows, row_weight, row_moves), column_before = tap_before(mode, columns, column_weight, column_moves);
    if (row_before >= 0) {
        const double *here = plane + rows[0] * axes[1].in, *before = plane + row_before * axes[1].in;
        by_rows = larger_move(by_rows, column_weight[0] * here[columns[0]] + column_weight[1] * here[columns[1]],
                              column_weight[0] * before[columns[0]] + column_weight[1] * before[columns[1]], row_moves);
    }
    if (column_before >= 0) {
        const double *first = plane + rows[0] * axes[1].in, *second = plane + rows[1] * axes[1].in;
        by_columns = larger_move(by_columns, row_weight[0] * first[columns[0]] + row_weight[1] * second[columns[0]],
                                 row_weight[0] * first[column_before] + row_weight[1] * second[column_before], column_moves);
    }
    *norm += share_of_positions(by_rows, by_columns, n * n);
    return sum;
}

static double nearest_element(ref_ctx *ctx, int out, int64_t flat, double *norm) {
    (void)out;
    return upsample_at(ctx, RESAMPLE_NEAREST, flat, norm);
}

static double bilinear_element(ref_ctx *ctx, int out, int64_t flat, double *norm) {
    (void)out;
    return upsample_at(ctx, RESAMPLE_LINEAR, flat, norm);
}

static double bicubic_element(ref_ctx *ctx, int out, int64_t flat, double *norm) {
    (void)out;
    return upsample_at(ctx, RESAMPLE_CUBIC, flat, norm);
}

/* No more is read than there are taps. */
static void taps_cost(resample_mode mode, const op_call *call, const outputs *out, op_cost *cost) {
    double taps = (double)mode * (double)mode;
    op_cost_reads(call, 0, taps * tensor_bytes(&out->items[0]), cost);
    cost->flops = mode == RESAMPLE_NEAREST ? 0 : 2 * taps * (double)tensor_numel(&out->items[0]);
    cost->reduction = taps;
}

static void nearest_cost(const op_call *call, const outputs *out, op_cost *cost) {
    taps_cost(RESAMPLE_NEAREST, call, out, cost);
}

static void bilinear_cost(const op_call *call, const outputs *out, op_cost *cost) {
    taps_cost(RESAMPLE_LINEAR, call, out, cost);
}

static void bicubic_cost(const op_call *call, const outputs *out, op_cost *cost) {
    taps_cost(RESAMPLE_CUBIC, call, out, cost);
}

/* --- upsample_*2d_backward.vec(grad_output, output_size, input_size, [align_corners,] scale_factors) ---------------------- */

static status upsample_backward_shape(const op_call *call, resample_mode mode, outputs *out, error *err) {
    const tensor *grad = call_tensor(call, 0);
    int n;
    const int64_t *in = call_ints(call, 2, &n);
    resample_axis axes[2];
    TRY(floats_only(call, grad, mode == RESAMPLE_NEAREST, err));
    if (n != 4) {
        return fail(err, ASSAY_INVALID, "%s: expected input_size of 4 numbers, got %d", call->op->signature.full, n);
    }
    TRY(axes_of(call, (upsample_layout){mode, true}, axes, err));
    if (grad->ndim != 4 || grad->sizes[0] != in[0] || grad->sizes[1] != in[1] || grad->sizes[2] != axes[0].out ||
        grad->sizes[3] != axes[1].out || in[1] < 1) {
        char got[TENSOR_TEXT_BYTES];
        return fail(err, ASSAY_INVALID,
                    "%s: expected a gradient [%" PRId64 ", %" PRId64 ", %" PRId64 ", %" PRId64 "], got %.200s",
                    call->op->signature.full, in[0], in[1], axes[0].out, axes[1].out, tensor_describe(got, grad));
    }
    return outputs_push_format(out, grad->dtype, 4, in, tensor_suggests_channels_last(grad), err);
}

static status nearest_backward_infer(const op_call *call, outputs *out, error *err) {
    return upsample_backward_shape(call, RESAMPLE_NEAREST, out, err);
}

static status bilinear_backward_infer(const op_call *call, outputs *out, error *err) {
    return upsample_backward_shape(call, RESAMPLE_LINEAR, out, err);
}

/* The positions' step is rounded once for all, so that an element's terms may all move the same way: their moves' sizes are added up. */
static status upsample_backward(ref_ctx *ctx, resample_mode mode, error *err) {
    const double *grad = ref_real(ctx, 0);
    double *out = ref_output(ctx, 0), *squares = ref_squares(ctx, 0);
    resample_axis axes[2];
    TRY(axes_of(ctx->call, (upsample_layout){mode, true}, axes, err));
    int64_t rows[RESAMPLE_MAX_TAPS], columns[RESAMPLE_MAX_TAPS], n_grads = tensor_numel(call_tensor(ctx->call, 0));
    int64_t n_made = tensor_numel(&ctx->out->items[0]);
    double row_weight[RESAMPLE_MAX_TAPS], column_weight[RESAMPLE_MAX_TAPS];
    double row_moves[RESAMPLE_MAX_TAPS], column_moves[RESAMPLE_MAX_TAPS];
    double *moves = ref_make(ctx, (size_t)n_made, sizeof *moves);
    if (ctx->failed != ASSAY_OK) {
        return ASSAY_OK; /* ref_run says it */
    }
    for (int64_t flat = 0; flat < n_grads; flat++) {
        int64_t row = flat / axes[1].out % axes[0].out, column = flat % axes[1].out;
        int n = resample_taps(&axes[0], row, rows, row_weight);
        resample_taps(&axes[1], column, columns, column_weight);
        resample_sensitivity(&axes[0], row, row_moves);
        resample_sensitivity(&axes[1], column, column_moves);
        int64_t plane = flat / axes[1].out / axes[0].out * axes[0].in * axes[1].in;
        for (int i = 0; i < n * n; i++) {
            int64_t at = plane + rows[i / n] * axes[1].in + columns[i % n];
            double term = row_weight[i / n] * column_weight[i % n] * grad[flat];
            out[at] += term;
            squares[at] += term * term;
            moves[at] += fabs(row_moves[i / n] * column_weight[i % n] * grad[flat]) + fabs(row_weight[i / n] * column_moves[i % n] * grad[flat]);
        }
        const int64_t row_before = tap_before(mode, rows, row_weight, row_moves);
        const int64_t column_before = tap_before(mode, columns, column_weight, column_moves);
        for (int i = 0; i < n; i++) {
            if (row_before >= 0) {
                moves[plane + row_before * axes[1].in + columns[i]] += fabs(row_moves[1] * column_weight[i] * grad[flat]);
            }
            if (column_before >= 0) {
                moves[plane + rows[i] * axes[1].in + column_before] += fabs(row_weight[i] * column_moves[1] * grad[flat]);
            }
        }
    }
    op_cost cost;
    op_cost_of(ctx->call, ctx->out, &cost);
    for (int64_t at = 0; at < n_made; at++) {
        squares[at] += share_of_positions(moves[at], 0, cost.reduction);
    }
    return ASSAY_OK;
}

static status nearest_backward_reference(ref_ctx *ctx, error *err) {
    return upsample_backward(ctx, RESAMPLE_NEAREST, err);
}

static status bilinear_backward_reference(ref_ctx *ctx, error *err) {
    return upsample_backward(ctx, RESAMPLE_LINEAR, err);
}

/* An input element collects from about (output / input) positions per tap and axis. */
static void upsample_backward_cost(const op_call *call, const outputs *out, op_cost *cost) {
    bool linear = call->op->signature.n_params == 5;
    double taps = linear ? 4 : 1, grads = (double)tensor_numel(call_tensor(call, 0));
    double made = (double)tensor_numel(&out->items[0]);
    cost->flops = (linear ? 2 : 1) * taps * grads;
    cost->reduction = made > 0 && grads > made ? 2 * taps * grads / made : 2 * taps;
}

/* --- grid_sampler_2d(input, grid, interpolation_mode, padding_mode, align_corners) ------------------------------------------ */

/* Rows, then columns; the settings start at mode_arg. */
static status grid_axes(const op_call *call, int input_arg, int mode_arg, grid_axis axes[2], error *err) {
    const tensor *input = call_tensor(call, input_arg), *grid = call_tensor(call, input_arg + 1);
    int64_t mode = call_int(call, mode_arg), padding = call_int(call, mode_arg + 1);
    TRY(floats_only(call, input, false, err));
    TRY(check_image(call, input, false, err));
    if (grid->ndim != 4 || grid->dtype != input->dtype || grid->sizes[0] != input->sizes[0] || grid->sizes[3] != 2) {
        char got[TENSOR_TEXT_BYTES];
        return fail(err, ASSAY_INVALID, "%s: expected a grid %s[%" PRId64 ", rows, columns, 2], got %.200s",
                    call->op->signature.full, assay_dtype_name(input->dtype), input->sizes[0], tensor_describe(got, grid));
    }
    if (mode < GRID_LINEAR || mode > GRID_CUBIC || padding < GRID_ZEROS || padding > GRID_REFLECTION) {
        return fail(err, ASSAY_INVALID, "%s: expected interpolation and padding modes from 0 to 2, got %" PRId64 " and %" PRId64,
                    call->op->signature.full, mode, padding);
    }
    for (int d = 0; d < 2; d++) {
        axes[d] = (grid_axis){.interpolation = (int)mode,
                              .padding = (int)padding,
                              .align_corners = call_bool(call, mode_arg + 2),
                              .in_double = input->dtype == ASSAY_F64,
                              .size = input->sizes[2 + d]};
    }
    return ASSAY_OK;
}

static status grid_infer(const op_call *call, outputs *out, error *err) {
    const tensor *input = call_tensor(call, 0), *grid = call_tensor(call, 1);
    grid_axis axes[2];
    TRY(grid_axes(call, 0, 2, axes, err));
    int64_t sizes[4] = {input->sizes[0], input->sizes[1], grid->sizes[1], grid->sizes[2]};
    return outputs_push_format(out, input->dtype, 4, sizes, false, err);
}

/* A little beyond [-1, 1], so that padding takes part. */
static status grid_inputs(const op_call *call, rng *r, error *err) {
    (void)err;
    fill_uniform(call_tensor(call, 1), r, -1.1, 1.1);
    return ASSAY_OK;
}

static status grid_backward_inputs(const op_call *call, rng *r, error *err) {
    (void)err;
    fill_uniform(call_tensor(call, 2), r, -1.1, 1.1);
    return ASSAY_OK;
}

/* Everything one grid point reads. */
typedef struct grid_point {
    int n; /* per axis */
    int64_t row[RESAMPLE_MAX_TAPS], column[RESAMPLE_MAX_TAPS];
    double row_weight[RESAMPLE_MAX_TAPS], column_weight[RESAMPLE_MAX_TAPS];
    double row_slope[RESAMPLE_MAX_TAPS], column_slope[RESAMPLE_MAX_TAPS];
} grid_point;

/* xy: a grid entry, column coordinate first. */
static void grid_point_of(const grid_axis axes[2], const double *xy, grid_point *p) {
    p->n = grid_taps(&axes[0], xy[1], p->row, p->row_weight, p->row_slope);
    grid_taps(&axes[1], xy[0], p->column, p->column_weight, p->column_slope);
}

static double grid_element(ref_ctx *ctx, int out, int64_t flat, double *norm) {
    const double *x = ref_real(ctx, 0), *grid = ref_real(ctx, 1);
    const tensor *o = &ctx->out->items[out];
    grid_axis axes[2];
    if (x == NULL || grid == NULL || grid_axes(ctx->call, 0, 2, axes, NULL) != ASSAY_OK) {
        return 0; /* infer has accepted the axes: only memory can fail */
    }
    int64_t points = o->sizes[2] * o->sizes[3], plane = flat / points, batch = plane / o->sizes[1];
    grid_point p;
    const double *xy = grid + 2 * (batch * points + flat % points);
    grid_point_of(axes, xy, &p);
    double sum = 0;
    double by_rows = 0, by_columns = 0;
    for (int i = 0; i < p.n * p.n; i++) {
        int64_t row = p.row[i / p.n], column = p.column[i % p.n];
        double value = row < 0 || column < 0 ? 0 : x[(plane * axes[0].size + row) * axes[1].size + column];
        double term = p.row_weight[i / p.n] * p.column_weight[i % p.n] * value;
        sum += term;
        by_rows += (xy[1] + 1) * p.row_slope[i / p.n] * p.column_weight[i % p.n] * value;
        by_columns += (xy[0] + 1) * p.row_weight[i / p.n] * p.column_slope[i % p.n] * value;
        *norm += term * term;
    }
    *norm += share_of_positions(by_rows, by_columns, p.n * p.n);
    return sum;
}

static void grid_cost(const op_call *call, const outputs *out, op_cost *cost) {
    static const resample_mode modes[] = {RESAMPLE_LINEAR, RESAMPLE_NEAREST, RESAMPLE_CUBIC};
    taps_cost(modes[call_int(call, 2)], call, out, cost);
}

/* --- grid_sampler_2d_backward(grad_output, input, grid, interpolation_mode, padding_mode, align_corners, output_mask) ----- */

/* ATen's CPU kernel answers the grid's gradient whether it is asked for or not. */
static status grid_backward_infer(const op_call *call, outputs *out, error *err) {
    const tensor *grad = call_tensor(call, 0), *input = call_tensor(call, 1), *grid = call_tensor(call, 2);
    grid_axis axes[2];
    TRY(grid_axes(call, 1, 3, axes, err));
    if (grad->ndim != 4 || grad->dtype != input->dtype || grad->sizes[0] != input->sizes[0] ||
        grad->sizes[1] != input->sizes[1] || grad->sizes[2] != grid->sizes[1] || grad->sizes[3] != grid->sizes[2] ||
        call->args[6].n != 2) {
        char got[TENSOR_TEXT_BYTES];
        return fail(err, ASSAY_INVALID, "%s: expected a gradient of the sampled image and two masks, got %.200s",
                    call->op->signature.full, tensor_describe(got, grad));
    }
    TRY(call->args[6].bools[0] ? outputs_push_format(out, input->dtype, 4, input->sizes, false, err)
                               : outputs_push_left_out(out, input->dtype, err));
    return outputs_push_format(out, grid->dtype, 4, grid->sizes, false, err);
}

/* What rounding may do to the image's gradient. Any number of points may fall on an element, all in one place, so that neither the
   number of its terms nor how far they move is the same for all. */
typedef struct grid_rounding {
    double *squares; /* of an element's terms */
    double *moves;   /* the sizes of what its terms move by as points do: points in one place all move the same way */
    double *counts;  /* its terms; one plane for all channels of a sample */
} grid_rounding;

/* One channel of one grid point: adds to grad_input's plane and to the point's gradient xy[2], with the squares of its terms: the
   slopes' sum is 0, so that what a plain part of an image adds cancels. *turn: how each coordinate's gradient changes with the
   other coordinate. */
static void grid_backward_point(const grid_axis axes[2], const grid_point *p, double grad, const double *plane, double *grad_plane,
                                const grid_rounding *rounding, const double *at_xy, double *xy, double *squares, double *turn) {
    for (int i = 0; i < p->n * p->n; i++) {
        int r = i / p->n, c = i % p->n;
        if (p->row[r] < 0 || p->column[c] < 0) {
            continue;
        }
        int64_t at = p->row[r] * axes[1].size + p->column[c];
        if (grad_plane != NULL) {
            double term = grad * p->row_weight[r] * p->column_weight[c];
            grad_plane[at] += term;
            rounding->squares[at] += term * term;
            rounding->moves[at] += fabs(grad * (at_xy[1] + 1) * p->row_slope[r] * p->column_weight[c]) +
                                   fabs(grad * (at_xy[0] + 1) * p->row_weight[r] * p->column_slope[c]);
        }
        double x = grad * plane[at] * p->row_weight[r] * p->column_slope[c];
        double y = grad * plane[at] * p->row_slope[r] * p->column_weight[c];
        xy[0] += x;
        xy[1] += y;
        squares[0] += x * x;
        squares[1] += y * y;
        *turn += grad * plane[at] * p->row_slope[r] * p->column_slope[c];
    }
}

static void count_terms(const grid_axis axes[2], const grid_point *p, double *counts) {
    for (int i = 0; i < p->n * p->n; i++) {
        if (p->row[i / p->n] >= 0 && p->column[i % p->n] >= 0) {
            counts[p->row[i / p->n] * axes[1].size + p->column[i % p->n]]++;
        }
    }
}

/* The tolerance is told one number of terms for all. Where an element has more, its norm says so: it is then the larger of the
   terms' and the sum's, which is what the tolerance would take for that many. */
static void finish_rounding(const grid_rounding *r, const double *sums, int64_t planes, int64_t channels, int64_t area, double terms) {
    for (int64_t i = 0; i < planes * area; i++) {
        double more = (1 + sqrt(r->counts[i / area / channels * area + i % area])) / (1 + sqrt(terms));
        if (more > 1) {
            r->squares[i] = fmax(r->squares[i], sums[i] * sums[i]) * more * more;
        }
        r->squares[i] += share_of_positions(r->moves[i], 0, terms);
    }
}

static status grid_backward_reference(ref_ctx *ctx, error *err) {
    const double *grad = ref_real(ctx, 0), *x = ref_real(ctx, 1), *grid = ref_real(ctx, 2);
    const tensor *input = call_tensor(ctx->call, 1), *points = call_tensor(ctx->call, 2);
    bool wants_input = ctx->call->args[6].bools[0];
    double *grad_input = ref_output(ctx, 0), *grad_grid = ref_output(ctx, 1), *squares = ref_squares(ctx, 1);
    grid_axis axes[2];
    TRY(grid_axes(ctx->call, 1, 3, axes, err));
    int64_t per_batch = points->sizes[1] * points->sizes[2], area = axes[0].size * axes[1].size;
    int64_t channels = input->sizes[1], planes = input->sizes[0] * channels;
    grid_rounding rounding = {0};
    if (wants_input) {
        rounding = (grid_rounding){.squares = ref_squares(ctx, 0),
                                   .moves = ref_make(ctx, (size_t)(planes * area), sizeof(double)),
                                   .counts = ref_make(ctx, (size_t)(input->sizes[0] * area), sizeof(double))};
    }
    if (ctx->failed != ASSAY_OK) {
        return ASSAY_OK; /* ref_run says it */
    }
    op_cost cost;
    op_cost_of(ctx->call, ctx->out, &cost);
    for (int64_t i = 0; i < points->sizes[0] * per_batch; i++) {
        const double *xy = grid + 2 * i;
        double turn = 0;
        grid_point p;
        grid_point_of(axes, xy, &p);
        for (int64_t c = 0; c < channels; c++) {
            int64_t plane = i / per_batch * channels + c, first = plane * area;
            grid_rounding of_plane = {0};
            if (wants_input) {
                of_plane = (grid_rounding){.squares = rounding.squares + first, .moves = rounding.moves + first};
            }
            grid_backward_point(axes, &p, grad[plane * per_batch + i % per_batch], x + first, wants_input ? grad_input + first : NULL,
                                &of_plane, xy, grad_grid + 2 * i, squares + 2 * i, &turn);
        }
        squares[2 * i] += share_of_positions((xy[1] + 1) * turn, 0, cost.reduction);
        squares[2 * i + 1] += share_of_positions(0, (xy[0] + 1) * turn, cost.reduction);
        if (wants_input) {
            count_terms(axes, &p, rounding.counts + i / per_batch * area);
        }
    }
    if (wants_input) {
        finish_rounding(&rounding, grad_input, planes, channels, area, cost.reduction);
    }
    return ASSAY_OK;
}

/* The grid's gradient sums over channels and taps; an input element's over the points that happen to fall near it. */
static void grid_backward_cost(const op_call *call, const outputs *out, op_cost *cost) {
    static const double taps_of[] = {4, 1, 16};
    const tensor *input = call_tensor(call, 1), *grad = call_tensor(call, 0);
    double taps = taps_of[call_int(call, 3)], channels = (double)input->sizes[1];
    double points = (double)grad->sizes[2] * (double)grad->sizes[3];
    double per_element = 4 * taps * (points / ((double)input->sizes[2] * (double)input->sizes[3]) + 1);
    (void)out;
    cost->flops = (call->args[6].bools[0] ? 6 : 4) * taps * (double)tensor_numel(grad);
    cost->reduction = taps * channels > per_element ? taps * channels : per_element;
}

static const op_family family_resample = {.name = "resampling"};

static const op_row rows[] = {
    {.signature = "upsample_nearest2d.vec(Tensor input, SymInt[]? output_size, float[]? scale_factors) -> Tensor",
     .doc = "Resizes an image; each output element copies the nearest input element.",
     .family = &family_resample,
     .cost = nearest_cost,
     .infer = nearest_infer,
     .decompose = upsample_nearest_parts,
     .reference_element = nearest_element},
    {.signature = "upsample_nearest2d_backward.vec(Tensor grad_output, SymInt[]? output_size, SymInt[] input_size, float[]? "
                  "scale_factors) -> Tensor",
     .doc = "Sums the gradients of the copies of each input element.",
     .family = &family_resample,
     .infer = nearest_backward_infer,
     .decompose = upsample_nearest_backward_parts,
     .cost = upsample_backward_cost,
     .reference = nearest_backward_reference},
    {.signature = "upsample_bilinear2d.vec(Tensor input, SymInt[]? output_size, bool align_corners, float[]? scale_factors) "
                  "-> Tensor",
     .doc = "Resizes an image; each output element is interpolated between four input elements.",
     .family = &family_resample,
     .infer = bilinear_infer,
     .decompose = upsample_bilinear_parts,
     .cost = bilinear_cost,
     .reference_element = bilinear_element},
    {.signature = "upsample_bilinear2d_backward.vec(Tensor grad_output, SymInt[]? output_size, SymInt[] input_size, bool "
                  "align_corners, float[]? scale_factors) -> Tensor",
     .doc = "Shares each gradient out among the four input elements it was interpolated from.",
     .family = &family_resample,
     .infer = bilinear_backward_infer,
     .decompose = upsample_bilinear_backward_parts,
     .cost = upsample_backward_cost,
     .reference = bilinear_backward_reference},
    {.signature = "upsample_bicubic2d.vec(Tensor input, SymInt[]? output_size, bool align_corners, float[]? scale_factors) "
                  "-> Tensor",
     .doc = "Resizes an image by cubic convolution over 4 x 4 input elements.",
     .family = &family_resample,
     .infer = bicubic_infer,
     .decompose = upsample_bicubic_parts,
     .cost = bicubic_cost,
     .reference_element = bicubic_element},
    {.signature = "grid_sampler_2d(Tensor input, Tensor grid, int interpolation_mode, int padding_mode, bool align_corners) "
                  "-> Tensor",
     .doc = "Reads an image at the points of a grid in [-1, 1], interpolated.",
     .family = &family_resample,
     .infer = grid_infer,
     .decompose = grid_sampler_parts,
     .inputs = grid_inputs,
     .cost = grid_cost,
     .reference_element = grid_element},
    {.signature = "grid_sampler_2d_backward(Tensor grad_output, Tensor input, Tensor grid, int interpolation_mode, int "
                  "padding_mode, bool align_corners, bool[2] output_mask) -> (Tensor, Tensor)",
     .doc = "The gradients of grid_sampler_2d for the image and for the grid.",
     .family = &family_resample,
     .infer = grid_backward_infer,
     .decompose = grid_sampler_backward_parts,
     .inputs = grid_backward_inputs,
     .cost = grid_backward_cost,
     .reference = grid_backward_reference},
};

const op_rows rows_resample = {rows, countof(rows)};
