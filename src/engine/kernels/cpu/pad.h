/* SPDX-License-Identifier: Apache-2.0 */
/* Short rows inside of larger ones: the output is written once, from its first byte to its last. */
#ifndef ENGINE_KERNELS_CPU_PAD_H
#define ENGINE_KERNELS_CPU_PAD_H

#include "engine/kernels/kernel.h"

/* What stands where: src's elements [offset + sum of index * strides] for indices below sizes, from `from` on in dst, whose elements
   are taken as dimensions of dst_sizes. Arrays have ndim numbers; strides and the offset count elements. */
typedef struct padded {
    const tensor *dst, *src;
    int ndim;
    const int64_t *dst_sizes;
    const int64_t *from, *sizes, *strides;
    int64_t offset;
    int64_t step; /* elements of a row stand so many apart in dst; 1: one behind the other */
    number value; /* of all other elements */
} padded;

/* Whether this way takes it: one type, a contiguous dst that caches hold or whose rows are whole lines of memory, short rows of src with
   padding beside or between their elements. Others
   are better made of moves (move.h). */
bool pad_takes(const padded *p);
/* The kernel's state and run. OUT_OF_MEMORY. The tensors have to live as long as the plan. */
status pad_prepare(kernel_plan *plan, const padded *p, error *err);

#endif
