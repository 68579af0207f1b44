/* SPDX-License-Identifier: Apache-2.0 */
/* The copy engine: orders a box's dimensions, picks its inner loops, cuts it into units. move_run.c runs them. */
#include "engine/kernels/cpu/move.h"

#include "engine/kernels/cpu/parallel.h"
#include "engine/kernels/cpu/streaming.h"

#include "device/caches.h"

#include <stdalign.h>
#include <string.h>
#include <unistd.h>

/* A unit of work covers about this many bytes of output: small enough to share out evenly and for moves that write parts of the
   same lines, or of the same rows, to take turns within L1 (64 KiB: two rows stacked side by side took 2.5 times as long,
   Sapphire Rapids, 2026-11), large enough that finding its place costs little. */
enum { UNIT_BYTES = 16 * 1024 };
enum { LEAST_TURN_RUN = 256 };
/* Rows turned round where they lie: 128 bytes of the output's rows or more, and source rows that go on for long enough for
   what is asked for behind them to be worth little. */
enum { TURN_PLACE_ROWS = 32, TURN_PLACE_BYTES = 128, TURN_PLACE_RUN = 32 * 1024, LEAST_PLACE_RUN = 2048 };

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

/* Source rows turned round together where they lie. */
static int64_t place_rows(const move *m) {
    int64_t rows = TURN_PLACE_BYTES >> m->dst_log2;
    return rows > TURN_PLACE_ROWS ? rows : TURN_PLACE_ROWS;
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
    int64_t line = inner > 64 ? inner : 64, stride = m->dst_strides[d] < 0 ? -m->dst_strides[d] : m->dst_strides[d];
    return n * least(stride > inner ? stride : inner, line);
}

static void set_blocks(move *m) {
    int64_t element = touched(m, 0, 1, INT64_C(1) << m->dst_log2);
    int64_t width = least(m->sizes[0], UNIT_BYTES / element);
    int64_t row = touched(m, 1, 1, (width > 0 ? width : 1) * element);
    int64_t height = least(m->sizes[1], UNIT_BYTES / row);
    if (m->kind == MOVE_TURN || m->kind == MOVE_CONVERT_TURN) {
        width = least(m->sizes[0], MOVE_TURN_EDGE);
        height = least(m->sizes[1], MOVE_TURN_EDGE);
        if (m->kind == MOVE_TURN && m->sizes[0] * m->sizes[1] > 0) { /* of a few rows or columns, longer ones */
            enum { FEW = 16, MOST = MOVE_TURN_EDGE * MOVE_TURN_EDGE };
            height = width < FEW ? least(m->sizes[1], MOST / width / MOVE_TURN_EDGE * MOVE_TURN_EDGE) : height;
            width = m->sizes[1] < FEW ? least(m->sizes[0], MOST / m->sizes[1] / MOVE_TURN_EDGE * MOVE_TURN_EDGE) : width;
        }
    }
    if (m->turns_in_steps) { /* runs of one length, and fewer rows of long ones: a tile keeps its size */
        int64_t bytes = m->sizes[1] << m->dst_log2, runs = (bytes + TURN_MOST_RUN - 1) / TURN_MOST_RUN;
        int64_t run = (bytes / runs + STREAM_LINE_BYTES - 1) / STREAM_LINE_BYTES * STREAM_LINE_BYTES;
        width = run > TURN_MOST_RUN / 2 ? TURN_MOST_ROWS / 2 : TURN_MOST_ROWS;
        height = run >> m->dst_log2;
    }
    if (m->turns_in_place) {
        width = place_rows(m);
        height = least(m->sizes[1], TURN_PLACE_RUN >> m->dst_log2);
    }
    if (m->turns_across) {
        width = place_rows(m);
        height = least(m->sizes[1], MOVE_REST_COLUMNS);
    }
    m->block[0] = width > 0 ? width : 1;
    m->block[1] = height > 0 ? height : 1;
    m->units = 1;
    for (int d = 0; d < m->ndim; d++) {
        m->units *= d < 2 ? (m->sizes[d] + m->block[d] - 1) / m->block[d] : m->sizes[d];
    }
    m->kind = m->units == 0 ? MOVE_NOTHING : m->kind;
}

