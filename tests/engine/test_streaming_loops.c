/* SPDX-License-Identifier: Apache-2.0 */
/* Element-wise loops whose results go past the caches make what the loops beside them make (floats but for what another order of
   the same instructions makes of them): every operator of every class that has them, with two operands or one number, by all
   instruction sets that this CPU has. Integers as whole calls too, also where there is no such loop. */
#include "engine/kernel_check.h"

#include "base/rng.h"
#include "device/caches.h"
#include "engine/kernels/cpu/pointwise_tiles.h"

#include <float.h>
#include <math.h>

enum { SEED = 37, ROUNDS = 6, MOST = 400, GUARD = 64, WIDEST = 8 };

typedef struct room {
    _Alignas(64) char in[POINTWISE_INPUTS][(MOST + GUARD) * WIDEST];
    _Alignas(64) char made[2][(MOST + GUARD) * WIDEST];
} room;

static bool is_truth(pointwise_op id) {
    return (id >= PW_LOGICAL_NOT && id <= PW_ISNAN) || (id >= PW_EQ && id <= PW_LOGICAL_XOR);
}

static void fill(room *m, rng *r, pointwise_class class, pointwise_op id) {
    for (int k = 0; k < POINTWISE_INPUTS; k++) {
        for (int i = 0; i < MOST + GUARD; i++) {
            int64_t whole = rng_range(r, -9, 10);
            double x = rng_range(r, 0, 9) == 0 ? NAN : rng_uniform(r) * 12 - 6;
            char *at = m->in[k];
            if (k == 0 && id == PW_WHERE) {
                at[i] = whole > 0;
            } else if (class == CLASS_F32) {
                ((float *)(void *)at)[i] = (float)x;
            } else if (class == CLASS_F64) {
                ((double *)(void *)at)[i] = x;
            } else if (class == CLASS_I64) {
                ((int64_t *)(void *)at)[i] = whole;
            } else if (class == CLASS_U16) {
                ((uint16_t *)(void *)at)[i] = (uint16_t)(whole * 3001);
            } else {
                at[i] = (char)whole;
            }
        }
    }
    memset(m->made, 77, sizeof m->made);
}

static bool is_near(double a, double b, double eps) {
    return (isnan(a) && isnan(b)) || a == b || fabs(a - b) <= 16 * eps * fabs(a);
}

/* Beyond the results nothing may be written: there both are what they were. */
static bool agree(const room *m, pointwise_class class, pointwise_op id) {
    if ((class != CLASS_F32 && class != CLASS_F64) || is_truth(id)) {
        return memcmp(m->made[0], m->made[1], sizeof m->made[0]) == 0;
    }
    dtype t = class == CLASS_F32 ? ASSAY_F32 : ASSAY_F64;
    bool same = true;
    for (size_t at = 0; at < sizeof m->made[0]; at += dtype_size(t)) {
        double a = element_load(t, m->made[0] + at), b = element_load(t, m->made[1] + at);
        same = same && is_near(a, b, t == ASSAY_F32 ? FLT_EPSILON : DBL_EPSILON);
    }
    return same;
}

static void check_loops(room *m, rng *r, pointwise_class class, pointwise_op id, pointwise_loop *const *loops, int set) {
    const number s[POINTWISE_SCALARS] = {number_of_double(0.375), number_of_double(1.5), number_of_double(0.5)};
    bool is_fault = false;
    fill(m, r, class, id);
    pointwise_chunk c = {.in = {m->in[0], m->in[1], m->in[2]}, .n = rng_range(r, 1, MOST), .s = s, .is_fault = &is_fault};
    for (int way = 0; way < 2; way++) {
        c.out = m->made[way];
        loops[way](&c);
    }
    if (!agree(m, class, id)) {
        print_error("operator %d of class %d, set %d, %lld elements\n", (int)id, (int)class, set, (long long)c.n);
        assert_true(false);
    }
}

static void make_the_same(void **state) {
    (void)state;
    static room m;
    rng r = rng_make(SEED);
    int checked = 0;
    for (int i = 0; i < (int)CLASS_COUNT * (int)PW_COUNT * ROUNDS; i++) {
        pointwise_class class = (pointwise_class)(i % (int)CLASS_COUNT);
        pointwise_op id = (pointwise_op)(i / (int)CLASS_COUNT % (int)PW_COUNT);
        for (int set = 0; set <= (int)isa_best(); set++) {
            const pointwise_loops *plain = pointwise_classes[class].loops[set];
            const pointwise_loops *streaming = pointwise_classes[class].streaming[set];
            if (streaming == NULL) {
                continue;
            }
            pointwise_loop *ways[3][2] = {{plain->op[id], streaming->op[id]},
                                          {plain->number[id], streaming->number[id]},
                                          {plain->number_first[id], streaming->number_first[id]}};
            for (int way = 0; way < 3; way++) {
                assert_true(way == 0 || streaming->op[id] == NULL || (ways[way][0] == NULL) == (ways[way][1] == NULL));
                if (ways[way][1] != NULL) {
                    check_loops(&m, &r, class, id, ways[way], set);
                    checked++;
                }
            }
        }
    }
    print_message("%d runs\n", checked);
}

