/* SPDX-License-Identifier: Apache-2.0 */
/* The CPU and meta devices, and the list of all. */
#include "device/device.h"

#include "base/pages.h"
#include "base/text.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { ALIGN_BYTES = 64, LARGE_BYTES = 8 << 20 };

/* malloc serves small sizes from a thread's own list in a few instructions, posix_memalign in hundreds: so the alignment is
   made here, and the block's own address kept right before it. */
static void *cpu_alloc(const device *d, size_t size_bytes) {
    (void)d;
    /* Large tensors begin on a page, so that rows of a power of two of bytes lie in one page each, in which the CPU reads ahead. */
    size_t align = size_bytes >= LARGE_BYTES ? PAGE_BYTES : ALIGN_BYTES;
    /* A tail of one cache line lets vector loops read (never use) past the last element. */
    if (size_bytes > SIZE_MAX - PAGE_BYTES - ALIGN_BYTES) {
        return NULL;
    }
    char *block = malloc(size_bytes + align + ALIGN_BYTES);
    if (block == NULL) {
        return NULL;
    }
    char *memory = block + align - (uintptr_t)block % align; /* 16 bytes on at least: malloc aligns to 16 */
    memcpy(memory - sizeof block, &block, sizeof block);
    if (size_bytes >= LARGE_BYTES) {
        ask_for_large_pages(memory, size_bytes);
    }
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

static void *meta_alloc(const device *d, size_t size_bytes) {
    (void)d;
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

status device_find(const char *name, const device **out, error *err) {
    for (size_t i = 0; i < countof(devices); i++) {
        if (strcmp(devices[i]->name, name) == 0) {
            *out = devices[i];
            return ASSAY_OK;
        }
    }
    return fail(err, ASSAY_NO_DEVICE, "no device is called '%s'; this build knows cpu and meta", name);
}
