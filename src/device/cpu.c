/* SPDX-License-Identifier: Apache-2.0 */
/* The CPU and meta devices, and the list of all. */
#include "device/device.h"

#include "base/pages.h"
#include "base/text.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* PLACE_BYTES: between two places, as far from a page, from its half, quarter and eighth as multiples go: rows of a power of two of bytes do
   not meet either. */
enum { ALIGN_BYTES = 64, PLACE_BYTES = 38 * ALIGN_BYTES, HUGE_BYTES = 8 << 20 };

/* Where a tensor begins would be chance otherwise, for which a kernel took longer in one process than in the next: emitted running sums
   along rows of [64, 1024] i64 18 us where input and result lay alike, else 13 (Granite Rapids, 2026-11). */
static size_t align_for(size_t size_bytes) {
    return size_bytes >= LARGE_PAGE_BYTES / 2 ? LARGE_PAGE_BYTES : size_bytes >= PAGE_BYTES ? PAGE_BYTES : ALIGN_BYTES;
}

/* Past the caches no load is as near to a store as that, and rows of a power of two of bytes that lie in one page each, in which the
   processor reads ahead, matter more: triu of 128 MiB takes 1.13 times as long where its result begins within a page. */
static size_t place_into(size_t size_bytes, int place) {
    return size_bytes < PAGE_BYTES || size_bytes >= HUGE_BYTES ? 0 : (size_t)place * PLACE_BYTES % PAGE_BYTES;
}

static size_t whole_pages(size_t size_bytes, size_t page) {
    return (size_bytes + page - 1) / page * page;
}

/* malloc serves small sizes from a thread's own list in a few instructions, posix_memalign in hundreds: so the alignment is
   made here, and the block's own address kept right before it. */
static void *cpu_alloc(const device *d, size_t size_bytes, int place) {
    (void)d;
    if (size_bytes > SIZE_MAX / 2) {
        return NULL;
    }
    size_t align = align_for(size_bytes), into = place_into(size_bytes, place);
    /* A tail of one cache line lets vector loops read (never use) past the last element. */
    size_t needed = into + size_bytes + ALIGN_BYTES;
    needed = align == LARGE_PAGE_BYTES ? whole_pages(needed, align) : needed;
    char *block = malloc(align + needed);
    if (block == NULL) {
        return NULL;
    }
    char *pages = block + align - (uintptr_t)block % align; /* 16 bytes on at least: malloc aligns to 16 */
    if (align == LARGE_PAGE_BYTES) {
        ask_for_large_pages(pages, needed);
    }
    char *memory = pages + into;
    memcpy(memory - sizeof block, &block, sizeof block);
    return memory;
}

static void cpu_free(const device *d, void *memory, size_t size_bytes) {
    (void)d;
    (void)size_bytes;
    if (memory != NULL) {
        char *block;
        memcpy(&block, (char *)memory - sizeof block, sizeof block);
        free(block);
    }
}

static void *meta_alloc(const device *d, size_t size_bytes, int place) {
    (void)d;
    (void)place;
    (void)size_bytes;
    return NULL;
}

static void meta_free(const device *d, void *memory, size_t size_bytes) {
    (void)d;
    (void)memory;
    (void)size_bytes;
}

const device device_cpu = {.name = "cpu",
                           .doc = "this machine's processors",
                           .has_memory = true,
                           .alloc = cpu_alloc,
                           .free = cpu_free};

const device device_meta = {.name = "meta",
                            .doc = "shapes and strides only, no memory",
                            .has_memory = false,
                            .alloc = meta_alloc,
                            .free = meta_free};

static const device *const devices[] = {&device_cpu, &device_meta};

const device *const *device_all(size_t *n) {
    *n = countof(devices);
    return devices;
}
