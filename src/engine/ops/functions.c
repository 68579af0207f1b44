/* SPDX-License-Identifier: Apache-2.0 */
/* The logistic function and the normal distribution. */
#include "engine/ops/functions.h"

#include <math.h>

/* Both ways round, so that exp never overflows where the result does not. */
double logistic(double x) {
    return x >= 0 ? 1 / (1 + exp(-x)) : exp(x) / (1 + exp(x));
}

/* erfc(t) / 2 of t = -x / sqrt(2). Far from 0 it falls by exp(-t^2): an error d of t makes one of 2 t d, which is 200 ulp at x = -14. So what
   t lacks is taken along; 1 / sqrt(2) is known in two parts. */
double normal_share(double x) {
    static const double root = 0x1.6a09e667f3bcdp-1, root_rest = -0x1.bdd3413b26456p-55;
    double t = -x * root, lacks = fma(-x, root, -t) - x * root_rest, share = 0.5 * erfc(t);
    return t > 1 && t < 30 ? share - share * 2 * t * lacks : share;
}

double normal_density(double x) {
    static const double height = 0.3989422804014327; /* 1 / sqrt(2 pi) */
    double half = 0.5 * x, z = half * x, lacks = fma(half, x, -z), density = height * exp(-z);
    return z < 800 ? density - density * lacks : density;
}
