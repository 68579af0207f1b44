/* SPDX-License-Identifier: Apache-2.0 */
/* Machine facts from folders that show other machines, and from this one. */
#include "lab/measure/ceilings.h"
#include "lab/measure/machine.h"

#include "base/file.h"
#include "base/text.h"
#include "unit.h"

#include <ftw.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[] = "assay-machine-XXXXXX";

static void put(const char *path, const char *content) {
    text whole = {0}, parent = {0};
    text_addf(&whole, "%s%s", folder, path);
    text_add_bytes(&parent, whole.data, (size_t)(strrchr(whole.data, '/') - whole.data));
    assert_int_equal(file_make_directories(parent.data, NULL), ASSAY_OK);
    assert_int_equal(file_write(whole.data, content, strlen(content), NULL), ASSAY_OK);
    text_clear(&whole);
    text_clear(&parent);
}

static bool has_noise(const machine_facts *m, const char *name) {
    for (size_t i = 0; i < m->n_noise; i++) {
        if (strcmp(m->noise[i].name, name) == 0) {
            return m->noise[i].detail != NULL && m->noise[i].advice != NULL;
        }
    }
    return false;
}

#define CPU  "/sys/devices/system/cpu"
#define CPU0 CPU "/cpu0/cache/index"

static void a_server_is_read(void **state) {
    (void)state;
    arena a = {0};
    machine_facts m;
    put("/proc/cpuinfo", "processor\t: 0\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 85\n"
                         "model name\t: Intel(R) Xeon(R) Gold 6148 CPU @ 2.40GHz\nstepping\t: 4\ncpu MHz\t\t: 1000.000\n"
                         "flags\t\t: fpu sse4_2 avx2 avx512f avx512bw\n\nprocessor\t: 1\nmodel name\t: another\n");
    put(CPU "/online", "0-3\n");
    for (int i = 0; i < 4; i++) {
        char path[128], number[16];
        snprintf(path, sizeof path, CPU "/cpu%d/topology/physical_package_id", i);
        snprintf(number, sizeof number, "%d\n", i % 2);
        put(path, number);
        snprintf(path, sizeof path, CPU "/cpu%d/topology/core_id", i);
        put(path, "0\n");
    }
    put(CPU "/smt/active", "1\n");
    put(CPU0 "0/level", "3\n");
    put(CPU0 "0/type", "Unified\n");
    put(CPU0 "0/size", "28160K\n");
    put(CPU0 "0/coherency_line_size", "64\n");
    put(CPU0 "0/shared_cpu_list", "0,2\n");
    put(CPU0 "1/level", "1\n");
    put(CPU0 "1/type", "Data\n");
    put(CPU0 "1/size", "32K\n");
    put(CPU0 "1/shared_cpu_list", "0,2\n");
    put(CPU "/cpu0/cpufreq/scaling_governor", "powersave\n");
    put(CPU "/intel_pstate/no_turbo", "0\n");
    put("/sys/devices/system/node/online", "0-1\n");
    put("/sys/kernel/mm/transparent_hugepage/enabled", "always madvise [never]\n");
    put("/proc/meminfo", "MemTotal:       16384 kB\nMemFree:  1 kB\nMemAvailable:    8192 kB\n");
    put("/proc/loadavg", "3.50 1.00 0.50 1/200 1234\n");
    put("/proc/sys/kernel/osrelease", "6.1.0-test\n");
    put("/proc/self/cgroup", "0::/a/b\n");
    put("/sys/fs/cgroup/a/cpu.max", "150000 100000\n");
    put("/sys/fs/cgroup/a/b/cpu.max", "max 100000\n");
    put("/sys/fs/cgroup/a/b/memory.max", "max\n");
    put("/sys/fs/cgroup/a/memory.max", "4194304\n");
    assert_int_equal(machine_read(&a, folder, &m, NULL), ASSAY_OK);
    assert_string_equal(m.cpu_model, "Intel(R) Xeon(R) Gold 6148 CPU @ 2.40GHz");
    assert_string_equal(m.cpu_vendor, "GenuineIntel");
    assert_int_equal(m.cpu_model_number, 85);
    assert_true(m.nominal_mhz == 2400);
    assert_int_equal(m.n_isa, 4);
    assert_null(m.hypervisor);
    assert_int_equal(m.logical_cpus, 4);
    assert_int_equal(m.cores, 2);
    assert_int_equal(m.sockets, 2);
    assert_int_equal(m.n_caches, 2);
    assert_string_equal(m.caches[0].type, "data");
    assert_int_equal(m.caches[1].size_bytes, 28160 * 1024);
    assert_int_equal(m.caches[1].instances, 2);
    assert_int_equal(machine_last_level_bytes(&m), 2 * 28160 * 1024);
    assert_int_equal(m.memory_total_bytes, 16384 * 1024);
    assert_int_equal(machine_usable_memory_bytes(&m), 4194304);
    assert_int_equal(machine_beyond_caches_bytes(&m, 1 << 30), 1048576); /* a quarter of that */
    m.cgroup_memory_bytes = (int64_t)1 << 40;
    m.memory_available_bytes = (int64_t)1 << 40;
    assert_int_equal(machine_beyond_caches_bytes(&m, 1 << 20), 4 * 28160 * 1024);
    assert_int_equal(machine_beyond_caches_bytes(&m, 1 << 30), 1 << 30);
    assert_true(m.cgroup_cpus == 1.5);
    assert_string_equal(m.kernel, "Linux 6.1.0-test");
    assert_string_equal(m.transparent_huge_pages, "never");
    assert_int_equal(m.boost, 1);
    static const char *const noise[] = {"governor", "boost", "smt", "load", "numa", "huge pages", "memory"};
    for (size_t i = 0; i < countof(noise); i++) {
        assert_true(has_noise(&m, noise[i]));
    }
    assert_false(has_noise(&m, "hypervisor"));
    arena_clear(&a);
}

