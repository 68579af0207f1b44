/* SPDX-License-Identifier: Apache-2.0 */
/* Reading at given places: index, index_select, gather, nonzero. Elements are moved as they are, whatever their type. */
#include "engine/kernels/cpu/kernels.h"
#include "engine/kernels/cpu/lines.h"
#include "engine/kernels/cpu/parallel.h"
#include "engine/kernels/cpu/take.h"

#include <inttypes.h>

static status index_prepare(kernel_plan *plan, error *err) {
    indexing ix;
    TRY(indexing_analyse(plan->call, &ix, err));
    return take_prepare(plan, call_tensor(plan->call, 0), &ix, err);
}

static status index_select_prepare(kernel_plan *plan, error *err) {
    const tensor *self = call_tensor(plan->call, 0);
    indexing ix;
    int dim;
    TRY(dim_wrap(call_int(plan->call, 1), self->ndim, &dim, err));
    indexing_of_dim(&ix, self, dim, call_tensor(plan->call, 2));
    return take_prepare(plan, self, &ix, err);
}

/* --- gather ------------------------------------------------------------------------------------------------------------------ */

typedef struct gather_state {
    lines lines;
    int log2;
    int split;
    double bytes;
} gather_state;

static void gather_use(void *context, char *own, ptrdiff_t own_stride, char *far, ptrdiff_t far_stride, const int64_t *offsets,
                       int64_t n) {
    const gather_state *g = context;
    g->lines.loops->gather[g->log2](own, own_stride, far, offsets, n, far_stride);
}

static status gather_run(kernel_plan *plan) {
    gather_state *g = plan->state;
    bool good = lines_run(&g->lines, g->split, parallel_threads(g->bytes), gather_use, g);
    return good ? ASSAY_OK : lines_fail(&g->lines, plan->err);
}

static status nothing_run(kernel_plan *plan) {
    (void)plan;
    return ASSAY_OK;
}

static status gather_prepare(kernel_plan *plan, error *err) {
    const tensor *self = call_tensor(plan->call, 0), *index = call_tensor(plan->call, 2), *out = &plan->out->items[0];
    gather_state *g = arena_make(plan->memory, 1, sizeof *g);
    size_t size = dtype_size(self->dtype);
    int dim;
    TRY(dim_wrap(call_int(plan->call, 1), self->ndim, &dim, err));
    if (g == NULL) {
        return fail(err, ASSAY_OUT_OF_MEMORY, "no memory for a plan");
    }
    plan->state = g;
    plan->run = tensor_numel(index) > 0 ? gather_run : nothing_run;
    lines_init(&g->lines, plan->call, index, dim, out, size, self, self->strides, tensor_data(self), size);
    g->log2 = size == 1 ? 0 : size == 2 ? 1 : size == 4 ? 2 : size == 8 ? 3 : 4;
    g->split = lines_widest(&g->lines, true);
    g->bytes = 2 * tensor_bytes(out) + tensor_bytes(index);
    return ASSAY_OK;
}

/* --- nonzero ----------------------------------------------------------------------------------------------------------------- */

/* Two passes over stretches of the row-major order: count, then write each stretch's coordinates behind those before. */
enum { MAX_STRETCHES = 256, NONZERO_BLOCK = 512 };

typedef struct nonzero_state {
    const tensor *self;
    int64_t *out;
    int64_t n, expected;
    int64_t counts[MAX_STRETCHES + 1];
    int stretches;
} nonzero_state;

static bool is_set(dtype t, const char *at) {
    return dtype_is_complex(t) ? element_load_complex(t, at) != 0 : element_load(t, at) != 0;
}

/* Where of n elements those lie that are not zero; answers how many. Each place is written and kept or written over: there
   is no branch to miss. where: n places. */
static int64_t set_among(dtype t, const char *x, int64_t stride, int64_t n, int32_t *where) {
    int64_t found = 0, size = (int64_t)dtype_size(t);
    if (size == 1) {
        for (int64_t i = 0; i < n; i++) {
            where[found] = (int32_t)i;
            found += x[i * stride] != 0;
        }
    } else if (t == ASSAY_I64) {
        for (int64_t i = 0; i < n; i++) {
            where[found] = (int32_t)i;
            found += ((const int64_t *)(const void *)x)[i * stride] != 0;
        }
    } else if (t == ASSAY_F32) {
        for (int64_t i = 0; i < n; i++) {
            where[found] = (int32_t)i;
            found += ((const float *)(const void *)x)[i * stride] != 0;
        }
    } else {
        for (int64_t i = 0; i < n; i++) {
            where[found] = (int32_t)i;
            found += is_set(t, x + i * stride * size);
        }
    }
    return found;
}

static int64_t count_among(dtype t, const char *x, int64_t n) {
    int64_t found = 0;
    for (int64_t i = 0; t == ASSAY_I64 && i < n; i++) {
        found += ((const int64_t *)(const void *)x)[i] != 0;
    }
    for (int64_t i = 0; t == ASSAY_F32 && i < n; i++) {
        found += ((const float *)(const void *)x)[i] != 0;
    }
    for (int64_t i = 0; dtype_size(t) == 1 && i < n; i++) {
        found += x[i] != 0;
    }
    return found;
}

