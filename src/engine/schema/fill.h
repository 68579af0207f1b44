/* SPDX-License-Identifier: Apache-2.0 */
/* Random values for input tensors: the default, and the pieces that rows compose theirs from. */
#ifndef ENGINE_SCHEMA_FILL_H
#define ENGINE_SCHEMA_FILL_H

#include "base/rng.h"
#include "engine/tensor/tensor.h"

/* All write through the strides (an element that several indices share gets one of their values) and do nothing to a
   tensor without memory. */

/* Floats and complex parts standard normal, integers uniform in [0, 10), booleans fair. Fills the whole storage, so that
   overlapping and broadcast tensors are covered as well. */
void fill_default(tensor *t, rng *r);
/* Uniform in [low, high). */
void fill_uniform(tensor *t, rng *r, double low, double high);
/* Integers uniform in [low, high). */
void fill_integers(tensor *t, rng *r, int64_t low, int64_t high);
void fill_constant(tensor *t, double value);
/* The dense row-major doubles at values. */
void fill_from(tensor *t, const double *values);

#endif
