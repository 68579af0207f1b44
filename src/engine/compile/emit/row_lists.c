/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of halves that others are added to, as text. A task has some of the rows. It looks at all indices, from the last one on, and keeps
   for each row of its own a list of the positions that name it, in order. Then each row that has any is taken to floats, gets what its
   positions bring, and becomes halves again: rounded once, and nothing is set to 0 or read that no index names. */
#include "engine/compile/emit/row_lists.h"

#include "device/caches.h"
#include "engine/compile/dialect.h"
#include "engine/compile/emit/blocks.h"
#include "engine/compile/emit/lane_loops.h"
#include "engine/compile/emit/values.h"
#include "engine/compile/emit/wants.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Memory of a thread's own for n numbers of 4 bytes. */
static void open_room(emitter *m, const char *type, const char *name, int64_t n) {
    enum { LINE_NUMBERS = STREAM_LINE_BYTES / 4 };
    emit_line(m, "%s *const %s = (%s *)((char *)buffers[%d] + %lld);", type, name, type, m->k->n_buffers, (long long)m->room_bytes);
    m->room_bytes += (n + LINE_NUMBERS - 1) / LINE_NUMBERS * STREAM_LINE_BYTES;
}

/* The loops' variables at position `at`, into `made`. */
static void emit_position(emitter *m, definition *made) {
    const kernel *k = m->k;
    int64_t below = 1;
    for (int i = k->n_loops - 1; i >= 0; i--) {
        const int v = k->loops[i];
        const long long size = (long long)k->variables[v].size, inner = (long long)below;
        if (k->n_loops == 1) {
            emit_define(m, &made[i], "const int64_t ", "v%d = at", v);
        } else if (i == 0) {
            emit_define(m, &made[i], "const int64_t ", "v%d = at / %lld", v, inner);
        } else {
            emit_define(m, &made[i], "const int64_t ", "v%d = at / %lld %% %lld", v, inner, size);
        }
        below *= size;
    }
}

static void drop_unused(emitter *m, definition *made) {
    for (int i = m->k->n_loops - 1; i >= 0; i--) {
        emit_drop_unused(m, &made[i]);
    }
}

static int64_t positions_of(const kernel *k) {
    int64_t n = 1;
    for (int i = 0; i < k->n_loops; i++) {
        n *= k->variables[k->loops[i]].size;
    }
    return n;
}

/* Positions by rows: the first of each, and the next one of the same row for each. */
static void emit_listing(emitter *m) {
    const kernel *k = m->k;
    const index_sum at = k->roots[0].at;
    index_term term = {0};
    definition made[KERNEL_MAX_VARIABLES];
    for (int i = 0; i < at.n; i++) {
        if ((at.terms[i].atom->variables >> k->vector & 1) == 0) {
            term = at.terms[i]; /* there is but one */
        }
    }
    term.factor = 1;
    text row = {0};
    emit_line(m, "for (int64_t row = first_row; row < end_row; row++) {");
    emit_line(m, "    first_at[row - first_row] = -1;");
    emit_line(m, "}");
    emit_line(m, "for (int64_t at = %lld; at >= 0; at--) {", (long long)positions_of(k) - 1);
    m->depth++;
    emit_position(m, made);
    memset(m->wanted, 0, (size_t)k->n_exprs);
    emit_want_index(m, at);
    emit_body(m, -1, true);
    emit_index(m, &row, (index_sum){.n = 1, .terms = &term}, -1);
    emit_line(m, "const int64_t row = %s;", text_get(&row));
    emit_line(m, "if (row >= first_row && row < end_row) {");
    emit_line(m, "    next_at[at] = first_at[row - first_row];");
    emit_line(m, "    first_at[row - first_row] = (int32_t)at;");
    emit_line(m, "}");
    drop_unused(m, made);
    m->depth--;
    emit_line(m, "}");
    m->out.failed |= row.failed;
    text_clear(&row);
}

/* Elements [from, n) of a row, one by one. */
static void emit_cast_loop(emitter *m, int64_t from, int64_t n, dtype to, dtype of, const char *to_name, const char *of_name) {
    text value = {0};
    char x[32];
    if (from >= n) {
        return;
    }
    snprintf(x, sizeof x, "%s[l]", of_name);
    dialect_cast(&value, of, to, x);
    emit_line(m, "for (int64_t l = %lld; l < %lld; l++) {", (long long)from, (long long)n);
    emit_line(m, "    %s[l] = %s;", to_name, text_get(&value));
    emit_line(m, "}");
    m->out.failed |= value.failed;
    text_clear(&value);
}

static void emit_to_floats(emitter *m, dtype half, int64_t n) {
    enum { WHOLE = 16 };
    const int64_t whole = n - n % WHOLE;
    emit_line(m, "few_f32s_of_%ss(sum, halves, %lld);", assay_dtype_name(half), (long long)whole);
    emit_cast_loop(m, whole, n, ASSAY_F32, half, "sum", "halves");
}

static void emit_to_halves(emitter *m, dtype half, int64_t n) {
    const int64_t whole = n - n % EMIT_BLOCK_LANES;
    if (whole > 0) {
        emit_line(m, "for (int64_t l = 0; l < %lld; l += %d) {", (long long)whole, EMIT_BLOCK_LANES);
        emit_line(m, "    %s(halves + l, sum + l);", dialect_narrow(half, PAIRS_NONE));
        emit_line(m, "}");
    }
    emit_cast_loop(m, whole, n, half, ASSAY_F32, "halves", "sum");
}

/* A row: what it begins with, what its positions add, what it becomes. */
static void emit_summing(emitter *m, int phase) {
    const kernel *k = m->k;
    const root *r = &k->roots[0];
    const int64_t lanes = k->variables[k->vector].size;
    definition made[KERNEL_MAX_VARIABLES];
    emit_line(m, "for (int64_t row = first_row; row < end_row; row++) {");
    m->depth++;
    emit_line(m, "int64_t at = first_at[row - first_row];");
    emit_line(m, "if (at < 0) {");
    emit_line(m, "    continue;");
    emit_line(m, "}");
    emit_line(m, "uint16_t *const halves = b%d + %lld * row + %lld;", r->buffer, (long long)k->scatter_row, (long long)r->at.constant);
    emit_to_floats(m, r->store_dtype, lanes);
    emit_line(m, "for (; at >= 0; at = next_at[at]) {");
    m->depth++;
    emit_position(m, made);
    emit_want_phase(m, phase);
    emit_body(m, phase, true);
    emit_lanes(m, phase, lanes, "0");
    drop_unused(m, made);
    m->depth--;
    emit_line(m, "}");
    emit_to_halves(m, r->store_dtype, lanes);
    m->depth--;
    emit_line(m, "}");
}

void emit_row_lists(emitter *m, int phase) {
    const kernel *k = m->k;
    bool *named = malloc((size_t)k->n_exprs + 1);
    if (named == NULL) {
        m->out.failed = true;
        return;
    }
    memcpy(named, m->named, (size_t)k->n_exprs);
    open_room(m, "float", "sum", k->variables[k->vector].size);
    open_room(m, "int32_t", "first_at", (k->scatter_rows + k->n_task_items - 1) / k->n_task_items);
    open_room(m, "int32_t", "next_at", positions_of(k));
    emit_listing(m);
    memcpy(m->named, named, (size_t)k->n_exprs);
    emit_summing(m, phase);
    memcpy(m->named, named, (size_t)k->n_exprs);
    free(named);
}
