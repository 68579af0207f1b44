/* SPDX-License-Identifier: Apache-2.0 */
/* Lines along one dimension of what an operator reads and answers. */
#include "engine/kernels/cpu/along.h"

#include "engine/kernels/cpu/parallel.h"

status along_plan(kernel_plan *plan, int64_t dim, along **out, error *err) {
    along *a = arena_make(plan->memory, 1, sizeof *a);
    tensor *self = call_tensor(plan->call, 0);
    tensor in = *self, views[2];
    tensor *operands[3] = {&in};
    int d;
    if (a == NULL) {
        return fail(err, ASSAY_OUT_OF_MEMORY, "no memory for a plan");
    }
    TRY(dim_wrap(dim, self->ndim, &d, err));
    for (int i = 0; i < plan->out->n; i++) {
        views[i] = plan->out->items[i];
        operands[1 + i] = &views[i];
    }
    a->in = self->dtype;
    a->out = views[0].dtype;
    a->n = self->ndim > 0 ? self->sizes[d] : 1;
    a->in_stride = self->ndim > 0 ? self->strides[d] * (int64_t)dtype_size(a->in) : 0;
    a->out_stride = self->ndim > 0 ? views[0].strides[d] * (int64_t)dtype_size(a->out) : 0;
    a->place_stride = self->ndim > 0 && plan->out->n == 2 ? views[1].strides[d] * (int64_t)sizeof(int64_t) : 0;
    nest_init(&a->lines, operands, 1 + plan->out->n, nest_all(self->ndim) & ~(1u << d));
    a->threads = parallel_threads((double)tensor_numel(self) * 8);
    a->threads = a->lines.numel < a->threads ? (a->lines.numel > 0 ? (int)a->lines.numel : 1) : a->threads;
    plan->state = a;
    *out = a;
    return ASSAY_OK;
}
