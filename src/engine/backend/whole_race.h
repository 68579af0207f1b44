/* SPDX-License-Identifier: Apache-2.0 */
/* The race of whole plans: a graph's own, tuned and not, those with matrix products of the compiler's own, eager's. */
#ifndef ENGINE_BACKEND_WHOLE_RACE_H
#define ENGINE_BACKEND_WHOLE_RACE_H

#include "engine/backend/race.h"
#include "engine/backend/tune_kept.h"

/* What runs a step. */
typedef struct step_setting {
    compiled_kernel_fn *kernel;
    int64_t n_tasks;
    int variant, threads;
} step_setting;

enum { MOST_WHOLE = 3 * COMPUTERS };

typedef struct whole_race {
    plan *plans[COMPUTERS]; /* NULL: not in the race */
    settled of[MOST_WHOLE];
    int n;
    step_setting *tuned[COMPUTERS], *untuned[COMPUTERS]; /* of their steps; NULL for eager's */
    double began_s;
    bool is_open; /* as race_finals says */
} whole_race;

/* The settings of p's steps as they are. */
void whole_get_settings(const compiled_plan *p, step_setting *out);
/* Room for the settings of p's steps, tuned and untuned. OUT_OF_MEMORY. */
status whole_make_settings(whole_race *r, compiled_plan *p, computer as, error *err);
/* Every step of p as the compiler would have it. Errors as of compiled_use_variant. */
status whole_use_untuned(compiled_plan *p, error *err);

/* All that are in the race, each way that it can run, and those that are fastest once more. Errors are a plan's that fails. */
status whole_race_all(whole_race *r, uint32_t library_products, const saved_inputs *saved, settled *wins, error *err);
/* What an earlier run found and others may have decided then is asked again: they may be gone. p is the race's plan; *who becomes what
   is faster of that and p untuned. */
void whole_ask_again(whole_race *r, compiled_plan *p, settled *who);
/* The plan that wins stays, as p's `instead` where it is not p itself; the others go. */
void whole_settle(whole_race *r, compiled_plan *p, const settled *who);

#endif
