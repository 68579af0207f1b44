/* SPDX-License-Identifier: Apache-2.0 */
/* Element-wise kernels: what the engine in pointwise.c and the loops in isa/pointwise_*.c agree on. */
#ifndef ENGINE_KERNELS_CPU_POINTWISE_H
#define ENGINE_KERNELS_CPU_POINTWISE_H

#include "engine/kernels/cpu/isa.h"
#include "engine/kernels/cpu/row_edge.h"
#include "engine/kernels/kernel.h"

/* What a loop computes. Numbers s[0].. are the loop's parameters. */
typedef enum pointwise_op {
    /* one operand */
    PW_COPY,
    PW_NEG,
    PW_ABS,
    PW_SGN,
    PW_SQUARE,
    PW_CUBE,
    PW_RECIPROCAL,
    PW_SQRT,
    PW_RSQRT,
    PW_EXP,
    PW_LOG2,
    PW_SIN,
    PW_COS,
    PW_ERF,
    PW_FLOOR,
    PW_ROUND,
    PW_RELU,
    PW_GELU,
    PW_GELU_TANH,
    PW_SILU,
    PW_SIGMOID,
    PW_TANH,
    PW_ELU,      /* alpha * scale, scale, input_scale */
    PW_HARDTANH, /* min, max */
    PW_HARDSIGMOID,
    PW_HARDSWISH,
    PW_LEAKY_RELU, /* slope */
    PW_BITWISE_NOT,
    PW_LOGICAL_NOT, /* answers b8, as the next two and the comparisons below */
    PW_ISINF,
    PW_ISNAN,
    /* two */
    PW_ADD,
    PW_ADD_SCALED, /* a + s0 * b */
    PW_SUB,
    PW_MUL,
    PW_DIV,
    PW_DIV_TRUNC,
    PW_DIV_FLOOR,
    PW_REMAINDER,
    PW_FMOD,
    PW_POW,
    PW_MAXIMUM,
    PW_MINIMUM,
    PW_BITWISE_AND,
    PW_BITWISE_OR,
    PW_BITWISE_XOR,
    PW_EQ,
    PW_NE,
    PW_LT,
    PW_LE,
    PW_LOGICAL_AND,
    PW_LOGICAL_OR,
    PW_LOGICAL_XOR,
    PW_GELU_BACKWARD, /* backwards: the gradient first */
    PW_GELU_TANH_BACKWARD,
    PW_SILU_BACKWARD,
    PW_SIGMOID_BACKWARD,
    PW_TANH_BACKWARD,
    PW_ELU_BACKWARD,        /* as PW_ELU */
    PW_ELU_BACKWARD_RESULT, /* the same, from elu's result */
    PW_HARDTANH_BACKWARD,   /* min, max */
    PW_HARDSIGMOID_BACKWARD,
    PW_HARDSWISH_BACKWARD,
    PW_LEAKY_RELU_BACKWARD, /* slope */
    PW_THRESHOLD_BACKWARD,  /* threshold */
    /* three */
    PW_CLAMP,
    PW_ADDCMUL, /* a + s0 * b * c */
    PW_WHERE,   /* the first is b8 */
    PW_COUNT
} pointwise_op;

/* What elements are while they are computed with: every dtype belongs to the class that holds it. bf16 and f16 compute
   in f32; u16 stands for what is only moved. */
typedef enum pointwise_class {
    CLASS_U8,
    CLASS_U16,
    CLASS_I8,
    CLASS_I16,
    CLASS_I32,
    CLASS_I64,
    CLASS_F32,
    CLASS_F64,
    CLASS_C64,
    CLASS_C128,
    CLASS_COUNT
} pointwise_class;

enum { POINTWISE_INPUTS = 3, POINTWISE_SCALARS = 3 };

/* One run of a loop: n elements, one behind the other in every operand. out may be an input, never overlap it
 * otherwise. */
