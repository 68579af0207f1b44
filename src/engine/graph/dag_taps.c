/* SPDX-License-Identifier: Apache-2.0 */
/* Sums over windows, and the small words that their coordinates are written in. */
#include "engine/graph/dag.h"

#include <string.h>

index_sum v_dim(dag *g, const int64_t *sizes, int d) {
    return index_variable(&g->indices, d, sizes[d]);
}

index_sum v_line(dag *g, index_sum a, int64_t factor, int64_t plus) {
    return index_add(&g->indices, index_scale(&g->indices, a, factor), index_constant(plus));
}

val v_sum_of_taps(dag *g, int ndim, const int64_t *sizes, int64_t rows, int64_t columns, v_tap_fn *tap, const void *self) {
    if (rows * columns > V_FEW_TAPS) {
        int64_t all[TENSOR_MAX_DIMS];
        memcpy(all, sizes, (size_t)ndim * sizeof *sizes);
        all[ndim] = rows;
        all[ndim + 1] = columns;
        val terms = tap(g, self, ndim + 2, all, v_dim(g, all, ndim), v_dim(g, all, ndim + 1));
        return v_reduce(g, RED_SUM, terms, (uint64_t)3 << ndim, false);
    }
    val sum = tap(g, self, ndim, sizes, index_constant(0), index_constant(0));
    for (int64_t i = 1; i < rows * columns && !g->failed && g->refused == NULL; i++) {
        sum = v_add(g, sum, tap(g, self, ndim, sizes, index_constant(i / columns), index_constant(i % columns)));
    }
    return sum;
}
