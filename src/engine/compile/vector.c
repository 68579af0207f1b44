/* SPDX-License-Identifier: Apache-2.0 */
/* Which of a kernel's variables runs along the lanes of a vector, and how many lanes are taken together. */
#include "engine/compile/dialect.h"
#include "engine/compile/passes.h"

/* index_stride, where what is read from data and does not depend on the variable stands still. */
static bool stride_along(const kernel *k, index_sum at, int v, int64_t *stride) {
    *stride = 0;
    for (int i = 0; i < at.n; i++) {
        const index_atom *atom = at.terms[i].atom;
        if (atom->kind == ATOM_VARIABLE && atom->id == v) {
            *stride = at.terms[i].factor;
        } else if (atom->kind == ATOM_DATA) {
            int e = expr_find(k, atom->id, atom->n_at, atom->at, -1);
            if (e < 0 || (k->exprs[e].variables >> v & 1) != 0) {
                return false;
            }
        } else if ((atom->variables >> v & 1) != 0) {
            return false;
        }
    }
    return true;
}

/* How often an access that depends on these variables happens, of all turns of all loops: a row's result is stored once. */
static double share_of(const kernel *k, uint64_t variables) {
    double share = 1;
    for (int v = 0; v < k->n_variables; v++) {
        share /= (variables >> v & 1) == 0 && k->variables[v].size > 0 ? (double)k->variables[v].size : 1;
    }
    return share;
}

enum { MOST_BESIDE = 8, MOST_TEXT_BESIDE = 256 };

/* Whether nothing but text is in the way of computing several values of a variable beside each other. */
static bool may_go_beside(const kernel *k) {
    bool may = !k->has_classes;
    for (int i = 0; i < k->n_roots; i++) {
        may &= k->roots[i].kind == ROOT_STORE;
    }
    for (int i = 0; i < k->n_exprs; i++) {
        const expr *e = &k->exprs[i];
        bool is_quick = e->kind == EXPR_MAP && dialect_has_quick(e->fn, k->exprs[e->sources[e->n_sources - 1]].dtype);
        may &= e->kind != EXPR_RANDOM && !is_quick;
    }
    return may;
}

/* The variable along which the root's elements are so far apart; -1. */
static int variable_of_stride(const kernel *k, const root *r, int64_t wanted) {
    for (int v = 0; v < k->n_variables; v++) {
        int64_t stride;
        if (k->variables[v].size > 1 && index_stride(r->at, v, &stride) && stride == wanted) {
            return v;
        }
    }
    return -1;
}

/* The variables whose few elements lie between neighbours along v wherever something is stored; 0: there are none, or others. */
static uint64_t between(const kernel *k, int v) {
    uint64_t all = 0;
    for (int i = 0; i < k->n_roots; i++) {
        uint64_t set = 0;
        int64_t run = 1, stride;
        if (!index_stride(k->roots[i].at, v, &stride) || stride < 2 || stride > MOST_BESIDE) {
            return 0;
        }
        for (int u; run < stride && (u = variable_of_stride(k, &k->roots[i], run)) >= 0 && u != v;) {
            set |= (uint64_t)1 << u;
            run *= k->variables[u].size;
        }
        if (run != stride || (i > 0 && set != all)) {
            return 0;
        }
        all = set;
    }
    return all;
}

static bool is_divided(index_sum a, int v) {
    for (int i = 0; i < a.n; i++) {
        const index_atom *atom = a.terms[i].atom;
        if ((atom->kind == ATOM_QUOTIENT || atom->kind == ATOM_REMAINDER) && (atom->variables >> v & 1) != 0) {
            return true;
        }
    }
    return false;
}

/* Whether indices and conditions are simpler for each value of v: a quotient is made of it. */
static bool is_simpler_known(const kernel *k, int v) {
    for (int i = 0; i < k->n_exprs; i++) {
        bool divided = is_divided(k->exprs[i].at, v);
        for (int b = 0; b < k->exprs[i].n_bounds && !divided; b++) {
            divided = is_divided(k->exprs[i].bounds[b].at, v);
        }
        if (divided) {
            return true;
        }
    }
    return false;
}

