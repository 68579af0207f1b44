/* SPDX-License-Identifier: Apache-2.0 */
/* How a set of inputs grows; for the files that read into it (inputs.c, inputs_directory.c) alone. */
#ifndef LAB_EXPERIMENT_INPUTS_SET_H
#define LAB_EXPERIMENT_INPUTS_SET_H

#include "lab/experiment/inputs.h"

#include <stdbool.h>

/* An array that has room for one item behind its n: items itself, or a copy of twice the room (the old one stays in the
   arena). The room is always the least power of two that is not below n, so that it needs no record. NULL: no memory.
 */
void *inputs_grow(arena *memory, void *items, size_t n, size_t size_bytes);

/* The next position that was added under this hash, false when there is none left. *probe begins at 0. The caller
   compares the keys. */
bool inputs_index_next(const inputs_index *index, uint64_t hash, size_t *probe, size_t *out_position);

/* Adds a position under a hash. False: no memory, and the index is as before. */
bool inputs_index_add(inputs_index *index, arena *memory, uint64_t hash, size_t position);

/* Adds an input of the operator of that name, both new or known, with its n_calls (at least 1) under the file; *in says the
   rest and is copied, an input of the same text only gets the calls. OUT_OF_MEMORY. */
status inputs_add(inputs *set, const char *name, const input *in, int64_t n_calls, error *err);

/* Whether the name ends as a graph's: ".graph" or ".graph.gz". */
bool inputs_is_graph(const char *path);

/* The set's file of that path, made where it is new; NULL: no memory. */
inputs_file *inputs_add_file(inputs *set, const char *path);

/* Keeps a copy of the diagnostic; its message is copied, its other texts are not. OUT_OF_MEMORY. */
status inputs_add_diagnostic(inputs *set, const inputs_diagnostic *diagnostic, error *err);

/* PARSE with the position of the first NUL byte where the n bytes at data have one: no text. name stands for the path. */
status inputs_reject_binary(const char *name, const char *data, size_t n, error *err);

#endif
