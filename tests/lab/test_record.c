/* SPDX-License-Identifier: Apache-2.0 */
/* Records: what is written is read back the same, what is missing is null, what is wrong has a position; files of them. */
#include "lab/record/record.h"
#include "lab/record/store.h"

#include "base/file.h"
#include "base/json_tree.h"
#include "base/rng.h"
#include "unit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const machine_cache caches[] = {{1, "data", 49152, 64, 1, 2}, {3, "unified", 33554432, 64, 2, 1}};
static const machine_noise noises[] = {{"governor", "powersave", "set it to performance"}};
static const char *const isa[] = {"avx2", "avx512f"};
static const machine_facts machine = {.architecture = "x86_64",
                                      .cpu_model = "Some CPU",
                                      .cpu_family = 26,
                                      .cpu_model_number = 0,
                                      .cpu_stepping = -1,
                                      .cores = 2,
                                      .caches = caches,
                                      .n_caches = 2,
                                      .isa = isa,
                                      .n_isa = 2,
                                      .isa_used = "avx2",
                                      .memory_total_bytes = (int64_t)1 << 40,
                                      .nominal_mhz = NAN,
                                      .measured_mhz = 4123.5,
                                      .boost = -1,
                                      .smt = 0,
                                      .load_average = 0,
                                      .cgroup_cpus = 1.5,
                                      .noise = noises,
                                      .n_noise = 1};

static record full_record(void) {
    static const char *const models[] = {"a/b_train.txt", "c \"d\".txt"};
    static const int64_t calls[] = {3, 9007199254740993};
    static const double samples[] = {1.5, 0.1, 1e-300, 12345678.901234567};
    static const char *const warnings[] = {"short: a\tb", "na\xc3\xafve"};
    static const record_pair conditions[] = {{"min_time_s", "0.1"}, {"flag", NULL}};
    record r = RECORD_EMPTY;
    r.operator_name = "aten.add.Tensor";
    r.input = "((T([2, 3], f32), T([3], f32)), {'alpha': -inf})\\\n";
    r.models = models;
    r.model_calls = calls;
    r.n_models = 2;
    r.calls = INT64_MAX;
    r.sample_index = 0;
    r.backend = "eager";
    r.baseline = true;
    r.device = "cpu";
    r.dtype = "f32";
    r.threads = 2;
    r.cache = "warm";
    r.channels_last = true;
    r.seed = 0;
    r.precision = 0.02;
    r.status = RECORD_MISMATCH;
    r.reason = "element 3";
    r.samples_ns = samples;
    r.n_samples = 4;
    r.inner_loops = 1000;
    r.worker = 3;
    r.speedup = (record_speedup){1.25, 1.2, 1.375, NAN};
    r.flops = 6;
    r.bytes = 60;
    r.error = (record_error_stats){0.5, NAN, INFINITY, 6, 6};
    r.fallback = true;
    r.is_view = true;
    r.warnings = warnings;
    r.n_warnings = 2;
    r.conditions = conditions;
    r.n_conditions = 2;
    r.machine = &machine;
    r.assay_version = "0.1.0";
    r.repro = "assay operators --op 'aten.add.Tensor'";
    return r;
}

static void what_is_written_is_read_back(void **state) {
    (void)state;
    record r = full_record(), back;
    assert_int_equal(record_summarise(&r, NULL), ASSAY_OK);
    text line = {0}, again = {0};
    record_write(&r, &line);
    assert_false(line.failed);
    assert_ptr_equal(strchr(line.data, '\n'), line.data + line.length - 1); /* one line */
    assert_null(strstr(line.data, "nan"));
    assert_null(strstr(line.data, "inf,"));
    arena a = {0};
    record_reader reader = {.memory = &a};
    error err = {0};
    status result = record_read(&reader, line.data, line.length, &back, &err);
    assert_string_equal(err.message, "");
    assert_int_equal(result, ASSAY_OK);
    assert_string_equal(back.input, r.input);
    assert_int_equal(back.model_calls[1], 9007199254740993);
    assert_int_equal(back.calls, INT64_MAX);
    assert_int_equal(back.status, RECORD_MISMATCH);
    for (size_t i = 0; i < r.n_samples; i++) {
        assert_true(back.samples_ns[i] == r.samples_ns[i]);
    }
    assert_true(back.speedup.ratio == 1.25 && back.speedup.high == 1.375 && isnan(back.speedup.confidence));
    assert_true(back.median_ns == r.median_ns && back.gbytes_per_s == r.gbytes_per_s);
    assert_true(isnan(back.error.rel_l2) && isnan(back.error.worst_ulp) && isnan(back.prepare_ns));
    assert_null(back.conditions[1].value);
    assert_int_equal(back.machine->boost, -1);
    assert_int_equal(back.machine->smt, 0);
    assert_int_equal(back.machine->sockets, 0);
    assert_int_equal(back.machine->caches[1].shared_by, 2);
    assert_string_equal(back.machine->noise[0].advice, "set it to performance");
    record_write(&back, &again);
    assert_string_equal(again.data, line.data);
    const machine_facts *first = back.machine;
    assert_int_equal(record_read(&reader, line.data, line.length, &back, NULL), ASSAY_OK);
    assert_ptr_equal(back.machine, first); /* shared */
    text_clear(&line);
    text_clear(&again);
    arena_clear(&a);
}

