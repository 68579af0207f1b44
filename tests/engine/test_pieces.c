/* SPDX-License-Identifier: Apache-2.0 */
/* Compiled kernels whose index arithmetic falls into pieces, against the reference in double: padding and mirror images, windows that
   meet by parities, halves read here and there, scatters with their base, quotients and arguments of the largest with what is
   rare among operands. */
#include "engine/compiled_cases.h"

#include "engine/backend/backend.h"

#include <math.h>

enum { MOST_TEXT = 1024 };

/* The program with each $ replaced by the type. */
static graph *add(const char *program, const char *type) {
    char source[MOST_TEXT];
    size_t n = (size_t)snprintf(source, sizeof source, "graph pieces\n");
    for (const char *at = program; *at != '\0' && n + 8 < sizeof source; at++) {
        n += *at == '$' ? (size_t)snprintf(source + n, sizeof source - n, "%s", type) : 1;
        if (*at != '$') {
            source[n - 1] = *at;
        }
    }
    source[n] = '\0';
    return cases_add(&cases, source);
}

static void check(void) {
    cases_check(&cases, compiled);
    cases_forget(&cases);
}

static const char *const types[] = {"f32", "f16", "bf16", "f64"};

static const char *const padded[] = {
    /* rows of one block, of several, of less than a vector; pads that cut; nothing inside */
    "%x = input(T([3, 2, 5, 28], $))\n%y = constant_pad_nd(%x, [1, 1, 1, 1], 0.5)\nreturn %y\n",
    "%x = input(T([2, 3, 40], $))\n%y = constant_pad_nd(%x, [2, 0, -1, 0, 0, 2], -inf)\nreturn %y\n",
    "%x = input(T([7, 1300], $))\n%y = constant_pad_nd(%x, [3, 5], nan)\nreturn %y\n",
    "%x = input(T([6, 30], $))\n%y = constant_pad_nd(%x, [0, 0, 2, 1], inf)\n%z = exp(%y)\nreturn %y, %z\n",
    "%x = input(T([6, 30], $, stride=(1, 6)))\n%y = constant_pad_nd(%x, [4, -3, -1, 2], 1.0)\nreturn %y\n",
    "%x = input(T([6, 31], $))\n%y = constant_pad_nd(%x, [-31, 20])\nreturn %y\n",
    "%x = input(T([4, 17], $, stride=(1, 4)))\n%y = select_backward(%x, [4, 9, 17], 1, -1)\nreturn %y\n",
    "%x = input(T([4, 2, 33], $))\n%y = slice_backward(%x, [4, 9, 33], 1, 3, 7, 2)\nreturn %y\n",
    "%x = input(T([4, 9, 20], $))\n%y = slice_backward(%x, [4, 9, 33], 2, 5, 25, 1)\n%z = sum.dim_IntList(%y, [1])\nreturn %y, %z\n",
    "%x = input(T([16, 2, 9, 9], $))\n%y = reflection_pad2d(%x, [1, 1, 1, 1])\nreturn %y\n",
    "%x = input(T([1, 3, 20, 33], $))\n%y = reflection_pad2d(%x, [3, 2, 0, 3])\nreturn %y\n",
    "%x = input(T([40, 6, 7], $))\n%y = reflection_pad2d(%x, [-1, 4, 5, -2])\n%z = mul.Tensor(%y, 2.0)\nreturn %z\n",
    "%x = input(T([96, 5], $))\n%a = input(T([96, 20], $, stride=(30, 1)))\n%b = input(T([96, 1], $))\n%y = cat([%x, %a, %b, %x], 1)\nreturn %y\n",
    "%x = input(T([65, 1], $))\n%y = constant_pad_nd(%x, [-1, 1], 2.0)\nreturn %y\n",
    ("%x = input(T([7, 10, 7], $))\n%d = input(T([7, 10, 7], $), low=1.0, high=3.0)\n%a = input(T([1, 10, 7], $))\n"
     "%y = _softmax(%x, 0, False)\n%q = div.Tensor(%y, %d)\n%z = cat([%d, %a], 0)\nreturn %q, %z\n"),
    "%x = input(T([64, 37], $))\n%y = roll(%x, [3, -5], [0, 1])\nreturn %y\n",
};

