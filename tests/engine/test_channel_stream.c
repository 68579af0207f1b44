/* SPDX-License-Identifier: Apache-2.0 */
/* Batch and group norm, and their gradients, of tensors whose results go past the caches or stay in them, against sums in double: the
   former are too large for the reference to go over all of them, so some channels are looked at, one far from 0 among them. */
#include "call_kit.h"

#include <math.h>
#include <omp.h>

/* Group norm: groups > 0. */
typedef struct big {
    dtype type;
    int64_t n, c, s, groups;
} big;

/* What shares a statistic fits L2, or is larger than any (2.3 MiB and more); rows that fill lines of memory or not, and blocks. */
static const big shapes[] = {
    {ASSAY_F32, 64, 128, 1100, 0},  {ASSAY_F32, 400, 8, 3136, 0},    {ASSAY_F32, 900, 11, 1031, 0}, {ASSAY_F32, 40, 12, 20003, 0},
    {ASSAY_F64, 300, 7, 2051, 0},   {ASSAY_BF16, 1500, 11, 1033, 0}, {ASSAY_F16, 150, 12, 9999, 0}, {ASSAY_F32, 3, 24, 130001, 3},
    {ASSAY_F32, 31, 255, 1031, 51}, {ASSAY_F16, 61, 255, 1025, 51},  {ASSAY_F64, 20, 96, 2051, 32},  {ASSAY_BF16, 33, 510, 1031, 51},
    {ASSAY_BF16, 4, 8, 600007, 2},  {ASSAY_F32, 30, 320, 1000, 32}, {ASSAY_F32, 30, 320, 1024, 32},  {ASSAY_BF16, 41, 288, 1120, 32},
    /* rows kept in turn: longer than a piece, several channels at a time, samples that no number of rows divides */
    {ASSAY_F32, 16, 32, 65536, 0},  {ASSAY_F32, 12, 32, 20480, 16},  {ASSAY_F32, 51, 640, 272, 0},  {ASSAY_BF16, 37, 800, 544, 0},
    {ASSAY_F64, 9, 48, 10240, 0},
    /* and what threads share where L2 is of 2 MiB: several channels at a time, samples that no two threads have as many of */
    {ASSAY_F32, 37, 41, 9001, 0},   {ASSAY_BF16, 131, 47, 1500, 0},  {ASSAY_F64, 27, 30, 5003, 0},
    /* short rows, several channels at a time, the last ones fewer; shared by threads and not */
    {ASSAY_F32, 333, 131, 196, 0},  {ASSAY_BF16, 701, 257, 49, 0},   {ASSAY_F64, 150, 140, 225, 0},  {ASSAY_F32, 1201, 37, 200, 0},
    {ASSAY_F16, 90, 203, 500, 0},   {ASSAY_F32, 60, 640, 225, 32},   {ASSAY_BF16, 50, 960, 196, 16},
    /* rows of channels: whole ones at a time, parts, few others; that fill lines of memory or not */
    {ASSAY_F32, 3000, 1024, 1, 0},  {ASSAY_F32, 1501, 2100, 1, 0},   {ASSAY_F64, 2201, 701, 1, 0},  {ASSAY_BF16, 12001, 515, 1, 0},
    {ASSAY_F32, 40, 1030, 1, 0},    {ASSAY_F32, 300, 300, 1, 0},
    /* what caches hold */
    {ASSAY_F32, 3, 5, 1031, 0},     {ASSAY_BF16, 3, 5, 1031, 0},     {ASSAY_F16, 2, 7, 700, 0},      {ASSAY_F64, 2, 5, 1100, 0},
    {ASSAY_BF16, 2, 12, 900, 3},    {ASSAY_F16, 1, 4, 5003, 2},
};

/* The same of channels that lie together. */
static const big channels_last[] = {
    {ASSAY_F32, 9, 515, 700, 0},    {ASSAY_F32, 12, 96, 3000, 0},     {ASSAY_F16, 11, 1030, 601, 0},  {ASSAY_BF16, 23, 130, 2100, 0},
    {ASSAY_F32, 5, 640, 1100, 32},  {ASSAY_BF16, 12, 512, 1050, 16},
};

static bool is_last(const big *b) {
    return b >= channels_last && b < channels_last + countof(channels_last);
}

static double load(const tensor *t, int64_t i) {
    return element_load(t->dtype, tensor_data(t) + i * (int64_t)dtype_size(t->dtype));
}

static int64_t place(const big *b, int64_t n, int64_t c, int64_t i) {
    return is_last(b) ? (n * b->s + i) * b->c + c : (n * b->c + c) * b->s + i;
}

/* What shares a statistic with channel c of sample n. */
typedef struct unit {
    int64_t n_from, n_to, c_from, c_to;
    double mean, rstd;
    double g, gx; /* means of dy weight and dy weight (x - mean) */
} unit;

static unit unit_of(const big *b, int64_t n, int64_t c) {
    if (b->groups == 0) {
        return (unit){.n_to = b->n, .c_from = c, .c_to = c + 1};
    }
    int64_t width = b->c / b->groups, from = c / width * width;
    return (unit){.n_from = n, .n_to = n + 1, .c_from = from, .c_to = from + width};
}

