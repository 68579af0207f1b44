/* SPDX-License-Identifier: Apache-2.0 */
/* The compiler's own matrix products against the reference: edge shapes, layouts, types, what is fused before and behind, and
   values that are no numbers. All graphs of a test are one module, as compiling is what takes the time. */
#include "engine/own_kit.h"

#include "device/instructions.h"

#include <math.h>

static graph *add(const char *source) {
    return cases_add(&cases, source);
}

/* Products of any size, which are small here: else sums like others. */
static bool in_blocks = true;

/* Compiles what was added, in each way that this CPU has, and compares; forgets it. */
static void check_all(void) {
    compiled_backend *b = (compiled_backend *)own;
    compile_options usual = b->options;
    b->options.blocks_all = in_blocks;
    for (int way = 0; way < 3; way++) {
        b->options.pairs = way == 2 ? PAIRS_BY_TILES : way == 1 ? PAIRS_BY_VECTORS : PAIRS_WIDENED;
        if (way < 2 || isa_has_tiles()) {
            cases_check(&cases, own);
        }
    }
    b->options = usual;
    cases_forget(&cases);
}

/* --- the tests ------------------------------------------------------------------------------------------------------------------ */

typedef struct product_shape {
    int m, k, n;
} product_shape;

static const product_shape shapes[] = {
    {2, 33, 17},   {3, 64, 65},  {4, 8, 200},  {7, 300, 64}, {16, 32, 16}, {17, 31, 130}, {33, 96, 48},
    {48, 257, 33}, {64, 64, 64}, {70, 288, 80}, {193, 64, 72}, {385, 40, 24}, {6, 300, 128}, {13, 260, 192},
    {2, 9, 520},   {5, 77, 600}, {8, 64, 512}, {20, 320, 90}, {2, 1200, 72}, {9, 1030, 24}, {32, 2060, 17},
};

static const char *const types[] = {"f32", "bf16", "f16"};

/* Factors dense, right one turned, left one turned, both apart from each other by more than a row. */
static void layouts_and_shapes(void **state) {
    (void)state;
    for (size_t t = 0; t < countof(types); t++) {
        for (size_t s = 0; s < countof(shapes); s++) {
            int m = shapes[s].m, k = shapes[s].k, n = shapes[s].n;
            for (int layout = 0; layout < 4; layout++) {
                char a[64] = "", b[64] = "", source[CASE_SOURCE_BYTES];
                if (layout == 1 || layout == 3) {
                    snprintf(b, sizeof b, ", stride=(1, %d)", layout == 3 ? k + 3 : k);
                }
                if (layout == 2) {
                    snprintf(a, sizeof a, ", stride=(1, %d)", m);
                } else if (layout == 3) {
                    snprintf(a, sizeof a, ", stride=(%d, 1)", k + 1);
                }
                snprintf(source, sizeof source,
                         "graph product\n%%a = input(T([%d, %d], %s%s))\n%%b = input(T([%d, %d], %s%s))\n%%y = mm(%%a, %%b)\n"
                         "return %%y\n",
                         m, k, types[t], a, k, n, types[t], b);
                add(source);
            }
        }
        check_all();
    }
}

