/* SPDX-License-Identifier: Apache-2.0 */
/* Lanes that look beside themselves, as a convolution's windows and what is padded do: most stay inside of what they look at, and
   are a loop of their own which asks nothing. Compilers make each question a mask, which costs more than what is computed. */
#include "engine/compile/emit/inside.h"

#include "engine/compile/emit/facts.h"
#include "engine/compile/emit/fetching.h"
#include "engine/compile/emit/lane_ranges.h"
#include "engine/compile/emit/values.h"
#include "engine/compile/emit/wants.h"
#include "engine/compile/emit/writing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Shorter loops are not worth three texts. Where lanes may be computed twice they go by so many, the last ones so that none is left
   over: for those compilers write code that takes one after the other, with branches. LEAST_DIAGONAL: where lanes are parted at a place of
   its own in each row; LEAST_STEPPED: the same where they look at every second element or fewer, each behind a mask else. */
enum { LEAST_LANES = 16, TOGETHER = 16, LEAST_DIAGONAL = 64, LEAST_STEPPED = 32 };

/* Values of the vector variable, and what else must hold, for all the conditions that can be certain. */
typedef struct inside {
    int64_t first, last;
    text condition;
    int only; /* the condition, where there is but this one, which fails wherever the rest does not hold; -1 */
} inside;

static int64_t divide_up(int64_t a, int64_t b) {
    return a > 0 ? (a + b - 1) / b : -(-a / b);
}

static int64_t divide_down(int64_t a, int64_t b) {
    return -divide_up(-a, b);
}

/* Once. */
static void add_condition(emitter *m, inside *in, const view_bound *b, const char *compares, int64_t with) {
    text one = {0};
    text_add(&one, "(");
    emit_index(m, &one, b->at, -1);
    text_addf(&one, " %s %lld)", compares, (long long)with);
    if (strstr(text_get(&in->condition), text_get(&one)) == NULL) {
        text_addf(&in->condition, "%s%s", in->condition.length > 0 ? " & " : "", text_get(&one));
    }
    in->condition.failed |= one.failed;
    text_clear(&one);
}

static void add_bounds(emitter *m, const expr *e, inside *in) {
    for (int i = 0; i < e->n_bounds; i++) {
        const view_bound *b = &e->bounds[i];
        int64_t low, high;
        index_range(b->at, &low, &high);
        if (emit_is_diagonal(m, b)) {
            continue; /* it differs from row to row */
        }
        if (emit_goes_with_lanes(m, b)) {
            int64_t factor = b->at.terms[0].factor;
            int64_t first = b->low > INT64_MIN ? divide_up(b->low - b->at.constant, factor) : 0;
            int64_t last = b->high < INT64_MAX ? divide_down(b->high - b->at.constant, factor) : in->last;
            in->first = first > in->first ? first : in->first;
            in->last = last < in->last ? last : in->last;
            continue;
        }
        if (low < b->low) {
            add_condition(m, in, b, ">=", b->low);
        }
        if (high > b->high) {
            add_condition(m, in, b, "<=", b->high);
        }
    }
}

/* Of a condition that can be certain; it may have a name from before these lanes. */
static void add_certain(emitter *m, int i, inside *in) {
    const expr *e = &m->k->exprs[i];
    if (e->kind == EXPR_WITHIN) {
        add_bounds(m, e, in);
        return;
    }
    add_certain(m, e->sources[0], in);
    add_certain(m, e->sources[1], in);
}

/* Whether what so many lanes need has loads behind conditions that can be certain. */
static bool find_certain(emitter *m, int64_t size, inside *in) {
    const kernel *k = m->k;
    *in = (inside){.last = size - 1, .only = -1};
    bool any = false, several = false;
    m->inside = true;
    for (int i = 0; i < k->n_exprs; i++) {
        const expr *e = &k->exprs[i];
        if (!m->wanted[i] || m->named[i] || m->turned[i] || m->widened[i]) {
            continue;
        }
        bool chooses = e->kind == EXPR_MAP && e->fn == FN_SELECT;
        int condition = e->kind == EXPR_LOAD ? e->guard : chooses ? e->sources[0] : i;
        if (condition >= 0 && emit_is_certain(m, condition)) {
            add_certain(m, condition, in);
            any |= e->kind == EXPR_LOAD;
            several |= k->exprs[condition].kind != EXPR_WITHIN || (in->only >= 0 && in->only != condition);
            in->only = condition;
        }
    }
    m->inside = false;
    in->only = several ? -1 : in->only;
    in->first = in->first < size ? in->first : size;
    in->last = in->last >= in->first ? in->last : in->first - 1;
    return any;
}

