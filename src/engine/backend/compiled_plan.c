/* SPDX-License-Identifier: Apache-2.0 */
/* Compiled plans: a graph through the compiler, its kernels built and loaded, library calls by the eager kernels. */
#include "engine/backend/compiled_plan.h"

#include "base/text.h"
#include "engine/backend/compiled_chain.h"
#include "engine/kernels/cpu/parallel.h"

#include <omp.h>
#include <stdlib.h>
#include <string.h>

/* --- memory ------------------------------------------------------------------------------------------------------------ */

/* The memory that buffer i shares with others, when those have one; a result's is there already. */
static storage *shared_by(const compiled_plan *p, int i) {
    int m = p->program.buffers[i].memory;
    return m > 0 ? p->memories[m - 1].storage : NULL;
}

/* Gives t, which has none, a memory that is large enough for it. */
static void lay_in(tensor *t, storage *s) {
    tensor held = *t;
    held.storage = s;
    tensor_share(t, &held);
}

static status make_shared(compiled_plan *p, error *err) {
    for (int m = 0; m < p->program.n_memories; m++) {
        const compile_memory *of = &p->program.memories[m];
        if (of->output >= 0) {
            tensor_share(&p->memories[m], &p->tensors[of->output]);
        } else {
            TRY(tensor_init(&p->memories[m], ASSAY_U8, 1, &of->bytes, err));
            TRY(tensor_allocate_at(&p->memories[m], &device_cpu, p->g->n_outputs + 1 + m, err));
        }
    }
    return ASSAY_OK;
}

static status make_memory(const output_memory *m, compiled_plan *p, int i, error *err) {
    const compile_buffer *b = &p->program.buffers[i];
    tensor *t = &p->tensors[i];
    switch (b->role) {
    case BUFFER_INPUT:
        tensor_share(t, b->tensor);
        return ASSAY_OK;
    case BUFFER_SEED:
        p->seeds[i] = (int64_t)b->seed;
        return ASSAY_OK;
    case BUFFER_WORK:
        TRY(tensor_init(t, b->dtype, 1, &b->n_elems, err));
        if (shared_by(p, i) == NULL) {
            return tensor_allocate_at(t, &device_cpu, p->g->n_outputs + 1 + p->program.n_memories + i, err);
        }
        lay_in(t, shared_by(p, i));
        return ASSAY_OK;
    case BUFFER_OUTPUT:
        tensor_share(t, b->tensor);
        return t->storage != NULL ? ASSAY_OK : output_memory_take(m, b->output, 0, t, err);
    case BUFFER_CALL:
        return ASSAY_OK; /* when its step is prepared */
    }
    return ASSAY_OK;
}

/* Results' memory first: others may lie there before the results do. */
static status make_memories(const output_memory *m, compiled_plan *p, error *err) {
    for (int i = 0; i < p->program.n_buffers; i++) {
        if (p->program.buffers[i].role == BUFFER_OUTPUT) {
            TRY(make_memory(m, p, i, err));
        }
    }
    TRY(make_shared(p, err));
    for (int i = 0; i < p->program.n_buffers; i++) {
        if (p->program.buffers[i].role != BUFFER_OUTPUT) {
            TRY(make_memory(m, p, i, err));
        }
    }
    return ASSAY_OK;
}

static void *address_of(const compiled_plan *p, int buffer) {
    return p->program.buffers[buffer].role == BUFFER_SEED ? (void *)&p->seeds[buffer] : tensor_data(&p->tensors[buffer]);
}

/* --- library calls --------------------------------------------------------------------------------------------------------- */

/* The k-th tensor argument as this plan has it. */
static status operand(compiled_plan *p, const compile_step *s, int k, const tensor *original, tensor **out, error *err) {
    const compile_operand *o = &s->operands[k];
    tensor *t = arena_make(&p->memory, 1, sizeof *t);
    if (t == NULL) {
        return fail(err, ASSAY_OUT_OF_MEMORY, "no memory for a plan");
    }
    const compile_buffer *b = &p->program.buffers[o->buffer];
    if (b->role == BUFFER_INPUT && b->tensor == original) {
        *out = (tensor *)original;
        return ASSAY_OK;
    }
    const tensor *memory = &p->tensors[o->buffer];
    TRY(tensor_init_strided(t, original->dtype, original->ndim, original->sizes, o->strides, err));
    t->storage = memory->storage; /* borrowed: the plan keeps it */
    t->offset = memory->offset + o->offset;
    *out = t;
    return ASSAY_OK;
}

