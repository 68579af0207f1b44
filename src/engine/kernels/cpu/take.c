/* SPDX-License-Identifier: Apache-2.0 */
/* One element of the result for every plain position u and index position k: out[u, k] = self[u + offset of k]. The
   innermost loop runs along whatever lies side by side: a run of plain elements, the indices, or a strided dimension. */
#include "engine/kernels/cpu/take.h"

#include "engine/kernels/cpu/isa/copy_loops.h"
#include "engine/kernels/cpu/parallel.h"

#include <stdatomic.h>

/* Below FEW_INDICES a strided dimension makes the longer inner loop. */
enum { BLOCK = 512, AHEAD = 8, FEW_INDICES = 16 };

typedef enum inner { INNER_RUN, INNER_INDICES, INNER_STRIDED } inner;

typedef struct take {
    places at;
    const index_loops *loops;
    const copy_loops *copies;
    const char *src;
    char *dst;
    int log2;
    inner inner;
    int64_t run_n;                     /* elements of a run or of the strided dimension */
    ptrdiff_t run_dst, run_src;        /* bytes from one to the next */
    int ndim;                          /* plain dimensions outside the inner loop, outermost first */
    int64_t sizes[TENSOR_MAX_DIMS];
    ptrdiff_t dst_strides[TENSOR_MAX_DIMS], src_strides[TENSOR_MAX_DIMS];
    int64_t units;                     /* their product */
    ptrdiff_t k_stride;                /* of the index positions in dst; where they have no one stride, a table: */
    int64_t *k_offsets;
    int64_t *offsets;                  /* per index position, in self; NULL when each is needed only once */
    double bytes;
} take;

static int log2_of(dtype t) {
    size_t size = dtype_size(t);
    return size == 1 ? 0 : size == 2 ? 1 : size == 4 ? 2 : size == 8 ? 3 : 4;
}

/* Plain dimensions larger than 1, outermost in dst first, neighbours joined. */
static void plain_dims(take *t, const tensor *self, const tensor *out, const indexing *ix, int shift) {
    ptrdiff_t size = (ptrdiff_t)dtype_size(self->dtype);
    for (int d = 0; d < ix->ndim; d++) {
        if (ix->plain[d] < 0 || ix->sizes[d] == 1) {
            continue;
        }
        ptrdiff_t dst = (ptrdiff_t)out->strides[d + (shift > 0 && d >= ix->at ? shift : 0)] * size;
        ptrdiff_t src = (ptrdiff_t)self->strides[ix->plain[d]] * size;
        int at = t->ndim++;
        for (; at > 0 && t->dst_strides[at - 1] < dst; at--) {
            t->sizes[at] = t->sizes[at - 1];
            t->dst_strides[at] = t->dst_strides[at - 1];
            t->src_strides[at] = t->src_strides[at - 1];
        }
        t->sizes[at] = ix->sizes[d];
        t->dst_strides[at] = dst;
        t->src_strides[at] = src;
    }
    int n = 0;
    for (int d = 0; d < t->ndim; d++) {
        bool joins = n > 0 && t->dst_strides[n - 1] == t->dst_strides[d] * t->sizes[d] &&
                     t->src_strides[n - 1] == t->src_strides[d] * t->sizes[d];
        int to = joins ? n - 1 : n++;
        t->sizes[to] = joins ? t->sizes[to] * t->sizes[d] : t->sizes[d];
        t->dst_strides[to] = t->dst_strides[d];
        t->src_strides[to] = t->src_strides[d];
    }
    t->ndim = n;
}

static void choose_inner(take *t) {
    ptrdiff_t size = (ptrdiff_t)1 << t->log2;
    int last = t->ndim - 1;
    t->run_n = 1;
    t->inner = INNER_INDICES;
    if (last < 0) {
        return;
    }
    bool is_run = t->dst_strides[last] == size && t->src_strides[last] == size;
    if (is_run || (t->at.numel < FEW_INDICES && t->sizes[last] > t->at.numel)) {
        t->inner = is_run ? INNER_RUN : INNER_STRIDED;
        t->run_n = t->sizes[last];
        t->run_dst = t->dst_strides[last];
        t->run_src = t->src_strides[last];
        t->ndim--;
    }
}

/* Where index positions lie in dst: one stride, or a table. */
static status index_layout(take *t, kernel_plan *plan, const tensor *out, const indexing *ix, error *err) {
    int64_t size = INT64_C(1) << t->log2, expected = 0;
    bool uniform = true;
    for (int d = ix->index_ndim - 1; d >= 0; d--) {
        int64_t n = ix->index_sizes[d];
        if (n == 1) {
            continue;
        }
        int64_t stride = out->strides[ix->at + d] * size;
        t->k_stride = expected == 0 ? stride : t->k_stride;
        uniform = uniform && (expected == 0 || stride == expected);
        expected = stride * n;
    }
    if (uniform) {
        return ASSAY_OK;
    }
    t->k_offsets = arena_make(plan->memory, (size_t)ix->index_numel, sizeof *t->k_offsets);
    if (t->k_offsets == NULL) {
        return fail(err, ASSAY_OUT_OF_MEMORY, "no memory for the places of indices");
    }
    for (int64_t k = 0; k < ix->index_numel; k++) {
        int64_t rest = k, at = 0;
        for (int d = ix->index_ndim - 1; d >= 0; d--) {
            at += ix->index_sizes[d] > 1 ? rest % ix->index_sizes[d] * out->strides[ix->at + d] * size : 0;
            rest /= ix->index_sizes[d];
        }
        t->k_offsets[k] = at;
    }
    return ASSAY_OK;
}

