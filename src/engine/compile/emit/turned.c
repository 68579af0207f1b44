/* SPDX-License-Identifier: Apache-2.0 */
/* Tiles of what runs across the lanes in memory, turned round. */
#include "engine/compile/emit/turned.h"

#include "engine/compile/emit/facts.h"
#include "engine/compile/emit/values.h"
#include "engine/compile/emit/writing.h"

#include <stdio.h>

/* What runs along the tile's variable in memory is read so, into an array that runs along the lanes: each line is touched
   once, where lanes that lie a multiple of a page apart would push each other out of the caches between two of its elements. */
static bool is_turned(const emitter *m, int i) {
    const expr *e = &m->k->exprs[i];
    int reads[EXPR_MAX_READS], across = m->k->n_loops == 1 ? m->k->loops[0] : -1;
    int64_t along, stride;
    return across >= 0 && m->k->variables[across].tile > 0 && m->wanted[i] && !m->named[i] && e->kind == EXPR_LOAD &&
           e->guard < 0 && dtype_size(e->dtype) <= 8 && index_reads(m->k, e->at, -1, reads, 0) == 0 &&
           index_stride(e->at, across, &stride) &&
           stride == 1 && index_stride(e->at, m->k->vector, &along) && along > 1;
}

/* How many there are across, of the block at hand. */
static void count_across(const loop_variable *across, char n[96]) {
    snprintf(n, 96, across->limit % across->tile == 0 ? "%lld" : "%lld * (v%d + 1) <= %lld ? %lld : %lld", (long long)across->tile,
             across->block, (long long)across->limit, (long long)across->tile, (long long)(across->limit % across->tile));
}

/* The load that is all that a kernel stores, as it is; -1: there is more to it, or it goes past the caches. By way of an array a clone of
   [16, 64, 28, 28] to channels last takes 1.4 times as long (two cores of a Zen 4, 2026-11). */
static int only_moved(const emitter *m) {
    const kernel *k = m->k;
    const root *r = k->roots;
    int64_t stride;
    bool is_move = k->n_roots == 1 && r->kind == ROOT_STORE && k->n_phases == 1 && k->vector >= 0 && !k->turns_lines && k->beside == 0 &&
                   k->exprs[r->expr].kind == EXPR_LOAD && k->exprs[r->expr].dtype == r->store_dtype && !emit_is_streamed(m, r) &&
                   !emit_reads_memory_of(m, r->buffer);
    return is_move && is_turned(m, r->expr) && emit_is_dense(m, r->at) && index_stride(r->at, k->loops[0], &stride) && stride > 0 ? r->expr : -1;
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
    emit_line(m, "turn_round(b%d + %s, %lld, b%d + %s, %lld, %s, %s, %d);", r->buffer, text_get(&to), (long long)to_stride, e->buffer,
              text_get(&from), (long long)stride, n_across, n_lanes, (int)dtype_size(e->dtype));
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
        emit_line(m, "turn_%s(turned%d, %lld, b%d + %s, %lld, %s, %s, %d%s);", k->turns_lines ? "lines" : "round", i,
                  (long long)k->lanes, e->buffer, text_get(&index), (long long)stride, n_across, n_lanes,
                  (int)dtype_size(e->dtype), !k->turns_lines ? "" : m->c->options->asks_far ? ", 1024" : ", 128");
        m->depth--;
        emit_line(m, "}");
        m->out.failed |= index.failed;
        text_clear(&index);
    }
}
