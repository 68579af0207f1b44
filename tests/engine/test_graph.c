/* SPDX-License-Identifier: Apache-2.0 */
/* Graphs as they are built, filled and run: by the builder, and by backends against the reference in double. */
#include "engine/backend/backend.h"
#include "engine/graph/exact.h"
#include "engine/graph/graph_text.h"
#include "engine/kernels/identity.h"

#include "engine/kept_inputs.h"
#include "unit.h"

#include <math.h>
#include <string.h>

static op_table *table;
static backend *eager, *reference;

static int open_all(void **state) {
    (void)state;
    return op_table_new(&table, NULL) != ASSAY_OK || backend_eager_open(table, &eager, NULL) != ASSAY_OK ||
           backend_reference_open(table, &reference, NULL) != ASSAY_OK;
}

static int close_all(void **state) {
    (void)state;
    eager->close(eager);
    reference->close(reference);
    op_table_free(table);
    return 0;
}

static void read_graph(arena *memory, const char *source, dtype_mode mode, graph *g) {
    const bind_options options = {.dtype = mode};
    error err = {0};
    if (graph_read(memory, table, source, strlen(source), &options, g, &err) != ASSAY_OK) {
        print_error("%d:%d: %s in\n%s", (int)err.line, (int)err.column, err.message, source);
        assert_true(false);
    }
}

static void make_ready(graph *g) {
    assert_int_equal(graph_allocate(g, &device_cpu, NULL), ASSAY_OK);
    graph_seed(g, 7);
    assert_int_equal(graph_fill(g, 7, NULL), ASSAY_OK);
    assert_int_equal(graph_verify(g, NULL), ASSAY_OK);
}

/* --- the builder ------------------------------------------------------------------------------------------------------------ */

static void builds_what_the_text_says(void **state) {
    (void)state;
    arena memory = {0};
    graph g;
    tensor form, *x, *y;
    graph_node *node;
    assert_int_equal(graph_init(&g, &memory, "built", "By hand.", NULL), ASSAY_OK);
    assert_int_equal(tensor_init(&form, ASSAY_F32, 2, (const int64_t[]){3, 8}, NULL), ASSAY_OK);
    assert_int_equal(graph_add_input(&g, "x", &form, NULL, &x, NULL), ASSAY_OK);
    assert_int_equal(graph_add_input(&g, NULL, &form, &(graph_range){0, 1}, &y, NULL), ASSAY_OK);
    const arg sum[] = {{.kind = ARG_TENSOR, .tensor = x},
                       {.kind = ARG_TENSOR, .tensor = y},
                       {.kind = ARG_NUMBER, .number = number_of_double(0.5)}};
    assert_int_equal(graph_add_call(&g, op_table_find(table, "add.Tensor"), sum, NULL, 0, &node, NULL), ASSAY_OK);
    const arg split[] = {{.kind = ARG_TENSOR, .tensor = &node->out->items[0]},
                         {.kind = ARG_INT, .i = 1},
                         {.kind = ARG_INT, .i = 1}};
    assert_int_equal(graph_add_call(&g, op_table_find(table, "split.Tensor"), split, NULL, 0, &node, NULL), ASSAY_OK);
    assert_int_equal(node->out->n, 8); /* more than outputs have room for inside */
    tensor *last = &node->out->items[7];
    const arg relu[] = {{.kind = ARG_TENSOR, .tensor = last}};
    assert_int_equal(graph_add_call(&g, op_table_find(table, "relu"), relu, (const char *const[]){"y"}, 1, &node, NULL),
                     ASSAY_OK);
    assert_int_equal(graph_add_output(&g, last, NULL), ASSAY_OK);
    assert_int_equal(graph_add_output(&g, &node->out->items[0], NULL), ASSAY_OK);
    text printed = {0};
    graph_print(&g, &printed);
    assert_string_equal(text_get(&printed), "graph built: By hand.\n"
                                            "%x = input(T([3, 8], f32))\n"
                                            "%1 = input(T([3, 8], f32), low=0.0, high=1.0)\n"
                                            "%2 = add.Tensor(%x, %1, alpha=0.5)\n"
                                            "%3, %4, %5, %6, %7, %8, %9, %10 = split.Tensor(%2, 1, 1)\n"
                                            "%y = relu(%10)\n"
                                            "return %10, %y\n");
    text_clear(&printed);
    make_ready(&g); /* values keep their places though they are inferred again */
    assert_ptr_equal(g.outputs[0], last);
    graph_clear(&g);
    arena_clear(&memory);
}

