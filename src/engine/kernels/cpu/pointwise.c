/* SPDX-License-Identifier: Apache-2.0 */
/* Chooses how an element-wise call runs. One of two ways: operands that all lie alike go through the loop as they are;
   everything else goes tile by tile (pointwise_tiles.c). */
#include "engine/kernels/cpu/pointwise_tiles.h"

#include "engine/kernels/cpu/parallel.h"
#include "engine/kernels/cpu/streaming.h"
#include "engine/schema/pointwise.h"

#include <string.h>

/* Of 8 bytes and four operands: below what a second thread is woken for. */
enum { PLAIN_ELEMENTS = PARALLEL_MIN_BYTES / 32 };

/* --- operands that all lie alike
 * -------------------------------------------------------------------------------------- */

/* Fits the plan's inline state: a small call allocates nothing and does little more than the loop. */
typedef struct direct {
    pointwise_chunk chunk;
    pointwise_loop *loop;
    number s[POINTWISE_SCALARS];
    int sizes[1 + POINTWISE_INPUTS]; /* of an element of the output and of each operand */
    int operand[POINTWISE_INPUTS];   /* positions among the arguments */
    int n;
    bool is_fault, streams;
} direct;
_Static_assert(sizeof(direct) <= KERNEL_INLINE_BYTES, "a direct plan must fit the inline state");

static void rebind_direct(kernel_plan *plan) {
    direct *d = plan->state;
    const tensor *out = &plan->out->items[0];
    d->chunk.out = (char *)out->storage->data + out->offset * d->sizes[0];
    for (int k = 0; k < d->n; k++) {
        const tensor *t = plan->call->args[d->operand[k]].tensor;
        d->chunk.in[k] = (const char *)t->storage->data + t->offset * d->sizes[1 + k];
    }
}

static status run_direct(kernel_plan *plan) {
    direct *d = plan->state;
    d->is_fault = false;
    d->loop(&d->chunk);
    return d->is_fault ? pointwise_fault(plan) : ASSAY_OK;
}

static status run_direct_parallel(kernel_plan *plan) {
    direct *d = plan->state;
    d->is_fault = false;
    int bytes = 0;
    for (int k = 0; k <= d->n; k++) {
        bytes += d->sizes[k];
    }
    const observer *watch = observer_of_thread;
#pragma omp parallel num_threads(parallel_threads((double)d->chunk.n * bytes))
    {
        parallel_enter(watch);
        int64_t from, to;
        parallel_share(d->chunk.n, 1024, &from, &to);
        pointwise_chunk part = d->chunk;
        part.n = to - from;
        part.out = (char *)part.out + from * d->sizes[0];
        for (int k = 0; k < d->n; k++) {
            part.in[k] = (const char *)part.in[k] + from * d->sizes[1 + k];
        }
        d->loop(&part);
        if (d->streams) {
            pointwise_move_tables[isa_best()]->settle();
        }
        parallel_leave(watch);
    }
    return d->is_fault ? pointwise_fault(plan) : ASSAY_OK;
}

/* --- choosing
 * --------------------------------------------------------------------------------------------------------- */

static status run_nothing(kernel_plan *plan) {
    (void)plan;
    return ASSAY_OK;
}

/* Booleans know no sums: their results are b8 again. */
static pointwise_op of_booleans(pointwise_op id) {
    switch (id) {
    case PW_ADD:
    case PW_MAXIMUM:
        return PW_LOGICAL_OR;
    case PW_MUL:
    case PW_MINIMUM:
        return PW_LOGICAL_AND;
    case PW_BITWISE_NOT:
        return PW_LOGICAL_NOT;
    case PW_SGN:
        return PW_COPY;
    default:
        return id;
    }
}

static bool answers_b8(pointwise_op id) {
    return (id >= PW_LOGICAL_NOT && id <= PW_ISNAN) || (id >= PW_EQ && id <= PW_LOGICAL_XOR);
}

static bool is_move(pointwise_op id) {
    return id == PW_WHERE || id == PW_COPY;
}

static status choose(const op_call *call, const pointwise_spec *spec, dtype compute, dtype out, pointwise_choice *c, error *err) {
    c->compute = compute;
    c->op = compute == ASSAY_B8 ? of_booleans(spec->op) : spec->op;
    c->class = pointwise_class_of[compute];
    if (compute == ASSAY_B8 && spec->op == PW_ADD_SCALED) {
        c->class = CLASS_I32; /* scaled sums are true where they are not 0 */
    }
    bool is_sign = (spec->op == PW_NEG || spec->op == PW_ABS) && dtype_is_floating(compute); /* one bit decides it */
    if ((is_move(spec->op) || is_sign) && dtype_size(compute) == 2 && out == compute) {
        bool same = true;
        for (int k = spec->op == PW_WHERE ? 1 : 0; k < spec->n; k++) {
            const tensor *t = pointwise_operand(call, spec, k);
            same = same && (t == NULL || t->dtype == compute || (c->op == PW_WHERE && tensor_numel(t) == 1)); /* a number is cast first */
        }
        c->class = same ? CLASS_U16 : c->class;
    }
    c->out_class = answers_b8(c->op) ? CLASS_U8 : c->class;
    if (c->op == PW_ABS && dtype_is_complex(compute)) {
        c->out_class = c->class == CLASS_C64 ? CLASS_F32 : CLASS_F64;
    }
    bool makes_bits = out != ASSAY_B8 || answers_b8(c->op) || compute == ASSAY_B8; /* a sum of u8 is no b8 yet */
    c->out_is_native = pointwise_is_native(c->out_class, out) && makes_bits;
    if (pointwise_classes[c->class].loops[isa_best()]->op[c->op] == NULL) {
        return fail(err, ASSAY_UNSUPPORTED, "%s has no loop for %s", call->op->signature.full,
                    assay_dtype_name(compute));
    }
    return ASSAY_OK;
}

