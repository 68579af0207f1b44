/* SPDX-License-Identifier: Apache-2.0 */
/* Distinct names, each kept once and known by a small number; bounded, whatever a trace brings. */
#ifndef LAB_TRACE_NAMES_H
#define LAB_TRACE_NAMES_H

#include "base/arena.h"
#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct trace_name {
    const char *text; /* NUL-terminated, in the table's arena */
    uint64_t hash;
    uint32_t length;
    uint8_t work;  /* a trace_work; set by whoever added the name */
    bool compat;   /* whether compat counts it as matmul or convolution */
    bool launches; /* of a call: whether it puts work on a device */
} trace_name;

enum { TRACE_NAME_REST = 0 }; /* the number of every name that came when the table was full */

/* Row 0 is "(other names)". */
typedef struct trace_names {
    arena memory;
    trace_name *rows;
    uint32_t *slots; /* row + 1, or 0; a power of two of them, at most half full */
    size_t n_rows, row_capacity, n_slots;
    size_t limit_names, limit_bytes, used_bytes;
} trace_names;

/* At most limit_names names of limit_bytes altogether. */
status trace_names_init(trace_names *t, size_t limit_names, size_t limit_bytes, error *err);
void trace_names_clear(trace_names *t);

/* The number of a name, added when it is new (*is_new); TRACE_NAME_REST when there is no more room (*is_new false). */
status trace_names_add(trace_names *t, const char *name, size_t length, uint32_t *id, bool *is_new, error *err);

#endif
