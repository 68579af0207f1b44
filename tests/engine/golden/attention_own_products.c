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

/* exp(x) for x <= 0, as exp_negative_f32, where products are fused: ln 2 comes off in one step, which costs |x| / 400 ulp, and the
   polynomial has one term less (1.1e-7). 2 ulp. */
VECTOR_INLINE float exp_below_f32(float x) {
#if defined(__FMA__) || defined(__aarch64__)
    float clipped = x < EXP_LOWEST ? EXP_LOWEST : x;
    float shifted = fmaf(clipped, 0x1.715476p+0f, EXPONENT_MAGIC);
    float r = fmaf(shifted - EXPONENT_MAGIC, -0x1.62e43p-1f, clipped);
    float p = fmaf(0.008312501f, r, 0.04189033f);
    p = fmaf(p, r, 0.16667116f);
    p = fmaf(p, r, 0.4999923f);
    p = fmaf(p, r, 1.0f);
    return fmaf(p, r, 1.0f) * exp_scale(shifted);
#else
    return exp_negative_f32(x);
#endif
}

#if (defined(__clang__) || __GNUC__ >= 12) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define HAS_SHUFFLE 1
#define SHUFFLE_LOW(a, b) __builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23)
#define SHUFFLE_HIGH(a, b) __builtin_shufflevector(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31)
#define SHUFFLE_LOW_8(a, b) __builtin_shufflevector(a, b, 0, 8, 1, 9, 2, 10, 3, 11)
#define SHUFFLE_HIGH_8(a, b) __builtin_shufflevector(a, b, 4, 12, 5, 13, 6, 14, 7, 15)
#else
#define HAS_SHUFFLE 0
#define SHUFFLE_LOW(a, b) (a)
#define SHUFFLE_HIGH(a, b) (b)
#define SHUFFLE_LOW_8(a, b) (a)
#define SHUFFLE_HIGH_8(a, b) (b)
#endif

/* Sixteen rows of sixteen, turned round: rows i and i + 8 interleaved make rows 2 i and 2 i + 1, and four times that has turned
   them. */
VECTOR_INLINE void turn_tile_32(void *into, int64_t into_stride, const void *of, int64_t stride) {
    typedef uint32_t row __attribute__((vector_size(64), aligned(1), may_alias));
    row a[16], b[16];
#pragma GCC unroll 16
    for (int i = 0; i < 16; i++) {
        a[i] = *(const row *)((const uint32_t *)of + i * stride);
    }
#pragma GCC unroll 2
    for (int twice = 0; twice < 2; twice++) {
#pragma GCC unroll 8
        for (int i = 0; i < 8; i++) {
            b[2 * i] = SHUFFLE_LOW(a[i], a[i + 8]);
            b[2 * i + 1] = SHUFFLE_HIGH(a[i], a[i + 8]);
        }
#pragma GCC unroll 8
        for (int i = 0; i < 8; i++) {
            a[2 * i] = SHUFFLE_LOW(b[i], b[i + 8]);
            a[2 * i + 1] = SHUFFLE_HIGH(b[i], b[i + 8]);
        }
    }
#pragma GCC unroll 16
    for (int i = 0; i < 16; i++) {
        *(row *)((uint32_t *)into + i * into_stride) = a[i];
    }
}

VECTOR_INLINE void turn_tile_16(void *into, int64_t into_stride, const void *of, int64_t stride) {
    typedef uint16_t row __attribute__((vector_size(32), aligned(2), may_alias));
    row a[16], b[16];
#pragma GCC unroll 16
    for (int i = 0; i < 16; i++) {
        a[i] = *(const row *)((const uint16_t *)of + i * stride);
    }
#pragma GCC unroll 2
    for (int twice = 0; twice < 2; twice++) {
#pragma GCC unroll 8
        for (int i = 0; i < 8; i++) {
            b[2 * i] = SHUFFLE_LOW(a[i], a[i + 8]);
            b[2 * i + 1] = SHUFFLE_HIGH(a[i], a[i + 8]);
        }
#pragma GCC unroll 8
        for (int i = 0; i < 8; i++) {
            a[2 * i] = SHUFFLE_LOW(b[i], b[i + 8]);
            a[2 * i + 1] = SHUFFLE_HIGH(b[i], b[i + 8]);
        }
    }
#pragma GCC unroll 16
    for (int i = 0; i < 16; i++) {
        *(row *)((uint16_t *)into + i * into_stride) = a[i];
    }
}

