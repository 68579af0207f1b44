/* SPDX-License-Identifier: Apache-2.0 */
/* What the compiler's passes hand each other: values that get memory, the kernels that compute them, and each kernel as
   loops over scalar expressions. */
#ifndef ENGINE_COMPILE_PASSES_H
#define ENGINE_COMPILE_PASSES_H

#include "engine/compile/compile.h"
#include "engine/graph/dag.h"

enum { KERNEL_MAX_VARIABLES = 32, EXPR_MAX_SOURCES = 3 };

/* --- memory ----------------------------------------------------------------------------------------------------------- */

/* Where a value lies: strides by the value's own dimensions, in elements from the buffer's first. */
typedef struct place {
    int buffer; /* -1: nowhere, it is computed where it is read */
    int64_t offset;
    const int64_t *strides;
    const index_sum *at; /* not NULL: instead of strides and offset, of the value's coordinates; of a place that is only written */
} place;

/* --- expressions ------------------------------------------------------------------------------------------------------ */

typedef enum expr_kind {
    EXPR_LOAD,     /* an element of a buffer */
    EXPR_NUMBER,
    EXPR_INDEX,    /* an index expression as a number (iota) */
    EXPR_MAP,
    EXPR_CAST,
    EXPR_WITHIN,   /* b8: whether every bound holds */
    EXPR_RESULT,   /* a reduction of this very kernel, finished in an earlier phase */
    EXPR_RANDOM,
    EXPR_FRAMED,   /* an element of the kernel's frame */
} expr_kind;

typedef struct expr {
    expr_kind kind;
    dtype dtype;
    int n_sources;
    int sources[EXPR_MAX_SOURCES];
    scalar_function fn;
    int buffer;         /* LOAD */
    int root;           /* RESULT: which of the kernel's roots */
    int stream;         /* RANDOM */
    number number;      /* NUMBER */
    index_sum at;       /* LOAD, FRAMED: element offset; INDEX; RANDOM: the flat index */
    int guard;          /* LOAD, WITHIN that asks: the b8 expression without which it must not look, and is 0; -1: none */
    int n_bounds;       /* WITHIN */
    bool asks;          /* WITHIN: for indices read from data that nothing else asks whether they are in range */
    const view_bound *bounds;
    uint64_t variables; /* all that it depends on, through its sources too */
    int phase;          /* how many reductions must have finished, one after the other, before it can be computed */
    int64_t next_part;  /* LOAD of what a kernel before in the chain has read: so many elements on lies that of the next part; else 0 */
    /* As it was asked for: the value and where in it, so that asking again finds it. */
    int value;
    int n_coordinates;
    const index_sum *coordinates;
} expr;

/* --- kernels ---------------------------------------------------------------------------------------------------------- */

/* COLUMNS: each element is added to its column's sum, of the part that its task is in (columns.c). */
typedef enum root_kind { ROOT_STORE, ROOT_REDUCE, ROOT_SCAN, ROOT_SCATTER, ROOT_COLUMNS } root_kind;

/* One value that a kernel computes. */
typedef struct root {
    root_kind kind;
    val value;
    reduction how;       /* REDUCE, SCAN */
    bool of_factors;     /* REDUCE: as the dag's */
    bool adds;           /* SCATTER */
    int expr;            /* what is stored, reduced or added */
    dtype dtype;         /* of the accumulator */
    int phase;           /* the loop that computes it */
    int buffer;          /* where it is written; -1 for a reduction that only this kernel reads */
    dtype store_dtype;
    index_sum at;        /* element offset of the store */
    index_sum place;     /* ARGMAX, ARGMIN: the flat index within the reduced part */
    uint64_t variables;  /* of the loops it needs */
    int64_t limit;       /* SCATTER: elements in the buffer; COLUMNS: columns */
    bool streams;        /* large enough to go past the caches, where it lies densely along the vector */
    /* REDUCE: number `rank` of the `ranks` largest of a row, which root `ranks_root` finds together (ranks.c); `expr` is the elements'
       orders then. 0: no such. ranks_places, of that root: whether their places are asked for. */
    int ranks, rank, ranks_root;
    bool ranks_places;
} root;

