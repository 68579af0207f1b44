/* SPDX-License-Identifier: Apache-2.0 */
/* Files read and written whole; zlib unpacks. */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

const char *file_basename(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

static status read_all(gzFile file, const char *path, size_t limit_bytes, text *out, error *err) {
    enum { CHUNK_BYTES = 256 * 1024 };
    char *chunk = malloc(CHUNK_BYTES);
    text content = {0};
    status result = chunk != NULL ? ASSAY_OK : fail(err, ASSAY_OUT_OF_MEMORY, "%s: no memory to read it", path);
    while (result == ASSAY_OK) {
        int n = gzread(file, chunk, CHUNK_BYTES);
        if (n == 0) {
            break;
        }
        if (n < 0) {
            int code = Z_OK;
            const char *reason = gzerror(file, &code);
            result = code == Z_ERRNO ? fail(err, ASSAY_IO, "%s: %s", path, strerror(errno))
                                     : fail(err, ASSAY_PARSE, "%s: corrupt gzip data: %s", path, reason);
        } else if (content.length + (size_t)n > limit_bytes) {
            result = fail(err, ASSAY_TOO_LARGE, "%s: more than the limit of %zu bytes", path, limit_bytes);
        } else {
            text_add_bytes(&content, chunk, (size_t)n);
            if (content.failed) {
                result = fail(err, ASSAY_OUT_OF_MEMORY, "%s: no memory for its content", path);
            }
        }
    }
    free(chunk);
    if (result != ASSAY_OK) {
        text_clear(&content);
        return result;
    }
    text_clear(out);
    *out = content;
    return ASSAY_OK;
}

status file_read(const char *path, size_t limit_bytes, text *out, error *err) {
    bool standard_input = strcmp(path, "-") == 0;
    const char *shown = standard_input ? "standard input" : path;
    struct stat info;
    if (!standard_input && stat(path, &info) == 0 && S_ISDIR(info.st_mode)) {
        return fail(err, ASSAY_INVALID, "%s: expected a file, this is a directory", path);
    }
    int fd = standard_input ? dup(STDIN_FILENO) : open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return fail(err, errno == ENOENT ? ASSAY_NOT_FOUND : ASSAY_IO, "%s: %s", shown, strerror(errno));
    }
    gzFile file = gzdopen(fd, "rb");
    if (file == NULL) {
        close(fd);
        return fail(err, ASSAY_OUT_OF_MEMORY, "%s: no memory to read it", shown);
    }
    gzbuffer(file, 128 * 1024);
    status result = read_all(file, shown, limit_bytes, out, err);
    int closed = gzclose_r(file);
    if (result == ASSAY_OK && closed == Z_BUF_ERROR) {
        text_clear(out);
        result = fail(err, ASSAY_PARSE, "%s: truncated gzip data", shown);
    }
    return result;
}

static status write_bytes(int fd, const char *data, size_t n) {
    while (n > 0) {
        ssize_t written = write(fd, data, n);
        if (written < 0 && errno == EINTR) {
            continue;
        }
        if (written <= 0) {
            return ASSAY_IO;
        }
        data += written;
        n -= (size_t)written;
    }
    return ASSAY_OK;
}

bool file_is_stream(const char *path) {
    struct stat info;
    return stat(path, &info) == 0 && !S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode);
}

static status write_stream(const char *path, const void *data, size_t n, error *err) {
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0) {
        return fail(err, ASSAY_IO, "%s: cannot be opened: %s", path, strerror(errno));
    }
    bool written = write_bytes(fd, data, n) == ASSAY_OK;
    int reason = errno;
    bool closed = close(fd) == 0;
    return written && closed ? ASSAY_OK
                             : fail(err, ASSAY_IO, "%s: cannot be written: %s", path, strerror(written ? errno : reason));
}

status file_target(const char *path, char **target, error *err) {
    struct stat info;
    bool is_link = lstat(path, &info) == 0 && S_ISLNK(info.st_mode);
    char *at = is_link ? realpath(path, NULL) : NULL;
    *target = at != NULL ? at : strdup(path); /* a link to nothing gives way */
    return *target != NULL ? ASSAY_OK : fail(err, ASSAY_OUT_OF_MEMORY, "%s: no memory to write it", path);
}

/* A new file beside path, whose name is added to `name`. Random, as a number of the process is that of others where two machines, or
   containers, share the folder; made by open, which sees to its rights. */
