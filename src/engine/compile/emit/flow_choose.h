/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a kernel's tasks go on side by side. */
#ifndef ENGINE_COMPILE_EMIT_FLOW_CHOOSE_H
#define ENGINE_COMPILE_EMIT_FLOW_CHOOSE_H

#include "engine/compile/emit/emitter.h"

/* Decides whether tasks go on side by side, and what is saved for that. */
void emit_choose_flow(emitter *m);

#endif
