/* SPDX-License-Identifier: Apache-2.0 */
/* Windows to columns as moves; columns to images and unfold_backward as sums of rows, each
   output row by one thread, so that nothing is added by two at once and the order of the sum is fixed. Accumulators are
   f32 (f16, bf16, f32) or f64. */
#include "engine/kernels/cpu/kernels.h"
#include "engine/kernels/cpu/move_plan.h"
#include "engine/kernels/cpu/parallel.h"
#include "engine/kernels/cpu/row_sum.h"

#include <string.h>

/* One dimension (0: height, 1: width) of windows over an image; validated by the row's infer. */
typedef struct windows {
    int64_t image[2], kernel[2], dilation[2], padding[2], stride[2], count[2];
} windows;

static void read_windows(const op_call *call, int first, windows *w) {
    for (int d = 0; d < 2; d++) {
        w->kernel[d] = call_int_at(call, first, d, 1);
        w->dilation[d] = call_int_at(call, first + 1, d, 1);
        w->padding[d] = call_int_at(call, first + 2, d, 0);
        w->stride[d] = call_int_at(call, first + 3, d, 1);
        w->count[d] = (w->image[d] + 2 * w->padding[d] - w->dilation[d] * (w->kernel[d] - 1) - 1) / w->stride[d] + 1;
    }
}

/* The windows [first, first + n) whose place k lies inside the image. */
static void inside(const windows *w, int d, int64_t k, int64_t *first, int64_t *n) {
    int64_t shift = w->padding[d] - k * w->dilation[d], stride = w->stride[d];
    int64_t from = shift > 0 ? (shift + stride - 1) / stride : 0;
    int64_t end = w->image[d] + shift > 0 ? (w->image[d] + shift - 1) / stride + 1 : 0;
    end = end < w->count[d] ? end : w->count[d];
    *first = from < end ? from : 0;
    *n = from < end ? end - from : 0;
}

/* --- im2col
 * ---------------------------------------------------------------------------------------------------------------------
 */

/* For each place of the kernel one box [N, C, windows down, windows across], and what padding leaves around it. */
static status prepare_im2col(kernel_plan *plan, error *err) {
    const tensor *image = call_tensor(plan->call, 0), *dst = &plan->out->items[0];
    int lead = image->ndim - 3; /* 1 with a batch */
    windows w;
    memcpy(w.image, image->sizes + lead + 1, sizeof w.image);
    read_windows(plan->call, 1, &w);
    int64_t places = w.kernel[0] * w.kernel[1], row = dst->strides[lead], moves = 0;
    move_plan *p;
    if (!mul_i64(places, 9, &moves)) {
        return fail(err, ASSAY_TOO_LARGE, "%s: the kernel is too large", plan->call->op->signature.full);
    }
    TRY(move_plan_start(plan, moves, &p, err));
    for (int64_t place = 0; place < places; place++) {
        int64_t ky = place / w.kernel[1], kx = place % w.kernel[1], from[4] = {0}, sizes[4];
        box whole = {.ndim = 4,
                     .sizes = {lead ? image->sizes[0] : 1, image->sizes[lead], w.count[0], w.count[1]},
                     .dst_strides = {lead ? dst->strides[0] : 0, row * places, w.count[1], 1},
                     .src_strides = {lead ? image->strides[0] : 0, image->strides[lead],
                                     image->strides[lead + 1] * w.stride[0], image->strides[lead + 2] * w.stride[1]},
                     .dst_offset = row * place};
        box part = whole;
        memcpy(sizes, whole.sizes, sizeof sizes);
        inside(&w, 0, ky, &from[2], &sizes[2]);
        inside(&w, 1, kx, &from[3], &sizes[3]);
        part.src_offset = (ky * w.dilation[0] - w.padding[0]) * image->strides[lead + 1] +
                          (kx * w.dilation[1] - w.padding[1]) * image->strides[lead + 2];
        for (int d = 2; d < 4; d++) {
            box_cut(&part, d, from[d], sizes[d]);
        }
        move_plan_copy(p, &part, dst, image);
        move_plan_fill_around(p, &whole, from, sizes, dst, number_of_int(0));
    }
    p->together = true;
    return ASSAY_OK;
}

/* --- col2im
 * ---------------------------------------------------------------------------------------------------------------------
 */

/* Work is cut into bands of output rows, whose columns are brought to the accumulators' type together where they are of
   another: as many as L2 holds. */
