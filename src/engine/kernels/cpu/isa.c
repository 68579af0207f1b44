/* SPDX-License-Identifier: Apache-2.0 */
/* Asks the CPU what it can do. */
#include "engine/kernels/cpu/isa.h"

isa isa_best(void) {
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512cd")) {
        return ISA_AVX512;
    }
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2")) {
        return ISA_AVX2; /* every CPU with these has F16C as well */
    }
#endif
    return ISA_BASELINE;
}

const char *isa_name(isa i) {
    static const char *const names[ISA_COUNT] = {"baseline", "avx2", "avx512"};
    return names[i];
}
