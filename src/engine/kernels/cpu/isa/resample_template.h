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

/* out[i], i below n, from the combined row; `taps` as a constant, so that they are added without a loop. */
static inline void NAME(add_taps)(const resample_lanes *t, int taps, const TYPE *restrict row, TYPE *restrict out, int64_t n) {
    const TYPE *restrict w = t->WEIGHTS;
    const int32_t *restrict s = t->source;
    int64_t lanes = t->lanes, first = 0;
#if GATHERS
    for (; first + GATHER_LANES <= n; first += GATHER_LANES) {
        gather_lanes sum, weight, more;
        gather_f32(&sum, row, s + first);
        memcpy(&weight, w + first, sizeof weight);
        sum *= weight;
        for (int k = 1; k < taps; k++) {
            gather_f32(&more, row, s + k * lanes + first);
            memcpy(&weight, w + k * lanes + first, sizeof weight);
            sum += weight * more;
        }
        memcpy(out + first, &sum, sizeof sum);
    }
#endif
    for (int64_t i = first; i < n; i++) {
        TYPE sum = w[i] * row[s[i]];
        for (int k = 1; k < taps; k++) {
            sum += w[k * lanes + i] * row[s[k * lanes + i]];
        }
        out[i] = sum;
    }
}

static inline void NAME(copy_taps)(const resample_lanes *t, const TYPE *restrict row, TYPE *restrict out, int64_t n) {
    int64_t i = 0;
#if GATHERS
    for (; i + GATHER_LANES <= n; i += GATHER_LANES) {
        gather_lanes v;
        gather_f32(&v, row, t->source + i);
        memcpy(out + i, &v, sizeof v);
    }
#endif
    for (; i < n; i++) {
        out[i] = row[t->source[i]];
    }
}

/* Each of n elements `times` times, and the sums of as many; `times` as a constant, for vector code. */
static inline void NAME(repeat)(const TYPE *restrict row, TYPE *restrict out, int64_t n, int times) {
    for (int64_t i = 0; i < n; i++) {
        for (int k = 0; k < times; k++) {
            out[times * i + k] = row[i];
        }
    }
}

static inline void NAME(sum_each)(const TYPE *restrict row, TYPE *restrict out, int64_t n, int times) {
    for (int64_t i = 0; i < n; i++) {
        TYPE sum = row[times * i];
        for (int k = 1; k < times; k++) {
            sum += row[times * i + k];
        }
        out[i] = sum;
    }
}

/* Whether columns are repeated or added up as neighbours, in the few ways that there are loops for; then it is done. */
static inline bool NAME(across_whole)(const resample_job *job, const TYPE *restrict row, TYPE *restrict out) {
    const resample_lanes *l = &job->across;
    if (l->each == 2) {
        NAME(repeat)(row, out, job->x_columns, 2);
    } else if (l->each == 4) {
        NAME(repeat)(row, out, job->x_columns, 4);
    } else if (l->sums == 2) {
        NAME(sum_each)(row, out, job->columns.n, 2);
    } else if (l->sums == 4) {
        NAME(sum_each)(row, out, job->columns.n, 4);
    } else {
        return false;
    }
    return true;
}

