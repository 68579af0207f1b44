/* SPDX-License-Identifier: Apache-2.0 */
/* Tasks that all threads go through together, each a part of the rows. */
#ifndef ENGINE_COMPILE_EMIT_TEAM_H
#define ENGINE_COMPILE_EMIT_TEAM_H

#include "engine/compile/emit/emitter.h"

/* Whether threads can take a part of the rows of each task in flight. */
bool emit_may_share(const emitter *m);
/* Which rows are the thread's, of whole groups; `behind`: buffers before those that say it. */
void emit_team(emitter *m, int behind);
/* What a thread's rows come to ("own") becomes what all of the task's do ("r"), which is the same for all threads; `again`: of the same task. */
void emit_team_sums(emitter *m, int phase, bool again);
/* Before and behind what one thread is to store for all, if they share tasks; where nothing is stored between, nothing is left. */
size_t emit_open_once(emitter *m);
void emit_close_once(emitter *m, size_t from);
/* How what a thread's rows come to is called. */
const char *emit_result_name(const emitter *m);

#endif
