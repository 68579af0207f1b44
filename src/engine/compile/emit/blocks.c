/* SPDX-License-Identifier: Apache-2.0 */
/* Lanes in blocks of a few lines of memory. A block's halves are converted as a whole, by what the processor has for it, and
   what no cache would keep is put together and stored past the caches while the lines that follow are fetched. */
#include "engine/compile/emit/blocks.h"

#include "device/caches.h"
#include "engine/compile/emit/block_choice.h"
#include "engine/compile/emit/block_functions.h"
#include "engine/compile/emit/facts.h"
#include "engine/compile/emit/fetching.h"
#include "engine/compile/emit/halves.h"
#include "engine/compile/emit/joined.h"
#include "engine/compile/emit/lane_ranges.h"
#include "engine/compile/emit/pairs.h"
#include "engine/compile/emit/ranges.h"
#include "engine/compile/emit/row_ends.h"
#include "engine/compile/emit/saved.h"
#include "engine/compile/emit/short_blocks.h"
#include "engine/compile/emit/values.h"
#include "engine/compile/emit/wants.h"
#include "engine/compile/emit/writing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- a block ------------------------------------------------------------------------------------------------------------- */

static void emit_widening(emitter *m) {
    const kernel *k = m->k;
    for (int i = 0; i < k->n_exprs; i++) {
        const expr *e = &k->exprs[i];
        if (m->widened[i] && e->kind == EXPR_RANDOM) {
            text seed = {0}, index = {0};
            emit_name(m, &seed, e->sources[0]);
            emit_index(m, &index, e->at, -1);
            emit_line(m, "random_block(random%d, %s, %d, %s);", i, text_get(&seed), e->stream, text_get(&index));
            m->out.failed |= seed.failed || index.failed;
            text_clear(&seed);
            text_clear(&index);
        } else if (m->widened[i] && e->kind == EXPR_CAST && !m->gathered[i]) {
            const expr *from = &k->exprs[e->sources[0]];
            char before[64];
            snprintf(before, sizeof before, "f32s_of_%s%s(wide%d, ", assay_dtype_name(from->dtype), m->pairs != PAIRS_NONE ? "_pairs" : "s", i);
            emit_address_call(m, before, from->buffer, from->at, ");");
        }
    }
}

static void emit_before_block(emitter *m, int phase) {
    if (emit_fetches_in(m, phase)) {
        emit_fetches(m, phase, emit_block_lanes(m));
    }
    emit_widening(m);
}

static void emit_after_block(emitter *m, bool passes) {
    const kernel *k = m->k;
    for (int i = 0; i < k->n_roots; i++) {
        const root *r = &k->roots[i];
        char after[64];
        if (!m->staged[i]) {
            continue;
        }
        if (r->kind == ROOT_SCAN && emit_scans_along(m)) {
            emit_scanned_block(m, i);
            continue;
        }
        bool narrowed = m->narrowed[i];
        if (!emit_is_streamed(m, r)) {
            emit_halves_store(m, r, i, passes);
            continue;
        }
        if (emit_scan_narrows(r) || (narrowed && m->spares_stores && !emit_is_joined(m, i))) {
            char before[48];
            snprintf(before, sizeof before, "%s(", dialect_stream_narrow(r->store_dtype, narrowed ? m->pairs : PAIRS_NONE));
            snprintf(after, sizeof after, ", made%d);", i);
            emit_address_call(m, before, r->buffer, r->at, after);
            continue;
        }
        if (narrowed) {
            emit_block_room(m, i, "halves", r->store_dtype);
            emit_line(m, "%s(halves%d, made%d);", dialect_narrow(r->store_dtype, m->pairs), i, i);
        }
        if (emit_is_joined(m, i)) {
            emit_joined_store(m, i);
            continue;
        }
        snprintf(after, sizeof after, ", %s%d, %lld);", narrowed ? "halves" : "made", i,
                 (long long)(emit_block_lanes(m) * dtype_size(r->store_dtype)));
        emit_address_call(m, "stream_lines(", r->buffer, r->at, after);
    }
}

static void emit_rooms(emitter *m) {
    for (int i = 0; i < m->k->n_roots; i++) {
        const root *r = &m->k->roots[i];
        if (m->staged[i]) {
            emit_block_room(m, i, "made", m->narrowed[i] ? ASSAY_F32 : r->kind == ROOT_SCAN ? r->dtype : r->store_dtype);
        }
    }
}

