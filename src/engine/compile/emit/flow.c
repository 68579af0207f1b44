/* SPDX-License-Identifier: Apache-2.0 */
/* Tasks in flight. Where results pass the caches, a task's phases one after the other leave memory idle while they compute, and
   read nothing while they store. So several tasks go on side by side, a block of lanes of each in turn: while one reads its
   row from memory for the first phase, the task before it is in its second, and one further back is finished and stored. What
   takes too much room for that is kept where its first phase read it; it is finished block by block while the next task is read
   into its place, and the phases between have the cache to themselves. */
#include "engine/compile/emit/flow.h"

#include "engine/compile/emit/blocks.h"
#include "engine/compile/emit/facts.h"
#include "engine/compile/emit/flow_pieces.h"
#include "engine/compile/emit/flow_rows.h"
#include "engine/compile/emit/guess.h"
#include "engine/compile/emit/lane_loops.h"
#include "engine/compile/emit/phases.h"
#include "engine/compile/emit/ranges.h"
#include "engine/compile/emit/reductions.h"
#include "engine/compile/emit/row_ends.h"
#include "engine/compile/emit/twins.h"
#include "engine/compile/emit/wants.h"

#include <stdio.h>

/* --- side by side -------------------------------------------------------------------------------------------------------- */

static void emit_lanes_of(emitter *m, int phase) {
    const kernel *k = m->k;
    task_scope s;
    emit_enter_rows(m, phase);
    emit_open_task(m, phase, &s);
    emit_want_phase(m, phase);
    emit_body(m, phase, true);
    emit_lanes(m, phase, k->variables[k->vector].size % k->lanes == 0 ? k->lanes : 0, "first_lane");
    emit_close_task(m, &s);
}

/* A block of each: of the last phase it begins with lane `stored`, of the others with lane `block`. */
static void emit_whole_block(emitter *m, const char *stored) {
    int last = m->k->n_phases - 1;
    bool later = emit_piece_before(m, last, stored);
    for (int p = last - later; p >= 0; p--) {
        if (emit_is_side_by_side(m, p)) {
            emit_piece_of(m, p, NULL, p == last ? stored : "block");
        }
    }
    if (later) {
        emit_piece_behind(m, last, stored);
    }
}

/* How far from each other two places of a long row lie that blocks are taken from in turns, where rows do not go by twos (twins.c); 0:
   none do. Memory gives more so to one operand, when the places lie apart in their pages; two have two places already. What is kept of a row may be over-written one block behind
   where it was read, no further. */
static int64_t apart(emitter *m, int64_t whole, bool aligned) {
    enum { LEAST_BYTES = 8 << 10, PAGE = 4096 };
    const kernel *k = m->k;
    int64_t lanes = emit_block_lanes(m), size = 1;
    for (int i = 0; i < k->n_roots; i++) {
        const root *r = &k->roots[i];
        size = emit_is_streamed(m, r) && (int64_t)dtype_size(r->store_dtype) > size ? (int64_t)dtype_size(r->store_dtype) : size;
    }
    bool may = !m->c->options->no_twins && !m->c->options->few_stores && !m->twins && m->flow == FLOW_ALL && whole * size > LEAST_BYTES;
    int streams = 0;
    for (int i = 0; i < k->n_exprs; i++) {
        may &= aligned || m->saved_in[i] < 0;
        streams += k->exprs[i].kind == EXPR_LOAD && (k->exprs[i].variables >> k->vector & 1) != 0;
    }
    may &= streams == 1;
    int64_t part = (whole / lanes + 1) / 2 * lanes;
    while (may && (part * size + PAGE / 4) % PAGE < PAGE / 2) {
        part += lanes;
    }
    return may ? part : 0;
}

/* A row of each: what is stored runs ahead of what is read over it, to where lines begin. Blocks go as far as all of them are whole,
   whatever comes before the first line. */
