/* SPDX-License-Identifier: Apache-2.0 */
/* Transforms for one real type. The includer defines REAL, COMPLEX_LOG2 (of a complex number's bytes), the
   shuffles that take complex numbers apart and join them, and NAMED(name); included once per type. */

typedef REAL NAMED(vec) __attribute__((vector_size(REGISTER_BYTES)));
enum { NAMED(VEC) = REGISTER_BYTES / sizeof(REAL) };

static inline NAMED(vec) NAMED(get)(const REAL *from) {
    NAMED(vec) v;
    memcpy(&v, from, sizeof v);
    return v;
}

static inline void NAMED(put)(REAL *to, NAMED(vec) v) {
    memcpy(to, &v, sizeof v);
}

/* n rows of w complex numbers, `stride` (complex) apart, to rows of `pitch` in two buffers. */
static void NAMED(part)(const REAL *x, int64_t n, int64_t stride, int64_t w, int64_t pitch, REAL *restrict re,
                        REAL *restrict im) {
    for (int64_t e = 0; e < n; e++, x += 2 * stride, re += pitch, im += pitch) {
        int64_t l = 0;
#if defined(__AVX512F__)
        for (; l + NAMED(VEC) <= w; l += NAMED(VEC)) {
            NAMED(vec) a = NAMED(get)(x + 2 * l), b = NAMED(get)(x + 2 * l + NAMED(VEC));
            NAMED(put)(re + l, __builtin_shufflevector(a, b, EVENS));
            NAMED(put)(im + l, __builtin_shufflevector(a, b, ODDS));
        }
#endif
        for (; l < w; l++) {
            re[l] = x[2 * l];
            im[l] = x[2 * l + 1];
        }
    }
}

static void NAMED(join)(REAL *restrict y, int64_t n, int64_t stride, int64_t w, int64_t pitch, const REAL *re, const REAL *im,
                        REAL by) {
    for (int64_t e = 0; e < n; e++, y += 2 * stride, re += pitch, im += pitch) {
        int64_t l = 0;
#if defined(__AVX512F__)
        for (; l + NAMED(VEC) <= w; l += NAMED(VEC)) {
            NAMED(vec) a = by * NAMED(get)(re + l), b = by * NAMED(get)(im + l);
            NAMED(put)(y + 2 * l, __builtin_shufflevector(a, b, JOINED_LOW));
            NAMED(put)(y + 2 * l + NAMED(VEC), __builtin_shufflevector(a, b, JOINED_HIGH));
        }
#endif
        for (; l < w; l++) {
            y[2 * l] = by * re[l];
            y[2 * l + 1] = by * im[l];
        }
    }
}

#if defined(__AVX512F__)
/* A register's four quarters have as many numbers as QUARTER; VEC lines make as many groups of four, a line of each quarter. */
enum { NAMED(QUARTER) = NAMED(VEC) / 4 };

/* Four quarters from places a step apart: loads and blends, where shuffles between quarters would wait for one port. */
static inline NAMED(vec) NAMED(quarters)(const REAL *x, int64_t step) {
    __m512 v = _mm512_castps128_ps512(_mm_loadu_ps((const float *)(const void *)x));
    v = _mm512_insertf32x4(v, _mm_loadu_ps((const float *)(const void *)(x + step)), 1);
    v = _mm512_insertf32x4(v, _mm_loadu_ps((const float *)(const void *)(x + 2 * step)), 2);
    return (NAMED(vec))_mm512_insertf32x4(v, _mm_loadu_ps((const float *)(const void *)(x + 3 * step)), 3);
}

/* QUARTER registers: number i of quarter q of register k becomes number k of quarter q of register i. */
static inline void NAMED(turn_quarters)(NAMED(vec) v[NAMED(QUARTER)]) {
    NAMED(vec) a = __builtin_shufflevector(v[0], v[1], QUARTER_LOW), b = __builtin_shufflevector(v[0], v[1], QUARTER_HIGH);
    if (NAMED(QUARTER) == 2) {
        v[0] = a;
        v[1] = b;
        return;
    }
    enum { TWO = NAMED(QUARTER) == 2 ? 0 : 2, THREE = NAMED(QUARTER) == 2 ? 1 : 3 };
    NAMED(vec) c = __builtin_shufflevector(v[TWO], v[THREE], QUARTER_LOW);
    NAMED(vec) d = __builtin_shufflevector(v[TWO], v[THREE], QUARTER_HIGH);
    v[0] = __builtin_shufflevector(a, c, PAIRS_LOW);
    v[1] = __builtin_shufflevector(a, c, PAIRS_HIGH);
    v[TWO] = __builtin_shufflevector(b, d, PAIRS_LOW);
    v[THREE] = __builtin_shufflevector(b, d, PAIRS_HIGH);
}

