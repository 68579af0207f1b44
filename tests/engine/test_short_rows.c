/* SPDX-License-Identifier: Apache-2.0 */
/* Rows and runs that kernels take several of at once: sums, variances and norms of short ones, places of the largest in long
   ones, running sums side by side, elements gathered eight at a time, masks that one number is written to, tensors
   interleaved, windows and images added up where they lie, columns that threads share by rows, softmax of short rows. */
#include "engine/call_kit.h"

#include "engine/kernels/cpu/isa/add_loops.h"
#include "engine/kernels/cpu/pointwise.h"

#include <math.h>

static const dtype reals[] = {ASSAY_F32, ASSAY_F64, ASSAY_BF16};

static void sums_agree(void **state) {
    (void)state;
    static const int64_t sizes[][3] = {{5, 7, 49}, {3, 70, 17}, {9, 4, 256}, {2, 3, 300}, {4, 66, 1}, {3, 2, 2047}, {2, 9, 15}};
    kit k;
    kit_open(&k, 71);
    arg none = {.kind = ARG_NONE};
    for (size_t i = 0; i < countof(reals) * countof(sizes); i++) {
        const int64_t *n = sizes[i / countof(reals)];
        int64_t gaps[3] = {n[1] * (n[2] + 3), n[2] + 3, 1}, turned[3] = {n[1] * n[2], 1, n[1]};
        const int64_t *const strides[] = {NULL, gaps, turned};
        for (size_t s = 0; s < countof(strides); s++) {
            arg self = arg_tensor(kit_tensor(&k, reals[i % countof(reals)], 3, n, strides[s]));
            static const int64_t last[] = {2}, ends[] = {0, 2}, first[] = {0}, middle[] = {1};
            const arg dims[] = {arg_ints(last, 1), arg_ints(ends, 2), arg_ints(first, 1), arg_ints(middle, 1)};
            for (size_t d = 0; d < countof(dims); d++) {
                kit_check(&k, "sum.dim_IntList", (const arg[]){self, dims[d]}, 2);
                kit_check(&k, "mean.dim", (const arg[]){self, dims[d]}, 2);
                kit_check(&k, "norm.ScalarOpt_dim", (const arg[]){self, arg_number(number_of_int(1)), dims[d]}, 3);
                kit_check(&k, "norm.ScalarOpt_dim", (const arg[]){self, none, dims[d]}, 3);
                kit_check(&k, "var_mean.correction", (const arg[]){self, dims[d], arg_number(number_of_int(0))}, 3);
                kit_check(&k, "std.correction", (const arg[]){self, dims[d], arg_number(number_of_int(0))}, 3);
            }
            kit_check(&k, "cumsum", (const arg[]){self, arg_int(0)}, 2);
            kit_check(&k, "cumsum", (const arg[]){self, arg_int(1)}, 2);
        }
        kit_reset(&k);
    }
    kit_close(&k);
}

/* Too large for the caches, of rows that are runs here and there: some processors take neighbours together, run by run. */
static void sums_of_large_channels_agree(void **state) {
    (void)state;
    static const int64_t sizes[][3] = {{260, 7, 5003}, {900, 131, 160}}, ends[] = {0, 2};
    kit k;
    kit_open(&k, 73);
    for (int i = 0; i < 2 * (int)countof(sizes); i++) {
        int64_t n[3] = {sizes[i / 2][0], sizes[i / 2][1], sizes[i / 2][2]};
        n[2] = i % 2 == 0 ? n[2] : 2 * n[2];
        arg self = arg_tensor(kit_tensor(&k, i % 2 == 0 ? ASSAY_F32 : ASSAY_BF16, 3, n, NULL));
        kit_check(&k, "sum.dim_IntList", (const arg[]){self, arg_ints(ends, 2)}, 2);
        kit_check(&k, "norm.ScalarOpt_dim", (const arg[]){self, arg_number(number_of_int(1)), arg_ints(ends, 2)}, 3);
        kit_reset(&k);
    }
    kit_close(&k);
}