/* The combined row's columns to the output's; as many lanes of these as n. */
static void NAME(across)(const resample_job *job, const TYPE *restrict row, TYPE *restrict out, int64_t n) {
    const resample_lanes *l = &job->across;
    const resample_table *t = &job->columns;
    if (NAME(across_whole)(job, row, out)) {
        return;
    }
    switch (l->taps) {
    case 1:
        if (!l->is_plain) {
            NAME(add_taps)(l, 1, row, out, n);
            break;
        }
        NAME(copy_taps)(l, row, out, n);
        break;
    case 2:
        NAME(add_taps)(l, 2, row, out, n);
        break;
    case 3:
        NAME(add_taps)(l, 3, row, out, n);
        break;
    case 4:
        NAME(add_taps)(l, 4, row, out, n);
        break;
    case 0:
        for (int64_t i = 0; i < t->n; i++) {
            TYPE sum = 0;
            for (int64_t k = t->start[i]; k < t->start[i + 1]; k++) {
                sum += t->WEIGHTS[k] * row[t->source[k]];
            }
            out[i] = sum;
        }
        break;
    default:
        NAME(add_taps)(l, 4, row, out, n);
        for (int64_t k = 4 * l->lanes; k < l->taps * l->lanes; k += l->lanes) {
            for (int64_t i = 0; i < n; i++) {
                out[i] += l->WEIGHTS[k + i] * row[l->source[k + i]];
            }
        }
    }
}

/* The same where each column is a pixel of channels. */
static inline void NAME(add_pixels)(const TYPE *weight, const TYPE *const *from, int taps, int64_t n, TYPE *restrict out) {
    for (int64_t i = 0; i < n; i++) {
        TYPE sum = weight[0] * from[0][i];
        for (int k = 1; k < taps; k++) {
            sum += weight[k] * from[k][i];
        }
        out[i] = sum;
    }
}

static void NAME(across_pixels)(const resample_job *job, const TYPE *restrict row, TYPE *restrict out) {
    const resample_table *t = &job->columns;
    int64_t channels = job->pixel;
    for (int64_t i = 0; i < t->n; i++, out += channels) {
        int64_t first = t->start[i], n = t->start[i + 1] - first;
        const TYPE *weight = t->WEIGHTS + first, *from[4];
        for (int64_t k = 0; k < n && k < 4; k++) {
            from[k] = row + t->source[first + k] * channels;
        }
        if (n == 1) {
            NAME(add_pixels)(weight, from, 1, channels, out);
        } else if (n == 2) {
            NAME(add_pixels)(weight, from, 2, channels, out);
        } else if (n == 4) {
            NAME(add_pixels)(weight, from, 4, channels, out);
        } else {
            memset(out, 0, (size_t)channels * sizeof(TYPE));
            for (int64_t k = 0; k < n; k++) {
                NAME(accumulate)(row + t->source[first + k] * channels, weight[k], false, channels, out);
            }
        }
    }
}

/* Whether target y of an axis is made of just one source, by weight 1. */
static inline bool NAME(is_copy)(const resample_table *t, int64_t y) {
    return t->start[y + 1] - t->start[y] == 1 && t->weight[t->start[y]] == 1;
}

/* The rows of plane x that row y of the output takes, added up: in `row`, or where the one row lies. What is behind the
   last column, an element for each plane inside, is 0 where some column wants it. */
static const TYPE *NAME(down)(const resample_job *job, const char *x, int64_t y, TYPE *row, TYPE *buffer) {
    const resample_table *t = &job->rows;
    int64_t size = (int64_t)dtype_size(job->dtype), width = job->x_columns;
    bool is_ready = job->dtype == OWN_DTYPE && job->x_step[3] == 1;
    if (is_ready && !job->across.has_gaps && NAME(is_copy)(t, y)) {
        return (const TYPE *)(x + t->source[t->start[y]] * job->x_step[2] * size);
    }
    if (t->start[y] == t->start[y + 1]) {
        memset(row, 0, (size_t)width * sizeof(TYPE));
    }
    for (int64_t k = t->start[y]; k < t->start[y + 1]; k++) {
        const char *at = x + t->source[k] * job->x_step[2] * size;
        const TYPE *from = (const TYPE *)at;
        if (!is_ready) {
            NAME(load)(job->dtype, at, job->x_step[3], width, buffer);
            from = buffer;
        }
        NAME(accumulate)(from, t->WEIGHTS[k], k == t->start[y], width, row);
    }
    for (int64_t k = 0; k < job->inside; k++) {
        row[width + k] = 0;
    }
    return row;
}

