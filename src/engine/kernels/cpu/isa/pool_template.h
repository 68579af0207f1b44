/* SPDX-License-Identifier: Apache-2.0 */
/* Included once per TYPE. A window's rows are brought into the type computed in and added up, or compared, before its columns,
   several rows of windows one behind the other and padded, so that the loops over windows are plain and vectorise. */

/* n elements, `step` apart, of the tensor's type. */
static void NAME(load)(dtype t, const char *from, int64_t step, int64_t n, TYPE *to) {
    if (step == 1) {
        converters->INTO[t](to, from, n);
        return;
    }
    for (int64_t i = 0; i < n; i++) {
        const char *at = from + i * step * (int64_t)dtype_size(t);
        to[i] = t == OWN_DTYPE ? *(const TYPE *)at : (TYPE)LOAD(t, at);
    }
}

static void NAME(store)(dtype t, const TYPE *from, int64_t n, char *to, int64_t step) {
    if (step == 1) {
        converters->OUT_OF[t](to, from, n);
        return;
    }
    for (int64_t i = 0; i < n; i++) {
        STORE(t, to + i * step * (int64_t)dtype_size(t), from[i]);
    }
}

static inline bool NAME(is_nan)(TYPE value) {
#if IS_REAL
    return value != value;
#else
    (void)value;
    return false;
#endif
}

/* n numbers to a row of the output; is_last: none comes behind it that would be written later, so that it must end where it
   does. */
static inline void NAME(store_row)(const pool_job *job, const TYPE *restrict from, int64_t n, bool is_last, char *to) {
    if (job->dtype != OWN_DTYPE || job->out_step[3] != 1) {
        NAME(store)(job->dtype, from, n, to, job->out_step[3]);
        return;
    }
    int64_t lanes = pool_lanes(n, !is_last && job->out_step[2] == n);
    for (int64_t j = 0; j < lanes; j++) {
        ((TYPE *)to)[j] = from[j];
    }
}

/* Rows of n numbers, `width` apart, to rows of the output. */
static void NAME(store_rows)(const pool_job *job, const TYPE *from, int64_t width, int64_t n, int64_t rows, char *to) {
    if (width == n && job->out_step[3] == 1 && job->out_step[2] == n) {
        NAME(store)(job->dtype, from, rows * n, to, 1);
        return;
    }
    for (int64_t i = 0; i < rows; i++) {
        NAME(store_row)(job, from + i * width, n, i + 1 == rows, to + i * job->out_step[2] * job->size);
    }
}

/* Row i of a plane: where it lies, or as numbers in `row`. *lanes: how many may be read; n, or more for the sake of whole
   vectors. */
static inline const TYPE *NAME(row_at)(const pool_job *job, const char *plane, int64_t i, TYPE *row, int64_t *lanes) {
    int64_t n = job->columns.in;
    const char *at = plane + i * job->x_step[2] * job->size;
    if (job->dtype == OWN_DTYPE && job->x_step[3] == 1) {
        *lanes = pool_lanes(n, i + 1 < job->rows.in && job->x_step[2] == n);
        return (const TYPE *)at;
    }
    *lanes = pool_lanes(n, true);
    NAME(load)(job->dtype, at, job->x_step[3], n, row);
    return row;
}

static inline void NAME(fill)(TYPE *to, int64_t n, TYPE value) {
    for (int64_t i = 0; i < n; i++) {
        to[i] = value;
    }
}

static inline void NAME(fill_index)(INDEX *to, int64_t n, INDEX value) {
    for (int64_t i = 0; i < n; i++) {
        to[i] = value;
    }
}

/* --- maxima -------------------------------------------------------------------------------------------------------------- */

/* The largest of each column in the rows of windows y, where it lies in the plane, the first of equals, the last NaN. Columns
   of padding lie behind all others. */
static void NAME(max_down)(const pool_job *job, const char *plane, int64_t y, TYPE *best, INDEX *at, TYPE *row) {
    const pool_windows *r = &job->rows, *w = &job->columns;
    int64_t i = r->from[y], n = i < r->to[y] ? w->in : 0, lanes = 0;
    const TYPE *restrict from = n > 0 ? NAME(row_at)(job, plane, i, row, &lanes) : NULL;
    TYPE *restrict inside = best + w->pad;
    INDEX *restrict inside_at = at + w->pad;
    for (int64_t c = 0; c < lanes; c++) {
        inside[c] = from[c];
        inside_at[c] = (INDEX)(i * n + c);
    }
    for (i += r->dilation; i < r->to[y]; i += r->dilation) {
        from = NAME(row_at)(job, plane, i, row, &lanes);
        for (int64_t c = 0; c < lanes; c++) {
            bool larger = from[c] > inside[c] || NAME(is_nan)(from[c]);
            inside[c] = larger ? from[c] : inside[c];
            inside_at[c] = larger ? (INDEX)(i * n + c) : inside_at[c];
        }
    }
    NAME(fill)(best, w->pad, LOWEST);
    NAME(fill_index)(at, w->pad, INDEX_LAST);
    NAME(fill)(inside + n, job->block.width - w->pad - n, LOWEST);
    NAME(fill_index)(inside_at + n, job->block.width - w->pad - n, INDEX_LAST);
}

