/* SPDX-License-Identifier: Apache-2.0 */
/* Embeddings in bags. Sums run in f32 for f16, bf16 and f32, in f64 for f64. D columns, B bags. */
#include "engine/kernels/cpu/isa/convert_loops.h"
#include "engine/kernels/cpu/isa/copy_loops.h"
#include "engine/kernels/cpu/kernels.h"
#include "engine/kernels/cpu/parallel.h"
#include "engine/kernels/cpu/places.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <string.h>

static status no_memory(error *err) {
    return fail(err, ASSAY_OUT_OF_MEMORY, "no memory for a plan");
}

/* --- _embedding_bag ------------------------------------------------------------------------------------------------------------ */

enum { BAG_SUM, BAG_MEAN, BAG_MAX, COLUMNS = 1024, AHEAD = 6, LISTED = 256 };

typedef struct bag_state {
    const op_call *call;
    places rows;             /* byte offsets of the weight's rows */
    const index_loops *loops;
    const copy_loops *copies;
    const tensor *weight, *indices, *offsets, *scale;
    tensor *out;             /* the four outputs */
    const char *weight_data, *scale_data; /* read anew in each run */
    char *out_data[4];
    dtype type;
    int64_t size;            /* bytes of an element */
    bool is_double;
    add_row_fn *add;
    convert_fn *to, *from;   /* to and from the accumulator; NULL: it is the type itself */
    int mode;
    bool names_bags;         /* offset2bag is asked for */
    int64_t padding, n, n_offsets, n_bags, d;
    int64_t *starts;         /* n_bags + 1 */
    int64_t *places;         /* per index: its row's byte offset */
    const float *by;         /* per index: its scale in f32; NULL: none, or f64 */
    float *by_made;          /* room for those where they are not there as they are */
    double bytes;
} bag_state;

static int64_t int_at(const tensor *t, int64_t i) {
    if (t->dtype == ASSAY_I64) {
        return ((const int64_t *)(const void *)tensor_data(t))[i * t->strides[0]];
    }
    return element_load_int(t->dtype, tensor_data(t) + i * t->strides[0] * (int64_t)dtype_size(t->dtype));
}

static status read_offsets(bag_state *s, error *err) {
    bool is_plain = s->offsets->dtype == ASSAY_I64 && s->offsets->strides[0] == 1;
    const int64_t *offsets = (const int64_t *)(const void *)tensor_data(s->offsets);
    for (int64_t b = 0; b <= s->n_bags; b++) {
        s->starts[b] = b >= s->n_offsets ? s->n : is_plain ? offsets[b] : int_at(s->offsets, b);
        if (s->starts[b] < (b > 0 ? s->starts[b - 1] : 0) || s->starts[b] > s->n || (b == 0 && s->n_bags > 0 && s->starts[0] != 0)) {
            return fail(err, ASSAY_INVALID, "%s: expected offsets from 0 that never fall and end by %" PRId64 ", got %" PRId64
                        " in place %" PRId64, s->call->op->signature.full, s->n, s->starts[b], b);
        }
    }
    return ASSAY_OK;
}

static bool is_padding(const bag_state *s, int64_t i) {
    return s->padding >= 0 && int_at(s->indices, i) == s->padding;
}

/* Element i of output o, one of the integers. */
static void store_int(const bag_state *s, int o, int64_t i, int64_t value) {
    if (s->out[o].dtype == ASSAY_I64) {
        ((int64_t *)(void *)s->out_data[o])[i] = value;
    } else {
        element_store_int(s->out[o].dtype, s->out_data[o] + i * (int64_t)dtype_size(s->out[o].dtype), value);
    }
}

/* Up to LISTED rows of [i, end) that are not padding, with their scales; answers where it stopped. */
static int64_t list_rows(const bag_state *s, int64_t i, int64_t end, int64_t *rows, float *by, int64_t *n) {
    int64_t listed = 0;
    for (; i < end && listed < LISTED; i++) {
        if (is_padding(s, i)) {
            continue;
        }
        rows[listed] = s->places[i];
        if (s->by != NULL) {
            by[listed] = s->by[i];
        }
        listed++;
    }
    *n = listed;
    return i;
}

/* Bags of f32 and halves with contiguous rows, summed with the columns in registers: as they are listed, or without padding
   first. Up to known, the rows of later bags are known as well. */