/* Splitting a variable has made each expression of it depend on both parts, whichever it reads. */
static void find_variables(kernel *k) {
    for (int i = 0; i < k->n_exprs; i++) {
        expr *e = &k->exprs[i];
        int reads[EXPR_MAX_READS], n = expr_reads(k, e, reads);
        e->variables = index_variables(e->at);
        for (int b = 0; b < e->n_bounds; b++) {
            e->variables |= index_variables(e->bounds[b].at);
        }
        for (int r = 0; r < n; r++) {
            e->variables |= k->exprs[reads[r]].variables;
        }
    }
}

void choose_beside(kernel *k) {
    k->beside = k->vector >= 0 && may_go_beside(k) ? between(k, k->vector) : 0;
    int64_t values = 1;
    for (int v = 0; v < k->n_variables; v++) {
        values *= (k->beside >> v & 1) != 0 ? k->variables[v].size : 1;
    }
    for (int v = 0; v < k->n_variables && k->beside != 0; v++) {
        bool fits = values * k->variables[v].size <= MOST_BESIDE && values * k->variables[v].size * k->n_exprs <= MOST_TEXT_BESIDE;
        if (v != k->vector && (k->beside >> v & 1) == 0 && fits && is_simpler_known(k, v)) {
            k->beside |= (uint64_t)1 << v;
            values *= k->variables[v].size;
        }
    }
    if (k->beside != 0) {
        find_variables(k);
    }
}

static double vector_score(const kernel *k, int v) {
    double score = 0;
    bool fills = may_go_beside(k) && between(k, v) != 0; /* with what lies between lanes they make whole lines */
    bool scans = false;
    for (int i = 0; i < k->n_roots; i++) {
        const root *r = &k->roots[i];
        scans |= r->kind == ROOT_SCAN || r->kind == ROOT_SCATTER;
        int64_t stride;
        if (r->buffer >= 0 && (r->variables >> v & 1) != 0) {
            double weight = share_of(k, r->kind == ROOT_REDUCE || r->kind == ROOT_COLUMNS ? index_variables(r->at) : r->variables);
            bool fills_beside = index_stride(r->at, v, &stride) && stride > 1 && root_fills_lines(k, r);
            score += weight * (fills ? 2 : fills_beside ? 3 : !stride_along(k, r->at, v, &stride) || stride > 1 ? -3 : stride == 1 ? 3 : 0);
        }
    }
    if (scans && k->variables[v].is_reduced) {
        return -1e9; /* its order is part of the meaning */
    }
    for (int i = 0; i < k->n_exprs; i++) {
        const expr *e = &k->exprs[i];
        int64_t stride;
        if (e->kind == EXPR_LOAD && (e->variables >> v & 1) != 0) {
            score += share_of(k, e->variables) * (!stride_along(k, e->at, v, &stride) || stride > 1 ? -2 : stride == 1 ? 2 : 0);
        }
    }
    return score;
}

static bool scatters(const kernel *k) {
    for (int i = 0; i < k->n_roots; i++) {
        if (k->roots[i].kind == ROOT_SCATTER) {
            return true;
        }
    }
    return false;
}

enum { LANES_REDUCED = 64, LANES_BYTES = 512, LANES_ROWS = 256, LANES_PLAIN = 1024, LANES_APART = 4 };

/* A single pass down the rows takes whole ones, up to so many lanes: memory is read from one end to the other then, as the CPU best
   reads ahead, while what lanes come to, a first cache at most, stays near. By pieces of 512 lanes the sum over the first of [32768, 1024] took
   twice as long, of [8192, 4096] a quarter more; that of [4096, 8192] has 83% of what memory gives by halves of rows, and 86% by whole ones.
   Doubles, which go row by row, have half as many: 60% so, else 51 (Zen 4, 2026-11). */
