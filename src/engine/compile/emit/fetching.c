/* SPDX-License-Identifier: Apache-2.0 */
/* Asking for memory before it is read. */
#include "engine/compile/emit/fetching.h"

#include "device/caches.h"
#include "engine/compile/emit/facts.h"
#include "engine/compile/emit/held.h"
#include "engine/compile/emit/values.h"

#include <stdio.h>

enum {
    AHEAD_BYTES = 2048,       /* the CPU reads ahead by itself within a page, and less while stores pass the caches */
    ROWS_AHEAD = 16,          /* where each is a line or two */
    FLOW_AHEAD_BYTES = 4096,  /* while one task is read another is stored, line for line */
    FLOW_FAR_BYTES = 16384,   /* and where it is asked for to come to L2 */
    GROUP_AHEAD_BYTES = 256,  /* of the rows of a group */
    PASS_AHEAD_BYTES = 6144,  /* where both sums of deviations go down rows */
    FETCHED_BYTES = 1 << 20,  /* smaller operands are near anyway */
    NEXT_BYTES = 256 << 10,   /* of the next task, beside the one at hand */
    LONG_ROW_BYTES = 256 << 10,
};

/* Whether the CPU reads ahead by itself from page to page, but not far enough. */
static bool asks_on(const emitter *m) {
    return m->c->options->asks_along && m->c->options->asks_far;
}

/* Whether a phase's lanes go down the rows of what comes from memory: the CPU does not read ahead from page to page. */
static bool walks_rows(const emitter *m, int phase) {
    const kernel *k = m->k;
    bool much = false;
    for (int i = 0; i < k->n_exprs; i++) {
        much |= emit_is_dense_load(m, &k->exprs[i]) && buffer_bytes(m->c, k->exprs[i].buffer) >= STREAM_MIN_BYTES;
    }
    return much && phase == 0 && m->rows && k->has_classes && k->n_loops > 0;
}

/* Whether both sums of deviations are taken row by row of floats or longer numbers in memory that is asked for further on, to come to L2:
   where the CPU reads 32 GB/s, those over the second of [64, 512, 1024] have 92% of that so and 87% by groups of four rows, where it reads
   51 GB/s 84% and 68%. Each number is added to two sums and there is a third to take off, so that it does not come to read on far enough by
   itself; what is asked for less than 4 KiB ahead takes longer than without, and so does what comes to L1 (two cores of a Zen 4, 2026-11). */
bool emit_passes_rows(const emitter *m) {
    const kernel *k = m->k;
    if (!m->c->options->asks_far || m->flow != FLOW_NONE || !m->rows || m->squares < 0 || k->n_loops == 0) {
        return false;
    }
    for (int i = 0; i < k->n_exprs; i++) {
        const expr *e = &k->exprs[i];
        int64_t stride;
        if (emit_is_dense_load(m, e) && buffer_bytes(m->c, e->buffer) >= STREAM_MIN_BYTES && dtype_size(e->dtype) >= sizeof(float) &&
            index_stride(e->at, k->loops[k->n_loops - 1], &stride) && stride == k->lanes) {
            return true;
        }
    }
    return false;
}

/* Sums of [256, 64, 56, 56] by channels take 3.8 ms so, and 6.2 row by row, 4.9 with each row asked for while the one before it is read (two
   cores of a Zen 4, 2026-11). */
