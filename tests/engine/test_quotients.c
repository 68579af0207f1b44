/* SPDX-License-Identifier: Apache-2.0 */
/* Quotients and rests of integers by one divisor, by a divisor for each row and by one for each element, against C's own
   arithmetic: every sign, 1 and -1, the least and the largest integers, numbers on both sides of what double holds. */
#include "engine/call_kit.h"

#include "device/caches.h"

#include <math.h>

static const int64_t divisors[] = {1, -1, 2, -2, 3, -3, 7, -7, 10, 42, 64, -64, 127, 641, -1000, 65537, 1 << 30, INT32_MAX, INT32_MIN,
                                   (INT64_C(1) << 52) - 1, (INT64_C(1) << 53) + 1, -(INT64_C(1) << 62), INT64_MAX, INT64_MIN};

enum { N = 777 };

/* The numbers around multiples of the divisor, and the ends of the type. */
static int64_t number_of(rng *r, int64_t i, int64_t divisor, int bits) {
    uint64_t any = rng_next(r) >> (rng_next(r) % 64);
    switch (i % 4) {
    case 0:
        any = (uint64_t)divisor * (uint64_t)(i / 4 % 9 - 4) + (uint64_t)(i / 36 % 3 - 1);
        break;
    case 1:
        any = 0 - any;
        break;
    case 2:
        any = i % 8 == 2 ? (uint64_t)1 << (bits - 1) : ((uint64_t)1 << (bits - 1)) - 1;
        any += (uint64_t)(i % 5) - 2;
        break;
    default:
        break;
    }
    return (int64_t)any;
}

static int64_t cut(dtype t, int64_t x) {
    return t == ASSAY_I64   ? x
           : t == ASSAY_I32 ? (int32_t)(uint32_t)x
           : t == ASSAY_I16 ? (int16_t)(uint16_t)x
           : t == ASSAY_I8  ? (int8_t)(uint8_t)x
                            : (uint8_t)x;
}

static int64_t expected_of(const char *name, int mode, dtype t, int64_t x, int64_t y) {
    bool wraps = y == -1; /* the least integer has no opposite */
    int64_t quotient = wraps ? (int64_t)(0 - (uint64_t)x) : x / y, rest = wraps ? 0 : x % y;
    bool is_above = rest != 0 && (rest < 0) != (y < 0);
    if (name[0] == 'r') {
        return cut(t, is_above ? rest + y : rest);
    }
    if (name[1] == 'm') {
        return cut(t, rest);
    }
    return cut(t, mode == 1 ? quotient : quotient - is_above);
}

static void check_values(kit *k, const char *name, const arg *args, int n, int mode, const tensor *x, const int64_t *by, int64_t repeat) {
    outputs out;
    op_call call = kit_call(k, name, args, n);
    kit_run(k, &call, &out);
    dtype t = x->dtype;
    size_t size = dtype_size(t);
    assert_int_equal(out.items[0].dtype, t);
    for (int64_t i = 0; i < tensor_numel(x); i++) {
        int64_t from = element_load_int(t, (const char *)tensor_data(x) + (size_t)i * size), y = by[i / repeat];
        int64_t got = element_load_int(t, (const char *)tensor_data(&out.items[0]) + (size_t)i * size);
        int64_t expected = expected_of(name, mode, t, from, y);
        if (got != expected) {
            print_error("%s of %s: %lld by %lld is %lld, got %lld\n", name, assay_dtype_name(t), (long long)from, (long long)y,
                        (long long)expected, (long long)got);
        }
        assert_true(got == expected);
    }
    outputs_clear(&out);
}

static tensor *numbers(kit *k, dtype t, int64_t rows, int64_t columns, const int64_t *by, int64_t repeat) {
    tensor *x = kit_tensor(k, t, 2, (const int64_t[]){rows, columns}, NULL);
    rng r = rng_make_stream(k->seed, 5);
    size_t size = dtype_size(t);
    for (int64_t i = 0; i < rows * columns; i++) {
        element_store_int(t, (char *)tensor_data(x) + (size_t)i * size, cut(t, number_of(&r, i, by[i / repeat], (int)size * 8)));
    }
    return x;
}

