/* SPDX-License-Identifier: Apache-2.0 */
/* A layer's lines, wherever their elements lie. */
#include "engine/kernels/cpu/norm_layer.h"

#include "engine/kernels/cpu/isa/copy_loops.h"
#include "engine/kernels/cpu/streaming.h"

#include <stdalign.h>

const void *layer_line_in(const layer *s, int k, char *buffer, const char *at) {
    const loop *l = &s->line;
    if (l->ndim == 1) {
        return row_fetch(s->l, buffer, at, s->type[k], l->strides[k][0], l->sizes[0]);
    }
    int64_t runs = nest_runs(l), index[TENSOR_MAX_DIMS] = {0}, offset[LOOP_MAX_OPERANDS] = {0};
    for (int64_t r = 0; r < runs; r++) {
        s->l->load(buffer + r * l->sizes[0] * (int64_t)s->l->size, at + offset[k], s->type[k], l->strides[k][0],
                   l->sizes[0]);
        nest_next(l, index, offset);
    }
    return buffer;
}

void layer_seek(const layer *s, int64_t i, int64_t *offset) {
    int64_t index[TENSOR_MAX_DIMS];
    if (s->lines.ndim != 1) {
        loop_seek(&s->lines, i, index, offset);
        return;
    }
    for (int k = 0; k < s->lines.n_operands; k++) {
        offset[k] = i * s->lines.strides[k][0];
    }
}

void layer_stream_piece(const layer *s, char *out, const void *made, int64_t n) {
    alignas(64) char raw[STREAM_PIECE * sizeof(double)];
    size_t size = dtype_size(s->type[OUT]);
    if (s->type[OUT] != s->l->type) {
        s->l->store(raw, s->type[OUT], (int64_t)size, made, n);
        made = raw;
    }
    s->l->stream(out, made, (size_t)n * size);
}

int64_t layer_turn(const layer *s, int64_t i, int64_t to, int64_t *offset, char *rows) {
    int64_t n = s->v.per_stat, size = (int64_t)dtype_size(s->type[X]), beside = s->lines.sizes[0], some = beside - i % beside;
    some = some < to - i ? some : to - i;
    some = some < s->turned ? some : s->turned;
    layer_seek(s, i, offset);
    copy_loops_best()->transpose(rows, s->lines.data[X] + offset[X], __builtin_ctz((unsigned)size), n, some, n * size,
                                 s->line.strides[X][0]);
    return some;
}
