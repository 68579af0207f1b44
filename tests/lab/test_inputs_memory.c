/* SPDX-License-Identifier: Apache-2.0 */
/* Reading inputs while memory runs out, at each allocation in turn: an error, no crash and no leak (the address
   sanitizer sees those). */
#include "lab/experiment/inputs.h"
#include "lab/experiment/suites.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* The linker sends the libraries' calls here (test_inputs_memory.cmake). */
void *__real_malloc(size_t n);
void *__real_realloc(void *old, size_t n);
void *__wrap_malloc(size_t n);
void *__wrap_realloc(void *old, size_t n);

static long allocations_left = -1; /* before one fails, and all behind it; negative: none fails */

static bool may_allocate(void) {
    if (allocations_left > 0) {
        allocations_left--;
    }
    return allocations_left != 0;
}

void *__wrap_malloc(size_t n) {
    return may_allocate() ? __real_malloc(n) : NULL;
}

void *__wrap_realloc(void *old, size_t n) {
    return may_allocate() ? __real_realloc(old, n) : NULL;
}

/* How many allocations a whole run makes is found out by letting ever more of them pass. */
static void test_reading(void **state) {
    const suite *embedded = NULL;
    (void)state;
    assert_int_equal(suites_find("embedded", &embedded, NULL), ASSAY_OK);
    status result = ASSAY_OUT_OF_MEMORY;
    long n = 0;
    while (result != ASSAY_OK) {
        inputs set = {0};
        error err = {0};
        allocations_left = ++n;
        result = suites_read(&set, embedded, NULL, &err);
        allocations_left = -1;
        if (result != ASSAY_OK) {
            assert_int_equal(result, ASSAY_OUT_OF_MEMORY);
            assert_int_equal(err.code, ASSAY_OUT_OF_MEMORY);
            assert_non_null(strstr(err.message, "no memory"));
        } else {
            assert_int_equal(set.n_operators, 179);
        }
        inputs_clear(&set);
    }
    print_message("%ld allocations\n", n);
    assert_true(n > 20);
}

/* Bad lines are kept in memory as well: many of them, with excerpts. */
static void test_diagnostics(void **state) {
    (void)state;
    text data = {0};
    text_add(&data, "Operator: aten.neg.default\ncnt: 2, ((), {})\n");
    for (int i = 0; i < 300; i++) {
        text_addf(&data, "cnt: 2, ((T([%d, 3], f17, stride=(1,)),), {'a': 'b'})\n", i);
    }
    status result = ASSAY_OUT_OF_MEMORY;
    for (long n = 1; result != ASSAY_OK; n++) {
        inputs set = {0};
        error err = {0};
        allocations_left = n;
        result = inputs_read_text(&set, "some.txt", data.data, data.length, &err);
        allocations_left = -1;
        assert_true(result == ASSAY_OK || result == ASSAY_OUT_OF_MEMORY);
        assert_true(result != ASSAY_OK || set.n_diagnostics == INPUTS_MAX_FILE_DIAGNOSTICS + 1);
        inputs_clear(&set);
    }
    text_clear(&data);
}

static void test_searching(void **state) {
    const suite *timm = NULL;
    (void)state;
    assert_int_equal(suites_find("timm", &timm, NULL), ASSAY_OK);
    for (long n = 1; n < 8; n++) {
        text path = {0};
        error err = {0};
        allocations_left = n;
        status result = suites_directory(timm, "no/such/folder:nor/this/one", &path, &err);
        allocations_left = -1;
        assert_true(result == ASSAY_NOT_FOUND || result == ASSAY_OUT_OF_MEMORY);
        text_clear(&path);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reading),
        cmocka_unit_test(test_diagnostics),
        cmocka_unit_test(test_searching),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
