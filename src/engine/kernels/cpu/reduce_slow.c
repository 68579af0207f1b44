/* SPDX-License-Identifier: Apache-2.0 */
/* Reductions that no model is recorded with: norms of any order, complex variances and truth values, real tensors summed
   as complex ones. One element at a time, in double; threads share the outputs. */
#include "engine/kernels/cpu/parallel.h"
#include "engine/kernels/cpu/reduce.h"
#include "engine/kernels/cpu/reduce_shape.h"
#include "engine/schema/reduction.h"

#include <math.h>

typedef struct slow slow;
typedef void slow_one(const slow *s, const char *in, char *const *out);

struct slow {
    loop kept, reduced;
    dtype in, out;
    double p, divisor; /* divisor: of a mean or a variance */
    bool root;
    slow_one *one;
    int threads;
};

/* A walk over the reduced nest. */
typedef struct walk {
    const loop *l;
    int64_t left, i;
    int64_t index[TENSOR_MAX_DIMS], offset[LOOP_MAX_OPERANDS];
} walk;

static walk walk_start(const slow *s) {
    walk w = {.l = &s->reduced, .left = nest_runs(&s->reduced)};
    return w;
}

static bool walk_next(walk *w, int64_t *offset) {
    if (w->left == 0) {
        return false;
    }
    *offset = w->offset[0] + w->i * w->l->strides[0][0];
    if (++w->i == w->l->sizes[0]) {
        w->i = 0;
        w->left--;
        nest_next(w->l, w->index, w->offset);
    }
    return true;
}

static void norm_one(const slow *s, const char *in, char *const *out) {
    double sum = s->p == -INFINITY ? INFINITY : 0;
    int64_t at;
    for (walk w = walk_start(s); walk_next(&w, &at);) {
        double size = cabs(element_load_complex(s->in, in + at));
        if (isinf(s->p)) {
            sum = isnan(sum) || isnan(size) ? NAN : s->p > 0 ? fmax(sum, size) : fmin(sum, size);
        } else {
            sum += s->p == 0 ? (double)(size != 0) : pow(size, s->p);
        }
    }
    const bool is_empty = s->reduced.numel == 0; /* 0 for an order that is none, too */
    element_store(s->out, out[0], s->p == 0 || isinf(s->p) || is_empty ? sum : pow(sum, 1 / s->p));
}

static void variance_one(const slow *s, const char *in, char *const *out) {
    double re = 0, im = 0, m2 = 0, n = (double)s->reduced.numel;
    int64_t at;
    for (walk w = walk_start(s); walk_next(&w, &at);) {
        double complex z = element_load_complex(s->in, in + at);
        re += creal(z) / n;
        im += cimag(z) / n;
    }
    double re_off = 0, im_off = 0; /* the sum of the distances is what rounding took off the mean */
    for (walk w = walk_start(s); walk_next(&w, &at);) {
        double complex z = element_load_complex(s->in, in + at) - CMPLX(re, im);
        re_off += creal(z);
        im_off += cimag(z);
        m2 += creal(z) * creal(z) + cimag(z) * cimag(z);
    }
    if (n > 0 && isfinite(re_off) && isfinite(im_off)) {
        re += re_off / n;
        im += im_off / n;
        m2 = fmax(m2 - (re_off * re_off + im_off * im_off) / n, 0);
    }
    double variance = n > 0 ? m2 / s->divisor : NAN, nothing = n > 0 ? 0 : NAN;
    element_store(s->out, out[0], s->root ? sqrt(variance) : variance);
    if (s->kept.n_operands == 3) {
        dtype parts = dtype_real(s->in);
        element_store(parts, out[1], re + nothing);
        element_store(parts, out[1] + dtype_size(parts), im + nothing);
    }
}

static void all_one(const slow *s, const char *in, char *const *out) {
    bool all = true;
    int64_t at;
    for (walk w = walk_start(s); walk_next(&w, &at);) {
        double complex z = element_load_complex(s->in, in + at);
        all = all && (creal(z) != 0 || cimag(z) != 0);
    }
    element_store_int(s->out, out[0], all);
}

/* A real tensor's sum or mean as a complex number. */
static void sum_one(const slow *s, const char *in, char *const *out) {
    double sum = 0;
    int64_t at;
    for (walk w = walk_start(s); walk_next(&w, &at);) {
        sum += element_load(s->in, in + at);
    }
    dtype parts = dtype_real(s->out);
    element_store(parts, out[0], sum / s->divisor);
    element_store(parts, out[0] + dtype_size(parts), 0 / s->divisor); /* NaN in the mean of nothing */
}

static void share_slow(const void *context) {
    const slow *s = context;
    int64_t from, to, index[TENSOR_MAX_DIMS], offset[LOOP_MAX_OPERANDS];
    parallel_share(s->kept.numel, 1, &from, &to);
    for (int64_t i = from; i < to; i++) {
        char *out[REDUCE_MAX_OUTPUTS] = {NULL, NULL};
        loop_seek(&s->kept, i, index, offset);
        for (int k = 1; k < s->kept.n_operands; k++) {
            out[k - 1] = s->kept.data[k] + offset[k];
        }
        s->one(s, s->kept.data[0] + offset[0], out);
    }
}

static status run_slow(kernel_plan *plan) {
    const slow *s = plan->state;
    parallel_run(s->threads, share_slow, s);
    return ASSAY_OK;
}

status prepare_reduce_slow(kernel_plan *plan, error *err) {
    slow *s = arena_make(plan->memory, 1, sizeof *s);
    if (s == NULL) {
        return fail(err, ASSAY_OUT_OF_MEMORY, "no memory for a plan");
    }
    const op_call *call = plan->call;
    tensor *self = call_tensor(call, 0);
    int dims = signature_find_param(&call->op->signature, "dim");
    const char *name = call->op->signature.name;
    double length = reduction_length(call, dims);
    uint32_t mask;
    reduce_shape shape;
    TRY(reduction_mask(call, dims, &mask, err));
    reduce_shape_init(&shape, row_loops_for(self->dtype), self, mask, PARTS_WHOLE, plan->out->items, plan->out->n, INT64_MAX);
    s->kept = shape.kept;
    s->reduced = shape.reduced;
    s->in = self->dtype;
    s->out = plan->out->items[0].dtype;
    s->divisor = 1;
    if (name[0] == 'n') {
        s->one = norm_one;
        s->p = call_is_none(call, 1) ? 2 : call_float(call, 1);
    } else if (name[0] == 'a') {
        s->one = all_one;
    } else if (dtype_is_complex(s->out)) {
        s->one = sum_one;
        s->divisor = name[0] == 'm' ? length : 1;
    } else {
        s->one = variance_one;
        s->divisor = fmax(length - (call_is_none(call, 2) ? 1 : call_float(call, 2)), 0);
        s->root = name[0] == 's';
    }
    s->threads = parallel_threads(16 * (double)tensor_numel(self));
    plan->state = s;
    plan->run = run_slow;
    return ASSAY_OK;
}
