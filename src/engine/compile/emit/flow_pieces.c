/* SPDX-License-Identifier: Apache-2.0 */
/* Tasks in flight: a block of lanes of one, and the order in which blocks are taken. */
#include "engine/compile/emit/flow_pieces.h"

#include "engine/compile/emit/block_functions.h"
#include "engine/compile/emit/blocks.h"
#include "engine/compile/emit/facts.h"
#include "engine/compile/emit/fetching.h"
#include "engine/compile/emit/groups.h"
#include "engine/compile/emit/lane_loops.h"
#include "engine/compile/emit/phases.h"
#include "engine/compile/emit/short_blocks.h"
#include "engine/compile/emit/row_ends.h"
#include "engine/compile/emit/saved.h"
#include "engine/compile/emit/wants.h"

#include <stdio.h>
#include <stdlib.h>

/* --- a task's part of a step --------------------------------------------------------------------------------------------- */

void emit_open_task(emitter *m, int phase, task_scope *s) {
    int lag = emit_flow_lag(m, phase);
    s->from = m->out.length;
    emit_line(m, "if (does%d) {", lag);
    m->depth++;
    s->inside = m->out.length;
    emit_define(m, &s->made[0], "const int64_t ", m->twins ? "task = at%d" : lag > 0 ? "task = step - %d" : "task = step", lag);
    s->n = 1 + emit_tasks(m, s->made + 1);
}

/* Without a line in it, it goes again. */
void emit_close_task(emitter *m, task_scope *s) {
    while (s->n-- > 0) {
        emit_drop_unused(m, &s->made[s->n]);
    }
    m->depth--;
    if (!m->out.failed && m->out.length == s->inside) {
        m->out.length = s->from;
        m->out.data[s->from] = '\0';
        return;
    }
    emit_line(m, "}");
}

/* What is read soon, of lanes that make no block. */
static void emit_fetch_rest(emitter *m, int phase, const char *n, const char *from) {
    if (emit_fetches_in(m, phase)) {
        block_scope start;
        m->block = "0";
        emit_open_scope(m, from, &start);
        emit_fetches(m, phase, strtoll(n, NULL, 10));
        emit_close_scope(m, &start);
    }
}

/* A phase's lanes of the task at hand: a whole block that begins with `from` where n is NULL, else so many. */
static void emit_piece(emitter *m, int phase, const char *n, const char *from) {
    emit_want_phase(m, phase);
    emit_body(m, phase, true);
    if (n == NULL) {
        emit_block_at(m, phase, "0", from);
    } else {
        emit_fetch_rest(m, phase, n, from);
        emit_short_range(m, phase, &(lane_range){"0", n, from, 0, false});
    }
}

void emit_piece_of(emitter *m, int phase, const char *n, const char *from) {
    task_scope s;
    emit_enter_rows(m, phase);
    emit_open_task(m, phase, &s);
    emit_piece(m, phase, n, from);
    emit_close_task(m, &s);
}

void emit_piece_head(emitter *m, int phase) {
    task_scope s;
    emit_enter_rows(m, phase);
    emit_open_task(m, phase, &s);
    emit_want_phase(m, phase);
    emit_body(m, phase, true);
    emit_row_head(m, phase, "0");
    emit_close_task(m, &s);
}

void emit_piece_rest(emitter *m, int phase, const char *n, const char *from, int64_t most) {
    task_scope s;
    emit_enter_rows(m, phase);
    emit_open_task(m, phase, &s);
    emit_want_phase(m, phase);
    emit_body(m, phase, true);
    emit_row_rest(m, phase, n, from, most);
    emit_close_task(m, &s);
}

bool emit_piece_before(emitter *m, int phase, const char *from) {
    task_scope s;
    emit_want_phase(m, phase);
    if (!emit_block_rooms(m, phase)) {
        return false;
    }
    emit_enter_rows(m, phase);
    emit_open_task(m, phase, &s);
    emit_want_phase(m, phase);
    emit_body(m, phase, true);
    emit_block_later(m, phase, from);
    emit_close_task(m, &s);
    return true;
}

void emit_piece_behind(emitter *m, int phase, const char *from) {
    task_scope s;
    emit_enter_rows(m, phase);
    emit_open_task(m, phase, &s);
    emit_want_phase(m, phase);
    emit_block_stores(m, phase, from);
    emit_close_task(m, &s);
}

/* --- rows in groups ------------------------------------------------------------------------------------------------------ */

/* Lanes of the row at hand that make no block. */
typedef struct row_rest {
    char n[32], from[32];
} row_rest;

/* A block of lanes of the row at hand; or, not NULL, what is left of it. */
static void emit_group_piece(emitter *m, int phase, const row_rest *rest) {
    emit_want_phase(m, phase);
    if (rest != NULL) {
        emit_piece(m, phase, rest->n, rest->from);
    } else if (!m->by_groups) {
        emit_fetch_saved(m, "block");
        emit_piece(m, phase, NULL, "block");
    } else {
        emit_body(m, phase, true);
        emit_group_block(m, phase);
    }
}

static void emit_group_pieces(emitter *m, int only, const row_rest *rest) {
    for (int p = m->k->n_phases - 1; p >= 0 && only < 0; p--) {
        if (emit_is_side_by_side(m, p)) {
            task_scope s;
            emit_enter_rows(m, p);
            emit_open_task(m, p, &s);
            emit_group_piece(m, p, rest);
            emit_close_task(m, &s);
        }
    }
    if (only >= 0) {
        emit_group_piece(m, only, rest);
    }
}

static void emit_groups_at_hand(emitter *m, int only) {
    definition at_place;
    row_rest left;
    emit_open_groups(m, only, &at_place);
    emit_group_pieces(m, only, NULL);
    int64_t rest = emit_open_group_rest(m, only, &at_place);
    if (rest > 0) {
        snprintf(left.n, sizeof left.n, "%lld", (long long)rest);
        snprintf(left.from, sizeof left.from, "%lld", (long long)(m->k->variables[m->k->vector].size - rest));
        emit_group_pieces(m, only, &left);
    }
    emit_close_groups(m, rest, &at_place);
}

/* Of rows that are not kept every phase reads what it needs. */
void emit_groups(emitter *m, int only) {
    int *const saved_in = m->saved_in;
    emit_groups_at_hand(m, only);
    if (!m->shares) {
        return;
    }
    m->saved_in = arena_make(m->c->memory, (size_t)m->k->n_exprs, sizeof *saved_in);
    if (m->saved_in != NULL) {
        for (int i = 0; i < m->k->n_exprs; i++) {
            m->saved_in[i] = -1;
        }
        m->behind_kept = true;
        emit_groups_at_hand(m, only);
        m->behind_kept = false;
    }
    m->out.failed |= m->saved_in == NULL;
    m->saved_in = saved_in;
}

void emit_flow_loops(emitter *m, int phase) {
    if (m->group_rows > 0) {
        emit_groups(m, phase);
        return;
    }
    emit_want_phase(m, phase);
    emit_loops(m, phase);
}
