/* SPDX-License-Identifier: Apache-2.0 */
/* The innermost loops as text: over lanes of the vector variable. */
#include "engine/compile/emit/lane_loops.h"

#include "engine/compile/emit/facts.h"
#include "engine/compile/emit/halves.h"
#include "engine/compile/emit/long_sums.h"
#include "engine/compile/emit/reductions.h"
#include "engine/compile/emit/values.h"
#include "engine/compile/emit/wants.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What depends on none of these variables, and then the roots, for each value of those that are computed side by side. */
static void emit_values(emitter *m, int phase, uint64_t beside) {
    const kernel *k = m->k;
    for (int i = 0; i < k->n_exprs; i++) {
        if (m->wanted[i] && !m->named[i] && (k->exprs[i].variables & beside) == 0) {
            emit_expr(m, i);
        }
    }
    int v = 0;
    while (beside != 0 && (beside >> v & 1) == 0) {
        v++;
    }
    bool *named = beside != 0 ? malloc((size_t)k->n_exprs + 1) : NULL;
    for (int64_t i = 0; named != NULL && i < k->variables[v].size; i++) {
        definition value;
        memcpy(named, m->named, (size_t)k->n_exprs);
        emit_line(m, "{");
        m->depth++;
        emit_define(m, &value, "const int64_t ", "v%d = %lld", v, (long long)i);
        m->known |= (uint64_t)1 << v;
        m->values[v] = i;
        emit_values(m, phase, beside & ~((uint64_t)1 << v));
        m->known &= ~((uint64_t)1 << v);
        emit_drop_unused(m, &value);
        m->depth--;
        emit_line(m, "}");
        memcpy(m->named, named, (size_t)k->n_exprs);
    }
    m->out.failed |= beside != 0 && named == NULL;
    free(named);
    for (int i = 0; beside == 0 && i < k->n_roots; i++) {
        if (k->roots[i].phase == phase && emit_in_loops(m, &k->roots[i])) {
            emit_root(m, i);
        }
    }
}

void emit_body(emitter *m, int phase, bool before) {
    uint64_t lanes = (m->k->vector >= 0 ? (uint64_t)1 << m->k->vector : 0) | m->k->beside;
    if (!before) {
        emit_values(m, phase, m->k->beside);
        return;
    }
    for (int i = 0; i < m->k->n_exprs; i++) {
        if (m->wanted[i] && !m->named[i] && (m->k->exprs[i].variables & lanes) == 0) {
            emit_expr(m, i);
        }
    }
}

void emit_open_loop(emitter *m, int v) {
    const loop_variable *loop = &m->k->variables[v];
    if (m->k->scan_parts > 0) {
        emit_line(m, m->before ? "for (int64_t v%d = 0; v%d < parts[task]; v%d++) {"
                               : "for (int64_t v%d = parts[task]; v%d < parts[task + 1]; v%d++) {", v, v, v);
    } else if (loop->tile > 0 && loop->limit % loop->tile != 0) {
        emit_line(m, "for (int64_t v%d = 0; v%d < %lld && %lld * v%d + v%d < %lld; v%d++) {", v, v, (long long)loop->size,
                  (long long)loop->tile, loop->block, v, (long long)loop->limit, v);
    } else if (v == m->cut) {
        emit_open_piece(m, loop->size, m->cut_turns);
        emit_line(m, "for (int64_t v%d = piece; v%d < piece_end; v%d++) {", v, v, v);
    } else {
        emit_line(m, "for (int64_t v%d = 0; v%d < %lld; v%d++) {", v, v, (long long)loop->size, v);
    }
    m->depth++;
}

void emit_close_loops(emitter *m, int n) {
    for (int i = n - 1; i >= 0; i--) {
        m->depth--;
        emit_line(m, "}");
        if (m->k->loops[i] == m->cut) {
            emit_close_piece(m);
        }
    }
}

/* Loops of so few turns gcc unrolls before it thinks of vector code, and finds none in what is left. */
enum { LEAST_UNROLLED = 8, MOST_UNROLLED = 16 };

/* How many lanes; 0: not known. */
static long long count_lanes(const lane_range *range) {
    bool known = isdigit((unsigned char)range->first[0]) && isdigit((unsigned char)range->last[0]);
    return range->block > 0 ? range->block : known ? strtoll(range->last, NULL, 10) - strtoll(range->first, NULL, 10) : 0;
}

/* Whether these lanes are such a loop, and go to memory: accumulators are to lie in registers, not in an array. */
static bool are_few(const emitter *m, const lane_range *range) {
    if (m->page_tasks > 0 || m->flow_lanes > 0) {
        return emit_block_lanes(m) <= MOST_UNROLLED;
    }
    const long long n = count_lanes(range);
    bool accumulates = (m->k->has_classes || m->k->column_parts > 0) && m->k->roots[0].kind != ROOT_SCATTER;
    return (!accumulates || m->short_lanes > 0) && n >= LEAST_UNROLLED && n <= MOST_UNROLLED;
}

