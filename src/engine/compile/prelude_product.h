/* SPDX-License-Identifier: Apache-2.0 */
/* A template, like prelude.h: what emitted matrix products call. Letters: rows of the left factor, columns of the right one; what
   is summed over is the inner dimension. The right factor lies in a panel of up to 128 inner steps (of bf16: 256) by 64 columns,
   which the core's first cache holds, sums in rows of 64. bf16 are multiplied in pairs of inner steps: a panel's word holds two of
   them, the first one in its low half. */

#if defined(__AVX512F__)
#define BLOCK_LANES 16
#define BLOCK_VECTORS 4
#else
#define BLOCK_LANES 8
#define BLOCK_VECTORS 2
#endif
typedef float block_vector __attribute__((vector_size(4 * BLOCK_LANES), aligned(4), may_alias));

/* What the next panel is made of, which comes from afar: runs of `pieces` times 256 bytes, `stride` bytes apart, n pieces in all. Every so
   many inner steps a block of rows asks for a piece of it: four blocks of rows ask for all, two where it is of bf16. Those behind them ask
   for the rows that are multiplied then, where those are others: so many pieces, one behind the other. `asked`: pieces that have been
   asked for. */
#define STEPS_OF_PIECE 4
typedef struct next_panel {
    const char *at;
    int64_t stride, pieces, n;
    const char *rows;
    int64_t row_pieces, asked;
} next_panel;

/* Some rows of left times some vectors of columns of right (rows 64 apart), and but for the `first` ones what sums (rows 64 apart) hold:
   to results, which may be the sums. `makes`: right is made on the way, of the columns of source. `piece`: the first of the next panel's
   that is asked for. */
VECTOR_INLINE void multiply_rows(const int rows, const int vectors, const int makes, const float *left, int64_t left_stride,
                                 int64_t left_step, const float *source, int64_t source_stride, float *right, int64_t n_inner,
                                 const float *sums, int first, float *results, int64_t result_stride, const next_panel *next,
                                 int64_t piece) {
    block_vector sum[6][BLOCK_VECTORS];
#pragma GCC unroll 6
    for (int i = 0; i < rows; i++) {
#pragma GCC unroll 4
        for (int v = 0; v < vectors; v++) {
            sum[i][v] = first ? (block_vector){0} : *(const block_vector *)(sums + 64 * i + BLOCK_LANES * v);
        }
    }
    for (int64_t k = 0; k < n_inner; k++) {
        block_vector column[BLOCK_VECTORS];
        if (left_step == 1 && k % 16 == 0) { /* a line of each of the rows that come next */
#pragma GCC unroll 6
            for (int i = 0; i < rows; i++) {
                __builtin_prefetch(left + left_stride * (i + rows) + k);
            }
        }
        if (next != 0 && k % STEPS_OF_PIECE == 0) {
            const int64_t p = piece + k / STEPS_OF_PIECE;
            const int64_t of_rows = p - next->n;
            const char *const at = of_rows >= 0        ? next->rows + 256 * of_rows
                                   : next->pieces == 1 ? next->at + p * next->stride
                                                       : next->at + p / 2 * next->stride + p % 2 * 256;
#pragma GCC unroll 4
            for (int v = 0; v < 4; v++) {
                __builtin_prefetch(at + 64 * v, 0, 2);
            }
        }
#pragma GCC unroll 4
        for (int v = 0; v < vectors; v++) {
            column[v] = *(const block_vector *)((makes ? source + source_stride * k : right + 64 * k) + BLOCK_LANES * v);
            if (makes) {
                *(block_vector *)(right + 64 * k + BLOCK_LANES * v) = column[v];
            }
        }
#pragma GCC unroll 6
        for (int i = 0; i < rows; i++) {
#pragma GCC unroll 4
            for (int v = 0; v < vectors; v++) {
                sum[i][v] += left[left_stride * i + left_step * k] * column[v];
            }
        }
    }
#pragma GCC unroll 6
    for (int i = 0; i < rows; i++) {
#pragma GCC unroll 4
        for (int v = 0; v < vectors; v++) {
            *(block_vector *)(results + result_stride * i + BLOCK_LANES * v) = sum[i][v];
        }
    }
}