typedef struct pointwise_chunk {
    void *out;
    const void *in[POINTWISE_INPUTS];
    int64_t n;
    const number *s; /* POINTWISE_SCALARS numbers */
    bool *is_fault;  /* set where an integer is divided by 0 */
    int near;        /* bit k: operand k is at hand as far as this run goes, and nobody knows what lies behind */
} pointwise_chunk;

typedef void pointwise_loop(const pointwise_chunk *c);

/* One class's code. */
typedef struct pointwise_loops {
    pointwise_loop *op[PW_COUNT]; /* NULL where the class does not know the operator */
    pointwise_loop *number[PW_COUNT]; /* the second of two operands is one number for all elements; NULL: there is no such loop */
    pointwise_loop *number_first[PW_COUNT]; /* the first is */
    /* n elements of dtype t, stride_bytes apart, to the class's type, and back. */
    void (*load)(void *to, dtype t, const char *from, int64_t stride_bytes, int64_t n);
    void (*store)(dtype t, char *to, int64_t stride_bytes, const void *from, int64_t n);
    /* n times one value. */
    void (*fill)(void *to, number value, int64_t n);
} pointwise_loops;

/* One run of a loop in f32 over halves. Operands lie as step says, each of them in its own way. */
enum { HALVES_BLOCK = 256 }; /* elements: four operands of f32 leave room in L1 */
typedef struct pointwise_halves {
    pointwise_chunk chunk;
    pointwise_loop *loop;
    dtype type;                 /* ASSAY_F16 or ASSAY_BF16 */
    int n;                      /* inputs */
    int step[POINTWISE_INPUTS]; /* bytes from one element to the next: 2 for halves, 4 for f32, 1 for b8, 0 for one number of f32, which
                                   stands there as often as there are elements, HALVES_BLOCK times at most */
    int out_step;               /* 2 for halves, else of what the loop makes: 4, or 1 for b8 */
    bool streams;               /* results go past the caches: out lies on a line of 64 bytes and is no input, and the stores are
                                   settled by the caller */
    bool fetches;               /* halves come from memory */
    const uint16_t *table;      /* of a look-up */
} pointwise_halves;

typedef void pointwise_halves_loop(const pointwise_halves *h);

/* Loops over halves in one go, by operator: the steps of operands are 2, but for a number's. NULL: there is none. */
typedef struct pointwise_half_loops {
    pointwise_halves_loop *op[PW_COUNT];
    pointwise_halves_loop *number[PW_COUNT];       /* the second of two operands is one number */
    pointwise_halves_loop *number_first[PW_COUNT]; /* the first is */
} pointwise_half_loops;

extern const pointwise_half_loops pointwise_half_loops_baseline, pointwise_half_loops_avx2, pointwise_half_loops_avx512;
extern const pointwise_half_loops pointwise_half_checked_baseline, pointwise_half_checked_avx2, pointwise_half_checked_avx512;
/* Results of one operand out of a table that has a place for each of the 65,536 numbers that a half can be, by its bits. */
extern pointwise_halves_loop pointwise_half_look_up_baseline, pointwise_half_look_up_avx2, pointwise_half_look_up_avx512;
extern pointwise_halves_loop pointwise_halves_run_baseline, pointwise_halves_run_avx2, pointwise_halves_run_avx512;
extern pointwise_halves_loop *const pointwise_half_functions_baseline[PW_COUNT], *const pointwise_half_functions_avx2[PW_COUNT],
    *const pointwise_half_functions_avx512[PW_COUNT];

