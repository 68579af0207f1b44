/* SPDX-License-Identifier: Apache-2.0 */
/* Copies: of one tensor into another layout or type, and of several into one. */
#include "engine/graph/dag.h"
#include "engine/ops/rows.h"
#include "engine/schema/pointwise.h"
#include "engine/schema/reference.h"

#include <inttypes.h>
#include <string.h>

/* What a memory_format argument asks for. */
static status init_formatted(tensor *out, dtype t, const tensor *like, const op_call *call, int format_arg,
                             error *err) {
    const char *format = call_str(call, format_arg);
    if (format == NULL || strcmp(format, "preserve_format") == 0) {
        return tensor_init_like(out, t, like, err);
    }
    if (strcmp(format, "contiguous_format") == 0) {
        return tensor_init(out, t, like->ndim, like->sizes, err);
    }
    int ndim = strcmp(format, "channels_last") == 0 ? 4 : strcmp(format, "channels_last_3d") == 0 ? 5 : 0;
    if (ndim == 0 || like->ndim != ndim) {
        return fail(err, ASSAY_INVALID, "%s: memory format %.40s does not go with %d dimensions",
                    call->op->signature.full, format, like->ndim);
    }
    return tensor_init_channels_last(out, t, ndim, like->sizes, err);
}

/* Reference of copies that keep the row-major order. */
static int64_t same_place(ref_ctx *ctx, int out, int64_t flat, int64_t k, ref_term *term) {
    (void)out, (void)k;
    ref_take(term, call_tensor(ctx->call, 0), flat);
    return 1;
}

/* clone(self, *, memory_format) */
static status clone_infer(const op_call *call, outputs *out, error *err) {
    const tensor *self = call_tensor(call, 0);
    tensor *t;
    TRY(outputs_next(out, &t, err));
    return init_formatted(t, self->dtype, self, call, 1, err);
}

static status lift_infer(const op_call *call, outputs *out, error *err) {
    const tensor *self = call_tensor(call, 0);
    tensor *t;
    TRY(outputs_next(out, &t, err));
    return tensor_init(t, self->dtype, self->ndim, self->sizes, err);
}

/* _to_copy(self, *, dtype, layout, device, pin_memory, non_blocking, memory_format): the device named is not asked. */
static status to_copy_infer(const op_call *call, outputs *out, error *err) {
    const tensor *self = call_tensor(call, 0);
    const char *layout = call_str(call, 2);
    tensor *t;
    if (layout != NULL && strcmp(layout, "strided") != 0) {
        return fail(err, ASSAY_UNSUPPORTED, "%s: expected a strided layout, got %.40s", call->op->signature.full,
                    layout);
    }
    TRY(outputs_next(out, &t, err));
    return init_formatted(t, call_dtype(call, 1, self->dtype), self, call, 6, err);
}

/* copy(self, src, non_blocking): src's values, broadcast, in self's type and layout. */
static status copy_infer(const op_call *call, outputs *out, error *err) {
    const tensor *self = call_tensor(call, 0), *src = call_tensor(call, 1);
    int64_t sizes[TENSOR_MAX_DIMS];
    int ndim = self->ndim;
    memcpy(sizes, self->sizes, (size_t)ndim * sizeof *sizes);
    if (sizes_broadcast(&ndim, sizes, src->ndim, src->sizes, err) != ASSAY_OK || ndim != self->ndim ||
        memcmp(sizes, self->sizes, (size_t)ndim * sizeof *sizes) != 0) {
        char from[TENSOR_TEXT_BYTES], to[TENSOR_TEXT_BYTES];
        return fail(err, ASSAY_INVALID, "%s: %.160s does not broadcast to %.160s", call->op->signature.full,
                    tensor_describe(from, src), tensor_describe(to, self));
    }
    tensor *t;
    TRY(outputs_next(out, &t, err));
    return tensor_overlaps_itself(self) ? tensor_init_like(t, self->dtype, self, err)
                                        : tensor_init_strided(t, self->dtype, ndim, sizes, self->strides, err);
}

static int64_t copy_moves(ref_ctx *ctx, int out, int64_t flat, int64_t k, ref_term *term) {
    const tensor *src = call_tensor(ctx->call, 1), *t = &ctx->out->items[out];
    int64_t index[TENSOR_MAX_DIMS];
    (void)k;
    sizes_unravel(t->ndim, t->sizes, flat, index);
    for (int d = 0; d < src->ndim; d++) {
        int64_t at = index[d + t->ndim - src->ndim];
        index[d] = src->sizes[d] == 1 ? 0 : at;
    }
    ref_take(term, src, sizes_ravel(src->ndim, src->sizes, index));
    return 1;
}

