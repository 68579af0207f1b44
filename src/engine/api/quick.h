/* SPDX-License-Identifier: Apache-2.0 */
/* The short way of a small call: an operator's last few calls are kept ready, and the next one of the same forms as one of
   them only puts its own memory in. What a form is: the kinds of values, tensors' types, sizes and strides, and what numbers
   say. */
#ifndef ENGINE_API_QUICK_H
#define ENGINE_API_QUICK_H

#include "assay/assay.h"
#include "engine/kernels/kernel.h"

struct assay_tensor {
    tensor t;              /* its layout never changes */
    uint64_t form;         /* quick_form of it */
    bool is_in_storage;    /* this struct lies in its storage's allocation and goes with it */
};

/* A tensor's type, sizes and strides in one number, so that two of them compare at once: whole for contiguous tensors of at
   most 4 dimensions of 1 to 16383 elements, and 0 for all others. */
uint64_t quick_form(const tensor *t);

typedef struct quick_call quick_call;

/* Calls of one operator, by what their values hash to: each lies in its own place or in the next free ones behind it. */
enum { QUICK_PLACES = 16 };
typedef struct quick_table {
    uint64_t hash[QUICK_PLACES];
    quick_call *call[QUICK_PLACES]; /* NULL: free */
} quick_table;

/* The calls kept by one session, by operator. */
typedef struct quick_calls {
    quick_table **by_op; /* n_ops of them, NULL where nothing is kept */
    int n_ops;
    uint32_t n_missed; /* calls that could have been kept */
} quick_calls;

/* OUT_OF_MEMORY. */
status quick_init(quick_calls *q, int n_ops, error *err);
void quick_clear(quick_calls *q);

/* The kept call of these values' forms, its tensors pointed at their memory; NULL when there is none. */
quick_call *quick_find(const quick_calls *q, const op *o, const assay_value *values, int n_values);

/* Runs a call just found, on the calling thread alone: more would cost more than so small an output. On success *out is made; errors
   are the kernel's, or OUT_OF_MEMORY. */
status quick_run(quick_call *c, assay_tensor **out, error *err);

/* Keeps a call that has just run by kernel, if it is one that can be run again so: one small output of its own, no lists or
   texts among the arguments, and a plan that can be pointed at other memory. An operator whose places are taken has one
   replaced in so many calls only: keeping costs as much as five calls, and a program whose shapes change each time must not
   pay that each time. Without memory to keep it nothing is kept. */
void quick_keep(quick_calls *q, const op_call *call, const kernel_row *kernel, const assay_value *values, int n_values,
                const outputs *out);

#endif