typedef struct loop_variable {
    int64_t size;
    bool is_reduced;    /* belongs to what reductions run over, else to what runs in parallel */
    int64_t tile;       /* > 0: this runs within blocks of that many ... */
    int block;          /* ... of which this other variable is the number, and `limit` all there is */
    int64_t limit;
} loop_variable;

/* Ways to arrange loops that the tuner can try. */
typedef enum loop_choice {
    LOOPS_PLAIN,
    LOOPS_WIDE,
    LOOPS_NARROW,
    LOOPS_OTHER_VECTOR,
    LOOPS_OTHER_STORES, /* results of middling size through the caches where they would pass them, and the other way round */
    LOOPS_CHOICES,
} loop_choice;

/* Windows of 3 x 3, one element apart, over images: computed in tiles of 4 x 4 results by Winograd's algorithm, by emit/windows.c. */
typedef struct windows_form {
    int down, across;         /* variables: rows of results, and what lies densely among them */
    int tap_down, tap_across; /* of the window */
    int64_t tiles_down, tiles_across; /* of an image */
    int64_t n_tiles, tiles;   /* of all images; of one task */
} windows_form;

/* What windows look at, copied with what is around it, for some rows of results at a time: by emit/frame.c. Rows and columns are those
   of the image looked at, in its own coordinates. */
typedef struct frame_form {
    int down;                     /* the variable of rows of results; -1: there is one */
    int64_t rows, blocks;         /* of results, of a task; so many tasks share them */
    int64_t row_step, rows_seen;  /* of the image: between rows of results; by one of them */
    int64_t column_step, part;    /* columns so far apart, as neighbouring results see, lie side by side in the frame: so many of them */
    int64_t top, left;            /* what the first result sees first: outside of the image perhaps */
    int64_t width, height;        /* of the frame */
    int64_t first_row, n_rows, first_column, n_columns; /* of the image, those that it holds */
    int row, column;              /* variables that count these; row is -1 where there is one */
    int element, fill;            /* expressions: an element there; the number around them */
} frame_form;

/* A sum of products of what only rows and what only columns decide: computed in blocks, by emit/product.c. */
typedef struct product_form {
    int root;                 /* the reduction */
    int left, right;          /* expressions */
    int row, column, inner;   /* variables */
    int64_t row_block;        /* rows of one task */
    int columns, stretch;     /* of one task; inner steps that panels hold */
    bool right_runs_inward;   /* neighbours in memory lie along the inner variable, not along columns */
    int64_t left_stride;      /* between rows of f32 that are multiplied from where they lie; -1: they are brought into a panel */
    int64_t left_step;        /* between their elements along the inner variable */
    int64_t right_stride;     /* between columns that are dense along the inner variable and turned round as they lie, in words;
                                 or between rows of bf16 that are paired as they lie; -1 */
    bool widens_right;        /* then these are of bf16 that are multiplied as f32 */
    int64_t right_rows;       /* between rows of f32 that the first block of rows reads as they lie; -1 */
    pairs_way pairs;          /* not WIDENED: left and right are bf16 */
    bool along;               /* columns are multiplied as they lie along the inner dimension: vectors of terms are added up, and at the end
                                 their lanes, so that nothing is turned round; right_stride is between columns of f32 that lie so, or -1 */
    bool keeps_rows;          /* by tiles: rows are brought into them once for all tasks of a thread that share them, and columns are
                                 multiplied as they lie along the inner dimension, right_stride words apart */
    bool has_windows;         /* then left is the images, right the weights; row is none */
    windows_form windows;
} product_form;

/* Rows of a running sum are shared by so many tasks at most. */
enum { SCAN_MOST_PARTS = 4 };

