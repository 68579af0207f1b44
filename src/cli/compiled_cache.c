/* SPDX-License-Identifier: Apache-2.0 */
/* `assay cache`: how much compiled code is kept between runs, and where; removes it. */
#include "engine/compile/cache.h"

#include "base/file.h"
#include "base/text.h"
#include "cli/cli.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
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

static status show(error *err) {
    char folder[4096], size[32], limit[32];
    cache_facts facts;
    TRY(cache_folder(folder, sizeof folder, err));
    TRY(cache_info(&facts, err));
    printf("%lld %s, %s of at most %s, in %s\n", (long long)facts.n_entries, entries(facts.n_entries), text_of_bytes(size, facts.size_bytes),
           text_of_bytes(limit, facts.limit_bytes), folder);
    error why = {0};
    if (file_make_directories(folder, &why) != ASSAY_OK) {
        printf("nothing can be kept there: %s\n", why.message);
    } else if (access(folder, W_OK | X_OK) != 0) {
        printf("nothing can be kept there: %s\n", strerror(errno));
    }
    return ASSAY_OK;
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
