/* SPDX-License-Identifier: Apache-2.0 */
/* mm, bmm, mv, dot and their sums: one gemm each. */
#include "engine/kernels/cpu/gemm.h"
#include "engine/kernels/cpu/kernels.h"
#include "engine/kernels/cpu/stage.h"

#include <math.h>

/* An alpha that is no finite number scales the sums: term by term infinity would cancel itself. */
typedef struct scaled_apart {
    tensor summand; /* broadcast to c's shape */
    char *product;  /* dense, of c's type */
    double alpha, beta;
} scaled_apart;

typedef struct matmul_state {
    gemm *g;
    scaled_apart *apart; /* NULL: gemm scales */
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

static void scale(const scaled_apart *s, const tensor *c) {
    const int64_t size = (int64_t)dtype_size(c->dtype);
    for (int64_t i = 0; i < tensor_numel(c); i++) {
        double value = s->alpha * element_load(c->dtype, s->product + i * size);
        if (s->beta != 0) {
            value += s->beta * element_load(c->dtype, tensor_data(&s->summand) + tensor_offset_of(&s->summand, i) * size);
        }
        element_store(c->dtype, tensor_data(c) + tensor_offset_of(c, i) * size, value);
    }
}

static status run(kernel_plan *plan) {
    matmul_state *m = plan->state;
    if (m->apart != NULL) {
        TRY(gemm_run(m->g, operand(m->a, m->copies[0]), operand(m->b, m->copies[1]), NULL, m->apart->product, plan->err));
        scale(m->apart, &plan->out->items[0]);
        return ASSAY_OK;
    }
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

/* Takes the summand and alpha out of the product that gemm is to make. */
static status take_apart(kernel_plan *plan, gemm_shape *s, const tensor *summand, error *err) {
    matmul_state *m = plan->state;
    const tensor *c = &plan->out->items[0];
    scaled_apart *apart = m->apart = arena_make(plan->memory, 1, sizeof *apart);
    if (apart == NULL || (apart->product = arena_make(plan->memory, (size_t)tensor_numel(c), dtype_size(c->dtype))) == NULL) {
        return fail(err, ASSAY_OUT_OF_MEMORY, "no memory for a matrix product");
    }
    apart->summand = *summand;
    apart->alpha = s->alpha.f;
    apart->beta = s->beta.f;
    tensor dense;
    TRY(tensor_init(&dense, c->dtype, c->ndim, c->sizes, err));
    matrix_strides(&dense, true, s->c);
    s->has_summand = false;
    s->alpha = number_of_int(1);
    s->beta = number_of_int(0);
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
    m->apart = NULL;
    s.alpha = s.k > 0 ? s.alpha : number_of_int(1); /* a sum of no terms is left out, whatever scales it */
    if (m->summand != NULL) {
        int64_t strides[TENSOR_MAX_DIMS];
        tensor seen = *c;
        tensor_broadcast_strides(m->summand, c->ndim, c->sizes, strides);
        for (int d = 0; d < c->ndim; d++) {
            seen.strides[d] = strides[d];
        }
        seen.offset = m->summand->offset;
        seen.storage = m->summand->storage;
        matrix_strides(&seen, true, s.summand);
        if (dtype_is_floating(c->dtype) && !isfinite(s.alpha.f)) {
            TRY(take_apart(plan, &s, &seen, err));
        }
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

static const char note[] = "f32 and bf16 by oneDNN, f16 converted to f32 for it, as is bf16 where the processor has no instructions for that, or "
                           "slow ones; f64, integers and complex by own loops";

static const kernel_row rows[] = {
    {"mm.default", prepare_product, note},   {"bmm.default", prepare_product, note},
    {"mv.default", prepare_product, note},   {"dot.default", prepare_product, note},
    {"addmm.default", prepare_sum, note},    {"baddbmm.default", prepare_sum, note},
    {"addmv.default", prepare_sum, note},
};

const kernel_rows kernels_matmul = {rows, countof(rows)};
