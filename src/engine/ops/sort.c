/* SPDX-License-Identifier: Apache-2.0 */
/* Order and running sums along one dimension. */
#include "engine/graph/dag.h"
#include "engine/ops/rows.h"
#include "engine/schema/fill.h"
#include "engine/schema/reduction.h"
#include "engine/tensor/agree.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- cumsum(self, dim, dtype) ------------------------------------------------------------------------------------------- */

static status cumsum_infer(const op_call *call, outputs *out, error *err) {
    const tensor *self = call_tensor(call, 0);
    int dim;
    TRY(dim_wrap(call_int(call, 1), self->ndim, &dim, err));
    dtype t = dtype_category_of(self->dtype) < CATEGORY_FLOATING ? ASSAY_I64 : self->dtype;
    t = call_dtype(call, 2, call->op->in_place ? self->dtype : t);
    if (call->op->in_place && t != self->dtype && t != ASSAY_B8) {
        return fail(err, ASSAY_INVALID, "%s: in place: expected dtype to be self's, %s, got %s", call->op->signature.full,
                    assay_dtype_name(self->dtype), assay_dtype_name(t));
    }
    if (t == ASSAY_B8) {
        return fail(err, ASSAY_INVALID, "%s: expected a type of numbers to add up in, got b8; any.dim may be meant, or dtype=i64", call->op->signature.full);
    }
    return outputs_add(out, t, self->ndim, self->sizes, err);
}

/* The shape seen along one dimension: outer x n x inner, row-major. */
typedef struct along {
    int64_t n;
    int64_t inner;
} along;

static along along_dim(const tensor *t, int64_t dim) {
    along a = {1, 1};
    int wrapped;
    if (t->ndim > 0 && dim_wrap(dim, t->ndim, &wrapped, NULL) == ASSAY_OK) {
        a.n = t->sizes[wrapped];
        for (int d = wrapped + 1; d < t->ndim; d++) {
            a.inner *= t->sizes[d];
        }
    }
    return a;
}

/* Sums from the start of the line each time, save that what each of as many lines side by side has come to is kept: elements in ascending
   order cost O(1). Of more lines the last one's is: then lines are short. */
enum { KEPT_LINES = 1 << 16 };

typedef struct running {
    int64_t flat;
    double sum;
    double squares;
    uint64_t sum_int;
} running;

static double cumsum_element(ref_ctx *ctx, int out, int64_t flat, double *norm) {
    const tensor *self = call_tensor(ctx->call, 0);
    bool integral = dtype_category_of(ctx->out->items[out].dtype) < CATEGORY_FLOATING;
    along a = along_dim(self, call_int(ctx->call, 1));
    int64_t place = flat / a.inner % a.n, first = flat - place * a.inner, lines = a.inner <= KEPT_LINES ? a.inner : 1;
    if (ctx->scratch == NULL) {
        running *all = ctx->scratch = ref_make(ctx, (size_t)lines, sizeof *all);
        for (int64_t i = 0; all != NULL && i < lines; i++) {
            all[i].flat = -1;
        }
    }
    running *r = ctx->scratch != NULL ? (running *)ctx->scratch + flat % lines : NULL;
    const double *x = ref_real(ctx, 0);
    const int64_t *n = integral ? ref_ints(ctx, 0) : NULL;
    if (r == NULL || x == NULL || (integral && n == NULL)) {
        return 0;
    }
    const int width = dtype_is_complex(self->dtype) ? 2 : 1; /* a real result drops imaginary parts */
    bool resumes = r->flat >= first && r->flat <= flat && (r->flat - first) % a.inner == 0;
    *r = resumes ? *r : (running){.flat = first - a.inner};
    for (int64_t at = r->flat + a.inner; at <= flat; at += a.inner) {
        double term = integral ? 0 : x[at * width];
        r->sum += term;
        r->squares += term * term;
        r->sum_int += integral ? (uint64_t)n[at] : 0;
    }
    r->flat = flat;
    *norm += r->squares * agree_cast_weight(self->dtype, ctx->out->items[out].dtype, (double)a.n);
    return integral ? ref_wrapped(ctx, out, r->sum_int) : r->sum;
}

