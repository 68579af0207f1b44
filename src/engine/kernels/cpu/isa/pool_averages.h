/* SPDX-License-Identifier: Apache-2.0 */
/* Averages over windows and their gradients, in TYPE: a part of pool_template.h. */

/* to[j] (+)= from[j * stride] */
static inline void NAME(add)(const TYPE *restrict from, int64_t stride, bool is_first, int64_t n, TYPE *restrict to) {
    if (is_first) {
        for (int64_t j = 0; j < n; j++) {
            to[j] = from[j * stride];
        }
        return;
    }
    for (int64_t j = 0; j < n; j++) {
        to[j] += from[j * stride];
    }
}

/* to[j] = the sum of the numbers that column j's taps name. */
static void NAME(add_taps)(const pool_block *b, const TYPE *restrict from, int64_t n, TYPE *restrict to) {
    int64_t next = b->rows * b->outs, j = 0;
#if GATHERS
    for (; j + GATHER_LANES <= n; j += GATHER_LANES) {
        gather_lanes sum, more;
        gather_f32(&sum, from, b->tap + j);
        for (int64_t k = 1; k < b->taps; k++) {
            gather_f32(&more, from, b->tap + k * next + j);
            sum += more;
        }
        memcpy(to + j, &sum, sizeof sum);
    }
#endif
    for (; j < n; j++) {
        TYPE sum = from[b->tap[j]];
        for (int64_t k = 1; k < b->taps; k++) {
            sum += from[b->tap[k * next + j]];
        }
        to[j] = sum;
    }
}

/* Rows of one window each, divided by what these count. */
static void NAME(divide)(const pool_job *job, int64_t y, int64_t rows, int64_t width, TYPE *restrict sums) {
    const pool_windows *r = &job->rows, *w = &job->columns;
    if (job->divisor > 0) {
        TYPE by = (TYPE)job->divisor;
        for (int64_t j = 0; IS_REAL && job->divisor_is_power && j < rows * width; j++) {
            sums[j] *= 1 / by;
        }
        for (int64_t j = 0; !(IS_REAL && job->divisor_is_power) && j < rows * width; j++) {
            sums[j] /= by;
        }
        return;
    }
    for (int64_t i = 0; i < rows; i++) {
        TYPE by = (TYPE)r->count[y + i];
        for (int64_t j = 0; j < w->n; j++) {
            sums[i * width + j] /= by * (TYPE)w->count[j];
        }
    }
}

/* The sum of a run, by lanes: a chain of additions would wait for each other, and lanes keep the error small. */
static TYPE NAME(sum_run)(const TYPE *from, int64_t n) {
    enum { LANES = 32 };
    TYPE lanes[LANES] = {0}, sum = 0;
    int64_t i = 0;
    for (; i + LANES <= n; i += LANES) {
        for (int k = 0; k < LANES; k++) {
            lanes[k] += from[i + k];
        }
    }
    for (; i < n; i++) {
        sum += from[i];
    }
    for (int k = 0; k < LANES; k++) {
        sum += lanes[k];
    }
    return sum;
}

/* Rows [first, last) of a plane, *step apart: where they lie, or as numbers in `room`. */
static const TYPE *NAME(rows_of)(const pool_job *job, const char *plane, int64_t first, int64_t last, TYPE *room, int64_t *step) {
    int64_t n = job->columns.in, apart = job->x_step[2] * job->size;
    const char *at = plane + first * apart;
    if (job->dtype == OWN_DTYPE && job->x_step[3] == 1) {
        *step = job->x_step[2];
        return (const TYPE *)at;
    }
    *step = n;
    bool is_dense = job->x_step[3] == 1 && job->x_step[2] == n;
    for (int64_t i = 0; i < (is_dense ? 1 : last - first); i++) {
        NAME(load)(job->dtype, at + i * apart, job->x_step[3], is_dense ? (last - first) * n : n, room + i * n);
    }
    return room;
}

