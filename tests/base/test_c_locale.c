/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers are spelled as C does in a process whose locale writes 0,5; the process's own printf goes on as before. */
#include "base/arena.h"
#include "base/c_locale.h"
#include "base/json.h"
#include "base/json_tree.h"

#include "comma_locale.h"
#include "unit.h"

static int enter(void **state) {
    static bool found;
    found = enter_comma_locale();
    *state = &found;
    return 0;
}

static void skip_without_locale(void **state) {
    if (!*(bool *)*state) {
        print_message("skipped: no locale writes 0,5\n");
        skip();
    }
}

static void numbers_have_a_point(void **state) {
    char buffer[32], *end = NULL;
    skip_without_locale(state);
    assert_int_equal(c_snprintf(buffer, sizeof buffer, "%g %.1f", 0.5, -2.25), 8);
    assert_string_equal(buffer, "0.5 -2.2");
    assert_true(c_strtod("0.5,", &end) == 0.5);
    assert_string_equal(end, ",");
    snprintf(buffer, sizeof buffer, "%g", 0.5);
    assert_string_equal(buffer, "0,5");
}

static void texts_and_messages_too(void **state) {
    arena memory = {0};
    text t = {0};
    error err = {0};
    char buffer[32];
    skip_without_locale(state);
    text_add_double(&t, 0.1);
    text_addf(&t, " %.3f", 0.25);
    assert_string_equal(text_get(&t), "0.1 0.250");
    assert_string_equal(arena_format(&memory, "%.2e", 1234.0), "1.23e+03");
    assert_string_equal(text_of_bytes(buffer, 1536), "1.50 KiB");
    fail(&err, ASSAY_INVALID, "got %g", 0.5);
    assert_string_equal(err.message, "got 0.5");
    text_clear(&t);
    arena_clear(&memory);
}

static void json_reads_what_it_writes(void **state) {
    arena memory = {0};
    text t = {0};
    json_writer w = {.out = &t};
    const json_value *value = NULL;
    error err = {0};
    skip_without_locale(state);
    json_begin_array(&w);
    json_double(&w, 0.1);
    json_double(&w, 1e-7);
    json_end_array(&w);
    assert_string_equal(text_get(&t), "[0.1, 1e-07]");
    assert_int_equal(json_parse(&memory, t.data, t.length, &value, &err), ASSAY_OK);
    assert_true(value->first->number == 0.1);
    text_clear(&t);
    arena_clear(&memory);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(numbers_have_a_point), cmocka_unit_test(texts_and_messages_too),
                                       cmocka_unit_test(json_reads_what_it_writes)};
    return cmocka_run_group_tests(tests, enter, NULL);
}
