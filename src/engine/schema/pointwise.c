/* SPDX-License-Identifier: Apache-2.0 */
/* Element-wise semantics after ATen's TensorIterator. */
#include "engine/schema/pointwise.h"

#include "engine/tensor/agree.h"

#include <assert.h>
#include <math.h>
#include <string.h>

enum { UNDEFINED = ASSAY_DTYPE_COUNT };

static int promote_defined(int a, int b) {
    return a == UNDEFINED ? b : b == UNDEFINED ? a : (int)dtype_promote((dtype)a, (dtype)b);
}

/* What a weightier operand type and a lighter one give together: the weightier, unless the lighter has a higher category. */
static int combine(int heavy, int light) {
    if (heavy == UNDEFINED) {
        return light;
    }
    if (light == UNDEFINED || dtype_category_of((dtype)heavy) >= dtype_category_of((dtype)light)) {
        return heavy;
    }
    if (dtype_is_floating((dtype)heavy) && dtype_is_complex((dtype)light)) {
        return dtype_complex((dtype)heavy);
    }
    if (heavy == ASSAY_B8 || dtype_category_of((dtype)light) >= CATEGORY_FLOATING) {
        return promote_defined(heavy, light);
    }
    return heavy;
}

static int type_of_number(dtype_category category) {
    static const dtype types[] = {ASSAY_B8, ASSAY_I64, ASSAY_F32, ASSAY_C64};
    return types[category];
}

dtype result_type(tensor *const *tensors, int n, const number *scalars, int n_scalars) {
    int with_dims = UNDEFINED, zero_dim = UNDEFINED, wrapped = UNDEFINED;
    for (int i = 0; i < n; i++) {
        const tensor *t = tensors[i];
        if (t->is_wrapped_number) {
            wrapped = promote_defined(wrapped, type_of_number(dtype_category_of(t->dtype)));
        } else if (t->ndim == 0) {
            zero_dim = promote_defined(zero_dim, (int)t->dtype);
        } else {
            with_dims = promote_defined(with_dims, (int)t->dtype);
        }
    }
    for (int i = 0; i < n_scalars; i++) {
        wrapped = promote_defined(wrapped, type_of_number(scalars[i].category));
    }
    int result = combine(with_dims, combine(zero_dim, wrapped));
    return result == UNDEFINED ? ASSAY_F32 : (dtype)result;
}

static void find_operands(const op_call *call, pointwise *out) {
    const signature *s = &call->op->signature;
    out->n = 0;
    out->n_numbers = 0;
    for (int i = 0; i < s->n_params; i++) {
        const arg *a = &call->args[i];
        if (a->kind == ARG_TENSOR && out->n < POINTWISE_MAX_OPERANDS) {
            out->operand[out->n++] = a->tensor;
        } else if (call->op->row->scalars_promote && s->params[i].kind == ARG_NUMBER && (call->op->row->scales >> i & 1) == 0 &&
                   a->kind != ARG_NONE && out->n_numbers < POINTWISE_MAX_NUMBERS) {
            out->numbers[out->n_numbers++] = call_number(call, i);
        }
    }
}

static void find_types(const op_row *row, pointwise *out) {
    tensor *promoting[POINTWISE_MAX_OPERANDS];
    int n = 0;
    for (int k = 0; k < out->n; k++) {
        if (row->promote_mask == 0 || (row->promote_mask >> k & 1) != 0) {
            promoting[n++] = out->operand[k];
        }
    }
    bool alike = out->n_numbers == 0; /* one type needs no thought */
    for (int k = 0; alike && k < n; k++) {
        alike = promoting[k]->dtype == promoting[0]->dtype && !promoting[k]->is_wrapped_number;
    }
    dtype common = alike && n > 0 ? promoting[0]->dtype : result_type(promoting, n, out->numbers, out->n_numbers);
    if (row->promotion == PROMOTE_INT_TO_FLOAT && dtype_category_of(common) < CATEGORY_FLOATING) {
        common = ASSAY_F32;
    }
    out->compute = common;
    out->result = row->promotion == PROMOTE_BOOL_OUT            ? ASSAY_B8
                  : row->promotion == PROMOTE_COMPLEX_TO_FLOAT ? dtype_real(common)
                                                               : common;
}

