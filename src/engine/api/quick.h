/* SPDX-License-Identifier: Apache-2.0 */
/* The short way of a small call: an operator's last call is kept ready, and the next one of the same forms only puts its
   own memory in. What a form is: the kinds of values, tensors' types, sizes and strides, and what numbers say. */
#ifndef ENGINE_API_QUICK_H
#define ENGINE_API_QUICK_H

#include "assay/assay.h"
#include "engine/kernels/kernel.h"

struct assay_tensor {
    tensor t;
    bool is_in_storage; /* this struct lies in its storage's allocation and goes with it */
};

typedef struct quick_call quick_call;

/* The calls kept by one session, by operator; grown at need. */
typedef struct quick_calls {
    quick_call **by_op; /* n_ops of them, NULL where nothing is kept */
    int n_ops;
} quick_calls;

/* OUT_OF_MEMORY. */
status quick_init(quick_calls *q, int n_ops, error *err);
void quick_clear(quick_calls *q);

/* Runs the call if one of its forms is kept. False: it is not, and nothing has happened. Else *result is the call's, and on
   success *out is made. */
bool quick_run(const quick_calls *q, const op *o, const assay_value *values, int n_values, assay_tensor **out,
               status *result, error *err);

/* Keeps a call that has just run by kernel, if it is one that can be run again so: one small output of its own, no lists or
   texts among the arguments, and a plan that can be pointed at other memory. Without memory to keep it nothing is kept. */
void quick_keep(quick_calls *q, const op_call *call, const kernel_row *kernel, const assay_value *values, int n_values,
                const outputs *out);

#endif
