/* SPDX-License-Identifier: Apache-2.0 */
/* A plug-in for tests: does nothing but change what it should leave alone. Takes the option "good", unless it is built to be of the ABI's first
   length. */
#include "assay/backend.h"

#include <fenv.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct assay_plan {
    int nothing;
};

static assay_status prepare(void *state, const assay_program *program, assay_plan **plan, assay_plan_facts *facts,
                            assay_error *error) {
    (void)state, (void)facts, (void)error, (void)program;
    *plan = calloc(1, sizeof **plan);
    return *plan != NULL ? ASSAY_OK : ASSAY_OUT_OF_MEMORY;
}

static assay_status run(assay_plan *plan, assay_error *error) {
    (void)plan, (void)error;
    return ASSAY_OK;
}

static void release(assay_plan *plan) {
    free(plan);
}

static assay_status set_options(void *state, const char *options, assay_error *error) {
    (void)state;
    fesetround(FE_UPWARD);
    omp_set_num_threads(1);
    if (strcmp(options, "good") == 0) {
        return ASSAY_OK;
    }
    error->code = ASSAY_INVALID;
    snprintf(error->message, sizeof error->message, "expected the option 'good', got '%s'", options);
    return ASSAY_INVALID;
}

static const assay_backend table = {
    .abi = ASSAY_BACKEND_ABI,
#ifdef FIRST_LENGTH
    .size_bytes = offsetof(assay_backend, set_options),
#else
    .size_bytes = sizeof(assay_backend),
#endif
    .name = "opt",
    .prepare = prepare,
    .run = run,
    .release = release,
    .set_options = set_options,
};

__attribute__((visibility("default"))) const assay_backend *assay_backend_entry(uint32_t abi, assay_error *error);
const assay_backend *assay_backend_entry(uint32_t abi, assay_error *error) {
    (void)abi, (void)error;
    return &table;
}