static status cumsum_whole(ref_ctx *ctx, error *err) {
    (void)err;
    const tensor *self = call_tensor(ctx->call, 0);
    along a = along_dim(self, call_int(ctx->call, 1));
    bool is_complex = dtype_is_complex(self->dtype);
    const double *x = ref_real(ctx, 0);
    double *y = ref_output(ctx, 0);
    for (int64_t i = 0; x != NULL && y != NULL && i < tensor_numel(self); i++) {
        bool is_first = i / a.inner % a.n == 0;
        y[2 * i] = (is_first ? 0 : y[2 * (i - a.inner)]) + x[is_complex ? 2 * i : i];
        y[2 * i + 1] = (is_first ? 0 : y[2 * (i - a.inner) + 1]) + (is_complex ? x[2 * i + 1] : 0);
    }
    return ASSAY_OK;
}

static void cumsum_cost(const op_call *call, const outputs *out, op_cost *cost) {
    cost->flops = flops_of_add(out->items[0].dtype) * (double)tensor_numel(call_tensor(call, 0));
    cost->reduction = fmax((double)along_dim(call_tensor(call, 0), call_int(call, 1)).n, 1);
}

/* --- topk(self, k, dim, largest, sorted) ------------------------------------------------------------------------------------ */

static status topk_infer(const op_call *call, outputs *out, error *err) {
    const tensor *self = call_tensor(call, 0);
    int dim;
    TRY(dim_wrap(call_int(call, 2), self->ndim, &dim, err));
    int64_t n = self->ndim > 0 ? self->sizes[dim] : 1, k = call_int(call, 1);
    if (dtype_is_complex(self->dtype) || self->dtype == ASSAY_B8) {
        return fail(err, ASSAY_INVALID, "%s: expected numbers with an order, got %s", call->op->signature.full,
                    assay_dtype_name(self->dtype));
    }
    if (k < 0 || k > n) {
        return fail(err, ASSAY_INVALID, "%s: expected k in [0, %" PRId64 "], the dimension's size, got %" PRId64,
                    call->op->signature.full, n, k);
    }
    int64_t sizes[TENSOR_MAX_DIMS];
    for (int d = 0; d < self->ndim; d++) {
        sizes[d] = d == dim ? k : self->sizes[d];
    }
    TRY(outputs_add(out, self->dtype, self->ndim, sizes, err));
    return outputs_add(out, ASSAY_I64, self->ndim, sizes, err);
}

/* How many are taken: the element of a tensor without dimensions is, whatever k is (ATen's topk). */
static int64_t topk_count(const op_call *call) {
    return call_tensor(call, 0)->ndim == 0 ? 1 : call_int(call, 1);
}

/* NaN is the largest of all; equal values keep the order of their places (ATen leaves that open). */
typedef struct ranked {
    double value;
    int64_t place;
} ranked;

static int rank_descending(const void *left, const void *right) {
    const ranked *a = left, *b = right;
    bool nan_a = isnan(a->value), nan_b = isnan(b->value);
    if (nan_a != nan_b) {
        return nan_a ? -1 : 1;
    }
    if (!nan_a && a->value != b->value) {
        return a->value > b->value ? -1 : 1;
    }
    return a->place < b->place ? -1 : 1;
}

static int rank_ascending(const void *left, const void *right) {
    const ranked *a = left, *b = right;
    bool tie = a->value == b->value || (isnan(a->value) && isnan(b->value));
    return tie ? (a->place < b->place ? -1 : 1) : -rank_descending(left, right);
}

