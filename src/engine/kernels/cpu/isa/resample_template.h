/* SPDX-License-Identifier: Apache-2.0 */
/* Included once per TYPE. */

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

/* Where target t's taps lie: *k first, *step from one to the next; how many. */
static inline int64_t NAME(taps)(const resample_table *t, int64_t target, int64_t *k, int64_t *step) {
    if (t->uniform > 0) {
        *k = target;
        *step = t->n;
        return t->uniform;
    }
    *k = t->start[target];
    *step = 1;
    return t->start[target + 1] - t->start[target];
}

/* to[i] (+)= weight * from[i] */
static inline void NAME(accumulate)(const TYPE *restrict from, TYPE weight, bool is_first, int64_t n, TYPE *restrict to) {
    if (is_first) {
        for (int64_t i = 0; i < n; i++) {
            to[i] = weight * from[i];
        }
        return;
    }
    for (int64_t i = 0; i < n; i++) {
        to[i] += weight * from[i];
    }
}

/* The combined row's columns to the output's. */
static void NAME(across)(const resample_table *t, const TYPE *restrict row, TYPE *restrict out) {
    const TYPE *restrict w = t->WEIGHTS;
    const int32_t *restrict s = t->source;
    int64_t n = t->n;
    if (t->uniform == 1) {
        for (int64_t i = 0; i < n; i++) {
            out[i] = row[s[i]];
        }
    } else if (t->uniform == 2) {
        for (int64_t i = 0; i < n; i++) {
            out[i] = w[i] * row[s[i]] + w[n + i] * row[s[n + i]];
        }
    } else if (t->uniform == 4) {
        for (int64_t i = 0; i < n; i++) {
            out[i] = (w[i] * row[s[i]] + w[n + i] * row[s[n + i]]) +
                     (w[2 * n + i] * row[s[2 * n + i]] + w[3 * n + i] * row[s[3 * n + i]]);
        }
    } else {
        for (int64_t i = 0; i < n; i++) {
            TYPE sum = 0;
            for (int64_t k = t->start[i]; k < t->start[i + 1]; k++) {
                sum += w[k] * row[s[k]];
            }
            out[i] = sum;
        }
    }
}

static void NAME(plane)(const resample_job *job, int64_t n, int64_t c, int64_t y, void *work) {
    int64_t size = (int64_t)dtype_size(job->dtype), width = job->x_columns, k, step;
    TYPE *row = work, *buffer = row + width, *out = buffer + width;
    int64_t taps = NAME(taps)(&job->rows, y, &k, &step);
    memset(row, 0, (size_t)width * sizeof(TYPE));
    for (int64_t i = 0; i < taps; i++, k += step) {
        int64_t at = n * job->x_step[0] + c * job->x_step[1] + job->rows.source[k] * job->x_step[2];
        const TYPE *from = (const TYPE *)(job->x + at * size);
        if (job->dtype != OWN_DTYPE || job->x_step[3] != 1) {
            NAME(load)(job->dtype, job->x + at * size, job->x_step[3], width, buffer);
            from = buffer;
        }
        NAME(accumulate)(from, job->rows.WEIGHTS[k], i == 0, width, row);
    }
    NAME(across)(&job->columns, row, out);
    int64_t to = n * job->out_step[0] + c * job->out_step[1] + y * job->out_step[2];
    NAME(store)(job->dtype, out, job->columns.n, job->out + to * size, job->out_step[3]);
}

static void NAME(channels)(const resample_job *job, int64_t n, int64_t y, void *work) {
    int64_t size = (int64_t)dtype_size(job->dtype), channels = job->channels;
    TYPE *sum = work, *buffer = sum + channels;
    for (int64_t x = 0; x < job->columns.n; x++) {
        int64_t r, r_step, c, c_step;
        int64_t r_taps = NAME(taps)(&job->rows, y, &r, &r_step);
        memset(sum, 0, (size_t)channels * sizeof(TYPE));
        for (int64_t i = 0; i < r_taps; i++, r += r_step) {
            int64_t c_taps = NAME(taps)(&job->columns, x, &c, &c_step);
            for (int64_t j = 0; j < c_taps; j++, c += c_step) {
                int64_t at = n * job->x_step[0] + job->rows.source[r] * job->x_step[2] +
                             job->columns.source[c] * job->x_step[3];
                const TYPE *from = (const TYPE *)(job->x + at * size);
                if (job->dtype != OWN_DTYPE) {
                    NAME(load)(job->dtype, job->x + at * size, 1, channels, buffer);
                    from = buffer;
                }
                NAME(accumulate)(from, job->rows.WEIGHTS[r] * job->columns.WEIGHTS[c], i + j == 0, channels, sum);
            }
        }
        int64_t to = n * job->out_step[0] + y * job->out_step[2] + x * job->out_step[3];
        NAME(store)(job->dtype, sum, channels, job->out + to * size, job->out_step[1]);
    }
}

