/* SPDX-License-Identifier: Apache-2.0 */
/* What tests of pools and of resampling share. */
#ifndef TESTS_ENGINE_IMAGE_KIT_H
#define TESTS_ENGINE_IMAGE_KIT_H

#include "engine/kernel_check.h"

static const dtype floats[] = {ASSAY_F32, ASSAY_BF16, ASSAY_F16, ASSAY_F64};
static const int channels_last[] = {0, 2, 3, 1};

/* A gradient for the first output of a forward call. */
static inline arg gradient_of(kernel_check *k, const char *name, const arg *args, const int *order) {
    op_call call = check_call(k, name, args);
    outputs out;
    assert_int_equal(op_infer(&call, &out, NULL), ASSAY_OK);
    arg made = check_tensor(k, out.items[0].dtype, out.items[0].ndim, out.items[0].sizes, order);
    outputs_clear(&out);
    return made;
}

static inline arg a_bool(bool b) {
    return (arg){.kind = ARG_BOOL, .b = b};
}

typedef struct pool_case {
    int64_t sizes[4];
    int64_t kernel, stride, pad, dilation;
    bool ceil_mode;
} pool_case;

static const pool_case pools[] = {
    {{2, 5, 13, 11}, 3, 2, 1, 1, true}, {{1, 3, 9, 40}, 2, 2, 0, 1, false}, {{2, 33, 12, 12}, 3, 1, 1, 1, false},
    {{2, 3, 14, 17}, 3, 3, 1, 2, true}, {{2, 4, 9, 9}, 5, 3, 2, 1, true},   {{0, 3, 9, 9}, 3, 1, 1, 1, false},
    {{2, 3, 9, 9}, 1, 2, 0, 1, false},      {{1, 2, 21, 40}, 4, 4, 0, 1, false},  {{1, 1, 5, 5000}, 3, 1, 1, 1, false},
    {{1, 2, 40, 45}, 20, 2, 9, 1, false},   {{1, 1, 3, 9001}, 2, 2, 1, 1, true},  {{1, 2, 30, 31}, 17, 1, 8, 1, false},
    {{1, 3, 200, 16}, 2, 2, 0, 1, false},   {{2, 3, 2, 6}, 2, 1, 1, 3, false},
    {{1, 3, 28, 28}, 2, 2, 0, 1, false},    {{1, 2, 14, 18}, 2, 2, 0, 1, false},  {{1, 2, 7, 19}, 2, 2, 0, 1, true},
    {{1, 1, 100, 86}, 2, 2, 0, 1, false},   {{2, 2, 130, 67}, 2, 2, 0, 1, false}, /* blocks of an odd number of rows */
};

/* Runs the eager kernel alone; the caller clears the outputs and the memory. */
static inline status run_kernel(kernel_check *k, const op_call *call, outputs *out, arena *memory) {
    kernel_plan plan = {.call = call, .out = out, .memory = memory};
    assert_int_equal(op_infer(call, out, NULL), ASSAY_OK);
    for (int i = 0; i < out->n; i++) {
        assert_int_equal(tensor_allocate(&out->items[i], &device_cpu, NULL), ASSAY_OK);
    }
    assert_int_equal(kernel_find_cpu(k->kernels, call->op)->prepare(&plan, NULL), ASSAY_OK);
    return plan.run(&plan);
}

#endif
