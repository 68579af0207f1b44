/* SPDX-License-Identifier: Apache-2.0 */
/* A program in primitives: what decompositions build and the compiler reads. Nodes are values; equal nodes are one. */
#ifndef ENGINE_GRAPH_DAG_H
#define ENGINE_GRAPH_DAG_H

#include "engine/graph/index_sum.h"
#include "engine/schema/op.h"
#include "engine/schema/primitive.h"

/* A value of a dag, by its number; numbers ascend from what is read to what reads it. */
typedef struct val {
    int32_t id;
} val;

/* low <= at <= high, or the view answers its fill. */
typedef struct view_bound {
    index_sum at;
    int64_t low, high;
} view_bound;

/* Coordinates in the source, each a function of the view's own (variable d is dimension d), and where they hold. */
typedef struct view_map {
    int n_at;
    const index_sum *at;
    int n_bounds;
    const view_bound *bounds;
    number fill;
} view_map;

/* Sizes of 0-dim values are none. A MAP's operands have its own sizes. */
typedef struct dag_node {
    primitive kind;
    dtype dtype;
    int ndim;
    int n_sources;
    bool is_any; /* CONSTANT: stands for whatever new memory holds; read, it is the number */
    const op_call *writer; /* VIEW: its source as this call finds it in memory that the call writes: nobody else reads it; NULL */
    int written_as;        /* by which of that call's tensors */
    const int64_t *sizes;
    const val *sources; /* what it reads: a VIEW's first is what it looks at, then the values that its DATA reads;
                             a SCATTER's are the base, the updates, then DATA */
    union {
        struct {
            tensor *from;  /* INPUT: borrowed */
            bool is_seed;  /* instead: the 64-bit seed of the call that is_seed_of names */
            uint64_t seed;
        } input;
        number number;          /* CONSTANT */
        int dim;                /* IOTA, JOIN */
        scalar_function fn;     /* MAP */
        view_map view;          /* VIEW */
        struct {
            reduction how;
            uint64_t dims; /* REDUCE: the source's dimensions that go; SCAN: the one it runs along */
            bool of_factors; /* a matrix product's sum: what it multiplies may be multiplied as the processor does bf16 */
        } reduce;
        struct {
            view_map where; /* SCATTER: coordinates in the base for each element of the updates */
            bool adds;
        } scatter;
        struct {
            const op_call *call; /* CALL: its tensor arguments stand for sources, in order */
            const outputs *out;
            int output;
            bool is_fallback; /* the operator was not taken apart: `why` */
            const char *why;
        } call;
    };
} dag_node;

/* An output of the program and where it goes: contents of `to` once run. */
typedef struct dag_output {
    val value;
    const tensor *to;
} dag_output;

/* A call that can be the library's or a sum of the compiler's own. */
typedef struct dag_product {
    const op_call *call;
    val value; /* where it is computed here; -1: it is the library's */
    const op_call *rest; /* then what of it is the library's still; NULL: nothing */
} dag_product;

enum { DAG_MOST_PRODUCTS = 31 }; /* that are told apart; later ones are all as the first options say */

typedef struct dag {
    arena *memory;
    index_pool indices;
    int n_nodes, capacity;
    dag_node *nodes;
    int n_buckets;
    int32_t *buckets; /* of the table of nodes, by hash; 0 is empty, else 1 + the number */
    int n_outputs;
    dag_output *outputs;
    bool own_products;   /* matrix products are to be sums, not library calls ... */
    uint64_t library_products; /* ... but for these, by their number */
    bool rounds_factors; /* of such sums, to bf16 where that is their type: so that they can be multiplied as such */
    int n_products;      /* so far: calls that may be either */
    struct dag_product *products;
    int n_kept;
    val *kept;         /* values that must have memory although nothing asks for it: tables, results without fusion */
    int kept_capacity;
    const char *refused; /* why the call at hand cannot be taken apart; NULL while it can */
    bool failed;         /* memory is out: values are meaningless from here */
    val *results;      /* of the call at hand: by output */
    struct dag_capture *capture; /* which value a tensor argument stands for */
} dag;

/* Everything lives in `memory`. */
void dag_init(dag *g, arena *memory);
/* Drops the nodes table (the heap's); the arena keeps the rest. */
void dag_clear(dag *g);

const dag_node *dag_at(const dag *g, val v);
int64_t dag_numel(const dag_node *n);

