/* SPDX-License-Identifier: Apache-2.0 */
/* A 64-bit hash for tables and names of things (FNV-1a with a final mix); not for security. */
#ifndef BASE_HASH_H
#define BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

uint64_t hash_bytes(const void *data, size_t n, uint64_t seed);
/* Of much memory: another function, and several bytes a cycle. */
uint64_t hash_words(const void *data, size_t n);
uint64_t hash_text(const char *subject);

#endif
