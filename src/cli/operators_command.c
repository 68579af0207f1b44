/* SPDX-License-Identifier: Apache-2.0 */
/* The options of `assay operators`, and what is meant where one is not given. */
#include "cli/operators_command.h"

#include "base/text.h"
#include "engine/backend/backend.h"
#include "lab/experiment/suites.h"
#include "lab/experiment/torch_plugin.h"
#include "lab/experiment/workload.h"

#include <string.h>

#define DEFAULT_MIN_TIME_S 0.01
#define DEFAULT_PRECISION 0.02
enum { DEFAULT_REPEATS = 9, PROFILED_REPEATS = 5 };

static status take_suite(void *to, const char *value, error *err) {
    const suite *found;
    ((operators_command *)to)->suite = value;
    return suites_find(value, &found, err);
}

static status take_inputs(void *to, const char *value, error *err) {
    return cli_list_add(&((operators_command *)to)->inputs, "--inputs", value, err);
}

static status take_op(void *to, const char *value, error *err) {
    return cli_list_add(&((operators_command *)to)->ops, "--op", value, err);
}

static status take_skip(void *to, const char *value, error *err) {
    return cli_list_add(&((operators_command *)to)->skips, "--skip", value, err);
}

static status take_dtype(void *to, const char *value, error *err) {
    operators_options *run = &((operators_command *)to)->run;
    status result = dtype_mode_find(value, &run->bind.dtype, err);
    if (result != ASSAY_OK) {
        return fail_within(err, result, "--dtype");
    }
    run->graph_dtype = run->bind.dtype;
    return ASSAY_OK;
}

static status take_device(void *to, const char *value, error *err) {
    (void)to;
    if (strcmp(value, "cpu") != 0) {
        return fail(err, ASSAY_NO_DEVICE, "--device: operators run on 'cpu', got '%s' (`assay list devices`)", value);
    }
    return ASSAY_OK;
}

/* Whether a backend needs no path to be opened: "eager", "compiled:autotune", "inductor:OPTIONS", "torch". */
static bool is_built_in(const char *name) {
    size_t n, length = strcspn(name, ":,");
    const char *const *names = backend_names(&n);
    for (size_t i = 0; i < n + TORCH_PEERS; i++) {
        const char *known = i < n ? names[i] : torch_peer_name((torch_peer)(i - n));
        if (strncmp(known, name, length) == 0 && known[length] == '\0') {
            return true;
        }
    }
    return false;
}

/* "eager,compiled:autotune", but not "inductor:a,b", whose options these are. */
static status check_one_backend(const char *value, error *err) {
    text repeated = {0};
    bool is_list = strchr(value, ',') != NULL;
    for (const char *at = value; is_list; at++) {
        size_t n = strcspn(at, ",");
        is_list = is_built_in(at) || (at > value && memchr(at, '/', n) != NULL);
        text_addf(&repeated, " --backend %.*s", (int)n, at);
        at += n;
        if (*at == '\0') {
            break;
        }
    }
    status result = is_list ? fail(err, ASSAY_INVALID, "--backend: expected one name, got '%.300s'; of several each has an option of its own:%.300s",
                                   value, text_get(&repeated))
                            : ASSAY_OK;
    text_clear(&repeated);
    return result;
}

static status take_backend(void *to, const char *value, error *err) {
    TRY(check_one_backend(value, err));
    return cli_list_add(&((operators_command *)to)->backends, "--backend", value, err);
}

static status take_torch_python(void *to, const char *value, error *err) {
    (void)err;
    ((operators_command *)to)->torch_python = value;
    return ASSAY_OK;
}

static status take_baseline(void *to, const char *value, error *err) {
    (void)err;
    ((operators_command *)to)->run.baseline = value;
    return ASSAY_OK;
}

static status take_max_samples(void *to, const char *value, error *err) {
    return cli_int("--max-samples", value, 1, INT64_MAX / 2, &((operators_command *)to)->run.max_samples, err);
}

static status take_start(void *to, const char *value, error *err) {
    return cli_int("--start-idx", value, 0, INT64_MAX / 2, &((operators_command *)to)->run.start_index, err);
}

static status take_repeats(void *to, const char *value, error *err) {
    int64_t n;
    TRY(cli_int("--repeats", value, 0, 100000, &n, err));
    ((operators_command *)to)->run.repeats = (int)n;
    return ASSAY_OK;
}

