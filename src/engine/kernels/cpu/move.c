/* SPDX-License-Identifier: Apache-2.0 */
/* The copy engine: orders a box's dimensions, picks its inner loops, shares its units out among threads. */
#include "engine/kernels/cpu/move.h"

#include "engine/kernels/cpu/parallel.h"
#include "engine/kernels/cpu/streaming.h"

#include <stdalign.h>
#include <string.h>
#include <unistd.h>

/* A unit of work covers about this many bytes of output: small enough to share out evenly and to stay in L2 beside its
   source, large enough that finding its place costs nothing. */
enum { UNIT_BYTES = 64 * 1024 };
/* Tiles turned round are at most this many elements long: 64 rows of the source in L1, no page twice in the TLB. */
enum { TURN_EDGE = 64 };
/* Moves run side by side in steps of this many bytes, which L2 holds. */
enum { STEP_BYTES = 256 * 1024 };
enum { BUFFER_BYTES = 4096, LEAST_STREAM_ROW = 128, LEAST_TURN_RUN = 256 };

int64_t cache_bytes(void) {
#if defined(_SC_LEVEL3_CACHE_SIZE)
    long bytes = sysconf(_SC_LEVEL3_CACHE_SIZE);
    return bytes > 0 ? bytes : 32 << 20;
#else
    return 32 << 20;
#endif
}

/* --- boxes
 * ------------------------------------------------------------------------------------------------------------------ */

void box_of(box *b, const tensor *dst) {
    b->ndim = dst->ndim;
    b->dst_offset = 0;
    b->src_offset = 0;
    for (int d = 0; d < dst->ndim; d++) {
        b->sizes[d] = dst->sizes[d];
        b->dst_strides[d] = dst->strides[d];
        b->src_strides[d] = 0;
    }
}

void box_of_pair(box *b, const tensor *dst, const tensor *src) {
    box_of(b, dst);
    tensor_broadcast_strides(src, dst->ndim, dst->sizes, b->src_strides);
}

void box_cut(box *b, int d, int64_t from, int64_t n) {
    b->sizes[d] = n;
    b->dst_offset += from * b->dst_strides[d];
    b->src_offset += from * b->src_strides[d];
}

/* --- preparing
 * ---------------------------------------------------------------------------------------------------------------- */

static int log2_of(size_t size) {
    return size == 1 ? 0 : size == 2 ? 1 : size == 4 ? 2 : size == 8 ? 3 : 4;
}

static void swap_dims(move *m, int a, int b) {
    int64_t size = m->sizes[a];
    m->sizes[a] = m->sizes[b];
    m->sizes[b] = size;
    ptrdiff_t stride = m->dst_strides[a];
    m->dst_strides[a] = m->dst_strides[b];
    m->dst_strides[b] = stride;
    stride = m->src_strides[a];
    m->src_strides[a] = m->src_strides[b];
    m->src_strides[b] = stride;
}

/* Takes dimensions of size 1 out, orders the rest by dst's strides, joins those that lie like one. */
static void set_dims(move *m, const box *b) {
    int64_t dst_size = (int64_t)1 << m->dst_log2, src_size = (int64_t)1 << m->src_log2;
    m->ndim = 0;
    for (int d = b->ndim - 1; d >= 0; d--) {
        if (b->sizes[d] == 1) {
            continue;
        }
        int i = m->ndim++;
        m->sizes[i] = b->sizes[d];
        m->dst_strides[i] = b->dst_strides[d] * dst_size;
        m->src_strides[i] = b->src_strides[d] * src_size;
        for (; i > 0 && m->dst_strides[i] < m->dst_strides[i - 1]; i--) {
            swap_dims(m, i, i - 1);
        }
    }
    int kept = 0;
    for (int d = 1; d < m->ndim; d++) {
        if (m->dst_strides[d] == m->dst_strides[kept] * m->sizes[kept] &&
            m->src_strides[d] == m->src_strides[kept] * m->sizes[kept]) {
            m->sizes[kept] *= m->sizes[d];
        } else if (++kept != d) {
            m->sizes[kept] = m->sizes[d];
            m->dst_strides[kept] = m->dst_strides[d];
            m->src_strides[kept] = m->src_strides[d];
        }
    }
    m->ndim = m->ndim > 0 ? kept + 1 : 0;
    for (; m->ndim < 2; m->ndim++) { /* units are two-dimensional */
        m->sizes[m->ndim] = 1;
        m->dst_strides[m->ndim] = m->ndim == 0 ? dst_size : 0;
        m->src_strides[m->ndim] = m->ndim == 0 ? src_size : 0;
    }
}

