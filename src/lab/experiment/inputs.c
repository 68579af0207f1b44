/* SPDX-License-Identifier: Apache-2.0 */
/* The reader of recorded inputs: lines into operators and distinct inputs. Text that was seen before is not parsed
   again: most lines of a suite repeat. */
#include "lab/experiment/inputs_set.h"

#include "base/file.h"
#include "base/hash.h"
#include "engine/literal/literal_parse.h"
#include "lab/experiment/recorded_name.h"

#include <string.h>

enum { MAX_FILE_BYTES = 1 << 30, EXCERPT_CHARS = 100, EXCERPT_BEFORE = 60 };

/* One text on its way through. */
typedef struct reading {
    inputs *set;
    const inputs_file *file;
    const char *line, *line_end; /* the line at hand, without its line break */
    int32_t line_number;
    const char *operator_name; /* of the section at hand, as recorded; NULL outside one */
    size_t operator_length;
    int32_t operator_line, operator_column;
    size_t operator_position; /* in the set; its count of operators where this one has no input yet */
    bool section_is_bad;      /* its Operator line was reported: its inputs are left out silently */
    size_t n_valid, n_bad;
    size_t first_diagnostic;
    error *err;
} reading;

static status no_memory(error *err) {
    return fail(err, ASSAY_OUT_OF_MEMORY, "no memory for the recorded inputs");
}

/* ---- diagnostics ---- */

static char *make_excerpt(arena *memory, const char *line, size_t length, size_t at, size_t *caret) {
    size_t begin = length > EXCERPT_CHARS && at > EXCERPT_BEFORE ? at - EXCERPT_BEFORE : 0;
    size_t n = length - begin > EXCERPT_CHARS ? EXCERPT_CHARS : length - begin;
    const char *before = begin > 0 ? "..." : "", *after = begin + n < length ? "..." : "";
    char *excerpt = arena_format(memory, "%s%.*s%s", before, (int)n, line + begin, after);
    if (excerpt == NULL) {
        return NULL;
    }
    for (char *c = excerpt; *c != '\0'; c++) {
        *c = *c == '\t' ? ' ' : *c;
        *c = *c < ' ' || *c > '~' ? '?' : *c;
    }
    *caret = at - begin + strlen(before);
    return excerpt;
}

/* Keeps what is wrong with the line at hand. */
static status report(reading *r, const error *what) {
    r->n_bad++;
    if (r->set->n_diagnostics - r->first_diagnostic >= INPUTS_MAX_FILE_DIAGNOSTICS) {
        return ASSAY_OK;
    }
    inputs_diagnostic diagnostic = {
        .file = r->file, .line = r->line_number, .column = what->column, .message = what->message};
    size_t at = what->column > 0 ? (size_t)what->column - 1 : 0, length = (size_t)(r->line_end - r->line);
    diagnostic.excerpt = make_excerpt(&r->set->memory, r->line, length, at > length ? length : at, &diagnostic.caret);
    if (diagnostic.excerpt == NULL) {
        return no_memory(r->err);
    }
    return inputs_add_diagnostic(r->set, &diagnostic, r->err);
}

/* "expected WHAT, got ...CONSEQUENCE" at a place of the line at hand. */
static status report_token(reading *r, const char *at, const char *end, const char *what, const char *consequence) {
    enum { SHOWN_CHARS = 24 };
    size_t left = (size_t)(end - at), n = left < SHOWN_CHARS ? left : SHOWN_CHARS;
    char shown[SHOWN_CHARS + 1] = {0};
    for (size_t i = 0; i < n; i++) {
        shown[i] = at[i] < ' ' || at[i] > '~' ? '?' : at[i];
    }
    error message;
    fail_at(&message, ASSAY_PARSE, r->line_number, (int)(at - r->line) + 1, "expected %s, got %s%s%s%s", what,
            n > 0 ? "'" : "the end of the line", shown,
            n == 0     ? ""
            : n < left ? "...'"
                       : "'",
            consequence);
    return report(r, &message);
}

