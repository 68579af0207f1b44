/* SPDX-License-Identifier: Apache-2.0 */
/* Seeded random numbers: the same seed gives the same values on every machine. */
#ifndef BASE_RNG_H
#define BASE_RNG_H

#include <stdint.h>

/* xoshiro256** (Blackman and Vigna, 2018), seeded through splitmix64. Plain data; one per thread. */
typedef struct rng {
    uint64_t state[4];
} rng;

rng rng_make(uint64_t seed);
/* An independent stream for item `index` of a seed: what a value is does not hang on how many came before. */
rng rng_make_stream(uint64_t seed, uint64_t index);
uint64_t rng_next(rng *r);
/* Uniform in [0, 1), 53 bits. */
double rng_uniform(rng *r);
/* Standard normal (Marsaglia's polar method). */
double rng_normal(rng *r);
/* Uniform in [low, high), exactly (rejection, no bias); low where the range is empty. */
int64_t rng_range(rng *r, int64_t low, int64_t high);
/* splitmix64's finaliser: a good 64-bit mix of one word. */
uint64_t rng_mix(uint64_t x);

#endif
