/* SPDX-License-Identifier: Apache-2.0 */
/* Tasks of short rows, several at a time. */
#ifndef ENGINE_COMPILE_EMIT_ABREAST_H
#define ENGINE_COMPILE_EMIT_ABREAST_H

#include "engine/compile/emit/emitter.h"

/* Decides whether, and how many, once all else is decided. */
void emit_choose_abreast(emitter *m);
/* What is declared behind `from`, once more for each task but the first. */
void emit_copy_abreast(emitter *m, size_t from);
/* Where the text of a phase ends. */
void emit_end_phase(emitter *m, int phase);
/* In front of the loop over tasks, which is the text behind `from`: the loop that takes as many as possible together, made of the
   same phases. Those begin at `body`, but for `dropped` characters that are there no more; the loop that was there takes what is left
   over. */
void emit_abreast(emitter *m, size_t from, size_t body, size_t dropped);

#endif
