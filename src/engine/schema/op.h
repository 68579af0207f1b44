/* SPDX-License-Identifier: Apache-2.0 */
/* One operator, one row: everything the project knows about an operator hangs on its row, and nowhere else. */
#ifndef ENGINE_SCHEMA_OP_H
#define ENGINE_SCHEMA_OP_H

#include "base/arena.h"
#include "base/rng.h"
#include "base/status.h"
#include "engine/schema/signature.h"
#include "engine/tensor/tensor.h"

typedef struct op_row op_row;
typedef struct op_family op_family;
typedef struct ref_ctx ref_ctx;

/* An operator of the table: a row, or a row's in-place variant. */
typedef struct op {
    const op_row *row;
    signature signature;
    bool in_place; /* argument 0 is also the one output, and is written */
    int id;        /* index in the table */
} op;

/* A call whose arguments stand in the order of the signature, defaults filled in. */
typedef struct op_call {
    const op *op;
    const arg *args;
    uint64_t seed; /* of random operators */
} op_call;

/* The outputs of a call. A view's output shares its input's storage; everything else is shape only until allocated. */
enum { OUTPUTS_INLINE = 6 };
typedef struct outputs {
    int n;
    int capacity;
    /* Every tensor argument has the one output's type, sizes and strides, which are those of a contiguous tensor. Told by
       infer where it saw so, so that nobody looks again; who changes the output afterwards takes it back. */
    bool all_alike;
    tensor *items; /* inline_items, or the heap when there are more */
    tensor inline_items[OUTPUTS_INLINE];
} outputs;

void outputs_init(outputs *o);
/* Drops the tensors' hold on memory and the list. */
void outputs_clear(outputs *o);
/* Room for one more, uninitialised; NULL when memory is out. */
tensor *outputs_push(outputs *o);
/* One more output, contiguous. Errors as of tensor_init, or OUT_OF_MEMORY. */
status outputs_add(outputs *o, dtype t, int ndim, const int64_t *sizes, error *err);
/* As outputs_push, with OUT_OF_MEMORY for an answer. */
status outputs_next(outputs *o, tensor **out, error *err);

/* What a call needs at least: for ceilings, tolerances and the choice of how much of it to check. docs/records.md says what counts. */
typedef struct op_cost {
    double flops;     /* of real numbers */
    double bytes;     /* distinct bytes read and written */
    double reduction; /* length of the longest sum behind one output element; 1 for element-wise work */
} op_cost;

/* Flops of one addition and of one multiplication of two elements: 1, of complex ones 2 and 6. */
double flops_of_add(dtype t);
double flops_of_mul(dtype t);
/* Of the multiplication of an element by `factor`: none by 1, 2 of a complex element by a real number. */
double flops_of_scale(dtype t, number factor);

/* --- the columns ------------------------------------------------------------------------------------------------ */

/* Pushes the outputs' dtypes, sizes and strides (ATen's). Reads values only where ATen's shape depends on them
   (nonzero, index with a mask); on meta those are UNSUPPORTED. */
typedef status op_infer_fn(const op_call *call, outputs *out, error *err);

/* Overwrites the values of input tensors that default filling (normal floats, integers 0..9, fair booleans) would make
   invalid: indices in range, variances positive, probabilities in (0, 1), outputs of a forward pass that belong together. */
typedef status op_inputs_fn(const op_call *call, rng *r, error *err);

typedef void op_cost_fn(const op_call *call, const outputs *out, op_cost *cost);

