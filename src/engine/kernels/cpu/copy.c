/* SPDX-License-Identifier: Apache-2.0 */
/* Copies, cat and stack: moves of the copy engine. */
#include "engine/kernels/cpu/kernels.h"
#include "engine/kernels/cpu/move_plan.h"

#include <string.h>

static status prepare_whole(kernel_plan *plan, const tensor *src, error *err) {
    const tensor *dst = &plan->out->items[0];
    move_plan *p;
    box b;
    TRY(move_plan_start(plan, 1, &p, err));
    box_of_pair(&b, dst, src);
    move_plan_copy(p, &b, dst, src);
    return ASSAY_OK;
}

/* clone, lift_fresh_copy, _to_copy: argument 0. */
static status prepare_clone(kernel_plan *plan, error *err) {
    return prepare_whole(plan, call_tensor(plan->call, 0), err);
}

/* A source that shares memory with what it is copied onto, in another layout: its values go through memory of their
   own, or the copy would read what it has written. */
typedef struct overlapping_copy {
    move out_of_src;
    move into_dst;
} overlapping_copy;

static status run_overlapping(kernel_plan *plan) {
    const overlapping_copy *c = plan->state;
    moves_run(&c->out_of_src, 1, false);
    moves_run(&c->into_dst, 1, false);
    return ASSAY_OK;
}

static status prepare_overlapping(kernel_plan *plan, const tensor *dst, const tensor *src, error *err) {
    overlapping_copy *c = arena_make(plan->memory, 1, sizeof *c);
    storage *s = arena_make(plan->memory, 1, sizeof *s);
    tensor kept;
    TRY(tensor_init(&kept, src->dtype, src->ndim, src->sizes, err));
    void *data = arena_make(plan->memory, (size_t)tensor_numel(src), dtype_size(src->dtype));
    if (c == NULL || s == NULL || data == NULL) {
        return fail(err, ASSAY_OUT_OF_MEMORY, "no memory for a copy between overlapping tensors");
    }
    s->data = data;
    kept.storage = s;
    box b;
    box_of_pair(&b, &kept, src);
    move_copy(&c->out_of_src, &b, &kept, src);
    box_of_pair(&b, dst, &kept);
    move_copy(&c->into_dst, &b, dst, &kept);
    plan->state = c;
    plan->run = run_overlapping;
    return ASSAY_OK;
}

/* copy(self, src), copy_ */
static status prepare_copy(kernel_plan *plan, error *err) {
    const tensor *dst = &plan->out->items[0], *src = call_tensor(plan->call, 1);
    if (!tensor_may_overlap(dst, src)) {
        return prepare_whole(plan, src, err);
    }
    if (tensor_data(dst) == tensor_data(src) && dst->dtype == src->dtype && tensor_same_sizes(dst, src) &&
        tensor_same_strides(dst, src)) {
        move_plan *p;
        return move_plan_start(plan, 1, &p, err); /* onto itself: nothing to do */
    }
    return prepare_overlapping(plan, dst, src, err);
}

/* cat(tensors, dim): each tensor onto its part of the output, all at once unless the parts lie far apart. */
static status prepare_cat(kernel_plan *plan, error *err) {
    const tensor *dst = &plan->out->items[0];
    int n, dim = (int)call_int(plan->call, 1);
    tensor **items = call_tensors(plan->call, 0, &n);
    move_plan *p;
    TRY(move_plan_start(plan, n, &p, err));
    dim = dim < 0 ? dim + dst->ndim : dim;
    int64_t from = 0;
    for (int i = 0; i < n; i++) {
        if (items[i]->ndim == 1 && items[i]->sizes[0] == 0) {
            continue; /* ATen's oldest habit: shape [0] joins anything */
        }
        box b;
        box_of(&b, dst);
        box_cut(&b, dim, from, items[i]->sizes[dim]);
        memcpy(b.src_strides, items[i]->strides, (size_t)dst->ndim * sizeof b.src_strides[0]);
        move_plan_copy(p, &b, dst, items[i]);
        from += items[i]->sizes[dim];
    }
    move_plan_share(p);
    return ASSAY_OK;
}

/* stack(tensors, dim) */
static status prepare_stack(kernel_plan *plan, error *err) {
    const tensor *dst = &plan->out->items[0];
    int n, dim = (int)call_int(plan->call, 1);
    tensor **items = call_tensors(plan->call, 0, &n);
    move_plan *p;
    TRY(move_plan_start(plan, n, &p, err));
    dim = dim < 0 ? dim + dst->ndim : dim;
    for (int i = 0; i < n; i++) {
        box b;
        box_of(&b, dst);
        box_cut(&b, dim, i, 1);
        for (int d = 0; d < dst->ndim; d++) {
            b.src_strides[d] = d < dim ? items[i]->strides[d] : d > dim ? items[i]->strides[d - 1] : 0;
        }
        move_plan_copy(p, &b, dst, items[i]);
    }
    move_plan_share(p);
    return ASSAY_OK;
}

static const kernel_row rows[] = {
    {"clone.default", prepare_clone, NULL},    {"lift_fresh_copy.default", prepare_clone, NULL},
    {"_to_copy.default", prepare_clone, NULL}, {"copy.default", prepare_copy, NULL},
    {"cat.default", prepare_cat, NULL},        {"stack.default", prepare_stack, NULL},
};

const kernel_rows kernels_copy = {rows, countof(rows)};
