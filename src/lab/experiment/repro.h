/* SPDX-License-Identifier: Apache-2.0 */
/* The command that measures one point again, as records hold it. */
#ifndef LAB_EXPERIMENT_REPRO_H
#define LAB_EXPERIMENT_REPRO_H

#include "base/arena.h"
#include "lab/experiment/operators.h"

/* The command for the point on backend b and on the baseline, as a shell reads it, with the environment that it needs in front: each of
   them is asked for as it was in this run. Where the inputs came on standard input a comment behind it says so. In the arena; NULL: no memory. */
const char *repro_make(arena *memory, const operators_options *o, const operators_point *p, const operators_backend *backends, size_t b);

/* What --dtype means for an input: another thing for graphs than for recorded calls. */
dtype_mode repro_dtype(const operators_options *o, const input *in);

#endif
