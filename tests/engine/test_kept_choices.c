/* SPDX-License-Identifier: Apache-2.0 */
/* What the tuner has kept: all of it is used or nothing, what others may have decided is asked again, and what is not kept is told. */
#include "engine/backend/backend.h"
#include "engine/backend/compiled_plan.h"
#include "engine/backend/whole_race.h"
#include "engine/graph/graph_text.h"

#include "unit.h"

#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct place {
    char folder[64];
    arena memory;
    op_table *table;
    backend *tuned;
    graph g;
} place;

static void read_graph(place *p, const char *body) {
    bind_options as_written = {.dtype = DTYPE_AS_RECORDED};
    const char *source = arena_format(&p->memory, "graph kept\n%s", body);
    assert_int_equal(graph_read(&p->memory, p->table, source, strlen(source), &as_written, &p->g, NULL), ASSAY_OK);
    assert_int_equal(graph_allocate(&p->g, &device_cpu, NULL), ASSAY_OK);
    assert_int_equal(graph_fill(&p->g, 7, NULL), ASSAY_OK);
}

static int set_up(void **state) {
    place *p = calloc(1, sizeof *p);
    if (p == NULL) {
        return 1;
    }
    snprintf(p->folder, sizeof p->folder, "/tmp/assay_kept_XXXXXX");
    *state = p;
    return mkdtemp(p->folder) == NULL || setenv("XDG_CACHE_HOME", p->folder, 1) != 0 || op_table_new(&p->table, NULL) != ASSAY_OK ||
           backend_open(p->table, "compiled:autotune", &p->tuned, NULL) != ASSAY_OK;
}

static int tear_down(void **state) {
    place *p = *state;
    char command[128];
    p->tuned->close(p->tuned);
    graph_clear(&p->g);
    arena_clear(&p->memory);
    op_table_free(p->table);
    snprintf(command, sizeof command, "rm -rf %s", p->folder);
    int removed = system(command);
    free(p);
    return removed;
}

static compiled_plan *prepared(place *p, bool own_products) {
    compiled_backend *b = (compiled_backend *)p->tuned;
    compile_options options = b->options;
    options.own_products = own_products;
    compiled_plan *made = NULL;
    assert_int_equal(compiled_prepare(b, &p->g, &options, &made, NULL), ASSAY_OK);
    return made;
}

static void release(compiled_plan *p) {
    p->base.release(&p->base);
}

#define PRODUCT "%a = input(T([130, 70], f32))\n%b = input(T([70, 90], f32))\n%c = mm(%a, %b)\nreturn %c\n"

/* Without what is known of its steps the plan with products of its own was never measured. */
static void half_a_choice_is_none(void **state) {
    place *p = *state;
    read_graph(p, PRODUCT);
    compiled_plan *whole = prepared(p, false), *own = prepared(p, true);
    settled found = {0};
    assert_int_equal(tune_keep(whole, &(settled){.by = BY_OWN_PRODUCTS}, NULL), ASSAY_OK);
    assert_true(tune_recall(whole, &found));
    assert_int_equal(found.by, BY_OWN_PRODUCTS);
    plan *made = NULL;
    assert_int_equal(p->tuned->prepare(p->tuned, &p->g, &made, NULL), ASSAY_OK);
    assert_int_equal(made->run(made, NULL), ASSAY_OK);
    made->release(made);
    /* It has been tuned, or it would be as it was: its steps are known where it won, and else it is not what is kept. */
    bool is_own = tune_recall(whole, &found) && found.by == BY_OWN_PRODUCTS;
    settled of_own = {0};
    assert_true(!is_own || tune_recall(own, &of_own));
    release(whole);
    release(own);
}

/* Some products as the library's that there are not: another program then. */
static void what_cannot_be_made_again_is_tuned(void **state) {
    place *p = *state;
    read_graph(p, "%a = input(T([64, 48], f32))\n%y = exp(%a)\nreturn %y\n");
    compiled_plan *whole = prepared(p, false);
    assert_int_equal(tune_keep(whole, &(settled){.by = BY_OWN_PRODUCTS}, NULL), ASSAY_OK);
    plan *made = NULL;
    assert_int_equal(p->tuned->prepare(p->tuned, &p->g, &made, NULL), ASSAY_OK);
    settled found = {0};
    assert_true(!tune_recall(whole, &found) || found.by != BY_OWN_PRODUCTS);
    assert_non_null(made->note);
    assert_memory_equal(made->note, "tuned: ", strlen("tuned: "));
    made->release(made);
    release(whole);
}

static int n_runs[2];
static status (*runs_of[2])(plan *p, error *err);

static status count_first(plan *p, error *err) {
    n_runs[0]++;
    return runs_of[0](p, err);
}

static status count_second(plan *p, error *err) {
    n_runs[1]++;
    return runs_of[1](p, err);
}

