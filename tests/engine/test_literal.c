/* SPDX-License-Identifier: Apache-2.0 */
/* Literals: what is read, how it prints back, where errors point. */
#include "base/rng.h"
#include "engine/literal/literal.h"
#include "engine/literal/literal_parse.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const literal *read_one(arena *a, const char *source) {
    error err = {0};
    const literal *value = NULL;
    if (literal_parse(a, source, strlen(source), 1, 1, &value, &err) != ASSAY_OK) {
        fail_msg("%s: column %d: %s", source, (int)err.column, err.message);
    }
    return value;
}

/* What prints back exactly as it was read. */
static void test_round_trips(void **state) {
    /* clang-format off */
    static const char *const sources[] = {
        "None", "True", "False", "0", "-1", "9223372036854775807", "-9223372036854775808",
        "inf", "-inf", "nan", "1e-05", "1e-12", "0.1", "-10000.0", "0.9782608691602945", "3.4028234663852886e+38",
        "1e+16", "1234567890123456.0", "123456.789", "0.0001", "0.00012", "5e-324", "1.7976931348623157e+308", "-0.0",
        "1j", "-2.5j", "(1+2j)", "(-0-1j)", "(0.5-1e-05j)", "(nan+infj)", "infj",
        "'cuda'", "\"torch.device('cpu')\"", "''", "'a\\\\b'", "'\\n\\t\\r\\x01\\x7f'", "'it\\'s \"quoted\"'",
        "'\xc3\xa9'",
        "()", "(1,)", "(1, 2)", "[]", "[1]", "[[0, 1], []]", "((), {})",
        "{}", "{'dtype': f16, 'layout': torch.strided}", "{'a': {'b': [None]}}",
        "f16", "bf16", "c128", "b8", "torch.float16", "torch.bool", "torch.long", "[True, False]",
        "torch.strided", "torch.sparse_coo", "torch.channels_last", "th.preserve_format",
        "device(type='cuda', index=0)", "torch.device('cpu')",
        "T([], f32)", "T([2, 3], i64)", "T([0], u8)", "T([2, 3], f16, stride=(1, 2))", "T([4], f16, stride=(0,))",
        "T([], f16, stride=())", "T([-1, 1000000000000000000], f64)",
        "ST([965, 192], f16, torch.sparse_coo, False)", "ST([965, 192], f16, torch.sparse_coo, True, 54765)",
        "((T([1], f32), [T([2], f32), None], 1, [0, 1], True), {'pin_memory': None})",
    };
    /* clang-format on */
    (void)state;
    for (size_t i = 0; i < countof(sources); i++) {
        arena a = {0};
        text printed = {0};
        literal_print(read_one(&a, sources[i]), &printed);
        assert_string_equal(text_get(&printed), sources[i]);
        text_clear(&printed);
        arena_clear(&a);
    }
}

/* What is read otherwise than it prints. */
static void test_normal_forms(void **state) {
    static const char *const pairs[][2] = {
        {" [ 1 ,\t2 , ] ", "[1, 2]"},
        {"(5)", "5"},
        {"((1),)", "(1,)"},
        {"+3", "3"},
        {"1.", "1.0"},
        {".5", "0.5"},
        {"1E5", "100000.0"},
        {"1e999", "inf"},
        {"100j", "100j"},
        {"1+2j", "(1+2j)"},
        {"'f16'", "f16"},
        {"\"f16\"", "f16"},
        {"'f1'", "'f1'"},
        {"\"a'b\"", "\"a'b\""},
        {"'\\x41\\u00e9\\U0001F600\\101\\q'", "'A\xc3\xa9\xf0\x9f\x98\x80"
                                              "A\\\\q'"},
        {"{'f16': 'f16',}", "{'f16': f16}"},
        {"T((2, 3), torch.float32, (3, 1),)", "T([2, 3], f32, stride=(3, 1))"},
        {"T(dtype=f32, size=[1])", "T([1], f32)"},
        {"ST([2], f32, torch.sparse_coo, True, nnz=3)", "ST([2], f32, torch.sparse_coo, True, 3)"},
        {"ST([2], f32, layout=torch.sparse_coo, is_coalesced=False, nnz=None)",
         "ST([2], f32, torch.sparse_coo, False)"},
    };
    (void)state;
    for (size_t i = 0; i < countof(pairs); i++) {
        arena a = {0};
        text printed = {0};
        literal_print(read_one(&a, pairs[i][0]), &printed);
        assert_string_equal(text_get(&printed), pairs[i][1]);
        text_clear(&printed);
        arena_clear(&a);
    }
}

