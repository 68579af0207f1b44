/* SPDX-License-Identifier: Apache-2.0 */
/* 2-d pooling and its gradients. */
#include "engine/ops/parts.h"
#include "engine/ops/rows.h"
#include "engine/schema/fill.h"
#include "engine/schema/reference.h"
#include "engine/schema/window.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

static status floats_or_integers(const op_call *call, const tensor *t, error *err) {
    if (dtype_is_complex(t->dtype) || t->dtype == ASSAY_B8) {
        return fail(err, ASSAY_INVALID, "%s: expected real numbers, got %s", call->op->signature.full,
                    assay_dtype_name(t->dtype));
    }
    return ASSAY_OK;
}

static status push_pooled(outputs *out, dtype t, const pool_shape *s, error *err) {
    int64_t sizes[4];
    int ndim = pool_output_sizes(s, sizes);
    return outputs_push_format(out, t, ndim, sizes, s->channels_last, err);
}

/* A gradient pool: `grad` must have the forward output's sizes and self's type; the one output is like self. */
static status backward_shape(const op_call *call, const pool_shape *s, outputs *out, error *err) {
    const tensor *grad = call_tensor(call, 0), *self = call_tensor(call, 1);
    int64_t sizes[4];
    int ndim = pool_output_sizes(s, sizes);
    bool fits = grad->ndim == ndim && grad->dtype == self->dtype;
    for (int d = 0; fits && d < ndim; d++) {
        fits = grad->sizes[d] == sizes[d];
    }
    if (!fits) {
        char got[TENSOR_TEXT_BYTES], whole[TENSOR_TEXT_BYTES];
        return fail(err, ASSAY_INVALID, "%s: expected the gradient of a pool of %.160s to windows %" PRId64 " x %" PRId64
                    ", got %.160s",
                    call->op->signature.full, tensor_describe(whole, self), s->out[0], s->out[1],
                    tensor_describe(got, grad));
    }
    return outputs_push_format(out, self->dtype, self->ndim, self->sizes, s->channels_last, err);
}

/* The plane, row and column of a flat index over [..., rows, columns]. */
typedef struct place {
    int64_t plane, y, x;
} place;

static place place_of(int64_t flat, const int64_t size[2]) {
    return (place){.plane = flat / (size[0] * size[1]), .y = flat / size[1] % size[0], .x = flat % size[1]};
}

/* A copy of the call's windows in the reference's scratch, analysed once. */
typedef status pool_analyse_fn(const op_call *call, pool_shape *out, error *err);

static const pool_shape *shape_in(ref_ctx *ctx, pool_analyse_fn *analyse) {
    if (ctx->scratch == NULL) {
        ctx->scratch = ref_make(ctx, 1, sizeof(pool_shape));
        if (ctx->scratch == NULL || analyse(ctx->call, ctx->scratch, NULL) != ASSAY_OK) {
            return NULL; /* infer has accepted the shape: only memory can fail */
        }
    }
    return ctx->scratch;
}

/* --- max_pool2d_with_indices(self, kernel_size, stride, padding, dilation, ceil_mode) ----------------------------------- */

static status max_shape(const op_call *call, pool_shape *out, error *err) {
    return pool_shape_of(call, 0, 1, 4, call_bool(call, 5), out, err);
}

static status max_infer(const op_call *call, outputs *out, error *err) {
    pool_shape s;
    TRY(floats_or_integers(call, call_tensor(call, 0), err));
    TRY(max_shape(call, &s, err));
    TRY(push_pooled(out, call_tensor(call, 0)->dtype, &s, err));
    return push_pooled(out, ASSAY_I64, &s, err);
}

/* First position of window o inside the input: a dilated window skips whole steps over the padding. */
static int64_t first_tap(const pool_shape *s, int d, int64_t o) {
    int64_t at = o * s->stride[d] - s->pad[d];
    return at >= 0 ? at : at + (-at + s->dilation[d] - 1) / s->dilation[d] * s->dilation[d];
}

