/* SPDX-License-Identifier: Apache-2.0 */
/* oneDNN 2, behind onednn.h. Primitives, descriptors and scratch memory are made once; a run sets four addresses and
   executes. Reorders to oneDNN's blocked layouts are part of the run, those of weights too. */
#include "engine/kernels/cpu/onednn.h"

#include "base/pages.h"
#include "base/text.h"
#include "device/instructions.h"
#include "device/threads.h"

#include <oneapi/dnnl/dnnl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_OPERANDS = 4, MEMORY_TAIL = 64 /* bytes behind a memory */ };

/* One operand as the caller has it and as the primitive wants it: the same, or joined by a reorder. */
typedef struct operand {
    int slot; /* in onednn_data */
    bool is_output;
    dnnl_memory_t user, inner; /* inner is user where no reorder is needed */
    dnnl_primitive_t reorder;  /* NULL: none */
    dnnl_exec_arg_t reorder_args[3];
    int n_reorder_args;
} operand;

struct onednn {
    dnnl_engine_t engine;
    dnnl_stream_t stream;
    dnnl_primitive_t primitive;
    dnnl_memory_t scratch[1 + MAX_OPERANDS];
    int n_scratch;
    int n_operands;
    operand operands[MAX_OPERANDS];
    dnnl_exec_arg_t args[MAX_OPERANDS + 1];
    int n_args;
    char code[64];
};

static status translate(dnnl_status_t s, const char *what, error *err) {
    if (s == dnnl_success) {
        return ASSAY_OK;
    }
    status code = s == dnnl_out_of_memory                              ? ASSAY_OUT_OF_MEMORY
                  : s == dnnl_unimplemented || s == dnnl_invalid_arguments ? ASSAY_UNSUPPORTED
                                                                          : ASSAY_INTERNAL;
    return fail(err, code, "oneDNN: %s answers status %d", what, (int)s);
}

#define CALL(function, ...) TRY(translate(function(__VA_ARGS__), #function, err))

static dnnl_data_type_t type_of(dtype t) {
    return t == ASSAY_BF16 ? dnnl_bf16 : dnnl_f32;
}

/* All that belongs to a primitive. */
static void drop_primitive(onednn *o) {
    for (int i = 0; i < o->n_operands; i++) {
        operand *p = &o->operands[i];
        dnnl_primitive_destroy(p->reorder);
        if (p->inner != p->user) {
            dnnl_memory_destroy(p->inner);
        }
        dnnl_memory_destroy(p->user);
    }
    for (int i = 0; i < o->n_scratch; i++) {
        dnnl_memory_destroy(o->scratch[i]);
    }
    dnnl_primitive_destroy(o->primitive);
    *o = (onednn){.engine = o->engine, .stream = o->stream};
}

void onednn_free(onednn *o) {
    if (o == NULL) {
        return;
    }
    drop_primitive(o);
    dnnl_stream_destroy(o->stream);
    dnnl_engine_destroy(o->engine);
    free(o);
}

const char *onednn_code(const onednn *o) {
    return o->code;
}

static status start(onednn **out, error *err) {
    onednn *o = calloc(1, sizeof *o);
    if (o == NULL) {
        return fail(err, ASSAY_OUT_OF_MEMORY, "no memory for a oneDNN call");
    }
    *out = o;
    if (isa_is_limited()) { /* heard only before oneDNN has built anything, and told again after that: no fault */
        (void)dnnl_set_max_cpu_isa(isa_best() == ISA_AVX2 ? dnnl_cpu_isa_avx2 : dnnl_cpu_isa_sse41);
    }
    CALL(dnnl_engine_create, &o->engine, dnnl_cpu, 0);
    CALL(dnnl_stream_create, &o->stream, o->engine, dnnl_stream_default_flags);
    return ASSAY_OK;
}

static status no_memory(size_t bytes, error *err) {
    char size[32];
    return fail(err, ASSAY_OUT_OF_MEMORY, "no memory for %zu bytes (%s) of oneDNN's work space", bytes, text_of_bytes(size, (double)bytes));
}

/* What memory of our own may take. */
static size_t memory_bytes(const dnnl_memory_desc_t *md) {
    return dnnl_memory_desc_get_size(md) + MEMORY_TAIL + PAGE_BYTES;
}

