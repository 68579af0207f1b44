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
                                 .timeout_s = 30, .max_memory_bytes = 1e9, .repro = say};
    const operators_point p = {.recorded = &recorded, .in = &in, .sample_index = 3};
    const operators_backend both[] = {{.name = backend, .argument = backend, .is_baseline = strcmp(backend, baseline) == 0},
                                      {.name = baseline, .argument = baseline, .is_baseline = strcmp(backend, baseline) != 0}};
    const char *all = repro_make(a, &o, &p, both, 0);
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
           " --torch-python /q/python --max-memory 1000000000 --sample-timeout 30 # the recorded inputs come on standard input");
    expect(made(&a, "eager", "eager", say, true), "assay operators --inputs 'a graph.graph' --op relu --start-idx 0 ",
           " --baseline eager --max-memory 1000000000 --sample-timeout 30");
    arena_clear(&a);
}

/* A plug-in's path says nothing of the name that it gives itself. */
static void backends_are_asked_for_as_they_were(void **state) {
    (void)state;
    arena a = {0};
    static const inputs_file file = {.path = "a.txt", .name = "a"};
    static const char *const arguments[] = {"eager", "./my_eager.so", "./p q.so"};
    const operators_backend backends[] = {{.name = "eager", .argument = arguments[0]},
                                          {.name = "example", .argument = arguments[1]},
                                          {.name = "torch", .argument = arguments[2], .is_baseline = true}};
    const input in = {.file = &file};
    const inputs_operator recorded = {.name = "aten.relu.default"};
    const operators_options o = {.backends = arguments, .n_backends = 3, .baseline = "./p q.so", .check_accuracy = true,
                                 .repro = {.inputs = "--inputs a.txt", .torch_place = "/p/python"}};
    const operators_point p = {.recorded = &recorded, .in = &in};
    static const char *const asked[] = {" --backend eager --repeats 0 ", " --backend ./my_eager.so --repeats 0 ", " --backend './p q.so' --repeats 0 "};
    for (size_t b = 0; b < 3; b++) {
        const char *all = repro_make(&a, &o, &p, backends, b);
        assert_non_null(strstr(all, asked[b]));
        assert_non_null(strstr(all, b == 2 ? " --seed 0 --baseline torch" : " --seed 0 --backend './p q.so' --baseline torch"));
        assert_null(strstr(all, "ASSAY_TORCH_PYTHON")); /* it is not the one that is looked for */
    }
    arena_clear(&a);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(environments_stand_where_they_matter),
        cmocka_unit_test(options_stand_where_they_matter),
        cmocka_unit_test(backends_are_asked_for_as_they_were),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