/* In place, of more than a core's own cache holds: as the same loop makes of short parts, to the bit. */
static void long_shares_are_as_short_ones(void **state) {
    (void)state;
    enum { LONG = (1 << 20) + 37, SHORT = 1 << 12 };
    const number s[POINTWISE_SCALARS] = {number_of_double(0.375), number_of_double(1.5), number_of_double(0.5)};
    float *made[2], *second = malloc(LONG * sizeof *second), *first = malloc(LONG * sizeof *first);
    rng r = rng_make(SEED);
    bool is_fault = false;
    for (int way = 0; way < 2; way++) {
        made[way] = malloc(LONG * sizeof(float));
        assert_non_null(made[way]);
    }
    assert_true(first != NULL && second != NULL);
    for (int i = 0; i < LONG; i++) {
        first[i] = i % 1000 == 999 ? NAN : (float)(rng_uniform(&r) * 12 - 6);
        second[i] = (float)(rng_uniform(&r) * 12 - 6);
    }
    for (int i = 0; i < (int)PW_WHERE * ((int)isa_best() + 1); i++) {
        pointwise_op id = (pointwise_op)(i % (int)PW_WHERE);
        int set = i / (int)PW_WHERE;
        pointwise_loop *made_by = pointwise_classes[CLASS_F32].loops[set]->op[id];
        if (made_by == NULL || is_truth(id)) {
            continue;
        }
        for (int way = 0; way < 2; way++) {
            memcpy(made[way], first, LONG * sizeof *first);
            for (int from = 0, n; from < LONG; from += n) {
                n = way == 0 ? LONG : (LONG - from < SHORT ? LONG - from : SHORT);
                made_by(&(pointwise_chunk){.out = made[way] + from, .in = {made[way] + from, second + from, second + from}, .n = n, .s = s,
                                        .is_fault = &is_fault});
            }
        }
        if (memcmp(made[0], made[1], LONG * sizeof *first) != 0) {
            print_error("operator %d, set %d\n", (int)id, set);
            assert_true(false);
        }
    }
    for (int way = 0; way < 2; way++) {
        free(made[way]);
    }
    free(first);
    free(second);
}

/* Large enough to go past the caches, with a rest. */
static void integers_are_right(void **state) {
    (void)state;
    static const char *const names[] = {"add.Tensor", "bitwise_xor.Tensor", "eq.Tensor", "floor_divide", "remainder.Tensor"};
    const int64_t sizes[] = {STREAM_MIN_BYTES / 8 / 1024 + 1, 1027};
    for (size_t i = 0; i < countof(names); i++) {
        kernel_check k;
        check_open(&k);
        arg x = check_tensor(&k, ASSAY_I64, 2, sizes, NULL), y = check_tensor(&k, ASSAY_I64, 2, sizes, NULL);
        arg args[] = {x, y, {.kind = ARG_NUMBER, .number = number_of_int(1)}};
        check_agrees(&k, names[i], args, false);
        check_close(&k);
    }
}

/* One number for an operand: tiles are long, and the last one is shorter. */
static void numbers_are_right(void **state) {
    (void)state;
    static const char *const names[] = {"add.Scalar", "remainder.Scalar", "pow.Tensor_Scalar"};
    const int64_t sizes[] = {STREAM_MIN_BYTES / 4 / 1024 + 3, 1027};
    for (size_t i = 0; i < countof(names); i++) {
        kernel_check k;
        check_open(&k);
        arg args[] = {check_tensor(&k, ASSAY_F32, 2, sizes, NULL), {.kind = ARG_NUMBER, .number = number_of_double(2.5)},
                      {.kind = ARG_NUMBER, .number = number_of_int(1)}};
        check_agrees(&k, names[i], args, false);
        check_close(&k);
    }
}

/* Gradients of every type, and of another than what they are of, which decides the type computed in. */
static void losses_are_right(void **state) {
    (void)state;
    static const dtype types[][2] = {{ASSAY_BF16, ASSAY_BF16}, {ASSAY_BF16, ASSAY_F64}, {ASSAY_F16, ASSAY_F32}, {ASSAY_F32, ASSAY_F32},
                                     {ASSAY_F32, ASSAY_F64}};
    for (size_t i = 0; i < countof(types); i++) {
        const int64_t n = STREAM_MIN_BYTES / (int64_t)dtype_size(types[i][0]) + 77;
        kernel_check k;
        check_open(&k);
        arg x = check_tensor(&k, types[i][0], 1, &n, NULL), y = check_tensor(&k, types[i][0], 1, &n, NULL);
        arg mean = {.kind = ARG_INT, .i = 1}, args[] = {check_tensor(&k, types[i][1], 0, NULL, NULL), x, y, mean};
        check_agrees(&k, "mse_loss_backward", args, false);
        check_agrees(&k, "mse_loss", (arg[]){x, y, mean}, false);
        check_close(&k);
    }
}

