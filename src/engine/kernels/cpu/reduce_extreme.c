/* SPDX-License-Identifier: Apache-2.0 */
/* Largest and smallest elements along one dimension, with their places. */
#include "device/caches.h"
#include "engine/kernels/cpu/parallel.h"
#include "engine/kernels/cpu/reduce.h"
#include "engine/kernels/cpu/reduce_shape.h"
#include "engine/schema/reduction.h"

#include <math.h>
#include <string.h>

/* Columns of halves that are gone over together: of whole rows, if there are no more, since parts of them take three times as long to read
   (32768 rows of 2 KiB on a core of a Zen 4: 10 ns a line instead of 3). */
enum { HALF_COLUMNS = ROW_HALVES_COLUMNS };

/* The best of columns of halves so far: their keys (row_halves.h), and their rows. */
typedef struct found {
    int16_t *keys;
    int64_t *places;
} found;

/* The best of columns of floats so far, and their rows. */
typedef struct found_floats {
    float *best;
    int64_t *places;
} found_floats;

typedef struct extreme {
    reduce_shape s;
    dtype out;
    bool smallest;
    bool asks; /* rows of halves come from memory */
    int threads;
    found partials; /* [threads][kept.numel], where threads share the rows of columns of halves; else NULL */
    found_floats parts; /* the same of floats */
} extreme;

/* Whether a row's extreme beats the one so far: NaN beats all, and stays. */
static bool beats(const extreme *e, row_wide more, row_wide best) {
    if (e->s.l->type == ASSAY_I64) {
        return e->smallest ? more.i < best.i : more.i > best.i;
    }
    return !isnan(best.f) && (isnan(more.f) || (e->smallest ? more.f < best.f : more.f > best.f));
}

static row_wide value_at(const row_loops *l, const void *x, int64_t i) {
    return l->type == ASSAY_F32   ? (row_wide){.f = (double)((const float *)x)[i]}
           : l->type == ASSAY_F64 ? (row_wide){.f = ((const double *)x)[i]}
                                  : (row_wide){.i = ((const int64_t *)x)[i]};
}

static void put(const extreme *e, char *value, char *place, row_wide best, int64_t at) {
    if (e->s.l->type == ASSAY_I64) {
        element_store_int(e->out, value, best.i);
    } else if (e->out == ASSAY_F32) {
        *(float *)(void *)value = (float)best.f;
    } else {
        element_store(e->out, value, best.f);
    }
    *(int64_t *)(void *)place = at;
}

/* The same of n neighbours of floats, `best` and `places` lying together: a call for each would show beside few rows. */
static void put_floats(const extreme *e, char *values, char *at, const float *best, const int64_t *places, int64_t n) {
    const loop *kept = &e->s.kept;
    for (int64_t i = 0; i < n; i++) {
        if (e->out == ASSAY_F32) {
            memcpy(values + i * kept->strides[1][0], &best[i], sizeof best[i]);
        } else {
            element_store(e->out, values + i * kept->strides[1][0], (double)best[i]);
        }
        memcpy(at + i * kept->strides[2][0], &places[i], sizeof places[i]);
    }
}

static int64_t place_in_halves(const extreme *e, const char *row) {
    int64_t n = e->s.reduced.numel, place = 0;
    int16_t best = HALF_KEY_WORST;
    for (int64_t done = 0; done < n; done += ROW_BLOCK) {
        int64_t m = n - done < ROW_BLOCK ? n - done : ROW_BLOCK;
        int64_t at = e->s.halves->place(&best, row + done * (int64_t)sizeof(uint16_t), m, e->smallest, e->asks);
        place = at >= 0 ? done + at : place;
    }
    return place;
}

static void share_rows_of_halves(const extreme *e, int64_t from, int64_t to) {
    const loop *kept = &e->s.kept;
    int64_t index[TENSOR_MAX_DIMS], offset[LOOP_MAX_OPERANDS];
    while (from < to) {
        loop_seek(kept, from, index, offset);
        int64_t rows = kept->sizes[0] - index[0] < to - from ? kept->sizes[0] - index[0] : to - from;
        for (int64_t r = 0; r < rows; r++) {
            const char *row = kept->data[0] + offset[0] + r * kept->strides[0][0];
            int64_t place = place_in_halves(e, row);
            memcpy(kept->data[1] + offset[1] + r * kept->strides[1][0], row + place * (int64_t)sizeof(uint16_t), sizeof(uint16_t));
            *(int64_t *)(void *)(kept->data[2] + offset[2] + r * kept->strides[2][0]) = place;
        }
        from += rows;
    }
}

