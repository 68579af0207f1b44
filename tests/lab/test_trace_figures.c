/* SPDX-License-Identifier: Apache-2.0 */
/* Figures of traces: those that PyTorch's own function gave for real ones, and a brute-force oracle on random ones. */
#include "base/rng.h"
#include "base/text.h"
#include "lab/trace/figures.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h> /* last: its fail() is a macro */

typedef struct known_row {
    const char *name;
    double wall_s, utilization, mm_conv;
} known_row;

/* ../shared/data/traces/utilization.json: compute_utilization of PyTorch 2.11 over the unprofiled wall time, and over
   the profiled one. */
static const known_row known[] = {
    {"resnet50_eval_cuda", 0.009363870000015595, 0.8889934955764696, 0.3724866398882557},
    {"resnet50_eval_cuda", 0.011603267999987565, 0.7174202581071488, 0.3005977688923489},
    {"resnet50_eval_cpu_cuda", 0.006758302999998023, 0.8216921224069303, 0.34445518523206653},
    {"resnet50_eval_cpu_cuda", 0.009376674999998613, 0.5922402489089492, 0.2482684439547168},
    {"transformer_train_cuda", 0.024299765999984402, 0.6006637918219816, 0.4405577472629004},
    {"transformer_train_cuda", 0.027839516999989655, 0.5242903311125305, 0.3845415194513873},
    {"two_streams_cuda", 0.01742871100000798, 0.9878791501522758, 0.9820846749111088},
    {"two_streams_cuda", 0.017801667999975734, 0.967182412960458, 0.9615093358996378},
};

static void real_traces_give_the_seeds_figures(void **state) {
    (void)state;
    for (size_t i = 0; i < countof(known); i++) {
        text path = {0};
        text_addf(&path, "%s/traces/%s.json.gz", TEST_DATA, known[i].name);
        if (access(text_get(&path), R_OK) != 0) {
            print_message("skipped: %s is not there\n", text_get(&path));
            text_clear(&path);
            skip();
        }
        for (int by_operator = 0; by_operator < 2; by_operator++) {
            const trace_options options = {.base = TRACE_BASE_GIVEN,
                                           .wall_time_s = known[i].wall_s,
                                           .by_operator = by_operator != 0,
                                           .sort_records = by_operator != 0 ? 64 : 0};
            arena memory = {0};
            trace_figures f;
            error err = {0};
            assert_int_equal(trace_figures_of_file(text_get(&path), &options, &memory, &f, &err), ASSAY_OK);
            assert_true(fabs(f.compat.utilization - known[i].utilization) <= 1e-12);
            assert_true(fabs(f.compat.mm_conv - known[i].mm_conv) <= 1e-12);
            assert_true(f.strict.utilization <= f.compat.utilization);
            arena_clear(&memory);
        }
        text_clear(&path);
    }
}

/* Random traces on a grid of quarters of a microsecond, on which the oracle paints. */
enum { MAX_EVENTS = 400, N_CELLS = 4096, N_DEVICES = 3, N_STREAMS = 3, N_THREADS = 2, MAX_DEPTH = 4 };
#define CELL_US 0.25

typedef enum what { A_KERNEL, A_COPY, A_SET, AN_OPERATOR, A_CALL, AN_ANNOTATION } what;

typedef struct made_event {
    what kind;
    int start, length; /* in cells */
    int place, lane;   /* device and stream, or thread */
    int name;          /* in kernel_names or operator_names */
    int correlation, external;
    bool unnamed_category;
} made_event;

typedef struct made {
    made_event events[MAX_EVENTS];
    size_t n;
    int devices;
    bool text_pids, no_launches;
} made;

typedef struct named {
    const char *name;
    trace_work work;
    bool compat;
} named;

static const named kernel_names[] = {
    {"void at::native::elementwise_kernel<4>", TRACE_WORK_OTHER, false},
    {"nvjet_tst_128x64_64x4_1x2_h_bz_TNN", TRACE_WORK_MATMUL, false},
    {"ampere_sgemm_128x64_tn", TRACE_WORK_MATMUL, true},
    {"void cutlass::Kernel2<x>", TRACE_WORK_MATMUL, true},
    {"sm90_xmma_fprop_implicit_gemm_f32", TRACE_WORK_CONVOLUTION, true},
    {"triton_poi_fused_convolution_relu_0", TRACE_WORK_OTHER, true},
    {"void convert_dtype_kernel", TRACE_WORK_OTHER, true},
    {"triton_tem_fused_addmm_3", TRACE_WORK_MATMUL, false},
    {"void pytorch_flash::flash_fwd_kernel<int>", TRACE_WORK_ATTENTION, false},
    {"ncclDevKernel_AllReduce_Sum_f32_RING_LL", TRACE_WORK_COMMUNICATION, false},
};

