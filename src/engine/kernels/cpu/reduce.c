/* SPDX-License-Identifier: Apache-2.0 */
/* Sums, means, norms, extremes and truth values over any dimensions. Accumulators: see row_loops.h. By rows
   here, by columns in reduce_columns.c. */
#include "engine/kernels/cpu/reduce.h"

#include "device/caches.h"
#include "engine/kernels/cpu/kernels.h"
#include "engine/kernels/cpu/parallel.h"
#include "engine/kernels/cpu/reduce_columns.h"
#include "engine/schema/reduction.h"

/* The length below which the call for a row shows beside the row. */
enum { SHORT_ROW = 16 * ROW_BLOCK };

/* The same of runs whose sums come together. */
enum { SHORT_RUNS = 256 };

/* Elements of short rows that are converted at a time: they stay in L1. And the length below which halves go that way, rather than
   one row after another by loops of their own. */
enum { SHORT_BLOCK = 2 * ROW_BLOCK, SHORT_HALVES = 128 };

/* --- by rows ---------------------------------------------------------------------------------------------------------------- */

typedef void fold_fn(row_wide *total, const void *x, int64_t n);

/* A run of n elements of so many bytes, while what lies further on is asked for. */
static void fold_ahead(fold_fn *fold, row_wide *total, const char *at, int64_t n, int64_t size) {
    enum { PIECE_BYTES = 4096, AHEAD_BYTES = 2048, LINE_BYTES = 64 };
    const int64_t pieces = (n * size + PIECE_BYTES - 1) / PIECE_BYTES;
    const int64_t most = pieces > 0 ? (n / pieces + LINE_BYTES) / LINE_BYTES * LINE_BYTES : 0; /* elements, about as many in each */
    for (int64_t done = 0; done < n; done += most) {
        const int64_t m = n - done < most ? n - done : most;
        for (int64_t line = 0; line < m * size; line += LINE_BYTES) {
            __builtin_prefetch((const char *)((uintptr_t)(at + done * size) + AHEAD_BYTES + (uintptr_t)line)); /* it may lie outside */
        }
        fold(total, at + done * size, m);
    }
}

/* Whether rows of narrow integers are added up as they lie. */
static bool has_narrow_sum(const reduction *r) {
    const reduce_shape *s = &r->s;
    const bool is_narrow = s->in != s->l->type && dtype_category_of(s->in) <= CATEGORY_INTEGRAL;
    return r->kind == ROW_SUM && s->l->narrow_sum != NULL && is_narrow && s->reduced.strides[0][0] == (int64_t)dtype_size(s->in);
}

/* Whether rows are bytes that are folded as they lie. */
static bool has_byte_fold(const reduction *r) {
    return r->s.l->fold_bytes[r->kind] != NULL && dtype_size(r->s.in) == 1 && r->s.reduced.strides[0][0] == 1;
}

/* Folds n bytes as they lie. */
static void fold_bytes(const reduction *r, row_wide *total, const char *at, int64_t n) {
    enum { LONG_BYTES = 1 << 20 };
    if (n >= LONG_BYTES && cpu_is_intel()) { /* any of 128 MiB takes 0.93 of the time so (Granite Rapids) */
        fold_ahead(r->s.l->fold_bytes[r->kind], total, at, n, 1);
    } else {
        r->s.l->fold_bytes[r->kind](total, at, n);
    }
}

