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
    ptrdiff_t ahead; /* streams: so many bytes further on, memory is asked for */
} triangle;

/* So far ahead, at least, memory is asked for; of rows that are longer than the most, further on in the row itself. */
enum { AHEAD_BYTES = 16 << 10, MOST_AHEAD_BYTES = 256 << 10 };

static const char zeros[16];

/* What is kept of a row, past the caches. Of the row that follows, the CPU reads nothing ahead by itself: what it left out of this one lies
   between. */
static void stream_kept(const triangle *k, char *to, const char *from, size_t bytes) {
    enum { PIECE = 512 };
    for (size_t at = 0, some; at < bytes; at += some) {
        size_t to_line = PIECE - ((uintptr_t)(to + at) & (STREAM_LINE_BYTES - 1));
        some = bytes - at < to_line ? bytes - at : to_line;
        for (size_t i = 0; i < some; i += STREAM_LINE_BYTES) {
            __builtin_prefetch((const char *)((uintptr_t)from + at + i + (uintptr_t)k->ahead), 0, 2); /* it may lie outside */
        }
        k->loops->stream(to + at, from + at, some);
    }
}

static void stream_zeros(const triangle *k, char *to, size_t bytes) {
    k->loops->fill(to, zeros, 0, (int64_t)bytes, 1);
}

/* A row past the caches, kept in its first `edge` bytes (lower), or behind them. The line that has some of both goes there as a whole. */
static void stream_row(const triangle *k, char *to, const char *from, size_t edge, size_t bytes) {
    char line[STREAM_LINE_BYTES] = {0};
    size_t before = (uintptr_t)(to + edge) & (STREAM_LINE_BYTES - 1), first = edge, second = edge;
    if (before > 0 && before <= edge && edge - before + STREAM_LINE_BYTES <= bytes) {
        first = edge - before;
        second = first + STREAM_LINE_BYTES;
        memcpy(line + (k->lower ? 0 : before), from + (k->lower ? first : edge), k->lower ? before : second - edge);
    }
    if (k->lower) {
        stream_kept(k, to, from, first);
    } else {
        stream_zeros(k, to, first);
    }
    k->loops->stream(to + first, line, second - first);
    if (k->lower) {
        stream_zeros(k, to + second, bytes - second);
    } else {
        stream_kept(k, to + second, from + second, bytes - second);
    }
}

/* Columns before it are kept (lower), or those from it on (upper). */
static int64_t edge_of(const triangle *k, int64_t in_matrix, int64_t columns) {
    int64_t edge;
    if (__builtin_add_overflow(in_matrix + (k->lower ? 1 : 0), k->diagonal, &edge)) {
        return k->diagonal > 0 ? columns : 0;
    }
    return edge < 0 ? 0 : edge > columns ? columns : edge;
}

/* Row `in_matrix` of the matrices that begin at to and from. */
static void run_row(const triangle *k, int64_t in_matrix, char *to, const char *from) {
    const tensor *src = k->src, *dst = k->dst;
    int last = dst->ndim - 1;
    ptrdiff_t size = (ptrdiff_t)1 << k->log2, ds = dst->strides[last] * size, ss = src->strides[last] * size;
    int64_t columns = dst->sizes[last], edge = edge_of(k, in_matrix, columns);
    char *out = to + in_matrix * dst->strides[last - 1] * size;
    const char *in = from + in_matrix * src->strides[last - 1] * size;
    int64_t keep_from = k->lower ? 0 : edge, keep_to = k->lower ? edge : columns;
    int64_t zero_from = k->lower ? edge : 0, zero_to = k->lower ? columns : edge;
    if (k->streams && ((uintptr_t)out | (uintptr_t)(columns * size)) % STREAM_LINE_BYTES == 0) {
        k->loops->stream_part(out, in, (size_t)(keep_from * size), (size_t)(keep_to * size), (size_t)(columns * size), k->ahead);
        return;
    }
    if (k->streams) {
        stream_row(k, out, in, (size_t)(edge * size), (size_t)(columns * size));
        return;
    }
    in += keep_from * ss;
    if (k->copies && keep_to > keep_from) {
        if (ds == size && ss == size) {
            memcpy(out + keep_from * size, in, (size_t)(keep_to - keep_from) << k->log2);
        } else {
            k->loops->strided(out + keep_from * ds, in, k->log2, keep_to - keep_from, ds, ss);
        }
    }
    if (zero_to > zero_from && ds == size) {
        memset(out + zero_from * size, 0, (size_t)(zero_to - zero_from) << k->log2);
    } else if (zero_to > zero_from) {
        k->loops->strided(out + zero_from * ds, zeros, k->log2, zero_to - zero_from, ds, 0);
    }
}

static void share(const void *context) {
    const triangle *k = context;
    const tensor *src = k->src, *dst = k->dst;
    const int64_t rows = dst->sizes[dst->ndim - 2];
    int64_t first, end;
    parallel_share(k->n_rows, 1, &first, &end); /* what a row has not to copy it has to zero */
    for (int64_t row = first; row < end;) {
        int64_t matrix = row / rows, in_matrix = row % rows, from = 0, to = 0;
        for (int d = dst->ndim - 3; d >= 0; d--) {
            from += matrix % dst->sizes[d] * src->strides[d];
            to += matrix % dst->sizes[d] * dst->strides[d];
            matrix /= dst->sizes[d];
        }
        const char *in = tensor_data(src) + from * ((ptrdiff_t)1 << k->log2);
        char *out = tensor_data(dst) + to * ((ptrdiff_t)1 << k->log2);
        for (; row < end && in_matrix < rows; row++, in_matrix++) {
            run_row(k, in_matrix, out, in);
        }
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
    int last = dst->ndim - 1;
    int64_t columns = dst->sizes[last], row_bytes = columns * (int64_t)dtype_size(dst->dtype);
    k->streams = k->copies && tensor_bytes(dst) >= STREAM_MIN_BYTES && dst->strides[last] == 1 && src->strides[last] == 1;
    int64_t rows_ahead = AHEAD_BYTES / (row_bytes + 1) + 1;
    k->ahead = row_bytes >= MOST_AHEAD_BYTES ? AHEAD_BYTES : rows_ahead * src->strides[last - 1] * (int64_t)dtype_size(dst->dtype);
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
