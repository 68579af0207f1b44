/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers, strings and events out of bytes, whatever pieces they come in; what is no JSON fails where it stops being.
 */
#include "base/rng.h"
#include "lab/trace/event.h"
#include "lab/trace/number.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h> /* last: its fail() is a macro */

static const uint64_t seed = 20260601;

static void numbers_round_as_strtod_does(void **state) {
    (void)state;
    rng r = rng_make(seed);
    print_message("seed %llu\n", (unsigned long long)seed);
    for (int i = 0; i < 300000; i++) {
        char digits[64];
        int places = (int)rng_range(&r, 0, 12);
        uint64_t whole = rng_next(&r) >> rng_range(&r, 0, 64);
        uint64_t fraction = rng_next(&r);
        int n = snprintf(digits, sizeof digits, "%s%llu", i % 3 == 0 ? "-" : "", (unsigned long long)whole);
        if (places > 0) {
            char places_text[24];
            snprintf(places_text, sizeof places_text, "%020llu", (unsigned long long)fraction);
            n += snprintf(digits + n, sizeof digits - (size_t)n, ".%.*s", places, places_text);
        }
        if (i % 17 == 0) {
            n += snprintf(digits + n, sizeof digits - (size_t)n, "e%d", (int)rng_range(&r, -330, 330));
        }
        double got = 0, expected = strtod(digits, NULL);
        assert_true(number_parse(digits, (size_t)n, &got));
        if (got != expected) {
            fail_msg("%s: expected %.17g, got %.17g", digits, expected, got);
        }
    }
}

/* What number_take takes is a whole number's spelling, and it means what number_parse says. */
static void numbers_taken_are_those_parsed(void **state) {
    (void)state;
    static const char letters[] = "00112345678999.-e+ ,}\"";
    rng r = rng_make(seed);
    int n_taken = 0;
    print_message("seed %llu\n", (unsigned long long)seed);
    for (int i = 0; i < 300000; i++) {
        char bytes[64] = {0};
        int n = (int)rng_range(&r, 1, 26);
        for (int k = 0; k < n; k++) {
            bytes[k] = letters[rng_range(&r, 0, i % 2 == 0 ? 13 : (int)sizeof letters - 2)];
        }
        double got = 42, expected = 0;
        const char *behind = number_take(bytes, &got);
        if (behind == NULL) {
            assert_true(got == 42);
            continue;
        }
        n_taken++;
        if (!number_parse(bytes, (size_t)(behind - bytes), &expected) || got != expected ||
            signbit(got) != signbit(expected) || (*behind >= '0' && *behind <= '9')) {
            fail_msg("%s: expected %.17g, got %.17g before '%s'", bytes, expected, got, behind);
        }
    }
    assert_true(n_taken > 10000);
    assert_non_null(number_take("4359890364849.5117,       ", &(double){0})); /* a time as traces have it */
}

static void ties_round_to_even(void **state) {
    (void)state;
    /* Halves between doubles just above 2^53, reached by the 128-bit division. */
    const char *const numbers[] = {"9007199254740993",   "9007199254740993.0",  "9007199254740995.00",
                                   "18014398509481986",  "18014398509481990",   "900719925474099.35",
                                   "9007199254740992.5", "18446744073709551615"};
    for (size_t i = 0; i < countof(numbers); i++) {
        double got = 0;
        assert_true(number_parse(numbers[i], strlen(numbers[i]), &got));
        assert_true(got == strtod(numbers[i], NULL));
    }
}

static void what_is_no_number_is_refused(void **state) {
    (void)state;
    const char *const bad[] = {"", "-", "+1", "01", "1.", ".5", "1e", "1e+", "1.2.3", "--1", "1-2", "0x10", "e5"};
    for (size_t i = 0; i < countof(bad); i++) {
        double got = 42;
        assert_false(number_parse(bad[i], strlen(bad[i]), &got));
        assert_true(got == 42);
    }
    double huge = 0;
    char many[2000];
    memset(many, '9', sizeof many);
    assert_true(number_parse(many, sizeof many, &huge));
    assert_true(isinf(huge));
}

