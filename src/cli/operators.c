/* SPDX-License-Identifier: Apache-2.0 */
/* `assay operators`: inputs, the run, and everything that comes out of it. */
#include "cli/operators_command.h"
#include "cli/operators_results.h"
#include "cli/torch.h"
#include "engine/backend/backend.h"
#include "lab/experiment/operators.h"
#include "lab/experiment/suites.h"
#include "lab/measure/clock.h"
#include "lab/report/progress.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* --- inputs --------------------------------------------------------------------------------------------------------------------- */

static const char *set_variable(const char *name) {
    const char *value = getenv(name);
    return value != NULL && value[0] != '\0' ? value : NULL;
}

/* Who named no suite, or a wrong place for them, sees which one it was. */
static const char *source_of(arena *memory, const operators_command *o, const suite *which) {
    if (which == NULL) {
        size_t n_more = o->inputs.n - 1;
        return n_more > 0 ? arena_format(memory, "inputs %s and %zu more", o->inputs.items[0], n_more)
                          : arena_format(memory, "inputs %s", o->inputs.items[0]);
    }
    bool is_second = o->suite == NULL && which->folder == NULL;
    return arena_format(memory, "suite %s%s", which->name, is_second ? " (torchbench was not found)" : "");
}

static status read_inputs(arena *memory, operators_command *o, inputs *set, error *err) {
    text repro = {0};
    operators_repro *say = &o->run.repro;
    const char *search = getenv("ASSAY_SUITES");
    status result = ASSAY_OK;
    if (o->inputs.n == 0) {
        const suite *which = suites_default(search);
        if (o->suite != NULL) {
            result = suites_find(o->suite, &which, err);
        }
        text_addf(&repro, "--suite %s", which->name);
        say->suites_place = which->folder != NULL ? set_variable("ASSAY_SUITES") : NULL;
        result = result == ASSAY_OK ? suites_read(set, which, search, err) : result;
        o->source = source_of(memory, o, which);
    } else {
        o->source = source_of(memory, o, NULL);
    }
    for (size_t i = 0; result == ASSAY_OK && i < o->inputs.n; i++) {
        text_add(&repro, i > 0 ? " --inputs " : "--inputs ");
        text_add_shell_word(&repro, o->inputs.items[i]);
        say->has_files = true;
        say->reads_standard = say->reads_standard || strcmp(o->inputs.items[i], "-") == 0;
        result = inputs_read_path(set, o->inputs.items[i], err);
    }
    say->inputs = repro.failed ? NULL : arena_text(memory, text_get(&repro), repro.length);
    say->compiler = set_variable("ASSAY_CC");
    say->torch_python = o->torch_python;
    say->torch_place = set_variable("ASSAY_TORCH_PYTHON");
    text_clear(&repro);
    return result == ASSAY_OK && say->inputs == NULL ? fail(err, ASSAY_OUT_OF_MEMORY, "no memory") : result;
}

static void print_diagnostics(const inputs *set) {
    enum { MOST = 20 };
    text out = {0}, left = {0};
    for (size_t i = 0; i < set->n_diagnostics && i < MOST; i++) {
        inputs_diagnostic_print(&set->diagnostics[i], &out);
    }
    if (set->n_diagnostics > MOST) {
        text_addf(&out, "... and %zu more\n", set->n_diagnostics - MOST);
    }
    if (set->n_bad_lines > 0) {
        text_addf(&left, "%zu line%s", set->n_bad_lines, set->n_bad_lines == 1 ? "" : "s");
    }
    if (set->n_bad_files > 0) {
        text_addf(&left, "%s%zu file%s", left.length > 0 ? " and " : "", set->n_bad_files, set->n_bad_files == 1 ? "" : "s");
    }
    if (left.length > 0) {
        bool is_one = set->n_bad_lines + set->n_bad_files == 1;
        text_addf(&out, "assay operators: %s %s left out\n", text_get(&left), is_one ? "is" : "are");
    }
    fputs(text_get(&out), stderr);
    text_clear(&left);
    text_clear(&out);
}

