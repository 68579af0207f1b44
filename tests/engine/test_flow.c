/* SPDX-License-Identifier: Apache-2.0 */
/* Compiled kernels whose tasks go on side by side or are taken in groups, against the reference in double: rows that begin within a
   line of memory, rows shorter and longer than a block, rows too long to have all in flight, columns, several results, halves, NaN and infinities.
   Results are small here: all of them are stored past the caches, as large ones are. */
#include "engine/flow_kit.h"

static const flow_case cases[] = {
    /* all phases of as many tasks; 1027 begins everywhere in a line */
    {"%x = input(T([9, 64], f32))\n", "%y = _softmax(%x, -1, False)\n", "%y"},
    {"%x = input(T([40, 1024], f32))\n", "%y = _softmax(%x, -1, False)\n", "%y"},
    {"%x = input(T([23, 1027], f32))\n", "%y = _softmax(%x, -1, False)\n", "%y"},
    {"%x = input(T([23, 127], f32))\n", "%y = _log_softmax(%x, -1, False)\n", "%y"},
    {"%x = input(T([1, 4096], f32))\n", "%y = _softmax(%x, -1, False)\n", "%y"},
    /* rows so long that blocks come from two places of them */
    {"%x = input(T([9, 4096], f32))\n", "%y = _softmax(%x, -1, False)\n", "%y"},
    {"%x = input(T([9, 5003], f32))\n", "%y = _log_softmax(%x, -1, False)\n", "%y"},
    {"%x = input(T([13, 2944], f32))\n", "%y = _log_softmax(%x, -1, False)\n%s = sum.dim_IntList(%y, [1])\n", "%y, %s"},
    {"%x = input(T([9, 15051], bf16))\n", "%y = _log_softmax(%x, -1, False)\n", "%y"},
    {"%x = input(T([9, 3520], f64))\n", "%y = _softmax(%x, -1, False)\n", "%y"},
    {"%x = input(T([2, 300, 192], f32))\n", "%y = _softmax(%x, 1, False)\n", "%y"},
    {"%x = input(T([3, 70, 1000], f32))\n", "%y = _log_softmax(%x, 1, False)\n", "%y"},
    /* rows in lanes: blocks of whole lines, rows that begin anywhere in one, and blocks that are not whole */
    {"%x = input(T([3, 37, 256], f32))\n", "%y = _softmax(%x, 1, False)\n", "%y"},
    {"%x = input(T([4, 33, 321], f32))\n", "%y = _softmax(%x, 1, False)\n", "%y"},
    {"%x = input(T([5, 17, 130], f32))\n", "%y = _softmax(%x, 1, False)\n", "%y"},
    {"%x = input(T([2, 900, 200], f32))\n", "%y = _softmax(%x, 1, False)\n", "%y"},
    {"%x = input(T([2, 50, 1027], f32))\n", "%y = _softmax(%x, 1, False)\n%z = _log_softmax(%x, 1, False)\n", "%y, %z"},
    {"%x = input(T([2, 7, 20, 333], f32))\n", "%y = _softmax(%x, 1, False)\n", "%y"},
    {"%x = input(T([3, 40, 330], bf16))\n", "%y = _softmax(%x, 1, False)\n", "%y"},
    {"%x = input(T([3, 40, 330], f16))\n", "%y = _softmax(%x, 1, False)\n", "%y"},
    {"%x = input(T([3, 40, 339], f64))\n", "%y = _log_softmax(%x, 1, False)\n", "%y"},
    {"%g = input(T([3, 40, 515], f32))\n%x = input(T([3, 40, 515], f32))\n", "%y = _softmax_backward_data(%g, %x, 1, f32)\n", "%y"},
    {"%g = input(T([3, 40, 512], f32))\n%x = input(T([3, 40, 512], f32))\n", "%y = _log_softmax_backward_data(%g, %x, 1, f32)\n", "%y"},
    /* a reduction in the last phase */
    {"%x = input(T([2, 33, 96], f32))\n", "%y = _softmax(%x, 0, False)\n%v = var.correction(%x, [0], correction=1, keepdim=True)\n", "%y, %v"},
    {"%x = input(T([20, 33, 96], f32))\n",
     "%y = _softmax(%x, 0, False)\n%m = mean.dim(%x, [0], True)\n%d = sub.Tensor(%x, %m)\n%q = mul.Tensor(%d, %d)\n"
     "%v = sum.dim_IntList(%q, [0])\n", "%y, %v"},
    {"%x = input(T([37, 768], f32))\n" NORM_INPUTS("768"),
     "%y, %m, %r = native_layer_norm(%x, [768], %w, %b, 1e-05)\n%s = sum.dim_IntList(%y, [1])\n", "%y, %s"},
    {"%x = input(T([32, 3, 64, 64], f32))\n" NORM_INPUTS("3"),
     "%y, %m, %r = native_batch_norm(%x, %w, %b, None, None, True, 0.1, 1e-05)\n%s = sum.dim_IntList(%y, [0, 2, 3])\n", "%y, %s"},
    {"%x = input(T([3, 45, 517], f32))\n",
     "%m = mean.dim(%x, [1], True)\n%d = sub.Tensor(%x, %m)\n%q = mul.Tensor(%d, %d)\n%v = mean.dim(%q, [1], True)\n%r = rsqrt(%v)\n"
     "%y = mul.Tensor(%d, %r)\n", "%y, %v"},
    {"%x = input(T([37, 768], f32))\n" NORM_INPUTS("768"), "%y, %m, %r = native_layer_norm(%x, [768], %w, %b, 1e-05)\n", "%y, %m, %r"},
    {"%x = input(T([37, 771], f32))\n" NORM_INPUTS("771"), "%y, %m, %r = native_layer_norm(%x, [771], %w, %b, 1e-05)\n", "%y, %m, %r"},
    {"%x = input(T([6, 8, 10, 13], f32))\n" NORM_INPUTS("8"),
     "%y, %m, %r = native_group_norm(%x, %w, %b, 6, 8, 130, 2, 1e-05)\n", "%y, %m, %r"},
    /* what follows a norm whose loops are the groups' */
    {"%x = input(T([6, 8, 10, 13], f32))\n" NORM_INPUTS("8"),
     "%n, %m, %r = native_group_norm(%x, %w, %b, 6, 8, 130, 2, 1e-05)\n%y = silu(%n)\n", "%y, %m, %r"},
    {"%x = input(T([6, 8, 10, 13], f32))\n%g = input(T([6, 8, 10, 13], f32))\n" NORM_INPUTS("8"),
     "%n, %m, %r = native_group_norm(%x, %w, %b, 6, 8, 130, 2, 1e-05)\n%y = silu_backward(%g, %n)\n", "%y, %n"},
    {"%g = input(T([50, 640], f32))\n%x = input(T([50, 640], f32))\n", "%y = _softmax_backward_data(%g, %x, -1, f32)\n", "%y"},
    /* several rows a task: they are kept */
    {"%x = input(T([5, 9, 12, 12], f32))\n" NORM_INPUTS("9"),
     "%y, %m, %r = native_batch_norm(%x, %w, %b, None, None, True, 0.1, 1e-05)\n", "%y, %m, %r"},
    /* too much to have in flight: only the ends are side by side */
    {"%x = input(T([16, 3, 75, 75], f32))\n" NORM_INPUTS("3"),
     "%y, %m, %r = native_batch_norm(%x, %w, %b, None, None, True, 0.1, 1e-05)\n", "%y, %m, %r"},
    {"%x = input(T([32, 3, 64, 64], f32))\n" NORM_INPUTS("3"),
     "%y, %m, %r = native_batch_norm(%x, %w, %b, None, None, True, 0.1, 1e-05)\n", "%y, %m, %r"},
    /* rows of whole blocks are taken a few at a time */
    {"%x = input(T([7, 9, 16, 12], f32))\n" NORM_INPUTS("9"),
     "%y, %m, %r = native_batch_norm(%x, %w, %b, None, None, True, 0.1, 1e-05)\n", "%y, %m, %r"},
    {"%x = input(T([26, 3, 64, 64], f32))\n" NORM_INPUTS("3"),
     "%y, %m, %r = native_batch_norm(%x, %w, %b, None, None, True, 0.1, 1e-05)\n", "%y, %m, %r"},
    {"%g = input(T([13, 9, 8, 8], f32))\n%x = input(T([13, 9, 8, 8], f32))\n%w = input(T([9], f32))\n%m = input(T([9], f32))\n"
     "%r = input(T([9], f32), low=0.5, high=2.0)\n",
     "%y, %p, %q = native_batch_norm_backward(%g, %x, %w, None, None, %m, %r, True, 1e-05, [True, True, True])\n", "%y, %p, %q"},
    {"%x = input(T([5, 30, 8, 24], f32))\n" NORM_INPUTS("30"),
     "%y, %m, %r = native_group_norm(%x, %w, %b, 5, 30, 192, 3, 1e-05)\n", "%y, %m, %r"},
};

