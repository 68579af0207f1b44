/* SPDX-License-Identifier: Apache-2.0 */
/* Which expressions are needed that have no name yet. */
#ifndef ENGINE_COMPILE_EMIT_WANTS_H
#define ENGINE_COMPILE_EMIT_WANTS_H

#include "engine/compile/emit/emitter.h"

/* Marks what expression i, or an index, needs that has no name yet. */
void emit_want(emitter *m, int i);
void emit_want_index(emitter *m, index_sum a);
/* Marks what the loops of a phase need, and nothing else. */
void emit_want_phase(emitter *m, int phase);
/* The same of all that a phase needs, as if nothing had a name. The phase becomes the one at hand. */
void emit_want_all(emitter *m, int phase);

#endif
