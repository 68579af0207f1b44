/* SPDX-License-Identifier: Apache-2.0 */
/* What OpenMP gives, and holding it to that. */
#include "device/threads.h"

#include <omp.h>

int threads_most(void) {
    const int limit = omp_get_thread_limit();
    return omp_get_active_level() >= omp_get_max_active_levels() || limit < 1 ? 1 : limit;
}

threads_hold threads_hold_begin(void) {
    const threads_hold hold = {.before = omp_get_max_threads(), .was_dynamic = omp_get_dynamic() != 0};
    const int most = threads_most();
    if (hold.was_dynamic) {
        omp_set_dynamic(0);
    }
    if (hold.before > most) {
        omp_set_num_threads(most);
    }
    return hold;
}

void threads_hold_end(const threads_hold *hold) {
    if (hold->was_dynamic) {
        omp_set_dynamic(1);
    }
    if (omp_get_max_threads() != hold->before) {
        omp_set_num_threads(hold->before);
    }
}