/* What was visited, as one text to compare. */
static status note(void *context, const trace_event *e, error *err) {
    (void)err;
    text_addf(context, "%llu %c %s|%s|%d %g %s|%d %g %s|%.17g %.17g|%g %g|%d %s %d|%s\n", (unsigned long long)e->offset,
              e->phase != 0 ? e->phase : '0', text_get(&e->name), text_get(&e->category), (int)e->pid.kind,
              e->pid.kind == TRACE_ID_NUMBER ? e->pid.number : 0, text_get(&e->pid.text), (int)e->tid.kind,
              e->tid.kind == TRACE_ID_NUMBER ? e->tid.number : 0, text_get(&e->tid.text), e->start_us, e->duration_us,
              e->correlation, e->external_id, (int)e->has_labels, text_get(&e->labels), (int)e->labels_match,
              text_get(&e->arg_name));
    return ASSAY_OK;
}

static void forget(void *context) {
    text_reset(context);
}

static status read_pieces(const char *data, size_t n, size_t piece_bytes, text *out, trace_warnings *warnings,
                          error *err) {
    const trace_reading reading = {.label = "GPU", .visit = note, .forget = forget, .context = out};
    trace_source *source = NULL;
    assert_int_equal(trace_source_open_memory(data, n, piece_bytes, &source, err), ASSAY_OK);
    text_reset(out);
    *warnings = (trace_warnings){0};
    status result = trace_read(source, &reading, warnings, err);
    trace_source_close(source);
    return result;
}

static const char odd_trace[] =
    "\xef\xbb\xbf {\"a\\u0062\": [1, -2.5e+3, true, false, null, \"\\\"\", {\"k\": []}], \"tr\\u0061ceEvents\" :\n"
    "[ {\"ph\":\"X\", \"name\" : \"\\ud83d\\ude00 \\u00e9\\n\\ud800x\\udc00\", \"c\\u0061t\":\"kernel\", \"pid\": 7 , "
    "\"tid\":\"a\",\n"
    "  \"ts\": 4359890429281.936, \"dur\": 36.800, \"args\": {\"External id\": 3, \"correlation\": 12, \"grid\": [1, "
    "[2]]}},\n"
    " {\"name\": \"one\", \"name\": \"two\", \"pid\": \"7\", \"tid\": null, \"ts\": -Infinity, \"dur\": NaN, \"ph\": "
    "\"XX\"},\n"
    " {}, 3, {\"ph\":\"M\",\"name\":\"process_labels\",\"pid\":true,\"args\":{\"labels\":\"my GPU 0\"}},\n"
    " {\"ph\":\"M\",\"name\":\"process_labels\",\"pid\":1.0,\"args\":{\"labels\":[1,\"GPU\"]}},\n"
    " {\"ph\":\"M\",\"args\":{\"labels\":[\"GPU 1\"],\"name\":\"n\"},\"args\":7},\n"
    "], \"z\": {}}  ";

static void pieces_make_no_difference(void **state) {
    (void)state;
    text whole = {0}, pieces = {0};
    trace_warnings warnings;
    error err = {0};
    size_t n = sizeof odd_trace - 1;
    assert_int_equal(read_pieces(odd_trace, n, 0, &whole, &warnings, &err), ASSAY_OK);
    assert_int_equal(warnings.count[TRACE_WARNING_NOT_AN_EVENT], 1);
    assert_int_equal(warnings.count[TRACE_WARNING_TRAILING_COMMA], 1);
    for (size_t piece = 1; piece < 64; piece++) {
        assert_int_equal(read_pieces(odd_trace, n, piece, &pieces, &warnings, &err), ASSAY_OK);
        assert_string_equal(text_get(&pieces), text_get(&whole));
        assert_int_equal(warnings.count[TRACE_WARNING_NOT_AN_EVENT], 1);
    }
    text_clear(&whole);
    text_clear(&pieces);
}

