/* SPDX-License-Identifier: Apache-2.0 */
/* Packs events in numbers of as few bytes as they need, and prints them again.

   event:  kind, place, start since the last event's, value, 0 and a body, or 1 + where in the chunk its body lies; then
           the values of those args that are numbers, which may well differ from call to call
   body:   category, name, number of args, each with its key, kind and what is no number; then 1 when something was too
           large
   Literals are kept as their distance from one here: three bytes, mostly. */
#include "lab/trace/packed.h"

#include "base/json.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char anchor[] = "";

static inline unsigned char *put_uint(unsigned char *at, uint64_t value) {
    while (value >= 0x80) {
        *at++ = (unsigned char)(value | 0x80);
        value >>= 7;
    }
    *at++ = (unsigned char)value;
    return at;
}

static inline unsigned char *put_int(unsigned char *at, int64_t value) {
    return put_uint(at, (uint64_t)value << 1 ^ (uint64_t)(value >> 63));
}

static inline unsigned char *put_literal(unsigned char *at, const char *literal) {
    return put_int(at, (int64_t)((intptr_t)literal - (intptr_t)anchor));
}

static inline unsigned char *put_bytes(unsigned char *at, const char *bytes, size_t n) {
    at = put_uint(at, n);
    memcpy(at, bytes, n);
    return at + n;
}

enum { NUMBER_BYTES = 10, ARG_HEAD_BYTES = 3 * NUMBER_BYTES };

/* At most how many bytes an arg takes. */
static size_t arg_bound(const trace_arg *a) {
    size_t n = ARG_HEAD_BYTES;
    switch (a->kind) {
    case TRACE_ARG_TEXT:
        return n + strlen(a->text);
    case TRACE_ARG_TEXTS:
        for (int i = 0; i < a->texts.n; i++) {
            n += NUMBER_BYTES + strlen(a->texts.items[i]);
        }
        return n;
    case TRACE_ARG_DIMS:
        for (int i = 0; i < a->dims.n; i++) {
            n += NUMBER_BYTES * (1 + (size_t)a->dims.items[i].n);
        }
        return n;
    default:
        return n;
    }
}

static bool is_number(const trace_arg *a) {
    return a->kind == TRACE_ARG_INT || a->kind == TRACE_ARG_REAL;
}

static unsigned char *put_number(unsigned char *at, const trace_arg *a) {
    if (a->kind == TRACE_ARG_INT) {
        return put_int(at, a->integer);
    }
    memcpy(at, &a->real, sizeof a->real);
    return at + sizeof a->real;
}

static unsigned char *put_arg(unsigned char *at, const trace_arg *a) {
    at = put_literal(at, a->key);
    *at++ = (unsigned char)a->kind;
    switch (a->kind) {
    case TRACE_ARG_INT:
    case TRACE_ARG_REAL:
        return at; /* its value follows the body */
    case TRACE_ARG_TEXT:
        return put_bytes(at, a->text, strlen(a->text));
    case TRACE_ARG_TEXTS:
        at = put_uint(at, (uint64_t)a->texts.n);
        for (int i = 0; i < a->texts.n; i++) {
            at = put_bytes(at, a->texts.items[i], strlen(a->texts.items[i]));
        }
        return at;
    case TRACE_ARG_DIMS:
        at = put_uint(at, (uint64_t)a->dims.n);
        for (int i = 0; i < a->dims.n; i++) {
            at = put_uint(at, (uint64_t)a->dims.items[i].n);
            for (int k = 0; k < a->dims.items[i].n; k++) {
                at = put_int(at, a->dims.items[i].sizes[k]);
            }
        }
        return at;
    }
    return at;
}

/* Args go whole or not at all; bit i of *kept says whether args[i] did. */
static unsigned char *put_body(unsigned char *at, const char *category, const char *name, const trace_arg *args,
                               size_t n_args, uint32_t *kept) {
    const unsigned char *end = at + PACKED_MAX_BYTES - 128; /* less the event's head */
    size_t name_bytes = strlen(name);
    bool cut = name_bytes > PACKED_MAX_NAME_BYTES;
    at = put_literal(at, category);
    at = put_bytes(at, name, cut ? PACKED_MAX_NAME_BYTES : name_bytes);
    unsigned char *count = at++;
    *count = 0;
    *kept = 0;
    for (size_t i = 0; i < n_args; i++) {
        size_t bound = arg_bound(&args[i]);
        bool fits = (size_t)(end - at) > bound;
        at = fits ? put_arg(at, &args[i]) : at;
        end -= fits && is_number(&args[i]) ? NUMBER_BYTES : 0; /* for the value */
        *kept |= (uint32_t)fits << i;
        *count = (unsigned char)(*count + fits);
        cut = cut || !fits;
    }
    *at++ = cut;
    return at;
}