/* Thirty-two rows of as many elements of two bytes: words of two neighbours are turned round, those of even rows and those of odd
   ones, and then a word of each makes one of two first elements and one of two second ones. */
VECTOR_INLINE void turn_tile_halves(void *into, int64_t into_stride, const void *of, int64_t stride) {
    typedef uint32_t row __attribute__((vector_size(64), aligned(1), may_alias));
    _Alignas(64) uint32_t even[16][16], odd[16][16];
    turn_tile_32(even, 16, of, stride);
    turn_tile_32(odd, 16, (const char *)of + 2 * stride, stride);
    for (int i = 0; i < 16; i++) {
        const row a = *(const row *)even[i], b = *(const row *)odd[i];
        char *to = (char *)into + 4 * i * into_stride;
        *(row *)to = (a & 0xffffu) | (b << 16);
        *(row *)(to + 2 * into_stride) = (a >> 16) | (b & 0xffff0000u);
    }
}

/* Sixty-four rows of as many bytes, by words of four. */
VECTOR_INLINE void turn_tile_bytes(void *into, int64_t into_stride, const void *of, int64_t stride) {
    typedef uint32_t row __attribute__((vector_size(64), aligned(1), may_alias));
    _Alignas(64) uint32_t words[4][16][16];
    for (int k = 0; k < 4; k++) {
        turn_tile_32(words[k], 16, (const char *)of + k * stride, stride);
    }
    for (int i = 0; i < 16; i++) {
        const row a = *(const row *)words[0][i], b = *(const row *)words[1][i];
        const row c = *(const row *)words[2][i], d = *(const row *)words[3][i];
        const row a0 = (a & 0xffffu) | (c << 16), a1 = (a >> 16) | (c & 0xffff0000u);
        const row b0 = (b & 0xffffu) | (d << 16), b1 = (b >> 16) | (d & 0xffff0000u);
        char *to = (char *)into + 4 * i * into_stride;
        *(row *)to = (a0 & 0xff00ffu) | (b0 & 0xff00ffu) << 8;
        *(row *)(to + into_stride) = (a0 >> 8 & 0xff00ffu) | (b0 & 0xff00ff00u);
        *(row *)(to + 2 * into_stride) = (a1 & 0xff00ffu) | (b1 & 0xff00ffu) << 8;
        *(row *)(to + 3 * into_stride) = (a1 >> 8 & 0xff00ffu) | (b1 & 0xff00ff00u);
    }
}

/* Eight of eight, three times. */
VECTOR_INLINE void turn_tile_64(void *into, int64_t into_stride, const void *of, int64_t stride) {
    typedef uint64_t row __attribute__((vector_size(64), aligned(4), may_alias));
    row a[8], b[8];
#pragma GCC unroll 8
    for (int i = 0; i < 8; i++) {
        a[i] = *(const row *)((const uint64_t *)of + i * stride);
    }
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++) {
        b[2 * i] = SHUFFLE_LOW_8(a[i], a[i + 4]);
        b[2 * i + 1] = SHUFFLE_HIGH_8(a[i], a[i + 4]);
    }
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++) {
        a[2 * i] = SHUFFLE_LOW_8(b[i], b[i + 4]);
        a[2 * i + 1] = SHUFFLE_HIGH_8(b[i], b[i + 4]);
    }
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++) {
        b[2 * i] = SHUFFLE_LOW_8(a[i], a[i + 4]);
        b[2 * i + 1] = SHUFFLE_HIGH_8(a[i], a[i + 4]);
    }
#pragma GCC unroll 8
    for (int i = 0; i < 8; i++) {
        *(row *)((uint64_t *)into + i * into_stride) = b[i];
    }
}

/* A square of elements of so many bytes. */
VECTOR_INLINE void turn_tile(void *into, int64_t into_stride, const void *of, int64_t stride, int64_t size_bytes, int64_t edge) {
    if (size_bytes == 8) {
        turn_tile_64(into, into_stride, of, stride);
    } else if (size_bytes == 4) {
        turn_tile_32(into, into_stride, of, stride);
    } else if (size_bytes == 2 && edge == 16) {
        turn_tile_16(into, into_stride, of, stride);
    } else if (size_bytes == 2) {
        turn_tile_halves(into, into_stride, of, stride);
    } else {
        turn_tile_bytes(into, into_stride, of, stride);
    }
}

