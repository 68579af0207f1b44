/* SPDX-License-Identifier: Apache-2.0 */
/* `assay operators`: options, inputs, the run, and everything that comes out of it. */
#include "base/file.h"
#include "cli/cli.h"
#include "cli/torch.h"
#include "lab/experiment/operators.h"
#include "lab/experiment/suites.h"
#include "lab/measure/clock.h"
#include "lab/record/store.h"
#include "lab/report/operators_csv.h"
#include "lab/report/operators_report.h"
#include "lab/report/progress.h"
#include "lab/report/terminal.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DEFAULT_MIN_TIME_S 0.01
#define DEFAULT_PRECISION 0.02
enum { DEFAULT_REPEATS = 9, PROFILED_REPEATS = 5 };

typedef struct options {
    const char *suite;
    cli_list inputs, ops, skips, backends;
    operators_options run;
    const char *csv, *jsonl;
    color_mode color;
    bool quiet, dry_run;
    const char *torch_python;
    const char *backend_files[countof(((cli_list *)0)->items)];
} options;

/* --- options ------------------------------------------------------------------------------------------------------------------ */

static status take_suite(void *to, const char *value, error *err) {
    const suite *found;
    ((options *)to)->suite = value;
    return suites_find(value, &found, err);
}

static status take_inputs(void *to, const char *value, error *err) {
    return cli_list_add(&((options *)to)->inputs, "--inputs", value, err);
}

static status take_op(void *to, const char *value, error *err) {
    return cli_list_add(&((options *)to)->ops, "--op", value, err);
}

static status take_skip(void *to, const char *value, error *err) {
    return cli_list_add(&((options *)to)->skips, "--skip", value, err);
}

static status take_dtype(void *to, const char *value, error *err) {
    return dtype_mode_find(value, &((options *)to)->run.bind.dtype, err);
}

static status take_device(void *to, const char *value, error *err) {
    (void)to;
    if (strcmp(value, "cpu") != 0) {
        return fail(err, ASSAY_NO_DEVICE, "--device: operators run on 'cpu', got '%s' (`assay list devices`)", value);
    }
    return ASSAY_OK;
}

static status take_backend(void *to, const char *value, error *err) {
    return cli_list_add(&((options *)to)->backends, "--backend", value, err);
}

static status take_torch_python(void *to, const char *value, error *err) {
    (void)err;
    ((options *)to)->torch_python = value;
    return ASSAY_OK;
}

static status take_baseline(void *to, const char *value, error *err) {
    (void)err;
    ((options *)to)->run.baseline = value;
    return ASSAY_OK;
}

static status take_max_samples(void *to, const char *value, error *err) {
    return cli_int("--max-samples", value, 1, INT64_MAX / 2, &((options *)to)->run.max_samples, err);
}

static status take_start(void *to, const char *value, error *err) {
    return cli_int("--start-idx", value, 0, INT64_MAX / 2, &((options *)to)->run.start_index, err);
}

static status take_repeats(void *to, const char *value, error *err) {
    int64_t n;
    TRY(cli_int("--repeats", value, 0, 100000, &n, err));
    ((options *)to)->run.repeats = (int)n;
    return ASSAY_OK;
}

static status take_precision(void *to, const char *value, error *err) {
    return cli_double("--precision", value, 0, 1, &((options *)to)->run.precision, err);
}

static status take_min_time(void *to, const char *value, error *err) {
    return cli_double("--min-time", value, 0, 3600, &((options *)to)->run.min_time_s, err);
}

static status take_timeout(void *to, const char *value, error *err) {
    return cli_double("--sample-timeout", value, 0.1, 1e6, &((options *)to)->run.timeout_s, err);
}

static status take_max_memory(void *to, const char *value, error *err) {
    return cli_bytes("--max-memory", value, &((options *)to)->run.max_memory_bytes, err);
}

static status take_checking(void *to, const char *value, error *err) {
    (void)value;
    (void)err;
    ((options *)to)->run.check_accuracy = true;
    return ASSAY_OK;
}

