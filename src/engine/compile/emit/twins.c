/* SPDX-License-Identifier: Apache-2.0 */
/* Tasks in flight, two at a time. A thread that reads one row and stores another has two pages of memory open, in which lines wait
   for each other; with two of either, a line of each in turn, softmax and layer norm over rows take a tenth less time. Of four the
   first cache holds too few lines where rows lie a page apart, and they come out slower. (Two cores of a Sapphire Rapids Xeon,
   2026-11; Zen 4 takes a third longer with two.) */
#include "engine/compile/emit/twins.h"

#include "engine/compile/emit/blocks.h"
#include "engine/compile/emit/facts.h"

#include <ctype.h>
#include <string.h>

void emit_choose_twins(emitter *m, bool has_room) {
    m->twins = !m->c->options->no_twins && !m->spares_stores && m->flow == FLOW_ALL && has_room && !m->rows && !m->in_room && !m->turns_rows;
    for (int i = 0; i < m->k->n_roots; i++) { /* the last task may be done twice */
        m->twins &= m->k->roots[i].kind != ROOT_COLUMNS && (m->k->roots[i].buffer < 0 || !emit_reads_memory_of(m, m->k->roots[i].buffer));
    }
    if (!m->twins) {
        return;
    }
    int lanes = emit_whole_lines(m);
    kernel *own = arena_make(m->c->memory, 1, sizeof *own);
    if (own == NULL) {
        m->out.failed = true;
        return;
    }
    *own = *m->k; /* its accumulators are a block's */
    own->lanes = lanes;
    m->k = own;
    m->flow_lanes = lanes;
}

/* Whether a word names what each task of a pair has for itself: its number, what its lanes are gathered in, results and what follows
   from them, what is kept, and where its lines begin. */
static bool is_own(const char *word, size_t n) {
    static const char *const letters[] = {"at", "a", "made", "p", "r", "t", "saved"};
    if (n == strlen("head") && memcmp(word, "head", n) == 0) {
        return true;
    }
    for (size_t i = 0; i < countof(letters); i++) {
        size_t l = strlen(letters[i]);
        if (n > l && memcmp(word, letters[i], l) == 0 && isdigit((unsigned char)word[l])) {
            return word[0] != 't' || memchr(word, '_', n) != NULL; /* else it is a block's */
        }
    }
    return false;
}

static bool is_of_word(char c) {
    return isalnum((unsigned char)c) || c == '_';
}

void emit_twin(emitter *m, size_t from) {
    if (!m->twins || m->out.failed) {
        return;
    }
    text copy = {0};
    for (const char *at = m->out.data + from, *end = m->out.data + m->out.length; at < end;) {
        size_t n = 0;
        while (at + n < end && is_of_word(at[n])) {
            n++;
        }
        text_add_bytes(&copy, at, n > 0 ? n : 1);
        if (is_own(at, n)) {
            text_add(&copy, "b");
        }
        at += n > 0 ? n : 1;
    }
    text_add(&m->out, text_get(&copy));
    m->out.failed |= copy.failed;
    text_clear(&copy);
}
