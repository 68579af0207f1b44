/* SPDX-License-Identifier: Apache-2.0 */
/* Indices to offsets, gathers, scatters and sums of rows, built once for each instruction set. */
#include "engine/kernels/cpu/isa/index_loops.h"

#include "engine/kernels/cpu/isa/half.h"
#include "engine/kernels/cpu/isa/index_elements.h"
#include "engine/kernels/cpu/isa/registers.h"

#include <stdbool.h>
#include <string.h>

/* --- indices to offsets ---------------------------------------------------------------------------------------------------- */

/* Blocks keep the check out of the loop, so that it vectorises. */
enum { BLOCK = 256 };

static int64_t first_bad_i64(const int64_t *index, int64_t n, int64_t size) {
    int64_t i = 0;
    while (i < n && index[i] >= -size && index[i] < size) {
        i++;
    }
    return i;
}

static int64_t resolve_i64(int64_t *offsets, const int64_t *index, int64_t n, int64_t size, int64_t step, int add) {
    for (int64_t from = 0; from < n; from += BLOCK) {
        int64_t m = n - from < BLOCK ? n - from : BLOCK;
        uint64_t bad = 0;
        for (int64_t i = from; i < from + m; i++) {
            int64_t wrapped = index[i] + (index[i] < 0 ? size : 0);
            bad |= (uint64_t)((uint64_t)wrapped >= (uint64_t)size);
            offsets[i] = (add ? offsets[i] : 0) + wrapped * step;
        }
        if (bad != 0) {
            return from + first_bad_i64(index + from, m, size);
        }
    }
    return n;
}

static int64_t resolve_i32(int64_t *offsets, const int32_t *index, int64_t n, int64_t size, int64_t step, int add) {
    int64_t wide[BLOCK];
    for (int64_t from = 0; from < n; from += BLOCK) {
        int64_t m = n - from < BLOCK ? n - from : BLOCK;
        for (int64_t i = 0; i < m; i++) {
            wide[i] = index[from + i];
        }
        int64_t good = resolve_i64(offsets + from, wide, m, size, step, add);
        if (good < m) {
            return from + good;
        }
    }
    return n;
}

/* --- rows ------------------------------------------------------------------------------------------------------------------ */

static void add_f32(void *acc, const void *src, int64_t n, row_factor alpha) {
    float *a = acc, by = (float)alpha.f;
    const float *s = src;
    if (by == 1) {
        for (int64_t i = 0; i < n; i++) {
            a[i] += s[i];
        }
        return;
    }
    for (int64_t i = 0; i < n; i++) {
        a[i] += by * s[i];
    }
}

static void add_f64(void *acc, const void *src, int64_t n, row_factor alpha) {
    double *a = acc;
    const double *s = src;
    for (int64_t i = 0; i < n; i++) {
        a[i] += alpha.f * s[i];
    }
}

static void add_f16(void *acc, const void *src, int64_t n, row_factor alpha) {
    float block[BLOCK];
    for (int64_t from = 0; from < n; from += BLOCK) {
        int64_t m = n - from < BLOCK ? n - from : BLOCK;
        floats_of_f16(block, (const uint16_t *)src + from, m);
        add_f32((float *)acc + from, block, m, alpha);
    }
}

static void add_bf16(void *acc, const void *src, int64_t n, row_factor alpha) {
    float *a = acc, by = (float)alpha.f;
    const uint16_t *s = src;
    for (int64_t i = 0; i < n; i++) {
        a[i] += by * float_of_bits((uint32_t)s[i] << 16);
    }
}

/* Integers wrap, so sums and products are those of unsigned numbers. */
static void add_i64(void *acc, const void *src, int64_t n, row_factor alpha) {
    uint64_t *a = acc, by = (uint64_t)alpha.i;
    const int64_t *s = src;
    for (int64_t i = 0; i < n; i++) {
        a[i] += by * (uint64_t)s[i];
    }
}

