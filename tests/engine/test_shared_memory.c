/* SPDX-License-Identifier: Apache-2.0 */
/* Values of a compiled program that lie in one memory: none is touched from another's first step to its last, but where a step replaces
   one by the other; what is known of some programs; and results, which are as if each had its own. */
#include "graph_cases.h"
#include "random_lines.h"

static graph_cases cases;

static int open_all(void **state) {
    (void)state;
    return op_table_new(&cases.table, NULL) != ASSAY_OK;
}

static int close_all(void **state) {
    (void)state;
    op_table_free(cases.table);
    return 0;
}

typedef struct program {
    arena memory;
    graph g;
    compiled_program made;
} program;

static void compile(program *p, const char *source, size_t length, bool own_products) {
    error err = {0};
    *p = (program){0};
    assert_int_equal(graph_read(&p->memory, cases.table, source, length, &(bind_options){0}, &p->g, &err), ASSAY_OK);
    assert_int_equal(graph_allocate(&p->g, &device_cpu, &err), ASSAY_OK);
    const compile_options options = {.n_threads = 2, .own_products = own_products};
    status result = compile_graph(&p->memory, &p->g, &options, &p->made, &err);
    assert_true(result == ASSAY_OK || result == ASSAY_UNSUPPORTED);
    if (result != ASSAY_OK) {
        p->made = (compiled_program){0};
    }
}

static void forget(program *p) {
    graph_clear(&p->g);
    arena_clear(&p->memory);
}

/* --- none in use at the same time ------------------------------------------------------------------------------------------ */

static bool touches(const compiled_program *p, int s, int buffer) {
    const compile_step *step = &p->steps[s];
    const compile_buffer *b = &p->buffers[buffer];
    bool found = b->role == BUFFER_CALL && b->step == s;
    for (int i = 0; i < step->n_buffers; i++) {
        found |= step->buffers[i] == buffer;
    }
    for (int i = 0; i < step->n_operands; i++) {
        found |= step->operands[i].buffer == buffer;
    }
    return found;
}

/* The steps from the first to the last that touches it; those of a chain are one. */
static void span_of(const compiled_program *p, int buffer, int *first, int *last) {
    *first = p->n_steps;
    *last = -1;
    for (int s = 0; s < p->n_steps; s++) {
        if (touches(p, s, buffer)) {
            *first = s < *first ? s : *first;
            *last = s;
        }
    }
}

static bool in_one_chain(const compiled_program *p, int a, int b) {
    for (int i = 0; i < p->n_chains; i++) {
        int first = p->chains[i].first, end = first + p->chains[i].n_steps;
        if (a >= first && a < end && b >= first && b < end) {
            return true;
        }
    }
    return false;
}

static void check_pair(const compiled_program *p, int a, int b) {
    int first_a, last_a, first_b, last_b;
    span_of(p, a, &first_a, &last_a);
    span_of(p, b, &first_b, &last_b);
    int last = first_a < first_b ? last_a : last_b, next = first_a < first_b ? first_b : first_a;
    assert_true(last <= next); /* at most the one step that replaces the one by the other */
    if (last == next) {
        assert_true(p->steps[next].n_rewritten > 0); /* and says so */
    } else {
        assert_false(in_one_chain(p, last, next));
    }
}

static int check(const compiled_program *p) {
    int n = 0;
    for (int a = 0; a < p->n_buffers; a++) {
        int m = p->buffers[a].memory;
        assert_true(m >= 0 && m <= p->n_memories);
        for (int b = a + 1; m > 0 && b < p->n_buffers; b++) {
            if (p->buffers[b].memory == m) {
                check_pair(p, a, b);
                n++;
            }
        }
    }
    return n;
}

static void random_programs_share_in_turns(void **state) {
    enum { PROGRAMS = 300, SEED = 5 };
    int n = 0;
    (void)state;
    for (uint64_t i = 0; i < PROGRAMS; i++) {
        text source = {0};
        program p;
        random_graph(cases.table, SEED, i, &source);
        compile(&p, source.data, source.length, i % 2 == 1);
        n += check(&p.made);
        forget(&p);
        text_clear(&source);
    }
    print_message("%d pairs\n", n);
    assert_true(n > 20);
}

/* --- programs -------------------------------------------------------------------------------------------------------------- */