/* Memory of our own for a descriptor. It begins in the middle of a page, tensors elsewhere in theirs: a load waits for a store that lies
   as far into its page (96 products of 512 x 64 x 512 in bf16 took 2.5 ms so, and 3.0 from a page's start; Granite Rapids,
   2026-11). */
static status make_memory(onednn *o, const dnnl_memory_desc_t *md, arena *memory, dnnl_memory_t *out, error *err) {
    size_t bytes = memory_bytes(md);
    char *data = arena_make(memory, bytes, 1);
    if (data == NULL) {
        return no_memory(bytes, err);
    }
    CALL(dnnl_memory_create, out, md, o->engine, data + (PAGE_BYTES / 2 - (uintptr_t)data) % PAGE_BYTES);
    return ASSAY_OK;
}

/* The caller provides scratch memory, so that executing allocates nothing. */
static status add_scratch(onednn *o, const_dnnl_primitive_desc_t pd, arena *memory, dnnl_exec_arg_t *args, int *n_args,
                          error *err) {
    const dnnl_memory_desc_t *md = dnnl_primitive_desc_query_md(pd, dnnl_query_scratchpad_md, 0);
    if (md == NULL || dnnl_memory_desc_get_size(md) == 0) {
        return ASSAY_OK;
    }
    dnnl_memory_t made = NULL;
    TRY(make_memory(o, md, memory, &made, err));
    o->scratch[o->n_scratch++] = made;
    args[(*n_args)++] = (dnnl_exec_arg_t){DNNL_ARG_SCRATCHPAD, made};
    return ASSAY_OK;
}

static status make_attributes(dnnl_primitive_attr_t *out, error *err) {
    CALL(dnnl_primitive_attr_create, out);
    CALL(dnnl_primitive_attr_set_scratchpad_mode, *out, dnnl_scratchpad_mode_user);
    return ASSAY_OK;
}

static status make_reorder(onednn *o, operand *p, const dnnl_memory_desc_t *user, const dnnl_memory_desc_t *inner,
                           arena *memory, error *err) {
    dnnl_primitive_attr_t attributes = NULL;
    dnnl_primitive_desc_t pd = NULL;
    dnnl_memory_t from = p->is_output ? p->inner : p->user, to = p->is_output ? p->user : p->inner;
    status result = make_attributes(&attributes, err);
    if (result == ASSAY_OK) {
        result = translate(dnnl_reorder_primitive_desc_create(&pd, p->is_output ? inner : user, o->engine,
                                                              p->is_output ? user : inner, o->engine, attributes),
                           "reorder", err);
    }
    if (result == ASSAY_OK) {
        p->reorder_args[0] = (dnnl_exec_arg_t){DNNL_ARG_FROM, from};
        p->reorder_args[1] = (dnnl_exec_arg_t){DNNL_ARG_TO, to};
        p->n_reorder_args = 2;
        result = add_scratch(o, pd, memory, p->reorder_args, &p->n_reorder_args, err);
    }
    if (result == ASSAY_OK) {
        result = translate(dnnl_primitive_create(&p->reorder, pd), "reorder", err);
    }
    dnnl_primitive_desc_destroy(pd);
    dnnl_primitive_attr_destroy(attributes);
    return result;
}

static status add_operand(onednn *o, int arg_id, int slot, bool is_output, const dnnl_memory_desc_t *user,
                          const dnnl_memory_desc_t *inner, arena *memory, error *err) {
    operand *p = &o->operands[o->n_operands];
    p->slot = slot;
    p->is_output = is_output;
    CALL(dnnl_memory_create, &p->user, user, o->engine, DNNL_MEMORY_NONE);
    p->inner = p->user;
    o->n_operands++;
    if (!dnnl_memory_desc_equal(user, inner)) {
        TRY(make_memory(o, inner, memory, &p->inner, err));
        TRY(make_reorder(o, p, user, inner, memory, err));
    }
    o->args[o->n_args++] = (dnnl_exec_arg_t){arg_id, p->inner};
    return ASSAY_OK;
}