/* Rows from i on. */
VECTOR_INLINE void multiply_vectors(const int vectors, const float *left, int64_t left_stride, int64_t left_step, float *right,
                                    int64_t i, int64_t n_rows, int64_t n_inner, const float *sums, int first, float *results,
                                    int64_t result_stride, next_panel *next) {
    const int64_t pieces = next != 0 ? (n_inner + STEPS_OF_PIECE - 1) / STEPS_OF_PIECE : 0;
    const int64_t all = next != 0 ? next->n + next->row_pieces : 0;
    int64_t asked = next != 0 ? next->asked : 0;
    for (; i + 6 <= n_rows; i += 6) {
        multiply_rows(6, vectors, 0, left + left_stride * i, left_stride, left_step, 0, 0, right, n_inner, sums + 64 * i, first,
                      results + result_stride * i, result_stride, asked < all ? next : 0, asked);
        asked += pieces;
    }
    if (next != 0) {
        next->asked = asked;
    }
    if (i + 4 <= n_rows) {
        multiply_rows(4, vectors, 0, left + left_stride * i, left_stride, left_step, 0, 0, right, n_inner, sums + 64 * i, first,
                      results + result_stride * i, result_stride, 0, 0);
        i += 4;
    }
    if (i + 2 <= n_rows) {
        multiply_rows(2, vectors, 0, left + left_stride * i, left_stride, left_step, 0, 0, right, n_inner, sums + 64 * i, first,
                      results + result_stride * i, result_stride, 0, 0);
        i += 2;
    }
    if (i < n_rows) {
        multiply_rows(1, vectors, 0, left + left_stride * i, left_stride, left_step, 0, 0, right, n_inner, sums + 64 * i, first,
                      results + result_stride * i, result_stride, 0, 0);
    }
}

/* Up to 128 inner steps: left as it lies, right a panel of 128 by 64 columns, of which n_columns count. source: where right's
   columns lie, rows source_stride apart, for those who have not brought them there (the first block of rows does);
   0. results: rows of up to n_columns and what is missing there to a vector's 16 or 8. next: 0 where nothing follows that is known. */
static void multiply_add(const float *left, int64_t left_stride, int64_t left_step, const float *source, int64_t source_stride,
                         float *right, int64_t n_rows, int64_t n_inner, int64_t n_columns, const float *sums, int first,
                         float *results, int64_t result_stride, next_panel *next) {
    const int makes = source != 0 && n_columns == 64 && n_rows >= 6;
    if (source != 0 && !makes) {
        for (int64_t k = 0; k < n_inner; k++) {
            for (int64_t l = 0; l < n_columns; l++) {
                right[64 * k + l] = source[source_stride * k + l];
            }
        }
    }
    int64_t column = 0;
    for (; column + BLOCK_LANES * (BLOCK_VECTORS - 1) < n_columns; column += BLOCK_LANES * BLOCK_VECTORS) {
        if (makes) {
            multiply_rows(6, BLOCK_VECTORS, 1, left, left_stride, left_step, source + column, source_stride, right + column, n_inner,
                          sums + column, first, results + column, result_stride, 0, 0);
        }
        multiply_vectors(BLOCK_VECTORS, left, left_stride, left_step, right + column, makes ? 6 : 0, n_rows, n_inner, sums + column,
                         first, results + column, result_stride, column == 0 ? next : 0);
    }
    if (column + BLOCK_LANES < n_columns) {
        multiply_vectors(2, left, left_stride, left_step, right + column, 0, n_rows, n_inner, sums + column, first, results + column,
                         result_stride, 0);
        column += 2 * BLOCK_LANES;
    }
    if (column < n_columns) {
        multiply_vectors(1, left, left_stride, left_step, right + column, 0, n_rows, n_inner, sums + column, first, results + column,
                         result_stride, 0);
    }
}

/* A vector that several others are multiplied with is loaded once, for them all: compilers would rather load it with each. */
#if defined(__AVX512F__)
#define STAYS(v) __asm__("" : "+v"(v))
#elif defined(__AVX__)
#define STAYS(v) __asm__("" : "+x"(v))
#else
#define STAYS(v) (void)(v)
#endif

/* The sum of each of as many vectors' lanes as a vector has: of vectors i and i + half, interleaved, the lower lanes are
   added to the upper ones. */
