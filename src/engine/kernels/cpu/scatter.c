/* SPDX-License-Identifier: Apache-2.0 */
/* Writing at given places: index_put, index_add, scatter, scatter_add. The destination is filled with self first, unless
   the call works in place. Sums of f16 and bf16 run in an f32 copy of the destination, all others in their own type. */
#include "engine/kernels/cpu/kernels.h"
#include "engine/kernels/cpu/lines.h"
#include "engine/kernels/cpu/move.h"
#include "engine/kernels/cpu/parallel.h"
#include "engine/kernels/cpu/put.h"
#include "engine/kernels/cpu/scatter_tables.h"

#include <stdalign.h>
#include <string.h>

/* --- index_put, index_add of slices ---------------------------------------------------------------------------------------- */

typedef struct put_state {
    move fill; /* self to the output */
    bool fills;
    put *put;
    bool converts; /* the one value that masks write, of another type: before each run it becomes one of self's */
    move convert;
    tensor value;
    storage memory; /* of that */
    alignas(16) char number[16];
} put_state;

static status put_state_run(kernel_plan *plan) {
    put_state *s = plan->state;
    if (s->fills) {
        moves_run(&s->fill, 1, false);
    }
    if (s->converts) {
        moves_run(&s->convert, 1, false);
    }
    return s->put != NULL ? put_run(s->put, plan->err) : ASSAY_OK;
}

static void fill_with_self(move *m, const tensor *out, const tensor *self) {
    box b;
    box_of_pair(&b, out, self);
    move_copy(m, &b, out, self);
}

/* What is read must lie apart from what is written: each write would change what later ones read (ATen's assert_no_overlap). */
static status check_apart(const kernel_plan *plan, const tensor *t, error *err) {
    const tensor *out = &plan->out->items[0];
    if (t == NULL || !plan->call->op->in_place || !tensor_may_overlap(t, out) || !tensor_is_dense(t) || !tensor_is_dense(out)) {
        return ASSAY_OK;
    }
    return fail(err, ASSAY_INVALID, "%s: expected values and indices apart from the tensor written to, got some in its memory; "
                                    "clone them first", plan->call->op->signature.full);
}

static status convert_value(put_state *s, const tensor *value, dtype t, error *err) {
    box b;
    TRY(tensor_init(&s->value, t, value->ndim, value->sizes, err));
    s->memory = (storage){.data = s->number, .size_bytes = sizeof s->number};
    s->value.storage = &s->memory;
    box_of_pair(&b, &s->value, value);
    move_copy(&s->convert, &b, &s->value, value);
    s->converts = true;
    return ASSAY_OK;
}

static status put_prepare(kernel_plan *plan, const indexing *ix, const tensor *values, const int64_t *value_strides,
                          const put_options *options, error *err) {
    const tensor *self = call_tensor(plan->call, 0), *out = &plan->out->items[0];
    put_state *s = arena_make(plan->memory, 1, sizeof *s);
    TRY(check_apart(plan, values, err));
    for (int k = 0; k < ix->n; k++) {
        TRY(check_apart(plan, ix->source[k].t, err));
    }
    if (s == NULL) {
        return fail(err, ASSAY_OUT_OF_MEMORY, "no memory for a plan");
    }
    plan->state = s;
    plan->run = put_state_run;
    s->fills = tensor_data(out) != tensor_data(self) && tensor_numel(out) > 0;
    if (s->fills) {
        fill_with_self(&s->fill, out, self);
    }
    if (values->dtype != out->dtype) {
        TRY(convert_value(s, values, out->dtype, err));
        values = &s->value;
    }
    bool has_mask = false;
    for (int k = 0; k < ix->n; k++) {
        has_mask = has_mask || ix->source[k].is_mask; /* looked at in each run, also when none of it was true */
    }
    return tensor_numel(out) > 0 && (has_mask || sizes_numel(ix->ndim, ix->sizes) > 0)
               ? put_make(&s->put, plan, ix, out, values, value_strides, options, err)
               : ASSAY_OK;
}

static status index_put_prepare(kernel_plan *plan, error *err) {
    indexing ix;
    int64_t value_strides[TENSOR_MAX_DIMS];
    const tensor *values = call_tensor(plan->call, 2);
    TRY(indexing_analyse(plan->call, &ix, err));
    tensor_broadcast_strides(values, ix.ndim, ix.sizes, value_strides);
    put_options options = {.mode = call_bool(plan->call, 3) ? PUT_ADD : PUT_REPLACE, .alpha = row_once(), .skip = -1};
    return put_prepare(plan, &ix, values, value_strides, &options, err);
}

