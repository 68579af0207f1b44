/* SPDX-License-Identifier: Apache-2.0 */
/* A template, part of pointwise_real.h: loops whose second operand is one number. Rows that each have a number of their own
   would else need it written out as often as they have elements, which takes as long as the row itself. */

ALWAYS_INLINE elem add_number(elem x, elem p, elem q, elem r) {
    (void)q, (void)r;
    return add(x, p);
}

ALWAYS_INLINE elem sub_number(elem x, elem p, elem q, elem r) {
    (void)q, (void)r;
    return sub(x, p);
}

ALWAYS_INLINE elem mul_number(elem x, elem p, elem q, elem r) {
    (void)q, (void)r;
    return mul(x, p);
}

ALWAYS_INLINE elem divide_number(elem x, elem p, elem q, elem r) {
    (void)q, (void)r;
    return divide(x, p);
}

static void add_number_loop(const pointwise_chunk *c) {
    unary_with(c, add_number, *(const elem *)c->in[1], 0, 0);
}

static void sub_number_loop(const pointwise_chunk *c) {
    unary_with(c, sub_number, *(const elem *)c->in[1], 0, 0);
}

static void mul_number_loop(const pointwise_chunk *c) {
    unary_with(c, mul_number, *(const elem *)c->in[1], 0, 0);
}

static void divide_number_loop(const pointwise_chunk *c) {
    unary_with(c, divide_number, *(const elem *)c->in[1], 0, 0);
}
