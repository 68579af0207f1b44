/* SPDX-License-Identifier: Apache-2.0 */
/* Exponentials that do not wait for the largest number. Where a kernel subtracts it only to keep exponentials in range, any number
   near it does: what is stored does not depend on it. So the first few elements' largest stands for all, exponentials are taken
   while the row is read, and a row in which another lies far above is done again with the largest, which is known by then. That
   takes a phase less, and what it would read again. */
#include "engine/compile/emit/guess.h"

#include "engine/compile/emit/block_functions.h"
#include "engine/compile/emit/blocks.h"
#include "engine/compile/emit/deviations.h"
#include "engine/compile/emit/facts.h"
#include "engine/compile/emit/lane_arrays.h"
#include "engine/compile/emit/lane_loops.h"
#include "engine/compile/emit/reductions.h"
#include "engine/compile/emit/values.h"
#include "engine/compile/emit/wants.h"
#include "engine/compile/emit/writing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* e^30 leaves what it multiplies 25 orders of magnitude; a difference of 30 rounds to 1e-6 at most. */
#define GUESS_BELOW "30.0f"

/* What becomes of a value when the number subtracted is higher by h: it is higher by n h, or e^(n h) times as large. */
typedef struct shift {
    bool fails; /* neither */
    bool factor;
    int n;      /* 0: it does not depend on it */
} shift;

static const shift FAILS = {.fails = true};

static bool is_fixed(shift s) {
    return !s.fails && s.n == 0;
}

static shift of_summands(shift a, shift b, int sign) {
    if (is_fixed(a) && is_fixed(b)) {
        return a;
    }
    if (a.factor || b.factor) { /* their sum, where both grow alike */
        return a.factor && b.factor && a.n == b.n ? a : FAILS;
    }
    return (shift){.n = a.n + sign * b.n};
}

static shift of_factors(shift a, shift b, int sign) {
    bool may = (a.factor || a.n == 0) && (b.factor || b.n == 0);
    int n = a.n + sign * b.n;
    return !may || n < -1 || n > 1 ? FAILS : (shift){.factor = n != 0, .n = n};
}

/* Whether expression i is an element less the largest of such elements: never far above 0. */
static bool is_below_largest(const kernel *k, int i, int largest) {
    const expr *e = &k->exprs[i];
    const expr *less = e->kind == EXPR_MAP && e->fn == FN_SUB ? &k->exprs[e->sources[1]] : NULL;
    return less != NULL && e->sources[0] == k->roots[largest].expr && less->kind == EXPR_RESULT && less->root == largest;
}

static shift of_map(const kernel *k, const expr *e, const shift *all, int largest) {
    shift x = all[e->sources[0]], y = e->n_sources > 1 ? all[e->sources[1]] : x;
    switch (e->fn) {
    case FN_EXP:
        return is_below_largest(k, e->sources[0], largest) ? (shift){.factor = true, .n = -1} : FAILS;
    case FN_LOG:
        return x.factor ? (shift){.n = x.n} : FAILS;
    case FN_NEG:
        return x.factor ? x : (shift){.n = -x.n};
    case FN_ADD:
    case FN_SUB:
        return of_summands(x, y, e->fn == FN_ADD ? 1 : -1);
    case FN_MUL:
    case FN_DIV:
        return of_factors(x, y, e->fn == FN_MUL ? 1 : -1);
    case FN_SELECT: {
        shift no = all[e->sources[2]];
        const expr *otherwise = &k->exprs[e->sources[2]];
        bool is_zero = otherwise->kind == EXPR_NUMBER && otherwise->number.f == 0;
        bool same = y.factor == no.factor && y.n == no.n;
        return is_fixed(x) && (same || (y.factor && is_zero)) ? y : FAILS;
    }
    default:
        return FAILS;
    }
}

