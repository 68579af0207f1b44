/* SPDX-License-Identifier: Apache-2.0 */
/* Ranges of lanes as text: what they look up, and what they do. */
#include "engine/compile/emit/lane_ranges.h"

#include "engine/compile/emit/facts.h"
#include "engine/compile/emit/halves.h"
#include "engine/compile/emit/indices.h"
#include "engine/compile/emit/wants.h"

#include <stdlib.h>
#include <string.h>

void emit_gathered(emitter *m, const lane_range *range) {
    const kernel *k = m->k;
    bool any = false, *named = malloc((size_t)k->n_exprs + 1);
    if (named == NULL) {
        m->out.failed = true;
        return;
    }
    memcpy(named, m->named, (size_t)k->n_exprs);
    memset(m->wanted, 0, (size_t)k->n_exprs);
    for (int i = 0; i < k->n_exprs; i++) {
        if (m->gathered[i] && !emit_is_straight(m, i)) {
            emit_line(m, "uint16_t half%d[%d];", i, emit_block_lanes(m));
            emit_want(m, k->exprs[i].sources[0]);
            any = true;
        }
    }
    if (any) {
        lane_loop l;
        const bool looks = emit_begin_indices(m, range);
        if (looks) {
            memset(m->wanted, 0, (size_t)k->n_exprs);
            for (int i = 0; i < k->n_exprs; i++) {
                if (m->gathered[i] && !emit_is_straight(m, i)) {
                    emit_want(m, k->exprs[i].sources[0]);
                }
            }
        }
        emit_open_lanes(m, range, &l);
        emit_body(m, -1, false);
        for (int i = 0; i < k->n_exprs; i++) {
            if (m->gathered[i] && !emit_is_straight(m, i)) {
                emit_line(m, "half%d[%s] = t%d;", i, emit_block_lane(m), k->exprs[i].sources[0]);
            }
        }
        emit_close_lanes(m, range, &l, named);
        emit_end_indices(m, looks);
    }
    for (int i = 0; i < k->n_exprs; i++) {
        if (m->gathered[i] && !emit_is_straight(m, i)) {
            emit_fill_up(m, "half", i);
            emit_line(m, "f32s_of_%ss(wide%d, half%d);", assay_dtype_name(k->exprs[k->exprs[i].sources[0]].dtype), i, i);
        }
    }
    free(named);
}

void emit_plain_range(emitter *m, int phase, const lane_range *range) {
    bool *named = malloc((size_t)m->k->n_exprs + 1);
    if (named == NULL) {
        m->out.failed = true;
        return;
    }
    memcpy(named, m->named, (size_t)m->k->n_exprs);
    lane_loop l;
    const bool looks = emit_begin_indices(m, range);
    if (looks) {
        emit_want_phase(m, phase);
    }
    emit_open_lanes(m, range, &l);
    emit_body(m, phase, false);
    emit_close_lanes(m, range, &l, named);
    emit_end_indices(m, looks);
    free(named);
}
