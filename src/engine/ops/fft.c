/* SPDX-License-Identifier: Apache-2.0 */
/* The discrete Fourier transform over some dimensions. N: the product of their sizes. */
#include "engine/graph/dag.h"
#include "engine/ops/rows.h"
#include "engine/schema/reference.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

enum { FFT_NONE, FFT_BY_ROOT_N, FFT_BY_N };

static status fft_dims(const op_call *call, uint32_t *mask, error *err) {
    const tensor *self = call_tensor(call, 0);
    int n;
    const int64_t *dims = call_ints(call, 1, &n);
    *mask = 0;
    for (int i = 0; i < n; i++) {
        int dim;
        TRY(dim_wrap(dims[i], self->ndim, &dim, err));
        if (self->ndim == 0 || (*mask >> dim & 1) != 0 || self->sizes[dim] == 0) {
            return fail(err, ASSAY_INVALID, "%s: expected distinct dimensions of at least one element, got %" PRId64 " in place %d",
                        call->op->signature.full, dims[i], i);
        }
        *mask |= UINT32_C(1) << dim;
    }
    return ASSAY_OK;
}

/* Dimensions of one kind behind those in `order`, those with larger strides first; ties keep their order. */
static int append_by_stride(int *order, int n, const tensor *t, uint32_t mask) {
    int from = n;
    for (int d = 0; d < t->ndim; d++) {
        if ((mask >> d & 1) == 0) {
            continue;
        }
        int at = n++;
        for (; at > from && t->strides[order[at - 1]] < t->strides[d]; at--) {
            order[at] = order[at - 1];
        }
        order[at] = d;
    }
    return n;
}

/* ATen's CPU code leaves the output as its library call filled it: batch dimensions outside, transformed ones inside. */
static status fft_infer(const op_call *call, outputs *out, error *err) {
    const tensor *self = call_tensor(call, 0);
    uint32_t mask;
    int64_t normalization = call_int(call, 2);
    if (!dtype_is_complex(self->dtype) || normalization < FFT_NONE || normalization > FFT_BY_N) {
        return fail(err, ASSAY_INVALID, "%s: expected a complex type and a normalization of 0, 1 or 2, got %s and %" PRId64,
                    call->op->signature.full, assay_dtype_name(self->dtype), normalization);
    }
    TRY(fft_dims(call, &mask, err));
    tensor *t = outputs_push(out);
    if (t == NULL) {
        return fail(err, ASSAY_OUT_OF_MEMORY, "no memory for outputs");
    }
    if (mask == 0) {
        return tensor_init_like(t, self->dtype, self, err);
    }
    int order[TENSOR_MAX_DIMS];
    int n = append_by_stride(order, 0, self, ~mask);
    append_by_stride(order, n, self, mask);
    return tensor_init_permuted(t, self->dtype, self->ndim, self->sizes, order, err);
}

/* --- reference: plain sums ---------------------------------------------------------------------------------------------- */

/* Transforms are done whole, one dimension after the other, each split by its prime factors; where large primes make that
   long, each wanted element is a sum of its own. */
static const double WHOLE_LIMIT = 2e10;

typedef struct fft_ref {
    uint32_t mask;
    double sign, scale;
    double *turns[TENSOR_MAX_DIMS]; /* exp(2 pi i k / n), interleaved */
    double *whole;                  /* the finished transform, or NULL */
    double *energy;                 /* per batch: the square sum of the inputs */
    int64_t last;                   /* the element whose value is kept: its two parts are asked for in turn */
    double value[2];
} fft_ref;

static int64_t smallest_factor(int64_t n) {
    for (int64_t p = 2; p * p <= n; p++) {
        if (n % p == 0) {
            return p;
        }
    }
    return n;
}

/* Multiplications per element of a transform of n elements: the sum of its prime factors. */
static double factor_sum(int64_t n) {
    double sum = 0;
    while (n > 1) {
        int64_t p = smallest_factor(n);
        sum += (double)p;
        n /= p;
    }
    return sum;
}

/* A table of turns for the whole line and how many of them one step of this level takes. */
typedef struct turn_table {
    const double *turns;
    int64_t size;
    double sign;
} turn_table;

/* out[k] = sum over j of x[j * stride] exp(sign 2 pi i j k / n), by the definition for a prime n, else split by its
   smallest factor p: p transforms of every p-th element, then sums over p of them (Cooley and Tukey, 1965). */
