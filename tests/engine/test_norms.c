/* SPDX-License-Identifier: Apache-2.0 */
/* Layer, batch and group norm, losses: layouts and types against the references, values against PyTorch's. */
#include "engine/call_kit.h"

#include <math.h>

/* Valid input values, then eager against the reference. */
static void check(kit *k, const char *name, const arg *args, int n) {
    op_call call = kit_call(k, name, args, n);
    error err = {0};
    assert_int_equal(op_fill_inputs(&call, k->seed, &err), ASSAY_OK);
    kit_check(k, name, args, n);
}

enum { N = 3, C = 12, H = 5, W = 7, S = H * W };
static const int64_t shape[4] = {N, C, H, W};
/* Row-major, channels-last, transposed, with gaps. */
enum { N_LAYOUTS = 4 };
static const int64_t layouts[N_LAYOUTS][4] = {{420, 35, 7, 1}, {420, 1, 84, 12}, {420, 35, 1, 5}, {1000, 80, 14, 2}};
/* An input's type, and its parameters' and statistics'. */
static const dtype types[][2] = {{ASSAY_F32, ASSAY_F32},   {ASSAY_F64, ASSAY_F64}, {ASSAY_BF16, ASSAY_BF16},
                                 {ASSAY_F16, ASSAY_F16},   {ASSAY_BF16, ASSAY_F32}, {ASSAY_F16, ASSAY_F32}};
static const arg none = {.kind = ARG_NONE};
static const bool masks[][3] = {{true, true, true}, {true, false, false}, {false, true, false}, {true, false, true}};

static arg vector(kit *k, dtype t, int64_t n) {
    return arg_tensor(kit_tensor(k, t, 1, &n, NULL));
}

static arg mask_of(int i) {
    return (arg){.kind = ARG_BOOLS, .bools = masks[i], .n = 3};
}

static void check_batch(kit *k, arg x, arg dy, dtype p) {
    arg weight = vector(k, p, C), bias = vector(k, p, C), mean = vector(k, p, C), var = vector(k, p, C);
    arg save_mean = vector(k, p, C), save_rstd = vector(k, p, C), eps = arg_float(1e-5), m = arg_float(0.1);
    for (int training = 0; training < 2; training++) {
        arg t = arg_bool(training);
        check(k, "native_batch_norm", (arg[]){x, weight, bias, mean, var, t, m, eps}, 8);
        check(k, "native_batch_norm", (arg[]){x, none, none, mean, var, t, m, eps}, 8);
        for (int i = 0; i < (int)countof(masks); i++) {
            check(k, "native_batch_norm_backward",
                  (arg[]){dy, x, i == 1 ? none : weight, mean, var, save_mean, save_rstd, t, eps, mask_of(i)}, 10);
        }
    }
    check(k, "native_batch_norm", (arg[]){x, weight, none, none, none, arg_bool(true), m, eps}, 8);
}

static void test_batch(void **state) {
    kit *k = *state;
    for (size_t t = 0; t < countof(types); t++) {
        for (int l = 0; l < N_LAYOUTS; l++) {
            arg x = arg_tensor(kit_tensor(k, types[t][0], 4, shape, layouts[l]));
            arg dy = arg_tensor(kit_tensor(k, types[t][0], 4, shape, layouts[l < 2 ? l : 1]));
            check_batch(k, x, dy, types[t][1]);
            kit_reset(k);
        }
        static const int64_t sizes[] = {N, C, H, 2, W};
        for (int ndim = 2; ndim <= 5; ndim++) {
            arg x = arg_tensor(kit_tensor(k, types[t][0], ndim, sizes, NULL));
            check_batch(k, x, arg_tensor(kit_tensor(k, types[t][0], ndim, sizes, NULL)), types[t][1]);
            kit_reset(k);
        }
    }
}

