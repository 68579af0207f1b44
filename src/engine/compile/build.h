/* SPDX-License-Identifier: Apache-2.0 */
/* C text to code in this process: the system's compiler, then the dynamic loader. */
#ifndef ENGINE_COMPILE_BUILD_H
#define ENGINE_COMPILE_BUILD_H

#include "base/status.h"
#include "engine/compile/compile.h"

/* A loaded program. */
typedef struct module module;

/* What a module is built for. */
typedef enum build_purpose {
    BUILD_TO_LAST,  /* fast code, kept for other runs */
    BUILD_TO_TEST,  /* built quickly, every warning an error, not kept */
    BUILD_TO_TRY,   /* as BUILD_TO_LAST, not kept */
} build_purpose;

/* Builds source (one self-contained C file) by $ASSAY_CC, else cc, for the CPU that runs this, and loads it; or
   loads what an earlier run has kept (cache.h) of the same text, flags, compiler and CPU. Errors name the compiler and
   what it said. It works in a folder of its own in $TMPDIR (or /tmp): NOT_FOUND, IO (it failed too), TIMEOUT, OUT_OF_MEMORY. Threads: any. */
status module_build(const char *source, build_purpose purpose, module **out, error *err);
/* Removes what builds of processes that are gone have left in $TMPDIR (scratch.h). Each build does so as it begins; a supervisor does
   when a process has died. Threads: any. */
void module_sweep(void);
/* One more holder of it, who calls module_free as well. */
module *module_share(module *m);
/* NULL when there is no such kernel. */
compiled_kernel_fn *module_find(const module *m, const char *symbol);
/* Why it is not in the cache for other runs; NULL: it is, or is not meant to be. */
const char *module_why_not_kept(const module *m);
/* Names the code: its text, flags, compiler and CPU. */
const char *module_identity(const module *m);
void module_free(module *m);

#endif