/* Eight bytes at a time, for a table of few slots. */
static uint32_t slot_of(const unsigned char *body, size_t n) {
    uint64_t h = n, word = 0;
    for (; n >= 8; body += 8, n -= 8) {
        memcpy(&word, body, 8);
        h = (h ^ word) * 0x9e3779b97f4a7c15u;
        h ^= h >> 29;
    }
    word = 0;
    memcpy(&word, body, n);
    return (uint32_t)((h ^ word) * 0x9e3779b97f4a7c15u >> 55);
}

_Static_assert(PACKED_SLOTS == 1 << (64 - 55), "slot_of gives a slot");

void packed_reset(packed_chunk *c) {
    c->used_bytes = 0;
    c->last_start_ns = 0;
    memset(c->bodies, 0, sizeof c->bodies);
}

void packed_add(packed_chunk *c, const packed_event *e, const char *name, const trace_arg *args, size_t n_args) {
    assert(n_args <= TRACE_MAX_ARGS && !packed_is_full(c));
    unsigned char *at = c->data + c->used_bytes;
    *at++ = (unsigned char)e->kind;
    at = put_int(at, e->place.process);
    at = put_int(at, e->place.thread);
    at = put_int(at, (int64_t)((uint64_t)e->start_ns - (uint64_t)c->last_start_ns));
    at = put_uint(at, e->value);
    c->last_start_ns = e->start_ns;
    uint32_t kept = 0;
    unsigned char *body = at + 1, *end = put_body(body, e->category, name, args, n_args, &kept);
    size_t n = (size_t)(end - body), here = (size_t)(body - c->data);
    uint32_t *slot = &c->bodies[slot_of(body, n)];
    const unsigned char *known = c->data + *slot - 1;
    /* A body tells its own length, so that one which begins like another is that other. */
    if (*slot != 0 && *slot - 1 + n <= c->used_bytes && memcmp(known, body, n) == 0) {
        end = put_uint(at, *slot);
    } else {
        *at = 0;
        *slot = (uint32_t)here + 1;
    }
    for (size_t i = 0; i < n_args; i++) {
        end = (kept >> i & 1) != 0 && is_number(&args[i]) ? put_number(end, &args[i]) : end;
    }
    c->used_bytes = (size_t)(end - c->data);
}

static uint64_t take_uint(const unsigned char **at) {
    uint64_t value = 0;
    int shift = 0;
    do {
        value |= (uint64_t)(**at & 0x7f) << shift;
        shift += 7;
    } while ((*(*at)++ & 0x80) != 0);
    return value;
}

static int64_t take_int(const unsigned char **at) {
    uint64_t value = take_uint(at);
    return (int64_t)(value >> 1 ^ -(value & 1));
}

static const char *take_literal(const unsigned char **at) {
    return (const char *)((intptr_t)anchor + (intptr_t)take_int(at));
}

static char *print_uint(char *at, uint64_t value, int least_digits) {
    char digits[24];
    char *first = digits + sizeof digits;
    do {
        *--first = (char)('0' + value % 10);
        value /= 10;
        least_digits--;
    } while (value > 0 || least_digits > 0);
    size_t n = (size_t)(digits + sizeof digits - first);
    memcpy(at, first, n);
    return at + n;
}

static char *print_int(char *at, int64_t value) {
    if (value < 0) {
        *at++ = '-';
    }
    return print_uint(at, value < 0 ? -(uint64_t)value : (uint64_t)value, 1);
}

/* Nanoseconds as the format's microseconds, to the last digit. */
static char *print_us(char *at, int64_t time_ns) {
    uint64_t magnitude = time_ns < 0 ? -(uint64_t)time_ns : (uint64_t)time_ns;
    if (time_ns < 0) {
        *at++ = '-';
    }
    at = print_uint(at, magnitude / 1000, 1);
    *at++ = '.';
    return print_uint(at, magnitude % 1000, 3);
}

static void add_int(text *out, int64_t value) {
    char digits[24];
    text_add_bytes(out, digits, (size_t)(print_int(digits, value) - digits));
}

static void add_string(text *out, const unsigned char **at) {
    json_writer w = {.out = out};
    size_t n = (size_t)take_uint(at);
    json_string_n(&w, (const char *)*at, n);
    *at += n;
}

/* In a printed body, where a number's value goes. JSON holds no such byte: in texts it is escaped. */
enum { INT_GOES_HERE = 1, REAL_GOES_HERE = 2 };

static void add_arg(text *out, const unsigned char **at) {
    json_writer w = {.out = out};
    json_string(&w, take_literal(at));
    text_add_char(out, ':');
    trace_arg_kind kind = (trace_arg_kind) * (*at)++;
    if (kind == TRACE_ARG_INT) {
        text_add_char(out, INT_GOES_HERE);
    } else if (kind == TRACE_ARG_REAL) {
        text_add_char(out, REAL_GOES_HERE);
    } else if (kind == TRACE_ARG_TEXT) {
        add_string(out, at);
    } else {
        uint64_t n = take_uint(at);
        text_add_char(out, '[');
        for (uint64_t i = 0; i < n; i++) {
            text_add(out, i > 0 ? "," : "");
            if (kind == TRACE_ARG_TEXTS) {
                add_string(out, at);
                continue;
            }
            text_add_char(out, '[');
            uint64_t rank = take_uint(at);
            for (uint64_t k = 0; k < rank; k++) {
                text_add(out, k > 0 ? "," : "");
                add_int(out, take_int(at));
            }
            text_add_char(out, ']');
        }
        text_add_char(out, ']');
    }
}

