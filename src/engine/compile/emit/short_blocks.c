/* SPDX-License-Identifier: Apache-2.0 */
/* Lanes that are fewer than a block: what is left of a row, or all of a short one. Compilers take some of such a number one by one, with
   branches. So whole lines of them are taken together, and the last line once more from where it ends with them: what is stored is
   stored again, the largest is asked again, and sums leave out what they have. Softmax over rows of 49 takes 0.15 of the time so, over rows of
   77 0.27 (two cores of a Zen 4, 2026-11). */
#include "engine/compile/emit/short_blocks.h"

#include "engine/compile/emit/block_choice.h"
#include "engine/compile/emit/block_functions.h"
#include "engine/compile/emit/facts.h"
#include "engine/compile/emit/halves.h"
#include "engine/compile/emit/lane_ranges.h"
#include "engine/compile/emit/values.h"
#include "engine/compile/emit/wants.h"
#include "engine/compile/emit/writing.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE_LANES = 16 };

/* A number, or -1. */
static long long number_of(const char *word) {
    return isdigit((unsigned char)word[0]) && strchr(word, ' ') == NULL ? strtoll(word, NULL, 10) : -1;
}

static void store_halves(emitter *m, const root *r, int i, const char *from) {
    block_scope start;
    char after[64];
    emit_open_scope(m, from, &start);
    emit_line(m, "uint16_t halves%d[%d];", i, EMIT_BLOCK_LANES);
    emit_line(m, "%s(halves%d, made%d);", dialect_narrow(r->store_dtype, PAIRS_NONE), i, i);
    snprintf(after, sizeof after, ", halves%d, %d);", i, m->short_lanes * (int)sizeof(uint16_t));
    emit_address_call(m, "memcpy(", r->buffer, r->at, after);
    emit_close_scope(m, &start);
}

static void emit_straight(emitter *m, const char *from) {
    for (int i = 0; i < m->k->n_exprs; i++) {
        if (emit_is_straight(m, i)) {
            const expr *halves = &m->k->exprs[m->k->exprs[i].sources[0]];
            block_scope start;
            char before[64], after[32];
            emit_open_scope(m, from, &start);
            snprintf(before, sizeof before, "few_f32s_of_%ss(wide%d, ", assay_dtype_name(halves->dtype), i);
            snprintf(after, sizeof after, ", %d);", m->short_lanes);
            emit_address_call(m, before, halves->buffer, halves->at, after);
            emit_close_scope(m, &start);
        }
    }
}

/* Functions of whole lines, and halves, by the block. */
static void emit_arrays(emitter *m, int phase, const lane_range *range) {
    const kernel *k = m->k;
    m->block = "0";
    emit_line(m, "{");
    m->depth++;
    emit_block_arrays(m);
    for (int i = 0; i < k->n_roots; i++) {
        if (m->staged[i]) {
            emit_line(m, "float made%d[%d];", i, EMIT_BLOCK_LANES);
            emit_fill_up(m, "made", i);
        }
    }
    emit_straight(m, range->from);
    emit_gathered(m, range);
    emit_functions(m, range);
    emit_want_phase(m, phase);
    emit_range(m, phase, range);
    for (int i = 0; i < k->n_roots; i++) {
        if (m->staged[i]) {
            store_halves(m, &k->roots[i], i, range->from);
        }
    }
    m->depth--;
    emit_line(m, "}");
}

/* n lanes, of which the first few come again. */
static void emit_lines(emitter *m, int phase, int n, int again, const char *from) {
    char last[32];
    snprintf(last, sizeof last, "%d", n);
    const lane_range range = {"0", last, from, 0, false};
    m->short_lanes = n;
    m->again_lanes = again;
    if (emit_choose_short(m, phase)) {
        emit_arrays(m, phase, &range);
        emit_choose_none(m);
    } else {
        emit_choose_none(m);
        emit_range(m, phase, &range);
    }
    m->short_lanes = m->again_lanes = 0;
    emit_want_phase(m, phase);
}

/* Whether lanes may be taken in again: not where what they read has been overwritten by another task by now. */
static bool may_come_again(const emitter *m, int phase) {
    for (int i = 0; i < m->k->n_exprs && m->flow != FLOW_NONE; i++) {
        if (m->wanted[i] && m->saved_in[i] >= 0 && m->saved_in[i] < phase) {
            return false;
        }
    }
    for (int i = 0; i < m->k->n_roots; i++) {
        const root *r = &m->k->roots[i];
        bool reduces = r->kind == ROOT_REDUCE && !m->rows;
        if (r->phase == phase && emit_in_loops(m, r) && !reduces && (r->kind != ROOT_STORE || emit_reads_memory_of(m, r->buffer))) {
            return false;
        }
    }
    return m->k->beside == 0;
}

/* Whether what lies before these lanes, where they are saved, is another row's: rows in groups have their last lanes behind all blocks. */
static bool saves_apart(const emitter *m, int phase) {
    bool saves = false;
    for (int i = 0; i < m->k->n_exprs && m->flow != FLOW_NONE && m->group_rows > 0; i++) {
        saves |= m->wanted[i] && m->saved_in[i] == phase;
    }
    return saves;
}

void emit_short_range(emitter *m, int phase, const lane_range *range) {
    const long long from = number_of(range->from), first = number_of(range->first), last = number_of(range->last), n = last - first;
    bool are_few = range->block == 0 && first >= 0 && last > first && n < EMIT_BLOCK_LANES && emit_block_lanes(m) == EMIT_BLOCK_LANES;
    const long long rest = n % LINE_LANES, lines = n - rest, end = from + last;
    if (are_few && rest == 0 && first == 0) {
        emit_lines(m, phase, (int)n, 0, range->from);
        return;
    }
    const bool apart = saves_apart(m, phase);
    if (!are_few || rest == 0 || from < 0 || end < LINE_LANES || !may_come_again(m, phase) || (apart && lines == 0)) {
        emit_range(m, phase, range);
        return;
    }
    char at[32];
    if (!apart && end - lines - LINE_LANES >= 0) { /* all in one */
        snprintf(at, sizeof at, "%lld", end - lines - LINE_LANES);
        emit_lines(m, phase, (int)lines + LINE_LANES, LINE_LANES - (int)rest, at);
        return;
    }
    snprintf(at, sizeof at, "%lld", from + first);
    emit_lines(m, phase, (int)lines, 0, at);
    snprintf(at, sizeof at, "%lld", end - LINE_LANES);
    emit_lines(m, phase, LINE_LANES, LINE_LANES - (int)rest, at);
}
