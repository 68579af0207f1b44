/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels to text. A kernel is a function over tasks; a task is a row of phases, each the loops over what is reduced; the
   innermost loop runs over the lanes of one vector variable, so that any C compiler makes vector code of it. */
#include "engine/compile/dialect.h"
#include "engine/compile/passes.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct emitter {
    compiler *c;
    const kernel *k;
    text out;
    int depth;       /* of indentation */
    bool rows;       /* the vector variable is one of the tasks': what rows hold are arrays of lanes */
    uint64_t reduced; /* the set of reduced variables */
    bool *named;     /* expressions that have a variable by now, visible from here */
    bool *kept;      /* those that stay visible to the task's end: scalars of a row, or arrays of lanes */
    bool *wanted;    /* in the phase at hand */
    bool failed;     /* a function that the language lacks */
    int lacking;     /* the expression */
} emitter;

static void line(emitter *m, const char *format, ...) PRINTF_LIKE(2, 3);
static void line(emitter *m, const char *format, ...) {
    for (int i = 0; i < m->depth; i++) {
        text_add(&m->out, "    ");
    }
    va_list args;
    va_start(args, format);
    text_addv(&m->out, format, args);
    va_end(args);
    text_add(&m->out, "\n");
}

/* --- index expressions ---------------------------------------------------------------------------------------------------- */

static void add_index(const emitter *m, text *out, index_sum a);
static void add_name(const emitter *m, text *out, int i);

static void add_atom(const emitter *m, text *out, const index_atom *atom) {
    if (atom->kind == ATOM_VARIABLE) {
        text_addf(out, "v%d", atom->id);
    } else if (atom->kind == ATOM_DATA) {
        int e = expr_find(m->k, atom->id, atom->n_at, atom->at);
        assert(e >= 0);
        text_add(out, "checked(");
        add_name(m, out, e);
        text_addf(out, ", %lld, &bad)", (long long)atom->high + 1);
    } else {
        int64_t low, high;
        index_range(atom->of, &low, &high);
        bool quotient = atom->kind == ATOM_QUOTIENT;
        text_add(out, low >= 0 ? "(" : quotient ? "floor_quotient(" : "floor_rest(");
        text_add(out, low >= 0 && (atom->of.n > 1 || atom->of.constant != 0 || atom->of.terms[0].factor != 1) ? "(" : "");
        add_index(m, out, atom->of);
        text_add(out, low >= 0 && (atom->of.n > 1 || atom->of.constant != 0 || atom->of.terms[0].factor != 1) ? ")" : "");
        text_addf(out, low >= 0 ? (quotient ? " / %lld)" : " %% %lld)") : ", %lld)", (long long)atom->divisor);
    }
}

static void add_index(const emitter *m, text *out, index_sum a) {
    bool first = true;
    for (int i = 0; i < a.n; i++) {
        int64_t factor = a.terms[i].factor;
        text_add(out, first ? (factor < 0 ? "-" : "") : factor < 0 ? " - " : " + ");
        factor = factor < 0 ? -factor : factor;
        if (factor != 1) {
            text_addf(out, "%lld * ", (long long)factor);
        }
        add_atom(m, out, a.terms[i].atom);
        first = false;
    }
    if (first || a.constant != 0) {
        text_addf(out, first ? "%lld" : a.constant < 0 ? " - %lld" : " + %lld",
                  (long long)(first || a.constant > 0 ? a.constant : -a.constant));
    }
}

/* --- expressions ------------------------------------------------------------------------------------------------------------ */

static bool is_row(const emitter *m, const expr *e) {
    return m->k->has_classes && (e->variables & m->reduced) == 0;
}

static void add_name(const emitter *m, text *out, int i) {
    const expr *e = &m->k->exprs[i];
    if (e->kind == EXPR_NUMBER) {
        dialect_number(out, e->dtype, e->number);
    } else if (e->kind == EXPR_RESULT) {
        text_addf(out, m->rows ? "r%d[l]" : "r%d", e->root);
    } else {
        text_addf(out, m->kept[i] && m->rows ? "t%d[l]" : "t%d", i);
    }
}

