/* SPDX-License-Identifier: Apache-2.0 */
/* Tasks in flight: what belongs to a row of theirs as a whole, and goes on from phase to phase. */
#include "engine/compile/emit/flow_rows.h"

#include "engine/compile/emit/facts.h"
#include "engine/compile/emit/flow_pieces.h"
#include "engine/compile/emit/guess.h"
#include "engine/compile/emit/lane_arrays.h"
#include "engine/compile/emit/phases.h"
#include "engine/compile/emit/reductions.h"
#include "engine/compile/emit/team.h"
#include "engine/compile/emit/twins.h"
#include "engine/compile/emit/values.h"
#include "engine/compile/emit/wants.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

static bool uses_result(emitter *m, int of, int phase) {
    emit_want_all(m, phase);
    for (int i = 0; i < m->k->n_exprs; i++) {
        if (m->wanted[i] && m->k->exprs[i].kind == EXPR_RESULT && m->k->exprs[i].root == of) {
            return true;
        }
    }
    return false;
}

/* Whether a root's result has a name in this phase: it is used there, or handed on to a phase of an earlier task. */
static bool has_result(emitter *m, int of, int phase) {
    const root_kind kind = m->k->roots[of].kind;
    if (kind != ROOT_REDUCE || phase < m->k->roots[of].phase + (of != m->guessed)) {
        return false;
    }
    for (int p = phase; p < (m->flow == FLOW_ALL ? m->k->n_phases : phase + 1); p++) {
        if (uses_result(m, of, p)) {
            return true;
        }
    }
    return false;
}

static const char *type_of_result(const root *r) {
    return dialect_type(r->how == RED_ARGMAX || r->how == RED_ARGMIN ? ASSAY_I64 : r->dtype);
}

static void declare(emitter *m, const char *type, char letter, int i, int phase) {
    if (m->rows) {
        char name[32];
        snprintf(name, sizeof name, "%c%d_%d", letter, i, phase);
        emit_lane_array(m, type, name, " = {0}");
    } else {
        emit_line(m, "%s %c%d_%d = 0;", type, letter, i, phase);
    }
}

void emit_declare_rows(emitter *m) {
    const kernel *k = m->k;
    size_t from = m->out.length;
    for (int p = 0; p < k->n_phases; p++) {
        for (int i = 0; i < k->n_roots; i++) {
            if (has_result(m, i, p)) {
                declare(m, type_of_result(&k->roots[i]), 'r', i, p);
            }
        }
        emit_choose_rows(m, p);
        for (int i = 0; i < k->n_exprs; i++) {
            if (m->kept[i]) {
                declare(m, dialect_type(k->exprs[i].dtype), 't', i, p);
            }
        }
    }
    emit_twin(m, from);
}

static void emit_row_values(emitter *m, int phase) {
    const kernel *k = m->k;
    for (int i = 0; i < k->n_exprs; i++) {
        const expr *e = &k->exprs[i];
        if (m->wanted[i] && !m->named[i] && emit_is_row(m, e) && e->kind != EXPR_NUMBER && e->kind != EXPR_RESULT) {
            emit_expr(m, i);
        }
    }
    const size_t from = emit_open_once(m);
    for (int i = 0; i < k->n_roots; i++) {
        if (k->roots[i].phase == phase && !emit_in_loops(m, &k->roots[i])) {
            emit_root(m, i);
        }
    }
    emit_close_once(m, from);
}

/* A row's own values that a phase needs, and its stores. */
void emit_rows(emitter *m, int phase) {
    const kernel *k = m->k;
    bool any = false;
    emit_choose_rows(m, phase);
    memset(m->wanted, 0, (size_t)k->n_exprs);
    for (int i = 0; i < k->n_exprs; i++) {
        if (m->kept[i]) {
            emit_want(m, i);
            any = true;
        }
    }
    for (int i = 0; i < k->n_roots; i++) {
        if (k->roots[i].phase == phase && !emit_in_loops(m, &k->roots[i])) {
            emit_want(m, k->roots[i].expr);
            emit_want_index(m, k->roots[i].at);
            any = true;
        }
    }
    if (!any) {
        return;
    }
    if (!m->rows) {
        emit_row_values(m, phase);
        return;
    }
    bool all = k->variables[k->vector].size % k->lanes == 0;
    definition name;
    emit_line(m, "INDEPENDENT");
    emit_line(m, all ? "for (int64_t l = 0; l < %lld; l++) {" : "for (int64_t l = 0; l < n_lanes; l++) {", (long long)k->lanes);
    m->depth++;
    emit_define(m, &name, "const int64_t ", "v%d = first_lane + l", k->vector);
    emit_row_values(m, phase);
    emit_drop_unused(m, &name);
    m->depth--;
    emit_line(m, "}");
}

/* The phase of a task for which what stood for a result lies too far off, once more. */
static void emit_redo(emitter *m, int phase) {
    root *guessed = &m->k->roots[m->guessed];
    emit_open_redo(m, phase);
    guessed->phase = m->squares >= 0 ? phase : INT_MIN; /* its result is known */
    emit_rows(m, phase);
    emit_starts(m, phase);
    emit_enter_rows(m, phase);
    emit_flow_loops(m, phase);
    guessed->phase = phase;
    emit_close_redo(m, phase);
    emit_enter_rows(m, phase);
}

/* What a phase's reductions come to: written, and named for the phases that need it. */
void emit_phase_results(emitter *m, int phase) {
    const kernel *k = m->k;
    emit_enter_rows(m, phase);
    if (emit_guesses_in(m, phase)) {
        emit_redo(m, phase);
    }
    emit_results(m, phase);
    for (int i = 0; i < k->n_roots; i++) {
        for (int p = phase + 1; p < (m->flow == FLOW_ALL ? phase + 2 : k->n_phases); p++) {
            if (k->roots[i].phase != phase || !has_result(m, i, p)) {
                continue;
            }
            char from[32];
            bool is_exact = m->squares >= 0 && (i == m->guessed || i == m->squares);
            snprintf(from, sizeof from, is_exact ? "exact%d" : i == m->guessed ? "r%d_%d" : "r%d", i, phase);
            if (m->rows) {
                emit_line(m, "memcpy(r%d_%d, %s, %lld * sizeof *%s);", i, p, from, (long long)k->lanes, from);
            } else {
                emit_line(m, "r%d_%d = %s;", i, p, from);
            }
        }
    }
}

/* Results that tasks further back need go one phase on. */
void emit_handing_on(emitter *m) {
    const kernel *k = m->k;
    for (int i = 0; i < k->n_roots && m->flow == FLOW_ALL; i++) {
        for (int p = k->n_phases - 1; p > k->roots[i].phase + 1; p--) {
            if (!has_result(m, i, p)) {
                continue;
            }
            if (m->rows) {
                emit_line(m, "memcpy(r%d_%d, r%d_%d, %lld * sizeof *r%d_%d);", i, p, i, p - 1, (long long)k->lanes, i, p);
            } else {
                emit_line(m, "r%d_%d = r%d_%d;", i, p, i, p - 1);
            }
        }
    }
}
