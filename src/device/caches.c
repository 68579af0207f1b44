/* SPDX-License-Identifier: Apache-2.0 */
/* Whose processor this is, and what follows from it. */
#include "device/caches.h"

bool cpu_is_intel(void) {
#if defined(__x86_64__)
    __builtin_cpu_init();
    return __builtin_cpu_is("intel");
#else
    return false;
#endif
}

int64_t stream_norm_bytes(void) {
    return cpu_is_intel() ? STREAM_MIDDLING_BYTES : 2 * STREAM_MIDDLING_BYTES;
}
