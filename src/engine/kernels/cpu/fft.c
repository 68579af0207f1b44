/* SPDX-License-Identifier: Apache-2.0 */
/* The Fourier transform: one pass over memory for each dimension, several lines of it at a time in a cache-sized buffer.
   Computes in f32 (c32, c64) or f64 (c128). Tables come from double. */
#include "engine/kernels/cpu/isa/fft_loops.h"
#include "engine/kernels/cpu/kernels.h"
#include "engine/kernels/cpu/move.h"
#include "engine/kernels/cpu/parallel.h"

#include <math.h>

/* FFT_LANES fill the widest register. The elements a thread's buffer should hold at most: a pair of buffers in f32 then
   takes 2 MiB. Arrays lie some lines off a page's multiple: loads right behind stores to the same place in another page
   would wait for them. */
enum { BUFFER_ELEMENTS = 128 * 1024, ARRAY_GAP = 17 * 64 };

/* One dimension: lines along it, `lanes` of them side by side, everything else outside. */
typedef struct fft_pass {
    fft_line line;
    int64_t src_stride, dst_stride;
    int64_t lanes, src_lane, dst_lane, w;
    int ndim;
    int64_t sizes[TENSOR_MAX_DIMS], src_strides[TENSOR_MAX_DIMS], dst_strides[TENSOR_MAX_DIMS];
    int64_t outer;
    const char *src;
    char *dst;
    double scale;
    size_t capacity; /* elements of each buffer */
} fft_pass;

typedef struct fft_state {
    const fft_loops_of *loops;
    size_t part;          /* bytes of a number */
    bool inverse;
    int n_passes;
    fft_pass *passes;
    bool fills, empties;  /* c32: to c64 work space first, and back */
    move fill, empty;
    char *buffers;        /* 4 arrays for each thread */
    size_t capacity;      /* elements of each array */
    int threads;
    double bytes;
} fft_state;

static status no_memory(error *err) {
    return fail(err, ASSAY_OUT_OF_MEMORY, "no memory for a Fourier transform");
}

/* --- tables ----------------------------------------------------------------------------------------------------------------- */

static void store_turn(const fft_state *s, void *table, int64_t i, double re, double im) {
    if (s->part == sizeof(double)) {
        ((double *)table)[2 * i] = re;
        ((double *)table)[2 * i + 1] = im;
    } else {
        ((float *)table)[2 * i] = (float)re;
        ((float *)table)[2 * i + 1] = (float)im;
    }
}

/* exp(-2 pi i k / n), with k brought near 0 first. */
static void turn(int64_t k, int64_t n, double *re, double *im) {
    double angle = -2 * M_PI * (double)(k % n) / (double)n;
    *re = cos(angle);
    *im = sin(angle);
}

/* eights: the loops may take eight at a time (whole vectors in as many registers as that needs). 16 is better cut in halves. */
static int next_radix(int64_t n, bool eights) {
    if (eights && n % 8 == 0 && n != 16) {
        return 8;
    }
    if (n % 4 == 0) {
        return 4;
    }
    for (int r = 2; r <= FFT_MAX_RADIX; r++) {
        if (n % r == 0) {
            return r;
        }
    }
    return 0;
}

static int count_passes(int64_t n, bool eights) {
    int passes = 0;
    while (n > 1) {
        n /= next_radix(n, eights);
        passes++;
    }
    return passes;
}

/* Whether twelve at a time, last, spare a pass: 96 as 8 and 12 takes 0.81 of the time of 8, 4 and 3, 768 takes 0.79, but 192 as 4, 4 and 12
   is no better than 8, 8 and 3 (Granite Rapids, AVX-512, 2026-11). */
static bool ends_in_twelve(int64_t n, bool eights) {
    return eights && n % 12 == 0 && count_passes(n / 12, eights) + 1 < count_passes(n, eights);
}

static bool is_smooth(int64_t n) {
    while (n > 1) {
        int r = next_radix(n, false);
        if (r == 0) {
            return false;
        }
        n /= r;
    }
    return true;
}