typedef struct kernel {
    int n_variables;
    loop_variable variables[KERNEL_MAX_VARIABLES];
    bool has_classes;   /* a reduction has said which variables are reduced */
    bool is_closed;     /* nothing else may join */
    bool sums_products; /* a matrix product: only what is computed from its sums may join */
    int n_exprs, expr_capacity;
    expr *exprs;
    int n_roots, root_capacity;
    root *roots;
    int n_phases;
    /* Set by the loops pass: the variables of tasks, outermost first; the loops within, outermost first; the vector's. */
    int n_tasks, tasks[KERNEL_MAX_VARIABLES];
    int n_loops, loops[KERNEL_MAX_VARIABLES];
    int vector;         /* -1: none */
    int64_t lanes;      /* elements of the vector variable taken together */
    uint64_t beside;    /* variables whose few values are computed side by side, for each lane: they lie between lanes in memory */
    bool turns_lines;   /* what runs across the lanes is read a few lines of memory of each at a time, and stored past the caches */
    int64_t n_task_items;
    int64_t column_parts; /* tasks are handed out in so many parts, each of which sums columns of its own; 0: one by one */
    int scan_parts;       /* tasks are parts of the rows that running sums go down, each of which adds up what lies before it; 0: of lanes */
    int64_t part_starts[SCAN_MOST_PARTS + 1]; /* the row that each begins with, and the end */
    int64_t scatter_row;  /* tasks are parts of the rows that a scatter goes to, which lie so many elements apart; 0: they are not */
    int64_t scatter_rows; /* how many rows */
    bool lists_rows;      /* of halves, each of which is summed up by itself, in floats, and stored once: by emit/row_lists.c */
    double bytes, flops; /* one run's, roughly: decides over threads */
    int n_buffers;
    const int *buffers; /* those it names, in order of its parameters */
    bool checks;        /* reads indices from data: can fail */
    const char *title;
    const char *symbol;
    loop_choice choice;
    bool in_parts;      /* can be run by the parts of its step's chain */
    int64_t room_bytes; /* set by the emitter: memory of its own that each thread brings; and that all threads go through all tasks */
    bool shared;
    bool is_product;
    product_form product;
    bool has_frame;
    frame_form frame;
} kernel;

/* How far apart two roots' elements each lie, if those of one lie between the other's neighbours; 0: they do not. */
int64_t roots_interleave(const kernel *k, const root *a, const root *b);
/* Whether the root and others that lie between its neighbours leave nothing between them. */
bool root_fills_lines(const kernel *k, const root *r);

/* --- the passes ------------------------------------------------------------------------------------------------------- */

typedef struct compiler {
    arena *memory;
    dag g;
    const compile_options *options;
    place *places;      /* of each value */
    int n_buffers, buffer_capacity;
    compile_buffer *buffers;
    int n_memories;
    compile_memory *memories;
    int n_steps, step_capacity;
    struct compiler_step *steps;
    int *output_buffers; /* by the dag's outputs; -1: nothing to do */
    bool *dissolved;     /* of each value: a join that no memory holds: what reads it looks at one of its parts */
    struct laid_operand *laid; /* operands of calls that have memory of their own */
    bool *in_pieces;     /* and what is computed in pieces, of which each element is seen by one alone */
    bool failed; /* memory is out */
} compiler;


/* An operand of a library call that is copied before it, as it must lie otherwise than where the value does. */
typedef struct laid_operand {
    const op_call *call;
    int operand;
    place place;
    struct laid_operand *next;
} laid_operand;

/* A kernel, or an operator call. */
typedef struct compiler_step {
    kernel *kernel; /* NULL: a call; before its loops are arranged */
    int n_variants;
    kernel *variants[LOOPS_CHOICES]; /* the same kernel with its loops arranged, in ways that differ */
    val call;     /* one of its output values */
} compiler_step;

/* Graph to dag. UNSUPPORTED, OUT_OF_MEMORY. */
status capture(compiler *c, const graph *g, error *err);
/* Outputs computed by elements of joins become joins of pieces. False when memory is out. */
bool cut_by_joins(compiler *c);
/* Chooses what gets memory and which kernel computes it. */
status schedule(compiler *c, error *err);
/* After it: a reduction that only its own kernel reads needs no memory; a running sum that is only wanted in halves becomes those as it
   is made. */
void drop_unread(compiler *c);
void narrow_scans(compiler *c);
/* And rows that are added to rows of floats, where these are only wanted in halves: no memory holds the floats. */
void narrow_scatters(compiler *c);
/* Gives such a kernel, whose loops are arranged, its tasks; false when it cannot have them. */
bool list_rows(const compiler *c, kernel *k);
/* Whether a scatter, whose loops are arranged, goes to whole rows that one index names; row: from one to the next, in elements, some of
   which may lie between them; rows: how many there are. */