enum { BAND_ELEMENTS = 4096, BAND_COLUMNS = 1 << 15 };

/* The kernel's places along a dimension, by phase: of outputs phase + i * stride, place `at` shows window i - shift at i. */
typedef struct kernel_place {
    int64_t at, shift;
} kernel_place;

typedef struct phases {
    int64_t n;       /* the stride, or the output's size where that is less */
    kernel_place *places;
    int64_t *starts; /* where each phase's begin, and the end */
} phases;

typedef struct col2im {
    windows w;
    row_sum sum;
    int64_t channels;
    int64_t band;    /* rows */
    int64_t bands;   /* of an image's channel */
    int64_t n_items; /* bands of all images and channels */
    bool is_native;  /* columns and image lie as accumulators do */
    const char *columns;
    ptrdiff_t strides[3]; /* bytes: batch, row of columns, window */
    char *image;          /* contiguous */
    size_t acc_bytes;     /* of an accumulated element */
    phases by[2];
    int64_t phase_room;   /* elements of an output row that share a phase, at most */
    int64_t band_windows; /* rows of windows that a place shows in a band, at most */
    shifted_rows *lists;  /* for each thread: the places that show in a phase */
    size_t places;        /* of the kernel */
    char *loaded;         /* a band's columns, for each thread; NULL: they are native */
    size_t loaded_bytes;
    double bytes;
} col2im;

/* The windows [first, last) whose row ky falls into output rows [from, to). */
static void windows_in_band(const windows *w, int64_t ky, int64_t from, int64_t to, int64_t *first, int64_t *last) {
    int64_t shift = w->padding[0] - ky * w->dilation[0], low = from + shift, high = to + shift;
    *first = low > 0 ? (low + w->stride[0] - 1) / w->stride[0] : 0;
    *last = high > 0 ? (high - 1) / w->stride[0] + 1 : 0;
    *last = *last < w->count[0] ? *last : w->count[0];
}

/* A band's columns: where they lie, in accumulated elements. */
typedef struct band_columns {
    const char *base;
    int64_t place; /* from one place of the kernel to the next */
    int64_t top;   /* the image row, where windows' rows were loaded from that of the band's first on; 0 */
} band_columns;

/* Asks for what the same band of the next channel reads: rows this short follow each other too irregularly for the CPU to do so by
   itself. */
static void ask_for_next(const col2im *k, const char *columns, int64_t top, int64_t end) {
    const windows *w = &k->w;
    int64_t places = w->kernel[0] * w->kernel[1];
    for (int64_t p = 0; p < places; p++) {
        int64_t first, last;
        windows_in_band(w, p / w->kernel[1], top, end, &first, &last);
        uintptr_t next = (uintptr_t)columns + (uintptr_t)((places + p) * k->strides[1] + first * w->count[1] * k->strides[2]);
        for (int64_t b = 0; b < (last - first) * w->count[1] * k->strides[2]; b += 64) {
            __builtin_prefetch((const char *)(next + (uintptr_t)b)); /* it may lie outside */
        }
    }
}

static band_columns load_band(const col2im *k, const char *columns, int64_t top, int64_t end) {
    const windows *w = &k->w;
    if (k->is_native) {
        ask_for_next(k, columns, top, end);
        return (band_columns){columns, k->strides[1] / (ptrdiff_t)k->acc_bytes, 0};
    }
    char *loaded = k->loaded + k->loaded_bytes * (size_t)omp_get_thread_num();
    int64_t place = k->band_windows * w->count[1];
    for (int64_t p = 0; p < w->kernel[0] * w->kernel[1]; p++) {
        int64_t first, last;
        windows_in_band(w, p / w->kernel[1], top, end, &first, &last);
        if (first < last) {
            row_sum_load_into(&k->sum, loaded + (size_t)(p * place) * k->acc_bytes,
                              columns + p * k->strides[1] + first * w->count[1] * k->strides[2], k->strides[2],
                              (last - first) * w->count[1]);
        }
    }
    return (band_columns){loaded, place, top};
}