/* The reference, in double, by one of four styles:
   - scalar: one output element from the operands at the same place (the call's Tensor arguments, in order, and behind
     them the numbers that promote); its integer twin where 2^53 is not enough or the meaning differs; its complex twin.
   - element: output `out`, flat row-major index `flat`, from ref_real() and ref_ints(); may add to *norm the square sum
     of what was added up, so that cancellation does not read as error. Of a complex output its complex twin; without one
     `flat` counts parts: 2 i is element i's real part, 2 i + 1 its imaginary one. Where neighbours read nearly the same memory,
     its twin for a run of them: n <= OP_RUN elements from `flat` on, values and square sums zeroed beforehand; false when it
     does not serve this call (then nothing is written).
   - whole: fills ref_output() for every output. Beside an element reference it serves complex outputs alone.
   - moves: for operators that only bring elements to another place (copies, pads, views, scatters turned round): an output
     element is the sum of the terms named. The driver loads, adds up and converts, whatever the types are. */
typedef double op_scalar_fn(const double *x, const op_call *call);
typedef int64_t op_scalar_int_fn(const int64_t *x, const op_call *call);
typedef double complex op_scalar_complex_fn(const double complex *x, const op_call *call);
typedef double op_element_fn(ref_ctx *ctx, int out, int64_t flat, double *norm);
typedef double complex op_element_complex_fn(ref_ctx *ctx, int out, int64_t flat, double *norm);
enum { OP_RUN = 64 };
typedef bool op_run_fn(ref_ctx *ctx, int out, int64_t flat, int64_t n, double *values, double *squares);
typedef status op_whole_fn(ref_ctx *ctx, error *err);

/* One term of an output element: the element at `at`, or a number where that is NULL. */
typedef struct ref_term {
    const void *at;
    dtype dtype;
    number number;
} ref_term;

/* Describes term k of output `out`'s element `flat` (row-major); answers how many terms the element has. Called with k = 0
   first; *term is preset to the number 0. */
typedef int64_t op_moves_fn(ref_ctx *ctx, int out, int64_t flat, int64_t k, ref_term *term);

/* For operators whose values are not determined (random, uninitialised): says whether actual outputs are possible.
   INTERNAL with the reason otherwise. */
typedef status op_check_fn(const op_call *call, const outputs *actual, error *err);

/* The outputs for which a call has more than one right answer: bit i for output i. */
typedef uint32_t op_open_fn(const op_call *call);

/* Lets the reference's row-major values, made[i] of output i, follow what a backend has chosen where a call is open: taken[i] is its output i,
   NULL where nobody sees it. What it may not choose stays as the reference has it. loose: so far apart, over the largest of a choice, may two
   values lie that rounding before the call takes for each other. OUT_OF_MEMORY.
   Of a random operator whose drawn outputs are all seen it makes every one. */
typedef status op_follow_fn(const op_call *call, const tensor *const *taken, double loose, double *const *made, error *err);

/* How operand types decide the type computed in and the output's. */
typedef enum promotion {
    PROMOTE_DEFAULT,      /* common type */
    PROMOTE_INT_TO_FLOAT, /* common type; integers and booleans compute in f32 */
    PROMOTE_BOOL_OUT,     /* compute in the common type, answer b8 */
    PROMOTE_COMPLEX_TO_FLOAT, /* abs: common type, complex answers its real type */
} promotion;

/* Categories of the type computed in that a pointwise row is defined for; 0 stands for all. */
enum {
    TAKES_BOOLEAN = 1 << CATEGORY_BOOLEAN,
    TAKES_INTEGRAL = 1 << CATEGORY_INTEGRAL,
    TAKES_FLOATING = 1 << CATEGORY_FLOATING,
    TAKES_COMPLEX = 1 << CATEGORY_COMPLEX,
};

/* The operator in primitives, written with the builder of engine/graph/dag.h (the compiler's statement of its meaning;
   independent of reference and kernel):
   - scalar: of a pointwise operator one element from the operands at the same place, in order as the scalar reference has
     them, promoted, broadcast and cast to the type that arithmetic on the common type is done in. The result is cast to the
     output's type.
   - general: reads arguments, names every output by v_result (and by v_write what it writes besides).
   What cannot be taken apart says v_refuse. */