/* Coordinates of the elements `where` beyond index, into the rows from `row` on. */
static void write_coordinates(const nonzero_state *s, const int64_t *index, const int32_t *where, int64_t n, int64_t row) {
    int last = s->self->ndim - 1;
    for (int d = 0; d < last; d++) {
        int64_t *out = s->out + d * s->expected + row;
        for (int64_t i = 0; i < n; i++) {
            out[i] = index[d];
        }
    }
    int64_t *out = s->out + last * s->expected + row;
    for (int64_t i = 0; last >= 0 && i < n; i++) {
        out[i] = index[last] + where[i];
    }
}

/* Elements [from, to) of the row-major order; writes coordinates from row `row` on if asked to. */
static int64_t nonzero_stretch(const nonzero_state *s, int64_t from, int64_t to, int64_t row, bool writes) {
    const tensor *t = s->self;
    const char *data = tensor_data(t);
    int64_t index[TENSOR_MAX_DIMS] = {0}, offset = 0, rest = from, found = 0, size = (int64_t)dtype_size(t->dtype);
    int32_t where[NONZERO_BLOCK];
    int last = t->ndim - 1;
    for (int d = last; d >= 0 && from < to; d--) { /* of no elements a size is 0 */
        index[d] = rest % t->sizes[d];
        rest /= t->sizes[d];
        offset += index[d] * t->strides[d];
    }
    if (!writes && tensor_is_contiguous(t) && (size == 1 || t->dtype == ASSAY_I64 || t->dtype == ASSAY_F32)) {
        return count_among(t->dtype, data + from * size, to - from);
    }
    while (from < to) {
        int64_t stride = last >= 0 ? t->strides[last] : 0, n = last >= 0 ? t->sizes[last] - index[last] : 1;
        n = n < to - from ? n : to - from;
        n = n < NONZERO_BLOCK ? n : NONZERO_BLOCK;
        int64_t set = set_among(t->dtype, data + offset * size, stride, n, where);
        if (writes) { /* another thread may have changed the tensor since it was counted */
            int64_t room = s->expected - row - found;
            write_coordinates(s, index, where, set < room ? set : room, row + found);
        }
        found += set;
        from += n;
        offset += n * stride;
        if (last >= 0) {
            index[last] += n;
        }
        for (int d = last; d > 0 && index[d] == t->sizes[d]; d--) {
            offset += t->strides[d - 1] - t->strides[d] * t->sizes[d];
            index[d] = 0;
            index[d - 1]++;
        }
    }
    return found;
}

static status nonzero_run(kernel_plan *plan) {
    nonzero_state *s = plan->state;
    double bytes = 4 * tensor_bytes(s->self) + 8.0 * (double)s->expected * s->self->ndim;
    int threads = parallel_threads(bytes);
    const observer *watch = observer_of_thread;
#pragma omp parallel num_threads(threads)
    {
        parallel_enter(watch);
#pragma omp for nowait
        for (int k = 0; k < s->stretches; k++) {
            s->counts[k + 1] = nonzero_stretch(s, s->n * k / s->stretches, s->n * (k + 1) / s->stretches, 0, false);
        }
        parallel_leave(watch);
    }
    for (int k = 0; k < s->stretches; k++) {
        s->counts[k + 1] += s->counts[k];
    }
    if (s->counts[s->stretches] != s->expected) {
        return fail(plan->err, ASSAY_INVALID, "nonzero: expected %" PRId64 " elements that are not zero, as when it was "
                    "prepared, got %" PRId64, s->expected, s->counts[s->stretches]);
    }
#pragma omp parallel num_threads(threads)
    {
        parallel_enter(watch);
#pragma omp for nowait
        for (int k = 0; k < s->stretches; k++) {
            nonzero_stretch(s, s->n * k / s->stretches, s->n * (k + 1) / s->stretches, s->counts[k], true);
        }
        parallel_leave(watch);
    }
    return ASSAY_OK;
}

static status nonzero_prepare(kernel_plan *plan, error *err) {
    nonzero_state *s = arena_make(plan->memory, 1, sizeof *s);
    if (s == NULL) {
        return fail(err, ASSAY_OUT_OF_MEMORY, "no memory for a plan");
    }
    s->self = call_tensor(plan->call, 0);
    s->out = (int64_t *)(void *)tensor_data(&plan->out->items[0]);
    s->n = tensor_numel(s->self);
    s->expected = plan->out->items[0].sizes[0];
    int64_t wanted = s->n / 4096 + 1;
    s->stretches = wanted < MAX_STRETCHES ? (int)wanted : MAX_STRETCHES;
    plan->state = s;
    plan->run = nonzero_run;
    return ASSAY_OK;
}

static const kernel_row rows[] = {
    {.op = "index.Tensor", .prepare = index_prepare},
    {.op = "index_select.default", .prepare = index_select_prepare},
    {.op = "gather.default", .prepare = gather_prepare},
    {.op = "nonzero.default", .prepare = nonzero_prepare},
};

const kernel_rows kernels_index = {rows, countof(rows)};
