/* SPDX-License-Identifier: Apache-2.0 */
/* A pull scanner for JSON in bounded memory: the reader asks for what it expects next, and skips the rest. The quick
   ways are inline here; what crosses from one piece of the source to the next, escapes and errors are in scan.c. */
#ifndef LAB_TRACE_SCAN_H
#define LAB_TRACE_SCAN_H

#include "base/text.h"
#include "lab/trace/number.h"
#include "lab/trace/source.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

enum {
    SCAN_END = -1,               /* what scan_peek answers at the end of the bytes, or when reading them failed */
    SCAN_MAX_DEPTH = 512,        /* of nested arrays and objects; a trace's args nest three deep */
    SCAN_TEXT_LIMIT = 64 * 1024, /* bytes of a string that are kept; longer ones are read over and marked as cut */
};

/* One scan of one source. Plain data; `held` is the only memory. */
typedef struct scan {
    const char *at;  /* the next byte */
    const char *end; /* the end of the piece on loan; readable for TRACE_PIECE_PADDING more */
    const char *piece;
    uint64_t piece_offset; /* bytes before the piece */
    trace_source *source;
    text held;      /* a token that could not be lent out of the piece */
    bool ended;     /* the source has no more */
    bool cut_short; /* an error was the end of the bytes where more had to come */
    status failure; /* of the source */
    error *err;     /* filled in by whatever fails below; may be NULL */
} scan;

/* Borrowed bytes, valid until the next call on the scan. */
typedef struct scan_text {
    const char *data;
    size_t length;
    bool cut;      /* only the first SCAN_TEXT_LIMIT bytes are here */
    bool in_piece; /* so that TRACE_PIECE_PADDING bytes from `data` on are readable */
} scan_text;

void scan_init(scan *s, trace_source *source, error *err);
void scan_clear(scan *s);

/* Where the scan stands, in bytes from the start (unpacked, for a gzip'd source). */
static inline uint64_t scan_offset(const scan *s) {
    return s->piece_offset + (uint64_t)(s->at - s->piece);
}

/* Asks the source for more once at == end; false at its end or failure. */
bool scan_refill(scan *s);

/* PARSE with the byte offset, what was expected and what came; the source's own failure where there was one. */
status scan_fail(scan *s, const char *expected);

extern const bool scan_is_space[256];
extern const bool scan_is_number[256];

/* The next byte behind white space, not taken; SCAN_END at the end. */
static inline int scan_peek(scan *s) {
    do {
        const char *p = s->at;
        while (scan_is_space[(unsigned char)*p]) {
            p++;
        }
        s->at = p;
        if (p < s->end) {
            return (unsigned char)*p;
        }
    } while (scan_refill(s));
    return SCAN_END;
}

/* Takes `wanted` if it comes next, white space before it included. */
static inline bool scan_take(scan *s, char wanted) {
    bool here = scan_peek(s) == (unsigned char)wanted;
    s->at += here;
    return here;
}

/* The first '"' or '\\' at or behind p, which at worst is the piece's seal. */
static inline const char *scan_string_end(const char *p) {
#ifdef __SSE2__
    const __m128i quote = _mm_set1_epi8('"'), slash = _mm_set1_epi8('\\');
    for (;; p += 16) {
        __m128i bytes = _mm_loadu_si128((const __m128i *)p);
        int hits = _mm_movemask_epi8(_mm_or_si128(_mm_cmpeq_epi8(bytes, quote), _mm_cmpeq_epi8(bytes, slash)));
        if (hits != 0) {
            return p + __builtin_ctz((unsigned)hits);
        }
    }
#elif __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    /* A byte of x is zero iff the top bit of (x - 0x01) & ~x is set in it; the lowest such byte is told exactly. */
    const uint64_t ones = 0x0101010101010101u, tops = 0x8080808080808080u;
    for (;; p += 8) {
        uint64_t word;
        memcpy(&word, p, sizeof word);
        uint64_t quote = word ^ ones * '"', slash = word ^ ones * '\\';
        uint64_t hits = (((quote - ones) & ~quote) | ((slash - ones) & ~slash)) & tops;
        if (hits != 0) {
            return p + __builtin_ctzll(hits) / 8;
        }
    }
#else
    while (*p != '"' && *p != '\\') {
        p++;
    }
    return p;
#endif
}