static status take_no_checking(void *to, const char *value, error *err) {
    (void)value;
    (void)err;
    ((options *)to)->run.check_accuracy = false;
    return ASSAY_OK;
}

static status take_channels_last(void *to, const char *value, error *err) {
    (void)value;
    (void)err;
    ((options *)to)->run.bind.channels_last = true;
    return ASSAY_OK;
}

static status take_cache(void *to, const char *value, error *err) {
    static const char *const words[] = {"warm", "cold"};
    size_t i;
    TRY(cli_word("--cache", value, words, countof(words), &i, err));
    ((options *)to)->run.cold_cache = i == 1;
    return ASSAY_OK;
}

static status take_threads(void *to, const char *value, error *err) {
    int64_t n;
    TRY(cli_int("--threads", value, 1, 4096, &n, err));
    ((options *)to)->run.threads = (int)n;
    return ASSAY_OK;
}

static status take_seed(void *to, const char *value, error *err) {
    int64_t n;
    TRY(cli_int("--seed", value, 0, INT64_MAX, &n, err));
    ((options *)to)->run.seed = (uint64_t)n;
    return ASSAY_OK;
}

static status take_dry_run(void *to, const char *value, error *err) {
    (void)value;
    (void)err;
    ((options *)to)->dry_run = true;
    return ASSAY_OK;
}

static status take_csv(void *to, const char *value, error *err) {
    (void)err;
    ((options *)to)->csv = value;
    return ASSAY_OK;
}

static status take_jsonl(void *to, const char *value, error *err) {
    (void)err;
    ((options *)to)->jsonl = value;
    return ASSAY_OK;
}

static status take_save(void *to, const char *value, error *err) {
    (void)err;
    ((options *)to)->run.save_directory = value;
    return ASSAY_OK;
}

static status take_profile(void *to, const char *value, error *err) {
    (void)err;
    ((options *)to)->run.profile_directory = value;
    return ASSAY_OK;
}

static status take_quiet(void *to, const char *value, error *err) {
    (void)value;
    (void)err;
    ((options *)to)->quiet = true;
    return ASSAY_OK;
}

static status take_color(void *to, const char *value, error *err) {
    if (!color_mode_parse(value, &((options *)to)->color)) {
        return fail(err, ASSAY_INVALID, "--color: expected auto, always or never, got '%s'", value);
    }
    return ASSAY_OK;
}

static const cli_option rows[] = {
    {"--suite", "NAME", "recorded inputs by name: huggingface, timm, torchbench, graphs, embedded\n"
                        "(default: torchbench if its files are found, else embedded)", take_suite},
    {"--inputs", "FILE|DIR", "recorded inputs and graphs (*.graph) from files, folders or '-'; .gz is read;\nmay be repeated", take_inputs},
    {"--op", "GLOB", "only operators that match: 'aten.mm.default', 'add*', '*softmax*'; may be repeated", take_op},
    {"--skip", "GLOB", "leave out operators that match; may be repeated", take_skip},
    {"--dtype", "TYPE", "as-recorded, f16, bf16, f32 or f64: what floating-point tensors become (f32)", take_dtype},
    {"--device", "NAME", "cpu", take_device},
    {"--backend", "NAME", "eager, compiled[:autotune|:nofuse|:own-products], reference, torch, inductor[:OPTIONS]\nor a plug-in (./LIB.so); NAME:again is a built-in one once more; may be repeated (eager)", take_backend},
    {"--torch-python", "PYTHON", "whose PyTorch torch and inductor are ($ASSAY_TORCH_PYTHON, else python3)", take_torch_python},
    {"--baseline", "NAME", "the backend that speed-ups are over (eager)", take_baseline},
    {"--max-samples", "N", "inputs per operator (15)", take_max_samples},
    {"--start-idx", "N", "begin with input N of each operator (0)", take_start},
    {"--repeats", "N", "samples of each input on each backend (at least 9, see --precision); 0: run once, check, time nothing",
     take_repeats},
    {"--precision", "P", "more samples, within a quarter of a second, until each ratio to the baseline is known to\n"
                         "+-P (0.02); 0, or --repeats without it: as many as --repeats says", take_precision},
    {"--min-time", "S", "seconds that the samples of one input last together, at least (0.01)", take_min_time},
    {"--sample-timeout", "S", "seconds that one stage of one input may take (60)", take_timeout},
    {"--max-memory", "BYTES", "skip inputs that need more (80% of what is free)", take_max_memory},
    {"--accuracy-checking", NULL, "check every result against the reference (default)", take_checking},
    {"--no-accuracy-checking", NULL, "do not", take_no_checking},
    {"--channels-last", NULL, "lay out tensors of 4 dimensions NHWC", take_channels_last},
    {"--cache", "cold|warm", "empty the caches before each sample, or not (warm)", take_cache},
    {"--threads", "N", "threads for each backend (all CPUs)", take_threads},
    {"--seed", "N", "of input values and random operators (0)", take_seed},
    {"--dry-run", NULL, "list what would be measured", take_dry_run},
    {"--csv", "FILE|-", "write speed-ups per operator as CSV", take_csv},
    {"--jsonl", "FILE|-", "write one record per input and backend as JSON lines", take_jsonl},
    {"--save", "DIR", "write inputs and outputs as .npy with a manifest", take_save},
    {"--profile", "DIR", "write a chrome trace of each operator, DIR/operator_NAME.json.gz; recording lengthens what is\n"
                         "measured, and --min-time is then 0 unless it is given", take_profile},
    {"--quiet", NULL, "no progress, no table", take_quiet},
    {"--color", "WHEN", "auto, always or never", take_color},
};

