/* SPDX-License-Identifier: Apache-2.0 */
/* What the engine did is in the trace: every call with its kernels, shapes and cost, and it reads back as figures. */
#include "assay/profile.h"

#include "base/file.h"
#include "engine/kernels/observer.h"
#include "lab/experiment/utilization_run.h"
#include "lab/trace/figures.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "unit.h"

static char folder[64];

static int make_folder(void **state) {
    (void)state;
    strcpy(folder, "/tmp/assay-test-XXXXXX");
    return mkdtemp(folder) != NULL ? 0 : -1;
}

static int remove_folder(void **state) {
    (void)state;
    return rmdir(folder); /* fails when something was left behind */
}

static const char *path_of(char *buffer, const char *name) {
    snprintf(buffer, 128, "%s/%s", folder, name);
    return buffer;
}

static int count_of(const char *where, const char *what) {
    int n = 0;
    for (const char *at = where; (at = strstr(at, what)) != NULL; at += strlen(what)) {
        n++;
    }
    return n;
}

static assay_tensor *ones(int64_t rows, int64_t columns) {
    const int64_t sizes[] = {rows, columns};
    assay_tensor *made = NULL;
    assert_int_equal(assay_tensor_new(ASSAY_F32, 2, sizes, NULL, &made, NULL), ASSAY_OK);
    for (int64_t i = 0; i < rows * columns; i++) {
        ((float *)assay_tensor_data(made))[i] = 1;
    }
    return made;
}

/* Calls op on (a, b); what it answers is dropped. */
static assay_status call_of_two(assay_session *session, const char *name, assay_tensor *a, assay_tensor *b,
                                assay_error *err) {
    const assay_op *found = NULL;
    assay_tensor *out = NULL;
    assay_value values[2] = {{.kind = ASSAY_VALUE_TENSOR}, {.kind = ASSAY_VALUE_TENSOR}};
    values[0].tensor = a;
    values[1].tensor = b;
    assert_int_equal(assay_op_find(session, name, &found, err), ASSAY_OK);
    assay_status result = assay_call(session, found, values, 2, &out, 1, err);
    if (result == ASSAY_OK) {
        assay_tensor_free(out);
    }
    return result;
}

static trace_figures figures_of(const char *path, arena *memory) {
    trace_figures figures;
    error err = {0};
    const trace_options reading = {.by_operator = true, .label = "CPU"};
    if (trace_figures_of_file(path, &reading, memory, &figures, &err) != ASSAY_OK) {
        print_error("%s: %s\n", path, err.message);
        assert_true(false);
    }
    for (int i = 0; i < TRACE_N_WARNINGS; i++) {
        assert_int_equal(figures.warnings.count[i], 0);
    }
    return figures;
}

enum { N_MM = 30, N_ADD = 50 };

