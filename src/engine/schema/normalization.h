/* SPDX-License-Identifier: Apache-2.0 */
/* Layer, batch and group norm are one operation seen three ways: which elements share statistics, which share a weight. */
#ifndef ENGINE_SCHEMA_NORMALIZATION_H
#define ENGINE_SCHEMA_NORMALIZATION_H

#include "engine/schema/op.h"
#include "engine/schema/reference.h"

/* Element `flat` (row-major) takes statistics number flat / stat_div % n_stats and weight flat / weight_div % n_weights.
   Each number of statistics is over per_stat elements. Arguments are positions in the call, -1 where there is none. */
typedef struct norm_view {
    int64_t n_stats, stat_div, per_stat;
    int64_t n_weights, weight_div;
    int input_arg, weight_arg, bias_arg, mean_arg, rstd_arg, mask_arg; /* mean and rstd: of the backwards */
    int running_mean_arg, running_var_arg;
    bool is_layer, is_batch; /* neither: group norm */
    bool trains; /* statistics come from the input, not from running ones; always so but for batch norm's evaluation */
    double eps;  /* 0 in backwards that are not given it */
} norm_view;

/* Checks the call and describes it; INVALID says what was expected. Serves forwards and backwards. */
status norm_analyse(const op_call *call, norm_view *out, error *err);

/* The type of saved statistics and, in backwards without a weight, of its gradient: f32 where f16 or bf16 input comes with
   f32 parameters, else the input's. */
dtype norm_stat_type(const op_call *call, const norm_view *v);

/* Mean and variance (divided by n) of each statistic of argument arg, in doubles; two passes. `variance` may be NULL. */
void norm_statistics(const norm_view *v, const double *x, int64_t numel, double *mean, double *variance);

#endif
