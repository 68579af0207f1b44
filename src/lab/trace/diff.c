/* SPDX-License-Identifier: Apache-2.0 */
/* Joins two lists of figures by name. */
#include "lab/trace/diff.h"

#include "lab/trace/figures_json.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int by_name(const void *a, const void *b) {
    const trace_change *x = a, *y = b;
    if (x->name == NULL || y->name == NULL) {
        return (x->name != NULL) - (y->name != NULL);
    }
    return strcmp(x->name, y->name);
}

static int by_change(const void *a, const void *b) {
    const trace_change *x = a, *y = b;
    return x->change_s != y->change_s ? (x->change_s < y->change_s ? 1 : -1) : by_name(a, b);
}

/* Both sides' rows lie behind one another in `rows`; those of one name become one. Returns how many are left. */
static size_t join(trace_change *rows, size_t n) {
    qsort(rows, n, sizeof *rows, by_name);
    size_t kept = 0;
    for (size_t i = 0; i < n; i++) {
        if (kept > 0 && by_name(&rows[kept - 1], &rows[i]) == 0) {
            trace_change *same = &rows[kept - 1];
            same->count_a += rows[i].count_a;
            same->count_b += rows[i].count_b;
            same->time_a_s += rows[i].time_a_s;
            same->time_b_s += rows[i].time_b_s;
        } else {
            rows[kept++] = rows[i];
        }
    }
    for (size_t i = 0; i < kept; i++) {
        rows[i].change_s = rows[i].time_b_s - rows[i].time_a_s;
    }
    qsort(rows, kept, sizeof *rows, by_change);
    return kept;
}

status trace_diff_make(const trace_figures *a, const trace_figures *b, arena *memory, trace_diff *out, error *err) {
    trace_diff d = {.a = a, .b = b};
    d.kernels = arena_make(memory, a->n_kernels_named + b->n_kernels_named, sizeof *d.kernels);
    d.operators = arena_make(memory, a->n_operators + b->n_operators, sizeof *d.operators);
    if (d.kernels == NULL || d.operators == NULL) {
        return fail(err, ASSAY_OUT_OF_MEMORY, "no memory to compare two traces");
    }
    for (size_t i = 0; i < a->n_kernels_named; i++) {
        const trace_kernel *k = &a->kernels[i];
        d.kernels[d.n_kernels++] =
            (trace_change){.name = k->name, .work = k->work, .count_a = k->count, .time_a_s = k->total_s};
    }
    for (size_t i = 0; i < b->n_kernels_named; i++) {
        const trace_kernel *k = &b->kernels[i];
        d.kernels[d.n_kernels++] =
            (trace_change){.name = k->name, .work = k->work, .count_b = k->count, .time_b_s = k->total_s};
    }
    d.n_kernels = join(d.kernels, d.n_kernels);
    bool both = a->by_operator && b->by_operator;
    for (size_t i = 0; both && i < a->n_operators; i++) {
        const trace_operator *o = &a->operators[i];
        d.operators[d.n_operators++] =
            (trace_change){.name = o->name, .work = o->work, .count_a = o->n_kernels, .time_a_s = o->kernel_s};
    }
    for (size_t i = 0; both && i < b->n_operators; i++) {
        const trace_operator *o = &b->operators[i];
        d.operators[d.n_operators++] =
            (trace_change){.name = o->name, .work = o->work, .count_b = o->n_kernels, .time_b_s = o->kernel_s};
    }
    d.n_operators = join(d.operators, d.n_operators);
    *out = d;
    return ASSAY_OK;
}

size_t trace_diff_largest(const trace_change *changes, size_t n_changes, size_t n, const trace_change **largest) {
    /* The changes are in order, so the largest are some at the begin and some at the end. */
    size_t first = 0, last = n_changes;
    while (first + (n_changes - last) < n && first < last) {
        bool slower = fabs(changes[first].change_s) >= fabs(changes[last - 1].change_s);
        first += slower;
        last -= !slower;
    }
    size_t kept = 0;
    for (size_t i = 0; i < first; i++) {
        largest[kept++] = &changes[i];
    }
    for (size_t i = last; i < n_changes; i++) {
        largest[kept++] = &changes[i];
    }
    return kept;
}

static void put_side(json_writer *w, const char *key, const char *path, const trace_figures *f) {
    json_key(w, key);
    json_begin_object(w);
    json_put_string(w, "trace", path);
    json_put_double(w, "wall_time_s", f->wall_time_s);
    json_put_double(w, "kernel_s", f->kernel_s);
    json_key(w, "n_kernels");
    json_uint(w, f->n_kernels);
    json_put_double(w, "utilization", f->strict.utilization);
    json_put_double(w, "mm_conv", f->strict.by_name.mm_conv);
    trace_warnings_json(w, &f->warnings);
    json_end_object(w);
}

static void put_changes(json_writer *w, const char *key, const trace_change *changes, size_t n, size_t n_top) {
    json_key(w, key);
    json_begin_array(w);
    size_t room = n_top > 0 && n_top < n ? n_top : n;
    const trace_change **largest = calloc(room + 1, sizeof *largest);
    size_t kept = largest != NULL ? trace_diff_largest(changes, n, room, largest) : 0;
    w->out->failed = w->out->failed || largest == NULL;
    for (size_t i = 0; i < kept; i++) {
        const trace_change *c = largest[i];
        json_begin_object(w);
        json_put_string(w, "name", c->name);
        json_put_string(w, "work", trace_work_text(c->work));
        json_key(w, "count_a");
        json_uint(w, c->count_a);
        json_key(w, "count_b");
        json_uint(w, c->count_b);
        json_put_double(w, "time_a_s", c->time_a_s);
        json_put_double(w, "time_b_s", c->time_b_s);
        json_put_double(w, "change_s", c->change_s);
        json_end_object(w);
    }
    free(largest);
    json_end_array(w);
}

void trace_diff_json(json_writer *w, const char *path_a, const char *path_b, const trace_diff *d, size_t n_top) {
    json_begin_object(w);
    put_side(w, "a", path_a, d->a);
    put_side(w, "b", path_b, d->b);
    put_changes(w, "kernels", d->kernels, d->n_kernels, n_top);
    put_changes(w, "operators", d->operators, d->n_operators, n_top);
    json_end_object(w);
}
