/* SPDX-License-Identifier: Apache-2.0 */
/* docs/record.schema.json against the lines that are written: the same keys, the same names of statuses, the right types.
   Understands as much of JSON Schema as that file uses, so that no validator needs to be installed. */
#include "lab/record/record.h"
#include "lab/report/operators_csv.h"

#include "base/file.h"
#include "base/json_tree.h"
#include "unit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const json_value *schema;

static bool has_type(const json_value *value, const char *type) {
    static const struct {
        const char *name;
        json_kind kind;
    } types[] = {{"null", JSON_NULL},     {"boolean", JSON_BOOL},   {"integer", JSON_INTEGER}, {"number", JSON_INTEGER},
                 {"number", JSON_NUMBER}, {"string", JSON_STRING}, {"array", JSON_ARRAY},     {"object", JSON_OBJECT}};
    for (size_t i = 0; i < countof(types); i++) {
        if (strcmp(types[i].name, type) == 0 && types[i].kind == value->kind) {
            return true;
        }
    }
    return false;
}

static bool type_fits(const json_value *rule, const json_value *value) {
    if (rule->kind == JSON_STRING) {
        return has_type(value, rule->text);
    }
    for (const json_value *one = rule->first; one != NULL; one = one->next) {
        if (has_type(value, one->text)) {
            return true;
        }
    }
    return false;
}

static bool same_scalar(const json_value *a, const json_value *b) {
    return a->kind == b->kind && (a->kind != JSON_STRING || strcmp(a->text, b->text) == 0) &&
           (a->kind != JSON_INTEGER || a->integer == b->integer);
}

static bool is_one_of(const json_value *list, const json_value *value) {
    for (const json_value *one = list->first; one != NULL; one = one->next) {
        if (same_scalar(one, value)) {
            return true;
        }
    }
    return false;
}

static bool fits(const json_value *rules, const json_value *value);

/* Exactly one of them; those that do not fit say why, for the reader of a failing test. */
static bool fits_one(const json_value *list, const json_value *value) {
    int n = 0;
    for (const json_value *one = list->first; one != NULL; one = one->next) {
        n += fits(one, value);
    }
    return n == 1;
}

static bool members_fit(const json_value *rules, const json_value *value) {
    const json_value *properties = json_find(rules, "properties"), *required = json_find(rules, "required");
    const json_value *others = json_find(rules, "additionalProperties");
    for (const json_value *key = required != NULL ? required->first : NULL; key != NULL; key = key->next) {
        if (json_find(value, key->text) == NULL) {
            print_error("%s is missing\n", key->text);
            return false;
        }
    }
    for (const json_value *member = value->first; member != NULL; member = member->next) {
        const json_value *rule = properties != NULL ? json_find(properties, member->key) : NULL;
        if (rule == NULL && others != NULL) {
            rule = others->kind == JSON_OBJECT ? others : NULL;
            if (rule == NULL) {
                print_error("%s is not in the schema\n", member->key);
                return false;
            }
        }
        if (rule != NULL && !fits(rule, member)) {
            print_error("%s does not fit the schema\n", member->key);
            return false;
        }
    }
    return true;
}

static bool fits(const json_value *rules, const json_value *value) {
    const json_value *reference = json_find(rules, "$ref");
    if (reference != NULL) {
        return fits(json_find(json_find(schema, "$defs"), reference->text + strlen("#/$defs/")), value);
    }
    const json_value *type = json_find(rules, "type"), *names = json_find(rules, "enum");
    const json_value *constant = json_find(rules, "const"), *items = json_find(rules, "items");
    const json_value *minimum = json_find(rules, "minimum"), *one_of = json_find(rules, "oneOf");
    if (one_of != NULL) {
        return fits_one(one_of, value);
    }
    bool good = (type == NULL || type_fits(type, value)) && (names == NULL || is_one_of(names, value)) &&
                (constant == NULL || same_scalar(constant, value)) &&
                (minimum == NULL || value->kind == JSON_NULL || value->number >= minimum->number);
    for (const json_value *item = items != NULL && value->kind == JSON_ARRAY ? value->first : NULL; item != NULL && good;
         item = item->next) {
        good = fits(items, item);
    }
    return good && (value->kind != JSON_OBJECT || members_fit(rules, value));
}

/* Every key that the schema knows is required by it, so a line that fits has them all; and none besides. */
static void lines_fit_the_schema(void **state) {
    (void)state;
    static const double samples[] = {1, 2, 3};
    static const char *const words[] = {"a", "b"};
    static const record_pair pairs[] = {{"k", "v"}, {"none", NULL}};
    arena a = {0};
    machine_facts machine;
    assert_int_equal(machine_read(&a, "", &machine, NULL), ASSAY_OK);
    record r = RECORD_EMPTY;
    r.operator_name = "aten.x";
    r.backend = "eager";
    r.cache = "warm";
    r.models = words;
    r.n_models = 2;
    r.warnings = words;
    r.n_warnings = 2;
    r.conditions = pairs;
    r.n_conditions = 2;
    for (int full = 0; full <= 1; full++) {
        if (full) {
            r.machine = &machine;
            r.samples_ns = samples;
            r.n_samples = 3;
            r.flops = 1e30;
            assert_int_equal(record_summarise(&r, NULL), ASSAY_OK);
        }
        for (int s = 0; s < RECORD_STATUS_COUNT; s++) {
            text line = {0};
            const json_value *json = NULL;
            r.status = (record_status)s;
            record_write(&r, &line);
            assert_int_equal(json_parse(&a, line.data, line.length, &json, NULL), ASSAY_OK);
            assert_true(fits(schema, json));
            text_clear(&line);
        }
    }
    arena_clear(&a);
}

