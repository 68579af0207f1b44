/* SPDX-License-Identifier: Apache-2.0 */
/* Tasks in flight: a block of lanes of one, and the order in which blocks are taken. */
#ifndef ENGINE_COMPILE_EMIT_FLOW_PIECES_H
#define ENGINE_COMPILE_EMIT_FLOW_PIECES_H

#include "engine/compile/emit/writing.h"

/* A task's part of a step, in a phase. */
typedef struct task_scope {
    size_t from, inside; /* where its text begins, and what is in it */
    int n;
    definition made[KERNEL_MAX_VARIABLES + 3];
} task_scope;

/* Begins such a part, and ends it. */
void emit_open_task(emitter *m, int phase, task_scope *s);
void emit_close_task(emitter *m, task_scope *s);
/* Up to a block of lanes of it from `from` on: n, a number as text, or NULL, a whole block. */
void emit_piece_of(emitter *m, int phase, const char *n, const char *from);
/* The lanes up to the first whole line of what a phase stores; those behind its last whole block, `most` at most. */
void emit_piece_head(emitter *m, int phase);
void emit_piece_rest(emitter *m, int phase, const char *n, const char *from, int64_t most);
/* A whole block in two parts, where its results pass the caches (false: they do not, and nothing is written): all but the stores, then
   these, which so come after what other tasks read. */
bool emit_piece_before(emitter *m, int phase, const char *from);
void emit_piece_behind(emitter *m, int phase, const char *from);
/* The innermost loop's rows in groups, a block of lanes of each in turn: of all phases that are side by side, each of its own task,
   or (>= 0) of one, of the task at hand. */
void emit_groups(emitter *m, int only);
/* The loops of one phase, of the task at hand, where the others go side by side. */
void emit_flow_loops(emitter *m, int phase);

#endif