/* A value or its refusal is the same whether it lies in a piece, as most do, or across two. */
static void odd_values_are_the_same_in_any_pieces(void **state) {
    (void)state;
    static const char *const values[] = {"0",         "-0",         "00",         "01",
                                         "1-",        "1.",         "-",          "1.5.2",
                                         "1e5",       "1E-3",       "12345678",   "-123456789012345.1234",
                                         "\"\"",      "1.1234567",  "1.12345678", "123456789012345",
                                         "1e",        "1,2",        "NaN",        "1234567890123456",
                                         "-Infini",   "-Infinity",  "Infinity",   "9007199254740993.5",
                                         "\"\\u12\"", "[1,-2.5]",   "[1 2]",      "{\"a\":[{}],\"b\":1}",
                                         "{\"a\" 1}", "\"a\\\"b\"", "[01]",       "0.99999999999999999"};
    static const char *const keys[] = {"ts", "pid", "name", "args\":{\"correlation", "x", "args\":{\"x"};
    text data = {0}, whole = {0}, pieces = {0};
    for (size_t i = 0; i < countof(values) * countof(keys); i++) {
        const char *key = keys[i % countof(keys)];
        trace_warnings warnings;
        error err = {0}, other = {0};
        text_reset(&data);
        text_addf(&data, "[{\"%s\": %s%s,\n \"cat\":\"c\"} ,{\"%s\":%s%s}]", key, values[i / countof(keys)],
                  key[0] == 'a' ? "}" : "", key, values[i / countof(keys)], key[0] == 'a' ? "}" : "");
        status result = read_pieces(data.data, data.length, 0, &whole, &warnings, &err);
        for (size_t piece = 1; piece < 40; piece++) {
            assert_int_equal(read_pieces(data.data, data.length, piece, &pieces, &warnings, &other), result);
            assert_string_equal(text_get(&pieces), text_get(&whole));
            assert_string_equal(other.message, err.message);
        }
    }
    text_clear(&data);
    text_clear(&whole);
    text_clear(&pieces);
}

static void events_say_what_is_written(void **state) {
    (void)state;
    text out = {0};
    trace_warnings warnings;
    error err = {0};
    assert_int_equal(read_pieces(odd_trace, sizeof odd_trace - 1, 0, &out, &warnings, &err), ASSAY_OK);
    const char *const lines[] = {
        "0 two||3 0 7|1 0 |-inf nan|nan nan|0  0|\n",
        "M process_labels||2 1 |0 0 |nan nan|nan nan|1 my GPU 0 1|\n",
        "M process_labels||2 1 |0 0 |nan nan|nan nan|1  1|\n",
        "M ||0 0 |0 0 |nan nan|nan nan|0  0|\n",
    };
    for (size_t i = 0; i < countof(lines); i++) {
        if (strstr(text_get(&out), lines[i]) == NULL) {
            fail_msg("expected %s in\n%s", lines[i], text_get(&out));
        }
    }
    assert_non_null(
        strstr(text_get(&out), "X \xf0\x9f\x98\x80 \xc3\xa9\n\xef\xbf\xbdx\xef\xbf\xbd|kernel|2 7 |3 0 a|"));
    text_clear(&out);
}

typedef struct bad_row {
    const char *input;
    const char *message; /* what it begins with */
} bad_row;

static void errors_tell_the_byte(void **state) {
    (void)state;
    static const bad_row rows[] = {
        {"", "byte 0: expected a trace's '{' or '[', the file ends here"},
        {"7", "byte 0: expected a trace's '{' or '[', found '7'"},
        {"{}", "there is no \"traceEvents\""},
        {"{\"a\" 1}", "byte 5: expected ':' behind a key, found '1'"},
        {"{\"traceEvents\": {}}", "byte 16: expected an array behind \"traceEvents\", found '{'"},
        {"[{\"ph\": \"X\" \"ts\": 1}]", "byte 12: expected ',' or '}', found '\"'"},
        {"[{\"ts\": 1.5.2}]", "byte 8: malformed number"},
        {"[{\"ts\": -}]", "byte 8: malformed number"},
        {"[{\"ts\": tru}]", "byte 11: expected true, found '}'"},
        {"[{\"name\": \"\\x\"}]", "byte 12: expected an escape that JSON knows, found 'x'"},
        {"[{\"name\": \"\\u12g4\"}]", "byte 15: expected four hexadecimal digits behind \\u, found 'g'"},
        {"[{}] x", "byte 5: expected the end behind the trace, found 'x'"},
        {"[{1: 2}]", "byte 2: expected a string, found '1'"},
        {"[{\"a\": [}]}]", "byte 8: expected a value, found '}'"},
        {"[\x01]", "byte 1: expected a value, found byte 0x01"},
    };
    text out = {0};
    for (size_t i = 0; i < countof(rows); i++) {
        for (size_t piece = 1; piece < 20; piece++) {
            trace_warnings warnings;
            error err = {0};
            status result = read_pieces(rows[i].input, strlen(rows[i].input), piece, &out, &warnings, &err);
            if (result != ASSAY_PARSE || strncmp(err.message, rows[i].message, strlen(rows[i].message)) != 0) {
                fail_msg("%s in pieces of %zu: expected \"%s\", got %d \"%s\"", rows[i].input, piece, rows[i].message,
                         (int)result, err.message);
            }
        }
    }
    text_clear(&out);
}