/* Short rows that are read where they lie: many in one call. */
static bool has_short_rows(const extreme *e) {
    const reduce_shape *s = &e->s;
    int64_t size = (int64_t)s->l->size;
    return s->l->place_short != NULL && s->in == s->l->type && e->out == s->in && s->reduced.numel <= ROW_SHORT_PLACED &&
           nest_runs(&s->reduced) == 1 && s->reduced.strides[0][0] == size && s->kept.strides[0][0] % size == 0;
}

static void share_short_rows(const extreme *e, int64_t from, int64_t to) {
    enum { ROWS = 64 };
    const loop *kept = &e->s.kept;
    int64_t size = (int64_t)e->s.l->size, stride = kept->strides[0][0], index[TENSOR_MAX_DIMS], offset[LOOP_MAX_OPERANDS], rows;
    int32_t places[ROWS];
    for (int64_t i = from; i < to; i += rows) {
        loop_seek(kept, i, index, offset);
        rows = kept->sizes[0] - index[0] < to - i ? kept->sizes[0] - index[0] : to - i;
        rows = rows < ROWS ? rows : ROWS;
        const char *at = kept->data[0] + offset[0];
        e->s.l->place_short(places, at, rows, stride / size, e->s.reduced.numel, e->smallest);
        for (int64_t r = 0; r < rows; r++) {
            memcpy(kept->data[1] + offset[1] + r * kept->strides[1][0], at + r * stride + places[r] * size, sizeof(float));
            *(int64_t *)(void *)(kept->data[2] + offset[2] + r * kept->strides[2][0]) = places[r];
        }
    }
}

/* The best element of a row, and its place. buffer: room for a block of it. */
static int64_t best_of_row(const extreme *e, const char *row, void *buffer, row_wide *best) {
    const reduce_shape *s = &e->s;
    const int64_t n = s->reduced.numel, stride = s->reduced.strides[0][0];
    int64_t place = 0;
    *best = (row_wide){0};
    for (int64_t done = 0; done < n; done += ROW_BLOCK) {
        int64_t m = n - done < ROW_BLOCK ? n - done : ROW_BLOCK;
        const void *x = row_fetch(s->l, buffer, row + done * stride, s->in, stride, m);
        int64_t at = s->l->place(x, m, e->smallest);
        row_wide value = value_at(s->l, x, at);
        if (done == 0 || beats(e, value, *best)) {
            *best = value;
            place = done + at;
        }
    }
    return place;
}

static void share_rows(const void *context) {
    const extreme *e = context;
    const reduce_shape *s = &e->s;
    alignas(64) char buffer[ROW_BLOCK * sizeof(double)];
    int64_t from, to, index[TENSOR_MAX_DIMS], offset[LOOP_MAX_OPERANDS];
    parallel_share(s->kept.numel, 1, &from, &to);
    if (s->halves != NULL) {
        share_rows_of_halves(e, from, to);
        return;
    }
    if (has_short_rows(e)) {
        share_short_rows(e, from, to);
        return;
    }
    for (int64_t i = from, rows; i < to; i += rows) {
        loop_seek(&s->kept, i, index, offset);
        rows = s->kept.sizes[0] - index[0] < to - i ? s->kept.sizes[0] - index[0] : to - i;
        for (int64_t r = 0; r < rows; r++) {
            row_wide best;
            const int64_t place = best_of_row(e, s->kept.data[0] + offset[0] + r * s->kept.strides[0][0], buffer, &best);
            put(e, s->kept.data[1] + offset[1] + r * s->kept.strides[1][0], s->kept.data[2] + offset[2] + r * s->kept.strides[2][0], best, place);
        }
    }
}

static void run_rows(const extreme *e) {
    parallel_run(e->threads, share_rows, e);
}

/* Columns that are gone over together: of rows that are read as they lie more, since parts of rows take longer to read. */
enum { COLUMNS = REDUCE_COLUMNS, WIDE_COLUMNS = 4 * COLUMNS, MOST_SPLIT_COLUMNS = 1 << 16 };

/* Rows [from, to) of n columns of halves. Places are kept in 16 bits, for so many rows at a time. */
static void find_in_halves(const extreme *e, const char *at, int64_t n, int64_t from, int64_t to, found best) {
    enum { ROWS = 8192 };
    alignas(64) int16_t keys[HALF_COLUMNS], where[HALF_COLUMNS];
    int64_t stride = e->s.reduced.strides[0][0];
    for (int64_t i = 0; i < n; i++) {
        keys[i] = HALF_KEY_WORST;
        best.places[i] = 0;
    }
    for (int64_t r = from; r < to; r += ROWS) {
        int64_t rows = to - r < ROWS ? to - r : ROWS;
        memset(where, -1, sizeof where);
        e->s.halves->place_rows(keys, where, at + r * stride, rows, stride / (int64_t)sizeof(uint16_t), n, e->smallest, e->asks);
        for (int64_t i = 0; i < n; i++) {
            best.places[i] = where[i] >= 0 ? r + where[i] : best.places[i];
        }
    }
    memcpy(best.keys, keys, (size_t)n * sizeof *keys);
}

