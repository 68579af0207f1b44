/* SPDX-License-Identifier: Apache-2.0 */
/* The row loops of softmax and its gradients, in `value`: a part of row_loops_real.h. */

static double exp_shifted(void *to, const void *row, double shift, int64_t n) {
    value *y = to;
    const value *x = row;
    value s = (value)shift;
    double total = 0;
    for (int64_t from = 0; from < n; from += ROW_BLOCK) {
        int64_t end = from + ROW_BLOCK < n ? from + ROW_BLOCK : n;
        value sum = 0;
#pragma omp simd reduction(+ : sum)
        for (int64_t i = from; i < end; i++) {
            value e = exp_shifted_of(x[i] - s);
            y[i] = e;
            sum += e;
        }
        total += (double)sum;
    }
    return total;
}

static double sum_exp(const void *row, double shift, int64_t n) {
    const value *x = row;
    value s = (value)shift;
    double total = 0;
    for (int64_t from = 0; from < n; from += ROW_BLOCK) {
        int64_t end = from + ROW_BLOCK < n ? from + ROW_BLOCK : n;
        value sum = 0;
#pragma omp simd reduction(+ : sum)
        for (int64_t i = from; i < end; i++) {
            sum += exp_shifted_of(x[i] - s);
        }
        total += (double)sum;
    }
    return total;
}

/* Many short rows one behind the other; to may be x. */
static void softmax_short(void *to, const void *at, int64_t rows, int64_t n, bool logarithm) {
    value *y = to;
    const value *x = at;
    for (int64_t r = 0; r < rows; r++, x += n, y += n) {
        row_wide largest = {.WIDE = (wide)-INFINITY};
        fold_largest(&largest, x, n);
        value m = (value)largest.WIDE, sum = 0;
        if (logarithm) {
#pragma omp simd reduction(+ : sum)
            for (int64_t i = 0; i < n; i++) {
                sum += exp_shifted_of(x[i] - m);
            }
            subtract(y, x, (double)m, log((double)sum), n);
            continue;
        }
#pragma omp simd reduction(+ : sum)
        for (int64_t i = 0; i < n; i++) {
            value e = exp_shifted_of(x[i] - m);
            y[i] = e;
            sum += e;
        }
        scale(y, y, 1 / (double)sum, 0, n);
    }
}

static void softmax_back(void *to, const void *grad, const void *output, double sum, int64_t n) {
    value *out = to;
    const value *g = grad, *y = output;
    value s = (value)sum;
#pragma omp simd
    for (int64_t i = 0; i < n; i++) {
        out[i] = (g[i] - s) * y[i];
    }
}

static void log_softmax_back(void *to, const void *grad, const void *output, double sum, int64_t n) {
    value *out = to;
    const value *g = grad, *y = output;
    value s = (value)sum;
#pragma omp simd
    for (int64_t i = 0; i < n; i++) {
        out[i] = g[i] - exp_of(y[i]) * s;
    }
}

static void log_beyond_1(void *to, const void *from, int64_t n) {
    value *y = to;
    const value *x = from;
#pragma omp simd
    for (int64_t i = 0; i < n; i++) {
        y[i] = log_beyond_1_of(x[i]);
    }
}

static void softmax_columns(void *block, int64_t rows, int64_t n, bool logarithm, void *work) {
    value *x = block, *largest = work, *sum = largest + n;
    memcpy(largest, x, (size_t)n * sizeof *x);
    for (int64_t r = 1; r < rows; r++) {
        into_largest(largest, x + r * n, n);
    }
    memset(sum, 0, (size_t)n * sizeof *sum);
    for (int64_t r = 0; r < rows; r++) {
        value *row = x + r * n;
#pragma omp simd
        for (int64_t i = 0; i < n; i++) {
            value e = exp_shifted_of(row[i] - largest[i]);
            sum[i] += e;
            row[i] = logarithm ? row[i] : e;
        }
    }
    for (int64_t i = 0; i < n; i++) {
        sum[i] = logarithm ? (value)log((double)sum[i]) : 1 / sum[i];
    }
    for (int64_t r = 0; r < rows; r++) {
        value *row = x + r * n;
#pragma omp simd
        for (int64_t i = 0; i < n; i++) {
            row[i] = logarithm ? (row[i] - largest[i]) - sum[i] : row[i] * sum[i];
        }
    }
}

static void softmax_back_columns(void *grad, const void *output, int64_t rows, int64_t n, bool logarithm, void *work) {
    value *g = grad, *sum = work;
    const value *y = output;
    memset(sum, 0, (size_t)n * sizeof *sum);
    for (int64_t at = 0; at < rows * n; at += n) {
#pragma omp simd
        for (int64_t i = 0; i < n; i++) {
            sum[i] += logarithm ? g[at + i] : g[at + i] * y[at + i];
        }
    }
    for (int64_t at = 0; at < rows * n; at += n) {
        if (logarithm) {
#pragma omp simd
            for (int64_t i = 0; i < n; i++) {
                g[at + i] = g[at + i] - exp_of(y[at + i]) * sum[i];
            }
            continue;
        }
#pragma omp simd
        for (int64_t i = 0; i < n; i++) {
            g[at + i] = (g[at + i] - sum[i]) * y[at + i];
        }
    }
}
