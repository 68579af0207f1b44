/* SPDX-License-Identifier: Apache-2.0 */
/* Sees a convolution by windows of 3 x 3 in a product, and cuts its images into tiles. */
#include "engine/compile/passes.h"

#include <stdlib.h>

/* Results of a tile, each way, and the elements beside them that windows see. */
enum { TILE_EDGE = 4, WINDOW_EDGE = 3 };

/* Channels are taken so many at a time. Tiles of one task: so many that what is made of weights is read seldom, and so few that
   what is made of images stays in a core's own cache. 50 instead of 32 take 0.97 of the time for 64 channels of 28 x 28 or 56 x 56, and as
   long for 32 of 112 x 112 (two cores of a Zen 4, 2026-11). */
enum { CHANNELS_TOGETHER = 16, TILES_OF_TASK = 50 };

/* Marks what expression e is computed from, itself as well; NULL when memory is out. The caller frees it. */
static bool *all_behind(const kernel *k, int e) {
    bool *behind = calloc((size_t)e + 1, sizeof *behind);
    if (behind == NULL) {
        return NULL;
    }
    behind[e] = true;
    for (int i = e; i >= 0; i--) { /* what is read comes before */
        int reads[EXPR_MAX_READS], n = behind[i] ? expr_reads(k, &k->exprs[i], reads) : 0;
        for (int r = 0; r < n; r++) {
            behind[reads[r]] = true;
        }
    }
    return behind;
}

/* Whether an index moves with variable a as it does with b. */
static bool moves_alike(index_sum at, int a, int b) {
    int64_t of_a, of_b;
    return index_stride(at, a, &of_a) && index_stride(at, b, &of_b) && of_a == of_b;
}

/* Whether all that an expression reads does: then they count as their sum. */
static bool all_moves_alike(const kernel *k, int e, int a, int b) {
    bool *behind = all_behind(k, e), alike = behind != NULL;
    for (int i = e; i >= 0 && alike; i--) {
        const expr *x = &k->exprs[i];
        alike = !behind[i] || moves_alike(x->at, a, b);
        for (int d = 0; d < x->n_bounds && alike; d++) {
            alike = !behind[i] || moves_alike(x->bounds[d].at, a, b);
        }
    }
    free(behind);
    return alike;
}

/* The variable of a window's three that moves as this one does; -1: none. */
static int tap_of(const kernel *k, int image, int v) {
    for (int t = 0; t < k->n_variables; t++) {
        if (k->variables[t].is_reduced && k->variables[t].size == WINDOW_EDGE && all_moves_alike(k, image, v, t)) {
            return t;
        }
    }
    return -1;
}

/* What of a set is not among these; -1: none; -2: several. */
static int only_other(const kernel *k, uint64_t set, uint64_t than) {
    int found = -1;
    for (int v = 0; v < k->n_variables; v++) {
        if (((set & ~than) >> v & 1) != 0) {
            found = found == -1 ? v : -2;
        }
    }
    return found;
}

/* Rows of results, by what lies densely among them: the other variable that has a tap. */
static bool find_images(const kernel *k, int image, uint64_t of_image, int dense, windows_form *w) {
    w->across = dense >= 0 && (of_image >> dense & 1) != 0 ? dense : -1;
    w->tap_across = w->across >= 0 ? tap_of(k, image, w->across) : -1;
    w->down = w->tap_down = -1;
    for (int v = 0; v < k->n_variables && w->tap_across >= 0 && w->tap_down < 0; v++) {
        int tap = (of_image >> v & 1) != 0 && v != w->across ? tap_of(k, image, v) : -1;
        if (tap >= 0 && tap != w->tap_across) {
            w->down = v;
            w->tap_down = tap;
        }
    }
    return w->tap_down >= 0;
}

