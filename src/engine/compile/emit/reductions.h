/* SPDX-License-Identifier: Apache-2.0 */
/* Reductions and stores as text. */
#ifndef ENGINE_COMPILE_EMIT_REDUCTIONS_H
#define ENGINE_COMPILE_EMIT_REDUCTIONS_H

#include "engine/compile/emit/emitter.h"

/* A phase's accumulators, what they begin with, what one element does to them, what they come to, one of them or all but the one
   that is guessed, and where that is written. */
void emit_accumulators(emitter *m, int phase);
/* Of tasks in the order of memory (ordered.c), the first phase's: how many lanes of each wait among those of all tasks, what those begin
   with, what they take in behind a row, and the task's own again, with what waited. */
int emit_ordered_lanes(const emitter *m);
void emit_ordered_starts(emitter *m);
void emit_ordered_folds(emitter *m);
void emit_ordered_accumulators(emitter *m);
const char *emit_accumulator_type(const emitter *m, int i);
void emit_starts(emitter *m, int phase);
void emit_root_result(emitter *m, int i);
void emit_root(emitter *m, int i);
void emit_results(emitter *m, int phase);
/* Stores those that others read. */
void emit_kept_results(emitter *m, int phase);

#endif
