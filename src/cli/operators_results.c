/* SPDX-License-Identifier: Apache-2.0 */
/* Outputs: looked at before anything is measured, since hours may lie between; written one by one, since a full disk behind one
   must not cost the others. */
#include "cli/operators_results.h"

#include "base/file.h"
#include "lab/experiment/save.h"
#include "lab/report/operators_csv.h"
#include "lab/report/operators_report.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* --- where they go ---------------------------------------------------------------------------------------------------------------- */

static bool is_standard(const char *path) {
    return strcmp(path, "-") == 0;
}

static void folder_of(const char *path, text *out) {
    size_t n = (size_t)(file_basename(path) - path);
    while (n > 1 && path[n - 1] == '/') {
        n--;
    }
    text_add_bytes(out, n > 0 ? path : ".", n > 0 ? n : 1);
}

/* Whether two paths lead to one file, which need not be there yet. Devices can take more than one output. */
static bool is_same(const char *a, const char *b) {
    struct stat of_a, of_b;
    bool is_there = stat(a, &of_a) == 0, other_is_there = stat(b, &of_b) == 0;
    if (is_there != other_is_there || is_standard(a) || is_standard(b)) {
        return strcmp(a, b) == 0;
    }
    if (is_there) {
        return of_a.st_dev == of_b.st_dev && of_a.st_ino == of_b.st_ino && !S_ISCHR(of_a.st_mode);
    }
    text folder = {0}, other = {0};
    folder_of(a, &folder);
    folder_of(b, &other);
    bool is_end = strcmp(text_get(&folder), a) == 0 || strcmp(text_get(&other), b) == 0;
    bool same = strcmp(file_basename(a), file_basename(b)) == 0 && !is_end && !folder.failed && !other.failed &&
                is_same(text_get(&folder), text_get(&other));
    text_clear(&folder);
    text_clear(&other);
    return same;
}

static status check_writable(const char *path, error *err) {
    struct stat info;
    if (path == NULL || is_standard(path) || file_is_stream(path)) {
        return ASSAY_OK;
    }
    if (stat(path, &info) == 0 && S_ISDIR(info.st_mode)) {
        return fail(err, ASSAY_IO, "%s: expected a file to write, this is a directory", path);
    }
    text folder = {0};
    char *target;
    TRY(file_target(path, &target, err));
    folder_of(target, &folder);
    free(target);
    int reason = folder.failed ? ENOMEM : stat(text_get(&folder), &info) != 0 ? errno : S_ISDIR(info.st_mode) ? 0 : ENOTDIR;
    if (reason == 0 && access(text_get(&folder), W_OK | X_OK) != 0) {
        reason = errno;
    }
    text_clear(&folder);
    return reason == 0 ? ASSAY_OK : fail(err, ASSAY_IO, "%s: cannot be created: %s", path, strerror(reason));
}

/* Files that a run writes, and the options that have it so. */
typedef struct written {
    const char *option, *path;
} written;

enum { MOST_WRITTEN = 4 };

static size_t list_written(const operators_command *o, text *partial, text *manifest, written *out) {
    size_t n = 0;
    if (o->csv != NULL) {
        out[n++] = (written){"--csv", o->csv};
    }
    if (o->jsonl != NULL) {
        out[n++] = (written){"--jsonl", o->jsonl};
    }
    if (o->jsonl != NULL && !is_standard(o->jsonl)) { /* where the records are until the run ends */
        char *target = NULL;
        (void)file_target(o->jsonl, &target, NULL);
        text_addf(partial, "%s.partial", target != NULL ? target : o->jsonl);
        out[n++] = (written){"--jsonl", text_get(partial)};
        free(target);
    }
    if (o->run.save_directory != NULL) {
        text_addf(manifest, "%s/manifest.jsonl", o->run.save_directory);
        out[n++] = (written){"--save", text_get(manifest)};
    }
    return n;
}

static status check_pairs(const written *all, size_t n, error *err) {
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < i; k++) {
            if (all[i].option != all[k].option && is_same(all[i].path, all[k].path)) {
                return fail(err, ASSAY_INVALID, "%s and %s cannot both go to %s", all[k].option, all[i].option,
                            is_standard(all[k].path) ? "standard output" : all[k].path);
            }
        }
    }
    return ASSAY_OK;
}

status results_check(const operators_command *o, error *err) {
    text partial = {0}, manifest = {0};
    written all[MOST_WRITTEN];
    size_t n = list_written(o, &partial, &manifest, all);
    status result = check_pairs(all, n, err);
    text_clear(&partial);
    text_clear(&manifest);
    TRY(result);
    TRY(check_writable(o->csv, err));
    TRY(check_writable(o->jsonl, err));
    return o->run.save_directory != NULL ? save_check(o->run.save_directory, err) : ASSAY_OK;
}

