/* SPDX-License-Identifier: Apache-2.0 */
/* A change of a kernel's variables, and its loops' tiles, between the parts of arrange_loops (passes.h). */
#ifndef ENGINE_COMPILE_VARIABLES_H
#define ENGINE_COMPILE_VARIABLES_H

#include "engine/compile/passes.h"

/* Writes by[v] for variable v, of all n, wherever the kernel has it. Sets c->failed where memory is out. */
void replace_variables(compiler *c, kernel *k, int n, const index_sum *by);
/* The sets of variables that expressions and roots depend on: to[v] is the set of new ones that variable v has become. */
void rename_variable_sets(kernel *k, int n, const uint64_t *to);
/* Elements of all loops. */
double turns_of_all(const kernel *k);
/* Cuts what runs across the lanes in memory into tiles. */
void tile_loops(compiler *c, kernel *k, loop_choice choice);

#endif
