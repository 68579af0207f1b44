/* SPDX-License-Identifier: Apache-2.0 */
/* Blocks whose lanes may stand in any order: functions of bf16, alone or in products, that become bf16. Two of these lie in a word,
   so those in even places are brought to f32 by a shift and those in odd ones by a mask, and go back as cheaply; to keep them in
   order takes twice the instructions, where arithmetic is what such loops wait for. */
#include "engine/compile/emit/pairs.h"

#include "engine/compile/emit/facts.h"
#include "engine/compile/emit/held.h"

static bool varies(const emitter *m, int i) {
    return (m->k->exprs[i].variables >> m->k->vector & 1) != 0;
}

/* Expression i, all of it made in the lanes, of numbers and bf16 that lie side by side: its NaN have no digits below bf16's. */
static bool is_lane_wise(const emitter *m, int i) {
    const expr *e = &m->k->exprs[i];
    if (e->kind == EXPR_NUMBER) {
        return true;
    }
    if (m->named[i] || !varies(m, i) || e->guard >= 0 || m->saved_in[i] >= 0) {
        return false;
    }
    if (e->kind == EXPR_CAST) {
        const expr *from = &m->k->exprs[e->sources[0]];
        return e->dtype == ASSAY_F32 && from->dtype == ASSAY_BF16 && emit_is_dense_load(m, from) && m->saved_in[e->sources[0]] < 0;
    }
    return e->kind == EXPR_MAP && (e->dtype == ASSAY_F32 || (e->dtype == ASSAY_B8 && m->k->exprs[e->sources[0]].dtype == ASSAY_F32));
}

/* A function's result, or a product with one: halfway between two bf16 it is but by chance, and may be rounded either way then. Not so
   powers: those of numbers with few digits are exact. */
static bool is_of_function(const emitter *m, int i, int depth) {
    enum { MOST_PRODUCTS = 4 };
    const expr *e = &m->k->exprs[i];
    if (e->kind != EXPR_MAP || m->named[i] || depth == MOST_PRODUCTS) {
        return false;
    }
    return (emit_is_block_function(m, i) && e->n_sources == 1) ||
           (e->fn == FN_MUL && (is_of_function(m, e->sources[0], depth + 1) || is_of_function(m, e->sources[1], depth + 1)));
}

bool emit_is_for_function(const emitter *m, int i) {
    bool is = false;
    for (int f = i + 1; f < m->k->n_exprs; f++) {
        is |= m->wanted[f] && !m->named[f] && emit_is_operand(&m->k->exprs[f], i) && emit_is_block_function(m, f);
    }
    return is;
}

/* Expression i, the same for all lanes or made in each. */
static bool goes_anywhere(const emitter *m, int i) {
    return !varies(m, i) || is_lane_wise(m, i);
}

/* Whether all that a phase's roots do with bf16 may go in any order of lanes, whatever it is: sums in registers, and what leaves by blocks.
   Without an instruction that rounds them only those go so that leave past the caches. Of three rows that layer norm's gradient reads, to
   keep them in order takes 8 instructions in 13 (Zen 4). */
static bool takes_any_order(const emitter *m, int phase) {
    const kernel *k = m->k;
    const bool rounds = m->c->options->rounds_pairs;
    bool any = false;
    if (!rounds && (!m->spares_stores || m->rows)) {
        return false;
    }
    for (int i = 0; i < k->n_roots; i++) {
        const root *r = &k->roots[i];
        if (r->phase != phase || !emit_in_loops(m, r)) {
            continue;
        }
        bool leaves = emit_is_narrowed(m, i) && r->store_dtype == ASSAY_BF16 && !emit_is_joined(m, i) && (rounds || emit_is_streamed(m, r));
        bool sums = emit_is_held(m, i) && !m->rows; /* there each lane's by itself */
        if ((!leaves && !sums) || !is_lane_wise(m, leaves ? k->exprs[r->expr].sources[0] : r->expr)) {
            return false;
        }
        any = true;
    }
    for (int i = 0; i < k->n_exprs && any; i++) {
        const expr *e = &k->exprs[i];
        bool is_end = e->kind == EXPR_CAST && e->dtype == ASSAY_BF16; /* a root's, as below */
        any &= !m->wanted[i] || e->kind == EXPR_LOAD || is_end || goes_anywhere(m, i);
        for (int s = 0; s < e->n_sources && m->wanted[i] && e->kind == EXPR_MAP; s++) {
            any &= goes_anywhere(m, e->sources[s]);
        }
    }
    return any;
}

/* Whether all that a phase stores is made by functions. */
static bool makes_by_functions(const emitter *m, int phase) {
    const kernel *k = m->k;
    bool any = false;
    for (int i = 0; i < k->n_roots; i++) {
        const root *r = &k->roots[i];
        if (r->phase != phase || !emit_in_loops(m, r)) {
            continue;
        }
        if (!emit_is_narrowed(m, i) || r->store_dtype != ASSAY_BF16 || !is_of_function(m, k->exprs[r->expr].sources[0], 0)) {
            return false;
        }
        any = true;
    }
    for (int i = 0; i < k->n_exprs && any; i++) {
        const expr *e = &k->exprs[i];
        bool is_end = e->kind == EXPR_CAST && e->dtype == ASSAY_BF16; /* a root's: nothing else reads it, or that is told below */
        if (m->wanted[i] && e->kind != EXPR_LOAD && !is_end && !is_lane_wise(m, i)) {
            return false;
        }
        for (int s = 0; s < e->n_sources && m->wanted[i] && e->kind == EXPR_MAP; s++) {
            if (!is_lane_wise(m, e->sources[s])) {
                return false;
            }
        }
    }
    return any;
}

/* Where a store is dear the two instructions that round to nearest take no longer than the four of the other way, elsewhere exp takes 1.28
   of the time by them and tanh 1.4 (Emerald Rapids, 2026-11). */
pair_order emit_pairs_of(const emitter *m, int phase) {
    const bool anyway = takes_any_order(m, phase);
    if (!(anyway && m->spares_stores) && makes_by_functions(m, phase)) {
        return PAIRS_EITHER_WAY;
    }
    return anyway ? PAIRS_NEAREST : PAIRS_NONE;
}
