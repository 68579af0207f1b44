/* SPDX-License-Identifier: Apache-2.0 */
/* Which kernels these are: for whoever keeps what was measured of them. */
#ifndef ENGINE_KERNELS_IDENTITY_H
#define ENGINE_KERNELS_IDENTITY_H

#include <stddef.h>

enum { IDENTITY_BYTES = 4608 };

/* Writes words that differ when the file that holds the kernels is another one or was built anew (its path, size and time), or
   when oneDNN's version is another. Cut off at size_bytes; IDENTITY_BYTES are enough. Threads: any. */
void kernel_identity(char *out, size_t size_bytes);

#endif
