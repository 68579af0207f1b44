/* SPDX-License-Identifier: Apache-2.0 */
/* Stamps what the observer hears and records it when the call is over. */
#include "lab/experiment/profile.h"

#include "lab/trace/classify.h"

#include <fcntl.h>
#include <omp.h>
#include <stdalign.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    MAX_LANES = 4096,       /* threads that `--threads` allows */
    MAX_PENDING = 32,       /* kernels of one call that are recorded behind it; more are recorded at once */
    MAX_TENSORS = 512,      /* of one call, whose sizes are shown; a call with more says how many it has */
    MEMORY_EVERY_NS = 1000000, /* reading the resident size costs a microsecond */
};

static const trace_place host_place = {PROFILE_HOST, 0}, cpu_place = {PROFILE_CPU, 0};

/* A worker thread's. Each on its own cache line: threads write their stamps at the same time. */
typedef struct lane {
    alignas(64) trace_recorder *recorder; /* the thread's own, made when it first works */
    int64_t enter_ns, leave_ns;
} lane;

/* What an operator's events are called. */
typedef struct op_names {
    const char *call;   /* "aten::mm": without the overload, as PyTorch's traces have it */
    const char *kernel; /* "cpu::gemm::mm.default": what the compat definition looks for is in it */
} op_names;

typedef struct kernel_event {
    const op_call *call;
    const outputs *out;
    uint64_t id;
    int64_t start_ns, end_ns;
} kernel_event;

struct profile {
    trace_writer *writer;
    trace_recorder *recorder; /* the calling thread's */
    int64_t (*now_ns)(void *clock);
    void *clock;
    observer watch;
    const char *backend;
    arena memory; /* of names */
    op_names *names;
    int n_names; /* by op id */
    int statm;   /* the system's account of our memory; -1 where there is none */
    int64_t memory_at_ns;
    uint64_t last_id;

    uint64_t call_id;
    int64_t call_start_ns;
    bool in_call;
    int64_t n_kernels; /* of the call under way */
    int n_pending;
    kernel_event pending[MAX_PENDING]; /* the last is the kernel under way, for the lanes to read */
    const char *kernel_name;           /* likewise */
    int team;                          /* threads of the region behind us; 0: of none, or told already */
    lane lanes[MAX_LANES];
};

static int64_t now(const profile *p) {
    return p->now_ns(p->clock);
}

/* --- names -------------------------------------------------------------------------------------------------------------- */

static const op_names unnamed = {"(no memory for its name)", "(no memory for its name)"};

static bool has_room_for(profile *p, int id) {
    if (id < p->n_names) {
        return true;
    }
    int wanted = id < 512 ? 1024 : 2 * id;
    op_names *more = realloc(p->names, (size_t)wanted * sizeof *more);
    if (more == NULL) {
        return false;
    }
    memset(more + p->n_names, 0, (size_t)(wanted - p->n_names) * sizeof *more);
    p->names = more;
    p->n_names = wanted;
    return true;
}

static const op_names *names_of(profile *p, const op *o) {
    if (!has_room_for(p, o->id)) {
        return &unnamed;
    }
    op_names *n = &p->names[o->id];
    if (n->call == NULL) {
        const signature *g = &o->signature;
        bool product = trace_work_of_operator(g->name, strlen(g->name)) == TRACE_WORK_MATMUL;
        n->kernel = arena_format(&p->memory, "cpu::%s%s", product ? "gemm::" : "", g->full);
        n->call = arena_format(&p->memory, "aten::%s", g->name);
    }
    return n->call != NULL && n->kernel != NULL ? n : &unnamed;
}

/* --- what is said of a call --------------------------------------------------------------------------------------------- */

/* The args of one event, and what they point to. */
typedef struct call_args {
    trace_arg args[TRACE_MAX_ARGS];
    size_t n;
    trace_dims dims[2 * MAX_TENSORS];
    const char *types[2 * MAX_TENSORS];
} call_args;

static void add_int(call_args *a, const char *key, int64_t value) {
    a->args[a->n++] = (trace_arg){.key = key, .kind = TRACE_ARG_INT, .integer = value};
}

static void add_real(call_args *a, const char *key, double value) {
    a->args[a->n++] = (trace_arg){.key = key, .kind = TRACE_ARG_REAL, .real = value};
}

static void add_text(call_args *a, const char *key, const char *value) {
    a->args[a->n++] = (trace_arg){.key = key, .kind = TRACE_ARG_TEXT, .text = value};
}

static void describe(call_args *a, int at, const tensor *t) {
    a->dims[at] = (trace_dims){.n = t->ndim, .sizes = t->sizes};
    a->types[at] = dtype_torch_name(t->dtype);
}

