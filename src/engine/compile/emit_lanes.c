/* SPDX-License-Identifier: Apache-2.0 */
/* The innermost loops as text: over lanes of the vector variable. */
#include "engine/compile/emit.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- names that may turn out not to be needed --------------------------------------------------------------------------------- */

void emit_define(emitter *m, definition *d, const char *type, const char *format, ...) {
    char value[200];
    va_list args;
    va_start(args, format);
    vsnprintf(value, sizeof value, format, args);
    va_end(args);
    snprintf(d->name, sizeof d->name, "%.*s", (int)strcspn(value, " "), value);
    d->from = m->out.length;
    emit_line(m, "%s%s;", type, value);
    d->to = m->out.length;
}

void emit_drop_unused(emitter *m, const definition *d) {
    if (m->out.failed) {
        return;
    }
    size_t n = strlen(d->name);
    for (const char *at = m->out.data + d->to; (at = strstr(at, d->name)) != NULL; at += n) {
        if (!isalnum((unsigned char)at[-1]) && at[-1] != '_' && !isalnum((unsigned char)at[n]) && at[n] != '_') {
            return;
        }
    }
    memmove(m->out.data + d->from, m->out.data + d->to, m->out.length - d->to + 1);
    m->out.length -= d->to - d->from;
}

/* --- a phase's statements ------------------------------------------------------------------------------------------------ */

bool emit_in_loops(const emitter *m, const root *r) {
    return !m->k->has_classes || (r->variables & m->reduced) != 0 || r->kind != ROOT_STORE;
}

/* What depends on none of these variables, and then the roots, for each value of those that are computed side by side. */
static void emit_values(emitter *m, int phase, uint64_t beside) {
    const kernel *k = m->k;
    for (int i = 0; i < k->n_exprs; i++) {
        if (m->wanted[i] && !m->named[i] && (k->exprs[i].variables & beside) == 0) {
            emit_expr(m, i);
        }
    }
    int v = 0;
    while (beside != 0 && (beside >> v & 1) == 0) {
        v++;
    }
    bool *named = beside != 0 ? malloc((size_t)k->n_exprs + 1) : NULL;
    for (int64_t i = 0; named != NULL && i < k->variables[v].size; i++) {
        definition value;
        memcpy(named, m->named, (size_t)k->n_exprs);
        emit_line(m, "{");
        m->depth++;
        emit_define(m, &value, "const int64_t ", "v%d = %lld", v, (long long)i);
        m->known |= (uint64_t)1 << v;
        m->values[v] = i;
        emit_values(m, phase, beside & ~((uint64_t)1 << v));
        m->known &= ~((uint64_t)1 << v);
        emit_drop_unused(m, &value);
        m->depth--;
        emit_line(m, "}");
        memcpy(m->named, named, (size_t)k->n_exprs);
    }
    m->out.failed |= beside != 0 && named == NULL;
    free(named);
    for (int i = 0; beside == 0 && i < k->n_roots; i++) {
        if (k->roots[i].phase == phase && emit_in_loops(m, &k->roots[i])) {
            emit_root(m, i);
        }
    }
}

void emit_body(emitter *m, int phase, bool before) {
    uint64_t lanes = (m->k->vector >= 0 ? (uint64_t)1 << m->k->vector : 0) | m->k->beside;
    if (!before) {
        emit_values(m, phase, m->k->beside);
        return;
    }
    for (int i = 0; i < m->k->n_exprs; i++) {
        if (m->wanted[i] && !m->named[i] && (m->k->exprs[i].variables & lanes) == 0) {
            emit_expr(m, i);
        }
    }
}

/* The loop over lanes, and what it gives names to. */
typedef struct lanes {
    definition lane, variable;
} lanes;

/* Loops of so few turns gcc unrolls before it thinks of vector code, and finds none in what is left. */
enum { LEAST_UNROLLED = 8, MOST_UNROLLED = 16 };

