/* SPDX-License-Identifier: Apache-2.0 */
/* UTF-8 (RFC 3629): one character at a time. */
#ifndef BASE_UTF8_H
#define BASE_UTF8_H

#include <stddef.h>
#include <stdint.h>

/* Bytes of the character at p, of which `left` bytes may be read; 0 when it is none (overlong forms and surrogates are
   none, nor is left = 0). */
size_t utf8_length(const char *p, size_t left);

/* The character at p, of n bytes as utf8_length said. */
uint32_t utf8_decode(const char *p, size_t n);

/* Writes the character, at most 4 bytes, and returns how many. A surrogate or a number over 0x10ffff is written as
   U+FFFD. */
size_t utf8_encode(uint32_t code_point, char *out);

#endif
