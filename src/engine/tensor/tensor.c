/* SPDX-License-Identifier: Apache-2.0 */
/* Tensors: making, sharing and asking. */
#include "engine/tensor/tensor.h"

#include "base/arena.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int64_t sizes_numel(int ndim, const int64_t *sizes) {
    int64_t n = 1;
    for (int d = 0; d < ndim; d++) {
        n *= sizes[d];
    }
    return n;
}

void sizes_unravel(int ndim, const int64_t *sizes, int64_t flat, int64_t *index) {
    for (int d = ndim - 1; d >= 0; d--) {
        index[d] = flat % sizes[d];
        flat /= sizes[d];
    }
}

int64_t sizes_ravel(int ndim, const int64_t *sizes, const int64_t *index) {
    int64_t flat = 0;
    for (int d = 0; d < ndim; d++) {
        flat = flat * sizes[d] + index[d];
    }
    return flat;
}

int64_t tensor_numel(const tensor *t) {
    return sizes_numel(t->ndim, t->sizes);
}

void sizes_contiguous_strides(int ndim, const int64_t *sizes, int64_t *strides) {
    int64_t stride = 1;
    for (int d = ndim - 1; d >= 0; d--) {
        strides[d] = stride;
        stride *= sizes[d] > 1 ? sizes[d] : 1;
    }
}

static status check_sizes(int ndim, const int64_t *sizes, error *err) {
    if (ndim < 0 || ndim > TENSOR_MAX_DIMS) {
        return fail(err, ASSAY_TOO_LARGE, "expected at most %d dimensions, got %d", TENSOR_MAX_DIMS, ndim);
    }
    int64_t n = 1; /* as if no dimension were empty, so that strides cannot overflow either */
    for (int d = 0; d < ndim; d++) {
        if (sizes[d] < 0) {
            return fail(err, ASSAY_INVALID, "expected sizes of 0 or more, got %" PRId64 " in dimension %d", sizes[d], d);
        }
        if (!mul_i64(n, sizes[d] > 1 ? sizes[d] : 1, &n) || n > TENSOR_MAX_SPAN) {
            return fail(err, ASSAY_TOO_LARGE, "the product of the sizes exceeds 2^58 elements (dimension %d is %" PRId64 ")",
                        d, sizes[d]);
        }
    }
    return ASSAY_OK;
}

static status check_strides(int ndim, const int64_t *sizes, const int64_t *strides, error *err) {
    int64_t last = 0;
    for (int d = 0; d < ndim; d++) {
        if (strides[d] < 0) {
            return fail(err, ASSAY_INVALID, "expected strides of 0 or more, got %" PRId64 " in dimension %d", strides[d],
                        d);
        }
        if (strides[d] > TENSOR_MAX_SPAN) { /* of a dimension of one element, too, though nothing is reached so */
            return fail(err, ASSAY_TOO_LARGE, "a stride beyond 2^58 elements, %" PRId64 " in dimension %d", strides[d], d);
        }
        int64_t reach = 0;
        if (!mul_i64(sizes[d] > 1 ? sizes[d] - 1 : 0, strides[d], &reach) || !add_i64(last, reach, &last) ||
            last > TENSOR_MAX_SPAN) {
            return fail(err, ASSAY_TOO_LARGE, "the strides reach beyond 2^58 elements (dimension %d)", d);
        }
    }
    return ASSAY_OK;
}

/* Sets everything but sizes and strides, which the caller copies: clearing 16 dimensions each time would show. */
static void init_header(tensor *out, dtype t, int ndim) {
    out->dtype = t;
    out->ndim = ndim;
    out->is_wrapped_number = false;
    out->offset = 0;
    out->storage = NULL;
    out->sparse = NULL;
}

/* A list of no dimensions may be NULL, which memmove must not see. */
static void copy_dims(int64_t *to, const int64_t *from, int n) {
    if (n > 0) {
        memmove(to, from, (size_t)n * sizeof *to);
    }
}

status tensor_init(tensor *out, dtype t, int ndim, const int64_t *sizes, error *err) {
    TRY(check_sizes(ndim, sizes, err));
    init_header(out, t, ndim);
    copy_dims(out->sizes, sizes, ndim);
    sizes_contiguous_strides(ndim, out->sizes, out->strides);
    return ASSAY_OK;
}

