/* SPDX-License-Identifier: Apache-2.0 */
/* Rows gone down in groups: a block of lanes of each, then the next block. */
#include "engine/compile/emit/groups.h"

#include "engine/compile/emit/facts.h"
#include "engine/compile/emit/held.h"
#include "engine/compile/emit/lane_loops.h"

/* Where a block lies among what is saved, which is in the order in which blocks are visited: what one phase stores there and the
   next one reads then passes the first cache as a single row. By rows it took a sixth of the time of a softmax over a middle
   dimension, by blocks a tenth (Sapphire Rapids, 2026-11). The lane at hand is counted from the row's first. */
static void define_place(emitter *m, definition *made) {
    const kernel *k = m->k;
    int inner = k->loops[k->n_loops - 1];
    int64_t row = m->rows ? k->lanes : k->variables[k->vector].size, stride = emit_group_elems(m);
    text outer = {0};
    for (int i = k->n_loops - 2; i >= 0; i--) {
        text_addf(&outer, " + %lld * v%d", (long long)stride, k->loops[i]);
        stride *= k->variables[k->loops[i]].size;
    }
    emit_define(m, made, "const int64_t ", "place = %lld * group + %lld * block + %d * (v%d - group)%s", (long long)row,
                (long long)m->group_rows - 1, emit_block_lanes(m), inner, text_get(&outer));
    m->out.failed |= outer.failed;
    text_clear(&outer);
}

void emit_open_groups(emitter *m, int only, definition *at_place) {
    const kernel *k = m->k;
    int inner = k->loops[k->n_loops - 1], rows = m->group_rows;
    int64_t size = k->variables[inner].size, row = m->rows ? k->lanes : k->variables[k->vector].size;
    for (int i = 0; i < k->n_loops - 1; i++) {
        emit_open_loop(m, k->loops[i]);
    }
    emit_line(m, "for (int64_t group = 0; group < %lld; group += %d) {", (long long)size, rows);
    m->depth++;
    if (size % rows != 0) {
        emit_line(m, "const int64_t group_end = %lld - group < %d ? %lld : group + %d;", (long long)size, rows, (long long)size, rows);
    } else {
        emit_line(m, "const int64_t group_end = group + %d;", rows);
    }
    emit_line(m, "for (int64_t block = 0; block < %lld; block += %d) {", (long long)row, emit_block_lanes(m));
    m->depth++;
    emit_open_held_group(m, only);
    emit_line(m, "for (int64_t v%d = group; v%d < group_end; v%d++) {", inner, inner, inner);
    m->depth++;
    define_place(m, at_place);
}

void emit_close_groups(emitter *m, int only, definition *at_place) {
    emit_drop_unused(m, at_place);
    m->depth--;
    emit_line(m, "}");
    emit_close_held_group(m, only);
    for (int i = 0; i < m->k->n_loops + 1; i++) {
        m->depth--;
        emit_line(m, "}");
    }
}
