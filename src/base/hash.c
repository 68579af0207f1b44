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

uint64_t hash_text(const char *subject) {
    return hash_bytes(subject, strlen(subject), 0);
}
