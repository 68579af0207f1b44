/* SPDX-License-Identifier: Apache-2.0 */
/* The parser of ATen signatures: a hand-written descent over one line. */
#include "engine/schema/signature.h"

#include "base/c_locale.h"
#include "base/text.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct type_name {
    const char *name;
    arg_kind kind;
    arg_kind list_kind; /* ARG_NONE: there is no list of it */
} type_name;

static const type_name type_names[] = {
    {"Tensor", ARG_TENSOR, ARG_TENSORS},
    {"Scalar", ARG_NUMBER, ARG_NONE},
    {"SymInt", ARG_INT, ARG_INTS},
    {"int", ARG_INT, ARG_INTS},
    {"float", ARG_FLOAT, ARG_FLOATS},
    {"bool", ARG_BOOL, ARG_BOOLS},
    {"str", ARG_STR, ARG_NONE},
    {"ScalarType", ARG_DTYPE, ARG_NONE},
    {"Layout", ARG_LAYOUT, ARG_NONE},
    {"Device", ARG_DEVICE, ARG_NONE},
    {"MemoryFormat", ARG_MEMORY_FORMAT, ARG_NONE},
    {"Generator", ARG_GENERATOR, ARG_NONE},
};

typedef struct parser {
    const char *start;
    const char *at;
    arena *memory;
    error *err;
} parser;

static status expected(parser *p, const char *what) {
    return fail_at(p->err, ASSAY_PARSE, 1, (int)(p->at - p->start) + 1, "signature '%s': expected %s at '%.20s'",
                   p->start, what, p->at);
}

static void skip_spaces(parser *p) {
    while (*p->at == ' ') {
        p->at++;
    }
}

static bool take(parser *p, const char *token) {
    skip_spaces(p);
    size_t n = strlen(token);
    if (strncmp(p->at, token, n) != 0) {
        return false;
    }
    p->at += n;
    return true;
}

static status take_name(parser *p, const char **out) {
    skip_spaces(p);
    const char *from = p->at;
    while (isalnum((unsigned char)*p->at) || *p->at == '_') {
        p->at++;
    }
    if (p->at == from) {
        return expected(p, "a name");
    }
    *out = arena_text(p->memory, from, (size_t)(p->at - from));
    return *out != NULL ? ASSAY_OK : fail(p->err, ASSAY_OUT_OF_MEMORY, "no memory for a signature");
}

static status parse_alias(parser *p, param *out) {
    if (*p->at != '(') {
        return ASSAY_OK;
    }
    const char *close = strchr(p->at, ')');
    if (close == NULL) {
        return expected(p, "')' behind the alias");
    }
    out->is_written = memchr(p->at, '!', (size_t)(close - p->at)) != NULL;
    p->at = close + 1;
    return ASSAY_OK;
}

static status parse_type(parser *p, param *out) {
    const char *name;
    TRY(take_name(p, &name));
    const type_name *type = NULL;
    for (size_t i = 0; i < countof(type_names); i++) {
        if (strcmp(name, type_names[i].name) == 0) {
            type = &type_names[i];
        }
    }
    if (type == NULL) {
        return expected(p, "a type before this");
    }
    out->kind = type->kind;
    TRY(parse_alias(p, out));
    bool optional_before = take(p, "?");
    if (*p->at == '[') {
        if (type->list_kind == ARG_NONE) {
            return expected(p, "no list of this type");
        }
        out->kind = type->list_kind;
        out->items_optional = optional_before;
        p->at++;
        out->list_size = (int32_t)strtol(p->at, (char **)&p->at, 10);
        if (!take(p, "]")) {
            return expected(p, "']'");
        }
        TRY(parse_alias(p, out));
        out->is_optional = take(p, "?");
    } else {
        out->is_optional = optional_before;
    }
    return ASSAY_OK;
}

static status parse_number(parser *p, number *out) {
    if (take(p, "inf")) {
        *out = number_of_double(INFINITY);
        return ASSAY_OK;
    }
    char *end_int, *end_float;
    long long i = strtoll(p->at, &end_int, 10);
    double f = c_strtod(p->at, &end_float);
    if (end_float == p->at) {
        return expected(p, "a number");
    }
    *out = end_float > end_int ? number_of_double(f) : number_of_int(i);
    p->at = end_float;
    return ASSAY_OK;
}

