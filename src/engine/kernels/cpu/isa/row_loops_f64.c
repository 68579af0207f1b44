/* SPDX-License-Identifier: Apache-2.0 */
/* Row loops in double. */
#include "engine/kernels/cpu/isa/vector_doubles.h"
#include "engine/kernels/cpu/row_loops.h"

typedef double value;
typedef double wide;
typedef int64_t place_t;
#define VALUE_BYTES 8
#define WIDE f
#define PLACE place_of_extreme
#define SCAN scan
#define SCAN_LINES scan_each_line
#define ADD(a, b) ((a) + (b))
#define PACK_ADD(a, b) ((a) + (b))
#define PACK_IS_NAN(a) ((a) != (a))
#define PACK_NAN NAN
#if defined(__AVX512F__)
#define PACK_UNORDERED(a, b) _mm512_cmp_pd_mask((__m512d)(a), (__m512d)(b), _CMP_UNORD_Q)
#endif

static void load(void *to, const char *from, dtype t, int64_t stride, int64_t n);
static void store(char *to, dtype t, int64_t stride, const void *from, int64_t n);

#include "engine/kernels/cpu/isa/row_loops_common.h"

VECTOR_INLINE double exp_of(double x) {
    return exp_f64(x);
}

VECTOR_INLINE double log_of(double x) {
    return log_f64(x);
}

static inline double log_beyond_1_of(double x) {
    return log1p(x);
}

VECTOR_INLINE double exp_shifted_of(double x) {
    return exp_negative_f64(x);
}

static void load(void *to, const char *from, dtype t, int64_t stride, int64_t n) {
    double *y = to;
    if (t == ASSAY_F64) {
        for (int64_t i = 0; i < n; i++) {
            y[i] = *(const double *)(const void *)(from + i * stride);
        }
        return;
    }
    for (int64_t i = 0; i < n; i++) {
        y[i] = element_load(t, from + i * stride);
    }
}

static void store(char *to, dtype t, int64_t stride, const void *from, int64_t n) {
    const double *x = from;
    if (t == ASSAY_F64) {
        for (int64_t i = 0; i < n; i++) {
            *(double *)(void *)(to + i * stride) = x[i];
        }
        return;
    }
    for (int64_t i = 0; i < n; i++) {
        element_store(t, to + i * stride, x[i]);
    }
}

#include "engine/kernels/cpu/isa/row_loops_real.h"

extern const row_loops ISA_SYMBOL(row_loops_f64);
const row_loops ISA_SYMBOL(row_loops_f64) = {.type = ASSAY_F64, REAL_ROW_LOOPS, COMMON_ROW_LOOPS};
