/* SPDX-License-Identifier: Apache-2.0 */
/* Sums of columns by the kernel that goes over the rows for something else, against the reference in double: rows that are lanes and rows
   that are reduced, several dimensions of either, rows that parts cut and rows that they do not, types, strides, results past the caches,
   phases that are done again. */
#include "engine/graph_ways.h"
#include "engine/table_kit.h"

#include <math.h>

typedef struct sum_case {
    const char *inputs, *calls, *results;
    bool joins; /* what sums is what makes the rows */
} sum_case;

#define NORM "%w = input(T([256], f32))\n%b = input(T([256], f32))\n"

static const sum_case list[] = {
    /* rows are lanes; all of a row is, or blocks of it with a few lanes left over */
    {"%x = input(T([512, 300], f32))\n", "%y = relu(%x)\n%s = sum.dim_IntList(%y, [0])\n", "%y, %s", true},
    {"%x = input(T([64, 2600], f32))\n", "%y = gelu(%x)\n%s = sum.dim_IntList(%y, [0])\n%t = mean.dim(%x, [0])\n", "%y, %s, %t", true},
    {"%x = input(T([512, 300], f32), low=-1000000.0, high=1000000.0)\n%z = input(T([300], f32))\n",
     "%a = add.Tensor(%x, %z)\n%y = sin(%a)\n%s = sum.dim_IntList(%y, [0])\n", "%y, %s", true}, /* lanes done again for large angles */
    /* several dimensions of rows, of which parts cut the last, the first, or one that they leave uneven */
    {"%x = input(T([8, 64, 300], f32))\n", "%y = tanh(%x)\n%s = sum.dim_IntList(%y, [0, 1])\n", "%y, %s", true},
    {"%x = input(T([64, 4, 600], f32))\n", "%y = _softmax(%x, -1, False)\n%s = sum.dim_IntList(%y, [0, 1])\n", "%y, %s", true},
    {"%x = input(T([6, 100, 256], f32))\n", "%y = tanh(%x)\n%s = sum.dim_IntList(%y, [0, 1])\n", "%y, %s", false},
    {"%x = input(T([64, 128, 96], f32, stride=(96, 6144, 1)))\n%z = input(T([64, 128, 96], f32))\n",
     "%y = mul.Tensor(%x, %z)\n%s = sum.dim_IntList(%y, [0, 1])\n", "%y, %s", true}, /* in another order of rows than the parts' */
    {"%x = input(T([64, 16, 300], f32))\n", "%y = tanh(%x)\n%s = sum.dim_IntList(%y, [0])\n%t = sum.dim_IntList(%y, [0, 1])\n", "%y, %s, %t",
     true}, /* sums of both the first, in the same parts */
    /* several of a row */
    {"%x = input(T([256, 24, 32], f32))\n", "%y = _softmax(%x, -1, False)\n%s = sum.dim_IntList(%y, [0])\n", "%y, %s", true},
    {"%x = input(T([256, 24, 32], f32))\n", "%y = _softmax(%x, 1, False)\n%s = sum.dim_IntList(%y, [0])\n", "%y, %s", true},
    /* neighbours in memory lie down the columns, or along others than the sums' */
    {"%x = input(T([512, 300], f32, stride=(1, 512)))\n", "%y = relu(%x)\n%s = sum.dim_IntList(%y, [0])\n", "%y, %s", false},
    {"%x = input(T([512, 12, 64], f32, stride=(768, 1, 12)))\n", "%y = relu(%x)\n%s = sum.dim_IntList(%y, [0])\n", "%y, %s", false},
    {"%x = input(T([512, 300], f32, stride=(640, 2)))\n", "%y = relu(%x)\n%s = sum.dim_IntList(%y, [0])\n", "%y, %s", true},
    /* types */
    {"%x = input(T([512, 320], bf16))\n", "%y = silu(%x)\n%s = sum.dim_IntList(%x, [0], dtype=f32)\n", "%y, %s", true},
    {"%x = input(T([512, 331], f16))\n", "%y = _log_softmax(%x, 1, False)\n%s = sum.dim_IntList(%x, [0], dtype=f32)\n", "%y, %s", true},
    {"%x = input(T([512, 300], f64))\n", "%y = _softmax(%x, 1, False)\n%s = sum.dim_IntList(%y, [0])\n", "%y, %s", true},
    {"%x = input(T([512, 300], f16))\n", "%y = gelu(%x)\n%s = sum.dim_IntList(%y, [0])\n", "%y, %s", true},
    {"%x = input(T([512, 300], i64))\n", "%y = neg(%x)\n%s = sum.dim_IntList(%y, [0])\n", "%y, %s", true},
    {"%x = input(T([512, 300], i8))\n", "%y = neg(%x)\n%s = sum.dim_IntList(%y, [0])\n%m = mean.dim(%x, [0], dtype=f64)\n", "%y, %s, %m", true},
    {"%x = input(T([512, 300], b8))\n", "%y = logical_not(%x)\n%s = sum.dim_IntList(%y, [0])\n", "%y, %s", true},
    {"%x = input(T([512, 300], c64))\n", "%y = mul.Tensor(%x, %x)\n%s = sum.dim_IntList(%y, [0])\n", "%y, %s", true},
    /* norms and their gradients: the first phase may be done again */
    {"%x = input(T([640, 256], f32))\n%g = input(T([640, 256], f32))\n" NORM,
     "%y, %m, %r = native_layer_norm(%x, [256], %w, %b, 1e-05)\n"
     "%p, %q, %s = native_layer_norm_backward(%g, %x, [256], %m, %r, %w, %b, [True, True, True])\n", "%y, %p, %q, %s", true},
    {"%x = input(T([4, 160, 256], bf16))\n%g = input(T([4, 160, 256], bf16))\n" NORM "%m = input(T([4, 160, 1], f32))\n"
     "%r = input(T([4, 160, 1], f32), low=0.5, high=2.0)\n",
     "%p, %q, %s = native_layer_norm_backward(%g, %x, [256], %m, %r, %w, %b, [True, True, True])\n%h = mul.Tensor(%p, 0.5)\n"
     "%t = sum.dim_IntList(%h, [0, 1])\n", "%p, %q, %s, %h, %t", true},
    /* what a row's extremes decide, of rows of which some are far from what was guessed */
    {"%x = input(T([512, 1027], f32), low=-80.0, high=80.0)\n", "%y = _softmax(%x, 1, False)\n%s = sum.dim_IntList(%x, [0])\n", "%y, %s", true},
    /* only sums */
    {"%x = input(T([512, 300], f32))\n", "%r = sum.dim_IntList(%x, [1])\n%s = sum.dim_IntList(%x, [0])\n", "%r, %s", true},
    /* what reduces the rows itself does not come between the parts */
    {"%x = input(T([512, 300], f32))\n", "%y = relu(%x)\n%s = sum.dim_IntList(%y, [0])\n%a, %b = max.dim(%y, 0)\n", "%y, %s, %a, %b", true},
    {"%x = input(T([512, 300], f32))\n", "%y = relu(%x)\n%s = sum.dim_IntList(%y, [0])\n%a, %b = max.dim(%y, 1)\n", "%y, %s, %a, %b", true},
    /* nor does what lies another way */
    {"%x = input(T([512, 512], f32))\n", "%y = relu(%x)\n%s = sum.dim_IntList(%y, [0])\n%t = t(%x)\n%z = mul.Tensor(%y, %t)\n", "%y, %s, %z",
     true},
    /* parts that two threads do not share evenly, and rows too short for lanes of their own */
    {"%x = input(T([513, 300], f32))\n", "%y = relu(%x)\n%s = sum.dim_IntList(%y, [0])\n", "%y, %s", false},
    {"%x = input(T([16384, 10], f32))\n", "%y = relu(%x)\n%s = sum.dim_IntList(%y, [0])\n", "%y, %s", false},
    /* other places of a row: the sum is of its own */
    {"%x = input(T([512, 300], f32))\n", "%y = relu(%x)\n%f = flip(%x, [0])\n%s = sum.dim_IntList(%f, [0])\n", "%y, %s", false},
};

static bool joins(plan *p) {
    return strstr(((compiled_plan *)p)->program.body, "first_part") != NULL;
}

static size_t source_of(size_t i, char *source) {
    if (i < countof(list)) {
        snprintf(source, CASE_SOURCE_BYTES, "graph columns\n%s%sreturn %s\n", list[i].inputs, list[i].calls, list[i].results);
    }
    return countof(list);
}

static void look(size_t i, plan *p) {
    if (joins(p) != list[i].joins) {
        print_error("%s joined: %s%s", joins(p) ? "is" : "is not", list[i].inputs, list[i].calls);
        assert_true(false);
    }
}

static void columns_agree(void **state) {
    (void)state;
    for (int way = 0; way < WAYS; way++) {
        check_way(table, way, source_of, look);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(columns_agree)};
    return cmocka_run_group_tests(tests, open_all, close_all);
}