/* to[j] = the sum of numbers j of so many rows; the loop over whole vectors has no rest to think of. */
static inline __attribute__((always_inline)) void NAME(add_columns_of)(const TYPE *restrict from, int64_t step, int64_t rows, int64_t n,
                                                                       TYPE *restrict to) {
    int64_t j = 0;
    for (; j + POOL_LANES <= n; j += POOL_LANES) {
        for (int64_t k = 0; k < POOL_LANES; k++) {
            TYPE sum = from[j + k];
            for (int64_t i = 1; i < rows; i++) {
                sum += from[i * step + j + k];
            }
            to[j + k] = sum;
        }
    }
    for (; j < n; j++) {
        TYPE sum = from[j];
        for (int64_t i = 1; i < rows; i++) {
            sum += from[i * step + j];
        }
        to[j] = sum;
    }
}

static void NAME(add_rows)(const TYPE *restrict from, int64_t step, int64_t rows, int64_t n, TYPE *restrict to) {
    if (rows == 1) {
        NAME(add_columns_of)(from, step, 1, n, to);
    } else if (rows == 2) {
        NAME(add_columns_of)(from, step, 2, n, to);
    } else {
        NAME(add_columns_of)(from, step, 3, n, to);
        for (int64_t i = 3; i < rows; i++) {
            NAME(add)(from + i * step, 1, false, n, to);
        }
    }
}

/* The rows of windows [y, end) added up, padded as far as windows reach. */
static void NAME(add_down)(const pool_job *job, const char *plane, int64_t y, int64_t end, TYPE *down, TYPE *room) {
    const pool_windows *r = &job->rows, *w = &job->columns;
    int64_t width = job->block.width, first = r->from[y], last = r->to[end - 1], step = 0;
    const TYPE *from = first < last ? NAME(rows_of)(job, plane, first, last, room, &step) : NULL;
    for (int64_t i = y; i < end; i++, down += width) {
        int64_t rows = r->to[i] - r->from[i], n = rows > 0 ? w->in : 0;
        if (rows > 0) { /* a vector may go on in the next row, and be written over by what comes behind */
            bool has_room = step == w->in && (from == room || r->to[i] < r->in);
            NAME(add_rows)(from + (r->from[i] - first) * step, step, rows, pool_wide_lanes(n, has_room), down + w->pad);
        }
        for (int64_t j = 0; j < w->pad; j++) {
            down[j] = 0;
        }
        for (int64_t j = w->pad + n; j < width; j++) {
            down[j] = 0;
        }
    }
}

/* to[j] = the sum of the `kernel` numbers from from[j * stride] on. */
static inline __attribute__((always_inline)) void NAME(add_fixed)(const TYPE *restrict from, int64_t stride, int64_t kernel, int64_t n,
                                                                  TYPE *restrict to) {
    for (int64_t j = 0; j < n; j++) {
        TYPE sum = from[j * stride];
        for (int64_t k = 1; k < kernel; k++) {
            sum += from[j * stride + k];
        }
        to[j] = sum;
    }
}

/* The same for any; constants vectorise. */
static void NAME(add_across)(const pool_windows *w, const TYPE *from, int64_t n, TYPE *to) {
    if (w->kernel == 2 && w->stride == 2) {
        NAME(add_fixed)(from, 2, 2, n, to);
    } else if (w->kernel == 3 && w->stride == 1) {
        NAME(add_fixed)(from, 1, 3, n, to);
    } else if (w->kernel == 3 && w->stride == 2) {
        NAME(add_fixed)(from, 2, 3, n, to);
    } else {
        for (int64_t k = 0; k < w->kernel; k++) {
            if (w->stride == 1) {
                NAME(add)(from + k, 1, k == 0, n, to);
            } else if (w->stride == 2) {
                NAME(add)(from + k, 2, k == 0, n, to);
            } else if (w->stride == 4) {
                NAME(add)(from + k, 4, k == 0, n, to);
            } else {
                NAME(add)(from + k, w->stride, k == 0, n, to);
            }
        }
    }
}

