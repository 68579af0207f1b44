/* SPDX-License-Identifier: Apache-2.0 */
/* Places that data say, of a range of lanes. Compilers make vector code of how an index is found and checked, and none of loads from wherever it
   says: where both are in one loop, vectors are taken apart again, lane by lane. So a loop of its own finds the places of a block of loads, and
   the lanes' loop looks there. Elements of [512, 1024] f16 by [512, 256] indices take 0.75 of the time so, those of a short row of f32 0.5 (an
   Emerald Rapids, 2026-11). Places are counted from where all lanes are alike, in 32 bits where those suffice; floats by such places are
   gathered before the lanes' loop as well where a processor does that well, in 0.65 of its time. Indices that go with lanes alone, as many
   tasks look with them, are checked once for all. */
#include "engine/compile/emit/indices.h"

#include "engine/compile/emit/places_apart.h"
#include "engine/compile/emit/values.h"
#include "engine/compile/emit/wants.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Fewer lanes are no vector; what more of them, or of more loads, would keep is not near. */
enum { LEAST_LANES = 16, MOST_PLACES = 4096, ELSEWHERE = -1 };

/* Of a table for all tasks, which has to be made by each thread, and anew for each of the few parts of its tasks: how often it is looked at. */
enum { MOST_IN_TABLE = 4096, LEAST_LOOKS = 64 };

/* Whether lanes are what tasks are made of, one after the other. */
static bool are_plain(const emitter *m) {
    const kernel *k = m->k;
    return m->rows && !k->is_product && !k->has_frame && m->flow == FLOW_NONE && k->beside == 0;
}

/* Notes below what the indices within an index expression have to be; ELSEWHERE: not the same everywhere, or not asked. */
static void note_sizes(const emitter *m, index_sum a, int64_t *sizes) {
    for (int i = 0; i < a.n; i++) {
        const index_atom *atom = a.terms[i].atom;
        if (atom->kind == ATOM_QUOTIENT || atom->kind == ATOM_REMAINDER) {
            note_sizes(m, atom->of, sizes);
        }
        if (atom->kind == ATOM_DATA) {
            const int e = expr_find(m->k, atom->id, atom->n_at, atom->at, -1);
            const int64_t size = atom->is_sure ? ELSEWHERE : atom->size;
            sizes[e] = sizes[e] == 0 || sizes[e] == size ? size : ELSEWHERE;
        }
    }
}

/* What indices have to be below, by their expressions; 0: others. What others look with, or behind conditions, they check themselves. */
static void find_indices(const emitter *m, int64_t *sizes) {
    const kernel *k = m->k;
    for (int i = 0; i < k->n_exprs; i++) {
        const expr *e = &k->exprs[i];
        if (e->kind == EXPR_LOAD && e->guard < 0) {
            note_sizes(m, e->at, sizes);
        }
    }
    for (int i = 0; i < k->n_exprs; i++) {
        const expr *e = &k->exprs[i];
        const bool asks = e->guard >= 0 || e->kind == EXPR_WITHIN || e->kind == EXPR_INDEX;
        int reads[EXPR_MAX_READS], n = asks ? expr_reads(k, e, reads) : 0;
        for (int r = 0; r < n; r++) {
            sizes[reads[r]] = 0;
        }
    }
    for (int i = 0; i < k->n_roots; i++) {
        int reads[EXPR_MAX_READS], n = index_reads(k, k->roots[i].at, -1, reads, 0);
        for (int r = 0; r < n; r++) {
            sizes[reads[r]] = 0;
        }
    }
}

static void forget(emitter *m) {
    memset(m->looked, 0, (size_t)m->k->n_exprs);
}

static bool is_gathered(const emitter *m, const expr *e) {
    return m->c->options->gathers && e->dtype == ASSAY_F32;
}

/* Whether lanes differ in a load by what data say; of what tables say, only what is gathered is worth a loop of its own. */
static bool looks_by_lanes(const emitter *m, int i) {
    const expr *e = &m->k->exprs[i];
    int reads[EXPR_MAX_READS], n = e->kind == EXPR_LOAD && e->guard < 0 ? index_reads(m->k, e->at, -1, reads, 0) : 0;
    bool by_lanes = false;
    for (int r = 0; r < n; r++) {
        by_lanes |= (!m->tabled[reads[r]] || is_gathered(m, e)) && (m->k->exprs[reads[r]].variables >> m->k->vector & 1) != 0;
    }
    return by_lanes && !m->named[i] && !m->widened[i] && m->saved_in[i] < 0 && !m->kept[i] && !m->turned[i];
}

