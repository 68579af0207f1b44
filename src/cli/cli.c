/* SPDX-License-Identifier: Apache-2.0 */
/* Parses options from rows, so that --help and what is accepted cannot differ. What does not go together is a row as well. */
#include "cli/cli.h"

#include "base/c_locale.h"
#include "base/text.h"
#include "device/threads.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { HELP_COLUMNS = 80 };

/* Words from the column `at` on, in lines as wide as a terminal; later lines begin at the column `indent`. */
static void print_wrapped(const char *words, int at, int indent) {
    int begin = at;
    while (*words != '\0') {
        int n = (int)strcspn(words, " \n");
        bool is_first = at == begin;
        if (!is_first && at + 1 + n > HELP_COLUMNS) {
            printf("\n%*s", indent, "");
            at = begin = indent;
            is_first = true;
        }
        printf("%s%.*s", is_first ? "" : " ", n, words);
        at += n + !is_first;
        words += n;
        if (*words == '\n' && words[1] != '\0') {
            printf("\n%*s", indent, "");
            at = begin = indent;
        }
        words += *words != '\0';
    }
    putchar('\n');
}

void cli_print_help(const cli_verb *verb) {
    enum { MARGIN = 2 };
    text title = {0}, usage = {0};
    text_addf(&title, "assay %s: %s", verb->name, verb->summary);
    for (size_t i = 0; i < title.length; i++) {
        title.data[i] = (char)(title.data[i] == '\n' ? ' ' : title.data[i]);
    }
    print_wrapped(text_get(&title), 0, MARGIN);
    putchar('\n');
    text_addf(&usage, "usage: assay %s%s%s [options]", verb->name, verb->arguments[0] != '\0' ? " " : "", verb->arguments);
    print_wrapped(text_get(&usage), 0, (int)strlen("usage: "));
    printf("\noptions:\n");
    text_clear(&title);
    text_clear(&usage);
    int width = (int)strlen("--help");
    for (size_t i = 0; i < verb->n_options; i++) {
        const cli_option *o = &verb->options[i];
        int w = (int)(strlen(o->name) + (o->value != NULL ? strlen(o->value) + 1 : 0));
        width = w > width ? w : width;
    }
    for (size_t i = 0; i < verb->n_options; i++) {
        const cli_option *o = &verb->options[i];
        char shown[96];
        snprintf(shown, sizeof shown, "%s%s%s", o->name, o->value != NULL ? " " : "", o->value != NULL ? o->value : "");
        printf("  %-*s  ", width, shown);
        print_wrapped(o->help, MARGIN + width + MARGIN, MARGIN + width + MARGIN);
    }
    printf("  %-*s  this text\n\nexamples:\n%s", width, "--help", verb->examples);
}

int cli_fail(const char *verb, const error *err, int code) {
    fprintf(stderr, "assay %s: %s\n", verb, err->message);
    return code;
}

int cli_exit_code(status result) {
    switch (result) {
    case ASSAY_OK:
        return EXIT_OK;
    case ASSAY_NOT_FOUND:
    case ASSAY_INVALID:
    case ASSAY_UNSUPPORTED:
        return EXIT_USAGE;
    case ASSAY_INTERRUPTED:
        return EXIT_INTERRUPTED;
    default:
        return EXIT_FAILED;
    }
}

static const cli_option *find_option(const cli_verb *verb, const char *name, size_t n) {
    for (size_t i = 0; i < verb->n_options; i++) {
        if (strlen(verb->options[i].name) == n && strncmp(verb->options[i].name, name, n) == 0) {
            return &verb->options[i];
        }
    }
    return NULL;
}

static int unknown_option(const cli_verb *verb, const char *given, size_t length) {
    char name[64];
    const char *names[64];
    size_t n = 0;
    for (; n < verb->n_options && n < countof(names) - 1; n++) {
        names[n] = verb->options[n].name;
    }
    names[n++] = "--help";
    snprintf(name, sizeof name, "%.*s", (int)length, given);
    const char *near = text_nearest(name, names, n);
    fprintf(stderr, "assay %s: no option is called '%s'%s%s%s `assay %s --help` lists them\n", verb->name, name,
            near != NULL ? "; did you mean '" : "", near != NULL ? near : "", near != NULL ? "'?" : ";", verb->name);
    return EXIT_USAGE;
}

/* --- what goes together --------------------------------------------------------------------------------------------------------- */

enum { MOST_OPTIONS = 64, MOST_ARGUMENTS = 4 };

/* What a command line says. */
typedef struct given {
    const char *values[MOST_OPTIONS]; /* by the verb's options: the last one's, "" for a flag; NULL: it is not given */
    const char *arguments[MOST_ARGUMENTS];
    size_t n_arguments;
} given;

/* The next of the words that blanks separate; 0: there is none. */
static size_t next_word(const char **at) {
    *at += strspn(*at, " ");
    return strcspn(*at, " ");
}

