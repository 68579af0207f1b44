/* SPDX-License-Identifier: Apache-2.0 */
/* Calls at the edge of what PyTorch takes: what it refuses is refused, with what was expected; what it takes has its values, by the
   reference, eager's kernels and compiled ones. Seen of PyTorch 2.15 on a CPU. */
#include "engine/graph_cases.h"
#include "engine/table_kit.h"

#include <math.h>

/* Lines of a program after its first, and what the message holds. */
typedef struct refused_program {
    const char *lines, *says;
} refused_program;

#define IMAGE(sizes) "%x = input(T([" sizes "], f32))\n"

static const refused_program refused[] = {
    {"%x = input(T([6], f32))\n%r = cumsum(%x, 0, dtype=b8)\n", "type of numbers to add up in, got b8"},
    {"%x = input(T([6], b8))\n%r = cumsum_(%x, 0)\n", "type of numbers to add up in, got b8"},
    {"%x = input(T([2, 3, 4], f32))\n%m = input(T([3], f32))\n%r, %s, %t = native_batch_norm(%x, None, None, %m, None, True, 0.1, 1e-05)\n",
     "or neither, got one of them"},
    {"%x = input(T([2, 3, 0], f32))\n%m = input(T([3], f32))\n%v = input(T([3], f32))\n"
     "%r, %s, %t = native_batch_norm(%x, None, None, %m, %v, True, 0.1, 1e-05)\n", "that is not empty"},
    {IMAGE("1, 1, 9, 9") "%r, %s = max_pool2d_with_indices(%x, [3, 3], [1, 1], [2, 2], [2, 2])\n", "padding of at most half the kernel"},
    {IMAGE("2, 3, 5, 7") "%r = _adaptive_avg_pool2d(%x, [1])\n", "output_size of 2 numbers, got 1"},
    {IMAGE("2, 3, 5, 7") "%g = input(T([2, 3, 0, 2], f32))\n%r = _adaptive_avg_pool2d_backward(%g, %x)\n", "dimension 2 is empty"},
    {IMAGE("2, 3, 5, 6") "%r = im2col(%x, [2, 2], [1], [3, 3], [4, 4])\n", "dilation of 2 numbers, got 1"},
    {"%x = input(T([2, 12, 20], f32))\n%r = col2im(%x, [5, 6], [2, 2], [1, 1], [0], [1, 1])\n", "padding of 2 numbers, got 1"},
    {IMAGE("2, 3, 5, 6") "%r = reflection_pad2d(%x, [1, 1])\n", "padding of 4 numbers, got 2"},
    {IMAGE("2, 3, 4, 0") "%w = input(T([6, 3, 3, 1], f32))\n"
     "%r = convolution(%x, %w, None, [1, 1], [0, 1], [1, 1], False, [0, 0], 1)\n", "an input with elements, or of no batch"},
    {IMAGE("1, 2, 3, 3") "%w = input(T([2, 2, 1, 1], f32))\n%r, %s, %t = convolution_backward(%x, %x, %w, [2], [1, 1], [0, 0], [1, 1], False, "
     "[1, 1], 1, [True, True, True])\n", "output_padding of 0 where nothing is transposed"},
    {"%x = input(T([2, 3], f32))\n%r = leaky_relu_backward(%x, %x, -0.1, True)\n", "negative_slope of at least 0 beside self_is_result"},
    {"%x = input(T([2, 3], f32))\n%r = elu_backward(%x, -1, 1, 1, True, %x)\n", "alpha of at least 0 beside is_result"},
    {"%g = input(T([], f32))\n%x = input(T([1, 5], f32))\n%t = input(T([1], i64))\n"
     "%r = nll_loss_backward(%g, %x, %t, None, 0, -100, %g)\n", "a floating grad_output of one dimension"},
    {"%g = input(T([], f32))\n%x = input(T([5], f32))\n%t = input(T([1], i64))\n"
     "%r = nll_loss_backward(%g, %x, %t, None, 0, -100, %g)\n", "a target without dimensions"},
    {"%x = input(T([6], f32))\n%r = cumsum_(%x, 0, dtype=f64)\n", "in place: expected dtype to be self's, f32, got f64"},
    {"%x = input(T([6], c64))\n%r = abs_(%x)\n", "for complex numbers in place"},
    {"%x = input(T([6], b8))\n%r = clamp.Tensor(%x, %x, %x)\n", "one bound of booleans"},
    {"%x = input(T([2, 4, 0], f32))\n%r, %s, %t = native_group_norm(%x, None, None, 2, 4, 0, 2, 1e-05)\n", "HxW above 0"},
    {"%x = input(T([1, 2, 5, 5], i64))\n%r = im2col(%x, [2, 2], [1, 1], [0, 0], [1, 1])\n", "a floating-point or complex tensor, got i64"},
    {"%x = input(T([4, 3], f32))\n%m = input(T([], b8))\n%i = input(T([2], i64))\n%r = index.Tensor(%x, [%i, %m, %i])\n", "too many indices (3)"},
    {"%x = input(T([], f32))\n%m = input(T([], b8))\n%r = index_put(%x, [%m], %x)\n", "too many indices"},
    {"%x = input(T([3], f32))\n%m = input(T([3], b8))\n%v = input(T([], c64))\n%r = masked_fill.Tensor(%x, %m, %v)\n", "a real value for a tensor"},
};