/* Enough rows for threads to share, and more channels than a block holds. */
static void test_batch_large(void **state) {
    kit *k = *state;
    static const int64_t sizes[2] = {900, 301}, images[4] = {4, 70, 31, 33};
    for (size_t t = 0; t < countof(types); t++) {
        arg p = vector(k, types[t][1], 301), q = vector(k, types[t][1], 301), eps = arg_float(1e-5);
        arg x = arg_tensor(kit_tensor(k, types[t][0], 2, sizes, NULL)), dy = arg_tensor(kit_tensor(k, types[t][0], 2, sizes, NULL));
        check(k, "native_batch_norm", (arg[]){x, p, p, none, none, arg_bool(true), eps, eps}, 8);
        check(k, "native_batch_norm_backward", (arg[]){dy, x, p, none, none, p, q, arg_bool(true), eps, mask_of(0)}, 10);
        arg r = vector(k, types[t][1], 70), s = vector(k, types[t][1], 70);
        x = arg_tensor(kit_tensor(k, types[t][0], 4, images, NULL));
        dy = arg_tensor(kit_tensor(k, types[t][0], 4, images, NULL));
        check(k, "native_batch_norm", (arg[]){x, r, r, none, none, arg_bool(true), eps, eps}, 8);
        check(k, "native_batch_norm_backward", (arg[]){dy, x, r, none, none, r, s, arg_bool(true), eps, mask_of(0)}, 10);
        kit_reset(k);
    }
}

static void test_group(void **state) {
    kit *k = *state;
    static const int64_t groups[] = {1, 3, C};
    for (size_t t = 0; t < countof(types); t++) {
        for (int i = 0; i < N_LAYOUTS * (int)countof(groups); i++) {
            const int64_t *strides = layouts[i % N_LAYOUTS];
            int64_t g = groups[i / N_LAYOUTS], stats[2] = {N, g};
            arg x = arg_tensor(kit_tensor(k, types[t][0], 4, shape, strides));
            arg dy = arg_tensor(kit_tensor(k, types[t][0], 4, shape, i % N_LAYOUTS == 1 ? strides : layouts[0]));
            arg weight = vector(k, types[t][1], C), bias = vector(k, types[t][1], C);
            arg mean = arg_tensor(kit_tensor(k, types[t][1], 2, stats, NULL));
            arg rstd = arg_tensor(kit_tensor(k, types[t][1], 2, stats, NULL));
            arg n = arg_int(N), c = arg_int(C), s = arg_int(S), group = arg_int(g);
            check(k, "native_group_norm", (arg[]){x, weight, bias, n, c, s, group, arg_float(1e-5)}, 8);
            check(k, "native_group_norm", (arg[]){x, none, none, n, c, s, group, arg_float(1e-5)}, 8);
            check(k, "native_group_norm_backward", (arg[]){dy, x, mean, rstd, weight, n, c, s, group, mask_of(i % 4)}, 10);
            check(k, "native_group_norm_backward", (arg[]){dy, x, mean, rstd, none, n, c, s, group, mask_of(1)}, 10);
            kit_reset(k);
        }
    }
}

static void test_layer(void **state) {
    kit *k = *state;
    for (size_t t = 0; t < countof(types); t++) {
        for (int i = 0; i < N_LAYOUTS * 4; i++) {
            int n_dims = 1 + i / N_LAYOUTS, leading = 4 - n_dims;
            int64_t stats[4] = {1, 1, 1, 1};
            memcpy(stats, shape, (size_t)leading * sizeof *stats);
            arg sizes = arg_ints(shape + leading, n_dims);
            arg x = arg_tensor(kit_tensor(k, types[t][0], 4, shape, layouts[i % N_LAYOUTS]));
            arg dy = arg_tensor(kit_tensor(k, types[t][0], 4, shape, layouts[i % 2]));
            arg weight = arg_tensor(kit_tensor(k, types[t][1], n_dims, shape + leading, NULL));
            arg bias = arg_tensor(kit_tensor(k, types[t][1], n_dims, shape + leading, NULL));
            arg mean = arg_tensor(kit_tensor(k, types[t][1], 4, stats, NULL));
            arg rstd = arg_tensor(kit_tensor(k, types[t][1], 4, stats, NULL));
            check(k, "native_layer_norm", (arg[]){x, sizes, weight, bias, arg_float(1e-5)}, 5);
            check(k, "native_layer_norm", (arg[]){x, sizes, i % 2 ? weight : none, none, arg_float(1e-12)}, 5);
            check(k, "native_layer_norm_backward", (arg[]){dy, x, sizes, mean, rstd, weight, bias, mask_of(i % 4)}, 8);
            check(k, "native_layer_norm_backward", (arg[]){dy, x, sizes, mean, rstd, none, none, mask_of(1)}, 8);
            kit_reset(k);
        }
    }
    arg x = arg_tensor(kit_tensor(k, ASSAY_F32, 2, (int64_t[]){0, 3}, NULL));
    check(k, "native_layer_norm", (arg[]){x, INTS(3), none, none, arg_float(1e-5)}, 5);
    kit_reset(k);
}

