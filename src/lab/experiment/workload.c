/* SPDX-License-Identifier: Apache-2.0 */
/* The two kinds of workload behind one face. */
#include "lab/experiment/workload.h"

#include "base/text.h"
#include "engine/graph/graph_text.h"
#include "lab/experiment/verify.h"
#include "lab/measure/machine.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

status workload_read(arena *memory, const op_table *table, const op *o, const input *in, const bind_options *options,
                     workload *w, error *err) {
    workload made = {.is_graph = in->graph != NULL};
    outputs_init(&made.inferred);
    if (made.is_graph) {
        TRY(graph_read(memory, table, in->graph, strlen(in->graph), options, &made.g, err));
    } else {
        TRY(bind_call(memory, o, in->args, in->kwargs, options, &made.bound, err));
        made.line = in->args->line;
        made.column = in->args->column;
    }
    *w = made;
    outputs_init(&w->inferred); /* its list lies in itself */
    return ASSAY_OK;
}

static double written_bytes(const op_call *call) {
    double sum = 0;
    for (int i = 0; i < call->op->signature.n_params; i++) {
        const arg *a = &call->args[i];
        if (a->kind == ARG_TENSOR && op_writes(call->op, i)) {
            sum += (double)tensor_span(a->tensor) * (double)dtype_size(a->tensor->dtype);
        }
    }
    return sum;
}

/* Work space of a backend (reordered copies of inputs and outputs) counts as one more set of both. */
static double call_bytes(const workload *w, int n_plans, bool checks) {
    double outputs_bytes = 0;
    for (int i = 0; i < w->inferred.n; i++) {
        const tensor *t = &w->inferred.items[i];
        outputs_bytes += t->storage == NULL ? (double)tensor_span(t) * (double)dtype_size(t->dtype) : 0;
    }
    double check = checks ? expectation_bytes(&w->bound.call, &w->inferred) : 0;
    return 2 * w->bound.input_bytes + written_bytes(&w->bound.call) + outputs_bytes * ((double)n_plans + 1) + check;
}

static double graph_bytes(const workload *w, int n_plans, bool checks) {
    double kept = 0;
    for (int i = 0; i < w->g.n_nodes; i++) {
        kept += written_bytes(&w->g.nodes[i].call);
    }
    return 2 * graph_input_bytes(&w->g) + kept + graph_value_bytes(&w->g) * ((double)n_plans + 1) +
           (checks ? exact_bytes(&w->g) : 0);
}

/* What the process's limits leave of addresses and of data memory; infinity where there are none. */
static double bytes_within_limits(void) {
    enum { SIZE, DATA = 5, N_FIELDS };
    static const struct {
        int resource, field; /* of /proc/self/statm, in pages */
    } limits[] = {{RLIMIT_AS, SIZE}, {RLIMIT_DATA, DATA}};
    int64_t pages[N_FIELDS] = {0};
    double least = INFINITY;
    FILE *f = fopen("/proc/self/statm", "r");
    if (f != NULL) {
        int i = 0;
        while (i < N_FIELDS && fscanf(f, "%" SCNd64, &pages[i]) == 1) {
            i++;
        }
        fclose(f);
    }
    for (size_t i = 0; i < countof(limits); i++) {
        struct rlimit most;
        if (getrlimit(limits[i].resource, &most) == 0 && most.rlim_cur != RLIM_INFINITY) {
            least = fmin(least, fmax((double)most.rlim_cur - (double)pages[limits[i].field] * (double)sysconf(_SC_PAGESIZE), 1));
        }
    }
    return least;
}

memory_limit memory_limit_of(const machine_facts *facts) {
    const double machine = machine_most_tensor_bytes(facts), own = 0.8 * bytes_within_limits();
    return own < machine ? (memory_limit){own, "what this process's limits leave"} : (memory_limit){machine, "what this machine has free"};
}

