/* SPDX-License-Identifier: Apache-2.0 */
/* Blocks whose lanes may stand in any order. */
#ifndef ENGINE_COMPILE_EMIT_PAIRS_H
#define ENGINE_COMPILE_EMIT_PAIRS_H

#include "engine/compile/emit/emitter.h"

/* Whether a function of a block takes expression i: what else reads that would widen it once more. */
bool emit_is_for_function(const emitter *m, int i);
/* Whether the phase's blocks, with functions of a block among them, make bf16 of bf16 in lanes of any order. */
bool emit_takes_pairs(const emitter *m, int phase);

#endif
