/* SPDX-License-Identifier: Apache-2.0 */
/* The loops over rows of f16 and bf16 against plain loops in double, by all instruction sets that this CPU has: lengths around those of
   vectors and blocks, rows that begin anywhere. What lies around them is NaN, which shows wherever it is read. */
#include "unit.h"

#include "base/rng.h"
#include "base/status.h"
#include "engine/kernels/cpu/isa/row_halves.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SEED = 23, GUARD = 80 };

typedef struct halves {
    const row_halves *loops;
    const char *isa;
    dtype type;
} halves;

/* Each set of loops; NULL where this CPU cannot run them. */
static const halves *sets(int *n) {
    static halves all[2 * ISA_COUNT];
    *n = 0;
    all[(*n)++] = (halves){&row_halves_f16_baseline, "baseline", ASSAY_F16};
    all[(*n)++] = (halves){&row_halves_bf16_baseline, "baseline", ASSAY_BF16};
#if defined(__x86_64__)
    if (isa_best() >= ISA_AVX2) {
        all[(*n)++] = (halves){&row_halves_f16_avx2, "avx2", ASSAY_F16};
        all[(*n)++] = (halves){&row_halves_bf16_avx2, "avx2", ASSAY_BF16};
    }
    if (isa_best() >= ISA_AVX512) {
        all[(*n)++] = (halves){&row_halves_f16_avx512, "avx512", ASSAY_F16};
        all[(*n)++] = (halves){&row_halves_bf16_avx512, "avx512", ASSAY_BF16};
    }
#endif
    return all;
}

/* Elements between NaN, from a place that need be no multiple of anything. */
typedef struct block {
    dtype type;
    uint16_t *memory, *at;
} block;

static block block_make(dtype t, rng *r, int64_t n) {
    block b = {.type = t, .memory = malloc((size_t)(n + 3 * GUARD) * sizeof(uint16_t))};
    assert_non_null(b.memory);
    b.at = b.memory + GUARD + rng_range(r, 0, GUARD - 1);
    for (int64_t i = 0; i < n + 3 * GUARD; i++) {
        element_store(t, b.memory + i, NAN);
    }
    return b;
}

static void set(const block *b, int64_t i, double x) {
    element_store(b->type, b->at + i, x);
}

static double get(const block *b, int64_t i) {
    return element_load(b->type, b->at + i);
}

static void fill(const block *b, rng *r, int64_t rows, int64_t stride, int64_t n, double scale, double offset) {
    for (int64_t k = 0; k < rows; k++) {
        for (int64_t i = 0; i < n; i++) {
            set(b, k * stride + i, (rng_uniform(r) * 2 - 1) * scale + offset);
        }
    }
}

/* Equal, NaN to NaN and infinities to themselves, or nearer than a share of `scale`. */
static void near(const halves *h, const char *what, int64_t n, double made, double expected, double scale) {
    bool same = isnan(expected) ? isnan(made) : made == expected || fabs(made - expected) <= scale;
    if (!same) {
        print_error("%s of %s, %s, n %lld: expected %.9g, got %.9g (seed %d)\n", what, h->isa, dtype_torch_name(h->type), (long long)n,
                    expected, made, SEED);
        assert_true(false);
    }
}

static const int64_t lengths[] = {1, 2, 7, 8, 9, 15, 16, 17, 31, 32, 33, 47, 63, 64, 65, 66, 95, 96, 97, 127, 128, 129, 200, 1000,
                                  ROW_BLOCK - 1, ROW_BLOCK, ROW_BLOCK + 1, ROW_BLOCK + 63, 2 * ROW_BLOCK + 33};
enum { UP_TO_BLOCK = 26 }; /* of them, rows that are one block at most */

static double fold_plainly(row_kind kind, double total, double x) {
    switch (kind) {
    case ROW_SUM:
        return total + x;
    case ROW_SQUARES:
        return total + x * x;
    case ROW_SIZES:
        return total + fabs(x);
    case ROW_LARGEST:
        return isnan(total) || total > x ? total : x;
    case ROW_SMALLEST:
        return isnan(total) || total < x ? total : x;
    case ROW_NONZERO:
        return x != 0 ? 1 : total;
    default:
        return x == 0 ? 1 : total;
    }
}

