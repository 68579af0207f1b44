/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the machine's facts from /proc and /sys; what is not there stays unknown. */
#include "lab/measure/machine.h"

#include "base/c_locale.h"
#include "base/text.h"
#include "device/instructions.h"
#include "lab/measure/machine_noise.h"

#include <ctype.h>
#include <math.h>
#include <omp.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif
#if defined(__GLIBC__)
#include <gnu/libc-version.h>
#endif

/* What reading needs everywhere. A failed allocation is noted once and answered at the end. */
typedef struct probe {
    arena *memory;
    const char *root;
    bool failed;
} probe;

enum { LINE_BYTES = 16 * 1024 }; /* /proc/cpuinfo's flags take two thousand on today's CPUs */

static const char *keep(probe *p, const char *value) {
    const char *copy = arena_text(p->memory, value, strlen(value));
    p->failed |= copy == NULL;
    return copy;
}

static char *trim(char *line) {
    while (isspace((unsigned char)*line)) {
        line++;
    }
    size_t n = strlen(line);
    while (n > 0 && isspace((unsigned char)line[n - 1])) {
        line[--n] = '\0';
    }
    return line;
}

static FILE *open_below(const probe *p, const char *path) {
    char whole[4096];
    int n = snprintf(whole, sizeof whole, "%s%s", p->root, path);
    return n > 0 && n < (int)sizeof whole ? fopen(whole, "re") : NULL;
}

/* The first line of a file, trimmed; "" when there is none. buffer has LINE_BYTES. */
static char *first_line(const probe *p, char *buffer, const char *format, ...) PRINTF_LIKE(3, 4);
static char *first_line(const probe *p, char *buffer, const char *format, ...) {
    char path[1024];
    va_list args;
    va_start(args, format);
    c_vsnprintf(path, sizeof path, format, args);
    va_end(args);
    FILE *file = open_below(p, path);
    buffer[0] = '\0';
    if (file != NULL) {
        if (fgets(buffer, LINE_BYTES, file) == NULL) {
            buffer[0] = '\0';
        }
        fclose(file);
    }
    return trim(buffer);
}

static const char *first_line_kept(probe *p, const char *path) {
    char buffer[LINE_BYTES];
    const char *line = first_line(p, buffer, "%s", path);
    return line[0] != '\0' ? keep(p, line) : NULL;
}

static int64_t first_number(const probe *p, const char *path, int64_t otherwise) {
    char buffer[LINE_BYTES], *end = NULL;
    char *line = first_line(p, buffer, "%s", path);
    long long value = strtoll(line, &end, 10);
    return end != line ? value : otherwise;
}

/* ---- /proc/cpuinfo ---- */

static const char *const known_isa[] = {
    "sse4_2",      "avx",         "f16c",     "fma",      "avx2",     "avx_vnni", "avx512f", "avx512bw",
    "avx512dq",    "avx512vl",    "avx512_bf16", "avx512_vnni", "avx512_fp16", "amx_tile", "amx_bf16", "amx_int8",
    "amx_fp16",    "asimd",       "fphp",     "asimdhp",  "asimddp",  "i8mm",     "bf16",    "sve",
    "sve2",        "sme"};

static bool has_word(const char *words, const char *word) {
    size_t n = strlen(word);
    for (const char *at = strstr(words, word); at != NULL; at = strstr(at + n, word)) {
        bool begins = at == words || at[-1] == ' ';
        if (begins && (at[n] == ' ' || at[n] == '\0')) {
            return true;
        }
    }
    return false;
}

static void read_isa(probe *p, const char *flags, machine_facts *m) {
    const char **found = arena_make(p->memory, countof(known_isa), sizeof *found);
    if (found == NULL) {
        p->failed = true;
        return;
    }
    size_t n = 0;
    for (size_t i = 0; i < countof(known_isa); i++) {
        if (has_word(flags, known_isa[i])) {
            found[n++] = known_isa[i];
        }
    }
    m->isa = found;
    m->n_isa = n;
}