/* The places of the kernel that show in a phase of the band's rows from phase row `top` on. */
static int64_t list_places(const col2im *k, const band_columns *columns, const int64_t *phase, int64_t top, int64_t end, shifted_rows *list) {
    const windows *w = &k->w;
    const phases *down = &k->by[0], *across = &k->by[1];
    int64_t n = 0, parts = k->sum.parts;
    for (const kernel_place *y = down->places + down->starts[phase[0]]; y < down->places + down->starts[phase[0] + 1]; y++) {
        int64_t first = 0, last;
        if (!k->is_native) {
            windows_in_band(w, y->at, columns->top, end, &first, &last);
        }
        for (const kernel_place *x = across->places + across->starts[phase[1]]; x < across->places + across->starts[phase[1] + 1]; x++) {
            int64_t at = (y->at * w->kernel[1] + x->at) * columns->place + (top - y->shift - first) * w->count[1] - x->shift;
            list[n++] = (shifted_rows){at * parts, {y->shift - top, x->shift * parts},
                                       {y->shift - top + w->count[0], (x->shift + w->count[1]) * parts}};
        }
    }
    return n;
}

/* Every so many-th row of a band, [top, end) of the image, into acc, which begins with row top. */
static void sum_phase(const col2im *k, const band_columns *columns, int64_t down, int64_t top, int64_t end, char *acc) {
    const int64_t *stride = k->w.stride, width = k->w.image[1], parts = k->sum.parts;
    shifted_rows *list = k->lists + k->places * (size_t)omp_get_thread_num();
    char *spare = row_sum_spare(&k->sum);
    int64_t first = top > down ? (top - down + stride[0] - 1) / stride[0] : 0, rows = (end - 1 - down) / stride[0] + 1 - first;
    if (end <= down || rows <= 0) {
        return;
    }
    char *to = acc + (size_t)((down + first * stride[0] - top) * width) * k->acc_bytes;
    for (int64_t across = 0; across < k->by[1].n; across++) {
        int64_t n = (width - across + stride[1] - 1) / stride[1];
        int64_t n_places = list_places(k, columns, (const int64_t[]){down, across}, first, end, list);
        void *made = stride[1] == 1 ? to : spare + (size_t)(across * k->phase_room) * k->acc_bytes;
        int64_t pitch = stride[1] == 1 ? stride[0] * width : k->phase_room * k->by[1].n;
        row_sum_of(&k->sum, made, pitch * parts, rows, n * parts, columns->base, k->w.count[1] * parts, list, n_places);
    }
    if (stride[1] > 1) {
        row_sum_interleave(&k->sum, to, stride[0] * width, rows, width, spare, k->phase_room, k->by[1].n);
    }
}

/* A band of one image's channel: each row is the sum of the windows that show it. */
static void col2im_band(const col2im *k, int64_t item) {
    const windows *w = &k->w;
    int64_t plane = item / k->bands, top = item % k->bands * k->band;
    int64_t end = top + k->band < w->image[0] ? top + k->band : w->image[0], width = w->image[1];
    ptrdiff_t size = (ptrdiff_t)1 << k->sum.log2;
    const char *from = k->columns + plane / k->channels * k->strides[0] +
                       plane % k->channels * w->kernel[0] * w->kernel[1] * k->strides[1];
    char *image = k->image + (plane * w->image[0] + top) * width * size;
    band_columns columns = load_band(k, from, top, end);
    char *acc = k->is_native ? image : row_sum_start(&k->sum, (end - top) * width);
    for (int64_t down = 0; down < k->by[0].n; down++) {
        sum_phase(k, &columns, down, top, end, acc);
    }
    if (!k->is_native) {
        row_sum_store(&k->sum, acc, image, size, (end - top) * width);
    }
}

static void share_col2im(const void *context) {
    const col2im *k = context;
    int64_t from, to;
    parallel_share(k->n_items, 1, &from, &to);
    for (int64_t i = from; i < to; i++) {
        col2im_band(k, i);
    }
}

static status run_col2im(kernel_plan *plan) {
    const col2im *k = plan->state;
    parallel_run(row_sum_threads(&k->sum, k->bytes), share_col2im, k);
    return ASSAY_OK;
}

/* Which places of the kernel show in which phase along dimension d. */
static status list_phases(col2im *k, int d, arena *memory, error *err) {
    const windows *w = &k->w;
    phases *by = &k->by[d];
    int64_t stride = w->stride[d], n = 0;
    by->n = stride < w->image[d] ? stride : w->image[d];
    by->places = arena_make(memory, (size_t)w->kernel[d], sizeof *by->places);
    by->starts = arena_make(memory, (size_t)by->n + 1, sizeof *by->starts);
    if (by->places == NULL || by->starts == NULL) {
        return fail(err, ASSAY_OUT_OF_MEMORY, "no memory for the places of a kernel of %lld", (long long)w->kernel[d]);
    }
    for (int64_t phase = 0; phase < by->n; phase++) {
        by->starts[phase] = n;
        for (int64_t at = 0; at < w->kernel[d]; at++) {
            int64_t offset = at * w->dilation[d] - w->padding[d] - phase;
            if (offset % stride == 0) {
                by->places[n++] = (kernel_place){at, offset / stride};
            }
        }
    }
    by->starts[by->n] = n;
    return ASSAY_OK;
}