static double mean_over(const big *b, const unit *u, double (*of)(const void *context, int64_t at, int64_t c), const void *context) {
    double sum = 0;
    for (int64_t n = u->n_from; n < u->n_to; n++) {
        for (int64_t c = u->c_from; c < u->c_to; c++) {
            for (int64_t i = 0; i < b->s; i++) {
                sum += of(context, place(b, n, c, i), c);
            }
        }
    }
    return sum / (double)((u->n_to - u->n_from) * (u->c_to - u->c_from) * b->s);
}

typedef struct terms {
    const tensor *x, *dy, *weight;
    double mean;
} terms;

static double term_x(const void *context, int64_t at, int64_t c) {
    (void)c;
    return load(((const terms *)context)->x, at);
}

static double term_square(const void *context, int64_t at, int64_t c) {
    (void)c;
    double off = load(((const terms *)context)->x, at) - ((const terms *)context)->mean;
    return off * off;
}

static double term_g(const void *context, int64_t at, int64_t c) {
    const terms *t = context;
    return load(t->dy, at) * load(t->weight, c);
}

static double term_gx(const void *context, int64_t at, int64_t c) {
    const terms *t = context;
    return load(t->dy, at) * load(t->weight, c) * (load(t->x, at) - t->mean);
}

static void check_number(const big *b, const char *what, int64_t c, int64_t i, double made, double wanted, double tolerance) {
    if (!(fabs(made - wanted) <= tolerance)) {
        print_error("[%lld, %lld, %lld], channel %lld, %s %lld: %g, not %g\n", (long long)b->n, (long long)b->c, (long long)b->s,
                    (long long)c, what, (long long)i, made, wanted);
        assert_true(false);
    }
}

static void run(kit *k, const char *name, const arg *args, int n, outputs *out) {
    op_call call = kit_call(k, name, args, n);
    kit_run(k, &call, out);
}

static tensor *vector(kit *k, dtype t, int64_t n) {
    return kit_tensor(k, t, 1, &n, NULL);
}

/* Elements of channel c of sample n. */
static void check_channel(const big *b, const terms *t, const tensor *bias, const outputs *forward, const outputs *backward,
                          const unit *u, int64_t n, int64_t c) {
    double unit_of_type = b->type == ASSAY_F64 ? 1e-13 : 3e-6;
    double digits = b->type == ASSAY_BF16 ? 0x1p-8 : b->type == ASSAY_F16 ? 0x1p-11 : 0; /* what rounding to the type takes off */
    double w = load(t->weight, c), p = load(bias, c);
    for (int64_t i = 0; i < b->s; i += 1 + b->s / 501) {
        int64_t at = place(b, n, c, i);
        double x = load(t->x, at), dy = load(t->dy, at), off = (x - u->mean) * u->rstd;
        double wanted = off * w + p, scale = 100 + fabs(u->mean) * u->rstd;
        check_number(b, "element", c, i, load(&forward->items[0], at), wanted,
                     unit_of_type * (scale * (fabs(w) + 1) + fabs(wanted)) + digits * fabs(wanted));
        double gradient = u->rstd * (dy * w - u->g - off * u->rstd * u->gx);
        check_number(b, "gradient", c, i, load(&backward->items[0], at), gradient,
                     unit_of_type * scale * (u->rstd + fabs(gradient)) + digits * (fabs(gradient) + fabs(u->rstd * u->g)));
    }
}

/* The sums that are weight's and bias's gradients, and where the running statistics, which were 0 and 1, have moved. */
static void check_params(const big *b, const terms *t, const outputs *backward, tensor *const running[2], const unit *u, int64_t c) {
    double n = (double)b->n * (double)b->s, var = 1 / (u->rstd * u->rstd) - 1e-5, near = b->type == ASSAY_F64 ? 1e-11 : 1e-4;
    double w = load(t->weight, c);
    check_number(b, "weight's gradient", c, 0, load(&backward->items[1], c) * w, n * u->gx * u->rstd, near * n);
    check_number(b, "bias's gradient", c, 0, load(&backward->items[2], c) * w, n * u->g, near * n);
    check_number(b, "running mean", c, 0, load(running[0], c), 0.1 * u->mean, near * (1 + fabs(u->mean)));
    check_number(b, "running variance", c, 0, load(running[1], c), 0.9 + 0.1 * var * n / (n - 1), near * (1 + var));
}

