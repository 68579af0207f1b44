/* SPDX-License-Identifier: Apache-2.0 */
/* Copies without conversion, built once for each instruction set. Vectors are the compiler's generic ones: one source
   gives the widest registers that pay. */
#include "engine/kernels/cpu/isa/copy_loops.h"

#include "device/caches.h"
#include "engine/kernels/cpu/isa/copy_past.h"
#include "engine/kernels/cpu/isa/copy_strided.h"
#include "engine/kernels/cpu/isa/copy_tiles.h"
#include "engine/kernels/cpu/isa/stream.h"

#include <string.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

/* --- rows ---------------------------------------------------------------------------------------------------------- */

/* Up to 64 bytes in two loads that may overlap: no loop, no call. */
static inline void copy_short(char *dst, const char *src, size_t n) {
    uint64_t a, b;
    if (n >= 32) {
        char first[32], last[32];
        memcpy(first, src, 32);
        memcpy(last, src + n - 32, 32);
        memcpy(dst, first, 32);
        memcpy(dst + n - 32, last, 32);
    } else if (n >= 16) {
        char first[16], last[16];
        memcpy(first, src, 16);
        memcpy(last, src + n - 16, 16);
        memcpy(dst, first, 16);
        memcpy(dst + n - 16, last, 16);
    } else if (n >= 8) {
        memcpy(&a, src, 8);
        memcpy(&b, src + n - 8, 8);
        memcpy(dst, &a, 8);
        memcpy(dst + n - 8, &b, 8);
    } else {
        for (size_t i = 0; i < n; i++) {
            dst[i] = src[i];
        }
    }
}

/* Whole lines onto line boundaries of dst, by vectors: from a few lines on up to what L2 holds this beats memcpy, which
   turns to `rep movs` and then minds how the two sides are aligned (Zen 5: 4 KiB rows 1.2 times as fast, 2026-11). */
static inline void copy_long(char *dst, const char *src, size_t n) {
    size_t head = (size_t)(-(uintptr_t)dst & 63);
    copy_short(dst, src, 64);
    size_t i = head;
    for (; i + 64 <= n; i += 64) {
        memcpy(dst + i, src + i, 64);
    }
    copy_short(dst + n - 64, src + n - 64, 64);
}

static inline void copy_rows_of(char *dst, const char *src, size_t row_bytes, int64_t n, ptrdiff_t ds, ptrdiff_t ss) {
    for (int64_t i = 0; i < n; i++) {
        memcpy(dst + i * ds, src + i * ss, row_bytes);
    }
}

static void rows(char *dst, const char *src, size_t row_bytes, int64_t n, ptrdiff_t ds, ptrdiff_t ss) {
    switch (row_bytes) { /* a constant size turns the call of memcpy into loads and stores */
    case 4:
        copy_rows_of(dst, src, 4, n, ds, ss);
        return;
    case 8:
        copy_rows_of(dst, src, 8, n, ds, ss);
        return;
    case 16:
        copy_rows_of(dst, src, 16, n, ds, ss);
        return;
    case 32:
        copy_rows_of(dst, src, 32, n, ds, ss);
        return;
    case 64:
        copy_rows_of(dst, src, 64, n, ds, ss);
        return;
    case 128:
        copy_rows_of(dst, src, 128, n, ds, ss);
        return;
    case 256:
        copy_rows_of(dst, src, 256, n, ds, ss);
        return;
    default:
        break;
    }
    for (int64_t i = 0; i < n; i++) {
        if (row_bytes <= 64) {
            copy_short(dst + i * ds, src + i * ss, row_bytes);
        } else {
            copy_long(dst + i * ds, src + i * ss, row_bytes);
        }
    }
}

/* --- fill ---------------------------------------------------------------------------------------------------------- */

#if defined(__x86_64__)
/* Bytes up to the next 64-byte line of dst. */
static size_t bytes_to_line(const char *dst) {
    return (size_t)(-(uintptr_t)dst & 63);
}
#endif

/* The value repeats every 16 bytes, so that bytes at any multiple of the element size continue it. */
static void fill_plain(char *dst, const char value[16], size_t n_bytes) {
    char line[64];
    for (int k = 0; k < 64; k += 16) {
        memcpy(line + k, value, 16);
    }
    size_t i = 0;
    for (; i + 64 <= n_bytes; i += 64) {
        memcpy(dst + i, line, 64);
    }
    memcpy(dst + i, line, n_bytes - i);
}

#if defined(__x86_64__)
/* Fills whole lines by one instruction, and answers how many bytes: none where the value has a period of 16. On Zen 4 it writes 30 GB/s
   where stores past the caches write 28, and as much as they do where memory is faster; on a Zen 5 34, and stores 43; not tried on Intel's.
   Of zeros stores past the caches write 60 to 100 GB/s, the instruction no more than of others. */
