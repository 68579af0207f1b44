/* SPDX-License-Identifier: Apache-2.0 */
/* Plans an element-wise call that goes tile by tile: the order of its dimensions, how large tiles are, what the loop may read and
   write where it lies. */
#include "engine/kernels/cpu/pointwise_tiles.h"

#include "engine/kernels/cpu/streaming.h"
#include "engine/schema/pointwise.h"

#include <string.h>

static void place_operands(kernel_plan *plan, const pointwise_spec *spec, const pointwise_choice *c, tiled *p) {
    tensor *out = &plan->out->items[0];
    tensor *in_nest[1 + POINTWISE_INPUTS] = {out};
    int n = 1;
    for (int k = 0; k < spec->n; k++) {
        source *in = &p->in[k];
        tensor *t =
            plan->call->args[spec->operand[k]].kind == ARG_TENSOR ? plan->call->args[spec->operand[k]].tensor : NULL;
        in->class = k == 0 && c->op == PW_WHERE ? CLASS_U8 : c->class;
        in->slot = CONSTANT;
        if (t == NULL) {
            bool is_given = spec->has_constant && k == spec->n - 1;
            in->constant = is_given ? spec->constant : call_number(plan->call, spec->operand[k]);
        } else if (tensor_numel(t) == 1) {
            in->cell = t; /* its value may change between runs */
        } else {
            in->slot = n;
        }
        if (in->slot != CONSTANT) {
            in->dtype = t->dtype;
            in_nest[n++] = t;
        }
    }
    loop_init(&p->nest, out->ndim, out->sizes, in_nest, n);
}

static int64_t smaller(int64_t a, int64_t b) {
    return a < b ? a : b;
}

static void swap_with_second(loop *l, int d) {
    int64_t kept = l->sizes[1];
    l->sizes[1] = l->sizes[d];
    l->sizes[d] = kept;
    for (int s = 0; s < l->n_operands; s++) {
        kept = l->strides[s][1];
        l->strides[s][1] = l->strides[s][d];
        l->strides[s][d] = kept;
    }
}

/* Makes dimension 1 a longer one where tiles would have but a few elements: add of i32 [89984, 1, 4] and f16 [1, 3, 4], in 89984 tiles
   of 12, took 4100 us instead of 200 (Zen 4, 2026-11). */
static void bring_long_dimension(tiled *p) {
    loop *l = &p->nest;
    for (int d = 2; d < l->ndim && l->sizes[0] * l->sizes[1] < FEW_IN_TILE; d++) {
        if (l->sizes[d] > 4 * l->sizes[1]) {
            swap_with_second(l, d);
        }
    }
}

/* Makes dimension 1 the one along which an operand lies dense that does not along dimension 0. True when there is one.
 */
static bool bring_dense_dimension(tiled *p) {
    loop *l = &p->nest;
    for (int k = 0; k < p->n; k++) {
        int slot = p->in[k].slot;
        int64_t size = slot != CONSTANT ? (int64_t)dtype_size(p->in[k].dtype) : 0;
        if (slot == CONSTANT || l->strides[slot][0] <= size) {
            continue;
        }
        int best = 0;
        for (int d = 1; d < l->ndim; d++) {
            int64_t stride = l->strides[slot][d];
            if (stride > 0 && stride < l->strides[slot][best] && l->sizes[d] >= 4) {
                best = d;
            }
        }
        if (best == 0) {
            continue;
        }
        swap_with_second(l, best);
        return true;
    }
    return false;
}

/* Whether a slot's rows, and its tiles as a whole, lie dense. */
static bool rows_are_dense(const loop *l, int slot, int64_t size) {
    return l->strides[slot][0] == size || l->sizes[0] == 1;
}

/* Bytes of what operands hold, each element once. */
static double read_bytes(const tiled *p) {
    double bytes = 0;
    for (int k = 0; k < p->n; k++) {
        double n = p->in[k].slot != CONSTANT ? (double)dtype_size(p->in[k].dtype) : 0;
        for (int d = 0; d < p->nest.ndim && n > 0; d++) {
            n *= p->nest.strides[p->in[k].slot][d] != 0 ? (double)p->nest.sizes[d] : 1;
        }
        bytes += n;
    }
    return bytes;
}

