/* SPDX-License-Identifier: Apache-2.0 */
/* Rows gone down in groups: a block of lanes of each, then the next block. */
#include "engine/compile/emit/groups.h"

#include "engine/compile/emit/facts.h"
#include "engine/compile/emit/held.h"
#include "engine/compile/emit/lane_loops.h"
#include "engine/compile/emit/long_sums.h"

/* Where a block lies among what is saved, which is in the order in which blocks are visited: what one phase stores there and the
   next one reads then passes the first cache as a single row. By rows it took a sixth of the time of a softmax over a middle
   dimension, by blocks a tenth (Sapphire Rapids, 2026-11). The lane at hand is counted from the row's first. */
static void define_place(emitter *m, bool of_rest, definition *made) {
    const kernel *k = m->k;
    int inner = k->loops[k->n_loops - 1];
    int64_t row = m->rows ? k->lanes : k->variables[k->vector].size, stride = emit_group_elems(m);
    int64_t others = m->group_rows - 1, rest = row % emit_block_lanes(m);
    const char *group = m->shares ? "(group - rows_from)" : "group";
    text outer = {0};
    for (int i = k->n_loops - 2; i >= 0; i--) {
        text_addf(&outer, " + %lld * v%d", (long long)stride, k->loops[i]);
        stride *= k->variables[k->loops[i]].size;
    }
    if (of_rest) { /* behind all blocks of the group */
        emit_define(m, made, "const int64_t ", "place = %lld * %s + %lld + %lld * (v%d - group)%s", (long long)row, group,
                    (long long)(others * (row - rest)), (long long)rest, inner, text_get(&outer));
    } else {
        emit_define(m, made, "const int64_t ", "place = %lld * %s + %lld * block + %d * (v%d - group)%s", (long long)row, group,
                    (long long)others, emit_block_lanes(m), inner, text_get(&outer));
    }
    m->out.failed |= outer.failed;
    text_clear(&outer);
}

static void open_rows(emitter *m, bool of_rest, definition *at_place) {
    int inner = m->k->loops[m->k->n_loops - 1];
    emit_line(m, "for (int64_t v%d = group; v%d < group_end; v%d++) {", inner, inner, inner);
    m->depth++;
    define_place(m, of_rest, at_place);
}

static void close_rows(emitter *m, definition *at_place) {
    emit_drop_unused(m, at_place);
    m->depth--;
    emit_line(m, "}");
}

void emit_open_groups(emitter *m, int only, definition *at_place) {
    const kernel *k = m->k;
    int inner = k->loops[k->n_loops - 1], rows = m->group_rows;
    int64_t size = k->variables[inner].size, row = m->rows ? k->lanes : k->variables[k->vector].size;
    for (int i = 0; i < k->n_loops - 1; i++) {
        emit_open_loop(m, k->loops[i]);
    }
    if (m->shares) {
        emit_line(m, "for (int64_t group = %s; group < %s; group += %d) {", m->behind_kept ? "kept_to" : "rows_from",
                  m->behind_kept ? "rows_to" : "kept_to", rows);
    } else if (inner == m->cut) {
        emit_open_piece(m, size, m->cut_turns);
        emit_line(m, "for (int64_t group = piece; group < piece_end; group += %d) {", rows);
    } else {
        emit_line(m, "for (int64_t group = 0; group < %lld; group += %d) {", (long long)size, rows);
    }
    m->depth++;
    if (size % rows != 0) {
        emit_line(m, "const int64_t group_end = %lld - group < %d ? %lld : group + %d;", (long long)size, rows, (long long)size, rows);
    } else {
        emit_line(m, "const int64_t group_end = group + %d;", rows);
    }
    emit_line(m, "for (int64_t block = 0; block < %lld; block += %d) {", (long long)(row - row % emit_block_lanes(m)), emit_block_lanes(m));
    m->depth++;
    emit_open_held_group(m, only);
    open_rows(m, false, at_place);
}

int64_t emit_open_group_rest(emitter *m, int only, definition *at_place) {
    const kernel *k = m->k;
    int64_t row = m->rows ? k->lanes : k->variables[k->vector].size, rest = row % emit_block_lanes(m);
    close_rows(m, at_place);
    emit_close_held_group(m, only);
    m->depth--;
    emit_line(m, "}");
    if (rest > 0) {
        open_rows(m, true, at_place);
    }
    return rest;
}

void emit_close_groups(emitter *m, int64_t rest, definition *at_place) {
    if (rest > 0) {
        close_rows(m, at_place);
    }
    emit_close_loops(m, m->k->n_loops);
}
