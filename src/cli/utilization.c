/* SPDX-License-Identifier: Apache-2.0 */
/* `assay utilization`: options, one or two traces read or an operator run, a table or JSON printed. */
#include "cli/utilization.h"

#include "base/json.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/torch.h"
#include "cli/utilization_table.h"
#include "lab/experiment/utilization_run.h"
#include "lab/report/terminal.h"
#include "lab/trace/diff.h"
#include "lab/trace/figures_json.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { DEFAULT_TOP = 20, DEFAULT_RUNS = 100 };

typedef enum mode { MODE_READ, MODE_DIFF, MODE_RUN } mode;

typedef struct options {
    mode mode;
    const char *arguments[2]; /* traces, or an operator and its input */
    size_t n_arguments;
    trace_options trace;
    bool json, has_run_option;
    bool has_top;
    size_t n_top;
    color_mode color;
    utilization_run_options run;
    const char *torch_python;
} options;

/* --- options ------------------------------------------------------------------------------------------------------------------ */

static status take_wall_time(void *to, const char *value, error *err) {
    options *o = to;
    TRY(cli_double("--wall-time", value, 1e-12, 1e18, &o->trace.wall_time_s, err));
    o->trace.base = TRACE_BASE_GIVEN;
    return ASSAY_OK;
}

static status take_window(void *to, const char *value, error *err) {
    static const char *const words[] = {"auto", "device"};
    options *o = to;
    size_t i;
    TRY(cli_word("--window", value, words, countof(words), &i, err));
    o->trace.base = i == 1 ? TRACE_BASE_DEVICE : TRACE_BASE_TRACE;
    return ASSAY_OK;
}

static status take_by_operator(void *to, const char *value, error *err) {
    (void)value;
    (void)err;
    ((options *)to)->trace.by_operator = true;
    return ASSAY_OK;
}

static status take_mode(options *o, mode wanted, error *err) {
    if (o->mode != MODE_READ && o->mode != wanted) {
        return fail(err, ASSAY_INVALID, "--diff and --run exclude each other");
    }
    o->mode = wanted;
    return ASSAY_OK;
}

static status take_diff(void *to, const char *value, error *err) {
    (void)value;
    return take_mode(to, MODE_DIFF, err);
}

static status take_run(void *to, const char *value, error *err) {
    (void)value;
    return take_mode(to, MODE_RUN, err);
}

static status take_backend(void *to, const char *value, error *err) {
    options *o = to;
    (void)err;
    o->has_run_option = true;
    o->run.backend = value;
    return ASSAY_OK;
}

static status take_runs(void *to, const char *value, error *err) {
    options *o = to;
    int64_t n;
    TRY(cli_int("--n", value, 1, 1000000000, &n, err));
    o->has_run_option = true;
    o->run.n_runs = (int)n;
    return ASSAY_OK;
}

static status take_threads(void *to, const char *value, error *err) {
    options *o = to;
    int64_t n;
    TRY(cli_threads(value, &n, err));
    o->has_run_option = true;
    o->run.threads = (int)n;
    return ASSAY_OK;
}

static status take_dtype(void *to, const char *value, error *err) {
    options *o = to;
    o->has_run_option = true;
    status result = dtype_mode_find(value, &o->run.bind.dtype, err);
    return result == ASSAY_OK ? ASSAY_OK : fail_within(err, result, "--dtype");
}

static status take_torch_python(void *to, const char *value, error *err) {
    options *o = to;
    (void)err;
    o->has_run_option = true;
    o->torch_python = value;
    return ASSAY_OK;
}

static status take_folder(void *to, const char *value, error *err) {
    options *o = to;
    o->has_run_option = true;
    o->run.folder = value;
    return cli_folder("--trace-folder", value, err);
}

static status take_top(void *to, const char *value, error *err) {
    options *o = to;
    int64_t n;
    TRY(cli_int("--top", value, 0, INT64_MAX, &n, err));
    o->has_top = true;
    o->n_top = (size_t)n;
    return ASSAY_OK;
}