/* Whether a phase's lanes may be taken in parts. */
static bool may_part(const kernel *k, int phase) {
    bool may = true;
    for (int i = 0; i < k->n_roots; i++) {
        root_kind kind = k->roots[i].kind;
        may &= k->roots[i].phase != phase || (kind != ROOT_SCAN && kind != ROOT_SCATTER && kind != ROOT_COLUMNS);
    }
    return may;
}

/* The same for half of all lanes and more. */
static bool find_inside(emitter *m, int phase, inside *in) {
    const kernel *k = m->k;
    int64_t size = k->variables[k->vector].size;
    if (!may_part(k, phase)) {
        return false;
    }
    bool any = find_certain(m, size, in);
    in->only = k->has_classes ? -1 : in->only;
    return any && size >= LEAST_LANES && 2 * (in->last - in->first + 1) >= size;
}

bool emit_find_inside(emitter *m, int64_t size, int64_t *first, int64_t *last, text *condition, int *only) {
    inside in = {0};
    bool found = find_certain(m, size, &in);
    *first = in.first;
    *last = in.last;
    *condition = in.condition;
    *only = in.only;
    return found;
}

/* Whether a range is all there is of the vector variable. */
static bool is_whole(const emitter *m, const lane_range *range) {
    int64_t size = m->k->variables[m->k->vector].size;
    return m->k->lanes >= size && strcmp(range->first, "0") == 0 && strtoll(range->last, NULL, 10) == size;
}

static void emit_part(emitter *m, int phase, const lane_range *range, bool is_inside) {
    m->inside = is_inside;
    emit_plain_range(m, phase, range);
    m->inside = false;
}

/* Lanes that are not all inside: with their conditions, or without what fails in all of them. */
static void emit_outside(emitter *m, int phase, const lane_range *range, int never) {
    size_t n = (size_t)m->k->n_exprs;
    bool *wanted = never >= 0 ? malloc(n + 1) : NULL;
    if (never >= 0 && wanted == NULL) {
        m->out.failed = true;
        return;
    }
    if (never >= 0) {
        memcpy(wanted, m->wanted, n);
        m->never = never;
        emit_want_phase(m, phase);
    }
    emit_plain_range(m, phase, range);
    if (never >= 0) {
        memcpy(m->wanted, wanted, n);
        m->never = -1;
    }
    free(wanted);
}

/* The lanes inside, which `from` counts, from inner_first to before inner_last. */
static void emit_inner(emitter *m, int phase, const lane_range *range, const char *inner_first, const char *inner_last, bool together) {
    if (together) {
        emit_line(m, "for (int64_t block = %s; block < %s; block += %d) {", inner_first, inner_last, TOGETHER);
        m->depth++;
        emit_line(m, "const int64_t block_first = block + %d <= %s ? block : %s - %d;", TOGETHER, inner_last, inner_last, TOGETHER);
        emit_part(m, phase, &(lane_range){"block_first", NULL, range->from, TOGETHER, false}, true);
        m->depth--;
        emit_line(m, "}");
    } else {
        emit_part(m, phase, &(lane_range){inner_first, inner_last, range->from, 0, false}, true);
    }
}

/* All lanes that there are, where one condition decides: it is known beforehand which are inside. */
static void emit_whole(emitter *m, int phase, const lane_range *range, const inside *in, bool together) {
    char first[24], last[24];
    snprintf(first, sizeof first, "%lld", (long long)in->first);
    snprintf(last, sizeof last, "%lld", (long long)in->last + 1);
    if (in->first > 0) {
        emit_outside(m, phase, &(lane_range){"0", first, range->from, 0, false}, in->only);
    }
    emit_inner(m, phase, range, first, last, together);
    if (in->last + 1 < m->k->variables[m->k->vector].size) {
        emit_outside(m, phase, &(lane_range){last, range->last, range->from, 0, false}, in->only);
    }
}