bool emit_takes_turns(const emitter *m, int phase) {
    const kernel *k = m->k;
    const loop_variable *inner = k->n_loops > 0 ? &k->variables[k->loops[k->n_loops - 1]] : NULL;
    if (!m->c->options->asks_far || phase != 0 || m->flow != FLOW_NONE || m->rows || inner == NULL || inner->tile != 0 ||
        inner->size < 2 * EMIT_PAGES || k->vector < 0 || k->variables[k->vector].size < k->lanes || k->turns_lines) {
        return false;
    }
    for (int i = 0; i < k->n_roots; i++) {
        if (k->roots[i].phase == phase && !emit_is_held(m, i)) {
            return false;
        }
    }
    bool lies_apart = false;
    for (int i = 0; i < k->n_exprs; i++) {
        const expr *e = &k->exprs[i];
        int64_t stride;
        bool is_large = e->kind == EXPR_LOAD && (buffer_bytes(m->c, e->buffer) >= STREAM_MIN_BYTES || m->c->options->streams_all);
        bool has_stride = is_large && emit_is_dense_load(m, e) && index_stride(e->at, k->loops[k->n_loops - 1], &stride);
        lies_apart |= has_stride && stride > k->variables[k->vector].size;
    }
    return lies_apart;
}

/* Whether tasks of several rows, whose later phases work on what the first has read, ask for the next one's memory to come to L2 although
   nothing goes past the caches: the CPU reads on by itself within a row. */
static bool asks_for_next(const emitter *m) {
    const kernel *k = m->k;
    int64_t bytes = 0;
    for (int i = 0; i < k->n_exprs; i++) {
        bool is_own = k->exprs[i].kind == EXPR_LOAD && (k->exprs[i].variables & m->reduced) != 0;
        bytes += is_own ? emit_visited(m) * (int64_t)dtype_size(k->exprs[i].dtype) : 0;
    }
    return m->c->options->asks_far && !m->streams && k->has_classes && k->n_phases > 1 && k->n_loops > 0 && !m->rows && bytes <= NEXT_BYTES;
}

/* Whether a phase that only reads along rows asks for what lies further on: a processor that reads ahead within a page only is faster so than
   a plain loop over memory is (two cores of a Granite Rapids, 128 MiB: deviations along rows 4.1 ms instead of 5.1, sums of bf16 1.9 instead
   of 3.3 for half as much), and so is a Zen 5. Floats and longer numbers in rows of many pages are as fast by themselves where pages are what
   it stops at (largest of all 3.5 ms, not 3.8). */
static bool reads_along(const emitter *m, int phase) {
    const kernel *k = m->k;
    if (!m->c->options->asks_along || m->streams || phase != 0 || m->flow != FLOW_NONE || m->rows || k->vector < 0 || k->turns_lines ||
        !k->has_classes || k->is_product || m->page_tasks > 0) {
        return false;
    }
    const int64_t n = k->variables[k->vector].size;
    bool much = false;
    for (int i = 0; i < k->n_exprs; i++) {
        const expr *e = &k->exprs[i];
        int64_t size = (int64_t)dtype_size(e->dtype);
        bool is_large = emit_is_dense_load(m, e) && (buffer_bytes(m->c, e->buffer) >= STREAM_MIN_BYTES || m->c->options->streams_all);
        const bool is_short = size < (int64_t)sizeof(float) || n * size < LONG_ROW_BYTES || asks_on(m);
        much |= is_large && n * size >= AHEAD_BYTES / 2 && is_short;
    }
    return much;
}

/* Whether a loop reads much and stores through the caches, little or where it reads, on a processor that reads ahead within a page only. */
static bool reads_much(const emitter *m) {
    const kernel *k = m->k;
    bool much = false;
    for (int i = 0; i < k->n_exprs; i++) {
        const expr *e = &k->exprs[i];
        much |= emit_is_dense_load(m, e) && (buffer_bytes(m->c, e->buffer) >= STREAM_MIN_BYTES || m->c->options->streams_all);
    }
    return much && m->c->options->asks_along && k->n_phases == 1 && k->vector >= 0 && k->n_loops == 0 && m->flow == FLOW_NONE &&
           !k->is_product;
}

/* Whether a phase asks for what is read soon: stores past the caches keep the CPU from reading ahead by itself. Phases that
   work on what the first has read leave memory idle, so those that stream nothing ask for the next task's part; where there
   are none, the streaming ones do. */