static status make_passes(const fft_state *s, arena *memory, fft_line *line, bool eights, error *err) {
    const bool twelve = ends_in_twelve(line->n, eights);
    for (int64_t n = line->n; n > 1;) {
        int radix = twelve && n == 12 ? 12 : next_radix(twelve ? n / 12 : n, eights);
        int64_t m = n / radix;
        char *table = arena_make(memory, (size_t)m * (size_t)(radix - 1), 2 * s->part);
        char *roots = arena_make(memory, (size_t)radix, 2 * s->part);
        if (table == NULL || roots == NULL) {
            return no_memory(err);
        }
        double re, im;
        for (int64_t p = 0; p < m; p++) {
            for (int j = 1; j < radix; j++) {
                turn(j * p, n, &re, &im);
                store_turn(s, table, p * (radix - 1) + j - 1, re, im);
            }
        }
        for (int j = 0; j < radix; j++) {
            turn(j, radix, &re, &im);
            store_turn(s, roots, j, re, im);
        }
        line->radix[line->n_passes] = radix;
        line->twiddles[line->n_passes] = table;
        line->roots[line->n_passes++] = roots;
        n = m;
    }
    return ASSAY_OK;
}

/* Of the convolution below. */
static int64_t chirp_length(int64_t n) {
    int64_t size = 1;
    while (size < 2 * n - 1) {
        size *= 2;
    }
    return size;
}

/* Bluestein (1970): k j = (k^2 + j^2 - (k - j)^2) / 2 makes the sum a convolution with a chirp. Its transform is worked out
   in double by the same passes. */
static status make_chirp(fft_state *s, arena *memory, fft_line *line, bool eights, error *err) {
    int64_t size = chirp_length(line->n);
    fft_state wide = *s;
    wide.part = sizeof(double);
    fft_line *inner = arena_make(memory, 1, sizeof *inner), *exact = arena_make(memory, 1, sizeof *exact);
    char *chirp = arena_make(memory, (size_t)line->n, 2 * s->part), *kernel = arena_make(memory, (size_t)size, 2 * s->part);
    double *work = arena_make(memory, (size_t)size, 4 * sizeof(double));
    if (inner == NULL || exact == NULL || chirp == NULL || kernel == NULL || work == NULL) {
        return no_memory(err);
    }
    inner->n = exact->n = size;
    TRY(make_passes(s, memory, inner, eights, err));
    TRY(make_passes(&wide, memory, exact, false, err));
    fft_buffer a = {work, work + size}, b = {work + 2 * size, work + 3 * size};
    for (int64_t k = 0; k < line->n; k++) {
        double re, im;
        turn((int64_t)((uint64_t)k * (uint64_t)k % (uint64_t)(2 * line->n)), 2 * line->n, &re, &im);
        store_turn(s, chirp, k, re, im);
        work[k] = re;
        work[size + k] = -im;
        work[k > 0 ? size - k : 0] = re;
        work[size + (k > 0 ? size - k : 0)] = -im;
    }
    fft_buffer r = fft_loops_best()->f64.transform(exact, 1, a, b);
    for (int64_t k = 0; k < size; k++) {
        store_turn(s, kernel, k, ((double *)r.re)[k] / (double)size, ((double *)r.im)[k] / (double)size);
    }
    line->inner = inner;
    line->chirp = chirp;
    line->kernel = kernel;
    return ASSAY_OK;
}

/* --- passes ----------------------------------------------------------------------------------------------------------------- */

/* Half a register's lanes and more are worth the whole of it. */
static int64_t pitch_of(int64_t w) {
    return w > FFT_LANES / 2 ? FFT_LANES : w;
}

static size_t array_bytes(const fft_state *s) {
    return (s->capacity * s->part + 63) / 64 * 64 + ARRAY_GAP;
}

/* Dimensions whose steps go on where the lanes end become lanes as well: fewer groups are left half empty. */
static void join_lanes(fft_pass *p) {
    for (int d = p->ndim - 1; d >= 0; d--) {
        if (p->src_strides[d] != p->lanes * p->src_lane || p->dst_strides[d] != p->lanes * p->dst_lane) {
            continue;
        }
        p->lanes *= p->sizes[d];
        p->outer /= p->sizes[d];
        p->ndim--;
        for (int k = d; k < p->ndim; k++) {
            p->sizes[k] = p->sizes[k + 1];
            p->src_strides[k] = p->src_strides[k + 1];
            p->dst_strides[k] = p->dst_strides[k + 1];
        }
    }
}

