/* SPDX-License-Identifier: Apache-2.0 */
/* Random numbers: the published sequence, the distributions, and hashes that spread. */
#include "base/hash.h"
#include "base/rng.h"
#include "base/status.h"

#include "unit.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const uint64_t seed = 2024;
enum { DRAWS = 200000 };

static void the_generator_is_the_published_one(void **state) {
    (void)state;
    rng r = {{1, 2, 3, 4}};
    /* xoshiro256** from this state, by its authors' code */
    static const uint64_t expected[] = {11520, 0, 1509978240, 1215971899390074240};
    for (size_t i = 0; i < countof(expected); i++) {
        assert_true(rng_next(&r) == expected[i]);
    }
    assert_true(rng_mix(0) == 0xe220a8397b1dcdafu); /* splitmix64's first value from 0 */
}

static void streams_do_not_hang_together(void **state) {
    (void)state;
    rng a = rng_make_stream(seed, 0), b = rng_make_stream(seed, 1), again = rng_make_stream(seed, 0);
    rng other = rng_make_stream(seed + 1, 0);
    double product = 0;
    for (int i = 0; i < DRAWS; i++) {
        double x = rng_uniform(&a), y = rng_uniform(&b);
        assert_true(x == rng_uniform(&again));
        product += (x - 0.5) * (y - 0.5) * 12;
        assert_true(x != rng_uniform(&other));
    }
    assert_true(fabs(product / DRAWS) < 5 / sqrt(DRAWS)); /* correlation: 0 with standard deviation 1 / sqrt(n) */
}

static void uniforms_are_uniform(void **state) {
    (void)state;
    print_message("seed %llu\n", (unsigned long long)seed);
    rng r = rng_make(seed);
    double counts[64] = {0}, chi = 0;
    for (int i = 0; i < DRAWS; i++) {
        double x = rng_uniform(&r);
        assert_true(x >= 0 && x < 1);
        counts[(int)(x * 64)]++;
    }
    for (int i = 0; i < 64; i++) {
        chi += (counts[i] - DRAWS / 64.0) * (counts[i] - DRAWS / 64.0) / (DRAWS / 64.0);
    }
    assert_true(chi > 20 && chi < 120); /* 63 degrees of freedom: 63 +- 5 times 11.2 */
}

static void normals_are_normal(void **state) {
    (void)state;
    rng r = rng_make(seed);
    double moments[5] = {0};
    for (int i = 0; i < DRAWS; i++) {
        double x = rng_normal(&r);
        for (int k = 1; k <= 4; k++) {
            moments[k] += pow(x, k) / DRAWS;
        }
    }
    /* five standard deviations of each moment's estimate: var(x^k) = 1, 2, 15, 96 */
    double unit = 5 / sqrt(DRAWS);
    assert_true(fabs(moments[1]) < unit && fabs(moments[2] - 1) < unit * sqrt(2));
    assert_true(fabs(moments[3]) < unit * sqrt(15) && fabs(moments[4] - 3) < unit * sqrt(96));
}

static void ranges_are_exact(void **state) {
    (void)state;
    rng r = rng_make(seed);
    double counts[7] = {0};
    for (int i = 0; i < DRAWS; i++) {
        int64_t x = rng_range(&r, -3, 4);
        assert_true(x >= -3 && x < 4);
        counts[x + 3]++;
    }
    for (int i = 0; i < 7; i++) {
        assert_true(fabs(counts[i] - DRAWS / 7.0) < 5 * sqrt(DRAWS / 7.0));
    }
    assert_int_equal(rng_range(&r, 5, 5), 5);
    assert_int_equal(rng_range(&r, 5, -5), 5);
    for (int i = 0; i < 100; i++) {
        assert_true(rng_range(&r, INT64_MIN, INT64_MAX) < INT64_MAX);
        assert_int_equal(rng_range(&r, 8, 9), 8);
    }
}

static void hashes_spread(void **state) {
    (void)state;
    int buckets[256] = {0};
    char name[16];
    for (int i = 0; i < 25600; i++) {
        snprintf(name, sizeof name, "op%d", i);
        buckets[hash_text(name) & 255]++;
    }
    for (int i = 0; i < 256; i++) {
        assert_true(buckets[i] > 50 && buckets[i] < 150); /* 100 +- 5 times 10 */
    }
    assert_true(hash_text("a") != hash_text("b"));
    assert_true(hash_bytes("a", 1, 0) == hash_text("a"));
    assert_true(hash_bytes("a", 1, 1) != hash_text("a"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_generator_is_the_published_one), cmocka_unit_test(streams_do_not_hang_together),
        cmocka_unit_test(uniforms_are_uniform), cmocka_unit_test(normals_are_normal),
        cmocka_unit_test(ranges_are_exact), cmocka_unit_test(hashes_spread),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