static status topk_whole(ref_ctx *ctx, error *err) {
    (void)err;
    const tensor *self = call_tensor(ctx->call, 0);
    along a = along_dim(self, call_int(ctx->call, 2));
    int64_t k = topk_count(ctx->call), lines = a.n > 0 ? tensor_numel(self) / a.n : 0;
    const double *x = ref_real(ctx, 0);
    double *values = ref_output(ctx, 0), *places = ref_output(ctx, 1);
    ranked *line = ref_make(ctx, (size_t)a.n, sizeof *line);
    for (int64_t l = 0; x != NULL && values != NULL && places != NULL && line != NULL && l < lines; l++) {
        int64_t outer = l / a.inner, inner = l % a.inner;
        for (int64_t i = 0; i < a.n; i++) {
            line[i] = (ranked){x[(outer * a.n + i) * a.inner + inner], i};
        }
        qsort(line, (size_t)a.n, sizeof *line, call_bool(ctx->call, 3) ? rank_descending : rank_ascending);
        for (int64_t i = 0; i < k; i++) {
            values[(outer * k + i) * a.inner + inner] = line[i].value;
            places[(outer * k + i) * a.inner + inner] = (double)line[i].place;
        }
    }
    return ASSAY_OK;
}

/* Equal values may be taken in any order, and what is not to be sorted may lie in any. */
static uint32_t topk_open(const op_call *call) {
    return call_bool(call, 4) ? 1U << 1 : 1U << 0 | 1U << 1;
}

static bool is_same_rank(double a, double b) {
    return a == b || (isnan(a) && isnan(b));
}

/* A line of self, the results that came of it, and which of its elements they name. */
typedef struct topk_line {
    ranked *all, *taken;
    bool *is_taken;
} topk_line;

static double element_at(const tensor *t, int64_t flat) {
    return element_load(t->dtype, tensor_data(t) + tensor_offset_of(t, flat) * (int64_t)dtype_size(t->dtype));
}

/* first: of the line's results among all, which lie a.inner apart. */
static status topk_check_line(const op_call *call, const outputs *actual, topk_line *l, along a, int64_t first, error *err) {
    const int64_t k = topk_count(call);
    for (int64_t i = 0; i < k; i++) {
        double value = element_at(&actual->items[0], first + i * a.inner), place = element_at(&actual->items[1], first + i * a.inner);
        if (!(place >= 0 && place < (double)a.n)) {
            return fail(err, ASSAY_INTERNAL, "output 1 names place %.0f of a dimension of %" PRId64, place, a.n);
        }
        double there = l->all[(int64_t)place].value;
        if (!is_same_rank(there, value)) {
            return fail(err, ASSAY_INTERNAL, "output 1 names place %.0f, where self is %.17g and not %.17g as output 0", place, there, value);
        }
        if (l->is_taken[(int64_t)place]) {
            return fail(err, ASSAY_INTERNAL, "output 1 names place %.0f twice in a line", place);
        }
        l->is_taken[(int64_t)place] = true;
        l->taken[i] = (ranked){value, (int64_t)place};
    }
    if (call_bool(call, 4)) {
        return ASSAY_OK; /* the values agree with the reference's */
    }
    int (*order)(const void *, const void *) = call_bool(call, 3) ? rank_descending : rank_ascending;
    qsort(l->all, (size_t)a.n, sizeof *l->all, order);
    qsort(l->taken, (size_t)k, sizeof *l->taken, order);
    for (int64_t i = 0; i < k; i++) {
        if (!is_same_rank(l->all[i].value, l->taken[i].value)) {
            return fail(err, ASSAY_INTERNAL, "output 0 holds %.17g where %.17g is among the %" PRId64 " to take", l->taken[i].value,
                        l->all[i].value, k);
        }
    }
    return ASSAY_OK;
}