static void add_shapes(call_args *a, const char *dims_key, const char *types_key, int from, int n) {
    a->args[a->n] = (trace_arg){.key = dims_key, .kind = TRACE_ARG_DIMS};
    a->args[a->n].dims.items = &a->dims[from];
    a->args[a->n++].dims.n = n;
    a->args[a->n] = (trace_arg){.key = types_key, .kind = TRACE_ARG_TEXTS};
    a->args[a->n].texts.items = &a->types[from];
    a->args[a->n++].texts.n = n;
}

static int at_most(int n, int most) {
    return n < most ? n : most;
}

/* Shapes, types and cost, as PyTorch's profiler names them where it has them. */
static void add_call(call_args *a, const op_call *call, const outputs *out) {
    tensor *inputs[MAX_TENSORS];
    int n_inputs = call_all_tensors(call, inputs, MAX_TENSORS), n = at_most(n_inputs, MAX_TENSORS);
    for (int i = 0; i < n; i++) {
        describe(a, i, inputs[i]);
    }
    int n_out = at_most(out->n, MAX_TENSORS);
    for (int i = 0; i < n_out; i++) {
        describe(a, n + i, &out->items[i]);
    }
    op_cost cost = {0};
    op_cost_of(call, out, &cost);
    add_shapes(a, "Input Dims", "Input type", 0, n);
    add_shapes(a, "Output Dims", "Output type", n, n_out);
    add_real(a, "flops", cost.flops);
    add_real(a, "bytes", cost.bytes);
    if (n_inputs > MAX_TENSORS || out->n > MAX_TENSORS) {
        add_int(a, "tensors", (int64_t)n_inputs + out->n);
    }
}

/* --- kernels -------------------------------------------------------------------------------------------------------------- */

static void record_kernel(profile *p, const kernel_event *k) {
    call_args a;
    a.n = 0;
    add_int(&a, "External id", (int64_t)p->call_id);
    add_int(&a, "correlation", (int64_t)k->id);
    add_int(&a, "device", 0);
    add_int(&a, "stream", 0);
    add_call(&a, k->call, k->out);
    trace_record_complete(p->recorder, cpu_place, "kernel", names_of(p, k->call->op)->kernel, k->start_ns, k->end_ns,
                          a.args, a.n);
    if (p->in_call) {
        trace_record_flow(p->recorder, host_place, true, k->id, p->call_start_ns);
        trace_record_flow(p->recorder, cpu_place, false, k->id, k->start_ns);
    }
}

static void record_pending(profile *p) {
    for (int i = 0; i < p->n_pending; i++) {
        record_kernel(p, &p->pending[i]);
    }
    p->n_pending = 0;
}

static void kernel_begin(void *self, const op_call *call, const outputs *out) {
    profile *p = self;
    if (p->n_pending == MAX_PENDING) {
        record_pending(p);
    }
    p->n_kernels++;
    p->team = 0;
    p->kernel_name = names_of(p, call->op)->kernel;
    p->pending[p->n_pending] = (kernel_event){.call = call, .out = out, .id = ++p->last_id};
    p->n_pending++;
    p->pending[p->n_pending - 1].start_ns = now(p);
}

/* From where the calling thread had done its share of the last region to where the last thread had. */
static void record_wait(profile *p) {
    int64_t last_ns = p->lanes[0].leave_ns;
    for (int t = 1; t < p->team; t++) {
        last_ns = p->lanes[t].leave_ns > last_ns ? p->lanes[t].leave_ns : last_ns;
    }
    if (last_ns > p->lanes[0].leave_ns) {
        const trace_arg of = {
            .key = "correlation", .kind = TRACE_ARG_INT, .integer = (int64_t)p->pending[p->n_pending - 1].id};
        trace_record_complete(p->recorder, cpu_place, "wait", "waits for other threads", p->lanes[0].leave_ns, last_ns, &of,
                              1);
    }
    p->team = 0;
}

static void kernel_end(void *self) {
    profile *p = self;
    p->pending[p->n_pending - 1].end_ns = now(p);
    record_wait(p);
    if (!p->in_call) {
        record_pending(p);
    }
}

static void enter(void *self, int thread) {
    profile *p = self;
    if (thread >= MAX_LANES) {
        return;
    }
    lane *l = &p->lanes[thread];
    if (thread == 0) {
        record_wait(p);
        p->team = omp_get_num_threads() < MAX_LANES ? omp_get_num_threads() : MAX_LANES;
    } else if (l->recorder == NULL) {
        char name[32];
        snprintf(name, sizeof name, "worker %d", thread);
        l->recorder = trace_writer_recorder(p->writer);
        trace_name_thread(l->recorder, (trace_place){PROFILE_CPU, thread}, name);
    }
    l->enter_ns = now(p);
}

