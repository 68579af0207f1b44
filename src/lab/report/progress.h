/* SPDX-License-Identifier: Apache-2.0 */
/* A progress line: bar, operator, sample i/n, time left. It appends bytes to a text that the command line writes to
   standard error when that is a terminal (terminal_is_live); it draws at most ten times a second. */
#ifndef LAB_REPORT_PROGRESS_H
#define LAB_REPORT_PROGRESS_H

#include "base/text.h"

#include <stdbool.h>
#include <stdint.h>

/* Plain data in the caller's storage. One thread. Times are the caller's, on any clock that does not go back. */
typedef struct progress {
    int64_t total;       /* points of the whole run; 0: not known, then no bar and no time left */
    int64_t done;
    int64_t start_ns;
    int64_t drawn_ns;    /* when it was drawn last */
    uint64_t drawn_hash; /* and as what */
    bool shown;          /* there is a line to clean */
    bool live;           /* false: every call appends nothing */
    bool color;
} progress;

/* Begins at now_ns. live: the bytes go to a terminal. */
progress progress_make(int64_t total, bool live, bool color, int64_t now_ns);

/* What is going on. */
typedef struct progress_state {
    int64_t done;           /* points finished, of progress.total */
    const char *label;      /* the operator; cut to fit; NULL: none */
    int64_t sample, n_samples; /* 1-based within the operator; n_samples 0: not shown */
    int64_t n_failed;       /* shown when it is not 0 */
    const char *stage;      /* what is being done, "preparing", shown once it has taken a while; NULL: not known */
    const char *backend;    /* on which backend; NULL: none in particular */
    double stage_s;         /* since when */
    int width;              /* columns of the terminal now (terminal_width); 0: 80 */
} progress_state;

/* Appends the line, drawn over the last one, when 100 ms have passed since and it is another, or when it is the first or the end
   (done = total). */
void progress_draw(progress *p, const progress_state *state, int64_t now_ns, text *out);

/* Appends what removes the line, so that other output can be written; the next progress_draw draws it anew at once. */
void progress_hide(progress *p, text *out);

/* The time that is left at the pace so far, in seconds; negative while nothing can be said. */
double progress_eta_s(const progress *p, int64_t now_ns);

#endif
