/* SPDX-License-Identifier: Apache-2.0 */
/* Functions that a block of lanes is handed to as a whole. */
#ifndef ENGINE_COMPILE_EMIT_BLOCK_FUNCTIONS_H
#define ENGINE_COMPILE_EMIT_BLOCK_FUNCTIONS_H

#include "engine/compile/emit/lane_loops.h"

/* Lines in which the vector variable is the block's first. */
typedef struct block_scope {
    size_t from;
    definition first;
} block_scope;

void emit_open_scope(emitter *m, const char *from, block_scope *s);
/* Without a line in it, it goes again. */
void emit_close_scope(emitter *m, const block_scope *s);
/* A function of a block, of what is read, of others, or of what the lanes compute first, in place. */
void emit_block_function(emitter *m, int i, const lane_range *range);
/* How many lanes the function that expression i is takes in one go, of a block of a few lines; 0: any, or it is none. */
int emit_block_function_lanes(const emitter *m, int i);
/* What a function takes and others read as well. */
void emit_shared_operand(emitter *m, int i, const lane_range *range);
/* A block of what is summed up: its running sums, as floats or as halves. */
void emit_scanned_block(emitter *m, int i);

#endif
