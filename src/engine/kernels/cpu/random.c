/* SPDX-License-Identifier: Apache-2.0 */
/* Random operators. Element i of the loop's order takes word i (f64: words 2i and 2i + 1) of the call's Philox stream,
   so that values do not depend on how many threads share the work. */
#include "engine/kernels/cpu/isa/random_loops.h"
#include "engine/kernels/cpu/kernels.h"
#include "engine/kernels/cpu/move.h"
#include "engine/kernels/cpu/parallel.h"
#include "engine/tensor/loop.h"

#include <math.h>
#include <string.h>

/* Elements made at a time, in L1. A multiple of 4, so that pieces start at whole blocks. */
enum { PIECE = 1024 };

/* Room of one piece: words, then values on their way in and out. */
typedef struct piece_room {
    uint32_t words[2 * PIECE + 4];
    double in[PIECE];
    double out[PIECE];
    uint8_t mask[PIECE];
} piece_room;

typedef struct draw draw;

/* Makes n elements from the stream's element `at` on: out (contiguous, output 0's type), and mask where there is one,
   from in (contiguous, f32 or f64). */
typedef void piece_fn(const draw *k, piece_room *room, int64_t at, void *out, const void *in, int64_t n);

struct draw {
    loop l;          /* operands: output 0, then the mask, then the tensor read */
    int mask, input; /* which operand they are, or -1 */
    piece_fn *make;
    const random_loops *random;
    const copy_loops *copy;
    converter load, store; /* of the input and output 0, from and to f32 or f64 */
    bool wide;             /* values are doubles */
    uint64_t seed;
    uint64_t limit; /* words below it count as chosen */
    uint64_t one;   /* 1 as an element */
    double a, b;    /* from and width, mean and deviation, scale */
    dtype type;
    dtype input_type;
    int log2;
};

/* --- pieces
 * ---------------------------------------------------------------------------------------------------------------------
 */

/* Words of n elements (`each` a piece) from element `at` on. A row may start inside a block: then the words begin
 * there. */
static const uint32_t *words_for(const draw *k, piece_room *room, int64_t at, int64_t n, int each) {
    int64_t first = at * each, block = first / 4, last = (first + n * each + 3) / 4;
    k->random->words(room->words, k->seed, (uint64_t)block, last - block);
    return room->words + first % 4;
}

static void make_bernoulli(const draw *k, piece_room *room, int64_t at, void *out, const void *in, int64_t n) {
    (void)in;
    k->random->choose(out, k->log2, k->one, words_for(k, room, at, n, 1), k->limit, n);
}

static void make_bernoulli_each(const draw *k, piece_room *room, int64_t at, void *out, const void *in, int64_t n) {
    float *chosen = (float *)room->out;
    k->random->choose_each(chosen, in, words_for(k, room, at, n, 1), n);
    converter_run(&k->store, out, chosen, n);
}

/* As many bits as the type has, so that rounding never reaches the upper end of [0, 1). */
static int bits_of(dtype t) {
    return t == ASSAY_BF16 ? 8 : t == ASSAY_F16 ? 11 : 24;
}

static void make_uniform(const draw *k, piece_room *room, int64_t at, void *out, const void *in, int64_t n) {
    (void)in;
    if (k->wide) {
        k->random->uniform_f64(out, words_for(k, room, at, n, 2), k->a, k->b, n);
        return;
    }
    float *values = (float *)room->out;
    k->random->uniform(values, words_for(k, room, at, n, 1), bits_of(k->type), (float)k->a, (float)k->b, n);
    converter_run(&k->store, out, values, n);
}

/* Box and Muller (1958): each element from two words of its own, so that it does not hang on where its row starts. The deviation comes last:
   times the radius alone it might be infinite where the value is not. */
static void make_normal(const draw *k, piece_room *room, int64_t at, void *out, const void *in, int64_t n) {
    const uint32_t *words = words_for(k, room, at, n, 2);
    (void)in;
    for (int64_t i = 0; i < n; i++) {
        if (k->wide) {
            double radius = sqrt(-2 * log(((double)words[2 * i] + 1) * 0x1p-32));
            ((double *)out)[i] = k->a + k->b * (radius * cos(2 * M_PI * (double)words[2 * i + 1] * 0x1p-32));
        } else {
            float radius = sqrtf(-2 * logf(((float)(words[2 * i] >> 8) + 1) * 0x1p-24f));
            float angle = (float)(2 * M_PI) * (float)(words[2 * i + 1] >> 8) * 0x1p-24f;
            ((float *)room->out)[i] = (float)k->a + (float)k->b * (radius * cosf(angle));
        }
    }
    if (!k->wide) {
        converter_run(&k->store, out, room->out, n);
    }
}

