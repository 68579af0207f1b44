/* SPDX-License-Identifier: Apache-2.0 */
/* conv_loops.h: tiles that fill the registers, as gemm_loops.c has them. Sums run in f32. */
#include "engine/kernels/cpu/isa/conv_loops.h"

#include "engine/kernels/cpu/isa/stream.h"

#include <string.h>

#if defined(__AVX512F__)
#include <immintrin.h>
#endif

#if defined(__AVX512F__)
enum { VECTOR_BYTES = 64, ROWS = 8, VECTORS = 3 };
#elif defined(__AVX2__)
enum { VECTOR_BYTES = 32, ROWS = 4, VECTORS = 3 };
#elif defined(__aarch64__)
enum { VECTOR_BYTES = 16, ROWS = 8, VECTORS = 3 };
#else
enum { VECTOR_BYTES = 16, ROWS = 4, VECTORS = 2 };
#endif
typedef float vector __attribute__((vector_size(VECTOR_BYTES)));
typedef int32_t bits __attribute__((vector_size(VECTOR_BYTES)));
enum { LANES = VECTOR_BYTES / sizeof(float), COLUMNS = VECTORS * LANES, LINE = 64 / sizeof(float) };

static inline __attribute__((always_inline)) vector vector_at(const float *x) {
    vector v;
    memcpy(&v, x, sizeof v);
    return v;
}

/* --- tiles ---------------------------------------------------------------------------------------------------------------- */

/* Where asking for memory ahead stands. */
typedef struct asking {
    const float *at;
    int64_t line, left; /* places that are left */
} asking;

/* ROWS rows of a tile `vectors` wide, from what out or bias holds on. placed: columns lie at places of their own. ask, unless
   NULL: a line of what is read next is asked for at each step. Inlined with constants. */
static inline __attribute__((always_inline)) void multiply_with(const conv_product *p, const conv_tile *t, const float *weight,
                                                                float *out, int64_t out_step, const float *bias, asking *ask,
                                                                bool placed, int vectors) {
    vector sum[ROWS][VECTORS]; /* set and read one by one: as a whole it would live in memory, not in registers */
#pragma GCC unroll 24
    for (int i = 0; i < ROWS * vectors; i++) {
        float start = p->accumulate || bias == NULL ? 0 : bias[i / vectors];
        sum[i / vectors][i % vectors] = (vector){0} + start;
        if (p->accumulate) {
            sum[i / vectors][i % vectors] = vector_at(out + i / vectors * out_step + i % vectors * LANES);
        }
    }
    for (int64_t d = 0; d < p->depth; d++, weight += ROWS) {
        const float *columns = t->columns + (placed ? t->place[d] : d * COLUMNS);
        vector right[VECTORS];
        if (ask != NULL) {
            __builtin_prefetch(ask->at + ask->line * LINE, 0, 2);
            bool ends = ++ask->line >= p->soon_lines;
            ask->line = ends ? 0 : ask->line;
            ask->left -= ends;
            ask->at += ends ? p->soon_step : 0;
        }
#pragma GCC unroll 3
        for (int j = 0; j < vectors; j++) {
            right[j] = vector_at(columns + j * LANES);
        }
#pragma GCC unroll 8
        for (int i = 0; i < ROWS; i++) {
#pragma GCC unroll 3
            for (int j = 0; j < vectors; j++) {
                sum[i][j] += weight[i] * right[j];
            }
        }
    }
    bool on_lines = ((uintptr_t)out | (uintptr_t)out_step * sizeof *out) % STREAM_LINE == 0;
    bool streams = p->stream && (int)VECTOR_BYTES == (int)STREAM_LINE && on_lines;
#pragma GCC unroll 24
    for (int i = 0; i < ROWS * vectors; i++) {
        float *to = out + i / vectors * out_step + i % vectors * LANES;
        vector v = sum[i / vectors][i % vectors];
        if (streams) {
            stream_line(to, &v);
        } else {
            memcpy(to, &v, sizeof v);
        }
    }
}

static inline __attribute__((always_inline)) void multiply_wide(const conv_product *p, const conv_tile *t, const float *weight,
                                                                float *out, int64_t out_step, const float *bias, int vectors) {
    if (t->place != NULL) {
        multiply_with(p, t, weight, out, out_step, bias, NULL, true, vectors);
    } else {
        multiply_with(p, t, weight, out, out_step, bias, NULL, false, vectors);
    }
}