/* --- for decompositions ---------------------------------------------------------------------------------------------
   Sizes must be ATen's: a mismatch is a bug (assert). Operands of one function have one type; those of fewer dimensions
   or of size 1 are broadcast. Nothing here fails but for memory, which the dag remembers. */

/* Gives up on the call: it will run as a kernel of the library, and records say so with this reason. */
void v_refuse(dag *g, const char *why);
/* Output k of the call, cast to the type that was inferred. */
void v_result(dag *g, int k, val v);

/* Argument i, a tensor, holds v once the call has run (running statistics). */
void v_write(dag *g, const op_call *call, int i, val v);

/* Tensor argument i as it is, or cast to the type that its arithmetic is done in; an item of a list. */
val v_raw(dag *g, const op_call *call, int i);
val v_arg(dag *g, const op_call *call, int i);
val v_tensor(dag *g, const tensor *t);
/* The same, or the Python number that stands in for a tensor, as a constant of its type: a division by 8 is a multiplication then. */
val v_operand(dag *g, const tensor *t);
bool v_has(const op_call *call, int i); /* not None */

val v_constant(dag *g, dtype t, number n);
val v_real(dag *g, dtype t, double x);
val v_int(dag *g, dtype t, int64_t x);
/* What new memory holds: an output of it is not written. */
val v_undefined(dag *g, dtype t);
val v_iota(dag *g, int ndim, const int64_t *sizes, int dim); /* i64 */

val v_map(dag *g, scalar_function f, int n, const val *x);
val v_1(dag *g, scalar_function f, val x);
val v_2(dag *g, scalar_function f, val x, val y);
val v_select(dag *g, val condition, val then, val otherwise);
val v_cast(dag *g, val x, dtype t);
/* x in its own type with the digits that t has: casting there and back would be dropped as a detour. */
val v_rounded(dag *g, val x, dtype t);
/* b8: x != 0. */
val v_truth(dag *g, val x);
/* Shorthands of v_2 that decompositions are full of; the last three take a number on the right. */
val v_add(dag *g, val x, val y);
val v_sub(dag *g, val x, val y);
val v_mul(dag *g, val x, val y);
val v_div(dag *g, val x, val y);
val v_add_real(dag *g, val x, double y);
val v_mul_real(dag *g, val x, double y);
val v_recip(dag *g, val x);

/* Views. */
val v_view(dag *g, val x, int ndim, const int64_t *sizes, const view_map *map);
/* x as it is, under a name of its own: a value that may lie elsewhere than x does. */
val v_same(dag *g, val x);
/* The same for tensor number `source` of a call that writes it: equal values that are written stay two. */
val v_written(dag *g, val x, const op_call *call, int source);
val v_expand(dag *g, val x, int ndim, const int64_t *sizes);
val v_permute(dag *g, val x, const int *order);
val v_transpose(dag *g, val x, int a, int b);
val v_reshape(dag *g, val x, int ndim, const int64_t *sizes);
val v_unsqueeze(dag *g, val x, int dim);
val v_squeeze(dag *g, val x, int dim);
val v_slice(dag *g, val x, int dim, int64_t start, int64_t size, int64_t step);
val v_flip(dag *g, val x, int dim);
/* Along one dimension: before and after may be negative (cuts). */
val v_pad(dag *g, val x, int dim, int64_t before, int64_t after, number fill);
/* The elements of `t` seen in the memory that value x, laid out as `base`, would have. For every operator that is a view. */
val v_as_strided(dag *g, val x, const tensor *base, const tensor *t);
/* x with those elements replaced by `part`'s that `t` shows in the memory that x, laid out as `base`, would have: what is left of
   x when t is written. t shows no element twice. */
val v_with_part(dag *g, val x, const tensor *base, const tensor *t, val part);
/* x at coordinate `dim` replaced by index (i64, of the result's sizes): gather's rule. Values out of range are an error when
   the program runs. */
val v_gather(dag *g, val x, int dim, val index);

val v_reduce(dag *g, reduction how, val x, uint64_t dims, bool keepdim);
/* The same where all elements are gone over again with what they come to, for which `kept` numbers of each are at hand. */
val v_reduce_again(dag *g, reduction how, val x, uint64_t dims, bool keepdim, int kept);
/* The sum of x that an operator is which does nothing else. */
val v_sum_alone(dag *g, val x, uint64_t dims, bool keepdim);
/* x whose reduced dimensions, or the first of them, are two: parts of samples and the samples of a part. */
typedef struct sample_parts {
    val in_parts, rest;    /* n_rest samples, as one part: of columns some may be left */
    int64_t n_rest;
    uint64_t inner, outer; /* what is to be reduced of a part; the parts */
} sample_parts;