/* self's old values are not read. */
static void copy_cost(const op_call *call, const outputs *out, op_cost *cost) {
    cost->bytes = tensor_bytes(call_tensor(call, 1)) + tensor_bytes(&out->items[0]);
}

/* --- cat and stack
 * ------------------------------------------------------------------------------------------------------- */

/* ATen's oldest habit: a tensor of shape [0] joins anything, as nothing. */
static bool cat_skips(const tensor *t) {
    return t->ndim == 1 && t->sizes[0] == 0;
}

static status check_list(const op_call *call, tensor **items, int n, error *err) {
    if (n == 0) {
        return fail(err, ASSAY_INVALID, "%s: expected a list of tensors, got an empty one", call->op->signature.full);
    }
    for (int i = 0; i < n; i++) {
        if (items[i] == NULL) {
            return fail(err, ASSAY_INVALID, "%s: expected tensors, item %d is None", call->op->signature.full, i);
        }
    }
    return ASSAY_OK;
}

/* Sizes of the tensors joined along dim of the `first` one that counts. */
static status cat_sizes(const op_call *call, tensor **items, int n, const tensor *first, int dim, int64_t *sizes,
                        error *err) {
    memcpy(sizes, first->sizes, (size_t)first->ndim * sizeof *sizes);
    sizes[dim] = 0;
    for (int i = 0; i < n; i++) {
        if (cat_skips(items[i])) {
            continue;
        }
        bool agrees = items[i]->ndim == first->ndim;
        for (int d = 0; agrees && d < first->ndim; d++) {
            agrees = d == dim || items[i]->sizes[d] == first->sizes[d];
        }
        if (!agrees || !add_i64(sizes[dim], items[i]->sizes[dim], &sizes[dim])) {
            char has[TENSOR_TEXT_BYTES], needs[TENSOR_TEXT_BYTES];
            return fail(err, ASSAY_INVALID, "%s: item %d is %.160s, which does not join %.160s in dimension %d",
                        call->op->signature.full, i, tensor_describe(has, items[i]), tensor_describe(needs, first),
                        dim);
        }
    }
    return ASSAY_OK;
}

/* Channels-last when all items look so. */
static bool all_suggest_channels_last(tensor **items, int n) {
    for (int i = 0; i < n; i++) {
        if (!tensor_suggests_channels_last(items[i]) || items[i]->ndim != items[0]->ndim) {
            return false;
        }
    }
    return true;
}

static status init_joined(tensor *out, tensor **items, int n, int ndim, const int64_t *sizes, error *err) {
    dtype type = result_type(items, n, NULL, 0);
    return all_suggest_channels_last(items, n) ? tensor_init_channels_last(out, type, ndim, sizes, err)
                                               : tensor_init(out, type, ndim, sizes, err);
}

static const tensor *first_counting(tensor **items, int n) {
    for (int i = 0; i < n; i++) {
        if (!cat_skips(items[i])) {
            return items[i];
        }
    }
    return NULL;
}

/* cat(tensors, dim) */
static status cat_infer(const op_call *call, outputs *out, error *err) {
    int n, dim;
    tensor **items = call_tensors(call, 0, &n), *t;
    int64_t sizes[TENSOR_MAX_DIMS] = {0};
    TRY(check_list(call, items, n, err));
    const tensor *first = first_counting(items, n);
    TRY(outputs_next(out, &t, err));
    if (first == NULL) {
        return tensor_init(t, result_type(items, n, NULL, 0), 1, sizes, err);
    }
    if (first->ndim == 0) {
        return fail(err, ASSAY_INVALID, "%s: tensors without dimensions cannot be joined", call->op->signature.full);
    }
    TRY(dim_wrap(call_int(call, 1), first->ndim, &dim, err));
    TRY(cat_sizes(call, items, n, first, dim, sizes, err));
    return init_joined(t, items, n, first->ndim, sizes, err);
}

/* Where each item ends along the dimension. NULL when memory is out. */
static const int64_t *cat_ends(ref_ctx *ctx, tensor **items, int n, int dim) {
    if (ctx->scratch == NULL) {
        int64_t *ends = ref_make(ctx, (size_t)n, sizeof *ends), at = 0;
        for (int i = 0; ends != NULL && i < n; i++) {
            at += cat_skips(items[i]) ? 0 : items[i]->sizes[dim];
            ends[i] = at;
        }
        ctx->scratch = ends;
    }
    return ctx->scratch;
}

