/* SPDX-License-Identifier: Apache-2.0 */
/* Between the passes that share work out to kernels. */
#ifndef ENGINE_COMPILE_SCHEDULE_H
#define ENGINE_COMPILE_SCHEDULE_H

#include "engine/compile/passes.h"

/* Of a matrix product: what is multiplied, and how many elements of the result each of its elements goes into. */
typedef struct product_factor {
    val value;
    int64_t uses;
} product_factor;

/* Whether v sums products of what only its rows and what only its columns decide: its kernel multiplies in blocks. */
bool product_factors(const compiler *c, val v, product_factor factors[2]);
/* The step that computes v into `to`, a new one or one that it joins; -1 when memory is out. */
int schedule_value(compiler *c, val v, const place *to);
/* A new step, after all that there are. */
int schedule_last(compiler *c, val v, const place *to);
/* The step of the call that v is an output of. */
int schedule_call(compiler *c, val v);

#endif
