/* SPDX-License-Identifier: Apache-2.0 */
/* Pads, repeats, flips, rolls and the backwards of slices: lists of moves that write every byte of the output once. */
#include "engine/kernels/cpu/kernels.h"
#include "engine/kernels/cpu/move_plan.h"
#include "engine/kernels/cpu/pad.h"
#include "engine/kernels/cpu/stepped_rows.h"

#include <string.h>

static int wrapped(int64_t dim, int ndim) {
    return (int)(dim < 0 ? dim + (ndim > 0 ? ndim : 1) : dim);
}

/* Dimensions of what stands inside of dst, without those at the end that are filled from one side to the other: of a contiguous dst
   they belong to the dimension before. */
typedef struct joined_dims {
    int ndim;
    int64_t dst_sizes[TENSOR_MAX_DIMS], from[TENSOR_MAX_DIMS], sizes[TENSOR_MAX_DIMS], strides[TENSOR_MAX_DIMS];
} joined_dims;

static joined_dims join_last_dims(const tensor *dst, const int64_t *from, const int64_t *sizes, const int64_t *strides) {
    joined_dims j = {.ndim = dst->ndim};
    size_t bytes = (size_t)dst->ndim * sizeof *from;
    memcpy(j.dst_sizes, dst->sizes, bytes);
    memcpy(j.from, from, bytes);
    memcpy(j.sizes, sizes, bytes);
    memcpy(j.strides, strides, bytes);
    for (int last = j.ndim - 1; last > 0; last = j.ndim - 1) {
        int64_t n = j.sizes[last];
        bool whole = j.from[last] == 0 && n == j.dst_sizes[last] && j.strides[last] == 1;
        if (!whole || (j.sizes[last - 1] != 1 && j.strides[last - 1] != n)) {
            break;
        }
        j.dst_sizes[last - 1] *= n;
        j.from[last - 1] *= n;
        j.sizes[last - 1] *= n;
        j.strides[last - 1] = 1;
        j.ndim = last;
    }
    return j;
}

/* src stands inside dst with its first element at `from`; a constant fills the rest. */
static status prepare_padded(kernel_plan *plan, const tensor *src, const int64_t *from, const int64_t *sizes,
                             const int64_t *src_strides, int64_t src_offset, number value, error *err) {
    const tensor *dst = &plan->out->items[0];
    move_plan *p;
    box whole, inner;
    joined_dims j = join_last_dims(dst, from, sizes, src_strides);
    padded short_rows = {dst, src, j.ndim, j.dst_sizes, j.from, j.sizes, j.strides, src_offset, 1, value};
    if (pad_takes(&short_rows)) {
        return pad_prepare(plan, &short_rows, err);
    }
    TRY(move_plan_start(plan, 2 * (int64_t)dst->ndim + 1, &p, err));
    box_of(&whole, dst);
    inner = whole;
    for (int d = 0; d < dst->ndim; d++) {
        box_cut(&inner, d, from[d], sizes[d]);
    }
    memcpy(inner.src_strides, src_strides, (size_t)dst->ndim * sizeof *src_strides);
    inner.src_offset = src_offset;
    move_plan_copy(p, &inner, dst, src);
    move_plan_fill_around(p, &whole, from, sizes, dst, value);
    p->together = true;
    return ASSAY_OK;
}

/* --- backwards of slice and select
 * ------------------------------------------------------------------------------------------ */

static int64_t clamp_bound(int64_t bound, int64_t size) {
    bound = bound < 0 ? bound + size : bound;
    return bound < 0 ? 0 : bound > size ? size : bound;
}

/* A slice with steps: rows one by one, or four boxes that do not overlap: its elements; the gaps between them, which take a dimension
   more; what lies before and behind. */
