/* SPDX-License-Identifier: Apache-2.0 */
/* Template, part of row_loops_real.h: a chunk of a row of row_loops_columns.h. `t` as in row_loops_pairs.h. */

/* A block is gone over two packs of a group of rows at a time: in larger portions reading, computing and storing wait for each
   other. */
enum { CHUNK = PAIR, KEPT_AHEAD = 4 /* rows */ };

/* What is kept of a block: exponentials, else what was read, as it was read. */
static inline __attribute__((always_inline)) dtype kept_type(columns_kind kind, dtype t) {
    return kind == COLUMNS_SOFTMAX ? row_native : t;
}

/* A chunk's CHUNK elements. Where rows begin within lines, chunks are read from any place and are in order; else as row_pair has
   them, and all that goes with a chunk's columns is in the same order. */
static inline __attribute__((always_inline)) pair chunk_at(dtype t, bool in_order, const void *at) {
    return in_order ? row_pair_in_order(t, at) : row_pair(t, at, 0);
}

static inline __attribute__((always_inline)) void chunk_set(dtype t, bool in_order, void *to, pair p, bool lines) {
    if (in_order) {
        row_set_pair_in_order(t, to, p, lines);
    } else {
        row_set_pair(t, to, 0, p, lines);
    }
}

/* Of numbers of the computing type. */
static inline __attribute__((always_inline)) pair pair_at(const void *at) {
    return row_pair(row_native, at, 0);
}

static inline __attribute__((always_inline)) void pair_set(void *to, pair p) {
    memcpy(to, &p.a, sizeof p.a);
    memcpy((char *)to + sizeof p.a, &p.b, sizeof p.b);
}

/* p, as it was read from `from`. */
static inline __attribute__((always_inline)) void chunk_keep(dtype t, void *to, const void *from, pair p) {
    if (row_is_half(t)) {
        memcpy(to, from, (size_t)(CHUNK * row_size(t)));
    } else {
        pair_set(to, p);
    }
}

static inline __attribute__((always_inline)) void chunk_ask(dtype t, const void *at) {
    for (int64_t i = 0; i < CHUNK * row_size(t); i += STREAM_LINE) {
        __builtin_prefetch((const char *)((uintptr_t)at + (uintptr_t)i)); /* it may lie outside */
    }
}

/* The same, to come to L2 where it is far. */
static inline __attribute__((always_inline)) void chunk_ask_far(dtype t, const void *at, bool is_far) {
    for (int64_t i = 0; i < CHUNK * row_size(t); i += STREAM_LINE) {
        const char *line = (const char *)((uintptr_t)at + (uintptr_t)i);
        is_far ? __builtin_prefetch(line, 0, 2) : __builtin_prefetch(line);
    }
}

static inline __attribute__((always_inline)) pack columns_exp(dtype t, pack p) {
#if defined(PACK_EXP_HALF)
    if (row_is_half(t)) {
        return exp2_half_pack(t, p * (value)0x1.715476p+0);
    }
#endif
    (void)t;
    return exp_shifted_pack(p);
}

#if !defined(PACK_F16_EXP) /* never asked for */
typedef pack f16_exp;
typedef pack f16_exp_top;

static inline bool f16_exp_reaches(pack shift) {
    (void)shift;
    return false;
}

static inline pack f16_exp_shift(pack shift) {
    return shift;
}

static inline f16_exp f16_exp_by(pack shift) {
    return shift;
}

static inline pack f16_exp_pack(const f16_exp *e, pack p, f16_exp_top *top) {
    (void)top;
    return p - *e;
}

static inline bool f16_exp_is_beyond(f16_exp_top top) {
    (void)top;
    return false;
}
#endif

/* What exponentials of a chunk's columns are less by, for f16_exp. */
typedef struct chunk_quick {
    f16_exp a, b;
} chunk_quick;

/* A shift that f16_exp can have, where it reaches all. */
static inline __attribute__((always_inline)) pair chunk_near_shift(dtype t, pair shift) {
    if (t == ASSAY_F16 && f16_exp_reaches(shift.a) && f16_exp_reaches(shift.b)) {
        return (pair){f16_exp_shift(shift.a), f16_exp_shift(shift.b)};
    }
    return shift;
}

/* False: it has another shift, as where a group's exponentials were taken again. */
static inline __attribute__((always_inline)) bool chunk_quick_of(dtype t, pair shift, chunk_quick *q) {
    if (t != ASSAY_F16 || !f16_exp_reaches(shift.a) || !f16_exp_reaches(shift.b)) {
        return false;
    }
    pair near = chunk_near_shift(t, shift);
    *q = (chunk_quick){f16_exp_by(shift.a), f16_exp_by(shift.b)};
    return memcmp(&near, &shift, sizeof near) == 0;
}

/* By the same exponentials as those of the steps, to the last bit: what is taken off their sums again is to leave nothing. */
static inline __attribute__((always_inline)) void columns_scale_of(dtype t, void *to, const void *x, const void *a, const void *b,
                                                                   int64_t n) {
    for (int64_t i = 0; i < n; i += PACK) {
        size_t bytes = (size_t)(n - i < PACK ? n - i : PACK) * sizeof(value);
        pack factor = {0}, from = {0}, less = {0};
        memcpy(&factor, (const value *)x + i, bytes);
        memcpy(&from, (const value *)a + i, bytes);
        memcpy(&less, (const value *)b + i, bytes);
        pack scaled = factor * columns_exp(t, from - less);
        memcpy((value *)to + i, &scaled, bytes);
    }
}

static void columns_scale(dtype t, void *to, const void *x, const void *a, const void *b, int64_t n) {
    if (row_is_half(t) && t == ASSAY_BF16) {
        columns_scale_of(ASSAY_BF16, to, x, a, b, n);
    } else if (row_is_half(t)) {
        columns_scale_of(ASSAY_F16, to, x, a, b, n);
    } else {
        columns_scale_of(row_native, to, x, a, b, n);
    }
}