/* Short rows keep what is not finite to themselves, also in what is less than a register. */
static void odd_values_keep_to_their_rows(void **state) {
    (void)state;
    enum { ROWS = 6, N = 21 };
    kit k;
    kit_open(&k, 72);
    tensor *x = kit_tensor(&k, ASSAY_F32, 2, (const int64_t[]){ROWS, N}, NULL);
    float *values = (float *)(void *)tensor_data(x);
    for (int i = 0; i < ROWS * N; i++) {
        values[i] = 1;
    }
    values[1 * N + N - 1] = NAN;
    values[3 * N + 2] = INFINITY;
    values[4 * N] = -INFINITY;
    static const char *const names[] = {"sum.dim_IntList", "mean.dim"};
    for (int which = 0; which < 2; which++) {
        outputs out;
        op_call call = kit_call(&k, names[which], (const arg[]){arg_tensor(x), INTS(1)}, 2);
        kit_run(&k, &call, &out);
        const float *got = (const float *)(const void *)tensor_data(&out.items[0]);
        for (int r = 0; r < ROWS; r++) {
            assert_true(r == 1 ? isnan(got[r]) : r == 3 ? got[r] == INFINITY : r == 4 ? got[r] == -INFINITY : got[r] == (which ? 1 : N));
        }
        outputs_clear(&out);
    }
    kit_close(&k);
}

/* The first of equal ones, or the first that is no number, wherever it lies. */
static void places_agree(void **state) {
    (void)state;
    enum { N = 333 };
    kit k;
    kit_open(&k, 73);
    tensor *x = kit_tensor(&k, ASSAY_F32, 2, (const int64_t[]){1, N}, NULL);
    float *values = (float *)(void *)tensor_data(x);
    for (int64_t at = 0; at < N; at += 7) {
        for (int kind = 0; kind < 3; kind++) {
            for (int64_t i = 0; i < N; i++) {
                values[i] = (float)(i % 5);
            }
            values[at] = kind == 2 ? NAN : 9;
            values[N - 1] = at < N - 1 && kind > 0 ? values[at] : values[N - 1];
            outputs out;
            op_call call = kit_call(&k, "max.dim", (const arg[]){arg_tensor(x), arg_int(1)}, 2);
            kit_run(&k, &call, &out);
            assert_int_equal(*(const int64_t *)(const void *)tensor_data(&out.items[1]), at);
            outputs_clear(&out);
        }
    }
    kit_close(&k);
}

static const dtype all[] = {ASSAY_F32, ASSAY_F64, ASSAY_F16, ASSAY_I64, ASSAY_I32, ASSAY_U8, ASSAY_B8, ASSAY_C64, ASSAY_C128};

static tensor *indices(kit *k, int64_t rows, int64_t columns, int64_t below) {
    tensor *made = kit_tensor(k, ASSAY_I64, 2, (const int64_t[]){rows, columns}, NULL);
    rng r = rng_make_stream(k->seed, 9);
    for (int64_t i = 0; i < rows * columns; i++) {
        ((int64_t *)(void *)tensor_data(made))[i] = (int64_t)(rng_next(&r) % (uint64_t)(2 * below)) - below;
    }
    return made;
}

static void moves_agree(void **state) {
    (void)state;
    kit k;
    kit_open(&k, 74);
    for (size_t i = 0; i < countof(all); i++) {
        dtype t = all[i];
        arg self = arg_tensor(kit_tensor(&k, t, 2, (const int64_t[]){30, 41}, NULL));
        arg turned = arg_tensor(kit_tensor(&k, t, 2, (const int64_t[]){30, 41}, (const int64_t[]){1, 30}));
        for (int dim = 0; dim < 2; dim++) {
            arg at = arg_tensor(indices(&k, 29, 37, dim == 0 ? 30 : 41));
            kit_check(&k, "gather", (const arg[]){self, arg_int(dim), at}, 3);
            kit_check(&k, "gather", (const arg[]){turned, arg_int(dim), at}, 3);
        }
        kit_check(&k, "stack", (const arg[]){arg_tensors((tensor *[]){self.tensor, turned.tensor}, 2), arg_int(-1)}, 2);
        kit_check(&k, "stack", (const arg[]){arg_tensors((tensor *[]){self.tensor, self.tensor}, 2), arg_int(2)}, 2);
        kit_check(&k, "cat", (const arg[]){arg_tensors((tensor *[]){self.tensor, turned.tensor, self.tensor}, 3), arg_int(1)}, 2);
        kit_reset(&k);
    }
    kit_close(&k);
}

