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

#if defined(__AVX512F__)
#define BLOCK_LANES 16
#define BLOCK_VECTORS 4
#else
#define BLOCK_LANES 8
#define BLOCK_VECTORS 2
#endif
typedef float block_vector __attribute__((vector_size(4 * BLOCK_LANES), aligned(4), may_alias));

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

/* The shapes of the processor's tiles: eight of 64 bytes a row; the sums' (0 to 3) and the left factor's (4, 5) have so many rows,
   the right one's (6, 7) have 16. */
VECTOR_INLINE void shape_tiles(int64_t rows) {
#if defined(__AMX_BF16__)
    uint8_t shape[64] = {1};
    for (int t = 0; t < 8; t++) {
        shape[16 + 2 * t] = 64;
        shape[48 + t] = (uint8_t)(t < 6 ? rows : 16);
    }
    __asm__ volatile("ldtilecfg %0" : : "m"(shape));
#else
    (void)rows;
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
    shape_tiles(16);
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
            shape_tiles(rest);
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


/* %4 = sum f32[128], %21 = cast bf16[128, 1024] */
_Bool kernel_0(void *const *buffers, int64_t first, int64_t last) {
    const uint16_t *const b0 = buffers[0];
    const uint16_t *const b1 = buffers[1];
    uint16_t *const b3 = buffers[2];
    for (int64_t task = first; task < last; task++) {
        const int64_t v0 = task;
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
        const float a0_1_0 = sum_of_16_f32(a0);
        const float r0 = a0_1_0;
        const float t6 = r0 * 0.0009765625f;
        const float t8 = t6 + 9.999999974752427e-07f;
        const float t9 = __builtin_sqrtf(t8);
        const float t10 = 1.0f / t9;
        for (int64_t lane = 0; lane < 1024; lane += 64) {
            INDEPENDENT
            for (int64_t l = 0; l < 64; l++) {
                const int64_t v1 = lane + l;
                const uint16_t t0 = b0[1024 * v0 + v1];
                const float t1 = f32_of_bf16(t0);
                const float t11 = t1 * t10;
                const uint16_t t12 = b1[v1];
                const float t13 = f32_of_bf16(t12);
                const float t14 = t11 * t13;
                const uint16_t t15 = bf16_of_f32(t14);
                b3[1024 * v0 + v1] = t15;
            }
        }
    }
    return 1;
}

/* %31 = sum f32[128, 1024], %32 = cast bf16[128, 1024] */
_Bool kernel_1(void *const *buffers, int64_t first, int64_t last) {
    const uint16_t *const b2 = buffers[0];
    const uint16_t *const b3 = buffers[1];
    uint16_t *const b4 = buffers[2];
    for (int64_t task = first; task < last; task++) {
        const int64_t first_row = task / 16 % 1 * 128;
        const int64_t n_rows = 128 - first_row < 128 ? 128 - first_row : 128;
        const int64_t first_column = task % 16 * 64;
        const int64_t n_columns = 1024 - first_column < 64 ? 1024 - first_column : 64;
        float sums[8192] __attribute__((aligned(64)));
        uint32_t right[8192] __attribute__((aligned(64)));
        for (int64_t first_inner = 0; first_inner < 1024; first_inner += 256) {
            const int64_t n_inner = 1024 - first_inner < 256 ? 1024 - first_inner : 256;
            const uint16_t *left_rows;
            {
                const int64_t v0 = first_row, v2 = first_inner;
                left_rows = b3 + 1024 * v0 + v2;
            }
            const uint16_t *right_columns;
            {
                const int64_t v1 = first_column, v2 = first_inner;
                right_columns = b2 + 1024 * v1 + v2;
            }
            turn_round(right, 64, right_columns, 512, n_inner / 2, n_columns, 4);
            multiply_tiles(left_rows, 1024, right, n_rows, n_inner, n_columns, sums, first_inner == 0);
        }
        for (int64_t i = 0; i < n_rows; i++) {
            const int64_t v0 = first_row + i;
            const float *const r0 = sums + 64 * i;
            INDEPENDENT
            for (int64_t l = 0; l < n_columns; l++) {
                const int64_t v1 = first_column + l;
                const uint16_t t6 = bf16_of_f32(r0[l]);
                b4[1024 * v0 + v1] = t6;
            }
        }
    }
    return 1;
}