static void refuses_strangers(void **state) {
    (void)state;
    arena memory = {0};
    graph g;
    tensor form, *x;
    graph_node *node;
    error err = {0};
    assert_int_equal(graph_init(&g, &memory, "g", NULL, NULL), ASSAY_OK);
    assert_int_equal(tensor_init(&form, ASSAY_F32, 1, (const int64_t[]){3}, NULL), ASSAY_OK);
    assert_int_equal(graph_add_input(&g, "x", &form, NULL, &x, NULL), ASSAY_OK);
    assert_int_equal(graph_add_input(&g, "x", &form, NULL, &x, &err), ASSAY_INVALID);
    const arg stranger[] = {{.kind = ARG_TENSOR, .tensor = &form}};
    assert_int_equal(graph_add_call(&g, op_table_find(table, "relu"), stranger, NULL, 0, &node, &err), ASSAY_INVALID);
    assert_string_equal(err.message, "relu.default: argument 'self' is no value of the graph");
    assert_int_equal(graph_add_output(&g, x, &err), ASSAY_INVALID);
    assert_int_equal(g.n_nodes, 0);
    graph_clear(&g);
    arena_clear(&memory);
}

static void verification_sees_a_changed_shape(void **state) {
    (void)state;
    arena memory = {0};
    graph g;
    error err = {0};
    read_graph(&memory, "graph g\n%x = input(T([2, 3], f32))\n%y = relu(%x)\n%z = neg(%y)\nreturn %z\n", DTYPE_AS_RECORDED, &g);
    assert_int_equal(graph_verify(&g, NULL), ASSAY_OK);
    g.nodes[1].out->items[0].sizes[0] = 5;
    assert_int_equal(graph_verify(&g, &err), ASSAY_INTERNAL);
    assert_string_equal(err.message, "node 1: the outputs of neg.default are not as inferred");
    g.nodes[1].out->items[0].sizes[0] = 2;
    graph_node swapped = g.nodes[0];
    g.nodes[0] = g.nodes[1];
    g.nodes[1] = swapped;
    assert_int_equal(graph_verify(&g, &err), ASSAY_INTERNAL); /* used before it is made */
    graph_clear(&g);
    arena_clear(&memory);
}

/* --- values ----------------------------------------------------------------------------------------------------------------- */

static void inputs_are_what_their_consumers_need(void **state) {
    (void)state;
    arena memory = {0};
    graph g;
    read_graph(&memory,
               "graph g\n%table = input(T([50, 4], f32))\n%index = input(T([20, 2], i64))\n%x = input(T([40, 4], f32))\n"
               "%target = input(T([40], i64))\n%mean = input(T([4], f32))\n%var = input(T([4], f32))\n"
               "%p = input(T([100], f32), low=0.25, high=0.5)\n%c = input(T([3], i32), low=7, high=7)\n"
               "%flat = view(%index, [40])\n%rows = embedding(%table, %flat)\n%sum = add.Tensor(%rows, %x)\n"
               "%logs = _log_softmax(%sum, 1, False)\n%loss, %weight = nll_loss_forward(%logs, %target, None, 1, -100)\n"
               "%wide = view(%logs, [10, 4, 4])\n"
               "%y, _, _ = native_batch_norm(%wide, None, None, %mean, %var, False, 0.1, 1e-05)\n"
               "%q = neg(%p)\n%d = neg(%c)\nreturn %loss, %y, %q, %d\n",
               DTYPE_AS_RECORDED, &g);
    make_ready(&g);
    for (int i = 0; i < 40; i++) {
        int64_t index = ((const int64_t *)tensor_data(graph_find_value(&g, "index")))[i];
        int64_t target = ((const int64_t *)tensor_data(graph_find_value(&g, "target")))[i];
        assert_in_range(index, 0, 49);
        assert_true(target == -100 || (target >= 0 && target < 4)); /* -100 is left out */
    }
    for (int i = 0; i < 4; i++) {
        assert_true(((const float *)tensor_data(graph_find_value(&g, "var")))[i] > 0);
    }
    for (int i = 0; i < 100; i++) {
        float p = ((const float *)tensor_data(graph_find_value(&g, "p")))[i];
        assert_true(p >= 0.25F && p < 0.5F);
    }
    assert_int_equal(((const int32_t *)tensor_data(graph_find_value(&g, "c")))[2], 7);
    graph_clear(&g);
    arena_clear(&memory);
}

