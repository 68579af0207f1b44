/* SPDX-License-Identifier: Apache-2.0 */
/* From a recorded input to a plan of the eager backend. */
#include "eager_call.h"

status eager_call_open(eager_call *c, const op_table *table, backend *eager, const input *in, const char *name,
                       dtype_mode mode, error *err) {
    *c = (eager_call){.plan = NULL};
    outputs_init(&c->out);
    const op *o = op_table_find(table, name);
    if (o == NULL) {
        return fail(err, ASSAY_NOT_FOUND, "no operator is called %s", name);
    }
    TRY(bind_call(&c->memory, o, in->args, in->kwargs, &(bind_options){.dtype = mode}, &c->bound, err));
    TRY(bound_allocate(&c->bound, &device_cpu, err));
    TRY(op_fill_inputs(&c->bound.call, 0, err));
    TRY(op_infer(&c->bound.call, &c->out, err));
    TRY(graph_of_call(&c->memory, &c->bound.call, &c->out, &c->graph, err));
    TRY(pristine_keep(&c->memory, &c->graph, &c->kept, err));
    return eager->prepare(eager, &c->graph, &c->plan, err);
}

void eager_call_close(eager_call *c) {
    if (c->plan != NULL) {
        c->plan->release(c->plan);
    }
    pristine_clear(&c->kept);
    outputs_clear(&c->out);
    bound_clear(&c->bound);
    arena_clear(&c->memory);
}