static void what_is_missing_is_null(void **state) {
    (void)state;
    record r = RECORD_EMPTY, back;
    r.operator_name = "aten.x";
    r.backend = "b";
    r.status = RECORD_SKIPPED;
    text line = {0};
    record_write(&r, &line);
    static const char *const expected[] = {"\"median_ns\": null", "\"calls\": null", "\"reason\": null",
                                           "\"machine\": null", "\"max_abs\": null", "\"samples_ns\": []",
                                           "\"threads\": null"};
    for (size_t i = 0; i < countof(expected); i++) {
        assert_non_null(strstr(line.data, expected[i]));
    }
    arena a = {0};
    record_reader reader = {.memory = &a};
    assert_int_equal(record_read(&reader, line.data, line.length, &back, NULL), ASSAY_OK);
    assert_true(isnan(back.median_ns));
    assert_int_equal(back.calls, -1);
    assert_null(back.reason);
    assert_null(back.model_calls);
    assert_null(back.machine);
    text_clear(&line);
    arena_clear(&a);
}

static void rates_follow_from_the_samples(void **state) {
    (void)state;
    double samples[] = {4, 1, 2, 3, 5};
    record r = RECORD_EMPTY;
    r.samples_ns = samples;
    r.n_samples = 5;
    r.flops = 30;
    r.bytes = 6;
    assert_int_equal(record_summarise(&r, NULL), ASSAY_OK);
    assert_true(r.median_ns == 3 && fabs(r.q20_ns - 1.8) < 1e-12 && fabs(r.q80_ns - 4.2) < 1e-12);
    assert_true(r.gflops_per_s == 10 && r.gbytes_per_s == 2);
    double zero = 0;
    r.samples_ns = &zero;
    r.n_samples = 1;
    assert_int_equal(record_summarise(&r, NULL), ASSAY_OK);
    assert_true(r.median_ns == 0 && isnan(r.gflops_per_s));
    r.n_samples = 0;
    assert_int_equal(record_summarise(&r, NULL), ASSAY_OK);
    assert_true(isnan(r.median_ns) && isnan(r.gbytes_per_s));
    zero = INFINITY;
    r.n_samples = 1;
    assert_int_equal(record_summarise(&r, NULL), ASSAY_INVALID);
}

