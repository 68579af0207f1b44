/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of elements: folded where the answer is plain. */
#include "engine/graph/dag_build.h"

#include <assert.h>
#include <string.h>

static bool is_constant(const dag *g, val x) {
    return dag_at(g, x)->kind == PRIM_CONSTANT;
}

static bool is_number(const dag *g, val x, double what) {
    const dag_node *n = dag_at(g, x);
    return n->kind == PRIM_CONSTANT && n->number.f == what && n->number.im == 0;
}

/* x * 1, x / 1, x - 0, x + 0 of integers, a choice already made: the value that it comes to. */
static bool identity(const dag *g, scalar_function f, const val *x, val *out) {
    bool integer = dtype_category_of(v_dtype(g, x[0])) < CATEGORY_FLOATING;
    if (((f == FN_MUL || f == FN_DIV) && is_number(g, x[1], 1)) || (f == FN_SUB && is_number(g, x[1], 0)) ||
        (f == FN_ADD && integer && is_number(g, x[1], 0))) {
        *out = x[0];
        return true;
    }
    if ((f == FN_MUL && is_number(g, x[0], 1)) || (f == FN_ADD && integer && is_number(g, x[0], 0))) {
        *out = x[1];
        return true;
    }
    if (f == FN_SELECT && is_constant(g, x[0])) {
        *out = x[is_number(g, x[0], 0) ? 2 : 1];
        return true;
    }
    return false;
}

static bool fold(dag *g, scalar_function f, int n, const val *x, val *out) {
    number numbers[3];
    for (int i = 0; i < n; i++) {
        if (!is_constant(g, x[i])) {
            return false;
        }
        numbers[i] = dag_at(g, x[i])->number;
    }
    number folded;
    dtype t = v_dtype(g, x[n - 1]);
    if (!scalar_function_fold(f, t, numbers, &folded)) {
        return false;
    }
    *out = v_constant(g, scalar_function_result(f, t), folded);
    return true;
}

/* What is computed from a normalised value seen under another shape is computed in the value's own shape, where it has the loops
   of its reductions (a group norm's activation, or that one's gradient, those of the groups). What else it reads must lie in
   memory, whose shape is a matter of indices. */
static bool before_reshape(dag *g, scalar_function f, int n, const val *x, val *out) {
    val normal = {-1}, sources[3];
    for (int i = 0; i < n && normal.id < 0; i++) {
        if (!is_constant(g, x[i]) && !dag_reshapes_normal(g, x[i], &normal)) {
            normal.id = -1;
        }
    }
    for (int i = 0; i < n && normal.id >= 0; i++) {
        const dag_node *own = dag_at(g, normal), *operand = dag_at(g, x[i]);
        val other;
        bool reshaped = operand->kind == PRIM_VIEW && dag_reshapes_normal(g, x[i], &other);
        bool lies = operand->kind == PRIM_INPUT || (operand->kind == PRIM_VIEW && dag_at(g, operand->sources[0])->kind == PRIM_INPUT);
        if (!is_constant(g, x[i]) && !reshaped && !lies) {
            return false;
        }
        int64_t sizes[TENSOR_MAX_DIMS];
        int ndim = own->ndim;
        memcpy(sizes, own->sizes, (size_t)ndim * sizeof *sizes);
        sources[i] = is_constant(g, x[i]) ? x[i] : v_reshape(g, x[i], ndim, sizes);
    }
    if (normal.id >= 0 && !dag_stopped(g)) {
        *out = v_map(g, f, n, sources);
    }
    return normal.id >= 0;
}

/* x - log(sum of exp(x) over some of its dimensions), of which the exponential is exp(x) / that sum, which is a product with
   its inverse as in softmax: the gradient of a logarithm of softmax takes no other exponentials than the sum has. */
