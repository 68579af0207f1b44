/* SPDX-License-Identifier: Apache-2.0 */
/* Tiles of what runs across the lanes in memory. */
#include "engine/compile/variables.h"

#include "device/caches.h"

enum { TILE = 32 };

/* Whether a line of each of so many rows stays in a core's cache, whichever sets their distance puts them in. */
static bool lines_stay(int64_t row_bytes, int64_t rows) {
    int64_t step = row_bytes < 0 ? -row_bytes : row_bytes, left = SET_BYTES;
    while (left != 0) { /* the greatest common divisor: what the rows' places are multiples of */
        int64_t rest = step % left;
        step = left;
        left = rest;
    }
    int64_t sets = SET_BYTES / (step > STREAM_LINE_BYTES ? step : STREAM_LINE_BYTES);
    return sets * SET_LINES >= rows;
}

/* Whether all that a kernel does is to store past the caches, each row of lanes from a line of memory on. */
static bool streams_lines(const compiler *c, const kernel *k) {
    int64_t stride;
    for (int i = 0; i < k->n_roots; i++) {
        const root *r = &k->roots[i];
        int64_t size = (int64_t)dtype_size(r->store_dtype);
        if (r->kind != ROOT_STORE || size > 8 || !index_stride(r->at, k->vector, &stride) || stride != 1 ||
            r->at.constant * size % STREAM_LINE_BYTES != 0 ||
            (!c->options->streams_all && turns_of_all(k) * (double)size < STREAM_MIN_BYTES)) {
            return false;
        }
        for (int t = 0; t < r->at.n; t++) {
            const index_atom *atom = r->at.terms[t].atom;
            bool is_vector = atom->kind == ATOM_VARIABLE && atom->id == k->vector;
            if (!is_vector && r->at.terms[t].factor * size % STREAM_LINE_BYTES != 0) {
                return false;
            }
        }
    }
    return k->n_roots > 0;
}

/* Whether as much as is stored lies along the lanes where it is read: few of them would be read piece by piece. */
static bool reads_along(const kernel *k) {
    uint64_t all = ((uint64_t)1 << k->n_variables) - 1;
    for (int i = 0; i < k->n_exprs; i++) {
        int64_t stride;
        const expr *e = &k->exprs[i];
        if (e->kind == EXPR_LOAD && e->variables == all && index_stride(e->at, k->vector, &stride) && stride == 1) {
            return true;
        }
    }
    return false;
}

/* Lanes for rows of which load e is read a line at a time: two lines of the largest result, and a whole one of the smallest. 0: it
   would not pay. */
static int64_t lanes_of_lines(const kernel *k, const expr *e, int64_t n_across, int64_t row) {
    int64_t size = (int64_t)dtype_size(e->dtype), largest = 1, smallest = 8;
    for (int i = 0; i < k->n_roots; i++) {
        int64_t bytes = (int64_t)dtype_size(k->roots[i].store_dtype);
        largest = bytes > largest ? bytes : largest;
        smallest = bytes < smallest ? bytes : smallest;
    }
    int64_t least = STREAM_LINE_BYTES / smallest, lanes = 2 * STREAM_LINE_BYTES / largest;
    lanes = lanes > 64 ? 64 : lanes;
    while (lanes / 2 >= 16 && lanes / 2 >= least && !lines_stay(row * size, lanes)) {
        lanes /= 2;
    }
    lanes = lanes < least ? least : lanes;
    bool pays = e->guard < 0 && size <= 8 && n_across * size >= 16 * STREAM_LINE_BYTES;
    return pays && k->variables[k->vector].size >= lanes ? lanes : 0;
}

/* Lanes where rows lie whole pages apart, so that a line of each is in one place of the nearest cache and few stay there: 64 rows, one line of
   each at a time, the next ones of which wait in L2. 0: not so many. On Intel's processors: clones of [8192, 4096] floats that lie across take
   7.1 ms so, and 8.3 by two lines of 32 rows each (two cores of an Emerald Rapids, 2026-11). */
