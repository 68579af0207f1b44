/* SPDX-License-Identifier: Apache-2.0 */
/* Variances, deviations and means. Each block is gone over twice while it lies in cache, for its mean and for its distances
   from it; blocks merge in double (Chan, Golub and LeVeque 1979). Memory is read once and nothing cancels. */
#include "device/caches.h"
#include "engine/kernels/cpu/parallel.h"
#include "engine/kernels/cpu/reduce.h"
#include "engine/kernels/cpu/reduce_shape.h"
#include "engine/schema/reduction.h"

#include <math.h>
#include <string.h>

/* What is gone over in columns at a time. What is read where it lies: whole rows, if they are no longer, since parts of them take longer
   to read, and more of them, since no block is read twice. */
enum { COLUMNS = 256, ROWS = 32, DIRECT_COLUMN_BYTES = 4096, DIRECT_ROWS = 512, HALF_COLUMNS = ROW_HALVES_COLUMNS, HALF_ROWS = 512,
       APART = PARALLEL_APART_BYTES / sizeof(float) };

typedef struct moment {
    double n, mean, m2;
} moment;

typedef struct variance {
    reduce_shape s;
    double divisor;
    bool root;
    dtype out;
    int n_outputs;
    int threads;
    bool splits;
    int64_t columns; /* gone over together at most */
    moment *partials; /* [threads][kept.numel] */
} variance;

static void merge(moment *m, double n, double mean, double m2) {
    double total = m->n + n, delta = mean - m->mean;
    if (n > 0 && m->n == 0) {
        *m = (moment){.n = n, .mean = mean, .m2 = m2}; /* a mean's square may be more than there is */
    } else if (n > 0) {
        m->m2 += m2 + delta * delta * m->n * (n / total);
        m->mean += isfinite(delta) ? delta * (n / total) : mean; /* an infinite mean stays one */
        m->n = total;
    }
}

static void put_number(const variance *v, char *to, double value) {
    if (v->out == ASSAY_F32) {
        *(float *)(void *)to = (float)value;
    } else {
        element_store(v->out, to, value);
    }
}

static void put(const variance *v, const loop *kept, const int64_t *offset, moment m) {
    double value = m.n > 0 ? m.m2 / v->divisor : NAN;
    put_number(v, kept->data[1] + offset[1], v->root ? sqrt(value) : value);
    if (v->n_outputs == 2) {
        put_number(v, kept->data[2] + offset[2], m.n > 0 ? m.mean : NAN);
    }
}

/* Variances, or deviations, of any number of neighbours, of n > 0 elements each, in float; a call for each would show beside short ones. */
static void put_floats(const variance *v, const loop *kept, const int64_t *offset, const double *mean, const double *m2, int64_t numbers) {
    enum { BLOCK = 64 };
    float floats[BLOCK];
    for (int o = 1; o < kept->n_operands; o++) {
        for (int64_t i = 0; i < numbers; i += BLOCK) {
            int64_t some = numbers - i < BLOCK ? numbers - i : BLOCK;
            v->s.l->finish(floats, (o == 2 ? mean : m2) + i, o == 2 ? 1 : v->divisor, o == 1 && v->root, some);
            v->s.l->store(kept->data[o] + offset[o] + i * kept->strides[o][0], v->out, kept->strides[o][0], floats, some);
        }
    }
}

/* --- by rows ------------------------------------------------------------------------------------------------------------------ */

static moment moments_of_range(const variance *v, const char *in, int64_t from, int64_t to) {
    const reduce_shape *s = &v->s;
    const loop *l = &s->reduced;
    alignas(64) char buffer[ROW_BLOCK * sizeof(double)];
    int64_t index[TENSOR_MAX_DIMS], offset[LOOP_MAX_OPERANDS], stride = l->strides[0][0];
    moment m = {0};
    if (from >= to) {
        return m;
    }
    loop_seek(l, from, index, offset);
    int64_t first = index[0];
    offset[0] -= first * stride;
    while (from < to) {
        int64_t n = l->sizes[0] - first < to - from ? l->sizes[0] - first : to - from;
        for (int64_t done = 0; done < n; done += ROW_BLOCK) {
            int64_t count = n - done < ROW_BLOCK ? n - done : ROW_BLOCK;
            double mean, m2;
            const char *at = in + offset[0] + (first + done) * stride;
            if (s->halves != NULL) {
                s->halves->moments(at, 1, count, &mean, &m2);
            } else {
                s->l->moments(row_fetch(s->l, buffer, at, s->in, stride, count), count, &mean, &m2);
            }
            merge(&m, (double)count, mean, m2);
        }
        from += n;
        first = 0;
        nest_next(l, index, offset);
    }
    return m;
}