/* Single passes: tasks are taken in groups, a line of each in turn. */
static const flow_case together[] = {
    {"%x = input(T([9, 1024], f32))\n", "%y = relu(%x)\n", "%y"}, /* a group that is not full */
    {"%x = input(T([64], f32))\n", "%y = relu(%x)\n", "%y"},
    {"%x = input(T([5003], f32))\n", "%y = gelu(%x)\n", "%y"}, /* a task that is not, and lanes that fill no line */
    {"%x = input(T([7, 1040], f32))\n%z = input(T([1040], f32))\n", "%y = mul.Tensor(%x, %z)\n", "%y"},
    {"%x = input(T([7, 1100], f32))\n%z = input(T([1100], f32))\n", "%y = mul.Tensor(%x, %z)\n", "%y"}, /* begins within lines */
    {"%x = input(T([133, 96], f32))\n%z = input(T([96], f32))\n", "%y = add.Tensor(%x, %z)\n", "%y"}, /* many tasks a page */
    {"%x = input(T([5, 66, 80], f32))\n%z = input(T([66, 1], f32))\n", "%y = mul.Tensor(%x, %z)\n", "%y"},
    {"%x = input(T([3, 6, 50, 64], f32, stride=(19200, 64, 384, 1)))\n", "%y = clone(%x, memory_format=torch.contiguous_format)\n", "%y"},
    {"%x = input(T([9000], f32))\n", "%y = _to_copy(%x, dtype=f64)\n", "%y"},
    {"%x = input(T([9000], f32))\n", "%y = _to_copy(%x, dtype=f16)\n", "%y"},
    {"%x = input(T([9000], bf16))\n", "%y = _to_copy(%x, dtype=f32)\n", "%y"},
    {"%x = input(T([9000], f32))\n", "%p = relu(%x)\n%q = lt.Scalar(%x, 0.25)\n", "%p, %q"},
    {"%x = input(T([9000], i64))\n%z = input(T([9000], i64))\n", "%y = add.Tensor(%x, %z)\n", "%y"},
    {"%x = input(T([9000], c64))\n", "%y = mul.Tensor(%x, %x)\n", "%y"},
    {"%x = input(T([9000], u8))\n", "%y = bitwise_not(%x)\n", "%y"},
    {"%x = input(T([9000], f32))\n", "%y = sin(%x)\n", "%y"},
    /* functions of blocks: of what is read, of each other, and of what is computed first */
    {"%x = input(T([9001], f32))\n", "%s = sigmoid(%x)\n%t = tanh(%x)\n%e = exp(%x)\n%u = silu(%x)\n", "%s, %t, %e, %u"},
    {"%x = input(T([9001], f32))\n%z = input(T([9001], f32))\n",
     "%a = add.Tensor(%x, %z)\n%s = sigmoid(%a)\n%t = tanh(%s)\n%h = mul.Tensor(%t, %a)\n%e = exp(%h)\n%y = gelu(%e)\n", "%y, %s"},
    {"%g = input(T([5000], f32))\n%x = input(T([5000], f32))\n", "%y = gelu_backward(%g, %x)\n%z = silu_backward(%g, %x)\n", "%y, %z"},
    /* of two operands: numbers, rows, what is computed first, for one of them or for both */
    {"%x = input(T([9001], f32), low=0.5, high=2.0)\n", "%y = pow.Tensor_Scalar(%x, 2.5)\n%z = pow.Scalar(1.5, %x)\n", "%y, %z"},
    {"%x = input(T([9001], f32))\n", "%y = pow.Tensor_Scalar(%x, -3)\n%z = pow.Scalar(-1.5, %x)\n", "%y, %z"},
    {"%x = input(T([7, 1100], f32), low=0.5, high=2.0)\n%z = input(T([1100], f32))\n", "%y = pow.Tensor_Tensor(%x, %z)\n", "%y"},
    {"%x = input(T([7, 1040], f32), low=0.5, high=2.0)\n%z = input(T([7, 1], f32))\n", "%y = pow.Tensor_Tensor(%x, %z)\n", "%y"},
    {"%x = input(T([9001], f32))\n%z = input(T([9001], f32))\n",
     "%a = exp(%x)\n%b = add.Tensor(%x, %z)\n%c = mul.Tensor(%a, 1.5)\n%p = pow.Tensor_Tensor(%c, %b)\n%q = pow.Tensor_Tensor(%a, %a)\n"
     "%y = add.Tensor(%p, %b)\n", "%y, %q"},
};