status pointwise_analyse(const op_call *call, pointwise *out, error *err) {
    const op_row *row = call->op->row;
    find_operands(call, out);
    if (out->n == 0) {
        return fail(err, ASSAY_INVALID, "%s: expected a tensor argument", call->op->signature.full);
    }
    for (int k = 0; k < out->n; k++) {
        if (out->operand[k]->sparse != NULL) {
            return fail(err, ASSAY_UNSUPPORTED, "%s, operand %d: expected a strided tensor, got a sparse one",
                        call->op->signature.full, k + 1);
        }
    }
    find_types(row, out);
    if (row->takes != 0 && (row->takes >> dtype_category_of(out->compute) & 1) == 0) {
        return fail(err, ASSAY_INVALID, "%s is not defined for %s", call->op->signature.full,
                    assay_dtype_name(out->compute));
    }
    const tensor *first = out->operand[0];
    out->ndim = first->ndim;
    memcpy(out->sizes, first->sizes, (size_t)first->ndim * sizeof first->sizes[0]);
    for (int k = 1; k < out->n; k++) {
        const tensor *t = out->operand[k];
        if (!tensor_same_sizes(first, t) && sizes_broadcast(&out->ndim, out->sizes, t->ndim, t->sizes, err) != ASSAY_OK) {
            return fail_within(err, ASSAY_INVALID, "%s, operand %d", call->op->signature.full, k + 1);
        }
    }
    return ASSAY_OK;
}

/* Whether dimension a should lie inside dimension b: below 0 no, above 0 yes, 0 no operand can tell. */
static int should_swap(int64_t strides[][TENSOR_MAX_DIMS], int n, const int64_t *sizes, int a, int b) {
    for (int k = 0; k < n; k++) {
        int64_t sa = strides[k][a], sb = strides[k][b];
        if (sa == 0 || sb == 0) {
            continue;
        }
        if (sa != sb) {
            return sa < sb ? -1 : 1;
        }
        if (sizes[a] > sizes[b]) {
            return 1;
        }
    }
    return 0;
}

/* TensorIterator's order of dimensions, fastest first (insertion sort; ties keep row-major order). */
static void order_dimensions(int *order, int ndim, const int64_t *sizes, tensor *const *operands, int n) {
    int64_t strides[POINTWISE_MAX_OPERANDS][TENSOR_MAX_DIMS];
    int used = 0;
    for (int k = 0; k < n && k < POINTWISE_MAX_OPERANDS; k++) {
        tensor_broadcast_strides(operands[k], ndim, sizes, strides[used]);
        for (int d = 0; d < ndim; d++) {
            /* Bytes, as there: operands of different types order by their own distance in memory. */
            strides[used][d] *= (int64_t)dtype_size(operands[k]->dtype);
        }
        used++;
    }
    for (int i = 0; i < ndim; i++) {
        order[i] = ndim - 1 - i;
    }
    for (int i = 1; i < ndim; i++) {
        int at = i;
        for (int j = i - 1; j >= 0; j--) {
            int comparison = should_swap(strides, used, sizes, order[j], order[at]);
            if (comparison > 0) {
                int kept = order[j];
                order[j] = order[at];
                order[at] = kept;
                at = j;
            } else if (comparison < 0) {
                break;
            }
        }
    }
}

status pointwise_output(tensor *out, dtype t, int ndim, const int64_t *sizes, tensor *const *operands, int n, error *err) {
    bool same_sizes = n > 0, all_contiguous = true, all_channels_last = true, same_strides = true;
    for (int k = 0; same_sizes && k < n; k++) {
        const tensor *o = operands[k];
        same_sizes = o->ndim == ndim;
        for (int d = 0; same_sizes && d < ndim; d++) {
            same_sizes = o->sizes[d] == sizes[d];
        }
        all_contiguous = same_sizes && all_contiguous && tensor_is_contiguous(o);
    }
    if (same_sizes && all_contiguous) {
        return tensor_init(out, t, ndim, sizes, err);
    }
    const tensor *first = n > 0 ? operands[0] : NULL;
    for (int k = 0; same_sizes && k < n; k++) {
        const tensor *o = operands[k];
        all_channels_last = all_channels_last && o->ndim == 4 && tensor_is_channels_last(o);
        same_strides = same_strides && tensor_same_strides(o, first);
    }
    if (same_sizes && (all_channels_last || (same_strides && tensor_is_dense(first)))) {
        return tensor_init_strided(out, t, ndim, sizes, first->strides, err);
    }
    int fastest_first[TENSOR_MAX_DIMS], order[TENSOR_MAX_DIMS];
    order_dimensions(fastest_first, ndim, sizes, operands, n);
    for (int i = 0; i < ndim; i++) {
        order[i] = fastest_first[ndim - 1 - i];
    }
    return tensor_init_permuted(out, t, ndim, sizes, order, err);
}