/* A plane's rows in TYPE, one behind the other: as it lies, or in buffer. */
static const TYPE *NAME(whole_plane)(dtype t, const char *plane, const int64_t *step, int64_t rows, int64_t columns,
                                     TYPE *buffer) {
    if (t == OWN_DTYPE && step[3] == 1 && step[2] == columns) {
        return (const TYPE *)plane;
    }
    for (int64_t y = 0; y < rows; y++) {
        NAME(load)(t, plane + y * step[2] * (int64_t)dtype_size(t), step[3], columns, buffer + y * columns);
    }
    return buffer;
}

static void NAME(grid)(const grid_job *job, int64_t n, int64_t c, void *work) {
    int64_t size = (int64_t)dtype_size(job->dtype), columns = job->columns;
    TYPE *buffer = work, *out = buffer + job->rows * columns;
    const grid_table *t = &job->table;
    const char *at = job->x + (n * job->x_step[0] + c * job->x_step[1]) * size;
    const TYPE *plane = NAME(whole_plane)(job->dtype, at, job->x_step, job->rows, columns, buffer);
    for (int64_t p = 0; p < t->points; p++) {
        TYPE sum = 0;
        for (int64_t r = p * t->taps; r < (p + 1) * t->taps; r++) {
            for (int64_t k = p * t->taps; t->row[r] >= 0 && k < (p + 1) * t->taps; k++) {
                if (t->column[k] >= 0) {
                    sum += (TYPE)(t->row_weight[r] * t->column_weight[k]) * plane[t->row[r] * columns + t->column[k]];
                }
            }
        }
        out[p] = sum;
    }
    for (int64_t p = 0; p < t->points; p += job->out_columns) {
        int64_t to = n * job->out_step[0] + c * job->out_step[1] + p / job->out_columns * job->out_step[2];
        NAME(store)(job->dtype, out + p, job->out_columns, job->out + to * size, job->out_step[3]);
    }
}

static void NAME(grid_back)(const grid_job *job, int64_t n, int64_t c, void *work, double *xy) {
    int64_t size = (int64_t)dtype_size(job->dtype), columns = job->columns, area = job->rows * columns;
    TYPE *buffer = work, *sums = buffer + area, *grads = sums + area;
    const grid_table *t = &job->table;
    const TYPE *plane = NAME(whole_plane)(job->dtype, job->x + (n * job->x_step[0] + c * job->x_step[1]) * size,
                                          job->x_step, job->rows, columns, buffer);
    for (int64_t p = 0; p < t->points; p += job->out_columns) {
        int64_t from = n * job->grad_step[0] + c * job->grad_step[1] + p / job->out_columns * job->grad_step[2];
        NAME(load)(job->dtype, job->grad + from * size, job->grad_step[3], job->out_columns, grads + p);
    }
    memset(sums, 0, (size_t)area * sizeof(TYPE));
    for (int64_t p = 0; p < t->points; p++) {
        for (int64_t r = p * t->taps; r < (p + 1) * t->taps; r++) {
            for (int64_t k = p * t->taps; t->row[r] >= 0 && k < (p + 1) * t->taps; k++) {
                if (t->column[k] < 0) {
                    continue;
                }
                int64_t at = t->row[r] * columns + t->column[k];
                double value = (double)plane[at] * (double)grads[p];
                sums[at] += grads[p] * (TYPE)(t->row_weight[r] * t->column_weight[k]);
                xy[2 * p] += value * t->row_weight[r] * t->column_slope[k];
                xy[2 * p + 1] += value * t->row_slope[r] * t->column_weight[k];
            }
        }
    }
    for (int64_t y = 0; job->out != NULL && y < job->rows; y++) {
        int64_t to = n * job->out_step[0] + c * job->out_step[1] + y * job->out_step[2];
        NAME(store)(job->dtype, sums + y * columns, columns, job->out + to * size, job->out_step[3]);
    }
}

#undef TYPE
#undef NAME
#undef WEIGHTS
#undef OWN_DTYPE
#undef INTO
#undef OUT_OF
#undef LOAD
#undef STORE