static int64_t cat_moves(ref_ctx *ctx, int out, int64_t flat, int64_t k, ref_term *term) {
    const tensor *t = &ctx->out->items[out];
    int64_t index[TENSOR_MAX_DIMS];
    int n, dim = (int)call_int(ctx->call, 1);
    tensor **items = call_tensors(ctx->call, 0, &n);
    (void)k;
    dim = dim < 0 ? dim + t->ndim : dim;
    const int64_t *ends = cat_ends(ctx, items, n, dim);
    if (ends == NULL) {
        return 1;
    }
    sizes_unravel(t->ndim, t->sizes, flat, index);
    int from = 0; /* the first item that ends behind it is at or behind `from`, and at or before `last` */
    for (int last = n - 1; from < last;) {
        const int middle = from + (last - from) / 2;
        if (ends[middle] > index[dim]) {
            last = middle;
        } else {
            from = middle + 1;
        }
    }
    index[dim] -= from > 0 ? ends[from - 1] : 0;
    ref_take(term, items[from], sizes_ravel(t->ndim, items[from]->sizes, index));
    return 1;
}

/* stack(tensors, dim): ATen joins along dim and then cuts the new dimension off, which decides the layout. */
static status stack_infer(const op_call *call, outputs *out, error *err) {
    int n, dim;
    tensor **items = call_tensors(call, 0, &n), *t;
    int64_t sizes[TENSOR_MAX_DIMS], strides[TENSOR_MAX_DIMS];
    TRY(check_list(call, items, n, err));
    int ndim = items[0]->ndim;
    TRY(dim_wrap(call_int(call, 1), ndim + 1, &dim, err));
    for (int i = 1; i < n; i++) {
        if (!tensor_same_sizes(items[i], items[0])) {
            char has[TENSOR_TEXT_BYTES], needs[TENSOR_TEXT_BYTES];
            return fail(err, ASSAY_INVALID, "%s: item %d is %.160s, the first is %.160s", call->op->signature.full, i,
                        tensor_describe(has, items[i]), tensor_describe(needs, items[0]));
        }
    }
    if (ndim + 1 > TENSOR_MAX_DIMS) {
        return fail(err, ASSAY_TOO_LARGE, "%s: expected fewer than %d dimensions", call->op->signature.full,
                    TENSOR_MAX_DIMS);
    }
    memcpy(sizes, items[0]->sizes, (size_t)dim * sizeof *sizes);
    sizes[dim] = n;
    memcpy(sizes + dim + 1, items[0]->sizes + dim, (size_t)(ndim - dim) * sizeof *sizes);
    TRY(outputs_next(out, &t, err));
    dtype type = result_type(items, n, NULL, 0);
    if (dim == ndim || !all_suggest_channels_last(items, n)) {
        return tensor_init(t, type, ndim + 1, sizes, err);
    }
    tensor joined;
    int64_t joined_sizes[TENSOR_MAX_DIMS];
    memcpy(joined_sizes, items[0]->sizes, (size_t)ndim * sizeof *sizes);
    if (!mul_i64(joined_sizes[dim], n, &joined_sizes[dim])) {
        return fail(err, ASSAY_TOO_LARGE, "%s: too many elements", call->op->signature.full);
    }
    TRY(tensor_init_channels_last(&joined, type, ndim, joined_sizes, err));
    memcpy(strides, joined.strides, (size_t)dim * sizeof *strides);
    strides[dim] = joined.strides[dim] * items[0]->sizes[dim];
    memcpy(strides + dim + 1, joined.strides + dim, (size_t)(ndim - dim) * sizeof *strides);
    return tensor_init_strided(t, type, ndim + 1, sizes, strides, err);
}

static int64_t stack_moves(ref_ctx *ctx, int out, int64_t flat, int64_t k, ref_term *term) {
    const tensor *t = &ctx->out->items[out];
    int64_t index[TENSOR_MAX_DIMS];
    int n, dim = (int)call_int(ctx->call, 1);
    tensor **items = call_tensors(ctx->call, 0, &n);
    (void)k;
    dim = dim < 0 ? dim + t->ndim : dim;
    sizes_unravel(t->ndim, t->sizes, flat, index);
    const tensor *item = items[index[dim]];
    memmove(index + dim, index + dim + 1, (size_t)(t->ndim - dim - 1) * sizeof *index);
    ref_take(term, item, sizes_ravel(item->ndim, item->sizes, index));
    return 1;
}