static void an_arm_machine_is_read(void **state) {
    (void)state;
    arena a = {0};
    machine_facts m;
    put("/proc/cpuinfo", "processor\t: 0\nBogoMIPS\t: 50.00\nFeatures\t: fp asimd asimddp sve bf16\n"
                         "CPU implementer\t: 0x41\nCPU architecture: 8\nCPU variant\t: 0x1\nCPU part\t: 0xd40\n");
    assert_int_equal(machine_read(&a, folder, &m, NULL), ASSAY_OK);
    assert_string_equal(m.cpu_vendor, "ARM");
    assert_int_equal(m.cpu_model_number, 0xd40);
    assert_null(m.cpu_model);
    assert_int_equal(m.n_isa, 4);
    arena_clear(&a);
}

static void an_old_control_group_is_read(void **state) {
    (void)state;
    arena a = {0};
    machine_facts m;
    put("/proc/self/cgroup", "5:cpuset:/x\n4:cpu,cpuacct:/x/y\n3:memory:/x\n");
    put("/sys/fs/cgroup/cpu/x/y/cpu.cfs_quota_us", "-1\n");
    put("/sys/fs/cgroup/cpu/x/y/cpu.cfs_period_us", "100000\n");
    put("/sys/fs/cgroup/cpu/x/cpu.cfs_quota_us", "50000\n");
    put("/sys/fs/cgroup/cpu/x/cpu.cfs_period_us", "100000\n");
    put("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
    put("/sys/fs/cgroup/memory/x/memory.limit_in_bytes", "1048576\n");
    assert_int_equal(machine_read(&a, folder, &m, NULL), ASSAY_OK);
    assert_true(m.cgroup_cpus == 0.5);
    assert_int_equal(m.cgroup_memory_bytes, 1048576);
    arena_clear(&a);
}

static void an_empty_or_strange_machine_is_no_error(void **state) {
    (void)state;
    arena a = {0};
    machine_facts m;
    assert_int_equal(machine_read(&a, "/nowhere/at/all", &m, NULL), ASSAY_OK);
    assert_null(m.cpu_model);
    assert_int_equal(m.n_caches, 0);
    assert_int_equal(machine_last_level_bytes(&m), 0);
    assert_int_equal(machine_beyond_caches_bytes(&m, 1 << 20), 1 << 20);
    assert_true(isnan(m.cgroup_cpus) && isnan(m.load_average));
    put("/proc/cpuinfo", ":::\n\n\xff\xfe:\n");
    put(CPU "/online", "0-,,7-3,x\n");
    put(CPU0 "0/size", "99999999999999999999G\n");
    put("/proc/self/cgroup", "nonsense\n::\n0:\n");
    put("/proc/loadavg", "\n");
    assert_int_equal(machine_read(&a, folder, &m, NULL), ASSAY_OK);
    arena_clear(&a);
}

static void this_machine_is_read(void **state) {
    (void)state;
    arena a = {0};
    machine_facts m;
    assert_int_equal(machine_read(&a, "", &m, NULL), ASSAY_OK);
    assert_true(m.logical_cpus >= 1 && m.usable_cpus >= 1);
    assert_non_null(m.architecture);
    assert_true(m.memory_total_bytes > 0);
    double mhz = machine_measure_clock_mhz();
    assert_true(isnan(mhz) || mhz > 0);
    char bytes[32];
    print_message("%s, %d CPUs, nominal %.0f MHz, measured %.0f MHz, %s last-level cache, on %s\n",
                  m.cpu_model != NULL ? m.cpu_model : "?", m.logical_cpus, m.nominal_mhz, mhz,
                  text_of_bytes(bytes, (double)machine_last_level_bytes(&m)),
                  m.hypervisor != NULL ? m.hypervisor : "bare metal");
    for (size_t i = 0; i < m.n_noise; i++) {
        print_message("%s: %s; %s\n", m.noise[i].name, m.noise[i].detail, m.noise[i].advice);
    }
    arena_clear(&a);
}

static void compilers_are_asked(void **state) {
    (void)state;
    arena a = {0};
    const machine_compiler *compilers = NULL;
    size_t n = 0;
    char path[64];
    snprintf(path, sizeof path, "%s/mycc", folder);
    put("/mycc", "#!/bin/sh\necho my compiler 7\necho more\nsleep 60\n");
    assert_int_equal(chmod(path, 0755), 0);
    char *old_path = strdup(getenv("PATH"));
    setenv("PATH", "/nowhere", 1);
    setenv("ASSAY_CC", path, 1);
    assert_int_equal(machine_find_compilers(&a, &compilers, &n, NULL), ASSAY_OK);
    setenv("PATH", old_path, 1);
    free(old_path);
    assert_int_equal(n, 1);
    assert_string_equal(compilers[0].name, path);
    assert_true(compilers[0].is_used && compilers[0].path != NULL);
    setenv("ASSAY_CC", "nosuchcc", 1);
    assert_int_equal(machine_find_compilers(&a, &compilers, &n, NULL), ASSAY_OK);
    assert_true(n > 0 && compilers[n - 1].is_used && compilers[n - 1].path == NULL);
    assert_string_equal(compilers[n - 1].name, "nosuchcc");
    setenv("ASSAY_CC", "", 1);
    assert_int_equal(machine_find_compilers(&a, &compilers, &n, NULL), ASSAY_OK);
    assert_true(n > 0 && compilers[0].is_used && strncmp(compilers[0].name, "cc", 2) == 0);
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < i; k++) {
            assert_true(strcmp(compilers[i].path, compilers[k].path) != 0 || strcmp(compilers[i].version, compilers[k].version) != 0);
        }
        assert_non_null(compilers[i].version);
        print_message("%s is %s: %s\n", compilers[i].name, compilers[i].path, compilers[i].version);
    }
    arena_clear(&a);
}

