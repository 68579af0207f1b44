/* SPDX-License-Identifier: Apache-2.0 */
/* What the norm kernels share. */
#ifndef ENGINE_KERNELS_CPU_NORM_H
#define ENGINE_KERNELS_CPU_NORM_H

#include "engine/kernels/cpu/isa/convert_loops.h"
#include "engine/kernels/cpu/row_loops.h"
#include "engine/kernels/kernel.h"
#include "engine/schema/normalization.h"

/* Batch and group norm (norm_channels.c) and their backwards. */
kernel_prepare_fn prepare_channel_norm;

/* The widest of the call's floating types decides: double if any tensor is f64, else float. */
static inline const row_loops *norm_loops(const op_call *call) {
    enum { MAX_TENSORS = 16 };
    tensor *tensors[MAX_TENSORS];
    int n = call_all_tensors(call, tensors, MAX_TENSORS);
    bool has_double = false;
    for (int i = 0; i < n && i < MAX_TENSORS; i++) {
        has_double = has_double || tensors[i]->dtype == ASSAY_F64;
    }
    return row_loops_for(has_double ? ASSAY_F64 : ASSAY_F32);
}

static inline char *norm_at(const tensor *t, int64_t i) {
    int64_t at = t->ndim == 1 ? i * t->strides[0] : tensor_is_contiguous(t) ? i : tensor_offset_of(t, i);
    return tensor_data(t) + at * (int64_t)dtype_size(t->dtype);
}

/* Element i, row-major, of a small tensor. */
static inline double norm_read(const tensor *t, int64_t i) {
    const char *at = norm_at(t, i);
    return t->dtype == ASSAY_F32 ? (double)*(const float *)(const void *)at : element_load(t->dtype, at);
}

/* Elements [i, i + n). */
static inline void norm_read_some(const tensor *t, int64_t i, int64_t n, double *to) {
    if (tensor_is_contiguous(t)) {
        convert_loops_best()->to_f64[t->dtype](to, norm_at(t, i), n);
        return;
    }
    for (int64_t k = 0; k < n; k++) {
        to[k] = norm_read(t, i + k);
    }
}

static inline void norm_write(const tensor *t, int64_t i, double value) {
    char *at = norm_at(t, i);
    if (t->dtype == ASSAY_F32) {
        *(float *)(void *)at = (float)value;
    } else {
        element_store(t->dtype, at, value);
    }
}

/* t with one dimension if it is contiguous: view, a layout without hold on the memory; else t. */
static inline const tensor *norm_as_line(const tensor *t, tensor *view) {
    if (!tensor_is_contiguous(t)) {
        return t;
    }
    *view = *t;
    view->ndim = 1;
    view->sizes[0] = tensor_numel(t);
    view->strides[0] = 1;
    return view;
}

#endif
