/* SPDX-License-Identifier: Apache-2.0 */
/* What follows by rule from a row: arguments by position, in-place shapes, default filling, default cost. */
#include "engine/schema/op.h"

#include "engine/schema/fill.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

void outputs_init(outputs *o) {
    o->n = 0;
    o->capacity = OUTPUTS_INLINE;
    o->all_alike = false;
    o->items = o->inline_items;
}

void outputs_clear(outputs *o) {
    for (int i = 0; i < o->n; i++) {
        tensor_clear(&o->items[i]);
    }
    if (o->items != o->inline_items) {
        free(o->items);
    }
    outputs_init(o);
}

tensor *outputs_push(outputs *o) {
    if (o->n == o->capacity) {
        size_t bytes = 0;
        if (!mul_size((size_t)o->capacity * 2, sizeof(tensor), &bytes)) {
            return NULL;
        }
        bool on_heap = o->items != o->inline_items;
        tensor *items = realloc(on_heap ? o->items : NULL, bytes);
        if (items == NULL) {
            return NULL;
        }
        if (!on_heap) {
            memcpy(items, o->inline_items, sizeof o->inline_items);
        }
        o->items = items;
        o->capacity *= 2;
    }
    tensor *t = &o->items[o->n++];
    t->ndim = 0;
    t->storage = NULL;
    t->sparse = NULL;
    return t;
}

status outputs_add(outputs *o, dtype t, int ndim, const int64_t *sizes, error *err) {
    tensor *added = outputs_push(o);
    return added != NULL ? tensor_init(added, t, ndim, sizes, err)
                         : fail(err, ASSAY_OUT_OF_MEMORY, "no memory for outputs");
}

status outputs_next(outputs *o, tensor **out, error *err) {
    tensor *t = outputs_push(o);
    if (t == NULL) {
        return fail(err, ASSAY_OUT_OF_MEMORY, "no memory for outputs");
    }
    *out = t;
    return ASSAY_OK;
}

tensor *call_tensor(const op_call *call, int i) {
    assert(i < call->op->signature.n_params);
    const arg *a = &call->args[i];
    assert(a->kind == ARG_TENSOR || a->kind == ARG_NONE);
    return a->kind == ARG_TENSOR ? a->tensor : NULL;
}

bool call_is_none(const op_call *call, int i) {
    return call->args[i].kind == ARG_NONE;
}

int64_t call_int(const op_call *call, int i) {
    assert(call->args[i].kind == ARG_INT);
    return call->args[i].i;
}

number call_number(const op_call *call, int i) {
    const arg *a = &call->args[i];
    switch (a->kind) {
    case ARG_NUMBER:
        return a->number;
    case ARG_INT:
        return number_of_int(a->i);
    case ARG_FLOAT:
        return number_of_double(a->f);
    default:
        assert(a->kind == ARG_BOOL);
        return number_of_bool(a->b);
    }
}

double call_float(const op_call *call, int i) {
    return call_number(call, i).f;
}

bool call_bool(const op_call *call, int i) {
    assert(call->args[i].kind == ARG_BOOL);
    return call->args[i].b;
}

const char *call_str(const op_call *call, int i) {
    return call->args[i].kind == ARG_NONE ? NULL : call->args[i].str;
}

dtype call_dtype(const op_call *call, int i, dtype if_none) {
    return call->args[i].kind == ARG_DTYPE ? call->args[i].dtype : if_none;
}

const int64_t *call_ints(const op_call *call, int i, int *n) {
    const arg *a = &call->args[i];
    assert(a->kind == ARG_INTS || a->kind == ARG_NONE);
    *n = a->kind == ARG_INTS ? a->n : 0;
    return a->kind == ARG_INTS ? a->ints : NULL;
}

int64_t call_int_at(const op_call *call, int i, int k, int64_t if_empty) {
    int n;
    const int64_t *items = call_ints(call, i, &n);
    return n == 0 ? if_empty : items[k < n ? k : n - 1];
}

status call_check_count(const op_call *call, int i, int n, error *err) {
    int has;
    call_ints(call, i, &has);
    return has == n ? ASSAY_OK
                    : fail(err, ASSAY_INVALID, "%s: expected %s of %d numbers, got %d", call->op->signature.full, call->op->signature.params[i].name, n, has);
}