static shift shift_of(const kernel *k, int i, const shift *all, int largest) {
    const expr *e = &k->exprs[i];
    int reads[EXPR_MAX_READS], n = expr_reads(k, e, reads);
    if (e->kind == EXPR_RESULT) {
        const root *r = &k->roots[e->root];
        shift s = all[r->expr];
        return e->root == largest ? (shift){.n = 1} : is_fixed(s) || (s.factor && r->how == RED_SUM) ? s : FAILS;
    }
    bool fixed = true, fails = false;
    for (int r = 0; r < n; r++) {
        fixed &= is_fixed(all[reads[r]]);
        fails |= all[reads[r]].fails;
    }
    if (fixed || fails) {
        return fixed ? (shift){0} : FAILS;
    }
    if (e->dtype != ASSAY_F32 || (e->kind != EXPR_MAP && e->kind != EXPR_CAST)) {
        return FAILS;
    }
    return e->kind == EXPR_CAST ? (k->exprs[e->sources[0]].dtype == ASSAY_F32 ? all[e->sources[0]] : FAILS) : of_map(k, e, all, largest);
}

/* Whether what the kernel stores stays as it is when another number is taken for this root's result, and exponentials are all that
   it keeps in range. */
static bool may_guess(const kernel *k, int largest, shift *all) {
    const root *r = &k->roots[largest];
    bool any = false;
    if (r->kind != ROOT_REDUCE || r->how != RED_MAX || r->dtype != ASSAY_F32) {
        return false;
    }
    for (int i = 0; i < k->n_exprs; i++) {
        all[i] = shift_of(k, i, all, largest);
        any |= !all[i].fails && all[i].factor && k->exprs[i].kind == EXPR_MAP;
    }
    for (int i = 0; i < k->n_roots; i++) {
        const root *other = &k->roots[i];
        shift s = all[other->expr];
        bool sums = other->kind == ROOT_REDUCE && other->how == RED_SUM && other->buffer < 0 && s.factor && !s.fails;
        if (!is_fixed(s) && !sums) {
            return false;
        }
    }
    return any;
}

/* Whether nothing in this root's phase may not be done again. */
static bool may_redo(const kernel *k, int guessed) {
    for (int i = 0; i < k->n_roots; i++) {
        if (k->roots[i].kind == ROOT_COLUMNS && k->roots[i].phase == k->roots[guessed].phase) {
            return false;
        }
    }
    return true;
}

/* A kernel of the emitter's own, that it may change; NULL when memory is out. */
kernel *emit_own_kernel(emitter *m) {
    const kernel *k = m->k;
    kernel *own = arena_make(m->c->memory, 1, sizeof *own);
    expr *exprs = arena_make(m->c->memory, (size_t)k->n_exprs + EMIT_MORE_EXPRS, sizeof *exprs);
    root *roots = arena_make(m->c->memory, (size_t)k->n_roots, sizeof *roots);
    if (own == NULL || exprs == NULL || roots == NULL) {
        m->out.failed = true;
        return NULL;
    }
    memcpy(exprs, k->exprs, (size_t)k->n_exprs * sizeof *exprs);
    memcpy(roots, k->roots, (size_t)k->n_roots * sizeof *roots);
    *own = *k;
    own->exprs = exprs;
    own->roots = roots;
    return own;
}

void emit_choose_near_mean(emitter *m, bool may_store) {
    deviation_form form;
    kernel *own = find_deviations(m->k, &form) && (may_store || !form.is_stored) ? emit_own_kernel(m) : NULL;
    if (own == NULL) {
        return;
    }
    emit_use_near_mean(own, &form, m->rows);
    if (may_redo(own, form.sum)) {
        m->guessed = form.sum;
        m->squares = form.squares;
        m->near_of = form.element;
        m->k = own;
    }
}

/* The root whose result need only be near, as far as what the kernel keeps of it allows that; -1: none. */
static int guessable(emitter *m) {
    const kernel *k = m->k;
    int largest = -1;
    shift *all = malloc(((size_t)k->n_exprs + 1) * sizeof *all);
    m->out.failed |= all == NULL;
    for (int i = 0; all != NULL && largest < 0 && i < k->n_roots; i++) {
        largest = may_guess(k, i, all) ? i : -1;
    }
    free(all);
    return largest;
}

