/* SPDX-License-Identifier: Apache-2.0 */
/* Halves that lie wherever an index says. A block of such is put side by side and then converted as a whole: compilers have no
   vector code for loads of 16 bits from here and there, and so none for what is computed of them. */
#include "engine/compile/emit.h"

bool emit_is_gathered_half(const emitter *m, const expr *e) {
    int reads[EXPR_MAX_READS];
    int n = e->kind == EXPR_LOAD && e->dtype == ASSAY_F16 && m->k->vector >= 0 ? index_reads(m->k, e->at, e->guard, reads, 0) : 0;
    bool by_lanes = false;
    for (int r = 0; r < n; r++) {
        by_lanes |= (m->k->exprs[reads[r]].variables >> m->k->vector & 1) != 0;
    }
    return by_lanes;
}

void emit_choose_gathered(emitter *m) {
    const kernel *k = m->k;
    for (int i = 0; i < k->n_exprs; i++) {
        const expr *e = &k->exprs[i];
        int reads[EXPR_MAX_READS], n = expr_reads(k, e, reads);
        bool follows = false;
        for (int r = 0; r < n; r++) {
            follows |= m->follows[reads[r]];
        }
        m->gathered[i] = e->kind == EXPR_CAST && e->dtype == ASSAY_F32 && emit_is_gathered_half(m, &k->exprs[e->sources[0]]) &&
                         !follows && m->wanted[i] && !m->named[i] && emit_is_made(m, i) && m->saved_in[e->sources[0]] < 0 &&
                         (e->variables & k->beside) == 0 && emit_block_lanes(m) == EMIT_BLOCK_LANES;
        m->follows[i] = follows || m->gathered[i];
    }
}

bool emit_takes_lanes_twice(const emitter *m, int phase, int64_t rest) {
    enum { LEAST_REST = 32, LEAST_GATHERED = 8 };
    bool halves = false, gathered = false;
    for (int i = 0; i < m->k->n_exprs; i++) {
        halves |= m->widened[i] && m->k->exprs[i].kind == EXPR_CAST;
        gathered |= m->gathered[i];
    }
    for (int i = 0; i < m->k->n_roots; i++) {
        halves |= m->staged[i] && m->narrowed[i];
    }
    return halves && rest >= (gathered ? LEAST_GATHERED : LEAST_REST) && !m->streams && m->flow == FLOW_NONE && emit_may_repeat(m, phase);
}
