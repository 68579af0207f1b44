/* SPDX-License-Identifier: Apache-2.0 */
/* A hand-written kernel: prepared once for a call, then run as often as asked. */
#ifndef ENGINE_KERNELS_KERNEL_H
#define ENGINE_KERNELS_KERNEL_H

#include "engine/schema/op.h"

#include <stdalign.h>

typedef struct kernel_plan kernel_plan;

enum { KERNEL_INLINE_BYTES = 768 };

/* Plain data of whoever prepared it. `call`, its arguments and `out` outlive the plan. */
struct kernel_plan {
    status (*run)(kernel_plan *plan);  /* reads the inputs, writes every element of every output; allocates nothing */
    /* Reads anew which tensors the call's arguments are and where they and the output have their memory; nothing else of
       them has changed. Set by prepare where it can be; NULL: prepare again. */
    void (*rebind)(kernel_plan *plan);
    void (*clear)(kernel_plan *plan);  /* NULL when all there is to release lies in `memory` */
    const op_call *call;
    outputs *out;                      /* with memory; in-place calls: output 0 is argument 0 */
    error *err;                        /* where run says why it failed (an index out of range); may be NULL */
    arena *memory;                     /* work space made in prepare lives here, as long as the plan */
    void *state;                       /* what run needs: in `memory`, or inline_state when it is small */
    alignas(16) char inline_state[KERNEL_INLINE_BYTES]; /* spares small operators an allocation */
};

/* Chooses code and makes work space for these dtypes, shapes and strides. UNSUPPORTED names the dtype or layout that the
   kernel does not serve. The plan's call, out, err and memory are set by the caller; prepare sets the rest. */
typedef status kernel_prepare_fn(kernel_plan *plan, error *err);

/* One hand-written kernel serves an operator and its in-place variant. */
typedef struct kernel_row {
    const char *op; /* the functional row's full name: "add.Tensor", "relu.default" */
    kernel_prepare_fn *prepare;
    const char *note; /* a conversion or library worth telling ("f16 converts to f32 for oneDNN"), or NULL */
} kernel_row;

typedef struct kernel_rows {
    const kernel_row *rows;
    size_t n;
} kernel_rows;

/* The CPU's kernels, joined in kernels/cpu/table.c. kernel_find_cpu answers NULL for an operator without one. */
typedef struct kernel_index kernel_index;
status kernel_index_new(const op_table *table, kernel_index **out, error *err);
void kernel_index_free(kernel_index *index);
const kernel_row *kernel_find_cpu(const kernel_index *index, const op *o);

#endif
