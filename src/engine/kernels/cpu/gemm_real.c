/* SPDX-License-Identifier: Apache-2.0 */
/* Which code multiplies: oneDNN for f32 and bf16 (f16 in f32), our own tiles for f64 and integers. */
#include "engine/kernels/cpu/gemm_real.h"

#include "base/pages.h"
#include "device/caches.h"
#include "device/instructions.h"
#include "engine/kernels/cpu/isa/convert_loops.h"
#include "engine/kernels/cpu/isa/gemm_loops.h"
#include "engine/kernels/cpu/onednn.h"
#include "engine/kernels/cpu/parallel.h"
#include "engine/kernels/cpu/stage.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

struct gemm_real {
    gemm_shape shape;      /* of one part: batches that go through copies together */
    int64_t n_parts;
    bool alone;            /* on one thread */
    dtype compute;         /* f32, bf16, f64, i32 or i64 */
    dtype sums;            /* of c and the row: compute, or f32 where a summand is scaled that bf16 would round once more */
    onednn *library;       /* NULL: own loops */
    gemm_block_fn *own;
    char *work;            /* of own loops: GEMM_WORK_BYTES for each of n_threads */
    int n_threads;
    bool staged[3];        /* a, b, c go through a copy */
    stage stages[3];
    int64_t strides[3][3]; /* of a, b, c as computed on */
    bool adds_row;         /* oneDNN adds the summand, a row, itself */
    void *row;             /* that row in the type of sums; NULL: as given */
    bool adds_c;           /* c is filled with beta * summand first */
    char code[96];
};

gemm_block_fn *gemm_loops_pick(dtype t) {
    static const gemm_loops *const all[ISA_COUNT] = {
        [ISA_BASELINE] = &gemm_loops_baseline,
#if defined(__x86_64__)
        [ISA_AVX2] = &gemm_loops_avx2,
        [ISA_AVX512] = &gemm_loops_avx512,
#endif
    };
    const gemm_loops *l = all[isa_best()];
    return t == ASSAY_F64 ? l->f64 : t == ASSAY_F32 ? l->f32 : t == ASSAY_I32 ? l->i32 : l->i64;
}

gemm_shape gemm_shape_plain(dtype t, int64_t m, int64_t n, int64_t k) {
    return (gemm_shape){.dtype = t,
                        .batch = 1,
                        .m = m,
                        .n = n,
                        .k = k,
                        .a = {m * k, k, 1},
                        .b = {k * n, n, 1},
                        .c = {m * n, n, 1},
                        .alpha = number_of_int(1),
                        .beta = number_of_int(0)};
}

const char *gemm_real_code(const gemm_real *g) {
    return g->code;
}

void gemm_real_clear(gemm_real *g) {
    if (g != NULL) {
        onednn_free(g->library);
        g->library = NULL;
    }
}

/* --- preparing ------------------------------------------------------------------------------------------------------------ */

/* One matrix for all of a batch has a batch of 1 itself. */
static void operand_tensor(const gemm_shape *s, int which, tensor *t) {
    const int64_t sizes[3][3] = {{s->batch, s->m, s->k}, {s->batch, s->k, s->n}, {s->batch, s->m, s->n}};
    const int64_t *strides = which == 0 ? s->a : which == 1 ? s->b : s->c;
    memset(t, 0, sizeof *t);
    t->dtype = s->dtype;
    t->ndim = 3;
    memcpy(t->sizes, sizes[which], sizeof sizes[which]);
    t->sizes[0] = which < 2 && strides[0] == 0 ? 1 : s->batch;
    memcpy(t->strides, strides, 3 * sizeof *strides);
}

/* oneDNN wants one of the two matrix dimensions to be dense, no overlap, and every batch apart, or an operand to be the same for all. */
static bool library_takes(const tensor *t) {
    bool has_unit = t->strides[2] == 1 || t->strides[1] == 1 || t->sizes[1] == 1 || t->sizes[2] == 1;
    return has_unit && stage_is_disjoint(t);
}

