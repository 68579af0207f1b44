/* SPDX-License-Identifier: Apache-2.0 */
/* Where what rows of lanes are added up in lies on the stack. */
#ifndef ENGINE_COMPILE_EMIT_LANE_ARRAYS_H
#define ENGINE_COMPILE_EMIT_LANE_ARRAYS_H

#include "engine/compile/emit/writing.h"

/* An array of the kernel's lanes of that type, as the words of the language call it: `start`, " = {0}" or "", is what it holds. Long ones are
   apart from each other, and from inputs, within a page. */
void emit_lane_array(emitter *m, const char *type, const char *name, const char *start);

#endif
