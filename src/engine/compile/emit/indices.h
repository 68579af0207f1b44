/* SPDX-License-Identifier: Apache-2.0 */
/* Indices that are read from data, of a range of lanes. */
#ifndef ENGINE_COMPILE_EMIT_INDICES_H
#define ENGINE_COMPILE_EMIT_INDICES_H

#include "engine/compile/emit/lane_loops.h"

/* Looks among what is wanted for indices that lanes had better check beforehand, and writes the loop that does, of the same lanes; their
   loads name what it leaves from then on, until emit_end_indices. What is wanted has to be asked for anew. false: there are none. */
bool emit_begin_indices(emitter *m, const lane_range *range);
void emit_end_indices(emitter *m);
/* Before all tasks: checks those that go with lanes alone, where these are looked at often. */
void emit_index_tables(emitter *m);

#endif
