/* SPDX-License-Identifier: Apache-2.0 */
/* Matrix products. Shapes: M rows of self, N columns of mat2, K summed over, B batches. */
#include "engine/graph/dag.h"
#include "base/complex_parts.h"
#include "engine/ops/rows.h"
#include "engine/schema/reference.h"

#include <string.h>

static status push(outputs *out, dtype t, int ndim, const int64_t *sizes, error *err) {
    tensor *made = outputs_push(out);
    if (made == NULL) {
        return fail(err, ASSAY_OUT_OF_MEMORY, "no memory for outputs");
    }
    return tensor_init(made, t, ndim, sizes, err);
}

static status same_number_type(const op_call *call, const tensor *a, const tensor *b, error *err) {
    if (a->dtype != b->dtype || a->dtype == ASSAY_B8) {
        return fail(err, ASSAY_INVALID, "%s: expected one dtype of numbers, got %s and %s", call->op->signature.full,
                    assay_dtype_name(a->dtype), assay_dtype_name(b->dtype));
    }
    return ASSAY_OK;
}

/* a [.., K] times b [.., K, N]; both of ndim 2 or 3, or b a vector when b_ndim is 1. */
static status factors_agree(const op_call *call, const tensor *a, const tensor *b, int a_ndim, int b_ndim, error *err) {
    const char *name = call->op->signature.full;
    if (a->ndim != a_ndim || b->ndim != b_ndim) {
        return fail(err, ASSAY_INVALID, "%s: expected factors of %d and %d dimensions, got %d and %d", name, a_ndim, b_ndim,
                    a->ndim, b->ndim);
    }
    TRY(same_number_type(call, a, b, err));
    int64_t k_a = a->sizes[a_ndim - 1], k_b = b->sizes[b_ndim > 1 ? b_ndim - 2 : 0];
    if (k_a != k_b || (a_ndim == 3 && a->sizes[0] != b->sizes[0])) {
        char left[TENSOR_TEXT_BYTES], right[TENSOR_TEXT_BYTES];
        return fail(err, ASSAY_INVALID, "%s: expected shapes that multiply, got %.200s and %.200s", name,
                    tensor_describe(left, a), tensor_describe(right, b));
    }
    return ASSAY_OK;
}

/* The summand of addmm and its like: the factors' dtype, and a shape that broadcasts to the product's. */
static status summand_fits(const op_call *call, const tensor *self, dtype t, int ndim, const int64_t *sizes, error *err) {
    bool fits = self->ndim <= ndim;
    for (int d = 0; fits && d < self->ndim; d++) {
        int64_t size = self->sizes[self->ndim - 1 - d];
        fits = size == 1 || size == sizes[ndim - 1 - d];
    }
    if (!fits || self->dtype != t) {
        char got[TENSOR_TEXT_BYTES], wanted[TENSOR_TEXT_BYTES];
        tensor product;
        TRY(tensor_init(&product, t, ndim, sizes, err));
        return fail(err, ASSAY_INVALID, "%s: expected self to broadcast to %.200s, got %.200s", call->op->signature.full,
                    tensor_describe(wanted, &product), tensor_describe(got, self));
    }
    return ASSAY_OK;
}

/* --- references ------------------------------------------------------------------------------------------------------- */

/* One sum of products: terms a[k * a_step] * b[k * b_step]. */
typedef struct dot_terms {
    const double *a, *b;
    int64_t n, a_step, b_step;
} dot_terms;

static double dot_real(const dot_terms *t, double *norm) {
    double sum = 0;
    for (int64_t k = 0; k < t->n; k++) {
        double term = t->a[k * t->a_step] * t->b[k * t->b_step];
        sum += term;
        *norm += term * term;
    }
    return sum;
}

/* C11's CMPLX, which glibc's headers do not give clang. */
static double complex complex_of(const double parts[2]) {
    double complex z;
    memcpy(&z, parts, sizeof z);
    return z;
}

