/* SPDX-License-Identifier: Apache-2.0 */
/* Row loops on integers and booleans, which compute in int64 and wrap as two's complement does. */
#include "engine/kernels/cpu/isa/registers.h"

#include <stdint.h>

typedef int64_t value;
typedef int64_t wide;
typedef int64_t place_t;
#define WIDE i
#define PLACE place_of_extreme
#define SCAN scan
#define SCAN_LINES scan_each_line
#define ADD(a, b) ((int64_t)((uint64_t)(a) + (uint64_t)(b)))
typedef uint64_t bits_pack __attribute__((vector_size(REGISTER_BYTES)));
#define PACK_ADD(a, b) ((pack)((bits_pack)(a) + (bits_pack)(b)))
#define PACK_WRAPS 1
#define PACK_IS_NAN(a) ((pack){0} & (a))

#include "engine/kernels/cpu/row_loops.h"

static void load(void *to, const char *from, dtype t, int64_t stride, int64_t n);
static void store(char *to, dtype t, int64_t stride, const void *from, int64_t n);

#include "engine/kernels/cpu/isa/row_loops_common.h"

/* Elements of a type so many bytes apart; neighbours as vector code. */
#define WIDEN(type)                                                 \
    do {                                                            \
        if (stride == (int64_t)sizeof(type)) {                      \
            const type *x = (const type *)(const void *)from;       \
            for (int64_t i = 0; i < n; i++) {                       \
                y[i] = x[i];                                        \
            }                                                       \
        } else {                                                    \
            for (int64_t i = 0; i < n; i++) {                       \
                y[i] = *(const type *)(const void *)(from + i * stride); \
            }                                                       \
        }                                                           \
    } while (0)

static void load(void *to, const char *from, dtype t, int64_t stride, int64_t n) {
    int64_t *y = to;
    switch (t) {
    case ASSAY_B8:
    case ASSAY_U8:
        WIDEN(uint8_t);
        break;
    case ASSAY_I8:
        WIDEN(int8_t);
        break;
    case ASSAY_I16:
        WIDEN(int16_t);
        break;
    case ASSAY_I32:
        WIDEN(int32_t);
        break;
    case ASSAY_I64:
        WIDEN(int64_t);
        break;
    default:
        for (int64_t i = 0; i < n; i++) {
            y[i] = element_load_int(t, from + i * stride);
        }
    }
}

#undef WIDEN

/* The low bits; of truth values whether there are any. */
#define NARROW(type, made)                                          \
    do {                                                            \
        if (stride == (int64_t)sizeof(type)) {                      \
            type *y = (type *)(void *)to;                           \
            for (int64_t i = 0; i < n; i++) {                       \
                y[i] = (type)(made);                                \
            }                                                       \
        } else {                                                    \
            for (int64_t i = 0; i < n; i++) {                       \
                *(type *)(void *)(to + i * stride) = (type)(made);  \
            }                                                       \
        }                                                           \
    } while (0)

static void store(char *to, dtype t, int64_t stride, const void *from, int64_t n) {
    const int64_t *x = from;
    switch (t) {
    case ASSAY_B8:
        NARROW(uint8_t, x[i] != 0);
        break;
    case ASSAY_U8:
    case ASSAY_I8:
        NARROW(uint8_t, (uint64_t)x[i]);
        break;
    case ASSAY_I16:
        NARROW(uint16_t, (uint64_t)x[i]);
        break;
    case ASSAY_I32:
        NARROW(uint32_t, (uint64_t)x[i]);
        break;
    case ASSAY_I64:
        NARROW(int64_t, x[i]);
        break;
    default:
        for (int64_t i = 0; i < n; i++) {
            element_store_int(t, to + i * stride, x[i]);
        }
    }
}

#undef NARROW

/* Bytes go into halves of 16 bits, which hold 257 of them, here 128 of even places and as many of odd ones: [64, 4096] flags took 23 us brought in
   as int64, and take 3 so (two cores of a Zen 4, 2026-11). */
