/* SPDX-License-Identifier: Apache-2.0 */
/* What is so of the kernel at hand, as far as it is written: questions that write nothing. */
#ifndef ENGINE_COMPILE_EMIT_FACTS_H
#define ENGINE_COMPILE_EMIT_FACTS_H

#include "engine/compile/emit/emitter.h"

/* --- expressions ------------------------------------------------------------------------------------------------------ */

/* Whether it belongs to a whole row: no reduced variable decides it. */
bool emit_is_row(const emitter *m, const expr *e);
/* Whether the phase at hand computes expression i, rather than read it back. */
bool emit_is_made(const emitter *m, int i);
/* Whether expression i is a function with a quick form, which is written while m->quick holds. */
bool emit_has_quick(const emitter *m, int i);
/* Whether expression i is what the largest of its kind was taken off: at most 0, or NaN. Where a number stands for the largest that
   others may be above (guess.c), rows with such by far are done again. */
bool emit_is_below_0(const emitter *m, int i);
/* Whether expression i is one of e's operands. */
bool emit_is_operand(const expr *e, int i);
/* Whether expression i holds an f32 to a number that is not below 0, and nobody sees what it makes of NaN: all that it comes to is multiplied
   by what it was made of, by adding numbers to that (a hard swish). */
bool emit_is_bound_of_factor(const emitter *m, int i);
/* The type whose digits are all that comes of expression i: f16 or bf16 where it is only cast to that, itself, in a product or
   quotient, which keep its error what it is in proportion, or as a choice; else f32. */
dtype emit_digits_of(const emitter *m, int i);
/* A function of which a block of lanes is cheaper than each. */
bool emit_is_block_function(const emitter *m, int i);
/* Whether a bound is one of a factor of the vector variable and a number, and nothing else. */
bool emit_goes_with_lanes(const emitter *m, const view_bound *b);
/* The vector variable, or what it lacks to something, beside what is the same for all its lanes: one side of a diagonal is within. */
bool emit_is_diagonal(const emitter *m, const view_bound *b);
/* Whether expression i is a condition that holds for all lanes of a loop over those inside, which is being written. */
bool emit_is_certain(const emitter *m, int i);

/* --- memory ----------------------------------------------------------------------------------------------------------- */

/* Whether neighbours along the vector are neighbours in memory; whether an expression reads such, whatever they are. */
bool emit_is_dense(const emitter *m, index_sum at);
bool emit_is_dense_load(const emitter *m, const expr *e);
/* Whether the kernel reads the memory of a buffer that it writes: an element is in the cache already then. */
bool emit_reads_memory_of(const emitter *m, int buffer);
/* Whether an element of a phase may be computed twice: it is stored, and nothing that is stored is read. */
bool emit_may_repeat(const emitter *m, int phase);
/* Whether a running sum of f32 is stored as halves. */
bool emit_scan_narrows(const root *r);
/* Whether running sums down rows of lanes can stay in registers over a group of rows (held.c), where a store of 64 bytes takes long. */
bool emit_scans_held(const emitter *m);
/* Whether a root goes past the caches; whether any does; whether a phase's loops do nothing but store, so. */
bool emit_scans_past(const emitter *m, const root *r);
bool emit_is_streamed(const emitter *m, const root *r);
bool emit_streams_any(const emitter *m);
bool emit_streams(const emitter *m, int phase);

/* --- roots and phases ------------------------------------------------------------------------------------------------- */

/* Whether a root belongs into the loops of its phase, else it is a row's; whether any of a phase's does. */
bool emit_in_loops(const emitter *m, const root *r);
bool emit_has_loops(const emitter *m, int phase);
/* Whether lanes go along a running sum, which is all that the kernel computes: in order, and a block is summed up as a whole. */
bool emit_scans_along(const emitter *m);
/* Elements that one task's reduced loops visit. */
int64_t emit_visited(const emitter *m);
/* What is saved of an expression has room for so many elements; those of the innermost loop alone, where rows are taken in groups. The
   last group has room for all of its rows. */
int64_t emit_saved_elems(const emitter *m);
int64_t emit_group_elems(const emitter *m);
/* How many steps behind the first phase this one is, of tasks side by side. */
int emit_flow_lag(const emitter *m, int phase);
/* Whether tasks go through this phase side by side with others. */
bool emit_is_side_by_side(const emitter *m, int phase);

/* --- blocks of lanes -------------------------------------------------------------------------------------------------- */

/* Lanes of a block: a task's, where those are but a line or two of what is stored; a line of each task in a group. */
int emit_block_lanes(const emitter *m);
/* Where in a block's arrays the lane at hand stands. */
const char *emit_block_lane(const emitter *m);
/* Whether the root's element is a half that the block at hand is narrowed to as a whole: then it is its source that is staged. */
bool emit_is_narrowed(const emitter *m, int root);
/* Whether what a root stores makes whole lines across blocks: its rows begin anywhere within one. */
bool emit_is_joined(const emitter *m, int root);

#endif
