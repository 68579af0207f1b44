/* SPDX-License-Identifier: Apache-2.0 */
/* Between the passes that share work out to kernels. */
#ifndef ENGINE_COMPILE_SCHEDULE_H
#define ENGINE_COMPILE_SCHEDULE_H

#include "engine/compile/passes.h"

/* What one attempt at a schedule needs to know, and what the next one learns from it. */
typedef struct attempt {
    bool *live;
    bool *promoted;   /* values that get memory of their own: several kernels want them, or a call is to write there */
    bool *apart;      /* per output: not straight into its memory, an input of other kernels lies there */
    bool *early;      /* values that are computed before all others */
} attempt;

/* Marks reductions of inputs alone that what is far larger reads: the number of targets that count, of a loss. Where they come before
   it, the large kernels that need them need not wait for others, which stand between only by the order in which they were written.
   Memory must have been given out. */
void mark_early(compiler *c, attempt *a);
/* Places of a value's own: dense in its order of dimensions, and with the strides of t, which has its sizes. */
place work_place(compiler *c, val v);
place place_like(compiler *c, val v, const tensor *t);
/* Whether strides give each of n's elements a place of its own. */
bool tells_apart(const dag_node *n, const int64_t *strides);
/* Operands of library calls that must lie as the graph says do so from here on, after all values have their places. UNSUPPORTED when a
   call's answers would still have another form. */
status lay_operands(compiler *c, const attempt *a, error *err);
/* The value that v shows, seen through views that strides can tell, as far as it has no place itself. */
val core_of(const compiler *c, val v);
/* Whether node n is a call whose result is the memory of its first tensor. */
bool is_call_in_place(const dag_node *n);
/* Promotes values behind which too much stands for one kernel. False: memory is out. */
bool cut_long_chains(const compiler *c, attempt *a);
/* Values that cost more to compute again than to keep are promoted: what the blocks of products and windows want many times, and
   the last value that two kernels compute. False when there are none. */
bool promote(compiler *c, attempt *a);
/* A value without memory that several steps of one chain compute and that is dear, although not as dear as keeping all of it: a part
   of it stays near. The last one; -1 when there is none. */
val dear_in_chains(compiler *c, int n_chains, const chain *chains);
/* Outputs that lie where an input lies which is read elsewhere or later: from now on computed apart. What a call in place writes
   although it is read later: from now on copied before. Answers whether there were any. *unsolved: an output's memory is read
   after it, though that is computed apart. */
bool keep_apart(compiler *c, attempt *a, bool *unsolved);

/* Of a matrix product: what is multiplied, and how many elements of the result each of its elements goes into. */
typedef struct product_factor {
    val value;
    int64_t uses;
} product_factor;

/* Whether v sums products of what only its rows and what only its columns decide: its kernel multiplies in blocks. */
bool product_factors(const compiler *c, val v, product_factor factors[2]);
/* Where v, a view of source, shows each of source's elements: v's coordinates, of source's as variables. False when they are not told
   by digits of those. */
bool shown_at(compiler *c, val v, val source, index_sum *at);
/* The step that computes v into `to`, a new one or one that it joins; -1 when memory is out. */
int schedule_value(compiler *c, val v, const place *to);
/* A new step, after all that there are. */
int schedule_last(compiler *c, val v, const place *to);
/* The step of the call that v is an output of. */
int schedule_call(compiler *c, val v);

#endif
