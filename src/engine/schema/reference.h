/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a row's reference: dense doubles in, dense doubles out, for all of an output or for a chosen part of it. */
#ifndef ENGINE_SCHEMA_REFERENCE_H
#define ENGINE_SCHEMA_REFERENCE_H

#include "engine/schema/op.h"

#include <math.h>

/* One reference evaluation of one call. Everything it hands out lives until ref_clear. */
struct ref_ctx {
    const op_call *call;
    const outputs *out; /* as inferred: dtypes, sizes */
    arena memory;
    void *scratch;      /* an element reference's own cache between calls; allocate it in `memory` */
    void **dense;       /* per argument (and per list item behind them), made on first use */
    size_t n_dense;
    size_t dense_bytes; /* of what dense has so far */
    double **output;    /* per output, made on first use */
    double **squares;   /* likewise: what is behind a whole reference's elements, where it says so */
    double rounding;    /* epsilon of the type that sums of what is judged are kept in; a graph's reference is asked in double */
    status failed;      /* OUT_OF_MEMORY once any allocation failed: element references cannot return a status */
};

/* What to compute of each output. */
typedef struct ref_request {
    int64_t n;             /* elements */
    const int64_t *flat;   /* their flat row-major indices, ascending; NULL: all, n = numel */
    double *value;         /* n values to fill in (2n, re and im in turn, for complex outputs) */
    double *norm;          /* n: square root of the square sum of the terms; NULL if not wanted */
} ref_request;

status ref_init(ref_ctx *ctx, const op_call *call, const outputs *out, error *err);
/* The outputs that will be judged, where they are not those of ref_init. */
void ref_judge(ref_ctx *ctx, const outputs *judged);
void ref_clear(ref_ctx *ctx);

/* Fills one request per output of the call; OpenMP's threads share the elements, each with a copy of ctx and a scratch of its
   own. For an in-place call the inputs must still hold their original values. */
status ref_run(ref_ctx *ctx, ref_request *requests, error *err);

/* Argument i where the call writes it besides its outputs and the row says what it leaves there; else NULL. */
const tensor *ref_written_tensor(const op_call *call, int i);

/* Fills the request with what the call leaves in argument i, one that ref_written_tensor knows, all of its elements or
   some. The inputs must still hold their original values. OUT_OF_MEMORY. */
status ref_run_written(ref_ctx *ctx, int i, ref_request *request, error *err);

/* --- for references --------------------------------------------------------------------------------------------------- */

/* Tensor argument i in row-major order: as doubles (booleans 0 and 1; complex: re, im interleaved), as int64. NULL for
   None, and when memory is out (ctx->failed is set then; return at once). The item forms take element k of a list. */
const double *ref_real(ref_ctx *ctx, int i);
const int64_t *ref_ints(ref_ctx *ctx, int i);
const double *ref_real_item(ref_ctx *ctx, int i, int k);
const int64_t *ref_ints_item(ref_ctx *ctx, int i, int k);
/* Output `out` in row-major order, zeroed, to be filled by a `whole` reference (complex: interleaved). NULL when memory is
   out. */
double *ref_output(ref_ctx *ctx, int out);
/* Its elements' square sums of terms in row-major order, zeroed, for a `whole` reference whose terms may cancel; what it does not
   ask for is unknown. NULL when memory is out. */
double *ref_squares(ref_ctx *ctx, int out);
/* Term of a `moves` reference: the element at row-major index flat of t. */
void ref_take(ref_term *term, const tensor *t, int64_t flat);
/* A whole number as output `out`, of an integer type, holds it: kernels' integers wrap around. */
double ref_wrapped(const ref_ctx *ctx, int out, uint64_t value);
/* Memory until ref_clear, zeroed; NULL (and ctx->failed) when there is none. */
void *ref_make(ref_ctx *ctx, size_t count, size_t size_bytes);

/* A sum and what rounding has taken from it: right to its last digits for any number of terms. Equal terms would else be rounded
   all to one side. */
typedef struct ref_sum {
    double sum, lost;
} ref_sum;

static inline void ref_sum_add(ref_sum *s, double term) {
    double before = s->sum;
    s->sum += term;
    double added = s->sum - before;
    s->lost += (before - (s->sum - added)) + (term - added);
}

static inline double ref_sum_total(const ref_sum *s) {
    return isfinite(s->sum) ? s->sum + s->lost : s->sum;
}

/* Dense row-major doubles of any tensor, into caller's memory (numel values, twice that for complex). */
void ref_gather(const tensor *t, double *values);
void ref_gather_ints(const tensor *t, int64_t *values);

#endif