static status redirect(compiled_plan *p, const compile_step *s, op_call *call, error *err) {
    tensor **originals = arena_make(&p->memory, (size_t)s->n_operands, sizeof *originals);
    tensor **own = arena_make(&p->memory, (size_t)s->n_operands, sizeof *own);
    if (originals != NULL && own != NULL) {
        call_all_tensors(s->call, originals, s->n_operands);
        for (int k = 0; k < s->n_operands; k++) {
            TRY(operand(p, s, k, originals[k], &own[k], err));
        }
    }
    if (originals == NULL || own == NULL || !call_with_tensors(&p->memory, s->call, own, call)) {
        return fail(err, ASSAY_OUT_OF_MEMORY, "no memory for a plan");
    }
    return ASSAY_OK;
}

/* Which of the graph's outputs a call's output is, or -1. */
static int output_of_call(const compiled_plan *p, int step, int output) {
    for (int i = 0; i < p->g->n_outputs; i++) {
        int at = p->program.output_buffers[i];
        const compile_buffer *b = at >= 0 ? &p->program.buffers[at] : NULL;
        if (b != NULL && b->role == BUFFER_CALL && b->step == step && b->output == output) {
            return i;
        }
    }
    return -1;
}

/* Gives what a call answers the memory that it shares, if it does and that is as large as the call will have it. */
static bool lies_in_shared(const compiled_plan *p, int step, int output, tensor *t) {
    for (int i = 0; i < p->program.n_buffers; i++) {
        const compile_buffer *b = &p->program.buffers[i];
        storage *s = b->role == BUFFER_CALL && b->step == step && b->output == output ? shared_by(p, i) : NULL;
        if (s != NULL && (size_t)(t->offset + tensor_span(t)) * dtype_size(t->dtype) <= s->size_bytes) {
            lay_in(t, s);
            return true;
        }
    }
    return false;
}

/* A view's layout was found in prepare, and its memory is its source's. */
static status run_nothing(kernel_plan *k) {
    (void)k;
    return ASSAY_OK;
}

static status prepare_call(const compiled_backend *b, compiled_plan *p, int index, error *err) {
    compiled_step *s = &p->steps[index];
    const compile_step *described = s->described;
    const kernel_row *kernel = kernel_find_cpu(b->kernels, described->call->op);
    bool is_view = described->call->op->row->is_view;
    if (kernel == NULL && !is_view) {
        return fail(err, ASSAY_UNSUPPORTED, "no kernel for %s", described->call->op->signature.full);
    }
    TRY(redirect(p, described, &s->call, err));
    TRY(op_infer(&s->call, &s->out, err));
    for (int i = 0; i < s->out.n; i++) {
        tensor *t = &s->out.items[i];
        if (t->storage == NULL && t->sparse == NULL && !lies_in_shared(p, index, i, t)) {
            TRY(output_memory_take(b->base.outputs, output_of_call(p, index, i), p->g->n_outputs + 1 + index, t, err));
        }
    }
    for (int i = 0; i < p->program.n_buffers; i++) {
        const compile_buffer *buffer = &p->program.buffers[i];
        if (buffer->role == BUFFER_CALL && buffer->step == index) {
            tensor_share(&p->tensors[i], &s->out.items[buffer->output]);
        }
    }
    s->library = (kernel_plan){.call = &s->call, .out = &s->out, .memory = &p->memory};
    if (is_view) {
        s->library.run = run_nothing;
        return ASSAY_OK;
    }
    p->base.note = p->base.note == NULL ? kernel->note : p->base.note; /* why it was not taken apart matters more */
    return kernel->prepare(&s->library, err);
}

/* --- running ------------------------------------------------------------------------------------------------------------------ */

/* Where the threads of the innermost parallel region meet. */
static void meet(void) {
#pragma omp barrier
}

static bool run_shared(const compiled_step *s, int thread, int threads) {
    s->team_parts[thread][0] = thread;
    s->team_parts[thread][1] = threads;
    return s->kernel(s->rooms[thread], 0, s->n_tasks);
}

typedef struct tasks_run {
    compiled_kernel_fn *kernel;
    void *const *buffers;
} tasks_run;

static bool run_range(void *context, int64_t from, int64_t to) {
    const tasks_run *r = context;
    return r->kernel(r->buffers, from, to);
}

