/* SPDX-License-Identifier: Apache-2.0 */
/* Which instruction set's loops resampling takes. */
#include "engine/kernels/cpu/resample.h"

const resample_loops *resample_loops_pick(void) {
    static const resample_loops *const all[ISA_COUNT] = {
        [ISA_BASELINE] = &resample_loops_baseline,
#if defined(__x86_64__)
        [ISA_AVX2] = &resample_loops_avx2,
        [ISA_AVX512] = &resample_loops_avx512,
#endif
    };
    return all[isa_best()];
}
