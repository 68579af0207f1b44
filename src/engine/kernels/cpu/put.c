/* SPDX-License-Identifier: Apache-2.0 */
/* Slices written, added or summed up at the places (slots) that indices name: once these are sorted (put_sort.c), each slot is written
   once. */
#include "engine/kernels/cpu/put_parts.h"

#include "engine/kernels/cpu/parallel.h"
#include "engine/kernels/cpu/streaming.h"

#include <string.h>

enum { NARROW = 256 };

static bool sums_init(put_sums *s, dtype t) {
    const convert_loops *convert = convert_loops_best();
    s->part = dtype_real(t);
    s->parts = dtype_is_complex(t) ? 2 : 1;
    s->add = index_loops_best()->add_row[s->part];
    s->rows = index_loops_best()->sum_rows[s->part];
    bool is_floating = dtype_is_floating(s->part), is_double = s->part == ASSAY_F64;
    s->acc_bytes = is_floating && !is_double ? 4 : 8;
    bool native = s->part == ASSAY_F32 || s->part == ASSAY_F64 || s->part == ASSAY_I64;
    s->to = native ? NULL : is_floating ? convert->to_f32[s->part] : convert->to_i64[s->part];
    s->from = native ? NULL : is_floating ? convert->from_f32[s->part] : convert->from_i64[s->part];
    return s->add != NULL;
}

/* Plain dimensions larger than 1, outermost in dst first, neighbours joined; the last becomes the inner one. */
static void plain_dims(put *p, const indexing *ix, const tensor *dst, const int64_t *value_strides) {
    ptrdiff_t size = (ptrdiff_t)1 << p->log2;
    int n = 0;
    for (int d = 0; d < ix->ndim; d++) {
        if (ix->plain[d] < 0 || ix->sizes[d] == 1) {
            continue;
        }
        ptrdiff_t to = (ptrdiff_t)dst->strides[ix->plain[d]] * size, from = (ptrdiff_t)value_strides[d] * size;
        int at = n++;
        for (; at > 0 && p->dst_strides[at - 1] < to; at--) {
            p->sizes[at] = p->sizes[at - 1];
            p->dst_strides[at] = p->dst_strides[at - 1];
            p->src_strides[at] = p->src_strides[at - 1];
        }
        p->sizes[at] = ix->sizes[d];
        p->dst_strides[at] = to;
        p->src_strides[at] = from;
    }
    for (int d = 0; d < n; d++) {
        int last = p->ndim - 1;
        bool joins = last >= 0 && p->dst_strides[last] == p->dst_strides[d] * p->sizes[d] &&
                     p->src_strides[last] == p->src_strides[d] * p->sizes[d];
        int to = joins ? last : p->ndim++;
        p->sizes[to] = joins ? p->sizes[to] * p->sizes[d] : p->sizes[d];
        p->dst_strides[to] = p->dst_strides[d];
        p->src_strides[to] = p->src_strides[d];
    }
    p->run_n = 1;
    p->is_run = true;
    int inner = p->ndim - 1;
    bool is_run = inner >= 0 && p->dst_strides[inner] == size && p->src_strides[inner] == size;
    bool by_lists = p->options.mode == PUT_ADD && p->sums.parts == 1 && p->loops->add_lists[p->sums.part] != NULL;
    if (is_run || (inner >= 0 && !by_lists)) { /* lists of single elements beat strided rows */
        int last = --p->ndim;
        p->run_n = p->sizes[last];
        p->run_dst = p->dst_strides[last];
        p->run_src = p->src_strides[last];
        p->is_run = p->run_dst == size && p->run_src == size;
    }
    p->units = 1;
    for (int d = 0; d < p->ndim; d++) {
        p->units *= p->sizes[d];
    }
}

