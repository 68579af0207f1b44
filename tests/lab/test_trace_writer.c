/* SPDX-License-Identifier: Apache-2.0 */
/* What is recorded is in the file, whole, whatever threads and sizes; it is JSON; and it reads back as figures. */
#include "base/file.h"
#include "base/rng.h"
#include "lab/experiment/utilization.h"
#include "lab/trace/event.h"
#include "lab/trace/writer.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h> /* last: its fail() is a macro */

static char folder[64];

static int make_folder(void **state) {
    (void)state;
    strcpy(folder, "/tmp/assay-test-XXXXXX");
    return mkdtemp(folder) != NULL ? 0 : -1;
}

static int remove_folder(void **state) {
    (void)state;
    return rmdir(folder); /* fails when a test, or the writer, left something behind */
}

static const char *path_of(char *buffer, const char *name) {
    snprintf(buffer, 128, "%s/%s", folder, name);
    return buffer;
}

enum { N_THREADS = 4, N_EVENTS = 60000 };

typedef struct thread_job {
    trace_writer *writer;
    int thread;
} thread_job;

/* Every event of a thread has a start of its own and a name out of a few, some of them hard to print. */
static const char *const names[] = {"aten::mm", "a \"quoted\" \\ name", "caf\xc3\xa9\n", "bad \xff utf8", ""};

static void *record_many(void *argument) {
    const thread_job *job = argument;
    trace_recorder *r = trace_writer_recorder(job->writer);
    const int64_t left[] = {64, -1}, right[] = {1};
    const trace_dims dims[] = {{2, left}, {0, NULL}, {1, right}};
    const char *const types[] = {"float32", "b\"8"};
    const trace_place at = {.process = 7, .thread = job->thread};
    trace_name_thread(r, at, "worker");
    for (int i = 0; i < N_EVENTS; i++) {
        const trace_arg args[] = {
            {.key = "Input Dims", .kind = TRACE_ARG_DIMS, .dims = {dims, 3}},
            {.key = "Input type", .kind = TRACE_ARG_TEXTS, .texts = {types, 2}},
            {.key = "flops", .kind = TRACE_ARG_INT, .integer = i % 3 == 0 ? INT64_MIN : i},
            {.key = "intensity", .kind = TRACE_ARG_REAL, .real = i % 5 == 0 ? NAN : 0.25 * (i % 7)},
            {.key = "note", .kind = TRACE_ARG_TEXT, .text = i % 2 == 0 ? "" : "x\ty"}};
        trace_complete(r, at, "cpu_op", names[i % 5], (int64_t)i * 1001, (int64_t)i * 1001 + i % 900, args, 5);
    }
    return NULL;
}

typedef struct tally {
    uint64_t n_complete, n_flows, n_counters, n_metadata;
    double seen[N_THREADS]; /* sums of the starts, in us */
    uint64_t count[N_THREADS];
} tally;

static status count_event(void *context, const trace_event *e, error *err) {
    (void)err;
    tally *t = context;
    t->n_complete += e->phase == 'X';
    t->n_flows += e->phase == 's' || e->phase == 'f';
    t->n_counters += e->phase == 'C';
    t->n_metadata += e->phase == 'M';
    if (e->phase == 'X' && e->pid.number == 7) {
        int thread = (int)e->tid.number;
        uint64_t i = (uint64_t)llround(e->start_us * 1000 / 1001);
        assert_true(thread >= 0 && thread < N_THREADS);
        assert_true(llround(e->start_us * 1000) == (long long)i * 1001);
        assert_true(llround(e->duration_us * 1000) == (long long)(i % 900));
        assert_string_equal(text_get(&e->name), i % 5 == 3 ? "bad \xef\xbf\xbd utf8" : names[i % 5]);
        t->seen[thread] += (double)i;
        t->count[thread]++;
    }
    return ASSAY_OK;
}

static void forget(void *context) {
    *(tally *)context = (tally){0};
}