/* Which option leaves no input: the selection is made again without it. */
static status fail_empty(arena *memory, const op_table *table, const inputs *set, const operators_command *o, error *err) {
    operators_options all = o->run;
    const operators_point *points;
    size_t n = 0;
    int64_t most = 0;
    all.start_index = 0;
    TRY(operators_select(memory, table, set, &all, &points, &n, err));
    for (size_t i = 0; i < n; i++) {
        most = (int64_t)points[i].recorded->n_items > most ? (int64_t)points[i].recorded->n_items : most;
    }
    return n > 0 ? fail(err, ASSAY_INVALID, "no input is left: --start-idx %" PRId64 " passes over all of them, an operator has %" PRId64
                                            " at most, counted from 0", o->run.start_index, most)
                 : fail(err, ASSAY_INVALID, "no input is left: --skip leaves out all that %s", o->run.n_ops > 0 ? "--op chooses" : "there are");
}

static status select_points(arena *memory, const op_table *table, const inputs *set, const operators_command *o,
                            const operators_point **points, size_t *n, error *err) {
    TRY(operators_select(memory, table, set, &o->run, points, n, err));
    return *n > 0 ? ASSAY_OK : fail_empty(memory, table, set, o, err);
}

static const char *plural(size_t n) {
    return n == 1 ? "" : "s";
}

/* False where a run would end with failures: what is unknown or too large is none. */
static bool print_points(const op_table *table, const operators_command *o, const operators_point *points, size_t n) {
    size_t n_wrong = 0, n_large = 0, n_failing = 0;
    for (size_t i = 0; i < n; i++) {
        arena memory = {0};
        const char *reason = NULL;
        const char *what = points[i].in->graph != NULL ? points[i].in->file->path : points[i].in->text;
        text out = {0};
        status checked = operators_check(&memory, table, &o->run, &points[i], &reason);
        text_addf(&out, "%s[%" PRId64 "]  calls %" PRId64 "  ", points[i].recorded->name, points[i].sample_index, points[i].in->n_calls);
        text_add_shown(&out, what, strlen(what));
        if (checked != ASSAY_OK) {
            text_addf(&out, "\n    %s: ", checked == ASSAY_TOO_LARGE ? "would be skipped" : "cannot be measured");
            text_add_shown(&out, reason, strlen(reason));
        }
        puts(text_get(&out));
        text_clear(&out);
        n_large += checked == ASSAY_TOO_LARGE;
        n_wrong += checked != ASSAY_OK && checked != ASSAY_TOO_LARGE;
        n_failing += checked != ASSAY_OK && checked != ASSAY_TOO_LARGE && checked != ASSAY_UNSUPPORTED;
        arena_clear(&memory);
    }
    size_t n_well = n - n_wrong - n_large;
    printf("%zu input%s would be measured", n_well, plural(n_well));
    if (n_wrong > 0) {
        printf(", %zu cannot be", n_wrong);
    }
    if (n_large > 0) {
        printf(", %zu would be skipped", n_large);
    }
    putchar('\n');
    return n_failing == 0;
}

/* --- the run -------------------------------------------------------------------------------------------------------------------- */

typedef struct sink {
    arena *memory;
    const operators_command *o;
    record *records;
    size_t n, capacity;
    results results;
    progress bar;
    lab_clock clock;
    int64_t n_failed;
    text line; /* bytes for the terminal */
    bool is_warned; /* that compiled code is not kept */
} sink;

static void flush_line(sink *s) {
    if (s->line.length > 0) {
        fwrite(text_get(&s->line), 1, s->line.length, stderr);
        fflush(stderr);
    }
    text_reset(&s->line);
}

/* Once: all that is compiled is compiled again by the next run. */
static void warn_of_cache(sink *s, const record *r) {
    const char *code = r->note != NULL ? strstr(r->note, PLAN_CODE_NOT_KEPT) : NULL;
    const char *said = code == NULL && r->note != NULL ? strstr(r->note, PLAN_CHOICE_NOT_KEPT) : code;
    if (!s->is_warned && said != NULL) {
        s->is_warned = true;
        progress_hide(&s->bar, &s->line);
        flush_line(s);
        fprintf(stderr, "assay operators: warning: %s\n", said);
    }
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
    warn_of_cache(s, r);
    s->n_failed += r->status == RECORD_FAILED || r->status == RECORD_MISMATCH || r->status == RECORD_TIMEOUT;
    status added = results_add(&s->results, line, n, err);
    if (added == ASSAY_IO && results_has_others(&s->results)) {
        progress_hide(&s->bar, &s->line);
        flush_line(s);
        results_say_lost(&s->results, err);
        return ASSAY_OK;
    }
    return added;
}

