/* SPDX-License-Identifier: Apache-2.0 */
/* The literals' parser: recursive descent over one line. Finished children wait on one stack until their list closes,
   so that every list ends up as one array in the arena. */
#include "engine/literal/literal_parse.h"

#include "engine/literal/literal_reader.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_PARAMS = 5 };

typedef struct dtype_word {
    const char *name;
    assay_dtype dtype;
} dtype_word;

/* clang-format off */
static const dtype_word dtype_words[] = {
#define DTYPE_WORD(name, short_name, torch_name, size, category) {short_name, ASSAY_##name},
#define DTYPE_TORCH_WORD(name, short_name, torch_name, size, category) {"torch." torch_name, ASSAY_##name},
    ASSAY_DTYPE_LIST(DTYPE_WORD)
    ASSAY_DTYPE_LIST(DTYPE_TORCH_WORD)
#undef DTYPE_WORD
#undef DTYPE_TORCH_WORD
    {"torch.double", ASSAY_F64}, {"torch.float", ASSAY_F32}, {"torch.half", ASSAY_F16},
    {"torch.cdouble", ASSAY_C128}, {"torch.cfloat", ASSAY_C64}, {"torch.chalf", ASSAY_C32},
    {"torch.short", ASSAY_I16}, {"torch.int", ASSAY_I32}, {"torch.long", ASSAY_I64},
};

/* The names that may stand where a value is expected, for "did you mean". */
static const char *const known_words[] = {
    "None", "True", "False", "inf", "nan", "T", "ST", "device",
#define KNOWN_DTYPE(name, short_name, torch_name, size, category) short_name,
    ASSAY_DTYPE_LIST(KNOWN_DTYPE)
#undef KNOWN_DTYPE
};
/* clang-format on */

static const dtype_word *find_dtype(const char *name, size_t length) {
    for (size_t i = 0; i < countof(dtype_words); i++) {
        const char *word = dtype_words[i].name;
        if (strlen(word) == length && memcmp(word, name, length) == 0) { /* the name may hold NULs */
            return &dtype_words[i];
        }
    }
    return NULL;
}

static void become_dtype(literal *out, const dtype_word *word) {
    out->kind = LITERAL_DTYPE;
    out->dtype.value = word->dtype;
    out->dtype.spelling = word->name;
}

/* The recorder's replacement of 'f16' by f16 is textual and misses some; PyTorch's reader undoes the quotes as well. */
static status parse_string_or_dtype(reader *r, literal *out) {
    TRY(reader_string(r, out));
    const dtype_word *word = find_dtype(out->string.data, out->string.length);
    if (word != NULL && out->string.length <= 4) {
        become_dtype(out, word);
    }
    return ASSAY_OK;
}

/* ---- lists, tuples, dicts ---- */

/* The items between brackets, left on the stack for the caller to take: *n of them. *comma: the last had one. */
static status parse_items(reader *r, char close, int32_t opened_column, size_t *n, bool *comma) {
    size_t bottom = r->n_stack;
    *comma = false;
    TRY(reader_enter(r));
    reader_skip_blanks(r);
    while (!next_is(r, close)) {
        literal item;
        TRY(reader_value(r, &item));
        TRY(reader_push(r, &item));
        TRY(reader_comma(r, close, opened_column, comma));
    }
    r->at++;
    r->depth--;
    *n = r->n_stack - bottom;
    return ASSAY_OK;
}

static status parse_sequence(reader *r, literal *out) {
    bool is_tuple = *r->at == '(';
    size_t n = 0;
    bool comma = false;
    TRY(parse_items(r, is_tuple ? ')' : ']', out->column, &n, &comma));
    r->n_stack -= n;
    if (is_tuple && n == 1 && !comma) {
        *out = r->stack[r->n_stack];
        return ASSAY_OK;
    }
    literal *items = arena_make(r->memory, n, sizeof *items);
    if (items == NULL) {
        return reader_no_memory(r);
    }
    if (n > 0) {
        memcpy(items, r->stack + r->n_stack, n * sizeof *items);
    }
    out->kind = is_tuple ? LITERAL_TUPLE : LITERAL_LIST;
    out->list.items = items;
    out->list.n_items = n;
    return ASSAY_OK;
}