/* Lines that lie beside each other, few and many of them, short and long; with another's gradient, one with gaps, or one that lies so as well. */
static void test_layer_turned(void **state) {
    kit *k = *state;
    static const int64_t beside[] = {3, 4, 16, 70}, lengths[] = {2, 17, 24, 129, 300};
    for (size_t i = 0; i < countof(types) * countof(beside) * countof(lengths); i++) {
        const dtype *t = types[i % countof(types)];
        int64_t b = beside[i / countof(types) % countof(beside)], n = lengths[i / countof(types) / countof(beside)];
        const int64_t whole[] = {5, b, n}, turned[] = {b * n + 3, 1, b}, apart[] = {b * n + 7, n, 1}, stats[] = {5, b, 1};
        arg sizes = arg_ints(&n, 1), x = arg_tensor(kit_tensor(k, t[0], 3, whole, turned));
        arg dy = arg_tensor(kit_tensor(k, t[0], 3, whole, i % 7 == 0 ? turned : i % 4 == 1 ? apart : NULL));
        arg weight = vector(k, t[1], n), bias = vector(k, t[1], n);
        arg mean = arg_tensor(kit_tensor(k, t[1], 3, stats, NULL)), rstd = arg_tensor(kit_tensor(k, t[1], 3, stats, NULL));
        check(k, "native_layer_norm", (arg[]){x, sizes, weight, bias, arg_float(1e-5)}, 5);
        check(k, "native_layer_norm", (arg[]){x, sizes, none, bias, arg_float(1e-5)}, 5);
        check(k, "native_layer_norm_backward", (arg[]){dy, x, sizes, mean, rstd, weight, bias, mask_of((int)(i % 4))}, 8);
        check(k, "native_layer_norm_backward", (arg[]){dy, x, sizes, mean, rstd, none, none, mask_of(1)}, 8);
        kit_reset(k);
    }
}

/* Rows in flight: longer than their blocks, a multiple of them and not, an odd and an even number of them, with all gradients or some. */
static void test_layer_flight(void **state) {
    kit *k = *state;
    static const int64_t rows[] = {1, 2, 67, 300}, lengths[] = {64, 131, 160, 320, 1031, 1056};
    for (size_t i = 0; i < countof(types) * countof(rows) * countof(lengths); i++) {
        const dtype *t = types[i % countof(types)];
        int64_t r = rows[i / countof(types) % countof(rows)], n = lengths[i / countof(types) / countof(rows)];
        arg sizes = arg_ints((int64_t[]){n}, 1);
        arg x = arg_tensor(kit_tensor(k, t[0], 2, (int64_t[]){r, n}, NULL)), dy = arg_tensor(kit_tensor(k, t[0], 2, (int64_t[]){r, n}, NULL));
        arg weight = vector(k, t[1], n), bias = vector(k, t[1], n);
        arg every_other = arg_tensor(kit_tensor(k, t[1], 1, &n, (int64_t[]){2}));
        arg mean = arg_tensor(kit_tensor(k, t[1], 2, (int64_t[]){r, 1}, NULL)), rstd = arg_tensor(kit_tensor(k, t[1], 2, (int64_t[]){r, 1}, NULL));
        check(k, "native_layer_norm", (arg[]){x, sizes, every_other, bias, arg_float(1e-5)}, 5);
        for (int m = 0; m < (int)countof(masks); m++) {
            check(k, "native_layer_norm_backward", (arg[]){dy, x, sizes, mean, rstd, weight, bias, mask_of(m)}, 8);
        }
        check(k, "native_layer_norm_backward", (arg[]){dy, x, sizes, mean, rstd, every_other, bias, mask_of(0)}, 8);
        check(k, "native_layer_norm_backward", (arg[]){dy, x, sizes, mean, rstd, none, none, mask_of(1)}, 8);
        kit_reset(k);
    }
}

