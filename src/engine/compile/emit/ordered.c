/* SPDX-License-Identifier: Apache-2.0 */
/* Tasks whose rows lie one behind the other, read in the order of memory. A sum by channels visits one row of each sample, so that a
   task goes from place to place in all of memory, and the next one does so again. Here many tasks take their rows of one sample,
   then those of the next; each one's accumulators, folded to a line, wait in an array meanwhile. Variances of [256, 64, 56, 56] by channels
   take 6.8 ms so, and 8.1 channel by channel; by 8 channels 7.5 (two cores of a Granite Rapids, 2026-11). Of [256, 512, 28, 28] they take
   7.8 ms by 512 channels, and 9.9 by 64 that keep 64 lanes each (two cores of a Zen 4, 2026-11). */
#include "engine/compile/emit/ordered.h"

#include "device/caches.h"
#include "engine/compile/emit/facts.h"
#include "engine/compile/emit/guess.h"
#include "engine/compile/emit/lane_loops.h"
#include "engine/compile/emit/phases.h"
#include "engine/compile/emit/place_keys.h"
#include "engine/compile/emit/reductions.h"

#include <string.h>

enum { MOST_TASKS = 512, LEAST_TASKS = 4, LEAST_BLOCKS = 4 /* of lanes, in a row */, MOST_ROW_BYTES = 64 << 10, MOST_BYTES = 64 << 10 };

/* Bytes of a task's accumulators; 0: there are others than plain ones, or something is stored beside them. */
static int64_t accumulator_bytes(const emitter *m) {
    const kernel *k = m->k;
    int64_t bytes = 0;
    for (int i = 0; i < k->n_roots; i++) {
        const root *r = &k->roots[i];
        if (r->phase > 0 && emit_in_loops(m, r)) {
            return 0;
        }
        if (r->phase > 0) {
            continue;
        }
        if (!emit_in_loops(m, r) || r->kind != ROOT_REDUCE || emit_is_place(r->how) || emit_place_of(m, i) >= 0) {
            return 0;
        }
        bytes += emit_ordered_lanes(m) * (int64_t)dtype_size(r->dtype);
    }
    return bytes;
}

bool emit_rows_follow(const emitter *m) {
    const kernel *k = m->k;
    bool much = false;
    if (k->vector < 0 || k->n_loops == 0 || k->n_tasks == 0) {
        return false;
    }
    const int64_t row = k->variables[k->vector].size;
    for (int i = 0; i < k->n_exprs; i++) {
        const expr *e = &k->exprs[i];
        if (e->kind != EXPR_LOAD || (e->variables & m->reduced) == 0) {
            continue;
        }
        int64_t by_task, by_loop;
        if (!emit_is_dense_load(m, e) || !index_stride(e->at, k->tasks[k->n_tasks - 1], &by_task) ||
            !index_stride(e->at, k->loops[k->n_loops - 1], &by_loop) || by_task != row || by_loop < LEAST_TASKS * row) {
            return false;
        }
        much |= buffer_bytes(m->c, e->buffer) >= STREAM_MIN_BYTES || m->c->options->streams_all;
    }
    return much;
}

void emit_choose_ordered(emitter *m) {
    const kernel *k = m->k;
    m->ordered_tasks = 0;
    m->order = ORDER_NONE;
    if (m->flow != FLOW_NONE || m->page_tasks > 0 || m->n_abreast > 1 || m->by_groups ||
        m->rows || k->is_product || k->has_frame || !k->has_classes || k->checks || k->column_parts > 0 || k->vector < 0 || k->turns_lines ||
        k->n_loops == 0 || k->n_tasks == 0 || k->beside != 0) {
        return;
    }
    const loop_variable *inner = &k->variables[k->vector], *outer = &k->variables[k->tasks[k->n_tasks - 1]];
    const int64_t bytes = accumulator_bytes(m);
    if (bytes == 0 || inner->tile != 0 || inner->size < LEAST_BLOCKS * k->lanes || inner->size * (int64_t)sizeof(float) > MOST_ROW_BYTES ||
        outer->tile != 0 || outer->size < LEAST_TASKS || !emit_rows_follow(m)) {
        return;
    }
    const int64_t fit = MOST_BYTES / bytes;
    m->ordered_tasks = fit < LEAST_TASKS ? 0 : fit < MOST_TASKS ? (int)fit : MOST_TASKS;
    m->spares_stores &= m->ordered_tasks == 0; /* accumulators are all tasks' */
}

static bool is_accumulated(const emitter *m, int i) {
    return m->k->roots[i].phase == 0;
}

static int open_tasks(emitter *m, definition *made) {
    emit_line(m, "for (int64_t task = group; task < group_end; task++) {");
    m->depth++;
    return emit_tasks(m, made);
}

/* What was named in it is forgotten. */
static void close_tasks(emitter *m, const definition *made, int n) {
    while (n-- > 0) { /* from the last: what only an unused line uses goes as well */
        emit_drop_unused(m, &made[n]);
    }
    m->depth--;
    emit_line(m, "}");
    memset(m->named, 0, (size_t)m->k->n_exprs);
    memset(m->kept, 0, (size_t)m->k->n_exprs);
}

static void emit_beginnings(emitter *m, definition *made) {
    int n = open_tasks(m, made);
    m->phase = 0;
    if (emit_guesses_in(m, 0)) {
        emit_line(m, "float r%d_0;", m->guessed);
        emit_guess(m, 0);
        emit_line(m, "near%d_of[task - group] = r%d_0;", m->guessed, m->guessed);
    }
    emit_ordered_starts(m);
    close_tasks(m, made, n);
}

static void emit_rows(emitter *m, definition *made) {
    const kernel *k = m->k;
    for (int i = 0; i < k->n_loops; i++) {
        emit_open_loop(m, k->loops[i]);
    }
    int n = open_tasks(m, made);
    if (emit_guesses_in(m, 0)) {
        emit_ordered_guess(m);
    }
    m->order = ORDER_ROWS;
    emit_row_alone(m, 0);
    emit_accumulators(m, 0);
    emit_loops(m, 0);
    emit_ordered_folds(m);
    close_tasks(m, made, n);
    for (int i = 0; i < k->n_loops; i++) {
        m->depth--;
        emit_line(m, "}");
    }
}

void emit_ordered(emitter *m, definition *made) {
    const kernel *k = m->k;
    emit_line(m, "for (int64_t group = first; group < last; group += %d) {", m->ordered_tasks);
    m->depth++;
    emit_line(m, "const int64_t group_end = group + %d < last ? group + %d : last;", m->ordered_tasks, m->ordered_tasks);
    for (int i = 0; i < k->n_roots; i++) {
        if (is_accumulated(m, i)) {
            emit_line(m, "%s all%d[%d][%d];", emit_accumulator_type(m, i), i, m->ordered_tasks, emit_ordered_lanes(m));
        }
    }
    if (emit_guesses_in(m, 0)) {
        emit_line(m, "float near%d_of[%d];", m->guessed, m->ordered_tasks);
    }
    emit_beginnings(m, made);
    emit_rows(m, made);
    int n = open_tasks(m, made);
    m->order = ORDER_TOTALS;
    emit_phases(m);
    close_tasks(m, made, n);
    m->order = ORDER_NONE;
    m->depth--;
    emit_line(m, "}");
}
