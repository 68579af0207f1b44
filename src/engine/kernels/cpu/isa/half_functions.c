/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of f16 and bf16 in one go, from halves to halves, where results of 8 or 11 digits take few enough instructions that memory
   is what they wait for (vector_halves.h). Elsewhere the tables are empty and such calls go by way of loops in f32
   (half_blocks.c). */
#include "engine/kernels/cpu/isa/half_pairs.h"
#include "engine/kernels/cpu/isa/stream.h"
#include "engine/kernels/cpu/isa/vector_halves.h"
#include "engine/kernels/cpu/pointwise.h"

#if defined(__AVX512DQ__) && defined(__AVX512BW__)

#define ALWAYS_INLINE static inline __attribute__((always_inline))

enum { STEP = 64 /* elements */, AHEAD_BYTES = 4096 };

/* 64 halves are brought to f32 in four registers. */
ALWAYS_INLINE wide_four four_of(dtype t, const uint16_t *from) {
    float_pair low = float_pair_at(t, from), high = float_pair_at(t, from + HALF_PAIR);
    return (wide_four){{low.a, low.b, high.a, high.b}};
}

/* bf16 to nearest; ties away from 0, of which results of these functions have none but by chance. NaN comes from a bf16 or from an
   invalid product: its lower bits are 0, and nothing is carried into its sign. */
ALWAYS_INLINE half_bits halves_of_two(dtype t, wide_f32 first, wide_f32 second) {
    return t == ASSAY_F16 ? half_bits_of_f16((float_pair){first, second})
                          : bf16_joined((half_bits)first + 0x8000, (half_bits)second + 0x8000);
}

/* A function of one operand, or of two, of which the gradient comes first. Which of them it is is known where a loop is inlined. */
typedef struct function {
    wide_four (*one)(wide_four x);
    wide_four (*two)(wide_four g, wide_four x);
    dtype type;
    bool streams;
} function;

/* 64 elements. */
ALWAYS_INLINE void step(function f, uint16_t *out, const uint16_t *x, const uint16_t *y) {
    wide_four a = four_of(f.type, x);
    if (f.two != NULL) {
        a = f.two(a, four_of(f.type, y));
    } else {
        a = f.one(a);
    }
    for (int k = 0; k < 4; k += 2) {
        half_bits made = halves_of_two(f.type, a.v[k], a.v[k + 1]);
        if (f.streams) {
            stream_line(out + 16 * k, &made);
        } else {
            memcpy(out + 16 * k, &made, sizeof made);
        }
    }
}

/* Asks for what lies further on: the CPU reads ahead by itself within a page of 4 KiB, not into the next. */
ALWAYS_INLINE void ask_ahead(const uint16_t *x) {
    for (int line = 0; line < STEP * 2; line += STREAM_LINE) {
        _mm_prefetch((const char *)((uintptr_t)x + AHEAD_BYTES + (uintptr_t)line), _MM_HINT_T0); /* it may lie outside */
    }
}

ALWAYS_INLINE void whole_steps(const pointwise_halves *h, function f, int64_t n) {
    uint16_t *out = h->chunk.out;
    const uint16_t *x = h->chunk.in[0], *y = h->chunk.in[1];
    for (int64_t at = 0; at < n; at += STEP) {
        if (h->fetches) {
            ask_ahead(x + at);
            if (f.two != NULL) {
                ask_ahead(y + at);
            }
        }
        step(f, out + at, x + at, f.two != NULL ? y + at : NULL);
    }
}

ALWAYS_INLINE void run(const pointwise_halves *h, function f) {
    int64_t n = h->chunk.n, whole = n / STEP * STEP;
    f.streams = h->streams;
    if (f.streams) {
        f.streams = true;
        whole_steps(h, f, whole);
    } else {
        f.streams = false;
        whole_steps(h, f, whole);
    }
    if (whole < n) {
        uint16_t in[2][STEP] = {{0}}, out[STEP];
        size_t bytes = (size_t)(n - whole) * sizeof *out;
        for (int k = 0; k < (f.two != NULL ? 2 : 1); k++) {
            memcpy(in[k], (const uint16_t *)h->chunk.in[k] + whole, bytes);
        }
        f.streams = false;
        step(f, out, in[0], in[1]);
        memcpy((uint16_t *)h->chunk.out + whole, out, bytes);
    }
}