#define COLUMNS_ALONG (BLOCK_LANES / 2)
VECTOR_INLINE void add_up_lanes(block_vector *v, float *sums) {
#if HAS_SHUFFLE
#pragma GCC unroll 4
    for (int half = BLOCK_LANES / 2; half > 0; half /= 2) {
#pragma GCC unroll 8
        for (int i = 0; i < half; i++) {
#if defined(__AVX512F__)
            v[i] = SHUFFLE_LOW(v[i], v[i + half]) + SHUFFLE_HIGH(v[i], v[i + half]);
#else
            v[i] = SHUFFLE_LOW_8(v[i], v[i + half]) + SHUFFLE_HIGH_8(v[i], v[i + half]);
#endif
        }
    }
    *(block_vector *)sums = v[0];
#else
    for (int i = 0; i < BLOCK_LANES; i++) {
        sums[i] = 0;
        for (int l = 0; l < BLOCK_LANES; l++) {
            sums[i] += v[i][l];
        }
    }
#endif
}

/* A row or two by half as many columns as a vector has lanes, all of which lie along the inner dimension: put into sums, or added there.
   asks: of so many of the columns from `next` on, each step asks for what lies where it is itself. */
VECTOR_INLINE void multiply_along_rows(const int rows, const int asks, const float *left, int64_t left_stride, const float *right,
                                       int64_t right_stride, int64_t n_inner, float *sums, int first, const float *next) {
    typedef float half_vector __attribute__((vector_size(2 * BLOCK_LANES), aligned(4), may_alias));
    block_vector sum[BLOCK_LANES] = {0};
    const int64_t whole = n_inner / BLOCK_LANES * BLOCK_LANES;
    for (int64_t k = 0; k < whole; k += BLOCK_LANES) {
        block_vector row[2];
#pragma GCC unroll 8
        for (int c = 0; c < asks; c++) {
            __builtin_prefetch(next + right_stride * c + k, 0, 2);
        }
#pragma GCC unroll 2
        for (int i = 0; i < rows; i++) {
            row[i] = *(const block_vector *)(left + left_stride * i + k);
        }
#pragma GCC unroll 8
        for (int c = 0; c < COLUMNS_ALONG; c++) {
            block_vector column = *(const block_vector *)(right + right_stride * c + k);
            STAYS(column);
#pragma GCC unroll 2
            for (int i = 0; i < rows; i++) {
                sum[COLUMNS_ALONG * i + c] += row[i] * column;
            }
        }
    }
    float all[BLOCK_LANES] __attribute__((aligned(64)));
    add_up_lanes(sum, all);
    for (int64_t k = whole; k < n_inner; k++) {
        for (int i = 0; i < rows; i++) {
            for (int c = 0; c < COLUMNS_ALONG; c++) {
                all[COLUMNS_ALONG * i + c] += left[left_stride * i + k] * right[right_stride * c + k];
            }
        }
    }
#pragma GCC unroll 2
    for (int i = 0; i < rows; i++) {
        half_vector *const to = (half_vector *)(sums + 64 * i);
        if (first) {
            *to = *(const half_vector *)(all + COLUMNS_ALONG * i);
        } else {
            *to += *(const half_vector *)(all + COLUMNS_ALONG * i);
        }
    }
}

/* Rows by 8 columns, to sums in rows of 64. next: the 8 columns that come next and lie as far apart, which the first rows ask for; 0: others
   do, or none come. */