/* Whether these lanes are such a loop, and go to memory: accumulators are to lie in registers, not in an array. */
static bool are_few(const emitter *m, const lane_range *range) {
    if (m->page_tasks > 0 || m->flow_lanes > 0) {
        return emit_block_lanes(m) <= MOST_UNROLLED;
    }
    long long n = range->block > 0 ? range->block : strtoll(range->last, NULL, 10) - strtoll(range->first, NULL, 10);
    bool known = range->block > 0 || (isdigit((unsigned char)range->first[0]) && isdigit((unsigned char)range->last[0]));
    bool accumulates = m->k->has_classes && m->k->roots[0].kind != ROOT_SCATTER;
    return !accumulates && known && n >= LEAST_UNROLLED && n <= MOST_UNROLLED;
}

/* A block's lanes are counted from 0: with both ends relative to a variable compilers would have to think of wrapping. */
static void open_lanes(emitter *m, const lane_range *range, lanes *l) {
    if (!range->singly) {
        emit_line(m, are_few(m, range) ? "INDEPENDENT FEW" : "INDEPENDENT");
    }
    if (range->block > 0) {
        emit_line(m, "for (int64_t i = 0; i < %d; i++) {", range->block);
    } else {
        emit_line(m, "for (int64_t l = %s; l < %s; l++) {", range->first, range->last);
    }
    m->depth++;
    if (range->singly) {
        emit_line(m, "ONE_BY_ONE(l);");
    }
    if (range->block > 0) {
        emit_define(m, &l->lane, "const int64_t ", "l = %s + i", range->first);
    }
    emit_define(m, &l->variable, "const int64_t ", strcmp(range->from, "0") == 0 && range->block > 0 ? "v%d = l" : "v%d = %s + l",
                m->k->vector, range->from);
}

static void close_lanes(emitter *m, const lane_range *range, const lanes *l, const bool *named) {
    emit_drop_unused(m, &l->variable);
    if (range->block > 0) {
        emit_drop_unused(m, &l->lane);
    }
    m->depth--;
    emit_line(m, "}");
    memcpy(m->named, named, (size_t)m->k->n_exprs);
}

/* What quick form of the lane at hand fails is noted. Names what they are functions of. */
static void emit_checks(emitter *m, const bool *all_wanted) {
    for (int i = 0; i < m->k->n_exprs; i++) {
        if (!all_wanted[i] || m->named[i] || !emit_has_quick(m, i)) {
            continue;
        }
        memset(m->wanted, 0, (size_t)m->k->n_exprs);
        for (int s = 0; s < m->k->exprs[i].n_sources; s++) {
            emit_want(m, m->k->exprs[i].sources[s]);
        }
        for (int e = 0; e < m->k->n_exprs; e++) {
            if (m->wanted[e] && !m->named[e]) {
                emit_expr(m, e);
            }
        }
        emit_quick_check(m, i);
    }
}

/* Functions that have a quick form are looked at over all lanes: if each holds, the loop is vector code, else it is written with
   the forms that branch and call. Where lanes may be computed twice the quick forms are tried at once. */
static void emit_quick_lanes(emitter *m, int phase, const lane_range *range, const bool *named, bool *all_wanted) {
    lanes l;
    bool at_once = emit_may_repeat(m, phase);
    bool wide = false;
    for (int i = 0; i < m->k->n_exprs; i++) {
        wide |= m->wanted[i] && emit_has_quick(m, i) && m->k->exprs[i].dtype == ASSAY_I64;
    }
    memcpy(all_wanted, m->wanted, (size_t)m->k->n_exprs);
    emit_line(m, wide ? "uint64_t rare = 0;" : "uint32_t rare = 0;");
    open_lanes(m, range, &l);
    m->quick = true;
    emit_checks(m, all_wanted);
    memcpy(m->wanted, all_wanted, (size_t)m->k->n_exprs);
    if (at_once) {
        emit_body(m, phase, false);
    }
    close_lanes(m, range, &l, named);
    for (int quick = !at_once; quick >= 0; quick--) {
        emit_line(m, at_once ? "if (rare != 0) {" : quick ? "if (rare == 0) {" : "} else {");
        m->depth++;
        m->quick = quick;
        open_lanes(m, range, &l);
        emit_body(m, phase, false);
        close_lanes(m, range, &l, named);
        m->depth--;
    }
    emit_line(m, "}");
}