bool scatters_rows(const kernel *k, int64_t *row, int64_t *rows);
/* A kernel's own copy of everything that arranging its loops changes; NULL when memory is out. */
kernel *copy_kernel(compiler *c, const kernel *k);
/* Orders, splits and joins a kernel's loops and chooses the vector's, in one of several ways that the tuner can try. */
bool arrange_loops(compiler *c, kernel *k, loop_choice choice);
/* Phases by what waits for what, after kernels have changed; nothing waits for the root `guessed`, -1: there is no such. */
void renumber_phases(kernel *k, int guessed);
/* After loops are arranged: the few largest of a short row are found in one phase. False when memory is out. */
bool join_ranks(compiler *c, kernel *k);
/* The part of arranging loops that chooses the vector's variable and its lanes, once the others are in order. */
void choose_vector(const compiler *c, kernel *k, loop_choice choice);
/* And the variables whose values are computed side by side. */
void choose_beside(kernel *k);
/* Such a pair of sums, among a kernel's roots and expressions. */
typedef struct deviation_form {
    int sum, squares;      /* roots: of x, of (x - mean)^2 */
    int element;           /* x */
    int result, mean, deviation; /* expressions: of the first root, what the second takes off, and x less that */
    bool is_stored;              /* one of the roots, as it is */
} deviation_form;
/* Whether a kernel has them. */
bool find_deviations(const kernel *k, deviation_form *form);
/* Whether it has them, and no other loops, with columns for lanes, so many rows of each that some of the first tell a number near the
   mean, and so much that it is better read once. */
bool find_column_deviations(const compiler *c, const kernel *k, deviation_form *form);
enum { NEAR_ROWS = 16 };
/* Whether root r is of the loops over what is reduced, where there are such. */
bool is_in_loops(const kernel *k, const root *r);
/* Whether only the first phase has loops; what comes behind it finishes what a row has come to. */
bool is_single_pass(const kernel *k);
/* Chooses which of a kernel's results are to go past the caches; false: for LOOPS_OTHER_STORES, when there is no other way. */
bool choose_streams(compiler *c, kernel *k, loop_choice choice);
/* After loops are arranged: short rows of halves that end within lines of memory stay in the caches. */
void spare_ragged(kernel *k, loop_choice choice);
/* Results of middling size, which loops that only compute store in a chain, go past the caches where the program touches more than
   the last of them holds: they would push out what the next parts read. What was arranged the other way is so still. */
void choose_streams_in_chain(compiler *c, const chain *h);
/* What tasks in flight keep, where their rows are lanes, has to fit most of a core's own cache, beside what passes through it. */
enum { ROWS_KEPT_BYTES = 5 << 18 };
/* Bytes of a buffer. */
double buffer_bytes(const compiler *c, int buffer);
/* Whether all threads get about as many of n parts. */
bool threads_share(const compiler *c, int64_t n);
/* Kernels that can be run part by part, one after the other. Buffers that only a chain's steps touch learn how large a part
   is. OUT_OF_MEMORY. */
status find_chains(compiler *c, int *n_chains, const chain **out, error *err);
/* Lets buffers that are never in use at the same time lie in one memory. False when memory is out. */
bool share_memory(compiler *c, int n_chains, const chain *chains);
/* Gives threads parts of the rows where running sums go down narrow ones. Comes after it: no task may read what another has written. */
void share_scans(compiler *c);
/* Gives threads parts of the rows that others are added to, or put into. Comes after share_memory too. */
void share_scatters(compiler *c);
/* Whether a step of a chain may write where it reads a buffer: a part of it may come before another part of the steps in front of it, which must
   then have touched of the buffer what is of their parts alone. That is so of all that the chain writes itself (find_chains). */