static void what_is_wrong_has_a_position(void **state) {
    (void)state;
    static const struct {
        const char *line;
        status code;
        int column;
        const char *message;
    } cases[] = {
        {"", ASSAY_PARSE, 1, "expected a value"},
        {"[]", ASSAY_PARSE, 1, "expected an object, got an array"},
        {"{\"schema_version\": 1, \"operator\": 5}", ASSAY_PARSE, 35, "\"operator\": expected a text, got an integer"},
        {"{\"schema_version\": 1, \"operator\": \"x\"}", ASSAY_PARSE, 1, "expected a \"backend\""},
        {"{\"schema_version\": 2}", ASSAY_UNSUPPORTED, 20, "newer"},
        {"{\"schema_version\": 1, \"operator\": \"x\", \"backend\": \"b\", \"status\": \"okk\"}", ASSAY_PARSE, 66, "\"okk\""},
        {"{\"schema_version\": 1, \"operator\": \"x\", \"backend\": \"b\", \"status\": \"ok\", \"samples_ns\": [1, \"2\"]}",
         ASSAY_PARSE, 90, "expected numbers, got a string"},
        {"{\"schema_version\": 1.5}", ASSAY_PARSE, 20, "integer"},
        {"{\"schema_version\": 1, \"operator\": \"x\", \"models\": [\"m\"], \"model_calls\": [1, 2, 3], \"backend\": \"b\", \"status\": \"ok\"}",
         ASSAY_PARSE, 1, "as many of \"model_calls\" as of \"models\", got 3 and 1"},
        {"{\"schema_version\": 1, \"operator\": \"x\", \"model_calls\": [1], \"backend\": \"b\", \"status\": \"ok\"}", ASSAY_PARSE, 1,
         "got 1 and 0"},
        {"{\"kind\": \"operator_summary\"}", ASSAY_NOT_FOUND, 0, "measurement"},
    };
    for (size_t i = 0; i < countof(cases); i++) {
        arena a = {0};
        record_reader reader = {.memory = &a};
        record back = {.calls = 77};
        error err = {0};
        status result = record_read(&reader, cases[i].line, strlen(cases[i].line), &back, &err);
        if (result != cases[i].code || err.column != cases[i].column || strstr(err.message, cases[i].message) == NULL) {
            print_error("case %zu: status %d, column %d, \"%s\"\n", i, result, err.column, err.message);
        }
        assert_int_equal(result, cases[i].code);
        assert_int_equal(err.column, cases[i].column);
        assert_non_null(strstr(err.message, cases[i].message));
        assert_int_equal(back.calls, 77);
        arena_clear(&a);
    }
}

/* Every prefix of a real line is refused, and bytes changed at random never crash the reader. */
static void damaged_lines_are_refused(void **state) {
    (void)state;
    record r = full_record(), back;
    text line = {0};
    record_write(&r, &line);
    for (size_t n = 0; n + 1 < line.length; n++) {
        arena a = {0};
        record_reader reader = {.memory = &a};
        assert_int_not_equal(record_read(&reader, line.data, n, &back, NULL), ASSAY_OK);
        arena_clear(&a);
    }
    const uint64_t seed = 20240607;
    print_message("seed %llu\n", (unsigned long long)seed);
    rng random = rng_make(seed);
    for (int i = 0; i < 20000; i++) {
        char *damaged = malloc(line.length);
        memcpy(damaged, line.data, line.length);
        for (int64_t k = rng_range(&random, 1, 4); k > 0; k--) {
            damaged[rng_range(&random, 0, (int64_t)line.length)] = (char)rng_next(&random);
        }
        arena a = {0};
        record_reader reader = {.memory = &a};
        record_read(&reader, damaged, line.length, &back, NULL);
        arena_clear(&a);
        free(damaged);
    }
    text_clear(&line);
}

static char folder[] = "assay-test-XXXXXX";

static void path_in(char *path, const char *name) {
    snprintf(path, 128, "%s/%s", folder, name);
}

/* What one run writes is not another's to empty, until it is complete or the run has ended. */
static void a_file_is_one_runs_alone(void **state) {
    (void)state;
    char path[128], partial[128];
    path_in(path, "shared.jsonl");
    path_in(partial, "shared.jsonl.partial");
    arena a = {0};
    const record *records;
    size_t n;
    record r = full_record();
    record_store one = {0}, other = {0};
    error err = {0};
    assert_int_equal(store_open(&one, path, NULL), ASSAY_OK);
    assert_int_equal(store_append(&one, &r, NULL), ASSAY_OK);
    assert_int_equal(store_open(&other, path, &err), ASSAY_IO);
    assert_non_null(strstr(err.message, "shared.jsonl.partial: another run is writing it; wait for it, or name another file"));
    assert_false(other.open);
    assert_int_equal(store_append(&one, &r, NULL), ASSAY_OK);
    assert_int_equal(store_finish(&one, NULL), ASSAY_OK);
    assert_int_equal(store_read(&a, path, false, &records, &n, NULL, NULL), ASSAY_OK);
    assert_int_equal(n, 2);
    assert_int_equal(store_open(&other, path, NULL), ASSAY_OK);
    assert_int_equal(store_append(&other, &r, NULL), ASSAY_OK);
    store_abandon(&other);
    assert_int_equal(store_open(&one, path, NULL), ASSAY_OK); /* what a run that died has left begins anew */
    assert_int_equal(store_read(&a, partial, false, &records, &n, NULL, NULL), ASSAY_OK);
    assert_int_equal(n, 0);
    store_abandon(&one);
    remove(partial);
    remove(path);
    arena_clear(&a);
}

