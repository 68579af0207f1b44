/* SPDX-License-Identifier: Apache-2.0 */
/* What a compiled plan is made of: between the backend, which runs it, and the tuner, which chooses among its kernels. */
#ifndef ENGINE_BACKEND_COMPILED_H
#define ENGINE_BACKEND_COMPILED_H

#include "engine/backend/backend.h"
#include "engine/compile/build.h"
#include "engine/compile/compile.h"
#include "engine/kernels/kernel.h"

typedef struct compiled_backend {
    backend base;
    kernel_index *kernels;
    compile_options options;
    backend *eager;    /* runs what cannot be compiled; what the tuner compares with */
    bool tunes;
} compiled_backend;

typedef struct compiled_step {
    compiled_kernel_fn *kernel; /* NULL: a call */
    int64_t n_tasks;
    int variant;                /* of the described step's: whose kernel and tasks these are */
    int threads;                /* 0: by the work that there is */
    double best_s;              /* the fastest run that the tuner has seen */
    compiled_kernel_fn *in_parts; /* of the first variant, whose tasks fall into the parts of its chain */
    void **buffers;
    int n_rooms;                /* threads that have one; 0: no variant wants any */
    void ***rooms;              /* by thread: the buffers and, behind them, the thread's own room */
    const compile_step *described;
    op_call call; /* with this plan's own tensors */
    outputs out;
    kernel_plan library;
} compiled_step;

typedef struct compiled_plan {
    plan base;
    arena memory;
    const graph *g;
    compiled_program program;
    module *code;
    tensor *tensors;    /* by buffer: memory of WORK, CALL and OUTPUT buffers, a share of INPUT ones */
    int64_t *seeds;
    int n_steps;
    compiled_step *steps;
    bool whole;         /* chains are not used: each step is run whole */
    struct chain_memory *chains; /* by the program's chains */
    plan *instead;      /* that the tuner found faster, for prepare to answer: another plan of the same graph; NULL */
    char note[512];
} compiled_plan;

/* A plan of g, not tuned. Errors as of a backend's prepare. */
status compiled_prepare(compiled_backend *b, const graph *g, const compile_options *options, compiled_plan **out, error *err);
/* The eager backend's plan of g, its outputs where b has them. Errors as of a backend's prepare. */
status compiled_prepare_eager(const compiled_backend *b, const graph *g, plan **out, error *err);
/* The plans of n graphs, out[0] to out[n - 1], their kernels in one module, which is much faster to build than n are. b is the
   compiled backend. When one cannot be prepared none is. Nothing is tuned: UNSUPPORTED by a backend that tunes. */
status compiled_prepare_many(backend *b, const graph *const *graphs, int n, build_purpose purpose, plan **out, error *err);

/* What a kernel does, in bytes that take as long to move: short loops of dear functions are shared out among threads as well. */
static inline double compiled_work(const compile_step *s) {
    static const double FLOPS_PER_BYTE = 4;
    return s->bytes + s->flops / FLOPS_PER_BYTE;
}
/* Each thread's own memory for the program's chains. OUT_OF_MEMORY. */
status compiled_prepare_chains(compiled_plan *p, error *err);
/* All steps of a chain, part after part. INVALID when an index is out of range. */
status compiled_run_chain(compiled_plan *p, int chain, error *err);
/* One step, with the kernel and the threads that it has now. */
status compiled_run_step(compiled_plan *p, int step, error *err);
/* Gives a step another of its kernels. INTERNAL when the code lacks it. */
status compiled_use_variant(compiled_plan *p, int step, int variant, error *err);

#endif