/* Elements are what their keys say but for zeros and NaN, of which several have one key: those are read where they lie. */
static void put_halves(const extreme *e, const int64_t *offset, int64_t n, found best) {
    const loop *kept = &e->s.kept;
    const char *in = kept->data[0] + offset[0];
    char *values = kept->data[1] + offset[1], *places = kept->data[2] + offset[2];
    for (int64_t i = 0; i < n; i++) {
        uint16_t bits = half_of_key(best.keys[i], e->smallest);
        if (best.keys[i] == 0 || best.keys[i] == INT16_MAX) {
            memcpy(&bits, in + best.places[i] * e->s.reduced.strides[0][0] + i * (int64_t)sizeof bits, sizeof bits);
        }
        memcpy(values + i * kept->strides[1][0], &bits, sizeof bits);
        memcpy(places + i * kept->strides[2][0], &best.places[i], sizeof best.places[i]);
    }
}

static void share_columns_of_halves(const void *context) {
    const extreme *e = context;
    const loop *kept = &e->s.kept;
    int64_t columns = kept->sizes[0], blocks = (columns + HALF_COLUMNS - 1) / HALF_COLUMNS;
    int64_t from = 0, to = kept->numel / columns * blocks, low = 0, high = e->s.reduced.numel;
    int64_t index[TENSOR_MAX_DIMS], offset[LOOP_MAX_OPERANDS], places[HALF_COLUMNS];
    int16_t keys[HALF_COLUMNS];
    found own = {keys, places};
    if (e->partials.keys != NULL) {
        parallel_share(high, 1, &low, &high);
    } else {
        parallel_share(to, 1, &from, &to);
    }
    for (int64_t u = from; u < to; u++) {
        int64_t c = u % blocks * HALF_COLUMNS, n = columns - c < HALF_COLUMNS ? columns - c : HALF_COLUMNS;
        int64_t at = u / blocks * columns + c;
        loop_seek(kept, at, index, offset);
        if (e->partials.keys != NULL) {
            int64_t first = omp_get_thread_num() * kept->numel + at;
            find_in_halves(e, kept->data[0] + offset[0], n, low, high, (found){e->partials.keys + first, e->partials.places + first});
        } else {
            find_in_halves(e, kept->data[0] + offset[0], n, low, high, own);
            put_halves(e, offset, n, own);
        }
    }
}

/* The first of equals is that of the first rows. */
static void join_partials(const extreme *e) {
    const loop *kept = &e->s.kept;
    found f = e->partials;
    int64_t index[TENSOR_MAX_DIMS], offset[LOOP_MAX_OPERANDS];
    for (int64_t i = kept->numel; i < kept->numel * e->threads; i++) {
        int64_t best = i % kept->numel;
        if (f.keys[i] > f.keys[best]) {
            f.keys[best] = f.keys[i];
            f.places[best] = f.places[i];
        }
    }
    for (int64_t i = 0; i < kept->numel; i += kept->sizes[0]) {
        loop_seek(kept, i, index, offset);
        put_halves(e, offset, kept->sizes[0], (found){f.keys + i, f.places + i});
    }
}

/* Whether rows of columns are read where they lie, several together. */
static bool goes_by_fours(const extreme *e) {
    const reduce_shape *s = &e->s;
    int64_t size = (int64_t)s->l->size;
    return s->l->place_rows != NULL && s->in == s->l->type && s->kept.strides[0][0] == size && s->reduced.strides[0][0] % size == 0 &&
           nest_runs(&s->reduced) == 1;
}

/* About as many columns for each block, and blocks for each thread. */
static int64_t wide_block(const extreme *e) {
    const loop *kept = &e->s.kept;
    int64_t columns = kept->sizes[0], blocks = (columns + WIDE_COLUMNS - 1) / WIDE_COLUMNS;
    if (kept->numel / columns < e->threads && e->parts.best == NULL) {
        blocks = (blocks + e->threads - 1) / e->threads * e->threads;
    }
    int64_t block = ((columns + blocks - 1) / blocks + REDUCE_MIN_COLUMNS - 1) / REDUCE_MIN_COLUMNS * REDUCE_MIN_COLUMNS;
    return block < WIDE_COLUMNS ? block : WIDE_COLUMNS;
}

