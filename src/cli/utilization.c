/* SPDX-License-Identifier: Apache-2.0 */
/* `assay utilization`: options, one or two traces read, a table or JSON printed. */
#include "cli/utilization.h"

#include "base/json.h"
#include "cli/utilization_table.h"
#include "lab/trace/diff.h"
#include "lab/trace/figures_json.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { EXIT_FAILED = 1, EXIT_USAGE = 2, DEFAULT_TOP = 20 };

static const char usage[] = "usage: assay utilization TRACE [--wall-time S | --window auto|device] [options]\n"
                            "       assay utilization --diff A B [--window auto|device] [options]\n";

static const char help[] = "\n"
                           "Reads a chrome trace (.json or .json.gz, '-' for standard input; PyTorch's, JAX's or\n"
                           "another tool's) and says how well its devices were used: by the definition 'compat'\n"
                           "(PyTorch's compute_utilization) and by 'strict' (kernels only). docs/utilization.md\n"
                           "defines every figure.\n"
                           "\n"
                           "  --wall-time S   take shares of S seconds, for instance of the same program unprofiled\n"
                           "  --window W      auto: of the trace's own window (the default);\n"
                           "                  device: from a device's first event to the last\n"
                           "  --by-operator   attribute kernels to the operators that launched them\n"
                           "  --diff A B      what got slower from trace A to trace B\n"
                           "  --top N         list N kernels and operators (20; 0 lists all)\n"
                           "  --label TEXT    compat counts processes whose label contains TEXT (GPU)\n"
                           "  --json          one JSON object (docs/utilization.schema.json)\n"
                           "  --color WHEN    auto (a terminal, unless NO_COLOR is set), always or never\n"
                           "  --help          this text\n"
                           "\n"
                           "examples:\n"
                           "  assay utilization trace.json.gz --wall-time 0.0243\n"
                           "  assay utilization trace.json --by-operator --top 40\n"
                           "  assay utilization trace.json --json | jq .strict.utilization\n"
                           "  assay utilization --diff before.json.gz after.json.gz\n";

typedef struct options {
    const char *paths[2];
    size_t n_paths;
    trace_options trace;
    bool has_window, diff, json, help;
    bool has_top;
    size_t n_top;
    const char *color;
} options;

/* Each takes an option's value; false after saying what is wrong with it. */
typedef bool taker(options *o, const char *value);

static bool take_wall_time(options *o, const char *value) {
    char *end = NULL;
    double seconds = strtod(value, &end);
    if (end == value || *end != '\0' || !(seconds > 0 && seconds <= 1e18)) {
        fprintf(stderr, "assay utilization: --wall-time %s: expected seconds, more than 0\n", value);
        return false;
    }
    o->trace.base = TRACE_BASE_GIVEN;
    o->trace.wall_time_s = seconds;
    return true;
}

static bool take_window(options *o, const char *value) {
    bool device = strcmp(value, "device") == 0;
    if (!device && strcmp(value, "auto") != 0) {
        fprintf(stderr, "assay utilization: --window %s: expected auto or device\n", value);
        return false;
    }
    o->has_window = true;
    o->trace.base = device ? TRACE_BASE_DEVICE : TRACE_BASE_TRACE;
    return true;
}

static bool take_top(options *o, const char *value) {
    char *end = NULL;
    errno = 0;
    unsigned long long n = strtoull(value, &end, 10);
    if (end == value || *end != '\0' || value[0] == '-' || errno != 0) {
        fprintf(stderr, "assay utilization: --top %s: expected a whole number\n", value);
        return false;
    }
    o->has_top = true;
    o->n_top = (size_t)n;
    return true;
}

static bool take_color(options *o, const char *value) {
    if (strcmp(value, "auto") != 0 && strcmp(value, "always") != 0 && strcmp(value, "never") != 0) {
        fprintf(stderr, "assay utilization: --color %s: expected auto, always or never\n", value);
        return false;
    }
    o->color = value;
    return true;
}

static bool take_label(options *o, const char *value) {
    o->trace.label = value;
    return true;
}