static status topk_check(const op_call *call, const outputs *actual, error *err) {
    const tensor *self = call_tensor(call, 0);
    const along a = along_dim(self, call_int(call, 2));
    const int64_t k = topk_count(call), lines = a.n > 0 && k > 0 ? tensor_numel(self) / a.n : 0;
    topk_line l = {.all = malloc((size_t)a.n * sizeof *l.all + 1),
                   .taken = malloc((size_t)k * sizeof *l.taken + 1),
                   .is_taken = malloc((size_t)a.n * sizeof *l.is_taken + 1)};
    const bool has_memory = l.all != NULL && l.taken != NULL && l.is_taken != NULL;
    status result = has_memory ? ASSAY_OK : fail(err, ASSAY_OUT_OF_MEMORY, "no memory to look at the places");
    for (int64_t line = 0; result == ASSAY_OK && line < lines; line++) {
        const int64_t outer = line / a.inner, inner = line % a.inner;
        for (int64_t i = 0; i < a.n; i++) {
            l.all[i] = (ranked){element_at(self, (outer * a.n + i) * a.inner + inner), i};
        }
        memset(l.is_taken, 0, (size_t)a.n * sizeof *l.is_taken);
        result = topk_check_line(call, actual, &l, a, outer * k * a.inner + inner, err);
    }
    free(l.all);
    free(l.taken);
    free(l.is_taken);
    return result;
}

/* A line's results where they are followed: the reference's, in order, those of a backend, and which elements are taken. */
typedef struct topk_followed {
    ranked *made, *taken;
    bool *is_taken;
} topk_followed;

/* Orders what a backend has taken as the reference is ordered; place: where among the results. False: it names a place twice, or one that there
   is not, or another element belongs there. */
static bool topk_order_taken(const op_call *call, const tensor *const *taken, double loose, const topk_followed *f, along a, int64_t outer,
                             int64_t inner) {
    const tensor *self = call_tensor(call, 0);
    const int64_t k = topk_count(call), first = outer * k * a.inner + inner;
    double largest = 0;
    memset(f->is_taken, 0, (size_t)a.n * sizeof *f->is_taken);
    for (int64_t i = 0; i < k; i++) {
        double value;
        if (taken[1] != NULL) {
            const double place = element_at(taken[1], first + i * a.inner);
            if (!(place >= 0 && place < (double)a.n) || f->is_taken[(int64_t)place]) {
                return false;
            }
            f->is_taken[(int64_t)place] = true;
            value = element_at(self, (outer * a.n + (int64_t)place) * a.inner + inner);
        } else {
            value = element_at(taken[0], first + i * a.inner);
        }
        f->taken[i] = (ranked){value, i};
        largest = isfinite(f->made[i].value) ? fmax(largest, fabs(f->made[i].value)) : largest;
    }
    if (!call_bool(call, 4)) {
        qsort(f->taken, (size_t)k, sizeof *f->taken, call_bool(call, 3) ? rank_descending : rank_ascending);
    }
    for (int64_t i = 0; taken[1] != NULL && i < k; i++) {
        const double x = f->taken[i].value, y = f->made[i].value;
        if (!is_same_rank(x, y) && !(fabs(x - y) <= loose * largest)) {
            return false;
        }
    }
    return true;
}

static void topk_follow_line(const op_call *call, const tensor *const *taken, double loose, double *const *made, const topk_followed *f, along a,
                             int64_t outer, int64_t inner) {
    const int64_t k = topk_count(call), first = outer * k * a.inner + inner;
    for (int64_t i = 0; i < k; i++) {
        f->made[i] = (ranked){made[0][first + i * a.inner], (int64_t)made[1][first + i * a.inner]};
    }
    if (!topk_order_taken(call, taken, loose, f, a, outer, inner)) {
        return;
    }
    for (int64_t i = 0; i < k; i++) {
        const int64_t to = first + f->taken[i].place * a.inner;
        made[0][to] = taken[1] == NULL ? f->made[i].value : f->taken[i].value;
        made[1][to] = taken[1] == NULL ? (double)f->made[i].place : element_at(taken[1], to);
    }
}

