/* SPDX-License-Identifier: Apache-2.0 */
/* Tiles of what runs across the lanes in memory, turned round. */
#include "engine/compile/emit/turned.h"

#include "device/caches.h"
#include "engine/compile/emit/facts.h"
#include "engine/compile/emit/values.h"
#include "engine/compile/emit/wants.h"
#include "engine/compile/emit/writing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What turns the tile of load e round: lanes that may be fewer than a square has are worth one where it is whole across. */
static const char *turns_by(const kernel *k, const expr *e) {
    enum { EDGE = 16, EDGE_8 = 8 /* of 8 bytes */ };
    const loop_variable *across = &k->variables[k->loops[0]], *vector = &k->variables[k->vector];
    const bool is_whole = across->tile >= EDGE || (across->tile >= EDGE_8 && dtype_size(e->dtype) == 8);
    const bool may_be_few = e->guard >= 0 || k->lanes < EDGE || vector->size % k->lanes != 0;
    return is_whole && may_be_few ? "turn_round_few" : "turn_round";
}

/* How far on lines are asked for, where rows are turned round by lines. */
static const char *lines_ahead(const emitter *m, dtype t) {
    const bool is_far = m->c->options->asks_far && !m->c->options->asks_along;
    const bool is_single = m->k->variables[m->k->loops[0]].tile * (int64_t)dtype_size(t) == STREAM_LINE_BYTES;
    return !m->k->turns_lines ? "" : is_far ? ", 1024" : is_single ? ", 64" : ", 128";
}

/* Whether a condition holds for lanes that lie side by side, wherever the tile's variable is. */
static bool holds_side_by_side(const emitter *m, int i, int across) {
    const expr *e = &m->k->exprs[i];
    if (e->kind == EXPR_MAP && e->fn == FN_AND) {
        return holds_side_by_side(m, e->sources[0], across) && holds_side_by_side(m, e->sources[1], across);
    }
    bool linear = e->kind == EXPR_WITHIN && e->guard < 0 && !e->asks;
    for (int b = 0; linear && b < e->n_bounds; b++) {
        int64_t along, none;
        linear = index_stride(e->bounds[b].at, m->k->vector, &along) && index_stride(e->bounds[b].at, across, &none) && none == 0;
    }
    return linear;
}

/* What runs along the tile's variable in memory is read so, into an array that runs along the lanes: each line is touched
   once, where lanes that lie a multiple of a page apart would push each other out of the caches between two of its elements. */
static bool is_turned(const emitter *m, int i) {
    const expr *e = &m->k->exprs[i];
    int reads[EXPR_MAX_READS], across = m->k->n_loops == 1 ? m->k->loops[0] : -1;
    int64_t along, stride;
    return across >= 0 && m->k->variables[across].tile > 0 && m->wanted[i] && !m->named[i] && e->kind == EXPR_LOAD &&
           (e->guard < 0 || holds_side_by_side(m, e->guard, across)) && dtype_size(e->dtype) <= 8 && index_reads(m->k, e->at, -1, reads, 0) == 0 &&
           index_stride(e->at, across, &stride) &&
           stride == 1 && index_stride(e->at, m->k->vector, &along) && along > 1;
}

/* How many there are across, of the block at hand. */
static void count_across(const loop_variable *across, char n[96]) {
    snprintf(n, 96, across->limit % across->tile == 0 ? "%lld" : "%lld * (v%d + 1) <= %lld ? %lld : %lld", (long long)across->tile,
             across->block, (long long)across->limit, (long long)across->tile, (long long)(across->limit % across->tile));
}

/* Moves one end of the lanes for which load i may look, lanes_from or lanes_to, as far as they reach. */
static void find_end(emitter *m, int i, const char *loop, const char *lane) {
    const kernel *k = m->k;
    const size_t n = (size_t)k->n_exprs;
    bool *kept = malloc(2 * n + 1);
    if (kept == NULL) {
        m->out.failed = true;
        return;
    }
    memcpy(kept, m->wanted, n);
    memcpy(kept + n, m->named, n);
    emit_line(m, "%s {", loop);
    m->depth++;
    definition name;
    emit_define(m, &name, "const int64_t ", "v%d = first_lane + %s", k->vector, lane);
    memset(m->wanted, 0, n);
    emit_want(m, k->exprs[i].guard);
    for (int e = 0; e < k->n_exprs; e++) {
        if (m->wanted[e] && !m->named[e]) {
            emit_expr(m, e);
        }
    }
    text holds = {0};
    emit_name(m, &holds, k->exprs[i].guard);
    emit_line(m, "if (%s) {", text_get(&holds));
    emit_line(m, "    break;");
    emit_line(m, "}");
    emit_drop_unused(m, &name);
    m->out.failed |= holds.failed;
    text_clear(&holds);
    m->depth--;
    emit_line(m, "}");
    memcpy(m->wanted, kept, n);
    memcpy(m->named, kept + n, n);
    free(kept);
}