#if defined(__x86_64__)
/* The hypervisor's signature, which it leaves at the CPU's leaf 0x40000000. */
static const char *ask_hypervisor(void) {
    static const struct {
        const char *signature, *name;
    } known[] = {{"KVMKVMKVM", "KVM"},       {"Microsoft Hv", "Hyper-V"}, {"VMwareVMware", "VMware"},
                 {"XenVMMXenVMM", "Xen"},    {"TCGTCGTCGTCG", "QEMU"},    {"bhyve bhyve ", "bhyve"},
                 {" lrpepyh  vr", "Parallels"}, {"VBoxVBoxVBox", "VirtualBox"}};
    unsigned a = 0, words[4] = {0};
    __cpuid(0x40000000, a, words[0], words[1], words[2]);
    char signature[13] = "";
    memcpy(signature, words, 12);
    for (size_t i = 0; i < countof(known); i++) {
        if (strcmp(signature, known[i].signature) == 0) {
            return known[i].name;
        }
    }
    return "a hypervisor";
}
#else
static const char *ask_hypervisor(void) {
    return "a hypervisor";
}
#endif

/* Arm's cores say who made them as a number. */
static const char *vendor_of_implementer(long number) {
    static const struct {
        long number;
        const char *name;
    } known[] = {{0x41, "ARM"},  {0x42, "Broadcom"}, {0x43, "Cavium"}, {0x46, "Fujitsu"},   {0x48, "HiSilicon"},
                 {0x4e, "NVIDIA"}, {0x50, "APM"},    {0x51, "Qualcomm"}, {0x61, "Apple"}, {0x6d, "Microsoft"},
                 {0xc0, "Ampere"}};
    for (size_t i = 0; i < countof(known); i++) {
        if (known[i].number == number) {
            return known[i].name;
        }
    }
    return NULL;
}

static void take_cpuinfo(probe *p, const char *key, const char *value, machine_facts *m) {
    static const struct {
        const char *key;
        size_t offset;
    } numbers[] = {{"cpu family", offsetof(machine_facts, cpu_family)},
                   {"model", offsetof(machine_facts, cpu_model_number)},
                   {"stepping", offsetof(machine_facts, cpu_stepping)},
                   {"CPU architecture", offsetof(machine_facts, cpu_family)},
                   {"CPU part", offsetof(machine_facts, cpu_model_number)},
                   {"CPU revision", offsetof(machine_facts, cpu_stepping)}};
    for (size_t i = 0; i < countof(numbers); i++) {
        if (strcmp(key, numbers[i].key) == 0) {
            *(int *)((char *)m + numbers[i].offset) = (int)strtol(value, NULL, 0);
        }
    }
    if (strcmp(key, "model name") == 0) {
        const char *at = strstr(value, "@ ");
        double ghz = at != NULL ? c_strtod(at + 2, NULL) : 0;
        m->cpu_model = keep(p, value);
        m->nominal_mhz = ghz > 0 ? ghz * 1000 : m->nominal_mhz;
    } else if (strcmp(key, "vendor_id") == 0) {
        m->cpu_vendor = keep(p, value);
    } else if (strcmp(key, "CPU implementer") == 0) {
        m->cpu_vendor = vendor_of_implementer(strtol(value, NULL, 0));
    } else if (strcmp(key, "cpu MHz") == 0 && isnan(m->nominal_mhz)) {
        m->nominal_mhz = c_strtod(value, NULL);
    } else if (strcmp(key, "flags") == 0 || strcmp(key, "Features") == 0) {
        read_isa(p, value, m);
        m->hypervisor = has_word(value, "hypervisor") ? ask_hypervisor() : NULL;
    }
}

/* The first CPU's block; the others repeat it. */
static void read_cpuinfo(probe *p, machine_facts *m) {
    char line[LINE_BYTES];
    FILE *file = open_below(p, "/proc/cpuinfo");
    bool begun = false;
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        char *colon = strchr(line, ':');
        if (colon == NULL) {
            if (begun) {
                break;
            }
            continue;
        }
        *colon = '\0';
        begun = true;
        take_cpuinfo(p, trim(line), trim(colon + 1), m);
    }
    if (file != NULL) {
        fclose(file);
    }
    int64_t base_khz = first_number(p, "/sys/devices/system/cpu/cpu0/cpufreq/base_frequency", 0);
    if (base_khz > 0) {
        m->nominal_mhz = (double)base_khz / 1000;
    }
    if (m->cpu_model == NULL) {
        m->cpu_model = first_line_kept(p, "/proc/device-tree/model");
    }
}

