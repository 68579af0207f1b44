/* SPDX-License-Identifier: Apache-2.0 */
/* Template, part of row_loops_real.h: rows of the computing type or, where that is float, of f16 or bf16, which are widened and
   narrowed in registers. `t` is a constant wherever these functions are inlined.

   Rows go by pairs of packs. Of bf16 the first pack holds the elements of even places, the second those of odd ones: to widen and to
   narrow them takes no instruction that moves numbers between lanes, of which the CPU starts one a cycle. What else a loop reads for
   each element, in the computing type, lies in the same order (row_beside). */

static const dtype row_native = ASSAY_F64; /* stands for the computing type, whichever that is */

typedef struct pair {
    pack a, b;
} pair;

enum { PAIR = 2 * PACK };

static inline __attribute__((always_inline)) bool row_is_half(dtype t) {
#if defined(ROW_HALVES)
    return t == ASSAY_BF16 || t == ASSAY_F16;
#else
    (void)t;
    return false;
#endif
}

/* Does `call`, in which t is the rows' type as a constant. */
#define BY_ROW_TYPE(type, call)                                                                                               \
    do {                                                                                                                      \
        if (row_is_half(type) && (type) == ASSAY_BF16) {                                                                      \
            const dtype t = ASSAY_BF16;                                                                                       \
            call;                                                                                                             \
        } else if (row_is_half(type)) {                                                                                       \
            const dtype t = ASSAY_F16;                                                                                        \
            call;                                                                                                             \
        } else {                                                                                                              \
            const dtype t = row_native;                                                                                       \
            call;                                                                                                             \
        }                                                                                                                     \
    } while (0)

static inline __attribute__((always_inline)) int64_t row_size(dtype t) {
    return row_is_half(t) ? 2 : (int64_t)sizeof(value);
}

static inline __attribute__((always_inline)) const void *row_at(dtype t, const void *row, int64_t i) {
    return (const char *)row + i * row_size(t);
}

static inline __attribute__((always_inline)) void *row_to(dtype t, void *row, int64_t i) {
    return (char *)row + i * row_size(t);
}

/* A number for all elements of a row. */
static inline value row_number(double x) {
    return x == x ? (value)x : (value)NAN;
}

/* The PAIR elements from place i on of a row of type t. */
static inline __attribute__((always_inline)) pair row_pair(dtype t, const void *row, int64_t i) {
#if defined(ROW_HALVES)
    if (row_is_half(t)) {
        float_pair p = float_pair_at(t, row_at(t, row, i));
        return (pair){p.a, p.b};
    }
#endif
    const value *x = row_at(t, row, i);
    return (pair){pack_at(x), pack_at(x + PACK)};
}

/* And back; line: past the caches, to where whole lines of memory go. Halves are rounded to nearest; ties, which softmax and norms have by
   chance, may go away from 0. */
static inline __attribute__((always_inline)) void row_set_pair(dtype t, void *row, int64_t i, pair p, bool line) {
    char *to = row_to(t, row, i);
#if defined(ROW_HALVES)
    if (row_is_half(t)) {
        half_bits made = half_bits_near(t, (float_pair){p.a, p.b});
        line ? stream_registers(to, &made, sizeof made) : (void)memcpy(to, &made, sizeof made);
        return;
    }
#endif
    (void)t;
    if (line) {
        stream_registers(to, &p.a, sizeof p.a);
        stream_registers(to + sizeof p.a, &p.b, sizeof p.b);
    } else {
        memcpy(to, &p.a, sizeof p.a);
        memcpy(to + sizeof p.a, &p.b, sizeof p.b);
    }
}

/* The same of the PAIR elements at `at`, in the order that they lie in: for bf16 a few instructions more. */
static inline __attribute__((always_inline)) pair row_pair_in_order(dtype t, const void *at) {
#if defined(ROW_HALVES)
    if (t == ASSAY_BF16) {
        half_bits x;
        memcpy(&x, at, sizeof x);
        float_pair p = float_pair_in_order(t, x);
        return (pair){p.a, p.b};
    }
#endif
    return row_pair(t, at, 0);
}

