/* SPDX-License-Identifier: Apache-2.0 */
/* Reading at given places: index, index_select, gather, nonzero. Elements are moved as they are, whatever their type. */
#include "engine/kernels/cpu/kernels.h"
#include "engine/kernels/cpu/lines.h"
#include "engine/kernels/cpu/parallel.h"
#include "engine/kernels/cpu/take.h"

#include <inttypes.h>
#include <stdatomic.h>

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
    atomic_bool good = true;
#pragma omp parallel num_threads(parallel_threads(g->bytes))
    {
        lines mine = g->lines;
        int64_t from, to;
        parallel_share(mine.sizes[g->split], 1, &from, &to);
        lines_cut(&mine, g->split, from, to);
        if (!lines_walk(&mine, gather_use, g)) {
            good = false;
        }
    }
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
enum { MAX_STRETCHES = 256 };

typedef struct nonzero_state {
    const tensor *self;
    int64_t *out;
    int64_t n, expected;
    int64_t counts[MAX_STRETCHES + 1];
    int stretches;
} nonzero_state;

static inline bool is_set(dtype t, const char *at) {
    switch (dtype_size(t)) {
    case 1:
        return *at != 0;
    case 8:
        if (dtype_is_integral(t)) {
            return *(const int64_t *)(const void *)at != 0;
        }
        break;
    case 4:
        if (t == ASSAY_F32) {
            return *(const float *)(const void *)at != 0;
        }
        break;
    default:
        break;
    }
    return dtype_is_complex(t) ? element_load_complex(t, at) != 0 : element_load(t, at) != 0;
}

/* Elements [from, to) of the row-major order; writes coordinates from row `row` on when out is not NULL. */
static int64_t nonzero_stretch(const nonzero_state *s, int64_t from, int64_t to, int64_t row, int64_t *out) {
    const tensor *t = s->self;
    const char *data = tensor_data(t);
    int64_t index[TENSOR_MAX_DIMS] = {0}, offset = 0, rest = from, found = 0, size = (int64_t)dtype_size(t->dtype);
    int last = t->ndim - 1;
    for (int d = last; d >= 0; d--) {
        index[d] = rest % t->sizes[d];
        rest /= t->sizes[d];
        offset += index[d] * t->strides[d];
    }
    if (out == NULL && size == 1 && tensor_is_contiguous(t)) {
        for (int64_t i = from; i < to; i++) {
            found += data[i] != 0;
        }
        return found;
    }
    while (from < to) {
        int64_t start = last >= 0 ? index[last] : 0, stride = last >= 0 ? t->strides[last] : 0;
        int64_t n = last >= 0 ? t->sizes[last] - start : 1;
        n = n < to - from ? n : to - from;
        for (int64_t i = 0; i < n; i++) {
            if (!is_set(t->dtype, data + (offset + i * stride) * size)) {
                continue;
            }
            if (out != NULL && row + found < s->expected) {
                for (int d = 0; d < last; d++) {
                    out[d * s->expected + row + found] = index[d];
                }
                if (last >= 0) {
                    out[last * s->expected + row + found] = start + i;
                }
            }
            found++;
        }
        from += n;
        offset -= start * stride;
        if (last >= 0) {
            index[last] = 0;
        }
        for (int d = last - 1; d >= 0 && start + n == t->sizes[last]; d--) {
            offset += t->strides[d];
            if (++index[d] < t->sizes[d]) {
                break;
            }
            offset -= t->strides[d] * t->sizes[d];
            index[d] = 0;
        }
    }
    return found;
}

static status nonzero_run(kernel_plan *plan) {
    nonzero_state *s = plan->state;
    double bytes = 4 * tensor_bytes(s->self) + 8.0 * (double)s->expected * s->self->ndim;
    int threads = parallel_threads(bytes);
#pragma omp parallel for num_threads(threads)
    for (int k = 0; k < s->stretches; k++) {
        s->counts[k + 1] = nonzero_stretch(s, s->n * k / s->stretches, s->n * (k + 1) / s->stretches, 0, NULL);
    }
    for (int k = 0; k < s->stretches; k++) {
        s->counts[k + 1] += s->counts[k];
    }
    if (s->counts[s->stretches] != s->expected) {
        return fail(plan->err, ASSAY_INVALID, "nonzero: expected %" PRId64 " elements that are not zero, as when it was "
                    "prepared, got %" PRId64, s->expected, s->counts[s->stretches]);
    }
#pragma omp parallel for num_threads(threads)
    for (int k = 0; k < s->stretches; k++) {
        nonzero_stretch(s, s->n * k / s->stretches, s->n * (k + 1) / s->stretches, s->counts[k], s->out);
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
