/* SPDX-License-Identifier: Apache-2.0 */
/* Asks the processor what it can do, and the environment what it may. */
#include "device/instructions.h"

#include "base/text.h"
#include "device/caches.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#if defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>
#endif
#endif

static const char *const names[ISA_COUNT] = {"baseline", "avx2", "avx512"};

const char *isa_name(isa i) {
    return names[i];
}

static isa isa_of_cpu(void) {
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512cd")) {
        return ISA_AVX512;
    }
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2")) {
        return ISA_AVX2; /* every processor with these has F16C as well */
    }
#endif
    return ISA_BASELINE;
}

void cpu_identity(uint32_t out[CPU_IDENTITY_WORDS]) {
    memset(out, 0, CPU_IDENTITY_WORDS * sizeof *out);
#if defined(__x86_64__)
    __get_cpuid(1, &out[0], &out[1], &out[2], &out[3]);
    out[1] &= 0xffffu; /* above: which core runs this */
    __get_cpuid_count(7, 0, &out[4], &out[5], &out[6], &out[7]);
    __get_cpuid_count(7, 1, &out[8], &out[9], &out[10], &out[11]);
    __get_cpuid(0x80000001u, &out[12], &out[13], &out[14], &out[15]);
#endif
}

/* ISA_COUNT: no set is asked for, or one that is unknown. */
static isa asked_for(const char **word) {
    *word = getenv("ASSAY_ISA");
    int i = 0;
    while (i < ISA_COUNT && *word != NULL && strcmp(*word, names[i]) != 0) {
        i++;
    }
    return *word == NULL ? ISA_COUNT : (isa)i;
}

isa isa_best(void) {
    static atomic_int known = ISA_COUNT; /* not yet */
    int best = atomic_load_explicit(&known, memory_order_relaxed);
    if (best == ISA_COUNT) {
        const char *word;
        isa asked = asked_for(&word), has = isa_of_cpu();
        best = (int)(asked < has ? asked : has);
        atomic_store_explicit(&known, best, memory_order_relaxed);
    }
    return (isa)best;
}

bool isa_is_limited(void) {
    return isa_best() < isa_of_cpu();
}

bool isa_rounds_to_bf16(void) {
#if defined(__x86_64__)
    return isa_best() == ISA_AVX512 && __builtin_cpu_supports("avx512bf16") != 0;
#else
    return false;
#endif
}

#if defined(__x86_64__) && defined(__linux__)
static bool asks_for_tiles(void) {
    enum { ASK_FOR = 0x1023, TILE_DATA = 18 }; /* arch_prctl's ARCH_REQ_XCOMP_PERM, and which state that is about */
    unsigned a = 0, b = 0, c = 0, d = 0;
    const bool tiles = __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (d >> 22 & 1) != 0 && (d >> 24 & 1) != 0;
    return tiles && isa_rounds_to_bf16() && syscall(SYS_arch_prctl, ASK_FOR, TILE_DATA) == 0;
}
#else
static bool asks_for_tiles(void) {
    return false;
}
#endif

bool isa_has_tiles(void) {
    enum { UNKNOWN, NO, YES };
    static atomic_int known = UNKNOWN;
    int has = atomic_load_explicit(&known, memory_order_relaxed);
    if (has == UNKNOWN) {
        has = asks_for_tiles() ? YES : NO;
        atomic_store_explicit(&known, has, memory_order_relaxed);
    }
    return has == YES;
}

bool isa_multiplies_bf16_slowly(void) {
    return isa_rounds_to_bf16() && cpu_is_intel() && !isa_has_tiles();
}

#if defined(__x86_64__)
__attribute__((target("avx"))) static void clear_upper_halves(void) {
    _mm256_zeroupper();
}
#endif

void instructions_clear_upper_halves(void) {
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx")) {
#pragma omp parallel
        clear_upper_halves();
    }
#endif
}

status isa_check(error *err) {
    const char *word;
    isa asked = asked_for(&word), has = isa_of_cpu();
    if (word == NULL || word[0] == '\0' || asked <= has) {
        return ASSAY_OK;
    }
    if (asked < ISA_COUNT) {
        return fail(err, ASSAY_INVALID, "ASSAY_ISA asks for %s, but this processor has %s and no more: unset it, or ask for less", word,
                    names[has]);
    }
    const char *near = text_nearest(word, names, ISA_COUNT);
    return fail(err, ASSAY_INVALID, "expected ASSAY_ISA to be baseline, avx2 or avx512, got '%.40s'%s%s%s", word,
                near != NULL ? "; did you mean '" : "", near != NULL ? near : "", near != NULL ? "'?" : "");
}