static void sum_listed(const bag_state *s, int64_t b, int64_t known, int64_t counted, int64_t from, int64_t n) {
    float acc[COLUMNS], by[LISTED], more[COLUMNS], share = counted > 0 ? 1 / (float)counted : 1;
    int64_t offsets[LISTED], size = s->size, i = s->starts[b], end = s->starts[b + 1];
    char *to = s->out_data[0] + (b * s->d + from) * size;
    float *sum = s->from != NULL ? acc : (float *)(void *)to;
    row_list rows = {.base = s->weight_data + from * size, .offsets = s->places + i, .n = end - i, .n_ahead = known - i};
    if (s->mode == BAG_MEAN) { /* which takes no scales */
        rows.by = &share;
    } else if (s->by != NULL) {
        rows.by = s->padding >= 0 ? by : s->by + i;
        rows.by_step = 1;
    }
    if (s->padding < 0) {
        s->loops->sum_rows[s->type](sum, &rows, n);
    } else {
        rows.offsets = offsets;
        i = list_rows(s, i, end, offsets, by, &rows.n);
        rows.n_ahead = rows.n;
        s->loops->sum_rows[s->type](sum, &rows, n);
    }
    while (s->padding >= 0 && i < end) {
        i = list_rows(s, i, end, offsets, by, &rows.n);
        rows.n_ahead = rows.n;
        s->loops->sum_rows[s->type](more, &rows, n);
        s->loops->add_row[ASSAY_F32](sum, more, n, row_once());
    }
    if (s->from != NULL) {
        s->from(to, acc, n);
    }
}

/* Columns [from, from + n) of the sum or mean of bag b. */
static void sum_columns(const bag_state *s, int64_t b, int64_t counted, int64_t from, int64_t n) {
    char acc[COLUMNS * sizeof(double)], picked[COLUMNS * sizeof(double)];
    size_t size = dtype_size(s->type);
    const char *weight = s->weight_data + from * s->weight->strides[1] * (int64_t)size;
    char *to = s->out_data[0] + (b * s->d + from) * (int64_t)size;
    char *sum = s->to == NULL ? to : acc;
    double divisor = s->mode == BAG_MEAN && counted > 0 ? (double)counted : 1;
    memset(sum, 0, (size_t)n * (s->is_double ? sizeof(double) : sizeof(float)));
    for (int64_t i = s->starts[b]; i < s->starts[b + 1]; i++) {
        if (s->padding >= 0 && is_padding(s, i)) {
            continue;
        }
        double by = 1 / divisor;
        if (s->scale != NULL) {
            by = element_load(s->type, s->scale_data + i * s->scale->strides[0] * (int64_t)size);
        }
        if (i + AHEAD < s->starts[b + 1]) {
            __builtin_prefetch(weight + s->places[i + AHEAD]);
        }
        const char *row = weight + s->places[i];
        if (s->weight->strides[1] != 1) {
            s->copies->strided(picked, row, size == 2 ? 1 : size == 4 ? 2 : 3, n, (ptrdiff_t)size,
                               (ptrdiff_t)(s->weight->strides[1] * (int64_t)size));
            row = picked;
        }
        s->add(sum, row, n, (row_factor){.f = by});
    }
    if (s->from != NULL) {
        s->from(to, acc, n);
    }
}

/* Columns of the maximum, and which row each comes from. */
static void max_columns(const bag_state *s, int64_t b, int64_t from, int64_t n) {
    char acc[COLUMNS * sizeof(double)], wide[COLUMNS * sizeof(double)], picked[COLUMNS * sizeof(double)];
    int64_t best[COLUMNS], size = s->size;
    const char *weight = s->weight_data + from * s->weight->strides[1] * size;
    bool empty = true;
    memset(acc, 0, sizeof acc);
    memset(best, 0, sizeof best);
    for (int64_t i = s->starts[b]; i < s->starts[b + 1]; i++) {
        if (is_padding(s, i)) {
            continue;
        }
        int64_t row_number = index_wrap(int_at(s->indices, i), s->weight->sizes[0]);
        const char *row = weight + s->places[i];
        if (s->weight->strides[1] != 1) {
            s->copies->strided(picked, row, size == 2 ? 1 : size == 4 ? 2 : 3, n, size, s->weight->strides[1] * size);
            row = picked;
        }
        if (s->to != NULL) {
            s->to(wide, row, n);
            row = wide;
        }
        if (empty) {
            memcpy(acc, row, (size_t)n * (s->is_double ? sizeof(double) : sizeof(float)));
            for (int64_t k = 0; k < n; k++) {
                best[k] = row_number;
            }
        } else if (s->is_double) {
            s->loops->max_row_f64((double *)(void *)acc, best, (const double *)(const void *)row, n, row_number);
        } else {
            s->loops->max_row_f32((float *)(void *)acc, best, (const float *)(const void *)row, n, row_number);
        }
        empty = false;
    }
    char *to = s->out_data[0] + (b * s->d + from) * size;
    if (s->from != NULL) {
        s->from(to, acc, n);
    } else {
        memcpy(to, acc, (size_t)n * (size_t)size);
    }
    for (int64_t k = 0; k < n; k++) {
        store_int(s, 3, b * s->d + from + k, best[k]);
    }
}