/* --- by rows, about the mean of those before ---------------------------------------------------------------------------------- */

/* Outputs whose runs are gone over in turns, as they lie in memory; and the least elements of a run for which that pays. */
enum { SIDE_BY_SIDE = 512, LEAST_RUN = 64 };

/* An output's moments so far, and sums about its mean then of elements from place `from` on of the reduced nest. */
typedef struct running {
    moment m;
    double n, centre, sum, squares;
    int64_t from;
} running;

/* Whether runs are read where they lie, and one output's end where another's begin. */
static bool takes_turns(const variance *v) {
    const reduce_shape *s = &v->s;
    const loop *l = &s->reduced;
    bool is_direct = s->halves != NULL || (s->in == s->l->type && l->strides[0][0] == (int64_t)s->l->size);
    return is_direct && l->sizes[0] >= LEAST_RUN && (l->ndim == 1 || s->kept.strides[0][0] < l->strides[0][1]);
}

/* Whether threads take runs of all outputs rather than outputs: each then goes straight on through memory. Variances of [256, 64, 56, 56] by
   channels take 3.4 ms so, else 4.0 (two cores of a Zen 4, 2026-11). */
static bool shares_runs(const variance *v) {
    enum { RUNS_A_THREAD = 8 }; /* which need not come out even */
    const reduce_shape *s = &v->s;
    return !s->by_columns && takes_turns(v) && s->reduced.ndim > 1 && s->kept.ndim == 1 && s->kept.numel <= SIDE_BY_SIDE &&
           nest_runs(&s->reduced) >= RUNS_A_THREAD * v->threads &&
           s->reduced.numel * s->kept.numel * (int64_t)dtype_size(s->in) >= STREAM_MIN_BYTES;
}

/* What is taken off the squares again, as the mean of these elements lies elsewhere, is not much more than what that adds to the whole.
   Where it is most of them, or something is not finite, they are gone over again. `in`: the output's elements, of which those up to
   `to` are in. */
static void merge_running(const variance *v, running *r, const char *in, int64_t to) {
    double off = r->n > 0 ? r->sum / r->n : 0, m2 = r->squares - r->n * off * off;
    if (m2 >= r->squares / 16) { /* not so of NaN */
        merge(&r->m, r->n, r->centre + off, m2);
    } else {
        moment again = moments_of_range(v, in, r->from, to);
        merge(&r->m, again.n, again.mean, again.m2);
    }
    *r = (running){.m = r->m, .centre = v->s.l->type == ASSAY_F32 ? (double)(float)r->m.mean : r->m.mean, .from = to};
}

/* Elements [from, from + n), which lie together. */
static void add_run(const variance *v, running *r, const char *in, const char *at, int64_t from, int64_t n) {
    int64_t size = (int64_t)dtype_size(v->s.in), some;
    void (*sums_about)(const void *, int64_t, double, double *, double *) =
        v->s.halves != NULL ? v->s.halves->sums_about : v->s.l->sums_about;
    for (int64_t done = 0; done < n; done += some) {
        some = n - done < ROW_BLOCK ? n - done : ROW_BLOCK;
        if (r->m.n == 0) { /* the first ones have no mean before them */
            r->squares = NAN;
            merge_running(v, r, in, from + some);
            continue;
        }
        sums_about(at + done * size, some, r->centre, &r->sum, &r->squares);
        r->n += (double)some;
        if (r->n >= ROW_BLOCK) {
            merge_running(v, r, in, from + done + some);
        }
    }
}

/* Elements [from, to) of the reduced nest of `count` outputs `stride` apart. */
static void run_side_by_side(const variance *v, const char *in, int64_t stride, int64_t count, int64_t from, int64_t to, running *r) {
    const loop *l = &v->s.reduced;
    int64_t index[TENSOR_MAX_DIMS], offset[LOOP_MAX_OPERANDS], n;
    for (int64_t k = 0; k < count; k++) {
        r[k] = (running){.from = from};
    }
    for (int64_t at = from; at < to; at += n) {
        loop_seek(l, at, index, offset);
        n = l->sizes[0] - index[0] < to - at ? l->sizes[0] - index[0] : to - at;
        for (int64_t k = 0; k < count; k++) {
            add_run(v, &r[k], in + k * stride, in + k * stride + offset[0], at, n);
        }
    }
    for (int64_t k = 0; k < count; k++) {
        merge_running(v, &r[k], in + k * stride, to);
    }
}

