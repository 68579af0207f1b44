/* SPDX-License-Identifier: Apache-2.0 */
/* Template, part of fft_template.h: one step of a pass by whole vectors, for each radix that has one. */

/* As radix_2 and the others, for len a multiple of VEC. All loads of a step come before its stores. The last pass turns
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

/* Three transforms of four and four of three: taken in Good's order (1958), nothing is turned between them, as 3 and 4 have no factor in
   common. Input 4 a + 3 b is number b of transform a; output 4 a + 9 b number a of transform b, both modulo 12. */
static inline __attribute__((always_inline)) void NAMED(vec_12)(const REAL *xr, const REAL *xi, REAL *yr, REAL *yi, int64_t len,
                                                                int64_t in, const REAL *t, bool turns) {
    const REAL half_root_3 = (REAL)0.86602540378443864676;
    for (int64_t i = 0; i < len; i += NAMED(VEC)) {
        NAMED(vec) zr[4][3], zi[4][3];
#pragma GCC unroll 3
        for (int a = 0; a < 3; a++) {
            const int64_t at0 = i + 4 * a * in, at1 = i + (4 * a + 3) % 12 * in, at2 = i + (4 * a + 6) % 12 * in;
            const int64_t at3 = i + (4 * a + 9) % 12 * in;
            NAMED(vec) r0 = NAMED(get)(xr + at0), r1 = NAMED(get)(xr + at1), r2 = NAMED(get)(xr + at2), r3 = NAMED(get)(xr + at3);
            NAMED(vec) i0 = NAMED(get)(xi + at0), i1 = NAMED(get)(xi + at1), i2 = NAMED(get)(xi + at2), i3 = NAMED(get)(xi + at3);
            NAMED(vec) ar = r0 + r2, ai = i0 + i2, br = r0 - r2, bi = i0 - i2, cr = r1 + r3, ci = i1 + i3;
            NAMED(vec) dr = i1 - i3, di = r3 - r1; /* -i times the difference */
            zr[0][a] = ar + cr;
            zi[0][a] = ai + ci;
            zr[1][a] = br + dr;
            zi[1][a] = bi + di;
            zr[2][a] = ar - cr;
            zi[2][a] = ai - ci;
            zr[3][a] = br - dr;
            zi[3][a] = bi - di;
        }
#pragma GCC unroll 4
        for (int b = 0; b < 4; b++) {
            const NAMED(vec) *r = zr[b], *m = zi[b];
            NAMED(vec) sr = r[1] + r[2], si = m[1] + m[2], dr = half_root_3 * (m[1] - m[2]), di = half_root_3 * (r[2] - r[1]);
            NAMED(vec) mr = r[0] - (REAL)0.5 * sr, mi = m[0] - (REAL)0.5 * si;
            const int first = 9 * b % 12, second = (4 + 9 * b) % 12, third = (8 + 9 * b) % 12;
            if (first == 0) {
                NAMED(put)(yr + i, r[0] + sr);
                NAMED(put)(yi + i, m[0] + si);
            } else {
                NAMED(turned)(yr + i + first * len, yi + i + first * len, r[0] + sr, m[0] + si, t + 2 * first - 2, turns);
            }
            NAMED(turned)(yr + i + second * len, yi + i + second * len, mr + dr, mi + di, t + 2 * second - 2, turns);
            NAMED(turned)(yr + i + third * len, yi + i + third * len, mr - dr, mi - di, t + 2 * third - 2, turns);
        }
    }
}