static status take_precision(void *to, const char *value, error *err) {
    return cli_double("--precision", value, 0, 1, &((operators_command *)to)->run.precision, err);
}

static status take_min_time(void *to, const char *value, error *err) {
    return cli_double("--min-time", value, 0, 3600, &((operators_command *)to)->run.min_time_s, err);
}

static status take_timeout(void *to, const char *value, error *err) {
    ((operators_command *)to)->run.repro.has_timeout = true;
    return cli_double("--sample-timeout", value, 0.1, 1e6, &((operators_command *)to)->run.timeout_s, err);
}

static status take_max_memory(void *to, const char *value, error *err) {
    ((operators_command *)to)->run.repro.has_max_memory = true;
    return cli_bytes("--max-memory", value, &((operators_command *)to)->run.max_memory_bytes, err);
}

static status take_checking(void *to, const char *value, error *err) {
    (void)value;
    (void)err;
    ((operators_command *)to)->run.check_accuracy = true;
    return ASSAY_OK;
}

static status take_no_checking(void *to, const char *value, error *err) {
    (void)value;
    (void)err;
    ((operators_command *)to)->run.check_accuracy = false;
    return ASSAY_OK;
}

static status take_channels_last(void *to, const char *value, error *err) {
    (void)value;
    (void)err;
    ((operators_command *)to)->run.bind.channels_last = true;
    return ASSAY_OK;
}

static status take_cache(void *to, const char *value, error *err) {
    static const char *const words[] = {"warm", "cold"};
    size_t i;
    TRY(cli_word("--cache", value, words, countof(words), &i, err));
    ((operators_command *)to)->run.cold_cache = i == 1;
    return ASSAY_OK;
}

static status take_threads(void *to, const char *value, error *err) {
    int64_t n;
    TRY(cli_threads(value, &n, err));
    ((operators_command *)to)->run.threads = (int)n;
    return ASSAY_OK;
}

static status take_seed(void *to, const char *value, error *err) {
    int64_t n;
    TRY(cli_int("--seed", value, 0, INT64_MAX, &n, err));
    ((operators_command *)to)->run.seed = (uint64_t)n;
    return ASSAY_OK;
}

static status take_dry_run(void *to, const char *value, error *err) {
    (void)value;
    (void)err;
    ((operators_command *)to)->dry_run = true;
    return ASSAY_OK;
}

static status take_csv(void *to, const char *value, error *err) {
    ((operators_command *)to)->csv = value;
    return cli_file("--csv", value, err);
}

static status take_jsonl(void *to, const char *value, error *err) {
    ((operators_command *)to)->jsonl = value;
    return cli_file("--jsonl", value, err);
}

static status take_save(void *to, const char *value, error *err) {
    ((operators_command *)to)->run.save_directory = value;
    return cli_folder("--save", value, err);
}

static status take_profile(void *to, const char *value, error *err) {
    ((operators_command *)to)->run.profile_directory = value;
    return cli_folder("--profile", value, err);
}

static status take_quiet(void *to, const char *value, error *err) {
    (void)value;
    (void)err;
    ((operators_command *)to)->quiet = true;
    return ASSAY_OK;
}

static status take_color(void *to, const char *value, error *err) {
    if (!color_mode_parse(value, &((operators_command *)to)->color)) {
        return fail(err, ASSAY_INVALID, "--color: expected auto, always or never, got '%s'", value);
    }
    return ASSAY_OK;
}