static const cli_verb verb = {
    .name = "operators",
    .summary = "replay recorded operator inputs on every backend, check and time them",
    .arguments = "",
    .examples = "  assay operators                              the default suite on the eager backend\n"
                "  assay operators --suite embedded --max-samples 1 --csv speedups.csv --jsonl records.jsonl\n"
                "  assay operators --inputs hf_train --op '*softmax*' --dtype bf16\n"
                "  assay operators --backend eager --backend compiled --backend compiled:autotune\n"
                "  assay operators --inputs suites/graphs --op '*backward'\n"
                "  assay operators --backend eager --backend ./libmine.so --baseline eager\n"
                "  ASSAY_SUITES=~/operator_inp_logs assay operators --suite timm --op 'aten.convolution*'\n",
    .options = rows,
    .n_options = countof(rows),
};

static status complete(options *o, const machine_facts *m, error *err) {
    if (o->suite != NULL && o->inputs.n > 0) {
        return fail(err, ASSAY_INVALID, "--suite and --inputs exclude each other");
    }
    if (o->csv != NULL && o->jsonl != NULL && strcmp(o->csv, o->jsonl) == 0) {
        return fail(err, ASSAY_INVALID, "--csv and --jsonl cannot both go to %s",
                    strcmp(o->csv, "-") == 0 ? "standard output" : o->csv);
    }
    if (o->run.repeats == 0 && !o->run.check_accuracy) {
        return fail(err, ASSAY_INVALID, "--repeats 0 with --no-accuracy-checking leaves nothing to do");
    }
    if (o->backends.n == 0) {
        o->backends.items[o->backends.n++] = "eager";
    }
    if (o->run.baseline == NULL) {
        o->run.baseline = "eager";
    }
    bool has_baseline = false;
    for (size_t i = 0; i < o->backends.n; i++) {
        has_baseline = has_baseline || strcmp(o->backends.items[i], o->run.baseline) == 0;
    }
    bool built_in = strcmp(o->run.baseline, "eager") == 0 || strcmp(o->run.baseline, "reference") == 0 ||
                    strcmp(o->run.baseline, "torch") == 0;
    if (!has_baseline && built_in) { /* a speed-up needs something to be over */
        TRY(cli_list_add(&o->backends, "--backend", o->run.baseline, err));
    }
    o->run.threads = o->run.threads > 0 ? o->run.threads : m->usable_cpus > 0 ? m->usable_cpus : 1;
    if (o->run.max_memory_bytes == 0) {
        int64_t usable = machine_usable_memory_bytes(m);
        o->run.max_memory_bytes = usable > 0 ? 0.8 * (double)usable : 0x1p32;
    }
    if (o->run.min_time_s < 0) { /* not given; a trace need not show a call ten thousand times */
        o->run.min_time_s = o->run.profile_directory != NULL ? 0 : DEFAULT_MIN_TIME_S;
    }
    bool is_counted = o->run.repeats >= 0 || o->run.profile_directory != NULL;
    if (o->run.precision < 0) { /* who says how many means so many; a trace shows them all */
        o->run.precision = is_counted ? 0 : DEFAULT_PRECISION;
    }
    if (o->run.repeats < 0) {
        o->run.repeats = o->run.profile_directory != NULL ? PROFILED_REPEATS : DEFAULT_REPEATS;
    }
    o->run.ops = o->ops.items;
    o->run.n_ops = o->ops.n;
    o->run.skips = o->skips.items;
    o->run.n_skips = o->skips.n;
    o->run.backends = o->backends.items;
    o->run.n_backends = o->backends.n;
    o->run.version = ASSAY_VERSION;
    o->run.machine = m;
    return ASSAY_OK;
}