/* The primitive of a description. The reference code that oneDNN falls back to is slower than ours: UNSUPPORTED. */
static status make_primitive(onednn *o, const_dnnl_op_desc_t desc, const_dnnl_primitive_attr_t attributes,
                             const_dnnl_primitive_desc_t hint, dnnl_primitive_desc_t *pd, error *err) {
    CALL(dnnl_primitive_desc_create, pd, desc, attributes, o->engine, hint);
    const char *code = NULL;
    CALL(dnnl_primitive_desc_query, *pd, dnnl_query_impl_info_str, 0, &code);
    strncpy(o->code, code, sizeof o->code - 1);
    if (strncmp(code, "ref", 3) == 0) {
        return fail(err, ASSAY_UNSUPPORTED, "oneDNN has only its reference code for this shape");
    }
    CALL(dnnl_primitive_create, &o->primitive, *pd);
    return ASSAY_OK;
}

static status run(onednn *o, const onednn_data *data, error *err) {
    for (int i = 0; i < o->n_operands; i++) {
        operand *p = &o->operands[i];
        CALL(dnnl_memory_set_data_handle, p->user, data->at[p->slot]);
        if (p->reorder != NULL && !p->is_output) {
            CALL(dnnl_primitive_execute, p->reorder, o->stream, p->n_reorder_args, p->reorder_args);
        }
    }
    CALL(dnnl_primitive_execute, o->primitive, o->stream, o->n_args, o->args);
    for (int i = 0; i < o->n_operands; i++) {
        operand *p = &o->operands[i];
        if (p->reorder != NULL && p->is_output) {
            CALL(dnnl_primitive_execute, p->reorder, o->stream, p->n_reorder_args, p->reorder_args);
        }
    }
    CALL(dnnl_stream_wait, o->stream);
    return ASSAY_OK;
}

static status run_primitive(onednn *o, error *err) {
    CALL(dnnl_primitive_execute, o->primitive, o->stream, o->n_args, o->args);
    CALL(dnnl_stream_wait, o->stream);
    return ASSAY_OK;
}

/* oneDNN shares work out among as many threads as it asks for, and leaves undone, or waits for, the part of one that it does not get. */
status onednn_run(onednn *o, const onednn_data *data, error *err) {
    const threads_hold hold = threads_hold_begin();
    const status result = run(o, data, err);
    threads_hold_end(&hold);
    return result;
}

status onednn_run_primitive(onednn *o, error *err) {
    const threads_hold hold = threads_hold_begin();
    const status result = run_primitive(o, err);
    threads_hold_end(&hold);
    return result;
}

/* The same sizes in a layout of oneDNN's choice. */
static dnnl_memory_desc_t any_layout(const dnnl_memory_desc_t *md) {
    dnnl_memory_desc_t any = *md;
    memset(&any.format_desc, 0, sizeof any.format_desc);
    any.format_kind = dnnl_format_kind_any;
    return any;
}

/* --- matrix products -------------------------------------------------------------------------------------------------- */

/* Strides of dimensions of size 1 mean nothing, but oneDNN wants them to look like a matrix's. One matrix for all of a batch has a batch
   of 1 itself. */
static status matrix_desc(dnnl_memory_desc_t *md, dtype t, int64_t batch, int64_t rows, int64_t columns,
                          const int64_t *strides, error *err) {
    int64_t row = strides[1], column = strides[2], each = strides[0];
    if (columns == 1 && rows == 1) {
        row = column = 1;
    } else if (columns == 1) {
        column = row == 1 ? rows : 1;
    } else if (rows == 1) {
        row = column == 1 ? columns : 1;
    }
    if (batch == 1) {
        dnnl_dims_t sizes = {rows, columns}, steps = {row, column};
        CALL(dnnl_memory_desc_init_by_strides, md, 2, sizes, type_of(t), steps);
        return ASSAY_OK;
    }
    dnnl_dims_t sizes = {each != 0 ? batch : 1, rows, columns}, steps = {each != 0 ? each : rows * columns, row, column};
    CALL(dnnl_memory_desc_init_by_strides, md, 3, sizes, type_of(t), steps);
    return ASSAY_OK;
}

