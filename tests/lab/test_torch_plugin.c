/* SPDX-License-Identifier: Apache-2.0 */
/* Fake Pythons and fake compilers: everything that can be wrong with somebody's PyTorch gets one clear message. */
#include "unit.h"

#include "base/file.h"
#include "base/process.h"
#include "base/text.h"
#include "engine/backend/backend.h"
#include "lab/experiment/torch_plugin.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* A directory of its own for each test; programs and packages are made in it. */
typedef struct place {
    arena memory;
    char directory[PATH_MAX];
    torch_options options;
    error err;
} place;

static int set_up(void **state) {
    place *p = calloc(1, sizeof *p);
    if (p == NULL) {
        return -1;
    }
    char name[] = "assay_torch_XXXXXX";
    if (mkdtemp(name) == NULL || realpath(name, p->directory) == NULL) {
        return -1;
    }
    p->options = (torch_options){.python = arena_format(&p->memory, "%s/python", p->directory),
                                 .cxx = arena_format(&p->memory, "%s/cxx", p->directory),
                                 .cache_directory = arena_format(&p->memory, "%s/cache", p->directory),
                                 .patience_s = 20};
    *state = p;
    return 0;
}

static int tear_down(void **state) {
    place *p = *state;
    const char *arguments[] = {"rm", "-rf", p->directory, NULL};
    process_result r = {0};
    process_run(arguments, NULL, 20, 100, &r, NULL);
    process_result_clear(&r);
    arena_clear(&p->memory);
    free(p);
    return 0;
}

static void write_file(place *p, const char *name, const char *content) {
    const char *path = arena_format(&p->memory, "%s/%s", p->directory, name);
    const char *directory = arena_format(&p->memory, "%.*s", (int)(file_basename(path) - path - 1), path);
    assert_int_equal(file_make_directories(directory, NULL), ASSAY_OK);
    assert_int_equal(file_write(path, content, strlen(content), NULL), ASSAY_OK);
}

static void write_program(place *p, const char *name, const char *script) {
    write_file(p, name, arena_format(&p->memory, "#!/bin/sh\n%s\n", script));
    assert_int_equal(chmod(arena_format(&p->memory, "%s/%s", p->directory, name), 0755), 0);
}

/* A Python with a PyTorch of this version; with_files: that has all its files, if only as empty ones. */
static void fake_torch(place *p, const char *version, bool with_files) {
    write_program(p, "python", arena_format(&p->memory,
                                            "echo '{\"python\": \"fake\", \"version\": \"%s\", \"directory\": \"%s/torch\", "
                                            "\"git\": \"abc\"}'", version, p->directory));
    if (with_files) {
        write_file(p, "torch/include/ATen/ATen.h", "");
        write_file(p, "torch/lib/libtorch_cpu.so", "no library");
        write_file(p, "torch/lib/libc10.so", "no library");
    }
}

/* A compiler that counts its calls and writes junk where it is told to. */
static void fake_compiler(place *p) {
    write_program(p, "cxx", arena_format(&p->memory,
                                         "echo called >>%s/calls\nsleep 0.2\nwhile [ $# -gt 0 ]; do [ \"$1\" = -o ] && "
                                         "echo junk >\"$2\"; shift; done", p->directory));
}

static int count_calls(place *p) {
    text calls = {0};
    int n = 0;
    if (file_read(arena_format(&p->memory, "%s/calls", p->directory), 1000, &calls, NULL) == ASSAY_OK) {
        for (const char *at = text_get(&calls); *at != '\0'; at++) {
            n += *at == '\n';
        }
    }
    text_clear(&calls);
    return n;
}

static void expect_refusal(place *p, status code, const char *says) {
    torch_found found = {.version = "untouched"};
    assert_int_equal(torch_find(&p->memory, &p->options, &found, &p->err), code);
    assert_string_equal(found.version, "untouched");
    if (strstr(p->err.message, says) == NULL) {
        print_error("expected '%s' in: %s\n", says, p->err.message);
        assert_true(false);
    }
}

static void test_no_such_python(void **state) {
    expect_refusal(*state, ASSAY_NOT_FOUND, "pip install torch");
}

static void test_python_without_torch(void **state) {
    place *p = *state;
    write_program(p, "python", "echo '{\"python\": \"fake\"}'");
    expect_refusal(p, ASSAY_NOT_FOUND, "has no PyTorch; get one with");
}

