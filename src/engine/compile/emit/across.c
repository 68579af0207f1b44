/* SPDX-License-Identifier: Apache-2.0 */
/* Rows that lie across memory, as those of a matrix that is turned round do: their elements are far apart, and beside each of them lies the
   next row's. A task that went over its row so would use one element of each line, and lines a page apart push each other out before the
   next task comes. So tasks go in bands: the rows of as many as a line holds are turned round into an array, from which the kernel reads
   them as if they had lain there. Softmax over rows of [512, 512] that is turned round takes 0.11 of the time so, layer norm 0.05 (two cores of a
   Zen 4, 2026-11). */
#include "engine/compile/emit/across.h"

#include "device/caches.h"
#include "engine/compile/emit/facts.h"
#include "engine/compile/emit/guess.h"
#include "engine/compile/emit/phases.h"
#include "engine/compile/emit/values.h"
#include "engine/compile/emit/writing.h"
#include "engine/compile/schedule.h"

#include <stdio.h>

enum {
    LEAST_ROW = 16,           /* elements */
    LEAST_BAND = 4,           /* rows */
    BAND_BYTES = 256 * 1024,  /* of a task, on the stack */
};

/* Whether a load's row lies across memory. */
static bool lies_across(const kernel *k, const expr *e) {
    int reads[EXPR_MAX_READS];
    int64_t along, stride;
    return e->kind == EXPR_LOAD && e->guard < 0 && (e->variables & k->beside) == 0 && dtype_size(e->dtype) <= 8 &&
           index_reads(k, e->at, -1, reads, 0) == 0 && index_stride(e->at, k->vector, &along) && along > 1 &&
           index_stride(e->at, k->tasks[k->n_tasks - 1], &stride) && stride == 1;
}

/* Rows of a band: those that lie in one line of memory. 0: nothing lies across, or too much. */
static int64_t rows_of_band(const kernel *k) {
    const int64_t n = k->variables[k->vector].size, most = k->variables[k->tasks[k->n_tasks - 1]].size;
    int64_t rows = 0, bytes = 0, count = 0;
    for (int i = 0; i < k->n_exprs; i++) {
        if (lies_across(k, &k->exprs[i])) {
            const int64_t size = (int64_t)dtype_size(k->exprs[i].dtype);
            rows = STREAM_LINE_BYTES / size > rows ? STREAM_LINE_BYTES / size : rows;
            bytes += n * size;
            count++;
        }
    }
    rows = rows < most ? rows : most;
    while (rows * bytes > BAND_BYTES) {
        rows /= 2;
    }
    return count <= EMIT_MOST_ACROSS && rows >= LEAST_BAND ? rows : 0;
}

void emit_choose_across(emitter *m) {
    const kernel *k = m->k;
    m->n_across = 0;
    if (k->is_product || k->has_frame || !k->has_classes || k->vector < 0 || m->rows || k->n_loops > 0 || k->n_tasks == 0 || k->beside != 0 ||
        k->turns_lines || k->scan_parts > 0 || k->variables[k->vector].size < LEAST_ROW) {
        return;
    }
    const int64_t rows = rows_of_band(k), n = k->variables[k->vector].size;
    kernel *own = rows > 0 ? emit_own_kernel(m) : NULL;
    if (own == NULL) {
        return;
    }
    const int task = k->tasks[k->n_tasks - 1];
    index_pool *p = &m->c->g.indices;
    index_sum row = index_remainder(p, index_variable(p, task, k->variables[task].size), rows);
    for (int i = 0; i < k->n_exprs; i++) {
        if (!lies_across(k, &k->exprs[i])) {
            continue;
        }
        const compile_buffer band = {.role = BUFFER_WORK, .dtype = k->exprs[i].dtype, .n_elems = rows * n, .step = -1};
        const int buffer = buffer_add(m->c, &band);
        m->across[m->n_across++] = (across_load){.from = &k->exprs[i], .buffer = buffer};
        own->exprs[i].buffer = buffer;
        own->exprs[i].at = index_add(p, index_scale(p, row, n), index_variable(p, k->vector, n));
    }
    m->band_rows = rows;
    m->k = own;
}

/* What a load reads in the tasks from `band` to before band_end, turned round. */
static void fill(emitter *m, const across_load *a) {
    const kernel *k = m->k;
    definition made[KERNEL_MAX_VARIABLES + 2];
    const int task = k->tasks[k->n_tasks - 1];
    const long long n = (long long)k->variables[k->vector].size;
    int64_t stride = 0;
    text at = {0};
    (void)index_stride(a->from->at, k->vector, &stride);
    emit_line(m, "_Alignas(64) %s b%d[%lld];", dialect_type(a->from->dtype), a->buffer, (long long)m->band_rows * n);
    emit_line(m, "{");
    m->depth++;
    emit_define(m, &made[0], "const int64_t ", "task = band");
    int n_made = 1 + emit_tasks(m, made + 1);
    emit_define(m, &made[n_made++], "const int64_t ", "v%d = 0", k->vector);
    emit_index(m, &at, a->from->at, -1);
    emit_line(m, "turn_round(b%d + %lld * (v%d %% %lld), %lld, b%d + %s, %lld, band_end - band, %lld, %d);", a->buffer, n, task,
              (long long)m->band_rows, n, a->from->buffer, text_get(&at), (long long)stride, n, (int)dtype_size(a->from->dtype));
    while (n_made-- > 0) {
        emit_drop_unused(m, &made[n_made]);
    }
    m->depth--;
    emit_line(m, "}");
    m->out.failed |= at.failed;
    text_clear(&at);
}

void emit_open_bands(emitter *m) {
    const kernel *k = m->k;
    const long long size = (long long)k->variables[k->tasks[k->n_tasks - 1]].size, rows = (long long)m->band_rows;
    emit_line(m, "for (int64_t band = first, band_end; band < last; band = band_end) {");
    m->depth++;
    emit_line(m, "const int64_t row = band %% %lld, rows = %lld - row %% %lld < %lld - row ? %lld - row %% %lld : %lld - row;", size, rows,
              rows, size, rows, rows, size);
    emit_line(m, "band_end = band + rows < last ? band + rows : last;");
    for (int i = 0; i < m->n_across; i++) {
        fill(m, &m->across[i]);
    }
    emit_line(m, "{"); /* names of its own */
    m->depth++;
    emit_line(m, "const int64_t first = band, last = band_end;");
}

void emit_close_bands(emitter *m) {
    for (int i = 0; i < 2; i++) {
        m->depth--;
        emit_line(m, "}");
    }
}
