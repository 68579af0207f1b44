/* SPDX-License-Identifier: Apache-2.0 */
/* The row loops of norms over many short rows, which lie one behind the other, in `value`: a part of row_loops_norm.h. */

/* PACK short rows or fewer that lie one behind the other. */
static inline void moments_of_rows(const value *x, int64_t rows, int64_t n, double *mean, double *m2) {
    pack sums = sums_in_line(x, rows, n, NULL, pack_identity, identity);
    value s[PACK], c[2 * PACK] = {0};
    double average[PACK], squares[PACK];
    memcpy(s, &sums, sizeof s);
    for (int k = 0; k < PACK; k++) {
        average[k] = (double)s[k] / (double)n;
        c[k] = (value)average[k];
    }
    sums = sums_in_line(x, rows, n, c, pack_square, square);
    memcpy(s, &sums, sizeof s);
    for (int k = 0; k < PACK; k++) {
        double rest = average[k] - (double)c[k], about = (double)s[k] - (double)n * rest * rest;
        squares[k] = about < 0 ? 0 : about;
    }
    copy_few(mean, average, rows);
    copy_few(m2, squares, rows);
}

/* The same of many short rows (of one block at most) that lie one behind the other. */
static void moments_short(const void *at, int64_t rows, int64_t n, double *mean, double *m2) {
    const value *x = at;
    const bool asks = cpu_asks_along();
    for (int64_t r = 0; n <= SHORT_MOST && r < rows; r += PACK) {
        short_ask(x + r * n, n, asks);
        moments_of_rows(x + r * n, rows - r < PACK ? rows - r : PACK, n, mean + r, m2 + r);
    }
    for (int64_t r = 0; n > SHORT_MOST && r < rows; r++, x += n) {
        double average = (double)block_sum(x, n, pack_identity, identity) / (double)n;
        value c = (value)average;
        double rest = average - (double)c, squares = (double)block_distances(x, c, n, (uintptr_t)n * sizeof *x) - (double)n * rest * rest;
        mean[r] = average;
        m2[r] = squares < 0 ? 0 : squares;
    }
}

/* Means in float of n sums, or their roots. */
static void finish(float *to, const double *sums, double divisor, bool root, int64_t n) {
    for (int64_t i = 0; !root && divisor == 1 && i < n; i++) {
        to[i] = (float)sums[i];
    }
    for (int64_t i = 0; !root && divisor != 1 && i < n; i++) {
        to[i] = (float)(sums[i] / divisor);
    }
    for (int64_t i = 0; root && i < n; i++) {
        to[i] = (float)sqrt(sums[i] / divisor);
    }
}

/* Row r of n: to = x * factor[r] + plus[r]. */
static void scale_short(void *to, const void *at, const double *factor, const double *offset, int64_t rows, int64_t n) {
    value *y = to;
    const value *x = at;
    for (int64_t r = 0; r < rows; r++, x += n, y += n) {
        value f = (value)factor[r], p = (value)offset[r];
        for (int64_t i = 0; i < n; i++) {
            y[i] = x[i] * f + p;
        }
    }
}

/* Of row r: adds sum(dy) and sum(dy (x - mean[r])). */
static void channel_sums_short(const void *grads, const void *at, const double *mean, int64_t rows, int64_t n, double *sums,
                               double *products) {
    const value *dy = grads, *x = at;
    for (int64_t r = 0; r < rows; r++, x += n, dy += n) {
        value c = (value)mean[r], s = 0, p = 0;
        pack a = {0}, b = {0};
        int64_t i = 0;
        for (; i + PACK <= n; i += PACK) {
            pack g = pack_at(dy + i);
            a += g;
            b += g * (pack_at(x + i) - c);
        }
        for (; i < n; i++) {
            s += dy[i];
            p += dy[i] * (x[i] - c);
        }
        sums[r] += (double)(s + pack_sum(a));
        products[r] += (double)(p + pack_sum(b));
    }
}

/* Row r: to = dy * a[r] + (x - mean[r]) * b[r] + c[r]. */
static void channel_grad_short(void *to, const void *grads, const void *at, const double *mean, const double *a,
                               const double *b, const double *c, int64_t rows, int64_t n) {
    value *out = to;
    const value *dy = grads, *x = at;
    for (int64_t r = 0; r < rows; r++, x += n, dy += n, out += n) {
        value m = (value)mean[r], fa = (value)a[r], fb = (value)b[r], fc = (value)c[r];
        for (int64_t i = 0; i < n; i++) {
            out[i] = dy[i] * fa + ((x[i] - m) * fb + fc);
        }
    }
}