static void check_nll(kit *k, dtype t, arg self, arg target, int64_t rows, int64_t reduction) {
    bool per_row = reduction == 0 && self.tensor->ndim == 2;
    arg weight = vector(k, t, 11), ignored = arg_int(reduction == 1 ? 3 : -100), reduces = arg_int(reduction);
    arg grad = arg_tensor(kit_tensor(k, t, per_row, &rows, NULL)), total = arg_tensor(kit_tensor(k, t, 0, NULL, NULL));
    check(k, "nll_loss_forward", (arg[]){self, target, weight, reduces, ignored}, 5);
    check(k, "nll_loss_forward", (arg[]){self, target, none, reduces, ignored}, 5);
    check(k, "nll_loss_backward", (arg[]){grad, self, target, weight, reduces, ignored, total}, 7);
    check(k, "nll_loss_backward", (arg[]){grad, self, target, none, reduces, ignored, total}, 7);
}

static void test_losses(void **state) {
    kit *k = *state;
    static const int64_t rows = 53, classes = 11, sizes[2] = {53, 11};
    for (size_t t = 0; t < 4; t++) {
        dtype type = types[t][0];
        for (int64_t reduction = 0; reduction < 3; reduction++) {
            arg x = arg_tensor(kit_tensor(k, type, 2, sizes, NULL));
            arg turned = arg_tensor(kit_tensor(k, type, 2, sizes, (int64_t[]){1, 53}));
            arg target = arg_tensor(kit_tensor(k, ASSAY_I64, 1, &rows, NULL));
            arg bytes = arg_tensor(kit_tensor(k, ASSAY_U8, 1, &rows, NULL));
            check_nll(k, type, x, target, rows, reduction);
            check_nll(k, type, turned, bytes, rows, reduction);
            check_nll(k, type, arg_tensor(kit_tensor(k, type, 1, &classes, NULL)),
                      arg_tensor(kit_tensor(k, ASSAY_I64, 0, NULL, NULL)), 1, reduction);
            arg row = vector(k, type, 11), reduces = arg_int(reduction);
            check(k, "mse_loss", (arg[]){x, turned, reduces}, 3);
            check(k, "mse_loss", (arg[]){x, row, reduces}, 3);
            check(k, "mse_loss", (arg[]){turned, turned, reduces}, 3);
            arg grad = arg_tensor(kit_tensor(k, type, reduction == 0 ? 2 : 0, sizes, NULL));
            check(k, "mse_loss_backward", (arg[]){grad, x, turned, reduces}, 4);
            check(k, "mse_loss_backward", (arg[]){grad, x, row, reduces}, 4);
            kit_reset(k);
        }
        arg big = arg_tensor(kit_tensor(k, type, 1, (int64_t[]){200003}, NULL));
        arg other = arg_tensor(kit_tensor(k, type, 1, (int64_t[]){200003}, NULL));
        check(k, "mse_loss", (arg[]){big, other}, 2);
        kit_reset(k);
    }
}

