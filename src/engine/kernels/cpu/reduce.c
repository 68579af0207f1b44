/* SPDX-License-Identifier: Apache-2.0 */
/* Sums, means, norms, extremes and truth values over any dimensions. Accumulators: see row_loops.h; columns add up to 512
   rows in the computing type, then go into double (int64), so a column's error does not grow with its length either. */
#include "engine/kernels/cpu/reduce.h"

#include "engine/kernels/cpu/kernels.h"
#include "engine/kernels/cpu/parallel.h"
#include "engine/schema/reduction.h"

#include <math.h>
#include <string.h>

enum { FLUSH_ROWS = 512, MIN_COLUMNS = 64 };

/* The innermost size below which runs are too short to be worth folding one by one. */
enum { SHORT_RUN = 16 };

/* The length below which the call for a row shows beside the row. */
enum { SHORT_ROW = 16 * ROW_BLOCK };

/* Elements of short rows that are converted at a time: they stay in L1. */
enum { SHORT_BLOCK = 2 * ROW_BLOCK };

static void add_parts(tensor *t, reduce_parts parts) {
    bool as_dimension = parts == PARTS_KEPT || parts == PARTS_REDUCED;
    if (!dtype_is_complex(t->dtype) || parts == PARTS_WHOLE) {
        return;
    }
    for (int d = 0; d < t->ndim; d++) {
        t->strides[d] *= 2;
    }
    t->offset *= 2;
    t->dtype = dtype_real(t->dtype);
    if (as_dimension) {
        t->sizes[t->ndim] = 2;
        t->strides[t->ndim++] = 1;
    }
}

/* Copies of tensors here are layouts to read and hold no memory. */
void reduce_shape_init(reduce_shape *s, const row_loops *l, tensor *self, uint32_t mask, reduce_parts parts, tensor *out_tensors,
                       int n_out) {
    tensor in = *self, out[REDUCE_MAX_OUTPUTS];
    tensor *operands[1 + REDUCE_MAX_OUTPUTS] = {&in};
    for (int k = 0; k < n_out; k++) {
        out[k] = out_tensors[k];
        out[k].ndim = in.ndim;
        for (int d = 0, from = 0; d < in.ndim; d++) {
            bool is_reduced = (mask >> d & 1) != 0;
            bool is_there = !is_reduced || out_tensors[k].ndim == in.ndim;
            out[k].sizes[d] = is_reduced ? 1 : in.sizes[d];
            out[k].strides[d] = is_reduced ? 0 : out_tensors[k].strides[from];
            from += is_there;
        }
        add_parts(&out[k], parts);
        if (parts == PARTS_REDUCED) {
            out[k].sizes[out[k].ndim] = 1;
            out[k].strides[out[k].ndim++] = 0;
        }
        operands[1 + k] = &out[k];
    }
    uint32_t reduced = mask & nest_all(in.ndim);
    reduced |= parts == PARTS_REDUCED ? 1u << in.ndim : 0;
    add_parts(&in, parts);
    s->l = l;
    s->in = in.dtype;
    nest_init(&s->kept, operands, 1 + n_out, nest_all(in.ndim) & ~reduced);
    nest_init(&s->reduced, operands, 1, reduced);
    int64_t kept_stride = s->kept.numel > 1 ? s->kept.strides[0][0] : INT64_MAX;
    int64_t reduced_stride = s->reduced.numel > 1 ? s->reduced.strides[0][0] : INT64_MAX;
    s->by_columns = kept_stride < reduced_stride || (s->reduced.numel <= SHORT_RUN && s->kept.sizes[0] >= MIN_COLUMNS);
}

/* --- one kind of fold, and what becomes of it ----------------------------------------------------------------------------- */

typedef enum finish_kind { FINISH_AS_IS, FINISH_DIVIDE, FINISH_ROOT, FINISH_NOT } finish_kind;

typedef struct reduction {
    reduce_shape s;
    row_kind kind;
    finish_kind finish;
    double divisor;
    dtype out;
    int threads;
    bool splits;        /* threads share the reduced dimensions, each with its own totals */
    row_wide *partials; /* [threads][kept.numel], where splits */
} reduction;

static void combine_integers(row_kind kind, int64_t *total, int64_t more) {
    if (kind == ROW_LARGEST || kind == ROW_SMALLEST) {
        *total = (kind == ROW_LARGEST) == (more > *total) ? more : *total;
    } else if (kind == ROW_NONZERO || kind == ROW_ZERO) {
        *total |= more;
    } else {
        *total = (int64_t)((uint64_t)*total + (uint64_t)more);
    }
}