static double complex dot_complex(const dot_terms *t, double *norm) {
    double complex sum = 0;
    for (int64_t k = 0; k < t->n; k++) {
        const double *a = t->a + 2 * k * t->a_step, *b = t->b + 2 * k * t->b_step;
        double re = a[0] * b[0] - a[1] * b[1], im = a[0] * b[1] + a[1] * b[0];
        sum += complex_of((const double[]){re, im});
        *norm += re * re + im * im;
    }
    return sum;
}

static uint64_t dot_ints(const int64_t *a, const int64_t *b, const dot_terms *t) {
    uint64_t sum = 0;
    for (int64_t k = 0; k < t->n; k++) {
        sum += (uint64_t)a[k * t->a_step] * (uint64_t)b[k * t->b_step];
    }
    return sum;
}

/* Where in factors a_arg and a_arg + 1 the terms of output element `flat` lie. Covers mm, bmm, mv, dot and their sums. */
typedef struct dot_place {
    int64_t a, b;
    dot_terms terms;
} dot_place;

static dot_place place_of(ref_ctx *ctx, int a_arg, int64_t flat) {
    const tensor *a = call_tensor(ctx->call, a_arg), *b = call_tensor(ctx->call, a_arg + 1);
    int64_t k_size = a->sizes[a->ndim - 1], n_size = b->ndim > 1 ? b->sizes[b->ndim - 1] : 1;
    int64_t m_size = a->ndim > 1 ? a->sizes[a->ndim - 2] : 1;
    int64_t n = flat % n_size, m = flat / n_size % m_size, batch = flat / n_size / m_size;
    return (dot_place){.a = (batch * m_size + m) * k_size,
                       .b = batch * k_size * n_size + n,
                       .terms = {.n = k_size, .a_step = 1, .b_step = n_size}};
}

/* Of integers, modulo 2^64. */
static uint64_t product_ints(ref_ctx *ctx, int a_arg, int64_t flat) {
    dot_place p = place_of(ctx, a_arg, flat);
    const int64_t *a = ref_ints(ctx, a_arg), *b = ref_ints(ctx, a_arg + 1);
    return a == NULL || b == NULL ? 0 : dot_ints(a + p.a, b + p.b, &p.terms);
}

static double product_real(ref_ctx *ctx, int a_arg, int64_t flat, double *norm) {
    dot_place p = place_of(ctx, a_arg, flat);
    const double *a = ref_real(ctx, a_arg), *b = ref_real(ctx, a_arg + 1);
    if (a == NULL || b == NULL) {
        return 0;
    }
    p.terms.a = a + p.a;
    p.terms.b = b + p.b;
    return dot_real(&p.terms, norm);
}

/* Neighbours in a row of the output read one row of the left factor and neighbours in the right one's rows: term by term in the
   order that dot_real adds them. */
static bool product_run(ref_ctx *ctx, int a_arg, int out, int64_t flat, int64_t n, double *values, double *squares) {
    const tensor *right = call_tensor(ctx->call, a_arg + 1);
    if (dtype_is_integral(ctx->out->items[out].dtype) || right->ndim < 2) {
        return false;
    }
    const double *a = ref_real(ctx, a_arg), *b = ref_real(ctx, a_arg + 1);
    int64_t width = right->sizes[right->ndim - 1], columns;
    for (int64_t done = 0; a != NULL && b != NULL && done < n; done += columns) {
        dot_place p = place_of(ctx, a_arg, flat + done);
        int64_t left = width - (flat + done) % width;
        columns = n - done < left ? n - done : left;
        double *restrict sum = values + done, *restrict square = squares + done;
        for (int64_t k = 0; k < p.terms.n; k++) {
            const double *row = b + p.b + k * width, x = a[p.a + k];
            for (int64_t j = 0; j < columns; j++) {
                double term = x * row[j];
                sum[j] += term;
                square[j] += term * term;
            }
        }
    }
    return true;
}

static bool product_neighbours(ref_ctx *ctx, int out, int64_t flat, int64_t n, double *values, double *squares) {
    return product_run(ctx, 0, out, flat, n, values, squares);
}