static void multiply_rows(const conv_product *p, const conv_tile *t, const float *weight, float *out, int64_t out_step,
                          const float *bias, int64_t vectors) {
    switch (vectors) {
    case 1:
        multiply_wide(p, t, weight, out, out_step, bias, 1);
        break;
    case 2:
        multiply_wide(p, t, weight, out, out_step, bias, 2);
        break;
    default:
        multiply_wide(p, t, weight, out, out_step, bias, VECTORS);
        break;
    }
}

/* Rows and columns that do not fill vectors, or lie in several places, go by way of a tile that lies apart. */
static void multiply_part(const conv_product *p, const conv_tile *t, int64_t row, int64_t rows, const float *weight,
                          int64_t vectors) {
    float part[ROWS * COLUMNS], bias[ROWS] = {0};
    if (p->accumulate) {
        memset(part, 0, sizeof part);
    }
    for (int64_t i = 0; i < rows; i++) {
        bias[i] = p->bias != NULL ? p->bias[row + i] : 0;
        for (int k = 0; p->accumulate && k < t->n_runs; k++) {
            const conv_run *run = &t->runs[k];
            memcpy(part + i * COLUMNS + run->first, run->out + (row + i) * p->out_step, (size_t)run->n * sizeof(float));
        }
    }
    conv_product apart = *p;
    apart.stream = false;
    multiply_rows(&apart, t, weight, part, COLUMNS, bias, vectors);
    for (int64_t i = 0; i < rows; i++) {
        for (int k = 0; k < t->n_runs; k++) {
            const conv_run *run = &t->runs[k];
            memcpy(run->out + (row + i) * p->out_step, part + i * COLUMNS + run->first, (size_t)run->n * sizeof(float));
        }
    }
}

/* A block of rows of one tile. */
static void multiply_tile(const conv_product *p, const conv_tile *t, int64_t row, asking *ask) {
    const conv_run *last = &t->runs[t->n_runs - 1];
    int64_t n = last->first + last->n, vectors = (n + LANES - 1) / LANES, rows = p->rows - row < ROWS ? p->rows - row : ROWS;
    const float *weight = p->weight + row * p->depth, *bias = p->bias != NULL ? p->bias + row : NULL;
    float *out = t->runs[0].out + row * p->out_step;
    if (rows < ROWS || t->n_runs > 1 || n % LANES != 0) {
        multiply_part(p, t, row, rows, weight, vectors);
    } else if (ask->left > p->depth / p->soon_lines && t->place == NULL && vectors == VECTORS) {
        asking now = *ask; /* a copy, whose members can live in registers */
        multiply_with(p, t, weight, out, p->out_step, bias, &now, false, VECTORS);
        *ask = now;
    } else {
        multiply_rows(p, t, weight, out, p->out_step, bias, vectors);
    }
}

static void multiply(const conv_product *p) {
    conv_product own = *p;
    own.soon_lines = p->soon != NULL ? p->soon_lines : 1;
    asking ask = {p->soon, 0, p->soon != NULL ? p->soon_depth : 0};
    for (int64_t row = 0; row < p->rows; row += ROWS) {
        for (int i = 0; i < p->n_tiles; i++) {
            multiply_tile(&own, &p->tiles[i], row, &ask);
        }
    }
    if (p->stream) {
        stream_settle();
    }
}

static void pack(float *to, int64_t tile_step, const float *from, int64_t step, int64_t depth, int tiles) {
    for (int64_t d = 0; d < depth; d++) {
        for (int i = 0; i < tiles; i++) {
            memcpy(to + i * tile_step + d * COLUMNS, from + d * step + i * COLUMNS, COLUMNS * sizeof *to);
        }
    }
}

static void gather(float *to, const float *from, int64_t step, int64_t n) {
    int64_t i = 0;
#if defined(__AVX512F__)
    const __m512i even = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
    for (; step <= 2 && i < n; i += LANES) { /* lines are short: what does not fill a vector goes by masks */
        int64_t left = n - i < LANES ? n - i : LANES, read = (left - 1) * step + 1;
        uint32_t wanted = (uint32_t)((1ull << read) - 1);
        __m512 v = _mm512_maskz_loadu_ps((__mmask16)wanted, from + i * step);
        if (step == 2) {
            __m512 rest = _mm512_maskz_loadu_ps((__mmask16)(wanted >> 16), from + 2 * i + (read > LANES ? LANES : 0));
            v = _mm512_permutex2var_ps(v, even, rest);
        }
        _mm512_mask_storeu_ps(to + i, (__mmask16)((1u << left) - 1), v);
    }
#else
    if (step == 1) {
        memcpy(to, from, (size_t)n * sizeof *to);
        i = n;
    }
    for (; step == 2 && i < n; i++) { /* of constant stride: two loads and a shuffle */
        to[i] = from[2 * i];
    }
#endif
    for (; i < n; i++) {
        to[i] = from[i * step];
    }
}

