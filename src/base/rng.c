/* SPDX-License-Identifier: Apache-2.0 */
/* xoshiro256** and the distributions that the inputs are drawn from. */
#include "base/rng.h"

#include <math.h>

uint64_t rng_mix(uint64_t x) {
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

rng rng_make(uint64_t seed) {
    rng r;
    for (int i = 0; i < 4; i++) {
        r.state[i] = rng_mix(seed);
        seed += 0x9e3779b97f4a7c15u;
    }
    return r;
}

rng rng_make_stream(uint64_t seed, uint64_t index) {
    return rng_make(rng_mix(seed) ^ rng_mix(~index));
}

static uint64_t rotate(uint64_t x, int k) {
    return (x << k) | (x >> (64 - k));
}

uint64_t rng_next(rng *r) {
    uint64_t *s = r->state;
    uint64_t result = rotate(s[1] * 5, 7) * 9;
    uint64_t t = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = rotate(s[3], 45);
    return result;
}

double rng_uniform(rng *r) {
    return (double)(rng_next(r) >> 11) * 0x1p-53;
}

double rng_normal(rng *r) {
    double u, v, s;
    do {
        u = 2 * rng_uniform(r) - 1;
        v = 2 * rng_uniform(r) - 1;
        s = u * u + v * v;
    } while (s >= 1 || s == 0);
    return u * sqrt(-2 * log(s) / s);
}

int64_t rng_range(rng *r, int64_t low, int64_t high) {
    if (high <= low) {
        return low;
    }
    uint64_t span = (uint64_t)high - (uint64_t)low;
    uint64_t reject_from = UINT64_MAX - UINT64_MAX % span;
    uint64_t x;
    do {
        x = rng_next(r);
    } while (x >= reject_from);
    return (int64_t)((uint64_t)low + x % span);
}
