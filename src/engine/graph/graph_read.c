/* SPDX-License-Identifier: Apache-2.0 */
/* Text to graph: one value a line. */
#include "engine/graph/graph_text.h"
#include "engine/literal/literal_parse.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_NAME_CHARS = 64, MAX_NAMES = 256 };

/* One text on its way through; `at` runs over the line at hand. */
typedef struct reading {
    arena *memory;
    const op_table *table;
    const bind_options *options;
    graph g;
    const char *line, *at, *end;
    int32_t number; /* of the line */
    bool has_header, has_return;
    int n_values;
    error *err;
} reading;

/* --- places and messages ---------------------------------------------------------------------------------------------------- */

static int32_t column_of(const reading *r, const char *at) {
    return (int32_t)(at - r->line) + 1;
}

static bool is_name_char(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.';
}

static status expected(const reading *r, const char *at, const char *what) {
    char came[48] = "the end of the line";
    int n = 0;
    while (n < 24 && at + n < r->end && is_name_char(at[n])) {
        n++;
    }
    n = n == 0 && at < r->end ? 1 : n;
    if (n > 0 && at[0] >= 0x20 && at[0] < 0x7f) {
        snprintf(came, sizeof came, "'%.*s'", n, at);
    } else if (n > 0) {
        snprintf(came, sizeof came, "the byte 0x%02x", (unsigned)(unsigned char)at[0]);
    }
    return fail_at(r->err, ASSAY_PARSE, r->number, column_of(r, at), "expected %s, got %s", what, came);
}

/* A failure of something that knows no place. */
static status place(const reading *r, const char *at, status code, const error *why) {
    return fail_at(r->err, code, r->number, why->line > 0 ? why->column : column_of(r, at), "%s", why->message);
}

static status no_memory(const reading *r) {
    return fail(r->err, ASSAY_OUT_OF_MEMORY, "no memory for a graph");
}

static void skip_blanks(reading *r) {
    while (r->at < r->end && (*r->at == ' ' || *r->at == '\t')) {
        r->at++;
    }
}

static bool at_end(reading *r) {
    skip_blanks(r);
    return r->at == r->end || *r->at == '#';
}

static status expect_end(reading *r) {
    return at_end(r) ? ASSAY_OK : expected(r, r->at, "the end of the line");
}

static bool take_word(reading *r, const char *word) {
    size_t n = strlen(word);
    bool found = (size_t)(r->end - r->at) >= n && memcmp(r->at, word, n) == 0 && (r->at + n == r->end || !is_name_char(r->at[n]));
    r->at += found ? n : 0;
    return found;
}

/* %NAME in the arena. */
static status take_name(reading *r, const char **out) {
    const char *start = r->at;
    if (r->at == r->end || *r->at != '%') {
        return expected(r, r->at, "a value's name such as %x");
    }
    r->at++;
    while (r->at < r->end && is_name_char(*r->at)) {
        r->at++;
    }
    size_t length = (size_t)(r->at - start) - 1;
    if (length == 0) {
        return expected(r, r->at, "a name of letters, digits, '_' and '.' behind '%'");
    }
    if (length > MAX_NAME_CHARS) {
        return fail_at(r->err, ASSAY_PARSE, r->number, column_of(r, start), "expected a name of at most %d characters, got %zu",
                       MAX_NAME_CHARS, length);
    }
    *out = arena_text(r->memory, start + 1, length);
    return *out != NULL ? ASSAY_OK : no_memory(r);
}

/* --- graph NAME: DOC -------------------------------------------------------------------------------------------------------- */

static bool is_graph_name_char(char c) {
    return is_name_char(c) || c == '-';
}

static status read_header(reading *r) {
    if (r->has_header) {
        return fail_at(r->err, ASSAY_PARSE, r->number, column_of(r, r->at) - 5, "expected one graph in a text, got another");
    }
    skip_blanks(r);
    const char *name = r->at;
    while (r->at < r->end && is_graph_name_char(*r->at)) {
        r->at++;
    }
    size_t length = (size_t)(r->at - name);
    if (length == 0 || length > MAX_NAME_CHARS || *name == '.' || *name == '-') {
        return expected(r, name, "the graph's name: at most 64 letters, digits, '_', '.' and '-'");
    }
    const char *own = arena_text(r->memory, name, length), *doc = NULL;
    skip_blanks(r);
    if (r->at < r->end && *r->at == ':') {
        r->at++;
        skip_blanks(r);
        for (const char *c = r->at; c < r->end; c++) {
            if ((unsigned char)*c < 0x20 || *c == 0x7f) {
                return expected(r, c, "a sentence of printable characters");
            }
        }
        if (r->at == r->end) {
            return expected(r, r->at, "a sentence behind ':'");
        }
        doc = arena_text(r->memory, r->at, (size_t)(r->end - r->at));
    } else {
        TRY(expect_end(r));
    }
    if (own == NULL) {
        return no_memory(r);
    }
    r->has_header = true;
    return graph_init(&r->g, r->memory, own, doc, r->err);
}

