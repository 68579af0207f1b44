/* SPDX-License-Identifier: Apache-2.0 */
/* Slices written, added or summed up at given places: index_put, index_add, the backward of embedding. */
#ifndef ENGINE_KERNELS_CPU_PUT_H
#define ENGINE_KERNELS_CPU_PUT_H

#include "engine/kernels/cpu/places.h"

typedef enum put_mode {
    PUT_REPLACE, /* the last slice for a place stays */
    PUT_ADD,     /* dst += alpha * slices */
    PUT_SUM      /* dst = the sum of the slices, 0 where there are none */
} put_mode;

typedef struct put_options {
    put_mode mode;
    row_factor alpha;
    bool by_count;  /* PUT_SUM: divided by how many slices a place gets */
    int64_t skip;   /* PUT_SUM: a place that stays 0; -1: none */
} put_options;

/* Sets up plan->run to write values at the indexing's places of dst, which holds self's values already if PUT_SUM is not
   the mode. values has `value_strides` (elements) along the dimensions of the indexing. Sums run in f32 for f16, bf16 and
   f32, in f64 for f64, wrap for integers. Each place belongs to one thread, which adds its slices in the order of the
   indices: results do not hang on the number of threads. */
typedef struct put put;
status put_make(put **out, const kernel_plan *plan, const indexing *ix, const tensor *dst, const tensor *values,
                const int64_t *value_strides, const put_options *options, error *err);
status put_run(put *p, error *err);

#endif