/* The first elements of %r by each of the three; none where n is 0. */
typedef struct taken_program {
    const char *lines;
    int n;
    double values[6];
} taken_program;

#define TWOS(type) "%i = input(T([3], i64), low=2, high=3)\n%x = _to_copy(%i, dtype=" type ")\n"
#define TRUTHS "%i = input(T([3], i64), low=2, high=3)\n%x = gt.Scalar(%i, 0)\n%y = lt.Scalar(%i, 0)\n"

/* Of ones as gradients, where all that was normed is NaN: one over the root of 1. */
#define RUNNING_GRADIENT(sizes, type, format) "%i = input(T([" sizes "], " type "))\n%o = mul.Scalar(%i, 0)\n%p = add.Scalar(%o, 1)\n" \
    "%g = clone(%p" format ")\n%q = mul.Scalar(%i, nan)\n%n = clone(%q" format ")\n%z = new_full(%g, [2], 0)\n%u = new_full(%g, [2], 1)\n" \
    "%d, %s, %t = native_batch_norm_backward(%g, %n, None, %z, %u, None, None, False, 0.0, [True, False, False])\n"

/* The gradient of a bias, of twos, where nothing else is summed up. */
#define BIAS_GRADIENT(type, grad, input, weight, numbers) "%i = input(T([" grad "], i64), low=2, high=3)\n%g = _to_copy(%i, dtype=" type ")\n" \
    "%x = input(T([" input "], " type "))\n%w = input(T([" weight "], " type "))\n%p, %q, %r = convolution_backward(%g, %x, %w, " numbers ")\n"

/* Six and a number without dimensions, [-1, 1, 3], and those as rows and columns: terms of both signs. */
#define SIGNS(type) TWOS(type) "%j = cumsum(%x, 0, dtype=" type ")\n%k = sub.Scalar(%j, 3)\n%s = sum(%x)\n%a = view(%k, [1, 3])\n%b = view(%x, [3, 1])\n"
#define NO_TERMS(type, right) TWOS(type) "%a = input(T([3, 0], " type "))\n%b = input(T([0" right "], " type "))\n"