static bool take_by_operator(options *o, const char *value) {
    (void)value;
    o->trace.by_operator = true;
    return true;
}

static bool take_diff(options *o, const char *value) {
    (void)value;
    o->diff = true;
    return true;
}

static bool take_json(options *o, const char *value) {
    (void)value;
    o->json = true;
    return true;
}

static bool take_help(options *o, const char *value) {
    (void)value;
    o->help = true;
    return true;
}

typedef struct option_row {
    const char *name;
    bool has_value;
    taker *take;
} option_row;

static const option_row rows[] = {
    {"--wall-time", true, take_wall_time},
    {"--window", true, take_window},
    {"--top", true, take_top},
    {"--color", true, take_color},
    {"--label", true, take_label},
    {"--by-operator", false, take_by_operator},
    {"--diff", false, take_diff},
    {"--json", false, take_json},
    {"--help", false, take_help},
    {"-h", false, take_help},
};

static bool unknown_option(const char *name) {
    const char *names[countof(rows)];
    for (size_t i = 0; i < countof(rows); i++) {
        names[i] = rows[i].name;
    }
    const char *near = text_nearest(name, names, countof(rows));
    fprintf(stderr, "assay utilization: unknown option %s", name);
    fprintf(stderr, near != NULL ? "; did you mean %s?\n" : "\n", near);
    return false;
}

/* argv[*at] is an option; moves *at over its value. */
static bool take_option(options *o, int argc, char **argv, int *at) {
    const char *equals = strchr(argv[*at], '=');
    size_t length = equals != NULL ? (size_t)(equals - argv[*at]) : strlen(argv[*at]);
    for (size_t i = 0; i < countof(rows); i++) {
        const option_row *row = &rows[i];
        if (strlen(row->name) != length || strncmp(row->name, argv[*at], length) != 0) {
            continue;
        }
        if (!row->has_value && equals != NULL) {
            fprintf(stderr, "assay utilization: %s takes no value\n", row->name);
            return false;
        }
        if (row->has_value && equals == NULL && *at + 1 >= argc) {
            fprintf(stderr, "assay utilization: %s needs a value\n", row->name);
            return false;
        }
        const char *value = !row->has_value ? NULL : equals != NULL ? equals + 1 : argv[++*at];
        return row->take(o, value);
    }
    char name[64];
    snprintf(name, sizeof name, "%.*s", (int)(length < 63 ? length : 63), argv[*at]);
    return unknown_option(name);
}

static bool take_path(options *o, const char *path) {
    if (o->n_paths == countof(o->paths)) {
        fprintf(stderr, "assay utilization: one trace too many: %s\n", path);
        return false;
    }
    o->paths[o->n_paths++] = path;
    return true;
}

static bool parse(options *o, int argc, char **argv) {
    bool only_paths = false;
    for (int i = 1; i < argc; i++) {
        if (!only_paths && strcmp(argv[i], "--") == 0) {
            only_paths = true;
        } else if (!only_paths && argv[i][0] == '-' && argv[i][1] != '\0') {
            if (!take_option(o, argc, argv, &i)) {
                return false;
            }
        } else if (!take_path(o, argv[i])) {
            return false;
        }
    }
    if (o->help) {
        return true;
    }
    if (o->trace.wall_time_s > 0 && (o->has_window || o->diff)) {
        fprintf(stderr, "assay utilization: --wall-time does not go with %s\n", o->diff ? "--diff" : "--window");
        return false;
    }
    size_t wanted = o->diff ? 2 : 1;
    if (o->n_paths != wanted) {
        fprintf(stderr, "assay utilization: expected %s, got %zu\n", o->diff ? "two traces" : "one trace", o->n_paths);
        return false;
    }
    return true;
}

