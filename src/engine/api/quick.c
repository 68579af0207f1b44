/* SPDX-License-Identifier: Apache-2.0 */
/* Keeps calls by operator. Everything here is measured in instructions (tests/engine/callgrind_add.py): a hit compares forms,
   takes one allocation for the output, its storage and its handle, and runs the plan. */
#include "engine/api/quick.h"

#include <stdlib.h>
#include <string.h>

enum {
    QUICK_VALUES = 6,
    QUICK_TENSORS = 3,
    QUICK_DIMS = 4,    /* of the output: so many are copied whatever their number, without a loop */
    QUICK_BYTES = 512, /* of the output: with its handle the block stays below malloc's fast sizes (1032 bytes) */
    QUICK_LINE_BYTES = 64,
};

struct quick_call {
    int n_values;
    size_t out_bytes;
    assay_value values[QUICK_VALUES];
    tensor *tensor_of[QUICK_VALUES]; /* of a tensor value: its form, one of `tensors` */
    tensor tensors[QUICK_TENSORS];   /* forms; they hold memory while a call runs, and never own it */
    int n_tensors;
    arg args[SIGNATURE_MAX_PARAMS];
    op_call call;
    outputs out; /* one, its form; owns nothing */
    arena memory;
    kernel_plan plan;
};

/* One allocation: the storage first, because freeing it frees the block. Data follows on the next cache line. */
typedef struct quick_block {
    storage storage;
    assay_tensor handle;
} quick_block;

status quick_init(quick_calls *q, int n_ops, error *err) {
    quick_call **by_op = calloc((size_t)n_ops, sizeof(quick_call *));
    if (by_op == NULL) {
        return fail(err, ASSAY_OUT_OF_MEMORY, "no memory for a session");
    }
    *q = (quick_calls){.by_op = by_op, .n_ops = n_ops};
    return ASSAY_OK;
}

static void free_call(quick_call *c) {
    if (c != NULL) {
        if (c->plan.clear != NULL) {
            c->plan.clear(&c->plan);
        }
        arena_clear(&c->memory);
        free(c);
    }
}

void quick_clear(quick_calls *q) {
    for (int i = 0; i < q->n_ops; i++) {
        free_call(q->by_op[i]);
    }
    free(q->by_op);
    *q = (quick_calls){.by_op = NULL};
}

/* --- running -------------------------------------------------------------------------------------------------------------- */

static inline bool has_form(const tensor *t, const tensor *form) {
    if (t->dtype != form->dtype || t->ndim != form->ndim || t->is_wrapped_number || t->sparse != NULL) {
        return false;
    }
    for (int d = 0; d < form->ndim; d++) {
        if (t->sizes[d] != form->sizes[d] || t->strides[d] != form->strides[d]) {
            return false;
        }
    }
    return true;
}

/* Numbers compare by their bits: -0.0 is another number than 0.0, and a NaN is itself. */
static bool has_value(const assay_value *v, const assay_value *kept) {
    switch (kept->kind) {
    case ASSAY_VALUE_BOOL:
        return v->b == kept->b;
    case ASSAY_VALUE_DTYPE:
        return v->dtype == kept->dtype;
    case ASSAY_VALUE_INT:
    case ASSAY_VALUE_FLOAT:
        return v->i == kept->i;
    default:
        return true; /* the kind says all */
    }
}

/* Whether the values have the kept forms; their memory is put in on the way, which does no harm if they have not. */
static inline bool matches(quick_call *c, const assay_value *values, int n_values) {
    if (n_values != c->n_values) {
        return false;
    }
    for (int i = 0; i < n_values; i++) {
        const assay_value *v = &values[i];
        if (v->kind != c->values[i].kind) {
            return false;
        }
        if (v->kind == ASSAY_VALUE_TENSOR) {
            tensor *form = c->tensor_of[i];
            if (v->tensor == NULL || !has_form(&v->tensor->t, form)) {
                return false;
            }
            form->storage = v->tensor->t.storage;
            form->offset = v->tensor->t.offset;
        } else if (!has_value(v, &c->values[i])) {
            return false;
        }
    }
    return true;
}

static quick_block *make_block(size_t out_bytes) {
    quick_block *block = malloc(sizeof *block + out_bytes + 2 * (size_t)QUICK_LINE_BYTES);
    if (block != NULL) {
        uintptr_t behind = (uintptr_t)(block + 1);
        atomic_init(&block->storage.refs, 1);
        block->storage.device = &device_cpu;
        block->storage.data = (char *)(block + 1) + (-behind & (QUICK_LINE_BYTES - 1));
        block->storage.size_bytes = out_bytes;
        block->storage.is_beside = true;
        block->handle.is_in_storage = true;
    }
    return block;
}

