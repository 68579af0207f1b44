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
#define FEW
#else
#define INDEPENDENT _Pragma("GCC ivdep")
#define FEW _Pragma("GCC unroll 1")
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

/* Adding this leaves the nearest whole number in the low bits, without an instruction for rounding (SSE2 has none). */
#define ROUND_MAGIC_F32 0x1.8p23f

/* The same, and the exponent of 2^n with its bias in the low bits. */
#define EXPONENT_MAGIC (ROUND_MAGIC_F32 + 127.0f)

/* x = n ln 2 + r with |r| <= ln 2 / 2 and |n| <= 127: n + 127 stays in the low bits of `shifted`. ln 2 is taken off in two
   parts, the first of which multiplies exactly. */
VECTOR_INLINE float exp_rest(float x, float *shifted) {
    *shifted = x * 0x1.715476p+0f + EXPONENT_MAGIC;
    float n = *shifted - EXPONENT_MAGIC;
    float r = x - n * 0x1.63p-1f;
    return r - n * -0x1.bd0106p-13f;
}

/* (exp(r) - 1 - r) / r^2 on [-ln 2 / 2, ln 2 / 2], fitted for the least relative error of exp (3.1e-9). */
VECTOR_INLINE float exp_series(float r) {
    float p = 0.001381452757f;
    p = p * r + 0.008368750669f;
    p = p * r + 0.04166839134f;
    p = p * r + 0.1666652035f;
    return p * r + 0.4999999343f;
}

/* 2^n of exp_rest's n in [-126, 127], and 0 for n = -127: the magic number's own bits are shifted out. Results are
   multiplied by it, not added to in their bits: what is NaN stays NaN. */
VECTOR_INLINE float exp_scale(float shifted) {
    return float_of_bits(bits_of_float(shifted) << 23);
}

/* Arguments are clipped here: n is -127 then and the result 0. A second look at the argument would not only cost as much
   again: GCC gathers all that follows from one comparison behind it. */
#define EXP_LOWEST -88.0f

/* exp(x) for x <= 0. 1 ulp; below 2^-126.5 it is 0. */
VECTOR_INLINE float exp_negative_f32(float x) {
    float shifted, r = exp_rest(x < EXP_LOWEST ? EXP_LOWEST : x, &shifted);
    return ((exp_series(r) * r + 1.0f) * r + 1.0f) * exp_scale(shifted);
}

/* 1 / (1 + exp(-x)) by exp(-|x|): nothing overflows and small results keep their digits. 2 ulp. */
VECTOR_INLINE float sigmoid_f32(float x) {
    float e = exp_negative_f32(-fabsf(x));
    return (x < 0 ? e : 1.0f) / (1.0f + e);
}

#if defined(__AVX512F__)
#define BLOCK_LANES 16
#define BLOCK_VECTORS 4
#else
#define BLOCK_LANES 8
#define BLOCK_VECTORS 2
#endif
typedef float block_vector __attribute__((vector_size(4 * BLOCK_LANES), aligned(4), may_alias));

/* What the next panel is made of, which comes from afar: runs of `pieces` times 256 bytes, `stride` bytes apart. Every so many
   inner steps a block of rows asks for a piece of it: four blocks of rows ask for all. */
#define STEPS_OF_PIECE 4
typedef struct next_panel {
    const char *at;
    int64_t stride, pieces;
} next_panel;

/* Some rows of left times some vectors of columns of right (rows 64 apart), added to sums (rows 64 apart) or put there. `makes`:
   right is made on the way, of the columns of source. `piece`: the first of the next panel's that is asked for. */
VECTOR_INLINE void multiply_rows(const int rows, const int vectors, const int makes, const float *left, int64_t left_stride,
                                 int64_t left_step, const float *source, int64_t source_stride, float *right, int64_t n_inner,
                                 float *sums, int first, const next_panel *next, int64_t piece) {
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
            const char *const at = next->at + (next->pieces == 1 ? p * next->stride : p / 2 * next->stride + p % 2 * 256);
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
            *(block_vector *)(sums + 64 * i + BLOCK_LANES * v) = sum[i][v];
        }
    }
}

