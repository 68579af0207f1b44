/* SPDX-License-Identifier: Apache-2.0 */
/* Status messages, growing text, numbers as text, near names, patterns, arenas and checked arithmetic. */
#include "base/arena.h"
#include "base/csv.h"
#include "base/status.h"
#include "base/text.h"

#include "base/rng.h"
#include "unit.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static status try_it(status inner, int *after) {
    TRY(inner);
    *after = 1;
    return ASSAY_OK;
}

static void errors_say_what_and_where(void **state) {
    (void)state;
    error err = {0};
    assert_int_equal(fail(&err, ASSAY_PARSE, "expected %d, got %s", 3, "x"), ASSAY_PARSE);
    assert_string_equal(err.message, "expected 3, got x");
    assert_int_equal(fail_at(&err, ASSAY_INVALID, 7, 9, "here"), ASSAY_INVALID);
    assert_int_equal(err.line, 7);
    assert_int_equal(err.column, 9);
    assert_int_equal(fail_within(&err, ASSAY_IO, "file %s", "f"), ASSAY_IO);
    assert_string_equal(err.message, "file f: here");
    assert_int_equal(err.line, 7);
    assert_int_equal(fail(NULL, ASSAY_IO, "nobody listens"), ASSAY_IO);
    int after = 0;
    assert_int_equal(try_it(ASSAY_TIMEOUT, &after), ASSAY_TIMEOUT);
    assert_int_equal(after, 0);
    assert_int_equal(try_it(ASSAY_OK, &after), ASSAY_OK);
    assert_int_equal(after, 1);
    assert_string_equal(assay_status_text(ASSAY_NO_DEVICE), "no such device");
    assert_string_equal(assay_status_text((assay_status)999), "unknown status");
}

/* Every length around the buffer's: cut messages end in "...", whole ones do not. */
static void long_messages_are_cut_with_a_mark(void **state) {
    (void)state;
    char line[700];
    for (size_t n = ASSAY_ERROR_MESSAGE_BYTES - 6; n < ASSAY_ERROR_MESSAGE_BYTES + 6; n++) {
        error err = {0};
        memset(line, 'x', n);
        line[n] = '\0';
        fail(&err, ASSAY_IO, "%s", line);
        bool fits = n < ASSAY_ERROR_MESSAGE_BYTES;
        assert_int_equal(strlen(err.message), fits ? n : ASSAY_ERROR_MESSAGE_BYTES - 1);
        assert_int_equal(strcmp(err.message + strlen(err.message) - 3, "...") == 0, !fits);
        err = (error){0};
        line[n - 3] = '\0'; /* "c: " goes before it */
        fail(&err, ASSAY_IO, "%s", line);
        fail_within(&err, ASSAY_IO, "c");
        assert_int_equal(strlen(err.message), fits ? n - 0 : ASSAY_ERROR_MESSAGE_BYTES - 1);
        assert_int_equal(strcmp(err.message + strlen(err.message) - 3, "...") == 0, !fits);
        assert_memory_equal(err.message, "c: xxx", 6);
        line[n - 3] = 'x';
    }
}

static void text_grows(void **state) {
    (void)state;
    text t = {0};
    assert_string_equal(text_get(&t), "");
    for (int i = 0; i < 1000; i++) {
        text_addf(&t, "%d,", i % 10);
    }
    assert_int_equal(t.length, 2000);
    assert_int_equal(strlen(t.data), 2000);
    text_add_bytes(&t, "a\0b", 3);
    assert_int_equal(t.length, 2003);
    text_reset(&t);
    assert_string_equal(text_get(&t), "");
    text_add_char(&t, 'z');
    assert_string_equal(t.data, "z");
    text_add_bytes(&t, "", SIZE_MAX); /* refused before anything is touched */
    assert_true(t.failed);
    assert_string_equal(t.data, "z");
    text_clear(&t);
    text_clear(&t);
}

