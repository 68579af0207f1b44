/* SPDX-License-Identifier: Apache-2.0 */
/* Contiguous runs of one element type converted to another, through f32, f64 or i64. */
#ifndef ENGINE_KERNELS_CPU_ISA_CONVERT_LOOPS_H
#define ENGINE_KERNELS_CPU_ISA_CONVERT_LOOPS_H

#include "engine/kernels/cpu/isa.h"
#include "engine/tensor/dtype.h"

/* n elements; the runs do not overlap. */
typedef void convert_fn(void *dst, const void *src, int64_t n);

/* Indexed by dtype, NULL for complex types. Floats round to nearest even going down, truncate going to integers; integers
   wrap; booleans are value != 0. */
typedef struct convert_loops {
    convert_fn *to_f32[ASSAY_DTYPE_COUNT];
    convert_fn *from_f32[ASSAY_DTYPE_COUNT];
    convert_fn *to_f64[ASSAY_DTYPE_COUNT];
    convert_fn *from_f64[ASSAY_DTYPE_COUNT];
    convert_fn *to_i64[ASSAY_DTYPE_COUNT];
    convert_fn *from_i64[ASSAY_DTYPE_COUNT];
    convert_fn *to_b8[ASSAY_DTYPE_COUNT]; /* NULL as well where one of those above makes b8 at one go */
    convert_fn *stream_f64[ASSAY_DTYPE_COUNT]; /* to f64, where dst is aligned for it, past the caches; NULL where there is none */
} convert_loops;

extern const convert_loops convert_loops_baseline;
#if defined(__x86_64__)
extern const convert_loops convert_loops_avx2;
extern const convert_loops convert_loops_avx512;
#endif

static inline const convert_loops *convert_loops_best(void) {
#if defined(__x86_64__)
    isa best = isa_best();
    return best == ISA_AVX512 ? &convert_loops_avx512 : best == ISA_AVX2 ? &convert_loops_avx2 : &convert_loops_baseline;
#else
    return &convert_loops_baseline;
#endif
}

#endif
