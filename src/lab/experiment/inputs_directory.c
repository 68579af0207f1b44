/* SPDX-License-Identifier: Apache-2.0 */
/* A directory of recorded inputs, a file for each model. */
#include "lab/experiment/inputs_set.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static bool is_recorded(const char *name) {
    return text_ends_with(name, ".txt") || text_ends_with(name, ".txt.gz") || inputs_is_graph(name);
}

static int compare_names(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* What a name in a directory stands for may be anything; a pipe would wait for a writer for ever. What is not there is told when it is
   opened. */
static status check_regular(const char *path, error *err) {
    struct stat info;
    bool is_other = stat(path, &info) == 0 && !S_ISREG(info.st_mode);
    return is_other ? fail(err, ASSAY_IO, "%s: expected a file, this is a %s", path,
                           S_ISDIR(info.st_mode)    ? "directory"
                           : S_ISFIFO(info.st_mode) ? "pipe"
                                                    : "device or socket")
                    : ASSAY_OK;
}

static bool has_recorded(const char *path) {
    DIR *directory = opendir(path);
    bool found = false;
    for (const struct dirent *entry; directory != NULL && !found && (entry = readdir(directory)) != NULL;) {
        found = is_recorded(entry->d_name);
    }
    if (directory != NULL) {
        closedir(directory);
    }
    return found;
}

/* There is no recorded file in the directory: the error, with those of its folders that have some. */
static status fail_none(arena *memory, const char *path, error *err) {
    enum { MOST_SHOWN = 4 };
    DIR *directory = opendir(path);
    char **folders = NULL;
    size_t n = 0;
    text some = {0};
    for (const struct dirent *entry; directory != NULL && (entry = readdir(directory)) != NULL;) {
        char *full = entry->d_name[0] != '.' ? arena_format(memory, "%s/%s", path, entry->d_name) : NULL;
        char **grown = full != NULL && has_recorded(full) ? inputs_grow(memory, folders, n, sizeof *grown) : NULL;
        if (grown != NULL) {
            folders = grown;
            folders[n++] = full + strlen(path) + 1;
        }
    }
    if (directory != NULL) {
        closedir(directory);
    }
    if (n > 0) {
        qsort(folders, n, sizeof *folders, compare_names);
    }
    for (size_t i = 0; i < n && i < MOST_SHOWN; i++) {
        text_addf(&some, "%s%.60s", i == 0 ? "; there are some in its folders " : ", ", folders[i]);
    }
    if (n > MOST_SHOWN) {
        text_addf(&some, " and %zu more", n - MOST_SHOWN);
    }
    status result = fail(err, ASSAY_NOT_FOUND, "%s: expected files *.txt or *.txt.gz of recorded inputs or *.graph, got none%s", path,
                         text_get(&some));
    text_clear(&some);
    return result;
}

/* The paths of the recorded files in a directory, sorted, in the arena. */
static status list_files(arena *memory, const char *path, char ***out_paths, size_t *out_n, error *err) {
    DIR *directory = opendir(path);
    if (directory == NULL) {
        return fail(err, errno == ENOENT ? ASSAY_NOT_FOUND : ASSAY_IO,
                    "%s: expected a directory of recorded inputs: %s", path, strerror(errno));
    }
    char **paths = NULL;
    size_t n = 0;
    status result = ASSAY_OK;
    const char *slash = text_ends_with(path, "/") ? "" : "/";
    for (const struct dirent *entry; result == ASSAY_OK && (entry = readdir(directory)) != NULL;) {
        if (!is_recorded(entry->d_name)) {
            continue;
        }
        char **grown = inputs_grow(memory, paths, n, sizeof *grown);
        char *full = arena_format(memory, "%s%s%s", path, slash, entry->d_name);
        if (grown == NULL || full == NULL) {
            result = fail(err, ASSAY_OUT_OF_MEMORY, "%s: no memory to list it", path);
            break;
        }
        paths = grown;
        paths[n++] = full;
    }
    closedir(directory);
    if (result == ASSAY_OK && n == 0) {
        result = fail_none(memory, path, err);
    }
    if (result == ASSAY_OK) {
        qsort(paths, n, sizeof *paths, compare_names);
        *out_paths = paths;
        *out_n = n;
    }
    return result;
}

/* A file that could not be read, as a diagnostic; its message then begins with the path, and the place where it has one, already. */
static status report_file(inputs *set, const char *path, const error *what, error *err) {
    inputs_diagnostic diagnostic = {.file = inputs_add_file(set, path), .message = what->message};
    if (diagnostic.file == NULL) {
        return fail(err, ASSAY_OUT_OF_MEMORY, "no memory for the recorded inputs");
    }
    char place[32] = ": ";
    if (what->line > 0) {
        snprintf(place, sizeof place, ":%d:%d: ", (int)what->line, (int)what->column);
    }
    size_t n = strlen(path);
    if (strncmp(what->message, path, n) == 0 && text_starts_with(what->message + n, place)) {
        diagnostic.message += n + strlen(place);
        diagnostic.line = what->line;
        diagnostic.column = what->column;
    }
    set->n_bad_files++;
    return inputs_add_diagnostic(set, &diagnostic, err);
}

static const inputs_file *find_read(const inputs *set, const struct stat *info) {
    for (size_t i = 0; i < set->n_files; i++) {
        if (set->files[i]->node == (uint64_t)info->st_ino && set->files[i]->device == (uint64_t)info->st_dev && info->st_ino != 0) {
            return set->files[i];
        }
    }
    return NULL;
}

static status report_again(inputs *set, const char *path, const inputs_file *file, error *err) {
    error what = {0};
    fail(&what, ASSAY_INVALID, "%s is this file once more, and its calls count once", path);
    return inputs_add_diagnostic(set, &(inputs_diagnostic){.file = file, .message = what.message}, err);
}

static status read_one(inputs *set, const char *path, error *err) {
    struct stat info;
    bool is_regular = strcmp(path, "-") != 0 && stat(path, &info) == 0 && S_ISREG(info.st_mode);
    const inputs_file *before = is_regular ? find_read(set, &info) : NULL;
    if (before != NULL) {
        return report_again(set, path, before, err);
    }
    TRY(inputs_is_graph(path) ? inputs_read_graph(set, path, err) : inputs_read_file(set, path, err));
    inputs_file *file = is_regular ? inputs_add_file(set, path) : NULL; /* which is there */
    if (file != NULL) {
        file->device = (uint64_t)info.st_dev;
        file->node = (uint64_t)info.st_ino;
    }
    return ASSAY_OK;
}

static status read_files(inputs *set, char *const *paths, size_t n, error *err) {
    error first = {0};
    size_t n_failed = 0, diagnostics_before = set->n_diagnostics;
    for (size_t i = 0; i < n; i++) {
        error what = {0};
        status result = check_regular(paths[i], &what);
        result = result == ASSAY_OK ? read_one(set, paths[i], &what) : result;
        if (result == ASSAY_OUT_OF_MEMORY) {
            return fail(err, result, "%s", what.message);
        }
        if (result != ASSAY_OK) {
            first = n_failed++ == 0 ? what : first;
            TRY(report_file(set, paths[i], &what, err));
        }
    }
    if (n_failed < n) {
        return ASSAY_OK;
    }
    set->n_diagnostics = diagnostics_before;
    set->n_bad_files -= n_failed;
    return fail_at(err, first.code, (int)first.line, (int)first.column,
                   "%s (and so on: none of the %zu files can be read)", first.message, n);
}

status inputs_read_directory(inputs *set, const char *path, error *err) {
    char **paths = NULL;
    size_t n = 0;
    arena memory = {0};
    status result = list_files(&memory, path, &paths, &n, err);
    if (result == ASSAY_OK) {
        result = read_files(set, paths, n, err);
    }
    arena_clear(&memory);
    return result;
}

status inputs_read_path(inputs *set, const char *path, error *err) {
    struct stat info;
    bool is_directory = strcmp(path, "-") != 0 && stat(path, &info) == 0 && S_ISDIR(info.st_mode);
    return is_directory ? inputs_read_directory(set, path, err) : read_one(set, path, err);
}
