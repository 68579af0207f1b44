/* SPDX-License-Identifier: Apache-2.0 */
/* Layer norm's parameters, weight and bias, beside its rows, and their gradients, which are sums over rows. */
#ifndef ENGINE_KERNELS_CPU_NORM_PARAMS_H
#define ENGINE_KERNELS_CPU_NORM_PARAMS_H

#include "engine/kernels/cpu/row_loops.h"
#include "engine/tensor/tensor.h"

#include <stdbool.h>

typedef struct norm_params {
    const row_loops *l;
    int64_t n;    /* elements of a parameter */
    dtype rows;   /* the type of the rows that the numbers go with */
    bool beside;  /* they lie as row_beside has it, else as they are */
} norm_params;

/* A thread's sums: n numbers in the computing type, then in double. */
typedef struct param_sums {
    char *weight, *bias;
    double *weight_total, *bias_total;
} param_sums;

/* A parameter in the computing type: its own memory, or `room` for row_beside_room(n) numbers. NULL for none. made: room for n numbers. */
const void *norm_params_in(const norm_params *p, const tensor *t, char *room, char *made);

/* Adds the sums in the computing type to those in double, and starts them anew. */
void norm_params_flush(const norm_params *p, const param_sums *sums);

/* Adds another thread's totals. */
void norm_params_add(const norm_params *p, const param_sums *sums, const param_sums *more);

/* The totals to where the gradients belong, NULL: nowhere; the sums in the computing type are lost. */
void norm_params_store(const norm_params *p, const param_sums *sums, const tensor *weight_out, const tensor *bias_out);

#endif
