/* SPDX-License-Identifier: Apache-2.0 */
/* What is so of the kernel at hand, as far as it is written: questions that write nothing. */
#include "engine/compile/emit/facts.h"

#include <math.h>

#include "device/caches.h"

#include <string.h>

bool emit_is_row(const emitter *m, const expr *e) {
    return m->k->has_classes && (e->variables & m->reduced) == 0;
}

bool emit_has_quick(const emitter *m, int i) {
    const expr *e = &m->k->exprs[i];
    return e->kind == EXPR_MAP && !m->widened[i] && dialect_has_quick(e->fn, m->k->exprs[e->sources[e->n_sources - 1]].dtype);
}

bool emit_is_below_0(const emitter *m, int i) {
    const expr *e = &m->k->exprs[i];
    if (e->kind != EXPR_MAP || e->fn != FN_SUB || m->k->exprs[e->sources[1]].kind != EXPR_RESULT) {
        return false;
    }
    const root *r = &m->k->roots[m->k->exprs[e->sources[1]].root];
    return r->kind == ROOT_REDUCE && r->how == RED_MAX && r->expr == e->sources[0];
}

int64_t emit_visited(const emitter *m) {
    const kernel *k = m->k;
    int64_t n = m->rows ? k->lanes : 1;
    for (int v = 0; v < k->n_variables; v++) {
        n *= k->variables[v].is_reduced ? k->variables[v].size : 1;
    }
    return n;
}

int64_t emit_group_elems(const emitter *m) {
    const kernel *k = m->k;
    int64_t size = k->variables[k->loops[k->n_loops - 1]].size, rows = m->group_rows;
    return (size + rows - 1) / rows * rows * (m->rows ? k->lanes : k->variables[k->vector].size);
}

int64_t emit_saved_elems(const emitter *m) {
    const kernel *k = m->k;
    int64_t n = m->shares            ? m->kept_rows * k->variables[k->vector].size
                : m->group_rows > 0 ? emit_group_elems(m)
                                    : emit_visited(m);
    for (int i = 0; m->group_rows > 0 && i < k->n_loops - 1; i++) {
        n *= k->variables[k->loops[i]].size;
    }
    return n;
}

bool emit_in_loops(const emitter *m, const root *r) {
    return !m->k->has_classes || (r->variables & m->reduced) != 0 || r->kind != ROOT_STORE;
}

enum {
    FUNCTION_LANES = 16, /* functions of blocks take so many at a time */
};

/* Lanes of a block: a task's, where those are but a line or two of what is stored; a line of each task in a group. */
int emit_block_lanes(const emitter *m) {
    return m->page_tasks > 0 ? m->together_lanes
           : m->flow_lanes > 0 ? m->flow_lanes
           : m->k->turns_lines && m->k->lanes < EMIT_BLOCK_LANES ? (int)m->k->lanes : EMIT_BLOCK_LANES;
}

/* Whether neighbours along the vector are neighbours in memory. */
bool emit_is_dense(const emitter *m, index_sum at) {
    int64_t stride;
    return m->k->vector >= 0 && index_stride(at, m->k->vector, &stride) && stride == 1;
}

const char *emit_block_lane(const emitter *m) {
    return strcmp(m->block, "0") == 0 ? "l" : "i";
}

bool emit_is_dense_load(const emitter *m, const expr *e) {
    return e->kind == EXPR_LOAD && e->guard < 0 && emit_is_dense(m, e->at);
}

bool emit_reads_memory_of(const emitter *m, int buffer) {
    return reads_memory_of(m->c, m->k, buffer);
}

bool emit_may_repeat(const emitter *m, int phase) {
    for (int r = 0; r < m->k->n_roots; r++) {
        const root *stored = &m->k->roots[r];
        if (stored->phase == phase && (stored->kind != ROOT_STORE || emit_reads_memory_of(m, stored->buffer))) {
            return false;
        }
    }
    return true;
}

bool emit_scans_along(const emitter *m) {
    return m->k->n_roots > 0 && m->k->roots[0].kind == ROOT_SCAN && m->k->vector >= 0 && !m->rows;
}