static int64_t least(int64_t a, int64_t b) {
    return a < b ? a : b;
}

/* Bytes of cache lines that n steps of dimension d touch, when one touches `inner`. */
static int64_t touched(const move *m, int d, int64_t n, int64_t inner) {
    int64_t line = inner > 64 ? inner : 64;
    return n * least(m->dst_strides[d] > inner ? m->dst_strides[d] : inner, line);
}

static void set_blocks(move *m) {
    int64_t element = touched(m, 0, 1, INT64_C(1) << m->dst_log2);
    int64_t width = least(m->sizes[0], UNIT_BYTES / element);
    int64_t row = touched(m, 1, 1, (width > 0 ? width : 1) * element);
    int64_t height = least(m->sizes[1], UNIT_BYTES / row);
    if (m->kind == MOVE_TURN || m->kind == MOVE_CONVERT_TURN) {
        width = least(m->sizes[0], TURN_EDGE);
        height = least(m->sizes[1], TURN_EDGE);
    }
    if (m->turns_in_steps) { /* runs of one length, and fewer rows of long ones: a tile keeps its size */
        int64_t bytes = m->sizes[1] << m->dst_log2, runs = (bytes + TURN_MOST_RUN - 1) / TURN_MOST_RUN;
        int64_t run = (bytes / runs + STREAM_LINE_BYTES - 1) / STREAM_LINE_BYTES * STREAM_LINE_BYTES;
        width = run > TURN_MOST_RUN / 2 ? TURN_MOST_ROWS / 2 : TURN_MOST_ROWS;
        height = run >> m->dst_log2;
    }
    m->block[0] = width > 0 ? width : 1;
    m->block[1] = height > 0 ? height : 1;
    m->units = 1;
    for (int d = 0; d < m->ndim; d++) {
        m->units *= d < 2 ? (m->sizes[d] + m->block[d] - 1) / m->block[d] : m->sizes[d];
    }
    m->kind = m->units == 0 ? MOVE_NOTHING : m->kind;
}

static void start(move *m, const box *b, const tensor *dst) {
    size_t size = dtype_size(dst->dtype);
    m->dst_type = m->src_type = dst->dtype;
    m->dst_log2 = m->src_log2 = log2_of(size);
    m->dst = tensor_data(dst) + b->dst_offset * (int64_t)size;
    m->src = NULL;
    m->stream = m->turns_in_steps = false;
    m->bytes = (double)sizes_numel(b->ndim, b->sizes) * (double)size;
    if (m->bytes >= 4 << 20) { /* smaller boxes leave their lines where the next operator wants them */
        m->stream = tensor_span(dst) * (int64_t)size > cache_bytes();
    }
}

void move_fill(move *m, const box *b, const tensor *dst, number value) {
    start(m, b, dst);
    m->kind = MOVE_FILL;
    box written = *b;
    for (int d = 0; d < b->ndim; d++) { /* elements that share memory are written once */
        written.src_strides[d] = 0;
        written.sizes[d] = b->dst_strides[d] == 0 && b->sizes[d] > 1 ? 1 : b->sizes[d];
    }
    for (int d = 0; d < b->ndim; d++) {
        written.src_strides[d] = written.dst_strides[d]; /* so that dimensions join */
    }
    set_dims(m, &written);
    set_blocks(m);
    size_t size = (size_t)1 << m->dst_log2;
    for (size_t at = 0; at < sizeof m->value; at += size) {
        element_store_number(m->dst_type, m->value + at, value);
    }
}

/* A dimension along which the source is contiguous goes to place 1, beside the one along which dst is. */
static bool find_turn(move *m) {
    ptrdiff_t size = (ptrdiff_t)1 << m->src_log2;
    if (m->dst_strides[0] != (ptrdiff_t)1 << m->dst_log2 || m->src_strides[0] == size || m->sizes[0] < 4) {
        return false;
    }
    for (int d = 1; d < m->ndim; d++) {
        if (m->src_strides[d] != size || m->sizes[d] < 4) {
            continue;
        }
        for (int i = d; i > 1; i--) {
            swap_dims(m, i, i - 1);
        }
        return true;
    }
    return false;
}