static bool run_kernel(const compiled_plan *p, const compiled_step *s) {
    int64_t n = s->n_tasks;
    const double work = compiled_work(s->described);
    const bool in_pieces = work >= SHARE_LEAST_WORK;
    int threads = s->threads > 0 ? s->threads : parallel_threads(work);
    threads = n < threads ? (int)n : threads;
    threads = p->n_shares < threads ? p->n_shares : threads; /* as many as have rooms */
    const bool shared = s->described->variants[s->variant].shared;
    if (threads <= 1) {
        return shared ? run_shared(s, 0, 1) : s->kernel(s->n_rooms > 0 ? s->rooms[0] : s->buffers, 0, n);
    }
    const observer *watch = observer_of_thread;
    bool good = true;
    task_shares_begin(p->shares, threads);
#pragma omp parallel num_threads(threads) reduction(&& : good)
    {
        parallel_enter(watch);
        const int thread = omp_get_thread_num(), team = omp_get_num_threads();
        tasks_run tasks = {s->kernel, s->n_rooms > 0 ? s->rooms[thread] : s->buffers};
        good = shared ? run_shared(s, thread, team) : task_shares_run(p->shares, in_pieces, thread, team, n, run_range, &tasks);
        parallel_leave(watch);
    }
    return good;
}

status compiled_run_step(compiled_plan *p, int step, error *err) {
    compiled_step *s = &p->steps[step];
    if (s->kernel == NULL) {
        s->library.err = err;
        return s->library.run(&s->library);
    }
    if (!run_kernel(p, s) && s->described->checks) {
        return fail(err, ASSAY_INVALID, "an index is out of range, or an integer is divided by zero (compiled kernel %s)", s->described->title);
    }
    return ASSAY_OK;
}

static status run(plan *base, error *err) {
    compiled_plan *p = (compiled_plan *)base;
    int next = p->whole ? p->program.n_chains : 0;
    for (int i = 0; i < p->n_steps; i++) {
        if (next < p->program.n_chains && p->program.chains[next].first == i) {
            TRY(compiled_run_chain(p, next, err));
            i += p->program.chains[next++].n_steps - 1;
        } else {
            TRY(compiled_run_step(p, i, err));
        }
    }
    return ASSAY_OK;
}

static status output(plan *base, int i, tensor *out, error *err) {
    compiled_plan *p = (compiled_plan *)base;
    if (i < 0 || i >= p->g->n_outputs) {
        return fail(err, ASSAY_INVALID, "expected an output from 0 to %d, got %d", p->g->n_outputs - 1, i);
    }
    int buffer = p->program.output_buffers[i];
    tensor_share(out, buffer >= 0 ? &p->tensors[buffer] : p->g->outputs[i]);
    return ASSAY_OK;
}

static void release(plan *base) {
    compiled_plan *p = (compiled_plan *)base;
    for (int i = 0; i < p->n_steps; i++) {
        compiled_step *s = &p->steps[i];
        if (s->library.clear != NULL) {
            s->library.clear(&s->library);
        }
        outputs_clear(&s->out);
    }
    for (int i = 0; p->tensors != NULL && i < p->program.n_buffers; i++) {
        tensor_clear(&p->tensors[i]);
    }
    for (int i = 0; p->memories != NULL && i < p->program.n_memories; i++) {
        tensor_clear(&p->memories[i]);
    }
    if (p->instead != NULL) {
        p->instead->release(p->instead);
    }
    module_free(p->code);
    arena_clear(&p->memory);
    free(p->base.not_kept);
    free(p);
}

/* --- preparing ---------------------------------------------------------------------------------------------------------------- */

status compiled_use_variant(compiled_plan *p, int step, int variant, error *err) {
    compiled_step *s = &p->steps[step];
    const compile_variant *v = &s->described->variants[variant];
    compiled_kernel_fn *kernel = module_find(p->code, v->symbol);
    if (kernel == NULL) {
        return fail(err, ASSAY_INTERNAL, "%s is missing from compiled code", v->symbol);
    }
    s->kernel = kernel;
    s->n_tasks = v->n_tasks;
    s->variant = variant;
    return ASSAY_OK;
}

