/* SPDX-License-Identifier: Apache-2.0 */
/* Halves that lie wherever an index says. A block of such is put side by side and then converted as a whole: compilers have no
   vector code for loads of 16 bits from here and there, and so none for what is computed of them. */
#include "engine/compile/emit/halves.h"

#include "engine/compile/emit/facts.h"
#include "engine/compile/emit/values.h"

#include <stdio.h>

bool emit_is_gathered_half(const emitter *m, const expr *e) {
    int reads[EXPR_MAX_READS];
    int n = e->kind == EXPR_LOAD && e->dtype == ASSAY_F16 && m->k->vector >= 0 ? index_reads(m->k, e->at, e->guard, reads, 0) : 0;
    bool by_lanes = false;
    for (int r = 0; r < n; r++) {
        by_lanes |= (m->k->exprs[reads[r]].variables >> m->k->vector & 1) != 0;
    }
    return by_lanes;
}

/* Nearer ones are loaded together, and sorted. */
enum { APART = 8 };

bool emit_is_apart_half(const emitter *m, const expr *e) {
    int64_t stride;
    for (int v = 0; v < m->k->n_variables; v++) {
        if (m->k->variables[v].tile != 0) { /* squares are turned round */
            return false;
        }
    }
    return e->kind == EXPR_LOAD && e->dtype == ASSAY_F16 && m->k->vector >= 0 && index_stride(e->at, m->k->vector, &stride) &&
           (stride >= APART || stride <= -APART);
}

/* Compilers do so themselves, and better than the text where many loads share lines; but where something of 8 bytes is computed for each lane
   as well they take as many lanes at once as a vector has of bf16. */
bool emit_puts_bf16_together(const emitter *m) {
    enum { MOST_LOADS = 4 };
    const kernel *k = m->k;
    int apart = 0;
    for (int i = 0; i < k->n_exprs && k->vector >= 0; i++) {
        const expr *e = &k->exprs[i];
        int64_t stride;
        if (e->kind == EXPR_MAP && dtype_size(e->dtype) == 8 && (e->variables >> k->vector & 1) != 0) {
            return true;
        }
        apart += e->kind == EXPR_LOAD && e->dtype == ASSAY_BF16 && index_stride(e->at, k->vector, &stride) && stride != 0 && stride != 1;
    }
    return apart <= MOST_LOADS;
}

/* Regularly apart: put side by side, sums of every second of [64, 64, 64] take 0.4 of the time, additions of every eighth of [4096, 1024] 0.7
   (an Emerald Rapids, 2026-11); but sums along rows further apart 1.4. Of bf16 the largest of 2 x 2 and where it was take 0.36, averages of
   2 x 2 0.75, but averages of 3 x 3, two apart, 2.1. */
static bool is_strided_half(const emitter *m, const expr *e) {
    int64_t stride;
    const bool is_half = e->dtype == ASSAY_F16 || (e->dtype == ASSAY_BF16 && emit_puts_bf16_together(m));
    if (!m->rows || e->kind != EXPR_LOAD || !is_half || e->guard >= 0 || m->k->vector < 0 ||
        !index_stride(e->at, m->k->vector, &stride)) {
        return false;
    }
    const bool is_far = stride >= APART || stride <= -APART;
    return stride != 0 && stride != 1 && !(m->k->has_classes && is_far);
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
        const expr *from = n > 0 ? &k->exprs[e->sources[0]] : e;
        bool is_half = from->dtype == ASSAY_F16 || from->dtype == ASSAY_BF16, is_short = m->short_lanes > 0 && emit_is_dense_load(m, from);
        m->gathered[i] = e->kind == EXPR_CAST && e->dtype == ASSAY_F32 &&
                         ((is_half && is_short) || is_strided_half(m, from) || emit_is_gathered_half(m, from)) &&
                         !follows && m->wanted[i] && !m->named[i] && emit_is_made(m, i) && m->saved_in[e->sources[0]] < 0 &&
                         (e->variables & k->beside) == 0 && emit_block_lanes(m) == EMIT_BLOCK_LANES;
        m->follows[i] = follows || m->gathered[i];
    }
}

bool emit_is_straight(const emitter *m, int i) {
    return m->gathered[i] && m->short_lanes > 0 && emit_is_dense_load(m, &m->k->exprs[m->k->exprs[i].sources[0]]);
}

bool emit_takes_lanes_twice(const emitter *m, int phase, int64_t rest) {
    enum { LEAST_REST = 32, LEAST_GATHERED = 8 };
    bool halves = false, gathered = false;
    for (int i = 0; i < m->k->n_exprs; i++) {
        const expr *e = &m->k->exprs[i];
        halves |= m->widened[i] && e->kind == EXPR_CAST && m->k->exprs[e->sources[0]].dtype == ASSAY_F16;
        gathered |= m->gathered[i];
    }
    for (int i = 0; i < m->k->n_roots; i++) {
        halves |= m->staged[i] && m->narrowed[i] && m->k->roots[i].store_dtype == ASSAY_F16;
    }
    return halves && rest >= (gathered ? LEAST_GATHERED : LEAST_REST) && !m->streams && m->flow == FLOW_NONE && emit_may_repeat(m, phase);
}

/* The instruction for bf16 takes denormals for 0: what is only rounded on its way keeps them. */
bool emit_can_narrow(const emitter *m, const root *r) {
    const expr *e = &m->k->exprs[r->expr];
    int64_t stride;
    bool dense = m->k->vector >= 0 && index_stride(r->at, m->k->vector, &stride) && stride == 1;
    if (e->kind == EXPR_CAST && e->dtype == ASSAY_BF16 && m->k->exprs[e->sources[0]].kind == EXPR_LOAD) {
        return false;
    }
    return emit_block_lanes(m) == EMIT_BLOCK_LANES && r->kind == ROOT_STORE && emit_in_loops(m, r) && dense &&
           e->kind == EXPR_CAST && dialect_narrow(e->dtype, PAIRS_NONE) != NULL && r->store_dtype == e->dtype &&
           m->k->exprs[e->sources[0]].dtype == ASSAY_F32 &&
           m->saved_in[r->expr] < 0 && !m->named[r->expr];
}

bool emit_passes_on(const emitter *m, int phase) {
    bool all = true, any = false;
    for (int i = 0; i < m->k->n_roots; i++) {
        const root *r = &m->k->roots[i];
        if (r->phase != phase || !emit_in_loops(m, r)) {
            continue;
        }
        int from = emit_is_narrowed(m, i) ? m->k->exprs[r->expr].sources[0] : -1;
        all &= from >= 0 && !r->streams && !m->c->options->streams_all && emit_is_dense_load(m, &m->k->exprs[from]) && !m->turned[from] &&
               m->saved_in[from] < 0;
        any = true;
    }
    return any && all && (m->k->vector >= 0 && m->k->beside == 0);
}

void emit_halves_store(emitter *m, const root *r, int i, bool passes) {
    const expr *from = &m->k->exprs[m->k->exprs[r->expr].sources[0]];
    text source = {0};
    if (passes) {
        text_addf(&source, ", b%d + ", from->buffer);
        emit_index(m, &source, from->at, -1);
        text_add(&source, ");");
    } else {
        text_addf(&source, ", made%d);", i);
    }
    char before[32];
    snprintf(before, sizeof before, "%s(", dialect_narrow(r->store_dtype, m->pairs));
    emit_address_call(m, before, r->buffer, r->at, text_get(&source));
    m->out.failed |= source.failed;
    text_clear(&source);
}