/* Running sums: rows of whole blocks, rows that begin within a line, what is computed first, columns, halves. */
static const flow_case scans[] = {
    {"%x = input(T([9, 1024], f32))\n", "%y = cumsum(%x, 1)\n", "%y"},
    {"%x = input(T([300], f32))\n", "%y = cumsum(%x, 0)\n", "%y"},
    {"%x = input(T([23, 64], f32))\n", "%y = cumsum(%x, 1)\n", "%y"},
    {"%x = input(T([23, 331], f32))\n%z = input(T([331], f32))\n", "%a = mul.Tensor(%x, %z)\n%y = cumsum(%a, 1)\n", "%y"},
    {"%x = input(T([5, 7, 260], f32, stride=(1820, 260, 1)))\n", "%s = sin(%x)\n%y = cumsum(%s, 2)\n%z = cumsum(%x, 1)\n", "%y, %z"},
    {"%x = input(T([23, 331], f32))\n", "%y = cumsum(%x, 1)\n%h = _to_copy(%y, dtype=f16)\n", "%h"},
    {"%x = input(T([23, 384], f32))\n", "%y = cumsum(%x, 1)\n%h = _to_copy(%y, dtype=bf16)\n%z = relu(%y)\n", "%h, %z"},
    {"%x = input(T([40, 300], f32, stride=(1, 40)))\n", "%y = cumsum(%x, 1)\n", "%y"},
    {"%x = input(T([3, 17, 1024], f32))\n", "%y = cumsum(%x, 1)\n", "%y"},
    {"%x = input(T([3, 17, 203], f32))\n%z = input(T([203], f32))\n", "%a = mul.Tensor(%x, %z)\n%y = cumsum(%a, 1)\n%b = exp(%a)\n", "%y, %b"},
    {"%x = input(T([2, 9, 2100], f32))\n", "%y = cumsum(%x, 1)\n%z = cumsum(%y, 2)\n", "%y, %z"},
    {"%x = input(T([70, 5, 80], f64))\n", "%y = cumsum(%x, 0)\n", "%y"},
};