/* The line runs along dim; the other dimension that is densest in dst gives the lanes. */
static status make_pass(fft_state *s, arena *memory, fft_pass *p, int dim, const tensor *shape, const int64_t *src_strides,
                        const char *src, char *dst, error *err) {
    int lane = -1;
    p->line.n = shape->sizes[dim];
    p->src = src;
    p->dst = dst;
    p->src_stride = src_strides[dim];
    p->dst_stride = shape->strides[dim];
    p->scale = 1;
    p->outer = p->lanes = 1;
    for (int d = 0; d < shape->ndim; d++) {
        if (d != dim && shape->sizes[d] > 1 && (lane < 0 || shape->strides[d] < shape->strides[lane])) {
            lane = d;
        }
    }
    for (int d = 0; d < shape->ndim; d++) {
        if (d == lane) {
            p->lanes = shape->sizes[d];
            p->src_lane = src_strides[d];
            p->dst_lane = shape->strides[d];
        } else if (d != dim && shape->sizes[d] > 1) {
            p->sizes[p->ndim] = shape->sizes[d];
            p->src_strides[p->ndim] = src_strides[d];
            p->dst_strides[p->ndim++] = shape->strides[d];
            p->outer *= shape->sizes[d];
        }
    }
    join_lanes(p);
    bool is_plain = is_smooth(p->line.n);
    int64_t length = is_plain ? p->line.n : chirp_length(p->line.n), fit = BUFFER_ELEMENTS / length;
    p->w = fit < 1 ? 1 : fit > FFT_LANES ? FFT_LANES : fit;
    p->w = p->w > p->lanes ? p->lanes : p->w;
    bool eights = isa_best() == ISA_AVX512 && pitch_of(p->w) == FFT_LANES;
    TRY(is_plain ? make_passes(s, memory, &p->line, eights, err) : make_chirp(s, memory, &p->line, eights, err));
    size_t elements = (size_t)length * (size_t)pitch_of(p->w);
    s->capacity = s->capacity > elements ? s->capacity : elements;
    return ASSAY_OK;
}

static void run_lines(const fft_state *s, const fft_pass *p, int64_t unit, char *buffers) {
    int64_t groups = (p->lanes + p->w - 1) / p->w, lane = unit % groups * p->w, rest = unit / groups;
    int64_t w = p->lanes - lane < p->w ? p->lanes - lane : p->w, from = lane * p->src_lane, to = lane * p->dst_lane;
    for (int d = p->ndim - 1; d >= 0; d--) {
        from += rest % p->sizes[d] * p->src_strides[d];
        to += rest % p->sizes[d] * p->dst_strides[d];
        rest /= p->sizes[d];
    }
    size_t array = array_bytes(s), element = 2 * s->part;
    int64_t pitch = pitch_of(p->w); /* of the last, smaller group as well: its passes are the same */
    fft_lanes in_lanes = {w, pitch, p->src_lane}, out_lanes = {w, pitch, p->dst_lane};
    fft_buffer a = {buffers, buffers + array}, b = {buffers + 2 * array, buffers + 3 * array};
    /* With its parts exchanged on the way in and out, a forward transform is an inverse one. */
    fft_buffer in = s->inverse ? (fft_buffer){a.im, a.re} : a;
    s->loops->load(p->src + from * (int64_t)element, p->line.n, p->src_stride, in_lanes, in, b.re);
    fft_buffer r = s->loops->transform(&p->line, in_lanes.pitch, a, b);
    fft_buffer out = s->inverse ? (fft_buffer){r.im, r.re} : r;
    s->loops->store(p->dst + to * (int64_t)element, p->line.n, p->dst_stride, out_lanes, out, p->scale,
                    r.re == a.re || r.im == a.re ? b.re : a.re);
}

