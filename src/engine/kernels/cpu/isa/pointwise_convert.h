/* SPDX-License-Identifier: Apache-2.0 */
/* Elements of any real dtype to the class's `elem` and back, a template beside pointwise_loops.h. Contiguous runs have
   loops of their own: those become vector code. */

static void load_f32(elem *to, const char *from, int64_t stride, int64_t n) {
    const float *x = (const float *)(const void *)from;
    if (stride == sizeof *x) {
#pragma omp simd
        for (int64_t i = 0; i < n; i++) {
            to[i] = (elem)x[i];
        }
        return;
    }
    for (int64_t i = 0; i < n; i++, from += stride) {
        to[i] = (elem) * (const float *)(const void *)from;
    }
}

static void load_f64(elem *to, const char *from, int64_t stride, int64_t n) {
    const double *x = (const double *)(const void *)from;
    if (stride == sizeof *x) {
#pragma omp simd
        for (int64_t i = 0; i < n; i++) {
            to[i] = (elem)x[i];
        }
        return;
    }
    for (int64_t i = 0; i < n; i++, from += stride) {
        to[i] = (elem) * (const double *)(const void *)from;
    }
}

static void load_i8(elem *to, const char *from, int64_t stride, int64_t n) {
    const int8_t *x = (const int8_t *)(const void *)from;
    if (stride == sizeof *x) {
#pragma omp simd
        for (int64_t i = 0; i < n; i++) {
            to[i] = (elem)x[i];
        }
        return;
    }
    for (int64_t i = 0; i < n; i++, from += stride) {
        to[i] = (elem) * (const int8_t *)(const void *)from;
    }
}

static void load_i16(elem *to, const char *from, int64_t stride, int64_t n) {
    const int16_t *x = (const int16_t *)(const void *)from;
    if (stride == sizeof *x) {
#pragma omp simd
        for (int64_t i = 0; i < n; i++) {
            to[i] = (elem)x[i];
        }
        return;
    }
    for (int64_t i = 0; i < n; i++, from += stride) {
        to[i] = (elem) * (const int16_t *)(const void *)from;
    }
}

static void load_i32(elem *to, const char *from, int64_t stride, int64_t n) {
    const int32_t *x = (const int32_t *)(const void *)from;
    if (stride == sizeof *x) {
#pragma omp simd
        for (int64_t i = 0; i < n; i++) {
            to[i] = (elem)x[i];
        }
        return;
    }
    for (int64_t i = 0; i < n; i++, from += stride) {
        to[i] = (elem) * (const int32_t *)(const void *)from;
    }
}

static void load_i64(elem *to, const char *from, int64_t stride, int64_t n) {
    const int64_t *x = (const int64_t *)(const void *)from;
    if (stride == sizeof *x) {
#pragma omp simd
        for (int64_t i = 0; i < n; i++) {
            to[i] = (elem)x[i];
        }
        return;
    }
    for (int64_t i = 0; i < n; i++, from += stride) {
        to[i] = (elem) * (const int64_t *)(const void *)from;
    }
}

static void load_u8(elem *to, const char *from, int64_t stride, int64_t n) {
    const uint8_t *x = (const uint8_t *)(const void *)from;
    if (stride == sizeof *x) {
#pragma omp simd
        for (int64_t i = 0; i < n; i++) {
            to[i] = (elem)x[i];
        }
        return;
    }
    for (int64_t i = 0; i < n; i++, from += stride) {
        to[i] = (elem) * (const uint8_t *)(const void *)from;
    }
}

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

static void store_f32(char *to, int64_t stride, const elem *from, int64_t n) {
    float *x = (float *)(void *)to;
    if (stride == sizeof *x) {
#pragma omp simd
        for (int64_t i = 0; i < n; i++) {
            x[i] = (float)from[i];
        }
        return;
    }
    for (int64_t i = 0; i < n; i++, to += stride) {
        *(float *)(void *)to = (float)from[i];
    }
}

static void store_f64(char *to, int64_t stride, const elem *from, int64_t n) {
    double *x = (double *)(void *)to;
    if (stride == sizeof *x) {
#pragma omp simd
        for (int64_t i = 0; i < n; i++) {
            x[i] = (double)from[i];
        }
        return;
    }
    for (int64_t i = 0; i < n; i++, to += stride) {
        *(double *)(void *)to = (double)from[i];
    }
}

static void store_i8(char *to, int64_t stride, const elem *from, int64_t n) {
    int8_t *x = (int8_t *)(void *)to;
    if (stride == sizeof *x) {
#pragma omp simd
        for (int64_t i = 0; i < n; i++) {
            x[i] = (int8_t)from[i];
        }
        return;
    }
    for (int64_t i = 0; i < n; i++, to += stride) {
        *(int8_t *)(void *)to = (int8_t)from[i];
    }
}

static void store_i16(char *to, int64_t stride, const elem *from, int64_t n) {
    int16_t *x = (int16_t *)(void *)to;
    if (stride == sizeof *x) {
#pragma omp simd
        for (int64_t i = 0; i < n; i++) {
            x[i] = (int16_t)from[i];
        }
        return;
    }
    for (int64_t i = 0; i < n; i++, to += stride) {
        *(int16_t *)(void *)to = (int16_t)from[i];
    }
}

static void store_i32(char *to, int64_t stride, const elem *from, int64_t n) {
    int32_t *x = (int32_t *)(void *)to;
    if (stride == sizeof *x) {
#pragma omp simd
        for (int64_t i = 0; i < n; i++) {
            x[i] = (int32_t)from[i];
        }
        return;
    }
    for (int64_t i = 0; i < n; i++, to += stride) {
        *(int32_t *)(void *)to = (int32_t)from[i];
    }
}

static void store_i64(char *to, int64_t stride, const elem *from, int64_t n) {
    int64_t *x = (int64_t *)(void *)to;
    if (stride == sizeof *x) {
#pragma omp simd
        for (int64_t i = 0; i < n; i++) {
            x[i] = (int64_t)from[i];
        }
        return;
    }
    for (int64_t i = 0; i < n; i++, to += stride) {
        *(int64_t *)(void *)to = (int64_t)from[i];
    }
}

static void store_u8(char *to, int64_t stride, const elem *from, int64_t n) {
    uint8_t *x = (uint8_t *)(void *)to;
    if (stride == sizeof *x) {
#pragma omp simd
        for (int64_t i = 0; i < n; i++) {
            x[i] = (uint8_t)from[i];
        }
        return;
    }
    for (int64_t i = 0; i < n; i++, to += stride) {
        *(uint8_t *)(void *)to = (uint8_t)from[i];
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
