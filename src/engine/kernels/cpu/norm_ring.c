/* SPDX-License-Identifier: Apache-2.0 */
/* Batch and group norm by rows with results that no cache holds. What shares a statistic is read from memory once and kept,
   in the computing type or, where all tensors are f16 or all bf16, as it is, where L2 holds it. Piece by piece the unit that is kept is finished and stored past the caches, and
   the next unit is read into its place: so memory reads while it writes, and one unit's room is enough. Read where they lie,
   a channel's rows would not stay in L2: they lie a power of two apart as often as not, in the same few of its sets. Of a channel that is
   larger than L2 the first samples are kept, and the others read a second time. */
#include "engine/kernels/cpu/norm_ring.h"

#include "engine/kernels/cpu/parallel.h"
#include "engine/kernels/cpu/streaming.h"

#include <math.h>
#include <stdalign.h>
#include <string.h>

/* A piece of a row of the units at hand, or of several rows: batch norm's lie in as many samples, group norm's in as many channels. */
typedef struct piece {
    int64_t sample, channel; /* from the unit's first ones */
    int64_t rows;
    int64_t from, n;         /* of the row */
    char *x, *dy;            /* where the ring keeps it */
} piece;

typedef struct ring {
    const channel_norm *s;
    const channel_norm *whole; /* the same, with the sums of all threads */
    channel_unit reading, finishing;
    bool reads, finishes;
    alignas(64) char made[STREAM_PIECE * sizeof(double)], raw[STREAM_PIECE * sizeof(double)];
} ring;

static char *operand_at(const channel_norm *s, int k, const channel_unit *u, const piece *p) {
    int64_t size = (int64_t)dtype_size(s->type[k]);
    return s->data[k] + (u->n_from + p->sample) * s->n_stride[k] + (u->c_from + p->channel) * s->c_stride[k] + p->from * size;
}

/* Whether a unit has the piece: the last block of channels may be narrower. */
static bool has_piece(const channel_unit *u, const piece *p) {
    return p->channel < u->c_to - u->c_from;
}

static channel_factors gradient_of(const channel_norm *s, const channel_unit *u, int64_t sample, int64_t c) {
    channel_moment m = s->moments[channel_sum(s, sample, c)];
    double g = s->v.is_batch ? s->weights[c] * m.mean : u->g, gx = s->v.is_batch ? s->weights[c] * m.m2 : u->gx;
    return channel_gradient(s, sample, c, g, gx);
}

/* --- one after the other: rows that are converted -------------------------------------------------------------------------- */

static void keep(const ring *r, int k, char *to, const piece *p, const piece *next) {
    const channel_norm *s = r->s;
    int64_t size = (int64_t)dtype_size(s->type[k]);
    if (next != NULL && has_piece(&r->reading, next)) {
        fetch_soon(operand_at(s, k, &r->reading, next), (size_t)(next->n * size));
    }
    s->l->load(to, operand_at(s, k, &r->reading, p), s->type[k], size, p->n);
}

static void read_piece(const ring *r, const piece *p, const piece *next) {
    const channel_norm *s = r->s;
    int64_t sample = r->reading.n_from + p->sample, c = r->reading.c_from + p->channel;
    double mean = 0, m2 = 0;
    keep(r, NORM_X, p->x, p, next);
    if (!s->is_backward) {
        s->l->moments(p->x, p->n, &mean, &m2);
        channel_merge(&s->moments[channel_stat(s, sample, c)], (double)p->n, mean, m2);
        return;
    }
    channel_moment *m = &s->moments[channel_sum(s, sample, c)];
    keep(r, NORM_DY, p->dy, p, next);
    s->l->channel_sums_short(p->dy, p->x, &s->mean[channel_stat(s, sample, c)], 1, p->n, &m->mean, &m->m2);
}