/* Rows that begin in the midst of a line, and such that begin one. */
static void triangles_are_right(void **state) {
    (void)state;
    static const dtype types[] = {ASSAY_BF16, ASSAY_F32, ASSAY_F64};
    for (size_t i = 0; i < countof(types); i++) {
        const int64_t columns = i == 1 ? 1024 : 1027, rows = 2 * columns / 3;
        const int64_t sizes[] = {STREAM_MIN_BYTES / (int64_t)dtype_size(types[i]) / columns / rows + 1, rows, columns};
        const int64_t diagonals[] = {0, 3, -70};
        kernel_check k;
        check_open(&k);
        arg x = check_tensor(&k, types[i], 3, sizes, NULL), diagonal = {.kind = ARG_INT, .i = diagonals[i]};
        check_agrees(&k, "triu", (arg[]){x, diagonal}, false);
        check_agrees(&k, "tril", (arg[]){x, diagonal}, true);
        check_close(&k);
    }
}

/* Along rows and down columns, of which some begin in the midst of a line. */
static void running_sums_are_right(void **state) {
    (void)state;
    static const dtype types[] = {ASSAY_F16, ASSAY_BF16, ASSAY_F32, ASSAY_I64};
    for (size_t i = 0; i < countof(types) * 2; i++) {
        dtype t = types[i / 2];
        const int64_t width = i % 2 == 0 ? 320 : 301, numel = STREAM_MIN_BYTES / (int64_t)dtype_size(t);
        const int64_t sizes[] = {numel / width / 70 + 1, 70, width};
        kernel_check k;
        check_open(&k);
        arg x = check_tensor(&k, t, 3, sizes, NULL), none = {.kind = ARG_NONE};
        check_agrees(&k, "cumsum", (arg[]){x, {.kind = ARG_INT, .i = 2}, none}, false);
        check_agrees(&k, "cumsum", (arg[]){x, {.kind = ARG_INT, .i = 1}, none}, true);
        check_close(&k);
    }
}

/* Rows that begin in the midst of a line, beside one row for all of them and one number for each: halves are made by the loop and stored behind
   it, rows long enough for a call of their own and others. */
static void broadcasts_are_right(void **state) {
    (void)state;
    static const dtype types[] = {ASSAY_F16, ASSAY_BF16, ASSAY_F32, ASSAY_F64};
    static const char *const names[] = {"mul.Tensor", "div.Tensor"};
    for (size_t i = 0; i < countof(types) * 2; i++) {
        dtype t = types[i / 2];
        const int64_t width = i % 2 == 0 ? 1001 : 301;
        const int64_t sizes[] = {STREAM_MIN_BYTES / (int64_t)dtype_size(t) / width + 3, width}, column[] = {sizes[0], 1};
        kernel_check k;
        check_open(&k);
        arg x = check_tensor(&k, t, 2, sizes, NULL), row = check_tensor(&k, t, 1, &width, NULL), each = check_tensor(&k, t, 2, column, NULL);
        for (size_t n = 0; n < countof(names); n++) {
            check_agrees(&k, names[n], (arg[]){x, row}, false);
            check_agrees(&k, names[n], (arg[]){each, x}, false);
        }
        check_close(&k);
    }
}

/* Halves chosen by bytes, beside numbers and tensors of other types. */
static void choices_are_right(void **state) {
    (void)state;
    static const dtype types[] = {ASSAY_F16, ASSAY_BF16, ASSAY_F32};
    static const dtype others[] = {ASSAY_F32, ASSAY_I64, ASSAY_I8};
    for (size_t i = 0; i < countof(types); i++) {
        const int64_t sizes[] = {STREAM_MIN_BYTES / (int64_t)dtype_size(types[i]) / 1027 + 3, 1027};
        const int64_t one_row[] = {1, 1027};
        kernel_check k;
        check_open(&k);
        arg mask = check_tensor(&k, ASSAY_B8, 2, sizes, NULL), row = check_tensor(&k, ASSAY_B8, 2, one_row, NULL);
        arg x = check_tensor(&k, types[i], 2, sizes, NULL), cell = check_tensor(&k, others[i], 0, NULL, NULL);
        arg other = check_tensor(&k, i == 0 ? ASSAY_I8 : types[i], 2, sizes, NULL);
        check_agrees(&k, "masked_fill.Tensor", (arg[]){x, mask, cell}, false);
        check_agrees(&k, "masked_fill.Tensor", (arg[]){x, row, cell}, false);
        check_agrees(&k, "where.self", (arg[]){mask, x, other}, false);
        check_agrees(&k, "where.self", (arg[]){row, cell, x}, false);
        check_close(&k);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(make_the_same), cmocka_unit_test(long_shares_are_as_short_ones),
                                       cmocka_unit_test(integers_are_right), cmocka_unit_test(numbers_are_right),
                                       cmocka_unit_test(losses_are_right), cmocka_unit_test(triangles_are_right),
                                       cmocka_unit_test(running_sums_are_right), cmocka_unit_test(broadcasts_are_right),
                                       cmocka_unit_test(choices_are_right)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
