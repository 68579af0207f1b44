/* SPDX-License-Identifier: Apache-2.0 */
/* Elements of any real dtype to the class's `elem` and back, a template beside pointwise_loops.h. */

#define OTHER float
#define LOAD  load_f32
#define STORE store_f32
#include "engine/kernels/cpu/isa/pointwise_convert_type.h"

#define OTHER double
#define LOAD  load_f64
#define STORE store_f64
#include "engine/kernels/cpu/isa/pointwise_convert_type.h"

#define OTHER int8_t
#define LOAD  load_i8
#define STORE store_i8
#include "engine/kernels/cpu/isa/pointwise_convert_type.h"

#define OTHER int16_t
#define LOAD  load_i16
#define STORE store_i16
#include "engine/kernels/cpu/isa/pointwise_convert_type.h"

#define OTHER int32_t
#define LOAD  load_i32
#define STORE store_i32
#include "engine/kernels/cpu/isa/pointwise_convert_type.h"

#define OTHER int64_t
#define LOAD  load_i64
#define STORE store_i64
#include "engine/kernels/cpu/isa/pointwise_convert_type.h"

#define OTHER uint8_t
#define LOAD  load_u8
#define STORE store_u8
#include "engine/kernels/cpu/isa/pointwise_convert_type.h"

/* Halves go through f32, a block at a time, where strides or a `elem` other than float ask for it. */
enum { HALF_BLOCK = 256 };
#define ELEM_IS_F32 (sizeof(elem) == sizeof(float) && (elem)0.5f != 0)

static void load_half(elem *to, dtype t, const char *from, int64_t stride, int64_t n) {
    uint16_t half[HALF_BLOCK];
    float wide[HALF_BLOCK];
    for (int64_t done = 0; done < n; done += HALF_BLOCK) {
        int64_t m = n - done < HALF_BLOCK ? n - done : HALF_BLOCK;
        const uint16_t *block = (const uint16_t *)(const void *)(from + done * stride);
        if (stride != 2) {
            for (int64_t i = 0; i < m; i++) {
                half[i] = *(const uint16_t *)(const void *)(from + (done + i) * stride);
            }
            block = half;
        }
        float *target = ELEM_IS_F32 ? (float *)(void *)(to + done) : wide;
        if (t == ASSAY_F16) {
            floats_of_f16(target, block, m);
        } else {
            floats_of_bf16(target, block, m);
        }
#pragma omp simd
        for (int64_t i = 0; i < (ELEM_IS_F32 ? 0 : m); i++) {
            to[done + i] = (elem)wide[i];
        }
    }
}

static void store_half(dtype t, char *to, int64_t stride, const elem *from, int64_t n) {
    uint16_t half[HALF_BLOCK];
    float wide[HALF_BLOCK];
    for (int64_t done = 0; done < n; done += HALF_BLOCK) {
        int64_t m = n - done < HALF_BLOCK ? n - done : HALF_BLOCK;
        const float *source = ELEM_IS_F32 ? (const float *)(const void *)(from + done) : wide;
#pragma omp simd
        for (int64_t i = 0; i < (ELEM_IS_F32 ? 0 : m); i++) {
            wide[i] = (float)from[done + i];
        }
        uint16_t *block = stride == 2 ? (uint16_t *)(void *)to + done : half;
        if (t == ASSAY_F16) {
            f16_of_floats(block, source, m);
        } else {
            bf16_of_floats(block, source, m);
        }
        for (int64_t i = 0; stride != 2 && i < m; i++) {
            *(uint16_t *)(void *)(to + (done + i) * stride) = half[i];
        }
    }
}

static void store_b8(char *to, int64_t stride, const elem *from, int64_t n) {
    for (int64_t i = 0; i < n; i++, to += stride) {
        *(uint8_t *)to = from[i] != 0;
    }
}

static void load(void *to, dtype t, const char *from, int64_t stride, int64_t n) {
    switch (t) {
    case ASSAY_F32:
        load_f32(to, from, stride, n);
        return;
    case ASSAY_F64:
        load_f64(to, from, stride, n);
        return;
    case ASSAY_I8:
        load_i8(to, from, stride, n);
        return;
    case ASSAY_I16:
        load_i16(to, from, stride, n);
        return;
    case ASSAY_I32:
        load_i32(to, from, stride, n);
        return;
    case ASSAY_I64:
        load_i64(to, from, stride, n);
        return;
    case ASSAY_B8:
    case ASSAY_U8:
        load_u8(to, from, stride, n);
        return;
    case ASSAY_F16:
    case ASSAY_BF16:
        load_half(to, t, from, stride, n);
        return;
    default: /* complex: nothing here asks for it often */
        for (int64_t i = 0; i < n; i++, from += stride) {
            ((elem *)to)[i] = (elem)element_load(t, from);
        }
    }
}

static void store(dtype t, char *to, int64_t stride, const void *from, int64_t n) {
    switch (t) {
    case ASSAY_F32:
        store_f32(to, stride, from, n);
        return;
    case ASSAY_F64:
        store_f64(to, stride, from, n);
        return;
    case ASSAY_I8:
        store_i8(to, stride, from, n);
        return;
    case ASSAY_I16:
        store_i16(to, stride, from, n);
        return;
    case ASSAY_I32:
        store_i32(to, stride, from, n);
        return;
    case ASSAY_I64:
        store_i64(to, stride, from, n);
        return;
    case ASSAY_U8:
        store_u8(to, stride, from, n);
        return;
    case ASSAY_B8:
        store_b8(to, stride, from, n);
        return;
    case ASSAY_F16:
    case ASSAY_BF16:
        store_half(t, to, stride, from, n);
        return;
    default:
        for (int64_t i = 0; i < n; i++, to += stride) {
            element_store(t, to, (double)((const elem *)from)[i]);
        }
    }
}