status results_check_inputs(const operators_command *o, const inputs *set, error *err) {
    text partial = {0}, manifest = {0};
    written all[MOST_WRITTEN];
    status result = ASSAY_OK;
    size_t n = list_written(o, &partial, &manifest, all);
    for (size_t i = 0; result == ASSAY_OK && i < n; i++) {
        for (size_t k = 0; result == ASSAY_OK && k < set->n_files; k++) {
            const char *read = set->files[k]->path;
            if (!is_standard(read) && is_same(all[i].path, read)) {
                result = fail(err, ASSAY_INVALID, "%s would write %s, which was read as an input", all[i].option, all[i].path);
            }
        }
    }
    text_clear(&partial);
    text_clear(&manifest);
    return result;
}

/* --- writing them ------------------------------------------------------------------------------------------------------------------- */

void results_say_lost(results *r, const error *err) {
    cli_fail("operators", err, EXIT_FAILED);
    r->is_lost = true;
}

bool results_show_table(const operators_command *o) {
    bool is_taken = (o->csv != NULL && is_standard(o->csv)) || (o->jsonl != NULL && is_standard(o->jsonl));
    return !o->quiet && !is_taken;
}

static status write_text(const char *path, const text *content, error *err) {
    if (!is_standard(path)) {
        return file_write(path, text_get(content), content->length, err);
    }
    bool is_written = fwrite(text_get(content), 1, content->length, stdout) == content->length && fflush(stdout) == 0;
    return is_written ? ASSAY_OK : fail(err, ASSAY_IO, "standard output cannot be written: %s", strerror(errno));
}

status results_open(results *r, const operators_command *o, error *err) {
    *r = (results){.o = o};
    if (o->jsonl != NULL && is_standard(o->jsonl) && results_has_others(r)) {
        signal(SIGPIPE, SIG_IGN); /* a reader that is gone costs its own output, as a full disk does */
    }
    return o->jsonl != NULL ? store_open(&r->store, o->jsonl, err) : ASSAY_OK;
}

status results_add(results *r, const char *line, size_t n, error *err) {
    if (r->o->jsonl == NULL || r->is_jsonl_lost) {
        return ASSAY_OK;
    }
    status result = store_append_line(&r->store, line, n, err);
    r->is_jsonl_lost = result != ASSAY_OK;
    return result;
}

bool results_has_others(const results *r) {
    const operators_command *o = r->o;
    return o->csv != NULL || results_show_table(o) || o->run.save_directory != NULL || o->run.profile_directory != NULL;
}

static status finish_records(results *r, arena *memory, const operators_group *group, error *err) {
    text out = {0};
    status result = operators_summary_lines(memory, group, &out, err);
    result = result == ASSAY_OK ? store_append_line(&r->store, text_get(&out), out.length, err) : result;
    result = result == ASSAY_OK ? store_finish(&r->store, err) : result;
    text_clear(&out);
    return result;
}

static status write_csv(const results *r, arena *memory, const operators_group *group, error *err) {
    text out = {0};
    status result = operators_csv(memory, group, &out, err);
    result = result == ASSAY_OK ? write_text(r->o->csv, &out, err) : result;
    text_clear(&out);
    return result;
}

static status print_table(const results *r, arena *memory, const operators_group *group, error *err) {
    text out = {0};
    operators_report_options shown = {.color = terminal_color(r->o->color, STDOUT_FILENO), .max_width = terminal_width(STDOUT_FILENO),
                                      .source = r->o->source,
                                      .checked = r->o->run.check_accuracy};
    status result = operators_report(memory, group, &shown, &out, err);
    result = result == ASSAY_OK ? write_text("-", &out, err) : result;
    text_clear(&out);
    return result;
}

status results_finish(results *r, arena *memory, const record *records, size_t n, error *err) {
    operators_group group;
    error why = {0};
    TRY(operators_group_make(memory, records, n, &group, err));
    if (r->o->jsonl != NULL && !r->is_jsonl_lost && finish_records(r, memory, &group, &why) != ASSAY_OK) {
        results_say_lost(r, &why);
    }
    if (r->o->csv != NULL && write_csv(r, memory, &group, &why) != ASSAY_OK) {
        results_say_lost(r, &why);
    }
    if (results_show_table(r->o) && print_table(r, memory, &group, &why) != ASSAY_OK) {
        results_say_lost(r, &why);
    }
    results_abandon(r);
    return ASSAY_OK;
}

void results_abandon(results *r) {
    store_abandon(&r->store);
}