/* One thread for a product of the compiler's own, which another program may have decided: it is raced against the library's. */
static void own_products_are_asked_again(void **state) {
    place *p = *state;
    if (omp_get_max_threads() < 2) {
        skip();
    }
    read_graph(p, "%a = input(T([512, 512], f32))\n%b = input(T([512, 512], f32))\n%c = mm(%a, %b)\nreturn %c\n");
    for (int threads = 0; threads < 2; threads++) {
        compiled_plan *whole = prepared(p, false), *own = prepared(p, true);
        whole_race r = {.plans = {[BY_PLAN] = &whole->base, [BY_OWN_PRODUCTS] = &own->base}};
        settled who = {.by = BY_OWN_PRODUCTS};
        for (int i = 0; i < own->n_steps; i++) {
            own->steps[i].threads = threads;
        }
        assert_int_equal(whole_make_settings(&r, whole, BY_PLAN, NULL), ASSAY_OK);
        assert_int_equal(whole_make_settings(&r, own, BY_OWN_PRODUCTS, NULL), ASSAY_OK);
        whole_get_settings(whole, r.untuned[BY_PLAN]);
        whole_get_settings(whole, r.tuned[BY_PLAN]);
        whole_get_settings(own, r.tuned[BY_OWN_PRODUCTS]);
        runs_of[0] = whole->base.run;
        runs_of[1] = own->base.run;
        whole->base.run = count_first;
        own->base.run = count_second;
        memset(n_runs, 0, sizeof n_runs);
        whole_ask_again(&r, whole, &who);
        assert_int_equal(n_runs[0] > 0, threads == 1);
        assert_int_equal(n_runs[1] > 0, threads == 1);
        assert_true(who.by == BY_OWN_PRODUCTS || (who.by == BY_PLAN && who.untuned));
        whole_settle(&r, whole, &who);
        assert_ptr_equal(whole->instead, who.by == BY_PLAN ? NULL : &own->base);
        release(whole);
    }
}

static void expect_in(const char *all, const char *word) {
    if (all == NULL || strstr(all, word) == NULL) {
        print_error("expected '%s' in: %s\n", word, all != NULL ? all : "nothing");
        assert_true(false);
    }
}

/* The note is of the choice; what is not kept is told beside it, whichever plan runs. */
static void what_is_not_kept_is_told(void **state) {
    static const char *const bodies[] = {"%x = input(T([64, 48], f32))\n%y = exp(%x)\n%z = tanh(%y)\nreturn %z\n", PRODUCT};
    place *p = *state;
    for (size_t i = 0; i < countof(bodies); i++) {
        setenv("XDG_CACHE_HOME", "/dev/full", 1);
        read_graph(p, bodies[i]);
        plan *made = NULL;
        assert_int_equal(p->tuned->prepare(p->tuned, &p->g, &made, NULL), ASSAY_OK);
        expect_in(made->note, "tuned: ");
        assert_true(strlen(made->note) > strlen("tuned: "));
        expect_in(made->not_kept, "tuner's choice");
        if (i == 0) {
            expect_in(made->not_kept, PLAN_CODE_NOT_KEPT ": /dev/full/assay");
        }
        made->release(made);
        setenv("XDG_CACHE_HOME", p->folder, 1);
        assert_int_equal(p->tuned->prepare(p->tuned, &p->g, &made, NULL), ASSAY_OK);
        assert_null(made->not_kept);
        made->release(made);
        graph_clear(&p->g);
    }
}

/* Code that is kept, and a choice that is not: its folder is taken by a file. */
static void a_choice_alone_is_told(void **state) {
    place *p = *state;
    read_graph(p, "%x = input(T([64, 48], f32))\n%y = exp(%x)\nreturn %y\n");
    compiled_plan *whole = prepared(p, false);
    assert_null(whole->base.not_kept);
    settled nothing = {0};
    assert_int_equal(tune_keep(whole, &nothing, NULL), ASSAY_OK);
    assert_true(tune_recall(whole, &nothing));
    char command[400]; /* the entry of the choice becomes a folder with something in it */
    snprintf(command, sizeof command, "f=$(find %s -name '*.tune') && rm $f && mkdir -p $f/full", p->folder);
    assert_int_equal(system(command), 0);
    plan *made = NULL;
    assert_int_equal(p->tuned->prepare(p->tuned, &p->g, &made, NULL), ASSAY_OK);
    expect_in(made->not_kept, PLAN_CHOICE_NOT_KEPT ": ");
    made->release(made);
    release(whole);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(half_a_choice_is_none, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_cannot_be_made_again_is_tuned, set_up, tear_down),
        cmocka_unit_test_setup_teardown(own_products_are_asked_again, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_is_not_kept_is_told, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_choice_alone_is_told, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