/* Room for a block of columns. Best ones are floats where there are many, and their places 32 bits long. */
typedef struct column_room {
    alignas(64) char buffer[WIDE_COLUMNS * sizeof(float)], best[WIDE_COLUMNS * sizeof(float) + PARALLEL_APART_BYTES];
    alignas(64) int64_t places[WIDE_COLUMNS / 2];
} column_room;
_Static_assert(WIDE_COLUMNS * sizeof(float) >= COLUMNS * sizeof(double) && WIDE_COLUMNS / 2 >= COLUMNS, "room for longer ones");

static void start_places(const extreme *e, column_room *room, const char *at, int64_t n) {
    e->s.l->load(room->best, at, e->s.in, e->s.kept.strides[0][0], n);
    memset(room->places, 0, (size_t)n * (e->s.l->type == ASSAY_F32 ? sizeof(int32_t) : sizeof(int64_t)));
}

/* The best of `rows` rows of n columns, and which row of those it is. */
static void find_in_rows(const extreme *e, const char *at, int64_t rows, int64_t n, column_room *room) {
    const row_loops *l = e->s.l;
    int64_t row_stride = e->s.reduced.strides[0][0], stride = e->s.kept.strides[0][0];
    bool may_do = goes_by_fours(e) && n >= REDUCE_MIN_COLUMNS;
    start_places(e, room, at, n);
    bool is_done = may_do && l->place_rows(room->best, room->places, at, rows, row_stride / (int64_t)l->size, n, e->smallest);
    if (may_do && !is_done) {
        start_places(e, room, at, n);
    }
    for (int64_t r = is_done ? rows / 4 * 4 : 1; r < rows; r++) {
        const void *x = row_fetch(l, room->buffer, at + r * row_stride, e->s.in, stride, n);
        l->place_into(room->best, room->places, x, r, n, e->smallest);
    }
}

/* What n columns from c on came to, of rows from `low` on, to this thread's part. */
static void keep_part(const extreme *e, const column_room *room, int64_t c, int64_t low, int64_t n) {
    const int64_t part = omp_get_thread_num() * e->s.kept.numel + c;
    const int32_t *places = (const int32_t *)(const void *)room->places;
    memcpy(e->parts.best + part, room->best, (size_t)n * sizeof *e->parts.best);
    for (int64_t i = 0; i < n; i++) {
        e->parts.places[part + i] = low + places[i];
    }
}

/* The same to where it belongs. */
static void put_block(const extreme *e, const column_room *room, char *values, char *places, int64_t n) {
    enum { SOME = 64 };
    const loop *kept = &e->s.kept;
    const float *best = (const float *)(const void *)room->best;
    const int32_t *where = (const int32_t *)(const void *)room->places;
    int64_t wide[SOME], some;
    for (int64_t i = 0; e->s.l->type == ASSAY_F32 && i < n; i += some) {
        some = n - i < SOME ? n - i : SOME;
        for (int64_t k = 0; k < some; k++) {
            wide[k] = where[i + k];
        }
        put_floats(e, values + i * kept->strides[1][0], places + i * kept->strides[2][0], best + i, wide, some);
    }
    for (int64_t i = 0; e->s.l->type != ASSAY_F32 && i < n; i++) {
        put(e, values + i * kept->strides[1][0], places + i * kept->strides[2][0], value_at(e->s.l, room->best, i), room->places[i]);
    }
}

static void share_columns(const void *context) {
    const extreme *e = context;
    const reduce_shape *s = &e->s;
    const loop *kept = &s->kept;
    column_room room;
    int64_t columns = kept->sizes[0], block = goes_by_fours(e) ? wide_block(e) : COLUMNS, blocks = (columns + block - 1) / block;
    int64_t from = 0, to = kept->numel / columns * blocks, low = 0, high = s->reduced.numel;
    int64_t index[TENSOR_MAX_DIMS], offset[LOOP_MAX_OPERANDS];
    if (e->parts.best != NULL) {
        parallel_share(high, 1, &low, &high);
    } else {
        parallel_share(to, 1, &from, &to);
    }
    for (int64_t u = from; u < to && low < high; u++) {
        int64_t c = u % blocks * block, n = columns - c < block ? columns - c : block;
        loop_seek(kept, u / blocks * columns + c, index, offset);
        find_in_rows(e, kept->data[0] + offset[0] + low * s->reduced.strides[0][0], high - low, n, &room);
        if (e->parts.best != NULL) {
            keep_part(e, &room, c, low, n);
        } else {
            put_block(e, &room, kept->data[1] + offset[1], kept->data[2] + offset[2], n);
        }
    }
}

