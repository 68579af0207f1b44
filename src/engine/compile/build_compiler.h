/* SPDX-License-Identifier: Apache-2.0 */
/* Which compiler builds emitted code, and what tells it from others. */
#ifndef ENGINE_COMPILE_BUILD_COMPILER_H
#define ENGINE_COMPILE_BUILD_COMPILER_H

#include <stddef.h>

/* $ASSAY_CC, else "cc": one program, searched in $PATH unless it has a '/'. Borrowed from the environment. */
const char *build_compiler(void);

/* Names it for the cache: its file as it is now, so that an update makes new code. A script, and a launcher (ccache), stays the same file
   when the compiler behind it changes: it is asked as well what --version says, once a process, which takes
   milliseconds; one that does not answer within two seconds says nothing. Threads: any. */
enum { BUILD_COMPILER_BYTES = 5120 };
void build_compiler_identity(char *out, size_t size_bytes);

#endif
