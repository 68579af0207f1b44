/* SPDX-License-Identifier: Apache-2.0 */
/* The table of element types and the conversions of single elements. */
#include "engine/tensor/dtype.h"

#include <float.h>
#include <math.h>
#include <string.h>

typedef struct dtype_facts {
    const char *name;
    const char *torch_name;
    size_t size_bytes;
    dtype_category category;
} dtype_facts;

static const dtype_facts facts[ASSAY_DTYPE_COUNT] = {
#define DTYPE_FACTS(name, short_name, torch_name, size, category) {short_name, torch_name, size, CATEGORY_##category},
    ASSAY_DTYPE_LIST(DTYPE_FACTS)
#undef DTYPE_FACTS
};

const char *assay_dtype_name(assay_dtype t) {
    return (unsigned)t < ASSAY_DTYPE_COUNT ? facts[t].name : "?";
}

const char *dtype_torch_name(dtype t) {
    return facts[t].torch_name;
}

size_t dtype_size(dtype t) {
    return facts[t].size_bytes;
}

dtype_category dtype_category_of(dtype t) {
    return facts[t].category;
}

bool dtype_is_floating(dtype t) {
    return facts[t].category == CATEGORY_FLOATING;
}

bool dtype_is_complex(dtype t) {
    return facts[t].category == CATEGORY_COMPLEX;
}

bool dtype_is_integral(dtype t) {
    return facts[t].category == CATEGORY_INTEGRAL;
}

dtype dtype_real(dtype t) {
    return t == ASSAY_C32 ? ASSAY_F16 : t == ASSAY_C64 ? ASSAY_F32 : t == ASSAY_C128 ? ASSAY_F64 : t;
}

dtype dtype_complex(dtype t) {
    return t == ASSAY_F16 ? ASSAY_C32 : t == ASSAY_F64 ? ASSAY_C128 : dtype_is_complex(t) ? t : ASSAY_C64;
}

double dtype_epsilon(dtype t) {
    switch (dtype_real(t)) {
    case ASSAY_F16:
        return 0x1p-10;
    case ASSAY_BF16:
        return 0x1p-7;
    case ASSAY_F32:
        return FLT_EPSILON;
    case ASSAY_F64:
        return DBL_EPSILON;
    default:
        return 0;
    }
}

double dtype_max(dtype t) {
    switch (dtype_real(t)) {
    case ASSAY_F16:
        return 65504;
    case ASSAY_BF16:
        return 0x1.fep127;
    case ASSAY_F32:
        return FLT_MAX;
    case ASSAY_F64:
        return DBL_MAX;
    case ASSAY_I8:
        return INT8_MAX;
    case ASSAY_I16:
        return INT16_MAX;
    case ASSAY_I32:
        return INT32_MAX;
    case ASSAY_I64:
        return (double)INT64_MAX;
    case ASSAY_U8:
        return UINT8_MAX;
    default:
        return 1;
    }
}

static bool integer_holds(dtype t, int64_t value) {
    uint64_t bits = 0;
    if (t == ASSAY_U8) {
        return value >= -UINT8_MAX && value <= UINT8_MAX;
    }
    element_store_int(t, &bits, value);
    return element_load_int(t, &bits) == value;
}

static bool part_holds(dtype t, double value) {
    if (dtype_is_integral(t)) {
        const double above = ldexp(1, t == ASSAY_U8 ? 8 : 8 * (int)dtype_size(t) - 1), lowest = t == ASSAY_U8 ? 0 : -above;
        return value >= lowest && value < above; /* NaN is neither */
    }
    return !isfinite(value) || fabs(value) <= dtype_max(t);
}

bool dtype_holds(dtype t, number value) {
    if (t == ASSAY_B8) {
        return true;
    }
    if (value.category <= CATEGORY_INTEGRAL && dtype_is_integral(t)) {
        return integer_holds(t, value.i);
    }
    return part_holds(t, value.f) && (!dtype_is_complex(t) || part_holds(t, value.im));
}

dtype dtype_accumulator(dtype t) {
    switch (t) {
    case ASSAY_F16:
    case ASSAY_BF16:
    case ASSAY_F32:
        return ASSAY_F32;
    case ASSAY_C32:
    case ASSAY_C64:
        return ASSAY_C64;
    case ASSAY_F64:
    case ASSAY_C128:
        return t;
    default:
        return ASSAY_I64;
    }
}

static dtype wider(dtype a, dtype b) {
    return dtype_size(a) >= dtype_size(b) ? a : b;
}