static void multiply_along(const float *left, int64_t left_stride, const float *right, int64_t right_stride, int64_t n_rows,
                           int64_t n_inner, float *sums, int first, const float *next) {
    for (int64_t c = 0; c < 8; c += COLUMNS_ALONG) {
        const float *const columns = right + right_stride * c;
        const int64_t pairs = n_rows / 2, each = pairs == 1 ? 8 : pairs < 4 ? 4 : pairs < 8 ? 2 : 1;
        int64_t i = 0, asked = next != 0 && c == 0 ? 0 : 8;
        for (; i + 2 <= n_rows; i += 2, asked += each) {
            const float *const rows = left + left_stride * i, *const ahead = next + right_stride * asked;
            float *const to = sums + 64 * i + c;
            if (asked >= 8) {
                multiply_along_rows(2, 0, rows, left_stride, columns, right_stride, n_inner, to, first, 0);
            } else if (each == 1) {
                multiply_along_rows(2, 1, rows, left_stride, columns, right_stride, n_inner, to, first, ahead);
            } else if (each == 2) {
                multiply_along_rows(2, 2, rows, left_stride, columns, right_stride, n_inner, to, first, ahead);
            } else if (each == 4) {
                multiply_along_rows(2, 4, rows, left_stride, columns, right_stride, n_inner, to, first, ahead);
            } else {
                multiply_along_rows(2, 8, rows, left_stride, columns, right_stride, n_inner, to, first, ahead);
            }
        }
        if (i < n_rows) {
            multiply_along_rows(1, 0, left + left_stride * i, left_stride, columns, right_stride, n_inner, sums + 64 * i + c, first, 0);
        }
    }
}

/* Of few rows: up to 8 inner steps, right a panel of 8 by 512 columns, sums in rows of 512. */
static void multiply_few(const float *left, int64_t left_stride, int64_t left_step, const float *right, int64_t n_rows,
                         int64_t n_inner, int64_t n_columns, float *sums, int first) {
    for (int64_t l = 0; l < n_columns; l += BLOCK_LANES) {
        block_vector column[8];
#pragma GCC unroll 8
        for (int k = 0; k < 8; k++) {
            column[k] = *(const block_vector *)(right + 512 * k + l); /* where there are fewer, nobody looks at the rest */
        }
        for (int64_t i = 0; i < n_rows; i++) {
            const float *const row = left + left_stride * i;
            block_vector sum = first ? (block_vector){0} : *(const block_vector *)(sums + 512 * i + l);
            if (n_inner == 8) {
#pragma GCC unroll 8
                for (int k = 0; k < 8; k++) {
                    sum += row[left_step * k] * column[k];
                }
            } else {
                for (int k = 0; k < n_inner; k++) {
                    sum += row[left_step * k] * *(const block_vector *)(right + 512 * k + l);
                }
            }
            *(block_vector *)(sums + 512 * i + l) = sum;
        }
    }
}

typedef float tile_vector __attribute__((vector_size(32), aligned(4), may_alias));
/* 8 columns of up to 128 inner steps each, 128 apart, into a panel of rows 64 apart: tiles of 8 by 8 change places in three
   rounds, each of which exchanges what differs in one bit of row and column. */
static void turn_columns(const float *columns, int64_t n_inner, float *panel) {
    int64_t k = 0;
#if HAS_SHUFFLE
    for (; k + 8 <= n_inner; k += 8) {
        tile_vector a[8], b[8];
#pragma GCC unroll 8
        for (int i = 0; i < 8; i++) {
            a[i] = *(const tile_vector *)(columns + 128 * i + k);
        }
#pragma GCC unroll 4
        for (int i = 0; i < 8; i += 2) {
            b[i] = __builtin_shufflevector(a[i], a[i + 1], 0, 8, 2, 10, 4, 12, 6, 14);
            b[i + 1] = __builtin_shufflevector(a[i], a[i + 1], 1, 9, 3, 11, 5, 13, 7, 15);
        }
#pragma GCC unroll 4
        for (int i = 0; i < 4; i++) {
            const int at = i + (i & 2);
            a[at] = __builtin_shufflevector(b[at], b[at + 2], 0, 1, 8, 9, 4, 5, 12, 13);
            a[at + 2] = __builtin_shufflevector(b[at], b[at + 2], 2, 3, 10, 11, 6, 7, 14, 15);
        }
#pragma GCC unroll 4
        for (int i = 0; i < 4; i++) {
            b[i] = __builtin_shufflevector(a[i], a[i + 4], 0, 1, 2, 3, 8, 9, 10, 11);
            b[i + 4] = __builtin_shufflevector(a[i], a[i + 4], 4, 5, 6, 7, 12, 13, 14, 15);
        }
#pragma GCC unroll 8
        for (int i = 0; i < 8; i++) {
            *(tile_vector *)(panel + 64 * (k + i)) = b[i];
        }
    }
#endif
    for (; k < n_inner; k++) {
        for (int i = 0; i < 8; i++) {
            panel[64 * k + i] = columns[128 * i + k];
        }
    }
}

