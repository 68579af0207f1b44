/* SPDX-License-Identifier: Apache-2.0 */
/* For tests of kernels: makes a call from arguments, runs the CPU's kernel and the reference on the same inputs, compares. */
#ifndef TESTS_ENGINE_KERNEL_CHECK_H
#define TESTS_ENGINE_KERNEL_CHECK_H

#include "engine/kernels/kernel.h"
#include "engine/schema/op.h"
#include "engine/schema/reference.h"
#include "engine/tensor/agree.h"

#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CHECK_MAX_ARGS = 16, CHECK_SEED = 7 };

/* One test's tables and tensors. */
typedef struct kernel_check {
    op_table *table;
    kernel_index *kernels;
    tensor tensors[64];
    int n_tensors;
} kernel_check;

static inline void check_open(kernel_check *k) {
    k->n_tensors = 0;
    assert_int_equal(op_table_new(&k->table, NULL), ASSAY_OK);
    assert_int_equal(kernel_index_new(k->table, &k->kernels, NULL), ASSAY_OK);
}

static inline void check_drop_tensors(kernel_check *k) {
    while (k->n_tensors > 0) {
        tensor_clear(&k->tensors[--k->n_tensors]);
    }
}

static inline void check_close(kernel_check *k) {
    check_drop_tensors(k);
    kernel_index_free(k->kernels);
    op_table_free(k->table);
}

/* An argument holding a new tensor; order: outermost dimension first, NULL: contiguous. */
static inline arg check_tensor(kernel_check *k, dtype t, int ndim, const int64_t *sizes, const int *order) {
    tensor *made = &k->tensors[k->n_tensors++];
    assert_true(k->n_tensors <= 64);
    status result = order == NULL ? tensor_init(made, t, ndim, sizes, NULL)
                                  : tensor_init_permuted(made, t, ndim, sizes, order, NULL);
    assert_int_equal(result, ASSAY_OK);
    assert_int_equal(tensor_allocate(made, &device_cpu, NULL), ASSAY_OK);
    return (arg){.kind = ARG_TENSOR, .tensor = made};
}

static inline arg check_ints(int n, const int64_t *items) {
    return (arg){.kind = ARG_INTS, .n = n, .ints = items};
}

static inline op_call check_call(kernel_check *k, const char *name, const arg *args) {
    const op *found = op_table_find(k->table, name);
    assert_non_null(found);
    return (op_call){.op = found, .args = args, .seed = CHECK_SEED};
}

/* convolution_backward's arguments (11) from convolution's, with a gradient of the output's shape. */
static inline void check_backward_args(kernel_check *k, const arg *forward, const bool *mask, arg *args) {
    op_call call = check_call(k, "convolution", forward);
    outputs out;
    assert_int_equal(op_infer(&call, &out, NULL), ASSAY_OK);
    const tensor *o = &out.items[0];
    args[0] = check_tensor(k, o->dtype, o->ndim, o->sizes, NULL);
    outputs_clear(&out);
    args[1] = forward[0];
    args[2] = forward[1];
    args[3] = (arg){.kind = ARG_NONE};
    memcpy(args + 4, forward + 3, 6 * sizeof *args);
    args[10] = (arg){.kind = ARG_BOOLS, .n = 3, .bools = mask};
}

/* The call's shapes must be refused as INVALID with a message. */
static inline void check_refused(kernel_check *k, const char *name, const arg *args) {
    op_call call = check_call(k, name, args);
    outputs out;
    error err = {0};
    assert_int_equal(op_infer(&call, &out, &err), ASSAY_INVALID);
    assert_true(err.message[0] != '\0');
}

static inline void check_ok(const char *name, status result, const error *err) {
    if (result != ASSAY_OK) {
        print_error("%s: %s\n", name, err->message);
    }
    assert_int_equal(result, ASSAY_OK);
}

static inline void check_output(const op_call *call, const outputs *out, int i, double *values, double *norms) {
    op_cost cost;
    op_cost_of(call, out, &cost);
    agree_rule rule = {.reduction = cost.reduction, .roundings = 1};
    agreement a;
    agree_compare(&out->items[i], NULL, tensor_numel(&out->items[i]), values, norms, &rule, &a);
    if (!a.agrees) {
        char text[TENSOR_TEXT_BYTES];
        print_error("%s, output %d %.200s: element %lld is %g, expected %g (seed %d)\n", call->op->signature.full, i,
                    tensor_describe(text, &out->items[i]), (long long)a.worst, a.actual_at_worst, a.expected_at_worst,
                    CHECK_SEED);
    }
    assert_true(a.agrees);
}

/* Kernel and reference agree on random inputs (filled here unless `keep`). */
static inline void check_agrees(kernel_check *k, const char *name, const arg *args, bool keep) {
    op_call call = check_call(k, name, args);
    outputs out;
    arena memory = {0};
    error err = {0};
    ref_ctx ctx;
    ref_request requests[OUTPUTS_INLINE] = {{0}};
    if (!keep) {
        assert_int_equal(op_fill_inputs(&call, CHECK_SEED, &err), ASSAY_OK);
    }
    check_ok(name, op_infer(&call, &out, &err), &err);
    assert_int_equal(ref_init(&ctx, &call, &out, &err), ASSAY_OK);
    for (int i = 0; i < out.n; i++) {
        size_t n = (size_t)tensor_numel(&out.items[i]) + 1;
        requests[i] = (ref_request){.n = (int64_t)n - 1, .value = calloc(2 * n, 8), .norm = calloc(n, 8)};
    }
    assert_int_equal(ref_run(&ctx, requests, &err), ASSAY_OK);
    kernel_plan plan = {.call = &call, .out = &out, .err = &err, .memory = &memory};
    for (int i = 0; i < out.n; i++) {
        if (out.items[i].storage == NULL) {
            assert_int_equal(tensor_allocate(&out.items[i], &device_cpu, NULL), ASSAY_OK);
            agree_poison(&out.items[i]);
        }
    }
    const kernel_row *row = kernel_find_cpu(k->kernels, call.op);
    assert_non_null(row);
    check_ok(name, row->prepare(&plan, &err), &err);
    check_ok(name, plan.run(&plan), &err);
    for (int i = 0; i < out.n; i++) {
        check_output(&call, &out, i, requests[i].value, requests[i].norm);
        free(requests[i].value);
        free(requests[i].norm);
    }
    if (plan.clear != NULL) {
        plan.clear(&plan);
    }
    ref_clear(&ctx);
    outputs_clear(&out);
    arena_clear(&memory);
}

#endif
