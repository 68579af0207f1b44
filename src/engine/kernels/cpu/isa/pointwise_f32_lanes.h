/* SPDX-License-Identifier: Apache-2.0 */
/* Template, part of pointwise_f32.c: the loops of elementary functions in f32 where an instruction looks up 16 places in a table of 16
   or 32 numbers at once. They stand for pointwise_real.h's of the same names: of 131072 numbers in cache silu takes 29 us instead of
   41, elu's gradient 33 instead of 40 (Zen 4, 2026-11). */
#ifndef ENGINE_KERNELS_CPU_ISA_POINTWISE_F32_LANES_H
#define ENGINE_KERNELS_CPU_ISA_POINTWISE_F32_LANES_H

#define POINTWISE_LANES 1 /* pointwise_real.h has what follows from here */

/* f's parameters, as operators have them. */
typedef struct lane_numbers {
    __m512 a, b, c;
} lane_numbers;

/* Of a share that no core's own cache holds, blocks are asked for ahead where they are stored into the caches as well (work in place):
   silu_ of 256 MiB takes 0.6 of the time so (Granite Rapids, 2026-11). */
enum { FAR_ELEMENTS = 1 << 19 };

ALWAYS_INLINE int64_t in_fetched_blocks(const pointwise_chunk *c) {
    return !POINTWISE_STREAMS && c->n >= FAR_ELEMENTS ? c->n / STREAM_BLOCK * STREAM_BLOCK : in_blocks(c);
}

_Static_assert(STREAM_BLOCK == IN_FOUR * GELU_LANES, "a block is a step");

ALWAYS_INLINE void store_block(elem *out, const wide_four *made) {
    if (POINTWISE_STREAMS) {
        stream_lines(out, made, STREAM_BLOCK * sizeof(elem));
    } else {
        four_to(out, *made, STREAM_BLOCK);
    }
}

/* What becomes of 16 elements, and of 64 where that is a way of its own and not NULL; or, if that is not NULL, of so many times 16. */
typedef struct unary_way {
    __m512 (*one)(__m512 x);
    wide_four (*four)(wide_four x);
    void (*many)(wide_f32 *x, int count, lane_numbers p);
    lane_numbers p;
} unary_way;

ALWAYS_INLINE wide_four unary_four(const elem *x, unary_way f) {
    wide_four made = four_at(x, STREAM_BLOCK);
    if (f.four != NULL) {
        return f.four(made);
    }
    if (f.many != NULL) {
        f.many(made.v, IN_FOUR, f.p);
        return made;
    }
    for (int k = 0; k < IN_FOUR; k++) {
        made.v[k] = (wide_f32)f.one((__m512)made.v[k]);
    }
    return made;
}

ALWAYS_INLINE __m512 unary_one(__m512 x, unary_way f) {
    if (f.many != NULL) {
        wide_f32 made = (wide_f32)x;
        f.many(&made, 1, f.p);
        return (__m512)made;
    }
    return f.one(x);
}

/* A block is made before any of it is stored: on Zen 4 loads wait for stores past the caches. */
ALWAYS_INLINE void unary_by(const pointwise_chunk *c, unary_way f) {
    elem *out = c->out;
    const elem *x = c->in[0];
    const int64_t blocks = in_fetched_blocks(c), turned = in_turns(blocks);
    int64_t at = blocks;
    for (int64_t from = 0; from < blocks; from += STREAM_BLOCK) {
        const int64_t place = next_block(x, from, turned);
        wide_four made = unary_four(x + place, f);
        store_block(out + place, &made);
    }
    for (; (f.four != NULL || f.many != NULL) && at + STREAM_BLOCK <= c->n; at += STREAM_BLOCK) {
        four_to(out + at, unary_four(x + at, f), STREAM_BLOCK);
    }
    for (; at + GELU_LANES <= c->n; at += GELU_LANES) {
        _mm512_storeu_ps(out + at, unary_one(_mm512_loadu_ps(x + at), f));
    }
    if (at < c->n) {
        __mmask16 rest = (__mmask16)((1u << (c->n - at)) - 1);
        _mm512_mask_storeu_ps(out + at, rest, unary_one(_mm512_maskz_loadu_ps(rest, x + at), f));
    }
}