/* Columns of bf16 that lie so many pairs apart, into a panel of f32: they are turned round pair by pair. */
static void turn_pairs(const uint16_t *columns, int64_t stride, int64_t n_inner, int64_t n_columns, float *panel) {
    uint32_t pairs[64 * 64] __attribute__((aligned(64)));
    turn_round(pairs, 64, columns, stride, n_inner / 2, n_columns, 4);
    for (int64_t k = 0; k < n_inner; k += 2) {
        INDEPENDENT
        for (int64_t l = 0; l < 64; l++) {
            const uint32_t pair = pairs[32 * k + l]; /* beyond the last column nobody looks */
            panel[64 * k + l] = float_of_bits(pair << 16);
            panel[64 * k + 64 + l] = float_of_bits(pair & 0xFFFF0000u);
        }
    }
}

/* A panel of pairs of rows that lie so far apart. */
static void pair_rows(const uint16_t *rows, int64_t stride, int64_t n_inner, int64_t n_columns, uint32_t *right) {
    for (int64_t k = 0; k < n_inner; k += 2) {
        const uint16_t *const first = rows + stride * k, *const second = k + 1 < n_inner ? first + stride : first;
        const uint32_t kept = k + 1 < n_inner ? 0xFFFF0000u : 0;
        for (int64_t l = 0; l < n_columns; l++) {
            right[32 * k + l] = first[l] | ((uint32_t)second[l] << 16 & kept);
        }
    }
}

/* sum[v] += a pair of left's times column[v]: exact products, added in f32. */
VECTOR_INLINE void add_pairs(block_vector *sum, const uint16_t *left, const block_vector *column) {
    typedef uint32_t words __attribute__((vector_size(4 * BLOCK_LANES)));
    uint32_t pair;
    memcpy(&pair, left, 4);
    const words a = (words){0} + pair;
#pragma GCC unroll 4
    for (int v = 0; v < BLOCK_VECTORS; v++) {
#if defined(__AVX512BF16__) && defined(__AVX512F__)
        __asm__("vdpbf16ps %2, %1, %0" : "+v"(sum[v]) : "v"(a), "v"(column[v]));
#else
        const words b = (words)column[v];
        sum[v] += (block_vector)(a << 16) * (block_vector)(b << 16);
        sum[v] += (block_vector)(a & 0xFFFF0000u) * (block_vector)(b & 0xFFFF0000u);
#endif
    }
}

/* As multiply_rows, of n_pairs pairs. */
VECTOR_INLINE void multiply_pair_rows(const int rows, const uint16_t *left, int64_t left_stride, const uint32_t *right, int64_t n_pairs,
                                      float *sums, int first) {
    block_vector sum[6][4];
#pragma GCC unroll 6
    for (int i = 0; i < rows; i++) {
#pragma GCC unroll 4
        for (int v = 0; v < BLOCK_VECTORS; v++) {
            sum[i][v] = first ? (block_vector){0} : *(const block_vector *)(sums + 64 * i + BLOCK_LANES * v);
        }
    }
    for (int64_t k = 0; k < n_pairs; k++) {
        block_vector column[4];
#pragma GCC unroll 4
        for (int v = 0; v < BLOCK_VECTORS; v++) {
            column[v] = *(const block_vector *)(right + 64 * k + BLOCK_LANES * v);
        }
#pragma GCC unroll 6
        for (int i = 0; i < rows; i++) {
            add_pairs(sum[i], left + left_stride * i + 2 * k, column);
        }
    }
#pragma GCC unroll 6
    for (int i = 0; i < rows; i++) {
#pragma GCC unroll 4
        for (int v = 0; v < BLOCK_VECTORS; v++) {
            *(block_vector *)(sums + 64 * i + BLOCK_LANES * v) = sum[i][v];
        }
    }
}

