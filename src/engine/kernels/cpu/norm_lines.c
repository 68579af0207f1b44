/* SPDX-License-Identifier: Apache-2.0 */
/* Several lines at a time: called for each of them, a line's sums, root and quotient would wait for those of the line before it. */
#include "engine/kernels/cpu/norm_lines.h"

#include <math.h>
#include <stdalign.h>

/* A block of results to where they belong; `made` may be that place. */
static void put(const row_loops *l, char *to, dtype type, const void *made, int64_t n, bool streams) {
    alignas(64) char raw[STREAM_PIECE * sizeof(double)];
    const int64_t size = (int64_t)dtype_size(type);
    if (!streams) {
        row_put(l, to, type, size, made, n);
    } else if (type == l->type) {
        l->stream(to, made, (size_t)(n * size));
    } else {
        l->store(raw, type, size, made, n);
        l->stream(to, raw, (size_t)(n * size));
    }
}

void norm_short_lines(const short_lines *s, const char *x, char *out, int64_t first, int64_t lines) {
    alignas(64) char block[STREAM_PIECE * sizeof(double)];
    const row_loops *l = s->l;
    const int64_t x_size = (int64_t)dtype_size(s->x_type), out_size = (int64_t)dtype_size(s->out_type), most = STREAM_PIECE / s->n;
    double mean[STREAM_PIECE], rstd[STREAM_PIECE];
    for (int64_t i = 0; i < lines; i += most) {
        int64_t some = lines - i < most ? lines - i : most, n = some * s->n;
        const void *from = row_fetch(l, block, x + i * s->n * x_size, s->x_type, x_size, n);
        char *to = out + i * s->n * out_size;
        void *made = s->streams ? block : row_target(l, block, to, s->out_type, out_size);
        l->moments_short(from, some, s->n, mean, rstd);
        for (int64_t k = 0; k < some; k++) {
            rstd[k] = 1 / sqrt(rstd[k] / (double)s->n + s->eps);
        }
        for (int64_t k = 0; k < some; k++) {
            norm_write(s->mean, first + i + k, mean[k]);
            norm_write(s->rstd, first + i + k, rstd[k]);
        }
        l->centre_short(made, from, mean, rstd, s->weight, s->bias, some, s->n);
        put(l, to, s->out_type, made, n, s->streams);
    }
}

void norm_short_gradient(const short_gradient *s, const char *dy, const char *x, char *out, int64_t first, int64_t lines) {
    alignas(64) char block[STREAM_PIECE * sizeof(double)], more[STREAM_PIECE * sizeof(double)], made[STREAM_PIECE * sizeof(double)];
    const row_loops *l = s->l;
    const int64_t x_size = (int64_t)dtype_size(s->x_type), dy_size = (int64_t)dtype_size(s->dy_type);
    const int64_t out_size = (int64_t)dtype_size(s->out_type), most = STREAM_PIECE / s->n;
    double mean[STREAM_PIECE], rstd[STREAM_PIECE];
    for (int64_t i = 0; i < lines; i += most) {
        int64_t some = lines - i < most ? lines - i : most, n = some * s->n;
        const void *from = row_fetch(l, block, x + i * s->n * x_size, s->x_type, x_size, n);
        const void *grad = row_fetch(l, more, dy + i * s->n * dy_size, s->dy_type, dy_size, n);
        norm_read_some(s->mean, first + i, some, mean);
        norm_read_some(s->rstd, first + i, some, rstd);
        char *to = out != NULL ? out + i * s->n * out_size : NULL;
        void *put_to = to == NULL ? NULL : s->streams ? made : row_target(l, made, to, s->out_type, out_size);
        l->layer_back_short(put_to, grad, from, s->weight, mean, rstd, s->weight_sums, s->bias_sums, some, s->n);
        if (to != NULL) {
            put(l, to, s->out_type, put_to, n, s->streams);
        }
    }
}
