/* SPDX-License-Identifier: Apache-2.0 */
/* Matrix products as text. */
#ifndef ENGINE_COMPILE_EMIT_PRODUCT_H
#define ENGINE_COMPILE_EMIT_PRODUCT_H

#include "engine/compile/emit/emitter.h"

/* What one task does. */
void emit_product(emitter *m);

#endif
