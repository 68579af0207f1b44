/* SPDX-License-Identifier: Apache-2.0 */
/* A task's phases, one after the other: what belongs to its row, then the loops over what is reduced and over lanes. */
#include "engine/compile/emit/phases.h"

#include "device/caches.h"
#include "engine/compile/emit/abreast.h"
#include "engine/compile/emit/blocks.h"
#include "engine/compile/emit/deviations.h"
#include "engine/compile/emit/facts.h"
#include "engine/compile/emit/fetching.h"
#include "engine/compile/emit/groups.h"
#include "engine/compile/emit/halves.h"
#include "engine/compile/emit/guess.h"
#include "engine/compile/emit/lane_loops.h"
#include "engine/compile/emit/long_sums.h"
#include "engine/compile/emit/place_keys.h"
#include "engine/compile/emit/reductions.h"
#include "engine/compile/emit/row_lists.h"
#include "engine/compile/emit/turned.h"
#include "engine/compile/emit/values.h"
#include "engine/compile/emit/wants.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void emit_drop_unasked(emitter *m, size_t from, const bool *named) {
    for (int i = m->k->n_exprs - 1; i >= 0 && !m->out.failed; i--) {
        char line[48];
        definition d;
        if (m->k->exprs[i].kind != EXPR_WITHIN || !m->named[i] || named[i]) {
            continue;
        }
        snprintf(d.name, sizeof d.name, "t%d", i);
        snprintf(line, sizeof line, "const %s %s = ", dialect_type(ASSAY_B8), d.name);
        const char *at = strstr(m->out.data + from, line);
        if (at != NULL) {
            d.to = (size_t)(strchr(at, '\n') + 1 - m->out.data);
            d.from = (size_t)(at - m->out.data) - 4 * (size_t)m->depth;
            emit_drop_unused(m, &d);
        }
    }
}

static bool is_of_half(const emitter *m, const expr *e) {
    const dtype from = e->kind == EXPR_CAST ? m->k->exprs[e->sources[0]].dtype : e->dtype;
    return e->kind == EXPR_CAST && (from == ASSAY_F16 || from == ASSAY_BF16 || e->dtype == ASSAY_F16 || e->dtype == ASSAY_BF16);
}

/* Whether lanes may take it in again: no condition hangs on it, no array holds it, data do not say where it lies, and compilers have no better
   way for it, as they have for bf16 regularly apart. */
static bool may_be_again(const emitter *m, int i) {
    const expr *e = &m->k->exprs[i];
    int reads[EXPR_MAX_READS];
    if (m->turned[i] || m->saved_in[i] >= 0 || m->kept[i] || e->kind == EXPR_WITHIN || e->guard >= 0) {
        return false;
    }
    const bool varies = e->kind == EXPR_LOAD && (e->variables >> m->k->vector & 1) != 0;
    return !varies || (index_reads(m->k, e->at, -1, reads, 0) == 0 &&
                       (e->dtype != ASSAY_BF16 || emit_is_dense(m, e->at) || emit_puts_bf16_together(m)));
}

/* Whether a task's lanes are a whole row: those behind the last whole line may then be taken in from further ahead, for what is done by whole
   vectors only (short_blocks.c). silu of [4096, 28] takes 0.11 of the time so in f16, 0.4 in f32, and a product with a row of 28 0.1 in f16;
   copies would take longer (an Emerald Rapids, 2026-11). */
static bool is_whole_row(const emitter *m) {
    bool alone = !m->k->has_classes && m->k->n_phases == 1 && m->k->lanes >= m->k->variables[m->k->vector].size, by_vectors = false;
    for (int i = 0; i < m->k->n_exprs && alone; i++) {
        alone = may_be_again(m, i);
        by_vectors |= is_of_half(m, &m->k->exprs[i]) || emit_is_block_function(m, i);
    }
    return alone && by_vectors;
}