/* What gcc 12 takes together it gets wrong at times where it goes by lanes of an outer loop, as neighbours are written beside each other or
   unrolled. Those that are looked at behind conditions are loaded behind a mask, some of them behind a neighbour's (of a matrix of two columns
   that is padded above one row came out as zeros); where lanes are neighbours themselves, as in windows two apart, they are not. Or lanes of
   several turns are loaded as if these followed each other: of random loops of 2 to 16 lanes one in 800 is wrong so, one in 60 where
   the text forbids threaded jumps. And accumulators of which each takes in what is read backwards get each other's (sums over the first and last
   of [3, 7, 33, 3] turned round in the last). Those beside each other go one by one then, and a loop of lanes is not unrolled: of the random
   loops all were right so. */
static bool asks_beside(const emitter *m) {
    const kernel *k = m->k;
    bool any = false;
    for (int i = 0; i < k->n_exprs; i++) {
        const expr *e = &k->exprs[i];
        int64_t stride;
        bool asks = e->kind == EXPR_LOAD && e->guard >= 0 && e->guard != m->never && !emit_is_certain(m, e->guard);
        any |= asks && (e->variables & k->beside) != 0 && !(index_stride(e->at, k->vector, &stride) && stride == 1);
    }
    return any;
}

/* Whether any loop reads a load's memory backwards. */
static bool goes_backwards(const kernel *k, const expr *e) {
    bool any = false;
    for (int i = 0; i < k->n_loops; i++) {
        int64_t stride;
        any |= index_stride(e->at, k->loops[i], &stride) && stride == -1;
    }
    return any;
}

static bool had_better_stay_a_loop(const emitter *m, const lane_range *range) {
    const kernel *k = m->k;
    const long long n = count_lanes(range);
    const bool accumulates = k->n_roots > 0 && k->roots[0].kind == ROOT_REDUCE;
    bool any = false;
    for (int i = 0; i < k->n_exprs && n > 1 && n <= MOST_UNROLLED && k->vector >= 0; i++) {
        const expr *e = &k->exprs[i];
        if (e->kind == EXPR_LOAD && (e->variables >> k->vector & 1) != 0) {
            bool asks = e->guard >= 0 && e->guard != m->never && !emit_is_certain(m, e->guard);
            any |= asks || (accumulates && goes_backwards(k, e));
        }
    }
    return any;
}

/* A block's lanes are counted from 0: with both ends relative to a variable compilers would have to think of wrapping. */
void emit_open_lanes(emitter *m, const lane_range *range, lane_loop *l) {
    m->lane = range->block > 0 ? "i" : "l";
    bool in_order = emit_scans_along(m) && !m->staged[0], singly = range->singly || asks_beside(m);
    if (!singly && !in_order) {
        const bool stays = are_few(m, range) || had_better_stay_a_loop(m, range);
        emit_line(m, !stays ? "INDEPENDENT" : m->short_lanes > 0 ? "INDEPENDENT SHORT" : "INDEPENDENT FEW");
    }
    if (range->block > 0) {
        emit_line(m, "for (int64_t i = 0; i < %d; i++) {", range->block);
    } else {
        emit_line(m, "for (int64_t l = %s; l < %s; l++) {", range->first, range->last);
    }
    m->depth++;
    if (singly) {
        emit_line(m, "ONE_BY_ONE(%s);", range->block > 0 ? "i" : "l");
    }
    if (range->block > 0) {
        emit_define(m, &l->lane, "const int64_t ", "l = %s + i", range->first);
    }
    emit_define(m, &l->variable, "const int64_t ", strcmp(range->from, "0") == 0 && range->block > 0 ? "v%d = l" : "v%d = %s + l",
                m->k->vector, range->from);
}

void emit_close_lanes(emitter *m, const lane_range *range, const lane_loop *l, const bool *named) {
    emit_drop_unused(m, &l->variable);
    if (range->block > 0) {
        emit_drop_unused(m, &l->lane);
    }
    m->depth--;
    emit_line(m, "}");
    memcpy(m->named, named, (size_t)m->k->n_exprs);
}

void emit_lanes_to(emitter *m, int i, const char *array, const lane_range *range) {
    char to[64];
    snprintf(to, sizeof to, "%s[%s] = ", array, emit_block_lane(m));
    emit_lanes_into(m, i, to, ";", range);
}

void emit_lanes_into(emitter *m, int i, const char *before, const char *after, const lane_range *range) {
    const kernel *k = m->k;
    bool *named = malloc((size_t)k->n_exprs + 1);
    if (named == NULL) {
        m->out.failed = true;
        return;
    }
    memcpy(named, m->named, (size_t)k->n_exprs);
    memset(m->wanted, 0, (size_t)k->n_exprs);
    emit_want(m, i);
    lane_loop l;
    text value = {0};
    emit_open_lanes(m, range, &l);
    emit_body(m, -1, false);
    emit_name(m, &value, i);
    emit_line(m, "%s%s%s", before, text_get(&value), after);
    emit_close_lanes(m, range, &l, named);
    m->out.failed |= value.failed;
    text_clear(&value);
    free(named);
}

void emit_fill_up(emitter *m, const char *array, int i) {
    if (m->short_lanes > 0 && m->short_lanes < emit_block_lanes(m)) {
        emit_line(m, "for (int64_t l = %d; l < %d; l++) {", m->short_lanes, emit_block_lanes(m));
        emit_line(m, "    %s%d[l] = 0;", array, i);
        emit_line(m, "}");
    }
}
