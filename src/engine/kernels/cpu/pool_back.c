/* SPDX-License-Identifier: Apache-2.0 */
/* Backwards of maxima, a plane at a time: each gradient is added at its index. No two threads write to one plane. f16 and
   bf16 add in f32. */
#include "engine/kernels/cpu/pool_back.h"

#include "engine/kernels/cpu/isa/convert_loops.h"
#include "engine/kernels/cpu/isa/copy_loops.h"
#include "engine/kernels/cpu/parallel.h"

#include <inttypes.h>
#include <string.h>

void pool_four_strides(const tensor *t, int64_t *out) {
    int lead = t->ndim == 4 ? 1 : 0;
    out[0] = lead ? t->strides[0] : 0;
    for (int i = 0; i < 3; i++) {
        out[1 + i] = t->strides[lead + i];
    }
}

/* Channels that one pass over a channels-last image serves: their sums stay in a cache. */
enum { CHANNEL_BLOCK = 64 };

/* A unit is `block` channels of one image. Sums lie as [position][sum_step], in the output itself where they can. */
typedef struct max_back {
    dtype dtype;
    pool_shape shape;
    const tensor *grad, *index, *out;
    int64_t grad_step[4], index_step[4], out_step[4]; /* elements */
    int64_t block;
    bool in_place;
    convert_fn *to, *from; /* the gradient to f32, f32 sums to the output; NULL when that is their type */
    int threads;
    char *work;
    size_t work_bytes; /* per thread */
} max_back;

/* One row of the gradient: `step` and `index_step` from one to the next. The first index out of range (INT64_MAX for a
   negative one), or -1. */
static int64_t add_row_f32(float *sums, const float *grad, int64_t step, const int64_t *index, int64_t index_step, int64_t n,
                           int64_t area) {
    for (int64_t x = 0; x < n; x++) {
        uint64_t at = (uint64_t)index[x * index_step];
        if (at >= (uint64_t)area) {
            return at > INT64_MAX ? INT64_MAX : (int64_t)at;
        }
        sums[at] += grad[x * step];
    }
    return -1;
}

static int64_t add_row_f64(double *sums, const double *grad, int64_t step, const int64_t *index, int64_t index_step, int64_t n,
                           int64_t area) {
    for (int64_t x = 0; x < n; x++) {
        uint64_t at = (uint64_t)index[x * index_step];
        if (at >= (uint64_t)area) {
            return at > INT64_MAX ? INT64_MAX : (int64_t)at;
        }
        sums[at] += grad[x * step];
    }
    return -1;
}

/* One pixel's n channels, which lie innermost: sum k is that of position index[k], channel k. */
static int64_t add_pixel(float *sums, int64_t sum_step, const float *grad, const int64_t *index, int64_t n, int64_t area) {
    for (int64_t k = 0; k < n; k++) {
        uint64_t at = (uint64_t)index[k];
        if (at >= (uint64_t)area) {
            return at > INT64_MAX ? INT64_MAX : (int64_t)at;
        }
        sums[(int64_t)at * sum_step + k] += grad[k];
    }
    return -1;
}

/* A plane of halves as f32, one row behind the other. */
static void load_plane(const max_back *m, const char *grad, char *halves, float *plane) {
    int64_t rows = m->shape.out[0], width = m->shape.out[1];
    if (m->grad_step[3] == 1 && m->grad_step[2] == width) {
        m->to(plane, grad, rows * width);
        return;
    }
    for (int64_t y = 0; y < rows; y++) {
        copy_loops_best()->strided(halves, grad + y * m->grad_step[2] * 2, 1, width, 2, (ptrdiff_t)(m->grad_step[3] * 2));
        m->to(plane + y * width, halves, width);
    }
}