/* A block of lanes of the row at hand, or what its last one leaves. */
static void emit_turn(emitter *m, int phase, int64_t lanes, const char *from, const bool *named) {
    int inner = m->k->loops[m->k->n_loops - 1];
    emit_line(m, "for (int64_t v%d = group; v%d < group_end; v%d++) {", inner, inner, inner);
    m->depth++;
    emit_want_phase(m, phase);
    emit_body(m, phase, true);
    emit_lanes(m, phase, lanes, from);
    m->depth--;
    emit_line(m, "}");
    memcpy(m->named, named, (size_t)m->k->n_exprs);
}

/* Rows that take turns (emit_takes_turns), a group of them after the other. */
static void emit_turns(emitter *m, int phase, const bool *named) {
    const kernel *k = m->k;
    int64_t size = k->variables[k->loops[k->n_loops - 1]].size, row = k->variables[k->vector].size, rest = row % k->lanes;
    char from[32];
    for (int i = 0; i < k->n_loops - 1; i++) {
        emit_open_loop(m, k->loops[i]);
    }
    emit_line(m, "for (int64_t group = 0; group < %lld; group += %d) {", (long long)size, EMIT_PAGES);
    m->depth++;
    if (size % EMIT_PAGES != 0) {
        emit_line(m, "const int64_t group_end = %lld - group < %d ? %lld : group + %d;", (long long)size, EMIT_PAGES, (long long)size,
                  EMIT_PAGES);
    } else {
        emit_line(m, "const int64_t group_end = group + %d;", EMIT_PAGES);
    }
    emit_line(m, "for (int64_t lane = 0; lane < %lld; lane += %lld) {", (long long)(row - rest), (long long)k->lanes);
    m->depth++;
    emit_turn(m, phase, k->lanes, "lane", named);
    m->depth--;
    emit_line(m, "}");
    if (rest > 0) {
        snprintf(from, sizeof from, "%lld", (long long)(row - rest));
        emit_turn(m, phase, rest, from, named);
    }
    for (int i = 0; i < k->n_loops; i++) {
        m->depth--;
        emit_line(m, "}");
    }
}

/* Whether a compiler would write out all of a row's blocks, and take their loads in another order than memory's, in which the CPU reads ahead:
   sums of 33001 rows of 1001 take 0.75 of the time where it may not (two cores of a Zen 4, 2026-11). */
static bool is_unrolled(const emitter *m) {
    enum { MOST_BLOCKS = 16 };
    const kernel *k = m->k;
    bool much = false;
    for (int i = 0; i < k->n_exprs; i++) {
        much |= emit_is_dense_load(m, &k->exprs[i]) && buffer_bytes(m->c, k->exprs[i].buffer) >= STREAM_MIN_BYTES;
    }
    return much && k->lanes == EMIT_BLOCK_LANES && k->variables[k->vector].size / k->lanes <= MOST_BLOCKS;
}

/* Of a scatter's rows those that are the task's own (scatter_parts.c). */
static void emit_only_own(emitter *m) {
    const kernel *k = m->k;
    if (k->scatter_row == 0) {
        return;
    }
    const index_sum at = k->roots[0].at;
    index_sum row = {.constant = at.constant};
    for (int i = 0; i < at.n; i++) {
        if ((at.terms[i].atom->variables >> k->vector & 1) == 0) {
            row.terms = &at.terms[i]; /* there is but one */
            row.n = 1;
        }
    }
    text begin = {0};
    emit_index(m, &begin, row, -1);
    emit_line(m, "const int64_t begin = %s;", text_get(&begin));
    emit_line(m, "if (begin < own_first || begin >= own_last) {");
    emit_line(m, "    continue;");
    emit_line(m, "}");
    m->out.failed |= begin.failed;
    text_clear(&begin);
}

/* A row's whole blocks of lanes. */
static void emit_row_blocks(emitter *m, int phase, int64_t size) {
    const long long lanes = (long long)m->k->lanes;
    if (m->cut == m->k->vector) {
        emit_open_piece(m, size, m->cut_turns * m->k->lanes);
        emit_line(m, "for (int64_t lane = piece; lane < piece_end; lane += %lld) {", lanes);
    } else {
        emit_line(m, "for (int64_t lane = 0; lane < %lld; lane += %lld) {", (long long)size, lanes);
    }
    m->depth++;
    emit_lanes(m, phase, m->k->lanes, "lane");
    m->depth--;
    emit_line(m, "}");
    if (m->cut == m->k->vector) {
        emit_close_piece(m);
    }
}