static void combine_reals(row_kind kind, double *total, double more) {
    if (kind == ROW_LARGEST || kind == ROW_SMALLEST) {
        bool beats = kind == ROW_LARGEST ? more > *total : more < *total;
        *total = (beats || isnan(more)) && !isnan(*total) ? more : *total;
    } else if (kind == ROW_NONZERO || kind == ROW_ZERO) {
        *total = fmax(*total, more);
    } else {
        *total += more;
    }
}

static void combine(const reduction *r, row_wide *total, row_wide more) {
    if (r->s.l->type == ASSAY_I64) {
        combine_integers(r->kind, &total->i, more.i);
    } else {
        combine_reals(r->kind, &total->f, more.f);
    }
}

static void put(const reduction *r, char *to, row_wide total) {
    bool is_integer = r->s.l->type == ASSAY_I64;
    if (r->finish == FINISH_NOT) {
        element_store_int(r->out, to, is_integer ? total.i == 0 : total.f == 0);
    } else if (is_integer) {
        element_store_int(r->out, to, total.i);
    } else {
        double value = r->finish == FINISH_DIVIDE ? total.f / r->divisor : r->finish == FINISH_ROOT ? sqrt(total.f) : total.f;
        if (r->out == ASSAY_F32) {
            *(float *)(void *)to = (float)value;
        } else {
            element_store(r->out, to, value);
        }
    }
}

/* --- by rows ---------------------------------------------------------------------------------------------------------------- */

/* Bytes that are all 0 are words that are: folds the aligned words at the start of n bytes, says how many bytes it did. */
static int64_t fold_bytes(const row_loops *l, row_wide *total, const char *at, int64_t n) {
    if ((uintptr_t)at % sizeof(int64_t) != 0) {
        return 0;
    }
    l->fold[ROW_NONZERO](total, at, n / (int64_t)sizeof(int64_t));
    return n / (int64_t)sizeof(int64_t) * (int64_t)sizeof(int64_t);
}

/* Folds elements [from, to) of the reduced nest behind `in`. */
static void fold_range(const reduction *r, const char *in, int64_t from, int64_t to, row_wide *total) {
    const reduce_shape *s = &r->s;
    const loop *l = &s->reduced;
    int64_t index[TENSOR_MAX_DIMS], offset[LOOP_MAX_OPERANDS], stride = l->strides[0][0];
    alignas(64) char buffer[ROW_BLOCK * sizeof(double)];
    bool is_direct = s->in == s->l->type && stride == (int64_t)s->l->size;
    bool are_bytes = r->kind == ROW_NONZERO && dtype_size(s->in) == 1 && stride == 1;
    if (from >= to) {
        return;
    }
    loop_seek(l, from, index, offset);
    int64_t first = index[0];
    offset[0] -= first * stride;
    while (from < to) {
        int64_t n = l->sizes[0] - first < to - from ? l->sizes[0] - first : to - from;
        const char *at = in + offset[0] + first * stride;
        for (int64_t done = are_bytes ? fold_bytes(s->l, total, at, n) : 0; done < n;) {
            int64_t m = is_direct || n - done < ROW_BLOCK ? n - done : ROW_BLOCK;
            s->l->fold[r->kind](total, row_fetch(s->l, buffer, at + done * stride, s->in, stride, m), m);
            done += m;
        }
        from += n;
        first = 0;
        nest_next(l, index, offset);
    }
}

/* Rows too short to be called for one by one: as many as lie a constant stride apart are folded in one go. */
static bool has_short_rows(const reduction *r) {
    const reduce_shape *s = &r->s;
    int64_t size = (int64_t)dtype_size(s->in);
    bool is_direct = s->in == s->l->type;
    /* Rows of another type are brought in several at a time, which must lie one behind the other. */
    bool in_reach = is_direct ? s->kept.strides[0][0] % size == 0 : s->kept.strides[0][0] == s->reduced.numel * size;
    return s->l->fold_short[r->kind] != NULL && nest_runs(&s->reduced) == 1 && s->reduced.numel <= SHORT_ROW &&
           s->reduced.strides[0][0] == size && in_reach && (is_direct || s->reduced.numel <= SHORT_BLOCK);
}

