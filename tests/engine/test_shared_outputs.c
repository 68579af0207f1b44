/* SPDX-License-Identifier: Apache-2.0 */
/* Plans of one graph that write the same memory, in turns: each computes everything anew, whoever wrote there before. And when
   the tuner takes one candidate for faster than another. */
#include "engine/backend/backend.h"
#include "engine/backend/race.h"
#include "engine/backend/tune_kept.h"
#include "engine/graph/exact.h"
#include "engine/graph/graph_text.h"

#include "unit.h"

#include <omp.h>
#include <string.h>

static op_table *table;

static int open_all(void **state) {
    (void)state;
    return op_table_new(&table, NULL) == ASSAY_OK ? 0 : 1;
}

static int close_all(void **state) {
    (void)state;
    op_table_free(table);
    return 0;
}

static const char *const names[] = {"eager", "eager:again", "compiled", "compiled:nofuse", "compiled:autotune", "reference"};
enum { BACKENDS = sizeof names / sizeof names[0] };

typedef struct shared_case {
    const char *text;
    int n_shared; /* outputs that need memory of their own, and that all plans have there */
} shared_case;

static const shared_case cases[] = {
    {"%x = input(T([70, 33], f32))\n%y = exp(%x)\nreturn %y\n", 1},
    {"%x = input(T([1], f32))\n%y = exp(%x)\nreturn %y\n", 1},
    {"%x = input(T([0, 4], f32))\n%y = exp(%x)\nreturn %y\n", 1},
    {"%x = input(T([40, 24], f32, stride=(1, 40)))\n%y = relu(%x)\nreturn %y\n", 1},
    /* one that a later node reads, and one that a library makes */
    {"%x = input(T([64, 48], f32))\n%w = input(T([48, 32], f32))\n%p = mm(%x, %w)\n%y = tanh(%p)\nreturn %p, %y\n", 2},
    {"%x = input(T([37, 96], f32))\n%w = input(T([96], f32))\n%b = input(T([96], f32))\n"
     "%y, %m, %r = native_layer_norm(%x, [96], %w, %b, 1e-05)\nreturn %m, %y, %r\n",
     3},
    {"%x = input(T([20, 30], bf16))\n%i = input(T([20, 30], i64), low=0.0, high=19.0)\n%g = gather(%x, 0, %i)\nreturn %g\n", 1},
    /* an input's own memory among them, before the library's and the compiler's */
    {"%v = input(T([7], f16))\n%s, %t = split.Tensor(%v, 4, 0)\n%a = input(T([3, 2], f16))\n%b = input(T([2, 17], f16))\n%p = mm(%a, %b)\n"
     "%x = input(T([], f32))\n%y = relu(%x)\nreturn %t, %p, %y\n",
     2},
    {"%x = input(T([6, 5], f32))\n%v = select.int(%x, 0, 2)\n%y = exp(%x)\n%w = transpose.int(%x, 0, 1)\n%z = sum.default(%x)\n"
     "return %v, %y, %w, %z\n",
     2},
};

static bool is_an_input(const graph *g, const tensor *t) {
    bool any = false;
    for (int i = 0; i < g->n_inputs; i++) {
        any |= g->inputs[i].value->storage == t->storage;
    }
    return any;
}

static void compare(const graph *g, const exact *expected, plan *p, const char *name, const char *graph_text) {
    for (int i = 0; i < g->n_outputs; i++) {
        tensor t;
        agreement a;
        assert_int_equal(p->output(p, i, &t, NULL), ASSAY_OK);
        exact_compare(expected, i, &t, &a);
        if (!a.agrees) {
            print_error("%s%s, output %d\n", graph_text, name, i);
        }
        assert_true(a.agrees);
        if (!is_an_input(g, &t)) {
            agree_poison(&t);
        }
        tensor_clear(&t);
    }
}

static int count_shared(plan *p, const output_memory *m) {
    int shared = 0;
    for (int i = 0; i < m->n; i++) {
        tensor t;
        assert_int_equal(p->output(p, i, &t, NULL), ASSAY_OK);
        shared += t.storage != NULL && t.storage == m->of[i];
        tensor_clear(&t);
    }
    return shared;
}