static status parse_key(reader *r, size_t bottom) {
    reader_skip_blanks(r);
    if (!next_is(r, '\'') && !next_is(r, '"')) {
        return reader_expected(r, "a string as the dict's key");
    }
    literal key = {.line = r->line, .column = column_of(r, r->at)};
    TRY(reader_string(r, &key));
    if (strlen(key.string.data) != key.string.length) {
        return fail_at(r->err, ASSAY_PARSE, r->line, key.column, "expected a key without NUL bytes, got one with");
    }
    if (r->n_stack - bottom >= 2 * LITERAL_MAX_KEYS) {
        return fail_at(r->err, ASSAY_PARSE, r->line, key.column, "expected at most %d keys in a dict, got more",
                       LITERAL_MAX_KEYS);
    }
    for (size_t i = bottom; i < r->n_stack; i += 2) {
        if (strcmp(r->stack[i].string.data, key.string.data) == 0) {
            return fail_at(r->err, ASSAY_PARSE, r->line, key.column, "expected each key once, got '%s' again",
                           key.string.data);
        }
    }
    TRY(reader_push(r, &key));
    reader_skip_blanks(r);
    if (!next_is(r, ':')) {
        return reader_expected(r, "':' behind the dict's key");
    }
    r->at++;
    return ASSAY_OK;
}

/* Keys and values alternate on the stack until the dict closes. */
static status parse_dict(reader *r, literal *out) {
    size_t bottom = r->n_stack;
    TRY(reader_enter(r));
    reader_skip_blanks(r);
    while (!next_is(r, '}')) {
        literal value;
        bool comma = false;
        TRY(parse_key(r, bottom));
        TRY(reader_value(r, &value));
        TRY(reader_push(r, &value));
        TRY(reader_comma(r, '}', out->column, &comma));
    }
    r->at++;
    r->depth--;
    size_t n = (r->n_stack - bottom) / 2;
    literal_pair *pairs = arena_make(r->memory, n, sizeof *pairs);
    literal *values = arena_make(r->memory, n, sizeof *values);
    if (pairs == NULL || values == NULL) {
        return reader_no_memory(r);
    }
    for (size_t i = 0; i < n; i++) {
        values[i] = r->stack[bottom + 2 * i + 1];
        pairs[i] = (literal_pair){r->stack[bottom + 2 * i].string.data, &values[i]};
    }
    r->n_stack = bottom;
    out->kind = LITERAL_DICT;
    out->dict.pairs = pairs;
    out->dict.n_pairs = n;
    return ASSAY_OK;
}

/* ---- T(...), ST(...), device(...) ---- */

typedef struct param {
    const char *name;
    const char *what; /* for messages */
    bool is_sizes;    /* a list of integers, kept as such */
    bool is_required;
} param;

typedef struct call {
    const param *params;
    size_t n_params;
} call;

typedef struct argument {
    bool given;
    literal value;
    const int64_t *sizes;
    size_t n_sizes;
} argument;

static const param tensor_params[] = {
    {"size", "the list of sizes", true, true},
    {"dtype", "the dtype", false, true},
    {"stride", "the strides", true, false},
};
static const param sparse_params[] = {
    {"size", "the list of sizes", true, true},       {"dtype", "the dtype", false, true},
    {"layout", "the layout", false, true},           {"is_coalesced", "whether it is coalesced", false, true},
    {"nnz", "the number of elements", false, false},
};
static const param device_params[] = {
    {"type", "the kind of device", false, true},
    {"index", "the device's index", false, false},
};
static const call tensor_call = {tensor_params, countof(tensor_params)};
static const call sparse_call = {sparse_params, countof(sparse_params)};
static const call device_call = {device_params, countof(device_params)};