static status stage_operands(gemm_real *g, bool is_library, arena *memory, error *err) {
    for (int i = 0; i < 3; i++) {
        tensor t;
        operand_tensor(&g->shape, i, &t);
        memcpy(g->strides[i], t.strides, sizeof g->strides[i]);
        dtype inner = i == 2 ? g->sums : g->compute;
        g->staged[i] = t.dtype != inner || (is_library && !library_takes(&t));
        if (g->staged[i]) {
            TRY(stage_prepare(&g->stages[i], &t, inner, memory, err));
            memcpy(g->strides[i], g->stages[i].layout.strides, sizeof g->strides[i]);
            g->strides[i][0] = t.sizes[0] < g->shape.batch ? 0 : g->strides[i][0];
        }
    }
    return ASSAY_OK;
}

/* A summand that is one row for all rows and batches. */
static bool is_row(const gemm_shape *s) {
    bool is_unit = s->summand[2] == 1 || s->n == 1;
    bool may_be_c = s->batch == 1 && s->m == 1 && (s->summand[2] == s->c[2] || s->n == 1); /* which oneDNN writes before it adds */
    return (s->batch == 1 || s->summand[0] == 0) && (s->m == 1 || s->summand[1] == 0) && is_unit && !may_be_c && s->beta.f == 1;
}

/* Whether oneDNN is faster for bringing b to a layout of its own first, in the run. Rows of b that lie a page or more apart halve its
   speed where it takes them as they are (2048 x 768 x 3072: 128 GFLOP/s, and 230 so; Sapphire Rapids, 2026-11); bringing b there costs
   about as much as 50 rows of a. Rows of bf16 it pairs anew for every block of rows of a: worth doing once where those are many and b is
   small (8192 x 128 x 128: 145 us, and 125 so; Granite Rapids, 2026-11). */
static bool wants_own_layout(const gemm_real *g) {
    enum { MANY_ROWS = 512, MOST_ROWS = 4096, SMALL_NUMEL = 1 << 16, LEAST_COLUMNS = 32 };
    const gemm_shape *s = &g->shape;
    const int64_t *b = g->strides[1];
    if (s->m >= MANY_ROWS && b[1] * (int64_t)dtype_size(g->compute) >= PAGE_BYTES) {
        return true;
    }
    bool is_small = s->n >= LEAST_COLUMNS && s->k * s->n <= SMALL_NUMEL;
    return g->compute == ASSAY_BF16 && s->batch == 1 && b[2] == 1 && is_small && s->m >= MOST_ROWS;
}

static status prepare_library(gemm_real *g, arena *memory, error *err) {
    const gemm_shape *s = &g->shape;
    onednn_matmul m = {.dtype = g->compute, .batch = s->batch, .m = s->m, .n = s->n, .k = s->k, .alpha = s->alpha.f};
    m.sums_f32 = g->sums == ASSAY_F32;
    m.own_layouts = wants_own_layout(g);
    m.adds_row = g->adds_row = g->adds_c && is_row(s);
    g->adds_c = m.adds_c = g->adds_c && !g->adds_row;
    memcpy(m.a, g->strides[0], sizeof m.a);
    memcpy(m.b, g->strides[1], sizeof m.b);
    memcpy(m.c, g->strides[2], sizeof m.c);
    TRY(onednn_matmul_prepare(&m, memory, &g->library, err));
    if (g->adds_row && s->dtype != g->sums) {
        g->row = arena_make(memory, (size_t)s->n, dtype_size(g->sums));
        if (g->row == NULL) {
            return fail(err, ASSAY_OUT_OF_MEMORY, "no memory for a matrix product");
        }
    }
    snprintf(g->code, sizeof g->code, "oneDNN %s", onednn_code(g->library));
    return ASSAY_OK;
}