static inline __attribute__((always_inline)) void row_set_pair_in_order(dtype t, void *to, pair p, bool line) {
#if defined(ROW_HALVES)
    if (t == ASSAY_BF16) {
        half_words made[] = {__builtin_convertvector(bf16_near_places(p.a) >> 16, half_words),
                             __builtin_convertvector(bf16_near_places(p.b) >> 16, half_words)};
        line ? stream_registers(to, made, sizeof made) : (void)memcpy(to, made, sizeof made);
        return;
    }
#endif
    row_set_pair(t, to, 0, p, line);
}

static inline __attribute__((always_inline)) pair pair_of(value x) {
    return (pair){(pack){0} + x, (pack){0} + x};
}

/* p's first m <= PAIR elements, and `rest` behind them. */
static inline pair pair_first(dtype t, pair p, int64_t m, value rest) {
    value place[PAIR];
    for (int k = 0; k < PACK; k++) {
        place[k] = (value)(t == ASSAY_BF16 ? 2 * k : k);
        place[PACK + k] = (value)(t == ASSAY_BF16 ? 2 * k + 1 : PACK + k);
    }
    pair others = pair_of(rest);
    return (pair){pack_choose(pack_at(place) < (value)m, p.a, others.a), pack_choose(pack_at(place + PACK) < (value)m, p.b, others.b)};
}

/* Of a row's end: m <= PAIR elements from place i on, and zeros behind them. */
static inline pair row_pair_first(dtype t, const void *row, int64_t i, int64_t m) {
    if (m == PAIR) {
        return row_pair(t, row, i);
    }
    value some[PAIR] = {0};
    memcpy(some, row_at(t, row, i), (size_t)(m * row_size(t)));
    return row_pair(t, some, 0);
}

/* Whether PAIR elements may be whole lines. */
static inline __attribute__((always_inline)) bool pairs_have_lines(dtype t) {
    return PAIR * row_size(t) >= STREAM_LINE;
}

/* m <= PAIR elements of p; past: whole lines among them go past the caches, and what is none may wait at the edge. */
static inline void row_set_first(dtype t, void *row, int64_t i, pair p, int64_t m, bool past, row_edge *edge) {
    value some[PAIR];
    if (m == PAIR && past && (uintptr_t)row_to(t, row, i) % STREAM_LINE == 0 && pairs_have_lines(t)) {
        row_set_pair(t, row, i, p, true);
        return;
    }
    row_set_pair(t, some, 0, p, false);
    if (past && pairs_have_lines(t) && edge != NULL) {
        stream_with_edge(edge, row_to(t, row, i), (const char *)some, m * row_size(t));
    } else if (past && pairs_have_lines(t)) {
        stream_bytes(row_to(t, row, i), some, (size_t)(m * row_size(t)));
    } else {
        memcpy(row_to(t, row, i), some, (size_t)(m * row_size(t)));
    }
}

/* Elements of a row of n up to the first that begins a line of memory, which rows that stay in caches need not. */
static inline int64_t row_head(dtype t, const void *to, int64_t n, bool past) {
    if (!past) {
        return 0;
    }
    int64_t head = (int64_t)(-(uintptr_t)to & (STREAM_LINE - 1)) / row_size(t);
    return head < n ? head : n;
}

/* Numbers of the computing type that go with a row's elements, from `from` on, in a room of row_beside_room(n): the pair that goes
   with the elements from place from + i on, where i is a multiple of PAIR. */
typedef struct beside {
    value *a, *b;
} beside;

static inline __attribute__((always_inline)) beside beside_from(dtype t, const void *room, int64_t n, int64_t from) {
    int64_t a = row_beside(t, from, n), b = t == ASSAY_BF16 ? row_beside(t, from + 1, n) : from + PACK;
    uintptr_t at = (uintptr_t)room; /* which may be NULL, where there is none */
    return (beside){(value *)(at + (uintptr_t)a * sizeof(value)), (value *)(at + (uintptr_t)b * sizeof(value))};
}

