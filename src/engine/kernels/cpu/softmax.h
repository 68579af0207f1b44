/* SPDX-License-Identifier: Apache-2.0 */
/* Softmax and its logarithm: one plan, run by softmax.c, gradients of lines by softmax_back.c, lines of one type and results that no cache
   holds by softmax_stream.c, or across memory by softmax_columns.c. */
#ifndef ENGINE_KERNELS_CPU_SOFTMAX_H
#define ENGINE_KERNELS_CPU_SOFTMAX_H

#include "engine/kernels/cpu/nest.h"
#include "engine/kernels/cpu/row_loops.h"

typedef struct softmax softmax;
typedef void softmax_run_fn(const softmax *s, int64_t from, int64_t to, char *work);

/* Forward: input and output. Backward: the output's gradient X, the input's Y, the forward's output G. */
enum { X, Y, G, OPERANDS };

struct softmax {
    const row_loops *l;
    loop lines; /* all dimensions but one; operands X, Y and in backwards G */
    dtype type[OPERANDS];
    int64_t stride[OPERANDS]; /* along the line, in bytes */
    int64_t n;
    bool logarithm;
    bool past;       /* results go past the caches */
    bool in_steps;   /* lines of one type, as softmax_step takes them */
    int64_t columns; /* of a block; lines.sizes[0] is parted into them */
    int64_t column_blocks;  /* of softmax_columns.c: so many, no wider */
    int64_t columns_margin, columns_group; /* as in columns_step */
    columns_kind columns_kind;
    int64_t units;   /* lines, or blocks of columns */
    softmax_run_fn *run_units;
    int threads;
    char *work;
    int64_t work_bytes;  /* a thread's */
    const softmax *rows;    /* of lines that lie across memory, though the result's do not: what runs some that have been turned round */
    bool is_turned[OPERANDS];
    int64_t turned_lines;   /* so many at a time */
    int64_t turned_at;      /* into a thread's work */
    char *found;
    int64_t found_bytes; /* > 0: threads share all units, and leave so much of each for the others (softmax_columns.c) */
};

/* n elements of operand k's line at `at`, from `first` on: where they lie, or in the buffer in the computing type. */
static inline const void *softmax_fetch(const softmax *s, int k, void *buffer, const char *at, int64_t first, int64_t n) {
    return row_fetch(s->l, buffer, at + first * s->stride[k], s->type[k], s->stride[k], n);
}

/* The gradient of lines (softmax_back.c): of any, of short ones one behind the other in all three operands, and of halves that are better
   widened in registers, whose lines softmax_are_half_lines. A thread's work: three times ROW_BLOCK numbers, or none for halves. */
softmax_run_fn softmax_back_lines, softmax_back_short_lines, softmax_back_half_lines;
bool softmax_are_half_lines(const softmax *s);

/* Sets the way to run a call whose lines are taken in turns, its units and a thread's work_bytes. False, with nothing settled, when
   there is no such way for its layout. */
bool softmax_choose_stream(softmax *s, bool backward);

/* The same for lines across memory, in softmax_columns.c; the result goes past the caches or not. */
bool softmax_choose_columns(softmax *s, bool backward);

/* Whether all operands are of one type that steps of row_loops.h read and store. */
static inline bool softmax_is_of_one_type(const softmax *s, bool backward) {
    return s->type[Y] == s->type[X] && (!backward || s->type[G] == s->type[X]) &&
           (s->type[X] == s->l->type || (s->l->type == ASSAY_F32 && dtype_size(s->type[X]) == 2));
}

#endif