/* --- backends against the reference ------------------------------------------------------------------------------------------- */

static const char *const programs[] = {
    /* norms, products, activations */
    "graph forward\n%x = input(T([6, 16, 32], f32))\n%w = input(T([32, 24], f32))\n%b = input(T([24], f32))\n"
    "%n, %mean, %rstd = native_layer_norm(%x, [32], None, None, 1e-05)\n%rows = view(%n, [96, 32])\n"
    "%y = addmm(%b, %rows, %w)\n%z = gelu(%y)\n%s = _softmax(%z, 1, False)\nreturn %s, %mean, %z\n",
    /* a comparison with zero behind a relu: the zeros must stay zeros */
    "graph backward\n%g = input(T([4, 8, 6, 6], f32))\n%x = input(T([4, 8, 6, 6], f32))\n"
    "%n, %mean, %invstd = native_batch_norm(%x, None, None, None, None, True, 0.1, 1e-05)\n%r = relu(%n)\n"
    "%gr = threshold_backward(%g, %r, 0)\n"
    "%gx, _, _ = native_batch_norm_backward(%gr, %x, None, None, None, %mean, %invstd, True, 1e-05, [True, False, False])\n"
    "return %gx, %r\n",
    /* in place, on inputs, on views of them and on inner values */
    "graph in_place\n%x = input(T([4, 6], f32))\n%y = input(T([4, 3], f32))\n%left, %right = split.Tensor(%x, 3, 1)\n"
    "%l = mul_.Tensor(%left, %y)\n%r = add_.Tensor(%right, %l, alpha=2)\n%e = exp(%x)\n%i = mul_.Tensor(%e, %x)\n"
    "return %i, %l, %e\n",
    /* casts, integers, booleans, constants */
    "graph types\n%x = input(T([5, 7], bf16))\n%w = input(T([5, 7], i8), low=-9, high=9)\n%f = _to_copy(%w, dtype=bf16)\n"
    "%p = mul.Tensor(%x, %f)\n%m = gt.Scalar(%p, 0.5)\n%k = where.self(%m, %p, %x)\n%c = _to_copy(%k, dtype=f32)\n"
    "%n = sum.dim_IntList(%m, [1])\n%d = sub.Tensor(%c, 0.1)\n%q = add.Scalar(%n, 3)\nreturn %d, %n, %q\n",
    /* an output that is a view of an inner value, outputs of several nodes */
    ("graph views\n%x = input(T([3, 4], f32))\n%y = exp(%x)\n%t = t(%y)\n%z = neg(%t)\n%c = cat([%z, %t], 1)\n"
     "return %t, %c, %y\n"),
};

static plan *prepare(backend *b, const graph *g) {
    plan *p = NULL;
    error err = {0};
    if (b->prepare(b, g, &p, &err) != ASSAY_OK || p->run(p, &err) != ASSAY_OK) {
        print_error("%s of %s: %s\n", b->name, g->name, err.message);
        assert_true(false);
    }
    return p;
}

static void check_plan(backend *b, const graph *g, const exact *expected) {
    text kept = {0};
    keep_inputs(g, &kept, false);
    plan *p = prepare(b, g);
    for (int run = 0; run < 2; run++) { /* a second run says the same */
        for (int i = 0; i < g->n_outputs; i++) {
            tensor t;
            agreement a;
            assert_int_equal(p->output(p, i, &t, NULL), ASSAY_OK);
            assert_true(tensor_same_sizes(&t, g->outputs[i]) && tensor_same_strides(&t, g->outputs[i]));
            exact_compare(expected, i, &t, &a);
            if (!a.agrees) {
                print_error("%s of %s, %s: output %d is %.9g at %d, expected %.9g (tolerance %g)\n", b->name, g->name,
                            assay_dtype_name(g->inputs[0].value->dtype), i, a.actual_at_worst, (int)a.worst, a.expected_at_worst,
                            a.tolerance_at_worst);
            }
            assert_true(a.agrees);
            tensor_clear(&t);
        }
        keep_inputs(g, &kept, true);
        assert_int_equal(p->run(p, NULL), ASSAY_OK);
        tensor none;
        assert_int_equal(p->output(p, g->n_outputs, &none, NULL), ASSAY_INVALID);
    }
    p->release(p);
    keep_inputs(g, &kept, true);
    text_clear(&kept);
}