/* n short rows from `at` on, n at most what a block holds where they are of another type. */
static void fold_short_rows(const reduction *r, row_wide *totals, const char *at, int64_t n) {
    const reduce_shape *s = &r->s;
    alignas(64) char buffer[SHORT_BLOCK * sizeof(double)];
    if (s->in == s->l->type) {
        s->l->fold_short[r->kind](totals, at, n, s->kept.strides[0][0] / (int64_t)s->l->size, s->reduced.numel);
        return;
    }
    s->l->load(buffer, at, s->in, (int64_t)dtype_size(s->in), n * s->reduced.numel);
    s->l->fold_short[r->kind](totals, buffer, n, s->reduced.numel, s->reduced.numel);
}

static void run_short_rows(const reduction *r, int64_t from, int64_t to) {
    enum { ROWS = 256 };
    const loop *kept = &r->s.kept;
    row_wide totals[ROWS];
    int64_t in_block = r->s.in == r->s.l->type ? ROWS : SHORT_BLOCK / r->s.reduced.numel;
    int64_t most = in_block < ROWS ? in_block : ROWS;
    while (from < to) {
        int64_t index[TENSOR_MAX_DIMS], offset[LOOP_MAX_OPERANDS];
        loop_seek(kept, from, index, offset);
        int64_t n = kept->sizes[0] - index[0];
        n = n < to - from ? n : to - from;
        n = n < most ? n : most;
        fold_short_rows(r, totals, kept->data[0] + offset[0], n);
        for (int64_t i = 0; i < n; i++) {
            put(r, kept->data[1] + offset[1] + i * kept->strides[1][0], totals[i]);
        }
        from += n;
    }
}

static void run_rows(const reduction *r) {
    const loop *kept = &r->s.kept;
    const observer *watch = observer_of_thread;
#pragma omp parallel num_threads(r->threads) if (r->threads > 1)
    {
        parallel_enter(watch);
        int64_t from, to, index[TENSOR_MAX_DIMS], offset[LOOP_MAX_OPERANDS];
        parallel_share(kept->numel, 1, &from, &to);
        if (has_short_rows(r)) {
            run_short_rows(r, from, to);
            from = to;
        }
        for (int64_t i = from; i < to; i++) {
            row_wide total = r->s.l->start[r->kind];
            loop_seek(kept, i, index, offset);
            fold_range(r, kept->data[0] + offset[0], 0, r->s.reduced.numel, &total);
            put(r, kept->data[1] + offset[1], total);
        }
        parallel_leave(watch);
    }
}

static void run_rows_split(const reduction *r) {
    const loop *kept = &r->s.kept;
    int64_t index[TENSOR_MAX_DIMS], offset[LOOP_MAX_OPERANDS];
    for (int64_t i = 0; i < kept->numel * r->threads; i++) {
        r->partials[i] = r->s.l->start[r->kind];
    }
    const observer *watch = observer_of_thread;
#pragma omp parallel num_threads(r->threads)
    {
        parallel_enter(watch);
        int64_t from, to, place[TENSOR_MAX_DIMS], at[LOOP_MAX_OPERANDS];
        parallel_share(r->s.reduced.numel, ROW_BLOCK, &from, &to);
        for (int64_t i = 0; i < kept->numel; i++) {
            loop_seek(kept, i, place, at);
            fold_range(r, kept->data[0] + at[0], from, to, &r->partials[omp_get_thread_num() * kept->numel + i]);
        }
        parallel_leave(watch);
    }
    for (int64_t i = 0; i < kept->numel; i++) {
        row_wide total = r->partials[i];
        for (int t = 1; t < r->threads; t++) {
            combine(r, &total, r->partials[t * kept->numel + i]);
        }
        loop_seek(kept, i, index, offset);
        put(r, kept->data[1] + offset[1], total);
    }
}

/* --- by columns ----------------------------------------------------------------------------------------------------------------- */

static row_wide column_total(const reduction *r, const void *acc, int64_t i) {
    return r->s.l->type == ASSAY_F32   ? (row_wide){.f = (double)((const float *)acc)[i]}
           : r->s.l->type == ASSAY_F64 ? (row_wide){.f = ((const double *)acc)[i]}
                                       : (row_wide){.i = ((const int64_t *)acc)[i]};
}

/* What one thread folds a block of columns in. */
typedef struct column_work {
    alignas(64) char acc[REDUCE_COLUMNS * sizeof(double)];
    alignas(64) char buffer[REDUCE_COLUMNS * sizeof(double)];
} column_work;

static void start_columns(const reduction *r, column_work *w, int64_t n) {
    row_wide start = r->s.l->start[r->kind];
    for (int64_t i = 0; i < n; i++) {
        if (r->s.l->type == ASSAY_F32) {
            ((float *)(void *)w->acc)[i] = (float)start.f;
        } else {
            ((row_wide *)(void *)w->acc)[i] = start;
        }
    }
}

