/* SPDX-License-Identifier: Apache-2.0 */
/* Picks the row loops for a type and this CPU. */
#include "engine/kernels/cpu/row_loops.h"

extern const row_loops row_loops_f32_baseline, row_loops_f64_baseline, row_loops_i64_baseline;
#if defined(__x86_64__)
extern const row_loops row_loops_f32_avx2, row_loops_f64_avx2, row_loops_i64_avx2;
extern const row_loops row_loops_f32_avx512, row_loops_f64_avx512, row_loops_i64_avx512;
#endif

const row_loops *row_loops_for(dtype t) {
    enum { FLOAT, DOUBLE, INTEGER, TYPES };
    static const row_loops *const loops[ISA_COUNT][TYPES] = {
        [ISA_BASELINE] = {&row_loops_f32_baseline, &row_loops_f64_baseline, &row_loops_i64_baseline},
#if defined(__x86_64__)
        [ISA_AVX2] = {&row_loops_f32_avx2, &row_loops_f64_avx2, &row_loops_i64_avx2},
        [ISA_AVX512] = {&row_loops_f32_avx512, &row_loops_f64_avx512, &row_loops_i64_avx512},
#endif
    };
    dtype real = dtype_real(t);
    int type = real == ASSAY_F64 ? DOUBLE : dtype_category_of(real) < CATEGORY_FLOATING ? INTEGER : FLOAT;
    return loops[isa_best()][type];
}