/* In how many parts x had better be reduced, where it is given: by channels, if no cache holds it, so that each thread goes straight on
   through memory (sums of [256, 512, 28, 28] floats take 6.8 ms so, and 7.2 by threads that each have channels: two cores of a Zen 4, 2026-11);
   down columns, so that a part is gone over once, about numbers near its means (variances over the first of [32768, 1024] floats take 3.0 ms
   so, and 6.1; of [1024, 1024] 34 us, and 60). 0, and nothing: in steps of its own. */
int64_t v_by_samples(dag *g, val x, uint64_t dims, sample_parts *out);
/* The largest or smallest elements, whose places along the same dimensions are looked for as well: in one step, as those are. */
val v_beside_places(dag *g, reduction how, val x, uint64_t dims, bool keepdim);
/* The sum of x, products of v_factor's, that an operator which is a matrix product comes to. Bf16 is multiplied as the processor does
   it, which may take subnormal numbers for 0; of other sums of products that is not expected. */
val v_sum_of_factors(dag *g, val x, uint64_t dims);
val v_scan(dag *g, reduction how, val x, int dim);
/* base with updates set, or added, at `where` (variables are the updates' dimensions). */
val v_scatter(dag *g, val base, val updates, const view_map *where, bool adds);
/* x, computed once and kept in memory: a table that many places read. */
val v_keep(dag *g, val x);
/* n values side by side along dim; those without elements may have any sizes. */
val v_join(dag *g, int n, const val *pieces, int dim);
/* i64: the expression itself, as a number (variable d is dimension d). */
val v_coordinate(dag *g, int ndim, const int64_t *sizes, index_sum at);
/* u32 bits in i64, one for each place, from the call's seed; `stream` tells several draws of one call apart. */
val v_random(dag *g, const op_call *call, int ndim, const int64_t *sizes, int stream);
/* An index expression that reads element `at` (of x's dimensions) of x, which lies within 0 and size - 1 or is an error when run. */
index_sum v_index_of(dag *g, val x, const index_sum *at, int64_t size);
/* The same of a value that is computed so that it lies there, whatever the inputs are: nobody checks. */
index_sum v_index_within(dag *g, val x, const index_sum *at, int64_t size);
/* Output k of another operator of the table, computed by the kernel library (contraction, convolution). */
val v_call(dag *g, const op_call *call, const outputs *out, int k);
/* The whole call by the library, for good: a decomposition for rows that are contractions themselves. */
void v_library(dag *g, const op_call *call, const outputs *out);

/* Whether this call, which may be a library call or a sum, is to be a sum. Asked once for each call. */
bool v_owns_product(dag *g, const op_call *call);
/* A factor of such a sum, in f32, of a call whose type is t. */
val v_factor(dag *g, val x, dtype t);
/* The sum that the call has become, if it was the last one asked about. */
void v_owned_product(dag *g, const op_call *call, val sum);
/* And the call, another one, that computes its other outputs. */
void v_rest_of_product(dag *g, const op_call *call, const op_call *rest);

/* Windows: one term of a sum over them, of these sizes; row and column say which, as numbers or as variables of their own. */
typedef val v_tap_fn(dag *g, const void *self, int ndim, const int64_t *sizes, index_sum row, index_sum column);
/* The sum of rows * columns terms: few stand side by side in one expression, many are a reduction. */
val v_sum_of_taps(dag *g, int ndim, const int64_t *sizes, int64_t rows, int64_t columns, v_tap_fn *tap, const void *self);
enum { V_FEW_TAPS = 36 };
/* Coordinate d of what has these sizes, and what is computed from it. */
index_sum v_dim(dag *g, const int64_t *sizes, int d);
index_sum v_line(dag *g, index_sum a, int64_t factor, int64_t plus); /* factor * a + plus */

dtype v_dtype(const dag *g, val x);
int v_ndim(const dag *g, val x);
int64_t v_size(const dag *g, val x, int dim);
const int64_t *v_sizes(const dag *g, val x);

/* Text of the whole program, a value a line, into the arena; for people (--dump) and golden files. */
char *dag_print(const dag *g, arena *memory);

#endif