static void check_all(kit *k, arg x, arg y, const int64_t *by, int64_t repeat) {
    bool is_number = y.kind == ARG_NUMBER;
    static const char *const modes[] = {"floor", "trunc"};
    check_values(k, is_number ? "remainder.Scalar" : "remainder.Tensor", (const arg[]){x, y}, 2, 0, x.tensor, by, repeat);
    check_values(k, is_number ? "fmod.Scalar" : "fmod.Tensor", (const arg[]){x, y}, 2, 0, x.tensor, by, repeat);
    for (int mode = 0; mode < 2 && !is_number; mode++) {
        arg named = {.kind = ARG_STR, .str = modes[mode]};
        check_values(k, "div.Tensor_mode", (const arg[]){x, y, named}, 3, mode, x.tensor, by, repeat);
    }
}

static const dtype types[] = {ASSAY_I64, ASSAY_I32, ASSAY_I16, ASSAY_I8, ASSAY_U8};

static void one_divisor(void **state) {
    (void)state;
    kit k;
    kit_open(&k, 61);
    for (size_t i = 0; i < countof(types) * countof(divisors); i++) {
        dtype t = types[i / countof(divisors)];
        int64_t by = divisors[i % countof(divisors)];
        if (cut(t, by) != by || by == 0) {
            continue;
        }
        arg x = arg_tensor(numbers(&k, t, 1, N, &by, N));
        check_all(&k, x, arg_number(number_of_int(by)), &by, N);
        tensor *cell = kit_tensor(&k, t, 2, (const int64_t[]){1, 1}, NULL);
        element_store_int(t, tensor_data(cell), by);
        check_all(&k, x, arg_tensor(cell), &by, N);
        kit_reset(&k);
    }
    kit_close(&k);
}

/* A divisor for each row of many, and for each element. */
static void many_divisors(void **state) {
    (void)state;
    kit k;
    kit_open(&k, 62);
    for (size_t i = 0; i < countof(types); i++) {
        dtype t = types[i];
        int64_t by[countof(divisors)], each[countof(divisors) * 600], rows = 0;
        for (size_t d = 0; d < countof(divisors); d++) {
            if (cut(t, divisors[d]) == divisors[d]) {
                by[rows++] = divisors[d];
            }
        }
        for (int64_t columns = 7; columns <= 600; columns += 593) {
            tensor *column = kit_tensor(&k, t, 2, (const int64_t[]){rows, 1}, NULL);
            tensor *full = kit_tensor(&k, t, 2, (const int64_t[]){rows, columns}, NULL);
            for (int64_t d = 0; d < rows * columns; d++) {
                each[d] = by[d / columns];
                element_store_int(t, (char *)tensor_data(full) + (size_t)d * dtype_size(t), each[d]);
                element_store_int(t, (char *)tensor_data(column) + (size_t)(d / columns) * dtype_size(t), each[d]);
            }
            arg x = arg_tensor(numbers(&k, t, rows, columns, by, columns));
            check_all(&k, x, arg_tensor(column), by, columns);
            check_all(&k, x, arg_tensor(full), each, 1);
        }
        kit_reset(&k);
    }
    kit_close(&k);
}

/* What goes past the caches, by one number: most blocks hold only numbers that double divides exactly, some hold one that it does not. */
static void long_integers(void **state) {
    (void)state;
    enum { LONG = STREAM_MIN_BYTES / 8 + 37, BLOCK = 64 };
    static const int64_t some[] = {3, -7, 65537, -(INT64_C(1) << 50), (INT64_C(1) << 53) + 1};
    for (size_t d = 0; d < countof(some); d++) {
        kit k;
        kit_open(&k, 64);
        tensor *x = kit_tensor(&k, ASSAY_I64, 2, (const int64_t[]){1, LONG}, NULL);
        int64_t *values = (int64_t *)(void *)tensor_data(x);
        rng r = rng_make_stream(k.seed, 6);
        for (int64_t i = 0; i < LONG; i++) {
            const bool is_far = i / BLOCK % 5 == 0 && i % 13 == 0;
            values[i] = is_far ? number_of(&r, i, some[d], 64) : rng_range(&r, -(INT64_C(1) << 51), (INT64_C(1) << 51) - 1) >> i % 48;
        }
        arg args[] = {arg_tensor(x), arg_number(number_of_int(some[d]))};
        check_values(&k, "remainder.Scalar", args, 2, 0, x, &some[d], LONG);
        check_values(&k, "fmod.Scalar", args, 2, 0, x, &some[d], LONG);
        tensor *cell = kit_tensor(&k, ASSAY_I64, 2, (const int64_t[]){1, 1}, NULL);
        element_store_int(ASSAY_I64, tensor_data(cell), some[d]);
        check_all(&k, args[0], arg_tensor(cell), &some[d], LONG);
        kit_close(&k);
    }
}