/* Whether what a function makes can go straight to memory: nothing else reads it, and the function nothing that lies there. */
static bool stores_at_once(const emitter *m, int i) {
    const root *r = &m->k->roots[i];
    bool alone = r->dtype == ASSAY_F32 && r->store_dtype == ASSAY_F32 && emit_is_dense(m, r->at) && !emit_reads_memory_of(m, r->buffer);
    for (int other = 0; other < m->k->n_roots; other++) {
        alone &= other == i || m->k->roots[other].expr != r->expr;
    }
    for (int e = 0; e < m->k->n_exprs && alone; e++) {
        int reads[EXPR_MAX_READS], n = expr_reads(m->k, &m->k->exprs[e], reads);
        for (int k = 0; k < n; k++) {
            alone &= reads[k] != r->expr;
        }
    }
    return alone;
}

/* Whether all that a phase's lanes would do is to copy what functions have made of the block: that is stored from where it lies.
   A function that may go another way leaves its block in memory, and a copy of that takes as long as 16 of its instructions
   (Zen 4). Floats that nothing else reads go where they are stored at once (emitter.into): 1 over the root of 400000 takes 0.7 of the time
   so, tanh 0.9 (an Emerald Rapids, 2026-11). */
static bool only_functions(emitter *m, int phase) {
    bool any = false;
    memset(m->into, 0, (size_t)m->k->n_exprs * sizeof *m->into);
    for (int i = 0; i < m->k->n_roots; i++) {
        const root *r = &m->k->roots[i];
        if (r->phase != phase || !emit_in_loops(m, r)) {
            continue;
        }
        int made = emit_is_narrowed(m, i) ? m->k->exprs[r->expr].sources[0] : r->expr;
        if (r->kind != ROOT_STORE || !emit_is_function(m, made) || m->saved_in[made] >= 0 || m->stores_later ||
            (m->staged[i] ? emit_is_joined(m, i) : !stores_at_once(m, i))) {
            return false;
        }
        any = true;
    }
    for (int i = 0; i < m->k->n_roots && any && m->k->beside == 0; i++) {
        const root *r = &m->k->roots[i];
        if (r->phase == phase && emit_in_loops(m, r) && !m->staged[i]) {
            m->into[r->expr] = i + 1;
        }
    }
    return any && m->k->beside == 0;
}

static void emit_made_by_functions(emitter *m) {
    for (int i = 0; i < m->k->n_roots; i++) {
        int made = m->k->roots[i].expr;
        if (m->staged[i]) {
            emit_line(m, "const float *const made%d = wide%d;", i, emit_is_narrowed(m, i) ? m->k->exprs[made].sources[0] : made);
        }
    }
}

static void emit_block(emitter *m, int phase, const char *block, const char *from) {
    block_scope start;
    char last[32];
    m->block = block;
    bool passes = emit_passes_on(m, phase), copies = only_functions(m, phase);
    emit_block_arrays(m);
    if (!passes && !copies && !m->stores_later) {
        emit_rooms(m);
    }
    emit_open_scope(m, from, &start);
    emit_before_block(m, phase);
    emit_close_scope(m, &start);
    snprintf(last, sizeof last, "%d", emit_block_lanes(m));
    lane_range range = {block, last, from, strcmp(block, "0") == 0 ? 0 : emit_block_lanes(m), false};
    emit_gathered(m, &range);
    emit_functions(m, &range);
    emit_want_phase(m, phase);
    if (copies) {
        emit_made_by_functions(m);
    } else if (!passes) {
        emit_range(m, phase, &range);
    }
    if (!m->stores_later) {
        emit_open_scope(m, from, &start);
        emit_after_block(m, passes);
        emit_close_scope(m, &start);
    }
    memset(m->into, 0, (size_t)m->k->n_exprs * sizeof *m->into);
}

/* --- all lanes ----------------------------------------------------------------------------------------------------------- */

/* The first root that goes past the caches and whose rows may begin within a line; -1: none. */
static int unaligned_root(const emitter *m) {
    for (int i = 0; i < m->k->n_roots; i++) {
        const root *r = &m->k->roots[i];
        if (!m->staged[i] || !emit_is_streamed(m, r)) {
            continue;
        }
        int64_t size = (int64_t)dtype_size(r->store_dtype);
        bool aligned = r->at.constant * size % STREAM_LINE_BYTES == 0;
        for (int t = 0; t < r->at.n; t++) {
            const index_atom *atom = r->at.terms[t].atom;
            bool is_vector = atom->kind == ATOM_VARIABLE && atom->id == m->k->vector;
            aligned &= is_vector || r->at.terms[t].factor * size % STREAM_LINE_BYTES == 0;
        }
        return aligned ? -1 : i;
    }
    return -1;
}

/* `head`, of n lanes: those up to the first whole line of what is stored. */
static void emit_head_count(emitter *m, int root_index, const char *n, const char *from) {
    const root *r = &m->k->roots[root_index];
    block_scope start;
    char after[96];
    m->block = "0";
    emit_open_scope(m, from, &start);
    snprintf(after, sizeof after, ", %d, %s);", (int)dtype_size(r->store_dtype), n);
    emit_address_call(m, "head = lanes_to_line(", r->buffer, r->at, after);
    emit_close_scope(m, &start);
}

