/* SPDX-License-Identifier: Apache-2.0 */
/* Complex products: of [re; im] of a and [re | im] of b one real product holds all four products of parts. */
#include "engine/kernels/cpu/gemm_complex.h"

#include "base/complex_parts.h"
#include "device/caches.h"
#include "engine/kernels/cpu/parallel.h"

#include <complex.h>

struct gemm_complex {
    gemm_shape shape;
    dtype part;
    int64_t together;  /* batches of one real product, whose operands stay in the caches */
    gemm_real *products;
    void *a, *b, *c;   /* [together][2m][k], [together][k][2n], [together][2m][2n]; a or b that serves all batches: one of them */
};

/* As many batches as threads keep in their caches, and as divide them all. */
static int64_t together_of(const gemm_shape *s) {
    double one = 2 * ((double)s->m * (double)s->k + (double)s->k * (double)s->n + 2 * (double)s->m * (double)s->n) *
                 (double)dtype_size(dtype_real(s->dtype));
    int threads = omp_get_max_threads();
    double room = (double)threads * (SET_BYTES * SET_LINES);
    int64_t most = one < room ? (int64_t)(room / one) : 1;
    most = most < threads ? threads : most;
    for (int64_t n = most < s->batch ? most : s->batch; n > 1; n--) {
        if (s->batch % n == 0) {
            return n;
        }
    }
    return 1;
}

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
    g->part = dtype_real(s->dtype);
    g->together = together_of(s);
    TRY(make(memory, g->together * 2 * s->m * s->k, g->part, &g->a, err));
    TRY(make(memory, g->together * 2 * s->k * s->n, g->part, &g->b, err));
    TRY(make(memory, g->together * 4 * s->m * s->n, g->part, &g->c, err));
    gemm_shape real = gemm_shape_plain(g->part, 2 * s->m, 2 * s->n, s->k);
    real.batch = g->together;
    real.a[0] = s->a[0] != 0 ? real.a[0] : 0;
    real.b[0] = s->b[0] != 0 ? real.b[0] : 0;
    TRY(gemm_real_prepare(&real, memory, &g->products, err));
    *out = g;
    return ASSAY_OK;
}

void gemm_complex_clear(gemm_complex *g) {
    if (g != NULL) {
        gemm_real_clear(g->products);
    }
}

/* --- taking apart and putting together ------------------------------------------------------------------------------------- */

/* Rows of complex numbers `step` apart, whose parts go to two rows of their own. */
typedef struct parting {
    dtype type;
    const char *from;
    int64_t strides[3]; /* of complex numbers: batch, row, column */
    int64_t batches, rows, columns;
    char *to;
    int64_t to_row, to_batch, to_im; /* of parts */
} parting;

static void part_floats(const float *from, int64_t step, float *re, float *im, int64_t n) {
    if (step == 1) {
#pragma omp simd
        for (int64_t i = 0; i < n; i++) {
            re[i] = from[2 * i];
            im[i] = from[2 * i + 1];
        }
        return;
    }
    for (int64_t i = 0; i < n; i++) {
        re[i] = from[2 * i * step];
        im[i] = from[2 * i * step + 1];
    }
}

static void part_doubles(const double *from, int64_t step, double *re, double *im, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        re[i] = from[2 * i * step];
        im[i] = from[2 * i * step + 1];
    }
}

static void part_share(const void *context) {
    const parting *p = context;
    const int64_t size = (int64_t)dtype_size(p->type), part = size / 2;
    int64_t first, last;
    parallel_share(p->batches * p->rows, 1, &first, &last);
    for (int64_t r = first; r < last; r++) {
        const int64_t batch = r / p->rows, row = r % p->rows;
        const void *from = p->from + (batch * p->strides[0] + row * p->strides[1]) * size;
        char *re = p->to + (batch * p->to_batch + row * p->to_row) * part, *im = re + p->to_im * part;
        if (p->type == ASSAY_C64) {
            part_floats(from, p->strides[2], (float *)(void *)re, (float *)(void *)im, p->columns);
        } else {
            part_doubles(from, p->strides[2], (double *)(void *)re, (double *)(void *)im, p->columns);
        }
    }
}

/* What the complex numbers at c are made of. */
typedef struct joining {
    const gemm_complex *g;
    const char *summand;
    char *c;
} joining;

static void join_floats(float *to, const float *rr, const float *ri, const float *ir, const float *ii, int64_t n) {
#pragma omp simd
    for (int64_t i = 0; i < n; i++) {
        to[2 * i] = rr[i] - ii[i];
        to[2 * i + 1] = ri[i] + ir[i];
    }
}