static void backends_agree_with_the_reference(void **state) {
    (void)state;
    static const dtype_mode modes[] = {DTYPE_AS_RECORDED, DTYPE_F32, DTYPE_BF16, DTYPE_F64};
    for (size_t i = 0; i < countof(programs); i++) {
        for (size_t m = 0; m < countof(modes); m++) {
            arena memory = {0};
            graph g;
            exact expected;
            error err = {0};
            text before = {0}, after = {0};
            read_graph(&memory, programs[i], modes[m], &g);
            make_ready(&g);
            keep_inputs(&g, &before, false);
            if (exact_make(&memory, &g, NULL, 1, &expected, &err) != ASSAY_OK) {
                print_error("%s: %s\n", g.name, err.message);
                assert_true(false);
            }
            keep_inputs(&g, &after, false);
            assert_memory_equal(before.data, after.data, before.length);
            check_plan(eager, &g, &expected);
            check_plan(reference, &g, &expected);
            text_clear(&before);
            text_clear(&after);
            graph_clear(&g);
            arena_clear(&memory);
        }
    }
}

/* A number takes the type of what it meets or fills: afterwards the two are equal. */
static void numbers_have_the_types_that_they_meet(void **state) {
    (void)state;
    static const char source[] =
        "graph numbers\n%x = input(T([4, 33], bf16))\n%m = input(T([4, 33], b8))\n%a = masked_fill.Scalar(%x, %m, 0.1)\n"
        "%b = eq.Scalar(%a, 0.1)\n%z = input(T([], f32))\n%c = fill_.Scalar(%z, 0.1)\n%d = masked_fill.Tensor(%x, %m, %c)\n"
        "%e = ge.Tensor(%d, %c)\n%w = input(T([4, 33], f32))\n%f = masked_fill.Scalar(%w, %m, 0.1)\n"
        "%g = le.Scalar(%f, 0.1)\n%h = constant_pad_nd(%x, [1, 1], 0.1)\n%i = gt.Scalar(%h, 0.1)\n"
        "%k = _to_copy(%c, dtype=f64)\nreturn %b, %g, %i, %e, %k\n";
    static const dtype_mode modes[] = {DTYPE_AS_RECORDED, DTYPE_F32, DTYPE_BF16, DTYPE_F16, DTYPE_F64};
    for (size_t m = 0; m < countof(modes); m++) {
        arena memory = {0};
        graph g;
        exact expected;
        read_graph(&memory, source, modes[m], &g);
        make_ready(&g);
        assert_int_equal(exact_make(&memory, &g, NULL, 1, &expected, NULL), ASSAY_OK);
        for (int i = 0; i < 3; i++) {
            for (int64_t k = 0; k < expected.outputs[i].n; k++) {
                assert_true(expected.outputs[i].slack[k] == 0); /* nothing is left to chance */
            }
        }
        check_plan(eager, &g, &expected);
        graph_clear(&g);
        arena_clear(&memory);
    }
}

/* The variance of equal numbers is what rounding their mean leaves, in the graph's type and not in the reference's double. A
   deviation that rounding does not make is still seen. */
static void equal_numbers_vary_by_their_rounding(void **state) {
    (void)state;
    static const char source[] =
        "graph equal\n%x = input(T([7, 1], f32))\n%e = expand(%x, [7, 130])\n"
        "%v = var.correction(%e, [1], correction=1, keepdim=False)\n%s = std.correction(%e, [1], correction=1, keepdim=False)\n"
        "%w, %m = var_mean.correction(%e, [1], correction=0, keepdim=False)\nreturn %v, %s, %w, %m\n";
    static const dtype_mode modes[] = {DTYPE_F32, DTYPE_BF16, DTYPE_F16, DTYPE_F64};
    for (size_t m = 0; m < countof(modes); m++) {
        arena memory = {0};
        graph g;
        exact expected;
        agreement a;
        read_graph(&memory, source, modes[m], &g);
        make_ready(&g);
        assert_int_equal(exact_make(&memory, &g, NULL, 1, &expected, NULL), ASSAY_OK);
        check_plan(eager, &g, &expected);
        tensor off;
        assert_int_equal(tensor_init(&off, g.outputs[1]->dtype, 1, (const int64_t[]){7}, NULL), ASSAY_OK);
        assert_int_equal(tensor_allocate(&off, &device_cpu, NULL), ASSAY_OK);
        for (int64_t i = 0; i < 7; i++) {
            element_store(off.dtype, tensor_data(&off) + i * (int64_t)dtype_size(off.dtype), 1e-2);
        }
        exact_compare(&expected, 1, &off, &a);
        assert_false(a.agrees);
        tensor_clear(&off);
        graph_clear(&g);
        arena_clear(&memory);
    }
}