static status prepare_stepped(kernel_plan *plan, int dim, int64_t start, int64_t n, int64_t step, error *err) {
    const tensor *grad = call_tensor(plan->call, 0), *dst = &plan->out->items[0];
    move_plan *p;
    box whole, part;
    int64_t stride = dst->strides[dim], last = start + (n - 1) * step, sizes[TENSOR_MAX_DIMS];
    int64_t from[TENSOR_MAX_DIMS] = {0}, strides[TENSOR_MAX_DIMS];
    memcpy(sizes, dst->sizes, (size_t)dst->ndim * sizeof *sizes);
    sizes[dim] = n;
    from[dim] = start;
    tensor_broadcast_strides(grad, dst->ndim, sizes, strides);
    const padded apart = {dst, grad, dst->ndim, dst->sizes, from, sizes, strides, 0, step, number_of_int(0)};
    if (dim == dst->ndim - 1 && pad_takes(&apart)) {
        return pad_prepare(plan, &apart, err);
    }
    const stepped_rows rows = {dst, grad, dim, start, n, step};
    if (stepped_rows_take(&rows)) {
        return stepped_rows_prepare(plan, &rows, err);
    }
    if (dst->ndim == TENSOR_MAX_DIMS) {
        return fail(err, ASSAY_UNSUPPORTED, "%s: steps need less than %d dimensions", plan->call->op->signature.full,
                    TENSOR_MAX_DIMS);
    }
    TRY(move_plan_start(plan, 4, &p, err));
    box_of(&whole, dst);
    part = whole;
    box_cut(&part, dim, start, n);
    part.dst_strides[dim] = stride * step;
    memcpy(sizes, part.sizes, (size_t)dst->ndim * sizeof *sizes);
    tensor_broadcast_strides(grad, dst->ndim, sizes, part.src_strides);
    move_plan_copy(p, &part, dst, grad);
    box gaps = whole;
    box_cut(&gaps, dim, start + 1, n - 1);
    gaps.dst_strides[dim] = stride * step;
    gaps.sizes[gaps.ndim] = step - 1;
    gaps.dst_strides[gaps.ndim++] = stride;
    move_plan_fill(p, &gaps, dst, number_of_int(0));
    part = whole;
    box_cut(&part, dim, 0, start);
    move_plan_fill(p, &part, dst, number_of_int(0));
    part = whole;
    box_cut(&part, dim, last + 1, dst->sizes[dim] - last - 1);
    move_plan_fill(p, &part, dst, number_of_int(0));
    p->together = true;
    return ASSAY_OK;
}

/* slice_backward(grad_output, input_sizes, dim, start, end, step) */
static status prepare_slice_backward(kernel_plan *plan, error *err) {
    const tensor *grad = call_tensor(plan->call, 0), *dst = &plan->out->items[0];
    int dim = wrapped(call_int(plan->call, 2), dst->ndim);
    int64_t start = clamp_bound(call_int(plan->call, 3), dst->sizes[dim]);
    int64_t end = clamp_bound(call_int(plan->call, 4), dst->sizes[dim]), step = call_int(plan->call, 5);
    int64_t n = end > start ? (end - start - 1) / step + 1 : 0;
    if (n > 1 && step > 1) {
        return prepare_stepped(plan, dim, start, n, step, err);
    }
    int64_t from[TENSOR_MAX_DIMS] = {0}, sizes[TENSOR_MAX_DIMS], strides[TENSOR_MAX_DIMS];
    memcpy(sizes, dst->sizes, (size_t)dst->ndim * sizeof *sizes);
    from[dim] = n > 0 ? start : 0;
    sizes[dim] = n;
    tensor_broadcast_strides(grad, dst->ndim, sizes, strides);
    return prepare_padded(plan, grad, from, sizes, strides, 0, number_of_int(0), err);
}

/* select_backward(grad_output, input_sizes, dim, index) */
static status prepare_select_backward(kernel_plan *plan, error *err) {
    const tensor *grad = call_tensor(plan->call, 0), *dst = &plan->out->items[0];
    int dim = wrapped(call_int(plan->call, 2), dst->ndim);
    int64_t at = call_int(plan->call, 3);
    int64_t from[TENSOR_MAX_DIMS] = {0}, sizes[TENSOR_MAX_DIMS], strides[TENSOR_MAX_DIMS], without[TENSOR_MAX_DIMS];
    memcpy(sizes, dst->sizes, (size_t)dst->ndim * sizeof *sizes);
    from[dim] = at < 0 ? at + dst->sizes[dim] : at;
    sizes[dim] = 1;
    memcpy(without, sizes, (size_t)dim * sizeof *sizes);
    memcpy(without + dim, sizes + dim + 1, (size_t)(dst->ndim - dim - 1) * sizeof *sizes);
    tensor_broadcast_strides(grad, dst->ndim - 1, without, strides);
    memmove(strides + dim + 1, strides + dim, (size_t)(dst->ndim - dim - 1) * sizeof *strides);
    strides[dim] = 0;
    return prepare_padded(plan, grad, from, sizes, strides, 0, number_of_int(0), err);
}

