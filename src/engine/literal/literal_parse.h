/* SPDX-License-Identifier: Apache-2.0 */
/* Literals from text. Nothing is ever evaluated. */
#ifndef ENGINE_LITERAL_LITERAL_PARSE_H
#define ENGINE_LITERAL_LITERAL_PARSE_H

#include "engine/literal/literal.h"

/* Reads exactly one value from the n bytes at source, which may be followed by blanks only, into *out and the arena.
   line and column are where source begins in its file (1, 1 when it stands alone): every position counts from there.
   A string that spells a dtype, such as 'f16', is that dtype, as in PyTorch's own reader, which quotes some by mistake;
   `(x)` is x; a trailing comma is fine. PARSE, with line and column and with what was expected and what came: malformed
   text, an integer beyond int64, a number of strides other than that of sizes, a dict key twice, an unknown name, more
   than LITERAL_MAX_KEYS keys, more than LITERAL_MAX_DEPTH levels. OUT_OF_MEMORY. On failure *out is untouched; what the
   arena took stays taken. */
status literal_parse(arena *a, const char *source, size_t n, int32_t line, int32_t column, const literal **out,
                     error *err);

/* Reads the arguments of a call in a graph, `(A, B, KEY=C)`, from the beginning of the n bytes at source, which lie in one
   line: literals, among which `%NAME` stands for another value, into a TUPLE and a DICT as recorded inputs have them.
   *out_used: the bytes up to and with the closing bracket. Errors as of literal_parse. */
status literal_parse_arguments(arena *a, const char *source, size_t n, int32_t line, int32_t column, const literal **args,
                               const literal **kwargs, size_t *out_used, error *err);

/* One value of any kind, for a reader under way (literal_reader.h); blanks may lead. */
struct reader;
status reader_value(struct reader *r, literal *out);

#endif
