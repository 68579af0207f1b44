/* SPDX-License-Identifier: Apache-2.0 */
/* Element-wise operators: every one of the table on every type and layout against its reference, values known from
   elsewhere, and what must be refused. */
#include "engine/backend/backend.h"
#include "engine/schema/pointwise.h"
#include "engine/schema/reference.h"
#include "engine/tensor/agree.h"

#include "unit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SEED = 20261121, MAX_ARGS = 8, MAX_TENSORS = 3 };

typedef struct bench {
    op_table *table;
    backend *eager;
} bench;

static int set_up(void **state) {
    bench *b = calloc(1, sizeof *b);
    assert_int_equal(op_table_new(&b->table, NULL), ASSAY_OK);
    assert_int_equal(backend_eager_open(b->table, &b->eager, NULL), ASSAY_OK);
    *state = b;
    return 0;
}

static int tear_down(void **state) {
    bench *b = *state;
    b->eager->close(b->eager);
    op_table_free(b->table);
    free(b);
    return 0;
}

/* A call and all that it holds. */
typedef struct sample {
    arg args[MAX_ARGS];
    tensor tensors[MAX_TENSORS];
    int n_tensors;
    op_call call;
} sample;

static void clear_sample(sample *s) {
    for (int i = 0; i < s->n_tensors; i++) {
        tensor_clear(&s->tensors[i]);
    }
}

static void defaults(const op *o, sample *s) {
    memset(s, 0, sizeof *s);
    s->call = (op_call){.op = o, .args = s->args, .seed = SEED};
    for (int i = 0; i < o->signature.n_params; i++) {
        const param *p = &o->signature.params[i];
        s->args[i] = p->has_default ? p->preset : (arg){.kind = p->kind};
        if (p->kind == ARG_NUMBER && s->args[i].kind != ARG_NUMBER) {
            s->args[i] = (arg){.kind = ARG_NUMBER, .number = number_of_int(i + 1)};
        }
    }
}

static void add_tensor(sample *s, int at, tensor t) {
    assert_int_equal(tensor_allocate(&t, &device_cpu, NULL), ASSAY_OK);
    s->tensors[s->n_tensors] = t;
    s->args[at] = (arg){.kind = ARG_TENSOR, .tensor = &s->tensors[s->n_tensors++]};
}

/* Runs the call on eager and, where `expected` is NULL, compares with the reference; else with those values. */
static status run(bench *b, sample *s, const double *expected, error *err) {
    arena memory = {0};
    outputs out;
    graph g;
    plan *p = NULL;
    tensor actual = {0};
    ref_ctx ctx;
    agreement a = {.agrees = true};
    status result = op_infer(&s->call, &out, err);
    if (result != ASSAY_OK) {
        return result;
    }
    int64_t n = tensor_numel(&out.items[0]);
    int width = dtype_is_complex(out.items[0].dtype) ? 2 : 1;
    double *values = malloc(((size_t)n * 2 + 1) * sizeof *values), *norm = malloc(((size_t)n + 1) * sizeof *norm);
    ref_request request = {.n = n, .value = values, .norm = norm};
    if (expected == NULL) {
        assert_int_equal(ref_init(&ctx, &s->call, &out, err), ASSAY_OK);
        result = ref_run(&ctx, &request, err);
        ref_clear(&ctx);
    } else {
        memcpy(values, expected, (size_t)(n * width) * sizeof *values);
    }
    assert_int_equal(graph_of_call(&memory, &s->call, &out, &g, err), ASSAY_OK);
    result = result == ASSAY_OK ? b->eager->prepare(b->eager, &g, &p, err) : result;
    if (result == ASSAY_OK) {
        assert_int_equal(p->output(p, 0, &actual, err), ASSAY_OK);
        if (!s->call.op->in_place) {
            agree_poison(&actual);
        }
        tensor_clear(&actual);
        result = p->run(p, err);
    }
    if (result == ASSAY_OK) {
        assert_int_equal(p->output(p, 0, &actual, err), ASSAY_OK);
        agree_compare(&actual, NULL, n, values, NULL, &(agree_rule){.reduction = 1, .roundings = 1}, &a);
        tensor_clear(&actual);
    }
    if (p != NULL) {
        p->release(p);
    }
    outputs_clear(&out);
    arena_clear(&memory);
    free(values);
    free(norm);
    if (result == ASSAY_OK && !a.agrees) {
        return fail(err, ASSAY_INTERNAL, "element %lld is %.17g, expected %.17g", (long long)a.worst, a.actual_at_worst,
                    a.expected_at_worst);
    }
    return result;
}