/* Batches; a bias, an activation and a residual behind; factors that are computed. */
static void what_is_around_them(void **state) {
    (void)state;
    static const char *const forms[] = {
        "graph batches\n%%a = input(T([3, 20, 40], %s))\n%%b = input(T([3, 40, 24], %s))\n%%c = input(T([24], %s))\n"
        "%%y = baddbmm(%%c, %%a, %%b, beta=0.5, alpha=2)\nreturn %%y\n",
        "graph turned\n%%a = input(T([3, 20, 40], %s))\n%%b = input(T([3, 24, 40], %s))\n%%c = input(T([3, 20, 24], %s))\n"
        "%%t = transpose.int(%%b, 1, 2)\n%%p = bmm(%%a, %%t)\n%%y = mul.Tensor(%%p, %%c)\nreturn %%y\n",
        "graph kept\n%%a = input(T([3, 40, 64], %s))\n%%b = input(T([3, 150, 64], %s))\n%%c = input(T([3, 40, 150], %s))\n"
        "%%e = exp(%%a)\n%%t = transpose.int(%%b, 1, 2)\n%%p = bmm(%%e, %%t)\n%%y = add.Tensor(%%p, %%c)\nreturn %%y\n",
        "graph behind\n%%a = input(T([34, 64], %s))\n%%b = input(T([48, 64], %s))\n%%c = input(T([48], %s))\n%%t = t(%%b)\n"
        "%%p = addmm(%%c, %%a, %%t)\n%%r = gelu(%%p)\n%%y = add.Tensor(%%r, %%p)\nreturn %%y, %%p\n",
        "graph before\n%%a = input(T([34, 64], %s))\n%%u = input(T([34, 64], %s))\n%%b = input(T([64, 48], %s))\n%%s = silu(%%a)\n"
        "%%g = mul.Tensor(%%s, %%u)\n%%y = mm(%%g, %%b)\nreturn %%y\n",
        "graph part\n%%a = input(T([40, 96], %s))\n%%b = input(T([64, 48], %s))\n%%c = input(T([40, 48], %s))\n"
        "%%s = slice.Tensor(%%a, 1, 5, 69)\n%%p = mm(%%s, %%b)\n%%y = sub.Tensor(%%c, %%p)\nreturn %%y\n",
    };
    for (size_t t = 0; t < countof(types); t++) {
        for (size_t f = 0; f < countof(forms); f++) {
            char source[CASE_SOURCE_BYTES];
            snprintf(source, sizeof source, forms[f], types[t], types[t], types[t]);
            add(source);
        }
        char source[CASE_SOURCE_BYTES];
        snprintf(source, sizeof source,
                 "graph weights\n%%x = input(T([5, 96], %s))\n%%w = input(T([40, 96], i8), low=-127, high=128)\n"
                 "%%s = input(T([40, 1], %s), low=0.001, high=0.01)\n%%f = _to_copy(%%w, dtype=%s)\n%%d = mul.Tensor(%%f, %%s)\n"
                 "%%t = t(%%d)\n%%y = mm(%%x, %%t)\nreturn %%y\n",
                 types[t], types[t], types[t]);
        add(source);
    }
    check_all();
}

/* An infinity or a NaN in one row or column stays in what is computed of it. */
static void what_is_no_number_stays_where_it_belongs(void **state) {
    (void)state;
    static const float odd[] = {INFINITY, -INFINITY, NAN};
    for (size_t t = 0; t < 2; t++) {
        for (size_t i = 0; i < countof(odd); i++) {
            for (int turned = 0; turned < 2; turned++) {
                char source[CASE_SOURCE_BYTES];
                snprintf(source, sizeof source,
                         "graph odd\n%%a = input(T([19, 70], %s))\n%%b = input(T([70, 36], %s%s))\n%%y = mm(%%a, %%b)\nreturn %%y\n",
                         types[t], types[t], turned ? ", stride=(1, 70)" : "");
                graph *g = add(source);
                for (int k = 0; k < 2; k++) {
                    char *at = tensor_data(graph_find_value(g, k == 0 ? "a" : "b"));
                    uint32_t bits;
                    memcpy(&bits, &odd[i], sizeof bits);
                    uint16_t half = (uint16_t)(bits >> 16);
                    memcpy(at + (t == 0 ? 4 : 2) * (k == 0 ? 69 : 133), t == 0 ? (const void *)&bits : &half, t == 0 ? 4 : 2);
                }
            }
        }
    }
    check_all();
}

typedef struct window {
    int width, kernel, stride, padding, dilation;
} window;

/* Rows shorter than a vector, of several, with and without edges; in one block of lanes and in several. */
static const window windows[] = {{5, 3, 1, 1, 1},  {16, 3, 1, 1, 1}, {17, 3, 1, 0, 1},  {28, 3, 1, 1, 1}, {33, 5, 1, 2, 1}, {40, 3, 2, 1, 1},
                                 {41, 5, 2, 2, 1}, {64, 3, 1, 2, 2}, {65, 3, 1, 1, 1}, {130, 3, 1, 1, 1}, {19, 5, 1, 4, 2}, {200, 3, 3, 1, 1}};

