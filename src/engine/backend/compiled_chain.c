/* SPDX-License-Identifier: Apache-2.0 */
/* Chains of kernels, run part by part: threads share the parts. */
#include "engine/backend/compiled_chain.h"

#include "engine/kernels/cpu/parallel.h"

#include <omp.h>

/* A step's kernel and what it takes, as one thread runs it. */
typedef struct chain_step {
    compiled_kernel_fn *kernel;
    int64_t tasks; /* of a part */
    void **buffers;
    bool moves; /* some of these differ from part to part */
} chain_step;

/* What each thread has for itself: the steps, and memory for buffers that are as large as a part. */
typedef struct chain_thread {
    chain_step *steps;
    void **parts; /* by the program's buffers; NULL: as everybody's */
} chain_thread;

struct chain_memory {
    int n_threads;
    chain_thread *threads;
};

static bool make_steps(compiled_plan *p, const chain *h, chain_thread *own) {
    own->steps = arena_make(&p->memory, (size_t)h->n_steps, sizeof *own->steps);
    bool made = own->steps != NULL;
    for (int i = 0; made && i < h->n_steps; i++) {
        size_t n = (size_t)p->program.steps[h->first + i].n_buffers;
        own->steps[i].buffers = arena_make(&p->memory, n + 1, sizeof *own->steps[i].buffers);
        made = own->steps[i].buffers != NULL;
    }
    return made;
}

static status prepare_chain(compiled_plan *p, int index, error *err) {
    const chain *h = &p->program.chains[index];
    struct chain_memory *m = &p->chains[index];
    m->n_threads = omp_get_max_threads();
    m->threads = arena_make(&p->memory, (size_t)m->n_threads, sizeof *m->threads);
    for (int t = 0; m->threads != NULL && t < m->n_threads; t++) {
        chain_thread *own = &m->threads[t];
        bool made = make_steps(p, h, own);
        own->parts = arena_make(&p->memory, (size_t)p->program.n_buffers, sizeof *own->parts);
        for (int b = 0; own->parts != NULL && b < p->program.n_buffers; b++) {
            const compile_buffer *buffer = &p->program.buffers[b];
            bool touched = false;
            for (int i = h->first; i < h->first + h->n_steps; i++) {
                for (int k = 0; k < p->program.steps[i].n_buffers; k++) {
                    touched |= p->program.steps[i].buffers[k] == b;
                }
            }
            if (touched && buffer->part_elems > 0) {
                own->parts[b] = arena_make(&p->memory, (size_t)buffer->part_elems, dtype_size(buffer->dtype));
                if (own->parts[b] == NULL) {
                    return fail(err, ASSAY_OUT_OF_MEMORY, "no memory for a plan");
                }
            }
        }
        if (!made || own->parts == NULL) {
            return fail(err, ASSAY_OUT_OF_MEMORY, "no memory for a plan");
        }
    }
    return m->threads != NULL ? ASSAY_OK : fail(err, ASSAY_OUT_OF_MEMORY, "no memory for a plan");
}

status compiled_prepare_chains(compiled_plan *p, error *err) {
    p->chains = arena_make(&p->memory, (size_t)p->program.n_chains, sizeof *p->chains);
    if (p->chains == NULL) {
        return fail(err, ASSAY_OUT_OF_MEMORY, "no memory for a plan");
    }
    for (int i = 0; i < p->program.n_chains; i++) {
        TRY(prepare_chain(p, i, err));
    }
    return ASSAY_OK;
}

/* A step's kernel, as chosen, or, where that one's tasks are no parts, the compiler's own choice; and its buffers, for all parts. */
static void ready_step(const compiled_step *s, const chain *h, int thread, const chain_thread *own, chain_step *out) {
    bool chosen = s->described->variants[s->variant].in_parts;
    out->kernel = chosen ? s->kernel : s->in_parts;
    out->tasks = (chosen ? s->n_tasks : s->described->variants[0].n_tasks) / h->parts;
    out->moves = false;
    for (int i = 0; i < s->described->n_buffers; i++) {
        out->buffers[i] = s->buffers[i];
        out->moves |= own->parts[s->described->buffers[i]] != NULL;
    }
    if (s->n_rooms > 0) {
        out->buffers[s->described->n_buffers] = s->rooms[thread][s->described->n_buffers];
    }
}

/* Kernels count elements from part 0 on, also in memory of a part alone. */
static void move_buffers(const compiled_plan *p, const compile_step *s, int64_t part, const chain_thread *own, void **buffers) {
    for (int i = 0; i < s->n_buffers; i++) {
        int b = s->buffers[i];
        const compile_buffer *buffer = &p->program.buffers[b];
        uintptr_t skipped = (uintptr_t)(part * buffer->part_elems) * dtype_size(buffer->dtype);
        if (own->parts[b] != NULL) {
            buffers[i] = (void *)((uintptr_t)own->parts[b] - skipped);
        }
    }
}

typedef struct parts_run {
    const compiled_plan *p;
    int index, thread;
} parts_run;

static bool run_parts(void *context, int64_t from, int64_t to) {
    const parts_run *r = context;
    const compiled_plan *p = r->p;
    const int index = r->index, thread = r->thread;
    const chain *h = &p->program.chains[index];
    const chain_thread *own = &p->chains[index].threads[thread];
    bool good = true;
    for (int i = 0; i < h->n_steps; i++) {
        ready_step(&p->steps[h->first + i], h, thread, own, &own->steps[i]);
    }
    for (int64_t part = from; part < to; part++) {
        for (int i = 0; i < h->n_steps; i++) {
            const chain_step *s = &own->steps[i];
            if (s->moves) {
                move_buffers(p, p->steps[h->first + i].described, part, own, s->buffers);
            }
            good &= s->kernel(s->buffers, part * s->tasks, (part + 1) * s->tasks);
        }
    }
    return good;
}

status compiled_run_chain(compiled_plan *p, int index, error *err) {
    const chain *h = &p->program.chains[index];
    double work = 0;
    for (int i = h->first; i < h->first + h->n_steps; i++) {
        work += compiled_work(p->steps[i].described);
    }
    int threads = parallel_threads(work);
    threads = threads < p->chains[index].n_threads ? threads : p->chains[index].n_threads;
    threads = h->parts < threads ? (int)h->parts : threads;
    bool good = true;
    if (threads <= 1) {
        good = run_parts(&(parts_run){p, index, 0}, 0, h->parts);
    } else {
        const observer *watch = observer_of_thread;
        task_shares_begin(p->shares, threads);
#pragma omp parallel num_threads(threads) reduction(&& : good)
        {
            parallel_enter(watch);
            const int thread = omp_get_thread_num();
            parts_run parts = {p, index, thread};
            good = task_shares_run(p->shares, work >= SHARE_LEAST_WORK, thread, omp_get_num_threads(), h->parts, run_parts, &parts);
            parallel_leave(watch);
        }
    }
    return good ? ASSAY_OK
                : fail(err, ASSAY_INVALID, "an index is out of range, or an integer is divided by zero (compiled kernels from %s on)",
                       p->steps[h->first].described->title);
}