static void deep_nesting_is_an_error(void **state) {
    (void)state;
    text deep = {0}, out = {0};
    trace_warnings warnings;
    error err = {0};
    text_add(&deep, "[{\"args\":{\"x\":");
    for (int i = 0; i < 100000; i++) {
        text_add(&deep, i % 2 == 0 ? "[" : "{\"a\":");
    }
    assert_int_equal(read_pieces(deep.data, deep.length, 0, &out, &warnings, &err), ASSAY_PARSE);
    assert_non_null(strstr(err.message, "nested deeper than"));
    text_clear(&deep);
    text_clear(&out);
}

static void truncation_is_a_warning_or_an_error_at_every_byte(void **state) {
    (void)state;
    text out = {0};
    const char *events = strstr(odd_trace, "[ {");
    for (size_t n = 0; n < sizeof odd_trace - 1; n++) {
        trace_warnings warnings;
        error err = {0};
        status result = read_pieces(odd_trace, n, 7, &out, &warnings, &err);
        if (odd_trace + n <= events) {
            assert_int_equal(result, ASSAY_PARSE);
            assert_true(err.message[0] != '\0');
        } else if (result == ASSAY_OK) {
            assert_true(warnings.count[TRACE_WARNING_CUT_SHORT] == 1 || n >= sizeof odd_trace - 3);
        } else {
            fail_msg("%zu bytes: %s", n, err.message);
        }
    }
    text_clear(&out);
}

static void a_second_traceEvents_replaces_the_first(void **state) {
    (void)state;
    text out = {0};
    trace_warnings warnings;
    error err = {0};
    const char twice[] = "{\"traceEvents\":[{\"name\":\"first\"}],\"traceEvents\":[{\"name\":\"second\"}]}";
    assert_int_equal(read_pieces(twice, sizeof twice - 1, 0, &out, &warnings, &err), ASSAY_OK);
    assert_null(strstr(text_get(&out), "first"));
    assert_non_null(strstr(text_get(&out), "second"));
    assert_int_equal(warnings.count[TRACE_WARNING_EVENTS_TWICE], 1);
    text_clear(&out);
}

/* 64 MiB stand for the gigabyte: nothing in the scanner knows how long a string is. */
static void long_strings_take_no_memory(void **state) {
    (void)state;
    text big = {0}, out = {0};
    trace_warnings warnings;
    error err = {0};
    char filler[4096];
    memset(filler, 'x', sizeof filler);
    text_add(&big, "[{\"ph\":\"X\",\"name\":\"");
    for (int i = 0; i < 64 * 256; i++) {
        text_add_bytes(&big, filler, sizeof filler);
    }
    text_add(&big, "\",\"pid\":3},{\"args\":{\"y\":\"");
    text_add_bytes(&big, filler, sizeof filler);
    text_add(&big, "\"}}]");
    assert_int_equal(read_pieces(big.data, big.length, 0, &out, &warnings, &err), ASSAY_OK);
    assert_true(out.length < 70 * 1024);
    assert_non_null(strstr(text_get(&out), "|2 3 "));
    text_clear(&big);
    text_clear(&out);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_round_as_strtod_does),
        cmocka_unit_test(numbers_taken_are_those_parsed),
        cmocka_unit_test(ties_round_to_even),
        cmocka_unit_test(what_is_no_number_is_refused),
        cmocka_unit_test(pieces_make_no_difference),
        cmocka_unit_test(odd_values_are_the_same_in_any_pieces),
        cmocka_unit_test(events_say_what_is_written),
        cmocka_unit_test(errors_tell_the_byte),
        cmocka_unit_test(deep_nesting_is_an_error),
        cmocka_unit_test(truncation_is_a_warning_or_an_error_at_every_byte),
        cmocka_unit_test(a_second_traceEvents_replaces_the_first),
        cmocka_unit_test(long_strings_take_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
