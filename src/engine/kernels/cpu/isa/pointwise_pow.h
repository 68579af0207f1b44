/* SPDX-License-Identifier: Apache-2.0 */
/* Powers of floats, a template, part of pointwise_f32.c: by tables where there are such (vector_pow.h), else, and for blocks with
   an element that those do not serve, in two steps that every vector unit can do. */
#include "engine/kernels/cpu/isa/vector_pow.h"

/* Operands of x^y, each of them elements one behind the other, or one number for all. */
typedef struct pow_operands {
    const elem *x, *y;
    bool x_is_number, y_is_number;
} pow_operands;

enum { POW_BLOCK = 256 };

static bool all_are(const elem *x, elem value, int64_t n) {
    int same = 1;
#pragma omp simd reduction(& : same)
    for (int64_t i = 0; i < n; i++) {
        same &= x[i] == value;
    }
    return same != 0;
}

static bool one_logarithm_will_do(elem base) {
    return base > 0 && base < INFINITY && base != 1;
}

static void pow_of_base(elem *out, elem base, const elem *y, int64_t n) {
    double logarithm = log2_wide(base);
#pragma omp simd
    for (int64_t i = 0; i < n; i++) {
        out[i] = pow_by_log2(logarithm, y[i]);
    }
}

/* Elements [from, from + n) of any kind. Not inlined: it is the exception where there are tables. */
static __attribute__((noinline)) void pow_any(elem *out, pow_operands p, int64_t from, int64_t n) {
    elem magnitude[POW_BLOCK], alike[POW_BLOCK];
    if (p.x_is_number || p.y_is_number) {
        elem value = p.x_is_number ? *p.x : *p.y;
        for (int64_t i = 0; i < (n < POW_BLOCK ? n : POW_BLOCK); i++) {
            alike[i] = value;
        }
    }
    for (int64_t at = 0; at < n; at += POW_BLOCK) {
        int64_t some = n - at < POW_BLOCK ? n - at : POW_BLOCK;
        const elem *x = p.x_is_number ? alike : p.x + from + at, *y = p.y_is_number ? alike : p.y + from + at;
        elem *to = out + from + at;
        if (one_logarithm_will_do(x[0]) && (p.x_is_number || all_are(x, x[0], some))) {
            pow_of_base(to, x[0], y, some);
            continue;
        }
#pragma omp simd
        for (int64_t i = 0; i < some; i++) {
            magnitude[i] = pow_magnitude(x[i], y[i]);
        }
#pragma omp simd
        for (int64_t i = 0; i < some; i++) {
            to[i] = pow_signed(magnitude[i], x[i], y[i]);
        }
    }
}

#if POW_BY_TABLE
/* What is known of the exponents. */
typedef enum pow_kind { POW_OF_ANY, POW_OF_FRACTION, POW_OF_EVEN, POW_OF_ODD } pow_kind;

enum { POW_LANES = 16, POW_STEP = POW_PAIR * POW_LANES, POW_STEPS = STREAM_BLOCK / POW_STEP };

enum { LEAST_FOR_TABLES = 16384 /* elements: making them takes 2 us */ };

/* What goes before the first element. */
typedef struct pow_plan {
    pow_kind kind;
    uint32_t responses;
    pow_logarithm logarithm;
    const pow_tables *tables; /* NULL: none */
} pow_plan;

/* The elements at `at`, those of `some`; others are 1. */
ALWAYS_INLINE pow_pair pow_load(const elem *at, uint32_t some) {
    pow_pair made;
    for (int k = 0; k < POW_PAIR; k++) {
        const elem *from = at + POW_LANES * k;
        uint16_t these = (uint16_t)(some >> POW_LANES * k);
        made.v[k] = wide_of(1);
        if (some == UINT32_MAX) {
            made.v[k] = *(const wide_f32_anywhere *)from;
        } else {
            __asm__("vmovups %1, %0 %{%2%}" : "+v"(made.v[k]) : "m"(*(const wide_f32_anywhere *)from), "Yk"(these));
        }
    }
    return made;
}

/* 32 elements. False: they want pow_any. */
ALWAYS_INLINE bool pow_step(pow_operands p, const pow_plan *plan, pow_kind kind, int64_t at, uint32_t some, pow_pair *made) {
    if (p.y_is_number && plan->tables != NULL) {
        return pow_by_tables(plan->tables, 5, pow_load(p.x + at, some), kind == POW_OF_ODD ? -0.0f : 0, plan->responses, made);
    }
    if (p.y_is_number) {
        return wide_pow_number(pow_load(p.x + at, some), *p.y, kind == POW_OF_ODD ? -0.0f : 0, plan->responses, made);
    }
    pow_pair y = pow_load(p.y + at, some);
    if (!p.x_is_number) {
        return wide_pow(pow_load(p.x + at, some), y, made);
    }
    pow_pair exponent;
    *made = wide_exp2(y, plan->logarithm, &exponent);
    return (pow_is_ordinary(exponent.v[0]) & pow_is_ordinary(exponent.v[1])) == 0xffff;
}

