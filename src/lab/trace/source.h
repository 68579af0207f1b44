/* SPDX-License-Identifier: Apache-2.0 */
/* Where a trace's bytes come from: a plain file, a gzip'd one, standard input or memory, lent piece by piece. */
#ifndef LAB_TRACE_SOURCE_H
#define LAB_TRACE_SOURCE_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>

/* Readable bytes behind every piece: the first is '"', so that a loop for the end of a string or a number stops there
   without asking for the end; the rest are zero and let a scanner load whole words. */
enum { TRACE_PIECE_PADDING = 16 };

typedef struct trace_source trace_source;

/* Opens path ("-": standard input). gzip is known by its magic bytes, whatever the name says. A thread of its own reads
   ahead and unpacks, so that a packed trace takes as long as zlib takes. The caller closes it. */
status trace_source_open(const char *path, trace_source **out, error *err);

/* Reads n borrowed bytes in pieces of piece_bytes (0: as files are read). */
status trace_source_open_memory(const void *data, size_t n, size_t piece_bytes, trace_source **out, error *err);

/* Lends the next piece until the next call; *size_bytes is 0 at the end. */
status trace_source_next(trace_source *s, const char **piece, size_t *size_bytes, error *err);

/* Whether the end was that of a gzip stream cut short. */
bool trace_source_was_cut(const trace_source *s);

/* NULL is fine. */
void trace_source_close(trace_source *s);

#endif