static tally read_back(const char *path) {
    tally t = {0};
    const trace_reading reading = {.label = "GPU", .visit = count_event, .forget = forget, .context = &t};
    trace_source *source = NULL;
    trace_warnings warnings = {0};
    error err = {0};
    assert_int_equal(trace_source_open(path, &source, &err), ASSAY_OK);
    if (trace_read(source, &reading, &warnings, &err) != ASSAY_OK) {
        fail_msg("%s: %s", path, err.message);
    }
    for (int i = 0; i < TRACE_N_WARNINGS; i++) {
        assert_int_equal(warnings.count[i], 0);
    }
    trace_source_close(source);
    return t;
}

static void threads_lose_nothing(void **state) {
    (void)state;
    const char *const files[] = {"many.json", "many.json.gz"};
    for (size_t k = 0; k < countof(files); k++) {
        char path[128];
        trace_writer *w = NULL;
        error err = {0};
        pthread_t threads[N_THREADS];
        thread_job jobs[N_THREADS];
        assert_int_equal(trace_writer_open(path_of(path, files[k]), &w, &err), ASSAY_OK);
        for (int i = 0; i < N_THREADS; i++) {
            jobs[i] = (thread_job){.writer = w, .thread = i};
            assert_int_equal(pthread_create(&threads[i], NULL, record_many, &jobs[i]), 0);
        }
        for (int i = 0; i < N_THREADS; i++) {
            pthread_join(threads[i], NULL);
        }
        assert_int_equal(trace_writer_close(w, &err), ASSAY_OK);
        tally t = read_back(path);
        assert_int_equal(t.n_complete, N_THREADS * N_EVENTS);
        assert_int_equal(t.n_metadata, N_THREADS);
        for (int i = 0; i < N_THREADS; i++) {
            assert_int_equal(t.count[i], N_EVENTS);
            assert_true(t.seen[i] == (double)N_EVENTS * (N_EVENTS - 1) / 2);
        }
        unlink(path);
    }
}

static void what_is_printed_is_what_was_said(void **state) {
    (void)state;
    char path[128];
    trace_writer *w = NULL;
    error err = {0};
    text got = {0};
    const trace_place host = {1, 2}, device = {-3, 0};
    const int64_t sizes[] = {2, 3};
    const trace_dims dims[] = {{2, sizes}, {0, NULL}};
    assert_int_equal(trace_writer_open(path_of(path, "said.json"), &w, &err), ASSAY_OK);
    trace_recorder *r = trace_writer_recorder(w);
    trace_name_process(r, 1, "prog", "CPU");
    trace_name_thread(r, host, "main");
    const trace_arg args[] = {{.key = "d", .kind = TRACE_ARG_DIMS, .dims = {dims, 2}},
                              {.key = "n", .kind = TRACE_ARG_INT, .integer = -5}};
    trace_complete(r, host, "cpu_op", "op", -1500, 1, args, 2);
    trace_flow(r, host, true, UINT64_MAX, 0);
    trace_flow(r, device, false, UINT64_MAX, 12345678);
    const trace_arg value = {.key = "bytes", .kind = TRACE_ARG_REAL, .real = 1.5};
    trace_counter(r, 1, "memory", 2000, &value, 1);
    trace_range(r, host, "rep", 3, 0, 999);
    assert_int_equal(trace_writer_close(w, &err), ASSAY_OK);
    assert_int_equal(file_read(path, 1 << 20, &got, &err), ASSAY_OK);
    assert_string_equal(
        text_get(&got),
        "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n"
        "{\"ph\":\"M\",\"cat\":\"__metadata\",\"name\":\"process_name\",\"args\":{\"name\":\"prog\"},\"pid\":1,\"tid\":"
        "0},\n"
        "{\"ph\":\"M\",\"cat\":\"__metadata\",\"name\":\"process_labels\",\"args\":{\"labels\":\"CPU\"},\"pid\":1,"
        "\"tid\":0},\n"
        "{\"ph\":\"M\",\"cat\":\"__metadata\",\"name\":\"thread_name\",\"args\":{\"name\":\"main\"},\"pid\":1,\"tid\":"
        "2},\n"
        "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"op\",\"args\":{\"d\":[[2,3],[]],\"n\":-5},\"pid\":1,\"tid\":2,"
        "\"ts\":-1.500,\"dur\":1.501},\n"
        "{\"ph\":\"s\",\"cat\":\"ac2g\",\"name\":\"ac2g\",\"pid\":1,\"tid\":2,\"ts\":0.000,\"id\":18446744073709551615}"
        ",\n"
        "{\"ph\":\"f\",\"bp\":\"e\",\"cat\":\"ac2g\",\"name\":\"ac2g\",\"pid\":-3,\"tid\":0,\"ts\":12345.678,\"id\":"
        "18446744073709551615},\n"
        "{\"ph\":\"C\",\"cat\":\"counter\",\"name\":\"memory\",\"args\":{\"bytes\":1.5},\"pid\":1,\"tid\":0,\"ts\":2."
        "000},\n"
        "{\"ph\":\"X\",\"cat\":\"user_annotation\",\"name\":\"rep_3\",\"pid\":1,\"tid\":2,\"ts\":0.000,\"dur\":0.999}\n"
        "]}\n");
    text_clear(&got);
    unlink(path);
}

