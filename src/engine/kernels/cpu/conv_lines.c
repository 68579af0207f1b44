/* SPDX-License-Identifier: Apache-2.0 */
/* Lines for direct convolutions: rows of an image with the zeros that windows see around them. */
#include "engine/kernels/cpu/conv_lines.h"

#include <stdbool.h>
#include <string.h>

/* Lines that the windows of so many rows touch. */
static int64_t lines_of(const conv_lines *p, int64_t rows) {
    return (rows - 1) * p->stride[0] + (p->kernel[0] - 1) * p->dilation[0] + 1;
}

static int64_t line_elements(const conv_lines *p) {
    return p->stride[1] * p->pitch;
}

enum { ALIGNED = 16, SHORT_LINE = 512 };

static int64_t rounded_up(int64_t n, int64_t to) {
    return (n + to - 1) / to * to;
}

static void set_columns(conv_lines *p, int64_t columns) {
    int64_t reach = (p->kernel[1] - 1) * p->dilation[1] / p->stride[1] + 1;
    p->columns_most = columns;
    p->pitch = rounded_up(columns + reach, ALIGNED);
}

/* Long rows are halved, so that windows' own reach stays the smaller part of a line. */
static bool halve_columns(conv_lines *p) {
    if (p->columns_most < 2 * SHORT_LINE) {
        return false;
    }
    set_columns(p, rounded_up((p->columns_most + 1) / 2, ALIGNED));
    return true;
}

void conv_lines_plan(conv_lines *p, int64_t bytes, int64_t strips) {
    int64_t most = 1;
    set_columns(p, p->out[1]);
    while (lines_of(p, 1) * line_elements(p) * (int64_t)sizeof(float) > bytes && halve_columns(p)) {
    }
    int64_t fitting = bytes / (line_elements(p) * (int64_t)sizeof(float));
    while (most < p->out[0] && lines_of(p, most + 1) <= fitting) {
        most++;
    }
    p->rows_most = most;
    while (rounded_up(p->out[0], p->rows_most) / p->rows_most * (rounded_up(p->out[1], p->columns_most) / p->columns_most) < strips) {
        if (p->rows_most > 1) {
            p->rows_most = (p->rows_most + 1) / 2;
        } else if (!halve_columns(p)) {
            break;
        }
    }
}

int64_t conv_lines_elements(const conv_lines *p, const conv_loops *l) {
    return lines_of(p, p->rows_most) * line_elements(p) + l->slack;
}

int64_t conv_lines_tap(const conv_lines *p, int64_t h, int64_t w) {
    int64_t at = w * p->dilation[1];
    return h * p->dilation[0] * line_elements(p) + at % p->stride[1] * p->pitch + at / p->stride[1];
}

int64_t conv_lines_row(const conv_lines *p) {
    return p->stride[0] * line_elements(p);
}

/* Elements [from, end) of part q's lines; element j is the image's i = (column + j) * stride - first, spread apart, where first is
   pad - q for the first column. */
typedef struct part {
    int64_t first, from, end;
} part;

static part part_of(const conv_lines *p, int64_t q, int64_t column) {
    int64_t stride = p->stride[1], first = p->pad[1] - q - column * stride;
    int64_t end = p->size[1] + first > 0 ? (p->size[1] - 1 + first) / stride + 1 : 0;
    return (part){first, first > 0 ? (first + stride - 1) / stride : 0, end < p->pitch ? end : p->pitch};
}

/* Parts of the lines of the image's rows [from, from + n), which are `apart` elements from each other in the strip, but for the zeros
   around the image, which are there. Two parts of elements that alternate are taken apart at once. */
static void fill_parts(const conv_lines *p, const conv_loops *l, const float *rows, int64_t n, int64_t column, float *line, int64_t apart) {
    int64_t stride = p->stride[1];
    for (int64_t q = 0; q < stride; q++) {
        part a = part_of(p, q, column);
        conv_spread s = {.from = rows + a.from * stride - a.first, .from_row = p->step, .rows = n, .step = stride,
                         .to = line + q * p->pitch + a.from, .to_row = apart, .n = a.end - a.from};
        if (stride == 2 && q == 0) {
            part b = part_of(p, 1, column);
            conv_spread other = s;
            other.from = rows + 2 * b.from - b.first;
            other.to = line + p->pitch + b.from;
            other.n = b.end - b.from;
            bool alternate = s.n > 0 && other.n > 0 && (other.from == s.from + 1 || s.from == other.from + 1);
            if (alternate) {
                conv_spread *even = other.from > s.from ? &s : &other, *odd = even == &s ? &other : &s;
                even->between = odd->to;
                even->n_between = odd->n;
                l->spread(even);
                return;
            }
        }
        if (s.n > 0) {
            l->spread(&s);
        }
    }
}

/* The same of lines whose elements are spread apart, which have stride 1. */
static void fill_spread(const conv_lines *p, const float *rows, int64_t n, int64_t column, float *lines, int64_t apart) {
    int64_t spread = p->spread[1], first = p->pad[1] - column;
    for (int64_t k = 0; k < n; k++) {
        float *line = lines + k * apart;
        const float *row = rows + k * p->step;
        for (int64_t i = first < 0 ? (-first + spread - 1) / spread : 0; i < p->size[1] && i * spread + first < p->pitch; i++) {
            line[i * spread + first] = row[i];
        }
    }
}

void conv_lines_fill(const conv_lines *p, const conv_loops *l, const float *image, int64_t row, int64_t rows, int64_t column,
                     float *strip) {
    /* Line k is the image's row (top + k) / spread, where that is whole and one of its rows: lines [from, end). */
    int64_t n = lines_of(p, rows), line = line_elements(p), top = row * p->stride[0] - p->pad[0], spread = p->spread[0];
    int64_t from = top > 0 ? (spread - top % spread) % spread : -top;
    int64_t first = (top + from) / spread, left = n > from ? (n - from + spread - 1) / spread : 0;
    int64_t images = left < p->size[0] - first ? left : p->size[0] - first;
    images = images > 0 ? images : 0;
    /* Zeros lie in the same places each time where one strip serves all windows. */
    bool parts = p->columns_most < p->out[1];
    for (int64_t k = 0; (parts || p->rows_most < p->out[0]) && k < n; k++) {
        bool is_image = k >= from && (k - from) % spread == 0 && (k - from) / spread < images;
        if (parts || !is_image) {
            memset(strip + k * line, 0, (size_t)line * sizeof *strip);
        }
    }
    if (images > 0 && p->spread[1] > 1) {
        fill_spread(p, image + first * p->step, images, column, strip + from * line, spread * line);
    } else if (images > 0) {
        fill_parts(p, l, image + first * p->step, images, column, strip + from * line, spread * line);
    }
}