bool emit_fetches_in(const emitter *m, int phase) {
    const kernel *k = m->k;
    if (m->flow != FLOW_NONE || walks_rows(m, phase) || emit_takes_turns(m, phase) || reads_along(m, phase)) {
        return phase == 0;
    }
    if (asks_for_next(m)) {
        return phase > 0;
    }
    if (!m->streams && reads_much(m)) {
        return true;
    }
    if (!m->streams || (k->n_phases > 1 && phase == 0)) {
        return false;
    }
    if (m->c->options->asks_far && k->n_phases > 1 && k->n_loops == 0 && !m->rows) {
        return false; /* rows one after the other, which Zen 4 reads on by itself: they take a tenth longer otherwise */
    }
    bool others = false;
    for (int p = 1; p < k->n_phases; p++) {
        others |= emit_has_loops(m, p) && !emit_streams(m, p);
    }
    return !others || !emit_streams(m, phase);
}

/* Of tasks in groups: how many elements on a load finds what the next group reads; 0: nowhere that is known. */
static int64_t ahead_together(const emitter *m, const expr *e) {
    const kernel *k = m->k;
    int64_t group = (int64_t)EMIT_PAGES * m->page_tasks, stride;
    for (int i = k->n_tasks - 1; i >= 0; i--) {
        int v = k->tasks[i];
        bool blocks = v == k->vector;
        int64_t size = blocks ? (k->variables[v].size + k->lanes - 1) / k->lanes : k->variables[v].size;
        if (size >= group || i == 0) {
            return index_stride(e->at, v, &stride) ? stride * group * (blocks ? k->lanes : 1) : 0;
        }
        group = (group + size - 1) / size; /* so many turns of the next variable */
    }
    return 0;
}

/* Whether tasks in flight ask for memory far ahead, to come to L2: Zen 4 has room for few lines that are under way to L1. Batch norm's
   gradient takes 0.85 of the time so, batch norm and group norm 0.9, softmax over a middle dimension 0.8 (in turns, 2026-11); single loops,
   what is turned round, and rows that go one after the other take longer. On a Zen 5 only what goes down rows does: layer norm's gradient takes 0.75
   of the time with lines near by, layer norm over 4096 0.73, group norm and batch norm 0.85 to 0.9 (two cores, 2026-11). */
static bool asks_far(const emitter *m) {
    const bool in_flight = m->flow != FLOW_NONE && (!m->c->options->asks_along || m->rows);
    return m->c->options->asks_far && (in_flight || m->by_groups);
}

/* Whether a pass down rows by groups asks for the same block of the next group, which the nearest cache has room for: deviations over the
   second of [64, 512, 1024] reach 0.94 of what a plain loop reads, 0.80 by what lies a block on in the same row, 0.85 by 1 KiB (two cores of
   an Emerald Rapids, 2026-11). */
static bool asks_for_next_group(const emitter *m) {
    enum { MOST_BYTES = 16 << 10 };
    int64_t size = 1;
    for (int i = 0; i < m->k->n_exprs; i++) {
        const expr *e = &m->k->exprs[i];
        size = emit_is_dense_load(m, e) && (int64_t)dtype_size(e->dtype) > size ? (int64_t)dtype_size(e->dtype) : size;
    }
    return m->by_groups && !m->c->options->asks_far && m->flow == FLOW_NONE && m->group_rows * m->k->lanes * size <= MOST_BYTES;
}

/* How many elements on lies what is soon read: a few lines in a single loop; some rows down where lanes go down rows; where phases
   have read the task's part by now, the next task's. 0: nowhere. */
