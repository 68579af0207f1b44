/* SPDX-License-Identifier: Apache-2.0 */
/* Events out of a scan: a table of the keys that matter, everything else skipped. */
#include "lab/trace/event.h"

#include "lab/trace/scan.h"

#include <inttypes.h>
#include <math.h>

typedef struct reader {
    scan scan;
    trace_event event;
    const trace_reading *reading;
    trace_warnings *warnings;
    size_t label_length;
} reader;

/* text_reset without a call. */
static inline void empty(text *t) {
    if (t->length > 0) {
        t->length = 0;
        t->data[0] = '\0';
    }
}

static inline status keep_text(reader *r, text *into, bool *cut) {
    scan_text value;
    TRY(scan_string(&r->scan, &value));
    if (value.length < into->capacity) {
        scan_copy(&value, into->data, into->capacity);
        into->data[value.length] = '\0';
        into->length = value.length;
    } else {
        text_reset(into);
        text_add_bytes(into, value.data, value.length);
    }
    if (into->failed) {
        return fail(r->scan.err, ASSAY_OUT_OF_MEMORY, "no memory for a name");
    }
    *cut = value.cut;
    return ASSAY_OK;
}

static status take_text(reader *r, text *into, bool *is_text, bool *cut) {
    *cut = false;
    *is_text = scan_peek(&r->scan) == '"';
    if (*is_text) {
        return keep_text(r, into, cut);
    }
    empty(into);
    return scan_skip(&r->scan);
}

/* NaN for what is no number. */
static status take_number_slowly(reader *r, double *out) {
    int c = scan_peek(&r->scan);
    *out = NAN;
    bool is_number = c != SCAN_END && (scan_is_number[c] || c == 'N' || c == 'I');
    return is_number ? scan_number(&r->scan, out) : scan_skip(&r->scan);
}

static inline status take_number(reader *r, double *out) {
    return scan_number_here(&r->scan, out) ? ASSAY_OK : take_number_slowly(r, out);
}

static status take_id_slowly(reader *r, trace_id *id) {
    int c = scan_peek(&r->scan);
    bool cut = false;
    id->kind = TRACE_ID_MISSING;
    switch (c) {
    case '"':
        id->kind = TRACE_ID_TEXT;
        return keep_text(r, &id->text, &cut);
    case 't':
    case 'f':
        id->kind = TRACE_ID_NUMBER;
        id->number = c == 't';
        return scan_skip(&r->scan);
    case 'n':
        id->kind = TRACE_ID_NULL;
        return scan_skip(&r->scan);
    default:
        TRY(take_number_slowly(r, &id->number));
        id->kind = isfinite(id->number) ? TRACE_ID_NUMBER : TRACE_ID_MISSING;
        return ASSAY_OK;
    }
}

static inline status take_id(reader *r, trace_id *id) {
    empty(&id->text);
    if (scan_number_here(&r->scan, &id->number)) {
        id->kind = TRACE_ID_NUMBER;
        return ASSAY_OK;
    }
    return take_id_slowly(r, id);
}

static inline status take_phase(reader *r) {
    scan_text phase = {0};
    if (scan_peek(&r->scan) != '"') {
        r->event.phase = 0;
        return scan_skip(&r->scan);
    }
    TRY(scan_string(&r->scan, &phase));
    r->event.phase = phase.length == 1 ? phase.data[0] : 0;
    return ASSAY_OK;
}

static status take_category(reader *r) {
    bool is_text = false, cut = false;
    return take_text(r, &r->event.category, &is_text, &cut);
}

static status take_arg_name(reader *r) {
    bool is_text = false, cut = false;
    return take_text(r, &r->event.arg_name, &is_text, &cut);
}