void emit_lanes_to(emitter *m, int i, const char *array, const lane_range *range) {
    const kernel *k = m->k;
    bool *named = malloc((size_t)k->n_exprs + 1);
    if (named == NULL) {
        m->out.failed = true;
        return;
    }
    memcpy(named, m->named, (size_t)k->n_exprs);
    memset(m->wanted, 0, (size_t)k->n_exprs);
    emit_want(m, i);
    lanes l;
    text value = {0};
    open_lanes(m, range, &l);
    emit_body(m, -1, false);
    emit_name(m, &value, i);
    emit_line(m, "%s[%s] = %s;", array, emit_block_lane(m), text_get(&value));
    close_lanes(m, range, &l, named);
    m->out.failed |= value.failed;
    text_clear(&value);
    free(named);
}

void emit_operand(emitter *m, int i, const lane_range *range) {
    char array[32];
    snprintf(array, sizeof array, "wide%d", i);
    emit_lanes_to(m, m->k->exprs[i].sources[0], array, range);
}

void emit_gathered(emitter *m, const lane_range *range) {
    const kernel *k = m->k;
    bool any = false, *named = malloc((size_t)k->n_exprs + 1);
    if (named == NULL) {
        m->out.failed = true;
        return;
    }
    memcpy(named, m->named, (size_t)k->n_exprs);
    memset(m->wanted, 0, (size_t)k->n_exprs);
    for (int i = 0; i < k->n_exprs; i++) {
        if (m->gathered[i]) {
            emit_line(m, "uint16_t half%d[%d];", i, emit_block_lanes(m));
            emit_want(m, k->exprs[i].sources[0]);
            any = true;
        }
    }
    if (any) {
        lanes l;
        open_lanes(m, range, &l);
        emit_body(m, -1, false);
        for (int i = 0; i < k->n_exprs; i++) {
            if (m->gathered[i]) {
                emit_line(m, "half%d[%s] = t%d;", i, emit_block_lane(m), k->exprs[i].sources[0]);
            }
        }
        close_lanes(m, range, &l, named);
    }
    for (int i = 0; i < k->n_exprs; i++) {
        if (m->gathered[i]) {
            emit_line(m, "f32s_of_f16s(wide%d, half%d);", i, i);
        }
    }
    free(named);
}

void emit_plain_range(emitter *m, int phase, const lane_range *range) {
    bool *named = malloc((size_t)m->k->n_exprs + 1);
    if (named == NULL) {
        m->out.failed = true;
        return;
    }
    memcpy(named, m->named, (size_t)m->k->n_exprs);
    lanes l;
    open_lanes(m, range, &l);
    emit_body(m, phase, false);
    close_lanes(m, range, &l, named);
    free(named);
}

void emit_range(emitter *m, int phase, const lane_range *range) {
    size_t n_exprs = (size_t)m->k->n_exprs;
    bool *named = malloc(2 * n_exprs + 1);
    if (named == NULL) {
        m->out.failed = true;
        return;
    }
    memcpy(named, m->named, n_exprs);
    bool quick = false;
    for (int i = 0; i < m->k->n_exprs; i++) {
        quick |= m->wanted[i] && !m->named[i] && emit_has_quick(m, i);
    }
    if (quick) {
        emit_line(m, "{");
        m->depth++;
        emit_quick_lanes(m, phase, range, named, named + n_exprs);
        m->depth--;
        emit_line(m, "}");
    } else if (!emit_inside(m, phase, range)) {
        emit_plain_range(m, phase, range);
    }
    free(named);
}