static void add_condition(const emitter *m, text *out, const expr *e) {
    for (int i = 0; i < e->n_bounds; i++) {
        const view_bound *b = &e->bounds[i];
        int64_t low, high;
        index_range(b->at, &low, &high);
        text_add(out, i > 0 ? " & " : "");
        if (low < b->low) {
            text_add(out, "(");
            add_index(m, out, b->at);
            text_addf(out, " >= %lld)", (long long)b->low);
        }
        text_add(out, low < b->low && high > b->high ? " & " : "");
        if (high > b->high) {
            text_add(out, "(");
            add_index(m, out, b->at);
            text_addf(out, " <= %lld)", (long long)b->high);
        }
    }
}

static void add_value(emitter *m, text *out, int i) {
    const expr *e = &m->k->exprs[i];
    text operand[EXPR_MAX_SOURCES] = {{0}};
    const char *operands[EXPR_MAX_SOURCES];
    for (int s = 0; s < e->n_sources; s++) {
        add_name(m, &operand[s], e->sources[s]);
        operands[s] = text_get(&operand[s]);
    }
    switch (e->kind) {
    case EXPR_LOAD:
        if (e->guard >= 0) {
            add_name(m, out, e->guard);
            text_add(out, " ? ");
        }
        text_addf(out, "b%d[", e->buffer);
        add_index(m, out, e->at);
        text_add(out, e->guard >= 0 ? "] : 0" : "]");
        break;
    case EXPR_INDEX:
        add_index(m, out, e->at);
        break;
    case EXPR_MAP: {
        dtype t = m->k->exprs[e->sources[e->n_sources - 1]].dtype;
        if (!dialect_function(out, e->fn, t, operands)) {
            m->failed = true;
            m->lacking = i;
        }
        break;
    }
    case EXPR_CAST:
        dialect_cast(out, m->k->exprs[e->sources[0]].dtype, e->dtype, operands[0]);
        break;
    case EXPR_WITHIN:
        add_condition(m, out, e);
        break;
    case EXPR_RANDOM:
        text_addf(out, "random_bits(%s, %d, ", operands[0], e->stream);
        add_index(m, out, e->at);
        text_add(out, ")");
        break;
    case EXPR_NUMBER:
    case EXPR_RESULT:
        break;
    }
    for (int s = 0; s < e->n_sources; s++) {
        out->failed |= operand[s].failed;
        text_clear(&operand[s]);
    }
}

static void emit_expr(emitter *m, int i) {
    const expr *e = &m->k->exprs[i];
    m->named[i] = true;
    if (e->kind == EXPR_NUMBER || e->kind == EXPR_RESULT) {
        return;
    }
    text value = {0};
    add_value(m, &value, i);
    bool array = m->kept[i] && m->rows;
    if (array) {
        line(m, "t%d[l] = %s;", i, text_get(&value));
    } else {
        line(m, "const %s t%d = %s;", dialect_type(e->dtype), i, text_get(&value));
    }
    m->out.failed |= value.failed;
    text_clear(&value);
}

/* Marks what expression i needs that has no name yet. */
static void want(emitter *m, int i) {
    if (m->named[i] || m->wanted[i]) {
        return;
    }
    m->wanted[i] = true;
    int reads[EXPR_MAX_READS], n = expr_reads(m->k, &m->k->exprs[i], reads);
    for (int r = 0; r < n; r++) {
        want(m, reads[r]);
    }
}

static void want_index(emitter *m, index_sum a) {
    int reads[EXPR_MAX_READS], n = index_reads(m->k, a, reads, 0);
    for (int r = 0; r < n; r++) {
        want(m, reads[r]);
    }
}

/* --- reductions --------------------------------------------------------------------------------------------------------------- */

static const char *start_of(reduction how, dtype t) {
    bool floating = dtype_is_floating(t);
    switch (how) {
    case RED_SUM:
        return "0";
    case RED_PROD:
        return "1";
    case RED_MAX:
    case RED_ARGMAX:
        return floating ? "-__builtin_inf()" : t == ASSAY_I64 ? "(-0x7fffffffffffffff - 1)" : t == ASSAY_B8 ? "0" : "(-0x7fffffff - 1)";
    default:
        return floating ? "__builtin_inf()" : t == ASSAY_I64 ? "0x7fffffffffffffff" : t == ASSAY_B8 ? "1" : "0x7fffffff";
    }
}

