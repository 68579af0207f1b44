/* SPDX-License-Identifier: Apache-2.0 */
/* The reference's driver: gathers operands, picks the row's style of reference, scatters what was asked for. */
#include "engine/schema/reference.h"

#include "engine/schema/pointwise.h"

#include <assert.h>
#include <math.h>
#include <omp.h>
#include <stdalign.h>
#include <stdlib.h>
#include <string.h>

/* Below so many terms, some 0.3 ms, threads are not worth waking; and what their own caches may take together. */
enum { TERMS_TO_SHARE = 1 << 16, SCRATCH_BYTES = 64 << 20 };

status ref_init(ref_ctx *ctx, const op_call *call, const outputs *out, error *err) {
    *ctx = (ref_ctx){.call = call, .out = out};
    size_t slots = (size_t)call->op->signature.n_params;
    for (int i = 0; i < call->op->signature.n_params; i++) {
        slots += call->args[i].kind == ARG_TENSORS ? (size_t)call->args[i].n : 0;
    }
    ctx->n_dense = 2 * slots;
    ctx->dense = arena_make(&ctx->memory, ctx->n_dense, sizeof *ctx->dense);
    ctx->output = arena_make(&ctx->memory, (size_t)out->n, sizeof *ctx->output);
    ctx->squares = arena_make(&ctx->memory, (size_t)out->n, sizeof *ctx->squares);
    if (ctx->dense == NULL || ctx->output == NULL || ctx->squares == NULL) {
        arena_clear(&ctx->memory);
        return fail(err, ASSAY_OUT_OF_MEMORY, "no memory for the reference of %s", call->op->signature.full);
    }
    ref_judge(ctx, out);
    return ASSAY_OK;
}

void ref_judge(ref_ctx *ctx, const outputs *judged) {
    ctx->rounding = judged->n > 0 ? dtype_epsilon(dtype_accumulator(dtype_real(judged->items[0].dtype))) : 0;
}

void ref_clear(ref_ctx *ctx) {
    arena_clear(&ctx->memory);
}

void *ref_make(ref_ctx *ctx, size_t count, size_t size_bytes) {
    void *memory = arena_make(&ctx->memory, count, size_bytes);
    if (memory == NULL) {
        ctx->failed = ASSAY_OUT_OF_MEMORY;
    }
    return memory;
}

static void gather_row(dtype t, const char *data, int64_t stride, int64_t n, double *values) {
    size_t step = (size_t)stride * dtype_size(t);
    if (t == ASSAY_F32) {
        for (int64_t i = 0; i < n; i++, data += step) {
            values[i] = *(const float *)data;
        }
    } else if (t == ASSAY_BF16) {
        for (int64_t i = 0; i < n; i++, data += step) {
            values[i] = bf16_to_float(*(const uint16_t *)data);
        }
    } else if (t == ASSAY_F16) {
        for (int64_t i = 0; i < n; i++, data += step) {
            values[i] = f16_to_float(*(const uint16_t *)data);
        }
    } else if (dtype_is_complex(t)) {
        for (int64_t i = 0; i < n; i++, data += step) {
            double complex z = element_load_complex(t, data);
            values[2 * i] = creal(z);
            values[2 * i + 1] = cimag(z);
        }
    } else {
        for (int64_t i = 0; i < n; i++, data += step) {
            values[i] = element_load(t, data);
        }
    }
}

static void gather_int_row(dtype t, const char *data, int64_t stride, int64_t n, int64_t *values) {
    size_t step = (size_t)stride * dtype_size(t);
    for (int64_t i = 0; i < n; i++, data += step) {
        values[i] = element_load_int(t, data);
    }
}

