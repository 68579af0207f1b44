/* SPDX-License-Identifier: Apache-2.0 */
/* Expressions as text: a name for each, in the order they need each other. */
#include "engine/compile/emit/values.h"

#include "engine/compile/emit/facts.h"
#include "engine/compile/emit/places_apart.h"
#include "engine/compile/emit/writing.h"

#include <assert.h>
#include <math.h>
#include <string.h>
#include <stdio.h>

/* --- index expressions --------------------------------------------------------------------------------------------------- */

static void add_atom(const emitter *m, text *out, const index_atom *atom, int guard) {
    if (atom->kind == ATOM_VARIABLE) {
        text_addf(out, "v%d", atom->id);
    } else if (atom->kind == ATOM_DATA) {
        int e = expr_find(m->k, atom->id, atom->n_at, atom->at, guard);
        assert(e >= 0);
        if (m->tabled[e]) {
            text_addf(out, "table%d[v%d]", e, m->k->vector);
            return;
        }
        text_add(out, atom->is_sure ? "" : "checked(");
        emit_name(m, out, e);
        if (!atom->is_sure) {
            text_addf(out, ", %lld, &bad)", (long long)atom->size);
        }
    } else {
        int64_t low, high;
        index_range(atom->of, &low, &high);
        bool quotient = atom->kind == ATOM_QUOTIENT;
        text_add(out, low >= 0 ? "(" : quotient ? "floor_quotient(" : "floor_rest(");
        text_add(out, low >= 0 && (atom->of.n > 1 || atom->of.constant != 0 || atom->of.terms[0].factor != 1) ? "(" : "");
        emit_index(m, out, atom->of, guard);
        text_add(out, low >= 0 && (atom->of.n > 1 || atom->of.constant != 0 || atom->of.terms[0].factor != 1) ? ")" : "");
        text_addf(out, low >= 0 ? (quotient ? " / %lld)" : " %% %lld)") : ", %lld)", (long long)atom->divisor);
    }
}

/* With the numbers of variables that are known, but where it reads data: what is read has a name by its coordinates. */
static index_sum with_known(const emitter *m, index_sum a, int guard) {
    index_sum by[KERNEL_MAX_VARIABLES];
    int reads[EXPR_MAX_READS];
    if ((index_variables(a) & m->known) == 0 || index_reads(m->k, a, guard, reads, 0) > 0) {
        return a;
    }
    for (int v = 0; v < m->k->n_variables; v++) {
        by[v] = (m->known >> v & 1) != 0 ? index_constant(m->values[v]) : index_variable(&m->c->g.indices, v, m->k->variables[v].size);
    }
    return index_replace(&m->c->g.indices, a, m->k->n_variables, by);
}

void emit_index(const emitter *m, text *out, index_sum a, int guard) {
    bool first = true;
    a = with_known(m, a, guard);
    for (int i = 0; i < a.n; i++) {
        int64_t factor = a.terms[i].factor;
        text_add(out, first ? (factor < 0 ? "-" : "") : factor < 0 ? " - " : " + ");
        factor = factor < 0 ? -factor : factor;
        if (factor != 1) {
            text_addf(out, "%lld * ", (long long)factor);
        }
        add_atom(m, out, a.terms[i].atom, guard);
        first = false;
    }
    if (first || a.constant != 0) {
        text_addf(out, first ? "%lld" : a.constant < 0 ? " - %lld" : " + %lld",
                  (long long)(first || a.constant > 0 ? a.constant : -a.constant));
    }
}

/* --- expressions --------------------------------------------------------------------------------------------------------- */