/* Outputs [from, to), elements [low, high) of each. */
static void run_in_turns(const variance *v, int64_t from, int64_t to, int64_t low, int64_t high) {
    const loop *kept = &v->s.kept;
    running r[SIDE_BY_SIDE];
    int64_t index[TENSOR_MAX_DIMS], offset[LOOP_MAX_OPERANDS], count;
    for (int64_t i = from; i < to; i += count) {
        loop_seek(kept, i, index, offset);
        count = kept->sizes[0] - index[0] < to - i ? kept->sizes[0] - index[0] : to - i;
        count = count < SIDE_BY_SIDE ? count : SIDE_BY_SIDE;
        run_side_by_side(v, kept->data[0] + offset[0], kept->strides[0][0], count, low, high, r);
        for (int64_t k = 0; k < count; k++) {
            if (v->splits) {
                v->partials[omp_get_thread_num() * kept->numel + i + k] = r[k].m;
            } else {
                put(v, kept, offset, r[k].m);
            }
            for (int o = 1; o < kept->n_operands; o++) {
                offset[o] += kept->strides[o][0];
            }
        }
    }
}

/* --- short rows --------------------------------------------------------------------------------------------------------------- */

/* Short rows one behind the other, that are read where they lie, are gone over in one call. Halves of very short ones are brought in. */
enum { SHORT_ROWS = 64, SHORT_HALVES = 64 };
static bool has_short_rows(const variance *v) {
    const reduce_shape *s = &v->s;
    int64_t n = s->reduced.numel, size = (int64_t)dtype_size(s->in);
    bool is_direct = s->halves != NULL || s->in == s->l->type;
    return is_direct && nest_runs(&s->reduced) == 1 && n <= ROW_BLOCK && (n == 1 || s->reduced.strides[0][0] == size) &&
           s->kept.strides[0][0] == n * size;
}

static void run_short_rows(const variance *v, int64_t from, int64_t to) {
    const loop *kept = &v->s.kept;
    alignas(64) float buffer[SHORT_ROWS * SHORT_HALVES];
    const int64_t length = v->s.reduced.numel;
    double mean[SHORT_ROWS], m2[SHORT_ROWS], n = (double)length;
    while (from < to) {
        int64_t index[TENSOR_MAX_DIMS], offset[LOOP_MAX_OPERANDS];
        loop_seek(kept, from, index, offset);
        int64_t rows = kept->sizes[0] - index[0];
        rows = rows < to - from ? rows : to - from;
        rows = rows < SHORT_ROWS ? rows : SHORT_ROWS;
        from += rows;
        const char *at = kept->data[0] + offset[0];
        if (v->s.halves != NULL && length <= SHORT_HALVES) {
            v->s.l->load(buffer, at, v->s.in, (int64_t)sizeof(uint16_t), rows * length);
            v->s.l->moments_short(buffer, rows, length, mean, m2);
        } else if (v->s.halves != NULL) {
            v->s.halves->moments(at, rows, length, mean, m2);
        } else {
            v->s.l->moments_short(at, rows, length, mean, m2);
        }
        if (v->s.l->type == ASSAY_F32 && n > 0) {
            put_floats(v, kept, offset, mean, m2, rows);
            continue;
        }
        for (int64_t i = 0; i < rows; i++) {
            put(v, kept, offset, (moment){n, mean[i], m2[i]});
            for (int o = 1; o < kept->n_operands; o++) {
                offset[o] += kept->strides[o][0];
            }
        }
    }
}

static void share_rows(const void *context) {
    const variance *v = context;
    const loop *kept = &v->s.kept;
    int64_t from = 0, to = kept->numel, low = 0, high = v->s.reduced.numel;
    int64_t index[TENSOR_MAX_DIMS], offset[LOOP_MAX_OPERANDS];
    if (v->splits) {
        parallel_share(v->s.reduced.numel, shares_runs(v) ? v->s.reduced.sizes[0] : ROW_BLOCK, &low, &high);
    } else {
        parallel_share(kept->numel, 1, &from, &to);
    }
    if (!v->splits && has_short_rows(v)) {
        run_short_rows(v, from, to);
        from = to;
    } else if (takes_turns(v)) {
        run_in_turns(v, from, to, low, high);
        from = to;
    }
    for (int64_t i = from; i < to; i++) {
        loop_seek(kept, i, index, offset);
        moment m = moments_of_range(v, kept->data[0] + offset[0], low, high);
        if (v->splits) {
            v->partials[omp_get_thread_num() * kept->numel + i] = m;
        } else {
            put(v, kept, offset, m);
        }
    }
}

