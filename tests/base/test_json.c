/* SPDX-License-Identifier: Apache-2.0 */
/* JSON written and read, UTF-8, and everything in between. */
#include "base/json.h"
#include "base/json_tree.h"
#include "base/utf8.h"

#include "unit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void the_writer_places_commas(void **state) {
    (void)state;
    text t = {0};
    json_writer w = {.out = &t};
    json_begin_object(&w);
    json_put_int(&w, "i", INT64_MIN);
    json_key(&w, "a");
    json_begin_array(&w);
    json_double(&w, NAN);
    json_uint(&w, UINT64_MAX);
    json_begin_object(&w);
    json_end_object(&w);
    json_begin_array(&w);
    json_end_array(&w);
    json_string_n(&w, "a\0[", 3);
    json_end_array(&w);
    json_put_bool(&w, "b", true);
    json_put_null(&w, "n");
    json_put_string(&w, "s", NULL);
    json_put_double(&w, "d", -1.5);
    json_end_object(&w);
    assert_string_equal(t.data, "{\"i\": -9223372036854775808, \"a\": [null, 18446744073709551615, {}, [], \"a\\u0000[\"], "
                                "\"b\": true, \"n\": null, \"s\": null, \"d\": -1.5}");
    text_reset(&t);
    w = (json_writer){.out = &t, .indent = 2};
    json_begin_object(&w);
    json_key(&w, "x");
    json_begin_array(&w);
    json_int(&w, 1);
    json_int(&w, 2);
    json_end_array(&w);
    json_key(&w, "empty");
    json_begin_object(&w);
    json_end_object(&w);
    json_end_object(&w);
    assert_string_equal(t.data, "{\n  \"x\": [\n    1,\n    2\n  ],\n  \"empty\": {}\n}");
    text_clear(&t);
}

static void strings_are_escaped_and_come_back(void **state) {
    (void)state;
    static const struct {
        const char *value, *written;
    } cases[] = {{"q\"b\\s/", "\"q\\\"b\\\\s/\""},
                 {"\b\f\n\r\t\x01\x7f", "\"\\b\\f\\n\\r\\t\\u0001\\u007f\""},
                 {"h\xc3\xa9 \xe6\xbc\xa2 \xf0\x9f\x98\x80", "\"h\xc3\xa9 \xe6\xbc\xa2 \xf0\x9f\x98\x80\""},
                 {"bad \xff\xc0\x80 \xed\xa0\x80", "\"bad \xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd "
                                                   "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\""}};
    for (size_t i = 0; i < countof(cases); i++) {
        text t = {0};
        arena a = {0};
        const json_value *back = NULL;
        json_writer w = {.out = &t};
        json_string(&w, cases[i].value);
        assert_string_equal(t.data, cases[i].written);
        assert_int_equal(json_parse(&a, t.data, t.length, &back, NULL), ASSAY_OK);
        if (i < 3) {
            assert_string_equal(back->text, cases[i].value);
        }
        text_clear(&t);
        arena_clear(&a);
    }
}

static void the_reader_knows_kinds_and_places(void **state) {
    (void)state;
    static const char source[] = " {\"a\": [1, -0, 2.5e3, 9223372036854775807, 9223372036854775808, 1e999],\n"
                                 "  \"b\": {\"c\": true, \"c\": false}, \"d\": null, \"e\": \"\\ud83d\\ude00\\u00e9\\/\"} ";
    arena a = {0};
    const json_value *root = NULL;
    assert_int_equal(json_parse(&a, source, strlen(source), &root, NULL), ASSAY_OK);
    assert_int_equal(root->kind, JSON_OBJECT);
    assert_int_equal(root->n, 4);
    assert_int_equal(root->column, 2);
    const json_value *item = json_find(root, "a")->first;
    assert_true(item->kind == JSON_INTEGER && item->integer == 1 && item->number == 1);
    item = item->next;
    assert_true(item->kind == JSON_INTEGER && item->integer == 0);
    item = item->next;
    assert_true(item->kind == JSON_NUMBER && item->number == 2500);
    item = item->next;
    assert_true(item->kind == JSON_INTEGER && item->integer == INT64_MAX);
    item = item->next;
    assert_true(item->kind == JSON_NUMBER && item->number == 0x1p63);
    item = item->next;
    assert_true(item->kind == JSON_NUMBER && isinf(item->number) && item->next == NULL);
    const json_value *inner = json_find(json_find(root, "b"), "c");
    assert_true(inner->truth); /* the first */
    assert_int_equal(inner->line, 2);
    assert_int_equal(inner->column, 14);
    assert_null(json_find(root, "nothing"));
    assert_null(json_find(item, "no object"));
    assert_string_equal(json_find(root, "e")->text, "\xf0\x9f\x98\x80\xc3\xa9/");
    arena_clear(&a);
}