static void finish_piece(ring *r, const piece *p) {
    const channel_norm *s = r->s;
    const channel_unit *u = &r->finishing;
    int64_t size = (int64_t)dtype_size(s->type[NORM_OUT]), sample = u->n_from + p->sample, c = u->c_from + p->channel;
    const char *made = r->made;
    if (s->is_backward) {
        channel_factors f = gradient_of(r->whole, u, sample, c);
        s->l->channel_grad(r->made, p->dy, p->x, f.mean, f.a, f.b, f.c, p->n);
    } else {
        int64_t stat = channel_stat(s, sample, c);
        double factor = s->weights[c] * s->rstd[stat];
        s->l->scale(r->made, p->x, factor, s->biases[c] - s->mean[stat] * factor, p->n);
    }
    if (s->type[NORM_OUT] != s->l->type) {
        s->l->store(r->raw, s->type[NORM_OUT], size, r->made, p->n);
        made = r->raw;
    }
    s->l->stream(operand_at(s, NORM_OUT, u, p), made, (size_t)(p->n * size));
}

/* --- both at once: rows of one type -------------------------------------------------------------------------------- */

/* Of the rows that a step read, each about its own mean. */
static __attribute__((noinline)) void merge_apart(const channel_norm *s, channel_moment *m, const ring_step *step) {
    alignas(64) char wide[ROW_RING * sizeof(double)];
    for (int64_t r = 0; r < step->rows; r++) {
        double mean, m2;
        const char *x = (const char *)step->next + r * step->x_step;
        s->l->moments(row_fetch(s->l, wide, x, step->type, (int64_t)dtype_size(step->type), step->n), step->n, &mean, &m2);
        channel_merge(m, (double)step->n, mean, m2);
    }
}

/* Adds mean and sum of squared distances of rows from sums about a centre. Where the centre lies so far off that most of the
   squares' sum is taken off again, the rows, which are in cache still, are gone over about their own means. */
static void merge_rows(const channel_norm *s, channel_moment *m, const ring_step *step) {
    double n = (double)(step->n * step->rows), off = step->sum / n, m2 = step->products - n * off * off;
    if (m2 > step->products / 16) {
        channel_merge(m, n, step->centre + off, m2);
    } else {
        merge_apart(s, m, step);
    }
}

ring_numbers channel_step_to(const channel_norm *s, const channel_unit *u, int64_t sample, int64_t c) {
    int64_t stat = channel_stat(s, sample, c);
    if (s->is_backward) {
        channel_factors f = gradient_of(s, u, sample, c);
        return (ring_numbers){.mean = f.mean, .a = f.a, .b = f.b, .c = f.c};
    }
    double factor = s->weights[c] * s->rstd[stat];
    return (ring_numbers){.factor = factor, .plus = s->biases[c] - s->mean[stat] * factor};
}

channel_moment *channel_step_from(const channel_norm *s, int64_t sample, int64_t c, ring_step *step) {
    int64_t stat = channel_stat(s, sample, c);
    channel_moment *m = &s->moments[s->is_backward ? channel_sum(s, sample, c) : stat];
    step->centre = s->is_backward ? s->mean[stat] : m->mean;
    step->centre = s->l->type == ASSAY_F32 ? (double)(float)step->centre : step->centre;
    return m;
}

void channel_step_run(const channel_norm *s, ring_step *step, channel_moment *m) {
    (s->is_backward ? s->l->ring_backward : s->l->ring_forward)(step);
    if (m != NULL && s->is_backward) {
        m->mean += step->sum;
        m->m2 += step->products;
    } else if (m != NULL) {
        merge_rows(s, m, step);
    }
}

/* Near the mean of rows of which none was read before: that of a few elements, as the computing type has it. */
static double centre_of(const channel_norm *s, const ring_step *step) {
    enum { FEW = 16 };
    alignas(64) char few[FEW * sizeof(double)];
    double mean, m2;
    s->l->load(few, step->next, step->type, (int64_t)dtype_size(step->type), step->n < FEW ? step->n : FEW);
    s->l->moments(few, step->n < FEW ? step->n : FEW, &mean, &m2);
    mean = isfinite(mean) ? mean : 0;
    return s->l->type == ASSAY_F32 ? (double)(float)mean : mean;
}