static bool has_word(const char *words, const char *word) {
    const char *at = words != NULL ? words : "";
    for (size_t n; (n = next_word(&at)) > 0; at += n) {
        if (strlen(word) == n && strncmp(at, word, n) == 0) {
            return true;
        }
    }
    return false;
}

static int note_option(const cli_verb *verb, const cli_option *o, const char *value, given *g) {
    const char **last = &g->values[o - verb->options];
    if (*last != NULL && strcmp(*last, value) != 0 && !has_word(verb->repeated, o->name)) {
        fprintf(stderr, "assay %s: %s is given twice, as '%s' and as '%s': say which\n", verb->name, o->name, *last, value);
        return EXIT_USAGE;
    }
    *last = value;
    return EXIT_OK;
}

/* "--name", "--name=value" or an argument, of n bytes. */
static bool is_given(const cli_verb *verb, const given *g, const char *word, size_t n) {
    for (size_t i = 0; word[0] != '-' && i < g->n_arguments; i++) {
        if (strlen(g->arguments[i]) == n && strncmp(g->arguments[i], word, n) == 0) {
            return true;
        }
    }
    size_t length = strcspn(word, "= ");
    const cli_option *o = find_option(verb, word, length);
    const char *value = o != NULL ? g->values[o - verb->options] : NULL;
    return value != NULL && (length == n || (strlen(value) == n - length - 1 && strncmp(value, word + length + 1, n - length - 1) == 0));
}

static int check_clashes(const cli_verb *verb, const given *g) {
    for (size_t i = 0; i < verb->n_clashes; i++) {
        const cli_clash *c = &verb->clashes[i];
        const char *at = c->others;
        if (!is_given(verb, g, c->option, strlen(c->option))) {
            continue;
        }
        for (size_t n; (n = next_word(&at)) > 0; at += n) {
            if (is_given(verb, g, at, n)) {
                int length = (int)strcspn(at, "= ");
                bool has_value = at[length] == '=';
                fprintf(stderr, "assay %s: %s does not go with %.*s%s%.*s\n", verb->name, c->option, length, at, has_value ? " " : "",
                        has_value ? (int)n - length - 1 : 0, at + length + has_value);
                return EXIT_USAGE;
            }
        }
    }
    return EXIT_OK;
}

/* --- reading ---------------------------------------------------------------------------------------------------------------------- */

/* Takes the option at argv[*i], and its value, which may be the next word. */
static int take_option(const cli_verb *verb, int argc, char **argv, int *i, given *g, void *options) {
    const char *word = argv[*i];
    size_t length = strcspn(word, "=");
    const cli_option *o = find_option(verb, word, length);
    if (o == NULL) {
        return unknown_option(verb, word, length);
    }
    const char *value = word[length] == '=' ? word + length + 1 : NULL;
    if (o->value == NULL && value != NULL) {
        fprintf(stderr, "assay %s: %s takes no value, got '%s'\n", verb->name, o->name, value);
        return EXIT_USAGE;
    }
    if (o->value != NULL && value == NULL) {
        if (*i + 1 >= argc) {
            fprintf(stderr, "assay %s: %s needs a value: %s %s\n", verb->name, o->name, o->name, o->value);
            return EXIT_USAGE;
        }
        value = argv[++*i];
    }
    error err = {0};
    int code = o->take(options, value, &err) == ASSAY_OK ? EXIT_OK : cli_fail(verb->name, &err, EXIT_USAGE);
    return code == EXIT_OK ? note_option(verb, o, value != NULL ? value : "", g) : code;
}

static int take_argument(const cli_verb *verb, const char *word, given *g, void *options) {
    error err = {0};
    if (verb->take_argument == NULL) {
        fprintf(stderr, "assay %s: takes no argument, got '%s'; `assay %s --help` shows how it is used\n", verb->name, word, verb->name);
        return EXIT_USAGE;
    }
    if (g->n_arguments < countof(g->arguments)) {
        g->arguments[g->n_arguments++] = word;
    }
    return verb->take_argument(options, word, &err) == ASSAY_OK ? EXIT_OK : cli_fail(verb->name, &err, EXIT_USAGE);
}

bool cli_parse(const cli_verb *verb, int argc, char **argv, void *options, int *exit_code) {
    bool options_ended = false;
    given g = {0};
    for (int i = 1; i < argc; i++) {
        int code = EXIT_OK;
        const char *word = argv[i];
        if (!options_ended && (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0)) {
            cli_print_help(verb);
            *exit_code = EXIT_OK;
            return false;
        }
        if (!options_ended && strcmp(word, "--") == 0) {
            options_ended = true;
        } else if (!options_ended && word[0] == '-' && word[1] != '\0') {
            code = take_option(verb, argc, argv, &i, &g, options);
        } else {
            code = take_argument(verb, word, &g, options);
        }
        if (code != EXIT_OK) {
            *exit_code = code;
            return false;
        }
    }
    *exit_code = check_clashes(verb, &g);
    return *exit_code == EXIT_OK;
}

