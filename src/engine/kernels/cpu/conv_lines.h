/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of one channel of an image, copied with zeros around them and parted by stride, so that what a tap reads for the windows
   of a row lies one behind the other, inside the image and out. */
#ifndef ENGINE_KERNELS_CPU_CONV_LINES_H
#define ENGINE_KERNELS_CPU_CONV_LINES_H

#include "engine/kernels/cpu/isa/conv_loops.h"

/* Two dimensions, height first. Element j of part q of a line is the image's j * stride + q - pad; the image's own elements
   lie `spread` apart there, with zeros between (1: next to each other). */
typedef struct conv_lines {
    int64_t size[2], kernel[2], stride[2], dilation[2];
    int64_t pad[2];    /* below 0: as much is left out */
    int64_t spread[2];
    int64_t out[2];    /* windows */
    int64_t step;      /* elements between rows of the image; those of a row lie together */
    int64_t pitch;     /* elements of a part of a line */
    /* Windows that a strip of lines serves: whole rows of them, or a part of each where rows are long. */
    int64_t rows_most, columns_most;
} conv_lines;

/* Sets pitch, rows_most and columns_most, so that a strip takes up no more than about `bytes` (unless the kernel itself reaches
   further) and an image is cut into `strips` or more, where it has so many rows or long ones. */
void conv_lines_plan(conv_lines *p, int64_t bytes, int64_t strips);
/* Elements of a strip, with what loops read past its end. */
int64_t conv_lines_elements(const conv_lines *p, const conv_loops *l);
/* Elements from the first window's tap 0 to its tap (h, w), and from a row of windows to the next. */
int64_t conv_lines_tap(const conv_lines *p, int64_t h, int64_t w);
int64_t conv_lines_row(const conv_lines *p);
/* The strip for windows of rows [row, row + rows) from `column` on. It was all zeros before its first filling: what lies outside
   the image in every whole row is not written again. */
void conv_lines_fill(const conv_lines *p, const conv_loops *l, const float *image, int64_t row, int64_t rows, int64_t column,
                     float *strip);

#endif