/* Moves that ask no type, only a size. */
typedef struct pointwise_moves {
    /* to[outer][inner] = from[inner * inner_bytes + outer * outer_bytes]: turns a tile round, elements of size bytes.
     */
    void (*turn)(void *to, const char *from, int64_t inner_bytes, int64_t outer_bytes, int64_t n_inner, int64_t n_outer,
                 int64_t size);
    /* memcpy past the caches, for results too large to stay in them; what fills no line may wait at the edge. */
    void (*stream)(row_edge *edge, void *to, const void *from, size_t bytes);
    /* Makes what was streamed visible to other threads. */
    void (*settle)(void);
    /* to[outer][inner] = from[inner * inner_bytes + outer * outer_bytes], for rows that are dense or of one value. */
    void (*copy_rows)(void *to, const char *from, int64_t inner_bytes, int64_t outer_bytes, int64_t n_inner,
                      int64_t n_outer, int64_t size);
} pointwise_moves;

extern const pointwise_loops pointwise_u8_baseline, pointwise_u8_avx2, pointwise_u8_avx512;
extern const pointwise_loops pointwise_u16_baseline, pointwise_u16_avx2, pointwise_u16_avx512;
extern const pointwise_loops pointwise_i8_baseline, pointwise_i8_avx2, pointwise_i8_avx512;
extern const pointwise_loops pointwise_i16_baseline, pointwise_i16_avx2, pointwise_i16_avx512;
extern const pointwise_loops pointwise_i32_baseline, pointwise_i32_avx2, pointwise_i32_avx512;
extern const pointwise_loops pointwise_i64_baseline, pointwise_i64_avx2, pointwise_i64_avx512;
extern const pointwise_loops pointwise_f32_baseline, pointwise_f32_avx2, pointwise_f32_avx512;
extern const pointwise_loops pointwise_f64_baseline, pointwise_f64_avx2, pointwise_f64_avx512;
/* The same, but results go past the caches: out lies on a line of 64 bytes and is no input, and the stores are settled by the caller
   (pointwise_moves). Operators that have no such loop are not in the table, or in it with one that stores as ever. */
extern const pointwise_loops pointwise_u8_streaming_baseline, pointwise_u8_streaming_avx2, pointwise_u8_streaming_avx512;
extern const pointwise_loops pointwise_i8_streaming_baseline, pointwise_i8_streaming_avx2, pointwise_i8_streaming_avx512;
extern const pointwise_loops pointwise_i16_streaming_baseline, pointwise_i16_streaming_avx2, pointwise_i16_streaming_avx512;
extern const pointwise_loops pointwise_i32_streaming_baseline, pointwise_i32_streaming_avx2, pointwise_i32_streaming_avx512;
extern const pointwise_loops pointwise_i64_streaming_baseline, pointwise_i64_streaming_avx2, pointwise_i64_streaming_avx512;
extern const pointwise_loops pointwise_f32_streaming_baseline, pointwise_f32_streaming_avx2, pointwise_f32_streaming_avx512;
extern const pointwise_loops pointwise_f64_streaming_baseline, pointwise_f64_streaming_avx2, pointwise_f64_streaming_avx512;
extern const pointwise_loops pointwise_u16_streaming_baseline, pointwise_u16_streaming_avx2, pointwise_u16_streaming_avx512;
extern const pointwise_loops pointwise_c64_baseline, pointwise_c64_avx2, pointwise_c64_avx512;
extern const pointwise_loops pointwise_c128_baseline, pointwise_c128_avx2, pointwise_c128_avx512;
extern const pointwise_moves pointwise_moves_baseline, pointwise_moves_avx2, pointwise_moves_avx512;

/* An operator's call as its loops want it. */
typedef struct pointwise_spec {
    pointwise_op op;
    int n;                         /* operands */
    int operand[POINTWISE_INPUTS]; /* the argument behind each, a tensor or a number */
    int n_scalars;
    number s[POINTWISE_SCALARS]; /* the loop's parameters */
    bool has_constant;           /* the last operand is a number, and this one stands in its place: */
    number constant;
} pointwise_spec;

/* Readies the plan to compute spec. UNSUPPORTED names a type that no loop serves; INVALID an output that lies across
   one of the inputs, or across itself. */
status pointwise_prepare(kernel_plan *plan, const pointwise_spec *spec, error *err);

#endif