memory_limit memory_limit_of_machine(void) {
    arena memory = {0};
    machine_facts facts = {0};
    bool known = machine_read(&memory, "", &facts, NULL) == ASSAY_OK;
    memory_limit most = memory_limit_of(known ? &facts : &(machine_facts){0});
    arena_clear(&memory);
    return most;
}

static status check_bytes(double needed, memory_limit most, error *err) {
    char has[32], wants[32];
    if (needed <= most.bytes) {
        return ASSAY_OK;
    }
    return fail(err, ASSAY_TOO_LARGE, "needs about %.0f bytes (%s) of memory, the limit is %s (%s)", needed,
                text_of_bytes(wants, needed), text_of_bytes(has, most.bytes), most.from);
}

/* Shapes that do not go together are the whole call's fault, and stand where it begins. */
static status infer(workload *w, error *err) {
    status result = op_infer(&w->bound.call, &w->inferred, err);
    if (result != ASSAY_OK && err != NULL && err->line == 0) {
        err->line = w->line;
        err->column = w->column;
    }
    return result;
}

/* Shapes first, memory after: an input that does not fit is known before a byte is taken. Where the shape depends on values,
   inputs must come first. */
status workload_check(workload *w, int n_plans, bool checks, memory_limit most, error *err) {
    if (w->is_graph) {
        return check_bytes(graph_bytes(w, n_plans, checks), most, err);
    }
    status inferred = infer(w, err);
    if (inferred != ASSAY_OK && inferred != ASSAY_UNSUPPORTED) {
        return inferred;
    }
    return check_bytes(inferred == ASSAY_UNSUPPORTED ? 4 * w->bound.input_bytes : call_bytes(w, n_plans, checks), most, err);
}

static status fill_call(arena *memory, workload *w, uint64_t seed, error *err) {
    op_call *call = &w->bound.call;
    TRY(bound_allocate(&w->bound, &device_cpu, err));
    call->seed = seed;
    TRY(op_fill_inputs(call, seed, err));
    outputs_clear(&w->inferred); /* once more with memory behind it: views now have something to share */
    TRY(infer(w, err));
    op_cost_of(call, &w->inferred, &w->cost);
    return graph_of_call(memory, call, &w->inferred, &w->g, err);
}

static status fill_graph(workload *w, uint64_t seed, error *err) {
    TRY(graph_allocate(&w->g, &device_cpu, err));
    graph_seed(&w->g, seed);
    graph_cost(&w->g, &w->cost);
    return graph_fill(&w->g, seed, err);
}

status workload_fill(arena *memory, workload *w, uint64_t seed, int n_plans, bool checks, memory_limit most, error *err) {
    TRY(workload_check(w, n_plans, checks, most, err));
    TRY(w->is_graph ? fill_graph(w, seed, err) : fill_call(memory, w, seed, err));
    return pristine_keep(memory, &w->g, &w->kept, err);
}

static bool has_same_form(const outputs *a, const outputs *b) {
    bool same = a->n == b->n;
    for (int i = 0; same && i < a->n; i++) {
        same = a->items[i].dtype == b->items[i].dtype && tensor_same_sizes(&a->items[i], &b->items[i]) &&
               (a->items[i].sparse == NULL) == (b->items[i].sparse == NULL);
    }
    return same;
}

status workload_refill(workload *w, uint64_t seed, bool *same_form, error *err) {
    *same_form = true; /* a graph's shapes are known before its values */
    if (w->is_graph) {
        return graph_fill(&w->g, seed, err);
    }
    outputs now;
    outputs_init(&now);
    TRY(op_fill_inputs(&w->bound.call, seed, err));
    *same_form = op_infer(&w->bound.call, &now, NULL) == ASSAY_OK && has_same_form(&now, &w->inferred);
    outputs_clear(&now);
    return ASSAY_OK;
}

void workload_clear(workload *w) {
    pristine_clear(&w->kept);
    if (w->is_graph) {
        graph_clear(&w->g);
    }
    outputs_clear(&w->inferred);
    bound_clear(&w->bound);
    *w = (workload){0};
    outputs_init(&w->inferred);
}
