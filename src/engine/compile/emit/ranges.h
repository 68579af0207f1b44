/* SPDX-License-Identifier: Apache-2.0 */
/* Which loop a range of lanes becomes. */
#ifndef ENGINE_COMPILE_EMIT_RANGES_H
#define ENGINE_COMPILE_EMIT_RANGES_H

#include "engine/compile/emit/lane_loops.h"

void emit_range(emitter *m, int phase, const lane_range *range);

#endif