static void make_dropout(const draw *k, piece_room *room, int64_t at, void *out, const void *in, int64_t n) {
    const uint32_t *words = words_for(k, room, at, n, 1);
    if (k->wide) {
        k->random->drop_f64(out, room->mask, in, words, k->limit, k->b, n);
        return;
    }
    /* f32 goes straight out; the half types through the space their words are no longer needed in. */
    float *values = k->type == ASSAY_F32 ? out : (float *)room->out;
    k->random->drop(values, room->mask, in, words, k->limit, (float)k->b, n);
    if (k->type != ASSAY_F32) {
        converter_run(&k->store, out, values, n);
    }
}

/* --- running
 * --------------------------------------------------------------------------------------------------------------------
 */

/* The input's piece as contiguous f32 or f64. */
static const void *load_piece(const draw *k, piece_room *room, const char *at, int64_t n) {
    ptrdiff_t size = (ptrdiff_t)dtype_size(k->input_type), stride = k->l.strides[k->input][0];
    const void *row = at;
    if (stride != size) {
        int log2 = size == 2 ? 1 : size == 4 ? 2 : 3;
        k->copy->strided((char *)room->out, at, log2, n, size, stride);
        row = room->out;
    }
    if (k->input_type == (k->wide ? ASSAY_F64 : ASSAY_F32)) {
        return row;
    }
    converter_run(&k->load, room->in, row, n);
    return room->in;
}

static void run_piece(const draw *k, piece_room *room, int64_t at, int64_t n, const int64_t *offsets, int64_t column) {
    const loop *l = &k->l;
    ptrdiff_t size = (ptrdiff_t)1 << k->log2;
    char *to = l->data[0] + offsets[0] + column * l->strides[0][0];
    const void *in = NULL;
    char made[PIECE * sizeof(double)];
    bool contiguous = l->strides[0][0] == size;
    if (k->input >= 0) {
        in = load_piece(k, room, l->data[k->input] + offsets[k->input] + column * l->strides[k->input][0], n);
        if (in == room->out) { /* about to be written */
            memcpy(room->in, room->out, (size_t)n * (k->wide ? sizeof(double) : sizeof(float)));
            in = room->in;
        }
    }
    k->make(k, room, at, contiguous ? to : made, in, n);
    if (!contiguous) {
        k->copy->strided(to, made, k->log2, n, l->strides[0][0], size);
    }
    if (k->mask >= 0) {
        k->copy->strided(l->data[k->mask] + offsets[k->mask] + column * l->strides[k->mask][0],
                         (const char *)room->mask, 0, n, l->strides[k->mask][0], 1);
    }
}

/* Pieces [from, to) of all rows' pieces. */
static void run_pieces(const draw *k, int64_t from, int64_t to) {
    piece_room room;
    int64_t index[TENSOR_MAX_DIMS], offsets[LOOP_MAX_OPERANDS];
    int64_t width = k->l.sizes[0], pieces = (width + PIECE - 1) / PIECE, row = -1;
    for (int64_t i = from; i < to; i++) {
        int64_t column = i % pieces * PIECE, left = width - column;
        if (i / pieces != row) {
            row = i / pieces;
            loop_seek(&k->l, row * width, index, offsets);
        }
        run_piece(k, &room, row * width + column, left < PIECE ? left : PIECE, offsets, column);
    }
}

static status run(kernel_plan *plan) {
    const draw *k = plan->state;
    if (k->l.numel == 0) {
        return ASSAY_OK;
    }
    int64_t width = k->l.sizes[0], pieces = (width + PIECE - 1) / PIECE * (k->l.numel / width);
    /* A random word costs about as much as moving 16 bytes. */
    int threads = parallel_threads(16.0 * (double)k->l.numel);
    if (threads == 1) {
        run_pieces(k, 0, pieces);
        return ASSAY_OK;
    }
    const observer *watch = observer_of_thread;
#pragma omp parallel num_threads(threads)
    {
        parallel_enter(watch);
        int64_t from, to;
        parallel_share(pieces, 1, &from, &to);
        run_pieces(k, from, to);
        parallel_leave(watch);
    }
    return ASSAY_OK;
}

/* --- preparing
 * ------------------------------------------------------------------------------------------------------------------ */

/* p of all words, to the nearest of 2^32. */
static uint64_t limit_of(double p) {
    return (uint64_t)(p * 0x1p32 + 0.5);
}

