/* SPDX-License-Identifier: Apache-2.0 */
/* What rows that write at named places share: which sources meet in a place, what such calls cost, checks. */
#ifndef ENGINE_OPS_SCATTER_H
#define ENGINE_OPS_SCATTER_H

#include "engine/schema/indexing.h"
#include "engine/schema/op.h"
#include "engine/schema/reference.h"

/* For each place of the destination the sources that are written there, the last one first: references look up what one
   output element gets. -1 ends a list. */
typedef struct scatter_links {
    int64_t *head;
    int64_t *next;
    bool failed; /* an index is out of bounds */
    index_ref *index;
    int64_t value_strides[TENSOR_MAX_DIMS];
} scatter_links;

/* Empty lists in the reference's memory, which ends with it; NULL without memory. */
scatter_links *scatter_links_make(ref_ctx *ctx, int64_t n_places, int64_t n_sources);

/* A negative place is an index out of bounds and fails the whole. */
void scatter_links_add(scatter_links *l, int64_t place, int64_t source);

/* A sum as its type holds it: small integers wrap, booleans are 1. */
double scatter_stored(const ref_ctx *ctx, double sum);

/* Doubles that one element of output 0 takes. */
int scatter_width(const ref_ctx *ctx);

/* The longest sum that random indices make, nearly always: the mean load with room to spare. */
double scatter_load(double n_sources, double n_places);

/* Bytes of the destination: a functional call copies all of it, an in-place one touches what is written (and reads it
   back to add). */
void scatter_destination_cost(const op_call *call, const outputs *out, double written, bool adds, op_cost *cost);

status scatter_same_type(const op_call *call, const tensor *self, const tensor *values, error *err);

#endif
