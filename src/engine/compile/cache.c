/* SPDX-License-Identifier: Apache-2.0 */
/* Entries lie in 256 folders by the first byte of their key. Behind an entry's bytes stand a mark and a hash of them: the
   loader of shared objects does not mind, and what was cut short or changed is found out. */
#include "engine/compile/cache.h"

#include "base/file.h"
#include "base/hash.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { PATH_BYTES = 4096, ENTRY_LIMIT = 64 << 20, N_FOLDERS = 256 };
static const double LIMIT_BYTES = 256.0 * 1024 * 1024;

typedef struct trailer {
    char mark[8];
    uint64_t hash;
} trailer;

static const char MARK[8] = {'a', 's', 's', 'a', 'y', '-', 'c', '1'};

cache_key cache_key_of(const cache_piece *pieces, size_t n) {
    uint64_t low = 0x243f6a8885a308d3u, high = 0x13198a2e03707344u; /* two seeds, two hashes */
    for (size_t i = 0; i < n; i++) {
        low = hash_bytes(pieces[i].data, pieces[i].size_bytes, low + pieces[i].size_bytes);
        high = hash_bytes(pieces[i].data, pieces[i].size_bytes, high ^ pieces[i].size_bytes);
    }
    cache_key key;
    snprintf(key.text, sizeof key.text, "%016llx%016llx", (unsigned long long)low, (unsigned long long)high);
    return key;
}

status cache_folder(char *path, size_t size_bytes, error *err) {
    text base = {0};
    if (!file_add_cache_folder(&base)) {
        return fail(err, ASSAY_NOT_FOUND, "no place for compiled code: expected HOME or XDG_CACHE_HOME to be set");
    }
    int n = snprintf(path, size_bytes, "%s/compiled", text_get(&base));
    bool fits = !base.failed && n > 0 && (size_t)n < size_bytes;
    text_clear(&base);
    return fits ? ASSAY_OK : fail(err, ASSAY_TOO_LARGE, "the cache's path is too long");
}

static status folder_of(const cache_key *key, char *path, size_t size_bytes, error *err) {
    char base[PATH_BYTES];
    TRY(cache_folder(base, sizeof base, err));
    int n = snprintf(path, size_bytes, "%s/%.2s", base, key->text);
    return n > 0 && (size_t)n < size_bytes ? ASSAY_OK : fail(err, ASSAY_TOO_LARGE, "the cache's path is too long");
}

static status path_of(const cache_key *key, const char *ending, char *path, size_t size_bytes, error *err) {
    char folder[PATH_BYTES];
    TRY(folder_of(key, folder, sizeof folder, err));
    int n = snprintf(path, size_bytes, "%s/%s%s", folder, key->text + 2, ending);
    return n > 0 && (size_t)n < size_bytes ? ASSAY_OK : fail(err, ASSAY_TOO_LARGE, "the cache's path is too long");
}

/* False: it is not there or cannot be read. Nothing that waits, as a pipe does, is waited for. *is_entry: whether it is a file of a size
   that entries have. */
static bool read_entry(const char *path, text *out, bool *is_entry) {
    struct stat s;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0 || fstat(fd, &s) != 0) {
        bool is_socket = fd < 0 && errno == ENXIO;
        *is_entry = !is_socket;
        if (fd >= 0) {
            close(fd);
        }
        return is_socket;
    }
    *is_entry = S_ISREG(s.st_mode) && s.st_size <= ENTRY_LIMIT;
    bool good = true;
    ssize_t n = 1;
    while (*is_entry && good && n > 0) {
        char chunk[16384];
        n = read(fd, chunk, sizeof chunk);
        good = n >= 0 || errno == EINTR;
        if (n > 0) {
            text_add_bytes(out, chunk, (size_t)n);
        }
        n = n < 0 && good ? 1 : n;
    }
    close(fd);
    return good && !out->failed;
}

