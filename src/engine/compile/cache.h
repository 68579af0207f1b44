/* SPDX-License-Identifier: Apache-2.0 */
/* Small files kept between runs, named by what they were made from. Many processes may use one folder at once: a file is there
   whole or not at all, and one that is not as it was written is not answered. */
#ifndef ENGINE_COMPILE_CACHE_H
#define ENGINE_COMPILE_CACHE_H

#include "base/status.h"

#include <stddef.h>
#include <stdint.h>

/* Names an entry: 128 bits of hash, in hexadecimal. */
typedef struct cache_key {
    char text[33];
} cache_key;

/* The key of n pieces of bytes, in order. */
typedef struct cache_piece {
    const void *data;
    size_t size_bytes;
} cache_piece;
cache_key cache_key_of(const cache_piece *pieces, size_t n);

/* The folder: $XDG_CACHE_HOME/assay/compiled, or ~/.cache/assay/compiled. NOT_FOUND when neither variable is set. */
status cache_folder(char *path, size_t size_bytes, error *err);

/* The path of an entry with this ending (".so") that is there and whole, and marks it as used. NOT_FOUND otherwise; one that
   is damaged, or no file at all, is removed. */
status cache_find(const cache_key *key, const char *ending, char *path, size_t size_bytes, error *err);
/* Writes an entry; its path. Those used longest ago, or in the future, give way when the folder grows over its bound (256 MiB). IO with
   what failed: the caller goes on without. */
status cache_store(const cache_key *key, const char *ending, const void *data, size_t n, char *path, size_t size_bytes,
                   error *err);

typedef struct cache_facts {
    int64_t n_entries;
    double size_bytes;
    double limit_bytes;
} cache_facts;
/* What is there; nothing at all is no error. IO: a folder of it cannot be looked into. */
status cache_info(cache_facts *out, error *err);
/* Removes every entry; *removed counts them. IO: not all; those that could be are gone. */
status cache_clear(int64_t *removed, error *err);

#endif
