/* SPDX-License-Identifier: Apache-2.0 */
/* Sorts records: runs in memory by insertion and merging, runs on disk by a heap. */
#include "lab/trace/order.h"

#include "base/file.h"
#include "lab/trace/classify.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_RUNS = 64, INSERTION = 24, MIN_RECORDS = MAX_RUNS };

/* A sorted stretch of a file, read through a slice of the buffer. */
typedef struct run {
    uint64_t file_at, file_end; /* bytes not yet read */
    trace_record *at, *end;     /* records not yet lent */
    trace_record *slice;
} run;

struct trace_order {
    trace_record *records, *scratch;
    size_t capacity, n;
    size_t next; /* of the records in memory, when nothing was spilled */
    bool sorted; /* so far */
    int fd;      /* -1 while nothing was spilled */
    uint64_t file_bytes, spilled_bytes;
    run runs[MAX_RUNS];
    size_t n_runs;
    size_t heap[MAX_RUNS]; /* of runs; while merging */
    size_t n_heap;
    size_t slice_records;
};

static inline bool before(const trace_record *a, const trace_record *b) {
    if (a->start_us != b->start_us) {
        return a->start_us < b->start_us;
    }
    return a->kind == TRACE_KIND_FLOW_END && b->kind != TRACE_KIND_FLOW_END;
}

status trace_order_new(size_t n_records, trace_order **out, error *err) {
    trace_order *o = calloc(1, sizeof *o);
    size_t capacity = n_records < MIN_RECORDS ? MIN_RECORDS : n_records;
    trace_record *records = capacity <= SIZE_MAX / 64 ? malloc(2 * capacity * sizeof *records) : NULL;
    if (o == NULL || records == NULL) {
        free(o);
        free(records);
        return fail(err, ASSAY_OUT_OF_MEMORY, "no memory to sort %zu events at a time", capacity);
    }
    o->records = records;
    o->scratch = records + capacity;
    o->capacity = capacity;
    o->sorted = true;
    o->fd = -1;
    *out = o;
    return ASSAY_OK;
}

void trace_order_reset(trace_order *o) {
    if (o->fd >= 0) {
        close(o->fd);
    }
    o->fd = -1;
    o->file_bytes = 0;
    o->n = o->next = o->n_runs = o->n_heap = 0;
    o->sorted = true;
}

void trace_order_free(trace_order *o) {
    if (o != NULL) {
        trace_order_reset(o);
        free(o->records < o->scratch ? o->records : o->scratch);
        free(o);
    }
}

uint64_t trace_order_spilled_bytes(const trace_order *o) {
    return o->spilled_bytes;
}

static void insertion_sort(trace_record *r, size_t n) {
    for (size_t i = 1; i < n; i++) {
        if (!before(&r[i], &r[i - 1])) {
            continue;
        }
        trace_record moved = r[i];
        size_t j = i;
        do {
            r[j] = r[j - 1];
            j--;
        } while (j > 0 && before(&moved, &r[j - 1]));
        r[j] = moved;
    }
}

/* a[0..middle) and a[middle..n), each in order, become one in `into`. A trace is nearly in order, so the stretch at
   each side that needs no merging is copied whole. */
static void merge_halves(const trace_record *a, size_t middle, size_t n, trace_record *into) {
    if (middle >= n || !before(&a[middle], &a[middle - 1])) {
        memcpy(into, a, n * sizeof *a);
        return;
    }
    size_t left = 0, right = middle, out = 0;
    while (left < middle && right < n) {
        into[out++] = before(&a[right], &a[left]) ? a[right++] : a[left++];
    }
    memcpy(into + out, a + left, (middle - left) * sizeof *a);
    memcpy(into + out + (middle - left), a + right, (n - right) * sizeof *a);
}

/* Stable. The two buffers may change places. */
static void sort_buffer(trace_order *o) {
    if (o->sorted) {
        return;
    }
    for (size_t at = 0; at < o->n; at += INSERTION) {
        insertion_sort(o->records + at, o->n - at < INSERTION ? o->n - at : INSERTION);
    }
    for (size_t width = INSERTION; width < o->n; width *= 2) {
        for (size_t at = 0; at < o->n; at += 2 * width) {
            size_t n = o->n - at < 2 * width ? o->n - at : 2 * width;
            merge_halves(o->records + at, width < n ? width : n, n, o->scratch + at);
        }
        trace_record *sorted = o->scratch;
        o->scratch = o->records;
        o->records = sorted;
    }
    o->sorted = true;
}

/* Reads the next slice of a run; at == end afterwards means that it is used up. */
static status fill(trace_order *o, run *r, error *err) {
    uint64_t left = r->file_end - r->file_at;
    size_t wanted = o->slice_records * sizeof(trace_record);
    wanted = left < wanted ? (size_t)left : wanted;
    size_t have = 0;
    while (have < wanted) {
        ssize_t n = pread(o->fd, (char *)r->slice + have, wanted - have, (off_t)(r->file_at + have));
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n <= 0) {
            return fail(err, ASSAY_IO, "the temporary file to sort in cannot be read: %s",
                        n < 0 ? strerror(errno) : "it was cut");
        }
        have += (size_t)n;
    }
    r->file_at += have;
    r->at = r->slice;
    r->end = r->slice + have / sizeof(trace_record);
    return ASSAY_OK;
}

