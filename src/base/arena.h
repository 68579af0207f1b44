/* SPDX-License-Identifier: Apache-2.0 */
/* Memory that is given back all at once: graphs, plans and parsed records live in one. */
#ifndef BASE_ARENA_H
#define BASE_ARENA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct arena_block arena_block;

/* Caller's storage; `arena a = {0}` is an empty one. Not for use by two threads at once. */
typedef struct arena {
    arena_block *head;
    size_t used_bytes; /* handed out since init, padding included */
} arena;

/* Gives every block back; the arena is empty and usable afterwards. */
void arena_clear(arena *a);

/* Where an arena stands. */
typedef struct arena_mark {
    arena_block *head;
    size_t head_bytes, used_bytes;
} arena_mark;

arena_mark arena_here(const arena *a);
/* Gives back all that was handed out since the mark was taken, marks among it. */
void arena_return(arena *a, arena_mark to);

/* Zeroed memory, 64-byte aligned from 64 bytes on and 16-byte aligned below; NULL when memory is out or count * size
   overflows. A zero size gives a valid pointer to nothing. */
void *arena_make(arena *a, size_t count, size_t size_bytes);

/* The most bytes that arena_make asks the system for, of a request of so many: no more than SIZE_MAX / 4. */
size_t arena_needs(size_t size_bytes);

/* A copy of the n bytes at text with a NUL behind them; NULL when memory is out. */
char *arena_text(arena *a, const char *text, size_t n);

/* printf into the arena; NULL when memory is out. */
char *arena_format(arena *a, const char *format, ...)
#if defined(__GNUC__)
    __attribute__((format(printf, 2, 3)))
#endif
    ;

/* a * b in *out, or false when it does not fit. */
bool mul_size(size_t a, size_t b, size_t *out);
bool mul_i64(int64_t a, int64_t b, int64_t *out);
bool add_i64(int64_t a, int64_t b, int64_t *out);

#endif
