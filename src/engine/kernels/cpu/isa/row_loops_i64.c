/* SPDX-License-Identifier: Apache-2.0 */
/* Row loops on integers and booleans, which compute in int64 and wrap as two's complement does. */
#include "engine/kernels/cpu/isa/registers.h"

#include <stdint.h>

typedef int64_t value;
typedef int64_t wide;
typedef int64_t place_t;
#define VALUE_BYTES 8
#define WIDE i
#define PLACE place_of_extreme
#define SCAN scan
#define SCAN_LINES scan_each_line
#define ADD(a, b) ((int64_t)((uint64_t)(a) + (uint64_t)(b)))
typedef uint64_t bits_pack __attribute__((vector_size(REGISTER_BYTES)));
#define PACK_ADD(a, b) ((pack)((bits_pack)(a) + (bits_pack)(b)))
#define PACK_WRAPS 1
#define PACK_IS_NAN(a) ((pack){0} & (a))
#define PACK_NAN 0

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

/* What is not 0 where one of a word's bytes is what is looked for: 0, or anything else. */
#define ZERO_BYTES(w) (((w) - 0x0101010101010101) & ~(w) & 0x8080808080808080)
#define BYTES_OF(w) (is_zero ? ZERO_BYTES(w) : (w))

/* Words are looked at twice where n is no multiple of theirs, which changes nothing. */
static inline bool has_byte(const uint8_t *x, int64_t n, bool is_zero) {
    enum { WORD = sizeof(uint64_t) };
    bits_pack packs = {0}, pack_at;
    uint64_t some = 0, word;
    int64_t i = 0;
    for (; i + REGISTER_BYTES <= n; i += REGISTER_BYTES) {
        memcpy(&pack_at, x + i, sizeof pack_at);
        packs |= BYTES_OF(pack_at);
    }
    for (; i + WORD <= n; i += WORD) {
        memcpy(&word, x + i, sizeof word);
        some |= BYTES_OF(word);
    }
    if (i < n && n >= WORD) {
        memcpy(&word, x + n - WORD, sizeof word);
        some |= BYTES_OF(word);
        i = n;
    }
    for (; i < n; i++) {
        some |= is_zero ? x[i] == 0 : x[i];
    }
    for (int64_t k = 0; n >= REGISTER_BYTES && k < (int64_t)(REGISTER_BYTES / WORD); k++) {
        some |= packs[k];
    }
    return some != 0;
}

#undef BYTES_OF
#undef ZERO_BYTES

static void fold_set_bytes(row_wide *total, const void *at, int64_t n) {
    total->i |= has_byte(at, n, false);
}

static void fold_zero_bytes(row_wide *total, const void *at, int64_t n) {
    total->i |= has_byte(at, n, true);
}

/* Columns whose partial results stay in the L1 cache, and rows that go into them at once: each is then loaded and stored once for all. */
enum { NARROW_COLUMNS = 1024, NARROW_ROWS = 4 };

/* Rows [0, rows) of n columns of `type`, row_stride bytes apart: so many at a time into `part`, which starts at 0 and holds `most` of them,
   and then into acc as `into` says. `made` is what a row's element x(k) gives. */
#define FOLD_ROWS(type, part_type, most, with, made, into)                                                               \
    for (int64_t from = 0; from < rows; from += (most)) {                                                                \
        const int64_t end = rows - from < (most) ? rows : from + (most);                                                 \
        part_type part[NARROW_COLUMNS];                                                                                  \
        memset(part, 0, (size_t)n * sizeof(part_type));                                                                  \
        int64_t k = from;                                                                                                \
        for (; k + NARROW_ROWS <= end; k += NARROW_ROWS) {                                                               \
            const type *const a = (const type *)(const void *)(at + k * row_stride);                                     \
            const type *const b = (const type *)(const void *)(at + (k + 1) * row_stride);                               \
            const type *const c = (const type *)(const void *)(at + (k + 2) * row_stride);                               \
            const type *const d = (const type *)(const void *)(at + (k + 3) * row_stride);                               \
            _Pragma("GCC ivdep")                                                                                         \
            for (int64_t i = 0; i < n; i++) {                                                                            \
                part[i] = (part_type)(part[i] with((made(a[i]) with made(b[i])) with(made(c[i]) with made(d[i]))));       \
            }                                                                                                            \
        }                                                                                                                \
        for (; k < end; k++) {                                                                                           \
            const type *const a = (const type *)(const void *)(at + k * row_stride);                                     \
            _Pragma("GCC ivdep")                                                                                         \
            for (int64_t i = 0; i < n; i++) {                                                                            \
                part[i] = (part_type)(part[i] with made(a[i]));                                                          \
            }                                                                                                            \
        }                                                                                                                \
        for (int64_t i = 0; i < n; i++) {                                                                                \
            acc[i] = into(acc[i], part[i]);                                                                              \
        }                                                                                                                \
    }

#define ITSELF(x) (x)
#define IS_ZERO(x) ((x) == 0)
#define OR(a, b) ((a) | ((b) != 0))

/* At most NARROW_COLUMNS of them. A sum of 16 bits holds 256 bytes, one of 32 bits 2^15 numbers of 16; those of 32 bits go into int64 at once. */
static void narrow_rows_of(int64_t *acc, row_kind kind, dtype t, const char *at, int64_t rows, int64_t row_stride, int64_t n) {
    enum { BYTES = 256, HALVES = 1 << 15, WORDS = 64 };
    if (kind == ROW_NONZERO) {
        FOLD_ROWS(uint8_t, uint8_t, INT64_MAX, |, ITSELF, OR)
    } else if (kind == ROW_ZERO) {
        FOLD_ROWS(uint8_t, uint8_t, INT64_MAX, |, IS_ZERO, OR)
    } else if (t == ASSAY_I8) {
        FOLD_ROWS(int8_t, int16_t, BYTES, +, ITSELF, ADD)
    } else if (t == ASSAY_I16) {
        FOLD_ROWS(int16_t, int32_t, HALVES, +, ITSELF, ADD)
    } else if (t == ASSAY_I32) {
        FOLD_ROWS(int32_t, int64_t, WORDS, +, (int64_t), ADD)
    } else {
        FOLD_ROWS(uint8_t, uint16_t, BYTES, +, ITSELF, ADD)
    }
}

#undef FOLD_ROWS
#undef ITSELF
#undef IS_ZERO
#undef OR

/* Brought in as int64, columns of [4096, 1024] bytes took 250 us to sum, and take 60 so (a core of a Zen 5, 2026-11). */
static void narrow_rows(int64_t *acc, row_kind kind, dtype t, const char *at, int64_t rows, int64_t row_stride, int64_t n) {
    for (int64_t i = 0; i < n; i += NARROW_COLUMNS) {
        const int64_t m = n - i < NARROW_COLUMNS ? n - i : NARROW_COLUMNS;
        narrow_rows_of(acc + i, kind, t, at + i * (int64_t)dtype_size(t), rows, row_stride, m);
    }
}

extern const row_loops ISA_SYMBOL(row_loops_i64);
const row_loops ISA_SYMBOL(row_loops_i64) = {
    .type = ASSAY_I64,
    .narrow_sum = narrow_sum,
    .narrow_extreme = narrow_extreme,
    .narrow_rows = narrow_rows,
    .fold_bytes = {[ROW_NONZERO] = fold_set_bytes, [ROW_ZERO] = fold_zero_bytes},
    .start = {{.i = 0}, {.i = 0}, {.i = 0}, {.i = INT64_MIN}, {.i = INT64_MAX}, {.i = 0}, {.i = 0}},
    COMMON_ROW_LOOPS,
};