static inline __attribute__((always_inline)) pair beside_pair(dtype t, const beside *s, int64_t i) {
    int64_t at = t == ASSAY_BF16 ? i / 2 : i;
    return (pair){pack_at(s->a + at), pack_at(s->b + at)};
}

static inline __attribute__((always_inline)) void beside_set(dtype t, const beside *s, int64_t i, pair p) {
    int64_t at = t == ASSAY_BF16 ? i / 2 : i;
    memcpy(s->a + at, &p.a, sizeof p.a);
    memcpy(s->b + at, &p.b, sizeof p.b);
}

/* How memory further on is asked for: the CPU itself reads ahead within a page only. Lines near by come to L1, which has room for a few under
   way. So Zen 4 has them come to L2, from far ahead: over 32768 rows of 1024 numbers the gradient of layer norm then takes 10.6 ms
   instead of 12.5 in f32, that of softmax 5.0 instead of 6.4 in bf16 (two cores, 2026-11). A Zen 5 takes 0.9 to 0.95 of the time
   with lines near by; twice as far ahead as an Intel has them, layer norm takes 3.1 ms instead of 3.3, its gradient 5.3 instead of 5.9 and
   log_softmax over 30522 classes 2.7 instead of 3.1 where memory reads 90 GB/s, and no longer where it reads 50. */
typedef enum row_asking { ASK_LINES, ASK_NEAR_LINES, ASK_FAR_LINES } row_asking;

enum { ROW_AHEAD_BYTES = 4096, ROW_NEAR_BYTES = 2048, ROW_FAR_BYTES = 16 << 10 };

static inline row_asking row_asks(void) {
    return !cpu_asks_along() ? ASK_FAR_LINES : cpu_is_intel() ? ASK_NEAR_LINES : ASK_LINES;
}

/* Elements [i, end) of the row that lies so far on. */
static inline void row_ask_rest(dtype t, const void *row, int64_t i, int64_t end, row_asking way) {
    const uintptr_t last = (uintptr_t)row_at(t, row, end);
    for (uintptr_t at = (uintptr_t)row_at(t, row, i); at < last; at += STREAM_LINE) {
        if (way == ASK_FAR_LINES) {
            __builtin_prefetch((const char *)(at + ROW_FAR_BYTES), 0, 2);
        } else {
            __builtin_prefetch((const char *)(at + (way == ASK_LINES ? ROW_AHEAD_BYTES : ROW_NEAR_BYTES)));
        }
    }
}

/* The PAIR elements that lie so many bytes on, to come to L2; it may be outside. */
static inline __attribute__((always_inline)) void row_ask_at(dtype t, const void *row, int64_t i, int64_t ahead_bytes) {
    for (int64_t k = 0; k < PAIR * row_size(t); k += STREAM_LINE) {
        __builtin_prefetch((const char *)((uintptr_t)row_at(t, row, i) + (uintptr_t)(ahead_bytes + k)), 0, 2);
    }
}

/* The PAIR elements that lie so far on; it may be outside. */
static inline __attribute__((always_inline)) void row_ask(dtype t, const void *row, int64_t i, row_asking way) {
    uintptr_t at = (uintptr_t)row_at(t, row, i);
    if (!pairs_have_lines(t) && (int64_t)(at % STREAM_LINE) >= PAIR * row_size(t)) {
        return; /* it was, with what lies before it */
    }
    for (int64_t k = 0; k < PAIR * row_size(t); k += STREAM_LINE) {
        if (way == ASK_FAR_LINES) {
            __builtin_prefetch((const char *)(at + ROW_FAR_BYTES + (uintptr_t)k), 0, 2);
        } else {
            __builtin_prefetch((const char *)(at + (way == ASK_LINES ? ROW_AHEAD_BYTES : ROW_NEAR_BYTES) + (uintptr_t)k));
        }
    }
}