/* ATen's CPU copies operands of other types into the common one before it asks for their layout: what is not dense becomes
   so. Gives the operand itself where that changes nothing. */
static status as_cast(const pointwise *p, uint32_t promote_mask, int k, tensor *room, tensor **out, error *err) {
    tensor *t = p->operand[k];
    bool promotes = promote_mask == 0 || (promote_mask >> k & 1) != 0;
    *out = t;
    if (t->dtype == p->compute || t->ndim == 0 || !promotes || tensor_is_dense(t)) {
        return ASSAY_OK;
    }
    *out = room;
    return pointwise_output(room, p->compute, t->ndim, t->sizes, &t, 1, err);
}

/* The everyday call, told in few instructions: tensors of one type and one contiguous shape, and a result like them. True
   with *out set up; false for everything else, errors included. */
static bool infer_alike(const op_call *call, tensor *out) {
    const op_row *row = call->op->row;
    const tensor *first = NULL;
    if (row->promotion != PROMOTE_DEFAULT || row->scalars_promote || row->promote_mask != 0) {
        return false;
    }
    for (int i = 0; i < call->op->signature.n_params; i++) {
        const tensor *t = call->args[i].kind == ARG_TENSOR ? call->args[i].tensor : first;
        if (t == first) {
            continue;
        }
        if (t->is_wrapped_number || t->sparse != NULL || (first != NULL && (t->dtype != first->dtype || t->ndim != first->ndim))) {
            return false;
        }
        int64_t stride = 1;
        for (int d = t->ndim - 1; d >= 0; d--) {
            if (t->strides[d] != stride || t->sizes[d] == 0 || (first != NULL && t->sizes[d] != first->sizes[d])) {
                return false;
            }
            stride *= t->sizes[d];
        }
        first = t;
    }
    if (first == NULL || (row->takes != 0 && (row->takes >> dtype_category_of(first->dtype) & 1) == 0)) {
        return false;
    }
    out->dtype = first->dtype;
    out->ndim = first->ndim;
    out->is_wrapped_number = false;
    out->offset = 0;
    for (int d = 0; d < first->ndim; d++) {
        out->sizes[d] = first->sizes[d];
        out->strides[d] = first->strides[d];
    }
    return true;
}

status pointwise_infer(const op_call *call, outputs *out, error *err) {
    pointwise p;
    tensor *result = outputs_push(out);
    if (result == NULL) {
        return fail(err, ASSAY_OUT_OF_MEMORY, "no memory for outputs");
    }
    if (infer_alike(call, result)) {
        out->all_alike = !call->op->in_place;
        return ASSAY_OK;
    }
    TRY(pointwise_analyse(call, &p, err));
    tensor casts[POINTWISE_MAX_OPERANDS];
    tensor *operands[POINTWISE_MAX_OPERANDS];
    for (int k = 0; k < p.n; k++) {
        TRY(as_cast(&p, call->op->row->promote_mask, k, &casts[k], &operands[k], err));
    }
    return pointwise_output(result, p.result, p.ndim, p.sizes, operands, p.n, err);
}

static bool bound_binds_none(const op_call *call, int at, bool is_low, dtype t) {
    if (!dtype_is_integral(t)) {
        return !dtype_holds(t, call_number(call, at));
    }
    const number n = call_number(call, at);
    const double width = ldexp(1, 8 * (int)dtype_size(t)), least = t == ASSAY_U8 ? 0 : -width / 2, above = least + width;
    const double value = n.category > CATEGORY_INTEGRAL ? trunc(n.f) : (double)n.i;
    const bool beyond = t != ASSAY_I64 && (is_low ? value >= above : value < least);
    return beyond || !dtype_holds(ASSAY_I64, n);
}

status pointwise_check_bounds(const op_call *call, int low, int high, dtype t, error *err) {
    for (int k = 0; k < 2; k++) {
        const int at = k == 0 ? low : high;
        if (at >= 0 && !call_is_none(call, at) && bound_binds_none(call, at, k == 0, t)) {
            return fail(err, ASSAY_INVALID, "%s: expected %s that %s can reach, got %.17g", call->op->signature.full,
                        call->op->signature.params[at].name, assay_dtype_name(t), call_number(call, at).f);
        }
    }
    return ASSAY_OK;
}

/* --- reference -------------------------------------------------------------------------------------------------------- */

typedef struct operand_view {
    const tensor *t;
    const char *data;
    int64_t strides[TENSOR_MAX_DIMS];
} operand_view;