/* --- inputs --------------------------------------------------------------------------------------------------------------------- */

static status read_inputs(arena *memory, options *o, inputs *set, error *err) {
    text repro = {0};
    const char *search = getenv("ASSAY_SUITES");
    status result = ASSAY_OK;
    if (o->inputs.n == 0) {
        const suite *which = suites_default(search);
        if (o->suite != NULL) {
            result = suites_find(o->suite, &which, err);
        }
        text_addf(&repro, "--suite %s", which->name);
        result = result == ASSAY_OK ? suites_read(set, which, search, err) : result;
    }
    for (size_t i = 0; result == ASSAY_OK && i < o->inputs.n; i++) {
        text_add(&repro, i > 0 ? " --inputs " : "--inputs ");
        text_add_shell_word(&repro, o->inputs.items[i]);
        result = inputs_read_path(set, o->inputs.items[i], err);
    }
    o->run.repro_inputs = arena_text(memory, text_get(&repro), repro.length);
    text_clear(&repro);
    return result == ASSAY_OK && o->run.repro_inputs == NULL ? fail(err, ASSAY_OUT_OF_MEMORY, "no memory") : result;
}

static void print_diagnostics(const inputs *set) {
    enum { MOST = 20 };
    text out = {0};
    for (size_t i = 0; i < set->n_diagnostics && i < MOST; i++) {
        inputs_diagnostic_print(&set->diagnostics[i], &out);
    }
    if (set->n_diagnostics > MOST) {
        text_addf(&out, "... and %zu more\n", set->n_diagnostics - MOST);
    }
    if (set->n_bad_lines > 0) {
        text_addf(&out, "assay operators: %zu line%s left out\n", set->n_bad_lines, set->n_bad_lines == 1 ? " is" : "s are");
    }
    fputs(text_get(&out), stderr);
    text_clear(&out);
}

static void print_points(const operators_point *points, size_t n) {
    for (size_t i = 0; i < n; i++) {
        bool is_graph = points[i].in->graph != NULL;
        printf("%s[%" PRId64 "]%s  calls %" PRId64 "  %s\n", points[i].recorded->name, points[i].sample_index,
               points[i].o == NULL && !is_graph ? " (unknown operator)" : "", points[i].in->n_calls,
               is_graph ? points[i].in->file->path : points[i].in->text);
    }
    printf("%zu inputs would be measured\n", n);
}

/* --- the run -------------------------------------------------------------------------------------------------------------------- */

typedef struct sink {
    arena *memory;
    const options *o;
    record *records;
    size_t n, capacity;
    record_store store;
    progress bar;
    lab_clock clock;
    size_t n_points;
    int64_t n_failed;
    text line; /* bytes for the terminal */
} sink;

