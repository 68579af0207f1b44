/* SPDX-License-Identifier: Apache-2.0 */
/* Which loop each element-wise operator runs, on which arguments, with which parameters. */
#include "engine/kernels/cpu/kernels.h"
#include "engine/kernels/cpu/pointwise.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- operators whose arguments choose the loop
 * ------------------------------------------------------------------------- */

static bool is_one(number n) {
    return n.f == 1 && n.im == 0;
}

static number negative(number n) {
    return (number){.category = n.category, .i = (int64_t)(0 - (uint64_t)n.i), .f = -n.f, .im = -n.im};
}

/* Whether x + alpha * y is a sum of integers whose y is a number: the product is then taken once, here. */
static bool product_is_constant(const op_call *call, int x, int y, number alpha) {
    const arg *a = &call->args[x], *b = &call->args[y];
    return a->kind == ARG_TENSOR && dtype_category_of(a->tensor->dtype) == CATEGORY_INTEGRAL && b->kind != ARG_TENSOR &&
           call_number(call, y).category == CATEGORY_INTEGRAL && alpha.category == CATEGORY_INTEGRAL;
}

/* x + alpha * y */
static status prepare_sum(kernel_plan *plan, int x, int y, number alpha, error *err) {
    if (product_is_constant(plan->call, x, y, alpha)) {
        uint64_t product = (uint64_t)alpha.i * (uint64_t)call_number(plan->call, y).i;
        pointwise_spec sum = {.op = PW_ADD, .n = 2, .operand = {x, y}, .has_constant = true};
        sum.constant = number_of_int((int64_t)product);
        return pointwise_prepare(plan, &sum, err);
    }
    return pointwise_prepare(
        plan,
        &(pointwise_spec){
            .op = is_one(alpha) ? PW_ADD : PW_ADD_SCALED, .n = 2, .operand = {x, y}, .n_scalars = 1, .s = {alpha}},
        err);
}

/* x - alpha * y */
static status prepare_difference(kernel_plan *plan, int x, int y, number alpha, error *err) {
    if (!is_one(alpha) && product_is_constant(plan->call, x, y, alpha)) {
        return prepare_sum(plan, x, y, negative(alpha), err);
    }
    return pointwise_prepare(plan,
                             &(pointwise_spec){.op = is_one(alpha) ? PW_SUB : PW_ADD_SCALED,
                                               .n = 2,
                                               .operand = {x, y},
                                               .n_scalars = 1,
                                               .s = {negative(alpha)}},
                             err);
}

static status add(kernel_plan *plan, error *err) {
    const number alpha = call_number(plan->call, 2);
    return prepare_sum(plan, 0, 1, plan->out->items[0].dtype == ASSAY_B8 ? number_of_int(alpha.i != 0) : alpha, err);
}

static status sub(kernel_plan *plan, error *err) {
    return prepare_difference(plan, 0, 1, call_number(plan->call, 2), err);
}

static status rsub(kernel_plan *plan, error *err) {
    return prepare_difference(plan, 1, 0, call_number(plan->call, 2), err);
}

static status addcmul(kernel_plan *plan, error *err) {
    number value = call_number(plan->call, 3);
    const bool is_cut = value.category > CATEGORY_INTEGRAL && dtype_category_of(plan->out->items[0].dtype) < CATEGORY_FLOATING;
    value = is_cut ? number_of_int((int64_t)value.f) : value;
    return pointwise_prepare(plan, &(pointwise_spec){.op = PW_ADDCMUL, .n = 3, .operand = {0, 1, 2}, .n_scalars = 1, .s = {value}}, err);
}

static status div_mode(kernel_plan *plan, error *err) {
    const char *mode = call_str(plan->call, 2);
    pointwise_op id = mode == NULL ? PW_DIV : strcmp(mode, "trunc") == 0 ? PW_DIV_TRUNC : PW_DIV_FLOOR;
    return pointwise_prepare(plan, &(pointwise_spec){.op = id, .n = 2, .operand = {0, 1}}, err);
}

static status clamp_to_numbers(kernel_plan *plan, error *err) {
    pointwise_spec spec = {.op = PW_HARDTANH,
                           .n = 1,
                           .operand = {0},
                           .n_scalars = 2,
                           .s = {call_number(plan->call, 1), call_number(plan->call, 2)}};
    return pointwise_prepare(plan, &spec, err);
}

/* Bounds that are numbers are parameters of a loop over self alone. NaN makes every result NaN, which only the general
   loop knows. */
