/* SPDX-License-Identifier: Apache-2.0 */
/* A put, as its parts see it: put.c writes slots, put_sort.c groups the index positions by them. */
#ifndef ENGINE_KERNELS_CPU_PUT_PARTS_H
#define ENGINE_KERNELS_CPU_PUT_PARTS_H

#include "engine/kernels/cpu/isa/convert_loops.h"
#include "engine/kernels/cpu/isa/copy_loops.h"
#include "engine/kernels/cpu/put.h"

enum { PUT_BLOCK = 512 };

/* How sums run: the accumulator's type and conversions to and from it. */
typedef struct put_sums {
    add_row_fn *add;
    void (*rows)(float *acc, const row_list *rows, int64_t n); /* a slot's slices in one call; NULL for some types */
    convert_fn *to, *from; /* NULL: the accumulator is the type itself */
    dtype part;            /* the type of one number: a complex element has two */
    int parts;
    size_t acc_bytes;
} put_sums;

struct put {
    places at;
    put_options options;
    const index_loops *loops;
    const copy_loops *copies;
    put_sums sums;
    int log2;
    char *dst;
    const char *values;
    int64_t n_slots;
    int64_t *slot_of;    /* per index position */
    int64_t *starts;     /* one more than groups: where each one's index positions begin in `order` */
    ptrdiff_t *order;    /* by slot: its slices' offsets in values, in the order of the indices */
    int64_t *touched;    /* groups with any position; all slots when summing */
    int64_t *named;      /* the groups' slots, in order, where slots are very many; else NULL */
    int64_t *keys;       /* room to sort them, ... */
    ptrdiff_t *moved;    /* ... and offsets beside them */
    ptrdiff_t *places;   /* of touched slots: their offsets in dst; made when single elements are added */
    int64_t n_touched;
    int n_slot_dims;     /* how a slot's number becomes a place in dst: sizes and byte strides, outermost first */
    int64_t slot_sizes[TENSOR_MAX_DIMS];
    ptrdiff_t slot_strides[TENSOR_MAX_DIMS];
    ptrdiff_t *k_offsets; /* per index position: its slice in values */
    int ndim;            /* plain dimensions outside the inner one */
    int64_t sizes[TENSOR_MAX_DIMS];
    ptrdiff_t dst_strides[TENSOR_MAX_DIMS], src_strides[TENSOR_MAX_DIMS];
    int64_t units;
    int64_t run_n;       /* the inner plain dimension */
    ptrdiff_t run_dst, run_src;
    bool is_run;         /* it is contiguous on both sides */
    bool is_same;        /* one number goes to places that are all different: see put_same */
    bool streams_zeros;  /* rows that nothing is added to follow each other, and no cache holds them all */
    double bytes;
};

static inline char *put_slot_place(const put *p, char *dst, int64_t slot) {
    for (int d = p->n_slot_dims - 1; d > 0; d--) {
        dst += slot % p->slot_sizes[d] * p->slot_strides[d];
        slot /= p->slot_sizes[d];
    }
    return p->n_slot_dims > 0 ? dst + slot * p->slot_strides[0] : dst;
}

/* The slot of each index position; false: one of them names none. */
bool put_find_slots(put *p);
/* Groups the positions by slot, in the order of the indices. */
void put_sort_by_digits(put *p);
void put_sort_by_counts(put *p);

#endif
