/* SPDX-License-Identifier: Apache-2.0 */
/* The primitives' names and types, and constant folding. */
#include "engine/schema/primitive.h"

#include <math.h>

const char *primitive_name(primitive p) {
    static const char *const names[] = {
#define PRIMITIVE_TEXT(name, text) text,
        PRIMITIVES(PRIMITIVE_TEXT)
#undef PRIMITIVE_TEXT
    };
    return names[p];
}

typedef struct function_facts {
    const char *name;
    int operands;
} function_facts;

static const function_facts functions[] = {
#define FUNCTION_FACTS(name, text, operands) {text, operands},
    SCALAR_FUNCTIONS(FUNCTION_FACTS)
#undef FUNCTION_FACTS
};

const char *scalar_function_name(scalar_function f) {
    return functions[f].name;
}

int scalar_function_operands(scalar_function f) {
    return functions[f].operands;
}

const char *reduction_name(reduction r) {
    static const char *const names[] = {
#define REDUCTION_TEXT(name, text) text,
        REDUCTIONS(REDUCTION_TEXT)
#undef REDUCTION_TEXT
    };
    return names[r];
}

double scalar_function_cost(scalar_function f) {
    switch (f) {
    case FN_EXP:
    case FN_EXPM1:
    case FN_EXPM1_BELOW:
    case FN_LOG:
    case FN_LOG2:
    case FN_LOG1P:
    case FN_SIN:
    case FN_COS:
    case FN_TANH:
    case FN_ERF:
    case FN_SIGMOID:
    case FN_NORMAL_CDF:
    case FN_NORMAL_SLOPE:
    case FN_POW:
        return 15;
    case FN_DIV:
    case FN_SQRT:
    case FN_RSQRT:
    case FN_FLOOR_DIV:
    case FN_FMOD:
    case FN_REMAINDER:
        return 5;
    default:
        return 1;
    }
}

dtype scalar_function_result(scalar_function f, dtype t) {
    if ((f >= FN_EQ && f <= FN_GE) || f == FN_IS_NAN || f == FN_IS_INF) {
        return ASSAY_B8;
    }
    if (f == FN_REAL || f == FN_IMAG || (f == FN_ABS && dtype_is_complex(t))) {
        return dtype_real(t);
    }
    if (f == FN_ORDER || f == FN_OF_ORDER) {
        return f == FN_ORDER ? ASSAY_I32 : ASSAY_F32;
    }
    return f == FN_COMPLEX ? dtype_complex(t) : t;
}

dtype primitive_compute_type(dtype t) {
    switch (t) {
    case ASSAY_F16:
    case ASSAY_BF16:
        return ASSAY_F32;
    case ASSAY_C32:
        return ASSAY_C64;
    case ASSAY_I8:
    case ASSAY_U8:
    case ASSAY_I16:
        return ASSAY_I32;
    default:
        return t;
    }
}

/* Only what decompositions ask of constants: more would be a second set of kernels. */
bool scalar_function_fold(scalar_function f, dtype t, const number *x, number *out) {
    if (dtype_is_complex(t)) {
        return false;
    }
    bool floating = dtype_is_floating(t);
    double a = x[0].f, b = functions[f].operands > 1 ? x[1].f : 0, value;
    switch (f) {
    case FN_NEG:
        value = -a;
        break;
    case FN_ADD:
        value = a + b;
        break;
    case FN_SUB:
        value = a - b;
        break;
    case FN_MUL:
        value = a * b;
        break;
    case FN_DIV:
        if (!floating) {
            return false;
        }
        value = a / b;
        break;
    case FN_SQRT:
        value = sqrt(a);
        break;
    default:
        return false;
    }
    if (!floating && (fabs(value) > 0x1p53 || fabs(a) > 0x1p53 || fabs(b) > 0x1p53)) { /* where doubles have gaps */
        return false;
    }
    *out = floating ? number_of_double(t == ASSAY_F32 ? (double)(float)value : value) : number_of_int((int64_t)value);
    return true;
}
