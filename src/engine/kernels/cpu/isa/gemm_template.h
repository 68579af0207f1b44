/* SPDX-License-Identifier: Apache-2.0 */
/* Included once per TYPE. After Goto and van de Geijn (2008): panels of b and a are packed so that the tile reads both in
   order, and the tile's sums stay in registers. */

typedef TYPE NAME(vector) __attribute__((vector_size(VECTOR_BYTES)));
enum { NAME(LANES) = VECTOR_BYTES / sizeof(TYPE), NAME(TILE_COLUMNS) = COLUMN_VECTORS * NAME(LANES) };

/* rows x depth of `from` into panels of `width` rows, [panel][depth][width], the last one padded with zeros. */
static inline __attribute__((always_inline)) void NAME(pack)(const TYPE *from, int64_t row_step, int64_t depth_step, int64_t rows, int64_t depth, int width,
                       TYPE *to) {
    for (int64_t r = 0; r < rows; r += width, to += width * depth) {
        int64_t have = rows - r < width ? rows - r : width;
        if (have < width) {
            memset(to, 0, (size_t)(width * depth) * sizeof(TYPE));
        }
        const TYPE *at = from + r * row_step;
        if (row_step == 1 && have == width) { /* of constant length: a few moves */
            for (int64_t d = 0; d < depth; d++) {
                memcpy(to + d * width, at + d * depth_step, (size_t)width * sizeof(TYPE));
            }
        } else if (row_step == 1) {
            for (int64_t d = 0; d < depth; d++) {
                memcpy(to + d * width, at + d * depth_step, (size_t)have * sizeof(TYPE));
            }
        } else {
            for (int64_t i = 0; i < have; i++) {
                for (int64_t d = 0; d < depth; d++) {
                    to[d * width + i] = at[i * row_step + d * depth_step];
                }
            }
        }
    }
}

/* tile [TILE_ROWS][TILE_COLUMNS] = a panel times b panel */
static void NAME(tile)(int64_t depth, const TYPE *a, const TYPE *b, TYPE *tile) {
    NAME(vector) sum[TILE_ROWS][COLUMN_VECTORS]; /* set and read one by one: as a whole it would live in memory, not registers */
#pragma GCC unroll 24
    for (int i = 0; i < TILE_ROWS * COLUMN_VECTORS; i++) {
        sum[i / COLUMN_VECTORS][i % COLUMN_VECTORS] = (NAME(vector)){0};
    }
    for (int64_t d = 0; d < depth; d++, a += TILE_ROWS, b += NAME(TILE_COLUMNS)) {
        NAME(vector) right[COLUMN_VECTORS];
#pragma GCC unroll 3
        for (int j = 0; j < COLUMN_VECTORS; j++) {
            memcpy(&right[j], b + j * NAME(LANES), sizeof right[j]);
        }
#pragma GCC unroll 8
        for (int i = 0; i < TILE_ROWS; i++) {
#pragma GCC unroll 3
            for (int j = 0; j < COLUMN_VECTORS; j++) {
                sum[i][j] += a[i] * right[j];
            }
        }
    }
#pragma GCC unroll 24
    for (int i = 0; i < TILE_ROWS * COLUMN_VECTORS; i++) {
        memcpy(tile + i * NAME(LANES), &sum[i / COLUMN_VECTORS][i % COLUMN_VECTORS], sizeof(NAME(vector)));
    }
}

static void NAME(scale)(TYPE *packed, int64_t n, TYPE alpha) {
    for (int64_t i = 0; alpha != (TYPE)1 && i < n; i++) {
        packed[i] *= alpha;
    }
}

static void NAME(write_tile)(const gemm_block *g, const TYPE *tile, int64_t row, int64_t column, bool accumulate) {
    int64_t rows = g->m - row < TILE_ROWS ? g->m - row : TILE_ROWS;
    int64_t columns = g->n - column < NAME(TILE_COLUMNS) ? g->n - column : NAME(TILE_COLUMNS);
    TYPE *c = (TYPE *)g->c + row * g->c_row + column * g->c_column;
    for (int64_t i = 0; i < rows; i++, c += g->c_row, tile += NAME(TILE_COLUMNS)) {
        if (g->c_column == 1) {
            for (int64_t j = 0; j < columns; j++) {
                c[j] = accumulate ? c[j] + tile[j] : tile[j];
            }
        } else {
            for (int64_t j = 0; j < columns; j++) {
                c[j * g->c_column] = accumulate ? c[j * g->c_column] + tile[j] : tile[j];
            }
        }
    }
}

static void NAME(block)(const gemm_block *g, void *work) {
    TYPE *tile = work, *b_packed = tile + 1024, *a_packed = b_packed + GEMM_KC * (GEMM_NC + 64);
    const TYPE *a = g->a, *b = g->b;
    for (int64_t k = 0; k < g->k; k += GEMM_KC) {
        int64_t depth = g->k - k < GEMM_KC ? g->k - k : GEMM_KC;
        for (int64_t n = 0; n < g->n; n += GEMM_NC) {
            int64_t columns = g->n - n < GEMM_NC ? g->n - n : GEMM_NC;
            NAME(pack)(b + k * g->b_row + n * g->b_column, g->b_column, g->b_row, columns, depth, NAME(TILE_COLUMNS),
                       b_packed);
            for (int64_t m = 0; m < g->m; m += GEMM_MC) {
                int64_t rows = g->m - m < GEMM_MC ? g->m - m : GEMM_MC;
                NAME(pack)(a + m * g->a_row + k * g->a_column, g->a_row, g->a_column, rows, depth, TILE_ROWS, a_packed);
                NAME(scale)(a_packed, (rows + TILE_ROWS - 1) / TILE_ROWS * TILE_ROWS * depth, (TYPE)ALPHA(g));
                for (int64_t j = 0; j < columns; j += NAME(TILE_COLUMNS)) {
                    for (int64_t i = 0; i < rows; i += TILE_ROWS) {
                        NAME(tile)(depth, a_packed + i * depth, b_packed + j * depth, tile);
                        NAME(write_tile)(g, tile, m + i, n + j, k > 0 || g->accumulate);
                    }
                }
            }
        }
    }
}

#undef TYPE
#undef NAME
#undef ALPHA
