typedef __INT8_TYPE__ int8_t;
typedef __INT16_TYPE__ int16_t;
typedef __INT32_TYPE__ int32_t;
typedef __INT64_TYPE__ int64_t;
typedef __UINT8_TYPE__ uint8_t;
typedef __UINT16_TYPE__ uint16_t;
typedef __UINT32_TYPE__ uint32_t;
typedef __UINT64_TYPE__ uint64_t;
#define VECTOR_INLINE static inline __attribute__((always_inline, unused))
#ifdef __clang__
#define INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#define FEW
#else
#define INDEPENDENT _Pragma("GCC ivdep")
#define FEW _Pragma("GCC unroll 1")
#endif
#define memcpy __builtin_memcpy
#define fabsf __builtin_fabsf
#define fabs __builtin_fabs
#define copysignf __builtin_copysignf
#define fmaf __builtin_fmaf
#define INFINITY __builtin_inff()
#define NAN __builtin_nanf("")

VECTOR_INLINE float float_of_bits(uint32_t bits) {
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

VECTOR_INLINE uint32_t bits_of_float(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* Adding this leaves the nearest whole number in the low bits, without an instruction for rounding (SSE2 has none). */
#define ROUND_MAGIC_F32 0x1.8p23f

/* The same, and the exponent of 2^n with its bias in the low bits. */
#define EXPONENT_MAGIC (ROUND_MAGIC_F32 + 127.0f)

/* x = n ln 2 + r with |r| <= ln 2 / 2 and |n| <= 127: n + 127 stays in the low bits of `shifted`. ln 2 is taken off in two
   parts, the first of which multiplies exactly. */
VECTOR_INLINE float exp_rest(float x, float *shifted) {
    *shifted = x * 0x1.715476p+0f + EXPONENT_MAGIC;
    float n = *shifted - EXPONENT_MAGIC;
    float r = x - n * 0x1.63p-1f;
    return r - n * -0x1.bd0106p-13f;
}

/* (exp(r) - 1 - r) / r^2 on [-ln 2 / 2, ln 2 / 2], fitted for the least relative error of exp (3.1e-9). */
VECTOR_INLINE float exp_series(float r) {
    float p = 0.001381452757f;
    p = p * r + 0.008368750669f;
    p = p * r + 0.04166839134f;
    p = p * r + 0.1666652035f;
    return p * r + 0.4999999343f;
}

/* 2^n of exp_rest's n in [-126, 127], and 0 for n = -127: the magic number's own bits are shifted out. Results are
   multiplied by it, not added to in their bits: what is NaN stays NaN. */
VECTOR_INLINE float exp_scale(float shifted) {
    return float_of_bits(bits_of_float(shifted) << 23);
}

/* Arguments are clipped here: n is -127 then and the result 0. A second look at the argument would not only cost as much
   again: GCC gathers all that follows from one comparison behind it. */
#define EXP_LOWEST -88.0f

/* exp(x) for x <= 0. 1 ulp; below 2^-126.5 it is 0. */
VECTOR_INLINE float exp_negative_f32(float x) {
    float shifted, r = exp_rest(x < EXP_LOWEST ? EXP_LOWEST : x, &shifted);
    return ((exp_series(r) * r + 1.0f) * r + 1.0f) * exp_scale(shifted);
}

/* 1 / (1 + exp(-x)) by exp(-|x|): nothing overflows and small results keep their digits. 2 ulp. */
VECTOR_INLINE float sigmoid_f32(float x) {
    float e = exp_negative_f32(-fabsf(x));
    return (x < 0 ? e : 1.0f) / (1.0f + e);
}

#if defined(__AVX512F__)
typedef float wide_f32 __attribute__((vector_size(64)));
typedef float wide_f32_anywhere __attribute__((vector_size(64), aligned(4), may_alias));
typedef int32_t wide_i32 __attribute__((vector_size(64)));
VECTOR_INLINE wide_f32 wide_of(float x) {
    return (wide_f32){0} + x;
}
#endif

#if defined(__AVX512F__)
VECTOR_INLINE wide_f32 wide_larger(float a, wide_f32 b) {
    wide_f32 c;
    __asm__("vmaxps %2, %1, %0" : "=v"(c) : "v"(wide_of(a)), "v"(b));
    return c;
}
#endif

/* exp(x) of |x| <= 200 or NaN. x = (n + k / 16) ln 2 + r, where the sum of both is what remains of x / ln 2 in 4 bits behind the
   point; 2^(k / 16) is looked up, and the instruction that multiplies by 2^n rounds once where results are denormal. ln 2 is
   taken off in two parts, the first of which multiplies exactly. */
#if defined(__AVX512F__)
VECTOR_INLINE wide_f32 wide_exp(wide_f32 x) {
    static const float powers[16] __attribute__((aligned(64))) = {
        0x1p+0f, 0x1.0b5586p+0f, 0x1.172b84p+0f, 0x1.2387a6p+0f, 0x1.306fep+0f, 0x1.3dea64p+0f, 0x1.4bfdaep+0f,
        0x1.5ab07ep+0f, 0x1.6a09e6p+0f, 0x1.7a1148p+0f, 0x1.8ace54p+0f, 0x1.9c4918p+0f, 0x1.ae89fap+0f,
        0x1.c199bep+0f, 0x1.d5818ep+0f, 0x1.ea4afap+0f
    };
    wide_f32 shifted = x * 0x1.715476p+0f + 0x1.8p19f, n = shifted - 0x1.8p19f;
    wide_f32 r = x - n * 0x1.62ep-1f, power, value;
    r = r - n * 0x1.0bfbe8p-15f;
    __asm__("vpermps %2, %1, %0" : "=v"(power) : "v"(shifted), "v"(*(const wide_f32 *)powers));
    wide_f32 p = r * 0x1.555556p-3f + 0x1.00022p-1f;
    p = p * r + 1.0f;
    p = (power * r) * p + power;
    __asm__("vscalefps %2, %1, %0" : "=v"(value) : "v"(p), "v"(n));
    return value;
}
#endif

/* 1 / (1 + e) with e = exp(-|x|), or e / (1 + e) below 0: the quotient by a reciprocal of 14 bits, then what is left of it. */
#if defined(__AVX512F__)
VECTOR_INLINE wide_f32 wide_sigmoid(wide_f32 x) {
    wide_f32 e = wide_exp(wide_larger(-200.0f, (wide_f32)((wide_i32)x | (int32_t)0x80000000)));
    wide_f32 whole = 1.0f + e, part = wide_of(1), reciprocal, near;
    uint16_t below;
    __asm__("vcmpltps %2, %1, %0" : "=Yk"(below) : "v"(x), "v"(wide_of(0)));
    __asm__("vmovaps %1, %0 %{%2%}" : "+v"(part) : "v"(e), "Yk"(below));
    __asm__("vrcp14ps %1, %0" : "=v"(reciprocal) : "v"(whole));
    near = part * reciprocal;
    return (part - whole * near) * reciprocal + near;
}
#endif

/* 3 ulp. */
VECTOR_INLINE void sigmoid_block_f32(float *to, const float *from, int n) {
#if defined(__AVX512F__)
    for (int l = 0; l < n; l += 16) {
        *(wide_f32_anywhere *)(to + l) = wide_sigmoid(*(const wide_f32_anywhere *)(from + l));
    }
#else
    for (int l = 0; l < n; l++) {
        to[l] = sigmoid_f32(from[l]);
    }
#endif
}

/* %7 = mul f32[64, 1024] */
_Bool kernel_2(void *const *buffers, int64_t first, int64_t last) {
    const float *const b4 = buffers[0];
    const float *const b5 = buffers[1];
    float *const b7 = buffers[2];
    for (int64_t task = first; task < last; task++) {
        const int64_t first_lane = 1024 * (task);
        {
            for (int64_t block = 0; block < 1024; block += 64) {
                float wide1[64];
                {
                    const int64_t v0 = first_lane + block;
                    sigmoid_block_f32(wide1, b4 + v0, 64);
                }
                INDEPENDENT
                for (int64_t i = 0; i < 64; i++) {
                    const int64_t l = block + i;
                    const int64_t v0 = first_lane + l;
                    const float t0 = b4[v0];
                    const float t1 = wide1[i];
                    const float t2 = t0 * t1;
                    const float t3 = b5[v0];
                    const float t4 = t2 * t3;
                    b7[v0] = t4;
                }
            }
        }
    }
    return 1;
}