static void test_contents(void **state) {
    (void)state;
    arena a = {0};
    const literal *call = read_one(&a, "((T([2, 3], bf16, stride=(1, 2)), -7, 0.5), {'dtype': torch.uint8})");
    assert_int_equal(call->kind, LITERAL_TUPLE);
    const literal *args = &call->list.items[0];
    assert_int_equal(args->list.n_items, 3);
    const literal_tensor *tensor = args->list.items[0].tensor;
    assert_int_equal(tensor->dtype, ASSAY_BF16);
    assert_int_equal(tensor->n_dims, 2);
    assert_int_equal(tensor->shape[1], 3);
    assert_true(tensor->has_stride);
    assert_int_equal(tensor->stride[1], 2);
    assert_int_equal(args->list.items[1].integer, -7);
    assert_int_equal(args->list.items[1].column, 35);
    assert_true(args->list.items[2].real == 0.5);
    const literal *dtype = literal_dict_find(&call->list.items[1], "dtype");
    assert_non_null(dtype);
    assert_int_equal(dtype->dtype.value, ASSAY_U8);
    assert_null(literal_dict_find(&call->list.items[1], "layout"));
    assert_null(literal_dict_find(args, "dtype"));
    const literal *sparse = read_one(&a, "ST([4, 2], c64, torch.sparse_coo, True, 9)");
    assert_int_equal(sparse->sparse->dense.dtype, ASSAY_C64);
    assert_true(sparse->sparse->is_coalesced && sparse->sparse->has_nnz);
    assert_int_equal(sparse->sparse->nnz, 9);
    assert_string_equal(sparse->sparse->layout, "torch.sparse_coo");
    arena_clear(&a);
}

static void test_errors_have_positions(void **state) {
    static const struct {
        const char *source;
        int column;
        const char *message;
    } cases[] = {
        {"", 1, "expected a value, got the end of the line"},
        {"(1, 2", 6, "expected ',' or the ')' that closes column 1, got the end of the line"},
        {"[1 2]", 4, "expected ',' or the ']' that closes column 1, got '2'"},
        {"[1,,2]", 4, "expected a value, got ','"},
        {"[1}", 3, "got '}'"},
        {"1 2", 3, "expected the end of the line, got '2'"},
        {"9223372036854775808", 1, "expected an integer of 64 bits, got one of 19 digits"},
        {"[-9223372036854775809]", 2, "expected an integer of 64 bits"},
        {"007", 1, "without leading zeros"},
        {"1e", 3, "the digits of an exponent"},
        {"-", 2, "a digit"},
        {"1+2", 2, "sums are not computed"},
        {"'abc", 5, "the closing ' of the string that began at column 1"},
        {"'ab\\", 5, "the closing '"},
        {"'\\xg0'", 4, "a hexadecimal digit"},
        {"'\\ud800'", 4, "a Unicode character, got the code U+D800"},
        {"{1: 2}", 2, "a string as the dict's key, got '1'"},
        {"{'a' 2}", 6, "':' behind the dict's key"},
        {"{'a': 1, 'a': 2}", 10, "each key once, got 'a' again"},
        {"flase", 1, "got 'flase'"},
        {"Tru", 1, "did you mean True?"},
        {"f15", 1, "did you mean f16?"},
        {"torch.", 1, "expected a value, got 'torch.'"},
        {"os.system('ls')", 1, "nothing is evaluated"},
        {"__import__('os')", 1, "nothing is evaluated"},
        {"T()", 3, "the list of sizes"},
        {"T([2])", 6, "the dtype"},
        {"T([2], 5)", 8, "expected a dtype such as f32, got an integer"},
        {"T([2, 'a'], f32)", 7, "expected an integer, got a string"},
        {"T([2, 2.0], f32)", 7, "expected an integer, got a float"},
        {"T(2, f32)", 3, "a list of integers, got '2'"},
        {"T([2, 3], f32, stride=(1,))", 23, "expected 2 strides, one a size, got 1"},
        {"T([2], f32, strid=(1,))", 13, "a keyword such as 'stride'"},
        {"T([2], f32, (1,), 4)", 19, "')' behind the last argument"},
        {"T([2], f32, size=[1])", 13, "expected 'size' once"},
        {"T(size=[2], f32)", 13, "a keyword argument behind a keyword argument"},
        {"ST([2], f32, 'coo', True)", 14, "expected a layout such as torch.sparse_coo, got a string"},
        {"ST([2], f32, torch.sparse_coo, 1)", 32, "True or False"},
        {"ST([2], f32, torch.sparse_coo, True, -3)", 38, "a number of elements"},
        {"device(3)", 8, "a device's name as a string"},
        {"[\x01]", 2, "the byte 0x01"},
        {"(1,\n2)", 4, "the end of the line"},
    };
    (void)state;
    for (size_t i = 0; i < countof(cases); i++) {
        arena a = {0};
        error err = {0};
        const literal *value = NULL;
        status result = literal_parse(&a, cases[i].source, strlen(cases[i].source), 7, 1, &value, &err);
        if (result != ASSAY_PARSE || err.column != cases[i].column || strstr(err.message, cases[i].message) == NULL) {
            fail_msg("%s: column %d: %s", cases[i].source, (int)err.column, err.message);
        }
        assert_int_equal(err.line, 7);
        assert_null(value);
        arena_clear(&a);
    }
}

