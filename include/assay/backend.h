/* SPDX-License-Identifier: Apache-2.0 */
/* The plug-in ABI: how a shared object offers assay another way to run tensor operators.

   A plug-in exports one function, assay_backend_entry. assay hands it the version that it speaks; the plug-in answers with
   a table of functions, or NULL when it cannot speak that version. For each recorded input assay calls `prepare` once (its
   time is reported as prepare_ns), then `run` many times (what is measured), then `release`. A complete example with three
   operators lies in examples/plugin/.

   Rules that keep a plug-in honest and safe:
   - Everything passed in is borrowed: a program outlives its plan, the backend outlives its plans.
   - `run` reads the inputs' present values, which are others in the first run than in those that are checked and timed, and writes
     every element of every output. It writes to no input but as the operator says, nor around the outputs.
   - Errors are a status and a message, one line of text; UNSUPPORTED with a reason is an ordinary answer. A plug-in that crashes or
     hangs costs its own row of the report and nothing else: it runs in a worker process.
   - Calls come from one thread at a time. How many threads `run` may use is told in `configure`. What a call changes for the whole
     process, the number of OpenMP threads and the floating-point environment, assay puts back before others have their turn; the
     rest (locale, signals, working directory, files that it has not opened) is to be left alone. */
#ifndef ASSAY_BACKEND_H
#define ASSAY_BACKEND_H

#include "assay/dtype.h"
#include "assay/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Raised when something below changes meaning. A plug-in built for another version is refused with both numbers. */
#define ASSAY_BACKEND_ABI 1

typedef enum assay_layout { ASSAY_STRIDED, ASSAY_SPARSE_COO } assay_layout;

/* A tensor in the process's own memory. Strides count elements and may be 0 or overlap in inputs. */
typedef struct assay_tensor_view {
    void *data;             /* the first element; NULL for a value inside the program that the backend makes itself */
    const int64_t *sizes;   /* ndim of each */
    const int64_t *strides; /* NULL when sparse */
    int32_t ndim;
    int32_t dtype;             /* an assay_dtype */
    int32_t layout;            /* an assay_layout */
    bool is_wrapped_number;    /* a Python number in place of a tensor: 0-dim, of no weight in type promotion */
    bool is_coalesced;         /* of a sparse tensor */
    const struct assay_tensor_view *indices; /* of a sparse tensor: i64 [sparse dims, nnz] ... */
    const struct assay_tensor_view *values;  /* ... and [nnz, dense sizes] */
} assay_tensor_view;

typedef enum assay_argument_kind {
    ASSAY_ARG_NONE,
    ASSAY_ARG_TENSOR,        /* tensors, n = 1: an index into the program's tensors */
    ASSAY_ARG_TENSORS,       /* n of them; -1 stands for None */
    ASSAY_ARG_NUMBER,        /* a Scalar: number_category says which field holds */
    ASSAY_ARG_INT,
    ASSAY_ARG_FLOAT,
    ASSAY_ARG_BOOL,
    ASSAY_ARG_STR,
    ASSAY_ARG_INTS,
    ASSAY_ARG_FLOATS,
    ASSAY_ARG_BOOLS,
    ASSAY_ARG_DTYPE,         /* i: an assay_dtype */
    ASSAY_ARG_LAYOUT,        /* str: "strided", "sparse_coo" */
    ASSAY_ARG_DEVICE,        /* str, as recorded: "cuda" is no order to use one */
    ASSAY_ARG_MEMORY_FORMAT, /* str: "contiguous_format", "channels_last", ... */
    ASSAY_ARG_GENERATOR
} assay_argument_kind;

typedef enum assay_number_category {
    ASSAY_NUMBER_BOOL,
    ASSAY_NUMBER_INT,
    ASSAY_NUMBER_FLOAT,
    ASSAY_NUMBER_COMPLEX
} assay_number_category;

/* One argument, in the order of the signature, defaults filled in. */
typedef struct assay_argument {
    int32_t kind; /* an assay_argument_kind */
    int32_t n;    /* items of a list */
    int32_t number_category;
    int64_t i;         /* INT, BOOL (0 or 1), DTYPE; NUMBER of category BOOL or INT */
    double f;          /* FLOAT; NUMBER: the value as a double, or the real part */
    double imaginary;  /* NUMBER of category COMPLEX */
    const char *str;
    const int32_t *tensors;
    const int64_t *ints;
    const double *floats;
    const bool *bools;
} assay_argument;

