/* SPDX-License-Identifier: Apache-2.0 */
/* Errors inside the project: the public codes under their short names, and the one macro that hides control flow. */
#ifndef BASE_STATUS_H
#define BASE_STATUS_H

#include "assay/status.h"

#include <stdarg.h>
#include <stddef.h>

typedef assay_status status;
typedef assay_error error;

#define TRY(expr)                      \
    do {                               \
        status try_status_ = (expr);   \
        if (try_status_ != ASSAY_OK) { \
            return try_status_;        \
        }                              \
    } while (0)

#define countof(array) (sizeof(array) / sizeof((array)[0]))

#if defined(__GNUC__)
#define PRINTF_LIKE(format_index, args_index) __attribute__((format(printf, format_index, args_index)))
#else
#define PRINTF_LIKE(format_index, args_index)
#endif

/* Writes code and message into err (which may be NULL) and returns code, so that `return fail(...)` reads well.
   A message too long for the buffer is cut and ends in "...". */
status fail(error *err, status code, const char *format, ...) PRINTF_LIKE(3, 4);

/* As fail, with the 1-based line and column of the text at fault. */
status fail_at(error *err, status code, int line, int column, const char *format, ...) PRINTF_LIKE(5, 6);

/* Puts "context: " before the message already in err, and returns its code. err may be NULL (then code comes back). */
status fail_within(error *err, status code, const char *format, ...) PRINTF_LIKE(3, 4);

#endif