static void check(const shared_case *c) {
    arena memory = {0};
    text source = {0};
    graph g;
    exact expected;
    output_memory m = {0};
    backend *backends[BACKENDS];
    plan *plans[BACKENDS];
    error err = {0};
    text_addf(&source, "graph shared\n%s", c->text);
    bind_options as_written = {.dtype = DTYPE_AS_RECORDED};
    assert_int_equal(graph_read(&memory, table, source.data, source.length, &as_written, &g, &err), ASSAY_OK);
    assert_int_equal(graph_allocate(&g, &device_cpu, NULL), ASSAY_OK);
    graph_seed(&g, 7);
    assert_int_equal(graph_fill(&g, 7, NULL), ASSAY_OK);
    assert_int_equal(exact_make(&memory, &g, NULL, 1, &expected, &err), ASSAY_OK);
    assert_int_equal(output_memory_make(&m, &g, &err), ASSAY_OK);
    for (int b = 0; b < BACKENDS; b++) {
        assert_int_equal(backend_open(table, names[b], &backends[b], &err), ASSAY_OK);
        assert_string_equal(backends[b]->name, names[b]);
        backends[b]->outputs = &m;
        assert_int_equal(backends[b]->prepare(backends[b], &g, &plans[b], &err), ASSAY_OK);
        backends[b]->outputs = NULL;
    }
    for (int b = 0; b + 1 < BACKENDS; b++) { /* the reference makes its own, as plug-ins do */
        assert_int_equal(count_shared(plans[b], &m), c->n_shared);
    }
    output_memory_clear(&m); /* plans keep hold of it */
    for (int turn = 0; turn < 2 * BACKENDS; turn++) {
        int b = turn % BACKENDS;
        assert_int_equal(plans[b]->run(plans[b], &err), ASSAY_OK);
        compare(&g, &expected, plans[b], names[b], c->text);
    }
    for (int b = 0; b < BACKENDS; b++) {
        plans[b]->release(plans[b]);
        backends[b]->close(backends[b]);
    }
    graph_clear(&g);
    text_clear(&source);
    arena_clear(&memory);
}

static void plans_write_the_same_memory(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        check(&cases[i]);
    }
}

/* An input that is written in place and a view of it have their memory; a view of what is computed is no output's own. */
static void what_has_memory_needs_none(void **state) {
    (void)state;
    static const char source[] = "graph places\n%x = input(T([8, 4], f32))\n%y = add_.Tensor(%x, 1)\n%t = transpose.int(%x, 0, 1)\n"
                                 "%z = exp(%t)\nreturn %y, %t, %z\n";
    arena memory = {0};
    graph g;
    output_memory m = {0}, adopted = {0};
    error err = {0};
    assert_int_equal(graph_read(&memory, table, source, sizeof source - 1, &(bind_options){.dtype = DTYPE_F32}, &g, &err), ASSAY_OK);
    assert_int_equal(graph_allocate(&g, &device_cpu, NULL), ASSAY_OK);
    assert_int_equal(output_memory_make(&m, &g, &err), ASSAY_OK);
    assert_true(m.n == 3 && m.of[0] == NULL && m.of[1] == NULL && m.of[2] != NULL);
    assert_int_equal(output_memory_find(&g, g.outputs[2]), 2);
    assert_int_equal(output_memory_find(&g, g.inputs[0].value), -1);
    /* Too little room, or none: memory of one's own. */
    tensor large, own;
    assert_int_equal(tensor_init(&large, ASSAY_F64, 1, (int64_t[]){4 * 8 + 1}, NULL), ASSAY_OK);
    tensor_init(&own, ASSAY_F32, 1, (int64_t[]){3}, NULL);
    assert_int_equal(output_memory_take(&m, 2, 0, &large, NULL), ASSAY_OK);
    assert_int_equal(output_memory_take(NULL, 2, 0, &own, NULL), ASSAY_OK);
    assert_true(large.storage != m.of[2] && own.storage != NULL);
    /* One memory is one output's at most. */
    assert_int_equal(output_memory_init(&adopted, &g, NULL), ASSAY_OK);
    output_memory_adopt(&adopted, 0, &large);
    output_memory_adopt(&adopted, 1, &large);
    output_memory_adopt(&adopted, 0, &own);
    assert_true(adopted.of[0] == large.storage && adopted.of[1] == NULL);
    tensor_clear(&large);
    tensor_clear(&own);
    output_memory_clear(&adopted);
    output_memory_clear(&m);
    graph_clear(&g);
    arena_clear(&memory);
}

static size_t into_page(const tensor *t) {
    return (uintptr_t)tensor_data(t) % 4096;
}