/* Convolutions within channels, whose lanes look beside themselves, and what follows them. */
static void windows_within_channels(void **state) {
    (void)state;
    for (size_t t = 0; t < countof(types); t++) {
        for (size_t i = 0; i < countof(windows); i++) {
            const window *w = &windows[i];
            for (int behind = 0; behind < 2; behind++) {
                char source[CASE_SOURCE_BYTES];
                snprintf(source, sizeof source,
                         "graph windows\n%%x = input(T([2, 3, 7, %d], %s))\n%%k = input(T([3, 1, %d, %d], %s))\n%%b = input(T([3], %s))\n"
                         "%%c = convolution(%%x, %%k, %%b, [%d, %d], [%d, %d], [1, %d], False, [0, 0], 3)\n%s",
                         w->width, types[t], 3, w->kernel, types[t], types[t], 1, w->stride, 1, w->padding, w->dilation,
                         behind ? "%y = hardswish(%c)\nreturn %y\n" : "return %c\n");
                add(source);
            }
        }
        check_all();
    }
}

/* A batch norm between two of them, which the second one's factor takes in, and sums beside a library call. */
static void products_between_others(void **state) {
    (void)state;
    static const char *const forms[] = {
        "graph norm\n%%x = input(T([2, 40, 9, 11], %s))\n%%w = input(T([40], %s))\n%%b = input(T([40], %s))\n"
        "%%m = input(T([40], %s))\n%%v = input(T([40], %s))\n%%k = input(T([24, 40, 1, 1], %s))\n"
        "%%n, _, _ = native_batch_norm(%%x, %%w, %%b, %%m, %%v, False, 0.1, 1e-05)\n%%a = hardswish(%%n)\n"
        "%%y = convolution(%%a, %%k, None, [1, 1], [0, 0], [1, 1], False, [0, 0], 1)\nreturn %%y\n",
        "graph beside\n%%x = input(T([2, 40, 9, 11], %s))\n%%b = input(T([24], %s))\n%%k = input(T([24, 40, 1, 1], %s))\n"
        "%%c = input(T([8, 24, 3, 3], %s))\n%%d = input(T([8], %s))\n%%e = input(T([8], %s))\n"
        "%%p = convolution(%%x, %%k, %%b, [1, 1], [0, 0], [1, 1], False, [0, 0], 1)\n%%r = relu(%%p)\n"
        "%%y = convolution(%%r, %%c, %%d, [1, 1], [1, 1], [1, 1], False, [0, 0], 1)\n"
        "%%z = convolution(%%p, %%c, %%e, [1, 1], [1, 1], [1, 1], False, [0, 0], 1)\nreturn %%y, %%z\n",
    };
    for (size_t t = 0; t < countof(types); t++) {
        for (size_t f = 0; f < countof(forms); f++) {
            char source[CASE_SOURCE_BYTES];
            snprintf(source, sizeof source, forms[f], types[t], types[t], types[t], types[t], types[t], types[t]);
            add(source);
        }
    }
    check_all();
}

/* Tiles and pairs take them for 0, which is a product's way but not that of a sum of what was multiplied before. */
static void subnormal_halves_count_in_other_sums(void **state) {
    (void)state;
    add("graph sum\n%a = input(T([32, 64], bf16), low=1e-39, high=2e-39)\n%b = input(T([32, 64], bf16), low=1e37, high=9e37)\n"
        "%c = unsqueeze(%a, 1)\n%d = unsqueeze(%b, 0)\n%e = mul.Tensor(%c, %d)\n%y = sum.dim_IntList(%e, [2], False)\nreturn %y\n");
    /* beside a product of the same factors, which is another value */
    add("graph both\n%a = input(T([32, 64], bf16), low=1e-3, high=2e-3)\n%b = input(T([48, 64], bf16))\n%c = unsqueeze(%a, 1)\n"
        "%d = unsqueeze(%b, 0)\n%e = mul.Tensor(%c, %d)\n%y = sum.dim_IntList(%e, [2], False)\n%t = t(%b)\n%z = mm(%a, %t)\nreturn %y, %z\n");
    check_all();
}