/* A row of pixels that are just some of those at `from`, whatever their type. */
static void NAME(copy_pixels)(const resample_job *job, const char *from, char *to) {
    size_t bytes = (size_t)job->pixel * dtype_size(job->dtype);
    for (int64_t i = 0; i < job->columns.n; i++, to += bytes) {
        memcpy(to, from + (size_t)job->across.source[i] * bytes, bytes);
    }
}

/* A row of the output from the combined row; made: room for it. has_room: all lanes may go behind it. */
static void NAME(put_row)(const resample_job *job, const TYPE *from, char *to, bool has_room, TYPE *made) {
    int64_t columns = job->columns.n * job->pixel, lanes = job->across.lanes;
    bool is_own = job->out_step[3] == 1 && job->dtype == OWN_DTYPE;
    if (job->pixel > 1) {
        NAME(across_pixels)(job, from, is_own ? (TYPE *)to : made);
        if (!is_own) {
            NAME(store)(job->dtype, made, columns, to, job->out_step[3]);
        }
        return;
    }
    if (is_own && (lanes == columns || has_room || job->across.each + job->across.sums > 0)) {
        NAME(across)(job, from, (TYPE *)to, lanes);
        return;
    }
    NAME(across)(job, from, made, lanes);
    NAME(store)(job->dtype, made, columns, to, job->out_step[3]);
}

static void NAME(plane)(const resample_job *job, int64_t n, int64_t c, int64_t y, int64_t end, void *work) {
    const resample_table *t = &job->rows;
    int64_t size = (int64_t)dtype_size(job->dtype), columns = job->columns.n * job->pixel, step = job->out_step[2] * size;
    TYPE *row = work, *buffer = row + job->x_columns + job->inside, *made = buffer + job->x_columns;
    const char *x = job->x + (n * job->x_step[0] + c * job->x_step[1]) * size;
    char *out = job->out + (n * job->out_step[0] + c * job->out_step[1]) * size;
    bool are_pixels = job->pixel > 1 && job->across.is_plain && !job->across.has_gaps;
    for (int64_t first = y; y < end; y++) {
        if (are_pixels && NAME(is_copy)(t, y)) {
            NAME(copy_pixels)(job, x + t->source[t->start[y]] * job->x_step[2] * size, out + y * step);
            continue;
        }
        bool is_again = job->out_step[3] == 1 && y > first && NAME(is_copy)(t, y) && NAME(is_copy)(t, y - 1) &&
                        t->source[t->start[y]] == t->source[t->start[y - 1]];
        const TYPE *from = is_again ? NULL : NAME(down)(job, x, y, row, buffer);
        /* All lanes may go where the row lies if what is behind it is a row that is still to come. */
        bool has_room = y + 1 < end && job->out_step[2] == columns && job->across.lanes - columns <= columns;
        for (int64_t k = 0; k < job->inside; k++) {
            char *to = out + k * job->out_step[1] * size + y * step;
            if (is_again) {
                memcpy(to, to - step, (size_t)(columns * size));
            } else {
                NAME(put_row)(job, from + k, to, has_room, made);
            }
        }
    }
}

/* Where a row of the output is made of several, and there are more of these, columns of the input's rows come first: elements here and there
   are then read once for all rows that are made of them. */
static void NAME(row_across)(const resample_job *job, const char *x, int64_t source, TYPE *buffer, TYPE *to) {
    const char *at = x + source * job->x_step[2] * (int64_t)dtype_size(job->dtype);
    const TYPE *from = (const TYPE *)at;
    if (job->dtype != OWN_DTYPE || job->x_step[3] != 1 || job->across.has_gaps) {
        NAME(load)(job->dtype, at, job->x_step[3], job->x_columns, buffer);
        buffer[job->x_columns] = 0;
        from = buffer;
    }
    NAME(across)(job, from, to, job->across.lanes);
}

