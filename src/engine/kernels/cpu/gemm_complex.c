/* SPDX-License-Identifier: Apache-2.0 */
/* Complex products: the operands are taken apart, multiplied as reals and put together again. */
#include "engine/kernels/cpu/gemm_complex.h"

#include <complex.h>

enum { PART_RE, PART_IM, PART_MINUS_IM };

struct gemm_complex {
    gemm_shape shape;
    dtype real;
    gemm_real *fresh, *adding; /* re * re; and with the old result added */
    void *a[3], *b[2];    /* by part: contiguous */
    void *c[2];
};

static status make(arena *memory, int64_t n, dtype t, void **out, error *err) {
    *out = arena_make(memory, (size_t)n, dtype_size(t));
    return *out != NULL ? ASSAY_OK : fail(err, ASSAY_OUT_OF_MEMORY, "no memory for a product of complex matrices");
}

status gemm_complex_prepare(const gemm_shape *shape, arena *memory, gemm_complex **out, error *err) {
    gemm_complex *g = arena_make(memory, 1, sizeof *g);
    if (g == NULL) {
        return fail(err, ASSAY_OUT_OF_MEMORY, "no memory for a product of complex matrices");
    }
    const gemm_shape *s = shape;
    g->shape = *s;
    g->real = dtype_real(s->dtype);
    for (int i = 0; i < 3; i++) {
        TRY(make(memory, s->batch * s->m * s->k, g->real, &g->a[i], err));
    }
    for (int i = 0; i < 2; i++) {
        TRY(make(memory, s->batch * s->k * s->n, g->real, &g->b[i], err));
        TRY(make(memory, s->batch * s->m * s->n, g->real, &g->c[i], err));
    }
    gemm_shape real = gemm_shape_plain(g->real, s->m, s->n, s->k);
    real.batch = s->batch;
    TRY(gemm_real_prepare(&real, memory, &g->fresh, err));
    real.has_summand = true;
    real.beta = number_of_int(1);
    real.summand[0] = real.c[0];
    real.summand[1] = real.c[1];
    real.summand[2] = real.c[2];
    status result = gemm_real_prepare(&real, memory, &g->adding, err);
    if (result != ASSAY_OK) {
        gemm_real_clear(g->fresh);
        return result;
    }
    *out = g;
    return ASSAY_OK;
}

void gemm_complex_clear(gemm_complex *g) {
    if (g != NULL) {
        gemm_real_clear(g->fresh);
        gemm_real_clear(g->adding);
    }
}

/* [batch, rows, columns] into parts; minus_im may be NULL. */
static void take_apart(const gemm_complex *g, const char *from, const int64_t *strides, int64_t rows, int64_t columns,
                       void *re, void *im, void *minus_im) {
    int64_t size = (int64_t)dtype_size(g->shape.dtype), real_size = (int64_t)dtype_size(g->real);
    for (int64_t i = 0; i < g->shape.batch * rows * columns; i++) {
        int64_t column = i % columns, row = i / columns % rows, batch = i / columns / rows;
        const char *at = from + (batch * strides[0] + row * strides[1] + column * strides[2]) * size;
        double complex value = element_load_complex(g->shape.dtype, at);
        element_store(g->real, (char *)re + i * real_size, creal(value));
        element_store(g->real, (char *)im + i * real_size, cimag(value));
        if (minus_im != NULL) {
            element_store(g->real, (char *)minus_im + i * real_size, -cimag(value));
        }
    }
}

static void put_together(const gemm_complex *g, const char *summand, char *c) {
    const gemm_shape *s = &g->shape;
    int64_t size = (int64_t)dtype_size(s->dtype), real_size = (int64_t)dtype_size(g->real);
    double complex alpha = CMPLX(s->alpha.f, s->alpha.im), beta = CMPLX(s->beta.f, s->beta.im);
    bool adds = s->has_summand && beta != 0;
    for (int64_t i = 0; i < s->batch * s->m * s->n; i++) {
        int64_t column = i % s->n, row = i / s->n % s->m, batch = i / s->n / s->m;
        double re = element_load(g->real, (const char *)g->c[PART_RE] + i * real_size);
        double im = element_load(g->real, (const char *)g->c[PART_IM] + i * real_size);
        double complex value = CMPLX(re, im);
        if (alpha != 1) {
            value *= alpha;
        }
        if (adds) {
            int64_t at = batch * s->summand[0] + row * s->summand[1] + column * s->summand[2];
            value += beta * element_load_complex(s->dtype, summand + at * size);
        }
        element_store_complex(s->dtype, c + (batch * s->c[0] + row * s->c[1] + column * s->c[2]) * size, value);
    }
}

status gemm_complex_run(gemm_complex *g, const void *a, const void *b, const void *summand, void *c, error *err) {
    const gemm_shape *s = &g->shape;
    take_apart(g, a, s->a, s->m, s->k, g->a[PART_RE], g->a[PART_IM], g->a[PART_MINUS_IM]);
    take_apart(g, b, s->b, s->k, s->n, g->b[PART_RE], g->b[PART_IM], NULL);
    TRY(gemm_real_run(g->fresh, g->a[PART_RE], g->b[PART_RE], NULL, g->c[PART_RE], err));
    TRY(gemm_real_run(g->adding, g->a[PART_MINUS_IM], g->b[PART_IM], g->c[PART_RE], g->c[PART_RE], err));
    TRY(gemm_real_run(g->fresh, g->a[PART_RE], g->b[PART_IM], NULL, g->c[PART_IM], err));
    TRY(gemm_real_run(g->adding, g->a[PART_IM], g->b[PART_RE], g->c[PART_IM], g->c[PART_IM], err));
    put_together(g, summand, c);
    return ASSAY_OK;
}