/* Inputs begin on a page, results at a place each, the same for whoever computes them, made by the lab or not; large ones as well. */
static void results_lie_apart(void **state) {
    (void)state;
    static const char *const sources[] = {"graph apart\n%x = input(T([64, 32], f32))\n%y = exp(%x)\n%z = sin(%y)\nreturn %y, %z\n",
                                          "graph apart\n%x = input(T([1024, 520], f32))\n%y = exp(%x)\n%z = sin(%y)\nreturn %y, %z\n"};
    for (int large = 0; large < 2; large++) {
        arena memory = {0};
        graph g;
        output_memory m = {0};
        error err = {0};
        assert_int_equal(graph_read(&memory, table, sources[large], strlen(sources[large]), &(bind_options){.dtype = DTYPE_F32}, &g, &err),
                         ASSAY_OK);
        assert_int_equal(graph_allocate(&g, &device_cpu, NULL), ASSAY_OK);
        assert_int_equal(graph_fill(&g, 7, NULL), ASSAY_OK);
        assert_int_equal(output_memory_make(&m, &g, &err), ASSAY_OK);
        assert_int_equal(into_page(g.inputs[0].value), 0);
        assert_int_equal((uintptr_t)m.of[0]->data % 4096, 38 * 64);
        assert_int_equal((uintptr_t)m.of[1]->data % 4096, 2 * 38 * 64 - 4096);
        for (int b = 0; b < BACKENDS; b++) {
            backend *of = NULL;
            plan *p = NULL;
            assert_int_equal(backend_open(table, names[b], &of, &err), ASSAY_OK);
            assert_int_equal(of->prepare(of, &g, &p, &err), ASSAY_OK);
            assert_int_equal(p->run(p, &err), ASSAY_OK);
            for (int i = 0; i < 2 && strcmp(names[b], "reference") != 0; i++) {
                tensor t;
                assert_int_equal(p->output(p, i, &t, NULL), ASSAY_OK);
                assert_int_equal(into_page(&t), (uintptr_t)m.of[i]->data % 4096);
                tensor_clear(&t);
            }
            p->release(p);
            of->close(of);
        }
        output_memory_clear(&m);
        graph_clear(&g);
        arena_clear(&memory);
    }
}

static void again_is_for_names_alone(void **state) {
    (void)state;
    backend *b = NULL;
    error err = {0};
    assert_int_equal(backend_open(table, "eagr:again", &b, &err), ASSAY_NOT_FOUND);
    assert_non_null(strstr(err.message, "eager"));
    assert_int_equal(backend_open(table, ":again", &b, &err), ASSAY_NOT_FOUND);
    assert_null(b);
}

/* Three rounds of four, by more than 2%; five of eight by a fifth; or ahead in most of them. */
static void doubt_is_for_the_first(void **state) {
    (void)state;
    static const double first[] = {1, 1, 1, 1, 1, 1, 1, 1}, equal[] = {.99, .99, .99, .99, .99, .99, .99, .99};
    static const double often[] = {.5, .9, .9, 2, .9, .9, .9, 3}, half[] = {.5, .5, .5, .5, 1, 1, 1, 1};
    assert_false(race_is_faster(first, first, 8));
    assert_false(race_is_faster(first, equal, 8));
    assert_true(race_is_faster(first, often, 8));
    assert_false(race_is_faster(first, half, 8));
    static const double ahead[] = {.9, .9, .9, .9, .99, .99, .99, 1.2}, behind[] = {.9, .9, .9, .9, .99, .99, 1.2, 1.2};
    assert_true(race_is_faster(first, ahead, 8));
    assert_false(race_is_faster(first, behind, 8));
    /* What stretches rounds does not hide one that takes half the time in the others. */
    static const double stretched[] = {.5, .5, 5, .5, 5, .5, .5, 5}, little[] = {.9, .9, 5, .9, 5, .9, .9, 5};
    assert_true(race_is_faster(first, stretched, 8));
    assert_false(race_is_faster(first, little, 8));
    /* Nor does it make one faster that is slower than its rival in the rounds that nothing stretches. */
    static const double two_threads[] = {2, 2, 2, .6, 2, 2, 2, .6}, one_thread[] = {1, 1, 1, 1, 1, 1, 1, 1};
    assert_false(race_is_faster(two_threads, one_thread, 8));
    static const double never[] = {2, 2, 2, 2, 2, 2, 2, 2};
    assert_true(race_is_faster(never, one_thread, 8));
}