static void step_piece(const ring *r, const piece *p, const piece *next) {
    const channel_norm *s = r->s;
    const bool is_kept = p->sample + p->rows <= s->ring_samples;
    channel_moment *m = NULL;
    const int64_t *strides = s->v.is_batch ? s->n_stride : s->c_stride;
    ring_step step = {.type = s->type[NORM_X],
                      .n = p->n,
                      .rows = p->rows,
                      .past = true,
                      .in_turn = is_kept && s->ring_in_turn,
                      .x_step = strides[NORM_X],
                      .dy_step = strides[NORM_DY],
                      .to_step = strides[NORM_OUT],
                      .kept_step = is_kept ? (s->v.is_batch ? s->block : 1) * s->S * s->ring_size : 0};
    if (r->finishes && has_piece(&r->finishing, p)) {
        const channel_unit *u = &r->finishing;
        for (int64_t i = 0; i < p->rows; i++) {
            step.finish[i] = s->v.is_batch ? channel_step_to(r->whole, u, u->n_from + p->sample + i, u->c_from + p->channel)
                                           : channel_step_to(r->whole, u, u->n_from + p->sample, u->c_from + p->channel + i);
        }
        step.from = is_kept ? p->x : operand_at(s, NORM_X, u, p);
        step.from_dy = is_kept ? p->dy : s->is_backward ? operand_at(s, NORM_DY, u, p) : NULL;
        step.to = operand_at(s, NORM_OUT, u, p);
    }
    if (r->reads && has_piece(&r->reading, p)) {
        const channel_unit *u = &r->reading;
        bool asks = next != NULL && has_piece(u, next);
        m = channel_step_from(s, u->n_from + p->sample, u->c_from + p->channel, &step);
        step.kept = is_kept ? p->x : NULL;
        step.next = operand_at(s, NORM_X, u, p);
        step.after = asks ? operand_at(s, NORM_X, u, next) : step.next;
        if (s->is_backward) {
            step.kept_dy = is_kept ? p->dy : NULL;
            step.next_dy = operand_at(s, NORM_DY, u, p);
            step.after_dy = asks ? operand_at(s, NORM_DY, u, next) : step.next_dy;
        } else if (p->rows > 1 && m->n == 0) {
            step.centre = centre_of(s, &step);
        }
    }
    channel_step_run(s, &step, m);
}

/* --- a thread's units ------------------------------------------------------------------------------------------------------ */

static int64_t least_of(int64_t a, int64_t b) {
    return a < b ? a : b;
}

/* The unit's first piece. */
static piece first_piece(const channel_norm *s, int64_t samples) {
    int64_t rows = s->v.is_batch ? samples : s->C / s->groups;
    return (piece){.rows = least_of(rows, s->ring_rows), .n = least_of(s->S, s->ring_piece)};
}

/* The piece behind p; false when p is the last. Letters as in channel_norm. */
static bool next_piece(const channel_norm *s, int64_t samples, piece *p) {
    int64_t width = s->v.is_batch ? s->block : s->C / s->groups;
    p->from += p->n;
    if (p->from == s->S) {
        p->from = 0;
        p->channel += s->v.is_batch ? 1 : p->rows;
    }
    if (p->channel == width) {
        p->channel = 0;
        p->sample += s->v.is_batch ? p->rows : 1;
    }
    p->rows = least_of(s->v.is_batch ? samples - p->sample : width - p->channel, s->ring_rows);
    p->n = least_of(s->S - p->from, s->ring_piece);
    return p->sample < samples;
}

/* Rows that are kept in turn take the place of all of them, piece by piece. */
static piece place(const channel_norm *s, char *kept, piece p) {
    const int64_t width = s->v.is_batch ? s->block : s->C / s->groups;
    const int64_t turns = s->ring_in_turn ? p.rows : 1, channel = p.channel * (s->v.is_batch ? turns : 1);
    p.x = kept + ((p.sample * width + channel) * s->S + p.from * turns) * s->ring_size;
    p.dy = p.x + s->ring_bytes / 2;
    return p;
}

static void sum_unit(const channel_norm *s, channel_unit *u) {
    u->g = u->gx = 0;
    for (int64_t c = u->c_from; !s->v.is_batch && c < u->c_to; c++) { /* batch norm: channel by channel */
        u->g += s->weights[c] * s->moments[channel_sum(s, u->n_from, c)].mean;
        u->gx += s->weights[c] * s->moments[channel_sum(s, u->n_from, c)].m2;
    }
}