/* --- every operator
 * --------------------------------------------------------------------------------------------------- */

typedef enum shape_case {
    EMPTY,
    SCALAR,
    ODD,
    PERMUTED,
    GAPS,
    BROADCAST,
    SHORT_ROWS,
    ROWS_WITHIN,
    NARROW_GAPS,
    FEW_IN_TILES,
    CHANNELS_LAST,
    LONG,
    CASES
} shape_case;

/* Operand k of a case. In-place calls keep their first operand whole. */
static tensor case_tensor(shape_case c, int k, dtype t) {
    tensor out;
    const int64_t sizes[] = {5, 6, 7, 3};
    status made = ASSAY_OK;
    switch (c) {
    case EMPTY:
        made = tensor_init(&out, t, 2, (const int64_t[]){0, 3}, NULL);
        break;
    case SCALAR:
        made = tensor_init(&out, t, 0, NULL, NULL);
        break;
    case ODD:
        made = tensor_init(&out, t, 2, (const int64_t[]){17, 33}, NULL);
        break;
    case PERMUTED:
        made = tensor_init_permuted(&out, t, 2, (const int64_t[]){150, 170},
                                    k == 0 ? (const int[]){0, 1} : (const int[]){1, 0}, NULL);
        break;
    case GAPS:
        made = tensor_init_strided(&out, t, 2, (const int64_t[]){13, 200}, (const int64_t[]){600 + k, 3}, NULL);
        break;
    case BROADCAST:
        made = k == 0 ? tensor_init(&out, t, 3, (const int64_t[]){4, 6, 150}, NULL)
               : k == 1
                   ? tensor_init(&out, t, 2, (const int64_t[]){6, 1}, NULL)
                   : tensor_init_strided(&out, t, 3, (const int64_t[]){4, 6, 150}, (const int64_t[]){0, 1, 6}, NULL);
        break;
    case SHORT_ROWS:
        made = tensor_init_strided(&out, t, 4, sizes,
                                   k == 0 ? (const int64_t[]){126, 21, 3, 1} : (const int64_t[]){1, 0, 90, 30}, NULL);
        break;
    case ROWS_WITHIN:
        made = tensor_init_strided(&out, t, 3, (const int64_t[]){4, 300, 5},
                                   k == 0   ? (const int64_t[]){5100, 17, 1}
                                   : k == 1 ? (const int64_t[]){1500, 5, 1}
                                            : (const int64_t[]){0, 1, 0},
                                   NULL);
        break;
    case NARROW_GAPS:
        made = tensor_init_strided(&out, t, 2, (const int64_t[]){700, 6}, k == 1 ? (const int64_t[]){1, 700} : (const int64_t[]){29, 4 + k}, NULL);
        break;
    case FEW_IN_TILES:
        made = tensor_init_strided(&out, t, 3, (const int64_t[]){900, 3, 4},
                                   k == 0 ? (const int64_t[]){20, 6, 1} : k == 1 ? (const int64_t[]){0, 4, 1} : (const int64_t[]){4, 0, 1}, NULL);
        break;
    case CHANNELS_LAST:
        made = tensor_init_permuted(&out, t, 4, sizes, (const int[]){0, 2, 3, 1}, NULL);
        break;
    default: /* past the point where threads join in, and not a multiple of anything */
        made = tensor_init(&out, t, 1, (const int64_t[]){70001}, NULL);
    }
    assert_int_equal(made, ASSAY_OK);
    return out;
}

