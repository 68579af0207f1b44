/* SPDX-License-Identifier: Apache-2.0 */
/* Tensors turned round past the caches, by all ways. Only large tensors go past them by themselves; here
   small ones are sent there. */
#include "call_kit.h"

#include "engine/kernels/cpu/move.h"

#include <omp.h>

/* Of the source: rows, and elements from one to the next. Output rows are whole lines of memory. */
typedef struct matrix {
    dtype type;
    int64_t rows, columns, stride;
} matrix;

static const matrix matrices[] = {
    {ASSAY_F32, 64, 520, 520},   {ASSAY_F32, 80, 8209, 8209},  {ASSAY_F32, 112, 1031, 2048}, {ASSAY_F32, 96, 8192, 8192},
    {ASSAY_F32, 64, 600, 32768}, {ASSAY_F32, 128, 512, 65536}, {ASSAY_F32, 2048, 513, 600},  {ASSAY_F64, 64, 4100, 4100},
    {ASSAY_F64, 72, 259, 300},   {ASSAY_F64, 64, 300, 16384},  {ASSAY_I32, 80, 517, 517},    {ASSAY_C64, 72, 333, 333},
    {ASSAY_BF16, 64, 520, 520},  {ASSAY_F16, 160, 8209, 8209}, {ASSAY_I16, 128, 1031, 4096}, {ASSAY_BF16, 96, 8192, 8192},
    {ASSAY_BF16, 64, 600, 32768}, {ASSAY_F16, 224, 2056, 2056}, {ASSAY_BF16, 2048, 513, 600},
};

static void check_matrix(kit *k, const matrix *m) {
    int64_t size = (int64_t)dtype_size(m->type);
    tensor *x = kit_tensor(k, m->type, 2, (int64_t[]){m->columns, m->rows}, (int64_t[]){1, m->stride});
    tensor *y = kit_tensor(k, m->type, 2, (int64_t[]){m->columns, m->rows}, NULL);
    memset(tensor_data(y), 0x5a, (size_t)(m->rows * m->columns * size));
    box b;
    move mv;
    box_of_pair(&b, y, x);
    move_copy(&mv, &b, y, x);
    mv.stream = true;
    move_take_buffers(&mv, &k->memory);
    bool turns = copy_loops_best()->turns(mv.dst_log2), apart = m->stride % 64 != 0; /* no multiple of many lines */
    if (turns && (uintptr_t)tensor_data(y) % 64 == 0) {
        assert_true(mv.turns_in_place || mv.turns_in_steps);
        assert_true(!mv.turns_in_place || !mv.turns_in_steps);
        assert_true(!apart || m->columns * size < 2048 || mv.turns_in_place);
    }
    moves_run(&mv, 1, false);
    for (int64_t i = 0; i < m->columns; i++) {
        for (int64_t r = 0; r < m->rows; r++) {
            const char *wanted = tensor_data(x) + (r * m->stride + i) * size;
            if (memcmp(tensor_data(y) + (i * m->rows + r) * size, wanted, (size_t)size) != 0) {
                print_error("[%lld, %lld] of rows %lld apart: row %lld, element %lld differs\n", (long long)m->rows,
                            (long long)m->columns, (long long)m->stride, (long long)r, (long long)i);
                assert_true(false);
            }
        }
    }
    kit_reset(k);
}

static void both_ways_copy(void **state) {
    for (size_t i = 0; i < countof(matrices); i++) {
        check_matrix(*state, &matrices[i]);
    }
}

/* Output rows that begin and end within lines, some elements into memory, with others between them that are nobody's. */
static const struct {
    matrix of;
    int64_t into, gap;
} cut[] = {
    {{ASSAY_F32, 257, 300, 300}, 0, 0},    {{ASSAY_F32, 1000, 1031, 1031}, 1, 3}, {{ASSAY_F32, 259, 2100, 2100}, 5, 5},
    {{ASSAY_F32, 4099, 256, 260}, 3, 20},  {{ASSAY_F32, 320, 256, 260}, 7, 16},   {{ASSAY_F32, 289, 1025, 1025}, 15, 16},
    {{ASSAY_F64, 301, 261, 261}, 0, 0},    {{ASSAY_F64, 517, 1100, 1100}, 3, 7},  {{ASSAY_BF16, 999, 515, 515}, 0, 0},
    {{ASSAY_F16, 333, 1033, 1040}, 9, 31}, {{ASSAY_U8, 1001, 300, 301}, 0, 0},    {{ASSAY_I8, 515, 1030, 1030}, 61, 64},
};

static void check_cut(kit *k, const matrix *m, int64_t into, int64_t gap, int threads) {
    int64_t size = (int64_t)dtype_size(m->type), pitch = m->rows + gap;
    tensor *x = kit_tensor(k, m->type, 2, (int64_t[]){m->columns, m->rows}, (int64_t[]){1, m->stride});
    tensor *y = kit_tensor(k, m->type, 2, (int64_t[]){m->columns, m->rows}, (int64_t[]){pitch, 1});
    tensor *all = kit_tensor(k, m->type, 2, (int64_t[]){m->columns + 1, pitch}, NULL);
    box b;
    move mv;
    omp_set_num_threads(threads);
    memset(tensor_data(all), 0x5a, (size_t)((m->columns + 1) * pitch * size));
    box_of_pair(&b, y, x);
    move_copy(&mv, &b, y, x);
    mv.dst = tensor_data(all) + into * size;
    mv.stream = true;
    move_take_buffers(&mv, &k->memory);
    assert_true(mv.turns_across);
    moves_run(&mv, 1, false);
    for (int64_t at = 0; at < (m->columns + 1) * pitch; at++) {
        int64_t i = (at - into) / pitch, r = (at - into) % pitch;
        bool is_own = at >= into && i < m->columns && r < m->rows;
        const char *wanted = is_own ? tensor_data(x) + (r * m->stride + i) * size : "\x5a\x5a\x5a\x5a\x5a\x5a\x5a\x5a";
        if (memcmp(tensor_data(all) + at * size, wanted, (size_t)size) != 0) {
            print_error("[%lld, %lld], %lld into memory: row %lld, element %lld differs\n", (long long)m->rows, (long long)m->columns,
                        (long long)into, (long long)r, (long long)i);
            assert_true(false);
        }
    }
    kit_reset(k);
}

static void rows_within_lines_copy(void **state) {
    int before = omp_get_max_threads();
    for (size_t i = 0; i < countof(cut); i++) {
        for (int threads = 1; threads <= 3; threads++) {
            check_cut(*state, &cut[i].of, cut[i].into, cut[i].gap, threads);
        }
    }
    omp_set_num_threads(before);
}

static uint64_t seed = 13;

int main(void) {
    const struct CMUnitTest tests[] = {
        KIT_TEST(both_ways_copy, &seed),
        KIT_TEST(rows_within_lines_copy, &seed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