static void doubles_read_back_the_same(void **state) {
    (void)state;
    const uint64_t seed = 5;
    rng r = rng_make(seed);
    print_message("seed %llu\n", (unsigned long long)seed);
    text t = {0};
    for (int i = 0; i < 20000; i++) {
        double value;
        uint64_t bits = rng_next(&r);
        memcpy(&value, &bits, sizeof value);
        text_reset(&t);
        text_add_double(&t, value);
        if (isfinite(value)) {
            assert_true(strtod(t.data, NULL) == value);
        }
    }
    static const struct {
        double value;
        const char *expected;
    } cases[] = {{0.1, "0.1"}, {1, "1"},     {-2.5, "-2.5"},        {1e300, "1e+300"},        {NAN, "nan"},
                 {-INFINITY, "-inf"}, {0.0, "0"}, {1.0 / 3, "0.3333333333333333"}, {DBL_MIN / 4, "5.562684646268003e-309"}};
    for (size_t i = 0; i < countof(cases); i++) {
        text_reset(&t);
        text_add_double(&t, cases[i].value);
        assert_string_equal(t.data, cases[i].expected);
    }
    static const struct {
        double value;
        const char *expected;
    } plain[] = {{30, "30"}, {12758970, "12758970"}, {1.5e16, "15000000000000000"}, {1e300, "1e+300"}, {-1e5, "-100000"}, {1.25e6, "1250000"},
                 {1e-7, "1e-07"}, {12.5, "12.5"}, {NAN, "nan"}, {INFINITY, "inf"}, {0.0, "0"}};
    for (size_t i = 0; i < countof(plain); i++) {
        text_reset(&t);
        text_add_plain_double(&t, plain[i].value);
        assert_string_equal(t.data, plain[i].expected);
    }
    text_clear(&t);
}

static void quantities_have_three_digits(void **state) {
    (void)state;
    char buffer[32];
    assert_string_equal(text_of_bytes(buffer, 0), "0 B");
    assert_string_equal(text_of_bytes(buffer, 1023), "1023 B");
    assert_string_equal(text_of_bytes(buffer, 1024), "1.00 KiB");
    assert_string_equal(text_of_bytes(buffer, 33554432), "32.0 MiB");
    assert_string_equal(text_of_ns(buffer, 0.5), "0.50 ns");
    assert_string_equal(text_of_ns(buffer, 12345), "12.3 us");
    assert_string_equal(text_of_ns(buffer, 999.6), "1.00 us");
    assert_string_equal(text_of_ns(buffer, 9.996), "10.0 ns");
    assert_string_equal(text_of_ns(buffer, 5e12), "5000 s");
    text_of_bytes(buffer, 1e300);
    assert_true(strlen(buffer) < 32);
}

static void shells_read_words_back(void **state) {
    static const char *const words[][2] = {
        {"plain-1.txt", "plain-1.txt"},
        {"", "''"},
        {"two words", "'two words'"},
        {"it's", "'it'\\''s'"},
        {"caf\xc3\xa9", "'caf\xc3\xa9'"},
        {"caf\xe9.txt", "'caf'$'\\xe9''.txt'"},
        {"\xc3", "''$'\\xc3'''"},
    };
    (void)state;
    for (size_t i = 0; i < countof(words); i++) {
        text t = {0};
        text_add_shell_word(&t, words[i][0]);
        assert_string_equal(text_get(&t), words[i][1]);
        text_clear(&t);
    }
}

static void shown_words_move_no_terminal(void **state) {
    static const char words[] = "a\tb\nc\x1b[31m\x7f\r caf\xc3\xa9 \xc2\x9b" "1m \xc2\xa0\xc2";
    (void)state;
    text t = {0};
    text_add_shown(&t, words, strlen(words));
    assert_string_equal(text_get(&t), "a b c?[31m?? caf\xc3\xa9 ?1m \xc2\xa0\xc2");
    text_reset(&t);
    text_add_shown(&t, words, 2);
    assert_string_equal(text_get(&t), "a ");
    text_clear(&t);
}

static void near_names_are_found(void **state) {
    (void)state;
    static const char *const names[] = {"--repeats", "--backend", "--baseline", "--op"};
    assert_string_equal(text_nearest("--repeat", names, 4), "--repeats");
    assert_string_equal(text_nearest("--bcakend", names, 4), "--backend");
    assert_string_equal(text_nearest("--po", names, 4), "--op");
    assert_null(text_nearest("--something-else", names, 4));
    assert_null(text_nearest("x", names, 0));
    static const char *const operators[] = {"mm", "relu", "c", "Tensor"};
    assert_null(text_nearest("", operators, 4)); /* two letters may be wrong, but not all of them */
    assert_null(text_nearest("[", operators, 4));
    assert_null(text_nearest("xyz", operators, 4));
    assert_null(text_nearest("foo", (const char *const[]){"pow"}, 1)); /* a third of it is too little */
    assert_string_equal(text_nearest("RELU", operators, 4), "relu");
    assert_string_equal(text_nearest("tensr", operators, 4), "Tensor");
    assert_string_equal(text_nearest("m", operators, 4) != NULL ? "some" : "none", "none");
    assert_null(text_nearest("nope", (const char *const[]){"topk", "norm"}, 2)); /* two of four letters */
    static const char *const norms[] = {"native_layer_norm_backward", "native_layer_norm", "later_norm", "normal_"};
    assert_string_equal(text_nearest("layer_norm", norms, 4), "native_layer_norm"); /* a part goes before what is one letter away */
    assert_string_equal(text_nearest("Layer_Norm", norms, 4), "native_layer_norm");
    assert_null(text_nearest("norma", norms, 3));
    assert_true(text_has_part("a_b.c", "b") && text_has_part("a_b.c", "a_b") && text_has_part("a_b.c", "c"));
    assert_false(text_has_part("ab_c", "b") || text_has_part("ab_c", "a") || text_has_part("ab_c", ""));
    assert_int_equal(text_distance("kitten", "sitting", 9), 3);
    assert_int_equal(text_distance("ab", "ba", 9), 1);
    assert_int_equal(text_distance("", "abc", 9), 3);
    assert_int_equal(text_distance("abc", "xyz", 1), 2); /* limit + 1 */
}