dtype dtype_promote(dtype a, dtype b) {
    if (a == b) {
        return a;
    }
    dtype_category ca = facts[a].category, cb = facts[b].category;
    if (ca < cb) {
        return dtype_promote(b, a);
    }
    if (ca == CATEGORY_COMPLEX) {
        if (cb < CATEGORY_FLOATING) {
            return a;
        }
        return cb == CATEGORY_COMPLEX ? wider(a, b) : wider(a, b == ASSAY_BF16 ? ASSAY_C64 : dtype_complex(b));
    }
    if (ca != cb) {
        return a;
    }
    if (ca == CATEGORY_FLOATING && dtype_size(a) == 2 && dtype_size(b) == 2) {
        return ASSAY_F32; /* f16 with bf16: neither holds the other */
    }
    if (ca == CATEGORY_INTEGRAL && dtype_size(a) == 1 && dtype_size(b) == 1) {
        return ASSAY_I16; /* i8 with u8 */
    }
    return wider(a, b);
}

number number_of_bool(bool value) {
    return (number){.category = CATEGORY_BOOLEAN, .i = value, .f = value};
}

number number_of_int(int64_t value) {
    return (number){.category = CATEGORY_INTEGRAL, .i = value, .f = (double)value};
}

number number_of_double(double value) {
    return (number){.category = CATEGORY_FLOATING, .f = value};
}

number number_of_complex(double re, double im) {
    return (number){.category = CATEGORY_COMPLEX, .f = re, .im = im};
}

float bf16_to_float(uint16_t bits) {
    uint32_t wide = (uint32_t)bits << 16;
    float value;
    memcpy(&value, &wide, sizeof value);
    return value;
}

uint16_t bf16_from_float(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    if ((bits & 0x7fffffffu) > 0x7f800000u) {
        return (uint16_t)((bits | 0x400000u) >> 16);
    }
    return (uint16_t)((bits + 0x7fffu + ((bits >> 16) & 1)) >> 16);
}

float f16_to_float(uint16_t bits) {
    uint32_t sign = (uint32_t)(bits & 0x8000u) << 16;
    uint32_t rest = bits & 0x7fffu;
    uint32_t wide;
    if (rest >= 0x7c00u) {
        wide = sign | 0x7f800000u | ((rest & 0x3ffu) << 13) | (rest > 0x7c00u ? 0x400000u : 0);
    } else if (rest >= 0x400u) {
        wide = sign | ((rest << 13) + ((127u - 15u) << 23));
    } else {
        float small = (float)rest * 0x1p-24f;
        memcpy(&wide, &small, sizeof wide);
        wide |= sign;
    }
    float value;
    memcpy(&value, &wide, sizeof value);
    return value;
}

/* Rounds a double to `bits` bits of significand with the least exponent `lowest`, to nearest even. The result is exact
   in float, so that the narrow encodings below do no rounding of their own. */
static float round_to(double value, int bits, int lowest) {
    uint64_t word;
    memcpy(&word, &value, sizeof word);
    int exponent = (int)(word >> 52 & 0x7ff) - 1022; /* value is less than 2^exponent */
    if (exponent > 129) { /* infinite in every narrow type, or NaN */
        return (float)value;
    }
    int quantum = exponent - bits < lowest ? lowest : exponent - bits;
    double magic = 0; /* 1.5 * 2^(52 + quantum): what is added to it rounds to whole quanta */
    word = (uint64_t)(52 + quantum + 1023) << 52 | UINT64_C(1) << 51;
    memcpy(&magic, &word, sizeof magic);
    return (float)copysign(value + magic - magic, value);
}

static uint16_t encode_f16(float exact) {
    uint32_t bits;
    memcpy(&bits, &exact, sizeof bits);
    uint16_t sign = (uint16_t)((bits >> 16) & 0x8000u);
    float magnitude = fabsf(exact);
    if (isnan(exact)) { /* its sign and upper bits, as instructions keep them */
        return (uint16_t)(sign | 0x7e00u | (bits >> 13 & 0x3ffu));
    }
    if (magnitude >= 65520.0f) {
        return (uint16_t)(sign | 0x7c00u);
    }
    if (magnitude < 0x1p-14f) {
        return (uint16_t)(sign | (uint16_t)(magnitude * 0x1p24f));
    }
    return (uint16_t)(sign | (((bits & 0x7fffffffu) >> 13) - ((127u - 15u) << 10)));
}

uint16_t f16_from_double(double value) {
    return encode_f16(round_to(value, 11, -24));
}

uint16_t f16_from_float(float value) {
    return f16_from_double(value);
}

uint16_t bf16_from_double(double value) {
    return bf16_from_float(round_to(value, 8, -133));
}