enum { FROM_BYTES = 192 };

/* What lanes of a range count from, as one term. The only block of a row begins with 0. */
static void begin_of(const emitter *m, const lane_range *range, char from[FROM_BYTES]) {
    bool one_block = m->k->lanes >= m->k->variables[m->k->vector].size && strcmp(range->from, "first_lane") == 0;
    bool is_sum = strchr(range->from, ' ') != NULL;
    snprintf(from, FROM_BYTES, is_sum ? "(%s)" : "%s", one_block ? "0" : range->from);
}

/* `inner_first` and `inner_last` of a range's lanes, the same in every row. */
static void emit_inner_lanes(emitter *m, const lane_range *range, const inside *in) {
    char from[FROM_BYTES];
    begin_of(m, range, from);
    emit_line(m, "const int64_t inner_first = %lld - %s > %s ? %lld - %s : %s;", (long long)in->first, from, range->first,
              (long long)in->first, from, range->first);
    emit_line(m, "const int64_t inner_last = %lld - %s < %s ? %lld - %s : %s;", (long long)in->last + 1, from, range->last,
              (long long)in->last + 1, from, range->last);
}

/* A block of them, which may lie anywhere, or all. */
static void emit_some(emitter *m, int phase, const lane_range *range, const inside *in, bool together) {
    if (in->first == 0 && in->last + 1 == m->k->variables[m->k->vector].size) {
        emit_inner(m, phase, range, range->first, range->last, together);
        return;
    }
    emit_inner_lanes(m, range, in);
    emit_inner(m, phase, range, "inner_first", "inner_last", together);
    emit_line(m, "for (int side = 0; side < 2; side++) {");
    m->depth++;
    emit_line(m, "const int64_t side_first = side == 0 || inner_last < %s ? %s : inner_last;", range->first, range->first);
    emit_line(m, "const int64_t side_last = side != 0 || inner_first > %s ? %s : inner_first;", range->last, range->last);
    emit_outside(m, phase, &(lane_range){"side_first", "side_last", range->from, 0, in->only < 0}, in->only);
    m->depth--;
    emit_line(m, "}");
}

/* Lanes that look at a frame: nothing is to be asked. */
static void emit_framed(emitter *m, int phase, const lane_range *range) {
    if (is_whole(m, range) && m->k->variables[m->k->vector].size >= TOGETHER && emit_may_repeat(m, phase)) {
        emit_line(m, "for (int64_t block = 0; block < %s; block += %d) {", range->last, TOGETHER);
        m->depth++;
        emit_line(m, "const int64_t block_first = block + %d <= %s ? block : %s - %d;", TOGETHER, range->last, range->last, TOGETHER);
        emit_plain_range(m, phase, &(lane_range){"block_first", NULL, range->from, TOGETHER, false});
        m->depth--;
        emit_line(m, "}");
    } else {
        emit_plain_range(m, phase, range);
    }
}

/* The one bound that goes through the lanes, which differs from row to row, of the one condition that decides over what is read; NULL.
   in: what else must hold, the same for all lanes. */
static const view_bound *find_diagonal(emitter *m, int phase, inside *in) {
    const kernel *k = m->k;
    if (k->variables[k->vector].size < LEAST_STEPPED || k->has_classes || !may_part(k, phase)) {
        return NULL;
    }
    m->splits = true;
    bool found = find_certain(m, k->variables[k->vector].size, in) && in->only >= 0;
    m->splits = false;
    const view_bound *diagonal = NULL;
    for (int i = 0; found && i < k->exprs[in->only].n_bounds; i++) {
        const view_bound *b = &k->exprs[in->only].bounds[i];
        const bool is_diagonal = emit_is_diagonal(m, b);
        if (emit_goes_with_lanes(m, b) || (is_diagonal && diagonal != NULL)) {
            return NULL;
        }
        diagonal = is_diagonal ? b : diagonal;
    }
    int64_t step;
    if (diagonal == NULL ||
        (index_stride(diagonal->at, k->vector, &step) && step <= 1 && k->variables[k->vector].size < LEAST_DIAGONAL)) {
        return NULL;
    }
    int64_t least, most; /* a diagonal that passes by may lie as far off as numbers go */
    index_range(diagonal->at, &least, &most);
    return diagonal->low <= most && diagonal->high >= least ? diagonal : NULL;
}

