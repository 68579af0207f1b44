/* SPDX-License-Identifier: Apache-2.0 */
/* A folder's lock (flock) is taken on the folder itself: there is no moment in which it exists and its lock cannot be asked for. */
#include "base/scratch.h"

#include "base/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum { RANDOM_LETTERS = 6, TRIES = 100 };

/* Whether the name still stands for the folder that fd is, and it is this user's alone. */
static bool is_own(int base, const char *name, int fd) {
    struct stat there, here;
    return fstatat(base, name, &there, AT_SYMLINK_NOFOLLOW) == 0 && fstat(fd, &here) == 0 && there.st_dev == here.st_dev &&
           there.st_ino == here.st_ino && here.st_uid == geteuid() && (here.st_mode & 0777) == 0700;
}

static void remove_files(int fd) {
    int second = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC); /* closedir closes its own */
    DIR *files = second >= 0 ? fdopendir(second) : NULL;
    for (struct dirent *e = files != NULL ? readdir(files) : NULL; e != NULL; e = readdir(files)) {
        unlinkat(fd, e->d_name, 0); /* refuses folders, "." and ".." with them */
    }
    if (files != NULL) {
        closedir(files);
    } else if (second >= 0) {
        close(second);
    }
}

static bool is_named_so(const char *entry, const char *name) {
    size_t n = strlen(name);
    return strncmp(entry, name, n) == 0 && entry[n] == '-' && strlen(entry + n + 1) == RANDOM_LETTERS;
}

static void sweep_one(int base, const char *entry) {
    int fd = openat(base, entry, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0) {
        return;
    }
    /* A maker that has not come to its lock yet will find its folder gone and make another. */
    if (is_own(base, entry, fd) && flock(fd, LOCK_EX | LOCK_NB) == 0 && is_own(base, entry, fd)) {
        remove_files(fd);
        unlinkat(base, entry, AT_REMOVEDIR);
    }
    close(fd);
}

void scratch_sweep(const char *name) {
    DIR *base = opendir(file_temporary_folder());
    for (struct dirent *e = base != NULL ? readdir(base) : NULL; e != NULL; e = readdir(base)) {
        if (is_named_so(e->d_name, name)) {
            sweep_one(dirfd(base), e->d_name);
        }
    }
    if (base != NULL) {
        closedir(base);
    }
}

/* True: the folder is there and held. A file system without locks has none that could be swept either. *gone: another process has
   swept it before it was locked. */
static bool hold(scratch *s, bool *gone) {
    s->fd = open(s->path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    while (s->fd >= 0 && flock(s->fd, LOCK_EX) != 0 && errno == EINTR) {
    }
    if (s->fd >= 0 && is_own(AT_FDCWD, s->path, s->fd)) {
        return true;
    }
    struct stat there;
    *gone = lstat(s->path, &there) != 0;
    if (s->fd >= 0) {
        close(s->fd);
    }
    if (!*gone) {
        rmdir(s->path);
    }
    return false;
}

status scratch_make(const char *name, scratch *out, error *err) {
    scratch_sweep(name);
    int reason = EBUSY;
    for (int i = 0; i < TRIES; i++) {
        int n = snprintf(out->path, sizeof out->path, "%s/%s-XXXXXX", file_temporary_folder(), name);
        bool fits = n > 0 && (size_t)n < sizeof out->path;
        if (!fits || mkdtemp(out->path) == NULL) {
            reason = fits ? errno : ENAMETOOLONG;
            break;
        }
        bool gone = false;
        if (hold(out, &gone)) {
            return ASSAY_OK;
        }
        if (!gone) {
            return fail(err, ASSAY_IO, "a folder in %s is not its maker's alone (expected mode 0700 and this user as its owner): name another "
                                       "place in TMPDIR", file_temporary_folder());
        }
    }
    return fail(err, ASSAY_IO, "no folder like %s/%s-XXXXXX can be made: %s: name another place in TMPDIR", file_temporary_folder(), name,
                strerror(reason));
}

void scratch_remove(scratch *s) {
    remove_files(s->fd);
    rmdir(s->path);
    close(s->fd);
}