#define COPY "%y = clone(%x, memory_format=torch.contiguous_format)\n"

/* What is stored past the caches and lies across its rows where it is read. */
static const flow_case turned[] = {
    {"%x = input(T([300, 160], f32, stride=(1, 320)))\n", COPY, "%y"},
    {"%x = input(T([256, 64], f32, stride=(1, 256)))\n", COPY, "%y"},
    {"%x = input(T([1001, 176], f32, stride=(1, 1003)))\n", COPY, "%y"}, /* fewer rows at the end */
    {"%x = input(T([300, 150], f32, stride=(1, 300)))\n", COPY, "%y"},   /* rows begin everywhere in a line */
    {"%x = input(T([260, 64], f32, stride=(1, 32768)))\n", COPY, "%y"},  /* rows that meet in the caches */
    {"%x = input(T([260, 64], f32, stride=(1, 16384)))\n", COPY, "%y"},
    {"%x = input(T([1030, 192], f32, stride=(1, 2048)))\n", COPY, "%y"},
    {"%x = input(T([600, 128], f32, stride=(1, 1024)))\n", "%z = neg(%x)\n%y = clone(%z, memory_format=torch.contiguous_format)\n", "%y"},
    {"%x = input(T([1034, 128], bf16, stride=(1, 2048)))\n", COPY, "%y"},
    {"%x = input(T([2, 20, 18, 64], f32, stride=(23040, 18, 1, 360)))\n", COPY, "%y"},
    {"%x = input(T([3, 257, 2, 32], f32, stride=(16448, 1, 257, 514)))\n", COPY, "%y"},
    {"%x = input(T([133, 104], f64, stride=(1, 133)))\n", COPY, "%y"},
    {"%x = input(T([140, 24], i64, stride=(1, 151)))\n", COPY, "%y"},
    {"%x = input(T([140, 24], c64, stride=(1, 151)))\n", COPY, "%y"},
    {"%x = input(T([1100, 192], u8, stride=(1, 1101)))\n", COPY, "%y"},
    {"%x = input(T([1100, 192], b8, stride=(1, 1101)))\n", COPY, "%y"},
    {"%x = input(T([600, 192], bf16, stride=(1, 609)))\n", COPY, "%y"},
    {"%x = input(T([600, 208], f16, stride=(1, 609)))\n", COPY "%z = relu(%y)\n", "%z"},
    {"%x = input(T([600, 160], i16, stride=(1, 600)))\n", COPY, "%y"},
    {"%x = input(T([300, 160], f32, stride=(1, 320)))\n", "%y = _to_copy(%x, dtype=f64, memory_format=torch.contiguous_format)\n", "%y"},
    {"%x = input(T([300, 192], f32, stride=(1, 320)))\n", "%y = _to_copy(%x, dtype=f16, memory_format=torch.contiguous_format)\n", "%y"},
    {"%x = input(T([600, 192], f16, stride=(1, 600)))\n", "%y = _to_copy(%x, dtype=f32, memory_format=torch.contiguous_format)\n", "%y"},
    {"%x = input(T([300, 192], f32, stride=(1, 320)))\n", COPY "%p = relu(%y)\n%q = lt.Scalar(%y, 0.25)\n", "%p, %q"},
    /* what lies along the lanes as well, and what no element has of its own */
    {"%x = input(T([300, 512], f32, stride=(1, 320)))\n%z = input(T([300, 512], f32))\n", "%y = add.Tensor(%z, %x)\n", "%y"},
    {"%x = input(T([300, 160], f32, stride=(1, 320)))\n%z = input(T([160], f32))\n", COPY "%s = mul.Tensor(%y, %z)\n", "%s"},
    {"%x = input(T([300, 160], f32, stride=(1, 320)))\n%z = input(T([300, 160], f32, stride=(1, 300)))\n",
     COPY "%s = mul.Tensor(%y, %z)\n", "%s"},
};