bool emit_scan_narrows(const root *r) {
    return r->kind == ROOT_SCAN && r->dtype == ASSAY_F32 && dialect_narrow(r->store_dtype, PAIRS_NONE) != NULL;
}

bool emit_scans_held(const emitter *m) {
    const kernel *k = m->k;
    const root *r = k->n_roots == 1 ? &k->roots[0] : NULL;
    bool sums = r != NULL && r->kind == ROOT_SCAN && r->how == RED_SUM && r->dtype == ASSAY_F32 && k->scan_parts == 0;
    if (!sums || !m->c->options->few_stores || !m->rows || k->n_phases != 1 || k->n_loops == 0 || k->beside != 0) {
        return false;
    }
    const loop_variable *vector = &k->variables[k->vector];
    return k->lanes % EMIT_BLOCK_LANES == 0 && vector->size % k->lanes == 0 && vector->tile == 0 &&
           k->variables[k->loops[k->n_loops - 1]].tile == 0;
}

/* Running sums down rows of lanes, each of which may go past the caches when it is made; where stores take long, only what stays in registers
   from row to row does. */
bool emit_scans_past(const emitter *m, const root *r) {
    return r->kind == ROOT_SCAN && m->rows && m->k->scan_parts == 0 && (r->store_dtype == r->dtype || emit_scan_narrows(r)) &&
           (!m->c->options->few_stores || emit_scans_held(m));
}

bool emit_is_streamed(const emitter *m, const root *r) {
    return (r->kind == ROOT_STORE || emit_scans_along(m) || emit_scans_past(m, r)) && emit_in_loops(m, r) &&
           emit_is_dense(m, r->at) && dtype_size(r->store_dtype) <= 8 && r->buffer >= 0 && (m->c->options->streams_all || r->streams) &&
           m->c->buffers[r->buffer].part_elems == 0 && !emit_reads_memory_of(m, r->buffer);
}

bool emit_is_joined(const emitter *m, int i) {
    return m->joins && m->k->roots[i].phase == m->k->n_phases - 1 && emit_is_streamed(m, &m->k->roots[i]);
}

bool emit_is_made(const emitter *m, int i) {
    return m->saved_in[i] < 0 || m->saved_in[i] == m->phase;
}

bool emit_is_operand(const expr *e, int i) {
    bool is = false;
    for (int s = 0; s < e->n_sources; s++) {
        is |= e->sources[s] == i;
    }
    return is;
}

/* As many digits as both ask. */
static dtype more_digits(dtype a, dtype b) {
    return a == ASSAY_F32 || b == ASSAY_F32 ? ASSAY_F32 : a == ASSAY_F16 || b == ASSAY_F16 ? ASSAY_F16 : ASSAY_BF16;
}

/* Whether a root is a sum of what expression i is, none of it below 0, that only this kernel reads: it is as far off in proportion as its
   terms are at most. */
static bool sums_alike(const kernel *k, const root *r, int i) {
    const expr *e = &k->exprs[i];
    return r->kind == ROOT_REDUCE && r->how == RED_SUM && r->buffer < 0 && r->dtype == ASSAY_F32 && e->kind == EXPR_MAP && e->fn == FN_EXP;
}

