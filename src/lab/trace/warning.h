/* SPDX-License-Identifier: Apache-2.0 */
/* What was odd in a trace without making its figures wrong: counted, with the place of the first. */
#ifndef LAB_TRACE_WARNING_H
#define LAB_TRACE_WARNING_H

#include <stdint.h>

/* The one list of warnings: a name and what a reader is told. */
#define TRACE_WARNING_LIST(X)                                                                                          \
    X(CUT_SHORT, "the trace ends early; the figures are over the events before its end")                               \
    X(NOT_AN_EVENT, "elements of traceEvents that are no objects were passed over")                                    \
    X(TRAILING_COMMA, "a comma follows the last event")                                                                \
    X(EVENTS_TWICE, "traceEvents appears more than once; the last one counts")                                         \
    X(NO_TIME, "complete events without a usable pid, ts or dur were passed over")                                     \
    X(NEGATIVE_DURATION, "complete events with a negative dur count for compat alone")                                 \
    X(NAME_CUT, "names longer than 64 KiB were cut")                                                                   \
    X(NOT_UTF8, "names that are not UTF-8 are shown with U+FFFD")                                                      \
    X(NAMES_FULL, "there are more distinct names than are told apart; the rest is one row, \"(other names)\"")         \
    X(DEEP_STACK, "operators nested deeper than 4096 were not followed")                                               \
    X(BAD_LABELS, "process_labels without usable labels or pid were passed over")                                      \
    X(NO_LABEL, "no process is labelled as a device, so that compat is 0")                                             \
    X(NO_WINDOW, "the trace has no complete event with a duration and no wall time was given, so that shares are 0")   \
    X(BUSY_BEYOND_WALL, "kernels were busy for longer than the wall time given; strict shares end at 1")               \
    X(BUSY_BEYOND_RUNS, "kernels were busy for longer than the unprofiled runs took; strict shares end at 1")          \
    X(BEGIN_END, "begin and end events (ph B, E) on device lanes are not counted; complete events (ph X) are")

typedef enum trace_warning {
#define TRACE_WARNING_ENUM(name, text) TRACE_WARNING_##name,
    TRACE_WARNING_LIST(TRACE_WARNING_ENUM)
#undef TRACE_WARNING_ENUM
        TRACE_N_WARNINGS
} trace_warning;

/* `trace_warnings w = {0}` has none. */
typedef struct trace_warnings {
    uint64_t count[TRACE_N_WARNINGS];
    uint64_t first_byte[TRACE_N_WARNINGS]; /* where the first one is; 0 for what has no place */
} trace_warnings;

void trace_warn(trace_warnings *w, trace_warning which, uint64_t byte);

/* Never NULL. */
const char *trace_warning_text(trace_warning which);
/* The name in capitals, as --json gives it. */
const char *trace_warning_key(trace_warning which);

#endif
