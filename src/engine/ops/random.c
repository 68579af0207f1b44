/* SPDX-License-Identifier: Apache-2.0 */
/* Random operators. No two backends share a generator: what they wrote is checked for what must hold of it. */
#include "engine/graph/dag.h"
#include "engine/ops/draws.h"
#include "engine/ops/rows.h"
#include "engine/schema/fill.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static status check_probability(const op_call *call, double p, error *err) {
    return p >= 0 && p <= 1 ? ASSAY_OK
                            : fail(err, ASSAY_INVALID, "%s: expected a probability from 0 to 1, got %g",
                                   call->op->signature.full, p);
}

static status check_floating(const op_call *call, const tensor *t, error *err) {
    return dtype_is_floating(t->dtype) ? ASSAY_OK
                                       : fail(err, ASSAY_INVALID, "%s: expected a floating-point tensor, got %s",
                                              call->op->signature.full, assay_dtype_name(t->dtype));
}

/* In-place operators answer argument 0 itself. */
static status push_self(const op_call *call, outputs *out, error *err) {
    tensor *t;
    TRY(outputs_next(out, &t, err));
    tensor_share(t, call_tensor(call, 0));
    t->is_wrapped_number = false;
    return ASSAY_OK;
}

/* --- bernoulli --------------------------------------------------------------------------------------------------------- */

/* bernoulli_.float(self, p) */
static status bernoulli_float_infer(const op_call *call, outputs *out, error *err) {
    TRY(check_probability(call, call_float(call, 1), err));
    if (dtype_is_complex(call_tensor(call, 0)->dtype)) {
        return fail(err, ASSAY_INVALID, "%s: a complex tensor takes no draws", call->op->signature.full);
    }
    return push_self(call, out, err);
}

static status bernoulli_p_check(const op_call *call, const outputs *actual, error *err) {
    return draws_check_chances(&actual->items[0], NULL, call_float(call, 1), err);
}

/* bernoulli.p(self, p): contiguous whatever self is. */
static status bernoulli_p_infer(const op_call *call, outputs *out, error *err) {
    const tensor *self = call_tensor(call, 0);
    TRY(check_probability(call, call_float(call, 1), err));
    if (dtype_is_complex(self->dtype)) {
        return fail(err, ASSAY_INVALID, "%s: a complex tensor takes no draws", call->op->signature.full);
    }
    return outputs_add(out, self->dtype, self->ndim, self->sizes, err);
}

/* bernoulli(self): self holds the probabilities. */
static status bernoulli_infer(const op_call *call, outputs *out, error *err) {
    const tensor *self = call_tensor(call, 0);
    TRY(check_floating(call, self, err));
    return outputs_add(out, self->dtype, self->ndim, self->sizes, err);
}

static status bernoulli_check(const op_call *call, const outputs *actual, error *err) {
    return draws_check_chances(&actual->items[0], call_tensor(call, 0), 0, err);
}

static status bernoulli_inputs(const op_call *call, rng *r, error *err) {
    (void)err;
    fill_uniform(call_tensor(call, 0), r, 0, 1);
    return ASSAY_OK;
}

/* bernoulli_.Tensor(self, p) */
static status bernoulli_tensor_infer(const op_call *call, outputs *out, error *err) {
    const tensor *self = call_tensor(call, 0), *p = call_tensor(call, 1);
    int64_t sizes[TENSOR_MAX_DIMS];
    int ndim = self->ndim;
    memcpy(sizes, self->sizes, (size_t)ndim * sizeof *sizes);
    TRY(check_floating(call, p, err));
    TRY(sizes_broadcast(&ndim, sizes, p->ndim, p->sizes, err));
    if (ndim != self->ndim || memcmp(sizes, self->sizes, (size_t)ndim * sizeof *sizes) != 0 ||
        dtype_is_complex(self->dtype)) {
        char has[TENSOR_TEXT_BYTES], needs[TENSOR_TEXT_BYTES];
        return fail(err, ASSAY_INVALID, "%s: probabilities %.160s do not fit %.160s", call->op->signature.full,
                    tensor_describe(has, p), tensor_describe(needs, self));
    }
    return push_self(call, out, err);
}

static status bernoulli_tensor_check(const op_call *call, const outputs *actual, error *err) {
    return draws_check_chances(&actual->items[0], call_tensor(call, 1), 0, err);
}

static status bernoulli_tensor_inputs(const op_call *call, rng *r, error *err) {
    (void)err;
    fill_uniform(call_tensor(call, 1), r, 0, 1);
    return ASSAY_OK;
}