ALWAYS_INLINE void unary_lanes(const pointwise_chunk *c, __m512 (*f)(__m512 x)) {
    unary_by(c, (unary_way){.one = f});
}

typedef struct binary_way {
    __m512 (*one)(__m512 x, __m512 y, lane_numbers p);
    wide_four (*four)(wide_four x, wide_four y);
} binary_way;

ALWAYS_INLINE wide_four binary_four(const elem *x, const elem *y, binary_way f, lane_numbers p) {
    wide_four made = four_at(x, STREAM_BLOCK), second = four_at(y, STREAM_BLOCK);
    if (f.four != NULL) {
        return f.four(made, second);
    }
    for (int k = 0; k < IN_FOUR; k++) {
        made.v[k] = (wide_f32)f.one((__m512)made.v[k], (__m512)second.v[k], p);
    }
    return made;
}

ALWAYS_INLINE void binary_by(const pointwise_chunk *c, binary_way f, lane_numbers p) {
    elem *out = c->out;
    const elem *x = c->in[0], *y = c->in[1];
    int64_t at = 0, blocks = in_fetched_blocks(c);
    for (; at < blocks; at += STREAM_BLOCK) {
        fetch_operand(c, 0, x + at, STREAM_BLOCK * sizeof(elem));
        fetch_operand(c, 1, y + at, STREAM_BLOCK * sizeof(elem));
        wide_four made = binary_four(x + at, y + at, f, p);
        store_block(out + at, &made);
    }
    for (; f.four != NULL && at + STREAM_BLOCK <= c->n; at += STREAM_BLOCK) {
        four_to(out + at, binary_four(x + at, y + at, f, p), STREAM_BLOCK);
    }
    for (; at + GELU_LANES <= c->n; at += GELU_LANES) {
        _mm512_storeu_ps(out + at, f.one(_mm512_loadu_ps(x + at), _mm512_loadu_ps(y + at), p));
    }
    if (at < c->n) {
        __mmask16 rest = (__mmask16)((1u << (c->n - at)) - 1);
        _mm512_mask_storeu_ps(out + at, rest, f.one(_mm512_maskz_loadu_ps(rest, x + at), _mm512_maskz_loadu_ps(rest, y + at), p));
    }
}

ALWAYS_INLINE void binary_lanes(const pointwise_chunk *c, __m512 (*f)(__m512 x, __m512 y, lane_numbers p), lane_numbers p) {
    binary_by(c, (binary_way){.one = f}, p);
}

static void real_gelu_loop(const pointwise_chunk *c) {
    unary_by(c, (unary_way){.one = gelu_by_table, .four = four_gelu});
}

ALWAYS_INLINE __m512 root_lanes(__m512 x) {
    return (__m512)wide_sqrt((wide_f32)x);
}

ALWAYS_INLINE __m512 divider_root_lanes(__m512 x) {
    return _mm512_sqrt_ps(x);
}

/* Not measured on other processors, whose divider may be as fast as the arithmetic that saves it. */
static void root_loop(const pointwise_chunk *c) {
    if (cpu_is_intel()) {
        unary_lanes(c, root_lanes);
    } else {
        unary_lanes(c, divider_root_lanes);
    }
}

ALWAYS_INLINE __m512 reciprocal_root_lanes(__m512 x) {
    return (__m512)wide_rsqrt((wide_f32)x);
}

static void reciprocal_root_loop(const pointwise_chunk *c) {
    unary_lanes(c, reciprocal_root_lanes);
}

ALWAYS_INLINE void erf_lanes(wide_f32 *x, int count, lane_numbers unused) {
    (void)unused;
    erf_of(x, count);
}

static void real_erf_loop(const pointwise_chunk *c) {
    unary_by(c, (unary_way){.many = erf_lanes});
}

ALWAYS_INLINE void tanh_lanes(wide_f32 *x, int count, lane_numbers unused) {
    (void)unused;
    tanh_of(x, count);
}

static void real_tanh_loop(const pointwise_chunk *c) {
    unary_by(c, (unary_way){.many = tanh_lanes});
}