/* Masks over one dimension, two, and what strides may lie beside them. */
static void masks_agree(void **state) {
    (void)state;
    static const int64_t sizes[] = {6, 11, 13}, turned[] = {143, 1, 11};
    kit k;
    kit_open(&k, 75);
    for (size_t i = 0; i < countof(all); i++) {
        for (int layout = 0; layout < 2; layout++) {
            tensor *self = kit_tensor(&k, all[i], 3, sizes, layout == 0 ? NULL : turned);
            tensor *value = kit_tensor(&k, all[i], 0, NULL, NULL);
            for (int n = 1; n <= 3; n++) {
                tensor *mask = kit_tensor(&k, ASSAY_B8, n, sizes, NULL);
                kit_check(&k, "index_put", (const arg[]){arg_tensor(self), arg_tensors(&mask, 1), arg_tensor(value)}, 3);
                fill_constant(mask, 0);
                kit_check(&k, "index_put", (const arg[]){arg_tensor(self), arg_tensors(&mask, 1), arg_tensor(value)}, 3);
            }
            tensor *middle = kit_tensor(&k, ASSAY_B8, 1, sizes + 1, NULL);
            tensor *list[] = {NULL, middle};
            kit_check(&k, "index_put", (const arg[]){arg_tensor(self), arg_tensors(list, 2), arg_tensor(value)}, 3);
            kit_reset(&k);
        }
    }
    kit_close(&k);
}

static void windows_agree(void **state) {
    (void)state;
    static const dtype types[] = {ASSAY_F32, ASSAY_F64, ASSAY_F16, ASSAY_C64};
    kit k;
    kit_open(&k, 76);
    for (size_t i = 0; i < countof(types); i++) {
        dtype t = types[i];
        for (int64_t size = 1; size <= 20; size += size < 3 ? 1 : 17) {
            int64_t sizes[] = {3, 7, size}, length = 6 * 2 + size + 1, apart[] = {7 * size + 9, size + 1, 1};
            for (int layout = 0; layout < 2; layout++) {
                arg windows = arg_tensor(kit_tensor(&k, t, 3, sizes, layout == 0 ? NULL : apart));
                kit_check(&k, "unfold_backward", (const arg[]){windows, INTS(3, length), arg_int(1), arg_int(size), arg_int(2)}, 5);
            }
        }
        static const int64_t pads[][4] = {{1, 1, 1, 1}, {0, 3, 2, 0}, {4, 2, 3, 5}, {-1, 2, 0, 1}, {2, 2, -2, 1}};
        for (size_t p = 0; p < countof(pads); p++) {
            int64_t inner[] = {2, 3, 8, 17}, outer[] = {2, 3, 8 + pads[p][2] + pads[p][3], 17 + pads[p][0] + pads[p][1]};
            arg self = arg_tensor(kit_tensor(&k, t, 4, inner, NULL)), grad = arg_tensor(kit_tensor(&k, t, 4, outer, NULL));
            kit_check(&k, "reflection_pad2d_backward", (const arg[]){grad, self, arg_ints(pads[p], 4)}, 3);
        }
        /* 23 and 31 windows, one apart and overlapping by more than one, in several chunks of a line. */
        arg dense = arg_tensor(kit_tensor(&k, t, 3, (const int64_t[]){2, 23, 9}, NULL));
        kit_check(&k, "unfold_backward", (const arg[]){dense, INTS(2, 31), arg_int(1), arg_int(9), arg_int(1)}, 5);
        arg inner = arg_tensor(kit_tensor(&k, t, 4, (const int64_t[]){2, 31, 3, 20}, NULL));
        kit_check(&k, "unfold_backward", (const arg[]){inner, INTS(2, 230, 3), arg_int(1), arg_int(20), arg_int(7)}, 5);
        arg columns = arg_tensor(kit_tensor(&k, t, 3, (const int64_t[]){2, 18, 30}, NULL)); /* 5 by 6 windows of 3 by 3, two apart */
        kit_check(&k, "col2im", (const arg[]){columns, INTS(11, 13), INTS(3, 3), INTS(1, 1), INTS(0, 0), INTS(2, 2)}, 6);
        kit_reset(&k);
    }
    kit_close(&k);
}