/* --- native_dropout
 * --------------------------------------------------------------------------------------------------------- */

static bool dropout_trains(const op_call *call) {
    return call_is_none(call, 2) || call_bool(call, 2);
}

/* native_dropout(input, p, train) -> (output, mask) */
static status dropout_infer(const op_call *call, outputs *out, error *err) {
    const tensor *input = call_tensor(call, 0);
    TRY(check_probability(call, call_float(call, 1), err));
    TRY(check_floating(call, input, err));
    tensor *t;
    TRY(outputs_next(out, &t, err));
    TRY(tensor_init_like(t, input->dtype, input, err));
    TRY(outputs_next(out, &t, err));
    return tensor_init_like(t, ASSAY_B8, input, err);
}

static status check_dropped(const op_call *call, const tensor *output, const tensor *mask, double p, error *err) {
    const tensor *input = call_tensor(call, 0);
    int64_t n = tensor_numel(input), size = (int64_t)dtype_size(input->dtype);
    double scale = p == 1 ? 0 : 1 / (1 - p), eps = 4 * dtype_epsilon(input->dtype);
    scale = dropout_trains(call) ? scale : 1;
    /* Half of the subnormals' grain for the input, which a kernel that makes it need not have rounded, and half for the product. */
    double least = 2 * dtype_epsilon(input->dtype) / dtype_max(dtype_real(input->dtype)) * (1 + scale);
    for (int64_t i = 0; i < n; i++) {
        double complex x = element_load_complex(input->dtype, tensor_data(input) + tensor_offset_of(input, i) * size);
        double complex y =
            element_load_complex(output->dtype, tensor_data(output) + tensor_offset_of(output, i) * size);
        bool kept = *(const uint8_t *)(tensor_data(mask) + tensor_offset_of(mask, i)) != 0;
        double wanted = kept ? cabs(x) * scale : 0, off = cabs(kept ? y - x * scale : y);
        bool finite = isfinite(cabs(x)) && wanted < dtype_max(dtype_real(input->dtype));
        if (finite && !(off <= eps * wanted + least)) {
            return fail(err, ASSAY_INTERNAL, "element %lld is %g, its input %g was %s", (long long)i, creal(y),
                        creal(x), kept ? "kept" : "dropped");
        }
    }
    return ASSAY_OK;
}

/* The mask is a fair draw with 1 - p; the output is the input, scaled, where the mask says so, else 0. */
static status dropout_check(const op_call *call, const outputs *actual, error *err) {
    const tensor *output = &actual->items[0], *mask = &actual->items[1];
    double p = call_float(call, 1);
    TRY(draws_check_chances(mask, NULL, dropout_trains(call) ? 1 - p : 1, err));
    return check_dropped(call, output, mask, p, err);
}

/* The output follows from the mask. */
static status dropout_follow(const op_call *call, const tensor *const *taken, double loose, double *const *made, error *err) {
    const tensor *input = call_tensor(call, 0), *mask = taken[1];
    int64_t n = tensor_numel(input), size = (int64_t)dtype_size(input->dtype);
    double p = call_float(call, 1), scale = dropout_trains(call) && p < 1 ? 1 / (1 - p) : 1;
    (void)loose, (void)err;
    for (int64_t i = 0; i < n; i++) {
        bool kept = *(const uint8_t *)(tensor_data(mask) + tensor_offset_of(mask, i)) != 0;
        made[0][i] = element_load(input->dtype, tensor_data(input) + tensor_offset_of(input, i) * size) * (kept ? scale : 0);
        made[1][i] = kept;
    }
    return ASSAY_OK;
}

/* --- normal_, uniform_ ------------------------------------------------------------------------------------------------- */

/* uniform_(self, from, to) */
static status uniform_infer(const op_call *call, outputs *out, error *err) {
    const tensor *self = call_tensor(call, 0);
    double from = call_float(call, 1), to = call_float(call, 2), most = dtype_max(self->dtype);
    TRY(check_floating(call, self, err));
    if (!(from <= to) || from < -most || to > most || to - from > most) {
        return fail(err, ASSAY_INVALID, "%s: expected a range that %s can hold, got %g to %g", call->op->signature.full,
                    assay_dtype_name(self->dtype), from, to);
    }
    return push_self(call, out, err);
}

static status uniform_check(const op_call *call, const outputs *actual, error *err) {
    return draws_check_uniform(&actual->items[0], call_float(call, 1), call_float(call, 2), err);
}

