/* SPDX-License-Identifier: Apache-2.0 */
/* Tasks of short rows, several at a time. A row of few elements has hardly been read when its lanes are to become one number, which
   takes a dozen instructions that wait for each other, and the next phase waits for that number. So each phase is written for a few
   tasks before the next one is: what one waits for the others fill. */
#include "engine/compile/emit/abreast.h"

#include "engine/compile/emit/facts.h"

#include <ctype.h>
#include <string.h>

/* Of rows of up to 64 elements four at a time, of longer ones two: softmax of rows of 64 takes 0.7 of the time so, of 256 0.9, layer norm
   0.8 and 0.8. With one number to wait for, as in a softmax's gradient, nothing is won (two cores of a Zen 4, 2026-11). */
enum { LEAST_ROW = 16, SHORT_ROW = 64, LONGEST_ROW = 512, MOST_ABREAST = 4, LEAST_PHASES = 3 };
/* Where there is more to build than to gain. */
enum { LEAST_GROUPS = 4, MOST_EXPRS = 128 };

void emit_choose_abreast(emitter *m) {
    const kernel *k = m->k;
    m->n_abreast = 1;
    m->phase_ends = NULL;
    if (m->flow != FLOW_NONE || m->page_tasks > 0 || m->rows || k->is_product || !k->has_classes || k->vector < 0 || k->n_phases < LEAST_PHASES ||
        m->guessed >= 0 || m->squares >= 0 || k->n_exprs > MOST_EXPRS) {
        return;
    }
    for (int i = 0; i < k->n_roots; i++) {
        if (k->roots[i].kind == ROOT_SCAN || k->roots[i].kind == ROOT_SCATTER) {
            return;
        }
    }
    int64_t row = emit_visited(m);
    int n = row <= SHORT_ROW ? MOST_ABREAST : row <= LONGEST_ROW ? 2 : 1;
    if (n == 1 || row < LEAST_ROW || k->n_task_items < (int64_t)LEAST_GROUPS * n) {
        return;
    }
    m->phase_ends = arena_make(m->c->memory, (size_t)k->n_phases, sizeof *m->phase_ends);
    m->out.failed |= m->phase_ends == NULL;
    m->n_abreast = m->phase_ends != NULL ? n : 1;
}

void emit_end_phase(emitter *m, int phase) {
    if (m->phase_ends != NULL) {
        m->phase_ends[phase] = m->out.length;
    }
}

/* Whether a word names what each task has for itself: its number and variables, accumulators, results and what follows from them, and
   what is kept. */
static bool is_own(const char *word, size_t n) {
    static const char *const letters[] = {"a", "best", "held", "nan", "p", "r", "ranks", "saved", "t", "turned", "v"};
    if (n == strlen("task") && memcmp(word, "task", n) == 0) {
        return true;
    }
    for (size_t i = 0; i < countof(letters); i++) {
        size_t l = strlen(letters[i]);
        if (n > l && memcmp(word, letters[i], l) == 0 && isdigit((unsigned char)word[l])) {
            return true;
        }
    }
    return false;
}

/* Text in the names of a task of the group: a letter behind each, but for the first task's. */
static void add_copy(text *out, const char *from, const char *end, int task) {
    for (const char *at = from; at < end;) {
        size_t n = 0;
        while (at + n < end && (isalnum((unsigned char)at[n]) || at[n] == '_')) {
            n++;
        }
        text_add_bytes(out, at, n > 0 ? n : 1);
        if (task > 0 && is_own(at, n)) {
            text_add_char(out, (char)('a' + task));
        }
        at += n > 0 ? n : 1;
    }
}

void emit_copy_abreast(emitter *m, size_t from) {
    text copies = {0};
    for (int task = 1; task < m->n_abreast && !m->out.failed; task++) {
        add_copy(&copies, m->out.data + from, m->out.data + m->out.length, task);
    }
    text_add(&m->out, text_get(&copies));
    m->out.failed |= copies.failed;
    text_clear(&copies);
}

void emit_abreast(emitter *m, size_t from, size_t body, size_t dropped) {
    if (m->n_abreast < 2 || m->out.failed) {
        return;
    }
    const int n = m->n_abreast;
    const char *data = m->out.data, *defined = strchr(data + from, '\n') + 1, *phases = data - dropped;
    text all = {0};
    const int in = 4 * m->depth;
    text_addf(&all, "%*sint64_t next = first;\n%*sfor (; next + %d <= last; next += %d) {\n", in, "", in, "", n, n);
    for (int task = 0; task < n; task++) {
        text_addf(&all, task == 0 ? "%*s    const int64_t task = next;\n" : "%*s    const int64_t task%c = next + %d;\n", in, "", 'a' + task, task);
        add_copy(&all, defined, phases + body, task);
    }
    for (int p = 0; p < m->k->n_phases; p++) {
        for (int task = 0; task < n; task++) {
            add_copy(&all, phases + (p == 0 ? body : m->phase_ends[p - 1]), phases + m->phase_ends[p], task);
        }
    }
    text_addf(&all, "%*s}\n%*sfor (int64_t task = next; task < last; task++) {\n", in, "", in, "");
    text_add(&all, defined);
    m->out.length = from;
    text_add(&m->out, text_get(&all));
    m->out.failed |= all.failed;
    text_clear(&all);
}