double element_load(dtype t, const void *at) {
    switch (t) {
    case ASSAY_F16:
    case ASSAY_C32:
        return f16_to_float(*(const uint16_t *)at);
    case ASSAY_BF16:
        return bf16_to_float(*(const uint16_t *)at);
    case ASSAY_F32:
    case ASSAY_C64:
        return *(const float *)at;
    case ASSAY_F64:
    case ASSAY_C128:
        return *(const double *)at;
    default:
        return (double)element_load_int(t, at);
    }
}

/* Toward zero; of what no i32 holds, or for i64 no i64, the lowest of these, as x86 has it (in C it is undefined). */
static int64_t truncate_double(dtype t, double value) {
    const bool wide = t == ASSAY_I64;
    const double above = wide ? 0x1p63 : 0x1p31, lowest = wide ? -0x1p63 : -0x1p31 - 1;
    return (wide ? value >= lowest : value > lowest) && value < above ? (int64_t)value : wide ? INT64_MIN : INT32_MIN;
}

int64_t number_to_int(number value) {
    return value.category <= CATEGORY_INTEGRAL ? value.i : truncate_double(ASSAY_I64, value.f);
}

int64_t element_load_int(dtype t, const void *at) {
    switch (t) {
    case ASSAY_I8:
        return *(const int8_t *)at;
    case ASSAY_I16:
        return *(const int16_t *)at;
    case ASSAY_I32:
        return *(const int32_t *)at;
    case ASSAY_I64:
        return *(const int64_t *)at;
    case ASSAY_U8:
        return *(const uint8_t *)at;
    case ASSAY_B8:
        return *(const uint8_t *)at != 0;
    default:
        return truncate_double(ASSAY_I64, element_load(t, at));
    }
}

double complex element_load_complex(dtype t, const void *at) {
    switch (t) {
    case ASSAY_C32: {
        const uint16_t *parts = at;
        return CMPLX(f16_to_float(parts[0]), f16_to_float(parts[1]));
    }
    case ASSAY_C64: {
        const float *parts = at;
        return CMPLX(parts[0], parts[1]);
    }
    case ASSAY_C128: {
        const double *parts = at;
        return CMPLX(parts[0], parts[1]);
    }
    default:
        return element_load(t, at);
    }
}

/* A double outside int64's range has no defined conversion in C; the saturated value is as good as any. */
void element_store(dtype t, void *at, double value) {
    switch (t) {
    case ASSAY_F16:
        *(uint16_t *)at = f16_from_double(value);
        return;
    case ASSAY_BF16:
        *(uint16_t *)at = bf16_from_double(value);
        return;
    case ASSAY_F32:
        *(float *)at = (float)value;
        return;
    case ASSAY_F64:
        *(double *)at = value;
        return;
    case ASSAY_B8:
        *(uint8_t *)at = value != 0;
        return;
    case ASSAY_C32:
    case ASSAY_C64:
    case ASSAY_C128:
        element_store_complex(t, at, value);
        return;
    default:
        element_store_int(t, at, truncate_double(t, value));
    }
}

void element_store_int(dtype t, void *at, int64_t value) {
    switch (t) {
    case ASSAY_I8:
        *(int8_t *)at = (int8_t)value;
        return;
    case ASSAY_I16:
        *(int16_t *)at = (int16_t)value;
        return;
    case ASSAY_I32:
        *(int32_t *)at = (int32_t)value;
        return;
    case ASSAY_I64:
        *(int64_t *)at = value;
        return;
    case ASSAY_U8:
        *(uint8_t *)at = (uint8_t)value;
        return;
    case ASSAY_B8:
        *(uint8_t *)at = value != 0;
        return;
    default:
        element_store(t, at, (double)value);
    }
}

void element_store_complex(dtype t, void *at, double complex value) {
    switch (t) {
    case ASSAY_C32: {
        uint16_t *parts = at;
        parts[0] = f16_from_double(creal(value));
        parts[1] = f16_from_double(cimag(value));
        return;
    }
    case ASSAY_C64: {
        float *parts = at;
        parts[0] = (float)creal(value);
        parts[1] = (float)cimag(value);
        return;
    }
    case ASSAY_C128: {
        double *parts = at;
        parts[0] = creal(value);
        parts[1] = cimag(value);
        return;
    }
    default:
        element_store(t, at, creal(value));
    }
}

void element_store_number(dtype t, void *at, number value) {
    if (value.category <= CATEGORY_INTEGRAL) {
        element_store_int(t, at, value.i);
    } else if (value.category == CATEGORY_COMPLEX) {
        element_store_complex(t, at, CMPLX(value.f, value.im));
    } else {
        element_store(t, at, value.f);
    }
}
