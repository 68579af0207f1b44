/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of machine_facts and of what lies in it. */
#include "lab/record/machine_fields.h"

#include "lab/measure/machine.h"

static const field cache_fields[] = {
    {"level", FIELD_INT, .offset = offsetof(machine_cache, level), .least = 1},
    {"type", FIELD_TEXT, .offset = offsetof(machine_cache, type)},
    {"size_bytes", FIELD_INT64, .offset = offsetof(machine_cache, size_bytes), .least = 1},
    {"line_bytes", FIELD_INT, .offset = offsetof(machine_cache, line_bytes), .least = 1},
    {"shared_by", FIELD_INT, .offset = offsetof(machine_cache, shared_by), .least = 1},
    {"instances", FIELD_INT, .offset = offsetof(machine_cache, instances), .least = 1},
};
static const field_set cache_set = {cache_fields, countof(cache_fields), sizeof(machine_cache)};

static const field noise_fields[] = {
    {"name", FIELD_TEXT, .offset = offsetof(machine_noise, name)},
    {"detail", FIELD_TEXT, .offset = offsetof(machine_noise, detail)},
    {"advice", FIELD_TEXT, .offset = offsetof(machine_noise, advice)},
};
static const field_set noise_set = {noise_fields, countof(noise_fields), sizeof(machine_noise)};

static const field machine_fields[] = {
    {"architecture", FIELD_TEXT, .offset = offsetof(machine_facts, architecture)},
    {"cpu_model", FIELD_TEXT, .offset = offsetof(machine_facts, cpu_model)},
    {"cpu_vendor", FIELD_TEXT, .offset = offsetof(machine_facts, cpu_vendor)},
    {"cpu_family", FIELD_INT, .offset = offsetof(machine_facts, cpu_family)},
    {"cpu_model_number", FIELD_INT, .offset = offsetof(machine_facts, cpu_model_number)},
    {"cpu_stepping", FIELD_INT, .offset = offsetof(machine_facts, cpu_stepping)},
    {"sockets", FIELD_INT, .offset = offsetof(machine_facts, sockets), .least = 1},
    {"cores", FIELD_INT, .offset = offsetof(machine_facts, cores), .least = 1},
    {"logical_cpus", FIELD_INT, .offset = offsetof(machine_facts, logical_cpus), .least = 1},
    {"usable_cpus", FIELD_INT, .offset = offsetof(machine_facts, usable_cpus), .least = 1},
    {"numa_nodes", FIELD_INT, .offset = offsetof(machine_facts, numa_nodes), .least = 1},
    {"caches", FIELD_OBJECTS, .offset = offsetof(machine_facts, caches),
     .count_offset = offsetof(machine_facts, n_caches), .inner = &cache_set},
    {"isa", FIELD_TEXTS, .offset = offsetof(machine_facts, isa), .count_offset = offsetof(machine_facts, n_isa)},
    {"isa_used", FIELD_TEXT, .offset = offsetof(machine_facts, isa_used)},
    {"memory_total_bytes", FIELD_INT64, .offset = offsetof(machine_facts, memory_total_bytes), .least = 1},
    {"memory_available_bytes", FIELD_INT64, .offset = offsetof(machine_facts, memory_available_bytes), .least = 1},
    {"nominal_mhz", FIELD_DOUBLE, .offset = offsetof(machine_facts, nominal_mhz)},
    {"measured_mhz", FIELD_DOUBLE, .offset = offsetof(machine_facts, measured_mhz)},
    {"governor", FIELD_TEXT, .offset = offsetof(machine_facts, governor)},
    {"boost", FIELD_INT, .offset = offsetof(machine_facts, boost)},
    {"smt", FIELD_INT, .offset = offsetof(machine_facts, smt)},
    {"hypervisor", FIELD_TEXT, .offset = offsetof(machine_facts, hypervisor)},
    {"load_average", FIELD_DOUBLE, .offset = offsetof(machine_facts, load_average)},
    {"kernel", FIELD_TEXT, .offset = offsetof(machine_facts, kernel)},
    {"libc", FIELD_TEXT, .offset = offsetof(machine_facts, libc)},
    {"transparent_huge_pages", FIELD_TEXT, .offset = offsetof(machine_facts, transparent_huge_pages)},
    {"cgroup_cpus", FIELD_DOUBLE, .offset = offsetof(machine_facts, cgroup_cpus)},
    {"cgroup_memory_bytes", FIELD_INT64, .offset = offsetof(machine_facts, cgroup_memory_bytes), .least = 1},
    {"noise", FIELD_OBJECTS, .offset = offsetof(machine_facts, noise),
     .count_offset = offsetof(machine_facts, n_noise), .inner = &noise_set},
};
const field_set machine_field_set = {machine_fields, countof(machine_fields), sizeof(machine_facts)};
