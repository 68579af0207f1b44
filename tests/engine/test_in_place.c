/* SPDX-License-Identifier: Apache-2.0 */
/* A value is what it was when it was made, also where a library call in place writes the memory that it was read from: compiled
   programs against the reference in double. What a call in place answers for an input lies in that input's memory. */
#include "base/rng.h"
#include "engine/backend/compiled_plan.h"
#include "engine/graph/exact.h"
#include "engine/graph/graph_text.h"

#include "engine/kept_inputs.h"
#include "engine/table_kit.h"

#include <string.h>

enum { MOST = 40 };

#define SQUARE(x) "%" x " = input(T([8, 8], f32))\n"
#define XAB SQUARE("x") SQUARE("a") SQUARE("b")
#define ADDMM(y, x) "%" y " = addmm_(%" x ", %a, %b)\n"

static const char *const programs[] = {
    /* what is computed from the old value after the call */
    XAB SQUARE("w") "%y = add.Tensor(%x, 1.0)\n" ADDMM("p", "x") "%z = mul.Tensor(%y, %w)\nreturn %z, %p\n",
    XAB "%y = exp(%x)\n" ADDMM("p", "x") "%z = mul.Tensor(%y, %p)\nreturn %z\n",
    "%w = input(T([64, 64], f32))\n%g = input(T([64, 32], f32))\n%x = input(T([32, 64], f32))\n%d = mul.Scalar(%w, 0.9)\n"
    "%n = addmm_(%w, %g, %x, beta=1.0, alpha=-0.1)\n%e = sub.Tensor(%n, %d)\nreturn %e, %n\n",
    "%x = input(T([64, 64], bf16))\n%a = input(T([64, 64], bf16))\n%b = input(T([64, 64], bf16))\n%c = _to_copy(%x, dtype=f32)\n" ADDMM("p", "x")
    "%d = _to_copy(%p, dtype=f32)\n%r = sub.Tensor(%d, %c)\nreturn %r\n",
    "%x = input(T([4, 8, 8], f32))\n%a = input(T([4, 8, 8], f32))\n%b = input(T([4, 8, 8], f32))\n%n = mean.dim(%x, [2], True)\n"
    "%d = sub.Tensor(%x, %n)\n%p = baddbmm_(%x, %a, %b)\n%e = mul.Tensor(%d, %p)\nreturn %e\n",
    /* one row, which is no bias: it lies where the result is written */
    "%x = input(T([1, 2], f32))\n%a = input(T([1, 2], f32))\n%b = input(T([2, 2], f32, stride=(4, 1)))\n" ADDMM("p", "x") "return %p\n",
    "%x = input(T([1, 2], f32))\n%a = input(T([1, 1], f32))\n%b = input(T([1, 2], f32, stride=(7, 2)))\n" ADDMM("p", "x") "return %p\n",
    /* equal values are one until one of them is written */
    XAB "%p = new_zeros(%x, [8, 8])\n%q = new_zeros(%x, [8, 8])\n" ADDMM("r", "p") "%s = addmm(%q, %b, %a)\n%t = add.Tensor(%q, 1.0)\nreturn %r, %s, %t\n",
    XAB "%p = relu(%x)\n%q = relu(%x)\n" ADDMM("r", "p") "%s = add.Tensor(%q, 1.0)\nreturn %r, %s, %q\n",
    XAB "%c = clone(%x)\n" ADDMM("p", "x") "%q = mm(%c, %p)\nreturn %q\n",
    XAB "%c = clone(%x)\n" ADDMM("p", "x") "return %p, %c\n",
    XAB "%c = clone(%x)\n%p = addmm_(%x, %c, %b)\n%q = addmm_(%c, %a, %b)\nreturn %p, %q\n",
    /* a copy of an input, which stays as it is */
    XAB "%v = _unsafe_view(%x, [8, 8])\n%c = clone(%v)\n" ADDMM("p", "c") "return %v, %p\n",
    /* views */
    XAB "%v = t(%x)\n%d = mul.Scalar(%v, 0.9)\n" ADDMM("p", "x") "%e = sub.Tensor(%p, %d)\nreturn %e, %p\n",
    XAB "%v = t(%x)\n%s = slice.Tensor(%x, 0, 2, 5)\n%d = mul.Scalar(%v, 0.9)\n%p = addmm_(%x, %a, %v)\n%f = mul.Tensor(%d, %v)\n"
        "%q = addmm_(%p, %b, %d)\n%e = add.Tensor(%s, 1.0)\n%r = relu_(%q)\n%h = add.Tensor(%v, %f)\nreturn %r, %e, %h\n",
    /* one after the other */
    XAB "%p = mul_.Tensor(%x, 0.9)\n" ADDMM("q", "p") "return %q\n",
    XAB "%p = mul_.Tensor(%x, 0.9)\n%c = exp(%p)\n" ADDMM("q", "p") "%r = relu_(%q)\n%s = sub.Tensor(%r, %c)\nreturn %s, %r\n",
    XAB "%c = clone(%x)\n%p = addmm_(%x, %c, %b)\n%d = clone(%p)\n%q = addmm_(%p, %a, %d)\n%e = sub.Tensor(%q, %d)\n"
        "%f = sub.Tensor(%e, %c)\nreturn %f, %q\n",
    XAB "%p = relu(%x)\n%v = t(%p)\n" ADDMM("q", "p") "%r = add_.Tensor(%q, 1.0)\n" ADDMM("s", "r") "return %p, %v\n",
    XAB "%p = relu(%x)\n" ADDMM("q", "p") "return %p\n",
    /* in parts of something joined, with gaps, in another order of dimensions */
    XAB "%p = cumsum(%x, 0)\n%q = cumsum(%p, 1)\n" ADDMM("r", "p") "%s = cumsum(%x, 0)\n%u = cumsum(%r, 0)\n%j = cat([%s, %q, %u], 0)\nreturn %j, %r\n",
    "%x = input(T([8, 8], f32, stride=(1, 8)))\n" SQUARE("a") SQUARE("b") "%p = relu(%x)\n" ADDMM("q", "p") "%z = add.Tensor(%q, 1.0)\nreturn %z, %q\n",
    "%x = input(T([8, 8], f32, stride=(20, 2)))\n" SQUARE("a") SQUARE("b") "%y = exp(%x)\n" ADDMM("p", "x") "%z = mul.Tensor(%y, %p)\nreturn %z, %p\n",
    "%x = input(T([0, 8], f32))\n%a = input(T([0, 3], f32))\n%b = input(T([3, 8], f32))\n%y = exp(%x)\n" ADDMM("p", "x") "%z = mul.Tensor(%y, %p)\nreturn %z, %p\n",
    /* rows with room between them, of which threads have parts */
    "%x = input(T([300, 64], f64, stride=(80, 1)))\n%i = input(T([256], i64), low=0, high=300)\n%v = input(T([256, 64], f64, stride=(67, 1)))\n"
    "%y = index_add_(%x, 0, %i, %v, alpha=2)\nreturn %y\n",
    "%x = input(T([90, 70], f32, stride=(200, 1)))\n%i = input(T([500], i64), low=0, high=90)\n%v = input(T([500, 70], f32))\n"
    "%y = index_add_(%x, 0, %i, %v)\nreturn %y\n",
    /* nobody reads the old value */
    XAB ADDMM("p", "x") "return %p\n",
    XAB "%y = mm(%x, %b)\n%p = addmm_(%x, %a, %y)\n%z = mul.Tensor(%p, %p)\nreturn %z, %p\n",
    /* an output that shows a dimension under two coordinates is no other order of the dimensions */
    SQUARE("x") "%y = exp(%x)\n%d = as_strided(%y, [8, 8], [0, 9])\n%c = clone(%d, memory_format=torch.contiguous_format)\nreturn %c\n",
    SQUARE("x") "%y = exp(%x)\n%d = as_strided(%y, [8, 8], [0, 9])\nreturn %d\n",
    "%x = input(T([4, 4], f32))\n%y = sum.dim_IntList(%x, [1], True)\n%z = exp(%x)\n%d = as_strided(%z, [4, 4], [5, 0])\n%e = add.Tensor(%d, %y)\nreturn %d, %e\n",
    SQUARE("x") "%y = exp(%x)\n%a = as_strided(%y, [8, 8], [9, 0])\n%b = t(%a)\n%m = mm(%b, %y)\n%z = clone(%b, memory_format=torch.contiguous_format)\nreturn %m, %z\n",
};