/* Lane 0 has the whole kernel. */
static void leave(void *self, int thread) {
    profile *p = self;
    if (thread >= MAX_LANES || p->n_pending == 0) {
        return;
    }
    lane *l = &p->lanes[thread];
    int64_t end_ns = l->leave_ns = now(p);
    if (thread == 0) {
        return;
    }
    const trace_arg args[] = {
        {.key = "External id", .kind = TRACE_ARG_INT, .integer = (int64_t)p->call_id},
        {.key = "correlation", .kind = TRACE_ARG_INT, .integer = (int64_t)p->pending[p->n_pending - 1].id},
        {.key = "device", .kind = TRACE_ARG_INT, .integer = 0},
        {.key = "stream", .kind = TRACE_ARG_INT, .integer = thread},
    };
    trace_complete(l->recorder, (trace_place){PROFILE_CPU, thread}, "kernel", p->kernel_name, l->enter_ns, end_ns, args,
                   countof(args));
}

/* --- calls ------------------------------------------------------------------------------------------------------------------ */

static void call_begin(void *self) {
    profile *p = self;
    p->call_id = ++p->last_id;
    p->n_kernels = 0;
    p->in_call = true;
    p->call_start_ns = now(p);
}

static void record_call(profile *p, const op_call *call, const outputs *out, int64_t end_ns) {
    call_args a;
    a.n = 0;
    add_int(&a, "External id", (int64_t)p->call_id);
    add_text(&a, "operator", call->op->signature.full);
    if (p->backend != NULL) {
        add_text(&a, "backend", p->backend);
    }
    add_call(&a, call, out);
    trace_record_complete(p->recorder, host_place, "cpu_op", names_of(p, call->op)->call, p->call_start_ns, end_ns, a.args,
                          a.n);
}

static void call_end(void *self, const op_call *call, const outputs *out) {
    profile *p = self;
    int64_t end_ns = now(p);
    if (call == NULL) { /* its kernel's arguments are gone; what the kernel's threads did stays in their lanes */
        p->n_pending = 0;
        p->in_call = false;
        trace_record_complete(p->recorder, host_place, "cpu_op", "failed call", p->call_start_ns, end_ns, NULL, 0);
        return;
    }
    record_call(p, call, out, end_ns);
    record_pending(p);
    p->in_call = false;
    if (end_ns >= p->memory_at_ns) {
        profile_record_memory(p);
    }
}

/* A whole graph's call and, where its plan told of no kernel, the one kernel that it is shown as. */
static void record_graph(profile *p, const graph *g, int64_t end_ns) {
    char name[96];
    call_args a;
    a.n = 0;
    int n = at_most(g->n_inputs, MAX_TENSORS), n_out = at_most(g->n_outputs, MAX_TENSORS);
    for (int i = 0; i < n; i++) {
        describe(&a, i, g->inputs[i].value);
    }
    for (int i = 0; i < n_out; i++) {
        describe(&a, n + i, g->outputs[i]);
    }
    op_cost cost;
    graph_cost(g, &cost);
    add_int(&a, "External id", (int64_t)p->call_id);
    add_text(&a, "graph", g->name);
    if (p->backend != NULL) {
        add_text(&a, "backend", p->backend);
    }
    add_shapes(&a, "Input Dims", "Input type", 0, n);
    add_shapes(&a, "Output Dims", "Output type", n, n_out);
    add_real(&a, "flops", cost.flops);
    add_real(&a, "bytes", cost.bytes);
    snprintf(name, sizeof name, "graph::%s", g->name);
    trace_record_complete(p->recorder, host_place, "cpu_op", name, p->call_start_ns, end_ns, a.args, a.n);
    if (p->n_kernels == 0) {
        const trace_arg of[] = {
            {.key = "External id", .kind = TRACE_ARG_INT, .integer = (int64_t)p->call_id},
            {.key = "correlation", .kind = TRACE_ARG_INT, .integer = (int64_t)++p->last_id},
            {.key = "device", .kind = TRACE_ARG_INT, .integer = 0},
            {.key = "stream", .kind = TRACE_ARG_INT, .integer = 0},
        };
        snprintf(name, sizeof name, "cpu::graph::%s", g->name);
        trace_record_complete(p->recorder, cpu_place, "kernel", name, p->call_start_ns, end_ns, of, countof(of));
        trace_record_flow(p->recorder, host_place, true, p->last_id, p->call_start_ns);
        trace_record_flow(p->recorder, cpu_place, false, p->last_id, p->call_start_ns);
    }
}

