/* SPDX-License-Identifier: Apache-2.0 */
/* Between the files that write kernels as text: what is being written, and who writes which part of it. */
#ifndef ENGINE_COMPILE_EMIT_H
#define ENGINE_COMPILE_EMIT_H

#include "engine/compile/dialect.h"
#include "engine/compile/passes.h"

typedef struct emitter {
    compiler *c;
    const kernel *k;
    text out;
    int depth;       /* of indentation */
    bool rows;       /* the vector variable is one of the tasks': what rows hold are arrays of lanes */
    uint64_t reduced; /* the set of reduced variables */
    bool *named;     /* expressions that have a variable by now, visible from here */
    bool *kept;      /* those that stay visible to the task's end: scalars of a row, or arrays of lanes */
    bool *wanted;    /* in the phase at hand */
    int phase;       /* the phase at hand */
    int *saved_in;   /* expressions of the innermost loops that a later phase reads back: the phase that saves them; -1 */
    bool quick;      /* quick forms hold in the loop at hand */
    bool failed;     /* a function that the language lacks */
    int lacking;     /* the expression */
} emitter;

/* One line of text, indented. */
void emit_line(emitter *m, const char *format, ...) PRINTF_LIKE(2, 3);

/* An index expression, and the name or the literal that an expression goes by, as parts of a line. */
void emit_index(const emitter *m, text *out, index_sum a, int guard);
void emit_name(const emitter *m, text *out, int i);
/* The statement that gives expression i its name. */
void emit_expr(emitter *m, int i);
/* Whether expression i is a function with a quick form, which is written while m->quick holds; a statement that notes in `rare`
   where that fails. */
bool emit_has_quick(const emitter *m, int i);
void emit_quick_check(emitter *m, int i);
/* Whether it belongs to a whole row: no reduced variable decides it. */
bool emit_is_row(const emitter *m, const expr *e);
/* Marks what expression i, or an index, needs that has no name yet. */
void emit_want(emitter *m, int i);
void emit_want_index(emitter *m, index_sum a);
/* Decides what is saved between phases, and declares room for it. */
void emit_choose_saved(emitter *m);
void emit_declare_saved(emitter *m);

/* A phase's accumulators, what one element does to them, what they come to, and where that is written. */
void emit_accumulators(emitter *m, int phase);
void emit_root(emitter *m, int i);
void emit_results(emitter *m, int phase);

/* The loops of a kernel that is a matrix product, for one task. */
void emit_product(emitter *m);

#endif