static status take_label_array(reader *r) {
    trace_event *event = &r->event;
    scan *s = &r->scan;
    size_t n_seen = 0;
    s->at++;
    event->has_labels = true;
    for (;;) {
        bool more = false;
        TRY(scan_next(s, ']', &n_seen, &more));
        if (!more) {
            return ASSAY_OK;
        }
        if (scan_peek(s) != '"') {
            TRY(scan_skip(s));
            continue;
        }
        scan_text item;
        TRY(scan_string(s, &item));
        event->labels_match |= item.length == r->label_length && memcmp(item.data, r->reading->label, item.length) == 0;
    }
}

static status take_labels(reader *r) {
    trace_event *event = &r->event;
    bool cut = false;
    event->labels_match = false;
    if (scan_peek(&r->scan) == '[') {
        text_reset(&event->labels);
        return take_label_array(r);
    }
    TRY(take_text(r, &event->labels, &event->has_labels, &cut));
    event->labels_match = event->has_labels && memmem(text_get(&event->labels), event->labels.length, r->reading->label,
                                                      r->label_length) != NULL;
    return ASSAY_OK;
}

/* For a literal of the key's length: one comparison of words. */
static inline bool is(scan_text key, const char *word) {
    return memcmp(key.data, word, strlen(word)) == 0;
}

static inline status take_arg(reader *r, scan_text key) {
    trace_event *e = &r->event;
    switch (key.length) {
    case 4:
        return is(key, "name") ? take_arg_name(r) : scan_skip(&r->scan);
    case 6:
        return is(key, "labels") ? take_labels(r) : scan_skip(&r->scan);
    case 11:
        if (is(key, "correlation")) {
            return take_number(r, &e->correlation);
        }
        /* The second is PyTorch's before 1.13. */
        return is(key, "External id") || is(key, "external id") ? take_number(r, &e->external_id) : scan_skip(&r->scan);
    default:
        return scan_skip(&r->scan);
    }
}

static void reset_args(trace_event *event) {
    event->correlation = event->external_id = NAN;
    event->has_labels = event->labels_match = false;
    empty(&event->labels);
    empty(&event->arg_name);
}

static status take_args(reader *r) {
    reset_args(&r->event);
    if (scan_peek(&r->scan) != '{') {
        return scan_skip(&r->scan);
    }
    r->scan.at++;
    for (size_t n_seen = 0;;) {
        bool more = false;
        scan_text key;
        TRY(scan_next_key(&r->scan, &n_seen, &more, &key));
        if (!more) {
            return ASSAY_OK;
        }
        TRY(take_arg(r, key));
    }
}

static inline status take_field(reader *r, scan_text key) {
    trace_event *e = &r->event;
    switch (key.length) {
    case 2:
        return is(key, "ph")   ? take_phase(r)
               : is(key, "ts") ? take_number(r, &e->start_us)
               : is(key, "id") ? take_id(r, &e->flow)
                               : scan_skip(&r->scan);
    case 3:
        return is(key, "pid")   ? take_id(r, &e->pid)
               : is(key, "tid") ? take_id(r, &e->tid)
               : is(key, "cat") ? take_category(r)
               : is(key, "dur") ? take_number(r, &e->duration_us)
                                : scan_skip(&r->scan);
    case 4:
        return is(key, "name")   ? take_text(r, &e->name, &e->has_name, &e->name_cut)
               : is(key, "args") ? take_args(r)
                                 : scan_skip(&r->scan);
    default:
        return scan_skip(&r->scan);
    }
}

/* The opening brace comes next. */
static status take_event(reader *r) {
    r->scan.at++;
    for (size_t n_seen = 0;;) {
        bool more = false;
        scan_text key;
        TRY(scan_next_key(&r->scan, &n_seen, &more, &key));
        if (!more) {
            return ASSAY_OK;
        }
        TRY(take_field(r, key));
    }
}

static void reset_event(trace_event *event) {
    event->phase = 0;
    event->has_name = event->name_cut = false;
    empty(&event->name);
    empty(&event->category);
    event->pid.kind = event->tid.kind = event->flow.kind = TRACE_ID_MISSING;
    event->start_us = event->duration_us = NAN;
    reset_args(event);
}