/* Hands what acc holds to the totals and starts anew. n may be several times n_columns (rows folded side by side). */
static void flush_columns(const reduction *r, column_work *w, row_wide *totals, int64_t n_columns, int64_t n) {
    for (int64_t i = 0, c = 0; i < n; i++, c = c + 1 < n_columns ? c + 1 : 0) {
        combine(r, &totals[c], column_total(r, w->acc, i));
    }
    start_columns(r, w, n);
}

/* rows of n columns, `row_stride` bytes apart, into acc. */
static void fold_rows(const reduction *r, column_work *w, const char *at, int64_t rows, int64_t row_stride, int64_t n) {
    const reduce_shape *s = &r->s;
    int64_t stride = s->kept.strides[0][0];
    bool is_direct = s->in == s->l->type && stride == (int64_t)s->l->size;
    if (is_direct && r->kind == ROW_SUM && row_stride % (int64_t)s->l->size == 0) {
        s->l->add_rows(w->acc, at, rows, row_stride / (int64_t)s->l->size, n);
        return;
    }
    for (int64_t k = 0; k < rows; k++) {
        s->l->into[r->kind](w->acc, row_fetch(s->l, w->buffer, at + k * row_stride, s->in, stride, n), n);
    }
}

/* Rows [from, to) of the reduced nest, columns at `in`, into totals. */
static void fold_columns(const reduction *r, column_work *w, const char *in, int64_t n_columns, int64_t from, int64_t to,
                         row_wide *totals) {
    const loop *l = &r->s.reduced;
    int64_t index[TENSOR_MAX_DIMS], offset[LOOP_MAX_OPERANDS], row_stride = l->strides[0][0];
    if (from >= to) {
        return;
    }
    /* Few columns whose rows follow one another in memory fold side by side. */
    bool joins = row_stride == n_columns * r->s.kept.strides[0][0];
    int64_t side_by_side = joins ? REDUCE_COLUMNS / n_columns : 1, wide = side_by_side * n_columns;
    start_columns(r, w, wide);
    loop_seek(l, from, index, offset);
    int64_t first = index[0], since_flush = 0;
    offset[0] -= first * row_stride;
    while (from < to) {
        int64_t n = l->sizes[0] - first < to - from ? l->sizes[0] - first : to - from;
        n = n < FLUSH_ROWS * side_by_side - since_flush ? n : FLUSH_ROWS * side_by_side - since_flush;
        const char *at = in + offset[0] + first * row_stride;
        fold_rows(r, w, at, n / side_by_side, row_stride * side_by_side, wide);
        int64_t rest = n % side_by_side;
        if (rest > 0) {
            fold_rows(r, w, at + (n - rest) * row_stride, 1, row_stride, rest * n_columns);
        }
        from += n;
        first += n;
        since_flush += n;
        if (since_flush >= FLUSH_ROWS * side_by_side) {
            flush_columns(r, w, totals, n_columns, wide);
            since_flush = 0;
        }
        if (first == l->sizes[0]) {
            first = 0;
            nest_next(l, index, offset);
        }
    }
    flush_columns(r, w, totals, n_columns, wide);
}

static void start_totals(const reduction *r, row_wide *totals, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        totals[i] = r->s.l->start[r->kind];
    }
}

/* Columns a block: whole cache lines, as many as give every thread some. */
static int64_t block_columns(const reduction *r) {
    const loop *kept = &r->s.kept;
    int64_t columns = kept->sizes[0], outer = kept->numel / columns;
    int64_t wanted = outer >= r->threads ? columns : (columns * outer + r->threads - 1) / r->threads;
    wanted = (wanted + MIN_COLUMNS - 1) / MIN_COLUMNS * MIN_COLUMNS;
    wanted = wanted < REDUCE_COLUMNS ? wanted : REDUCE_COLUMNS;
    return columns < wanted ? columns : wanted;
}

/* Few rows need no second accumulator: the sums themselves are scaled and stored. */
static void fold_columns_once(const reduction *r, column_work *w, const int64_t *at, int64_t n) {
    const loop *l = &r->s.reduced, *kept = &r->s.kept;
    int64_t runs = nest_runs(l), index[TENSOR_MAX_DIMS] = {0}, offset[LOOP_MAX_OPERANDS] = {0};
    start_columns(r, w, n);
    for (int64_t k = 0; k < runs; k++) {
        fold_rows(r, w, kept->data[0] + at[0] + offset[0], l->sizes[0], l->strides[0][0], n);
        nest_next(l, index, offset);
    }
    if (r->finish == FINISH_DIVIDE) {
        r->s.l->scale(w->acc, w->acc, 1 / r->divisor, 0, n);
    }
    r->s.l->store(kept->data[1] + at[1], r->out, kept->strides[1][0], w->acc, n);
}