void channel_start_unit(const channel_norm *s, const channel_unit *u) {
    int64_t first = s->is_backward ? channel_sum(s, u->n_from, u->c_from) : channel_stat(s, u->n_from, u->c_from);
    int64_t last = s->is_backward ? channel_sum(s, u->n_to - 1, u->c_to - 1) : channel_stat(s, u->n_to - 1, u->c_to - 1);
    memset(&s->moments[first], 0, (size_t)(last - first + 1) * sizeof *s->moments);
}

void channel_end_unit(const channel_norm *s, channel_unit *u) {
    if (s->is_backward) {
        sum_unit(s, u);
        return;
    }
    int64_t last = channel_stat(s, u->n_to - 1, u->c_to - 1);
    for (int64_t i = channel_stat(s, u->n_from, u->c_from); i <= last; i++) {
        channel_finish_stat(s, i);
    }
}

/* The unit that is finished, if any, while the one behind it, if any, is read into its place. */
static void turn_ring(ring *r, char *kept) {
    const channel_norm *s = r->s;
    const channel_unit *u = r->reads ? &r->reading : &r->finishing;
    int64_t samples = u->n_to - u->n_from;
    piece at = first_piece(s, samples), behind;
    for (bool more = true; more; at = behind) {
        piece p = place(s, kept, at);
        behind = at;
        more = next_piece(s, samples, &behind);
        if (s->ring_steps) {
            step_piece(r, &p, more ? &behind : NULL);
            continue;
        }
        if (r->finishes && has_piece(&r->finishing, &p)) {
            finish_piece(r, &p);
        }
        if (r->reads && has_piece(&r->reading, &p)) {
            read_piece(r, &p, more ? &behind : NULL);
        }
    }
}

void channel_ring_run(const channel_norm *s, int64_t from, int64_t to, char *kept) {
    ring r;
    r.s = r.whole = s;
    for (int64_t u = from; from < to && u <= to; u++) {
        r.reads = u < to;
        r.finishes = u > from;
        if (r.finishes) {
            r.finishing = r.reading;
        }
        if (r.reads) {
            r.reading = channel_unit_at(s, u);
            channel_start_unit(s, &r.reading);
        }
        turn_ring(&r, kept);
        if (r.reads) {
            channel_end_unit(s, &r.reading);
        }
    }
}

void channel_join_threads(const channel_norm *s, const channel_unit *u, const channel_norm *whole) {
    for (int64_t c = u->c_from; c < u->c_to; c++) {
        channel_moment all = {0};
        for (int t = 0; t < s->threads; t++) {
            channel_moment m = s->partials[t * s->C + c];
            if (s->is_backward) {
                all.mean += m.mean;
                all.m2 += m.m2;
            } else {
                channel_merge(&all, m.n, m.mean, m.m2);
            }
        }
        whole->moments[c] = all;
        if (!s->is_backward) {
            (whole->mean == s->mean ? channel_finish_stat : channel_take_stat)(whole, c);
        }
    }
}

/* What a thread has written of its sums when all have read a unit nobody writes again, so that one barrier a unit is enough. Of what all
   come to each has its own copy, the first thread the plan's. */
void channel_share_start(const channel_norm *s, channel_norm *reads, channel_norm *whole) {
    int self = omp_get_thread_num();
    *reads = *whole = *s;
    reads->moments = s->partials + self * s->C;
    if (self > 0) {
        whole->moments = s->partials + (s->threads + self) * s->C;
        whole->mean = s->is_backward ? s->mean : s->own_stats + 2 * self * s->C;
        whole->rstd = s->is_backward ? s->rstd : whole->mean + s->C;
    }
}

void channel_ring_share(const channel_norm *s, char *kept) {
    channel_norm reads, whole;
    ring r;
    channel_share_start(s, &reads, &whole);
    r.s = &reads;
    r.whole = &whole;
    int64_t units = (s->C + s->block - 1) / s->block;
    for (int64_t u = 0; u <= units; u++) {
        r.reads = u < units;
        r.finishes = u > 0;
        if (r.finishes) {
            r.finishing = r.reading;
        }
        if (r.reads) {
            r.reading = channel_unit_at(s, u);
            parallel_share(s->N, 1, &r.reading.n_from, &r.reading.n_to);
            channel_start_unit(&reads, &r.reading);
        }
        turn_ring(&r, kept);
        if (r.reads) {
#pragma omp barrier
            channel_join_threads(s, &r.reading, &whole);
        }
    }
}
