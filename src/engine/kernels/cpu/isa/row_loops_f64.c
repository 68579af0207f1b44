/* SPDX-License-Identifier: Apache-2.0 */
/* Row loops in double. */
#include "engine/kernels/cpu/isa/vector_math.h"
#include "engine/kernels/cpu/row_loops.h"

typedef double value;
typedef double wide;
typedef int64_t place_t;
#define WIDE f
#define PLACE place_of_extreme
#define SCAN scan
#define ADD(a, b) ((a) + (b))
#define PACK_ADD(a, b) ((a) + (b))
#define PACK_IS_NAN(a) ((a) != (a))

static void load(void *to, const char *from, dtype t, int64_t stride, int64_t n);
static void store(char *to, dtype t, int64_t stride, const void *from, int64_t n);

#include "engine/kernels/cpu/isa/row_loops_common.h"

/* ln 2 comes off in two parts; Taylor's series to r^13 on |r| <= ln 2 / 2 leaves 4e-18; 2^n is applied in halves, so that
   denormal results come out. 1 ulp. */
static inline double exp_of(double x) {
    double clipped = x > 710 ? 710 : x;
    clipped = clipped < -746 ? -746 : clipped;
    double shifted = clipped * 0x1.71547652b82fep+0 + ROUND_MAGIC_F64;
    double n = shifted - ROUND_MAGIC_F64;
    int64_t whole = (int64_t)(bits_of_double(shifted) - bits_of_double(ROUND_MAGIC_F64));
    double r = clipped - n * 0x1.62e42fefa3800p-1;
    r = r - n * 0x1.ef35793c76730p-45;
    double p = 1.0 / 6227020800;
    p = p * r + 1.0 / 479001600;
    p = p * r + 1.0 / 39916800;
    p = p * r + 1.0 / 3628800;
    p = p * r + 1.0 / 362880;
    p = p * r + 1.0 / 40320;
    p = p * r + 1.0 / 5040;
    p = p * r + 1.0 / 720;
    p = p * r + 1.0 / 120;
    p = p * r + 1.0 / 24;
    p = p * r + 1.0 / 6;
    p = p * r + 0.5;
    double e = p * (r * r) + r + 1;
    int64_t half = whole >> 1;
    return e * double_of_bits((uint64_t)(half + 1023) << 52) * double_of_bits((uint64_t)(whole - half + 1023) << 52);
}

static inline double log_of(double x) {
    return log(x);
}

static inline double log_beyond_1_of(double x) {
    return log1p(x);
}

static inline double exp_shifted_of(double x) {
    return exp_of(x);
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