static void run_columns(const reduction *r) {
    const loop *kept = &r->s.kept;
    int64_t columns = kept->sizes[0], block = block_columns(r), blocks = (columns + block - 1) / block;
    int64_t units = kept->numel / columns * blocks;
    const observer *watch = observer_of_thread;
    bool is_plain = r->kind == ROW_SUM && (r->finish == FINISH_AS_IS || r->finish == FINISH_DIVIDE);
    bool folds_once = is_plain && r->s.l->type != ASSAY_I64 && r->s.reduced.numel <= FLUSH_ROWS;
#pragma omp parallel num_threads(r->threads) if (r->threads > 1)
    {
        parallel_enter(watch);
        column_work w;
        row_wide totals[REDUCE_COLUMNS];
        int64_t from, to, index[TENSOR_MAX_DIMS], offset[LOOP_MAX_OPERANDS];
        parallel_share(units, 1, &from, &to);
        for (int64_t u = from; u < to; u++) {
            int64_t c = u % blocks * block, n = columns - c < block ? columns - c : block;
            loop_seek(kept, u / blocks * columns + c, index, offset);
            if (folds_once) {
                fold_columns_once(r, &w, offset, n);
                continue;
            }
            start_totals(r, totals, n);
            fold_columns(r, &w, kept->data[0] + offset[0], n, 0, r->s.reduced.numel, totals);
            for (int64_t i = 0; i < n; i++) {
                put(r, kept->data[1] + offset[1] + i * kept->strides[1][0], totals[i]);
            }
        }
        parallel_leave(watch);
    }
}

static void run_columns_split(const reduction *r) {
    const loop *kept = &r->s.kept;
    int64_t columns = kept->sizes[0];
    start_totals(r, r->partials, kept->numel * r->threads);
    const observer *watch = observer_of_thread;
#pragma omp parallel num_threads(r->threads)
    {
        parallel_enter(watch);
        column_work w;
        int64_t from, to, index[TENSOR_MAX_DIMS], offset[LOOP_MAX_OPERANDS];
        row_wide *own = r->partials + omp_get_thread_num() * kept->numel;
        parallel_share(r->s.reduced.numel, 1, &from, &to);
        for (int64_t i = 0; i < kept->numel;) {
            int64_t rest = columns - i % columns, n = rest < REDUCE_COLUMNS ? rest : REDUCE_COLUMNS;
            loop_seek(kept, i, index, offset);
            fold_columns(r, &w, kept->data[0] + offset[0], n, from, to, own + i);
            i += n;
        }
        parallel_leave(watch);
    }
    for (int64_t i = 0; i < kept->numel; i++) {
        int64_t index[TENSOR_MAX_DIMS], offset[LOOP_MAX_OPERANDS];
        row_wide total = r->partials[i];
        for (int t = 1; t < r->threads; t++) {
            combine(r, &total, r->partials[t * kept->numel + i]);
        }
        loop_seek(kept, i, index, offset);
        put(r, kept->data[1] + offset[1], total);
    }
}

/* --- plans -------------------------------------------------------------------------------------------------------------------- */

static status run_reduction(kernel_plan *plan) {
    const reduction *r = plan->state;
    if (r->s.kept.numel == 0) {
        return ASSAY_OK;
    }
    if (r->s.by_columns && r->splits) {
        run_columns_split(r);
    } else if (r->s.by_columns) {
        run_columns(r);
    } else if (r->splits) {
        run_rows_split(r);
    } else {
        run_rows(r);
    }
    return ASSAY_OK;
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
    reduce_shape_init(&r->s, row_loops_for(computes_in), self, mask, parts, out, 1);
    r->kind = kind;
    r->finish = finish;
    r->out = parts == PARTS_KEPT ? dtype_real(out->dtype) : out->dtype;
    r->divisor = reduction_length(plan->call, dims);
    r->threads = parallel_threads((double)tensor_numel(self) * (double)dtype_size(self->dtype));
    int64_t units = r->s.by_columns ? r->s.kept.numel / MIN_COLUMNS : r->s.kept.numel;
    r->splits = r->threads > 1 && units < r->threads;
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