static bool is_place(reduction how) {
    return how == RED_ARGMAX || how == RED_ARGMIN;
}

/* `a` takes in x. */
static void emit_take(emitter *m, const root *r, const char *a, const char *x) {
    bool floating = dtype_is_floating(r->dtype);
    switch (r->how) {
    case RED_SUM:
        line(m, r->dtype == ASSAY_B8 ? "%s |= %s;" : "%s += %s;", a, x);
        break;
    case RED_PROD:
        line(m, r->dtype == ASSAY_B8 ? "%s &= %s;" : "%s *= %s;", a, x);
        break;
    case RED_MAX:
    case RED_MIN:
        line(m, floating ? "%s = (%s %s %s) | (%s != %s) ? %s : %s;" : "%s = %s %s %s ? %s : %s;", a, x,
             r->how == RED_MAX ? ">" : "<", a, x, floating ? x : a, x, a);
        break;
    default:
        break; /* emit_take_place */
    }
}

/* The same where the place counts: the first of equals, and the first NaN before all numbers. */
static void emit_take_place(emitter *m, const root *r, const char *a, const char *at, const char *x, const char *p) {
    const char *beats = r->how == RED_ARGMAX ? ">" : "<";
    if (dtype_is_floating(r->dtype)) {
        line(m, "const int wins = ((%s %s %s) & (%s == %s)) | ((%s != %s) & (%s == %s)) |", x, beats, a, a, a, x, x, a, a);
        line(m, "    (((%s == %s) | ((%s != %s) & (%s != %s))) & (%s < %s));", x, a, x, x, a, a, p, at);
    } else {
        line(m, "const int wins = (%s %s %s) | ((%s == %s) & (%s < %s));", x, beats, a, x, a, p, at);
    }
    line(m, "%s = wins ? %s : %s;", a, x, a);
    line(m, "%s = wins ? %s : %s;", at, p, at);
}

static void emit_accumulators(emitter *m, int phase) {
    for (int i = 0; i < m->k->n_roots; i++) {
        const root *r = &m->k->roots[i];
        if (r->phase != phase || (r->kind != ROOT_REDUCE && r->kind != ROOT_SCAN)) {
            continue;
        }
        line(m, "%s a%d[%lld];", dialect_type(r->dtype), i, (long long)m->k->lanes);
        if (is_place(r->how)) {
            line(m, "int64_t p%d[%lld];", i, (long long)m->k->lanes);
        }
        line(m, "for (int64_t l = 0; l < %lld; l++) {", (long long)m->k->lanes);
        line(m, "    a%d[l] = %s;", i, start_of(r->how, r->dtype));
        if (is_place(r->how)) {
            line(m, "    p%d[l] = 0x7fffffffffffffff;", i);
        }
        line(m, "}");
    }
}

/* Lanes to one result, when the vector ran along what was reduced; else the lanes are the results. */
static void emit_results(emitter *m, int phase) {
    for (int i = 0; i < m->k->n_roots; i++) {
        const root *r = &m->k->roots[i];
        if (r->phase != phase || r->kind != ROOT_REDUCE) {
            continue;
        }
        char a[32], at[32], x[32], p[32];
        bool placed = is_place(r->how);
        if (m->rows) {
            line(m, "%s *const r%d = %s%d;", placed ? "int64_t" : dialect_type(r->dtype), i, placed ? "p" : "a", i);
            continue;
        }
        if (m->k->lanes > 1) {
            snprintf(a, sizeof a, "a%d[0]", i);
            snprintf(at, sizeof at, "p%d[0]", i);
            snprintf(x, sizeof x, "a%d[l]", i);
            snprintf(p, sizeof p, "p%d[l]", i);
            /* In halves: the rounding error of a sum grows with its depth. */
            if (placed) {
                line(m, "for (int64_t l = 1; l < %lld; l++) {", (long long)m->k->lanes);
                m->depth++;
                emit_take_place(m, r, a, at, x, p);
                m->depth--;
                line(m, "}");
            } else {
                line(m, "for (int64_t half = %lld, n = %lld; n > 1; n = half, half = (half + 1) / 2) {",
                     (long long)(m->k->lanes + 1) / 2, (long long)m->k->lanes);
                m->depth++;
                line(m, "for (int64_t l = 0; l < n - half; l++) {");
                m->depth++;
                snprintf(a, sizeof a, "a%d[l]", i);
                snprintf(x, sizeof x, "a%d[l + half]", i);
                emit_take(m, r, a, x);
                m->depth--;
                line(m, "}");
                m->depth--;
                line(m, "}");
            }
        }
        line(m, "const %s r%d = %s%d[0];", placed ? "int64_t" : dialect_type(r->dtype), i, placed ? "p" : "a", i);
    }
}

