/* SPDX-License-Identifier: Apache-2.0 */
/* Batch norm of short rows: those of neighbouring channels lie one behind the other in each sample, and are taken as one row of columns.
   Sums are kept for each column while samples go by, and added up by channel when all have, so that no row has an end of its own. As in
   norm_ring.c a unit is read from memory once and kept, and finished sample by sample while the next one is read into its place. Pieces
   of few KiB come slowly, each from a page of its own, so units are as wide as L2 lets them be. [256, 1024, 14, 14] takes 15 ms so,
   and 23 channel by channel, its gradient 29 and 35, [64, 1024, 14, 14] 3.1 and 4.7 (two cores of a Granite Rapids, 2026-11). */
#include "engine/kernels/cpu/norm_neighbours.h"

#include "engine/kernels/cpu/norm_ring.h"
#include "engine/kernels/cpu/parallel.h"
#include "engine/kernels/cpu/streaming.h"

#include <math.h>
#include <stdalign.h>
#include <string.h>

/* Columns that are finished and read in turns, samples that are gone through side by side, and how far behind those what is read soon is
   asked for. */
enum { TOGETHER = 128, ABREAST = 4, AHEAD_BYTES = 2048 };

/* What is known of each column, in the computing type: of the unit that is read, and from FACTOR or MEAN on of the one that is finished. */
enum { CENTRE, SUMS, PRODUCTS, FACTOR, PLUS, FORWARD_ROWS, MEAN = FACTOR, A, B, C, BACKWARD_ROWS };

/* Samples whose sums are added in the computing type. */
enum { FLUSH_SAMPLES = 256 };

typedef struct neighbours {
    const channel_norm *s;     /* whose moments are those of what this thread reads */
    const channel_norm *whole; /* the same, with those of all threads */
    channel_unit reading, finishing;
    bool reads, finishes;
    char *kept;    /* x of all samples, and behind it dy */
    char *columns; /* rows of what is known */
    channel_moment totals[NEIGHBOUR_COLUMNS / NEIGHBOUR_LEAST_ROW]; /* by channel: sums and products in mean and m2, the centre in n */
    alignas(64) char made[ROW_BLOCK / 2 * sizeof(double)], stored[TOGETHER * sizeof(double)];
    alignas(64) char wide[TOGETHER * sizeof(double)], wide_dy[TOGETHER * sizeof(double)]; /* of what is kept in another type */
} neighbours;

static int64_t least_of(int64_t a, int64_t b) {
    return a < b ? a : b;
}

/* Elements of a line of memory that lie in front of `at`. */
static int64_t line_before(const void *at, int64_t size) {
    return (int64_t)((uintptr_t)at % STREAM_LINE_BYTES) / size;
}

static int64_t row_bytes(const channel_norm *s) {
    return (s->block * s->S * (int64_t)s->l->size + 63) / 64 * 64;
}

int64_t channel_neighbours_bytes(const channel_norm *s) {
    return (s->is_backward ? BACKWARD_ROWS : FORWARD_ROWS) * row_bytes(s);
}

static char *known(const neighbours *b, int k) {
    return b->columns + k * row_bytes(b->s);
}

/* The i-th channel's part of a row. */
static char *part(const neighbours *b, char *row, int64_t i) {
    return row + i * b->s->S * (int64_t)b->s->l->size;
}

static int64_t channels_of(const channel_unit *u) {
    return u->c_to - u->c_from;
}

static char *kept_row(const neighbours *b, int k, const channel_unit *u, int64_t n) {
    const channel_norm *s = b->s;
    int64_t row = s->block * s->S * s->ring_size;
    return b->kept + (n - u->n_from) * row + (k == NORM_DY ? s->ring_bytes / 2 : 0);
}

/* --- reading ----------------------------------------------------------------------------------------------------------------- */

/* Forward: a channel's first row says what its elements lie near. */
static double centre_of(neighbours *b, int64_t c) {
    const channel_norm *s = b->s;
    double mean, m2;
    s->l->load(b->made, channel_at(s, NORM_X, b->reading.n_from, c), s->type[NORM_X], (int64_t)dtype_size(s->type[NORM_X]), s->S);
    s->l->moments(b->made, s->S, &mean, &m2);
    mean = isfinite(mean) ? mean : 0;
    return s->l->type == ASSAY_F32 ? (double)(float)mean : mean;
}

static void start_reading(neighbours *b) {
    const channel_norm *s = b->s;
    const channel_unit *u = &b->reading;
    for (int64_t i = 0; i < channels_of(u); i++) {
        double centre = s->is_backward ? s->mean[u->c_from + i] : centre_of(b, u->c_from + i);
        s->l->fill(part(b, known(b, CENTRE), i), centre, s->S);
        b->totals[i] = (channel_moment){.n = centre};
    }
    s->l->fill(known(b, SUMS), 0, channels_of(u) * s->S);
    s->l->fill(known(b, PRODUCTS), 0, channels_of(u) * s->S);
}

