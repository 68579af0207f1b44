/* SPDX-License-Identifier: Apache-2.0 */
/* Finds compilers on $PATH and asks each for its version, without a shell. */
#include "lab/measure/machine.h"

#include "base/process.h"
#include "base/text.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_program(const char *path) {
    struct stat info;
    return stat(path, &info) == 0 && S_ISREG(info.st_mode) && access(path, X_OK) == 0;
}

/* The program's file, links followed; NULL when there is none. A name with a slash is a path already. */
static char *find_program(arena *a, const char *name) {
    char found[PATH_MAX];
    if (strchr(name, '/') != NULL) {
        return is_program(name) && realpath(name, found) != NULL ? arena_text(a, found, strlen(found)) : NULL;
    }
    const char *folders = getenv("PATH");
    for (const char *at = folders; at != NULL && *at != '\0'; at += *at == ':') {
        size_t n = strcspn(at, ":");
        char *path = arena_format(a, "%.*s/%s", (int)n, at, name);
        if (path != NULL && n > 0 && is_program(path) && realpath(path, found) != NULL) {
            return arena_text(a, found, strlen(found));
        }
        at += n;
    }
    return NULL;
}

/* The first line of what it says. NULL: no answer. */
static char *ask_version(arena *a, const char *path) {
    enum { ANSWER_BYTES = 512 };
    const double patience_s = 5;
    const char *const arguments[] = {path, "--version", NULL};
    process_result said;
    if (process_run(arguments, patience_s, ANSWER_BYTES, &said, NULL) != ASSAY_OK) {
        return NULL;
    }
    size_t n = strcspn(text_get(&said.out), "\r\n");
    char *answer = n > 0 ? arena_text(a, text_get(&said.out), n) : NULL;
    process_result_clear(&said);
    return answer;
}

status machine_find_compilers(arena *a, const machine_compiler **out, size_t *n, error *err) {
    const char *chosen = getenv("ASSAY_CC");
    const char *names[] = {"cc", "gcc", "clang", chosen};
    machine_compiler *found = arena_make(a, countof(names), sizeof *found);
    if (found == NULL) {
        return fail(err, ASSAY_OUT_OF_MEMORY, "no memory for the compilers' names");
    }
    size_t count = 0;
    for (size_t i = 0; i < countof(names); i++) {
        char *path = names[i] != NULL && names[i][0] != '\0' ? find_program(a, names[i]) : NULL;
        char *name = path != NULL ? arena_text(a, names[i], strlen(names[i])) : NULL;
        if (name != NULL) {
            found[count++] = (machine_compiler){.name = name, .path = path, .version = ask_version(a, path)};
        }
    }
    *out = found;
    *n = count;
    return ASSAY_OK;
}
