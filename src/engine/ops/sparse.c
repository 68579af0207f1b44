/* SPDX-License-Identifier: Apache-2.0 */
/* Sparse tensors made of their parts. */
#include "engine/ops/rows.h"
#include "engine/schema/fill.h"
#include "engine/schema/reference.h"

#include <inttypes.h>
#include <string.h>

/* _sparse_coo_tensor_with_dims_and_tensors(sparse_dim, dense_dim, size, indices, values, *, dtype, layout, device,
   pin_memory, is_coalesced). ATen takes the two parts as they are: it neither copies them nor looks at the indices. */
static status sparse_coo_infer(const op_call *call, outputs *out, error *err) {
    int64_t sparse_dim = call_int(call, 0), dense_dim = call_int(call, 1);
    int ndim;
    const int64_t *sizes = call_ints(call, 2, &ndim);
    const tensor *indices = call_tensor(call, 3), *values = call_tensor(call, 4);
    const char *layout = call_str(call, 6);
    if (layout != NULL && strcmp(layout, "sparse_coo") != 0) {
        return fail(err, ASSAY_INVALID, "%s: expected layout sparse_coo, got %.40s", call->op->signature.full, layout);
    }
    dtype type = call_dtype(call, 5, values->dtype);
    if (sparse_dim < 0 || dense_dim < 0 || sparse_dim > ndim || dense_dim != ndim - sparse_dim || indices->ndim != 2 ||
        indices->sizes[0] != sparse_dim || type != values->dtype) {
        char i[TENSOR_TEXT_BYTES], v[TENSOR_TEXT_BYTES];
        return fail(err, ASSAY_INVALID,
                    "%s: %" PRId64 " sparse and %" PRId64
                    " dense dimensions do not go with %d sizes, indices %.80s and "
                    "values %.80s as %s",
                    call->op->signature.full, sparse_dim, dense_dim, ndim, tensor_describe(i, indices),
                    tensor_describe(v, values), assay_dtype_name(type));
    }
    for (int d = 1; d < values->ndim; d++) {
        if (sparse_dim + d - 1 < ndim && values->sizes[d] != sizes[sparse_dim + d - 1]) {
            return fail(err, ASSAY_INVALID, "%s: dimension %d of values is %" PRId64 ", expected %" PRId64,
                        call->op->signature.full, d, values->sizes[d], sizes[sparse_dim + d - 1]);
        }
    }
    bool is_coalesced = !call_is_none(call, 9) && call_bool(call, 9);
    tensor *t;
    TRY(outputs_next(out, &t, err));
    return tensor_init_sparse(t, ndim, sizes, indices, values, is_coalesced, err);
}

/* Row d of the indices is valid in dimension d. */
static status sparse_coo_inputs(const op_call *call, rng *r, error *err) {
    int ndim;
    const int64_t *sizes = call_ints(call, 2, &ndim);
    tensor *indices = call_tensor(call, 3);
    (void)err;
    for (int d = 0; indices->ndim == 2 && d < indices->sizes[0] && d < ndim; d++) {
        tensor row;
        tensor_share(&row, indices);
        row.offset += d * indices->strides[0];
        row.sizes[0] = 1;
        fill_integers(&row, r, 0, sizes[d]);
        tensor_clear(&row);
    }
    return ASSAY_OK;
}

static const op_family family_sparse = {.name = "sparse"};

static const op_row rows[] = {
    {.signature =
         "_sparse_coo_tensor_with_dims_and_tensors(int sparse_dim, int dense_dim, SymInt[] size, Tensor indices, "
         "Tensor values, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, "
         "bool? pin_memory=False, bool? is_coalesced=None) -> Tensor",
     .doc = "A sparse tensor over the given indices and values, which it shares.",
     .family = &family_sparse,
     .infer = sparse_coo_infer,
     .inputs = sparse_coo_inputs,
     .is_view = true},
};

const op_rows rows_sparse = {rows, countof(rows)};