bool is_left_by_parts(const compiler *c, const chain *h, int buffer, int step);
/* Whether two buffers have come to lie in one. */
bool in_one_memory(const compiler *c, int a, int b);
/* Whether a kernel reads from the memory of a buffer. */
bool reads_memory_of(const compiler *c, const kernel *k, int buffer);
/* Sees a matrix product in a kernel whose loops are split, ordered and joined, and gives it its tasks; false: it is none, or has too few
   terms (not where blocks_all). */
bool arrange_product(compiler *c, kernel *k, pairs_way pairs);
/* The same of windows over images; sum: a reduction of products, the kernel's only one; dense: the variable whose neighbours are
   neighbours where what is kept lies, -1: there is none. */
bool arrange_windows(compiler *c, kernel *k, int sum, int dense);
/* Gives kernels that look at windows a frame. Comes last: their tasks are others then. */
void arrange_frames(compiler *c, int n_chains, const chain *chains);
/* Of one task, at most; columns and inner steps that are worth blocks. */
enum { PRODUCT_COLUMNS = 64, PRODUCT_ROWS = 192, PRODUCT_LEAST = 8 };
/* Inner steps of a panel: of f32, of pairs of bf16 (of which tiles take so many at a time), of columns as they lie (so many together), and of
   a flat one, with its columns. */
enum { PRODUCT_STRETCH = 128, PRODUCT_PAIRS_STRETCH = 256, PRODUCT_PAIRS_STEP = 32, PRODUCT_ALONG_STRETCH = 1024, PRODUCT_COLUMNS_ALONG = 8 };
enum { PRODUCT_FLAT_STRETCH = 8, PRODUCT_FLAT_COLUMNS = 512 };

/* Inlining: the expression of element `at` of value v in kernel k, loads from what has memory, looked at only where `guard`
   (-1: everywhere) holds. -1 when memory is out, or when it would read what this kernel computes at another place than the
   one that is computed just then (`k` is left with unused expressions). */
int expr_of(compiler *c, kernel *k, val v, const index_sum *at, int guard);
/* Appends an expression, of value v at these coordinates; what it depends on is added up. -1 when memory is out. */
int expr_append(compiler *c, kernel *k, const expr *e, val v, const index_sum *at, int n_at);
/* Makes the expressions that DATA within a sum stands for. */
bool expr_make_data(compiler *c, kernel *k, index_sum a, int guard);
/* The expression that DATA of value `id` at `at` is, under any guard; -1 when it has not been made. */
int expr_find(const kernel *k, int id, int n_at, const index_sum *at, int guard);
/* Whatever e reads, straight away: at most EXPR_MAX_READS expressions (operands, guard, DATA within its indices). */
enum { EXPR_MAX_READS = 64 };
int expr_reads(const kernel *k, const expr *e, int *reads);
/* The same of an index expression; appends to reads, from n on, and answers how many there are then. */
int index_reads(const kernel *k, index_sum a, int guard, int *reads, int n);

/* Whether kernel k goes over the rows of v, a sum of columns in parts of rows that lies in `to`: `at` are then the coordinates of what is
   summed, by k's variables. */
bool columns_fit(compiler *c, const kernel *k, val v, const place *to, index_sum *at);
/* Whether neighbours among columns are nowhere further apart than others: lanes go along them, whatever else the kernel does. True of a
   kernel without such sums. */
bool columns_suit(const kernel *k);
/* Whether it reads much that a step before has made. */
bool columns_pass_on(const compiler *c, const kernel *k);
/* Whether all sums of columns have neighbours along v: lanes along others would add to one place. */
bool is_of_columns(const kernel *k, int v);
/* Tasks by parts first, once they are chosen. */
void columns_order_tasks(kernel *k);
/* Sums of columns with the last loops: of a phase that is not done again, and where all of the row is near. */
void columns_come_last(kernel *k);

/* Where a value's elements lie, when it is a view of what has memory that strides can tell; false when it is not. */
bool place_through(compiler *c, val v, place *out);
/* Where operand i of a library call lies; false when in no memory. */
bool place_of_operand(compiler *c, const dag_node *call, int i, place *out);
/* The same with the strides that the call is told, for the tensor that the graph has there. */
bool call_operand(compiler *c, const dag_node *call, int i, const tensor *original, place *out);
int buffer_add(compiler *c, const compile_buffer *b);

#endif