/* --- %x = input(T(...)) ------------------------------------------------------------------------------------------------------ */

static status take_bound(const reading *r, const literal *kwargs, const char *key, double *out) {
    const literal *value = literal_dict_find(kwargs, key);
    if (value == NULL) {
        return fail_at(r->err, ASSAY_PARSE, r->number, kwargs->column, "expected low=A and high=B both, got one of them");
    }
    if (value->kind != LITERAL_INT && value->kind != LITERAL_FLOAT) {
        return fail_at(r->err, ASSAY_PARSE, value->line, value->column, "expected a number, got %s",
                       literal_kind_text(value->kind));
    }
    *out = value->kind == LITERAL_INT ? (double)value->integer : value->real;
    return ASSAY_OK;
}

static status read_input(reading *r, const char *const *names, size_t n_names, const literal *args, const literal *kwargs) {
    static const char *const keys[] = {"low", "high"};
    if (n_names != 1 || names[0] == NULL) {
        return fail_at(r->err, ASSAY_PARSE, r->number, 1, "expected one name for an input, got %zu",
                       n_names == 1 ? (size_t)0 : n_names);
    }
    const literal *form = args->list.n_items == 1 ? &args->list.items[0] : args;
    if (form->kind != LITERAL_TENSOR) {
        return fail_at(r->err, ASSAY_PARSE, form->line, form->column, "expected the input's form, T([SIZES], DTYPE), got %s",
                       form == args ? args->list.n_items == 0 ? "nothing" : "more" : literal_kind_text(form->kind));
    }
    for (size_t i = 0; i < kwargs->dict.n_pairs; i++) {
        const literal_pair *pair = &kwargs->dict.pairs[i];
        if (strcmp(pair->key, "low") != 0 && strcmp(pair->key, "high") != 0) {
            const char *near = text_nearest(pair->key, keys, countof(keys));
            return fail_at(r->err, ASSAY_PARSE, pair->value->line, pair->value->column, "expected low or high, got '%.60s'%s%s%s",
                           pair->key, near != NULL ? "; did you mean " : "", near != NULL ? near : "", near != NULL ? "?" : "");
        }
    }
    int64_t n_elems = 0;
    graph_range range = {0};
    bool has_range = kwargs->dict.n_pairs > 0;
    if (has_range) {
        TRY(take_bound(r, kwargs, "low", &range.low));
        TRY(take_bound(r, kwargs, "high", &range.high));
    }
    TRY(literal_tensor_elements(form, &n_elems, r->err));
    tensor shape, *made = NULL;
    error why = {0};
    status result = bind_tensor_form(form, r->options, &shape, &why);
    if (result == ASSAY_OK) {
        result = graph_add_input(&r->g, names[0], &shape, has_range ? &range : NULL, &made, &why);
    }
    return result == ASSAY_OK ? ASSAY_OK : fail_at(r->err, result, r->number, form->column, "%s", why.message);
}

/* --- %y = OPERATOR(...) ------------------------------------------------------------------------------------------------------ */

static tensor *find_value(void *self, const char *name) {
    return graph_find_value(&((reading *)self)->g, name);
}

static const char *nearest_value(void *self, const char *name) {
    return graph_nearest_value(&((reading *)self)->g, name);
}

static status find_operator(const reading *r, const char *name, const char *at, const op **out) {
    *out = op_table_find(r->table, name);
    if (*out != NULL) {
        return ASSAY_OK;
    }
    const char *near = op_table_nearest(r->table, name);
    return fail_at(r->err, ASSAY_PARSE, r->number, column_of(r, at), "expected an operator or input, got '%.60s'%s%s%s", name,
                   near != NULL ? "; did you mean '" : "", near != NULL ? near : "", near != NULL ? "'?" : "");
}

