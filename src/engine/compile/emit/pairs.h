/* SPDX-License-Identifier: Apache-2.0 */
/* Blocks whose lanes may stand in any order. */
#ifndef ENGINE_COMPILE_EMIT_PAIRS_H
#define ENGINE_COMPILE_EMIT_PAIRS_H

#include "engine/compile/emit/emitter.h"

/* Whether a function of a block takes expression i: what else reads that would widen it once more. */
bool emit_is_for_function(const emitter *m, int i);
/* Whether the phase's blocks make bf16 of bf16, or sums, in lanes of any order, and how these are rounded. */
pair_order emit_pairs_of(const emitter *m, int phase);

#endif
