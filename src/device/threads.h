/* SPDX-License-Identifier: Apache-2.0 */
/* How many threads OpenMP really gives, and whether they have room. omp_get_max_threads() is what is asked for: a region gets fewer under
   OMP_THREAD_LIMIT, where no more levels may be active (OMP_MAX_ACTIVE_LEVELS, regions in regions), and by the system's load under
   OMP_DYNAMIC. */
#ifndef DEVICE_THREADS_H
#define DEVICE_THREADS_H

#include "base/status.h"

#include <stdbool.h>

/* INVALID where the system or $OMP_STACKSIZE leaves this process's threads less than a stack that kernels do with. */
status threads_check_stacks(error *err);

/* The most that a parallel region may get which the calling thread opens now, whatever it asks for: at least 1. */
int threads_most(void);

/* The calling thread's number of threads while code runs that counts on each that it asks for. */
typedef struct threads_hold {
    int before;
    bool was_dynamic;
} threads_hold;

/* From here on regions get omp_get_max_threads() threads, which is at most threads_most(). A few loads. */
threads_hold threads_hold_begin(void);
/* As it was. */
void threads_hold_end(const threads_hold *hold);

#endif
