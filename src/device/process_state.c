/* SPDX-License-Identifier: Apache-2.0 */
/* Threads and floating-point environment, kept and put back. */
#include "device/process_state.h"

#include <omp.h>

process_state process_state_read(void) {
    process_state s = {.threads = omp_get_max_threads()};
    fegetenv(&s.floating);
    return s;
}

void process_state_restore(const process_state *s) {
    omp_set_num_threads(s->threads);
#pragma omp parallel
    fesetenv(&s->floating);
}
