/* SPDX-License-Identifier: Apache-2.0 */
/* Rows that lie across memory, turned round for several tasks at a time. */
#ifndef ENGINE_COMPILE_EMIT_ACROSS_H
#define ENGINE_COMPILE_EMIT_ACROSS_H

#include "engine/compile/emit/emitter.h"

/* Looks for loads whose neighbours along the row lie apart in memory and whose neighbours in the next task do not: a kernel of the emitter's
   own then reads them from a band of rows, a buffer of the emitter's. */
void emit_choose_across(emitter *m);
/* Around the loop over tasks: the loop over bands, which are filled first, and its end. */
void emit_open_bands(emitter *m);
void emit_close_bands(emitter *m);

#endif