/* --- a phase -------------------------------------------------------------------------------------------------------------------- */

static bool in_loops(const emitter *m, const root *r) {
    return !m->k->has_classes || (r->variables & m->reduced) != 0 || r->kind != ROOT_STORE;
}

static void emit_store(emitter *m, int i) {
    const root *r = &m->k->roots[i];
    text value = {0}, at = {0};
    add_name(m, &value, r->expr);
    add_index(m, &at, r->at);
    char a[32], p[32];
    snprintf(a, sizeof a, m->k->lanes > 1 ? "a%d[l]" : "a%d[0]", i);
    snprintf(p, sizeof p, m->k->lanes > 1 ? "p%d[l]" : "p%d[0]", i);
    if (r->kind == ROOT_REDUCE && is_place(r->how)) {
        text position = {0};
        add_index(m, &position, r->place);
        line(m, "const int64_t here%d = %s;", i, text_get(&position));
        char here[32];
        snprintf(here, sizeof here, "here%d", i);
        line(m, "{");
        m->depth++;
        emit_take_place(m, r, a, p, text_get(&value), here);
        m->depth--;
        line(m, "}");
        m->out.failed |= position.failed;
        text_clear(&position);
    } else if (r->kind == ROOT_REDUCE || r->kind == ROOT_SCAN) {
        emit_take(m, r, a, text_get(&value));
    }
    if (r->kind == ROOT_STORE) {
        line(m, "b%d[%s] = %s;", r->buffer, text_get(&at), text_get(&value));
    } else if (r->kind == ROOT_SCAN) {
        line(m, "b%d[%s] = %s;", r->buffer, text_get(&at), a);
    } else if (r->kind == ROOT_SCATTER && r->adds && r->dtype == ASSAY_B8) {
        line(m, "b%d[%s] |= %s;", r->buffer, text_get(&at), text_get(&value));
    } else if (r->kind == ROOT_SCATTER) {
        line(m, "b%d[%s] %s %s;", r->buffer, text_get(&at), r->adds ? "+=" : "=", text_get(&value));
    }
    m->out.failed |= value.failed || at.failed;
    text_clear(&value);
    text_clear(&at);
}

/* The innermost statements of a phase, inside the loop over lanes or without one. `before`: only what does not depend on the
   vector variable. */
static void emit_body(emitter *m, int phase, bool before) {
    uint64_t vector = m->k->vector >= 0 ? (uint64_t)1 << m->k->vector : 0;
    for (int i = 0; i < m->k->n_exprs; i++) {
        if (m->wanted[i] && !m->named[i] && (!before || (m->k->exprs[i].variables & vector) == 0)) {
            emit_expr(m, i);
        }
    }
    for (int i = 0; !before && i < m->k->n_roots; i++) {
        if (m->k->roots[i].phase == phase && in_loops(m, &m->k->roots[i])) {
            emit_store(m, i);
        }
    }
}