/* Without its places, equal elements stay the reference's, and only what is not to be sorted follows the order of the values. */
static status topk_follow(const op_call *call, const tensor *const *taken, double loose, double *const *made, error *err) {
    const along a = along_dim(call_tensor(call, 0), call_int(call, 2));
    const int64_t k = topk_count(call), lines = a.n > 0 && k > 0 ? tensor_numel(call_tensor(call, 0)) / a.n : 0;
    if (taken[1] == NULL && (taken[0] == NULL || call_bool(call, 4))) {
        return ASSAY_OK;
    }
    topk_followed f = {.made = malloc((size_t)k * sizeof *f.made + 1),
                       .taken = malloc((size_t)k * sizeof *f.taken + 1),
                       .is_taken = malloc((size_t)a.n * sizeof *f.is_taken + 1)};
    const bool has_memory = f.made != NULL && f.taken != NULL && f.is_taken != NULL;
    for (int64_t line = 0; has_memory && line < lines; line++) {
        topk_follow_line(call, taken, loose, made, &f, a, line / a.inner, line % a.inner);
    }
    free(f.made);
    free(f.taken);
    free(f.is_taken);
    return has_memory ? ASSAY_OK : fail(err, ASSAY_OUT_OF_MEMORY, "no memory to follow a choice");
}

/* The i-th of the numbers of a type that fill_ranks spreads over a line, ascending. Halves have few: their bit patterns are
   counted, so that as many as there are come before any tie. */
static double number_at_rank(dtype t, int64_t i) {
    if (t == ASSAY_BF16 || t == ASSAY_F16) {
        int64_t least = t == ASSAY_BF16 ? 0x2000 : 0x0400, patterns = t == ASSAY_BF16 ? 0x4000 : 0x7800;
        uint16_t bits = (uint16_t)(least + i / 2 % patterns);
        double value = (double)(t == ASSAY_BF16 ? bf16_to_float(bits) : f16_to_float(bits));
        return i % 2 == 0 ? value : -value;
    }
    return (double)i;
}

/* Ties leave the places open: the numbers of a line all differ, as far as the type has so many. f32 and f64 are
   left as they are. */
static status topk_inputs(const op_call *call, rng *r, error *err) {
    tensor *self = call_tensor(call, 0);
    along a = along_dim(self, call_int(call, 2));
    int64_t numel = tensor_numel(self);
    if (self->dtype == ASSAY_F32 || self->dtype == ASSAY_F64 || tensor_data(self) == NULL || numel == 0) {
        return ASSAY_OK;
    }
    double *values = malloc((size_t)numel * sizeof *values);
    int64_t *order = malloc((size_t)a.n * sizeof *order);
    for (int64_t i = 0; values != NULL && order != NULL && i < numel; i++) {
        int64_t place = i / a.inner % a.n;
        if (place == 0 && i % a.inner == 0) { /* a new shuffle for the lines of each outer index */
            for (int64_t k = 0; k < a.n; k++) {
                int64_t j = rng_range(r, 0, k + 1);
                order[k] = order[j];
                order[j] = k;
            }
        }
        values[i] = number_at_rank(self->dtype, order[place]);
    }
    bool has_memory = values != NULL && order != NULL;
    if (has_memory) {
        fill_from(self, values);
    }
    free(values);
    free(order);
    return has_memory ? ASSAY_OK : fail(err, ASSAY_OUT_OF_MEMORY, "%s: no memory to shuffle", call->op->signature.full);
}

static const op_family family_scan = {.name = "scan", .infer = cumsum_infer, .cost = cumsum_cost};
static const op_family family_order = {.name = "order", .infer = topk_infer};

/* --- in primitives ------------------------------------------------------------------------------------------------------ */

static void cumsum_parts(dag *g, const op_call *call, const outputs *out) {
    const tensor *t = &out->items[0];
    val x = v_cast(g, v_raw(g, call, 0), primitive_compute_type(t->dtype));
    int dim;
    if (t->ndim > 0 && dim_wrap(call_int(call, 1), t->ndim, &dim, NULL) == ASSAY_OK) {
        x = v_scan(g, RED_SUM, x, dim);
    }
    v_result(g, 0, x);
}

