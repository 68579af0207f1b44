/* SPDX-License-Identifier: Apache-2.0 */
/* Sums of squares of deviations from a mean that the kernel itself finds, as emit/deviations.c takes them in one reading. */
#include "engine/compile/passes.h"

#include <math.h>

static bool is_sum(const root *r) {
    return r->kind == ROOT_REDUCE && r->how == RED_SUM && r->dtype == ASSAY_F32 && r->phase <= 1;
}

/* Whether expression i is a root's result divided by the number of elements, which is `n`. */
static bool is_mean(const kernel *k, int i, double n) {
    const expr *e = &k->exprs[i];
    if (e->kind != EXPR_MAP || e->n_sources != 2 || (e->fn != FN_MUL && e->fn != FN_DIV) || e->dtype != ASSAY_F32) {
        return false;
    }
    const expr *of = &k->exprs[e->sources[0]], *by = &k->exprs[e->sources[1]];
    if (of->kind != EXPR_RESULT || by->kind != EXPR_NUMBER) {
        return false;
    }
    double share = e->fn == FN_MUL ? by->number.f * n : by->number.f / n;
    return fabs(share - 1) < 1e-6;
}

/* Whether the mean serves something else than deviations. */
static bool keeps_mean(const kernel *k, const deviation_form *form) {
    for (int i = 0; i < k->n_exprs; i++) {
        int reads[EXPR_MAX_READS], n_reads = expr_reads(k, &k->exprs[i], reads);
        for (int r = 0; r < n_reads; r++) {
            if ((reads[r] == form->result && i != form->mean) || (reads[r] == form->mean && i != form->deviation)) {
                return true;
            }
        }
    }
    for (int i = 0; i < k->n_roots; i++) {
        if (k->roots[i].kind == ROOT_STORE && (k->roots[i].expr == form->mean || k->roots[i].expr == form->result)) {
            return true;
        }
    }
    return k->roots[form->sum].buffer >= 0;
}

/* Whether root i sums squares of what another one's mean is taken off. */
static bool find_at(const kernel *k, int i, double n, deviation_form *form) {
    const root *r = &k->roots[i];
    const expr *square = &k->exprs[r->expr];
    if (!is_sum(r) || r->phase != 1 || square->kind != EXPR_MAP || square->fn != FN_MUL || square->sources[0] != square->sources[1]) {
        return false;
    }
    const expr *less = &k->exprs[square->sources[0]];
    if (less->kind != EXPR_MAP || less->fn != FN_SUB || less->dtype != ASSAY_F32 || !is_mean(k, less->sources[1], n)) {
        return false;
    }
    const expr *mean = &k->exprs[less->sources[1]], *result = &k->exprs[mean->sources[0]];
    const root *sum = &k->roots[result->root];
    if (!is_sum(sum) || sum->phase != 0 || sum->expr != less->sources[0]) {
        return false;
    }
    *form = (deviation_form){.sum = result->root, .squares = i, .element = sum->expr, .result = mean->sources[0],
                             .mean = less->sources[1], .deviation = square->sources[0],
                             .is_stored = r->buffer >= 0 || sum->buffer >= 0};
    return true;
}

bool find_deviations(const kernel *k, deviation_form *form) {
    double n = 1;
    for (int v = 0; v < k->n_variables; v++) {
        n *= k->variables[v].is_reduced ? (double)k->variables[v].size : 1;
    }
    for (int i = 0; i < k->n_roots; i++) {
        if (find_at(k, i, n, form)) {
            return true;
        }
    }
    return false;
}

bool is_in_loops(const kernel *k, const root *r) {
    uint64_t reduced = 0;
    for (int v = 0; v < k->n_variables; v++) {
        reduced |= k->variables[v].is_reduced ? (uint64_t)1 << v : 0;
    }
    return !k->has_classes || r->kind != ROOT_STORE || (r->variables & reduced) != 0;
}

bool is_single_pass(const kernel *k) {
    for (int i = 0; i < k->n_roots; i++) {
        if (k->roots[i].phase > 0 && is_in_loops(k, &k->roots[i])) {
            return false;
        }
    }
    return true;
}

/* What two cores' own caches do not hold is better read once; a last block of columns that is not full costs as much as some others
   (over the first of [700, 1000] it took as long as the second reading). */
static const double ONCE_BYTES = 4 << 20, UNEVEN_BYTES = 16 << 20;
enum { FULL_COLUMNS = 64 };

/* A mean that is a result is told by a sum about what may lie a quarter of a deviation off: over the second of [16, 2048, 1024] it was off by
   more than adding up makes of it. */
enum { STORED_ROWS = 640 };

bool find_column_deviations(const compiler *c, const kernel *k, deviation_form *form) {
    int inner = -1;
    int64_t rows = 1;
    for (int v = 0; v < k->n_variables; v++) {
        inner = k->variables[v].is_reduced ? v : inner;
        rows *= k->variables[v].is_reduced ? k->variables[v].size : 1;
    }
    bool by_columns = k->vector >= 0 && !k->variables[k->vector].is_reduced && k->variables[k->vector].tile == 0 && inner >= 0;
    if (!by_columns || k->variables[inner].size < 4 * NEAR_ROWS || k->variables[inner].tile != 0 || !find_deviations(k, form) ||
        (rows > STORED_ROWS && keeps_mean(k, form))) {
        return false;
    }
    double least = k->variables[k->vector].size % FULL_COLUMNS == 0 ? ONCE_BYTES : UNEVEN_BYTES;
    if (k->bytes < least && !c->options->streams_all) {
        return false;
    }
    for (int i = 0; i < k->n_roots; i++) {
        if (i != form->sum && i != form->squares && is_in_loops(k, &k->roots[i])) {
            return false;
        }
    }
    return true;
}
