/* SPDX-License-Identifier: Apache-2.0 */
/* What a fallible call answers: a status, and an error that says what was expected and what came. */
#ifndef ASSAY_STATUS_H
#define ASSAY_STATUS_H

#include <stdint.h>

/* What a program may call; the rest of the library is hidden from it. */
#if defined(__GNUC__)
#define ASSAY_API __attribute__((visibility("default")))
#else
#define ASSAY_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* The one list of codes. UNSUPPORTED and NO_DEVICE are ordinary results with a reason, not bugs. */
#define ASSAY_STATUS_LIST(X)                                  \
    X(OK, "ok")                                               \
    X(INVALID, "invalid argument")                            \
    X(PARSE, "malformed input")                               \
    X(UNSUPPORTED, "unsupported")                             \
    X(NOT_FOUND, "not found")                                 \
    X(TOO_LARGE, "too large")                                 \
    X(OUT_OF_MEMORY, "out of memory")                         \
    X(IO, "input or output failed")                           \
    X(NO_DEVICE, "no such device")                            \
    X(TIMEOUT, "timed out")                                   \
    X(CRASHED, "crashed")                                     \
    X(INTERRUPTED, "interrupted")                             \
    X(INTERNAL, "internal error")

typedef enum assay_status {
#define ASSAY_STATUS_ENUM(name, text) ASSAY_##name,
    ASSAY_STATUS_LIST(ASSAY_STATUS_ENUM)
#undef ASSAY_STATUS_ENUM
} assay_status;

enum { ASSAY_ERROR_MESSAGE_BYTES = 512 };

/* Filled in by a call that fails; untouched by one that succeeds. Plain data: nothing to release. */
typedef struct assay_error {
    assay_status code;
    int32_t line;   /* 1-based position in the text that was read; 0 where there is none */
    int32_t column; /* 1-based, in bytes */
    char message[ASSAY_ERROR_MESSAGE_BYTES];
} assay_error;

/* The fixed English text of a code; "unknown status" for a number outside the list. Never NULL. */
ASSAY_API const char *assay_status_text(assay_status code);

#ifdef __cplusplus
}
#endif
#endif