/* ,"cat":...,"name":...,"args":{...} */
static void add_body(text *out, const unsigned char **at) {
    json_writer w = {.out = out};
    text_add(out, ",\"cat\":");
    json_string(&w, take_literal(at));
    text_add(out, ",\"name\":");
    add_string(out, at);
    int n_args = *(*at)++;
    if (n_args > 0) {
        text_add(out, ",\"args\":{");
    }
    for (int i = 0; i < n_args; i++) {
        text_add(out, i > 0 ? "," : "");
        add_arg(out, at);
    }
    bool cut = *(*at)++ != 0;
    text_add(out, cut ? (n_args > 0 ? ",\"cut\":true}" : ",\"args\":{\"cut\":true}") : n_args > 0 ? "}" : "");
}

status packed_printer_init(packed_printer *p, error *err) {
    *p = (packed_printer){.printed = malloc(PACKED_CHUNK_BYTES * sizeof *p->printed)};
    return p->printed != NULL ? ASSAY_OK : fail(err, ASSAY_OUT_OF_MEMORY, "no memory to print a trace");
}

void packed_printer_clear(packed_printer *p) {
    free(p->printed);
    text_clear(&p->bodies);
    *p = (packed_printer){0};
}

void packed_print_begin(packed_printer *p, const unsigned char *data, size_t n) {
    p->data = p->at = data;
    p->end = data + n;
    p->last_start_ns = 0;
    text_reset(&p->bodies);
    memset(p->printed, 0, PACKED_CHUNK_BYTES * sizeof *p->printed);
}

/* The printed body, NUL-terminated: printed once in a chunk. */
static const char *body_text(packed_printer *p) {
    uint64_t where = take_uint(&p->at);
    const unsigned char *body = where == 0 ? p->at : p->data + where - 1;
    uint32_t *printed = &p->printed[body - p->data];
    if (*printed == 0) {
        *printed = (uint32_t)p->bodies.length + 1;
        add_body(&p->bodies, &body);
        text_add_bytes(&p->bodies, "", 1);
        p->at = where == 0 ? body : p->at;
    }
    return text_get(&p->bodies) + *printed - 1;
}

/* The body with the values that follow it in the chunk. */
static void add_with_values(packed_printer *p, const char *body, text *out) {
    json_writer w = {.out = out};
    for (;;) {
        size_t n = strcspn(body, "\x01\x02");
        text_add_bytes(out, body, n);
        body += n;
        if (*body == '\0') {
            return;
        }
        if (*body++ == INT_GOES_HERE) {
            add_int(out, take_int(&p->at));
        } else {
            double real = 0;
            memcpy(&real, p->at, sizeof real);
            p->at += sizeof real;
            w.need_comma = false;
            json_double(&w, real);
        }
    }
}

bool packed_print_next(packed_printer *p, text *out) {
    static const char *const begins[] = {
#define PACKED_KIND_TEXT(name, text) text,
        PACKED_KIND_LIST(PACKED_KIND_TEXT)
#undef PACKED_KIND_TEXT
    };
    if (p->at == p->end) {
        return false;
    }
    packed_kind kind = (packed_kind)*p->at++;
    int64_t process = take_int(&p->at), thread = take_int(&p->at);
    p->last_start_ns = (int64_t)((uint64_t)p->last_start_ns + (uint64_t)take_int(&p->at));
    uint64_t value = take_uint(&p->at);
    text_add(out, begins[kind]);
    const char *body = body_text(p);
    if (p->bodies.failed) {
        p->at = p->end; /* without the body there is no telling what follows it; the caller sees `failed` */
        return false;
    }
    add_with_values(p, body, out);
    char tail[192]; /* keys and five numbers of at most 21 digits */
    char *at = tail;
    memcpy(at, ",\"pid\":", 7);
    at = print_int(at + 7, process);
    memcpy(at, ",\"tid\":", 7);
    at = print_int(at + 7, thread);
    if (kind != PACKED_PROCESS && kind != PACKED_THREAD) {
        memcpy(at, ",\"ts\":", 6);
        at = print_us(at + 6, p->last_start_ns);
    }
    if (kind == PACKED_COMPLETE) {
        memcpy(at, ",\"dur\":", 7);
        at = print_us(at + 7, (int64_t)value);
    } else if (kind == PACKED_FLOW_START || kind == PACKED_FLOW_END) {
        memcpy(at, ",\"id\":", 6);
        at = print_uint(at + 6, value, 1);
    }
    *at++ = '}';
    text_add_bytes(out, tail, (size_t)(at - tail));
    return true;
}
