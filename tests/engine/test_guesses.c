/* SPDX-License-Identifier: Apache-2.0 */
/* Compiled kernels that take a number for one which is known only later: for the largest of a row whose exponentials are summed, or for
   the mean about which squares are. Against the reference in double: rows that begin with something else, NaN and infinities. */
#include "engine/flow_kit.h"

/* Exponentials of what lies below the largest, before that is known: which kernels may, and that those which may not wait. */
static const flow_case exponentials[] = {
    {"%x = input(T([40, 1024], f32))\n", "%y = _softmax(%x, -1, False)\n", "%y"},
    {"%x = input(T([23, 1027], f32))\n", "%y = _log_softmax(%x, -1, False)\n", "%y"},
    {"%x = input(T([3, 37, 256], f32))\n", "%y = _softmax(%x, 1, False)\n", "%y"},
    {"%x = input(T([4, 33, 321], f32))\n", "%y = _log_softmax(%x, 1, False)\n", "%y"},
    {"%x = input(T([2, 7, 20, 333], f32))\n", "%y = _softmax(%x, 1, False)\n", "%y"},
    {"%x = input(T([3, 9, 130], f32))\n%k = input(T([3, 1, 130], b8))\n",
     "%s = mul.Scalar(%x, 0.125)\n%f = masked_fill.Scalar(%s, %k, -inf)\n%y = _softmax(%f, -1, False)\n", "%y"},
    /* the largest's place is asked for as well */
    {"%x = input(T([7, 200], f32))\n", "%m, %i = max.dim(%x, 1, True)\n%y = _softmax(%x, 1, False)\n", "%y, %i"},
    {"%x = input(T([9, 1030], f32))\n", "%m, %i = max.dim(%x, 1)\n%y = _log_softmax(%x, 1, False)\n", "%y, %m, %i"},
    {"%x = input(T([7, 200], f32))\n%k = input(T([7, 200], b8))\n",
     "%p = _softmax(%x, -1, False)\n%y = masked_fill.Scalar(%p, %k, 0)\n%z = mul.Scalar(%y, 1.25)\n", "%z, %p"},
};

static const flow_case others[] = {
    /* what is stored depends on the largest */
    {"%x = input(T([7, 200], f32))\n",
     "%m, %i = max.dim(%x, 1, True)\n%d = sub.Tensor(%x, %m)\n%y = exp(%d)\n%s = sum.dim_IntList(%y, [1], True)\n", "%y, %s"},
    {"%x = input(T([7, 200], f32))\n",
     "%m, %i = max.dim(%x, 1, True)\n%d = sub.Tensor(%x, %m)\n%e = exp(%d)\n%s = sum.dim_IntList(%e, [1], True)\n%y = sub.Tensor(%e, %s)\n",
     "%y"},
    /* what is exponentiated is another thing than what the largest is of */
    {"%x = input(T([7, 200], f32))\n",
     "%m, %i = max.dim(%x, 1, True)\n%t = mul.Scalar(%x, 2)\n%d = sub.Tensor(%t, %m)\n%e = exp(%d)\n%s = sum.dim_IntList(%e, [1], True)\n"
     "%y = div.Tensor(%e, %s)\n", "%y"},
};

static void first_half_masked(float *x, int64_t n) {
    for (int64_t i = 0; i < n / 2; i++) {
        x[i] = -INFINITY;
    }
}

static void mostly_masked(float *x, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        x[i] = i % 61 == 60 ? x[i] : -INFINITY;
    }
}

static void far_apart(float *x, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        x[i] = (float)(i % 97) * (i % 2 == 0 ? 3 : -3);
    }
}

static void as_far_as_may_be(float *x, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        x[i] = (float)(i / 50 % 4) * 10;
    }
}

/* Rows that begin with something else than they go on with, numbers that are none, and all types. */
static void check_beginnings(const flow_case *c) {
    static const filler fillers[] = {first_half_masked, mostly_masked, far_apart, as_far_as_may_be};
    for (size_t f = 0; f < sizeof fillers / sizeof fillers[0]; f++) {
        check_filled(c, DTYPE_AS_RECORDED, 1 + (int)f, 0, fillers[f]);
    }
    check(c, DTYPE_AS_RECORDED, 2, NAN);
    check(c, DTYPE_AS_RECORDED, 2, INFINITY);
    check(c, DTYPE_AS_RECORDED, 2, -INFINITY);
    check(c, DTYPE_AS_RECORDED, 2, 1e30F);
    check(c, DTYPE_AS_RECORDED, 2, 0);
    check(c, DTYPE_BF16, 3, 0);
    check(c, DTYPE_F16, 1, 0);
    check(c, DTYPE_F64, 2, 0);
}