static int64_t ahead_of(const emitter *m, const expr *e, int phase) {
    const kernel *k = m->k;
    int64_t stride = 0, size = (int64_t)dtype_size(e->dtype);
    int last = k->n_tasks - 1;
    if (m->by_groups && (asks_far(m) || asks_for_next_group(m))) { /* the same block of the next group */
        return index_stride(e->at, k->loops[k->n_loops - 1], &stride) ? stride * m->group_rows : 0;
    }
    if (m->by_groups) {
        return k->lanes * size < GROUP_AHEAD_BYTES ? k->lanes : GROUP_AHEAD_BYTES / size;
    }
    if (emit_takes_turns(m, phase)) {
        return index_stride(e->at, k->loops[k->n_loops - 1], &stride) ? stride * EMIT_PAGES : 0;
    }
    if (emit_passes_rows(m) && !m->by_groups) {
        return phase == 0 ? PASS_AHEAD_BYTES / size : 0;
    }
    if (walks_rows(m, phase)) {
        int64_t row = k->lanes * size;
        bool apart = index_stride(e->at, k->loops[k->n_loops - 1], &stride) && stride > k->lanes;
        if (!apart) { /* the CPU reads on by itself unless it stores past the caches meanwhile */
            return m->streams || asks_on(m) ? AHEAD_BYTES / size : 0;
        }
        return stride * (row < EMIT_ROWS_AHEAD_BYTES ? EMIT_ROWS_AHEAD_BYTES / row : 1);
    }
    if (reads_along(m, phase)) { /* further where rows lie apart (variances by channels 8.0 ms so, else 8.2) */
        bool apart = k->n_loops > 0 && index_stride(e->at, k->loops[k->n_loops - 1], &stride) && stride > k->variables[k->vector].size;
        /* halves too where pages are what the CPU stops at: variances of bf16 2.9 ms so, else 3.1 (Emerald Rapids) */
        const bool is_half = size < (int64_t)sizeof(float) && !m->c->options->asks_far;
        return (apart || is_half ? 2 * AHEAD_BYTES : AHEAD_BYTES) / size;
    }
    if (m->flow != FLOW_NONE) {
        return (asks_far(m) ? FLOW_FAR_BYTES : FLOW_AHEAD_BYTES) / (m->turns_rows ? m->group_rows : 1) / size;
    }
    if (m->page_tasks > 0) {
        return ahead_together(m, e);
    }
    if (k->turns_lines) { /* lanes go down, from row to row of what lies along them */
        return index_stride(e->at, k->loops[0], &stride) ? ROWS_AHEAD * stride : 0;
    }
    if (k->n_phases == 1) {
        int64_t row = k->variables[k->vector].size * size;
        if (row >= AHEAD_BYTES || last < 1 || k->tasks[last] != k->vector) {
            return AHEAD_BYTES / size;
        }
        return index_stride(e->at, k->tasks[last - 1], &stride) ? stride * (AHEAD_BYTES / row) : 0; /* some rows on */
    }
    if (last < 0 || !index_stride(e->at, k->tasks[last], &stride)) {
        return 0;
    }
    return k->tasks[last] == k->vector ? stride * k->lanes : stride;
}

/* The same where the row ends before that: what comes next of the one behind it. */
static int64_t jump_of(const emitter *m, const expr *e, int phase, int64_t ahead) {
    const kernel *k = m->k;
    int64_t size = k->variables[k->vector].size, stride;
    int next = k->n_loops > 0 ? k->loops[k->n_loops - 1] : k->n_tasks > 0 ? k->tasks[k->n_tasks - 1] : -1;
    if (m->by_groups && (asks_far(m) || asks_for_next_group(m))) {
        return ahead;
    }
    if (m->by_groups) {
        return next >= 0 && index_stride(e->at, next, &stride) ? stride * m->group_rows - k->lanes + ahead : ahead;
    }
    if (m->page_tasks > 0) {
        return ahead;
    }
    if (m->order == ORDER_ROWS) { /* the next task's row follows */
        return ahead;
    }
    if (reads_along(m, phase)) {
        bool goes_on = next >= 0 && index_stride(e->at, next, &stride) && stride > size && size > ahead;
        return goes_on ? stride - size + ahead : ahead;
    }
    if (m->flow == FLOW_NONE && k->n_phases == 1 && k->n_loops == 0) { /* rows read downwards, large: 8.7 -> 7.4 ms */
        int outer = next == k->vector ? k->n_tasks - 2 : k->n_tasks - 1;
        return outer >= 0 && index_stride(e->at, k->tasks[outer], &stride) && size > ahead ? stride - size + ahead : ahead;
    }
    int rows = m->turns_rows ? m->group_rows : m->twins && k->n_loops == 0 ? 2 : 1; /* to the next one of the same turn */
    if (m->flow == FLOW_NONE || m->rows || next < 0 || !index_stride(e->at, next, &stride) || stride < size) {
        return ahead;
    }
    return size > ahead ? stride * rows - size + ahead : m->twins ? rows * ahead : ahead;
}