/* One element off by a thousandth of the outputs' root mean square in f32, by twice that in bf16, where a softmax of products hangs on digits
   that the type lacks, is seen wherever it lies, by many samples as well. */
static void sees_a_wrong_element(void **state) {
    (void)state;
    static const struct {
        dtype_mode mode;
        double off;
        bool well;
    } cases[] = {{DTYPE_F32, 1e-3, false}, {DTYPE_BF16, 2, false}, {DTYPE_F32, 1e-3, true}, {DTYPE_BF16, 2, true}};
    for (size_t c = 0; c < countof(cases); c++) {
        for (size_t i = 0; i < countof(programs); i++) {
            arena memory = {0};
            graph g;
            exact expected;
            read_graph(&memory, programs[i], cases[c].mode, &g);
            make_ready(&g);
            assert_int_equal((cases[c].well ? exact_make_well : exact_make)(&memory, &g, NULL, 1, &expected, NULL), ASSAY_OK);
            const exact_output *o = &expected.outputs[0];
            double squares = 0;
            for (int64_t k = 0; k < o->n; k++) {
                squares += o->value[k] * o->value[k];
            }
            double off = cases[c].off * sqrt(squares / (double)o->n);
            int64_t loose = 0;
            for (int64_t k = 0; k < o->n; k++) {
                loose += !(o->slack[k] < off) ? 1 : 0;
            }
            if (loose != 0) {
                print_error("%s: %d of %d elements may be off by %g\n", g.name, (int)loose, (int)o->n, off);
            }
            assert_true(loose * 100 <= o->n); /* cancellation may leave a few open */
            graph_clear(&g);
            arena_clear(&memory);
        }
    }
}

/* Which of two numbers is larger, and which whole number is next, is decided by rounding where they are near: in bf16 often. Many samples see
   where; elsewhere a decision is as the reference has it. */
static void sees_what_rounding_decides(void **state) {
    (void)state;
    static const char source[] =
        "graph decisions\n%x = input(T([64, 500], bf16))\n%w = input(T([500], bf16))\n%y = mul.Tensor(%x, %w)\n"
        "%m = gt.Scalar(%y, 0.5)\n%t = threshold_backward(%x, %y, 0.5)\n%f = floor(%y)\n%i = _to_copy(%y, dtype=i32)\n"
        "%p = _softmax(%y, -1, False)\n%v, %j = max.dim(%p, 1)\nreturn %m, %t, %f, %i, %v, %j\n";
    for (uint64_t seed = 1; seed <= 3; seed++) {
        arena memory = {0};
        graph g;
        exact expected;
        read_graph(&memory, source, DTYPE_AS_RECORDED, &g);
        assert_int_equal(graph_allocate(&g, &device_cpu, NULL), ASSAY_OK);
        assert_int_equal(graph_fill(&g, seed, NULL), ASSAY_OK);
        assert_int_equal(exact_make_well(&memory, &g, NULL, 1, &expected, NULL), ASSAY_OK);
        check_plan(eager, &g, &expected);
        check_plan(reference, &g, &expected);
        const exact_output *masks = &expected.outputs[0];
        int64_t open = 0;
        for (int64_t i = 0; i < masks->n; i++) {
            open += masks->slack[i] != 0;
        }
        assert_true(open > 0 && open * 50 < masks->n);
        graph_clear(&g);
        arena_clear(&memory);
    }
}

