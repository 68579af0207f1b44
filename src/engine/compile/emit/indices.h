/* SPDX-License-Identifier: Apache-2.0 */
/* Indices that are read from data, of a range of lanes. */
#ifndef ENGINE_COMPILE_EMIT_INDICES_H
#define ENGINE_COMPILE_EMIT_INDICES_H

#include "engine/compile/emit/lane_loops.h"

/* Looks among what is wanted for loads whose places lanes had better find beforehand, opens a block and writes the loop that does, of the same
   lanes; the loads look there until emit_end_indices, which closes the block. What is wanted has to be asked for anew. false: there are
   none, and no block; `any`: the answer. */
bool emit_begin_indices(emitter *m, const lane_range *range);
void emit_end_indices(emitter *m, bool any);
/* Before all tasks: checks those that go with lanes alone, where these are looked at often. */
void emit_index_tables(emitter *m);

#endif
