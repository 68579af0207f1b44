/* SPDX-License-Identifier: Apache-2.0 */
/* Chains of kernels, run part by part: threads share the parts. */
#include "engine/backend/compiled.h"
#include "engine/kernels/cpu/parallel.h"

#include <omp.h>

/* What each thread has for itself: the step's buffers, and memory for those that are as large as a part. */
typedef struct chain_thread {
    void **buffers;
    void **parts; /* by the program's buffers; NULL: as everybody's */
} chain_thread;

struct chain_memory {
    int n_threads;
    chain_thread *threads;
};

static status prepare_chain(compiled_plan *p, int index, error *err) {
    const chain *h = &p->program.chains[index];
    struct chain_memory *m = &p->chains[index];
    int most = 0;
    for (int i = h->first; i < h->first + h->n_steps; i++) {
        most = p->program.steps[i].n_buffers > most ? p->program.steps[i].n_buffers : most;
    }
    m->n_threads = omp_get_max_threads();
    m->threads = arena_make(&p->memory, (size_t)m->n_threads, sizeof *m->threads);
    for (int t = 0; m->threads != NULL && t < m->n_threads; t++) {
        chain_thread *own = &m->threads[t];
        own->buffers = arena_make(&p->memory, (size_t)most + 1, sizeof *own->buffers);
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
        if (own->buffers == NULL || own->parts == NULL) {
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

/* A step's kernel, as chosen, or, where that one's tasks are no parts, the compiler's own choice. */
static bool run_part(const compiled_plan *p, const compiled_step *s, const chain *h, int64_t part, int thread, chain_thread *own) {
    compiled_kernel_fn *kernel = s->kernel;
    int64_t tasks = s->n_tasks / h->parts;
    if (!s->described->variants[s->variant].in_parts) {
        kernel = s->in_parts;
        tasks = s->described->variants[0].n_tasks / h->parts;
    }
    for (int i = 0; i < s->described->n_buffers; i++) {
        int b = s->described->buffers[i];
        const compile_buffer *buffer = &p->program.buffers[b];
        uintptr_t skipped = (uintptr_t)(part * buffer->part_elems) * dtype_size(buffer->dtype);
        /* The kernel counts elements from part 0 on. */
        own->buffers[i] = own->parts[b] != NULL ? (void *)((uintptr_t)own->parts[b] - skipped) : s->buffers[i];
    }
    if (s->n_rooms > 0) {
        own->buffers[s->described->n_buffers] = s->rooms[thread][s->described->n_buffers];
    }
    return kernel(own->buffers, part * tasks, (part + 1) * tasks);
}

static bool run_parts(const compiled_plan *p, int index, int thread, int64_t from, int64_t to) {
    const chain *h = &p->program.chains[index];
    bool good = true;
    for (int64_t part = from; part < to; part++) {
        for (int i = h->first; i < h->first + h->n_steps; i++) {
            good &= run_part(p, &p->steps[i], h, part, thread, &p->chains[index].threads[thread]);
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
        good = run_parts(p, index, 0, 0, h->parts);
    } else {
        const observer *watch = observer_of_thread;
#pragma omp parallel num_threads(threads) reduction(&& : good)
        {
            parallel_enter(watch);
            int64_t from, to;
            parallel_share(h->parts, 1, &from, &to);
            good = run_parts(p, index, omp_get_thread_num(), from, to);
            parallel_leave(watch);
        }
    }
    return good ? ASSAY_OK
                : fail(err, ASSAY_INVALID, "an index is out of range (compiled kernels from %s on)",
                       p->steps[h->first].described->title);
}
