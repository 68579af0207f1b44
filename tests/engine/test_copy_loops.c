/* SPDX-License-Identifier: Apache-2.0 */
/* The inner loops of every instruction set this CPU has, against a loop over single bytes and the one-element
 * conversions. */
#include "unit.h"

#include "base/rng.h"
#include "base/status.h"
#include "engine/kernels/cpu/isa/convert_loops.h"
#include "engine/kernels/cpu/isa/copy_loops.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { SEED = 7, ROUNDS = 400, ROOM = 1 << 16 };

static int n_sets(void) {
    return (int)isa_best() + 1;
}

static const copy_loops *copy_set(int i) {
#if defined(__x86_64__)
    const copy_loops *const sets[] = {&copy_loops_baseline, &copy_loops_avx2, &copy_loops_avx512};
    return sets[i];
#else
    (void)i;
    return &copy_loops_baseline;
#endif
}

static const convert_loops *convert_set(int i) {
#if defined(__x86_64__)
    const convert_loops *const sets[] = {&convert_loops_baseline, &convert_loops_avx2, &convert_loops_avx512};
    return sets[i];
#else
    (void)i;
    return &convert_loops_baseline;
#endif
}

typedef struct rooms {
    char src[ROOM], made[ROOM], expected[ROOM];
} rooms;

static rooms *make_rooms(rng *r) {
    rooms *b = malloc(sizeof *b);
    assert_non_null(b);
    for (int i = 0; i < ROOM; i++) {
        b->src[i] = (char)rng_next(r);
        b->made[i] = b->expected[i] = (char)rng_next(r);
    }
    return b;
}

static void expect_same(const rooms *b, const char *what, int set, int round) {
    if (memcmp(b->made, b->expected, ROOM) != 0) {
        print_error("%s, %s, round %d (seed %d)\n", what, isa_name((isa)set), round, SEED);
        assert_true(false);
    }
}

/* Rows, with gaps and off any boundary: not a byte beyond them is touched. */
static void test_rows_and_streams(void **state) {
    (void)state;
    for (int set = 0; set < n_sets(); set++) {
        rng r = rng_make(SEED);
        for (int round = 0; round < ROUNDS; round++) {
            rooms *b = make_rooms(&r);
            int64_t bytes = rng_range(&r, 0, round % 3 == 0 ? 5000 : 300), n = rng_range(&r, 0, 8);
            int64_t ds = bytes + rng_range(&r, 0, 70), ss = rng_range(&r, -bytes, bytes + 70);
            int64_t to = rng_range(&r, 0, 200), from = rng_range(&r, 0, 200) + (ss < 0 ? -ss * 8 : 0);
            copy_set(set)->rows(b->made + to, b->src + from, (size_t)bytes, n, ds, ss);
            for (int64_t i = 0; i < n; i++) {
                memcpy(b->expected + to + i * ds, b->src + from + i * ss, (size_t)bytes);
            }
            expect_same(b, "rows", set, round);
            copy_set(set)->stream(b->made + to, b->src + from, (size_t)bytes);
            memcpy(b->expected + to, b->src + from, (size_t)bytes);
            expect_same(b, "stream", set, round);
            free(b);
        }
    }
}