static void test_nesting_is_limited(void **state) {
    (void)state;
    for (int depth = LITERAL_MAX_DEPTH; depth <= LITERAL_MAX_DEPTH + 1; depth++) {
        char source[2 * LITERAL_MAX_DEPTH + 8] = {0};
        memset(source, '[', (size_t)depth);
        memset(source + depth, ']', (size_t)depth);
        arena a = {0};
        error err = {0};
        const literal *value = NULL;
        status result = literal_parse(&a, source, strlen(source), 1, 1, &value, &err);
        assert_int_equal(result, depth <= LITERAL_MAX_DEPTH ? ASSAY_OK : ASSAY_PARSE);
        assert_int_equal(err.column, depth <= LITERAL_MAX_DEPTH ? 0 : LITERAL_MAX_DEPTH + 1);
        arena_clear(&a);
    }
    enum { DEEP = 1000000 };
    char *deep = malloc(DEEP);
    assert_non_null(deep);
    memset(deep, '(', DEEP);
    arena a = {0};
    const literal *value = NULL;
    assert_int_equal(literal_parse(&a, deep, DEEP, 1, 1, &value, NULL), ASSAY_PARSE);
    arena_clear(&a);
    free(deep);
}

/* A string is compared with words by its length as well: what holds a NUL has no place behind the word's end to look at. */
static void test_strings_hold_nuls(void **state) {
    (void)state;
    const char source[] = "('u8\0\0\0\0\0\0\0\0', 'u8')";
    arena a = {0};
    const literal *value = NULL;
    assert_int_equal(literal_parse(&a, source, sizeof source - 1, 1, 1, &value, NULL), ASSAY_OK);
    assert_int_equal(value->list.n_items, 2);
    assert_int_equal(value->list.items[0].kind, LITERAL_STRING);
    assert_int_equal(value->list.items[0].string.length, 10);
    assert_int_equal(value->list.items[1].kind, LITERAL_DTYPE);
    arena_clear(&a);
}

static void test_keys_are_limited(void **state) {
    (void)state;
    for (int n = LITERAL_MAX_KEYS; n <= LITERAL_MAX_KEYS + 1; n++) {
        text source = {0};
        arena a = {0};
        const literal *value = NULL;
        text_add_char(&source, '{');
        for (int i = 0; i < n; i++) {
            text_addf(&source, "'k%d': %d,", i, i);
        }
        text_add_char(&source, '}');
        status result = literal_parse(&a, source.data, source.length, 1, 1, &value, NULL);
        assert_int_equal(result, n <= LITERAL_MAX_KEYS ? ASSAY_OK : ASSAY_PARSE);
        text_clear(&source);
        arena_clear(&a);
    }
}