static void add_i32(void *acc, const void *src, int64_t n, row_factor alpha) {
    uint64_t *a = acc, by = (uint64_t)alpha.i;
    const int32_t *s = src;
    for (int64_t i = 0; i < n; i++) {
        a[i] += by * (uint64_t)s[i];
    }
}

static void add_i16(void *acc, const void *src, int64_t n, row_factor alpha) {
    uint64_t *a = acc, by = (uint64_t)alpha.i;
    const int16_t *s = src;
    for (int64_t i = 0; i < n; i++) {
        a[i] += by * (uint64_t)s[i];
    }
}

static void add_i8(void *acc, const void *src, int64_t n, row_factor alpha) {
    uint64_t *a = acc, by = (uint64_t)alpha.i;
    const int8_t *s = src;
    for (int64_t i = 0; i < n; i++) {
        a[i] += by * (uint64_t)s[i];
    }
}

static void add_u8(void *acc, const void *src, int64_t n, row_factor alpha) {
    uint64_t *a = acc, by = (uint64_t)alpha.i;
    const uint8_t *s = src;
    for (int64_t i = 0; i < n; i++) {
        a[i] += by * (uint64_t)s[i];
    }
}

/* --- single elements by place ------------------------------------------------------------------------------------------------ */

static inline float widen_f16(uint16_t x) {
#if defined(__F16C__)
    return _cvtsh_ss(x);
#else
    return f16_to_float(x);
#endif
}

static inline uint16_t narrow_f16(float x) {
#if defined(__F16C__)
    return _cvtss_sh(x, _MM_FROUND_TO_NEAREST_INT);
#else
    return f16_from_float(x);
#endif
}

static inline float widen_bf16(uint16_t x) {
    return float_of_bits((uint32_t)x << 16);
}

#define AS_IS(x) (x)

#define NAMED(name) name##_f32
#define TYPE        float
#define SUM         float
#define WIDEN       AS_IS
#define NARROW      AS_IS
#define FACTOR(by)  ((SUM)(by).f)
#include "engine/kernels/cpu/isa/index_lists.h"
#undef NAMED
#undef TYPE
#undef SUM
#define NAMED(name) name##_f64
#define TYPE        double
#define SUM         double
#include "engine/kernels/cpu/isa/index_lists.h"
#undef NAMED
#undef TYPE
#undef SUM
#undef WIDEN
#undef NARROW
#undef FACTOR
#define NAMED(name) name##_i64
#define TYPE        int64_t
#define SUM         uint64_t /* they wrap */
#define WIDEN       (uint64_t)
#define NARROW      (int64_t)
#define FACTOR(by)  ((uint64_t)(by).i)
#include "engine/kernels/cpu/isa/index_lists.h"
#undef NAMED
#undef TYPE
#undef SUM
#undef WIDEN
#undef NARROW
#undef FACTOR
#define FACTOR(by)  ((SUM)(by).f)
#define NAMED(name) name##_f16
#define TYPE        uint16_t
#define SUM         float
#define WIDEN       widen_f16
#define NARROW      narrow_f16
#include "engine/kernels/cpu/isa/index_lists.h"
#undef NAMED
#undef WIDEN
#undef NARROW
#define NAMED(name) name##_bf16
#define WIDEN       widen_bf16
#define NARROW      bf16_from_float
#include "engine/kernels/cpu/isa/index_lists.h"

/* --- rows of a bag --------------------------------------------------------------------------------------------------------------- */

/* Columns that stay in registers while the rows go by, in vectors as wide as those are: gcc 12 keeps an array of floats in memory.
   BLOCK_LEAST vectors leave registers for what is read. */
enum { BAG_LANES = REGISTER_BYTES / 4, BLOCK_LEAST = REGISTER_BYTES == 64 ? 4 : 8, BLOCK_MOST = 12, AHEAD = 16 };
typedef float bag_lanes __attribute__((vector_size(REGISTER_BYTES)));
typedef uint16_t bag_halves __attribute__((vector_size(REGISTER_BYTES / 2)));
typedef uint32_t bag_bits __attribute__((vector_size(REGISTER_BYTES)));