static bool exp_of_log_softmax(dag *g, val v, val *out) {
    const dag_node difference = *dag_at(g, v);
    if (difference.kind != PRIM_MAP || difference.fn != FN_SUB) {
        return false;
    }
    const dag_node shown = *dag_at(g, difference.sources[1]);
    const dag_node logarithm = shown.kind == PRIM_VIEW ? *dag_at(g, shown.sources[0]) : shown;
    if (shown.kind != PRIM_VIEW || shown.n_sources != 1 || logarithm.kind != PRIM_MAP || logarithm.fn != FN_LOG) {
        return false;
    }
    const dag_node *sum = dag_at(g, logarithm.sources[0]);
    sum = sum->kind == PRIM_VIEW ? dag_at(g, sum->sources[0]) : sum;
    const dag_node *terms = sum->kind == PRIM_REDUCE && sum->reduce.how == RED_SUM ? dag_at(g, sum->sources[0]) : sum;
    if (terms->kind != PRIM_MAP || terms->fn != FN_EXP || terms->sources[0].id != difference.sources[0].id) {
        return false;
    }
    val exponential = sum->sources[0];
    *out = v_mul(g, exponential, v_view(g, v_recip(g, logarithm.sources[0]), shown.ndim, shown.sizes, &shown.view));
    return true;
}

val v_map(dag *g, scalar_function f, int n, const val *x) {
    if (dag_stopped(g)) {
        return (val){0};
    }
    assert(n == scalar_function_operands(f));
    int ndim = 0;
    int64_t sizes[TENSOR_MAX_DIMS];
    dtype t = v_dtype(g, x[n - 1]);
    for (int i = 0; i < n; i++) {
        const dag_node *operand = dag_at(g, x[i]);
        status broadcast = sizes_broadcast(&ndim, sizes, operand->ndim, operand->sizes, NULL);
        assert(broadcast == ASSAY_OK && (operand->dtype == t || (f == FN_SELECT && i == 0)));
        (void)broadcast;
    }
    val folded;
    if (fold(g, f, n, x, &folded)) {
        return folded;
    }
    if (f == FN_EXP && exp_of_log_softmax(g, x[0], &folded)) {
        return folded;
    }
    val operands[3];
    for (int i = 0; i < n; i++) {
        operands[i] = is_constant(g, x[i]) ? x[i] : v_expand(g, x[i], ndim, sizes);
    }
    if (!dag_stopped(g) && identity(g, f, operands, &folded)) {
        return v_expand(g, folded, ndim, sizes);
    }
    val whole;
    if (!dag_stopped(g) && before_reshape(g, f, n, operands, &whole)) {
        return v_reshape(g, whole, ndim, sizes);
    }
    return dag_intern(g, &(dag_node){.kind = PRIM_MAP,
                                     .dtype = scalar_function_result(f, t),
                                     .ndim = ndim,
                                     .sizes = sizes,
                                     .n_sources = n,
                                     .sources = operands,
                                     .fn = f});
}

val v_1(dag *g, scalar_function f, val x) {
    return v_map(g, f, 1, &x);
}

val v_2(dag *g, scalar_function f, val x, val y) {
    return v_map(g, f, 2, (val[]){x, y});
}

val v_select(dag *g, val condition, val then, val otherwise) {
    return v_map(g, FN_SELECT, 3, (val[]){condition, then, otherwise});
}

val v_add(dag *g, val x, val y) {
    return v_2(g, FN_ADD, x, y);
}

val v_sub(dag *g, val x, val y) {
    return v_2(g, FN_SUB, x, y);
}

val v_mul(dag *g, val x, val y) {
    return v_2(g, FN_MUL, x, y);
}

val v_div(dag *g, val x, val y) {
    return v_2(g, FN_DIV, x, y);
}

val v_add_real(dag *g, val x, double y) {
    return v_add(g, x, v_real(g, v_dtype(g, x), y));
}

val v_mul_real(dag *g, val x, double y) {
    return v_mul(g, x, v_real(g, v_dtype(g, x), y));
}

val v_recip(dag *g, val x) {
    return v_div(g, v_real(g, v_dtype(g, x), 1), x);
}
