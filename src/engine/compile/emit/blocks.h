/* SPDX-License-Identifier: Apache-2.0 */
/* Lanes in blocks of a few lines of memory. */
#ifndef ENGINE_COMPILE_EMIT_BLOCKS_H
#define ENGINE_COMPILE_EMIT_BLOCKS_H

#include "engine/compile/emit/emitter.h"

/* n lanes (0: as many as n_lanes says), in blocks where that pays. */
void emit_lanes(emitter *m, int phase, int64_t n, const char *from);
/* One block of a phase, which begins with lane `block`; the vector variable is `from` + lane. */
void emit_block_at(emitter *m, int phase, const char *block, const char *from);
/* In two parts: a block whose results lie in rooms that come before it, and are stored when others have read: loads that come after
   stores past the caches wait for them (softmax over rows takes a fifth longer on Zen 4). False: it stores nothing so. */
bool emit_block_rooms(emitter *m, int phase);
void emit_block_later(emitter *m, int phase, const char *from);
void emit_block_stores(emitter *m, int phase, const char *from);
/* The same where rows are gone down in groups: what it reads back is fetched, and the last block may have fewer lanes. */
void emit_group_block(emitter *m, int phase);
/* One of the first rows, of which numbers near the means of columns are made: each lane's sum, least and largest take it in. */
void emit_row_taken(emitter *m, int phase);
/* `head`: a row's lanes up to the first whole line of what is stored. */
void emit_flow_head(emitter *m, int phase);
/* The first root that a phase stores past the caches and whose rows may begin within a line; -1: none. */
int emit_unaligned_root(emitter *m, int phase);
/* Whether the rows that a phase stores begin with whole lines, as far as they go past the caches. */
bool emit_is_aligned(emitter *m, int phase);
/* Lanes of whole lines of all that is read and stored. */
int emit_whole_lines(const emitter *m);

#endif
