/* SPDX-License-Identifier: Apache-2.0 */
/* Recorded inputs: merging, bad lines and their positions, bad files, and the real recordings where they are at hand.
 */
#include "base/file.h"
#include "base/rng.h"
#include "lab/experiment/inputs.h"
#include "lab/experiment/inputs_set.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <cmocka.h>

static void read_ok(inputs *set, const char *name, const char *data) {
    error err = {0};
    if (inputs_read_text(set, name, data, strlen(data), &err) != ASSAY_OK) {
        fail_msg("%s", err.message);
    }
}

static void test_one_file(void **state) {
    (void)state;
    inputs set = {0};
    read_ok(&set, "logs/hf_train/Some_training.txt",
            "Operator: aten.add.Tensor\n"
            "cnt: 3, ((T([2], f32), 1), {})\n"
            "cnt: 1, ((T([2, 2], f16), T([2], f16)), {'alpha': 2})\n"
            "Operator: aten.relu.default\n"
            "cnt: 7, ((T([2], f32),), {})\n");
    assert_int_equal(set.n_operators, 2);
    assert_int_equal(set.n_all, 3);
    assert_int_equal(set.n_diagnostics, 0);
    assert_int_equal(set.n_files, 1);
    assert_string_equal(set.files[0]->name, "Some");
    const inputs_operator *add = &set.operators[0];
    assert_string_equal(add->name, "aten.add.Tensor");
    assert_int_equal(add->n_items, 2);
    assert_int_equal(add->n_calls, 4);
    const input *second = add->items[1];
    assert_string_equal(second->text, "((T([2, 2], f16), T([2], f16)), {'alpha': 2})");
    assert_int_equal(second->line, 3);
    assert_ptr_equal(second->file, set.files[0]);
    assert_int_equal(second->args->list.n_items, 2);
    assert_int_equal(second->args->list.items[1].line, 3);
    assert_int_equal(second->args->list.items[1].column, 27);
    assert_int_equal(literal_dict_find(second->kwargs, "alpha")->integer, 2);
    assert_int_equal(set.operators[1].items[0]->operator_position, 1);
    assert_ptr_equal(inputs_find(&set, "aten.relu.default"), &set.operators[1]);
    assert_null(inputs_find(&set, "aten.relu"));
    inputs_clear(&set);
    assert_int_equal(set.n_operators, 0);
}

static void test_files_merge(void **state) {
    (void)state;
    inputs set = {0};
    read_ok(&set, "a.txt",
            "Operator: aten.sum.SymInt\ncnt: 3, ((T([2], f32), [0]), {})\ncnt: 1, ((T([3], f32), [0]), {})\n");
    read_ok(&set, "b.txt.gz",
            "Operator: aten.neg.default\ncnt: 1, ((T([2], f32),), {})\n"
            "Operator: aten.sum.dim_IntList\ncnt: 5, ((T([2], f32), [0]), {})\n"
            "Operator: aten.neg.default\ncnt: 2, ((T([2], f32),), {})\n");
    assert_int_equal(set.n_operators, 2);
    const inputs_operator *sum = &set.operators[0];
    assert_string_equal(sum->name, "aten.sum.dim_IntList");
    assert_string_equal(sum->recorded, "aten.sum.SymInt");
    assert_ptr_equal(inputs_find(&set, "aten.sum.SymInt"), sum);
    assert_ptr_equal(inputs_find(&set, "aten.sum.dim_IntList"), sum);
    assert_int_equal(sum->n_items, 2);
    assert_int_equal(sum->n_calls, 9);
    const input *first = sum->items[0];
    assert_int_equal(first->n_calls, 8);
    assert_int_equal(first->n_uses, 2);
    assert_string_equal(first->uses[0].file->path, "a.txt");
    assert_int_equal(first->uses[0].n_calls, 3);
    assert_string_equal(first->uses[1].file->name, "b");
    assert_int_equal(first->uses[1].n_calls, 5);
    assert_int_equal(sum->items[1]->n_uses, 1);
    /* the same text twice in one file, under two headings, is one input and one use */
    assert_int_equal(set.operators[1].n_items, 1);
    assert_int_equal(set.operators[1].items[0]->n_uses, 1);
    assert_int_equal(set.operators[1].items[0]->n_calls, 3);
    /* the same text under another operator is another input */
    assert_int_equal(set.n_all, 3);
    inputs_clear(&set);
}

