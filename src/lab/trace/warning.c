/* SPDX-License-Identifier: Apache-2.0 */
/* Warnings and their texts. */
#include "lab/trace/warning.h"

static const char *const texts[] = {
#define WARNING_TEXT(name, text) text,
    TRACE_WARNING_LIST(WARNING_TEXT)
#undef WARNING_TEXT
};

static const char *const keys[] = {
#define WARNING_KEY(name, text) #name,
    TRACE_WARNING_LIST(WARNING_KEY)
#undef WARNING_KEY
};

void trace_warn(trace_warnings *w, trace_warning which, uint64_t byte) {
    if (w->count[which]++ == 0) {
        w->first_byte[which] = byte;
    }
}

const char *trace_warning_text(trace_warning which) {
    return texts[which];
}

const char *trace_warning_key(trace_warning which) {
    return keys[which];
}