/* An image's rows and columns in as many phases as windows are apart, whose places may lie outside it. */
static void images_agree(void **state) {
    (void)state;
    static const dtype types[] = {ASSAY_F32, ASSAY_F64, ASSAY_F16, ASSAY_BF16, ASSAY_C64, ASSAY_C128};
    static const struct {
        int64_t image[2], kernel[2], dilation[2], padding[2], stride[2];
    } cases[] = {
        {{11, 9}, {3, 3}, {1, 1}, {1, 0}, {2, 1}},  {{12, 37}, {5, 5}, {1, 2}, {2, 3}, {2, 2}}, {{7, 16}, {3, 3}, {1, 2}, {0, 0}, {1, 3}},
        {{3, 3}, {3, 3}, {1, 1}, {1, 1}, {2, 2}},   {{300, 20}, {3, 3}, {1, 1}, {1, 1}, {1, 4}}, {{6, 40}, {1, 7}, {1, 3}, {0, 9}, {1, 1}},
        {{4, 4}, {3, 2}, {1, 1}, {0, 0}, {9, 1000}}, {{9, 70}, {7, 6}, {1, 1}, {3, 2}, {1, 2}},   {{5, 33}, {2, 2}, {1, 4}, {0, 0}, {3, 4}},
    };
    kit k;
    kit_open(&k, 77);
    for (size_t i = 0; i < countof(types) * countof(cases); i++) {
        const int64_t *image = cases[i / countof(types)].image, *kernel = cases[i / countof(types)].kernel;
        const int64_t *dilation = cases[i / countof(types)].dilation, *padding = cases[i / countof(types)].padding;
        const int64_t *stride = cases[i / countof(types)].stride;
        int64_t windows = 1, rows = 2 * kernel[0] * kernel[1];
        for (int d = 0; d < 2; d++) {
            windows *= (image[d] + 2 * padding[d] - dilation[d] * (kernel[d] - 1) - 1) / stride[d] + 1;
        }
        int64_t sizes[] = {2, rows, windows}, gaps[] = {rows * (windows + 5), windows + 5, 1}, turned[] = {rows * windows, 1, rows};
        const int64_t *const strides[] = {NULL, gaps, turned};
        for (size_t s = 0; s < countof(strides); s++) {
            arg columns = arg_tensor(kit_tensor(&k, types[i % countof(types)], 3, sizes, strides[s]));
            kit_check(&k, "col2im",
                      (const arg[]){columns, arg_ints(image, 2), arg_ints(kernel, 2), arg_ints(dilation, 2), arg_ints(padding, 2),
                                    arg_ints(stride, 2)}, 6);
        }
        kit_reset(&k);
    }
    kit_close(&k);
}