static void emit_loops_of(emitter *m, int phase) {
    const kernel *k = m->k;
    bool *named = malloc((size_t)k->n_exprs + 1);
    if (named == NULL) {
        m->out.failed = true;
        return;
    }
    memcpy(named, m->named, (size_t)k->n_exprs);
    if (m->by_groups && m->flow == FLOW_NONE) {
        definition at_place;
        emit_open_groups(m, phase, &at_place);
        emit_want_phase(m, phase);
        emit_body(m, phase, true);
        emit_group_block(m, phase);
        emit_close_groups(m, emit_open_group_rest(m, phase, &at_place), &at_place);
        memcpy(m->named, named, (size_t)k->n_exprs);
        free(named);
        return;
    }
    if (m->cut < 0 && emit_takes_turns(m, phase)) {
        emit_turns(m, phase, named);
        free(named);
        return;
    }
    if (emit_turned_over(m)) {
        free(named);
        return;
    }
    emit_turned(m);
    const int n_loops = m->order == ORDER_ROWS ? 0 : k->n_loops; /* those are open */
    for (int i = 0; i < n_loops; i++) {
        emit_open_loop(m, k->loops[i]);
    }
    emit_turned_ahead(m);
    if (k->vector < 0) {
        emit_body(m, phase, false);
    } else {
        size_t before = m->out.length;
        emit_body(m, phase, true);
        emit_only_own(m);
        const loop_variable *vector = &k->variables[k->vector];
        int64_t rest = vector->size % k->lanes;
        if (m->rows) {
            emit_lanes(m, phase, rest == 0 ? k->lanes : 0, is_whole_row(m) ? "0" : "first_lane");
        } else if (emit_streams(m, phase)) {
            emit_lanes(m, phase, vector->size, "0"); /* what a phase only stores needs no lanes of its own */
        } else {
            if (vector->size > k->lanes) {
                if (is_unrolled(m)) {
                    emit_line(m, "FEW");
                }
                emit_row_blocks(m, phase, vector->size - rest);
            } else if (vector->size > 0) {
                emit_lanes(m, phase, k->lanes, "0");
            }
            if (rest > 0 && vector->size > k->lanes) {
                char from[32];
                snprintf(from, sizeof from, "%lld", (long long)(vector->size - rest));
                emit_lanes(m, phase, rest, from);
            }
        }
        emit_drop_unasked(m, before, named);
    }
    emit_close_loops(m, n_loops);
    memcpy(m->named, named, (size_t)k->n_exprs);
    free(named);
}

void emit_loops(emitter *m, int phase) {
    const kernel *k = m->k;
    if (k->vector >= 0 && k->variables[k->vector].size == 0) {
        return; /* lanes are at least one */
    }
    if (k->lists_rows) {
        emit_row_lists(m, phase);
        return;
    }
    emit_open_long_sums(m, phase);
    emit_loops_of(m, phase);
    emit_close_long_sums(m, phase);
}

/* A row's own expressions that a phase can give a name to. */
static bool is_ready(const emitter *m, int i, int phase) {
    const expr *e = &m->k->exprs[i];
    return m->wanted[i] && !m->named[i] && emit_is_row(m, e) && e->phase <= phase && e->kind != EXPR_NUMBER &&
           e->kind != EXPR_RESULT;
}

static void emit_row_stores(emitter *m, int phase) {
    for (int i = 0; i < m->k->n_roots; i++) {
        if (m->k->roots[i].phase == phase && !emit_in_loops(m, &m->k->roots[i])) {
            emit_root(m, i);
        }
    }
}

