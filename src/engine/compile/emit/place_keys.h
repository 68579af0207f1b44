/* SPDX-License-Identifier: Apache-2.0 */
/* How reductions to the place of an extreme take elements in: questions that write nothing. */
#ifndef ENGINE_COMPILE_EMIT_PLACE_KEYS_H
#define ENGINE_COMPILE_EMIT_PLACE_KEYS_H

#include "engine/compile/emit/emitter.h"

bool emit_is_place(reduction how);
/* Whether an accumulator takes places as they ascend: equals never beat the one that it begins with. */
bool emit_takes_in_order(const emitter *m, const root *r);
/* The type of places, in words. */
const char *emit_place_type(const emitter *m, const root *r);
/* The root of the place of the extreme that root i is the value of; -1: there is none. */
int emit_place_of(const emitter *m, int i);
/* Whether root i's halves are compared as whole numbers of 16 bits, beside places of as many: its keys, of which the largest wins. Of which
   type they are. */
bool emit_is_keyed(const emitter *m, int i);
dtype emit_key_type(const emitter *m, const root *r);
/* The expression that root i takes in: of keys the half itself, or what the block at hand is narrowed from as a whole. */
int emit_taken(const emitter *m, int i);

#endif