static void on_progress(void *self, const operators_progress *where) {
    sink *s = self;
    progress_state state = {.done = (int64_t)where->point,
                            .label = where->at->recorded->name,
                            .sample = where->at->sample + 1,
                            .n_samples = where->at->n_samples,
                            .n_failed = s->n_failed,
                            .stage = where->stage,
                            .backend = where->backend,
                            .stage_s = where->stage_s,
                            .width = terminal_width(STDERR_FILENO)};
    progress_draw(&s->bar, &state, clock_now_ns(&s->clock), &s->line);
    flush_line(s);
}

/* What is shown without the table still says what the exit code is about, and that there is nothing to see in the files. */
static void say_failures(const sink *s, int code) {
    static const struct {
        record_status status;
        const char *words;
    } kinds[] = {{RECORD_FAILED, "failed"}, {RECORD_TIMEOUT, "ran out of time"}, {RECORD_MISMATCH, "differed from the reference"},
                 {RECORD_SKIPPED, "skipped"}, {RECORD_UNSUPPORTED, "unsupported"}};
    enum { N_BAD = 3 };
    size_t counts[RECORD_STATUS_COUNT] = {0};
    const record *first = NULL;
    for (size_t i = 0; i < s->n; i++) {
        counts[s->records[i].status]++;
    }
    bool any_bad = counts[RECORD_FAILED] + counts[RECORD_TIMEOUT] + counts[RECORD_MISMATCH] > 0;
    if (s->n == 0 || (!any_bad && counts[RECORD_OK] > 0)) {
        return;
    }
    for (size_t i = 0; i < s->n && first == NULL; i++) {
        const record_status how = s->records[i].status;
        bool is_bad = how == RECORD_FAILED || how == RECORD_TIMEOUT || how == RECORD_MISMATCH;
        first = is_bad || !any_bad ? &s->records[i] : NULL;
    }
    fprintf(stderr, any_bad ? "assay operators: of %zu result%s" : "assay operators: nothing ran, of %zu result%s", s->n, plural(s->n));
    for (size_t i = any_bad ? 0 : N_BAD, n = 0; i < (any_bad ? N_BAD : countof(kinds)); i++) {
        if (counts[kinds[i].status] > 0) {
            fprintf(stderr, "%s %zu %s", n++ > 0 ? "," : "", counts[kinds[i].status], kinds[i].words);
        }
    }
    const char *reason = first->reason != NULL ? first->reason : "no reason was recorded";
    text shown = {0};
    text_add_shown(&shown, reason, strcspn(reason, "\n"));
    fprintf(stderr, " (exit code %d), the first %s[%" PRId64 "] on %s: %s\n", code, first->operator_name, first->sample_index, first->backend,
            text_get(&shown));
    text_clear(&shown);
}

static int exit_code_of(const sink *s, const operators_outcome *outcome, const inputs *set) {
    bool failed = false, mismatch = false;
    for (size_t i = 0; i < s->n; i++) {
        failed = failed || s->records[i].status == RECORD_FAILED || s->records[i].status == RECORD_TIMEOUT;
        mismatch = mismatch || s->records[i].status == RECORD_MISMATCH;
    }
    return outcome->interrupted           ? EXIT_INTERRUPTED
           : mismatch                     ? EXIT_MISMATCH
           : failed || s->results.is_lost ? EXIT_FAILED
           : set->n_diagnostics > 0       ? EXIT_USAGE
                                          : EXIT_OK;
}

/* Names that stand for plug-ins are looked up when it is sure that something will be measured. */
static status find_plugins(arena *memory, operators_command *o, error *err) {
    torch_options torch;
    TRY(cli_torch_options(memory, o->torch_python, &torch, err));
    for (size_t i = 0; i < o->backends.n; i++) {
        TRY(cli_torch_file(memory, &torch, o->backends.items[i], &o->backend_files[i], err));
    }
    o->run.backend_files = o->backend_files;
    return ASSAY_OK;
}