static void check_channels(kit *k, const big *list, size_t n_list) {
    for (size_t case_at = 0; case_at < n_list; case_at++) {
        const big *b = &list[case_at];
        bool is_batch = b->groups == 0;
        int64_t sizes[] = {b->n, b->c, b->s, 1}, stats = is_batch ? b->c : b->n * b->groups, far = b->c - 1;
        dtype wide = b->type == ASSAY_F64 ? ASSAY_F64 : ASSAY_F32;
        const int64_t last[] = {b->c * b->s, 1, b->c, b->c}, *strides = is_last(b) ? last : NULL;
        const int ndim = is_last(b) ? 4 : 3; /* only then do results lie so */
        tensor *x = kit_tensor(k, b->type, ndim, sizes, strides), *dy = kit_tensor(k, b->type, ndim, sizes, strides);
        tensor *weight = vector(k, wide, b->c), *bias = vector(k, wide, b->c);
        double off = dtype_size(b->type) == 2 ? 40 : 1000; /* squares of the elements themselves would cancel */
        for (int64_t i = 0; i < b->n * b->s; i++) {
            char *to = tensor_data(x) + place(b, i / b->s, far, i % b->s) * (int64_t)dtype_size(b->type);
            element_store(b->type, to, element_load(b->type, to) + off);
        }
        arg none = {.kind = ARG_NONE}, eps = arg_float(1e-5), n = arg_int(b->n), c = arg_int(b->c), s = arg_int(b->s);
        arg mask = {.kind = ARG_BOOLS, .bools = (const bool[]){true, true, true}, .n = 3}, group = arg_int(b->groups);
        tensor *running[2] = {vector(k, wide, b->c), vector(k, wide, b->c)};
        for (int64_t i = 0; i < 2 * b->c; i++) {
            element_store(wide, tensor_data(running[i / b->c]) + i % b->c * (int64_t)dtype_size(wide), (double)(i / b->c));
        }
        outputs forward, backward;
        if (is_batch) {
            run(k, "native_batch_norm",
                (arg[]){arg_tensor(x), arg_tensor(weight), arg_tensor(bias), arg_tensor(running[0]), arg_tensor(running[1]),
                        arg_bool(true), arg_float(0.1), eps}, 8, &forward);
            run(k, "native_batch_norm_backward",
                (arg[]){arg_tensor(dy), arg_tensor(x), arg_tensor(weight), none, none, arg_tensor(&forward.items[1]),
                        arg_tensor(&forward.items[2]), arg_bool(true), eps, mask}, 10, &backward);
        } else {
            run(k, "native_group_norm", (arg[]){arg_tensor(x), arg_tensor(weight), arg_tensor(bias), n, c, s, group, eps}, 8, &forward);
            run(k, "native_group_norm_backward",
                (arg[]){arg_tensor(dy), arg_tensor(x), arg_tensor(&forward.items[1]), arg_tensor(&forward.items[2]), arg_tensor(weight), n,
                        c, s, group, mask}, 10, &backward);
        }
        for (int d = 0; d < 3; d++) { /* places are the same in all */
            assert_true(sizes[d] == 1 || (forward.items[0].strides[d] == x->strides[d] && backward.items[0].strides[d] == x->strides[d]));
        }
        int64_t looked_at[] = {0, b->c / 2, far};
        for (size_t l = 0; l < countof(looked_at); l++) {
            int64_t sample = is_batch ? 0 : b->n - 1, channel = looked_at[l];
            unit u = unit_of(b, sample, channel);
            terms t = {x, dy, weight, 0};
            t.mean = u.mean = mean_over(b, &u, term_x, &t);
            u.rstd = 1 / sqrt(mean_over(b, &u, term_square, &t) + 1e-5);
            u.g = mean_over(b, &u, term_g, &t);
            u.gx = mean_over(b, &u, term_gx, &t);
            int64_t stat = is_batch ? channel : sample * b->groups + channel / (b->c / b->groups);
            assert_true(stat < stats);
            double near = b->type == ASSAY_F64 ? 1e-13 : b->type == ASSAY_F32 ? 1e-6 : 0x1p-8;
            check_number(b, "mean", channel, 0, load(&forward.items[1], stat), u.mean, near * (fabs(u.mean) + 1));
            check_number(b, "rstd", channel, 0, load(&forward.items[2], stat), u.rstd, 100 * near * u.rstd);
            check_channel(b, &t, bias, &forward, &backward, &u, u.n_from, channel);
            check_channel(b, &t, bias, &forward, &backward, &u, u.n_to - 1, channel);
            if (is_batch) {
                check_params(b, &t, &backward, running, &u, channel);
            }
        }
        outputs_clear(&forward);
        outputs_clear(&backward);
        kit_reset(k);
    }
}

static void check_all(kit *k) {
    check_channels(k, shapes, countof(shapes));
    check_channels(k, channels_last, countof(channels_last));
}

static void channels_agree(void **state) {
    check_all(*state);
}

/* Threads that share channels' samples. */
static void channels_of_more_threads_agree(void **state) {
    const int threads = omp_get_max_threads();
    omp_set_num_threads(3);
    check_all(*state);
    omp_set_num_threads(threads);
}

/* Within someone's parallel region there are fewer threads than were planned for. */
static void channels_of_one_thread_agree(void **state) {
    const int threads = omp_get_max_threads();
    omp_set_num_threads(2);
#pragma omp parallel num_threads(2)
#pragma omp single
    check_all(*state);
    omp_set_num_threads(threads);
}

static uint64_t seed = 21;

int main(void) {
    const struct CMUnitTest tests[] = {
        KIT_TEST(channels_agree, &seed),
        KIT_TEST(channels_of_more_threads_agree, &seed),
        KIT_TEST(channels_of_one_thread_agree, &seed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
