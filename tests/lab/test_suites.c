/* SPDX-License-Identifier: Apache-2.0 */
/* Suites: found by name and by folder, and the embedded one whole. */
#include "base/file.h"
#include "lab/experiment/suites.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static void test_names(void **state) {
    (void)state;
    size_t n = 0;
    const suite *all = suites_all(&n);
    assert_int_equal(n, 5);
    for (size_t i = 0; i < n; i++) {
        const suite *found = NULL;
        assert_int_equal(suites_find(all[i].name, &found, NULL), ASSAY_OK);
        assert_ptr_equal(found, &all[i]);
    }
    const suite *found = NULL;
    error err = {0};
    assert_int_equal(suites_find("hugingface", &found, &err), ASSAY_NOT_FOUND);
    assert_null(found);
    assert_non_null(strstr(err.message, "huggingface, timm, torchbench, graphs, embedded"));
    assert_non_null(strstr(err.message, "did you mean huggingface?"));
    assert_int_equal(suites_find("zzz", &found, &err), ASSAY_NOT_FOUND);
    assert_null(strstr(err.message, "did you mean"));
}

static void test_folders(void **state) {
    (void)state;
    char base[] = "assay_suites_XXXXXX";
    assert_non_null(mkdtemp(base));
    char folder[64], search[256];
    snprintf(folder, sizeof folder, "%s/logs/timm_train", base);
    error err = {0};
    assert_int_equal(file_make_directories(folder, &err), ASSAY_OK);
    const suite *timm = NULL;
    assert_int_equal(suites_find("timm", &timm, &err), ASSAY_OK);
    static const char *const forms[] = {"%s/logs", "no/such::%s/logs/:elsewhere", "%s/logs/timm_train",
                                        ":%s/logs/timm_train//"};
    for (size_t i = 0; i < countof(forms); i++) {
        text path = {0};
        text pattern = {0};
        const char *hole = strstr(forms[i], "%s");
        text_add_bytes(&pattern, forms[i], (size_t)(hole - forms[i]));
        text_add(&pattern, base);
        text_add(&pattern, hole + 2);
        assert_int_equal(suites_directory(timm, pattern.data, &path, &err), ASSAY_OK);
        assert_string_equal(path.data, folder);
        text_clear(&pattern);
        text_clear(&path);
    }
    text path = {0};
    snprintf(search, sizeof search, "first:%s", base);
    assert_int_equal(suites_directory(timm, search, &path, &err), ASSAY_NOT_FOUND);
    assert_int_equal(path.length, 0);
    assert_non_null(strstr(err.message, "looked for a folder timm_train in first, assay_suites_"));
    assert_non_null(strstr(err.message, "ASSAY_SUITES"));
    inputs set = {0};
    assert_int_equal(suites_read(&set, timm, search, &err), ASSAY_NOT_FOUND);
    rmdir(folder);
    snprintf(folder, sizeof folder, "%s/logs", base);
    rmdir(folder);
    rmdir(base);
}

static void test_default(void **state) {
    (void)state;
    char base[] = "assay_suites_XXXXXX", folder[64];
    assert_non_null(mkdtemp(base));
    snprintf(folder, sizeof folder, "%s/torchbench_train", base);
    error err = {0};
    assert_int_equal(file_make_directories(folder, &err), ASSAY_OK);
    assert_string_equal(suites_default(base)->name, "torchbench");
    rmdir(folder);
    rmdir(base);
}

/* Every line of the embedded suite is read, prints back the same, and asks for tensors of a modest size. */
static void test_embedded(void **state) {
    enum { MAX_ELEMS = 8 * 1024 * 1024 };
    (void)state;
    const suite *embedded = NULL;
    inputs set = {0};
    error err = {0};
    assert_int_equal(suites_find("embedded", &embedded, &err), ASSAY_OK);
    assert_int_equal(suites_read(&set, embedded, NULL, &err), ASSAY_OK);
    for (size_t i = 0; i < set.n_diagnostics; i++) {
        print_message("%d: %s\n", (int)set.diagnostics[i].line, set.diagnostics[i].message);
    }
    assert_int_equal(set.n_diagnostics, 0);
    text printed = {0};
    for (size_t i = 0; i < set.n_all; i++) {
        const input *in = set.all[i];
        text_reset(&printed);
        text_add_char(&printed, '(');
        literal_print(in->args, &printed);
        text_add(&printed, ", ");
        literal_print(in->kwargs, &printed);
        text_add_char(&printed, ')');
        assert_string_equal(printed.data, in->text);
        for (size_t j = 0; j < in->args->list.n_items; j++) {
            const literal *arg = &in->args->list.items[j];
            int64_t n_elems = 0;
            if (arg->kind == LITERAL_TENSOR) {
                assert_int_equal(literal_tensor_elements(arg, &n_elems, &err), ASSAY_OK);
                assert_in_range(n_elems, 0, MAX_ELEMS);
            }
        }
    }
    text_clear(&printed);
    inputs_clear(&set);
}

static void test_embedded_covers_the_operators(void **state) {
    (void)state;
    text table = {0};
    error err = {0};
    if (file_read(TEST_DATA "/operators.tsv", 1 << 20, &table, &err) != ASSAY_OK) {
        print_message("skipped: no operators.tsv in %s\n", TEST_DATA);
        skip();
    }
    const suite *embedded = NULL;
    inputs set = {0};
    assert_int_equal(suites_find("embedded", &embedded, &err), ASSAY_OK);
    assert_int_equal(suites_read(&set, embedded, NULL, &err), ASSAY_OK);
    size_t n = 0;
    for (const char *line = strchr(table.data, '\n'); line != NULL && line[1] != '\0';
         line = strchr(line + 1, '\n'), n++) {
        char name[128];
        assert_int_equal(sscanf(line + 1, "%127s", name), 1);
        if (inputs_find(&set, name) == NULL) {
            fail_msg("%s is not in suites/embedded.txt", name);
        }
    }
    assert_int_equal(n, 180);
    assert_int_equal(set.n_operators, 179); /* aten.sum.SymInt is aten.sum.dim_IntList */
    text_clear(&table);
    inputs_clear(&set);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_folders),
        cmocka_unit_test(test_default),
        cmocka_unit_test(test_embedded),
        cmocka_unit_test(test_embedded_covers_the_operators),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