static inline bag_lanes bag_of_f32(const char *from) {
    bag_lanes v;
    memcpy(&v, from, sizeof v);
    return v;
}

static inline bag_lanes bag_of_f16(const char *from) {
#if defined(__AVX512F__)
    return (bag_lanes)_mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)(const void *)from));
#else
    bag_lanes v;
    float floats[BAG_LANES];
    floats_of_f16(floats, (const uint16_t *)(const void *)from, BAG_LANES);
    memcpy(&v, floats, sizeof v);
    return v;
#endif
}

static inline bag_lanes bag_of_bf16(const char *from) {
#if defined(__AVX512F__) /* which GCC 12 makes seven instructions of */
    __m512i words = _mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i *)(const void *)from));
    return (bag_lanes)_mm512_slli_epi32(words, 16);
#else
    bag_halves halves;
    memcpy(&halves, from, sizeof halves);
    return (bag_lanes)(__builtin_convertvector(halves, bag_bits) << 16);
#endif
}

/* Rows i of a block of `vectors` times BAG_LANES columns. The last four parameters are constants wherever this is called. */
static inline __attribute__((always_inline)) void add_block(bag_lanes *s, const row_list *rows, const char *base, int64_t i, int size,
                                                            bag_lanes (*read)(const char *), bool scales, int vectors) {
    const char *row = base + rows->offsets[i];
    bag_lanes by = {0};
    if (scales) {
        by += rows->by[i * rows->by_step];
    }
#pragma GCC unroll 16
    for (int k = 0; k < vectors; k++) {
        s[k] += scales ? by * read(row + k * BAG_LANES * size) : read(row + k * BAG_LANES * size);
    }
}

static inline __attribute__((always_inline)) void sum_block(float *acc, const row_list *rows, int64_t column, int size,
                                                            bag_lanes (*read)(const char *), bool scales, int vectors) {
    const char *base = rows->base + column * size;
    bag_lanes s[BLOCK_MOST];
    int64_t i = 0, n_fetched = rows->n_ahead - AHEAD < rows->n ? rows->n_ahead - AHEAD : rows->n;
#pragma GCC unroll 16
    for (int k = 0; k < vectors; k++) {
        s[k] = (bag_lanes){0};
    }
    for (; i < n_fetched; i++) {
        const char *ahead = base + rows->offsets[i + AHEAD];
#pragma GCC unroll 16
        for (int k = 0; k < vectors * BAG_LANES * size / 64; k++) {
            __builtin_prefetch(ahead + k * 64);
        }
        add_block(s, rows, base, i, size, read, scales, vectors);
    }
    for (; i < rows->n; i++) {
        add_block(s, rows, base, i, size, read, scales, vectors);
    }
#pragma GCC unroll 16
    for (int k = 0; k < vectors; k++) {
        memcpy(acc + column + BAG_LANES * k, &s[k], sizeof s[k]);
    }
}

/* As many columns at once as registers hold: a row's lines are then read one after the other. */
static inline __attribute__((always_inline)) int64_t sum_blocks(float *acc, const row_list *rows, int64_t n, int size,
                                                                bag_lanes (*read)(const char *), bool scales) {
    int64_t c = 0;
#if defined(__AVX512F__)
    for (; c + 192 <= n; c += 192) {
        sum_block(acc, rows, c, size, read, scales, 12);
    }
    for (; c + 128 <= n; c += 128) {
        sum_block(acc, rows, c, size, read, scales, 8);
    }
#endif
    for (; c + BLOCK_LEAST * BAG_LANES <= n; c += BLOCK_LEAST * BAG_LANES) {
        sum_block(acc, rows, c, size, read, scales, BLOCK_LEAST);
    }
    return c;
}