static void run_rows(const variance *v) {
    parallel_run(v->threads, share_rows, v);
}

/* Whether columns of the computing type are read where they lie. */
static bool has_direct_columns(const reduce_shape *s) {
    int64_t size = (int64_t)s->l->size;
    return s->in == s->l->type && s->kept.strides[0][0] == size && s->reduced.strides[0][0] % size == 0;
}

static int64_t most_columns(const reduce_shape *s) {
    return s->halves != NULL ? HALF_COLUMNS : has_direct_columns(s) ? DIRECT_COLUMN_BYTES / (int64_t)s->l->size : COLUMNS;
}

static int64_t most_rows(const reduce_shape *s) {
    return s->halves != NULL ? HALF_ROWS : has_direct_columns(s) ? DIRECT_ROWS : ROWS;
}

/* A block of columns' moments, in double and ready to merge. */
typedef struct column_moments {
    double mean[HALF_COLUMNS + APART], m2[HALF_COLUMNS + APART];
    double n;
} column_moments;

/* Moments of a block of rows of n columns, in the computing type. */
static void columns_of_block(const reduce_shape *s, const char *at, int64_t rows, int64_t n, void *mean, void *m2) {
    alignas(64) char buffer[ROWS * COLUMNS * sizeof(double)];
    int64_t row_stride = s->reduced.strides[0][0], stride = s->kept.strides[0][0], size = (int64_t)s->l->size;
    if (s->halves != NULL) {
        s->halves->moments_columns(at, rows, row_stride / (int64_t)sizeof(uint16_t), n, mean, m2);
        return;
    }
    bool is_direct = has_direct_columns(s);
    for (int64_t r = 0; r < rows && !is_direct; r++) {
        s->l->load(buffer + r * n * size, at + r * row_stride, s->in, stride, n);
    }
    s->l->moments_columns(is_direct ? at : buffer, rows, is_direct ? row_stride / size : n, n, mean, m2);
}

static void columns_of_range(const variance *v, const char *in, int64_t n, int64_t from, int64_t to, column_moments *m) {
    const reduce_shape *s = &v->s;
    const loop *l = &s->reduced;
    alignas(64) float mean[HALF_COLUMNS + APART], m2[HALF_COLUMNS + APART]; /* or so many doubles as others take */
    _Static_assert(sizeof mean >= COLUMNS * sizeof(double) && sizeof mean >= DIRECT_COLUMN_BYTES, "room for all columns");
    int64_t index[TENSOR_MAX_DIMS], offset[LOOP_MAX_OPERANDS], row_stride = l->strides[0][0];
    int64_t most = most_rows(s);
    memset(m->mean, 0, (size_t)n * sizeof *m->mean);
    memset(m->m2, 0, (size_t)n * sizeof *m->m2);
    m->n = 0;
    if (from >= to) {
        return;
    }
    loop_seek(l, from, index, offset);
    int64_t first = index[0];
    offset[0] -= first * row_stride;
    while (from < to) {
        int64_t rows = l->sizes[0] - first < to - from ? l->sizes[0] - first : to - from;
        rows = rows < most ? rows : most;
        columns_of_block(s, in + offset[0] + first * row_stride, rows, n, mean, m2);
        s->l->moments_merge(m->mean, m->m2, mean, m2, m->n, (double)rows, n);
        m->n += (double)rows;
        from += rows;
        first += rows;
        if (first == l->sizes[0]) {
            first = 0;
            nest_next(l, index, offset);
        }
    }
}

