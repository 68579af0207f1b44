/* SPDX-License-Identifier: Apache-2.0 */
/* Element-wise calls on f16 and bf16 whose operands all lie alike, or are one number each: in one go where there is such a loop
   (isa/half_arithmetic.c, isa/half_functions.c, isa/half_checked.c), else blocks of them go through a loop in f32 (isa/half_blocks.c).
   Of functions that take long that way, large tensors look up what such a loop says of each number that there is
   (isa/half_tables.c). */
#include "engine/kernels/cpu/parallel.h"
#include "engine/kernels/cpu/pointwise_tiles.h"
#include "engine/kernels/cpu/streaming.h"

#include <string.h>

/* Fits the plan's inline state. */
typedef struct half_plan {
    pointwise_halves h;
    pointwise_halves_loop *run;
    number s[POINTWISE_SCALARS];
    int operand[POINTWISE_INPUTS]; /* positions among the arguments */
    bool has_constant;             /* the last operand is this number: */
    number constant;
    double bytes;
    bool is_fault; /* loops in f32 have none */
} half_plan;
_Static_assert(sizeof(half_plan) <= KERNEL_INLINE_BYTES, "a plan must fit the inline state");

/* Where the operands lie; those that are numbers have no place yet. */
static void rebind(kernel_plan *plan) {
    half_plan *p = plan->state;
    p->h.chunk.out = tensor_data(&plan->out->items[0]);
    for (int k = 0; k < p->h.n; k++) {
        const arg *a = &plan->call->args[p->operand[k]];
        p->h.chunk.in[k] = p->h.step[k] != 0 ? tensor_data(a->tensor) : NULL;
    }
}

static number read_number(const kernel_plan *plan, int k) {
    const half_plan *p = plan->state;
    const arg *a = &plan->call->args[p->operand[k]];
    number value = p->has_constant && k == p->h.n - 1 ? p->constant
                   : a->kind == ARG_TENSOR            ? pointwise_read_cell(a->tensor)
                                                      : call_number(plan->call, p->operand[k]);
    return pointwise_constant(plan->call->op->row, p->h.type, CLASS_F32, value);
}

/* Elements [from, to). */
static void run_part(const kernel_plan *plan, int64_t from, int64_t to) {
    const half_plan *p = plan->state;
    _Alignas(64) float numbers[POINTWISE_INPUTS][HALVES_BLOCK];
    pointwise_halves part = p->h;
    part.chunk.n = to - from;
    part.chunk.out = (char *)part.chunk.out + from * part.out_step;
    for (int k = 0; k < part.n; k++) {
        if (part.step[k] != 0) {
            part.chunk.in[k] = (const char *)part.chunk.in[k] + from * part.step[k];
            continue;
        }
        int64_t most = part.chunk.n < HALVES_BLOCK ? part.chunk.n : HALVES_BLOCK;
        pointwise_classes[CLASS_F32].loops[isa_best()]->fill(numbers[k], read_number(plan, k), most);
        part.chunk.in[k] = numbers[k];
    }
    p->run(&part);
}

static status run(kernel_plan *plan) {
    run_part(plan, 0, ((const half_plan *)plan->state)->h.chunk.n);
    return ASSAY_OK;
}

static status run_parallel(kernel_plan *plan) {
    const half_plan *p = plan->state;
    const observer *watch = observer_of_thread;
#pragma omp parallel num_threads(parallel_threads(p->bytes))
    {
        parallel_enter(watch);
        int64_t from, to;
        parallel_share(p->h.chunk.n, 1024, &from, &to);
        run_part(plan, from, to);
        if (p->h.streams) {
            pointwise_move_tables[isa_best()]->settle();
        }
        parallel_leave(watch);
    }
    return ASSAY_OK;
}

/* --- tables ----------------------------------------------------------------------------------------------------------------- */

enum {
    NUMBERS = 1 << 16,             /* that a half can be */
    LEAST_TABULATED = 4 * NUMBERS, /* elements: a table takes as long to make as a quarter of them without it, and is used again */
};

/* Functions that take much longer in f32 than a look-up: 45 cycles and more for 32 results, and a look-up 20, or 30 while the core's
   other thread is busy (Zen 4). In one go, with AVX-512, they take 12 to 25. */
static const bool is_tabulated[PW_COUNT] = {
    [PW_LOG2] = true, [PW_SIN] = true,       [PW_COS] = true,       [PW_ERF] = true,  [PW_ELU] = true,
    [PW_POW] = true,  [PW_DIV_FLOOR] = true, [PW_REMAINDER] = true, [PW_FMOD] = true,
};