tensor **call_tensors(const op_call *call, int i, int *n) {
    const arg *a = &call->args[i];
    assert(a->kind == ARG_TENSORS || a->kind == ARG_NONE);
    *n = a->kind == ARG_TENSORS ? a->n : 0;
    return a->kind == ARG_TENSORS ? a->tensors : NULL;
}

int call_all_tensors(const op_call *call, tensor **out, int max) {
    int n = 0;
    for (int i = 0; i < call->op->signature.n_params; i++) {
        const arg *a = &call->args[i];
        if (a->kind == ARG_TENSOR) {
            if (n < max) {
                out[n] = a->tensor;
            }
            n++;
        }
        for (int k = 0; a->kind == ARG_TENSORS && k < a->n; k++) {
            if (a->tensors[k] == NULL) {
                continue;
            }
            if (n < max) {
                out[n] = a->tensors[k];
            }
            n++;
        }
    }
    return n;
}

bool op_writes(const op *o, int i) {
    assert(i >= 0 && i < o->signature.n_params);
    return o->signature.params[i].is_written || (i < 32 && (o->row->written_args >> i & 1) != 0);
}

/* The output of NAME_ is its first argument; the functional result says only whether that is allowed. */
static status infer_in_place(const op_call *call, outputs *out, error *err) {
    const tensor *self = call_tensor(call, 0);
    tensor *result = &out->items[0];
    if (!tensor_same_sizes(self, result)) {
        char has[TENSOR_TEXT_BYTES], needs[TENSOR_TEXT_BYTES];
        return fail(err, ASSAY_INVALID, "%s: the result is %.160s, which cannot be written into %.160s",
                    call->op->signature.full, tensor_describe(needs, result), tensor_describe(has, self));
    }
    if (dtype_category_of(result->dtype) > dtype_category_of(self->dtype)) {
        return fail(err, ASSAY_INVALID, "%s: a result of %s cannot be cast to %s", call->op->signature.full,
                    assay_dtype_name(result->dtype), assay_dtype_name(self->dtype));
    }
    tensor_clear(result);
    tensor_share(result, self);
    return ASSAY_OK;
}

status call_check_written(const op_call *call, int i, error *err) {
    const op *o = call->op;
    const arg *a = &call->args[i];
    if (a->kind != ARG_TENSOR || !tensor_overlaps_itself(a->tensor)) {
        return ASSAY_OK;
    }
    char has[TENSOR_TEXT_BYTES];
    return fail(err, ASSAY_INVALID, "%s: several elements of %s, which is written to, lie in one place: %.160s; clone it first",
                o->signature.full, o->signature.params[i].name, tensor_describe(has, a->tensor));
}

/* A number that an element of the output's type cannot be is refused, not cut off. */
static status check_numbers_fit(const op_call *call, const outputs *out, error *err) {
    const op *o = call->op;
    const dtype t = out->n > 0 ? out->items[0].dtype : ASSAY_B8;
    const uint32_t fits = o->row->fits_output | o->row->fits_computed;
    for (int i = 0; fits != 0 && i < o->signature.n_params; i++) {
        const number value = (fits >> i & 1) != 0 && !call_is_none(call, i) ? call_number(call, i) : (number){0};
        const bool computed = !dtype_is_integral(t) && (o->row->fits_computed >> i & 1) != 0;
        const dtype holder = computed ? dtype_accumulator(t) : t;
        if (!dtype_holds(holder, value)) {
            return fail(err, ASSAY_INVALID, "%s: expected %s that %s can be, got %.17g", o->signature.full, o->signature.params[i].name,
                        assay_dtype_name(holder), isnan(value.f) ? (double)NAN : value.f);
        }
    }
    return ASSAY_OK;
}

status op_infer(const op_call *call, outputs *out, error *err) {
    const op_row *row = call->op->row;
    op_infer_fn *infer = row->infer != NULL ? row->infer : row->family->infer;
    outputs_init(out);
    bool must_lie_apart = call->op->in_place && !row->is_view && !row->writes_one_value;
    for (int i = 0; must_lie_apart && i < call->op->signature.n_params; i++) {
        TRY(call->op->signature.params[i].is_written ? call_check_written(call, i, err) : ASSAY_OK);
    }
    status result = infer(call, out, err);
    result = result == ASSAY_OK ? check_numbers_fit(call, out, err) : result;
    if (result == ASSAY_OK && call->op->in_place && !row->is_view && !row->is_in_place) {
        result = infer_in_place(call, out, err);
    }
    if (result != ASSAY_OK) {
        outputs_clear(out);
    }
    return result;
}

