/* SPDX-License-Identifier: Apache-2.0 */
/* Copies between a tensor and its dense twin, rows of the joined innermost dimension at a time. */
#include "engine/kernels/cpu/stage.h"

#include "engine/kernels/cpu/parallel.h"

#include <stdalign.h>
#include <string.h>

enum { CHUNK = 8192 }; /* elements one copy handles: 64 KiB at most, which stays in L1 and L2 */

/* Dimensions by falling stride; broadcast ones are the outermost of the copy. */
static void order_of(const tensor *t, int *order) {
    for (int d = 0; d < t->ndim; d++) {
        int at = d;
        uint64_t key = t->strides[d] == 0 ? UINT64_MAX : (uint64_t)t->strides[d];
        for (; at > 0; at--) {
            int64_t other = t->strides[order[at - 1]];
            if ((other == 0 ? UINT64_MAX : (uint64_t)other) >= key) {
                break;
            }
            order[at] = order[at - 1];
        }
        order[at] = d;
    }
}

bool stage_is_disjoint(const tensor *t) {
    int order[TENSOR_MAX_DIMS];
    int64_t span = 1;
    order_of(t, order);
    for (int i = t->ndim - 1; i >= 0; i--) {
        int d = order[i];
        if (t->sizes[d] > 1 && t->strides[d] < span) {
            return false;
        }
        span += t->sizes[d] > 1 ? (t->sizes[d] - 1) * t->strides[d] : 0;
    }
    return true;
}

status stage_prepare(stage *s, const tensor *t, dtype inner, arena *memory, error *err) {
    int order[TENSOR_MAX_DIMS];
    order_of(t, order);
    tensor outer = *t;
    outer.storage = NULL;
    s->outer = t->dtype;
    s->inner = inner;
    converter_make(&s->load, inner, t->dtype);
    converter_make(&s->store, t->dtype, inner);
    TRY(tensor_init_permuted(&s->layout, inner, t->ndim, t->sizes, order, err));
    s->data = arena_make(memory, (size_t)tensor_numel(t) + 64 / dtype_size(inner), dtype_size(inner));
    if (s->data == NULL) {
        return fail(err, ASSAY_OUT_OF_MEMORY, "no memory for a copy of an operand");
    }
    loop_init(&s->l, t->ndim, t->sizes, (tensor *[]){&s->layout, &outer}, 2);
    return ASSAY_OK;
}

/* n elements as they lie, into the copy or out of it. */
static void convert_run(const stage *s, bool load, char *to, const char *from, int64_t n) {
    if (s->outer == s->inner) {
        memcpy(to, from, (size_t)n * dtype_size(s->inner));
    } else {
        converter_run(load ? &s->load : &s->store, to, from, n);
    }
}

static void gather_run(size_t size, const char *from, int64_t step, char *to, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        memcpy(to + (size_t)i * size, from + i * step, size);
    }
}

static void scatter_run(size_t size, const char *from, char *to, int64_t step, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        memcpy(to + i * step, from + (size_t)i * size, size);
    }
}

/* n elements of the innermost dimension; a strided tensor goes through a contiguous buffer. */
static void copy_run(const stage *s, char *copy, char *outer, int64_t n, bool load) {
    size_t outer_size = dtype_size(s->outer);
    int64_t step = s->l.strides[1][0];
    alignas(64) char buffer[256 * 16];
    if (step == (int64_t)outer_size || n == 1) {
        load ? convert_run(s, true, copy, outer, n) : convert_run(s, false, outer, copy, n);
        return;
    }
    for (int64_t i = 0; i < n; i += 256) {
        int64_t part = n - i < 256 ? n - i : 256;
        char *at = copy + i * (int64_t)dtype_size(s->inner);
        if (load) {
            gather_run(outer_size, outer + i * step, step, buffer, part);
            convert_run(s, true, at, buffer, part);
        } else {
            convert_run(s, false, buffer, at, part);
            scatter_run(outer_size, buffer, outer + i * step, step, part);
        }
    }
}

typedef struct copying {
    const stage *s;
    char *outer;
    bool load;
} copying;

static void copy_share(const void *context) {
    const copying *c = context;
    const loop *l = &c->s->l;
    int64_t row = l->sizes[0], chunks = (row + CHUNK - 1) / CHUNK, rows = l->numel / row;
    int64_t from, to, index[TENSOR_MAX_DIMS], offsets[LOOP_MAX_OPERANDS];
    parallel_share(rows * chunks, 1, &from, &to);
    for (int64_t i = from; i < to; i++) {
        int64_t start = i % chunks * CHUNK, n = row - start < CHUNK ? row - start : CHUNK;
        loop_seek(l, i / chunks * row + start, index, offsets);
        copy_run(c->s, (char *)c->s->data + offsets[0], c->outer + offsets[1], n, c->load);
    }
}

static void copy_all(const stage *s, char *outer, bool load) {
    if (s->l.numel > 0) {
        double bytes = (double)s->l.numel * (double)(dtype_size(s->outer) + dtype_size(s->inner));
        parallel_run(parallel_threads(bytes), copy_share, &(copying){s, outer, load});
    }
}

void stage_load(const stage *s, const void *from) {
    copy_all(s, (char *)from, true);
}

void stage_store(const stage *s, void *to) {
    copy_all(s, to, false);
}