static double complex product_complex(ref_ctx *ctx, int a_arg, int64_t flat, double *norm) {
    dot_place p = place_of(ctx, a_arg, flat);
    const double *a = ref_real(ctx, a_arg), *b = ref_real(ctx, a_arg + 1);
    if (a == NULL || b == NULL) {
        return 0;
    }
    p.terms.a = a + 2 * p.a;
    p.terms.b = b + 2 * p.b;
    return dot_complex(&p.terms, norm);
}

/* Part `flat` of a complex output: real parts are even and carry the norm of both. */
static double part_of(double complex value, int64_t flat, double squares, double *norm) {
    *norm += flat % 2 == 0 ? squares : 0;
    return flat % 2 == 0 ? creal(value) : cimag(value);
}

static double product_element(ref_ctx *ctx, int out, int64_t flat, double *norm) {
    dtype t = ctx->out->items[out].dtype;
    if (dtype_is_integral(t)) {
        return ref_wrapped(ctx, out, product_ints(ctx, 0, flat));
    }
    if (!dtype_is_complex(t)) {
        return product_real(ctx, 0, flat, norm);
    }
    double squares = 0;
    double complex value = product_complex(ctx, 0, flat / 2, &squares);
    return part_of(value, flat, squares, norm);
}

/* Row-major position in self of what broadcasts to output element `flat`. */
static int64_t summand_at(const tensor *self, const tensor *out, int64_t flat) {
    int64_t at = 0, step = 1;
    for (int d = 0; d < self->ndim; d++) {
        int64_t size = self->sizes[self->ndim - 1 - d], out_size = out->sizes[out->ndim - 1 - d];
        at += size == 1 ? 0 : flat % out_size * step;
        step *= size;
        flat /= out_size;
    }
    return at;
}

/* A sum of no terms is left out, whatever it would be scaled by: infinity times 0 is none. */
static number scale_of_product(const op_call *call) {
    const tensor *a = call_tensor(call, 1);
    return a->sizes[a->ndim - 1] > 0 ? call_number(call, 4) : number_of_int(0);
}

/* x by a scale. One leaves it as it is (docs/accuracy.md). */
static double complex scaled_complex(double complex by, double complex x) {
    return by == 1 ? x : complex_product(by, x);
}

static double complex sum_complex(ref_ctx *ctx, int out, int64_t flat, double *norm) {
    const tensor *self = call_tensor(ctx->call, 0);
    number beta = call_number(ctx->call, 3), alpha = scale_of_product(ctx->call);
    int64_t at = summand_at(self, &ctx->out->items[out], flat);
    double complex scale = complex_of((const double[]){alpha.f, alpha.im});
    double complex weight = complex_of((const double[]){beta.f, beta.im});
    double squares = 0;
    double complex product = scaled_complex(scale, product_complex(ctx, 1, flat, &squares));
    const double *s = weight != 0 ? ref_real(ctx, 0) : NULL;
    double complex summand = s != NULL ? scaled_complex(weight, complex_of(s + 2 * at)) : 0;
    *norm += cabs(scale) * cabs(scale) * squares + cabs(summand) * cabs(summand);
    return summand + product;
}

/* sum_element's last step: beta * self on top of the product, whose square sum *norm holds. */
static double add_summand(ref_ctx *ctx, int out, int64_t flat, double product, double *norm) {
    double beta = call_number(ctx->call, 3).f, alpha = scale_of_product(ctx->call).f;
    const double *s = beta != 0 ? ref_real(ctx, 0) : NULL;
    double summand = s != NULL ? beta * s[summand_at(call_tensor(ctx->call, 0), &ctx->out->items[out], flat)] : 0;
    *norm = alpha * alpha * *norm + summand * summand;
    return summand + alpha * product;
}

/* beta * self + alpha * (product); arguments: self, factor, factor, beta, alpha. With beta 0 self is not read, so that
   its NaN do not matter. Scalars are integers for integer tensors, whose sums are exact modulo 2^64 to the end. */