static void test_forms_of_text(void **state) {
    static const char *const forms[] = {
        "\xef\xbb\xbfOperator: aten.neg.default\ncnt: 2, ((T([2], f32),), {})\n",
        "Operator: aten.neg.default\r\ncnt: 2, ((T([2], f32),), {})\r\n",
        "Operator: aten.neg.default\ncnt: 2, ((T([2], f32),), {})",
        "\n\n# a comment\n  Operator:   aten.neg.default  \n\n\tcnt:2,((T([2], f32),), {})  \n\n",
        "Operator: aten.neg.default\ncnt: 2, '((T([2], f32),), {})'\n",
    };
    (void)state;
    for (size_t i = 0; i < countof(forms); i++) {
        inputs set = {0};
        read_ok(&set, "x", forms[i]);
        assert_int_equal(set.n_diagnostics, 0);
        assert_int_equal(set.n_all, 1);
        assert_string_equal(set.operators[0].name, "aten.neg.default");
        assert_string_equal(set.all[0]->text, "((T([2], f32),), {})");
        assert_int_equal(set.all[0]->n_calls, 2);
        inputs_clear(&set);
    }
}

/* One bad line between good ones: what is said of it, and that the good ones stay. */
static void test_bad_lines(void **state) {
    static const struct {
        const char *line;
        int column;
        const char *message;
    } cases[] = {
        {"junk", 1, "expected 'Operator: NAME' or 'cnt: CALLS, ((ARGS...), {KWARGS...})', got 'junk'"},
        {"  count: 1", 3, "expected 'Operator: NAME'"},
        {"cnt: x, ((), {})", 6, "how often it was called, a positive integer of 64 bits, got 'x'"},
        {"cnt: , ((), {})", 6, "how often it was called, a positive integer of 64 bits, got ','"},
        {"cnt:", 5, "how often it was called, a positive integer of 64 bits, got the end of the line"},
        {"cnt: -1, ((), {})", 6, "a positive integer"},
        {"cnt: 0, ((), {})", 6, "a positive integer"},
        {"cnt: 9223372036854775808, ((), {})", 6, "a positive integer"},
        {"cnt: 9223372036854775807, ((T([1], f32),), {})", 6, "sum up within 64 bits"},
        {"cnt: 3", 7, "',' behind the number of calls, got the end of the line"},
        {"cnt: 3 ((), {})", 7, "',' behind the number of calls, got ' ((), {})'"},
        {"cnt: 3, ", 8, "expected a value, got the end of the line"},
        {"cnt: 3, (1, 2)", 9, "expected ((ARGS...), {KWARGS...})"},
        {"cnt: 3, ((1,), {}, 2)", 9, "expected ((ARGS...), {KWARGS...})"},
        {"cnt: 3, ([1], {})", 9, "expected ((ARGS...), {KWARGS...})"},
        {"cnt: 3, ((T([2, 3], f32, stride=(1,)),), {})", 33, "expected 2 strides, one a size, got 1"},
        {"cnt: 3, ((T([2, 3], f23),), {})", 21, "got 'f23'"},
        {"cnt: 3, ((T([2, 3], f32)), {}", 30, "the ')' that closes column 9"},
    };
    (void)state;
    for (size_t i = 0; i < countof(cases); i++) {
        inputs set = {0};
        text data = {0}, printed = {0};
        text_addf(&data, "Operator: aten.neg.default\ncnt: 2, ((T([2], f32),), {})\n%s\ncnt: 1, ((T([3], f32),), {})\n",
                  cases[i].line);
        read_ok(&set, "some.txt", data.data);
        assert_int_equal(set.n_all, 2);
        assert_int_equal(set.n_bad_lines, 1);
        assert_int_equal(set.n_diagnostics, 1);
        const inputs_diagnostic *diagnostic = &set.diagnostics[0];
        if (diagnostic->column != cases[i].column || strstr(diagnostic->message, cases[i].message) == NULL) {
            fail_msg("%s: column %d: %s", cases[i].line, (int)diagnostic->column, diagnostic->message);
        }
        assert_int_equal(diagnostic->line, 3);
        assert_int_equal(diagnostic->caret, diagnostic->column - 1);
        inputs_diagnostic_print(diagnostic, &printed);
        assert_true(text_starts_with(printed.data, "some.txt:3:"));
        text_clear(&printed);
        text_clear(&data);
        inputs_clear(&set);
    }
}

