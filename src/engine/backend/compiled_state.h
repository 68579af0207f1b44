/* SPDX-License-Identifier: Apache-2.0 */
/* What a compiled plan is made of: between the backend, which runs it, and the tuner, which chooses among its kernels. */
#ifndef ENGINE_BACKEND_COMPILED_STATE_H
#define ENGINE_BACKEND_COMPILED_STATE_H

#include "engine/backend/backend.h"
#include "engine/backend/task_shares.h"
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
    void ***rooms;              /* by thread: the buffers and, behind them, the thread's own room, and what a shared variant takes */
    int64_t (*team_parts)[2];   /* by thread: of such, its number and how many there are */
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
    tensor *memories;   /* that several buffers lie in */
    tensor *tensors;    /* by buffer: memory of WORK, CALL and OUTPUT buffers, a share of INPUT ones */
    int64_t *seeds;
    int n_steps;
    compiled_step *steps;
    int n_shares;       /* threads that tasks can be shared among */
    task_share *shares;
    bool whole;         /* chains are not used: each step is run whole */
    struct chain_memory *chains; /* by the program's chains */
    plan *instead;      /* that the tuner found faster, for prepare to answer: another plan of the same graph; NULL */
    char note[512];
} compiled_plan;

/* What a kernel does, in bytes that take as long to move: short loops of dear functions are shared out among threads as well. */
static inline double compiled_work(const compile_step *s) {
    static const double FLOPS_PER_BYTE = 4;
    return s->bytes + s->flops / FLOPS_PER_BYTE;
}

#endif
