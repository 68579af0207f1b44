/* SPDX-License-Identifier: Apache-2.0 */
/* Tasks that all threads go through together, each a part of the rows. What a thread keeps of a task until it is finished is less by as
   much, so that the caches of several cores hold what that of one does not. When all have read their part, and left what it comes to for the
   others, each adds up the same numbers in the same order. One meeting a task is enough: what is left of one is written over two tasks later,
   when all have been at the next one's. Of more rows than that holds, or than a thread was planned to have,
   the first ones are kept, and the others read twice (flow_pieces.c). */
#include "engine/compile/emit/team.h"

#include "engine/compile/emit/facts.h"
#include "engine/compile/emit/writing.h"

#include <string.h>

/* Rows of each thread. */
enum { LEAST_ROWS = 2 * EMIT_PAGES };

/* Sums in the first phase, a second time where the first were about a number too far off (deviations.c), and what is stored in the last one. */
static bool has_sums(const emitter *m) {
    const kernel *k = m->k;
    int n = 0;
    for (int i = 0; i < k->n_roots; i++) {
        const root *r = &k->roots[i];
        bool is_sum = r->kind == ROOT_REDUCE && r->how == RED_SUM && (r->dtype == ASSAY_F32 || r->dtype == ASSAY_F64);
        bool once = r->kind == ROOT_STORE && (emit_in_loops(m, r) || !emit_reads_memory_of(m, r->buffer));
        if (r->phase == 0 ? !is_sum || (m->squares >= 0 && r->buffer >= 0) : !once) {
            return false;
        }
        n += r->phase == 0;
    }
    return m->guessed < 0 ? n <= COMPILE_TEAM_SUMS : m->squares >= 0 && n == 2;
}

bool emit_may_share(const emitter *m) {
    const kernel *k = m->k;
    const int threads = m->c->options->n_threads;
    const loop_variable *rows = k->n_loops == 1 ? &k->variables[k->loops[0]] : NULL;
    return m->c->options->shares_tasks && threads > 1 && !m->rows && k->n_phases == 2 && !k->in_parts && !k->checks && k->column_parts == 0 &&
           rows != NULL && rows->tile == 0 && rows->size >= (int64_t)LEAST_ROWS * threads && has_sums(m);
}

void emit_team(emitter *m, int behind) {
    const long long rows = (long long)m->k->variables[m->k->loops[0]].size, group = m->group_rows, groups = (rows + group - 1) / group;
    emit_line(m, "const int64_t part = ((const int64_t *)buffers[%d])[0], parts = ((const int64_t *)buffers[%d])[1];", behind, behind);
    emit_line(m, "double *const sums = buffers[%d];", behind + 1);
    emit_line(m, "const int64_t rows_from = %lld * (%lld * part / parts);", group, groups);
    if (rows % group != 0) {
        emit_line(m, "const int64_t rows_to = part == parts - 1 ? %lld : %lld * (%lld * (part + 1) / parts);", rows, group, groups);
    } else {
        emit_line(m, "const int64_t rows_to = %lld * (%lld * (part + 1) / parts);", group, groups);
    }
    emit_line(m, "const int64_t kept_to = rows_from + %lld < rows_to ? rows_from + %lld : rows_to;", (long long)m->kept_rows,
              (long long)m->kept_rows);
    m->team_at = behind + 2;
}

const char *emit_result_name(const emitter *m) {
    return m->shares ? "own" : "r";
}

void emit_team_sums(emitter *m, int phase, bool again) {
    const kernel *k = m->k;
    int n = 0;
    for (int i = 0; i < k->n_roots; i++) {
        n += again && k->roots[i].phase == phase; /* the first ones may not have been read by all */
    }
    const int from = n;
    for (int i = 0; i < k->n_roots; i++) {
        if (k->roots[i].phase == phase) {
            emit_line(m, "sums[%d * (step %% 2 * parts + part) + %d] = own%d;", COMPILE_TEAM_SUMS, n++, i);
        }
    }
    emit_line(m, "meet(buffers[%d]);", m->team_at);
    n = from;
    for (int i = 0; i < k->n_roots; i++) {
        if (k->roots[i].phase == phase) {
            const char *type = dialect_type(k->roots[i].dtype);
            emit_line(m, "const %s r%d = (%s)sum_of_parts(sums + %d * (step %% 2 * parts) + %d, parts);", type, i, type, COMPILE_TEAM_SUMS, n++);
        }
    }
}

size_t emit_open_once(emitter *m) {
    const size_t from = m->out.length;
    if (m->shares) {
        emit_line(m, "if (part == 0) {");
        m->depth++;
    }
    return from;
}

void emit_close_once(emitter *m, size_t from) {
    if (!m->shares) {
        return;
    }
    m->depth--;
    const char *inside = m->out.failed ? NULL : strchr(m->out.data + from, '\n');
    if (inside != NULL && inside[1] == '\0') {
        m->out.length = from;
        m->out.data[from] = '\0';
        return;
    }
    emit_line(m, "}");
}