static void guess_root(emitter *m, int largest) {
    kernel *own = emit_own_kernel(m);
    if (own == NULL) {
        return;
    }
    renumber_phases(own, largest);
    if (may_redo(own, largest)) {
        m->guessed = largest;
        m->near_of = m->k->roots[largest].expr;
        m->k = own;
    }
}

void emit_choose_guess(emitter *m) {
    int largest = guessable(m);
    if (largest >= 0) {
        guess_root(m, largest);
    } else if (!m->rows) {
        emit_choose_near_mean(m, false);
    }
}

void emit_choose_guess_of_row(emitter *m) {
    int largest = guessable(m);
    if (largest >= 0 && m->k->roots[largest].buffer < 0) {
        guess_root(m, largest);
    }
}

void emit_choose_quiet(emitter *m) {
    const kernel *k = m->k;
    shift *all = malloc(((size_t)k->n_exprs + 1) * sizeof *all);
    m->out.failed |= all == NULL;
    for (int i = 0; all != NULL && i < k->n_roots; i++) {
        m->quiet[i] = m->guessed < 0 && k->roots[i].buffer < 0 && may_guess(k, i, all);
    }
    free(all);
}

bool emit_guesses_in(const emitter *m, int phase) {
    return m->guessed >= 0 && m->k->roots[m->guessed].phase == phase;
}

/* The first few elements, into an array near: halves as they lie together, which one by one takes as long as all else of a short row. */
static void emit_near(emitter *m, int lanes) {
    const expr *near = &m->k->exprs[m->near_of], *of = near->kind == EXPR_CAST ? &m->k->exprs[near->sources[0]] : near;
    char before[64], after[32];
    if (lanes == 1 || near->dtype != ASSAY_F32 || (of->dtype != ASSAY_F16 && of->dtype != ASSAY_BF16) || !emit_is_dense_load(m, of)) {
        snprintf(before, sizeof before, "near%d", m->guessed);
        snprintf(after, sizeof after, "%d", lanes);
        emit_lanes_to(m, m->near_of, before, &(lane_range){"0", after, "0", 0, false});
        return;
    }
    block_scope start;
    snprintf(before, sizeof before, "few_f32s_of_%ss(near%d, ", assay_dtype_name(of->dtype), m->guessed);
    snprintf(after, sizeof after, ", %d);", lanes);
    emit_open_scope(m, "0", &start);
    emit_address_call(m, before, of->buffer, of->at, after);
    emit_close_scope(m, &start);
}

void emit_guess_into(emitter *m, int phase, const char *to) {
    const kernel *k = m->k;
    definition made[KERNEL_MAX_VARIABLES];
    int n = 0;
    char lanes[32], name[32];
    bool several = k->lanes >= EMIT_GUESS_LANES;
    emit_line(m, "{");
    m->depth++;
    for (int i = 0; i < k->n_loops; i++) {
        emit_define(m, &made[n++], "const int64_t ", "v%d = 0", k->loops[i]);
    }
    emit_want_all(m, phase);
    memset(m->wanted, 0, (size_t)k->n_exprs);
    emit_want(m, m->near_of);
    m->block = "0";
    m->guesses = true;
    if (m->rows) {
        bool all = k->variables[k->vector].size % k->lanes == 0;
        snprintf(lanes, sizeof lanes, "%lld", (long long)k->lanes);
        emit_lanes_to(m, m->near_of, to, &(lane_range){"0", all ? lanes : "n_lanes", "first_lane", 0, false});
    } else {
        snprintf(name, sizeof name, "near%d", m->guessed);
        emit_line(m, "float %s[%d];", name, several ? EMIT_GUESS_LANES : 1);
        emit_near(m, several ? EMIT_GUESS_LANES : 1);
        if (m->squares >= 0) {
            emit_near_sum(m, to);
        } else {
            emit_line(m, several ? "%s = largest_of_16_f32(%s);" : "%s = %s[0];", to, name);
        }
    }
    m->guesses = false;
    memset(m->named, 0, (size_t)k->n_exprs);
    while (n-- > 0) {
        emit_drop_unused(m, &made[n]);
    }
    m->depth--;
    emit_line(m, "}");
}