static void links_are_one_compiler(void **state) {
    (void)state;
    arena a = {0};
    const machine_compiler *compilers = NULL;
    size_t n = 0;
    char *old_path = strdup(getenv("PATH"));
    put("/cc", "#!/bin/sh\necho it is ${0##*/} 7\n"); /* as a launcher, which says what it was called */
    char cc[64], gcc[64];
    snprintf(cc, sizeof cc, "%s/cc", folder);
    snprintf(gcc, sizeof gcc, "%s/gcc", folder);
    assert_int_equal(chmod(cc, 0755), 0);
    assert_int_equal(symlink("cc", gcc), 0);
    setenv("PATH", folder, 1);
    unsetenv("ASSAY_CC");
    assert_int_equal(machine_find_compilers(&a, &compilers, &n, NULL), ASSAY_OK);
    assert_int_equal(n, 2);
    put("/cc", "#!/bin/sh\necho it is gcc 7\n");
    assert_int_equal(chmod(cc, 0755), 0);
    setenv("ASSAY_CC", "gcc", 1);
    assert_int_equal(machine_find_compilers(&a, &compilers, &n, NULL), ASSAY_OK);
    assert_int_equal(n, 1);
    assert_string_equal(compilers[0].name, "cc, gcc");
    assert_true(compilers[0].is_used);
    setenv("PATH", old_path, 1);
    unsetenv("ASSAY_CC");
    free(old_path);
    unlink(gcc);
    arena_clear(&a);
}

