/* SPDX-License-Identifier: Apache-2.0 */
/* Sines and cosines in f32 of a block of elements: of angles that are not large as vector_math.h has them, where 64 are looked through at
   once; what is larger goes to the C library. A template as vector_blocks.h. */
#ifndef ENGINE_KERNELS_CPU_ISA_VECTOR_ANGLES_H
#define ENGINE_KERNELS_CPU_ISA_VECTOR_ANGLES_H

#include "engine/kernels/cpu/isa/vector_halves.h"

/* As half_turns_fused and sine_of_rest, whose numbers these are; registers go through each step together. A cosine's turns are one more than
   what is shifted says, for which its sine is turned round. */
#if defined(__AVX512F__)
VECTOR_INLINE void angles_of(wide_f32 *x, int count, int cosine) {
    wide_u32 turn[IN_FOUR];
    wide_f32 rest[IN_FOUR], square[IN_FOUR], value[IN_FOUR];
    const float round = cosine ? -1 : 1;
    for (int i = 0; i < count; i++) {
        wide_f32 size = cosine ? x[i] : wide_size(x[i]);
        wide_f32 shifted = wide_fused(size, wide_of(0x1.45f306p-2f), wide_of(cosine ? -0.5f : ROUND_MAGIC_F32));
        shifted = cosine ? shifted + ROUND_MAGIC_F32 : shifted;
        wide_f32 turns = cosine ? shifted - ROUND_MAGIC_F32 + 0.5f : shifted - ROUND_MAGIC_F32;
        turn[i] = (wide_u32)shifted;
        rest[i] = wide_fused(turns, wide_of(-0x1.921fb4p+1f), size);
        rest[i] = wide_fused(turns, wide_of(-0x1.4442dp-23f), rest[i]);
        rest[i] = wide_fused(turns, wide_of(-0x1.846988p-47f), rest[i]);
    }
    for (int i = 0; i < count; i++) {
        square[i] = rest[i] * rest[i];
        value[i] = square[i] * (round * 0x1.5dc902p-19f) - round * 0x1.9f70fp-13f;
    }
    for (int i = 0; i < count; i++) {
        value[i] = value[i] * square[i] + round * 0x1.110edap-7f;
    }
    for (int i = 0; i < count; i++) {
        value[i] = value[i] * square[i] - round * 0x1.55554cp-3f;
        square[i] = square[i] * rest[i];
    }
    for (int i = 0; i < count; i++) {
        wide_f32 made = cosine ? value[i] * square[i] - rest[i] : value[i] * square[i] + rest[i];
        wide_u32 sign = cosine ? turn[i] << 31 : (turn[i] << 31 ^ (wide_u32)x[i]) & 0x80000000u;
        x[i] = (wide_f32)((wide_u32)made ^ sign);
    }
}
#endif

/* NaN is none. */
VECTOR_INLINE int any_angle_is_large(const float *x, int n) {
    int some = 0;
    for (int l = 0; l < n; l++) {
        some |= fabsf(x[l]) > TRIGONOMETRY_LIMIT;
    }
    return some;
}

#if defined(__AVX512DQ__)
static void large_angles(wide_four *x, int n, int cosine) __attribute__((noinline, unused));
static void large_angles(wide_four *x, int n, int cosine) {
    float some[64];
    four_to(some, *x, n);
    for (int l = 0; l < n; l++) {
        some[l] = cosine ? __builtin_cosf(some[l]) : __builtin_sinf(some[l]);
    }
    *x = four_at(some, n);
}
#endif

#if defined(__AVX512DQ__)
VECTOR_INLINE wide_four four_angles(wide_four x, int cosine) {
    if (__builtin_expect(four_any_beyond(x, TRIGONOMETRY_LIMIT), 0)) {
        wide_four large = x;
        large_angles(&large, 64, cosine);
        return large;
    }
    angles_of(x.v, IN_FOUR, cosine);
    return x;
}
#endif

VECTOR_INLINE void angles_block(float *to, const float *from, int n, int cosine) {
#if defined(__AVX512DQ__)
    int l = 0;
    for (; l + 64 <= n; l += 64) {
        four_to(to + l, four_angles(four_at(from + l, 64), cosine), 64);
    }
    for (; l < n; l += 16) {
        wide_four x = four_at(from + l, 16);
        if (__builtin_expect(four_any_beyond(x, TRIGONOMETRY_LIMIT), 0)) {
            large_angles(&x, 16, cosine);
        } else {
            angles_of(x.v, 1, cosine);
        }
        four_to(to + l, x, 16);
    }
#else
    if (any_angle_is_large(from, n)) {
        for (int l = 0; l < n; l++) {
            to[l] = cosine ? __builtin_cosf(from[l]) : __builtin_sinf(from[l]);
        }
    } else {
        for (int l = 0; l < n; l++) {
            to[l] = cosine ? cos_f32(from[l]) : sin_f32(from[l]);
        }
    }
#endif
}

/* As sin_f32 has it. */
VECTOR_INLINE void sin_block_f32(float *to, const float *from, int n) {
    angles_block(to, from, n, 0);
}

/* As cos_f32 has it. */
VECTOR_INLINE void cos_block_f32(float *to, const float *from, int n) {
    angles_block(to, from, n, 1);
}

#endif