/* Walks rows of the innermost dimension in row-major order. */
static void gather(const tensor *t, double *values, int64_t *ints) {
    int64_t n = tensor_numel(t);
    const char *data = tensor_data(t);
    if (n == 0 || data == NULL) {
        return;
    }
    int last = t->ndim - 1;
    int64_t row = t->ndim > 0 ? t->sizes[last] : 1;
    int64_t stride = t->ndim > 0 ? t->strides[last] : 1;
    int width = dtype_is_complex(t->dtype) ? 2 : 1;
    int64_t index[TENSOR_MAX_DIMS] = {0};
    int64_t offset = 0;
    for (int64_t done = 0; done < n; done += row) {
        const char *at = data + offset * (int64_t)dtype_size(t->dtype);
        if (values != NULL) {
            gather_row(t->dtype, at, stride, row, values + done * width);
        } else {
            gather_int_row(t->dtype, at, stride, row, ints + done);
        }
        for (int d = last - 1; d >= 0; d--) {
            offset += t->strides[d];
            if (++index[d] < t->sizes[d]) {
                break;
            }
            offset -= t->strides[d] * t->sizes[d];
            index[d] = 0;
        }
    }
}

void ref_gather(const tensor *t, double *values) {
    gather(t, values, NULL);
}

void ref_gather_ints(const tensor *t, int64_t *values) {
    gather(t, NULL, values);
}

/* Slot of argument i (k < 0) or of item k of list argument i: lists lie behind the arguments. */
static size_t slot_of(const ref_ctx *ctx, int i, int k) {
    const op_call *call = ctx->call;
    if (k < 0) {
        return (size_t)i;
    }
    size_t slot = (size_t)call->op->signature.n_params;
    for (int j = 0; j < i; j++) {
        slot += call->args[j].kind == ARG_TENSORS ? (size_t)call->args[j].n : 0;
    }
    return slot + (size_t)k;
}

static const void *dense(ref_ctx *ctx, const tensor *t, size_t slot, bool as_ints) {
    if (t == NULL) {
        return NULL;
    }
    void **cached = &ctx->dense[2 * slot + (as_ints ? 1 : 0)];
    if (*cached == NULL) {
        size_t width = dtype_is_complex(t->dtype) && !as_ints ? 2 : 1;
        *cached = ref_make(ctx, (size_t)tensor_numel(t) * width, 8);
        if (*cached != NULL) {
            ctx->dense_bytes += (size_t)tensor_numel(t) * width * 8;
            gather(t, as_ints ? NULL : *cached, as_ints ? *cached : NULL);
        }
    }
    return *cached;
}

const double *ref_real(ref_ctx *ctx, int i) {
    return dense(ctx, call_tensor(ctx->call, i), slot_of(ctx, i, -1), false);
}

const int64_t *ref_ints(ref_ctx *ctx, int i) {
    return dense(ctx, call_tensor(ctx->call, i), slot_of(ctx, i, -1), true);
}

const double *ref_real_item(ref_ctx *ctx, int i, int k) {
    return dense(ctx, ctx->call->args[i].tensors[k], slot_of(ctx, i, k), false);
}

const int64_t *ref_ints_item(ref_ctx *ctx, int i, int k) {
    return dense(ctx, ctx->call->args[i].tensors[k], slot_of(ctx, i, k), true);
}

double *ref_output(ref_ctx *ctx, int out) {
    if (ctx->output[out] == NULL) {
        const tensor *t = &ctx->out->items[out];
        size_t width = dtype_is_complex(t->dtype) ? 2 : 1;
        ctx->output[out] = ref_make(ctx, (size_t)tensor_numel(t) * width, sizeof(double));
    }
    return ctx->output[out];
}

double *ref_squares(ref_ctx *ctx, int out) {
    if (ctx->squares[out] == NULL) {
        ctx->squares[out] = ref_make(ctx, (size_t)tensor_numel(&ctx->out->items[out]), sizeof(double));
    }
    return ctx->squares[out];
}

