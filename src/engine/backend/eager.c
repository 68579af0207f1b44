/* SPDX-License-Identifier: Apache-2.0 */
/* The eager backend: one hand-written kernel after the other, outputs and work space made in prepare. */
#include "engine/backend/backend.h"

#include "engine/kernels/kernel.h"
#include "engine/kernels/observer.h"

#include <stdlib.h>
#include <string.h>

typedef struct eager_backend {
    backend base;
    kernel_index *kernels;
} eager_backend;

/* One node, ready: the call with its arguments redirected to this plan's own tensors. */
typedef struct step {
    op_call call;
    outputs out;
    kernel_plan kernel;
} step;

typedef struct eager_plan {
    plan base;
    arena memory;
    const graph *g;
    int n_steps;
    step *steps;
    outputs **own; /* each step's */
} eager_plan;

static status allocate_outputs(const eager_backend *b, const graph *g, int node, step *s, error *err) {
    for (int i = 0; i < s->out.n; i++) {
        tensor *t = &s->out.items[i];
        if (t->storage == NULL && t->sparse == NULL) {
            int output = output_memory_find(g, &g->nodes[node].out->items[i]);
            TRY(output_memory_take(b->base.outputs, output, g->n_outputs + 1 + node, t, err));
        }
    }
    return ASSAY_OK;
}

/* A view has nothing to compute; running it makes its layout anew. */
static status run_view(kernel_plan *k) {
    const op_row *row = k->call->op->row;
    for (int i = 0; i < k->out->n; i++) {
        tensor_clear(&k->out->items[i]);
    }
    k->out->n = 0;
    return (row->infer != NULL ? row->infer : row->family->infer)(k->call, k->out, k->err);
}

static status prepare_step(const eager_backend *b, eager_plan *p, int index, error *err) {
    step *s = &p->steps[index];
    p->own[index] = &s->out;
    TRY(graph_redirect(&p->memory, p->g, index, p->own, &s->call, err));
    TRY(op_infer(&s->call, &s->out, err));
    TRY(allocate_outputs(b, p->g, index, s, err));
    s->kernel.call = &s->call;
    s->kernel.out = &s->out;
    s->kernel.memory = &p->memory;
    if (s->call.op->row->is_view) {
        s->kernel.run = run_view;
        return ASSAY_OK;
    }
    const kernel_row *kernel = kernel_find_cpu(b->kernels, s->call.op);
    if (kernel == NULL) {
        return fail(err, ASSAY_UNSUPPORTED, "eager has no kernel for %s", s->call.op->signature.full);
    }
    p->base.note = kernel->note != NULL ? kernel->note : p->base.note;
    return kernel->prepare(&s->kernel, err);
}

static status run(plan *base, error *err) {
    eager_plan *p = (eager_plan *)base;
    const observer *watch = observer_of_thread;
    for (int i = 0; i < p->n_steps; i++) {
        kernel_plan *k = &p->steps[i].kernel;
        const observer *told = k->call->op->row->is_view ? NULL : watch;
        k->err = err;
        observer_kernel_begin(told, k->call, k->out);
        status result = k->run(k);
        observer_kernel_end(told);
        TRY(result);
    }
    return ASSAY_OK;
}

static status output(plan *base, int i, tensor *out, error *err) {
    eager_plan *p = (eager_plan *)base;
    if (i < 0 || i >= p->g->n_outputs) {
        return fail(err, ASSAY_INVALID, "expected an output from 0 to %d, got %d", p->g->n_outputs - 1, i);
    }
    tensor_share(out, graph_own_value(p->g, p->n_steps, p->own, p->g->outputs[i]));
    return ASSAY_OK;
}

static void release(plan *base) {
    eager_plan *p = (eager_plan *)base;
    for (int i = 0; i < p->n_steps; i++) {
        kernel_plan *k = &p->steps[i].kernel;
        if (k->clear != NULL) {
            k->clear(k);
        }
        outputs_clear(&p->steps[i].out);
    }
    arena_clear(&p->memory);
    free(p->base.not_kept);
    free(p);
}

static status prepare(backend *base, const graph *g, plan **out, error *err) {
    eager_backend *b = (eager_backend *)base;
    eager_plan *p = calloc(1, sizeof *p);
    if (p == NULL) {
        return fail(err, ASSAY_OUT_OF_MEMORY, "no memory for a plan");
    }
    p->base = (plan){.run = run, .output = output, .release = release};
    p->g = g;
    p->steps = arena_make(&p->memory, (size_t)g->n_nodes, sizeof *p->steps);
    p->own = arena_make(&p->memory, (size_t)g->n_nodes, sizeof *p->own);
    status result = p->steps != NULL && p->own != NULL ? ASSAY_OK : fail(err, ASSAY_OUT_OF_MEMORY, "no memory for a plan");
    while (result == ASSAY_OK && p->n_steps < g->n_nodes) {
        outputs_init(&p->steps[p->n_steps].out);
        result = prepare_step(b, p, p->n_steps, err);
        p->n_steps++; /* counted even when it failed, so that what it made is released */
    }
    if (result != ASSAY_OK) {
        release(&p->base);
        return result;
    }
    *out = &p->base;
    return ASSAY_OK;
}

static status covers(backend *base, const op *o, error *err) {
    eager_backend *b = (eager_backend *)base;
    if (o->row->is_view || kernel_find_cpu(b->kernels, o) != NULL) {
        return ASSAY_OK;
    }
    return fail(err, ASSAY_UNSUPPORTED, "no kernel yet");
}

static void close_eager(backend *base) {
    eager_backend *b = (eager_backend *)base;
    kernel_index_free(b->kernels);
    free(b);
}

status backend_eager_open(const op_table *table, backend **out, error *err) {
    eager_backend *b = calloc(1, sizeof *b);
    if (b == NULL) {
        return fail(err, ASSAY_OUT_OF_MEMORY, "no memory for the eager backend");
    }
    b->base = (backend){.name = "eager",
                        .doc = "hand-written C kernels, oneDNN for matrix products and convolutions",
                        .prepare = prepare,
                        .covers = covers,
                        .close = close_eager};
    status result = kernel_index_new(table, &b->kernels, err);
    if (result != ASSAY_OK) {
        free(b);
        return result;
    }
    *out = &b->base;
    return ASSAY_OK;
}