void emit_name(const emitter *m, text *out, int i) {
    const expr *e = &m->k->exprs[i];
    if (e->kind == EXPR_NUMBER) {
        dialect_number(out, e->dtype, e->number);
    } else if (i == m->never) {
        text_add(out, "0");
    } else if (!m->named[i] && emit_is_certain(m, i)) {
        text_add(out, "1");
    } else if (m->flow != FLOW_NONE && (e->kind == EXPR_RESULT || m->kept[i])) {
        bool result = e->kind == EXPR_RESULT;
        text_addf(out, m->rows ? "%c%d_%d[l]" : "%c%d_%d", result ? 'r' : 't', result ? e->root : i, m->phase);
    } else if (e->kind == EXPR_RESULT && m->squares >= 0 && (e->root == m->guessed || e->root == m->squares)) {
        text_addf(out, m->k->roots[e->root].phase == m->phase ? "r%d_%d" : "exact%d", e->root, m->phase);
        text_add(out, m->rows ? "[l]" : "");
    } else if (e->kind == EXPR_RESULT && e->root == m->guessed) {
        text_addf(out, "r%d_%d", e->root, m->k->roots[e->root].phase);
    } else if (e->kind == EXPR_RESULT) {
        bool is_place = m->k->roots[e->root].how == RED_ARGMAX || m->k->roots[e->root].how == RED_ARGMIN; /* perhaps in 32 bits */
        text_addf(out, !m->rows ? "r%d" : is_place ? "(int64_t)r%d[l]" : "r%d[l]", e->root);
    } else {
        text_addf(out, m->kept[i] && m->rows ? "t%d[l]" : "t%d", i);
    }
}

/* A comparison of an index, behind others or not. One that looks at data may note what is out of range: compilers take `&` before that for a slip
   of `&&`, but for a number. */
static void add_comparison(const emitter *m, text *out, const view_bound *b, int guard, bool is_below) {
    text at = {0};
    emit_index(m, &at, b->at, guard);
    bool checks = strstr(text_get(&at), "checked(") != NULL;
    text_addf(out, "%s(%s %s %lld)", checks ? "(uint8_t)" : "", text_get(&at), is_below ? ">=" : "<=", (long long)(is_below ? b->low : b->high));
    out->failed |= at.failed;
    text_clear(&at);
}

/* Where only asking finds an index out of range, it is asked for, but not where nobody looks. */
static void add_condition(const emitter *m, text *out, const expr *e) {
    bool only_where = e->asks && e->guard >= 0;
    if (only_where) {
        emit_name(m, out, e->guard);
        text_add(out, " && (");
    }
    bool any = false;
    for (int i = 0; i < e->n_bounds; i++) {
        const view_bound *b = &e->bounds[i];
        int64_t low, high;
        index_range(with_known(m, b->at, e->guard), &low, &high);
        if (!e->asks && (b->low > high || b->high < low)) { /* nowhere; and the bound may be a number that C has no word for */
            text_add(out, any ? " & 0" : "0");
            any = true;
            continue;
        }
        bool above = low < b->low || (e->asks && high <= b->high);
        text_add(out, any && (above || high > b->high) ? " & " : "");
        any |= above || high > b->high;
        if (above) {
            add_comparison(m, out, b, e->guard, true);
        }
        text_add(out, above && high > b->high ? " & " : "");
        if (high > b->high) {
            add_comparison(m, out, b, e->guard, false);
        }
    }
    text_add(out, any ? "" : "1");
    text_add(out, only_where ? ")" : "");
}

static bool is_number(const emitter *m, int i) {
    return m->k->exprs[i].kind == EXPR_NUMBER && !isnan(m->k->exprs[i].number.f);
}

static bool is_bound(const emitter *m, const expr *e) {
    return e->kind == EXPR_MAP && (e->fn == FN_MINIMUM || e->fn == FN_MAXIMUM) && is_number(m, e->sources[1]);
}

/* A function of which one operand is a number, where there is a form for that; of two bounds of one value the second says so. */
static bool with_number(const emitter *m, text *out, int i, dtype t, const char *const *operands) {
    const expr *e = &m->k->exprs[i];
    size_t from = out->length;
    if (emit_is_bound_of_factor(m, i)) {
        return dialect_bound_of_factor(out, e->fn, operands);
    }
    text_add(out, is_bound(m, e) && is_bound(m, &m->k->exprs[e->sources[0]]) ? "BETWEEN" : "");
    bool known = dialect_with_number(out, e->fn, t, operands);
    if (!known && !out->failed) {
        out->length = from;
        out->data[from] = '\0';
    }
    return known;
}

/* A choice between a number and an infinity: of what follows from it compilers know each side beforehand. */
static bool chooses_infinity(const emitter *m, const expr *e) {
    bool infinite = false;
    for (int s = 1; e->fn == FN_SELECT && e->dtype == ASSAY_F32 && s < 3; s++) {
        infinite |= is_number(m, e->sources[s]) && isinf(m->k->exprs[e->sources[s]].number.f);
    }
    return infinite;
}