static void flush_line(sink *s) {
    if (s->line.length > 0) {
        fwrite(text_get(&s->line), 1, s->line.length, stderr);
        fflush(stderr);
    }
    text_reset(&s->line);
}

static status on_record(void *self, const record *r, const char *line, size_t n, error *err) {
    sink *s = self;
    if (s->n == s->capacity) {
        size_t capacity = s->capacity == 0 ? 1024 : 2 * s->capacity;
        record *grown = realloc(s->records, capacity * sizeof *grown);
        if (grown == NULL) {
            return fail(err, ASSAY_OUT_OF_MEMORY, "no memory for %zu records", capacity);
        }
        s->records = grown;
        s->capacity = capacity;
    }
    s->records[s->n++] = *r;
    s->n_failed += r->status == RECORD_FAILED || r->status == RECORD_MISMATCH || r->status == RECORD_TIMEOUT;
    return s->o->jsonl != NULL ? store_append_line(&s->store, line, n, err) : ASSAY_OK;
}

static void on_progress(void *self, size_t point, const operators_point *at) {
    sink *s = self;
    progress_state state = {.done = (int64_t)point,
                            .label = at->recorded->name,
                            .sample = at->sample + 1,
                            .n_samples = at->n_samples,
                            .n_failed = s->n_failed,
                            .width = terminal_width(STDERR_FILENO)};
    progress_draw(&s->bar, &state, clock_now_ns(&s->clock), &s->line);
    flush_line(s);
}

static int exit_code_of(const sink *s, const operators_outcome *outcome, const inputs *set) {
    bool failed = false, mismatch = false;
    for (size_t i = 0; i < s->n; i++) {
        failed = failed || s->records[i].status == RECORD_FAILED || s->records[i].status == RECORD_TIMEOUT;
        mismatch = mismatch || s->records[i].status == RECORD_MISMATCH;
    }
    return outcome->interrupted          ? EXIT_INTERRUPTED
           : mismatch                    ? EXIT_MISMATCH
           : failed                      ? EXIT_FAILED
           : set->n_diagnostics > 0      ? EXIT_USAGE
                                         : EXIT_OK;
}

static status write_text(const char *path, const text *content, error *err) {
    if (strcmp(path, "-") != 0) {
        return file_write(path, text_get(content), content->length, err);
    }
    bool written = fwrite(text_get(content), 1, content->length, stdout) == content->length && fflush(stdout) == 0;
    return written ? ASSAY_OK : fail(err, ASSAY_IO, "standard output cannot be written");
}

static bool stdout_is_taken(const options *o) {
    return (o->csv != NULL && strcmp(o->csv, "-") == 0) || (o->jsonl != NULL && strcmp(o->jsonl, "-") == 0);
}

/* Summary lines close the JSONL, the CSV is written, the table printed. */
static status write_results(sink *s, error *err) {
    operators_group group;
    text out = {0};
    TRY(operators_group_make(s->memory, s->records, s->n, &group, err));
    status result = ASSAY_OK;
    if (s->o->jsonl != NULL) {
        result = operators_summary_lines(s->memory, &group, &out, err);
        result = result == ASSAY_OK ? store_append_line(&s->store, text_get(&out), out.length, err) : result;
        result = result == ASSAY_OK ? store_finish(&s->store, err) : result;
    }
    if (result == ASSAY_OK && s->o->csv != NULL) {
        text_reset(&out);
        result = operators_csv(s->memory, &group, &out, err);
        result = result == ASSAY_OK ? write_text(s->o->csv, &out, err) : result;
    }
    if (result == ASSAY_OK && !s->o->quiet && !stdout_is_taken(s->o)) {
        operators_report_options shown = {.color = terminal_color(s->o->color, STDOUT_FILENO),
                                          .max_width = terminal_width(STDOUT_FILENO)};
        text_reset(&out);
        result = operators_report(s->memory, &group, &shown, &out, err);
        result = result == ASSAY_OK ? write_text("-", &out, err) : result;
    }
    text_clear(&out);
    return result;
}