/* best[j] = the larger of it and from[j * stride]; of equals the one that lies first, of NaN, which are before all, the last. */
static inline void NAME(take_larger)(const TYPE *restrict from, const INDEX *restrict from_at, int64_t stride, int64_t n,
                                     TYPE *restrict best, INDEX *restrict at) {
    for (int64_t j = 0; j < n; j++) {
        TYPE value = from[j * stride], old = best[j];
        INDEX here = from_at[j * stride], there = at[j];
        bool takes = (value > old) | ((value == old) & (here < there)) |
                     ((int)NAME(is_nan)(value) & (!NAME(is_nan)(old) | (here > there)));
        best[j] = takes ? value : old;
        at[j] = takes ? here : there;
    }
}

static inline void NAME(store_index)(const INDEX *restrict from, int64_t n, int64_t *restrict to, int64_t step) {
    if (step == 1) {
        for (int64_t j = 0; j < n; j++) {
            to[j] = from[j];
        }
        return;
    }
    for (int64_t j = 0; j < n; j++) {
        to[j * step] = from[j];
    }
}

static void NAME(max_plane)(const pool_job *job, int64_t n, int64_t c, int64_t y, int64_t end, void *work) {
    const pool_windows *r = &job->rows, *w = &job->columns;
    const pool_block *b = &job->block;
    int64_t size = job->size, rows = end - y, outs = rows * b->outs;
    int64_t reach = (w->kernel - 1) * w->dilation + w->stride + POOL_LANES; /* read and written behind the last row */
    TYPE *down = work, *best = down + b->rows * b->width + reach, *row = best + b->rows * b->outs + POOL_LANES;
    INDEX *down_at = (INDEX *)(row + w->in + POOL_LANES), *at = down_at + b->rows * b->width + reach;
    const char *plane = job->x + (n * job->x_step[0] + c * job->x_step[1]) * size;
    for (int64_t i = 0; i < rows; i++) {
        NAME(max_down)(job, plane, y + i, down + i * b->width, down_at + i * b->width, row);
        INDEX *restrict begins = at + i * b->outs, row_at = (INDEX)(r->from[y + i] * w->in);
        const int64_t *restrict first = w->from;
        for (int64_t j = 0, columns = w->n; j < columns; j++) {
            begins[j] = row_at + (INDEX)first[j];
        }
        NAME(fill_index)(begins + w->n, b->outs - w->n, 0);
    }
    NAME(fill)(down + rows * b->width, reach, LOWEST);
    NAME(fill_index)(down_at + rows * b->width, reach, INDEX_LAST);
    NAME(fill)(best, outs, LOWEST);
    for (int64_t k = 0; k < w->kernel * w->dilation; k += w->dilation) {
        /* Constant strides vectorise. */
        if (w->stride == 1) {
            NAME(take_larger)(down + k, down_at + k, 1, outs, best, at);
        } else if (w->stride == 2) {
            NAME(take_larger)(down + k, down_at + k, 2, outs, best, at);
        } else {
            NAME(take_larger)(down + k, down_at + k, w->stride, outs, best, at);
        }
    }
    int64_t out = n * job->out_step[0] + c * job->out_step[1] + y * job->out_step[2];
    NAME(store_rows)(job, best, b->outs, w->n, rows, job->out + out * size);
    for (int64_t i = 0; i < rows; i++) {
        int64_t *to = job->index + n * job->index_step[0] + c * job->index_step[1] + (y + i) * job->index_step[2];
        NAME(store_index)(at + i * b->outs, pool_lanes(w->n, i + 1 < rows && job->index_step[3] == 1 && job->index_step[2] == w->n),
                          to, job->index_step[3]);
    }
}

static void NAME(max_channels)(const pool_job *job, int64_t n, int64_t y, void *work) {
    const pool_windows *r = &job->rows, *w = &job->columns;
    int64_t channels = job->channels, size = (int64_t)dtype_size(job->dtype);
    TYPE *row = work, *best = row + channels;
    INDEX *index = (INDEX *)(best + channels);
    for (int64_t x = 0; x < w->n; x++) {
        for (int64_t c = 0; c < channels; c++) {
            best[c] = LOWEST;
            index[c] = (INDEX)(r->from[y] * w->in + w->from[x]);
        }
        for (int64_t i = r->from[y]; i < r->to[y]; i += r->dilation) {
            for (int64_t j = w->from[x]; j < w->to[x]; j += w->dilation) {
                const char *at = job->x + (n * job->x_step[0] + i * job->x_step[2] + j * job->x_step[3]) * size;
                const TYPE *from = (const TYPE *)at;
                if (job->dtype != OWN_DTYPE) {
                    NAME(load)(job->dtype, at, 1, channels, row);
                    from = row;
                }
                INDEX here = (INDEX)(i * w->in + j);
                for (int64_t c = 0; c < channels; c++) {
                    bool larger = from[c] > best[c] || NAME(is_nan)(from[c]);
                    best[c] = larger ? from[c] : best[c];
                    index[c] = larger ? here : index[c];
                }
            }
        }
        int64_t out = n * job->out_step[0] + y * job->out_step[2] + x * job->out_step[3];
        NAME(store)(job->dtype, best, channels, job->out + out * size, job->out_step[1]);
        int64_t *to = job->index + n * job->index_step[0] + y * job->index_step[2] + x * job->index_step[3];
        for (int64_t c = 0; c < channels; c++) {
            to[c * job->index_step[1]] = index[c];
        }
    }
}

#include "engine/kernels/cpu/isa/pool_averages.h"

#undef TYPE
#undef INDEX
#undef INDEX_LAST
#undef NAME
#undef LOWEST
#undef IS_REAL
#undef GATHERS
#undef OWN_DTYPE
#undef INTO
#undef OUT_OF
#undef LOAD
#undef STORE
