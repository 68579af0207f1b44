/* SPDX-License-Identifier: Apache-2.0 */
/* A compiled plan: prepared, its steps run one by one, its kernels exchanged. */
#ifndef ENGINE_BACKEND_COMPILED_PLAN_H
#define ENGINE_BACKEND_COMPILED_PLAN_H

#include "engine/backend/compiled_state.h"

/* A plan of g, not tuned. Errors as of a backend's prepare. */
status compiled_prepare(compiled_backend *b, const graph *g, const compile_options *options, compiled_plan **out, error *err);
/* The eager backend's plan of g, its outputs where b has them. Errors as of a backend's prepare. */
status compiled_prepare_eager(const compiled_backend *b, const graph *g, plan **out, error *err);
/* The plans of n graphs, out[0] to out[n - 1], their kernels in one module, which is much faster to build than n are. b is the
   compiled backend. When one cannot be prepared none is. Nothing is tuned: UNSUPPORTED by a backend that tunes. */
status compiled_prepare_many(backend *b, const graph *const *graphs, int n, build_purpose purpose, plan **out, error *err);

/* One step, with the kernel and the threads that it has now. */
status compiled_run_step(compiled_plan *p, int step, error *err);
/* Gives a step another of its kernels. INTERNAL when the code lacks it. */
status compiled_use_variant(compiled_plan *p, int step, int variant, error *err);

#endif