static status matmul_attributes(const onednn_matmul *s, const dnnl_memory_desc_t *row, dnnl_primitive_attr_t *out,
                                error *err) {
    TRY(make_attributes(out, err));
    float alpha = (float)s->alpha;
    if (alpha != 1) {
        CALL(dnnl_primitive_attr_set_output_scales, *out, 1, 0, &alpha);
    }
    if (!s->adds_c && !(s->adds_row && alpha != 1)) {
        return ASSAY_OK;
    }
    dnnl_post_ops_t posts = NULL;
    CALL(dnnl_post_ops_create, &posts);
    dnnl_status_t made = dnnl_success;
    if (s->adds_row && alpha != 1) { /* oneDNN scales its own bias as well: this one is added behind the scale */
        made = dnnl_post_ops_append_binary(posts, dnnl_binary_add, row);
    }
    if (made == dnnl_success && s->adds_c) {
        made = dnnl_post_ops_append_sum(posts, 1.0F);
    }
    if (made == dnnl_success) {
        made = dnnl_primitive_attr_set_post_ops(*out, posts);
    }
    dnnl_post_ops_destroy(posts);
    return translate(made, "post-operations", err);
}

static status matmul_build(const onednn_matmul *s, arena *memory, onednn *o, dnnl_primitive_attr_t *attributes,
                           dnnl_primitive_desc_t *pd, error *err) {
    dnnl_memory_desc_t a, b, c, row;
    TRY(matrix_desc(&a, s->dtype, s->batch, s->m, s->k, s->a, err));
    TRY(matrix_desc(&b, s->dtype, s->batch, s->k, s->n, s->b, err));
    TRY(matrix_desc(&c, s->sums_f32 ? ASSAY_F32 : s->dtype, s->batch, s->m, s->n, s->c, err));
    dnnl_dims_t row_sizes = {1, s->n, s->n}, row_steps = {s->n, 1, 1};
    row_sizes[1] = s->batch > 1 ? 1 : s->n;
    row_steps[1] = s->batch > 1 ? s->n : 1;
    CALL(dnnl_memory_desc_init_by_strides, &row, s->batch > 1 ? 3 : 2, row_sizes, type_of(s->sums_f32 ? ASSAY_F32 : s->dtype), row_steps);
    bool is_bias = s->adds_row && (float)s->alpha == 1;
    dnnl_memory_desc_t inner_b = s->own_layouts ? any_layout(&b) : b;
    dnnl_matmul_desc_t desc;
    CALL(dnnl_matmul_desc_init, &desc, &a, &inner_b, is_bias ? &row : NULL, &c);
    TRY(matmul_attributes(s, &row, attributes, err));
    TRY(make_primitive(o, &desc, *attributes, NULL, pd, err));
    TRY(add_operand(o, DNNL_ARG_SRC, 0, false, &a, &a, memory, err));
    TRY(add_operand(o, DNNL_ARG_WEIGHTS, 1, false, &b, dnnl_primitive_desc_query_md(*pd, dnnl_query_weights_md, 0), memory,
                    err));
    TRY(add_operand(o, DNNL_ARG_DST, 2, true, &c, &c, memory, err));
    if (s->adds_row) {
        int id = is_bias ? DNNL_ARG_BIAS : DNNL_ARG_ATTR_MULTIPLE_POST_OP(0) | DNNL_ARG_SRC_1;
        TRY(add_operand(o, id, 3, false, &row, &row, memory, err));
    }
    return add_scratch(o, *pd, memory, o->args, &o->n_args, err);
}

status onednn_matmul_prepare(const onednn_matmul *shape, arena *memory, onednn **out, error *err) {
    onednn *o = NULL;
    dnnl_primitive_attr_t attributes = NULL;
    dnnl_primitive_desc_t pd = NULL;
    const threads_hold hold = threads_hold_begin();
    status result = start(&o, err);
    if (result == ASSAY_OK) {
        result = matmul_build(shape, memory, o, &attributes, &pd, err);
    }
    threads_hold_end(&hold);
    dnnl_primitive_desc_destroy(pd);
    dnnl_primitive_attr_destroy(attributes);
    if (result != ASSAY_OK) {
        onednn_free(o);
        return result;
    }
    *out = o;
    return ASSAY_OK;
}

/* --- convolutions --------------------------------------------------------------------------------------------------------- */