typedef struct subject {
    arena memory;
    graph g;
    text inputs; /* as filled */
} subject;

static subject subjects[MOST];

static void make(subject *s, const char *program) {
    text source = {0};
    error err = {0};
    *s = (subject){0};
    text_addf(&source, "graph in_place\n%s", program);
    if (graph_read(&s->memory, table, source.data, source.length, &(bind_options){0}, &s->g, &err) != ASSAY_OK) {
        print_error("%d:%d: %s in\n%s", (int)err.line, (int)err.column, err.message, text_get(&source));
        assert_true(false);
    }
    assert_int_equal(graph_allocate(&s->g, &device_cpu, NULL), ASSAY_OK);
    graph_seed(&s->g, 7);
    assert_int_equal(graph_fill(&s->g, 7, NULL), ASSAY_OK);
    keep_inputs(&s->g, &s->inputs, false);
    text_clear(&source);
}

static void run_and_compare(subject *s, plan *p, const char *program) {
    exact expected;
    error err = {0};
    assert_int_equal(exact_make(&s->memory, &s->g, NULL, 1, &expected, &err), ASSAY_OK);
    for (int run = 0; run < 2; run++) {
        assert_int_equal(p->run(p, &err), ASSAY_OK);
        for (int i = 0; i < s->g.n_outputs; i++) {
            tensor t;
            agreement a;
            assert_int_equal(p->output(p, i, &t, NULL), ASSAY_OK);
            exact_compare(&expected, i, &t, &a);
            if (!a.agrees || !tensor_same_strides(&t, s->g.outputs[i])) {
                print_error("output %d is %.9g at %d, expected %.9g (tolerance %g), of\n%s", i, a.actual_at_worst, (int)a.worst,
                            a.expected_at_worst, a.tolerance_at_worst, program);
            }
            assert_true(a.agrees);
            assert_true(tensor_same_strides(&t, s->g.outputs[i]));
            if (s->g.outputs[i]->storage != NULL && tensor_numel(&t) > 0) { /* not beside it: the input itself was to change */
                tensor_clear(&t);
                exact_compare(&expected, i, s->g.outputs[i], &a);
                assert_true(a.agrees);
                continue;
            }
            tensor_clear(&t);
        }
        keep_inputs(&s->g, &s->inputs, true);
    }
}