double flops_of_add(dtype t) {
    return dtype_is_complex(t) ? 2 : 1;
}

double flops_of_mul(dtype t) {
    return dtype_is_complex(t) ? 6 : 1;
}

double flops_of_scale(dtype t, number factor) {
    bool is_one = factor.f == 1 && factor.im == 0;
    return is_one ? 0 : factor.im == 0 ? flops_of_add(t) : flops_of_mul(t); /* by a real number: part by part, as an addition */
}

/* The same elements, so that they are read once. */
static bool is_one_tensor(const tensor *a, const tensor *b) {
    return a == b || (a->storage != NULL && a->storage == b->storage && a->offset == b->offset && a->dtype == b->dtype &&
                      tensor_same_sizes(a, b) && memcmp(a->strides, b->strides, (size_t)a->ndim * sizeof *a->strides) == 0);
}

static bool is_among(const tensor *t, tensor *const *others, int n) {
    for (int i = 0; i < n; i++) {
        if (is_one_tensor(t, others[i])) {
            return true;
        }
    }
    return false;
}

enum { MAX_COST_TENSORS = 256 };

static void default_cost(const op_call *call, const outputs *out, op_cost *cost) {
    tensor *inputs[MAX_COST_TENSORS];
    int n = call_all_tensors(call, inputs, MAX_COST_TENSORS);
    *cost = (op_cost){.reduction = 1};
    bool is_complex = false;
    for (int i = 0; i < n && i < MAX_COST_TENSORS; i++) {
        is_complex = is_complex || dtype_is_complex(inputs[i]->dtype);
        cost->bytes += inputs[i]->is_wrapped_number || is_among(inputs[i], inputs, i) ? 0 : tensor_bytes(inputs[i]);
    }
    for (int i = 0; i < out->n; i++) {
        cost->bytes += tensor_bytes(&out->items[i]);
    }
    if (out->n > 0) {
        const op_row *row = call->op->row;
        is_complex = is_complex || dtype_is_complex(out->items[0].dtype); /* by a complex number */
        double each = !is_complex ? row->flops_per_element : row->complex_flops != 0 ? row->complex_flops : 2 * row->flops_per_element;
        cost->flops = each * (double)tensor_numel(&out->items[0]);
    }
}

void op_cost_reads(const op_call *call, int i, double bytes, op_cost *cost) {
    tensor *inputs[MAX_COST_TENSORS];
    const tensor *t = call_tensor(call, i);
    int n = call_all_tensors(call, inputs, MAX_COST_TENSORS), n_times = 0;
    for (int k = 0; t != NULL && k < n && k < MAX_COST_TENSORS; k++) {
        n_times += is_one_tensor(t, inputs[k]);
    }
    if (n_times == 1) { /* or another argument is read, which is the same */
        cost->bytes -= fmax(tensor_bytes(t) - bytes, 0);
    }
}

void op_cost_of(const op_call *call, const outputs *out, op_cost *cost) {
    const op_row *row = call->op->row;
    default_cost(call, out, cost);
    if (row->is_view) {
        *cost = (op_cost){.reduction = 1};
        return;
    }
    op_cost_fn *own = row->cost != NULL ? row->cost : row->family->cost;
    if (own != NULL) {
        own(call, out, cost);
    }
}

status op_fill_inputs(const op_call *call, uint64_t seed, error *err) {
    enum { MAX_TENSORS = 4096 };
    const op_row *row = call->op->row;
    tensor **inputs = malloc(MAX_TENSORS * sizeof *inputs);
    if (inputs == NULL) {
        return fail(err, ASSAY_OUT_OF_MEMORY, "no memory to list the inputs of %s", call->op->signature.full);
    }
    int n = call_all_tensors(call, inputs, MAX_TENSORS);
    for (int i = 0; i < n && i < MAX_TENSORS; i++) {
        rng stream = rng_make_stream(seed, (uint64_t)i);
        if (!inputs[i]->is_wrapped_number) {
            fill_default(inputs[i], &stream);
        }
    }
    free(inputs);
    op_inputs_fn *own = row->inputs != NULL ? row->inputs : row->family->inputs;
    rng stream = rng_make_stream(seed, MAX_TENSORS);
    return own != NULL ? own(call, &stream, err) : ASSAY_OK;
}