status tensor_init_strided(tensor *out, dtype t, int ndim, const int64_t *sizes, const int64_t *strides, error *err) {
    TRY(check_sizes(ndim, sizes, err));
    TRY(check_strides(ndim, sizes, strides, err));
    init_header(out, t, ndim);
    copy_dims(out->sizes, sizes, ndim);
    copy_dims(out->strides, strides, ndim);
    return ASSAY_OK;
}

status tensor_init_permuted(tensor *out, dtype t, int ndim, const int64_t *sizes, const int *order, error *err) {
    TRY(check_sizes(ndim, sizes, err));
    init_header(out, t, ndim);
    copy_dims(out->sizes, sizes, ndim);
    int64_t stride = 1;
    for (int i = ndim - 1; i >= 0; i--) {
        int d = order[i];
        out->strides[d] = stride;
        stride *= out->sizes[d] > 1 ? out->sizes[d] : 1;
    }
    return ASSAY_OK;
}

/* Whether dimension a, which stands behind b, belongs outside of it: 0 strides cannot tell (ATen's infer_dense_strides). */
static int compare_strides(const tensor *t, int a, int b) {
    int64_t sa = t->strides[a], sb = t->strides[b];
    if (sa == 0 || sb == 0) {
        return 0;
    }
    if (sa != sb) {
        return sa < sb ? -1 : 1;
    }
    return t->sizes[a] > t->sizes[b] ? 1 : 0;
}

/* Dimensions of t from the outermost to the innermost, ties in row-major order. */
static void order_by_strides(const tensor *t, int *order) {
    int fastest_first[TENSOR_MAX_DIMS];
    for (int i = 0; i < t->ndim; i++) {
        fastest_first[i] = t->ndim - 1 - i;
    }
    for (int i = 1; i < t->ndim; i++) {
        int at = i;
        for (int j = i - 1; j >= 0; j--) {
            int comparison = compare_strides(t, fastest_first[j], fastest_first[at]);
            if (comparison > 0) {
                int kept = fastest_first[j];
                fastest_first[j] = fastest_first[at];
                fastest_first[at] = kept;
                at = j;
            } else if (comparison < 0) {
                break;
            }
        }
    }
    for (int i = 0; i < t->ndim; i++) {
        order[i] = fastest_first[t->ndim - 1 - i];
    }
}

status tensor_init_like(tensor *out, dtype t, const tensor *like, error *err) {
    if (tensor_is_dense(like)) {
        return tensor_init_strided(out, t, like->ndim, like->sizes, like->strides, err);
    }
    int order[TENSOR_MAX_DIMS];
    order_by_strides(like, order);
    return tensor_init_permuted(out, t, like->ndim, like->sizes, order, err);
}

status tensor_init_channels_last(tensor *out, dtype t, int ndim, const int64_t *sizes, error *err) {
    static const int nhwc[] = {0, 2, 3, 1}, ndhwc[] = {0, 2, 3, 4, 1};
    if (ndim != 4 && ndim != 5) {
        return tensor_init(out, t, ndim, sizes, err);
    }
    return tensor_init_permuted(out, t, ndim, sizes, ndim == 4 ? nhwc : ndhwc, err);
}

status tensor_init_sparse(tensor *out, int ndim, const int64_t *sizes, const tensor *indices, const tensor *values,
                          bool is_coalesced, error *err) {
    if (indices->dtype != ASSAY_I64 || indices->ndim != 2 || values->ndim < 1 ||
        indices->sizes[1] != values->sizes[0] || indices->sizes[0] + values->ndim - 1 != ndim) {
        char has[TENSOR_TEXT_BYTES], needs[TENSOR_TEXT_BYTES];
        return fail(err, ASSAY_INVALID,
                    "a sparse tensor of %d dimensions needs i64 indices [sparse dims, n] and values [n, dense dims...], got "
                    "%.120s and %.120s",
                    ndim, tensor_describe(needs, indices), tensor_describe(has, values));
    }
    tensor t;
    TRY(tensor_init(&t, values->dtype, ndim, sizes, err));
    sparse_coo *parts = malloc(sizeof *parts);
    if (parts == NULL) {
        return fail(err, ASSAY_OUT_OF_MEMORY, "no memory for a sparse tensor");
    }
    parts->refs = 1;
    parts->is_coalesced = is_coalesced;
    tensor_share(&parts->indices, indices);
    tensor_share(&parts->values, values);
    t.sparse = parts;
    *out = t;
    return ASSAY_OK;
}

