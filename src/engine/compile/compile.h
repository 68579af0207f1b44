/* SPDX-License-Identifier: Apache-2.0 */
/* The compiler: a graph of operators to C source, a list of steps and the memory they need. It runs nothing. */
#ifndef ENGINE_COMPILE_COMPILE_H
#define ENGINE_COMPILE_COMPILE_H

#include "engine/graph/graph.h"

/* How products of bf16 multiply: each number widened to f32; pairs of them by vectors, or by the processor's tiles. */
typedef enum pairs_way { PAIRS_WIDENED, PAIRS_BY_VECTORS, PAIRS_BY_TILES } pairs_way;

typedef struct compile_options {
    bool no_fusion;   /* one kernel for each value that an operator answers */
    int n_threads;    /* that will run it: work is shared out for so many; 0: one */
    bool own_products; /* matrix products as sums of products, in blocks, which what surrounds them joins; not library calls */
    uint64_t library_products; /* of them, by number, those that are library calls after all */
    const char *prefix; /* of the kernels' symbols, where several programs are to be one module; NULL: none */
    bool streams_all; /* results of any size are stored past the caches, as large ones are: for tests */
    bool blocks_all;  /* products of any size are computed in blocks, as those of many terms are: for tests */
    bool cuts_sums;   /* sums of more than a few terms are added up in pieces, as very long ones are: for tests */
    bool pieces_all;  /* outputs of any size are computed in pieces of what they join, as large ones are: for tests */
    bool variants;    /* several kernels for each step, for a tuner to choose from */
    pairs_way pairs;  /* where the factors are bf16; on a CPU without the instruction plain C does the same */
    pairs_way other_pairs; /* the way of a variant */
    bool few_in_turn; /* rows of tasks in flight that wait for memory go in turns by two, those read from one place not at all; else by four */
    bool no_twins;    /* rows past the caches one by one, not in pairs */
    bool asks_along;  /* loops that only read along rows ask for what lies further on */
    bool asks_far;    /* what tasks in flight read is asked for far ahead, to come to L2, not just ahead, to come to L1 */
    bool few_stores;  /* loops spare stores: sums are kept in registers, and what is stored past the caches goes there from them */
    bool divides;     /* quotients and roots are computed as such, beside which the processor multiplies; not by inverses */
    bool gathers;     /* floats from where data say are brought together by the instruction that there is for it */
    bool scans_in_parts; /* running sums down narrow rows in parts of the rows, not of the columns */
    bool shares_tasks; /* threads take parts of the rows of tasks of which a core's own cache does not hold enough */
    bool rounds_pairs; /* an instruction rounds floats to bf16: blocks of them go in pairs wherever the order is of no account */
    bool keeps_cached; /* rows' results stay in the last cache if that holds all a program reads and writes */
    bool no_together; /* and single passes over memory straight on, not several pages at a time */
} compile_options;

typedef enum buffer_role { BUFFER_INPUT, BUFFER_OUTPUT, BUFFER_WORK, BUFFER_SEED, BUFFER_CALL } buffer_role;

/* Memory that steps read and write. */
typedef struct compile_buffer {
    buffer_role role;
    dtype dtype;
    const tensor *tensor; /* INPUT, OUTPUT: the graph's; CALL: the call's inferred output */
    uint64_t seed;        /* SEED: its one 64-bit value */
    int64_t n_elems;      /* WORK */
    int64_t part_elems;   /* WORK: of one part, when only the steps of one chain touch it; 0: not so */
    int step;             /* that writes it; -1: an input */
    int output;           /* CALL: which of the step's outputs it is; OUTPUT: which of the graph's */
    int memory;           /* the memory that it lies in: its number, from 1 on; 0: one of its own */
} compile_buffer;

/* A memory that several buffers lie in, one after the other. */
typedef struct compile_memory {
    int64_t bytes;
    int output; /* the buffer of the result whose memory it is; -1: of none */
} compile_memory;

/* A tensor argument of a call, in a buffer. */
typedef struct compile_operand {
    int buffer;
    int64_t offset;
    const int64_t *strides; /* by the argument's dimensions */
} compile_operand;

