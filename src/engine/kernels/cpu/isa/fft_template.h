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

/* One value of p: `len` numbers of each of the radix inputs, `in` apart; outputs `len` apart. t: the twiddles of this p. */
static void NAMED(radix_2)(const REAL *xr, const REAL *xi, REAL *restrict yr, REAL *restrict yi, int64_t len, int64_t in,
                           const REAL *t) {
    REAL c = t[0], s = t[1];
    for (int64_t i = 0; i < len; i++) {
        REAL dr = xr[i] - xr[i + in], di = xi[i] - xi[i + in];
        yr[i] = xr[i] + xr[i + in];
        yi[i] = xi[i] + xi[i + in];
        yr[i + len] = dr * c - di * s;
        yi[i + len] = dr * s + di * c;
    }
}

static void NAMED(radix_4)(const REAL *xr, const REAL *xi, REAL *restrict yr, REAL *restrict yi, int64_t len, int64_t in,
                           const REAL *t) {
    REAL c1 = t[0], s1 = t[1], c2 = t[2], s2 = t[3], c3 = t[4], s3 = t[5];
    for (int64_t i = 0; i < len; i++) {
        REAL ar = xr[i] + xr[i + 2 * in], ai = xi[i] + xi[i + 2 * in];
        REAL br = xr[i] - xr[i + 2 * in], bi = xi[i] - xi[i + 2 * in];
        REAL cr = xr[i + in] + xr[i + 3 * in], ci = xi[i + in] + xi[i + 3 * in];
        REAL dr = xi[i + in] - xi[i + 3 * in], di = xr[i + 3 * in] - xr[i + in]; /* -i times the difference */
        REAL er = br + dr, ei = bi + di, fr = ar - cr, fi = ai - ci, gr = br - dr, gi = bi - di;
        yr[i] = ar + cr;
        yi[i] = ai + ci;
        yr[i + len] = er * c1 - ei * s1;
        yi[i + len] = er * s1 + ei * c1;
        yr[i + 2 * len] = fr * c2 - fi * s2;
        yi[i + 2 * len] = fr * s2 + fi * c2;
        yr[i + 3 * len] = gr * c3 - gi * s3;
        yi[i + 3 * len] = gr * s3 + gi * c3;
    }
}

static void NAMED(radix_3)(const REAL *xr, const REAL *xi, REAL *restrict yr, REAL *restrict yi, int64_t len, int64_t in,
                           const REAL *t) {
    const REAL half_root_3 = (REAL)0.86602540378443864676;
    REAL c1 = t[0], s1 = t[1], c2 = t[2], s2 = t[3];
    for (int64_t i = 0; i < len; i++) {
        REAL sr = xr[i + in] + xr[i + 2 * in], si = xi[i + in] + xi[i + 2 * in];
        REAL dr = half_root_3 * (xi[i + in] - xi[i + 2 * in]), di = half_root_3 * (xr[i + 2 * in] - xr[i + in]);
        REAL mr = xr[i] - (REAL)0.5 * sr, mi = xi[i] - (REAL)0.5 * si;
        REAL ar = mr + dr, ai = mi + di, br = mr - dr, bi = mi - di;
        yr[i] = xr[i] + sr;
        yi[i] = xi[i] + si;
        yr[i + len] = ar * c1 - ai * s1;
        yi[i + len] = ar * s1 + ai * c1;
        yr[i + 2 * len] = br * c2 - bi * s2;
        yi[i + 2 * len] = br * s2 + bi * c2;
    }
}

/* The same with whole vectors, for len a multiple of VEC. All loads of a step come before its stores. The last pass turns
   nothing: `turns` is a constant wherever these are called. */
static inline __attribute__((always_inline)) void NAMED(turned)(REAL *yr, REAL *yi, NAMED(vec) r, NAMED(vec) i,
                                                                const REAL *t, bool turns) {
    if (!turns) {
        NAMED(put)(yr, r);
        NAMED(put)(yi, i);
        return;
    }
    REAL c = t[0], s = t[1];
    NAMED(put)(yr, r * c - i * s);
    NAMED(put)(yi, r * s + i * c);
}

static inline __attribute__((always_inline)) void NAMED(vec_2)(const REAL *xr, const REAL *xi, REAL *yr, REAL *yi, int64_t len,
                                                               int64_t in, const REAL *t, bool turns) {
    for (int64_t i = 0; i < len; i += NAMED(VEC)) {
        NAMED(vec) ar = NAMED(get)(xr + i), ai = NAMED(get)(xi + i), br = NAMED(get)(xr + i + in), bi = NAMED(get)(xi + i + in);
        NAMED(put)(yr + i, ar + br);
        NAMED(put)(yi + i, ai + bi);
        NAMED(turned)(yr + i + len, yi + i + len, ar - br, ai - bi, t, turns);
    }
}