/* Whether all windows are squares of four numbers, side by side, whose sum is multiplied by one factor. */
static bool NAME(are_fours)(const pool_job *job) {
    const pool_windows *both[2] = {&job->rows, &job->columns};
    bool yes = IS_REAL && job->divisor > 0 && job->divisor_is_power;
    for (int d = 0; d < 2; d++) {
        yes = yes && both[d]->kernel == 2 && both[d]->stride == 2 && both[d]->pad == 0 && both[d]->n * 2 <= both[d]->in;
    }
    return yes;
}

/* n of such windows. */
static void NAME(add_fours)(const TYPE *restrict from, int64_t step, TYPE factor, int64_t n, TYPE *restrict to) {
    int64_t j = 0;
    for (; j + POOL_LANES <= n; j += POOL_LANES) {
        for (int64_t k = j; k < j + POOL_LANES; k++) {
            to[k] = ((from[2 * k] + from[step + 2 * k]) + (from[2 * k + 1] + from[step + 2 * k + 1])) * factor;
        }
    }
    for (; j < n; j++) {
        to[j] = ((from[2 * j] + from[step + 2 * j]) + (from[2 * j + 1] + from[step + 2 * j + 1])) * factor;
    }
}

/* Rows of such windows one behind the other: what a row's last vector holds too much is written over by the next. */
static void NAME(add_rows_of_fours)(const pool_job *job, const char *plane, int64_t y, int64_t end, TYPE *to, TYPE *room) {
    int64_t n = job->columns.n, step = 0;
    const TYPE *from = NAME(rows_of)(job, plane, 2 * y, 2 * end, room, &step);
    for (int64_t i = 0; i < end - y; i++) {
        bool has_room = step == job->columns.in && i + 1 < end - y && 2 * pool_wide_lanes(n, true) <= 3 * step;
        NAME(add_fours)(from + 2 * i * step, step, 1 / (TYPE)job->divisor, pool_wide_lanes(n, has_room), to + i * n);
    }
}

static void NAME(avg_plane)(const pool_job *job, int64_t n, int64_t c, int64_t y, int64_t end, void *work) {
    const pool_windows *w = &job->columns;
    const pool_block *b = &job->block;
    int64_t size = job->size, rows = end - y, outs = rows * b->outs, reach = w->kernel + w->stride + POOL_LANES;
    TYPE *down = work, *sum = down + b->rows * b->width + reach, *room = sum + b->rows * b->outs + POOL_LANES;
    const char *plane = job->x + (n * job->x_step[0] + c * job->x_step[1]) * size;
    char *out = job->out + (n * job->out_step[0] + c * job->out_step[1] + y * job->out_step[2]) * size;
    bool are_dense = job->dtype == OWN_DTYPE && job->out_step[3] == 1 && job->out_step[2] == w->n;
    if (NAME(are_fours)(job)) {
        NAME(add_rows_of_fours)(job, plane, y, end, are_dense ? (TYPE *)out : sum, room);
        if (!are_dense) {
            NAME(store_rows)(job, sum, w->n, w->n, rows, out);
        }
        return;
    }
    bool in_place = are_dense && b->outs == w->n;
    sum = in_place ? (TYPE *)out : sum;
    NAME(add_down)(job, plane, y, end, down, room);
    for (int64_t j = 0; j < reach; j++) {
        down[rows * b->width + j] = 0;
    }
    if (w->kernel > 0) {
        NAME(add_across)(w, down, outs, sum);
    } else if (b->taps > 0) {
        NAME(add_taps)(b, down, outs, sum);
    }
    for (int64_t o = 0; w->kernel == 0 && b->taps == 0 && o < outs; o++) {
        int64_t i = o / w->n, j = o % w->n;
        sum[o] = NAME(sum_run)(down + i * b->width + w->from[j], w->to[j] - w->from[j]);
    }
    NAME(divide)(job, y, rows, b->outs, sum);
    if (!in_place) {
        NAME(store_rows)(job, sum, b->outs, w->n, rows, out);
    }
}

