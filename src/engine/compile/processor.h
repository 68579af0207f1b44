/* SPDX-License-Identifier: Apache-2.0 */
/* What emitted code may use of this CPU beyond what a C compiler finds for itself. */
#ifndef ENGINE_COMPILE_PROCESSOR_H
#define ENGINE_COMPILE_PROCESSOR_H

#include "engine/compile/compile.h"

#include <stdbool.h>

/* Tiles that multiply bf16 (AMX), which Linux lets a process use that asks for them: asks. False elsewhere, and when the system
   says no. Threads: any; those that are there have the leave as well. */
bool cpu_has_tiles(void);
/* Vectors that multiply pairs of bf16 (AVX512_BF16). */
bool cpu_has_pairs(void);
/* Sets what hangs on this CPU. */
void compile_options_of_cpu(compile_options *o);

#endif