/* Data up to this size lies behind its storage: with both alignments it stays below the 1032 bytes up to which glibc's
   malloc answers from a list in about 20 instructions; aligned allocations never do and cost 400. */
enum { BESIDE_BYTES = 768, LINE_BYTES = 64 };

static status allocate_beside(tensor *t, size_t bytes, error *err) {
    /* Aligned to a cache line, with one more behind for vector loops, as device_cpu's own memory. */
    storage *s = malloc(sizeof *s + bytes + 2 * (size_t)LINE_BYTES);
    if (s == NULL) {
        return fail(err, ASSAY_OUT_OF_MEMORY, "no memory for a tensor of %zu bytes on cpu", bytes);
    }
    uintptr_t behind = (uintptr_t)(s + 1);
    *s = (storage){.refs = 1,
                   .device = &device_cpu,
                   .data = (char *)(s + 1) + (-behind & (LINE_BYTES - 1)),
                   .size_bytes = bytes,
                   .is_beside = true};
    t->storage = s;
    return ASSAY_OK;
}

status tensor_allocate_at(tensor *t, const device *d, int place, error *err) {
    if (!d->has_memory || t->sparse != NULL) {
        return ASSAY_OK;
    }
    size_t bytes = (size_t)(t->offset + tensor_span(t)) * dtype_size(t->dtype);
    if (d == &device_cpu && bytes <= BESIDE_BYTES) {
        return allocate_beside(t, bytes, err);
    }
    storage *s = malloc(sizeof *s);
    void *data = s != NULL ? d->alloc(d, bytes, place) : NULL;
    if (data == NULL) {
        free(s);
        return fail(err, ASSAY_OUT_OF_MEMORY, "no memory for a tensor of %zu bytes on %s", bytes, d->name);
    }
    *s = (storage){.refs = 1, .device = d, .data = data, .size_bytes = bytes};
    t->storage = s;
    return ASSAY_OK;
}

status tensor_allocate(tensor *t, const device *d, error *err) {
    return tensor_allocate_at(t, d, 0, err);
}

void tensor_share(tensor *out, const tensor *t) {
    if (out != t) {
        size_t dims = (size_t)t->ndim * sizeof t->sizes[0];
        init_header(out, t->dtype, t->ndim);
        out->is_wrapped_number = t->is_wrapped_number;
        out->offset = t->offset;
        memcpy(out->sizes, t->sizes, dims);
        memcpy(out->strides, t->strides, dims);
        out->storage = t->storage;
        out->sparse = t->sparse;
    }
    if (out->storage != NULL) {
        atomic_fetch_add_explicit(&out->storage->refs, 1, memory_order_relaxed);
    }
    if (out->sparse != NULL) {
        atomic_fetch_add_explicit(&out->sparse->refs, 1, memory_order_relaxed);
    }
}

void tensor_move(tensor *out, tensor *t) {
    init_header(out, t->dtype, t->ndim);
    out->is_wrapped_number = t->is_wrapped_number;
    out->offset = t->offset;
    for (int d = 0; d < t->ndim; d++) { /* a few: a call of memcpy would cost more */
        out->sizes[d] = t->sizes[d];
        out->strides[d] = t->strides[d];
    }
    out->storage = t->storage;
    out->sparse = t->sparse;
    t->storage = NULL;
    t->sparse = NULL;
}

