/* SPDX-License-Identifier: Apache-2.0 */
/* Inside exact.c: values that no reference determines. */
#ifndef ENGINE_GRAPH_EXACT_TAKE_H
#define ENGINE_GRAPH_EXACT_TAKE_H

#include "engine/graph/attempt.h"

/* The values of a node that the reference does not determine: those taken, and what follows from them. INTERNAL: they are not
   possible. */
status evaluation_take(evaluation *e, int node);

#endif
