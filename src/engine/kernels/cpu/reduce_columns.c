/* SPDX-License-Identifier: Apache-2.0 */
/* Reductions whose fastest dimension is kept: a block of columns folds row after row. Up to 512 rows add in the computing type, then
   go into double (int64), so that a column's error does not grow with its length. */
#include "engine/kernels/cpu/reduce_columns.h"

#include "engine/kernels/cpu/parallel.h"

#include <math.h>
#include <stdalign.h>
#include <string.h>

/* Rows of another type are brought in so many at a time: sums are then loaded and stored once for all of them. */
enum { FLUSH_ROWS = 512, ROWS_TOGETHER = 4 };

/* What adds rows of halves where they lie; NULL: they are brought in first. */
static void (*add_halves(const reduction *r))(float *, const void *, int64_t, int64_t, int64_t) {
    return r->s.halves != NULL ? r->s.halves->add_rows[r->kind] : NULL;
}

static row_wide column_total(const reduction *r, const void *acc, int64_t i) {
    return r->s.l->type == ASSAY_F32   ? (row_wide){.f = (double)((const float *)acc)[i]}
           : r->s.l->type == ASSAY_F64 ? (row_wide){.f = ((const double *)acc)[i]}
                                       : (row_wide){.i = ((const int64_t *)acc)[i]};
}

/* Whether rows of narrow integers are folded as they are. */
static bool has_narrow_rows(const reduction *r) {
    const reduce_shape *s = &r->s;
    const int64_t size = (int64_t)dtype_size(s->in);
    const bool is_narrow = s->l->narrow_rows != NULL && s->in != s->l->type && dtype_category_of(s->in) <= CATEGORY_INTEGRAL;
    const bool is_truth = size == 1 && (r->kind == ROW_NONZERO || r->kind == ROW_ZERO);
    return is_narrow && s->kept.strides[0][0] == size && (r->kind == ROW_SUM || is_truth);
}

/* Whether rows are folded where they lie. */
static bool are_read_in_place(const reduction *r) {
    const bool are_alike = r->s.in == r->s.l->type && r->s.kept.strides[0][0] == (int64_t)r->s.l->size;
    return add_halves(r) != NULL || are_alike || has_narrow_rows(r);
}

static int64_t most_columns(const reduction *r) {
    return are_read_in_place(r) ? REDUCE_WIDE_COLUMNS : REDUCE_COLUMNS;
}

/* What one thread folds a block of columns in. */
typedef struct column_work {
    alignas(64) char acc[REDUCE_WIDE_COLUMNS * sizeof(double)];
    alignas(64) char buffer[ROWS_TOGETHER * REDUCE_COLUMNS * sizeof(double)];
} column_work;

static void start_columns(const reduction *r, column_work *w, int64_t n) {
    if (row_kind_adds(r->kind)) {
        memset(w->acc, 0, (size_t)((n + ROW_HALVES_ROOM - 1) / ROW_HALVES_ROOM * ROW_HALVES_ROOM) * r->s.l->size);
        return;
    }
    row_wide start = r->s.l->start[r->kind];
    for (int64_t i = 0; i < n; i++) {
        if (r->s.l->type == ASSAY_F32) {
            ((float *)(void *)w->acc)[i] = (float)start.f;
        } else {
            ((row_wide *)(void *)w->acc)[i] = start;
        }
    }
}

/* Sums of rows that lie side by side, in halves as long as there is an even number of them; how many columns are left then. */
static int64_t add_halves_of(float *acc, int64_t n_columns, int64_t n) {
    for (; n / n_columns % 2 == 0; n /= 2) {
        for (int64_t i = 0; i < n / 2; i++) {
            acc[i] += acc[n / 2 + i];
        }
    }
    return n;
}

/* Hands what acc holds to the totals. n may be several times n_columns (rows folded side by side). */
static void flush_columns(const reduction *r, column_work *w, row_wide *totals, int64_t n_columns, int64_t n) {
    bool adds_floats = r->s.l->type == ASSAY_F32 && row_kind_adds(r->kind);
    float *acc = (float *)(void *)w->acc;
    n = adds_floats ? add_halves_of(acc, n_columns, n) : n;
    const bool adds_integers = r->s.l->type == ASSAY_I64 && row_kind_adds(r->kind);
    for (int64_t i = 0; i < n; i += n_columns) {
        for (int64_t c = 0; adds_floats && c < n_columns; c++) {
            totals[c].f += (double)acc[i + c];
        }
        for (int64_t c = 0; adds_integers && c < n_columns; c++) {
            totals[c].i = (int64_t)((uint64_t)totals[c].i + ((const uint64_t *)(const void *)w->acc)[i + c]);
        }
        for (int64_t c = 0; !adds_floats && !adds_integers && c < n_columns; c++) {
            reduction_combine(r, &totals[c], column_total(r, w->acc, i + c));
        }
    }
}