static void near_tensor(const char *name, const tensor *t, const double *expected, int n_expected) {
    assert_int_equal(tensor_numel(t), n_expected);
    for (int i = 0; i < n_expected; i++) {
        double value = element_load(t->dtype, tensor_data(t) + tensor_offset_of(t, i) * (int64_t)dtype_size(t->dtype));
        if (!(fabs(value - expected[i]) < 4e-6)) {
            print_error("%s: element %d is %.9g, expected %.9g\n", name, i, value, expected[i]);
            assert_true(false);
        }
    }
}

typedef struct known {
    const double *values;
    int n;
} known;

#define KNOWN(...) {(const double[]){__VA_ARGS__}, (int)(sizeof((double[]){__VA_ARGS__}) / sizeof(double))}
#define VALUES(k, ndim, sizes, ...) arg_tensor(kit_values(k, ASSAY_F32, ndim, (int64_t[])sizes, (double[]){__VA_ARGS__}))

/* Output after output. */
static void near(kit *k, const char *name, const arg *args, int n, const known *expected, int n_outputs) {
    op_call call = kit_call(k, name, args, n);
    outputs out;
    kit_run(k, &call, &out);
    for (int i = 0; i < n_outputs; i++) {
        near_tensor(name, &out.items[i], expected[i].values, expected[i].n);
    }
    outputs_clear(&out);
}

#define SHAPE(...) {__VA_ARGS__}

/* What PyTorch 2.15 answers on the CPU. */
static void test_known_norms(void **state) {
    kit *k = *state;
    arg weight = VALUES(k, 1, SHAPE(3), 1, 2, 3), bias = VALUES(k, 1, SHAPE(3), 0.5, 0, -1);
    arg x = VALUES(k, 2, SHAPE(3, 3), 1, -2, 3.5, 0.5, 4, -1, 2, 1, 0);
    arg dy = VALUES(k, 2, SHAPE(3, 3), 1, 2, 3, -1, 0.5, 2, 0, 1, -2);
    arg mean = VALUES(k, 1, SHAPE(3), 0, 1, 2), var = VALUES(k, 1, SHAPE(3), 1, 2, 0.5);
    arg on = arg_bool(true), off = arg_bool(false), eps = arg_float(1e-5);
    const known gradient[] = {KNOWN(0.999994993, 2.82842016, 12.7277956, -0.999994993, 0.707105041, 8.48519707, 0, 1.41421008,
                                    -8.48519707),
                              KNOWN(0.499997497, -3.18197274, 3.53549862), KNOWN(0, 3.5, 3)};
    near(k, "native_batch_norm_backward", (arg[]){dy, x, weight, mean, var, none, none, off, eps, mask_of(0)}, 10, gradient, 3);
    const known trained[] = {KNOWN(0.23274231, -2.44948769, 3.14656258, -0.56903106, 2.44948769, -3.85076165, 1.83628905, 0,
                                   -2.29580069),
                             KNOWN(1.16666663, 1, 0.833333313), KNOWN(1.60354674, 0.408247948, 0.518320322)};
    near(k, "native_batch_norm", (arg[]){x, weight, bias, mean, var, on, arg_float(0.25), eps}, 8, trained, 3);
    /* Training moves the running statistics, by the unbiased variance. */
    near_tensor("running_mean", mean.tensor, (double[]){0.291666657, 1, 1.70833337}, 3);
    near_tensor("running_var", var.tensor, (double[]){0.895833373, 3.75, 1.77083337}, 3);
    arg saved = arg_tensor(kit_values(k, ASSAY_F32, 1, (int64_t[]){3}, trained[1].values));
    arg inverse = arg_tensor(kit_values(k, ASSAY_F32, 1, (int64_t[]){3}, trained[2].values));
    const known back[] = {KNOWN(1.7180829, 0.0680423826, 0.88192445, -1.14540243, 0.0680403337, 3.08670902, -0.572680533,
                                -0.136082619, -3.96863365),
                          KNOWN(0.801773369, -1.83711576, 3.10992193), KNOWN(0, 3.5, 3)};
    near(k, "native_batch_norm_backward", (arg[]){dy, x, weight, none, none, saved, inverse, on, eps, mask_of(0)}, 10, back, 3);
}

