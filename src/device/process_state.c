/* SPDX-License-Identifier: Apache-2.0 */
/* Threads and floating-point environment, kept and put back. */
#include "device/process_state.h"

#include <omp.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

static unsigned control_of_thread(void) {
#if defined(__x86_64__)
    enum { RAISED = 0x3f }; /* exceptions that have been: every run leaves some */
    return _mm_getcsr() & ~(unsigned)RAISED;
#else
    return (unsigned)fegetround();
#endif
}

process_state process_state_read(void) {
    process_state s = {.threads = omp_get_max_threads(), .control = control_of_thread()};
    fegetenv(&s.floating);
    return s;
}

void process_state_restore(const process_state *s) {
    if (omp_get_max_threads() != s->threads) {
        omp_set_num_threads(s->threads);
    }
    if (control_of_thread() != s->control) {
#pragma omp parallel
        fesetenv(&s->floating);
    }
}