static void test_strides_tiles_and_fills(void **state) {
    (void)state;
    for (int set = 0; set < n_sets(); set++) {
        rng r = rng_make(SEED + 1);
        for (int round = 0; round < ROUNDS; round++) {
            rooms *b = make_rooms(&r);
            int log2 = round % 5;
            int64_t size = INT64_C(1) << log2, ni = rng_range(&r, 0, 50), nj = rng_range(&r, 0, 50);
            int64_t gap = round % 2 == 0 ? 5 : 1; /* few rows or columns lie densely as often as not */
            ni = round % 3 == 1 ? rng_range(&r, 1, 8) : ni;
            nj = round % 3 == 2 ? rng_range(&r, 1, 8) : nj;
            int64_t ds = size * (ni + rng_range(&r, 0, gap)), ss = size * (nj + rng_range(&r, 0, gap));
            int64_t to = size * rng_range(&r, 0, 9), from = size * rng_range(&r, 0, 9);
            copy_set(set)->transpose(b->made + to, b->src + from, log2, ni, nj, ds, ss);
            for (int64_t i = 0; i < ni; i++) {
                for (int64_t j = 0; j < nj; j++) {
                    memcpy(b->expected + to + i * size + j * ds, b->src + from + i * ss + j * size, (size_t)size);
                }
            }
            expect_same(b, "transpose", set, round);
            static const int strides[] = {-3, -1, 0, 1, 2};
            ds = size * rng_range(&r, 1, 4);
            ss = size * strides[rng_range(&r, 0, 5)];
            from = 200 * size;
            copy_set(set)->strided(b->made + to, b->src + from, log2, ni, ds, ss);
            for (int64_t i = 0; i < ni; i++) {
                memcpy(b->expected + to + i * ds, b->src + from + i * ss, (size_t)size);
            }
            expect_same(b, "strided", set, round);
            char value[16];
            for (int64_t at = 0; at < 16; at += size) {
                memcpy(value + at, b->src, (size_t)size);
            }
            copy_set(set)->fill(b->made + to, value, log2, ni * 7, round % 2);
            for (int64_t i = 0; i < ni * 7; i++) {
                memcpy(b->expected + to + i * size, value, (size_t)size);
            }
            expect_same(b, "fill", set, round);
            free(b);
        }
    }
}

static const double specials[] = {0,     -0.0,       1,          -1,      0.5,    -0.5,     1.5,       2.5,
                                  65504, 65519.996,  65520,      1e-8,    3e-8,   6e-8,     -7.9,      127.99,
                                  126.5, -128,       1e30,       -1e30,   3.4e38, INFINITY, -INFINITY, NAN,
                                  255,   1.00390625, 1.01171875, 9.9e-39, 1e-41,  0.1,      1.0 / 3,   12345.678};

static bool is_whole(dtype t) {
    return dtype_category_of(t) < CATEGORY_FLOATING && t != ASSAY_B8;
}

/* Values that the type of integers can hold: casts of others are undefined in C and in ATen. */
static bool fits(dtype t, double v) {
    double most = t == ASSAY_U8 ? 255 : ldexp(1, 8 * (int)dtype_size(t) - 1) - 1;
    return !is_whole(t) || (v >= (t == ASSAY_U8 ? 0 : -most) && v <= most);
}

static bool same(dtype t, const void *a, const void *b) {
    double x = element_load(t, a), y = element_load(t, b);
    return (isnan(x) && isnan(y)) || (x == y && signbit(x) == signbit(y));
}

static void check_conversion(convert_fn *convert, dtype to, dtype from, int set) {
    enum { N = 101 };
    char source[8 * N], made[8 * N], expected[8];
    for (int i = 0; i < N; i++) {
        double v = specials[(size_t)i % countof(specials)];
        v = fits(to, v) && fits(from, v) ? v : i;
        element_store(from, source + (size_t)i * dtype_size(from), v);
    }
    for (int n = 0; n <= N; n += n < 40 ? 1 : 61) {
        convert(made, source, n);
        for (int i = 0; i < n; i++) {
            const char *at = source + (size_t)i * dtype_size(from);
            if (dtype_category_of(from) < CATEGORY_FLOATING) {
                element_store_int(to, expected, element_load_int(from, at));
            } else {
                element_store(to, expected, element_load(from, at));
            }
            if (!same(to, made + (size_t)i * dtype_size(to), expected)) {
                print_error("%s to %s, %s: element %d is %g, expected %g\n", assay_dtype_name(from),
                            assay_dtype_name(to), isa_name((isa)set), i,
                            element_load(to, made + (size_t)i * dtype_size(to)), element_load(to, expected));
                assert_true(false);
            }
        }
    }
}

static void test_conversions(void **state) {
    (void)state;
    for (int set = 0; set < n_sets(); set++) {
        const convert_loops *loops = convert_set(set);
        for (int t = 0; t < ASSAY_DTYPE_COUNT; t++) {
            if (dtype_is_complex((dtype)t)) {
                assert_null(loops->to_f32[t]);
                continue;
            }
            check_conversion(loops->to_f32[t], ASSAY_F32, (dtype)t, set);
            check_conversion(loops->from_f32[t], (dtype)t, ASSAY_F32, set);
            check_conversion(loops->to_f64[t], ASSAY_F64, (dtype)t, set);
            check_conversion(loops->from_f64[t], (dtype)t, ASSAY_F64, set);
            check_conversion(loops->from_i64[t], (dtype)t, ASSAY_I64, set);
            if (dtype_category_of((dtype)t) < CATEGORY_FLOATING) {
                check_conversion(loops->to_i64[t], ASSAY_I64, (dtype)t, set);
            }
        }
    }
}