static void emit_blocks(emitter *m) {
    const kernel *k = m->k;
    int64_t size = k->variables[k->vector].size;
    int last = k->n_phases - 1, lanes = emit_block_lanes(m);
    size_t from = m->out.length;
    bool aligned = emit_is_aligned(m, last);
    int64_t least = aligned ? lanes : 2 * lanes - 1, whole = size < least ? 0 : (size - least) / lanes * lanes + lanes;
    if (!aligned) {
        task_scope s;
        emit_line(m, "int64_t head = 0;");
        emit_enter_rows(m, last);
        emit_open_task(m, last, &s);
        emit_flow_head(m, last);
        emit_close_task(m, &s);
        emit_piece_head(m, last);
        emit_twin(m, from);
    }
    const int64_t part = apart(m, whole, aligned);
    if (part > 0) {
        emit_line(m, "for (int64_t place = 0; place < %lld; place += %d) {", (long long)part, lanes);
        m->depth++;
        emit_line(m, "for (int64_t block = place; block < %lld; block += %lld) {", (long long)whole, (long long)part);
    } else {
        emit_line(m, "for (int64_t block = 0; block < %lld; block += %d) {", (long long)whole, lanes);
    }
    m->depth++;
    from = m->out.length;
    emit_whole_block(m, aligned ? "block" : "head + block");
    emit_twin(m, from);
    for (int i = part > 0 ? 0 : 1; i < 2; i++) {
        m->depth--;
        emit_line(m, "}");
    }
    from = m->out.length;
    for (int p = last; p >= 0 && whole < size; p--) {
        char n[64], first[64];
        int64_t begin = whole;
        bool ahead = p == last && !aligned;
        if (!emit_is_side_by_side(m, p)) {
            continue;
        }
        if (!ahead && size - begin >= lanes) { /* a block more than what is stored has */
            snprintf(first, sizeof first, "%lld", (long long)begin);
            emit_piece_of(m, p, NULL, first);
            begin += lanes;
        }
        snprintf(n, sizeof n, ahead ? "%lld - head" : "%lld", (long long)(size - begin));
        snprintf(first, sizeof first, ahead ? "head + %lld" : "%lld", (long long)begin);
        if (ahead) {
            emit_piece_rest(m, p, n, first, size - begin);
        } else if (begin < size) {
            emit_piece_of(m, p, n, first);
        }
    }
    emit_twin(m, from);
}

static void emit_side_by_side(emitter *m) {
    const kernel *k = m->k;
    if (m->group_rows > 0) {
        emit_groups(m, -1);
        return;
    }
    for (int i = 0; i < k->n_loops; i++) {
        emit_open_loop(m, k->loops[i]);
    }
    if (m->rows) {
        for (int p = k->n_phases - 1; p >= 0; p--) {
            if (emit_is_side_by_side(m, p)) {
                emit_lanes_of(m, p);
            }
        }
    } else {
        emit_line(m, "{");
        m->depth++;
        emit_blocks(m);
        m->depth--;
        emit_line(m, "}");
    }
    for (int i = 0; i < k->n_loops; i++) {
        m->depth--;
        emit_line(m, "}");
    }
}

/* The number that stands for a result is found a step ahead where rows are short and go one at a time: each would wait for it. Masked
   softmax of rows of 128 takes 21 cycles for 16 numbers so, and 24 otherwise (Zen 4, in cache). */
enum { AHEAD_ROW = 1024 };

static int ahead_phase(const emitter *m) {
    int phase = m->guessed >= 0 && emit_visited(m) <= AHEAD_ROW ? m->k->roots[m->guessed].phase : -1;
    return phase >= 0 && !m->twins && !m->rows && emit_is_side_by_side(m, phase) && emit_flow_lag(m, phase) == 0 ? phase : -1;
}

static void emit_guess_ahead(emitter *m, const char *task) {
    definition made[KERNEL_MAX_VARIABLES + 3];
    char name[32];
    int n = 0;
    snprintf(name, sizeof name, "ahead%d", m->guessed);
    emit_line(m, "if (%s < last) {", task);
    m->depth++;
    emit_define(m, &made[n++], "const int64_t ", "task = %s", task);
    n += emit_tasks(m, made + n);
    emit_guess_into(m, ahead_phase(m), name);
    while (n-- > 0) {
        emit_drop_unused(m, &made[n]);
    }
    m->depth--;
    emit_line(m, "}");
}