/* least_row: shorter rows are put together in blocks. */
static void choose_tiles(tiled *p, bool in_place, bool loop_can_stream, int least_row) {
    loop *l = &p->nest;
    int64_t out_size = (int64_t)dtype_size(p->out_dtype);
    p->streams = !in_place && streams_pointwise((double)(l->numel * out_size), read_bytes(p)) && rows_are_dense(l, 0, out_size);
    int widest = pointwise_classes[p->out_class].size;
    for (int k = 0; k < p->n; k++) {
        int own = pointwise_classes[p->in[k].class].size,
            raw = p->in[k].slot != CONSTANT ? (int)dtype_size(p->in[k].dtype) : 1;
        widest = own > widest ? own : widest;
        widest = raw > widest ? raw : widest;
    }
    bool stages = p->streams && !((p->out_is_native || p->halves) && loop_can_stream);
    int64_t block = (stages ? STREAM_BYTES : BLOCK_BYTES) / (out_size > widest ? out_size : widest);
    bool turned = bring_dense_dimension(p);
    if (l->sizes[0] < least_row && !turned && !p->streams) {
        bring_long_dimension(p);
    }
    if (l->sizes[0] < least_row) {
        p->by_tile = true;
        p->tile[0] = l->sizes[0];
        p->tile[1] = smaller(l->sizes[1], block / l->sizes[0]);
    } else if (turned) {
        p->tile[1] = smaller(l->sizes[1], TILE_ROWS * 4 / (widest < 4 ? 4 : widest));
        p->tile[0] = smaller(l->sizes[0], block / p->tile[1]);
    } else {
        int64_t many = l->sizes[1] / LEAST_TILES; /* for threads to share */
        p->tile[0] = smaller(l->sizes[0], block);
        p->tile[1] = smaller(many > 1 ? many : 1, block / p->tile[0]);
    }
    p->n_tiles = 1;
    for (int d = 0; d < 2; d++) {
        p->steps[d] = (l->sizes[d] + p->tile[d] - 1) / p->tile[d];
        p->n_tiles *= p->steps[d];
    }
    for (int d = 2; d < l->ndim; d++) {
        p->n_tiles *= l->sizes[d];
    }
}

static bool tiles_are_dense(const tiled *p, int slot, int64_t size) {
    const loop *l = &p->nest;
    return rows_are_dense(l, slot, size) &&
           (p->tile[1] == 1 || (p->tile[0] == l->sizes[0] && l->strides[slot][1] == l->sizes[0] * size));
}

/* Whether each stretch that the loop writes begins on a line. */
static bool lines_align(const tiled *p, int64_t size) {
    const loop *l = &p->nest;
    uintptr_t all = (uintptr_t)l->data[0];
    all |= p->steps[0] > 1 ? (uintptr_t)(p->tile[0] * size) : 0;
    for (int d = 1; d < l->ndim; d++) {
        bool within = d == 1 && p->by_tile && p->steps[1] == 1; /* flat tiles: rows follow each other */
        all |= l->sizes[d] > 1 && !within ? (uintptr_t)(l->strides[0][d] * (d == 1 && p->by_tile ? p->tile[1] : 1)) : 0;
    }
    return all % STREAM_LINE_BYTES == 0 && (!p->by_tile || p->out_is_flat);
}

/* as_halves: rows that repeat stay as they are; else they are brought to f32 once. */
static void choose_places(tiled *p, bool loop_can_stream, bool as_halves) {
    const loop *l = &p->nest;
    for (int k = 0; k < p->n; k++) {
        source *in = &p->in[k];
        bool repeats = in->slot != CONSTANT && l->strides[in->slot][1] == 0 && l->sizes[1] > 1;
        in->is_half = p->halves && in->slot != CONSTANT && in->dtype == p->compute && (as_halves || !repeats);
        in->is_row = in->is_flat = false;
        if (in->slot != CONSTANT && (in->is_half || pointwise_is_native(in->class, in->dtype))) {
            in->is_row = rows_are_dense(l, in->slot, (int64_t)dtype_size(in->dtype));
            in->is_flat = tiles_are_dense(p, in->slot, (int64_t)dtype_size(in->dtype));
        }
    }
    int64_t size = (int64_t)dtype_size(p->out_dtype);
    p->out_is_flat = tiles_are_dense(p, 0, size);
    p->streams = p->streams && (p->out_is_flat || p->tile[0] * size >= 512);
    bool loop_stores = p->out_is_native || p->halves;
    p->loop_streams = p->streams && loop_can_stream && loop_stores && lines_align(p, size);
    p->out_is_row = loop_stores && (!p->streams || p->loop_streams) && rows_are_dense(l, 0, size);
    p->makes_halves = p->halves && (p->streams || (p->out_is_row && (!p->by_tile || p->out_is_flat)));
}