struct dag;
struct val;
typedef struct val op_decompose_scalar_fn(struct dag *g, const struct val *x, const op_call *call);
typedef void op_decompose_fn(struct dag *g, const op_call *call, const outputs *out);

struct op_family {
    const char *name;
    op_infer_fn *infer;
    op_inputs_fn *inputs; /* NULL: default filling */
    op_cost_fn *cost;
    bool has_in_place;    /* rows of it have the variant NAME_ unless they say otherwise */
};

struct op_row {
    const char *signature; /* ATen's, without "aten::" */
    const char *doc;       /* one sentence */
    const op_family *family;

    op_infer_fn *infer;   /* this and the next two: the family's when NULL */
    op_inputs_fn *inputs;
    op_cost_fn *cost;

    op_scalar_fn *reference_scalar;
    op_scalar_int_fn *reference_int;
    op_scalar_complex_fn *reference_complex;
    op_scalar_fn *reference_bends; /* beside scalar: what an element moves by as what is computed on the way to it moves by its size */
    op_element_fn *reference_element;
    op_element_complex_fn *reference_element_complex;
    op_run_fn *reference_run;
    op_whole_fn *reference;
    op_moves_fn *reference_moves;
    op_element_fn *reference_written; /* of written_args: as element, `out` being the argument; its old value where it stays */
    op_check_fn *check;
    op_open_fn *open;        /* these outputs are not compared with the reference's: */
    op_check_fn *check_open; /* says of them whether they are right, once the others agree with it */
    op_follow_fn *follow;    /* in a graph, where others are computed from them */

    op_decompose_scalar_fn *decompose_scalar;
    op_decompose_fn *decompose;

    promotion promotion;
    bool scalars_promote;    /* pointwise: Scalar parameters take part in type promotion (add.Scalar's other) ... */
    uint32_t scales;         /* ... but for these: bit i set if argument i, a Scalar, is a factor that has no say in it (its alpha) */
    uint32_t takes;          /* pointwise: a set of TAKES_ bits */
    /* pointwise: a number among the operands is rounded to the type computed in, not to the wider one that f16 and bf16
       are accumulated in; where that decides (comparisons always are so, remainders, bases of powers) */
    bool rounds_numbers;
    bool keeps_integers; /* pointwise: integers among the operands may lie outside the type computed in, as bounds do */
    const char *in_place_overload; /* where ATen names it otherwise: pow.Tensor_Scalar has pow_.Scalar */
    uint32_t promote_mask;   /* pointwise: bit k set if tensor operand k takes part in type promotion; 0: all do */
    uint32_t fits_output;    /* bit i set if Scalar argument i becomes a number of output 0's type, which has to hold it */
    uint32_t fits_computed;  /* the same of the type that output 0's is computed in: itself of integers, f32 of f16 and bf16 */
    uint32_t written_args;     /* bit i set if argument i is written though ATen's schema does not say so (running statistics) */
    /* In place, every element written gets the same value, whatever was there: several of them may lie in one place. */
    bool writes_one_value;
    double flops_per_element; /* of output 0; comparisons, selections and moves count 0 */
    double complex_flops;     /* the same where what goes in is complex; 0: each part costs what a real element does */
    /* Roundings to the output's type along the way, where the definition itself has several steps in that type (an RNN's
       hidden state, a kernel that must store its intermediate); 1 when 0. It widens the tolerance. */
    double roundings;
    bool is_view;      /* the output shares the input's memory; nothing is computed */
    bool sees_storage; /* such a view may show memory besides its operand's own elements */
    bool is_random;    /* values depend on the seed; `check` says what must hold */
    bool draws_exactly; /* random: what is drawn has not been rounded, as 0 and 1 have not */
    uint32_t drawn;    /* bit i set if output i is drawn and the others follow from such ones, by `follow`; 0: all are drawn */
    bool sizes_by_values; /* the outputs' sizes hang on what the inputs hold: an empty output is no less to be seen to */
    bool is_in_place;  /* the signature itself is an in-place one with no functional twin (bernoulli_.float) */
    bool has_in_place; /* adds to the family's */
    bool no_in_place;  /* takes away from it */
};