static status prepare_own(gemm_real *g, arena *memory, error *err) {
    const gemm_shape *s = &g->shape;
    g->own = gemm_loops_pick(g->compute);
    double flops = 2.0 * (double)s->batch * (double)s->m * (double)s->n * (double)s->k;
    g->n_threads = parallel_threads(flops); /* a byte of traffic takes about the time of a multiplication */
    g->work = arena_make(memory, (size_t)g->n_threads, GEMM_WORK_BYTES);
    snprintf(g->code, sizeof g->code, "own %s", assay_dtype_name(g->compute));
    return g->work != NULL ? ASSAY_OK : fail(err, ASSAY_OUT_OF_MEMORY, "no memory for a matrix product");
}

/* Copies of all batches would go to memory and back. So many batches at once that threads keep theirs in their caches,
   as long as each thread has some, and as divide them all. */
static int64_t part_of_batches(const gemm_shape *s, dtype compute) {
    double one = ((double)s->m * (double)s->k + (double)s->k * (double)s->n + (double)s->m * (double)s->n) *
                 (double)(dtype_size(compute) + dtype_size(s->dtype));
    int threads = omp_get_max_threads();
    double room = (double)threads * (SET_BYTES * SET_LINES);
    int64_t most = one < room ? (int64_t)(room / one) : 1;
    for (int64_t part = most; part > 1 && part < s->batch; part--) {
        if (s->batch % part == 0 && part % threads == 0) {
            return part;
        }
    }
    return s->batch;
}

static dtype computed_in(dtype t) {
    return t == ASSAY_F16 ? ASSAY_F32 : dtype_is_integral(t) && t != ASSAY_I64 ? ASSAY_I32 : t;
}

/* A summand of bf16 that is as it was, or has another exponent, is a bf16. */
static dtype sums_of(const gemm_shape *s) {
    int exponent;
    bool scales = s->dtype == ASSAY_BF16 && s->has_summand && s->beta.f != 0 && fabs(frexp(s->beta.f, &exponent)) != 0.5;
    return scales ? ASSAY_F32 : computed_in(s->dtype);
}

/* What oneDNN 2.6 gets wrong. Of bf16 a depth of 63, an inner block of 32 and one of 31 behind it, multiplies tiles of another
   shape than they are configured for where rows are left over as well (33 x 63 x 64): an illegal instruction. Of no factor
   at all it may add what lay in c before. */
static bool library_errs(const gemm_real *g) {
    return (g->compute == ASSAY_BF16 && g->shape.k == 63) || (float)g->shape.alpha.f == 0;
}

static status prepare_in(gemm_real *g, dtype compute, bool is_library, arena *memory, error *err) {
    g->compute = compute;
    g->sums = compute == ASSAY_BF16 ? sums_of(&g->shape) : compute;
    g->adds_row = false;
    g->adds_c = g->shape.has_summand && g->shape.beta.f != 0;
    TRY(stage_operands(g, is_library, memory, err));
    if (!is_library) {
        return prepare_own(g, memory, err);
    }
    return library_errs(g) ? ASSAY_UNSUPPORTED : prepare_library(g, memory, err);
}

/* By oneDNN, bf16 in f32 where the CPU has no instructions for it, or slow ones; or by our own loops where it has nothing for the type or shape. */
static status prepare_real(gemm_real *g, arena *memory, error *err) {
    bool is_float = g->compute == ASSAY_F32 || g->compute == ASSAY_BF16;
    status result = ASSAY_UNSUPPORTED;
    if (is_float && g->shape.k > 0) { /* without terms to sum up, any of them will do */
        result = prepare_in(g, g->compute, true, memory, err);
        result = result == ASSAY_UNSUPPORTED && g->compute == ASSAY_BF16 ? prepare_in(g, ASSAY_F32, true, memory, err) : result;
    }
    return result == ASSAY_UNSUPPORTED ? prepare_in(g, is_float ? ASSAY_F32 : g->compute, false, memory, err) : result;
}

