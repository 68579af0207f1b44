/* SPDX-License-Identifier: Apache-2.0 */
/* How wide this instruction set's registers are. Vectors are to be no wider: gcc 12 keeps wider ones in memory, and compares them one number
   after another (the least of half a million floats in cache took 23 times as long so, with AVX2). */
#ifndef ENGINE_KERNELS_CPU_ISA_REGISTERS_H
#define ENGINE_KERNELS_CPU_ISA_REGISTERS_H

#if defined(__AVX512F__)
#define REGISTER_BYTES 64
#elif defined(__AVX2__)
#define REGISTER_BYTES 32
#else
#define REGISTER_BYTES 16
#endif

/* Elements whose partial sums, one a lane, are of the computing type before they go to double: as narrower registers have fewer lanes, blocks
   are shorter, and each sum is as exact (ROW_BLOCK where they are widest). */
enum { SUM_BLOCK = 32 * REGISTER_BYTES };

#endif