static status take_label(void *to, const char *value, error *err) {
    (void)err;
    ((options *)to)->trace.label = value;
    return ASSAY_OK;
}

static status take_json(void *to, const char *value, error *err) {
    (void)value;
    (void)err;
    ((options *)to)->json = true;
    return ASSAY_OK;
}

static status take_color(void *to, const char *value, error *err) {
    if (!color_mode_parse(value, &((options *)to)->color)) {
        return fail(err, ASSAY_INVALID, "--color: expected auto, always or never, got '%s'", value);
    }
    return ASSAY_OK;
}

static status take_argument(void *to, const char *value, error *err) {
    options *o = to;
    if (o->n_arguments == countof(o->arguments)) {
        return fail(err, ASSAY_INVALID, "one argument too many: '%s'", value);
    }
    o->arguments[o->n_arguments++] = value;
    return ASSAY_OK;
}

static const cli_option rows[] = {
    {"--wall-time", "S", "take shares of S seconds, for instance of the same program unprofiled", take_wall_time},
    {"--window", "WHICH", "auto: of the trace's own window (the default);\n"
                          "device: from a device's first event to the last", take_window},
    {"--by-operator", NULL, "attribute kernels to the operators that launched them", take_by_operator},
    {"--diff", NULL, "what got slower from trace A to trace B: --diff A B", take_diff},
    {"--run", NULL, "run an operator or a graph unprofiled and profiled, write its trace and read it:\n"
                    "--run OPERATOR INPUT, the input as recorded: ((ARGS...), {KWARGS...}); or --run FILE.graph", take_run},
    {"--backend", "NAME", "with --run: eager, compiled[:autotune|:nofuse|:own-products], reference, torch, inductor or a plug-in's path (eager)", take_backend},
    {"--n", "N", "with --run: runs of each kind, after 5 to warm up (100)", take_runs},
    {"--threads", "N", "with --run: threads for the backend (all CPUs)", take_threads},
    {"--dtype", "TYPE", "with --run: as-recorded, f16, bf16, f32 or f64 (as-recorded)", take_dtype},
    {"--torch-python", "PYTHON", "with --run: whose PyTorch torch and inductor are ($ASSAY_TORCH_PYTHON, else python3)", take_torch_python},
    {"--trace-folder", "DIR", "with --run: where the trace is written, operator_NAME.json.gz (./log)", take_folder},
    {"--top", "N", "list N kernels and operators (20; 0 lists all)", take_top},
    {"--label", "TEXT", "compat counts processes whose label contains TEXT (GPU; with --run CPU)", take_label},
    {"--json", NULL, "one JSON object (docs/utilization.schema.json)", take_json},
    {"--color", "WHEN", "auto, always or never", take_color},
};

static const cli_clash clashes[] = {
    {"--wall-time", "--window --diff --run"},
    {"--window", "--run"}, /* whose shares are of the unprofiled runs' time */
    {"--by-operator", "--diff"}, /* which always does, and has no figures of 'compat' */
    {"--label", "--diff"},
};

static const cli_verb verb = {
    .name = "utilization",
    .summary = "how well a trace's devices were used, by the definitions 'compat' (PyTorch's\n"
               "compute_utilization) and 'strict' (kernels only); docs/utilization.md defines every figure",
    .arguments = "TRACE | --diff A B | --run OPERATOR INPUT | --run FILE.graph",
    .examples = "  assay utilization trace.json.gz --wall-time 0.0243\n"
                "  assay utilization trace.json --by-operator --top 40\n"
                "  assay utilization trace.json --json | jq .strict.utilization\n"
                "  assay utilization --diff before.json.gz after.json.gz\n"
                "  assay utilization --run aten.mm.default '((T([512, 512], f32), T([512, 512], f32)), {})'\n"
                "  assay utilization --run suites/graphs/attention.graph\n",
    .options = rows,
    .n_options = countof(rows),
    .clashes = clashes,
    .n_clashes = countof(clashes),
    .take_argument = take_argument,
};