static int64_t traffic(const direct *d) {
    int64_t bytes = 0;
    for (int k = 0; k <= d->n; k++) {
        bytes += d->chunk.n * d->sizes[k];
    }
    return bytes;
}

/* Every operand a tensor of the loop's own type, all of one shape and one dense layout: true, with the plan ready. */
static bool try_direct(kernel_plan *plan, const pointwise_spec *spec, const pointwise_choice *c) {
    const tensor *out = &plan->out->items[0];
    direct *d = (direct *)(void *)plan->inline_state;
    if (!c->out_is_native || (plan->call->op->in_place && !tensor_is_dense(out))) { /* fresh outputs are dense */
        return false;
    }
    for (int k = 0; k < spec->n; k++) {
        const tensor *t = pointwise_operand(plan->call, spec, k);
        pointwise_class class = k == 0 && c->op == PW_WHERE ? CLASS_U8 : c->class;
        if (t == NULL || !pointwise_is_native(class, t->dtype) || !pointwise_lies_alike(t, out)) {
            return false;
        }
        if (class == CLASS_U16 && t->dtype != c->compute) {
            return false; /* the one element of an i16 is no bits to move */
        }
        d->chunk.in[k] = tensor_data(t);
        d->sizes[1 + k] = pointwise_classes[class].size;
        d->operand[k] = spec->operand[k];
    }
    d->chunk.n = tensor_numel(out);
    d->chunk.near = 0;
    d->sizes[0] = pointwise_classes[c->out_class].size;
    const pointwise_loops *loops = pointwise_classes[c->class].loops[isa_best()];
    d->n = spec->n;
    d->chunk.out = tensor_data(out);
    double read = 0;
    for (int k = 0; k < d->n; k++) {
        read += (double)d->chunk.n * d->sizes[1 + k];
    }
    d->streams = !plan->call->op->in_place && streams_pointwise((double)d->chunk.n * d->sizes[0], read);
    if (d->streams) {
        loops = pointwise_classes[c->class].streaming[isa_best()];
        if (loops == NULL || loops->op[c->op] == NULL || (uintptr_t)d->chunk.out % STREAM_LINE_BYTES != 0) {
            return false;
        }
    }
    memcpy(d->s, spec->s, sizeof d->s);
    d->chunk.s = d->s;
    d->chunk.is_fault = &d->is_fault;
    d->loop = loops->op[c->op];
    plan->state = d;
    plan->rebind = rebind_direct;
    plan->run = traffic(d) < PARALLEL_MIN_BYTES ? run_direct : run_direct_parallel;
    return true;
}

/* An in-place result must lie on its own input and on nothing else (ATen's assert_no_partial_overlap). */
static status check_overlap(const kernel_plan *plan, const pointwise_spec *spec, error *err) {
    const tensor *out = &plan->out->items[0];
    for (int k = 0; k < spec->n; k++) {
        const tensor *t = pointwise_operand(plan->call, spec, k);
        if (t == NULL || t == out || !tensor_may_overlap(t, out) || !tensor_is_dense(t) || !tensor_is_dense(out)) {
            continue;
        }
        if (tensor_data(t) != tensor_data(out) || !tensor_same_sizes(t, out) || !tensor_same_strides(t, out)) {
            return fail(err, ASSAY_INVALID, "%s: operand %d lies across the tensor written to",
                        plan->call->op->signature.full, k + 1);
        }
    }
    return ASSAY_OK;
}

/* The everyday call in few instructions: tensors of a type that has loops of its own, laid out like the fresh output,
   and too small for threads. False for everything else. */