static inline __attribute__((always_inline)) void sum_rows(float *acc, const row_list *rows, int64_t n, int size,
                                                           bag_lanes (*read)(const char *), add_row_fn *add) {
    int64_t c = rows->by != NULL ? sum_blocks(acc, rows, n, size, read, true) : sum_blocks(acc, rows, n, size, read, false);
    if (c < n) {
        memset(acc + c, 0, (size_t)(n - c) * sizeof *acc);
    }
    for (int64_t i = 0; i < rows->n && c < n; i++) {
        add(acc + c, rows->base + rows->offsets[i] + c * size, n - c, (row_factor){.f = rows->by != NULL ? (double)rows->by[i * rows->by_step] : 1});
    }
}

static void sum_rows_f32(float *acc, const row_list *rows, int64_t n) {
    sum_rows(acc, rows, n, 4, bag_of_f32, add_f32);
}

static void sum_rows_f16(float *acc, const row_list *rows, int64_t n) {
    sum_rows(acc, rows, n, 2, bag_of_f16, add_f16);
}

static void sum_rows_bf16(float *acc, const row_list *rows, int64_t n) {
    sum_rows(acc, rows, n, 2, bag_of_bf16, add_bf16);
}

/* The sum of the lanes, by halves, in registers: by way of memory a row of 64 took as long again. */
static inline float sum_of_lanes(bag_lanes v) {
#if REGISTER_BYTES == 64
    v += __builtin_shufflevector(v, v, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7);
    v += __builtin_shufflevector(v, v, 4, 5, 6, 7, 0, 1, 2, 3, 12, 13, 14, 15, 8, 9, 10, 11);
    v += __builtin_shufflevector(v, v, 2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9, 14, 15, 12, 13);
    v += __builtin_shufflevector(v, v, 1, 0, 3, 2, 5, 4, 7, 6, 9, 8, 11, 10, 13, 12, 15, 14);
#elif REGISTER_BYTES == 32
    v += __builtin_shufflevector(v, v, 4, 5, 6, 7, 0, 1, 2, 3);
    v += __builtin_shufflevector(v, v, 2, 3, 0, 1, 6, 7, 4, 5);
    v += __builtin_shufflevector(v, v, 1, 0, 3, 2, 5, 4, 7, 6);
#else
    v += __builtin_shufflevector(v, v, 2, 3, 0, 1);
    v += __builtin_shufflevector(v, v, 1, 0, 3, 2);
#endif
    return v[0];
}

/* Partial sums: enough to hide the latency of an addition, and pairwise enough for rows of thousands. */
enum { DOT_SUMS = BLOCK_LEAST, DOT_LANES = DOT_SUMS * BAG_LANES };

static inline float sum_of_sums(const bag_lanes s[DOT_SUMS]) {
    bag_lanes all = (s[0] + s[1]) + (s[2] + s[3]);
    return sum_of_lanes(DOT_SUMS == 8 ? all + ((s[DOT_SUMS - 4] + s[DOT_SUMS - 3]) + (s[DOT_SUMS - 2] + s[DOT_SUMS - 1])) : all);
}

static inline __attribute__((always_inline)) double dot_with(const char *a, const char *b, int64_t n, int size,
                                                             bag_lanes (*read)(const char *), float (*read_one)(const char *)) {
    bag_lanes s[DOT_SUMS] = {{0}};
    float rest = 0;
    int64_t i = 0;
    for (; i + DOT_LANES <= n; i += DOT_LANES) {
#pragma GCC unroll 16
        for (int k = 0; k < DOT_SUMS; k++) {
            s[k] += read(a + (i + k * BAG_LANES) * size) * read(b + (i + k * BAG_LANES) * size);
        }
    }
    for (; i + BAG_LANES <= n; i += BAG_LANES) {
        s[0] += read(a + i * size) * read(b + i * size);
    }
    for (; i < n; i++) {
        rest += read_one(a + i * size) * read_one(b + i * size);
    }
    return (double)(sum_of_sums(s) + rest);
}