/* Of both types. */
ALWAYS_INLINE void run_either(const pointwise_halves *h, function of_bf16, function of_f16) {
    if (h->type == ASSAY_F16) {
        of_f16.type = ASSAY_F16;
        run(h, of_f16);
    } else {
        of_bf16.type = ASSAY_BF16;
        run(h, of_bf16);
    }
}

ALWAYS_INLINE wide_four product(wide_four x, wide_four y) {
    for (int k = 0; k < 4; k++) {
        x.v[k] = x.v[k] * y.v[k];
    }
    return x;
}

static void exp_loop(const pointwise_halves *h) {
    run_either(h, (function){.one = four_exp_for_bf16}, (function){.one = four_exp_for_f16});
}

static void sigmoid_loop(const pointwise_halves *h) {
    run_either(h, (function){.one = four_sigmoid_for_bf16}, (function){.one = four_sigmoid_for_f16});
}

static void tanh_loop(const pointwise_halves *h) {
    run_either(h, (function){.one = four_tanh_for_bf16}, (function){.one = four_tanh_for_f16});
}

ALWAYS_INLINE wide_four silu(wide_four x) {
    return product(x, four_logistic(four_times(x, -0x1.715476p+0f)));
}

static void silu_loop(const pointwise_halves *h) {
    run_either(h, (function){.one = silu}, (function){.one = silu});
}

ALWAYS_INLINE wide_four gelu_for_bf16(wide_four x) {
    return product(x, four_normal_cdf_for_bf16(x));
}

ALWAYS_INLINE wide_four gelu_for_f16(wide_four x) {
    return product(x, four_normal_cdf_for_f16(x));
}

static void gelu_loop(const pointwise_halves *h) {
    run_either(h, (function){.one = gelu_for_bf16}, (function){.one = gelu_for_f16});
}

/* x times the logistic function of 2 sqrt(2 / pi) (x + 0.044715 x^3), as (1 + tanh u) / 2 is that of 2u. The factor holds 1 / ln 2. */
ALWAYS_INLINE wide_four gelu_tanh(wide_four x) {
    const float factor = -2.30220818139f;
    wide_four y;
    for (int k = 0; k < 4; k++) {
        y.v[k] = x.v[k] * x.v[k];
    }
    for (int k = 0; k < 4; k++) {
        y.v[k] = (y.v[k] * (factor * 0.044715f) + factor) * x.v[k];
    }
    return product(x, four_logistic(y));
}

static void gelu_tanh_loop(const pointwise_halves *h) {
    run_either(h, (function){.one = gelu_tanh}, (function){.one = gelu_tanh});
}

/* gelu's slope at -s, for s = |x|, is exp(-s^2 / 2) times a function that is 0 at 0.7518: exp(-s^2 / 2) (0.7518 - s) k, where k falls
   slowly from 0.67 to 0.4, so that digits are kept beside the zero; at s the slope is 1 less that. Beyond `most` the exponential is
   taken for 0. */
ALWAYS_INLINE wide_four gelu_backward_by(wide_four g, wide_four x, const float (*terms)[32], float intervals, float most) {
    wide_four size, minus, s, y;
    for (int k = 0; k < 4; k++) {
        size.v[k] = wide_size(x.v[k]);
        minus.v[k] = (wide_f32)((wide_i32)x.v[k] | (int32_t)0x80000000);
        s.v[k] = wide_smaller(most, size.v[k]);
        y.v[k] = s.v[k] * s.v[k] * -0x1.715476p-1f;
    }
    wide_four factor = four_from_table(terms, s, 2, intervals), e = four_powers(y, minus, -most);
    for (int k = 0; k < 4; k++) {
        wide_f32 below = (0x1.80ead2p-1f - size.v[k]) * factor.v[k] * e.v[k];
        __mmask16 is_below = _mm512_movepi32_mask((__m512i)x.v[k]);
        g.v[k] = g.v[k] * (wide_f32)_mm512_mask_blend_ps(is_below, (__m512)(1.0f - below), (__m512)below);
    }
    return g;
}

