/* SPDX-License-Identifier: Apache-2.0 */
/* Lanes that look beside themselves. */
#ifndef ENGINE_COMPILE_EMIT_INSIDE_H
#define ENGINE_COMPILE_EMIT_INSIDE_H

#include "engine/compile/emit/lane_loops.h"

/* Where most lanes stay inside of what they look at: those in a loop without their conditions, the others beside it. Answers
   false, and writes nothing, where that is not so. */
bool emit_inside(emitter *m, int phase, const lane_range *range);
/* Of so many values of the vector variable, the first and the last inside, where the condition (of what is the same for all of them; "": none)
   holds, for what is wanted. only: the expression
   that fails everywhere else; -1: there are several. False: nothing asks. The text is the caller's to clear. */
bool emit_find_inside(emitter *m, int64_t size, int64_t *first, int64_t *last, text *condition, int *only);

#endif