/* Columns so long that threads share their rows, wide ones and narrow ones, and columns of few rows. */
static void long_columns_agree(void **state) {
    (void)state;
    static const int64_t sizes[][3] = {{1, 1031, 130}, {1, 600, 1100}, {1, 3001, 7}, {2, 700, 90}, {1, 130, 1029}, {33, 31, 64}};
    static const dtype types[] = {ASSAY_F32, ASSAY_F64, ASSAY_F16, ASSAY_I64, ASSAY_B8};
    kit k;
    kit_open(&k, 78);
    for (size_t i = 0; i < countof(types) * countof(sizes); i++) {
        static const int64_t middle[] = {1}, ends[] = {0, 1};
        arg self = arg_tensor(kit_tensor(&k, types[i % countof(types)], 3, sizes[i / countof(types)], NULL));
        const arg dims[] = {arg_ints(middle, 1), arg_ints(ends, 2)};
        for (size_t d = 0; d < countof(dims); d++) {
            kit_check(&k, "sum.dim_IntList", (const arg[]){self, dims[d]}, 2);
            if (dtype_is_floating(self.tensor->dtype)) {
                kit_check(&k, "mean.dim", (const arg[]){self, dims[d]}, 2);
            }
        }
        kit_reset(&k);
    }
    kit_close(&k);
}

/* Blocks of columns of which several rows are added up at once, and what is left of columns and rows. */
static void columns_run_up(void **state) {
    (void)state;
    static const int64_t sizes[][3] = {{1, 37, 1}, {2, 13, 9}, {3, 4, 63}, {2, 5, 65}, {1, 12, 1000}, {3, 30, 517}, {5, 1, 40}, {1, 23, 200}};
    static const dtype types[] = {ASSAY_F32, ASSAY_F64, ASSAY_F16, ASSAY_BF16, ASSAY_I64, ASSAY_I32, ASSAY_B8};
    kit k;
    kit_open(&k, 82);
    for (size_t i = 0; i < countof(types) * countof(sizes); i++) {
        const int64_t *n = sizes[i / countof(types)];
        const int64_t gaps[3] = {n[1] * (n[2] + 400), n[2] + 400, 1}; /* rows far enough apart to be asked for */
        for (int s = 0; s < 2; s++) {
            arg self = arg_tensor(kit_tensor(&k, types[i % countof(types)], 3, n, s == 0 ? NULL : gaps));
            kit_check(&k, "cumsum", (const arg[]){self, arg_int(0)}, 2);
            kit_check(&k, "cumsum", (const arg[]){self, arg_int(1)}, 2);
        }
        kit_reset(&k);
    }
    kit_close(&k);
}

/* Softmax of rows that take one register and those that take many, and of so few that all of them are the last. */
static void short_softmax_agrees(void **state) {
    (void)state;
    static const dtype types[] = {ASSAY_F32, ASSAY_F64, ASSAY_F16, ASSAY_BF16};
    static const int64_t some[] = {1, 2, 17, 40};
    kit k;
    kit_open(&k, 83);
    for (int64_t n = 2; n < 270; n += n < 34 ? 1 : n % 3 == 0 ? 7 : 15) {
        for (size_t i = 0; i < countof(types) * countof(some); i++) {
            arg self = arg_tensor(kit_tensor(&k, types[i % countof(types)], 2, (const int64_t[]){some[i / countof(types)], n}, NULL));
            kit_check(&k, "_softmax", (const arg[]){self, arg_int(1), arg_bool(false)}, 3);
            kit_check(&k, "_log_softmax", (const arg[]){self, arg_int(1), arg_bool(false)}, 3);
        }
        kit_reset(&k);
    }
    kit_close(&k);
}

