/* SPDX-License-Identifier: Apache-2.0 */
/* The matrix product of gemm_loops.h for its types: gemm_template.h, with tiles that fill the registers. */
#include "engine/kernels/cpu/isa/gemm_loops.h"

#include <string.h>

/* Rows of a tile; its columns are COLUMN_VECTORS vectors. */
#if defined(__AVX512F__)
enum { VECTOR_BYTES = 64, TILE_ROWS = 8, COLUMN_VECTORS = 3 };
#elif defined(__AVX2__)
enum { VECTOR_BYTES = 32, TILE_ROWS = 4, COLUMN_VECTORS = 3 };
#else
enum { VECTOR_BYTES = 16, TILE_ROWS = 4, COLUMN_VECTORS = 2 };
#endif

#define TYPE     double
#define NAME(x)  x##_f64
#define ALPHA(g) (g)->alpha
#include "engine/kernels/cpu/isa/gemm_template.h"
#define TYPE     float
#define NAME(x)  x##_f32
#define ALPHA(g) (g)->alpha
#include "engine/kernels/cpu/isa/gemm_template.h"
/* Unsigned, so that overflow wraps as it should. */
#define TYPE     uint32_t
#define NAME(x)  x##_i32
#define ALPHA(g) (g)->alpha_int
#include "engine/kernels/cpu/isa/gemm_template.h"
#define TYPE     uint64_t
#define NAME(x)  x##_i64
#define ALPHA(g) (g)->alpha_int
#include "engine/kernels/cpu/isa/gemm_template.h"

extern const gemm_loops ISA_SYMBOL(gemm_loops);
const gemm_loops ISA_SYMBOL(gemm_loops) = {.f64 = block_f64, .f32 = block_f32, .i32 = block_i32, .i64 = block_i64};
