/* SPDX-License-Identifier: Apache-2.0 */
/* Text that grows, quantities as people read them, near names for typos, glob patterns. */
#ifndef BASE_TEXT_H
#define BASE_TEXT_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A growing string; `text t = {0}` is an empty one. Once memory runs out it stays at what it had and `failed` is set,
   so that a writer checks once, at the end. */
typedef struct text {
    char *data; /* NUL-terminated; NULL while nothing was written */
    size_t length;
    size_t capacity;
    bool failed;
} text;

void text_clear(text *t);
void text_reset(text *t); /* empties it, keeps the memory */
void text_add(text *t, const char *more);
void text_add_bytes(text *t, const char *more, size_t n);
void text_add_char(text *t, char c);
void text_addf(text *t, const char *format, ...) PRINTF_LIKE(2, 3);
void text_addv(text *t, const char *format, va_list args) PRINTF_LIKE(2, 0);
/* The text so far, never NULL. */
const char *text_get(const text *t);

/* The number with as few digits as read back to the same double; "inf", "-inf" and "nan" for what has no digits. */
void text_add_double(text *t, double value);
/* The same without an exponent for what is less than 1e17: 30 and 12758970, not 3e+01 and 1.275897e+07. */
void text_add_plain_double(text *t, double value);

/* n bytes of words for people: a space stands for a line's end or a tab, '?' for other control characters (C0, DEL, and C1 in UTF-8),
   which a terminal would obey. */
void text_add_shown(text *t, const char *words, size_t n);

/* word as a shell reads it back: as it is where nothing in it is special, else in single quotes. Bytes that are no UTF-8 are written
   as $'\xe9', so that the whole is UTF-8 (bash, zsh, ksh and POSIX of 2024 read that). */
void text_add_shell_word(text *t, const char *word);

/* "1.2 GiB", "34.5 us" and the like, into a buffer of at least 32 bytes; returns it. */
char *text_of_bytes(char *buffer, double size_bytes);
char *text_of_ns(char *buffer, double time_ns);

/* Levenshtein distance with adjacent swaps, at most limit + 1. */
int text_distance(const char *a, const char *b, int limit);

/* Whether part is one or more whole parts of the name, between '_', '-', '.', ':' and its ends: "layer_norm" of "native_layer_norm". */
bool text_has_part(const char *name, const char *part);

/* The nearest of n names to a mistyped one, or NULL when none is near enough to be worth naming. The shortest name that has it as a part,
   if it has three letters; else one at a distance of a third of its length, at least 2 (1 below five letters), and always less than
   either's length. Large and small letters are alike. */
const char *text_nearest(const char *name, const char *const *names, size_t n);

/* Shell-style match of the whole of text: * any run, ? any character, [a-z] and [!a-z] sets. */
bool text_matches(const char *pattern, const char *subject);

bool text_starts_with(const char *subject, const char *prefix);
bool text_ends_with(const char *subject, const char *suffix);

#endif
