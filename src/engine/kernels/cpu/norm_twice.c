/* SPDX-License-Identifier: Apache-2.0 */
/* Batch and group norm by rows of one type with results that caches hold, or that none does, of units that L2 does not hold either: a
   unit is gone over where it lies for its sums, and from its end back for its output, so that what was read last is found in L2 and the
   rest, where it is as large, in L3. Rows of a channel lie far apart, but nothing is asked for ahead: on Zen 4 that cost 5 to 20%. */
#include "engine/kernels/cpu/norm_twice.h"

#include "engine/kernels/cpu/norm_ring.h"

/* n places from `from` on of a channel's rows in all samples of a unit. */
typedef struct strip {
    int64_t c, from, n;
} strip;

static char *strip_at(const channel_norm *s, int k, const strip *p, int64_t sample) {
    return channel_at(s, k, sample, p->c) + p->from * (int64_t)dtype_size(s->type[k]);
}

static void read_rows(const channel_norm *s, const strip *p, int64_t sample, int64_t rows) {
    ring_step step = {.type = s->type[NORM_X], .n = p->n, .rows = rows, .x_step = s->n_stride[NORM_X], .dy_step = s->n_stride[NORM_DY]};
    channel_moment *m = channel_step_from(s, sample, p->c, &step);
    step.next = strip_at(s, NORM_X, p, sample);
    step.next_dy = s->is_backward ? strip_at(s, NORM_DY, p, sample) : NULL;
    channel_step_run(s, &step, m);
}

/* A statistic's first row is read alone: its mean is the centre for others. */
static void read_strip(const channel_norm *s, const channel_unit *u, const strip *p) {
    int64_t first = !s->is_backward && p->from == 0 ? 1 : 0;
    if (first > 0) {
        read_rows(s, p, u->n_from, 1);
    }
    if (u->n_from + first < u->n_to) {
        read_rows(s, p, u->n_from + first, u->n_to - u->n_from - first);
    }
}

static void finish_strip(const channel_norm *s, const channel_unit *u, const strip *p) {
    int64_t last = u->n_to - 1;
    ring_step step = {.type = s->type[NORM_X],
                      .n = p->n,
                      .rows = u->n_to - u->n_from,
                      .from = strip_at(s, NORM_X, p, last),
                      .from_dy = s->is_backward ? strip_at(s, NORM_DY, p, last) : NULL,
                      .to = strip_at(s, NORM_OUT, p, last),
                      .past = s->past,
                      .x_step = -s->n_stride[NORM_X],
                      .dy_step = -s->n_stride[NORM_DY],
                      .to_step = -s->n_stride[NORM_OUT]};
    step.finish[0] = channel_step_to(s, u, last, p->c);
    channel_step_run(s, &step, NULL);
}

void channel_twice_run(const channel_norm *s, int64_t from, int64_t to) {
    int64_t strips = (s->S + ROW_RING - 1) / ROW_RING;
    for (int64_t i = from; i < to; i++) {
        channel_unit u = channel_unit_at(s, i);
        int64_t count = (u.c_to - u.c_from) * strips;
        channel_start_unit(s, &u);
        for (int64_t k = 0; k < 2 * count; k++) {
            int64_t at = k < count ? k : 2 * count - 1 - k, begin = at % strips * ROW_RING;
            strip p = {u.c_from + at / strips, begin, s->S - begin < ROW_RING ? s->S - begin : ROW_RING};
            if (k == count) {
                channel_end_unit(s, &u);
            }
            if (k < count) {
                read_strip(s, &u, &p);
            } else {
                finish_strip(s, &u, &p);
            }
        }
    }
}
