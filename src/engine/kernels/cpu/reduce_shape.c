/* SPDX-License-Identifier: Apache-2.0 */
/* Which dimensions a reduction keeps, and which way it walks them. */
#include "engine/kernels/cpu/reduce_shape.h"

/* The innermost size below which runs are too short to be worth folding one by one. */
enum { SHORT_RUN = 16 };

static void add_parts(tensor *t, reduce_parts parts) {
    bool as_dimension = parts == PARTS_KEPT || parts == PARTS_REDUCED;
    if (!dtype_is_complex(t->dtype) || parts == PARTS_WHOLE) {
        return;
    }
    for (int d = 0; d < t->ndim; d++) {
        t->strides[d] *= 2;
    }
    t->offset *= 2;
    t->dtype = dtype_real(t->dtype);
    if (as_dimension) {
        t->sizes[t->ndim] = 2;
        t->strides[t->ndim++] = 1;
    }
}

/* Copies of tensors here are layouts to read and hold no memory. */
void reduce_shape_init(reduce_shape *s, const row_loops *l, tensor *self, uint32_t mask, reduce_parts parts, tensor *out_tensors,
                       int n_out, int64_t least_together) {
    tensor in = *self, out[REDUCE_MAX_OUTPUTS];
    tensor *operands[1 + REDUCE_MAX_OUTPUTS] = {&in};
    for (int k = 0; k < n_out; k++) {
        out[k] = out_tensors[k];
        out[k].ndim = in.ndim;
        for (int d = 0, from = 0; d < in.ndim; d++) {
            bool is_reduced = (mask >> d & 1) != 0;
            bool is_there = !is_reduced || out_tensors[k].ndim == in.ndim;
            out[k].sizes[d] = is_reduced ? 1 : in.sizes[d];
            out[k].strides[d] = is_reduced ? 0 : out_tensors[k].strides[from];
            from += is_there;
        }
        add_parts(&out[k], parts);
        if (parts == PARTS_REDUCED) {
            out[k].sizes[out[k].ndim] = 1;
            out[k].strides[out[k].ndim++] = 0;
        }
        operands[1 + k] = &out[k];
    }
    uint32_t reduced = mask & nest_all(in.ndim);
    reduced |= parts == PARTS_REDUCED ? 1u << in.ndim : 0;
    add_parts(&in, parts);
    s->l = l;
    s->in = in.dtype;
    nest_init(&s->kept, operands, 1 + n_out, nest_all(in.ndim) & ~reduced);
    nest_init(&s->reduced, operands, 1, reduced);
    int64_t kept_stride = s->kept.numel > 1 ? s->kept.strides[0][0] : INT64_MAX;
    int64_t reduced_stride = s->reduced.numel > 1 ? s->reduced.strides[0][0] : INT64_MAX;
    int64_t size = (int64_t)dtype_size(s->in);
    bool lie_in_line = s->reduced.numel >= least_together && nest_runs(&s->reduced) == 1 && reduced_stride == size &&
                       kept_stride == s->reduced.numel * size;
    bool are_short = s->reduced.numel <= SHORT_RUN && s->kept.sizes[0] >= REDUCE_MIN_COLUMNS && !lie_in_line;
    s->by_columns = kept_stride < reduced_stride || are_short;
    bool are_halves = l->type == ASSAY_F32 && (s->in == ASSAY_F16 || s->in == ASSAY_BF16);
    bool lie_together = (s->by_columns ? &s->kept : &s->reduced)->strides[0][0] == (int64_t)sizeof(uint16_t);
    s->halves = are_halves && lie_together ? row_halves_for(s->in) : NULL;
}
