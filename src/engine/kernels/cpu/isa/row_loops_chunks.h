/* SPDX-License-Identifier: Apache-2.0 */
/* Template, part of row_loops_real.h: a chunk of a row of row_loops_columns.h. `t` as in row_loops_pairs.h. */

/* A block is gone over two lines of the computing type of a group of rows at a time, which are in registers: in larger portions reading,
   computing and storing wait for each other. */
enum { CHUNK = COLUMNS_CHUNK_BYTES / sizeof(value), CHUNK_PAIRS = CHUNK / PAIR, KEPT_AHEAD = 4 /* rows */ };

typedef struct chunk {
    pair p[CHUNK_PAIRS];
} chunk;

#define EACH_PAIR(q) for (int q = 0; q < CHUNK_PAIRS; q++)

/* What is kept of a block: exponentials, else what was read, as it was read. */
static inline __attribute__((always_inline)) dtype kept_type(columns_kind kind, dtype t) {
    return kind == COLUMNS_SOFTMAX ? row_native : t;
}

/* A chunk's CHUNK elements. Where rows begin within lines, chunks are read from any place and are in order; else as row_pair has
   them, and all that goes with a chunk's columns is in the same order. */
static inline __attribute__((always_inline)) chunk chunk_at(dtype t, bool in_order, const void *at) {
    chunk c;
    EACH_PAIR(q) {
        c.p[q] = in_order ? row_pair_in_order(t, row_at(t, at, q * PAIR)) : row_pair(t, at, q * PAIR);
    }
    return c;
}

static inline __attribute__((always_inline)) void chunk_set(dtype t, bool in_order, void *to, chunk c, bool lines) {
    EACH_PAIR(q) {
        if (in_order) {
            row_set_pair_in_order(t, row_to(t, to, q * PAIR), c.p[q], lines);
        } else {
            row_set_pair(t, to, q * PAIR, c.p[q], lines);
        }
    }
}

/* Of numbers of the computing type. */
static inline __attribute__((always_inline)) chunk numbers_at(const void *at) {
    return chunk_at(row_native, false, at);
}

/* Pack by pack: gcc 12 puts a chunk together on the stack to move it as one. */
static inline __attribute__((always_inline)) void numbers_set(void *to, chunk c) {
    EACH_PAIR(q) {
        memcpy((value *)to + q * PAIR, &c.p[q].a, sizeof c.p[q].a);
        memcpy((value *)to + q * PAIR + PACK, &c.p[q].b, sizeof c.p[q].b);
    }
}

static inline __attribute__((always_inline)) chunk chunk_of(value x) {
    chunk c;
    EACH_PAIR(q) {
        c.p[q] = pair_of(x);
    }
    return c;
}

static inline __attribute__((always_inline)) chunk chunk_plus(chunk c, chunk d) {
    EACH_PAIR(q) {
        c.p[q] = (pair){c.p[q].a + d.p[q].a, c.p[q].b + d.p[q].b};
    }
    return c;
}

static inline __attribute__((always_inline)) chunk chunk_product(chunk c, chunk d) {
    EACH_PAIR(q) {
        c.p[q] = (pair){c.p[q].a * d.p[q].a, c.p[q].b * d.p[q].b};
    }
    return c;
}

static inline __attribute__((always_inline)) chunk chunk_most(chunk c, chunk d) {
    EACH_PAIR(q) {
        c.p[q] = (pair){pack_most(c.p[q].a, d.p[q].a), pack_most(c.p[q].b, d.p[q].b)};
    }
    return c;
}