/* Rows from i on. */
VECTOR_INLINE void multiply_vectors(const int vectors, const float *left, int64_t left_stride, int64_t left_step, float *right,
                                    int64_t i, int64_t n_rows, int64_t n_inner, float *sums, int first, const next_panel *next) {
    const int64_t pieces = next != 0 ? (n_inner + STEPS_OF_PIECE - 1) / STEPS_OF_PIECE : 0;
    int64_t asked = 0;
    for (; i + 6 <= n_rows; i += 6) {
        multiply_rows(6, vectors, 0, left + left_stride * i, left_stride, left_step, 0, 0, right, n_inner, sums + 64 * i, first,
                      asked < 4 * pieces ? next : 0, asked);
        asked += pieces;
    }
    if (i + 4 <= n_rows) {
        multiply_rows(4, vectors, 0, left + left_stride * i, left_stride, left_step, 0, 0, right, n_inner, sums + 64 * i, first,
                      0, 0);
        i += 4;
    }
    if (i + 2 <= n_rows) {
        multiply_rows(2, vectors, 0, left + left_stride * i, left_stride, left_step, 0, 0, right, n_inner, sums + 64 * i, first,
                      0, 0);
        i += 2;
    }
    if (i < n_rows) {
        multiply_rows(1, vectors, 0, left + left_stride * i, left_stride, left_step, 0, 0, right, n_inner, sums + 64 * i, first,
                      0, 0);
    }
}

/* Up to 128 inner steps: left as it lies, right a panel of 128 by 64 columns, of which n_columns count. source: where right's
   columns lie, rows source_stride apart, for those who have not brought them there (the first block of rows does);
   0. next: 0 where nothing follows that is known. */
static void multiply_add(const float *left, int64_t left_stride, int64_t left_step, const float *source, int64_t source_stride,
                         float *right, int64_t n_rows, int64_t n_inner, int64_t n_columns, float *sums, int first,
                         const next_panel *next) {
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
                          sums + column, first, 0, 0);
        }
        multiply_vectors(BLOCK_VECTORS, left, left_stride, left_step, right + column, makes ? 6 : 0, n_rows, n_inner, sums + column,
                         first, column == 0 ? next : 0);
    }
    if (column + BLOCK_LANES < n_columns) {
        multiply_vectors(2, left, left_stride, left_step, right + column, 0, n_rows, n_inner, sums + column, first, 0);
        column += 2 * BLOCK_LANES;
    }
    if (column < n_columns) {
        multiply_vectors(1, left, left_stride, left_step, right + column, 0, n_rows, n_inner, sums + column, first, 0);
    }
}

/* %8 = sum f32[64, 1024] */
_Bool kernel_0(void *const *buffers, int64_t first, int64_t last) {
    const float *const b0 = buffers[0];
    const float *const b1 = buffers[1];
    float *const b6 = buffers[2];
    for (int64_t task = first; task < last; task++) {
        const int64_t first_row = task / 16 % 1 * 64;
        const int64_t n_rows = 64 - first_row < 64 ? 64 - first_row : 64;
        const int64_t first_column = task % 16 * 64;
        const int64_t n_columns = 1024 - first_column < 64 ? 1024 - first_column : 64;
        float sums[4096] __attribute__((aligned(64)));
        float right[8192] __attribute__((aligned(64)));
        for (int64_t first_inner = 0; first_inner < 512; first_inner += 128) {
            const int64_t n_inner = 512 - first_inner < 128 ? 512 - first_inner : 128;
            const float *left_rows;
            {
                const int64_t v0 = first_row, v1 = first_inner;
                left_rows = b0 + 512 * v0 + v1;
            }
            const float *right_columns;
            {
                const int64_t v2 = first_column, v1 = first_inner;
                right_columns = b1 + 1024 * v1 + v2;
            }
            const next_panel next = {first_inner + 128 < 512 ? (const char *)(right_columns + 131072)
                                     : first_column + 64 < 1024 ? (const char *)(right_columns + 64 - 1024 * first_inner) : 0,
                                     4096, 1};
            multiply_add(left_rows, 512, 1, right_columns, 1024, right, n_rows, n_inner, n_columns, sums, first_inner == 0, next.at != 0 ? &next : 0);
        }
        for (int64_t i = 0; i < n_rows; i++) {
            const int64_t v0 = first_row + i;
            const float *const r0 = sums + 64 * i;
            INDEPENDENT
            for (int64_t l = 0; l < n_columns; l++) {
                const int64_t v2 = first_column + l;
                b6[1024 * v0 + v2] = r0[l];
            }
        }
    }
    return 1;
}