static void share_columns(const void *context) {
    const variance *v = context;
    const loop *kept = &v->s.kept;
    int64_t columns = kept->sizes[0], most = v->columns, blocks = (columns + most - 1) / most;
    column_moments m;
    int64_t from = 0, to = kept->numel / columns * blocks, low = 0, high = v->s.reduced.numel;
    int64_t index[TENSOR_MAX_DIMS], offset[LOOP_MAX_OPERANDS];
    if (v->splits) {
        parallel_share(v->s.reduced.numel, ROWS, &low, &high);
    } else {
        parallel_share(to, 1, &from, &to);
    }
    for (int64_t u = from; u < to; u++) {
        int64_t c = u % blocks * most, n = columns - c < most ? columns - c : most;
        int64_t i = u / blocks * columns + c;
        loop_seek(kept, i, index, offset);
        columns_of_range(v, kept->data[0] + offset[0], n, low, high, &m);
        if (!v->splits && m.n > 0 && v->s.l->type == ASSAY_F32) {
            put_floats(v, kept, offset, m.mean, m.m2, n);
            continue;
        }
        for (int64_t k = 0; k < n; k++) {
            moment one = {m.n, m.mean[k], m.m2[k]};
            if (v->splits) {
                v->partials[omp_get_thread_num() * kept->numel + i + k] = one;
            } else {
                put(v, kept, offset, one);
            }
            for (int o = 1; o < kept->n_operands; o++) {
                offset[o] += kept->strides[o][0];
            }
        }
    }
}

static void run_columns(const variance *v) {
    parallel_run(v->threads, share_columns, v);
}

static status run_variance(kernel_plan *plan) {
    const variance *v = plan->state;
    const loop *kept = &v->s.kept;
    if (kept->numel == 0) {
        return ASSAY_OK;
    }
    for (int64_t i = 0; v->splits && i < v->threads * kept->numel; i++) {
        v->partials[i].n = 0; /* of threads that are not, within a caller's region */
    }
    (v->s.by_columns ? run_columns : run_rows)(v);
    for (int64_t i = 0; v->splits && i < kept->numel; i++) {
        int64_t index[TENSOR_MAX_DIMS], offset[LOOP_MAX_OPERANDS];
        moment m = v->partials[i];
        for (int t = 1; t < v->threads; t++) {
            moment more = v->partials[t * kept->numel + i];
            merge(&m, more.n, more.mean, more.m2);
        }
        loop_seek(kept, i, index, offset);
        put(v, kept, offset, m);
    }
    return ASSAY_OK;
}

/* Whole rows, or so many of each that threads have some, where they are in reach of a cache and not read from memory. */
static int64_t choose_columns(const variance *v, double bytes) {
    const loop *kept = &v->s.kept;
    int64_t most = most_columns(&v->s), columns = kept->sizes[0], outer = kept->numel / columns;
    if (v->s.halves != NULL || bytes >= STREAM_MIN_BYTES || outer >= v->threads) {
        return most;
    }
    int64_t each = (columns * outer + v->threads - 1) / v->threads;
    each = (each + REDUCE_MIN_COLUMNS - 1) / REDUCE_MIN_COLUMNS * REDUCE_MIN_COLUMNS;
    return each < most ? each : most;
}

status prepare_variance(kernel_plan *plan, error *err) {
    tensor *self = call_tensor(plan->call, 0);
    if (dtype_is_complex(self->dtype)) {
        return prepare_reduce_slow(plan, err);
    }
    variance *v = arena_make(plan->memory, 1, sizeof *v);
    if (v == NULL) {
        return fail(err, ASSAY_OUT_OF_MEMORY, "no memory for a plan");
    }
    uint32_t mask;
    TRY(reduction_mask(plan->call, 1, &mask, err));
    v->n_outputs = plan->out->n;
    reduce_shape_init(&v->s, row_loops_for(self->dtype), self, mask, PARTS_NONE, plan->out->items, v->n_outputs, REDUCE_LEAST_TOGETHER);
    double correction = call_is_none(plan->call, 2) ? 1 : call_float(plan->call, 2);
    v->divisor = fmax(reduction_length(plan->call, 1) - correction, 0);
    v->root = plan->call->op->signature.name[0] == 's';
    v->out = plan->out->items[0].dtype;
    v->threads = parallel_threads((double)tensor_numel(self) * (double)dtype_size(self->dtype));
    int64_t units = v->s.kept.numel;
    if (v->s.by_columns && units > 0) {
        v->columns = choose_columns(v, (double)tensor_bytes(self));
        units = units / v->s.kept.sizes[0] * ((v->s.kept.sizes[0] + v->columns - 1) / v->columns);
    }
    v->splits = v->threads > 1 && (units < v->threads || shares_runs(v));
    if (v->splits) {
        v->partials = arena_make(plan->memory, (size_t)(v->threads * v->s.kept.numel), sizeof *v->partials);
        if (v->partials == NULL) {
            return fail(err, ASSAY_OUT_OF_MEMORY, "no memory for partial sums");
        }
    }
    plan->state = v;
    plan->run = run_variance;
    return ASSAY_OK;
}
