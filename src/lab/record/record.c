/* SPDX-License-Identifier: Apache-2.0 */
/* The table of a record's fields, in the order in which they are written, and the lines made from it. */
#include "lab/record/record.h"

#include "base/text.h"
#include "lab/record/fields.h"
#include "lab/record/machine_fields.h"
#include "lab/stats/stopping.h"
#include "lab/stats/summary.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const status_names[] = {
#define STATUS_NAME(name, text) text,
    RECORD_STATUS_LIST(STATUS_NAME)
#undef STATUS_NAME
};

const char *record_status_text(record_status s) {
    return (size_t)s < countof(status_names) ? status_names[s] : "unknown";
}

status record_warn_of_compile(arena *a, record *r, error *err) {
    if (!(r->prepare_ns > RECORD_SLOW_COMPILE_NS)) {
        return ASSAY_OK;
    }
    const char **warnings = arena_make(a, r->n_warnings + 1, sizeof *warnings);
    char took[32], *warning = arena_format(a, "slow_compile: preparing took %s", text_of_ns(took, r->prepare_ns));
    if (warnings == NULL || warning == NULL) {
        return fail(err, ASSAY_OUT_OF_MEMORY, "no memory for a warning");
    }
    for (size_t i = 0; i < r->n_warnings; i++) {
        warnings[i] = r->warnings[i];
    }
    warnings[r->n_warnings++] = warning;
    r->warnings = warnings;
    return ASSAY_OK;
}

/* `machine` is shared between records and is therefore no field of the table; it is written and read by hand. */
const record RECORD_EMPTY = {.schema_version = RECORD_SCHEMA_VERSION,
                             .kind = "operator",
                             .calls = -1,
                             .sample_index = -1,
                             .threads = -1,
                             .seed = -1,
                             .precision = NAN,
                             .status = RECORD_SKIPPED,
                             .inner_loops = -1,
                             .worker = -1,
                             .median_ns = NAN,
                             .q20_ns = NAN,
                             .q80_ns = NAN,
                             .speedup = {NAN, NAN, NAN, NAN},
                             .prepare_ns = NAN,
                             .elapsed_s = NAN,
                             .flops = NAN,
                             .bytes = NAN,
                             .kernels = -1,
                             .library_calls = -1,
                             .bytes_moved = NAN,
                             .gflops_per_s = NAN,
                             .gbytes_per_s = NAN,
                             .error = {NAN, NAN, NAN, -1, -1}};

static const field error_fields[] = {
    {"max_abs", FIELD_DOUBLE, .offset = offsetof(record_error_stats, max_abs)},
    {"rel_l2", FIELD_DOUBLE, .offset = offsetof(record_error_stats, rel_l2)},
    {"worst_ulp", FIELD_DOUBLE, .offset = offsetof(record_error_stats, worst_ulp)},
    {"checked_elements", FIELD_INT64, .offset = offsetof(record_error_stats, checked_elements)},
    {"total_elements", FIELD_INT64, .offset = offsetof(record_error_stats, total_elements)},
};
static const field_set error_set = {error_fields, countof(error_fields), sizeof(record_error_stats)};

static const field speedup_fields[] = {
    {"ratio", FIELD_DOUBLE, .offset = offsetof(record_speedup, ratio)},
    {"low", FIELD_DOUBLE, .offset = offsetof(record_speedup, low)},
    {"high", FIELD_DOUBLE, .offset = offsetof(record_speedup, high)},
    {"confidence", FIELD_DOUBLE, .offset = offsetof(record_speedup, confidence)},
};
static const field_set speedup_set = {speedup_fields, countof(speedup_fields), sizeof(record_speedup)};

