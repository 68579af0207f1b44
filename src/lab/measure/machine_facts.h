/* SPDX-License-Identifier: Apache-2.0 */
/* What a machine is, as one plain struct that goes into every record. */
#ifndef LAB_MEASURE_MACHINE_FACTS_H
#define LAB_MEASURE_MACHINE_FACTS_H

#include <stddef.h>
#include <stdint.h>

/* One cache, as the first CPU sees it. */
typedef struct machine_cache {
    int level;
    const char *type;     /* "data", "instruction", "unified" */
    int64_t size_bytes;
    int line_bytes;       /* 0: unknown */
    int shared_by;        /* logical CPUs on one instance; 0: unknown */
    int instances;        /* on this machine; 0: unknown */
} machine_cache;

/* Something that makes timings doubtful, and what to do about it. */
typedef struct machine_noise {
    const char *name;   /* "governor" */
    const char *detail; /* "powersave on 8 of 8 CPUs" */
    const char *advice; /* a sentence, with the command where there is one */
} machine_noise;

/* A text that is not known is NULL, a double NaN, a count or size 0, and an integer for which 0 says something -1. Texts and arrays live in the arena that machine_read was given. */
typedef struct machine_facts {
    const char *architecture;  /* "x86_64", "aarch64": uname's machine */
    const char *cpu_model;
    const char *cpu_vendor;
    int cpu_family, cpu_model_number, cpu_stepping; /* -1: unknown */
    int sockets, cores, logical_cpus; /* of the whole machine, online */
    int usable_cpus;           /* that this process may run on (affinity) */
    int numa_nodes;
    const machine_cache *caches; /* sorted by level */
    size_t n_caches;
    const char *const *isa;    /* instruction sets the CPU and the system offer: "avx2", "avx512_bf16", "sve", ... */
    size_t n_isa;
    const char *isa_used;      /* what kernels and emitted code take of it: "baseline", "avx2", "avx512" */
    int64_t memory_total_bytes, memory_available_bytes;
    double nominal_mhz;        /* as the CPU or the system says */
    double measured_mhz;       /* by a chain of dependent additions, one a cycle; machine_measure_clock fills it in */
    const char *governor;      /* cpufreq's, of the first CPU; NULL also in most virtual machines */
    int boost;                 /* 1 on, 0 off, -1 unknown */
    int smt;                   /* 1 active, 0 not, -1 unknown */
    const char *hypervisor;    /* "KVM", ...; NULL on bare metal */
    double load_average;       /* over one minute */
    const char *kernel;        /* "Linux 6.1.0" */
    const char *libc;          /* "glibc 2.36" */
    const char *transparent_huge_pages; /* "madvise" */
    double cgroup_cpus;        /* CPU time allowed, in CPUs; NaN: no limit */
    int64_t cgroup_memory_bytes; /* 0: no limit */
    const machine_noise *noise;
    size_t n_noise;
} machine_facts;

/* The size of all last-level caches together, 0 when unknown: what a cache evictor has to exceed. */
int64_t machine_last_level_bytes(const machine_facts *facts);
/* How much memory a loop goes over that is to show the memory's speed and not a cache's: twice what the last caches hold, at least
   `least_bytes`, at most a quarter of what this process may take. Of a 256 MiB loop a 480 MiB cache gave a third, beside other virtual
   machines (44 GB/s read where memory does 33). */
int64_t machine_beyond_caches_bytes(const machine_facts *facts, int64_t least_bytes);
/* The memory this process may take: the least of what is available and its cgroup's limit; 0 when unknown. */
int64_t machine_usable_memory_bytes(const machine_facts *facts);
/* Threads that work is given where nobody says how many: one for each CPU that this process may use, unless OpenMP gives fewer. */
int machine_threads(const machine_facts *facts);
/* What tensors may take of that where nobody says more or less. */
double machine_most_tensor_bytes(const machine_facts *facts);

#endif
