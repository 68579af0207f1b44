/* SPDX-License-Identifier: Apache-2.0 */
/* The checks between the compiler's passes: what the passes make holds; each way to break it is told. */
#include "engine/compile/verify.h"
#include "engine/graph/graph_text.h"

#include "engine/table_kit.h"

#include <string.h>

/* Two sums, one of which a call and a scan read, a map over both, a part of something joined. */
static const char source[] =
    "graph checked\n%x = input(T([6, 40], f32))\n%w = input(T([40, 40], f32))\n%h = input(T([6, 40], f16))\n%e = exp(%x)\n"
    "%s = sum.dim_IntList(%e, [1], True)\n%n = div.Tensor(%e, %s)\n%p = mm(%n, %w)\n%c = cumsum(%p, 0)\n%f = _to_copy(%h, dtype=f32)\n"
    "%j = cat([%c, %f], 0)\n%t = t(%n)\n%m = clone(%t)\nreturn %j, %n, %m\n";


typedef struct subject {
    arena memory;
    graph g;
    compile_options options;
    compiler c;
    error err;
} subject;

static void make(subject *s, const char *of) {
    *s = (subject){.options = {.n_threads = 2}};
    if (graph_read(&s->memory, table, of, strlen(of), &(bind_options){0}, &s->g, &s->err) != ASSAY_OK) {
        print_error("%s\n", s->err.message);
        assert_true(false);
    }
    assert_int_equal(graph_allocate(&s->g, &device_cpu, NULL), ASSAY_OK);
    s->c = (compiler){.memory = &s->memory, .options = &s->options};
    dag_init(&s->c.g, &s->memory);
    assert_int_equal(capture(&s->c, &s->g, &s->err), ASSAY_OK);
    assert_int_equal(verify_values(&s->c.g, "capture", &s->err), ASSAY_OK);
}

static void plan_steps(subject *s) {
    assert_true(cut_by_joins(&s->c));
    assert_int_equal(schedule(&s->c, &s->err), ASSAY_OK);
    assert_int_equal(verify_steps(&s->c, "schedule", &s->err), ASSAY_OK);
}

static void forget(subject *s) {
    dag_clear(&s->c.g);
    graph_clear(&s->g);
    arena_clear(&s->memory);
}

static void is_told(status result, subject *s, const char *why) {
    assert_int_equal(result, ASSAY_INTERNAL);
    if (strstr(s->err.message, why) == NULL || strstr(s->err.message, "after a pass") == NULL) {
        print_error("expected '%s', got '%s'\n", why, s->err.message);
        assert_true(false);
    }
    forget(s);
}

/* --- values ---------------------------------------------------------------------------------------------------------------- */

static dag_node *first_of(subject *s, primitive kind) {
    for (int i = 0; i < s->c.g.n_nodes; i++) {
        if (s->c.g.nodes[i].kind == kind) {
            return &s->c.g.nodes[i];
        }
    }
    assert_true(false);
    return NULL;
}

static const int64_t other_sizes[TENSOR_MAX_DIMS] = {7, 5, 3, 2};

static void of_another_type(dag_node *n) {
    n->dtype = ASSAY_I8;
}

static void of_other_sizes(dag_node *n) {
    n->sizes = other_sizes;
}

static void of_later(dag_node *n) {
    ((val *)(uintptr_t)n->sources)[0].id = 1000;
}

static void of_too_few(dag_node *n) {
    n->n_sources = 1;
    n->fn = FN_ADD;
}

static void of_another_dimension(dag_node *n) {
    n->dim = 9;
}

typedef struct value_fault {
    primitive kind;
    void (*make)(dag_node *n);
    const char *why;
} value_fault;