static void what_is_too_large_is_cut_and_says_so(void **state) {
    (void)state;
    char path[128];
    trace_writer *w = NULL;
    error err = {0};
    text got = {0};
    char *huge = malloc(100001);
    assert_non_null(huge);
    memset(huge, 'y', 100000);
    huge[100000] = '\0';
    assert_int_equal(trace_writer_open(path_of(path, "cut.json"), &w, &err), ASSAY_OK);
    trace_recorder *r = trace_writer_recorder(w);
    const trace_arg args[] = {{.key = "a", .kind = TRACE_ARG_INT, .integer = 1},
                              {.key = "b", .kind = TRACE_ARG_TEXT, .text = huge},
                              {.key = "c", .kind = TRACE_ARG_INT, .integer = 2}};
    for (int i = 0; i < 100; i++) {
        trace_complete(r, (trace_place){0, 0}, "kernel", huge, i, i + 1, args, 3);
    }
    assert_int_equal(trace_writer_close(w, &err), ASSAY_OK);
    assert_int_equal(file_read(path, 1 << 24, &got, &err), ASSAY_OK);
    assert_non_null(strstr(text_get(&got), "\"args\":{\"a\":1,\"c\":2,\"cut\":true}"));
    tally t = read_back(path);
    assert_int_equal(t.n_complete, 100);
    free(huge);
    text_clear(&got);
    unlink(path);
}

static void a_writer_that_is_off_does_nothing(void **state) {
    (void)state;
    error err = {0};
    trace_recorder *r = trace_writer_recorder(NULL);
    assert_null(r);
    trace_complete(r, (trace_place){0, 0}, "kernel", "k", 0, 1, NULL, 0);
    trace_flow(r, (trace_place){0, 0}, true, 1, 0);
    trace_counter(r, 0, "c", 0, NULL, 0);
    trace_name_process(r, 0, "p", NULL);
    trace_name_thread(r, (trace_place){0, 0}, "t");
    trace_range(r, (trace_place){0, 0}, "rep", 0, 0, 1);
    assert_int_equal(trace_writer_close(NULL, &err), ASSAY_OK);
    trace_writer_abandon(NULL);
}

static void failures_are_told(void **state) {
    (void)state;
    trace_writer *w = NULL;
    error err = {0};
    char path[128];
    assert_int_equal(trace_writer_open(path_of(path, "no/such/folder.json"), &w, &err), ASSAY_IO);
    assert_non_null(strstr(err.message, "no/such/folder.json"));
    assert_int_equal(trace_writer_open(path_of(path, "abandoned.json"), &w, &err), ASSAY_OK);
    trace_complete(trace_writer_recorder(w), (trace_place){0, 0}, "kernel", "k", 0, 1, NULL, 0);
    trace_writer_abandon(w);
    assert_int_not_equal(access(path, F_OK), 0);
    if (access("/dev/full", W_OK) != 0) {
        return;
    }
    /* A spill without room: told at the end, and what fitted is there. */
    char *kept = getenv("TMPDIR") != NULL ? strdup(getenv("TMPDIR")) : NULL;
    setenv("TMPDIR", "/nonexistent", 1);
    assert_int_equal(trace_writer_open(path_of(path, "full.json"), &w, &err), ASSAY_OK);
    trace_recorder *r = trace_writer_recorder(w);
    for (int i = 0; i < 200000; i++) {
        trace_complete(r, (trace_place){0, 0}, "kernel", "k", i, i + 1, NULL, 0);
    }
    assert_int_equal(trace_writer_close(w, &err), ASSAY_IO);
    assert_non_null(strstr(err.message, "events are missing"));
    assert_int_equal(access(path, F_OK), 0);
    unlink(path);
    if (kept != NULL) {
        setenv("TMPDIR", kept, 1);
    } else {
        unsetenv("TMPDIR");
    }
    free(kept);
}