static void NAME(plane_kept)(const resample_job *job, int64_t n, int64_t c, int64_t y, int64_t end, void *work) {
    const resample_table *t = &job->rows;
    int64_t size = (int64_t)dtype_size(job->dtype), columns = job->columns.n, lanes = job->across.lanes;
    TYPE *kept = work, *buffer = kept + RESAMPLE_KEPT_ROWS * lanes, *made = buffer + job->x_columns + 1;
    const char *x = job->x + (n * job->x_step[0] + c * job->x_step[1]) * size;
    char *out = job->out + (n * job->out_step[0] + c * job->out_step[1]) * size;
    bool is_own = job->out_step[3] == 1 && job->dtype == OWN_DTYPE;
    int64_t held[RESAMPLE_KEPT_ROWS];
    for (int k = 0; k < RESAMPLE_KEPT_ROWS; k++) {
        held[k] = -1;
    }
    for (; y < end; y++) {
        const TYPE *from[RESAMPLE_KEPT_ROWS] = {NULL}, *weight = t->WEIGHTS + t->start[y];
        int64_t taps = t->start[y + 1] - t->start[y];
        for (int64_t k = 0; k < taps; k++) {
            int64_t source = t->source[t->start[y] + k], slot = source % RESAMPLE_KEPT_ROWS;
            from[k] = kept + slot * lanes;
            if (held[slot] != source) {
                NAME(row_across)(job, x, source, buffer, kept + slot * lanes);
                held[slot] = source;
            }
        }
        char *to = out + y * job->out_step[2] * size;
        TYPE *target = is_own ? (TYPE *)to : made;
        if (taps == 2) {
            NAME(add_pixels)(weight, from, 2, columns, target);
        } else if (taps == 4) {
            NAME(add_pixels)(weight, from, 4, columns, target);
        } else {
            NAME(add_pixels)(weight, from, (int)taps, columns, target);
        }
        if (!is_own) {
            NAME(store)(job->dtype, made, columns, to, job->out_step[3]);
        }
    }
}

/* A plane's rows in TYPE, one behind the other: as it lies, or in buffer. */
static const TYPE *NAME(whole_plane)(const grid_job *job, const char *plane, TYPE *buffer) {
    if (job->reading == GRID_AS_IT_LIES) {
        return (const TYPE *)plane;
    }
    for (int64_t y = 0; y < job->rows; y++) {
        NAME(load)(job->dtype, plane + y * job->x_step[2] * (int64_t)dtype_size(job->dtype), job->x_step[3], job->columns, buffer + y * job->columns);
    }
    return buffer;
}

/* An element of a plane: of the whole one, or of that at `at`. is_whole: a constant, so that loops are for one of them. */
static inline TYPE NAME(grid_element)(const grid_job *job, bool is_whole, const TYPE *whole, const char *at, int64_t row, int64_t column) {
    if (is_whole) {
        return whole[row * job->columns + column];
    }
    return (TYPE)LOAD(job->dtype, at + (row * job->x_step[2] + column * job->x_step[3]) * (int64_t)dtype_size(job->dtype));
}

static inline void NAME(sample)(const grid_job *job, bool is_whole, const TYPE *whole, const char *at, TYPE *out) {
    const grid_table *t = &job->table;
    for (int64_t p = 0; p < t->points; p++) {
        TYPE sum = 0;
        for (int64_t r = p * t->taps; r < (p + 1) * t->taps; r++) {
            for (int64_t k = p * t->taps; t->row[r] >= 0 && k < (p + 1) * t->taps; k++) {
                if (t->column[k] >= 0) {
                    sum += (TYPE)(t->row_weight[r] * t->column_weight[k]) * NAME(grid_element)(job, is_whole, whole, at, t->row[r], t->column[k]);
                }
            }
        }
        out[p] = sum;
    }
}