/* As they are, and stored past the caches as large results are. */
static void padding_is_three_pieces(void **state) {
    (void)state;
    for (int streams = 0; streams < 2; streams++) {
        ((compiled_backend *)compiled)->options.streams_all = streams == 1;
        for (size_t t = 0; t < countof(types); t++) {
            for (size_t i = 0; i < countof(padded); i++) {
                add(padded[i], types[t]);
            }
        }
        check();
    }
    ((compiled_backend *)compiled)->options.streams_all = false;
}

static const char *const joined[] = {
    /* what is computed of joins alone, of joins that others read as well, of several cut alike and otherwise, in place, broadcast */
    "%x = input(T([3, 5, 14], $))\n%c = input(T([5, 14], $))\n%l = slice.Tensor(%x, 2, 0, 7)\n%r = slice.Tensor(%x, 2, 7, 14)\n"
    "%m = neg(%r)\n%t = cat([%m, %l], 2)\n%a = mul.Tensor(%x, %c)\n%b = mul.Tensor(%t, %c)\n%y = add.Tensor(%a, %b)\nreturn %y\n",
    "%x = input(T([6, 40], $))\n%z = input(T([6, 9], $))\n%t = cat([%x, %z, %x], 1)\n%e = exp(%t)\n%y = mul.Tensor(%e, 0.5)\n"
    "%s = sum.dim_IntList(%t, [1])\nreturn %y, %s\n",
    "%x = input(T([6, 40], $))\n%z = input(T([2, 40], $))\n%t = cat([%x, %z], 0)\n%u = cat([%z, %x], 0)\n%y = mul.Tensor(%t, %u)\nreturn %y\n",
    "%x = input(T([6, 40], $))\n%z = input(T([2, 40], $))\n%t = cat([%x, %z], 0)\n%u = cat([%x, %z], 0)\n%v = cos(%u)\n"
    "%y = mul.Tensor(%t, %v)\n%w = mul.Tensor(%v, 3.0)\nreturn %y, %w\n",
    "%x = input(T([6, 40], $))\n%l = slice.Tensor(%x, 1, 0, 20)\n%r = slice.Tensor(%x, 1, 20, 40)\n%t = cat([%r, %l], 1)\n"
    "%y = add_.Tensor(%x, %t)\nreturn %y\n",
    "%x = input(T([1, 40], $))\n%z = input(T([1, 20], $))\n%t = cat([%x, %z], 1)\n%b = input(T([7, 60], $))\n%y = add.Tensor(%t, %b)\nreturn %y\n",
    "%x = input(T([6, 8], $))\n%z = input(T([6, 3], $))\n%t = cat([%x, %z], 1)\n%u = cat([%t, %z], 1)\n%e = sin(%u)\n%y = add.Tensor(%e, %u)\nreturn %y\n",
    "%x = input(T([6, 8], $))\n%s = _softmax(%x, 1, False)\n%z = input(T([6, 3], $))\n%t = cat([%s, %z], 1)\n%y = mul.Tensor(%t, %t)\nreturn %y\n",
    "%x = input(T([6, 8], $, stride=(1, 6)))\n%z = input(T([6, 3], $))\n%t = cat([%z, %x, %z], 1)\n%y = permute(%t, [1, 0])\n%w = abs(%t)\nreturn %y, %w\n",
};

static void what_is_joined_is_seen_in_pieces(void **state) {
    (void)state;
    for (int all = 0; all < 2; all++) {
        ((compiled_backend *)compiled)->options.pieces_all = all == 1;
        for (size_t t = 0; t < countof(types); t++) {
            for (size_t i = 0; i < countof(joined); i++) {
                add(joined[i], types[t]);
            }
        }
        check();
    }
    ((compiled_backend *)compiled)->options.pieces_all = false;
}