static void test_old_torch(void **state) {
    fake_torch(*state, "1.13.1", true);
    expect_refusal(*state, ASSAY_UNSUPPORTED, "PyTorch 1.13.1");
    fake_torch(*state, "2.9.0+cpu", true);
    expect_refusal(*state, ASSAY_UNSUPPORTED, "too old");
}

static void test_torch_without_headers(void **state) {
    fake_torch(*state, "2.15.0", false);
    expect_refusal(*state, ASSAY_UNSUPPORTED, "lacks its headers");
}

static void test_torch_without_library(void **state) {
    place *p = *state;
    fake_torch(p, "2.15.0", true);
    assert_int_equal(unlink(arena_format(&p->memory, "%s/torch/lib/libc10.so", p->directory)), 0);
    expect_refusal(p, ASSAY_UNSUPPORTED, "lacks its library");
}

static void test_python_that_fails(void **state) {
    write_program(*state, "python", "echo first >&2; echo 'ImportError: broken' >&2; exit 1");
    expect_refusal(*state, ASSAY_INVALID, "failed (exit 1): ImportError: broken");
}

static void test_python_that_prints_junk(void **state) {
    write_program(*state, "python", "echo hello; echo world");
    expect_refusal(*state, ASSAY_INVALID, "it answered 'world'");
}

static void test_python_that_hangs(void **state) {
    place *p = *state;
    write_program(p, "python", "sleep 1000");
    p->options.patience_s = 0.2;
    expect_refusal(p, ASSAY_TIMEOUT, "did not end within 0.2 s");
}

static void find(place *p, torch_found *found) {
    assert_int_equal(torch_find(&p->memory, &p->options, found, &p->err), ASSAY_OK);
}

static void test_no_compiler(void **state) {
    place *p = *state;
    torch_found found;
    fake_torch(p, "2.15.0", true);
    find(p, &found);
    assert_int_equal(torch_build(&p->memory, &p->options, &found, TORCH_EAGER, &p->err), ASSAY_NOT_FOUND);
    assert_non_null(strstr(p->err.message, "apt-get install g++"));
}

static void test_no_place(void **state) {
    place *p = *state;
    torch_found found;
    fake_torch(p, "2.15.0", true);
    p->options.cache_directory = NULL;
    find(p, &found);
    assert_null(found.plugin_directory);
    assert_int_equal(torch_build(&p->memory, &p->options, &found, TORCH_EAGER, &p->err), ASSAY_NOT_FOUND);
    assert_non_null(strstr(p->err.message, "XDG_CACHE_HOME"));
}

static void test_compile_error(void **state) {
    place *p = *state;
    torch_found found;
    fake_torch(p, "2.15.0", true);
    write_program(p, "cxx", "echo 'In file included from x:' >&2; echo 'ATen.h:7: error: no such thing' >&2; exit 1");
    find(p, &found);
    assert_int_equal(torch_build(&p->memory, &p->options, &found, TORCH_EAGER, &p->err), ASSAY_INVALID);
    assert_non_null(strstr(p->err.message, "does not build: ATen.h:7: error: no such thing"));
    assert_non_null(strstr(p->err.message, "build.log"));
    assert_false(found.is_built[TORCH_EAGER]);
    find(p, &found);
    assert_false(found.is_built[TORCH_EAGER]);
}

static void test_broken_library(void **state) {
    place *p = *state;
    torch_found found;
    op_table *table = NULL;
    backend *opened = NULL;
    fake_torch(p, "2.15.0", true);
    fake_compiler(p);
    find(p, &found);
    assert_int_equal(torch_build(&p->memory, &p->options, &found, TORCH_EAGER, &p->err), ASSAY_OK);
    assert_int_equal(op_table_new(&table, NULL), ASSAY_OK);
    assert_int_equal(backend_open(table, found.plugin_paths[TORCH_EAGER], &opened, &p->err), ASSAY_NOT_FOUND);
    assert_non_null(strstr(p->err.message, "plug-in cannot be opened"));
    op_table_free(table);
}