static table_style style_of(const options *o) {
    bool terminal = isatty(STDOUT_FILENO) == 1;
    const char *no_color = getenv("NO_COLOR"), *kind = getenv("TERM");
    bool wanted = terminal && (no_color == NULL || no_color[0] == '\0') && kind != NULL && strcmp(kind, "dumb") != 0;
    struct winsize size = {0};
    bool known = terminal && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0;
    table_style style = {.color = wanted, .width = known ? size.ws_col : 0, .n_top = DEFAULT_TOP};
    if (o->color != NULL && strcmp(o->color, "auto") != 0) {
        style.color = strcmp(o->color, "always") == 0;
    }
    if (o->has_top) {
        style.n_top = o->n_top > 0 && o->n_top < SIZE_MAX / 64 ? o->n_top : SIZE_MAX / 64;
    }
    return style;
}

/* With --json the warnings are in the object. */
static void print_warnings(const char *path, const trace_figures *f) {
    for (int i = 0; i < TRACE_N_WARNINGS; i++) {
        const trace_warnings *w = &f->warnings;
        if (w->count[i] == 0) {
            continue;
        }
        fprintf(stderr, "assay utilization: %s: warning: %s", path, trace_warning_text((trace_warning)i));
        if (w->first_byte[i] > 0) {
            fprintf(stderr, " (%llu, the first at byte %llu)", (unsigned long long)w->count[i],
                    (unsigned long long)w->first_byte[i]);
        }
        fputc('\n', stderr);
    }
}

static status run_one(const options *o, arena *memory, text *out, error *err) {
    trace_figures figures;
    const table_style style = style_of(o);
    TRY(trace_figures_of_file(o->paths[0], &o->trace, memory, &figures, err));
    if (o->json) {
        json_writer w = {.out = out, .indent = 2};
        trace_figures_json(&w, o->paths[0], &figures, o->has_top ? o->n_top : 0);
        text_add_char(out, '\n');
    } else {
        print_warnings(o->paths[0], &figures);
        utilization_table(out, o->paths[0], &figures, &style);
    }
    return ASSAY_OK;
}

static status run_diff(const options *o, arena *memory, text *out, error *err) {
    trace_figures figures[2];
    trace_options reading = o->trace;
    reading.by_operator = true;
    for (size_t i = 0; i < countof(figures); i++) {
        TRY(trace_figures_of_file(o->paths[i], &reading, memory, &figures[i], err));
        if (!o->json) {
            print_warnings(o->paths[i], &figures[i]);
        }
    }
    trace_diff diff;
    table_style style = style_of(o);
    TRY(trace_diff_make(&figures[0], &figures[1], memory, &diff, err));
    if (o->json) {
        json_writer w = {.out = out, .indent = 2};
        trace_diff_json(&w, o->paths[0], o->paths[1], &diff, o->has_top ? o->n_top : 0);
        text_add_char(out, '\n');
    } else {
        size_t most = diff.n_kernels > diff.n_operators ? diff.n_kernels : diff.n_operators;
        style.n_top = style.n_top < most ? style.n_top : most;
        utilization_diff_table(out, o->paths[0], o->paths[1], &diff, &style);
    }
    return ASSAY_OK;
}

int cli_utilization(int argc, char **argv) {
    options o = {0};
    if (!parse(&o, argc, argv)) {
        fprintf(stderr, "%s'assay utilization --help' says more\n", usage);
        return EXIT_USAGE;
    }
    if (o.help) {
        printf("%s%s", usage, help);
        return fflush(stdout) == 0 ? EXIT_SUCCESS : EXIT_FAILED;
    }
    arena memory = {0};
    text out = {0};
    error err = {0};
    status result = (o.diff ? run_diff : run_one)(&o, &memory, &out, &err);
    if (result == ASSAY_OK && out.failed) {
        result = fail(&err, ASSAY_OUT_OF_MEMORY, "no memory for the output");
    }
    if (result == ASSAY_OK && (fwrite(out.data, 1, out.length, stdout) != out.length || fflush(stdout) != 0)) {
        result = fail(&err, ASSAY_IO, "the output cannot be written: %s", strerror(errno));
    }
    if (result != ASSAY_OK) {
        fprintf(stderr, "assay utilization: %s\n", err.message);
    }
    text_clear(&out);
    arena_clear(&memory);
    return result == ASSAY_OK ? EXIT_SUCCESS : EXIT_FAILED;
}