static const field record_fields[] = {
    {"schema_version", FIELD_INT, .offset = offsetof(record, schema_version), .required = true},
    {"kind", FIELD_TEXT, .offset = offsetof(record, kind)},
    {"operator", FIELD_TEXT, .offset = offsetof(record, operator_name), .required = true},
    {"input", FIELD_TEXT, .offset = offsetof(record, input)},
    {"models", FIELD_TEXTS, .offset = offsetof(record, models), .count_offset = offsetof(record, n_models)},
    {"model_calls", FIELD_INT64S, .offset = offsetof(record, model_calls), .count_offset = offsetof(record, n_models)},
    {"calls", FIELD_INT64, .offset = offsetof(record, calls)},
    {"sample_index", FIELD_INT64, .offset = offsetof(record, sample_index)},
    {"backend", FIELD_TEXT, .offset = offsetof(record, backend), .required = true},
    {"baseline", FIELD_BOOL, .offset = offsetof(record, baseline)},
    {"device", FIELD_TEXT, .offset = offsetof(record, device)},
    {"dtype", FIELD_TEXT, .offset = offsetof(record, dtype)},
    {"threads", FIELD_INT, .offset = offsetof(record, threads)},
    {"cache", FIELD_TEXT, .offset = offsetof(record, cache)},
    {"channels_last", FIELD_BOOL, .offset = offsetof(record, channels_last)},
    {"seed", FIELD_INT64, .offset = offsetof(record, seed)},
    {"precision", FIELD_DOUBLE, .offset = offsetof(record, precision)},
    {"status", FIELD_NAME, .offset = offsetof(record, status), .required = true, .names = status_names,
     .n_names = countof(status_names)},
    {"reason", FIELD_TEXT, .offset = offsetof(record, reason)},
    {"median_ns", FIELD_DOUBLE, .offset = offsetof(record, median_ns)},
    {"q20_ns", FIELD_DOUBLE, .offset = offsetof(record, q20_ns)},
    {"q80_ns", FIELD_DOUBLE, .offset = offsetof(record, q80_ns)},
    {"speedup", FIELD_OBJECT, .offset = offsetof(record, speedup), .inner = &speedup_set},
    {"samples_ns", FIELD_DOUBLES, .offset = offsetof(record, samples_ns), .count_offset = offsetof(record, n_samples)},
    {"inner_loops", FIELD_INT64, .offset = offsetof(record, inner_loops)},
    {"worker", FIELD_INT, .offset = offsetof(record, worker)},
    {"prepare_ns", FIELD_DOUBLE, .offset = offsetof(record, prepare_ns)},
    {"elapsed_s", FIELD_DOUBLE, .offset = offsetof(record, elapsed_s)},
    {"flops", FIELD_DOUBLE, .offset = offsetof(record, flops)},
    {"bytes", FIELD_DOUBLE, .offset = offsetof(record, bytes)},
    {"gflops_per_s", FIELD_DOUBLE, .offset = offsetof(record, gflops_per_s)},
    {"gbytes_per_s", FIELD_DOUBLE, .offset = offsetof(record, gbytes_per_s)},
    {"error", FIELD_OBJECT, .offset = offsetof(record, error), .inner = &error_set},
    {"kernels", FIELD_INT, .offset = offsetof(record, kernels)},
    {"library_calls", FIELD_INT, .offset = offsetof(record, library_calls)},
    {"bytes_moved", FIELD_DOUBLE, .offset = offsetof(record, bytes_moved)},
    {"fallback", FIELD_BOOL, .offset = offsetof(record, fallback)},
    {"note", FIELD_TEXT, .offset = offsetof(record, note)},
    {"is_view", FIELD_BOOL, .offset = offsetof(record, is_view)},
    {"warnings", FIELD_TEXTS, .offset = offsetof(record, warnings), .count_offset = offsetof(record, n_warnings)},
    {"conditions", FIELD_PAIRS, .offset = offsetof(record, conditions), .count_offset = offsetof(record, n_conditions)},
    {"assay_version", FIELD_TEXT, .offset = offsetof(record, assay_version)},
    {"repro", FIELD_TEXT, .offset = offsetof(record, repro)},
};
static const field_set record_set = {record_fields, countof(record_fields), sizeof(record)};

status record_summarise(record *r, error *err) {
    stats_summary summary = {.median = NAN, .q20 = NAN, .q80 = NAN};
    if (r->n_samples > 0) {
        TRY(stats_summarise(r->samples_ns, r->n_samples, &summary, err));
    }
    r->median_ns = summary.median;
    r->q20_ns = summary.q20;
    r->q80_ns = summary.q80;
    /* One per nanosecond is 10^9 a second. */
    r->gflops_per_s = r->median_ns > 0 ? r->flops / r->median_ns : NAN;
    r->gbytes_per_s = r->median_ns > 0 ? r->bytes / r->median_ns : NAN;
    return ASSAY_OK;
}

bool record_took_turns(const record *a, const record *b) {
    return a->worker == b->worker || a->worker < 0 || b->worker < 0;
}

stats_ratio record_ratio(const record *r, const record *other, double *scratch) {
    size_t n = r->n_samples < other->n_samples ? r->n_samples : other->n_samples;
    bool was_fixed = isnan(r->precision);
    stats_ratio found = stats_paired_ratio(other->samples_ns, r->samples_ns, n, was_fixed ? 0.95 : STOP_CONFIDENCE, scratch);
    if (!was_fixed) {
        found.interval.confidence = fmin(found.interval.confidence, STOPPED_CONFIDENCE);
    }
    return found;
}