static int64_t end_tap(const pool_shape *s, int d, int64_t o) {
    int64_t end = o * s->stride[d] - s->pad[d] + (s->kernel[d] - 1) * s->dilation[d] + 1;
    return end < s->in[d] ? end : s->in[d];
}

/* What is below all others of a type. */
static double least_of(dtype t) {
    return !dtype_is_integral(t) ? -INFINITY : t == ASSAY_U8 ? 0 : -ldexp(1, 8 * (int)dtype_size(t) - 1);
}

/* Index in its plane of the largest element of a window, and *largest, that element: the first of equals, the last NaN if there is
   one (ATen's). A dilated window may have no element inside: the type's least, by ATen at an index that may lie outside. */
static int64_t argmax(const pool_shape *s, const double *plane, int64_t oy, int64_t ox, double least, double *largest) {
    int64_t y0 = first_tap(s, 0, oy), x0 = first_tap(s, 1, ox);
    int64_t best = y0 * s->in[1] + x0;
    double most = least;
    for (int64_t y = y0; y < end_tap(s, 0, oy); y += s->dilation[0]) {
        for (int64_t x = x0; x < end_tap(s, 1, ox); x += s->dilation[1]) {
            double value = plane[y * s->in[1] + x];
            if (value > most || isnan(value)) {
                most = value;
                best = y * s->in[1] + x;
            }
        }
    }
    *largest = most;
    return best;
}

static double max_element(ref_ctx *ctx, int out, int64_t flat, double *norm) {
    const pool_shape *s = shape_in(ctx, max_shape);
    const double *x = ref_real(ctx, 0);
    (void)norm;
    if (s == NULL || x == NULL) {
        return 0;
    }
    place at = place_of(flat, s->out);
    const double *plane = x + at.plane * s->in[0] * s->in[1];
    double most;
    int64_t index = argmax(s, plane, at.y, at.x, least_of(call_tensor(ctx->call, 0)->dtype), &most);
    return out == 0 ? most : (double)index;
}

/* --- max_pool2d_with_indices_backward(grad_output, self, kernel_size, stride, padding, dilation, ceil_mode, indices) --- */

static status max_backward_shape(const op_call *call, pool_shape *out, error *err) {
    return pool_shape_of(call, 1, 2, 5, call_bool(call, 6), out, err);
}

static status floats_only(const op_call *call, const tensor *t, error *err) {
    if (!dtype_is_floating(t->dtype)) {
        return fail(err, ASSAY_INVALID, "%s: expected floating-point numbers, got %s", call->op->signature.full,
                    assay_dtype_name(t->dtype));
    }
    return ASSAY_OK;
}

static status max_backward_infer(const op_call *call, outputs *out, error *err) {
    const tensor *indices = call_tensor(call, 7);
    pool_shape s;
    TRY(floats_only(call, call_tensor(call, 1), err));
    TRY(max_backward_shape(call, &s, err));
    if (indices->dtype != ASSAY_I64 || !tensor_same_sizes(indices, call_tensor(call, 0))) {
        char got[TENSOR_TEXT_BYTES];
        return fail(err, ASSAY_INVALID, "%s: expected i64 indices of grad_output's sizes, got %.200s",
                    call->op->signature.full, tensor_describe(got, indices));
    }
    return backward_shape(call, &s, out, err);
}

