typedef __INT8_TYPE__ int8_t;
typedef __INT16_TYPE__ int16_t;
typedef __INT32_TYPE__ int32_t;
typedef __INT64_TYPE__ int64_t;
typedef __UINT8_TYPE__ uint8_t;
typedef __UINT16_TYPE__ uint16_t;
typedef __UINT32_TYPE__ uint32_t;
typedef __UINT64_TYPE__ uint64_t;
#define VECTOR_INLINE static inline __attribute__((always_inline, unused))
#ifdef __clang__
#define INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define INDEPENDENT _Pragma("GCC ivdep")
#endif
#define memcpy __builtin_memcpy
#define fabsf __builtin_fabsf
#define fabs __builtin_fabs
#define copysignf __builtin_copysignf
#define fmaf __builtin_fmaf
#define INFINITY __builtin_inff()
#define NAN __builtin_nanf("")

VECTOR_INLINE float float_of_bits(uint32_t bits) {
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

VECTOR_INLINE uint32_t bits_of_float(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

VECTOR_INLINE float f32_of_bf16(uint16_t x) {
    return float_of_bits((uint32_t)x << 16);
}

/* To nearest, ties to even; a NaN stays one. */
VECTOR_INLINE uint16_t bf16_of_f32(float x) {
    uint32_t bits = bits_of_float(x);
    uint32_t rounded = bits + 0x7fffu + (bits >> 16 & 1);
    uint32_t quiet = bits | 0x400000u;
    return (uint16_t)((x == x ? rounded : quiet) >> 16);
}

#if defined(__AVX512F__)
#define BLOCK_LANES 16
#define BLOCK_VECTORS 4
#else
#define BLOCK_LANES 8
#define BLOCK_VECTORS 2
#endif
typedef float block_vector __attribute__((vector_size(4 * BLOCK_LANES), aligned(4), may_alias));

/* Some rows of left times some vectors of columns of right (rows 64 apart), added to sums (rows 64 apart) or put there. */
VECTOR_INLINE void multiply_rows(const int rows, const int vectors, const float *left, int64_t left_stride, int64_t left_step,
                                 const float *right, int64_t n_inner, float *sums, int first) {
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
#pragma GCC unroll 4
        for (int v = 0; v < vectors; v++) {
            column[v] = *(const block_vector *)(right + 64 * k + BLOCK_LANES * v);
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
            *(block_vector *)(sums + 64 * i + BLOCK_LANES * v) = sum[i][v];
        }
    }
}

VECTOR_INLINE void multiply_vectors(const int vectors, const float *left, int64_t left_stride, int64_t left_step,
                                    const float *right, int64_t n_rows, int64_t n_inner, float *sums, int first) {
    int64_t i = 0;
    for (; i + 6 <= n_rows; i += 6) {
        multiply_rows(6, vectors, left + left_stride * i, left_stride, left_step, right, n_inner, sums + 64 * i, first);
    }
    if (i + 4 <= n_rows) {
        multiply_rows(4, vectors, left + left_stride * i, left_stride, left_step, right, n_inner, sums + 64 * i, first);
        i += 4;
    }
    if (i + 2 <= n_rows) {
        multiply_rows(2, vectors, left + left_stride * i, left_stride, left_step, right, n_inner, sums + 64 * i, first);
        i += 2;
    }
    if (i < n_rows) {
        multiply_rows(1, vectors, left + left_stride * i, left_stride, left_step, right, n_inner, sums + 64 * i, first);
    }
}

/* Up to 256 inner steps: left as it lies, right a panel of 256 by 64 columns, of which n_columns count. */
static void multiply_add(const float *left, int64_t left_stride, int64_t left_step, const float *right, int64_t n_rows,
                         int64_t n_inner, int64_t n_columns, float *sums, int first) {
    int64_t column = 0;
    for (; column + BLOCK_LANES * (BLOCK_VECTORS - 1) < n_columns; column += BLOCK_LANES * BLOCK_VECTORS) {
        multiply_vectors(BLOCK_VECTORS, left, left_stride, left_step, right + column, n_rows, n_inner, sums + column, first);
    }
    if (column + BLOCK_LANES < n_columns) {
        multiply_vectors(2, left, left_stride, left_step, right + column, n_rows, n_inner, sums + column, first);
        column += 2 * BLOCK_LANES;
    }
    if (column < n_columns) {
        multiply_vectors(1, left, left_stride, left_step, right + column, n_rows, n_inner, sums + column, first);
    }
}

typedef float tile_vector __attribute__((vector_size(32), aligned(4), may_alias));
/* 8 columns of up to 256 inner steps each, 256 apart, into a panel of rows 64 apart: tiles of 8 by 8 change places in three
   rounds, each of which exchanges what differs in one bit of row and column. */
static void turn_columns(const float *columns, int64_t n_inner, float *panel) {
    int64_t k = 0;
    for (; k + 8 <= n_inner; k += 8) {
        tile_vector a[8], b[8];
#pragma GCC unroll 8
        for (int i = 0; i < 8; i++) {
            a[i] = *(const tile_vector *)(columns + 256 * i + k);
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
    for (; k < n_inner; k++) {
        for (int i = 0; i < 8; i++) {
            panel[64 * k + i] = columns[256 * i + k];
        }
    }
}


/* %4 = sum f32[128], %21 = mul f32[128, 1024] */
_Bool kernel_0(void *const *buffers, int64_t first, int64_t last) {
    const uint16_t *const b0 = buffers[0];
    const double *const b1 = buffers[1];
    const uint16_t *const b2 = buffers[2];
    float *const b4 = buffers[3];
    for (int64_t task = first; task < last; task++) {
        const int64_t v0 = task;
        const double t7 = b1[0];
        const float t8 = (float)(t7);
        float a0[64];
        for (int64_t l = 0; l < 64; l++) {
            a0[l] = 0;
        }
        for (int64_t lane = 0; lane < 1024; lane += 64) {
            INDEPENDENT
            for (int64_t l = 0; l < 64; l++) {
                const int64_t v1 = lane + l;
                const uint16_t t0 = b0[1024 * v0 + v1];
                const float t1 = f32_of_bf16(t0);
                const float t2 = t1 * t1;
                a0[l] += t2;
            }
        }
        for (int64_t l = 0; l < 32; l++) {
            a0[l] = a0[l] + a0[l + 32];
        }
        for (int64_t l = 0; l < 16; l++) {
            a0[l] = a0[l] + a0[l + 16];
        }
        for (int64_t l = 0; l < 8; l++) {
            a0[l] = a0[l] + a0[l + 8];
        }
        const float a0_8_0 = a0[0];
        const float a0_8_1 = a0[1];
        const float a0_8_2 = a0[2];
        const float a0_8_3 = a0[3];
        const float a0_8_4 = a0[4];
        const float a0_8_5 = a0[5];
        const float a0_8_6 = a0[6];
        const float a0_8_7 = a0[7];
        const float a0_4_0 = a0_8_0 + a0_8_4;
        const float a0_4_1 = a0_8_1 + a0_8_5;
        const float a0_4_2 = a0_8_2 + a0_8_6;
        const float a0_4_3 = a0_8_3 + a0_8_7;
        const float a0_2_0 = a0_4_0 + a0_4_2;
        const float a0_2_1 = a0_4_1 + a0_4_3;
        const float a0_1_0 = a0_2_0 + a0_2_1;
        const float r0 = a0_1_0;
        const float t6 = r0 * 0.0009765625f;
        const float t9 = t6 + t8;
        const float t10 = __builtin_sqrtf(t9);
        const float t11 = 1.0f / t10;
        for (int64_t lane = 0; lane < 1024; lane += 64) {
            INDEPENDENT
            for (int64_t l = 0; l < 64; l++) {
                const int64_t v1 = lane + l;
                const uint16_t t0 = b0[1024 * v0 + v1];
                const float t1 = f32_of_bf16(t0);
                const float t12 = t1 * t11;
                const uint16_t t13 = b2[v1];
                const float t14 = f32_of_bf16(t13);
                const float t15 = t12 * t14;
                b4[1024 * v0 + v1] = t15;
            }
        }
    }
    return 1;
}

/* %31 = sum f32[128, 1024], %32 = cast bf16[128, 1024] */
_Bool kernel_1(void *const *buffers, int64_t first, int64_t last) {
    const uint16_t *const b3 = buffers[0];
    const float *const b4 = buffers[1];
    uint16_t *const b5 = buffers[2];
    for (int64_t task = first; task < last; task++) {
        const int64_t first_row = task / 16 % 1 * 128;
        const int64_t n_rows = 128 - first_row < 128 ? 128 - first_row : 128;
        const int64_t first_column = task % 16 * 64;
        const int64_t n_columns = 1024 - first_column < 64 ? 1024 - first_column : 64;
        float sums[8192] __attribute__((aligned(64)));
        float right[16384] __attribute__((aligned(64)));
        for (int64_t first_inner = 0; first_inner < 1024; first_inner += 256) {
            const int64_t n_inner = 1024 - first_inner < 256 ? 1024 - first_inner : 256;
            const float *left_rows;
            {
                const int64_t v0 = first_row, v2 = first_inner;
                left_rows = b4 + 1024 * v0 + v2;
            }
            for (int64_t c = 0; c < n_columns; c += 8) {
                float run[2048];
                for (int64_t i = 0; i < 8; i++) { /* the last column stands in for those that are not there */
                    const int64_t v1 = first_column + (c + i < n_columns ? c + i : n_columns - 1);
                    INDEPENDENT
                    for (int64_t l = 0; l < n_inner; l++) {
                        const int64_t v2 = first_inner + l;
                        const uint16_t t1 = b3[1024 * v1 + v2];
                        const float t2 = f32_of_bf16(t1);
                        run[256 * i + l] = t2;
                    }
                }
                turn_columns(run, n_inner, right + c);
            }
            multiply_add(left_rows, 1024, 1, right, n_rows, n_inner, n_columns, sums, first_inner == 0);
        }
        for (int64_t i = 0; i < n_rows; i++) {
            const int64_t v0 = first_row + i;
            const float *const r0 = sums + 64 * i;
            INDEPENDENT
            for (int64_t l = 0; l < n_columns; l++) {
                const int64_t v1 = first_column + l;
                const uint16_t t5 = bf16_of_f32(r0[l]);
                b5[1024 * v0 + v1] = t5;
            }
        }
    }
    return 1;
}