/* As multiply_add, of bf16: left as it lies or in a panel, right in pairs. What pads the last pair is 0 in both. */
static void multiply_pairs(const uint16_t *left, int64_t left_stride, const uint32_t *right, int64_t n_rows, int64_t n_inner,
                           int64_t n_columns, float *sums, int first) {
    const int64_t n_pairs = (n_inner + 1) / 2;
    for (int64_t column = 0; column < n_columns; column += BLOCK_LANES * BLOCK_VECTORS) {
        int64_t i = 0;
        for (; i + 6 <= n_rows; i += 6) {
            multiply_pair_rows(6, left + left_stride * i, left_stride, right + column, n_pairs, sums + 64 * i + column, first);
        }
        if (i + 4 <= n_rows) {
            multiply_pair_rows(4, left + left_stride * i, left_stride, right + column, n_pairs, sums + 64 * i + column, first);
            i += 4;
        }
        if (i + 2 <= n_rows) {
            multiply_pair_rows(2, left + left_stride * i, left_stride, right + column, n_pairs, sums + 64 * i + column, first);
            i += 2;
        }
        if (i < n_rows) {
            multiply_pair_rows(1, left + left_stride * i, left_stride, right + column, n_pairs, sums + 64 * i + column, first);
        }
    }
}

/* The shapes of the processor's tiles: eight of 64 bytes a row. Sums 0 and 1 and tile 4 of the left factor have so many rows, sums 2 and
   3 and tile 5 so many as well, those of the right factor (6, 7) 16. */
VECTOR_INLINE void shape_tiles(int64_t first, int64_t second) {
#if defined(__AMX_BF16__)
    uint8_t shape[64] = {1};
    for (int t = 0; t < 8; t++) {
        shape[16 + 2 * t] = 64;
        shape[48 + t] = (uint8_t)(t > 5 ? 16 : t == 2 || t == 3 || t == 5 ? second : first);
    }
    __asm__ volatile("ldtilecfg %0" : : "m"(shape));
#else
    (void)first, (void)second;
#endif
}

/* Sums of up to 32 rows (one tile of them or `two`) by 32 columns. */
VECTOR_INLINE void multiply_tile(const int two, const uint16_t *left, int64_t left_stride, const uint32_t *right, int64_t n_inner,
                                 float *sums, int first) {
#if defined(__AMX_BF16__)
    const int64_t row = 256, left_row = 2 * left_stride;
    if (first) {
        __asm__ volatile("tilezero %%tmm0\n\ttilezero %%tmm1\n\ttilezero %%tmm2\n\ttilezero %%tmm3" : : : "memory");
    } else {
        __asm__ volatile("tileloadd (%0,%1,1), %%tmm0\n\ttileloadd 64(%0,%1,1), %%tmm1" : : "r"(sums), "r"(row) : "memory");
        if (two) {
            __asm__ volatile("tileloadd (%0,%1,1), %%tmm2\n\ttileloadd 64(%0,%1,1), %%tmm3" : : "r"(sums + 1024), "r"(row) : "memory");
        }
    }
    for (int64_t k = 0; k < n_inner; k += 32) {
        __asm__ volatile("tileloadd (%0,%1,1), %%tmm6\n\ttileloadd 64(%0,%1,1), %%tmm7" : : "r"(right + 32 * k), "r"(row) : "memory");
        __asm__ volatile("tileloadd (%0,%1,1), %%tmm4\n\ttdpbf16ps %%tmm6, %%tmm4, %%tmm0\n\ttdpbf16ps %%tmm7, %%tmm4, %%tmm1"
                         : : "r"(left + k), "r"(left_row) : "memory");
        if (two) {
            __asm__ volatile("tileloadd (%0,%1,1), %%tmm5\n\ttdpbf16ps %%tmm6, %%tmm5, %%tmm2\n\ttdpbf16ps %%tmm7, %%tmm5, %%tmm3"
                             : : "r"(left + 16 * left_stride + k), "r"(left_row) : "memory");
        }
    }
    __asm__ volatile("tilestored %%tmm0, (%0,%1,1)\n\ttilestored %%tmm1, 64(%0,%1,1)" : : "r"(sums), "r"(row) : "memory");
    if (two) {
        __asm__ volatile("tilestored %%tmm2, (%0,%1,1)\n\ttilestored %%tmm3, 64(%0,%1,1)" : : "r"(sums + 1024), "r"(row) : "memory");
    }
#else
    (void)two, (void)left, (void)left_stride, (void)right, (void)n_inner, (void)sums, (void)first;
#endif
}

