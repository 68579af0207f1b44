/* SPDX-License-Identifier: Apache-2.0 */
/* mm, bmm, mv, dot and their sums: one gemm each. */
#include "engine/kernels/cpu/gemm.h"
#include "engine/kernels/cpu/kernels.h"
#include "engine/kernels/cpu/stage.h"

typedef struct matmul_state {
    gemm *g;
    const tensor *a, *b, *summand;
    stage *copies[2]; /* of a and b where the product is written into them; NULL: none */
} matmul_state;

static const void *operand(const tensor *t, const stage *copy) {
    if (copy == NULL) {
        return tensor_data(t);
    }
    stage_load(copy, tensor_data(t));
    return copy->data;
}

static status run(kernel_plan *plan) {
    matmul_state *m = plan->state;
    const void *summand = m->summand != NULL ? tensor_data(m->summand) : NULL;
    return gemm_run(m->g, operand(m->a, m->copies[0]), operand(m->b, m->copies[1]), summand, tensor_data(&plan->out->items[0]), plan->err);
}

static void clear(kernel_plan *plan) {
    matmul_state *m = plan->state;
    gemm_clear(m->g);
}

/* A tensor of up to three dimensions as [batch, rows, columns], the last ndim of them being its own. `as_column`: a vector
   is a column. */
static void matrix_strides(const tensor *t, bool as_column, int64_t *strides) {
    strides[0] = t->ndim == 3 ? t->strides[0] : 0;
    strides[1] = t->ndim >= 2 ? t->strides[t->ndim - 2] : as_column && t->ndim == 1 ? t->strides[0] : 0;
    strides[2] = t->ndim >= 2 ? t->strides[t->ndim - 1] : !as_column && t->ndim == 1 ? t->strides[0] : 0;
}

/* Strides of an operand, or of a copy of it where it shares memory with c. */
static status operand_strides(kernel_plan *plan, const tensor *t, bool as_column, stage **copy, int64_t *strides, error *err) {
    *copy = NULL;
    matrix_strides(t, as_column, strides);
    if (!plan->call->op->in_place || !tensor_may_overlap(t, &plan->out->items[0])) {
        return ASSAY_OK;
    }
    *copy = arena_make(plan->memory, 1, sizeof **copy);
    if (*copy == NULL) {
        return fail(err, ASSAY_OUT_OF_MEMORY, "no memory to copy an operand that is written");
    }
    TRY(stage_prepare(*copy, t, t->dtype, plan->memory, err));
    matrix_strides(&(*copy)->layout, as_column, strides);
    return ASSAY_OK;
}

static status prepare_at(kernel_plan *plan, int a_arg, error *err) {
    const op_call *call = plan->call;
    matmul_state *m = plan->state = plan->inline_state;
    const tensor *c = &plan->out->items[0];
    m->a = call_tensor(call, a_arg);
    m->b = call_tensor(call, a_arg + 1);
    m->summand = a_arg > 0 ? call_tensor(call, 0) : NULL;
    const tensor *a = m->a, *b = m->b;
    bool is_vector = b->ndim == 1;
    gemm_shape s = {.dtype = a->dtype,
                    .batch = a->ndim == 3 ? a->sizes[0] : 1,
                    .m = a->ndim >= 2 ? a->sizes[a->ndim - 2] : 1,
                    .n = is_vector ? 1 : b->sizes[b->ndim - 1],
                    .k = a->sizes[a->ndim - 1],
                    .has_summand = m->summand != NULL,
                    .alpha = m->summand != NULL ? call_number(call, 4) : number_of_int(1),
                    .beta = m->summand != NULL ? call_number(call, 3) : number_of_int(0)};
    TRY(operand_strides(plan, a, false, &m->copies[0], s.a, err));
    TRY(operand_strides(plan, b, true, &m->copies[1], s.b, err));
    matrix_strides(c, true, s.c);
    if (m->summand != NULL) {
        int64_t strides[TENSOR_MAX_DIMS];
        tensor seen = *c;
        tensor_broadcast_strides(m->summand, c->ndim, c->sizes, strides);
        for (int d = 0; d < c->ndim; d++) {
            seen.strides[d] = strides[d];
        }
        matrix_strides(&seen, true, s.summand);
    }
    plan->run = run;
    plan->clear = clear;
    return gemm_prepare(&s, plan->memory, &m->g, err);
}

static status prepare_product(kernel_plan *plan, error *err) {
    return prepare_at(plan, 0, err);
}

static status prepare_sum(kernel_plan *plan, error *err) {
    return prepare_at(plan, 1, err);
}

static const char note[] = "f32 and bf16 by oneDNN, f16 converted to f32 for it, as is bf16 where the processor has no instructions for that; "
                           "f64, integers and complex by own loops";

static const kernel_row rows[] = {
    {"mm.default", prepare_product, note},   {"bmm.default", prepare_product, note},
    {"mv.default", prepare_product, note},   {"dot.default", prepare_product, note},
    {"addmm.default", prepare_sum, note},    {"baddbmm.default", prepare_sum, note},
    {"addmv.default", prepare_sum, note},
};

const kernel_rows kernels_matmul = {rows, countof(rows)};