static void tasks_side_by_side_agree(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        check(&cases[i], DTYPE_F32, 1, 0);
        check(&cases[i], DTYPE_F32, 3, 0);
        check(&cases[i], DTYPE_BF16, 2, 0);
        check(&cases[i], DTYPE_F16, 2, 0);
    }
}

/* As processors have it that read on from row to row. */
static void rows_one_by_one_agree(void **state) {
    (void)state;
    compile_options *o = &((compiled_backend *)compiled)->options;
    o->asks_far = o->no_twins = o->few_stores = true;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        check(&cases[i], DTYPE_F32, 3, NAN);
        check(&cases[i], DTYPE_BF16, 2, 0);
    }
    o->asks_far = o->no_twins = o->few_stores = false;
}

static void what_is_turned_round_agrees(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof turned / sizeof turned[0]; i++) {
        check(&turned[i], DTYPE_AS_RECORDED, 1, 0);
        check(&turned[i], DTYPE_AS_RECORDED, 3, 0);
        check(&turned[i], DTYPE_AS_RECORDED, 2, NAN);
        check(&turned[i], DTYPE_BF16, 2, 0);
        check(&turned[i], DTYPE_F16, 2, INFINITY);
        check(&turned[i], DTYPE_F64, 2, 0);
    }
}

