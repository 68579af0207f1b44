/* SPDX-License-Identifier: Apache-2.0 */
/* Whether somebody has written an input that is not his to write. */
#ifndef LAB_EXPERIMENT_LEFT_ALONE_H
#define LAB_EXPERIMENT_LEFT_ALONE_H

#include "engine/graph/graph.h"
#include "lab/experiment/pristine.h"

/* `{0}` knows of no inputs. */
typedef struct left_alone {
    const graph *g;
    const pristine *kept; /* what the graph itself writes, which is not looked at; nor are sparse inputs */
    uint64_t *hashes;     /* by input */
} left_alone;

/* Notes how the inputs are now; each is read once. g and kept are borrowed. OUT_OF_MEMORY. */
status left_alone_note(arena *memory, const graph *g, const pristine *kept, left_alone *out, error *err);
/* The first input that is no longer so, or NULL. */
const graph_input *left_alone_find(const left_alone *noted);

#endif