void emit_guess(emitter *m, int phase) {
    char name[32];
    snprintf(name, sizeof name, "r%d_%d", m->guessed, phase);
    emit_guess_into(m, phase, name);
}

void emit_ordered_guess(emitter *m) {
    emit_line(m, "float r%d_0 = near%d_of[task - group];", m->guessed, m->guessed);
}

void emit_guess_columns(emitter *m, int phase) {
    const kernel *k = m->k;
    definition made[KERNEL_MAX_VARIABLES];
    int n = 0, i = m->guessed, inner = k->loops[k->n_loops - 1];
    char name[32];
    snprintf(name, sizeof name, "r%d_%d", i, phase);
    emit_lane_array(m, "float", name, "");
    snprintf(name, sizeof name, "low%d", i);
    emit_lane_array(m, "float", name, "");
    snprintf(name, sizeof name, "high%d", i);
    emit_lane_array(m, "float", name, "");
    emit_line(m, "for (int64_t l = 0; l < %lld; l++) {", (long long)k->lanes);
    emit_line(m, "    r%d_%d[l] = 0;", i, phase);
    emit_line(m, "    low%d[l] = __builtin_inff();", i);
    emit_line(m, "    high%d[l] = -__builtin_inff();", i);
    emit_line(m, "}");
    emit_line(m, "for (int64_t v%d = 0; v%d < %d; v%d++) {", inner, inner, NEAR_ROWS, inner);
    m->depth++;
    for (int v = 0; v < k->n_loops - 1; v++) {
        emit_define(m, &made[n++], "const int64_t ", "v%d = 0", k->loops[v]);
    }
    emit_row_taken(m, phase);
    while (n-- > 0) {
        emit_drop_unused(m, &made[n]);
    }
    m->depth--;
    emit_line(m, "}");
    emit_near_columns(m, phase);
}

void emit_open_redo(emitter *m, int phase) {
    const kernel *k = m->k;
    int i = m->guessed;
    if (m->squares >= 0) {
        emit_open_far(m, phase);
        return;
    }
    emit_root_result(m, i);
    if (!m->rows) {
        emit_line(m, "if (!(r%d - r%d_%d <= " GUESS_BELOW ")) {", i, i, phase);
        m->depth++;
        emit_line(m, "r%d_%d = r%d;", i, phase, i);
        return;
    }
    bool all = k->variables[k->vector].size % k->lanes == 0;
    emit_line(m, "uint32_t far%d = 0;", i);
    emit_line(m, all ? "for (int64_t l = 0; l < %lld; l++) {" : "for (int64_t l = 0; l < n_lanes; l++) {", (long long)k->lanes);
    emit_line(m, "    far%d |= !(r%d[l] - r%d_%d[l] <= " GUESS_BELOW ");", i, i, i, phase);
    emit_line(m, "}");
    emit_line(m, "if (far%d != 0) {", i);
    m->depth++;
    emit_line(m, "memcpy(r%d_%d, r%d, %lld * sizeof *r%d);", i, phase, i, (long long)k->lanes, i);
}

void emit_close_redo(emitter *m, int phase) {
    if (m->squares >= 0) {
        emit_close_far(m, phase);
        return;
    }
    m->depth--;
    emit_line(m, "}");
}

void emit_open_guessing(emitter *m) {
    emit_line(m, "for (_Bool again = 0;; again = 1) {");
    m->depth++;
}

void emit_close_guessing(emitter *m, int phase) {
    int i = m->guessed;
    emit_root_result(m, i);
    emit_line(m, "if (again || r%d - r%d_%d <= " GUESS_BELOW ") {", i, i, phase);
    emit_line(m, "    break;");
    emit_line(m, "}");
    emit_line(m, "r%d_%d = r%d;", i, phase, i);
    emit_starts(m, phase);
    m->depth--;
    emit_line(m, "}");
}