static size_t fill_words(char *dst, const char value[16], size_t n_bytes) {
    uint64_t word;
    memcpy(&word, value, sizeof word);
    bool has = word != 0 && memcmp(value, value + 8, 8) == 0 && !cpu_asks_along();
    size_t bytes = has ? n_bytes / 64 * 64 : 0, words = bytes / 8;
    __asm__ volatile("rep stosq" : "+D"(dst), "+c"(words) : "a"(word) : "memory");
    return bytes;
}
#endif

static void fill_streaming(char *dst, const char value[16], size_t n_bytes) {
#if defined(__x86_64__)
    size_t head = bytes_to_line(dst);
    if (head > n_bytes) {
        head = n_bytes;
    }
    fill_plain(dst, value, head);
    char line[64 + 16];
    fill_plain(line, value, sizeof line);
    const char *turned = line + head % 16; /* where the value stands in its period behind the head */
    size_t i = head + fill_words(dst + head, turned, n_bytes - head);
#if defined(__AVX512F__)
    __m512i v = _mm512_loadu_si512(turned);
    for (; i + 64 <= n_bytes; i += 64) {
        _mm512_stream_si512((void *)(dst + i), v);
    }
#else
    __m128i v = _mm_loadu_si128((const __m128i *)(const void *)turned);
    for (; i + 64 <= n_bytes; i += 64) {
        for (int k = 0; k < 4; k++) {
            _mm_stream_si128((__m128i *)(void *)(dst + i + 16 * k), v);
        }
    }
#endif
    memcpy(dst + i, turned, n_bytes - i);
#else
    fill_plain(dst, value, n_bytes);
#endif
}

static void fill(char *dst, const char value[16], int log2, int64_t n, int streaming) {
    size_t n_bytes = (size_t)n << log2;
    int same = 1;
    for (int i = 1; i < 16; i++) {
        same = same && value[i] == value[0];
    }
    if (streaming) {
        fill_streaming(dst, value, n_bytes);
    } else if (same) {
        memset(dst, value[0], n_bytes);
    } else {
        fill_plain(dst, value, n_bytes);
    }
}

static void strided(char *dst, const char *src, int log2, int64_t n, ptrdiff_t ds, ptrdiff_t ss) {
    if (ss == 0 && ds == (ptrdiff_t)1 << log2) {
        char value[16];
        for (int i = 0; i < 16; i += 1 << log2) {
            memcpy(value + i, src, (size_t)1 << log2);
        }
        fill(dst, value, log2, n, 0);
        return;
    }
    ptrdiff_t size = (ptrdiff_t)1 << log2;
    int64_t done = 0;
    if (log2 < 4 && ss == size && ds == 2 * size) {
        done = log2 == 0 ? spread(dst, src, 0, n) : log2 == 1 ? spread(dst, src, 1, n) : log2 == 2 ? spread(dst, src, 2, n) : spread(dst, src, 3, n);
    } else if (log2 < 4 && ds == size && ss == 2 * size) {
        done = log2 == 0   ? thin_out(dst, src, 0, n)
               : log2 == 1 ? thin_out(dst, src, 1, n)
               : log2 == 2 ? thin_out(dst, src, 2, n)
                           : thin_out(dst, src, 3, n);
    }
    dst += done * ds;
    src += done * ss;
    n -= done;
    switch (log2) {
    case 0:
        strided_8(dst, src, n, ds, ss);
        break;
    case 1:
        strided_16(dst, src, n, ds, ss);
        break;
    case 2:
        strided_32(dst, src, n, ds, ss);
        break;
    case 3:
        strided_64(dst, src, n, ds, ss);
        break;
    default:
        strided_128(dst, src, n, ds, ss);
        break;
    }
}

/* --- tiles --------------------------------------------------------------------------------------------------------- */

typedef void part_tile_fn(char *dst, const char *src, ptrdiff_t ds, ptrdiff_t ss, int rows, int columns);

/* What no whole tile fills, rows of src from `from` on of columns [j, end): by tiles that are not full, or single elements (part is NULL). */
static inline __attribute__((always_inline)) void turn_rest(part_tile_fn *part, int64_t edge, char *dst, const char *src, int log2, int64_t from,
                                                            int64_t ni, int64_t j, int64_t end, ptrdiff_t ds, ptrdiff_t ss) {
    ptrdiff_t size = (ptrdiff_t)1 << log2;
    for (int64_t i = from; HAS_PART_TILES && i < ni; i += edge) {
        int64_t rows = ni - i < edge ? ni - i : edge, columns = end - j;
        part(dst + i * size + j * ds, src + i * ss + j * size, ds, ss, (int)rows, (int)columns);
    }
    for (int64_t k = j; !HAS_PART_TILES && from < ni && k < end; k++) {
        strided(dst + from * size + k * ds, src + from * ss + k * size, log2, ni - from, size, ss);
    }
}

