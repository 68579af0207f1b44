/* SPDX-License-Identifier: Apache-2.0 */
/* Graphs compiled in every way that a processor may be the better for, run in every arrangement of their loops, and compared with the reference
   in double. */
#ifndef TESTS_ENGINE_GRAPH_WAYS_H
#define TESTS_ENGINE_GRAPH_WAYS_H

#include "engine/graph_cases.h"

/* Each way to arrange its loops, on one thread and on three. */
static inline void check_variants(compiled_plan *p, graph_case *c) {
    int most = 1;
    exact expected;
    assert_int_equal(exact_make(&c->memory, &c->g, NULL, 1, &expected, NULL), ASSAY_OK);
    for (int variant = 0; variant < most; variant++) {
        for (int threads = 1; threads <= 3; threads += 2) {
            for (int s = 0; s < p->n_steps; s++) {
                int n = p->steps[s].described->n_variants;
                most = n > most ? n : most;
                p->steps[s].threads = threads;
                if (n > 0) {
                    assert_int_equal(compiled_use_variant(p, s, variant % n, NULL), ASSAY_OK);
                }
            }
            case_compare_with(c, &expected, &p->base);
        }
    }
}

/* Past the caches, far ahead and with few stores, with few rows in turn, in pairs. */
enum { WAYS = 4 };

/* Writes graph i, where there is one; returns how many there are. */
typedef size_t case_source(size_t i, char *source);
/* Has a look at what became of graph i. */
typedef void case_look(size_t i, plan *p);

/* Sets what a test asks for besides. */
typedef void case_options(compile_options *o);

/* One way; more and look may be NULL. */
static inline void check_way_with(op_table *table, int way, case_options *more, case_source *source_of, case_look *look) {
    static graph_cases cases;
    char source[CASE_SOURCE_BYTES];
    backend *b;
    cases = (graph_cases){.table = table};
    assert_int_equal(backend_compiled_open(table, "compiled", &b, NULL), ASSAY_OK);
    compile_options *o = &((compiled_backend *)b)->options;
    o->n_threads = 2;
    o->variants = way == 0 || way == 3;
    o->streams_all = way > 0;
    o->asks_far = o->few_stores = way == 1;
    o->few_in_turn = way == 2;
    o->no_twins = way != 3;
    if (more != NULL) {
        more(o);
    }
    for (size_t i = 0; i < source_of(i, source); i++) {
        plan *p;
        assert_int_equal(b->prepare(b, cases_add(&cases, source), &p, NULL), ASSAY_OK);
        if (look != NULL) {
            look(i, p);
        }
        check_variants((compiled_plan *)p, &cases.list[i]);
        p->release(p);
    }
    cases_forget(&cases);
    b->close(b);
}

static inline void check_way(op_table *table, int way, case_source *source_of, case_look *look) {
    check_way_with(table, way, NULL, source_of, look);
}

#endif
