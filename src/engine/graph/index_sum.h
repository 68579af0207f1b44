/* SPDX-License-Identifier: Apache-2.0 */
/* Whole-number index expressions: how a view's coordinates are computed from the coordinates of what reads it. Kept as sums
   of multiples of atoms, always simplified, so that two equal expressions look equal and a stride can be read off. */
#ifndef ENGINE_GRAPH_INDEX_SUM_H
#define ENGINE_GRAPH_INDEX_SUM_H

#include "base/arena.h"

typedef struct index_atom index_atom;

typedef struct index_term {
    int64_t factor; /* never 0 */
    const index_atom *atom;
} index_term;

/* constant + factor * atom + ... ; plain data, its terms lie in the pool's arena. */
typedef struct index_sum {
    int64_t constant;
    int n;
    const index_term *terms; /* by index_atom_order, no atom twice */
} index_sum;

typedef enum index_atom_kind {
    ATOM_VARIABLE,  /* a loop's variable */
    ATOM_QUOTIENT,  /* floor(of / divisor) */
    ATOM_REMAINDER, /* of - divisor * floor(of / divisor) */
    ATOM_DATA,      /* an element of another value: an index read from a tensor */
} index_atom_kind;

struct index_atom {
    index_atom_kind kind;
    int id;             /* the variable's number; the value that DATA reads */
    int64_t divisor;    /* > 1 */
    index_sum of;
    bool is_sure;       /* DATA: computed so that it lies within its bounds; else it is checked when run */
    int n_at;           /* DATA: where in that value */
    const index_sum *at;
    int64_t size;       /* DATA: it lies below; 0: wherever it lies it is out of range */
    int64_t low, high;  /* the values it can take, both included */
    uint64_t variables; /* the set of variables that it depends on */
};

/* Where expressions live. Once memory is out, `failed` is set and what comes back is 0. */
typedef struct index_pool {
    arena *memory;
    bool failed;
} index_pool;

index_sum index_constant(int64_t value);
/* A variable from 0 to size - 1; the number must be below 64. One of size 1 is 0. */
index_sum index_variable(index_pool *p, int id, int64_t size);
/* An element, known to lie from 0 to size - 1, of value `id` at the coordinates given. It stays even where only 0 is left:
   reading it is what finds an index out of range. */
index_sum index_data(index_pool *p, int id, int n_at, const index_sum *at, int64_t size);
/* The same of a value that is computed so that it cannot lie elsewhere. */
index_sum index_data_within(index_pool *p, int id, int n_at, const index_sum *at, int64_t size);
index_sum index_add(index_pool *p, index_sum a, index_sum b);
index_sum index_scale(index_pool *p, index_sum a, int64_t factor);
index_sum index_quotient(index_pool *p, index_sum a, int64_t divisor);
index_sum index_remainder(index_pool *p, index_sum a, int64_t divisor);
/* a with variable k replaced by by[k], for every k below n, inside DATA as well. */
index_sum index_replace(index_pool *p, index_sum a, int n, const index_sum *by);

/* How much there is in an expression: all of its atoms, and the DATA among them, each as often as it is named. */
typedef struct index_size {
    int atoms, data;
} index_size;
/* Of a; of what index_replace would make of it at most, variables being of the sizes by[] (NULL: they stay). */
index_size index_size_of(index_sum a, const index_size *by);

bool index_equal(index_sum a, index_sum b);
/* The bounds of its value. */
void index_range(index_sum a, int64_t *low, int64_t *high);
/* The set of variables that it depends on. */
uint64_t index_variables(index_sum a);
/* DATA within it that is to be checked, in other DATA's place as well, appended to the list from n on; how many there are then. */
enum { INDEX_MOST_DATA = 64 };
int index_unsure(index_sum a, const index_atom **list, int n);
/* Whether computing it checks that DATA. */
bool index_asks(index_sum a, const index_atom *data);
/* Whether it is one variable and nothing else; which one. */
bool index_is_variable(index_sum a, int *id);
/* How far a moves when the variable does by one; false when that differs from place to place. */
bool index_stride(index_sum a, int id, int64_t *stride);

#endif