/* Marks what the roots from this phase on need. */
static void want_from(emitter *m, int phase, bool only_row_stores) {
    memset(m->wanted, 0, (size_t)m->k->n_exprs);
    for (int i = 0; i < m->k->n_roots; i++) {
        const root *r = &m->k->roots[i];
        if (only_row_stores ? r->phase == phase && !emit_in_loops(m, r) : r->phase >= phase) {
            emit_want(m, r->expr);
            emit_want_index(m, r->at);
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
            emit_line(m, "%s t%d[%lld];", dialect_type(e->dtype), i, (long long)k->lanes);
        }
    }
    want_from(m, phase, true);
    for (int i = 0; i < k->n_roots; i++) {
        any |= k->roots[i].phase == phase && !emit_in_loops(m, &k->roots[i]);
    }
    for (int i = 0; i < k->n_exprs; i++) {
        if (kept_now[i]) {
            emit_want(m, i);
        }
    }
    if (any) {
        memcpy(named, m->named, (size_t)k->n_exprs);
        int64_t rest = k->variables[k->vector].size % k->lanes;
        emit_line(m, "INDEPENDENT");
        emit_line(m, rest == 0 ? "for (int64_t l = 0; l < %lld; l++) {" : "for (int64_t l = 0; l < n_lanes; l++) {",
             (long long)k->lanes);
        m->depth++;
        definition name;
        emit_define(m, &name, "const int64_t ", "v%d = first_lane + l", k->vector);
        for (int i = 0; i < k->n_exprs; i++) {
            if (is_ready(m, i, phase)) {
                m->kept[i] = kept_now[i];
                emit_expr(m, i);
                named[i] = kept_now[i];
            }
        }
        emit_row_stores(m, phase);
        emit_drop_unused(m, &name);
        m->depth--;
        emit_line(m, "}");
        memcpy(m->named, named, (size_t)k->n_exprs);
    }
    free(named);
    free(kept_now);
}

/* Marks what this phase needs and no other: what is named for it is forgotten after it. */
static void want_alone(emitter *m, int phase) {
    want_from(m, phase, true);
    for (int i = 0; i < m->k->n_roots; i++) {
        const root *r = &m->k->roots[i];
        if (r->phase == phase && emit_in_loops(m, r)) {
            emit_want(m, emit_taken(m, i));
            emit_want_index(m, r->at);
        }
    }
}

static void name_wanted(emitter *m, int phase) {
    for (int i = 0; i < m->k->n_exprs; i++) {
        if (is_ready(m, i, phase)) {
            emit_expr(m, i);
            m->kept[i] = true;
        }
    }
    emit_row_stores(m, phase);
}

/* What a row needs before the loops of a phase: its own expressions, kept to the task's end, and its stores. Where totals alone are put
   together, what the loops before have needed is needed no more. */
static void emit_row(emitter *m, int phase) {
    if (m->rows) {
        emit_row_lanes(m, phase);
        return;
    }
    const bool of_totals = phase == 0 && m->order == ORDER_TOTALS;
    want_from(m, of_totals ? 1 : phase, false);
    for (int i = 0; of_totals && i < m->k->n_roots; i++) {
        const root *r = &m->k->roots[i];
        if (r->phase == 0 && !emit_in_loops(m, r)) {
            emit_want(m, r->expr);
            emit_want_index(m, r->at);
        }
    }
    name_wanted(m, phase);
}

int emit_tasks(emitter *m, definition *made) {
    const kernel *k = m->k;
    int n = 0;
    int64_t below = k->n_task_items;
    if (k->scan_parts > 0) { /* of whole rows */
        emit_define(m, &made[n++], "const int64_t ", "first_lane = 0");
        return n;
    }
    if (k->scatter_row > 0) {
        const long long row = (long long)k->scatter_row, rows = (long long)k->scatter_rows, parts = (long long)k->n_task_items;
        if (k->lists_rows) {
            emit_define(m, &made[n++], "const int64_t ", "first_row = %lld * task / %lld", rows, parts);
            emit_define(m, &made[n++], "const int64_t ", "end_row = %lld * (task + 1) / %lld", rows, parts);
            return n;
        }
        emit_define(m, &made[n++], "const int64_t ", "first_lane = 0");
        emit_define(m, &made[n++], "const int64_t ", "own_first = %lld * (%lld * task / %lld)", row, rows, parts);
        emit_define(m, &made[n++], "const int64_t ", "own_last = %lld * (%lld * (task + 1) / %lld)", row, rows, parts);
        return n;
    }
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
            emit_define(m, &made[n++], "const int64_t ", "first_lane = %lld * (%s)", (long long)k->lanes, value);
            if (k->variables[v].size % k->lanes != 0) {
                emit_define(m, &made[n++], "const int64_t ", "n_lanes = %lld - first_lane < %lld ? %lld - first_lane : %lld",
                       (long long)k->variables[v].size, (long long)k->lanes, (long long)k->variables[v].size,
                       (long long)k->lanes);
            }
        } else {
            emit_define(m, &made[n++], "const int64_t ", "v%d = %s", v, value);
        }
    }
    return n;
}

