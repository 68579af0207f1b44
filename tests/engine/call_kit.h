/* SPDX-License-Identifier: Apache-2.0 */
/* Calls operators from C: arguments by position, eager kernels against references. */
#ifndef TESTS_ENGINE_CALL_KIT_H
#define TESTS_ENGINE_CALL_KIT_H

#include "unit.h"

#include "engine/kernels/kernel.h"
#include "engine/schema/fill.h"
#include "engine/schema/reference.h"
#include "engine/tensor/agree.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { KIT_MAX_TENSORS = 64 };

/* One test's table, kernels, and the tensors it made. */
typedef struct kit {
    op_table *table;
    kernel_index *kernels;
    uint64_t seed;
    arena memory;
    tensor tensors[KIT_MAX_TENSORS];
    int n_tensors;
} kit;

static inline void kit_open(kit *k, uint64_t seed) {
    memset(k, 0, sizeof *k);
    error err = {0};
    assert_int_equal(op_table_new(&k->table, &err), ASSAY_OK);
    if (kernel_index_new(k->table, &k->kernels, &err) != ASSAY_OK) {
        print_error("%s\n", err.message);
        assert_true(false);
    }
    k->seed = seed;
    print_message("seed %llu\n", (unsigned long long)seed);
}

/* Lets go of the tensors made so far. */
static inline void kit_reset(kit *k) {
    for (int i = 0; i < k->n_tensors; i++) {
        tensor_clear(&k->tensors[i]);
    }
    k->n_tensors = 0;
    arena_clear(&k->memory);
}

static inline void kit_close(kit *k) {
    kit_reset(k);
    kernel_index_free(k->kernels);
    op_table_free(k->table);
}

/* A test with a kit of its own as *state; seed: a uint64_t. */
#define KIT_TEST(f, seed) cmocka_unit_test_prestate_setup_teardown(f, kit_set_up, kit_tear_down, seed)

static inline int kit_set_up(void **state) {
    const uint64_t *seed = *state;
    kit *k = calloc(1, sizeof *k);
    assert_non_null(k);
    kit_open(k, *seed);
    *state = k;
    return 0;
}

static inline int kit_tear_down(void **state) {
    kit_close(*state);
    free(*state);
    return 0;
}

/* A filled tensor; strides NULL: contiguous. */
static inline tensor *kit_tensor(kit *k, dtype t, int ndim, const int64_t *sizes, const int64_t *strides) {
    assert_true(k->n_tensors < KIT_MAX_TENSORS);
    tensor *made = &k->tensors[k->n_tensors++];
    error err = {0};
    status result = strides != NULL ? tensor_init_strided(made, t, ndim, sizes, strides, &err)
                                    : tensor_init(made, t, ndim, sizes, &err);
    assert_int_equal(result, ASSAY_OK);
    assert_int_equal(tensor_allocate(made, &device_cpu, &err), ASSAY_OK);
    rng r = rng_make_stream(k->seed, (uint64_t)k->n_tensors);
    fill_default(made, &r);
    return made;
}

static inline tensor *kit_values(kit *k, dtype t, int ndim, const int64_t *sizes, const double *values) {
    tensor *made = kit_tensor(k, t, ndim, sizes, NULL);
    fill_from(made, values);
    return made;
}

static inline arg arg_tensor(tensor *t) {
    return (arg){.kind = ARG_TENSOR, .tensor = t};
}

static inline arg arg_tensors(tensor **items, int n) {
    return (arg){.kind = ARG_TENSORS, .tensors = items, .n = n};
}

static inline arg arg_int(int64_t i) {
    return (arg){.kind = ARG_INT, .i = i};
}

static inline arg arg_float(double f) {
    return (arg){.kind = ARG_FLOAT, .f = f};
}

static inline arg arg_bool(bool b) {
    return (arg){.kind = ARG_BOOL, .b = b};
}

static inline arg arg_number(number n) {
    return (arg){.kind = ARG_NUMBER, .number = n};
}

static inline arg arg_dtype(dtype t) {
    return (arg){.kind = ARG_DTYPE, .dtype = t};
}

static inline arg arg_ints(const int64_t *items, int n) {
    return (arg){.kind = ARG_INTS, .ints = items, .n = n};
}

#define INTS(...) arg_ints((const int64_t[]){__VA_ARGS__}, (int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)))

/* The call, its last arguments by default. */
static inline op_call kit_call(kit *k, const char *name, const arg *args, int n) {
    const op *o = op_table_find(k->table, name);
    if (o == NULL) {
        print_error("no operator %s\n", name);
        assert_non_null(o);
    }
    int n_params = o->signature.n_params;
    arg *all = arena_make(&k->memory, (size_t)n_params + 1, sizeof *all);
    assert_non_null(all);
    for (int i = 0; i < n_params; i++) {
        all[i] = i < n ? args[i] : o->signature.params[i].preset;
    }
    return (op_call){.op = o, .args = all, .seed = k->seed};
}

static inline status kit_infer(kit *k, const char *name, const arg *args, int n, outputs *out, error *err) {
    op_call call = kit_call(k, name, args, n);
    return op_infer(&call, out, err);
}