static void test_known_layer_and_group(void **state) {
    kit *k = *state;
    arg weight = VALUES(k, 1, SHAPE(3), 1, 2, 3), bias = VALUES(k, 1, SHAPE(3), 0.5, 0, -1);
    arg x = VALUES(k, 2, SHAPE(2, 3), 1, -2, 3.5, 0.5, 4, -1), dy = VALUES(k, 2, SHAPE(2, 3), 1, 2, 3, -1, 0.5, 2);
    const known layer[] = {KNOWN(0.574124813, -2.52024555, 2.55799317, 0.181777477, 2.70489168, -4.10266972),
                           KNOWN(0.833333373, 1.16666663), KNOWN(0.444749177, 0.477333814)};
    near(k, "native_layer_norm", (arg[]){x, INTS(3), weight, bias, arg_float(1e-5)}, 5, layer, 3);
    arg mean = arg_tensor(kit_values(k, ASSAY_F32, 2, (int64_t[]){2, 1}, layer[1].values));
    arg rstd = arg_tensor(kit_values(k, ASSAY_F32, 2, (int64_t[]){2, 1}, layer[2].values));
    const known back[] = {KNOWN(-1.69346797, 0.769756079, 0.923711777, -1.66160464, 0.498479247, 1.16312516),
                          KNOWN(0.392347366, -1.84402239, 1.48954678), KNOWN(0, 2.5, 5)};
    near(k, "native_layer_norm_backward", (arg[]){dy, x, INTS(3), mean, rstd, weight, bias, mask_of(0)}, 8, back, 3);

    arg image = VALUES(k, 3, SHAPE(1, 4, 2), 1, -2, 3.5, 0.5, 4, -1, 2, 0), w = VALUES(k, 1, SHAPE(4), 1, 2, 3, 4);
    arg grad = VALUES(k, 3, SHAPE(1, 4, 2), 1, 2, 3, -1, 0.5, 2, 0, 1);
    arg n = arg_int(1), c = arg_int(4), s = arg_int(2), group = arg_int(2);
    const known group_out[] = {KNOWN(0.128036737, -1.40840387, 2.81680799, -0.256073415, 4.29622841, -3.51509571, 1.56226492,
                                     -2.60377455),
                               KNOWN(0.75, 1.25), KNOWN(0.51214689, 0.520754933)};
    near(k, "native_group_norm", (arg[]){image, w, none, n, c, s, group, arg_float(1e-5)}, 8, group_out, 3);
    mean = arg_tensor(kit_values(k, ASSAY_F32, 2, (int64_t[]){1, 2}, group_out[1].values));
    rstd = arg_tensor(kit_values(k, ASSAY_F32, 2, (int64_t[]){1, 2}, group_out[2].values));
    const known group_back[] = {KNOWN(-0.482761145, 1.21319783, 1.09146321, -1.82189977, 0.679625511, 0.485452652, -1.11653495,
                                      -0.0485432148),
                                KNOWN(-2.68877125, 4.3532486, -1.62735915, -0.650943637), KNOWN(3, 2, 2.5, 1)};
    near(k, "native_group_norm_backward", (arg[]){grad, image, mean, rstd, w, n, c, s, group, mask_of(0)}, 10, group_back, 3);
}