/* VEC lines, contiguous and lane_stride numbers apart, to rows of re and im. Answers how many of the n elements it took. */
static int64_t NAMED(turn_in)(const REAL *x, int64_t n, int64_t lane_stride, int64_t pitch, REAL *re, REAL *im) {
    int64_t e = 0;
    for (; e + NAMED(QUARTER) / 2 <= n; e += NAMED(QUARTER) / 2) {
        NAMED(vec) v[NAMED(QUARTER)];
#pragma GCC unroll 4
        for (int k = 0; k < NAMED(QUARTER); k++) {
            v[k] = NAMED(quarters)(x + k * lane_stride + 2 * e, NAMED(QUARTER) * lane_stride);
        }
        NAMED(turn_quarters)(v);
#pragma GCC unroll 2
        for (int k = 0; k < NAMED(QUARTER) / 2; k++) {
            NAMED(put)(re + (e + k) * pitch, v[2 * k]);
            NAMED(put)(im + (e + k) * pitch, v[2 * k + 1]);
        }
    }
    return e;
}

/* Quarter q of register k becomes quarter k of register q, the registers `step` apart. */
static inline void NAMED(exchange_quarters)(NAMED(vec) *v, int step) {
    NAMED(vec) a = __builtin_shufflevector(v[0], v[step], QUARTERS_EVEN);
    NAMED(vec) b = __builtin_shufflevector(v[0], v[step], QUARTERS_ODD);
    NAMED(vec) c = __builtin_shufflevector(v[2 * step], v[3 * step], QUARTERS_EVEN);
    NAMED(vec) d = __builtin_shufflevector(v[2 * step], v[3 * step], QUARTERS_ODD);
    v[0] = __builtin_shufflevector(a, c, QUARTERS_EVEN);
    v[step] = __builtin_shufflevector(b, d, QUARTERS_EVEN);
    v[2 * step] = __builtin_shufflevector(a, c, QUARTERS_ODD);
    v[3 * step] = __builtin_shufflevector(b, d, QUARTERS_ODD);
}

/* Back again, whole registers of each line at a time: quarters would be extracted by the port that shuffles. */
static int64_t NAMED(turn_out)(REAL *y, int64_t n, int64_t lane_stride, int64_t pitch, const REAL *re, const REAL *im, REAL by) {
    int64_t e = 0;
    for (; e + NAMED(VEC) / 2 <= n; e += NAMED(VEC) / 2) {
        NAMED(vec) v[NAMED(VEC)];
#pragma GCC unroll 4
        for (int chunk = 0; chunk < 4; chunk++) {
#pragma GCC unroll 2
            for (int k = 0; k < NAMED(QUARTER) / 2; k++) {
                int64_t at = (e + chunk * NAMED(QUARTER) / 2 + k) * pitch;
                v[chunk * NAMED(QUARTER) + 2 * k] = by * NAMED(get)(re + at);
                v[chunk * NAMED(QUARTER) + 2 * k + 1] = by * NAMED(get)(im + at);
            }
            NAMED(turn_quarters)(v + chunk * NAMED(QUARTER));
        }
#pragma GCC unroll 4
        for (int k = 0; k < NAMED(QUARTER); k++) {
            NAMED(exchange_quarters)(v + k, NAMED(QUARTER));
#pragma GCC unroll 4
            for (int q = 0; q < 4; q++) {
                NAMED(put)(y + (q * NAMED(QUARTER) + k) * lane_stride + 2 * e, v[k + q * NAMED(QUARTER)]);
            }
        }
    }
    return e;
}
#elif defined(__AVX2__)
/* VEC lines, contiguous and lane_stride numbers apart, to rows of re and im: the turned numbers of each are those in turn. Answers how many
   of the n elements it took. */
static int64_t NAMED(turn_in)(const REAL *x, int64_t n, int64_t lane_stride, int64_t pitch, REAL *re, REAL *im) {
    int64_t e = 0;
    for (; e + NAMED(VEC) / 2 <= n; e += NAMED(VEC) / 2) {
        NAMED(vec) v[NAMED(VEC)];
#pragma GCC unroll 8
        for (int k = 0; k < NAMED(VEC); k++) {
            v[k] = NAMED(get)(x + k * lane_stride + 2 * e);
        }
        NAMED(turn_square)(v);
#pragma GCC unroll 4
        for (int k = 0; k < NAMED(VEC) / 2; k++) {
            NAMED(put)(re + (e + k) * pitch, v[2 * k]);
            NAMED(put)(im + (e + k) * pitch, v[2 * k + 1]);
        }
    }
    return e;
}

