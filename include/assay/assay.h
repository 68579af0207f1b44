/* SPDX-License-Identifier: Apache-2.0 */
/* The engine as a library: tensors, and calls of operators by ATen's names.

   Threads: a session and its tensors may be used from one thread at a time; different sessions are independent. Operators
   use up to the threads that assay_session_set_threads allowed, and fewer where OpenMP gives fewer (OMP_THREAD_LIMIT). Every fallible function returns an assay_status and fills
   in the last argument, which may be NULL; outputs are written on success only. */
#ifndef ASSAY_ASSAY_H
#define ASSAY_ASSAY_H

#include "assay/dtype.h"
#include "assay/status.h"

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct assay_session assay_session;
typedef struct assay_tensor assay_tensor;
typedef struct assay_op assay_op;

/* The table of operators and their kernels. OUT_OF_MEMORY. */
ASSAY_API assay_status assay_session_new(assay_session **out, assay_error *error);
/* NULL is fine. Tensors may outlive their session. */
ASSAY_API void assay_session_free(assay_session *session);
/* Threads for each of the session's calls from now on, whichever thread makes it; until then as many as OpenMP gives that
   thread, whose own number (omp_set_num_threads) stays what it is. INVALID below 1. */
ASSAY_API assay_status assay_session_set_threads(assay_session *session, int n_threads, assay_error *error);

/* A tensor of the process's own memory, contents undefined; strides in elements, NULL for contiguous. INVALID: a negative
   size or stride; TOO_LARGE: more than 16 dimensions, or more bytes than an address can count; OUT_OF_MEMORY. */
ASSAY_API assay_status assay_tensor_new(assay_dtype dtype, int ndim, const int64_t *sizes, const int64_t *strides,
                                        assay_tensor **out, assay_error *error);
/* Drops the caller's hold; views of the same memory stay valid. NULL is fine. */
ASSAY_API void assay_tensor_free(assay_tensor *tensor);
ASSAY_API assay_dtype assay_tensor_dtype(const assay_tensor *tensor);
ASSAY_API int assay_tensor_ndim(const assay_tensor *tensor);
ASSAY_API const int64_t *assay_tensor_sizes(const assay_tensor *tensor);
ASSAY_API const int64_t *assay_tensor_strides(const assay_tensor *tensor);
/* The first element; valid as long as the tensor. */
ASSAY_API void *assay_tensor_data(const assay_tensor *tensor);

/* An operator by name: "add.Tensor", "aten.relu_.default", "_softmax" ... NOT_FOUND names the nearest. Look up once, call
   often. Lives as long as the session. */
ASSAY_API assay_status assay_op_find(const assay_session *session, const char *name, const assay_op **out,
                                     assay_error *error);
/* ATen's spelling: "add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor". */
ASSAY_API const char *assay_op_signature(const assay_op *op);

/* One argument of a call. */
typedef enum assay_value_kind {
    ASSAY_VALUE_DEFAULT, /* the signature's default */
    ASSAY_VALUE_NONE,
    ASSAY_VALUE_TENSOR,
    ASSAY_VALUE_TENSORS, /* n items; NULL items are None */
    ASSAY_VALUE_INT,
    ASSAY_VALUE_FLOAT,
    ASSAY_VALUE_BOOL,
    ASSAY_VALUE_STR,
    ASSAY_VALUE_INTS,
    ASSAY_VALUE_FLOATS,
    ASSAY_VALUE_BOOLS,
    ASSAY_VALUE_DTYPE
} assay_value_kind;

typedef struct assay_value {
    assay_value_kind kind;
    int32_t n; /* of a list */
    union {
        assay_tensor *tensor;
        assay_tensor *const *tensors;
        int64_t i;
        double f;
        bool b;
        const char *str;
        const int64_t *ints;
        const double *floats;
        const bool *bools;
        assay_dtype dtype;
    };
} assay_value;

/* Calls op eagerly: values[0..n_values) are its arguments in the order of the signature, those left out take their default.
   outputs has room for n_outputs tensors, which are made (an in-place operator's is argument 0's memory) and owned by the
   caller. Numbers may stand for tensors, as in Python. INVALID: a wrong kind, shape or dtype, a list of a negative n or
   without items, too few arguments, another number of outputs; UNSUPPORTED: no kernel for these dtypes; OUT_OF_MEMORY. Of
   these nothing is computed; a value that only the kernel meets (an index out of range) is INVALID as well, and an in-place
   operator may have written by then. */
ASSAY_API assay_status assay_call(assay_session *session, const assay_op *op, const assay_value *values, int n_values,
                                  assay_tensor **outputs, int n_outputs, assay_error *error);

#ifdef __cplusplus
}
#endif
#endif