static bool bounds_are_plain(const op_call *call) {
    bool are_numbers = call->args[1].kind != ARG_TENSOR && call->args[2].kind != ARG_TENSOR;
    return are_numbers && !isnan(call_float(call, 1)) && !isnan(call_float(call, 2));
}

/* Whether self's type holds the bound; one of another kind decides the type itself. */
static bool holds_bound(const op_call *call, int i) {
    dtype t = call_tensor(call, 0)->dtype;
    uint64_t bits = 0;
    if (call->args[i].kind == ARG_TENSOR || dtype_category_of(t) != CATEGORY_INTEGRAL) {
        return true;
    }
    number n = call_number(call, i);
    element_store_int(t, &bits, n.i);
    return n.category > CATEGORY_INTEGRAL || element_load_int(t, &bits) == n.i;
}

/* One bound, argument 1 or 2. */
static status clamp_to_one(kernel_plan *plan, bool is_min, error *err) {
    int i = is_min ? 1 : 2;
    if (!holds_bound(plan->call, i)) {
        number n = call_number(plan->call, i);
        pointwise_spec spec = {.op = PW_HARDTANH,
                               .n = 1,
                               .operand = {0},
                               .n_scalars = 2,
                               .s = {is_min ? n : number_of_int(INT64_MIN), is_min ? number_of_int(INT64_MAX) : n}};
        return pointwise_prepare(plan, &spec, err);
    }
    return pointwise_prepare(plan, &(pointwise_spec){.op = is_min ? PW_MAXIMUM : PW_MINIMUM, .n = 2, .operand = {0, i}}, err);
}

static status clamp(kernel_plan *plan, error *err) {
    bool has_min = !call_is_none(plan->call, 1), has_max = !call_is_none(plan->call, 2);
    if (has_min && has_max && bounds_are_plain(plan->call)) {
        return clamp_to_numbers(plan, err);
    }
    if (has_min && has_max) {
        return pointwise_prepare(plan, &(pointwise_spec){.op = PW_CLAMP, .n = 3, .operand = {0, 1, 2}}, err);
    }
    return clamp_to_one(plan, has_min, err);
}

static status clamp_min(kernel_plan *plan, error *err) {
    return clamp_to_one(plan, true, err);
}

static status hardtanh(kernel_plan *plan, error *err) {
    return bounds_are_plain(plan->call)
               ? clamp_to_numbers(plan, err)
               : pointwise_prepare(plan, &(pointwise_spec){.op = PW_CLAMP, .n = 3, .operand = {0, 1, 2}}, err);
}

/* What a complex number to the power of 0 is, or 1 to the power of one: infinities and NaN as well. The argument is that number. */
static status all_ones(kernel_plan *plan, int argument, error *err) {
    pointwise_spec ones = {.op = PW_COPY, .n = 1, .operand = {argument}, .has_constant = true, .constant = number_of_int(1)};
    return pointwise_prepare(plan, &ones, err);
}

/* Exponents that are plain arithmetic (ATen takes the same short cuts); the second operand is the exponent otherwise.
 */
static status pow_tensor_scalar(kernel_plan *plan, error *err) {
    static const struct {
        double exponent;
        pointwise_op id;
        bool for_integers;
    } short_cuts[] = {
        {1, PW_COPY, true},    {2, PW_SQUARE, true},       {3, PW_CUBE, true},
        {0.5, PW_SQRT, false}, {-1, PW_RECIPROCAL, false}, {-0.5, PW_RSQRT, false},
    };
    number exponent = call_number(plan->call, 1);
    if (plan->out->items[0].dtype == ASSAY_B8 && exponent.i == 0) { /* of truths: x to the power of False is True */
        pointwise_spec all = {.op = PW_LOGICAL_OR, .n = 2, .operand = {0, 1}, .has_constant = true, .constant = number_of_bool(true)};
        return pointwise_prepare(plan, &all, err);
    }
    if (dtype_is_complex(plan->out->items[0].dtype) && exponent.f == 0 && exponent.im == 0) {
        return all_ones(plan, 1, err);
    }
    bool integral = dtype_category_of(plan->out->items[0].dtype) <= CATEGORY_INTEGRAL;
    for (size_t i = 0; i < countof(short_cuts); i++) {
        if (exponent.f == short_cuts[i].exponent && exponent.im == 0 && (!integral || short_cuts[i].for_integers)) {
            return pointwise_prepare(plan, &(pointwise_spec){.op = short_cuts[i].id, .n = 1, .operand = {0}}, err);
        }
    }
    return pointwise_prepare(plan, &(pointwise_spec){.op = PW_POW, .n = 2, .operand = {0, 1}}, err);
}