void tensor_clear(tensor *t) {
    storage *s = t->storage;
    sparse_coo *parts = t->sparse;
    t->storage = NULL;
    t->sparse = NULL;
    /* From here on t is not touched: it may lie in its storage's own allocation. */
    if (s != NULL && atomic_fetch_sub_explicit(&s->refs, 1, memory_order_acq_rel) == 1) {
        if (!s->is_beside) {
            s->device->free(s->device, s->data, s->size_bytes);
        }
        free(s);
    }
    if (parts != NULL && atomic_fetch_sub_explicit(&parts->refs, 1, memory_order_acq_rel) == 1) {
        tensor_clear(&parts->indices);
        tensor_clear(&parts->values);
        free(parts);
    }
}

status tensor_init_number(tensor *out, number value, error *err) {
    static const dtype types[] = {ASSAY_B8, ASSAY_I64, ASSAY_F64, ASSAY_C128};
    tensor t;
    TRY(tensor_init(&t, types[value.category], 0, NULL, err));
    TRY(tensor_allocate(&t, &device_cpu, err));
    element_store_number(t.dtype, tensor_data(&t), value);
    t.is_wrapped_number = true;
    *out = t;
    return ASSAY_OK;
}

char *tensor_data(const tensor *t) {
    if (t->storage == NULL) {
        return NULL;
    }
    return (char *)t->storage->data + t->offset * (int64_t)dtype_size(t->dtype);
}

int64_t tensor_span(const tensor *t) {
    int64_t last = 0;
    for (int d = 0; d < t->ndim; d++) {
        if (t->sizes[d] == 0) {
            return 0;
        }
        last += (t->sizes[d] - 1) * t->strides[d];
    }
    return last + 1;
}

double tensor_bytes(const tensor *t) {
    if (t->sparse != NULL) {
        return tensor_bytes(&t->sparse->indices) + tensor_bytes(&t->sparse->values);
    }
    double n = 1;
    for (int d = 0; d < t->ndim; d++) {
        n *= t->sizes[d] == 0 ? 0 : t->strides[d] == 0 ? 1 : (double)t->sizes[d];
    }
    double span = (double)tensor_span(t);
    return (n < span ? n : span) * (double)dtype_size(t->dtype);
}

bool tensor_is_contiguous(const tensor *t) {
    int64_t expected = 1;
    for (int d = t->ndim - 1; d >= 0; d--) {
        if (t->sizes[d] == 0) {
            return true;
        }
        if (t->sizes[d] != 1 && t->strides[d] != expected) {
            return false;
        }
        expected *= t->sizes[d];
    }
    return true;
}

bool tensor_is_channels_last(const tensor *t) {
    if ((t->ndim != 4 && t->ndim != 5) || tensor_is_contiguous(t)) {
        return false;
    }
    int64_t expected = 1;
    for (int i = 0; i < t->ndim; i++) {
        int d = i == 0 ? 1 : i == t->ndim - 1 ? 0 : t->ndim - i; /* C, then W, H, (D), then N */
        if (t->sizes[d] != 1 && t->strides[d] != expected) {
            return false;
        }
        expected *= t->sizes[d];
    }
    return true;
}

bool tensor_suggests_channels_last(const tensor *t) {
    if ((t->ndim != 4 && t->ndim != 5) || t->strides[1] == 0) {
        return false;
    }
    int64_t least = 0;
    for (int i = 0; i < t->ndim; i++) {
        int d = i == 0 ? 1 : i == t->ndim - 1 ? 0 : t->ndim - i; /* C, then W, H, (D), then N */
        if (t->sizes[d] == 0 || t->strides[d] < least || (d == 0 && least == t->strides[1])) {
            return false;
        }
        least = t->strides[d] * (t->sizes[d] > 1 ? t->sizes[d] : 1);
    }
    return true;
}

bool tensor_is_dense(const tensor *t) {
    if (tensor_is_contiguous(t)) {
        return true;
    }
    bool used[TENSOR_MAX_DIMS] = {false};
    int64_t expected = 1;
    for (int i = 0; i < t->ndim; i++) {
        int next = -1;
        for (int d = 0; d < t->ndim; d++) {
            if (!used[d] && (t->sizes[d] == 1 || t->strides[d] == expected)) {
                next = d;
                if (t->sizes[d] != 1) {
                    break;
                }
            }
        }
        if (next < 0) {
            return false;
        }
        used[next] = true;
        expected *= t->sizes[next];
    }
    return true;
}