static status parse_sizes(reader *r, argument *out) {
    reader_skip_blanks(r);
    out->value = (literal){.line = r->line, .column = column_of(r, r->at)};
    if (!next_is(r, '[') && !next_is(r, '(')) {
        return reader_expected(r, "a list of integers");
    }
    size_t n = 0;
    bool comma = false;
    TRY(parse_items(r, *r->at == '[' ? ']' : ')', out->value.column, &n, &comma));
    r->n_stack -= n;
    int64_t *sizes = arena_make(r->memory, n, sizeof *sizes);
    if (sizes == NULL) {
        return reader_no_memory(r);
    }
    for (size_t i = 0; i < n; i++) {
        const literal *item = &r->stack[r->n_stack + i];
        if (item->kind != LITERAL_INT) {
            return reader_expected_kind(r, "an integer", item);
        }
        sizes[i] = item->integer;
    }
    out->sizes = sizes;
    out->n_sizes = n;
    return ASSAY_OK;
}

/* Which parameter the argument at hand is for: the one that `name=` says, or the next in line. */
static status find_param(reader *r, const call *what, size_t position, bool *named, size_t *out) {
    const char *start = r->at, *at = r->at;
    while (at < r->end && is_word(*at)) {
        at++;
    }
    size_t length = (size_t)(at - start);
    r->at = at;
    reader_skip_blanks(r);
    if (length == 0 || is_digit(*start) || !next_is(r, '=')) {
        r->at = start;
        if (*named) {
            return reader_expected(r, "a keyword argument behind a keyword argument");
        }
        if (position >= what->n_params) {
            return reader_expected(r, "')' behind the last argument");
        }
        *out = position;
        return ASSAY_OK;
    }
    r->at++;
    *named = true;
    for (size_t i = 0; i < what->n_params; i++) {
        if (strlen(what->params[i].name) == length && memcmp(what->params[i].name, start, length) == 0) {
            *out = i;
            return ASSAY_OK;
        }
    }
    r->at = start;
    char message[64];
    snprintf(message, sizeof message, "a keyword such as '%s'", what->params[what->n_params - 1].name);
    return reader_expected(r, message);
}

/* `(a, b, name=c)` into one slot for each parameter. */
static status parse_call(reader *r, const call *what, argument arguments[MAX_PARAMS]) {
    int32_t opened_column = column_of(r, r->at);
    memset(arguments, 0, MAX_PARAMS * sizeof *arguments);
    TRY(reader_enter(r));
    reader_skip_blanks(r);
    bool named = false;
    for (size_t position = 0; !next_is(r, ')'); position++) {
        size_t index = 0;
        bool comma = false;
        const char *start = r->at;
        TRY(find_param(r, what, position, &named, &index));
        argument *slot = &arguments[index];
        if (slot->given) {
            return fail_at(r->err, ASSAY_PARSE, r->line, column_of(r, start), "expected '%s' once, got it again",
                           what->params[index].name);
        }
        TRY(what->params[index].is_sizes ? parse_sizes(r, slot) : reader_value(r, &slot->value));
        slot->given = true;
        TRY(reader_comma(r, ')', opened_column, &comma));
    }
    for (size_t i = 0; i < what->n_params; i++) {
        if (what->params[i].is_required && !arguments[i].given) {
            return reader_expected(r, what->params[i].what);
        }
    }
    r->at++;
    r->depth--;
    return ASSAY_OK;
}