static void check_folds(const halves *h, const block *b, int64_t n) {
    double sizes = 0;
    for (int64_t i = 0; i < n; i++) {
        sizes += isfinite(get(b, i)) ? fabs(get(b, i)) * (1 + fabs(get(b, i))) : 0;
    }
    for (row_kind kind = 0; kind < ROW_KINDS; kind++) {
        static const double starts[ROW_KINDS] = {[ROW_SUM] = 3, [ROW_LARGEST] = -INFINITY, [ROW_SMALLEST] = INFINITY};
        static const char *const names[ROW_KINDS] = {"sum", "squares", "sizes", "largest", "smallest", "nonzero", "zero"};
        row_wide total = {.f = starts[kind]}, more = {.f = NAN};
        double expected = total.f;
        for (int64_t i = 0; i < n; i++) {
            expected = fold_plainly(kind, expected, get(b, i));
        }
        h->loops->fold[kind](&total, b->at, n);
        near(h, names[kind], n, total.f, expected, 1e-6 * (sizes + 3) * (kind <= ROW_SIZES));
        if (kind == ROW_LARGEST || kind == ROW_SMALLEST) {
            h->loops->fold[kind](&more, b->at, n);
            near(h, "NaN before", n, more.f, NAN, 0);
        }
    }
}

/* Numbers, then one that is special at each end and within. */
static void folds_agree(void **state) {
    (void)state;
    enum { PLACES = 5 };
    static const double specials[] = {NAN, INFINITY, -INFINITY, 0, -0.0, 1e-6, -1e-6};
    rng r = rng_make(SEED);
    int n_sets;
    const halves *all = sets(&n_sets);
    for (size_t k = 0; k < (size_t)n_sets * countof(lengths); k++) {
        const halves *h = &all[k / countof(lengths)];
        int64_t n = lengths[k % countof(lengths)];
        block b = block_make(h->type, &r, n);
        for (int sign = -1; sign <= 1; sign++) {
            fill(&b, &r, 1, n, n, 1, 1.5 * sign);
            check_folds(h, &b, n);
        }
        for (size_t i = 0; i < countof(specials) * PLACES; i++) {
            int64_t at[PLACES] = {0, n - 1, n / 2, n > 33 ? n - 33 : 0, rng_range(&r, 0, n)}, place = at[i / countof(specials)];
            double before = get(&b, place);
            set(&b, place, specials[i % countof(specials)]);
            check_folds(h, &b, n);
            set(&b, 0, -INFINITY);
            check_folds(h, &b, n);
            set(&b, 0, 2);
            set(&b, place, before);
        }
        fill(&b, &r, 1, n, n, 0, 0);
        check_folds(h, &b, n);
        set(&b, n - 1, -1e-7);
        check_folds(h, &b, n);
        free(b.memory);
    }
}

/* NaN of any bits are NaN, and numbers next to them are not. */
static void all_bits_agree(void **state) {
    (void)state;
    rng r = rng_make(SEED);
    int n_sets;
    const halves *all = sets(&n_sets);
    for (const halves *h = all; h < all + n_sets; h++) {
        block b = block_make(h->type, &r, 3);
        for (int bits = 0; bits < 65536; bits += bits % 1024 == 40 ? 900 : 1) {
            b.at[0] = 0, b.at[1] = (uint16_t)bits, b.at[2] = 0x8000;
            for (row_kind kind = ROW_LARGEST; kind <= ROW_ZERO; kind++) {
                row_wide total = {.f = kind == ROW_LARGEST ? -INFINITY : kind == ROW_SMALLEST ? INFINITY : 0};
                double expected = fold_plainly(kind, total.f, get(&b, 1));
                h->loops->fold[kind](&total, b.at + 1, 1);
                near(h, "bits", bits, total.f, expected, 0);
            }
            int16_t best = HALF_KEY_WORST;
            double x = get(&b, 1);
            near(h, "place of bits", bits, (double)h->loops->place(&best, b.at, 3, false, false), isnan(x) || x > 0 ? 1 : 0, 0);
            best = HALF_KEY_WORST;
            near(h, "place of bits", bits, (double)h->loops->place(&best, b.at, 3, true, false), isnan(x) || x < 0 ? 1 : 0, 0);
        }
        free(b.memory);
    }
}

