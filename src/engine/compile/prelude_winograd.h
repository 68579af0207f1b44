/* SPDX-License-Identifier: Apache-2.0 */
/* A template, like prelude_product.h, whose vectors it shares: Winograd's algorithm for convolutions by windows of 3 x 3, which makes
   4 x 4 results of 6 x 6 elements by 36 multiplications instead of 144. Polynomials are evaluated at 0, +-5/8, +-3/2 and infinity,
   which keep errors small (oneDNN has the same). What is transformed has channels for lanes. Lavin and Gray, Fast Algorithms for
   Convolutional Neural Networks, 2015. */

/* A line of six elements, `step` apart, in place. */
VECTOR_INLINE void winograd_six(block_vector *d, const int step) {
    const float a = 0.625f, b = 1.5f, aa = a * a, bb = b * b;
    const block_vector u = d[4 * step] - bb * d[2 * step], v = a * (d[3 * step] - bb * d[1 * step]);
    const block_vector w = d[4 * step] - aa * d[2 * step], z = b * (d[3 * step] - aa * d[1 * step]);
    d[0] = aa * bb * d[0] - (aa + bb) * d[2 * step] + d[4 * step];
    d[5 * step] = aa * bb * d[1 * step] - (aa + bb) * d[3 * step] + d[5 * step];
    d[1 * step] = u + v;
    d[2 * step] = u - v;
    d[3 * step] = w + z;
    d[4 * step] = w - z;
}

/* 6 x 6 elements of 16 channels, in rows row_stride apart, to 36 places to_stride apart. */
static void winograd_elements(const float *from, int64_t row_stride, float *to, int64_t to_stride) {
    for (int lane = 0; lane < 16; lane += BLOCK_LANES) {
        block_vector d[36];
#pragma GCC unroll 6
        for (int r = 0; r < 6; r++) {
#pragma GCC unroll 6
            for (int c = 0; c < 6; c++) {
                d[6 * r + c] = *(const block_vector *)(from + row_stride * r + 16 * c + lane);
            }
            winograd_six(d + 6 * r, 1);
        }
#pragma GCC unroll 6
        for (int c = 0; c < 6; c++) {
            winograd_six(d + c, 6);
#pragma GCC unroll 6
            for (int r = 0; r < 6; r++) {
                *(block_vector *)(to + to_stride * (6 * r + c) + lane) = d[6 * r + c];
            }
        }
    }
}

/* 3 x 3 weights of 64 columns, 64 apart, to 36 places to_stride apart. */
static void winograd_weights(const float *from, float *to, int64_t to_stride) {
    const float a = 0.625f, b = 1.5f, aa = a * a, bb = b * b;
    const float at_0 = 1 / (aa * bb), at_a = 1 / (2 * aa * (aa - bb)), at_b = 1 / (2 * bb * (bb - aa));
    for (int lane = 0; lane < 64; lane += BLOCK_LANES) {
        block_vector rows[6][3];
#pragma GCC unroll 3
        for (int c = 0; c < 3; c++) {
            const block_vector x = *(const block_vector *)(from + 64 * c + lane), y = *(const block_vector *)(from + 64 * (3 + c) + lane),
                               z = *(const block_vector *)(from + 64 * (6 + c) + lane);
            rows[0][c] = at_0 * x;
            rows[1][c] = at_a * (x + aa * z) + at_a * a * y;
            rows[2][c] = at_a * (x + aa * z) - at_a * a * y;
            rows[3][c] = at_b * (x + bb * z) + at_b * b * y;
            rows[4][c] = at_b * (x + bb * z) - at_b * b * y;
            rows[5][c] = z;
        }
#pragma GCC unroll 6
        for (int r = 0; r < 6; r++) {
            float *const row = to + to_stride * 6 * r + lane;
            const block_vector x = rows[r][0], y = rows[r][1], z = rows[r][2];
            *(block_vector *)row = at_0 * x;
            *(block_vector *)(row + to_stride) = at_a * (x + aa * z) + at_a * a * y;
            *(block_vector *)(row + to_stride * 2) = at_a * (x + aa * z) - at_a * a * y;
            *(block_vector *)(row + to_stride * 3) = at_b * (x + bb * z) + at_b * b * y;
            *(block_vector *)(row + to_stride * 4) = at_b * (x + bb * z) - at_b * b * y;
            *(block_vector *)(row + to_stride * 5) = z;
        }
    }
}

/* A line of six sums, `step` apart, to four results `to_step` apart. */
VECTOR_INLINE void winograd_four(const block_vector *s, const int step, block_vector *to, const int to_step) {
    const float a = 0.625f, b = 1.5f, aa = a * a, bb = b * b;
    const block_vector u = s[1 * step] + s[2 * step], v = s[1 * step] - s[2 * step];
    const block_vector w = s[3 * step] + s[4 * step], z = s[3 * step] - s[4 * step];
    to[0] = s[0] + u + w;
    to[1 * to_step] = a * v + b * z;
    to[2 * to_step] = aa * u + bb * w;
    to[3 * to_step] = a * aa * v + b * bb * z + s[5 * step];
}

/* Sums of 64 columns at 36 places from_stride apart to 4 x 4 results, in rows row_stride apart. */
static void winograd_results(const float *from, int64_t from_stride, float *to, int64_t row_stride) {
    for (int lane = 0; lane < 64; lane += BLOCK_LANES) {
        block_vector s[6], rows[24], out[4];
#pragma GCC unroll 6
        for (int c = 0; c < 6; c++) {
#pragma GCC unroll 6
            for (int r = 0; r < 6; r++) {
                s[r] = *(const block_vector *)(from + from_stride * (6 * r + c) + lane);
            }
            winograd_four(s, 1, rows + c, 6);
        }
#pragma GCC unroll 4
        for (int r = 0; r < 4; r++) {
            winograd_four(rows + 6 * r, 1, out, 1);
#pragma GCC unroll 4
            for (int c = 0; c < 4; c++) {
                *(block_vector *)(to + row_stride * r + 64 * c + lane) = out[c];
            }
        }
    }
}
