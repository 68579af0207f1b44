/* SPDX-License-Identifier: Apache-2.0 */
/* The scanner's slower ways: refills, tokens across pieces, escapes, skipped values, errors with their offset. */
#include "lab/trace/scan.h"

#include "lab/trace/number.h"

#include <inttypes.h>
#include <math.h>

const bool scan_is_space[256] = {[' '] = true, ['\n'] = true, ['\r'] = true, ['\t'] = true};
const bool scan_is_number[256] = {
    ['0'] = true, ['1'] = true, ['2'] = true, ['3'] = true, ['4'] = true, ['5'] = true, ['6'] = true, ['7'] = true,
    ['8'] = true, ['9'] = true, ['+'] = true, ['-'] = true, ['.'] = true, ['e'] = true, ['E'] = true};

void scan_init(scan *s, trace_source *source, error *err) {
    static const char nothing[TRACE_PIECE_PADDING] = "\"";
    *s = (scan){.at = nothing, .end = nothing, .piece = nothing, .source = source, .err = err};
}

void scan_clear(scan *s) {
    text_clear(&s->held);
}

bool scan_refill(scan *s) {
    if (s->ended || s->failure != ASSAY_OK) {
        return false;
    }
    const char *piece = NULL;
    size_t n = 0;
    s->failure = trace_source_next(s->source, &piece, &n, s->err);
    if (s->failure != ASSAY_OK) {
        return false;
    }
    s->piece_offset += (uint64_t)(s->end - s->piece);
    s->piece = s->at = piece;
    s->end = piece + n;
    s->ended = n == 0;
    return n > 0;
}

status scan_fail(scan *s, const char *expected) {
    int c = scan_peek(s);
    if (s->failure != ASSAY_OK) {
        return s->failure; /* s->err is filled in */
    }
    uint64_t offset = scan_offset(s);
    if (c == SCAN_END) {
        s->cut_short = true;
        return fail(s->err, ASSAY_PARSE, "byte %" PRIu64 ": expected %s, the file ends here", offset, expected);
    }
    if (c >= 0x20 && c < 0x7f) {
        return fail(s->err, ASSAY_PARSE, "byte %" PRIu64 ": expected %s, found '%c'", offset, expected, c);
    }
    return fail(s->err, ASSAY_PARSE, "byte %" PRIu64 ": expected %s, found byte 0x%02x", offset, expected, (unsigned)c);
}

/* The next byte, white space or not, taken. */
static int take_byte(scan *s) {
    if (s->at == s->end && !scan_refill(s)) {
        return SCAN_END;
    }
    return (unsigned char)*s->at++;
}

static status take_hex4(scan *s, unsigned *out) {
    unsigned value = 0;
    for (int i = 0; i < 4; i++) {
        int c = take_byte(s);
        int digit = c >= '0' && c <= '9'   ? c - '0'
                    : c >= 'a' && c <= 'f' ? c - 'a' + 10
                    : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                           : -1;
        if (digit < 0) {
            s->at -= c != SCAN_END;
            return scan_fail(s, "four hexadecimal digits behind \\u");
        }
        value = value * 16 + (unsigned)digit;
    }
    *out = value;
    return ASSAY_OK;
}

static void hold(scan *s, scan_text *out, const char *data, size_t n) {
    size_t room = SCAN_TEXT_LIMIT - s->held.length;
    text_add_bytes(&s->held, data, n < room ? n : room);
    out->cut = out->cut || n > room;
}

static void hold_code_point(scan *s, scan_text *out, unsigned c) {
    char utf8[4];
    size_t n = 0;
    if (c < 0x80) {
        utf8[n++] = (char)c;
    } else if (c < 0x800) {
        utf8[n++] = (char)(0xc0 | c >> 6);
        utf8[n++] = (char)(0x80 | (c & 0x3f));
    } else if (c < 0x10000) {
        utf8[n++] = (char)(0xe0 | c >> 12);
        utf8[n++] = (char)(0x80 | (c >> 6 & 0x3f));
        utf8[n++] = (char)(0x80 | (c & 0x3f));
    } else {
        utf8[n++] = (char)(0xf0 | c >> 18);
        utf8[n++] = (char)(0x80 | (c >> 12 & 0x3f));
        utf8[n++] = (char)(0x80 | (c >> 6 & 0x3f));
        utf8[n++] = (char)(0x80 | (c & 0x3f));
    }
    hold(s, out, utf8, n);
}

