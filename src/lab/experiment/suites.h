/* SPDX-License-Identifier: Apache-2.0 */
/* The named collections of recorded inputs: where each lies on this machine, and the one built into the program. */
#ifndef LAB_EXPERIMENT_SUITES_H
#define LAB_EXPERIMENT_SUITES_H

#include "base/status.h"
#include "base/text.h"
#include "lab/experiment/inputs.h"

#include <stdbool.h>
#include <stddef.h>

/* A suite by name. */
typedef struct suite {
    const char *name;   /* as in --suite: "torchbench" */
    const char *folder; /* its folder's name, "torchbench_train"; NULL for the one that is built in */
    const char *doc;    /* one sentence */
} suite;

/* All suites, the built-in one last; *out_n of them. Constant. */
const suite *suites_all(size_t *out_n);

/* The suite of that name; NOT_FOUND with the nearest name otherwise. Constant memory. */
status suites_find(const char *name, const suite **out, error *err);

/* Adds to out the directory that holds the suite: the first of the folders in search_path (directories separated by
   ':', empty ones skipped, may be NULL: the caller's $ASSAY_SUITES), then of the suites installed beside this program, then
   where the build was to be installed, that has it. A directory named like the suite's folder itself counts as well. NOT_FOUND, with where it was looked for and how to
   get one, otherwise, or for the built-in suite, which lies nowhere. out is untouched on failure. */
status suites_directory(const suite *which, const char *search_path, text *out, error *err);

/* For listings, once below all suites that were not found: how to get them. */
extern const char suites_advice[];

/* Reads the suite into set: its directory's files (inputs_read_directory), or the built-in text. Fails as those do. */
status suites_read(inputs *set, const suite *which, const char *search_path, error *err);

/* The suite to take when none is named: torchbench where its directory is found, else the built-in one. Never NULL. */
const suite *suites_default(const char *search_path);

#endif