void emit_still(emitter *m, text *out, int i, const char *before, const char *after) {
    const index_sum still = emit_part_of(m, m->k->exprs[i].at, false);
    if (still.n > 0 || still.constant != 0) {
        text_add(out, before);
        emit_index(m, out, still, -1);
        text_add(out, after);
    }
}

/* A load of emitter.looked, where the lane at hand looks. */
static void add_looked_up(emitter *m, text *out, int i) {
    if (m->looked[i] == LOOKED_GATHERED) {
        text_addf(out, "there%d[%s]", i, m->lane);
        return;
    }
    text_addf(out, "b%d[", m->k->exprs[i].buffer);
    if (m->looked[i] == LOOKED_NEAR) {
        emit_still(m, out, i, "", " + ");
    }
    text_addf(out, "place%d[%s]]", m->places[i], m->lane);
}

static void add_value(emitter *m, text *out, int i) {
    const expr *e = &m->k->exprs[i];
    text operand[EXPR_MAX_SOURCES] = {{0}};
    const char *operands[EXPR_MAX_SOURCES];
    for (int s = 0; s < e->n_sources; s++) {
        emit_name(m, &operand[s], e->sources[s]);
        operands[s] = text_get(&operand[s]);
    }
    switch (e->kind) {
    case EXPR_LOAD: {
        bool asks = e->guard >= 0 && !emit_is_certain(m, e->guard);
        if (asks && e->guard == m->never) {
            text_add(out, "0");
            break;
        }
        if (asks) {
            emit_name(m, out, e->guard);
            text_add(out, " ? ");
        }
        if (m->looked[i] != 0) {
            add_looked_up(m, out, i);
            break;
        }
        text_addf(out, "b%d[", e->buffer);
        emit_index(m, out, e->at, e->guard);
        text_add(out, asks ? "] : 0" : "]");
        break;
    }
    case EXPR_INDEX:
        emit_index(m, out, e->at, e->guard);
        break;
    case EXPR_FRAMED:
        text_add(out, "frame[");
        emit_index(m, out, e->at, -1);
        text_add(out, m->k->frame.blocks > 1 ? " - above]" : "]");
        break;
    case EXPR_MAP: {
        dtype t = m->k->exprs[e->sources[e->n_sources - 1]].dtype;
        if (m->quick && dialect_has_quick(e->fn, t)) {
            dialect_quick(out, e->fn, t, operands);
        } else if (e->n_sources == 2 && is_number(m, e->sources[1]) && with_number(m, out, i, t, operands)) {
            break;
        } else if (e->fn == FN_SELECT && (e->sources[0] == m->never || emit_is_certain(m, e->sources[0]))) {
            text_add(out, operands[e->sources[0] == m->never ? 2 : 1]);
        } else if (chooses_infinity(m, e)) {
            text_addf(out, "choose_f32(%s, %s, %s)", operands[0], operands[1], operands[2]);
        } else if (emit_is_below_0(m, e->sources[0]) && dialect_below_0(out, e->fn, t, operands)) {
            break;
        } else if (!dialect_function(out, e->fn, t, operands)) {
            m->failed = true;
            m->lacking = i;
        }
        break;
    }
    case EXPR_CAST: {
        dtype from = m->k->exprs[e->sources[0]].dtype;
        if (m->singly && ((from == ASSAY_F16 && e->dtype == ASSAY_F32) || (from == ASSAY_F32 && e->dtype == ASSAY_F16))) {
            text_addf(out, from == ASSAY_F16 ? "f32_of_one_f16(%s)" : "f16_of_one_f32(%s)", operands[0]);
        } else {
            dialect_cast(out, from, e->dtype, operands[0]);
        }
        break;
    }
    case EXPR_WITHIN:
        add_condition(m, out, e);
        break;
    case EXPR_RANDOM:
        text_addf(out, "random_bits(%s, %d, ", operands[0], e->stream);
        emit_index(m, out, e->at, e->guard);
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

void emit_quick_check(emitter *m, int i) {
    const expr *e = &m->k->exprs[i];
    text operand[EXPR_MAX_SOURCES] = {{0}}, fails = {0};
    const char *operands[EXPR_MAX_SOURCES];
    for (int s = 0; s < e->n_sources; s++) {
        emit_name(m, &operand[s], e->sources[s]);
        operands[s] = text_get(&operand[s]);
    }
    dialect_quick_fails(&fails, e->fn, m->k->exprs[e->sources[e->n_sources - 1]].dtype, operands);
    emit_line(m, "rare |= %s;", text_get(&fails));
    m->out.failed |= fails.failed;
    text_clear(&fails);
    for (int s = 0; s < e->n_sources; s++) {
        m->out.failed |= operand[s].failed;
        text_clear(&operand[s]);
    }
}

/* Where, among all that a task's reduced loops visit, the element at hand stands. */
static void add_position(const emitter *m, text *out, int versions) {
    const kernel *k = m->k;
    bool along = k->vector >= 0 && !m->rows, in_groups = m->group_rows > 0;
    int64_t stride = m->rows ? k->lanes : along ? k->variables[k->vector].size : 1;
    text_add(out, m->rows ? "l" : "");
    if (along) {
        text_addf(out, "v%d", k->vector);
    }
    text_add(out, in_groups ? " + place" : "");
    for (int i = k->n_loops - 1; i >= 0 && !in_groups; i--) {
        text_addf(out, "%s%lld * v%d", out->length > 0 ? " + " : "", (long long)stride, k->loops[i]);
        stride *= k->variables[k->loops[i]].size;
    }
    text_add(out, out->length == 0 ? "0" : "");
    if (versions > 1) {
        char turn[32]; /* a pair has one, also where it is the same task twice */
        snprintf(turn, sizeof turn, m->twins ? "(step - %d) / 2" : "task", 2 * emit_flow_lag(m, m->phase));
        text_addf(out, " + %lld * (%s %% %d)", (long long)emit_saved_elems(m), turn, versions);
    }
}

void emit_expr(emitter *m, int i) {
    const expr *e = &m->k->exprs[i];
    if (i == m->never || emit_is_certain(m, i)) {
        return;
    }
    m->named[i] = true;
    if (e->kind == EXPR_NUMBER || e->kind == EXPR_RESULT) {
        return;
    }
    text value = {0}, position = {0};
    if (m->saved_in[i] >= 0) {
        add_position(m, &position, m->versions[i]);
    }
    if (m->saved_in[i] >= 0 && m->saved_in[i] < m->phase) {
        text_addf(&value, "saved%d[%s]", i, text_get(&position));
    } else if (m->widened[i]) {
        text_addf(&value, e->kind == EXPR_RANDOM ? "random%d[%s]" : "wide%d[%s]", i, emit_block_lane(m));
    } else if (m->turned[i]) {
        text_addf(&value, "turned%d[v%d][l]", i, m->k->loops[0]);
    } else {
        add_value(m, &value, i);
    }
    bool array = m->kept[i] && m->rows;
    if (m->kept[i] && m->flow != FLOW_NONE) {
        emit_line(m, array ? "t%d_%d[l] = %s;" : "t%d_%d = %s;", i, m->phase, text_get(&value));
    } else if (array) {
        emit_line(m, "t%d[l] = %s;", i, text_get(&value));
    } else {
        emit_line(m, "const %s t%d = %s;", dialect_type(e->dtype), i, text_get(&value));
    }
    if (m->saved_in[i] == m->phase && !m->guesses) {
        emit_line(m, "saved%d[%s] = t%d;", i, text_get(&position), i);
    }
    m->out.failed |= value.failed || position.failed;
    text_clear(&value);
    text_clear(&position);
}

void emit_row_position(const emitter *m, text *out, int64_t stride) {
    for (int i = m->k->n_loops - 1; i >= 0; i--) {
        text_addf(out, " + %lld * v%d", (long long)stride, m->k->loops[i]);
        stride *= m->k->variables[m->k->loops[i]].size;
    }
}

void emit_address_call(emitter *m, const char *before, int buffer, index_sum at, const char *after) {
    text index = {0};
    emit_index(m, &index, at, -1);
    emit_line(m, "%sb%d + %s%s", before, buffer, text_get(&index), after);
    m->out.failed |= index.failed;
    text_clear(&index);
}
