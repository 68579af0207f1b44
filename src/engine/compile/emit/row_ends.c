/* SPDX-License-Identifier: Apache-2.0 */
/* Where rows that go past the caches begin and end within a line of memory. Between them lie whole blocks, which begin with lines; of
   what is left behind these all but the end are whole lines too. A store of less than a line waits for the memory that the rest of it is
   read from, and so do those behind it. Rows of 1001 floats, two cores of a Zen 4 (2026-11): softmax 8.7 ms with ends that are stored as
   they are, 5.9 with lines that are put together from a row's end and the next one's beginning; in rows of 1024 5.7. Such rows are not
   taken in pairs (twins.c): on two cores of a Sapphire Rapids softmax takes 8.4 ms by pairs, layer norm 7.9, and 7.6 and 7.7 so. */
#include "engine/compile/emit/row_ends.h"

#include "device/caches.h"
#include "engine/compile/emit/block_functions.h"
#include "engine/compile/emit/facts.h"
#include "engine/compile/emit/lane_loops.h"
#include "engine/compile/emit/ranges.h"
#include "engine/compile/emit/values.h"
#include "engine/compile/emit/wants.h"

#include <stdio.h>
#include <string.h>

/* Whether a root's rows lie one behind the other, in the order of tasks. */
static bool follow_each_other(const emitter *m, const root *r) {
    const kernel *k = m->k;
    int64_t size = k->variables[k->vector].size, stride;
    const bool in_blocks = k->n_tasks > 0 && k->tasks[k->n_tasks - 1] == k->vector; /* of lanes, one a task */
    if (k->variables[k->vector].tile != 0 || m->rows != in_blocks) {
        return false;
    }
    for (int i = k->n_tasks - 1 - in_blocks; i >= 0; i--) {
        const loop_variable *v = &k->variables[k->tasks[i]];
        if (k->tasks[i] == k->vector || v->tile != 0 || (v->size > 1 && (!index_stride(r->at, k->tasks[i], &stride) || stride != size))) {
            return false;
        }
        size *= v->size;
    }
    return true;
}

/* Whether tasks go one by one, and each does nothing but store its lanes, in one go: they are counted anew behind the blocks, so nothing may lie
   in arrays of lanes. */
static bool stores_once(const emitter *m) {
    const kernel *k = m->k;
    for (int i = 0; i < k->n_roots; i++) {
        if (k->roots[i].kind != ROOT_STORE) {
            return false;
        }
    }
    for (int i = 0; i < k->n_variables; i++) {
        if (k->variables[i].tile != 0) {
            return false;
        }
    }
    bool is_plain = k->vector >= 0 && k->n_loops == 0 && k->n_phases == 1 && !k->is_product && !k->has_frame && k->turns_lines == 0 &&
                    k->beside == 0 && k->scan_parts == 0;
    return is_plain && m->streams && m->page_tasks == 0 && m->n_abreast == 1 && m->ordered_tasks == 0 && !m->by_groups && !m->shares &&
           (m->rows || emit_streams(m, k->n_phases - 1));
}

void emit_choose_carried(emitter *m, int unaligned) {
    const kernel *k = m->k;
    m->carried = -1;
    if (m->flow == FLOW_NONE ? !stores_once(m) : m->rows || k->n_loops > 0 || m->group_rows > 0) {
        return;
    }
    const int64_t size = k->variables[k->vector].size, rest = m->rows ? size % k->lanes : 0; /* of the shortest task */
    const int64_t least = rest > 0 ? rest : size;
    bool is_long = unaligned >= 0 && least * (int64_t)dtype_size(k->roots[unaligned].store_dtype) >= 2 * STREAM_LINE_BYTES;
    m->carried = is_long && follow_each_other(m, &k->roots[unaligned]) ? unaligned : -1;
}

void emit_carried_room(emitter *m, definition *room) {
    room->from = m->out.length;
    snprintf(room->name, sizeof room->name, "edge%d", m->carried);
    if (m->carried >= 0) {
        dtype t = m->k->roots[m->carried].store_dtype;
        emit_line(m, "%s %s[%d];", dialect_type(t), room->name, STREAM_LINE_BYTES / (int)dtype_size(t));
    }
    room->to = m->out.length;
}

/* Whether the ends of what a root stores in a phase are put together first. */
static bool is_put_together(const emitter *m, int i, int phase, bool only_carried) {
    const root *r = &m->k->roots[i];
    return r->phase == phase && r->kind == ROOT_STORE && emit_is_streamed(m, r) && (i == m->carried || !only_carried);
}

static void choose_ends(emitter *m, int phase, bool only_carried) {
    for (int i = 0; i < m->k->n_roots; i++) {
        m->staged[i] = is_put_together(m, i, phase, only_carried);
        m->narrowed[i] = false;
    }
    m->block = "0";
}

static void choose_none(emitter *m) {
    memset(m->staged, 0, (size_t)m->k->n_roots);
}

void emit_row_head(emitter *m, int phase, const char *from) {
    const int i = m->carried;
    choose_ends(m, phase, true);
    if (i >= 0) {
        dtype t = m->k->roots[i].store_dtype;
        emit_line(m, "%s *const made%d = edge%d + %d - head;", dialect_type(t), i, i, STREAM_LINE_BYTES / (int)dtype_size(t));
    }
    emit_range(m, phase, &(lane_range){"0", "head", from, 0, false});
    if (i >= 0) {
        block_scope start;
        char after[96];
        snprintf(after, sizeof after, ", edge%d, head * %d, task == first);", i, (int)dtype_size(m->k->roots[i].store_dtype));
        emit_open_scope(m, from, &start);
        emit_address_call(m, "stream_edge(", m->k->roots[i].buffer, m->k->roots[i].at, after);
        emit_close_scope(m, &start);
    }
    choose_none(m);
}

void emit_row_rest(emitter *m, int phase, const char *n, const char *from, int64_t most) {
    choose_ends(m, phase, false);
    for (int i = 0; i < m->k->n_roots; i++) {
        if (m->staged[i]) {
            dtype t = m->k->roots[i].store_dtype;
            emit_line(m, "%s made%d[%lld];", dialect_type(t), i, (long long)most + STREAM_LINE_BYTES / (int)dtype_size(t));
        }
    }
    emit_range(m, phase, &(lane_range){"0", n, from, 0, false});
    block_scope start;
    emit_open_scope(m, from, &start);
    for (int i = 0; i < m->k->n_roots; i++) {
        const root *r = &m->k->roots[i];
        char after[160];
        if (m->staged[i] && i == m->carried) {
            snprintf(after, sizeof after, ", made%d, (%s) * %d, edge%d, task == last - 1);", i, n, (int)dtype_size(r->store_dtype), i);
            emit_address_call(m, "stream_to_edge(", r->buffer, r->at, after);
        } else if (m->staged[i]) {
            snprintf(after, sizeof after, ", made%d, (%s) * %d);", i, n, (int)dtype_size(r->store_dtype));
            emit_address_call(m, "stream_rest(", r->buffer, r->at, after);
        }
    }
    emit_close_scope(m, &start);
    choose_none(m);
}