/* Tiles side by side, rows that do not fill one by tiles of half its edge (NULL: there are none), and the rest. Inlined with constant
   tiles and widths. */
static inline __attribute__((always_inline)) void turn(tile_fn *tile, int64_t edge, tile_fn *half, part_tile_fn *part, char *dst,
                                                       const char *src, int log2, int64_t ni, int64_t nj, ptrdiff_t ds, ptrdiff_t ss) {
    ptrdiff_t size = (ptrdiff_t)1 << log2;
    int64_t whole_i = ni / edge * edge, whole_j = nj / edge * edge;
    int64_t done = half != NULL && ni - whole_i >= edge / 2 ? whole_i + edge / 2 : whole_i;
    for (int64_t j = 0; j < whole_j; j += edge) {
        for (int64_t i = 0; i < whole_i; i += edge) {
            tile(dst + i * size + j * ds, src + i * ss + j * size, ds, ss, false);
        }
        if (half != NULL && done > whole_i) {
            half(dst + whole_i * size + j * ds, src + whole_i * ss + j * size, ds, ss, false);
            half(dst + whole_i * size + (j + edge / 2) * ds, src + whole_i * ss + (j + edge / 2) * size, ds, ss, false);
        }
        turn_rest(part, edge, dst, src, log2, done, ni, j, j + edge, ds, ss);
    }
    if (whole_j < nj) {
        turn_rest(part, edge, dst, src, log2, 0, ni, whole_j, nj, ds, ss);
    }
}

/* Four rows or columns of words, whose others lie densely: answers how many columns, or rows, are done. */
static int64_t turn_fours(char *dst, const char *src, int64_t ni, int64_t nj, ptrdiff_t ds, ptrdiff_t ss) {
    int64_t done = 0;
#if defined(__AVX512VL__) && defined(__AVX512BW__)
    enum { FOUR_WORDS = 16, EDGE = 16 };
    for (; ni == 4 && ds == FOUR_WORDS && done + EDGE <= nj; done += EDGE) {
        join_four(dst + done * ds, src + 4 * done, ss);
    }
    for (; nj == 4 && ni != 4 && ss == FOUR_WORDS && done + EDGE <= ni; done += EDGE) {
        part_four(dst + 4 * done, src + done * ss, ds);
    }
#else
    (void)dst, (void)src, (void)ni, (void)nj, (void)ds, (void)ss;
#endif
    return done;
}

static void turn_32(char *dst, const char *src, int64_t ni, int64_t nj, ptrdiff_t ds, ptrdiff_t ss) {
    int64_t done = turn_fours(dst, src, ni, nj, ds, ss), columns = ni == 4 ? done : 0, rows = done - columns;
    turn(tile_32, TILE_32, TILE_32_HALF, part_tile_32, dst + 4 * rows + columns * ds, src + rows * ss + 4 * columns, 2, ni - rows, nj - columns, ds, ss);
}

/* Three rows or columns whose others lie densely; false: these are not. */
static bool turn_threes(char *dst, const char *src, int log2, int64_t ni, int64_t nj, ptrdiff_t ds, ptrdiff_t ss) {
    typedef void three_fn(char *restrict dst, const char *src, int64_t n, ptrdiff_t stride);
    static three_fn *const join[] = {join_three_8, join_three_16, join_three_32, join_three_64};
    static three_fn *const part[] = {part_three_8, part_three_16, part_three_32, part_three_64};
    ptrdiff_t three = (ptrdiff_t)3 << log2;
    if (log2 < 4 && ni == 3 && ds == three) {
        join[log2](dst, src, nj, ss);
        return true;
    }
    if (log2 < 4 && nj == 3 && ss == three) {
        part[log2](dst, src, ni, ds);
        return true;
    }
    return false;
}

static void transpose(char *dst, const char *src, int log2, int64_t ni, int64_t nj, ptrdiff_t ds, ptrdiff_t ss) {
    if (turn_threes(dst, src, log2, ni, nj, ds, ss)) {
        return;
    }
    switch (log2) {
    case 0:
        turn(tile_8, 16, NULL, part_tile_8, dst, src, 0, ni, nj, ds, ss);
        break;
    case 1:
        turn(tile_16, TILE_16, NULL, part_tile_16, dst, src, 1, ni, nj, ds, ss);
        break;
    case 2:
        turn_32(dst, src, ni, nj, ds, ss);
        break;
    case 3:
        turn(tile_64, TILE_64, NULL, part_tile_64, dst, src, 3, ni, nj, ds, ss);
        break;
    default:
        for (int64_t j = 0; j < nj; j++) {
            strided_128(dst + j * ds, src + j * 16, ni, 16, ss);
        }
        break;
    }
}

/* --- past the caches ----------------------------------------------------------------------------------------------- */