/* Every half there is, to f32 and back. */
static void test_all_halves(void **state) {
    (void)state;
    uint16_t *halves = malloc(65536 * sizeof *halves), *back = malloc(65536 * sizeof *back);
    float *floats = malloc(65536 * sizeof *floats);
    assert_true(halves != NULL && back != NULL && floats != NULL);
    for (int i = 0; i < 65536; i++) {
        halves[i] = (uint16_t)i;
    }
    for (int set = 0; set < n_sets(); set++) {
        static const dtype types[] = {ASSAY_F16, ASSAY_BF16};
        for (int k = 0; k < 2; k++) {
            convert_set(set)->to_f32[types[k]](floats, halves, 65536);
            convert_set(set)->from_f32[types[k]](back, floats, 65536);
            for (int i = 0; i < 65536; i++) {
                assert_true(same(types[k], &back[i], &halves[i]));
                float expected = types[k] == ASSAY_F16 ? f16_to_float(halves[i]) : bf16_to_float(halves[i]);
                assert_true(floats[i] == expected || (isnan(floats[i]) && isnan(expected)));
            }
        }
    }
    free(halves);
    free(back);
    free(floats);
}

/* Every half there is, to f64 past the caches: from any place, to one that begins a line or not, and nothing beside it. */
static void test_halves_streamed(void **state) {
    (void)state;
    enum { GUARD = 16, ALL = 65536 };
    static const dtype types[] = {ASSAY_F16, ASSAY_BF16};
    double *room = malloc((ALL + 3 * GUARD) * sizeof *room);
    uint16_t *halves = malloc((ALL + GUARD) * sizeof *halves);
    assert_true(room != NULL && halves != NULL);
    for (int round = 0; round < 2 * 24 * n_sets(); round++) {
        dtype t = types[round % 2];
        convert_fn *run = convert_set(round / 48)->stream_f64[t];
        int from = round / 2 % 5, first = round / 2 % 8, n = round / 2 % 24 < 8 ? ALL : round / 2 * 5 % 150;
        for (int i = 0; i < n; i++) {
            halves[from + i] = (uint16_t)(i + round);
        }
        for (int i = 0; i < n + 3 * GUARD; i++) {
            room[i] = -7;
        }
        double *to = room + GUARD + first;
        run(to, halves + from, n);
        for (int i = 0; i < n; i++) {
            double expected = t == ASSAY_F16 ? (double)f16_to_float(halves[from + i]) : (double)bf16_to_float(halves[from + i]);
            assert_true(to[i] == expected || (isnan(to[i]) && isnan(expected)));
        }
        for (int i = 0; i < GUARD; i++) {
            assert_true(to[-1 - i] == -7 && to[n + i] == -7);
        }
    }
    free(room);
    free(halves);
}

/* What a loop's registers make and what is left over for one element at a time are the same bits, a NaN's too. */
static void test_halves_bit_for_bit(void **state) {
    (void)state;
    enum { MOST = 70 };
    static const dtype types[] = {ASSAY_F16, ASSAY_BF16};
    rng r = rng_make(SEED + 9);
    for (int round = 0; round < 20000; round++) {
        uint16_t halves[MOST], made[MOST];
        float floats[MOST];
        int64_t n = 1 + (int64_t)(rng_next(&r) % MOST);
        for (int64_t i = 0; i < n; i++) {
            uint32_t bits = (uint32_t)rng_next(&r) | (i % 5 == 0 ? 0x7f800000u : 0); /* NaN of all kinds, and infinities */
            bits &= i % 10 == 0 ? 0xff802000u : 0xffffffffu;
            memcpy(&floats[i], &bits, sizeof bits);
            halves[i] = (uint16_t)(rng_next(&r) | (i % 3 == 0 ? 0x7c00u : 0));
        }
        for (int set = 0; set < n_sets(); set++) {
            for (int k = 0; k < 2; k++) {
                convert_set(set)->from_f32[types[k]](made, floats, n);
                for (int64_t i = 0; i < n; i++) {
                    assert_int_equal(made[i], types[k] == ASSAY_F16 ? f16_from_float(floats[i]) : bf16_from_float(floats[i]));
                }
                float wide[MOST];
                convert_set(set)->to_f32[types[k]](wide, halves, n);
                for (int64_t i = 0; i < n; i++) {
                    float expected = types[k] == ASSAY_F16 ? f16_to_float(halves[i]) : bf16_to_float(halves[i]);
                    assert_memory_equal(&wide[i], &expected, sizeof expected);
                }
            }
        }
    }
}