static status read_element(reader *r) {
    if (scan_peek(&r->scan) != '{') {
        uint64_t offset = scan_offset(&r->scan);
        TRY(scan_skip(&r->scan));
        trace_warn(r->warnings, TRACE_WARNING_NOT_AN_EVENT, offset);
        return ASSAY_OK;
    }
    reset_event(&r->event);
    r->event.offset = scan_offset(&r->scan);
    TRY(take_event(r));
    return r->reading->visit(r->reading->context, &r->event, r->scan.err);
}

/* The opening bracket comes next. */
static status read_events(reader *r) {
    scan *s = &r->scan;
    size_t n_seen = 0;
    s->at++;
    for (;;) {
        bool more = false;
        TRY(scan_next(s, ']', &n_seen, &more));
        if (!more) {
            return ASSAY_OK;
        }
        if (scan_peek(s) == ']' && n_seen > 1) {
            trace_warn(r->warnings, TRACE_WARNING_TRAILING_COMMA, scan_offset(s));
            s->at++;
            return ASSAY_OK;
        }
        TRY(read_element(r));
    }
}

static status read_root_object(reader *r, bool *found) {
    scan *s = &r->scan;
    size_t n_seen = 0;
    s->at++;
    for (;;) {
        bool more = false;
        scan_text key;
        TRY(scan_next_key(s, &n_seen, &more, &key));
        if (!more) {
            return ASSAY_OK;
        }
        if (key.length != sizeof "traceEvents" - 1 || memcmp(key.data, "traceEvents", key.length) != 0) {
            TRY(scan_skip(s));
            continue;
        }
        if (scan_peek(s) != '[') {
            return scan_fail(s, "an array behind \"traceEvents\"");
        }
        if (*found) {
            trace_warn(r->warnings, TRACE_WARNING_EVENTS_TWICE, scan_offset(s));
            r->reading->forget(r->reading->context);
        }
        *found = true;
        TRY(read_events(r));
    }
}

static status read_root(reader *r, bool *found) {
    scan *s = &r->scan;
    int c = scan_peek(s);
    if (c == 0xef) { /* a byte order mark, which some editors put there */
        for (const char *mark = "\xef\xbb\xbf"; *mark != '\0'; mark++) {
            if (!scan_take(s, *mark)) {
                return scan_fail(s, "a trace's '{' or '['");
            }
        }
        c = scan_peek(s);
    }
    if (c != '{' && c != '[') {
        return scan_fail(s, "a trace's '{' or '['");
    }
    *found = c == '[';
    TRY(c == '[' ? read_events(r) : read_root_object(r, found));
    if (scan_peek(s) != SCAN_END) {
        return scan_fail(s, "the end behind the trace");
    }
    return s->failure;
}

status trace_read(trace_source *source, const trace_reading *reading, trace_warnings *warnings, error *err) {
    reader r = {.reading = reading, .warnings = warnings, .label_length = strlen(reading->label)};
    error local = {0};
    scan_init(&r.scan, source, &local);
    bool found = false;
    status result = read_root(&r, &found);
    if (result == ASSAY_PARSE && r.scan.cut_short && found) {
        trace_warn(warnings, TRACE_WARNING_CUT_SHORT, scan_offset(&r.scan));
        result = ASSAY_OK;
    } else if (result == ASSAY_OK && trace_source_was_cut(source)) {
        trace_warn(warnings, TRACE_WARNING_CUT_SHORT, scan_offset(&r.scan));
    } else if (result == ASSAY_OK && !found) {
        result = fail(&local, ASSAY_PARSE, "there is no \"traceEvents\" in it: expected a chrome trace");
    }
    if (result != ASSAY_OK && err != NULL) {
        *err = local;
    }
    trace_event *e = &r.event;
    text *const texts[] = {&e->name, &e->category, &e->pid.text, &e->tid.text, &e->flow.text, &e->labels, &e->arg_name};
    for (size_t i = 0; i < countof(texts); i++) {
        text_clear(texts[i]);
    }
    scan_clear(&r.scan);
    return result;
}