/* Outputs made by the eager kernel, poisoned before: the caller clears them. Views are as inferred. */
static inline void kit_run(kit *k, const op_call *call, outputs *out) {
    error err = {0};
    if (op_infer(call, out, &err) != ASSAY_OK) {
        print_error("%s\n", err.message);
        assert_true(false);
    }
    for (int i = 0; i < out->n; i++) {
        if (out->items[i].storage == NULL && out->items[i].sparse == NULL) {
            assert_int_equal(tensor_allocate(&out->items[i], &device_cpu, &err), ASSAY_OK);
            agree_poison(&out->items[i]);
        }
    }
    if (call->op->row->is_view) {
        return;
    }
    const kernel_row *kernel = kernel_find_cpu(k->kernels, call->op);
    assert_non_null(kernel);
    arena memory = {0};
    kernel_plan *plan = calloc(1, sizeof *plan);
    assert_non_null(plan);
    plan->call = call;
    plan->out = out;
    plan->err = &err;
    plan->memory = &memory;
    status result = kernel->prepare(plan, &err);
    if (result != ASSAY_OK || plan->run(plan) != ASSAY_OK) {
        print_error("%s: %s\n", call->op->signature.full, err.message);
        assert_true(false);
    }
    if (plan->clear != NULL) {
        plan->clear(plan);
    }
    arena_clear(&memory);
    free(plan);
}

/* All outputs of the reference, on the heap: one array an output. The values of in-place calls must still be the old
 * ones. */
static inline double **kit_reference(const op_call *call, const outputs *out, double **norms) {
    ref_ctx ctx;
    error err = {0};
    assert_int_equal(ref_init(&ctx, call, out, &err), ASSAY_OK);
    ref_request *requests = calloc((size_t)out->n + 1, sizeof *requests);
    double **values = calloc((size_t)out->n + 1, sizeof *values);
    for (int i = 0; i < out->n; i++) {
        size_t n = (size_t)tensor_numel(&out->items[i]);
        requests[i] = (ref_request){
            .n = (int64_t)n, .value = calloc(2 * n + 1, sizeof(double)), .norm = calloc(n + 1, sizeof(double))};
        values[i] = requests[i].value;
        norms[i] = requests[i].norm;
    }
    status result = ref_run(&ctx, requests, &err);
    if (result != ASSAY_OK) {
        print_error("%s: %s\n", call->op->signature.full, err.message);
        assert_true(false);
    }
    ref_clear(&ctx);
    free(requests);
    return values;
}

/* Runs the eager kernel and compares every output with the reference. */
static inline void kit_check(kit *k, const char *name, const arg *args, int n) {
    enum { MAX_OUTPUTS = 64 };
    op_call call = kit_call(k, name, args, n);
    outputs inferred, out;
    error err = {0};
    double *norms[MAX_OUTPUTS];
    if (op_infer(&call, &inferred, &err) != ASSAY_OK) {
        print_error("%s\n", err.message);
        assert_true(false);
    }
    assert_true(inferred.n <= MAX_OUTPUTS);
    op_cost cost;
    op_cost_of(&call, &inferred, &cost);
    double **expected = kit_reference(&call, &inferred, norms);
    kit_run(k, &call, &out);
    for (int i = 0; i < out.n; i++) {
        agreement a;
        agree_rule rule = {.reduction = cost.reduction, .roundings = call.op->row->roundings};
        agree_compare(&out.items[i], NULL, tensor_numel(&out.items[i]), expected[i], norms[i], &rule, &a);
        if (!a.agrees) {
            char text[TENSOR_TEXT_BYTES], from[TENSOR_TEXT_BYTES] = "";
            if (call.args[0].kind == ARG_TENSOR) {
                tensor_describe(from, call.args[0].tensor);
            }
            print_error("%s of %s, output %d %s: element %lld is %g, expected %g (seed %llu)\n", name, from, i,
                        tensor_describe(text, &out.items[i]), (long long)a.worst, a.actual_at_worst,
                        a.expected_at_worst, (unsigned long long)k->seed);
            assert_true(a.agrees);
        }
        free(expected[i]);
        free(norms[i]);
    }
    free(expected);
    outputs_clear(&out);
    outputs_clear(&inferred);
}

/* Expects output 0 of the eager kernel to be just these values, with these strides if any are given. */
static inline void kit_expect(kit *k, const char *name, const arg *args, int n, const double *values, int64_t n_values,
                              const int64_t *strides) {
    op_call call = kit_call(k, name, args, n);
    outputs out;
    kit_run(k, &call, &out);
    const tensor *t = &out.items[0];
    assert_int_equal(tensor_numel(t), n_values);
    for (int64_t i = 0; i < n_values; i++) {
        double value = element_load(t->dtype, tensor_data(t) + tensor_offset_of(t, i) * (int64_t)dtype_size(t->dtype));
        if (value != values[i]) {
            print_error("%s: element %lld is %g, expected %g\n", name, (long long)i, value, values[i]);
            assert_true(false);
        }
    }
    for (int d = 0; strides != NULL && d < t->ndim; d++) {
        assert_int_equal(t->strides[d], strides[d]);
    }
    outputs_clear(&out);
}

/* Expects infer to refuse, with a message. */
static inline void kit_refuses(kit *k, const char *name, const arg *args, int n, status code) {
    outputs out;
    error err = {0};
    status result = kit_infer(k, name, args, n, &out, &err);
    if (result != code || err.message[0] == '\0') {
        print_error("%s: got status %d '%s', expected %d\n", name, (int)result, err.message, (int)code);
        assert_true(false);
    }
    assert_int_equal(out.n, 0);
}

#endif