static status parse_tensor(reader *r, literal *out) {
    argument arguments[MAX_PARAMS];
    TRY(parse_call(r, &tensor_call, arguments));
    const argument *size = &arguments[0], *dtype = &arguments[1], *stride = &arguments[2];
    if (dtype->value.kind != LITERAL_DTYPE) {
        return reader_expected_kind(r, "a dtype such as f32", &dtype->value);
    }
    if (stride->given && stride->n_sizes != size->n_sizes) {
        return fail_at(r->err, ASSAY_PARSE, r->line, stride->value.column, "expected %zu strides, one a size, got %zu",
                       size->n_sizes, stride->n_sizes);
    }
    literal_tensor *tensor = arena_make(r->memory, 1, sizeof *tensor);
    if (tensor == NULL) {
        return reader_no_memory(r);
    }
    *tensor = (literal_tensor){.dtype = dtype->value.dtype.value,
                               .has_stride = stride->given,
                               .n_dims = size->n_sizes,
                               .shape = size->sizes,
                               .stride = stride->sizes};
    out->kind = LITERAL_TENSOR;
    out->tensor = tensor;
    return ASSAY_OK;
}

static status parse_sparse(reader *r, literal *out) {
    argument arguments[MAX_PARAMS];
    TRY(parse_call(r, &sparse_call, arguments));
    const argument *size = &arguments[0];
    const literal *dtype = &arguments[1].value, *layout = &arguments[2].value;
    const literal *is_coalesced = &arguments[3].value, *nnz = &arguments[4].value;
    if (dtype->kind != LITERAL_DTYPE) {
        return reader_expected_kind(r, "a dtype such as f32", dtype);
    }
    if (layout->kind != LITERAL_SYMBOL) {
        return reader_expected_kind(r, "a layout such as torch.sparse_coo", layout);
    }
    if (is_coalesced->kind != LITERAL_BOOL) {
        return reader_expected_kind(r, "True or False (is it coalesced)", is_coalesced);
    }
    bool has_nnz = arguments[4].given && nnz->kind != LITERAL_NONE;
    if (has_nnz && (nnz->kind != LITERAL_INT || nnz->integer < 0)) {
        return reader_expected_kind(r, "a number of elements that is not negative", nnz);
    }
    literal_sparse *sparse = arena_make(r->memory, 1, sizeof *sparse);
    if (sparse == NULL) {
        return reader_no_memory(r);
    }
    *sparse = (literal_sparse){.dense = {.dtype = dtype->dtype.value, .n_dims = size->n_sizes, .shape = size->sizes},
                               .layout = layout->symbol,
                               .is_coalesced = is_coalesced->boolean,
                               .has_nnz = has_nnz,
                               .nnz = has_nnz ? nnz->integer : 0};
    out->kind = LITERAL_SPARSE;
    out->sparse = sparse;
    return ASSAY_OK;
}

/* ---- words ---- */

static status become_symbol(reader *r, const char *start, literal *out) {
    out->kind = LITERAL_SYMBOL;
    out->symbol = arena_text(r->memory, start, (size_t)(r->at - start));
    return out->symbol != NULL ? ASSAY_OK : reader_no_memory(r);
}

static status parse_device(reader *r, const char *start, literal *out) {
    argument arguments[MAX_PARAMS];
    TRY(parse_call(r, &device_call, arguments));
    if (arguments[0].value.kind != LITERAL_STRING) {
        return reader_expected_kind(r, "a device's name as a string", &arguments[0].value);
    }
    return become_symbol(r, start, out);
}

static status unknown_word(reader *r, const char *start, size_t length) {
    char name[40], buffer[40];
    snprintf(name, sizeof name, "%.*s", (int)(length < 39 ? length : 39), start);
    const char *near = text_nearest(name, known_words, countof(known_words));
    return fail_at(r->err, ASSAY_PARSE, r->line, column_of(r, start), "expected a value, got %s%s%s%s",
                   reader_came(r, start, buffer), near != NULL ? "; did you mean " : "", near != NULL ? near : "",
                   near != NULL ? "?" : "");
}

static bool word_is(const char *start, size_t length, const char *word) {
    return strlen(word) == length && memcmp(start, word, length) == 0;
}

