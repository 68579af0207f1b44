/* SPDX-License-Identifier: Apache-2.0 */
/* The compiler's file, and the words of one that hands its work to another. */
#include "engine/compile/build_compiler.h"

#include "base/file.h"
#include "base/process.h"

#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SAID_BYTES = 256, FILE_BYTES = PATH_MAX + 128 };

const char *build_compiler(void) {
    const char *named = getenv("ASSAY_CC");
    return named != NULL && named[0] != '\0' ? named : "cc";
}

/* The program's file; "": none. */
static void find_file(const char *name, char *path, size_t size_bytes) {
    const char *folders = getenv("PATH");
    path[0] = '\0';
    if (strchr(name, '/') != NULL) {
        snprintf(path, size_bytes, "%s", name);
    }
    while (path[0] == '\0' && folders != NULL && *folders != '\0') {
        size_t n = strcspn(folders, ":");
        snprintf(path, size_bytes, "%.*s/%s", (int)n, folders, name);
        path[access(path, X_OK) == 0 ? size_bytes - 1 : 0] = '\0';
        folders += n + (folders[n] == ':');
    }
}

/* Whether the file may have another program do the work: a script, or one of those that compilers are linked to. */
static bool hands_on(const char *path) {
    static const char *const launchers[] = {"ccache", "sccache", "distcc", "icecc"};
    char real[PATH_MAX], begins[2] = {0};
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    bool is_script = fd >= 0 && read(fd, begins, sizeof begins) == (ssize_t)sizeof begins && memcmp(begins, "#!", sizeof begins) == 0;
    if (fd >= 0) {
        close(fd);
    }
    const char *name = realpath(path, real) != NULL ? file_basename(real) : "";
    bool is_launcher = false;
    for (size_t i = 0; i < countof(launchers); i++) {
        is_launcher = is_launcher || strcmp(name, launchers[i]) == 0;
    }
    return is_script || is_launcher;
}

/* The first line of what it says of its version; "": nothing. */
static void ask(const char *path, char out[SAID_BYTES]) {
    static const double patience_s = 2;
    const char *const arguments[] = {path, "--version", NULL};
    process_result said;
    out[0] = '\0';
    if (process_run(arguments, NULL, patience_s, SAID_BYTES, &said, NULL) == ASSAY_OK) {
        snprintf(out, SAID_BYTES, "%.*s", (int)strcspn(text_get(&said.out), "\r\n"), text_get(&said.out));
        process_result_clear(&said);
    }
}

/* What the program of this file says, as of the first time that this process asked. */
static void ask_once(const char *path, const char *file, char version[SAID_BYTES]) {
    static pthread_mutex_t asking = PTHREAD_MUTEX_INITIALIZER;
    static char of[FILE_BYTES], known[SAID_BYTES];
    pthread_mutex_lock(&asking);
    if (strcmp(of, file) != 0) {
        ask(path, known);
        snprintf(of, sizeof of, "%s", file);
    }
    memcpy(version, known, SAID_BYTES);
    pthread_mutex_unlock(&asking);
}

void build_compiler_identity(char *out, size_t size_bytes) {
    char path[PATH_MAX], file[FILE_BYTES], version[SAID_BYTES] = "";
    struct stat s = {0};
    find_file(build_compiler(), path, sizeof path);
    if (path[0] != '\0') {
        (void)stat(path, &s);
    }
    snprintf(file, sizeof file, "%s %lld %lld.%09ld %llu", path, (long long)s.st_size, (long long)s.st_mtim.tv_sec, s.st_mtim.tv_nsec,
             (unsigned long long)s.st_ino);
    if (path[0] != '\0' && hands_on(path)) {
        ask_once(path, file, version);
    }
    snprintf(out, size_bytes, "%s\n%s", file, version);
}
