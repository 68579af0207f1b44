/* SPDX-License-Identifier: Apache-2.0 */
/* What base/ does when memory runs out, at each allocation in turn. */
#include "base/arena.h"
#include "base/csv.h"
#include "base/file.h"
#include "base/json.h"
#include "base/json_tree.h"
#include "base/text.h"

#include "unit.h"

#include "alloc_fault.h"

#include <string.h>
#include <unistd.h>

static status no_memory_if(bool failed) {
    return failed ? ASSAY_OUT_OF_MEMORY : ASSAY_OK;
}

static status use_arena(void *arg, error *err) {
    (void)arg;
    (void)err;
    arena a = {0};
    bool failed = arena_make(&a, 10, 10) == NULL || arena_make(&a, 1, 100000) == NULL ||
                  arena_format(&a, "%20000d", 1) == NULL || arena_text(&a, "abc", 3) == NULL;
    arena_clear(&a);
    return no_memory_if(failed);
}

static status use_text(void *arg, error *err) {
    (void)arg;
    (void)err;
    text t = {0};
    for (int i = 0; i < 100; i++) {
        text_addf(&t, "%d and ", i);
        text_add_double(&t, 1.0 / (i + 1));
    }
    status result = no_memory_if(t.failed);
    /* What is there is whole, whether or not more came. */
    assert_int_equal(strlen(text_get(&t)), t.length);
    text_clear(&t);
    return result;
}

static status use_writers(void *arg, error *err) {
    (void)arg;
    (void)err;
    text t = {0};
    json_writer json = {.out = &t, .indent = 2};
    csv_writer csv = {.out = &t};
    json_begin_object(&json);
    for (int i = 0; i < 20; i++) {
        json_put_string(&json, "a key", "a value\twith \"marks\"");
    }
    json_end_object(&json);
    for (int i = 0; i < 20; i++) {
        csv_fieldf(&csv, "%d,%d", i, i);
    }
    csv_end_row(&csv);
    status result = no_memory_if(t.failed);
    text_clear(&t);
    return result;
}

static status use_json_tree(void *arg, error *err) {
    (void)arg;
    arena a = {0};
    text source = {0};
    text_add(&source, "[");
    for (int i = 0; i < 400; i++) {
        text_addf(&source, "{\"key\": [%d, \"text \\u00e9\", 1%0100d]},", i, 0);
    }
    text_add(&source, "null]");
    const json_value *root = NULL;
    status result = source.failed ? ASSAY_OUT_OF_MEMORY : json_parse(&a, source.data, source.length, &root, err);
    text_clear(&source);
    arena_clear(&a);
    return result;
}

static status use_files(void *arg, error *err) {
    (void)arg;
    text content = {0};
    status result = file_write("memory-test", "content", 7, err);
    if (result == ASSAY_OK) {
        result = file_read("memory-test", 1000, &content, err);
    }
    if (result == ASSAY_OK) {
        assert_string_equal(content.data, "content");
        result = file_make_directories("memory-test.d/x", err);
    }
    text_clear(&content);
    unlink("memory-test");
    rmdir("memory-test.d/x");
    rmdir("memory-test.d");
    return result;
}

static void memory_may_run_out_anywhere(void **state) {
    (void)state;
    assert_true(alloc_fault_everywhere("arena", use_arena, NULL) >= 3);
    assert_true(alloc_fault_everywhere("text", use_text, NULL) >= 3);
    assert_true(alloc_fault_everywhere("writers", use_writers, NULL) >= 3);
    assert_true(alloc_fault_everywhere("json_tree", use_json_tree, NULL) >= 5);
    assert_true(alloc_fault_everywhere("file", use_files, NULL) >= 4);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(memory_may_run_out_anywhere)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