static void check_columns(const halves *h, const block *b, int64_t rows, int64_t stride, int64_t n, row_kind kind) {
    static float sums[ROW_HALVES_COLUMNS];
    for (int64_t i = 0; i < ROW_HALVES_COLUMNS; i++) {
        sums[i] = (float)i;
    }
    h->loops->add_rows[kind](sums, b->at, rows, stride, n);
    for (int64_t i = 0; i < n; i++) {
        double expected = (double)i;
        for (int64_t k = 0; k < rows; k++) {
            expected = fold_plainly(kind, expected, get(b, k * stride + i));
        }
        near(h, "column", i, (double)sums[i], expected, 1e-6 * (double)(i + 9 * rows));
    }
}

/* So many that those which lie one behind the other may be taken in another order. */
static void many_rows_agree(void **state) {
    (void)state;
    rng r = rng_make(SEED + 3);
    int n_sets;
    const halves *all = sets(&n_sets);
    for (int round = 0; round < 12 * n_sets; round++) {
        const halves *h = &all[round % n_sets];
        int64_t n = 200 + rng_range(&r, 0, 700), rows = 80 + rng_range(&r, 0, 280), stride = n + (round / n_sets % 3 == 2 ? 5 : 0);
        block b = block_make(h->type, &r, rows * stride);
        fill(&b, &r, rows, stride, n, 2, round / n_sets % 2);
        check_columns(h, &b, rows, stride, n, (row_kind)(ROW_SUM + round / n_sets % 3));
        free(b.memory);
    }
}

/* Several rows at once: each for itself, and by columns. */
static void rows_agree(void **state) {
    (void)state;
    rng r = rng_make(SEED + 1);
    int n_sets;
    const halves *all = sets(&n_sets);
    for (int round = 0; round < 240 * n_sets; round++) {
        const halves *h = &all[round % n_sets];
        int64_t rows = 1 + rng_range(&r, 0, 12), n = 1 + rng_range(&r, 0, round / n_sets % 8 == 0 ? 999 : 140);
        int64_t stride = n + rng_range(&r, 0, 40) * (round / n_sets % 3 != 0);
        block b = block_make(h->type, &r, rows * stride);
        fill(&b, &r, rows, stride, n, 2, round / n_sets % 2);
        for (row_kind kind = ROW_SUM; kind <= ROW_SIZES; kind++) {
            row_wide totals[16];
            const bool goes_on = kind != ROW_SQUARES && round % 2 == 0; /* from 5, else from nothing, whatever is there */
            for (int64_t k = 0; k < rows; k++) {
                totals[k].f = 5;
            }
            h->loops->fold_short[kind](totals, b.at, rows, stride, n, goes_on);
            for (int64_t k = 0; k < rows; k++) {
                double expected = goes_on ? 5 : 0;
                for (int64_t i = 0; i < n; i++) {
                    expected = fold_plainly(kind, expected, get(&b, k * stride + i));
                }
                near(h, "short row", n, totals[k].f, expected, 1e-5 * (double)n);
            }
            check_columns(h, &b, rows, stride, n, kind);
        }
        free(b.memory);
    }
}

/* Whether x is to be taken for the best so far. */
static bool beats(double x, double best, bool smallest) {
    return !isnan(best) && (isnan(x) || (smallest ? x < best : x > best));
}

static const double few[] = {0, -0.0, 1, -1, 1.5, 3, -3, 3, -3, INFINITY, -INFINITY, NAN};

/* Few different numbers: there are equals, of which the first counts. */
static void fill_with_few(const block *b, rng *r, int64_t n) {
    int64_t most = rng_range(r, 1, countof(few));
    for (int64_t i = 0; i < n; i++) {
        set(b, i, few[rng_range(r, 0, most + 1)]);
    }
}