static void disorder_is_disturbance(void **state) {
    (void)state;
    assert_true(ceilings_is_disturbed(0, 0) && ceilings_is_disturbed(0.01, 0) && ceilings_is_disturbed(NAN, 0));
    assert_true(ceilings_is_disturbed(45, 245));
    assert_false(ceilings_is_disturbed(200, 245) || ceilings_is_disturbed(17, 0) || ceilings_is_disturbed(500, 245));
}

static void bandwidths_are_positive(void **state) {
    (void)state;
    lab_clock clock = clock_monotonic();
    static const size_t sizes[] = {4096, 1 << 20, 1 << 24};
    for (size_t i = 0; i < countof(sizes); i++) {
        bandwidth b;
        assert_int_equal(ceilings_bandwidth(sizes[i], 1, 0.01, &clock, &b, NULL), ASSAY_OK);
        assert_true(b.read_gbytes_per_s > 0 && b.copy_gbytes_per_s > 0);
        print_message("%zu bytes: read %.1f GB/s, copy %.1f GB/s\n", sizes[i], b.read_gbytes_per_s, b.copy_gbytes_per_s);
    }
    bandwidth b = {.threads = 9};
    assert_int_equal(ceilings_bandwidth(10, 1, 0, &clock, &b, NULL), ASSAY_INVALID);
    assert_int_equal(ceilings_bandwidth(SIZE_MAX, 1, 0, &clock, &b, NULL), ASSAY_INVALID);
    assert_int_equal(b.threads, 9);
}

static int make_folder(void **state) {
    (void)state;
    return mkdtemp(folder) == NULL;
}

static int remove_one(const char *path, const struct stat *info, int kind, struct FTW *where) {
    (void)info;
    (void)kind;
    (void)where;
    return remove(path);
}

static int remove_folder(void **state) {
    (void)state;
    return nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_server_is_read),        cmocka_unit_test(an_arm_machine_is_read),
        cmocka_unit_test(an_old_control_group_is_read), cmocka_unit_test(an_empty_or_strange_machine_is_no_error),
        cmocka_unit_test(this_machine_is_read),    cmocka_unit_test(compilers_are_asked),
        cmocka_unit_test(links_are_one_compiler),
        cmocka_unit_test(disorder_is_disturbance),
        cmocka_unit_test(bandwidths_are_positive),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
