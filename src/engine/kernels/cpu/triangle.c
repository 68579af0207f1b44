/* SPDX-License-Identifier: Apache-2.0 */
/* tril and triu: of each row one part is copied, the other zeroed. */
#include "engine/kernels/cpu/isa/copy_loops.h"
#include "engine/kernels/cpu/kernels.h"
#include "engine/kernels/cpu/parallel.h"
#include "engine/kernels/cpu/streaming.h"

#include <string.h>

typedef struct triangle {
    const tensor *src, *dst;
    const copy_loops *loops;
    int log2;
    int64_t diagonal;
    int64_t n_rows;
    bool lower;
    bool copies;  /* not in place */
    bool streams; /* past the caches */
} triangle;

static const char zeros[16];

static void run_row(const triangle *k, int64_t row) {
    const tensor *src = k->src, *dst = k->dst;
    int last = dst->ndim - 1;
    ptrdiff_t size = (ptrdiff_t)1 << k->log2, ds = dst->strides[last] * size, ss = src->strides[last] * size;
    int64_t columns = dst->sizes[last], in_matrix = row % dst->sizes[last - 1], from = 0, to = 0;
    for (int d = last - 1; d >= 0; d--) {
        from += row % dst->sizes[d] * src->strides[d];
        to += row % dst->sizes[d] * dst->strides[d];
        row /= dst->sizes[d];
    }
    /* Columns before `edge` are kept (lower), or those from it on (upper). */
    int64_t most = k->lower ? 1 : 0, edge = 0;
    if (!__builtin_add_overflow(in_matrix + most, k->diagonal, &edge)) {
        edge = edge < 0 ? 0 : edge > columns ? columns : edge;
    } else {
        edge = k->diagonal > 0 ? columns : 0;
    }
    int64_t keep_from = k->lower ? 0 : edge, keep_to = k->lower ? edge : columns;
    int64_t zero_from = k->lower ? edge : 0, zero_to = k->lower ? columns : edge;
    char *out = tensor_data(dst) + to * size;
    const char *in = tensor_data(src) + from * size + keep_from * ss;
    if (k->copies && keep_to > keep_from) {
        if (k->streams && ds == size && ss == size) {
            k->loops->stream(out + keep_from * size, in, (size_t)(keep_to - keep_from) << k->log2);
        } else if (ds == size && ss == size) {
            memcpy(out + keep_from * size, in, (size_t)(keep_to - keep_from) << k->log2);
        } else {
            k->loops->strided(out + keep_from * ds, in, k->log2, keep_to - keep_from, ds, ss);
        }
    }
    if (zero_to > zero_from && k->streams && ds == size) {
        k->loops->fill(out + zero_from * size, zeros, k->log2, zero_to - zero_from, 1);
    } else if (zero_to > zero_from && ds == size) {
        memset(out + zero_from * size, 0, (size_t)(zero_to - zero_from) << k->log2);
    } else if (zero_to > zero_from) {
        k->loops->strided(out + zero_from * ds, zeros, k->log2, zero_to - zero_from, ds, 0);
    }
}

static void share(const void *context) {
    const triangle *k = context;
    int64_t from, to;
    parallel_share(k->n_rows, 1, &from, &to); /* what a row has not to copy it has to zero */
    for (int64_t row = from; row < to; row++) {
        run_row(k, row);
    }
    if (k->streams) {
        k->loops->settle();
    }
}

static status run(kernel_plan *plan) {
    const triangle *k = plan->state;
    double bytes = 1.5 * (double)tensor_numel(k->dst) * (double)(1 << k->log2);
    parallel_run(parallel_threads(bytes), share, k);
    return ASSAY_OK;
}

static status prepare(kernel_plan *plan, bool lower) {
    const tensor *src = call_tensor(plan->call, 0), *dst = &plan->out->items[0];
    triangle *k = (triangle *)plan->inline_state;
    *k = (triangle){.src = src,
                    .dst = dst,
                    .loops = copy_loops_best(),
                    .diagonal = call_int(plan->call, 1),
                    .lower = lower,
                    .copies = tensor_data(src) != tensor_data(dst)};
    while ((size_t)1 << k->log2 < dtype_size(dst->dtype)) {
        k->log2++;
    }
    k->streams = k->copies && tensor_bytes(dst) >= STREAM_MIN_BYTES;
    int64_t columns = dst->sizes[dst->ndim - 1];
    k->n_rows = columns > 0 ? tensor_numel(dst) / columns : 0;
    plan->state = k;
    plan->run = run;
    return ASSAY_OK;
}

static status prepare_tril(kernel_plan *plan, error *err) {
    (void)err;
    return prepare(plan, true);
}

static status prepare_triu(kernel_plan *plan, error *err) {
    (void)err;
    return prepare(plan, false);
}

static const kernel_row rows[] = {{"tril.default", prepare_tril, NULL}, {"triu.default", prepare_triu, NULL}};

const kernel_rows kernels_triangle = {rows, countof(rows)};
