/* SPDX-License-Identifier: Apache-2.0 */
/* What literals are called, how they compare, and what a dict holds. */
#include "engine/literal/literal.h"

#include <math.h>
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

const literal *literal_dict_find(const literal *dict, const char *key) {
    for (size_t i = 0; dict->kind == LITERAL_DICT && i < dict->dict.n_pairs; i++) {
        if (strcmp(dict->dict.pairs[i].key, key) == 0) {
            return dict->dict.pairs[i].value;
        }
    }
    return NULL;
}

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