static void test_built_once(void **state) {
    place *p = *state;
    torch_found first, again, other;
    fake_torch(p, "2.15.0", true);
    fake_compiler(p);
    find(p, &first);
    assert_false(first.is_built[TORCH_EAGER]);
    assert_int_equal(torch_build(&p->memory, &p->options, &first, TORCH_EAGER, &p->err), ASSAY_OK);
    assert_true(first.is_built[TORCH_EAGER]);
    find(p, &again);
    assert_true(again.is_built[TORCH_EAGER]);
    assert_string_equal(again.plugin_paths[TORCH_EAGER], first.plugin_paths[TORCH_EAGER]);
    assert_int_equal(torch_build(&p->memory, &p->options, &again, TORCH_EAGER, &p->err), ASSAY_OK);
    assert_int_equal(count_calls(p), 1);
    fake_torch(p, "2.16.0", true);
    find(p, &other);
    assert_false(other.is_built[TORCH_EAGER]);
    assert_string_not_equal(other.plugin_paths[TORCH_EAGER], first.plugin_paths[TORCH_EAGER]);
}

/* Cut short, changed in one place, or without what is known of it: it would not load, or not as it was built, now and for ever. */
static void test_damaged_is_built_anew(void **state) {
    place *p = *state;
    torch_found found;
    fake_torch(p, "2.15.0", true);
    fake_compiler(p);
    find(p, &found);
    assert_int_equal(torch_build(&p->memory, &p->options, &found, TORCH_EAGER, &p->err), ASSAY_OK);
    const char *path = found.plugin_paths[TORCH_EAGER], *sum = arena_format(&p->memory, "%s.sum", path);
    for (int kind = 0; kind < 3; kind++) {
        assert_int_equal(kind == 0   ? truncate(path, 2)
                         : kind == 1 ? (int)file_write(path, "jumk\n", 5, NULL)
                                     : unlink(sum), 0);
        find(p, &found);
        assert_false(found.is_built[TORCH_EAGER]);
        assert_int_equal(torch_build(&p->memory, &p->options, &found, TORCH_EAGER, &p->err), ASSAY_OK);
        assert_int_equal(count_calls(p), kind + 2);
        find(p, &found);
        assert_true(found.is_built[TORCH_EAGER]);
    }
}

/* Whatever becomes of the compiler, nothing half made stays behind. */
static void test_nothing_half_made_stays(void **state) {
    static const char *const scripts[] = {"exit 0", "while [ $# -gt 0 ]; do [ \"$1\" = -o ] && echo half >\"$2\"; shift; done; exit 1"};
    static const char *const says[] = {"ended well but wrote no file", "failed without a word"};
    place *p = *state;
    torch_found found;
    fake_torch(p, "2.15.0", true);
    for (size_t i = 0; i < countof(scripts); i++) {
        write_program(p, "cxx", scripts[i]);
        find(p, &found);
        assert_int_not_equal(torch_build(&p->memory, &p->options, &found, TORCH_EAGER, &p->err), ASSAY_OK);
        if (strstr(p->err.message, says[i]) == NULL) {
            print_error("expected '%s' in: %s\n", says[i], p->err.message);
            assert_true(false);
        }
        const char *arguments[] = {"find", found.plugin_directory, "-name", "*.so*", NULL};
        process_result r = {0};
        assert_int_equal(process_run(arguments, NULL, 20, 1000, &r, NULL), ASSAY_OK);
        assert_string_equal(text_get(&r.out), "");
        process_result_clear(&r);
    }
}

static void test_processes_wait_for_each_other(void **state) {
    enum { PROCESSES = 6 };
    place *p = *state;
    torch_found found;
    fake_torch(p, "2.15.0", true);
    fake_compiler(p);
    find(p, &found);
    pid_t children[PROCESSES];
    for (int i = 0; i < PROCESSES; i++) {
        children[i] = fork();
        assert_true(children[i] >= 0);
        if (children[i] == 0) {
            bool built = torch_build(&p->memory, &p->options, &found, TORCH_EAGER, NULL) == ASSAY_OK;
            _exit(built && access(found.plugin_paths[TORCH_EAGER], R_OK) == 0 ? 0 : 1);
        }
    }
    for (int i = 0; i < PROCESSES; i++) {
        int how = 0;
        assert_int_equal(waitpid(children[i], &how, 0), children[i]);
        assert_true(WIFEXITED(how) && WEXITSTATUS(how) == 0);
    }
    assert_int_equal(count_calls(p), 1);
}

int main(void) {
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_no_such_python, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_python_without_torch, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_old_torch, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_torch_without_headers, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_torch_without_library, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_python_that_fails, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_python_that_prints_junk, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_python_that_hangs, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_no_compiler, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_no_place, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_compile_error, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_broken_library, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_built_once, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_damaged_is_built_anew, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_nothing_half_made_stays, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_processes_wait_for_each_other, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