/* The same, and what these lanes do. */
static void emit_head(emitter *m, int phase, int root_index, const char *n, const char *from) {
    emit_line(m, "int64_t head;");
    emit_head_count(m, root_index, n, from);
    emit_choose_none(m);
    if (root_index != m->carried) {
        emit_range(m, phase, &(lane_range){"0", "head", from, 0, false});
        return;
    }
    emit_line(m, "{");
    m->depth++;
    emit_row_head(m, phase, from);
    m->depth--;
    emit_line(m, "}");
}

/* What such a row's blocks leave: it begins with a line. */
static void emit_rest(emitter *m, int phase, const char *count, const char *from) {
    char n[96], first[160];
    snprintf(n, sizeof n, "(%s - head) %% %d", count, emit_block_lanes(m));
    snprintf(first, sizeof first, strcmp(from, "0") == 0 ? "%.0s%s - %s" : "%s + %s - %s", from, count, n);
    emit_line(m, "{");
    m->depth++;
    emit_row_rest(m, phase, n, first, emit_block_lanes(m));
    m->depth--;
    emit_line(m, "}");
}

/* --- tasks in flight ----------------------------------------------------------------------------------------------------- */

void emit_block_at(emitter *m, int phase, const char *block, const char *from) {
    (void)emit_choose_block(m, phase);
    emit_block(m, phase, block, from);
    emit_choose_none(m);
}

bool emit_block_rooms(emitter *m, int phase) {
    bool any = false;
    (void)emit_choose_block(m, phase);
    for (int i = 0; i < m->k->n_roots; i++) {
        any |= m->staged[i] && emit_is_streamed(m, &m->k->roots[i]);
    }
    if (any) {
        emit_rooms(m);
    }
    emit_choose_none(m);
    return any;
}

void emit_block_later(emitter *m, int phase, const char *from) {
    m->stores_later = true;
    emit_block_at(m, phase, "0", from);
    m->stores_later = false;
}

void emit_block_stores(emitter *m, int phase, const char *from) {
    block_scope start;
    (void)emit_choose_block(m, phase);
    m->block = "0";
    emit_open_scope(m, from, &start);
    emit_after_block(m, false);
    emit_close_scope(m, &start);
    emit_choose_none(m);
}

void emit_group_block(emitter *m, int phase) {
    bool all = m->k->variables[m->k->vector].size % m->k->lanes == 0;
    if (!all) {
        emit_line(m, "if (block + %d <= n_lanes) {", emit_block_lanes(m));
        m->depth++;
    }
    emit_fetch_saved(m, "block");
    (void)emit_choose_block(m, phase);
    emit_block(m, phase, "block", "first_lane");
    emit_choose_none(m);
    if (!all) {
        m->depth--;
        emit_line(m, "} else if (block < n_lanes) {");
        m->depth++;
        emit_want_phase(m, phase);
        if (emit_fetches_in(m, phase)) {
            block_scope start;
            m->block = "block";
            emit_open_scope(m, "first_lane", &start);
            emit_fetches(m, phase, m->k->variables[m->k->vector].size % m->k->lanes % emit_block_lanes(m));
            emit_close_scope(m, &start);
        }
        emit_range(m, phase, &(lane_range){"block", "n_lanes", "first_lane", 0, false});
        m->depth--;
        emit_line(m, "}");
    }
}

/* Lanes that fill a line of whatever is stored past the caches, as many as functions take in one go; a whole block where halves are
   converted. */
static int line_lanes(const emitter *m) {
    const kernel *k = m->k;
    int lanes = STREAM_LINE_BYTES / 8;
    for (int i = 0; i < k->n_exprs; i++) {
        if (emit_can_widen(m, i, false)) {
            return EMIT_BLOCK_LANES;
        }
        const int together = emit_block_function_lanes(m, i);
        lanes = together > lanes ? together : lanes;
    }
    for (int i = 0; i < k->n_roots; i++) {
        int line = STREAM_LINE_BYTES / (int)dtype_size(k->roots[i].store_dtype);
        if (emit_can_narrow(m, &k->roots[i])) {
            return EMIT_BLOCK_LANES;
        }
        lanes = emit_is_streamed(m, &k->roots[i]) && line > lanes ? line : lanes;
    }
    return lanes;
}

int emit_unaligned_root(emitter *m, int phase) {
    (void)emit_choose_block(m, phase);
    int i = unaligned_root(m);
    emit_choose_none(m);
    return i;
}

bool emit_is_aligned(emitter *m, int phase) {
    return emit_unaligned_root(m, phase) < 0;
}

void emit_flow_head(emitter *m, int phase) {
    (void)emit_choose_block(m, phase);
    char n[32];
    snprintf(n, sizeof n, "%lld", (long long)m->k->variables[m->k->vector].size);
    emit_head_count(m, unaligned_root(m), n, "0");
    emit_choose_none(m);
}