static void random_values_are_taken_from_the_outputs(void **state) {
    (void)state;
    static const char source[] = "graph dropout\n%x = input(T([64, 32], f32))\n%mask = bernoulli.p(%x, 0.75)\n"
                                 "%kept = mul.Tensor(%x, %mask)\n%y = mul.Tensor(%kept, 1.3333333333333333)\n"
                                 "%hidden = bernoulli.p(%y, 0.5)\n%z = mul.Tensor(%y, %hidden)\nreturn %y, %mask, %z\n";
    arena memory = {0};
    graph g;
    exact expected;
    error err = {0};
    tensor taken[3];
    agreement a;
    read_graph(&memory, source, DTYPE_AS_RECORDED, &g);
    make_ready(&g);
    assert_true(graph_is_random(&g));
    assert_int_equal(exact_make(&memory, &g, NULL, 1, &expected, NULL), ASSAY_OK);
    assert_false(expected.outputs[0].is_known || expected.outputs[1].is_known || expected.outputs[2].is_known);
    plan *p = prepare(eager, &g);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(p->output(p, i, &taken[i], NULL), ASSAY_OK);
    }
    assert_int_equal(exact_make(&memory, &g, taken, 1, &expected, &err), ASSAY_OK);
    assert_true(expected.outputs[0].is_known);
    exact_compare(&expected, 0, &taken[0], &a);
    assert_true(a.agrees && a.checked == 64 * 32);
    ((float *)tensor_data(&taken[0]))[5] += 0.01F; /* what follows from the mask is checked */
    exact_compare(&expected, 0, &taken[0], &a);
    assert_false(a.agrees);
    memset(tensor_data(&taken[1]), 0, 64 * 32 * sizeof(float)); /* a mask of nothing is not drawn with p = 0.75 */
    assert_int_equal(exact_make(&memory, &g, taken, 1, &expected, &err), ASSAY_INTERNAL);
    for (int i = 0; i < 3; i++) {
        tensor_clear(&taken[i]);
    }
    p->release(p);
    graph_clear(&g);
    arena_clear(&memory);
}

/* What tuned choices are kept under tells one build of the kernels from another, and says the same in one. */
static void kernels_have_a_name(void **state) {
    (void)state;
    char first[IDENTITY_BYTES], second[IDENTITY_BYTES], brief[8];
    kernel_identity(first, sizeof first);
    kernel_identity(second, sizeof second);
    kernel_identity(brief, sizeof brief);
    assert_string_equal(first, second);
    assert_non_null(strstr(first, "oneDNN"));
    assert_non_null(strchr(first, '/'));
    assert_true(strlen(first) < sizeof first - 1 && strlen(brief) == sizeof brief - 1);
}

/* What a dropout answers follows from its mask and from what the graph computed before, and is compared with that. */
static void a_dropout_follows_its_mask(void **state) {
    (void)state;
    static const char source[] = "graph follows\n%x = input(T([64, 32], f32))\n%e = exp(%x)\n%y, %mask = native_dropout(%e, 0.5, True)\n"
                                 "return %y, %mask\n";
    arena memory = {0};
    graph g;
    exact expected;
    tensor taken[2];
    agreement a;
    read_graph(&memory, source, DTYPE_AS_RECORDED, &g);
    make_ready(&g);
    plan *p = prepare(eager, &g);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(p->output(p, i, &taken[i], NULL), ASSAY_OK);
    }
    float *const y = (float *)tensor_data(&taken[0]);
    for (int wrong = 0; wrong < 2; wrong++) {
        for (int i = 0; i < 64 * 32 && wrong == 1; i++) {
            y[i] *= 1.0001F;
        }
        assert_int_equal(exact_make(&memory, &g, taken, 1, &expected, NULL), ASSAY_OK);
        exact_compare(&expected, 0, &taken[0], &a);
        assert_true(expected.outputs[0].is_known && a.agrees == (wrong == 0));
    }
    for (int i = 0; i < 2; i++) {
        tensor_clear(&taken[i]);
    }
    p->release(p);
    graph_clear(&g);
    arena_clear(&memory);
}