enum { COMPILE_TEAM_SUMS = 8 };

/* One way to compute a step; all ways take the same buffers. */
typedef struct compile_variant {
    const char *symbol; /* of the kernel in the source */
    int64_t n_tasks;    /* independent pieces */
    const char *name;   /* what is special about it */
    bool other_stores;  /* its results pass the caches where the compiler would not have them do so, or the other way round */
    bool in_parts;      /* its tasks can be run by the parts of the chain that the step is in */
    int64_t room_bytes; /* memory that each thread brings for itself, as one buffer more, on a line of memory; 0: none */
    bool shared;        /* all threads go through all tasks, each a part of every task's rows. Behind the room come three buffers more: two
                           int64_t, the thread's number and how many there are; room for 2 COMPILE_TEAM_SUMS doubles for each of them, the
                           same for all; and a void (*)(void) that comes back when all of them have called it */
} compile_variant;

typedef struct compile_step {
    int n_variants;     /* 0: a call; the first is the compiler's own choice */
    const compile_variant *variants;
    int n_buffers;      /* the kernel's parameters in order */
    const int *buffers;
    int n_rewritten;    /* buffers that it both reads and writes, or adds to: run again it finds there what it has left */
    const int *rewritten;
    int n_operands;     /* a call's tensor arguments in order */
    const compile_operand *operands;
    double bytes;       /* moved by all tasks */
    double flops;
    bool checks;        /* the kernel can find an index out of range */
    const char *title;
    int product;        /* the number of the matrix product or convolution that it computes; -1: of none */
    const op_call *call;
    const outputs *out;
    bool is_fallback;
    const char *why;
} compile_step;

/* Steps that can be run part by part: all of them for part 0, then for part 1, in any order of the parts and at the same time;
   part p of a step is its tasks p * n_tasks / parts to (p + 1) * n_tasks / parts - 1. */
typedef struct chain {
    int first, n_steps;
    int64_t parts;
} chain;

typedef struct compiled_program {
    char *source; /* one self-contained C file; "" when there are only calls */
    const char *body; /* the part of it that is this program's own: behind the functions that its kernels call */
    int n_buffers;
    const compile_buffer *buffers;
    int n_memories;
    const compile_memory *memories;
    int n_steps;
    const compile_step *steps;
    int n_products;     /* that can be library calls or kernels */
    int n_chains;
    const chain *chains; /* in the order of their steps */
    const int *output_buffers; /* by the graph's outputs; -1: the tensor is an input's own memory */
    bool is_fallback;   /* some operator was not taken apart */
    const char *why;
    char *dag_text;     /* for --dump graph */
} compiled_program;

/* g outlives the program, which lives in `memory`. UNSUPPORTED names what cannot be compiled at all. */
status compile_graph(arena *memory, const graph *g, const compile_options *options, compiled_program *out, error *err);

/* Kernels and library calls of a program, and the bytes that they read and write, roughly; least: every input once, every
   output once, by one kernel. */
typedef struct program_traffic {
    int n_kernels, n_calls;
    double bytes, least_bytes;
} program_traffic;

/* Bytes of one step. */
double compile_step_bytes(const compile_step *s);
program_traffic compile_traffic(const compiled_program *p, const graph *g);

/* The call with these tensors, in call_all_tensors' order, instead of its own. False when memory is out. */
bool call_with_tensors(arena *memory, const op_call *original, tensor *const *tensors, op_call *out);

/* One self-contained C file of the kernels of n programs, which differ in their prefix, into the arena; "" when there are
   only calls. OUT_OF_MEMORY. */
status compile_join(arena *memory, const compiled_program *const *programs, int n, char **source, error *err);

/* What a kernel looks like: `buffers` as compile_step lists them, then the thread's room where its variant wants some; computes tasks first to last - 1; answers false when an
   index read from data is out of range (that element reads or writes nothing). */
typedef bool compiled_kernel_fn(void *const *buffers, int64_t first, int64_t last);

#endif