static void places_agree(void **state) {
    (void)state;
    rng r = rng_make(SEED + 2);
    int n_sets;
    const halves *all = sets(&n_sets);
    for (size_t k = 0; k < (size_t)n_sets * countof(lengths) * 12; k++) {
        const halves *h = &all[k % (size_t)n_sets];
        int64_t n = lengths[k / (size_t)n_sets % UP_TO_BLOCK], first = 0, place = 0;
        bool smallest = rng_range(&r, 0, 2) == 1;
        block b = block_make(h->type, &r, n);
        fill_with_few(&b, &r, n);
        for (int64_t i = 1; i < n; i++) {
            first = beats(get(&b, i), get(&b, first), smallest) ? i : first;
        }
        int16_t best = HALF_KEY_WORST;
        near(h, "place", n, (double)h->loops->place(&best, b.at, n, smallest, k % 2 == 0), (double)first, 0);
        near(h, "place again", n, (double)h->loops->place(&best, b.at, n, smallest, k % 2 == 0), -1, 0);
        /* By parts, of which later ones have to beat those before them. */
        best = HALF_KEY_WORST;
        for (int64_t from = 0, some; from < n; from += some) {
            some = 1 + rng_range(&r, 0, n - from);
            int64_t at = h->loops->place(&best, b.at + from, some, smallest, k % 2 == 0);
            place = at >= 0 ? from + at : place;
        }
        near(h, "place by parts", n, (double)place, (double)first, 0);
        free(b.memory);
    }
}

static void places_by_columns_agree(void **state) {
    (void)state;
    rng r = rng_make(SEED + 3);
    int n_sets;
    const halves *all = sets(&n_sets);
    for (int round = 0; round < 120 * n_sets; round++) {
        const halves *h = &all[round % n_sets];
        bool by_quarters = round / n_sets % 20 == 7; /* so many rows one behind the other that they go by quarters */
        int64_t rows = by_quarters ? 600 + rng_range(&r, 0, 60) : 1 + rng_range(&r, 0, 14);
        int64_t n = by_quarters ? 110 + rng_range(&r, 0, 80) : 1 + rng_range(&r, 0, 150);
        int64_t stride = n + (by_quarters ? 0 : rng_range(&r, 0, 9));
        bool smallest = rng_range(&r, 0, 2) == 1;
        block b = block_make(h->type, &r, rows * stride);
        int16_t best[192], where[192];
        fill_with_few(&b, &r, rows * stride - (stride - n));
        for (int i = 0; i < 192; i++) {
            best[i] = HALF_KEY_WORST;
            where[i] = -1;
        }
        h->loops->place_rows(best, where, b.at, rows, stride, n, smallest, round / n_sets % 2 == 1);
        for (int64_t i = 0; i < n; i++) {
            int64_t first = 0;
            for (int64_t k = 1; k < rows; k++) {
                first = beats(get(&b, k * stride + i), get(&b, first * stride + i), smallest) ? k : first;
            }
            near(h, "place in column", i, where[i], (double)first, 0);
        }
        free(b.memory);
    }
}

/* Mean and sum of squared distances of n elements, a step apart. */
static void moments_plainly(const block *b, int64_t at, int64_t step, int64_t n, double *mean, double *m2) {
    double sum = 0;
    *m2 = 0;
    for (int64_t i = 0; i < n; i++) {
        sum += get(b, at + i * step);
    }
    *mean = sum / (double)n;
    for (int64_t i = 0; i < n; i++) {
        double d = get(b, at + i * step) - *mean;
        *m2 += d * d;
    }
}

/* Few elements far from all others, at their beginning, are what distances are taken from. */
static void moments_agree(void **state) {
    (void)state;
    rng r = rng_make(SEED + 4);
    int n_sets;
    const halves *all = sets(&n_sets);
    static float means[ROW_HALVES_COLUMNS], squares[ROW_HALVES_COLUMNS];
    for (int round = 0; round < 600 * n_sets; round++) {
        const halves *h = &all[round % n_sets];
        bool is_long = round / n_sets % 4 == 0, by_quarters = round / n_sets % 40 == 1;
        int64_t rows = by_quarters ? 200 + rng_range(&r, 0, 20) : 1 + rng_range(&r, 0, is_long ? 2 : 20);
        int64_t n = is_long ? lengths[rng_range(&r, 0, UP_TO_BLOCK)] : by_quarters ? 340 + rng_range(&r, 0, 80) : 1 + rng_range(&r, 0, 150);
        double mean[256], m2[256], offset = (double)rng_range(&r, 0, 3) * 50, expected, squared;
        block b = block_make(h->type, &r, rows * n);
        fill(&b, &r, rows, n, n, 1, offset);
        for (int64_t i = 0; round / n_sets % 3 == 0 && i < n; i++) {
            set(&b, i, 500);
        }
        for (int64_t i = 0; round / n_sets % 3 == 1 && i < n && i < 70; i++) {
            set(&b, (rows - 1) * n + i, -500);
        }
        if (round / n_sets % 3 == 2) {
            set(&b, 0, -500);
        }
        h->loops->moments(b.at, rows, n, mean, m2);
        for (int64_t k = 0; k < rows; k++) {
            moments_plainly(&b, k * n, 1, n, &expected, &squared);
            near(h, "mean", n, mean[k], expected, 1e-6 * (600 + offset));
            near(h, "squares", n, m2[k], squared, 1e-5 * squared + 1e-9 * offset);
        }
        if (n <= ROW_HALVES_COLUMNS) {
            h->loops->moments_columns(b.at, rows, n, n, means, squares);
            for (int64_t i = 0; i < n; i++) {
                moments_plainly(&b, i, n, rows, &expected, &squared);
                near(h, "mean of column", i, (double)means[i], expected, 1e-6 * (600 + offset));
                near(h, "squares of column", i, (double)squares[i], squared, 5e-5 * squared + 1e-9 * offset);
            }
        }
        free(b.memory);
    }
}

