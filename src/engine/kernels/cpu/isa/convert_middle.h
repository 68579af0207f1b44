/* SPDX-License-Identifier: Apache-2.0 */
/* Template of convert_loops.c: loops from every number type to MIDDLE and back. Floats that go to narrow integers pass
   through a wide one, which truncates alike everywhere; the narrowing then wraps. */

#if MIDDLE_IS_REAL
#define MIDDLE_WHOLE int32_t
#else
#define MIDDLE_WHOLE int64_t
#endif

static void NAMED(f32_into)(void *dst, const void *src, int64_t n) {
    MIDDLE *to = dst;
    const float *from = src;
    for (int64_t i = 0; i < n; i++) {
        to[i] = (MIDDLE)from[i];
    }
}

static void NAMED(f32_out_of)(void *dst, const void *src, int64_t n) {
    float *to = dst;
    const MIDDLE *from = src;
    for (int64_t i = 0; i < n; i++) {
        to[i] = (float)from[i];
    }
}

static void NAMED(f64_into)(void *dst, const void *src, int64_t n) {
    MIDDLE *to = dst;
    const double *from = src;
    for (int64_t i = 0; i < n; i++) {
        to[i] = (MIDDLE)from[i];
    }
}

static void NAMED(f64_out_of)(void *dst, const void *src, int64_t n) {
    double *to = dst;
    const MIDDLE *from = src;
    for (int64_t i = 0; i < n; i++) {
        to[i] = (double)from[i];
    }
}

static void NAMED(i8_into)(void *dst, const void *src, int64_t n) {
    MIDDLE *to = dst;
    const int8_t *from = src;
    for (int64_t i = 0; i < n; i++) {
        to[i] = (MIDDLE)from[i];
    }
}

static void NAMED(i8_out_of)(void *dst, const void *src, int64_t n) {
    int8_t *to = dst;
    const MIDDLE *from = src;
    for (int64_t i = 0; i < n; i++) {
        to[i] = (int8_t)(MIDDLE_WHOLE)from[i];
    }
}

static void NAMED(i16_into)(void *dst, const void *src, int64_t n) {
    MIDDLE *to = dst;
    const int16_t *from = src;
    for (int64_t i = 0; i < n; i++) {
        to[i] = (MIDDLE)from[i];
    }
}

static void NAMED(i16_out_of)(void *dst, const void *src, int64_t n) {
    int16_t *to = dst;
    const MIDDLE *from = src;
    for (int64_t i = 0; i < n; i++) {
        to[i] = (int16_t)(MIDDLE_WHOLE)from[i];
    }
}

static void NAMED(i32_into)(void *dst, const void *src, int64_t n) {
    MIDDLE *to = dst;
    const int32_t *from = src;
    for (int64_t i = 0; i < n; i++) {
        to[i] = (MIDDLE)from[i];
    }
}

static void NAMED(i32_out_of)(void *dst, const void *src, int64_t n) {
    int32_t *to = dst;
    const MIDDLE *from = src;
    for (int64_t i = 0; i < n; i++) {
        to[i] = (int32_t)from[i];
    }
}

static void NAMED(i64_into)(void *dst, const void *src, int64_t n) {
    MIDDLE *to = dst;
    const int64_t *from = src;
    for (int64_t i = 0; i < n; i++) {
        to[i] = (MIDDLE)from[i];
    }
}

static void NAMED(i64_out_of)(void *dst, const void *src, int64_t n) {
    int64_t *to = dst;
    const MIDDLE *from = src;
    for (int64_t i = 0; i < n; i++) {
        to[i] = (int64_t)from[i];
    }
}

static void NAMED(u8_into)(void *dst, const void *src, int64_t n) {
    MIDDLE *to = dst;
    const uint8_t *from = src;
    for (int64_t i = 0; i < n; i++) {
        to[i] = (MIDDLE)from[i];
    }
}

static void NAMED(u8_out_of)(void *dst, const void *src, int64_t n) {
    uint8_t *to = dst;
    const MIDDLE *from = src;
    for (int64_t i = 0; i < n; i++) {
        to[i] = (uint8_t)(MIDDLE_WHOLE)from[i];
    }
}

static void NAMED(b8_into)(void *dst, const void *src, int64_t n) {
    MIDDLE *to = dst;
    const uint8_t *from = src;
    for (int64_t i = 0; i < n; i++) {
        to[i] = from[i] != 0;
    }
}

static void NAMED(b8_out_of)(void *dst, const void *src, int64_t n) {
    uint8_t *to = dst;
    const MIDDLE *from = src;
    for (int64_t i = 0; i < n; i++) {
        to[i] = from[i] != 0;
    }
}

#undef MIDDLE_WHOLE
