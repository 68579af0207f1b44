/* SPDX-License-Identifier: Apache-2.0 */
/* Many numbers added to few places: into tables that threads have for themselves, each several in turns, and then table by table. One
   table alone is read soon after it was written, here and there where it was, and in one process of nine the processor took such loads
   for free to go ahead of the stores, and found again and again that they were not: 965 sums of 54862 numbers took 31 us or 50 for as
   long as a process ran. So they take 21 (two cores of a Granite Rapids, 2026-11). */
#include "engine/kernels/cpu/scatter_tables.h"

#include "engine/kernels/cpu/parallel.h"

#include <stdatomic.h>
#include <string.h>

enum { TABLES = 4, MOST_TABLE_BYTES = 8 << 10, LEAST_NUMBERS = 8 /* a place */ };

static int64_t thread_bytes(const scatter_tables *t) {
    return (int64_t)parallel_room((size_t)(TABLES * t->table_bytes));
}

void scatter_tables_make(scatter_tables *t, dtype type, int64_t places, int64_t n, double bytes, arena *memory) {
    *t = (scatter_tables){.type = type, .places = places, .threads = parallel_threads(bytes)};
    t->table_bytes = places * (int64_t)dtype_size(type);
    if ((type == ASSAY_F32 || type == ASSAY_F64) && t->table_bytes <= MOST_TABLE_BYTES && n / LEAST_NUMBERS >= places && places > 0) {
        t->memory = arena_make(memory, (size_t)t->threads, (size_t)thread_bytes(t));
    }
}

static void add_f32(char *first, int64_t step, const int64_t *offsets, const float *src, int64_t n) {
    int64_t i = 0;
    for (; i + TABLES <= n; i += TABLES) {
#pragma GCC unroll 4
        for (int64_t k = 0; k < TABLES; k++) {
            *(float *)(void *)(first + k * step + offsets[i + k]) += src[i + k];
        }
    }
    for (; i < n; i++) {
        *(float *)(void *)(first + offsets[i]) += src[i];
    }
}

static void add_f64(char *first, int64_t step, const int64_t *offsets, const double *src, int64_t n) {
    int64_t i = 0;
    for (; i + TABLES <= n; i += TABLES) {
#pragma GCC unroll 4
        for (int64_t k = 0; k < TABLES; k++) {
            *(double *)(void *)(first + k * step + offsets[i + k]) += src[i + k];
        }
    }
    for (; i < n; i++) {
        *(double *)(void *)(first + offsets[i]) += src[i];
    }
}

void scatter_tables_add(const scatter_tables *t, char *first, const int64_t *offsets, const void *src, int64_t n) {
    if (t->type == ASSAY_F32) {
        add_f32(first, t->table_bytes, offsets, src, n);
    } else {
        add_f64(first, t->table_bytes, offsets, src, n);
    }
}

static void add_table(const scatter_tables *t, char *to, const char *table) {
    for (int64_t i = 0; t->type == ASSAY_F32 && i < t->places; i++) {
        ((float *)(void *)to)[i] += ((const float *)(const void *)table)[i];
    }
    for (int64_t i = 0; t->type == ASSAY_F64 && i < t->places; i++) {
        ((double *)(void *)to)[i] += ((const double *)(const void *)table)[i];
    }
}

typedef struct tables_share {
    const scatter_tables *t;
    const lines *l;
    lines_use *use;
    void *context;
    atomic_int *team; /* threads that there are */
    atomic_bool *good;
} tables_share;

static void share_numbers(const void *context) {
    const tables_share *s = context;
    lines mine = *s->l;
    int64_t from, to;
    parallel_share(mine.sizes[0], LINES_BLOCK, &from, &to);
    lines_cut(&mine, 0, from, to);
    mine.far = s->t->memory + omp_get_thread_num() * thread_bytes(s->t);
    memset(mine.far, 0, (size_t)(TABLES * s->t->table_bytes));
    *s->team = omp_get_num_threads();
    if (!lines_walk(&mine, s->use, s->context)) {
        *s->good = false;
    }
}

bool scatter_tables_run(const scatter_tables *t, const lines *l, lines_use *use, void *context) {
    atomic_bool good = true;
    atomic_int team = 0;
    parallel_run(t->threads, share_numbers, &(const tables_share){t, l, use, context, &team, &good});
    for (int k = 0; good && k < team; k++) {
        for (int i = 0; i < TABLES; i++) {
            add_table(t, l->far, t->memory + k * thread_bytes(t) + i * t->table_bytes);
        }
    }
    return good;
}
