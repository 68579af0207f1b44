/* SPDX-License-Identifier: Apache-2.0 */
/* Matrix products of any type: of numbers with one part, or of complex ones, which are four of those. */
#include "engine/kernels/cpu/gemm.h"

#include "engine/kernels/cpu/gemm_complex.h"

struct gemm {
    gemm_real *real; /* both NULL: c has no elements */
    gemm_complex *parts;
};

const char *gemm_code(const gemm *g) {
    return g->real != NULL ? gemm_real_code(g->real) : "";
}

void gemm_clear(gemm *g) {
    if (g != NULL) {
        gemm_real_clear(g->real);
        gemm_complex_clear(g->parts);
    }
}

status gemm_prepare(const gemm_shape *shape, arena *memory, gemm **out, error *err) {
    gemm *g = arena_make(memory, 1, sizeof *g);
    if (g == NULL) {
        return fail(err, ASSAY_OUT_OF_MEMORY, "no memory for a matrix product");
    }
    if (shape->dtype == ASSAY_B8 || shape->dtype == ASSAY_C32) {
        return fail(err, ASSAY_UNSUPPORTED, "no matrix product of %s", assay_dtype_name(shape->dtype));
    }
    if (shape->batch * shape->m * shape->n > 0) {
        TRY(dtype_is_complex(shape->dtype) ? gemm_complex_prepare(shape, memory, &g->parts, err)
                                           : gemm_real_prepare(shape, memory, &g->real, err));
    }
    *out = g;
    return ASSAY_OK;
}

status gemm_run(gemm *g, const void *a, const void *b, const void *summand, void *c, error *err) {
    return g->real != NULL    ? gemm_real_run(g->real, a, b, summand, c, err)
           : g->parts != NULL ? gemm_complex_run(g->parts, a, b, summand, c, err)
                              : ASSAY_OK;
}