void emit_row_alone(emitter *m, int phase) {
    want_alone(m, phase);
    name_wanted(m, phase);
    emit_want_phase(m, phase);
}

/* Sums of elements and of squares of their deviations together (deviations.c). What is named on the way is forgotten. */
static void emit_near_phase(emitter *m, int phase) {
    if (m->order == ORDER_TOTALS) {
        emit_ordered_guess(m);
        emit_ordered_accumulators(m);
    } else {
        emit_line(m, "float r%d_%d;", m->guessed, phase);
        emit_guess(m, phase);
    }
    emit_open_nearing(m);
    emit_row_alone(m, phase);
    if (m->order == ORDER_TOTALS) { /* the first sums are there */
        emit_line(m, "if (again) {");
        m->depth++;
        emit_starts(m, phase);
        emit_loops(m, phase);
        m->depth--;
        emit_line(m, "}");
    } else {
        emit_accumulators(m, phase);
        emit_loops(m, phase);
    }
    emit_close_nearing(m, phase);
    emit_kept_results(m, phase);
    memset(m->named, 0, (size_t)m->k->n_exprs);
    memset(m->kept, 0, (size_t)m->k->n_exprs);
}

/* Exponentials less a number near the largest one (guess.c). */
static void emit_guessed_phase(emitter *m, int phase) {
    emit_line(m, "float r%d_%d;", m->guessed, phase);
    emit_guess(m, phase);
    emit_accumulators(m, phase);
    emit_open_guessing(m);
    emit_row_alone(m, phase);
    emit_loops(m, phase);
    emit_close_guessing(m, phase);
    emit_results(m, phase);
    memset(m->named, 0, (size_t)m->k->n_exprs);
    memset(m->kept, 0, (size_t)m->k->n_exprs);
}

/* Sums of elements and of squares of their deviations, of columns. */
static void emit_near_columns_phase(emitter *m, int phase) {
    emit_guess_columns(m, phase);
    emit_accumulators(m, phase);
    emit_open_nearing_columns(m);
    emit_row(m, phase);
    emit_want_phase(m, phase);
    emit_loops(m, phase);
    emit_close_nearing_columns(m, phase);
    emit_kept_results(m, phase);
    memset(m->named, 0, (size_t)m->k->n_exprs);
    memset(m->kept, 0, (size_t)m->k->n_exprs);
}

void emit_phases(emitter *m) {
    const kernel *k = m->k;
    for (int phase = 0; phase < k->n_phases; phase++) {
        m->phase = phase;
        if (emit_guesses_in(m, phase)) {
            if (m->squares < 0) {
                emit_guessed_phase(m, phase);
            } else if (m->rows) {
                emit_near_columns_phase(m, phase);
            } else {
                emit_near_phase(m, phase);
            }
            continue;
        }
        if (k->has_classes) {
            emit_row(m, phase);
        }
        if (emit_has_loops(m, phase)) {
            emit_want_phase(m, phase);
            if (phase == 0 && m->order == ORDER_TOTALS) {
                emit_ordered_accumulators(m);
            } else {
                emit_accumulators(m, phase);
                m->before = k->scan_parts > 0;
                if (m->before) {
                    emit_loops(m, phase);
                    m->before = false;
                }
                emit_loops(m, phase);
            }
            emit_results(m, phase);
        }
        emit_end_phase(m, phase);
    }
}