/* Folds elements [from, to) of the reduced nest behind `in`. */
static void fold_range(const reduction *r, const char *in, int64_t from, int64_t to, row_wide *total) {
    const reduce_shape *s = &r->s;
    const loop *l = &s->reduced;
    int64_t index[TENSOR_MAX_DIMS], offset[LOOP_MAX_OPERANDS], stride = l->strides[0][0];
    alignas(64) char buffer[ROW_BLOCK * sizeof(double)];
    bool is_direct = s->halves != NULL || (s->in == s->l->type && stride == (int64_t)s->l->size);
    void (*fold)(row_wide *, const void *, int64_t) = (s->halves != NULL ? s->halves->fold : s->l->fold)[r->kind];
    const bool are_bytes = has_byte_fold(r);
    const bool is_sum = has_narrow_sum(r);
    const bool is_extreme = (r->kind == ROW_LARGEST || r->kind == ROW_SMALLEST) && s->l->narrow_extreme != NULL &&
                            stride == (int64_t)dtype_size(s->in);
    if (from >= to) {
        return;
    }
    loop_seek(l, from, index, offset);
    int64_t first = index[0];
    offset[0] -= first * stride;
    while (from < to) {
        int64_t n = l->sizes[0] - first < to - from ? l->sizes[0] - first : to - from;
        const char *at = in + offset[0] + first * stride;
        if (is_sum) {
            total->i = (int64_t)((uint64_t)total->i + (uint64_t)s->l->narrow_sum(s->in, at, n));
        } else if (is_extreme) {
            reduction_combine(r, total, (row_wide){.i = s->l->narrow_extreme(s->in, at, n, r->kind == ROW_SMALLEST)});
        } else if (are_bytes) {
            fold_bytes(r, total, at, n);
        }
        for (int64_t done = is_sum || is_extreme || are_bytes ? n : 0; done < n;) {
            int64_t m = is_direct || n - done < ROW_BLOCK ? n - done : ROW_BLOCK;
            fold(total, is_direct ? at + done * stride : row_fetch(s->l, buffer, at + done * stride, s->in, stride, m), m);
            done += m;
        }
        from += n;
        first = 0;
        nest_next(l, index, offset);
    }
}

/* Whether all of the reduced nest is short runs of the loops' own type, the same distance apart: they are folded in one go. */
static bool has_short_runs(const reduction *r) {
    const loop *l = &r->s.reduced;
    int64_t size = (int64_t)r->s.l->size;
    return r->s.l->fold_runs[r->kind] != NULL && r->s.in == r->s.l->type && l->ndim > 1 && l->strides[0][0] == size &&
           l->strides[0][1] % size == 0 && l->sizes[0] <= SHORT_RUNS;
}

static void fold_short_runs(const reduction *r, const char *in, row_wide *total) {
    const loop *l = &r->s.reduced;
    int64_t index[TENSOR_MAX_DIMS], offset[LOOP_MAX_OPERANDS], together = l->sizes[0] * l->sizes[1];
    for (int64_t i = 0; i < l->numel; i += together) {
        loop_seek(l, i, index, offset);
        r->s.l->fold_runs[r->kind](total, in + offset[0], l->sizes[1], l->strides[0][1] / (int64_t)r->s.l->size, l->sizes[0]);
    }
}

typedef void fold_short_fn(row_wide *totals, const void *x, int64_t rows, int64_t row_stride, int64_t n, bool goes_on);

/* What folds short rows where they lie; NULL: they are brought in first. */
static fold_short_fn *fold_short_of(const reduction *r) {
    const reduce_shape *s = &r->s;
    if (s->halves != NULL && s->reduced.numel >= SHORT_HALVES) {
        return s->halves->fold_short[r->kind];
    }
    return s->in == s->l->type ? s->l->fold_short[r->kind] : NULL;
}

/* Rows too short to be called for one by one: as many as lie a constant stride apart are folded in one go. */
static bool has_short_rows(const reduction *r) {
    const reduce_shape *s = &r->s;
    int64_t size = (int64_t)dtype_size(s->in);
    if (has_byte_fold(r)) {
        return nest_runs(&s->reduced) == 1 && s->reduced.numel <= SHORT_ROW;
    }
    bool is_direct = fold_short_of(r) != NULL;
    /* Others are brought in several at a time, which must lie one behind the other. */
    bool in_reach = is_direct ? s->kept.strides[0][0] % size == 0 : s->kept.strides[0][0] == s->reduced.numel * size;
    return s->l->fold_short[r->kind] != NULL && nest_runs(&s->reduced) == 1 && s->reduced.numel <= SHORT_ROW &&
           s->reduced.strides[0][0] == size && in_reach && (is_direct || s->reduced.numel <= SHORT_BLOCK);
}