static void test_bad_operator_lines(void **state) {
    static const char *const names[] = {"",
                                        "aten",
                                        "aten.add",
                                        "aten.add.",
                                        ".add.Tensor",
                                        "aten..Tensor",
                                        "aten.add.Tensor.x",
                                        "aten.add Tensor",
                                        "aten.add.Ten-sor"};
    (void)state;
    for (size_t i = 0; i < countof(names); i++) {
        inputs set = {0};
        text data = {0};
        text_addf(&data,
                  "cnt: 1, ((), {})\ncnt: 1, ((), {})\nOperator: %s\ncnt: 1, ((), {})\ncnt: 1, ((), {})\n"
                  "Operator: aten.neg.default\ncnt: 2, ((), {})\n",
                  names[i]);
        read_ok(&set, "some.txt", data.data);
        assert_int_equal(set.n_all, 1);
        assert_int_equal(set.n_diagnostics, 2);
        assert_int_equal(set.diagnostics[0].line, 1);
        assert_non_null(strstr(set.diagnostics[0].message, "an 'Operator: NAME' line before the first input"));
        assert_int_equal(set.diagnostics[1].line, 3);
        assert_non_null(strstr(set.diagnostics[1].message, "an operator's name such as aten.add.Tensor"));
        assert_int_equal(set.n_bad_lines, 5);
        text_clear(&data);
        inputs_clear(&set);
    }
}

static void test_excerpts(void **state) {
    (void)state;
    inputs set = {0};
    text data = {0}, printed = {0};
    text_add(&data, "Operator: aten.neg.default\ncnt: 2, ((), {})\ncnt: 2, ((");
    for (int i = 0; i < 1000; i++) {
        text_addf(&data, "%d, ", i % 10);
    }
    text_add(&data, "\xc3\xa9\t?");
    for (int i = 0; i < 1000; i++) {
        text_addf(&data, ", %d", i % 10);
    }
    text_add(&data, "), {})\n");
    read_ok(&set, "long.txt", data.data);
    assert_int_equal(set.n_diagnostics, 1);
    const inputs_diagnostic *diagnostic = &set.diagnostics[0];
    assert_int_equal(diagnostic->column, 3011);
    assert_true(strlen(diagnostic->excerpt) < 120);
    assert_memory_equal(diagnostic->excerpt + diagnostic->caret, "?? ?, 0", 7);
    assert_true(text_starts_with(diagnostic->excerpt, "..."));
    assert_true(text_ends_with(diagnostic->excerpt, "..."));
    inputs_diagnostic_print(diagnostic, &printed);
    const char *caret = strchr(printed.data, '^');
    assert_non_null(caret);
    const char *caret_line = strstr(printed.data, "...\n") + 4;
    assert_int_equal(caret - caret_line, 4 + (long)diagnostic->caret);
    text_clear(&printed);
    text_clear(&data);
    inputs_clear(&set);
}

