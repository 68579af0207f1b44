/* SPDX-License-Identifier: Apache-2.0 */
/* Lanes that look beside themselves. */
#ifndef ENGINE_COMPILE_EMIT_INSIDE_H
#define ENGINE_COMPILE_EMIT_INSIDE_H

#include "engine/compile/emit/lane_loops.h"

/* Where most lanes stay inside of what they look at: those in a loop without their conditions, the others beside it. Answers
   false, and writes nothing, where that is not so. */
bool emit_inside(emitter *m, int phase, const lane_range *range);

#endif