/* --- element by element ------------------------------------------------------------------------------------------------------ */

typedef struct scatter_state scatter_state;

/* Adds src[i] (dense, the target's type) to far[offsets[i] + i * step]. */
typedef void add_fn(char *far, ptrdiff_t step, const int64_t *offsets, const void *src, int64_t n);

struct scatter_state {
    lines lines;
    bool fills, restores; /* self to the target first; the target to the output in the end */
    move fill, restore;
    const copy_loops *copies;
    int log2;             /* of src's elements */
    bool has_src;
    int beside_fill;      /* threads that fill the target, and scatter to it where they did; 0: not so */
    alignas(16) char value[16];       /* scatter.value: repeated */
    convert_fn *widen;    /* src to the target's type, or NULL */
    add_fn *add;          /* NULL: write */
    scatter_tables tables; /* where many numbers go to few places */
    row_factor alpha;
    add_row_fn *scale;    /* applies alpha, or NULL */
    size_t acc_bytes;
    int split;            /* the dimension of the lines that threads share; -1: one thread takes all */
    double bytes;
};

/* In one process of nine a loop of one load takes half as long again, for as long as it runs: 965 sums of 54862 numbers 31 or 50 us (Granite
   Rapids, 2026-11; neither large pages nor a fixed stack nor one processor change that), with eight 30 or 40 (scatter_tables.c). */
#ifdef __clang__
#define SEVERAL_LOADS _Pragma("clang loop unroll_count(8)")
#else
#define SEVERAL_LOADS _Pragma("GCC unroll 8")
#endif

static void add_f32(char *far, ptrdiff_t step, const int64_t *offsets, const void *src, int64_t n) {
    SEVERAL_LOADS
    for (int64_t i = 0; i < n; i++) {
        *(float *)(void *)(far + offsets[i] + i * step) += ((const float *)src)[i];
    }
}

static void add_f64(char *far, ptrdiff_t step, const int64_t *offsets, const void *src, int64_t n) {
    SEVERAL_LOADS
    for (int64_t i = 0; i < n; i++) {
        *(double *)(void *)(far + offsets[i] + i * step) += ((const double *)src)[i];
    }
}

static void add_c64(char *far, ptrdiff_t step, const int64_t *offsets, const void *src, int64_t n) {
    SEVERAL_LOADS
    for (int64_t i = 0; i < n; i++) {
        float *to = (float *)(void *)(far + offsets[i] + i * step);
        to[0] += ((const float *)src)[2 * i];
        to[1] += ((const float *)src)[2 * i + 1];
    }
}

static void add_c128(char *far, ptrdiff_t step, const int64_t *offsets, const void *src, int64_t n) {
    SEVERAL_LOADS
    for (int64_t i = 0; i < n; i++) {
        double *to = (double *)(void *)(far + offsets[i] + i * step);
        to[0] += ((const double *)src)[2 * i];
        to[1] += ((const double *)src)[2 * i + 1];
    }
}

static void add_8(char *far, ptrdiff_t step, const int64_t *offsets, const void *src, int64_t n) {
    SEVERAL_LOADS
    for (int64_t i = 0; i < n; i++) {
        uint8_t *to = (uint8_t *)far + offsets[i] + i * step;
        *to = (uint8_t)(*to + ((const uint8_t *)src)[i]);
    }
}

static void add_b8(char *far, ptrdiff_t step, const int64_t *offsets, const void *src, int64_t n) {
    SEVERAL_LOADS
    for (int64_t i = 0; i < n; i++) {
        far[offsets[i] + i * step] |= ((const char *)src)[i] != 0;
    }
}

static void add_16(char *far, ptrdiff_t step, const int64_t *offsets, const void *src, int64_t n) {
    SEVERAL_LOADS
    for (int64_t i = 0; i < n; i++) {
        uint16_t *to = (uint16_t *)(void *)(far + offsets[i] + i * step);
        *to = (uint16_t)(*to + ((const uint16_t *)src)[i]);
    }
}

static void add_32(char *far, ptrdiff_t step, const int64_t *offsets, const void *src, int64_t n) {
    SEVERAL_LOADS
    for (int64_t i = 0; i < n; i++) {
        *(uint32_t *)(void *)(far + offsets[i] + i * step) += ((const uint32_t *)src)[i];
    }
}