static void dft(const double *x, int64_t stride, int64_t n, const turn_table *table, double *out, double *work) {
    int64_t p = smallest_factor(n), m = n / p, step = table->size / n;
    for (int64_t j = 0; j < p && m > 1; j++) {
        dft(x + 2 * j * stride, stride * p, m, table, work + 2 * j * m, out + 2 * j * m);
    }
    for (int64_t k = 0; k < n; k++) {
        double re = 0, im = 0;
        for (int64_t j = 0, turn = 0; j < p; j++, turn += k, turn -= turn >= n ? n : 0) {
            const double *from = m > 1 ? work + 2 * (j * m + k % m) : x + 2 * j * stride;
            double c = table->turns[2 * turn * step], s = table->sign * table->turns[2 * turn * step + 1];
            re += from[0] * c - from[1] * s;
            im += from[0] * s + from[1] * c;
        }
        out[2 * k] = re;
        out[2 * k + 1] = im;
    }
}

/* One dimension of a dense array in place: lines of n elements, `inner` apart. lines has room for two. */
static void dft_lines(double *x, int64_t numel, int64_t n, int64_t inner, const double *turns, double sign, double *lines) {
    turn_table table = {.turns = turns, .size = n, .sign = sign};
    for (int64_t l = 0; l < numel / n; l++) {
        double *at = x + 2 * (l / inner * n * inner + l % inner);
        dft(at, inner, n, &table, lines, lines + 2 * n);
        for (int64_t k = 0; k < n; k++) {
            at[2 * k * inner] = lines[2 * k];
            at[2 * k * inner + 1] = lines[2 * k + 1];
        }
    }
}

static status make_turns(ref_ctx *ctx, fft_ref *r) {
    const tensor *self = call_tensor(ctx->call, 0);
    for (int d = 0; d < self->ndim; d++) {
        int64_t n = self->sizes[d];
        r->turns[d] = (r->mask >> d & 1) != 0 ? ref_make(ctx, (size_t)n * 2, sizeof(double)) : NULL;
        for (int64_t k = 0; r->turns[d] != NULL && k < n; k++) {
            r->turns[d][2 * k] = cos(2 * M_PI * (double)k / (double)n);
            r->turns[d][2 * k + 1] = sin(2 * M_PI * (double)k / (double)n);
        }
    }
    return ctx->failed;
}

/* Position of flat element i among the batches, and the number of elements of one transform. */
static int64_t batch_of(const tensor *self, uint32_t mask, int64_t i) {
    int64_t batch = 0, stride = 1;
    for (int d = self->ndim - 1; d >= 0; d--) {
        if ((mask >> d & 1) == 0) {
            batch += i % self->sizes[d] * stride;
            stride *= self->sizes[d];
        }
        i /= self->sizes[d];
    }
    return batch;
}

static fft_ref *fft_ref_make(ref_ctx *ctx) {
    const op_call *call = ctx->call;
    const tensor *self = call_tensor(call, 0);
    const double *x = ref_real(ctx, 0);
    fft_ref *r = ref_make(ctx, 1, sizeof *r);
    if (r == NULL || x == NULL || fft_dims(call, &r->mask, NULL) != ASSAY_OK || make_turns(ctx, r) != ASSAY_OK) {
        return NULL;
    }
    int64_t numel = tensor_numel(self), n = 1, longest = 1;
    double sum = 0;
    for (int d = 0; d < self->ndim; d++) {
        if ((r->mask >> d & 1) != 0) {
            n *= self->sizes[d];
            sum += factor_sum(self->sizes[d]);
            longest = self->sizes[d] > longest ? self->sizes[d] : longest;
        }
    }
    int64_t normalization = call_int(call, 2);
    r->last = -1;
    r->sign = call_bool(call, 3) ? -1 : 1;
    r->scale = normalization == FFT_BY_N ? 1.0 / (double)n : normalization == FFT_BY_ROOT_N ? 1 / sqrt((double)n) : 1;
    r->energy = ref_make(ctx, (size_t)(numel / n), sizeof *r->energy);
    for (int64_t i = 0; r->energy != NULL && i < numel; i++) {
        r->energy[batch_of(self, r->mask, i)] += r->scale * r->scale * (x[2 * i] * x[2 * i] + x[2 * i + 1] * x[2 * i + 1]);
    }
    double *line = NULL;
    if ((double)numel * sum <= WHOLE_LIMIT) {
        r->whole = ref_make(ctx, (size_t)numel * 2, sizeof *r->whole);
        line = ref_make(ctx, (size_t)longest * 4, sizeof *line);
    }
    if (ctx->failed != ASSAY_OK || line == NULL) {
        return ctx->failed == ASSAY_OK ? r : NULL;
    }
    memcpy(r->whole, x, (size_t)numel * 2 * sizeof *x);
    int64_t inner = 1;
    for (int d = self->ndim - 1; d >= 0; d--) {
        if (r->turns[d] != NULL) {
            dft_lines(r->whole, numel, self->sizes[d], inner, r->turns[d], r->sign, line);
        }
        inner *= self->sizes[d];
    }
    return r;
}