/* Numbers the slots row-major over the indexed dimensions, and fills in what one step along each of them counts. */
static void slot_dims(put *p, const indexing *ix, const tensor *dst, int64_t *steps) {
    ptrdiff_t size = (ptrdiff_t)1 << p->log2;
    p->n_slots = 1;
    for (int k = 0; k < ix->n && dst->ndim > 0; k++) {
        for (int d = 0; d < ix->source[k].n_dims; d++) {
            int dim = ix->source[k].dim + d, last = p->n_slot_dims - 1;
            ptrdiff_t stride = (ptrdiff_t)dst->strides[dim] * size;
            bool joins = last >= 0 && p->slot_strides[last] == stride * dst->sizes[dim];
            int to = joins ? last : p->n_slot_dims++;
            p->slot_sizes[to] = joins ? p->slot_sizes[to] * dst->sizes[dim] : dst->sizes[dim];
            p->slot_strides[to] = stride;
        }
    }
    for (int k = ix->n - 1; k >= 0 && dst->ndim > 0; k--) {
        for (int d = ix->source[k].n_dims - 1; d >= 0; d--) {
            steps[ix->source[k].dim + d] = p->n_slots;
            p->n_slots *= dst->sizes[ix->source[k].dim + d];
        }
    }
}

static status value_offsets(put *p, const indexing *ix, const int64_t *value_strides) {
    for (int64_t k = 0; k < ix->index_numel; k++) {
        int64_t rest = k, at = 0;
        for (int d = ix->index_ndim - 1; d >= 0; d--) {
            if (ix->index_sizes[d] > 1) {
                at += rest % ix->index_sizes[d] * value_strides[ix->at + d];
                rest /= ix->index_sizes[d];
            }
        }
        p->k_offsets[k] = (ptrdiff_t)(at * (INT64_C(1) << p->log2));
    }
    return ASSAY_OK;
}

/* Whether one number is written wherever a mask is true. */
static bool writes_one_number(const put *p, const indexing *ix, const int64_t *value_strides) {
    bool same = p->options.mode == PUT_REPLACE && ix->n == 1 && ix->source[0].is_mask && (p->run_n == 1 || p->run_src == 0);
    for (int d = 0; d < p->ndim; d++) {
        same = same && p->src_strides[d] == 0;
    }
    for (int d = 0; d < ix->index_ndim; d++) {
        same = same && (ix->index_sizes[d] == 1 || value_strides[ix->at + d] == 0);
    }
    return same;
}

/* Counting costs some 1.5 ns a slot besides 20 a position, sorting by digits 3 ns a position and digit, of which there are four. */
static bool are_slots_many(const put *p, int64_t n) {
    enum { LEAST_SLOTS = 4096, SLOTS_PER_POSITION = 16 };
    return p->options.mode != PUT_SUM && !p->is_same && p->n_slots > LEAST_SLOTS && p->n_slots / SLOTS_PER_POSITION > n;
}