static void flush_sums(neighbours *b) {
    const channel_norm *s = b->s;
    const channel_unit *u = &b->reading;
    for (int64_t i = 0; i < channels_of(u); i++) {
        row_wide sum = {.f = 0}, products = {.f = 0};
        s->l->fold[ROW_SUM](&sum, part(b, known(b, SUMS), i), s->S);
        s->l->fold[ROW_SUM](&products, part(b, known(b, PRODUCTS), i), s->S);
        b->totals[i].mean += sum.f;
        b->totals[i].m2 += products.f;
    }
    s->l->fill(known(b, SUMS), 0, channels_of(u) * s->S);
    s->l->fill(known(b, PRODUCTS), 0, channels_of(u) * s->S);
}

/* What lies so far behind columns [from, to) of a sample's row, there or in the next sample's. */
static void ask(const neighbours *b, int k, int64_t n, int64_t from, int64_t to) {
    const channel_norm *s = b->s;
    const channel_unit *u = &b->reading;
    int64_t columns = channels_of(u) * s->S, size = (int64_t)dtype_size(s->type[k]), at = from + AHEAD_BYTES / size;
    int64_t next = at < columns ? n : n + ABREAST;
    if (next < u->n_to) {
        fetch_soon(channel_at(s, k, next, u->c_from) + (at < columns ? at : at - columns) * size, (size_t)((to - from) * size));
    }
}

/* Columns that are kept, in the computing type: there, or in buffer. */
static const char *fetch(const neighbours *b, int k, const channel_unit *u, int64_t n, int64_t from, int64_t to, char *buffer) {
    const channel_norm *s = b->s;
    const char *kept = kept_row(b, k, u, n) + from * s->ring_size;
    return s->ring_size == (int64_t)s->l->size ? kept : row_fetch(s->l, buffer, kept, s->type[k], s->ring_size, to - from);
}

/* Brings columns to where they are kept. */
static void keep(const neighbours *b, int k, int64_t n, int64_t from, int64_t to) {
    const channel_norm *s = b->s;
    int64_t size = (int64_t)dtype_size(s->type[k]);
    const char *at = channel_at(s, k, n, b->reading.c_from) + from * size;
    char *kept = kept_row(b, k, &b->reading, n) + from * s->ring_size;
    ask(b, k, n, from, to);
    if (s->ring_size == size) {
        memcpy(kept, at, (size_t)((to - from) * size));
    } else {
        s->l->load(kept, at, s->type[k], size, to - from);
    }
}

static void read_columns(neighbours *b, int64_t n, int64_t from, int64_t to) {
    const channel_norm *s = b->s;
    int64_t at = from * (int64_t)s->l->size;
    char *centre = known(b, CENTRE) + at, *sums = known(b, SUMS) + at, *products = known(b, PRODUCTS) + at;
    keep(b, NORM_X, n, from, to);
    const char *x = fetch(b, NORM_X, &b->reading, n, from, to, b->wide);
    if (s->is_backward) {
        keep(b, NORM_DY, n, from, to);
        s->l->channel_sums_columns(sums, products, fetch(b, NORM_DY, &b->reading, n, from, to, b->wide_dy), x, centre, to - from);
    } else {
        s->l->channel_squares_columns(sums, products, x, centre, to - from);
    }
}

/* From rows about their own means. */
static channel_moment moment_of_rows(neighbours *b, int64_t i) {
    const channel_norm *s = b->s;
    const channel_unit *u = &b->reading;
    channel_moment m = {0};
    for (int64_t n = u->n_from; n < u->n_to; n++) {
        double mean, m2;
        const char *kept = kept_row(b, NORM_X, u, n) + i * s->S * s->ring_size;
        s->l->moments(s->ring_size == (int64_t)s->l->size ? kept : row_fetch(s->l, b->made, kept, s->type[NORM_X], s->ring_size, s->S), s->S,
                      &mean, &m2);
        channel_merge(&m, (double)s->S, mean, m2);
    }
    return m;
}

/* What the rows come to. Where the centre lies so far off that most of the squares' sum is taken off again, they are gone over again. */
static void end_reading(neighbours *b) {
    const channel_norm *s = b->s;
    const channel_unit *u = &b->reading;
    flush_sums(b);
    for (int64_t i = 0; i < channels_of(u); i++) {
        const channel_moment t = b->totals[i];
        if (s->is_backward) {
            s->moments[u->c_from + i] = (channel_moment){.mean = t.mean, .m2 = t.m2};
            continue;
        }
        double n = (double)(u->n_to - u->n_from) * (double)s->S, off = t.mean / n, m2 = t.m2 - n * off * off;
        s->moments[u->c_from + i] = m2 > t.m2 / 16 ? (channel_moment){n, t.n + off, m2} : moment_of_rows(b, i);
    }
}

/* --- finishing --------------------------------------------------------------------------------------------------------------- */

