/* SPDX-License-Identifier: Apache-2.0 */
/* `assay doctor`: what this machine is, what disturbs measuring on it, what is missing and what to do about it. */
#include "cli/cli.h"
#include "cli/compiled_cache.h"
#include "cli/torch.h"

#include "device/instructions.h"
#include "engine/backend/backend.h"
#include "lab/experiment/suites.h"
#include "lab/measure/ceilings.h"
#include "lab/measure/clock.h"
#include "lab/measure/machine.h"
#include "lab/report/table.h"
#include "lab/report/terminal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct options {
    color_mode color;
    bool quick;
    const char *torch_python;
} options;

static status take_color(void *to, const char *value, error *err) {
    if (!color_mode_parse(value, &((options *)to)->color)) {
        return fail(err, ASSAY_INVALID, "--color: expected auto, always or never, got '%s'", value);
    }
    return ASSAY_OK;
}

static status take_quick(void *to, const char *value, error *err) {
    (void)value;
    (void)err;
    ((options *)to)->quick = true;
    return ASSAY_OK;
}

static status take_torch_python(void *to, const char *value, error *err) {
    (void)err;
    ((options *)to)->torch_python = value;
    return ASSAY_OK;
}

static const cli_option rows[] = {
    {"--quick", NULL, "do not measure bandwidths", take_quick},
    {"--torch-python", "PYTHON", "the Python to look for PyTorch in ($ASSAY_TORCH_PYTHON, else python3)", take_torch_python},
    {"--color", "WHEN", "auto, always or never", take_color},
};

static const cli_verb verb = {
    .name = "doctor",
    .summary = "what this machine is, what disturbs measuring on it, what is missing",
    .arguments = "",
    .examples = "  assay doctor\n  assay doctor --quick\n",
    .options = rows,
    .n_options = countof(rows),
};

static void row(table *t, const char *what, const char *value, table_style style) {
    table_row_begin(t);
    table_cell(t, what, TABLE_DIM);
    table_cell(t, value, style);
}

static void say_cpu(table *t, arena *a, const machine_facts *m) {
    row(t, "CPU", arena_format(a, "%s (%s)", m->cpu_model != NULL ? m->cpu_model : "unknown", m->architecture), TABLE_BOLD);
    row(t, "cores", arena_format(a, "%d in %d socket%s, %d usable here", m->logical_cpus, m->sockets,
                                 m->sockets == 1 ? "" : "s", m->usable_cpus), TABLE_PLAIN);
    row(t, "kernels built for", arena_format(a, "%s%s", isa_name(isa_best()), isa_is_limited() ? ", as ASSAY_ISA asks" : ""), TABLE_PLAIN);
    for (size_t i = 0; i < m->n_caches; i++) {
        char size[32];
        const machine_cache *c = &m->caches[i];
        row(t, arena_format(a, "L%d %s", c->level, c->type),
            arena_format(a, "%s x %d", text_of_bytes(size, (double)c->size_bytes), c->instances > 0 ? c->instances : 1),
            TABLE_PLAIN);
    }
}

static void say_memory_and_clock(table *t, arena *a, const machine_facts *m) {
    char total[32], available[32];
    row(t, "memory", arena_format(a, "%s, %s available", text_of_bytes(total, (double)m->memory_total_bytes),
                                  text_of_bytes(available, (double)m->memory_available_bytes)), TABLE_PLAIN);
    row(t, "clock", arena_format(a, "%.0f MHz measured%s", machine_measure_clock_mhz(),
                                 isnan(m->nominal_mhz) ? "" : arena_format(a, ", %.0f MHz nominal", m->nominal_mhz)),
        TABLE_PLAIN);
    row(t, "governor", m->governor != NULL ? m->governor : "not told by this system", TABLE_PLAIN);
    row(t, "hypervisor", m->hypervisor != NULL ? m->hypervisor : "none", TABLE_PLAIN);
    row(t, "system", arena_format(a, "%s, %s", m->kernel != NULL ? m->kernel : "?", m->libc != NULL ? m->libc : "?"),
        TABLE_PLAIN);
}