status put_make(put **out, const kernel_plan *plan, const indexing *ix, const tensor *dst, const tensor *values,
                const int64_t *value_strides, const put_options *options, error *err) {
    put *p = arena_make(plan->memory, 1, sizeof *p);
    int64_t steps[TENSOR_MAX_DIMS] = {0};
    if (p == NULL) {
        return fail(err, ASSAY_OUT_OF_MEMORY, "no memory for a plan");
    }
    size_t size = dtype_size(dst->dtype);
    p->log2 = size == 1 ? 0 : size == 2 ? 1 : size == 4 ? 2 : size == 8 ? 3 : 4;
    p->options = *options;
    p->loops = index_loops_best();
    p->copies = copy_loops_best();
    p->dst = tensor_data(dst);
    p->values = tensor_data(values);
    if (!sums_init(&p->sums, dst->dtype) && options->mode != PUT_REPLACE) {
        return fail(err, ASSAY_UNSUPPORTED, "%s: no sums of %s", plan->call->op->signature.full, assay_dtype_name(dst->dtype));
    }
    plain_dims(p, ix, dst, value_strides);
    slot_dims(p, ix, dst, steps);
    TRY(places_init(&p->at, plan, ix, dst, steps, err));
    p->is_same = writes_one_number(p, ix, value_strides);
    size_t n = p->is_same ? 0 : (size_t)ix->index_numel, n_slots = p->is_same ? 0 : (size_t)p->n_slots;
    p->slot_of = arena_make(plan->memory, n, sizeof *p->slot_of);
    p->order = arena_make(plan->memory, n, sizeof *p->order);
    p->k_offsets = arena_make(plan->memory, n, sizeof *p->k_offsets);
    const bool many = are_slots_many(p, ix->index_numel);
    if (many) {
        n_slots = n;
        p->named = arena_make(plan->memory, n, sizeof *p->named);
        p->keys = arena_make(plan->memory, n, sizeof *p->keys);
        p->moved = arena_make(plan->memory, n, sizeof *p->moved);
        p->slot_of = p->named != NULL && p->keys != NULL && p->moved != NULL ? p->slot_of : NULL;
    }
    p->starts = arena_make(plan->memory, n_slots + 2, sizeof *p->starts);
    p->touched = arena_make(plan->memory, options->mode == PUT_SUM ? 0 : n < n_slots ? n : n_slots,
                            sizeof *p->touched);
    bool by_lists = options->mode == PUT_ADD && p->run_n == 1 && p->sums.parts == 1 && p->loops->add_lists[dst->dtype] != NULL;
    if (by_lists) {
        p->places = arena_make(plan->memory, n < n_slots ? n : n_slots, sizeof *p->places);
        p->slot_of = p->places != NULL ? p->slot_of : NULL;
    }
    if (p->slot_of == NULL || p->order == NULL || p->k_offsets == NULL || p->starts == NULL || p->touched == NULL) {
        return fail(err, ASSAY_OUT_OF_MEMORY, "no memory to sort the indices of %s", plan->call->op->signature.full);
    }
    if (!p->is_same) {
        TRY(value_offsets(p, ix, value_strides));
    }
    p->streams_zeros = options->mode == PUT_SUM && p->n_slot_dims == 1 && p->slot_strides[0] == (ptrdiff_t)(p->run_n << p->log2) &&
                       tensor_bytes(dst) >= STREAM_MIN_BYTES;
    double slices = (double)ix->index_numel * (double)p->units * (double)p->run_n * (double)size;
    p->bytes = slices * 3 + (options->mode == PUT_SUM ? tensor_bytes(dst) : 0);
    *out = p;
    return ASSAY_OK;
}

/* --- run ----------------------------------------------------------------------------------------------------------------------- */

/* A slot's row of n numbers, NARROW at most, = the sum of its slices, all contiguous: kept in registers until it is written. */
static void sum_new_row(const put *p, char *dst, const char *values, int64_t slot, int64_t n) {
    float acc[NARROW];
    const put_sums *s = &p->sums;
    int64_t first = p->starts[slot], count = p->starts[slot + 1] - first;
    float by = p->options.by_count ? 1.0F / (float)count : (float)p->options.alpha.f;
    row_list rows = {.base = values, .offsets = p->order + first, .n = count, .n_ahead = p->at.numel - first, .by = &by};
    s->rows(s->from == NULL ? (float *)(void *)dst : acc, &rows, n);
    if (s->from != NULL) {
        s->from(dst, acc, n);
    }
}

/* A row of halves plus its slices, all contiguous, n numbers from at and values on: rounded once. */
static void add_half_rows(const put *p, char *at, const char *values, int64_t slot, int64_t n) {
    float acc[PUT_BLOCK], by = (float)p->options.alpha.f;
    int64_t first = p->starts[slot], count = p->starts[slot + 1] - first;
    row_list rows = {.base = values, .offsets = p->order + first, .n = count, .n_ahead = p->at.numel - first, .by = by != 1 ? &by : NULL};
    p->sums.rows(acc, &rows, n);
    p->sums.add(acc, at, n, row_once());
    p->sums.from(at, acc, n);
}

