/* SPDX-License-Identifier: Apache-2.0 */
/* What a decomposition takes from the call at hand and gives back: arguments, results, calls of the library. */
#include "engine/graph/dag_build.h"

#include <string.h>

bool v_has(const op_call *call, int i) {
    return !call_is_none(call, i);
}

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
    g->products[g->n_products] = (dag_product){call, {-1}, NULL};
    int which = g->n_products++;
    return g->own_products && (g->library_products >> which & 1) == 0;
}

val v_factor(dag *g, val x, dtype t) {
    return g->rounds_factors && t == ASSAY_BF16 ? v_rounded(g, x, t) : x;
}

static dag_product *product_at_hand(dag *g, const op_call *call) {
    dag_product *last = g->products != NULL && g->n_products > 0 ? &g->products[g->n_products - 1] : NULL;
    return last != NULL && last->call == call ? last : NULL;
}

void v_owned_product(dag *g, const op_call *call, val sum) {
    dag_product *p = product_at_hand(g, call);
    if (p != NULL) {
        p->value = sum;
    }
}

void v_rest_of_product(dag *g, const op_call *call, const op_call *rest) {
    dag_product *p = product_at_hand(g, call);
    if (p != NULL) {
        p->rest = rest;
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