/* As multiply_pairs, by the processor's tiles. What pads the last 32 inner steps is 0 in both factors. Others' tiles have their
   shapes again afterwards. */
static void multiply_tiles(const uint16_t *left, int64_t left_stride, const uint32_t *right, int64_t n_rows, int64_t n_inner,
                           int64_t n_columns, float *sums, int first) {
#if defined(__AMX_BF16__)
    uint8_t before[64];
    __asm__ volatile("sttilecfg %0" : "=m"(before));
    shape_tiles(16, 16);
    for (int64_t i = 0; i < n_rows; i += 32) {
        const int64_t rows = n_rows - i, second = rows - 16;
        for (int64_t column = 0; column < n_columns && rows >= 16; column += 32) {
            const uint16_t *from = left + left_stride * i;
            if (rows >= 32) {
                multiply_tile(1, from, left_stride, right + column, n_inner, sums + 64 * i + column, first);
            } else {
                multiply_tile(0, from, left_stride, right + column, n_inner, sums + 64 * i + column, first);
            }
        }
        const int64_t rest = rows < 16 ? rows : second < 16 ? second : 0, at = rows < 16 ? i : i + 16;
        if (rest > 0) {
            shape_tiles(rest, rest);
        }
        for (int64_t column = 0; column < n_columns && rest > 0; column += 32) {
            multiply_tile(0, left + left_stride * at, left_stride, right + column, n_inner, sums + 64 * at + column, first);
        }
    }
    __asm__ volatile("ldtilecfg %0" : : "m"(before));
    return;
#endif
    multiply_pairs(left, left_stride, right, n_rows, n_inner, n_columns, sums, first);
}

/* Rows of a product that are kept in tiles: 32 rows by 32 inner steps are two tiles of 16 pairs of steps by 16 rows, one behind the
   other, and behind them are those of the next steps. */
#define TILES_OF_STEP 32

/* Brings rows there; n_inner is a multiple of 32, and `inner` are all steps. */
static void tile_rows(uint16_t *kept, int64_t inner, const uint16_t *rows, int64_t stride, int64_t n_rows, int64_t n_inner) {
    for (int64_t i = 0; i < n_rows; i += 16) {
        uint16_t *const to = kept + i / 32 * 32 * inner + i % 32 * 32;
        for (int64_t k = 0; k < n_inner; k += 32) {
            if (n_rows - i >= 16) {
                turn_round(to + TILES_OF_STEP * k, 16, rows + stride * i + k, stride / 2, 16, 16, 4);
            } else {
                turn_round(to + TILES_OF_STEP * k, 16, rows + stride * i + k, stride / 2, 16, n_rows - i, 4);
            }
        }
    }
}

/* Sums of 32 kept rows (or of the first 16, without `both`) by 32 columns (without `two` 16), which lie along the inner dimension: the
   columns are the rows of the sums' tiles. */
VECTOR_INLINE void multiply_kept_tile(const int two, const int both, const uint16_t *columns, int64_t stride, const uint16_t *kept,
                                      int64_t n_inner, float *turned, int first) {
#if defined(__AMX_BF16__)
    const int64_t line = 64, row = 128, column = 2 * stride;
    if (first) {
        __asm__ volatile("tilezero %%tmm0\n\ttilezero %%tmm1\n\ttilezero %%tmm2\n\ttilezero %%tmm3" : : : "memory");
    } else {
        __asm__ volatile("tileloadd (%0,%1,1), %%tmm0\n\ttileloadd 64(%0,%1,1), %%tmm1" : : "r"(turned), "r"(row) : "memory");
        if (two) {
            __asm__ volatile("tileloadd (%0,%1,1), %%tmm2\n\ttileloadd 64(%0,%1,1), %%tmm3" : : "r"(turned + 512), "r"(row) : "memory");
        }
    }
    for (int64_t k = 0; k < n_inner; k += 32) {
        __asm__ volatile("tileloadd (%0,%1,1), %%tmm6" : : "r"(kept + TILES_OF_STEP * k), "r"(line) : "memory");
        if (both) {
            __asm__ volatile("tileloadd (%0,%1,1), %%tmm7" : : "r"(kept + TILES_OF_STEP * k + 512), "r"(line) : "memory");
        }
        __asm__ volatile("tileloadd (%0,%1,1), %%tmm4\n\ttdpbf16ps %%tmm6, %%tmm4, %%tmm0" : : "r"(columns + k), "r"(column) : "memory");
        if (both) {
            __asm__ volatile("tdpbf16ps %%tmm7, %%tmm4, %%tmm1" : : : "memory");
        }
        if (two) {
            __asm__ volatile("tileloadd (%0,%1,1), %%tmm5\n\ttdpbf16ps %%tmm6, %%tmm5, %%tmm2"
                             : : "r"(columns + 16 * stride + k), "r"(column) : "memory");
        }
        if (two && both) {
            __asm__ volatile("tdpbf16ps %%tmm7, %%tmm5, %%tmm3" : : : "memory");
        }
    }
    __asm__ volatile("tilestored %%tmm0, (%0,%1,1)\n\ttilestored %%tmm1, 64(%0,%1,1)" : : "r"(turned), "r"(row) : "memory");
    if (two) {
        __asm__ volatile("tilestored %%tmm2, (%0,%1,1)\n\ttilestored %%tmm3, 64(%0,%1,1)" : : "r"(turned + 512), "r"(row) : "memory");
    }
#else
    (void)two, (void)both, (void)columns, (void)stride, (void)kept, (void)n_inner, (void)turned, (void)first;
#endif
}