/* Whether a reduction falls in the last phase, where most kernels only store elements. */
static bool ends_in_results(const emitter *m) {
    const kernel *k = m->k;
    bool any = false;
    for (int i = 0; i < k->n_roots; i++) {
        any |= k->roots[i].phase == k->n_phases - 1 && (k->roots[i].kind == ROOT_REDUCE || k->roots[i].kind == ROOT_SCAN);
    }
    return any;
}

static void emit_step(emitter *m) {
    const kernel *k = m->k;
    const int last = k->n_phases - 1;
    task_scope s;
    size_t from = m->out.length;
    const int ahead = ahead_phase(m);
    if (ahead >= 0) {
        emit_line(m, "r%d_%d = ahead%d;", m->guessed, ahead, m->guessed);
        emit_guess_ahead(m, "step + 1");
    }
    for (int p = 0; p < k->n_phases; p++) {
        if (emit_is_side_by_side(m, p)) {
            emit_open_task(m, p, &s);
            if (emit_guesses_in(m, p) && p != ahead) {
                emit_guess(m, p);
            }
            emit_rows(m, p);
            emit_close_task(m, &s);
            emit_accumulators(m, p);
        }
    }
    emit_twin(m, from);
    emit_side_by_side(m);
    from = m->out.length;
    emit_handing_on(m);
    for (int p = last; p >= 0; p--) {
        if (p == last ? ends_in_results(m) : m->flow == FLOW_ALL) {
            emit_open_task(m, p, &s);
            emit_phase_results(m, p);
            emit_close_task(m, &s);
        }
    }
    emit_twin(m, from);
    if (m->flow != FLOW_ENDS) {
        return;
    }
    emit_open_task(m, 0, &s);
    emit_phase_results(m, 0);
    for (int p = 1; p < last; p++) {
        emit_rows(m, p);
        emit_accumulators(m, p);
        emit_enter_rows(m, p);
        emit_flow_loops(m, p);
        emit_phase_results(m, p);
    }
    emit_close_task(m, &s);
}

/* Which tasks a step has. The last pair of an odd number is the same task twice: what the two do hangs on the same
   conditions then, so that compilers take one's instructions between the other's (softmax takes a tenth longer where each has its
   own). */
static void emit_which(emitter *m, int lags) {
    int n = m->twins ? 2 : 1;
    emit_line(m, "const _Bool does0 = step < last;");
    for (int lag = 1; lag <= lags; lag++) {
        emit_line(m, "const _Bool does%d = step >= first + %d && step < last + %d;", lag, lag * n, lag * n);
    }
}

/* Their numbers, for each lag. */
static void emit_numbers(emitter *m, int lags, definition *made) {
    for (int lag = 0; lag <= lags; lag++) {
        emit_define(m, &made[2 * lag], "const int64_t ", lag > 0 ? "at%d = step - %d" : "at%d = step", lag, 2 * lag);
        emit_define(m, &made[2 * lag + 1], "const int64_t ", "at%db = at%d + (at%d + 1 < last)", lag, lag, lag);
    }
}

void emit_flow(emitter *m) {
    int lags = emit_flow_lag(m, m->k->n_phases - 1), n = m->twins ? 2 * (lags + 1) : 0;
    definition *made = arena_make(m->c->memory, (size_t)n + 1, sizeof *made);
    if (made == NULL) {
        m->out.failed = true;
        return;
    }
    emit_declare_rows(m);
    definition room;
    emit_carried_room(m, &room);
    if (ahead_phase(m) >= 0) {
        emit_line(m, "float ahead%d = 0;", m->guessed);
        emit_guess_ahead(m, "first");
    }
    emit_line(m, "for (int64_t step = first; step < last + %d; %s) {", m->twins ? 2 * lags : lags, m->twins ? "step += 2" : "step++");
    m->depth++;
    emit_which(m, lags);
    if (m->twins) {
        emit_numbers(m, lags, made);
    }
    emit_step(m);
    while (n-- > 0) {
        emit_drop_unused(m, &made[n]);
    }
    m->depth--;
    emit_line(m, "}");
    emit_drop_unused(m, &room);
}