static void add_64(char *far, ptrdiff_t step, const int64_t *offsets, const void *src, int64_t n) {
    SEVERAL_LOADS
    for (int64_t i = 0; i < n; i++) {
        *(uint64_t *)(void *)(far + offsets[i] + i * step) += ((const uint64_t *)src)[i];
    }
}

/* By the destination's type; halves add in f32. */
static add_fn *const adders[ASSAY_DTYPE_COUNT] = {
    [ASSAY_F16] = add_f32, [ASSAY_BF16] = add_f32, [ASSAY_F32] = add_f32, [ASSAY_F64] = add_f64, [ASSAY_C64] = add_c64,
    [ASSAY_C128] = add_c128, [ASSAY_I8] = add_8, [ASSAY_I16] = add_16, [ASSAY_I32] = add_32, [ASSAY_I64] = add_64,
    [ASSAY_U8] = add_8, [ASSAY_B8] = add_b8,
};

static void scatter_use(void *context, char *own, ptrdiff_t own_stride, char *far, ptrdiff_t far_stride, const int64_t *offsets,
                        int64_t n) {
    const scatter_state *s = context;
    char picked[LINES_BLOCK * 16], wide[LINES_BLOCK * 8], scaled[LINES_BLOCK * 16];
    const char *src = s->has_src ? own : s->value;
    ptrdiff_t stride = s->has_src ? own_stride : 0, size = (ptrdiff_t)1 << s->log2;
    if (s->add == NULL) {
        s->lines.loops->scatter[s->log2](far, far_stride, offsets, src, stride, n);
        return;
    }
    if (stride != size) {
        s->copies->strided(picked, src, s->log2, n, size, stride);
        src = picked;
    }
    if (s->widen != NULL) {
        s->widen(wide, src, n);
        src = wide;
    }
    if (s->scale != NULL) {
        memset(scaled, 0, (size_t)n * s->acc_bytes);
        s->scale(scaled, src, n, s->alpha);
        src = scaled;
    }
    if (s->tables.memory != NULL) {
        scatter_tables_add(&s->tables, far, offsets, src, n);
    } else {
        s->add(far, far_stride, offsets, src, n);
    }
}

static status scatter_run(kernel_plan *plan) {
    scatter_state *s = plan->state;
    if (s->fills) {
        moves_run(&s->fill, 1, false);
    }
    /* Where only the places could be shared one thread takes them all: asking of each index whose it is would cost more (a
       mispredicted branch at every other one) than adding. */
    int threads = s->split < 0 ? 1 : s->beside_fill > 1 ? s->beside_fill : parallel_threads(s->bytes);
    bool good = s->tables.memory != NULL ? scatter_tables_run(&s->tables, &s->lines, scatter_use, s)
                                         : lines_run(&s->lines, s->split, threads, scatter_use, s);
    if (!good) {
        return lines_fail(&s->lines, plan->err);
    }
    if (s->restores) {
        moves_run(&s->restore, 1, false);
    }
    return ASSAY_OK;
}

/* Half-precision sums need a wider target: an f32 tensor of the output's sizes in the plan's memory. */
static status make_target(kernel_plan *plan, scatter_state *s, tensor *target, error *err) {
    const tensor *self = call_tensor(plan->call, 0), *out = &plan->out->items[0];
    *target = *out;
    s->fills = tensor_data(out) != tensor_data(self);
    if (s->add != NULL && (out->dtype == ASSAY_F16 || out->dtype == ASSAY_BF16)) {
        TRY(tensor_init(target, ASSAY_F32, out->ndim, out->sizes, err));
        storage *memory = arena_make(plan->memory, 1, sizeof *memory);
        void *data = arena_make(plan->memory, (size_t)tensor_numel(out), sizeof(float));
        if (memory == NULL || data == NULL) {
            return fail(err, ASSAY_OUT_OF_MEMORY, "no memory for the sums of %s", plan->call->op->signature.full);
        }
        memory->data = data; /* borrowed by this plan alone: never counted, never freed */
        target->storage = memory;
        s->fills = s->restores = true;
        s->widen = convert_loops_best()->to_f32[out->dtype];
        fill_with_self(&s->restore, out, target);
    }
    if (s->fills) {
        fill_with_self(&s->fill, target, self);
    }
    return ASSAY_OK;
}

/* A target that several threads fill is in their caches: each scatters to its own part, as far as the outermost dimension goes, even where
   so few elements would not be worth a second thread. [16, 196, 100] f32 with 1600 of them took 31 us, 18 so (two cores of a Granite
   Rapids, 2026-11). */
