/* SPDX-License-Identifier: Apache-2.0 */
/* Literals bound to parameters: kinds, defaults, dtypes, and every refusal with its place. */
#include "engine/literal/bind.h"
#include "engine/literal/literal_parse.h"

#include "unit.h"

#include <string.h>

static op_table *operators;

static status bind(arena *a, const char *name, const char *source, bind_options options, bound_call *out, error *err) {
    const literal *whole;
    const op *o = op_table_find(operators, name);
    assert_non_null(o);
    TRY(literal_parse(a, source, strlen(source), 1, 1, &whole, err));
    return bind_call(a, o, &whole->list.items[0], &whole->list.items[1], &options, out, err);
}

static void binds_defaults_and_keywords(void **state) {
    (void)state;
    arena a = {0};
    bound_call b;
    error err = {0};
    assert_int_equal(bind(&a, "aten.add.Tensor", "((T([2, 3], f16), 2.5), {'alpha': 3})", (bind_options){.dtype = DTYPE_F32}, &b, &err),
                     ASSAY_OK);
    assert_int_equal(call_tensor(&b.call, 0)->dtype, ASSAY_F32);
    assert_true(call_tensor(&b.call, 1)->is_wrapped_number);
    assert_int_equal(call_number(&b.call, 2).i, 3);
    assert_int_equal(b.n_tensors, 2);
    assert_true(b.input_bytes == 24);
    bound_clear(&b);
    assert_int_equal(bind(&a, "avg_pool2d", "((T([1, 1, 8, 8], f32), [2, 2]), {})", (bind_options){0}, &b, &err), ASSAY_OK);
    assert_true(call_is_none(&b.call, 6)); /* divisor_override */
    assert_true(call_bool(&b.call, 5));
    bound_clear(&b);
    arena_clear(&a);
}

/* What each mode makes of the recorded types; what is not floating point stays in all of them. */
static void maps_dtypes(void **state) {
    (void)state;
    static const struct {
        dtype_mode mode;
        dtype of_f16, of_f32, of_f64;
    } rows[] = {{DTYPE_AS_RECORDED, ASSAY_F16, ASSAY_F32, ASSAY_F64},
                {DTYPE_F16, ASSAY_F16, ASSAY_F32, ASSAY_F64},
                {DTYPE_BF16, ASSAY_BF16, ASSAY_F32, ASSAY_F64},
                {DTYPE_F32, ASSAY_F32, ASSAY_F32, ASSAY_F32},
                {DTYPE_F64, ASSAY_F64, ASSAY_F64, ASSAY_F64}};
    arena a = {0};
    for (size_t i = 0; i < countof(rows); i++) {
        bound_call b;
        error err = {0};
        const char *source = "(([T([2], f16), T([2], f32), T([2], f64), T([2], i64), T([2], b8), T([2], c32)],), {})";
        assert_int_equal(bind(&a, "cat", source, (bind_options){.dtype = rows[i].mode}, &b, &err), ASSAY_OK);
        int n;
        tensor **t = call_tensors(&b.call, 0, &n);
        assert_int_equal(n, 6);
        assert_int_equal(t[0]->dtype, rows[i].of_f16);
        assert_int_equal(t[1]->dtype, rows[i].of_f32);
        assert_int_equal(t[2]->dtype, rows[i].of_f64);
        assert_int_equal(t[3]->dtype, ASSAY_I64);
        assert_int_equal(t[4]->dtype, ASSAY_B8);
        assert_int_equal(t[5]->dtype, ASSAY_C32);
        bound_clear(&b);
    }
    arena_clear(&a);
}

static void lays_out_channels_last(void **state) {
    (void)state;
    arena a = {0};
    bound_call b;
    error err = {0};
    assert_int_equal(bind(&a, "relu", "((T([2, 3, 4, 5], f32),), {})", (bind_options){.dtype = DTYPE_F32, .channels_last = true}, &b, &err),
                     ASSAY_OK);
    assert_true(tensor_is_channels_last(call_tensor(&b.call, 0)));
    bound_clear(&b);
    arena_clear(&a);
}

/* Each with the column it must point to and words it must say. */
static void refuses_with_a_place(void **state) {
    (void)state;
    static const struct {
        const char *op, *source;
        status code;
        int column;
        const char *says;
    } rows[] = {
        {"add.Tensor", "((T([2], f32),), {})", ASSAY_INVALID, 2, "'other' is missing"},
        {"add.Tensor", "((T([2], f32), 1, 2), {})", ASSAY_INVALID, 19, "at most 2 positional"},
        {"add.Tensor", "((T([2], f32), 1), {'alhpa': 2})", ASSAY_INVALID, 30, "did you mean 'alpha'"},
        {"add.Tensor", "((T([2], f32), 1), {'other': 2})", ASSAY_INVALID, 30, "given twice"},
        {"add.Tensor", "((T([2], f32), 'x'), {})", ASSAY_INVALID, 16, "got a string"},
        {"add.Tensor", "((T([-2], f32), 1), {})", ASSAY_INVALID, 3, "0 or more"},
        {"add.Tensor", "((T([4294967296, 4294967296], f32), 1), {})", ASSAY_TOO_LARGE, 3, "2^58"},
        {"clone", "((T([1, 7], i8, stride=(9223372036854775807, 1)),), {})", ASSAY_TOO_LARGE, 3, "a stride beyond 2^58 elements"},
        {"clone", "((T([9, 7], i8, stride=(288230376151711744, 1)),), {})", ASSAY_TOO_LARGE, 3, "the strides reach beyond 2^58 elements (dimension 0)"},
        {"add.Tensor", "((T([1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1], f32), 1), {})", ASSAY_UNSUPPORTED, 3, "at most 16"},
        {"cat", "((T([2], f32),), {})", ASSAY_INVALID, 3, "got a tensor"},
        {"cat", "(([T([2], f32), None],), {})", ASSAY_INVALID, 17, "got None"},
        {"_softmax", "((T([2], f32), 0.5, False), {})", ASSAY_INVALID, 16, "got a float"},
        {"_softmax", "((T([2], f32), 'dim', False), {})", ASSAY_INVALID, 16, "got a string"},
        {"_softmax", "((T([2], f32), 0, [0, 1]), {})", ASSAY_INVALID, 19, "got a list"},
        {"_softmax", "((T([2], f32), 0, 'False'), {})", ASSAY_INVALID, 19, "got a string"},
        {"native_layer_norm", "((T([2], f32), [2], None, None, 'eps'), {})", ASSAY_INVALID, 33, "got a string"},
        {"_to_copy", "((T([2], f32),), {'dtype': [7, 7]})", ASSAY_INVALID, 28, "got a list"},
    };
    for (size_t i = 0; i < countof(rows); i++) {
        arena a = {0};
        bound_call b;
        error err = {0};
        status got = bind(&a, rows[i].op, rows[i].source, (bind_options){0}, &b, &err);
        if (got != rows[i].code || err.column != rows[i].column || strstr(err.message, rows[i].says) == NULL) {
            print_error("%s %s: status %d at column %d: %s\n", rows[i].op, rows[i].source, got, err.column, err.message);
            assert_true(false);
        }
        arena_clear(&a);
    }
}

static int make_operators(void **state) {
    (void)state;
    return op_table_new(&operators, NULL);
}

static int free_operators(void **state) {
    (void)state;
    op_table_free(operators);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(binds_defaults_and_keywords),
        cmocka_unit_test(maps_dtypes),
        cmocka_unit_test(lays_out_channels_last),
        cmocka_unit_test(refuses_with_a_place),
    };
    return cmocka_run_group_tests(tests, make_operators, free_operators);
}