enum { LANES_PASS = 8192, PASS_BYTES = 32 << 10 };
/* Where later phases finish what rows come to: what cores' own caches hold is no slower by fewer lanes. */
static const double LARGE_PASS = 4 << 20;

static int64_t pass_lanes(const kernel *k, bool has_near_means) {
    int64_t bytes = has_near_means ? (int64_t)sizeof(float) : 0, lanes = LANES_PASS;
    for (int i = 0; i < k->n_roots; i++) {
        const root *r = &k->roots[i];
        bool places = r->how == RED_ARGMAX || r->how == RED_ARGMIN;
        int64_t size = (int64_t)dtype_size(r->dtype);
        size = r->dtype == ASSAY_F64 ? 2 * size : size;
        bytes += r->kind == ROOT_REDUCE ? size + (places ? (int64_t)sizeof(int64_t) : 0) : 0;
    }
    while (lanes > LANES_ROWS && lanes * bytes > PASS_BYTES) {
        lanes /= 2;
    }
    return lanes;
}

/* The variable with the best score but for one (-1: of all). */
static int best_variable(const kernel *k, int not_this) {
    double best = -1e8;
    int found = -1;
    for (int v = 0; v < k->n_variables; v++) {
        double score = vector_score(k, v) - (k->variables[v].size < 4 ? 6 : k->variables[v].size < 8 ? 2.5 : 0);
        if (v == not_this || !is_of_columns(k, v) || (scatters(k) && score <= 0)) {
            continue; /* lanes far apart are worth nothing where each element is written at a place of its own */
        }
        /* Where nothing lies along any, as in a column, tasks had better be what is far apart: neighbours' kernels share those. */
        bool longer = score == best && k->variables[v].size >= k->variables[found].size;
        bool nearer = score == best && score < 0 && !k->has_classes;
        if (score > best || longer || nearer) {
            best = score;
            found = v;
        }
    }
    return found;
}

static bool scans(const kernel *k) {
    return k->n_roots > 0 && k->roots[0].kind == ROOT_SCAN;
}

/* Whether the first root's elements are neighbours along v. */
static bool is_dense(const kernel *k, int v) {
    int64_t stride;
    return index_stride(k->roots[0].at, v, &stride) && stride == 1;
}

/* Smaller operands are of rows or columns. */
static const double SAVED_LEAST = 1 << 20;

/* Whether tasks may go on side by side (emit/flow.c), rows as lanes: what is kept between phases is in no hurry then. */
static bool streams_rows(const compiler *c, const kernel *k) {
    for (int i = 0; i < k->n_roots; i++) {
        const root *r = &k->roots[i];
        int64_t stride;
        if (r->kind == ROOT_STORE && r->phase == k->n_phases - 1 && (c->options->streams_all || r->streams) &&
            index_stride(r->at, k->vector, &stride) && stride == 1) {
            return true;
        }
    }
    return false;
}

/* So many numbers are read for each of a task's elements. */
static int numbers_read(const compiler *c, const kernel *k) {
    int read = 0;
    for (int i = 0; i < k->n_exprs; i++) {
        read += k->exprs[i].kind == EXPR_LOAD && buffer_bytes(c, k->exprs[i].buffer) >= SAVED_LEAST;
    }
    return read;
}

/* As many numbers for each of a task's elements are kept then: what is read, or what each phase hands to the next. */
static int rows_kept(const compiler *c, const kernel *k) {
    int read = numbers_read(c, k);
    return read > k->n_phases - 1 ? read : k->n_phases - 1;
}

/* Of a task, between its phases. */
enum { SAVED_BYTES = 256 * 1024 };

/* Below this much traffic one thread does it all. */
static const double SHARED_BYTES = 128 * 1024;

