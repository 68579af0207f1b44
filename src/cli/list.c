/* SPDX-License-Identifier: Apache-2.0 */
/* `assay list`: operators with their coverage, backends, suites, devices. */
#include "base/json.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/torch.h"
#include "engine/backend/backend.h"
#include "lab/experiment/suites.h"
#include "lab/measure/worker.h"
#include "lab/report/table.h"
#include "lab/report/terminal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct options {
    const char *what;
    bool json;
    color_mode color;
    cli_list plugins;
    const char *torch_python;
} options;

enum { MOST_BACKENDS = countof(((cli_list *)0)->items) + 16 }; /* those named, and the built-in ones */

typedef struct listing {
    arena *memory;
    const op_table *table;
    const options *o;
    struct backend *backends[MOST_BACKENDS];
    size_t n_backends;
    torch_options torch;
    json_writer json; /* out is NULL unless --json */
    table shown;
    table_options look;
    const char *files[countof(((cli_list *)0)->items)]; /* of the backends named; NULL: a built-in one */
    text out;
} listing;

static status take_what(void *to, const char *value, error *err) {
    static const char *const words[] = {"operators", "backends", "suites", "devices"};
    size_t i;
    if (((options *)to)->what != NULL) {
        return fail(err, ASSAY_INVALID, "expected one list, got '%s' besides %s", value, ((options *)to)->what);
    }
    TRY(cli_word(NULL, value, words, countof(words), &i, err));
    ((options *)to)->what = words[i];
    return ASSAY_OK;
}

static status take_json(void *to, const char *value, error *err) {
    (void)value;
    (void)err;
    ((options *)to)->json = true;
    return ASSAY_OK;
}

static status take_backend(void *to, const char *value, error *err) {
    return cli_list_add(&((options *)to)->plugins, "--backend", value, err);
}

static status take_torch_python(void *to, const char *value, error *err) {
    (void)err;
    ((options *)to)->torch_python = value;
    return ASSAY_OK;
}

static status take_color(void *to, const char *value, error *err) {
    if (!color_mode_parse(value, &((options *)to)->color)) {
        return fail(err, ASSAY_INVALID, "--color: expected auto, always or never, got '%s'", value);
    }
    return ASSAY_OK;
}

static const cli_option rows[] = {
    {"--json", NULL, "one JSON array", take_json},
    {"--backend", "NAME", "a plug-in (./LIB.so, torch, inductor) to list as well; may be repeated", take_backend},
    {"--torch-python", "PYTHON", "whose PyTorch 'torch' is ($ASSAY_TORCH_PYTHON, else python3)", take_torch_python},
    {"--color", "WHEN", "auto, always or never", take_color},
};

static const cli_clash clashes[] = {{"--backend", "suites devices"}, {"--torch-python", "suites devices"}};

static const cli_verb verb = {
    .name = "list",
    .summary = "the operators, backends, suites and devices there are",
    .arguments = "operators|backends|suites|devices",
    .examples = "  assay list operators\n"
                "  assay list operators --json | jq -r '.[] | select(.eager | not) | .name'\n"
                "  assay list backends --backend ./libmine.so\n"
                "  assay list suites\n",
    .options = rows,
    .n_options = countof(rows),
    .repeated = "--backend",
    .clashes = clashes,
    .n_clashes = countof(clashes),
    .take_argument = take_what,
};

static bool is_open(const listing *l, const char *name) {
    for (size_t b = 0; b < l->n_backends; b++) {
        if (strcmp(l->backends[b]->name, name) == 0) {
            return true;
        }
    }
    return false;
}

static status open_backends(listing *l, error *err) {
    size_t n;
    const char *const *names = backend_names(&n);
    for (size_t i = 0; i < n; i++) {
        TRY(backend_open(l->table, names[i], &l->backends[l->n_backends], err));
        l->n_backends++;
    }
    for (size_t i = 0; i < l->o->plugins.n; i++) {
        const char *given = l->o->plugins.items[i];
        struct backend *opened = NULL;
        if (l->files[i] == NULL) { /* it is listed anyway */
            continue;
        }
        TRY(backend_open(l->table, l->files[i], &opened, err));
        if (is_open(l, opened->name)) {
            status result = fail(err, ASSAY_INVALID, "two backends call themselves '%s'; the second is %s", opened->name, given);
            opened->close(opened);
            return result;
        }
        l->backends[l->n_backends++] = opened;
    }
    return ASSAY_OK;
}

static bool covered(const listing *l, size_t b, const op *o, error *err) {
    return l->backends[b]->covers == NULL || l->backends[b]->covers(l->backends[b], o, err) == ASSAY_OK;
}

static const char *nature_of(const op *o) {
    return o->row->is_view ? "view" : o->row->is_random ? "random" : o->row->family->name;
}