/* A tile is copied by one step and stored by the next, which copies another. */
static void test_turned(void **state) {
    (void)state;
    enum { FIRST_LINE = 64, TURNS = 60 };
    for (int set = 0; set < n_sets(); set++) {
        rng r = rng_make(SEED + 3);
        for (int round = 0; round < TURNS; round++) {
            int log2 = 1 + round % 3;
            if (!copy_set(set)->turns(log2)) {
                continue;
            }
            rooms *b = make_rooms(&r);
            int64_t size = INT64_C(1) << log2, rows = (log2 == 1 ? 32 : 16) * rng_range(&r, 1, 3), run = 64 * rng_range(&r, 1, 6);
            ptrdiff_t gap = 64 * rng_range(&r, 0, 3);
            turn_step step = {.log2 = log2, .rows = rows, .run = run, .to_stride = rows * size + gap,
                              .from_stride = run + size * rng_range(&r, 0, 9)};
            int64_t from = size * rng_range(&r, 0, 9);
            char *buffer = aligned_alloc(FIRST_LINE, TURN_BYTES), *made = aligned_alloc(FIRST_LINE, ROOM);
            assert_true(buffer != NULL && made != NULL);
            memcpy(made, b->made, ROOM);
            step.empty = buffer;
            step.from = b->src + from;
            copy_set(set)->stream_turned(&step);
            bool in_place = round / 3 % 3 == 2; /* the rows where they lie, the other way */
            step.full = in_place ? step.from : buffer;
            step.full_pitch = in_place ? step.from_stride : turn_pitch(run);
            step.in_place = in_place;
            step.to = made + FIRST_LINE;
            step.empty = NULL;
            copy_set(set)->stream_turned(&step);
            copy_set(set)->settle();
            for (int64_t i = 0; i < rows; i++) {
                for (int64_t j = 0; j < run / size; j++) {
                    memcpy(b->expected + FIRST_LINE + i * size + j * step.to_stride,
                           b->src + from + i * step.from_stride + j * size, (size_t)size);
                }
            }
            memcpy(b->made, made, ROOM);
            expect_same(b, "stream_turned", set, round);
            free(made);
            free(buffer);
            free(b);
        }
    }
}

/* Of whole lines any bytes are kept, also none, and of one line; the others are 0. */
static void test_parts_of_rows(void **state) {
    (void)state;
    enum { LINE = 64 };
    for (int set = 0; set < n_sets(); set++) {
        rng r = rng_make(SEED + 6);
        for (int round = 0; round < ROUNDS; round++) {
            rooms *b = make_rooms(&r);
            int64_t bytes = LINE * rng_range(&r, 0, 40), in = rng_range(&r, 0, 200);
            int64_t first = rng_range(&r, 0, bytes + 1), end = round % 4 == 0 ? first : rng_range(&r, first, bytes + 1);
            int64_t at = LINE - (int64_t)((uintptr_t)b->made % LINE);
            copy_set(set)->stream_part(b->made + at, b->src + in, (size_t)first, (size_t)end, (size_t)bytes, 4096);
            copy_set(set)->settle();
            memset(b->expected + at, 0, (size_t)bytes);
            memcpy(b->expected + at + first, b->src + in + first, (size_t)(end - first));
            expect_same(b, "stream_part", set, round);
            free(b);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parts_of_rows),
        cmocka_unit_test(test_turned),
        cmocka_unit_test(test_rows_and_streams),
        cmocka_unit_test(test_strides_tiles_and_fills),
        cmocka_unit_test(test_conversions),
        cmocka_unit_test(test_all_halves), cmocka_unit_test(test_halves_streamed),
        cmocka_unit_test(test_halves_bit_for_bit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
