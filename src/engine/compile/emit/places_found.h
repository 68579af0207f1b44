/* SPDX-License-Identifier: Apache-2.0 */
/* What reductions to the place of an extreme write. */
#ifndef ENGINE_COMPILE_EMIT_PLACES_FOUND_H
#define ENGINE_COMPILE_EMIT_PLACES_FOUND_H

#include "engine/compile/emit/emitter.h"

/* Accumulator a takes in x, and `at` its place p: the first of equals, and the first NaN before all numbers. in_order: places ascend.
   has_keys: a and x are keys (place_keys.h). */
void emit_take_place(emitter *m, const root *r, bool in_order, bool has_keys, const char *a, const char *at, const char *x, const char *p);
/* What lanes of root i found, and where, to lane 0. */
void emit_places_together(emitter *m, int i);

#endif
