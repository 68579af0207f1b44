/* SPDX-License-Identifier: Apache-2.0 */
/* Runs element-wise loops tile by tile: what does not lie in rows of the loop's own type is brought into blocks in L1
   first, and results are taken where they belong. */
#include "engine/kernels/cpu/pointwise_tiles.h"

#include "engine/kernels/cpu/isa/copy_loops.h"
#include "engine/kernels/cpu/parallel.h"
#include "engine/kernels/cpu/streaming.h"

#if defined(__x86_64__)
#define ISA_TABLES(name)                                                                                               \
    { &name##_baseline, &name##_avx2, &name##_avx512 }
#else
#define ISA_TABLES(name)                                                                                               \
    { &name##_baseline, &name##_baseline, &name##_baseline }
#endif

const class_facts pointwise_classes[CLASS_COUNT] = {
    [CLASS_U8] = {1, ISA_TABLES(pointwise_u8), ISA_TABLES(pointwise_u8_streaming)},
    [CLASS_U16] = {2, ISA_TABLES(pointwise_u16), ISA_TABLES(pointwise_u16_streaming)},
    [CLASS_I8] = {1, ISA_TABLES(pointwise_i8), ISA_TABLES(pointwise_i8_streaming)},
    [CLASS_I16] = {2, ISA_TABLES(pointwise_i16), ISA_TABLES(pointwise_i16_streaming)},
    [CLASS_I32] = {4, ISA_TABLES(pointwise_i32), ISA_TABLES(pointwise_i32_streaming)},
    [CLASS_I64] = {8, ISA_TABLES(pointwise_i64), ISA_TABLES(pointwise_i64_streaming)},
    [CLASS_F32] = {4, ISA_TABLES(pointwise_f32), ISA_TABLES(pointwise_f32_streaming)},
    [CLASS_F64] = {8, ISA_TABLES(pointwise_f64), ISA_TABLES(pointwise_f64_streaming)},
    [CLASS_C64] = {8, ISA_TABLES(pointwise_c64), {NULL}}, [CLASS_C128] = {16, ISA_TABLES(pointwise_c128), {NULL}},
};

const pointwise_moves *const pointwise_move_tables[ISA_COUNT] = ISA_TABLES(pointwise_moves);

pointwise_halves_loop *const pointwise_halves_runs[ISA_COUNT] = ISA_TABLES(pointwise_halves_run);

pointwise_halves_loop *const pointwise_half_look_ups[ISA_COUNT] = ISA_TABLES(pointwise_half_look_up);

static pointwise_halves_loop *const (*const half_functions[ISA_COUNT])[PW_COUNT] = ISA_TABLES(pointwise_half_functions);
static const pointwise_half_loops *const half_loops[ISA_COUNT] = ISA_TABLES(pointwise_half_loops);
static const pointwise_half_loops *const half_checked[ISA_COUNT] = ISA_TABLES(pointwise_half_checked);

/* The loop of l for operands all of which are halves, or one of two a number; NULL: there is none. */
static pointwise_halves_loop *loop_of(const pointwise_half_loops *l, pointwise_op id, const int *step, bool has_number) {
    return !has_number ? l->op[id] : step[1] == 0 ? l->number[id] : l->number_first[id];
}

pointwise_halves_loop *pointwise_halves_in_one_go(isa best, pointwise_op id, const int *step, int n) {
    int halves = 0;
    for (int k = 0; k < n; k++) {
        halves += step[k] == 2;
    }
    bool has_number = n == 2 && halves == 1 && step[0] + step[1] == 2;
    if (halves != n && !has_number) {
        return NULL;
    }
    if (!has_number && (*half_functions[best])[id] != NULL) {
        return (*half_functions[best])[id];
    }
    pointwise_halves_loop *checked = loop_of(half_checked[best], id, step, has_number);
    return checked != NULL ? checked : loop_of(half_loops[best], id, step, has_number);
}

const uint8_t pointwise_class_of[ASSAY_DTYPE_COUNT] = {
    [ASSAY_F16] = CLASS_F32, [ASSAY_BF16] = CLASS_F32, [ASSAY_F32] = CLASS_F32,   [ASSAY_F64] = CLASS_F64,
    [ASSAY_C32] = CLASS_C64, [ASSAY_C64] = CLASS_C64,  [ASSAY_C128] = CLASS_C128, [ASSAY_I8] = CLASS_I8,
    [ASSAY_I16] = CLASS_I16, [ASSAY_I32] = CLASS_I32,  [ASSAY_I64] = CLASS_I64,   [ASSAY_U8] = CLASS_U8,
    [ASSAY_B8] = CLASS_U8,
};

bool pointwise_is_native(pointwise_class c, dtype t) {
    return c == CLASS_U16 ? dtype_size(t) == 2
                          : pointwise_class_of[t] == c && (int)dtype_size(t) == pointwise_classes[c].size;
}

status pointwise_fault(kernel_plan *plan) {
    return fail(plan->err, ASSAY_INVALID, "%s: an integer is divided by zero", plan->call->op->signature.full);
}

static int64_t smaller(int64_t a, int64_t b) {
    return a < b ? a : b;
}

/* One thread's blocks. */
typedef struct blocks {
    _Alignas(64) char in[POINTWISE_INPUTS][BLOCK_BYTES];
    _Alignas(64) char out[BLOCK_BYTES];
    _Alignas(64) char raw[BLOCK_BYTES]; /* elements as they lie in memory, before or after conversion */
    row_edge edge; /* of what goes past the caches */
} blocks;

/* A tile's place: first elements' byte offsets and extent. */
typedef struct tile {
    int64_t offset[1 + POINTWISE_INPUTS];
    int64_t at[TENSOR_MAX_DIMS];
    int64_t n0, n1;
} tile;

number pointwise_read_cell(const tensor *t) {
    const char *at = tensor_data(t);
    if (dtype_is_complex(t->dtype)) {
        double complex z = element_load_complex(t->dtype, at);
        return number_of_complex(creal(z), cimag(z));
    }
    return dtype_is_floating(t->dtype) ? number_of_double(element_load(t->dtype, at))
                                       : number_of_int(element_load_int(t->dtype, at));
}

number pointwise_constant(const op_row *row, dtype compute, pointwise_class c, number value) {
    uint64_t bits[2] = {0, 0};
    if (compute == ASSAY_B8) {
        return number_of_bool(value.category <= CATEGORY_INTEGRAL ? value.i != 0 : value.f != 0 || value.im != 0);
    }
    if (c == CLASS_U16) {
        element_store_number(compute, bits, value);
        return number_of_int((int64_t)bits[0]);
    }
    if (dtype_is_floating(compute) && (row->promotion == PROMOTE_BOOL_OUT || row->rounds_numbers)) {
        element_store(compute, bits, value.f);
        value.f = element_load(compute, bits);
    } else if (dtype_is_integral(compute) && !row->keeps_integers) {
        element_store_number(compute, bits, value);
        return number_of_int(element_load_int(compute, bits));
    }
    return value;
}

static const pointwise_loops *loops_of(const tiled *p, pointwise_class c) {
    return pointwise_classes[c].loops[p->isa];
}

static void fill_constants(const tiled *p, blocks *b) {
    for (int k = 0; k < p->n; k++) {
        const source *in = &p->in[k];
        if (in->slot == CONSTANT) {
            number value = in->cell != NULL ? pointwise_read_cell(in->cell) : in->constant;
            value = pointwise_constant(p->row, p->compute, in->class, value);
            int64_t row = p->by_tile ? p->tile[0] * p->tile[1] : p->tile[0];
            int64_t most = in->is_number ? 1 : p->repeats ? p->tile[1] : row;
            loops_of(p, in->class)->fill(b->in[k], value, most);
        }
    }
}

/* The tile's extent, cut at the edges. */
static void cut_tile(const tiled *p, tile *t) {
    const loop *l = &p->nest;
    t->n0 = smaller(l->sizes[0] - t->at[0], p->tile[0]);
    t->n1 = smaller(l->sizes[1] - t->at[1], p->tile[1]);
}

static void find_tile(const tiled *p, int64_t index, tile *t) {
    const loop *l = &p->nest;
    for (int d = 0; d < l->ndim; d++) {
        int64_t steps = d < 2 ? p->steps[d] : l->sizes[d];
        t->at[d] = index % steps * (d < 2 ? p->tile[d] : 1);
        index /= steps;
    }
    for (int k = 0; k < l->n_operands; k++) {
        t->offset[k] = 0;
        for (int d = 0; d < l->ndim; d++) {
            t->offset[k] += t->at[d] * l->strides[k][d];
        }
    }
    cut_tile(p, t);
}

/* The tile behind this one, without divisions. */
static void next_tile(const tiled *p, tile *t) {
    const loop *l = &p->nest;
    for (int d = 0; d < l->ndim; d++) {
        int64_t step = d < 2 ? p->tile[d] : 1;
        t->at[d] += step;
        bool inside = t->at[d] < l->sizes[d];
        for (int k = 0; k < l->n_operands; k++) {
            t->offset[k] += (inside ? step : step - t->at[d]) * l->strides[k][d];
        }
        if (inside) {
            break;
        }
        t->at[d] = 0;
    }
    cut_tile(p, t);
}

/* Brings a tile's operand into its block, row behind row. */
static void gather(const tiled *p, const source *in, const tile *t, char *raw, char *to) {
    const int64_t *strides = p->nest.strides[in->slot];
    const char *from = p->nest.data[in->slot] + t->offset[in->slot];
    int64_t size = (int64_t)dtype_size(in->dtype);
    bool converts = !pointwise_is_native(in->class, in->dtype);
    const pointwise_loops *loops = loops_of(p, in->class);
    if (in->is_number || p->repeats) {
        loops->load(to, in->dtype, from, strides[1], t->n1);
        return;
    }
    if (converts && strides[0] == size && (t->n1 == 1 || strides[1] == t->n0 * size)) {
        loops->load(to, in->dtype, from, size, t->n0 * t->n1);
        return;
    }
    if (converts && strides[0] == size && t->n0 >= MIN_ROW) {
        for (int64_t r = 0; r < t->n1; r++) {
            loops->load(to + r * t->n0 * pointwise_classes[in->class].size, in->dtype, from + r * strides[1], size,
                        t->n0);
        }
        return;
    }
    if (converts && strides[0] == 0) { /* a number for each row: converted once */
        int64_t wide = pointwise_classes[in->class].size;
        loops->load(raw, in->dtype, from, strides[1], t->n1);
        p->move->copy_rows(to, raw, 0, wide, t->n0, t->n1, wide);
        return;
    }
    char *dense = converts ? raw : to;
    if (strides[0] == size || strides[0] == 0) {
        p->move->copy_rows(dense, from, strides[0], strides[1], t->n0, t->n1, size);
    } else {
        p->move->turn(dense, from, strides[0], strides[1], t->n0, t->n1, size);
    }
    if (converts) {
        loops->load(to, in->dtype, raw, size, t->n0 * t->n1);
    }
}

/* Writes n results of a row (or of a flat tile) where they belong. */
static void put(const tiled *p, char *to, int64_t stride, const char *from, blocks *b, int64_t n) {
    int64_t size = (int64_t)dtype_size(p->out_dtype);
    if (p->streams) {
        const char *native = from;
        if (!p->out_is_native && !p->makes_halves) {
            p->out_loops->store(p->out_dtype, b->raw, size, from, n);
            native = b->raw;
        }
        p->move->stream(&b->edge, to, native, (size_t)(n * size));
        return;
    }
    p->out_loops->store(p->out_dtype, to, stride, from, n);
}

/* Writes a tile's short rows of results where they belong: a call for each row took longer than what it stores (rows of 4 halves among 85:
   24 ns a row, Zen 4, 2026-11). */
static void put_rows(const tiled *p, const tile *t, char *to, const char *from, blocks *b) {
    const int64_t *strides = p->nest.strides[0];
    int64_t size = (int64_t)dtype_size(p->out_dtype), row_bytes = t->n0 * size;
    const copy_loops *loops = copy_loops_best();
    if (!p->out_is_native) {
        p->out_loops->store(p->out_dtype, b->raw, size, from, t->n0 * t->n1);
        from = b->raw;
    }
    if (strides[0] == size) {
        loops->rows(to, from, (size_t)row_bytes, t->n1, strides[1], row_bytes);
        return;
    }
    int log2 = __builtin_ctzll((unsigned long long)size);
    bool by_rows = t->n0 >= t->n1;
    int64_t lines = by_rows ? t->n1 : t->n0, n = by_rows ? t->n0 : t->n1;
    for (int64_t i = 0; i < lines; i++) {
        loops->strided(to + i * strides[by_rows ? 1 : 0], from + i * (by_rows ? row_bytes : size), log2, n, strides[by_rows ? 0 : 1],
                       by_rows ? size : row_bytes);
    }
}

int pointwise_half_step(const tiled *p, int k) {
    const source *in = &p->in[k];
    return in->slot == CONSTANT || in->is_number ? 0 : in->is_half && (p->by_tile ? in->is_flat : in->is_row) ? 2 : pointwise_classes[in->class].size;
}

/* Puts one stretch through the loop. */
static void call_loop(const tiled *p, const pointwise_chunk *c) {
    if (!p->halves) {
        p->loop(c);
        return;
    }
    pointwise_halves h = {.chunk = *c, .loop = p->loop, .type = p->compute, .n = p->n};
    h.out_step = p->out_is_native ? 1 : p->makes_halves ? 2 : (int)sizeof(float);
    for (int k = 0; k < p->n; k++) {
        h.step[k] = pointwise_half_step(p, k);
    }
    h.streams = p->loop_streams;
    h.fetches = p->streams;
    pointwise_halves_loop *run = h.out_step <= 2 && p->in_one_go != NULL ? p->in_one_go : pointwise_halves_runs[p->isa];
    run(&h);
}

static void run_rows(tiled *p, const tile *t, blocks *b) {
    const int64_t *out_strides = p->nest.strides[0];
    pointwise_chunk c = {.n = t->n0, .s = p->s, .is_fault = &p->is_fault};
    char *out = p->nest.data[0] + t->offset[0];
    int64_t step[POINTWISE_INPUTS]; /* from row to row */
    for (int k = 0; k < p->n; k++) {
        const source *in = &p->in[k];
        bool is_there = in->slot != CONSTANT && in->is_row;
        c.in[k] = is_there ? p->nest.data[in->slot] + t->offset[in->slot] : b->in[k];
        step[k] = in->slot == CONSTANT ? 0
                  : in->is_row         ? p->nest.strides[in->slot][1]
                                       : (in->is_number ? 1 : t->n0) * pointwise_classes[in->class].size;
        c.near |= !is_there || step[k] == 0 ? 1 << k : 0;
    }
    for (int64_t r = 0; r < t->n1; r++, out += out_strides[1]) {
        c.out = p->out_is_row ? out : b->out;
        call_loop(p, &c);
        if (!p->out_is_row) {
            put(p, out, out_strides[0], b->out, b, t->n0);
        }
        for (int k = 0; k < p->n; k++) {
            c.in[k] = (const char *)c.in[k] + step[k];
        }
    }
}

static void run_whole(tiled *p, const tile *t, blocks *b) {
    const int64_t *out_strides = p->nest.strides[0];
    char *out = p->nest.data[0] + t->offset[0];
    pointwise_chunk c = {.n = t->n0 * t->n1, .s = p->s, .is_fault = &p->is_fault};
    for (int k = 0; k < p->n; k++) {
        const source *in = &p->in[k];
        bool is_there = in->slot != CONSTANT && in->is_flat;
        c.in[k] = is_there ? p->nest.data[in->slot] + t->offset[in->slot] : b->in[k];
        c.near |= is_there ? 0 : 1 << k;
    }
    bool in_place = p->out_is_flat && p->out_is_row;
    c.out = in_place ? out : b->out;
    call_loop(p, &c);
    if (in_place) {
        return;
    }
    if (p->out_is_flat) {
        put(p, out, out_strides[0], b->out, b, c.n);
        return;
    }
    if (!p->streams && t->n0 < SHORT_ROW && t->n1 > 1) {
        put_rows(p, t, out, b->out, b);
        return;
    }
    const int64_t made = p->makes_halves && !p->out_is_native ? 2 : pointwise_classes[p->out_class].size;
    for (int64_t r = 0; r < t->n1; r++) {
        put(p, out + r * out_strides[1], out_strides[0], b->out + r * t->n0 * made, b, t->n0);
    }
}

/* One result for each row, written as often as the row has elements. */
static void run_repeated(tiled *p, const tile *t, blocks *b) {
    const int64_t *out_strides = p->nest.strides[0];
    int64_t size = (int64_t)dtype_size(p->out_dtype);
    pointwise_chunk c = {.out = b->out, .n = t->n1, .s = p->s, .is_fault = &p->is_fault};
    for (int k = 0; k < p->n; k++) {
        c.in[k] = b->in[k];
    }
    p->loop(&c);
    char *out = p->nest.data[0] + t->offset[0], *made = b->out;
    if (!p->out_is_native) {
        p->out_loops->store(p->out_dtype, b->raw, size, b->out, t->n1);
        made = b->raw;
    }
    for (int64_t r = 0; r < t->n1; r++) {
        p->move->copy_rows(out + r * out_strides[1], made + r * size, 0, 0, t->n0, 1, size);
    }
}

/* Asks for a tile's operands while the one before it is computed and stored: stores past the caches keep the CPU from
   reading ahead by itself, and reading and writing in turns takes half as long again as both at once. */
static void fetch_ahead(const tiled *p, const tile *t) {
    for (int k = 0; k < p->n; k++) {
        const source *in = &p->in[k];
        int64_t size = in->slot != CONSTANT ? (int64_t)dtype_size(in->dtype) : 0;
        if (in->slot == CONSTANT || p->nest.strides[in->slot][0] != size) {
            continue;
        }
        for (int64_t r = 0; r < t->n1; r++) {
            const char *row = p->nest.data[in->slot] + t->offset[in->slot] + r * p->nest.strides[in->slot][1];
            fetch_soon(row, (size_t)(t->n0 * size));
        }
    }
}

/* The same of operands that are turned round, whose lines lie a row apart: sums of [6000, 5000] floats that lie across and as many that do not
   take 7.1 ms so, and 11.3 (two cores of a Zen 5, 2026-11). */
static void fetch_turned(const tiled *p, const tile *t) {
    for (int k = 0; k < p->n; k++) {
        const source *in = &p->in[k];
        const int64_t *strides = p->nest.strides[in->slot != CONSTANT ? in->slot : 0], size = (int64_t)dtype_size(in->dtype);
        if (in->slot == CONSTANT || strides[1] != size || strides[0] < STREAM_LINE_BYTES) {
            continue;
        }
        const char *at = p->nest.data[in->slot] + t->offset[in->slot];
        for (int64_t i = 0; i < t->n0; i++) {
            fetch_soon(at + i * strides[0], (size_t)(t->n1 * size));
        }
    }
}

/* What an operand's block holds: one that repeats along the tiles is brought in once. */
typedef struct kept_rows {
    int64_t offset, n0, n1;
} kept_rows;

static bool is_kept(kept_rows *kept, const tile *t, int slot) {
    bool is_same = kept->offset == t->offset[slot] && kept->n0 == t->n0 && kept->n1 == t->n1; /* n0 is 0 at first */
    *kept = (kept_rows){t->offset[slot], t->n0, t->n1};
    return is_same;
}

static void run_tiles(tiled *p, int64_t from, int64_t to) {
    blocks b;
    tile t, ahead;
    kept_rows kept[POINTWISE_INPUTS] = {{0}};
    fill_constants(p, &b);
    b.edge.line = NULL;
    if (from < to) {
        find_tile(p, from, &ahead);
    }
    for (int64_t i = from; i < to; i++) {
        t = ahead;
        if (i + 1 < to) {
            next_tile(p, &ahead);
        }
        if (p->streams && !p->loop_streams && i + 1 < to) {
            fetch_ahead(p, &ahead);
        }
        if (p->streams && i + 1 < to) {
            fetch_turned(p, &ahead);
        }
        for (int k = 0; k < p->n; k++) {
            const source *in = &p->in[k];
            bool in_place = in->slot == CONSTANT || (!p->repeats && (p->by_tile ? in->is_flat : in->is_row));
            if (!in_place && !is_kept(&kept[k], &t, in->slot)) {
                gather(p, in, &t, b.raw, b.in[k]);
            }
        }
        if (p->repeats) {
            run_repeated(p, &t, &b);
        } else if (p->by_tile) {
            run_whole(p, &t, &b);
        } else {
            run_rows(p, &t, &b);
        }
    }
    if (p->streams) {
        row_edge_flush(&b.edge);
        p->move->settle();
    }
}

/* What an element costs to bring in, in bytes that are moved: its own, or those that lie between it and its neighbour and come with
   it. */
static double element_traffic(const loop *l, int slot, dtype t) {
    enum { LEAST = 4, LINE = 64 };
    int64_t size = (int64_t)dtype_size(t), apart = INT64_MAX;
    for (int d = 0; d < 2; d++) {
        int64_t stride = l->strides[slot][d] < 0 ? -l->strides[slot][d] : l->strides[slot][d];
        apart = l->sizes[d] > 1 && stride < apart ? stride : apart;
    }
    int64_t bytes = apart == INT64_MAX || apart < size ? size : apart < LINE ? apart : LINE;
    return (double)(bytes < LEAST ? LEAST : bytes);
}

status pointwise_run_tiled(kernel_plan *plan) {
    tiled *p = plan->state;
    p->is_fault = false;
    double each = (double)dtype_size(p->out_dtype);
    for (int k = 0; k < p->n; k++) {
        each += p->in[k].slot != CONSTANT ? element_traffic(&p->nest, p->in[k].slot, p->in[k].dtype) : 0;
    }
    int threads = parallel_threads((double)p->nest.numel * each);
    if (threads <= 1 || p->n_tiles == 1) {
        run_tiles(p, 0, p->n_tiles);
    } else {
        const observer *watch = observer_of_thread;
#pragma omp parallel num_threads(threads)
        {
            parallel_enter(watch);
            int64_t from, to;
            parallel_share(p->n_tiles, 1, &from, &to);
            run_tiles(p, from, to);
            parallel_leave(watch);
        }
    }
    return p->is_fault ? pointwise_fault(plan) : ASSAY_OK;
}
