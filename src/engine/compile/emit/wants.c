/* SPDX-License-Identifier: Apache-2.0 */
/* Which expressions are needed that have no name yet. */
#include "engine/compile/emit/wants.h"

#include "engine/compile/emit/facts.h"
#include "engine/compile/emit/place_keys.h"

#include <string.h>

void emit_want(emitter *m, int i) {
    if (m->named[i] || m->wanted[i]) {
        return;
    }
    m->wanted[i] = true;
    if (m->widened[i] || (m->saved_in[i] >= 0 && m->saved_in[i] < m->phase)) {
        return; /* read back, not computed */
    }
    const expr *e = &m->k->exprs[i];
    if (m->never >= 0 && e->kind == EXPR_MAP && e->fn == FN_SELECT && e->sources[0] == m->never) {
        emit_want(m, e->sources[2]);
        return;
    }
    int reads[EXPR_MAX_READS], n = expr_reads(m->k, e, reads);
    for (int r = 0; r < n; r++) {
        if (e->kind != EXPR_LOAD || (!m->looked[i] && !m->tabled[reads[r]])) {
            emit_want(m, reads[r]);
        }
    }
}

void emit_want_index(emitter *m, index_sum a) {
    int reads[EXPR_MAX_READS], n = index_reads(m->k, a, -1, reads, 0);
    for (int r = 0; r < n; r++) {
        if (!m->tabled[reads[r]]) {
            emit_want(m, reads[r]);
        }
    }
}

void emit_want_phase(emitter *m, int phase) {
    memset(m->wanted, 0, (size_t)m->k->n_exprs);
    for (int i = 0; i < m->k->n_roots; i++) {
        const root *r = &m->k->roots[i];
        if (r->phase == phase && emit_in_loops(m, r)) {
            emit_want(m, emit_taken(m, i));
            if (!m->k->lists_rows) { /* there the row is known by then */
                emit_want_index(m, r->at);
            }
        }
    }
}

void emit_want_all(emitter *m, int phase) {
    const kernel *k = m->k;
    m->phase = phase;
    memset(m->wanted, 0, (size_t)k->n_exprs);
    memset(m->named, 0, (size_t)k->n_exprs);
    for (int i = 0; i < k->n_roots; i++) {
        if (k->roots[i].phase == phase) {
            emit_want(m, k->roots[i].expr);
            emit_want_index(m, k->roots[i].at);
        }
    }
}

/* Marks what a phase needs, and of that what is a row's own: computed for each phase anew from results, and kept by name where
   looking it up is cheaper. */
void emit_choose_rows(emitter *m, int phase) {
    emit_want_all(m, phase);
    for (int i = 0; i < m->k->n_exprs; i++) {
        const expr *e = &m->k->exprs[i];
        bool row = m->wanted[i] && emit_is_row(m, e) && e->kind != EXPR_NUMBER && e->kind != EXPR_RESULT;
        m->kept[i] = row && (!m->rows || (e->kind == EXPR_MAP && e->phase > 0));
    }
}

/* The same; what is kept has a name by now. */
void emit_enter_rows(emitter *m, int phase) {
    emit_choose_rows(m, phase);
    memcpy(m->named, m->kept, (size_t)m->k->n_exprs);
    memset(m->wanted, 0, (size_t)m->k->n_exprs);
}