static const char *operand_at(const operand_view *v, const pointwise *p, int64_t flat) {
    int64_t offset = 0;
    for (int d = p->ndim - 1; d >= 0; d--) {
        offset += flat % p->sizes[d] * v->strides[d];
        flat /= p->sizes[d];
    }
    return v->data + offset * (int64_t)dtype_size(v->t->dtype);
}

typedef enum reference_style { STYLE_REAL, STYLE_INT, STYLE_COMPLEX } reference_style;

static status choose_style(const op_call *call, const pointwise *p, reference_style *out, error *err) {
    const op_row *row = call->op->row;
    if (dtype_is_complex(p->compute)) {
        *out = STYLE_COMPLEX;
        return row->reference_complex != NULL
                   ? ASSAY_OK
                   : fail(err, ASSAY_UNSUPPORTED, "%s is not defined for complex numbers", call->op->signature.full);
    }
    bool integral = dtype_category_of(p->compute) < CATEGORY_FLOATING;
    *out = integral && row->reference_int != NULL ? STYLE_INT : STYLE_REAL;
    return row->reference_scalar != NULL || *out == STYLE_INT
               ? ASSAY_OK
               : fail(err, ASSAY_UNSUPPORTED, "%s is not defined for %s", call->op->signature.full,
                      assay_dtype_name(p->compute));
}

/* A number, or a 0-dim tensor of another type, meets tensors in the type that their elements are computed in, and in f16
   and bf16 themselves where it decides between true and false: what a double holds beyond that plays no part. */
dtype pointwise_number_type(const op_row *row, const pointwise *p) {
    bool narrow = row->promotion == PROMOTE_BOOL_OUT || row->rounds_numbers;
    return narrow || !dtype_is_floating(p->compute) ? p->compute : dtype_accumulator(p->compute);
}

int64_t pointwise_integer(const op_row *row, const pointwise *p, int64_t value) {
    uint64_t bits[2];
    if (dtype_category_of(p->compute) > CATEGORY_INTEGRAL || row->keeps_integers) {
        return value;
    }
    element_store_int(p->compute, bits, value);
    return element_load_int(p->compute, bits);
}

static double rounded_to(dtype t, double value) {
    uint64_t bits = 0;
    element_store(t, &bits, value);
    return element_load(t, &bits);
}

static double rounded_number(const op_row *row, const pointwise *p, double value) {
    return dtype_is_floating(p->compute) ? rounded_to(pointwise_number_type(row, p), value) : value;
}

/* One value in each of the three styles; the row's function reads the one of its style. */
typedef struct operand_values {
    double x[POINTWISE_MAX_OPERANDS + POINTWISE_MAX_NUMBERS];
    int64_t n[POINTWISE_MAX_OPERANDS + POINTWISE_MAX_NUMBERS];
    double complex z[POINTWISE_MAX_OPERANDS + POINTWISE_MAX_NUMBERS];
} operand_values;

/* As the parts of the type computed in, where that is complex. */
static double complex rounded_parts(const pointwise *p, double complex value) {
    const dtype part = dtype_is_complex(p->compute) ? dtype_accumulator(dtype_real(p->compute)) : ASSAY_F64;
    return CMPLX(rounded_to(part, creal(value)), rounded_to(part, cimag(value)));
}

static void set_numbers(const op_row *row, const pointwise *p, operand_values *v) {
    for (int k = 0; k < p->n_numbers; k++) {
        const number *own = &p->numbers[k];
        v->x[p->n + k] = rounded_number(row, p, own->f);
        v->n[p->n + k] = pointwise_integer(row, p, own->i);
        v->z[p->n + k] = rounded_parts(p, CMPLX(own->f, own->im));
    }
}

static void load_operands(const op_row *row, const pointwise *p, const operand_view *views, reference_style style,
                          int64_t flat, operand_values *v) {
    for (int k = 0; k < p->n; k++) {
        const char *at = operand_at(&views[k], p, flat);
        const tensor *t = p->operand[k];
        if (style == STYLE_INT) {
            v->n[k] = pointwise_integer(row, p, element_load_int(t->dtype, at));
        } else if (style == STYLE_COMPLEX) {
            const double complex value = element_load_complex(t->dtype, at);
            v->z[k] = t->ndim == 0 && t->dtype != p->compute ? rounded_parts(p, value) : value;
        } else {
            double value = element_load(t->dtype, at);
            const bool is_cast = dtype_category_of(t->dtype) == CATEGORY_INTEGRAL && dtype_is_floating(p->compute);
            value = is_cast ? rounded_to(dtype_accumulator(p->compute), value) : value; /* a sine sees no more of it */
            v->x[k] = t->ndim == 0 && t->dtype != p->compute ? rounded_number(row, p, value) : value;
        }
    }
}