/* normal_(self, mean, std) */
static status normal_infer(const op_call *call, outputs *out, error *err) {
    const tensor *self = call_tensor(call, 0);
    if (!(call_float(call, 2) >= 0)) {
        return fail(err, ASSAY_INVALID, "%s: expected a standard deviation of 0 or more, got %g",
                    call->op->signature.full, call_float(call, 2));
    }
    TRY(check_floating(call, self, err));
    return push_self(call, out, err);
}

static status normal_check(const op_call *call, const outputs *actual, error *err) {
    return draws_check_normal(&actual->items[0], call_float(call, 1), call_float(call, 2), err);
}

/* Written only. */
static void draw_cost(const op_call *call, const outputs *out, op_cost *cost) {
    (void)call;
    cost->bytes = tensor_bytes(&out->items[0]);
}

static void draw_from_cost(const op_call *call, const outputs *out, op_cost *cost) {
    int p = call->op->row->is_in_place ? 1 : 0; /* where the probabilities are */
    cost->bytes = tensor_bytes(&out->items[0]) + tensor_bytes(call_tensor(call, p));
}

static void dropout_cost(const op_call *call, const outputs *out, op_cost *cost) {
    cost->bytes = tensor_bytes(call_tensor(call, 0)) + tensor_bytes(&out->items[0]) + tensor_bytes(&out->items[1]);
}

static const op_family family_random = {.name = "random", .cost = draw_cost};

/* --- in primitives ------------------------------------------------------------------------------------------------------ */

/* A draw from [0, 1) in steps of 2^-digits, which t (f32 or f64) must hold. Two words where one has not enough bits. */
static val unit_draw(dag *g, const op_call *call, const outputs *out, dtype t, int digits, int stream) {
    const tensor *o = &out->items[0];
    val bits = v_random(g, call, o->ndim, o->sizes, stream);
    if (digits <= 31) {
        bits = v_2(g, FN_SHIFT_RIGHT, bits, v_int(g, ASSAY_I64, 32 - digits));
        return v_mul_real(g, v_cast(g, v_cast(g, bits, ASSAY_I32), t), ldexp(1, -digits)); /* i32: cheaper to convert */
    }
    val low = v_2(g, FN_SHIFT_RIGHT, v_random(g, call, o->ndim, o->sizes, stream + 1), v_int(g, ASSAY_I64, 64 - digits));
    val high = v_mul_real(g, v_cast(g, bits, t), 0x1p-32);
    return v_add(g, high, v_mul_real(g, v_cast(g, low, t), ldexp(1, -digits)));
}

/* b8: true with probability p, certainly so at 1. */
static val happens(dag *g, const op_call *call, const outputs *out, double p) {
    val bits = v_random(g, call, out->items[0].ndim, out->items[0].sizes, 0);
    return v_2(g, FN_LT, bits, v_int(g, ASSAY_I64, (int64_t)ceil(p * 0x1p32)));
}

static void ones_where(dag *g, const outputs *out, val condition) {
    dtype t = out->items[0].dtype;
    v_result(g, 0, v_select(g, condition, v_int(g, t, 1), v_int(g, t, 0)));
}

static void bernoulli_p_parts(dag *g, const op_call *call, const outputs *out) {
    ones_where(g, out, happens(g, call, out, call_float(call, 1)));
}

/* Single precision draws in 24 bits, as it has digits. */
static void bernoulli_by(dag *g, const op_call *call, const outputs *out, int probabilities) {
    val p = v_arg(g, call, probabilities);
    if (g->failed || g->refused != NULL) {
        return;
    }
    dtype t = v_dtype(g, p);
    ones_where(g, out, v_2(g, FN_LT, unit_draw(g, call, out, t, t == ASSAY_F64 ? 53 : 24, 0), p));
}

static void bernoulli_parts(dag *g, const op_call *call, const outputs *out) {
    bernoulli_by(g, call, out, 0);
}

static void bernoulli_tensor_parts(dag *g, const op_call *call, const outputs *out) {
    bernoulli_by(g, call, out, 1);
}

static void dropout_parts(dag *g, const op_call *call, const outputs *out) {
    double p = call_float(call, 1);
    if (!dropout_trains(call)) {
        v_result(g, 0, v_raw(g, call, 0));
        v_result(g, 1, v_int(g, ASSAY_B8, 1));
        return;
    }
    val x = v_arg(g, call, 0), kept = happens(g, call, out, 1 - p);
    if (g->failed || g->refused != NULL) {
        return;
    }
    const dtype t = v_dtype(g, x); /* a product, as in ATen: what is not finite and is dropped is NaN */
    v_result(g, 0, v_mul(g, x, v_select(g, kept, v_real(g, t, p < 1 ? 1 / (1 - p) : 0), v_real(g, t, 0))));
    v_result(g, 1, kept);
}

