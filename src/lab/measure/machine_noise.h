/* SPDX-License-Identifier: Apache-2.0 */
/* What makes this machine's timings doubtful, found in its facts. */
#ifndef LAB_MEASURE_MACHINE_NOISE_H
#define LAB_MEASURE_MACHINE_NOISE_H

#include "base/arena.h"
#include "base/status.h"
#include "lab/measure/machine_facts.h"

/* Sets facts->noise and n_noise, made in the arena, from its other fields. OUT_OF_MEMORY. */
status machine_find_noise(arena *a, machine_facts *facts, error *err);

#endif