static void start_finishing(neighbours *b) {
    const channel_norm *s = b->whole;
    const channel_unit *u = &b->finishing;
    for (int64_t i = 0; i < channels_of(u); i++) {
        ring_numbers f = channel_step_to(s, u, 0, u->c_from + i);
        if (s->is_backward) {
            const double numbers[] = {f.mean, f.a, f.b, f.c};
            for (int k = MEAN; k <= C; k++) {
                s->l->fill(part(b, known(b, k), i), numbers[k - MEAN], s->S);
            }
        } else {
            s->l->fill(part(b, known(b, FACTOR), i), f.factor, s->S);
            s->l->fill(part(b, known(b, PLUS), i), f.plus, s->S);
        }
    }
}

static void finish_columns(neighbours *b, int64_t n, int64_t from, int64_t to) {
    const channel_norm *s = b->s;
    const channel_unit *u = &b->finishing;
    int64_t size = (int64_t)dtype_size(s->type[NORM_OUT]), at = from * (int64_t)s->l->size;
    const char *x = fetch(b, NORM_X, u, n, from, to, b->wide), *made = b->made;
    if (s->is_backward) {
        const char *dy = fetch(b, NORM_DY, u, n, from, to, b->wide_dy);
        s->l->channel_grad_columns(b->made, dy, x, known(b, MEAN) + at, known(b, A) + at, known(b, B) + at, known(b, C) + at, to - from);
    } else {
        s->l->affine(b->made, x, known(b, FACTOR) + at, known(b, PLUS) + at, to - from);
    }
    if (s->type[NORM_OUT] != s->l->type) {
        s->l->store(b->stored, s->type[NORM_OUT], size, b->made, to - from);
        made = b->stored;
    }
    s->l->stream(channel_at(s, NORM_OUT, n, u->c_from) + from * size, made, (size_t)((to - from) * size));
}

/* --- units ------------------------------------------------------------------------------------------------------------------- */

/* The k-th part of a sample: it ends with a line of memory of what is finished. */
static void turn_part(neighbours *b, int64_t n, int64_t k, int64_t made, int64_t read) {
    const channel_norm *s = b->s;
    const int64_t size = (int64_t)dtype_size(s->type[NORM_OUT]);
    const int64_t before = b->finishes ? line_before(channel_at(s, NORM_OUT, n, b->finishing.c_from), size) : 0;
    int64_t from = k > 0 ? k * TOGETHER - before : 0, to = (k + 1) * TOGETHER - before;
    if (from < made) {
        finish_columns(b, n, from, least_of(to, made));
    }
    if (from < read) {
        read_columns(b, n, from, least_of(to, read));
    }
}

/* Some samples, which come from memory side by side. */
static void turn_samples(neighbours *b, int64_t n_from, int64_t n_to) {
    const int64_t line = STREAM_LINE_BYTES / (int64_t)dtype_size(b->s->type[NORM_OUT]);
    int64_t made = b->finishes ? channels_of(&b->finishing) * b->s->S : 0, read = b->reads ? channels_of(&b->reading) * b->s->S : 0;
    int64_t parts = ((made > read ? made : read) + line + TOGETHER - 1) / TOGETHER;
    for (int64_t k = 0; k < parts; k++) {
        for (int64_t n = n_from; n < n_to; n++) {
            turn_part(b, n, k, made, read);
        }
    }
}

/* The unit that is finished, if any, while the one behind it, if any, is read into its place. */
static void turn(neighbours *b) {
    const channel_unit u = b->reads ? b->reading : b->finishing;
    if (b->finishes) {
        start_finishing(b);
    }
    if (b->reads) {
        start_reading(b);
    }
    for (int64_t n = u.n_from; n < u.n_to; n += ABREAST) {
        turn_samples(b, n, least_of(n + ABREAST, u.n_to));
        if (b->reads && (n + ABREAST - u.n_from) % FLUSH_SAMPLES == 0) {
            flush_sums(b);
        }
    }
    if (b->reads) {
        end_reading(b);
    }
}

void channel_neighbours_run(const channel_norm *s) {
    const int self = omp_get_thread_num();
    const int64_t units = (s->C + s->block - 1) / s->block;
    channel_norm reads, whole;
    int64_t from = 0, to = units;
    if (s->shares_units) {
        channel_share_start(s, &reads, &whole);
    } else {
        reads = whole = *s;
        parallel_share(units, 1, &from, &to);
    }
    neighbours b;
    b.s = &reads;
    b.whole = &whole;
    b.kept = s->ring + self * s->ring_bytes;
    b.columns = s->columns + self * s->columns_bytes;
    for (int64_t u = from; from < to && u <= to; u++) {
        b.reads = u < to;
        b.finishes = u > from;
        if (b.finishes) {
            b.finishing = b.reading;
        }
        if (b.reads) {
            b.reading = channel_unit_at(s, u);
        }
        if (b.reads && s->shares_units) {
            parallel_share(s->N, 1, &b.reading.n_from, &b.reading.n_to);
        }
        turn(&b);
        if (b.reads && s->shares_units) {
#pragma omp barrier
            channel_join_threads(s, &b.reading, &whole);
        } else if (b.reads) {
            channel_end_unit(&whole, &b.reading);
        }
    }
}