/* Of squares that fit. */
VECTOR_INLINE int64_t turn_edge(int64_t n_across, int64_t n_lanes, int64_t size_bytes) {
    return size_bytes == 2 && (n_across < 32 || n_lanes < 32) ? 16 : 64 / size_bytes;
}

/* What runs across the lanes in memory, turned round: into[v * into_stride + l] = of[l * stride + v], elements of so many bytes.
   Whole squares; the last ones overlap those before. */
VECTOR_INLINE void turn_round(void *into, int64_t into_stride, const void *of, int64_t stride, int64_t n_across, int64_t n_lanes,
                              int64_t size_bytes) {
    char *to = into;
    const char *from = of;
    const int64_t edge = turn_edge(n_across, n_lanes, size_bytes);
    if (HAS_SHUFFLE && n_across >= edge && n_lanes >= edge) {
        for (int64_t lane = 0; lane < n_lanes; lane += edge) {
            const int64_t l = lane + edge <= n_lanes ? lane : n_lanes - edge;
            for (int64_t part = 0; part < n_across; part += edge) {
                const int64_t v = part + edge <= n_across ? part : n_across - edge;
                turn_tile(to + (v * into_stride + l) * size_bytes, into_stride, from + (l * stride + v) * size_bytes, stride,
                          size_bytes, edge);
            }
        }
        return;
    }
    for (int64_t l = 0; l < n_lanes; l++) {
        for (int64_t v = 0; v < n_across; v++) {
            memcpy(to + (v * into_stride + l) * size_bytes, from + (l * stride + v) * size_bytes, size_bytes);
        }
    }
}

VECTOR_INLINE float sum_of_16_f32(const float *a) {
#if HAS_SHUFFLE
    typedef float eight __attribute__((vector_size(32), aligned(4), may_alias));
    eight x = *(const eight *)a + *(const eight *)(a + 8);
    x += __builtin_shufflevector(x, x, 4, 5, 6, 7, 0, 1, 2, 3);
    x += __builtin_shufflevector(x, x, 2, 3, 0, 1, 6, 7, 4, 5);
    x += __builtin_shufflevector(x, x, 1, 0, 3, 2, 5, 4, 7, 6);
    return x[0];
#else
    float x[8];
    for (int i = 0; i < 8; i++) {
        x[i] = a[i] + a[i + 8];
    }
    return ((x[0] + x[4]) + (x[2] + x[6])) + ((x[1] + x[5]) + (x[3] + x[7]));
#endif
}

typedef float eight_f32 __attribute__((vector_size(32), aligned(4), may_alias));
typedef int32_t eight_i32 __attribute__((vector_size(32)));
/* x where it is above y, else y. */
VECTOR_INLINE void keep_larger_f32(eight_f32 *x, const eight_f32 *y) {
    const eight_i32 keeps = *x > *y;
    *x = (eight_f32)(((eight_i32)*x & keeps) | ((eight_i32)*y & ~keeps));
}