static void list_cost(const op_call *call, const outputs *out, op_cost *cost) {
    int n;
    tensor **items = call_tensors(call, 0, &n);
    *cost = (op_cost){.reduction = 1, .bytes = tensor_bytes(&out->items[0])};
    for (int i = 0; i < n; i++) {
        cost->bytes += tensor_bytes(items[i]);
    }
}

static const op_family family_copy = {.name = "copy"};

/* --- in primitives ------------------------------------------------------------------------------------------------------ */

/* Types and layouts are the output's matter. */
static void copy_of_self(dag *g, const op_call *call, const outputs *out) {
    (void)out;
    v_result(g, 0, v_raw(g, call, 0));
}

static void copy_of_source(dag *g, const op_call *call, const outputs *out) {
    (void)out;
    v_result(g, 0, v_raw(g, call, 1));
}

/* Each joined tensor is a loop of its own, and time to compile: 249 of them took gcc eight seconds. */
enum { MOST_JOINED = 64 };

/* The list's tensors side by side, in the output's type; of stack each with a dimension of its own. */
static void join_items(dag *g, const op_call *call, const outputs *out, bool stacks) {
    int n, kept = 0, dim, ndim = out->items[0].ndim;
    tensor **items = call_tensors(call, 0, &n);
    if (n > MOST_JOINED) {
        v_refuse(g, "a list of more than 64 tensors");
        return;
    }
    val *pieces = arena_make(g->memory, (size_t)n, sizeof *pieces);
    if (pieces == NULL || dim_wrap(call_int(call, 1), ndim, &dim, NULL) != ASSAY_OK) {
        v_refuse(g, "nothing to join");
        return;
    }
    for (int i = 0; i < n; i++) {
        if (stacks || !cat_skips(items[i])) {
            val x = v_cast(g, v_tensor(g, items[i]), out->items[0].dtype);
            pieces[kept++] = stacks ? v_unsqueeze(g, x, dim) : x;
        }
    }
    v_result(g, 0, kept > 0 ? v_join(g, kept, pieces, dim) : v_int(g, out->items[0].dtype, 0));
}

static void cat_parts(dag *g, const op_call *call, const outputs *out) {
    join_items(g, call, out, false);
}

static void stack_parts(dag *g, const op_call *call, const outputs *out) {
    join_items(g, call, out, true);
}

static const op_row rows[] = {
    {.signature = "clone(Tensor self, *, MemoryFormat? memory_format=None) -> Tensor",
     .doc = "A copy with memory of its own.",
     .family = &family_copy,
     .infer = clone_infer,
     .decompose = copy_of_self,
     .reference_moves = same_place},
    {.signature = "lift_fresh_copy(Tensor self) -> Tensor",
     .doc = "A contiguous copy: how a constant of a traced program enters it.",
     .family = &family_copy,
     .infer = lift_infer,
     .decompose = copy_of_self,
     .reference_moves = same_place},
    {.signature = "_to_copy(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, "
                  "bool? pin_memory=None, bool non_blocking=False, MemoryFormat? memory_format=None) -> Tensor",
     .doc = "A copy in another type or memory format.",
     .family = &family_copy,
     .infer = to_copy_infer,
     .decompose = copy_of_self,
     .reference_moves = same_place},
    {.signature = "copy(Tensor self, Tensor src, bool non_blocking=False) -> Tensor",
     .doc = "The values of src, broadcast, in the type and layout of self.",
     .family = &family_copy,
     .infer = copy_infer,
     .cost = copy_cost,
     .decompose = copy_of_source,
     .reference_moves = copy_moves,
     .has_in_place = true},
    {.signature = "cat(Tensor[] tensors, int dim=0) -> Tensor",
     .doc = "Tensors joined along a dimension they have.",
     .family = &family_copy,
     .infer = cat_infer,
     .cost = list_cost,
     .decompose = cat_parts,
     .reference_moves = cat_moves},
    {.signature = "stack(Tensor[] tensors, int dim=0) -> Tensor",
     .doc = "Tensors of one shape joined along a new dimension.",
     .family = &family_copy,
     .infer = stack_infer,
     .cost = list_cost,
     .decompose = stack_parts,
     .reference_moves = stack_moves},
};

const op_rows rows_copy = {rows, countof(rows)};