/* On processors too that go straight on. */
static void tasks_in_groups_agree(void **state) {
    (void)state;
    bool *alone = &((compiled_backend *)compiled)->options.no_together, chosen = *alone;
    *alone = true;
    for (size_t i = 0; i < sizeof together / sizeof together[0]; i++) {
        check(&together[i], DTYPE_AS_RECORDED, 2, NAN);
    }
    *alone = false;
    for (size_t i = 0; i < sizeof together / sizeof together[0]; i++) {
        check(&together[i], DTYPE_AS_RECORDED, 1, 0);
        check(&together[i], DTYPE_AS_RECORDED, 3, NAN);
        check(&together[i], DTYPE_AS_RECORDED, 2, INFINITY);
        check(&together[i], DTYPE_AS_RECORDED, 2, -INFINITY);
        check(&together[i], DTYPE_BF16, 2, 0);
        check(&together[i], DTYPE_F16, 2, 0);
    }
    *alone = chosen;
}

/* Rows that are read backwards, since others are not, are asked for so: behind the end of one comes the beginning of the row before it.
   Where all are, they are stored backwards instead. */
static void asks_for_the_next_row(void **state) {
    static const flow_case flipped = {"%x = input(T([8, 64, 1024], f32))\n", "%y = flip(%x, [1])\n", "%y"};
    static const flow_case both = {"%x = input(T([8, 64, 1024], f32))\n", "%f = flip(%x, [1])\n%y = add.Tensor(%f, %x)\n", "%y"};
    (void)state;
    compile_options *o = &((compiled_backend *)compiled)->options, chosen = *o;
    o->few_stores = o->no_together = true; /* several pages at a time are asked for as they are taken */
    assert_true(is_in_text(&both, " < 512 ? 512 : -1536), "));
    assert_true(is_in_text(&flipped, "stream_lines(b1 + 65536 * v0 - 1024 * v1 + v2 + 64512, "));
    check(&both, DTYPE_AS_RECORDED, 2, NAN);
    check(&flipped, DTYPE_AS_RECORDED, 2, NAN);
    check(&flipped, DTYPE_BF16, 1, 0);
    *o = chosen;
}

/* A logistic function is a quotient where that is said to be faster. */
static void divides_if_told(void **state) {
    static const flow_case logistic = {"%x = input(T([64, 1000], f32))\n", "%y = sigmoid(%x)\n", "%y"};
    (void)state;
    compile_options *o = &((compiled_backend *)compiled)->options;
    o->divides = true;
    assert_false(is_in_text(&logistic, "sigmoid_divided_block_f32")); /* past the caches memory decides */
    o->streams_all = false;
    assert_true(is_in_text(&logistic, "sigmoid_divided_block_f32"));
    check(&logistic, DTYPE_AS_RECORDED, 2, NAN);
    check(&logistic, DTYPE_AS_RECORDED, 2, -INFINITY);
    o->divides = false;
    assert_false(is_in_text(&logistic, "sigmoid_divided_block_f32"));
    o->streams_all = true;
}

/* What bounds make of NaN may be anything where it is multiplied by NaN, and there alone. */
static void bounds_of_factors_agree(void **state) {
    static const char x[] = "%x = input(T([64, 1000], f32))\n", two[] = "%x = input(T([64, 1000], f32))\n%w = input(T([64, 1000], f32))\n";
    static const flow_case hidden[] = {
        {x, "%y = hardswish(%x)\n", "%y"},
        {x, "%h = hardsigmoid(%x)\n%y = mul.Tensor(%h, %x)\n", "%y"},
    };
    static const flow_case seen[] = {
        {x, "%y = hardsigmoid(%x)\n", "%y"},
        {x, "%h = hardsigmoid(%x)\n%y = mul.Tensor(%h, %x)\n", "%y, %h"},
        {x, "%h = hardsigmoid(%x)\n%y = mul.Tensor(%h, %h)\n", "%y"},
        {two, "%h = hardsigmoid(%x)\n%y = mul.Tensor(%h, %w)\n", "%y"},
        {x, "%h = hardtanh(%x, -1, 1)\n%y = add.Tensor(%h, %x)\n", "%y"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof hidden / sizeof hidden[0]; i++) {
        assert_true(is_in_text(&hidden[i], "larger_by_bits_f32"));
        check(&hidden[i], DTYPE_AS_RECORDED, 2, NAN);
        check(&hidden[i], DTYPE_AS_RECORDED, 2, INFINITY);
        check(&hidden[i], DTYPE_BF16, 2, -INFINITY);
    }
    for (size_t i = 0; i < sizeof seen / sizeof seen[0]; i++) {
        assert_false(is_in_text(&seen[i], "larger_by_bits_f32"));
        check(&seen[i], DTYPE_AS_RECORDED, 2, NAN);
    }
}

static void running_sums_agree(void **state) {
    (void)state;
    compile_options *o = &((compiled_backend *)compiled)->options;
    for (int way = 0; way < 4; way++) {
        o->streams_all = way % 2 == 0;
        o->few_stores = way / 2 == 0;
        for (size_t i = 0; i < sizeof scans / sizeof scans[0]; i++) {
            check(&scans[i], DTYPE_AS_RECORDED, 1, 0);
            check(&scans[i], DTYPE_AS_RECORDED, 3, NAN);
            check(&scans[i], DTYPE_AS_RECORDED, 2, -INFINITY);
            check(&scans[i], DTYPE_BF16, 2, 0);
            check(&scans[i], DTYPE_F16, 2, 0);
            check(&scans[i], DTYPE_F64, 2, 0);
        }
    }
    assert_true(is_in_text(&scans[0], "scan_block_f32"));
    o->streams_all = true;
    o->few_stores = false;
}

static void keep_nan_and_infinities(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        check(&cases[i], DTYPE_F32, 2, NAN);
        check(&cases[i], DTYPE_F32, 2, -INFINITY);
    }
}

