/* SPDX-License-Identifier: Apache-2.0 */
/* Template, part of row_loops_norm.h: the rings of norms with channels apart (ring_step). What is read, kept and stored is of the
   computing type or, where that is float, f16 or bf16: `t` is a constant wherever these functions are inlined. */

static const dtype row_native = ASSAY_F64; /* stands for the computing type, whichever that is */

#if defined(ROW_HALVES)
typedef uint32_t pack_bits __attribute__((vector_size(64)));
typedef uint16_t pack_half __attribute__((vector_size(32)));

static inline __attribute__((always_inline)) pack pack_of_bf16(pack_half x) {
    return (pack)(__builtin_convertvector(x, pack_bits) << 16);
}

/* As bf16_of_floats. */
static inline __attribute__((always_inline)) pack_half bf16_of_pack(pack p) {
    pack_bits bits = (pack_bits)p, is_nan = (pack_bits)(p != p);
    pack_bits rounded = bits + 0x7fff + (bits >> 16 & 1), quiet = bits | 0x400000;
    return __builtin_convertvector(((is_nan & quiet) | (~is_nan & rounded)) >> 16, pack_half);
}

static inline __attribute__((always_inline)) pack pack_of_f16(pack_half x) {
#if defined(__AVX512F__)
    return (pack)_mm512_cvtph_ps((__m256i)x);
#else
    value floats[PACK];
    uint16_t halves[PACK];
    memcpy(halves, &x, sizeof halves);
    floats_of_f16(floats, halves, PACK);
    return pack_at(floats);
#endif
}