/* Whether all that a kernel does is to move elements of one variable that are far apart: as tasks they can be a chain's parts. */
static bool moves_singly(const kernel *k) {
    for (int i = 0; i < k->n_exprs; i++) {
        if (k->exprs[i].kind != EXPR_LOAD) {
            return false;
        }
    }
    return k->n_variables == 1 && !k->has_classes && !scatters(k) && vector_score(k, 0) < 0;
}

/* Rows that are worth blocks: what no block takes goes one by one, four times as long for each. */
enum { SCANNED_LEAST = 256 };

/* The variable that running sums of floats go along, where neighbours along it are neighbours in memory: they are taken a block after
   the other then, each by itself side by side. -1: there is none. */
static int scanned_along(const kernel *k) {
    int found = -1;
    if (!scans(k) || k->n_roots != 1 || k->roots[0].how != RED_SUM || k->roots[0].dtype != ASSAY_F32) {
        return -1;
    }
    for (int v = 0; v < k->n_variables; v++) {
        found = k->variables[v].is_reduced ? v : found; /* the innermost */
    }
    if (found < 0 || !is_dense(k, found) || (k->variables[found].size < SCANNED_LEAST && k->variables[found].size % LANES_REDUCED != 0)) {
        return -1;
    }
    for (int i = 0; i < k->n_exprs; i++) {
        const expr *e = &k->exprs[i];
        int64_t stride;
        if (e->kind == EXPR_LOAD && (!index_stride(e->at, found, &stride) || stride < 0 || stride > 1)) {
            return -1;
        }
    }
    return found;
}

/* Of rows that are shorter than a block: as emit/short_blocks.c takes them. */
enum { LINE_LANES = 16 };

/* Whether something is computed of a row's elements that blocks have functions for. */
static bool has_functions(const kernel *k) {
    for (int i = 0; i < k->n_exprs; i++) {
        const expr *e = &k->exprs[i];
        bool by_lanes = e->kind == EXPR_MAP && e->n_sources == 1 && (e->variables >> k->vector & 1) != 0;
        if (by_lanes && k->exprs[e->sources[0]].dtype == ASSAY_F32 && dialect_block(e->fn, ASSAY_F32, ASSAY_F32) != NULL) {
            return true;
        }
    }
    return false;
}

/* Whether all that is read and kept of rows are bytes: as many as a register has lanes would wait for one another, since compilers leave
   them in memory from one turn to the next. The truth of any of 786432 takes 10.6 us by 64 lanes, 3.6 by 512 (two cores of a Zen 5, 2026-11). */
static bool reduces_bytes(const kernel *k) {
    for (int i = 0; i < k->n_exprs; i++) {
        if (k->exprs[i].kind == EXPR_LOAD && dtype_size(k->exprs[i].dtype) > 1) {
            return false;
        }
    }
    for (int i = 0; i < k->n_roots; i++) {
        if (k->roots[i].kind != ROOT_REDUCE || dtype_size(k->roots[i].dtype) > 1) {
            return false;
        }
    }
    return k->n_phases == 1;
}

/* Whether lanes look in several places that data say: what is found there stays near, with the places, where blocks of lanes are short
   (emit/indices.c). A grid's four corners of [2, 16, 64, 64] take 0.76 of the time by 256 lanes (an Emerald Rapids, 2026-11). */
static bool looks_up_several(const kernel *k) {
    int several = 0;
    for (int i = 0; i < k->n_exprs; i++) {
        const expr *e = &k->exprs[i];
        int reads[EXPR_MAX_READS], n = e->kind == EXPR_LOAD && e->guard < 0 ? index_reads(k, e->at, -1, reads, 0) : 0;
        several += n > 0 && (index_variables(e->at) >> k->vector & 1) != 0 ? 1 : 0;
    }
    return several > 1;
}