static void broken_values_are_told(void **state) {
    (void)state;
    static const value_fault faults[] = {
        {PRIM_MAP, of_another_type, "has another type"},
        {PRIM_MAP, of_other_sizes, "has an operand of other sizes"},
        {PRIM_MAP, of_later, "is made of what is made later"},
        {PRIM_MAP, of_too_few, "has another number of operands"},
        {PRIM_CAST, of_other_sizes, "is a cast to other sizes"},
        {PRIM_REDUCE, of_another_type, "has another type than its reduction"},
        {PRIM_REDUCE, of_other_sizes, "has other sizes than what it leaves"},
        {PRIM_SCAN, of_another_type, "is not like what it runs along"},
        {PRIM_JOIN, of_other_sizes, "joins what differs"},
        {PRIM_JOIN, of_another_type, "joins what differs in type"},
        {PRIM_VIEW, of_another_type, "has another type than what it shows"},
    };
    for (size_t i = 0; i < countof(faults); i++) {
        subject s;
        make(&s, source);
        faults[i].make(first_of(&s, faults[i].kind));
        is_told(verify_values(&s.c.g, "a pass", &s.err), &s, faults[i].why);
    }
    static const char count[] = "graph count\n%g = input(T([], f32))\n%x = input(T([4, 5], f32))\n%t = input(T([4], i64))\n%w = input(T([], f32))\n"
                                "%z = nll_loss_backward(%g, %x, %t, None, 1, -100, %w)\nreturn %z\n";
    subject s;
    make(&s, count);
    of_another_dimension(first_of(&s, PRIM_IOTA));
    is_told(verify_values(&s.c.g, "a pass", &s.err), &s, "is a coordinate that it does not have");
}

static void views_stay_within(void **state) {
    (void)state;
    static const char slice[] = "graph slice\n%x = input(T([8, 8], f32))\n%c = cumsum(%x, 0)\n%v = slice.Tensor(%c, 0, 2, 6)\n%y = exp(%v)\nreturn %y\n";
    subject s;
    make(&s, slice);
    dag_node *view = first_of(&s, PRIM_VIEW);
    index_sum *at = (index_sum *)(uintptr_t)view->view.at;
    at[0] = index_add(&s.c.g.indices, at[0], index_constant(3));
    is_told(verify_values(&s.c.g, "a pass", &s.err), &s, "looks beyond what it shows");
}

/* Of windows that hang over an edge the places are counted from before it. */
static void coordinates_have_no_ends(void **state) {
    (void)state;
    static const char pool[] = "graph pool\n%x = input(T([2, 3, 14, 14], f16))\n"
                               "%y, %i = max_pool2d_with_indices(%x, [3, 3], [2, 2], [1, 1])\nreturn %y, %i\n";
    subject s;
    make(&s, pool);
    plan_steps(&s);
    forget(&s);
}

static void outputs_are_the_graphs(void **state) {
    (void)state;
    subject s;
    make(&s, source);
    s.c.g.outputs[0].value = (val){0};
    is_told(verify_values(&s.c.g, "a pass", &s.err), &s, "is not what the graph says");
}

/* --- steps ----------------------------------------------------------------------------------------------------------------- */

static kernel *kernel_of(subject *s, int which) {
    for (int i = 0; i < s->c.n_steps; i++) {
        if (s->c.steps[i].kernel != NULL && which-- == 0) {
            return s->c.steps[i].kernel;
        }
    }
    assert_true(false);
    return NULL;
}

static expr *load_of(kernel *k) {
    for (int i = 0; i < k->n_exprs; i++) {
        if (k->exprs[i].kind == EXPR_LOAD) {
            return &k->exprs[i];
        }
    }
    assert_true(false);
    return NULL;
}

static int work_buffer(const subject *s) {
    for (int b = s->c.n_buffers - 1; b >= 0; b--) {
        if (s->c.buffers[b].role != BUFFER_INPUT && s->c.buffers[b].step == s->c.n_steps - 1) {
            return b;
        }
    }
    assert_true(false);
    return -1;
}

