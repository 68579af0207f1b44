/* SPDX-License-Identifier: Apache-2.0 */
/* Group norm whose channels lie one behind the other, with results that no cache holds: each group is a row (group_step). Two cores of a Zen 5
   whose memory is read at 47 GB/s take 7.4 ms for [64, 256, 56, 56] floats in 32 groups, 4.9 for [64, 512, 32, 32], and for [63, 255, 55, 55]
   halves in 51 groups 3.6, where two rows at a time kept in a ring (norm_ring.c) take 8.3, 6.0 and 5.1 (2026-11). */
#include "engine/kernels/cpu/norm_group.h"

#include "device/caches.h"
#include "engine/kernels/cpu/row_edge.h"

#include <math.h>

/* Others' memory comes faster from two places at a time (norm_channels.c: rows_side_by_side), or to their L2 from far ahead. */
static bool reads_in_a_row(void) {
    return cpu_asks_along() && !cpu_is_intel();
}

bool channel_group_suits(const channel_norm *s, int n_operands) {
    enum { LEAST_ROW = 256 };
    const int64_t size = (int64_t)dtype_size(s->type[NORM_X]), group = s->C / s->groups * s->S;
    bool suits = !s->is_backward && !s->v.is_batch && s->past && s->S >= LEAST_ROW && nest_runs(&s->positions) == 1 && reads_in_a_row() &&
                 (s->type[NORM_X] == s->l->type || (s->l->type == ASSAY_F32 && size == 2)) && 4 * group * size <= cpu_l2_bytes();
    for (int k = 0; k < n_operands; k++) {
        suits = suits && s->type[k] == s->type[NORM_X] && s->positions.strides[k][0] == size && s->c_stride[k] == s->S * size;
    }
    return suits;
}

int64_t channel_group_bytes(const channel_norm *s) {
    return (2 * (s->C / s->groups) * (int64_t)sizeof(double) + 127) / 128 * 128;
}

/* The centre that the next group's sums are taken about, in float for float: the mean of this one, or 0 where that is less than a deviation off. */
static double centre_near(const channel_norm *s, double mean, double rstd) {
    const double centre = isfinite((float)mean) && !(fabs(mean * rstd) < 1) ? mean : 0;
    return s->l->type == ASSAY_F32 ? (double)(float)centre : centre;
}

/* A group's moments by themselves: its centre was too far off. */
static channel_moment moments_again(const channel_norm *s, const group_step *step) {
    alignas(64) char wide[ROW_BLOCK * sizeof(double)];
    const int64_t size = (int64_t)dtype_size(step->type);
    channel_moment all = {0};
    for (int64_t at = 0; at < step->n; at += ROW_BLOCK) {
        double mean, m2;
        const int64_t n = step->n - at < ROW_BLOCK ? step->n - at : ROW_BLOCK;
        s->l->moments(row_fetch(s->l, wide, (const char *)step->x + at * size, step->type, size, n), n, &mean, &m2);
        channel_merge(&all, (double)n, mean, m2);
    }
    return all;
}

static channel_moment moments_of(const channel_norm *s, const group_step *step) {
    const double n = (double)step->n, off = step->sum / n, m2 = step->squares - n * off * off;
    return m2 > step->squares / 16 ? (channel_moment){.n = n, .mean = step->centre + off, .m2 = m2} : moments_again(s, step);
}

void channel_group_run(const channel_norm *s, int64_t from, int64_t to, char *work) {
    const int64_t width = s->C / s->groups;
    double *factor = (double *)(void *)work, *plus = factor + width, centre = 0;
    row_edge edge = {.line = NULL};
    const char *x = NULL;
    char *out = NULL;
    for (int64_t i = from; i <= to && from < to; i++) {
        group_step step = {.type = s->type[NORM_X], .n = width * s->S, .row = s->S, .centre = centre, .from = x, .to = out, .edge = &edge,
                           .factor = factor, .plus = plus};
        const channel_unit u = channel_unit_at(s, i < to ? i : from);
        if (i < to) {
            step.x = x = channel_at(s, NORM_X, u.n_from, u.c_from);
            out = channel_at(s, NORM_OUT, u.n_from, u.c_from);
        }
        s->l->group_stream(&step);
        if (i == to) {
            break;
        }
        const int64_t stat = channel_stat(s, u.n_from, u.c_from);
        s->moments[stat] = moments_of(s, &step);
        channel_finish_stat(s, stat);
        const double mean = s->mean[stat], rstd = s->rstd[stat];
        centre = centre_near(s, mean, rstd);
        for (int64_t c = 0; c < width; c++) {
            factor[c] = s->weights[u.c_from + c] * rstd;
            plus[c] = s->biases[u.c_from + c] - mean * factor[c];
        }
    }
    row_edge_flush(&edge);
}
