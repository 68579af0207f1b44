/* SPDX-License-Identifier: Apache-2.0 */
/* A place where tensors live. One vtable a device; "no such device" is an ordinary result with a reason. */
#ifndef DEVICE_DEVICE_H
#define DEVICE_DEVICE_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct device device;

struct device {
    const char *name;      /* "cpu", "meta" */
    const char *doc;       /* one sentence for `assay list devices` */
    bool has_memory;       /* meta has none: its tensors are shapes only */
    /* size_bytes of memory at a 64-byte boundary, contents undefined; NULL when there is none left. Of tensors that one loop reads and
       writes, each should have a `place` of its own, from 0 on: how far into a page they begin then differs, and is the same in every
       process. Where a load lies as far into a page as a store before it the processor waits for that store. */
    void *(*alloc)(const device *d, size_t size_bytes, int place);
    void (*free)(const device *d, void *memory, size_t size_bytes);
};

/* The process's own memory. Freed blocks go back to the C library. Threads: any. */
extern const device device_cpu;
/* The same for code that is not trusted: the memory lies as device_cpu's does, with 64 KiB before and behind it in which a write shows. In
   no listing. */
extern const device device_guarded;
/* How many bytes of the margins are not as device_guarded made them, of memory that it gave out. Reads 128 KiB. */
void device_guarded_changes(const void *memory, size_t size_bytes, int64_t *before, int64_t *behind);
/* Shapes only: nothing is ever allocated. */
extern const device device_meta;

/* Every device this build knows, for listings. */
const device *const *device_all(size_t *n);

#endif
