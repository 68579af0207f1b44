/* SPDX-License-Identifier: Apache-2.0 */
/* Pieces of a trace. A file goes through a ring of pieces that a second thread fills: unpacking and a disk's waits then
   cost no time of the reader's. */
#include "lab/trace/source.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

/* 256 KiB stays in a second-level cache between the copy from the kernel and the scan; four of them let the unpacker
   run ahead of a reader that stops to sort. */
enum { PIECE_BYTES = 256 * 1024, RING_PIECES = 4, GZIP_INPUT_BYTES = 128 * 1024 };

typedef struct piece {
    char *data;
    size_t size_bytes;
} piece;

struct trace_source {
    int fd;
    const char *memory; /* borrowed; NULL for files */
    size_t memory_left_bytes;
    size_t piece_bytes;
    char *storage;
    piece ring[RING_PIECES];
    bool cut;
    bool on_loan; /* the piece at n_released is with the reader */

    /* the filling thread and what it shares with the reader, under `lock` */
    gzFile packed; /* NULL for a plain file */
    pthread_t thread;
    bool has_thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    size_t n_filled;   /* pieces filled since the start */
    size_t n_released; /* pieces that the reader is done with */
    bool finished;     /* no more will be filled: `failure` says whether for good */
    bool cancelled;
    status failure;
    error failure_text;
};

static void seal(piece *p) {
    memset(p->data + p->size_bytes, 0, TRACE_PIECE_PADDING);
    p->data[p->size_bytes] = '"';
}

static status read_packed(trace_source *s, piece *into, error *err) {
    int n = gzread(s->packed, into->data, PIECE_BYTES);
    int code = Z_OK;
    const char *reason = gzerror(s->packed, &code);
    if (n < 0 && code == Z_ERRNO) {
        return fail(err, ASSAY_IO, "cannot be read: %s", strerror(errno));
    }
    if (n < 0 && code != Z_BUF_ERROR) {
        return fail(err, ASSAY_PARSE, "corrupt gzip data: %s", reason);
    }
    into->size_bytes = n > 0 ? (size_t)n : 0;
    s->cut = n <= 0 && code == Z_BUF_ERROR;
    return ASSAY_OK;
}

static status read_plain(trace_source *s, piece *into, error *err) {
    ssize_t n = 0;
    do {
        n = read(s->fd, into->data, PIECE_BYTES);
    } while (n < 0 && errno == EINTR);
    into->size_bytes = n > 0 ? (size_t)n : 0;
    return n >= 0 ? ASSAY_OK : fail(err, ASSAY_IO, "cannot be read: %s", strerror(errno));
}

static void *fill_ring(void *argument) {
    trace_source *s = argument;
    bool more = true;
    while (more) {
        pthread_mutex_lock(&s->lock);
        while (s->n_filled - s->n_released == RING_PIECES && !s->cancelled) {
            pthread_cond_wait(&s->changed, &s->lock);
        }
        bool cancelled = s->cancelled;
        piece *into = &s->ring[s->n_filled % RING_PIECES];
        pthread_mutex_unlock(&s->lock);
        if (cancelled) {
            break;
        }
        error failure = {0};
        status result = (s->packed != NULL ? read_packed : read_plain)(s, into, &failure);
        more = result == ASSAY_OK && into->size_bytes > 0;
        if (more) {
            seal(into);
        }
        pthread_mutex_lock(&s->lock);
        s->n_filled += more;
        s->finished = !more;
        s->failure = result;
        s->failure_text = failure;
        pthread_cond_signal(&s->changed);
        pthread_mutex_unlock(&s->lock);
    }
    return NULL;
}

static status make_source(size_t n_pieces, size_t piece_bytes, trace_source **out, error *err) {
    trace_source *s = calloc(1, sizeof *s);
    char *storage = calloc(n_pieces, piece_bytes + TRACE_PIECE_PADDING);
    if (s == NULL || storage == NULL) {
        free(s);
        free(storage);
        return fail(err, ASSAY_OUT_OF_MEMORY, "no memory for a trace's pieces");
    }
    s->fd = -1;
    s->piece_bytes = piece_bytes;
    s->storage = storage;
    for (size_t i = 0; i < n_pieces; i++) {
        s->ring[i].data = storage + i * (piece_bytes + TRACE_PIECE_PADDING);
    }
    *out = s;
    return ASSAY_OK;
}

