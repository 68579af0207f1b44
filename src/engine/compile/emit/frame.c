/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels that look at windows of an image as text. A task is some rows of results. What these see of the image, and what was fused into
   reading it, is put into a frame, around which padding lies: so that lanes ask nothing, and an element is computed once however many
   windows it is in. */
#include "engine/compile/emit/frame.h"

#include "engine/compile/emit/blocks.h"
#include "engine/compile/emit/lane_loops.h"
#include "engine/compile/emit/values.h"
#include "engine/compile/emit/wants.h"
#include "engine/compile/emit/writing.h"

#include <string.h>

/* Lanes that are copied together, the last ones so that none is left over. */
enum { TOGETHER = 16 };

static const char *filling(const emitter *m, text *fill) {
    emit_name(m, fill, m->k->frame.fill);
    return text_get(fill);
}

void emit_frame_room(emitter *m) {
    const kernel *k = m->k;
    const frame_form *f = &k->frame;
    text fill = {0};
    emit_line(m, "%s frame[%lld] __attribute__((aligned(64)));", dialect_type(k->exprs[f->element].dtype), (long long)(f->height * f->width));
    emit_line(m, "for (int64_t i = 0; i < %lld; i++) {", (long long)(f->height * f->width));
    emit_line(m, "    frame[i] = %s;", filling(m, &fill));
    emit_line(m, "}");
    m->out.failed |= fill.failed;
    text_clear(&fill);
}

/* Names what is wanted and depends on none of these variables. */
static void name_without(emitter *m, int a, int b) {
    uint64_t without = (a >= 0 ? (uint64_t)1 << a : 0) | (b >= 0 ? (uint64_t)1 << b : 0);
    for (int i = 0; i < m->k->n_exprs; i++) {
        if (m->wanted[i] && !m->named[i] && (m->k->exprs[i].variables & without) == 0) {
            emit_expr(m, i);
        }
    }
}

/* So many lanes of a row from lane `first` on: every column_step-th of the image from column `from`, to `to` in the frame. */
static void emit_columns(emitter *m, const char *first, long long n, long long from, const char *to) {
    const frame_form *f = &m->k->frame;
    bool *named = arena_make(m->c->memory, (size_t)m->k->n_exprs + 1, sizeof *named);
    if (named == NULL) {
        m->out.failed = true;
        return;
    }
    memcpy(named, m->named, (size_t)m->k->n_exprs);
    memset(m->wanted, 0, (size_t)m->k->n_exprs);
    emit_want(m, f->element);
    name_without(m, f->column, -1);
    emit_line(m, "INDEPENDENT FEW");
    emit_line(m, "for (int64_t l = 0; l < %lld; l++) {", n);
    m->depth++;
    lane_loop loop;
    if (f->column_step == 1) {
        emit_define(m, &loop.variable, "const int64_t ", "v%d = %s%sl", f->column, first, first[0] != '\0' ? " + " : "");
    } else if (first[0] == '\0') {
        emit_define(m, &loop.variable, "const int64_t ", "v%d = %lld * l + %lld", f->column, (long long)f->column_step, from);
    } else {
        emit_define(m, &loop.variable, "const int64_t ", "v%d = %lld * (%s + l) + %lld", f->column, (long long)f->column_step, first, from);
    }
    name_without(m, -1, -1);
    text value = {0};
    emit_name(m, &value, f->element);
    emit_line(m, "frame[%s%s%s + l] = %s;", to, first[0] != '\0' ? " + " : "", first, text_get(&value));
    m->out.failed |= value.failed;
    text_clear(&value);
    emit_close_lanes(m, &(lane_range){0}, &loop, named);
}