static bool is_whole(const text *bytes) {
    trailer t;
    if (bytes->length < sizeof t) {
        return false;
    }
    memcpy(&t, bytes->data + bytes->length - sizeof t, sizeof t);
    return memcmp(t.mark, MARK, sizeof MARK) == 0 && t.hash == hash_bytes(bytes->data, bytes->length - sizeof t, 0);
}

status cache_find(const cache_key *key, const char *ending, char *path, size_t size_bytes, error *err) {
    TRY(path_of(key, ending, path, size_bytes, err));
    if (access(path, R_OK) != 0) {
        return fail(err, ASSAY_NOT_FOUND, "no such entry");
    }
    text bytes = {0};
    bool is_entry = true, is_read = read_entry(path, &bytes, &is_entry);
    bool whole = is_read && is_entry && is_whole(&bytes), damaged = is_read && !whole;
    text_clear(&bytes);
    if (damaged) {
        (void)remove(path); /* an empty folder too */
    }
    if (!whole) { /* one that cannot be read now may be well */
        return fail(err, ASSAY_NOT_FOUND, "%s %s", path, damaged ? "was damaged" : "cannot be read");
    }
    utimensat(AT_FDCWD, path, NULL, 0); /* used just now: among the last to give way */
    return ASSAY_OK;
}

/* --- the bound -------------------------------------------------------------------------------------------------------------- */

typedef struct entry {
    char name[112];
    double size_bytes;
    struct timespec used;
} entry;

static int by_use(const void *a, const void *b) {
    const entry *x = a, *y = b;
    if (x->used.tv_sec != y->used.tv_sec) {
        return x->used.tv_sec < y->used.tv_sec ? -1 : 1;
    }
    return (x->used.tv_nsec > y->used.tv_nsec) - (x->used.tv_nsec < y->used.tv_nsec);
}

/* Another machine's clock may be ahead by less. A file from the future was never used then: it would stay for good. */
enum { CLOCKS_DIFFER_S = 60 };

/* What is in one folder but for folders, on the heap. *failed: errno where it is there and cannot be read. */
static size_t list_folder(const char *folder, entry **out, int *failed) {
    *out = NULL;
    DIR *d = opendir(folder);
    *failed = d == NULL && errno != ENOENT ? errno : 0;
    size_t n = 0, capacity = 0;
    time_t now = time(NULL);
    for (struct dirent *e; d != NULL && (e = readdir(d)) != NULL;) {
        char path[PATH_BYTES];
        struct stat s;
        entry item;
        if (e->d_name[0] == '.' || strlen(e->d_name) >= sizeof item.name ||
            (size_t)snprintf(path, sizeof path, "%s/%s", folder, e->d_name) >= sizeof path || lstat(path, &s) != 0 ||
            S_ISDIR(s.st_mode)) {
            continue;
        }
        if (n == capacity) {
            capacity = 2 * capacity + 16;
            entry *grown = realloc(*out, capacity * sizeof *grown);
            if (grown == NULL) {
                break;
            }
            *out = grown;
        }
        memcpy(item.name, e->d_name, strlen(e->d_name) + 1);
        item.size_bytes = (double)s.st_size;
        item.used = s.st_mtim.tv_sec > now + CLOCKS_DIFFER_S ? (struct timespec){0} : s.st_mtim;
        (*out)[n++] = item;
    }
    if (d != NULL) {
        closedir(d);
    }
    return n;
}

/* Each folder keeps to its share of the bound: keys spread evenly, and one folder is quick to look through. What was just stored stays,
   whatever its size. */
static void give_way(const char *folder, const char *stored) {
    entry *entries;
    int failed;
    size_t n = list_folder(folder, &entries, &failed);
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        sum += entries[i].size_bytes;
    }
    if (n > 0 && sum > LIMIT_BYTES / N_FOLDERS) {
        qsort(entries, n, sizeof *entries, by_use);
        for (size_t i = 0; i < n && sum > LIMIT_BYTES / N_FOLDERS; i++) {
            char path[PATH_BYTES];
            bool fits = (size_t)snprintf(path, sizeof path, "%s/%s", folder, entries[i].name) < sizeof path;
            if (fits && strcmp(entries[i].name, stored) != 0 && unlink(path) == 0) {
                sum -= entries[i].size_bytes;
            }
        }
    }
    free(entries);
}