static dtype digits_for(const emitter *m, int i, int depth) {
    enum { MOST_PRODUCTS = 4 }; /* one behind the other */
    const kernel *k = m->k;
    dtype digits = ASSAY_BF16;
    bool any = false;
    for (int r = 0; r < k->n_roots; r++) {
        if (k->roots[r].expr != i) {
            continue;
        }
        if (!sums_alike(k, &k->roots[r], i)) {
            return ASSAY_F32;
        }
        for (int u = 0; u < k->n_exprs; u++) {
            const bool is_sum = k->exprs[u].kind == EXPR_RESULT && k->exprs[u].root == r;
            digits = is_sum ? more_digits(digits, digits_for(m, u, depth)) : digits;
        }
    }
    for (int u = 0; u < k->n_exprs && digits != ASSAY_F32; u++) {
        const expr *e = &k->exprs[u];
        int reads[EXPR_MAX_READS], n = expr_reads(k, e, reads);
        bool uses = false;
        for (int r = 0; r < n; r++) {
            uses |= reads[r] == i;
        }
        if (!uses) {
            continue;
        }
        any = true;
        bool narrows = e->kind == EXPR_CAST && (e->dtype == ASSAY_F16 || e->dtype == ASSAY_BF16);
        bool keeps = e->kind == EXPR_MAP && e->dtype == ASSAY_F32 &&
                     (e->fn == FN_MUL || e->fn == FN_DIV || e->fn == FN_NEG || (e->fn == FN_SELECT && e->sources[0] != i));
        dtype want = narrows ? e->dtype : keeps && depth < MOST_PRODUCTS ? digits_for(m, u, depth + 1) : ASSAY_F32;
        digits = more_digits(digits, want);
    }
    return any ? digits : ASSAY_F32;
}

dtype emit_digits_of(const emitter *m, int i) {
    return digits_for(m, i, 0);
}

/* A function of which a block of lanes is cheaper than each. */
bool emit_is_block_function(const emitter *m, int i) {
    const expr *e = &m->k->exprs[i];
    if (e->kind != EXPR_MAP || (e->variables >> m->k->vector & 1) == 0 || !emit_is_made(m, i) ||
        emit_block_lanes(m) % FUNCTION_LANES != 0) {
        return false;
    }
    if (e->fn == FN_SQRT && m->c->options->divides && emit_digits_of(m, i) == ASSAY_F32) { /* as eager's roots */
        return false;
    }
    dtype t = m->k->exprs[e->sources[0]].dtype;
    return e->n_sources == 1   ? dialect_block(e->fn, t, ASSAY_BF16) != NULL && dialect_block(e->fn, t, emit_digits_of(m, i)) != NULL
           : e->n_sources == 2 ? dialect_block_of_two(e->fn, t, ASSAY_F32, false, false) != NULL
                               : false;
}

bool emit_is_narrowed(const emitter *m, int i) {
    return m->staged[i] && m->narrowed[i];
}

bool emit_has_loops(const emitter *m, int phase) {
    for (int i = 0; i < m->k->n_roots; i++) {
        if (m->k->roots[i].phase == phase && emit_in_loops(m, &m->k->roots[i])) {
            return true;
        }
    }
    return false;
}

bool emit_streams_any(const emitter *m) {
    bool any = false;
    for (int i = 0; i < m->k->n_roots; i++) {
        any |= emit_is_streamed(m, &m->k->roots[i]);
    }
    return any;
}

bool emit_streams(const emitter *m, int phase) {
    bool any = false;
    for (int i = 0; i < m->k->n_roots; i++) {
        const root *r = &m->k->roots[i];
        if (r->phase == phase && emit_in_loops(m, r)) {
            if (r->kind != ROOT_STORE && r->kind != ROOT_COLUMNS && !emit_scans_along(m) && !emit_scans_past(m, r)) {
                return false;
            }
            any |= emit_is_streamed(m, r);
        }
    }
    return any && m->k->variables[m->k->vector].size >= emit_block_lanes(m);
}

static bool is_finite_number(const kernel *k, int i) {
    return k->exprs[i].kind == EXPR_NUMBER && isfinite(k->exprs[i].number.f);
}

static bool is_bound(const kernel *k, const expr *e) {
    return e->kind == EXPR_MAP && (e->fn == FN_MINIMUM || e->fn == FN_MAXIMUM) && is_finite_number(k, e->sources[1]);
}

/* Whether y is x, or that with numbers added: they are NaN together. */
static bool is_x_and_numbers(const kernel *k, int y, int x) {
    const expr *e = &k->exprs[y];
    bool adds = e->kind == EXPR_MAP && (e->fn == FN_ADD || e->fn == FN_SUB) && is_finite_number(k, e->sources[1]);
    return y == x || (adds && is_x_and_numbers(k, e->sources[0], x));
}