status record_compare(const record *r, const record *baseline, record_speedup *out, error *err) {
    size_t n = r->n_samples < baseline->n_samples ? r->n_samples : baseline->n_samples, bytes = 0;
    double *scratch = mul_size(n + 1, sizeof *scratch, &bytes) ? malloc(bytes) : NULL;
    if (scratch == NULL) {
        return fail(err, ASSAY_OUT_OF_MEMORY, "no memory to compare %zu samples", n);
    }
    stats_ratio found = record_ratio(r, baseline, scratch);
    free(scratch);
    bool known = isfinite(found.median);
    *out = (record_speedup){found.median, found.interval.low, found.interval.high, known ? found.interval.confidence : NAN};
    return ASSAY_OK;
}

void record_write(const record *r, text *out) {
    json_writer w = {.out = out};
    json_begin_object(&w);
    for (size_t i = 0; i < record_set.n; i++) {
        json_key(&w, record_fields[i].key);
        fields_write_one(&w, &record_fields[i], r);
    }
    json_key(&w, "machine");
    if (r->machine != NULL) {
        fields_write(&w, &machine_field_set, r->machine);
    } else {
        json_null(&w);
    }
    json_end_object(&w);
    text_add_char(out, '\n');
}

/* The machine of this line: the one before, when its source text is the same. */
static status read_machine(record_reader *reader, arena *scratch, const json_value *json, const machine_facts **out,
                           error *err) {
    if (json == NULL || json->kind == JSON_NULL) {
        *out = NULL;
        return ASSAY_OK;
    }
    if (json->kind != JSON_OBJECT) {
        return fail_at(err, ASSAY_PARSE, json->line, json->column, "\"machine\": expected an object, got %s",
                       json_kind_text(json->kind));
    }
    machine_facts facts;
    text written = {0};
    TRY(fields_read(scratch, &machine_field_set, json, &facts, err));
    fields_write(&(json_writer){.out = &written}, &machine_field_set, &facts);
    status result = ASSAY_OK;
    if (written.failed) {
        result = fail(err, ASSAY_OUT_OF_MEMORY, "no memory for a record's machine");
    } else if (reader->machine_text == NULL || strcmp(written.data, reader->machine_text) != 0) {
        machine_facts *kept = arena_make(reader->memory, 1, sizeof *kept);
        char *machine_text = arena_text(reader->memory, written.data, written.length);
        if (kept == NULL || machine_text == NULL) {
            result = fail(err, ASSAY_OUT_OF_MEMORY, "no memory for a record's machine");
        } else {
            result = fields_read(reader->memory, &machine_field_set, json, kept, err);
        }
        if (result == ASSAY_OK) {
            reader->machine = kept;
            reader->machine_text = machine_text;
        }
    }
    text_clear(&written);
    if (result == ASSAY_OK) {
        *out = reader->machine;
    }
    return result;
}

static status read_object(record_reader *reader, arena *scratch, const json_value *json, record *out, error *err) {
    if (json->kind != JSON_OBJECT) {
        return fail_at(err, ASSAY_PARSE, json->line, json->column, "expected an object, got %s",
                       json_kind_text(json->kind));
    }
    const json_value *version = json_find(json, "schema_version");
    if (version != NULL && version->kind == JSON_INTEGER && version->integer > RECORD_SCHEMA_VERSION) {
        return fail_at(err, ASSAY_UNSUPPORTED, version->line, version->column,
                       "expected schema_version %d or older, got %lld: a newer assay wrote it", RECORD_SCHEMA_VERSION,
                       (long long)version->integer);
    }
    const json_value *kind = json_find(json, "kind");
    if (kind != NULL && kind->kind == JSON_STRING && text_ends_with(kind->text, "_summary")) {
        return fail(err, ASSAY_NOT_FOUND, "expected a measurement, got a %s", kind->text);
    }
    record r;
    TRY(fields_read(reader->memory, &record_set, json, &r, err));
    TRY(read_machine(reader, scratch, json_find(json, "machine"), &r.machine, err));
    *out = r;
    return ASSAY_OK;
}

status record_read(record_reader *reader, const char *line, size_t n, record *out, error *err) {
    arena scratch = {0}; /* the tree goes when the record is read */
    const json_value *json = NULL;
    status result = json_parse(&scratch, line, n, &json, err);
    if (result == ASSAY_OK) {
        result = read_object(reader, &scratch, json, out, err);
    }
    arena_clear(&scratch);
    return result;
}