/* s->fd stands at the file's begin. */
static status start_filling(trace_source *s, bool packed, error *err) {
    if (packed) {
        s->packed = gzdopen(s->fd, "rb");
        if (s->packed == NULL) {
            return fail(err, ASSAY_OUT_OF_MEMORY, "no memory to unpack it");
        }
        s->fd = -1; /* zlib's now */
        gzbuffer(s->packed, GZIP_INPUT_BYTES);
    }
    pthread_mutex_init(&s->lock, NULL);
    pthread_cond_init(&s->changed, NULL);
    int code = pthread_create(&s->thread, NULL, fill_ring, s);
    if (code != 0) {
        pthread_mutex_destroy(&s->lock);
        pthread_cond_destroy(&s->changed);
        return fail(err, ASSAY_OUT_OF_MEMORY, "no thread to read it with: %s", strerror(code));
    }
    s->has_thread = true;
    return ASSAY_OK;
}

/* A pipe cannot be looked into and rewound; zlib passes plain bytes through, so pipes go its way. */
static bool may_be_packed(int fd) {
    unsigned char magic[2] = {0, 0};
    ssize_t n = pread(fd, magic, 2, 0);
    return n < 0 || (n == 2 && magic[0] == 0x1f && magic[1] == 0x8b);
}

status trace_source_open(const char *path, trace_source **out, error *err) {
    bool standard_input = strcmp(path, "-") == 0;
    int fd = standard_input ? dup(STDIN_FILENO) : open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return fail(err, errno == ENOENT ? ASSAY_NOT_FOUND : ASSAY_IO, "%s", strerror(errno));
    }
    struct stat info;
    if (fstat(fd, &info) == 0 && S_ISDIR(info.st_mode)) {
        close(fd);
        return fail(err, ASSAY_INVALID, "expected a file, this is a directory");
    }
    bool packed = may_be_packed(fd);
    trace_source *s = NULL;
    status result = make_source(RING_PIECES, PIECE_BYTES, &s, err);
    if (result != ASSAY_OK) {
        close(fd);
        return result;
    }
    s->fd = fd;
    result = start_filling(s, packed, err);
    if (result != ASSAY_OK) {
        trace_source_close(s);
        return result;
    }
    *out = s;
    return ASSAY_OK;
}

status trace_source_open_memory(const void *data, size_t n, size_t piece_bytes, trace_source **out, error *err) {
    trace_source *s = NULL;
    TRY(make_source(1, piece_bytes > 0 ? piece_bytes : PIECE_BYTES, &s, err));
    s->memory = n > 0 ? data : "";
    s->memory_left_bytes = n;
    *out = s;
    return ASSAY_OK;
}

static status next_filled(trace_source *s, const char **data, size_t *size_bytes, error *err) {
    pthread_mutex_lock(&s->lock);
    if (s->on_loan) {
        s->n_released++; /* the piece lent by the last call */
        pthread_cond_signal(&s->changed);
    }
    while (s->n_filled == s->n_released && !s->finished) {
        pthread_cond_wait(&s->changed, &s->lock);
    }
    bool have = s->n_filled > s->n_released;
    piece *lent = &s->ring[s->n_released % RING_PIECES];
    status failure = have ? ASSAY_OK : s->failure;
    pthread_mutex_unlock(&s->lock);
    if (failure != ASSAY_OK) {
        return fail(err, failure, "%s", s->failure_text.message);
    }
    s->on_loan = have;
    *data = lent->data;
    *size_bytes = have ? lent->size_bytes : 0;
    return ASSAY_OK;
}

static void next_of_memory(trace_source *s) {
    piece *into = &s->ring[0];
    into->size_bytes = s->memory_left_bytes < s->piece_bytes ? s->memory_left_bytes : s->piece_bytes;
    memcpy(into->data, s->memory, into->size_bytes);
    s->memory += into->size_bytes;
    s->memory_left_bytes -= into->size_bytes;
    seal(into);
}

status trace_source_next(trace_source *s, const char **data, size_t *size_bytes, error *err) {
    if (s->has_thread) {
        return next_filled(s, data, size_bytes, err);
    }
    next_of_memory(s);
    *data = s->ring[0].data;
    *size_bytes = s->ring[0].size_bytes;
    return ASSAY_OK;
}

bool trace_source_was_cut(const trace_source *s) {
    return s->cut;
}

void trace_source_close(trace_source *s) {
    if (s == NULL) {
        return;
    }
    if (s->has_thread) {
        pthread_mutex_lock(&s->lock);
        s->cancelled = true;
        pthread_cond_signal(&s->changed);
        pthread_mutex_unlock(&s->lock);
        pthread_join(s->thread, NULL);
        pthread_mutex_destroy(&s->lock);
        pthread_cond_destroy(&s->changed);
    }
    if (s->packed != NULL) {
        gzclose_r(s->packed);
    }
    if (s->fd >= 0) {
        close(s->fd);
    }
    free(s->storage);
    free(s);
}