ALWAYS_INLINE wide_four gelu_backward_for_bf16(wide_four g, wide_four x) {
    static const float terms[3][32] __attribute__((aligned(64))) = {
        {
            0x1.54849ep-1f, 0x1.53adb4p-1f, 0x1.4f7da2p-1f, 0x1.48ecp-1f, 0x1.415454p-1f, 0x1.3998dap-1f, 0x1.3231p-1f,
            0x1.2b5216p-1f, 0x1.250d22p-1f, 0x1.1f60c4p-1f, 0x1.1a4312p-1f, 0x1.15a6d8p-1f, 0x1.117e3cp-1f,
            0x1.0dbc06p-1f, 0x1.0a5426p-1f, 0x1.073be6p-1f, 0x1.0469dcp-1f, 0x1.01d5d4p-1f, 0x1.fef164p-2f,
            0x1.fa9896p-2f, 0x1.f6968cp-2f, 0x1.f2e1fap-2f, 0x1.ef72cap-2f, 0x1.ec41ecp-2f, 0x1.e94934p-2f,
            0x1.e68338p-2f, 0x1.e3eb32p-2f, 0x1.e17ceep-2f, 0x1.df34b4p-2f, 0x1.dd0f34p-2f, 0x1.db097cp-2f, 0x1.d920ecp-2f
        },
        {
            -0x1.6ceef4p-3f, -0x1.4c24e4p-3f, -0x1.15440cp-3f, -0x1.c41174p-4f, -0x1.6fd56cp-4f, -0x1.2d46dap-4f,
            -0x1.f26918p-5f, -0x1.a0be84p-5f, -0x1.603684p-5f, -0x1.2cb78p-5f, -0x1.032f98p-5f, -0x1.c2ac4cp-6f,
            -0x1.8aee84p-6f, -0x1.5c97aap-6f, -0x1.35b8a8p-6f, -0x1.14d73cp-6f, -0x1.f19f2ep-7f, -0x1.c17cd6p-7f,
            -0x1.97e1f2p-7f, -0x1.73b2d8p-7f, -0x1.540c8p-7f, -0x1.3837b6p-7f, -0x1.1f9f86p-7f, -0x1.09c9e4p-7f,
            -0x1.eca46p-8f, -0x1.c9c9b4p-8f, -0x1.aa7832p-8f, -0x1.8e3a9cp-8f, -0x1.74ade4p-8f, -0x1.5d7df4p-8f,
            -0x1.48631p-8f, -0x1.351fb8p-8f
        },
        {
            0x1.930d62p-4f, 0x1.c83252p-5f, 0x1.12c6dap-5f, 0x1.5d207ep-6f, 0x1.d03be8p-7f, 0x1.40ddfep-7f,
            0x1.ca8bdcp-8f, 0x1.5126bep-8f, 0x1.fc2f42p-9f, 0x1.874b8p-9f, 0x1.32fd8ep-9f, 0x1.e9b192p-10f,
            0x1.8c4942p-10f, 0x1.44dd1ep-10f, 0x1.0d66a2p-10f, 0x1.c374fp-11f, 0x1.7dcf92p-11f, 0x1.45a456p-11f,
            0x1.17deeep-11f, 0x1.e46fep-12f, 0x1.a5f384p-12f, 0x1.71b02ap-12f, 0x1.45a756p-12f, 0x1.204cd2p-12f,
            0x1.006a0cp-12f, 0x1.ca12c4p-13f, 0x1.9acdcap-13f, 0x1.71ca1cp-13f, 0x1.4e0894p-13f, 0x1.2eb91ap-13f,
            0x1.1330dep-13f, 0x1.f5c5acp-14f
        },
    };
    return gelu_backward_by(g, x, terms, 1 / 0.4159f, 13.1f);
}