/* rows of n columns, `row_stride` bytes apart, into acc. */
static void fold_rows(const reduction *r, column_work *w, const char *at, int64_t rows, int64_t row_stride, int64_t n) {
    const reduce_shape *s = &r->s;
    int64_t stride = s->kept.strides[0][0];
    bool is_direct = s->in == s->l->type && stride == (int64_t)s->l->size;
    void (*add_rows)(void *, const void *, int64_t, int64_t, int64_t) = s->l->add_rows[r->kind];
    if (add_halves(r) != NULL) {
        add_halves(r)((float *)(void *)w->acc, at, rows, row_stride / (int64_t)sizeof(uint16_t), n);
        return;
    }
    if (has_narrow_rows(r)) {
        s->l->narrow_rows((int64_t *)(void *)w->acc, r->kind, s->in, at, rows, row_stride, n);
        return;
    }
    if (is_direct && add_rows != NULL && row_stride % (int64_t)s->l->size == 0) {
        add_rows(w->acc, at, rows, row_stride / (int64_t)s->l->size, n);
        return;
    }
    int64_t k = 0;
    for (; add_rows != NULL && !is_direct && k + ROWS_TOGETHER <= rows; k += ROWS_TOGETHER) {
        for (int64_t j = 0; j < ROWS_TOGETHER; j++) {
            s->l->load(w->buffer + j * n * (int64_t)s->l->size, at + (k + j) * row_stride, s->in, stride, n);
        }
        add_rows(w->acc, w->buffer, ROWS_TOGETHER, n, n);
    }
    for (; k < rows; k++) {
        s->l->into[r->kind](w->acc, row_fetch(s->l, w->buffer, at + k * row_stride, s->in, stride, n), n);
    }
}