static inline __attribute__((always_inline)) pack_half f16_of_pack(pack p) {
#if defined(__AVX512F__)
    return (pack_half)_mm512_cvtps_ph((__m512)p, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
#else
    value floats[PACK];
    uint16_t halves[PACK];
    pack_half made;
    memcpy(floats, &p, sizeof floats);
    f16_of_floats(halves, floats, PACK);
    memcpy(&made, halves, sizeof made);
    return made;
#endif
}
#endif

/* PACK elements at i of a row of type t, one of them, and back. */
static inline __attribute__((always_inline)) pack row_pack(dtype t, const void *row, int64_t i) {
#if defined(ROW_HALVES)
    if (t == ASSAY_BF16 || t == ASSAY_F16) {
        pack_half x;
        memcpy(&x, (const uint16_t *)row + i, sizeof x);
        return t == ASSAY_BF16 ? pack_of_bf16(x) : pack_of_f16(x);
    }
#endif
    (void)t;
    return pack_at((const value *)row + i);
}

static inline __attribute__((always_inline)) value row_value(dtype t, const void *row, int64_t i) {
#if defined(ROW_HALVES)
    value floats;
    const uint16_t *x = (const uint16_t *)row + i;
    if (t == ASSAY_BF16 || t == ASSAY_F16) {
        (t == ASSAY_BF16 ? floats_of_bf16 : floats_of_f16)(&floats, x, 1);
        return floats;
    }
#endif
    (void)t;
    return ((const value *)row)[i];
}

static inline __attribute__((always_inline)) void row_set(dtype t, void *row, int64_t i, value x) {
#if defined(ROW_HALVES)
    if (t == ASSAY_BF16 || t == ASSAY_F16) {
        (t == ASSAY_BF16 ? bf16_of_floats : f16_of_floats)((uint16_t *)row + i, &x, 1);
        return;
    }
#endif
    (void)t;
    ((value *)row)[i] = x;
}

/* Two packs at i; line: past the caches, to where one begins. */
static inline __attribute__((always_inline)) void row_set_packs(dtype t, void *row, int64_t i, pack p, pack q, bool line) {
#if defined(ROW_HALVES)
    if (t == ASSAY_BF16 || t == ASSAY_F16) {
        pack_half made[2] = {t == ASSAY_BF16 ? bf16_of_pack(p) : f16_of_pack(p),
                             t == ASSAY_BF16 ? bf16_of_pack(q) : f16_of_pack(q)};
        uint16_t *to = (uint16_t *)row + i;
        line ? stream_line(to, made) : (void)memcpy(to, made, sizeof made);
        return;
    }
#endif
    (void)t;
    value *to = (value *)row + i;
    if (line) {
        stream_line(to, &p);
        stream_line(to + PACK, &q);
    } else {
        memcpy(to, &p, sizeof p);
        memcpy(to + PACK, &q, sizeof q);
    }
}

static inline __attribute__((always_inline)) int64_t row_size(dtype t) {
    return t == ASSAY_BF16 || t == ASSAY_F16 ? 2 : (int64_t)sizeof(value);
}

/* Asks for memory RING_AHEAD elements on: of this row, or of the one after it. */
static inline __attribute__((always_inline)) void ring_ask(dtype t, const char *next, const char *after, int64_t i, int64_t n) {
    int64_t size = row_size(t);
    const char *ahead = i + RING_AHEAD < n ? next + (i + RING_AHEAD) * size : after + (i + RING_AHEAD - n) * size;
    for (int64_t k = 0; k < RING_BLOCK * size; k += STREAM_LINE) {
        __builtin_prefetch(ahead + k);
    }
}

/* Elements of a row of type t up to the first 64-byte boundary. */
static inline int64_t ring_head(dtype t, const void *to, int64_t n) {
    int64_t head = (int64_t)(-(uintptr_t)to & (STREAM_LINE - 1)) / row_size(t);
    return head < n ? head : n;
}

/* Two packs as they lie. */
static inline __attribute__((always_inline)) void row_keep(dtype t, void *kept, const void *from, int64_t i) {
    int64_t size = row_size(t);
    memcpy((char *)kept + i * size, (const char *)from + i * size, (size_t)(2 * PACK * size));
}

static inline __attribute__((always_inline)) void ring_forward_of(ring_step *s, dtype t) {
    void *kept = s->kept, *to = s->to;
    value factor = (value)s->factor, offset = (value)s->plus, centre = (value)s->centre;
    const void *next = s->next;
    pack a = {0}, b = {0}, c = {0}, d = {0};
    /* What is finished runs ahead of what is read over it, to where lines begin. */
    int64_t head = to != NULL ? ring_head(t, to, s->n) : 0, i = 0, whole = (s->n - head) / RING_BLOCK * RING_BLOCK;
    for (int64_t k = 0; k < head; k++) {
        row_set(t, to, k, row_value(t, kept, k) * factor + offset);
    }
    for (; i < whole; i += RING_BLOCK) {
        for (int k = 0; to != NULL && k < RING_BLOCK; k += 2 * PACK) {
            int64_t at = head + i + k;
            row_set_packs(t, to, at, row_pack(t, kept, at) * factor + offset, row_pack(t, kept, at + PACK) * factor + offset,
                          true);
        }
        if (next == NULL) {
            continue;
        }
        ring_ask(t, next, s->after, i, s->n);
        for (int k = 0; k < RING_BLOCK; k += 2 * PACK) {
            pack p = row_pack(t, next, i + k) - centre, q = row_pack(t, next, i + k + PACK) - centre;
            row_keep(t, kept, next, i + k);
            a += p;
            b += q;
            c += p * p;
            d += q * q;
        }
    }
    int64_t rest = head + whole;
    for (; to != NULL && rest + 2 * PACK <= s->n; rest += 2 * PACK) {
        row_set_packs(t, to, rest, row_pack(t, kept, rest) * factor + offset,
                      row_pack(t, kept, rest + PACK) * factor + offset, false);
    }
    for (; to != NULL && rest < s->n; rest++) {
        row_set(t, to, rest, row_value(t, kept, rest) * factor + offset);
    }
    for (; next != NULL && i + 2 * PACK <= s->n; i += 2 * PACK) {
        pack p = row_pack(t, next, i) - centre, q = row_pack(t, next, i + PACK) - centre;
        row_keep(t, kept, next, i);
        a += p;
        b += q;
        c += p * p;
        d += q * q;
    }
    value sum = 0, squares = 0;
    for (; next != NULL && i < s->n; i++) {
        value x = row_value(t, next, i);
        row_set(t, kept, i, x);
        sum += x - centre;
        squares += (x - centre) * (x - centre);
    }
    s->sum = (double)sum + (double)pack_sum(a + b);
    s->products = (double)squares + (double)pack_sum(c + d);
}

/* What finishes a row of gradients. */
typedef struct ring_gradient {
    const void *kept, *kept_dy;
    value mean, a, b, c;
} ring_gradient;

static inline __attribute__((always_inline)) pack ring_gradient_pack(dtype t, const ring_gradient *f, int64_t i) {
    return row_pack(t, f->kept_dy, i) * f->a + ((row_pack(t, f->kept, i) - f->mean) * f->b + f->c);
}

static inline __attribute__((always_inline)) value ring_gradient_value(dtype t, const ring_gradient *f, int64_t i) {
    return row_value(t, f->kept_dy, i) * f->a + ((row_value(t, f->kept, i) - f->mean) * f->b + f->c);
}

static inline __attribute__((always_inline)) void ring_backward_of(ring_step *s, dtype t) {
    void *kept = s->kept, *kept_dy = s->kept_dy, *to = s->to;
    const ring_gradient f = {kept, kept_dy, (value)s->mean, (value)s->a, (value)s->b, (value)s->c};
    value centre = (value)s->centre;
    const void *next = s->next, *next_dy = s->next_dy;
    pack a = {0}, b = {0}, c = {0}, d = {0};
    int64_t head = to != NULL ? ring_head(t, to, s->n) : 0, i = 0, whole = (s->n - head) / RING_BLOCK * RING_BLOCK;
    for (int64_t k = 0; k < head; k++) {
        row_set(t, to, k, ring_gradient_value(t, &f, k));
    }
    for (; i < whole; i += RING_BLOCK) {
        for (int k = 0; to != NULL && k < RING_BLOCK; k += 2 * PACK) {
            int64_t at = head + i + k;
            row_set_packs(t, to, at, ring_gradient_pack(t, &f, at), ring_gradient_pack(t, &f, at + PACK), true);
        }
        if (next == NULL) {
            continue;
        }
        ring_ask(t, next, s->after, i, s->n);
        ring_ask(t, next_dy, s->after_dy, i, s->n);
        for (int k = 0; k < RING_BLOCK; k += 2 * PACK) {
            pack p = row_pack(t, next, i + k), q = row_pack(t, next, i + k + PACK);
            pack u = row_pack(t, next_dy, i + k), v = row_pack(t, next_dy, i + k + PACK);
            row_keep(t, kept, next, i + k);
            row_keep(t, kept_dy, next_dy, i + k);
            a += u;
            b += v;
            c += u * (p - centre);
            d += v * (q - centre);
        }
    }
    int64_t rest = head + whole;
    for (; to != NULL && rest + 2 * PACK <= s->n; rest += 2 * PACK) {
        row_set_packs(t, to, rest, ring_gradient_pack(t, &f, rest), ring_gradient_pack(t, &f, rest + PACK), false);
    }
    for (; to != NULL && rest < s->n; rest++) {
        row_set(t, to, rest, ring_gradient_value(t, &f, rest));
    }
    for (; next != NULL && i + 2 * PACK <= s->n; i += 2 * PACK) {
        pack u = row_pack(t, next_dy, i), v = row_pack(t, next_dy, i + PACK);
        a += u;
        b += v;
        c += u * (row_pack(t, next, i) - centre);
        d += v * (row_pack(t, next, i + PACK) - centre);
        row_keep(t, kept, next, i);
        row_keep(t, kept_dy, next_dy, i);
    }
    value sum = 0, products = 0;
    for (; next != NULL && i < s->n; i++) {
        value x = row_value(t, next, i), dy = row_value(t, next_dy, i);
        row_set(t, kept, i, x);
        row_set(t, kept_dy, i, dy);
        sum += dy;
        products += dy * (x - centre);
    }
    s->sum = (double)sum + (double)pack_sum(a + b);
    s->products = (double)products + (double)pack_sum(c + d);
}

/* The type of a step's rows as a constant. */
static void ring_forward(ring_step *s) {
#if defined(ROW_HALVES)
    if (s->type == ASSAY_BF16) {
        ring_forward_of(s, ASSAY_BF16);
        return;
    }
    if (s->type == ASSAY_F16) {
        ring_forward_of(s, ASSAY_F16);
        return;
    }
#endif
    ring_forward_of(s, row_native);
}

static void ring_backward(ring_step *s) {
#if defined(ROW_HALVES)
    if (s->type == ASSAY_BF16) {
        ring_backward_of(s, ASSAY_BF16);
        return;
    }
    if (s->type == ASSAY_F16) {
        ring_backward_of(s, ASSAY_F16);
        return;
    }
#endif
    ring_backward_of(s, row_native);
}