status cache_store(const cache_key *key, const char *ending, const void *data, size_t n, char *path, size_t size_bytes,
                   error *err) {
    char folder[PATH_BYTES];
    TRY(folder_of(key, folder, sizeof folder, err));
    TRY(path_of(key, ending, path, size_bytes, err));
    TRY(file_make_directories(folder, err));
    trailer t = {.hash = hash_bytes(data, n, 0)};
    memcpy(t.mark, MARK, sizeof MARK);
    text whole = {0};
    text_add_bytes(&whole, data, n);
    text_add_bytes(&whole, (const char *)&t, sizeof t);
    if (file_is_stream(path)) { /* is to be replaced, not written to */
        unlink(path);
    }
    status result = whole.failed ? fail(err, ASSAY_OUT_OF_MEMORY, "no memory to keep compiled code")
                                 : file_write(path, whole.data, whole.length, err);
    if (result == ASSAY_IO) { /* who removes all entries may have taken this one before it was whole */
        result = file_write(path, whole.data, whole.length, err);
    }
    text_clear(&whole);
    if (result == ASSAY_OK) {
        give_way(folder, file_basename(path));
    }
    return result;
}

/* --- for people -------------------------------------------------------------------------------------------------------------- */

typedef void visit_fn(void *self, const char *folder, const entry *e);

static status each_entry(visit_fn *visit, void *self, error *err) {
    char base[PATH_BYTES], folder[PATH_BYTES + 8];
    TRY(cache_folder(base, sizeof base, err));
    struct stat s;
    if (stat(base, &s) != 0 && (errno == ENOENT || errno == ENOTDIR)) {
        return ASSAY_OK; /* nothing has been kept */
    }
    DIR *d = opendir(base);
    if (d == NULL) {
        return fail(err, ASSAY_IO, "%s cannot be looked into: %s", base, strerror(errno));
    }
    closedir(d);
    status result = ASSAY_OK;
    for (int i = 0; i < N_FOLDERS; i++) {
        snprintf(folder, sizeof folder, "%s/%02x", base, i);
        entry *entries;
        int failed;
        size_t n = list_folder(folder, &entries, &failed);
        if (failed != 0 && result == ASSAY_OK) {
            result = fail(err, ASSAY_IO, "%s cannot be looked into: %s", folder, strerror(failed));
        }
        for (size_t k = 0; k < n; k++) {
            visit(self, folder, &entries[k]);
        }
        free(entries);
    }
    return result;
}

static void count_entry(void *self, const char *folder, const entry *e) {
    (void)folder;
    cache_facts *facts = self;
    facts->n_entries += strstr(e->name, FILE_UNFINISHED) == NULL ? 1 : 0;
    facts->size_bytes += e->size_bytes;
}

status cache_info(cache_facts *out, error *err) {
    cache_facts facts = {.limit_bytes = LIMIT_BYTES};
    TRY(each_entry(count_entry, &facts, err));
    *out = facts;
    return ASSAY_OK;
}

typedef struct removal {
    int64_t removed;
    int failed; /* errno of the first that would not go */
} removal;

static void remove_entry(void *self, const char *folder, const entry *e) {
    removal *r = self;
    char path[PATH_BYTES + 96];
    snprintf(path, sizeof path, "%s/%s", folder, e->name);
    if (unlink(path) == 0 || errno == ENOENT) {
        r->removed++;
    } else if (r->failed == 0) {
        r->failed = errno;
    }
}

status cache_clear(int64_t *removed, error *err) {
    removal r = {0};
    status result = each_entry(remove_entry, &r, err);
    if (r.failed != 0) {
        return fail(err, ASSAY_IO, "some entries of the cache could not be removed: %s", strerror(r.failed));
    }
    TRY(result);
    *removed = r.removed;
    return ASSAY_OK;
}