/* How many rows of few columns go side by side: of very few a power of two, whose sums come together by halves. */
static int64_t rows_beside(int64_t n_columns) {
    enum { HALVED = 256 };
    int64_t rows = 1;
    while (2 * rows * n_columns <= HALVED) {
        rows *= 2;
    }
    return rows > 1 || n_columns >= REDUCE_COLUMNS ? rows : REDUCE_COLUMNS / n_columns;
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
    int64_t side_by_side = joins ? rows_beside(n_columns) : 1, wide = side_by_side * n_columns;
    start_columns(r, w, wide);
    loop_seek(l, from, index, offset);
    int64_t first = index[0], since_flush = 0, most = FLUSH_ROWS * side_by_side;
    offset[0] -= first * row_stride;
    while (from < to) {
        int64_t n = l->sizes[0] - first < to - from ? l->sizes[0] - first : to - from;
        n = n < most - since_flush ? n : most - since_flush;
        const char *at = in + offset[0] + first * row_stride;
        fold_rows(r, w, at, n / side_by_side, row_stride * side_by_side, wide);
        int64_t rest = n % side_by_side;
        if (rest > 0) {
            fold_rows(r, w, at + (n - rest) * row_stride, 1, row_stride, rest * n_columns);
        }
        from += n;
        first += n;
        since_flush += n;
        if (since_flush >= most) {
            flush_columns(r, w, totals, n_columns, wide);
            start_columns(r, w, wide);
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
    wanted = (wanted + REDUCE_MIN_COLUMNS - 1) / REDUCE_MIN_COLUMNS * REDUCE_MIN_COLUMNS;
    wanted = wanted < most_columns(r) ? wanted : most_columns(r);
    return columns < wanted ? columns : wanted;
}

/* What columns came to as the result has it, but for its type. */
static void finish_columns(const reduction *r, column_work *w, int64_t n) {
    if (r->finish == FINISH_DIVIDE) {
        r->s.l->scale(w->acc, w->acc, 1 / r->divisor, 0, n);
    }
    const bool roots = r->finish == FINISH_ROOT, turns = r->finish == FINISH_NOT, is_float = r->s.l->type == ASSAY_F32;
    const int64_t singles = is_float ? n : 0, doubles = !is_float && r->s.l->type == ASSAY_F64 ? n : 0, wholes = n - singles - doubles;
    float *single = (float *)(void *)w->acc;
    double *other = (double *)(void *)w->acc;
    int64_t *whole = (int64_t *)(void *)w->acc;
    for (int64_t i = 0; roots && i < singles; i++) {
        single[i] = sqrtf(single[i]);
    }
    for (int64_t i = 0; roots && i < doubles; i++) {
        other[i] = sqrt(other[i]);
    }
    for (int64_t i = 0; turns && i < singles; i++) {
        single[i] = single[i] == 0;
    }
    for (int64_t i = 0; turns && i < doubles; i++) {
        other[i] = other[i] == 0;
    }
    for (int64_t i = 0; turns && i < wholes; i++) {
        whole[i] = whole[i] == 0;
    }
}

/* Few rows need no second accumulator: what they come to is finished and stored as it is. */
static void fold_columns_once(const reduction *r, column_work *w, const int64_t *at, int64_t n) {
    const loop *l = &r->s.reduced, *kept = &r->s.kept;
    int64_t runs = nest_runs(l), index[TENSOR_MAX_DIMS] = {0}, offset[LOOP_MAX_OPERANDS] = {0};
    int64_t size = (int64_t)r->s.l->size, row_stride = l->strides[0][0];
    bool is_direct = r->s.in == r->s.l->type && kept->strides[0][0] == size && row_stride % size == 0 && runs == 1;
    if (r->kind == ROW_SUM && r->finish != FINISH_ROOT && is_direct && l->sizes[0] > 0 && r->out == r->s.in && kept->strides[1][0] == size) {
        char *to = kept->data[1] + at[1];
        r->s.l->sum_rows(to, kept->data[0] + at[0], l->sizes[0], row_stride / size, n);
        if (r->finish == FINISH_DIVIDE) {
            r->s.l->scale(to, to, 1 / r->divisor, 0, n);
        }
        return;
    }
    start_columns(r, w, n);
    for (int64_t k = 0; k < runs; k++) {
        fold_rows(r, w, kept->data[0] + at[0] + offset[0], l->sizes[0], l->strides[0][0], n);
        nest_next(l, index, offset);
    }
    finish_columns(r, w, n);
    r->s.l->store(kept->data[1] + at[1], r->out, kept->strides[1][0], w->acc, n);
}

/* Whether the rows of few columns lie one behind the other, and are many: side by side their sums need not wait for each other. Sums over
   the middle of [512, 512, 4] take 70 us so, else 151 (two cores of a Zen 4, 2026-11). */
static bool go_side_by_side(const reduction *r) {
    enum { FEW_COLUMNS = 32, MANY_ROWS = 32 };
    const loop *l = &r->s.reduced, *kept = &r->s.kept;
    return kept->sizes[0] < FEW_COLUMNS && l->sizes[0] >= MANY_ROWS && l->strides[0][0] == kept->sizes[0] * kept->strides[0][0];
}

static void share_columns(const void *context) {
    const reduction *r = context;
    const loop *kept = &r->s.kept;
    int64_t columns = kept->sizes[0], block = block_columns(r), blocks = (columns + block - 1) / block;
    int64_t units = kept->numel / columns * blocks;
    /* Whole numbers round nothing off, and neither do extremes. */
    bool is_near = r->s.reduced.numel <= FLUSH_ROWS || r->s.l->type == ASSAY_I64 || !row_kind_adds(r->kind);
    bool folds_once = is_near && !go_side_by_side(r);
    column_work w;
    row_wide totals[REDUCE_WIDE_COLUMNS];
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
        reduction_put_run(r, kept->data[1] + offset[1], kept->strides[1][0], totals, n);
    }
}

void reduction_run_columns(const reduction *r) {
    parallel_run(r->threads, share_columns, r);
}

void reduction_split_columns(const reduction *r) {
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
            int64_t rest = columns - i % columns, n = rest < most_columns(r) ? rest : most_columns(r);
            loop_seek(kept, i, index, offset);
            fold_columns(r, &w, kept->data[0] + offset[0], n, from, to, own + i);
            i += n;
        }
        parallel_leave(watch);
    }
    for (int t = 1; t < r->threads; t++) {
        reduction_combine_all(r, r->partials, r->partials + t * kept->numel, kept->numel);
    }
    for (int64_t i = 0; i < kept->numel; i += columns) {
        int64_t index[TENSOR_MAX_DIMS], offset[LOOP_MAX_OPERANDS];
        loop_seek(kept, i, index, offset);
        reduction_put_run(r, kept->data[1] + offset[1], kept->strides[1][0], r->partials + i, columns);
    }
}
