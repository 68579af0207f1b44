/* SPDX-License-Identifier: Apache-2.0 */
/* Whose processor this is. */
#include "device/caches.h"

bool cpu_is_intel(void) {
#if defined(__x86_64__)
    __builtin_cpu_init();
    return __builtin_cpu_is("intel");
#else
    return false;
#endif
}