static pointwise_halves_loop *find_in_one_go(const tiled *p, pointwise_op id) {
    int step[POINTWISE_INPUTS];
    for (int k = 0; k < p->n; k++) {
        step[k] = pointwise_half_step(p, k);
    }
    return p->halves && (p->out_is_row || p->makes_halves) ? pointwise_halves_in_one_go(p->isa, id, step, p->n) : NULL;
}

/* Whether an operand is one number in each row. */
static bool is_number_of_row(const tiled *p, int k) {
    int slot = p->in[k].slot;
    return slot == CONSTANT || p->nest.strides[slot][0] == 0;
}

/* The loop that takes one of two operands, a number in each row, as such; NULL where there is none. */
static pointwise_loop *find_number_loop(const tiled *p, const pointwise_loops *loops, pointwise_op id, int *which) {
    if (p->n != 2 || p->halves || is_number_of_row(p, 0) == is_number_of_row(p, 1)) {
        return NULL;
    }
    *which = is_number_of_row(p, 0) ? 0 : 1;
    bool spares = p->in[*which].slot == CONSTANT || p->nest.sizes[0] >= MIN_NUMBER_ROW;
    return spares ? (*which == 0 ? loops->number_first : loops->number)[id] : NULL;
}

/* Whether a loop over halves in one go takes one of two operands as a number for each row: *which. */
static bool find_row_number(const tiled *p, pointwise_op id, int *which) {
    static const int steps[2][2] = {{0, 2}, {2, 0}};
    if (p->n != 2 || !p->halves || is_number_of_row(p, 0) == is_number_of_row(p, 1)) {
        return false;
    }
    const int k = is_number_of_row(p, 0) ? 0 : 1;
    const source *in = &p->in[k], *other = &p->in[1 - k];
    bool fits = in->slot != CONSTANT && p->nest.sizes[0] >= MIN_NUMBER_ROW && other->slot != CONSTANT && other->dtype == p->compute &&
                rows_are_dense(&p->nest, other->slot, (int64_t)dtype_size(other->dtype));
    *which = fits ? k : *which;
    return fits && pointwise_halves_in_one_go(p->isa, id, steps[k], 2) != NULL;
}

/* Whether rows of results hold one number each: it is made once. What goes past the caches takes as long either way. */
static bool rows_repeat(const tiled *p) {
    bool all = p->nest.sizes[0] >= MIN_REPEATED;
    for (int k = 0; k < p->n; k++) {
        all = all && is_number_of_row(p, k);
    }
    return all && !p->streams && !p->halves && rows_are_dense(&p->nest, 0, (int64_t)dtype_size(p->out_dtype));
}

/* Where nothing is brought into blocks but one number, tiles may be as long as threads still share them evenly: the loop is called
   once for many, or for row after row. */
static void widen_tiles(tiled *p, const source *alone) {
    bool lies_in_place = p->loop_streams && !p->by_tile && !p->halves && p->out_is_row;
    for (int k = 0; k < p->n; k++) {
        const source *in = &p->in[k];
        lies_in_place = lies_in_place && (in->slot == CONSTANT ? in == alone && in->is_number : in->is_row);
    }
    const bool has_rows = p->steps[0] == 1;
    const int d = has_rows ? 1 : 0;
    if (lies_in_place && (has_rows || p->tile[1] == 1) && p->steps[d] > LONG_TILES) {
        int64_t tiles = p->n_tiles / p->steps[d];
        p->tile[d] *= p->steps[d] / LONG_TILES;
        p->steps[d] = (p->nest.sizes[d] + p->tile[d] - 1) / p->tile[d];
        p->n_tiles = tiles * p->steps[d];
    }
}