/* The slow halves of what is below: tokens that cross pieces, escapes, unusual numbers, nested values. */
status scan_string_held(scan *s, scan_text *out);
status scan_number_slowly(scan *s, double *out);
status scan_skip_slowly(scan *s);
status scan_next_key_slowly(scan *s, size_t *n_seen, bool *more, scan_text *key);

/* Takes a string whose opening quote comes next, with its escapes undone. */
static inline status scan_string(scan *s, scan_text *out) {
    if (!scan_take(s, '"')) {
        return scan_fail(s, "a string");
    }
    const char *close = scan_string_end(s->at);
    if (close >= s->end || *close != '"' || close - s->at > SCAN_TEXT_LIMIT) {
        return scan_string_held(s, out);
    }
    *out = (scan_text){.data = s->at, .length = (size_t)(close - s->at), .in_piece = true};
    s->at = close + 1;
    return ASSAY_OK;
}

/* Copies a text into memory of at least its length. Most are short, and a copy of fixed length takes no call. */
static inline void scan_copy(const scan_text *from, char *into, size_t capacity) {
    if (from->length <= TRACE_PIECE_PADDING && capacity >= TRACE_PIECE_PADDING && from->in_piece) {
        memcpy(into, from->data, TRACE_PIECE_PADDING);
    } else {
        memcpy(into, from->data, from->length);
    }
}

/* Takes a number as traces mostly spell it if one comes next, and nothing otherwise. */
static inline bool scan_number_here(scan *s, double *out) {
    double value;
    const char *p = number_take(s->at + (*s->at == ' '), &value);
    if (p == NULL || p >= s->end || scan_is_number[(unsigned char)*p]) {
        return false;
    }
    s->at = p;
    *out = value;
    return true;
}

/* Takes a number that comes next; NaN and Infinity are let in, as Python writes them. */
static inline status scan_number(scan *s, double *out) {
    return scan_number_here(s, out) ? ASSAY_OK : scan_number_slowly(s, out);
}

/* Takes any value, checked to be JSON, and forgets it. */
static inline status scan_skip(scan *s) {
    double unwanted;
    return scan_number_here(s, &unwanted) ? ASSAY_OK : scan_skip_slowly(s);
}

/* Walks an object or array whose opening bracket was taken: true with the scan before the next key or value; false at
   the closing bracket, which is taken. `n_seen` starts at 0. */
static inline status scan_next(scan *s, char closing, size_t *n_seen, bool *more) {
    int c = scan_peek(s);
    bool closed = c == closing;
    if (!closed && *n_seen > 0 && c != ',') {
        return scan_fail(s, closing == '}' ? "',' or '}'" : "',' or ']'");
    }
    s->at += closed || *n_seen > 0;
    *n_seen += !closed;
    *more = !closed;
    return ASSAY_OK;
}

/* Takes the comma before it, a key and its colon if they come next, as traces mostly write them, and nothing otherwise.
 */
static inline bool scan_key_here(scan *s, size_t *n_seen, scan_text *key) {
    const char *p = s->at;
    bool is_next = *n_seen == 0 || *p == ',';
    p += *n_seen > 0;
    p += is_next && *p == ' ';
    while (is_next && scan_is_space[(unsigned char)*p]) {
        p++;
    }
    if (is_next && p < s->end && *p == '"') {
        const char *close = scan_string_end(++p);
        if (close[0] == '"' && close[1] == ':' && close + 1 < s->end && close - p <= SCAN_TEXT_LIMIT) {
            *key = (scan_text){.data = p, .length = (size_t)(close - p), .in_piece = true};
            s->at = close + 2;
            ++*n_seen;
            return true;
        }
    }
    return false;
}

/* As scan_next in an object, and takes the key and its colon. */
static inline status scan_next_key(scan *s, size_t *n_seen, bool *more, scan_text *key) {
    if (scan_key_here(s, n_seen, key)) {
        *more = true;
        return ASSAY_OK;
    }
    return scan_next_key_slowly(s, n_seen, more, key);
}

#endif