static void test_known_losses(void **state) {
    kit *k = *state;
    arg x = VALUES(k, 2, SHAPE(2, 3), -2.58265924, -5.58265924, -0.0826593563, -3.53626966, -0.0362695642, -5.03626966);
    arg target = arg_tensor(kit_values(k, ASSAY_I64, 1, (int64_t[]){2}, (double[]){2, 1}));
    arg weight = VALUES(k, 1, SHAPE(3), 0.5, 1, 2), grad = arg_tensor(kit_values(k, ASSAY_F32, 0, NULL, (double[]){2}));
    arg total = arg_tensor(kit_values(k, ASSAY_F32, 0, NULL, (double[]){3})), mean = arg_int(1), ignored = arg_int(-100);
    near(k, "nll_loss_forward", (arg[]){x, target, weight, mean, ignored}, 5, (known[]){KNOWN(0.0671960935), KNOWN(3)}, 2);
    near(k, "nll_loss_forward", (arg[]){x, target, weight, mean, arg_int(1)}, 5, (known[]){KNOWN(0.0826593563), KNOWN(2)}, 2);
    near(k, "nll_loss_backward", (arg[]){grad, x, target, weight, mean, ignored, total}, 7,
         (known[]){KNOWN(0, 0, -1.33333337, 0, -0.666666687, 0)}, 1);
    arg a = VALUES(k, 2, SHAPE(2, 3), 1, -2, 3.5, 0.5, 4, -1), b = VALUES(k, 2, SHAPE(2, 3), 1, 2, 3, -1, 0.5, 2);
    near(k, "mse_loss", (arg[]){a, b}, 2, (known[]){KNOWN(6.625)}, 1);
    near(k, "mse_loss_backward", (arg[]){total, a, b, mean}, 4, (known[]){KNOWN(0, -4, 0.5, 1.5, 3.5, -3)}, 1);
}

/* One infinite element makes its channel's mean infinite and no other's, in rows, in columns and in short rows. */
static void test_infinite_mean(void **state) {
    kit *k = *state;
    static const int64_t sizes[][4] = {{300, 3, 1, 1}, {40, 3, 5, 1}, {4, 3, 70, 70}};
    for (size_t i = 0; i < countof(sizes) * 2; i++) {
        dtype t = i % 2 ? ASSAY_F64 : ASSAY_F32;
        arg x = arg_tensor(kit_tensor(k, t, 4, sizes[i / 2], NULL)), eps = arg_float(1e-5);
        for (int64_t j = 0; j < tensor_numel(x.tensor); j++) {
            element_store(t, tensor_data(x.tensor) + j * (int64_t)dtype_size(t), (double)(j % 7) - 3);
        }
        element_store(t, tensor_data(x.tensor) + x.tensor->strides[1] * (int64_t)dtype_size(t), -INFINITY);
        kit_check(k, "native_batch_norm", (arg[]){x, none, none, none, none, arg_bool(true), eps, eps}, 8);
    }
}

/* Targets come from users: a bad one is reported by run, and nothing is read through it. */
static void test_bad_target(void **state) {
    kit *k = *state;
    arg x = VALUES(k, 2, SHAPE(2, 3), 1, 2, 3, 4, 5, 6), grad = arg_tensor(kit_values(k, ASSAY_F32, 0, NULL, (double[]){2}));
    static const double bad[][2] = {{0, 3}, {-1, 0}, {INT32_MAX, 0}};
    for (size_t i = 0; i < countof(bad); i++) {
        arg target = arg_tensor(kit_values(k, ASSAY_I64, 1, (int64_t[]){2}, bad[i]));
        op_call calls[] = {kit_call(k, "nll_loss_forward", (arg[]){x, target, none, arg_int(1), arg_int(-100)}, 5),
                           kit_call(k, "nll_loss_backward", (arg[]){grad, x, target, none, arg_int(1), arg_int(-100), grad}, 7)};
        for (size_t c = 0; c < countof(calls); c++) {
            outputs out;
            error err = {0};
            arena memory = {0};
            assert_int_equal(op_infer(&calls[c], &out, &err), ASSAY_OK);
            for (int o = 0; o < out.n; o++) {
                assert_int_equal(tensor_allocate(&out.items[o], &device_cpu, &err), ASSAY_OK);
            }
            kernel_plan plan = {.call = &calls[c], .out = &out, .err = &err, .memory = &memory};
            assert_int_equal(kernel_find_cpu(k->kernels, calls[c].op)->prepare(&plan, &err), ASSAY_OK);
            assert_int_equal(plan.run(&plan), ASSAY_INVALID);
            assert_non_null(strstr(err.message, "target"));
            outputs_clear(&out);
            arena_clear(&memory);
        }
    }
}