/* A side of the convolution: two spatial dimensions unless three are needed. */
static status side_desc(dnnl_memory_desc_t *md, const onednn_conv *s, int64_t channels, const int64_t *spatial,
                        const int64_t *strides, error *err) {
    int n = s->shape->spatial == 3 ? 3 : 2;
    dnnl_dims_t sizes = {s->shape->batch, channels}, steps = {strides[0], strides[1]};
    for (int d = 0; d < n; d++) {
        sizes[2 + d] = spatial[3 - n + d];
        steps[2 + d] = strides[2 + 3 - n + d];
    }
    CALL(dnnl_memory_desc_init_by_strides, md, 2 + n, sizes, type_of(s->dtype), steps);
    return ASSAY_OK;
}

/* [groups,] narrow channels, wide channels, spatial */
static status weight_desc(dnnl_memory_desc_t *md, const onednn_conv *s, error *err) {
    const conv_shape *c = s->shape;
    int n = c->spatial == 3 ? 3 : 2, lead = c->groups > 1 ? 1 : 0;
    int64_t per_group = c->narrow_channels / c->groups;
    dnnl_dims_t sizes = {c->groups}, steps = {per_group * s->weight[0]};
    sizes[lead] = per_group;
    steps[lead] = s->weight[0];
    sizes[lead + 1] = c->wide_channels / c->groups;
    steps[lead + 1] = s->weight[1];
    for (int d = 0; d < n; d++) {
        sizes[lead + 2 + d] = c->kernel[3 - n + d];
        steps[lead + 2 + d] = s->weight[2 + 3 - n + d];
    }
    CALL(dnnl_memory_desc_init_by_strides, md, lead + 2 + n, sizes, type_of(s->dtype), steps);
    return ASSAY_OK;
}

typedef struct conv_descs {
    dnnl_memory_desc_t narrow, wide, weight, bias;                     /* the caller's */
    dnnl_memory_desc_t inner_narrow, inner_wide, inner_weight, inner_bias; /* asked for, then chosen */
    dnnl_dims_t stride, dilation, pad_before, pad_after;
} conv_descs;

static status conv_describe(const onednn_conv *s, conv_descs *d, error *err) {
    const conv_shape *c = s->shape;
    TRY(side_desc(&d->narrow, s, c->narrow_channels, c->narrow, s->narrow, err));
    TRY(side_desc(&d->wide, s, c->wide_channels, c->wide, s->wide, err));
    TRY(weight_desc(&d->weight, s, err));
    dnnl_dims_t channels = {c->narrow_channels}, one = {1};
    CALL(dnnl_memory_desc_init_by_strides, &d->bias, 1, channels, type_of(s->dtype), one);
    /* Channels-last sides stay as they are: oneDNN is about as fast on them as on its own layouts. */
    bool stays = c->channels_last && !s->own_layouts;
    d->inner_narrow = stays ? d->narrow : any_layout(&d->narrow);
    d->inner_wide = stays ? d->wide : any_layout(&d->wide);
    d->inner_weight = any_layout(&d->weight);
    d->inner_bias = d->bias;
    int n = c->spatial == 3 ? 3 : 2;
    for (int i = 0; i < n; i++) {
        int k = 3 - n + i;
        int64_t reach = (c->narrow[k] - 1) * c->stride[k] + c->dilation[k] * (c->kernel[k] - 1) + 1;
        d->stride[i] = c->stride[k];
        d->dilation[i] = c->dilation[k] - 1;
        d->pad_before[i] = c->pad[k];
        d->pad_after[i] = reach - c->wide[k] - c->pad[k]; /* what the windows really touch */
    }
    return ASSAY_OK;
}

/* Winograd's algorithm takes 36 products where the definition takes 144: half the time from so many pixels on that turning the weight
   round is little beside them. Its results are off by about twice as much, gradients of weights by less (docs/accuracy.md). */
static bool suits_winograd(const onednn_conv *s) {
    enum { LEAST_PIXELS = 1024, LANES = 16 };
    const conv_shape *c = s->shape;
    bool suits = s->dtype == ASSAY_F32 && c->spatial == 2 && c->groups == 1 && c->wide_channels % LANES == 0 &&
                 c->narrow_channels % LANES == 0;
    for (int d = 1; d < 3; d++) {
        suits = suits && c->kernel[d] == 3 && c->stride[d] == 1 && c->dilation[d] == 1;
    }
    return suits && c->batch * c->narrow[1] * c->narrow[2] >= LEAST_PIXELS;
}