static void emit_lanes(emitter *m, int phase, int64_t n, const char *from) {
    bool *named = malloc((size_t)m->k->n_exprs);
    if (named == NULL) {
        m->out.failed = true;
        return;
    }
    memcpy(named, m->named, (size_t)m->k->n_exprs);
    line(m, "#pragma GCC ivdep");
    if (n > 0) {
        line(m, "for (int64_t l = 0; l < %lld; l++) {", (long long)n);
    } else {
        line(m, "for (int64_t l = 0; l < n_lanes; l++) {");
    }
    m->depth++;
    line(m, "const int64_t v%d = %s + l;", m->k->vector, from);
    emit_body(m, phase, false);
    m->depth--;
    line(m, "}");
    memcpy(m->named, named, (size_t)m->k->n_exprs);
    free(named);
}

static void emit_loops(emitter *m, int phase) {
    const kernel *k = m->k;
    if (k->vector >= 0 && k->variables[k->vector].size == 0) {
        return; /* lanes are at least one */
    }
    bool *named = malloc((size_t)k->n_exprs + 1);
    if (named == NULL) {
        m->out.failed = true;
        return;
    }
    memcpy(named, m->named, (size_t)k->n_exprs);
    for (int i = 0; i < k->n_loops; i++) {
        int v = k->loops[i];
        line(m, "for (int64_t v%d = 0; v%d < %lld; v%d++) {", v, v, (long long)k->variables[v].size, v);
        m->depth++;
    }
    if (k->vector < 0) {
        emit_body(m, phase, false);
    } else {
        emit_body(m, phase, true);
        const loop_variable *vector = &k->variables[k->vector];
        int64_t rest = vector->size % k->lanes;
        if (m->rows) {
            emit_lanes(m, phase, rest == 0 ? k->lanes : 0, "first_lane");
        } else {
            if (vector->size > k->lanes) {
                line(m, "for (int64_t lane = 0; lane < %lld; lane += %lld) {", (long long)(vector->size - rest),
                     (long long)k->lanes);
                m->depth++;
                emit_lanes(m, phase, k->lanes, "lane");
                m->depth--;
                line(m, "}");
            } else {
                emit_lanes(m, phase, k->lanes, "0");
            }
            if (rest > 0 && vector->size > k->lanes) {
                char from[32];
                snprintf(from, sizeof from, "%lld", (long long)(vector->size - rest));
                emit_lanes(m, phase, rest, from);
            }
        }
    }
    for (int i = 0; i < k->n_loops; i++) {
        m->depth--;
        line(m, "}");
    }
    memcpy(m->named, named, (size_t)k->n_exprs);
    free(named);
}

/* A row's own expressions that a phase can give a name to. */
static bool is_ready(const emitter *m, int i, int phase) {
    const expr *e = &m->k->exprs[i];
    return m->wanted[i] && !m->named[i] && is_row(m, e) && e->phase <= phase && e->kind != EXPR_NUMBER &&
           e->kind != EXPR_RESULT;
}

static void emit_row_stores(emitter *m, int phase) {
    for (int i = 0; i < m->k->n_roots; i++) {
        if (m->k->roots[i].phase == phase && !in_loops(m, &m->k->roots[i])) {
            emit_store(m, i);
        }
    }
}

/* Marks what the roots from this phase on need. */
static void want_from(emitter *m, int phase, bool only_row_stores) {
    memset(m->wanted, 0, (size_t)m->k->n_exprs);
    for (int i = 0; i < m->k->n_roots; i++) {
        const root *r = &m->k->roots[i];
        if (only_row_stores ? r->phase == phase && !in_loops(m, r) : r->phase >= phase) {
            want(m, r->expr);
            want_index(m, r->at);
        }
    }
}

/* With lanes for rows only what follows from a reduction is kept in an array of lanes, which costs a store and a load; the
   rest is computed where it is used. */
