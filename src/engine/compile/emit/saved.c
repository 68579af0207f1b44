/* SPDX-License-Identifier: Apache-2.0 */
/* What one phase computes and a later one reads back. */
#include "engine/compile/emit/saved.h"

#include "device/caches.h"
#include "engine/compile/emit/facts.h"
#include "engine/compile/emit/values.h"
#include "engine/compile/emit/wants.h"
#include "engine/compile/emit/writing.h"

#include <stdlib.h>
#include <string.h>

enum { ROOM_LINE = STREAM_LINE_BYTES, SAVED_COST = 12 }; /* cheaper work is done again */

/* Work in each expression that is not a row's, without what is saved already; up to `enough`. What is read comes before. */
static void measure_work(const emitter *m, double enough, double *work) {
    for (int i = 0; i < m->k->n_exprs; i++) {
        const expr *e = &m->k->exprs[i];
        work[i] = 0;
        if (emit_is_row(m, e) || m->saved_in[i] >= 0) {
            continue;
        }
        work[i] = e->kind == EXPR_MAP ? scalar_function_cost(e->fn) : e->kind == EXPR_RANDOM ? 30 : 0;
        int reads[EXPR_MAX_READS], n = expr_reads(m->k, e, reads);
        for (int r = 0; r < n && work[i] < enough; r++) {
            work[i] += work[reads[r]];
        }
    }
}

/* The last expression that two phases compute and that is dear; -1: none. */
static int worth_saving(emitter *m, int *first) {
    const kernel *k = m->k;
    int found = -1, *seen = calloc((size_t)k->n_exprs + 1, sizeof *seen);
    double *work = calloc((size_t)k->n_exprs + 1, sizeof *work);
    if (seen == NULL || work == NULL) {
        m->out.failed = true;
        free(seen);
        free(work);
        return -1;
    }
    measure_work(m, SAVED_COST, work);
    for (m->phase = 0; m->phase < k->n_phases; m->phase++) {
        memset(m->wanted, 0, (size_t)k->n_exprs);
        for (int i = 0; i < k->n_roots; i++) {
            if (k->roots[i].phase == m->phase) {
                emit_want(m, k->roots[i].expr);
            }
        }
        for (int i = 0; i < k->n_exprs; i++) {
            bool by_lanes = k->vector < 0 || (k->exprs[i].variables >> k->vector & 1) != 0; /* others are computed before them */
            if (m->wanted[i] && seen[i] != 0 && m->saved_in[i] < 0 && i > found && by_lanes && !emit_is_row(m, &k->exprs[i]) &&
                work[i] >= SAVED_COST) {
                found = i;
                *first = seen[i] - 1;
            }
            seen[i] = m->wanted[i] && seen[i] == 0 ? m->phase + 1 : seen[i];
        }
    }
    m->phase = 0;
    free(seen);
    free(work);
    return found;
}

void emit_choose_saved(emitter *m, int64_t most_bytes) {
    for (int i = 0; i < m->k->n_exprs; i++) {
        m->saved_in[i] = -1;
    }
    int64_t left = m->k->has_classes && !m->k->is_product ? most_bytes : 0, n = emit_visited(m);
    for (int i, first; left > 0 && (i = worth_saving(m, &first)) >= 0;) {
        left -= n * (int64_t)dtype_size(m->k->exprs[i].dtype);
        if (left < 0) {
            return;
        }
        m->saved_in[i] = first;
    }
}

void emit_declare_saved(emitter *m) {
    for (int i = 0; i < m->k->n_exprs; i++) {
        const char *type = dialect_type(m->k->exprs[i].dtype);
        int64_t n = m->versions[i] * emit_visited(m);
        if (m->saved_in[i] >= 0 && m->in_room) {
            emit_line(m, "%s *const saved%d = (%s *)((char *)buffers[%d] + %lld);", type, i, type, m->k->n_buffers,
                      (long long)m->room_bytes);
            m->room_bytes += (n * (int64_t)dtype_size(m->k->exprs[i].dtype) + ROOM_LINE - 1) / ROOM_LINE * ROOM_LINE;
        } else if (m->saved_in[i] >= 0) {
            emit_line(m, "%s saved%d[%lld];", type, i, (long long)n);
        }
    }
}

void emit_fetch_saved(emitter *m, int rows_ahead) {
    for (int i = 0; i < m->k->n_exprs; i++) {
        if (!m->wanted[i] || m->saved_in[i] < 0 || m->saved_in[i] >= m->phase) {
            continue;
        }
        text at = {0};
        emit_row_position(m, &at, m->k->lanes);
        if (m->versions[i] > 1) {
            text_addf(&at, " + %lld * (task %% %d)", (long long)emit_visited(m), m->versions[i]);
        }
        emit_line(m, "fetch_soon(saved%d + block%s + %lld, %lld);", i, text_get(&at), (long long)(rows_ahead * m->k->lanes),
                  (long long)(EMIT_BLOCK_LANES * dtype_size(m->k->exprs[i].dtype)));
        m->out.failed |= at.failed;
        text_clear(&at);
    }
}