static void operator_json(listing *l, const op *o) {
    json_writer *w = &l->json;
    json_begin_object(w);
    json_put_string(w, "name", o->signature.full);
    json_put_string(w, "signature", o->signature.text);
    json_put_string(w, "doc", o->row->doc);
    json_put_string(w, "family", o->row->family->name);
    json_put_bool(w, "in_place", o->in_place);
    json_put_bool(w, "view", o->row->is_view);
    json_put_bool(w, "random", o->row->is_random);
    for (size_t b = 0; b < l->n_backends; b++) {
        json_put_bool(w, l->backends[b]->name, covered(l, b, o, NULL));
    }
    json_key(w, "reasons");
    json_begin_object(w);
    for (size_t b = 0; b < l->n_backends; b++) {
        error reason = {0};
        if (!covered(l, b, o, &reason)) {
            json_put_string(w, l->backends[b]->name, reason.message);
        }
    }
    json_end_object(w);
    json_end_object(w);
}

static void operator_row(listing *l, const op *o) {
    table_row_begin(&l->shown);
    const char *name = o->signature.full;
    size_t n = strlen(name) - (text_ends_with(name, ".default") ? strlen(".default") : 0);
    table_cell_short(&l->shown, name, arena_text(l->memory, name, n), TABLE_PLAIN);
    table_cell(&l->shown, nature_of(o), TABLE_DIM);
    for (size_t b = 0; b < l->n_backends; b++) {
        bool has = covered(l, b, o, NULL);
        table_cell(&l->shown, has ? "yes" : "no", has ? TABLE_GOOD : TABLE_DIM);
    }
    table_cell(&l->shown, o->row->doc, TABLE_PLAIN);
}

static status list_operators(listing *l, error *err) {
    TRY(open_backends(l, err));
    table_column columns[MOST_BACKENDS + 3] = {{"operator", .align = TABLE_LEFT, .shrinks = true}, {"kind", .align = TABLE_LEFT, .spare = 1}};
    size_t n = 2;
    for (size_t b = 0; b < l->n_backends; b++) {
        columns[n++] = (table_column){l->backends[b]->name, .align = TABLE_LEFT};
    }
    columns[n++] = (table_column){"what it does", .align = TABLE_LEFT, .wraps = true, .spare = -1};
    table_init(&l->shown, l->memory, columns, n);
    size_t counts[MOST_BACKENDS] = {0};
    int total = op_table_size(l->table);
    for (int i = 0; i < total; i++) {
        const op *o = op_table_at(l->table, i);
        for (size_t b = 0; b < l->n_backends; b++) {
            counts[b] += covered(l, b, o, NULL) ? 1 : 0;
        }
        if (l->o->json) {
            operator_json(l, o);
        } else {
            operator_row(l, o);
        }
    }
    table_rule(&l->shown);
    table_row_begin(&l->shown);
    table_cellf(&l->shown, TABLE_BOLD, "%d operators", total);
    table_cell(&l->shown, "", TABLE_PLAIN);
    for (size_t b = 0; b < l->n_backends; b++) {
        table_cellf(&l->shown, TABLE_BOLD, "%zu", counts[b]);
    }
    return ASSAY_OK;
}

/* PyTorch is looked for, but opened (and its plug-in built) only for who names it: that takes its time. */
static void peer_row(listing *l, torch_peer peer, const char *said, bool found) {
    const char *name = torch_peer_name(peer);
    if (is_open(l, name)) {
        return;
    }
    if (l->o->json) {
        json_begin_object(&l->json);
        json_put_string(&l->json, "name", name);
        json_put_bool(&l->json, "found", found);
        json_put_string(&l->json, found ? "doc" : "reason", said);
        json_end_object(&l->json);
        return;
    }
    table_row_begin(&l->shown);
    table_cell(&l->shown, name, found ? TABLE_BOLD : TABLE_DIM);
    table_cell(&l->shown, "-", TABLE_DIM);
    table_cell(&l->shown, "-", TABLE_DIM);
    table_cell(&l->shown, said, found ? TABLE_PLAIN : TABLE_DIM);
}

