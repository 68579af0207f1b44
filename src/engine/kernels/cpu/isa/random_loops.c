/* SPDX-License-Identifier: Apache-2.0 */
/* Random words and what they are turned into, built once for each instruction set. */
#include "engine/kernels/cpu/isa/random_loops.h"

#include "base/philox.h"

#include <string.h>

enum { LANES = 16 };

/* LANES blocks at once, each in 64-bit lanes: the products of two 32-bit words need them anyway. */
static inline void sixteen_blocks(uint32_t *out, uint64_t seed, uint64_t first) {
    uint64_t c0[LANES], c1[LANES], c2[LANES], c3[LANES];
    const uint64_t low = UINT32_MAX;
    uint64_t k0 = seed & low, k1 = seed >> 32;
    for (int i = 0; i < LANES; i++) {
        c0[i] = (first + (uint64_t)i) & low;
        c1[i] = (first + (uint64_t)i) >> 32;
        c2[i] = 0;
        c3[i] = 0;
    }
    for (int round = 0; round < 10; round++) {
        for (int i = 0; i < LANES; i++) {
            uint64_t p0 = UINT64_C(0xD2511F53) * (c0[i] & low), p1 = UINT64_C(0xCD9E8D57) * (c2[i] & low);
            c0[i] = (p1 >> 32) ^ (c1[i] & low) ^ k0;
            c2[i] = (p0 >> 32) ^ (c3[i] & low) ^ k1;
            c1[i] = p1;
            c3[i] = p0;
        }
        k0 = (k0 + UINT32_C(0x9E3779B9)) & low;
        k1 = (k1 + UINT32_C(0xBB67AE85)) & low;
    }
    for (int i = 0; i < LANES; i++) {
        out[4 * i] = (uint32_t)c0[i];
        out[4 * i + 1] = (uint32_t)c1[i];
        out[4 * i + 2] = (uint32_t)c2[i];
        out[4 * i + 3] = (uint32_t)c3[i];
    }
}

static void words(uint32_t *out, uint64_t seed, uint64_t first, int64_t n) {
    int64_t i = 0;
    for (; i + LANES <= n; i += LANES) {
        sixteen_blocks(out + 4 * i, seed, first + (uint64_t)i);
    }
    for (; i < n; i++) {
        philox_block(seed, first + (uint64_t)i, out + 4 * i);
    }
}

static void choose(void *out, int log2, uint64_t one, const uint32_t *word, uint64_t limit, int64_t n) {
    uint8_t *o8 = out;
    uint16_t *o16 = out;
    uint32_t *o32 = out;
    uint64_t *o64 = out;
    /* "At most limit - 1" compares 32 bits with 32 bits. */
    uint32_t most = (uint32_t)(limit - 1);
    if (limit == 0) {
        memset(out, 0, (size_t)n << log2);
        return;
    }
    switch (log2) {
    case 0:
        for (int64_t i = 0; i < n; i++) {
            o8[i] = word[i] <= most ? (uint8_t)one : 0;
        }
        break;
    case 1:
        for (int64_t i = 0; i < n; i++) {
            o16[i] = word[i] <= most ? (uint16_t)one : 0;
        }
        break;
    case 2:
        for (int64_t i = 0; i < n; i++) {
            o32[i] = word[i] <= most ? (uint32_t)one : 0;
        }
        break;
    default:
        for (int64_t i = 0; i < n; i++) {
            o64[i] = word[i] <= most ? one : 0;
        }
        break;
    }
}

static void choose_each(float *out, const float *p, const uint32_t *word, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        out[i] = (float)(int32_t)(word[i] >> 8) * 0x1p-24f < p[i] ? 1.0f : 0.0f;
    }
}

static void uniform(float *out, const uint32_t *word, int bits, float from, float width, int64_t n) {
    float grain = 1.0f / (float)(1 << bits);
    int shift = 32 - bits;
    for (int64_t i = 0; i < n; i++) {
        out[i] = from + width * ((float)(int32_t)(word[i] >> shift) * grain);
    }
}

static void uniform_f64(double *out, const uint32_t *word, double from, double width, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        uint64_t both = (uint64_t)word[2 * i] << 32 | word[2 * i + 1];
        out[i] = from + width * ((double)(int64_t)(both >> 11) * 0x1p-53);
    }
}

static void drop(float *out, uint8_t *mask, const float *in, const uint32_t *word, uint64_t limit, float scale,
                 int64_t n) {
    uint32_t most = (uint32_t)(limit - 1);
    uint8_t some = limit > 0;
    for (int64_t i = 0; i < n; i++) {
        uint8_t kept = (word[i] <= most) & some;
        mask[i] = kept;
        out[i] = in[i] * (kept ? scale : 0.0f);
    }
}

static void drop_f64(double *out, uint8_t *mask, const double *in, const uint32_t *word, uint64_t limit, double scale,
                     int64_t n) {
    uint32_t most = (uint32_t)(limit - 1);
    uint8_t some = limit > 0;
    for (int64_t i = 0; i < n; i++) {
        uint8_t kept = (word[i] <= most) & some;
        mask[i] = kept;
        out[i] = in[i] * (kept ? scale : 0.0);
    }
}

const random_loops ISA_SYMBOL(random_loops) = {.words = words,
                                               .choose = choose,
                                               .choose_each = choose_each,
                                               .uniform = uniform,
                                               .uniform_f64 = uniform_f64,
                                               .drop = drop,
                                               .drop_f64 = drop_f64};