static status add_call(reading *r, const char *at, const char *const *names, size_t n_names, const op *o, const literal *args,
                       const literal *kwargs) {
    const bind_names values = {.find = find_value, .nearest = nearest_value, .self = r};
    bound_call bound;
    error why = {0};
    graph_node *made = NULL;
    status result = bind_call_names(r->memory, o, args, kwargs, r->options, &values, &bound, &why);
    if (result == ASSAY_OK) {
        result = graph_add_call(&r->g, o, bound.call.args, names, (int)n_names, &made, &why);
        if (result != ASSAY_OK) {
            bound_clear(&bound);
        }
    }
    if (result != ASSAY_OK) {
        return result == ASSAY_OUT_OF_MEMORY ? no_memory(r) : place(r, at, result, &why);
    }
    r->n_values += made->out->n;
    return ASSAY_OK;
}

static status read_names(reading *r, const char **names, size_t *n) {
    for (*n = 0;;) {
        skip_blanks(r);
        if (*n == MAX_NAMES) {
            return fail_at(r->err, ASSAY_PARSE, r->number, column_of(r, r->at), "expected at most %d names, got more", MAX_NAMES);
        }
        const char *start = r->at;
        if (take_word(r, "_")) {
            names[*n] = NULL;
        } else {
            TRY(take_name(r, &names[*n]));
            if (graph_find_value(&r->g, names[*n]) != NULL) {
                return fail_at(r->err, ASSAY_PARSE, r->number, column_of(r, start), "expected each name once, got %%%s again",
                               names[*n]);
            }
        }
        ++*n;
        skip_blanks(r);
        if (r->at == r->end || *r->at != ',') {
            return ASSAY_OK;
        }
        r->at++;
    }
}

static status read_value(reading *r) {
    const char *names[MAX_NAMES];
    size_t n_names = 0, used = 0;
    TRY(read_names(r, names, &n_names));
    if (r->at == r->end || *r->at != '=') {
        return expected(r, r->at, "',' and a name, or '='");
    }
    r->at++;
    skip_blanks(r);
    const char *start = r->at;
    while (r->at < r->end && (is_name_char(*r->at) || *r->at == ':')) {
        r->at++;
    }
    const char *name = arena_text(r->memory, start, (size_t)(r->at - start));
    if (name == NULL) {
        return no_memory(r);
    }
    if (name[0] == '\0') {
        return expected(r, start, "an operator or input");
    }
    const op *o = NULL;
    bool is_input = strcmp(name, "input") == 0;
    if (!is_input) {
        TRY(find_operator(r, name, start, &o));
    }
    const literal *args = NULL, *kwargs = NULL;
    TRY(literal_parse_arguments(r->memory, r->at, (size_t)(r->end - r->at), r->number, column_of(r, r->at), &args, &kwargs, &used,
                                r->err));
    r->at += used;
    TRY(expect_end(r));
    if (r->n_values + (int)n_names > GRAPH_MAX_VALUES) {
        return fail_at(r->err, ASSAY_TOO_LARGE, r->number, 1, "expected at most %d values, got more", GRAPH_MAX_VALUES);
    }
    r->n_values += is_input ? 1 : 0;
    return is_input ? read_input(r, names, n_names, args, kwargs) : add_call(r, start, names, n_names, o, args, kwargs);
}

/* --- return ----------------------------------------------------------------------------------------------------------------- */

static status read_return(reading *r) {
    for (;;) {
        const char *name = NULL;
        skip_blanks(r);
        const char *start = r->at;
        TRY(take_name(r, &name));
        tensor *value = graph_find_value(&r->g, name);
        if (value == NULL) {
            const char *near = graph_nearest_value(&r->g, name);
            return fail_at(r->err, ASSAY_PARSE, r->number, column_of(r, start), "expected a value from a line above, got %%%s%s%s%s",
                           name, near != NULL ? "; did you mean %" : "", near != NULL ? near : "", near != NULL ? "?" : "");
        }
        error why = {0};
        status result = graph_add_output(&r->g, value, &why);
        if (result != ASSAY_OK) {
            return result == ASSAY_OUT_OF_MEMORY ? no_memory(r) : place(r, start, result, &why);
        }
        if (at_end(r)) {
            r->has_return = true;
            return ASSAY_OK;
        }
        if (*r->at != ',') {
            return expected(r, r->at, "',' or the end of the line");
        }
        r->at++;
    }
}

