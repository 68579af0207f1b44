/* SPDX-License-Identifier: Apache-2.0 */
/* One recorded argument as a value: the Python literals, tensors and torch symbols that PyTorch's operator recorder
   prints, read into a tree. Nothing is ever evaluated. */
#ifndef ENGINE_LITERAL_LITERAL_H
#define ENGINE_LITERAL_LITERAL_H

#include "assay/dtype.h"
#include "base/arena.h"
#include "base/status.h"
#include "base/text.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Lists inside lists deeper than this are refused, so that no input can exhaust the stack. Recorded ones reach 5. */
enum { LITERAL_MAX_DEPTH = 64 };

/* More keys in one dict are refused: no operator has as many keyword arguments, and each is compared with those before.
 */
enum { LITERAL_MAX_KEYS = 256 };

/* More than this many bytes for one tensor is refused by literal_tensor_elements: the user address space of x86-64 and
   aarch64 with 48-bit addresses ends here, so no machine could map it. */
#define LITERAL_MAX_TENSOR_BYTES ((int64_t)1 << 47)

/* The one list of kinds, each with the words that errors use for it. */
#define LITERAL_KIND_LIST(X)                                                                                           \
    X(NONE, "None")                                                                                                    \
    X(BOOL, "a bool")                                                                                                  \
    X(INT, "an integer")                                                                                               \
    X(FLOAT, "a float")                                                                                                \
    X(COMPLEX, "a complex number")                                                                                     \
    X(STRING, "a string")                                                                                              \
    X(TUPLE, "a tuple")                                                                                                \
    X(LIST, "a list")                                                                                                  \
    X(DICT, "a dict")                                                                                                  \
    X(DTYPE, "a dtype")                                                                                                \
    X(SYMBOL, "a torch symbol")                                                                                        \
    X(TENSOR, "a tensor")                                                                                              \
    X(SPARSE, "a sparse tensor")                                                                                       \
    X(NAME, "a value's name")

typedef enum literal_kind {
#define LITERAL_KIND_ENUM(name, words) LITERAL_##name,
    LITERAL_KIND_LIST(LITERAL_KIND_ENUM)
#undef LITERAL_KIND_ENUM
} literal_kind;

typedef struct literal literal;

/* `T([shape], dtype[, stride=(...)])`. Sizes and strides are as recorded, in elements: any int64, absurd ones too;
   literal_tensor_elements judges them. The recorder leaves out the strides of a contiguous tensor. */
typedef struct literal_tensor {
    assay_dtype dtype;
    bool has_stride;
    size_t n_dims;
    const int64_t *shape;  /* n_dims of them */
    const int64_t *stride; /* n_dims of them; NULL without has_stride */
} literal_tensor;

/* `ST([shape], dtype, layout, is_coalesced[, nnz])`, as the recorder prints it: nnz is missing where it saw a fake
   tensor, and may be written `nnz=N`. */
typedef struct literal_sparse {
    literal_tensor dense; /* shape and dtype; never has_stride */
    const char *layout;   /* "torch.sparse_coo" and the like */
    bool is_coalesced;
    bool has_nnz;
    int64_t nnz;
} literal_sparse;

typedef struct literal_pair {
    const char *key; /* NUL-terminated */
    const literal *value;
} literal_pair;

/* A value. Lives, with all it points to, in the arena it was read into; read-only afterwards, so any number of threads
   may look at it. Which member of the union holds is said by kind. */
struct literal {
    literal_kind kind;
    int32_t line;   /* where it begins in what was read, 1-based: for the errors of later stages */
    int32_t column; /* 1-based, in bytes */
    union {
        bool boolean;    /* BOOL */
        int64_t integer; /* INT */
        double real;     /* FLOAT: finite, inf, -inf or nan */
        struct {
            double real, imaginary;
        } complex_number; /* COMPLEX */
        struct {
            const char *data; /* unescaped, NUL behind it; may hold NUL bytes of its own */
            size_t length;
        } string;           /* STRING */
        const char *symbol; /* SYMBOL, as recorded: "torch.strided", "device(type='cuda', index=0)" */
        struct {
            assay_dtype value;
            const char *spelling; /* as recorded: "f16" or "torch.float16"; a constant */
        } dtype;                  /* DTYPE */
        struct {
            const literal *items;
            size_t n_items;
        } list; /* LIST and TUPLE */
        struct {
            const literal_pair *pairs; /* in the recorded order; keys differ from each other */
            size_t n_pairs;
        } dict;                       /* DICT */
        const literal_tensor *tensor; /* TENSOR */
        const literal_sparse *sparse; /* SPARSE */
        const char *name;             /* NAME, without its '%'; only in the arguments of a graph's calls */
    };
};

/* "an integer", "a list", ...; "an unknown kind" for a number outside the list. */
const char *literal_kind_text(literal_kind kind);

/* How many elements a TENSOR or SPARSE has (1 for no dimensions). INVALID with the literal's position: a negative size
   or stride, or another kind of literal. TOO_LARGE with the position: a product beyond int64, or more bytes than
   LITERAL_MAX_TENSOR_BYTES, densely or over the reach of the strides. *out_n_elems is written on success only. */
status literal_tensor_elements(const literal *tensor, int64_t *out_n_elems, error *err);

/* The value behind key in a DICT, or NULL where there is none (or no dict). */
const literal *literal_dict_find(const literal *dict, const char *key);

/* Adds the value in the recorded format, so that what the recorder wrote comes back byte for byte: Python's repr of
   numbers and strings, `(x,)` for a tuple of one. Sets out->failed when memory is out. */
void literal_print(const literal *value, text *out);

/* Whether two values are the same: kinds, contents and order; nan equals nan, 0.0 differs from -0.0, dtypes compare by
   meaning, positions do not count. */
bool literal_equal(const literal *a, const literal *b);

#endif