static int64_t sum_bytes(const void *at, int64_t n, bool is_signed) {
    enum { MOST = 128 };
    const uint64_t bytes = 0x00ff00ff00ff00ff, halves = 0x0000ffff0000ffff, flips = is_signed ? 0x8080808080808080 : 0;
    const uint8_t *x = at;
    int64_t total = 0, i = 0;
    while (i + REGISTER_BYTES <= n) {
        bits_pack even = {0}, odd = {0};
        for (int k = 0; k < MOST && i + REGISTER_BYTES <= n; k++, i += REGISTER_BYTES) {
            bits_pack some;
            memcpy(&some, x + i, sizeof some);
            some ^= flips; /* numbers from -128 on become those from 0 on, 128 more */
            even += some & bytes;
            odd += some >> 8 & bytes;
        }
        even += odd;
        even = (even & halves) + (even >> 16 & halves);
        total += pack_sum((pack)((even & UINT32_MAX) + (even >> 32)));
    }
    total -= is_signed ? 128 * i : 0;
    for (; i < n; i++) {
        total += is_signed ? (int8_t)x[i] : x[i];
    }
    return total;
}

/* As many as an i32 holds the sum of. */
static int64_t sum_i16(const void *at, int64_t n) {
    enum { MOST = 1 << 15 };
    const int16_t *x = at;
    int64_t total = 0;
    for (int64_t from = 0; from < n; from += MOST) {
        const int64_t end = n - from < MOST ? n : from + MOST;
        int32_t sum = 0;
#pragma omp simd reduction(+ : sum)
        for (int64_t i = from; i < end; i++) {
            sum += x[i];
        }
        total += sum;
    }
    return total;
}

static int64_t sum_i32(const void *at, int64_t n) {
    const int32_t *x = at;
    int64_t total = 0;
#pragma omp simd reduction(+ : total)
    for (int64_t i = 0; i < n; i++) {
        total += x[i];
    }
    return total;
}

static int64_t narrow_sum(dtype t, const void *at, int64_t n) {
    switch (t) {
    case ASSAY_I8:
        return sum_bytes(at, n, true);
    case ASSAY_I16:
        return sum_i16(at, n);
    case ASSAY_I32:
        return sum_i32(at, n);
    default:
        return sum_bytes(at, n, false);
    }
}

#define EXTREME_OF(type)                                             \
    do {                                                             \
        const type *x = at;                                          \
        type most = x[0], least = x[0];                              \
        if (smallest) {                                              \
            _Pragma("omp simd reduction(min : least)")               \
            for (int64_t i = 0; i < n; i++) {                        \
                least = x[i] < least ? x[i] : least;                 \
            }                                                        \
            return least;                                            \
        }                                                            \
        _Pragma("omp simd reduction(max : most)")                    \
        for (int64_t i = 0; i < n; i++) {                            \
            most = x[i] > most ? x[i] : most;                        \
        }                                                            \
        return most;                                                 \
    } while (0)

/* Brought in as int64 512 x 512 bytes took 25 us. */
static int64_t narrow_extreme(dtype t, const void *at, int64_t n, bool smallest) {
    switch (t) {
    case ASSAY_B8:
    case ASSAY_U8:
        EXTREME_OF(uint8_t);
    case ASSAY_I8:
        EXTREME_OF(int8_t);
    case ASSAY_I16:
        EXTREME_OF(int16_t);
    case ASSAY_I32:
        EXTREME_OF(int32_t);
    default:
        EXTREME_OF(int64_t);
    }
}

#undef EXTREME_OF

extern const row_loops ISA_SYMBOL(row_loops_i64);
const row_loops ISA_SYMBOL(row_loops_i64) = {
    .type = ASSAY_I64,
    .narrow_sum = narrow_sum,
    .narrow_extreme = narrow_extreme,
    .start = {{.i = 0}, {.i = 0}, {.i = 0}, {.i = INT64_MIN}, {.i = INT64_MAX}, {.i = 0}, {.i = 0}},
    COMMON_ROW_LOOPS,
};
