/* SPDX-License-Identifier: Apache-2.0 */
/* What decompositions are written in: values from values, folded where the answer is plain. */
#include "engine/graph/dag_build.h"

#include <assert.h>
#include <string.h>

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

bool v_has(const op_call *call, int i) {
    return !call_is_none(call, i);
}

/* --- leaves --------------------------------------------------------------------------------------------------------- */

val v_tensor(dag *g, const tensor *t) {
    if (g->failed) {
        return (val){0};
    }
    val known;
    if (dag_known(g->capture, t, &known)) {
        return known;
    }
    if (t->sparse != NULL) {
        v_refuse(g, "a sparse tensor");
    }
    return dag_intern(
        g, &(dag_node){.kind = PRIM_INPUT, .dtype = t->dtype, .ndim = t->ndim, .sizes = t->sizes, .input.from = (tensor *)t});
}

val v_raw(dag *g, const op_call *call, int i) {
    return v_tensor(g, call_tensor(call, i));
}


val v_constant(dag *g, dtype t, number n) {
    if (dtype_category_of(t) < CATEGORY_FLOATING) {
        n = number_of_int(t == ASSAY_B8 ? n.f != 0 : n.category >= CATEGORY_FLOATING ? (int64_t)n.f : n.i);
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

val v_operand(dag *g, const tensor *t) {
    if (!t->is_wrapped_number || t->storage == NULL) {
        return v_tensor(g, t);
    }
    const char *at = tensor_data(t);
    if (dtype_is_complex(t->dtype)) {
        double parts[2];
        memcpy(parts, at, sizeof parts); /* c128 */
        return v_constant(g, t->dtype, number_of_complex(parts[0], parts[1]));
    }
    return dtype_is_floating(t->dtype) ? v_constant(g, t->dtype, number_of_double(element_load(t->dtype, at)))
                                       : v_constant(g, t->dtype, number_of_int(element_load_int(t->dtype, at)));
}

val v_arg(dag *g, const op_call *call, int i) {
    const tensor *t = call_tensor(call, i);
    return v_cast(g, v_operand(g, t), primitive_compute_type(t->dtype));
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

/* --- functions of elements ------------------------------------------------------------------------------------------ */

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

/* --- the rest --------------------------------------------------------------------------------------------------------- */

val v_scan(dag *g, reduction how, val x, int dim) {
    if (dag_stopped(g)) {
        return (val){0};
    }
    dag_node n = *dag_at(g, x);
    if (dag_numel(&n) == 0) {
        return x;
    }
    return dag_intern(g, &(dag_node){.kind = PRIM_SCAN,
                                     .dtype = n.dtype,
                                     .ndim = n.ndim,
                                     .sizes = n.sizes,
                                     .n_sources = 1,
                                     .sources = &x,
                                     .reduce = {how, (uint64_t)1 << dim}});
}

val v_keep(dag *g, val x) {
    primitive kind = dag_stopped(g) ? PRIM_CONSTANT : dag_at(g, x)->kind;
    if (kind != PRIM_MAP && kind != PRIM_CAST) {
        return x;
    }
    if (g->n_kept == g->kept_capacity) { /* the arena keeps the old lists: no more than the new ones */
        int capacity = 2 * g->kept_capacity + 16;
        val *kept = arena_make(g->memory, (size_t)capacity, sizeof *kept);
        if (kept == NULL) {
            g->failed = true;
            return x;
        }
        if (g->n_kept > 0) {
            memcpy(kept, g->kept, (size_t)g->n_kept * sizeof *kept);
        }
        g->kept = kept;
        g->kept_capacity = capacity;
    }
    g->kept[g->n_kept++] = x;
    return x;
}

val v_join(dag *g, int n, const val *pieces, int dim) {
    val *kept = arena_make(g->memory, (size_t)n, sizeof *kept);
    if (dag_stopped(g) || kept == NULL) {
        g->failed |= kept == NULL;
        return (val){0};
    }
    int64_t sizes[TENSOR_MAX_DIMS] = {0};
    int n_kept = 0;
    for (int i = 0; i < n; i++) {
        const dag_node *piece = dag_at(g, pieces[i]);
        if (dag_numel(piece) > 0) {
            int64_t before = n_kept > 0 ? sizes[dim] : 0;
            memcpy(sizes, piece->sizes, (size_t)piece->ndim * sizeof *sizes);
            sizes[dim] += before;
            kept[n_kept++] = pieces[i];
        }
    }
    if (n_kept < 2) {
        return n_kept == 1 ? kept[0] : pieces[0];
    }
    const dag_node *first = dag_at(g, kept[0]);
    return dag_intern(g, &(dag_node){.kind = PRIM_JOIN,
                                     .dtype = first->dtype,
                                     .ndim = first->ndim,
                                     .sizes = sizes,
                                     .n_sources = n_kept,
                                     .sources = kept,
                                     .dim = dim});
}

/* What the call finds where it writes is a value of its own: whoever else knows that value may read it later. */
static void own_what_is_written(dag *g, const op_call *call, val *sources) {
    int n = 0;
    for (int i = 0; i < call->op->signature.n_params; i++) {
        const arg *a = &call->args[i];
        if (a->kind == ARG_TENSOR && op_writes(call->op, i)) {
            sources[n] = v_written(g, sources[n], call, n);
        }
        n += a->kind == ARG_TENSOR;
        for (int k = 0; a->kind == ARG_TENSORS && k < a->n; k++) {
            n += a->tensors[k] != NULL;
        }
    }
}

val v_call(dag *g, const op_call *call, const outputs *out, int k) {
    int n = call_all_tensors(call, NULL, 0);
    tensor **tensors = arena_make(g->memory, (size_t)n, sizeof(tensor *));
    val *sources = arena_make(g->memory, (size_t)n, sizeof *sources);
    if (tensors == NULL || sources == NULL) {
        g->failed = true;
        return (val){0};
    }
    call_all_tensors(call, tensors, n);
    for (int i = 0; i < n; i++) {
        sources[i] = v_tensor(g, tensors[i]);
    }
    own_what_is_written(g, call, sources);
    const tensor *t = &out->items[k];
    return dag_intern(g, &(dag_node){.kind = PRIM_CALL,
                                     .dtype = t->dtype,
                                     .ndim = t->ndim,
                                     .sizes = t->sizes,
                                     .n_sources = n,
                                     .sources = sources,
                                     .call = {.call = call, .out = out, .output = k}});
}

bool v_owns_product(dag *g, const op_call *call) {
    if (g->products == NULL) {
        g->products = arena_make(g->memory, DAG_MOST_PRODUCTS, sizeof *g->products);
        g->failed |= g->products == NULL;
    }
    if (g->failed || g->n_products == DAG_MOST_PRODUCTS) {
        return g->own_products;
    }
    g->products[g->n_products] = (dag_product){call, {-1}};
    int which = g->n_products++;
    return g->own_products && (g->library_products >> which & 1) == 0;
}

val v_factor(dag *g, val x, dtype t) {
    return g->rounds_factors && t == ASSAY_BF16 ? v_rounded(g, x, t) : x;
}

void v_owned_product(dag *g, const op_call *call, val sum) {
    if (g->products != NULL && g->n_products > 0 && g->products[g->n_products - 1].call == call) {
        g->products[g->n_products - 1].value = sum;
    }
}

void v_library(dag *g, const op_call *call, const outputs *out) {
    for (int k = 0; k < out->n; k++) {
        v_result(g, k, v_call(g, call, out, k));
    }
}

void v_write(dag *g, const op_call *call, int i, val v) {
    if (!dag_stopped(g)) {
        const tensor *t = call_tensor(call, i);
        dag_learn(g, t, v_cast(g, v_expand(g, v, t->ndim, t->sizes), t->dtype), true);
    }
}

void v_result(dag *g, int k, val v) {
    if (dag_stopped(g)) {
        return;
    }
    g->results[k] = v;
}