static void test_elements(void **state) {
    static const struct {
        const char *source;
        status result;
        int64_t n_elems;
        const char *message;
    } cases[] = {
        {"T([], f32)", ASSAY_OK, 1, NULL},
        {"T([2, 3, 4], f32)", ASSAY_OK, 24, NULL},
        {"T([0, 1000000000000000000, 1000000000000000000], f32)", ASSAY_OK, 0, NULL},
        {"T([64, 512], i64, stride=(0, 1))", ASSAY_OK, 32768, NULL},
        {"T([70368744177664], f16)", ASSAY_OK, (int64_t)1 << 46, NULL},
        {"T([140737488355328], f16)", ASSAY_TOO_LARGE, 0, "140737488355328"},
        {"T([-1, 3], f32)", ASSAY_INVALID, 0, "sizes that are not negative, got -1 in dimension 0"},
        {"T([1, 3], f32, stride=(1, -2))", ASSAY_INVALID, 0, "strides that are not negative, got -2 in dimension 1"},
        {"T([1000000000000000000], f32)", ASSAY_TOO_LARGE, 0, "at most"},
        {"T([4294967296, 4294967296], f32)", ASSAY_TOO_LARGE, 0, "at most"},
        {"T([2], f32, stride=(9223372036854775807,))", ASSAY_TOO_LARGE, 0, "at most"},
        {"T([3], f32, stride=(9223372036854775807,))", ASSAY_TOO_LARGE, 0, "at most"},
        {"ST([1000000, 1000000, 1000], f32, torch.sparse_coo, True)", ASSAY_OK, 1000000000000000, NULL},
        {"ST([4294967296, 4294967296], f32, torch.sparse_coo, True)", ASSAY_TOO_LARGE, 0, "at most"},
        {"[1, 2]", ASSAY_INVALID, 0, "expected a tensor, got a list"},
    };
    (void)state;
    for (size_t i = 0; i < countof(cases); i++) {
        arena a = {0};
        error err = {0};
        int64_t n_elems = -5;
        const literal *list = NULL;
        text source = {0};
        text_addf(&source, "(1, %s)", cases[i].source);
        assert_int_equal(literal_parse(&a, source.data, source.length, 3, 10, &list, NULL), ASSAY_OK);
        assert_int_equal(literal_tensor_elements(&list->list.items[1], &n_elems, &err), cases[i].result);
        if (cases[i].result == ASSAY_OK) {
            assert_int_equal(n_elems, cases[i].n_elems);
        } else {
            assert_int_equal(n_elems, -5);
            assert_int_equal(err.line, 3);
            assert_int_equal(err.column, 14);
            assert_non_null(strstr(err.message, cases[i].message));
        }
        text_clear(&source);
        arena_clear(&a);
    }
}

/* ---- properties ---- */

static int64_t any_int(rng *r) {
    return (int64_t)(rng_next(r) >> rng_range(r, 0, 64)) * (rng_range(r, 0, 2) == 0 ? -1 : 1);
}

static double any_double(rng *r) {
    static const double odd[] = {0.0,      -0.0, (double)INFINITY, (double)-INFINITY, (double)NAN, 1e16, 1e-4,
                                 9.999e-5, 1e22};
    int64_t choice = rng_range(r, 0, 20);
    if (choice < (int64_t)countof(odd)) {
        return odd[choice];
    }
    double value = 0;
    uint64_t bits = rng_next(r);
    memcpy(&value, &bits, sizeof value);
    return choice < 14 ? value : rng_normal(r);
}

static void any_value(rng *r, int depth, text *out);

static void any_sizes(rng *r, char open, char close, size_t n, text *out) {
    text_add_char(out, open);
    for (size_t i = 0; i < n; i++) {
        text_addf(out, "%s%lld", i > 0 ? ", " : "", (long long)any_int(r));
    }
    text_add(out, n == 1 && close == ')' ? "," : "");
    text_add_char(out, close);
}

static void any_tensor(rng *r, text *out) {
    size_t n = (size_t)rng_range(r, 0, 6);
    text_add(out, "T(");
    any_sizes(r, '[', ']', n, out);
    text_addf(out, ", %s", assay_dtype_name((assay_dtype)rng_range(r, 0, ASSAY_DTYPE_COUNT)));
    if (rng_range(r, 0, 2) == 0) {
        text_add(out, ", stride=");
        any_sizes(r, '(', ')', n, out);
    }
    text_add_char(out, ')');
}

static void any_string(rng *r, text *out) {
    text_add_char(out, '\'');
    for (int64_t n = rng_range(r, 0, 12); n > 0; n--) {
        text_addf(out, "\\x%02x", (unsigned)rng_range(r, 0, 128));
    }
    text_add_char(out, '\'');
}

