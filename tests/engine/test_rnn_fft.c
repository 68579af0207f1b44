/* SPDX-License-Identifier: Apache-2.0 */
/* Recurrent networks and Fourier transforms: kernels against references, known answers, bad input. */
#include "engine/call_kit.h"

#include <math.h>

static const dtype floats[] = {ASSAY_F32, ASSAY_F16, ASSAY_BF16, ASSAY_F64};

typedef struct net_case {
    int64_t mode, hidden, proj, layers;
    bool batch_first, bidirectional, has_bias;
    double dropout;
    int64_t batch_sizes[3]; /* none: 0 first */
    int64_t batch;
} net_case;

static const net_case nets[] = {
    {0, 9, 0, 1, false, false, true, 0, {0}, 4}, {1, 9, 0, 2, true, true, true, 0, {0}, 4},   {2, 9, 0, 2, true, true, false, 0, {0}, 4},
    {2, 9, 5, 2, false, true, true, 0, {0}, 4},  {3, 9, 0, 3, false, true, true, 0.3, {0}, 4}, {3, 9, 0, 1, false, true, true, 0, {4, 3, 1}, 4},
    {2, 9, 5, 1, true, false, true, 0, {4, 4, 2}, 4},
    /* for several threads, and blocks of sequences, units and gates that are not filled */
    {2, 70, 0, 1, false, true, true, 0, {0}, 17},        {3, 103, 0, 2, true, true, true, 0.3, {0}, 9},
    {2, 70, 0, 1, false, true, true, 0, {17, 9, 2}, 17}, {3, 64, 0, 1, false, true, false, 0, {18, 18, 1}, 18},
    {1, 130, 0, 1, false, true, true, 0, {11, 3, 3}, 11}, {0, 96, 0, 2, false, false, true, 0, {0}, 8},
};

enum { STEPS = 3, IN = 6 };

static int make_weights(kit *k, dtype t, const net_case *c, tensor **weights) {
    const int64_t gates[] = {1, 1, 4, 3};
    int n = 0;
    int64_t dirs = c->bidirectional ? 2 : 1, out = c->proj > 0 ? c->proj : c->hidden, tall = gates[c->mode] * c->hidden;
    for (int64_t cell = 0; cell < c->layers * dirs; cell++) {
        weights[n++] = kit_tensor(k, t, 2, (const int64_t[]){tall, cell < dirs ? IN : out * dirs}, NULL);
        weights[n++] = kit_tensor(k, t, 2, (const int64_t[]){tall, out}, NULL);
        for (int b = 0; b < 2 && c->has_bias; b++) {
            weights[n++] = kit_tensor(k, t, 1, &tall, NULL);
        }
        if (c->proj > 0) {
            weights[n++] = kit_tensor(k, t, 2, (const int64_t[]){c->proj, c->hidden}, NULL);
        }
    }
    return n;
}

static void check_net(kit *k, dtype t, const net_case *c) {
    tensor *weights[32];
    arg none = {.kind = ARG_NONE};
    bool packed = c->batch_sizes[0] > 0;
    int64_t batch = c->batch;
    int64_t dirs = c->bidirectional ? 2 : 1, out = c->proj > 0 ? c->proj : c->hidden, states = c->layers * dirs;
    int64_t rows = c->batch_sizes[0] + c->batch_sizes[1] + c->batch_sizes[2];
    int64_t x_sizes[] = {c->batch_first ? batch : STEPS, c->batch_first ? STEPS : batch, IN}, packed_sizes[] = {rows, IN};
    int64_t y_sizes[] = {packed ? rows : x_sizes[0], packed ? out * dirs : x_sizes[1], out * dirs};
    int n = make_weights(k, t, c, weights);
    arg x = arg_tensor(kit_tensor(k, t, packed ? 2 : 3, packed ? packed_sizes : x_sizes, NULL)), w = arg_tensors(weights, n);
    arg hx = arg_tensor(kit_tensor(k, t, 3, (const int64_t[]){states, batch, out}, NULL));
    arg cx = c->mode == 2 ? arg_tensor(kit_tensor(k, t, 3, (const int64_t[]){states, batch, c->hidden}, NULL)) : none;
    arg y = arg_tensor(kit_tensor(k, t, packed ? 2 : 3, y_sizes, NULL)), stride = arg_int(n / (int)states);
    arg tail[] = {arg_int(c->mode), arg_int(c->hidden), arg_int(c->proj), arg_int(c->layers), arg_bool(c->batch_first && !packed),
                  arg_float(c->dropout), arg_bool(c->dropout > 0), arg_bool(c->bidirectional),
                  arg_ints(c->batch_sizes, packed ? 3 : 0), none};
    arg forward[16] = {x, w, stride, none, hx, cx}, backward[22] = {x, w, stride, y, hx, cx, y, y, hx, cx};
    memcpy(forward + 6, tail, sizeof tail);
    memcpy(backward + 10, tail, sizeof tail);
    backward[20] = arg_tensor(kit_tensor(k, ASSAY_U8, 1, (const int64_t[]){5}, NULL));
    backward[21] = (arg){.kind = ARG_BOOLS, .n = 4, .bools = (const bool[]){true, c->mode != 1, true, c->mode != 0}};
    op_call call = kit_call(k, "_cudnn_rnn", forward, 16);
    error err = {0};
    assert_int_equal(op_fill_inputs(&call, k->seed, &err), ASSAY_OK);
    kit_check(k, "_cudnn_rnn", forward, 16);
    kit_check(k, "_cudnn_rnn_backward", backward, 22);
}

