/* SPDX-License-Identifier: Apache-2.0 */
/* Recorders, the temporary file that they share, and the JSON at the end. */
#include "lab/trace/writer.h"

#include "base/file.h"
#include "lab/trace/packed.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

enum { OUT_BYTES = 256 * 1024, GZIP_LEVEL = 3 };

struct trace_recorder {
    trace_writer *writer;
    trace_recorder *next;
    packed_chunk chunk; /* fills in some thousand events, so that writing it costs each a few nanoseconds */
};

struct trace_writer {
    text path, beside; /* written beside the path, then renamed */
    gzFile file;
    pthread_mutex_t lock; /* over everything below, while recording */
    trace_recorder *recorders;
    int spill;              /* the temporary file; -1 until a buffer was full */
    uint64_t spilled_bytes; /* whole chunks, each behind its size, always */
    status failed;          /* the first failure of a recording */
    error failure;
};

static void free_writer(trace_writer *w) {
    while (w->recorders != NULL) {
        trace_recorder *next = w->recorders->next;
        free(w->recorders);
        w->recorders = next;
    }
    if (w->spill >= 0) {
        close(w->spill);
    }
    pthread_mutex_destroy(&w->lock);
    text_clear(&w->path);
    text_clear(&w->beside);
    free(w);
}

static void add_beside(text *t, const char *path, int process) {
    text_addf(t, "%s.%d.tmp", path, process);
}

void trace_writer_discard(const char *path, int process) {
    text beside = {0};
    add_beside(&beside, path, process);
    if (!beside.failed) {
        unlink(beside.data);
    }
    text_clear(&beside);
}

/* The file is made at once, so that a folder that is not there is told now and not after an hour. zlib writes plain
   files as well ("T"). */
static status open_file(trace_writer *w, const char *path, error *err) {
    char mode[8];
    text_add(&w->path, path);
    add_beside(&w->beside, path, (int)getpid());
    if (w->path.failed || w->beside.failed) {
        return fail(err, ASSAY_OUT_OF_MEMORY, "%s: no memory to write a trace", path);
    }
    snprintf(mode, sizeof mode, text_ends_with(path, ".gz") ? "wbe%d" : "wbeT", GZIP_LEVEL);
    w->file = gzopen(w->beside.data, mode);
    if (w->file == NULL) {
        return fail(err, ASSAY_IO, "%s: cannot be created: %s", path, strerror(errno));
    }
    gzbuffer(w->file, OUT_BYTES);
    return ASSAY_OK;
}

status trace_writer_open(const char *path, trace_writer **out, error *err) {
    trace_writer *w = calloc(1, sizeof *w);
    if (w == NULL) {
        return fail(err, ASSAY_OUT_OF_MEMORY, "%s: no memory to write a trace", path);
    }
    w->spill = -1;
    pthread_mutex_init(&w->lock, NULL);
    status result = open_file(w, path, err);
    if (result != ASSAY_OK) {
        free_writer(w);
        return result;
    }
    *out = w;
    return ASSAY_OK;
}

/* Under the lock. */
static void note_failure(trace_writer *w, status code, const error *why) {
    if (w->failed == ASSAY_OK) {
        w->failed = code;
        w->failure = *why;
    }
}

trace_recorder *trace_writer_recorder(trace_writer *w) {
    if (w == NULL) {
        return NULL;
    }
    trace_recorder *r = malloc(sizeof *r);
    if (r == NULL) {
        error why = {0};
        status code = fail(&why, ASSAY_OUT_OF_MEMORY, "no memory to record a thread's events");
        pthread_mutex_lock(&w->lock);
        note_failure(w, code, &why);
        pthread_mutex_unlock(&w->lock);
        return NULL;
    }
    r->writer = w;
    packed_reset(&r->chunk);
    pthread_mutex_lock(&w->lock);
    r->next = w->recorders;
    w->recorders = r;
    pthread_mutex_unlock(&w->lock);
    return r;
}