/* Where lanes come to lie within `factor` times the lane + row >= low, or leave <= high: lanes before 0 may be told of as 0. */
static void emit_crossing(emitter *m, bool leaves, int64_t factor, int64_t limit, const char *from) {
    const bool is_0 = strcmp(from, "0") == 0;
    const char *name = leaves ? "leaves" : "enters";
    const char *less = is_0 ? "" : " - ", *begin = is_0 ? "" : from;
    const long long to = (long long)limit;
    if (factor > 1) {
        emit_line(m, "const int64_t %s = (%lld - row) / %lld%s%s;", name, to + factor - (leaves ? 0 : 1), (long long)factor, less, begin);
    } else if (factor == 1) {
        emit_line(m, "const int64_t %s = %lld - row%s%s%s;", name, to, leaves ? " + 1" : "", less, begin);
    } else {
        emit_line(m, "const int64_t %s = row - %lld%s%s%s;", name, to, leaves ? " + 1" : "", less, begin);
    }
}

/* `inner_first` and `inner_last` of a row's lanes, of which the diagonal is entered at the one and left at the other. */
static void emit_diagonal_lanes(emitter *m, const lane_range *range, const view_bound *b, bool enters, bool leaves) {
    char from[FROM_BYTES];
    begin_of(m, range, from);
    index_sum rest = {.constant = b->at.constant};
    index_term *terms = arena_make(m->c->memory, (size_t)b->at.n, sizeof *terms);
    int64_t factor = 1;
    if (terms == NULL) {
        m->out.failed = true;
        return;
    }
    for (int i = 0; i < b->at.n; i++) {
        bool lanes = (b->at.terms[i].atom->variables >> m->k->vector & 1) != 0;
        factor = lanes ? b->at.terms[i].factor : factor;
        terms[rest.n] = b->at.terms[i];
        rest.n += !lanes;
    }
    rest.terms = terms;
    text row = {0};
    emit_index(m, &row, rest, -1);
    emit_line(m, "const int64_t row = %s;", text_get(&row));
    if (enters) {
        emit_crossing(m, false, factor, factor > 0 ? b->low : b->high, from);
        emit_line(m, "const int64_t inner_first = enters < %s ? %s : enters < %s ? enters : %s;", range->first, range->first, range->last,
                  range->last);
    } else {
        emit_line(m, "const int64_t inner_first = %s;", range->first);
    }
    if (leaves) {
        emit_crossing(m, true, factor, factor > 0 ? b->high : b->low, from);
        emit_line(m, "const int64_t inner_last = leaves > %s ? %s : leaves > inner_first ? leaves : inner_first;", range->last, range->last);
    } else {
        emit_line(m, "const int64_t inner_last = %s;", range->last);
    }
    m->out.failed |= row.failed;
    text_clear(&row);
}

/* Whether lanes before those inside of a diagonal are outside, and those behind. */
static void find_sides(const emitter *m, const view_bound *b, bool *enters, bool *leaves) {
    int64_t factor = 1, least, most;
    (void)index_stride(b->at, m->k->vector, &factor);
    index_range(b->at, &least, &most);
    bool below = least < b->low, above = most > b->high;
    *enters = factor > 0 ? below : above;
    *leaves = factor > 0 ? above : below;
}

/* Parts the lanes where the diagonal goes through them, which differs from row to row: what lies beyond it is not read, and neither part
   asks anything. */