/* As many digits as the output has, so that rounding rarely reaches the upper bound (ATen's uniform_real_distribution). */
static void uniform_parts(dag *g, const op_call *call, const outputs *out) {
    double from = call_float(call, 1), to = call_float(call, 2);
    dtype type = out->items[0].dtype;
    int digits = 1 - ilogb(dtype_epsilon(type));
    val u = unit_draw(g, call, out, primitive_compute_type(type), digits, 0);
    v_result(g, 0, v_add_real(g, v_mul_real(g, u, to - from), from));
}

/* Box and Muller, 1958. 1 - u is never 0, of which there is no logarithm. */
static void normal_parts(dag *g, const op_call *call, const outputs *out) {
    double mean = call_float(call, 1), sd = call_float(call, 2);
    dtype t = primitive_compute_type(out->items[0].dtype);
    int digits = t == ASSAY_F64 ? 53 : 24;
    val u = unit_draw(g, call, out, t, digits, 0), angle = unit_draw(g, call, out, t, digits, 2);
    val rest = v_sub(g, v_int(g, t, 1), u);
    val radius = v_1(g, FN_SQRT, v_mul_real(g, v_1(g, FN_LOG, rest), -2));
    val z = v_mul(g, radius, v_1(g, FN_COS, v_mul_real(g, angle, 2 * M_PI)));
    v_result(g, 0, v_add_real(g, v_mul_real(g, z, sd), mean));
}

static const op_row rows[] = {
    {.signature = "bernoulli_.float(Tensor(a!) self, float p=0.5, *, Generator? generator=None) -> Tensor(a!)",
     .doc = "Ones with probability p, else zeros.",
     .family = &family_random,
     .infer = bernoulli_float_infer,
     .decompose = bernoulli_p_parts,
     .check = bernoulli_p_check,
     .draws_exactly = true,
     .is_random = true,
     .is_in_place = true},
    {.signature = "bernoulli_.Tensor(Tensor(a!) self, Tensor p, *, Generator? generator=None) -> Tensor(a!)",
     .doc = "Ones with the probability that stands at the same place in p, else zeros.",
     .family = &family_random,
     .infer = bernoulli_tensor_infer,
     .inputs = bernoulli_tensor_inputs,
     .cost = draw_from_cost,
     .decompose = bernoulli_tensor_parts,
     .check = bernoulli_tensor_check,
     .draws_exactly = true,
     .is_random = true,
     .is_in_place = true},
    {.signature = "bernoulli.p(Tensor self, float p, *, Generator? generator=None) -> Tensor",
     .doc = "Ones with probability p, else zeros, in the shape of self.",
     .family = &family_random,
     .infer = bernoulli_p_infer,
     .decompose = bernoulli_p_parts,
     .check = bernoulli_p_check,
     .draws_exactly = true,
     .is_random = true},
    {.signature = "bernoulli(Tensor self, *, Generator? generator=None) -> Tensor",
     .doc = "Ones with the probability that stands at the same place in self, else zeros.",
     .family = &family_random,
     .infer = bernoulli_infer,
     .inputs = bernoulli_inputs,
     .cost = draw_from_cost,
     .decompose = bernoulli_parts,
     .check = bernoulli_check,
     .draws_exactly = true,
     .is_random = true},
    {.signature = "native_dropout(Tensor input, float p, bool? train) -> (Tensor, Tensor)",
     .doc = "Each element dropped with probability p, the others scaled up to keep the mean; and which were kept.",
     .family = &family_random,
     .infer = dropout_infer,
     .cost = dropout_cost,
     .decompose = dropout_parts,
     .check = dropout_check,
     .drawn = 1 << 1,
     .follow = dropout_follow,
     .flops_per_element = 1,
     .is_random = true},
    {.signature = "uniform_(Tensor(a!) self, float from=0, float to=1, *, Generator? generator=None) -> Tensor(a!)",
     .doc = "Values uniform between two bounds.",
     .family = &family_random,
     .infer = uniform_infer,
     .decompose = uniform_parts,
     .check = uniform_check,
     .is_random = true,
     .is_in_place = true},
    {.signature = "normal_(Tensor(a!) self, float mean=0, float std=1, *, Generator? generator=None) -> Tensor(a!)",
     .doc = "Normal values of the given mean and standard deviation.",
     .family = &family_random,
     .infer = normal_infer,
     .decompose = normal_parts,
     .check = normal_check,
     .is_random = true,
     .is_in_place = true},
};

const op_rows rows_random = {rows, countof(rows)};
