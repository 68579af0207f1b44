/* SPDX-License-Identifier: Apache-2.0 */
/* How large a recorded tensor is, and whether a machine could hold it. */
#include "engine/literal/literal.h"

#include "engine/tensor/dtype.h"

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
