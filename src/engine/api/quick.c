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
    KEEP_EVERY = 16, /* calls that find their operator's places taken: one in so many replaces another */
};

typedef struct quick_value {
    assay_value_kind kind;
    uint64_t bits; /* value_bits of it */
    tensor *form;  /* of a tensor, one of the call's `forms`, else NULL */
} quick_value;

struct quick_call {
    int n_values;
    size_t out_bytes;
    uint64_t out_form;
    quick_value values[QUICK_VALUES];
    tensor forms[QUICK_TENSORS]; /* layouts, without memory once the call is kept */
    int n_forms;
    bool is_large; /* there is a tensor whose layout does not fit a number */
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
    quick_table **by_op = calloc((size_t)n_ops, sizeof(quick_table *));
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
        for (int k = 0; q->by_op[i] != NULL && k < QUICK_PLACES; k++) {
            free_call(q->by_op[i]->call[k]);
        }
        free(q->by_op[i]);
    }
    free(q->by_op);
    *q = (quick_calls){.by_op = NULL};
}

/* --- forms ---------------------------------------------------------------------------------------------------------------- */

uint64_t quick_form(const tensor *t) {
    enum { TYPE_BITS = 4, NDIM_BITS = 3, SIZE_BITS = 14, MOST_DIMS = 4 };
    _Static_assert(ASSAY_DTYPE_COUNT < 1 << TYPE_BITS, "a type must fit its bits, and none be 0");
    if (t->ndim > MOST_DIMS || t->is_wrapped_number || t->sparse != NULL) {
        return 0;
    }
    uint64_t form = 0;
    int64_t stride = 1;
    for (int d = t->ndim - 1; d >= 0; d--) {
        if (t->strides[d] != stride || t->sizes[d] < 1 || t->sizes[d] >= 1 << SIZE_BITS) {
            return 0;
        }
        form = form << SIZE_BITS | (uint64_t)t->sizes[d];
        stride *= t->sizes[d];
    }
    return (form << NDIM_BITS | (uint64_t)t->ndim) << TYPE_BITS | ((uint64_t)t->dtype + 1);
}