/* A row of the image; `row`: where the frame's begins. Columns that are column_step apart lie side by side there. */
static void emit_row_of_image(emitter *m, const char *row) {
    const frame_form *f = &m->k->frame;
    long long before = f->first_column - f->left, step = f->column_step;
    for (long long from = 0; from < step && from < f->n_columns; from++) {
        long long n = (f->n_columns - from + step - 1) / step, at = (before + from) % step * f->part + (before + from) / step;
        const char *to = arena_format(m->c->memory, "%s%lld", row, at);
        if (to == NULL) {
            m->out.failed = true;
        } else if (n < TOGETHER) {
            emit_columns(m, "", n, from, to);
        } else {
            emit_line(m, "for (int64_t block = 0; block < %lld; block += %d) {", n, TOGETHER);
            m->depth++;
            emit_line(m, "const int64_t block_first = block + %d <= %lld ? block : %lld;", TOGETHER, n, n - TOGETHER);
            emit_columns(m, "block_first", TOGETHER, from, to);
            m->depth--;
            emit_line(m, "}");
        }
    }
}

/* Rows of the frame, those above and below the image as well where tasks are parts of one: the frame has held others before. */
static void emit_image(emitter *m) {
    const frame_form *f = &m->k->frame;
    text fill = {0};
    memset(m->wanted, 0, (size_t)m->k->n_exprs);
    emit_want(m, f->element);
    name_without(m, f->row, f->column);
    if (f->down < 0) {
        emit_row_of_image(m, "");
        return;
    }
    if (f->blocks == 1) {
        emit_line(m, "for (int64_t v%d = 0; v%d < %lld; v%d++) {", f->row, f->row, (long long)f->n_rows, f->row);
        m->depth++;
        emit_line(m, "const int64_t at = %lld * (v%d + %lld);", (long long)f->width, f->row, (long long)(f->first_row - f->top));
        emit_row_of_image(m, "at + ");
        m->depth--;
        emit_line(m, "}");
        return;
    }
    emit_line(m, "for (int64_t r = 0; r < %lld * (end_row - first_row) + %lld; r++) {", (long long)f->row_step,
              (long long)(f->rows_seen - f->row_step));
    m->depth++;
    emit_line(m, "const int64_t v%d = %lld * first_row + r - %lld, at = %lld * r;", f->row, (long long)f->row_step,
              (long long)(f->first_row - f->top), (long long)f->width);
    emit_line(m, "if (v%d >= 0 && v%d < %lld) {", f->row, f->row, (long long)f->n_rows);
    m->depth++;
    emit_row_of_image(m, "at + ");
    m->depth--;
    emit_line(m, "} else {");
    emit_line(m, "    for (int64_t l = 0; l < %lld; l++) {", (long long)f->width);
    emit_line(m, "        frame[at + l] = %s;", filling(m, &fill));
    emit_line(m, "    }");
    emit_line(m, "}");
    m->depth--;
    emit_line(m, "}");
    m->out.failed |= fill.failed;
    text_clear(&fill);
}

void emit_frame(emitter *m) {
    const kernel *k = m->k;
    const frame_form *f = &k->frame;
    if (f->blocks > 1) {
        long long height = k->variables[f->down].size, rows = f->rows;
        emit_line(m, "const int64_t first_row = task %% %lld * %lld;", (long long)f->blocks, rows);
        emit_line(m, "const int64_t end_row = %lld - first_row < %lld ? %lld : first_row + %lld;", height, rows, height, rows);
        emit_line(m, "const int64_t above = %lld * first_row;", (long long)(f->row_step * f->width));
    }
    emit_image(m);
    emit_want_phase(m, 0);
    name_without(m, f->down, k->vector);
    if (f->down >= 0) {
        if (f->blocks > 1) {
            emit_line(m, "for (int64_t v%d = first_row; v%d < end_row; v%d++) {", f->down, f->down, f->down);
        } else {
            emit_line(m, "for (int64_t v%d = 0; v%d < %lld; v%d++) {", f->down, f->down, (long long)f->rows, f->down);
        }
        m->depth++;
        name_without(m, k->vector, -1);
    }
    emit_lanes(m, 0, k->variables[k->vector].size, "0");
    if (f->down >= 0) {
        m->depth--;
        emit_line(m, "}");
    }
}