static void go_beside_fill(scatter_state *s, int64_t elements, double bytes) {
    enum { LEAST_ELEMENTS = 256 };
    int threads = s->fills && elements >= LEAST_ELEMENTS ? parallel_threads(bytes) : 1;
    if (s->split >= 0 && threads > 1 && !s->lines.is_indexed[0] && s->lines.sizes[0] >= threads) {
        s->split = 0;
        s->beside_fill = threads;
    }
}

static status scatter_prepare_any(kernel_plan *plan, const tensor *index, const tensor *src, bool adds, error *err) {
    const tensor *out = &plan->out->items[0];
    scatter_state *s = arena_make(plan->memory, 1, sizeof *s);
    tensor target;
    int dim;
    TRY(dim_wrap(call_int(plan->call, 1), out->ndim, &dim, err));
    TRY(check_apart(plan, index, err));
    TRY(check_apart(plan, src, err));
    if (s == NULL) {
        return fail(err, ASSAY_OUT_OF_MEMORY, "no memory for a plan");
    }
    plan->state = s;
    plan->run = scatter_run;
    s->add = adds ? adders[out->dtype] : NULL;
    if (adds && s->add == NULL) {
        return fail(err, ASSAY_UNSUPPORTED, "%s: no sums of %s", plan->call->op->signature.full, assay_dtype_name(out->dtype));
    }
    TRY(make_target(plan, s, &target, err));
    size_t size = dtype_size(out->dtype);
    s->copies = copy_loops_best();
    s->log2 = size == 1 ? 0 : size == 2 ? 1 : size == 4 ? 2 : size == 8 ? 3 : 4;
    s->has_src = src != NULL;
    lines_init(&s->lines, plan->call, index, dim, src, size, &target, target.strides, tensor_data(&target),
               dtype_size(target.dtype));
    if (tensor_numel(index) == 0) {
        s->lines.ndim = 1;
        s->lines.sizes[0] = 0;
    }
    int widest = lines_widest(&s->lines, false);
    s->split = widest >= 0 && s->lines.sizes[widest] >= omp_get_max_threads() && tensor_is_dense(&target) ? widest : -1;
    s->bytes = (8 + 3 * (double)size) * (double)tensor_numel(index);
    if (s->add != NULL && s->lines.ndim == 1 && s->lines.is_indexed[0] && s->lines.far_step == (ptrdiff_t)dtype_size(target.dtype)) {
        scatter_tables_make(&s->tables, target.dtype, s->lines.far_size, s->lines.sizes[0], s->bytes, plan->memory);
    }
    go_beside_fill(s, tensor_numel(index), (double)tensor_numel(&target) * (double)dtype_size(target.dtype));
    return ASSAY_OK;
}

static status scatter_src_prepare(kernel_plan *plan, error *err) {
    return scatter_prepare_any(plan, call_tensor(plan->call, 2), call_tensor(plan->call, 3), false, err);
}

static status scatter_value_prepare(kernel_plan *plan, error *err) {
    TRY(scatter_prepare_any(plan, call_tensor(plan->call, 2), NULL, false, err));
    scatter_state *s = plan->state;
    element_store_number(plan->out->items[0].dtype, s->value, call_number(plan->call, 3));
    return ASSAY_OK;
}

/* --- index_add ----------------------------------------------------------------------------------------------------------------- */

/* One element per index: a scatter_add in one dimension. */
static status index_add_elements(kernel_plan *plan, row_factor alpha, error *err) {
    const tensor *out = &plan->out->items[0];
    tensor *index = arena_make(plan->memory, 1, sizeof *index);
    if (index == NULL) {
        return fail(err, ASSAY_OUT_OF_MEMORY, "no memory for a plan");
    }
    *index = *call_tensor(plan->call, 2);
    TRY(scatter_prepare_any(plan, index, call_tensor(plan->call, 3), true, err));
    scatter_state *s = plan->state;
    dtype part = out->dtype == ASSAY_F16 || out->dtype == ASSAY_BF16 ? ASSAY_F32 : out->dtype;
    s->scale = alpha.f != 1 ? s->lines.loops->add_row[part] : NULL;
    s->alpha = alpha;
    s->acc_bytes = dtype_size(part);
    return ASSAY_OK;
}