ALWAYS_INLINE __m512 few_angles(__m512 x, int cosine) {
    wide_four made = {{(wide_f32)x}};
    if (__builtin_expect(four_any_beyond(made, TRIGONOMETRY_LIMIT), 0)) {
        large_angles(&made, GELU_LANES, cosine);
    } else {
        angles_of(made.v, 1, cosine);
    }
    return (__m512)made.v[0];
}

ALWAYS_INLINE __m512 sin_lanes(__m512 x) {
    return few_angles(x, 0);
}

ALWAYS_INLINE wide_four four_sin(wide_four x) {
    return four_angles(x, 0);
}

static void sin_loop(const pointwise_chunk *c) {
    unary_by(c, (unary_way){.one = sin_lanes, .four = four_sin});
}

ALWAYS_INLINE __m512 cos_lanes(__m512 x) {
    return few_angles(x, 1);
}

ALWAYS_INLINE wide_four four_cos(wide_four x) {
    return four_angles(x, 1);
}

static void cos_loop(const pointwise_chunk *c) {
    unary_by(c, (unary_way){.one = cos_lanes, .four = four_cos});
}

ALWAYS_INLINE __m512 log2_lanes(__m512 x) {
    return (__m512)wide_logarithm((wide_f32)x);
}

static void real_log2_loop(const pointwise_chunk *c) {
    unary_lanes(c, log2_lanes);
}

ALWAYS_INLINE __m512 exp_lanes(__m512 x) {
    return (__m512)wide_exp(wide_larger(-200.0f, wide_smaller(200.0f, (wide_f32)x)));
}

static void real_exp_loop(const pointwise_chunk *c) {
    unary_lanes(c, exp_lanes);
}

ALWAYS_INLINE __m512 sigmoid_lanes(__m512 x) {
    return (__m512)wide_sigmoid((wide_f32)x);
}

static void real_sigmoid_loop(const pointwise_chunk *c) {
    unary_lanes(c, sigmoid_lanes);
}

ALWAYS_INLINE __m512 silu_lanes(__m512 x) {
    return (__m512)((wide_f32)x * wide_sigmoid((wide_f32)x));
}

static void silu_loop(const pointwise_chunk *c) {
    unary_lanes(c, silu_lanes);
}

/* Constants as pointwise_real_functions.h has them. */
ALWAYS_INLINE wide_f32 gelu_tanh_argument(wide_f32 x) {
    return 1.59576912f * (x + 0.044715f * x * x * x);
}

ALWAYS_INLINE __m512 gelu_tanh_lanes(__m512 x) {
    return (__m512)((wide_f32)x * wide_sigmoid(gelu_tanh_argument((wide_f32)x)));
}

static void gelu_tanh_loop(const pointwise_chunk *c) {
    unary_lanes(c, gelu_tanh_lanes);
}

/* a: the negative coefficient, turned round, b: the positive one, c: the input scale, turned round. */
ALWAYS_INLINE void elu_lanes(wide_f32 *x, int count, lane_numbers p) {
    wide_f32 s[IN_FOUR];
    for (int i = 0; i < count; i++) {
        s[i] = x[i] * (wide_f32)p.c;
    }
    left_by_exp(s, count);
    for (int i = 0; i < count; i++) {
        __mmask16 below = _mm512_cmp_ps_mask((__m512)x[i], _mm512_setzero_ps(), _CMP_LE_OQ);
        x[i] = (wide_f32)_mm512_mask_mul_ps(_mm512_mul_ps((__m512)x[i], p.b), below, (__m512)s[i], p.a);
    }
}

/* The same where b is 1 and c is -1. */
ALWAYS_INLINE void plain_elu_lanes(wide_f32 *x, int count, lane_numbers p) {
    wide_f32 s[IN_FOUR];
    for (int i = 0; i < count; i++) {
        s[i] = -x[i];
    }
    left_by_exp(s, count);
    for (int i = 0; i < count; i++) {
        __mmask16 below = _mm512_cmp_ps_mask((__m512)x[i], _mm512_setzero_ps(), _CMP_LE_OQ);
        x[i] = (wide_f32)_mm512_mask_mul_ps((__m512)x[i], below, (__m512)s[i], p.a);
    }
}

