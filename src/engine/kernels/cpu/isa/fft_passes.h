/* SPDX-License-Identifier: Apache-2.0 */
/* Template, part of fft_template.h: passes over lines side by side, and whole transforms. */

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
    case 12:
        NAMED(vec_pass)(xr, xi, yr, yi, len, m, t, 12, NAMED(vec_12));
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
