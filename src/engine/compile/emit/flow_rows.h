/* SPDX-License-Identifier: Apache-2.0 */
/* Tasks in flight: what belongs to a row of theirs as a whole. */
#ifndef ENGINE_COMPILE_EMIT_FLOW_ROWS_H
#define ENGINE_COMPILE_EMIT_FLOW_ROWS_H

#include "engine/compile/emit/emitter.h"

/* Results and values of rows, by names for each phase that needs them. */
void emit_declare_rows(emitter *m);
/* What a phase keeps of its row has a name, and nothing else has. */
void emit_enter_rows(emitter *m, int phase);
/* A row's own values that a phase needs, and its stores. */
void emit_rows(emitter *m, int phase);
/* What a phase's reductions come to: written, and named for the phases that need it. */
void emit_phase_results(emitter *m, int phase);
/* Results that tasks further back need go one phase on. */
void emit_handing_on(emitter *m);

#endif
