/* SPDX-License-Identifier: Apache-2.0 */
/* Checks between the compiler's passes. INTERNAL, with the pass and what is wrong. */
#ifndef ENGINE_COMPILE_VERIFY_H
#define ENGINE_COMPILE_VERIFY_H

#include "engine/compile/passes.h"

/* Each value: made of earlier ones, of the sizes and types that its kind asks for; outputs as the graph says. */
status verify_values(const dag *g, const char *pass, error *err);
/* Each step: reads what was written before, within its memory, and stores where it may. Before loops are arranged. */
status verify_steps(compiler *c, const char *pass, error *err);
/* Memory that several buffers lie in: one after the other. */
status verify_memory(compiler *c, int n_chains, const chain *chains, const char *pass, error *err);
/* Each arrangement of a kernel: every variable once. */
status verify_loops(const compiler *c, const char *pass, error *err);

#endif