/* The indices that the forward pool of `self` gives. */
static status max_backward_inputs(const op_call *call, rng *r, error *err) {
    tensor *self = call_tensor(call, 1), *indices = call_tensor(call, 7);
    pool_shape s;
    (void)r;
    TRY(max_backward_shape(call, &s, err));
    if (tensor_data(indices) == NULL || tensor_numel(indices) == 0) {
        return ASSAY_OK;
    }
    double *values = calloc((size_t)tensor_numel(self), sizeof *values);
    double *found = calloc((size_t)tensor_numel(indices), sizeof *found);
    if (values == NULL || found == NULL) {
        free(values);
        free(found);
        return fail(err, ASSAY_OUT_OF_MEMORY, "no memory to make the indices of a pool");
    }
    ref_gather(self, values);
    for (int64_t flat = 0; flat < tensor_numel(indices); flat++) {
        place at = place_of(flat, s.out);
        double most;
        int64_t area = s.in[0] * s.in[1], index = argmax(&s, values + at.plane * area, at.y, at.x, least_of(self->dtype), &most);
        found[flat] = (double)(index < area ? index : area - 1); /* of a window without elements: the backward refuses others */
    }
    fill_from(indices, found);
    free(values);
    free(found);
    return ASSAY_OK;
}

static status max_backward_reference(ref_ctx *ctx, error *err) {
    const double *grad = ref_real(ctx, 0);
    const int64_t *indices = ref_ints(ctx, 7);
    double *out = ref_output(ctx, 0);
    pool_shape s;
    TRY(max_backward_shape(ctx->call, &s, err));
    if (grad == NULL || indices == NULL || out == NULL) {
        return ASSAY_OK; /* ctx->failed says it */
    }
    int64_t in_plane = s.in[0] * s.in[1], out_plane = s.out[0] * s.out[1];
    for (int64_t flat = 0; flat < s.batch * s.channels * out_plane; flat++) {
        if (indices[flat] < 0 || indices[flat] >= in_plane) {
            return fail(err, ASSAY_INVALID, "%s: expected indices from 0 to %" PRId64 ", got %" PRId64,
                        ctx->call->op->signature.full, in_plane - 1, indices[flat]);
        }
        out[flat / out_plane * in_plane + indices[flat]] += grad[flat];
    }
    return ASSAY_OK;
}

/* --- avg_pool2d(self, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override) ---------------------- */

static status avg_shape(const op_call *call, pool_shape *out, error *err) {
    return pool_shape_of(call, 0, 1, -1, call_bool(call, 4), out, err);
}

static status avg_backward_shape(const op_call *call, pool_shape *out, error *err) {
    return pool_shape_of(call, 1, 2, -1, call_bool(call, 5), out, err);
}

/* What window (oy, ox) divides by; 0 for a window wholly in the padding, which answers 0. */
static double divisor(const op_call *call, int count_arg, const pool_shape *s, int64_t oy, int64_t ox) {
    int64_t y0, y1, x0, x1, rows, columns;
    pool_window(s, 0, oy, &y0, &y1, &rows);
    pool_window(s, 1, ox, &x0, &x1, &columns);
    if (y0 >= y1 || x0 >= x1) {
        return 0;
    }
    if (!call_is_none(call, count_arg + 1)) {
        return (double)call_int(call, count_arg + 1);
    }
    return call_bool(call, count_arg) ? (double)rows * (double)columns : (double)(y1 - y0) * (double)(x1 - x0);
}

static status check_divisor(const op_call *call, int divisor_arg, error *err) {
    if (!call_is_none(call, divisor_arg) && call_int(call, divisor_arg) == 0) {
        return fail(err, ASSAY_INVALID, "%s: expected a divisor_override other than 0", call->op->signature.full);
    }
    return ASSAY_OK;
}

static status avg_infer(const op_call *call, outputs *out, error *err) {
    pool_shape s;
    TRY(floats_or_integers(call, call_tensor(call, 0), err));
    TRY(avg_shape(call, &s, err));
    TRY(check_divisor(call, 6, err));
    return push_pooled(out, call_tensor(call, 0)->dtype, &s, err);
}

static double window_sum(const pool_shape *s, const double *plane, const int64_t y[2], const int64_t x[2], double *norm) {
    double sum = 0;
    for (int64_t row = y[0]; row < y[1]; row++) {
        for (int64_t column = x[0]; column < x[1]; column++) {
            double value = plane[row * s->in[1] + column];
            sum += value;
            *norm += value * value;
        }
    }
    return sum;
}