static void patterns_match_wholly(void **state) {
    (void)state;
    assert_true(text_matches("aten.add.*", "aten.add.Tensor"));
    assert_false(text_matches("add", "aten.add.Tensor"));
    assert_true(text_matches("*.[!a]dd?", "aten.bddx"));
    assert_true(text_starts_with("abc", "ab") && !text_starts_with("a", "ab"));
    assert_true(text_ends_with("abc", "bc") && !text_ends_with("c", "bc") && text_ends_with("", ""));
}

static void arenas_hand_out_aligned_zeroes(void **state) {
    (void)state;
    arena a = {0};
    rng r = rng_make(3);
    for (int i = 0; i < 2000; i++) {
        size_t n = (size_t)rng_range(&r, 0, i % 100 == 0 ? 50000 : 300);
        unsigned char *made = arena_make(&a, n, 1);
        assert_non_null(made);
        assert_int_equal((uintptr_t)made % (n >= 64 ? 64 : 16), 0);
        for (size_t k = 0; k < n; k++) {
            assert_int_equal(made[k], 0);
        }
        memset(made, 0xff, n);
    }
    assert_null(arena_make(&a, SIZE_MAX / 2, 3));
    assert_null(arena_make(&a, SIZE_MAX - 100, 1));
    assert_string_equal(arena_text(&a, "abcdef", 3), "abc");
    assert_string_equal(arena_format(&a, "%s-%d", "x", 7), "x-7");
    arena_clear(&a);
    assert_int_equal(a.used_bytes, 0);
    assert_non_null(arena_make(&a, 1, 1));
    arena_clear(&a);
}

static void arithmetic_is_checked(void **state) {
    (void)state;
    size_t n = 5;
    int64_t i = 5;
    assert_true(mul_size(3, 4, &n) && n == 12);
    assert_false(mul_size(SIZE_MAX, 2, &n));
    assert_true(mul_i64(-3, 4, &i) && i == -12);
    assert_false(mul_i64(INT64_MIN, -1, &i));
    assert_false(add_i64(INT64_MAX, 1, &i));
    assert_true(add_i64(INT64_MAX, -1, &i) && i == INT64_MAX - 1);
}

static void csv_is_quoted(void **state) {
    (void)state;
    text t = {0};
    csv_writer w = {.out = &t};
    csv_field(&w, "plain");
    csv_field(&w, "a,b");
    csv_field(&w, "say \"x\"");
    csv_field(&w, "two\nlines");
    csv_field(&w, NULL);
    csv_field(&w, "");
    csv_fieldf(&w, "%d", 5);
    csv_end_row(&w);
    csv_field(&w, "next");
    csv_end_row(&w);
    assert_string_equal(t.data, "plain,\"a,b\",\"say \"\"x\"\"\",\"two\nlines\",,,5\r\nnext\r\n");
    text_clear(&t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(errors_say_what_and_where),  cmocka_unit_test(long_messages_are_cut_with_a_mark),
        cmocka_unit_test(text_grows),                 cmocka_unit_test(doubles_read_back_the_same),
        cmocka_unit_test(quantities_have_three_digits), cmocka_unit_test(near_names_are_found),
        cmocka_unit_test(shells_read_words_back),       cmocka_unit_test(shown_words_move_no_terminal),
        cmocka_unit_test(patterns_match_wholly),      cmocka_unit_test(arenas_hand_out_aligned_zeroes),
        cmocka_unit_test(arithmetic_is_checked),      cmocka_unit_test(csv_is_quoted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