/* The same of all kept rows, up to 192, by up to 64 columns, each begins `stride` elements behind the one before: sums in rows of 64. */
static void multiply_kept_rows(const uint16_t *columns, int64_t stride, const uint16_t *kept, int64_t n_rows, int64_t n_inner,
                               int64_t n_columns, float *sums) {
#if defined(__AMX_BF16__)
    float turned[6 * 1024] __attribute__((aligned(64)));
    uint8_t before[64];
    __asm__ volatile("sttilecfg %0" : "=m"(before));
    shape_tiles(16, 16);
    for (int64_t c = 0; c < n_columns; c += 32) {
        const int64_t n = n_columns - c < 32 ? n_columns - c : 32;
        if (n < 32) {
            shape_tiles(n < 16 ? n : 16, n > 16 ? n - 16 : 16);
        }
        for (int64_t k = 0; k < n_inner; k += 256) { /* columns stay in the core's first cache meanwhile */
            const uint16_t *const from = columns + stride * c + k;
            const int64_t steps = n_inner - k < 256 ? n_inner - k : 256;
            for (int64_t i = 0; i < n_rows; i += 32) {
                const uint16_t *const rows = kept + i * n_inner + TILES_OF_STEP * k;
                if (n > 16 && n_rows - i > 16) {
                    multiply_kept_tile(1, 1, from, stride, rows, steps, turned + 32 * i, k == 0);
                } else if (n > 16) {
                    multiply_kept_tile(1, 0, from, stride, rows, steps, turned + 32 * i, k == 0);
                } else {
                    multiply_kept_tile(0, 1, from, stride, rows, steps, turned + 32 * i, k == 0);
                }
            }
        }
        for (int64_t i = 0; i < n_rows; i += 32) {
            if (n == 32 && n_rows - i >= 32) {
                turn_round(sums + 64 * i + c, 64, turned + 32 * i, 32, 32, 32, 4);
            } else {
                turn_round(sums + 64 * i + c, 64, turned + 32 * i, 32, n_rows - i < 32 ? n_rows - i : 32, n, 4);
            }
        }
    }
    __asm__ volatile("ldtilecfg %0" : : "m"(before));
#else
    for (int64_t i = 0; i < n_rows; i++) { /* by a compiler that knows no tiles */
        const uint16_t *const row = kept + i / 32 * 32 * n_inner + i / 16 % 2 * 512 + i % 16 * 2;
        for (int64_t c = 0; c < n_columns; c++) {
            float sum = 0;
            for (int64_t k = 0; k < n_inner; k++) {
                const uint32_t a = columns[stride * c + k], b = row[TILES_OF_STEP * (k / 32 * 32) + k % 32 / 2 * 32 + k % 2];
                sum += float_of_bits(a << 16) * float_of_bits(b << 16);
            }
            sums[64 * i + c] = sum;
        }
    }
#endif
}
