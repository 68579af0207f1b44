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

/* Where the program is; NULL: nowhere. A name with a slash is a path already. */
static char *find_program(arena *a, const char *name) {
    if (strchr(name, '/') != NULL) {
        return is_program(name) ? arena_text(a, name, strlen(name)) : NULL;
    }
    const char *folders = getenv("PATH");
    for (const char *at = folders; at != NULL && *at != '\0'; at += *at == ':') {
        size_t n = strcspn(at, ":");
        char *path = arena_format(a, "%.*s/%s", (int)n, at, name);
        if (path != NULL && n > 0 && is_program(path)) {
            return path;
        }
        at += n;
    }
    return NULL;
}

static char *follow_links(arena *a, const char *path) {
    char found[PATH_MAX];
    return realpath(path, found) != NULL ? arena_text(a, found, strlen(found)) : NULL;
}

/* The first line of what it says. NULL: no answer. */
static char *ask_version(arena *a, const char *path) {
    enum { ANSWER_BYTES = 512 };
    const double patience_s = 5;
    const char *const arguments[] = {path, "--version", NULL};
    process_result said;
    if (process_run(arguments, NULL, patience_s, ANSWER_BYTES, &said, NULL) != ASSAY_OK) {
        return NULL;
    }
    size_t n = strcspn(text_get(&said.out), "\r\n");
    char *answer = n > 0 ? arena_text(a, text_get(&said.out), n) : NULL;
    process_result_clear(&said);
    return answer;
}

/* What is said behind the first word, in which gcc repeats how it was called. */
static const char *behind_name(const char *version) {
    return version != NULL ? version + strcspn(version, " ") : "";
}

/* One file is several compilers where a launcher such as ccache stands in for them: then what they say differs. */
static machine_compiler *find_twin(machine_compiler *found, size_t n, const char *path, const char *version) {
    for (size_t i = 0; i < n; i++) {
        if (found[i].path != NULL && strcmp(found[i].path, path) == 0 && strcmp(behind_name(found[i].version), behind_name(version)) == 0) {
            return &found[i];
        }
    }
    return NULL;
}

static status add_compiler(arena *a, const char *name, bool is_used, machine_compiler *found, size_t *n, error *err) {
    char *program = find_program(a, name), *path = program != NULL ? follow_links(a, program) : NULL;
    char *kept = arena_text(a, name, strlen(name));
    if (path == NULL && is_used) {
        found[(*n)++] = (machine_compiler){.name = kept, .is_used = true};
    }
    if (path != NULL) {
        char *version = ask_version(a, program);
        machine_compiler *twin = find_twin(found, *n, path, version);
        if (twin == NULL) {
            found[(*n)++] = (machine_compiler){.name = kept, .path = path, .is_used = is_used, .version = version};
        } else {
            twin->is_used = twin->is_used || is_used;
            twin->name = strcmp(twin->name, name) != 0 ? arena_format(a, "%s, %s", twin->name, name) : twin->name;
            kept = (char *)twin->name;
        }
    }
    return kept != NULL ? ASSAY_OK : fail(err, ASSAY_OUT_OF_MEMORY, "no memory for the compilers' names");
}

status machine_ask_compiler(arena *a, const char *name, machine_compiler *out, error *err) {
    machine_compiler found[2];
    size_t n = 0;
    TRY(add_compiler(a, name, true, found, &n, err));
    *out = found[0];
    return ASSAY_OK;
}

status machine_find_compilers(arena *a, const machine_compiler **out, size_t *n, error *err) {
    const char *chosen = getenv("ASSAY_CC");
    const char *used = chosen != NULL && chosen[0] != '\0' ? chosen : "cc";
    const char *const names[] = {"cc", "gcc", "clang"};
    machine_compiler *found = arena_make(a, countof(names) + 1, sizeof *found);
    if (found == NULL) {
        return fail(err, ASSAY_OUT_OF_MEMORY, "no memory for the compilers' names");
    }
    bool is_other = true; /* the one that is used has a name of its own */
    size_t count = 0;
    for (size_t i = 0; i < countof(names); i++) {
        bool is_used = strcmp(names[i], used) == 0;
        is_other = is_other && !is_used;
        TRY(add_compiler(a, names[i], is_used, found, &count, err));
    }
    if (is_other) {
        TRY(add_compiler(a, used, true, found, &count, err));
    }
    *out = found;
    *n = count;
    return ASSAY_OK;
}