static status fft_run(kernel_plan *plan) {
    fft_state *s = plan->state;
    if (s->fills) {
        moves_run(&s->fill, 1, false);
    }
    for (int i = 0; i < s->n_passes; i++) {
        const fft_pass *p = &s->passes[i];
        int threads = parallel_threads(s->bytes * 4);
        const observer *watch = observer_of_thread;
#pragma omp parallel num_threads(threads < s->threads ? threads : s->threads)
        {
            parallel_enter(watch);
            int64_t from, to;
            char *buffers = s->buffers + (size_t)omp_get_thread_num() * 4 * array_bytes(s);
            parallel_share(p->outer * ((p->lanes + p->w - 1) / p->w), 1, &from, &to);
            for (int64_t unit = from; unit < to; unit++) {
                run_lines(s, p, unit, buffers);
            }
            parallel_leave(watch);
        }
    }
    if (s->empties) {
        moves_run(&s->empty, 1, false);
    }
    return ASSAY_OK;
}

/* c32 has no arithmetic: a c64 tensor laid out as the output takes its place. */
static status make_work(kernel_plan *plan, fft_state *s, const tensor *self, tensor *work, error *err) {
    const tensor *out = &plan->out->items[0];
    storage *memory = arena_make(plan->memory, 1, sizeof *memory);
    void *data = arena_make(plan->memory, (size_t)tensor_span(out), 8);
    box b;
    if (memory == NULL || data == NULL) {
        return no_memory(err);
    }
    TRY(tensor_init_strided(work, ASSAY_C64, out->ndim, out->sizes, out->strides, err));
    memory->data = data; /* borrowed by this plan alone: never counted, never freed */
    work->storage = memory;
    s->fills = s->empties = true;
    box_of_pair(&b, work, self);
    move_copy(&s->fill, &b, work, self);
    box_of_pair(&b, out, work);
    move_copy(&s->empty, &b, out, work);
    return ASSAY_OK;
}

static status make_all_passes(kernel_plan *plan, fft_state *s, const tensor *self, const tensor *work, error *err) {
    int n;
    const int64_t *dims = call_ints(plan->call, 1, &n);
    double size = 1;
    bool own = tensor_data(work) != tensor_data(&plan->out->items[0]);
    s->passes = arena_make(plan->memory, (size_t)n, sizeof *s->passes);
    if (s->passes == NULL) {
        return no_memory(err);
    }
    for (int i = n - 1; i >= 0; i--) { /* the first pass reads self, the others what is there already */
        int dim;
        TRY(dim_wrap(dims[i], self->ndim, &dim, err));
        bool first = s->n_passes == 0 && !own;
        TRY(make_pass(s, plan->memory, &s->passes[s->n_passes++], dim, work, first ? self->strides : work->strides,
                      first ? tensor_data(self) : tensor_data(work), tensor_data(work), err));
        size *= (double)self->sizes[dim];
    }
    int64_t normalization = call_int(plan->call, 2);
    s->passes[n - 1].scale = normalization == 2 ? 1 / size : normalization == 1 ? 1 / sqrt(size) : 1;
    s->threads = omp_get_max_threads();
    s->buffers = arena_make(plan->memory, (size_t)s->threads * 4, array_bytes(s));
    return s->buffers != NULL ? ASSAY_OK : no_memory(err);
}

static status fft_prepare(kernel_plan *plan, error *err) {
    const tensor *self = call_tensor(plan->call, 0), *out = &plan->out->items[0];
    fft_state *s = arena_make(plan->memory, 1, sizeof *s);
    tensor work = *out;
    int n;
    call_ints(plan->call, 1, &n);
    if (s == NULL) {
        return no_memory(err);
    }
    plan->state = s;
    plan->run = fft_run;
    s->part = self->dtype == ASSAY_C128 ? sizeof(double) : sizeof(float);
    s->loops = self->dtype == ASSAY_C128 ? &fft_loops_best()->f64 : &fft_loops_best()->f32;
    s->inverse = !call_bool(plan->call, 3);
    s->bytes = 2 * tensor_bytes(out);
    if (tensor_numel(out) == 0) {
        return ASSAY_OK;
    }
    if (n == 0) {
        box b;
        box_of_pair(&b, out, self);
        move_copy(&s->fill, &b, out, self);
        s->fills = true;
        return ASSAY_OK;
    }
    if (self->dtype == ASSAY_C32) {
        TRY(make_work(plan, s, self, &work, err));
    }
    return make_all_passes(plan, s, self, &work, err);
}

static const kernel_row rows[] = {
    {.op = "_fft_c2c.default", .prepare = fft_prepare, .note = "c32 converts to c64"},
};

const kernel_rows kernels_fft = {rows, countof(rows)};