ALWAYS_INLINE wide_four gelu_backward_for_f16(wide_four g, wide_four x) {
    static const float terms[3][32] __attribute__((aligned(64))) = {
        {
            0x1.548512p-1f, 0x1.54619cp-1f, 0x1.538118p-1f, 0x1.51bccp-1f, 0x1.4f3172p-1f, 0x1.4c0f9cp-1f, 0x1.488766p-1f,
            0x1.44c1aap-1f, 0x1.40de64p-1f, 0x1.3cf56ap-1f, 0x1.3917ccp-1f, 0x1.35515p-1f, 0x1.31a9b4p-1f, 0x1.2e25c2p-1f,
            0x1.2ac818p-1f, 0x1.2791cep-1f, 0x1.2482eap-1f, 0x1.219ab2p-1f, 0x1.1ed7f6p-1f, 0x1.1c3934p-1f, 0x1.19bccp-1f,
            0x1.1760d4p-1f, 0x1.1523aap-1f, 0x1.13037cp-1f, 0x1.10fe94p-1f, 0x1.0f134ep-1f, 0x1.0d4016p-1f,
            0x1.0b8374p-1f, 0x1.09dc02p-1f, 0x1.08486ep-1f, 0x1.06c784p-1f, 0x1.05581ep-1f
        },
        {
            -0x1.6a95d2p-3f, -0x1.606186p-3f, -0x1.49f28cp-3f, -0x1.2edb8ap-3f, -0x1.1308cap-3f, -0x1.f0d654p-4f,
            -0x1.bfc23p-4f, -0x1.936d72p-4f, -0x1.6bd906p-4f, -0x1.48bc28p-4f, -0x1.29aebcp-4f, -0x1.0e3fe8p-4f,
            -0x1.ec034ap-5f, -0x1.c11c84p-5f, -0x1.9b1504p-5f, -0x1.794bf8p-5f, -0x1.5b353p-5f, -0x1.40573ap-5f,
            -0x1.284948p-5f, -0x1.12b10ep-5f, -0x1.fe818cp-6f, -0x1.db6ad8p-6f, -0x1.bbaa64p-6f, -0x1.9edc48p-6f,
            -0x1.84aa04p-6f, -0x1.6cc894p-6f, -0x1.56f6bp-6f, -0x1.42fb7ap-6f, -0x1.30a53ep-6f, -0x1.1fc86ep-6f,
            -0x1.103ecep-6f, -0x1.01e6b6p-6f
        },
        {
            0x1.907d34p-4f, 0x1.2a1072p-4f, 0x1.c353e2p-5f, 0x1.5b268ep-5f, 0x1.0ef3ep-5f, 0x1.acb4c2p-6f, 0x1.576724p-6f,
            0x1.164086p-6f, 0x1.c7bb32p-7f, 0x1.78e144p-7f, 0x1.3a818ap-7f, 0x1.08a99p-7f, 0x1.c0e794p-8f, 0x1.7f7368p-8f,
            0x1.49bc4p-8f, 0x1.1d4f8p-8f, 0x1.f09abcp-9f, 0x1.b28634p-9f, 0x1.7e1f6ap-9f, 0x1.51a01cp-9f, 0x1.2ba082p-9f,
            0x1.0b0188p-9f, 0x1.ddb904p-10f, 0x1.acedc2p-10f, 0x1.827192p-10f, 0x1.5d4bcap-10f, 0x1.3cafap-10f,
            0x1.1ff39p-10f, 0x1.068a84p-10f, 0x1.dffd04p-11f, 0x1.b7d8d2p-11f, 0x1.940128p-11f
        },
    };
    return gelu_backward_by(g, x, terms, 1 / 0.21f, 6.6f);
}

static void gelu_backward_loop(const pointwise_halves *h) {
    run_either(h, (function){.two = gelu_backward_for_bf16}, (function){.two = gelu_backward_for_f16});
}

#define LOOPS                                                                                                          \
    {                                                                                                                  \
        [PW_EXP] = exp_loop, [PW_SIGMOID] = sigmoid_loop, [PW_TANH] = tanh_loop, [PW_SILU] = silu_loop,                \
        [PW_GELU] = gelu_loop, [PW_GELU_TANH] = gelu_tanh_loop, [PW_GELU_BACKWARD] = gelu_backward_loop                \
    }
#else
#define LOOPS {NULL}
#endif

pointwise_halves_loop *const ISA_SYMBOL(pointwise_half_functions)[PW_COUNT] = LOOPS;
