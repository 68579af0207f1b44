/* SPDX-License-Identifier: Apache-2.0 */
/* Tiles of what runs across the lanes in memory, turned round. */
#include "engine/compile/emit/turned.h"

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
        snprintf(n_across, sizeof n_across, across->limit % across->tile == 0 ? "%lld" : "%lld * (v%d + 1) <= %lld ? %lld : %lld",
                 (long long)across->tile, across->block, (long long)across->limit, (long long)across->tile,
                 (long long)(across->limit % across->tile));
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
