/* SPDX-License-Identifier: Apache-2.0 */
/* Running sums down narrow rows, a part of the rows for each task. Threads that take columns of such rows write the same pages, and what
   each reads ahead takes lines from the other, or does not, for as long as a process runs: [512, 256] of f32 took 7 or 20 us on two cores
   of a Granite Rapids. With a part of the rows each, of which all but the first also read what lies before, it is 8 always (2026-11). */
#include "engine/compile/passes.h"

/* So narrow rows, in bytes, or those that begin within lines of memory, which threads that take columns share; and so many of them for
   each thread. More than a core's own cache keeps is read from memory twice. */
enum { WIDEST_ROW = 2048, WIDEST_UNEVEN_ROW = 4096, LINE = 64, LEAST_ROWS = 16 };
static const double LEAST_BYTES = 128 * 1024, MOST_BYTES_EACH = 1 << 20;
/* What costs more than a few additions for each element had better not be computed twice. */
static const double MOST_FLOPS = 4;

static bool is_worth_parts(const compiler *c, const kernel *k) {
    const root *r = &k->roots[0];
    const int threads = c->options->n_threads;
    int64_t stride;
    if (k->n_roots != 1 || r->kind != ROOT_SCAN || r->buffer < 0 || r->streams || k->n_phases != 1 || k->checks || k->in_parts ||
        k->has_frame || k->beside != 0 || k->turns_lines || k->column_parts > 0 || k->vector < 0 || k->n_loops != 1 || k->n_tasks == 0) {
        return false;
    }
    const loop_variable *lanes = &k->variables[k->vector], *rows = &k->variables[k->loops[0]];
    int64_t others = k->n_task_items / ((lanes->size + k->lanes - 1) / k->lanes), row = lanes->size * (int64_t)dtype_size(r->store_dtype);
    double bytes = (double)row * (double)rows->size;
    bool narrow = row <= (row % LINE == 0 ? WIDEST_ROW : WIDEST_UNEVEN_ROW);
    return !lanes->is_reduced && rows->is_reduced && rows->tile == 0 && others == 1 && index_stride(r->at, k->vector, &stride) && stride == 1 &&
           narrow && r->store_dtype == r->dtype && rows->size >= (int64_t)LEAST_ROWS * threads && k->bytes > LEAST_BYTES && bytes <= MOST_BYTES_EACH * threads &&
           k->flops <= MOST_FLOPS * (double)(rows->size * lanes->size) && !reads_memory_of(c, k, r->buffer);
}

/* The rows of parts 0 .. n - 1 begin at starts[0 .. n]. A part that begins later has more to read before, so it is shorter: to add up a row
   takes two ninths of the time that it takes to store its sums as well. */
static void share_rows(int64_t rows, int n, int64_t *starts) {
    static const double SHORTER = 7.0 / 9.0;
    double all = 0, length = 1, before = 0;
    for (int p = 0; p < n; p++) {
        all += length;
        length *= SHORTER;
    }
    length = 1;
    for (int p = 0; p < n; p++) {
        starts[p] = (int64_t)((double)rows * before / all);
        before += length;
        length *= SHORTER;
    }
    starts[n] = rows;
}

void share_scans(compiler *c) {
    const int threads = c->options->n_threads;
    if (!c->options->scans_in_parts || threads < 2 || threads > SCAN_MOST_PARTS) {
        return;
    }
    for (int s = 0; s < c->n_steps; s++) {
        kernel *k = c->steps[s].n_variants > 0 ? c->steps[s].variants[0] : NULL; /* the tuner has the others by columns */
        if (k != NULL && is_worth_parts(c, k)) {
            k->lanes = k->variables[k->vector].size;
            k->scan_parts = k->n_task_items = threads;
            share_rows(k->variables[k->loops[0]].size, threads, k->part_starts);
        }
    }
}
