/* SPDX-License-Identifier: Apache-2.0 */
/* Template, part of row_loops_real.h: groups of group norm whose channels lie one behind the other, past the caches. Each is one row for its sums,
   and for its result too but that the numbers it is made with change from channel to channel: what of short rows takes longest is to begin
   and to end them. One group is read while the one before it is finished from where it lies, in L2. */

enum { GROUP_BLOCK = 2 * PAIR };

static inline __attribute__((always_inline)) pair group_scaled(pair p, value factor, value plus) {
    return (pair){p.a * factor + plus, p.b * factor + plus};
}

/* Where in its channels the group that is finished stands. */
typedef struct group_place {
    int64_t channel, left; /* elements */
    value factor, plus;
} group_place;

static inline group_place group_place_at(const group_step *s, int64_t i) {
    const int64_t last = s->n / s->row - 1, c = i / s->row < last ? i / s->row : last;
    return (group_place){c, (c + 1) * s->row - i, row_number(s->factor[c]), row_number(s->plus[c])};
}

/* The elements from i on of the group that is finished, which may be of several channels, or lie past its end. */
static inline pair group_mixed(dtype t, const group_step *s, pair p, int64_t i) {
    group_place place = group_place_at(s, i);
    if (place.left >= PAIR) {
        return group_scaled(p, place.factor, place.plus);
    }
    value factor[PAIR], plus[PAIR];
    for (int64_t k = 0; k < PAIR; k++) {
        const int64_t at = t == ASSAY_BF16 ? k % 2 * PACK + k / 2 : k;
        if (place.left == 0) {
            place = group_place_at(s, i + k);
        }
        factor[at] = place.factor;
        plus[at] = place.plus;
        place.left--;
    }
    return (pair){p.a * pack_at(factor) + pack_at(plus), p.b * pack_at(factor + PACK) + pack_at(plus + PACK)};
}

static inline void group_rest(dtype t, const group_step *s, int64_t i, int64_t end) {
    for (int64_t m; i < end; i += m) {
        m = end - i < PAIR ? end - i : PAIR;
        row_set_first(t, s->to, i, group_mixed(t, s, row_pair_first(t, s->from, i, m), i), m, true, s->edge);
    }
}

/* Asks for the PAIR elements that lie so far on; it may be outside. [64, 512, 32, 32] floats take two cores of a Zen 5 4.9 ms so, and 5.1 from
   half as far. */
static inline __attribute__((always_inline)) void group_ask(dtype t, const void *x, int64_t i) {
    enum { AHEAD_BYTES = ROW_AHEAD_BYTES };
    for (int64_t k = 0; k < PAIR * row_size(t); k += STREAM_LINE) {
        __builtin_prefetch((const char *)((uintptr_t)row_at(t, x, i) + AHEAD_BYTES + (uintptr_t)k));
    }
}

static inline __attribute__((always_inline)) void group_with(group_step *s, dtype t, bool reads, bool stores) {
    const void *x = s->x, *from = s->from;
    void *to = s->to;
    const value centre = (value)s->centre;
    const int64_t n = s->n, head = row_head(t, x, n, true), to_head = row_head(t, to, n, true);
    const int64_t end = (n - layer_larger(head, to_head)) / GROUP_BLOCK * GROUP_BLOCK;
    group_place place = {0};
    double sum = 0, squares = 0;
    if (stores) {
        place = group_place_at(s, to_head);
    }
    for (int64_t i = 0; i < end;) {
        int64_t stop = end - i < SUM_BLOCK ? end : i + SUM_BLOCK;
        layer_moments sums = {pair_of(0), pair_of(0)};
        for (; i < stop; i += GROUP_BLOCK) {
            pair made[GROUP_BLOCK / PAIR] = {{.a = {0}, .b = {0}}};
            const bool is_one = place.left >= GROUP_BLOCK;
            for (int k = 0; stores && k < GROUP_BLOCK; k += PAIR) {
                pair p = row_pair(t, from, to_head + i + k);
                made[k / PAIR] = is_one ? group_scaled(p, place.factor, place.plus) : group_mixed(t, s, p, to_head + i + k);
            }
            place.left -= GROUP_BLOCK;
            if (stores && place.left <= 0) {
                place = group_place_at(s, to_head + i + GROUP_BLOCK);
            }
            for (int k = 0; reads && k < GROUP_BLOCK; k += PAIR) {
                pair p = row_pair(t, x, head + i + k);
                group_ask(t, x, head + i + k);
                layer_add(&sums, (pair){p.a - centre, p.b - centre});
            }
            for (int k = 0; stores && k < GROUP_BLOCK; k += PAIR) {
                row_set_pair(t, to, to_head + i + k, made[k / PAIR], true);
            }
        }
        sum += (double)pack_sum(sums.sum.a + sums.sum.b);
        squares += (double)pack_sum(sums.squares.a + sums.squares.b);
    }
    if (stores) {
        group_rest(t, s, 0, to_head);
        group_rest(t, s, to_head + end, n);
    }
    if (reads) {
        layer_ends(t, x, centre, head, head + end, n, &sum, &squares);
    }
    s->sum = sum;
    s->squares = squares;
}

static inline __attribute__((always_inline)) void group_stream_of(group_step *s, dtype t) {
    if (s->x != NULL && s->to != NULL) {
        group_with(s, t, true, true);
    } else if (s->x != NULL) {
        group_with(s, t, true, false);
    } else {
        group_with(s, t, false, true);
    }
}

static void group_stream(group_step *s) {
    BY_ROW_TYPE(s->type, group_stream_of(s, t));
}