static void nets_agree(void **state) {
    (void)state;
    kit k;
    kit_open(&k, 81);
    for (size_t i = 0; i < countof(nets) * countof(floats); i++) {
        check_net(&k, floats[i % countof(floats)], &nets[i / countof(floats)]);
        kit_reset(&k);
    }
    kit_close(&k);
}

/* States that grow a thousandfold and more, some of which come out small: their rounding is that of the large ones they are made of. */
static void growing_states_agree(void **state) {
    (void)state;
    enum { LONG = 64, BATCH = 64, UNITS = 8, SEEDS = 20 };
    arg none = {.kind = ARG_NONE};
    for (uint64_t seed = 1; seed <= SEEDS * countof(floats); seed++) {
        const dtype t = floats[seed % countof(floats)];
        if (t == ASSAY_F16 || t == ASSAY_BF16) {
            continue; /* a state is rounded each time there, to what is far off for a small one */
        }
        kit k;
        kit_open(&k, seed);
        rng r = rng_make_stream(seed, 3);
        tensor *weights[] = {kit_tensor(&k, t, 2, (const int64_t[]){UNITS, 3}, NULL), kit_tensor(&k, t, 2, (const int64_t[]){UNITS, UNITS}, NULL)};
        fill_uniform(weights[0], &r, -1, 1);
        fill_uniform(weights[1], &r, -1, 1);
        arg x = arg_tensor(kit_tensor(&k, t, 3, (const int64_t[]){LONG, BATCH, 3}, NULL));
        arg hx = arg_tensor(kit_tensor(&k, t, 3, (const int64_t[]){1, BATCH, UNITS}, NULL));
        kit_check(&k, "_cudnn_rnn", (const arg[]){x, arg_tensors(weights, 2), arg_int(2), none, hx, none, arg_int(0), arg_int(UNITS), arg_int(0),
                                                  arg_int(1), arg_bool(false), arg_float(0), arg_bool(false), arg_bool(false),
                                                  arg_ints(NULL, 0), none}, 16);
        kit_close(&k);
    }
}

/* With zero weights every gate is 1/2 and the candidate 0: c = c0 / 2, h = tanh(c) / 2, one step after the other. */
static void idle_lstm_halves_its_cell(void **state) {
    (void)state;
    kit k;
    kit_open(&k, 82);
    arg none = {.kind = ARG_NONE};
    tensor *w[] = {kit_tensor(&k, ASSAY_F64, 2, (const int64_t[]){8, 3}, NULL), kit_tensor(&k, ASSAY_F64, 2, (const int64_t[]){8, 2}, NULL)};
    fill_constant(w[0], 0);
    fill_constant(w[1], 0);
    arg x = arg_tensor(kit_tensor(&k, ASSAY_F64, 3, (const int64_t[]){2, 1, 3}, NULL));
    arg hx = arg_tensor(kit_tensor(&k, ASSAY_F64, 3, (const int64_t[]){1, 1, 2}, NULL));
    arg cx = arg_tensor(kit_values(&k, ASSAY_F64, 3, (const int64_t[]){1, 1, 2}, (const double[]){1, -2}));
    op_call call = kit_call(&k, "_cudnn_rnn", (const arg[]){x, arg_tensors(w, 2), arg_int(2), none, hx, cx, arg_int(2), arg_int(2),
                                                            arg_int(0), arg_int(1), arg_bool(false), arg_float(0), arg_bool(false),
                                                            arg_bool(false), arg_ints(NULL, 0), none}, 16);
    outputs out;
    kit_run(&k, &call, &out);
    const double *y = (const double *)(const void *)tensor_data(&out.items[0]), *c = (const double *)(const void *)tensor_data(&out.items[2]);
    assert_true(fabs(y[0] - tanh(0.5) / 2) < 1e-14 && fabs(y[1] - tanh(-1) / 2) < 1e-14);
    assert_true(fabs(y[2] - tanh(0.25) / 2) < 1e-14 && fabs(c[0] - 0.25) < 1e-14 && fabs(c[1] + 0.5) < 1e-14);
    outputs_clear(&out);
    tensor *narrow = kit_tensor(&k, ASSAY_F64, 2, (const int64_t[]){7, 3}, NULL);
    arg bad[16];
    memcpy(bad, call.args, sizeof bad);
    bad[1] = arg_tensors((tensor *[]){narrow, w[1]}, 2);
    error err = {0};
    assert_int_equal(kit_infer(&k, "_cudnn_rnn", bad, 16, &out, &err), ASSAY_INVALID);
    kit_close(&k);
}