static status list_backends(listing *l, error *err) {
    TRY(open_backends(l, err));
    const table_column columns[] = {
        {"backend", .align = TABLE_LEFT}, {"operators", .align = TABLE_RIGHT}, {"of", .align = TABLE_RIGHT}, {"what it is", .align = TABLE_LEFT, .wraps = true}};
    table_init(&l->shown, l->memory, columns, countof(columns));
    for (size_t b = 0; b < l->n_backends; b++) {
        int n = 0, total = op_table_size(l->table);
        for (int i = 0; i < total; i++) {
            n += covered(l, b, op_table_at(l->table, i), NULL) ? 1 : 0;
        }
        if (l->o->json) {
            json_begin_object(&l->json);
            json_put_string(&l->json, "name", l->backends[b]->name);
            json_put_string(&l->json, "doc", l->backends[b]->doc);
            json_put_int(&l->json, "operators", n);
            json_put_int(&l->json, "of", total);
            json_end_object(&l->json);
            continue;
        }
        table_row_begin(&l->shown);
        table_cell(&l->shown, l->backends[b]->name, TABLE_BOLD);
        table_cellf(&l->shown, TABLE_PLAIN, "%d", n);
        table_cellf(&l->shown, TABLE_DIM, "%d", total);
        table_cell(&l->shown, l->backends[b]->doc, TABLE_PLAIN);
    }
    const char *said[TORCH_PEERS];
    bool found = cli_torch_sentences(l->memory, &l->torch, said);
    for (int i = 0; i < TORCH_PEERS; i++) {
        peer_row(l, (torch_peer)i, said[i], found);
    }
    return ASSAY_OK;
}

static status list_suites(listing *l, error *err) {
    (void)err;
    const table_column columns[] = {
        {"suite", .align = TABLE_LEFT}, {"operators", .align = TABLE_RIGHT}, {"inputs", .align = TABLE_RIGHT}, {"where it lies", .align = TABLE_LEFT, .wraps = true}};
    table_init(&l->shown, l->memory, columns, countof(columns));
    size_t n;
    const suite *all = suites_all(&n);
    const char *search = getenv("ASSAY_SUITES");
    bool is_missing = false;
    for (size_t i = 0; i < n; i++) {
        inputs set = {.table = l->table};
        text where = {0};
        error reason = {0};
        status found = all[i].folder != NULL ? suites_directory(&all[i], search, &where, &reason) : ASSAY_OK;
        status read = found == ASSAY_OK ? suites_read(&set, &all[i], search, &reason) : found;
        text_add(&where, all[i].folder == NULL ? "built in" : "");
        is_missing = is_missing || found == ASSAY_NOT_FOUND;
        const char *place = read == ASSAY_OK ? text_get(&where) : reason.message;
        if (l->o->json) {
            json_begin_object(&l->json);
            json_put_string(&l->json, "name", all[i].name);
            json_put_string(&l->json, "doc", all[i].doc);
            json_put_bool(&l->json, "found", read == ASSAY_OK);
            json_put_string(&l->json, read == ASSAY_OK ? "where" : "reason", place);
            json_put_int(&l->json, "operators", (int64_t)set.n_operators);
            json_put_int(&l->json, "inputs", (int64_t)set.n_all);
            json_end_object(&l->json);
        } else {
            table_row_begin(&l->shown);
            table_cell(&l->shown, all[i].name, TABLE_BOLD);
            table_cellf(&l->shown, TABLE_PLAIN, read == ASSAY_OK ? "%zu" : "-", set.n_operators);
            table_cellf(&l->shown, TABLE_PLAIN, read == ASSAY_OK ? "%zu" : "-", set.n_all);
            table_cell(&l->shown, found == ASSAY_NOT_FOUND ? "not found" : place, read == ASSAY_OK ? TABLE_PLAIN : TABLE_DIM);
        }
        text_clear(&where);
        inputs_clear(&set);
    }
    if (is_missing && !l->o->json) {
        table_row_begin(&l->shown);
        for (int i = 0; i < 3; i++) {
            table_cell(&l->shown, "", TABLE_PLAIN);
        }
        table_cell(&l->shown, suites_advice, TABLE_PLAIN);
    }
    return ASSAY_OK;
}

static status list_devices(listing *l, error *err) {
    (void)err;
    const table_column columns[] = {{"device", .align = TABLE_LEFT}, {"memory", .align = TABLE_LEFT}, {"what it is", .align = TABLE_LEFT, .wraps = true}};
    table_init(&l->shown, l->memory, columns, countof(columns));
    size_t n;
    const device *const *all = device_all(&n);
    for (size_t i = 0; i < n; i++) {
        if (l->o->json) {
            json_begin_object(&l->json);
            json_put_string(&l->json, "name", all[i]->name);
            json_put_string(&l->json, "doc", all[i]->doc);
            json_put_bool(&l->json, "has_memory", all[i]->has_memory);
            json_end_object(&l->json);
            continue;
        }
        table_row_begin(&l->shown);
        table_cell(&l->shown, all[i]->name, TABLE_BOLD);
        table_cell(&l->shown, all[i]->has_memory ? "yes" : "no", TABLE_PLAIN);
        table_cell(&l->shown, all[i]->doc, TABLE_PLAIN);
    }
    return ASSAY_OK;
}