static void a_sessions_calls_are_in_its_trace(void **state) {
    (void)state;
    char path[128];
    assay_session *session = NULL;
    assay_error err = {0};
    arena memory = {0};
    text got = {0};
    assert_int_equal(assay_session_new(&session, &err), ASSAY_OK);
    assay_tensor *a = ones(4, 8), *b = ones(8, 16), *c = ones(4, 8);
    assert_int_equal(call_of_two(session, "mm", a, b, &err), ASSAY_OK); /* before the start: not in it */
    assert_int_equal(assay_profile_start(session, path_of(path, "calls.json"), &err), ASSAY_OK);
    for (int i = 0; i < N_MM; i++) {
        assert_int_equal(call_of_two(session, "mm", a, b, &err), ASSAY_OK);
    }
    for (int i = 0; i < N_ADD; i++) {
        assert_int_equal(call_of_two(session, "add.Tensor", a, c, &err), ASSAY_OK);
    }
    assert_int_equal(call_of_two(session, "mm", a, c, &err), ASSAY_INVALID);
    assert_int_equal(assay_profile_stop(session, &err), ASSAY_OK);
    assert_int_equal(call_of_two(session, "mm", a, b, &err), ASSAY_OK);

    assert_int_equal(file_read(path, 1 << 24, &got, &err), ASSAY_OK);
    const char *json = text_get(&got);
    assert_int_equal(count_of(json, "\"name\":\"aten::mm\""), N_MM);
    assert_int_equal(count_of(json, "\"name\":\"aten::add\""), N_ADD);
    assert_int_equal(count_of(json, "\"name\":\"failed call\""), 1);
    assert_int_equal(count_of(json, "\"ph\":\"s\""), N_MM + N_ADD);
    assert_int_equal(count_of(json, "\"ph\":\"f\""), N_MM + N_ADD);
    assert_true(count_of(json, "\"resident_bytes\"") >= 2);
    assert_int_equal(count_of(json, "\"Input Dims\":[[4,8],[8,16]],\"Input type\":[\"float32\",\"float32\"],"
                                    "\"Output Dims\":[[4,16]],\"Output type\":[\"float32\"],\"flops\":1024,\"bytes\":896"),
                     2 * N_MM); /* of call and kernel */

    trace_figures figures = figures_of(path, &memory);
    assert_int_equal(figures.n_kernels, N_MM + N_ADD);
    assert_int_equal(figures.n_operators, 2);
    assert_true(fabs(figures.strict.attributed - 1) < 1e-9);
    assert_true(figures.strict.by_operator.matmul > 0);
    assert_true(figures.strict.by_name.matmul > 0);
    assert_int_equal(figures.n_devices, 1);
    double summed_s = 0;
    for (size_t i = 0; i < figures.n_operators; i++) {
        summed_s += figures.operators[i].kernel_s;
        assert_int_equal(figures.operators[i].n_kernels, strcmp(figures.operators[i].name, "aten::mm") == 0 ? N_MM : N_ADD);
    }
    assert_true(fabs(summed_s - figures.kernel_s) < 1e-12);
    text_clear(&got);
    arena_clear(&memory);
    unlink(path);
    assay_tensor_free(a);
    assay_tensor_free(b);
    assay_tensor_free(c);
    assay_session_free(session);
}

static void starts_and_stops_that_make_no_sense_are_told(void **state) {
    (void)state;
    char path[128], other[128];
    assay_session *session = NULL;
    assay_error err = {0};
    assert_int_equal(assay_session_new(&session, &err), ASSAY_OK);
    assert_int_equal(assay_profile_stop(session, &err), ASSAY_INVALID);
    assert_int_equal(assay_profile_start(session, path_of(path, "no/such/folder.json"), &err), ASSAY_IO);
    assert_int_equal(assay_profile_start(session, path_of(path, "one.json.gz"), &err), ASSAY_OK);
    assert_int_equal(assay_profile_start(session, path_of(other, "two.json.gz"), &err), ASSAY_INVALID);
    assert_int_equal(assay_profile_stop(session, &err), ASSAY_OK);
    assert_int_equal(assay_profile_stop(session, &err), ASSAY_INVALID);
    assert_int_equal(access(path, F_OK), 0);
    assert_int_not_equal(access(other, F_OK), 0);
    unlink(path);
    assay_session_free(session);
}

/* Two sessions, one of them profiled: the other's calls are not in the trace. */
static void sessions_are_watched_each_on_its_own(void **state) {
    (void)state;
    char path[128];
    arena memory = {0};
    assay_session *sessions[2] = {NULL, NULL};
    assay_error err = {0};
    for (int i = 0; i < 2; i++) {
        assert_int_equal(assay_session_new(&sessions[i], &err), ASSAY_OK);
    }
    assay_tensor *a = ones(3, 3), *b = ones(3, 3);
    assert_int_equal(assay_profile_start(sessions[0], path_of(path, "first.json"), &err), ASSAY_OK);
    for (int i = 0; i < 10; i++) {
        assert_int_equal(call_of_two(sessions[i % 2], "add.Tensor", a, b, &err), ASSAY_OK);
    }
    assert_int_equal(assay_profile_stop(sessions[0], &err), ASSAY_OK);
    assert_int_equal(figures_of(path, &memory).n_kernels, 5);
    assert_null(observer_of_thread);
    for (int i = 0; i < 2; i++) {
        assay_session_free(sessions[i]);
    }
    arena_clear(&memory);
    unlink(path);
    assay_tensor_free(a);
    assay_tensor_free(b);
}