/* ---- topology and caches ---- */

/* Calls visit for each number of a list such as "0-3,8". Stops at what is no list. */
static int for_each_in_list(const char *list, void (*visit)(void *arg, int number), void *arg) {
    int n = 0;
    char *end = NULL;
    for (const char *at = list; *at >= '0' && *at <= '9'; at = *end == ',' ? end + 1 : end) {
        long first = strtol(at, &end, 10), last = first;
        if (*end == '-') {
            last = strtol(end + 1, &end, 10);
        }
        for (long i = first; i <= last && i < 1 << 20; i++, n++) {
            if (visit != NULL) {
                visit(arg, (int)i);
            }
        }
    }
    return n;
}

typedef struct topology {
    const probe *p;
    int64_t *cores, *sockets; /* those seen */
    int n_cores, n_sockets;
} topology;

static void add_once(int64_t *seen, int *n, int64_t value) {
    for (int i = *n - 1; i >= 0; i--) { /* neighbours come together, so the last are the likeliest */
        if (seen[i] == value) {
            return;
        }
    }
    seen[(*n)++] = value;
}

static void visit_cpu(void *arg, int cpu) {
    topology *t = arg;
    char path[128];
    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/topology/physical_package_id", cpu);
    int64_t socket = first_number(t->p, path, 0);
    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/topology/core_id", cpu);
    int64_t core = first_number(t->p, path, cpu);
    add_once(t->sockets, &t->n_sockets, socket);
    add_once(t->cores, &t->n_cores, socket * ((int64_t)1 << 32) + core);
}

/* The CPUs that this process's threads may run on; 0: not known. Where OMP_PROC_BIND is set, OpenMP's library has bound the first
 * thread to one place before main begins, so that the thread's own set is that place alone: the others' places are added. */
static int count_usable_cpus(void) {
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) != 0) {
        return 0; /* machines of more than 1024 CPUs need a larger set */
    }
    int ids[CPU_SETSIZE], n_places = omp_get_proc_bind() == omp_proc_bind_false ? 0 : omp_get_num_places();
    for (int place = 0; place < n_places; place++) {
        int n = omp_get_place_num_procs(place);
        if (n > CPU_SETSIZE) {
            return 0;
        }
        omp_get_place_proc_ids(place, ids);
        for (int i = 0; i < n; i++) {
            CPU_SET(ids[i], &set);
        }
    }
    return CPU_COUNT(&set);
}

static void read_topology(probe *p, machine_facts *m) {
    char buffer[LINE_BYTES];
    const char *online = first_line(p, buffer, "/sys/devices/system/cpu/online");
    int n = for_each_in_list(online, NULL, NULL);
    if (n > 0) {
        topology t = {.p = p,
                      .cores = arena_make(p->memory, (size_t)n, sizeof(int64_t)),
                      .sockets = arena_make(p->memory, (size_t)n, sizeof(int64_t))};
        if (t.cores == NULL || t.sockets == NULL) {
            p->failed = true;
            return;
        }
        for_each_in_list(online, visit_cpu, &t);
        m->logical_cpus = n;
        m->cores = t.n_cores;
        m->sockets = t.n_sockets;
    } else {
        long configured = sysconf(_SC_NPROCESSORS_ONLN);
        m->logical_cpus = configured > 0 ? (int)configured : 0;
    }
    m->numa_nodes = for_each_in_list(first_line(p, buffer, "/sys/devices/system/node/online"), NULL, NULL);
    m->usable_cpus = count_usable_cpus();
    int64_t smt = first_number(p, "/sys/devices/system/cpu/smt/active", -1);
    m->smt = smt >= 0 ? (int)smt : m->cores > 0 ? m->logical_cpus > m->cores : -1;
}