/* Whether tiles of a box that is turned round lie on lines of dst. */
static bool can_turn_in_steps(const move *m) {
    uintptr_t all = (uintptr_t)m->dst;
    for (int d = 1; d < m->ndim; d++) {
        all |= m->sizes[d] > 1 ? (uintptr_t)m->dst_strides[d] : 0;
    }
    return m->stream && copy_loops_best()->turns(m->dst_log2) && all % STREAM_LINE_BYTES == 0 &&
           m->sizes[0] >= TURN_MOST_ROWS && m->sizes[1] << m->dst_log2 >= LEAST_TURN_RUN;
}

/* Short rows that are stored past the caches, whole lines each, go in the order in which they are read. */
static void order_by_source(move *m) {
    int64_t row_bytes = m->sizes[0] << m->dst_log2;
    bool has_lines = row_bytes >= LEAST_STREAM_ROW && row_bytes < BUFFER_BYTES && row_bytes % STREAM_LINE_BYTES == 0;
    for (int i = 2; m->stream && has_lines && i < m->ndim; i++) {
        for (int d = i; d > 1 && m->src_strides[d] > 0 && m->src_strides[d] < m->src_strides[d - 1]; d--) {
            swap_dims(m, d, d - 1);
        }
    }
}

void move_copy(move *m, const box *b, const tensor *dst, const tensor *src) {
    start(m, b, dst);
    size_t size = dtype_size(src->dtype);
    m->src_type = src->dtype;
    m->src_log2 = log2_of(size);
    m->src = tensor_data(src) + b->src_offset * (int64_t)size;
    m->bytes += (double)sizes_numel(b->ndim, b->sizes) * (double)size;
    set_dims(m, b);
    bool turns = find_turn(m);
    if (m->dst_type != m->src_type) {
        bool real = converter_make(&m->convert, m->dst_type, m->src_type);
        m->kind = !real ? MOVE_COMPLEX : turns ? MOVE_CONVERT_TURN : MOVE_CONVERT;
    } else if (turns) {
        m->kind = MOVE_TURN;
        m->turns_in_steps = can_turn_in_steps(m);
    } else {
        bool in_step = m->dst_strides[0] == m->src_strides[0] && m->dst_strides[0] == (ptrdiff_t)size;
        m->kind = in_step ? MOVE_ROWS : MOVE_STRIDED;
        if (in_step) {
            order_by_source(m);
        }
    }
    set_blocks(m);
}

/* --- conversions
 * -------------------------------------------------------------------------------------------------------------- */

bool converter_make(converter *c, dtype to, dtype from) {
    const convert_loops *loops = convert_loops_best();
    c->parts = dtype_is_complex(to) && dtype_is_complex(from) ? 2 : 1;
    if (c->parts == 1 && (dtype_is_complex(to) || dtype_is_complex(from))) {
        return false;
    }
    to = dtype_real(to);
    from = dtype_real(from);
    c->to_bytes = (int)dtype_size(to);
    c->from_bytes = (int)dtype_size(from);
    c->second = NULL;
    c->middle_bytes = 8;
    bool wide_from = from == ASSAY_I64 || from == ASSAY_I32, wide_to = to == ASSAY_I64 || to == ASSAY_I32;
    if (from == ASSAY_F32 || from == ASSAY_F64 || from == ASSAY_I64) {
        convert_fn *const *table = from == ASSAY_F32   ? loops->from_f32
                                   : from == ASSAY_F64 ? loops->from_f64
                                                       : loops->from_i64;
        c->first = table[to];
    } else if (to == ASSAY_F32 || to == ASSAY_F64 || to == ASSAY_I64) {
        c->first = to == ASSAY_F32 ? loops->to_f32[from] : to == ASSAY_F64 ? loops->to_f64[from] : loops->to_i64[from];
    } else if (dtype_category_of(from) < CATEGORY_FLOATING && (wide_from || wide_to)) {
        c->first = loops->to_i64[from];
        c->second = loops->from_i64[to];
    } else { /* f32 holds every value of what is left */
        c->first = loops->to_f32[from];
        c->second = loops->from_f32[to];
        c->middle_bytes = 4;
    }
    return true;
}