static int64_t NAMED(turn_out)(REAL *y, int64_t n, int64_t lane_stride, int64_t pitch, const REAL *re, const REAL *im, REAL by) {
    int64_t e = 0;
    for (; e + NAMED(VEC) / 2 <= n; e += NAMED(VEC) / 2) {
        NAMED(vec) v[NAMED(VEC)];
#pragma GCC unroll 4
        for (int k = 0; k < NAMED(VEC) / 2; k++) {
            v[2 * k] = by * NAMED(get)(re + (e + k) * pitch);
            v[2 * k + 1] = by * NAMED(get)(im + (e + k) * pitch);
        }
        NAMED(turn_square)(v);
#pragma GCC unroll 8
        for (int k = 0; k < NAMED(VEC); k++) {
            NAMED(put)(y + k * lane_stride + 2 * e, v[k]);
        }
    }
    return e;
}
#else
/* Never asked where squares do not fit. */
static int64_t NAMED(turn_in)(const REAL *x, int64_t n, int64_t lane_stride, int64_t pitch, REAL *re, REAL *im) {
    (void)x, (void)n, (void)lane_stride, (void)pitch, (void)re, (void)im;
    return 0;
}

static int64_t NAMED(turn_out)(REAL *y, int64_t n, int64_t lane_stride, int64_t pitch, const REAL *re, const REAL *im, REAL by) {
    (void)y, (void)n, (void)lane_stride, (void)pitch, (void)re, (void)im, (void)by;
    return 0;
}
#endif

/* Lines that are contiguous in memory are turned round: in registers where there are enough, else whole first, in spare. */
static void NAMED(load)(const void *src, int64_t n, int64_t stride, fft_lanes lanes, fft_buffer to, void *spare) {
    const REAL *x = src;
    REAL *re = to.re, *im = to.im;
    int64_t w = lanes.w;
    bool by_squares = SQUARES_FIT && stride == 1 && w % NAMED(VEC) == 0;
    if (lanes.stride == 1) {
        NAMED(part)(x, n, stride, w, lanes.pitch, re, im);
    } else if (by_squares) {
        for (int64_t l = 0; l < w; l += NAMED(VEC)) {
            int64_t e = NAMED(turn_in)(x + 2 * l * lanes.stride, n, 2 * lanes.stride, lanes.pitch, re + l, im + l);
            for (; e < n; e++) {
                for (int64_t i = l; i < l + NAMED(VEC); i++) {
                    re[e * lanes.pitch + i] = x[2 * (e + i * lanes.stride)];
                    im[e * lanes.pitch + i] = x[2 * (e + i * lanes.stride) + 1];
                }
            }
        }
    } else if (stride == 1) {
        copies->transpose(spare, src, COMPLEX_LOG2, w, n, (ptrdiff_t)(w * 2 * (int64_t)sizeof(REAL)),
                          (ptrdiff_t)(lanes.stride * 2 * (int64_t)sizeof(REAL)));
        NAMED(part)(spare, n, w, w, lanes.pitch, re, im);
    } else {
        for (int64_t l = 0; l < w; l++) {
            for (int64_t e = 0; e < n; e++) {
                re[e * lanes.pitch + l] = x[2 * (e * stride + l * lanes.stride)];
                im[e * lanes.pitch + l] = x[2 * (e * stride + l * lanes.stride) + 1];
            }
        }
    }
}

static void NAMED(store)(void *dst, int64_t n, int64_t stride, fft_lanes lanes, fft_buffer from, double scale, void *spare) {
    REAL *y = dst, by = (REAL)scale;
    const REAL *re = from.re, *im = from.im;
    int64_t w = lanes.w;
    bool by_squares = SQUARES_FIT && stride == 1 && w % NAMED(VEC) == 0;
    if (lanes.stride == 1) {
        NAMED(join)(y, n, stride, w, lanes.pitch, re, im, by);
    } else if (by_squares) {
        for (int64_t l = 0; l < w; l += NAMED(VEC)) {
            int64_t e = NAMED(turn_out)(y + 2 * l * lanes.stride, n, 2 * lanes.stride, lanes.pitch, re + l, im + l, by);
            for (; e < n; e++) {
                for (int64_t i = l; i < l + NAMED(VEC); i++) {
                    y[2 * (e + i * lanes.stride)] = by * re[e * lanes.pitch + i];
                    y[2 * (e + i * lanes.stride) + 1] = by * im[e * lanes.pitch + i];
                }
            }
        }
    } else if (stride == 1) {
        NAMED(join)(spare, n, w, w, lanes.pitch, re, im, by);
        copies->transpose(dst, spare, COMPLEX_LOG2, n, w, (ptrdiff_t)(lanes.stride * 2 * (int64_t)sizeof(REAL)),
                          (ptrdiff_t)(w * 2 * (int64_t)sizeof(REAL)));
    } else {
        for (int64_t l = 0; l < w; l++) {
            for (int64_t e = 0; e < n; e++) {
                y[2 * (e * stride + l * lanes.stride)] = by * re[e * lanes.pitch + l];
                y[2 * (e * stride + l * lanes.stride) + 1] = by * im[e * lanes.pitch + l];
            }
        }
    }
}

/* In this order. */
#include "engine/kernels/cpu/isa/fft_steps.h"

#include "engine/kernels/cpu/isa/fft_passes.h"