static double avg_element(ref_ctx *ctx, int out, int64_t flat, double *norm) {
    const pool_shape *s = shape_in(ctx, avg_shape);
    const double *x = ref_real(ctx, 0);
    if (s == NULL || x == NULL) {
        return 0;
    }
    place at = place_of(flat, s->out);
    int64_t rows[2], columns[2], padded;
    double by = divisor(ctx->call, 5, s, at.y, at.x), squares = 0;
    if (by == 0) {
        return 0;
    }
    pool_window(s, 0, at.y, &rows[0], &rows[1], &padded);
    pool_window(s, 1, at.x, &columns[0], &columns[1], &padded);
    double value = window_sum(s, x + at.plane * s->in[0] * s->in[1], rows, columns, &squares) / by;
    *norm += squares / (by * by);
    return dtype_is_integral(ctx->out->items[out].dtype) ? trunc(value) : value;
}

/* --- avg_pool2d_backward(grad_output, self, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor) -------- */

static status avg_backward_infer(const op_call *call, outputs *out, error *err) {
    pool_shape s;
    TRY(floats_only(call, call_tensor(call, 1), err));
    TRY(avg_backward_shape(call, &s, err));
    TRY(check_divisor(call, 7, err));
    return backward_shape(call, &s, out, err);
}

/* The windows [*from, *to) that reach input position `at`. */
static void windows_over(const pool_shape *s, int d, int64_t at, int64_t *from, int64_t *to) {
    int64_t padded = at + s->pad[d];
    int64_t end = padded / s->stride[d] + 1;
    *from = padded < s->kernel[d] ? 0 : (padded - s->kernel[d]) / s->stride[d] + 1;
    *to = end < s->out[d] ? end : s->out[d];
}

static double avg_backward_element(ref_ctx *ctx, int out, int64_t flat, double *norm) {
    const pool_shape *s = shape_in(ctx, avg_backward_shape);
    const double *grad = ref_real(ctx, 0);
    (void)out;
    if (s == NULL || grad == NULL) {
        return 0;
    }
    place at = place_of(flat, s->in);
    int64_t y0, y1, x0, x1;
    windows_over(s, 0, at.y, &y0, &y1);
    windows_over(s, 1, at.x, &x0, &x1);
    double sum = 0;
    for (int64_t oy = y0; oy < y1; oy++) {
        for (int64_t ox = x0; ox < x1; ox++) {
            double by = divisor(ctx->call, 6, s, oy, ox);
            double term = by == 0 ? 0 : grad[(at.plane * s->out[0] + oy) * s->out[1] + ox] / by;
            sum += term;
            *norm += term * term;
        }
    }
    return sum;
}

/* --- _adaptive_avg_pool2d(self, output_size) ------------------------------------------------------------------------------- */

static status adaptive_shape(const op_call *call, pool_shape *out, error *err) {
    return pool_shape_adaptive(call, 0, call_int_at(call, 1, 0, -1), call_int_at(call, 1, 1, -1), out, err);
}

static status adaptive_infer(const op_call *call, outputs *out, error *err) {
    pool_shape s;
    TRY(floats_only(call, call_tensor(call, 0), err));
    TRY(call_check_count(call, 1, 2, err));
    TRY(adaptive_shape(call, &s, err));
    return push_pooled(out, call_tensor(call, 0)->dtype, &s, err);
}

static double adaptive_element(ref_ctx *ctx, int out, int64_t flat, double *norm) {
    const pool_shape *s = shape_in(ctx, adaptive_shape);
    const double *x = ref_real(ctx, 0);
    (void)out;
    if (s == NULL || x == NULL) {
        return 0;
    }
    place at = place_of(flat, s->out);
    int64_t rows[2], columns[2];
    double squares = 0;
    pool_window_adaptive(s, 0, at.y, &rows[0], &rows[1]);
    pool_window_adaptive(s, 1, at.x, &columns[0], &columns[1]);
    double by = (double)(rows[1] - rows[0]) * (double)(columns[1] - columns[0]);
    double sum = window_sum(s, x + at.plane * s->in[0] * s->in[1], rows, columns, &squares);
    *norm += squares / (by * by);
    return sum / by;
}