/* Each thread's own memory, as much as the variant wants that wants most, and what threads have in common that share tasks. */
static status make_rooms(compiled_plan *p, compiled_step *s, error *err) {
    enum { LINE = 64, TEAM_BUFFERS = 3 };
    int64_t most = 0;
    bool shares = false;
    for (int v = 0; v < s->described->n_variants; v++) {
        int64_t bytes = s->described->variants[v].room_bytes;
        most = bytes > most ? bytes : most;
        shares |= s->described->variants[v].shared;
    }
    if (most == 0) {
        return ASSAY_OK;
    }
    size_t n = (size_t)s->described->n_buffers;
    s->n_rooms = omp_get_max_threads();
    s->rooms = arena_make(&p->memory, (size_t)s->n_rooms, sizeof *s->rooms);
    s->team_parts = arena_make(&p->memory, (size_t)s->n_rooms, sizeof *s->team_parts);
    char *sums = arena_make(&p->memory, shares ? (size_t)s->n_rooms * 2 * COMPILE_TEAM_SUMS * sizeof(double) + LINE : LINE, 1);
    void (*meeting)(void) = meet;
    bool made = s->rooms != NULL && s->team_parts != NULL && sums != NULL;
    for (int t = 0; made && t < s->n_rooms; t++) {
        char *room = arena_make(&p->memory, (size_t)most + LINE, 1);
        s->rooms[t] = arena_make(&p->memory, n + 1 + TEAM_BUFFERS, sizeof *s->rooms[t]);
        made = room != NULL && s->rooms[t] != NULL;
        if (made) {
            memcpy(s->rooms[t], s->buffers, n * sizeof *s->buffers);
            s->rooms[t][n] = room + (-(uintptr_t)room & (LINE - 1));
            s->rooms[t][n + 1] = s->team_parts[t];
            s->rooms[t][n + 2] = sums + (-(uintptr_t)sums & (LINE - 1));
            memcpy(&s->rooms[t][n + 3], &meeting, sizeof meeting);
        }
    }
    return made ? ASSAY_OK : fail(err, ASSAY_OUT_OF_MEMORY, "no memory for a plan");
}

static status prepare_steps(const compiled_backend *b, compiled_plan *p, error *err) {
    p->n_shares = omp_get_max_threads();
    p->shares = arena_make(&p->memory, (size_t)p->n_shares, sizeof *p->shares);
    if (p->shares == NULL) {
        return fail(err, ASSAY_OUT_OF_MEMORY, "no memory for a plan");
    }
    for (int i = 0; i < p->program.n_steps; i++) {
        compiled_step *s = &p->steps[i];
        outputs_init(&s->out);
        p->n_steps = i + 1;
        s->described = &p->program.steps[i];
        if (s->described->n_variants == 0) {
            TRY(prepare_call(b, p, i, err));
            continue;
        }
        TRY(compiled_use_variant(p, i, 0, err));
        s->buffers = arena_make(&p->memory, (size_t)s->described->n_buffers, sizeof *s->buffers);
        if (s->buffers == NULL) {
            return fail(err, ASSAY_OUT_OF_MEMORY, "no memory for a plan");
        }
    }
    for (int i = 0; i < p->n_steps; i++) {
        const compile_step *described = p->steps[i].described;
        for (int k = 0; k < described->n_buffers; k++) {
            p->steps[i].buffers[k] = address_of(p, described->buffers[k]);
        }
        TRY(make_rooms(p, &p->steps[i], err));
        p->steps[i].in_parts = p->steps[i].kernel;
    }
    return compiled_prepare_chains(p, err);
}

/* All of a plan but its code. */
static status describe_plan(const compiled_backend *b, compiled_plan *p, const compile_options *how, const char *prefix,
                            error *err) {
    compile_options options = *how;
    options.n_threads = omp_get_max_threads();
    options.prefix = prefix;
    TRY(compile_graph(&p->memory, p->g, &options, &p->program, err));
    p->base.is_fallback = p->program.is_fallback;
    p->base.note = p->program.why;
    program_traffic traffic = compile_traffic(&p->program, p->g);
    p->base.n_kernels = traffic.n_kernels;
    p->base.n_calls = traffic.n_calls;
    p->base.bytes_moved = traffic.bytes;
    size_t n = (size_t)p->program.n_buffers;
    p->tensors = arena_make(&p->memory, n, sizeof *p->tensors);
    p->seeds = arena_make(&p->memory, n, sizeof *p->seeds);
    p->memories = arena_make(&p->memory, (size_t)p->program.n_memories, sizeof *p->memories);
    p->steps = arena_make(&p->memory, (size_t)p->program.n_steps, sizeof *p->steps);
    if (p->tensors == NULL || p->seeds == NULL || p->memories == NULL || p->steps == NULL) {
        return fail(err, ASSAY_OUT_OF_MEMORY, "no memory for a plan");
    }
    return make_memories(b->base.outputs, p, err);
}