static void test_many_bad_lines_are_counted(void **state) {
    (void)state;
    inputs set = {0};
    text data = {0};
    text_add(&data, "Operator: aten.neg.default\ncnt: 2, ((), {})\n");
    for (int i = 0; i < 1000; i++) {
        text_add(&data, "bad\n");
    }
    read_ok(&set, "bad.txt", data.data);
    assert_int_equal(set.n_bad_lines, 1000);
    assert_int_equal(set.n_diagnostics, INPUTS_MAX_FILE_DIAGNOSTICS + 1);
    const inputs_diagnostic *last = &set.diagnostics[INPUTS_MAX_FILE_DIAGNOSTICS];
    assert_int_equal(last->line, 0);
    assert_non_null(strstr(last->message, "900 lines besides"));
    text_clear(&data);
    inputs_clear(&set);
}

static void test_files_without_inputs(void **state) {
    static const struct {
        const char *data;
        size_t n;
        int line, column;
        const char *message;
    } cases[] = {
        {"", 0, 0, 0, "x: expected recorded inputs"},
        {"\n\n \n", 4, 0, 0, "x: expected recorded inputs"},
        {"Operator: aten.neg.default\n", 27, 0, 0, "x: expected recorded inputs"},
        {"a,b\n1,2\n", 8, 1, 1, "x:1:1: expected 'Operator: NAME'"},
        {"\n\x7f"
         "ELF\x02\x01\x01\0\0",
         10, 2, 8, "x:2:8: expected text, got a NUL byte: a binary file"},
        {"Operator: aten.neg.default\ncnt: 1, ((), {})\n\0", 45, 3, 1, "x:3:1: expected text, got a NUL byte"},
        {"Operator: aten.neg.default\ncnt: 1, (\n", 37, 2, 10, "x:2:10: expected a value, got the end of the line"},
    };
    (void)state;
    for (size_t i = 0; i < countof(cases); i++) {
        inputs set = {0};
        error err = {0};
        assert_int_equal(inputs_read_text(&set, "x", cases[i].data, cases[i].n, &err), ASSAY_PARSE);
        assert_true(text_starts_with(err.message, cases[i].message));
        assert_int_equal(err.line, cases[i].line);
        assert_int_equal(err.column, cases[i].column);
        assert_int_equal(set.n_operators, 0);
        assert_int_equal(set.n_diagnostics, 0);
        inputs_clear(&set);
    }
}

/* ---- files ---- */

static const char sample[] =
    "Operator: aten.neg.default\ncnt: 2, ((T([2], f32),), {})\ncnt: 1, ((T([3, 4], f16),), {})\n";

static void write_gz(const char *path) {
    gzFile file = gzopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(gzwrite(file, sample, sizeof sample - 1), sizeof sample - 1);
    assert_int_equal(gzclose(file), Z_OK);
}

static void cut_file(const char *path, off_t n_bytes) {
    struct stat info;
    assert_int_equal(stat(path, &info), 0);
    assert_int_equal(truncate(path, info.st_size - n_bytes), 0);
}

/* Models are counted by their names. */
static void test_names_tell_files_apart(void **state) {
    static const char *const files[][2] = {{"hf/x.txt", "hf/x"}, {"solo.txt", "solo"},         {"b/timm/x_training.txt", "b/timm/x"},
                                           {"-", "standard input"}, {"c/timm/x.txt", "c/timm/x"}, {"x.txt", "x"}, {"x.txt.gz", "x"}};
    (void)state;
    inputs set = {0};
    for (size_t i = 0; i < countof(files); i++) {
        assert_non_null(inputs_add_file(&set, files[i][0]));
    }
    for (size_t i = 0; i < countof(files); i++) {
        assert_string_equal(set.files[i]->name, files[i][1]);
    }
    inputs_clear(&set);
}