static inline float one_f32(const char *from) {
    float x;
    memcpy(&x, from, sizeof x);
    return x;
}

static inline float one_bf16(const char *from) {
    uint16_t x;
    memcpy(&x, from, sizeof x);
    return widen_bf16(x);
}

static double dot_f32(const void *left, const void *right, int64_t n) {
    return dot_with(left, right, n, 4, bag_of_f32, one_f32);
}

static double dot_f64(const void *left, const void *right, int64_t n) {
    enum { LANES = 64 };
    const double *a = left, *b = right;
    double sums[LANES] = {0}, total = 0;
    int64_t i = 0;
    for (; i + LANES <= n; i += LANES) {
        for (int k = 0; k < LANES; k++) {
            sums[k] += a[i + k] * b[i + k];
        }
    }
    for (int k = 0; i + k < n; k++) {
        sums[k] += a[i + k] * b[i + k];
    }
    for (int k = 0; k < LANES; k++) {
        total += sums[k];
    }
    return total;
}

static double dot_f16(const void *left, const void *right, int64_t n) {
    float a[BLOCK], b[BLOCK];
    double total = 0;
    for (int64_t from = 0; from < n; from += BLOCK) {
        int64_t m = n - from < BLOCK ? n - from : BLOCK;
        floats_of_f16(a, (const uint16_t *)left + from, m);
        floats_of_f16(b, (const uint16_t *)right + from, m);
        total += dot_f32(a, b, m);
    }
    return total;
}

static double dot_bf16(const void *left, const void *right, int64_t n) {
    return dot_with(left, right, n, 2, bag_of_bf16, one_bf16);
}

static void max_row_f32(float *acc, int64_t *row, const float *src, int64_t n, int64_t from) {
    for (int64_t i = 0; i < n; i++) {
        int more = src[i] > acc[i];
        acc[i] = more ? src[i] : acc[i];
        row[i] = more ? from : row[i];
    }
}

static void max_row_f64(double *acc, int64_t *row, const double *src, int64_t n, int64_t from) {
    for (int64_t i = 0; i < n; i++) {
        int more = src[i] > acc[i];
        acc[i] = more ? src[i] : acc[i];
        row[i] = more ? from : row[i];
    }
}

const index_loops ISA_SYMBOL(index_loops) = {
    .resolve_i64 = resolve_i64,
    .resolve_i32 = resolve_i32,
    .gather = {gather_1, gather_2, gather_4, gather_8, gather_16},
    .scatter = {scatter_1, scatter_2, scatter_4, scatter_8, scatter_16},
    .add_row = {[ASSAY_F16] = add_f16, [ASSAY_BF16] = add_bf16, [ASSAY_F32] = add_f32, [ASSAY_F64] = add_f64,
                [ASSAY_I8] = add_i8, [ASSAY_I16] = add_i16, [ASSAY_I32] = add_i32, [ASSAY_I64] = add_i64,
                [ASSAY_U8] = add_u8, [ASSAY_B8] = add_u8},
    .add_lists = {[ASSAY_F16] = add_lists_f16, [ASSAY_BF16] = add_lists_bf16, [ASSAY_F32] = add_lists_f32,
                  [ASSAY_F64] = add_lists_f64, [ASSAY_I64] = add_lists_i64},
    .sum_rows = {[ASSAY_F16] = sum_rows_f16, [ASSAY_BF16] = sum_rows_bf16, [ASSAY_F32] = sum_rows_f32},
    .dot = {[ASSAY_F16] = dot_f16, [ASSAY_BF16] = dot_bf16, [ASSAY_F32] = dot_f32, [ASSAY_F64] = dot_f64},
    .max_row_f32 = max_row_f32,
    .max_row_f64 = max_row_f64,
};