/* Behind "\u". A surrogate pair is one code point; half of one becomes U+FFFD. */
static status take_unicode(scan *s, scan_text *out) {
    unsigned c = 0, low = 0;
    TRY(take_hex4(s, &c));
    while (c >= 0xd800 && c < 0xdc00) {
        int slash = take_byte(s);
        if (slash != '\\') {
            s->at -= slash != SCAN_END;
            break;
        }
        int letter = take_byte(s);
        if (letter != 'u') {
            /* Another escape follows half a pair: put it down as what it is. */
            static const char escapes[] = "\"\\/bfnrt", meant[] = "\"\\/\b\f\n\r\t";
            const char *which = letter > 0 ? strchr(escapes, letter) : NULL;
            hold_code_point(s, out, 0xfffd);
            if (which == NULL) {
                s->at -= letter != SCAN_END;
                return scan_fail(s, "an escape that JSON knows");
            }
            hold(s, out, &meant[which - escapes], 1);
            return ASSAY_OK;
        }
        TRY(take_hex4(s, &low));
        if (low >= 0xdc00 && low < 0xe000) {
            hold_code_point(s, out, 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00));
            return ASSAY_OK;
        }
        hold_code_point(s, out, 0xfffd);
        c = low;
    }
    hold_code_point(s, out, c >= 0xd800 && c < 0xe000 ? 0xfffd : c);
    return ASSAY_OK;
}

/* Behind a backslash. */
static status take_escape(scan *s, scan_text *out) {
    static const char escapes[] = "\"\\/bfnrt", meant[] = "\"\\/\b\f\n\r\t";
    int c = take_byte(s);
    const char *which = c > 0 ? strchr(escapes, c) : NULL;
    if (c == 'u') {
        return take_unicode(s, out);
    }
    if (which == NULL) {
        s->at -= c != SCAN_END;
        return scan_fail(s, "an escape that JSON knows");
    }
    hold(s, out, &meant[which - escapes], 1);
    return ASSAY_OK;
}

/* The rest of a string, of any length, in the memory of its first SCAN_TEXT_LIMIT bytes. */
status scan_string_held(scan *s, scan_text *out) {
    scan_text taken = {0};
    text_reset(&s->held);
    for (;;) {
        const char *stop = scan_string_end(s->at);
        stop = stop < s->end ? stop : s->end;
        hold(s, &taken, s->at, (size_t)(stop - s->at));
        s->at = stop;
        if (stop == s->end) {
            if (!scan_refill(s)) {
                return scan_fail(s, "the end of a string");
            }
        } else if (*s->at++ == '"') {
            break;
        } else {
            TRY(take_escape(s, &taken));
        }
    }
    if (s->held.failed) {
        return fail(s->err, ASSAY_OUT_OF_MEMORY, "no memory for a string");
    }
    taken.data = text_get(&s->held);
    taken.length = s->held.length;
    *out = taken;
    return ASSAY_OK;
}

/* As scan_string, for a string that nobody wants: nothing is copied. */
static status skip_string(scan *s) {
    const char *close = scan_string_end(++s->at);
    if (close < s->end && *close == '"') {
        s->at = close + 1;
        return ASSAY_OK;
    }
    scan_text unwanted;
    return scan_string_held(s, &unwanted);
}

static status take_word(scan *s, const char *word) {
    for (const char *w = word; *w != '\0'; w++) {
        int c = take_byte(s);
        if (c != *w) {
            s->at -= c != SCAN_END;
            return scan_fail(s, word);
        }
    }
    return ASSAY_OK;
}

/* The word behind a '-' that was taken, or without one. */
static status take_not_finite(scan *s, bool negative, double *out) {
    bool is_nan = !negative && scan_peek(s) == 'N';
    TRY(take_word(s, is_nan ? "NaN" : "Infinity"));
    *out = is_nan ? NAN : negative ? -INFINITY : INFINITY;
    return ASSAY_OK;
}

/* Collects the number's bytes in `held`; false when they are too many to be one that a trace means. */
static bool hold_number(scan *s) {
    bool too_long = false;
    text_reset(&s->held);
    do {
        const char *p = s->at;
        while (scan_is_number[(unsigned char)*p]) {
            p++;
        }
        too_long = too_long || s->held.length + (size_t)(p - s->at) > SCAN_TEXT_LIMIT;
        if (!too_long) {
            text_add_bytes(&s->held, s->at, (size_t)(p - s->at));
        }
        s->at = p;
    } while (s->at == s->end && scan_refill(s));
    return !too_long;
}

