/* SPDX-License-Identifier: Apache-2.0 */
/* Decompositions that stand in a file of their own, FAMILY_parts.c, because their family's file is long. */
#ifndef ENGINE_OPS_PARTS_H
#define ENGINE_OPS_PARTS_H

#include "engine/graph/dag.h"

op_decompose_fn max_pool_parts, max_pool_backward_parts, avg_pool_parts, avg_pool_backward_parts;
op_decompose_fn adaptive_pool_parts, adaptive_pool_backward_parts;
op_decompose_fn slice_backward_parts, select_backward_parts, constant_pad_parts, reflection_pad_parts;
op_decompose_fn reflection_pad_backward_parts, repeat_parts, flip_parts, roll_parts;
op_decompose_fn upsample_nearest_parts, upsample_nearest_backward_parts, upsample_bilinear_parts;
op_decompose_fn upsample_bilinear_backward_parts, upsample_bicubic_parts, grid_sampler_parts, grid_sampler_backward_parts;
op_decompose_fn index_parts, index_put_parts, index_select_parts, gather_parts, scatter_parts, scatter_value_parts;
op_decompose_fn scatter_add_parts, index_add_parts;
op_decompose_fn embedding_parts, embedding_backward_parts, embedding_bag_sample_backward_parts;

/* The greater and the lesser of what is no NaN: one comparison, where FN_MAXIMUM must ask twice (and C compilers give up on
   vectors when such a choice is converted). */
val v_greater(dag *g, val x, val y);
val v_lesser(dag *g, val x, val y);
/* An index in i64; below 0 it counts from the end of `size`. */
val v_wrapped_index(dag *g, val index, int64_t size);

/* Means over dimensions of x, of n elements each, and the sums of squares of deviations from them, as dimensions of size 1. */
void v_moments_at_once(dag *g, val x, uint64_t dims, double n, val *mean, val *squares);
/* The same, as elements in order of the other dimensions, by parts of samples. False, and nothing: they had better be found at once. */
bool v_moments_by_samples(dag *g, val x, uint64_t dims, double n, val *mean, val *squares);
/* x, whose dimension 1 counts channels, with that dimension last where they lie together in memory (laid out as t), so that what is
   reduced by channel goes down columns; x itself otherwise. dims: the others of them. */
val v_channels_behind(dag *g, const tensor *t, val x, uint64_t *dims);

#endif
