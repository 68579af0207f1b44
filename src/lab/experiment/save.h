/* SPDX-License-Identifier: Apache-2.0 */
/* `--save DIR`: inputs and outputs as .npy files with a manifest, so that any other program can check them. */
#ifndef LAB_EXPERIMENT_SAVE_H
#define LAB_EXPERIMENT_SAVE_H

#include "engine/backend/backend.h"
#include "lab/experiment/operators.h"
#include "lab/experiment/workload.h"

/* A point's inputs, and the outputs of as many backends as a run may have. */
enum { SAVE_MOST_LISTED = 65 };

/* What could not be written, and what the manifest has. Plain data, as it lies in memory that processes share: a point that is done again,
   since a worker died there, has its lines already. */
typedef struct save_log {
    int32_t n_failures; /* files and lines of the manifest */
    char first[512];    /* what the first one failed with */
    const operators_point *point;       /* the latest, and */
    uint64_t listed[SAVE_MOST_LISTED];  /* whose lines of it are there: hashes of backends' names, and of "" for the inputs */
    uint32_t n_listed;
} save_log;

/* IO where DIR has a manifest with lines already: what another run has saved is neither mixed with this one's nor lost. */
status save_check(const char *directory, error *err);

/* The same; and makes DIR and an empty DIR/manifest.jsonl. IO otherwise. */
status save_begin(const char *directory, error *err);

/* Writes every tensor argument of a call, or every input of a graph, and a manifest line for each that is given: {"record": "input",
   "point": ..., "operator", "schema", "argument", "position", "kind", and for tensors "file", "dtype", "shape", "strides",
   "seed"; for others "value"}. "schema" is null for a graph, and "input" its text. A file that cannot be written becomes a warning on the
   manifest and counts in `log`; the run goes on. When the point's inputs were saved before, nothing is done. NULL
   directory: nothing. Types that .npy lacks are widened without loss: bf16 to float32, c32 to complex64; "dtype" says the
   true one. */
void save_inputs(const char *directory, const operators_point *point, const workload *w, uint64_t seed, save_log *log);

/* Writes each output of a plan that ran, and its manifest line unless the point has that of this backend ("record": "output", "backend",
   "reduction": the length of the longest sum behind an element, from which a checker derives its tolerance). */
void save_outputs(const char *directory, const operators_point *point, const char *name_of_backend, plan *p, int n,
                  double reduction, save_log *log);

#endif