/* Sums that are written in another order than they are made in: heads joined, split, turned, beside the sums themselves. */
static void results_in_another_order(void **state) {
    (void)state;
    static const char *const forms[] = {
        "graph joined\n%%a = input(T([6, 20, 40], %s))\n%%b = input(T([6, 40, 24], %s))\n%%p = bmm(%%a, %%b)\n"
        "%%v = view(%%p, [2, 3, 20, 24])\n%%s = permute(%%v, [0, 2, 1, 3])\n%%d = clone(%%s, memory_format=torch.contiguous_format)\n"
        "%%y = view(%%d, [2, 20, 72])\nreturn %%y\n",
        "graph both\n%%a = input(T([6, 20, 40], %s))\n%%b = input(T([6, 40, 24], %s))\n%%p = bmm(%%a, %%b)\n"
        "%%v = view(%%p, [3, 2, 20, 24])\n%%s = permute(%%v, [2, 1, 0, 3])\n%%d = clone(%%s, memory_format=torch.contiguous_format)\n"
        "%%y = view(%%d, [40, 72])\nreturn %%y, %%p\n",
        "graph split\n%%a = input(T([30, 40], %s))\n%%b = input(T([40, 36], %s))\n%%p = mm(%%a, %%b)\n"
        "%%v = view(%%p, [5, 6, 4, 9])\n%%s = permute(%%v, [2, 0, 1, 3])\n%%y = clone(%%s, memory_format=torch.contiguous_format)\n"
        "return %%y\n",
        "graph turned\n%%a = input(T([6, 20, 40], %s))\n%%b = input(T([6, 40, 24], %s))\n%%p = bmm(%%a, %%b)\n"
        "%%v = view(%%p, [2, 3, 20, 24])\n%%s = permute(%%v, [0, 3, 1, 2])\n%%d = clone(%%s, memory_format=torch.contiguous_format)\n"
        "%%y = view(%%d, [48, 60])\nreturn %%y\n",
        "graph half\n%%a = input(T([6, 20, 40], %s))\n%%b = input(T([6, 40, 24], %s))\n%%p = bmm(%%a, %%b)\n"
        "%%v = view(%%p, [2, 3, 20, 24])\n%%t = slice.Tensor(%%v, 1, 0, 2)\n%%s = permute(%%t, [0, 2, 1, 3])\n"
        "%%d = clone(%%s, memory_format=torch.contiguous_format)\n%%y = view(%%d, [2, 20, 48])\nreturn %%y\n",
        "graph sums\n%%a = input(T([6, 20, 40, 7], %s))\n%%b = input(T([6, 1, 40, 7], %s))\n%%m = mul.Tensor(%%a, %%b)\n"
        "%%p = sum.dim_IntList(%%m, [3])\n%%v = view(%%p, [2, 3, 20, 40])\n%%s = permute(%%v, [1, 2, 0, 3])\n"
        "%%d = clone(%%s, memory_format=torch.contiguous_format)\n%%y = view(%%d, [60, 80])\nreturn %%y\n",
    };
    for (size_t t = 0; t < countof(types); t++) {
        for (size_t f = 0; f < countof(forms); f++) {
            char source[CASE_SOURCE_BYTES];
            snprintf(source, sizeof source, forms[f], types[t], types[t]);
            add(source);
        }
    }
    check_all();
    graph *g = add("graph joined\n%a = input(T([6, 20, 40], f32))\n%b = input(T([6, 40, 24], f32))\n%p = bmm(%a, %b)\n"
                   "%v = view(%p, [2, 3, 20, 24])\n%s = permute(%v, [0, 2, 1, 3])\n"
                   "%d = clone(%s, memory_format=torch.contiguous_format)\n%y = view(%d, [2, 20, 72])\nreturn %y\n");
    arena memory = {0};
    compiled_program made;
    assert_int_equal(compile_graph(&memory, g, &(compile_options){.own_products = true, .n_threads = 2}, &made, NULL), ASSAY_OK);
    assert_int_equal(made.n_steps, 1);
    arena_clear(&memory);
    check_all();
}

