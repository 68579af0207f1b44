/* SPDX-License-Identifier: Apache-2.0 */
/* The hot loops' files under isa/ are built once for each instruction set (cmake/isa.cmake). */
#ifndef ENGINE_KERNELS_CPU_ISA_H
#define ENGINE_KERNELS_CPU_ISA_H

#include "device/instructions.h"

/* Files under isa/ export their tables as `const NAME_loops ISA_SYMBOL(NAME_loops) = {...}`; their header declares the
   three of them and a pick by isa_best(). This is the one place where the project pastes names: the same source must give
   three symbols. */
#define ISA_PASTE(name, suffix)    name##_##suffix
#define ISA_EXPAND(name, suffix)   ISA_PASTE(name, suffix)
#define ISA_SYMBOL(name)           ISA_EXPAND(name, ISA_NAME)

#endif