/* c, as it was read from `from`. */
static inline __attribute__((always_inline)) void chunk_keep(dtype t, void *to, const void *from, chunk c) {
    if (row_is_half(t)) {
        memcpy(to, from, (size_t)(CHUNK * row_size(t)));
    } else {
        numbers_set(to, c);
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

#if !defined(PACK_QUICK_EXP) /* never asked for */
typedef pack quick_exp;
typedef pack quick_exp_top;

static inline bool quick_exp_reaches(pack shift) {
    (void)shift;
    return false;
}

static inline pack quick_exp_shift(pack shift) {
    return shift;
}

static inline quick_exp quick_exp_by(dtype t, pack shift) {
    (void)t;
    return shift;
}

static inline pack quick_exp_pack(dtype t, const quick_exp *e, pack p, quick_exp_top *top) {
    (void)t;
    (void)top;
    return p - *e;
}

static inline bool quick_exp_is_beyond(quick_exp_top top) {
    (void)top;
    return false;
}
#endif

/* What exponentials of a chunk's columns are less by, for quick_exp. */
typedef struct chunk_quick {
    quick_exp a[CHUNK_PAIRS], b[CHUNK_PAIRS];
} chunk_quick;

static inline __attribute__((always_inline)) chunk chunk_quick_exps(dtype t, const chunk_quick *quick, chunk c, quick_exp_top *top) {
    EACH_PAIR(q) {
        c.p[q] = (pair){quick_exp_pack(t, &quick->a[q], c.p[q].a, top), quick_exp_pack(t, &quick->b[q], c.p[q].b, top)};
    }
    return c;
}

static inline __attribute__((always_inline)) bool chunk_is_near(dtype t, chunk shift) {
    bool reaches = row_is_half(t);
    EACH_PAIR(q) {
        reaches = reaches && quick_exp_reaches(shift.p[q].a) && quick_exp_reaches(shift.p[q].b);
    }
    return reaches;
}

/* A shift that quick_exp can have, where it reaches all. */
static inline __attribute__((always_inline)) chunk chunk_near_shift(dtype t, chunk shift) {
    const bool reaches = chunk_is_near(t, shift);
    EACH_PAIR(q) {
        shift.p[q] = reaches ? (pair){quick_exp_shift(shift.p[q].a), quick_exp_shift(shift.p[q].b)} : shift.p[q];
    }
    return shift;
}

/* False: it has another shift, as where a group's exponentials were taken again. */
static inline __attribute__((always_inline)) bool chunk_quick_of(dtype t, chunk shift, chunk_quick *quick) {
    if (!chunk_is_near(t, shift)) {
        return false;
    }
    chunk near = chunk_near_shift(t, shift);
    EACH_PAIR(q) {
        quick->a[q] = quick_exp_by(t, shift.p[q].a);
        quick->b[q] = quick_exp_by(t, shift.p[q].b);
    }
    return memcmp(&near, &shift, sizeof near) == 0;
}

static inline __attribute__((always_inline)) chunk chunk_exps(dtype t, chunk c, chunk shift) {
    EACH_PAIR(q) {
        c.p[q] = (pair){columns_exp(t, c.p[q].a - shift.p[q].a), columns_exp(t, c.p[q].b - shift.p[q].b)};
    }
    return c;
}

/* One exponential of a number and a shift, whichever loop asks for it, to the last bit: what is taken off their sums again is to leave
   nothing. */
static inline __attribute__((always_inline)) chunk chunk_same_exps(dtype t, chunk c, chunk shift) {
    chunk_quick quick;
    quick_exp_top top = {0};
    return chunk_quick_of(t, shift, &quick) ? chunk_quick_exps(t, &quick, c, &top) : chunk_exps(t, c, shift);
}

static inline __attribute__((always_inline)) void columns_scale_of(dtype t, void *to, const void *x, const void *a, const void *b,
                                                                   int64_t n) {
    for (int64_t i = 0; i < n; i += CHUNK) {
        size_t bytes = (size_t)(n - i < CHUNK ? n - i : CHUNK) * sizeof(value);
        value factor[CHUNK] = {0}, from[CHUNK] = {0}, less[CHUNK] = {0};
        memcpy(factor, (const value *)x + i, bytes);
        memcpy(from, (const value *)a + i, bytes);
        memcpy(less, (const value *)b + i, bytes);
        numbers_set(from, chunk_product(numbers_at(factor), chunk_same_exps(t, numbers_at(from), numbers_at(less))));
        memcpy((value *)to + i, from, bytes);
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
