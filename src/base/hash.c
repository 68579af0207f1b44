/* SPDX-License-Identifier: Apache-2.0 */
/* FNV-1a (Fowler, Noll, Vo), mixed at the end so that low bits can index a table. */
#include "base/hash.h"

#include "base/rng.h"

#include <string.h>

uint64_t hash_bytes(const void *data, size_t n, uint64_t seed) {
    const unsigned char *bytes = data;
    uint64_t h = 0xcbf29ce484222325u ^ seed;
    for (size_t i = 0; i < n; i++) {
        h = (h ^ bytes[i]) * 0x100000001b3u;
    }
    return rng_mix(h);
}

/* Four chains side by side: one waits for its own multiplication. */
uint64_t hash_words(const void *data, size_t n) {
    enum { LANES = 4 };
    uint64_t lanes[LANES] = {1, 2, 3, 4}, words[LANES];
    const char *at = data;
    size_t left = n;
    for (; left >= sizeof words; left -= sizeof words, at += sizeof words) {
        memcpy(words, at, sizeof words);
        for (int i = 0; i < LANES; i++) {
            lanes[i] = (lanes[i] ^ words[i]) * 0x9e3779b97f4a7c15u;
            lanes[i] ^= lanes[i] >> 32; /* or high bits would never reach low ones */
        }
    }
    return hash_bytes(at, left, hash_bytes(lanes, sizeof lanes, n));
}

uint64_t hash_text(const char *subject) {
    return hash_bytes(subject, strlen(subject), 0);
}