/* Narrow integers of shorter rows are better brought in, several rows at a time. */
enum { LEAST_NARROW = 32 };

/* n short rows from `at` on, n at most what a block holds where they are brought in. */
static void fold_short_rows(const reduction *r, row_wide *totals, const char *at, int64_t n) {
    const reduce_shape *s = &r->s;
    alignas(64) char buffer[SHORT_BLOCK * sizeof(double)];
    fold_short_fn *fold = fold_short_of(r);
    if (has_narrow_sum(r) && s->reduced.numel >= LEAST_NARROW) {
        for (int64_t k = 0; k < n; k++) {
            totals[k].i = s->l->narrow_sum(s->in, at + k * s->kept.strides[0][0], s->reduced.numel);
        }
        return;
    }
    if (has_byte_fold(r)) {
        for (int64_t k = 0; k < n; k++) {
            totals[k] = s->l->start[r->kind];
            s->l->fold_bytes[r->kind](&totals[k], at + k * s->kept.strides[0][0], s->reduced.numel);
        }
        return;
    }
    if (fold != NULL) {
        fold(totals, at, n, s->kept.strides[0][0] / (int64_t)dtype_size(s->in), s->reduced.numel, false);
        return;
    }
    s->l->load(buffer, at, s->in, (int64_t)dtype_size(s->in), n * s->reduced.numel);
    s->l->fold_short[r->kind](totals, buffer, n, s->reduced.numel, s->reduced.numel, false);
}

static void start_totals(const reduction *r, row_wide *totals, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        totals[i] = r->s.l->start[r->kind];
    }
}

static void run_short_rows(const reduction *r, int64_t from, int64_t to) {
    enum { ROWS = 256 };
    const loop *kept = &r->s.kept;
    row_wide totals[ROWS];
    int64_t in_block = fold_short_of(r) != NULL || has_byte_fold(r) ? ROWS : SHORT_BLOCK / r->s.reduced.numel;
    int64_t most = in_block < ROWS ? in_block : ROWS;
    while (from < to) {
        int64_t index[TENSOR_MAX_DIMS], offset[LOOP_MAX_OPERANDS];
        loop_seek(kept, from, index, offset);
        int64_t n = kept->sizes[0] - index[0];
        n = n < to - from ? n : to - from;
        n = n < most ? n : most;
        fold_short_rows(r, totals, kept->data[0] + offset[0], n);
        reduction_put_run(r, kept->data[1] + offset[1], kept->strides[1][0], totals, n);
        from += n;
    }
}

/* Whether rows are runs here and there, each with the next row's right behind it, as those of channels are: neighbours are then taken
   together, run by run, in the order of memory. Sums of [256, 64, 56, 56] by channels take 6.9 ms so, else 7.7 (two cores of a Granite
   Rapids, 2026-11), and of [256, 512, 28, 28] 9.3, else 17.4 (of a Zen 4). */
static bool runs_follow(const reduction *r) {
    enum { LEAST_RUN_BYTES = 1024, LEAST_ROWS = 4 };
    const loop *l = &r->s.reduced, *kept = &r->s.kept;
    int64_t size = (int64_t)dtype_size(r->s.in), bytes = l->sizes[0] * size;
    bool is_direct = r->s.halves != NULL || r->s.in == r->s.l->type;
    return is_direct && l->ndim > 1 && l->strides[0][0] == size && bytes >= LEAST_RUN_BYTES && kept->strides[0][0] == bytes &&
           kept->sizes[0] >= LEAST_ROWS && l->strides[0][1] >= LEAST_ROWS * bytes && kept->numel * l->numel * size >= STREAM_MIN_BYTES;
}

/* Whether threads take runs rather than rows then: each goes straight on through memory. */
static bool shares_runs(const reduction *r) {
    enum { RUNS_A_THREAD = 8 }; /* which need not come out even */
    return runs_follow(r) && r->s.kept.ndim == 1 && nest_runs(&r->s.reduced) >= RUNS_A_THREAD * r->threads;
}

/* A run of each of n neighbours, one behind the other. A Zen 4 reads on by itself: it takes a tenth longer where memory is asked for, and
   some percent where each run is called for. */