/* Infinite means stay such; numbers near the largest have finite ones where sums of them do. */
static void odd_moments_agree(void **state) {
    (void)state;
    rng r = rng_make(SEED + 5);
    int n_sets;
    const halves *all = sets(&n_sets);
    static const double odd[] = {INFINITY, -INFINITY, NAN};
    for (int round = 0; round < 60 * n_sets; round++) {
        const halves *h = &all[round % n_sets];
        int64_t n = lengths[rng_range(&r, 0, UP_TO_BLOCK)], at = rng_range(&r, 0, n);
        double mean, m2, x = odd[rng_range(&r, 0, 3)];
        block b = block_make(h->type, &r, n);
        fill(&b, &r, 1, n, n, 1, 0);
        set(&b, at, x);
        h->loops->moments(b.at, 1, n, &mean, &m2);
        near(h, "mean", n, mean, x, 0);
        near(h, "squares", n, m2, NAN, 0);
        free(b.memory);
    }
}

/* Numbers whose sums are exact in float, so that results round once; some sums grow beyond the type, and some rows have what is not
   finite, or in bf16 sums beyond float: those loops have to refuse and to leave the total as it was. */
typedef enum scanned_kind { SCAN_SMALL, SCAN_LARGE, SCAN_INFINITE, SCAN_NAN, SCAN_BEYOND, SCAN_KINDS } scanned_kind;

static void fill_for_scan(const block *b, rng *r, int64_t n, scanned_kind kind) {
    for (int64_t i = 0; i < n; i++) {
        set(b, i, (double)(rng_range(r, 0, 9) - 4) / 4 + (kind == SCAN_LARGE) * 200);
    }
    if (kind > SCAN_LARGE) {
        set(b, rng_range(r, 0, n), kind == SCAN_INFINITE ? -INFINITY : kind == SCAN_NAN ? NAN : 3e38);
        set(b, rng_range(r, 0, n), kind == SCAN_BEYOND ? 3e38 : 1);
    }
}

/* The sum as it is stored. */
static double rounded(dtype t, double x) {
    uint16_t bits;
    element_store(t, &bits, x);
    return element_load(t, &bits);
}