static void emit_row_lanes(emitter *m, int phase) {
    const kernel *k = m->k;
    bool *named = malloc((size_t)k->n_exprs + 1), *kept_now = calloc((size_t)k->n_exprs + 1, 1);
    if (named == NULL || kept_now == NULL) {
        m->out.failed = true;
        free(named);
        free(kept_now);
        return;
    }
    want_from(m, phase, false);
    bool any = false;
    for (int i = 0; i < k->n_exprs; i++) {
        const expr *e = &k->exprs[i];
        kept_now[i] = is_ready(m, i, phase) && e->kind == EXPR_MAP && e->phase > 0;
        any |= kept_now[i];
        if (kept_now[i]) {
            line(m, "%s t%d[%lld];", dialect_type(e->dtype), i, (long long)k->lanes);
        }
    }
    want_from(m, phase, true);
    for (int i = 0; i < k->n_roots; i++) {
        any |= k->roots[i].phase == phase && !in_loops(m, &k->roots[i]);
    }
    for (int i = 0; i < k->n_exprs; i++) {
        if (kept_now[i]) {
            want(m, i);
        }
    }
    if (any) {
        memcpy(named, m->named, (size_t)k->n_exprs);
        int64_t rest = k->variables[k->vector].size % k->lanes;
        line(m, "#pragma GCC ivdep");
        line(m, rest == 0 ? "for (int64_t l = 0; l < %lld; l++) {" : "for (int64_t l = 0; l < n_lanes; l++) {",
             (long long)k->lanes);
        m->depth++;
        line(m, "const int64_t v%d = first_lane + l;", k->vector);
        for (int i = 0; i < k->n_exprs; i++) {
            if (is_ready(m, i, phase)) {
                m->kept[i] = kept_now[i];
                emit_expr(m, i);
                named[i] = kept_now[i];
            }
        }
        emit_row_stores(m, phase);
        m->depth--;
        line(m, "}");
        memcpy(m->named, named, (size_t)k->n_exprs);
    }
    free(named);
    free(kept_now);
}

/* What a row needs before the loops of a phase: its own expressions, kept to the task's end, and its stores. */
static void emit_row(emitter *m, int phase) {
    if (m->rows) {
        emit_row_lanes(m, phase);
        return;
    }
    want_from(m, phase, false);
    for (int i = 0; i < m->k->n_exprs; i++) {
        if (is_ready(m, i, phase)) {
            emit_expr(m, i);
            m->kept[i] = true;
        }
    }
    emit_row_stores(m, phase);
}

/* Reductions whose results others read. */
static void emit_kept_results(emitter *m, int phase) {
    const kernel *k = m->k;
    for (int i = 0; i < k->n_roots; i++) {
        const root *r = &k->roots[i];
        if (r->phase != phase || r->kind != ROOT_REDUCE || r->buffer < 0) {
            continue;
        }
        text at = {0};
        add_index(m, &at, r->at);
        if (m->rows) {
            int64_t rest = k->variables[k->vector].size % k->lanes;
            line(m, rest == 0 ? "for (int64_t l = 0; l < %lld; l++) {" : "for (int64_t l = 0; l < n_lanes; l++) {",
                 (long long)k->lanes);
            line(m, "    const int64_t v%d = first_lane + l;", k->vector);
            line(m, "    b%d[%s] = r%d[l];", r->buffer, text_get(&at), i);
            line(m, "}");
        } else {
            line(m, "b%d[%s] = r%d;", r->buffer, text_get(&at), i);
        }
        m->out.failed |= at.failed;
        text_clear(&at);
    }
}

/* --- a kernel --------------------------------------------------------------------------------------------------------------------- */

static void emit_tasks(emitter *m) {
    const kernel *k = m->k;
    int64_t below = k->n_task_items;
    for (int i = 0; i < k->n_tasks; i++) {
        int v = k->tasks[i];
        bool blocks = v == k->vector;
        int64_t size = blocks ? (k->variables[v].size + k->lanes - 1) / k->lanes : k->variables[v].size;
        below /= size;
        char value[96];
        if (below == 1) {
            snprintf(value, sizeof value, i == 0 ? "task" : "task %% %lld", (long long)size);
        } else {
            snprintf(value, sizeof value, i == 0 ? "task / %lld" : "task / %lld %% %lld", (long long)below, (long long)size);
        }
        if (blocks) {
            line(m, "const int64_t first_lane = %lld * (%s);", (long long)k->lanes, value);
            if (k->variables[v].size % k->lanes != 0) {
                line(m, "const int64_t n_lanes = %lld - first_lane < %lld ? %lld - first_lane : %lld;",
                     (long long)k->variables[v].size, (long long)k->lanes, (long long)k->variables[v].size,
                     (long long)k->lanes);
            }
        } else {
            line(m, "const int64_t v%d = %s;", v, value);
        }
    }
}