static uint8_t looked_how(emitter *m, int i) {
    int64_t low, high;
    index_range(emit_part_of(m, m->k->exprs[i].at, true), &low, &high);
    if (low < INT32_MIN || high > INT32_MAX) {
        return LOOKED_FAR;
    }
    return is_gathered(m, &m->k->exprs[i]) ? LOOKED_GATHERED : LOOKED_NEAR;
}

/* The first load that looks in the same places, counted from wherever. */
static int same_places(emitter *m, const uint8_t *looked, int i) {
    const index_sum at = emit_part_of(m, m->k->exprs[i].at, true);
    for (int j = 0; j < i; j++) {
        if (looked[j] > LOOKED_FAR && looked[i] > LOOKED_FAR && index_equal(emit_part_of(m, m->k->exprs[j].at, true), at)) {
            return j;
        }
    }
    return i;
}

static int64_t places_of(const emitter *m, const lane_range *range) {
    return range->block > 0 ? range->block : m->k->lanes;
}

/* Leaves out loads that only say where others look: those who look find their places without. `read`: room for sets of expressions. */
static void keep_needed(emitter *m, bool *read, bool *needed) {
    const kernel *k = m->k;
    for (int i = k->n_exprs - 1; i >= 0; i--) { /* what reads an expression comes behind it */
        needed[i] |= m->wanted[i] && !read[i];
        m->looked[i] &= needed[i];
        int reads[EXPR_MAX_READS], n = m->wanted[i] ? expr_reads(k, &k->exprs[i], reads) : 0;
        for (int r = 0; r < n; r++) {
            read[reads[r]] = true;
            needed[reads[r]] |= needed[i] && !m->looked[i];
        }
    }
}

static bool choose(emitter *m, const lane_range *range) {
    const size_t n_exprs = (size_t)m->k->n_exprs;
    int64_t n = 0;
    forget(m);
    if (!are_plain(m) || range->singly || places_of(m, range) < LEAST_LANES) {
        return false;
    }
    for (int i = 0; i < m->k->n_exprs; i++) {
        m->looked[i] = m->wanted[i] && looks_by_lanes(m, i);
        n += m->looked[i] ? 1 : 0;
    }
    bool *sets = n > 0 ? calloc(2 * n_exprs, 1) : NULL;
    if (sets == NULL) {
        m->out.failed |= n > 0;
        return false;
    }
    keep_needed(m, sets, sets + n_exprs);
    free(sets);
    n = 0;
    for (int i = 0; i < m->k->n_exprs; i++) {
        n += m->looked[i] ? 1 : 0;
    }
    const bool near = n * places_of(m, range) <= MOST_PLACES;
    if (!near) {
        forget(m);
    }
    return n > 0 && near;
}

static void emit_gather(emitter *m, int i, const lane_range *range) {
    const bool from_0 = range->block > 0 || strcmp(range->first, "0") == 0;
    const char *const plus = from_0 ? "" : " + ", *const first = from_0 ? "" : range->first;
    const bool is_sum = strchr(first, ' ') != NULL;
    text still = {0}, n = {0};
    emit_still(m, &still, i, " + ", "");
    if (range->block > 0) {
        text_addf(&n, "%d", range->block);
    } else {
        text_addf(&n, is_sum ? "%s%s(%s)" : "%s%s%s", range->last, from_0 ? "" : " - ", first);
    }
    emit_line(m, "float there%d[%lld];", i, (long long)places_of(m, range));
    emit_line(m, "gather_f32(there%d%s%s, b%d%s, place%d%s%s, %s);", i, plus, first, m->k->exprs[i].buffer, text_get(&still), m->places[i],
              plus, first, text_get(&n));
    m->out.failed |= still.failed || n.failed;
    text_clear(&still);
    text_clear(&n);
}

/* The places of load i, one lane's. */
static void emit_place(emitter *m, int i, bool is_far) {
    text at = {0};
    emit_index(m, &at, is_far ? m->k->exprs[i].at : emit_part_of(m, m->k->exprs[i].at, true), -1);
    emit_line(m, is_far ? "place%d[%s] = %s;" : "place%d[%s] = (int32_t)(%s);", i, m->lane, text_get(&at));
    m->out.failed |= at.failed;
    text_clear(&at);
}