static status prepare(kernel_plan *plan, piece_fn *make, tensor *mask, tensor *input, draw **out, error *err) {
    tensor *operands[3] = {&plan->out->items[0]}, *dst = operands[0];
    draw *k = arena_make(plan->memory, 1, sizeof *k);
    int n = 1;
    if (k == NULL) {
        return fail(err, ASSAY_OUT_OF_MEMORY, "no memory for the plan of %s", plan->call->op->signature.full);
    }
    *k = (draw){.mask = -1, .input = -1, .make = make, .random = random_loops_best(), .copy = copy_loops_best()};
    if (mask != NULL) {
        k->mask = n;
        operands[n++] = mask;
    }
    k->type = dst->dtype;
    k->wide = dst->dtype == ASSAY_F64;
    if (input != NULL) {
        k->input = n;
        operands[n++] = input;
        k->input_type = input->dtype;
        converter_make(&k->load, k->wide ? ASSAY_F64 : ASSAY_F32, input->dtype);
    }
    loop_init(&k->l, dst->ndim, dst->sizes, operands, n);
    converter_make(&k->store, dst->dtype, k->wide ? ASSAY_F64 : ASSAY_F32);
    k->seed = plan->call->seed;
    while ((size_t)1 << k->log2 < dtype_size(dst->dtype)) {
        k->log2++;
    }
    element_store_int(dst->dtype, &k->one, 1);
    plan->state = k;
    plan->run = run;
    *out = k;
    return ASSAY_OK;
}

/* bernoulli_.float(self, p), bernoulli.p(self, p) */
static status prepare_bernoulli_p(kernel_plan *plan, error *err) {
    draw *k;
    TRY(prepare(plan, make_bernoulli, NULL, NULL, &k, err));
    k->limit = limit_of(call_float(plan->call, 1));
    return ASSAY_OK;
}

/* Probabilities are compared in f32, whatever the output's type: 24 bits of them are more than any test can see. */
static status prepare_each(kernel_plan *plan, tensor *p, error *err) {
    draw *k;
    TRY(prepare(plan, make_bernoulli_each, NULL, p, &k, err));
    k->wide = false;
    converter_make(&k->load, ASSAY_F32, p->dtype);
    converter_make(&k->store, k->type, ASSAY_F32);
    return ASSAY_OK;
}

/* bernoulli_.Tensor(self, p) */
static status prepare_bernoulli_tensor(kernel_plan *plan, error *err) {
    return prepare_each(plan, call_tensor(plan->call, 1), err);
}

/* bernoulli(self) */
static status prepare_bernoulli(kernel_plan *plan, error *err) {
    return prepare_each(plan, call_tensor(plan->call, 0), err);
}

/* uniform_(self, from, to) */
static status prepare_uniform(kernel_plan *plan, error *err) {
    draw *k;
    TRY(prepare(plan, make_uniform, NULL, NULL, &k, err));
    k->a = call_float(plan->call, 1);
    k->b = call_float(plan->call, 2) - k->a;
    return ASSAY_OK;
}

/* normal_(self, mean, std) */
static status prepare_normal(kernel_plan *plan, error *err) {
    draw *k;
    TRY(prepare(plan, make_normal, NULL, NULL, &k, err));
    k->a = call_float(plan->call, 1);
    k->b = call_float(plan->call, 2);
    return ASSAY_OK;
}

/* native_dropout(input, p, train): without training everything is kept as it is. */
static status prepare_dropout(kernel_plan *plan, error *err) {
    draw *k;
    bool trains = call_is_none(plan->call, 2) || call_bool(plan->call, 2);
    double keep = trains ? 1 - call_float(plan->call, 1) : 1;
    TRY(prepare(plan, make_dropout, &plan->out->items[1], call_tensor(plan->call, 0), &k, err));
    k->limit = limit_of(keep);
    k->b = keep == 0 ? 0 : 1 / keep;
    return ASSAY_OK;
}

static const kernel_row rows[] = {
    {"bernoulli_.float", prepare_bernoulli_p, NULL},       {"bernoulli.p", prepare_bernoulli_p, NULL},
    {"bernoulli_.Tensor", prepare_bernoulli_tensor, NULL}, {"bernoulli.default", prepare_bernoulli, NULL},
    {"uniform_.default", prepare_uniform, NULL},           {"normal_.default", prepare_normal, NULL},
    {"native_dropout.default", prepare_dropout, NULL},
};

const kernel_rows kernels_random = {rows, countof(rows)};
