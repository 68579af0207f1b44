/* SPDX-License-Identifier: Apache-2.0 */
/* The k largest or smallest along one dimension, and their places. */
#include "engine/kernels/cpu/along.h"
#include "engine/kernels/cpu/parallel.h"
#include "engine/kernels/cpu/topk.h"

#include <math.h>
#include <string.h>

/* An element as an unsigned number that is the larger the earlier it comes in the answer; ties go to the earlier place. */
typedef struct entry {
    uint64_t key;
    int64_t place;
} entry;

static bool comes_before(entry a, entry b) {
    return a.key != b.key ? a.key > b.key : a.place < b.place;
}

/* Doubles (and integers, their sign flipped) order like their bits read as integers; NaN is the largest. */
static uint64_t key_of_real(double x, bool largest) {
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    bits = isnan(x) ? UINT64_MAX : x == 0 ? UINT64_C(1) << 63 : bits >> 63 != 0 ? ~bits : bits | UINT64_C(1) << 63;
    return largest ? bits : ~bits;
}

static uint64_t key_of_int(int64_t x, bool largest) {
    uint64_t bits = (uint64_t)x ^ UINT64_C(1) << 63;
    return largest ? bits : ~bits;
}

/* A heap whose root is the last of the k in the answer's order. */
static void sift(entry *heap, int64_t n, int64_t i) {
    entry moved = heap[i];
    for (int64_t child = 2 * i + 1; child < n; child = 2 * i + 1) {
        if (child + 1 < n && comes_before(heap[child], heap[child + 1])) {
            child++;
        }
        if (!comes_before(moved, heap[child])) {
            break;
        }
        heap[i] = heap[child];
        i = child;
    }
    heap[i] = moved;
}

static uint64_t key_at(const along *a, const void *block, int64_t i) {
    return a->l->type == ASSAY_F32   ? key_of_real((double)((const float *)block)[i], a->largest)
           : a->l->type == ASSAY_F64 ? key_of_real(((const double *)block)[i], a->largest)
                                     : key_of_int(((const int64_t *)block)[i], a->largest);
}

static void topk_any_line(const along *a, const char *x, char *values, char *places, entry *heap, void *buffer) {
    int64_t held = 0;
    for (int64_t i = 0; i < a->n; i += ROW_BLOCK) {
        int64_t n = a->n - i < ROW_BLOCK ? a->n - i : ROW_BLOCK;
        const void *block = row_fetch(a->l, buffer, x + i * a->in_stride, a->in, a->in_stride, n);
        for (int64_t j = 0; j < n; j++) {
            entry e = {key_at(a, block, j), i + j};
            if (held < a->k) {
                heap[held++] = e;
                for (int64_t p = held / 2 - 1; held == a->k && p >= 0; p--) {
                    sift(heap, held, p);
                }
            } else if (e.key > heap[0].key) { /* an equal one later on never displaces */
                heap[0] = e;
                sift(heap, held, 0);
            }
        }
    }
    for (int64_t i = held - 1; i >= 0; i--) { /* the root is the last one left */
        const char *from = x + heap[0].place * a->in_stride;
        memcpy(values + i * a->out_stride, from, dtype_size(a->in));
        *(int64_t *)(void *)(places + i * a->place_stride) = heap[0].place;
        heap[0] = heap[i];
        sift(heap, i, 0);
    }
}

/* Keys of a block of n: of floats, or of whole numbers that lie less than 2^32 above `least`. */
static void keys_of_block(const along *a, int32_t *keys, const void *block, int64_t n, int64_t least) {
    if (a->l->type == ASSAY_F32) {
        topk_keys(keys, block, n, a->largest);
        return;
    }
    const int64_t *x = block;
    const uint32_t turn = a->largest ? 0 : UINT32_MAX;
    for (int64_t i = 0; i < n; i++) {
        keys[i] = (int32_t)(((uint32_t)((uint64_t)x[i] - (uint64_t)least) ^ UINT32_C(1) << 31) ^ turn);
    }
}

/* Whether a line's numbers lie within 2^32 of its least. */
static bool find_least(const along *a, const char *x, void *buffer, int64_t *least) {
    int64_t most = INT64_MIN;
    *least = INT64_MAX;
    for (int64_t i = 0; i < a->n; i += ROW_BLOCK) {
        int64_t n = a->n - i < ROW_BLOCK ? a->n - i : ROW_BLOCK;
        const int64_t *block = row_fetch(a->l, buffer, x + i * a->in_stride, a->in, a->in_stride, n);
        for (int64_t j = 0; j < n; j++) {
            *least = block[j] < *least ? block[j] : *least;
            most = block[j] > most ? block[j] : most;
        }
    }
    return (uint64_t)most - (uint64_t)*least <= UINT32_MAX;
}