static status make_col2im_rooms(col2im *k, dtype type, arena *memory, error *err) {
    const windows *w = &k->w;
    int64_t height = w->image[0], width = w->image[1], places = 0, loaded = 0, row = 0;
    if (!mul_i64(w->kernel[0], w->kernel[1], &places) || !mul_i64(places, w->count[1], &row)) {
        return fail(err, ASSAY_TOO_LARGE, "a kernel of %lld x %lld is too large", (long long)w->kernel[0], (long long)w->kernel[1]);
    }
    int64_t most = BAND_COLUMNS / (row > 0 ? row : 1) * w->stride[0];
    k->band = width < BAND_ELEMENTS ? BAND_ELEMENTS / width : 1;
    k->band = k->is_native || k->band < most ? k->band : most > 1 ? most : 1;
    k->band = k->band < height ? k->band : height;
    k->bands = (height + k->band - 1) / k->band;
    k->band_windows = k->band / w->stride[0] + 2;
    TRY(list_phases(k, 0, memory, err));
    TRY(list_phases(k, 1, memory, err));
    k->phase_room = (width + w->stride[1] - 1) / w->stride[1];
    int64_t windows_row = k->band_windows * w->count[1], spread = (k->band / w->stride[0] + 1) * k->phase_room * k->by[1].n;
    int64_t capacity = k->band * width > windows_row ? k->band * width : windows_row;
    TRY(row_sum_make(&k->sum, type, capacity > spread ? capacity : spread, memory, err));
    k->acc_bytes = (size_t)k->sum.parts * (k->sum.is_f64 ? sizeof(double) : sizeof(float));
    k->places = (size_t)places;
    k->lists = arena_make(memory, (size_t)k->sum.threads * k->places, sizeof *k->lists);
    if (k->lists != NULL && !k->is_native && mul_i64(places, windows_row * (int64_t)k->acc_bytes, &loaded)) {
        k->loaded_bytes = parallel_room((size_t)loaded);
        k->loaded = arena_make(memory, (size_t)k->sum.threads, k->loaded_bytes);
    }
    if (k->lists == NULL || (!k->is_native && k->loaded == NULL)) {
        return fail(err, ASSAY_OUT_OF_MEMORY, "no memory for the columns of %lld rows", (long long)k->band);
    }
    return ASSAY_OK;
}

static status prepare_col2im(kernel_plan *plan, error *err) {
    const tensor *columns = call_tensor(plan->call, 0), *dst = &plan->out->items[0];
    int lead = columns->ndim - 2;
    ptrdiff_t size = (ptrdiff_t)dtype_size(dst->dtype);
    col2im *k = arena_make(plan->memory, 1, sizeof *k);
    if (k == NULL) {
        return fail(err, ASSAY_OUT_OF_MEMORY, "no memory for the plan of %s", plan->call->op->signature.full);
    }
    *k = (col2im){.channels = dst->sizes[lead], .columns = tensor_data(columns), .image = tensor_data(dst)};
    memcpy(k->w.image, dst->sizes + lead + 1, sizeof k->w.image);
    read_windows(plan->call, 2, &k->w);
    k->strides[0] = lead ? columns->strides[0] * size : 0;
    k->strides[1] = columns->strides[lead] * size;
    k->strides[2] = columns->strides[lead + 1] * size;
    dtype real = dtype_real(dst->dtype);
    k->is_native = (real == ASSAY_F32 || real == ASSAY_F64) && k->strides[2] == size;
    TRY(make_col2im_rooms(k, dst->dtype, plan->memory, err));
    k->n_items = tensor_numel(dst) / (k->w.image[0] * k->w.image[1]) * k->bands;
    k->bytes = (double)size * (double)(tensor_numel(columns) + tensor_numel(dst));
    plan->state = k;
    plan->run = run_col2im;
    return ASSAY_OK;
}

/* --- unfold_backward
 * ------------------------------------------------------------------------------------------------------------ */

