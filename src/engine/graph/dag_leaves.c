/* SPDX-License-Identifier: Apache-2.0 */
/* Values that are read from nothing else, and what is asked of values. */
#include "engine/graph/dag_build.h"

bool dag_stopped(const dag *g) {
    return g->failed || g->refused != NULL;
}

void v_refuse(dag *g, const char *why) {
    g->refused = g->refused != NULL ? g->refused : why;
}

dtype v_dtype(const dag *g, val x) {
    return dag_at(g, x)->dtype;
}

int v_ndim(const dag *g, val x) {
    return dag_at(g, x)->ndim;
}

int64_t v_size(const dag *g, val x, int dim) {
    return dag_at(g, x)->sizes[dim];
}

const int64_t *v_sizes(const dag *g, val x) {
    return dag_at(g, x)->sizes;
}

val v_constant(dag *g, dtype t, number n) {
    if (dtype_category_of(t) < CATEGORY_FLOATING) {
        uint64_t bits = 0;
        if (t == ASSAY_B8 || n.category >= CATEGORY_FLOATING) {
            element_store(t, &bits, n.f);
        } else {
            element_store_int(t, &bits, n.i);
        }
        n = number_of_int(element_load_int(t, &bits));
    } else if (!dtype_is_complex(t)) {
        n = number_of_double(t == ASSAY_F32    ? (double)(float)n.f
                             : t == ASSAY_F16  ? (double)f16_to_float(f16_from_double(n.f))
                             : t == ASSAY_BF16 ? (double)bf16_to_float(bf16_from_double(n.f))
                                               : n.f);
    } else {
        n = number_of_complex(n.f, n.im);
    }
    return dag_intern(g, &(dag_node){.kind = PRIM_CONSTANT, .dtype = t, .number = n});
}

val v_real(dag *g, dtype t, double x) {
    return v_constant(g, t, number_of_double(x));
}

val v_int(dag *g, dtype t, int64_t x) {
    return v_constant(g, t, number_of_int(x));
}

val v_undefined(dag *g, dtype t) {
    return dag_intern(
        g, &(dag_node){.kind = PRIM_CONSTANT, .dtype = t, .is_any = true, .number = number_of_int(0)});
}

val v_iota(dag *g, int ndim, const int64_t *sizes, int dim) {
    return dag_intern(g, &(dag_node){.kind = PRIM_IOTA, .dtype = ASSAY_I64, .ndim = ndim, .sizes = sizes, .dim = dim});
}

val v_random(dag *g, const op_call *call, int ndim, const int64_t *sizes, int stream) {
    val seed = dag_intern(
        g, &(dag_node){.kind = PRIM_INPUT, .dtype = ASSAY_I64, .input = {.is_seed = true, .seed = call->seed}});
    return dag_intern(g, &(dag_node){.kind = PRIM_RANDOM,
                                     .dtype = ASSAY_I64,
                                     .ndim = ndim,
                                     .sizes = sizes,
                                     .n_sources = 1,
                                     .sources = &seed,
                                     .dim = stream});
}
