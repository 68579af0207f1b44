/* SPDX-License-Identifier: Apache-2.0 */
/* Literals written back as the recorder writes them, compared, and asked for their size. */
#include "engine/literal/literal.h"

#include "engine/tensor/dtype.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *literal_kind_text(literal_kind kind) {
    static const char *const words[] = {
#define LITERAL_KIND_WORDS(name, text) text,
        LITERAL_KIND_LIST(LITERAL_KIND_WORDS)
#undef LITERAL_KIND_WORDS
    };
    size_t index = (size_t)kind;
    return index < countof(words) ? words[index] : "an unknown kind";
}

/* ---- printing ---- */

/* The digits of value, at most 17, as few as read back to it, and its decimal exponent. */
static int shortest_digits(double value, char digits[20]) {
    char buffer[40];
    for (int n = 1; n <= 17; n++) {
        snprintf(buffer, sizeof buffer, "%.*e", n - 1, value);
        if (strtod(buffer, NULL) == value) {
            break;
        }
    }
    char *exponent = strchr(buffer, 'e');
    size_t n = 0;
    for (const char *at = buffer; at < exponent; at++) {
        if (*at != '.') {
            digits[n++] = *at;
        }
    }
    while (n > 1 && digits[n - 1] == '0') {
        n--;
    }
    digits[n] = '\0';
    return atoi(exponent + 1);
}

/* Python's repr: plain from 1e-4 up to 1e16, always with a point or an exponent. `bare` leaves ".0" out, as the parts
   of a complex number do. */
static void print_double(double value, bool bare, text *out) {
    if (isnan(value)) {
        text_add(out, "nan");
        return;
    }
    if (signbit(value)) {
        text_add_char(out, '-');
        value = -value;
    }
    if (isinf(value)) {
        text_add(out, "inf");
        return;
    }
    char digits[20];
    int exponent = shortest_digits(value, digits);
    int n = (int)strlen(digits);
    if (exponent < -4 || exponent >= 16) {
        text_addf(out, "%c%s%se%c%02d", digits[0], n > 1 ? "." : "", digits + 1, exponent < 0 ? '-' : '+',
                  abs(exponent));
    } else if (exponent < 0) {
        text_addf(out, "0.%.*s%s", -exponent - 1, "000", digits);
    } else if (n <= exponent + 1) {
        text_addf(out, "%s%.*s%s", digits, exponent + 1 - n, "0000000000000000", bare ? "" : ".0");
    } else {
        text_addf(out, "%.*s.%s", exponent + 1, digits, digits + exponent + 1);
    }
}

static void print_complex(double real, double imaginary, text *out) {
    bool alone = real == 0 && !signbit(real);
    if (!alone) {
        text_add_char(out, '(');
        print_double(real, true, out);
        text_add(out, signbit(imaginary) && !isnan(imaginary) ? "" : "+");
    }
    print_double(imaginary, true, out);
    text_add(out, alone ? "j" : "j)");
}

/* Python's repr: single quotes unless only they occur inside. Bytes from 0x80 on are text in UTF-8 and stay. */
static void print_string(const char *data, size_t length, text *out) {
    static const char specials[] = "\\\n\r\t", names[] = "\\nrt";
    bool has_single = memchr(data, '\'', length) != NULL, has_double = memchr(data, '"', length) != NULL;
    char quote = has_single && !has_double ? '"' : '\'';
    text_add_char(out, quote);
    for (size_t i = 0; i < length; i++) {
        unsigned char c = (unsigned char)data[i];
        const char *special = c != 0 ? strchr(specials, c) : NULL;
        if (special != NULL) {
            text_addf(out, "\\%c", names[special - specials]);
        } else if (c == (unsigned char)quote) {
            text_addf(out, "\\%c", quote);
        } else if (c < 0x20 || c == 0x7f) {
            text_addf(out, "\\x%02x", c);
        } else {
            text_add_char(out, (char)c);
        }
    }
    text_add_char(out, quote);
}

static void print_sizes(const int64_t *sizes, size_t n, char open, char close, text *out) {
    text_add_char(out, open);
    for (size_t i = 0; i < n; i++) {
        text_addf(out, "%s%lld", i > 0 ? ", " : "", (long long)sizes[i]);
    }
    text_add(out, n == 1 && close == ')' ? "," : "");
    text_add_char(out, close);
}