static bool is_mask(const op *o, const param *p) {
    return strcmp(p->name, "mask") == 0 ||
           (strcmp(o->signature.name, "where") == 0 && strcmp(p->name, "condition") == 0);
}

/* Some of the rows ask for it: a value of no dimensions. */
static bool is_single(const op *o, const param *p) {
    return strncmp(o->signature.name, "masked_fill", 11) == 0 && strcmp(p->name, "value") == 0;
}

static void make_case(const op *o, shape_case c, dtype t, sample *s) {
    defaults(o, s);
    for (int i = 0, k = 0; i < o->signature.n_params; i++) {
        const param *p = &o->signature.params[i];
        if (p->kind == ARG_TENSOR) {
            add_tensor(s, i, case_tensor(is_single(o, p) ? SCALAR : c, k++, is_mask(o, p) ? ASSAY_B8 : t));
        }
    }
}

static bool takes(const op *o, dtype t) {
    uint32_t mask = o->row->takes;
    if (t == ASSAY_C32 && strcmp(o->signature.name, "add") != 0) {
        return false;
    }
    return mask == 0 || (mask >> dtype_category_of(t) & 1) != 0;
}

static void agrees_with_reference(void **state) {
    bench *b = *state;
    int checked = 0;
    for (int id = 0; id < op_table_size(b->table); id++) {
        const op *o = op_table_at(b->table, id);
        if (o->row->family != &family_pointwise && o->row->family != &family_activation_backward) {
            continue;
        }
        for (int t = 0; t < ASSAY_DTYPE_COUNT; t++) {
            for (int c = 0; takes(o, (dtype)t) && c < CASES; c++) {
                sample s;
                error err = {0};
                make_case(o, (shape_case)c, (dtype)t, &s);
                assert_int_equal(op_fill_inputs(&s.call, SEED + (uint64_t)c, &err), ASSAY_OK);
                status result = run(b, &s, NULL, &err);
                clear_sample(&s);
                bool refused = result == ASSAY_INVALID || (result == ASSAY_UNSUPPORTED && t != ASSAY_F32);
                if (result != ASSAY_OK && !refused) {
                    print_error("%s on %s, case %d, seed %d: %s\n", o->signature.full, assay_dtype_name((dtype)t), c,
                                SEED, err.message);
                    assert_true(false);
                }
                checked += result == ASSAY_OK;
            }
        }
    }
    assert_true(checked > 5000);
    printf("%d calls agree, seed %d\n", checked, SEED);
}

/* --- values from elsewhere -------------------------------------------------------------------------------------------
 */

typedef struct oracle {
    const char *op;
    dtype dtype;
    double x[4], y[4]; /* y for a second tensor or, from y[0] on, numbers: integers beside integers */
    double expected[4];
} oracle;

