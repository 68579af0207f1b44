/* SPDX-License-Identifier: Apache-2.0 */
/* The table of noise sources: each looks at the facts and says what it saw, and its row says what to do. */
#include "lab/measure/machine_noise.h"

#include "device/threads.h"

#include <math.h>
#include <string.h>

/* Answers false when there is nothing to tell; otherwise *detail is a sentence's middle, NULL when memory is out. */
typedef bool (*noise_check)(arena *a, const machine_facts *m, const char **detail);

static bool governor(arena *a, const machine_facts *m, const char **detail) {
    *detail = arena_format(a, "the frequency governor is \"%s\"", m->governor != NULL ? m->governor : "");
    return m->governor != NULL && strcmp(m->governor, "performance") != 0;
}

static bool boost(arena *a, const machine_facts *m, const char **detail) {
    *detail = arena_format(a, "the clock rises and falls with heat and with how many cores work");
    return m->boost == 1;
}

static bool smt(arena *a, const machine_facts *m, const char **detail) {
    *detail = arena_format(a, "%d logical CPUs share %d cores", m->logical_cpus, m->cores);
    return m->smt == 1;
}

static bool hypervisor(arena *a, const machine_facts *m, const char **detail) {
    *detail = arena_format(a, "this is a virtual machine (%s); neighbours share its caches, memory and clock",
                           m->hypervisor != NULL ? m->hypervisor : "");
    return m->hypervisor != NULL;
}

static bool load(arena *a, const machine_facts *m, const char **detail) {
    int cpus = m->usable_cpus > 0 ? m->usable_cpus : 1;
    *detail = arena_format(a, "the load average is %.2f on %d CPUs", m->load_average, cpus);
    return m->load_average > 0.2 * cpus; /* a fifth of the machine belongs to others, or did within the last minute */
}

static bool cpu_limit(arena *a, const machine_facts *m, const char **detail) {
    *detail = arena_format(a, "the control group allows %.3g of %d CPUs", m->cgroup_cpus, m->usable_cpus);
    return m->cgroup_cpus < m->usable_cpus;
}

static bool affinity(arena *a, const machine_facts *m, const char **detail) {
    *detail = arena_format(a, "this process may use %d of %d CPUs", m->usable_cpus, m->logical_cpus);
    return m->usable_cpus > 0 && m->usable_cpus < m->logical_cpus;
}

static bool few_threads(arena *a, const machine_facts *m, const char **detail) {
    const int most = threads_most();
    *detail = arena_format(a, "OpenMP gives this process %d thread%s at most (OMP_THREAD_LIMIT, OMP_MAX_ACTIVE_LEVELS)", most,
                           most == 1 ? "" : "s");
    return most < m->usable_cpus;
}

static bool numa(arena *a, const machine_facts *m, const char **detail) {
    *detail = arena_format(a, "memory lies on %d nodes, near to some cores and far from others", m->numa_nodes);
    return m->numa_nodes > 1;
}

static bool huge_pages(arena *a, const machine_facts *m, const char **detail) {
    *detail = arena_format(a, "transparent huge pages are off");
    return m->transparent_huge_pages != NULL && strcmp(m->transparent_huge_pages, "never") == 0;
}

static bool little_memory(arena *a, const machine_facts *m, const char **detail) {
    int64_t usable = machine_usable_memory_bytes(m);
    *detail = arena_format(a, "only %.1f GiB of memory can be used", (double)usable / (1 << 30));
    return usable > 0 && usable < (int64_t)2 << 30;
}

static const struct {
    const char *name;
    noise_check check;
    const char *advice;
} checks[] = {
    {"governor", governor, "hold the clock: sudo cpupower frequency-set -g performance"},
    {"boost", boost, "for steadier, slower figures: echo 0 | sudo tee /sys/devices/system/cpu/cpufreq/boost (Intel: "
                     "echo 1 | sudo tee /sys/devices/system/cpu/intel_pstate/no_turbo)"},
    {"smt", smt, "use at most one thread a core: --threads N, bound by OMP_PLACES=cores OMP_PROC_BIND=close"},
    {"hypervisor", hypervisor, "trust ratios of interleaved runs more than times, and repeat what matters on another day"},
    {"load", load, "wait until other work is done, or stop it; top shows what it is"},
    {"cpu limit", cpu_limit, "use no more threads than that (--threads), or the kernel will stop them in mid-run"},
    {"affinity", affinity, "use no more threads than that (--threads); taskset -p shows the mask"},
    {"thread limit", few_threads, "all that runs gets no more; unset the variable for more"},
    {"numa", numa, "bind to one node: numactl --cpunodebind=0 --membind=0 assay ..."},
    {"huge pages", huge_pages,
     "large tensors pay for address translation: echo madvise | sudo tee /sys/kernel/mm/transparent_hugepage/enabled"},
    {"memory", little_memory, "large inputs will be skipped; free some memory or raise the limit"},
};

status machine_find_noise(arena *a, machine_facts *facts, error *err) {
    machine_noise *found = arena_make(a, countof(checks), sizeof *found);
    if (found == NULL) {
        return fail(err, ASSAY_OUT_OF_MEMORY, "no memory for the machine's facts");
    }
    size_t n = 0;
    for (size_t i = 0; i < countof(checks); i++) {
        const char *detail = NULL;
        if (!checks[i].check(a, facts, &detail)) {
            continue;
        }
        if (detail == NULL) {
            return fail(err, ASSAY_OUT_OF_MEMORY, "no memory for the machine's facts");
        }
        found[n++] = (machine_noise){.name = checks[i].name, .detail = detail, .advice = checks[i].advice};
    }
    facts->noise = found;
    facts->n_noise = n;
    return ASSAY_OK;
}
