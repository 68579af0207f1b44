/* SPDX-License-Identifier: Apache-2.0 */
/* Sums and means of complex numbers that lie together: real and imaginary parts as two columns would go two at a time. */
#include "engine/kernels/cpu/parallel.h"
#include "engine/kernels/cpu/reduce.h"
#include "engine/kernels/cpu/reduce_shape.h"
#include "engine/schema/reduction.h"

typedef struct pair_sums {
    loop kept; /* operand 0 the input, 1 the output */
    int64_t n; /* numbers of each sum */
    bool is_double;
    double divisor;
    int threads;
} pair_sums;

/* Parts by turns in so many sums, which vectors hold; so many of them before they go to double. */
enum { LANES = 16, BLOCK = 1024 };

static void fold_lanes(const float *lanes, double *re, double *im) {
    for (int k = 0; k < LANES; k += 2) {
        *re += (double)lanes[k];
        *im += (double)lanes[k + 1];
    }
}

static void sum_floats(const float *x, int64_t n, double *re, double *im) {
    for (int64_t from = 0; from < 2 * n; from += BLOCK) {
        const int64_t to = 2 * n < from + BLOCK ? 2 * n : from + BLOCK;
        float lanes[LANES] = {0};
        int64_t i = from;
        for (; i + LANES <= to; i += LANES) {
            for (int k = 0; k < LANES; k++) {
                lanes[k] += x[i + k];
            }
        }
        for (int k = 0; i < to; i++, k++) {
            lanes[k] += x[i];
        }
        fold_lanes(lanes, re, im);
    }
}

static void sum_doubles(const double *x, int64_t n, double *re, double *im) {
    double lanes[LANES] = {0};
    int64_t i = 0;
    for (; i + LANES <= 2 * n; i += LANES) {
        for (int k = 0; k < LANES; k++) {
            lanes[k] += x[i + k];
        }
    }
    for (int k = 0; i < 2 * n; i++, k++) {
        lanes[k] += x[i];
    }
    for (int k = 0; k < LANES; k += 2) {
        *re += lanes[k];
        *im += lanes[k + 1];
    }
}

static void sum_one(const pair_sums *s, const void *in, void *out) {
    double re = 0, im = 0;
    if (s->is_double) {
        sum_doubles(in, s->n, &re, &im);
        ((double *)out)[0] = re / s->divisor;
        ((double *)out)[1] = im / s->divisor;
    } else {
        sum_floats(in, s->n, &re, &im);
        ((float *)out)[0] = (float)(re / s->divisor);
        ((float *)out)[1] = (float)(im / s->divisor);
    }
}

static void share_sums(const void *context) {
    const pair_sums *s = context;
    const loop *l = &s->kept;
    int64_t from, to, index[TENSOR_MAX_DIMS], offset[LOOP_MAX_OPERANDS];
    parallel_share(l->numel, 1, &from, &to);
    for (int64_t i = from, n; i < to; i += n) { /* the rest of a run of outputs */
        loop_seek(l, i, index, offset);
        n = l->sizes[0] - index[0] < to - i ? l->sizes[0] - index[0] : to - i;
        for (int64_t k = 0; k < n; k++) {
            sum_one(s, l->data[0] + offset[0] + k * l->strides[0][0], l->data[1] + offset[1] + k * l->strides[1][0]);
        }
    }
}

static status run_sums(kernel_plan *plan) {
    const pair_sums *s = plan->state;
    parallel_run(s->threads, share_sums, s);
    return ASSAY_OK;
}

bool prepare_pair_sums(kernel_plan *plan, bool divides) {
    enum { OUTPUTS_A_THREAD = 4 };
    tensor *self = call_tensor(plan->call, 0), *out = &plan->out->items[0];
    const int dims = signature_find_param(&plan->call->op->signature, "dim");
    uint32_t mask;
    reduce_shape shape;
    pair_sums *s = arena_make(plan->memory, 1, sizeof *s);
    const bool is_double = self->dtype == ASSAY_C128;
    if (s == NULL || self->dtype != out->dtype || (self->dtype != ASSAY_C64 && !is_double) ||
        reduction_mask(plan->call, dims, &mask, NULL) != ASSAY_OK) {
        return false;
    }
    reduce_shape_init(&shape, row_loops_for(dtype_real(self->dtype)), self, mask, PARTS_WHOLE, out, 1, INT64_MAX);
    const int threads = parallel_threads((double)tensor_numel(self) * (double)dtype_size(self->dtype));
    const int64_t size = (int64_t)dtype_size(self->dtype);
    if (nest_runs(&shape.reduced) != 1 || shape.reduced.numel < 2 || shape.reduced.strides[0][0] != size ||
        shape.kept.numel < (int64_t)OUTPUTS_A_THREAD * threads) {
        return false;
    }
    *s = (pair_sums){shape.kept, shape.reduced.numel, is_double, divides ? reduction_length(plan->call, dims) : 1, threads};
    plan->state = s;
    plan->run = run_sums;
    return true;
}