status cli_int(const char *name, const char *value, int64_t low, int64_t high, int64_t *out, error *err) {
    char *end = NULL;
    errno = 0;
    long long i = strtoll(value, &end, 10);
    if (end == value || *end != '\0' || errno != 0 || i < low || i > high) {
        return fail(err, ASSAY_INVALID, "%s: expected a whole number from %lld to %lld, got '%s'", name, (long long)low,
                    (long long)high, value);
    }
    *out = i;
    return ASSAY_OK;
}

status cli_threads(const char *value, int64_t *out, error *err) {
    TRY(cli_int("--threads", value, 1, 4096, out, err));
    if (*out > threads_most()) {
        return fail(err, ASSAY_INVALID, "--threads: expected at most %d, which is what OpenMP gives this process (OMP_THREAD_LIMIT, "
                    "OMP_MAX_ACTIVE_LEVELS), got %lld", threads_most(), (long long)*out);
    }
    return ASSAY_OK;
}

/* 0x10, which is a number for strtod, but not where whole numbers are read. */
static bool is_hexadecimal(const char *value) {
    return strpbrk(value, "xX") != NULL;
}

status cli_double(const char *name, const char *value, double low, double high, double *out, error *err) {
    char *end = NULL;
    double f = c_strtod(value, &end);
    if (end == value || *end != '\0' || is_hexadecimal(value) || !(f >= low && f <= high)) {
        return fail(err, ASSAY_INVALID, "%s: expected a number from %g to %g, got '%s'", name, low, high, value);
    }
    *out = f;
    return ASSAY_OK;
}

status cli_bytes(const char *name, const char *value, double *out, error *err) {
    static const struct {
        const char *suffix;
        double factor;
    } units[] = {{"", 1},     {"B", 1},    {"K", 1e3},  {"kB", 1e3},      {"M", 1e6},       {"MB", 1e6},      {"G", 1e9},
                 {"GB", 1e9}, {"T", 1e12}, {"TB", 1e12}, {"KiB", 0x1p10}, {"MiB", 0x1p20}, {"GiB", 0x1p30}, {"TiB", 0x1p40}};
    char *end = NULL;
    double f = c_strtod(value, &end);
    for (size_t i = 0; end != value && !is_hexadecimal(value) && i < countof(units); i++) {
        if (strcasecmp(end, units[i].suffix) != 0 || !(f > 0)) {
            continue;
        }
        if (f * units[i].factor >= 1e18) {
            return fail(err, ASSAY_INVALID, "%s: '%s' is too large: expected less than 10^18 bytes (1000000TB)", name, value);
        }
        *out = f * units[i].factor;
        return ASSAY_OK;
    }
    return fail(err, ASSAY_INVALID, "%s: expected a size such as 8GiB or 500MB (K, M, G, T; KiB, MiB, GiB, TiB), got '%s'", name, value);
}

status cli_file(const char *name, const char *value, error *err) {
    return value[0] != '\0' ? ASSAY_OK : fail(err, ASSAY_INVALID, "%s: expected a file or '-', got no name", name);
}

status cli_folder(const char *name, const char *value, error *err) {
    if (strcmp(value, "-") == 0) {
        return fail(err, ASSAY_INVALID, "%s: expected a folder, got '-', which is standard output elsewhere; several files need a folder (./- is one)", name);
    }
    return value[0] != '\0' ? ASSAY_OK : fail(err, ASSAY_INVALID, "%s: expected a folder, got no name", name);
}

status cli_word(const char *name, const char *value, const char *const *words, size_t n, size_t *out, error *err) {
    text all = {0};
    for (size_t i = 0; i < n; i++) {
        if (strcmp(value, words[i]) == 0) {
            text_clear(&all);
            *out = i;
            return ASSAY_OK;
        }
        text_addf(&all, "%s%s", i == 0 ? "" : i + 1 == n ? " or " : ", ", words[i]);
    }
    const char *near = text_nearest(value, words, n);
    status result = fail(err, ASSAY_INVALID, "%s%sexpected %s, got '%s'%s%s%s", name != NULL ? name : "",
                         name != NULL ? ": " : "", text_get(&all), value, near != NULL ? "; did you mean '" : "", near != NULL ? near : "", near != NULL ? "'?" : "");
    text_clear(&all);
    return result;
}

status cli_list_add(cli_list *list, const char *name, const char *value, error *err) {
    if (list->n == countof(list->items)) {
        return fail(err, ASSAY_INVALID, "%s: given more than %zu times", name, countof(list->items));
    }
    list->items[list->n++] = value;
    return ASSAY_OK;
}