bool tensor_same_sizes(const tensor *a, const tensor *b) {
    return a->ndim == b->ndim && memcmp(a->sizes, b->sizes, (size_t)a->ndim * sizeof a->sizes[0]) == 0;
}

bool tensor_same_strides(const tensor *a, const tensor *b) {
    if (a->ndim != b->ndim) {
        return false;
    }
    for (int d = 0; d < a->ndim; d++) {
        if (a->strides[d] != b->strides[d] && a->sizes[d] > 1) {
            return false;
        }
    }
    return true;
}

bool tensor_may_overlap(const tensor *a, const tensor *b) {
    if (a->storage == NULL || a->storage != b->storage) {
        return false;
    }
    const char *a_at = tensor_data(a), *b_at = tensor_data(b);
    const char *a_end = a_at + tensor_span(a) * (int64_t)dtype_size(a->dtype);
    const char *b_end = b_at + tensor_span(b) * (int64_t)dtype_size(b->dtype);
    return a_at < b_end && b_at < a_end;
}

status dim_wrap(int64_t dim, int ndim, int *out, error *err) {
    int64_t n = ndim > 0 ? ndim : 1;
    if (dim < -n || dim >= n) {
        return fail(err, ASSAY_INVALID, "expected a dimension from %" PRId64 " to %" PRId64 ", got %" PRId64, -n, n - 1,
                    dim);
    }
    *out = (int)(dim < 0 ? dim + n : dim);
    return ASSAY_OK;
}

status sizes_broadcast(int *ndim, int64_t *sizes, int more_ndim, const int64_t *more, error *err) {
    int n = *ndim > more_ndim ? *ndim : more_ndim;
    int64_t joined[TENSOR_MAX_DIMS];
    for (int i = 1; i <= n; i++) {
        int64_t a = i <= *ndim ? sizes[*ndim - i] : 1;
        int64_t b = i <= more_ndim ? more[more_ndim - i] : 1;
        if (a != b && a != 1 && b != 1) {
            return fail(err, ASSAY_INVALID,
                        "shapes do not broadcast: %" PRId64 " against %" PRId64 " in dimension %d from the end", a, b, i);
        }
        joined[n - i] = a == 1 ? b : a;
    }
    memcpy(sizes, joined, (size_t)n * sizeof *sizes);
    *ndim = n;
    return ASSAY_OK;
}

void tensor_broadcast_strides(const tensor *t, int ndim, const int64_t *sizes, int64_t *strides) {
    int lead = ndim - t->ndim;
    for (int d = 0; d < ndim; d++) {
        bool own = d >= lead && (t->sizes[d - lead] != 1 || sizes[d] == 1);
        strides[d] = own ? t->strides[d - lead] : 0;
    }
}

int64_t tensor_offset_of(const tensor *t, int64_t flat) {
    int64_t offset = 0;
    for (int d = t->ndim - 1; d >= 0; d--) {
        offset += flat % t->sizes[d] * t->strides[d];
        flat /= t->sizes[d];
    }
    return offset;
}

char *tensor_describe(char *buffer, const tensor *t) {
    size_t used = (size_t)snprintf(buffer, TENSOR_TEXT_BYTES, "%s%s[", t->sparse != NULL ? "sparse " : "",
                                   assay_dtype_name(t->dtype));
    for (int d = 0; d < t->ndim && used < TENSOR_TEXT_BYTES; d++) {
        used += (size_t)snprintf(buffer + used, TENSOR_TEXT_BYTES - used, "%s%" PRId64, d > 0 ? ", " : "", t->sizes[d]);
    }
    bool strided = t->sparse == NULL && !tensor_is_contiguous(t);
    if (used < TENSOR_TEXT_BYTES) {
        used += (size_t)snprintf(buffer + used, TENSOR_TEXT_BYTES - used, strided ? "] strides (" : "]");
    }
    for (int d = 0; strided && d < t->ndim && used < TENSOR_TEXT_BYTES; d++) {
        used += (size_t)snprintf(buffer + used, TENSOR_TEXT_BYTES - used, "%" PRId64 "%s", t->strides[d],
                                 d + 1 < t->ndim ? ", " : ")");
    }
    return buffer;
}