static void copy_request(const ref_ctx *ctx, int out, ref_request *request) {
    const double *whole = ctx->output[out], *squares = ctx->squares[out];
    int width = dtype_is_complex(ctx->out->items[out].dtype) ? 2 : 1;
    for (int64_t i = 0; i < request->n; i++) {
        int64_t flat = request->flat != NULL ? request->flat[i] : i;
        for (int k = 0; k < width; k++) {
            request->value[i * width + k] = whole[flat * width + k];
        }
        if (request->norm != NULL) {
            request->norm[i] = squares != NULL ? sqrt(squares[flat]) : 0;
        }
    }
}

/* Elements [from, to) of a request. */
typedef void part_fn(ref_ctx *ctx, int out, const ref_request *request, int64_t from, int64_t to);

/* A share of the elements by a thread: what is gathered is shared, what the row keeps between elements is not. Other threads
   may be writing ctx->failed. */
static void run_share(ref_ctx *ctx, int out, const ref_request *request, part_fn *part, int64_t from, int64_t to) {
    ref_ctx own = {.call = ctx->call, .out = ctx->out, .n_dense = ctx->n_dense, .dense_bytes = ctx->dense_bytes,
                   .rounding = ctx->rounding, .failed = ASSAY_OK};
    own.dense = arena_make(&own.memory, ctx->n_dense, sizeof *own.dense);
    own.output = arena_make(&own.memory, (size_t)ctx->out->n, sizeof *own.output);
    if (own.dense == NULL || own.output == NULL) {
        own.failed = ASSAY_OUT_OF_MEMORY;
    } else {
        memcpy(own.dense, ctx->dense, ctx->n_dense * sizeof *own.dense);
        memcpy(own.output, ctx->output, (size_t)ctx->out->n * sizeof *own.output);
        part(&own, out, request, from, to);
    }
    if (own.failed != ASSAY_OK) {
#pragma omp atomic write
        ctx->failed = own.failed;
    }
    arena_clear(&own.memory);
}

static double terms_of(const ref_ctx *ctx, int64_t n) {
    op_cost cost;
    op_cost_of(ctx->call, ctx->out, &cost);
    return (double)n * (cost.reduction > 1 ? cost.reduction : 1);
}

/* The first element gathers the operands and shows how much the row keeps between elements: each thread will have that. */
static void run_parts(ref_ctx *ctx, int out, const ref_request *request, part_fn *part) {
    size_t dense = ctx->dense_bytes, used = ctx->memory.used_bytes;
    int64_t n = request->n, first = n < 1 ? n : 1;
    part(ctx, out, request, 0, first);
    double kept = (double)(ctx->memory.used_bytes - used) - (double)(ctx->dense_bytes - dense);
    int threads = omp_get_max_threads(), most = kept > 0 ? 1 + (int)fmin(SCRATCH_BYTES / kept, 1 << 16) : threads;
    threads = threads < most ? threads : most;
    if (threads < 2 || ctx->failed != ASSAY_OK || terms_of(ctx, n) < TERMS_TO_SHARE) {
        part(ctx, out, request, first, n);
        return;
    }
#pragma omp parallel num_threads(threads)
    {
        int64_t share = omp_get_thread_num(), shares = omp_get_num_threads(), left = n - first;
        run_share(ctx, out, request, part, first + left * share / shares, first + left * (share + 1) / shares);
    }
}

/* How many of the elements from the i-th on, which end before `to`, lie side by side: at most OP_RUN. */
static int64_t run_length(const ref_request *request, int64_t i, int64_t to) {
    int64_t most = to - i < OP_RUN ? to - i : OP_RUN, n = 1;
    if (request->flat == NULL) {
        return most;
    }
    while (n < most && request->flat[i + n] == request->flat[i] + n) {
        n++;
    }
    return n;
}