/* An input that nobody reads is more likely a mistake than a wish. */
static status check_inputs(const reading *r) {
    const graph *g = &r->g;
    for (int i = 0; i < g->n_inputs; i++) {
        bool used = false;
        for (int n = 0; !used && n < g->n_nodes; n++) {
            const op_call *call = &g->nodes[n].call;
            for (int p = 0; p < call->op->signature.n_params; p++) {
                const arg *a = &call->args[p];
                used = used || (a->kind == ARG_TENSOR && a->tensor == g->inputs[i].value);
                for (int k = 0; a->kind == ARG_TENSORS && k < a->n; k++) {
                    used = used || a->tensors[k] == g->inputs[i].value;
                }
            }
        }
        if (!used) {
            return fail_at(r->err, ASSAY_INVALID, r->number, 1, "expected every input to be used, but nothing uses %%%s",
                           g->inputs[i].name);
        }
    }
    return ASSAY_OK;
}

/* --- lines ------------------------------------------------------------------------------------------------------------------ */

static status read_line(reading *r) {
    r->at = r->line;
    while (r->end > r->line && (r->end[-1] == '\r' || r->end[-1] == ' ' || r->end[-1] == '\t')) {
        r->end--;
    }
    if (at_end(r)) {
        return ASSAY_OK;
    }
    if (r->has_return) {
        return expected(r, r->at, "nothing behind the return line");
    }
    if (take_word(r, "graph")) {
        return read_header(r);
    }
    if (!r->has_header) {
        return expected(r, r->at, "'graph NAME: WHAT IT IS' as the first line");
    }
    if (take_word(r, "return")) {
        return read_return(r);
    }
    return *r->at == '%' || *r->at == '_' ? read_value(r)
                                          : expected(r, r->at, "'%NAME = OPERATOR(ARGUMENTS)' or 'return %NAME'");
}

static status read_lines(reading *r, const char *source, const char *end) {
    while (source < end) {
        const char *line_break = memchr(source, '\n', (size_t)(end - source));
        r->line = source;
        r->end = line_break != NULL ? line_break : end;
        r->number++;
        source = line_break != NULL ? line_break + 1 : end;
        TRY(read_line(r));
    }
    if (!r->has_return) {
        return fail_at(r->err, ASSAY_PARSE, r->number > 0 ? r->number : 1, 1, "expected %s before the end of the text",
                       r->has_header ? "a line 'return %NAME, ...'" : "a line 'graph NAME: WHAT IT IS'");
    }
    return check_inputs(r);
}

static bool has_input_of(const graph *g, size_t size_bytes) {
    for (int i = 0; i < g->n_inputs; i++) {
        const dtype t = g->inputs[i].value->dtype;
        if (dtype_is_floating(t) && dtype_size(t) == size_bytes) {
            return true;
        }
    }
    return false;
}

static status read_with(arena *memory, const op_table *table, const char *source, size_t n, const bind_options *options, graph *out, error *err) {
    reading r = {.memory = memory, .table = table, .options = options, .err = err};
    status result = read_lines(&r, source, source + n);
    if (result != ASSAY_OK) {
        graph_clear(&r.g);
        return result;
    }
    *out = r.g;
    return ASSAY_OK;
}

status graph_read(arena *memory, const op_table *table, const char *source, size_t n, const bind_options *options, graph *out,
                  error *err) {
    static const char nothing[] = "";
    if (n >= INT32_MAX) {
        return fail(err, ASSAY_TOO_LARGE, "expected a graph of less than 2 GiB of text, got %zu bytes", n);
    }
    if (n >= 3 && memcmp(source, "\xef\xbb\xbf", 3) == 0) {
        source += 3;
        n -= 3;
    }
    source = n > 0 ? source : nothing;
    graph g;
    TRY(read_with(memory, table, source, n, options, &g, err));
    bool narrows = options->dtype == DTYPE_F16 || options->dtype == DTYPE_BF16;
    if (narrows && !options->narrows_f32 && !has_input_of(&g, 2) && has_input_of(&g, 4)) { /* no mixed precision: it is f32 that is meant */
        bind_options all = *options;
        all.narrows_f32 = true;
        graph_clear(&g);
        return read_with(memory, table, source, n, &all, out, err);
    }
    *out = g;
    return ASSAY_OK;
}