static void any_items(rng *r, int depth, text *out) {
    int64_t n = rng_range(r, 0, 4), kind = rng_range(r, 0, 3);
    text_add_char(out, "([{"[kind]);
    for (int64_t i = 0; i < n; i++) {
        if (kind == 2) {
            text_addf(out, "'k%lld': ", (long long)i);
        }
        any_value(r, depth + 1, out);
        text_add_char(out, ',');
    }
    text_add_char(out, ")]}"[kind]);
}

static void any_value(rng *r, int depth, text *out) {
    static const char *const words[] = {"None",       "True",          "False",         "f16",
                                        "torch.half", "torch.strided", "device('cuda')"};
    int64_t choice = rng_range(r, 0, depth < 5 ? 10 : 6);
    if (choice == 0) {
        text_add(out, words[rng_range(r, 0, countof(words))]);
    } else if (choice == 1) {
        text_addf(out, "%lld", (long long)any_int(r));
    } else if (choice <= 3) {
        double value = any_double(r);
        text_addf(out, isfinite(value) ? "%.17e" : "%f", value);
        text_add(out, choice == 3 ? "j" : "");
    } else if (choice == 4) {
        any_string(r, out);
    } else if (choice == 5) {
        any_tensor(r, out);
    } else {
        any_items(r, depth, out);
    }
}

/* Whatever is read prints to what reads as the same value and prints the same again. */
static void test_any_value_round_trips(void **state) {
    const uint64_t seed = 20240607;
    (void)state;
    print_message("seed %llu\n", (unsigned long long)seed);
    for (uint64_t i = 0; i < 20000; i++) {
        rng r = rng_make_stream(seed, i);
        arena a = {0};
        text source = {0}, first = {0}, second = {0};
        any_value(&r, 0, &source);
        const literal *value = read_one(&a, source.data);
        literal_print(value, &first);
        const literal *again = read_one(&a, first.data);
        literal_print(again, &second);
        assert_true(literal_equal(value, again));
        assert_string_equal(first.data, second.data);
        text_clear(&source);
        text_clear(&first);
        text_clear(&second);
        arena_clear(&a);
    }
}

/* Damaged text is refused with a position inside it, or reads as some value that prints. */
static void test_damage_is_met(void **state) {
    static const char valid[] =
        "((T([2, 3], f16, stride=(1, 2)), ST([4], f32, torch.sparse_coo, True, 3), [None, -1e-05, (1+2j)]), "
        "{'device': \"torch.device('cpu')\", 'x': 'a\\x41', 'y': device(type='cuda', index=0)})";
    const uint64_t seed = 77;
    (void)state;
    print_message("seed %llu\n", (unsigned long long)seed);
    for (uint64_t i = 0; i < 50000; i++) {
        rng r = rng_make_stream(seed, i);
        char source[sizeof valid];
        memcpy(source, valid, sizeof valid);
        size_t n = rng_range(&r, 0, 4) == 0 ? (size_t)rng_range(&r, 0, sizeof valid) : sizeof valid - 1;
        for (int64_t hits = rng_range(&r, 1, 4); hits > 0; hits--) {
            size_t at = (size_t)rng_range(&r, 0, sizeof valid - 1), from = (size_t)rng_range(&r, 0, sizeof valid - 1);
            source[at] = rng_range(&r, 0, 2) == 0 ? valid[from] : (char)rng_next(&r);
        }
        char *exact = malloc(n > 0 ? n : 1); /* no byte behind it: the address sanitizer would tell */
        assert_non_null(exact);
        memcpy(exact, source, n);
        arena a = {0};
        error err = {0};
        text printed = {0};
        const literal *value = NULL;
        if (literal_parse(&a, exact, n, 1, 1, &value, &err) == ASSAY_OK) {
            literal_print(value, &printed);
        } else {
            assert_in_range(err.column, 1, n + 1);
            assert_non_null(strstr(err.message, "expected"));
        }
        text_clear(&printed);
        arena_clear(&a);
        free(exact);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trips),        cmocka_unit_test(test_normal_forms),
        cmocka_unit_test(test_contents),           cmocka_unit_test(test_errors_have_positions),
        cmocka_unit_test(test_nesting_is_limited), cmocka_unit_test(test_keys_are_limited),
        cmocka_unit_test(test_strings_hold_nuls),
        cmocka_unit_test(test_elements),           cmocka_unit_test(test_any_value_round_trips),
        cmocka_unit_test(test_damage_is_met),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
