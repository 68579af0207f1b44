/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of one number that several rows' references are made of, in double, to a few ulp wherever their results are no denormals:
   what an argument's own rounding would be off by is made good. */
#ifndef ENGINE_OPS_FUNCTIONS_H
#define ENGINE_OPS_FUNCTIONS_H

/* 1 / (1 + exp(-x)). */
double logistic(double x);

/* The share of a normal distribution below x, and its density at x. */
double normal_share(double x);
double normal_density(double x);

#endif
