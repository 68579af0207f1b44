/* SPDX-License-Identifier: Apache-2.0 */
/* Many numbers added to few places. */
#ifndef ENGINE_KERNELS_CPU_SCATTER_TABLES_H
#define ENGINE_KERNELS_CPU_SCATTER_TABLES_H

#include "base/arena.h"
#include "engine/kernels/cpu/lines.h"

/* Tables of sums of the places, several to a thread. */
typedef struct scatter_tables {
    char *memory;    /* borrowed from an arena; NULL: there are none */
    int threads;
    dtype type;      /* f32 or f64 */
    int64_t places, table_bytes;
} scatter_tables;

/* Sees whether n numbers of a type are so many, and its places so few, that tables pay; without memory for them there are none. */
void scatter_tables_make(scatter_tables *t, dtype type, int64_t places, int64_t n, double bytes, arena *memory);

/* Adds src[i] (dense, of the type) to the place of offsets[i] in the i-th table from `first` on, of those a thread has in turns. */
void scatter_tables_add(const scatter_tables *t, char *first, const int64_t *offsets, const void *src, int64_t n);

/* Walks l's one line, which is indexed: each thread a part of it, whose use finds its first table as far. Adds the tables to what l says
   is far, dense places. False, and nothing is added, where an index is out of bounds. */
bool scatter_tables_run(const scatter_tables *t, const lines *l, lines_use *use, void *context);

#endif