static void fold_neighbours(const reduction *r, const char *at, int64_t n, row_wide *totals) {
    const int64_t next = r->s.kept.strides[0][0], length = r->s.reduced.sizes[0], size = (int64_t)dtype_size(r->s.in);
    fold_fn *fold = (r->s.halves != NULL ? r->s.halves->fold : r->s.l->fold)[r->kind];
    fold_short_fn *together = cpu_is_intel() ? NULL : fold_short_of(r);
    if (together != NULL) {
        together(totals, at, n, length, length, true);
    }
    for (int64_t k = 0; together == NULL && k < n; k++) {
        if (cpu_is_intel()) {
            fold_ahead(fold, &totals[k], at + k * next, length, size);
        } else {
            fold(&totals[k], at + k * next, length);
        }
    }
}

/* Runs [first, last) of the reduced nest of n rows, from the one behind `in` on. */
static void fold_in_order(const reduction *r, const char *in, int64_t n, int64_t first, int64_t last, row_wide *totals) {
    const loop *l = &r->s.reduced;
    int64_t place[TENSOR_MAX_DIMS], at[LOOP_MAX_OPERANDS];
    for (int64_t run = first; run < last; run++) {
        loop_seek(l, run * l->sizes[0], place, at);
        fold_neighbours(r, in + at[0], n, totals);
    }
}

static void run_rows_in_order(const reduction *r, int64_t from, int64_t to) {
    enum { ROWS = 128 };
    const loop *kept = &r->s.kept;
    row_wide totals[ROWS];
    while (from < to) {
        int64_t index[TENSOR_MAX_DIMS], offset[LOOP_MAX_OPERANDS];
        loop_seek(kept, from, index, offset);
        int64_t n = kept->sizes[0] - index[0];
        n = n < to - from ? n : to - from;
        n = n < ROWS ? n : ROWS;
        start_totals(r, totals, n);
        fold_in_order(r, kept->data[0] + offset[0], n, 0, nest_runs(&r->s.reduced), totals);
        reduction_put_run(r, kept->data[1] + offset[1], kept->strides[1][0], totals, n);
        from += n;
    }
}

static void share_rows(const void *context) {
    const reduction *r = context;
    const loop *kept = &r->s.kept;
    int64_t from, to, index[TENSOR_MAX_DIMS], offset[LOOP_MAX_OPERANDS];
    parallel_share(kept->numel, 1, &from, &to);
    bool has_runs = has_short_runs(r);
    if (has_short_rows(r)) {
        run_short_rows(r, from, to);
        from = to;
    } else if (!has_runs && runs_follow(r)) {
        run_rows_in_order(r, from, to);
        from = to;
    }
    for (int64_t i = from; i < to; i++) {
        row_wide total = r->s.l->start[r->kind];
        loop_seek(kept, i, index, offset);
        if (has_runs) {
            fold_short_runs(r, kept->data[0] + offset[0], &total);
        } else {
            fold_range(r, kept->data[0] + offset[0], 0, r->s.reduced.numel, &total);
        }
        reduction_put(r, kept->data[1] + offset[1], total);
    }
}

static void run_rows(const reduction *r) {
    parallel_run(r->threads, share_rows, r);
}

/* What this thread has of each row, into totals. */
static void fold_part(const reduction *r, row_wide *totals) {
    const loop *kept = &r->s.kept;
    int64_t from, to, index[TENSOR_MAX_DIMS], offset[LOOP_MAX_OPERANDS];
    const bool in_order = shares_runs(r);
    parallel_share(in_order ? nest_runs(&r->s.reduced) : r->s.reduced.numel, in_order ? 1 : ROW_BLOCK, &from, &to);
    for (int64_t i = 0; i < kept->numel; i += in_order ? kept->sizes[0] : 1) {
        loop_seek(kept, i, index, offset);
        if (in_order) {
            fold_in_order(r, kept->data[0] + offset[0], kept->sizes[0], from, to, &totals[i]);
        } else {
            fold_range(r, kept->data[0] + offset[0], from, to, &totals[i]);
        }
    }
}

