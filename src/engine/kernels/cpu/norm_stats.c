/* SPDX-License-Identifier: Apache-2.0 */
/* Statistics of batch and group norm: finished from their moments, and what they make of gradients. */
#include "engine/kernels/cpu/norm_stats.h"

#include <math.h>

static void move_running(const tensor *t, int64_t i, double value, double momentum) {
    if (t != NULL) {
        norm_write(t, i, (1 - momentum) * norm_read(t, i) + momentum * value);
    }
}

void channel_take_stat(const channel_norm *s, int64_t i) {
    channel_moment m = s->moments[i];
    s->mean[i] = m.mean;
    const bool is_even = s->v.is_batch && s->v.eps == 0 && m.m2 == 0 && m.n > 0; /* equal numbers: their channel's bias is left */
    s->rstd[i] = is_even ? 0 : 1 / sqrt(m.m2 / m.n + s->v.eps); /* of nothing: NaN */
}

void channel_finish_stat(const channel_norm *s, int64_t i) {
    channel_moment m = s->moments[i];
    channel_take_stat(s, i);
    norm_write(s->mean_out, i, s->mean[i]);
    norm_write(s->rstd_out, i, s->rstd[i]);
    if (s->v.is_batch) {
        move_running(s->running_mean, i, m.mean, s->momentum);
        move_running(s->running_var, i, m.m2 / (m.n - 1), s->momentum);
    }
}

channel_factors channel_gradient(const channel_norm *s, int64_t n, int64_t c, double g, double gx) {
    int64_t i = channel_stat(s, n, c);
    double rstd = s->rstd[i], count = (double)s->v.per_stat;
    channel_factors f = {.mean = s->mean[i], .a = s->weights[c] * rstd};
    if (s->v.trains) {
        f.b = -rstd * rstd * rstd * gx / count;
        f.c = -rstd * g / count;
    }
    return f;
}
