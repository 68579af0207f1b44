/* SPDX-License-Identifier: Apache-2.0 */
/* Graphs of a few calls whose results the compiler stores past the caches, small as they are, against the reference in double. */
#ifndef TESTS_ENGINE_FLOW_KIT_H
#define TESTS_ENGINE_FLOW_KIT_H

#include "compiled_kit.h"

#include "engine/graph/exact.h"
#include "engine/graph/graph_text.h"

#include <math.h>
#include <string.h>

static inline int open_all(void **state) {
    (void)state;
    compile_options *o = open_compiled();
    if (o == NULL) {
        return 1;
    }
    o->streams_all = true;
    o->asks_far = o->few_in_turn = o->no_twins = o->few_stores = o->divides = false; /* whatever is faster on this machine */
    return 0;
}

typedef struct flow_case {
    const char *inputs, *call; /* of x, and which results: y, or what it names */
    const char *outputs;
} flow_case;

#define NORM_INPUTS(n) "%w = input(T([" n "], f32))\n%b = input(T([" n "], f32))\n"

static inline void fill_rarely(graph *g, float value) {
    const tensor *x = graph_find_value(g, "x");
    float *elements = (float *)tensor_data(x);
    if (x->dtype == ASSAY_F32) {
        elements[3] = value;
        elements[tensor_numel(x) - 1] = value;
    }
}

typedef void (*filler)(float *elements, int64_t n);

/* fill: of x, where it is of f32 */
static inline void check_filled(const flow_case *c, dtype_mode mode, int threads, float rare, filler fill) {
    arena memory = {0};
    text source = {0};
    graph g;
    exact expected;
    plan *p;
    error err = {0};
    text_addf(&source, "graph flow\n%s%sreturn %s\n", c->inputs, c->call, c->outputs);
    assert_int_equal(graph_read(&memory, table, source.data, source.length, &(bind_options){.dtype = mode}, &g, &err), ASSAY_OK);
    assert_int_equal(graph_allocate(&g, &device_cpu, NULL), ASSAY_OK);
    graph_seed(&g, 7);
    assert_int_equal(graph_fill(&g, 7, NULL), ASSAY_OK);
    if (rare != 0) {
        fill_rarely(&g, rare);
    }
    if (fill != NULL) {
        const tensor *x = graph_find_value(&g, "x");
        fill((float *)tensor_data(x), tensor_numel(x));
    }
    assert_int_equal(exact_make(&memory, &g, NULL, 1, &expected, &err), ASSAY_OK);
    assert_int_equal(compiled->prepare(compiled, &g, &p, &err), ASSAY_OK);
    compiled_plan *steps = (compiled_plan *)p;
    for (int i = 0; i < steps->n_steps; i++) {
        steps->steps[i].threads = threads;
    }
    for (int run = 0; run < 2; run++) {
        assert_int_equal(p->run(p, &err), ASSAY_OK);
        for (int i = 0; i < g.n_outputs; i++) {
            tensor t;
            agreement a;
            assert_int_equal(p->output(p, i, &t, NULL), ASSAY_OK);
            exact_compare(&expected, i, &t, &a);
            if (!a.agrees) {
                print_error("%s%d threads, output %d is %.9g at %lld, expected %.9g (tolerance %.3g)\n", text_get(&source), threads, i,
                            a.actual_at_worst, (long long)a.worst, a.expected_at_worst, a.tolerance_at_worst);
            }
            assert_true(a.agrees);
            agree_poison(&t);
            tensor_clear(&t);
        }
    }
    p->release(p);
    graph_clear(&g);
    text_clear(&source);
    arena_clear(&memory);
}

static inline void check(const flow_case *c, dtype_mode mode, int threads, float rare) {
    check_filled(c, mode, threads, rare, NULL);
}

/* Whether a word stands in what is emitted for it. */
static inline bool is_in_text(const flow_case *c, const char *word) {
    arena memory = {0};
    text source = {0};
    graph g;
    plan *p;
    text_addf(&source, "graph flow\n%s%sreturn %s\n", c->inputs, c->call, c->outputs);
    assert_int_equal(graph_read(&memory, table, source.data, source.length, &(bind_options){0}, &g, NULL), ASSAY_OK);
    assert_int_equal(graph_allocate(&g, &device_cpu, NULL), ASSAY_OK);
    assert_int_equal(compiled->prepare(compiled, &g, &p, NULL), ASSAY_OK);
    bool is_there = strstr(((compiled_plan *)p)->program.body, word) != NULL;
    p->release(p);
    graph_clear(&g);
    text_clear(&source);
    arena_clear(&memory);
    return is_there;
}

#endif