void converter_run(const converter *c, void *dst, const void *src, int64_t n) {
    double middle[BUFFER_BYTES / sizeof(double)];
    n *= c->parts;
    if (c->second == NULL) {
        c->first(dst, src, n);
        return;
    }
    int64_t most = (int64_t)(sizeof middle / (size_t)c->middle_bytes);
    for (int64_t i = 0; i < n; i += most) {
        int64_t some = least(n - i, most);
        c->first(middle, (const char *)src + i * c->from_bytes, some);
        c->second((char *)dst + i * c->to_bytes, middle, some);
    }
}

/* --- running
 * ------------------------------------------------------------------------------------------------------------------ */

static void run_rows(const move *m, const copy_loops *loops, char *dst, const char *src, int64_t n0, int64_t n1) {
    size_t row_bytes = (size_t)n0 << m->dst_log2;
    if (m->stream && row_bytes >= LEAST_STREAM_ROW && row_bytes < BUFFER_BYTES) {
        loops->stream_rows(dst, src, row_bytes, n1, m->dst_strides[1], m->src_strides[1]);
        return;
    }
    if (!m->stream || row_bytes < BUFFER_BYTES) {
        loops->rows(dst, src, row_bytes, n1, m->dst_strides[1], m->src_strides[1]);
        return;
    }
    for (int64_t i = 0; i < n1; i++) {
        loops->stream(dst + i * m->dst_strides[1], src + i * m->src_strides[1], row_bytes);
    }
}

static void run_fill(const move *m, const copy_loops *loops, char *dst, int64_t n0, int64_t n1) {
    bool contiguous = m->dst_strides[0] == (ptrdiff_t)1 << m->dst_log2;
    size_t row_bytes = (size_t)n0 << m->dst_log2;
    if (contiguous && n1 > 1 && row_bytes <= BUFFER_BYTES / 4) { /* short rows are copies of one */
        char row[BUFFER_BYTES / 4];
        loops->fill(row, m->value, m->dst_log2, n0, 0);
        loops->rows(dst, row, row_bytes, n1, m->dst_strides[1], 0);
        return;
    }
    bool stream = m->stream && (n0 << m->dst_log2) >= BUFFER_BYTES;
    for (int64_t i = 0; i < n1; i++) {
        if (contiguous) {
            loops->fill(dst + i * m->dst_strides[1], m->value, m->dst_log2, n0, stream);
        } else {
            loops->strided(dst + i * m->dst_strides[1], m->value, m->dst_log2, n0, m->dst_strides[0], 0);
        }
    }
}

/* The longer of the two dimensions goes inside, unless the shorter one writes whole lines. */
static void run_strided(const move *m, const copy_loops *loops, char *dst, const char *src, int64_t n0, int64_t n1) {
    int inner = n1 > n0 && n0 << m->dst_log2 < 64 ? 1 : 0, outer = 1 - inner;
    int64_t n_inner = inner == 0 ? n0 : n1, n_outer = inner == 0 ? n1 : n0;
    for (int64_t i = 0; i < n_outer; i++) {
        loops->strided(dst + i * m->dst_strides[outer], src + i * m->src_strides[outer], m->dst_log2, n_inner,
                       m->dst_strides[inner], m->src_strides[inner]);
    }
}

/* A row in pieces that stay in L1: gathered when the source is strided, converted, scattered or streamed. */
static void convert_row(const move *m, const copy_loops *loops, char *dst, const char *src, int64_t n) {
    double gathered[BUFFER_BYTES / 8], converted[BUFFER_BYTES / 8];
    ptrdiff_t dst_size = (ptrdiff_t)1 << m->dst_log2, src_size = (ptrdiff_t)1 << m->src_log2;
    bool gathers = m->src_strides[0] != src_size, scatters = m->dst_strides[0] != dst_size;
    if (!gathers && !scatters && !m->stream) {
        converter_run(&m->convert, dst, src, n);
        return;
    }
    int64_t most = BUFFER_BYTES >> (m->dst_log2 > m->src_log2 ? m->dst_log2 : m->src_log2);
    bool staged = scatters || m->stream;
    for (int64_t i = 0; i < n; i += most) {
        int64_t some = least(n - i, most);
        const char *from = src + i * m->src_strides[0];
        char *to = dst + i * m->dst_strides[0];
        if (gathers) {
            loops->strided((char *)gathered, from, m->src_log2, some, src_size, m->src_strides[0]);
            from = (const char *)gathered;
        }
        converter_run(&m->convert, staged ? (char *)converted : to, from, some);
        if (scatters) {
            loops->strided(to, (const char *)converted, m->dst_log2, some, m->dst_strides[0], dst_size);
        } else if (staged) {
            loops->stream(to, (const char *)converted, (size_t)some << m->dst_log2);
        }
    }
}

