/* SPDX-License-Identifier: Apache-2.0 */
/* Joins the kernel files and binds each kernel to its operator once, so that a call looks nothing up by name. */
#include "engine/kernels/cpu/kernels.h"

#include <stdlib.h>

static const kernel_rows *const files[] = {
    &kernels_pointwise, &kernels_reduce,       &kernels_norm,     &kernels_softmax,   &kernels_loss,          &kernels_cumsum,
    &kernels_sort,      &kernels_copy,         &kernels_shape,    &kernels_reflect,   &kernels_create,        &kernels_random,
    &kernels_index,     &kernels_scatter,      &kernels_embedding, &kernels_embedding_bag, &kernels_rnn,      &kernels_fft,
    &kernels_sparse,    &kernels_fold,         &kernels_reflect_back, &kernels_triangle, &kernels_matmul,     &kernels_conv,
    &kernels_pool,      &kernels_resample,
};

struct kernel_index {
    int n;
    const kernel_row *by_op[]; /* op id -> its kernel, or NULL */
};

/* A kernel serves its operator and the in-place variant, which share their row. */
static status bind(const op_table *table, kernel_index *index, const kernel_row *kernel, error *err) {
    const op *found = op_table_find(table, kernel->op);
    if (found == NULL) {
        return fail(err, ASSAY_INTERNAL, "kernel table: no operator is called '%s'", kernel->op);
    }
    for (int id = 0; id < index->n; id++) {
        if (op_table_at(table, id)->row == found->row) {
            index->by_op[id] = kernel;
        }
    }
    return ASSAY_OK;
}

status kernel_index_new(const op_table *table, kernel_index **out, error *err) {
    int n = op_table_size(table);
    kernel_index *index = calloc(1, sizeof *index + (size_t)n * sizeof index->by_op[0]);
    if (index == NULL) {
        return fail(err, ASSAY_OUT_OF_MEMORY, "no memory for the kernel table");
    }
    index->n = n;
    for (size_t f = 0; f < countof(files); f++) {
        for (size_t i = 0; i < files[f]->n; i++) {
            status result = bind(table, index, &files[f]->rows[i], err);
            if (result != ASSAY_OK) {
                free(index);
                return result;
            }
        }
    }
    *out = index;
    return ASSAY_OK;
}

void kernel_index_free(kernel_index *index) {
    free(index);
}

const kernel_row *kernel_find_cpu(const kernel_index *index, const op *o) {
    return index->by_op[o->id];
}