/* Rows of a long thin product as batches of it, whose copies stay in the caches: as many for each thread. */
static gemm_shape in_batches(const gemm_shape *s) {
    enum { LONG = 4096, LEAST_ROWS = 256, MOST_ROWS = 1024, SMALL_NUMEL = 1 << 16 };
    gemm_shape cut = *s;
    for (int64_t rows = MOST_ROWS; rows >= LEAST_ROWS && s->batch == 1 && s->m >= LONG && s->k * s->n <= SMALL_NUMEL; rows--) {
        if (s->m % rows == 0 && s->m / rows % omp_get_max_threads() == 0) {
            cut.batch = s->m / rows;
            cut.m = rows;
            cut.a[0] = rows * s->a[1];
            cut.b[0] = 0;
            cut.c[0] = rows * s->c[1];
            cut.summand[0] = rows * s->summand[1];
            break;
        }
    }
    return cut;
}

/* Whether one thread is done before two have met: 32 x 32 x 32 of f32 in 0.8 us instead of 2. Before they have handed each other copies
   it does more: 64 x 64 x 64 of f16 in 5 us instead of 12 (Granite Rapids, 2026-11). */
static bool is_for_one(const gemm_shape *s, dtype compute) {
    enum { MOST_PRODUCTS = 128 << 10, MOST_OF_COPIES = 2 << 20, MOST_BYTES = 512 << 10 };
    double products = (double)s->batch * (double)(s->m * s->n) * (double)s->k;
    double numel = (double)s->batch * (double)(s->m * s->k + s->k * s->n + s->m * s->n);
    bool copies = compute != s->dtype && numel * (double)(dtype_size(compute) + dtype_size(s->dtype)) <= MOST_BYTES;
    return products <= (copies ? MOST_OF_COPIES : MOST_PRODUCTS);
}

/* Whether bf16 are multiplied in f32 where that is faster: what there is to multiply has to be worth three copies, and not so much that
   two threads had better share what one does with copies. 1024 x 1024 x 1024 takes 8.2 ms so, and 13.7 in bf16, 128 x 128 x 128 31 us and 26,
   8 x 1024 x 4096 1.6 times as long (two cores of an Emerald Rapids, 2026-11). */
static bool widens_bf16(const gemm_shape *s) {
    enum { PRODUCTS_OF_ELEMENT = 32, IN_CACHES = 20, CACHED_NUMEL = 64 << 10, MOST_ALONE = 1 << 20 };
    const double one = (double)(s->m * s->k + s->k * s->n + s->m * s->n), products = (double)(s->m * s->n) * (double)s->k;
    const bool is_small = (double)s->batch * one <= CACHED_NUMEL;
    return s->dtype == ASSAY_BF16 && isa_multiplies_bf16_slowly() && products >= one * (is_small ? IN_CACHES : PRODUCTS_OF_ELEMENT) &&
           !(is_for_one(s, ASSAY_F32) && (double)s->batch * products > MOST_ALONE);
}

/* How many threads there were; `only` one from now on. */
static int threads_before(bool only) {
    int threads = omp_get_max_threads();
    if (only) {
        omp_set_num_threads(1);
    }
    return threads;
}

status gemm_real_prepare(const gemm_shape *shape, arena *memory, gemm_real **out, error *err) {
    gemm_real *g = arena_make(memory, 1, sizeof *g);
    if (g == NULL) {
        return fail(err, ASSAY_OUT_OF_MEMORY, "no memory for a matrix product");
    }
    g->shape = *shape;
    g->compute = widens_bf16(shape) ? ASSAY_F32 : computed_in(shape->dtype);
    g->n_parts = 1;
    if (g->compute != shape->dtype) {
        gemm_shape whole = in_batches(shape);
        g->shape = whole;
        g->shape.batch = part_of_batches(&whole, g->compute);
        g->n_parts = whole.batch / g->shape.batch;
    }
    g->alone = is_for_one(shape, g->compute);
    int threads = threads_before(g->alone);
    status result = prepare_real(g, memory, err);
    omp_set_num_threads(threads);
    if (result != ASSAY_OK) {
        gemm_real_clear(g);
        return result;
    }
    *out = g;
    return ASSAY_OK;
}

/* --- running --------------------------------------------------------------------------------------------------------------- */