/* As processors have it to which a store is dear, and of halves all of them. */
static void sums_in_registers_agree(void **state) {
    (void)state;
    static const flow_case wide = {"%x = input(T([40, 1024], f32))\n", "%y = _softmax(%x, -1, False)\n", "%y"};
    static const flow_case rows = {"%x = input(T([40, 1024], bf16))\n", "%y = _softmax(%x, -1, False)\n", "%y"};
    static const flow_case columns = {"%x = input(T([3, 37, 256], f32))\n", "%y = _softmax(%x, 1, False)\n", "%y"};
    static const flow_case pairs = {"%x = input(T([23, 1027], bf16))\n", "%y = _log_softmax(%x, -1, False)\n", "%y"};
    static const flow_case turns = {"%x = input(T([11, 9, 16, 13], f32))\n", "%y = sum.dim_IntList(%x, [0, 2, 3])\n", "%y"};
    compile_options *o = &((compiled_backend *)compiled)->options;
    assert_false(is_in_text(&wide, "held_f32"));
    assert_true(is_in_text(&rows, "take_larger_held_f32"));
    assert_true(is_in_text(&pairs, "stream_bf16_pairs"));
    assert_false(is_in_text(&turns, "group_end"));
    o->no_twins = o->few_stores = o->asks_far = true;
    assert_true(is_in_text(&turns, "group_end"));
    check(&turns, DTYPE_AS_RECORDED, 2, NAN);
    check(&turns, DTYPE_BF16, 3, 0);
    assert_true(is_in_text(&wide, "take_larger_held_f32"));
    assert_true(is_in_text(&columns, "held_to_f32"));
    check(&pairs, DTYPE_AS_RECORDED, 2, NAN);
    check(&pairs, DTYPE_AS_RECORDED, 3, -INFINITY);
    check(&rows, DTYPE_AS_RECORDED, 2, NAN);
    check(&rows, DTYPE_AS_RECORDED, 2, -INFINITY);
    check(&rows, DTYPE_F16, 3, INFINITY);
    o->no_twins = o->few_stores = o->asks_far = false;
}

/* Single loops take bf16 in pairs too, what is stored through the caches and in place of what is read, with a rest of a block; not beside
   what lies in order. */
