/* SPDX-License-Identifier: Apache-2.0 */
/* When results go past the caches, and how a kernel keeps memory busy while it computes. */
#ifndef ENGINE_KERNELS_CPU_STREAMING_H
#define ENGINE_KERNELS_CPU_STREAMING_H

#include "device/caches.h"

#include <stddef.h>

enum {
    /* Of a row that is read, worked on and stored in turns: small enough that each of these goes on in the shadow of the
       others, large enough that a call for it is cheap. */
    STREAM_PIECE = 512, /* elements */

    /* Rows on their way at once, with what is read ahead, stay in an L2 cache of this size. */
    FLIGHT_BYTES = 1 << 20
};

/* Asks for memory that is read soon. */
static inline void fetch_soon(const void *from, size_t bytes) {
    for (size_t at = 0; at < bytes; at += STREAM_LINE_BYTES) {
        __builtin_prefetch((const char *)from + at);
    }
}

#endif