static status tell_not_kept(compiled_plan *p, error *err) {
    const char *why = module_why_not_kept(p->code);
    text said = {0};
    if (why == NULL) {
        return ASSAY_OK;
    }
    text_addf(&said, PLAN_CODE_NOT_KEPT ": %s", why);
    if (said.failed) {
        text_clear(&said);
        return fail(err, ASSAY_OUT_OF_MEMORY, "no memory for a plan");
    }
    p->base.not_kept = said.data;
    return ASSAY_OK;
}

static status prepare_plan(const compiled_backend *b, compiled_plan *p, const compile_options *how, error *err) {
    TRY(describe_plan(b, p, how, NULL, err));
    if (p->program.source[0] != '\0') {
        TRY(module_build(p->program.source, BUILD_TO_LAST, &p->code, err));
        TRY(tell_not_kept(p, err));
    }
    return prepare_steps(b, p, err);
}

static status new_plan(const graph *g, compiled_plan **out, error *err) {
    compiled_plan *p = calloc(1, sizeof *p);
    if (p == NULL) {
        return fail(err, ASSAY_OUT_OF_MEMORY, "no memory for a plan");
    }
    p->base = (plan){.run = run, .output = output, .release = release};
    p->g = g;
    *out = p;
    return ASSAY_OK;
}

status compiled_prepare(compiled_backend *b, const graph *g, const compile_options *options, compiled_plan **out, error *err) {
    compiled_plan *p = NULL;
    TRY(new_plan(g, &p, err));
    status result = prepare_plan(b, p, options, err);
    if (result != ASSAY_OK) {
        release(&p->base);
        return result;
    }
    *out = p;
    return ASSAY_OK;
}

status compiled_prepare_eager(const compiled_backend *b, const graph *g, plan **out, error *err) {
    b->eager->outputs = b->base.outputs;
    status result = b->eager->prepare(b->eager, g, out, err);
    b->eager->outputs = NULL;
    return result;
}

/* The code of plans that are described, and their steps. */
static status build_many(const compiled_backend *b, compiled_plan *const *plans, int n, build_purpose purpose, error *err) {
    arena memory = {0};
    module *code = NULL;
    char *source = NULL;
    const compiled_program **programs = arena_make(&memory, (size_t)n, sizeof *programs);
    status result = programs != NULL ? ASSAY_OK : fail(err, ASSAY_OUT_OF_MEMORY, "no memory for plans");
    for (int i = 0; result == ASSAY_OK && i < n; i++) {
        programs[i] = &plans[i]->program;
    }
    result = result == ASSAY_OK ? compile_join(&memory, programs, n, &source, err) : result;
    if (result == ASSAY_OK && source[0] != '\0') {
        result = module_build(source, purpose, &code, err);
    }
    for (int i = 0; result == ASSAY_OK && i < n; i++) {
        plans[i]->code = code != NULL ? module_share(code) : NULL;
        result = code != NULL ? tell_not_kept(plans[i], err) : ASSAY_OK;
        result = result == ASSAY_OK ? prepare_steps(b, plans[i], err) : result;
    }
    module_free(code);
    arena_clear(&memory);
    return result;
}

status compiled_prepare_many(backend *base, const graph *const *graphs, int n, build_purpose purpose, plan **out, error *err) {
    const compiled_backend *b = (const compiled_backend *)base;
    if (b->tunes) {
        return fail(err, ASSAY_UNSUPPORTED, "%s prepares one graph at a time", base->name);
    }
    compiled_plan **plans = calloc((size_t)n + 1, sizeof(compiled_plan *));
    if (plans == NULL) {
        return fail(err, ASSAY_OUT_OF_MEMORY, "no memory for plans");
    }
    status result = ASSAY_OK;
    for (int i = 0; result == ASSAY_OK && i < n; i++) {
        result = new_plan(graphs[i], &plans[i], err);
        const char *prefix = result == ASSAY_OK ? arena_format(&plans[i]->memory, "graph_%d_", i) : NULL;
        if (result == ASSAY_OK) {
            result = prefix != NULL ? describe_plan(b, plans[i], &b->options, prefix, err)
                                    : fail(err, ASSAY_OUT_OF_MEMORY, "no memory for plans");
        }
    }
    result = result == ASSAY_OK ? build_many(b, plans, n, purpose, err) : result;
    for (int i = 0; i < n && plans[i] != NULL; i++) {
        if (result == ASSAY_OK) {
            out[i] = &plans[i]->base;
        } else {
            release(&plans[i]->base);
        }
    }
    free(plans);
    return result;
}