/* The lines of figures of a run: with an operator that ran on both backends, on one and on none. */
static void summaries_fit_the_schema(void **state) {
    (void)state;
    static const double samples[] = {1, 2, 3, 4, 5, 6, 7}, single[] = {5};
    record records[6];
    for (size_t i = 0; i < countof(records); i++) {
        record *r = &records[i];
        *r = RECORD_EMPTY;
        r->operator_name = i < 2 ? "aten.x" : i < 4 ? "aten.y" : "aten.z";
        r->backend = i % 2 == 0 ? "eager" : "p";
        r->baseline = i % 2 == 0;
        r->status = i < 3 ? RECORD_OK : RECORD_SKIPPED;
        r->samples_ns = i == 1 ? single : samples;
        r->n_samples = i >= 3 ? 0 : i == 1 ? 1 : countof(samples);
        assert_int_equal(record_summarise(r, NULL), ASSAY_OK);
    }
    arena a = {0};
    operators_group group;
    text lines = {0};
    assert_int_equal(operators_group_make(&a, records, countof(records), &group, NULL), ASSAY_OK);
    assert_int_equal(operators_summary_lines(&a, &group, &lines, NULL), ASSAY_OK);
    size_t n = 0;
    for (const char *at = lines.data; *at != '\0'; at += strcspn(at, "\n") + 1, n++) {
        const json_value *json = NULL;
        assert_int_equal(json_parse(&a, at, strcspn(at, "\n"), &json, NULL), ASSAY_OK);
        assert_true(fits(schema, json));
    }
    assert_int_equal(n, 2 * (3 + 1));
    text_clear(&lines);
    arena_clear(&a);
}

static void the_schema_lists_the_statuses(void **state) {
    (void)state;
    const json_value *names = json_find(json_find(json_find(json_find(json_find(schema, "$defs"), "record"), "properties"), "status"), "enum");
    assert_int_equal(names->n, RECORD_STATUS_COUNT);
    int i = 0;
    for (const json_value *name = names->first; name != NULL; name = name->next, i++) {
        assert_string_equal(name->text, record_status_text((record_status)i));
    }
    assert_int_equal(json_find(json_find(json_find(json_find(json_find(schema, "$defs"), "record"), "properties"), "schema_version"), "const")->integer,
                     RECORD_SCHEMA_VERSION);
}

/* The same by a full validator, where Python has one. */
static void python_agrees(void **state) {
    (void)state;
    if (system("python3 -c 'import jsonschema; jsonschema.Draft202012Validator' >/dev/null 2>&1") != 0) {
        print_message("skipped: python3 has no jsonschema for draft 2020-12 here\n");
        skip();
    }
    static const double samples[] = {1, 2, 3};
    arena a = {0};
    machine_facts machine;
    assert_int_equal(machine_read(&a, "", &machine, NULL), ASSAY_OK);
    record r = RECORD_EMPTY;
    text lines = {0};
    r.operator_name = "aten.x";
    r.backend = "eager";
    r.status = RECORD_SKIPPED;
    r.reason = "too large";
    record_write(&r, &lines);
    r.status = RECORD_OK;
    r.reason = NULL;
    r.machine = &machine;
    r.samples_ns = samples;
    r.n_samples = 3;
    assert_int_equal(record_summarise(&r, NULL), ASSAY_OK);
    record_write(&r, &lines);
    assert_int_equal(file_write("schema-test.jsonl", lines.data, lines.length, NULL), ASSAY_OK);
    static const char command[] = "python3 -W ignore -c 'import json, jsonschema, sys\n"
                                  "v = jsonschema.Draft202012Validator(json.load(open(sys.argv[1])))\n"
                                  "v.check_schema(v.schema)\n"
                                  "lines = [json.loads(l) for l in open(sys.argv[2])]\n"
                                  "[v.validate(l) for l in lines]\n"
                                  "lines[0][\"status\"] = \"fine\"\n"
                                  "assert not v.is_valid(lines[0])' '" TEST_SOURCE "/docs/record.schema.json' "
                                  "schema-test.jsonl";
    int result = system(command);
    remove("schema-test.jsonl");
    text_clear(&lines);
    arena_clear(&a);
    assert_int_equal(result, 0);
}

static int read_schema(void **state) {
    static arena memory;
    text content = {0};
    *state = &memory;
    status result = file_read(TEST_SOURCE "/docs/record.schema.json", 1 << 20, &content, NULL);
    if (result == ASSAY_OK) {
        result = json_parse(&memory, content.data, content.length, &schema, NULL);
    }
    text_clear(&content);
    return result != ASSAY_OK;
}

static int drop_schema(void **state) {
    arena_clear(*state);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_fit_the_schema),
        cmocka_unit_test(summaries_fit_the_schema),
        cmocka_unit_test(the_schema_lists_the_statuses),
        cmocka_unit_test(python_agrees),
    };
    return cmocka_run_group_tests(tests, read_schema, drop_schema);
}