static const char *const of_targets[] = {
    /* losses and their gradients: sums of one place, exponentials of logarithms of softmax, rows' values computed with their sums */
    "%x = input(T([40, 50], $))\n%t = input(T([40], i64))\n%g = input(T([], $))\n%l = _log_softmax(%x, 1, False)\n"
    "%y, %w = nll_loss_forward(%l, %t, None, 1, -100)\n%d = nll_loss_backward(%g, %l, %t, None, 1, -100, %w)\n"
    "%r = _log_softmax_backward_data(%d, %l, 1, $)\nreturn %y, %w, %r\n",
    "%x = input(T([40, 7], $))\n%t = input(T([40], i64))\n%v = input(T([7], $), low=0.5, high=1.5)\n%g = input(T([40], $))\n"
    "%l = _log_softmax(%x, 1, False)\n%y, %w = nll_loss_forward(%l, %t, %v, 0, 3)\n%d = nll_loss_backward(%g, %l, %t, %v, 0, 3, %w)\n"
    "%r = _log_softmax_backward_data(%d, %l, 1, $)\n%s = sum.dim_IntList(%d, [1])\n%c = sum.dim_IntList(%d, [0])\nreturn %y, %w, %r, %s, %c\n",
    "%x = input(T([300, 80], $))\n%l = _log_softmax(%x, 0, False)\n%e = exp(%l)\n%f = exp(%x)\nreturn %e, %f\n",
    "%x = input(T([300, 80], $))\n%l = _log_softmax(%x, 1, False)\n%e = exp(%l)\nreturn %l, %e\n",
};

static void losses_look_at_one_place(void **state) {
    (void)state;
    for (size_t t = 0; t < countof(types); t++) {
        for (size_t i = 0; i < countof(of_targets); i++) {
            add(of_targets[i], types[t]);
        }
    }
    check();
}

static const char *const between[] = {
    /* strides of 1, 2, 3 and 4 between windows, that meet or leave gaps */
    "%x = input(T([2, 18, 25], $))\n%y = col2im(%x, [9, 9], [3, 3], [1, 1], [1, 1], [2, 2])\nreturn %y\n",
    "%x = input(T([2, 12, 30], $))\n%y = col2im(%x, [10, 18], [2, 3], [1, 1], [0, 0], [2, 3])\nreturn %y\n",
    "%x = input(T([1, 18, 25], $))\n%y = col2im(%x, [19, 19], [3, 3], [1, 1], [0, 0], [4, 4])\nreturn %y\n",
    "%x = input(T([2, 18, 81], $))\n%y = col2im(%x, [9, 9], [3, 3], [1, 1], [1, 1], [1, 1])\nreturn %y\n",
    "%x = input(T([2, 4, 5, 7], $))\n%o = input(T([2, 4, 20, 28], $))\n%y = _adaptive_avg_pool2d_backward(%x, %o)\nreturn %y\n",
    "%x = input(T([2, 4, 5, 70], $))\n%y = upsample_nearest2d.vec(%x, None, [2.0, 2.0])\nreturn %y\n",
    "%x = input(T([2, 3, 9, 50], $))\n%y = permute(%x, [0, 2, 3, 1])\n%z = clone(%y, memory_format=torch.contiguous_format)\nreturn %z\n",
    "%x = input(T([3, 70], $))\n%y = input(T([3, 70], $))\n%z = stack([%x, %y], 2)\nreturn %z\n",
    "%x = input(T([3, 70], $))\n%y = unsqueeze(%x, 2)\n%z = expand(%y, [3, 70, 4])\n%w = clone(%z, memory_format=torch.contiguous_format)\nreturn %w\n",
    "%x = input(T([5, 33, 1], $))\n%y = input(T([2], $))\n%z = mul.Tensor(%x, %y)\n%w = exp(%z)\n%v = sin(%z)\nreturn %z, %w, %v\n",
};

static void values_lie_between_lanes(void **state) {
    (void)state;
    for (size_t t = 0; t < countof(types); t++) {
        for (size_t i = 0; i < countof(between); i++) {
            add(between[i], types[t]);
        }
    }
    check();
}