/* n elements: to = beta * from, in the type of sums. */
static void scale_row(dtype from_type, const char *from, int64_t from_step, dtype to_type, char *to, int64_t to_step,
                      int64_t n, number beta) {
    size_t from_size = dtype_size(from_type), to_size = dtype_size(to_type);
    bool is_dense = from_step == 1 && to_step == 1;
    if (is_dense && (from_type == ASSAY_F16 || from_type == ASSAY_BF16) && to_type == ASSAY_F32) {
        convert_loops_best()->to_f32[from_type](to, from, n);
        from = to;
        from_type = to_type;
        from_size = to_size;
    }
    if (is_dense && from_type == to_type && dtype_is_floating(from_type) && beta.f == 1) {
        from == to ? (void)0 : (void)memcpy(to, from, (size_t)n * to_size);
        return;
    }
    for (int64_t i = 0; i < n; i++) {
        const char *at = from + i * from_step * (int64_t)from_size;
        char *out = to + i * to_step * (int64_t)to_size;
        if (from_type == ASSAY_F32 && to_type == ASSAY_F32) {
            *(float *)out = (float)beta.f * *(const float *)at;
        } else if (dtype_is_integral(from_type)) {
            uint64_t scaled = (uint64_t)number_to_int(beta) * (uint64_t)element_load_int(from_type, at);
            element_store_int(to_type, out, (int64_t)scaled);
        } else {
            element_store(to_type, out, beta.f * element_load(from_type, at));
        }
    }
}

typedef struct filling {
    const gemm_real *g;
    const char *summand;
    char *c;
} filling;

static void fill_share(const void *context) {
    const filling *f = context;
    const gemm_real *g = f->g;
    const gemm_shape *s = &g->shape;
    int64_t from_size = (int64_t)dtype_size(s->dtype), to_size = (int64_t)dtype_size(g->sums), first, last;
    parallel_share(s->batch * s->m, 1, &first, &last);
    for (int64_t r = first; r < last; r++) {
        int64_t batch = r / s->m, m = r % s->m;
        int64_t from = batch * s->summand[0] + m * s->summand[1], to = batch * g->strides[2][0] + m * g->strides[2][1];
        scale_row(s->dtype, f->summand + from * from_size, s->summand[2], g->sums, f->c + to * to_size, g->strides[2][2], s->n, s->beta);
    }
}

/* c, as computed on, becomes beta * summand. */
static void fill_c(const gemm_real *g, const char *summand, char *c) {
    const gemm_shape *s = &g->shape;
    if ((const void *)summand == c && s->beta.f == 1 && s->dtype == g->sums) {
        return;
    }
    double bytes = (double)(s->batch * s->m * s->n) * (double)(dtype_size(s->dtype) + dtype_size(g->sums));
    parallel_run(parallel_threads(bytes), fill_share, &(filling){g, summand, c});
}

/* This thread's rows or columns of every batch: whichever there are more of are shared out. */
static void run_own_share(const gemm_real *g, const char *a, const char *b, char *c) {
    const gemm_shape *s = &g->shape;
    int64_t size = (int64_t)dtype_size(g->compute);
    int64_t batch_from = 0, batch_to = s->batch, m_from = 0, m_to = s->m, n_from = 0, n_to = s->n;
    if (s->batch >= 4 * omp_get_num_threads()) {
        parallel_share(s->batch, 1, &batch_from, &batch_to);
    } else if (s->m >= s->n) {
        parallel_share(s->m, 8, &m_from, &m_to);
    } else {
        parallel_share(s->n, 24, &n_from, &n_to);
    }
    for (int64_t i = batch_from; i < batch_to; i++) {
        gemm_block block = {.m = m_to - m_from,
                            .n = n_to - n_from,
                            .k = s->k,
                            .a = a + (i * g->strides[0][0] + m_from * g->strides[0][1]) * size,
                            .b = b + (i * g->strides[1][0] + n_from * g->strides[1][2]) * size,
                            .c = c + (i * g->strides[2][0] + m_from * g->strides[2][1] + n_from * g->strides[2][2]) * size,
                            .a_row = g->strides[0][1],
                            .a_column = g->strides[0][2],
                            .b_row = g->strides[1][1],
                            .b_column = g->strides[1][2],
                            .c_row = g->strides[2][1],
                            .c_column = g->strides[2][2],
                            .alpha = s->alpha.f,
                            .alpha_int = number_to_int(s->alpha),
                            .accumulate = g->adds_c};
        g->own(&block, g->work + (size_t)omp_get_thread_num() * GEMM_WORK_BYTES);
    }
}

