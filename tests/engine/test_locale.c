/* SPDX-License-Identifier: Apache-2.0 */
/* The engine in a process whose locale writes 0,5: signatures' defaults, graphs' literals, what is printed and emitted. */
#include "assay/assay.h"
#include "engine/compile/compile.h"
#include "engine/graph/graph_text.h"

#include "comma_locale.h"
#include "unit.h"

static const char source[] = "graph halves\n%x = input(T([64, 256], f32), low=-0.5, high=2.25)\n%y = mul.Tensor(%x, 0.125)\n"
                             "%s = leaky_relu(%y)\n%n, %m, %r = native_layer_norm(%s, [256], None, None, 1.5e-05)\nreturn %n\n";

/* What the graph is printed and emitted as, one after the other. */
static char *written(arena *memory) {
    op_table *table = NULL;
    graph g;
    compiled_program program;
    error err = {0};
    text printed = {0};
    assert_int_equal(op_table_new(&table, &err), ASSAY_OK);
    if (graph_read(memory, table, source, sizeof source - 1, &(bind_options){0}, &g, &err) != ASSAY_OK) {
        print_error("%d:%d: %s\n", err.line, err.column, err.message);
        assert_true(false);
    }
    assert_int_equal(graph_allocate(&g, &device_cpu, &err), ASSAY_OK);
    assert_int_equal(compile_graph(memory, &g, &(compile_options){.n_threads = 1}, &program, &err), ASSAY_OK);
    graph_print(&g, &printed);
    char *both = arena_format(memory, "%s%s", text_get(&printed), program.body);
    text_clear(&printed);
    graph_clear(&g);
    op_table_free(table);
    return both;
}

static void defaults_hold(void) {
    assay_session *session = NULL;
    const assay_op *leaky_relu = NULL;
    assay_tensor *x = NULL, *y = NULL;
    assert_int_equal(assay_session_new(&session, NULL), ASSAY_OK);
    assert_int_equal(assay_op_find(session, "leaky_relu", &leaky_relu, NULL), ASSAY_OK);
    assert_int_equal(assay_tensor_new(ASSAY_F32, 0, NULL, NULL, &x, NULL), ASSAY_OK);
    *(float *)assay_tensor_data(x) = -2;
    assert_int_equal(assay_call(session, leaky_relu, &(assay_value){.kind = ASSAY_VALUE_TENSOR, .tensor = x}, 1, &y, 1, NULL), ASSAY_OK);
    assert_true(*(float *)assay_tensor_data(y) == -2 * 0.01F);
    assay_tensor_free(y);
    assay_tensor_free(x);
    assay_session_free(session);
}

static void a_comma_changes_nothing(void **state) {
    arena memory = {0};
    (void)state;
    char *before = written(&memory);
    defaults_hold();
    if (!enter_comma_locale()) {
        arena_clear(&memory);
        print_message("skipped: no locale writes 0,5\n");
        skip();
    }
    assert_string_equal(written(&memory), before);
    defaults_hold();
    arena_clear(&memory);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_comma_changes_nothing)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