/* Names that stand for plug-ins are looked up when it is sure that something will be measured. */
static status find_plugins(arena *memory, options *o, error *err) {
    torch_options torch;
    TRY(cli_torch_options(memory, o->torch_python, &torch, err));
    for (size_t i = 0; i < o->backends.n; i++) {
        TRY(cli_torch_file(memory, &torch, o->backends.items[i], &o->backend_files[i], err));
    }
    o->run.backend_files = o->backend_files;
    return ASSAY_OK;
}

static status measure(sink *s, const operators_point *points, size_t n, operators_outcome *outcome, error *err) {
    const options *o = s->o;
    const operators_backend *backends;
    TRY(operators_probe(s->memory, &o->run, &backends, err));
    if (o->jsonl != NULL) {
        TRY(store_open(&s->store, o->jsonl, err));
    }
    bool live = !o->quiet && terminal_is_live(STDERR_FILENO);
    s->clock = clock_monotonic();
    s->bar = progress_make((int64_t)n, live, terminal_color(o->color, STDERR_FILENO), clock_now_ns(&s->clock));
    operators_events events = {.on_record = on_record, .on_progress = on_progress, .arg = s};
    status result = operators_run(s->memory, &o->run, backends, points, n, &events, outcome, err);
    progress_hide(&s->bar, &s->line);
    flush_line(s);
    if (result == ASSAY_OK) {
        result = write_results(s, err);
    }
    if (result != ASSAY_OK) {
        store_abandon(&s->store);
    }
    return result;
}

static int run(arena *memory, options *o, const op_table *table, inputs *set) {
    error err = {0};
    const operators_point *points;
    size_t n;
    if (read_inputs(memory, o, set, &err) != ASSAY_OK) {
        return cli_fail(verb.name, &err, EXIT_USAGE);
    }
    print_diagnostics(set);
    if (operators_select(memory, table, set, &o->run, &points, &n, &err) != ASSAY_OK) {
        return cli_fail(verb.name, &err, EXIT_USAGE);
    }
    if (o->dry_run) {
        print_points(points, n);
        return set->n_diagnostics > 0 ? EXIT_USAGE : EXIT_OK;
    }
    sink s = {.memory = memory, .o = o, .n_points = n};
    operators_outcome outcome = {0};
    status result = find_plugins(memory, o, &err);
    result = result == ASSAY_OK ? measure(&s, points, n, &outcome, &err) : result;
    int code = exit_code_of(&s, &outcome, set);
    if (result != ASSAY_OK) {
        bool usage = result == ASSAY_NOT_FOUND || result == ASSAY_INVALID || result == ASSAY_UNSUPPORTED;
        code = cli_fail(verb.name, &err, usage ? EXIT_USAGE : EXIT_FAILED);
    } else if (outcome.interrupted) {
        fprintf(stderr, "assay operators: interrupted; %zu of %zu inputs were measured\n", outcome.points_done, n);
    }
    text_clear(&s.line);
    free(s.records);
    return code;
}

int cli_operators(int argc, char **argv) {
    options o = {.run = {.bind = {.dtype = DTYPE_F32},
                         .max_samples = 15,
                         .repeats = -1,
                         .precision = -1,
                         .min_time_s = -1,
                         .timeout_s = 60,
                         .check_accuracy = true}};
    int code = EXIT_OK;
    if (!cli_parse(&verb, argc, argv, &o, &code)) {
        return code;
    }
    arena memory = {0};
    machine_facts machine;
    op_table *table = NULL;
    inputs set = {0};
    error err = {0};
    if (machine_read(&memory, "", &machine, &err) != ASSAY_OK || op_table_new(&table, &err) != ASSAY_OK) {
        code = cli_fail(verb.name, &err, EXIT_FAILED);
    } else if (complete(&o, &machine, &err) != ASSAY_OK) {
        code = cli_fail(verb.name, &err, EXIT_USAGE);
    } else {
        set.table = table;
        code = run(&memory, &o, table, &set);
    }
    inputs_clear(&set);
    op_table_free(table);
    arena_clear(&memory);
    return code;
}
