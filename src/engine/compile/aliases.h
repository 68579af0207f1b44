/* SPDX-License-Identifier: Apache-2.0 */
/* Which tensors of a graph are names for one memory, and how long each is used. */
#ifndef ENGINE_COMPILE_ALIASES_H
#define ENGINE_COMPILE_ALIASES_H

#include "base/arena.h"
#include "engine/graph/graph.h"

typedef struct aliases aliases;

/* Of all tensors that the graph's calls take or give and that it returns. Lives in `memory`; OUT_OF_MEMORY. */
status aliases_make(arena *memory, const graph *g, aliases **out, error *err);
/* The tensor whose memory t shows, through views and results of operators in place: t itself when it has memory of its own. */
const tensor *aliases_origin(const aliases *a, const tensor *t);
/* Whether a call after this node takes t, or the graph returns it. */
bool aliases_used_after(const aliases *a, const tensor *t, int node);
/* Whether a call other than this node takes t, or the graph returns it. */
bool aliases_used_besides(const aliases *a, const tensor *t, int node);

#endif
