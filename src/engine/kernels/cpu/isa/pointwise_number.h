/* SPDX-License-Identifier: Apache-2.0 */
/* A template, part of pointwise_real.h and pointwise_integer.h: loops one of whose two operands is one number. Rows that each
   have a number of their own would else need it written out as often as they have elements, which takes as long as the row
   itself. */

/* f of x and the number p, which comes second, or first. */
ALWAYS_INLINE void with_number(const pointwise_chunk *c, elem (*f)(elem x, elem y), const elem *x, elem p, bool p_first) {
    elem *out = c->out;
    const int64_t blocks = in_blocks(c), turned = in_turns(blocks);
    for (int64_t from = 0; from < blocks; from += STREAM_BLOCK) {
        const int64_t at = next_block(x, from, turned);
        _Alignas(STREAM_LINE) elem made[STREAM_BLOCK];
#pragma omp simd
        for (int64_t i = 0; i < STREAM_BLOCK; i++) {
            made[i] = p_first ? f(p, x[at + i]) : f(x[at + i], p);
        }
        stream_lines(out + at, made, sizeof made);
    }
#pragma omp simd
    for (int64_t i = blocks; i < c->n; i++) {
        out[i] = p_first ? f(p, x[i]) : f(x[i], p);
    }
}

ALWAYS_INLINE void number_second(const pointwise_chunk *c, elem (*f)(elem x, elem y)) {
    with_number(c, f, c->in[0], *(const elem *)c->in[1], false);
}

ALWAYS_INLINE void number_first(const pointwise_chunk *c, elem (*f)(elem x, elem y)) {
    with_number(c, f, c->in[1], *(const elem *)c->in[0], true);
}

/* Answers that are b8. */
ALWAYS_INLINE void number_test(const pointwise_chunk *c, bool (*f)(elem x, elem y), const elem *x, elem p, bool p_first) {
    uint8_t *out = c->out;
    const int64_t blocks = in_blocks(c), turned = in_turns(blocks);
    for (int64_t from = 0; from < blocks; from += STREAM_BLOCK) {
        const int64_t at = next_block(x, from, turned);
        _Alignas(STREAM_LINE) uint8_t made[STREAM_BLOCK];
#pragma omp simd
        for (int64_t i = 0; i < STREAM_BLOCK; i++) {
            made[i] = p_first ? f(p, x[at + i]) : f(x[at + i], p);
        }
        stream_lines(out + at, made, sizeof made);
    }
#pragma omp simd
    for (int64_t i = blocks; i < c->n; i++) {
        out[i] = p_first ? f(p, x[i]) : f(x[i], p);
    }
}

ALWAYS_INLINE void test_number(const pointwise_chunk *c, bool (*f)(elem x, elem y)) {
    number_test(c, f, c->in[0], *(const elem *)c->in[1], false);
}

ALWAYS_INLINE void test_number_first(const pointwise_chunk *c, bool (*f)(elem x, elem y)) {
    number_test(c, f, c->in[1], *(const elem *)c->in[0], true);
}

static void add_number_loop(const pointwise_chunk *c) {
    number_second(c, add);
}

static void sub_number_loop(const pointwise_chunk *c) {
    number_second(c, sub);
}

static void mul_number_loop(const pointwise_chunk *c) {
    number_second(c, mul);
}

static void maximum_number_loop(const pointwise_chunk *c) {
    number_second(c, maximum);
}

static void minimum_number_loop(const pointwise_chunk *c) {
    number_second(c, minimum);
}

static void number_add_loop(const pointwise_chunk *c) {
    number_first(c, add);
}

static void number_sub_loop(const pointwise_chunk *c) {
    number_first(c, sub);
}

static void number_mul_loop(const pointwise_chunk *c) {
    number_first(c, mul);
}

static void number_maximum_loop(const pointwise_chunk *c) {
    number_first(c, maximum);
}

static void number_minimum_loop(const pointwise_chunk *c) {
    number_first(c, minimum);
}

static void equal_number_loop(const pointwise_chunk *c) {
    test_number(c, equal);
}

static void differ_number_loop(const pointwise_chunk *c) {
    test_number(c, differ);
}

static void less_number_loop(const pointwise_chunk *c) {
    test_number(c, less);
}

static void at_most_number_loop(const pointwise_chunk *c) {
    test_number(c, at_most);
}

static void number_equal_loop(const pointwise_chunk *c) {
    test_number_first(c, equal);
}

static void number_differ_loop(const pointwise_chunk *c) {
    test_number_first(c, differ);
}

static void number_less_loop(const pointwise_chunk *c) {
    test_number_first(c, less);
}

static void number_at_most_loop(const pointwise_chunk *c) {
    test_number_first(c, at_most);
}

#define NUMBER_LOOPS                                                                                                      \
    [PW_ADD] = add_number_loop, [PW_SUB] = sub_number_loop, [PW_MUL] = mul_number_loop, [PW_EQ] = equal_number_loop,      \
    [PW_NE] = differ_number_loop, [PW_LT] = less_number_loop, [PW_LE] = at_most_number_loop,                             \
    [PW_MAXIMUM] = maximum_number_loop, [PW_MINIMUM] = minimum_number_loop
#define NUMBER_FIRST_LOOPS                                                                                                \
    [PW_ADD] = number_add_loop, [PW_SUB] = number_sub_loop, [PW_MUL] = number_mul_loop, [PW_EQ] = number_equal_loop,      \
    [PW_NE] = number_differ_loop, [PW_LT] = number_less_loop, [PW_LE] = number_at_most_loop,                             \
    [PW_MAXIMUM] = number_maximum_loop, [PW_MINIMUM] = number_minimum_loop
