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
} eager_plan;

/* A graph tensor as this plan has it: an output of an earlier step, or the graph's own input. */
static tensor *own_tensor(eager_plan *p, int before, tensor *t) {
    for (int s = 0; t != NULL && s < before; s++) {
        const outputs *theirs = p->g->nodes[s].out;
        if (t >= theirs->items && t < theirs->items + theirs->n) {
            return &p->steps[s].out.items[t - theirs->items];
        }
    }
    return t;
}

static status redirect_arguments(eager_plan *p, int index, error *err) {
    const op_call *from = &p->g->nodes[index].call;
    int n = from->op->signature.n_params;
    arg *args = arena_make(&p->memory, (size_t)n, sizeof *args);
    if (args == NULL) {
        return fail(err, ASSAY_OUT_OF_MEMORY, "no memory for a plan");
    }
    memcpy(args, from->args, (size_t)n * sizeof *args);
    for (int i = 0; i < n; i++) {
        if (args[i].kind == ARG_TENSOR) {
            args[i].tensor = own_tensor(p, index, args[i].tensor);
        } else if (args[i].kind == ARG_TENSORS) {
            tensor **items = arena_make(&p->memory, (size_t)args[i].n, sizeof(tensor *));
            if (items == NULL) {
                return fail(err, ASSAY_OUT_OF_MEMORY, "no memory for a plan");
            }
            for (int k = 0; k < args[i].n; k++) {
                items[k] = own_tensor(p, index, args[i].tensors[k]);
            }
            args[i].tensors = items;
        }
    }
    p->steps[index].call = (op_call){.op = from->op, .args = args, .seed = from->seed};
    return ASSAY_OK;
}

static status allocate_outputs(step *s, error *err) {
    for (int i = 0; i < s->out.n; i++) {
        tensor *t = &s->out.items[i];
        if (t->storage == NULL && t->sparse == NULL) {
            TRY(tensor_allocate(t, &device_cpu, err));
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
    TRY(redirect_arguments(p, index, err));
    TRY(op_infer(&s->call, &s->out, err));
    TRY(allocate_outputs(s, err));
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
    const outputs *last = &p->steps[p->n_steps - 1].out;
    if (i < 0 || i >= last->n) {
        return fail(err, ASSAY_INVALID, "expected an output from 0 to %d, got %d", last->n - 1, i);
    }
    tensor_share(out, &last->items[i]);
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
    status result = p->steps != NULL ? ASSAY_OK : fail(err, ASSAY_OUT_OF_MEMORY, "no memory for a plan");
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