static inline void hand_over(quick_block *block, const tensor *form) {
    tensor *t = &block->handle.t;
    t->dtype = form->dtype;
    t->ndim = form->ndim;
    t->is_wrapped_number = false;
    t->offset = 0;
    t->storage = &block->storage;
    t->sparse = NULL;
    memcpy(t->sizes, form->sizes, QUICK_DIMS * sizeof *t->sizes);
    memcpy(t->strides, form->strides, QUICK_DIMS * sizeof *t->strides);
}

bool quick_run(const quick_calls *q, const op *o, const assay_value *values, int n_values, assay_tensor **out,
               status *result, error *err) {
    quick_call *c = q->by_op[o->id];
    if (c == NULL || !matches(c, values, n_values)) {
        return false;
    }
    quick_block *block = make_block(c->out_bytes);
    if (block == NULL) {
        *result = fail(err, ASSAY_OUT_OF_MEMORY, "no memory for outputs");
        return true;
    }
    c->out.inline_items[0].storage = &block->storage;
    c->plan.err = err;
    c->plan.rebind(&c->plan);
    *result = c->plan.run(&c->plan);
    c->out.inline_items[0].storage = NULL;
    if (*result != ASSAY_OK) {
        free(block);
        return true;
    }
    hand_over(block, &c->out.inline_items[0]);
    *out = &block->handle;
    return true;
}

/* --- keeping -------------------------------------------------------------------------------------------------------------- */

static bool can_keep(const op_call *call, const assay_value *values, int n_values, const outputs *out) {
    const tensor *t = &out->items[0];
    if (n_values > QUICK_VALUES || out->n != 1 || call->op->in_place || call->op->row->is_view || call->op->row->is_random ||
        t->sparse != NULL || t->storage == NULL || t->storage->size_bytes > QUICK_BYTES || t->ndim > QUICK_DIMS ||
        t->offset != 0) {
        return false;
    }
    int n_tensors = 0;
    for (int i = 0; i < n_values; i++) {
        arg_kind kind = call->args[i].kind;
        bool is_tensor = values[i].kind == ASSAY_VALUE_TENSOR;
        bool plain = values[i].kind == ASSAY_VALUE_DEFAULT || values[i].kind == ASSAY_VALUE_NONE ||
                     values[i].kind == ASSAY_VALUE_INT || values[i].kind == ASSAY_VALUE_FLOAT ||
                     values[i].kind == ASSAY_VALUE_BOOL || values[i].kind == ASSAY_VALUE_DTYPE;
        n_tensors += is_tensor;
        if ((!is_tensor && !plain) || (kind == ARG_TENSOR) != is_tensor ||
            (is_tensor && (call->args[i].tensor->is_wrapped_number || call->args[i].tensor->sparse != NULL))) {
            return false;
        }
    }
    return n_tensors <= QUICK_TENSORS;
}

/* The call again, with forms of its own in the tensors' places. */
static void copy_call(quick_call *c, const op_call *call, const assay_value *values, int n_values) {
    c->n_values = n_values;
    memcpy(c->values, values, (size_t)n_values * sizeof *values);
    memcpy(c->args, call->args, (size_t)call->op->signature.n_params * sizeof *c->args);
    for (int i = 0; i < n_values; i++) {
        if (values[i].kind == ASSAY_VALUE_TENSOR) {
            tensor *form = &c->tensors[c->n_tensors++];
            *form = *call->args[i].tensor; /* layout and, for the preparation, memory: borrowed */
            c->args[i].tensor = form;
            c->tensor_of[i] = form;
        }
    }
    c->call = (op_call){.op = call->op, .args = c->args, .seed = call->seed};
}

void quick_keep(quick_calls *q, const op_call *call, const kernel_row *kernel, const assay_value *values, int n_values,
                const outputs *out) {
    quick_call **kept = &q->by_op[call->op->id];
    if (!can_keep(call, values, n_values, out)) {
        return;
    }
    quick_call *c = calloc(1, sizeof *c);
    if (c == NULL) {
        return;
    }
    copy_call(c, call, values, n_values);
    outputs_init(&c->out);
    c->out.all_alike = out->all_alike;
    c->out.n = 1;
    c->out.items[0] = out->items[0]; /* borrowed, as the inputs */
    c->out_bytes = out->items[0].storage->size_bytes;
    c->plan.call = &c->call;
    c->plan.out = &c->out;
    c->plan.memory = &c->memory;
    status prepared = kernel->prepare(&c->plan, NULL);
    c->out.items[0].storage = NULL;
    if (prepared != ASSAY_OK || c->plan.rebind == NULL) {
        free_call(c);
        return;
    }
    free_call(*kept);
    *kept = c;
}
