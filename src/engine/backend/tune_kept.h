/* SPDX-License-Identifier: Apache-2.0 */
/* What the auto-tuner has settled on, kept in the compiler's cache. */
#ifndef ENGINE_BACKEND_TUNE_KEPT_H
#define ENGINE_BACKEND_TUNE_KEPT_H

#include "engine/backend/compiled_plan.h"

/* Who computes the whole: this plan; the same with products of its own; with some of its own, others the library's; eager's
   kernels. */
typedef enum computer { BY_PLAN, BY_OWN_PRODUCTS, BY_SOME_OWN, BY_EAGER, COMPUTERS } computer;

/* What a race of them decides. */
typedef struct settled {
    computer by;
    bool whole;                /* without running chains part by part */
    bool untuned;              /* each step as the compiler would have it */
    uint32_t library_products; /* of BY_SOME_OWN */
    bool is_open;              /* what another one took in quiet moments speaks against it: tuned anew */
} settled;

/* An earlier run's choice for the plan's program on this machine: its steps' kernels and threads are set, and all says what is settled. False
   where there is none that fits, or it is open. */
bool tune_recall(compiled_plan *p, settled *all);
/* Keeps the steps as they are, and what is settled. IO, OUT_OF_MEMORY, NOT_FOUND: it is not kept. */
status tune_keep(const compiled_plan *p, const settled *what, error *err);

#endif
