/* SPDX-License-Identifier: Apache-2.0 */
/* Rows added to rows of accumulators, built once for each instruction set. */
#include "engine/kernels/cpu/isa/add_loops.h"

static void add_f32(float *restrict acc, int64_t step, const float *restrict x, int64_t n) {
    if (step == 1) {
        for (int64_t i = 0; i < n; i++) {
            acc[i] += x[i];
        }
        return;
    }
    for (int64_t i = 0; i < n; i++) {
        acc[i * step] += x[i];
    }
}

static void add_f64(double *restrict acc, int64_t step, const double *restrict x, int64_t n) {
    if (step == 1) {
        for (int64_t i = 0; i < n; i++) {
            acc[i] += x[i];
        }
        return;
    }
    for (int64_t i = 0; i < n; i++) {
        acc[i * step] += x[i];
    }
}

static void add_f32_rows(float *acc, int64_t acc_row, int64_t step, const float *x, int64_t x_row, int64_t n,
                         int64_t rows) {
    for (int64_t r = 0; r < rows; r++) {
        add_f32(acc + r * acc_row, step, x + r * x_row, n);
    }
}

static void add_f64_rows(double *acc, int64_t acc_row, int64_t step, const double *x, int64_t x_row, int64_t n,
                         int64_t rows) {
    for (int64_t r = 0; r < rows; r++) {
        add_f64(acc + r * acc_row, step, x + r * x_row, n);
    }
}

const add_loops ISA_SYMBOL(add_loops) = {
    .f32 = add_f32, .f64 = add_f64, .f32_rows = add_f32_rows, .f64_rows = add_f64_rows};