/* A word with a call behind it. */
static status parse_named_call(reader *r, const char *start, size_t length, literal *out) {
    if (word_is(start, length, "T")) {
        return parse_tensor(r, out);
    }
    if (word_is(start, length, "ST")) {
        return parse_sparse(r, out);
    }
    if (word_is(start, length, "device") || word_is(start, length, "torch.device")) {
        return parse_device(r, start, out);
    }
    return fail_at(r->err, ASSAY_PARSE, r->line, column_of(r, start),
                   "expected T(...), ST(...) or device(...), got a call of '%.*s' (nothing is evaluated)",
                   (int)(length < 40 ? length : 40), start);
}

static status parse_word(reader *r, literal *out) {
    static const struct {
        const char *word;
        literal value;
    } constants[] = {
        {"None", {.kind = LITERAL_NONE}},
        {"True", {.kind = LITERAL_BOOL, .boolean = true}},
        {"False", {.kind = LITERAL_BOOL, .boolean = false}},
    };
    const char *start = r->at;
    while (r->at < r->end && (is_word(*r->at) || *r->at == '.')) {
        r->at++;
    }
    size_t length = (size_t)(r->at - start);
    if (next_is(r, '(')) {
        return parse_named_call(r, start, length, out);
    }
    const dtype_word *dtype = find_dtype(start, length);
    if (dtype != NULL) {
        become_dtype(out, dtype);
        return ASSAY_OK;
    }
    for (size_t i = 0; i < countof(constants); i++) {
        if (word_is(start, length, constants[i].word)) {
            int32_t column = out->column;
            *out = constants[i].value;
            out->line = r->line;
            out->column = column;
            return ASSAY_OK;
        }
    }
    bool is_torch = (length > 6 && memcmp(start, "torch.", 6) == 0) || (length > 3 && memcmp(start, "th.", 3) == 0);
    if (is_torch && start[length - 1] != '.') {
        return become_symbol(r, start, out);
    }
    return unknown_word(r, start, length);
}

static status parse_name(reader *r, literal *out) {
    const char *name = NULL;
    TRY(reader_name(r, &name));
    out->kind = LITERAL_NAME;
    out->name = name;
    return ASSAY_OK;
}

status reader_value(reader *r, literal *out) {
    reader_skip_blanks(r);
    memset(out, 0, sizeof *out);
    out->line = r->line;
    out->column = column_of(r, r->at);
    char c = r->at < r->end ? *r->at : '\0';
    if (c == '(' || c == '[') {
        return parse_sequence(r, out);
    }
    if (c == '{') {
        return parse_dict(r, out);
    }
    if (c == '\'' || c == '"') {
        return parse_string_or_dtype(r, out);
    }
    if (is_digit(c) || c == '-' || c == '+' || c == '.' || reader_at_special(r)) {
        return reader_number(r, out);
    }
    if (is_letter(c)) {
        return parse_word(r, out);
    }
    if (c == '%' && r->allows_names) {
        return parse_name(r, out);
    }
    return reader_expected(r, "a value");
}

status literal_parse(arena *a, const char *source, size_t n, int32_t line, int32_t column, const literal **out,
                     error *err) {
    reader r = {
        .memory = a, .begin = source, .at = source, .end = source + n, .line = line, .column = column, .err = err};
    if (n > (size_t)(INT32_MAX - column)) {
        return fail_at(err, ASSAY_TOO_LARGE, line, column, "expected a value of at most 2 GiB, got %zu bytes", n);
    }
    literal value;
    literal *kept = NULL;
    status result = reader_value(&r, &value);
    if (result == ASSAY_OK) {
        reader_skip_blanks(&r);
        result = r.at == r.end ? ASSAY_OK : reader_expected(&r, "the end of the line");
    }
    if (result == ASSAY_OK && (kept = arena_make(a, 1, sizeof *kept)) == NULL) {
        result = reader_no_memory(&r);
    }
    free(r.stack);
    if (result == ASSAY_OK) {
        *kept = value;
        *out = kept;
    }
    return result;
}