static status conv_desc_of(const onednn_conv *s, onednn_direction direction, dnnl_alg_kind_t algorithm, conv_descs *d,
                           dnnl_convolution_desc_t *out, error *err) {
    if (direction == ONEDNN_TO_NARROW) {
        /* For inference alone oneDNN wants Winograd's weight turned round beforehand, and does that by slow loops. */
        dnnl_prop_kind_t kind = algorithm == dnnl_convolution_winograd ? dnnl_forward_training : dnnl_forward_inference;
        CALL(dnnl_dilated_convolution_forward_desc_init, out, kind, algorithm, &d->inner_wide, &d->inner_weight,
             s->bias ? &d->inner_bias : NULL, &d->inner_narrow, d->stride, d->dilation, d->pad_before, d->pad_after);
    } else if (direction == ONEDNN_TO_WIDE) {
        CALL(dnnl_dilated_convolution_backward_data_desc_init, out, algorithm, &d->inner_wide,
             &d->inner_weight, &d->inner_narrow, d->stride, d->dilation, d->pad_before, d->pad_after);
    } else {
        CALL(dnnl_dilated_convolution_backward_weights_desc_init, out, algorithm, &d->inner_wide,
             &d->inner_weight, s->bias ? &d->inner_bias : NULL, &d->inner_narrow, d->stride, d->dilation, d->pad_before,
             d->pad_after);
    }
    return ASSAY_OK;
}

/* oneDNN builds a gradient from the forward primitive's choice of layouts. */
static status make_hint(const onednn_conv *s, dnnl_alg_kind_t algorithm, onednn *o, conv_descs *d, dnnl_primitive_desc_t *hint,
                        error *err) {
    if (s->direction == ONEDNN_TO_NARROW) {
        return ASSAY_OK;
    }
    onednn_conv forward = *s;
    forward.bias = false;
    dnnl_convolution_desc_t desc;
    TRY(conv_desc_of(&forward, ONEDNN_TO_NARROW, algorithm, d, &desc, err));
    desc.prop_kind = dnnl_forward_training;
    CALL(dnnl_primitive_desc_create, hint, &desc, NULL, o->engine, NULL);
    return ASSAY_OK;
}

typedef struct conv_operand {
    int arg_id;
    dnnl_query_t query;
    bool is_output;
    const dnnl_memory_desc_t *user;
} conv_operand;

/* Whether all of it fits, before any is taken: what an arena has given stays taken, and another algorithm may be asked for next. */
static status check_room(const conv_operand *operands, int n, const_dnnl_primitive_desc_t pd, error *err) {
    size_t bytes = arena_needs(memory_bytes(dnnl_primitive_desc_query_md(pd, dnnl_query_scratchpad_md, 0)));
    for (int i = 0; i < n; i++) {
        const dnnl_memory_desc_t *inner = dnnl_primitive_desc_query_md(pd, operands[i].query, 0);
        bytes += dnnl_memory_desc_equal(operands[i].user, inner) ? 0 : arena_needs(memory_bytes(inner));
    }
    void *room = malloc(bytes + 1);
    free(room);
    return room != NULL ? ASSAY_OK : no_memory(bytes, err);
}