static void test_directories(void **state) {
    char directory[] = "assay_inputs_XXXXXX";
    (void)state;
    assert_non_null(mkdtemp(directory));
    char path[6][64];
    const char *const names[] = {"b.txt", "a_training.txt.gz", "cut.txt.gz", "junk.txt", "other.csv", "pipe.txt"};
    for (size_t i = 0; i < countof(names); i++) {
        snprintf(path[i], sizeof path[i], "%s/%s", directory, names[i]);
    }
    inputs set = {0};
    error err = {0};
    assert_int_equal(inputs_read_path(&set, directory, &err), ASSAY_NOT_FOUND);
    assert_non_null(strstr(err.message, "*.txt or *.txt.gz"));
    assert_int_equal(file_write(path[3], "\1\2\3\0", 4, &err), ASSAY_OK);
    assert_int_equal(file_write(path[4], "a,b\n", 4, &err), ASSAY_OK);
    assert_int_equal(inputs_read_path(&set, directory, &err), ASSAY_PARSE);
    assert_non_null(strstr(err.message, "NUL byte"));
    assert_int_equal(set.n_diagnostics, 0);
    assert_int_equal(file_write(path[0], sample, sizeof sample - 1, &err), ASSAY_OK);
    write_gz(path[1]);
    write_gz(path[2]);
    cut_file(path[2], 9);
    assert_int_equal(mkfifo(path[5], 0600), 0); /* nobody will ever write to it */
    assert_int_equal(inputs_read_path(&set, directory, &err), ASSAY_OK);
    assert_int_equal(set.n_all, 2);
    assert_int_equal(set.all[0]->n_calls, 4);
    assert_string_equal(set.all[0]->uses[0].file->name, "a"); /* sorted by name */
    assert_string_equal(set.all[0]->uses[1].file->name, "b");
    assert_int_equal(set.n_diagnostics, 3);
    assert_string_equal(set.diagnostics[0].file->name, "cut");
    assert_string_equal(set.diagnostics[1].file->name, "junk");
    assert_string_equal(set.diagnostics[2].file->name, "pipe");
    assert_string_equal(set.diagnostics[2].message, "expected a file, this is a pipe");
    assert_true(text_starts_with(set.diagnostics[0].message, "truncated gzip data"));
    inputs_clear(&set);
    assert_int_equal(inputs_read_path(&set, path[2], &err), ASSAY_PARSE);
    assert_int_equal(inputs_read_path(&set, "no/such/file.txt", &err), ASSAY_NOT_FOUND);
    assert_int_equal(inputs_read_directory(&set, "no/such/directory", &err), ASSAY_NOT_FOUND);
    inputs_clear(&set);
    for (size_t i = 0; i < countof(names); i++) {
        unlink(path[i]);
    }
    rmdir(directory);
}

static void test_standard_input(void **state) {
    (void)state;
    int ends[2], kept = dup(STDIN_FILENO);
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(write(ends[1], sample, sizeof sample - 1), sizeof sample - 1);
    close(ends[1]);
    dup2(ends[0], STDIN_FILENO);
    close(ends[0]);
    inputs set = {0};
    error err = {0};
    status result = inputs_read_path(&set, "-", &err);
    if (kept >= 0) {
        dup2(kept, STDIN_FILENO);
        close(kept);
    }
    assert_int_equal(result, ASSAY_OK);
    assert_int_equal(set.n_all, 2);
    assert_string_equal(set.files[0]->path, "-");
    inputs_clear(&set);
}

/* ---- the real recordings ---- */

static void print_call(const input *in, text *out) {
    text_reset(out);
    text_add_char(out, '(');
    literal_print(in->args, out);
    text_add(out, ", ");
    literal_print(in->kwargs, out);
    text_add_char(out, ')');
}

/* operators.tsv counts all recorded models; those at hand are a part of them. */
static void compare_with_table(const inputs *set, const char *table) {
    size_t n_rows = 0, n_found = 0;
    int64_t n_recorded = 0;
    for (const char *line = strchr(table, '\n'); line != NULL && line[1] != '\0'; line = strchr(line + 1, '\n')) {
        char name[128];
        long long n_models = 0, n_inputs = 0, n_calls = 0;
        assert_int_equal(sscanf(line + 1, "%127s %lld %lld %lld", name, &n_models, &n_inputs, &n_calls), 4);
        n_rows++;
        const inputs_operator *op = inputs_find(set, name);
        bool is_merged = strncmp(name, "aten.sum.", 9) == 0 && strcmp(name, "aten.sum.default") != 0;
        n_recorded += strcmp(name, "aten.sum.dim_IntList") != 0;
        if (op != NULL && !is_merged) {
            n_found++;
            assert_true(op->n_items <= (size_t)n_inputs);
            assert_true(op->n_calls <= n_calls);
        }
    }
    assert_int_equal(n_rows, 180);
    assert_int_equal(n_found + 1, set->n_operators);
    assert_int_equal(n_recorded, 179);
}