static void all_agree(const char *name, bool variants) {
    backend *b;
    const graph *graphs[MOST];
    plan *plans[MOST];
    error err = {0};
    int n = (int)(sizeof programs / sizeof programs[0]);
    assert_int_equal(backend_compiled_open(table, name, &b, NULL), ASSAY_OK);
    ((compiled_backend *)b)->options.variants = variants;
    for (int i = 0; i < n; i++) {
        make(&subjects[i], programs[i]);
        graphs[i] = &subjects[i].g;
    }
    if (compiled_prepare_many(b, graphs, n, BUILD_TO_TEST, plans, &err) != ASSAY_OK) {
        print_error("%s\n", err.message);
        assert_true(false);
    }
    for (int i = 0; i < n; i++) {
        run_and_compare(&subjects[i], plans[i], programs[i]);
        plans[i]->release(plans[i]);
        graph_clear(&subjects[i].g);
        text_clear(&subjects[i].inputs);
        arena_clear(&subjects[i].memory);
    }
    b->close(b);
}

static void calls_in_place_leave_older_values(void **state) {
    (void)state;
    all_agree("compiled", false);
    all_agree("compiled", true);
}

static void so_they_do_without_fusion(void **state) {
    (void)state;
    all_agree("compiled:nofuse", false);
}

static void so_do_products_of_ones_own(void **state) {
    (void)state;
    all_agree("compiled:own-products", false);
}

#define EXPANDED "%x = input(T([1, 8], f32))\n%e = expand(%x, [8, 8])\n"
#define NORM(mean, trains)                                                                                                  \
    "%x = input(T([2, 4, 3], f32))\n%m = input(T([4], f32" mean "))\n%v = input(T([4], f32))\n"                             \
    "%y, %a, %b = native_batch_norm(%x, None, None, %m, %v, " trains ", 0.1, 1e-05)\nreturn %y\n"

