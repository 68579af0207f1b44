/* SPDX-License-Identifier: Apache-2.0 */
/* What code that is not ours may change for everybody in the process, and how it is put back: the number of OpenMP threads and the
   floating-point environment (rounding, flushing of subnormals to zero, exceptions that trap). */
#ifndef DEVICE_PROCESS_STATE_H
#define DEVICE_PROCESS_STATE_H

#include <fenv.h>

typedef struct process_state {
    int threads;
    unsigned control; /* how the calling thread computes, as one number to compare */
    fenv_t floating;  /* each thread has its own; of the team's the caller's stands for all */
} process_state;

/* As it is for the calling thread. A few loads. */
process_state process_state_read(void);
/* Makes it so again, on the calling thread and, where that one computes otherwise, on its OpenMP team, which is not woken for nothing:
   threads that have just worked wait without sleep for a while, on a CPU that a run may want. Does not fail. */
void process_state_restore(const process_state *s);

#endif