/* Earlier runs hold what was added earlier, so they go first among equals. */
static inline bool run_before(const trace_order *o, size_t a, size_t b) {
    const trace_record *x = o->runs[a].at, *y = o->runs[b].at;
    return before(x, y) || (!before(y, x) && a < b);
}

static void sift_down(trace_order *o, size_t at) {
    for (;;) {
        size_t child = 2 * at + 1;
        if (child >= o->n_heap) {
            return;
        }
        child += child + 1 < o->n_heap && run_before(o, o->heap[child + 1], o->heap[child]);
        if (!run_before(o, o->heap[child], o->heap[at])) {
            return;
        }
        size_t swapped = o->heap[at];
        o->heap[at] = o->heap[child];
        o->heap[child] = swapped;
        at = child;
    }
}

/* `memory` holds n_records, shared out among the runs. */
static status begin_merge(trace_order *o, trace_record *memory, size_t n_records, error *err) {
    o->slice_records = n_records / o->n_runs;
    o->n_heap = 0;
    for (size_t i = 0; i < o->n_runs; i++) {
        o->runs[i].slice = memory + i * o->slice_records;
        TRY(fill(o, &o->runs[i], err));
        o->heap[o->n_heap++] = i;
    }
    for (size_t i = o->n_heap; i-- > 0;) {
        sift_down(o, i);
    }
    return ASSAY_OK;
}

/* The record stays where it is until the next call: what was lent last is stepped over first. */
static status next_merged(trace_order *o, bool *started, const trace_record **out, error *err) {
    if (*started && o->n_heap > 0) {
        run *top = &o->runs[o->heap[0]];
        top->at++;
        if (top->at == top->end) {
            TRY(fill(o, top, err));
        }
        if (top->at == top->end) {
            o->heap[0] = o->heap[--o->n_heap];
        }
        sift_down(o, 0);
    }
    *started = true;
    *out = o->n_heap > 0 ? o->runs[o->heap[0]].at : NULL;
    return ASSAY_OK;
}

/* All runs become one, in a new file, so that there is always room for another. The records in memory are out already.
 */
static status join_runs(trace_order *o, error *err) {
    int fd = -1;
    TRY(file_open_temporary(&fd, err));
    status result = begin_merge(o, o->records, o->capacity, err);
    bool started = false;
    uint64_t at = 0;
    while (result == ASSAY_OK) {
        size_t n = 0;
        const trace_record *record = NULL;
        while (n < o->capacity && (result = next_merged(o, &started, &record, err)) == ASSAY_OK && record != NULL) {
            o->scratch[n++] = *record;
        }
        if (result != ASSAY_OK || n == 0) {
            break;
        }
        result = file_write_at(fd, at, o->scratch, n * sizeof *o->scratch, err);
        at += n * sizeof *o->scratch;
    }
    if (result != ASSAY_OK) {
        close(fd);
        return result;
    }
    close(o->fd);
    o->fd = fd;
    o->file_bytes = at;
    o->spilled_bytes += at;
    o->runs[0] = (run){.file_at = 0, .file_end = at};
    o->n_runs = 1;
    return ASSAY_OK;
}

static status spill(trace_order *o, error *err) {
    sort_buffer(o);
    if (o->fd < 0) {
        TRY(file_open_temporary(&o->fd, err));
    }
    size_t n_bytes = o->n * sizeof *o->records;
    TRY(file_write_at(o->fd, o->file_bytes, o->records, n_bytes, err));
    o->runs[o->n_runs++] = (run){.file_at = o->file_bytes, .file_end = o->file_bytes + n_bytes};
    o->file_bytes += n_bytes;
    o->spilled_bytes += n_bytes;
    o->n = 0;
    return o->n_runs == MAX_RUNS ? join_runs(o, err) : ASSAY_OK;
}

status trace_order_add(trace_order *o, const trace_record *record, error *err) {
    if (o->n == o->capacity) {
        TRY(spill(o, err));
    }
    o->sorted = (o->sorted || o->n == 0) && (o->n == 0 || !before(record, &o->records[o->n - 1]));
    o->records[o->n++] = *record;
    return ASSAY_OK;
}

status trace_order_finish(trace_order *o, error *err) {
    if (o->n_runs == 0) {
        sort_buffer(o);
        o->next = 0;
        return ASSAY_OK;
    }
    if (o->n > 0) {
        TRY(spill(o, err));
    }
    o->next = 0;
    trace_record *memory = o->records < o->scratch ? o->records : o->scratch;
    return begin_merge(o, memory, 2 * o->capacity, err);
}

status trace_order_next(trace_order *o, const trace_record **out, error *err) {
    if (o->n_runs == 0) {
        *out = o->next < o->n ? &o->records[o->next++] : NULL;
        return ASSAY_OK;
    }
    bool started = o->next > 0;
    o->next = 1;
    return next_merged(o, &started, out, err);
}