static void check_exponentials(void) {
    for (size_t i = 0; i < sizeof exponentials / sizeof exponentials[0]; i++) {
        assert_true(is_in_text(&exponentials[i], "<= 30.0f")); /* whether what was taken for the largest is far below it */
        check_beginnings(&exponentials[i]);
    }
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        assert_false(is_in_text(&others[i], "<= 30.0f"));
        check(&others[i], DTYPE_AS_RECORDED, 2, 0);
    }
}

/* Variances about a number near the mean, before that is known. */
static const flow_case variances[] = {
    {"%x = input(T([37, 768], f32))\n" NORM_INPUTS("768"), "%y, %m, %r = native_layer_norm(%x, [768], %w, %b, 1e-05)\n", "%y, %m, %r"},
    {"%x = input(T([37, 771], f32))\n" NORM_INPUTS("771"), "%y, %m, %r = native_layer_norm(%x, [771], %w, %b, 1e-05)\n", "%y, %m, %r"},
    {"%x = input(T([6, 8, 10, 13], f32))\n" NORM_INPUTS("8"),
     "%y, %m, %r = native_group_norm(%x, %w, %b, 6, 8, 130, 2, 1e-05)\n", "%y, %m, %r"},
    {"%x = input(T([7, 9, 16, 12], f32))\n" NORM_INPUTS("9"),
     "%y, %m, %r = native_batch_norm(%x, %w, %b, None, None, True, 0.1, 1e-05)\n", "%y, %m, %r"},
    {"%x = input(T([36, 16, 64, 64], f32))\n" NORM_INPUTS("16"),
     "%y, %m, %r = native_batch_norm(%x, %w, %b, None, None, True, 0.1, 1e-05)\n", "%y, %m, %r"},
    {"%x = input(T([24, 16, 75, 75], f32))\n" NORM_INPUTS("16"),
     "%y, %m, %r = native_batch_norm(%x, %w, %b, None, None, True, 0.1, 1e-05)\n", "%y, %m, %r"},
    /* nothing is read again */
    {"%x = input(T([37, 771], f32))\n", "%y, %m = var_mean.correction(%x, [1])\n", "%y, %m"},
    {"%x = input(T([11, 9, 16, 12], f32))\n", "%y, %m = var_mean.correction(%x, [0, 2, 3], correction=0)\n", "%y, %m"},
    {"%x = input(T([11, 16, 15, 15], f32))\n", "%y = std.correction(%x, [0, 2, 3])\n", "%y"},
};

/* What is taken off is no mean, or of something else. */
static const flow_case no_variances[] = {
    {"%x = input(T([37, 768], f32))\n",
     "%s = sum.dim_IntList(%x, [1], True)\n%m = mul.Scalar(%s, 0.25)\n%d = sub.Tensor(%x, %m)\n%q = mul.Tensor(%d, %d)\n"
     "%v = mean.dim(%q, [1], True)\n%y = mul.Tensor(%d, %v)\n", "%y"},
    {"%x = input(T([37, 768], f32))\n",
     "%m = mean.dim(%x, [1], True)\n%t = mul.Scalar(%x, 2)\n%d = sub.Tensor(%t, %m)\n%q = mul.Tensor(%d, %d)\n"
     "%v = mean.dim(%q, [1], True)\n%y = mul.Tensor(%d, %v)\n", "%y"},
};

static void all_alike(float *x, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        x[i] = 3.3F;
    }
}

static void far_from_0(float *x, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        x[i] += 1000;
    }
}

/* As rows of all lengths above begin. */
static void far_beginnings(float *x, int64_t n) {
    static const int64_t rows[] = {768, 771, 192, 4096, 5625, 130};
    for (size_t r = 0; r < sizeof rows / sizeof rows[0]; r++) {
        for (int64_t i = 0; i < n && n % rows[r] == 0; i++) {
            x[i] = i % rows[r] < 20 ? 50 : x[i];
        }
    }
}

static void infinite_beginnings(float *x, int64_t n) {
    for (int64_t i = 0; i < n && i < 5000; i += 2) {
        x[i] = INFINITY;
    }
}