/* Lines that lie across memory beside a result whose lines do not, and columns of both: one operand so, or all. */
static void turned_softmax_agrees(void **state) {
    (void)state;
    static const dtype types[] = {ASSAY_F32, ASSAY_F64, ASSAY_F16, ASSAY_BF16};
    static const int64_t sizes[][3] = {{3, 70, 33}, {1, 5, 600}, {2, 37, 128}, {2, 3, 17000}, {70, 4, 9}};
    kit k;
    kit_open(&k, 89);
    for (size_t i = 0; i < countof(types) * countof(sizes); i++) {
        const dtype t = types[i % countof(types)];
        const int64_t *n = sizes[i / countof(types)], turned[3] = {n[1] * n[2], 1, n[1]}, gaps[3] = {n[1] * (n[2] + 3), n[2] + 3, 1};
        const int64_t *const strides[] = {NULL, turned, gaps};
        arg x[countof(strides)];
        for (size_t s = 0; s < countof(strides); s++) {
            x[s] = arg_tensor(kit_tensor(&k, t, 3, n, strides[s]));
        }
        for (size_t s = 0; s < countof(strides) * countof(strides); s++) {
            const arg a = x[s / countof(strides)], b = x[s % countof(strides)];
            for (int dim = 0; dim < 3; dim++) {
                if (s % countof(strides) == 0) {
                    kit_check(&k, "_softmax", (const arg[]){a, arg_int(dim), arg_bool(false)}, 3);
                    kit_check(&k, "_log_softmax", (const arg[]){a, arg_int(dim), arg_bool(false)}, 3);
                }
                kit_check(&k, "_softmax_backward_data", (const arg[]){a, b, arg_int(dim), arg_dtype(t)}, 4);
                kit_check(&k, "_log_softmax_backward_data", (const arg[]){a, b, arg_int(dim), arg_dtype(t)}, 4);
            }
        }
        kit_reset(&k);
    }
    kit_close(&k);
}

/* A call on one thread may be one of several within a region of the caller's. */
static void calls_within_a_region_agree(void **state) {
    (void)state;
    enum { THREADS = 3, ROWS = 5, N = 40 };
    kit kits[THREADS];
    float got[THREADS][ROWS];
    for (int t = 0; t < THREADS; t++) {
        kit_open(&kits[t], 79);
    }
#pragma omp parallel for num_threads(THREADS)
    for (int t = 0; t < THREADS; t++) {
        outputs out;
        tensor *x = kit_tensor(&kits[t], ASSAY_F32, 2, (const int64_t[]){ROWS, N}, NULL);
        for (int i = 0; i < ROWS * N; i++) {
            ((float *)(void *)tensor_data(x))[i] = (float)(i / N + t);
        }
        op_call call = kit_call(&kits[t], "sum.dim_IntList", (const arg[]){arg_tensor(x), INTS(1)}, 2);
        kit_run(&kits[t], &call, &out);
        memcpy(got[t], tensor_data(&out.items[0]), sizeof got[t]);
        outputs_clear(&out);
    }
    for (int t = 0; t < THREADS; t++) {
        for (int r = 0; r < ROWS; r++) {
            assert_true(got[t][r] == (float)(N * (r + t)));
        }
        kit_close(&kits[t]);
    }
}

/* The loops of every instruction set that this CPU has. */
static int n_sets(void) {
#if defined(__x86_64__)
    return 1 + (int)isa_best();
#else
    return 1;
#endif
}

static const add_loops *adds_of(int set) {
#if defined(__x86_64__)
    return set == ISA_AVX512 ? &add_loops_avx512 : set == ISA_AVX2 ? &add_loops_avx2 : &add_loops_baseline;
#else
    (void)set;
    return &add_loops_baseline;
#endif
}

static const pointwise_moves *moves_of(int set) {
#if defined(__x86_64__)
    return set == ISA_AVX512 ? &pointwise_moves_avx512 : set == ISA_AVX2 ? &pointwise_moves_avx2 : &pointwise_moves_baseline;
#else
    (void)set;
    return &pointwise_moves_baseline;
#endif
}