static void emit_diagonal(emitter *m, int phase, const lane_range *range, const view_bound *b, int condition) {
    bool enters, leaves;
    find_sides(m, b, &enters, &leaves);
    emit_diagonal_lanes(m, range, b, enters, leaves);
    m->splits = true;
    if (enters) {
        emit_outside(m, phase, &(lane_range){range->first, "inner_first", range->from, 0, false}, condition);
    }
    emit_part(m, phase, &(lane_range){"inner_first", "inner_last", range->from, 0, false}, true);
    if (leaves) {
        emit_outside(m, phase, &(lane_range){"inner_last", range->last, range->from, 0, false}, condition);
    }
    m->splits = false;
}

/* What stays in the blocks behind is asked for: the CPU reads no row ahead that follows what it has not read. triu of [32, 1024, 1024] floats
   takes 2.4 ms instead of 3.9; without those blocks that have only some lanes inside, 3.3 (two cores of a Zen 5, 2026-11). */
static void emit_block_fetches(emitter *m, const lane_range *range) {
    char first[FROM_BYTES + 64], from[FROM_BYTES];
    begin_of(m, range, from);
    if (m->streams) {
        snprintf(first, sizeof first, "%s + %s", from, range->first);
        emit_guarded_fetches(m, strcmp(from, "0") == 0 ? range->first : first, range->block);
    }
}

/* A block of lanes, which is made as a whole: inside, outside, or with its conditions where it is part of each. */
static void emit_block_in_parts(emitter *m, int phase, const lane_range *range, const inside *in, const view_bound *diagonal) {
    char size[24];
    snprintf(size, sizeof size, "%lld", (long long)m->k->variables[m->k->vector].size);
    const lane_range all = {"0", size, range->from, 0, false};
    if (diagonal != NULL) {
        bool enters, leaves;
        find_sides(m, diagonal, &enters, &leaves);
        emit_diagonal_lanes(m, &all, diagonal, enters, leaves);
    } else {
        emit_inner_lanes(m, &all, in);
    }
    m->splits = diagonal != NULL;
    emit_line(m, "if (%s >= inner_first && %s + %d <= inner_last) {", range->first, range->first, range->block);
    m->depth++;
    emit_block_fetches(m, range);
    emit_part(m, phase, range, true);
    m->depth--;
    if (in->only >= 0) {
        emit_line(m, "} else if (%s + %d <= inner_first || %s >= inner_last) {", range->first, range->block, range->first);
        m->depth++;
        emit_outside(m, phase, range, in->only);
        m->depth--;
    }
    m->splits = false;
    emit_line(m, "} else {");
    m->depth++;
    emit_block_fetches(m, range);
    emit_plain_range(m, phase, range);
    m->depth--;
    emit_line(m, "}");
}

bool emit_inside(emitter *m, int phase, const lane_range *range) {
    inside in = {0};
    bool may = m->flow == FLOW_NONE && m->k->vector >= 0 && (range->block == 0 || !m->k->has_frame);
    const view_bound *diagonal = may ? find_diagonal(m, phase, &in) : NULL;
    if (diagonal == NULL) {
        m->out.failed |= in.condition.failed;
        text_clear(&in.condition);
    }
    if (diagonal == NULL && (!may || !find_inside(m, phase, &in))) {
        text_clear(&in.condition);
        if (m->k->has_frame && range->block == 0) {
            emit_framed(m, phase, range);
        }
        return m->k->has_frame && range->block == 0;
    }
    bool asks = in.condition.length > 0;
    if (asks) {
        emit_line(m, "if (%s) {", text_get(&in.condition));
    } else {
        emit_line(m, "{");
    }
    m->depth++;
    bool whole = is_whole(m, range), together = whole && in.last - in.first + 1 >= TOGETHER && emit_may_repeat(m, phase);
    if (range->block > 0) {
        emit_block_in_parts(m, phase, range, &in, diagonal);
    } else if (diagonal != NULL) {
        emit_diagonal(m, phase, range, diagonal, in.only);
    } else if (whole && in.only >= 0) {
        emit_whole(m, phase, range, &in, together);
    } else {
        emit_some(m, phase, range, &in, together);
    }
    m->depth--;
    if (asks) {
        emit_line(m, "} else {");
        m->depth++;
        emit_outside(m, phase, range, in.only);
        m->depth--;
    }
    emit_line(m, "}");
    m->out.failed |= in.condition.failed;
    text_clear(&in.condition);
    return true;
}