static status gelu(kernel_plan *plan, error *err) {
    bool by_tanh = strcmp(call_str(plan->call, 1), "tanh") == 0;
    return pointwise_prepare(plan, &(pointwise_spec){.op = by_tanh ? PW_GELU_TANH : PW_GELU, .n = 1, .operand = {0}},
                             err);
}

static status gelu_backward(kernel_plan *plan, error *err) {
    bool by_tanh = strcmp(call_str(plan->call, 2), "tanh") == 0;
    return pointwise_prepare(
        plan, &(pointwise_spec){.op = by_tanh ? PW_GELU_TANH_BACKWARD : PW_GELU_BACKWARD, .n = 2, .operand = {0, 1}},
        err);
}

static status elu(kernel_plan *plan, error *err) {
    double alpha = call_float(plan->call, 1), scale = call_float(plan->call, 2);
    pointwise_spec spec = {.op = PW_ELU,
                           .n = 1,
                           .operand = {0},
                           .n_scalars = 3,
                           .s = {number_of_double(alpha * scale), number_of_double(scale), call_number(plan->call, 3)}};
    return pointwise_prepare(plan, &spec, err);
}

static status elu_backward(kernel_plan *plan, error *err) {
    double alpha = call_float(plan->call, 1), scale = call_float(plan->call, 2);
    pointwise_spec spec = {.op = call_bool(plan->call, 4) ? PW_ELU_BACKWARD_RESULT : PW_ELU_BACKWARD,
                           .n = 2,
                           .operand = {0, 5},
                           .n_scalars = 3,
                           .s = {number_of_double(alpha * scale), number_of_double(scale), call_number(plan->call, 3)}};
    return pointwise_prepare(plan, &spec, err);
}

static status hardtanh_backward(kernel_plan *plan, error *err) {
    pointwise_spec spec = {.op = PW_HARDTANH_BACKWARD,
                           .n = 2,
                           .operand = {0, 1},
                           .n_scalars = 2,
                           .s = {call_number(plan->call, 2), call_number(plan->call, 3)}};
    return pointwise_prepare(plan, &spec, err);
}

static status leaky_relu(kernel_plan *plan, error *err) {
    return pointwise_prepare(
        plan,
        &(pointwise_spec){
            .op = PW_LEAKY_RELU, .n = 1, .operand = {0}, .n_scalars = 1, .s = {call_number(plan->call, 1)}},
        err);
}

static status leaky_relu_backward(kernel_plan *plan, error *err) {
    return pointwise_prepare(
        plan,
        &(pointwise_spec){
            .op = PW_LEAKY_RELU_BACKWARD, .n = 2, .operand = {0, 1}, .n_scalars = 1, .s = {call_number(plan->call, 2)}},
        err);
}

/* Among integers the threshold is one of their type: cut off, and wrapped around as their bits are. */
static status threshold_backward(kernel_plan *plan, error *err) {
    number threshold = call_number(plan->call, 2);
    const dtype t = plan->out->items[0].dtype;
    if (dtype_is_integral(t)) {
        uint64_t bits = 0;
        element_store_int(t, &bits, number_to_int(threshold));
        threshold = number_of_int(element_load_int(t, &bits));
    }
    return pointwise_prepare(
        plan,
        &(pointwise_spec){
            .op = PW_THRESHOLD_BACKWARD, .n = 2, .operand = {0, 1}, .n_scalars = 1, .s = {threshold}},
        err);
}

/* --- one loop each
 * ------------------------------------------------------------------------------------------------------ */

static status one(kernel_plan *plan, pointwise_op id, error *err) {
    return pointwise_prepare(plan, &(pointwise_spec){.op = id, .n = 1, .operand = {0}}, err);
}

static status two(kernel_plan *plan, pointwise_op id, int first, int second, error *err) {
    return pointwise_prepare(plan, &(pointwise_spec){.op = id, .n = 2, .operand = {first, second}}, err);
}

static status three(kernel_plan *plan, pointwise_op id, int first, int second, int third, error *err) {
    return pointwise_prepare(plan, &(pointwise_spec){.op = id, .n = 3, .operand = {first, second, third}}, err);
}

static status prepare_neg(kernel_plan *plan, error *err) {
    return one(plan, PW_NEG, err);
}