static int64_t add_rows(const max_back *m, const char *grad, const int64_t *index, void *sums) {
    int64_t size = m->dtype == ASSAY_F64 ? 8 : 4, width = m->shape.out[1], area = m->shape.in[0] * m->shape.in[1], bad = -1;
    int64_t row_step = m->to != NULL ? width : m->grad_step[2], step = m->to != NULL ? 1 : m->grad_step[3];
    for (int64_t y = 0; y < m->shape.out[0] && bad < 0; y++) {
        const void *from = grad + y * row_step * size;
        const int64_t *i = index + y * m->index_step[2];
        if (m->dtype == ASSAY_F64) {
            bad = add_row_f64(sums, from, step, i, m->index_step[3], width, area);
        } else if (step == 1 && m->index_step[3] == 1) {
            bad = add_row_f32(sums, from, 1, i, 1, width, area);
        } else {
            bad = add_row_f32(sums, from, step, i, m->index_step[3], width, area);
        }
    }
    return bad;
}

static int64_t add_pixels(const max_back *m, const char *grad, const int64_t *index, void *sums, int64_t sum_step, int64_t n) {
    int64_t size = (int64_t)dtype_size(m->dtype), area = m->shape.in[0] * m->shape.in[1], bad = -1;
    float wide[CHANNEL_BLOCK];
    for (int64_t o = 0; o < m->shape.out[0] * m->shape.out[1] && bad < 0; o++) {
        int64_t y = o / m->shape.out[1], x = o % m->shape.out[1];
        const void *from = grad + (y * m->grad_step[2] + x * m->grad_step[3]) * size;
        if (m->to != NULL) {
            m->to(wide, from, n);
            from = wide;
        }
        bad = add_pixel(sums, sum_step, from, index + y * m->index_step[2] + x * m->index_step[3], n, area);
    }
    return bad;
}

/* Sums [position][n] to the output: rows of n where channels lie innermost, otherwise rows of the plane (n is 1). */
static void write_sums(const max_back *m, char *out, const char *sums, int64_t n) {
    int64_t size = (int64_t)dtype_size(m->dtype), wide = m->dtype == ASSAY_F64 ? 8 : 4, width = m->shape.in[1];
    bool innermost = m->block > 1;
    if (!innermost && m->out_step[3] == 1 && m->out_step[2] == width) { /* in_place otherwise: there is `from` */
        m->from(out, sums, m->shape.in[0] * width);
        return;
    }
    for (int64_t y = 0; y < m->shape.in[0]; y++) {
        for (int64_t x = 0; innermost && x < width; x++) {
            m->from(out + (y * m->out_step[2] + x * m->out_step[3]) * size, sums + (y * width + x) * n * wide, n);
        }
        for (int64_t x = 0; !innermost && x < width; x++) {
            char *to = out + (y * m->out_step[2] + x * m->out_step[3]) * size;
            if (m->from != NULL && m->out_step[3] == 1) {
                m->from(to, sums + y * width * wide, width);
                break;
            }
            m->from != NULL ? m->from(to, sums + (y * width + x) * wide, 1)
                            : (void)memcpy(to, sums + (y * width + x) * wide, (size_t)wide);
        }
    }
}

/* Channels [c, c + n) of one image; the first index out of range, or -1. */
static int64_t one_unit(const max_back *m, int64_t image, int64_t c, int64_t n, char *work) {
    int64_t size = (int64_t)dtype_size(m->dtype), area = m->shape.in[0] * m->shape.in[1];
    char *out = tensor_data(m->out) + (image * m->out_step[0] + c * m->out_step[1]) * size;
    const char *grad = tensor_data(m->grad) + (image * m->grad_step[0] + c * m->grad_step[1]) * size;
    const int64_t *index = (const int64_t *)(const void *)tensor_data(m->index) + image * m->index_step[0] + c * m->index_step[1];
    char *sums = m->in_place ? out : work;
    int64_t sum_step = m->in_place ? m->out_step[3] : n;
    if (m->in_place && m->block > 1) {
        for (int64_t i = 0; i < area; i++) {
            memset(out + i * sum_step * size, 0, (size_t)(n * size));
        }
    } else {
        memset(sums, 0, (size_t)(area * n) * (m->dtype == ASSAY_F64 ? 8 : 4));
    }
    if (m->block == 1 && m->to != NULL) {
        char *plane = work + area * 4;
        load_plane(m, grad, plane + m->shape.out[0] * m->shape.out[1] * 4, (float *)(void *)plane);
        grad = plane;
    }
    int64_t bad = m->block == 1 ? add_rows(m, grad, index, sums) : add_pixels(m, grad, index, sums, sum_step, n);
    if (!m->in_place) {
        write_sums(m, out, sums, n);
    }
    return bad;
}

