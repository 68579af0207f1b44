/* SPDX-License-Identifier: Apache-2.0 */
/* The element types of tensors, in one list. */
#ifndef ASSAY_DTYPE_H
#define ASSAY_DTYPE_H

#include "assay/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* X(ENUM, short name as recorded inputs spell it, PyTorch's name, C-side size in bytes, category).
   Categories order type promotion: boolean < integral < floating < complex. New types go at the end: the numbers are
   part of the plug-in ABI. */
#define ASSAY_DTYPE_LIST(X)                  \
    X(F16, "f16", "float16", 2, FLOATING)    \
    X(BF16, "bf16", "bfloat16", 2, FLOATING) \
    X(F32, "f32", "float32", 4, FLOATING)    \
    X(F64, "f64", "float64", 8, FLOATING)    \
    X(C32, "c32", "complex32", 4, COMPLEX)   \
    X(C64, "c64", "complex64", 8, COMPLEX)   \
    X(C128, "c128", "complex128", 16, COMPLEX) \
    X(I8, "i8", "int8", 1, INTEGRAL)         \
    X(I16, "i16", "int16", 2, INTEGRAL)      \
    X(I32, "i32", "int32", 4, INTEGRAL)      \
    X(I64, "i64", "int64", 8, INTEGRAL)      \
    X(U8, "u8", "uint8", 1, INTEGRAL)        \
    X(B8, "b8", "bool", 1, BOOLEAN)

typedef enum assay_dtype {
#define ASSAY_DTYPE_ENUM(name, short_name, torch_name, size, category) ASSAY_##name,
    ASSAY_DTYPE_LIST(ASSAY_DTYPE_ENUM)
#undef ASSAY_DTYPE_ENUM
    ASSAY_DTYPE_COUNT
} assay_dtype;

/* The short name ("f32"); "?" for a number outside the list. Never NULL. */
ASSAY_API const char *assay_dtype_name(assay_dtype dtype);

#ifdef __cplusplus
}
#endif
#endif