static void transforms_agree(void **state) {
    (void)state;
    kit k;
    kit_open(&k, 83);
    const int64_t lengths[] = {1, 2, 3, 4, 5, 7, 12, 31, 37, 64, 97, 120, 211};
    const dtype types[] = {ASSAY_C64, ASSAY_C128, ASSAY_C32};
    for (size_t i = 0; i < countof(lengths) * countof(types); i++) {
        int64_t n = lengths[i / countof(types)], sizes[] = {3, n, 5}, turned[] = {5, 15, 1};
        dtype t = types[i % countof(types)];
        for (int64_t norm = 0; norm < 3; norm++) {
            arg x = arg_tensor(kit_tensor(&k, t, 3, sizes, norm == 1 ? turned : NULL));
            kit_check(&k, "_fft_c2c", (const arg[]){x, INTS(1), arg_int(norm), arg_bool(norm != 2)}, 4);
            kit_check(&k, "_fft_c2c", (const arg[]){x, INTS(1, 2), arg_int(norm), arg_bool(norm == 2)}, 4);
            kit_check(&k, "_fft_c2c", (const arg[]){x, INTS(0, 1, 2), arg_int(norm), arg_bool(true)}, 4);
        }
        kit_reset(&k);
    }
    kit_close(&k);
}

/* Lines along memory and across it, whole registers of them side by side and some that are left; every radix, first and last. */
static void many_lines_agree(void **state) {
    (void)state;
    kit k;
    kit_open(&k, 85);
    const int64_t lengths[] = {6, 8, 9, 10, 12, 15, 16, 20, 24, 27, 36, 40, 45, 50, 60, 64, 77, 96, 133, 144};
    const dtype types[] = {ASSAY_C64, ASSAY_C128, ASSAY_C32};
    for (size_t i = 0; i < countof(lengths) * countof(types); i++) {
        int64_t n = lengths[i / countof(types)];
        dtype t = types[i % countof(types)];
        arg along = arg_tensor(kit_tensor(&k, t, 2, (const int64_t[]){37, n}, NULL));
        arg across = arg_tensor(kit_tensor(&k, t, 2, (const int64_t[]){n, 37}, NULL));
        kit_check(&k, "_fft_c2c", (const arg[]){along, INTS(1), arg_int(0), arg_bool(true)}, 4);
        kit_check(&k, "_fft_c2c", (const arg[]){along, INTS(1), arg_int(2), arg_bool(false)}, 4);
        kit_check(&k, "_fft_c2c", (const arg[]){across, INTS(0), arg_int(1), arg_bool(true)}, 4);
        kit_reset(&k);
    }
    kit_close(&k);
}

static void transforms_refuse(void **state) {
    (void)state;
    kit k;
    kit_open(&k, 84);
    outputs out;
    error err = {0};
    arg real = arg_tensor(kit_tensor(&k, ASSAY_F32, 1, (const int64_t[]){4}, NULL));
    arg x = arg_tensor(kit_tensor(&k, ASSAY_C64, 1, (const int64_t[]){4}, NULL));
    assert_int_equal(kit_infer(&k, "_fft_c2c", (const arg[]){real, INTS(0), arg_int(0), arg_bool(true)}, 4, &out, &err), ASSAY_INVALID);
    assert_int_equal(kit_infer(&k, "_fft_c2c", (const arg[]){x, INTS(1), arg_int(0), arg_bool(true)}, 4, &out, &err), ASSAY_INVALID);
    assert_int_equal(kit_infer(&k, "_fft_c2c", (const arg[]){x, INTS(0, 0), arg_int(0), arg_bool(true)}, 4, &out, &err), ASSAY_INVALID);
    assert_int_equal(kit_infer(&k, "_fft_c2c", (const arg[]){x, INTS(0), arg_int(3), arg_bool(true)}, 4, &out, &err), ASSAY_INVALID);
    kit_close(&k);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nets_agree),
        cmocka_unit_test(growing_states_agree),
        cmocka_unit_test(idle_lstm_halves_its_cell),
        cmocka_unit_test(transforms_agree), cmocka_unit_test(many_lines_agree),
        cmocka_unit_test(transforms_refuse),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
