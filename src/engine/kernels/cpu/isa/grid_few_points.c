/* SPDX-License-Identifier: Apache-2.0 */
/* Sampling at grid points, and the points' gradients, of a few planes that lie side by side: a point's four taps are four
   loads for up to four planes, in two lines or three, where planes of their own take four loads and two lines each. What is known of a
   block of points stays in L1, from where all planes take it. */
#include "engine/kernels/cpu/isa/resample_loops.h"

#include <string.h>

#define INLINE static inline __attribute__((always_inline))

typedef float few __attribute__((vector_size(4 * GRID_FEW)));

INLINE few few_at(const float *from) {
    few v;
    memcpy(&v, from, sizeof v);
    return v;
}

INLINE void put_few(float *to, few v) {
    memcpy(to, &v, sizeof v);
}

/* Four of four, rows for columns. */
INLINE void turn(few r[4]) {
    few a = __builtin_shufflevector(r[0], r[1], 0, 4, 1, 5), b = __builtin_shufflevector(r[0], r[1], 2, 6, 3, 7);
    few c = __builtin_shufflevector(r[2], r[3], 0, 4, 1, 5), d = __builtin_shufflevector(r[2], r[3], 2, 6, 3, 7);
    r[0] = __builtin_shufflevector(a, c, 0, 1, 4, 5);
    r[1] = __builtin_shufflevector(a, c, 2, 3, 6, 7);
    r[2] = __builtin_shufflevector(b, d, 0, 1, 4, 5);
    r[3] = __builtin_shufflevector(b, d, 2, 3, 6, 7);
}

INLINE void few_in(float *restrict to, const float *restrict from, int64_t from_step, int64_t m, int64_t n) {
    int64_t i = 0;
    for (; i + 4 <= n; i += 4) {
        few r[GRID_FEW] = {{0}};
        for (int64_t k = 0; k < m; k++) {
            r[k] = few_at(from + k * from_step + i);
        }
        turn(r);
        for (int k = 0; k < 4; k++) {
            put_few(to + (i + k) * GRID_FEW, r[k]);
        }
    }
    for (; i < n; i++) {
        for (int64_t k = 0; k < GRID_FEW; k++) {
            to[i * GRID_FEW + k] = k < m ? from[k * from_step + i] : 0;
        }
    }
}

INLINE void few_out(float *restrict to, int64_t to_step, const float *restrict from, int64_t m, int64_t n) {
    int64_t i = 0;
    for (; i + 4 <= n; i += 4) {
        few r[GRID_FEW];
        for (int k = 0; k < 4; k++) {
            r[k] = few_at(from + (i + k) * GRID_FEW);
        }
        turn(r);
        for (int64_t k = 0; k < m; k++) {
            put_few(to + k * to_step + i, r[k]);
        }
    }
    for (; i < n; i++) {
        for (int64_t k = 0; k < m; k++) {
            to[k * to_step + i] = from[i * GRID_FEW + k];
        }
    }
}

/* With the number of planes as a constant, for which there are no loops. */
void ISA_SYMBOL(grid_few_in)(float *to, const float *from, int64_t from_step, int64_t m, int64_t n) {
    switch (m) {
    case 1:
        few_in(to, from, from_step, 1, n);
        break;
    case 2:
        few_in(to, from, from_step, 2, n);
        break;
    case 3:
        few_in(to, from, from_step, 3, n);
        break;
    default:
        few_in(to, from, from_step, 4, n);
    }
}

static void write_out(float *to, int64_t to_step, const float *from, int64_t m, int64_t n) {
    switch (m) {
    case 1:
        few_out(to, to_step, from, 1, n);
        break;
    case 2:
        few_out(to, to_step, from, 2, n);
        break;
    case 3:
        few_out(to, to_step, from, 3, n);
        break;
    default:
        few_out(to, to_step, from, 4, n);
    }
}

/* The samples of a block of points, [point][plane]. */
static void weigh(float *restrict to, const float *restrict image, int64_t row, const grid_places *at, int64_t n) {
    for (int64_t p = 0; p < n; p++) {
        const float *upper = image + (int64_t)at->offset[p] * GRID_FEW, *lower = upper + row;
        few above = at->left[p] * few_at(upper) + at->right[p] * few_at(upper + GRID_FEW);
        few below = at->left[p] * few_at(lower) + at->right[p] * few_at(lower + GRID_FEW);
        put_few(to + p * GRID_FEW, at->upper[p] * above + at->lower[p] * below);
    }
}

