/* SPDX-License-Identifier: Apache-2.0 */
/* Included once per TYPE. Rows are brought into the type computed in first, padded, so that the loops over windows are
   plain and vectorise; a window's rows are summed before its columns. */

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

/* Width of a row with its padding, as far as windows reach. */
static int64_t NAME(reach)(const pool_windows *w) {
    int64_t end = w->kernel > 0 ? (w->n - 1) * w->stride + (w->kernel - 1) * w->dilation + 1 : w->in;
    return end > w->in + w->pad ? end : w->in + w->pad;
}

static inline bool NAME(is_nan)(TYPE value) {
#if IS_REAL
    return value != value;
#else
    (void)value;
    return false;
#endif
}

/* best[j] = the larger of it and from[j * stride]; the first of equals, NaN before all. */
static inline void NAME(take_larger)(const TYPE *restrict from, int64_t stride, int64_t n, INDEX at, TYPE *restrict best,
                                     INDEX *restrict index) {
    for (int64_t j = 0; j < n; j++) {
        TYPE value = from[j * stride];
        bool larger = value > best[j] || NAME(is_nan)(value);
        best[j] = larger ? value : best[j];
        index[j] = larger ? at + (INDEX)(j * stride) : index[j];
    }
}

static void NAME(max_plane)(const pool_job *job, int64_t n, int64_t c, int64_t y, void *work) {
    const pool_windows *r = &job->rows, *w = &job->columns;
    int64_t width = NAME(reach)(w);
    TYPE *row = work, *best = row + width;
    INDEX *index = (INDEX *)(best + w->n);
    int64_t size = (int64_t)dtype_size(job->dtype);
    const char *plane = job->x + (n * job->x_step[0] + c * job->x_step[1]) * size;
    for (int64_t j = 0; j < w->n; j++) {
        best[j] = LOWEST;
        index[j] = (INDEX)(r->from[y] * w->in + w->from[j]);
    }
    for (int64_t i = 0; i < w->pad; i++) {
        row[i] = LOWEST;
    }
    for (int64_t i = w->pad + w->in; i < width; i++) {
        row[i] = LOWEST;
    }
    for (int64_t i = r->from[y]; i < r->to[y]; i += r->dilation) {
        NAME(load)(job->dtype, plane + i * job->x_step[2] * size, job->x_step[3], w->in, row + w->pad);
        for (int64_t k = 0; k < w->kernel; k++) {
            INDEX at = (INDEX)(i * w->in + k * w->dilation - w->pad);
            const TYPE *from = row + k * w->dilation;
            /* Constant strides vectorise. */
            if (w->stride == 1) {
                NAME(take_larger)(from, 1, w->n, at, best, index);
            } else if (w->stride == 2) {
                NAME(take_larger)(from, 2, w->n, at, best, index);
            } else {
                NAME(take_larger)(from, w->stride, w->n, at, best, index);
            }
        }
    }
    int64_t out = n * job->out_step[0] + c * job->out_step[1] + y * job->out_step[2];
    NAME(store)(job->dtype, best, w->n, job->out + out * size, job->out_step[3]);
    int64_t *to = job->index + n * job->index_step[0] + c * job->index_step[1] + y * job->index_step[2];
    for (int64_t j = 0; j < w->n; j++) {
        to[j * job->index_step[3]] = index[j];
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

static inline void NAME(add)(const TYPE *restrict from, int64_t stride, int64_t n, TYPE *restrict to) {
    for (int64_t j = 0; j < n; j++) {
        to[j] += from[j * stride];
    }
}

static inline void NAME(add_back)(const TYPE *restrict from, int64_t stride, int64_t n, TYPE *restrict to) {
    for (int64_t j = 0; j < n; j++) {
        to[j * stride] += from[j];
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

static void NAME(avg_plane)(const pool_job *job, int64_t n, int64_t c, int64_t y, void *work) {
    const pool_windows *r = &job->rows, *w = &job->columns;
    int64_t width = NAME(reach)(w), size = (int64_t)dtype_size(job->dtype);
    TYPE *rows = work, *row = rows + width, *sum = row + w->in;
    const char *plane = job->x + (n * job->x_step[0] + c * job->x_step[1]) * size;
    memset(rows, 0, (size_t)width * sizeof(TYPE));
    for (int64_t i = r->from[y]; i < r->to[y]; i++) {
        const char *at = plane + i * job->x_step[2] * size;
        const TYPE *from = (const TYPE *)at;
        if (job->dtype != OWN_DTYPE || job->x_step[3] != 1) {
            NAME(load)(job->dtype, at, job->x_step[3], w->in, row);
            from = row;
        }
        NAME(add)(from, 1, w->in, rows + w->pad);
    }
    if (w->kernel > 0) {
        memset(sum, 0, (size_t)w->n * sizeof(TYPE));
        for (int64_t k = 0; k < w->kernel; k++) {
            if (w->stride == 1) {
                NAME(add)(rows + k, 1, w->n, sum);
            } else if (w->stride == 2) {
                NAME(add)(rows + k, 2, w->n, sum);
            } else {
                NAME(add)(rows + k, w->stride, w->n, sum);
            }
        }
    } else {
        for (int64_t j = 0; j < w->n; j++) {
            sum[j] = NAME(sum_run)(rows + w->from[j], w->to[j] - w->from[j]);
        }
    }
    for (int64_t j = 0; j < w->n; j++) {
        sum[j] /= (TYPE)(r->count[y] * w->count[j]);
    }
    int64_t out = n * job->out_step[0] + c * job->out_step[1] + y * job->out_step[2];
    NAME(store)(job->dtype, sum, w->n, job->out + out * size, job->out_step[3]);
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

/* Input row y: the gradients of the window rows over it are added up, then shared out among their columns. */
static void NAME(avg_back_plane)(const pool_job *job, int64_t n, int64_t c, int64_t y, void *work) {
    const pool_windows *r = &job->rows, *w = &job->columns;
    int64_t width = NAME(reach)(w), size = (int64_t)dtype_size(job->dtype);
    TYPE *spread = work, *row = spread + width, *sum = row + w->n;
    memset(spread, 0, (size_t)width * sizeof(TYPE));
    memset(sum, 0, (size_t)w->n * sizeof(TYPE));
    for (int64_t i = r->first[y]; i < r->last[y]; i++) {
        int64_t from = n * job->x_step[0] + c * job->x_step[1] + i * job->x_step[2];
        NAME(load)(job->dtype, job->x + from * size, job->x_step[3], w->n, row);
        for (int64_t j = 0; j < w->n; j++) {
            sum[j] += row[j] / (TYPE)(r->count[i] * w->count[j]);
        }
    }
    if (w->kernel > 0) {
        for (int64_t k = 0; k < w->kernel; k++) {
            if (w->stride == 1) {
                NAME(add_back)(sum, 1, w->n, spread + k);
            } else if (w->stride == 2) {
                NAME(add_back)(sum, 2, w->n, spread + k);
            } else {
                NAME(add_back)(sum, w->stride, w->n, spread + k);
            }
        }
    } else {
        for (int64_t j = 0; j < w->n; j++) {
            for (int64_t x = w->from[j]; x < w->to[j]; x++) {
                spread[x] += sum[j];
            }
        }
    }
    int64_t out = n * job->out_step[0] + c * job->out_step[1] + y * job->out_step[2];
    NAME(store)(job->dtype, spread + w->pad, w->in, job->out + out * size, job->out_step[3]);
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

#undef TYPE
#undef INDEX
#undef NAME
#undef LOWEST
#undef IS_REAL
#undef OWN_DTYPE
#undef INTO
#undef OUT_OF
#undef LOAD
#undef STORE
