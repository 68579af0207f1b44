/* SPDX-License-Identifier: Apache-2.0 */
/* Behind a short row stands its padding, and at once the next row's: filled as one gap. Made of moves, columns of padding are
   single elements far apart, and each line of memory is written three times, by different threads as often as not. */
#include "engine/kernels/cpu/pad.h"

#include "device/caches.h"
#include "engine/kernels/cpu/isa/copy_loops.h"
#include "engine/kernels/cpu/parallel.h"

#include <string.h>

/* Longer rows take long enough for their padding not to matter. */
enum { SHORT_ROW_BYTES = 2048, SHORT_STEPPED_BYTES = 16384, GROUP_BYTES = 8192, LONG_GAP = 128 };

/* Dimensions of dst: planes of rows. Strides and places of src count bytes. */
typedef struct pad_state {
    const copy_loops *copies;
    const tensor *dst, *src;
    int log2; /* of an element's bytes */
    int ndim; /* of planes */
    int64_t planes, plane_sizes[TENSOR_MAX_DIMS], plane_from[TENSOR_MAX_DIMS], plane_n[TENSOR_MAX_DIMS];
    int64_t plane_step[TENSOR_MAX_DIMS];
    int64_t rows, row_from, row_n, row_step;
    int64_t width, from, n; /* bytes of a row of dst; where src's begins, and its bytes */
    bool past;              /* stored past the caches */
    int64_t step;           /* bytes from one of its elements to the next in dst */
    int64_t src_offset;
    char value[16]; /* repeated */
} pad_state;

/* Whether rows and the gaps between them can be stored past the caches: line by line. */
static bool has_whole_lines(const padded *p) {
    int last = p->ndim - 1;
    int64_t size = (int64_t)dtype_size(p->src->dtype);
    return (p->dst_sizes[last] * size | p->from[last] * size | p->sizes[last] * size) % STREAM_LINE_BYTES == 0;
}

bool pad_takes(const padded *p) {
    int last = p->ndim - 1;
    if (last < 0 || p->dst->dtype != p->src->dtype || !tensor_is_contiguous(p->dst)) {
        return false;
    }
    int64_t n = p->sizes[last], size = (int64_t)dtype_size(p->src->dtype);
    if (tensor_bytes(p->dst) >= STREAM_MIN_BYTES && (p->step > 1 || !has_whole_lines(p))) {
        return false;
    }
    bool is_short = p->step > 1 ? p->dst_sizes[last] * size <= SHORT_STEPPED_BYTES : n * size <= SHORT_ROW_BYTES;
    return n > 0 && n < p->dst_sizes[last] && is_short && (n == 1 || p->strides[last] == 1);
}

/* bytes: a multiple of the element's, which divides 16 or is 16. The last store goes over what is there already. */
static void fill_gap(char *to, const char value[16], int64_t bytes) {
    static const int64_t steps[] = {16, 8, 4, 2, 1};
    for (int i = 0; i < 5 && bytes > 0; i++) {
        int64_t step = steps[i];
        if (bytes < step) {
            continue;
        }
        for (int64_t k = 0; k + step <= bytes; k += step) {
            memcpy(to + k, value, (size_t)step);
        }
        memcpy(to + bytes - step, value, (size_t)step);
        return;
    }
}

/* The gaps behind n rows, each of `stores` times 16 bytes: what is too much is overwritten by the row behind. */
static inline void fill_narrow_of(const pad_state *s, char *behind, int64_t n, int stores) {
    for (int64_t k = 0; k < n; k++, behind += s->width) {
        for (int i = 0; i < stores; i++) {
            memcpy(behind + i * (int64_t)sizeof s->value, s->value, sizeof s->value);
        }
    }
}

static void fill_narrow(const pad_state *s, char *behind, int64_t n, int64_t gap) {
    switch ((gap + (int64_t)sizeof s->value - 1) / (int64_t)sizeof s->value) { /* constants: no loop in the loop */
    case 1:
        fill_narrow_of(s, behind, n, 1);
        return;
    case 2:
        fill_narrow_of(s, behind, n, 2);
        return;
    case 3:
        fill_narrow_of(s, behind, n, 3);
        return;
    default:
        fill_narrow_of(s, behind, n, 4);
    }
}

/* Whether a row takes what fill_narrow writes too much. */
static bool is_narrow_gap(const pad_state *s, int64_t gap) {
    int64_t value = (int64_t)sizeof s->value;
    return gap <= 4 * value && (gap + value - 1) / value * value <= s->width && !s->past;
}

static void fill_rest(const pad_state *s, char *from, const char *to) {
    if (to > from) {
        s->copies->fill(from, s->value, s->log2, (to - from) >> s->log2, s->past);
    }
}

/* Where the plane's first row is in src; false when the plane is padding alone. */
static bool find_plane(const pad_state *s, int64_t plane, int64_t *at) {
    *at = s->src_offset;
    for (int d = s->ndim - 1; d >= 0; d--) {
        int64_t index = plane % s->plane_sizes[d] - s->plane_from[d];
        plane /= s->plane_sizes[d];
        if (index < 0 || index >= s->plane_n[d]) {
            return false;
        }
        *at += index * s->plane_step[d];
    }
    return true;
}

