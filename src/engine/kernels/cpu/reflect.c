/* SPDX-License-Identifier: Apache-2.0 */
/* reflection_pad2d: rows of the output one after the other, each a mirrored, a copied and a mirrored part. */
#include "engine/kernels/cpu/kernels.h"
#include "engine/kernels/cpu/move_plan.h"
#include "engine/kernels/cpu/parallel.h"

#include <string.h>

/* One dimension of a reflection pad falls into three parts: mirrored, as it is, mirrored. Sizes may be 0. */
typedef struct mirrored {
    int64_t to[3], n[3], from[3]; /* first output index, how many, the input index behind it */
} mirrored;

static void mirror_parts(mirrored *m, int64_t before, int64_t size, int64_t padded) {
    int64_t left = before > 0 ? before : 0, first = before < 0 ? -before : 0;
    int64_t last = before + size < padded ? before + size : padded; /* output index behind the unmirrored part */
    *m = (mirrored){.to = {0, left, last}, .n = {left, last - left, padded - last}, .from = {before, first, size - 2}};
}

/* Any strides: nine boxes, the mirrored ones with negative strides. */
static status prepare_boxes(kernel_plan *plan, const mirrored *rows, const mirrored *columns, error *err) {
    const tensor *self = call_tensor(plan->call, 0), *dst = &plan->out->items[0];
    int h = dst->ndim - 2, w = dst->ndim - 1;
    move_plan *p;
    TRY(move_plan_start(plan, 9, &p, err));
    for (int i = 0; i < 9; i++) {
        int r = i / 3, c = i % 3;
        box b;
        box_of(&b, dst);
        box_cut(&b, h, rows->to[r], rows->n[r]);
        box_cut(&b, w, columns->to[c], columns->n[c]);
        memcpy(b.src_strides, self->strides, (size_t)dst->ndim * sizeof b.src_strides[0]);
        b.src_offset = rows->from[r] * self->strides[h] + columns->from[c] * self->strides[w];
        b.src_strides[h] *= r == 1 ? 1 : -1;
        b.src_strides[w] *= c == 1 ? 1 : -1;
        move_plan_copy(p, &b, dst, self);
    }
    p->together = true;
    return ASSAY_OK;
}

/* --- rows of neighbours ----------------------------------------------------------------------------------------------------- */

typedef struct reflect {
    const tensor *self, *dst;
    mirrored rows, columns;
    size_t size; /* of an element */
    int64_t n_rows;
    double bytes;
} reflect;

static inline void reverse(char *to, const char *from, int64_t n, size_t size) {
    for (int64_t i = 0; i < n; i++) {
        memcpy(to + (size_t)i * size, from - (size_t)i * size, size);
    }
}

static void reverse_row(char *to, const char *from, int64_t n, size_t size) {
    switch (size) { /* a constant size is one load and one store */
    case 1:
        reverse(to, from, n, 1);
        return;
    case 2:
        reverse(to, from, n, 2);
        return;
    case 4:
        reverse(to, from, n, 4);
        return;
    case 8:
        reverse(to, from, n, 8);
        return;
    default:
        reverse(to, from, n, size);
    }
}

/* `from`: the input row's first element. */
static void reflect_row(const reflect *r, char *to, const char *from) {
    const mirrored *c = &r->columns;
    int64_t size = (int64_t)r->size;
    reverse_row(to, from + c->from[0] * size, c->n[0], r->size);
    memcpy(to + c->to[1] * size, from + c->from[1] * size, (size_t)(c->n[1] * size));
    reverse_row(to + c->to[2] * size, from + c->from[2] * size, c->n[2], r->size);
}

/* The input row behind row i of the output. */
static int64_t source_row(const mirrored *rows, int64_t i) {
    return i < rows->to[1] ? rows->from[0] - i : i < rows->to[2] ? rows->from[1] + i - rows->to[1] : rows->from[2] - (i - rows->to[2]);
}

/* Where a plane, counted over all dimensions but the last two, begins; in elements. */
static int64_t plane_offset(const tensor *t, const tensor *dst, int64_t plane) {
    int64_t offset = 0;
    for (int d = dst->ndim - 3; d >= 0; d--) {
        offset += plane % dst->sizes[d] * t->strides[d];
        plane /= dst->sizes[d];
    }
    return offset;
}

static status reflect_run(kernel_plan *plan) {
    const reflect *r = plan->state;
    const int h = r->dst->ndim - 2;
    const int64_t height = r->dst->sizes[h], size = (int64_t)r->size;
    const char *from = tensor_data(r->self);
    char *to = tensor_data(r->dst);
    const observer *watch = observer_of_thread;
#pragma omp parallel num_threads(parallel_threads(r->bytes))
    {
        parallel_enter(watch);
        int64_t first, last;
        parallel_share(r->n_rows, 1, &first, &last);
        for (int64_t i = first; i < last;) {
            int64_t plane = i / height, row = i % height, n = height - row < last - i ? height - row : last - i;
            const char *source = from + plane_offset(r->self, r->dst, plane) * size;
            char *target = to + plane_offset(r->dst, r->dst, plane) * size;
            for (int64_t k = row; k < row + n; k++) {
                reflect_row(r, target + k * r->dst->strides[h] * size,
                            source + source_row(&r->rows, k) * r->self->strides[h] * size);
            }
            i += n;
        }
        parallel_leave(watch);
    }
    return ASSAY_OK;
}

/* reflection_pad2d(self, padding) */
static status prepare_reflection_pad(kernel_plan *plan, error *err) {
    const tensor *self = call_tensor(plan->call, 0), *dst = &plan->out->items[0];
    int h = dst->ndim - 2, w = dst->ndim - 1;
    mirrored rows, columns;
    mirror_parts(&columns, call_int_at(plan->call, 1, 0, 0), self->sizes[w], dst->sizes[w]);
    mirror_parts(&rows, call_int_at(plan->call, 1, 2, 0), self->sizes[h], dst->sizes[h]);
    if (self->strides[w] != 1 || dst->strides[w] != 1) {
        return prepare_boxes(plan, &rows, &columns, err);
    }
    reflect *r = arena_make(plan->memory, 1, sizeof *r);
    if (r == NULL) {
        return fail(err, ASSAY_OUT_OF_MEMORY, "no memory for a plan");
    }
    *r = (reflect){.self = self, .dst = dst, .rows = rows, .columns = columns, .size = dtype_size(self->dtype),
                   .n_rows = tensor_numel(dst) / (dst->sizes[w] > 0 ? dst->sizes[w] : 1), .bytes = 2 * tensor_bytes(dst)};
    plan->state = r;
    plan->run = reflect_run;
    return ASSAY_OK;
}

static const kernel_row rows[] = {
    {"reflection_pad2d.default", prepare_reflection_pad, NULL},
};

const kernel_rows kernels_reflect = {rows, countof(rows)};
