/* SPDX-License-Identifier: Apache-2.0 */
/* Matrix products as text. */
#ifndef ENGINE_COMPILE_EMIT_PRODUCT_H
#define ENGINE_COMPILE_EMIT_PRODUCT_H

#include "engine/compile/emit/emitter.h"

/* What all tasks of a thread use. */
void emit_product_room(emitter *m);
/* What one task does. */
void emit_product(emitter *m);
/* A loop over the lanes l of variable v from `from` on, whose body stores all that is kept, of sums that r and the root's number name. */
void emit_product_results(emitter *m, int v, const char *from, const char *n);

#endif