static const taken_program taken[] = {
    {BIAS_GRADIENT("f32", "2, 6, 5", "2, 0, 7", "6, 0, 3", "[6], [1], [0], [1], False, [0], 1, [True, True, True]"), 6, {20, 20, 20, 20, 20, 20}},
    {BIAS_GRADIENT("f64", "2, 6, 5", "2, 0, 7", "6, 0, 3", "[6], [1], [0], [1], False, [0], 1, [False, True, True]"), 2, {20, 20}},
    {BIAS_GRADIENT("bf16", "2, 4, 3, 5", "2, 0, 5, 7", "4, 0, 3, 3", "[4], [1, 1], [0, 0], [1, 1], False, [0, 0], 1, [True, True, True]"), 2, {60, 60}},
    {BIAS_GRADIENT("f16", "2, 4, 3, 5", "2, 0, 5, 7", "4, 0, 3, 3", "[4], [1, 1], [0, 0], [1, 1], False, [0, 0], 1, [False, False, True]"), 2, {60, 60}},
    {BIAS_GRADIENT("f32", "1, 2, 1, 3, 5", "1, 0, 2, 5, 7", "2, 0, 2, 3, 3", "[2], [1, 1, 1], [0, 0, 0], [1, 1, 1], False, [0, 0, 0], 1, [True, True, True]"),
     2, {30, 30}},
    {BIAS_GRADIENT("f32", "0, 6, 5", "0, 4, 7", "6, 4, 3", "[6], [1], [0], [1], False, [0], 1, [True, True, True]"), 6, {0, 0, 0, 0, 0, 0}},
    {TWOS("u8") "%y = mul.Scalar(%x, 127)\n%r = threshold_backward(%x, %y, -3)\n", 3, {2, 2, 2}}, /* 253 */
    {TWOS("u8") "%y = mul.Scalar(%x, 126)\n%r = threshold_backward(%x, %y, -3)\n", 3, {0, 0, 0}},
    {TWOS("i16") "%y = neg(%x)\n%r = threshold_backward(%x, %y, -2.5)\n", 3, {0, 0, 0}},
    {TWOS("i64") "%y = mul.Scalar(%x, 4503599627370496)\n%z = add.Scalar(%y, 4)\n%r = threshold_backward(%x, %z, 9007199254740995)\n", 3, {2, 2, 2}},
    {TWOS("f16") "%e = sub.Scalar(%x, 1)\n%r = pow.Scalar(2147483648, %e)\n", 3, {INFINITY, INFINITY, INFINITY}},
    {TWOS("bf16") "%e = sub.Scalar(%x, 1)\n%r = pow.Scalar(257, %e)\n", 3, {256, 256, 256}},
    {TWOS("f32") "%e = sub.Scalar(%x, 1)\n%r = pow.Scalar(16777217, %e)\n", 3, {16777216, 16777216, 16777216}},
    {SIGNS("f64") "%r = addmm(%s, %a, %b, alpha=inf)\n", 1, {INFINITY}},
    {SIGNS("f64") "%r = addmm(%s, %a, %b, alpha=-inf, beta=0)\n", 1, {-INFINITY}},
    {SIGNS("f32") "%r = addmm(%s, %a, %b, alpha=inf)\n", 1, {INFINITY}},
    {SIGNS("f32") "%r = addmv(%s, %a, %x, alpha=inf)\n", 1, {INFINITY}},
    {SIGNS("f64") "%r = addmv(%s, %a, %x, alpha=inf)\n", 1, {INFINITY}},
    {SIGNS("f16") "%r = addmv(%s, %a, %x, alpha=inf)\n", 1, {INFINITY}},
    {SIGNS("bf16") "%t = view(%s, [1])\n%r = addmv_(%t, %a, %x, alpha=inf)\n", 1, {INFINITY}},
    {SIGNS("f64") "%c = unsqueeze(%a, 0)\n%d = unsqueeze(%b, 0)\n%r = baddbmm(%s, %c, %d, alpha=inf)\n", 1, {INFINITY}},
    {NO_TERMS("f32", ", 3") "%r = addmm(%x, %a, %b, alpha=inf)\n", 3, {2, 2, 2}},
    {NO_TERMS("f64", ", 3") "%r = addmm(%x, %a, %b, alpha=nan, beta=2)\n", 3, {4, 4, 4}},
    {NO_TERMS("c64", ", 3") "%r = addmm(%x, %a, %b, alpha=inf)\n", 3, {2, 2, 2}},
    {NO_TERMS("bf16", "") "%r = addmv(%x, %a, %b, alpha=inf)\n", 3, {2, 2, 2}},
    {NO_TERMS("c128", "") "%r = addmv(%x, %a, %b, alpha=inf)\n", 3, {2, 2, 2}},
    {NO_TERMS("i64", ", 3") "%r = addmm(%x, %a, %b, beta=2.5)\n", 3, {4, 4, 4}}, /* cut off, with terms and without */
    {TWOS("i64") "%y = view(%x, [3, 1])\n%z = view(%x, [1, 3])\n%r = addmm(%z, %y, %z, beta=2.5, alpha=1.5)\n", 2, {8, 8}},
    {SIGNS("f32") "%n = sub.Scalar(%i, 2)\n%r = index_add(%a, 1, %n, %a, alpha=inf)\n", 3, {NAN, 1, 3}},
    {SIGNS("f64") "%n = sub.Scalar(%i, 2)\n%q = clone(%a)\n%r = index_add_(%q, 1, %n, %a, alpha=-inf)\n", 3, {NAN, 1, 3}},
    {SIGNS("f16") "%n = sub.Scalar(%i, 2)\n%q = repeat(%a, [2, 1])\n%r = index_add(%q, 1, %n, %q, alpha=inf)\n", 6, {NAN, 1, 3, NAN, 1, 3}},
    {SIGNS("bf16") "%n = sub.Scalar(%i, 2)\n%q = repeat(%a, [2, 1])\n%r = index_add(%q, 1, %n, %q, alpha=2)\n", 6, {5, 1, 3, 5, 1, 3}},
    {"%x = input(T([3, 4], f32))\n%r = normal_(%x, -inf, 0)\n", 2, {-INFINITY, -INFINITY}},
    {"%x = input(T([3, 4], f64))\n%r = normal_(%x, inf, 2.5)\n", 2, {INFINITY, INFINITY}},
    {"%x = input(T([3, 4], f32))\n%r = normal_(%x, nan, 1)\n", 2, {NAN, NAN}},
    {"%x = input(T([3, 4], f16))\n%r = normal_(%x, 1e+30, 0)\n", 2, {INFINITY, INFINITY}},
    {"%x = input(T([30, 40], f16))\n%r = normal_(%x, 0.0, 1e+30)\n", 0, {0}},
    {"%x = input(T([30, 40], f16))\n%r = normal_(%x, 1000.0, 30000.0)\n", 0, {0}},
    {"%x = input(T([30, 40], f64))\n%r = normal_(%x, 0.0, inf)\n", 0, {0}},
    {"%x = input(T([0, 3], f32))\n%r = norm.Scalar(%x, nan)\n", 1, {0}},
    {"%x = input(T([0, 3], c64))\n%r = norm.ScalarOpt_dim(%x, nan, [0])\n", 3, {0, 0, 0}},
    {TWOS("f32") "%r = norm.Scalar(%x, nan)\n", 1, {NAN}},
    {TWOS("i32") "%y = add.Scalar(%x, 2147483645)\n%r = sin(%y)\n", 0, {0}}, /* of 2^31, which f32 has */
    {TWOS("f16") "%y = mul.Scalar(%x, -0.0)\n%z = clone(%y)\n%r = any(%z)\n", 1, {0}},
    {TWOS("f16") "%y = mul.Scalar(%x, -0.0)\n%r = all.dim(%y, 0)\n", 1, {0}},
    {TWOS("bf16") "%m = gt.Scalar(%x, 3)\n%y = masked_fill.Scalar(%x, %m, 1)\n%z = mul.Scalar(%y, -0.0)\n%r = any.dim(%z, 0)\n", 1, {0}},
    {"%x = input(T([5, 9, 4], f16))\n%s = input(T([5, 9, 4], b8))\n%z = masked_fill.Scalar(%x, %s, -0.0)\n%r = all.dim(%z, 1)\n", 0, {0}},
    {"%x = input(T([5, 9, 4], bf16))\n%s = input(T([5, 9, 4], b8))\n%y = mul.Scalar(%x, 0)\n%z = masked_fill.Scalar(%y, %s, -0.0)\n%r = any.dim(%z, 2)\n", 0, {0}},
    {TRUTHS "%r = clamp.Tensor(%y, %x)\n", 3, {1, 1, 1}},
    {TRUTHS "%r = clamp.Tensor(%x, None, %y)\n", 3, {0, 0, 0}},
    {TRUTHS "%r = clamp_.Tensor(%y, %x)\n", 3, {1, 1, 1}},
    {TWOS("c64") "%r = cumsum(%x, 0, dtype=f32)\n", 3, {2, 4, 6}},
    {TWOS("f32") "%h = mul.Scalar(%x, 0.75)\n%z = _to_copy(%h, dtype=c64)\n%r = cumsum(%z, 0, dtype=i64)\n", 3, {1, 2, 3}},
    {TWOS("f32") "%h = mul.Scalar(%x, 0.75)\n%z = _to_copy(%h, dtype=c128)\n%r = cumsum(%z, 0, dtype=i8)\n", 3, {1, 2, 3}},
    {TRUTHS "%r = add.Tensor(%x, %x, alpha=-1)\n", 3, {1, 1, 1}},
    {TRUTHS "%r = add_.Tensor(%y, %x, alpha=256)\n", 3, {1, 1, 1}},
    {TRUTHS "%r = add.Tensor(%y, %x, alpha=0)\n", 3, {0, 0, 0}},
    {TRUTHS "%q = add.Scalar(%x, True)\n%r = bitwise_not(%q)\n", 3, {0, 0, 0}}, /* of truths */
    {TRUTHS "%j = sub.Scalar(%i, 2)\n%r = index_add(%y, 0, %j, %x, alpha=0.5)\n", 3, {1, 0, 0}},
    {TRUTHS "%j = sub.Scalar(%i, 2)\n%r = index_add(%x, 0, %j, %x, alpha=-1)\n", 3, {1, 1, 1}},
    {TWOS("i64") "%r = addcmul(%x, %x, %x, value=-1.5)\n", 3, {-2, -2, -2}},
    {TWOS("u8") "%r = hardtanh(%x, 2.9, 3)\n", 3, {2, 2, 2}},
    {TWOS("u8") "%r = hardtanh(%x, -1.5, 1.9)\n", 3, {1, 1, 1}},
    {TRUTHS "%r = pow.Tensor_Scalar(%y, False)\n", 3, {1, 1, 1}},
    {TWOS("i64") "%r = pow.Tensor_Scalar(%x, 1e+300)\n", 3, {INFINITY, INFINITY, INFINITY}},
    {TWOS("f32") "%s = sum(%x)\n%r, %p = topk(%s, 0, 0)\n", 1, {6}},
    {TWOS("i32") "%s = sum(%x)\n%p, %r = topk(%s, 0, 0, False)\n", 1, {0}},
    {"%x = input(T([0, 3], f32))\n%r = mean(%x, dtype=c64)\n", 1, {NAN}},
    {"%x = input(T([0, 3], f32))\n%r, %m = var_mean.correction(%x, [0], correction=-2)\n", 3, {NAN, NAN, NAN}},
    {"%x = input(T([0, 3], c64))\n%r = std.correction(%x, [0], correction=-2)\n", 3, {NAN, NAN, NAN}},
    {TWOS("f32") "%y = view(%x, [1, 3])\n%r, %s, %t = native_batch_norm(%y, %x, %x, None, None, True, 0.1, 0.0)\n", 3, {2, 2, 2}},
    {TWOS("f32") "%y = view(%x, [1, 3])\n%s, %t, %r = native_batch_norm(%y, %x, None, None, None, True, 0.1, 0.0)\n", 3, {0, 0, 0}},
    {"%x = input(T([0, 3, 4], f32))\n%v = input(T([3], f32))\n%r, %s, %t = native_batch_norm(%x, %v, None, %v, %v, False, 0.1, 1e-05)\n", 0, {0}},
    {"%x = input(T([2, 3, 0], f32))\n%v = input(T([3], f32))\n"
     "%g, %r, %b = native_batch_norm_backward(%x, %x, %v, None, None, %v, %v, True, 1e-05, [True, True, True])\n", 3, {0, 0, 0}},
    /* windows wholly in the padding, as they are dilated */
    {"%x = input(T([1, 1, 1, 4], i64))\n%r, %s = max_pool2d_with_indices(%x, [2], [3], [1, 0], [2, 1], True)\n", 2, {-0x1p63, -0x1p63}},
    {"%x = input(T([1, 1, 1, 4], i8))\n%r, %s = max_pool2d_with_indices(%x, [2], [3], [1, 0], [2, 1], True)\n", 2, {-128, -128}},
    {"%x = input(T([1, 2, 1, 4], i16))\n%r, %s = max_pool2d_with_indices(%x, [2], [3], [1, 0], [2, 1], True)\n", 2, {-32768, -32768}},
    {"%x = input(T([1, 1, 1, 4], u8))\n%r, %s = max_pool2d_with_indices(%x, [2], [3], [1, 0], [2, 1], True)\n", 2, {0, 0}},
    {"%x = input(T([0, 1000000000000], f32))\n%r, %m, %s = native_layer_norm(%x, [1000000000000], None, None, 1e-05)\n", 0, {0}},
    {"%x = input(T([0, 6], f16))\n%w = input(T([6], f16))\n%m = input(T([0, 1], f32))\n"
     "%d, %q, %r = native_layer_norm_backward(%x, %x, [6], %m, %m, %w, %w, [True, True, True])\n", 6, {0, 0, 0, 0, 0, 0}},
    {IMAGE("2, 0, 4, 4") "%r = _adaptive_avg_pool2d(%x, [1, 1])\n", 0, {0}},
    {IMAGE("2, 0, 4, 5") "%g = input(T([2, 6, 7, 2], f32))\n%r = grid_sampler_2d(%x, %g, 0, 0, True)\n", 0, {0}},
    {IMAGE("2, 0, 4, 5") "%g = input(T([2, 6, 7, 2], f32))\n%d = input(T([2, 0, 6, 7], f32))\n"
     "%q, %r = grid_sampler_2d_backward(%d, %x, %g, 0, 0, True, [True, True])\n", 3, {0, 0, 0}},
    {TWOS("f32") "%s = sum(%x)\n%g = unsqueeze(%s, 0)\n%r = unfold_backward(%g, [], 0, 1, 5)\n", 1, {6}},
    {"%g = input(T([0], f32))\n%r = unfold_backward(%g, [], 0, 0, 1)\n", 1, {0}},
    {TWOS("f32") "%g = repeat(%x, [2, 1])\n%s = mul.Scalar(%x, 3)\n%r = mse_loss_backward(%g, %s, %x, 0)\n", 6, {16, 16, 16, 16, 16, 16}},
    {TWOS("f32") "%g = repeat(%x, [2, 1])\n%s = mul.Scalar(%x, 4)\n%r = mse_loss_backward(%g, %s, %x, 1)\n", 6, {8, 8, 8, 8, 8, 8}},
    {TWOS("c64") "%n = mul.Scalar(%x, nan)\n%r = pow.Tensor_Scalar(%n, 0)\n", 3, {1, 1, 1}},
    {TWOS("c128") "%n = mul.Scalar(%x, 0)\n%r = pow.Tensor_Scalar(%n, 0.0)\n", 3, {1, 1, 1}},
    {TWOS("c64") "%n = mul.Scalar(%x, inf)\n%r = pow.Scalar(1, %n)\n", 3, {1, 1, 1}},
    /* by parts: C's own products and quotients are infinite, and 0 */
    {TWOS("c64") "%n = mul.Scalar(%x, (nan+infj))\n%r = isinf(%n)\n", 3, {0, 0, 0}},
    {TWOS("c128") "%n = mul.Scalar(%x, (nan+infj))\n%r = isinf(%n)\n", 3, {0, 0, 0}},
    {TWOS("c64") "%n = add.Tensor(%x, %x, alpha=(nan+infj))\n%r = isinf(%n)\n", 3, {0, 0, 0}},
    {TWOS("c128") "%n = addcmul(%x, %x, %x, value=(nan+infj))\n%r = isinf(%n)\n", 3, {0, 0, 0}},
    {TWOS("c64") "%y = view(%x, [3, 1])\n%z = view(%x, [1, 3])\n%n = addmm(%z, %y, %z, alpha=(nan+infj))\n%r = isinf(%n)\n", 3, {0, 0, 0}},
    {TWOS("c64") "%n = div.Scalar(%x, (inf+infj))\n%r = isnan(%n)\n", 3, {1, 1, 1}},
    {TWOS("c128") "%n = div.Scalar(%x, (inf+infj))\n%r = isnan(%n)\n", 3, {1, 1, 1}},
    {TWOS("c64") "%y = add.Scalar(%x, (inf+infj))\n%n = reciprocal(%y)\n%r = isnan(%n)\n", 3, {1, 1, 1}},
    {TWOS("c128") "%y = add.Scalar(%x, (inf+infj))\n%n = rsqrt(%y)\n%r = isnan(%n)\n", 3, {1, 1, 1}},
    /* by running statistics a gradient does not hang on what was normed; by rows, short ones and columns */
    {RUNNING_GRADIENT("3, 2, 400", "f32", "") "%r = select.int(%d, 2, 0)\n", 2, {1, 1}},
    {RUNNING_GRADIENT("3, 2, 4", "f64", "") "%r = select.int(%d, 2, 0)\n", 2, {1, 1}},
    {RUNNING_GRADIENT("3, 2", "f32", "") "%r = clone(%d)\n", 2, {1, 1}},
    {RUNNING_GRADIENT("3, 2, 8, 8", "bf16", ", memory_format=torch.channels_last") "%r = select.int(%d, 3, 0)\n", 2, {1, 1}},
    /* more than double has digits for */
    {TWOS("i64") "%j = sub.Scalar(%x, 2)\n%r = index_add(%x, 0, %j, %x, alpha=9007199254740993)\n", 2, {3 * 0x1p54 + 8, 2}},
    {TWOS("i64") "%y = view(%x, [3, 1])\n%z = view(%x, [1, 3])\n%r = addmm(%z, %y, %z, beta=2, alpha=9007199254740993)\n", 2, {0x1p55 + 8, 0x1p55 + 8}},
    {TWOS("i64") "%y = view(%x, [1, 3, 1, 1])\n%w = view(%x, [1, 3, 1, 1])\n%b = new_full(%x, [1], 9007199254740993)\n"
     "%r = convolution(%y, %w, %b, [1, 1], [0, 0], [1, 1], False, [0, 0], 1)\n", 1, {0x1p53 + 13}},
    {TWOS("i64") "%m = gt.Scalar(%x, 1)\n%y = masked_fill.Scalar(%x, %m, 9223372036854775807)\n%r = add.Scalar(%y, 1)\n", 2, {-0x1p63, -0x1p63}},
    /* powers by roots: of no numbers below 0, but of -infinity; of -0 as of 0; more and less than there is */
    {TWOS("f32") "%n = mul.Scalar(%x, -inf)\n%r = pow.Tensor_Scalar(%n, 2.5)\n", 3, {INFINITY, INFINITY, INFINITY}},
    {TWOS("bf16") "%n = mul.Scalar(%x, -inf)\n%r = pow.Tensor_Scalar(%n, 1.5)\n", 3, {INFINITY, INFINITY, INFINITY}},
    {TWOS("f64") "%n = mul.Scalar(%x, -inf)\n%r = pow.Tensor_Scalar(%n, -2.5)\n", 3, {0, 0, 0}},
    {TWOS("f64") "%n = mul.Scalar(%x, -2)\n%r = pow.Tensor_Scalar(%n, 3.5)\n", 3, {NAN, NAN, NAN}},
    {TWOS("f32") "%n = mul.Scalar(%x, -2)\n%r = pow.Tensor_Scalar(%n, 1.5)\n", 3, {NAN, NAN, NAN}},
    {TWOS("f32") "%n = mul.Scalar(%x, nan)\n%r = pow.Tensor_Scalar(%n, 2.5)\n", 3, {NAN, NAN, NAN}},
    {TWOS("f32") "%n = mul.Scalar(%x, -0.0)\n%p = pow.Tensor_Scalar(%n, 1.5)\n%r = reciprocal(%p)\n", 3, {INFINITY, INFINITY, INFINITY}},
    {TWOS("f64") "%n = mul.Scalar(%x, -0.0)\n%r = pow.Tensor_Scalar(%n, -1.5)\n", 3, {INFINITY, INFINITY, INFINITY}},
    {TWOS("f32") "%n = mul.Scalar(%x, 5e+15)\n%r = pow.Tensor_Scalar(%n, 2.5)\n", 3, {INFINITY, INFINITY, INFINITY}},
    {TWOS("f64") "%n = mul.Scalar(%x, 1.9362959574246591e-121)\n%p = pow.Tensor_Scalar(%n, 2.5)\n%r = mul.Scalar(%p, 1.0715086071862673e+301)\n", 3, {1, 1, 1}},
    /* whose squares are more than there is */
    {TWOS("f64") "%y = mul.Scalar(%x, 1e+200)\n%r = var.correction(%y, [0])\n", 1, {0}},
    {TWOS("f64") "%y = mul.Scalar(%x, 1e+200)\n%z = view(%y, [3, 1])\n%r = std.correction(%z, [0])\n", 1, {0}},
    {TWOS("f64") "%y = mul.Scalar(%x, 1e+200)\n%z = view(%y, [3, 1])\n%q = repeat(%z, [1, 70])\n%r = var.correction(%q, [0])\n", 2, {0, 0}},
};