static int64_t with_suffix(const char *size) {
    char *end = NULL;
    int64_t value = strtoll(size, &end, 10);
    int shift = *end == 'K' ? 10 : *end == 'M' ? 20 : *end == 'G' ? 30 : 0;
    return value > 0 && value < INT64_MAX >> shift ? value << shift : 0;
}

static void read_caches(probe *p, machine_facts *m) {
    enum { MOST_CACHES = 16 };
    machine_cache *caches = arena_make(p->memory, MOST_CACHES, sizeof *caches);
    if (caches == NULL) {
        p->failed = true;
        return;
    }
    size_t n = 0;
    for (int i = 0; i < MOST_CACHES; i++) {
        static const char folder[] = "/sys/devices/system/cpu/cpu0/cache/index";
        char buffer[LINE_BYTES];
        machine_cache c = {.level = (int)strtol(first_line(p, buffer, "%s%d/level", folder, i), NULL, 10)};
        if (c.level <= 0) {
            break;
        }
        char *type = first_line(p, buffer, "%s%d/type", folder, i);
        type[0] = (char)tolower((unsigned char)type[0]);
        c.type = keep(p, type);
        c.size_bytes = with_suffix(first_line(p, buffer, "%s%d/size", folder, i));
        c.line_bytes = (int)strtol(first_line(p, buffer, "%s%d/coherency_line_size", folder, i), NULL, 10);
        c.shared_by = for_each_in_list(first_line(p, buffer, "%s%d/shared_cpu_list", folder, i), NULL, NULL);
        /* As if all CPUs were like the first: right but for machines of big and little cores. */
        c.instances = c.shared_by > 0 ? (m->logical_cpus + c.shared_by - 1) / c.shared_by : 0;
        size_t at = n++;
        for (; at > 0 && caches[at - 1].level > c.level; at--) {
            caches[at] = caches[at - 1];
        }
        caches[at] = c;
    }
    m->caches = caches;
    m->n_caches = n;
}

/* ---- memory, limits, the system ---- */

static void read_memory(const probe *p, machine_facts *m) {
    char line[LINE_BYTES];
    FILE *file = open_below(p, "/proc/meminfo");
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        long long kib = 0;
        if (sscanf(line, "MemTotal: %lld kB", &kib) == 1) {
            m->memory_total_bytes = kib * 1024;
        } else if (sscanf(line, "MemAvailable: %lld kB", &kib) == 1) {
            m->memory_available_bytes = kib * 1024;
        }
    }
    if (file != NULL) {
        fclose(file);
    }
}

/* The limits of one control group's folder; the tightest on the way up counts. Version 2 and version 1 files. */
static void take_limits(const probe *p, const char *folder, machine_facts *m) {
    char buffer[LINE_BYTES], *end = NULL;
    const char *both = first_line(p, buffer, "%s/cpu.max", folder);
    double quota = c_strtod(both, &end), period = c_strtod(end, NULL);
    if (end == both) {
        quota = c_strtod(first_line(p, buffer, "%s/cpu.cfs_quota_us", folder), NULL);
        period = c_strtod(first_line(p, buffer, "%s/cpu.cfs_period_us", folder), NULL);
    }
    if (quota > 0 && period > 0) {
        m->cgroup_cpus = fmin(isnan(m->cgroup_cpus) ? INFINITY : m->cgroup_cpus, quota / period);
    }
    static const char *const files[] = {"memory.max", "memory.limit_in_bytes"};
    for (size_t i = 0; i < countof(files); i++) {
        int64_t limit = strtoll(first_line(p, buffer, "%s/%s", folder, files[i]), NULL, 10);
        /* Version 1 says "no limit" by a number near the largest. */
        bool tighter = m->cgroup_memory_bytes == 0 || limit < m->cgroup_memory_bytes;
        if (limit > 0 && limit < (int64_t)1 << 60 && tighter) {
            m->cgroup_memory_bytes = limit;
        }
    }
}