static inline char *place_of(const take *t, char *dst, int64_t k) {
    return dst + (t->k_offsets != NULL ? t->k_offsets[k] : k * t->k_stride);
}

/* Runs: rows copied one by one, the next ones on their way from memory. */
static void take_runs(const take *t, char *dst, const char *src, const int64_t *offsets, int64_t k, int64_t n) {
    size_t bytes = (size_t)t->run_n << t->log2;
    for (int64_t i = 0; i < n; i++) {
        if (i + AHEAD < n) {
            const char *next = src + offsets[i + AHEAD];
            for (size_t line = 0; line < bytes && line < 512; line += 64) {
                __builtin_prefetch(next + line);
            }
        }
        t->copies->rows(place_of(t, dst, k + i), src + offsets[i], bytes, 1, 0, 0);
    }
}

/* Index positions [k, k + n) of one unit; offsets are theirs. */
static void take_block(const take *t, char *dst, const char *src, const int64_t *offsets, int64_t k, int64_t n) {
    if (t->inner == INNER_RUN) {
        take_runs(t, dst, src, offsets, k, n);
        return;
    }
    if (t->inner == INNER_INDICES && t->k_offsets == NULL) {
        t->loops->gather[t->log2](dst + k * t->k_stride, t->k_stride, src, offsets, n, 0);
        return;
    }
    for (int64_t i = 0; i < n; i++) {
        t->copies->strided(place_of(t, dst, k + i), src + offsets[i], t->log2, t->run_n, t->run_dst, t->run_src);
    }
}

static bool take_part(const take *t, int64_t unit, int64_t k, int64_t n) {
    char *dst = t->dst;
    const char *src = t->src;
    for (int d = t->ndim - 1; d >= 0; d--) {
        int64_t i = unit % t->sizes[d];
        unit /= t->sizes[d];
        dst += i * t->dst_strides[d];
        src += i * t->src_strides[d];
    }
    if (t->offsets != NULL) {
        take_block(t, dst, src, t->offsets + k, k, n);
        return true;
    }
    int64_t offsets[BLOCK];
    for (int64_t done = 0; done < n; done += BLOCK) {
        int64_t m = n - done < BLOCK ? n - done : BLOCK;
        if (!places_resolve(&t->at, k + done, m, offsets)) {
            return false;
        }
        take_block(t, dst, src, offsets, k + done, m);
    }
    return true;
}

typedef struct take_share {
    take *t;
    atomic_bool *good; /* cleared by any thread; offsets are used only when all of them are good */
} take_share;

static void share_take(const void *context) {
    const take_share *share = context;
    const take *t = share->t;
    int64_t from, to, numel = t->at.numel;
    if (t->offsets != NULL) {
        parallel_share(numel, BLOCK, &from, &to);
        if (!places_resolve(&t->at, from, to - from, t->offsets + from)) {
            *share->good = false;
        }
#pragma omp barrier
    }
    parallel_share(t->units * numel, 16, &from, &to);
    while (from < to && *share->good) {
        int64_t k = from % numel, n = numel - k < to - from ? numel - k : to - from;
        if (!take_part(t, from / numel, k, n)) {
            *share->good = false;
        }
        from += n;
    }
}

static status run(kernel_plan *plan) {
    take *t = plan->state;
    TRY(places_find(&t->at, plan->err));
    atomic_bool good = true;
    parallel_run(parallel_threads(t->bytes), share_take, &(const take_share){t, &good});
    return good ? ASSAY_OK : places_fail(&t->at, plan->err);
}

/* Masks still have to be as they were. */
static status run_empty(kernel_plan *plan) {
    take *t = plan->state;
    return places_find(&t->at, plan->err);
}

status take_prepare(kernel_plan *plan, const tensor *self, const indexing *ix, error *err) {
    const tensor *out = &plan->out->items[0];
    take *t = arena_make(plan->memory, 1, sizeof *t);
    if (t == NULL) {
        return fail(err, ASSAY_OUT_OF_MEMORY, "no memory for a plan");
    }
    int64_t steps[TENSOR_MAX_DIMS] = {0};
    t->log2 = log2_of(self->dtype);
    for (int d = 0; d < self->ndim; d++) {
        steps[d] = self->strides[d] * (INT64_C(1) << t->log2);
    }
    plan->state = t;
    plan->run = run;
    TRY(places_init(&t->at, plan, ix, self, steps, err));
    if (tensor_numel(out) == 0) {
        plan->run = run_empty;
        return ASSAY_OK;
    }
    t->loops = index_loops_best();
    t->copies = copy_loops_best();
    t->src = tensor_data(self);
    t->dst = tensor_data(out);
    t->bytes = 2 * tensor_bytes(out) + 8 * (double)ix->index_numel;
    plain_dims(t, self, out, ix, out->ndim - ix->ndim);
    choose_inner(t);
    t->units = 1;
    for (int d = 0; d < t->ndim; d++) {
        t->units *= t->sizes[d];
    }
    TRY(index_layout(t, plan, out, ix, err));
    if (t->units > 1) {
        t->offsets = arena_make(plan->memory, (size_t)ix->index_numel, sizeof *t->offsets);
        if (t->offsets == NULL) {
            return fail(err, ASSAY_OUT_OF_MEMORY, "no memory for the places of indices");
        }
    }
    return ASSAY_OK;
}