bool emit_begin_indices(emitter *m, const lane_range *range) {
    const kernel *k = m->k;
    if (!choose(m, range)) {
        return false;
    }
    const size_t n = (size_t)k->n_exprs;
    bool *named = malloc(2 * n + 1);
    if (named == NULL) {
        m->out.failed = true;
        return false;
    }
    emit_line(m, "{");
    m->depth++;
    uint8_t *const looked = (uint8_t *)named + n;
    memcpy(named, m->named, n);
    memcpy(looked, m->looked, n);
    forget(m); /* what one says, another one may read to find its place */
    memset(m->wanted, 0, n);
    for (int i = 0; i < k->n_exprs; i++) {
        if (looked[i]) {
            looked[i] = looked_how(m, i);
            m->places[i] = same_places(m, looked, i);
            emit_want_index(m, k->exprs[i].at);
        }
        if (looked[i] && m->places[i] == i) {
            emit_line(m, "%s place%d[%lld];", looked[i] == LOOKED_FAR ? "int64_t" : "int32_t", i, (long long)places_of(m, range));
        }
    }
    lane_loop l;
    emit_open_lanes(m, range, &l);
    emit_body(m, -1, false);
    for (int i = 0; i < k->n_exprs; i++) {
        if (looked[i] && m->places[i] == i) {
            emit_place(m, i, looked[i] == LOOKED_FAR);
        }
    }
    emit_close_lanes(m, range, &l, named);
    for (int i = 0; i < k->n_exprs; i++) {
        if (looked[i] == LOOKED_GATHERED) {
            emit_gather(m, i, range);
        }
    }
    memcpy(m->looked, looked, n);
    free(named);
    return true;
}

void emit_end_indices(emitter *m, bool any) {
    forget(m);
    if (any) {
        m->depth--;
        emit_line(m, "}");
    }
}

/* Leaves out indices that only say where others look: those have tables of their own. */
static void keep_looked_up(emitter *m, int64_t *sizes) {
    const kernel *k = m->k;
    for (int i = 0; i < k->n_exprs; i++) {
        m->tabled[i] = sizes[i] > 0;
    }
    emit_want_all(m, 0);
    for (int i = 0; i < k->n_exprs; i++) {
        const bool looks = m->wanted[i] && k->exprs[i].kind == EXPR_LOAD;
        int reads[EXPR_MAX_READS], n = looks ? expr_reads(k, &k->exprs[i], reads) : 0;
        for (int r = 0; r < n; r++) {
            sizes[reads[r]] = sizes[reads[r]] > 0 ? -sizes[reads[r]] : sizes[reads[r]]; /* the sign: it is looked up */
        }
    }
    for (int i = 0; i < k->n_exprs; i++) {
        sizes[i] = sizes[i] < 0 ? -sizes[i] : 0;
        m->tabled[i] = false;
    }
}

void emit_index_tables(emitter *m) {
    const kernel *k = m->k;
    const int v = k->vector;
    if (!are_plain(m) || k->has_classes || k->n_phases > 1 || k->variables[v].size > MOST_IN_TABLE || k->variables[v].tile > 0 ||
        (double)k->n_task_items * (double)k->lanes < LEAST_LOOKS * (double)k->variables[v].size) {
        return;
    }
    bool any = false;
    int64_t *sizes = calloc((size_t)k->n_exprs + 1, sizeof *sizes);
    if (sizes == NULL) {
        m->out.failed = true;
        return;
    }
    find_indices(m, sizes);
    for (int i = 0; i < k->n_exprs; i++) {
        const bool alone = k->exprs[i].variables == (uint64_t)1 << v && k->exprs[i].guard < 0;
        sizes[i] = sizes[i] > 0 && sizes[i] <= INT32_MAX && alone && m->saved_in[i] < 0 ? sizes[i] : 0;
    }
    keep_looked_up(m, sizes);
    memset(m->named, 0, (size_t)k->n_exprs);
    memset(m->wanted, 0, (size_t)k->n_exprs);
    for (int i = 0; i < k->n_exprs; i++) {
        if (sizes[i] > 0) {
            emit_line(m, "int32_t table%d[%lld];", i, (long long)k->variables[v].size);
            emit_want(m, i);
            any = true;
        }
    }
    if (any) {
        emit_line(m, "for (int64_t v%d = 0; v%d < %lld; v%d++) {", v, v, (long long)k->variables[v].size, v);
        m->depth++;
        emit_body(m, -1, false);
        for (int i = 0; i < k->n_exprs; i++) {
            text name = {0};
            if (sizes[i] > 0) {
                emit_name(m, &name, i);
                emit_line(m, "table%d[v%d] = (int32_t)checked(%s, %lld, &bad);", i, v, text_get(&name), (long long)sizes[i]);
            }
            m->out.failed |= name.failed;
            text_clear(&name);
        }
        m->depth--;
        emit_line(m, "}");
    }
    for (int i = 0; i < k->n_exprs; i++) {
        m->tabled[i] = sizes[i] > 0;
    }
    memset(m->named, 0, (size_t)k->n_exprs);
    free(sizes);
}