static void broken_steps_are_told(void **state) {
    (void)state;
    subject s;
    make(&s, source), plan_steps(&s);
    load_of(kernel_of(&s, 0))->at = index_add(&s.c.g.indices, load_of(kernel_of(&s, 0))->at, index_constant(1));
    is_told(verify_steps(&s.c, "a pass", &s.err), &s, "reads beyond its memory");

    make(&s, source), plan_steps(&s);
    load_of(kernel_of(&s, 0))->buffer = work_buffer(&s);
    is_told(verify_steps(&s.c, "a pass", &s.err), &s, "reads what nobody has written");

    make(&s, source), plan_steps(&s);
    kernel_of(&s, 0)->roots[0].buffer = load_of(kernel_of(&s, 0))->buffer;
    is_told(verify_steps(&s.c, "a pass", &s.err), &s, "is stored where nothing may be");

    make(&s, source), plan_steps(&s);
    kernel_of(&s, 0)->exprs[0].variables = (uint64_t)1 << 40;
    is_told(verify_steps(&s.c, "a pass", &s.err), &s, "depends on variables that its kernel does not have");

    make(&s, source), plan_steps(&s);
    kernel *k = kernel_of(&s, 0);
    k->roots[0].expr = k->n_exprs;
    is_told(verify_steps(&s.c, "a pass", &s.err), &s, "stores nothing");

    make(&s, source), plan_steps(&s);
    compiler_step first = s.c.steps[0];
    s.c.steps[0] = s.c.steps[1], s.c.steps[1] = first; /* the product before the quotient that it multiplies */
    is_told(verify_steps(&s.c, "a pass", &s.err), &s, "what nobody has written");
}

/* --- loops and memory -------------------------------------------------------------------------------------------------------- */

static void arrange(subject *s) {
    plan_steps(s);
    for (int i = 0; i < s->c.n_steps; i++) {
        if (s->c.steps[i].kernel != NULL) {
            assert_true(arrange_loops(&s->c, s->c.steps[i].kernel, LOOPS_PLAIN));
            s->c.steps[i].variants[0] = s->c.steps[i].kernel;
            s->c.steps[i].n_variants = 1;
        }
    }
    assert_int_equal(verify_loops(&s->c, "loops", &s->err), ASSAY_OK);
}

static void broken_loops_are_told(void **state) {
    (void)state;
    subject s;
    make(&s, source), arrange(&s);
    kernel *k = kernel_of(&s, 0);
    k->loops[k->n_loops++] = k->tasks[0];
    is_told(verify_loops(&s.c, "a pass", &s.err), &s, "goes over a variable twice");

    make(&s, source), arrange(&s);
    k = kernel_of(&s, 0);
    k->n_loops = k->n_tasks = 0;
    k->vector = -1;
    is_told(verify_loops(&s.c, "a pass", &s.err), &s, "leaves out a variable");

    make(&s, source), arrange(&s);
    s.c.steps[0].n_variants = 0;
    is_told(verify_loops(&s.c, "a pass", &s.err), &s, "has no kernel");
}

static void memory_still_in_use_is_told(void **state) {
    (void)state;
    static const char scans[] = "graph scans\n%x = input(T([64, 32], f32))\n%a = cumsum(%x, 0)\n%b = cumsum(%a, 1)\n%c = cumsum(%b, 0)\n"
                                "%d = cumsum(%c, 1)\n%e = add.Tensor(%d, %a)\nreturn %e\n";
    subject s;
    make(&s, scans), arrange(&s);
    for (int b = 0; b < s.c.n_buffers; b++) {
        s.c.buffers[b].memory = 0;
    }
    compile_memory one = {64 * 32 * 4, -1};
    s.c.memories = &one;
    s.c.n_memories = 1;
    assert_int_equal(verify_memory(&s.c, 0, NULL, "nothing", &s.err), ASSAY_OK);
    int n = 0;
    for (int b = 0; b < s.c.n_buffers; b++) { /* all of them, a as well, which is read at the end */
        bool is_work = s.c.buffers[b].role == BUFFER_WORK;
        s.c.buffers[b].memory = is_work ? 1 : 0;
        n += is_work;
    }
    assert_true(n >= 3);
    is_told(verify_memory(&s.c, 0, NULL, "a pass", &s.err), &s, "overwrites what is still needed");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(broken_values_are_told),      cmocka_unit_test(views_stay_within),
        cmocka_unit_test(coordinates_have_no_ends),    cmocka_unit_test(outputs_are_the_graphs),
        cmocka_unit_test(broken_steps_are_told),       cmocka_unit_test(broken_loops_are_told),
        cmocka_unit_test(memory_still_in_use_is_told),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