void choose_vector(const compiler *c, kernel *k, loop_choice choice) {
    int scanned = choice == LOOPS_OTHER_VECTOR ? -1 : scanned_along(k);
    if (scanned >= 0) {
        k->vector = scanned;
        k->lanes = LANES_REDUCED;
        return;
    }
    k->vector = moves_singly(k) ? -1 : best_variable(k, -1);
    k->lanes = 1;
    if (k->vector >= 0 && choice == LOOPS_OTHER_VECTOR) {
        int other = best_variable(k, k->vector);
        k->vector = other >= 0 ? other : k->vector;
    }
    if (k->vector < 0) {
        return;
    }
    const loop_variable *v = &k->variables[k->vector];
    /* Several passes want what the first has read in the L2 cache. */
    deviation_form form;
    bool has_near_means = find_column_deviations(c, k, &form), once = k->n_phases == 1 || has_near_means || (is_single_pass(k) && k->bytes >= LARGE_PASS);
    int64_t rows = once ? pass_lanes(k, has_near_means) : LANES_ROWS;
    bool of_bytes = v->is_reduced && v->size >= 4 * LANES_BYTES && reduces_bytes(k);
    int64_t plain = k->has_classes && !scatters(k) ? rows : looks_up_several(k) ? LANES_ROWS : LANES_PLAIN;
    int64_t lanes = of_bytes ? LANES_BYTES : v->is_reduced ? LANES_REDUCED : plain;
    lanes = scans(k) && !is_dense(k, k->vector) ? LANES_APART : lanes;
    lanes = choice == LOOPS_WIDE ? 4 * lanes : choice == LOOPS_NARROW ? lanes / 4 : lanes;
    k->lanes = v->size >= lanes ? lanes : v->size > 0 ? v->size : 1;
    if (has_near_means && k->lanes >= LANES_REDUCED) { /* they are taken by whole blocks, the last of which is not full */
        k->lanes = (k->lanes + LANES_REDUCED - 1) / LANES_REDUCED * LANES_REDUCED;
    }
    if (v->is_reduced && v->size < LANES_REDUCED && v->size >= LINE_LANES && (v->size % LINE_LANES != 0 || has_functions(k))) {
        k->lanes = LINE_LANES; /* odd numbers of lanes are halved with much ado */
    }
    /* What phases after the first read again, and what is kept between them, has to stay near. */
    int64_t visited = 1;
    for (int i = 0; i < k->n_variables; i++) {
        visited *= k->variables[i].is_reduced ? k->variables[i].size : 1;
    }
    const bool streams = streams_rows(c, k);
    double most = streams ? (double)ROWS_KEPT_BYTES / rows_kept(c, k) : SAVED_BYTES, row = (double)visited * sizeof(float);
    bool shrinks = !v->is_reduced && !once && choice == LOOPS_PLAIN;
    while (shrinks && k->lanes >= 2 * LANES_REDUCED && row * (double)k->lanes > most) {
        k->lanes /= 2;
    }
    /* Half as many are for what would not fit otherwise: softmax over the first of [4096, 8192] takes 6.6 ms by 64 lanes and 9.1 by 32
       (two cores of a Zen 4, 2026-11). */
    if (shrinks && streams && k->lanes == LANES_REDUCED && row * (double)k->lanes * numbers_read(c, k) > ROWS_KEPT_BYTES) {
        k->lanes /= 2;
    }
    /* Rows in lanes are the tasks: too few of them, or a number that threads cannot share evenly, would leave threads idle. A
       line of memory is the least worth a lane. */
    int64_t others = 1, least = 16, threads = c->options->n_threads;
    for (int i = 0; i < k->n_variables; i++) {
        others *= i != k->vector && !k->variables[i].is_reduced ? k->variables[i].size : 1;
    }
    while (!v->is_reduced && k->has_classes && k->lanes >= 2 * least && k->bytes > SHARED_BYTES && threads > 1) {
        int64_t tasks = others * ((v->size + k->lanes - 1) / k->lanes);
        if (tasks >= 4 * threads || (tasks >= threads && tasks % threads == 0)) {
            break;
        }
        k->lanes /= 2;
    }
}