/* sum[c] += the pixel at `at`, over `by` */
static inline void NAME(add_pixel)(const pool_job *job, const char *at, TYPE by, TYPE *restrict row, TYPE *restrict sum) {
    const TYPE *restrict from = (const TYPE *)at;
    if (job->dtype != OWN_DTYPE || job->x_step[1] != 1) {
        NAME(load)(job->dtype, at, job->x_step[1], job->channels, row);
        from = row;
    }
    if (by == 1) {
        for (int64_t c = 0; c < job->channels; c++) {
            sum[c] += from[c];
        }
    } else {
        for (int64_t c = 0; c < job->channels; c++) {
            sum[c] += from[c] / by;
        }
    }
}

static void NAME(avg_channels)(const pool_job *job, int64_t n, int64_t y, void *work) {
    const pool_windows *r = &job->rows, *w = &job->columns;
    int64_t channels = job->channels, size = (int64_t)dtype_size(job->dtype);
    TYPE *row = work, *sum = row + channels;
    for (int64_t x = 0; x < w->n; x++) {
        memset(sum, 0, (size_t)channels * sizeof(TYPE));
        for (int64_t i = r->from[y]; i < r->to[y]; i++) {
            for (int64_t j = w->from[x]; j < w->to[x]; j++) {
                const char *at = job->x + (n * job->x_step[0] + i * job->x_step[2] + j * job->x_step[3]) * size;
                NAME(add_pixel)(job, at, 1, row, sum);
            }
        }
        TYPE count = (TYPE)(r->count[y] * w->count[x]);
        for (int64_t c = 0; c < channels; c++) {
            sum[c] /= count;
        }
        int64_t out = n * job->out_step[0] + y * job->out_step[2] + x * job->out_step[3];
        NAME(store)(job->dtype, sum, channels, job->out + out * size, job->out_step[1]);
    }
}

static inline void NAME(repeat)(const TYPE *restrict from, int64_t n, int64_t times, TYPE *restrict to) {
    for (int64_t i = 0; i < n; i++) {
        for (int64_t k = 0; k < times; k++) {
            to[times * i + k] = from[i];
        }
    }
}

/* Rows [y, end) of what fours give back: each number a quarter of its window's, where grads begin with window row y / 2. What a row's
   last vector holds too much is written over by the next. */
static void NAME(give_rows_of_fours)(const pool_job *job, const TYPE *restrict grads, int64_t y, int64_t end, TYPE *restrict to) {
    int64_t n = job->columns.n;
    TYPE factor = 1 / (TYPE)job->divisor;
    for (int64_t i = y; i < end; i++, to += 2 * n) {
        const TYPE *from = grads + (i / 2 - y / 2) * n;
        int64_t lanes = pool_wide_lanes(n, i + 1 < end && 2 * pool_wide_lanes(n, true) <= 4 * n), j = 0;
        for (; j + POOL_LANES <= lanes; j += POOL_LANES) {
            for (int64_t k = j; k < j + POOL_LANES; k++) {
                to[2 * k] = to[2 * k + 1] = from[k] * factor;
            }
        }
        for (; j < lanes; j++) {
            to[2 * j] = to[2 * j + 1] = from[j] * factor;
        }
    }
}

/* Input rows y to end: the gradients of the window rows over each are added up, once where the next rows lie in the same
   windows, then those of the windows over each column. */