static double sum_element(ref_ctx *ctx, int out, int64_t flat, double *norm) {
    const tensor *self = call_tensor(ctx->call, 0), *o = &ctx->out->items[out];
    if (dtype_is_complex(o->dtype)) {
        double both = 0;
        double complex value = sum_complex(ctx, out, flat / 2, &both);
        return part_of(value, flat, both, norm);
    }
    if (dtype_is_integral(o->dtype)) {
        uint64_t beta = (uint64_t)number_to_int(call_number(ctx->call, 3)), alpha = (uint64_t)number_to_int(call_number(ctx->call, 4));
        const int64_t *s = beta != 0 ? ref_ints(ctx, 0) : NULL;
        uint64_t summand = s != NULL ? beta * (uint64_t)s[summand_at(self, o, flat)] : 0;
        return ref_wrapped(ctx, out, summand + alpha * product_ints(ctx, 1, flat));
    }
    double product = product_real(ctx, 1, flat, norm);
    return add_summand(ctx, out, flat, product, norm);
}

static bool sum_neighbours(ref_ctx *ctx, int out, int64_t flat, int64_t n, double *values, double *squares) {
    if (!product_run(ctx, 1, out, flat, n, values, squares)) {
        return false;
    }
    for (int64_t i = 0; i < n; i++) {
        values[i] = add_summand(ctx, out, flat + i, values[i], &squares[i]);
    }
    return true;
}

/* --- shapes ----------------------------------------------------------------------------------------------------------- */

/* mm(self [M, K], mat2 [K, N]) -> [M, N] */
static status mm_infer(const op_call *call, outputs *out, error *err) {
    const tensor *a = call_tensor(call, 0), *b = call_tensor(call, 1);
    TRY(factors_agree(call, a, b, 2, 2, err));
    return push(out, a->dtype, 2, (const int64_t[]){a->sizes[0], b->sizes[1]}, err);
}

/* bmm(self [B, M, K], mat2 [B, K, N]) -> [B, M, N] */
static status bmm_infer(const op_call *call, outputs *out, error *err) {
    const tensor *a = call_tensor(call, 0), *b = call_tensor(call, 1);
    TRY(factors_agree(call, a, b, 3, 3, err));
    return push(out, a->dtype, 3, (const int64_t[]){a->sizes[0], a->sizes[1], b->sizes[2]}, err);
}

/* mv(self [M, K], vec [K]) -> [M] */
static status mv_infer(const op_call *call, outputs *out, error *err) {
    const tensor *a = call_tensor(call, 0), *b = call_tensor(call, 1);
    TRY(factors_agree(call, a, b, 2, 1, err));
    return push(out, a->dtype, 1, a->sizes, err);
}

static status dot_infer(const op_call *call, outputs *out, error *err) {
    const tensor *a = call_tensor(call, 0), *b = call_tensor(call, 1);
    TRY(factors_agree(call, a, b, 1, 1, err));
    return push(out, a->dtype, 0, NULL, err);
}

static status sum_infer(const op_call *call, int ndim, int b_ndim, outputs *out, error *err) {
    const tensor *self = call_tensor(call, 0), *a = call_tensor(call, 1), *b = call_tensor(call, 2);
    TRY(factors_agree(call, a, b, ndim, b_ndim, err));
    int out_ndim = b_ndim == 1 ? 1 : ndim;
    int64_t sizes[3] = {a->sizes[0], ndim == 3 ? a->sizes[1] : b->sizes[b_ndim - 1], b->sizes[b_ndim - 1]};
    TRY(summand_fits(call, self, a->dtype, out_ndim, sizes, err));
    return push(out, a->dtype, out_ndim, sizes, err);
}

static status addmm_infer(const op_call *call, outputs *out, error *err) {
    return sum_infer(call, 2, 2, out, err);
}

static status baddbmm_infer(const op_call *call, outputs *out, error *err) {
    return sum_infer(call, 3, 3, out, err);
}