/* Of fewer threads one has to be faster before and after the rest. */
static void fewer_threads_win_twice(void **state) {
    (void)state;
    static const double one[] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
    static const double slower[] = {1.1, 1.1, 1.1, 1.2, 1.1, 1.1, 1.1, 1.1, 1.1, 1.1, 1.2, 1.1};
    static const double came_back[] = {2, 2, 2, 2, 2, 2, 2, 2, .6, .6, .6, .6}, in_between[] = {2, 2, 2, 2, 2, 2, 2, 2, .6, 2, 2, 2};
    static const double went[] = {.6, .6, .6, .6, .6, .6, .6, .6, 2, 2, 2, 2};
    assert_true(race_is_faster_twice(slower, one, 8, 4));
    assert_true(race_is_faster(came_back, one, 8));
    assert_false(race_is_faster_twice(came_back, one, 8, 4));
    assert_false(race_is_faster_twice(in_between, one, 8, 4));
    assert_false(race_is_faster_twice(went, one, 8, 4));
}

/* One that is faster in quiet moments alone does not win, and yet the other has not either. */
static void quiet_moments_leave_it_open(void **state) {
    (void)state;
    static const double best[] = {4, 4, 4, 4, 4, 4, 4, 4}, quiet[] = {5, 3, 5, 5, 5, 3, 5, 5}, once[] = {5, 3, 5, 5, 5, 5, 5, 5},
                        near[] = {3.9, 3.9, 3.9, 3.9, 3.9, 3.9, 3.9, 3.9};
    assert_false(race_is_faster(best, quiet, 8));
    assert_true(race_is_open(best, quiet, 8));
    assert_false(race_is_open(best, once, 8)); /* a single round is chance */
    assert_false(race_is_open(best, near, 8));
    assert_false(race_is_open(best, best, 8));
}

/* A kept choice of one thread, which another program may have decided, is raced once more; an open one is none. Which of both then
   wins is this moment's affair: the record says what runs. */
static void kept_choices_are_asked_again(void **state) {
    (void)state;
    if (omp_get_max_threads() < 2 || omp_get_num_procs() < 2) {
        skip();
    }
    static const char source[] = "graph kept\n%x = input(T([512, 4096], f32))\n%y = exp(%x)\n%z = tanh(%y)\n%a = erf(%z)\nreturn %a\n";
    arena memory = {0};
    graph g;
    bind_options as_written = {.dtype = DTYPE_AS_RECORDED};
    assert_int_equal(graph_read(&memory, table, source, strlen(source), &as_written, &g, NULL), ASSAY_OK);
    assert_int_equal(graph_allocate(&g, &device_cpu, NULL), ASSAY_OK);
    assert_int_equal(graph_fill(&g, 7, NULL), ASSAY_OK);
    backend *b = NULL;
    assert_int_equal(backend_open(table, "compiled:autotune", &b, NULL), ASSAY_OK);
    compiled_backend *own = (compiled_backend *)b;
    compiled_plan *kept = NULL;
    assert_int_equal(compiled_prepare(own, &g, &own->options, &kept, NULL), ASSAY_OK);
    assert_int_equal(kept->n_steps, 1);
    kept->steps[0].threads = 1;
    assert_int_equal(tune_keep(kept, &(settled){0}, NULL), ASSAY_OK);
    kept->base.release(&kept->base);
    settled found = {0};
    assert_int_equal(compiled_prepare(own, &g, &own->options, &kept, NULL), ASSAY_OK);
    assert_true(tune_recall(kept, &found)); /* else the cache cannot be written */
    assert_int_equal(kept->steps[0].threads, 1);
    assert_int_equal(tune_keep(kept, &(settled){.is_open = true}, NULL), ASSAY_OK);
    kept->steps[0].threads = 0;
    assert_false(tune_recall(kept, &found)); /* to be tuned anew */
    assert_int_equal(kept->steps[0].threads, 0);
    kept->steps[0].threads = 1;
    assert_int_equal(tune_keep(kept, &(settled){0}, NULL), ASSAY_OK);
    kept->base.release(&kept->base);
    plan *p = NULL;
    assert_int_equal(b->prepare(b, &g, &p, NULL), ASSAY_OK);
    assert_int_equal(((compiled_plan *)p)->steps[0].threads == 1, strstr(p->note, "on 1") != NULL);
    p->release(p);
    b->close(b);
    graph_clear(&g);
    arena_clear(&memory);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plans_write_the_same_memory),
        cmocka_unit_test(results_lie_apart),
        cmocka_unit_test(what_has_memory_needs_none),
        cmocka_unit_test(again_is_for_names_alone),
        cmocka_unit_test(doubt_is_for_the_first),
        cmocka_unit_test(fewer_threads_win_twice),
        cmocka_unit_test(quiet_moments_leave_it_open),
        cmocka_unit_test(kept_choices_are_asked_again),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
