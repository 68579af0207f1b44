/* SPDX-License-Identifier: Apache-2.0 */
/* What is measured at one point: a recorded call or a graph, from text to a graph with memory and values. */
#ifndef LAB_EXPERIMENT_WORKLOAD_H
#define LAB_EXPERIMENT_WORKLOAD_H

#include "engine/graph/graph.h"
#include "engine/literal/bind.h"
#include "lab/experiment/inputs.h"
#include "lab/experiment/pristine.h"
#include "lab/measure/machine_facts.h"

/* Zeroed is empty. The graph of a recorded call has no name. */
/* What tensors may take, and who says so, for the message. */
typedef struct memory_limit {
    double bytes;
    const char *from;
} memory_limit;

/* As much as is free but for a fifth: of this machine's memory, or of what the process's own limits (RLIMIT_AS, RLIMIT_DATA) leave. */
memory_limit memory_limit_of(const machine_facts *facts);
memory_limit memory_limit_of_machine(void);

typedef struct workload {
    graph g; /* from workload_read on for graphs, from workload_fill on for calls */
    bool is_graph;
    op_cost cost;  /* of workload_fill */
    pristine kept; /* likewise: what a run writes among the inputs */
    bound_call bound; /* of a call */
    outputs inferred; /* likewise */
    int32_t line, column; /* likewise: where its arguments begin */
} workload;

/* Text to shapes: a graph is read, the call of o is bound. No memory yet. Errors as of graph_read and bind_call, with line and
   column. On failure there is nothing to clear. */
status workload_read(arena *memory, const op_table *table, const op *o, const input *in, const bind_options *options,
                     workload *w, error *err);

/* Whether workload_fill would find the shapes right and enough memory; takes none. TOO_LARGE, or as of op_infer, with line and column. A shape that
   depends on values is not known yet: what it needs is taken for a multiple of the inputs. */
status workload_check(workload *w, int n_plans, bool checks, memory_limit most, error *err);

/* Gives the inputs memory and valid values, and the graph its shapes. TOO_LARGE beyond `most`, before anything is taken;
   n_plans is how many backends make outputs of their own, `checks` whether a reference runs besides. */
status workload_fill(arena *memory, workload *w, uint64_t seed, int n_plans, bool checks, memory_limit most, error *err);

/* Fills the inputs anew: with the seed that workload_fill had, exactly as it did, else with other valid values. *same_form: the outputs'
   shapes, which with some operators depend on values, are as before. INTERNAL where a row cannot fill its inputs. */
status workload_refill(workload *w, uint64_t seed, bool *same_form, error *err);

void workload_clear(workload *w);

#endif