/* Elements from the i-th on by the row's reference for neighbours; how many it did, 0 when it does not serve them. */
static int64_t run_of_elements(ref_ctx *ctx, int out, const ref_request *request, int64_t i, int64_t to) {
    op_run_fn *run = ctx->call->op->row->reference_run;
    int64_t n = run_length(request, i, to);
    double squares[OP_RUN] = {0};
    if (run == NULL || n < 2 || dtype_is_complex(ctx->out->items[out].dtype)) {
        return 0;
    }
    memset(request->value + i, 0, (size_t)n * sizeof *request->value);
    if (!run(ctx, out, request->flat != NULL ? request->flat[i] : i, n, request->value + i, squares)) {
        return 0;
    }
    for (int64_t k = 0; request->norm != NULL && k < n; k++) {
        request->norm[i + k] = sqrt(squares[k]);
    }
    return n;
}

static void elements_part(ref_ctx *ctx, int out, const ref_request *request, int64_t from, int64_t to) {
    const op_row *row = ctx->call->op->row;
    bool is_complex = dtype_is_complex(ctx->out->items[out].dtype);
    for (int64_t i = from; i < to && ctx->failed == ASSAY_OK; i++) {
        int64_t done = run_of_elements(ctx, out, request, i, to);
        if (done > 0) {
            i += done - 1;
            continue;
        }
        int64_t flat = request->flat != NULL ? request->flat[i] : i;
        double squares = 0;
        if (is_complex && row->reference_element_complex != NULL) {
            double complex value = row->reference_element_complex(ctx, out, flat, &squares);
            request->value[2 * i] = creal(value);
            request->value[2 * i + 1] = cimag(value);
        } else if (is_complex) {
            request->value[2 * i] = row->reference_element(ctx, out, 2 * flat, &squares);
            request->value[2 * i + 1] = row->reference_element(ctx, out, 2 * flat + 1, &squares);
        } else {
            request->value[i] = row->reference_element(ctx, out, flat, &squares);
        }
        if (request->norm != NULL) {
            request->norm[i] = sqrt(squares);
        }
    }
}

/* A row may have both: then `whole` serves complex outputs, which an element reference cannot return. */
static bool use_whole(const ref_ctx *ctx) {
    const op_row *row = ctx->call->op->row;
    bool is_complex = false;
    for (int i = 0; i < ctx->out->n; i++) {
        is_complex = is_complex || dtype_is_complex(ctx->out->items[i].dtype);
    }
    return row->reference != NULL && (is_complex || row->reference_element == NULL);
}

double ref_wrapped(const ref_ctx *ctx, int out, uint64_t value) {
    dtype t = ctx->out->items[out].dtype;
    int64_t stored = 0;
    element_store_int(t, &stored, (int64_t)value);
    return (double)element_load_int(t, &stored);
}

void ref_take(ref_term *term, const tensor *t, int64_t flat) {
    term->dtype = t->dtype;
    term->at = tensor_data(t) + tensor_offset_of(t, flat) * (int64_t)dtype_size(t->dtype);
}

/* One term keeps its exact value: it is converted once, as a copy does, so that i64 and a cast's rounding come out right. */
static double complex convert_term(const ref_term *term, dtype to) {
    alignas(16) char bits[16];
    if (term->at == NULL) {
        element_store_number(to, bits, term->number);
    } else if (dtype_is_complex(term->dtype)) {
        element_store_complex(to, bits, element_load_complex(term->dtype, term->at));
    } else if (dtype_is_floating(term->dtype)) {
        element_store(to, bits, element_load(term->dtype, term->at));
    } else {
        element_store_int(to, bits, element_load_int(term->dtype, term->at));
    }
    return dtype_is_complex(to) ? element_load_complex(to, bits) : CMPLX(element_load(to, bits), 0);
}

static double complex term_value(const ref_term *term) {
    return term->at == NULL ? CMPLX(term->number.f, term->number.im) : element_load_complex(term->dtype, term->at);
}