/* What p->run makes of them all; NULL when memory is out. */
static const uint16_t *results_of_all(kernel_plan *plan) {
    half_plan *p = plan->state, one_run = *p;
    uint16_t *table = arena_make(plan->memory, NUMBERS, sizeof *table);
    if (table == NULL) {
        return NULL;
    }
    for (int i = 0; i < NUMBERS; i++) {
        table[i] = (uint16_t)i;
    }
    for (int k = 0; k < p->h.n; k++) {
        one_run.h.chunk.in[k] = table;
    }
    one_run.h.chunk.out = table;
    one_run.h.streams = one_run.h.fetches = false;
    plan->state = &one_run;
    run_part(plan, 0, NUMBERS);
    plan->state = p;
    return table;
}

/* Has the plan look results up if it pays. Numbers among the operands are known: none is read from a tensor. Intel's processors put
   one number a cycle into a register, too few. */
static void try_table(kernel_plan *plan, pointwise_op id) {
    half_plan *p = plan->state;
    int halves = 0, last = 0;
    bool is_known = true;
    for (int k = 0; k < p->h.n; k++) {
        halves += p->h.step[k] != 0;
        last = p->h.step[k] != 0 ? k : last;
        is_known = is_known && (p->h.step[k] != 0 || plan->call->args[p->operand[k]].kind != ARG_TENSOR);
    }
    if (!is_tabulated[id] || halves != 1 || !is_known || p->h.chunk.n < LEAST_TABULATED || cpu_is_intel()) {
        return;
    }
    p->h.table = results_of_all(plan);
    if (p->h.table == NULL) {
        return;
    }
    p->run = pointwise_half_look_ups[isa_best()];
    p->h.n = 1; /* a number beside it is in the table */
    p->h.step[0] = p->h.step[last];
    p->operand[0] = p->operand[last];
    p->has_constant = false;
}

bool pointwise_try_halves(kernel_plan *plan, const pointwise_spec *spec, pointwise_op id, dtype compute, bool makes_b8) {
    const tensor *out = &plan->out->items[0];
    half_plan *p = (half_plan *)(void *)plan->inline_state;
    if (dtype_size(compute) != 2 || out->dtype != (makes_b8 ? ASSAY_B8 : compute) ||
        (plan->call->op->in_place && !tensor_is_dense(out))) { /* fresh outputs are dense */
        return false;
    }
    memset(p, 0, sizeof *p);
    p->h.chunk.n = tensor_numel(out);
    for (int k = 0; k < spec->n; k++) {
        const tensor *t = pointwise_operand(plan->call, spec, k);
        bool is_number = t == NULL || (tensor_numel(t) == 1 && p->h.chunk.n > 1);
        if (!is_number && (t->dtype != compute || !pointwise_lies_alike(t, out))) {
            return false;
        }
        p->h.step[k] = is_number ? 0 : 2;
        p->operand[k] = spec->operand[k];
    }
    p->h.n = spec->n;
    p->h.type = compute;
    p->h.out_step = (int)dtype_size(out->dtype);
    p->h.loop = pointwise_classes[CLASS_F32].loops[isa_best()]->op[id];
    pointwise_halves_loop *in_one_go = pointwise_halves_in_one_go(isa_best(), id, p->h.step, spec->n);
    p->run = in_one_go != NULL ? in_one_go : pointwise_halves_runs[isa_best()];
    p->bytes = (double)p->h.chunk.n * (p->h.out_step + 2.0 * spec->n);
    p->h.fetches = p->bytes >= STREAM_MIN_BYTES;
    const double results = (double)p->h.chunk.n * p->h.out_step;
    p->h.streams = !plan->call->op->in_place && streams_pointwise(results, p->bytes - results) &&
                   (uintptr_t)tensor_data(out) % STREAM_LINE_BYTES == 0;
    memcpy(p->s, spec->s, sizeof p->s);
    p->h.chunk.s = p->s;
    p->h.chunk.is_fault = &p->is_fault;
    p->has_constant = spec->has_constant;
    p->constant = spec->constant;
    plan->state = p;
    if (in_one_go == NULL) {
        try_table(plan, id);
    }
    rebind(plan);
    plan->rebind = rebind;
    plan->run = p->bytes < PARALLEL_MIN_BYTES ? run : run_parallel;
    return true;
}
