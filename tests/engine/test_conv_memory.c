/* SPDX-License-Identifier: Apache-2.0 */
/* Convolutions where memory ends: Winograd's algorithm gives way to one that takes less, which gives way to an error that says how much it
   wanted. */
#include "unit.h"

#include "engine/kernels/cpu/onednn.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define HAS_SHADOW 1
#else
#define HAS_SHADOW 0
#endif

enum { BATCH = 16, CHANNELS = 64, SIDE = 64, NUMEL = BATCH * CHANNELS * SIDE * SIDE, WEIGHTS = CHANNELS * CHANNELS * 9 };

static const conv_shape shape = {.spatial = 2, .batch = BATCH, .groups = 1, .wide_channels = CHANNELS, .narrow_channels = CHANNELS,
                                 .wide = {1, SIDE, SIDE}, .narrow = {1, SIDE, SIDE}, .kernel = {1, 3, 3}, .stride = {1, 1, 1},
                                 .pad = {0, 1, 1}, .dilation = {1, 1, 1}};

static onednn_conv described(onednn_direction direction) {
    const int64_t plane = SIDE * SIDE;
    return (onednn_conv){.dtype = ASSAY_F32, .direction = direction, .shape = &shape,
                         .narrow = {CHANNELS * plane, plane, plane, SIDE, 1}, .wide = {CHANNELS * plane, plane, plane, SIDE, 1},
                         .weight = {CHANNELS * 9, 9, 9, 3, 1}};
}

/* Bytes of memory that RLIMIT_DATA counts. */
static double data_bytes(void) {
    FILE *f = fopen("/proc/self/statm", "r");
    long pages = 0;
    assert_non_null(f);
    assert_int_equal(fscanf(f, "%*d %*d %*d %*d %*d %ld", &pages), 1);
    fclose(f);
    return (double)pages * (double)sysconf(_SC_PAGESIZE);
}

/* Prepares and runs with so much memory to take; code: what oneDNN calls what it chose. */
static status run_within(double bytes, const onednn_conv *c, const onednn_data *data, char code[64], error *err) {
    struct rlimit before, less;
    assert_int_equal(getrlimit(RLIMIT_DATA, &before), 0);
    less = before;
    less.rlim_cur = (rlim_t)(data_bytes() + bytes);
    assert_int_equal(setrlimit(RLIMIT_DATA, &less), 0);
    arena memory = {0};
    onednn *o = NULL;
    status result = onednn_conv_prepare(c, &memory, &o, err);
    assert_int_equal(setrlimit(RLIMIT_DATA, &before), 0);
    if (result == ASSAY_OK) {
        snprintf(code, 64, "%s", onednn_code(o));
        result = onednn_run(o, data, err);
    }
    onednn_free(o);
    arena_clear(&memory);
    return result;
}

static float *numbers(size_t n, uint32_t seed) {
    float *x = malloc(n * sizeof *x);
    assert_non_null(x);
    for (size_t i = 0; i < n; i++) {
        seed = seed * 1664525u + 1013904223u;
        x[i] = (float)(seed >> 8) / 0x1p23f - 1;
    }
    return x;
}

static double farthest(const float *x, const float *y, size_t n) {
    double most = 0;
    for (size_t i = 0; i < n; i++) {
        most = fmax(most, fabs((double)x[i] - (double)y[i]));
    }
    return most;
}

static void less_memory_takes_another_way(void **state) {
    (void)state;
    if (HAS_SHADOW) {
        skip(); /* no limit of memory holds under a sanitizer */
    }
    for (int direction = ONEDNN_TO_NARROW; direction <= ONEDNN_TO_WEIGHT; direction++) {
        const onednn_conv c = described((onednn_direction)direction);
        float *sides[] = {numbers(NUMEL, 1), numbers(NUMEL, 2), numbers(WEIGHTS, 3)};
        const onednn_data data = {{sides[0], sides[1], sides[2]}};
        int out = direction == ONEDNN_TO_NARROW ? 0 : direction == ONEDNN_TO_WIDE ? 1 : 2;
        size_t n = out == 2 ? WEIGHTS : NUMEL;
        char code[64] = "", least[64] = "";
        error err = {0};
        assert_int_equal(run_within(0x1p32, &c, &data, code, &err), ASSAY_OK);
        float *whole = malloc(n * sizeof *whole);
        assert_non_null(whole);
        memcpy(whole, sides[out], n * sizeof *whole);
        status last = ASSAY_OK;
        for (double bytes = 0x1p30; last == ASSAY_OK; bytes /= 1.25) {
            memset(sides[out], 0xff, n * sizeof *whole);
            last = run_within(bytes, &c, &data, least, &err);
            if (last == ASSAY_OK) {
                assert_true(farthest(whole, sides[out], n) < (out == 2 ? 0.1 : 2e-3)); /* sums of 65536 or 576 products */
            }
        }
        assert_int_equal(last, ASSAY_OUT_OF_MEMORY);
        assert_non_null(strstr(err.message, " bytes ("));
        print_message("%s with room, %s without\n", code, least);
        assert_true(strstr(code, "wino") == NULL || strstr(least, "wino") == NULL);
        free(whole);
        for (int k = 0; k < 3; k++) {
            free(sides[k]);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(less_memory_takes_another_way)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
