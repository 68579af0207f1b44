/* SPDX-License-Identifier: Apache-2.0 */
/* Fills in errors; every message passes through here, so that none is ever cut without a mark. */
#include "base/status.h"

#include "base/c_locale.h"

#include <stdio.h>
#include <string.h>

static const char *const status_texts[] = {
#define STATUS_TEXT(name, text) text,
    ASSAY_STATUS_LIST(STATUS_TEXT)
#undef STATUS_TEXT
};

const char *assay_status_text(assay_status code) {
    size_t index = (size_t)code;
    return index < countof(status_texts) ? status_texts[index] : "unknown status";
}

static void format_message(error *err, const char *format, va_list args) {
    int length = c_vsnprintf(err->message, sizeof err->message, format, args);
    if (length >= (int)sizeof err->message) {
        memcpy(err->message + sizeof err->message - 4, "...", 4);
    } else if (length < 0) {
        err->message[0] = '\0';
    }
}

status fail(error *err, status code, const char *format, ...) {
    if (err != NULL) {
        va_list args;
        va_start(args, format);
        err->code = code;
        err->line = 0;
        err->column = 0;
        format_message(err, format, args);
        va_end(args);
    }
    return code;
}

status fail_at(error *err, status code, int line, int column, const char *format, ...) {
    if (err != NULL) {
        va_list args;
        va_start(args, format);
        err->code = code;
        err->line = line;
        err->column = column;
        format_message(err, format, args);
        va_end(args);
    }
    return code;
}

status fail_within(error *err, status code, const char *format, ...) {
    if (err != NULL) {
        error inner = *err;
        va_list args;
        va_start(args, format);
        format_message(err, format, args);
        va_end(args);
        size_t used = strlen(err->message);
        snprintf(err->message + used, sizeof err->message - used, ": %s", inner.message);
        if (used + 2 + strlen(inner.message) >= sizeof err->message) {
            memcpy(err->message + sizeof err->message - 4, "...", 4);
        }
        err->code = code;
    }
    return code;
}