/* What a thread's first cache holds with room to spare: half of it. */
static size_t near_bytes(const machine_facts *m) {
    size_t bytes = 32 << 10;
    for (size_t i = m->n_caches; i-- > 0;) {
        const machine_cache *c = &m->caches[i];
        bytes = c->level == 1 && strcmp(c->type, "instruction") != 0 && c->size_bytes > 0 ? (size_t)c->size_bytes : bytes;
    }
    return bytes / 2;
}

/* "45 GB/s", "6.1 GB/s", or a word where other work was in the way. */
static const char *rate_text(arena *a, double rate, double further) {
    return ceilings_is_disturbed(rate, further) ? "disturbed" : arena_format(a, rate < 10 ? "%.1f GB/s" : "%.0f GB/s", rate);
}

/* The further away, the slower: else what was nearer has been disturbed. */
static status say_ceilings(table *t, arena *a, const machine_facts *m, error *err) {
    enum { LEVELS = 3 };
    lab_clock clock = clock_monotonic();
    row(t, "timer", arena_format(a, "%s, resolution %.0f ns, cost %.0f ns", clock.name, clock.resolution_ns, clock.read_ns),
        TABLE_PLAIN);
    const int threads = machine_threads(m);
    const size_t footprints[LEVELS] = {(size_t)threads * near_bytes(m), 16 << 20, (size_t)machine_beyond_caches_bytes(m, 512 << 20)};
    bandwidth b[LEVELS];
    for (size_t i = 0; i < LEVELS; i++) {
        TRY(ceilings_bandwidth(footprints[i], threads, 0.25, &clock, &b[i], err));
    }
    for (size_t i = 0; i < LEVELS; i++) {
        double read = 0, copy = 0;
        for (size_t k = i + 1; k < LEVELS; k++) {
            read = fmax(read, b[k].read_gbytes_per_s);
            copy = fmax(copy, b[k].copy_gbytes_per_s);
        }
        char size[32];
        const char *reads = rate_text(a, b[i].read_gbytes_per_s, read), *copies = rate_text(a, b[i].copy_gbytes_per_s, copy);
        bool is_disturbed = ceilings_is_disturbed(b[i].read_gbytes_per_s, read) || ceilings_is_disturbed(b[i].copy_gbytes_per_s, copy);
        row(t, arena_format(a, "bandwidth, %s", text_of_bytes(size, (double)footprints[i])),
            arena_format(a, "read %s, copy %s on %d thread%s", reads, copies, threads, threads == 1 ? "" : "s"),
            is_disturbed ? TABLE_WARN : TABLE_PLAIN);
    }
    return ASSAY_OK;
}

static void say_suites(table *t, arena *a) {
    size_t n;
    const suite *all = suites_all(&n);
    bool is_missing = false;
    for (size_t i = 0; i < n; i++) {
        text where = {0};
        bool found = all[i].folder == NULL || suites_directory(&all[i], getenv("ASSAY_SUITES"), &where, NULL) == ASSAY_OK;
        row(t, arena_format(a, "suite %s", all[i].name),
            all[i].folder == NULL ? "built in" : found ? arena_format(a, "%s", text_get(&where)) : "not found", found ? TABLE_PLAIN : TABLE_WARN);
        text_clear(&where);
        is_missing = is_missing || !found;
    }
    if (is_missing) {
        row(t, "", suites_advice, TABLE_PLAIN);
    }
}

static status say_backends(table *t, arena *a, error *err) {
    op_table *operators = NULL;
    size_t n;
    const char *const *names = backend_names(&n);
    TRY(op_table_new(&operators, err));
    for (size_t i = 0; i < n; i++) {
        backend *b = NULL;
        error reason = {0};
        status opened = backend_open(operators, names[i], &b, &reason);
        row(t, arena_format(a, "backend %s", names[i]), arena_format(a, "%s", opened == ASSAY_OK ? b->doc : reason.message),
            opened == ASSAY_OK ? TABLE_PLAIN : TABLE_WARN);
        if (opened == ASSAY_OK) {
            b->close(b);
        }
    }
    op_table_free(operators);
    return ASSAY_OK;
}

static status say_torch(table *t, arena *a, const options *o, error *err) {
    torch_options torch;
    TRY(cli_torch_options(a, o->torch_python, &torch, err));
    const char *said[TORCH_PEERS];
    bool found = cli_torch_sentences(a, &torch, said);
    for (int i = 0; i < TORCH_PEERS; i++) {
        row(t, arena_format(a, "backend %s", torch_peer_name((torch_peer)i)), said[i], found ? TABLE_PLAIN : TABLE_WARN);
    }
    return ASSAY_OK;
}

