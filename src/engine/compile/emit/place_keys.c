/* SPDX-License-Identifier: Apache-2.0 */
/* How reductions to the place of an extreme take elements in. Halves are not widened: with the sign's bits turned they are whole numbers in
   the same order, a vector of which holds twice as many, and NaN is the largest of them. */
#include "engine/compile/emit/place_keys.h"

#include "engine/compile/emit/facts.h"

bool emit_is_place(reduction how) {
    return how == RED_ARGMAX || how == RED_ARGMIN;
}

bool emit_takes_in_order(const emitter *m, const root *r) {
    const kernel *k = m->k;
    int64_t stride, least = INT64_MAX;
    for (int i = 0; i < k->n_loops; i++) {
        if (!index_stride(r->place, k->loops[i], &stride) || stride <= 0 || stride >= least) {
            return false; /* an inner loop's places lie between the next outer one's */
        }
        least = stride;
    }
    bool along = k->vector >= 0 && !m->rows; /* each lane has every so manieth of a row */
    if (along && (!index_stride(r->place, k->vector, &stride) || stride <= 0 || stride >= least)) {
        return false;
    }
    return k->vector >= 0 && m->flow == FLOW_NONE && k->beside == 0;
}

static int64_t last_place(const root *r) {
    int64_t low, high;
    index_range(r->place, &low, &high);
    return high;
}

/* Places of elements taken in order need 32 bits, as many as a choice between two of them has, as long as these count so far; beside keys
   16. */
const char *emit_place_type(const emitter *m, const root *r) {
    return emit_is_keyed(m, (int)(r - m->k->roots))                       ? "int16_t"
           : emit_takes_in_order(m, r) && last_place(r) < INT32_MAX ? "int32_t"
                                                                     : "int64_t";
}

int emit_place_of(const emitter *m, int i) {
    const root *r = &m->k->roots[i];
    const bool may = m->flow == FLOW_NONE && i != m->guessed && (r->how == RED_MAX || r->how == RED_MIN);
    for (int p = 0; p < m->k->n_roots && may; p++) {
        const root *other = &m->k->roots[p];
        if (other->kind == ROOT_REDUCE && r->kind == ROOT_REDUCE && other->how == (r->how == RED_MAX ? RED_ARGMAX : RED_ARGMIN) &&
            other->expr == r->expr && other->phase == r->phase && other->dtype == r->dtype) {
            return p;
        }
    }
    return -1;
}

dtype emit_key_type(const emitter *m, const root *r) {
    const expr *e = &m->k->exprs[r->expr];
    return e->kind == EXPR_CAST && e->dtype == ASSAY_F32 ? m->k->exprs[e->sources[0]].dtype : ASSAY_F32;
}

bool emit_is_keyed(const emitter *m, int i) {
    const root *r = &m->k->roots[i];
    if (r->kind != ROOT_REDUCE || !emit_is_place(r->how) || r->dtype != ASSAY_F32 || !emit_takes_in_order(m, r)) {
        return false;
    }
    dtype t = emit_key_type(m, r);
    bool may = (t == ASSAY_F16 || t == ASSAY_BF16) && !emit_is_row(m, &m->k->exprs[r->expr]); /* which is computed before the loops */
    return may && last_place(r) < INT16_MAX;
}

int emit_taken(const emitter *m, int i) {
    const root *r = &m->k->roots[i];
    int other = r->kind == ROOT_REDUCE ? emit_place_of(m, i) : -1;
    bool keyed = emit_is_keyed(m, other >= 0 ? other : i);
    return keyed || emit_is_narrowed(m, i) ? m->k->exprs[r->expr].sources[0] : r->expr;
}
