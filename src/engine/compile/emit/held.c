/* SPDX-License-Identifier: Apache-2.0 */
/* Accumulators in registers. Compilers leave those of 64 lanes in memory: each block would load and store them. Where a store of 64 bytes
   takes two cycles, stores are what such loops wait for: softmax over rows of bf16 took 1.7 times as long so (Zen 4, 2026-11). So what a
   block takes in is put together in an array, which compilers see through, and a function of the prelude adds it to lanes that are no
   array. */
#include "engine/compile/emit/held.h"

#include "engine/compile/emit/facts.h"
#include "engine/compile/emit/writing.h"

#include <stdlib.h>
#include <string.h>

bool emit_is_held(const emitter *m, int i) {
    const kernel *k = m->k;
    const root *r = &k->roots[i];
    bool is_known = r->how == RED_SUM || (r->how == RED_MAX && i == m->guessed && r->buffer < 0); /* the largest of what is no NaN */
    if (r->kind == ROOT_SCAN) {
        return m->by_groups && emit_scans_held(m) && emit_is_streamed(m, r);
    }
    if (!m->spares_stores || r->kind != ROOT_REDUCE || r->dtype != ASSAY_F32 || !is_known || m->twins || k->beside != 0 ||
        k->vector < 0 || k->variables[k->vector].tile != 0) {
        return false;
    }
    int lanes = emit_block_lanes(m);
    return m->rows ? m->by_groups && k->lanes % EMIT_BLOCK_LANES == 0 && (lanes == EMIT_BLOCK_LANES || 2 * lanes == EMIT_BLOCK_LANES)
                   : k->lanes == EMIT_BLOCK_LANES && lanes == EMIT_BLOCK_LANES && m->page_tasks == 0;
}

/* Whether a group's rows are taken in by themselves: sums round less the fewer are added to them, and lanes that make no block are taken in
   apart. Running sums go on from those before. */
static bool adds_groups(const emitter *m) {
    return !emit_scans_held(m) && (m->flow == FLOW_NONE || m->k->variables[m->k->vector].size % m->k->lanes != 0);
}

bool emit_goes_past_held(const emitter *m, bool is_block) {
    return m->rows && adds_groups(m) && !is_block;
}

static bool is_of(const emitter *m, int i, int phase) {
    return m->k->roots[i].phase == phase && emit_is_held(m, i);
}

void emit_open_held(emitter *m, int phase, const lane_range *range) {
    bool whole = range->block > 0 || (strcmp(range->first, "0") == 0 && strtoll(range->last, NULL, 10) == EMIT_BLOCK_LANES);
    for (int i = 0; i < m->k->n_roots; i++) {
        if (!is_of(m, i, phase)) {
            continue;
        }
        emit_line(m, "float taken%d[%d];", i, emit_block_lanes(m));
        if (!whole) {
            emit_line(m, "for (int64_t l = 0; l < %d; l++) {", emit_block_lanes(m));
            emit_line(m, "    taken%d[l] = %s;", i, m->k->roots[i].how == RED_SUM ? "0" : "-__builtin_inff()");
            emit_line(m, "}");
        }
    }
}

void emit_close_held(emitter *m, int phase) {
    for (int i = 0; i < m->k->n_roots; i++) {
        if (is_of(m, i, phase)) {
            emit_line(m, "%s(&held%d, taken%d, %d);", m->k->roots[i].how == RED_SUM ? "add_held_f32" : "take_larger_held_f32", i, i,
                      emit_block_lanes(m));
            if (m->k->roots[i].kind == ROOT_SCAN) {
                emit_line(m, "held_to_f32(made%d, &held%d, %d);", i, i, emit_block_lanes(m));
            }
        }
    }
}

static bool is_of_group(const emitter *m, int i, int only) {
    int phase = m->k->roots[i].phase;
    return m->rows && emit_is_held(m, i) && (only >= 0 ? phase == only : emit_is_side_by_side(m, phase));
}

void emit_open_held_group(emitter *m, int only) {
    for (int i = 0; i < m->k->n_roots; i++) {
        if (is_of_group(m, i, only)) {
            emit_line(m, "held_f32 held%d;", i);
            if (adds_groups(m)) {
                emit_line(m, "start_held_f32(&held%d, %s);", i, m->k->roots[i].how == RED_SUM ? "0" : "-__builtin_inff()");
            } else {
                emit_line(m, "held_from_f32(&held%d, a%d + block, %d);", i, i, emit_block_lanes(m));
            }
        }
    }
}

void emit_close_held_group(emitter *m, int only) {
    for (int i = 0; i < m->k->n_roots; i++) {
        if (is_of_group(m, i, only)) {
            const char *way = !adds_groups(m) ? "to" : m->k->roots[i].how == RED_SUM ? "added" : "larger";
            emit_line(m, "held_%s_f32(a%d + block, &held%d, %d);", way, i, i, emit_block_lanes(m));
        }
    }
}