static const cli_option rows[] = {
    {"--suite", "NAME", "recorded inputs by name: huggingface, timm, torchbench, graphs, embedded "
                        "(default: torchbench if its files are found, else embedded)", take_suite},
    {"--inputs", "FILE|DIR", "recorded inputs and graphs (*.graph) from files and folders; '-': recorded inputs from standard input; "
                             ".gz is read; may be repeated", take_inputs},
    {"--op", "GLOB", "only operators that match: 'aten.mm.default', 'relu' (any overload), 'add*', '*softmax*'; may be repeated", take_op},
    {"--skip", "GLOB", "leave out operators that match; may be repeated", take_skip},
    {"--dtype", "TYPE", "as-recorded, f16, bf16, f32 or f64: what floating-point tensors become (f32; graphs: as their text says); "
                       "f16 and bf16 leave wider ones as they are, in graphs only beside others of 16 bits", take_dtype},
    {"--device", "NAME", "cpu", take_device},
    {"--backend", "NAME", "eager, compiled[:autotune|:nofuse|:own-products], reference, torch, inductor[:OPTIONS] "
                         "or a plug-in (./LIB.so); NAME:again is a built-in one once more; may be repeated (eager)", take_backend},
    {"--torch-python", "PYTHON", "whose PyTorch torch and inductor are ($ASSAY_TORCH_PYTHON, else python3)", take_torch_python},
    {"--baseline", "NAME", "the backend that speed-ups are over, by its name or a plug-in's path (eager)", take_baseline},
    {"--max-samples", "N", "inputs per operator (15)", take_max_samples},
    {"--start-idx", "N", "begin with input N of each operator (0)", take_start},
    {"--repeats", "N", "samples of each input on each backend (at least 9, see --precision); 0: run once, check, time nothing",
     take_repeats},
    {"--precision", "P", "more samples, within a quarter of a second, until each ratio to the baseline is known to "
                         "+-P (0.02); 0, or --repeats without it: as many as --repeats says", take_precision},
    {"--min-time", "S", "seconds that the samples of one input on one backend last together, at least (0.01); it goes\n"
                         "before --precision's quarter of a second; with --cache cold each run is a sample, and this has no effect", take_min_time},
    {"--sample-timeout", "S", "seconds that one stage of one input may take (60)", take_timeout},
    {"--max-memory", "BYTES", "skip inputs that need more: 500MB, 8GiB; K, M, G are powers of 1000 and KiB, MiB, GiB of 1024, "
                             "in large or small letters (80% of what is free, or of what ulimit leaves)", take_max_memory},
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
    {"--profile", "DIR", "write a chrome trace of each operator, DIR/operator_NAME.json.gz; recording lengthens what is "
                         "measured; unless they are given --repeats is then 5, --precision 0 and --min-time 0", take_profile},
    {"--quiet", NULL, "no progress, no table", take_quiet},
    {"--color", "WHEN", "auto, always or never", take_color},
};

static const cli_clash clashes[] = {
    {"--suite", "--inputs"},
    {"--accuracy-checking", "--no-accuracy-checking"},
    {"--dry-run", "--csv --jsonl --save --profile"}, /* it measures nothing, and the listing would stand among records */
};

static const cli_verb verb = {
    .name = "operators",
    .summary = "replay recorded operator inputs on every backend, check and time them",
    .arguments = "",
    .examples = "  assay operators                       the default suite on the eager backend\n"
                "  assay operators --suite embedded --max-samples 1 --csv speedups.csv\n"
                "  assay operators --suite embedded --jsonl records.jsonl\n"
                "  assay operators --inputs hf_train --op '*softmax*' --dtype bf16\n"
                "  assay operators --backend eager --backend compiled --backend compiled:autotune\n"
                "  assay operators --inputs suites/graphs --op '*backward'\n"
                "  assay operators --backend eager --backend ./libmine.so --baseline eager\n"
                "  ASSAY_SUITES=~/operator_inp_logs assay operators --suite timm --op 'add*'\n",
    .options = rows,
    .n_options = countof(rows),
    .repeated = "--inputs --op --skip --backend",
    .clashes = clashes,
    .n_clashes = countof(clashes),
};

bool operators_command_parse(int argc, char **argv, operators_command *out, int *exit_code) {
    *out = (operators_command){.run = {.bind = {.dtype = DTYPE_F32},
                                       .max_samples = 15,
                                       .repeats = -1,
                                       .precision = -1,
                                       .min_time_s = -1,
                                       .timeout_s = 60,
                                       .check_accuracy = true}};
    return cli_parse(&verb, argc, argv, out, exit_code);
}

status operators_command_complete(operators_command *o, const machine_facts *m, error *err) {
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
        has_baseline = has_baseline || operators_is_same_backend(o->backends.items[i], o->run.baseline);
    }
    bool is_openable = is_built_in(o->run.baseline) || strchr(o->run.baseline, '/') != NULL;
    if (!has_baseline && is_openable) { /* a speed-up needs something to be over */
        TRY(cli_list_add(&o->backends, "--backend", o->run.baseline, err));
    }
    o->run.threads = o->run.threads > 0 ? o->run.threads : machine_threads(m);
    o->run.max_memory_from = "--max-memory";
    if (o->run.max_memory_bytes == 0) {
        const memory_limit most = memory_limit_of(m);
        o->run.max_memory_bytes = most.bytes;
        o->run.max_memory_from = most.from;
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