static status say_compilers(table *t, arena *a, error *err) {
    const machine_compiler *found;
    size_t n;
    TRY(machine_find_compilers(a, &found, &n, err));
    const char *chosen = getenv("ASSAY_CC");
    bool is_chosen = chosen != NULL && chosen[0] != '\0';
    for (size_t i = 0; i < n; i++) {
        const char *name = arena_format(a, "compiler %s", found[i].name);
        if (found[i].path == NULL) {
            row(t, name, is_chosen ? "not found, and the backend compiled needs it: name another one in ASSAY_CC, or none (cc)"
                                   : "not found, and the backend compiled needs it: apt-get install gcc, or name another one in ASSAY_CC", TABLE_WARN);
            continue;
        }
        const char *what = found[i].version != NULL ? found[i].version : found[i].path;
        row(t, name, found[i].is_used ? arena_format(a, "%s; used by the backend compiled%s", what, is_chosen ? ", as ASSAY_CC asks" : "") : what,
            TABLE_PLAIN);
    }
    return ASSAY_OK;
}

/* It builds the plug-ins for PyTorch, and nothing else. */
static status say_cxx(table *t, arena *a, const options *o, error *err) {
    torch_options torch;
    machine_compiler found;
    TRY(cli_torch_options(a, o->torch_python, &torch, err));
    TRY(machine_ask_compiler(a, torch.cxx, &found, err));
    row(t, arena_format(a, "compiler %s", torch.cxx),
        found.path == NULL      ? "not found; the backends torch and inductor are built by it: " CLI_TORCH_NO_CXX
        : found.version != NULL ? arena_format(a, "%s; builds the plug-ins for PyTorch", found.version)
                                : arena_format(a, "%s, which does not say its version; builds the plug-ins for PyTorch", found.path),
        found.path == NULL || found.version == NULL ? TABLE_WARN : TABLE_PLAIN);
    return ASSAY_OK;
}

static void say_cache(table *t, arena *a) {
    text said = {0};
    bool is_well = cli_cache_state(&said);
    row(t, "code cache", arena_format(a, "%s", text_get(&said)), is_well ? TABLE_PLAIN : TABLE_WARN);
    text_clear(&said);
}

static status examine(arena *a, const options *o, text *out, error *err) {
    machine_facts m;
    table t;
    TRY(machine_read(a, "", &m, err));
    const table_column columns[] = {{"fact", .align = TABLE_LEFT}, {"found", .align = TABLE_LEFT, .wraps = true}};
    table_init(&t, a, columns, countof(columns));
    say_cpu(&t, a, &m);
    say_memory_and_clock(&t, a, &m);
    if (!o->quick) {
        TRY(say_ceilings(&t, a, &m, err));
    }
    TRY(say_compilers(&t, a, err));
    TRY(say_cxx(&t, a, o, err));
    say_cache(&t, a);
    say_suites(&t, a);
    TRY(say_backends(&t, a, err));
    TRY(say_torch(&t, a, o, err));
    table_rule(&t);
    if (m.n_noise == 0) {
        row(&t, "noise", "nothing found that disturbs measuring", TABLE_GOOD);
    }
    for (size_t i = 0; i < m.n_noise; i++) {
        row(&t, arena_format(a, "noise: %s", m.noise[i].name), m.noise[i].detail, TABLE_WARN);
        row(&t, "", m.noise[i].advice, TABLE_PLAIN);
    }
    table_options shown = {.color = terminal_color(o->color, STDOUT_FILENO), .max_width = terminal_width(STDOUT_FILENO)};
    return table_render(&t, &shown, out, err);
}

int cli_doctor(int argc, char **argv) {
    options o = {0};
    int code = EXIT_OK;
    if (!cli_parse(&verb, argc, argv, &o, &code)) {
        return code;
    }
    arena memory = {0};
    text out = {0};
    error err = {0};
    if (examine(&memory, &o, &out, &err) == ASSAY_OK) {
        fputs(text_get(&out), stdout);
    } else {
        code = cli_fail(verb.name, &err, EXIT_FAILED);
    }
    text_clear(&out);
    arena_clear(&memory);
    return code;
}
