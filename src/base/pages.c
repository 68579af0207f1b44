/* SPDX-License-Identifier: Apache-2.0 */
/* Advice to the kernel; see pages.h. */
#include "base/pages.h"

#include <stdint.h>
#include <sys/mman.h>

void ask_for_large_pages(char *memory, size_t size_bytes) {
#if defined(MADV_HUGEPAGE)
    uintptr_t first = ((uintptr_t)memory + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES;
    uintptr_t end = ((uintptr_t)memory + size_bytes) / PAGE_BYTES * PAGE_BYTES;
    if (first < end) {
        madvise(memory + (first - (uintptr_t)memory), end - first, MADV_HUGEPAGE);
    }
#else
    (void)memory;
    (void)size_bytes;
#endif
}