#if defined(__AVX512F__)
/* The lowest n bits. */
static inline __mmask16 lowest(int64_t n) {
    return (__mmask16)(n >= LANES ? 0xffff : n > 0 ? (1u << n) - 1 : 0);
}

/* A vector of all rows at a time, whose masks are found once. */
static void spread_vectors(const conv_spread *s) {
    const __m512i even = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
    const __m512i odd = _mm512_add_epi32(even, _mm512_set1_epi32(1));
    const int64_t most = s->n > s->n_between ? s->n : s->n_between;
    for (int64_t i = 0; i < most; i += LANES) {
        const int64_t read = s->step == 1 ? s->n - i : 2 * (s->n - i) - 1 > 2 * (s->n_between - i) ? 2 * (s->n - i) - 1 : 2 * (s->n_between - i);
        const __mmask16 low = lowest(read), high = lowest(read - LANES), kept = lowest(s->n - i), between = lowest(s->n_between - i);
        const float *from = s->from + i * s->step;
        for (int64_t k = 0; k < s->rows; k++, from += s->from_row) {
            __m512 a = _mm512_maskz_loadu_ps(low, from);
            if (s->step == 1) {
                _mm512_mask_storeu_ps(s->to + k * s->to_row + i, kept, a);
                continue;
            }
            __m512 b = _mm512_maskz_loadu_ps(high, from + (high != 0 ? LANES : 0));
            _mm512_mask_storeu_ps(s->to + k * s->to_row + i, kept, _mm512_permutex2var_ps(a, even, b));
            if (between != 0) {
                _mm512_mask_storeu_ps(s->between + k * s->to_row + i, between, _mm512_permutex2var_ps(a, odd, b));
            }
        }
    }
}
#endif

static void spread(const conv_spread *s) {
#if defined(__AVX512F__)
    if (s->step <= 2) {
        spread_vectors(s);
        return;
    }
#endif
    for (int64_t k = 0; k < s->rows; k++) {
        gather(s->to + k * s->to_row, s->from + k * s->from_row, s->step, s->n);
        if (s->n_between > 0) {
            gather(s->between + k * s->to_row, s->from + k * s->from_row + 1, s->step, s->n_between);
        }
    }
}

/* --- single channels ------------------------------------------------------------------------------------------------------ */

/* Two vectors of two rows: as many sums as hide each other's latency. */
static inline __attribute__((always_inline)) void slide_block(const conv_rows *r, const float *in, int64_t below, vector sum[4]) {
    vector a = (vector){0} + r->bias, b = a, c = a, d = a;
    for (int64_t t = 0; t < r->taps; t++) {
        const float *at = in + r->tap[t];
        float w = r->weight[t];
        a += w * vector_at(at);
        b += w * vector_at(at + LANES);
        c += w * vector_at(at + below);
        d += w * vector_at(at + below + LANES);
    }
    sum[0] = a;
    sum[1] = b;
    sum[2] = c;
    sum[3] = d;
}

static inline __attribute__((always_inline)) void store_part(float *to, vector v, int64_t n) {
    float part[LANES];
    memcpy(part, &v, sizeof v);
    if (n >= LANES) {
        memcpy(to, part, sizeof v);
        return;
    }
#pragma omp simd
    for (int k = 0; k < LANES; k++) {
        if (k < n) {
            to[k] = part[k];
        }
    }
}

enum { NARROW_ROWS = 8 };

/* Columns from `from` on, a vector or less, of as many rows as hide each other's latency. */
static void slide_narrow(const conv_rows *r, int64_t from) {
    for (int64_t row = 0; row < r->rows; row += NARROW_ROWS) {
        const float *in = r->in + row * r->in_step + from;
        int64_t left = r->rows - row, below[NARROW_ROWS];
        vector sum[NARROW_ROWS];
        for (int k = 0; k < NARROW_ROWS; k++) {
            below[k] = k < left ? k * r->in_step : 0;
            sum[k] = (vector){0} + r->bias;
        }
        for (int64_t t = 0; t < r->taps; t++) {
            const float *at = in + r->tap[t];
            float w = r->weight[t];
#pragma GCC unroll 8
            for (int k = 0; k < NARROW_ROWS; k++) {
                sum[k] += w * vector_at(at + below[k]);
            }
        }
        float *out = r->out + row * r->out_step + from;
        for (int64_t k = 0; k < NARROW_ROWS && k < left; k++) {
            store_part(out + k * r->out_step, sum[k], r->n - from);
        }
    }
}