/* Runs it on every compiled backend; falls_back: the kernels are the library's, one call after the other, and a note says why. */
static void check_compiled(const char *source, bool falls_back) {
    static const char *const names[] = {"compiled", "compiled:nofuse", "compiled:autotune", "compiled:own-products"};
    for (size_t i = 0; i < countof(names); i++) {
        arena memory = {0};
        graph g;
        exact expected;
        backend *compiled;
        plan *p;
        read_graph(&memory, source, DTYPE_AS_RECORDED, &g);
        make_ready(&g);
        assert_int_equal(exact_make(&memory, &g, NULL, 1, &expected, NULL), ASSAY_OK);
        assert_int_equal(backend_compiled_open(table, names[i], &compiled, NULL), ASSAY_OK);
        check_plan(compiled, &g, &expected);
        assert_int_equal(compiled->prepare(compiled, &g, &p, NULL), ASSAY_OK);
        assert_true(p->is_fallback == falls_back && (!falls_back || p->note != NULL));
        p->release(p);
        compiled->close(compiled);
        graph_clear(&g);
        arena_clear(&memory);
    }
}

/* What a library call writes in place shows under other names that are read afterwards. */
static void compiled_backends_run_library_calls_that_write_in_place(void **state) {
    (void)state;
    check_compiled("graph hidden_write\n%x = input(T([6, 8], f64))\n%a = input(T([4, 5], f64))\n"
                   "%b = input(T([5, 8], f64))\n%part = slice.Tensor(%x, 0, 1, 5)\n%row = select.int(%x, 0, 3)\n"
                   "%p = addmm_(%part, %a, %b)\n%y = mul.Tensor(%x, %row)\n%z = exp(%p)\nreturn %y, %z\n",
                   false);
}

/* Where an element lies does not say which it is, or memory between elements is shown. */
static void compiled_backends_leave_writes_that_they_do_not_follow_to_the_library(void **state) {
    (void)state;
    check_compiled("graph interleaved\n%x = input(T([2, 4], f32, stride=(5, 2)))\n%y = relu_(%x)\n%z = slice.Tensor(%y, 1, 1, 4, 2)\n"
                   "%w = exp(%z)\nreturn %w, %y\n",
                   true);
    check_compiled("graph gaps\n%x = input(T([2, 1], f32, stride=(2, 1)))\n%between = as_strided(%x, [1, 2], [2, 1], 1)\n"
                   "%y = relu_(%x)\n%z = sigmoid(%between)\nreturn %y, %z\n",
                   true);
}

/* An index that the compiled kernel reads is checked when it runs: nothing outside of a tensor is touched. */
static void compiled_code_finds_indices_out_of_range(void **state) {
    (void)state;
    static const char source[] = "graph pick\n%x = input(T([5, 3], f32))\n%i = input(T([4], i64), low=0, high=5)\n"
                                 "%y = index_select(%x, 0, %i)\nreturn %y\n";
    arena memory = {0};
    graph g;
    backend *compiled;
    plan *p;
    error err = {0};
    read_graph(&memory, source, DTYPE_AS_RECORDED, &g);
    make_ready(&g);
    assert_int_equal(backend_compiled_open(table, "compiled", &compiled, NULL), ASSAY_OK);
    assert_int_equal(compiled->prepare(compiled, &g, &p, NULL), ASSAY_OK);
    assert_int_equal(p->run(p, &err), ASSAY_OK);
    int64_t *indices = (int64_t *)(void *)tensor_data(graph_find_value(&g, "i"));
    for (int64_t wrong = -6; wrong <= 5; wrong += 11) {
        indices[2] = wrong;
        assert_int_equal(p->run(p, &err), ASSAY_INVALID);
        assert_non_null(strstr(err.message, "out of range"));
    }
    p->release(p);
    compiled->close(compiled);
    graph_clear(&g);
    arena_clear(&memory);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(builds_what_the_text_says),
        cmocka_unit_test(compiled_code_finds_indices_out_of_range),
        cmocka_unit_test(kernels_have_a_name),
        cmocka_unit_test(a_dropout_follows_its_mask),
        cmocka_unit_test(compiled_backends_run_library_calls_that_write_in_place),
        cmocka_unit_test(compiled_backends_leave_writes_that_they_do_not_follow_to_the_library),
        cmocka_unit_test(refuses_strangers),
        cmocka_unit_test(verification_sees_a_changed_shape),
        cmocka_unit_test(inputs_are_what_their_consumers_need),
        cmocka_unit_test(backends_agree_with_the_reference),
        cmocka_unit_test(sees_a_wrong_element),
        cmocka_unit_test(sees_what_rounding_decides),
        cmocka_unit_test(numbers_have_the_types_that_they_meet),
        cmocka_unit_test(equal_numbers_vary_by_their_rounding),
        cmocka_unit_test(random_values_are_taken_from_the_outputs),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