static void what_pytorch_refuses_is_refused(void **state) {
    (void)state;
    for (size_t i = 0; i < countof(refused); i++) {
        arena memory = {0};
        char source[CASE_SOURCE_BYTES];
        graph g;
        error err = {0};
        snprintf(source, sizeof source, "graph edge\n%sreturn %%r\n", refused[i].lines);
        status result = graph_read(&memory, table, source, strlen(source), &(bind_options){0}, &g, &err);
        if (result != ASSAY_INVALID || strstr(err.message, refused[i].says) == NULL) {
            print_error("said: %s of\n%s", err.message, source);
        }
        assert_int_equal(result, ASSAY_INVALID);
        assert_non_null(strstr(err.message, refused[i].says));
        arena_clear(&memory);
    }
}

static void check_values(const taken_program *p, const tensor *t, const char *by) {
    assert_true(p->n <= tensor_numel(t));
    for (int i = 0; i < p->n; i++) {
        const double value = element_load(t->dtype, tensor_data(t) + tensor_offset_of(t, i) * (int64_t)dtype_size(t->dtype));
        if (isnan(p->values[i]) ? !isnan(value) : value != p->values[i]) {
            print_error("%s: element %d is %.9g, expected %.9g, of\n%s", by, i, value, p->values[i], p->lines);
            assert_true(false);
        }
    }
}

/* By one backend, compared with the reference, too. */
static void check_taken(backend *b) {
    static graph_cases cases;
    char source[CASE_SOURCE_BYTES];
    cases = (graph_cases){.table = table};
    for (size_t i = 0; i < countof(taken); i++) {
        tensor t;
        snprintf(source, sizeof source, "graph edge\n%sreturn %%r\n", taken[i].lines);
        plan *p = cases_check_one(&cases, b, source);
        assert_int_equal(p->output(p, 0, &t, NULL), ASSAY_OK);
        check_values(&taken[i], &t, b->name);
        tensor_clear(&t);
        p->release(p);
    }
    cases_forget(&cases);
}

static void what_it_takes_has_its_values(void **state) {
    (void)state;
    cases_by_both(table, check_taken);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_pytorch_refuses_is_refused),
        cmocka_unit_test(what_it_takes_has_its_values),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