static const char *const gathered[] = {
    "%x = input(T([9, 50], $))\n%i = input(T([9, 150], i64))\n%y = gather(%x, 1, %i)\n%z = add.Tensor(%y, 1.0)\nreturn %y, %z\n",
    "%x = input(T([9, 50], $))\n%i = input(T([9, 40], i64))\n%y = gather(%x, 1, %i)\n%z = mul.Tensor(%y, %y)\nreturn %z\n",
    "%x = input(T([9, 50], $))\n%i = input(T([9, 64], i64))\n%y = gather(%x, 1, %i)\n%z = sum.dim_IntList(%y, [1])\n%w = sum.dim_IntList(%y, [0])\nreturn %z, %w\n",
    "%x = input(T([2, 3, 8, 9], $))\n%y = upsample_bilinear2d.vec(%x, [17, 118], True, None)\nreturn %y\n",
    "%x = input(T([2, 3, 8, 9], $))\n%y = upsample_bicubic2d.vec(%x, [11, 30], False, None)\nreturn %y\n",
    "%x = input(T([2, 3, 8, 9], $))\n%g = input(T([2, 11, 13, 2], $))\n%y = grid_sampler_2d(%x, %g, 0, 0, False)\nreturn %y\n",
    "%x = input(T([4, 90], $))\n%i = input(T([4, 90], i64))\n%y = gather(%x, 1, %i)\n%z = gather(%y, 1, %i)\n%e = exp(%z)\nreturn %e\n",
};

static void halves_lie_here_and_there(void **state) {
    (void)state;
    for (size_t t = 0; t < countof(types); t++) {
        for (size_t i = 0; i < countof(gathered); i++) {
            add(gathered[i], types[t]);
        }
    }
    check();
}

static const char *const scattered[] = {
    ("%x = input(T([6, 5, 4, 7], $))\n%o = input(T([6, 5, 8, 14], $))\n%i = input(T([6, 5, 4, 7], i64))\n"
     "%y = max_pool2d_with_indices_backward(%x, %o, [2, 2], [2, 2], [0, 0], [1, 1], False, %i)\nreturn %y\n"),
    "%b = input(T([32, 20], $))\n%i = input(T([32, 50], i64))\n%x = input(T([32, 50], $))\n%y = scatter_add(%b, 1, %i, %x)\n%z = mul.Tensor(%y, 2.0)\nreturn %z\n",
    "%b = input(T([32, 20], $))\n%i = input(T([32, 20], i64))\n%x = input(T([32, 20], $))\n%e = exp(%b)\n%y = scatter_add(%e, 1, %i, %x)\nreturn %y\n",
    "%b = input(T([17, 32], $))\n%i = input(T([50], i64))\n%x = input(T([50, 32], $, stride=(1, 50)))\n%y = index_put(%b, [%i], %x, True)\nreturn %y\n",
    "%b = input(T([17, 12], $))\n%i = input(T([50], i64))\n%x = input(T([50, 12], $))\n%y = index_add(%b, 0, %i, %x)\nreturn %y\n",
};

static void scatters_have_their_base_near(void **state) {
    (void)state;
    for (size_t t = 0; t < countof(types); t++) {
        for (size_t i = 0; i < countof(scattered); i++) {
            add(scattered[i], types[t]);
        }
    }
    check();
}

/* Every so many elements of the first input, which is dense, are one of those. */
static void mix_in(graph *g, const double *rare, int n, int64_t every) {
    tensor *x = g->inputs[0].value;
    char *data = tensor_data(x);
    int64_t k = 0;
    for (int64_t i = 0; i < tensor_numel(x); i += every, k++) {
        element_store(x->dtype, data + i * (int64_t)dtype_size(x->dtype), rare[k % n]);
    }
}

static const char *const quotients[] = {
    "%x = input(T([3, 1100], $))\n%y = floor_divide(%x, 42)\nreturn %y\n",
    "%x = input(T([3, 1100], $))\n%y = floor_divide(%x, -7)\nreturn %y\n",
    "%x = input(T([3, 1100], $))\n%y = floor_divide(%x, 1)\n%z = remainder.Scalar(%x, -3)\nreturn %y, %z\n",
    "%x = input(T([3, 1100], $))\n%y = floor_divide_.Tensor(%x, 3)\nreturn %y\n",
};