static status prepare_abs(kernel_plan *plan, error *err) {
    return one(plan, PW_ABS, err);
}

static status prepare_sgn(kernel_plan *plan, error *err) {
    return one(plan, PW_SGN, err);
}

static status prepare_reciprocal(kernel_plan *plan, error *err) {
    return one(plan, PW_RECIPROCAL, err);
}

static status prepare_sqrt(kernel_plan *plan, error *err) {
    return one(plan, PW_SQRT, err);
}

static status prepare_rsqrt(kernel_plan *plan, error *err) {
    return one(plan, PW_RSQRT, err);
}

static status prepare_exp(kernel_plan *plan, error *err) {
    return one(plan, PW_EXP, err);
}

static status prepare_log2(kernel_plan *plan, error *err) {
    return one(plan, PW_LOG2, err);
}

static status prepare_sin(kernel_plan *plan, error *err) {
    return one(plan, PW_SIN, err);
}

static status prepare_cos(kernel_plan *plan, error *err) {
    return one(plan, PW_COS, err);
}

static status prepare_erf(kernel_plan *plan, error *err) {
    return one(plan, PW_ERF, err);
}

static status prepare_floor(kernel_plan *plan, error *err) {
    return one(plan, PW_FLOOR, err);
}

static status prepare_round(kernel_plan *plan, error *err) {
    return one(plan, PW_ROUND, err);
}

static status prepare_relu(kernel_plan *plan, error *err) {
    return one(plan, PW_RELU, err);
}

static status prepare_silu(kernel_plan *plan, error *err) {
    return one(plan, PW_SILU, err);
}

static status prepare_sigmoid(kernel_plan *plan, error *err) {
    return one(plan, PW_SIGMOID, err);
}

static status prepare_tanh(kernel_plan *plan, error *err) {
    return one(plan, PW_TANH, err);
}

static status prepare_hardsigmoid(kernel_plan *plan, error *err) {
    return one(plan, PW_HARDSIGMOID, err);
}

static status prepare_hardswish(kernel_plan *plan, error *err) {
    return one(plan, PW_HARDSWISH, err);
}

static status prepare_bitwise_not(kernel_plan *plan, error *err) {
    return one(plan, PW_BITWISE_NOT, err);
}

static status prepare_logical_not(kernel_plan *plan, error *err) {
    return one(plan, PW_LOGICAL_NOT, err);
}

static status prepare_isinf(kernel_plan *plan, error *err) {
    return one(plan, PW_ISINF, err);
}

static status prepare_isnan(kernel_plan *plan, error *err) {
    return one(plan, PW_ISNAN, err);
}

static status prepare_mul(kernel_plan *plan, error *err) {
    return two(plan, PW_MUL, 0, 1, err);
}

/* Over a power of two: its inverse is exact, and so are products by it what the quotients are. */
static status prepare_div(kernel_plan *plan, error *err) {
    const arg *x = &plan->call->args[0], *y = &plan->call->args[1];
    bool is_real = x->kind == ARG_TENSOR && y->kind != ARG_TENSOR && dtype_category_of(x->tensor->dtype) == CATEGORY_FLOATING;
    number by = is_real ? call_number(plan->call, 1) : number_of_int(0);
    int exponent = 0;
    if (fabs(frexp(by.f, &exponent)) == 0.5 && abs(exponent) < 14 && by.im == 0) { /* in the range of every type */
        pointwise_spec product = {.op = PW_MUL, .n = 2, .operand = {0, 1}, .has_constant = true};
        product.constant = number_of_double(1 / by.f);
        return pointwise_prepare(plan, &product, err);
    }
    return two(plan, PW_DIV, 0, 1, err);
}

static status prepare_div_floor(kernel_plan *plan, error *err) {
    return two(plan, PW_DIV_FLOOR, 0, 1, err);
}

static status prepare_remainder(kernel_plan *plan, error *err) {
    return two(plan, PW_REMAINDER, 0, 1, err);
}

static status prepare_fmod(kernel_plan *plan, error *err) {
    return two(plan, PW_FMOD, 0, 1, err);
}

static status pow_of_number(kernel_plan *plan, error *err) {
    number base = call_number(plan->call, 0);
    const bool is_one = dtype_is_complex(plan->out->items[0].dtype) && base.f == 1 && base.im == 0;
    return is_one ? all_ones(plan, 0, err) : two(plan, PW_POW, 0, 1, err);
}