/* Parts that reach beyond the rows they are added to on all sides, more of them than are gone through at once. */
static void shifted_rows_add_up(void **state) {
    (void)state;
    enum { PARTS = 40, ROWS = 6, MOST = 50, PITCH = 60, ROOM = 9000 };
    static float base[ROOM], made[ROWS * PITCH];
    static double wide_base[ROOM], wide[ROWS * PITCH];
    shifted_rows parts[PARTS];
    for (int i = 0; i < ROOM; i++) {
        base[i] = (float)(i % 97); /* sums are exact in any order */
        wide_base[i] = base[i];
    }
    for (int p = 0; p < PARTS; p++) {
        parts[p] = (shifted_rows){2000 + 71 * p, {p % 7 - 3, p % 23 - 9}, {p % 7 + 2, p % 31 + 15}};
    }
    for (int set = 0; set < n_sets(); set++) {
        for (int64_t n = 1; n <= MOST; n++) {
            for (int64_t n_parts = 0; n_parts <= PARTS; n_parts += n_parts < 3 ? 1 : 37) {
                adds_of(set)->f32_sum(made, PITCH, ROWS, n, base, 64, parts, n_parts);
                adds_of(set)->f64_sum(wide, PITCH, ROWS, n, wide_base, 64, parts, n_parts);
                for (int64_t i = 0; i < ROWS * n; i++) {
                    int64_t y = i / n, x = i % n;
                    double sum = 0;
                    for (const shifted_rows *q = parts; q < parts + n_parts; q++) {
                        bool counts = y >= q->from[0] && y < q->to[0] && x >= q->from[1] && x < q->to[1];
                        sum += counts ? wide_base[q->at + y * 64 + x] : 0;
                    }
                    assert_true((double)made[y * PITCH + x] == sum && wide[y * PITCH + x] == sum);
                }
            }
        }
    }
}

static void phases_and_turned_rows_go_together(void **state) {
    (void)state;
    enum { ROWS = 3, MOST = 45, PITCH = 50, ROOM = 24 };
    float from[ROWS * 4 * ROOM * 2], to[ROWS * PITCH];
    uint64_t rows[40 * 12], turned[40 * 12];
    for (int i = 0; i < (int)countof(from); i++) {
        from[i] = (float)i;
    }
    for (int i = 0; i < (int)countof(rows); i++) {
        rows[i] = (uint64_t)i * 0x100000001;
    }
    for (int set = 0; set < n_sets(); set++) {
        for (int64_t phases = 2; phases <= 4; phases++) {
            for (int64_t unit = 1; unit <= 2; unit++) {
                for (int64_t n = unit; n <= MOST; n += unit) {
                    to[n] = -1;
                    adds_of(set)->f32_interleave(to, PITCH, ROWS, n, from, phases * ROOM * unit, ROOM * unit, phases, unit);
                    for (int64_t i = 0; i < ROWS * n; i++) {
                        int64_t y = i / n, e = i % n / unit;
                        int64_t at = y * phases * ROOM * unit + e % phases * ROOM * unit + e / phases * unit + i % n % unit;
                        assert_true(to[y * PITCH + i % n] == from[at]);
                    }
                    assert_true(to[n] == -1);
                }
            }
        }
        for (int64_t n_inner = 1; n_inner <= 12; n_inner++) {
            for (int64_t n_outer = 1; n_outer <= 39; n_outer++) {
                moves_of(set)->turn(turned, (const char *)rows, 40 * 8, 8, n_inner, n_outer, 8);
                for (int64_t i = 0; i < n_inner * n_outer; i++) {
                    assert_true(turned[i] == rows[i % n_inner * 40 + i / n_inner]);
                }
            }
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_agree), cmocka_unit_test(sums_of_large_channels_agree),
        cmocka_unit_test(odd_values_keep_to_their_rows),
        cmocka_unit_test(places_agree), cmocka_unit_test(moves_agree),
        cmocka_unit_test(masks_agree), cmocka_unit_test(windows_agree),
        cmocka_unit_test(images_agree), cmocka_unit_test(long_columns_agree),
        cmocka_unit_test(calls_within_a_region_agree), cmocka_unit_test(shifted_rows_add_up),
        cmocka_unit_test(phases_and_turned_rows_go_together),
        cmocka_unit_test(columns_run_up), cmocka_unit_test(short_softmax_agrees), cmocka_unit_test(turned_softmax_agrees),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