/* Sums of no terms: c is zeroed, along the dimension whose elements lie next to each other. */
static void clear_c(const gemm_shape *s, char *c) {
    int64_t size = (int64_t)dtype_size(s->dtype);
    bool by_columns = s->c[2] != 1 && s->c[1] == 1;
    int64_t lines = by_columns ? s->n : s->m, n = by_columns ? s->m : s->n;
    int64_t step = s->c[by_columns ? 2 : 1], inner = s->c[by_columns ? 1 : 2];
    const observer *watch = observer_of_thread;
#pragma omp parallel num_threads(parallel_threads((double)(s->batch * lines * n * size)))
    {
        parallel_enter(watch);
#pragma omp for nowait
        for (int64_t r = 0; r < s->batch * lines; r++) {
            char *line = c + (r / lines * s->c[0] + r % lines * step) * size;
            for (int64_t i = 0; i < (inner == 1 ? 1 : n); i++) {
                memset(line + i * inner * size, 0, (size_t)(inner == 1 ? n * size : size));
            }
        }
        parallel_leave(watch);
    }
}

static status multiply(gemm_real *g, const void *a, const void *b, const void *row, void *c, error *err) {
    if (g->library != NULL) {
        return onednn_run(g->library, &(onednn_data){{(void *)a, (void *)b, c, (void *)row}}, err);
    }
    if (g->shape.k == 0) { /* c holds the summand */
        return ASSAY_OK;
    }
    const observer *watch = observer_of_thread;
#pragma omp parallel num_threads(g->n_threads)
    {
        parallel_enter(watch);
        run_own_share(g, a, b, c);
        parallel_leave(watch);
    }
    return ASSAY_OK;
}

/* A matrix that serves all batches is copied for the first part alone. */
static const void *load(const gemm_real *g, int which, const void *from, bool is_first) {
    const int64_t *strides = which == 0 ? g->shape.a : g->shape.b;
    if (g->staged[which] && (is_first || strides[0] != 0)) {
        stage_load(&g->stages[which], from);
    }
    return g->staged[which] ? g->stages[which].data : from;
}

static status run_part(gemm_real *g, const void *a, const void *b, const void *summand, void *c, bool is_first, error *err) {
    const gemm_shape *s = &g->shape;
    if (s->k == 0 && !g->adds_c) {
        clear_c(s, c);
        return ASSAY_OK;
    }
    const void *own_a = load(g, 0, a, is_first), *own_b = load(g, 1, b, is_first);
    void *own_c = g->staged[2] ? g->stages[2].data : c;
    const void *row = summand;
    if (g->row != NULL) {
        scale_row(s->dtype, summand, 1, g->sums, g->row, 1, s->n, s->beta);
        row = g->row;
    }
    if (g->adds_c) {
        fill_c(g, summand, own_c);
    }
    TRY(multiply(g, own_a, own_b, row, own_c, err));
    if (g->staged[2]) {
        stage_store(&g->stages[2], c);
    }
    return ASSAY_OK;
}

status gemm_real_run(gemm_real *g, const void *a, const void *b, const void *summand, void *c, error *err) {
    const gemm_shape *s = &g->shape;
    int64_t step = s->batch * (int64_t)dtype_size(s->dtype);
    int threads = threads_before(g->alone);
    status result = ASSAY_OK;
    for (int64_t i = 0; result == ASSAY_OK && i < g->n_parts; i++) {
        const char *added = summand != NULL ? (const char *)summand + i * step * s->summand[0] : NULL;
        result = run_part(g, (const char *)a + i * step * s->a[0], (const char *)b + i * step * s->b[0], added,
                          (char *)c + i * step * s->c[0], i == 0, err);
    }
    omp_set_num_threads(threads);
    return result;
}