static void run_convert(const move *m, const copy_loops *loops, char *dst, const char *src, int64_t n0, int64_t n1) {
    for (int64_t i = 0; i < n1; i++) {
        convert_row(m, loops, dst + i * m->dst_strides[1], src + i * m->src_strides[1], n0);
    }
}

/* A tile turned round in L1 first, then converted row by row. */
static void run_convert_turn(const move *m, const copy_loops *loops, char *dst, const char *src, int64_t n0,
                             int64_t n1) {
    double tile[2 * TURN_EDGE * TURN_EDGE];
    ptrdiff_t row_bytes = (ptrdiff_t)n0 << m->src_log2;
    loops->transpose((char *)tile, src, m->src_log2, n0, n1, row_bytes, m->src_strides[0]);
    for (int64_t i = 0; i < n1; i++) {
        converter_run(&m->convert, dst + i * m->dst_strides[1], (const char *)tile + i * row_bytes, n0);
    }
}

/* Complex from or to real: rare, so one element at a time. */
static void run_complex(const move *m, char *dst, const char *src, int64_t n0, int64_t n1) {
    for (int64_t i = 0; i < n1; i++) {
        for (int64_t k = 0; k < n0; k++) {
            const char *from = src + i * m->src_strides[1] + k * m->src_strides[0];
            char *to = dst + i * m->dst_strides[1] + k * m->dst_strides[0];
            if (!dtype_is_complex(m->dst_type) && dtype_category_of(m->dst_type) < CATEGORY_FLOATING &&
                m->dst_type != ASSAY_B8) {
                element_store_int(m->dst_type, to, element_load_int(m->src_type, from));
            } else {
                element_store_complex(m->dst_type, to, element_load_complex(m->src_type, from));
            }
        }
    }
}

static void run_unit(const move *m, const copy_loops *loops, char *dst, const char *src, int64_t n0, int64_t n1) {
    switch (m->kind) {
    case MOVE_FILL:
        run_fill(m, loops, dst, n0, n1);
        break;
    case MOVE_ROWS:
        run_rows(m, loops, dst, src, n0, n1);
        break;
    case MOVE_STRIDED:
        run_strided(m, loops, dst, src, n0, n1);
        break;
    case MOVE_TURN:
        loops->transpose(dst, src, m->dst_log2, n0, n1, m->dst_strides[1], m->src_strides[0]);
        break;
    case MOVE_CONVERT:
        run_convert(m, loops, dst, src, n0, n1);
        break;
    case MOVE_CONVERT_TURN:
        run_convert_turn(m, loops, dst, src, n0, n1);
        break;
    case MOVE_COMPLEX:
        run_complex(m, dst, src, n0, n1);
        break;
    case MOVE_NOTHING:
        break;
    }
}

_Static_assert(TURN_MOST_ROWS / 2 * (TURN_MOST_RUN + 64) <= TURN_BYTES &&
                   TURN_MOST_ROWS * (TURN_MOST_RUN / 2 + 64) <= TURN_BYTES,
               "a tile must fit its buffer");

/* Tiles on their way: the one at hand is copied into one buffer while the one before it leaves the other. */
typedef struct turning {
    alignas(64) char buffer[2][TURN_BYTES];
    int next;
    char *to; /* where the copied tile belongs; NULL: none is copied */
} turning;

/* src NULL: only the tile before this one is stored. */
static void turn_next(turning *t, const move *m, const copy_loops *loops, char *dst, const char *src) {
    turn_step step = {.log2 = m->dst_log2,
                      .rows = m->block[0],
                      .run = m->block[1] << m->dst_log2,
                      .full = t->to != NULL ? t->buffer[1 - t->next] : NULL,
                      .to = t->to,
                      .to_stride = m->dst_strides[1],
                      .empty = src != NULL ? t->buffer[t->next] : NULL,
                      .from = src,
                      .from_stride = m->src_strides[0]};
    loops->stream_turned(&step);
    t->next = 1 - t->next;
    t->to = src != NULL ? dst : NULL;
}