static status prepare_pow(kernel_plan *plan, error *err) {
    return two(plan, PW_POW, 0, 1, err);
}

static status prepare_maximum(kernel_plan *plan, error *err) {
    return two(plan, PW_MAXIMUM, 0, 1, err);
}

static status prepare_minimum(kernel_plan *plan, error *err) {
    return two(plan, PW_MINIMUM, 0, 1, err);
}

static status prepare_bitwise_and(kernel_plan *plan, error *err) {
    return two(plan, PW_BITWISE_AND, 0, 1, err);
}

static status prepare_bitwise_or(kernel_plan *plan, error *err) {
    return two(plan, PW_BITWISE_OR, 0, 1, err);
}

static status prepare_bitwise_xor(kernel_plan *plan, error *err) {
    return two(plan, PW_BITWISE_XOR, 0, 1, err);
}

static status prepare_logical_and(kernel_plan *plan, error *err) {
    return two(plan, PW_LOGICAL_AND, 0, 1, err);
}

static status prepare_logical_or(kernel_plan *plan, error *err) {
    return two(plan, PW_LOGICAL_OR, 0, 1, err);
}

static status prepare_logical_xor(kernel_plan *plan, error *err) {
    return two(plan, PW_LOGICAL_XOR, 0, 1, err);
}

static status prepare_silu_backward(kernel_plan *plan, error *err) {
    return two(plan, PW_SILU_BACKWARD, 0, 1, err);
}

static status prepare_sigmoid_backward(kernel_plan *plan, error *err) {
    return two(plan, PW_SIGMOID_BACKWARD, 0, 1, err);
}

static status prepare_tanh_backward(kernel_plan *plan, error *err) {
    return two(plan, PW_TANH_BACKWARD, 0, 1, err);
}

static status prepare_hardsigmoid_backward(kernel_plan *plan, error *err) {
    return two(plan, PW_HARDSIGMOID_BACKWARD, 0, 1, err);
}

static status prepare_hardswish_backward(kernel_plan *plan, error *err) {
    return two(plan, PW_HARDSWISH_BACKWARD, 0, 1, err);
}

static status prepare_eq(kernel_plan *plan, error *err) {
    return two(plan, PW_EQ, 0, 1, err);
}

static status prepare_ne(kernel_plan *plan, error *err) {
    return two(plan, PW_NE, 0, 1, err);
}

static status prepare_lt(kernel_plan *plan, error *err) {
    return two(plan, PW_LT, 0, 1, err);
}

static status prepare_le(kernel_plan *plan, error *err) {
    return two(plan, PW_LE, 0, 1, err);
}

static status prepare_lt_swapped(kernel_plan *plan, error *err) {
    return two(plan, PW_LT, 1, 0, err);
}

static status prepare_le_swapped(kernel_plan *plan, error *err) {
    return two(plan, PW_LE, 1, 0, err);
}

static status prepare_where(kernel_plan *plan, error *err) {
    return three(plan, PW_WHERE, 0, 1, 2, err);
}

static status prepare_where_fill(kernel_plan *plan, error *err) {
    return three(plan, PW_WHERE, 1, 2, 0, err);
}

