/* SPDX-License-Identifier: Apache-2.0 */
/* The innermost loops as text: over lanes of the vector variable. */
#ifndef ENGINE_COMPILE_EMIT_LANE_LOOPS_H
#define ENGINE_COMPILE_EMIT_LANE_LOOPS_H

#include "engine/compile/emit/writing.h"

/* Lanes l from `first` to before `last`, as words, or `block` of them from `first` on; the vector variable is `from` + l. */
typedef struct lane_range {
    const char *first, *last, *from;
    int block;
    bool singly; /* they are so few that vector code is not worth its beginning and its end */
} lane_range;

/* The loop over lanes, and what it gives names to. */
typedef struct lane_loop {
    definition lane, variable;
} lane_loop;

/* The loop of a variable that is neither a task's nor the vector's, in pieces where it is cut (long_sums.c); the ends of the first n of the
   kernel's, whoever opened them. */
void emit_open_loop(emitter *m, int v);
void emit_close_loops(emitter *m, int n);
/* Begins it, and ends it: what has a name behind it is what `named` says. */
void emit_open_lanes(emitter *m, const lane_range *range, lane_loop *l);
void emit_close_lanes(emitter *m, const lane_range *range, const lane_loop *l, const bool *named);
/* The innermost statements of a phase, inside the loop over lanes or without one. `before`: only what does not depend on the
   vector variable. */
void emit_body(emitter *m, int phase, bool before);
/* Lanes of any expression, into an array of that name; or each between these words. */
void emit_lanes_to(emitter *m, int i, const char *array, const lane_range *range);
void emit_lanes_into(emitter *m, int i, const char *before, const char *after, const lane_range *range);
/* Of a block that has fewer lanes: what is left of the array that is named so, of expression or root i, is 0. */
void emit_fill_up(emitter *m, const char *array, int i);

#endif
