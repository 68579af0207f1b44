/* SPDX-License-Identifier: Apache-2.0 */
/* A stable sort groups the index positions by the place (slot) they name; then each group is written once. It counts by slot, or goes by the
   digits of its number where few positions name some of very many: a group is then one of a named slot, else its number is the slot's. */
#include "engine/kernels/cpu/put.h"

#include "engine/kernels/cpu/isa/convert_loops.h"
#include "engine/kernels/cpu/isa/copy_loops.h"
#include "engine/kernels/cpu/parallel.h"

#include <stdatomic.h>
#include <string.h>

enum { BLOCK = 512, NARROW = 256, MAX_SLOT_DIMS = TENSOR_MAX_DIMS };

/* How sums run: the accumulator's type and conversions to and from it. */
typedef struct sums {
    add_row_fn *add;
    void (*rows)(float *acc, const row_list *rows, int64_t n); /* a slot's slices in one call; NULL for some types */
    convert_fn *to, *from; /* NULL: the accumulator is the type itself */
    dtype part;            /* the type of one number: a complex element has two */
    int parts;
    size_t acc_bytes;
} sums;

struct put {
    places at;
    put_options options;
    const index_loops *loops;
    const copy_loops *copies;
    sums sums;
    int log2;
    char *dst;
    const char *values;
    int64_t n_slots;
    int64_t *slot_of;    /* per index position */
    int64_t *starts;     /* one more than groups: where each one's index positions begin in `order` */
    ptrdiff_t *order;    /* by slot: its slices' offsets in values, in the order of the indices */
    int64_t *touched;    /* groups with any position; all slots when summing */
    int64_t *named;      /* the groups' slots, in order, where slots are very many; else NULL */
    int64_t *keys;       /* room to sort them, ... */
    ptrdiff_t *moved;    /* ... and offsets beside them */
    ptrdiff_t *places;   /* of touched slots: their offsets in dst; made when single elements are added */
    int64_t n_touched;
    int n_slot_dims;     /* how a slot's number becomes a place in dst: sizes and byte strides, outermost first */
    int64_t slot_sizes[MAX_SLOT_DIMS];
    ptrdiff_t slot_strides[MAX_SLOT_DIMS];
    ptrdiff_t *k_offsets; /* per index position: its slice in values */
    int ndim;            /* plain dimensions outside the inner one */
    int64_t sizes[TENSOR_MAX_DIMS];
    ptrdiff_t dst_strides[TENSOR_MAX_DIMS], src_strides[TENSOR_MAX_DIMS];
    int64_t units;
    int64_t run_n;       /* the inner plain dimension */
    ptrdiff_t run_dst, run_src;
    bool is_run;         /* it is contiguous on both sides */
    bool is_same;        /* one number goes to places that are all different: see put_same */
    double bytes;
};