void emit_lanes(emitter *m, int phase, int64_t n, const char *from) {
    char count[32], whole[32], rest[96], short_by[16];
    snprintf(count, sizeof count, n > 0 ? "%lld" : "n_lanes", (long long)n);
    if ((n > 0 && n < emit_block_lanes(m)) || !emit_choose_block(m, phase)) {
        emit_short_range(m, phase, &(lane_range){"0", count, from, 0, false});
        return;
    }
    if (n > 0 && emit_takes_lanes_twice(m, phase, n % emit_block_lanes(m))) {
        emit_line(m, "for (int64_t whole = 0; whole < %s; whole += %d) {", count, emit_block_lanes(m));
        m->depth++;
        emit_line(m, "const int64_t block = whole + %d <= %s ? whole : %s - %d;", emit_block_lanes(m), count, count, emit_block_lanes(m));
        emit_block_at(m, phase, "block", from);
        m->depth--;
        emit_line(m, "}");
        return;
    }
    int unaligned = unaligned_root(m);
    bool is_known = unaligned < 0 && n > 0; /* how many lanes are in blocks */
    snprintf(short_by, sizeof short_by, " - %d", emit_block_lanes(m));
    snprintf(whole, sizeof whole, "%lld", (long long)(n - n % emit_block_lanes(m)));
    snprintf(rest, sizeof rest, unaligned >= 0 ? "%s - (%s - head) %% %d" : "%s - %s %% %d", count, count, emit_block_lanes(m));
    emit_line(m, "{");
    m->depth++;
    if (unaligned >= 0) {
        emit_head(m, phase, unaligned, count, from);
        emit_want_phase(m, phase);
        (void)emit_choose_block(m, phase);
    }
    if (is_known && n == emit_block_lanes(m)) {
        emit_block(m, phase, "0", from);
    } else {
        emit_line(m, "for (int64_t block = %s; block %s %s%s; block += %d) {", unaligned >= 0 ? "head" : "0",
                  is_known ? "<" : "<=", is_known ? whole : count, is_known ? "" : short_by, emit_block_lanes(m));
        m->depth++;
        emit_block(m, phase, "block", from);
        m->depth--;
        emit_line(m, "}");
    }
    emit_choose_none(m);
    emit_want_phase(m, phase);
    if (unaligned >= 0 && unaligned == m->carried) {
        emit_rest(m, phase, count, from);
    } else if (!is_known || n % emit_block_lanes(m) != 0) {
        emit_short_range(m, phase, &(lane_range){is_known ? whole : rest, count, from, 0, false});
    }
    m->depth--;
    emit_line(m, "}");
}

void emit_row_taken(emitter *m, int phase) {
    const kernel *k = m->k;
    bool whole = k->variables[k->vector].size % k->lanes == 0;
    char n[32], last[32], before[96];
    block_scope start;
    snprintf(n, sizeof n, whole ? "%lld" : "n_lanes", (long long)k->lanes);
    snprintf(before, sizeof before, "take_near_f32(r%d_%d + l, low%d + l, high%d + l, ", m->guessed, phase, m->guessed, m->guessed);
    if (!whole || k->lanes % EMIT_BLOCK_LANES != 0) {
        emit_lanes_into(m, m->near_of, before, ");", &(lane_range){"0", n, "first_lane", 0, false});
        return;
    }
    emit_line(m, "for (int64_t block = 0; block < %s; block += %d) {", n, EMIT_BLOCK_LANES);
    m->depth++;
    m->block = "block";
    memset(m->wanted, 0, (size_t)k->n_exprs);
    emit_want(m, m->near_of);
    for (int e = 0; e < k->n_exprs; e++) {
        m->widened[e] = m->wanted[e] && emit_can_widen(m, e, false);
    }
    emit_block_arrays(m);
    emit_open_scope(m, "first_lane", &start);
    emit_widening(m);
    emit_close_scope(m, &start);
    snprintf(last, sizeof last, "%d", EMIT_BLOCK_LANES);
    emit_lanes_into(m, m->near_of, before, ");", &(lane_range){"block", last, "first_lane", EMIT_BLOCK_LANES, false});
    emit_choose_none(m);
    m->depth--;
    emit_line(m, "}");
}

int emit_whole_lines(const emitter *m) {
    const kernel *k = m->k;
    int lanes = line_lanes(m);
    for (int i = 0; i < k->n_exprs; i++) {
        const expr *e = &k->exprs[i];
        int line = e->kind == EXPR_LOAD ? STREAM_LINE_BYTES / (int)dtype_size(e->dtype) : 0;
        lanes = (e->variables >> k->vector & 1) != 0 && line > lanes ? line : lanes;
    }
    return lanes;
}