/* --- _adaptive_avg_pool2d_backward(grad_output, self) -------------------------------------------------------------------- */

static status adaptive_backward_shape(const op_call *call, pool_shape *out, error *err) {
    const tensor *grad = call_tensor(call, 0);
    if (grad->ndim != 3 && grad->ndim != 4) {
        return fail(err, ASSAY_INVALID, "%s: expected a gradient of 3 or 4 dimensions, got %d", call->op->signature.full,
                    grad->ndim);
    }
    for (int d = grad->ndim - 3; d < grad->ndim; d++) {
        if (grad->sizes[d] == 0) {
            return fail(err, ASSAY_INVALID, "%s: expected a gradient of channels, height and width, dimension %d is empty", call->op->signature.full, d);
        }
    }
    return pool_shape_adaptive(call, 1, grad->sizes[grad->ndim - 2], grad->sizes[grad->ndim - 1], out, err);
}

static status adaptive_backward_infer(const op_call *call, outputs *out, error *err) {
    pool_shape s;
    TRY(floats_only(call, call_tensor(call, 1), err));
    TRY(adaptive_backward_shape(call, &s, err));
    return backward_shape(call, &s, out, err);
}

static status adaptive_backward_reference(ref_ctx *ctx, error *err) {
    const double *grad = ref_real(ctx, 0);
    double *out = ref_output(ctx, 0);
    pool_shape s;
    TRY(adaptive_backward_shape(ctx->call, &s, err));
    if (grad == NULL || out == NULL) {
        return ASSAY_OK; /* ctx->failed says it */
    }
    for (int64_t flat = 0; flat < s.batch * s.channels * s.out[0] * s.out[1]; flat++) {
        place at = place_of(flat, s.out);
        int64_t y0, y1, x0, x1;
        pool_window_adaptive(&s, 0, at.y, &y0, &y1);
        pool_window_adaptive(&s, 1, at.x, &x0, &x1);
        double share = grad[flat] / ((double)(y1 - y0) * (double)(x1 - x0));
        for (int64_t i = 0; i < (y1 - y0) * (x1 - x0); i++) {
            int64_t y = y0 + i / (x1 - x0), x = x0 + i % (x1 - x0);
            out[(at.plane * s.in[0] + y) * s.in[1] + x] += share;
        }
    }
    return ASSAY_OK;
}

/* --- cost --------------------------------------------------------------------------------------------------------------- */

/* Every window costs as many additions as it has elements. */
static void window_cost(const op_call *call, pool_analyse_fn *analyse, op_cost *cost) {
    pool_shape s;
    if (analyse(call, &s, NULL) != ASSAY_OK) {
        return;
    }
    double taps = s.kernel[0] > 0 ? (double)s.kernel[0] * (double)s.kernel[1]
                                  : ((double)s.in[0] / (double)s.out[0] + 1) * ((double)s.in[1] / (double)s.out[1] + 1);
    cost->flops = (double)s.batch * (double)s.channels * pool_taps(&s);
    cost->reduction = taps; /* of the largest window, or more */
}

static void avg_cost(const op_call *call, const outputs *out, op_cost *cost) {
    (void)out;
    window_cost(call, avg_shape, cost);
}

static void avg_backward_cost(const op_call *call, const outputs *out, op_cost *cost) {
    window_cost(call, avg_backward_shape, cost);
    op_cost_reads(call, 1, 0, cost); /* self gives its sizes only */
    (void)out;
}

