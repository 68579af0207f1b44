/* SPDX-License-Identifier: Apache-2.0 */
/* Sums of very many terms, in pieces. */
#ifndef ENGINE_COMPILE_EMIT_LONG_SUMS_H
#define ENGINE_COMPILE_EMIT_LONG_SUMS_H

#include "engine/compile/emit/emitter.h"

/* Tasks whose lanes have more terms do not go on side by side, unless what they keep bounds that (flow_choose.c). */
enum { EMIT_LONG_SUM = 16384 };

/* Terms that one accumulator takes in, one after the other, in a task's reduced loops. */
int64_t emit_chain(const emitter *m);

/* Before a phase's loops: whether they are gone through in pieces, and by which variable (m->cut); what pieces come to. And behind them: that
   is in the accumulators. */
void emit_open_long_sums(emitter *m, int phase);
void emit_close_long_sums(emitter *m, int phase);

/* A loop over pieces of `size` turns, from `piece` to before piece_end; at the end of each the accumulators are added up and begin anew. */
void emit_open_piece(emitter *m, int64_t size, int64_t step);
void emit_close_piece(emitter *m);

#endif