static void shared_places_are_refused(void **state) {
    (void)state;
    static const char *const refused[] = {
        EXPANDED "%y = add_.Tensor(%e, %e)\nreturn %y\n",
        EXPANDED "%y = bernoulli_.float(%e, 0.5)\nreturn %y\n",
        EXPANDED SQUARE("a") "%y = addmm_(%e, %a, %a)\nreturn %y\n",
        EXPANDED SQUARE("a") "%t = t(%e)\n%y = addmm_(%t, %a, %a)\nreturn %y\n",
        EXPANDED "%w = input(T([], f32))\n%y = fill_.Tensor(%e, %w)\nreturn %y\n",
        EXPANDED "%y = tril_(%e)\nreturn %y\n",
        "%e = input(T([2, 3, 4], f32, stride=(0, 4, 1)))\n%a = input(T([2, 3, 5], f32))\n%b = input(T([2, 5, 4], f32))\n"
        "%y = baddbmm_(%e, %a, %b)\nreturn %y\n",
        NORM(", stride=(0,)", "True"),
        "%e = input(T([2, 3, 4], f32, stride=(10, 4, 1)))\n%y = add_.Scalar(%e, 1)\nreturn %y\n",
        "%e = input(T([17, 17, 100], f32, stride=(850, 100, 1)))\n%y = relu_(%e)\nreturn %y\n",
    };
    for (size_t i = 0; i < countof(refused); i++) {
        arena memory = {0};
        text source = {0};
        graph g;
        error err = {0};
        text_addf(&source, "graph onto_itself\n%s", refused[i]);
        print_message("%s", refused[i]);
        assert_int_equal(graph_read(&memory, table, source.data, source.length, &(bind_options){0}, &g, &err), ASSAY_INVALID);
        assert_non_null(strstr(err.message, "lie in one place"));
        text_clear(&source);
        arena_clear(&memory);
    }
}

/* By a list of the places taken. */
static bool has_two_in_one_place(const tensor *t) {
    bool taken[1024] = {false}, found = false;
    int64_t index[TENSOR_MAX_DIMS];
    for (int64_t i = 0; i < sizes_numel(t->ndim, t->sizes); i++) {
        int64_t at = 0;
        sizes_unravel(t->ndim, t->sizes, i, index);
        for (int d = 0; d < t->ndim; d++) {
            at += index[d] * t->strides[d];
        }
        assert_true(at < 1024);
        found |= taken[at];
        taken[at] = true;
    }
    return found;
}

static void shared_places_are_found(void **state) {
    (void)state;
    enum { TRIES = 20000 };
    rng r = rng_make(7);
    int n_found = 0;
    for (int i = 0; i < TRIES; i++) {
        tensor t = {.dtype = ASSAY_F32, .ndim = (int)rng_range(&r, 0, 5)};
        for (int d = 0; d < t.ndim; d++) {
            t.sizes[d] = rng_range(&r, rng_range(&r, 0, 20) == 0 ? 0 : 1, 6);
            t.strides[d] = rng_range(&r, rng_range(&r, 0, 8) == 0 ? 0 : 1, 24);
        }
        bool shares = has_two_in_one_place(&t);
        n_found += shares;
        assert_int_equal(tensor_overlaps_itself(&t), shares);
    }
    print_message("%d of %d tensors have elements in one place\n", n_found, TRIES);
    assert_in_range(n_found, TRIES / 8, TRIES - TRIES / 8);
}