/* Element `flat` as one sum over all transformed dimensions. */
static void dft_element(fft_ref *r, const tensor *self, const double *x, int64_t flat) {
    int64_t wanted[TENSOR_MAX_DIMS], strides[TENSOR_MAX_DIMS], index[TENSOR_MAX_DIMS] = {0}, at = 0, rest = flat;
    sizes_contiguous_strides(self->ndim, self->sizes, strides);
    for (int d = self->ndim - 1; d >= 0; d--) {
        wanted[d] = rest % self->sizes[d];
        rest /= self->sizes[d];
        at += r->turns[d] == NULL ? wanted[d] * strides[d] : 0;
    }
    double re = 0, im = 0;
    for (bool more = true; more;) {
        double c = 1, s = 0;
        for (int d = 0; d < self->ndim; d++) {
            if (r->turns[d] != NULL) {
                const double *turn = r->turns[d] + 2 * (wanted[d] * index[d] % self->sizes[d]);
                double next = c * turn[0] - s * turn[1];
                s = c * turn[1] + s * turn[0];
                c = next;
            }
        }
        s *= r->sign;
        re += x[2 * at] * c - x[2 * at + 1] * s;
        im += x[2 * at] * s + x[2 * at + 1] * c;
        more = false;
        for (int d = self->ndim - 1; d >= 0 && !more; d--) {
            if (r->turns[d] == NULL) {
                continue;
            }
            at += strides[d];
            more = ++index[d] < self->sizes[d];
            if (!more) {
                at -= strides[d] * self->sizes[d];
                index[d] = 0;
            }
        }
    }
    r->value[0] = re;
    r->value[1] = im;
    r->last = flat;
}

static double fft_element(ref_ctx *ctx, int out, int64_t flat, double *norm) {
    (void)out;
    if (ctx->scratch == NULL) {
        ctx->scratch = fft_ref_make(ctx);
    }
    fft_ref *r = ctx->scratch;
    const tensor *self = call_tensor(ctx->call, 0);
    if (r == NULL) {
        return NAN;
    }
    *norm = r->energy[batch_of(self, r->mask, flat / 2)];
    if (r->whole != NULL) {
        return r->scale * r->whole[flat];
    }
    if (r->last != flat / 2) {
        dft_element(r, self, ref_real(ctx, 0), flat / 2);
    }
    return r->scale * r->value[flat % 2];
}

/* 5 N log2 N, the usual count; every output element is the end of log2 N rounded sums. */
static void fft_cost(const op_call *call, const outputs *out, op_cost *cost) {
    const tensor *self = call_tensor(call, 0);
    uint32_t mask;
    double logs = 0;
    for (int d = 0; fft_dims(call, &mask, NULL) == ASSAY_OK && d < self->ndim; d++) {
        logs += (mask >> d & 1) != 0 ? log2((double)self->sizes[d]) : 0;
    }
    cost->flops = 5 * (double)tensor_numel(&out->items[0]) * logs;
    cost->reduction = 1 + 4 * logs;
}

static const op_family family_transform = {.name = "transform", .cost = fft_cost};

static void fft_parts(dag *g, const op_call *call, const outputs *out) {
    (void)call, (void)out;
    v_refuse(g, "a Fourier transform is the library's algorithm");
}

static const op_row rows[] = {
    {.signature = "_fft_c2c(Tensor self, SymInt[] dim, int normalization, bool forward) -> Tensor",
     .doc = "The discrete Fourier transform of complex numbers over the given dimensions, or its inverse.",
     .family = &family_transform,
     .decompose = fft_parts,
     .infer = fft_infer,
     .reference_element = fft_element},
};

const op_rows rows_fft = {rows, countof(rows)};
