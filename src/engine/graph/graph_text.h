/* SPDX-License-Identifier: Apache-2.0 */
/* The text form of graphs, which people read and write and which reads back exactly. docs/graphs.md has the grammar:

     graph bias_gelu: The first half of a transformer's feed-forward layer.
     %x = input(T([512, 768], f32))
     %bias = input(T([768], f32))
     %sum = add.Tensor(%x, %bias)
     %y = gelu(%sum)
     return %y                                                                                                            */
#ifndef ENGINE_GRAPH_GRAPH_TEXT_H
#define ENGINE_GRAPH_GRAPH_TEXT_H

#include "base/text.h"
#include "engine/graph/graph.h"
#include "engine/literal/bind.h"

/* More values than this in one text are refused: names are looked up one by one. */
enum { GRAPH_MAX_VALUES = 10000 };

/* Adds the graph in its canonical form: what graph_read made of a text prints the same as the text less its comments, blank
   lines, spelling of numbers and arguments that are the defaults. Sets out->failed when memory is out. */
void graph_print(const graph *g, text *out);

/* One line of it, without the line break. */
void graph_print_node(const graph *g, int node, text *out);

/* Reads one graph from the n bytes at source into the arena; options say what becomes of dtypes (an op_table outlives the
   graph). PARSE, INVALID, UNSUPPORTED or TOO_LARGE, with line and column and what was expected: malformed text, an unknown
   operator or value (with the nearest), arguments that do not fit, shapes that do not go together or depend on values. On
   failure there is nothing to clear. */
status graph_read(arena *memory, const op_table *table, const char *source, size_t n, const bind_options *options, graph *out,
                  error *err);

#endif
