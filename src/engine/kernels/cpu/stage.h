/* SPDX-License-Identifier: Apache-2.0 */
/* Operands copied for code that cannot take them as they are: another type (f16 for oneDNN), overlapping or scattered
   elements. */
#ifndef ENGINE_KERNELS_CPU_STAGE_H
#define ENGINE_KERNELS_CPU_STAGE_H

#include "base/arena.h"
#include "engine/kernels/cpu/move.h"
#include "engine/tensor/loop.h"

/* A dense copy of a tensor in the order of its strides. Made in prepare; loading and storing allocate nothing. */
typedef struct stage {
    dtype outer, inner;
    loop l;        /* operand 0 the copy, operand 1 the tensor */
    tensor layout; /* of the copy: strides to address it with; no storage */
    void *data;
    converter load, store;
} stage;

/* t's data is not touched (it may have none). Types: any to itself, f16 and bf16 to f32, integers to i32 and i64. */
status stage_prepare(stage *s, const tensor *t, dtype inner, arena *memory, error *err);
void stage_load(const stage *s, const void *from);
void stage_store(const stage *s, void *to);

/* Whether no two indices share an element. */
bool stage_is_disjoint(const tensor *t);

#endif
