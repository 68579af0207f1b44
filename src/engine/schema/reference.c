/* SPDX-License-Identifier: Apache-2.0 */
/* The reference's driver: gathers operands, picks the row's style of reference, scatters what was asked for. */
#include "engine/schema/reference.h"

#include "engine/schema/pointwise.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_LIST = 4096 };

status ref_init(ref_ctx *ctx, const op_call *call, const outputs *out, error *err) {
    *ctx = (ref_ctx){.call = call, .out = out};
    size_t slots = (size_t)call->op->signature.n_params;
    for (int i = 0; i < call->op->signature.n_params; i++) {
        slots += call->args[i].kind == ARG_TENSORS ? (size_t)call->args[i].n : 0;
    }
    ctx->dense = arena_make(&ctx->memory, 2 * slots, sizeof *ctx->dense);
    ctx->output = arena_make(&ctx->memory, (size_t)out->n, sizeof *ctx->output);
    if (ctx->dense == NULL || ctx->output == NULL) {
        arena_clear(&ctx->memory);
        return fail(err, ASSAY_OUT_OF_MEMORY, "no memory for the reference of %s", call->op->signature.full);
    }
    return ASSAY_OK;
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

static void copy_request(const ref_ctx *ctx, int out, ref_request *request) {
    const double *whole = ctx->output[out];
    int width = dtype_is_complex(ctx->out->items[out].dtype) ? 2 : 1;
    for (int64_t i = 0; i < request->n; i++) {
        int64_t flat = request->flat != NULL ? request->flat[i] : i;
        for (int k = 0; k < width; k++) {
            request->value[i * width + k] = whole[flat * width + k];
        }
        if (request->norm != NULL) {
            request->norm[i] = 0;
        }
    }
}

static void run_elements(ref_ctx *ctx, int out, ref_request *request) {
    const op_row *row = ctx->call->op->row;
    bool is_complex = dtype_is_complex(ctx->out->items[out].dtype) && row->reference_element_complex != NULL;
    for (int64_t i = 0; i < request->n && ctx->failed == ASSAY_OK; i++) {
        double squares = 0;
        int64_t flat = request->flat != NULL ? request->flat[i] : i;
        if (is_complex) {
            double complex value = row->reference_element_complex(ctx, out, flat, &squares);
            request->value[2 * i] = creal(value);
            request->value[2 * i + 1] = cimag(value);
        } else {
            request->value[i] = row->reference_element(ctx, out, flat, &squares);
        }
        if (request->norm != NULL) {
            request->norm[i] = sqrt(squares);
        }
    }
}

status ref_run(ref_ctx *ctx, ref_request *requests, error *err) {
    const op_row *row = ctx->call->op->row;
    status result = ASSAY_OK;
    if (row->reference != NULL) {
        result = row->reference(ctx, err);
    }
    for (int out = 0; result == ASSAY_OK && ctx->failed == ASSAY_OK && out < ctx->out->n; out++) {
        if (row->reference != NULL) {
            assert(ctx->output[out] != NULL || tensor_numel(&ctx->out->items[out]) == 0);
            copy_request(ctx, out, &requests[out]);
        } else if (row->reference_element != NULL) {
            run_elements(ctx, out, &requests[out]);
        } else {
            result = pointwise_reference(ctx, &requests[out], err);
        }
    }
    if (ctx->failed != ASSAY_OK && result == ASSAY_OK) {
        result = fail(err, ctx->failed, "no memory for the reference of %s", ctx->call->op->signature.full);
    }
    return result;
}