/* Names the lanes for which load i may look: from lanes_from to before lanes_to, which lie side by side. */
static void find_lanes(emitter *m, int i, const char *n_lanes) {
    emit_line(m, "int64_t lanes_from = 0, lanes_to = %s;", n_lanes);
    find_end(m, i, "for (; lanes_from < lanes_to; lanes_from++)", "lanes_from");
    find_end(m, i, "for (; lanes_to > lanes_from; lanes_to--)", "lanes_to - 1");
}

/* The load that expression i is: as it is, or a number where its condition does not hold. -1: it is another. */
static int load_behind(const kernel *k, int i) {
    const expr *e = &k->exprs[i];
    bool chooses = e->kind == EXPR_MAP && e->fn == FN_SELECT && k->exprs[e->sources[1]].kind == EXPR_LOAD &&
                   k->exprs[e->sources[1]].guard == e->sources[0] && k->exprs[e->sources[2]].kind == EXPR_NUMBER;
    return chooses ? e->sources[1] : e->kind == EXPR_LOAD && e->guard < 0 ? i : -1;
}

/* The load that is all that a kernel stores, as it is or behind a condition; -1: there is more to it, or it goes past the caches but not
   a line at a time. By way of an array a clone of [16, 64, 28, 28] to channels last takes 1.4 times as long (two cores of a Zen 4, 2026-11). */
static int only_moved(const emitter *m) {
    const kernel *k = m->k;
    const root *r = k->roots;
    int64_t stride;
    const int i = k->n_roots == 1 && r->kind == ROOT_STORE ? load_behind(k, r->expr) : -1;
    bool is_move = i >= 0 && k->n_phases == 1 && k->vector >= 0 && k->beside == 0 && k->exprs[i].dtype == r->store_dtype &&
                   k->turns_lines == emit_is_streamed(m, r) && !emit_reads_memory_of(m, r->buffer);
    return is_move && is_turned(m, i) && emit_is_dense(m, r->at) && index_stride(r->at, k->loops[0], &stride) && stride > 0 ? i : -1;
}

/* The number that lanes beside lanes_from to lanes_to hold, in all rows at `to`, which lie to_stride apart. */
static void fill_beside(emitter *m, const char *to, long long to_stride, const char *n_across, const char *n_lanes) {
    const root *r = &m->k->roots[0];
    text beside = {0};
    emit_name(m, &beside, m->k->exprs[r->expr].sources[2]);
    emit_line(m, "for (int64_t r = 0; lanes_to - lanes_from < %s && r < (%s); r++) {", n_lanes, n_across);
    emit_line(m, "    %s *to = b%d + %s + %lld * r;", dialect_type(r->store_dtype), r->buffer, to, to_stride);
    emit_line(m, "    for (int64_t l = 0; l < lanes_from; l++) {");
    emit_line(m, "        to[l] = %s;", text_get(&beside));
    emit_line(m, "    }");
    emit_line(m, "    for (int64_t l = lanes_to; l < %s; l++) {", n_lanes);
    emit_line(m, "        to[l] = %s;", text_get(&beside));
    emit_line(m, "    }");
    emit_line(m, "}");
    m->out.failed |= beside.failed;
    text_clear(&beside);
}

bool emit_turned_over(emitter *m) {
    const kernel *k = m->k;
    const int i = only_moved(m);
    if (i < 0) {
        return false;
    }
    const expr *e = &k->exprs[i];
    const root *r = &k->roots[0];
    const loop_variable *across = &k->variables[k->loops[0]], *vector = &k->variables[k->vector];
    int64_t stride = 0, to_stride = 0;
    text from = {0}, to = {0};
    char n_across[96], n_lanes[32];
    (void)index_stride(e->at, k->vector, &stride);
    (void)index_stride(r->at, k->loops[0], &to_stride);
    count_across(across, n_across);
    snprintf(n_lanes, sizeof n_lanes, vector->size % k->lanes == 0 ? "%lld" : "n_lanes", (long long)k->lanes);
    emit_index(m, &from, e->at, -1);
    emit_index(m, &to, r->at, -1);
    emit_line(m, "{");
    m->depth++;
    emit_line(m, "const int64_t v%d = 0, v%d = first_lane;", k->loops[0], k->vector);
    if (e->guard >= 0) {
        find_lanes(m, i, n_lanes);
        fill_beside(m, text_get(&to), (long long)to_stride, n_across, n_lanes);
        emit_line(m, "if (lanes_from < lanes_to) {");
        emit_line(m, "    %s(b%d + %s + lanes_from, %lld, b%d + %s + %lld * lanes_from, %lld, %s, lanes_to - lanes_from, %d);",
                  turns_by(k, e), r->buffer,
                  text_get(&to), (long long)to_stride, e->buffer, text_get(&from), (long long)stride, (long long)stride, n_across,
                  (int)dtype_size(e->dtype));
        emit_line(m, "}");
    } else {
        emit_line(m, "%s(b%d + %s, %lld, b%d + %s, %lld, %s, %s, %d%s);", k->turns_lines ? "turn_lines_past" : turns_by(k, e), r->buffer,
                  text_get(&to), (long long)to_stride, e->buffer, text_get(&from), (long long)stride, n_across, n_lanes,
                  (int)dtype_size(e->dtype), lines_ahead(m, e->dtype));
    }
    m->depth--;
    emit_line(m, "}");
    m->out.failed |= from.failed || to.failed;
    text_clear(&from);
    text_clear(&to);
    return true;
}

