/* SPDX-License-Identifier: Apache-2.0 */
/* Sums of very many terms, in pieces. A number that takes in equal terms one after the other rounds by the same each time, all one way:
   by up to eps / 2 of itself, over the last half of n terms, so that it is off by n * eps / 6 at worst, and from some 2^24 terms on it grows no
   more. Of n terms for each of L lanes that come to one number docs/accuracy.md allows 8 * eps * sqrt(n * L): more than that up to n = 2304 * L.
   Longer sums begin anew with each piece, and what pieces come to is added up beside them. A loop over a piece is the loop that there would be
   without: accumulators stay in registers as before. */
#include "engine/compile/emit/long_sums.h"

#include "engine/compile/emit/facts.h"
#include "engine/compile/emit/held.h"
#include "engine/compile/emit/lane_arrays.h"
#include "engine/compile/emit/place_keys.h"
#include "engine/compile/emit/writing.h"

#include <stdio.h>

enum { MOST_TERMS = 2304, PIECE_TURNS = 1024, TEST_TURNS = 4 };

static int64_t piece_turns(const emitter *m) {
    return m->c->options->cuts_sums ? TEST_TURNS : PIECE_TURNS;
}

static bool is_sum(const emitter *m, int i, int phase) {
    const root *r = &m->k->roots[i];
    return r->kind == ROOT_REDUCE && r->phase == phase && r->how == RED_SUM && (r->dtype == ASSAY_F32 || r->dtype == ASSAY_C64);
}

static bool has_sums(const emitter *m, int phase) {
    bool any = false;
    for (int i = 0; i < m->k->n_roots; i++) {
        any |= is_sum(m, i, phase);
    }
    return any;
}

/* Blocks of lanes in a row that is reduced. */
static int64_t row_blocks(const emitter *m) {
    const kernel *k = m->k;
    return m->rows || k->vector < 0 ? 1 : (k->variables[k->vector].size + k->lanes - 1) / k->lanes;
}

/* Terms that a lane takes in within its loop. */
static int64_t terms_beside(const emitter *m) {
    int64_t n = 1;
    for (int v = 0; v < m->k->n_variables; v++) {
        n *= (m->k->beside >> v & 1) != 0 && m->k->variables[v].is_reduced ? m->k->variables[v].size : 1;
    }
    return n;
}

int64_t emit_chain(const emitter *m) {
    int64_t n = terms_beside(m) * row_blocks(m);
    for (int i = 0; i < m->k->n_loops; i++) {
        n *= m->k->variables[m->k->loops[i]].size;
    }
    return n;
}

/* The innermost loop of which not all turns are one piece, and how many are. */
static void choose_cut(emitter *m) {
    const kernel *k = m->k;
    const int64_t most = piece_turns(m), blocks = row_blocks(m);
    int64_t terms = terms_beside(m);
    m->cut = terms * blocks > most && blocks > 1 ? k->vector : -1;
    terms *= m->cut < 0 ? blocks : 1;
    for (int i = k->n_loops - 1; i >= 0 && m->cut < 0; i--) {
        const loop_variable *loop = &k->variables[k->loops[i]];
        if (loop->tile == 0 && terms * loop->size > most) {
            m->cut = k->loops[i];
        } else {
            terms *= loop->size;
        }
    }
    m->cut_turns = terms < most ? most / terms : 1;
    while (m->group_rows > 0 && m->cut_turns % m->group_rows != 0) {
        m->cut_turns++;
    }
}

void emit_open_long_sums(emitter *m, int phase) {
    const kernel *k = m->k;
    const int64_t lanes = m->rows || k->vector < 0 ? 1 : k->lanes;
    char name[32];
    m->cut = -1;
    if (k->is_product || m->order == ORDER_ROWS || m->twins || !has_sums(m, phase)) {
        return;
    }
    if (emit_chain(m) > MOST_TERMS * lanes || m->c->options->cuts_sums) {
        choose_cut(m);
    }
    if (m->cut < 0) {
        return;
    }
    emit_line(m, "{");
    m->depth++;
    for (int i = 0; i < k->n_roots; i++) {
        if (is_sum(m, i, phase)) {
            snprintf(name, sizeof name, "sum%d", i);
            emit_lane_array(m, dialect_type(k->roots[i].dtype), name, "");
            emit_line(m, "for (int64_t l = 0; l < %lld; l++) {", (long long)k->lanes);
            emit_line(m, "    sum%d[l] = 0;", i);
            emit_line(m, "}");
        }
    }
}

static bool is_in_registers(const emitter *m, int i) {
    return !m->rows && emit_is_held(m, i);
}

/* Lanes that make no block come behind the last piece. */
void emit_close_long_sums(emitter *m, int phase) {
    const int lanes = (int)m->k->lanes;
    if (m->cut < 0) {
        return;
    }
    for (int i = 0; i < m->k->n_roots; i++) {
        if (is_sum(m, i, phase) && is_in_registers(m, i)) {
            emit_line(m, "held_added_f32(sum%d, &held%d, %d);", i, i, lanes);
            emit_line(m, "held_from_f32(&held%d, sum%d, %d);", i, i, lanes);
        } else if (is_sum(m, i, phase)) {
            emit_line(m, "for (int64_t l = 0; l < %d; l++) {", lanes);
            emit_line(m, "    a%d[l] += sum%d[l];", i, i);
            emit_line(m, "}");
        }
    }
    m->depth--;
    emit_line(m, "}");
    m->cut = -1;
}

void emit_open_piece(emitter *m, int64_t size, int64_t step) {
    const long long n = (long long)size, s = (long long)step;
    emit_line(m, "for (int64_t piece = 0; piece < %lld; piece += %lld) {", n, s);
    m->depth++;
    if (size % step != 0) {
        emit_line(m, "const int64_t piece_end = %lld - piece < %lld ? %lld : piece + %lld;", n, s, n, s);
    } else {
        emit_line(m, "const int64_t piece_end = piece + %lld;", s);
    }
    emit_line(m, "FEW"); /* gcc 12 gets sums over 4 or 8 lanes wrong where it writes out a piece's turns, as it does few (-O3) */
}

void emit_close_piece(emitter *m) {
    const int lanes = (int)m->k->lanes;
    for (int i = 0; i < m->k->n_roots; i++) {
        if (is_sum(m, i, m->phase) && is_in_registers(m, i)) {
            emit_line(m, "held_added_f32(sum%d, &held%d, %d);", i, i, lanes);
            emit_line(m, "start_held_f32(&held%d, 0);", i);
        } else if (is_sum(m, i, m->phase)) {
            emit_line(m, "for (int64_t l = 0; l < %d; l++) {", lanes);
            emit_line(m, "    sum%d[l] += a%d[l];", i, i);
            emit_line(m, "    a%d[l] = 0;", i);
            emit_line(m, "}");
        }
    }
    m->depth--;
    emit_line(m, "}");
}