static status report_expected(reading *r, const char *at, const char *what, const char *consequence) {
    return report_token(r, at, r->line_end, what, consequence);
}

/* ---- the set ---- */

/* The name that the operator of this recorded one has today. */
static const char *current_name(const char *recorded, size_t *length) {
    static const char renamed[] = "aten.sum.SymInt", to[] = "aten.sum.dim_IntList";
    if (*length == strlen(renamed) && memcmp(recorded, renamed, *length) == 0) {
        *length = strlen(to);
        return to;
    }
    return recorded;
}

/* The position of the operator of that name, recorded or current; the number of operators where there is none. */
static size_t find_operator(const inputs *set, const char *name, size_t length) {
    const char *current = current_name(name, &length);
    uint64_t hash = hash_bytes(current, length, 0);
    size_t probe = 0, position = 0;
    while (inputs_index_next(&set->operator_index, hash, &probe, &position)) {
        const char *other = set->operators[position].name;
        if (strlen(other) == length && memcmp(other, current, length) == 0) {
            return position;
        }
    }
    return set->n_operators;
}

/* Makes the operator of the section at hand, which has its first input. */
static status make_operator(reading *r) {
    inputs *set = r->set;
    size_t length = r->operator_length;
    const char *name = current_name(r->operator_name, &length);
    inputs_operator *grown = inputs_grow(&set->memory, set->operators, set->n_operators, sizeof *grown);
    char *own_name = arena_text(&set->memory, name, length);
    char *recorded = arena_text(&set->memory, r->operator_name, r->operator_length);
    if (grown == NULL || own_name == NULL || recorded == NULL ||
        !inputs_index_add(&set->operator_index, &set->memory, hash_bytes(name, length, 0), set->n_operators)) {
        return no_memory(r->err);
    }
    set->operators = grown;
    grown[set->n_operators++] = (inputs_operator){.name = own_name, .recorded = recorded};
    return ASSAY_OK;
}

/* The input of the section's operator with that text, or NULL. */
static input *find_input(const reading *r, const char *source, size_t length, uint64_t hash) {
    size_t probe = 0, position = 0;
    while (inputs_index_next(&r->set->input_index, hash, &probe, &position)) {
        input *candidate = r->set->all[position];
        if (candidate->operator_position == r->operator_position && strlen(candidate->text) == length &&
            memcmp(candidate->text, source, length) == 0) {
            return candidate;
        }
    }
    return NULL;
}

static status add_input(reading *r, const input *like, const char *source, size_t length, uint64_t hash, input **out) {
    inputs *set = r->set;
    inputs_operator *owner = &set->operators[r->operator_position];
    input **all = inputs_grow(&set->memory, set->all, set->n_all, sizeof *all);
    input **items = inputs_grow(&set->memory, owner->items, owner->n_items, sizeof *items);
    input *made = arena_make(&set->memory, 1, sizeof *made);
    char *own_text = arena_text(&set->memory, source, length);
    if (all == NULL || items == NULL || made == NULL || own_text == NULL ||
        !inputs_index_add(&set->input_index, &set->memory, hash, set->n_all)) {
        return no_memory(r->err);
    }
    *made = (input){.text = own_text,
                    .args = like->args,
                    .kwargs = like->kwargs,
                    .graph = like->graph,
                    .operator_position = r->operator_position,
                    .file = r->file,
                    .line = r->line_number,
                    .operator_line = r->operator_line,
                    .operator_column = r->operator_column};
    set->all = all;
    set->all[set->n_all++] = made;
    owner->items = items;
    owner->items[owner->n_items++] = made;
    *out = made;
    return ASSAY_OK;
}