static status parse_int_list(parser *p, const param *type, arg *out) {
    enum { MAX_ITEMS = 8 };
    int64_t items[MAX_ITEMS];
    int n = 0;
    bool bracketed = take(p, "[");
    while (n < MAX_ITEMS && *p->at != ']' && (bracketed || n == 0)) {
        number item;
        TRY(parse_number(p, &item));
        items[n++] = item.i;
        if (bracketed) {
            take(p, ",");
            skip_spaces(p);
        }
    }
    if (bracketed && !take(p, "]")) {
        return expected(p, "']'");
    }
    while (!bracketed && n < type->list_size && n < MAX_ITEMS) { /* int[2] x=1 means [1, 1] */
        items[n] = items[0];
        n++;
    }
    int64_t *kept = arena_make(p->memory, (size_t)n, sizeof *kept);
    if (kept == NULL) {
        return fail(p->err, ASSAY_OUT_OF_MEMORY, "no memory for a signature");
    }
    memcpy(kept, items, (size_t)n * sizeof *kept);
    *out = (arg){.kind = ARG_INTS, .n = n, .ints = kept};
    return ASSAY_OK;
}

static status parse_default(parser *p, param *type) {
    arg *out = &type->preset;
    number value;
    if (take(p, "None")) {
        *out = (arg){.kind = ARG_NONE};
        return ASSAY_OK;
    }
    switch (type->kind) {
    case ARG_BOOL:
        *out = (arg){.kind = ARG_BOOL, .b = *p->at == 'T'};
        return take(p, "True") || take(p, "False") ? ASSAY_OK : expected(p, "True or False");
    case ARG_INT:
        TRY(parse_number(p, &value));
        *out = (arg){.kind = ARG_INT, .i = value.i};
        return ASSAY_OK;
    case ARG_FLOAT:
        TRY(parse_number(p, &value));
        *out = (arg){.kind = ARG_FLOAT, .f = value.f};
        return ASSAY_OK;
    case ARG_NUMBER:
        TRY(parse_number(p, &value));
        *out = (arg){.kind = ARG_NUMBER, .number = value};
        return ASSAY_OK;
    case ARG_INTS:
        return parse_int_list(p, type, out);
    case ARG_STR: {
        char quote = *p->at;
        const char *end = quote == '\'' || quote == '"' ? strchr(p->at + 1, quote) : NULL;
        if (end == NULL) {
            return expected(p, "a quoted string");
        }
        char *kept = arena_text(p->memory, p->at + 1, (size_t)(end - p->at - 1));
        p->at = end + 1;
        *out = (arg){.kind = ARG_STR, .str = kept};
        return kept != NULL ? ASSAY_OK : fail(p->err, ASSAY_OUT_OF_MEMORY, "no memory for a signature");
    }
    default:
        return expected(p, "a default this type can have");
    }
}

static status parse_params(parser *p, signature *out) {
    param params[SIGNATURE_MAX_PARAMS];
    int n = 0;
    bool keyword = false;
    memset(params, 0, sizeof params);
    while (!take(p, ")")) {
        if (take(p, "*")) {
            keyword = true;
        } else {
            if (n == SIGNATURE_MAX_PARAMS) {
                return expected(p, "fewer parameters");
            }
            param *next = &params[n++];
            next->is_keyword = keyword;
            TRY(parse_type(p, next));
            TRY(take_name(p, &next->name));
            next->has_default = take(p, "=");
            if (next->has_default) {
                TRY(parse_default(p, next));
            }
        }
        skip_spaces(p);
        if (*p->at != ')' && !take(p, ",")) {
            return expected(p, "',' or ')'");
        }
    }
    out->n_params = n;
    out->params = arena_make(p->memory, (size_t)n, sizeof *out->params);
    if (out->params == NULL) {
        return fail(p->err, ASSAY_OUT_OF_MEMORY, "no memory for a signature");
    }
    memcpy(out->params, params, (size_t)n * sizeof *params);
    return ASSAY_OK;
}

