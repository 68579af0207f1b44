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

const add_loops ISA_SYMBOL(add_loops) = {.f32 = add_f32, .f64 = add_f64};