/* Rows whose elements stand apart, each filled and then set while it is at hand. */
static void pad_stepped(const pad_state *s, const char *from, int64_t rows, char *inner) {
    for (int64_t r = 0; r < rows; r++) {
        char *to = inner + r * s->width;
        s->copies->fill(to - s->from, s->value, s->log2, s->width >> s->log2, 0);
        s->copies->strided(to, from + r * s->row_step, s->log2, s->n >> s->log2, s->step, (ptrdiff_t)1 << s->log2);
    }
}

/* Rows [a, b) of a plane, which begin at `to`. */
static void pad_rows(const pad_state *s, const char *src, int64_t plane, int64_t a, int64_t b, char *to) {
    int64_t at, first = a > s->row_from ? a : s->row_from, end = s->row_from + s->row_n;
    end = b < end ? b : end;
    if (first >= end || !find_plane(s, plane, &at)) {
        fill_rest(s, to, to + (b - a) * s->width);
        return;
    }
    char *inner = to + (first - a) * s->width + s->from;
    const char *from = src + at + (first - s->row_from) * s->row_step;
    if (s->step > INT64_C(1) << s->log2) {
        fill_rest(s, to, inner - s->from);
        pad_stepped(s, from, end - first, inner);
        fill_rest(s, to + (end - a) * s->width, to + (b - a) * s->width);
        return;
    }
    fill_rest(s, to, inner);
    const int64_t some = s->width < GROUP_BYTES ? GROUP_BYTES / s->width : 1, gap = s->width - s->n;
    const bool is_narrow = is_narrow_gap(s, gap), is_tiny = !is_narrow && s->width < (int64_t)sizeof s->value && !s->past;
    for (int64_t r = first; r < end; r += some) {
        int64_t rows = end - r < some ? end - r : some, gaps = r + rows < end ? rows : rows - 1;
        if (is_narrow) {
            fill_narrow(s, inner + s->n, gaps, gap);
        } else if (is_tiny) { /* a gap takes longer to fill than all of the row */
            fill_rest(s, inner, inner + gaps * s->width);
        }
        if (s->n == INT64_C(1) << s->log2 && !s->past) {
            s->copies->strided(inner, from, s->log2, rows, s->width, s->row_step);
        } else {
            (s->past ? s->copies->stream_rows : s->copies->rows)(inner, from, (size_t)s->n, rows, s->width, s->row_step);
        }
        for (int64_t k = 0; k < gaps && !is_narrow && !is_tiny; k++) { /* while their rows' last lines are at hand */
            char *behind = inner + k * s->width + s->n;
            if (gap < LONG_GAP && !s->past) {
                fill_gap(behind, s->value, gap);
            } else {
                s->copies->fill(behind, s->value, s->log2, gap >> s->log2, s->past);
            }
        }
        inner += rows * s->width;
        from += rows * s->row_step;
    }
    fill_rest(s, inner - gap, to + (b - a) * s->width);
}

static status pad_run(kernel_plan *plan) {
    const pad_state *s = plan->state;
    const char *src = tensor_data(s->src);
    char *dst = tensor_data(s->dst);
    const observer *watch = observer_of_thread;
#pragma omp parallel num_threads(parallel_threads(2 * tensor_bytes(s->dst)))
    {
        parallel_enter(watch);
        int64_t from, to;
        parallel_share(s->planes * s->rows, 1, &from, &to);
        while (from < to) {
            int64_t a = from % s->rows, b = a + (to - from) < s->rows ? a + (to - from) : s->rows;
            pad_rows(s, src, from / s->rows, a, b, dst + from * s->width);
            from += b - a;
        }
        s->copies->settle();
        parallel_leave(watch);
    }
    return ASSAY_OK;
}

status pad_prepare(kernel_plan *plan, const padded *p, error *err) {
    int last = p->ndim - 1, row = last - 1;
    int64_t size = (int64_t)dtype_size(p->dst->dtype);
    pad_state *s = arena_make(plan->memory, 1, sizeof *s);
    if (s == NULL) {
        return fail(err, ASSAY_OUT_OF_MEMORY, "no memory for the plan of %s", plan->call->op->signature.full);
    }
    *s = (pad_state){.copies = copy_loops_best(),
                     .dst = p->dst,
                     .src = p->src,
                     .ndim = row > 0 ? row : 0,
                     .planes = 1,
                     .rows = 1,
                     .row_n = 1,
                     .width = p->dst_sizes[last] * size,
                     .from = p->from[last] * size,
                     .n = p->sizes[last] * size,
                     .step = p->step * size,
                     .past = tensor_bytes(p->dst) >= STREAM_MIN_BYTES,
                     .src_offset = p->offset * size};
    for (; INT64_C(1) << s->log2 < size; s->log2++) {
    }
    if (row >= 0) {
        s->rows = p->dst_sizes[row];
        s->row_from = p->from[row];
        s->row_n = p->sizes[row];
        s->row_step = p->strides[row] * size;
    }
    for (int d = 0; d < s->ndim; d++) {
        s->planes *= s->plane_sizes[d] = p->dst_sizes[d];
        s->plane_from[d] = p->from[d];
        s->plane_n[d] = p->sizes[d];
        s->plane_step[d] = p->strides[d] * size;
    }
    for (int64_t at = 0; at < (int64_t)sizeof s->value; at += size) {
        element_store_number(p->dst->dtype, s->value + at, p->value);
    }
    plan->state = s;
    plan->run = pad_run;
    return ASSAY_OK;
}
