/* SPDX-License-Identifier: Apache-2.0 */
/* All kernels of a program as text. */
#ifndef ENGINE_COMPILE_EMIT_PROGRAM_H
#define ENGINE_COMPILE_EMIT_PROGRAM_H

#include "engine/compile/passes.h"

/* The C text of all kernels, in the compiler's memory. NULL when memory is out, or when the language has no such function: *lacking
   says which. *body: the part of it behind the functions that kernels call. */
char *emit_program(compiler *c, const char **body, const char **lacking);

#endif
