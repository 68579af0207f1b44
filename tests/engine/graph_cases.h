/* SPDX-License-Identifier: Apache-2.0 */
/* Many small graphs compiled as one module, as compiling is what takes the time, and compared with the reference in double. */
#ifndef TESTS_ENGINE_GRAPH_CASES_H
#define TESTS_ENGINE_GRAPH_CASES_H

#include "engine/backend/compiled_plan.h"
#include "engine/graph/exact.h"
#include "engine/graph/graph_text.h"

#include "unit.h"

#include <stdio.h>
#include <string.h>

enum { CASES_MOST = 256, CASE_SOURCE_BYTES = 1024 };

typedef struct graph_case {
    arena memory;
    graph g;
    char source[CASE_SOURCE_BYTES];
} graph_case;

typedef struct graph_cases {
    op_table *table;
    int n;
    graph_case list[CASES_MOST];
    plan *plans[CASES_MOST];
} graph_cases;

/* Appends the graph of this text, its inputs filled: they may be changed until it is compared. */
static inline graph *cases_add(graph_cases *cases, const char *source) {
    assert_true(cases->n < CASES_MOST);
    graph_case *c = &cases->list[cases->n++];
    error err = {0};
    c->memory = (arena){0};
    snprintf(c->source, sizeof c->source, "%s", source);
    if (graph_read(&c->memory, cases->table, source, strlen(source), &(bind_options){0}, &c->g, &err) != ASSAY_OK) {
        print_error("%d:%d: %s in\n%s", (int)err.line, (int)err.column, err.message, source);
        assert_true(false);
    }
    assert_int_equal(graph_allocate(&c->g, &device_cpu, NULL), ASSAY_OK);
    graph_seed(&c->g, 7);
    assert_int_equal(graph_fill(&c->g, (uint64_t)(cases->n - 1), NULL), ASSAY_OK);
    return &c->g;
}

/* Runs what became of a case and compares every output with what is expected. */
static inline void case_compare_with(const graph_case *c, const exact *expected, plan *p) {
    assert_int_equal(p->run(p, NULL), ASSAY_OK);
    for (int k = 0; k < c->g.n_outputs; k++) {
        tensor t;
        agreement a;
        assert_int_equal(p->output(p, k, &t, NULL), ASSAY_OK);
        exact_compare(expected, k, &t, &a);
        if (!a.agrees) {
            print_error("output %d is %.9g at %d, expected %.9g (tolerance %g), of\n%s", k, a.actual_at_worst, (int)a.worst,
                        a.expected_at_worst, a.tolerance_at_worst, c->source);
        }
        assert_true(a.agrees);
        tensor_clear(&t);
    }
}

static inline void case_compare(graph_case *c, plan *p) {
    exact expected;
    assert_int_equal(exact_make(&c->memory, &c->g, NULL, 1, &expected, NULL), ASSAY_OK);
    case_compare_with(c, &expected, p);
}

/* Compiles all by the backend, which is a compiled one, and compares each; no operator may be left to a library as a whole. */
static inline void cases_check(graph_cases *cases, backend *b) {
    const graph *graphs[CASES_MOST];
    error err = {0};
    for (int i = 0; i < cases->n; i++) {
        graphs[i] = &cases->list[i].g;
    }
    if (compiled_prepare_many(b, graphs, cases->n, BUILD_TO_TEST, cases->plans, &err) != ASSAY_OK) {
        print_error("%s\n", err.message);
        assert_true(false);
    }
    for (int i = 0; i < cases->n; i++) {
        plan *p = cases->plans[i];
        assert_false(p->is_fallback);
        assert_true(((compiled_plan *)p)->program.n_steps > 0);
        case_compare(&cases->list[i], p);
        p->release(p);
    }
}

/* Appends the graph of this text and compares what the backend, any one, makes of it. The plan is the caller's, who releases it. */
static inline plan *cases_check_one(graph_cases *cases, backend *b, const char *source) {
    plan *p = NULL;
    error err = {0};
    const graph *g = cases_add(cases, source);
    if (b->prepare(b, g, &p, &err) != ASSAY_OK) {
        print_error("%s: %s of\n%s", b->name, err.message, source);
        assert_true(false);
    }
    case_compare(&cases->list[cases->n - 1], p);
    return p;
}

/* A check by eager's kernels, then by compiled ones. */
static inline void cases_by_both(op_table *table, void (*check)(backend *b)) {
    backend *b;
    assert_int_equal(backend_eager_open(table, &b, NULL), ASSAY_OK);
    check(b);
    b->close(b);
    assert_int_equal(backend_compiled_open(table, "compiled", &b, NULL), ASSAY_OK);
    check(b);
    b->close(b);
}

static inline void cases_forget(graph_cases *cases) {
    for (int i = 0; i < cases->n; i++) {
        graph_clear(&cases->list[i].g);
        arena_clear(&cases->list[i].memory);
    }
    cases->n = 0;
}

#endif