static utilization_run_options run_of(const char *operator_name, const char *text_of_input, const char *into) {
    return (utilization_run_options){.operator_name = operator_name,
                                     .input = text_of_input,
                                     .backend = "eager",
                                     .n_runs = 7,
                                     .threads = 2,
                                     .folder = into,
                                     .by_operator = true};
}

static void an_operator_is_run_and_its_trace_read(void **state) {
    (void)state;
    char into[128];
    arena memory = {0};
    error err = {0};
    utilization_result got;
    utilization_run_options o = run_of("aten.mm.default", "((T([64, 32], f32), T([32, 48], f32)), {})", path_of(into, "run"));
    assert_int_equal(utilization_run(&o, &memory, &got, &err), ASSAY_OK);
    assert_int_equal(got.figures.n_kernels, 7);
    assert_string_equal(got.figures.operators[0].name, "aten::mm");
    assert_true(got.figures.strict.by_operator.matmul > 0);
    assert_true(got.figures.compat.utilization > 0);
    assert_int_equal(unlink(got.path), 0);
    /* What is written in place is put back, as copies; a view runs no kernel at all. */
    o.operator_name = "mul_.Tensor";
    o.input = "((T([64], f32), T([64], f32)), {})";
    assert_int_equal(utilization_run(&o, &memory, &got, &err), ASSAY_OK);
    assert_int_equal(got.figures.n_kernels, 7);
    assert_true(got.figures.devices[0].split.memcpy_s > 0);
    assert_int_equal(unlink(got.path), 0);
    o.operator_name = "t.default";
    o.input = "((T([64, 2], f32),), {})";
    assert_int_equal(utilization_run(&o, &memory, &got, &err), ASSAY_OK);
    assert_int_equal(got.figures.n_kernels, 0);
    assert_int_equal(unlink(got.path), 0);
    /* A backend that tells of no kernels: the run is one. */
    o.backend = "reference";
    o.operator_name = "add.Tensor";
    o.input = "((T([8], f32), T([8], f32)), {})";
    assert_int_equal(utilization_run(&o, &memory, &got, &err), ASSAY_OK);
    assert_int_equal(got.figures.n_kernels, 7);
    assert_int_equal(unlink(got.path), 0);
    assert_int_equal(rmdir(into), 0);
    arena_clear(&memory);
}

/* A kernel that two threads share: each has its lane, the calling thread's kernel spans the other's share. */
static void threads_have_lanes_of_their_own(void **state) {
    (void)state;
    char into[128];
    arena memory = {0};
    error err = {0};
    text got = {0};
    utilization_result result;
    utilization_run_options o =
        run_of("add.Tensor", "((T([512, 1024], f32), T([512, 1024], f32)), {})", path_of(into, "lanes"));
    assert_int_equal(utilization_run(&o, &memory, &result, &err), ASSAY_OK);
    const trace_device *cpu = &result.figures.devices[0];
    assert_string_equal(cpu->name, "CPU 0");
    assert_int_equal(cpu->n_streams, 2);
    assert_int_equal(result.figures.n_kernels, 2 * o.n_runs);
    assert_int_equal(result.figures.n_operators, 1);
    assert_true(fabs(result.figures.strict.attributed - 1) < 1e-9);
    double calling_s = 0, other_s = 0;
    for (size_t i = 0; i < cpu->n_streams; i++) {
        assert_int_equal(cpu->streams[i].split.n_events, o.n_runs);
        *(strcmp(cpu->streams[i].id, "0") == 0 ? &calling_s : &other_s) = cpu->streams[i].split.busy_s;
    }
    assert_true(other_s > 0 && other_s <= calling_s);
    assert_true(fabs(cpu->split.busy_s - calling_s) < 1e-9);
    assert_true(fabs(result.figures.kernel_s - calling_s - other_s) < 1e-9);
    assert_int_equal(file_read(result.path, 1 << 24, &got, &err), ASSAY_OK);
    assert_int_equal(count_of(text_get(&got), "{\"name\":\"worker 1\"}"), 1);
    text_clear(&got);
    assert_int_equal(unlink(result.path), 0);
    assert_int_equal(rmdir(into), 0);
    arena_clear(&memory);
}

