/* SPDX-License-Identifier: Apache-2.0 */
/* Blocks of rows that begin anywhere within a line of memory. Only whole lines pass the caches, so what a block leaves of its last
   one waits in the thread's room until the next block of its row is stored. */
#include "engine/compile/emit/joined.h"

#include "device/caches.h"
#include "engine/compile/emit/facts.h"
#include "engine/compile/emit/values.h"
#include "engine/compile/emit/writing.h"

#include <stdio.h>

/* A line for each row of a task. */
void emit_joined_room(emitter *m) {
    for (int i = 0; m->joins && i < m->k->n_roots; i++) {
        if (emit_is_joined(m, i)) {
            emit_line(m, "char *const carried%d = (char *)buffers[%d] + %lld;", i, m->k->n_buffers, (long long)m->room_bytes);
            m->room_bytes += emit_visited(m) / m->k->lanes * STREAM_LINE_BYTES;
        }
    }
}

void emit_block_room(emitter *m, int i, const char *name, dtype t) {
    int size = (int)dtype_size(t), line = STREAM_LINE_BYTES / size;
    bool is_stored = !m->narrowed[i] || t == m->k->roots[i].store_dtype; /* else halves are made of it first */
    if (is_stored && emit_is_joined(m, i)) {
        emit_line(m, "%s joined%d[%d];", dialect_type(t), i, line + emit_block_lanes(m));
        emit_line(m, "%s *const %s%d = joined%d + %d;", dialect_type(t), name, i, i, line);
    } else {
        emit_line(m, "%s %s%d[%d];", dialect_type(t), name, i, emit_block_lanes(m));
    }
}

/* A row's block where rows begin within lines of memory: what is left of one block's last line waits for the next block. It is
   stored as it is where no block follows. */
void emit_joined_store(emitter *m, int i) {
    const kernel *k = m->k;
    const root *r = &k->roots[i];
    text row = {0};
    char lanes[32], after[256];
    bool all = k->variables[k->vector].size % k->lanes == 0;
    emit_row_position(m, &row, STREAM_LINE_BYTES);
    snprintf(lanes, sizeof lanes, all ? "%lld" : "n_lanes", (long long)k->lanes);
    emit_line(m, "const _Bool begins%d = block == 0 && (first_lane == 0 || task == first);", i);
    emit_line(m, "const _Bool ends%d = v%d + %d > %lld || (task == last - 1 && block + %d > %s);", i, k->vector, 2 * emit_block_lanes(m),
              (long long)k->variables[k->vector].size, 2 * emit_block_lanes(m), lanes);
    snprintf(after, sizeof after, ", %s%d, %lld, carried%d%s, begins%d, ends%d);", m->narrowed[i] ? "halves" : "made", i,
             (long long)(emit_block_lanes(m) * dtype_size(r->store_dtype)), i, text_get(&row), i, i);
    emit_address_call(m, "stream_joined(", r->buffer, r->at, after);
    m->out.failed |= row.failed;
    text_clear(&row);
}