/* Tiles and places for halves to be taken as they are, or in f32. Returns whether one operand, *which, is taken as a number. */
static bool choose_with(kernel_plan *plan, tiled *p, const pointwise_choice *c, const pointwise_loops *streaming, int *which) {
    bool loop_can_stream = p->halves || (streaming != NULL && streaming->op[c->op] != NULL);
    bool has_number = find_number_loop(p, p->loops, c->op, which) != NULL, of_row = find_row_number(p, c->op, which);
    choose_tiles(p, plan->call->op->in_place, loop_can_stream, has_number || of_row ? MIN_NUMBER_ROW : MIN_ROW);
    of_row = of_row && !p->by_tile && find_row_number(p, c->op, which); /* tiles may have turned the dimensions */
    p->in[*which].is_number = of_row;
    choose_places(p, loop_can_stream, true);
    p->in_one_go = find_in_one_go(p, c->op);
    if (p->in_one_go == NULL) {
        p->in[*which].is_number = of_row = false;
        choose_places(p, loop_can_stream, false);
    }
    return has_number || of_row;
}

/* The same, and which of both: what stays in caches and has no loop that makes halves of halves in one go is brought to f32 by
   whole tiles. */
static bool choose_halves(kernel_plan *plan, tiled *p, const pointwise_choice *c, const pointwise_loops *streaming, int *which) {
    const loop as_placed = p->nest;
    bool is_large = tensor_numel(&plan->out->items[0]) * (int64_t)dtype_size(p->out_dtype) >= STREAM_MIN_BYTES;
    p->halves = c->class == CLASS_F32 && dtype_size(c->compute) == 2 &&
                (c->out_class == CLASS_U8 ? c->out_is_native : p->out_dtype == c->compute);
    bool has_number = choose_with(plan, p, c, streaming, which);
    bool is_kept = !is_large && (p->in_one_go == NULL || c->out_class == CLASS_U8);
    if (p->halves && is_kept) {
        p->halves = p->by_tile = false;
        p->nest = as_placed;
        has_number = choose_with(plan, p, c, streaming, which);
    }
    return has_number;
}

status pointwise_prepare_tiled(kernel_plan *plan, const pointwise_spec *spec, const pointwise_choice *c, error *err) {
    const op_row *row = plan->call->op->row;
    tiled *p = arena_make(plan->memory, 1, sizeof *p);
    if (p == NULL) {
        return fail(err, ASSAY_OUT_OF_MEMORY, "no memory for a plan");
    }
    p->isa = isa_best();
    p->loops = pointwise_classes[c->class].loops[p->isa];
    p->compute = c->compute;
    p->row = row;
    p->out_class = c->out_class;
    p->out_is_native = c->out_is_native;
    p->out_dtype = plan->out->items[0].dtype;
    p->out_loops = pointwise_classes[c->out_class].loops[p->isa];
    p->move = pointwise_move_tables[p->isa];
    p->n = spec->n;
    memcpy(p->s, spec->s, sizeof p->s);
    place_operands(plan, spec, c, p);
    loop *l = &p->nest;
    if (l->ndim == 1) { /* tiles have two dimensions */
        l->ndim = 2;
        l->sizes[1] = 1;
        for (int k = 0; k < l->n_operands; k++) {
            l->strides[k][1] = 0;
        }
    }
    const pointwise_loops *streaming = pointwise_classes[c->class].streaming[p->isa];
    int which = 0;
    bool has_number = choose_halves(plan, p, c, streaming, &which);
    const pointwise_loops *loops = p->loop_streams && !p->halves ? streaming : p->loops;
    p->loop = loops->op[c->op];
    p->repeats = rows_repeat(p);
    source *in = &p->in[which];
    if (has_number && !p->halves && (!p->by_tile || in->slot == CONSTANT)) {
        p->loop = find_number_loop(p, loops, c->op, &which);
        in->is_row = in->slot != CONSTANT && pointwise_is_native(in->class, in->dtype); /* as much of one as is read */
        in->is_number = !in->is_row;
    }
    widen_tiles(p, has_number ? &p->in[which] : NULL);
    plan->state = p;
    plan->run = pointwise_run_tiled;
    return ASSAY_OK;
}
