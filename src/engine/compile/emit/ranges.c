/* SPDX-License-Identifier: Apache-2.0 */
/* Which loop a range of lanes becomes: one that asks nothing, one of quick forms beside one of slow ones, or a plain one. */
#include "engine/compile/emit/ranges.h"

#include "engine/compile/emit/facts.h"
#include "engine/compile/emit/held.h"
#include "engine/compile/emit/inside.h"
#include "engine/compile/emit/lane_ranges.h"
#include "engine/compile/emit/values.h"
#include "engine/compile/emit/wants.h"
#include "engine/compile/emit/writing.h"

#include <stdlib.h>
#include <string.h>

/* What quick form of the lane at hand fails is noted. Names what they are functions of. */
static void emit_checks(emitter *m, const bool *all_wanted) {
    for (int i = 0; i < m->k->n_exprs; i++) {
        if (!all_wanted[i] || m->named[i] || !emit_has_quick(m, i)) {
            continue;
        }
        memset(m->wanted, 0, (size_t)m->k->n_exprs);
        for (int s = 0; s < m->k->exprs[i].n_sources; s++) {
            emit_want(m, m->k->exprs[i].sources[s]);
        }
        for (int e = 0; e < m->k->n_exprs; e++) {
            if (m->wanted[e] && !m->named[e]) {
                emit_expr(m, e);
            }
        }
        emit_quick_check(m, i);
    }
}

/* Functions that have a quick form are looked at over all lanes: if each holds, the loop is vector code, else it is written with
   the forms that branch and call. Where lanes may be computed twice the quick forms are tried at once. */
static void emit_quick_lanes(emitter *m, int phase, const lane_range *range, const bool *named, bool *all_wanted) {
    lane_loop l;
    bool at_once = emit_may_repeat(m, phase);
    bool wide = false;
    for (int i = 0; i < m->k->n_exprs; i++) {
        wide |= m->wanted[i] && emit_has_quick(m, i) && m->k->exprs[i].dtype == ASSAY_I64;
    }
    memcpy(all_wanted, m->wanted, (size_t)m->k->n_exprs);
    emit_line(m, wide ? "uint64_t rare = 0;" : "uint32_t rare = 0;");
    emit_open_lanes(m, range, &l);
    m->quick = true;
    emit_checks(m, all_wanted);
    memcpy(m->wanted, all_wanted, (size_t)m->k->n_exprs);
    if (at_once) {
        emit_body(m, phase, false);
    }
    emit_close_lanes(m, range, &l, named);
    for (int quick = !at_once; quick >= 0; quick--) {
        emit_line(m, at_once ? "if (rare != 0) {" : quick ? "if (rare == 0) {" : "} else {");
        m->depth++;
        m->quick = quick;
        emit_open_lanes(m, range, &l);
        emit_body(m, phase, false);
        emit_close_lanes(m, range, &l, named);
        m->depth--;
    }
    emit_line(m, "}");
}

static void emit_range_of(emitter *m, int phase, const lane_range *range) {
    size_t n_exprs = (size_t)m->k->n_exprs;
    bool *named = malloc(2 * n_exprs + 1);
    if (named == NULL) {
        m->out.failed = true;
        return;
    }
    memcpy(named, m->named, n_exprs);
    bool quick = false;
    for (int i = 0; i < m->k->n_exprs; i++) {
        quick |= m->wanted[i] && !m->named[i] && emit_has_quick(m, i);
    }
    if (quick) {
        emit_line(m, "{");
        m->depth++;
        emit_quick_lanes(m, phase, range, named, named + n_exprs);
        m->depth--;
        emit_line(m, "}");
    } else if (!emit_inside(m, phase, range)) {
        emit_plain_range(m, phase, range);
    }
    free(named);
}

void emit_range(emitter *m, int phase, const lane_range *range) {
    bool holds = false;
    for (int i = 0; i < m->k->n_roots; i++) {
        holds |= m->k->roots[i].phase == phase && emit_is_held(m, i);
    }
    if (!holds || emit_goes_past_held(m, range->block > 0)) {
        emit_range_of(m, phase, range);
        return;
    }
    emit_line(m, "{");
    m->depth++;
    emit_open_held(m, phase, range);
    emit_range_of(m, phase, range);
    emit_close_held(m, phase);
    m->depth--;
    emit_line(m, "}");
}