static void print_tensor(const literal_tensor *tensor, text *out) {
    text_add(out, "T(");
    print_sizes(tensor->shape, tensor->n_dims, '[', ']', out);
    text_addf(out, ", %s", assay_dtype_name(tensor->dtype));
    if (tensor->has_stride) {
        text_add(out, ", stride=");
        print_sizes(tensor->stride, tensor->n_dims, '(', ')', out);
    }
    text_add_char(out, ')');
}

static void print_sparse(const literal_sparse *sparse, text *out) {
    text_add(out, "ST(");
    print_sizes(sparse->dense.shape, sparse->dense.n_dims, '[', ']', out);
    text_addf(out, ", %s, %s, %s", assay_dtype_name(sparse->dense.dtype), sparse->layout,
              sparse->is_coalesced ? "True" : "False");
    if (sparse->has_nnz) {
        text_addf(out, ", %lld", (long long)sparse->nnz);
    }
    text_add_char(out, ')');
}

static void print_items(const literal *list, text *out) {
    bool is_tuple = list->kind == LITERAL_TUPLE;
    text_add_char(out, is_tuple ? '(' : '[');
    for (size_t i = 0; i < list->list.n_items; i++) {
        text_add(out, i > 0 ? ", " : "");
        literal_print(&list->list.items[i], out);
    }
    text_add(out, is_tuple && list->list.n_items == 1 ? "," : "");
    text_add_char(out, is_tuple ? ')' : ']');
}

static void print_dict(const literal *dict, text *out) {
    text_add_char(out, '{');
    for (size_t i = 0; i < dict->dict.n_pairs; i++) {
        const literal_pair *pair = &dict->dict.pairs[i];
        text_add(out, i > 0 ? ", " : "");
        print_string(pair->key, strlen(pair->key), out);
        text_add(out, ": ");
        literal_print(pair->value, out);
    }
    text_add_char(out, '}');
}

void literal_print(const literal *value, text *out) {
    switch (value->kind) {
    case LITERAL_NONE:
        text_add(out, "None");
        break;
    case LITERAL_BOOL:
        text_add(out, value->boolean ? "True" : "False");
        break;
    case LITERAL_INT:
        text_addf(out, "%lld", (long long)value->integer);
        break;
    case LITERAL_FLOAT:
        print_double(value->real, false, out);
        break;
    case LITERAL_COMPLEX:
        print_complex(value->complex_number.real, value->complex_number.imaginary, out);
        break;
    case LITERAL_STRING:
        print_string(value->string.data, value->string.length, out);
        break;
    case LITERAL_TUPLE:
    case LITERAL_LIST:
        print_items(value, out);
        break;
    case LITERAL_DICT:
        print_dict(value, out);
        break;
    case LITERAL_DTYPE:
        text_add(out, value->dtype.spelling);
        break;
    case LITERAL_SYMBOL:
        text_add(out, value->symbol);
        break;
    case LITERAL_TENSOR:
        print_tensor(value->tensor, out);
        break;
    case LITERAL_SPARSE:
        print_sparse(value->sparse, out);
        break;
    case LITERAL_NAME:
        text_addf(out, "%%%s", value->name);
        break;
    }
}

/* ---- comparing ---- */

static bool same_double(double a, double b) {
    return (isnan(a) && isnan(b)) || (a == b && signbit(a) == signbit(b));
}

static bool same_sizes(const int64_t *a, const int64_t *b, size_t n) {
    return n == 0 || memcmp(a, b, n * sizeof *a) == 0;
}

static bool same_tensor(const literal_tensor *a, const literal_tensor *b) {
    return a->dtype == b->dtype && a->n_dims == b->n_dims && same_sizes(a->shape, b->shape, a->n_dims) &&
           a->has_stride == b->has_stride && (!a->has_stride || same_sizes(a->stride, b->stride, a->n_dims));
}

static bool same_sparse(const literal_sparse *a, const literal_sparse *b) {
    return same_tensor(&a->dense, &b->dense) && strcmp(a->layout, b->layout) == 0 &&
           a->is_coalesced == b->is_coalesced && a->has_nnz == b->has_nnz && a->nnz == b->nnz;
}

static bool same_items(const literal *a, const literal *b) {
    bool same = a->list.n_items == b->list.n_items;
    for (size_t i = 0; same && i < a->list.n_items; i++) {
        same = literal_equal(&a->list.items[i], &b->list.items[i]);
    }
    return same;
}

static bool same_pairs(const literal *a, const literal *b) {
    bool same = a->dict.n_pairs == b->dict.n_pairs;
    for (size_t i = 0; same && i < a->dict.n_pairs; i++) {
        same = strcmp(a->dict.pairs[i].key, b->dict.pairs[i].key) == 0 &&
               literal_equal(a->dict.pairs[i].value, b->dict.pairs[i].value);
    }
    return same;
}