/* Integers add up in their own type, which wraps. */
static double complex sum_terms(ref_ctx *ctx, int out, int64_t flat, int64_t n, double *squares) {
    op_moves_fn *moves = ctx->call->op->row->reference_moves;
    dtype t = ctx->out->items[out].dtype;
    double complex sum = 0;
    uint64_t whole = 0;
    for (int64_t k = 0; k < n; k++) {
        ref_term term = {.at = NULL, .number = number_of_int(0)};
        moves(ctx, out, flat, k, &term);
        if (dtype_category_of(t) < CATEGORY_FLOATING) {
            whole += (uint64_t)(term.at != NULL ? element_load_int(term.dtype, term.at) : term.number.i);
            continue;
        }
        double complex value = term_value(&term);
        sum += value;
        *squares += creal(value) * creal(value) + cimag(value) * cimag(value);
    }
    if (dtype_category_of(t) < CATEGORY_FLOATING) {
        ref_term total = {.number = number_of_int((int64_t)whole)};
        return convert_term(&total, t);
    }
    return sum;
}

static void moves_part(ref_ctx *ctx, int out, const ref_request *request, int64_t from, int64_t to) {
    dtype t = ctx->out->items[out].dtype;
    for (int64_t i = from; i < to && ctx->failed == ASSAY_OK; i++) {
        int64_t flat = request->flat != NULL ? request->flat[i] : i;
        ref_term term = {.at = NULL, .number = number_of_int(0)};
        int64_t n = ctx->call->op->row->reference_moves(ctx, out, flat, 0, &term);
        double squares = 0;
        double complex value = n == 1 ? convert_term(&term, t) : sum_terms(ctx, out, flat, n, &squares);
        if (dtype_is_complex(t)) {
            request->value[2 * i] = creal(value);
            request->value[2 * i + 1] = cimag(value);
        } else {
            request->value[i] = creal(value);
        }
        if (request->norm != NULL) {
            request->norm[i] = sqrt(squares);
        }
    }
}

status ref_run(ref_ctx *ctx, ref_request *requests, error *err) {
    const op_row *row = ctx->call->op->row;
    status result = ASSAY_OK;
    bool whole = use_whole(ctx);
    if (whole) {
        result = row->reference(ctx, err);
    }
    for (int out = 0; result == ASSAY_OK && ctx->failed == ASSAY_OK && out < ctx->out->n; out++) {
        if (whole) {
            assert(ctx->output[out] != NULL || tensor_numel(&ctx->out->items[out]) == 0);
            copy_request(ctx, out, &requests[out]);
        } else if (row->reference_element != NULL) {
            run_parts(ctx, out, &requests[out], elements_part);
        } else if (row->reference_moves != NULL) {
            run_parts(ctx, out, &requests[out], moves_part);
        } else {
            result = pointwise_reference(ctx, &requests[out], err);
        }
    }
    if (ctx->failed != ASSAY_OK && result == ASSAY_OK) {
        result = fail(err, ctx->failed, "no memory for the reference of %s", ctx->call->op->signature.full);
    }
    return result;
}

const tensor *ref_written_tensor(const op_call *call, int i) {
    const op_row *row = call->op->row;
    bool is_known = row->reference_written != NULL && (row->written_args >> i & 1) != 0;
    return is_known && call->args[i].kind == ARG_TENSOR ? call->args[i].tensor : NULL;
}

status ref_run_written(ref_ctx *ctx, int i, ref_request *request, error *err) {
    for (int64_t k = 0; k < request->n && ctx->failed == ASSAY_OK; k++) {
        double squares = 0;
        request->value[k] = ctx->call->op->row->reference_written(ctx, i, request->flat != NULL ? request->flat[k] : k, &squares);
        if (request->norm != NULL) {
            request->norm[k] = sqrt(squares);
        }
    }
    return ctx->failed == ASSAY_OK ? ASSAY_OK
                                   : fail(err, ctx->failed, "no memory for the reference of %s", ctx->call->op->signature.full);
}