static void scans_agree(void **state) {
    (void)state;
    enum { LENGTHS = 9 };
    static const int64_t others[LENGTHS] = {3, 31, 255, 256, 257, 289, 511, 512, 1600};
    rng r = rng_make(SEED + 6);
    int n_sets;
    const halves *all = sets(&n_sets);
    for (int round = 0; round < 60 * SCAN_KINDS * n_sets; round++) {
        const halves *h = &all[round % n_sets];
        scanned_kind kind = (scanned_kind)(round / n_sets % SCAN_KINDS);
        int64_t n = rng_range(&r, 0, 2) == 0 ? lengths[rng_range(&r, 0, UP_TO_BLOCK)] : others[rng_range(&r, 0, LENGTHS)];
        bool (*scan)(void *, const void *, double *, int64_t, bool) = h->loops->scan[isa_rounds_to_bf16() && rng_range(&r, 0, 2) == 0];
        if (scan == NULL) {
            continue;
        }
        block x = block_make(h->type, &r, n), y = block_make(h->type, &r, n + 32);
        bool past = rng_range(&r, 0, 3) == 0; /* not by the round, which chooses the set */
        y.at += past ? (-(uintptr_t)y.at & 63) / sizeof *y.at : 0;
        fill_for_scan(&x, &r, n, kind);
        double total = kind == SCAN_LARGE ? 1e6 : 0.25 * (double)(round / n_sets % 5), before = total, sum = total;
        bool made = scan(y.at, x.at, &total, n, past), finite = true;
        for (int64_t i = 0; i < n; i++) {
            sum += get(&x, i);
            finite = finite && fabs(sum) <= 3.4e38;
        }
        if (!finite) {
            near(h, "refusal", n, made, 0, 0);
        }
        near(h, "total", n, total, made ? sum : before, 0);
        assert_true(made || kind >= SCAN_INFINITE);
        sum = before;
        for (int64_t i = 0; made && i < n; i++) {
            sum += get(&x, i);
            near(h, "running sum", n, get(&y, i), rounded(h->type, sum), kind == SCAN_BEYOND ? fabs(sum) / 100 : 0);
        }
        assert_true(isnan(get(&y, -1)) && isnan(get(&y, n)));
        free(x.memory);
        free(y.memory);
    }
}

static void scans_by_columns_agree(void **state) {
    (void)state;
    static double totals[ROW_HALVES_COLUMNS], sums[ROW_HALVES_COLUMNS];
    rng r = rng_make(SEED + 7);
    int n_sets;
    const halves *all = sets(&n_sets);
    for (int round = 0; round < 30 * SCAN_KINDS * n_sets; round++) {
        const halves *h = &all[round % n_sets];
        scanned_kind kind = (scanned_kind)(round / n_sets % SCAN_KINDS);
        bool past = rng_range(&r, 0, 3) == 0, made, finite = true;
        int64_t rows = 1 + rng_range(&r, 0, SCAN_BLOCK), n = 1 + rng_range(&r, 0, rng_range(&r, 0, 8) == 0 ? ROW_HALVES_COLUMNS : 140);
        int64_t stride = n + rng_range(&r, 0, 40), out = past ? (n + 63) / 32 * 32 : n + 1 + rng_range(&r, 0, 9);
        block x = block_make(h->type, &r, rows * stride), y = block_make(h->type, &r, rows * out + 32);
        y.at += past ? (-(uintptr_t)y.at & 63) / sizeof *y.at : 0;
        fill_for_scan(&x, &r, rows * stride, kind == SCAN_SMALL ? kind : rng_range(&r, 0, 2) == 0 ? SCAN_LARGE : kind);
        for (int64_t i = 0; i < n; i++) {
            totals[i] = sums[i] = (double)(i % 7);
        }
        made = h->loops->scan_columns(y.at, out, x.at, stride, totals, rows, n, past);
        for (int64_t i = 0; i < rows * n; i++) {
            sums[i % n] += get(&x, i / n * stride + i % n);
            finite = finite && fabs(sums[i % n]) <= 3.4e38;
            if (made) {
                near(h, "running sum of a column", n, get(&y, i / n * out + i % n), rounded(h->type, sums[i % n]),
                     fabs(sums[i % n]) > 1e30 ? fabs(sums[i % n]) / 100 : 0);
            }
        }
        for (int64_t i = 0; i < n; i++) {
            near(h, "total of a column", i, totals[i], made ? sums[i] : (double)(i % 7), fabs(sums[i]) > 1e30 ? fabs(sums[i]) / 1e6 : 0);
        }
        for (int64_t k = 0; k < rows; k++) {
            assert_true(isnan(get(&y, k * out + n)));
        }
        assert_true(made ? finite : kind >= SCAN_INFINITE);
        free(x.memory);
        free(y.memory);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(folds_agree),   cmocka_unit_test(all_bits_agree),          cmocka_unit_test(rows_agree),
        cmocka_unit_test(many_rows_agree),
        cmocka_unit_test(places_agree),  cmocka_unit_test(places_by_columns_agree), cmocka_unit_test(moments_agree),
        cmocka_unit_test(odd_moments_agree), cmocka_unit_test(scans_agree),             cmocka_unit_test(scans_by_columns_agree),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