static const named operator_names[] = {
    {"aten::add_", TRACE_WORK_OTHER, false},
    {"aten::addmm", TRACE_WORK_MATMUL, false},
    {"aten::cudnn_convolution", TRACE_WORK_CONVOLUTION, true},
    {"aten::_flash_attention_forward", TRACE_WORK_ATTENTION, false},
    {"aten::upsample_bilinear2d", TRACE_WORK_OTHER, false},
};

static const what device_kinds[] = {A_KERNEL, A_KERNEL, A_KERNEL, A_KERNEL, A_COPY, A_SET};

static int pick(rng *r, int n) {
    return (int)rng_range(r, 0, n);
}

static made_event *add(made *m) {
    assert_true(m->n < MAX_EVENTS);
    m->events[m->n] = (made_event){0};
    return &m->events[m->n++];
}

/* A thread's operators nest; its calls lie anywhere. */
static void make_operators(made *m, rng *r, int thread, int from, int to, int depth, int *external) {
    while (to - from > 8 && m->n < MAX_EVENTS / 3 && pick(r, 4) != 0) {
        int start = from + pick(r, (to - from) / 2), length = 4 + pick(r, to - start - 4 > 0 ? to - start - 4 : 1);
        *add(m) = (made_event){.kind = AN_OPERATOR,
                               .start = start,
                               .length = length,
                               .lane = thread,
                               .name = pick(r, countof(operator_names)),
                               .external = ++*external};
        if (depth < MAX_DEPTH) {
            make_operators(m, r, thread, start, start + length, depth + 1, external);
        }
        from = start + length;
    }
}

static void make(made *m, rng *r) {
    int external = 0;
    *m = (made){.devices = pick(r, N_DEVICES + 1), .text_pids = pick(r, 2) != 0, .no_launches = pick(r, 4) == 0};
    for (int thread = 0; thread < N_THREADS; thread++) {
        make_operators(m, r, thread, 0, N_CELLS / 2, 0, &external);
    }
    int n = m->devices > 0 ? pick(r, 120) : 0;
    for (int i = 0; i < n; i++) {
        made_event e = {.kind = device_kinds[pick(r, countof(device_kinds))],
                        .start = N_CELLS / 8 + pick(r, N_CELLS / 2),
                        .length = pick(r, 3) == 0 ? 0 : pick(r, 40),
                        .place = pick(r, m->devices),
                        .lane = pick(r, N_STREAMS)};
        e.name = pick(r, countof(kernel_names));
        if (pick(r, 3) != 0 && !m->no_launches) {
            e.correlation = 1 + pick(r, 60); /* numbers are used again, and some calls launch several kernels */
            *add(m) = (made_event){.kind = A_CALL,
                                   .start = pick(r, e.start),
                                   .length = pick(r, 60),
                                   .lane = pick(r, N_THREADS),
                                   .correlation = e.correlation};
        }
        e.external = external > 0 && pick(r, 3) == 0 ? 1 + pick(r, external + 5) : 0;
        *add(m) = e;
        if (pick(r, 10) == 0) {
            *add(m) = (made_event){.kind = AN_ANNOTATION,
                                   .start = pick(r, N_CELLS / 2),
                                   .length = pick(r, 200),
                                   .place = e.place,
                                   .lane = e.lane};
        }
    }
    for (size_t i = m->n; i > 1; i--) { /* files are not in order */
        size_t k = (size_t)rng_range(r, 0, (int64_t)i);
        made_event swapped = m->events[i - 1];
        m->events[i - 1] = m->events[k];
        m->events[k] = swapped;
    }
}

static void write_pid(const made *m, text *out, int device) {
    text_addf(out, m->text_pids ? "\"gpu%d\"" : "%d", device);
}