/* A line that is short enough to be looked through again for each of its few largest: what is computed from them, or makes the
   line, joins in. */
enum { MOST_ROUNDS = 8, MOST_LOOKS = 4096 /* at elements of a line */ };

/* i64 that descend in topk's order, no two of a line alike: the element's order, and below it the place counted from the end. */
static val keys_of(dag *g, const op_call *call, int dim) {
    const tensor *self = call_tensor(call, 0);
    val x = v_arg(g, call, 0);
    x = dtype_is_floating(v_dtype(g, x)) ? v_1(g, FN_ORDER, x) : x;
    x = call_bool(call, 3) ? x : v_1(g, FN_NOT, x);
    val place = v_sub(g, v_int(g, ASSAY_I64, self->sizes[dim] - 1), v_iota(g, self->ndim, self->sizes, dim));
    return v_2(g, FN_OR, v_2(g, FN_SHIFT_LEFT, v_cast(g, x, ASSAY_I64), v_int(g, ASSAY_I64, 32)), place);
}

static val value_of_key(dag *g, const op_call *call, val key) {
    val x = v_cast(g, v_2(g, FN_SHIFT_RIGHT, key, v_int(g, ASSAY_I64, 32)), ASSAY_I32);
    x = call_bool(call, 3) ? x : v_1(g, FN_NOT, x);
    return dtype_is_floating(call_tensor(call, 0)->dtype) ? v_1(g, FN_OF_ORDER, x) : x;
}

/* Each round finds the largest of what lies below the last round's: it is what no earlier one has found. */
static void topk_parts(dag *g, const op_call *call, const outputs *out) {
    const tensor *self = call_tensor(call, 0);
    int64_t k = call_int(call, 1);
    dtype t = primitive_compute_type(self->dtype);
    int dim;
    if (self->ndim == 0 || dim_wrap(call_int(call, 2), self->ndim, &dim, NULL) != ASSAY_OK || k < 1 || k > MOST_ROUNDS ||
        k * self->sizes[dim] > MOST_LOOKS || (t != ASSAY_F32 && t != ASSAY_I32)) {
        v_refuse(g, "an order of many, or of 64 bits, is not made of primitives");
        return;
    }
    val keys = keys_of(g, call, dim), best = {-1}, values[MOST_ROUNDS], places[MOST_ROUNDS];
    val last = v_int(g, ASSAY_I64, self->sizes[dim] - 1), none = v_int(g, ASSAY_I64, INT64_MIN);
    for (int64_t i = 0; i < k; i++) {
        val left = i == 0 ? keys : v_select(g, v_2(g, FN_LT, keys, best), keys, none);
        best = v_reduce(g, RED_MAX, left, (uint64_t)1 << dim, true);
        values[i] = v_cast(g, value_of_key(g, call, best), out->items[0].dtype);
        places[i] = v_sub(g, last, v_2(g, FN_AND, best, v_int(g, ASSAY_I64, UINT32_MAX)));
    }
    v_result(g, 0, v_join(g, (int)k, values, dim));
    v_result(g, 1, v_join(g, (int)k, places, dim));
}

static const op_row rows[] = {
    {.signature = "cumsum(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor",
     .doc = "Running sums along a dimension; integers and booleans add up in i64.",
     .family = &family_scan,
     .has_in_place = true,
     .decompose = cumsum_parts,
     .reference_element = cumsum_element,
     .reference = cumsum_whole},
    {.signature = "topk(Tensor self, SymInt k, int dim=-1, bool largest=True, bool sorted=True) -> (Tensor values, Tensor "
                  "indices)",
     .doc = "The k largest (or smallest) elements along a dimension, in order, and their places; NaN is the largest.",
     .family = &family_order,
     .inputs = topk_inputs,
     .decompose = topk_parts,
     .reference = topk_whole,
     .open = topk_open,
     .check_open = topk_check,
     .follow = topk_follow},
};

const op_rows rows_sort = {rows, countof(rows)};