static status addmv_infer(const op_call *call, outputs *out, error *err) {
    return sum_infer(call, 2, 1, out, err);
}

/* --- cost --------------------------------------------------------------------------------------------------------------- */

static void product_cost_of(const op_call *call, int a_arg, const outputs *out, op_cost *cost) {
    const tensor *a = call_tensor(call, a_arg);
    double k = (double)a->sizes[a->ndim - 1];
    double per_term = flops_of_mul(a->dtype) + flops_of_add(a->dtype);
    cost->flops = per_term * k * (double)tensor_numel(&out->items[0]);
    cost->reduction = k > 1 ? k : 1;
}

static void product_cost(const op_call *call, const outputs *out, op_cost *cost) {
    product_cost_of(call, 0, out, cost);
}

/* With beta 0 nothing is added and self is not read. */
static void sum_cost(const op_call *call, const outputs *out, op_cost *cost) {
    const tensor *made = &out->items[0];
    number beta = call_number(call, 3), alpha = call_number(call, 4);
    bool adds = beta.f != 0 || beta.im != 0;
    double each = flops_of_scale(made->dtype, alpha) + (adds ? flops_of_scale(made->dtype, beta) + flops_of_add(made->dtype) : 0);
    product_cost_of(call, 1, out, cost);
    cost->flops += each * (double)tensor_numel(made);
    if (!adds) {
        op_cost_reads(call, 0, 0, cost);
    }
    cost->reduction += 1;
}

static const op_family family_product = {.name = "matrix product", .cost = product_cost};
static const op_family family_product_sum = {.name = "matrix product", .cost = sum_cost, .has_in_place = true};

/* --- in primitives ------------------------------------------------------------------------------------------------------ */

/* Products with vectors move as much as they compute: sums like any other, which fuse. Matrix products stay the library's. */
static val vector_product(dag *g, const op_call *call, int a) {
    val x = v_arg(g, call, a);
    return v_reduce(g, RED_SUM, v_mul(g, x, v_arg(g, call, a + 1)), (uint64_t)1 << (v_ndim(g, x) - 1), false);
}

static void vector_product_parts(dag *g, const op_call *call, const outputs *out) {
    (void)out;
    v_result(g, 0, vector_product(g, call, 0));
}

static void vector_sum_parts(dag *g, const op_call *call, const outputs *out) {
    (void)out;
    val product = vector_product(g, call, 1);
    number beta = call_number(call, 3), alpha = call_number(call, 4);
    dtype t = v_dtype(g, product);
    const bool is_empty = call_tensor(call, 1)->sizes[1] == 0; /* 0 then, whatever it is scaled by */
    product = is_empty ? product : v_mul(g, product, v_constant(g, t, alpha));
    bool reads = beta.f != 0 || beta.im != 0;
    v_result(g, 0, reads ? v_add(g, product, v_mul(g, v_arg(g, call, 0), v_constant(g, t, beta))) : product);
}

/* self [.., M, K] times mat2 [.., K, N] as [.., M, 1, K] times [.., 1, N, K], summed. */
static val product_as_sum(dag *g, const op_call *call, int a) {
    const tensor *left = call_tensor(call, a), *right = call_tensor(call, a + 1);
    int ndim = left->ndim;
    bool vector = left->sizes[ndim - 2] == 1 || right->sizes[ndim - 1] == 1;
    val x = v_arg(g, call, a), y = v_arg(g, call, a + 1);
    x = vector ? x : v_factor(g, x, left->dtype);
    y = vector ? y : v_factor(g, y, left->dtype);
    val rows = v_unsqueeze(g, x, ndim - 1), columns = v_unsqueeze(g, v_transpose(g, y, ndim - 2, ndim - 1), ndim - 2);
    return v_sum_of_factors(g, v_mul(g, rows, columns), (uint64_t)1 << ndim);
}

