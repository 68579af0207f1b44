/* SPDX-License-Identifier: Apache-2.0 */
/* Row loops in float: f32 tensors, and f16 and bf16 ones, which convert on the way in and out. */
#include "engine/kernels/cpu/isa/half_pairs.h"
#include "engine/kernels/cpu/isa/vector_exp.h"
#include "engine/kernels/cpu/row_loops.h"

typedef float value;
typedef double wide;
typedef int32_t place_t;
#define ROW_HALVES 1 /* rows of f16 and bf16 are read and written by some loops themselves */
#define VALUE_BYTES 4
#define WIDE f
#define PLACE place_of_float
#define SCAN scan_floats
#define SCAN_LINES scan_float_lines
#define ADD(a, b) ((a) + (b))
#define PACK_ADD(a, b) ((a) + (b))
#define PACK_IS_NAN(a) ((a) != (a))
#define PACK_NAN NAN
#if defined(__AVX512F__)
#define PACK_UNORDERED(a, b) _mm512_cmp_ps_mask((__m512)(a), (__m512)(b), _CMP_UNORD_Q)
#endif

static void load(void *to, const char *from, dtype t, int64_t stride, int64_t n);
static void store(char *to, dtype t, int64_t stride, const void *from, int64_t n);

#include "engine/kernels/cpu/isa/row_loops_common.h"
#include "engine/kernels/cpu/isa/row_loops_places.h"
#include "engine/kernels/cpu/isa/row_loops_scan.h"

static inline float exp_of(float x) {
    return exp_f32(x);
}

/* exp(x), x <= 0 or NaN, as softmax needs it: denormal results are 0. */
static inline float exp_shifted_of(float x) {
    return exp_negative_f32(x);
}

static inline float log_of(float x) {
    return log2_f32(x) * 0x1.62e430p-1f;
}

/* log(1 + x), x >= 0 or NaN. What is rounded off 1 + x is made good by what is left of x in it. */
static inline float log_beyond_1_of(float x) {
    float sum = 1.0f + x, part = sum - 1.0f, log = log2_f32(sum) * 0x1.62e430p-1f;
    return part == 0 ? x : log * (x / part);
}

#if defined(EXP_BY_SCALING)
#define PACK_EXP 1
static inline __attribute__((always_inline)) pack exp_pack(pack p) {
    return (pack)exp_by_scaling((__m512)p);
}

static inline __attribute__((always_inline)) pack exp_shifted_pack(pack p) {
    return exp_pack(p);
}

/* 2^p with the digits that type t needs. */
#define PACK_EXP_HALF 1
static inline __attribute__((always_inline)) pack exp2_half_pack(dtype t, pack p) {
    return (pack)(t == ASSAY_BF16 ? exp2_by_scaling_bf16((__m512)p) : exp2_by_scaling_f16((__m512)p));
}

#define PACK_QUICK_EXP 1
typedef __m512i quick_exp_top;

/* Whether quick_exp can have exponentials less by such a shift, or by the nearest that it has: whole powers of 2. */
static inline __attribute__((always_inline)) bool quick_exp_reaches(pack shift) {
    __m512 size = _mm512_abs_ps((__m512)shift);
    return _mm512_cmp_ps_mask(size, _mm512_set1_ps(QUICK_EXP_FARTHEST), _CMP_NLE_UQ) == 0;
}

static inline __attribute__((always_inline)) pack quick_exp_shift(pack shift) {
    return (pack)quick_exp_powers((__m512)shift) * 0x1.62e43p-1f;
}

static inline __attribute__((always_inline)) quick_exp quick_exp_by(dtype t, pack shift) {
    return quick_exp_less(quick_exp_powers((__m512)shift), t == ASSAY_BF16);
}

static inline __attribute__((always_inline)) pack quick_exp_pack(dtype t, const quick_exp *e, pack p, quick_exp_top *top) {
    return (pack)quick_exp_of(e, (__m512)p, t == ASSAY_BF16, top);
}
#endif

/* Elements a stride apart gather in a small buffer, so that conversion stays a vector loop. Of others, memory is asked for the
   elements a page further on, which the CPU does not read ahead by itself. */
enum { GATHER = 256, HALVES_AHEAD = 4096 };

static void ask_for_halves(const uint16_t *x, int64_t n) {
    for (int64_t i = 0; i < n; i += STREAM_LINE / 2) {
        __builtin_prefetch((const char *)((uintptr_t)(x + i) + HALVES_AHEAD)); /* it may lie outside */
    }
}

static void load_halves(float *y, const char *from, int is_bf16, int64_t stride, int64_t n) {
    uint16_t gathered[GATHER];
    for (int64_t i = 0; i < n; i += GATHER) {
        int64_t m = n - i < GATHER ? n - i : GATHER;
        const uint16_t *x = (const uint16_t *)(const void *)(from + i * stride);
        for (int64_t k = 0; stride != 2 && k < m; k++) {
            gathered[k] = *(const uint16_t *)(const void *)(from + (i + k) * stride);
        }
        if (stride == 2 && m == GATHER) {
            ask_for_halves(x, m);
        }
        (is_bf16 ? floats_of_bf16 : floats_of_f16)(y + i, stride == 2 ? x : gathered, m);
    }
}

static void load(void *to, const char *from, dtype t, int64_t stride, int64_t n) {
    float *y = to;
    if (t == ASSAY_BF16 || t == ASSAY_F16) {
        load_halves(y, from, t == ASSAY_BF16, stride, n);
    } else if (t == ASSAY_F32 && stride == (int64_t)sizeof(float)) {
        memcpy(y, from, (size_t)n * sizeof *y);
    } else if (t == ASSAY_F32) {
        for (int64_t i = 0; i < n; i++) {
            y[i] = *(const float *)(const void *)(from + i * stride);
        }
    } else {
        for (int64_t i = 0; i < n; i++) {
            y[i] = (float)element_load(t, from + i * stride);
        }
    }
}

static void store_halves(char *to, int is_bf16, int64_t stride, const float *x, int64_t n) {
    uint16_t gathered[GATHER];
    for (int64_t i = 0; i < n; i += GATHER) {
        int64_t m = n - i < GATHER ? n - i : GATHER;
        uint16_t *y = stride == 2 ? (uint16_t *)(void *)(to + i * stride) : gathered;
        (is_bf16 ? bf16_of_floats : f16_of_floats)(y, x + i, m);
        for (int64_t k = 0; stride != 2 && k < m; k++) {
            *(uint16_t *)(void *)(to + (i + k) * stride) = gathered[k];
        }
    }
}

static void store(char *to, dtype t, int64_t stride, const void *from, int64_t n) {
    const float *x = from;
    if (t == ASSAY_BF16 || t == ASSAY_F16) {
        store_halves(to, t == ASSAY_BF16, stride, x, n);
    } else if (t == ASSAY_F32 && stride == (int64_t)sizeof(float)) {
        memcpy(to, x, (size_t)n * sizeof *x);
    } else if (t == ASSAY_B8 && stride == 1) {
        for (int64_t i = 0; i < n; i++) {
            to[i] = x[i] != 0;
        }
    } else {
        for (int64_t i = 0; i < n; i++) {
            element_store(t, to + i * stride, (double)x[i]);
        }
    }
}

#include "engine/kernels/cpu/isa/row_loops_real.h"

extern const row_loops ISA_SYMBOL(row_loops_f32);
const row_loops ISA_SYMBOL(row_loops_f32) = {.type = ASSAY_F32, .place_short = place_short, .place_rows = place_rows, REAL_ROW_LOOPS, COMMON_ROW_LOOPS};
