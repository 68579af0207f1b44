/* SPDX-License-Identifier: Apache-2.0 */
/* Batch and group norm over channels of few positions that lie one behind the other: several channels at a time. */
#include "engine/kernels/cpu/norm_short.h"

#include <string.h>

enum { SHORT_ROWS = 64 };

int64_t channel_short_count(const channel_norm *s, int64_t c, int64_t c_to) {
    int64_t most = ROW_BLOCK / s->S < SHORT_ROWS ? ROW_BLOCK / s->S : SHORT_ROWS;
    return c_to - c < most ? c_to - c : most;
}

static const void *short_fetch(const channel_norm *s, int k, void *buffer, int64_t n, int64_t c, int64_t rows) {
    return row_fetch(s->l, buffer, channel_at(s, k, n, c), s->type[k], (int64_t)dtype_size(s->type[k]), rows * s->S);
}

void channel_short_moments(const channel_norm *s, int64_t n, int64_t c, int64_t rows, char *buffer) {
    double mean[SHORT_ROWS], m2[SHORT_ROWS];
    s->l->moments_short(short_fetch(s, NORM_X, buffer, n, c, rows), rows, s->S, mean, m2);
    for (int64_t i = 0; i < rows; i++) {
        channel_merge(&s->moments[channel_stat(s, n, c + i)], (double)s->S, mean[i], m2[i]);
    }
}

void channel_short_forward(const channel_norm *s, int64_t n, int64_t c, int64_t rows, char *buffer) {
    double factor[SHORT_ROWS], plus[SHORT_ROWS];
    for (int64_t i = 0; i < rows; i++) {
        int64_t stat = channel_stat(s, n, c + i);
        factor[i] = s->weights[c + i] * s->rstd[stat];
        plus[i] = s->biases[c + i] - s->mean[stat] * factor[i];
    }
    int64_t size = (int64_t)dtype_size(s->type[NORM_OUT]);
    char *out = channel_at(s, NORM_OUT, n, c);
    for (int64_t i = 0; s->halves != NULL && i < rows; i++) {
        s->halves->scale(out + i * s->S * size, channel_at(s, NORM_X, n, c + i), factor[i], plus[i], s->S);
    }
    if (s->halves != NULL) {
        return;
    }
    void *to = s->streams ? buffer : row_target(s->l, buffer, out, s->type[NORM_OUT], size);
    s->l->scale_short(to, short_fetch(s, NORM_X, buffer, n, c, rows), factor, plus, rows, s->S);
    if (s->streams) {
        s->l->stream(out, to, (size_t)(rows * s->S * size));
        return;
    }
    row_put(s->l, out, s->type[NORM_OUT], size, to, rows * s->S);
}

void channel_short_sums(const channel_norm *s, int64_t n, int64_t c, int64_t rows, char *buffer) {
    double mean[SHORT_ROWS], sums[SHORT_ROWS] = {0}, products[SHORT_ROWS] = {0};
    for (int64_t i = 0; i < rows; i++) {
        mean[i] = s->mean[channel_stat(s, n, c + i)];
    }
    s->l->channel_sums_short(short_fetch(s, NORM_DY, buffer, n, c, rows),
                             short_fetch(s, NORM_X, buffer + ROW_BLOCK * s->l->size, n, c, rows), mean, rows, s->S, sums,
                             products);
    for (int64_t i = 0; i < rows; i++) {
        channel_moment *m = &s->moments[channel_sum(s, n, c + i)];
        m->mean += sums[i];
        m->m2 += products[i];
    }
}

void channel_short_backward(const channel_norm *s, int64_t n, int64_t c, int64_t rows, double g, double gx, char *buffer) {
    double mean[SHORT_ROWS], a[SHORT_ROWS], b[SHORT_ROWS], d[SHORT_ROWS];
    for (int64_t i = 0; i < rows; i++) {
        channel_moment m = s->moments[channel_sum(s, n, c + i)];
        double weight = s->weights[c + i];
        channel_factors f = s->v.is_batch ? channel_gradient(s, n, c + i, weight * m.mean, weight * m.m2)
                                          : channel_gradient(s, n, c + i, g, gx);
        mean[i] = f.mean;
        a[i] = f.a;
        b[i] = f.b;
        d[i] = f.c;
    }
    int64_t size = (int64_t)dtype_size(s->type[NORM_OUT]);
    char *out = channel_at(s, NORM_OUT, n, c);
    void *to = s->streams ? buffer : row_target(s->l, buffer, out, s->type[NORM_OUT], size);
    const void *dy = short_fetch(s, NORM_DY, buffer, n, c, rows);
    if (s->v.trains) {
        s->l->channel_grad_short(to, dy, short_fetch(s, NORM_X, buffer + ROW_BLOCK * s->l->size, n, c, rows), mean, a, b, d, rows, s->S);
    } else {
        const double plus[SHORT_ROWS] = {0};
        s->l->scale_short(to, dy, a, plus, rows, s->S);
    }
    if (s->streams) {
        s->l->stream(out, to, (size_t)(rows * s->S * size));
        return;
    }
    row_put(s->l, out, s->type[NORM_OUT], size, to, rows * s->S);
}