/* A program on a made-up clock: each run is one call of an operator that launches two kernels on two lanes. */
typedef struct fake_program {
    int64_t now_ns;
    int n_runs, n_profiled;
} fake_program;

static int64_t fake_now(void *clock) {
    return ((fake_program *)clock)->now_ns;
}

static status fake_run(void *self, const utilization_context *c, error *err) {
    (void)err;
    fake_program *p = self;
    const trace_place host = {1, 1}, lanes[] = {{2, 0}, {2, 1}};
    int64_t begin = c->now_ns(c->clock);
    p->now_ns += 10000; /* a run takes 10 us */
    p->n_runs++;
    p->n_profiled += c->writer != NULL;
    trace_recorder *r = trace_writer_recorder(c->writer); /* one a run is fine for a test */
    const trace_arg id = {.key = "External id", .kind = TRACE_ARG_INT, .integer = p->n_runs};
    trace_name_process(r, 2, "workers", "CPU 0");
    trace_complete(r, host, "cpu_op", "aten::addmm", begin, begin + 9000, &id, 1);
    trace_complete(r, lanes[0], "kernel", "gemm_f32", begin + 1000, begin + 5000, &id, 1);
    trace_complete(r, lanes[1], "kernel", "add_f32", begin + 3000, begin + 6000, &id, 1);
    return ASSAY_OK;
}

static void a_program_is_run_and_its_trace_read(void **state) {
    (void)state;
    char into[128], trace[128];
    fake_program p = {.now_ns = 5};
    arena memory = {0};
    error err = {0};
    utilization_result got;
    const utilization_program program = {.run = fake_run, .self = &p};
    const utilization_options options = {.folder = path_of(into, "new/folder"),
                                         .n_runs = 20,
                                         .label = "CPU",
                                         .by_operator = true,
                                         .now_ns = fake_now,
                                         .clock = &p};
    assert_int_equal(utilization_measure(&program, &options, &memory, &got, &err), ASSAY_OK);
    assert_int_equal(p.n_runs, 5 + 20 + 20);
    assert_int_equal(p.n_profiled, 20);
    assert_true(fabs(got.wall_s - 20 * 10e-6) < 1e-15);
    assert_true(fabs(got.profiled_wall_s - 20 * 10e-6) < 1e-15);
    assert_true(fabs(got.figures.compat.utilization - 0.5) < 1e-9); /* 1 to 6 of 10 us */
    assert_true(fabs(got.figures.compat.mm_conv - 0.4) < 1e-9);
    assert_true(fabs(got.figures.strict.by_operator.matmul - 0.5) < 1e-9);
    assert_int_equal(got.figures.n_devices, 1);
    assert_int_equal(got.figures.devices[0].n_streams, 2);
    assert_int_equal(got.figures.n_operators, 1);
    assert_string_equal(got.figures.operators[0].name, "aten::addmm");
    assert_string_equal(got.path, path_of(trace, "new/folder/trace.json.gz"));
    assert_int_equal(unlink(got.path), 0);
    assert_int_equal(rmdir(into), 0);
    assert_int_equal(rmdir(path_of(into, "new")), 0);
    arena_clear(&memory);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_lose_nothing),
        cmocka_unit_test(what_is_printed_is_what_was_said),
        cmocka_unit_test(what_is_too_large_is_cut_and_says_so),
        cmocka_unit_test(a_writer_that_is_off_does_nothing),
        cmocka_unit_test(failures_are_told),
        cmocka_unit_test(a_program_is_run_and_its_trace_read),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
