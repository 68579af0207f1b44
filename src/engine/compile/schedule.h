/* SPDX-License-Identifier: Apache-2.0 */
/* Between the passes that share work out to kernels. */
#ifndef ENGINE_COMPILE_SCHEDULE_H
#define ENGINE_COMPILE_SCHEDULE_H

#include "engine/compile/passes.h"

/* The step that computes v into `to`, a new one or one that it joins; -1 when memory is out. */
int schedule_value(compiler *c, val v, const place *to);
/* A new step, after all that there are. */
int schedule_last(compiler *c, val v, const place *to);
/* The step of the call that v is an output of. */
int schedule_call(compiler *c, val v);

#endif