/* Of numbers; a NaN has been looked for. */
VECTOR_INLINE float largest_of_16_f32(const float *a) {
#if HAS_SHUFFLE
    eight_f32 x = *(const eight_f32 *)a, y = *(const eight_f32 *)(a + 8);
    keep_larger_f32(&x, &y);
    y = __builtin_shufflevector(x, x, 4, 5, 6, 7, 0, 1, 2, 3);
    keep_larger_f32(&x, &y);
    y = __builtin_shufflevector(x, x, 2, 3, 0, 1, 6, 7, 4, 5);
    keep_larger_f32(&x, &y);
    y = __builtin_shufflevector(x, x, 1, 0, 3, 2, 5, 4, 7, 6);
    keep_larger_f32(&x, &y);
    return x[0];
#else
    float x = a[0];
    for (int i = 1; i < 16; i++) {
        x = x > a[i] ? x : a[i];
    }
    return x;
#endif
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

/* %12 = sum f32[48, 128, 128] */
_Bool kernel_0(void *const *buffers, int64_t first, int64_t last) {
    const float *const b0 = buffers[0];
    const float *const b1 = buffers[1];
    float *const b7 = buffers[2];
    for (int64_t task = first; task < last; task++) {
        const int64_t first_row = task / 2 % 1 * 128;
        const int64_t n_rows = 128 - first_row < 128 ? 128 - first_row : 128;
        const int64_t first_column = task % 2 * 64;
        const int64_t n_columns = 128 - first_column < 64 ? 128 - first_column : 64;
        const int64_t v1 = task / 2 % 6;
        const int64_t v0 = task / 12 % 8;
        float sums[8192] __attribute__((aligned(64)));
        float right[8192] __attribute__((aligned(64)));
        for (int64_t first_inner = 0; first_inner < 64; first_inner += 128) {
            const int64_t n_inner = 64 - first_inner < 128 ? 64 - first_inner : 128;
            const float *left_rows;
            {
                const int64_t v2 = first_row, v4 = first_inner;
                left_rows = b0 + 49152 * v0 + 64 * v1 + 384 * v2 + v4;
            }
            const float *right_columns;
            {
                const int64_t v3 = first_column, v4 = first_inner;
                right_columns = b1 + 49152 * v0 + 64 * v1 + 384 * v3 + v4;
            }
            turn_round(right, 64, right_columns, 384, n_inner, n_columns, 4);
            const next_panel next = {first_inner + 128 < 64 ? (const char *)(right_columns + 128)
                                     : first_column + 64 < 128 ? (const char *)(right_columns + 24576 - 1 * first_inner) : 0,
                                     1536, 2};
            multiply_add(left_rows, 384, 1, 0, 0, right, n_rows, n_inner, n_columns, sums, first_inner == 0, next.at != 0 ? &next : 0);
        }
        for (int64_t i = 0; i < n_rows; i++) {
            const int64_t v2 = first_row + i;
            const float *const r0 = sums + 64 * i;
            INDEPENDENT
            for (int64_t l = 0; l < n_columns; l++) {
                const int64_t v3 = first_column + l;
                b7[98304 * v0 + 16384 * v1 + 128 * v2 + v3] = r0[l];
            }
        }
    }
    return 1;
}

/* %22 = max f32[8, 6, 128], %27 = sum f32[8, 6, 128], %31 = mul f32[8, 6, 128, 128] */
_Bool kernel_1(void *const *buffers, int64_t first, int64_t last) {
    const double *const b3 = buffers[0];
    const float *const b4 = buffers[1];
    float *const b6 = buffers[2];
    const float *const b7 = buffers[3];
    float saved8[128];
    if (first < 0) {
        __builtin_unreachable();
    }
    for (int64_t task = first; task < last; task++) {
        const int64_t v0 = task / 768;
        const int64_t v1 = task % 768;
        const double t1 = b3[0];
        const float t2 = (float)(t1);
        float a0[64];
        for (int64_t l = 0; l < 64; l++) {
            a0[l] = -__builtin_inf();
        }
        for (int64_t lane = 0; lane < 128; lane += 64) {
            INDEPENDENT
            for (int64_t l = 0; l < 64; l++) {
                const int64_t v2 = lane + l;
                const float t0 = b7[98304 * v0 + 128 * v1 + v2];
                const float t3 = t0 / t2;
                const float t4 = b4[128 * v0 + v2];
                const float t5 = t3 + t4;
                a0[l] = ((t5 > a0[l]) | (t5 != t5)) ? t5 : a0[l];
            }
        }
        uint32_t nan0 = 0;
        for (int64_t l = 0; l < 64; l++) {
            nan0 |= a0[l] != a0[l];
        }
        for (int64_t l = 0; l < 32; l++) {
            a0[l] = a0[l] > a0[l + 32] ? a0[l] : a0[l + 32];
        }
        for (int64_t l = 0; l < 16; l++) {
            a0[l] = a0[l] > a0[l + 16] ? a0[l] : a0[l + 16];
        }
        const float a0_1_0 = largest_of_16_f32(a0);
        const float r0 = nan0 ? __builtin_nan("") : a0_1_0;
        float a1[64];
        for (int64_t l = 0; l < 64; l++) {
            a1[l] = 0;
        }
        for (int64_t lane = 0; lane < 128; lane += 64) {
            INDEPENDENT
            for (int64_t l = 0; l < 64; l++) {
                const int64_t v2 = lane + l;
                const float t0 = b7[98304 * v0 + 128 * v1 + v2];
                const float t3 = t0 / t2;
                const float t4 = b4[128 * v0 + v2];
                const float t5 = t3 + t4;
                const float t7 = t5 - r0;
                const float t8 = exp_below_f32(t7);
                saved8[v2] = t8;
                a1[l] += t8;
            }
        }
        for (int64_t l = 0; l < 32; l++) {
            a1[l] = a1[l] + a1[l + 32];
        }
        for (int64_t l = 0; l < 16; l++) {
            a1[l] = a1[l] + a1[l + 16];
        }
        const float a1_1_0 = sum_of_16_f32(a1);
        const float r1 = a1_1_0;
        const float t11 = 1.0f / r1;
        for (int64_t lane = 0; lane < 128; lane += 64) {
            INDEPENDENT
            for (int64_t l = 0; l < 64; l++) {
                const int64_t v2 = lane + l;
                const float t8 = saved8[v2];
                const float t12 = t8 * t11;
                b6[98304 * v0 + 128 * v1 + v2] = t12;
            }
        }
    }
    return 1;
}

/* %39 = sum f32[48, 128, 64] */
_Bool kernel_2(void *const *buffers, int64_t first, int64_t last) {
    const float *const b2 = buffers[0];
    const float *const b6 = buffers[1];
    float *const b10 = buffers[2];
    for (int64_t task = first; task < last; task++) {
        const int64_t first_row = task / 1 % 1 * 128;
        const int64_t n_rows = 128 - first_row < 128 ? 128 - first_row : 128;
        const int64_t first_column = task % 1 * 64;
        const int64_t n_columns = 64 - first_column < 64 ? 64 - first_column : 64;
        const int64_t v1 = task / 1 % 6;
        const int64_t v0 = task / 6 % 8;
        float sums[8192] __attribute__((aligned(64)));
        float right[8192] __attribute__((aligned(64)));
        for (int64_t first_inner = 0; first_inner < 128; first_inner += 128) {
            const int64_t n_inner = 128 - first_inner < 128 ? 128 - first_inner : 128;
            const float *left_rows;
            {
                const int64_t v3 = first_row, v2 = first_inner;
                left_rows = b6 + 98304 * v0 + 16384 * v1 + v2 + 128 * v3;
            }
            const float *right_columns;
            {
                const int64_t v4 = first_column, v2 = first_inner;
                right_columns = b2 + 49152 * v0 + 64 * v1 + 384 * v2 + v4;
            }
            const next_panel next = {first_inner + 128 < 128 ? (const char *)(right_columns + 49152)
                                     : first_column + 64 < 64 ? (const char *)(right_columns + 64 - 384 * first_inner) : 0,
                                     1536, 1};
            multiply_add(left_rows, 128, 1, right_columns, 384, right, n_rows, n_inner, n_columns, sums, first_inner == 0, next.at != 0 ? &next : 0);
        }
        for (int64_t i = 0; i < n_rows; i++) {
            const int64_t v3 = first_row + i;
            const float *const r0 = sums + 64 * i;
            INDEPENDENT
            for (int64_t l = 0; l < n_columns; l++) {
                const int64_t v4 = first_column + l;
                b10[49152 * v0 + 8192 * v1 + 64 * v3 + v4] = r0[l];
            }
        }
    }
    return 1;
}

/* %42 = view f32[8, 128, 384] */
_Bool kernel_3(void *const *buffers, int64_t first, int64_t last) {
    float *const b5 = buffers[0];
    const float *const b10 = buffers[1];
    if (first < 0) {
        __builtin_unreachable();
    }
    for (int64_t task = first; task < last; task++) {
        const int64_t v0 = task / 768;
        const int64_t v1 = task / 128 % 6;
        const int64_t v2 = task % 128;
        const int64_t first_lane = 64 * (task % 1);
        INDEPENDENT
        for (int64_t l = 0; l < 64; l++) {
            const int64_t v3 = first_lane + l;
            const float t0 = b10[49152 * v0 + 8192 * v1 + 64 * v2 + v3];
            b5[49152 * v0 + 64 * v1 + 384 * v2 + v3] = t0;
        }
    }
    return 1;
}