/* Multiples and their neighbours, and what doubles cannot tell apart. */
static const double whole[] = {0, 1, -1, 41, 42, 43, -41, -42, -43, 4200000000042, 4200000000041, -4200000000043, 7, -7, -8,
                               9007199254740992, 9.0e18, -9.2e18, 2251799813685247, 2251799813685248};
static const double small_whole[] = {0, 1, -1, 41, 42, 43, -41, -42, -43, 2147483647, -2147483647, 2147483646, 7, -7, -8};

static void quotients_are_whole(void **state) {
    (void)state;
    for (size_t i = 0; i < countof(quotients); i++) {
        mix_in(add(quotients[i], "i64"), whole, countof(whole), 1);
        mix_in(add(quotients[i], "i64"), whole, 15, 1); /* none of those */
        mix_in(add(quotients[i], "i32"), small_whole, countof(small_whole), 1);
        add(quotients[i], "f32");
    }
    check();
}

static const char *const circular[] = {
    "%x = input(T([5, 1100], $))\n%y = sin(%x)\n%z = cos(%x)\nreturn %y, %z\n",
    "%x = input(T([5, 1100], $))\n%y = sin_(%x)\nreturn %y\n",
    "%x = input(T([5, 1100], $))\n%y = fmod.Scalar(%x, 0.75)\nreturn %y\n",
};

static void rare_operands_are_done_again(void **state) {
    (void)state;
    static const double rare[] = {INFINITY, NAN, -INFINITY, 1e4, 6e4, -0.0};
    for (size_t t = 0; t < countof(types); t++) {
        for (size_t i = 0; i < countof(circular); i++) {
            mix_in(add(circular[i], types[t]), rare, countof(rare), 331);
            add(circular[i], types[t]);
        }
    }
    check();
}

static const char *const largest[] = {
    "%x = input(T([7, 9, 20], $))\n%y, %i = max.dim(%x, 1)\nreturn %y, %i\n",
    "%x = input(T([7, 9, 20], $))\n%y, %i = min.dim(%x, 0)\n%z, %j = max.dim(%x, 0, True)\nreturn %y, %i, %z, %j\n",
    "%x = input(T([7, 9, 20], $))\n%y, %i = min.dim(%x, 2)\nreturn %y, %i\n",
    "%x = input(T([7, 9, 20], $))\n%f = view(%x, [1260])\n%y, %i = max.dim(%f, 0)\nreturn %y, %i\n",
    "%x = input(T([7, 9, 5, 20], $))\n%p = permute(%x, [0, 3, 2, 1])\n%y, %i = max.dim(%p, 3)\nreturn %y, %i\n",
};

/* The first of equals, the first NaN before all; of nothing but the lowest, the first. */
static void the_first_of_equals_is_the_largest(void **state) {
    (void)state;
    static const double ties[] = {1, 2, 2, 1, -3}, lowest[] = {-INFINITY}, highest[] = {INFINITY}, mixed[] = {3, NAN, INFINITY, 3, NAN, -INFINITY};
    for (size_t i = 0; i < countof(largest); i++) {
        for (size_t t = 0; t < countof(types); t++) {
            add(largest[i], types[t]);
            mix_in(add(largest[i], types[t]), ties, countof(ties), 1);
            mix_in(add(largest[i], types[t]), lowest, 1, 1);
            mix_in(add(largest[i], types[t]), highest, 1, 1);
            mix_in(add(largest[i], types[t]), mixed, countof(mixed), 4);
        }
        mix_in(add(largest[i], "i64"), ties, countof(ties), 1);
        mix_in(add(largest[i], "i32"), ties, countof(ties), 1);
    }
    check();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(padding_is_three_pieces),       cmocka_unit_test(what_is_joined_is_seen_in_pieces),
        cmocka_unit_test(losses_look_at_one_place),      cmocka_unit_test(values_lie_between_lanes),
        cmocka_unit_test(halves_lie_here_and_there),     cmocka_unit_test(scatters_have_their_base_near),
        cmocka_unit_test(quotients_are_whole),           cmocka_unit_test(rare_operands_are_done_again),
        cmocka_unit_test(the_first_of_equals_is_the_largest),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
