/* SPDX-License-Identifier: Apache-2.0 */
/* Conversions between f32 and the 16-bit types over contiguous runs. */
#ifndef ENGINE_KERNELS_CPU_ISA_CONVERT_LOOPS_H
#define ENGINE_KERNELS_CPU_ISA_CONVERT_LOOPS_H

#include "engine/kernels/cpu/isa.h"

#include <stdint.h>

typedef struct convert_loops {
    void (*f16_to_f32)(const uint16_t *from, float *to, int64_t n);
    void (*f32_to_f16)(const float *from, uint16_t *to, int64_t n); /* to nearest even */
    void (*bf16_to_f32)(const uint16_t *from, float *to, int64_t n);
    void (*f32_to_bf16)(const float *from, uint16_t *to, int64_t n); /* to nearest even; NaN stays NaN */
} convert_loops;

extern const convert_loops convert_loops_baseline, convert_loops_avx2, convert_loops_avx512;

/* Those for this CPU. */
const convert_loops *convert_loops_pick(void);

#endif
