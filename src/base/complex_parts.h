/* SPDX-License-Identifier: Apache-2.0 */
/* Products and quotients of complex numbers by their parts, as ATen has them. C's own (Annex G) look for infinities among what comes out as
   NaN, by a call for each number: (1+1i) * (0+inf i) is infinite to them and NaN here. */
#ifndef BASE_COMPLEX_PARTS_H
#define BASE_COMPLEX_PARTS_H

#include <complex.h>
#include <math.h>

typedef struct complex_parts {
    double re, im;
} complex_parts;

static inline __attribute__((always_inline, unused)) complex_parts parts_product(complex_parts x, complex_parts y) {
    return (complex_parts){x.re * y.re - x.im * y.im, x.re * y.im + x.im * y.re};
}

/* By the ratio of the divisor's parts, the smaller to the larger, so that no square leaves the range (Smith, 1962; c10::complex). */
static inline __attribute__((always_inline, unused)) complex_parts parts_quotient(complex_parts x, complex_parts y) {
    const int by_real = fabs(y.re) >= fabs(y.im);
    const double larger = by_real ? y.re : y.im, smaller = by_real ? y.im : y.re;
    const double ratio = smaller / larger, scale = 1 / (larger + smaller * ratio);
    const double u = by_real ? x.re : x.im, v = by_real ? x.im : x.re;
    const double re = (u + v * ratio) * scale, im = (v - u * ratio) * scale;
    const int by_zero = (y.re == 0) & (y.im == 0);
    return (complex_parts){by_zero ? x.re / fabs(y.re) : re, by_zero ? x.im / fabs(y.im) : by_real ? im : -im};
}

static inline __attribute__((always_inline, unused)) complex_parts parts_of(double complex z) {
    return (complex_parts){creal(z), cimag(z)};
}

static inline __attribute__((always_inline, unused)) double complex complex_of_parts(complex_parts z) {
    return __builtin_complex(z.re, z.im); /* CMPLX, which glibc withholds from clang */
}

static inline __attribute__((always_inline, unused)) double complex complex_product(double complex x, double complex y) {
    return complex_of_parts(parts_product(parts_of(x), parts_of(y)));
}

static inline __attribute__((always_inline, unused)) double complex complex_quotient(double complex x, double complex y) {
    return complex_of_parts(parts_quotient(parts_of(x), parts_of(y)));
}

#endif