/* Kernels that find their places by indices share their work in regions of their own. */
static void kernels_by_index_have_lanes_too(void **state) {
    (void)state;
    static const struct {
        const char *operator_name, *input;
    } rows[] = {
        {"gather.default", "((T([512, 1024], f32), 1, T([512, 1024], i64)), {})"},
        {"nonzero.default", "((T([512, 1024], b8),), {})"},
        {"index_put.default", "((T([4096, 256], f32), [T([4096], i64)], T([4096, 256], f32), True), {})"},
        {"_embedding_bag.default",
         "((T([4096, 64], f32), T([8192], i64), T([1024], i64), False, 0, False, None), {})"},
        {"_embedding_bag_per_sample_weights_backward.default",
         "((T([1024, 64], f32), T([4096, 64], f32), T([8192], i64), T([1024], i64), T([8192], i64), 0), {})"},
    };
    for (size_t i = 0; i < countof(rows); i++) {
        char into[128];
        arena memory = {0};
        error err = {0};
        utilization_result got;
        utilization_run_options o = run_of(rows[i].operator_name, rows[i].input, path_of(into, "by_index"));
        if (utilization_run(&o, &memory, &got, &err) != ASSAY_OK) {
            print_error("%s: %s\n", rows[i].operator_name, err.message);
            assert_true(false);
        }
        const trace_device *cpu = &got.figures.devices[0];
        if (cpu->n_streams != 2) {
            print_error("%s: expected lanes of 2 threads, got %zu\n", rows[i].operator_name, cpu->n_streams);
            assert_true(false);
        }
        assert_true(cpu->streams[0].split.busy_s > 0 && cpu->streams[1].split.busy_s > 0);
        assert_int_equal(unlink(got.path), 0);
        assert_int_equal(rmdir(into), 0);
        arena_clear(&memory);
    }
}

static void runs_that_cannot_be_are_told(void **state) {
    (void)state;
    static const struct {
        const char *operator_name, *input, *backend;
        status expected;
        const char *message;
    } rows[] = {
        {"aten.mmm.default", "((), {})", "eager", ASSAY_NOT_FOUND, "mm"},
        {"mm", "((T([4, 4], f32), {})", "eager", ASSAY_PARSE, "column"},
        {"mm", "[1]", "eager", ASSAY_INVALID, "as recorded"},
        {"mm", "((T([4, 4], f32),), {})", "eager", ASSAY_INVALID, "mat2"},
        {"mm", "((T([4, 5], f32), T([4, 5], f32)), {})", "eager", ASSAY_INVALID, "mm"},
        {"mm", "((T([4, 4], f32), T([4, 5], f32)), {})", "eagre", ASSAY_NOT_FOUND, "eager"},
    };
    for (size_t i = 0; i < countof(rows); i++) {
        char into[128];
        arena memory = {0};
        error err = {0};
        utilization_result got;
        utilization_run_options o = run_of(rows[i].operator_name, rows[i].input, path_of(into, "never"));
        o.backend = rows[i].backend;
        assert_int_equal(utilization_run(&o, &memory, &got, &err), rows[i].expected);
        if (strstr(err.message, rows[i].message) == NULL) {
            print_error("expected '%s' in: %s\n", rows[i].message, err.message);
            assert_true(false);
        }
        assert_int_not_equal(access(into, F_OK), 0);
        arena_clear(&memory);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_sessions_calls_are_in_its_trace),
        cmocka_unit_test(starts_and_stops_that_make_no_sense_are_told),
        cmocka_unit_test(sessions_are_watched_each_on_its_own),
        cmocka_unit_test(an_operator_is_run_and_its_trace_read),
        cmocka_unit_test(threads_have_lanes_of_their_own),
        cmocka_unit_test(kernels_by_index_have_lanes_too),
        cmocka_unit_test(runs_that_cannot_be_are_told),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