static status parse_returns(parser *p, signature *out) {
    if (!take(p, "->")) {
        return expected(p, "'->'");
    }
    bool tuple = take(p, "(");
    if (tuple && take(p, ")")) {
        return ASSAY_OK;
    }
    do {
        param type = {0};
        TRY(parse_type(p, &type));
        if (type.kind != ARG_TENSOR && type.kind != ARG_TENSORS) {
            return expected(p, "a return of type Tensor or Tensor[]");
        }
        if (out->returns_list) {
            return expected(p, "no more returns behind a Tensor[]");
        }
        out->returns_list = type.kind == ARG_TENSORS;
        out->n_returns++;
        skip_spaces(p);
        if (isalpha((unsigned char)*p->at)) {
            const char *name;
            TRY(take_name(p, &name));
        }
    } while (tuple && take(p, ","));
    return tuple && !take(p, ")") ? expected(p, "')'") : ASSAY_OK;
}

static status name_it(arena *memory, signature *out, error *err) {
    out->full = arena_format(memory, "%s.%s", out->name, out->overload);
    return out->full != NULL ? ASSAY_OK : fail(err, ASSAY_OUT_OF_MEMORY, "no memory for a signature");
}

status signature_parse(arena *memory, const char *source, signature *out, error *err) {
    parser p = {.start = source, .at = source, .memory = memory, .err = err};
    signature s = {.text = source, .overload = "default"};
    take(&p, "aten::");
    TRY(take_name(&p, &s.name));
    if (take(&p, ".")) {
        TRY(take_name(&p, &s.overload));
    }
    if (!take(&p, "(")) {
        return expected(&p, "'('");
    }
    TRY(parse_params(&p, &s));
    TRY(parse_returns(&p, &s));
    skip_spaces(&p);
    if (*p.at != '\0') {
        return expected(&p, "the end");
    }
    TRY(name_it(memory, &s, err));
    *out = s;
    return ASSAY_OK;
}

status signature_in_place(arena *memory, const signature *functional, signature *out, error *err) {
    const char *open = strchr(functional->text, '(');
    const char *const starts[] = {"(Tensor self", "(Tensor(a) self"}; /* the second is a view's */
    const char *arrow = strstr(functional->text, " -> ");
    const char *rest = NULL;
    for (size_t i = 0; open != NULL && i < countof(starts); i++) {
        rest = strncmp(open, starts[i], strlen(starts[i])) == 0 ? open + strlen(starts[i]) : rest;
    }
    if (rest == NULL || arrow == NULL) {
        return fail(err, ASSAY_INVALID, "'%s' has no in-place variant: expected 'Tensor self' first", functional->full);
    }
    const char *dot = memchr(functional->text, '.', (size_t)(open - functional->text));
    const char *name_end = dot != NULL ? dot : open;
    char *spelled = arena_format(memory, "%.*s_%.*s(Tensor(a!) self%.*s -> Tensor(a!)", (int)(name_end - functional->text),
                                 functional->text, (int)(open - name_end), name_end,
                                 (int)(arrow - rest), rest);
    if (spelled == NULL) {
        return fail(err, ASSAY_OUT_OF_MEMORY, "no memory for a signature");
    }
    return signature_parse(memory, spelled, out, err);
}

int signature_find_param(const signature *s, const char *name) {
    for (int i = 0; i < s->n_params; i++) {
        if (strcmp(s->params[i].name, name) == 0) {
            return i;
        }
    }
    return -1;
}

char *param_type_text(char *buffer, const param *p) {
    const char *name = "?";
    bool is_list = false;
    for (size_t i = 0; i < countof(type_names); i++) {
        if (type_names[i].kind == p->kind || (type_names[i].list_kind == p->kind && p->kind != ARG_NONE)) {
            name = type_names[i].name;
            is_list = type_names[i].kind != p->kind;
            if (strcmp(name, "SymInt") != 0) {
                break;
            }
        }
    }
    char list[16] = "";
    if (is_list && p->list_size > 0) {
        snprintf(list, sizeof list, "[%d]", (int)p->list_size);
    } else if (is_list) {
        strcpy(list, "[]");
    }
    snprintf(buffer, 32, "%s%s%s%s%s", name, p->is_written ? "(a!)" : "", p->items_optional ? "?" : "", list,
             p->is_optional ? "?" : "");
    return buffer;
}
