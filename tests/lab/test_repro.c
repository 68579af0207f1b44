/* SPDX-License-Identifier: Apache-2.0 */
/* The command in a record, for backends that are not at hand where tests run. */
#include "lab/experiment/repro.h"
#include "unit.h"

#include <string.h>

static const char *made(arena *a, const char *backend, const char *baseline, operators_repro say, bool is_graph) {
    const char *const backends[] = {backend, baseline};
    static const inputs_file file = {.path = "a graph.graph", .name = "a graph"};
    const input in = {.file = &file, .graph = is_graph ? "graph relu" : NULL};
    const inputs_operator recorded = {.name = is_graph ? "relu" : "aten.relu.default"};
    const operators_options o = {.backends = backends, .n_backends = 2, .baseline = baseline, .repeats = 9, .threads = 2, .check_accuracy = true,
                                 .timeout_s = 5, .max_memory_bytes = 1e9, .repro = say};
    const operators_point p = {.recorded = &recorded, .in = &in, .sample_index = 3};
    const char *all = repro_make(a, &o, &p, backend);
    assert_non_null(all);
    const char *own = strncmp(all, "ASSAY_ISA=", 10) == 0 ? strchr(all, ' ') + 1 : all; /* tests may run with fewer instructions */
    return own;
}

static void expect(const char *all, const char *begin, const char *end) {
    if (strncmp(all, begin, strlen(begin)) != 0 || strlen(all) < strlen(end) || strcmp(all + strlen(all) - strlen(end), end) != 0) {
        print_error("expected '%s ... %s', got '%s'\n", begin, end, all);
        assert_true(false);
    }
}

static void environments_stand_where_they_matter(void **state) {
    (void)state;
    arena a = {0};
    const operators_repro say = {.inputs = "--suite timm", .suites_place = "a b", .compiler = "clang", .torch_place = "/p/python"};
    expect(made(&a, "eager", "eager", say, false), "ASSAY_SUITES='a b' assay operators --suite timm --op aten.relu.default --start-idx 3 ",
           " --baseline eager");
    expect(made(&a, "torch", "eager", say, false), "ASSAY_SUITES='a b' ASSAY_TORCH_PYTHON=/p/python assay ", " --baseline eager");
    expect(made(&a, "compiled:autotune", "inductor:max-autotune", say, false),
           "ASSAY_SUITES='a b' ASSAY_CC=clang ASSAY_TORCH_PYTHON=/p/python assay ", " --baseline inductor:max-autotune");
    arena_clear(&a);
}

static void options_stand_where_they_matter(void **state) {
    (void)state;
    arena a = {0};
    const operators_repro say = {.inputs = "--inputs -", .has_files = true, .reads_standard = true, .torch_place = "/p/python",
                                 .torch_python = "/q/python", .has_timeout = true, .has_max_memory = true};
    expect(made(&a, "inductor", "eager", say, false), "assay operators --inputs - ",
           " --torch-python /q/python --max-memory 1000000000 --sample-timeout 5 # the recorded inputs come on standard input");
    expect(made(&a, "eager", "eager", say, true), "assay operators --inputs 'a graph.graph' --op relu --start-idx 0 ",
           " --baseline eager --max-memory 1000000000 --sample-timeout 5");
    arena_clear(&a);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(environments_stand_where_they_matter),
        cmocka_unit_test(options_stand_where_they_matter),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
