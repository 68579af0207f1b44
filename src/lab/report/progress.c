/* SPDX-License-Identifier: Apache-2.0 */
/* Draws the progress line. */
#include "lab/report/progress.h"

#include "base/hash.h"
#include "lab/report/terminal.h"

#include <stdio.h>
#include <string.h>

static const int64_t draw_every_ns = 100000000;
static const double long_stage_s = 3; /* what takes longer is said to go on */
enum { BAR_COLUMNS = 24, DEFAULT_WIDTH = 80, LABEL_LEAST = 8 };

progress progress_make(int64_t total, bool live, bool color, int64_t now_ns) {
    return (progress){.total = total, .start_ns = now_ns, .drawn_ns = now_ns - draw_every_ns, .live = live, .color = color};
}

double progress_eta_s(const progress *p, int64_t now_ns) {
    double elapsed_s = 1e-9 * (double)(now_ns - p->start_ns);
    if (p->total <= 0 || p->done <= 0 || p->done > p->total || elapsed_s <= 0) {
        return -1;
    }
    return elapsed_s * (double)(p->total - p->done) / (double)p->done;
}

static void add_duration(text *out, double seconds) {
    int64_t s = (int64_t)(seconds + 0.5);
    if (s >= 3600) {
        text_addf(out, "%lld:%02d:%02d", (long long)(s / 3600), (int)(s / 60 % 60), (int)(s % 60));
    } else {
        text_addf(out, "%d:%02d", (int)(s / 60), (int)(s % 60));
    }
}

/* Eighths of a block, so that a slow run still moves. */
static void add_bar(text *out, const progress *p) {
    static const char *const eighths[] = {" ",            "\xe2\x96\x8f", "\xe2\x96\x8e", "\xe2\x96\x8d", "\xe2\x96\x8c",
                                          "\xe2\x96\x8b", "\xe2\x96\x8a", "\xe2\x96\x89", "\xe2\x96\x88"};
    double part = p->total > 0 ? (double)p->done / (double)p->total : 0;
    part = part < 0 ? 0 : part > 1 ? 1 : part;
    int filled = (int)(part * BAR_COLUMNS * 8);
    text_add(out, p->color ? "\033[36m" : "");
    for (int i = 0; i < BAR_COLUMNS; i++, filled -= 8) {
        text_add(out, eighths[filled >= 8 ? 8 : filled > 0 ? filled : 0]);
    }
    text_addf(out, "%s %3d%%", p->color ? "\033[0m" : "", (int)(part * 100));
}

/* What stands behind the label. */
static void add_tail(text *out, const progress *p, const progress_state *state, int64_t now_ns) {
    if (state->n_samples > 0) {
        text_addf(out, "  %lld/%lld", (long long)state->sample, (long long)state->n_samples);
    }
    if (state->n_failed > 0) {
        text_addf(out, "  %s%lld failed%s", p->color ? "\033[31m" : "", (long long)state->n_failed,
                  p->color ? "\033[0m" : "");
    }
    if (state->stage != NULL && state->stage_s >= long_stage_s) {
        text_addf(out, "  %s%s%s, ", state->stage, state->backend != NULL ? " on " : "", state->backend != NULL ? state->backend : "");
        add_duration(out, state->stage_s);
    }
    double eta_s = progress_eta_s(p, now_ns);
    if (eta_s >= 0) {
        text_add(out, "  ETA ");
        add_duration(out, eta_s);
    }
}

/* The label where there is room, the bar before it where there is room for both. */
static void add_line(text *out, const progress *p, const progress_state *state, int64_t now_ns) {
    text bar = {0}, tail = {0};
    size_t width = (size_t)(state->width > 0 ? state->width : DEFAULT_WIDTH) - 1; /* the last column would wrap */
    const char *label = state->label != NULL ? state->label : "";
    if (p->total > 0) {
        add_bar(&bar, p);
        text_add(&bar, "  ");
    }
    add_tail(&tail, p, state, now_ns);
    size_t tail_columns = text_columns(text_get(&tail), tail.length);
    size_t bar_columns = text_columns(text_get(&bar), bar.length);
    if (bar_columns + LABEL_LEAST + tail_columns <= width) {
        text_add(out, text_get(&bar));
        width -= bar_columns;
    }
    size_t room = tail_columns < width ? width - tail_columns : width;
    size_t shown = text_prefix_of_columns(label, strlen(label), room);
    text_add_bytes(out, label, shown);
    if (tail_columns < width) {
        text_add(out, text_get(&tail));
    }
    text_clear(&bar);
    text_clear(&tail);
}

void progress_draw(progress *p, const progress_state *state, int64_t now_ns, text *out) {
    p->done = state->done;
    bool at_end = p->total > 0 && p->done >= p->total;
    if (!p->live || (p->shown && !at_end && now_ns - p->drawn_ns < draw_every_ns)) {
        return;
    }
    text line = {0};
    add_line(&line, p, state, now_ns);
    uint64_t hash = hash_bytes(text_get(&line), line.length, 0);
    if (!p->shown || hash != p->drawn_hash) {
        text_add(out, "\r\033[K");
        text_add_bytes(out, text_get(&line), line.length);
    }
    text_clear(&line);
    p->shown = true;
    p->drawn_ns = now_ns;
    p->drawn_hash = hash;
}

void progress_hide(progress *p, text *out) {
    if (p->shown) {
        text_add(out, "\r\033[K");
        p->shown = false;
    }
}