/* Adds calls to an input and its operator, under the file at hand. Sums stay below INT64_MAX. */
static status count_calls(reading *r, input *in, int64_t n_calls) {
    inputs *set = r->set;
    size_t i = 0;
    while (i < in->n_uses && in->uses[i].file != r->file) {
        i++;
    }
    if (i == in->n_uses) {
        inputs_use *uses = inputs_grow(&set->memory, in->uses, in->n_uses, sizeof *uses);
        if (uses == NULL) {
            return no_memory(r->err);
        }
        in->uses = uses;
        in->uses[in->n_uses++] = (inputs_use){.file = r->file};
    }
    in->uses[i].n_calls += n_calls;
    in->n_calls += n_calls;
    set->operators[in->operator_position].n_calls += n_calls;
    return ASSAY_OK;
}

status inputs_add(inputs *set, const char *name, const input *in, int64_t n_calls, error *err) {
    size_t length = strlen(in->text);
    reading r = {.set = set,
                 .file = in->file,
                 .line_number = in->line,
                 .operator_name = name,
                 .operator_length = strlen(name),
                 .err = err};
    r.operator_position = find_operator(set, name, r.operator_length);
    uint64_t hash = hash_bytes(in->text, length, r.operator_position);
    input *made = find_input(&r, in->text, length, hash);
    if (made == NULL && r.operator_position == set->n_operators) {
        TRY(make_operator(&r));
    }
    if (made == NULL) {
        TRY(add_input(&r, in, in->text, length, hash, &made));
    }
    int64_t sum = 0;
    if (!add_i64(set->operators[r.operator_position].n_calls, n_calls, &sum)) {
        return fail(err, ASSAY_TOO_LARGE, "expected the calls of %s to sum up within 64 bits, got more", name);
    }
    return count_calls(&r, made, n_calls);
}

/* ---- lines ---- */

static bool is_blank(char c) {
    return c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v';
}

static const char *skip_blanks(const reading *r, const char *at) {
    while (at < r->line_end && is_blank(*at)) {
        at++;
    }
    return at;
}

static bool starts_with(const char *at, const char *end, const char *prefix) {
    size_t n = strlen(prefix);
    return (size_t)(end - at) >= n && memcmp(at, prefix, n) == 0;
}

/* Too few parts are told in whole: what is wrong is not what stands at their end. */
static status report_name(reading *r, const char *at, const char *wrong) {
    static const char left_out[] = "; the inputs below this line are left out", expected[] = "an operator's name such as aten.add.Tensor";
    if (wrong < r->line_end || at == r->line_end) {
        return report_expected(r, wrong, expected, left_out);
    }
    text missing = {0};
    error message;
    recorded_name_add_missing(r->set->table, at, (size_t)(r->line_end - at), &missing);
    fail_at(&message, ASSAY_PARSE, r->line_number, (int)(at - r->line) + 1, "expected %s, got %s%s", expected, text_get(&missing), left_out);
    text_clear(&missing);
    return report(r, &message);
}

static status read_operator(reading *r, const char *at) {
    at = skip_blanks(r, at);
    const char *wrong = recorded_name_wrong(at, r->line_end);
    r->section_is_bad = wrong != NULL;
    r->operator_name = wrong == NULL ? at : NULL;
    r->operator_length = wrong == NULL ? (size_t)(r->line_end - at) : 0;
    r->operator_line = r->line_number;
    r->operator_column = (int32_t)(at - r->line) + 1;
    r->operator_position = find_operator(r->set, at, r->operator_length);
    return wrong == NULL ? ASSAY_OK : report_name(r, at, wrong);
}

/* CALLS in "cnt: CALLS, ", a positive number, and where the call's text begins. A bad one is reported and leaves 0. */
static status read_count(reading *r, const char **at, int64_t *out) {
    const char *digits = *at, *c = digits;
    int64_t n = 0;
    bool fits = true;
    for (; c < r->line_end && *c >= '0' && *c <= '9'; c++) {
        fits = fits && mul_i64(n, 10, &n) && add_i64(n, *c - '0', &n);
    }
    const char *end = digits; /* of the word that stands there */
    while (end < r->line_end && *end != ',' && *end != ' ' && *end != '\t') {
        end++;
    }
    if (c == digits || !fits || n == 0) {
        end += end == digits && end < r->line_end;
        return report_token(r, digits, end, "how often it was called, a positive integer of 64 bits", "");
    }
    if (c == r->line_end || *c != ',') {
        return report_expected(r, c, "',' behind the number of calls", "");
    }
    *at = skip_blanks(r, c + 1);
    *out = n;
    return ASSAY_OK;
}