static void record_single(profile *p, const op_call *call, const outputs *out, int64_t end_ns) {
    if (p->n_kernels == 0 && !call->op->row->is_view) { /* a plan that tells of none */
        p->pending[p->n_pending++] = (kernel_event){
            .call = call, .out = out, .id = ++p->last_id, .start_ns = p->call_start_ns, .end_ns = end_ns};
    }
    record_call(p, call, out, end_ns);
}

status profile_run(profile *p, plan *ready, const graph *g, error *err) {
    if (p == NULL) {
        return ready->run(ready, err);
    }
    const observer *before = observer_swap(&p->watch);
    call_begin(p);
    status result = ready->run(ready, err);
    int64_t end_ns = now(p);
    observer_swap(before);
    if (g->name != NULL) {
        record_graph(p, g, end_ns);
    } else {
        record_single(p, &g->nodes[0].call, g->nodes[0].out, end_ns);
    }
    record_pending(p);
    p->in_call = false;
    if (end_ns >= p->memory_at_ns) {
        profile_record_memory(p);
    }
    return result;
}

/* --- everything else ------------------------------------------------------------------------------------------------------- */

int64_t profile_record_now(const profile *p) {
    return now(p);
}

void profile_record_span(profile *p, const char *category, const char *name, int64_t start_ns, const trace_arg *args,
                         size_t n_args) {
    trace_record_complete(p->recorder, host_place, category, name, start_ns, now(p), args, n_args);
}

void profile_record_copy(profile *p, const char *name, int64_t start_ns, double size_bytes) {
    const trace_arg args[] = {{.key = "bytes", .kind = TRACE_ARG_REAL, .real = size_bytes},
                              {.key = "device", .kind = TRACE_ARG_INT, .integer = 0},
                              {.key = "stream", .kind = TRACE_ARG_INT, .integer = 0}};
    trace_record_complete(p->recorder, cpu_place, "gpu_memcpy", name, start_ns, now(p), args, countof(args));
}

/* The second number of statm counts resident pages. */
void profile_record_memory(profile *p) {
    char buffer[128];
    long long size_pages = 0, resident_pages = 0;
    int64_t at_ns = now(p);
    p->memory_at_ns = at_ns + MEMORY_EVERY_NS;
    ssize_t n = p->statm >= 0 ? pread(p->statm, buffer, sizeof buffer - 1, 0) : -1;
    if (n <= 0) {
        return;
    }
    buffer[n] = '\0';
    if (sscanf(buffer, "%lld %lld", &size_pages, &resident_pages) == 2) {
        const trace_arg value = {
            .key = "resident_bytes", .kind = TRACE_ARG_INT, .integer = resident_pages * (int64_t)sysconf(_SC_PAGESIZE)};
        trace_record_counter(p->recorder, PROFILE_HOST, "memory", at_ns, &value, 1);
    }
}

trace_writer *profile_writer(const profile *p) {
    return p->writer;
}

const observer *profile_observer(profile *p) {
    return p != NULL ? &p->watch : NULL;
}

void profile_set_backend(profile *p, const char *name) {
    if (p != NULL) {
        p->backend = name;
    }
}

static void name_places(profile *p) {
    trace_record_process(p->recorder, PROFILE_HOST, "assay", "host");
    trace_record_thread(p->recorder, host_place, "calls");
    trace_record_process(p->recorder, PROFILE_CPU, "CPU", "CPU 0");
    trace_record_thread(p->recorder, cpu_place, "worker 0");
}

status profile_new(trace_writer *writer, int64_t (*now_ns)(void *clock), void *clock, profile **out, error *err) {
    profile *p = NULL;
    if (posix_memalign((void **)&p, alignof(profile), sizeof *p) != 0) {
        return fail(err, ASSAY_OUT_OF_MEMORY, "no memory for a profile");
    }
    memset(p, 0, sizeof *p);
    p->writer = writer;
    p->now_ns = now_ns;
    p->clock = clock;
    p->recorder = trace_writer_recorder(writer);
    if (p->recorder == NULL) {
        free(p);
        return fail(err, ASSAY_OUT_OF_MEMORY, "no memory for a profile");
    }
    p->watch = (observer){.call_begin = call_begin,
                          .call_end = call_end,
                          .kernel_begin = kernel_begin,
                          .kernel_end = kernel_end,
                          .enter = enter,
                          .leave = leave,
                          .self = p};
    p->statm = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
    name_places(p);
    profile_record_memory(p);
    *out = p;
    return ASSAY_OK;
}

void profile_free(profile *p) {
    if (p == NULL) {
        return;
    }
    if (p->statm >= 0) {
        close(p->statm);
    }
    arena_clear(&p->memory);
    free(p->names);
    free(p);
}
