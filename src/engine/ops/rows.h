/* SPDX-License-Identifier: Apache-2.0 */
/* The family files, each a list of rows. A new file is named here and in table.c, nowhere else. */
#ifndef ENGINE_OPS_ROWS_H
#define ENGINE_OPS_ROWS_H

#include "engine/schema/op.h"

typedef struct op_rows {
    const op_row *rows;
    size_t n;
} op_rows;

extern const op_rows rows_arithmetic;
extern const op_rows rows_quotient;
extern const op_rows rows_extremes;
extern const op_rows rows_elementary;
extern const op_rows rows_activation;
extern const op_rows rows_activation_backward;
extern const op_rows rows_compare;
extern const op_rows rows_select;
extern const op_rows rows_reduce;
extern const op_rows rows_moments;
extern const op_rows rows_norm;
extern const op_rows rows_norm_backward;
extern const op_rows rows_softmax;
extern const op_rows rows_loss;
extern const op_rows rows_matmul;
extern const op_rows rows_conv;
extern const op_rows rows_pool;
extern const op_rows rows_resample;
extern const op_rows rows_view;
extern const op_rows rows_slice;
extern const op_rows rows_copy;
extern const op_rows rows_shape;
extern const op_rows rows_triangle;
extern const op_rows rows_fold;
extern const op_rows rows_create;
extern const op_rows rows_index;
extern const op_rows rows_index_put;
extern const op_rows rows_scatter;
extern const op_rows rows_embedding;
extern const op_rows rows_sort;
extern const op_rows rows_random;
extern const op_rows rows_rnn;
extern const op_rows rows_fft;
extern const op_rows rows_sparse;

#endif