/* The same of floats, whose remainder is exact. */
static void long_floats(void **state) {
    (void)state;
    enum { LONG = STREAM_MIN_BYTES / 4 + 37, BLOCK = 64 };
    static const double some[] = {3, -0.375, 1e-30, 1e30};
    for (size_t d = 0; d < countof(some); d++) {
        kit k;
        kit_open(&k, 65);
        tensor *x = kit_tensor(&k, ASSAY_F32, 1, (const int64_t[]){LONG}, NULL);
        float *values = (float *)(void *)tensor_data(x);
        rng r = rng_make_stream(k.seed, 7);
        for (int64_t i = 0; i < LONG; i++) {
            const bool is_far = i / BLOCK % 5 == 0 && i % 13 == 0;
            const double sizes[] = {1e9, 1e5, 10, 1, 0.1, 0};
            values[i] = is_far && i % 2 == 0 ? NAN : (float)((rng_uniform(&r) - 0.5) * some[d] * sizes[is_far ? 0 : 1 + i % 5]);
        }
        arg args[] = {arg_tensor(x), arg_number(number_of_double(some[d]))};
        op_call call = kit_call(&k, "remainder.Scalar", args, 2);
        outputs out;
        kit_run(&k, &call, &out);
        const float *got = (const float *)(const void *)tensor_data(&out.items[0]), by = (float)some[d];
        for (int64_t i = 0; i < LONG; i++) {
            float rest = fmodf(values[i], by), expected = rest != 0 && (rest < 0) != (by < 0) ? rest + by : rest;
            if (!(got[i] == expected || (isnan(got[i]) && isnan(expected)))) {
                print_error("%a by %a leaves %a, got %a\n", (double)values[i], (double)by, (double)expected, (double)got[i]);
                assert_true(false);
            }
        }
        outputs_clear(&out);
        kit_close(&k);
    }
}

/* By 0: a number is refused beforehand, an element of a tensor told, not trapped. */
static void zero_is_told(void **state) {
    (void)state;
    enum { BY_NUMBER };
    static const char *const names[] = {[BY_NUMBER] = "remainder.Scalar", "remainder.Tensor", "fmod.Tensor", "floor_divide"};
    kit k;
    kit_open(&k, 63);
    for (size_t i = 0; i < countof(types) * countof(names); i++) {
        const char *name = names[i % countof(names)];
        dtype t = types[i / countof(names)];
        tensor *x = kit_tensor(&k, t, 1, (const int64_t[]){N}, NULL), *y = kit_tensor(&k, t, 1, (const int64_t[]){N}, NULL);
        fill_constant(x, 5);
        fill_constant(y, 2);
        element_store_int(t, (char *)tensor_data(y) + (N - 1) * dtype_size(t), 0);
        bool by_number = i % countof(names) == BY_NUMBER;
        arg args[] = {arg_tensor(x), by_number ? arg_number(number_of_int(0)) : arg_tensor(y)};
        op_call call = kit_call(&k, name, args, 2);
        outputs out;
        error err = {0};
        arena memory = {0};
        assert_int_equal(op_infer(&call, &out, &err), by_number ? ASSAY_INVALID : ASSAY_OK);
        if (!by_number) {
            assert_int_equal(tensor_allocate(&out.items[0], &device_cpu, &err), ASSAY_OK);
            kernel_plan plan = {.call = &call, .out = &out, .err = &err, .memory = &memory};
            assert_int_equal(kernel_find_cpu(k.kernels, call.op)->prepare(&plan, &err), ASSAY_OK);
            assert_int_equal(plan.run(&plan), ASSAY_INVALID);
        }
        assert_non_null(strstr(err.message, "divided by zero"));
        arena_clear(&memory);
        outputs_clear(&out);
        kit_reset(&k);
    }
    kit_close(&k);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_divisor),
        cmocka_unit_test(many_divisors),
        cmocka_unit_test(long_integers),
        cmocka_unit_test(long_floats),
        cmocka_unit_test(zero_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