/* Windows that do not overlap: their elements, the gaps between them, what lies behind the last. */
static status prepare_apart(kernel_plan *plan, int dim, int64_t size, int64_t step, error *err) {
    const tensor *grad = call_tensor(plan->call, 0), *dst = &plan->out->items[0];
    int64_t n = grad->sizes[dim], stride = dst->strides[dim], end = (n - 1) * step + size;
    move_plan *p;
    box part, gaps, tail;
    TRY(move_plan_start(plan, 3, &p, err));
    box_of(&part, grad);
    memcpy(part.src_strides, grad->strides, (size_t)grad->ndim * sizeof *grad->strides);
    memcpy(part.dst_strides, dst->strides, (size_t)dst->ndim * sizeof *dst->strides);
    part.dst_strides[dim] = stride * step;
    part.dst_strides[dst->ndim] = stride;
    gaps = part;
    move_plan_copy(p, &part, dst, grad);
    gaps.sizes[dim] = n - 1;
    gaps.sizes[dst->ndim] = n > 1 ? step - size : 0;
    gaps.dst_offset = size * stride;
    move_plan_fill(p, &gaps, dst, number_of_int(0));
    box_of(&tail, dst);
    box_cut(&tail, dim, end, dst->sizes[dim] - end);
    move_plan_fill(p, &tail, dst, number_of_int(0));
    p->together = true;
    return ASSAY_OK;
}

/* Elements of windows that are loaded at a time: what L1 and L2 hold. */
enum { TOGETHER_MOST = 1 << 15, CHUNK = 16 };

typedef struct unfold {
    row_sum sum;
    const tensor *grad, *dst;
    int dim;
    int64_t size, step, n_lines;
    bool is_native; /* windows lie as they are added */
    bool is_dense;  /* or one behind the other, to be loaded together */
    bool is_listed; /* either: rows says for each chunk of a line what windows it sums */
    int64_t chunk;
    int64_t *starts;   /* where each chunk's windows begin in rows, and the end */
    shifted_rows *rows; /* from the chunk's first element on */
    double bytes;
} unfold;

/* One line along dim: all its windows added up. */
static void unfold_line(const unfold *k, int64_t line) {
    const tensor *grad = k->grad, *dst = k->dst;
    ptrdiff_t size = (ptrdiff_t)1 << k->sum.log2;
    int64_t from = 0, to = 0, length = dst->sizes[k->dim], parts = k->sum.parts;
    for (int d = dst->ndim - 1; d >= 0; d--) {
        if (d != k->dim) {
            from += line % dst->sizes[d] * grad->strides[d];
            to += line % dst->sizes[d] * dst->strides[d];
            line /= dst->sizes[d];
        }
    }
    void *acc = row_sum_start(&k->sum, length);
    const char *first = tensor_data(grad) + from * size;
    int64_t n = grad->sizes[k->dim], next = grad->strides[k->dim];
    const void *loaded = k->is_listed && !k->is_native ? row_sum_load(&k->sum, first, size, n * k->size) : first;
    size_t acc_bytes = (size_t)parts * (k->sum.is_f64 ? sizeof(double) : sizeof(float));
    for (int64_t at = 0, c = 0; k->is_listed && at < length; at += k->chunk, c++) {
        int64_t some = length - at < k->chunk ? length - at : k->chunk;
        row_sum_of(&k->sum, (char *)acc + (size_t)at * acc_bytes, 0, 1, some * parts, loaded, 0, k->rows + k->starts[c],
                   k->starts[c + 1] - k->starts[c]);
    }
    for (int64_t window = k->is_listed ? n : 0; window < n; window++) {
        row_sum_add(&k->sum, acc, window * k->step, 1, first + window * next * size, grad->strides[dst->ndim] * size, k->size);
    }
    row_sum_store(&k->sum, acc, tensor_data(dst) + to * size, dst->strides[k->dim] * size, length);
}

static void share_unfold(const void *context) {
    const unfold *k = context;
    int64_t from, to;
    parallel_share(k->n_lines, 1, &from, &to);
    for (int64_t i = from; i < to; i++) {
        unfold_line(k, i);
    }
}

static status run_unfold(kernel_plan *plan) {
    const unfold *k = plan->state;
    parallel_run(row_sum_threads(&k->sum, k->bytes), share_unfold, k);
    return ASSAY_OK;
}

