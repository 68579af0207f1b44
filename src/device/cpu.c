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
   made here, and the block's own address kept right before it, and before what is wanted `before` it: a multiple of the alignment. */
static char *place_in_block(size_t size_bytes, int place, size_t before, size_t behind) {
    if (size_bytes > SIZE_MAX / 2) {
        return NULL;
    }
    size_t align = align_for(size_bytes), into = place_into(size_bytes, place);
    size_t needed = before + into + size_bytes + behind;
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
    return memory + before;
}

static void free_block(char *memory, size_t before) {
    if (memory != NULL) {
        char *block;
        memcpy(&block, memory - before - sizeof block, sizeof block);
        free(block);
    }
}

static void *cpu_alloc(const device *d, size_t size_bytes, int place) {
    (void)d;
    /* A tail of one cache line lets vector loops read (never use) past the last element. */
    return place_in_block(size_bytes, place, 0, ALIGN_BYTES);
}

static void cpu_free(const device *d, void *memory, size_t size_bytes) {
    (void)d;
    (void)size_bytes;
    free_block(memory, 0);
}

/* --- with margins --- */

/* MARGIN_BYTES: rows that are one too many, as far as a kernel that takes a wrong size by mistake will write, for tensors of usual rows. */
enum { MARGIN_BYTES = 16 * PAGE_BYTES, MARGIN_PATTERN = 0x6b };

/* Whole alignments, so that the memory lies as device_cpu's does. */
static size_t room_before(size_t size_bytes) {
    size_t align = align_for(size_bytes);
    return align > MARGIN_BYTES ? align : MARGIN_BYTES;
}

static void *guarded_alloc(const device *d, size_t size_bytes, int place) {
    (void)d;
    char *memory = place_in_block(size_bytes, place, room_before(size_bytes), MARGIN_BYTES);
    if (memory != NULL) {
        memset(memory - MARGIN_BYTES, MARGIN_PATTERN, MARGIN_BYTES);
        memset(memory + size_bytes, MARGIN_PATTERN, MARGIN_BYTES);
    }
    return memory;
}

static void guarded_free(const device *d, void *memory, size_t size_bytes) {
    (void)d;
    free_block(memory, room_before(size_bytes));
}

static int64_t changed_in(const char *margin) {
    int64_t n = 0;
    for (size_t i = 0; i < MARGIN_BYTES; i++) {
        n += margin[i] != MARGIN_PATTERN;
    }
    return n;
}

void device_guarded_changes(const void *memory, size_t size_bytes, int64_t *before, int64_t *behind) {
    *before = changed_in((const char *)memory - MARGIN_BYTES);
    *behind = changed_in((const char *)memory + size_bytes);
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

const device device_guarded = {.name = "cpu",
                               .doc = "this machine's processors, margins around each tensor",
                               .has_memory = true,
                               .alloc = guarded_alloc,
                               .free = guarded_free};

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