static void emit_phases(emitter *m) {
    const kernel *k = m->k;
    for (int phase = 0; phase < k->n_phases; phase++) {
        if (k->has_classes) {
            emit_row(m, phase);
        }
        bool loops = false;
        memset(m->wanted, 0, (size_t)k->n_exprs);
        for (int i = 0; i < k->n_roots; i++) {
            const root *r = &k->roots[i];
            if (r->phase == phase && in_loops(m, r)) {
                loops = true;
                want(m, r->expr);
                want_index(m, r->at);
            }
        }
        if (!loops) {
            continue;
        }
        emit_accumulators(m, phase);
        emit_loops(m, phase);
        emit_results(m, phase);
        emit_kept_results(m, phase);
    }
}

static void emit_parameters(emitter *m) {
    const kernel *k = m->k;
    for (int i = 0; i < k->n_buffers; i++) {
        const compile_buffer *b = &m->c->buffers[k->buffers[i]];
        bool written = false;
        for (int r = 0; r < k->n_roots; r++) {
            written |= k->roots[r].buffer == k->buffers[i];
        }
        line(m, "%s%s *const b%d = buffers[%d];", written ? "" : "const ", dialect_type(b->dtype), k->buffers[i], i);
    }
}

static void emit_kernel(emitter *m, int step) {
    const kernel *k = m->k;
    line(m, "/* %s */", k->title != NULL ? k->title : "");
    line(m, "_Bool kernel_%d(void *const *buffers, int64_t first, int64_t last) {", step);
    m->depth = 1;
    emit_parameters(m);
    if (k->checks) {
        line(m, "uint64_t bad = 0;");
    }
    if (k->n_task_items > 0) {
        line(m, "for (int64_t task = first; task < last; task++) {");
        m->depth++;
        emit_tasks(m);
        emit_phases(m);
        m->depth--;
        line(m, "}");
    }
    line(m, k->checks ? "return bad == 0;" : "return 1;");
    m->depth = 0;
    line(m, "}");
    line(m, "%s", "");
}

/* The kernels' text behind the functions that they call. */
static char *with_prelude(compiler *c, const text *body) {
    text all = {0};
    dialect_prelude(&all, text_get(body));
    text_add(&all, "\n");
    text_add(&all, text_get(body));
    char *copy = all.failed ? NULL : arena_text(c->memory, all.data, all.length);
    text_clear(&all);
    return copy;
}

char *emit_program(compiler *c, const char **lacking) {
    emitter m = {.c = c};
    bool memory = true;
    *lacking = NULL;
    for (int s = 0; s < c->n_steps && memory; s++) {
        const kernel *k = c->steps[s].kernel;
        if (k == NULL) {
            continue;
        }
        size_t n = (size_t)k->n_exprs + 1;
        m.k = k;
        m.named = arena_make(c->memory, n, 1);
        m.kept = arena_make(c->memory, n, 1);
        m.wanted = arena_make(c->memory, n, 1);
        memory = m.named != NULL && m.kept != NULL && m.wanted != NULL;
        m.rows = k->vector >= 0 && !k->variables[k->vector].is_reduced;
        m.reduced = 0;
        for (int v = 0; v < k->n_variables; v++) {
            m.reduced |= k->variables[v].is_reduced ? (uint64_t)1 << v : 0;
        }
        if (memory) {
            emit_kernel(&m, s);
        }
        if (m.failed) {
            const expr *e = &k->exprs[m.lacking];
            *lacking = arena_format(c->memory, "%s of %s", scalar_function_name(e->fn),
                                    assay_dtype_name(k->exprs[e->sources[e->n_sources - 1]].dtype));
            break;
        }
    }
    char *source = memory && !m.out.failed && *lacking == NULL ? with_prelude(c, &m.out) : NULL;
    text_clear(&m.out);
    return source;
}