static void run_rows_split(const reduction *r) {
    const loop *kept = &r->s.kept;
    int64_t index[TENSOR_MAX_DIMS], offset[LOOP_MAX_OPERANDS];
    start_totals(r, r->partials, kept->numel * r->threads);
    const observer *watch = observer_of_thread;
#pragma omp parallel num_threads(r->threads)
    {
        parallel_enter(watch);
        fold_part(r, &r->partials[omp_get_thread_num() * kept->numel]);
        parallel_leave(watch);
    }
    for (int64_t i = 0; i < kept->numel; i++) {
        row_wide total = r->partials[i];
        for (int t = 1; t < r->threads; t++) {
            reduction_combine(r, &total, r->partials[t * kept->numel + i]);
        }
        loop_seek(kept, i, index, offset);
        reduction_put(r, kept->data[1] + offset[1], total);
    }
}

/* --- plans -------------------------------------------------------------------------------------------------------------------- */

static status run_reduction(kernel_plan *plan) {
    const reduction *r = plan->state;
    if (r->s.kept.numel == 0) {
        return ASSAY_OK;
    }
    if (r->s.by_columns && r->splits) {
        reduction_split_columns(r);
    } else if (r->s.by_columns) {
        reduction_run_columns(r);
    } else if (r->splits) {
        run_rows_split(r);
    } else {
        run_rows(r);
    }
    return ASSAY_OK;
}

/* Whether threads share what is reduced. Of one run of columns with many rows each thread takes rows, which lie together: columns
   would leave it a part of each, and the parts need not come out even. */
static bool splits_reduced(const reduction *r) {
    enum { ROWS_A_THREAD = 256 }; /* beside which merging the threads' totals is little */
    const loop *kept = &r->s.kept;
    if (!r->s.by_columns) {
        return kept->numel < r->threads || shares_runs(r);
    }
    return kept->numel / REDUCE_MIN_COLUMNS < r->threads ||
           (kept->numel / kept->sizes[0] < r->threads && r->s.reduced.numel >= ROWS_A_THREAD * r->threads);
}

static status prepare(kernel_plan *plan, row_kind kind, finish_kind finish, dtype computes_in, reduce_parts parts, error *err) {
    reduction *r = arena_make(plan->memory, 1, sizeof *r);
    if (r == NULL) {
        return fail(err, ASSAY_OUT_OF_MEMORY, "no memory for a plan");
    }
    tensor *self = call_tensor(plan->call, 0), *out = &plan->out->items[0];
    int dims = signature_find_param(&plan->call->op->signature, "dim");
    uint32_t mask;
    if (parts != PARTS_NONE && self->ndim == TENSOR_MAX_DIMS) {
        return fail(err, ASSAY_UNSUPPORTED, "%s: complex tensors of %d dimensions are not served",
                    plan->call->op->signature.full, TENSOR_MAX_DIMS);
    }
    TRY(reduction_mask(plan->call, dims, &mask, err));
    const row_loops *l = row_loops_for(computes_in);
    bool go_together = l->fold_short[kind] != NULL;
    reduce_shape_init(&r->s, l, self, mask, parts, out, 1, go_together ? l->least_together : INT64_MAX);
    r->kind = kind;
    r->finish = finish;
    r->out = parts == PARTS_KEPT ? dtype_real(out->dtype) : out->dtype;
    r->divisor = reduction_length(plan->call, dims);
    r->threads = parallel_threads((double)tensor_numel(self) * (double)dtype_size(self->dtype));
    r->splits = r->threads > 1 && splits_reduced(r);
    if (r->splits) {
        r->partials = arena_make(plan->memory, (size_t)(r->threads * r->s.kept.numel), sizeof *r->partials);
        if (r->partials == NULL) {
            return fail(err, ASSAY_OUT_OF_MEMORY, "no memory for partial sums");
        }
    }
    plan->state = r;
    plan->run = run_reduction;
    return ASSAY_OK;
}