/* As PyTorch 2.15 gives them. */
static const oracle oracles[] = {
    {"round.default", ASSAY_F32, {0.5, 1.5, 2.5, -0.5}, {0}, {0, 2, 2, -0.0}},
    {"remainder.Scalar", ASSAY_F32, {5, -5, 7.5, -0.5}, {3}, {2, 1, 1.5, 2.5}},
    {"fmod.Scalar", ASSAY_F32, {5, -5, 7.5, -0.5}, {3}, {2, -2, 1.5, -0.5}},
    {"remainder.Tensor", ASSAY_I32, {5, -5, 5, -5}, {3, 3, -3, -3}, {2, 1, -1, -2}},
    {"fmod.Tensor", ASSAY_I64, {5, -5, 5, -5}, {3, 3, -3, -3}, {2, -2, 2, -2}},
    {"floor_divide.default", ASSAY_I8, {7, -7, 7, -128}, {2, 2, -2, -1}, {3, -4, -4, -128}},
    {"floor_divide.default", ASSAY_F32, {7, -7, 1, -1}, {2, 2, -INFINITY, INFINITY}, {3, -4, -1, -1}},
    {"pow.Tensor_Tensor", ASSAY_I32, {2, -1, 1, 0}, {-1, -3, -2, 5}, {0, -1, 1, 0}},
    {"pow.Tensor_Tensor", ASSAY_F32, {-2, -8, 0, 1}, {3, 1.0 / 3, -1, NAN}, {-8, NAN, INFINITY, 1}},
    {"maximum.default", ASSAY_F32, {NAN, 1, -1, INFINITY}, {0, NAN, -2, 1}, {NAN, NAN, -1, INFINITY}},
    {"div.Tensor", ASSAY_I32, {7, -7, 1, 9}, {2, 2, 4, 3}, {3.5, -3.5, 0.25, 3}},
    {"hardswish_backward.default", ASSAY_F32, {1, 1, 1, 1}, {-3, 3, -4, 1}, {0, 1, 0, 0.833333313}},
    {"hardsigmoid.default", ASSAY_F32, {-3, 3, 0, 1}, {0}, {0, 1, 0.5, 0.666666687}},
    {"gelu.default",
     ASSAY_F64,
     {1, -1, 3, -6},
     {0},
     {0.84134474606854293, -0.15865525393145707, 2.9959503059051097, -5.9195258702261676e-09}},
    {"gelu.default", ASSAY_F32, {1, -1, 3, -6}, {0}, {0.841344746, -0.158655254, 2.99595031, -5.91952587e-09}},
    {"erf.default", ASSAY_F32, {0.5, -2, 0, 4}, {0}, {0.520499878, -0.995322265, 0, 0.999999985}},
    {"elu.default", ASSAY_F32, {-1, -0.03, 2, -20}, {1, 1, 1}, {-0.632120559, -0.0295544665, 2, -0.999999998}},
    {"elu.default", ASSAY_F32, {-1, -0.03, 2, -20}, {1.5, 2, 0.5}, {-1.18040802, -0.0446641812, 4, -2.9998638}},
    {"elu.default", ASSAY_F32, {-1, -0.03, 2, -3}, {1, 1, -1}, {1.71828183, 0.030454534, 2, 19.0855369}},
    {"elu.default", ASSAY_F32, {-1, -0.03, 2, -3}, {1, 1, 0}, {0, 0, 2, 0}},
    {"sgn.default", ASSAY_F16, {-2, 0, 3, -0.5}, {0}, {-1, 0, 1, -1}},
    {"bitwise_not.default", ASSAY_U8, {0, 1, 255, 128}, {0}, {255, 254, 0, 127}},
    {"gt.Scalar", ASSAY_U8, {0, 2, 200, 255}, {-1}, {0, 0, 0, 0}},
    {"remainder.Scalar", ASSAY_U8, {0, 2, 200, 255}, {-3}, {0, 2, 200, 2}},
    {"clamp.default", ASSAY_U8, {0, 2, 200, 255}, {-1, 300}, {0, 2, 200, 255}},
    {"clamp_min.default", ASSAY_U8, {0, 2, 200, 255}, {-1}, {0, 2, 200, 255}},
    {"hardtanh.default", ASSAY_F32, {-2, -1, 0.5, 3}, {2, -1}, {-1, -1, -1, -1}},
    {"hardtanh.default", ASSAY_F32, {-2, -1, 0.5, 3}, {0.5, NAN}, {NAN, NAN, NAN, NAN}},
};