static void NAME(avg_back_plane)(const pool_job *job, int64_t n, int64_t c, int64_t y, int64_t end, void *work) {
    const pool_windows *r = &job->rows, *w = &job->columns;
    const pool_block *b = &job->block;
    int64_t size = job->size, first = r->first[y], last = r->last[end - 1], groups = 0;
    TYPE *grads = work, *down = grads + b->inner_rows * w->n, *sum = down + b->rows * b->width + w->pad + w->kernel;
    int64_t from = n * job->x_step[0] + c * job->x_step[1] + first * job->x_step[2];
    bool is_dense = job->x_step[3] == 1 && job->x_step[2] == w->n;
    for (int64_t i = 0; i < (is_dense ? 1 : last - first); i++) {
        int64_t elements = is_dense ? (last - first) * w->n : w->n;
        NAME(load)(job->dtype, job->x + (from + i * job->x_step[2]) * size, job->x_step[3], elements, grads + i * w->n);
    }
    char *out = job->out + (n * job->out_step[0] + c * job->out_step[1] + y * job->out_step[2]) * size;
    if (NAME(are_fours)(job) && r->in == 2 * r->n && w->in == 2 * w->n) {
        bool are_dense = job->dtype == OWN_DTYPE && job->out_step[3] == 1 && job->out_step[2] == w->in;
        NAME(give_rows_of_fours)(job, grads, y, end, are_dense ? (TYPE *)out : sum);
        if (!are_dense) {
            NAME(store_rows)(job, sum, w->in, w->in, end - y, out);
        }
        return;
    }
    NAME(divide)(job, first, last - first, w->n, grads);
    for (int64_t i = y; i < end; i++) {
        if (i > y && r->first[i] == r->first[i - 1] && r->last[i] == r->last[i - 1]) {
            continue;
        }
        TYPE *to = down + groups++ * b->width;
        int64_t windows = r->first[i] < r->last[i] ? w->n : 0;
        NAME(fill)(to, b->margin, 0);
        NAME(fill)(to + b->margin + windows, b->width - b->margin - windows, 0);
        for (int64_t k = r->first[i]; k < r->last[i]; k++) {
            NAME(add)(grads + (k - first) * w->n, 1, k == r->first[i], windows, to + b->margin);
        }
    }
    if (b->slides) {
        NAME(fill)(down + groups * b->width, w->pad + w->kernel, 0);
        for (int64_t k = 0; k < w->kernel; k++) {
            NAME(add)(down + w->pad + k, 1, k == 0, groups * b->outs, sum);
        }
    } else if (b->each == 2) {
        NAME(repeat)(down, groups * b->width, 2, sum);
    } else if (b->each == 4) {
        NAME(repeat)(down, groups * b->width, 4, sum);
    } else if (b->each > 0) {
        NAME(repeat)(down, groups * b->width, b->each, sum);
    } else if (b->taps > 0) {
        NAME(add_taps)(b, down, groups * b->outs, sum);
    }
    for (int64_t o = 0; !b->slides && b->each == 0 && b->taps == 0 && o < groups * b->outs; o++) {
        int64_t i = o / w->in, x = o % w->in;
        sum[o] = NAME(sum_run)(down + i * b->width + w->first[x], w->last[x] - w->first[x]);
    }
    if (groups == end - y) {
        NAME(store_rows)(job, sum, b->outs, w->in, groups, out);
        return;
    }
    const bool may_copy = job->dtype != OWN_DTYPE && job->out_step[3] == 1; /* what was converted before */
    for (int64_t i = y; i < end; i++, out += job->out_step[2] * size) {
        const bool is_next = i > y && (r->first[i] != r->first[i - 1] || r->last[i] != r->last[i - 1]);
        sum += is_next ? b->outs : 0;
        if (may_copy && i > y && !is_next) {
            memcpy(out, out - job->out_step[2] * size, (size_t)(w->in * size));
        } else {
            NAME(store_row)(job, sum, w->in, i + 1 == end, out);
        }
    }
}

static void NAME(avg_back_channels)(const pool_job *job, int64_t n, int64_t y, void *work) {
    const pool_windows *r = &job->rows, *w = &job->columns;
    int64_t channels = job->channels, size = (int64_t)dtype_size(job->dtype);
    TYPE *row = work, *sum = row + channels;
    for (int64_t x = 0; x < w->in; x++) {
        memset(sum, 0, (size_t)channels * sizeof(TYPE));
        for (int64_t i = r->first[y]; i < r->last[y]; i++) {
            for (int64_t j = w->first[x]; j < w->last[x]; j++) {
                const char *at = job->x + (n * job->x_step[0] + i * job->x_step[2] + j * job->x_step[3]) * size;
                NAME(add_pixel)(job, at, (TYPE)(r->count[i] * w->count[j]), row, sum);
            }
        }
        int64_t out = n * job->out_step[0] + y * job->out_step[2] + x * job->out_step[3];
        NAME(store)(job->dtype, sum, channels, job->out + out * size, job->out_step[1]);
    }
}
