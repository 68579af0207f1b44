/* SPDX-License-Identifier: Apache-2.0 */
/* Chooses among a plan's kernels by running them. */
#ifndef ENGINE_BACKEND_TUNE_H
#define ENGINE_BACKEND_TUNE_H

#include "engine/backend/compiled_state.h"

/* Tries each step's variants and numbers of threads, then the whole against the same with matrix products of the compiler's
   own instead of the library's, and against the eager backend's kernels, on the plan's own tensors. Keeps what is fastest beyond doubt,
   else eager's kernels, else the untuned program; says so in the plan's note. Inputs have their values again afterwards. The choice is
   kept between runs (engine/compile/cache.h). Errors as of running the plan. */
status tune_plan(compiled_backend *b, compiled_plan *p, error *err);

#endif
