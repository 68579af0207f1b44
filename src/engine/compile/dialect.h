/* SPDX-License-Identifier: Apache-2.0 */
/* How primitives are spelled in an output language: the emitter writes loops, a dialect the words. C now. */
#ifndef ENGINE_COMPILE_DIALECT_H
#define ENGINE_COMPILE_DIALECT_H

#include "base/text.h"
#include "engine/schema/primitive.h"

/* The type that a variable of this dtype has. */
const char *dialect_type(dtype t);
/* f of operands, themselves written already, that have type t. False when the language has no such function of that type. */
bool dialect_function(text *out, scalar_function f, dtype t, const char *const *operands);
/* The same of an operand that is at most 0 or NaN; false, with nothing written, where that makes no difference. */
bool dialect_below_0(text *out, scalar_function f, dtype t, const char *const *operands);
/* The same where the second operand is a number, not NaN, and the first is anything. */
bool dialect_with_number(text *out, scalar_function f, dtype t, const char *const *operands);
/* The same of the functions that hold an f32 to a number that is not below 0, where nobody sees what becomes of NaN. */
bool dialect_bound_of_factor(text *out, scalar_function f, const char *const *operands);
/* Some functions have a quick form too, without branch or call, which fails for rare operands: a number other than 0 then. */
bool dialect_has_quick(scalar_function f, dtype t);
void dialect_quick(text *out, scalar_function f, dtype t, const char *const *operands);
void dialect_quick_fails(text *out, scalar_function f, dtype t, const char *const *operands);
/* Some also have a function for a block of lanes, of arguments that lie side by side: NAME(to, from, n), where n is a number of
   whole lines; from may be to. digits: the type whose digits the result is to have, t or a narrower one. NULL: f has none for this
   type. */
const char *dialect_block(scalar_function f, dtype t, dtype digits);
/* The same function as dialect_block's, at the digits of t, for a processor that divides while it multiplies. NULL: that makes no
   difference. */
const char *dialect_block_divided(scalar_function f, dtype t);
/* The same for functions of two operands, NAME(to, first, second, n), of which the second or the first may be one number for all
   lanes. They take DIALECT_PAIR_LANES in one go, fewer as if they were as many. */
enum { DIALECT_PAIR_LANES = 32 };
const char *dialect_block_of_two(scalar_function f, dtype t, dtype digits, bool first_is_number, bool second_is_number);
/* The same function as dialect_block's, at the digits of t, where arguments are at most 0 or NaN: of what is far above 0 it makes
   something infinite or NaN. NULL: that makes no difference. */
const char *dialect_block_below_0(scalar_function f, dtype t);
/* The order in which a block's bf16 are taken: as they lie, or pairs apart, of which functions may be rounded either way halfway. */
typedef enum pair_order { PAIRS_NONE, PAIRS_EITHER_WAY, PAIRS_NEAREST } pair_order;
/* The function that casts a block of floats to this type of 16 bits: NAME(to, from). NULL: there is none. pairs: floats that another
   function made of pairs of bf16. */
const char *dialect_narrow(dtype t, pair_order pairs);
/* The same where the block goes past the caches. */
const char *dialect_stream_narrow(dtype t, pair_order pairs);
/* x, of type `from`, as one of type `to`. */
void dialect_cast(text *out, dtype from, dtype to, const char *x);
/* A constant of type t. */
void dialect_number(text *out, dtype t, number n);
/* What every program begins with, then those functions that `body` calls, directly or not. */
void dialect_prelude(text *out, const char *body);

#endif
