/* SPDX-License-Identifier: Apache-2.0 */
/* What decompositions are written in: values from values, folded where the answer is plain. */
#include "engine/graph/dag_build.h"

#include "base/hash.h"

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

/* The slot of t: its own, or the free one where it would stand. */
static size_t slot_of(const dag_capture *c, const tensor *t) {
    size_t at = (size_t)hash_bytes(&t, sizeof(tensor *), 0) & (c->n_slots - 1);
    while (c->slots[at] != 0 && c->tensors[c->slots[at] - 1] != t) {
        at = (at + 1) & (c->n_slots - 1);
    }
    return at;
}

/* Its place in the lists; -1: none. */
static int place_of(const dag_capture *c, const tensor *t) {
    return c->n_slots > 0 ? c->slots[slot_of(c, t)] - 1 : -1;
}

bool dag_known(const dag_capture *c, const tensor *t, val *out) {
    int i = place_of(c, t);
    if (i >= 0) {
        *out = c->values[i];
    }
    return i >= 0;
}

bool dag_is_written(const dag_capture *c, const tensor *t) {
    int i = place_of(c, t);
    return i >= 0 && c->written[i];
}

/* Room for twice as many; the arena keeps the old lists: no more than the new ones. */
static bool grow(dag *g, dag_capture *c) {
    int capacity = 2 * c->capacity + 16;
    size_t n_slots = c->n_slots > 0 ? c->n_slots : 16;
    while (n_slots < 2 * (size_t)capacity) {
        n_slots *= 2;
    }
    dag_capture wider = {.n = c->n,
                         .capacity = capacity,
                         .tensors = arena_make(g->memory, (size_t)capacity, sizeof(tensor *)),
                         .values = arena_make(g->memory, (size_t)capacity, sizeof(val)),
                         .written = arena_make(g->memory, (size_t)capacity, sizeof(bool)),
                         .n_slots = n_slots,
                         .slots = arena_make(g->memory, n_slots, sizeof(int))};
    if (wider.tensors == NULL || wider.values == NULL || wider.written == NULL || wider.slots == NULL) {
        return false;
    }
    for (int i = 0; i < c->n; i++) {
        wider.tensors[i] = c->tensors[i];
        wider.values[i] = c->values[i];
        wider.written[i] = c->written[i];
        wider.slots[slot_of(&wider, c->tensors[i])] = 1 + i;
    }
    *c = wider;
    return true;
}

void dag_learn(dag *g, const tensor *t, val v, bool written) {
    dag_capture *c = g->capture;
    int i = place_of(c, t);
    if (i >= 0) {
        c->values[i] = v;
        c->written[i] |= written;
        return;
    }
    if (c->n == c->capacity && !grow(g, c)) {
        g->failed = true;
        return;
    }
    c->tensors[c->n] = t;
    c->values[c->n] = v;
    c->written[c->n++] = written;
    c->slots[slot_of(c, t)] = c->n;
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

/* Whether every value of `narrow` is one of `wide`, so that going there and back changes nothing. */
static bool holds(dtype wide, dtype narrow) {
    bool is_byte = narrow == ASSAY_I8 || narrow == ASSAY_U8 || narrow == ASSAY_B8; /* 8 bits: even bf16 has room for them */
    return wide == narrow || (is_byte && dtype_is_floating(wide)) || (dtype_promote(wide, narrow) == wide && dtype_category_of(wide) == dtype_category_of(narrow));
}

static val cast_node(dag *g, val x, dtype t) {
    const dag_node n = *dag_at(g, x);
    return dag_intern(
        g, &(dag_node){.kind = PRIM_CAST, .dtype = t, .ndim = n.ndim, .sizes = n.sizes, .n_sources = 1, .sources = &x});
}

/* x in type t where that takes no work: one element, what was widened from t, a choice or a view of such. So what only moves
   halves never widens them. */
static bool without_cast(dag *g, val x, dtype t, val *out) {
    const dag_node n = *dag_at(g, x);
    if (n.kind == PRIM_CONSTANT) {
        *out = v_cast(g, x, t);
        return true;
    }
    if (n.kind == PRIM_CAST && v_dtype(g, n.sources[0]) == t && holds(n.dtype, t)) {
        *out = n.sources[0];
        return true;
    }
    bool chooses = n.kind == PRIM_MAP && n.fn == FN_SELECT;
    if (dag_numel(&n) == 1 && n.kind != PRIM_VIEW && !chooses) {
        *out = v_cast(g, x, t);
        return true;
    }
    val then, otherwise;
    if (n.kind == PRIM_VIEW && n.view.n_bounds == 0 && without_cast(g, n.sources[0], t, &then)) {
        *out = v_view(g, then, n.ndim, n.sizes, &n.view);
        return true;
    }
    if (chooses && without_cast(g, n.sources[1], t, &then) &&
        without_cast(g, n.sources[2], t, &otherwise)) {
        *out = v_select(g, n.sources[0], then, otherwise);
        return true;
    }
    return false;
}

/* Whether n is what a wider value of type t was rounded to. */
static bool is_rounded_from(const dag *g, const dag_node *n, dtype t) {
    return n->kind == PRIM_CAST && v_dtype(g, n->sources[0]) == t && dtype_is_floating(t) && dtype_is_floating(n->dtype) &&
           holds(t, n->dtype);
}

val v_cast(dag *g, val x, dtype t) {
    if (dag_stopped(g) || v_dtype(g, x) == t) {
        return x;
    }
    dag_node n = *dag_at(g, x);
    if (n.kind == PRIM_CONSTANT) {
        return v_expand(g, v_constant(g, t, n.number), n.ndim, n.sizes);
    }
    /* f32 -> bf16 -> f32 between two operators of a program: the value is kept, not its rounding. */
    if (is_rounded_from(g, &n, t)) {
        return n.sources[0];
    }
    if (n.kind == PRIM_VIEW && n.view.n_bounds == 0 && n.n_sources == 1 && is_rounded_from(g, dag_at(g, n.sources[0]), t)) {
        return v_view(g, dag_at(g, n.sources[0])->sources[0], n.ndim, n.sizes, &n.view);
    }
    if (n.kind == PRIM_CAST && holds(n.dtype, v_dtype(g, n.sources[0])) && n.dtype != ASSAY_B8) {
        return v_cast(g, n.sources[0], t); /* through a type that lost nothing */
    }
    val same;
    if (n.kind == PRIM_MAP && n.fn == FN_SELECT && without_cast(g, x, t, &same)) {
        return same;
    }
    return cast_node(g, x, t);
}

val v_rounded(dag *g, val x, dtype t) {
    if (dag_stopped(g) || v_dtype(g, x) == t) {
        return x;
    }
    val narrow = v_cast(g, x, t);
    return dag_stopped(g) || is_constant(g, narrow) ? v_cast(g, narrow, v_dtype(g, x)) : cast_node(g, narrow, v_dtype(g, x));
}

val v_truth(dag *g, val x) {
    if (dag_stopped(g)) {
        return (val){0};
    }
    const dag_node *n = dag_at(g, x);
    if (n->kind == PRIM_CAST && v_dtype(g, n->sources[0]) == ASSAY_B8) {
        return n->sources[0]; /* a condition among operands of another type */
    }
    dtype t = n->dtype;
    return t == ASSAY_B8 ? x : v_2(g, FN_NE, x, v_int(g, t, 0));
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