static void single_loops_take_pairs(void **state) {
    (void)state;
    compile_options *o = &((compiled_backend *)compiled)->options;
    static const flow_case pairs[] = {
        {"%x = input(T([3, 1000], bf16))\n%w = input(T([1000], bf16))\n", "%y = add.Tensor(%x, %w, alpha=0.5)\n", "%y"},
        {"%x = input(T([3001], bf16))\n", "%z = elu(%x, 0.5)\n%y = mul_.Tensor(%z, %x)\n", "%y"},
        {"%x = input(T([3001], bf16))\n%g = input(T([3001], bf16))\n", "%y = leaky_relu_backward(%g, %x, 0.1, False)\n", "%y"},
    };
    static const flow_case in_order = {"%x = input(T([3001], bf16))\n%w = input(T([3001], f32))\n",
                                       "%z = mul.Tensor(%x, %w)\n%y = _to_copy(%z, dtype=bf16)\n", "%y"};
    const bool rounds = o->rounds_pairs;
    o->few_stores = true;
    o->streams_all = o->rounds_pairs = false;
    assert_false(is_in_text(&pairs[0], "pairs")); /* without an instruction for it */
    o->rounds_pairs = true;
    for (size_t i = 0; i < countof(pairs); i++) {
        assert_true(is_in_text(&pairs[i], "nearest_bf16_pairs"));
        check(&pairs[i], DTYPE_AS_RECORDED, 2, NAN);
        check(&pairs[i], DTYPE_AS_RECORDED, 1, INFINITY);
    }
    assert_false(is_in_text(&in_order, "pairs"));
    check(&in_order, DTYPE_AS_RECORDED, 2, 0);
    o->rounds_pairs = rounds;
    o->few_stores = false;
    o->streams_all = true;
}

/* Results of middling size pass the caches where a kernel has phases, unless they are read again. */
static void passes_the_caches(const char *body, bool expected) {
    compiled_backend *b = (compiled_backend *)compiled;
    arena memory = {0};
    text source = {0};
    graph g;
    plan *p;
    error err = {0};
    text_addf(&source, "graph flow\n%s", body);
    assert_int_equal(graph_read(&memory, table, source.data, source.length, &(bind_options){0}, &g, &err), ASSAY_OK);
    assert_int_equal(graph_allocate(&g, &device_cpu, NULL), ASSAY_OK);
    b->options.streams_all = false;
    assert_int_equal(compiled->prepare(compiled, &g, &p, &err), ASSAY_OK);
    b->options.streams_all = true;
    assert_int_equal(strstr(((compiled_plan *)p)->program.body, "stream_lines(") != NULL, expected);
    p->release(p);
    graph_clear(&g);
    text_clear(&source);
    arena_clear(&memory);
}

static void middling_results_pass_the_caches(void **state) {
    compile_options *o = &((compiled_backend *)compiled)->options;
    (void)state;
    o->keeps_cached = true; /* where the last cache is faster than memory, rows that it holds stay there */
    passes_the_caches("%x = input(T([1024, 1024], f32))\n%y = _softmax(%x, 1, False)\nreturn %y\n", false);
    passes_the_caches("%x = input(T([4096, 1024], f32))\n%y = _softmax(%x, 1, False)\nreturn %y\n", true);
    passes_the_caches("%x = input(T([1024, 1024], f32))\n%y = _softmax(%x, 0, False)\nreturn %y\n", true);
    o->keeps_cached = false;
    passes_the_caches("%x = input(T([1024, 1024], f32))\n%y = _softmax(%x, 1, False)\nreturn %y\n", true);
    passes_the_caches("%x = input(T([1023, 1024], f32))\n%y = _softmax(%x, 1, False)\nreturn %y\n", false);
    passes_the_caches("%x = input(T([1024, 1024], f32))\n%y = relu(%x)\nreturn %y\n", false);
    passes_the_caches("%x = input(T([1024, 1024], f32))\n%y = _softmax(%x, 1, False)\n%s = sum.dim_IntList(%y, [0])\nreturn %y, %s\n",
                      false);
    passes_the_caches("%x = input(T([1024, 1024], f32))\n%i = input(T([1024, 1], i64), low=0, high=1024)\n"
                      "%y = _softmax(%x, 1, False)\n%s = gather(%y, 1, %i)\nreturn %y, %s\n", true);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tasks_side_by_side_agree),
        cmocka_unit_test(rows_one_by_one_agree),
        cmocka_unit_test(what_is_turned_round_agrees),
        cmocka_unit_test(tasks_in_groups_agree),
        cmocka_unit_test(asks_for_the_next_row),
        cmocka_unit_test(divides_if_told),
        cmocka_unit_test(bounds_of_factors_agree),
        cmocka_unit_test(running_sums_agree),
        cmocka_unit_test(keep_nan_and_infinities),
        cmocka_unit_test(sums_in_registers_agree),
        cmocka_unit_test(single_loops_take_pairs),
        cmocka_unit_test(middling_results_pass_the_caches),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