/* Not where what is below 0 grows. */
static bool elu_by_lanes(const pointwise_chunk *c) {
    const float negative = (float)c->s[0].f, positive = (float)c->s[1].f, input_scale = (float)c->s[2].f;
    lane_numbers p = {_mm512_set1_ps(-negative), _mm512_set1_ps(positive), _mm512_set1_ps(-input_scale)};
    if (input_scale == 1 && positive == 1) {
        unary_by(c, (unary_way){.many = plain_elu_lanes, .p = p});
    } else if (input_scale >= 0) {
        unary_by(c, (unary_way){.many = elu_lanes, .p = p});
    }
    return input_scale >= 0;
}

/* --- gradients --- */

/* The logistic function s of x and s (1 - s), both without cancellation: by e = exp(-|x|). The reciprocal has 14 bits, then all. */
typedef struct logistic {
    wide_f32 value, slope;
} logistic;

ALWAYS_INLINE logistic logistic_of(wide_f32 x) {
    wide_f32 e = wide_exp(-wide_size(x)), whole = e + 1.0f;
    wide_f32 inverse = (wide_f32)_mm512_rcp14_ps((__m512)whole);
    inverse = inverse * (1.0f - whole * inverse) + inverse;
    wide_f32 small = e * inverse;
    __mmask16 below = _mm512_movepi32_mask((__m512i)x);
    return (logistic){(wide_f32)_mm512_mask_mov_ps((__m512)inverse, below, (__m512)small), small * inverse};
}

ALWAYS_INLINE __m512 silu_slope_lanes(__m512 g, __m512 x, lane_numbers unused) {
    (void)unused;
    logistic s = logistic_of((wide_f32)x);
    return (__m512)((wide_f32)g * (s.value + (wide_f32)x * s.slope));
}

static void silu_backward_loop(const pointwise_chunk *c) {
    binary_lanes(c, silu_slope_lanes, (lane_numbers){0});
}

/* Of numbers beyond 40 the slope, which is 0, may be taken of an infinite square; that of an infinity is NaN. */
ALWAYS_INLINE __m512 gelu_tanh_slope_lanes(__m512 g, __m512 x, lane_numbers unused) {
    (void)unused;
    wide_f32 v = (wide_f32)x, capped = wide_larger(-40.0f, wide_smaller(40.0f, v));
    logistic s = logistic_of(gelu_tanh_argument(v));
    wide_f32 slope = 1.59576912f + (3 * 0.044715f * 1.59576912f) * capped * capped;
    wide_f32 more = capped * slope * s.slope + (v - v);
    return (__m512)((wide_f32)g * (s.value + more));
}

static void gelu_tanh_backward_loop(const pointwise_chunk *c) {
    binary_lanes(c, gelu_tanh_slope_lanes, (lane_numbers){0});
}

ALWAYS_INLINE __m512 gelu_slope_lanes(__m512 g, __m512 x, lane_numbers unused) {
    (void)unused;
    return _mm512_mul_ps(g, wide_normal_slope(x));
}

ALWAYS_INLINE wide_four four_gelu_slope(wide_four g, wide_four x) {
    wide_four slope = four_normal_slope(x);
    for (int k = 0; k < IN_FOUR; k++) {
        slope.v[k] = g.v[k] * slope.v[k];
    }
    return slope;
}

static void real_gelu_backward_loop(const pointwise_chunk *c) {
    binary_by(c, (binary_way){gelu_slope_lanes, four_gelu_slope}, (lane_numbers){0});
}

/* a: negative coefficient and input scale times each other, b: positive coefficient, c: input scale. */
ALWAYS_INLINE __m512 elu_slope_lanes(__m512 g, __m512 x, lane_numbers p) {
    __m512 low = _mm512_mul_ps(_mm512_mul_ps(g, p.a), exp_lanes(_mm512_mul_ps(x, p.c)));
    return _mm512_mask_mov_ps(_mm512_mul_ps(g, p.b), _mm512_cmp_ps_mask(x, _mm512_setzero_ps(), _CMP_LE_OQ), low);
}

static void elu_backward_loop(const pointwise_chunk *c) {
    const float negative = (float)c->s[0].f, positive = (float)c->s[1].f, input_scale = (float)c->s[2].f;
    binary_lanes(c, elu_slope_lanes,
                 (lane_numbers){_mm512_set1_ps(input_scale * negative), _mm512_set1_ps(positive), _mm512_set1_ps(input_scale)});
}

#endif
