/* SPDX-License-Identifier: Apache-2.0 */
/* Sums of squares of deviations that do not wait for the mean. */
#ifndef ENGINE_COMPILE_EMIT_DEVIATIONS_H
#define ENGINE_COMPILE_EMIT_DEVIATIONS_H

#include "engine/compile/emit/emitter.h"

/* A few expressions more (EMIT_MORE_EXPRS at most), and phases counted anew, so that both sums are of one phase: of x less a number near
   the mean, which stands for the first root's result in that phase alone: as a sum, of columns as itself. */
void emit_use_near_mean(kernel *own, const deviation_form *form, bool by_columns);
/* A number near the sum, from the first lanes of x, which `near` holds. */
void emit_near_sum(emitter *m, const char *to);
/* What both sums come to, as `exact` and the root's number, where they are far from the mean. The condition under which they are taken
   once more, about the sum that is known by then, and what comes behind that. */
void emit_open_far(emitter *m, int phase);
void emit_close_far(emitter *m, int phase);
/* The same of a task alone, as a loop around both sums, which goes twice where they are far: its beginning, and what comes behind them. */
void emit_open_nearing(emitter *m);
void emit_close_nearing(emitter *m, int phase);
/* The same where columns are the lanes, whose numbers are made of the first rows: of their sums, least and largest. What both sums come
   to lies where they were taken. */
void emit_near_columns(emitter *m, int phase);
void emit_open_nearing_columns(emitter *m);
void emit_close_nearing_columns(emitter *m, int phase);

#endif