static status index_add_prepare(kernel_plan *plan, error *err) {
    const tensor *self = call_tensor(plan->call, 0), *source = call_tensor(plan->call, 3);
    number alpha = call_number(plan->call, 4);
    int dim;
    TRY(dim_wrap(call_int(plan->call, 1), self->ndim, &dim, err));
    alpha = self->dtype == ASSAY_B8 ? number_of_int(alpha.f != 0 || alpha.im != 0) : alpha;
    if (alpha.im != 0) {
        return fail(err, ASSAY_UNSUPPORTED, "%s: alpha has an imaginary part", plan->call->op->signature.full);
    }
    const row_factor by = {alpha.f, number_to_int(alpha)};
    bool narrow = dtype_is_integral(self->dtype) && self->dtype != ASSAY_I64; /* their sums widen to i64 */
    bool scales = alpha.f != 1 && (narrow || self->dtype == ASSAY_B8 || dtype_is_complex(self->dtype));
    if (self->ndim == 1 && !scales) {
        return index_add_elements(plan, by, err);
    }
    indexing ix;
    tensor one = *call_tensor(plan->call, 2); /* a 0-dim index is one of a single element */
    tensor *index = arena_make(plan->memory, 1, sizeof *index);
    if (index == NULL) {
        return fail(err, ASSAY_OUT_OF_MEMORY, "no memory for a plan");
    }
    if (one.ndim == 0 && self->ndim > 0) {
        one.ndim = 1;
        one.sizes[0] = one.strides[0] = 1;
    }
    *index = one;
    indexing_of_dim(&ix, self, dim, index);
    put_options options = {.mode = PUT_ADD, .alpha = by, .skip = -1};
    int64_t strides[TENSOR_MAX_DIMS] = {0};
    memcpy(strides, source->strides, sizeof strides);
    return put_prepare(plan, &ix, source, strides, &options, err);
}

/* An index that is the same along every other dimension (expanded from one dimension, as GNN layers do) names whole
   slices: then this is an index_add. */
static bool names_slices(const tensor *index, const tensor *self, int dim) {
    bool wide = false;
    for (int d = 0; d < index->ndim; d++) {
        if (d != dim && index->sizes[d] > 1 && index->strides[d] != 0) {
            return false;
        }
        wide = wide || (d != dim && index->sizes[d] > 1);
    }
    return wide && tensor_numel(index) > 0 && tensor_numel(self) > 0;
}

static status scatter_add_prepare(kernel_plan *plan, error *err) {
    const tensor *self = call_tensor(plan->call, 0), *index = call_tensor(plan->call, 2), *src = call_tensor(plan->call, 3);
    tensor *out = &plan->out->items[0];
    int dim;
    TRY(dim_wrap(call_int(plan->call, 1), self->ndim, &dim, err));
    if (!names_slices(index, self, dim) || out->dtype == ASSAY_B8) {
        return scatter_prepare_any(plan, index, src, true, err);
    }
    tensor *slots = arena_make(plan->memory, 1, sizeof *slots);
    if (slots == NULL) {
        return fail(err, ASSAY_OUT_OF_MEMORY, "no memory for a plan");
    }
    *slots = *index; /* one dimension of it */
    slots->ndim = 1;
    slots->sizes[0] = index->sizes[dim];
    slots->strides[0] = index->sizes[dim] > 1 ? index->strides[dim] : 1;
    tensor part = *self; /* what the index reaches */
    for (int d = 0; d < self->ndim; d++) {
        part.sizes[d] = d == dim ? self->sizes[d] : index->sizes[d];
    }
    indexing ix;
    indexing_of_dim(&ix, &part, dim, slots);
    put_options options = {.mode = PUT_ADD, .alpha = row_once(), .skip = -1};
    int64_t strides[TENSOR_MAX_DIMS] = {0};
    memcpy(strides, src->strides, sizeof strides);
    return put_prepare(plan, &ix, src, strides, &options, err);
}

static const kernel_row rows[] = {
    {.op = "index_put.default", .prepare = index_put_prepare, .note = "f16 and bf16 add in f32"},
    {.op = "_index_put_impl.default", .prepare = index_put_prepare, .note = "f16 and bf16 add in f32"},
    {.op = "index_add.default", .prepare = index_add_prepare, .note = "f16 and bf16 add in f32"},
    {.op = "scatter.src", .prepare = scatter_src_prepare},
    {.op = "scatter.value", .prepare = scatter_value_prepare},
    {.op = "scatter_add.default", .prepare = scatter_add_prepare, .note = "f16 and bf16 add in f32"},
};

const kernel_rows kernels_scatter = {rows, countof(rows)};