static bool sums_init(sums *s, dtype t) {
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

static char *slot_place(const put *p, char *dst, int64_t slot) {
    for (int d = p->n_slot_dims - 1; d > 0; d--) {
        dst += slot % p->slot_sizes[d] * p->slot_strides[d];
        slot /= p->slot_sizes[d];
    }
    return p->n_slot_dims > 0 ? dst + slot * p->slot_strides[0] : dst;
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
    double slices = (double)ix->index_numel * (double)p->units * (double)p->run_n * (double)size;
    p->bytes = slices * 3 + (options->mode == PUT_SUM ? tensor_bytes(dst) : 0);
    *out = p;
    return ASSAY_OK;
}

/* --- run ----------------------------------------------------------------------------------------------------------------------- */

typedef struct slots_share {
    const put *p;
    atomic_bool *good; /* cleared by any thread */
} slots_share;

static void share_slots(const void *context) {
    const slots_share *share = context;
    const put *p = share->p;
    int64_t from, to;
    parallel_share(p->at.numel, BLOCK, &from, &to);
    if (!places_resolve(&p->at, from, to - from, p->slot_of + from)) {
        *share->good = false;
    }
}

static bool find_slots(put *p) {
    atomic_bool good = true;
    parallel_run(parallel_threads(16 * (double)p->at.numel), share_slots, &(const slots_share){p, &good});
    return good;
}

/* Positions by the digits of their slots' numbers, the last one first: each pass keeps the order of the one before it. */
static void sort_by_digits(put *p) {
    enum { DIGIT_BITS = 8, DIGITS = 1 << DIGIT_BITS };
    const int64_t n = p->at.numel;
    int64_t *keys = p->slot_of, *next_keys = p->keys;
    ptrdiff_t *offsets = p->order, *next_offsets = p->moved;
    memcpy(offsets, p->k_offsets, (size_t)n * sizeof *offsets);
    for (int shift = 0; (p->n_slots - 1) >> shift > 0; shift += DIGIT_BITS) {
        int64_t next[DIGITS] = {0}, at = 0;
        for (int64_t k = 0; k < n; k++) {
            next[keys[k] >> shift & (DIGITS - 1)]++;
        }
        for (int d = 0; d < DIGITS; d++) {
            int64_t count = next[d];
            next[d] = at;
            at += count;
        }
        for (int64_t k = 0; k < n; k++) {
            int64_t to = next[keys[k] >> shift & (DIGITS - 1)]++;
            next_keys[to] = keys[k];
            next_offsets[to] = offsets[k];
        }
        int64_t *other_keys = keys;
        ptrdiff_t *other_offsets = offsets;
        keys = next_keys;
        next_keys = other_keys;
        offsets = next_offsets;
        next_offsets = other_offsets;
    }
    if (offsets != p->order) {
        memcpy(p->order, offsets, (size_t)n * sizeof *offsets);
    }
    p->n_touched = 0;
    for (int64_t k = 0; k < n; k++) {
        if (k > 0 && keys[k] == keys[k - 1]) {
            continue;
        }
        int64_t group = p->n_touched++;
        p->touched[group] = group;
        p->named[group] = keys[k];
        p->starts[group] = k;
        if (p->places != NULL) {
            p->places[group] = slot_place(p, p->dst, keys[k]) - p->dst;
        }
    }
    p->starts[p->n_touched] = n;
}

/* starts[s + 1] counts, then points at where slot s goes on; in the end starts[s] is where slot s begins. */
static void sort_by_counts(put *p) {
    int64_t *next = p->starts + 1, at = 0;
    memset(p->starts, 0, ((size_t)p->n_slots + 2) * sizeof *p->starts);
    for (int64_t k = 0; k < p->at.numel; k++) {
        next[p->slot_of[k]]++;
    }
    p->n_touched = 0;
    for (int64_t s = 0; s < p->n_slots; s++) {
        int64_t count = next[s];
        if (count > 0 && p->options.mode != PUT_SUM) {
            if (p->places != NULL) {
                p->places[p->n_touched] = slot_place(p, p->dst, s) - p->dst;
            }
            p->touched[p->n_touched++] = s;
        }
        next[s] = at;
        at += count;
    }
    for (int64_t k = 0; k < p->at.numel; k++) {
        p->order[next[p->slot_of[k]]++] = p->k_offsets[k];
    }
    if (p->options.mode == PUT_SUM) {
        p->n_touched = p->n_slots;
    }
}

/* A slot's row of n numbers, NARROW at most, = the sum of its slices, all contiguous: kept in registers until it is written. */
static void sum_new_row(const put *p, char *dst, const char *values, int64_t slot, int64_t n) {
    float acc[NARROW];
    const sums *s = &p->sums;
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
    float acc[BLOCK], by = (float)p->options.alpha.f;
    int64_t first = p->starts[slot], count = p->starts[slot + 1] - first;
    row_list rows = {.base = values, .offsets = p->order + first, .n = count, .n_ahead = p->at.numel - first, .by = by != 1 ? &by : NULL};
    p->sums.rows(acc, &rows, n);
    p->sums.add(acc, at, n, row_once());
    p->sums.from(at, acc, n);
}

/* acc = dst (or 0) + the slices' numbers [from, from + n) of one slot. */
static void sum_block(const put *p, char *dst, const char *values, int64_t slot, int64_t from, int64_t n) {
    char acc[BLOCK * sizeof(double)], picked[BLOCK * sizeof(double)];
    const sums *s = &p->sums;
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

static void write_slot(const put *p, char *dst, const char *values, int64_t slot) {
    int64_t first = p->starts[slot], end = p->starts[slot + 1];
    if (p->options.mode == PUT_REPLACE) {
        const char *from = values + p->order[end - 1];
        if (p->is_run) {
            memcpy(dst, from, (size_t)p->run_n << p->log2);
        } else {
            p->copies->strided(dst, from, p->log2, p->run_n, p->run_dst, p->run_src);
        }
        return;
    }
    if (p->options.mode == PUT_SUM && (first == end || slot == p->options.skip)) {
        memset(dst, 0, (size_t)p->run_n << p->log2); /* only rows of a new, contiguous output are summed up so */
        return;
    }
    int64_t n = p->run_n * p->sums.parts;
    if (p->options.mode == PUT_SUM && p->is_run && n <= NARROW && p->sums.rows != NULL) { /* wider ones are faster slice by slice */
        sum_new_row(p, dst, values, slot, n);
        return;
    }
    const bool are_half_rows = p->options.mode == PUT_ADD && p->is_run && p->sums.to != NULL && p->sums.rows != NULL && !p->options.by_count;
    for (int64_t from = 0; from < n; from += BLOCK) {
        int64_t some = n - from < BLOCK ? n - from : BLOCK;
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
        int64_t group = p->options.mode == PUT_SUM ? j : p->touched[j];
        write_slot(p, slot_place(p, dst, p->named != NULL ? p->named[j] : group), values, group);
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
            char *to = slot_place(p, dst, slots[i]);
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
        int64_t from, to, slots[BLOCK];
        if (has_row) {
            p->copies->strided(row, p->values, p->log2, p->run_n, (ptrdiff_t)1 << p->log2, 0);
        }
        parallel_share(p->at.numel, 16, &from, &to);
        for (; from < to; from += BLOCK) {
            int64_t n = to - from < BLOCK ? to - from : BLOCK;
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
}

status put_run(put *p, error *err) {
    TRY(places_find(&p->at, err));
    if (p->is_same) {
        return put_same(p);
    }
    if (!find_slots(p)) {
        return places_fail(&p->at, err);
    }
    p->named != NULL ? sort_by_digits(p) : sort_by_counts(p);
    parallel_run(parallel_threads(p->bytes), share_put, p);
    return ASSAY_OK;
}
