/* SPDX-License-Identifier: Apache-2.0 */
/* Several places of memory at a time. */
#ifndef ENGINE_COMPILE_EMIT_TOGETHER_H
#define ENGINE_COMPILE_EMIT_TOGETHER_H

#include "engine/compile/emit/emitter.h"

/* Decides whether tasks are taken in groups; the loops over tasks, then. */
void emit_choose_together(emitter *m);
void emit_together(emitter *m);

#endif