static void test_recorded_models(void **state) {
    static const char *const folders[] = {"hf_train", "timm_train", "torchbench_train"};
    (void)state;
    text path = {0}, printed = {0}, table = {0};
    inputs set = {0};
    error err = {0};
    text_addf(&path, "%s/operators.tsv", TEST_DATA);
    if (file_read(path.data, 1 << 20, &table, &err) != ASSAY_OK) {
        print_message("skipped: no recorded inputs in %s\n", TEST_DATA);
        text_clear(&path);
        skip();
    }
    for (size_t i = 0; i < countof(folders); i++) {
        text_reset(&path);
        text_addf(&path, "%s/operator_inputs/%s", TEST_DATA, folders[i]);
        if (inputs_read_path(&set, path.data, &err) != ASSAY_OK) {
            fail_msg("%s", err.message);
        }
    }
    assert_int_equal(set.n_files, 95);
    assert_int_equal(set.n_diagnostics, 0);
    assert_int_equal(set.n_operators, 133);
    int64_t n_uses = 0;
    for (size_t i = 0; i < set.n_all; i++) {
        print_call(set.all[i], &printed);
        assert_string_equal(printed.data, set.all[i]->text);
        n_uses += (int64_t)set.all[i]->n_uses;
    }
    assert_int_equal(n_uses, 15241); /* the number of their cnt: lines */
    compare_with_table(&set, table.data);
    text_clear(&path);
    text_clear(&printed);
    text_clear(&table);
    inputs_clear(&set);
}

/* Random bytes and damaged recordings: refused or read, never a crash. */
static void test_damage_is_met(void **state) {
    const uint64_t seed = 4242;
    (void)state;
    print_message("seed %llu\n", (unsigned long long)seed);
    for (uint64_t i = 0; i < 20000; i++) {
        rng r = rng_make_stream(seed, i);
        char data[sizeof sample];
        memcpy(data, sample, sizeof sample);
        for (int64_t hits = rng_range(&r, 1, 6); hits > 0; hits--) {
            data[rng_range(&r, 0, sizeof sample - 1)] = rng_range(&r, 0, 2) == 0 ? (char)rng_next(&r) : '\n';
        }
        inputs set = {0};
        error err = {0};
        text printed = {0};
        status result = inputs_read_text(&set, "damaged", data, (size_t)rng_range(&r, 0, sizeof sample), &err);
        assert_true(result == ASSAY_OK ? set.n_all > 0 : err.message[0] != '\0' && set.n_all == 0);
        for (size_t j = 0; j < set.n_diagnostics; j++) {
            inputs_diagnostic_print(&set.diagnostics[j], &printed);
            assert_true(set.diagnostics[j].caret <= strlen(set.diagnostics[j].excerpt));
        }
        text_clear(&printed);
        inputs_clear(&set);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_file),
        cmocka_unit_test(test_files_merge),
        cmocka_unit_test(test_forms_of_text),
        cmocka_unit_test(test_bad_lines),
        cmocka_unit_test(test_bad_operator_lines),
        cmocka_unit_test(test_excerpts),
        cmocka_unit_test(test_many_bad_lines_are_counted),
        cmocka_unit_test(test_files_without_inputs),
        cmocka_unit_test(test_names_tell_files_apart),
        cmocka_unit_test(test_directories),
        cmocka_unit_test(test_standard_input),
        cmocka_unit_test(test_recorded_models),
        cmocka_unit_test(test_damage_is_met),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
