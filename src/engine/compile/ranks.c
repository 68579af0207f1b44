/* SPDX-License-Identifier: Apache-2.0 */
/* The few largest of a short row, each of which is the largest of what lies below the one before (topk): they are found together, in one
   phase. Four of each of 4096 rows of 64 take 55 us so, with their places, where four phases take 112 (two cores of a Zen 4, 2026-11). */
#include "engine/compile/passes.h"

#include <string.h>

enum { LEAST_RANKS = 2, MOST_RANKS = 4, LEAST_ROW = 16, LONGEST_ROW = 64, ORDER_BITS = 32 };

static bool is_map(const kernel *k, int i, scalar_function fn) {
    return k->exprs[i].kind == EXPR_MAP && k->exprs[i].fn == fn;
}

static bool is_number(const kernel *k, int i, int64_t n) {
    return k->exprs[i].kind == EXPR_NUMBER && k->exprs[i].number.i == n;
}

static bool is_result(const kernel *k, int i, int of) {
    return k->exprs[i].kind == EXPR_RESULT && k->exprs[i].root == of;
}

/* What the keys of a row's elements are made of: (i64)order << 32 | last - place. The order's expression; -1: they are no such. */
static int orders_of(const kernel *k, int keys) {
    if (!is_map(k, keys, FN_OR)) {
        return -1;
    }
    const int shifted = k->exprs[keys].sources[0], from_end = k->exprs[keys].sources[1];
    if (!is_map(k, shifted, FN_SHIFT_LEFT) || !is_number(k, k->exprs[shifted].sources[1], ORDER_BITS) || !is_map(k, from_end, FN_SUB) ||
        !is_number(k, k->exprs[from_end].sources[0], k->variables[k->vector].size - 1)) {
        return -1;
    }
    const expr *wide = &k->exprs[k->exprs[shifted].sources[0]], *at = &k->exprs[k->exprs[from_end].sources[1]];
    int v;
    if (wide->kind != EXPR_CAST || at->kind != EXPR_INDEX || !index_is_variable(at->at, &v) || v != k->vector) {
        return -1;
    }
    return k->exprs[wide->sources[0]].dtype == ASSAY_I32 ? wide->sources[0] : -1;
}

static bool is_largest(const root *r) {
    return r->kind == ROOT_REDUCE && r->how == RED_MAX && r->dtype == ASSAY_I64 && r->ranks == 0;
}

/* The root that is the largest of the keys below those of root `of`; -1: there is none. */
static int next_of(const kernel *k, int keys, int of) {
    for (int i = 0; i < k->n_roots; i++) {
        const root *r = &k->roots[i];
        if (!is_largest(r) || r->phase != k->roots[of].phase + 1 || !is_map(k, r->expr, FN_SELECT)) {
            continue;
        }
        const int *of_choice = k->exprs[r->expr].sources, below = of_choice[0];
        if (is_map(k, below, FN_LT) && k->exprs[below].sources[0] == keys && is_result(k, k->exprs[below].sources[1], of) &&
            of_choice[1] == keys && is_number(k, of_choice[2], INT64_MIN)) {
            return i;
        }
    }
    return -1;
}

/* Marks what expression i needs. */
static void want(const kernel *k, int i, bool *wanted) {
    int reads[EXPR_MAX_READS];
    if (wanted[i]) {
        return;
    }
    wanted[i] = true;
    for (int r = expr_reads(k, &k->exprs[i], reads) - 1; r >= 0; r--) {
        want(k, reads[r], wanted);
    }
}

/* Whether expression i is one of the ranks that root `first` finds. */
static bool is_rank_of(const kernel *k, int i, int first) {
    const root *r = k->exprs[i].kind == EXPR_RESULT ? &k->roots[k->exprs[i].root] : NULL;
    return r != NULL && r->ranks > 0 && r->ranks_root == first;
}

/* Whether a place in the ranks is asked for: by anything but what takes the upper half. */
static bool asks_for_places(const kernel *k, int first, bool *wanted) {
    int reads[EXPR_MAX_READS];
    for (int i = 0; i < k->n_roots; i++) {
        const root *r = &k->roots[i];
        want(k, r->expr, wanted);
        for (int n = index_reads(k, r->at, -1, reads, 0) - 1; n >= 0; n--) {
            want(k, reads[n], wanted);
        }
        if (is_rank_of(k, r->expr, first) || (r->ranks > 0 && r->ranks_root == first && r->buffer >= 0)) {
            return true;
        }
    }
    for (int i = 0; i < k->n_exprs; i++) {
        const bool takes_order = is_map(k, i, FN_SHIFT_RIGHT) && is_number(k, k->exprs[i].sources[1], ORDER_BITS);
        for (int n = wanted[i] && !takes_order ? expr_reads(k, &k->exprs[i], reads) - 1 : -1; n >= 0; n--) {
            if (is_rank_of(k, reads[n], first)) {
                return true;
            }
        }
    }
    return false;
}

static void join(kernel *k, const int *ranked, int n, int orders) {
    for (int i = 0; i < n; i++) {
        root *r = &k->roots[ranked[i]];
        r->ranks = n;
        r->rank = i;
        r->ranks_root = ranked[0];
        r->expr = orders;
    }
}

bool join_ranks(compiler *c, kernel *k) {
    if (k->is_product || k->has_frame || !k->has_classes || k->vector < 0 || !k->variables[k->vector].is_reduced || k->n_loops > 0 ||
        k->beside != 0 || k->turns_lines || k->lanes != k->variables[k->vector].size || k->lanes < LEAST_ROW || k->lanes > LONGEST_ROW) {
        return true;
    }
    bool any = false;
    for (int i = 0; i < k->n_roots; i++) {
        int ranked[MOST_RANKS], n = 0;
        const int keys = k->roots[i].expr, orders = is_largest(&k->roots[i]) ? orders_of(k, keys) : -1;
        for (int r = orders >= 0 ? i : -1; r >= 0 && n < MOST_RANKS; r = next_of(k, keys, r)) {
            ranked[n++] = r;
        }
        if (n < LEAST_RANKS || next_of(k, keys, ranked[n - 1]) >= 0) {
            continue;
        }
        bool *wanted = arena_make(c->memory, (size_t)k->n_exprs + 1, 1);
        if (wanted == NULL) {
            c->failed = true;
            return false;
        }
        join(k, ranked, n, orders);
        k->roots[i].ranks_places = asks_for_places(k, i, wanted);
        any = true;
    }
    if (any) {
        renumber_phases(k, -1);
    }
    return true;
}