static inline __attribute__((always_inline)) void NAMED(vec_3)(const REAL *xr, const REAL *xi, REAL *yr, REAL *yi, int64_t len,
                                                               int64_t in, const REAL *t, bool turns) {
    const REAL half_root_3 = (REAL)0.86602540378443864676;
    for (int64_t i = 0; i < len; i += NAMED(VEC)) {
        NAMED(vec) r0 = NAMED(get)(xr + i), i0 = NAMED(get)(xi + i), r1 = NAMED(get)(xr + i + in), i1 = NAMED(get)(xi + i + in);
        NAMED(vec) r2 = NAMED(get)(xr + i + 2 * in), i2 = NAMED(get)(xi + i + 2 * in);
        NAMED(vec) sr = r1 + r2, si = i1 + i2, dr = half_root_3 * (i1 - i2), di = half_root_3 * (r2 - r1);
        NAMED(vec) mr = r0 - (REAL)0.5 * sr, mi = i0 - (REAL)0.5 * si;
        NAMED(put)(yr + i, r0 + sr);
        NAMED(put)(yi + i, i0 + si);
        NAMED(turned)(yr + i + len, yi + i + len, mr + dr, mi + di, t, turns);
        NAMED(turned)(yr + i + 2 * len, yi + i + 2 * len, mr - dr, mi - di, t + 2, turns);
    }
}

static inline __attribute__((always_inline)) void NAMED(vec_4)(const REAL *xr, const REAL *xi, REAL *yr, REAL *yi, int64_t len,
                                                               int64_t in, const REAL *t, bool turns) {
    for (int64_t i = 0; i < len; i += NAMED(VEC)) {
        const REAL *fr = xr + i, *fi = xi + i;
        NAMED(vec) r0 = NAMED(get)(fr), r1 = NAMED(get)(fr + in), r2 = NAMED(get)(fr + 2 * in), r3 = NAMED(get)(fr + 3 * in);
        NAMED(vec) i0 = NAMED(get)(fi), i1 = NAMED(get)(fi + in), i2 = NAMED(get)(fi + 2 * in), i3 = NAMED(get)(fi + 3 * in);
        NAMED(vec) ar = r0 + r2, ai = i0 + i2, br = r0 - r2, bi = i0 - i2, cr = r1 + r3, ci = i1 + i3;
        NAMED(vec) dr = i1 - i3, di = r3 - r1; /* -i times the difference */
        NAMED(put)(yr + i, ar + cr);
        NAMED(put)(yi + i, ai + ci);
        NAMED(turned)(yr + i + len, yi + i + len, br + dr, bi + di, t, turns);
        NAMED(turned)(yr + i + 2 * len, yi + i + 2 * len, ar - cr, ai - ci, t + 2, turns);
        NAMED(turned)(yr + i + 3 * len, yi + i + 3 * len, br - dr, bi - di, t + 4, turns);
    }
}

static inline __attribute__((always_inline)) void NAMED(vec_5)(const REAL *xr, const REAL *xi, REAL *yr, REAL *yi, int64_t len,
                                                               int64_t in, const REAL *t, bool turns) {
    const REAL c1 = (REAL)0.30901699437494742410, s1 = (REAL)0.95105651629515357212; /* of 2 pi / 5 */
    const REAL c2 = (REAL)-0.80901699437494742410, s2 = (REAL)0.58778525229247312917; /* of 4 pi / 5 */
    for (int64_t i = 0; i < len; i += NAMED(VEC)) {
        const REAL *fr = xr + i, *fi = xi + i;
        NAMED(vec) r0 = NAMED(get)(fr), r1 = NAMED(get)(fr + in), r2 = NAMED(get)(fr + 2 * in), r3 = NAMED(get)(fr + 3 * in);
        NAMED(vec) i0 = NAMED(get)(fi), i1 = NAMED(get)(fi + in), i2 = NAMED(get)(fi + 2 * in), i3 = NAMED(get)(fi + 3 * in);
        NAMED(vec) r4 = NAMED(get)(fr + 4 * in), i4 = NAMED(get)(fi + 4 * in);
        NAMED(vec) ar = r1 + r4, ai = i1 + i4, br = r2 + r3, bi = i2 + i3, cr = r1 - r4, ci = i1 - i4, dr = r2 - r3, di = i2 - i3;
        NAMED(vec) mr = r0 + c1 * ar + c2 * br, mi = i0 + c1 * ai + c2 * bi, nr = s1 * cr + s2 * dr, ni = s1 * ci + s2 * di;
        NAMED(vec) pr = r0 + c2 * ar + c1 * br, pi = i0 + c2 * ai + c1 * bi, qr = s2 * cr - s1 * dr, qi = s2 * ci - s1 * di;
        NAMED(put)(yr + i, r0 + ar + br);
        NAMED(put)(yi + i, i0 + ai + bi);
        NAMED(turned)(yr + i + len, yi + i + len, mr + ni, mi - nr, t, turns);
        NAMED(turned)(yr + i + 2 * len, yi + i + 2 * len, pr + qi, pi - qr, t + 2, turns);
        NAMED(turned)(yr + i + 3 * len, yi + i + 3 * len, pr - qi, pi + qr, t + 4, turns);
        NAMED(turned)(yr + i + 4 * len, yi + i + 4 * len, mr - ni, mi + nr, t + 6, turns);
    }
}