/* offset2bag of indices [from, to). */
static void name_bag(const bag_state *s, int64_t from, int64_t to, int64_t b) {
    for (int64_t i = from; i < to; i++) {
        store_int(s, 1, i, b);
    }
}

static void one_bag(const bag_state *s, int64_t b, int64_t known) {
    int64_t counted = s->starts[b + 1] - s->starts[b];
    if (s->names_bags) {
        name_bag(s, s->starts[b], s->starts[b + 1], b);
    }
    for (int64_t i = s->starts[b]; s->padding >= 0 && i < s->starts[b + 1]; i++) {
        counted -= is_padding(s, i);
    }
    /* The forward pass counts bags only where the mean or the maximum asks for it. */
    store_int(s, 2, b, s->mode == BAG_SUM ? 0 : counted);
    if (s->mode != BAG_MAX) {
        store_int(s, 3, b, s->mode == BAG_SUM ? 0 : counted);
    }
    for (int64_t from = 0; from < s->d; from += COLUMNS) {
        int64_t n = s->d - from < COLUMNS ? s->d - from : COLUMNS;
        if (s->mode == BAG_MAX) {
            max_columns(s, b, from, n);
        } else if (s->weight->strides[1] == 1 && s->loops->sum_rows[s->type] != NULL) {
            sum_listed(s, b, known, counted, from, n);
        } else {
            sum_columns(s, b, counted, from, n);
        }
    }
}

/* The first of the bags that fall to thread `self`: each has as many indices and bags, together, as another. Bags and
   what they read stay with a thread from run to run, and so with its caches. */