/* What beats nothing: within a caller's region there may be fewer threads than parts. */
static void start_parts(const extreme *e) {
    for (int64_t i = 0; i < e->s.kept.numel * e->threads; i++) {
        e->parts.best[i] = e->smallest ? INFINITY : -INFINITY;
        e->parts.places[i] = 0;
    }
}

/* Of one run of columns the first of equals is that of the first thread's rows. */
static void join_parts(const extreme *e) {
    const loop *kept = &e->s.kept;
    float *best = e->parts.best;
    int64_t *places = e->parts.places;
    for (int64_t k = kept->numel; k < e->threads * kept->numel; k += kept->numel) {
        for (int64_t i = 0; i < kept->numel; i++) {
            const float more = best[k + i], most = best[i];
            const bool is_better = most == most && (more != more || (e->smallest ? more < most : more > most));
            best[i] = is_better ? more : most;
            places[i] = is_better ? places[k + i] : places[i];
        }
    }
    put_floats(e, kept->data[1], kept->data[2], best, places, kept->numel);
}

static void run_columns(const extreme *e) {
    if (e->parts.best != NULL) {
        start_parts(e);
    }
    for (int64_t i = 0; e->partials.keys != NULL && i < e->s.kept.numel * e->threads; i++) {
        e->partials.keys[i] = HALF_KEY_WORST;
    }
    parallel_run(e->threads, e->s.halves != NULL ? share_columns_of_halves : share_columns, e);
    if (e->partials.keys != NULL) {
        join_partials(e);
    }
    if (e->parts.best != NULL) {
        join_parts(e);
    }
}

static status run_extreme(kernel_plan *plan) {
    const extreme *e = plan->state;
    if (e->s.kept.numel > 0) {
        (e->s.by_columns ? run_columns : run_rows)(e);
    }
    return ASSAY_OK;
}

status prepare_extreme_dim(kernel_plan *plan, error *err) {
    extreme *e = arena_make(plan->memory, 1, sizeof *e);
    if (e == NULL) {
        return fail(err, ASSAY_OUT_OF_MEMORY, "no memory for a plan");
    }
    tensor *self = call_tensor(plan->call, 0);
    uint32_t mask;
    TRY(reduction_mask(plan->call, 1, &mask, err));
    reduce_shape_init(&e->s, row_loops_for(self->dtype), self, mask, PARTS_NONE, plan->out->items, 2,
                      self->dtype == ASSAY_F32 ? REDUCE_LEAST_TOGETHER : INT64_MAX);
    /* Columns of floats keep places in 32 bits. */
    bool is_in_reach = e->s.reduced.numel <= INT32_MAX;
    e->s.by_columns = e->s.by_columns && is_in_reach;
    e->s.halves = is_in_reach ? e->s.halves : NULL;
    e->out = plan->out->items[0].dtype;
    e->smallest = plan->call->op->signature.name[1] == 'i';
    e->asks = tensor_bytes(self) >= STREAM_MIN_BYTES;
    e->threads = parallel_threads((double)tensor_numel(self) * (double)dtype_size(self->dtype));
    const loop *kept = &e->s.kept;
    size_t n = (size_t)(e->threads * kept->numel);
    enum { ROWS_A_THREAD = 64 }; /* beside which joining what the threads found is little */
    bool may_split = e->s.by_columns && e->threads > 1 && e->s.reduced.numel >= ROWS_A_THREAD * e->threads;
    if (may_split && e->s.halves != NULL && kept->numel <= HALF_COLUMNS / 2 * e->threads) {
        e->partials.keys = arena_make(plan->memory, n, sizeof *e->partials.keys);
        e->partials.places = arena_make(plan->memory, n, sizeof *e->partials.places);
        if (e->partials.keys == NULL || e->partials.places == NULL) {
            return fail(err, ASSAY_OUT_OF_MEMORY, "no memory for partial results");
        }
    } else if (may_split && e->s.halves == NULL && goes_by_fours(e) && kept->ndim == 1 && kept->numel <= MOST_SPLIT_COLUMNS) {
        e->parts.best = arena_make(plan->memory, n, sizeof *e->parts.best);
        e->parts.places = arena_make(plan->memory, n, sizeof *e->parts.places);
        if (e->parts.best == NULL || e->parts.places == NULL) {
            return fail(err, ASSAY_OUT_OF_MEMORY, "no memory for partial results");
        }
    }
    plan->state = e;
    plan->run = run_extreme;
    return ASSAY_OK;
}