/* --- pads
 * ---------------------------------------------------------------------------------------------------------------------
 */

/* constant_pad_nd(self, pad, value) */
static status prepare_constant_pad(kernel_plan *plan, error *err) {
    const tensor *self = call_tensor(plan->call, 0), *dst = &plan->out->items[0];
    int n;
    const int64_t *pads = call_ints(plan->call, 1, &n);
    int64_t from[TENSOR_MAX_DIMS], sizes[TENSOR_MAX_DIMS], offset = 0;
    for (int d = 0; d < dst->ndim; d++) {
        int pair = dst->ndim - 1 - d;
        int64_t before = 2 * pair < n ? pads[2 * pair] : 0;
        int64_t first = before < 0 ? -before : 0; /* of self's indices that stay */
        int64_t end = dst->sizes[d] - before;     /* one past the last of them, if self reaches so far */
        from[d] = before > 0 ? before : 0;
        sizes[d] = (end < self->sizes[d] ? end : self->sizes[d]) - first;
        if (sizes[d] <= 0) {
            sizes[d] = 0;
            from[d] = 0;
        }
        offset += first * self->strides[d];
    }
    return prepare_padded(plan, self, from, sizes, self->strides, offset, call_number(plan->call, 2), err);
}

/* --- repeat, flip, roll
 * -------------------------------------------------------------------------------------------------------- */

/* repeat(self, repeats): each dimension of the output is two, the copies and self's own. */
static status prepare_repeat(kernel_plan *plan, error *err) {
    const tensor *self = call_tensor(plan->call, 0), *dst = &plan->out->items[0];
    int n, lead = dst->ndim - self->ndim, used = 0;
    const int64_t *repeats = call_ints(plan->call, 1, &n);
    move_plan *p;
    TRY(move_plan_start(plan, 1, &p, err));
    box b = {.ndim = 0};
    for (int d = 0; d < dst->ndim; d++) {
        int64_t size = d >= lead ? self->sizes[d - lead] : 1;
        int64_t own = d >= lead ? self->strides[d - lead] : 0;
        int64_t parts[2][3] = {{repeats[d], dst->strides[d] * size, 0}, {size, dst->strides[d], own}};
        for (int k = 0; k < 2; k++) {
            if (parts[k][0] == 1) {
                continue;
            }
            if (used == TENSOR_MAX_DIMS) {
                return fail(err, ASSAY_UNSUPPORTED, "%s: more than %d dimensions of copies and sizes together",
                            plan->call->op->signature.full, TENSOR_MAX_DIMS);
            }
            b.sizes[used] = parts[k][0];
            b.dst_strides[used] = parts[k][1];
            b.src_strides[used++] = parts[k][2];
        }
    }
    b.ndim = used;
    move_plan_copy(p, &b, dst, self);
    return ASSAY_OK;
}

/* flip(self, dims): negative strides from the last index. */
static status prepare_flip(kernel_plan *plan, error *err) {
    const tensor *self = call_tensor(plan->call, 0), *dst = &plan->out->items[0];
    int n;
    const int64_t *dims = call_ints(plan->call, 1, &n);
    move_plan *p;
    box b;
    TRY(move_plan_start(plan, 1, &p, err));
    box_of_pair(&b, dst, self);
    for (int i = 0; i < n && dst->ndim > 0; i++) {
        int d = wrapped(dims[i], dst->ndim);
        b.src_offset += (dst->sizes[d] - 1) * b.src_strides[d];
        b.src_strides[d] = -b.src_strides[d];
    }
    move_plan_copy(p, &b, dst, self);
    return ASSAY_OK;
}

static int64_t shift_in(int64_t shift, int64_t size) {
    int64_t rest = shift % size;
    return rest < 0 ? rest + size : rest;
}

/* Elements [from, to) of self in row-major order become those from `at` on of dst, which is contiguous: whole rows of
   dimension d and beyond are one box, the broken ones at either end are boxes of the next dimension. */
