/* SPDX-License-Identifier: Apache-2.0 */
/* Builds graphs. */
#include "engine/graph/graph.h"

status graph_of_call(arena *memory, const op_call *call, outputs *out, graph *g, error *err) {
    graph made = {.n_nodes = 1, .n_outputs = out->n};
    made.nodes = arena_make(memory, 1, sizeof *made.nodes);
    made.outputs = arena_make(memory, (size_t)out->n, sizeof(tensor *));
    if (made.nodes == NULL || made.outputs == NULL) {
        return fail(err, ASSAY_OUT_OF_MEMORY, "no memory for a graph");
    }
    made.nodes[0] = (graph_node){.call = *call, .out = out};
    for (int i = 0; i < out->n; i++) {
        made.outputs[i] = &out->items[i];
    }
    *g = made;
    return ASSAY_OK;
}
