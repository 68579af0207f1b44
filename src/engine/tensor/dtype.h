/* SPDX-License-Identifier: Apache-2.0 */
/* What each element type is: size, category, precision, promotion, and one element read or written. */
#ifndef ENGINE_TENSOR_DTYPE_H
#define ENGINE_TENSOR_DTYPE_H

#include "assay/dtype.h"

#include <complex.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* glibc withholds C11's CMPLX from clang. */
#ifndef CMPLX
#define CMPLX(re, im) __builtin_complex((double)(re), (double)(im))
#endif

typedef assay_dtype dtype;

typedef enum dtype_category { CATEGORY_BOOLEAN, CATEGORY_INTEGRAL, CATEGORY_FLOATING, CATEGORY_COMPLEX } dtype_category;

/* A scalar argument: what a Python bool, int, float or complex literal carries. */
typedef struct number {
    dtype_category category;
    int64_t i;  /* booleans and integers */
    double f;   /* the value as a double, whatever the category */
    double im;  /* imaginary part of a complex number */
} number;

number number_of_bool(bool value);
number number_of_int(int64_t value);
number number_of_double(double value);
number number_of_complex(double re, double im);
/* As an integer: floats truncate, as element_store has them. */
int64_t number_to_int(number value);

size_t dtype_size(dtype t);
const char *dtype_torch_name(dtype t);
dtype_category dtype_category_of(dtype t);
bool dtype_is_floating(dtype t);
bool dtype_is_complex(dtype t);
bool dtype_is_integral(dtype t); /* bool excluded */

/* Distance from 1 to the next larger number; 0 for integers. Complex types: of their parts. */
double dtype_epsilon(dtype t);
/* Largest finite value. */
double dtype_max(dtype t);
/* Whether an element can be that number, digits aside (c10/util/TypeCast.h, overflows): infinities are held by floats, negative integers
   wrap around in u8, anything is true or not in b8. */
bool dtype_holds(dtype t, number value);
/* The type that kernels accumulate in: f32 for f16, bf16 and f32, f64 for f64, i64 for integers, c64 or c128. */
dtype dtype_accumulator(dtype t);
/* The real type of a complex one (c64 -> f32), any other type itself; and back (f32 -> c64). */
dtype dtype_real(dtype t);
dtype dtype_complex(dtype t);

/* ATen's promotion of two types (c10/core/ScalarType.cpp): bf16 and f16 give f32, i8 and u8 give i16. */
dtype dtype_promote(dtype a, dtype b);

/* One element as a double (real part of a complex one), as an integer (floats truncate), as a complex. */
double element_load(dtype t, const void *at);
int64_t element_load_int(dtype t, const void *at);
double complex element_load_complex(dtype t, const void *at);
/* Rounds to nearest even; floats to integers truncate toward zero, those beyond i32 (for i64: beyond i64) to its lowest number, and wrap
   around in narrower types; bool is value != 0. */
void element_store(dtype t, void *at, double value);
void element_store_int(dtype t, void *at, int64_t value);
void element_store_complex(dtype t, void *at, double complex value);
void element_store_number(dtype t, void *at, number value);

/* IEEE half and bfloat16 in software, round to nearest even; NaN stays NaN. */
float f16_to_float(uint16_t bits);
uint16_t f16_from_float(float value);
float bf16_to_float(uint16_t bits);
uint16_t bf16_from_float(float value);
/* Straight from double, so that a value is rounded once and not twice. */
uint16_t f16_from_double(double value);
uint16_t bf16_from_double(double value);

#endif