enum { TURNED_BYTES = 256 * 1024 }; /* of a task, on the stack; what is beyond is read where it lies */

void emit_turned(emitter *m) {
    const kernel *k = m->k;
    int64_t left = TURNED_BYTES;
    for (int i = 0; i < k->n_exprs; i++) {
        m->turned[i] = k->vector >= 0 && is_turned(m, i);
        left -= m->turned[i] ? k->variables[k->loops[0]].tile * k->lanes * (int64_t)dtype_size(k->exprs[i].dtype) : 0;
        m->turned[i] = m->turned[i] && left >= 0;
        if (!m->turned[i]) {
            continue;
        }
        const expr *e = &k->exprs[i];
        const loop_variable *across = &k->variables[k->loops[0]], *vector = &k->variables[k->vector];
        int64_t stride = 0;
        text index = {0};
        char n_across[96];
        (void)index_stride(e->at, k->vector, &stride);
        emit_index(m, &index, e->at, -1);
        count_across(across, n_across);
        emit_line(m, "_Alignas(64) %s turned%d[%lld][%lld];", dialect_type(e->dtype), i, (long long)across->tile,
                  (long long)k->lanes);
        emit_line(m, "{");
        m->depth++;
        emit_line(m, "const int64_t v%d = 0, v%d = first_lane;", k->loops[0], k->vector);
        char n_lanes[32];
        snprintf(n_lanes, sizeof n_lanes, vector->size % k->lanes == 0 ? "%lld" : "n_lanes", (long long)k->lanes);
        if (e->guard >= 0) {
            find_lanes(m, i, n_lanes);
            emit_line(m, "__builtin_memset(turned%d, 0, lanes_from > 0 || lanes_to < %s ? sizeof turned%d : 0);", i, n_lanes, i);
            emit_line(m, "if (lanes_from < lanes_to) {");
            emit_line(m, "    %s(turned%d[0] + lanes_from, %lld, b%d + %s + %lld * lanes_from, %lld, %s, lanes_to - lanes_from, %d);",
                      turns_by(k, e), i,
                      (long long)k->lanes, e->buffer, text_get(&index), (long long)stride, (long long)stride, n_across,
                      (int)dtype_size(e->dtype));
            emit_line(m, "}");
        } else {
            emit_line(m, "%s(turned%d, %lld, b%d + %s, %lld, %s, %s, %d%s);", k->turns_lines ? "turn_lines" : turns_by(k, e), i,
                      (long long)k->lanes, e->buffer, text_get(&index), (long long)stride, n_across, n_lanes,
                      (int)dtype_size(e->dtype), lines_ahead(m, e->dtype));
        }
        m->depth--;
        emit_line(m, "}");
        m->out.failed |= index.failed;
        text_clear(&index);
    }
}

/* In a turn of the loop that stores rows of tiles memory is asked for some lanes of what the next task turns round: clones of [6000, 5000]
   floats that lie across take 5.3 ms so, and 8.4 (two cores of a Zen 5, 2026-11). Intel's processors follow as many rows by themselves
   (copy_loops.c). */
void emit_turned_ahead(emitter *m) {
    const kernel *k = m->k;
    if (!m->c->options->asks_far || !m->streams || k->n_loops != 1 || k->n_tasks == 0 || k->tasks[k->n_tasks - 1] != k->vector) {
        return;
    }
    const int across = k->loops[0];
    const long long tile = k->variables[across].tile, lanes = k->lanes;
    for (int i = 0; i < k->n_exprs; i++) {
        const expr *e = &k->exprs[i];
        int64_t stride = 0;
        const bool is_large = m->turned[i] && (buffer_bytes(m->c, e->buffer) >= STREAM_MIN_BYTES || m->c->options->streams_all);
        if (!is_large || e->guard >= 0) {
            continue;
        }
        (void)index_stride(e->at, k->vector, &stride);
        const int64_t size = (int64_t)dtype_size(e->dtype);
        char after[48];
        snprintf(after, sizeof after, ", %lld);", tile * (long long)size + (stride * size % STREAM_LINE_BYTES != 0)); /* it begins anywhere */
        const long long some = (lanes + tile - 1) / tile;
        emit_line(m, "for (int64_t i = 0, lane = first_lane + %lld + %lld * v%d; i < %lld && lane < %lld; i++, lane++) {", lanes, some, across,
                  some, (long long)k->variables[k->vector].size);
        m->depth++;
        emit_line(m, "const int64_t v%d = 0, v%d = lane;", across, k->vector);
        emit_address_call(m, "fetch_soon(", e->buffer, e->at, after);
        m->depth--;
        emit_line(m, "}");
    }
}