static status list(listing *l, error *err) {
    static const struct {
        const char *what;
        status (*list)(listing *l, error *err);
    } lists[] = {
        {"operators", list_operators}, {"backends", list_backends}, {"suites", list_suites}, {"devices", list_devices}};
    if (l->o->json) {
        json_begin_array(&l->json);
    }
    for (size_t i = 0; i < countof(lists); i++) {
        if (strcmp(l->o->what, lists[i].what) == 0) {
            TRY(lists[i].list(l, err));
        }
    }
    if (l->o->json) {
        json_end_array(&l->json);
        text_add_char(&l->out, '\n');
        return l->out.failed ? fail(err, ASSAY_OUT_OF_MEMORY, "no memory for the list") : ASSAY_OK;
    }
    table_cuts cuts;
    l->look.cuts = &cuts;
    TRY(table_render(&l->shown, &l->look, &l->out, err));
    const char *separator = "The terminal is too narrow for: ";
    for (size_t i = 0; i < l->shown.n_columns; i++) {
        if (cuts.left_out[i]) {
            text_addf(&l->out, "%s%s", separator, l->shown.columns[i].header);
            separator = ", ";
        }
    }
    text_add(&l->out, separator[0] == ',' ? "; --json has all.\n" : "");
    return l->out.failed ? fail(err, ASSAY_OUT_OF_MEMORY, "no memory for the list") : ASSAY_OK;
}

static void close_backends(listing *l) {
    for (size_t b = 0; b < l->n_backends; b++) {
        l->backends[b]->close(l->backends[b]);
    }
    l->n_backends = 0;
}

/* --- plug-ins: what they do costs this list, and not this process ------------------------------------------------------------ */

/* Made now: PyTorch's is built first where that was never done. */
static status find_files(listing *l, error *err) {
    size_t n;
    const char *const *names = backend_names(&n);
    for (size_t i = 0; i < l->o->plugins.n; i++) {
        bool is_built_in = false;
        for (size_t k = 0; k < n; k++) {
            is_built_in = is_built_in || strcmp(names[k], l->o->plugins.items[i]) == 0;
        }
        if (!is_built_in) {
            TRY(cli_torch_file(l->memory, &l->torch, l->o->plugins.items[i], &l->files[i], err));
        }
    }
    return ASSAY_OK;
}

static status list_in_worker(worker_link *link, void *self, error *err) {
    enum { PIECE_BYTES = 64 * 1024 };
    listing *l = self;
    TRY(list(l, err));
    for (size_t at = 0; at < l->out.length; at += PIECE_BYTES) {
        TRY(worker_send(link, l->out.data + at, l->out.length - at < PIECE_BYTES ? l->out.length - at : PIECE_BYTES, err));
    }
    close_backends(l);
    return ASSAY_OK;
}

static status take_piece(void *self, const worker_message *message, error *err) {
    listing *l = self;
    if (message->kind == WORKER_DATA) {
        text_add_bytes(&l->out, message->data, message->n);
    }
    return l->out.failed ? fail(err, ASSAY_OUT_OF_MEMORY, "no memory for the list") : ASSAY_OK;
}

static status list_apart(listing *l, error *err) {
    const worker_options how = {.timeout_s = 60, .on_message = take_piece, .callback_arg = l};
    worker_outcome outcome;
    TRY(find_files(l, err));
    TRY(worker_run(&how, list_in_worker, l, &outcome, err));
    if (outcome.end != WORKER_END_OK) {
        bool spoke = outcome.end == WORKER_END_FAILED && outcome.exit_code == EXIT_FAILURE;
        return fail(err, outcome.err.code, "%s%s", spoke ? "" : "a process that opens these backends: ", outcome.err.message);
    }
    return ASSAY_OK;
}

int cli_list_verb(int argc, char **argv) {
    options o = {0};
    int code = EXIT_OK;
    if (!cli_parse(&verb, argc, argv, &o, &code)) {
        return code;
    }
    if (o.what == NULL) {
        fprintf(stderr, "assay list: expected operators, backends, suites or devices\n");
        return EXIT_USAGE;
    }
    arena memory = {0};
    error err = {0};
    op_table *operators = NULL;
    listing l = {.memory = &memory, .o = &o};
    l.json = (json_writer){.out = &l.out, .indent = 2};
    status result = cli_torch_options(&memory, o.torch_python, &l.torch, &err);
    result = result == ASSAY_OK ? op_table_new(&operators, &err) : result;
    l.table = operators;
    l.look = (table_options){.color = terminal_color(o.color, STDOUT_FILENO), .max_width = terminal_width(STDOUT_FILENO)};
    result = result == ASSAY_OK ? (o.plugins.n > 0 ? list_apart : list)(&l, &err) : result;
    if (result == ASSAY_OK) {
        fputs(text_get(&l.out), stdout);
    } else {
        code = cli_fail(verb.name, &err, cli_exit_code(result));
    }
    close_backends(&l);
    text_clear(&l.out);
    op_table_free(operators);
    arena_clear(&memory);
    return code;
}
