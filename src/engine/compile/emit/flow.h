/* SPDX-License-Identifier: Apache-2.0 */
/* Tasks in flight. */
#ifndef ENGINE_COMPILE_EMIT_FLOW_H
#define ENGINE_COMPILE_EMIT_FLOW_H

#include "engine/compile/emit/emitter.h"

/* The loop over steps, in each of which several tasks go on side by side. */
void emit_flow(emitter *m);

#endif
