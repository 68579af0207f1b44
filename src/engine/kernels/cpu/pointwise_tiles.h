/* SPDX-License-Identifier: Apache-2.0 */
/* Between pointwise.c, which chooses how an element-wise call runs, pointwise_plan.c, which plans it tile by tile, and
   pointwise_tiles.c, which runs that. */
#ifndef ENGINE_KERNELS_CPU_POINTWISE_TILES_H
#define ENGINE_KERNELS_CPU_POINTWISE_TILES_H

#include "engine/kernels/cpu/pointwise.h"
#include "engine/tensor/loop.h"

enum {
    BLOCK_BYTES = 8192,  /* of each operand in L1: four of them leave room in 32 KiB */
    STREAM_BYTES = 2048, /* of results that are stored past the caches: larger bursts cost a fifth (Zen 5, 2026-11) */
    LONG_TILES = 256,    /* of a row, where they may be of any length: for threads to share */
    LEAST_TILES = 16,    /* that many rows make before tiles take several */
    FEW_IN_TILE = 128,   /* elements, for which a tile takes longer to find than to make */
    SHORT_ROW = 128,     /* shorter rows of results are stored together */
    MIN_ROW = 512,       /* shorter rows are put together in blocks before the loop sees them */
    MIN_NUMBER_ROW = 128, /* the same of rows that have one number each for an operand: in blocks it would be written out */
    MIN_REPEATED = 8,    /* elements of a row that are the same number, to make it once */
    TILE_ROWS = 16,      /* of a tile turned round: a cache line of f32 */
    CONSTANT = -1,       /* the slot of an operand that is one value */
};

/* A class's element size and its code for each instruction set. */
typedef struct class_facts {
    int size;
    const pointwise_loops *loops[ISA_COUNT];
    const pointwise_loops *streaming[ISA_COUNT]; /* NULL: none */
} class_facts;

extern const class_facts pointwise_classes[CLASS_COUNT];
extern const pointwise_moves *const pointwise_move_tables[ISA_COUNT];
extern pointwise_halves_loop *const pointwise_halves_runs[ISA_COUNT];
extern pointwise_halves_loop *const pointwise_half_look_ups[ISA_COUNT];

/* The loop in one go over n operands with these steps; NULL: there is none that is quicker than those above. */
pointwise_halves_loop *pointwise_halves_in_one_go(isa best, pointwise_op id, const int *step, int n);

extern const uint8_t pointwise_class_of[ASSAY_DTYPE_COUNT]; /* a pointwise_class */

/* Whether elements of t lie in memory as the class's loops compute with them. */
bool pointwise_is_native(pointwise_class c, dtype t);

/* The number in a tensor of one element. */
number pointwise_read_cell(const tensor *t);

/* A constant as the loops of a class want it: a truth among booleans, bits where elements are only moved, rounded to the type
   computed in where the operator says so, and wrapped around as integers of that type do unless it says otherwise. */
number pointwise_constant(const op_row *row, dtype compute, pointwise_class c, number value);

/* Readies the plan where every operand is a number or lies as the output does, of the type computed in, f16 or bf16, and the
   output has that type too or, where the loop makes_b8, that one; false otherwise. */
bool pointwise_try_halves(kernel_plan *plan, const pointwise_spec *spec, pointwise_op id, dtype compute, bool makes_b8);

/* The operand's tensor, or NULL for a number. */
static inline const tensor *pointwise_operand(const op_call *call, const pointwise_spec *spec, int k) {
    const arg *a = &call->args[spec->operand[k]];
    return a->kind == ARG_TENSOR ? a->tensor : NULL;
}

static inline bool pointwise_lies_alike(const tensor *a, const tensor *b) {
    bool alike = a->ndim == b->ndim;
    for (int d = 0; alike && d < a->ndim; d++) {
        alike = a->sizes[d] == b->sizes[d] && (a->strides[d] == b->strides[d] || a->sizes[d] == 1);
    }
    return alike;
}

/* The type computed in, the loops' class for it, and the class of what comes out. */
typedef struct pointwise_choice {
    pointwise_op op;
    dtype compute;
    pointwise_class class;
    pointwise_class out_class;
    bool out_is_native; /* the output holds results as the loop leaves them */
} pointwise_choice;

/* How an operand's elements reach the loop. */
typedef struct source {
    pointwise_class class;
    dtype dtype;
    const tensor *cell; /* of a constant that is read at each run; NULL: `constant` */
    number constant;
    int slot;     /* in the loop nest, CONSTANT for none */
    bool is_row;  /* rows can be read where they lie */
    bool is_flat; /* whole tiles can */
    bool is_number; /* one for each row, brought into blocks as such */
    bool is_half; /* they are read as f16 or bf16, not as f32 */
} source;

typedef struct tiled {
    loop nest; /* slot 0 is the output */
    const pointwise_loops *loops;
    const pointwise_loops *out_loops;
    const pointwise_moves *move;
    pointwise_loop *loop;
    pointwise_halves_loop *in_one_go; /* over halves; NULL: there is none */
    number s[POINTWISE_SCALARS];
    source in[POINTWISE_INPUTS];
    int n;
    pointwise_class out_class;
    dtype out_dtype;
    dtype compute;
    const op_row *row;
    bool out_is_native;
    bool halves; /* the loop takes f16 or bf16 where it lies in rows, and makes such results (half_blocks.c) */
    bool makes_halves; /* results leave the loop as f16 or bf16 */
    bool out_is_row, out_is_flat; /* the loop may write rows, or whole tiles, where they belong */
    bool streams;      /* results go past the caches: */
    bool loop_streams; /* by the loop itself, else block by block behind it */
    bool repeats;      /* each row of results is one number many times */
    bool by_tile; /* the loop takes tiles whole: rows are too short to be worth a call each */
    bool is_fault;
    int64_t tile[2];  /* elements along dimensions 0 and 1 */
    int64_t steps[2]; /* tiles along them */
    int64_t n_tiles;
    isa isa;
} tiled;

/* Readies the plan to run tile by tile. The operands are of any types and layouts, the output is not empty. */
status pointwise_prepare_tiled(kernel_plan *plan, const pointwise_spec *spec, const pointwise_choice *c, error *err);

/* The step of operand k of a loop over halves (pointwise_halves). */
int pointwise_half_step(const tiled *p, int k);

/* The plan's run, state a tiled. */
status pointwise_run_tiled(kernel_plan *plan);

/* What run answers where an integer was divided by zero. */
status pointwise_fault(kernel_plan *plan);

#endif