static const kernel_row rows[] = {
    {.op = "add.Tensor", .prepare = add},
    {.op = "add.Scalar", .prepare = add},
    {.op = "sub.Tensor", .prepare = sub},
    {.op = "sub.Scalar", .prepare = sub},
    {.op = "rsub.Scalar", .prepare = rsub},
    {.op = "addcmul.default", .prepare = addcmul},
    {.op = "div.Tensor_mode", .prepare = div_mode},
    {.op = "clamp.default", .prepare = clamp},
    {.op = "clamp.Tensor", .prepare = clamp},
    {.op = "pow.Tensor_Scalar", .prepare = pow_tensor_scalar},
    {.op = "gelu.default", .prepare = gelu},
    {.op = "gelu_backward.default", .prepare = gelu_backward},
    {.op = "elu.default", .prepare = elu},
    {.op = "elu_backward.default", .prepare = elu_backward},
    {.op = "hardtanh.default", .prepare = hardtanh},
    {.op = "hardtanh_backward.default", .prepare = hardtanh_backward},
    {.op = "leaky_relu.default", .prepare = leaky_relu},
    {.op = "leaky_relu_backward.default", .prepare = leaky_relu_backward},
    {.op = "threshold_backward.default", .prepare = threshold_backward},
    {.op = "neg.default", .prepare = prepare_neg},
    {.op = "abs.default", .prepare = prepare_abs},
    {.op = "sgn.default", .prepare = prepare_sgn},
    {.op = "reciprocal.default", .prepare = prepare_reciprocal},
    {.op = "sqrt.default", .prepare = prepare_sqrt},
    {.op = "rsqrt.default", .prepare = prepare_rsqrt},
    {.op = "exp.default", .prepare = prepare_exp},
    {.op = "log2.default", .prepare = prepare_log2},
    {.op = "sin.default", .prepare = prepare_sin},
    {.op = "cos.default", .prepare = prepare_cos},
    {.op = "erf.default", .prepare = prepare_erf},
    {.op = "floor.default", .prepare = prepare_floor},
    {.op = "round.default", .prepare = prepare_round},
    {.op = "relu.default", .prepare = prepare_relu},
    {.op = "silu.default", .prepare = prepare_silu},
    {.op = "sigmoid.default", .prepare = prepare_sigmoid},
    {.op = "tanh.default", .prepare = prepare_tanh},
    {.op = "hardsigmoid.default", .prepare = prepare_hardsigmoid},
    {.op = "hardswish.default", .prepare = prepare_hardswish},
    {.op = "bitwise_not.default", .prepare = prepare_bitwise_not},
    {.op = "logical_not.default", .prepare = prepare_logical_not},
    {.op = "isinf.default", .prepare = prepare_isinf},
    {.op = "isnan.default", .prepare = prepare_isnan},
    {.op = "mul.Tensor", .prepare = prepare_mul},
    {.op = "mul.Scalar", .prepare = prepare_mul},
    {.op = "div.Tensor", .prepare = prepare_div},
    {.op = "div.Scalar", .prepare = prepare_div},
    {.op = "floor_divide.default", .prepare = prepare_div_floor},
    {.op = "remainder.Tensor", .prepare = prepare_remainder},
    {.op = "remainder.Scalar", .prepare = prepare_remainder},
    {.op = "fmod.Tensor", .prepare = prepare_fmod},
    {.op = "fmod.Scalar", .prepare = prepare_fmod},
    {.op = "pow.Tensor_Tensor", .prepare = prepare_pow},
    {.op = "pow.Scalar", .prepare = pow_of_number},
    {.op = "maximum.default", .prepare = prepare_maximum},
    {.op = "minimum.default", .prepare = prepare_minimum},
    {.op = "clamp_min.default", .prepare = clamp_min},
    {.op = "bitwise_and.Tensor", .prepare = prepare_bitwise_and},
    {.op = "bitwise_or.Tensor", .prepare = prepare_bitwise_or},
    {.op = "bitwise_xor.Tensor", .prepare = prepare_bitwise_xor},
    {.op = "logical_and.default", .prepare = prepare_logical_and},
    {.op = "logical_or.default", .prepare = prepare_logical_or},
    {.op = "logical_xor.default", .prepare = prepare_logical_xor},
    {.op = "silu_backward.default", .prepare = prepare_silu_backward},
    {.op = "sigmoid_backward.default", .prepare = prepare_sigmoid_backward},
    {.op = "tanh_backward.default", .prepare = prepare_tanh_backward},
    {.op = "hardsigmoid_backward.default", .prepare = prepare_hardsigmoid_backward},
    {.op = "hardswish_backward.default", .prepare = prepare_hardswish_backward},
    {.op = "eq.Tensor", .prepare = prepare_eq},
    {.op = "ne.Tensor", .prepare = prepare_ne},
    {.op = "lt.Tensor", .prepare = prepare_lt},
    {.op = "le.Tensor", .prepare = prepare_le},
    {.op = "gt.Tensor", .prepare = prepare_lt_swapped},
    {.op = "ge.Tensor", .prepare = prepare_le_swapped},
    {.op = "eq.Scalar", .prepare = prepare_eq},
    {.op = "ne.Scalar", .prepare = prepare_ne},
    {.op = "lt.Scalar", .prepare = prepare_lt},
    {.op = "le.Scalar", .prepare = prepare_le},
    {.op = "gt.Scalar", .prepare = prepare_lt_swapped},
    {.op = "ge.Scalar", .prepare = prepare_le_swapped},
    {.op = "where.self", .prepare = prepare_where},
    {.op = "masked_fill.Scalar", .prepare = prepare_where_fill},
    {.op = "masked_fill.Tensor", .prepare = prepare_where_fill},
};

const kernel_rows kernels_pointwise = {rows, countof(rows)};