/* Once in some thousand events, so a lock is no cost. A chunk that cannot be written leaves no trace in the file. */
static void spill(trace_recorder *r) {
    trace_writer *w = r->writer;
    error why = {0};
    pthread_mutex_lock(&w->lock);
    status result = w->spill >= 0 ? ASSAY_OK : file_open_temporary(&w->spill, &why);
    uint64_t n = r->chunk.used_bytes;
    if (result == ASSAY_OK) {
        result = file_write_at(w->spill, w->spilled_bytes, &n, sizeof n, &why);
    }
    if (result == ASSAY_OK) {
        result = file_write_at(w->spill, w->spilled_bytes + sizeof n, r->chunk.data, n, &why);
    }
    if (result == ASSAY_OK) {
        w->spilled_bytes += sizeof n + n;
    } else {
        note_failure(w, result, &why);
    }
    pthread_mutex_unlock(&w->lock);
    packed_reset(&r->chunk);
}

static void record(trace_recorder *r, const packed_event *e, const char *name, const trace_arg *args, size_t n_args) {
    if (packed_is_full(&r->chunk)) {
        spill(r);
    }
    packed_add(&r->chunk, e, name, args, n_args);
}

void trace_record_complete(trace_recorder *r, trace_place at, const char *category, const char *name, int64_t start_ns,
                           int64_t end_ns, const trace_arg *args, size_t n_args) {
    const packed_event e = {.kind = PACKED_COMPLETE,
                            .place = at,
                            .category = category,
                            .start_ns = start_ns,
                            .value = end_ns > start_ns ? (uint64_t)end_ns - (uint64_t)start_ns : 0};
    record(r, &e, name, args, n_args);
}

void trace_record_flow(trace_recorder *r, trace_place at, bool is_start, uint64_t id, int64_t time_ns) {
    const packed_event e = {.kind = is_start ? PACKED_FLOW_START : PACKED_FLOW_END,
                            .place = at,
                            .category = "ac2g",
                            .start_ns = time_ns,
                            .value = id};
    record(r, &e, "ac2g", NULL, 0);
}

void trace_record_counter(trace_recorder *r, int32_t process, const char *name, int64_t time_ns,
                          const trace_arg *values, size_t n_values) {
    const packed_event e = {
        .kind = PACKED_COUNTER, .place = {.process = process}, .category = "counter", .start_ns = time_ns};
    record(r, &e, name, values, n_values);
}

void trace_record_process(trace_recorder *r, int32_t process, const char *name, const char *labels) {
    const packed_event e = {.kind = PACKED_PROCESS,
                            .place = {.process = process},
                            .category = "__metadata",
                            .start_ns = r->chunk.last_start_ns};
    const trace_arg named = {.key = "name", .kind = TRACE_ARG_TEXT, .text = name};
    record(r, &e, "process_name", &named, 1);
    if (labels != NULL) {
        const trace_arg labelled = {.key = "labels", .kind = TRACE_ARG_TEXT, .text = labels};
        record(r, &e, "process_labels", &labelled, 1);
    }
}

void trace_record_thread(trace_recorder *r, trace_place at, const char *name) {
    const packed_event e = {
        .kind = PACKED_THREAD, .place = at, .category = "__metadata", .start_ns = r->chunk.last_start_ns};
    const trace_arg named = {.key = "name", .kind = TRACE_ARG_TEXT, .text = name};
    record(r, &e, "thread_name", &named, 1);
}

void trace_record_range(trace_recorder *r, trace_place at, const char *name, int64_t index, int64_t start_ns,
                        int64_t end_ns) {
    char full[128];
    snprintf(full, sizeof full, "%.96s_%lld", name, (long long)index);
    trace_record_complete(r, at, "user_annotation", full, start_ns, end_ns, NULL, 0);
}

/* JSON on its way into the file. */
typedef struct sink {
    gzFile file;
    text pending;
    bool any;
} sink;

static status flush(sink *s, error *err) {
    if (s->pending.failed) {
        return fail(err, ASSAY_OUT_OF_MEMORY, "no memory to print a trace");
    }
    if (s->pending.length > 0 &&
        gzwrite(s->file, s->pending.data, (unsigned)s->pending.length) != (int)s->pending.length) {
        int code = Z_OK;
        const char *reason = gzerror(s->file, &code);
        return fail(err, ASSAY_IO, "cannot be written: %s", code == Z_ERRNO ? strerror(errno) : reason);
    }
    text_reset(&s->pending);
    return ASSAY_OK;
}

