/* SPDX-License-Identifier: Apache-2.0 */
/* JSON lines on disk: appended one by one, renamed when complete. */
#include "lab/record/store.h"

#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static const char *shown(const record_store *s) {
    return s->path != NULL ? s->path : "standard output";
}

static void close_store(record_store *s) {
    if (s->open && s->path != NULL) {
        close(s->fd);
    }
    text_clear(&s->line);
    free(s->path);
    free(s->partial);
    *s = (record_store){.fd = -1};
}

/* Whether the file is still the one of that name: whoever wrote it may have finished, and given it another. */
static bool is_named(int fd, const char *path) {
    struct stat own, there;
    return fstat(fd, &own) == 0 && stat(path, &there) == 0 && own.st_dev == there.st_dev && own.st_ino == there.st_ino;
}

static bool can_be_emptied(int fd) {
    struct stat own;
    return fstat(fd, &own) != 0 || S_ISREG(own.st_mode);
}

/* An empty file that no other run writes, or -1 and errno; EWOULDBLOCK: one does. Its process may have been killed just now, and its worker
   outlive it for a moment. The lock goes when the last descriptor is closed, however the process ends; where the file system has no locks
   there is none. */
static int open_alone(const char *path) {
    enum { MOST_TRIES = 30 };
    const struct timespec moment = {.tv_nsec = 10000000};
    int fd = -1, reason = 0;
    for (int i = 0; i < MOST_TRIES && fd < 0; i++) {
        fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
        if (fd < 0) {
            return -1;
        }
        bool is_taken = flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
        if (!is_taken && is_named(fd, path) && (!can_be_emptied(fd) || ftruncate(fd, 0) == 0)) {
            return fd;
        }
        reason = is_taken ? EWOULDBLOCK : errno;
        close(fd);
        fd = -1;
        nanosleep(&moment, NULL);
    }
    errno = reason;
    return -1;
}

status store_open(record_store *s, const char *path, error *err) {
    if (strcmp(path, "-") == 0) {
        *s = (record_store){.fd = STDOUT_FILENO, .open = true};
        return ASSAY_OK;
    }
    text partial = {0};
    char *copy;
    TRY(file_target(path, &copy, err));
    bool is_stream = file_is_stream(path);
    text_addf(&partial, is_stream ? "%s" : "%s.partial", copy);
    if (partial.failed) {
        free(copy);
        text_clear(&partial);
        return fail(err, ASSAY_OUT_OF_MEMORY, "%s: no memory to write it", path);
    }
    int fd = is_stream ? open(partial.data, O_WRONLY | O_APPEND | O_CLOEXEC) : open_alone(partial.data);
    if (fd < 0) {
        status result = errno == EWOULDBLOCK && !is_stream
                            ? fail(err, ASSAY_IO, "%s: another run is writing it; wait for it, or name another file", partial.data)
                            : fail(err, ASSAY_IO, "%s: cannot be created: %s", partial.data, strerror(errno));
        free(copy);
        text_clear(&partial);
        return result;
    }
    *s = (record_store){.path = copy, .partial = partial.data, .fd = fd, .open = true};
    return ASSAY_OK;
}

status store_append_line(record_store *s, const char *line, size_t n, error *err) {
    while (n > 0) {
        ssize_t written = write(s->fd, line, n);
        if (written < 0 && errno == EINTR) {
            continue;
        }
        if (written < 0) {
            return fail(err, ASSAY_IO, "%s: cannot be written: %s", shown(s), strerror(errno));
        }
        line += written;
        n -= (size_t)written;
    }
    return ASSAY_OK;
}

status store_append(record_store *s, const record *r, error *err) {
    text_reset(&s->line);
    record_write(r, &s->line);
    if (s->line.failed) {
        return fail(err, ASSAY_OUT_OF_MEMORY, "%s: no memory for a line", shown(s));
    }
    return store_append_line(s, s->line.data, s->line.length, err);
}

status store_finish(record_store *s, error *err) {
    status result = ASSAY_OK;
    if (s->open && s->path != NULL) {
        bool flushed = fsync(s->fd) == 0 || errno == EINVAL || errno == EROFS; /* a pipe has no disk behind it */
        int reason = errno;
        int lock = dup(s->fd); /* holds it until the name is another's, so that nobody empties the file before */
        bool closed = close(s->fd) == 0;
        s->open = false;
        if (!flushed || !closed) {
            result = fail(err, ASSAY_IO, "%s: cannot be written: %s", s->partial, strerror(flushed ? errno : reason));
        } else if (strcmp(s->partial, s->path) != 0 && rename(s->partial, s->path) != 0) {
            result = fail(err, ASSAY_IO, "%s: cannot be renamed to %s: %s", s->partial, s->path, strerror(errno));
        }
        if (lock >= 0) {
            close(lock);
        }
    }
    close_store(s);
    return result;
}

void store_abandon(record_store *s) {
    close_store(s);
}

/* ---- reading ---- */

static bool is_blank(const char *line, size_t n) {
    for (size_t i = 0; i < n; i++) {
        if (strchr(" \t\r", line[i]) == NULL) {
            return false;
        }
    }
    return true;
}

static size_t count_lines(const text *content) {
    size_t n = 1;
    for (size_t i = 0; i < content->length; i++) {
        n += content->data[i] == '\n';
    }
    return n;
}

static status read_lines(arena *a, const char *path, const text *content, record *records, size_t *n, bool *cut,
                         error *err) {
    record_reader reader = {.memory = a};
    const char *at = text_get(content), *end = at + content->length;
    int line_number = 0;
    while (at < end) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        size_t length = (size_t)((newline != NULL ? newline : end) - at);
        line_number++;
        if (!is_blank(at, length)) {
            error why = {0};
            status result = record_read(&reader, at, length, &records[*n], &why);
            if (result == ASSAY_PARSE && newline == NULL && cut != NULL) {
                *cut = true; /* the writer died within its last line */
                return ASSAY_OK;
            }
            if (result != ASSAY_OK && result != ASSAY_NOT_FOUND) {
                int column = why.column > 0 ? why.column : 1;
                return fail_at(err, result, line_number, column, "%s:%d:%d: %s", path, line_number, column, why.message);
            }
            *n += result == ASSAY_OK;
        }
        at = newline != NULL ? newline + 1 : end;
    }
    return ASSAY_OK;
}

status store_read(arena *a, const char *path, bool allow_cut, const record **records, size_t *n, bool *cut,
                  error *err) {
    static const size_t limit_bytes = (size_t)4 << 30;
    text content = {0};
    TRY(file_read(path, limit_bytes, &content, err));
    record *all = arena_make(a, count_lines(&content), sizeof *all);
    size_t found = 0;
    bool was_cut = false;
    status result = all != NULL ? read_lines(a, path, &content, all, &found, allow_cut ? &was_cut : NULL, err)
                                : fail(err, ASSAY_OUT_OF_MEMORY, "%s: no memory for its records", path);
    text_clear(&content);
    if (result == ASSAY_OK) {
        *records = all;
        *n = found;
        if (cut != NULL) {
            *cut = was_cut;
        }
    }
    return result;
}
