/* SPDX-License-Identifier: Apache-2.0 */
/* What follows from the facts of a machine. */
#include "lab/measure/machine_facts.h"

#include "device/threads.h"

int64_t machine_last_level_bytes(const machine_facts *facts) {
    if (facts->n_caches == 0) {
        return 0;
    }
    const machine_cache *last = &facts->caches[facts->n_caches - 1];
    return last->size_bytes * (last->instances > 0 ? last->instances : 1);
}

int64_t machine_usable_memory_bytes(const machine_facts *facts) {
    int64_t available = facts->memory_available_bytes, limit = facts->cgroup_memory_bytes;
    return limit > 0 && (available == 0 || limit < available) ? limit : available;
}

int machine_threads(const machine_facts *facts) {
    const int cpus = facts->usable_cpus > 0 ? facts->usable_cpus : 1, most = threads_most();
    return cpus < most ? cpus : most;
}

double machine_most_tensor_bytes(const machine_facts *facts) {
    int64_t usable = machine_usable_memory_bytes(facts);
    return usable > 0 ? 0.8 * (double)usable : 0x1p32;
}

int64_t machine_beyond_caches_bytes(const machine_facts *facts, int64_t least_bytes) {
    int64_t wanted = 2 * machine_last_level_bytes(facts), usable = machine_usable_memory_bytes(facts);
    wanted = wanted > least_bytes ? wanted : least_bytes;
    return usable > 0 && wanted > usable / 4 ? usable / 4 : wanted;
}
