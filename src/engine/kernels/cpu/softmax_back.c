/* SPDX-License-Identifier: Apache-2.0 */
/* The gradient of softmax, and of its logarithm, over lines that lie along memory. */
#include "engine/kernels/cpu/softmax.h"

#include "engine/kernels/cpu/isa/row_halves.h"

/* One line, a block at a time: the sum, then the gradient. Short lines are still in cache the second time. */
static void backward_line(const softmax *s, const char *g, const char *y, char *out, char *work) {
    const row_loops *l = s->l;
    char *more = work + ROW_BLOCK * l->size, *made = more + ROW_BLOCK * l->size;
    row_wide sum = {.f = 0};
    for (int64_t i = 0; i < s->n; i += ROW_BLOCK) {
        int64_t n = s->n - i < ROW_BLOCK ? s->n - i : ROW_BLOCK;
        const void *grad = softmax_fetch(s, X, work, g, i, n);
        if (s->logarithm) {
            l->fold[ROW_SUM](&sum, grad, n);
        } else {
            sum.f += l->dot(grad, softmax_fetch(s, G, more, y, i, n), n);
        }
    }
    for (int64_t i = 0; i < s->n; i += ROW_BLOCK) {
        int64_t n = s->n - i < ROW_BLOCK ? s->n - i : ROW_BLOCK;
        bool is_loaded = s->n <= ROW_BLOCK && !s->logarithm; /* a line of one block is still where it was loaded to */
        bool direct_g = s->type[X] == l->type && s->stride[X] == (int64_t)l->size;
        bool direct_y = s->type[G] == l->type && s->stride[G] == (int64_t)l->size;
        const void *grad = is_loaded && !direct_g ? work : softmax_fetch(s, X, work, g, i, n);
        const void *output = is_loaded && !direct_y ? more : softmax_fetch(s, G, more, y, i, n);
        void *to = row_target(l, made, out + i * s->stride[Y], s->type[Y], s->stride[Y]);
        (s->logarithm ? l->log_softmax_back : l->softmax_back)(to, grad, output, sum.f, n);
        row_put(l, out + i * s->stride[Y], s->type[Y], s->stride[Y], to, n);
    }
}

void softmax_back_lines(const softmax *s, int64_t from, int64_t to, char *work) {
    int64_t index[TENSOR_MAX_DIMS], offset[LOOP_MAX_OPERANDS];
    for (int64_t i = from; i < to; i++) {
        loop_seek(&s->lines, i, index, offset);
        backward_line(s, s->lines.data[X] + offset[X], s->lines.data[G] + offset[G], s->lines.data[Y] + offset[Y], work);
    }
}

/* Short lines one behind the other in all three: brought in and stored as many as fit a block at once. */
void softmax_back_short_lines(const softmax *s, int64_t from, int64_t to, char *work) {
    const row_loops *l = s->l;
    const bool is_native = s->type[X] == l->type && s->type[G] == l->type && s->type[Y] == l->type;
    int64_t line = s->n * (int64_t)l->size, index[TENSOR_MAX_DIMS], offset[LOOP_MAX_OPERANDS];
    const bool is_short = line <= SOFTMAX_SHORT_BYTES;
    const int64_t most = is_native && is_short ? to - from : ROW_BLOCK / s->n;
    char *more = work + ROW_BLOCK * l->size, *made = more + ROW_BLOCK * l->size;
    for (int64_t i = from; i < to; i += most) {
        int64_t rows = to - i < most ? to - i : most, n = rows * s->n;
        loop_seek(&s->lines, i, index, offset);
        char *out = s->lines.data[Y] + offset[Y];
        const char *g = row_fetch(l, work, s->lines.data[X] + offset[X], s->type[X], s->stride[X], n);
        const char *y = row_fetch(l, more, s->lines.data[G] + offset[G], s->type[G], s->stride[G], n);
        char *target = row_target(l, made, out, s->type[Y], s->stride[Y]);
        if (is_short) {
            l->softmax_back_short(target, g, y, rows, s->n, s->logarithm);
        }
        for (int64_t at = is_short ? rows * line : 0; at < rows * line; at += line) {
            row_wide sum = {.f = 0};
            if (s->logarithm) {
                l->fold[ROW_SUM](&sum, g + at, s->n);
                l->log_softmax_back(target + at, g + at, y + at, sum.f, s->n);
            } else {
                sum.f = l->dot(g + at, y + at, s->n);
                l->softmax_back(target + at, g + at, y + at, sum.f, s->n);
            }
        }
        row_put(l, out, s->type[Y], s->stride[Y], target, n);
    }
}

/* Lines of halves one behind the other, widened in registers, twice. */
void softmax_back_half_lines(const softmax *s, int64_t from, int64_t to, char *work) {
    const int64_t line = s->n * (int64_t)sizeof(uint16_t);
    (void)work;
    row_halves_for(s->type[X])->softmax_back(s->lines.data[Y] + from * line, s->lines.data[X] + from * line, s->lines.data[G] + from * line,
                                             to - from, s->n);
}

/* Whether lines of so many halves are better widened in registers than brought to f32, many at a time. Without AVX-512 ends that fill no
   register cost more, and long lines of bf16 take 1.2 of the time. */
static bool widen_soon(int64_t n) {
    enum { LEAST = 32, EVEN = 16, LEAST_UNEVEN = 128, MOST = 256 };
    return isa_best() == ISA_AVX512 ? n >= LEAST : isa_best() == ISA_AVX2 && n <= MOST && (n % EVEN == 0 || n >= LEAST_UNEVEN);
}

/* Whether lines of halves are, and lie so: all of them one behind the other. */
bool softmax_are_half_lines(const softmax *s) {
    bool are = widen_soon(s->n) && !s->logarithm && !s->past && softmax_is_of_one_type(s, true) && dtype_size(s->type[X]) == sizeof(uint16_t) && s->lines.ndim <= 1;
    for (int k = 0; k < OPERANDS; k++) {
        are = are && (s->stride[k] == (int64_t)sizeof(uint16_t) || s->n == 1) &&
              (s->lines.numel == 1 || s->lines.strides[k][0] == s->n * (int64_t)sizeof(uint16_t));
    }
    return are;
}
