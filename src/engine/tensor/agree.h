/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a computed tensor agrees with exact values, within a tolerance derived from its type and its sums. */
#ifndef ENGINE_TENSOR_AGREE_H
#define ENGINE_TENSOR_AGREE_H

#include "engine/tensor/tensor.h"

/* The rule, stated for readers in docs/accuracy.md. For element i with exact value e, output epsilon eps_out (the distance
   of 1 to the next number), accumulator epsilon eps_acc (f32's for f16, bf16 and f32; f64's for f64) and K terms summed:

     |actual - e| <= roundings * eps_out * |e|  +  8 * eps_acc * (1 + sqrt K) * max(|e|, norm_i, rms)  +  2 * least number

   The first part is the output's own rounding (half an ulp is eps_out / 2; one rounding may also stand for an input
   constant rounded to the type). The second is the accumulated rounding of a sum in any order: errors of K roundings
   grow with sqrt K (Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., 2.8), relative to the size of what
   was summed: norm_i is the root of the square sum of the terms where the reference knows it (else 0), rms the root mean square of
   the checked values: a kernel may go by an element's neighbours as well, as transforms do. Integers and booleans must be equal, NaN and infinities must
   stand in the same places; a value beyond the type's range may be infinite.

   Kernels that keep what they compute on the way in f16 or bf16 round by eps_out / 2 at each step. With rounds_steps the
   second part is at least 4 eps_out max(|e|, norm_i, rms): eight such roundings. With rounds_sums it is at least 2 eps_out
   (1 + sqrt K) of that: rounding each of K partial sums makes an error whose deviation is 0.2 eps_out sqrt(K) norm, so that
   this is ten deviations, for the worst of a million elements. */
typedef struct agree_rule {
    double reduction; /* K, at least 1 */
    double roundings; /* at least 1 */
    bool rounds_steps;
    bool rounds_sums;
    /* Added to each checked element's tolerance (complex: to each part's), also of integers and booleans; infinite where
       any value will do. NULL: nothing. */
    const double *slack;
} agree_rule;

typedef struct agreement {
    bool agrees;
    int64_t checked;
    int64_t bad;       /* elements outside the tolerance */
    double max_abs;    /* over finite elements; NaN, as the next two, where an element outside the tolerance has no distance:
                          NaN, infinity, what is no boolean */
    double rel_l2;     /* ||actual - e|| / ||e||; NaN as well when e is all zero and actual is not */
    double worst_ulp;  /* in units of the output's last place; 0 for integers that agree */
    int64_t worst;     /* flat index of the first element outside the tolerance, else of the worst one */
    double expected_at_worst, actual_at_worst, tolerance_at_worst;
} agreement;

/* Compares the n elements at ascending flat row-major indices (NULL: all) with expected (complex: re, im interleaved; then
   elements count 2n parts). norm may be NULL. actual must have memory. */
void agree_compare(const tensor *actual, const int64_t *flat, int64_t n, const double *expected, const double *norm,
                   const agree_rule *rule, agreement *out);

/* What square sums of terms count by where a call's dtype=... is f16 or bf16 and its operand has more digits: PyTorch rounds every term
   first, assay's kernels add up what is there, and either is right (docs/accuracy.md). 1 for all other types. terms: of the longest sum. */
double agree_cast_weight(dtype from, dtype to, double terms);
/* The norm by which an element's tolerance, of a sum of so many terms, grows by `by` at least. */
double agree_norm_of_slack(dtype to, double terms, double by);

/* The tolerance of n expected values (parts of complex ones) of a type, without slack. norm may be NULL, and is one for each
   element. Zeros for integers and booleans. */
void agree_tolerances(dtype t, int64_t n, const double *expected, const double *norm, const agree_rule *rule, double *out);

/* Overwrites the tensor's whole storage so that an element no kernel wrote is seen: NaN in floating types, a pattern of
   0xA5 bytes (no valid boolean) in others. */
void agree_poison(tensor *t);

#endif