static void a_store_is_partial_until_it_is_complete(void **state) {
    (void)state;
    char path[128], partial[128];
    path_in(path, "r.jsonl");
    path_in(partial, "r.jsonl.partial");
    record_store s = {0};
    record r = full_record();
    arena a = {0};
    const record *records = NULL;
    size_t n = 0;
    bool cut = true;
    assert_int_equal(store_open(&s, path, NULL), ASSAY_OK);
    for (int64_t i = 0; i < 3; i++) {
        r.sample_index = i;
        assert_int_equal(store_append(&s, &r, NULL), ASSAY_OK);
        assert_int_equal(store_read(&a, partial, false, &records, &n, &cut, NULL), ASSAY_OK); /* it is there already */
        assert_int_equal(n, i + 1);
        assert_false(cut);
    }
    const char summary[] = "{\"kind\": \"operator_summary\"}\n\n";
    assert_int_equal(store_append_line(&s, summary, strlen(summary), NULL), ASSAY_OK);
    assert_int_not_equal(access(path, F_OK), 0);
    assert_int_equal(store_finish(&s, NULL), ASSAY_OK);
    assert_int_not_equal(access(partial, F_OK), 0);
    assert_int_equal(store_read(&a, path, false, &records, &n, NULL, NULL), ASSAY_OK);
    assert_int_equal(n, 3);
    assert_int_equal(records[2].sample_index, 2);
    assert_ptr_equal(records[0].machine, records[2].machine);
    store_abandon(&s); /* a closed one */
    unlink(path);
    arena_clear(&a);
}

static void a_cut_line_is_told(void **state) {
    (void)state;
    char path[128];
    path_in(path, "cut.jsonl");
    record r = full_record();
    text content = {0};
    record_write(&r, &content);
    size_t one = content.length;
    record_write(&r, &content);
    assert_int_equal(file_write(path, content.data, content.length - 5, NULL), ASSAY_OK);
    arena a = {0};
    const record *records = NULL;
    size_t n = 0;
    bool cut = false;
    error err = {0};
    assert_int_equal(store_read(&a, path, true, &records, &n, &cut, &err), ASSAY_OK);
    assert_int_equal(n, 1);
    assert_true(cut);
    assert_int_equal(store_read(&a, path, false, &records, &n, NULL, &err), ASSAY_PARSE);
    assert_int_equal(err.line, 2);
    assert_int_equal(err.column, (int)(one - 4));
    assert_non_null(strstr(err.message, "cut.jsonl:2:"));
    unlink(path);
    text_clear(&content);
    arena_clear(&a);
}

static void a_store_that_cannot_be_says_why(void **state) {
    (void)state;
    char path[128];
    path_in(path, "no/such/folder.jsonl");
    record_store s = {0};
    error err = {0};
    assert_int_equal(store_open(&s, path, &err), ASSAY_IO);
    assert_non_null(strstr(err.message, "No such file"));
    store_abandon(&s);
    if (access("/dev/full", W_OK) == 0) {
        record r = full_record();
        path_in(path, "full");
        char partial[128];
        path_in(partial, "full.partial");
        assert_int_equal(symlink("/dev/full", partial), 0);
        assert_int_equal(store_open(&s, path, &err), ASSAY_OK);
        assert_int_equal(store_append(&s, &r, &err), ASSAY_IO);
        assert_non_null(strstr(err.message, "No space"));
        store_abandon(&s);
        unlink(partial);
    }
}

static int make_folder(void **state) {
    (void)state;
    return mkdtemp(folder) == NULL;
}

static int remove_folder(void **state) {
    (void)state;
    return rmdir(folder); /* fails when a test left something */
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_written_is_read_back),
        cmocka_unit_test(what_is_missing_is_null),
        cmocka_unit_test(rates_follow_from_the_samples),
        cmocka_unit_test(what_is_wrong_has_a_position),
        cmocka_unit_test(damaged_lines_are_refused),
        cmocka_unit_test(a_file_is_one_runs_alone),
        cmocka_unit_test(a_store_is_partial_until_it_is_complete),
        cmocka_unit_test(a_cut_line_is_told),
        cmocka_unit_test(a_store_that_cannot_be_says_why),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
