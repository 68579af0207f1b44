/* SPDX-License-Identifier: Apache-2.0 */
/* From recorded literals to a call: arguments in the order of the signature, tensors with the dtype asked for. */
#ifndef ENGINE_LITERAL_BIND_H
#define ENGINE_LITERAL_BIND_H

#include "base/arena.h"
#include "base/status.h"
#include "engine/schema/op.h"
#include "engine/literal/literal.h"

#include <stdbool.h>

/* What becomes of recorded types. Tensors that are not floating point keep theirs, in every mode. */
typedef enum dtype_mode {
    DTYPE_AS_RECORDED,
    DTYPE_F16,  /* f16 and bf16 become it; f32 stays: a recording of mixed precision keeps its f32 statistics */
    DTYPE_BF16, /* likewise */
    DTYPE_F32,  /* every floating type becomes it */
    DTYPE_F64,  /* likewise */
} dtype_mode;

/* "as-recorded", "f16", ...; INVALID with the nearest name otherwise. */
status dtype_mode_find(const char *name, dtype_mode *out, error *err);
const char *dtype_mode_name(dtype_mode mode);

typedef struct bind_options {
    dtype_mode dtype;
    bool channels_last; /* tensors of 4 dimensions are laid out NHWC */
    bool narrows_f32;   /* DTYPE_F16 and DTYPE_BF16: f32 becomes it as well */
} bind_options;

/* A call and the tensors it owns, in the arena it was bound in. */
typedef struct bound_call {
    op_call call;
    tensor **tensors; /* every tensor of the arguments, in order, numbers included; a tensor appears once */
    int n_tensors;
    double input_bytes; /* what bound_allocate will take */
} bound_call;

/* Binds args (a TUPLE) and kwargs (a DICT) to o's signature. Shapes only: no tensor has memory yet, but for wrapped
   numbers. INVALID or TOO_LARGE, with the literal's line and column: too many or too few arguments, an unknown keyword (with
   the nearest), an argument given twice, a literal of the wrong kind, an impossible shape. On failure there is nothing to
   clear. */
status bind_call(arena *memory, const op *o, const literal *args, const literal *kwargs, const bind_options *options,
                 bound_call *out, error *err);

/* Where the names among a graph's arguments lead. */
typedef struct bind_names {
    tensor *(*find)(void *self, const char *name); /* NULL: there is none */
    const char *(*nearest)(void *self, const char *name); /* for a typo; NULL: none is near */
    void *self;
} bind_names;

/* As bind_call, for literal_parse_arguments: a Tensor is a %NAME or a number, and out->tensors are the numbers alone. */
status bind_call_names(arena *memory, const op *o, const literal *args, const literal *kwargs, const bind_options *options,
                       const bind_names *names, bound_call *out, error *err);

/* The shape that a literal of kind TENSOR stands for under the options. Errors as of bind_call, without a position. */
status bind_tensor_form(const literal *value, const bind_options *options, tensor *out, error *err);

/* Gives every tensor memory on d. OUT_OF_MEMORY: some may have theirs; bound_clear takes care. */
status bound_allocate(bound_call *b, const device *d, error *err);
void bound_clear(bound_call *b);

#endif