static status take_held_number(scan *s, double *out) {
    uint64_t begin = scan_offset(s);
    bool kept = hold_number(s);
    if (s->failure != ASSAY_OK) {
        return s->failure;
    }
    if (!kept) {
        *out = NAN; /* whoever wanted it will say that it is of no use */
        return ASSAY_OK;
    }
    if (s->held.failed) {
        return fail(s->err, ASSAY_OUT_OF_MEMORY, "no memory for a number");
    }
    if (number_parse(text_get(&s->held), s->held.length, out)) {
        return ASSAY_OK;
    }
    if (s->held.length == 1 && s->held.data[0] == '-' && s->at < s->end && *s->at == 'I') {
        return take_not_finite(s, true, out);
    }
    s->cut_short = s->at == s->end && s->ended;
    return fail(s->err, ASSAY_PARSE, "byte %" PRIu64 ": malformed number", begin);
}

status scan_number_slowly(scan *s, double *out) {
    int c = scan_peek(s);
    if (c == 'N' || c == 'I') {
        return take_not_finite(s, false, out);
    }
    if (c == SCAN_END || !scan_is_number[c]) {
        return scan_fail(s, "a value");
    }
    const char *p = s->at;
    while (scan_is_number[(unsigned char)*p]) {
        p++;
    }
    if (p < s->end && number_parse(s->at, (size_t)(p - s->at), out)) {
        s->at = p;
        return ASSAY_OK;
    }
    return take_held_number(s, out);
}

/* A key and its colon. */
static status take_key(scan *s, scan_text *out) {
    TRY(scan_string(s, out));
    if (out->data != s->held.data && (s->at == s->end || *s->at != ':')) {
        /* The colon may be in the next piece, which would overwrite the key. */
        text_reset(&s->held);
        text_add_bytes(&s->held, out->data, out->length);
        out->data = text_get(&s->held);
    }
    return scan_take(s, ':') ? ASSAY_OK : scan_fail(s, "':' behind a key");
}

status scan_next_key_slowly(scan *s, size_t *n_seen, bool *more, scan_text *key) {
    TRY(scan_next(s, '}', n_seen, more));
    return *more ? take_key(s, key) : ASSAY_OK;
}

static status skip_value(scan *s, int depth);

static status skip_key(scan *s, size_t *n_seen, bool *more) {
    scan_text unwanted;
    if (scan_key_here(s, n_seen, &unwanted)) {
        *more = true;
        return ASSAY_OK;
    }
    TRY(scan_next(s, '}', n_seen, more));
    if (!*more) {
        return ASSAY_OK;
    }
    if (scan_peek(s) != '"') {
        return scan_fail(s, "a key");
    }
    TRY(skip_string(s));
    return scan_take(s, ':') ? ASSAY_OK : scan_fail(s, "':' behind a key");
}

static status skip_nested(scan *s, char closing, int depth) {
    if (depth >= SCAN_MAX_DEPTH) {
        return fail(s->err, ASSAY_PARSE, "byte %" PRIu64 ": nested deeper than %d", scan_offset(s), SCAN_MAX_DEPTH);
    }
    s->at++;
    size_t n_seen = 0;
    for (;;) {
        bool more = true;
        TRY(closing == '}' ? skip_key(s, &n_seen, &more) : scan_next(s, closing, &n_seen, &more));
        if (!more) {
            return ASSAY_OK;
        }
        TRY(skip_value(s, depth + 1));
    }
}

static status skip_value(scan *s, int depth) {
    double unwanted;
    switch (scan_peek(s)) {
    case '"':
        return skip_string(s);
    case '{':
        return skip_nested(s, '}', depth);
    case '[':
        return skip_nested(s, ']', depth);
    case 't':
        return take_word(s, "true");
    case 'f':
        return take_word(s, "false");
    case 'n':
        return take_word(s, "null");
    case SCAN_END:
        return scan_fail(s, "a value");
    default:
        return scan_number(s, &unwanted);
    }
}

status scan_skip_slowly(scan *s) {
    return skip_value(s, 0);
}