#define SCANS "%x = input(T([64, 32], f32))\n%a = cumsum(%x, 0)\n%b = cumsum(%a, 1)\n%c = cumsum(%b, 0)\n%d = cumsum(%c, 1)\n"
#define PRODUCTS                                                                                                                    \
    "%x = input(T([96, 96], f32))\n%p = mm(%x, %x)\n%q = mm(%p, %x)\n%r = mm(%q, %x)\n%s = mm(%r, %x)\n"

typedef struct known {
    const char *program;
    int memories; /* besides those of results */
} known;

static const known programs[] = {
    {SCANS "return %d\n", 2},               /* a in the result's memory, where c cannot be when that is made */
    {SCANS "%e = exp(%d)\nreturn %e\n", 1}, /* d is replaced by what follows from it */
    {SCANS "%t = t(%d)\n%w = input(T([32, 64], f32))\n%e = add.Tensor(%t, %w)\nreturn %e\n", 1}, /* turned: a and c in its place, d not */
    {PRODUCTS "%y = relu(%s)\nreturn %y\n", 1},
    {PRODUCTS "%y = add.Tensor(%s, %p)\nreturn %y\n", 2},
    /* an element is written twice: it must not be read where it lies */
    {"%a = input(T([64, 4], f64))\n%b = input(T([64, 4], f64))\n%c = stack([%a, %b], 1)\n%d = hardswish(%c)\n"
     "%e = expand(%d, [3, 64, 2, 4])\nreturn %e\n", 1},
    {"%x = input(T([8, 16, 24, 24], f32))\n%a = silu(%x)\n%m = mean.dim(%a, [2, 3], True)\n%g = sigmoid(%m)\n%y = mul.Tensor(%a, %g)\n"
     "return %y\n", 0},
    /* a chain's first kernel looks at rows of other parts, which its last must not have replaced by then */
    {"%x = input(T([64, 128], f32))\n%w = input(T([128, 256], f32))\n%g = input(T([64, 1], f32))\n%y = mm(%x, %w)\n"
     "%s = slice.Tensor(%y, 0, 0, 63)\n%h = constant_pad_nd(%s, [0, 0, 1, 0], 0)\n%q = _softmax(%h, 1, False)\n%o = mul.Tensor(%y, %g)\n"
     "return %q, %o\n", 1},
    {"%a = input(T([8, 8, 16], f32))\n%b = input(T([8, 16, 256], f32))\n%y = bmm(%a, %b)\n%t = sum.dim_IntList(%y, [0, 2])\n"
     "%u = view(%t, [8, 1, 1])\n%o = mul.Tensor(%y, %u)\nreturn %o\n", 1},
    {"%a = input(T([64, 64, 64], f32))\n%s = cumsum(%a, 1)\n%t = sum.dim_IntList(%s, [0, 2])\n%u = view(%t, [64, 1, 1])\n"
     "%o = add.Tensor(%s, %u)\nreturn %o\n", 1},
    {"%x = input(T([40, 3, 1], f32))\n%t = tanh(%x)\n%y, %m, %r = native_layer_norm(%t, [1], None, None, 1e-05)\nreturn %y\n", 0},
};

static void memory_is_as_little(void **state) {
    (void)state;
    for (size_t i = 0; i < countof(programs); i++) {
        char source[CASE_SOURCE_BYTES];
        program p;
        int own = 0;
        snprintf(source, sizeof source, "graph shares\n%s", programs[i].program);
        compile(&p, source, strlen(source), false);
        check(&p.made);
        for (int m = 0; m < p.made.n_memories; m++) {
            own += p.made.memories[m].output < 0 && p.made.memories[m].bytes > 1024;
        }
        if (own != programs[i].memories) {
            print_error("%d memories, expected %d, for\n%s", own, programs[i].memories, source);
        }
        assert_int_equal(own, programs[i].memories);
        forget(&p);
    }
}

static void check_by(const char *name) {
    backend *b;
    for (size_t i = 0; i < countof(programs); i++) {
        char source[CASE_SOURCE_BYTES];
        snprintf(source, sizeof source, "graph shares\n%s", programs[i].program);
        cases_add(&cases, source);
    }
    assert_int_equal(backend_compiled_open(cases.table, name, &b, NULL), ASSAY_OK);
    cases_check(&cases, b);
    b->close(b);
    cases_forget(&cases);
}

static void results_are_the_same(void **state) {
    (void)state;
    check_by("compiled");
    check_by("compiled:nofuse");
    check_by("compiled:own-products");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_programs_share_in_turns),
        cmocka_unit_test(memory_is_as_little),
        cmocka_unit_test(results_are_the_same),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