/* A phase's share in what the next task needs: by what it computes for each element where all of it comes to L2. Beside an exponential
   there is time for more lines than beside a sum of squares, which only waits for them: group norm's gradient behind that of its
   activation takes 0.87 of the time so (two cores of a Zen 4, 2026-11). */
static int64_t share_of_phase(const emitter *m, int phase) {
    const kernel *k = m->k;
    if (!emit_has_loops(m, phase) || !emit_fetches_in(m, phase)) {
        return 0;
    }
    double flops = 1;
    for (int i = 0; i < k->n_exprs && asks_for_next(m); i++) {
        const expr *e = &k->exprs[i];
        flops += e->kind == EXPR_MAP && e->phase == phase && (e->variables & m->reduced) != 0 ? scalar_function_cost(e->fn) : 0;
    }
    return (int64_t)flops;
}

/* Whether what a kernel of a chain reads once more lets it ask for the next part's, to come to L2, while its results go to memory: group
   norm's gradient takes 0.92 to 0.99 of the time so ([8, 512, 56, 56] and two more in f32, two cores of a Granite Rapids, 2026-11). The kernels
   before had better not: lines that two ask for come in no order, 1.15 of the time. */
static bool asks_for_next_part(const emitter *m, const expr *e) {
    return e->next_part != 0 && m->streams && !m->c->options->asks_far && m->k->n_phases == 1 && m->flow == FLOW_NONE;
}

/* Whether halves that are only read come to L2: where the CPU reads ahead within a page and few lines may be under way to L1, means of rows of
   1024 bf16 reach 0.94 of what a plain loop reads so, 0.87 otherwise, their deviations 0.74 and 0.69, the largest of all 0.85 and 0.79, sums
   down rows 0.88 and 0.82; f32 reaches as much either way (medians, 64 MiB from memory, two cores of an Emerald Rapids, 2026-11). */
static bool is_read_to_l2(const emitter *m, const expr *e) {
    return dtype_size(e->dtype) < sizeof(float) && !m->c->options->asks_far && !m->streams && m->flow == FLOW_NONE;
}