static void slide(const conv_rows *r) {
    int64_t whole = 0; /* columns for two vectors */
    while (r->n - whole > LANES) {
        whole += 2 * LANES;
    }
    for (int64_t row = 0; row < r->rows; row += 2) {
        bool two = row + 1 < r->rows;
        const float *in = r->in + row * r->in_step;
        float *out = r->out + row * r->out_step;
        for (int64_t i = 0; i < whole; i += 2 * LANES) {
            vector sum[4];
            slide_block(r, in + i, two ? r->in_step : 0, sum);
            store_part(out + i, sum[0], r->n - i);
            store_part(out + i + LANES, sum[1], r->n - i - LANES);
            if (two) {
                store_part(out + r->out_step + i, sum[2], r->n - i);
                store_part(out + r->out_step + i + LANES, sum[3], r->n - i - LANES);
            }
        }
    }
    if (whole < r->n) {
        slide_narrow(r, whole);
    }
}

enum { SUM_TAPS = 9 }; /* all of a kernel of 3 x 3 */

/* n < LANES numbers and zeros; nothing past them is read. Not by memcpy: bytes that come in parts are slow to read as a whole. */
static inline __attribute__((always_inline)) vector vector_part(const float *x, int64_t n) {
    float part[LANES];
#pragma omp simd
    for (int k = 0; k < LANES; k++) {
        part[k] = k < n ? x[k] : 0;
    }
    return vector_at(part);
}

/* Up to SUM_TAPS taps at a time, whose sums stay in registers for some rows and then go into double. */
static inline __attribute__((always_inline)) void sum_taps(const conv_row_sums *r, int64_t from, int64_t to, const int64_t *tap,
                                                           double *sums, int64_t taps) {
    vector sum[SUM_TAPS];
#pragma GCC unroll 9
    for (int t = 0; t < SUM_TAPS; t++) {
        sum[t] = (vector){0};
    }
    int64_t last = r->n % LANES;
    int32_t mask[LANES];
    for (int k = 0; k < LANES; k++) {
        mask[k] = k < last ? -1 : 0;
    }
    bits kept;
    memcpy(&kept, mask, sizeof kept);
    for (int64_t row = from; row < to; row++) {
        const float *in = r->in + row * r->in_step, *grad = r->grad + row * r->grad_step;
        for (int64_t i = 0; i + LANES <= r->n; i += LANES) {
            vector g = vector_at(grad + i);
#pragma GCC unroll 9
            for (int t = 0; t < SUM_TAPS; t++) {
                sum[t] += g * vector_at(in + tap[t] + i);
            }
        }
        if (last > 0) {
            vector g = vector_part(grad + r->n - last, last);
#pragma GCC unroll 9
            for (int t = 0; t < SUM_TAPS; t++) {
                sum[t] += g * (vector)((bits)vector_at(in + tap[t] + r->n - last) & kept); /* infinities too are left out */
            }
        }
    }
    float lanes[SUM_TAPS][LANES];
#pragma GCC unroll 9
    for (int t = 0; t < SUM_TAPS; t++) {
        memcpy(lanes[t], &sum[t], sizeof(vector));
    }
    for (int64_t t = 0; t < taps; t++) {
        for (int k = 0; k < LANES; k++) {
            sums[t] += (double)lanes[t][k];
        }
    }
}

static void sum(const conv_row_sums *r) {
    enum { ROWS_AT_ONCE = 32 };
    for (int64_t first = 0; first < r->taps; first += SUM_TAPS) {
        int64_t taps = r->taps - first < SUM_TAPS ? r->taps - first : SUM_TAPS, tap[SUM_TAPS];
        for (int64_t t = 0; t < SUM_TAPS; t++) {
            tap[t] = r->tap[first + (t < taps ? t : 0)]; /* what is left over is not looked at */
        }
        for (int64_t row = 0; row < r->rows; row += ROWS_AT_ONCE) {
            int64_t to = row + ROWS_AT_ONCE < r->rows ? row + ROWS_AT_ONCE : r->rows;
            sum_taps(r, row, to, tap, r->sums + first, taps);
        }
    }
}

extern const conv_loops ISA_SYMBOL(conv_loops);
const conv_loops ISA_SYMBOL(conv_loops) = {.rows = ROWS,
                                           .columns = COLUMNS,
                                           .slack = 2 * LANES,
                                           .multiply = multiply,
                                           .pack = pack,
                                           .gather = gather,
                                           .spread = spread,
                                           .slide = slide,
                                           .sum = sum};
