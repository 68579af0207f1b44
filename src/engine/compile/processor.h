/* SPDX-License-Identifier: Apache-2.0 */
/* What emitted code may use of this CPU beyond what a C compiler finds for itself. */
#ifndef ENGINE_COMPILE_PROCESSOR_H
#define ENGINE_COMPILE_PROCESSOR_H

#include "engine/compile/compile.h"

/* Sets what hangs on this CPU. */
void compile_options_of_cpu(compile_options *o);

#endif