static bool try_plain(kernel_plan *plan, const pointwise_spec *spec) {
    const tensor *out = &plan->out->items[0];
    direct *d = (direct *)(void *)plan->inline_state;
    bool native =
        out->dtype == ASSAY_F32 || out->dtype == ASSAY_F64 || out->dtype == ASSAY_I32 || out->dtype == ASSAY_I64;
    if (!native || plan->call->op->in_place) {
        return false;
    }
    for (int k = 0; k < spec->n; k++) {
        const arg *a = &plan->call->args[spec->operand[k]];
        if (a->kind != ARG_TENSOR || a->tensor->dtype != out->dtype || !pointwise_lies_alike(a->tensor, out)) {
            return false;
        }
        d->chunk.in[k] = tensor_data(a->tensor);
        d->sizes[1 + k] = (int)dtype_size(out->dtype);
        d->operand[k] = spec->operand[k];
    }
    int64_t n = 1;
    for (int i = 0; i < out->ndim; i++) {
        n *= out->sizes[i];
    }
    d->loop = pointwise_classes[pointwise_class_of[out->dtype]].loops[isa_best()]->op[spec->op];
    if (d->loop == NULL || n > PLAIN_ELEMENTS) {
        return false;
    }
    d->chunk.n = n;
    d->chunk.out = tensor_data(out);
    d->chunk.s = d->s;
    d->chunk.is_fault = &d->is_fault;
    for (int i = 0; i < spec->n_scalars; i++) {
        d->s[i] = spec->s[i];
    }
    d->sizes[0] = (int)dtype_size(out->dtype);
    d->n = spec->n;
    plan->state = d;
    plan->rebind = rebind_direct;
    plan->run = run_direct;
    return true;
}

/* The type computed in. The usual case, tensors of one type, is told without a full analysis. */
static status compute_type(const kernel_plan *plan, const pointwise_spec *spec, dtype *compute, error *err) {
    const op_call *call = plan->call;
    const op_row *row = call->op->row;
    const tensor *first = pointwise_operand(call, spec, 0);
    bool same =
        first != NULL && !row->scalars_promote && row->promotion != PROMOTE_INT_TO_FLOAT && row->promote_mask == 0;
    for (int k = 1; same && k < spec->n; k++) {
        const tensor *t = pointwise_operand(call, spec, k);
        same = t != NULL && t->dtype == first->dtype && !t->is_wrapped_number;
    }
    if (same && !first->is_wrapped_number) {
        *compute = first->dtype;
        return ASSAY_OK;
    }
    pointwise p;
    TRY(pointwise_analyse(call, &p, err));
    *compute = p.compute;
    return ASSAY_OK;
}

/* try_direct for a small call whose operands infer found all alike: nothing is looked at twice. */
static bool try_alike(kernel_plan *plan, const pointwise_spec *spec) {
    const tensor *out = &plan->out->items[0];
    const pointwise_class class = pointwise_class_of[out->dtype];
    const int size = pointwise_classes[class].size;
    direct *d = (direct *)(void *)plan->inline_state;
    bool is_float = dtype_is_floating(out->dtype);
    if (!is_float || (int)dtype_size(out->dtype) != size) {
        return false; /* booleans and integers choose other loops at times, f16 and bf16 compute in f32 */
    }
    d->chunk.n = tensor_numel(out);
    if (d->chunk.n * size * (spec->n + 1) >= PARALLEL_MIN_BYTES) {
        return false;
    }
    for (int k = 0; k < spec->n; k++) {
        const tensor *t = pointwise_operand(plan->call, spec, k);
        if (t == NULL || t->dtype != out->dtype) {
            return false;
        }
        d->chunk.in[k] = tensor_data(t);
        d->sizes[1 + k] = size;
        d->operand[k] = spec->operand[k];
    }
    d->loop = pointwise_classes[class].loops[isa_best()]->op[spec->op];
    if (d->loop == NULL) {
        return false;
    }
    memcpy(d->s, spec->s, sizeof d->s);
    d->chunk.out = tensor_data(out);
    d->chunk.s = d->s;
    d->chunk.is_fault = &d->is_fault;
    d->sizes[0] = size;
    d->n = spec->n;
    plan->state = d;
    plan->rebind = rebind_direct;
    plan->run = run_direct;
    return true;
}

status pointwise_prepare(kernel_plan *plan, const pointwise_spec *spec, error *err) {
    if (plan->out->all_alike && try_alike(plan, spec)) {
        return ASSAY_OK;
    }
    const tensor *out = &plan->out->items[0];
    dtype compute;
    pointwise_choice c;
    if (try_plain(plan, spec)) {
        return ASSAY_OK;
    }
    TRY(compute_type(plan, spec, &compute, err));
    if (spec->op == PW_DIV && dtype_category_of(compute) < CATEGORY_FLOATING) {
        compute = ASSAY_F32; /* div.Tensor_mode without a mode */
    }
    TRY(choose(plan->call, spec, compute, out->dtype, &c, err));
    if (plan->call->op->in_place) {
        TRY(check_overlap(plan, spec, err));
    }
    if (try_direct(plan, spec, &c)) {
        return ASSAY_OK;
    }
    if (tensor_numel(out) == 0) {
        plan->run = run_nothing;
        return ASSAY_OK;
    }
    if (c.class == CLASS_F32 && pointwise_try_halves(plan, spec, c.op, compute, c.out_class == CLASS_U8)) {
        return ASSAY_OK;
    }
    return pointwise_prepare_tiled(plan, spec, &c, err);
}