/* One operator call. */
typedef struct assay_node {
    const char *op;        /* "add.Tensor", "relu_.default": ATen's name and overload */
    const char *signature; /* "add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor" */
    int32_t n_arguments;
    int32_t n_outputs;
    const assay_argument *arguments;
    const int32_t *outputs; /* indices into the program's tensors */
    uint64_t seed;          /* of random operators */
    bool is_view;           /* outputs alias argument 0's memory: there is nothing to compute */
    bool is_in_place;       /* argument 0 is written, and output 0 is what it is then. See assay_program for which memory that is */
} assay_node;

/* A straight line of calls. Tensors are named by index. Inputs and outputs have memory; outputs are laid out as ATen lays
   them out. Outputs may come from any node. One that is a view of a value inside the program has memory of its own, and the
   values are to be written there.
   What a call writes in place has another index behind it than before it. Where that is an input of the program, or a view of
   one, both are described over the input's memory, which must hold the new values. A value made inside the program has no memory
   before nor behind, unless one of the two is an output of the program: that one has memory of its own. Later calls that name the
   old index, or a view of it, see what was written, as in ATen. */
typedef struct assay_program {
    const assay_tensor_view *tensors;
    const assay_node *nodes;
    const int32_t *outputs;
    int32_t n_tensors;
    int32_t n_nodes;
    int32_t n_outputs;
} assay_program;

/* Whatever the plug-in needs to run a program; assay only carries it around. */
typedef struct assay_plan assay_plan;

/* Where the tensors are f16 or bf16: the type in which a kernel keeps what it computes on the way. */
typedef enum assay_precision {
    ASSAY_WIDE,         /* in f32; only the result is rounded to the tensors' type */
    ASSAY_NARROW_STEPS, /* a few intermediate values are rounded to the tensors' type, sums are not */
    ASSAY_NARROW_SUMS   /* sums are kept in the tensors' type: each addition rounds to it */
} assay_precision;

/* What a plan says about itself; assay zeroes it before `prepare`. */
typedef struct assay_plan_facts {
    bool is_fallback;  /* the work is handed to somebody else's kernel */
    uint8_t precision; /* an assay_precision; the tolerance follows it */
    const char *note;  /* something a reader of the number should know; lives as long as the plan; or NULL */
} assay_plan_facts;

typedef struct assay_backend {
    uint32_t abi;         /* ASSAY_BACKEND_ABI */
    uint32_t size_bytes;  /* sizeof(assay_backend): fields may be added behind the last */
    const char *name;     /* the column's name: letters, digits, '-', '_' */
    const char *doc;      /* one sentence */
    void *state;          /* the plug-in's own */

    /* Called once before the first prepare. May be NULL. */
    assay_status (*configure)(void *state, int32_t n_threads, assay_error *error);
    /* OK if the operator ("add.Tensor") is served at all, else UNSUPPORTED and why. May be NULL: not known beforehand. */
    assay_status (*covers)(void *state, const char *op, assay_error *error);
    assay_status (*prepare)(void *state, const assay_program *program, assay_plan **plan, assay_plan_facts *facts,
                            assay_error *error);
    assay_status (*run)(assay_plan *plan, assay_error *error);
    void (*release)(assay_plan *plan);
    /* For a plug-in that must make outputs itself (a library that returns fresh tensors): describes output i of the last
       run; the description and its memory hold until the next run or release. Not called before the first run. The program's
       outputs have no memory then. NULL: outputs are written where the program says. */
    assay_status (*output)(assay_plan *plan, int32_t i, assay_tensor_view *out, assay_error *error);
    /* Called once at the end. May be NULL. */
    void (*close)(void *state);

    /* What follows was added behind the first version's last field; a shorter table does without. */

    /* Called before configure when the backend was named with options, `--backend NAME:OPTIONS`, which are also part of the
       column's name. INVALID or UNSUPPORTED with what was expected. May be NULL: there are no options. */
    assay_status (*set_options)(void *state, const char *options, assay_error *error);
} assay_backend;

/* The one symbol of a plug-in. `abi` is what the host speaks. The table lives until `close`. NULL, with `error` filled in,
   refuses (no device, a missing library). */
typedef const assay_backend *assay_backend_entry_fn(uint32_t abi, assay_error *error);
#define ASSAY_BACKEND_ENTRY "assay_backend_entry"

#ifdef __cplusplus
}
#endif
#endif
