/* SPDX-License-Identifier: Apache-2.0 */
/* Batch and group norm: one plan, walked by channels' rows (norm_rows.c) or by columns (norm_columns.c), and its statistics. */
#ifndef ENGINE_KERNELS_CPU_NORM_STATS_H
#define ENGINE_KERNELS_CPU_NORM_STATS_H

#include "engine/kernels/cpu/nest.h"
#include "engine/kernels/cpu/norm.h"
#include "engine/kernels/cpu/isa/row_halves.h"

#include <math.h>

enum { NORM_X, NORM_OUT, NORM_DY, NORM_OPERANDS };

/* Statistics of n elements; of gradients, the sums of dy and dy (x - mean) lie in mean and m2. */
typedef struct channel_moment {
    double n, mean, m2;
} channel_moment;

/* Letters: N batch, C channels, G groups (group norm), S positions of a channel. */
typedef struct channel_norm {
    const row_loops *l;
    const row_halves *halves; /* loops that scale input to output, both halves of one type whose positions are dense; NULL */
    norm_view v;
    bool is_backward, wants_input, wants_params;
    int64_t N, C, groups, S;
    dtype type[NORM_OPERANDS];
    char *data[NORM_OPERANDS];
    int64_t n_stride[NORM_OPERANDS], c_stride[NORM_OPERANDS]; /* bytes */
    loop positions; /* a channel's, of all operands */
    loop rows;      /* by columns: what rows there are; batch norm's of all samples, group norm's of one */
    const tensor *weight, *bias, *running_mean, *running_var, *mean_in, *rstd_in;
    const tensor *mean_out, *rstd_out, *weight_out, *bias_out;
    double momentum;

    double *mean, *rstd;      /* [n_stats] */
    channel_moment *moments;  /* forward: [n_stats]; backward's sums: [C] or, for group norm, [N * C] */
    double *weights, *biases; /* [C] */
    int threads;
    int64_t block;  /* by rows: channels taken together */
    bool by_columns;
    bool streams; /* the result goes past the caches */
    bool in_order;    /* rows are nobody's: they are gone over as they lie */
    bool scales_rows; /* many by one call */
    bool scales_past; /* the caches */
    char *ring;         /* by rows: where each thread keeps a unit's numbers (norm_ring.c); NULL: it does not */
    int64_t ring_bytes; /* a thread's */
    int64_t ring_piece; /* elements of a row taken at a time there */
    int64_t ring_samples; /* of a unit's samples so many are kept, the others read twice */
    int64_t ring_rows;  /* rows taken at a time, which come from memory side by side */
    bool ring_in_turn;  /* they are kept a block of each in turn */
    int64_t ring_size;  /* bytes of an element there */
    bool shares_units;  /* each thread has some samples of every unit there, not units of its own */
    double *own_stats;  /* forward then: [threads][2][C], each thread's mean and rstd */
    bool takes_neighbours; /* short rows of a unit are one row of columns there (norm_neighbours.c) */
    bool by_groups;     /* group norm whose groups are rows (norm_group.c), in `ring` a thread's work */
    bool twice;         /* by rows: each unit is read twice where it lies (norm_twice.c) */
    bool past;          /* its result goes past the caches */
    bool ring_steps;    /* it finishes and reads in one loop: rows are of one type, as the ring keeps them */
    bool short_rows; /* by rows: a channel's positions lie together and channels one behind the other, several to a block */
    channel_moment *partials; /* by columns: [threads][C]; where threads share units as well, and behind them as many for whole sums */
    char *columns;            /* by columns: a thread's rows of factors, 4 C in the computing type; of neighbours as well */
    int64_t columns_bytes;
} channel_norm;

static inline int64_t channel_stat(const channel_norm *s, int64_t n, int64_t c) {
    return s->v.is_batch ? c : n * s->groups + c / (s->C / s->groups);
}

static inline int64_t channel_sum(const channel_norm *s, int64_t n, int64_t c) {
    return s->v.is_batch ? c : n * s->C + c;
}

static inline void channel_merge(channel_moment *m, double n, double mean, double m2) {
    double total = m->n + n, delta = mean - m->mean;
    if (n > 0 && m->n == 0) {
        *m = (channel_moment){.n = n, .mean = mean, .m2 = m2}; /* a mean's square may be more than there is */
    } else if (n > 0) {
        m->m2 += m2 + delta * delta * m->n * (n / total);
        m->mean += isfinite(delta) ? delta * (n / total) : mean; /* an infinite mean stays one */
        m->n = total;
    }
}

/* By rows: what is gone over together. Batch norm: a block of channels, in all samples; group norm: a group of a sample. */
typedef struct channel_unit {
    int64_t n_from, n_to, c_from, c_to;
    double g, gx; /* group norm's gradient: sums over the unit */
} channel_unit;

static inline channel_unit channel_unit_at(const channel_norm *s, int64_t u) {
    if (s->v.is_batch) {
        int64_t from = u * s->block, to = from + s->block;
        return (channel_unit){.n_from = 0, .n_to = s->N, .c_from = from, .c_to = to < s->C ? to : s->C};
    }
    int64_t width = s->C / s->groups, c = u % s->groups * width;
    return (channel_unit){.n_from = u / s->groups, .n_to = u / s->groups + 1, .c_from = c, .c_to = c + width};
}

/* Mean and inverse deviation from the moments of statistic i. */
void channel_take_stat(const channel_norm *s, int64_t i);

/* The same, which are results as well and, for batch norm, move the running ones. */
void channel_finish_stat(const channel_norm *s, int64_t i);

/* grad_input = dy a + (x - mean) b + c for sample n, channel c, once the sums are known. */
typedef struct channel_factors {
    double mean, a, b, c;
} channel_factors;
/* g and gx: sums of dy weight and dy weight (x - mean) over what shares the statistic. */
channel_factors channel_gradient(const channel_norm *s, int64_t n, int64_t c, double g, double gx);

/* Channel c of sample n in operand k. */
static inline char *channel_at(const channel_norm *s, int k, int64_t n, int64_t c) {
    return s->data[k] + n * s->n_stride[k] + c * s->c_stride[k];
}

#endif