static int64_t first_bag(const bag_state *s, int64_t self, int64_t threads) {
    int64_t wanted = (s->starts[s->n_bags] + s->n_bags) * self / threads, low = 0, high = s->n_bags;
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (s->starts[middle] + middle < wanted) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static void make_scales(const bag_state *s, int64_t from, int64_t to) {
    int64_t stride = s->scale->strides[0];
    if (stride == 1 && s->to != NULL) {
        s->to(s->by_made + from, s->scale_data + from * s->size, to - from);
        return;
    }
    for (int64_t i = from; i < to; i++) {
        s->by_made[i] = (float)element_load(s->type, s->scale_data + i * stride * s->size);
    }
}

/* What falls to this thread; false when an index is out of bounds. */
static bool run_bags(const bag_state *s) {
    int64_t self = omp_get_thread_num(), threads = omp_get_num_threads();
    int64_t first = first_bag(s, self, threads), last = self + 1 < threads ? first_bag(s, self + 1, threads) : s->n_bags;
    /* Indices behind the last bag's end are checked as well. */
    int64_t from = self > 0 ? s->starts[first] : 0, to = self + 1 < threads ? s->starts[last] : s->n;
    if (!places_resolve(&s->rows, from, to - from, s->places + from)) {
        return false;
    }
    if (s->by_made != NULL) {
        make_scales(s, from, to);
    }
    for (int64_t b = first; b < last; b++) {
        one_bag(s, b, to);
    }
    return true;
}

static status bag_run(kernel_plan *plan) {
    bag_state *s = plan->state;
    atomic_bool good = true;
    s->weight_data = tensor_data(s->weight);
    s->scale_data = s->scale != NULL ? tensor_data(s->scale) : NULL;
    s->by = s->by_made != NULL ? s->by_made : s->is_double ? NULL : (const float *)(const void *)s->scale_data;
    for (int i = 0; i < 4; i++) {
        s->out_data[i] = tensor_data(&s->out[i]);
    }
    TRY(read_offsets(s, plan->err));
    const observer *watch = observer_of_thread;
#pragma omp parallel num_threads(parallel_threads(s->bytes))
    {
        parallel_enter(watch);
        if (!run_bags(s)) {
            good = false;
        }
        parallel_leave(watch);
    }
    if (!good) {
        return places_fail(&s->rows, plan->err);
    }
    int64_t end = s->n_bags > 0 ? s->starts[s->n_bags] : 0; /* what lies behind the last bag's end counts as its own */
    name_bag(s, end, tensor_numel(&s->out[1]), s->n_bags - 1);
    return ASSAY_OK;
}

static void types_init(bag_state *s, dtype t) {
    const convert_loops *convert = convert_loops_best();
    bool is_half = t == ASSAY_F16 || t == ASSAY_BF16;
    s->type = t;
    s->size = (int64_t)dtype_size(t);
    s->is_double = t == ASSAY_F64;
    s->loops = index_loops_best();
    s->copies = copy_loops_best();
    s->add = s->loops->add_row[t];
    s->to = is_half ? convert->to_f32[t] : NULL;
    s->from = is_half ? convert->from_f32[t] : NULL;
}

static status bags_init(kernel_plan *plan, bag_state *s, int weight, error *err) {
    const op_call *call = plan->call;
    s->call = call;
    s->weight = call_tensor(call, weight);
    s->indices = call_tensor(call, weight + 1);
    s->offsets = call_tensor(call, weight + 2);
    s->out = plan->out->items;
    s->n = s->indices->sizes[0];
    s->n_offsets = s->offsets->sizes[0];
    s->d = s->weight->sizes[1];
    types_init(s, s->weight->dtype);
    s->places = arena_make(plan->memory, (size_t)s->n, sizeof *s->places);
    s->starts = arena_make(plan->memory, (size_t)s->n_offsets + 2, sizeof *s->starts);
    if (s->places == NULL || s->starts == NULL) {
        return no_memory(err);
    }
    indexing ix;
    indexing_of_dim(&ix, s->weight, 0, s->indices);
    int64_t step[TENSOR_MAX_DIMS] = {s->weight->strides[0] * s->size};
    s->bytes = (double)s->n * (double)s->d * (double)dtype_size(s->type);
    return places_init(&s->rows, plan, &ix, s->weight, step, err);
}

static status bag_prepare(kernel_plan *plan, error *err) {
    const op_call *call = plan->call;
    bag_state *s = arena_make(plan->memory, 1, sizeof *s);
    if (s == NULL) {
        return no_memory(err);
    }
    plan->state = s;
    plan->run = bag_run;
    s->mode = (int)call_int(call, 4);
    s->scale = call_tensor(call, 6);
    s->padding = call_int(call, 8);
    s->n_bags = plan->out->items[0].sizes[0];
    s->names_bags = tensor_numel(&plan->out->items[1]) > 0;
    TRY(bags_init(plan, s, 0, err));
    if (s->scale != NULL && !s->is_double && (s->type != ASSAY_F32 || s->scale->strides[0] != 1)) {
        s->by_made = arena_make(plan->memory, (size_t)s->n, sizeof *s->by_made);
        return s->by_made != NULL ? ASSAY_OK : no_memory(err);
    }
    return ASSAY_OK;
}

/* --- _embedding_bag_per_sample_weights_backward ----------------------------------------------------------------------------------- */

typedef struct sample_state {
    bag_state bags;
    const tensor *grad, *offset2bag;
    bool has_bags;
    bool is_dense; /* rows of grad and weight are contiguous */
    double (*dot)(const void *a, const void *b, int64_t n);
} sample_state;

static double dot_strided(const sample_state *s, const char *g, const char *w) {
    int64_t size = (int64_t)dtype_size(s->bags.type);
    double sum = 0;
    for (int64_t k = 0; k < s->bags.d; k++) {
        sum += element_load(s->bags.type, g + k * s->grad->strides[1] * size) *
               element_load(s->bags.type, w + k * s->bags.weight->strides[1] * size);
    }
    return sum;
}

/* The bag of each index of [from, to) and its product; false when a bag is out of bounds. */
static bool samples(const sample_state *s, int64_t from, int64_t to) {
    const bag_state *b = &s->bags;
    int64_t size = b->size, bag = 0, n_bags = s->grad->sizes[0], grad_row = s->grad->strides[0] * size;
    const char *grad = tensor_data(s->grad), *weight = tensor_data(b->weight);
    char *out = tensor_data(&b->out[0]);
    bool is_plain = s->has_bags && s->offset2bag->dtype == ASSAY_I64 && s->offset2bag->strides[0] == 1;
    const int64_t *bags = is_plain ? (const int64_t *)(const void *)tensor_data(s->offset2bag) : NULL;
    float block[LISTED]; /* of halves, until they are converted */
    for (int64_t i = from; i < to; i++) {
        if (s->has_bags) {
            bag = is_plain ? bags[i] : int_at(s->offset2bag, i);
        } else {
            while (bag + 1 < b->n_offsets && b->starts[bag + 1] <= i) {
                bag++;
            }
        }
        if (bag < 0 || bag >= n_bags) {
            return false;
        }
        const char *g = grad + bag * grad_row, *w = weight + b->places[i];
        double value = b->padding >= 0 && is_padding(b, i) ? 0 : s->is_dense ? s->dot(g, w, b->d) : dot_strided(s, g, w);
        if (b->type == ASSAY_F32) {
            ((float *)(void *)out)[i] = (float)value;
        } else if (b->from == NULL) {
            element_store(b->type, out + i * size, value);
        } else {
            int64_t held = (i - from) % LISTED;
            block[held] = (float)value;
            if (held == LISTED - 1 || i + 1 == to) {
                b->from(out + (i - held) * size, block, held + 1);
            }
        }
    }
    return true;
}

static bool find_rows(bag_state *s) {
    atomic_bool good = true;
    const observer *watch = observer_of_thread;
#pragma omp parallel num_threads(parallel_threads(16 * (double)s->n))
    {
        parallel_enter(watch);
        int64_t from, to;
        parallel_share(s->n, 256, &from, &to);
        if (!places_resolve(&s->rows, from, to - from, s->places + from)) {
            good = false;
        }
        parallel_leave(watch);
    }
    return good;
}

static status sample_run(kernel_plan *plan) {
    sample_state *s = plan->state;
    bag_state *b = &s->bags;
    atomic_bool good = true;
    if (!s->has_bags) {
        TRY(read_offsets(b, plan->err));
    }
    if (!find_rows(b)) {
        return places_fail(&b->rows, plan->err);
    }
    const observer *watch = observer_of_thread;
#pragma omp parallel num_threads(parallel_threads(b->bytes))
    {
        parallel_enter(watch);
        int64_t from, to;
        parallel_share(b->n, 16, &from, &to);
        if (!samples(s, from, to)) {
            good = false;
        }
        parallel_leave(watch);
    }
    return good ? ASSAY_OK
                : fail(plan->err, ASSAY_INVALID, "%s: offset2bag names a bag outside [0, %" PRId64 ")",
                       plan->call->op->signature.full, s->grad->sizes[0]);
}

static status sample_prepare(kernel_plan *plan, error *err) {
    const op_call *call = plan->call;
    sample_state *s = arena_make(plan->memory, 1, sizeof *s);
    if (s == NULL) {
        return no_memory(err);
    }
    plan->state = s;
    plan->run = sample_run;
    s->grad = call_tensor(call, 0);
    s->offset2bag = call_tensor(call, 4);
    s->has_bags = tensor_numel(s->offset2bag) > 0;
    TRY(bags_init(plan, &s->bags, 1, err));
    s->bags.padding = call_int(call, 6);
    s->bags.n_bags = s->bags.n_offsets;
    s->is_dense = s->grad->strides[1] == 1 && s->bags.weight->strides[1] == 1;
    s->dot = s->bags.loops->dot[s->bags.type];
    return ASSAY_OK;
}

static const kernel_row rows[] = {
    {.op = "_embedding_bag.default", .prepare = bag_prepare, .note = "f16 and bf16 add in f32"},
    {.op = "_embedding_bag_per_sample_weights_backward.default", .prepare = sample_prepare, .note = "f16 and bf16 add in f32"},
};

const kernel_rows kernels_embedding_bag = {rows, countof(rows)};
