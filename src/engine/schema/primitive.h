/* SPDX-License-Identifier: Apache-2.0 */
/* The closed set that every operator is taken apart into, and the functions of single elements among them. The compiler
   knows these and no operator. */
#ifndef ENGINE_SCHEMA_PRIMITIVE_H
#define ENGINE_SCHEMA_PRIMITIVE_H

#include "engine/tensor/dtype.h"

/* Every value is a tensor of fixed sizes. X(NAME, "name") */
#define PRIMITIVES(X)                                                                                                       \
    X(INPUT, "input")       /* a tensor from outside, by its strides */                                                     \
    X(CONSTANT, "constant") /* one number everywhere */                                                                     \
    X(IOTA, "iota")         /* its own coordinate in one dimension */                                                       \
    X(MAP, "map")           /* a function of the elements at the same place */                                              \
    X(CAST, "cast")         /* the element in another type */                                                               \
    X(VIEW, "view")         /* an element of the source, at coordinates computed from one's own (also read from data), or */ \
                            /* a constant outside of stated bounds */                                                       \
    X(REDUCE, "reduce")     /* one element from all along some dimensions */                                                \
    X(SCAN, "scan")         /* running reduction along one dimension */                                                     \
    X(SCATTER, "scatter")   /* a base with elements of a second tensor set or added in at computed coordinates */           \
    X(JOIN, "join")         /* its sources side by side along one dimension: each is stored where it belongs */             \
    X(RANDOM, "random")     /* 32 random bits from a seed and the flat index */                                             \
    X(CALL, "call")         /* an output of an operator that a kernel library computes: contraction, convolution, extern */

typedef enum primitive {
#define PRIMITIVE_NAME(name, text) PRIM_##name,
    PRIMITIVES(PRIMITIVE_NAME)
#undef PRIMITIVE_NAME
} primitive;

/* Functions of single elements. X(NAME, "name", operands). Unless the name says otherwise the result has the operands'
   type. Floating minimum and maximum answer NaN when either operand is NaN. */
#define SCALAR_FUNCTIONS(X)                                                                                              \
    X(NEG, "neg", 1)                                                                                                     \
    X(ABS, "abs", 1)                                                                                                     \
    X(SIGN, "sign", 1)      /* of complex: x / |x| */                                                                    \
    X(FLOOR, "floor", 1)                                                                                                 \
    X(CEIL, "ceil", 1)                                                                                                   \
    X(TRUNC, "trunc", 1)                                                                                                 \
    X(ROUND, "round", 1)    /* ties to even */                                                                           \
    X(SQRT, "sqrt", 1)                                                                                                   \
    X(RSQRT, "rsqrt", 1)                                                                                                 \
    X(EXP, "exp", 1)                                                                                                     \
    X(EXPM1_BELOW, "expm1_below", 1) /* of the lesser of x and 0 */                                                       \
    X(EXPM1, "expm1", 1)                                                                                                 \
    X(LOG, "log", 1)                                                                                                     \
    X(LOG2, "log2", 1)                                                                                                   \
    X(LOG1P, "log1p", 1)                                                                                                 \
    X(SIN, "sin", 1)                                                                                                     \
    X(COS, "cos", 1)                                                                                                     \
    X(TANH, "tanh", 1)                                                                                                   \
    X(ERF, "erf", 1)                                                                                                     \
    X(SIGMOID, "sigmoid", 1)                                                                                             \
    X(NORMAL_CDF, "normal_cdf", 1) /* the normal distribution's share below x */                                         \
    X(NORMAL_SLOPE, "normal_slope", 1) /* of x normal_cdf(x) at x */                                                     \
    X(NOT, "not", 1)        /* bitwise; of b8 logical */                                                                 \
    X(IS_NAN, "is_nan", 1)  /* b8 */                                                                                     \
    X(IS_INF, "is_inf", 1)  /* b8 */                                                                                     \
    X(ORDER, "order", 1)    /* of f32, i32: ascends with it; NaN above all numbers, -0 as 0 */                          \
    X(OF_ORDER, "of_order", 1) /* of i32, f32: the number that has this order */                                        \
    X(REAL, "real", 1)      /* the real type of a complex one */                                                         \
    X(IMAG, "imag", 1)                                                                                                   \
    X(CONJ, "conj", 1)                                                                                                   \
    X(ADD, "add", 2)                                                                                                     \
    X(SUB, "sub", 2)                                                                                                     \
    X(MUL, "mul", 2)                                                                                                     \
    X(DIV, "div", 2)        /* integers truncate; by zero they answer 0, which rows refuse (ops/quotient.c) */                         \
    X(FLOOR_DIV, "floor_div", 2)                                                                                         \
    X(FMOD, "fmod", 2)      /* sign of the dividend */                                                                   \
    X(REMAINDER, "remainder", 2) /* sign of the divisor */                                                               \
    X(POW, "pow", 2)                                                                                                     \
    X(MINIMUM, "minimum", 2)                                                                                             \
    X(MAXIMUM, "maximum", 2)                                                                                             \
    X(AND, "and", 2)                                                                                                     \
    X(OR, "or", 2)                                                                                                       \
    X(XOR, "xor", 2)                                                                                                     \
    X(SHIFT_LEFT, "shift_left", 2)                                                                                       \
    X(SHIFT_RIGHT, "shift_right", 2)                                                                                     \
    X(COMPLEX, "complex", 2) /* of two real ones */                                                                      \
    X(EQ, "eq", 2)          /* b8, and so on to GE */                                                                    \
    X(NE, "ne", 2)                                                                                                       \
    X(LT, "lt", 2)                                                                                                       \
    X(LE, "le", 2)                                                                                                       \
    X(GT, "gt", 2)                                                                                                       \
    X(GE, "ge", 2)                                                                                                       \
    X(SELECT, "select", 3)  /* b8, then the value if so, then the value if not */

typedef enum scalar_function {
#define FUNCTION_NAME(name, text, operands) FN_##name,
    SCALAR_FUNCTIONS(FUNCTION_NAME)
#undef FUNCTION_NAME
        FN_COUNT
} scalar_function;

/* Reductions. X(NAME, "name") */
#define REDUCTIONS(X)                                                    \
    X(SUM, "sum")                                                        \
    X(PROD, "prod")                                                      \
    X(MAX, "max")       /* NaN wins */                                   \
    X(MIN, "min")                                                        \
    X(ARGMAX, "argmax") /* i64, the flat index within the reduced part */ \
    X(ARGMIN, "argmin") /* of the first such element; NaN wins */

typedef enum reduction {
#define REDUCTION_NAME(name, text) RED_##name,
    REDUCTIONS(REDUCTION_NAME)
#undef REDUCTION_NAME
} reduction;

const char *primitive_name(primitive p);
const char *scalar_function_name(scalar_function f);
int scalar_function_operands(scalar_function f);
const char *reduction_name(reduction r);

/* The type of f's result when its operands are of type t (SELECT: its last two). */
dtype scalar_function_result(scalar_function f, dtype t);
/* Work of one f, in additions, roughly. */
double scalar_function_cost(scalar_function f);
/* f of numbers, in double or, for integers and booleans, in int64; false when that is not to be folded (complex). */
bool scalar_function_fold(scalar_function f, dtype t, const number *x, number *out);

/* The type that arithmetic on t is done in: f32 for f16, bf16 and f32, i32 for the small integers; others are their own. */
dtype primitive_compute_type(dtype t);

#endif