/* The even ones of eight are a transform of four sums, the odd ones of four differences turned by eighths. */
static inline __attribute__((always_inline)) void NAMED(four)(const NAMED(vec) r[4], const NAMED(vec) i[4], REAL *yr, REAL *yi,
                                                              int64_t step, const REAL *t, bool turns, int first) {
    NAMED(vec) ar = r[0] + r[2], ai = i[0] + i[2], br = r[0] - r[2], bi = i[0] - i[2], cr = r[1] + r[3], ci = i[1] + i[3];
    NAMED(vec) dr = i[1] - i[3], di = r[3] - r[1]; /* -i times the difference */
    if (first == 0) {
        NAMED(put)(yr, ar + cr);
        NAMED(put)(yi, ai + ci);
    } else {
        NAMED(turned)(yr, yi, ar + cr, ai + ci, t, turns);
    }
    NAMED(turned)(yr + step, yi + step, br + dr, bi + di, t + 2 * first + 2, turns);
    NAMED(turned)(yr + 2 * step, yi + 2 * step, ar - cr, ai - ci, t + 2 * first + 6, turns);
    NAMED(turned)(yr + 3 * step, yi + 3 * step, br - dr, bi - di, t + 2 * first + 10, turns);
}

static inline __attribute__((always_inline)) void NAMED(vec_8)(const REAL *xr, const REAL *xi, REAL *yr, REAL *yi, int64_t len,
                                                               int64_t in, const REAL *t, bool turns) {
    const REAL root = (REAL)0.70710678118654752440;
    for (int64_t i = 0; i < len; i += NAMED(VEC)) {
        NAMED(vec) ar[4], ai[4], br[4], bi[4];
        for (int k = 0; k < 4; k++) {
            NAMED(vec) r0 = NAMED(get)(xr + i + k * in), r4 = NAMED(get)(xr + i + (k + 4) * in);
            NAMED(vec) i0 = NAMED(get)(xi + i + k * in), i4 = NAMED(get)(xi + i + (k + 4) * in);
            ar[k] = r0 + r4;
            ai[k] = i0 + i4;
            br[k] = r0 - r4;
            bi[k] = i0 - i4;
        }
        NAMED(vec) one_r = root * (br[1] + bi[1]), one_i = root * (bi[1] - br[1]);
        NAMED(vec) three_r = root * (bi[3] - br[3]), three_i = -root * (br[3] + bi[3]);
        NAMED(vec) odd_r[4] = {br[0], one_r, bi[2], three_r}, odd_i[4] = {bi[0], one_i, -br[2], three_i};
        NAMED(four)(ar, ai, yr + i, yi + i, 2 * len, t, turns, 0);
        NAMED(four)(odd_r, odd_i, yr + i + len, yi + i + len, 2 * len, t, turns, 1);
    }
}

/* Any radix, by the definition. */
static void NAMED(radix_any)(const REAL *xr, const REAL *xi, REAL *restrict yr, REAL *restrict yi, int64_t len, int64_t in,
                             const REAL *t, int radix, const REAL *roots) {
    for (int j = 0; j < radix; j++) {
        REAL tc = j > 0 ? t[2 * j - 2] : 1, ts = j > 0 ? t[2 * j - 1] : 0;
        REAL *restrict outr = yr + j * len, *restrict outi = yi + j * len;
        for (int64_t i = 0; i < len; i++) {
            REAL re = 0, im = 0;
            for (int k = 0; k < radix; k++) {
                const REAL *root = roots + 2 * (j * k % radix);
                REAL a = xr[i + k * in], b = xi[i + k * in];
                re += a * root[0] - b * root[1];
                im += a * root[1] + b * root[0];
            }
            outr[i] = re * tc - im * ts;
            outi[i] = re * ts + im * tc;
        }
    }
}

typedef void NAMED(step_fn)(const REAL *xr, const REAL *xi, REAL *yr, REAL *yi, int64_t len, int64_t in, const REAL *t,
                            bool turns);