static void what_is_no_json_is_refused(void **state) {
    (void)state;
    static const struct {
        const char *source;
        int line, column;
    } cases[] = {{"", 1, 1},           {"  ", 1, 3},        {"{", 1, 2},          {"[1,]", 1, 4},       {"[1 2]", 1, 4},
                 {"{\"a\" 1}", 1, 6},  {"{a: 1}", 1, 2},    {"01", 1, 1},         {"-", 1, 1},          {"+1", 1, 1},
                 {"1.", 1, 3},         {"1e", 1, 3},        {".5", 1, 1},         {"nul", 1, 1},        {"truex", 1, 5},
                 {"\"abc", 1, 5},      {"\"\\x\"", 1, 3},   {"\"\\u12g4\"", 1, 2}, {"\"\\ud800\"", 1, 2}, {"\"\\udc00\"", 1, 2},
                 {"\"\\u0000\"", 1, 2}, {"\"\t\"", 1, 2},    {"\"\xff\"", 1, 2},    {"1 2", 1, 3},        {"[\n\n 1,\n  x]", 4, 3},
                 {"NaN", 1, 1},        {"{\"a\":1,}", 1, 8}, {"[}", 1, 2},         {"\"\\", 1, 3}};
    for (size_t i = 0; i < countof(cases); i++) {
        arena a = {0};
        const json_value *root = NULL;
        error err = {0};
        /* From memory that ends where the text ends: the sanitizer sees one byte too many. */
        size_t n = strlen(cases[i].source);
        char *exact = malloc(n > 0 ? n : 1);
        memcpy(exact, cases[i].source, n);
        status result = json_parse(&a, exact, n, &root, &err);
        if (result != ASSAY_PARSE || err.line != cases[i].line || err.column != cases[i].column) {
            print_error("%s: status %d at %d:%d, %s\n", cases[i].source, result, err.line, err.column, err.message);
        }
        assert_int_equal(result, ASSAY_PARSE);
        assert_int_equal(err.line, cases[i].line);
        assert_int_equal(err.column, cases[i].column);
        assert_null(root);
        free(exact);
        arena_clear(&a);
    }
}

static void depth_has_a_limit(void **state) {
    (void)state;
    char source[2 * JSON_DEPTH_LIMIT + 3];
    for (int depth = JSON_DEPTH_LIMIT; depth <= JSON_DEPTH_LIMIT + 1; depth++) {
        arena a = {0};
        const json_value *root = NULL;
        memset(source, '[', (size_t)depth);
        memset(source + depth, ']', (size_t)depth);
        status result = json_parse(&a, source, 2 * (size_t)depth, &root, NULL);
        assert_int_equal(result, depth <= JSON_DEPTH_LIMIT ? ASSAY_OK : ASSAY_PARSE);
        arena_clear(&a);
    }
}

/* All code points there and back, and every lead byte with a wrong or missing continuation. */
static void utf8_is_exact(void **state) {
    (void)state;
    char bytes[4];
    for (uint32_t c = 0; c <= 0x10ffff; c++) {
        size_t n = utf8_encode(c, bytes);
        bool surrogate = c >= 0xd800 && c <= 0xdfff;
        if (utf8_length(bytes, n) != n || utf8_decode(bytes, n) != (surrogate ? 0xfffd : c) ||
            (n > 1 && utf8_length(bytes, n - 1) != 0)) {
            print_error("U+%04X\n", c);
            assert_true(false);
        }
    }
    assert_int_equal(utf8_encode(0x110000, bytes), 3);
    static const char *const wrong[] = {"\x80", "\xc0\xaf", "\xc1\xbf", "\xe0\x9f\xbf", "\xf0\x8f\xbf\xbf", "\xf4\x90\x80\x80",
                                        "\xf5\x80\x80\x80", "\xe1\x80\x41", "\xff"};
    for (size_t i = 0; i < countof(wrong); i++) {
        assert_int_equal(utf8_length(wrong[i], strlen(wrong[i])), 0);
    }
    assert_int_equal(utf8_length("a", 0), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_writer_places_commas),   cmocka_unit_test(strings_are_escaped_and_come_back),
        cmocka_unit_test(the_reader_knows_kinds_and_places), cmocka_unit_test(what_is_no_json_is_refused),
        cmocka_unit_test(depth_has_a_limit),          cmocka_unit_test(utf8_is_exact),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
