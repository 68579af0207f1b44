/* SPDX-License-Identifier: Apache-2.0 */
/* Which instruction sets kernels and emitted code use: the best that the processor has, or fewer where $ASSAY_ISA asks for that. */
#ifndef DEVICE_INSTRUCTIONS_H
#define DEVICE_INSTRUCTIONS_H

#include "base/status.h"

#include <stdbool.h>
#include <stdint.h>

/* Each has what those before it have: x86-64 alone, or any other processor; AVX2, FMA, F16C and BMI2; AVX-512 F, BW, VL, DQ and CD. */
typedef enum isa { ISA_BASELINE, ISA_AVX2, ISA_AVX512, ISA_COUNT } isa;

/* The best that may be used. A few loads: may be asked on every call. Threads: any. */
isa isa_best(void);
/* Whether that is less than the processor has. */
bool isa_is_limited(void);
/* Whether, with AVX-512, the processor has instructions for bf16 (AVX512_BF16) as well. A few loads. Threads: any. */
bool isa_rounds_to_bf16(void);
/* Whether the processor has, beside those, tiles that multiply bf16 (AMX), which Linux lets a process use that asks for them: asks. False
   when the system says no. A few loads but for the first time. Threads: any; those that are there have the leave as well. */
bool isa_has_tiles(void);
/* Whether a product of bf16 takes longer than the same of f32, by vectors that hold twice as many: Intel's processors start one of them in
   two cycles, and four of f32 meanwhile (2.5 bf16 and 4.7 f32 sums of 16 products in a nanosecond of an Emerald Rapids whose tiles are
   hidden, 2026-11). A few loads. Threads: any. */
bool isa_multiplies_bf16_slowly(void);
/* The processor's own words about itself, which -march=native asks: family, model, stepping and what it can do. Zeros on others than
   x86-64. Microseconds where a machine is a guest. */
enum { CPU_IDENTITY_WORDS = 16 };
void cpu_identity(uint32_t out[CPU_IDENTITY_WORDS]);
/* "baseline", "avx2", "avx512". */
const char *isa_name(isa i);
/* On x86-64 with AVX, sets the upper halves of the vector registers to zero, on the calling thread and its OpenMP team. Code that
   leaves something in them, as some libraries do, makes each later change between instructions with and without VEX prefixes cost
   a hundred nanoseconds on some of Intel's processors, on which it is for the next user of the thread to pay. Does not fail. */
void instructions_clear_upper_halves(void);
/* INVALID where $ASSAY_ISA is no such name, or names a set that the processor lacks; the others take no notice of it then. */
status isa_check(error *err);

#endif