/* %14 = sum f32[64, 1024], %17 = mul f32[64, 1024] */
_Bool kernel_1(void *const *buffers, int64_t first, int64_t last) {
    const float *const b0 = buffers[0];
    const float *const b2 = buffers[1];
    float *const b4 = buffers[2];
    const float *const b6 = buffers[3];
    for (int64_t task = first; task < last; task++) {
        const int64_t first_row = task / 16 % 1 * 64;
        const int64_t n_rows = 64 - first_row < 64 ? 64 - first_row : 64;
        const int64_t first_column = task % 16 * 64;
        const int64_t n_columns = 1024 - first_column < 64 ? 1024 - first_column : 64;
        float sums[4096] __attribute__((aligned(64)));
        float right[8192] __attribute__((aligned(64)));
        for (int64_t first_inner = 0; first_inner < 512; first_inner += 128) {
            const int64_t n_inner = 512 - first_inner < 128 ? 512 - first_inner : 128;
            const float *left_rows;
            {
                const int64_t v0 = first_row, v1 = first_inner;
                left_rows = b0 + 512 * v0 + v1;
            }
            const float *right_columns;
            {
                const int64_t v2 = first_column, v1 = first_inner;
                right_columns = b2 + 1024 * v1 + v2;
            }
            const next_panel next = {first_inner + 128 < 512 ? (const char *)(right_columns + 131072)
                                     : first_column + 64 < 1024 ? (const char *)(right_columns + 64 - 1024 * first_inner) : 0,
                                     4096, 1};
            multiply_add(left_rows, 512, 1, right_columns, 1024, right, n_rows, n_inner, n_columns, sums, first_inner == 0, next.at != 0 ? &next : 0);
        }
        for (int64_t i = 0; i < n_rows; i++) {
            const int64_t v0 = first_row + i;
            const float *const r0 = sums + 64 * i;
            INDEPENDENT
            for (int64_t l = 0; l < n_columns; l++) {
                const int64_t v2 = first_column + l;
                const float t4 = b6[1024 * v0 + v2];
                const float t5 = sigmoid_f32(t4);
                const float t6 = t4 * t5;
                const float t7 = t6 * r0[l];
                b4[1024 * v0 + v2] = t7;
            }
        }
    }
    return 1;
}

/* %25 = sum f32[64, 512] */
_Bool kernel_2(void *const *buffers, int64_t first, int64_t last) {
    const float *const b3 = buffers[0];
    const float *const b4 = buffers[1];
    float *const b5 = buffers[2];
    for (int64_t task = first; task < last; task++) {
        const int64_t first_row = task / 8 % 1 * 64;
        const int64_t n_rows = 64 - first_row < 64 ? 64 - first_row : 64;
        const int64_t first_column = task % 8 * 64;
        const int64_t n_columns = 512 - first_column < 64 ? 512 - first_column : 64;
        float sums[4096] __attribute__((aligned(64)));
        float right[8192] __attribute__((aligned(64)));
        for (int64_t first_inner = 0; first_inner < 1024; first_inner += 128) {
            const int64_t n_inner = 1024 - first_inner < 128 ? 1024 - first_inner : 128;
            const float *left_rows;
            {
                const int64_t v0 = first_row, v1 = first_inner;
                left_rows = b4 + 1024 * v0 + v1;
            }
            const float *right_columns;
            {
                const int64_t v2 = first_column, v1 = first_inner;
                right_columns = b3 + 512 * v1 + v2;
            }
            const next_panel next = {first_inner + 128 < 1024 ? (const char *)(right_columns + 65536)
                                     : first_column + 64 < 512 ? (const char *)(right_columns + 64 - 512 * first_inner) : 0,
                                     2048, 1};
            multiply_add(left_rows, 1024, 1, right_columns, 512, right, n_rows, n_inner, n_columns, sums, first_inner == 0, next.at != 0 ? &next : 0);
        }
        for (int64_t i = 0; i < n_rows; i++) {
            const int64_t v0 = first_row + i;
            const float *const r0 = sums + 64 * i;
            INDEPENDENT
            for (int64_t l = 0; l < n_columns; l++) {
                const int64_t v2 = first_column + l;
                b5[512 * v0 + v2] = r0[l];
            }
        }
    }
    return 1;
}