/* stream_bytes, asking for what lies `ahead` bytes behind each line: the CPU reads ahead by itself within a page only, and from
   short rows that lie far apart not at all. What would lie behind the row is asked for `turn` bytes further on, in the row that comes next. */
static inline void stream_fetching(char *dst, const char *src, size_t n, ptrdiff_t ahead, ptrdiff_t turn) {
    size_t head = (size_t)(-(uintptr_t)dst & (STREAM_LINE - 1));
    head = head < n ? head : n;
    memcpy(dst, src, head);
    size_t at = head;
    for (; at + STREAM_LINE <= n; at += STREAM_LINE) {
        uintptr_t on = (ptrdiff_t)at + ahead < (ptrdiff_t)n ? 0 : (uintptr_t)turn;
        __builtin_prefetch((const char *)((uintptr_t)src + at + (uintptr_t)ahead + on)); /* it may lie outside */
        stream_line(dst + at, src + at);
    }
    memcpy(dst + at, src + at, n - at);
}

static void stream_rows(char *dst, const char *src, size_t row_bytes, int64_t n, ptrdiff_t ds, ptrdiff_t ss) {
    enum { ROWS_AHEAD = 16, BYTES_AHEAD = 2048 };
    const bool is_near = ss == (ptrdiff_t)row_bytes || row_bytes > BYTES_AHEAD;
    ptrdiff_t ahead = is_near ? BYTES_AHEAD : ROWS_AHEAD * ss, turn = is_near ? ss - (ptrdiff_t)row_bytes : 0;
    for (int64_t i = 0; i < n; i++) {
        stream_fetching(dst + i * ds, src + i * ss, row_bytes, ahead, turn);
    }
}

/* Some columns at a time, turned round in L1. */
static void stream_across(const turn_across *s) {
    enum { COLUMNS = 16, PITCH = TURN_MOST_BYTES + STREAM_LINE };
    _Alignas(STREAM_LINE) char made[STREAM_LINE + COLUMNS * PITCH]; /* the first line is read with what comes behind it */
    for (int64_t j = 0; j < s->columns; j += COLUMNS) {
        int64_t n = s->columns - j < COLUMNS ? s->columns - j : COLUMNS, run = n << s->log2;
        for (int64_t i = 0; s->soon != NULL && i < s->rows; i++) {
            for (int64_t at = 0; at < run; at += STREAM_LINE) { /* it may lie outside */
                __builtin_prefetch((const char *)((uintptr_t)s->soon + (uintptr_t)(i * s->from_stride + (j << s->log2) + at)), 0, 2);
            }
        }
        transpose(made + STREAM_LINE, s->from + (j << s->log2), s->log2, s->rows, n, PITCH, s->from_stride);
        for (int64_t k = 0; k < n; k++) {
            store_across(s, j + k, made + STREAM_LINE + k * PITCH, s->rows << s->log2);
        }
    }
}

static void stream(char *dst, const char *src, size_t n_bytes) {
    stream_bytes(dst, src, n_bytes);
}

/* A line of which bytes [from, to) are kept. */
static inline void stream_some(char *dst, const char *src, size_t from, size_t to) {
    char line[STREAM_LINE] __attribute__((aligned(STREAM_LINE))) = {0};
    memcpy(line + from, src + from, to - from);
    stream_line(dst, line);
}

static void stream_part(char *dst, const char *src, size_t from, size_t to, size_t n_bytes, ptrdiff_t ahead) {
    static const char none[STREAM_LINE] __attribute__((aligned(STREAM_LINE)));
    const size_t end = to / STREAM_LINE * STREAM_LINE;
    size_t at = 0;
    for (; at + STREAM_LINE <= from; at += STREAM_LINE) {
        stream_line(dst + at, none);
    }
    if (at < from) { /* the first line that has some, which may be the last */
        size_t last = to < at + STREAM_LINE ? to - at : STREAM_LINE;
        stream_some(dst + at, src + at, from - at, last);
        at += STREAM_LINE;
    }
    for (; at < end; at += STREAM_LINE) {
        __builtin_prefetch((const char *)((uintptr_t)src + at + (uintptr_t)ahead), 0, 2);
        stream_line(dst + at, src + at);
    }
    if (at < to) {
        stream_some(dst + at, src + at, 0, to - at);
        at += STREAM_LINE;
    }
    for (; at < n_bytes; at += STREAM_LINE) {
        stream_line(dst + at, none);
    }
}

static void settle(void) {
    stream_settle();
}

const copy_loops ISA_SYMBOL(copy_loops) = {
    .rows = rows, .strided = strided, .transpose = transpose, .stream = stream, .stream_part = stream_part, .settle = settle,
    .stream_rows = stream_rows, .turns = turns, .stream_turned = stream_turned, .stream_across = stream_across, .fill = fill};