static status measure(sink *s, const operators_point *points, size_t n, operators_outcome *outcome, error *err) {
    const operators_command *o = s->o;
    const operators_backend *backends;
    TRY(operators_probe(s->memory, &o->run, &backends, err));
    TRY(results_open(&s->results, o, err));
    bool live = !o->quiet && terminal_is_live(STDERR_FILENO);
    s->clock = clock_monotonic();
    s->bar = progress_make((int64_t)n, live, terminal_color(o->color, STDERR_FILENO), clock_now_ns(&s->clock));
    operators_events events = {.on_record = on_record, .on_progress = on_progress, .arg = s};
    status result = operators_run(s->memory, &o->run, backends, points, n, &events, outcome, err);
    progress_hide(&s->bar, &s->line);
    flush_line(s);
    if (result == ASSAY_OK) {
        result = results_finish(&s->results, s->memory, s->records, s->n, err);
    }
    if (result != ASSAY_OK) {
        results_abandon(&s->results);
    }
    return result;
}

static int run(arena *memory, operators_command *o, const op_table *table, inputs *set) {
    error err = {0};
    const operators_point *points;
    size_t n;
    status fits = results_check(o, &err);
    if (fits != ASSAY_OK) {
        return cli_fail("operators", &err, fits == ASSAY_IO ? EXIT_FAILED : EXIT_USAGE);
    }
    if (read_inputs(memory, o, set, &err) != ASSAY_OK) {
        return cli_fail("operators", &err, EXIT_USAGE);
    }
    print_diagnostics(set);
    if (results_check_inputs(o, set, &err) != ASSAY_OK || select_points(memory, table, set, o, &points, &n, &err) != ASSAY_OK) {
        return cli_fail("operators", &err, EXIT_USAGE);
    }
    if (o->dry_run) {
        bool is_well = print_points(table, o, points, n);
        return !is_well ? EXIT_FAILED : set->n_diagnostics > 0 ? EXIT_USAGE : EXIT_OK;
    }
    sink s = {.memory = memory, .o = o};
    operators_outcome outcome = {0};
    status result = find_plugins(memory, o, &err);
    result = result == ASSAY_OK ? measure(&s, points, n, &outcome, &err) : result;
    int code = exit_code_of(&s, &outcome, set);
    if (result != ASSAY_OK) {
        code = cli_fail("operators", &err, cli_exit_code(result));
    } else if (outcome.interrupted) {
        fprintf(stderr, "assay operators: interrupted; %zu of %zu input%s measured\n", outcome.points_done, n, n == 1 ? " was" : "s were");
    } else if (outcome.end != NULL) {
        fprintf(stderr, "assay operators: the measuring process: %s\n", outcome.end);
        code = code == EXIT_OK ? EXIT_FAILED : code;
    }
    if (result == ASSAY_OK && outcome.unsaved > 0) {
        fprintf(stderr, "assay operators: --save lacks %d file%s of its manifest: %s\n", outcome.unsaved, outcome.unsaved == 1 ? " or line" : "s or lines", outcome.why);
        code = code == EXIT_OK ? EXIT_FAILED : code;
    }
    if (!results_show_table(o)) {
        say_failures(&s, code);
    }
    text_clear(&s.line);
    free(s.records);
    return code;
}

int cli_operators(int argc, char **argv) {
    operators_command o;
    int code = EXIT_OK;
    if (!operators_command_parse(argc, argv, &o, &code)) {
        return code;
    }
    arena memory = {0};
    machine_facts machine;
    op_table *table = NULL;
    inputs set = {0};
    error err = {0};
    if (machine_read(&memory, "", &machine, &err) != ASSAY_OK || op_table_new(&table, &err) != ASSAY_OK) {
        code = cli_fail("operators", &err, EXIT_FAILED);
    } else if (operators_command_complete(&o, &machine, &err) != ASSAY_OK) {
        code = cli_fail("operators", &err, EXIT_USAGE);
    } else {
        set.table = table;
        code = run(&memory, &o, table, &set);
    }
    inputs_clear(&set);
    op_table_free(table);
    arena_clear(&memory);
    return code;
}