static void write_event(const made *m, const made_event *e, text *out) {
    static const char *const categories[] = {"kernel", "gpu_memcpy",   "gpu_memset",
                                             "cpu_op", "cuda_runtime", "gpu_user_annotation"};
    static const char *const fixed[] = {NULL, "Memcpy HtoD", "Memset (Device)", NULL, "cudaLaunchKernel", "my range"};
    const char *name = e->kind == A_KERNEL      ? kernel_names[e->name].name
                       : e->kind == AN_OPERATOR ? operator_names[e->name].name
                                                : fixed[e->kind];
    text_addf(out, "{\"ph\":\"X\",\"cat\":\"%s\",\"name\":\"%s\",\"pid\":", categories[e->kind], name);
    bool host = e->kind == AN_OPERATOR || e->kind == A_CALL;
    if (host) {
        text_add(out, "1000");
    } else {
        write_pid(m, out, e->place);
    }
    text_addf(out, ",\"tid\":%d,\"ts\":%.2f,\"dur\":%.2f,\"args\":{\"x\":[1,{}]", e->lane, e->start * CELL_US,
              e->length * CELL_US);
    if (e->correlation != 0) {
        text_addf(out, ",\"correlation\":%d", e->correlation);
    }
    if (e->external != 0) {
        text_addf(out, ",\"External id\":%d", e->external);
    }
    text_add(out, "}},\n");
}

static void write_trace(const made *m, text *out) {
    text_add(out, "{\"traceEvents\":[\n");
    for (size_t i = 0; i < m->n; i++) {
        write_event(m, &m->events[i], out);
    }
    for (int device = 0; device < N_DEVICES; device++) { /* said at the end, for devices without events as well */
        text_add(out, "{\"ph\":\"M\",\"name\":\"process_labels\",\"pid\":");
        write_pid(m, out, device);
        text_addf(out, ",\"args\":{\"labels\":\"GPU %d\"}},\n", device);
    }
    text_add(out, "{\"ph\":\"M\",\"name\":\"process_labels\",\"pid\":1000,\"args\":{\"labels\":\"CPU\"}}]}");
}

/* The oracle: cells painted, then counted. */
typedef bool chooser(const made_event *e, int a, int b);

static bool is_device_work(const made_event *e) {
    return e->kind == A_KERNEL || e->kind == A_COPY || e->kind == A_SET;
}

static bool any_on_gpu(const made_event *e, int a, int b) {
    (void)a, (void)b;
    return is_device_work(e) || e->kind == AN_ANNOTATION;
}

static bool compat_product(const made_event *e, int a, int b) {
    (void)a, (void)b;
    return e->kind == A_KERNEL && kernel_names[e->name].compat;
}

static bool any_kernel(const made_event *e, int a, int b) {
    (void)a, (void)b;
    return e->kind == A_KERNEL;
}

static bool kernel_of_work(const made_event *e, int work, int b) {
    (void)b;
    return e->kind == A_KERNEL && (int)kernel_names[e->name].work == work;
}

static bool product(const made_event *e, int a, int b) {
    return kernel_of_work(e, TRACE_WORK_MATMUL, a) || kernel_of_work(e, TRACE_WORK_CONVOLUTION, b) ||
           kernel_of_work(e, TRACE_WORK_ATTENTION, b);
}

static bool busy_device(const made_event *e, int device, int b) {
    (void)b;
    return is_device_work(e) && e->place == device;
}

static bool busy_stream(const made_event *e, int device, int stream) {
    return busy_device(e, device, 0) && e->lane == stream;
}

static bool computing(const made_event *e, int device, int b) {
    return busy_device(e, device, b) && e->kind == A_KERNEL && kernel_names[e->name].work != TRACE_WORK_COMMUNICATION;
}

static bool communicating(const made_event *e, int device, int b) {
    return busy_device(e, device, b) && kernel_of_work(e, TRACE_WORK_COMMUNICATION, 0);
}

static bool copying(const made_event *e, int device, int b) {
    return busy_device(e, device, b) && e->kind == A_COPY;
}

static void paint(const made *m, chooser *wanted, int a, int b, bool *cells) {
    memset(cells, 0, N_CELLS * sizeof *cells);
    for (size_t i = 0; i < m->n; i++) {
        const made_event *e = &m->events[i];
        for (int c = e->start; wanted(e, a, b) && c < e->start + e->length; c++) {
            cells[c] = true;
        }
    }
}

static double covered_s(const made *m, chooser *wanted, int a, int b) {
    bool cells[N_CELLS];
    int n = 0;
    paint(m, wanted, a, b, cells);
    for (int c = 0; c < N_CELLS; c++) {
        n += cells[c];
    }
    return n * CELL_US / 1e6;
}

static double window_s(const made *m) {
    int first = N_CELLS, last = 0;
    for (size_t i = 0; i < m->n; i++) {
        first = m->events[i].start < first ? m->events[i].start : first;
        int end = m->events[i].start + m->events[i].length;
        last = end > last ? end : last;
    }
    return last > first ? (last - first) * CELL_US / 1e6 : 0;
}

