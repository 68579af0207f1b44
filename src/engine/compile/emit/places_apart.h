/* SPDX-License-Identifier: Apache-2.0 */
/* Places that data say, in two parts: the one that differs from lane to lane, and where all lanes are alike. */
#ifndef ENGINE_COMPILE_EMIT_PLACES_APART_H
#define ENGINE_COMPILE_EMIT_PLACES_APART_H

#include "engine/compile/emit/emitter.h"

/* How a load's places were found, in emitter.looked: as they are, 64 bits; from where all lanes are alike, in 32 bits; and what lies there as
   well. */
enum { LOOKED_FAR = 1, LOOKED_NEAR, LOOKED_GATHERED };

/* Terms of `a` that differ from lane to lane, or are read from data; or all the others, and the constant. They live as long as the program. */
index_sum emit_part_of(emitter *m, index_sum a, bool by_lanes);

#endif