/* acc = dst (or 0) + the slices' numbers [from, from + n) of one slot. */
static void sum_block(const put *p, char *dst, const char *values, int64_t slot, int64_t from, int64_t n) {
    char acc[PUT_BLOCK * sizeof(double)], picked[PUT_BLOCK * sizeof(double)];
    const put_sums *s = &p->sums;
    int64_t first = p->starts[slot], end = p->starts[slot + 1], elements = n / s->parts;
    row_factor alpha = p->options.by_count ? (row_factor){.f = 1.0 / (double)(end - first)} : p->options.alpha;
    char *at = dst + from / s->parts * p->run_dst;
    const char *src = values + from / s->parts * p->run_src;
    bool in_place = s->to == NULL && p->is_run; /* the row itself is the accumulator */
    char *sum = in_place ? at : acc;
    if (p->options.mode == PUT_SUM) {
        memset(sum, 0, (size_t)n * s->acc_bytes);
    } else if (!in_place) {
        char *row = s->to != NULL ? picked : acc;
        p->copies->strided(row, at, p->log2, elements, (ptrdiff_t)1 << p->log2, p->run_dst);
        if (s->to != NULL) {
            s->to(acc, row, n);
        }
    }
    for (int64_t i = first; i < end; i++) {
        const char *slice = src + p->order[i];
        if (i + 2 < end) {
            __builtin_prefetch(src + p->order[i + 2]);
        }
        if (!p->is_run) {
            p->copies->strided(picked, slice, p->log2, elements, (ptrdiff_t)1 << p->log2, p->run_src);
            slice = picked;
        }
        s->add(sum, slice, n, alpha);
    }
    if (in_place) {
        return;
    }
    char *row = s->from != NULL ? (p->is_run ? at : picked) : acc;
    if (s->from != NULL) {
        s->from(row, acc, n);
    }
    if (!p->is_run || s->from == NULL) {
        p->copies->strided(at, row, p->log2, elements, p->run_dst, (ptrdiff_t)1 << p->log2);
    }
}

static bool stays_zero(const put *p, int64_t slot) {
    return p->starts[slot] == p->starts[slot + 1] || slot == p->options.skip;
}

/* How many of n slots from `slot` on stay 0, one after the other: they are filled in one go. */
static int64_t fill_zeros(const put *p, char *dst, int64_t slot, int64_t n) {
    static const char zero[16];
    int64_t count = 0;
    while (count < n && stays_zero(p, slot + count)) {
        count++;
    }
    if (count > 0) {
        p->copies->fill(put_slot_place(p, dst, slot), zero, p->log2, count * p->run_n, true);
    }
    return count;
}

static void write_slot(const put *p, char *dst, const char *values, int64_t slot) {
    int64_t end = p->starts[slot + 1];
    if (p->options.mode == PUT_REPLACE) {
        const char *from = values + p->order[end - 1];
        if (p->is_run) {
            memcpy(dst, from, (size_t)p->run_n << p->log2);
        } else {
            p->copies->strided(dst, from, p->log2, p->run_n, p->run_dst, p->run_src);
        }
        return;
    }
    if (p->options.mode == PUT_SUM && stays_zero(p, slot)) {
        memset(dst, 0, (size_t)p->run_n << p->log2); /* only rows of a new, contiguous output are summed up so */
        return;
    }
    int64_t n = p->run_n * p->sums.parts;
    if (p->options.mode == PUT_SUM && p->is_run && n <= NARROW && p->sums.rows != NULL) { /* wider ones are faster slice by slice */
        sum_new_row(p, dst, values, slot, n);
        return;
    }
    const bool are_half_rows = p->options.mode == PUT_ADD && p->is_run && p->sums.to != NULL && p->sums.rows != NULL && !p->options.by_count;
    for (int64_t from = 0; from < n; from += PUT_BLOCK) {
        int64_t some = n - from < PUT_BLOCK ? n - from : PUT_BLOCK;
        if (are_half_rows) {
            add_half_rows(p, dst + from * p->run_dst, values + from * p->run_src, slot, some);
        } else {
            sum_block(p, dst, values, slot, from, some);
        }
    }
}