static void test_refused(void **state) {
    kit *k = *state;
    arg x = arg_tensor(kit_tensor(k, ASSAY_F32, 4, shape, NULL)), ints = arg_tensor(kit_tensor(k, ASSAY_I64, 4, shape, NULL));
    arg five = vector(k, ASSAY_F32, 5), eps = arg_float(1e-5), on = arg_bool(true), off = arg_bool(false);
    kit_refuses(k, "native_batch_norm", (arg[]){ints, none, none, none, none, on, eps, eps}, 8, ASSAY_INVALID);
    kit_refuses(k, "native_batch_norm", (arg[]){x, five, none, none, none, on, eps, eps}, 8, ASSAY_INVALID);
    kit_refuses(k, "native_batch_norm", (arg[]){x, none, none, none, none, off, eps, eps}, 8, ASSAY_INVALID);
    kit_refuses(k, "native_batch_norm", (arg[]){five, none, none, none, none, on, eps, eps}, 8, ASSAY_INVALID);
    kit_refuses(k, "native_batch_norm_backward", (arg[]){x, x, none, none, none, none, none, on, eps, mask_of(0)}, 10,
                ASSAY_INVALID);
    kit_refuses(k, "native_layer_norm", (arg[]){x, INTS(5), none, none, eps}, 5, ASSAY_INVALID);
    kit_refuses(k, "native_layer_norm", (arg[]){x, arg_ints(NULL, 0), none, none, eps}, 5, ASSAY_INVALID);
    arg n = arg_int(N), c = arg_int(C), s = arg_int(S);
    kit_refuses(k, "native_group_norm", (arg[]){x, none, none, n, c, s, arg_int(5), eps}, 8, ASSAY_INVALID);
    kit_refuses(k, "native_group_norm", (arg[]){x, none, none, n, c, s, arg_int(0), eps}, 8, ASSAY_INVALID);
    kit_refuses(k, "native_group_norm", (arg[]){x, none, none, n, arg_int(INT64_MAX), s, arg_int(1), eps}, 8, ASSAY_INVALID);
    arg rows = arg_tensor(kit_tensor(k, ASSAY_F32, 2, (int64_t[]){4, 5}, NULL));
    arg target = arg_tensor(kit_tensor(k, ASSAY_I64, 1, (int64_t[]){4}, NULL)), i = arg_int(-100);
    kit_refuses(k, "nll_loss_forward", (arg[]){rows, five, none, arg_int(1), i}, 5, ASSAY_INVALID);
    kit_refuses(k, "nll_loss_forward", (arg[]){rows, target, none, arg_int(3), i}, 5, ASSAY_INVALID);
    kit_refuses(k, "nll_loss_forward", (arg[]){x, target, none, arg_int(1), i}, 5, ASSAY_INVALID);
    kit_refuses(k, "mse_loss", (arg[]){ints, ints}, 2, ASSAY_INVALID);
    kit_refuses(k, "mse_loss", (arg[]){x, five, arg_int(0)}, 3, ASSAY_INVALID);
    kit_refuses(k, "mse_loss_backward", (arg[]){x, five, x, arg_int(0)}, 4, ASSAY_INVALID);
}

static uint64_t seed = 20261123;

int main(void) {
    const struct CMUnitTest tests[] = {
        KIT_TEST(test_batch, &seed),
        KIT_TEST(test_batch_large, &seed),
        KIT_TEST(test_group, &seed),
        KIT_TEST(test_layer, &seed),
        KIT_TEST(test_layer_turned, &seed),
        KIT_TEST(test_layer_flight, &seed),
        KIT_TEST(test_losses, &seed),
        KIT_TEST(test_known_norms, &seed),
        KIT_TEST(test_known_layer_and_group, &seed),
        KIT_TEST(test_known_losses, &seed),
        KIT_TEST(test_bad_target, &seed),
        KIT_TEST(test_infinite_mean, &seed),
        KIT_TEST(test_refused, &seed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