bool literal_equal(const literal *a, const literal *b) {
    if (a->kind != b->kind) {
        return false;
    }
    switch (a->kind) {
    case LITERAL_NONE:
        return true;
    case LITERAL_BOOL:
        return a->boolean == b->boolean;
    case LITERAL_INT:
        return a->integer == b->integer;
    case LITERAL_FLOAT:
        return same_double(a->real, b->real);
    case LITERAL_COMPLEX:
        return same_double(a->complex_number.real, b->complex_number.real) &&
               same_double(a->complex_number.imaginary, b->complex_number.imaginary);
    case LITERAL_STRING:
        return a->string.length == b->string.length && memcmp(a->string.data, b->string.data, a->string.length) == 0;
    case LITERAL_TUPLE:
    case LITERAL_LIST:
        return same_items(a, b);
    case LITERAL_DICT:
        return same_pairs(a, b);
    case LITERAL_DTYPE:
        return a->dtype.value == b->dtype.value;
    case LITERAL_SYMBOL:
        return strcmp(a->symbol, b->symbol) == 0;
    case LITERAL_TENSOR:
        return same_tensor(a->tensor, b->tensor);
    case LITERAL_SPARSE:
        return same_sparse(a->sparse, b->sparse);
    case LITERAL_NAME:
        return strcmp(a->name, b->name) == 0;
    }
    return false;
}

/* ---- asking ---- */

const literal *literal_dict_find(const literal *dict, const char *key) {
    for (size_t i = 0; dict->kind == LITERAL_DICT && i < dict->dict.n_pairs; i++) {
        if (strcmp(dict->dict.pairs[i].key, key) == 0) {
            return dict->dict.pairs[i].value;
        }
    }
    return NULL;
}

static status too_large(const literal *at, error *err) {
    text shown = {0};
    literal_print(at, &shown);
    status result = fail_at(err, ASSAY_TOO_LARGE, at->line, at->column,
                            "expected a tensor of at most %lld bytes (what a machine can address), got %s",
                            (long long)LITERAL_MAX_TENSOR_BYTES, text_get(&shown));
    text_clear(&shown);
    return result;
}

/* The elements from the first to the last that the strides reach; false when they do not fit in 64 bits. */
static bool reach_of(const literal_tensor *tensor, int64_t *out) {
    int64_t reach = 1;
    for (size_t i = 0; i < tensor->n_dims; i++) {
        int64_t step = 0;
        if (!mul_i64(tensor->shape[i] - 1, tensor->stride[i], &step) || !add_i64(reach, step, &reach)) {
            return false;
        }
    }
    *out = reach;
    return true;
}

status literal_tensor_elements(const literal *tensor, int64_t *out_n_elems, error *err) {
    if (tensor->kind != LITERAL_TENSOR && tensor->kind != LITERAL_SPARSE) {
        return fail_at(err, ASSAY_INVALID, tensor->line, tensor->column, "expected a tensor, got %s",
                       literal_kind_text(tensor->kind));
    }
    const literal_tensor *t = tensor->kind == LITERAL_SPARSE ? &tensor->sparse->dense : tensor->tensor;
    bool is_empty = false;
    for (size_t i = 0; i < t->n_dims; i++) {
        int64_t size = t->shape[i], stride = t->has_stride ? t->stride[i] : 0;
        if (size < 0 || stride < 0) {
            return fail_at(err, ASSAY_INVALID, tensor->line, tensor->column,
                           "expected %s that are not negative, got %lld in dimension %zu",
                           size < 0 ? "sizes" : "strides", (long long)(size < 0 ? size : stride), i);
        }
        is_empty = is_empty || size == 0;
    }
    int64_t n_elems = is_empty ? 0 : 1, reach = n_elems;
    for (size_t i = 0; !is_empty && i < t->n_dims; i++) {
        if (!mul_i64(n_elems, t->shape[i], &n_elems)) {
            return too_large(tensor, err);
        }
    }
    if (!is_empty && t->has_stride && !reach_of(t, &reach)) {
        return too_large(tensor, err);
    }
    /* a sparse tensor's shape is no storage: it only has to be countable */
    int64_t limit = LITERAL_MAX_TENSOR_BYTES / (int64_t)dtype_size(t->dtype);
    if (tensor->kind == LITERAL_TENSOR && (n_elems > limit || reach > limit)) {
        return too_large(tensor, err);
    }
    *out_n_elems = n_elems;
    return ASSAY_OK;
}