static void check_variances(void) {
    static const filler fillers[] = {all_alike, far_from_0, far_beginnings, infinite_beginnings, as_far_as_may_be};
    for (size_t i = 0; i < sizeof variances / sizeof variances[0]; i++) {
        const flow_case *c = &variances[i];
        if (!is_in_text(c, "<= 0.75f * exact")) {
            print_error("%s%s waits for the mean\n", c->inputs, c->call);
        }
        assert_true(is_in_text(c, "<= 0.75f * exact")); /* whether what was taken for the mean is far from it */
        for (size_t f = 0; f < sizeof fillers / sizeof fillers[0]; f++) {
            check_filled(c, DTYPE_AS_RECORDED, 1 + (int)f % 3, 0, fillers[f]);
        }
        check(c, DTYPE_AS_RECORDED, 2, NAN);
        check(c, DTYPE_AS_RECORDED, 2, INFINITY);
        check(c, DTYPE_AS_RECORDED, 2, 1e15F);
        check(c, DTYPE_BF16, 3, 0);
        check(c, DTYPE_F16, 1, 0);
        check(c, DTYPE_F64, 2, 0);
    }
    for (size_t i = 0; i < sizeof no_variances / sizeof no_variances[0]; i++) {
        assert_false(is_in_text(&no_variances[i], "0.75f * exact"));
        check(&no_variances[i], DTYPE_AS_RECORDED, 2, 0);
    }
}

static void exponentials_need_not_wait(void **state) {
    (void)state;
    check_exponentials();
}

static void variances_need_not_wait(void **state) {
    (void)state;
    check_variances();
}

/* As processors have it to which a store is dear. */
static void sums_in_registers_agree(void **state) {
    (void)state;
    compile_options *o = &((compiled_backend *)compiled)->options;
    o->no_twins = o->few_stores = o->asks_far = true;
    check_exponentials();
    check_variances();
    o->no_twins = o->few_stores = o->asks_far = false;
}

/* Rows of results that stay in caches, one after the other; short ones are taken side by side, and wait. */
static void rows_in_caches_need_not_wait(void **state) {
    (void)state;
    static const struct {
        flow_case of;
        bool guesses;
    } forms[] = {
        {{"%x = input(T([40, 1024], f32))\n", "%y = _softmax(%x, -1, False)\n", "%y"}, true},
        {{"%x = input(T([9, 192], f32))\n", "%y = _softmax(%x, -1, False)\n", "%y"}, true},
        {{"%x = input(T([9, 191], f32))\n", "%y = _softmax(%x, -1, False)\n", "%y"}, false},
        {{"%x = input(T([23, 1027], f32))\n", "%y = _log_softmax(%x, -1, False)\n", "%y"}, true},
        {{"%x = input(T([9, 383], f32))\n", "%y = _log_softmax(%x, -1, False)\n", "%y"}, false},
        {{"%x = input(T([3, 9, 530], f32))\n%k = input(T([3, 1, 530], b8))\n",
          "%s = mul.Scalar(%x, 0.125)\n%f = masked_fill.Scalar(%s, %k, -inf)\n%y = _softmax(%f, -1, False)\n", "%y"}, true},
        {{"%x = input(T([9, 700], f32))\n%t = input(T([9], i64), low=0, high=699)\n",
          "%y = _log_softmax(%x, 1, False)\n%l, %w = nll_loss_forward(%y, %t, None, 1, -100)\n", "%y, %l"}, true},
        {{"%x = input(T([7, 400], f32))\n",
          "%m, %i = max.dim(%x, 1, True)\n%d = sub.Tensor(%x, %m)\n%e = exp(%d)\n%s = sum.dim_IntList(%e, [1], True)\n%y = div.Tensor(%e, %s)\n",
          "%y, %m"}, false},
    };
    compile_options *o = &((compiled_backend *)compiled)->options;
    o->streams_all = false;
    for (int stores = 0; stores < 2; stores++) {
        o->no_twins = o->few_stores = o->asks_far = stores == 1;
        for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
            assert_int_equal(is_in_text(&forms[i].of, "<= 30.0f"), forms[i].guesses);
            check_beginnings(&forms[i].of);
        }
    }
    o->no_twins = o->few_stores = o->asks_far = false;
    o->streams_all = true;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exponentials_need_not_wait),
        cmocka_unit_test(variances_need_not_wait),
        cmocka_unit_test(sums_in_registers_agree),
        cmocka_unit_test(rows_in_caches_need_not_wait),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