static void NAME(grid)(const grid_job *job, int64_t n, int64_t c, void *work) {
    int64_t size = (int64_t)dtype_size(job->dtype), out_columns = job->out_columns;
    TYPE *buffer = work, *out = buffer + (job->reading == GRID_WHOLE ? job->rows * job->columns : 0);
    const grid_table *t = &job->table;
    const char *at = job->x + (n * job->x_step[0] + c * job->x_step[1]) * size;
    if (job->reading == GRID_BY_ELEMENT) {
        NAME(sample)(job, false, NULL, at, out);
    } else {
        NAME(sample)(job, true, NAME(whole_plane)(job, at, buffer), at, out);
    }
    for (int64_t p = 0, some; p < t->points; p += some) { /* what the table has of a row */
        int64_t y = (t->first + p) / out_columns, x = (t->first + p) % out_columns;
        some = out_columns - x < t->points - p ? out_columns - x : t->points - p;
        int64_t to = n * job->out_step[0] + c * job->out_step[1] + y * job->out_step[2] + x * job->out_step[3];
        NAME(store)(job->dtype, out + p, some, job->out + to * size, job->out_step[3]);
    }
}

/* The table's points of a gradient's plane, added to sums and to xy. */
static inline void NAME(sample_back)(const grid_job *job, bool is_whole, const TYPE *whole, const char *at, const TYPE *grads, TYPE *sums, double *xy) {
    const grid_table *t = &job->table;
    for (int64_t p = 0; p < t->points; p++) {
        for (int64_t r = p * t->taps; r < (p + 1) * t->taps; r++) {
            for (int64_t k = p * t->taps; t->row[r] >= 0 && k < (p + 1) * t->taps; k++) {
                if (t->column[k] < 0) {
                    continue;
                }
                double value = (double)NAME(grid_element)(job, is_whole, whole, at, t->row[r], t->column[k]) * (double)grads[p];
                if (sums != NULL) {
                    sums[t->row[r] * job->columns + t->column[k]] += grads[p] * (TYPE)(t->row_weight[r] * t->column_weight[k]);
                }
                xy[2 * p] += value * t->row_weight[r] * t->column_slope[k];
                xy[2 * p + 1] += value * t->row_slope[r] * t->column_weight[k];
            }
        }
    }
}

static void NAME(grid_back)(const grid_job *job, int64_t n, int64_t c, void *work, double *xy) {
    int64_t size = (int64_t)dtype_size(job->dtype), columns = job->columns, area = job->rows * columns;
    char *out = job->out == NULL ? NULL : job->out + (n * job->out_step[0] + c * job->out_step[1]) * size;
    TYPE *buffer = work, *made = buffer + (job->reading == GRID_WHOLE ? area : 0);
    TYPE *sums = job->sums_in_place ? (TYPE *)out : out != NULL ? made : NULL;
    TYPE *grads = made + (sums == made ? area : 0);
    const grid_table *t = &job->table;
    const char *x = job->x + (n * job->x_step[0] + c * job->x_step[1]) * size;
    for (int64_t p = 0; p < t->points; p += job->out_columns) {
        int64_t from = n * job->grad_step[0] + c * job->grad_step[1] + p / job->out_columns * job->grad_step[2];
        NAME(load)(job->dtype, job->grad + from * size, job->grad_step[3], job->out_columns, grads + p);
    }
    if (sums != NULL) {
        memset(sums, 0, (size_t)area * sizeof(TYPE));
    }
    if (job->reading == GRID_BY_ELEMENT) {
        NAME(sample_back)(job, false, NULL, x, grads, sums, xy);
    } else {
        NAME(sample_back)(job, true, NAME(whole_plane)(job, x, buffer), x, grads, sums, xy);
    }
    for (int64_t y = 0; sums == made && y < job->rows; y++) {
        NAME(store)(job->dtype, sums + y * columns, columns, out + y * job->out_step[2] * size, job->out_step[3]);
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
#undef GATHERS