static status print_chunk(sink *s, packed_printer *p, const unsigned char *data, size_t n, error *err) {
    packed_print_begin(p, data, n);
    for (;;) {
        size_t before = s->pending.length;
        text_add(&s->pending, s->any ? ",\n" : "\n");
        if (!packed_print_next(p, &s->pending)) {
            s->pending.length = before;
            return p->bodies.failed ? fail(err, ASSAY_OUT_OF_MEMORY, "no memory to print a trace") : ASSAY_OK;
        }
        s->any = true;
        if (s->pending.length >= OUT_BYTES) {
            TRY(flush(s, err));
        }
    }
}

static status read_at(int fd, uint64_t at, void *into, size_t n, error *err) {
    for (size_t have = 0; have < n;) {
        ssize_t got = pread(fd, (char *)into + have, n - have, (off_t)(at + have));
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got <= 0) {
            return fail(err, ASSAY_IO, "its temporary file cannot be read: %s",
                        got < 0 ? strerror(errno) : "it was cut");
        }
        have += (size_t)got;
    }
    return ASSAY_OK;
}

static status print_spilled(trace_writer *w, sink *s, packed_printer *p, error *err) {
    unsigned char *chunk = malloc(PACKED_CHUNK_BYTES);
    status result = chunk != NULL ? ASSAY_OK : fail(err, ASSAY_OUT_OF_MEMORY, "no memory to print a trace");
    for (uint64_t at = 0; result == ASSAY_OK && at < w->spilled_bytes;) {
        uint64_t n = 0;
        result = read_at(w->spill, at, &n, sizeof n, err);
        if (result == ASSAY_OK && n > PACKED_CHUNK_BYTES) {
            result = fail(err, ASSAY_IO, "its temporary file is not as it was written");
        }
        result = result == ASSAY_OK ? read_at(w->spill, at + sizeof n, chunk, n, err) : result;
        result = result == ASSAY_OK ? print_chunk(s, p, chunk, n, err) : result;
        at += sizeof n + n;
    }
    free(chunk);
    return result;
}

static status print_trace(trace_writer *w, sink *s, error *err) {
    packed_printer p;
    TRY(packed_printer_init(&p, err));
    text_add(&s->pending, "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[");
    status result = print_spilled(w, s, &p, err);
    for (trace_recorder *r = w->recorders; r != NULL && result == ASSAY_OK; r = r->next) {
        result = print_chunk(s, &p, r->chunk.data, r->chunk.used_bytes, err);
    }
    text_add(&s->pending, "\n]}\n");
    packed_printer_clear(&p);
    return result == ASSAY_OK ? flush(s, err) : result;
}

static status finish_file(trace_writer *w, error *err) {
    sink s = {.file = w->file};
    status result = print_trace(w, &s, err);
    if (gzclose_w(w->file) != Z_OK && result == ASSAY_OK) {
        result = fail(err, ASSAY_IO, "cannot be written: %s", strerror(errno));
    }
    text_clear(&s.pending);
    if (result == ASSAY_OK && rename(w->beside.data, w->path.data) != 0) {
        result = fail(err, ASSAY_IO, "cannot be replaced: %s", strerror(errno));
    }
    if (result != ASSAY_OK) {
        unlink(w->beside.data);
    }
    return result;
}

void trace_writer_abandon(trace_writer *w) {
    if (w != NULL) {
        gzclose_w(w->file);
        unlink(w->beside.data);
        free_writer(w);
    }
}

status trace_writer_close(trace_writer *w, error *err) {
    if (w == NULL) {
        return ASSAY_OK;
    }
    status result = finish_file(w, err);
    if (result == ASSAY_OK && w->failed != ASSAY_OK) {
        result = fail(err, w->failed, "events are missing: %s", w->failure.message);
    }
    result = result == ASSAY_OK ? ASSAY_OK : fail_within(err, result, "%s", w->path.data);
    free_writer(w);
    return result;
}