static int64_t lanes_by_single_lines(const compiler *c, const kernel *k, const expr *e, int64_t row) {
    enum { PAGE = 4096, LANES = 64 };
    const int64_t size = (int64_t)dtype_size(e->dtype);
    bool may = !c->options->asks_far && row * size % PAGE == 0 && (size == 2 || size == 4) &&
               k->variables[k->vector].size % LANES == 0;
    for (int i = 0; i < k->n_roots; i++) {
        may &= (int64_t)dtype_size(k->roots[i].store_dtype) == size;
    }
    return may ? LANES : 0;
}

/* Of all places, roughly, those where the condition (-1: none) holds. */
static double share_within(const kernel *k, int condition) {
    double share = 1;
    const expr *e = condition >= 0 ? &k->exprs[condition] : NULL;
    if (e != NULL && e->kind == EXPR_MAP && e->fn == FN_AND) {
        return share_within(k, e->sources[0]) * share_within(k, e->sources[1]);
    }
    for (int i = 0; e != NULL && i < e->n_bounds; i++) {
        const view_bound *b = &e->bounds[i];
        int64_t low, high;
        index_range(b->at, &low, &high);
        double all = (double)high - (double)low + 1;
        low = low > b->low ? low : b->low;
        high = high < b->high ? high : b->high;
        share *= high < low ? 0 : ((double)high - (double)low + 1) / all;
    }
    return share;
}

/* What is read at fewer of all places is not worth tiles. */
static const double LEAST_SHARE_TILED = 0.25;

/* Where something runs along another variable in memory than the vector's (a transpose), that one is cut into blocks: the
   lines of memory that a block touches stay near until all of them is used. Its inner part becomes a loop of the task. Large
   results are made of fewer lanes, which are read two lines at a time to their rows' ends. */
void tile_loops(compiler *c, kernel *k, loop_choice choice) {
    int across = -1;
    const expr *turned = NULL;
    int64_t row = 0;
    for (int i = 0; i < k->n_exprs && !k->has_classes && k->vector >= 0 && k->column_parts == 0; i++) {
        const expr *e = &k->exprs[i];
        int64_t along, stride;
        if (e->kind != EXPR_LOAD || !index_stride(e->at, k->vector, &along) || along <= 1 ||
            share_within(k, e->guard) < LEAST_SHARE_TILED) {
            continue;
        }
        for (int v = 0; v < k->n_variables; v++) {
            if (v != k->vector && index_stride(e->at, v, &stride) && stride == 1 && k->variables[v].size > 2) {
                across = v;
                turned = e;
                row = along;
            }
        }
    }
    if (across < 0 || k->n_variables == KERNEL_MAX_VARIABLES) {
        return;
    }
    index_pool *p = &c->g.indices;
    int n = k->n_variables;
    int64_t size = k->variables[across].size, tile = size < TILE ? size : TILE;
    bool streams = choice == LOOPS_PLAIN && streams_lines(c, k), along = reads_along(k);
    int64_t few = streams && !along ? lanes_of_lines(k, turned, size, row) : 0, most = streams && along ? 8 * TILE : 4 * TILE;
    k->lanes = k->lanes > most ? most : k->lanes;
    if (few > 0) {
        k->turns_lines = true;
        const int64_t single = lanes_by_single_lines(c, k, turned, row);
        k->lanes = single > 0 ? single : few;
        tile = (single > 0 ? 1 : 2) * STREAM_LINE_BYTES / (int64_t)dtype_size(turned->dtype);
    }
    index_sum by[KERNEL_MAX_VARIABLES];
    uint64_t to[KERNEL_MAX_VARIABLES];
    for (int v = 0; v < n; v++) {
        by[v] = index_variable(p, v, k->variables[v].size);
        to[v] = (uint64_t)1 << v;
    }
    /* The last block may be short: the loop stops at the limit, and bounds told by sizes stay true. */
    k->variables[n] = (loop_variable){.size = tile, .tile = tile, .block = across, .limit = size};
    k->variables[across].size = (size + tile - 1) / tile;
    by[across] = index_add(p, index_scale(p, index_variable(p, across, k->variables[across].size), tile),
                           index_variable(p, n, tile));
    to[across] |= (uint64_t)1 << n;
    k->n_variables++;
    k->loops[k->n_loops++] = n;
    replace_variables(c, k, n, by);
    rename_variable_sets(k, n, to);
}