/* Elements of images are counted by the variables of results, which go as far as the last windows see; taps are none of theirs. */
static bool count_elements(compiler *c, kernel *k, int image, const windows_form *w) {
    index_pool *p = &c->g.indices;
    index_sum by[KERNEL_MAX_VARIABLES];
    for (int v = 0; v < k->n_variables; v++) {
        bool is_tap = v == w->tap_down || v == w->tap_across;
        int64_t beside = v == w->down || v == w->across ? WINDOW_EDGE - 1 : 0;
        by[v] = is_tap ? index_constant(0) : index_variable(p, v, k->variables[v].size + beside);
    }
    bool *behind = all_behind(k, image);
    for (int i = 0; behind != NULL && i <= image; i++) {
        expr *x = &k->exprs[i];
        view_bound *bounds = behind[i] ? arena_make(c->memory, (size_t)x->n_bounds, sizeof *bounds) : NULL;
        if (bounds == NULL) {
            c->failed |= behind[i];
            continue;
        }
        x->at = index_replace(p, x->at, k->n_variables, by);
        for (int d = 0; d < x->n_bounds; d++) {
            bounds[d] = x->bounds[d];
            bounds[d].at = index_replace(p, x->bounds[d].at, k->n_variables, by);
        }
        x->bounds = bounds;
        x->variables &= ~((uint64_t)1 << w->tap_down | (uint64_t)1 << w->tap_across);
    }
    c->failed |= behind == NULL || p->failed;
    free(behind);
    return !c->failed;
}

/* Tasks of about equal size, as many as threads share out evenly. */
static int64_t tiles_of_task(int64_t n_tiles, int n_threads) {
    int64_t threads = n_threads > 1 ? n_threads : 1, tasks = (n_tiles + TILES_OF_TASK - 1) / TILES_OF_TASK;
    tasks = (tasks + threads - 1) / threads * threads;
    return (n_tiles + tasks - 1) / tasks;
}

bool arrange_windows(compiler *c, kernel *k, int sum, int dense) {
    const expr *e = &k->exprs[k->roots[sum].expr];
    uint64_t reduced = 0, all = 0;
    for (int v = 0; v < k->n_variables; v++) {
        reduced |= k->variables[v].is_reduced ? (uint64_t)1 << v : 0;
        all |= k->variables[v].size > 1 ? (uint64_t)1 << v : 0;
    }
    for (int side = 0; side < 2; side++) {
        int image = e->sources[side], weights = e->sources[1 - side];
        uint64_t of_image = k->exprs[image].variables & ~reduced, of_weights = k->exprs[weights].variables & ~reduced;
        int column = only_other(k, of_weights, 0);
        windows_form w = {0};
        if (column < 0 || (of_image >> column & 1) != 0 || k->exprs[image].variables != (all & ~((uint64_t)1 << column)) ||
            k->exprs[weights].variables != (reduced | (uint64_t)1 << column) || !find_images(k, image, of_image, dense, &w)) {
            continue;
        }
        int inner = only_other(k, reduced, (uint64_t)1 << w.tap_down | (uint64_t)1 << w.tap_across);
        if (inner < 0 || k->variables[inner].size % CHANNELS_TOGETHER != 0 || k->checks ||
            !count_elements(c, k, image, &w)) {
            continue;
        }
        k->n_tasks = 0; /* no part of a chain: what is made of the weights serves all of a thread's tasks */
        w.n_tiles = 1;
        for (int v = 0; v < k->n_variables; v++) {
            bool is_batch = (of_image >> v & 1) != 0 && v != w.down && v != w.across;
            w.n_tiles *= is_batch ? k->variables[v].size : 1;
        }
        w.tiles_down = (k->variables[w.down].size + TILE_EDGE - 1) / TILE_EDGE;
        w.tiles_across = (k->variables[w.across].size + TILE_EDGE - 1) / TILE_EDGE;
        w.n_tiles *= w.tiles_down * w.tiles_across;
        w.tiles = tiles_of_task(w.n_tiles, c->options->n_threads);
        k->is_product = true;
        k->vector = w.across;
        k->lanes = PRODUCT_COLUMNS;
        k->n_task_items = (w.n_tiles + w.tiles - 1) / w.tiles * ((k->variables[column].size + PRODUCT_COLUMNS - 1) / PRODUCT_COLUMNS);
        k->product = (product_form){.root = sum, .left = image, .right = weights, .row = -1, .column = column, .inner = inner,
                                    .left_stride = -1, .left_step = 1, .right_stride = -1, .right_rows = -1,
                                    .columns = PRODUCT_COLUMNS, .stretch = PRODUCT_STRETCH, .has_windows = true, .windows = w};
        return true;
    }
    return false;
}