static double complex joined(dtype part, const char *rr, const char *ri, const char *ir, const char *ii, int64_t i) {
    if (part == ASSAY_F32) {
        const int64_t at = i * (int64_t)sizeof(float);
        return CMPLX(*(const float *)(const void *)(rr + at) - *(const float *)(const void *)(ii + at),
                     *(const float *)(const void *)(ri + at) + *(const float *)(const void *)(ir + at));
    }
    const int64_t at = i * (int64_t)sizeof(double);
    return CMPLX(*(const double *)(const void *)(rr + at) - *(const double *)(const void *)(ii + at),
                 *(const double *)(const void *)(ri + at) + *(const double *)(const void *)(ir + at));
}

static void join_share(const void *context) {
    const joining *j = context;
    const gemm_complex *g = j->g;
    const gemm_shape *s = &g->shape;
    const int64_t size = (int64_t)dtype_size(s->dtype), part = size / 2;
    const double complex alpha = CMPLX(s->alpha.f, s->alpha.im), beta = CMPLX(s->beta.f, s->beta.im);
    const bool adds = s->has_summand && beta != 0, is_plain = !adds && alpha == 1 && s->c[2] == 1 && g->part == ASSAY_F32;
    int64_t first, last;
    parallel_share(g->together * s->m, 1, &first, &last);
    for (int64_t r = first; r < last; r++) {
        const int64_t batch = r / s->m, row = r % s->m;
        const char *rr = (const char *)g->c + (batch * 2 * s->m + row) * 2 * s->n * part, *ri = rr + s->n * part;
        const char *ir = rr + s->m * 2 * s->n * part, *ii = ir + s->n * part;
        char *to = j->c + (batch * s->c[0] + row * s->c[1]) * size;
        if (is_plain) {
            join_floats((float *)(void *)to, (const float *)(const void *)rr, (const float *)(const void *)ri,
                        (const float *)(const void *)ir, (const float *)(const void *)ii, s->n);
            continue;
        }
        const char *added = adds ? j->summand + (batch * s->summand[0] + row * s->summand[1]) * size : NULL;
        for (int64_t i = 0; i < s->n; i++) {
            double complex value = joined(g->part, rr, ri, ir, ii, i);
            value = alpha == 1 ? value : complex_product(alpha, value);
            if (adds) {
                const double complex summand = element_load_complex(s->dtype, added + i * s->summand[2] * size);
                value += beta == 1 ? summand : complex_product(beta, summand);
            }
            element_store_complex(s->dtype, to + i * s->c[2] * size, value);
        }
    }
}

static void take_apart(const gemm_complex *g, const void *a, const void *b, bool is_first) {
    const gemm_shape *s = &g->shape;
    const double size = (double)dtype_size(s->dtype);
    if (is_first || s->a[0] != 0) {
        const int64_t batches = s->a[0] != 0 ? g->together : 1;
        parting p = {s->dtype, a, {s->a[0], s->a[1], s->a[2]}, batches, s->m, s->k, g->a, s->k, 2 * s->m * s->k, s->m * s->k};
        parallel_run(parallel_threads(2 * size * (double)(batches * s->m * s->k)), part_share, &p);
    }
    if (is_first || s->b[0] != 0) {
        const int64_t batches = s->b[0] != 0 ? g->together : 1;
        parting p = {s->dtype, b, {s->b[0], s->b[1], s->b[2]}, batches, s->k, s->n, g->b, 2 * s->n, 2 * s->k * s->n, s->n};
        parallel_run(parallel_threads(2 * size * (double)(batches * s->k * s->n)), part_share, &p);
    }
}

status gemm_complex_run(gemm_complex *g, const void *a, const void *b, const void *summand, void *c, error *err) {
    const gemm_shape *s = &g->shape;
    const int64_t size = (int64_t)dtype_size(s->dtype);
    const double bytes = (double)(g->together * s->m * s->n) * 3 * (double)size;
    for (int64_t i = 0; i < s->batch; i += g->together) {
        take_apart(g, (const char *)a + i * s->a[0] * size, (const char *)b + i * s->b[0] * size, i == 0);
        TRY(gemm_real_run(g->products, g->a, g->b, NULL, g->c, err));
        const char *added = summand != NULL ? (const char *)summand + i * s->summand[0] * size : NULL;
        joining j = {g, added, (char *)c + i * s->c[0] * size};
        parallel_run(parallel_threads(bytes), join_share, &j);
    }
    return ASSAY_OK;
}