/* Lines by keys of 32 bits. */
static void topk_quick_line(const along *a, const char *x, char *values, char *places, topk_entry *room, void *buffer, int64_t least) {
    int32_t keys[ROW_BLOCK];
    topk_line line = {.room = room, .n = a->n, .k = a->k};
    for (int64_t i = 0; i < a->n; i += ROW_BLOCK) {
        int64_t n = a->n - i < ROW_BLOCK ? a->n - i : ROW_BLOCK;
        keys_of_block(a, keys, row_fetch(a->l, buffer, x + i * a->in_stride, a->in, a->in_stride, n), n, least);
        topk_add(&line, keys, i, n);
    }
    const topk_entry *taken = topk_take(&line);
    size_t size = dtype_size(a->in);
    for (int64_t i = 0; i < a->k; i++) {
        int64_t place = topk_place(taken[i]);
        memcpy(values + i * a->out_stride, x + place * a->in_stride, size);
        *(int64_t *)(void *)(places + i * a->place_stride) = place;
    }
}

/* Lines [from, to) that go together (topk.h). */
static void topk_lines_together(const along *a, int64_t from, int64_t to, topk_entry *entries, void *buffer) {
    int32_t keys[TOPK_LINES * TOPK_LINE] __attribute__((aligned(64)));
    const char *x[TOPK_LINES];
    char *values[TOPK_LINES], *places[TOPK_LINES];
    const size_t size = dtype_size(a->in);
    for (int64_t i = from, n; i < to; i += n) {
        n = to - i < TOPK_LINES ? to - i : TOPK_LINES;
        for (int64_t l = 0; l < n; l++) {
            int64_t index[TENSOR_MAX_DIMS], offset[LOOP_MAX_OPERANDS];
            loop_seek(&a->lines, i + l, index, offset);
            x[l] = a->lines.data[0] + offset[0];
            values[l] = a->lines.data[1] + offset[1];
            places[l] = a->lines.data[2] + offset[2];
            keys_of_block(a, keys + l * TOPK_LINE, row_fetch(a->l, buffer, x[l], a->in, a->in_stride, a->n), a->n, a->least);
        }
        topk_together(entries, keys, n, a->n, a->k);
        for (int64_t l = 0; l < n; l++) {
            for (int64_t j = 0; j < a->k; j++) {
                const int64_t place = topk_place(entries[l * a->k + j]);
                if (size == sizeof(float)) { /* no call for a few bytes */
                    memcpy(values[l] + j * a->out_stride, x[l] + place * a->in_stride, sizeof(float));
                } else {
                    memcpy(values[l] + j * a->out_stride, x[l] + place * a->in_stride, size);
                }
                *(int64_t *)(void *)(places[l] + j * a->place_stride) = place;
            }
        }
    }
}

static void share_topk(const void *context) {
    const along *a = context;
    alignas(64) char buffer[ROW_BLOCK * sizeof(double)];
    char *work = (char *)a->work + (size_t)omp_get_thread_num() * a->work_bytes;
    int64_t from, to, index[TENSOR_MAX_DIMS], offset[LOOP_MAX_OPERANDS];
    parallel_share(a->lines.numel, 1, &from, &to);
    if (a->by_keys && a->in != ASSAY_I64 && topk_goes_together(a->n, a->k)) {
        topk_lines_together(a, from, to, (topk_entry *)(void *)work, buffer);
        return;
    }
    for (int64_t i = from; i < to; i++) {
        loop_seek(&a->lines, i, index, offset);
        const char *x = a->lines.data[0] + offset[0];
        char *values = a->lines.data[1] + offset[1], *places = a->lines.data[2] + offset[2];
        int64_t least = a->least;
        if (a->by_keys && (a->in != ASSAY_I64 || find_least(a, x, buffer, &least))) {
            topk_quick_line(a, x, values, places, (topk_entry *)(void *)work, buffer, least);
        } else {
            topk_any_line(a, x, values, places, (entry *)(void *)work, buffer);
        }
    }
}

static status run_topk(kernel_plan *plan) {
    const along *a = plan->state;
    if (a->k == 0) {
        return ASSAY_OK;
    }
    parallel_run(a->threads, share_topk, a);
    return ASSAY_OK;
}

static status prepare_topk(kernel_plan *plan, error *err) {
    along *a;
    TRY(along_plan(plan, call_int(plan->call, 2), &a, err));
    a->l = row_loops_for(a->in);
    a->k = call_tensor(plan->call, 0)->ndim == 0 ? 1 : call_int(plan->call, 1); /* the one element is taken in any case */
    a->largest = call_bool(plan->call, 3);
    a->by_keys = a->l->type != ASSAY_F64 && a->n < UINT32_MAX;
    a->least = a->in == ASSAY_I8 ? INT8_MIN : a->in == ASSAY_I16 ? INT16_MIN : a->in == ASSAY_I32 ? INT32_MIN : 0;
    size_t keyed = a->by_keys ? (size_t)topk_room(a->n, a->k) * sizeof(topk_entry) : 0;
    size_t any = !a->by_keys || a->in == ASSAY_I64 ? (size_t)a->k * sizeof(entry) : 0;
    a->work_bytes = keyed > any ? keyed : any;
    a->work_bytes = parallel_room(a->work_bytes);
    a->work = arena_make(plan->memory, (size_t)a->threads, a->work_bytes);
    if (a->work == NULL) {
        return fail(err, ASSAY_OUT_OF_MEMORY, "no memory for the %lld largest", (long long)a->k);
    }
    plan->run = run_topk;
    return ASSAY_OK;
}

static const kernel_row rows[] = {
    {.op = "topk.default", .prepare = prepare_topk},
};

const kernel_rows kernels_sort = {rows, countof(rows)};
