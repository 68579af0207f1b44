/* SPDX-License-Identifier: Apache-2.0 */
/* The face of oneDNN: prepared matrix products and convolutions in our own terms. Its API is used behind this header
   alone, so that another major version of it is another .c file. */
#ifndef ENGINE_KERNELS_CPU_ONEDNN_H
#define ENGINE_KERNELS_CPU_ONEDNN_H

#include "base/arena.h"
#include "base/status.h"
#include "engine/schema/window.h"
#include "engine/tensor/dtype.h"

/* A prepared call: the primitive, its reorders and its work space. Not for use by two threads at once; it runs on
   omp_get_max_threads() threads, or fewer where OpenMP gives fewer (device/threads.h). */
typedef struct onednn onednn;

/* c = alpha * (a b) + summand (+ the old c): f32 or bf16. Strides in elements: batch, row, column; a batch's of 0 is the same matrix for
   all, of a or b. */
typedef struct onednn_matmul {
    dtype dtype;
    int64_t batch, m, n, k;
    int64_t a[3], b[3], c[3];
    double alpha;
    bool adds_row; /* a row [n] is added to every row, after alpha */
    bool adds_c;   /* what c holds is added */
    bool sums_f32; /* c and the row are f32 whatever the type */
    bool own_layouts; /* b is brought to a layout of oneDNN's choice, in the run */
} onednn_matmul;

/* One of the three sums of schema/window.h: f32 or bf16. Strides in elements, of [batch, channel, three spatial]; of the
   weight [narrow channel, wide channel of the group, three spatial]. */
typedef enum onednn_direction { ONEDNN_TO_NARROW, ONEDNN_TO_WIDE, ONEDNN_TO_WEIGHT } onednn_direction;
typedef struct onednn_conv {
    dtype dtype;
    onednn_direction direction;
    const conv_shape *shape;
    int64_t narrow[5], wide[5], weight[5];
    bool bias; /* TO_NARROW: read; TO_WEIGHT: the narrow side's sums, written */
    bool own_layouts; /* channels-last sides too are brought to layouts of oneDNN's choice */
} onednn_conv;

/* Where the operands of one run lie: a, b, c and row; or narrow, wide, weight and bias. */
typedef struct onednn_data {
    void *at[4];
} onednn_data;

/* Both: UNSUPPORTED when oneDNN has nothing fast for the type or shape on this CPU, OUT_OF_MEMORY. Work space comes from
   memory and lives as long; the rest goes with onednn_free. */
status onednn_matmul_prepare(const onednn_matmul *shape, arena *memory, onednn **out, error *err);
status onednn_conv_prepare(const onednn_conv *shape, arena *memory, onednn **out, error *err);
status onednn_run(onednn *o, const onednn_data *data, error *err);
/* The primitive alone, on the operands of the last onednn_run as its reorders left them. */
status onednn_run_primitive(onednn *o, error *err);
/* NULL is fine. */
void onednn_free(onednn *o);
/* oneDNN's name for the code it chose, "brg:avx512_core"; lives as long as o. */
const char *onednn_code(const onednn *o);
/* Words that name the library at hand: its version, and the revision that it was built from. */
void onednn_identity(char *out, size_t size_bytes);

#endif
