/* SPDX-License-Identifier: Apache-2.0 */
/* What of a phase goes through arrays of a block of lanes. */
#include "engine/compile/emit/block_choice.h"

#include "engine/compile/emit/block_functions.h"
#include "engine/compile/emit/facts.h"
#include "engine/compile/emit/fetching.h"
#include "engine/compile/emit/halves.h"
#include "engine/compile/emit/pairs.h"
#include "engine/compile/emit/wants.h"

#include <stdlib.h>
#include <string.h>

/* What a block makes as a whole: random bits of places in a row, the cast of a half that is read, or one that is about to be
   written. */
bool emit_can_widen(const emitter *m, int i, bool functions) {
    const expr *e = &m->k->exprs[i];
    if (emit_block_lanes(m) != EMIT_BLOCK_LANES) {
        return false;
    }
    if (e->kind == EXPR_RANDOM) {
        return emit_is_dense(m, e->at) && emit_is_made(m, i);
    }
    dtype from = e->kind == EXPR_CAST ? m->k->exprs[e->sources[0]].dtype : e->dtype;
    return e->kind == EXPR_CAST && e->dtype == ASSAY_F32 && emit_is_made(m, i) && m->saved_in[e->sources[0]] < 0 &&
           (from == ASSAY_F16 || (from == ASSAY_BF16 && functions && (m->pairs != PAIRS_NONE || emit_is_for_function(m, i)))) &&
           emit_is_dense_load(m, &m->k->exprs[e->sources[0]]);
}

/* Whether functions are to be computed block by block: not where a lane may look beyond its operand, or where a quick form may
   fail, which are loops of another kind. */
static bool may_block_functions(const emitter *m) {
    bool may = m->k->vector >= 0;
    for (int i = 0; i < m->k->n_exprs; i++) {
        const expr *e = &m->k->exprs[i];
        bool quick = emit_has_quick(m, i) && !emit_is_block_function(m, i);
        may &= !m->wanted[i] || m->named[i] || (e->kind != EXPR_WITHIN && e->guard < 0 && !quick);
    }
    return may;
}

bool emit_is_function(const emitter *m, int i) {
    return m->widened[i] && m->k->exprs[i].kind == EXPR_MAP && !m->operands[i];
}

/* Whether expression `of`, which a function takes, is to be computed once, as what others may read as well. */
static bool is_shareable(const emitter *m, int of) {
    const expr *e = &m->k->exprs[of];
    return !m->widened[of] && e->kind == EXPR_MAP && e->dtype == ASSAY_F32 && !m->named[of] && m->saved_in[of] < 0 &&
           (e->variables >> m->k->vector & 1) != 0;
}

/* What a function takes and the rest of the phase, or another function, reads as well. */
static void choose_operands(emitter *m, int phase) {
    const kernel *k = m->k;
    bool *wanted = malloc((size_t)k->n_exprs + 1);
    if (wanted == NULL) {
        m->out.failed = true;
        return;
    }
    memcpy(wanted, m->wanted, (size_t)k->n_exprs);
    emit_want_phase(m, phase);
    for (int i = 0; i < k->n_exprs; i++) {
        for (int s = 0; emit_is_function(m, i) && s < k->exprs[i].n_sources; s++) {
            int of = k->exprs[i].sources[s];
            if (!is_shareable(m, of)) {
                continue;
            }
            bool read = m->wanted[of] || (s > 0 && k->exprs[i].sources[0] == of);
            for (int other = i + 1; other < k->n_exprs; other++) {
                read |= emit_is_function(m, other) && emit_is_operand(&k->exprs[other], of);
            }
            m->operands[of] = m->widened[of] = read;
        }
    }
    memcpy(m->wanted, wanted, (size_t)k->n_exprs);
    free(wanted);
}

bool emit_choose_block(emitter *m, int phase) {
    const kernel *k = m->k;
    bool any = emit_fetches_in(m, phase), functions = may_block_functions(m);
    for (int i = 0; i < k->n_roots; i++) {
        const root *r = &k->roots[i];
        m->narrowed[i] = emit_can_narrow(m, r); /* from now on: others may name the half as well */
        m->staged[i] = r->phase == phase && (emit_is_streamed(m, r) || m->narrowed[i] || emit_scans_along(m));
        any |= m->staged[i];
    }
    emit_choose_gathered(m);
    for (int i = 0; i < k->n_exprs; i++) {
        functions &= !m->gathered[i];
    }
    m->pairs = functions ? emit_pairs_of(m, phase) : PAIRS_NONE;
    memset(m->operands, 0, (size_t)k->n_exprs);
    for (int i = 0; i < k->n_exprs; i++) {
        m->widened[i] = m->wanted[i] && !m->named[i] && (k->exprs[i].variables & k->beside) == 0 &&
                        (m->gathered[i] || emit_can_widen(m, i, functions) || (functions && emit_is_block_function(m, i)));
        any |= m->widened[i];
    }
    if (functions) {
        choose_operands(m, phase);
    }
    return any;
}

bool emit_choose_short(emitter *m, int phase) {
    const kernel *k = m->k;
    bool any = false, functions = may_block_functions(m);
    memset(m->operands, 0, (size_t)k->n_exprs);
    m->pairs = PAIRS_NONE;
    for (int i = 0; i < k->n_roots; i++) {
        const root *r = &k->roots[i];
        m->narrowed[i] = emit_can_narrow(m, r);
        m->staged[i] = r->phase == phase && m->narrowed[i];
        any |= m->staged[i];
    }
    emit_choose_gathered(m);
    for (int i = 0; i < k->n_exprs; i++) {
        functions &= !m->gathered[i] || !emit_is_gathered_half(m, &k->exprs[k->exprs[i].sources[0]]);
    }
    for (int i = 0; i < k->n_exprs; i++) {
        m->widened[i] = m->wanted[i] && !m->named[i] && (k->exprs[i].variables & k->beside) == 0 &&
                        (m->gathered[i] || (functions && emit_is_block_function(m, i)));
        any |= m->widened[i];
    }
    if (functions) {
        choose_operands(m, phase);
    }
    return any;
}

void emit_choose_none(emitter *m) {
    memset(m->staged, 0, (size_t)m->k->n_roots);
    memset(m->widened, 0, (size_t)m->k->n_exprs);
    memset(m->gathered, 0, (size_t)m->k->n_exprs);
    memset(m->operands, 0, (size_t)m->k->n_exprs);
}

void emit_block_arrays(emitter *m) {
    for (int i = 0; i < m->k->n_exprs; i++) {
        if (m->widened[i] && m->into[i] == 0) {
            emit_line(m, m->k->exprs[i].kind == EXPR_RANDOM ? "uint32_t random%d[%d];" : "float wide%d[%d];", i, emit_block_lanes(m));
        }
    }
}

void emit_functions(emitter *m, const lane_range *range) {
    for (int i = 0; i < m->k->n_exprs; i++) {
        if (m->operands[i]) {
            emit_shared_operand(m, i, range);
        } else if (emit_is_function(m, i)) {
            emit_block_function(m, i, range);
        }
    }
}