/* A single row or column moves as much as it computes. Otherwise the library's product, unless the compiler's own is wanted. */
static bool is_sum(dag *g, const op_call *call, int a, const outputs *out) {
    const tensor *y = &out->items[0];
    int64_t k = call_tensor(call, a)->sizes[y->ndim - 1], rows = y->sizes[y->ndim - 2], columns = y->sizes[y->ndim - 1];
    bool vector = rows == 1 || columns == 1;
    bool sums = k > 1 && primitive_compute_type(y->dtype) == ASSAY_F32;
    return sums && (vector || (rows > 1 && columns > 1 && v_owns_product(g, call)));
}

static void product_parts(dag *g, const op_call *call, const outputs *out) {
    if (!is_sum(g, call, 0, out)) {
        v_library(g, call, out);
        return;
    }
    val product = product_as_sum(g, call, 0);
    v_owned_product(g, call, product);
    v_result(g, 0, product);
}

static void product_sum_parts(dag *g, const op_call *call, const outputs *out) {
    number beta = call_number(call, 3), alpha = call_number(call, 4);
    if (!is_sum(g, call, 1, out)) {
        v_library(g, call, out);
        return;
    }
    val sum = product_as_sum(g, call, 1), product = v_mul_real(g, sum, alpha.f);
    v_owned_product(g, call, sum);
    v_result(g, 0, beta.f != 0 ? v_add(g, product, v_mul_real(g, v_arg(g, call, 0), beta.f)) : product);
}

static const op_row rows[] = {
    {.signature = "mm(Tensor self, Tensor mat2) -> Tensor",
     .doc = "The matrix product of self [M, K] and mat2 [K, N].",
     .family = &family_product,
     .infer = mm_infer,
     .decompose = product_parts,
     .reference_element = product_element,
     .reference_run = product_neighbours},
    {.signature = "bmm(Tensor self, Tensor mat2) -> Tensor",
     .doc = "A matrix product for each batch: self [B, M, K], mat2 [B, K, N].",
     .family = &family_product,
     .infer = bmm_infer,
     .decompose = product_parts,
     .reference_element = product_element,
     .reference_run = product_neighbours},
    {.signature = "mv(Tensor self, Tensor vec) -> Tensor",
     .doc = "The matrix self [M, K] times the vector vec [K].",
     .family = &family_product,
     .infer = mv_infer,
     .decompose = vector_product_parts,
     .reference_element = product_element,
     .reference_run = product_neighbours},
    {.signature = "dot(Tensor self, Tensor tensor) -> Tensor",
     .doc = "The sum of products of two vectors, without conjugation.",
     .family = &family_product,
     .infer = dot_infer,
     .decompose = vector_product_parts,
     .reference_element = product_element,
     .reference_run = product_neighbours},
    {.signature = "addmm(Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1) -> Tensor",
     .doc = "beta * self + alpha * (mat1 times mat2), self broadcast; self is not read when beta is 0.",
     .family = &family_product_sum,
     .infer = addmm_infer,
     .fits_computed = 1 << 3 | 1 << 4,
     .decompose = product_sum_parts,
     .reference_element = sum_element,
     .reference_run = sum_neighbours},
    {.signature = "baddbmm(Tensor self, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar alpha=1) -> Tensor",
     .doc = "addmm for each batch.",
     .family = &family_product_sum,
     .infer = baddbmm_infer,
     .fits_computed = 1 << 3 | 1 << 4,
     .decompose = product_sum_parts,
     .reference_element = sum_element,
     .reference_run = sum_neighbours},
    {.signature = "addmv(Tensor self, Tensor mat, Tensor vec, *, Scalar beta=1, Scalar alpha=1) -> Tensor",
     .doc = "beta * self + alpha * (mat times vec), self broadcast; self is not read when beta is 0.",
     .family = &family_product_sum,
     .infer = addmv_infer,
     .fits_computed = 1 << 3 | 1 << 4,
     .decompose = vector_sum_parts,
     .reference_element = sum_element,
     .reference_run = sum_neighbours},
};

const op_rows rows_matmul = {rows, countof(rows)};
