/* SPDX-License-Identifier: Apache-2.0 */
/* Exponentials that do not wait for the largest number. */
#ifndef ENGINE_COMPILE_EMIT_GUESS_H
#define ENGINE_COMPILE_EMIT_GUESS_H

#include "engine/compile/emit/emitter.h"

/* A copy of the kernel at hand, with room for a few expressions more; NULL when memory is out. */
kernel *emit_own_kernel(emitter *m);
/* Looks for a root whose result need only be near, and renumbers the phases of a kernel of the emitter's own. */
void emit_choose_guess(emitter *m);
/* The same of kernels whose tasks are not in flight: not where that result is stored as well. */
void emit_choose_guess_of_row(emitter *m);
/* Marks roots of kernels without such whose NaN shows elsewhere. */
void emit_choose_quiet(emitter *m);
/* Chooses roots that squares of deviations wait for alone. may_store: also where one of them is stored as it is. */
void emit_choose_near_mean(emitter *m, bool may_store);
/* Whether it is one of this phase's. */
bool emit_guesses_in(const emitter *m, int phase);
/* The number that stands for it; what begins the doing again of rows where that is too far off, and what ends it. */
void emit_guess(emitter *m, int phase);
void emit_guess_into(emitter *m, int phase, const char *variable);
void emit_guess_columns(emitter *m, int phase);
void emit_open_redo(emitter *m, int phase);
void emit_close_redo(emitter *m, int phase);
/* The same of a row that is gone over in a loop until its number is near enough. */
void emit_open_guessing(emitter *m);
void emit_close_guessing(emitter *m, int phase);
/* Of tasks in the order of memory (ordered.c): the number that was found for the task at hand. */
void emit_ordered_guess(emitter *m);

#endif
