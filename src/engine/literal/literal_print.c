/* SPDX-License-Identifier: Apache-2.0 */
/* Literals written back as the recorder writes them. */
#include "engine/literal/literal.h"

#include "base/c_locale.h"
#include "engine/tensor/dtype.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The digits of value, at most 17, as few as read back to it, and its decimal exponent. */
static int shortest_digits(double value, char digits[20]) {
    char buffer[40];
    for (int n = 1; n <= 17; n++) {
        c_snprintf(buffer, sizeof buffer, "%.*e", n - 1, value);
        if (c_strtod(buffer, NULL) == value) {
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
