/* SPDX-License-Identifier: Apache-2.0 */
/* ATen's spelling of an operator, parsed: "add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor". */
#ifndef ENGINE_SCHEMA_SIGNATURE_H
#define ENGINE_SCHEMA_SIGNATURE_H

#include "base/arena.h"
#include "base/status.h"
#include "engine/tensor/tensor.h"

/* What an argument holds. Lists have n items. ARG_NONE is Python's None. */
typedef enum arg_kind {
    ARG_NONE,
    ARG_TENSOR,
    ARG_TENSORS, /* items may be NULL (Tensor?[]) */
    ARG_NUMBER,
    ARG_INT,
    ARG_FLOAT,
    ARG_BOOL,
    ARG_STR,
    ARG_INTS,
    ARG_FLOATS,
    ARG_BOOLS,
    ARG_DTYPE,
    ARG_LAYOUT,        /* str: "strided", "sparse_coo" */
    ARG_DEVICE,        /* str: "cuda", "cpu:0", ... */
    ARG_MEMORY_FORMAT, /* str: "contiguous_format", "channels_last", "channels_last_3d", "preserve_format" */
    ARG_GENERATOR
} arg_kind;

/* Borrowed contents: whoever made the argument owns the tensors and lists. */
typedef struct arg {
    arg_kind kind;
    int32_t n;
    union {
        tensor *tensor;
        tensor **tensors;
        number number;
        int64_t i;
        double f;
        bool b;
        const char *str;
        const int64_t *ints;
        const double *floats;
        const bool *bools;
        dtype dtype;
    };
} arg;

typedef struct param {
    const char *name;
    arg_kind kind;       /* ARG_TENSORS, ARG_INTS, ARG_FLOATS and ARG_BOOLS are the list types */
    bool is_optional;    /* takes None */
    bool items_optional; /* Tensor?[] */
    bool is_written;     /* Tensor(a!) */
    bool is_keyword;     /* behind the '*' */
    bool has_default;
    int32_t list_size; /* int[2]: 2, and a single int stands for both; 0: any */
    arg preset;        /* the default */
} param;

enum { SIGNATURE_MAX_PARAMS = 24, SIGNATURE_MAX_RETURNS = 8 };

typedef struct signature {
    const char *text;     /* as given */
    const char *name;     /* "add" */
    const char *overload; /* "Tensor"; "default" when the spelling has none */
    const char *full;     /* "add.Tensor", "relu.default" */
    int n_params;
    int n_returns;
    param *params;
    bool returns_list; /* the last return is a Tensor[]: its tensors follow the others among the outputs */
} signature;

/* Parses text into the arena. The namespace "aten::" may lead. PARSE with the column otherwise. */
status signature_parse(arena *memory, const char *text, signature *out, error *err);

/* The signature of the in-place variant: "add_.Tensor(Tensor(a!) self, ...) -> Tensor(a!)". */
status signature_in_place(arena *memory, const signature *functional, signature *out, error *err);

/* Index of a parameter, or -1. */
int signature_find_param(const signature *s, const char *name);

/* "Tensor", "int[2]?", ...: the type of a parameter as ATen spells it, into a buffer of at least 32 bytes. */
char *param_type_text(char *buffer, const param *p);

#endif
