/* SPDX-License-Identifier: Apache-2.0 */
/* "PLUG-IN.so:OPTIONS": what the plug-in takes, refuses, or is too old to know. */
#include "unit.h"

#include "engine/backend/backend.h"

#include <fenv.h>
#include <omp.h>
#include <string.h>

static void expect_name(const char *path, const char *name) {
    op_table *table = NULL;
    backend *b = NULL;
    assert_int_equal(op_table_new(&table, NULL), ASSAY_OK);
    assert_int_equal(backend_open(table, path, &b, NULL), ASSAY_OK);
    assert_string_equal(b->name, name);
    b->close(b);
    op_table_free(table);
}

static void expect_refusal(const char *path, const char *says) {
    error err = {0};
    backend *b = NULL;
    assert_int_equal(backend_plugin_open(path, &b, &err), ASSAY_INVALID);
    assert_null(b);
    assert_non_null(strstr(err.message, says));
}

static void test_options_are_part_of_the_name(void **state) {
    (void)state;
    expect_name(NEW_PLUGIN, "opt");
    expect_name(NEW_PLUGIN ":", "opt");
    expect_name(NEW_PLUGIN ":good", "opt:good");
}

static void test_the_process_is_as_before(void **state) {
    (void)state;
    int threads = omp_get_max_threads();
    omp_set_num_threads(3);
    expect_name(NEW_PLUGIN ":good", "opt:good");
    assert_int_equal(fegetround(), FE_TONEAREST);
    assert_int_equal(omp_get_max_threads(), 3);
    omp_set_num_threads(threads);
}

static void test_unknown_option(void **state) {
    (void)state;
    expect_refusal(NEW_PLUGIN ":bad=1", "expected the option 'good', got 'bad=1'");
}

static void test_table_of_the_first_length(void **state) {
    (void)state;
    expect_name(OLD_PLUGIN, "opt");
    expect_refusal(OLD_PLUGIN ":good", "opt takes no options, got 'good'");
}

int main(void) {
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_options_are_part_of_the_name),
        cmocka_unit_test(test_the_process_is_as_before),
        cmocka_unit_test(test_unknown_option),
        cmocka_unit_test(test_table_of_the_first_length),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
