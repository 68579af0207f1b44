/* SPDX-License-Identifier: Apache-2.0 */
/* `assay cache`: how much compiled code is kept between runs, and where; removes it. */
#include "cli/compiled_cache.h"

#include "base/file.h"
#include "cli/cli.h"
#include "engine/compile/cache.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

typedef enum action { ACTION_INFO, ACTION_CLEAR } action;

typedef struct options {
    bool named;
    size_t action;
} options;

static status take_argument(void *to, const char *value, error *err) {
    static const char *const words[] = {"info", "clear"};
    options *o = to;
    if (o->named) {
        return fail(err, ASSAY_INVALID, "expected one of info and clear, got '%s' besides", value);
    }
    o->named = true;
    return cli_word(NULL, value, words, countof(words), &o->action, err);
}

static const cli_verb verb = {
    .name = "cache",
    .summary = "the compiled code that is kept between runs: how much and where, or remove it",
    .arguments = "info | clear",
    .examples = "  assay cache info\n  assay cache clear\n",
    .take_argument = take_argument,
};

static const char *entries(int64_t n) {
    return n == 1 ? "entry" : "entries";
}

/* "N entries ... in FOLDER". */
static status add_facts(text *out, char *folder, size_t size_bytes, error *err) {
    char size[32], limit[32];
    cache_facts facts;
    TRY(cache_folder(folder, size_bytes, err));
    TRY(cache_info(&facts, err));
    text_addf(out, "%lld %s, %s of at most %s, in %s", (long long)facts.n_entries, entries(facts.n_entries),
              text_of_bytes(size, facts.size_bytes), text_of_bytes(limit, facts.limit_bytes), folder);
    return ASSAY_OK;
}

/* Why nothing can be kept in the folder, which is made; false: it can. */
static bool add_obstacle(text *out, const char *folder) {
    struct statvfs s;
    error why = {0};
    const char *how = NULL;
    if (file_make_directories(folder, &why) != ASSAY_OK) {
        how = why.message;
    } else if (access(folder, W_OK | X_OK) != 0) {
        how = strerror(errno);
    }
    if (how != NULL) {
        text_addf(out, "nothing can be kept there: %s; each run compiles anew, name another place in XDG_CACHE_HOME", how);
    } else if (statvfs(folder, &s) == 0 && (s.f_flag & ST_NOEXEC) != 0) {
        how = "noexec";
        text_addf(out, "nothing can be run from there (it is mounted noexec); each run compiles anew, name another place in XDG_CACHE_HOME");
    }
    return how != NULL;
}

bool cli_cache_state(text *out) {
    char folder[4096];
    error err = {0};
    text obstacle = {0};
    if (add_facts(out, folder, sizeof folder, &err) != ASSAY_OK) {
        text_addf(out, "%s", err.message);
        return false;
    }
    bool is_well = !add_obstacle(&obstacle, folder);
    text_addf(out, "%s%s", is_well ? "" : "; ", text_get(&obstacle));
    text_clear(&obstacle);
    return is_well;
}

static status show(error *err) {
    char folder[4096];
    text facts = {0}, obstacle = {0};
    status result = add_facts(&facts, folder, sizeof folder, err);
    if (result == ASSAY_OK) {
        puts(text_get(&facts));
        if (add_obstacle(&obstacle, folder)) {
            puts(text_get(&obstacle));
        }
    }
    text_clear(&facts);
    text_clear(&obstacle);
    return result;
}

static status clear(error *err) {
    int64_t removed = 0;
    TRY(cache_clear(&removed, err));
    printf("removed %lld %s\n", (long long)removed, entries(removed));
    return ASSAY_OK;
}

int cli_cache(int argc, char **argv) {
    options o = {0};
    int exit_code;
    if (!cli_parse(&verb, argc, argv, &o, &exit_code)) {
        return exit_code;
    }
    error err = {0};
    status result = o.action == ACTION_CLEAR ? clear(&err) : show(&err);
    return result == ASSAY_OK ? EXIT_OK : cli_fail("cache", &err, EXIT_FAILED);
}
