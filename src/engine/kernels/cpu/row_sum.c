/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of any number type summed up. */
#include "engine/kernels/cpu/row_sum.h"

#include "engine/kernels/cpu/parallel.h"

#include <string.h>

enum { ROWS = 3 }; /* accumulators, a row loaded, a row gathered */

static size_t row_bytes(const row_sum *s) {
    return ((size_t)s->capacity * 16 + 63) / 64 * 64;
}

status row_sum_make(row_sum *s, dtype type, int64_t capacity, arena *memory, error *err) {
    dtype real = dtype_real(type);
    *s = (row_sum){.type = type, .parts = dtype_is_complex(type) ? 2 : 1, .capacity = capacity};
    s->is_f64 = real == ASSAY_F64 || !dtype_is_floating(real);
    size_t size = dtype_size(type), bytes = 0;
    for (s->log2 = 0; (size_t)1 << s->log2 < size; s->log2++) {
    }
    s->add = add_loops_best();
    s->copy = copy_loops_best();
    s->threads = omp_get_max_threads();
    converter_make(&s->load, s->is_f64 ? ASSAY_F64 : ASSAY_F32, real);
    converter_make(&s->store, real, s->is_f64 ? ASSAY_F64 : ASSAY_F32);
    if (mul_size((size_t)capacity, 16, &bytes) && mul_size(row_bytes(s), ROWS, &bytes)) {
        s->room = arena_make(memory, (size_t)s->threads, bytes);
    }
    return s->room != NULL ? ASSAY_OK
                           : fail(err, ASSAY_OUT_OF_MEMORY, "no memory for rows of %lld sums", (long long)capacity);
}

int row_sum_threads(const row_sum *s, double bytes) {
    int threads = parallel_threads(bytes);
    return threads < s->threads ? threads : s->threads;
}

static char *own_row(const row_sum *s, int which) {
    return s->room + row_bytes(s) * (size_t)(ROWS * omp_get_thread_num() + which);
}

void *row_sum_start(const row_sum *s, int64_t n) {
    char *acc = own_row(s, 0);
    memset(acc, 0, (size_t)(n * s->parts) * (s->is_f64 ? sizeof(double) : sizeof(float)));
    return acc;
}

const void *row_sum_load(const row_sum *s, const char *src, ptrdiff_t stride, int64_t n) {
    ptrdiff_t size = (ptrdiff_t)1 << s->log2;
    const void *row = src;
    if (stride != size) {
        s->copy->strided(own_row(s, 2), src, s->log2, n, size, stride);
        row = own_row(s, 2);
    }
    if (!row_sum_is_native(s)) {
        converter_run(&s->load, own_row(s, 1), row, n * s->parts);
        row = own_row(s, 1);
    }
    return row;
}

void row_sum_add(const row_sum *s, void *acc, int64_t at, int64_t step, const char *src, ptrdiff_t stride, int64_t n) {
    const void *row = row_sum_load(s, src, stride, n);
    if (s->parts == 2) { /* complex: whole runs when they lie side by side, else part after part */
        for (int64_t i = 0; i < (step == 1 ? 1 : n); i++) {
            int64_t to = 2 * (at + i * step), some = step == 1 ? 2 * n : 2;
            if (s->is_f64) {
                s->add->f64((double *)acc + to, 1, (const double *)row + 2 * i, some);
            } else {
                s->add->f32((float *)acc + to, 1, (const float *)row + 2 * i, some);
            }
        }
    } else if (s->is_f64) {
        s->add->f64((double *)acc + at, step, row, n);
    } else {
        s->add->f32((float *)acc + at, step, row, n);
    }
}

void row_sum_load_into(const row_sum *s, void *to, const char *src, ptrdiff_t stride, int64_t n) {
    ptrdiff_t size = (ptrdiff_t)1 << s->log2;
    bool is_native = row_sum_is_native(s);
    void *row = is_native ? to : own_row(s, 2);
    if (stride != size) {
        s->copy->strided(row, src, s->log2, n, size, stride);
    } else if (is_native) {
        memcpy(to, src, (size_t)(n * size));
    }
    if (!is_native) {
        converter_run(&s->load, to, stride != size ? row : src, n * s->parts);
    }
}

bool row_sum_is_native(const row_sum *s) {
    return dtype_real(s->type) == (s->is_f64 ? ASSAY_F64 : ASSAY_F32);
}

void row_sum_of(const row_sum *s, void *to, int64_t to_pitch, int64_t rows, int64_t n, const void *base, int64_t pitch,
                const shifted_rows *parts, int64_t n_parts) {
    if (s->is_f64) {
        s->add->f64_sum(to, to_pitch, rows, n, base, pitch, parts, n_parts);
    } else {
        s->add->f32_sum(to, to_pitch, rows, n, base, pitch, parts, n_parts);
    }
}

void row_sum_interleave(const row_sum *s, void *to, int64_t to_pitch, int64_t rows, int64_t n, const void *from, int64_t phase_room,
                        int64_t phases) {
    int64_t unit = s->parts, room = phase_room * unit;
    if (s->is_f64) {
        s->add->f64_interleave(to, to_pitch * unit, rows, n * unit, from, room * phases, room, phases, unit);
    } else {
        s->add->f32_interleave(to, to_pitch * unit, rows, n * unit, from, room * phases, room, phases, unit);
    }
}

void *row_sum_spare(const row_sum *s) {
    return own_row(s, 1);
}

void row_sum_store(const row_sum *s, const void *acc, char *dst, ptrdiff_t stride, int64_t n) {
    ptrdiff_t size = (ptrdiff_t)1 << s->log2;
    if (stride == size) {
        converter_run(&s->store, dst, acc, n * s->parts);
        return;
    }
    char *row = own_row(s, 1);
    converter_run(&s->store, row, acc, n * s->parts);
    s->copy->strided(dst, row, s->log2, n, stride, size);
}