static int create_beside(const char *path, text *name) {
    enum { TRIES = 100 };
    int fd = -1;
    for (int i = 0; i < TRIES; i++) {
        uint64_t random;
        if (getrandom(&random, sizeof random, 0) != (ssize_t)sizeof random) {
            return -1;
        }
        text_reset(name);
        text_addf(name, "%s" FILE_UNFINISHED "%016" PRIx64, path, random);
        fd = name->failed ? -1 : open(name->data, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (fd >= 0 || name->failed || errno != EEXIST) {
            break;
        }
    }
    return fd;
}

static status write_beside(const char *path, const void *data, size_t n, error *err) {
    text beside = {0};
    status result = ASSAY_OK;
    int fd = create_beside(path, &beside);
    if (beside.failed) {
        text_clear(&beside);
        return fail(err, ASSAY_OUT_OF_MEMORY, "%s: no memory to write it", path);
    }
    if (fd < 0) {
        result = fail(err, ASSAY_IO, "%s: cannot be created: %s", path, strerror(errno));
    } else {
        bool written = write_bytes(fd, data, n) == ASSAY_OK && fsync(fd) == 0;
        int reason = errno;
        bool closed = close(fd) == 0;
        if (!written || !closed) {
            result = fail(err, ASSAY_IO, "%s: cannot be written: %s", path, strerror(written ? errno : reason));
        } else if (rename(beside.data, path) != 0) {
            result = fail(err, ASSAY_IO, "%s: cannot be replaced: %s", path, strerror(errno));
        }
        if (result != ASSAY_OK) {
            unlink(beside.data);
        }
    }
    text_clear(&beside);
    return result;
}

status file_write(const char *path, const void *data, size_t n, error *err) {
    if (file_is_stream(path)) {
        return write_stream(path, data, n, err);
    }
    char *target;
    TRY(file_target(path, &target, err));
    status result = write_beside(target, data, n, err);
    free(target);
    return result;
}

status file_make_directories(const char *path, error *err) {
    char *copy = strdup(path);
    if (copy == NULL) {
        return fail(err, ASSAY_OUT_OF_MEMORY, "%s: no memory to make it", path);
    }
    status result = ASSAY_OK;
    for (char *at = copy + 1; result == ASSAY_OK && at[-1] != '\0'; at++) {
        if (*at != '/' && *at != '\0') {
            continue;
        }
        char kept = *at;
        *at = '\0';
        if (mkdir(copy, 0777) != 0 && errno != EEXIST) {
            result = fail(err, ASSAY_IO, "%s: the directory cannot be made: %s", copy, strerror(errno));
        }
        *at = kept;
    }
    struct stat info;
    if (result == ASSAY_OK && (stat(path, &info) != 0 || !S_ISDIR(info.st_mode))) {
        result = fail(err, ASSAY_IO, "%s: expected a directory", path);
    }
    free(copy);
    return result;
}

bool file_add_cache_folder(text *out) {
    const char *base = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    bool is_named = base != NULL && base[0] == '/', is_home = home != NULL && home[0] != '\0';
    if (is_named || is_home) {
        text_addf(out, "%s%s/assay", is_named ? base : home, is_named ? "" : "/.cache");
    }
    return is_named || is_home;
}

const char *file_temporary_folder(void) {
    const char *set = getenv("TMPDIR");
    return set != NULL && set[0] != '\0' ? set : "/tmp";
}

status file_open_temporary(int *fd, error *err) {
    const char *folder = file_temporary_folder();
#ifdef O_TMPFILE
    int nameless = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (nameless >= 0) {
        *fd = nameless;
        return ASSAY_OK;
    }
#endif
    text path = {0};
    text_addf(&path, "%s/assay-XXXXXX", folder);
    if (path.failed) {
        text_clear(&path);
        return fail(err, ASSAY_OUT_OF_MEMORY, "no memory for a temporary file's name");
    }
    int named = mkostemp(path.data, O_CLOEXEC);
    int reason = errno;
    if (named >= 0) {
        unlink(path.data);
    }
    text_clear(&path);
    if (named < 0) {
        return fail(err, ASSAY_IO, "%s: no temporary file can be made there: %s", folder, strerror(reason));
    }
    *fd = named;
    return ASSAY_OK;
}

status file_write_at(int fd, uint64_t offset, const void *data, size_t n, error *err) {
    const char *left = data;
    while (n > 0) {
        ssize_t written = pwrite(fd, left, n, (off_t)offset);
        if (written < 0 && errno == EINTR) {
            continue;
        }
        if (written <= 0) {
            return fail(err, ASSAY_IO, "a temporary file cannot be written: %s (TMPDIR says where it lies)",
                        strerror(errno));
        }
        left += written;
        offset += (uint64_t)written;
        n -= (size_t)written;
    }
    return ASSAY_OK;
}