/* ((ARGS...), {KWARGS...}) into the arena; a bad one is reported and leaves *out NULL. */
static status parse_call(reading *r, const char *source, size_t length, const literal **out) {
    const literal *call = NULL;
    error what;
    status result =
        literal_parse(&r->set->memory, source, length, r->line_number, (int32_t)(source - r->line) + 1, &call, &what);
    if (result == ASSAY_OUT_OF_MEMORY) {
        return no_memory(r->err);
    }
    *out = NULL;
    if (result != ASSAY_OK) {
        return report(r, &what);
    }
    const literal *items = call->kind == LITERAL_TUPLE ? call->list.items : NULL;
    if (items == NULL || call->list.n_items != 2 || items[0].kind != LITERAL_TUPLE || items[1].kind != LITERAL_DICT) {
        return report_expected(r, source, "((ARGS...), {KWARGS...}): a tuple and a dict in a tuple", "");
    }
    *out = call;
    return ASSAY_OK;
}

/* One call's text, seen n_calls times: counted where it is known, else parsed and added first. */
static status take_call(reading *r, const char *source, size_t length, int64_t n_calls, const char *count) {
    inputs *set = r->set;
    uint64_t hash = hash_bytes(source, length, r->operator_position);
    input *in = find_input(r, source, length, hash);
    const literal *call = NULL;
    if (in == NULL) {
        TRY(parse_call(r, source, length, &call));
        if (call == NULL) {
            return ASSAY_OK;
        }
        if (r->operator_position == set->n_operators) {
            TRY(make_operator(r));
        }
    }
    int64_t sum = 0;
    if (!add_i64(set->operators[r->operator_position].n_calls, n_calls, &sum)) {
        return report_expected(r, count, "the operator's calls to sum up within 64 bits", " more");
    }
    if (in == NULL) {
        const input like = {.args = &call->list.items[0], .kwargs = &call->list.items[1]};
        TRY(add_input(r, &like, source, length, hash, &in));
    }
    r->n_valid++;
    return count_calls(r, in, n_calls);
}

static status read_input(reading *r, const char *count) {
    count = skip_blanks(r, count);
    const char *at = count, *end = r->line_end;
    int64_t n_calls = 0;
    TRY(read_count(r, &at, &n_calls));
    if (n_calls == 0) {
        return ASSAY_OK;
    }
    /* PyTorch's reader takes off quotes around the whole call, which old recorders left */
    while (end - at > 1 && (*at == '\'' || *at == '"') && end[-1] == *at) {
        at++;
        end--;
    }
    return take_call(r, at, (size_t)(end - at), n_calls, count);
}

static status read_line(reading *r) {
    while (r->line_end > r->line && is_blank(r->line_end[-1])) {
        r->line_end--;
    }
    const char *at = skip_blanks(r, r->line);
    if (at == r->line_end || *at == '#') {
        return ASSAY_OK;
    }
    if (starts_with(at, r->line_end, "Operator:")) {
        return read_operator(r, at + strlen("Operator:"));
    }
    if (!starts_with(at, r->line_end, "cnt:")) {
        return report_expected(r, at, "'Operator: NAME' or 'cnt: CALLS, ((ARGS...), {KWARGS...})'", "");
    }
    if (r->section_is_bad) {
        r->n_bad++;
        return ASSAY_OK;
    }
    if (r->operator_name == NULL) {
        r->section_is_bad = true;
        return report_expected(r, at, "an 'Operator: NAME' line before the first input",
                               "; the inputs up to the next one are left out");
    }
    return read_input(r, at + strlen("cnt:"));
}