/* The latest launch with the kernel's number that began before it or with it (and earlier in the file). */
static const made_event *launch_of(const made *m, const made_event *kernel) {
    const made_event *found = NULL;
    for (size_t i = 0; i < m->n; i++) {
        const made_event *e = &m->events[i];
        bool earlier = e->start < kernel->start || (e->start == kernel->start && e < kernel);
        if (e->kind == A_CALL && e->correlation == kernel->correlation && kernel->correlation != 0 && earlier &&
            (found == NULL || e->start >= found->start)) {
            found = e;
        }
    }
    return found;
}

/* The operator's number, or -1: by External id, else the innermost around the launch. */
static int operator_of(const made *m, const made_event *kernel) {
    const made_event *found = NULL;
    for (size_t i = 0; i < m->n; i++) {
        const made_event *e = &m->events[i];
        bool earlier = e->start < kernel->start || (e->start == kernel->start && e < kernel);
        if (e->kind == AN_OPERATOR && kernel->external != 0 && e->external == kernel->external && earlier) {
            return e->name;
        }
    }
    const made_event *launch = launch_of(m, kernel);
    for (size_t i = 0; launch != NULL && i < m->n; i++) {
        const made_event *e = &m->events[i];
        bool begun = e->start < launch->start || (e->start == launch->start && e < launch);
        if (e->kind == AN_OPERATOR && e->lane == launch->lane && begun && e->start + e->length > launch->start &&
            (found == NULL || e->length < found->length || (e->length == found->length && e > found))) {
            found = e;
        }
    }
    return found != NULL ? found->name : -1;
}

static void near(const char *what_, double got, double expected, uint64_t trace) {
    if (fabs(got - expected) > 1e-12) {
        fail_msg("trace %llu: %s: expected %.17g, got %.17g", (unsigned long long)trace, what_, expected, got);
    }
}

static void check_idle(const made *m, const trace_device *d, int device, uint64_t trace) {
    bool cells[N_CELLS];
    double idle_s[TRACE_N_IDLE_CAUSES] = {0};
    paint(m, busy_device, device, 0, cells);
    int first = N_CELLS, last = 0; /* of events, empty ones included */
    for (size_t i = 0; i < m->n; i++) {
        const made_event *e = &m->events[i];
        if (busy_device(e, device, 0)) {
            first = e->start < first ? e->start : first;
            last = e->start + e->length > last ? e->start + e->length : last;
        }
    }
    for (int c = first; c < last;) {
        const made_event *next = NULL;
        for (size_t i = 0; !cells[c] && i < m->n; i++) { /* the first event at or behind c */
            const made_event *e = &m->events[i];
            next = busy_device(e, device, 0) && e->start > c && (next == NULL || e->start < next->start) ? e : next;
        }
        if (next == NULL) {
            c++;
            continue;
        }
        const made_event *launch = launch_of(m, next);
        double gap_us = (next->start - c) * CELL_US;
        int launched = launch == NULL ? c : launch->start + launch->length;
        launched = launched < next->start ? launched : next->start;
        int cause = launch != NULL && launched > c ? TRACE_IDLE_HOST_LATE
                    : gap_us <= TRACE_SHORT_GAP_US ? TRACE_IDLE_SHORT_GAP
                                                   : TRACE_IDLE_OTHER;
        idle_s[cause] += gap_us / 1e6;
        c = next->start;
    }
    for (int cause = 0; cause < TRACE_N_IDLE_CAUSES; cause++) {
        near("idle", d->idle.by_cause_s[cause], idle_s[cause], trace);
    }
}

static void check_devices(const made *m, const trace_figures *f, double wall_s, uint64_t trace) {
    for (size_t i = 0; i < f->n_devices; i++) {
        const trace_device *d = &f->devices[i];
        int device = atoi(d->id + (m->text_pids ? 3 : 0));
        double busy_s = covered_s(m, busy_device, device, 0);
        near("busy", d->split.busy_s, busy_s, trace);
        near("idle", d->split.idle_s, wall_s - busy_s, trace);
        near("compute", d->split.compute_s, covered_s(m, computing, device, 0), trace);
        near("communication", d->split.communication_s, covered_s(m, communicating, device, 0), trace);
        near("memcpy", d->split.memcpy_s, covered_s(m, copying, device, 0), trace);
        check_idle(m, d, device, trace);
        for (size_t k = 0; k < d->n_streams; k++) {
            near("stream", d->streams[k].split.busy_s, covered_s(m, busy_stream, device, atoi(d->streams[k].id)),
                 trace);
        }
    }
}