/* The result's type decides what a sum is made in; a complex one adds up its parts. */
static status prepare_sum_as(kernel_plan *plan, finish_kind finish, error *err) {
    dtype in = call_tensor(plan->call, 0)->dtype, out = plan->out->items[0].dtype;
    if (out == ASSAY_B8) {
        return dtype_is_complex(in) ? prepare(plan, ROW_NONZERO, FINISH_AS_IS, dtype_real(in), PARTS_REDUCED, err)
                                    : prepare(plan, ROW_NONZERO, FINISH_AS_IS, in, PARTS_NONE, err);
    }
    if (dtype_is_complex(out) && !dtype_is_complex(in)) {
        return prepare_reduce_slow(plan, err);
    }
    if (dtype_is_complex(in) && prepare_pair_sums(plan, finish == FINISH_DIVIDE)) {
        return ASSAY_OK;
    }
    return prepare(plan, ROW_SUM, finish, dtype_real(out), dtype_is_complex(out) ? PARTS_KEPT : PARTS_NONE, err);
}

static status prepare_sum(kernel_plan *plan, error *err) {
    return prepare_sum_as(plan, FINISH_AS_IS, err);
}

static status prepare_mean(kernel_plan *plan, error *err) {
    return prepare_sum_as(plan, FINISH_DIVIDE, err);
}

static status prepare_max(kernel_plan *plan, error *err) {
    return prepare(plan, ROW_LARGEST, FINISH_AS_IS, call_tensor(plan->call, 0)->dtype, PARTS_NONE, err);
}

static status prepare_min(kernel_plan *plan, error *err) {
    return prepare(plan, ROW_SMALLEST, FINISH_AS_IS, call_tensor(plan->call, 0)->dtype, PARTS_NONE, err);
}

static status prepare_any(kernel_plan *plan, error *err) {
    dtype in = call_tensor(plan->call, 0)->dtype;
    return prepare(plan, ROW_NONZERO, FINISH_AS_IS, in, dtype_is_complex(in) ? PARTS_REDUCED : PARTS_NONE, err);
}

static status prepare_all(kernel_plan *plan, error *err) {
    dtype in = call_tensor(plan->call, 0)->dtype;
    return dtype_is_complex(in) ? prepare_reduce_slow(plan, err) : prepare(plan, ROW_ZERO, FINISH_NOT, in, PARTS_NONE, err);
}

static status prepare_norm(kernel_plan *plan, error *err) {
    dtype in = call_tensor(plan->call, 0)->dtype;
    double p = call_is_none(plan->call, 1) ? 2 : call_float(plan->call, 1);
    if (p == 2) {
        return prepare(plan, ROW_SQUARES, FINISH_ROOT, in, dtype_is_complex(in) ? PARTS_REDUCED : PARTS_NONE, err);
    }
    if (p == 1 && !dtype_is_complex(in)) {
        return prepare(plan, ROW_SIZES, FINISH_AS_IS, in, PARTS_NONE, err);
    }
    return prepare_reduce_slow(plan, err);
}

static const kernel_row rows[] = {
    {.op = "sum.default", .prepare = prepare_sum},
    {.op = "sum.dim_IntList", .prepare = prepare_sum},
    {.op = "mean.default", .prepare = prepare_mean},
    {.op = "mean.dim", .prepare = prepare_mean},
    {.op = "max.default", .prepare = prepare_max},
    {.op = "min.default", .prepare = prepare_min},
    {.op = "max.dim", .prepare = prepare_extreme_dim},
    {.op = "min.dim", .prepare = prepare_extreme_dim},
    {.op = "any.default", .prepare = prepare_any},
    {.op = "any.dim", .prepare = prepare_any},
    {.op = "all.default", .prepare = prepare_all},
    {.op = "all.dim", .prepare = prepare_all},
    {.op = "std.correction", .prepare = prepare_variance},
    {.op = "var.correction", .prepare = prepare_variance},
    {.op = "var_mean.correction", .prepare = prepare_variance},
    {.op = "norm.ScalarOpt_dim", .prepare = prepare_norm},
    {.op = "norm.Scalar", .prepare = prepare_norm},
};

const kernel_rows kernels_reduce = {rows, countof(rows)};