/* One number for all of them, a view, nothing to write, and statistics that are only read. */
static void shared_places_may_be_filled_and_read(void **state) {
    (void)state;
    static const char *const names[] = {"reference", "eager", "compiled"};
    static const char *const accepted[] = {
        EXPANDED "%y = fill_.Scalar(%e, 2.5)\n%z = add.Scalar(%y, 1)\nreturn %y, %z\n",
        EXPANDED "%y = transpose_(%e, 0, 1)\n%z = add.Scalar(%y, 1)\nreturn %z\n",
        "%e = input(T([4, 0], f32, stride=(0, 1)))\n%y = add_.Scalar(%e, 1)\nreturn %y\n",
        "%e = input(T([1, 4], f32, stride=(0, 1)))\n%y = add_.Scalar(%e, 1)\nreturn %y\n",
        NORM(", stride=(0,)", "False"),
    };
    for (size_t k = 0; k < countof(names); k++) {
        backend *b;
        assert_int_equal(backend_open(table, names[k], &b, NULL), ASSAY_OK);
        for (size_t i = 0; i < countof(accepted); i++) {
            subject s;
            plan *p;
            error err = {0};
            print_message("%s: %s", names[k], accepted[i]);
            make(&s, accepted[i]);
            if (b->prepare(b, &s.g, &p, &err) != ASSAY_OK) { /* the compiler leaves what shares places to eager */
                assert_true(k == 2 && err.code == ASSAY_UNSUPPORTED);
            } else {
                run_and_compare(&s, p, accepted[i]);
                p->release(p);
            }
            graph_clear(&s.g);
            text_clear(&s.inputs);
            arena_clear(&s.memory);
        }
        b->close(b);
    }
}

/* An input whose copy is written, and which nobody reads after that. */
static void copied_inputs_stay(void **state) {
    (void)state;
    backend *b;
    subject s;
    plan *p;
    text after = {0};
    assert_int_equal(backend_compiled_open(table, "compiled", &b, NULL), ASSAY_OK);
    make(&s, XAB "%c = clone(%x)\n" ADDMM("p", "c") "return %p\n");
    assert_int_equal(b->prepare(b, &s.g, &p, NULL), ASSAY_OK);
    assert_int_equal(p->run(p, NULL), ASSAY_OK);
    keep_inputs(&s.g, &after, false);
    assert_int_equal(after.length, s.inputs.length);
    assert_memory_equal(after.data, s.inputs.data, after.length);
    p->release(p);
    graph_clear(&s.g);
    text_clear(&s.inputs);
    text_clear(&after);
    arena_clear(&s.memory);
    b->close(b);
}

/* Bytes of the program's own memory. */
static int64_t work_bytes(const char *program) {
    backend *b;
    subject s;
    compiled_plan *p;
    int64_t bytes = 0;
    assert_int_equal(backend_compiled_open(table, "compiled", &b, NULL), ASSAY_OK);
    make(&s, program);
    assert_int_equal(compiled_prepare((compiled_backend *)b, &s.g, &((compiled_backend *)b)->options, &p, NULL), ASSAY_OK);
    for (int i = 0; i < p->program.n_buffers; i++) {
        bytes += p->program.buffers[i].role == BUFFER_WORK ? p->program.buffers[i].n_elems * 4 : 0;
    }
    p->base.release(&p->base);
    graph_clear(&s.g);
    text_clear(&s.inputs);
    arena_clear(&s.memory);
    b->close(b);
    return bytes;
}

static void what_nobody_reads_later_is_not_copied(void **state) {
    (void)state;
    assert_int_equal(work_bytes(XAB ADDMM("p", "x") "return %p\n"), 0);
    assert_int_equal(work_bytes(XAB "%p = relu(%x)\n" ADDMM("q", "p") "return %p\n"), 0);
    assert_int_equal(work_bytes(XAB "%p = mul_.Tensor(%x, 0.9)\n" ADDMM("q", "p") "return %q\n"), 0);
    /* read before, by a kernel and by a call */
    assert_int_equal(work_bytes(XAB "%y = exp(%x)\n%m = mm(%x, %y)\n" ADDMM("p", "x") "return %m, %y, %p\n"), 0);
    assert_int_equal(work_bytes(XAB "%y = exp(%x)\n" ADDMM("p", "x") "%z = mul.Tensor(%y, %p)\nreturn %z\n"), 8 * 8 * 4);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_in_place_leave_older_values),
        cmocka_unit_test(so_they_do_without_fusion),
        cmocka_unit_test(shared_places_are_refused),
        cmocka_unit_test(shared_places_are_found),
        cmocka_unit_test(shared_places_may_be_filled_and_read),
        cmocka_unit_test(so_do_products_of_ones_own),
        cmocka_unit_test(copied_inputs_stay),
        cmocka_unit_test(what_nobody_reads_later_is_not_copied),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