static void check_operators(const made *m, const trace_figures *f, uint64_t trace) {
    double kernel_s[countof(operator_names) + 1] = {0};
    size_t n_known = 0;
    for (size_t i = 0; i < m->n; i++) {
        if (m->events[i].kind == A_KERNEL) {
            kernel_s[operator_of(m, &m->events[i]) + 1] += m->events[i].length * CELL_US / 1e6;
        }
    }
    for (size_t i = 0; i < f->n_operators; i++) {
        int name = -1;
        for (size_t k = 0; f->operators[i].name != NULL && k < countof(operator_names); k++) {
            name = strcmp(operator_names[k].name, f->operators[i].name) == 0 ? (int)k : name;
        }
        near("operator", f->operators[i].kernel_s, kernel_s[name + 1], trace);
        n_known += kernel_s[name + 1] > 0;
    }
    for (size_t k = 0; k <= countof(operator_names); k++) {
        n_known -= kernel_s[k] > 0;
    }
    assert_int_equal(n_known, 0); /* each that launched something has its row */
}

static void check_trace(const made *m, const char *data, size_t n, size_t sort_records, uint64_t trace) {
    const trace_options options = {.by_operator = true, .sort_records = sort_records};
    trace_source *source = NULL;
    arena memory = {0};
    trace_figures f;
    error err = {0};
    assert_int_equal(trace_source_open_memory(data, n, 4096, &source, &err), ASSAY_OK);
    if (trace_figures_of_source(source, &options, &memory, &f, &err) != ASSAY_OK) {
        fail_msg("trace %llu: %s", (unsigned long long)trace, err.message);
    }
    double wall_s = window_s(m);
    near("wall", f.wall_time_s, wall_s, trace);
    if (wall_s > 0) {
        near("compat", f.compat.utilization * wall_s, covered_s(m, any_on_gpu, 0, 0), trace);
        near("compat mm_conv", f.compat.mm_conv * wall_s, covered_s(m, compat_product, 0, 0), trace);
        near("strict", f.strict.utilization * wall_s, covered_s(m, any_kernel, 0, 0), trace);
        near("matmul", f.strict.by_name.matmul * wall_s, covered_s(m, kernel_of_work, TRACE_WORK_MATMUL, 0), trace);
        near("mm_conv", f.strict.by_name.mm_conv * wall_s, covered_s(m, product, 0, 0), trace);
    }
    check_devices(m, &f, wall_s, trace);
    check_operators(m, &f, trace);
    trace_source_close(source);
    arena_clear(&memory);
}

static void random_traces_agree_with_the_oracle(void **state) {
    (void)state;
    const uint64_t seed = 611;
    print_message("seed %llu\n", (unsigned long long)seed);
    made *m = malloc(sizeof *m);
    assert_non_null(m);
    for (uint64_t trace = 0; trace < 300; trace++) {
        rng r = rng_make_stream(seed, trace);
        text data = {0};
        make(m, &r);
        write_trace(m, &data);
        check_trace(m, data.data, data.length, trace % 2 == 0 ? 64 : 0, trace);
        text_clear(&data);
    }
    free(m);
}

/* More names of the host's than are kept: what is asked of a name is answered all the same, each time it comes. */
static void names_beyond_the_limit_count_as_well(void **state) {
    (void)state;
    enum { N = 20000 };
    text data = {0};
    text_add(&data, "[{\"ph\":\"M\",\"name\":\"process_labels\",\"pid\":0,\"args\":{\"labels\":\"GPU 0\"}}");
    for (int i = 0; i < 2 * N; i++) {
        text_addf(&data,
                  ",{\"ph\":\"X\",\"name\":\"%s_%d\",\"cat\":\"user_annotation\",\"pid\":0,\"tid\":%d,\"ts\":%d,"
                  "\"dur\":1}",
                  i % 2 == 0 ? "gemm" : "other", i % N, i % 20, i);
    }
    text_add_char(&data, ']');
    trace_source *source = NULL;
    arena memory = {0};
    trace_figures f;
    error err = {0};
    assert_int_equal(trace_source_open_memory(data.data, data.length, 4096, &source, &err), ASSAY_OK);
    assert_int_equal(trace_figures_of_source(source, &(trace_options){0}, &memory, &f, &err), ASSAY_OK);
    assert_true(fabs(f.compat.utilization - 1) <= 1e-12);
    assert_true(fabs(f.compat.mm_conv - 0.5) <= 1e-12);
    trace_source_close(source);
    arena_clear(&memory);
    text_clear(&data);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(real_traces_give_the_seeds_figures),
        cmocka_unit_test(random_traces_agree_with_the_oracle),
        cmocka_unit_test(names_beyond_the_limit_count_as_well),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