/* Whether all that reads expression i multiplies it by what is NaN where y is, once it is multiplied by numbers and held between such. */
static bool is_factor_of(const kernel *k, int i, int y) {
    bool any = false;
    for (int r = 0; r < k->n_roots; r++) {
        if (k->roots[r].expr == i) {
            return false;
        }
    }
    for (int e = i + 1; e < k->n_exprs; e++) {
        const expr *x = &k->exprs[e];
        if (!emit_is_operand(x, i)) {
            continue;
        }
        any = true;
        bool multiplies = x->kind == EXPR_MAP && x->fn == FN_MUL;
        int other = multiplies ? x->sources[x->sources[0] == i ? 1 : 0] : -1;
        if (multiplies && other != i && is_x_and_numbers(k, y, other)) {
            continue;
        }
        bool goes_on = is_bound(k, x) || (multiplies && is_finite_number(k, other));
        if (!goes_on || !is_factor_of(k, e, y)) {
            return false;
        }
    }
    return any;
}

bool emit_is_bound_of_factor(const emitter *m, int i) {
    const kernel *k = m->k;
    const expr *e = &k->exprs[i];
    if (e->dtype != ASSAY_F32 || !is_bound(k, e) || signbit(k->exprs[e->sources[1]].number.f)) {
        return false;
    }
    int y = e->sources[0];
    while (is_bound(k, &k->exprs[y])) {
        y = k->exprs[y].sources[0];
    }
    return is_factor_of(k, i, y);
}

/* A factor of the vector variable and a number, and nothing else. */
bool emit_goes_with_lanes(const emitter *m, const view_bound *b) {
    const index_term *term = b->at.terms;
    return b->at.n == 1 && term->atom->kind == ATOM_VARIABLE && term->atom->id == m->k->vector && term->factor > 0;
}

/* The same for all lanes, and not read from data. */
static bool is_of_all_lanes(const emitter *m, const view_bound *b) {
    int reads[EXPR_MAX_READS];
    uint64_t lanes = (uint64_t)1 << m->k->vector | m->k->beside;
    return (index_variables(b->at) & lanes) == 0 && index_reads(m->k, b->at, -1, reads, 0) == 0;
}

bool emit_is_diagonal(const emitter *m, const view_bound *b) {
    int reads[EXPR_MAX_READS], n_lanes = 0;
    uint64_t lanes = (uint64_t)1 << m->k->vector | m->k->beside;
    for (int i = 0; i < b->at.n; i++) {
        const index_term *term = &b->at.terms[i];
        if ((term->atom->variables & lanes) == 0) {
            continue;
        }
        if (term->atom->kind != ATOM_VARIABLE || term->atom->id != m->k->vector || term->factor < -1) {
            return false;
        }
        n_lanes++;
    }
    return n_lanes == 1 && b->at.n > 1 && index_reads(m->k, b->at, -1, reads, 0) == 0;
}

bool emit_is_certain(const emitter *m, int i) {
    const expr *e = &m->k->exprs[i];
    if (e->kind == EXPR_MAP && e->fn == FN_AND && e->dtype == ASSAY_B8) {
        return emit_is_certain(m, e->sources[0]) && emit_is_certain(m, e->sources[1]);
    }
    bool certain = m->inside && e->kind == EXPR_WITHIN;
    for (int b = 0; certain && b < e->n_bounds; b++) {
        const view_bound *bound = &e->bounds[b];
        certain = emit_goes_with_lanes(m, bound) || is_of_all_lanes(m, bound) || (m->splits && emit_is_diagonal(m, bound));
    }
    return certain;
}

int emit_flow_lag(const emitter *m, int phase) {
    bool is_last = phase == m->k->n_phases - 1;
    return m->flow == FLOW_ALL ? phase : is_last;
}

bool emit_is_side_by_side(const emitter *m, int phase) {
    return m->flow == FLOW_ALL || phase == 0 || phase == m->k->n_phases - 1;
}
