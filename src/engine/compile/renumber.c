/* SPDX-License-Identifier: Apache-2.0 */
/* The phases of a kernel, anew: what follows from a reduction comes a phase behind it. */
#include "engine/compile/passes.h"

static int latest(int a, int b) {
    return a > b ? a : b;
}

void renumber_phases(kernel *k, int guessed) {
    int reads[EXPR_MAX_READS];
    k->n_phases = 1;
    for (int i = 0; i < k->n_exprs; i++) { /* what an expression reads comes before it */
        expr *e = &k->exprs[i];
        e->phase = e->kind == EXPR_RESULT ? k->exprs[k->roots[e->root].expr].phase + (e->root != guessed) : 0;
        for (int r = expr_reads(k, e, reads) - 1; r >= 0; r--) {
            e->phase = latest(e->phase, k->exprs[reads[r]].phase);
        }
    }
    for (int i = 0; i < k->n_roots; i++) {
        root *r = &k->roots[i];
        r->phase = k->exprs[r->expr].phase;
        for (int n = index_reads(k, r->at, -1, reads, 0) - 1; n >= 0; n--) {
            r->phase = latest(r->phase, k->exprs[reads[n]].phase);
        }
        k->n_phases = latest(k->n_phases, r->phase + 1);
    }
    columns_come_last(k);
}