static status run_max_back(kernel_plan *plan) {
    const max_back *m = plan->state;
    int64_t channels = m->shape.channels, blocks = (channels + m->block - 1) / m->block, bad = -1;
    const observer *watch = observer_of_thread;
#pragma omp parallel num_threads(m->threads) reduction(max : bad) if (m->threads > 1)
    {
        parallel_enter(watch);
        int64_t from, to;
        parallel_share(m->shape.batch * blocks, 1, &from, &to);
        for (int64_t i = from; i < to; i++) {
            int64_t c = i % blocks * m->block, n = channels - c < m->block ? channels - c : m->block;
            int64_t found = one_unit(m, i / blocks, c, n, m->work + (size_t)omp_get_thread_num() * m->work_bytes);
            bad = found > bad ? found : bad;
        }
        parallel_leave(watch);
    }
    return bad < 0 ? ASSAY_OK
                   : fail(plan->err, ASSAY_INVALID, "%s: expected indices from 0 to %" PRId64 ", got one outside",
                          plan->call->op->signature.full, m->shape.in[0] * m->shape.in[1] - 1);
}

status max_pool_back_prepare(kernel_plan *plan, error *err) {
    const op_call *call = plan->call;
    max_back *m = arena_make(plan->memory, 1, sizeof *m);
    if (m == NULL) {
        return fail(err, ASSAY_OUT_OF_MEMORY, "no memory for a pool");
    }
    TRY(pool_shape_of(call, 1, 2, 5, call_bool(call, 6), &m->shape, err));
    m->grad = call_tensor(call, 0);
    m->index = call_tensor(call, 7);
    m->out = &plan->out->items[0];
    m->dtype = m->out->dtype;
    pool_four_strides(m->grad, m->grad_step);
    pool_four_strides(m->index, m->index_step);
    pool_four_strides(m->out, m->out_step);
    bool is_half = m->dtype == ASSAY_F16 || m->dtype == ASSAY_BF16;
    bool innermost = m->out_step[1] == 1 && m->grad_step[1] == 1 && m->index_step[1] == 1;
    int64_t width = m->shape.in[1];
    m->block = innermost && m->shape.channels_last && m->dtype != ASSAY_F64 ? CHANNEL_BLOCK : 1;
    m->in_place = !is_half && (m->block > 1 ? m->out_step[2] == width * m->out_step[3]
                                            : m->out_step[3] == 1 && m->out_step[2] == width);
    m->to = is_half ? convert_loops_best()->to_f32[m->dtype] : NULL;
    m->from = is_half ? convert_loops_best()->from_f32[m->dtype] : NULL;
    m->threads = parallel_threads(tensor_bytes(m->grad) + tensor_bytes(m->index) + tensor_bytes(m->out));
    m->work_bytes = m->in_place ? 0 : (size_t)(m->shape.in[0] * width * m->block) * (m->dtype == ASSAY_F64 ? 8 : 4);
    m->work_bytes += is_half && m->block == 1 ? (size_t)((m->shape.out[0] + 1) * m->shape.out[1]) * 4 : 0;
    m->work_bytes = parallel_room(m->work_bytes);
    m->work = arena_make(plan->memory, (size_t)m->threads, m->work_bytes + 1);
    plan->state = m;
    plan->run = run_max_back;
    return m->work != NULL ? ASSAY_OK : fail(err, ASSAY_OUT_OF_MEMORY, "no memory for a pool");
}