/* Whether an operand is a 0-dim tensor with more digits than the type computed in: PyTorch's add rounds it to that type first, its mul does
   not, and either is right (docs/accuracy.md). */
static bool may_round_first(const op_row *row, const pointwise *p, int k) {
    const tensor *t = p->operand[k];
    return t->ndim == 0 && !t->is_wrapped_number && dtype_size(p->compute) == 2 && pointwise_number_type(row, p) != p->compute &&
           dtype_category_of(t->dtype) >= CATEGORY_INTEGRAL && t->dtype != p->compute;
}

/* The norm that lets either pass: what an element becomes of operands as they are is `value`. */
static double norm_of_rounded(const op_call *call, const pointwise *p, operand_values *v, double value) {
    bool rounds = false;
    for (int k = 0; k < p->n; k++) {
        if (may_round_first(call->op->row, p, k)) {
            v->x[k] = rounded_to(p->compute, v->x[k]);
            rounds = true;
        }
    }
    const double norm = rounds ? agree_norm_of_slack(p->compute, 1, fabs(call->op->row->reference_scalar(v->x, call) - value)) : 0;
    return isfinite(norm) ? norm : 0;
}

/* The norm that lets pass what three roundings do on the way to an element: an argument of a steep function is off by them, each half an
   epsilon of its size. */
static double norm_of_bends(const op_call *call, const pointwise *p, const operand_values *v) {
    const double by = fabs(call->op->row->reference_bends(v->x, call)) * 1.5 * dtype_epsilon(dtype_accumulator(p->compute));
    const double norm = agree_norm_of_slack(p->compute, 1, by);
    return isfinite(norm) ? norm : 0;
}

/* Integers wrap around at the output's width, and every integer but 0 is true. */
static double wrapped(const ref_ctx *ctx, int64_t value) {
    dtype t = ctx->out->items[0].dtype;
    uint64_t bits[2];
    if (dtype_category_of(t) > CATEGORY_INTEGRAL) {
        return (double)value;
    }
    element_store_int(t, bits, value);
    return (double)element_load_int(t, bits);
}

static void store_value(const ref_ctx *ctx, ref_request *r, int64_t i, double complex value) {
    if (dtype_is_complex(ctx->out->items[0].dtype)) {
        r->value[2 * i] = creal(value);
        r->value[2 * i + 1] = cimag(value);
    } else {
        r->value[i] = creal(value);
    }
}

status pointwise_reference(ref_ctx *ctx, ref_request *request, error *err) {
    const op_row *row = ctx->call->op->row;
    pointwise p;
    reference_style style;
    operand_view views[POINTWISE_MAX_OPERANDS];
    TRY(pointwise_analyse(ctx->call, &p, err));
    TRY(choose_style(ctx->call, &p, &style, err));
    bool may_round = false;
    for (int k = 0; k < p.n; k++) {
        may_round = may_round || may_round_first(row, &p, k);
        views[k].t = p.operand[k];
        views[k].data = tensor_data(p.operand[k]);
        tensor_broadcast_strides(p.operand[k], p.ndim, p.sizes, views[k].strides);
    }
    enum { ELEMENTS_TO_SHARE = 1 << 15 }; /* fewer are not worth waking threads for */
#pragma omp parallel if (request->n >= ELEMENTS_TO_SHARE)
    {
        operand_values v;
        set_numbers(row, &p, &v);
#pragma omp for
        for (int64_t i = 0; i < request->n; i++) {
            load_operands(row, &p, views, style, request->flat != NULL ? request->flat[i] : i, &v);
            double complex value = style == STYLE_INT       ? wrapped(ctx, row->reference_int(v.n, ctx->call))
                                   : style == STYLE_COMPLEX ? row->reference_complex(v.z, ctx->call)
                                                            : row->reference_scalar(v.x, ctx->call);
            store_value(ctx, request, i, value);
            if (request->norm != NULL) {
                const bool real = style == STYLE_REAL;
                const double bent = real && row->reference_bends != NULL ? norm_of_bends(ctx->call, &p, &v) : 0;
                request->norm[i] = bent + (may_round && real ? norm_of_rounded(ctx->call, &p, &v, creal(value)) : 0);
            }
        }
    }
    return ASSAY_OK;
}

const op_family family_pointwise = {.name = "pointwise", .infer = pointwise_infer, .has_in_place = true};
const op_family family_activation_backward = {.name = "pointwise backward", .infer = pointwise_infer};