static void adaptive_cost(const op_call *call, const outputs *out, op_cost *cost) {
    if (tensor_numel(&out->items[0]) > 0) {
        window_cost(call, adaptive_shape, cost);
    }
}

static void adaptive_backward_cost(const op_call *call, const outputs *out, op_cost *cost) {
    const tensor *grad = call_tensor(call, 0), *made = &out->items[0];
    int64_t rows = made->sizes[made->ndim - 2], grad_rows = grad->sizes[grad->ndim - 2];
    window_cost(call, adaptive_backward_shape, cost);
    op_cost_reads(call, 1, 0, cost);
    /* Where outputs outnumber inputs several windows meet in one input. */
    cost->reduction = grad_rows > rows && rows > 0 ? 4 * (double)grad_rows / (double)rows : 4;
}

static void max_backward_cost(const op_call *call, const outputs *out, op_cost *cost) {
    window_cost(call, max_backward_shape, cost);
    cost->flops = (double)tensor_numel(call_tensor(call, 0));
    op_cost_reads(call, 1, 0, cost); /* self gives its sizes only */
    (void)out;
}

static const op_family family_pool = {.name = "pool"};

static const op_row rows[] = {
    {.signature = "max_pool2d_with_indices(Tensor self, int[2] kernel_size, int[2] stride=[], int[2] padding=0, int[2] "
                  "dilation=1, bool ceil_mode=False) -> (Tensor, Tensor)",
     .doc = "The largest element of each window, and its index in the plane; NaN wins, padding never does.",
     .family = &family_pool,
     .infer = max_infer,
     .decompose = max_pool_parts,
     .reference_element = max_element},
    {.signature = "max_pool2d_with_indices_backward(Tensor grad_output, Tensor self, int[2] kernel_size, int[2] stride, "
                  "int[2] padding, int[2] dilation, bool ceil_mode, Tensor indices) -> Tensor",
     .doc = "Adds each window's gradient to the element that indices names.",
     .family = &family_pool,
     .infer = max_backward_infer,
     .decompose = max_pool_backward_parts,
     .inputs = max_backward_inputs,
     .cost = max_backward_cost,
     .reference = max_backward_reference},
    {.signature = "avg_pool2d(Tensor self, int[2] kernel_size, int[2] stride=[], int[2] padding=0, bool ceil_mode=False, "
                  "bool count_include_pad=True, int? divisor_override=None) -> Tensor",
     .doc = "The mean of each window; padding counts as zeros if so asked.",
     .family = &family_pool,
     .infer = avg_infer,
     .decompose = avg_pool_parts,
     .cost = avg_cost,
     .reference_element = avg_element},
    {.signature = "avg_pool2d_backward(Tensor grad_output, Tensor self, int[2] kernel_size, int[2] stride, int[2] padding, "
                  "bool ceil_mode, bool count_include_pad, int? divisor_override) -> Tensor",
     .doc = "Shares each window's gradient out among the elements under it.",
     .family = &family_pool,
     .infer = avg_backward_infer,
     .decompose = avg_pool_backward_parts,
     .cost = avg_backward_cost,
     .reference_element = avg_backward_element},
    {.signature = "_adaptive_avg_pool2d(Tensor self, SymInt[2] output_size) -> Tensor",
     .doc = "The means of as many windows as output_size asks for, spread evenly over the input.",
     .family = &family_pool,
     .infer = adaptive_infer,
     .decompose = adaptive_pool_parts,
     .cost = adaptive_cost,
     .reference_element = adaptive_element},
    {.signature = "_adaptive_avg_pool2d_backward(Tensor grad_output, Tensor self) -> Tensor",
     .doc = "Shares each adaptive window's gradient out among the elements under it.",
     .family = &family_pool,
     .infer = adaptive_backward_infer,
     .decompose = adaptive_pool_backward_parts,
     .cost = adaptive_backward_cost,
     .reference = adaptive_backward_reference},
};

const op_rows rows_pool = {rows, countof(rows)};