static bool runs_graph(const options *o) {
    const char *first = o->n_arguments > 0 ? o->arguments[0] : "";
    return o->mode == MODE_RUN && (text_ends_with(first, ".graph") || text_ends_with(first, ".graph.gz"));
}

static status complete(options *o, error *err) {
    if (o->mode != MODE_RUN && o->has_run_option) {
        return fail(err, ASSAY_INVALID, "--backend, --n, --threads, --dtype, --torch-python and --trace-folder go with --run");
    }
    static const char *const wanted[] = {
        [MODE_READ] = "one trace", [MODE_DIFF] = "two traces", [MODE_RUN] = "an operator and its input, or a graph's file"};
    if (o->n_arguments != (o->mode == MODE_READ || runs_graph(o) ? 1 : 2)) {
        return fail(err, ASSAY_INVALID, "expected %s, got %zu argument%s", wanted[o->mode], o->n_arguments,
                    o->n_arguments == 1 ? "" : "s");
    }
    return ASSAY_OK;
}

/* --- reading, running and printing --------------------------------------------------------------------------------------------- */

static utilization_style style_of(const options *o) {
    utilization_style style = {.color = terminal_color(o->color, STDOUT_FILENO),
                               .width = isatty(STDOUT_FILENO) == 1 ? terminal_width(STDOUT_FILENO) : 0,
                               .n_top = DEFAULT_TOP};
    if (o->has_top) {
        style.n_top = o->n_top > 0 && o->n_top < SIZE_MAX / 64 ? o->n_top : SIZE_MAX / 64;
    }
    return style;
}

/* "'CPU 0', 'CPU 1'" and how to have them counted: the label less the number at its end. */
static void print_labels(const trace_figures *f) {
    const char *first = NULL;
    for (size_t i = 0; i < f->n_devices; i++) {
        const char *label = f->devices[i].label;
        if (label != NULL) {
            fprintf(stderr, "%s'%s'", first == NULL ? "; kernels ran in what is labelled " : ", ", label);
            first = first == NULL ? label : first;
        }
    }
    if (first == NULL) {
        fputs(f->n_devices > 0 ? "; where kernels ran there are no labels" : "", stderr);
        return;
    }
    int n = (int)strlen(first);
    while (n > 0 && strchr(" 0123456789", first[n - 1]) != NULL) {
        n--;
    }
    text word = {0}, option = {0};
    text_add_bytes(&word, first, n > 0 ? (size_t)n : strlen(first));
    text_add_shell_word(&option, text_get(&word));
    fprintf(stderr, ": --label %s has it counted", text_get(&option));
    text_clear(&word);
    text_clear(&option);
}

/* With --json the warnings are in the object. */
static void print_warnings(const char *path, const trace_figures *f, bool has_compat) {
    for (int i = 0; i < TRACE_N_WARNINGS; i++) {
        const trace_warnings *w = &f->warnings;
        if (w->count[i] == 0 || (i == TRACE_WARNING_NO_LABEL && !has_compat)) {
            continue;
        }
        fprintf(stderr, "assay utilization: %s: warning: %s", path, trace_warning_text((trace_warning)i));
        if (i == TRACE_WARNING_NO_LABEL) {
            print_labels(f);
        }
        if (w->first_byte[i] > 0) {
            fprintf(stderr, " (%llu, the first at byte %llu)", (unsigned long long)w->count[i],
                    (unsigned long long)w->first_byte[i]);
        }
        fputc('\n', stderr);
    }
}

static void print_figures(const options *o, const char *path, const trace_figures *figures, text *out) {
    const utilization_style style = style_of(o);
    if (o->json) {
        json_writer w = {.out = out, .indent = 2};
        trace_figures_json(&w, path, figures, o->has_top ? o->n_top : 0);
        text_add_char(out, '\n');
    } else {
        print_warnings(path, figures, true);
        utilization_table(out, path, figures, &style);
    }
}

static status read_one(const options *o, arena *memory, text *out, error *err) {
    trace_figures figures;
    TRY(trace_figures_of_file(o->arguments[0], &o->trace, memory, &figures, err));
    print_figures(o, o->arguments[0], &figures, out);
    return ASSAY_OK;
}