/* Units [from, to): blocks of dimension 0 fastest, then of dimension 1, then the other dimensions. */
static void run_units(const move *m, const copy_loops *loops, int64_t from, int64_t to) {
    int64_t index[TENSOR_MAX_DIMS], left = from;
    ptrdiff_t at_dst = 0, at_src = 0;
    if (from >= to) {
        return;
    }
    for (int d = 0; d < m->ndim; d++) {
        int64_t step = d < 2 ? m->block[d] : 1, count = (m->sizes[d] + step - 1) / step;
        index[d] = left % count * step;
        left /= count;
        at_dst += index[d] * m->dst_strides[d];
        at_src += index[d] * m->src_strides[d];
    }
    turning t;
    t.next = 0;
    t.to = NULL;
    for (int64_t unit = from; unit < to; unit++) {
        int64_t n0 = least(m->block[0], m->sizes[0] - index[0]), n1 = least(m->block[1], m->sizes[1] - index[1]);
        if (m->turns_in_steps && n0 == m->block[0] && n1 == m->block[1]) {
            turn_next(&t, m, loops, m->dst + at_dst, m->src + at_src);
        } else {
            run_unit(m, loops, m->dst + at_dst, m->kind == MOVE_FILL ? NULL : m->src + at_src, n0, n1);
        }
        for (int d = 0; d < m->ndim; d++) {
            int64_t step = d < 2 ? m->block[d] : 1;
            index[d] += step;
            at_dst += step * m->dst_strides[d];
            at_src += step * m->src_strides[d];
            if (index[d] < m->sizes[d]) {
                break;
            }
            at_dst -= index[d] * m->dst_strides[d];
            at_src -= index[d] * m->src_strides[d];
            index[d] = 0;
        }
    }
    if (t.to != NULL) {
        turn_next(&t, m, loops, NULL, NULL);
    }
}

/* The unit at which so many bytes of all moves' traffic are done. */
static int64_t unit_at(const move *m, double before, double bytes) {
    if (bytes <= before || m->bytes == 0) {
        return 0;
    }
    return bytes >= before + m->bytes ? m->units : (int64_t)((double)m->units * ((bytes - before) / m->bytes));
}

static void run_one_after_the_other(const move *moves, int64_t n, double total, int thread, int threads) {
    const copy_loops *loops = copy_loops_best();
    double from = total * ((double)thread / threads), to = total * ((double)(thread + 1) / threads), before = 0;
    for (int64_t i = 0; i < n; i++) {
        if (moves[i].kind != MOVE_NOTHING) {
            run_units(&moves[i], loops, unit_at(&moves[i], before, from), unit_at(&moves[i], before, to));
        }
        before += moves[i].bytes;
    }
    loops->settle();
}

/* This thread's share of every move, in steps. */
static void run_together(const move *moves, int64_t n, double total, int thread, int threads) {
    const copy_loops *loops = copy_loops_best();
    int64_t steps = (int64_t)(total / threads / STEP_BYTES) + 1, all = steps * threads;
    for (int64_t step = steps * thread; step < steps * (thread + 1); step++) {
        for (int64_t i = 0; i < n; i++) {
            const move *m = &moves[i];
            if (m->kind != MOVE_NOTHING) {
                double units = (double)m->units / (double)all;
                int64_t to = step + 1 == all ? m->units : (int64_t)(units * (double)(step + 1));
                run_units(m, loops, (int64_t)(units * (double)step), to);
            }
        }
    }
    loops->settle();
}

void moves_run(const move *moves, int64_t n, bool together) {
    double total = 0;
    int64_t fewest = INT64_MAX;
    for (int64_t i = 0; i < n; i++) {
        total += moves[i].bytes;
        fewest = moves[i].kind == MOVE_NOTHING ? fewest : least(fewest, moves[i].units);
    }
    int threads = parallel_threads(total);
    together = together && n > 1 && fewest >= 4 * threads;
    if (threads == 1) {
        (together ? run_together : run_one_after_the_other)(moves, n, total, 0, 1);
        return;
    }
    const observer *watch = observer_of_thread;
#pragma omp parallel num_threads(threads)
    {
        parallel_enter(watch);
        (together ? run_together : run_one_after_the_other)(moves, n, total, omp_get_thread_num(), omp_get_num_threads());
        parallel_leave(watch);
    }
}
