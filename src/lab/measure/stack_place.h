/* SPDX-License-Identifier: Apache-2.0 */
/* Where the stack begins within a page. */
#ifndef LAB_MEASURE_STACK_PLACE_H
#define LAB_MEASURE_STACK_PLACE_H

#include "base/status.h"

typedef status stack_work(void *arg, error *err);

/* What the work answers, done with the stack at one and the same place within a page in every process. Else that is chance: arguments and
   environment lie before it, behind a random distance (Mytkowicz, Diwan, Hauswirth and Sweeney 2009), and how what a kernel has there lies
   to its inputs can make it half as slow again: eager's layer norm of [262144, 128] floats took 9.5 to 17 ms, from process to process, and takes
   9.5 since (two cores of a Zen 4, 2026-11). */
status stack_placed(stack_work *work, void *arg, error *err);

#endif