void move_share(move *m, int threads) {
    enum { SHARES = 4 };
    const bool is_plain = m->kind == MOVE_ROWS || m->kind == MOVE_STRIDED || m->kind == MOVE_CONVERT || m->kind == MOVE_FILL;
    const int64_t wanted = (int64_t)SHARES * threads, steps = (m->sizes[1] + m->block[1] - 1) / m->block[1];
    if (!is_plain || m->units >= wanted) {
        return;
    }
    const int64_t others = m->units / steps, each = (wanted + others - 1) / others;
    m->block[1] = least(m->block[1], m->sizes[1] > each ? m->sizes[1] / each : 1);
    m->units = others * ((m->sizes[1] + m->block[1] - 1) / m->block[1]);
}

static void start(move *m, const box *b, const tensor *dst) {
    size_t size = dtype_size(dst->dtype);
    m->dst_type = m->src_type = dst->dtype;
    m->dst_log2 = m->src_log2 = log2_of(size);
    m->dst = tensor_data(dst) + b->dst_offset * (int64_t)size;
    m->src = NULL;
    m->stream = m->turns_in_steps = m->turns_in_place = m->turns_across = false;
    m->turn_buffers = NULL;
    m->bytes = (double)sizes_numel(b->ndim, b->sizes) * (double)size;
    if (m->bytes >= 4 << 20) { /* smaller boxes leave their lines where the next operator wants them */
        m->stream = tensor_span(dst) * (int64_t)size >= STREAM_MIN_BYTES;
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

/* Whether rows or columns are enough to be turned round: four, or three of which the others lie densely. */
static bool are_enough(const move *m, int64_t n, ptrdiff_t stride) {
    return n >= 4 || (n == 3 && m->src_log2 == m->dst_log2 && stride == (ptrdiff_t)3 << m->dst_log2);
}

/* A dimension along which the source is contiguous goes to place 1, beside the one along which dst is. */
static bool find_turn(move *m) {
    ptrdiff_t size = (ptrdiff_t)1 << m->src_log2;
    if (m->dst_strides[0] != (ptrdiff_t)1 << m->dst_log2 || m->src_strides[0] == size) {
        return false;
    }
    for (int d = 1; d < m->ndim; d++) {
        if (m->src_strides[d] != size || !are_enough(m, m->sizes[0], m->dst_strides[d]) || !are_enough(m, m->sizes[d], m->src_strides[0])) {
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
    bool has_lines = row_bytes >= MOVE_STREAM_ROW && row_bytes < MOVE_BUFFER_BYTES && row_bytes % STREAM_LINE_BYTES == 0;
    for (int i = 2; m->stream && has_lines && i < m->ndim; i++) {
        for (int d = i; d > 1 && m->src_strides[d] > 0 && m->src_strides[d] < m->src_strides[d - 1]; d--) {
            swap_dims(m, d, d - 1);
        }
    }
}

/* Rows that come in turned order go from the source's first to its last: memory is asked ahead upwards, while stores past the caches
   may go either way. */
static void read_upwards(move *m) {
    for (int d = 1; d < m->ndim; d++) {
        if (m->src_strides[d] < 0) {
            m->src += (m->sizes[d] - 1) * m->src_strides[d];
            m->dst += (m->sizes[d] - 1) * m->dst_strides[d];
            m->src_strides[d] = -m->src_strides[d];
            m->dst_strides[d] = -m->dst_strides[d];
        }
    }
}

/* A complex number becomes a real one by its real part. A truth asks for both. */
static void take_real_parts(move *m) {
    if (dtype_is_complex(m->src_type) && !dtype_is_complex(m->dst_type) && m->dst_type != ASSAY_B8) {
        m->src_type = dtype_real(m->src_type);
        m->src_log2--;
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
    take_real_parts(m);
    bool turns = find_turn(m);
    if (m->dst_type != m->src_type) {
        bool mixed = dtype_is_complex(m->dst_type) != dtype_is_complex(m->src_type);
        converter_make(&m->convert, mixed ? dtype_real(m->dst_type) : m->dst_type, mixed ? dtype_real(m->src_type) : m->src_type);
        m->kind = mixed ? MOVE_COMPLEX : turns ? MOVE_CONVERT_TURN : MOVE_CONVERT;
    } else if (turns) {
        m->kind = MOVE_TURN;
    } else {
        bool in_step = m->dst_strides[0] == m->src_strides[0] && m->dst_strides[0] == (ptrdiff_t)size;
        m->kind = in_step ? MOVE_ROWS : MOVE_STRIDED;
        if (in_step) {
            read_upwards(m);
            order_by_source(m);
        }
    }
    set_blocks(m);
}

_Static_assert(TURN_MOST_ROWS / 2 * (TURN_MOST_RUN + 64) <= TURN_BYTES &&
                   TURN_MOST_ROWS * (TURN_MOST_RUN / 2 + 64) <= TURN_BYTES,
               "a tile must fit its buffer");

/* Whether L2 holds a line of each of place_rows source rows, and of each the next, whichever sets their distance puts
   them into. Such rows need not be copied together first, which costs a quarter of the time (8192 x 4096 f32, rows 32 KiB
   apart, Sapphire Rapids, 2026-11). Where a CPU reads ahead in few pages, no next line is there to be lost: on Zen 4, whose L2 has half
   the ways, copying first costs a third to a half (5.8 ms instead of 8.8 there, 5.8 instead of 8.2 with rows 64 KiB apart, 5.7 instead
   of 8.0 with 128 KiB). */
static bool rows_keep_apart(const move *m) {
    if (!cpu_is_intel()) {
        return true;
    }
    int64_t ways = 16, way_bytes = 64 * 1024; /* of 1 MiB */
#if defined(_SC_LEVEL2_CACHE_ASSOC)
    long bytes = sysconf(_SC_LEVEL2_CACHE_SIZE), told = sysconf(_SC_LEVEL2_CACHE_ASSOC);
    if (bytes > 0 && told > 0) {
        ways = told;
        way_bytes = bytes / told;
    }
#endif
    int64_t step = m->src_strides[0] < 0 ? -m->src_strides[0] : m->src_strides[0], left = way_bytes;
    while (left != 0) { /* the greatest common divisor: what the rows' places in a way are multiples of */
        int64_t rest = step % left;
        step = left;
        left = rest;
    }
    int64_t places = way_bytes / (step > STREAM_LINE_BYTES ? step : STREAM_LINE_BYTES);
    return places * ways >= 2 * place_rows(m);
}

/* A buffer for each thread; false: there is no room. */
static bool take(move *m, size_t bytes, arena *memory) {
    m->turn_threads = parallel_threads(m->bytes);
    m->turn_bytes = bytes;
    m->turn_buffers = arena_make(memory, (size_t)m->turn_threads, bytes);
    return m->turn_buffers != NULL;
}

void move_take_buffers(move *m, arena *memory) {
    enum { LEAST_ACROSS = 256 }; /* elements, of either dimension: fewer leave more lines cut than whole */
    if (m->kind != MOVE_TURN || !m->stream) {
        return;
    }
    bool apart = rows_keep_apart(m);
    if (can_turn_in_steps(m)) {
        m->turns_in_place = m->sizes[1] << m->dst_log2 >= LEAST_PLACE_RUN && apart;
        m->turns_in_steps = !m->turns_in_place && take(m, MOVE_TURN_BYTES, memory);
    } else if (apart && m->dst_log2 <= 3 && m->sizes[0] >= LEAST_ACROSS && m->sizes[1] >= LEAST_ACROSS) {
        m->turns_across = take(m, MOVE_REST_COLUMNS * STREAM_LINE_BYTES, memory);
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
    c->stream = c->parts == 1 && to == ASSAY_F64 ? loops->stream_f64[from] : NULL;
    c->middle_bytes = 8;
    bool wide_from = from == ASSAY_I64 || from == ASSAY_I32, wide_to = to == ASSAY_I64 || to == ASSAY_I32;
    if (to == ASSAY_B8 && loops->to_b8[from] != NULL) {
        c->first = loops->to_b8[from];
    } else if (from == ASSAY_F32 || from == ASSAY_F64 || from == ASSAY_I64) {
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
    double middle[MOVE_BUFFER_BYTES / sizeof(double)];
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
