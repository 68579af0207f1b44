/* SPDX-License-Identifier: Apache-2.0 */
/* Events as the writer keeps them until they become JSON: packed into chunks, in this process only. A program calls the
   same operators on the same shapes again and again, so what is said of a call (category, name, args) is kept once in a
   chunk and then pointed at: ten bytes an event instead of two hundred, which is what keeps recording cheap where the
   temporary file has to be written. */
#ifndef LAB_TRACE_PACKED_H
#define LAB_TRACE_PACKED_H

#include "base/text.h"
#include "lab/trace/writer.h"

#define PACKED_KIND_LIST(X)                                                                                            \
    X(COMPLETE, "{\"ph\":\"X\"")                                                                                       \
    X(FLOW_START, "{\"ph\":\"s\"")                                                                                     \
    X(FLOW_END, "{\"ph\":\"f\",\"bp\":\"e\"")                                                                          \
    X(COUNTER, "{\"ph\":\"C\"")                                                                                        \
    X(PROCESS, "{\"ph\":\"M\"")                                                                                        \
    X(THREAD, "{\"ph\":\"M\"")

typedef enum packed_kind {
#define PACKED_KIND_ENUM(name, text) PACKED_##name,
    PACKED_KIND_LIST(PACKED_KIND_ENUM)
#undef PACKED_KIND_ENUM
} packed_kind;

typedef struct packed_event {
    packed_kind kind;
    trace_place place;
    int64_t start_ns;
    uint64_t value;       /* a complete event's duration, in ns; an arrow's id */
    const char *category; /* a literal of the caller's */
} packed_event;

enum {
    PACKED_CHUNK_BYTES = 256 * 1024,
    PACKED_MAX_BYTES = 48 * 1024, /* of one event */
    PACKED_MAX_NAME_BYTES = 16 * 1024,
    PACKED_SLOTS = 512,
};

/* A chunk being filled. */
typedef struct packed_chunk {
    size_t used_bytes;
    int64_t last_start_ns;
    uint32_t bodies[PACKED_SLOTS]; /* by hash: 1 + where a body lies, 0 for none; the latest wins */
    unsigned char data[PACKED_CHUNK_BYTES];
} packed_chunk;

void packed_reset(packed_chunk *c);
/* Whether there may be no room for another event. */
static inline bool packed_is_full(const packed_chunk *c) {
    return c->used_bytes > PACKED_CHUNK_BYTES - PACKED_MAX_BYTES;
}
/* Adds an event to a chunk that is not full. */
void packed_add(packed_chunk *c, const packed_event *e, const char *name, const trace_arg *args, size_t n_args);

/* Prints the events of one chunk after another. */
typedef struct packed_printer {
    const unsigned char *data, *at, *end;
    int64_t last_start_ns;
    text bodies;       /* what was said of calls, printed */
    uint32_t *printed; /* 1 + where in `bodies`, by where in the chunk; 0 for none */
} packed_printer;

status packed_printer_init(packed_printer *p, error *err);
void packed_printer_clear(packed_printer *p);
/* Borrows the chunk until the next begin. */
void packed_print_begin(packed_printer *p, const unsigned char *data, size_t n);
/* Appends the next event's JSON, without a comma; false at the end of the chunk, or when memory ran out
 * (bodies.failed). */
bool packed_print_next(packed_printer *p, text *out);

#endif
