/* SPDX-License-Identifier: Apache-2.0 */
/* A point as a command: what was asked for and what decides the numbers, defaults included, since these may change. */
#include "lab/experiment/repro.h"

#include "base/text.h"
#include "device/instructions.h"

#include <inttypes.h>
#include <string.h>

/* What a command is about: a backend, and what it is compared with, which may be the same. */
typedef struct compared {
    const operators_backend *own, *baseline;
} compared;

static compared find_compared(const operators_options *o, const operators_backend *backends, size_t b) {
    compared c = {&backends[b], &backends[b]};
    for (size_t i = 0; i < o->n_backends; i++) {
        c.baseline = backends[i].is_baseline ? &backends[i] : c.baseline;
    }
    return c;
}

dtype_mode repro_dtype(const operators_options *o, const input *in) {
    return in->graph != NULL ? o->graph_dtype : o->bind.dtype;
}

/* "eager", "eager:again" */
static bool is_kind(const char *name, const char *kind) {
    size_t n = strlen(kind);
    return strncmp(name, kind, n) == 0 && (name[n] == '\0' || name[n] == ':');
}

/* Whether the command asks for a backend of that kind, here or as its baseline. */
static bool involves(compared c, const char *kind) {
    return is_kind(c.own->argument, kind) || is_kind(c.baseline->argument, kind);
}

static bool involves_torch(compared c) {
    return involves(c, "torch") || involves(c, "inductor");
}

static void add_variable(text *t, const char *name, const char *value) {
    text_addf(t, "%s=", name);
    text_add_shell_word(t, value);
    text_add_char(t, ' ');
}

static void add_environment(text *t, const operators_options *o, compared c) {
    const operators_repro *say = &o->repro;
    if (isa_is_limited()) {
        add_variable(t, "ASSAY_ISA", isa_name(isa_best()));
    }
    if (say->suites_place != NULL) {
        add_variable(t, "ASSAY_SUITES", say->suites_place);
    }
    if (say->compiler != NULL && involves(c, "compiled")) {
        add_variable(t, "ASSAY_CC", say->compiler);
    }
    if (say->torch_place != NULL && say->torch_python == NULL && involves_torch(c)) {
        add_variable(t, "ASSAY_TORCH_PYTHON", say->torch_place);
    }
}

/* A graph is named by its own file alone: beside recorded inputs `--op relu` would be those of aten.relu, too. */
static void add_input(text *t, const operators_options *o, const operators_point *p, bool by_file) {
    if (by_file) {
        text_add(t, "--inputs ");
        text_add_shell_word(t, p->in->file->path);
    } else {
        text_add(t, o->repro.inputs);
    }
    text_add(t, " --op ");
    text_add_shell_word(t, p->recorded->name);
    text_addf(t, " --start-idx %" PRId64 " --max-samples 1", by_file ? 0 : p->sample_index);
}

static void add_limits(text *t, const operators_options *o) {
    if (o->repro.has_max_memory) {
        text_addf(t, " --max-memory %.0f", o->max_memory_bytes);
    }
    if (o->repro.has_timeout) {
        text_add(t, " --sample-timeout ");
        text_add_plain_double(t, o->timeout_s);
    }
}

const char *repro_make(arena *memory, const operators_options *o, const operators_point *p, const operators_backend *backends, size_t b) {
    text t = {0};
    compared c = find_compared(o, backends, b);
    bool by_file = p->in->graph != NULL && o->repro.has_files;
    add_environment(&t, o, c);
    text_add(&t, "assay operators ");
    add_input(&t, o, p, by_file);
    text_addf(&t, " --dtype %s --backend ", dtype_mode_name(repro_dtype(o, p->in)));
    text_add_shell_word(&t, c.own->argument);
    text_addf(&t, " --repeats %d --precision ", o->repeats);
    text_add_plain_double(&t, o->precision);
    text_add(&t, " --min-time ");
    text_add_plain_double(&t, o->min_time_s);
    text_addf(&t, " --threads %d --seed %" PRIu64, o->threads, o->seed);
    if (c.own != c.baseline) {
        text_add(&t, " --backend ");
        text_add_shell_word(&t, c.baseline->argument);
    }
    text_add(&t, " --baseline ");
    text_add_shell_word(&t, c.baseline->name);
    if (o->repro.torch_python != NULL && involves_torch(c)) {
        text_add(&t, " --torch-python ");
        text_add_shell_word(&t, o->repro.torch_python);
    }
    text_add(&t, o->cold_cache ? " --cache cold" : "");
    text_add(&t, o->bind.channels_last ? " --channels-last" : "");
    text_add(&t, o->check_accuracy ? "" : " --no-accuracy-checking");
    add_limits(&t, o);
    text_add(&t, o->repro.reads_standard && !by_file ? " # the recorded inputs come on standard input" : "");
    char *kept = t.failed ? NULL : arena_text(memory, text_get(&t), t.length);
    text_clear(&t);
    return kept;
}