/* Two products of what is computed: once, although one of them takes it the other way round. */
static void a_factor_of_two_products_is_computed_once(void **state) {
    (void)state;
    static const char source[] =
        "graph twice\n%a = input(T([6, 36, 40], f32))\n%w = input(T([6, 36, 40], f32))\n%b = input(T([6, 40, 24], f32))\n"
        "%c = input(T([6, 36, 24], f32))\n%m = mul.Tensor(%a, %w)\n%d = sub.Tensor(%m, %w)\n%f = mul.Tensor(%d, %a)\n"
        "%p = bmm(%f, %b)\n%t = transpose.int(%f, 1, 2)\n%q = bmm(%t, %c)\nreturn %p, %q\n";
    enum { OF_FACTOR = 6 * 36 * 40 };
    graph *g = add(source);
    arena memory = {0};
    compiled_program made;
    assert_int_equal(compile_graph(&memory, g, &(compile_options){.own_products = true, .n_threads = 2}, &made, NULL), ASSAY_OK);
    assert_int_equal(made.n_steps, 3);
    int n_kept = 0;
    for (int b = 0; b < made.n_buffers; b++) {
        n_kept += made.buffers[b].role == BUFFER_WORK && made.buffers[b].n_elems == OF_FACTOR;
    }
    assert_int_equal(n_kept, 1);
    arena_clear(&memory);
    check_all();
}

/* Two products of few terms between a mean and what it weighs: image by image, and what is computed before both stays with the image. */
static void small_products_go_with_their_images(void **state) {
    (void)state;
    static const char source[] =
        "graph squeeze\n%x = input(T([4, 48, 30, 31], f32))\n%r = input(T([12, 48, 1, 1], f32))\n%rb = input(T([12], f32))\n"
        "%e = input(T([48, 12, 1, 1], f32))\n%eb = input(T([48], f32))\n%active = silu(%x)\n%mean = mean.dim(%active, [2, 3], True)\n"
        "%reduced = convolution(%mean, %r, %rb, [1, 1], [0, 0], [1, 1], False, [0, 0], 1)\n%swish = silu(%reduced)\n"
        "%expanded = convolution(%swish, %e, %eb, [1, 1], [0, 0], [1, 1], False, [0, 0], 1)\n%gate = sigmoid(%expanded)\n"
        "%y = mul.Tensor(%active, %gate)\nreturn %y\n";
    enum { IMAGES = 4, OF_IMAGE = 48 * 30 * 31 };
    graph *g = add(source);
    arena memory = {0};
    compiled_program made;
    assert_int_equal(compile_graph(&memory, g, &(compile_options){.own_products = true, .n_threads = 2}, &made, NULL), ASSAY_OK);
    assert_int_equal(made.n_chains, 1);
    assert_int_equal(made.chains[0].n_steps, made.n_steps);
    assert_int_equal(made.chains[0].parts, IMAGES);
    int n_kept = 0;
    for (int b = 0; b < made.n_buffers; b++) {
        const compile_buffer *kept = &made.buffers[b];
        bool in_result = kept->memory > 0 && made.memories[kept->memory - 1].output >= 0;
        n_kept += kept->role == BUFFER_WORK && kept->n_elems == IMAGES * OF_IMAGE && in_result;
    }
    assert_int_equal(n_kept, 1); /* each image where its result will be */
    arena_clear(&memory);
    in_blocks = false;
    check_all();
    in_blocks = true;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(layouts_and_shapes),
        cmocka_unit_test(windows_within_channels),
        cmocka_unit_test(products_between_others),
        cmocka_unit_test(what_is_around_them),
        cmocka_unit_test(what_is_no_number_stays_where_it_belongs),
        cmocka_unit_test(subnormal_halves_count_in_other_sums),
        cmocka_unit_test(a_factor_of_two_products_is_computed_once),
        cmocka_unit_test(small_products_go_with_their_images),
        cmocka_unit_test(results_in_another_order),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
