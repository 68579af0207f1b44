/* SPDX-License-Identifier: Apache-2.0 */
/* Fills tensors. Speed matters a little: recorded inputs reach a gigabyte, and a normal draw costs 20 ns. */
#include "engine/schema/fill.h"

#include <stdlib.h>
#include <string.h>

/* The normal values of large tensors come from a table of this many, in runs that start at random places and are scaled a
   little differently each: a gigabyte fills in a second, and no two elements of a row are equal for that. */
enum { TABLE_SIZE = 65521, RUN = 997, TABLE_MIN_ELEMENTS = 1 << 18 };

/* Rounding to a type of 16 bits costs more than all else: there the table is kept rounded, scaled in so many ways. */
enum { NARROW_SCALES = 8 };

typedef struct fill_table {
    double values[TABLE_SIZE];
    uint16_t narrow[NARROW_SCALES][TABLE_SIZE];
} fill_table;

typedef struct run {
    int64_t from;
    double scale; /* 0.9 .. 1.1 */
} run;

static void fill_table_make(fill_table *table, dtype t, rng *r) {
    for (int i = 0; i < TABLE_SIZE; i++) {
        table->values[i] = rng_normal(r);
    }
    for (int k = 0; dtype_size(t) == sizeof(uint16_t) && k < NARROW_SCALES; k++) {
        for (int i = 0; i < TABLE_SIZE; i++) {
            element_store(t, &table->narrow[k][i], (0.9 + 0.2 * k / NARROW_SCALES) * table->values[i]);
        }
    }
}

static void fill_run(dtype t, char *data, int64_t n, const fill_table *table, const run *r) {
    size_t size = dtype_size(t);
    const double *values = table->values + r->from;
    if (size == sizeof(uint16_t)) {
        int k = (int)((r->scale - 0.9) * 5 * NARROW_SCALES);
        k = k < 0 ? 0 : k < NARROW_SCALES ? k : NARROW_SCALES - 1;
        memcpy(data, &table->narrow[k][r->from], (size_t)n * size);
        return;
    }
    if (t == ASSAY_F32) {
        float *out = (float *)(void *)data;
        for (int64_t k = 0; k < n; k++) {
            out[k] = (float)(r->scale * r->scale * values[k]);
        }
        return;
    }
    for (int64_t k = 0; k < n; k++) {
        element_store(t, data + (size_t)k * size, r->scale * values[k]);
    }
}

/* A batch of runs is drawn in order, then threads share the writing: values do not hang on how many there are. */
static void fill_elements_from_table(dtype t, char *data, int64_t n, const fill_table *table, rng *r) {
    enum { BATCH = 1024 };
    run batch[BATCH];
    size_t size = dtype_size(t);
    int64_t n_runs = (n + RUN - 1) / RUN;
    for (int64_t done = 0; done < n_runs; done += BATCH) {
        int64_t in_batch = n_runs - done < BATCH ? n_runs - done : BATCH;
        for (int64_t i = 0; i < in_batch; i++) {
            batch[i].from = rng_range(r, 0, TABLE_SIZE - RUN);
            batch[i].scale = 0.9 + 0.2 * rng_uniform(r);
        }
#pragma omp parallel for
        for (int64_t i = 0; i < in_batch; i++) {
            int64_t at = (done + i) * RUN;
            fill_run(t, data + (size_t)at * size, n - at < RUN ? n - at : RUN, table, &batch[i]);
        }
    }
}

static void fill_floating(tensor *t, char *data, int64_t n, rng *r) {
    dtype real = dtype_real(t->dtype);
    int64_t reals = dtype_is_complex(t->dtype) ? 2 * n : n;
    fill_table *table = reals > TABLE_MIN_ELEMENTS ? malloc(sizeof *table) : NULL;
    if (table == NULL) {
        for (int64_t i = 0; i < reals; i++) {
            element_store(real, data + (size_t)i * dtype_size(real), rng_normal(r));
        }
        return;
    }
    fill_table_make(table, real, r);
    fill_elements_from_table(real, data, reals, table, r);
    free(table);
}

void fill_default(tensor *t, rng *r) {
    if (t->sparse != NULL) {
        fill_default(&t->sparse->values, r);
        return;
    }
    char *data = tensor_data(t);
    int64_t n = tensor_span(t);
    if (data == NULL) {
        return;
    }
    if (dtype_is_floating(t->dtype) || dtype_is_complex(t->dtype)) {
        fill_floating(t, data, n, r);
        return;
    }
    int64_t high = t->dtype == ASSAY_B8 ? 2 : 10;
    size_t size = dtype_size(t->dtype);
    for (int64_t i = 0; i < n; i++) {
        element_store_int(t->dtype, data + (size_t)i * size, (int64_t)((rng_next(r) >> 32) * (uint64_t)high >> 32));
    }
}

/* Calls store for each element, row-major, by its flat index. */
typedef void store_fn(dtype t, void *at, int64_t flat, void *context);

static void for_each(tensor *t, store_fn *store, void *context) {
    char *data = tensor_data(t);
    if (data == NULL) {
        return;
    }
    int64_t n = tensor_numel(t);
    size_t size = dtype_size(t->dtype);
    int64_t index[TENSOR_MAX_DIMS] = {0};
    int64_t offset = 0;
    for (int64_t flat = 0; flat < n; flat++) {
        store(t->dtype, data + (size_t)offset * size, flat, context);
        for (int d = t->ndim - 1; d >= 0; d--) {
            offset += t->strides[d];
            if (++index[d] < t->sizes[d]) {
                break;
            }
            offset -= t->strides[d] * t->sizes[d];
            index[d] = 0;
        }
    }
}

typedef struct range {
    rng *r;
    double low, high;
    int64_t low_int, high_int;
} range;

static void store_uniform(dtype t, void *at, int64_t flat, void *context) {
    range *c = context;
    (void)flat;
    element_store(t, at, c->low + (c->high - c->low) * rng_uniform(c->r));
}

void fill_uniform(tensor *t, rng *r, double low, double high) {
    for_each(t, store_uniform, &(range){.r = r, .low = low, .high = high});
}

static void store_integer(dtype t, void *at, int64_t flat, void *context) {
    range *c = context;
    (void)flat;
    element_store_int(t, at, rng_range(c->r, c->low_int, c->high_int));
}

void fill_integers(tensor *t, rng *r, int64_t low, int64_t high) {
    for_each(t, store_integer, &(range){.r = r, .low_int = low, .high_int = high});
}

static void store_constant(dtype t, void *at, int64_t flat, void *context) {
    (void)flat;
    element_store(t, at, *(double *)context);
}

void fill_constant(tensor *t, double value) {
    for_each(t, store_constant, &value);
}

static void store_from(dtype t, void *at, int64_t flat, void *context) {
    element_store(t, at, ((const double *)context)[flat]);
}

void fill_from(tensor *t, const double *values) {
    for_each(t, store_from, (void *)values);
}
