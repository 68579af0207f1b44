/* SPDX-License-Identifier: Apache-2.0 */
/* New tensors and fills: one fill move each, or nothing at all. */
#include "engine/kernels/cpu/kernels.h"
#include "engine/kernels/cpu/move_plan.h"

static status prepare_fill(kernel_plan *plan, number value, error *err) {
    const tensor *dst = &plan->out->items[0];
    move_plan *p;
    box b;
    TRY(move_plan_start(plan, 1, &p, err));
    box_of(&b, dst);
    move_plan_fill(p, &b, dst, value);
    return ASSAY_OK;
}

static status prepare_empty(kernel_plan *plan, error *err) {
    move_plan *p;
    return move_plan_start(plan, 1, &p, err);
}

static status prepare_zeros(kernel_plan *plan, error *err) {
    return prepare_fill(plan, number_of_int(0), err);
}

static status prepare_ones(kernel_plan *plan, error *err) {
    return prepare_fill(plan, number_of_int(1), err);
}

static status prepare_full(kernel_plan *plan, error *err) {
    return prepare_fill(plan, call_number(plan->call, 2), err);
}

static status prepare_fill_scalar(kernel_plan *plan, error *err) {
    return prepare_fill(plan, call_number(plan->call, 1), err);
}

/* The value is read when the kernel runs, so it cannot be part of the plan: converted each time into the fill's
 * pattern. */
typedef struct fill_tensor {
    move first;
    move fill;
} fill_tensor;

static status run_fill_tensor(kernel_plan *plan) {
    fill_tensor *f = plan->state;
    moves_run(&f->first, 1, false);
    size_t size = (size_t)1 << f->fill.dst_log2;
    for (size_t at = size; at < sizeof f->fill.value; at += size) {
        for (size_t k = 0; k < size; k++) {
            f->fill.value[at + k] = f->fill.value[k];
        }
    }
    moves_run(&f->fill, 1, false);
    return ASSAY_OK;
}

/* fill.Tensor(self, value): value, converted, becomes the first element of the fill's pattern. */
static status prepare_fill_tensor(kernel_plan *plan, error *err) {
    const tensor *dst = &plan->out->items[0], *value = call_tensor(plan->call, 1);
    fill_tensor *f = arena_make(plan->memory, 1, sizeof *f);
    if (f == NULL) {
        return fail(err, ASSAY_OUT_OF_MEMORY, "no memory for the plan of %s", plan->call->op->signature.full);
    }
    box b;
    box_of(&b, dst);
    move_fill(&f->fill, &b, dst, number_of_int(0));
    box_of_pair(&b, value, value);
    tensor one = *value; /* the layout alone is borrowed */
    one.dtype = dst->dtype;
    one.offset = 0;
    one.storage = &(storage){.data = f->fill.value};
    move_copy(&f->first, &b, &one, value);
    plan->state = f;
    plan->run = run_fill_tensor;
    return ASSAY_OK;
}

static const kernel_row rows[] = {
    {"new_empty.default", prepare_empty, NULL}, {"new_empty_strided.default", prepare_empty, NULL},
    {"new_zeros.default", prepare_zeros, NULL}, {"new_ones.default", prepare_ones, NULL},
    {"new_full.default", prepare_full, NULL},   {"fill.Scalar", prepare_fill_scalar, NULL},
    {"fill.Tensor", prepare_fill_tensor, NULL},
};

const kernel_rows kernels_create = {rows, countof(rows)};