static bool has_form(const tensor *t, const tensor *form) {
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

/* What a value says, but for layouts that do not fit a number. Numbers say their bits: -0.0 is another number than 0.0, and
   a NaN is itself. Lists and texts are never kept. */
static inline uint64_t value_bits(const assay_value *v) {
    static const uint64_t mask[] = {[ASSAY_VALUE_INT] = UINT64_MAX,
                                    [ASSAY_VALUE_FLOAT] = UINT64_MAX,
                                    [ASSAY_VALUE_BOOL] = UINT8_MAX,
                                    [ASSAY_VALUE_DTYPE] = UINT32_MAX};
    if (v->kind == ASSAY_VALUE_TENSOR) {
        return v->tensor != NULL ? v->tensor->form : UINT64_MAX; /* which is no tensor's form */
    }
    return (unsigned)v->kind < countof(mask) ? (uint64_t)v->i & mask[v->kind] : 0;
}

/* Values of equal forms hash alike. Multiplying carries upwards: the highest bits, which say where to look, depend on all. */
static inline uint64_t hash_values(const assay_value *values, int n_values) {
    uint64_t hash = 0;
    for (const assay_value *v = values; v < values + n_values; v++) {
        hash = (hash ^ value_bits(v)) * UINT64_C(0x9e3779b97f4a7c15); /* 2^64 over the golden ratio */
    }
    return hash;
}

static inline int place_of(uint64_t hash) {
    return (int)(hash >> 60);
}
_Static_assert(QUICK_PLACES == 1 << 4, "place_of answers with four bits");
_Static_assert(sizeof(bool) == 1 && sizeof(assay_dtype) == 4 && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
               "value_bits takes the low bytes of a union");

/* --- running -------------------------------------------------------------------------------------------------------------- */

/* Whether the values have the kept forms, but for layouts of tensors that do not fit a number. */
static inline bool matches(quick_call *c, const assay_value *values, int n_values) {
    if (n_values != c->n_values) {
        return false;
    }
    for (int i = 0; i < n_values; i++) {
        const assay_value *v = &values[i];
        const quick_value *kept = &c->values[i];
        if (v->kind != kept->kind || value_bits(v) != kept->bits) {
            return false;
        }
        if (v->kind == ASSAY_VALUE_TENSOR) {
            c->args[i].tensor = &v->tensor->t; /* if the next value does not match, nobody looks */
        }
    }
    return true;
}

static bool layouts_match(const quick_call *c, const assay_value *values) {
    for (int i = 0; i < c->n_values; i++) {
        const quick_value *kept = &c->values[i];
        if (kept->form != NULL && kept->bits == 0 && !has_form(&values[i].tensor->t, kept->form)) {
            return false;
        }
    }
    return true;
}

/* All of quick_find; out of line, because what its calls need of registers would cost the common case a dozen
   instructions. */
static __attribute__((noinline)) quick_call *find_anywhere(const quick_table *table, uint64_t hash,
                                                           const assay_value *values, int n_values) {
    for (int k = 0; k < QUICK_PLACES; k++) {
        int place = (place_of(hash) + k) % QUICK_PLACES;
        quick_call *c = table->call[place];
        if (table->hash[place] == hash && c != NULL && matches(c, values, n_values) && layouts_match(c, values)) {
            return c;
        }
    }
    return NULL;
}

quick_call *quick_find(const quick_calls *q, const op *o, const assay_value *values, int n_values) {
    const quick_table *table = q->by_op[o->id];
    if (table == NULL) {
        return NULL;
    }
    uint64_t hash = hash_values(values, n_values);
    int place = place_of(hash);
    quick_call *c = table->call[place];
    if (table->hash[place] == hash && c != NULL && !c->is_large && matches(c, values, n_values)) {
        return c;
    }
    return find_anywhere(table, hash, values, n_values);
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

static inline void hand_over(quick_block *block, const quick_call *c) {
    const tensor *form = &c->out.inline_items[0];
    tensor *t = &block->handle.t;
    block->handle.form = c->out_form;
    t->dtype = form->dtype;
    t->ndim = form->ndim;
    t->is_wrapped_number = false;
    t->offset = 0;
    t->storage = &block->storage;
    t->sparse = NULL;
    memcpy(t->sizes, form->sizes, QUICK_DIMS * sizeof *t->sizes);
    memcpy(t->strides, form->strides, QUICK_DIMS * sizeof *t->strides);
}

status quick_run(quick_call *c, assay_tensor **out, error *err) {
    quick_block *block = make_block(c->out_bytes);
    if (block == NULL) {
        return fail(err, ASSAY_OUT_OF_MEMORY, "no memory for outputs");
    }
    c->out.inline_items[0].storage = &block->storage;
    c->plan.err = err;
    c->plan.rebind(&c->plan);
    status result = c->plan.run(&c->plan);
    c->out.inline_items[0].storage = NULL;
    if (result != ASSAY_OK) {
        free(block);
        return result;
    }
    hand_over(block, c);
    *out = &block->handle;
    return ASSAY_OK;
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
    memcpy(c->args, call->args, (size_t)call->op->signature.n_params * sizeof *c->args);
    for (int i = 0; i < n_values; i++) {
        c->values[i] = (quick_value){.kind = values[i].kind, .bits = value_bits(&values[i])};
        if (values[i].kind == ASSAY_VALUE_TENSOR) {
            tensor *form = &c->forms[c->n_forms++];
            *form = *call->args[i].tensor; /* layout and, for the preparation, memory: borrowed */
            c->args[i].tensor = form;
            c->values[i].form = form;
            c->is_large = c->is_large || c->values[i].bits == 0;
        }
    }
    c->call = (op_call){.op = call->op, .args = c->args, .seed = call->seed};
}

/* Where a call of this hash is to be kept; -1: not this time. */
static int choose_place(quick_calls *q, quick_table *table, uint64_t hash) {
    int first = place_of(hash);
    for (int k = 0; k < QUICK_PLACES; k++) {
        int place = (first + k) % QUICK_PLACES;
        if (table->call[place] == NULL) {
            return place;
        }
    }
    return q->n_missed++ % KEEP_EVERY == 0 ? first : -1;
}

static quick_call *make_call(const op_call *call, const kernel_row *kernel, const assay_value *values, int n_values,
                             const outputs *out) {
    quick_call *c = calloc(1, sizeof *c);
    if (c == NULL) {
        return NULL;
    }
    copy_call(c, call, values, n_values);
    outputs_init(&c->out);
    c->out.all_alike = out->all_alike;
    c->out.n = 1;
    c->out.items[0] = out->items[0]; /* borrowed, as the inputs */
    c->out_bytes = out->items[0].storage->size_bytes;
    c->out_form = quick_form(&out->items[0]);
    c->plan.call = &c->call;
    c->plan.out = &c->out;
    c->plan.memory = &c->memory;
    status prepared = kernel->prepare(&c->plan, NULL);
    c->out.items[0].storage = NULL;
    for (int i = 0; i < c->n_forms; i++) {
        c->forms[i].storage = NULL;
    }
    if (prepared != ASSAY_OK || c->plan.rebind == NULL) {
        free_call(c);
        return NULL;
    }
    return c;
}

void quick_keep(quick_calls *q, const op_call *call, const kernel_row *kernel, const assay_value *values, int n_values,
                const outputs *out) {
    quick_table **table = &q->by_op[call->op->id];
    if (!can_keep(call, values, n_values, out)) {
        return;
    }
    if (*table == NULL) {
        *table = calloc(1, sizeof **table);
    }
    uint64_t hash = hash_values(values, n_values);
    int place = *table != NULL ? choose_place(q, *table, hash) : -1;
    quick_call *c = place >= 0 ? make_call(call, kernel, values, n_values, out) : NULL;
    if (c != NULL) {
        free_call((*table)->call[place]);
        (*table)->call[place] = c;
        (*table)->hash[place] = hash;
    }
}