/* The windows that reach into each chunk of a line; apart is the distance between two as they are added. */
static status list_windows(unfold *k, int64_t apart, arena *memory, error *err) {
    int64_t length = k->dst->sizes[k->dim], n = k->grad->sizes[k->dim], parts = k->sum.parts;
    k->chunk = (k->step + CHUNK - 1) / CHUNK * CHUNK;
    int64_t chunks = (length + k->chunk - 1) / k->chunk, most = (k->chunk + k->size) / k->step + 2, room = 0;
    most = most < n ? most : n;
    if (!mul_i64(chunks, most, &room)) {
        return fail(err, ASSAY_TOO_LARGE, "windows of %lld, %lld apart, are too many", (long long)k->size, (long long)k->step);
    }
    k->starts = arena_make(memory, (size_t)chunks + 1, sizeof *k->starts);
    k->rows = arena_make(memory, (size_t)room + 1, sizeof *k->rows);
    if (k->starts == NULL || k->rows == NULL) {
        return fail(err, ASSAY_OUT_OF_MEMORY, "no memory for the places of windows");
    }
    int64_t listed = 0;
    for (int64_t c = 0; c < chunks; c++) {
        int64_t at = c * k->chunk, window = at >= k->size ? (at - k->size) / k->step + 1 : 0;
        k->starts[c] = listed;
        for (; window < n && window * k->step < at + k->chunk; window++) {
            int64_t from = window * k->step - at;
            k->rows[listed++] = (shifted_rows){(window * apart - from) * parts, {0, from * parts}, {1, (from + k->size) * parts}};
        }
    }
    k->starts[chunks] = listed;
    k->is_listed = true;
    return ASSAY_OK;
}

/* A number unfolded is its own window, or an empty one. */
static status run_unfold_number(kernel_plan *plan) {
    const tensor *grad = call_tensor(plan->call, 0), *dst = &plan->out->items[0];
    if (tensor_numel(grad) > 0) {
        memcpy(tensor_data(dst), tensor_data(grad), dtype_size(dst->dtype));
    } else {
        memset(tensor_data(dst), 0, dtype_size(dst->dtype));
    }
    return ASSAY_OK;
}

static status prepare_unfold(kernel_plan *plan, error *err) {
    const tensor *grad = call_tensor(plan->call, 0), *dst = &plan->out->items[0];
    int64_t dim = call_int(plan->call, 2), size = call_int(plan->call, 3), step = call_int(plan->call, 4);
    if (dst->ndim == 0) {
        plan->run = run_unfold_number;
        return ASSAY_OK;
    }
    dim = dim < 0 ? dim + dst->ndim : dim;
    if (size <= step || grad->sizes[dim] == 1) {
        return prepare_apart(plan, (int)dim, size, step, err);
    }
    unfold *k = arena_make(plan->memory, 1, sizeof *k);
    if (k == NULL) {
        return fail(err, ASSAY_OUT_OF_MEMORY, "no memory for the plan of %s", plan->call->op->signature.full);
    }
    *k = (unfold){.grad = grad, .dst = dst, .dim = (int)dim, .size = size, .step = step};
    int64_t n = grad->sizes[dim], together = 0, room = dst->sizes[dim];
    bool is_run = grad->strides[dst->ndim] == 1 || size == 1;
    dtype real = dtype_real(dst->dtype);
    k->is_native = is_run && (real == ASSAY_F32 || real == ASSAY_F64);
    k->is_dense = is_run && grad->strides[dim] == size && mul_i64(n, size, &together) && together <= TOGETHER_MOST;
    TRY(row_sum_make(&k->sum, dst->dtype, k->is_dense && together > room ? together : room, plan->memory, err));
    if (k->is_native || k->is_dense) {
        TRY(list_windows(k, k->is_native ? grad->strides[dim] : size, plan->memory, err));
    }
    k->n_lines = dst->sizes[dim] > 0 ? tensor_numel(dst) / dst->sizes[dim] : 0;
    k->bytes = (double)dtype_size(dst->dtype) * (double)(tensor_numel(grad) + tensor_numel(dst));
    plan->state = k;
    plan->run = run_unfold;
    return ASSAY_OK;
}

static const kernel_row rows[] = {
    {"im2col.default", prepare_im2col, NULL},          {"col2im_backward.default", prepare_im2col, NULL},
    {"col2im.default", prepare_col2im, NULL},          {"im2col_backward.default", prepare_col2im, NULL},
    {"unfold_backward.default", prepare_unfold, NULL},
};

const kernel_rows kernels_fold = {rows, countof(rows)};