static void walk_up(const probe *p, const char *mount, const char *group, machine_facts *m) {
    char folder[4096];
    int n = snprintf(folder, sizeof folder, "%s%s", mount, group);
    if (n <= 0 || n >= (int)sizeof folder) {
        return;
    }
    for (;;) {
        take_limits(p, folder, m);
        char *slash = strrchr(folder, '/');
        if (slash == NULL || (size_t)(slash - folder) < strlen(mount)) {
            return;
        }
        *slash = '\0';
    }
}

/* Lines are "0::/group" (version 2) or "4:cpu,cpuacct:/group". */
static void read_cgroup(const probe *p, machine_facts *m) {
    char line[LINE_BYTES];
    FILE *file = open_below(p, "/proc/self/cgroup");
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        char *names = strchr(line, ':'), *group = names != NULL ? strchr(names + 1, ':') : NULL;
        if (group == NULL) {
            continue;
        }
        *group++ = '\0';
        group = trim(group);
        names++;
        if (names[0] == '\0') {
            walk_up(p, "/sys/fs/cgroup", group, m);
        } else if (strstr(names, "cpu") != NULL && strstr(names, "cpuset") == NULL) {
            walk_up(p, "/sys/fs/cgroup/cpu", group, m);
        } else if (strcmp(names, "memory") == 0) {
            walk_up(p, "/sys/fs/cgroup/memory", group, m);
        }
    }
    if (file != NULL) {
        fclose(file);
    }
}

static void read_system(probe *p, machine_facts *m) {
    char buffer[LINE_BYTES], *end = NULL;
    struct utsname name;
    m->architecture = uname(&name) == 0 ? keep(p, name.machine) : NULL;
    m->isa_used = isa_name(isa_best());
    const char *release = first_line(p, buffer, "/proc/sys/kernel/osrelease");
    if (release[0] != '\0') {
        m->kernel = arena_format(p->memory, "Linux %s", release);
        p->failed |= m->kernel == NULL;
    }
#if defined(__GLIBC__)
    m->libc = arena_format(p->memory, "glibc %s", gnu_get_libc_version());
    p->failed |= m->libc == NULL;
#endif
    char *load = first_line(p, buffer, "/proc/loadavg");
    double average = c_strtod(load, &end);
    m->load_average = end != load ? average : NAN;
    char *pages = first_line(p, buffer, "/sys/kernel/mm/transparent_hugepage/enabled");
    char *open_bracket = strchr(pages, '['), *close_bracket = strchr(pages, ']');
    if (open_bracket != NULL && close_bracket > open_bracket) {
        *close_bracket = '\0';
        m->transparent_huge_pages = keep(p, open_bracket + 1);
    }
}

static void read_frequency(probe *p, machine_facts *m) {
    m->governor = first_line_kept(p, "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor");
    int64_t boost = first_number(p, "/sys/devices/system/cpu/cpufreq/boost", -1);
    int64_t no_turbo = first_number(p, "/sys/devices/system/cpu/intel_pstate/no_turbo", -1);
    m->boost = boost >= 0 ? boost != 0 : no_turbo >= 0 ? no_turbo == 0 : -1;
}

status machine_read(arena *a, const char *root, machine_facts *out, error *err) {
    probe p = {.memory = a, .root = root};
    machine_facts m = {.cpu_family = -1,
                       .cpu_model_number = -1,
                       .cpu_stepping = -1,
                       .nominal_mhz = NAN,
                       .measured_mhz = NAN,
                       .load_average = NAN,
                       .cgroup_cpus = NAN,
                       .boost = -1,
                       .smt = -1};
    read_cpuinfo(&p, &m);
    read_topology(&p, &m);
    read_caches(&p, &m);
    read_memory(&p, &m);
    read_cgroup(&p, &m);
    read_system(&p, &m);
    read_frequency(&p, &m);
    if (p.failed) {
        return fail(err, ASSAY_OUT_OF_MEMORY, "no memory for the machine's facts");
    }
    TRY(machine_find_noise(a, &m, err));
    *out = m;
    return ASSAY_OK;
}