void emit_fetches(emitter *m, int phase, int64_t lanes) {
    const kernel *k = m->k;
    int64_t turns = 0, before = 0;
    for (int p = k->n_phases > 1 && phase > 0 ? 1 : 0; p < (phase > 0 ? k->n_phases : 1); p++) {
        before += p < phase ? share_of_phase(m, p) : 0;
        turns += share_of_phase(m, p);
    }
    const int64_t share = share_of_phase(m, phase);
    /* Rows apart are asked for a row ahead, as much as what columns come to takes of the nearest cache already. */
    const bool is_far_off = asks_far(m) || emit_passes_rows(m) || emit_takes_turns(m, phase) || asks_for_next(m) ||
                            (walks_rows(m, phase) && !asks_for_next_group(m));
    for (int i = 0; i < k->n_exprs; i++) {
        const expr *e = &k->exprs[i];
        int reads[EXPR_MAX_READS];
        bool is_one = emit_is_dense_load(m, e) && (e->variables & k->beside) == 0;
        int64_t ahead = is_one ? ahead_of(m, e, phase) : 0;
        bool is_far = buffer_bytes(m->c, e->buffer) >= FETCHED_BYTES && m->c->buffers[e->buffer].part_elems == 0;
        if (ahead == 0 || index_reads(k, e->at, -1, reads, 0) > 0 || !is_far) {
            continue;
        }
        if (asks_for_next_part(m, e)) {
            char after[64];
            snprintf(after, sizeof after, " + %lld, %lld);", (long long)e->next_part,
                     (long long)lanes * (long long)dtype_size(e->dtype));
            emit_address_call(m, "fetch_far(", e->buffer, e->at, after);
            continue;
        }
        int64_t per_line = STREAM_LINE_BYTES / (int64_t)dtype_size(e->dtype), lines = (lanes + per_line - 1) / per_line;
        int64_t first = lines * before / turns, last = lines * (before + share) / turns;
        int64_t jump = jump_of(m, e, phase, ahead), bytes = (last - first) * STREAM_LINE_BYTES;
        char after[128];
        if (m->by_groups && jump != ahead && k->lanes > ahead) {
            snprintf(after, sizeof after, " + (block < %lld ? %lld : %lld), %lld);", (long long)(k->lanes - ahead), (long long)ahead,
                     (long long)jump, (long long)bytes);
        } else if (m->by_groups || jump == ahead || k->variables[k->vector].size <= ahead) {
            snprintf(after, sizeof after, " + %lld, %lld);", (long long)(jump + first * per_line), (long long)bytes);
        } else {
            snprintf(after, sizeof after, " + (v%d < %lld ? %lld : %lld), %lld);", k->vector,
                     (long long)(k->variables[k->vector].size - ahead), (long long)ahead, (long long)jump, (long long)bytes);
        }
        if (last > first) {
            emit_address_call(m, is_far_off || is_read_to_l2(m, e) ? "fetch_far(" : "fetch_soon(", e->buffer, e->at, after);
        }
    }
}

/* Elements from a task's row to one some rows on; 0: rows are long, or it is not known. */
static int64_t rows_ahead(const emitter *m, const expr *e) {
    enum { ROWS_AHEAD_BYTES = 8 << 10 };
    const kernel *k = m->k;
    int outer = k->n_tasks - 1;
    outer -= outer >= 0 && k->tasks[outer] == k->vector;
    int64_t stride, row = k->variables[k->vector].size * (int64_t)dtype_size(e->dtype);
    bool is_known = k->n_loops == 0 && outer >= 0 && index_stride(e->at, k->tasks[outer], &stride);
    return is_known && row <= 2 * ROWS_AHEAD_BYTES ? stride * ((ROWS_AHEAD_BYTES + row - 1) / row) : 0;
}

void emit_guarded_fetches(emitter *m, const char *first, int64_t lanes) {
    const kernel *k = m->k;
    for (int i = 0; i < k->n_exprs; i++) {
        const expr *e = &k->exprs[i];
        int reads[EXPR_MAX_READS];
        int64_t size = (int64_t)dtype_size(e->dtype);
        bool is_one = e->kind == EXPR_LOAD && e->guard >= 0 && emit_is_dense(m, e->at) && index_reads(k, e->at, -1, reads, 0) == 0;
        if (!is_one || !m->wanted[i] || buffer_bytes(m->c, e->buffer) < FETCHED_BYTES || m->c->buffers[e->buffer].part_elems != 0) {
            continue;
        }
        const int64_t rows = rows_ahead(m, e), ahead = rows != 0 ? rows : AHEAD_BYTES / size;
        char after[64];
        snprintf(after, sizeof after, " + %lld, %lld);", (long long)ahead, (long long)(lanes * size));
        emit_line(m, "{");
        m->depth++;
        emit_line(m, "const int64_t v%d = %s;", k->vector, first);
        emit_address_call(m, "fetch_soon(", e->buffer, e->at, after);
        m->depth--;
        emit_line(m, "}");
    }
}