static void write_part(const put *p, int64_t unit, int64_t from, int64_t n) {
    char *dst = p->dst;
    const char *values = p->values;
    for (int d = p->ndim - 1; d >= 0; d--) {
        int64_t i = unit % p->sizes[d];
        unit /= p->sizes[d];
        dst += i * p->dst_strides[d];
        values += i * p->src_strides[d];
    }
    if (p->places != NULL) {
        p->loops->add_lists[p->sums.part](dst, p->places + from, values, p->order, p->starts, p->touched + from, n, p->options.alpha);
        return;
    }
    for (int64_t j = from; j < from + n; j++) {
        j += p->streams_zeros ? fill_zeros(p, dst, j, from + n - j) : 0;
        if (j == from + n) {
            break;
        }
        int64_t group = p->options.mode == PUT_SUM ? j : p->touched[j];
        write_slot(p, put_slot_place(p, dst, p->named != NULL ? p->named[j] : group), values, group);
    }
}

enum { SAME_BYTES = 4096 };

/* Slots of a mask are named once each: nothing needs sorting. row: a run full of the number, or NULL. */
static void write_same(const put *p, const int64_t *slots, int64_t n, const char *row) {
    for (int64_t unit = 0; unit < p->units; unit++) {
        char *dst = p->dst;
        int64_t left = unit;
        for (int d = p->ndim - 1; d >= 0; d--) {
            dst += left % p->sizes[d] * p->dst_strides[d];
            left /= p->sizes[d];
        }
        for (int64_t i = 0; i < n; i++) {
            char *to = put_slot_place(p, dst, slots[i]);
            if (row != NULL) {
                p->copies->rows(to, row, (size_t)p->run_n << p->log2, 1, 0, 0);
            } else {
                p->copies->strided(to, p->values, p->log2, p->run_n, p->run_dst, 0);
            }
        }
    }
}

static status put_same(const put *p) {
    const observer *watch = observer_of_thread;
    bool has_row = (p->run_n == 1 || p->run_dst == (ptrdiff_t)1 << p->log2) && p->run_n <= SAME_BYTES >> p->log2;
#pragma omp parallel num_threads(parallel_threads(p->bytes))
    {
        parallel_enter(watch);
        char row[SAME_BYTES];
        int64_t from, to, slots[PUT_BLOCK];
        if (has_row) {
            p->copies->strided(row, p->values, p->log2, p->run_n, (ptrdiff_t)1 << p->log2, 0);
        }
        parallel_share(p->at.numel, 16, &from, &to);
        for (; from < to; from += PUT_BLOCK) {
            int64_t n = to - from < PUT_BLOCK ? to - from : PUT_BLOCK;
            if (places_resolve(&p->at, from, n, slots)) { /* a mask's places are what they are */
                write_same(p, slots, n, has_row ? row : NULL);
            }
        }
        parallel_leave(watch);
    }
    return ASSAY_OK;
}

static void share_put(const void *context) {
    const put *p = context;
    int64_t from, to;
    parallel_share(p->units * p->n_touched, 1, &from, &to);
    while (from < to) {
        int64_t j = from % p->n_touched, n = p->n_touched - j < to - from ? p->n_touched - j : to - from;
        write_part(p, from / p->n_touched, j, n);
        from += n;
    }
    p->copies->settle();
}

status put_run(put *p, error *err) {
    TRY(places_find(&p->at, err));
    if (p->is_same) {
        return put_same(p);
    }
    if (!put_find_slots(p)) {
        return places_fail(&p->at, err);
    }
    p->named != NULL ? put_sort_by_digits(p) : put_sort_by_counts(p);
    parallel_run(parallel_threads(p->bytes), share_put, p);
    return ASSAY_OK;
}
