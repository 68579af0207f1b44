/* SPDX-License-Identifier: Apache-2.0 */
/* Reductions and stores as text. */
#ifndef ENGINE_COMPILE_EMIT_REDUCTIONS_H
#define ENGINE_COMPILE_EMIT_REDUCTIONS_H

#include "engine/compile/emit/emitter.h"

/* A phase's accumulators, what they begin with, what one element does to them, what they come to, one of them or all but the one
   that is guessed, and where that is written. */
void emit_accumulators(emitter *m, int phase);
/* Of tasks in the order of memory (ordered.c): the first phase's where they lie among those of all. */
void emit_ordered_accumulators(emitter *m);
const char *emit_accumulator_type(const emitter *m, int i);
void emit_starts(emitter *m, int phase);
void emit_root_result(emitter *m, int i);
void emit_root(emitter *m, int i);
void emit_results(emitter *m, int phase);

#endif
