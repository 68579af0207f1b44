/* SPDX-License-Identifier: Apache-2.0 */
/* A template, like prelude.h: what emitted kernels turn round in registers. */

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

/* Squares that are not full are worth it where a row of one fits a register. */
#if defined(__AVX512F__)
#define HAS_NARROW_TURNS HAS_SHUFFLE
#else
#define HAS_NARROW_TURNS 0
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

/* The same of fewer lanes than a square has, but half as many or more: rows of results are stored as two halves, which overlap. */
VECTOR_INLINE void turn_narrow(void *into, int64_t into_stride, const void *of, int64_t stride, int64_t n_across, int64_t n_lanes,
                               int64_t size_bytes, int64_t edge) {
    _Alignas(64) char rows[1024] = {0}, made[1024];
    const int64_t row_bytes = edge * size_bytes, half = row_bytes / 2, second = n_lanes * size_bytes - half;
    for (int64_t part = 0; part < n_across; part += edge) {
        const int64_t v = part + edge <= n_across ? part : n_across - edge;
        for (int64_t l = 0; l < n_lanes; l++) {
            memcpy(rows + l * row_bytes, (const char *)of + (l * stride + v) * size_bytes, row_bytes);
        }
        turn_tile(made, edge, rows, edge, size_bytes, edge);
        for (int64_t i = 0; i < edge; i++) {
            char *to = (char *)into + (v + i) * into_stride * size_bytes;
            memcpy(to, made + i * row_bytes, half);
            memcpy(to + second, made + i * row_bytes + second, half);
        }
    }
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

/* The same where a whole square may lie across and lanes may be few. */
VECTOR_INLINE void turn_round_few(void *into, int64_t into_stride, const void *of, int64_t stride, int64_t n_across, int64_t n_lanes,
                                  int64_t size_bytes) {
    const int64_t edge = turn_edge(n_across, n_lanes, size_bytes);
    const _Bool is_narrow = HAS_NARROW_TURNS && edge <= 16 && n_across >= edge && n_lanes < edge && 2 * n_lanes >= edge;
    if (is_narrow && edge == 16) { /* of a number that is known, copies are a move each */
        turn_narrow(into, into_stride, of, stride, n_across, n_lanes, size_bytes, 16);
    } else if (is_narrow) {
        turn_narrow(into, into_stride, of, stride, n_across, n_lanes, size_bytes, 8);
    } else {
        turn_round(into, into_stride, of, stride, n_across, n_lanes, size_bytes);
    }
}

/* Asks for a line of each of `edge` rows, so many bytes on: the one that comes next but one, or the next or far ahead, to wait in L2. */
VECTOR_INLINE void fetch_rows(const char *source, int64_t row_bytes, int64_t edge, int64_t ahead) {
    for (int64_t l = 0; l < edge; l++) {
        const char *next = source + l * row_bytes + ahead;
        if (ahead != 128) {
            __builtin_prefetch(next, 0, 2);
        } else {
            __builtin_prefetch(next);
        }
    }
}

/* The same of two lines of memory of each of some rows, while others are asked for, so many bytes on. Rows are read to their ends so:
   where they lie far apart, the CPU does not see the next one coming. */
VECTOR_INLINE void turn_lines(void *into, int64_t into_stride, const void *of, int64_t stride, int64_t n_across, int64_t n_lanes,
                              int64_t size_bytes, int64_t ahead) {
    const int64_t edge = 64 / size_bytes;
    if (!HAS_SHUFFLE || n_across % edge != 0 || n_lanes % edge != 0) {
        turn_round(into, into_stride, of, stride, n_across, n_lanes, size_bytes);
        return;
    }
    for (int64_t v = 0; v < n_across; v += edge) {
        for (int64_t lane = 0; lane < n_lanes; lane += edge) {
            const char *source = (const char *)of + (lane * stride + v) * size_bytes;
            fetch_rows(source, stride * size_bytes, edge, ahead);
            turn_tile((char *)into + (v * into_stride + lane) * size_bytes, into_stride, source, stride, size_bytes, edge);
        }
    }
}

/* The same past the caches, a line as soon as it is made: of all lanes put together first, clones of [8192, 4096] floats that lie across
   take 6.4 ms and so 5.8, on quicker memory 5.1 and 3.9 (two cores of a Zen 5, 2026-11). */
VECTOR_INLINE void turn_lines_past(void *into, int64_t into_stride, const void *of, int64_t stride, int64_t n_across, int64_t n_lanes,
                                   int64_t size_bytes, int64_t ahead) {
    const int64_t edge = 64 / size_bytes;
    if (!HAS_SHUFFLE || n_across % edge != 0 || n_lanes % edge != 0) {
        turn_round(into, into_stride, of, stride, n_across, n_lanes, size_bytes);
        return;
    }
    for (int64_t lane = 0; lane < n_lanes; lane += edge) {
        for (int64_t v = 0; v < n_across; v += edge) {
            const char *source = (const char *)of + (lane * stride + v) * size_bytes;
            _Alignas(64) char made[64 * 64];
            fetch_rows(source, stride * size_bytes, edge, ahead);
            turn_tile(made, edge, source, stride, size_bytes, edge);
            for (int64_t i = 0; i < edge; i++) {
                stream_lines((char *)into + ((v + i) * into_stride + lane) * size_bytes, made + 64 * i, 64);
            }
        }
    }
}