static status conv_operands(const onednn_conv *s, onednn *o, conv_descs *d, const_dnnl_primitive_desc_t pd, arena *memory,
                            error *err) {
    static const struct {
        dnnl_query_t wide, weight, narrow;
        int wide_arg, weight_arg, narrow_arg, bias_arg;
    } by_direction[] = {
        [ONEDNN_TO_NARROW] = {dnnl_query_src_md, dnnl_query_weights_md, dnnl_query_dst_md, DNNL_ARG_SRC, DNNL_ARG_WEIGHTS,
                              DNNL_ARG_DST, DNNL_ARG_BIAS},
        [ONEDNN_TO_WIDE] = {dnnl_query_diff_src_md, dnnl_query_weights_md, dnnl_query_diff_dst_md, DNNL_ARG_DIFF_SRC,
                            DNNL_ARG_WEIGHTS, DNNL_ARG_DIFF_DST, DNNL_ARG_BIAS},
        [ONEDNN_TO_WEIGHT] = {dnnl_query_src_md, dnnl_query_diff_weights_md, dnnl_query_diff_dst_md, DNNL_ARG_SRC,
                              DNNL_ARG_DIFF_WEIGHTS, DNNL_ARG_DIFF_DST, DNNL_ARG_DIFF_BIAS},
    };
    onednn_direction to = s->direction;
    const conv_operand operands[] = {{by_direction[to].narrow_arg, by_direction[to].narrow, to == ONEDNN_TO_NARROW, &d->narrow},
                                     {by_direction[to].wide_arg, by_direction[to].wide, to == ONEDNN_TO_WIDE, &d->wide},
                                     {by_direction[to].weight_arg, by_direction[to].weight, to == ONEDNN_TO_WEIGHT, &d->weight}};
    enum { N_OPERANDS = sizeof operands / sizeof *operands };
    TRY(check_room(operands, N_OPERANDS, pd, err));
    for (int i = 0; i < N_OPERANDS; i++) {
        TRY(add_operand(o, operands[i].arg_id, i, operands[i].is_output, operands[i].user,
                        dnnl_primitive_desc_query_md(pd, operands[i].query, 0), memory, err));
    }
    if (s->bias) {
        TRY(add_operand(o, by_direction[to].bias_arg, N_OPERANDS, to == ONEDNN_TO_WEIGHT, &d->bias, &d->bias, memory, err));
    }
    return add_scratch(o, pd, memory, o->args, &o->n_args, err);
}

typedef struct conv_handles {
    dnnl_primitive_attr_t attributes;
    dnnl_primitive_desc_t hint, pd;
} conv_handles;

static void drop_handles(conv_handles *h) {
    dnnl_primitive_desc_destroy(h->pd);
    dnnl_primitive_desc_destroy(h->hint);
    dnnl_primitive_attr_destroy(h->attributes);
    *h = (conv_handles){NULL, NULL, NULL};
}

/* sides: the layouts that the caller's tensors are described with. */
static status conv_by(const onednn_conv *s, const onednn_conv *sides, dnnl_alg_kind_t algorithm, arena *memory, onednn *o, conv_handles *h,
                      error *err) {
    conv_descs d;
    dnnl_convolution_desc_t desc;
    TRY(conv_describe(sides, &d, err));
    TRY(make_attributes(&h->attributes, err));
    TRY(make_hint(s, algorithm, o, &d, &h->hint, err));
    TRY(conv_desc_of(s, s->direction, algorithm, &d, &desc, err));
    TRY(make_primitive(o, &desc, h->attributes, h->hint, &h->pd, err));
    return conv_operands(s, o, &d, h->pd, memory, err);
}

/* Winograd's algorithm, unless there is no such code or no memory for its work space, which is several times the tensors' size. */
static status conv_build(const onednn_conv *s, arena *memory, onednn *o, conv_handles *h, error *err) {
    status result = ASSAY_UNSUPPORTED;
    if (suits_winograd(s)) {
        onednn_conv relaid = *s; /* there is no such code for channels-last sides as they are */
        relaid.own_layouts = true;
        result = conv_by(s, &relaid, dnnl_convolution_winograd, memory, o, h, err);
    }
    if (result == ASSAY_UNSUPPORTED || result == ASSAY_OUT_OF_MEMORY) {
        drop_handles(h);
        drop_primitive(o);
        result = conv_by(s, s, dnnl_convolution_direct, memory, o, h, err);
    }
    return result;
}

status onednn_conv_prepare(const onednn_conv *shape, arena *memory, onednn **out, error *err) {
    onednn *o = NULL;
    conv_handles h = {NULL, NULL, NULL};
    const threads_hold hold = threads_hold_begin();
    status result = start(&o, err);
    if (result == ASSAY_OK) {
        result = conv_build(shape, memory, o, &h, err);
    }
    threads_hold_end(&hold);
    drop_handles(&h);
    if (result != ASSAY_OK) {
        onednn_free(o);
        return result;
    }
    *out = o;
    return ASSAY_OK;
}

void onednn_identity(char *out, size_t size_bytes) {
    const dnnl_version_t *v = dnnl_version();
    snprintf(out, size_bytes, "oneDNN %d.%d.%d %s", v->major, v->minor, v->patch, v->hash);
}
