/* SPDX-License-Identifier: Apache-2.0 */
/* A stack made longer up to the end of a page. */
#include "lab/measure/stack_place.h"

#include "base/pages.h"

#include <stdint.h>

__attribute__((noinline)) status stack_placed(stack_work *work, void *arg, error *err) {
    char here = 0;
    volatile char *aside = __builtin_alloca((uintptr_t)&here % PAGE_BYTES + 1);
    aside[0] = here;
    status result = work(arg, err);
    return aside[0] == here ? result : ASSAY_INVALID; /* what lies aside is there until the work is done */
}