ALWAYS_INLINE void pow_stretch(const pointwise_chunk *c, pow_operands p, const pow_plan *plan, pow_kind kind) {
    elem *out = c->out;
    const int64_t n = c->n, blocks = n / STREAM_BLOCK * STREAM_BLOCK;
    const bool is_one = p.x_is_number || p.y_is_number;
    const int64_t turned = is_one ? in_turns(blocks) : 0;
    int64_t at = blocks;
    for (int64_t start = 0; start < blocks; start += STREAM_BLOCK) {
        int64_t place = start;
        if (POINTWISE_STREAMS && is_one) {
            place = next_block(p.x_is_number ? p.y : p.x, start, turned);
        } else if (POINTWISE_STREAMS) {
            fetch_operand(c, 0, p.x + start, STREAM_BLOCK * sizeof(elem));
            fetch_operand(c, 1, p.y + start, STREAM_BLOCK * sizeof(elem));
        }
        for (int i = 0; i < POW_STEPS; i++) {
            pow_pair made;
            int64_t from = place + i * POW_STEP;
            if (__builtin_expect(!pow_step(p, plan, kind, from, UINT32_MAX, &made), 0)) {
                pow_any(out, p, from, POW_STEP);
            } else if (POINTWISE_STREAMS) {
                stream_lines(out + from, &made, sizeof made);
            } else {
                memcpy(out + from, &made, sizeof made);
            }
        }
    }
    for (; at < n; at += POW_STEP) { /* the rest in the same way, by masks */
        uint32_t some = n - at >= POW_STEP ? UINT32_MAX : (UINT32_C(1) << (n - at)) - 1;
        pow_pair made;
        if (!pow_step(p, plan, kind, at, some, &made)) {
            pow_any(out, p, at, n - at < POW_STEP ? n - at : POW_STEP);
            continue;
        }
        for (int k = 0; k < POW_PAIR; k++) {
            uint16_t these = (uint16_t)(some >> POW_LANES * k);
            __asm__("vmovups %1, %0 %{%2%}" : "+m"(*(wide_f32_anywhere *)(out + at + POW_LANES * k)) : "v"(made.v[k]), "Yk"(these));
        }
    }
}

static void pow_loop(const pointwise_chunk *c) {
    pow_operands p = {.x = c->in[0], .y = c->in[1]};
    pow_plan none = {.kind = POW_OF_ANY};
    /* One number written out, as f16 and bf16 have it. */
    if (c->n <= POW_BLOCK && c->n > 1 && p.x[0] == p.x[1] && one_logarithm_will_do(p.x[0]) && all_are(p.x, p.x[0], c->n)) {
        pow_any(c->out, p, 0, c->n);
        return;
    }
    pow_stretch(c, p, &none, POW_OF_ANY);
}

ALWAYS_INLINE void pow_of_kind(const pointwise_chunk *c, pow_operands p, const pow_plan *plan) {
    if (plan->kind == POW_OF_FRACTION) {
        pow_stretch(c, p, plan, POW_OF_FRACTION);
    } else if (plan->kind == POW_OF_ODD) {
        pow_stretch(c, p, plan, POW_OF_ODD);
    } else {
        pow_stretch(c, p, plan, POW_OF_EVEN);
    }
}

static void pow_number_loop(const pointwise_chunk *c) {
    pow_operands p = {.x = c->in[0], .y = c->in[1], .y_is_number = true};
    elem y = *p.y;
    if (!(fabsf(y) < INFINITY) || y == 0) {
        pow_any(c->out, p, 0, c->n);
        return;
    }
    pow_plan plan = {.kind = y != rintf(y) ? POW_OF_FRACTION : y / 2 != rintf(y / 2) ? POW_OF_ODD : POW_OF_EVEN};
    plan.responses = pow_responses(y, plan.kind == POW_OF_FRACTION);
    if (c->n >= LEAST_FOR_TABLES && pow_has_tables(y)) {
        const pow_tables tables = pow_tables_of(y);
        plan.tables = &tables;
        pow_of_kind(c, p, &plan);
        return;
    }
    plan.tables = NULL; /* a constant: the loop has no other way then */
    pow_of_kind(c, p, &plan);
}

static void number_pow_loop(const pointwise_chunk *c) {
    pow_operands p = {.x = c->in[0], .y = c->in[1], .x_is_number = true};
    if (!one_logarithm_will_do(*p.x)) {
        pow_any(c->out, p, 0, c->n);
        return;
    }
    double logarithm = log2(*p.x), high = (float)logarithm;
    pow_plan plan = {.kind = POW_OF_ANY};
    for (int k = 0; k < POW_PAIR; k++) {
        plan.logarithm.high.v[k] = wide_of((float)high);
        plan.logarithm.low.v[k] = wide_of((float)(logarithm - high));
    }
    pow_stretch(c, p, &plan, POW_OF_ANY);
}
#else
static void pow_loop(const pointwise_chunk *c) {
    pow_any(c->out, (pow_operands){.x = c->in[0], .y = c->in[1]}, 0, c->n);
}

static void pow_number_loop(const pointwise_chunk *c) {
    pow_any(c->out, (pow_operands){.x = c->in[0], .y = c->in[1], .y_is_number = true}, 0, c->n);
}

static void number_pow_loop(const pointwise_chunk *c) {
    pow_any(c->out, (pow_operands){.x = c->in[0], .y = c->in[1], .x_is_number = true}, 0, c->n);
}
#endif