/* A pass by whole vectors: all its steps in one call, which finds the places of inputs and outputs once. */
static inline __attribute__((always_inline)) void NAMED(vec_pass)(const REAL *xr, const REAL *xi, REAL *yr, REAL *yi, int64_t len,
                                                                  int64_t m, const REAL *t, int radix, NAMED(step_fn) *step) {
    if (m == 1) {
        step(xr, xi, yr, yi, len, len, t, false);
        return;
    }
    for (int64_t p = 0; p < m; p++) {
        step(xr + p * len, xi + p * len, yr + p * radix * len, yi + p * radix * len, len, len * m, t + 2 * (radix - 1) * p, true);
    }
}

static bool NAMED(whole_pass)(const REAL *xr, const REAL *xi, REAL *yr, REAL *yi, int64_t len, int64_t m, const REAL *t,
                              int radix) {
    switch (radix) {
    case 2:
        NAMED(vec_pass)(xr, xi, yr, yi, len, m, t, 2, NAMED(vec_2));
        return true;
    case 3:
        NAMED(vec_pass)(xr, xi, yr, yi, len, m, t, 3, NAMED(vec_3));
        return true;
    case 4:
        NAMED(vec_pass)(xr, xi, yr, yi, len, m, t, 4, NAMED(vec_4));
        return true;
    case 5:
        NAMED(vec_pass)(xr, xi, yr, yi, len, m, t, 5, NAMED(vec_5));
        return true;
    case 8:
        NAMED(vec_pass)(xr, xi, yr, yi, len, m, t, 8, NAMED(vec_8));
        return true;
    default:
        return false;
    }
}

/* Lanes that fill no vectors, and other radices. */
static void NAMED(pass)(const REAL *xr, const REAL *xi, REAL *yr, REAL *yi, int64_t len, int64_t m, const REAL *t, int radix,
                        const REAL *roots) {
    int64_t in = len * m;
    for (int64_t p = 0; p < m; p++, t += 2 * (radix - 1), xr += len, xi += len, yr += radix * len, yi += radix * len) {
        if (radix == 4) {
            NAMED(radix_4)(xr, xi, yr, yi, len, in, t);
        } else if (radix == 2) {
            NAMED(radix_2)(xr, xi, yr, yi, len, in, t);
        } else if (radix == 3) {
            NAMED(radix_3)(xr, xi, yr, yi, len, in, t);
        } else {
            NAMED(radix_any)(xr, xi, yr, yi, len, in, t, radix, roots);
        }
    }
}

/* Stockham's passes: x[q, p, k] -> y[q, j, p], the order sorts itself. */
static fft_buffer NAMED(passes)(const fft_line *line, int64_t w, fft_buffer a, fft_buffer b) {
    int64_t m = line->n, len = w;
    for (int pass = 0; pass < line->n_passes; pass++) {
        int radix = line->radix[pass];
        m /= radix;
        if (w % NAMED(VEC) != 0 || !NAMED(whole_pass)(a.re, a.im, b.re, b.im, len, m, line->twiddles[pass], radix)) {
            NAMED(pass)(a.re, a.im, b.re, b.im, len, m, line->twiddles[pass], radix, line->roots[pass]);
        }
        len *= radix;
        fft_buffer kept = a;
        a = b;
        b = kept;
    }
    return a;
}

/* x[k, lanes] *= factor[k] (its parts exchanged afterwards if asked: that turns a forward transform into an inverse). */
static void NAMED(multiply)(fft_buffer x, const REAL *factor, int64_t n, int64_t w, int exchange) {
    REAL *re = x.re, *im = x.im;
    for (int64_t k = 0; k < n; k++) {
        REAL c = factor[2 * k], s = factor[2 * k + 1];
        for (int64_t i = k * w; i < (k + 1) * w; i++) {
            REAL a = re[i] * c - im[i] * s, b = re[i] * s + im[i] * c;
            re[i] = exchange ? b : a;
            im[i] = exchange ? a : b;
        }
    }
}

static fft_buffer NAMED(transform)(const fft_line *line, int64_t w, fft_buffer a, fft_buffer b) {
    if (line->inner == NULL) {
        return NAMED(passes)(line, w, a, b);
    }
    int64_t n = line->n, size = line->inner->n;
    NAMED(multiply)(a, line->chirp, n, w, 0);
    memset((REAL *)a.re + n * w, 0, (size_t)((size - n) * w) * sizeof(REAL));
    memset((REAL *)a.im + n * w, 0, (size_t)((size - n) * w) * sizeof(REAL));
    fft_buffer r = NAMED(passes)(line->inner, w, a, b);
    NAMED(multiply)(r, line->kernel, size, w, 1);
    fft_buffer other = r.re == a.re ? b : a;
    r = NAMED(passes)(line->inner, w, r, other);
    fft_buffer turned = {.re = r.im, .im = r.re};
    NAMED(multiply)(turned, line->chirp, n, w, 0);
    return turned;
}
