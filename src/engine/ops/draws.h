/* SPDX-License-Identifier: Apache-2.0 */
/* What must hold of values that somebody drew: INTERNAL, and what does not, where it would be a wonder. Every bound is broken by a right
   generator with a probability under 1e-10: a run of a thousand checks raises a false alarm once in ten million runs. */
#ifndef ENGINE_OPS_DRAWS_H
#define ENGINE_OPS_DRAWS_H

#include "engine/tensor/tensor.h"

/* Ones with probability p, or with those of tensor `probabilities` (broadcast) where that is not NULL, else zeros. */
status draws_check_chances(const tensor *t, const tensor *probabilities, double p, error *err);
status draws_check_uniform(const tensor *t, double from, double to, error *err);
status draws_check_normal(const tensor *t, double mean, double sd, error *err);

#endif
