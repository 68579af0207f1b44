/* SPDX-License-Identifier: Apache-2.0 */
/* Whose processor this is, and what follows from it. */
#include "device/caches.h"

#include <unistd.h>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

bool cpu_is_intel(void) {
#if defined(__x86_64__)
    __builtin_cpu_init();
    return __builtin_cpu_is("intel");
#else
    return false;
#endif
}

bool cpu_asks_along(void) {
#if defined(__x86_64__)
    enum { UNKNOWN, NO, YES, ZEN_5 = 0x1a };
    static _Atomic int known;
    int asks = known;
    if (asks == UNKNOWN) { /* asked once: where a machine is a guest the instruction takes microseconds */
        unsigned a = 0, b = 0, c = 0, d = 0;
        __builtin_cpu_init();
        const bool answers = __builtin_cpu_is("amd") && __get_cpuid(1, &a, &b, &c, &d) != 0;
        const unsigned family = (a >> 8 & 15) + (a >> 20 & 255);
        asks = cpu_is_intel() || (answers && family >= ZEN_5) ? YES : NO;
        known = asks;
    }
    return asks == YES;
#else
    return false;
#endif
}

int64_t cpu_l2_bytes(void) {
#if defined(_SC_LEVEL2_CACHE_SIZE)
    long bytes = sysconf(_SC_LEVEL2_CACHE_SIZE);
    return bytes > 0 ? bytes : 1 << 20;
#else
    return 1 << 20;
#endif
}

bool streams_pointwise(double results, double read) {
    return results >= STREAM_MIN_BYTES || (results >= STREAM_MIDDLING_BYTES && read > CACHED_BYTES && !cpu_is_intel());
}

bool streams_norm(double results, double all) {
    return results >= STREAM_MIDDLING_BYTES && (cpu_is_intel() || all > CACHED_BYTES);
}
