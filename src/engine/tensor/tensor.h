/* SPDX-License-Identifier: Apache-2.0 */
/* Strided tensors over reference-counted storage, and the layout questions asked of them. */
#ifndef ENGINE_TENSOR_TENSOR_H
#define ENGINE_TENSOR_TENSOR_H

#include "base/status.h"
#include "device/device.h"
#include "engine/tensor/dtype.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum { TENSOR_MAX_DIMS = 16 };
/* Elements: times 16 bytes (the largest dtype) they stay far from overflow in every later product. */
#define TENSOR_MAX_SPAN (INT64_C(1) << 58)

/* A block of device memory shared by tensors. */
typedef struct storage {
    atomic_int refs;
    const device *device;
    void *data;
    size_t size_bytes;
    bool is_beside; /* data lies in this very allocation: a small tensor of the CPU costs one */
} storage;

typedef struct sparse_coo sparse_coo;

/* Sizes and strides count elements; a stride may be 0 (broadcast) or make elements overlap, never be negative.
   Plain data for the caller's storage: tensor_clear drops its hold on the memory. Copy with tensor_share, not with `=`
   (except to read the layout). */
typedef struct tensor {
    dtype dtype;
    int32_t ndim;
    bool is_wrapped_number; /* a Python number standing in for a tensor: it has a category, but no weight in promotion */
    int64_t offset;         /* of the first element from the storage's start */
    storage *storage;       /* NULL: shape only (the meta device, or not allocated yet) */
    sparse_coo *sparse;     /* a sparse COO tensor; then strides mean nothing and storage is NULL */
    int64_t sizes[TENSOR_MAX_DIMS];
    int64_t strides[TENSOR_MAX_DIMS];
} tensor;

/* indices [sparse_dim, nnz] i64 and values [nnz, dense sizes...]; shared by the tensors that point here. */
struct sparse_coo {
    atomic_int refs;
    tensor indices;
    tensor values;
    bool is_coalesced;
};

/* Shapes. Each checks: at most TENSOR_MAX_DIMS dimensions, no negative size or stride, the span of bytes fits in 2^62.
   INVALID or TOO_LARGE otherwise; out is untouched then. No memory is taken. */
status tensor_init(tensor *out, dtype t, int ndim, const int64_t *sizes, error *err);
status tensor_init_strided(tensor *out, dtype t, int ndim, const int64_t *sizes, const int64_t *strides, error *err);
/* Dense, after `like` (ATen's preserve_format): its very strides when it is dense and does not overlap, otherwise its
   order of dimensions without the gaps. */
status tensor_init_like(tensor *out, dtype t, const tensor *like, error *err);
/* Dense in the order given: order[0] is the outermost (slowest) dimension. */
status tensor_init_permuted(tensor *out, dtype t, int ndim, const int64_t *sizes, const int *order, error *err);
/* Dense, with dimension 1 the fastest: 4 dims NHWC, 5 dims NDHWC; contiguous in any other number of dimensions. */
status tensor_init_channels_last(tensor *out, dtype t, int ndim, const int64_t *sizes, error *err);
/* A sparse COO tensor that shares both parts. indices are i64 [sparse dims, nnz], values [nnz, dense dims...] with
   sparse dims + dense dims = ndim: INVALID otherwise. */
status tensor_init_sparse(tensor *out, int ndim, const int64_t *sizes, const tensor *indices, const tensor *values,
                          bool is_coalesced, error *err);

/* Gives the tensor memory of its own for its whole span, contents undefined. On meta this does nothing. */
status tensor_allocate(tensor *t, const device *d, error *err);
/* The same at a place, as device.h has it; tensor_allocate takes 0, as inputs do. */
status tensor_allocate_at(tensor *t, const device *d, int place, error *err);
/* A second hold on the same memory, with the same layout. */
void tensor_share(tensor *out, const tensor *t);
/* The same hold on the same memory, from now on out's. t keeps its layout. */
void tensor_move(tensor *out, tensor *t);
/* Drops the hold on memory; the layout stays readable. Safe on a zeroed tensor and twice. */
void tensor_clear(tensor *t);
/* A 0-dim cpu tensor holding a number: bool -> b8, int -> i64, float -> f64, complex -> c128; is_wrapped_number. */
status tensor_init_number(tensor *out, number value, error *err);

int64_t tensor_numel(const tensor *t);
/* Address of the first element; NULL where there is no memory. */
char *tensor_data(const tensor *t);
/* Elements from the first to one past the last that any index reaches; 0 when empty. */
int64_t tensor_span(const tensor *t);
/* Bytes of distinct elements: broadcast dimensions (stride 0) count once. */
double tensor_bytes(const tensor *t);

bool tensor_is_contiguous(const tensor *t);
bool tensor_is_channels_last(const tensor *t); /* 4 dims NHWC, 5 dims NDHWC; false if contiguous holds as well */
/* ATen's guess at the memory format an operator should answer in (suggest_memory_format): strides ordered as NHWC or
   NDHWC, gaps allowed, ambiguous ones taken as contiguous. */
bool tensor_suggests_channels_last(const tensor *t);
/* No two indices share an element and the elements fill their span. */
bool tensor_is_dense(const tensor *t);
bool tensor_same_sizes(const tensor *a, const tensor *b);
bool tensor_same_strides(const tensor *a, const tensor *b); /* in dimensions larger than 1 */
/* Whether two elements lie in one place: those of a dimension of stride 0, as expand makes them, or where strides of several dimensions add up
   to the same (sizes [3, 2] with strides [1, 2]). ATen's has_internal_overlap looks for the former only. Where neither the strides'
   order nor some thousand steps of search settle it, false. False without elements. */
bool tensor_overlaps_itself(const tensor *t);
/* Whether two tensors can touch the same byte (conservative: compares spans). */
bool tensor_may_overlap(const tensor *a, const tensor *b);

/* dim in [-ndim, ndim) to [0, ndim); 0-dim tensors take 0 and -1. INVALID names the range otherwise. */
status dim_wrap(int64_t dim, int ndim, int *out, error *err);
/* ATen's broadcast of two shapes; INVALID names both. out may be a. */
status sizes_broadcast(int *ndim, int64_t *sizes, int more_ndim, const int64_t *more, error *err);
/* t's strides as seen from the broadcast shape: 0 in dimensions it lacks or has with size 1. t must broadcast to it. */
void tensor_broadcast_strides(const tensor *t, int ndim, const int64_t *sizes, int64_t *strides);
void sizes_contiguous_strides(int ndim, const int64_t *sizes, int64_t *strides);
int64_t sizes_numel(int ndim, const int64_t *sizes);
/* Row-major position of flat index `flat`, and back. */
void sizes_unravel(int ndim, const int64_t *sizes, int64_t flat, int64_t *index);
int64_t sizes_ravel(int ndim, const int64_t *sizes, const int64_t *index);

/* "f32[2, 3]" or "f32[2, 3] strides (1, 2)", into a buffer of at least 640 bytes; returns it. */
enum { TENSOR_TEXT_BYTES = 640 };
char *tensor_describe(char *buffer, const tensor *t);

/* Element offset (from the first element) of flat row-major index i; slow, for references and checks. */
int64_t tensor_offset_of(const tensor *t, int64_t flat);

#endif