static status run_operator(const options *o, arena *memory, text *out, error *err) {
    utilization_run_options how = o->run;
    utilization_result result;
    how.operator_name = o->arguments[0];
    how.input = o->arguments[1];
    how.graph = runs_graph(o) ? o->arguments[0] : NULL;
    how.by_operator = o->trace.by_operator;
    how.label = o->trace.label;
    torch_options torch;
    TRY(cli_torch_options(memory, o->torch_python, &torch, err));
    TRY(cli_torch_file(memory, &torch, o->run.backend, &how.backend, err));
    TRY(utilization_run(&how, memory, &result, err));
    if (!o->json) {
        char plain[32], profiled[32];
        text_addf(out, "%s on %s: a run takes %s, profiled %s (means of %d)\n", how.operator_name, o->run.backend,
                  text_of_ns(plain, result.wall_s * 1e9 / how.n_runs),
                  text_of_ns(profiled, result.profiled_wall_s * 1e9 / how.n_runs), how.n_runs);
    }
    print_figures(o, result.path, &result.figures, out);
    return ASSAY_OK;
}

static status run_diff(const options *o, arena *memory, text *out, error *err) {
    trace_figures figures[2];
    trace_options reading = o->trace;
    reading.by_operator = true;
    for (size_t i = 0; i < countof(figures); i++) {
        TRY(trace_figures_of_file(o->arguments[i], &reading, memory, &figures[i], err));
        if (!o->json && (i == 0 || strcmp(o->arguments[i], o->arguments[0]) != 0)) {
            print_warnings(o->arguments[i], &figures[i], false);
        }
    }
    trace_diff diff;
    utilization_style style = style_of(o);
    TRY(trace_diff_make(&figures[0], &figures[1], memory, &diff, err));
    if (o->json) {
        json_writer w = {.out = out, .indent = 2};
        trace_diff_json(&w, o->arguments[0], o->arguments[1], &diff, o->has_top ? o->n_top : 0);
        text_add_char(out, '\n');
    } else {
        size_t most = diff.n_kernels > diff.n_operators ? diff.n_kernels : diff.n_operators;
        style.n_top = style.n_top < most ? style.n_top : most;
        utilization_diff_table(out, o->arguments[0], o->arguments[1], &diff, &style);
    }
    return ASSAY_OK;
}

int cli_utilization(int argc, char **argv) {
    static status (*const verbs[])(const options *, arena *, text *, error *) = {
        [MODE_READ] = read_one, [MODE_DIFF] = run_diff, [MODE_RUN] = run_operator};
    options o = {.run = {.backend = "eager", .n_runs = DEFAULT_RUNS, .bind = {.dtype = DTYPE_AS_RECORDED}, .folder = "log"}};
    int code = EXIT_OK;
    error err = {0};
    if (!cli_parse(&verb, argc, argv, &o, &code)) {
        return code;
    }
    if (complete(&o, &err) != ASSAY_OK) {
        return cli_fail(verb.name, &err, EXIT_USAGE);
    }
    arena memory = {0};
    text out = {0};
    status result = verbs[o.mode](&o, &memory, &out, &err);
    bool is_unreadable = o.mode != MODE_RUN && result != ASSAY_OK && result != ASSAY_OUT_OF_MEMORY; /* a trace that is asked for */
    if (result == ASSAY_OK && out.failed) {
        result = fail(&err, ASSAY_OUT_OF_MEMORY, "no memory for the output");
    }
    if (result == ASSAY_OK && (fwrite(out.data, 1, out.length, stdout) != out.length || fflush(stdout) != 0)) {
        result = fail(&err, ASSAY_IO, "the output cannot be written: %s", strerror(errno));
    }
    if (result != ASSAY_OK) {
        bool usage = result == ASSAY_NOT_FOUND || result == ASSAY_INVALID || result == ASSAY_PARSE || is_unreadable;
        code = cli_fail(verb.name, &err, usage ? EXIT_USAGE : EXIT_FAILED);
    }
    text_clear(&out);
    arena_clear(&memory);
    return code;
}
