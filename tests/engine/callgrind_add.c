/* SPDX-License-Identifier: Apache-2.0 */
/* Calls operators on two small f32 tensors as often as told: add.Tensor on 4 x 4, or several shapes in turns, several
   operators in turns, so that no call is like the one before. Run under callgrind with two counts, the difference over the
   difference of counts is what one call costs, outputs made and freed (callgrind_add.py).

   usage: callgrind_add CALLS [SHAPES, 1 to 6] [OPERATORS, 1 to 4] */
#include "assay/assay.h"

#include <stdio.h>
#include <stdlib.h>

enum { SHAPES = 6, OPERATORS = 4 };

typedef struct turns {
    assay_session *session;
    assay_tensor *left[SHAPES], *right[SHAPES];
    const assay_op *op[OPERATORS];
    long n_shapes, n_ops;
} turns;

/* Each operator meets each shape. */
static assay_status call_often(const turns *t, long n, assay_error *err) {
    long shape = 0, o = 0;
    for (long i = 0; i < n; i++) {
        assay_tensor *out = NULL;
        const assay_value values[] = {{.kind = ASSAY_VALUE_TENSOR, .tensor = t->left[shape]},
                                      {.kind = ASSAY_VALUE_TENSOR, .tensor = t->right[shape]}};
        assay_status result = assay_call(t->session, t->op[o], values, 2, &out, 1, err);
        if (result != ASSAY_OK) {
            return result;
        }
        assay_tensor_free(out);
        o = o + 1 < t->n_ops ? o + 1 : 0;
        shape = o != 0 ? shape : shape + 1 < t->n_shapes ? shape + 1 : 0;
    }
    return ASSAY_OK;
}

static assay_status make_tensor(int shape, assay_tensor **out, assay_error *err) {
    static const int64_t sizes[SHAPES][2] = {{4, 4}, {4, 3}, {2, 8}, {16, 1}, {1, 4}, {3, 5}};
    assay_status result = assay_tensor_new(ASSAY_F32, 2, sizes[shape], NULL, out, err);
    for (int i = 0; result == ASSAY_OK && i < sizes[shape][0] * sizes[shape][1]; i++) {
        ((float *)assay_tensor_data(*out))[i] = (float)(i + 1);
    }
    return result;
}

static assay_status prepare(turns *t, assay_error *err) {
    static const char *const names[OPERATORS] = {"add.Tensor", "mul.Tensor", "sub.Tensor", "div.Tensor"};
    assay_status result = assay_session_new(&t->session, err);
    for (int k = 0; result == ASSAY_OK && k < OPERATORS; k++) {
        result = assay_op_find(t->session, names[k], &t->op[k], err);
    }
    for (int k = 0; result == ASSAY_OK && k < SHAPES; k++) {
        result = make_tensor(k, &t->left[k], err);
        result = result == ASSAY_OK ? make_tensor(k, &t->right[k], err) : result;
    }
    return result;
}

static long number(int argc, char **argv, int at, long least, long most) {
    long n = argc > at ? strtol(argv[at], NULL, 10) : 1;
    return n < least ? least : n > most ? most : n;
}

int main(int argc, char **argv) {
    turns t = {.n_shapes = number(argc, argv, 2, 1, SHAPES), .n_ops = number(argc, argv, 3, 1, OPERATORS)};
    assay_error err = {0};
    assay_status result = prepare(&t, &err);
    if (result == ASSAY_OK) {
        result = call_often(&t, number(argc, argv, 1, 0, 1000000000), &err);
    }
    if (result != ASSAY_OK) {
        fprintf(stderr, "callgrind_add: %s\n", err.message);
    }
    for (int k = 0; k < SHAPES; k++) {
        assay_tensor_free(t.left[k]);
        assay_tensor_free(t.right[k]);
    }
    assay_session_free(t.session);
    return result == ASSAY_OK ? 0 : 1;
}