static status read_lines(reading *r, const char *data, const char *end) {
    if (starts_with(data, end, "\xef\xbb\xbf")) {
        data += 3;
    }
    while (data < end) {
        const char *line_break = memchr(data, '\n', (size_t)(end - data));
        r->line = data;
        r->line_end = line_break != NULL ? line_break : end;
        r->line_number++;
        data = line_break != NULL ? line_break + 1 : end;
        TRY(read_line(r));
    }
    return ASSAY_OK;
}

/* ---- texts ---- */

/* Nothing in it was an input: says so, with the first bad line's own message, and forgets its diagnostics. */
static status reject_empty(reading *r) {
    inputs *set = r->set;
    if (set->n_diagnostics == r->first_diagnostic) {
        return fail(r->err, ASSAY_PARSE, "%s: expected recorded inputs ('Operator: ...', 'cnt: ...'), got none",
                    r->file->path);
    }
    const inputs_diagnostic *first = &set->diagnostics[r->first_diagnostic];
    bool is_graph = strstr(first->message, ", got 'graph ") != NULL;
    fail_at(r->err, ASSAY_PARSE, first->line, first->column, "%s:%d:%d: %s; no line of the file is a valid input%s",
            r->file->path, (int)first->line, (int)first->column, first->message, is_graph ? "; graphs come from files *.graph" : "");
    set->n_diagnostics = r->first_diagnostic;
    return ASSAY_PARSE;
}

static status report_the_rest(reading *r) {
    size_t n_kept = r->set->n_diagnostics - r->first_diagnostic;
    if (r->n_bad <= n_kept || n_kept < INPUTS_MAX_FILE_DIAGNOSTICS) {
        return ASSAY_OK;
    }
    error what;
    size_t n = r->n_bad - n_kept;
    fail(&what, ASSAY_PARSE, "%zu line%s besides those above %s left out", n, n == 1 ? "" : "s", n == 1 ? "was" : "were");
    return inputs_add_diagnostic(r->set, &(inputs_diagnostic){.file = r->file, .message = what.message}, r->err);
}

status inputs_read_text(inputs *set, const char *name, const char *data, size_t n, error *err) {
    if (n > MAX_FILE_BYTES) {
        return fail(err, ASSAY_TOO_LARGE, "%s: expected at most %d bytes, got %zu", name, (int)MAX_FILE_BYTES, n);
    }
    TRY(inputs_reject_binary(name, data, n, err));
    reading r = {.set = set, .first_diagnostic = set->n_diagnostics, .err = err};
    r.file = inputs_add_file(set, name);
    if (r.file == NULL) {
        return no_memory(err);
    }
    if (n > 0) {
        TRY(read_lines(&r, data, data + n));
    }
    if (r.n_valid == 0) {
        return reject_empty(&r);
    }
    TRY(report_the_rest(&r));
    set->n_bad_lines += r.n_bad;
    return ASSAY_OK;
}

status inputs_read_file(inputs *set, const char *path, error *err) {
    text content = {0};
    TRY(file_read(path, MAX_FILE_BYTES, &content, err));
    status result = inputs_read_text(set, path, text_get(&content), content.length, err);
    text_clear(&content);
    return result;
}

void inputs_clear(inputs *set) {
    arena_clear(&set->memory);
    *set = (inputs){0};
}

const inputs_operator *inputs_find(const inputs *set, const char *name) {
    size_t position = find_operator(set, name, strlen(name));
    return position < set->n_operators ? &set->operators[position] : NULL;
}

void inputs_diagnostic_print(const inputs_diagnostic *diagnostic, text *out) {
    text_add(out, diagnostic->file->path);
    if (diagnostic->line > 0) {
        text_addf(out, ":%d:%d", (int)diagnostic->line, (int)diagnostic->column);
    }
    text_addf(out, ": %s\n", diagnostic->message);
    if (diagnostic->excerpt != NULL) {
        text_addf(out, "    %s\n    %*s^\n", diagnostic->excerpt, (int)diagnostic->caret, "");
    }
}