static void push_run(move_plan *p, const tensor *dst, const tensor *self, int d, int64_t offset, int64_t from,
                     int64_t to, int64_t at) {
    int64_t row = d + 1 < self->ndim ? sizes_numel(self->ndim - d - 1, self->sizes + d + 1) : 1;
    int64_t first = (from + row - 1) / row, last = to / row;
    if (from >= to) {
        return;
    }
    if (first > last) { /* inside one row */
        push_run(p, dst, self, d + 1, offset + last * self->strides[d], from - last * row, to - last * row, at);
        return;
    }
    if (first * row > from) {
        push_run(p, dst, self, d + 1, offset + (first - 1) * self->strides[d], from - (first - 1) * row, row, at);
    }
    box b = {
        .ndim = self->ndim - d, .dst_offset = at + first * row - from, .src_offset = offset + first * self->strides[d]};
    memcpy(b.sizes, self->sizes + d, (size_t)b.ndim * sizeof *b.sizes);
    memcpy(b.src_strides, self->strides + d, (size_t)b.ndim * sizeof *b.src_strides);
    b.sizes[0] = last - first;
    sizes_contiguous_strides(b.ndim, b.sizes, b.dst_strides);
    move_plan_copy(p, &b, dst, self);
    push_run(p, dst, self, d + 1, offset + last * self->strides[d], 0, to - last * row, at + last * row - from);
}

/* Without dims the elements roll in row-major order. */
static status prepare_flat_roll(kernel_plan *plan, int64_t shift, error *err) {
    const tensor *self = call_tensor(plan->call, 0), *dst = &plan->out->items[0];
    int64_t n = tensor_numel(self);
    move_plan *p;
    TRY(move_plan_start(plan, 4 * (int64_t)dst->ndim + 1, &p, err));
    if (n == 0) {
        return ASSAY_OK;
    }
    if (self->ndim == 0) {
        box b;
        box_of_pair(&b, dst, self);
        move_plan_copy(p, &b, dst, self);
        return ASSAY_OK;
    }
    shift = shift_in(shift, n);
    push_run(p, dst, self, 0, 0, 0, n - shift, shift);
    push_run(p, dst, self, 0, 0, n - shift, n, 0);
    return ASSAY_OK;
}

/* roll(self, shifts, dims): each dimension that moves is cut in two, so that k of them make 2^k boxes. */
static status prepare_roll(kernel_plan *plan, error *err) {
    const tensor *self = call_tensor(plan->call, 0), *dst = &plan->out->items[0];
    int n, n_dims, moving = 0, moves_at[TENSOR_MAX_DIMS];
    const int64_t *shifts = call_ints(plan->call, 1, &n), *dims = call_ints(plan->call, 2, &n_dims);
    int64_t by[TENSOR_MAX_DIMS] = {0};
    move_plan *p;
    if (n_dims == 0) {
        return prepare_flat_roll(plan, shifts[0], err);
    }
    if (tensor_numel(self) == 0) {
        return move_plan_start(plan, 1, &p, err);
    }
    for (int i = 0; i < n; i++) {
        int d = wrapped(dims[i], dst->ndim);
        by[d] = shift_in(by[d] + shift_in(shifts[i], dst->sizes[d]), dst->sizes[d]);
    }
    for (int d = 0; d < dst->ndim; d++) {
        if (by[d] != 0) {
            moves_at[moving++] = d;
        }
    }
    TRY(move_plan_start(plan, INT64_C(1) << moving, &p, err));
    for (int64_t corner = 0; corner < INT64_C(1) << moving; corner++) {
        box b;
        box_of_pair(&b, dst, self);
        for (int i = 0; i < moving; i++) {
            int d = moves_at[i];
            int64_t size = dst->sizes[d], shift = by[d];
            bool head = (corner >> i & 1) != 0; /* the output's first `shift` indices, which come from the end */
            b.dst_offset += head ? 0 : shift * b.dst_strides[d];
            b.src_offset += head ? (size - shift) * b.src_strides[d] : 0;
            b.sizes[d] = head ? shift : size - shift;
        }
        move_plan_copy(p, &b, dst, self);
    }
    p->together = true;
    return ASSAY_OK;
}

static const kernel_row rows[] = {
    {"slice_backward.default", prepare_slice_backward, NULL},
    {"select_backward.default", prepare_select_backward, NULL},
    {"constant_pad_nd.default", prepare_constant_pad, NULL},
    {"repeat.default", prepare_repeat, NULL},
    {"flip.default", prepare_flip, NULL},
    {"roll.default", prepare_roll, NULL},
};

const kernel_rows kernels_shape = {rows, countof(rows)};