static void gives_known_values(void **state) {
    bench *b = *state;
    for (size_t i = 0; i < countof(oracles); i++) {
        const oracle *r = &oracles[i];
        const op *o = op_table_find(b->table, r->op);
        assert_non_null(o);
        sample s;
        error err = {0};
        defaults(o, &s);
        for (int a = 0, k = 0, n = 0; a < o->signature.n_params; a++) {
            tensor t;
            if (o->signature.params[a].kind == ARG_TENSOR) {
                assert_int_equal(tensor_init(&t, r->dtype, 1, (const int64_t[]){4}, NULL), ASSAY_OK);
                add_tensor(&s, a, t);
                const double *from = k++ == 0 ? r->x : r->y;
                for (int e = 0; e < 4; e++) {
                    element_store(r->dtype, tensor_data(&s.tensors[k - 1]) + (size_t)e * dtype_size(r->dtype), from[e]);
                }
            } else if (o->signature.params[a].kind == ARG_NUMBER) {
                double y = r->y[n++];
                s.args[a] = (arg){.kind = ARG_NUMBER, .number = dtype_is_integral(r->dtype) ? number_of_int((int64_t)y) : number_of_double(y)};
            }
        }
        bool is_right = run(b, &s, r->expected, &err) == ASSAY_OK && run(b, &s, NULL, &err) == ASSAY_OK; /* and so is the reference */
        if (!is_right) {
            print_error("%s (oracle %zu): %s\n", r->op, i, err.message);
            assert_true(false);
        }
        clear_sample(&s);
    }
}

/* --- what must be refused --------------------------------------------------------------------------------------------
 */

static status try_shapes(bench *b, const char *name, dtype t, int64_t first, int64_t second, error *err) {
    const op *o = op_table_find(b->table, name);
    assert_non_null(o);
    sample s;
    defaults(o, &s);
    for (int a = 0, k = 0; a < o->signature.n_params; a++) {
        if (o->signature.params[a].kind == ARG_TENSOR) {
            tensor made;
            assert_int_equal(tensor_init(&made, t, 1, (const int64_t[]){k++ == 0 ? first : second}, NULL), ASSAY_OK);
            add_tensor(&s, a, made);
            memset(tensor_data(&s.tensors[s.n_tensors - 1]), 0,
                   (size_t)tensor_span(&s.tensors[s.n_tensors - 1]) * dtype_size(t));
        }
    }
    status result = run(b, &s, NULL, err);
    clear_sample(&s);
    return result;
}

static void refuses_bad_arguments(void **state) {
    bench *b = *state;
    error err = {0};
    assert_int_equal(try_shapes(b, "add.Tensor", ASSAY_F32, 3, 4, &err), ASSAY_INVALID);
    assert_non_null(strstr(err.message, "broadcast"));
    assert_int_equal(try_shapes(b, "add_.Tensor", ASSAY_F32, 1, 4, &err), ASSAY_INVALID);
    assert_int_equal(try_shapes(b, "relu.default", ASSAY_B8, 3, 3, &err), ASSAY_INVALID);
    assert_int_equal(try_shapes(b, "sub.Tensor", ASSAY_B8, 3, 3, &err), ASSAY_INVALID);
    assert_int_equal(try_shapes(b, "lt.Tensor", ASSAY_C64, 3, 3, &err), ASSAY_INVALID);
    assert_int_equal(try_shapes(b, "gelu.default", ASSAY_I32, 3, 3, &err), ASSAY_INVALID);
    assert_int_equal(try_shapes(b, "bitwise_and.Tensor", ASSAY_F32, 3, 3, &err), ASSAY_INVALID);
    assert_int_equal(try_shapes(b, "masked_fill.Scalar", ASSAY_F32, 3, 3, &err), ASSAY_INVALID);
    assert_int_equal(try_shapes(b, "where.self", ASSAY_F32, 3, 3, &err), ASSAY_INVALID);
    static const char *const divisions[] = {"floor_divide.default", "remainder.Tensor", "fmod.Tensor"};
    static const dtype integers[] = {ASSAY_I8, ASSAY_I32, ASSAY_I64, ASSAY_U8};
    for (size_t i = 0; i < countof(divisions); i++) {
        for (size_t t = 0; t < countof(integers); t++) {
            assert_int_equal(try_shapes(b, divisions[i], integers[t], 70000, 70000, &err), ASSAY_INVALID);
            assert_non_null(strstr(err.message, "zero"));
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(agrees_with_reference),
        cmocka_unit_test(gives_known_values),
        cmocka_unit_test(refuses_bad_arguments),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