/* --- arguments of a call, by position ----------------------------------------------------------------------------- */

/* The tensor, or NULL for None. A bug (assert) on any other kind. */
tensor *call_tensor(const op_call *call, int i);
bool call_is_none(const op_call *call, int i);
int64_t call_int(const op_call *call, int i);
double call_float(const op_call *call, int i);    /* float, int or Scalar */
bool call_bool(const op_call *call, int i);
number call_number(const op_call *call, int i);
const char *call_str(const op_call *call, int i); /* also layout, device, memory format; NULL for None */
dtype call_dtype(const op_call *call, int i, dtype if_none);
/* n items; NULL and n = 0 for None. */
const int64_t *call_ints(const op_call *call, int i, int *n);
/* Item k of an int list that may be shorter than asked: [1] stands for [1, 1], [] for the value if_empty. */
int64_t call_int_at(const op_call *call, int i, int k, int64_t if_empty);
/* The list's tensors and how many; NULL items are None. */
tensor **call_tensors(const op_call *call, int i, int *n);
/* INVALID where int list i has another number of items than n: what PyTorch's own function does not stretch. */
status call_check_count(const op_call *call, int i, int n, error *err);
/* Every tensor of the call in order of arguments, list items included; at most max are written; returns how many there
   are. */
int call_all_tensors(const op_call *call, tensor **out, int max);

/* Whether a run of o writes argument i: as the schema says (a!), or as the row adds. Whoever runs a call twice on the same
   values restores these in between. */
bool op_writes(const op *o, int i);

/* INVALID where several elements of argument i, which the call writes, lie in one place (tensor_overlaps_itself): what is written to
   one would be seen in the others, and which is written last is up to each kernel. ATen's assert_no_internal_overlap; the few of
   its operators that do without are undetermined then. op_infer asks it of in-place operators; a row with written_args asks it
   itself, where the call writes them. */
status call_check_written(const op_call *call, int i, error *err);

/* --- by rule, from row and family ---------------------------------------------------------------------------------- */

/* Shapes of the outputs. For an in-place operator the one output is argument 0 itself (shared), after checking that the
   functional result has its sizes and can be cast to its type; and that call_check_written accepts what it writes, unless the
   row says writes_one_value. On failure `out` is cleared. */
status op_infer(const op_call *call, outputs *out, error *err);
void op_cost_of(const op_call *call, const outputs *out, op_cost *cost);
/* For a row's own cost, whose bytes begin as those of all inputs, each tensor once, and outputs: of argument i, a tensor or none,
   no more than `bytes` are read. */
void op_cost_reads(const op_call *call, int i, double bytes, op_cost *cost);
/* Fills every tensor argument with valid values: storage by default filling, then the row's say. Each argument has its
   own random stream, so that one argument's values do not hang on another's size. */
status op_fill_inputs(const op_call *call, uint64_t seed, error *err);

/* --- the table -------------------------------------------------------------------------------------------------------- */

typedef struct op_table op_table;

/* All operators (rows and their in-place variants). Free with op_table_free. A row that does not parse is a bug found by
   the tests, reported as INTERNAL. Reading a table is safe from any thread. */
status op_table_new(op_table **out, error *err);
void op_table_free(op_table *table);
int op_table_size(const op_table *table);
const op *op_table_at(const op_table *table, int id);
/* By "aten.add.Tensor", "add.Tensor", "aten::add.Tensor"; "relu" means "relu.default"; "sum.SymInt" and the like mean
   "sum.dim_IntList". NULL when there is none. */
const op *op_table_find(const op_table *table, const char *name);
/* The nearest name for a typo, or NULL. */
const char *op_table_nearest(const op_table *table, const char *name);

#endif