static void pick(float *restrict to, const float *restrict image, const grid_places *at, int64_t n) {
    for (int64_t p = 0; p < n; p++) {
        put_few(to + p * GRID_FEW, few_at(image + (int64_t)at->offset[p] * GRID_FEW));
    }
}

void ISA_SYMBOL(grid_few)(const grid_few *f, const float *xy, float *out, int64_t out_step, int64_t n) {
    grid_places at;
    float made[GRID_BLOCK * GRID_FEW];
    grid_places_fn *const find = f->is_nearest ? ISA_SYMBOL(grid_nearest_places) : ISA_SYMBOL(grid_places);
    const int64_t row = (f->axes[1].size + GRID_BORDERS) * GRID_FEW, size = grid_few_pixels(f->axes) * GRID_FEW;
    for (int64_t done = 0; done < n; done += GRID_BLOCK) {
        int64_t m = n - done < GRID_BLOCK ? n - done : GRID_BLOCK;
        find(&at, f->axes, xy + 2 * done, m);
        for (int64_t c = 0; c < f->channels; c += GRID_FEW) {
            const float *image = f->image + c / GRID_FEW * size;
            f->is_nearest ? pick(made, image, &at, m) : weigh(made, image, row, &at, m);
            write_out(out + c * out_step + done, out_step, made, f->channels - c, m);
        }
    }
}

/* Slopes of a block of points, by plane, times the planes' gradients: across and down, each [point][plane]. */
static void weigh_slopes(float *restrict across, float *restrict down, const float *restrict grads, const float *restrict image,
                         int64_t row, const grid_places *at, int64_t n) {
    for (int64_t p = 0; p < n; p++) {
        const float *upper = image + (int64_t)at->offset[p] * GRID_FEW, *lower = upper + row;
        few a = few_at(upper), b = few_at(upper + GRID_FEW), c = few_at(lower), d = few_at(lower + GRID_FEW);
        few grad = few_at(grads + p * GRID_FEW);
        put_few(across + p * GRID_FEW, grad * (at->upper[p] * (b - a) + at->lower[p] * (d - c)));
        put_few(down + p * GRID_FEW, grad * (at->left[p] * (c - a) + at->right[p] * (d - b)));
    }
}

static void add_sums(float *restrict to, const float *restrict from, int64_t n) {
    for (int64_t p = 0; p < n; p++) {
        to[p] += (from[4 * p] + from[4 * p + 1]) + (from[4 * p + 2] + from[4 * p + 3]);
    }
}

void ISA_SYMBOL(grid_few_back)(const grid_few *f, const float *xy, const float *grad, int64_t grad_step, float *out, int64_t n) {
    grid_places at;
    float across[GRID_BLOCK * GRID_FEW], down[GRID_BLOCK * GRID_FEW], grads[GRID_BLOCK * GRID_FEW], by_x[GRID_BLOCK], by_y[GRID_BLOCK];
    const int64_t row = (f->axes[1].size + GRID_BORDERS) * GRID_FEW, size = grid_few_pixels(f->axes) * GRID_FEW;
    for (int64_t done = 0; done < n; done += GRID_BLOCK) {
        int64_t m = n - done < GRID_BLOCK ? n - done : GRID_BLOCK;
        ISA_SYMBOL(grid_places)(&at, f->axes, xy + 2 * done, m);
        memset(by_x, 0, sizeof by_x);
        memset(by_y, 0, sizeof by_y);
        for (int64_t c = 0; c < f->channels; c += GRID_FEW) {
            ISA_SYMBOL(grid_few_in)(grads, grad + c * grad_step + done, grad_step, f->channels - c, m);
            weigh_slopes(across, down, grads, f->image + c / GRID_FEW * size, row, &at, m);
            add_sums(by_x, across, m);
            add_sums(by_y, down, m);
        }
        ISA_SYMBOL(grid_slopes)(out + 2 * done, f->axes, xy + 2 * done, by_x, by_y, m);
    }
}
