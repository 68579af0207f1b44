/* SPDX-License-Identifier: Apache-2.0 */
/* Random programs of operators as text. A seed and a number give the same program on every machine.

   A program grows line by line: a pattern is drawn, its operands are drawn from what is there or become new inputs, and the
   line stays if the graph reads. What is not continuous (comparisons, rounding, the place of a maximum) is asked only of
   values that no arithmetic has touched: elsewhere a last bit may decide it, and no tolerance says how. What other
   names show is written in place by one line in four; none of them is exact from there on. */
#ifndef TESTS_ENGINE_RANDOM_GRAPH_H
#define TESTS_ENGINE_RANDOM_GRAPH_H

#include "base/rng.h"
#include "engine/graph/graph_text.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

enum { MAKER_VALUES = 96, MAKER_NODES = 12, MAKER_ELEMENTS = 20000, MAKER_DIMS = 5 };

typedef struct made_value {
    char name[8];
    dtype dtype;
    int ndim;
    int64_t sizes[TENSOR_MAX_DIMS];
    bool exact;    /* no rounding has happened to it */
    bool overlaps; /* elements may share memory */
    bool shares;   /* its memory may be another value's as well */
    int memory;    /* which: the same number for all that may share it */
    bool gone;     /* written: what it is now goes by another name */
    bool is_input;
    bool used;
} made_value;

typedef struct maker {
    rng r;
    const op_table *table;
    text lines;   /* the program so far */
    text pending; /* inputs that the line at hand needs */
    text call;    /* the line at hand */
    int n_values, n_kept, next_name, n_memories;
    made_value values[MAKER_VALUES];
    made_value *x; /* the line's first operand */
    int dim;       /* along which it works; -1: not chosen */
    int64_t count; /* indices drawn for that dimension */
    int64_t groups; /* of its channels; 0: not chosen */
    int of_zeros;  /* one size in so many is 0 */
    bool failed;   /* the line cannot be */
    bool exact, overlaps;
    bool writes_shared; /* into what other names show as well */
} maker;

enum { KEEPS = 1, WRITES = 2, OVERLAPS = 4, VIEWS = 8 };

/* Operands, by the letter behind '$' or '@': see the expanders. */
typedef struct pattern {
    const char *text;
    int n_outputs;
    int flags; /* KEEPS: what is exact stays so; WRITES: into its first operand; VIEWS, OVERLAPS */
} pattern;

static const pattern patterns[] = {
    /* element by element */
    {"relu($f)", 1, KEEPS}, {"neg($f)", 1, KEEPS}, {"abs($f)", 1, KEEPS}, {"exp($f)", 1, 0}, {"tanh($f)", 1, 0},
    {"sigmoid($f)", 1, 0}, {"gelu($f)", 1, 0}, {"silu($f)", 1, 0}, {"erf($f)", 1, 0}, {"cos($f)", 1, 0}, {"sin($f)", 1, 0},
    {"sqrt($q)", 1, 0}, {"rsqrt($q)", 1, 0}, {"log2($q)", 1, 0}, {"reciprocal($q)", 1, 0}, {"leaky_relu($f, 0.1)", 1, 0},
    {"hardswish($f)", 1, 0}, {"elu($f)", 1, 0}, {"hardtanh($f, -1, 1)", 1, 0},
    {"pow.Tensor_Scalar($f, 2)", 1, 0}, {"clamp($f, -0.5, 1.5)", 1, 0}, {"floor($F)", 1, KEEPS}, {"sgn($F)", 1, KEEPS},
    {"round($F)", 1, KEEPS}, {"add.Tensor($f, $y)", 1, 0}, {"add.Tensor($f, $y)", 1, 0},
    {"sub.Tensor($f, $y)", 1, 0}, {"mul.Tensor($f, $y)", 1, 0}, {"mul.Tensor($f, $y)", 1, 0}, {"div.Tensor($f, $Q)", 1, 0},
    {"maximum($f, $y)", 1, 0}, {"minimum($f, $y)", 1, 0}, {"add.Tensor($i, $Y)", 1, KEEPS}, {"sub.Tensor($i, $Y)", 1, KEEPS},
    {"mul.Scalar($f, $n)", 1, 0}, {"add.Scalar($f, $n)", 1, 0}, {"rsub.Scalar($f, $n)", 1, 0}, {"addcmul($f, $v, $v)", 1, 0},
    {"gt.Tensor($F, $Y)", 1, KEEPS}, {"eq.Tensor($i, $Y)", 1, KEEPS},
    {"le.Scalar($F, $n)", 1, KEEPS}, {"ne.Scalar($i, 3)", 1, KEEPS}, {"where.self($b, $y, $y)", 1, KEEPS},
    {"masked_fill.Scalar($f, $z, $n)", 1, 0}, {"logical_and($b, $v)", 1, KEEPS}, {"bitwise_not($b)", 1, KEEPS},
    {"remainder.Scalar($i, 3)", 1, KEEPS}, {"bitwise_and.Tensor($i, $v)", 1, KEEPS},
    {"threshold_backward($f, $V, 0)", 1, 0}, {"gelu_backward($f, $v)", 1, 0}, {"sigmoid_backward($f, $v)", 1, 0},
    {"tanh_backward($f, $v)", 1, 0}, {"silu_backward($f, $v)", 1, 0}, {"hardswish_backward($f, $V)", 1, 0},
    {"hardsigmoid($f)", 1, 0}, {"hardsigmoid_backward($f, $V)", 1, 0}, {"leaky_relu_backward($f, $V, 0.1, False)", 1, 0},
    {"elu_backward($f, 1, 1, 1, False, $V)", 1, 0}, {"hardtanh_backward($f, $V, -1, 1)", 1, 0}, {"clamp_min($f, $n)", 1, 0},
    {"pow.Scalar(0.5, $F)", 1, 0}, {"isnan($F)", 1, KEEPS}, {"isinf($F)", 1, KEEPS}, {"fmod.Scalar($i, 3)", 1, KEEPS},
    {"floor_divide($i, @l)", 1, KEEPS}, {"bitwise_xor.Tensor($i, $v)", 1, KEEPS}, {"masked_fill.Tensor($f, $z, @z)", 1, 0},
    /* complex numbers */
    {"add.Tensor(@x, $v)", 1, 0}, {"sub.Tensor(@x, $v, alpha=2)", 1, 0}, {"mul.Tensor(@x, $v)", 1, 0}, {"neg(@x)", 1, KEEPS}, {"abs(@x)", 1, 0},
    {"mul.Scalar(@x, $n)", 1, 0}, {"sum.dim_IntList(@x, $D, $k)", 1, 0}, {"_fft_c2c(@x, [$d], 0, True)", 1, 0}, {"exp(@x)", 1, 0},
    {"cat([@x, $v], $d)", 1, KEEPS}, {"mul_.Tensor(@x, $v)", 1, WRITES}, {"mean.dim(@x, $D, $k)", 1, 0}, {"sigmoid(@x)", 1, 0},
    /* types */
    {"_to_copy($f, dtype=$t)", 1, 0}, {"_to_copy($i, dtype=$t)", 1, 0}, {"_to_copy($b, dtype=$t)", 1, KEEPS},
    {"_to_copy($i, dtype=i64)", 1, KEEPS}, {"_to_copy($i, dtype=i32)", 1, KEEPS}, {"_to_copy($f, dtype=f64)", 1, KEEPS},
    {"clone($f)", 1, KEEPS}, {"clone($f, memory_format=torch.contiguous_format)", 1, KEEPS}, {"new_zeros($f, $R)", 1, KEEPS},
    {"fill.Scalar($f, $n)", 1, KEEPS},
    /* reductions, scans, norms */
    {"sum.dim_IntList($f, $D, $k)", 1, 0}, {"sum.dim_IntList($i, $D, $k)", 1, KEEPS}, {"sum.default($f)", 1, 0},
    {"sum.dim_IntList($b, $D, $k)", 1, KEEPS}, {"mean.dim($f, $D, $k)", 1, 0}, {"mean($f)", 1, 0},
    {"max($f)", 1, KEEPS}, {"max.dim($F, $d, $k)", 2, KEEPS}, {"min.dim($F, $d, $k)", 2, KEEPS},
    {"any.dim($b, $d, $k)", 1, KEEPS}, {"all($b)", 1, KEEPS}, {"var.correction($f, $D, correction=0, keepdim=$k)", 1, 0}, {"norm.ScalarOpt_dim($f, 2, $D, $k)", 1, 0}, {"cumsum($f, $d)", 1, 0}, {"cumsum($i, $d)", 1, KEEPS},
    {"_softmax($f, $d, False)", 1, 0}, {"_softmax($f, $d, False)", 1, 0}, {"_log_softmax($f, $d, False)", 1, 0},
    {"native_layer_norm($f, $L, None, None, 1e-05)", 3, 0}, {"native_layer_norm($f, $L, $w, $w, 1e-05)", 3, 0},
    {"native_batch_norm($3, None, None, None, None, True, 0.1, 1e-05)", 3, 0}, {"_softmax_backward_data($f, $v, $d, $T)", 1, 0},
    {"std.correction($f, $D, correction=0, keepdim=$k)", 1, 0}, {"var_mean.correction($f, $D, correction=0, keepdim=$k)", 2, 0},
    {"_log_softmax_backward_data($f, $v, $d, $T)", 1, 0}, {"native_layer_norm_backward($f, $v, $L, @m, @d, $w, $w, [True, True, True])", 3, 0},
    {"native_batch_norm(@4, @c, @c, @c, @C, False, 0.1, 1e-05)", 3, 0}, {"native_group_norm(@4, @c, @c, @n, 1e-05)", 3, 0},
    {"native_batch_norm_backward($3, $v, @c, None, None, @c, @C, True, 1e-05, [True, True, True])", 3, 0},
    {"native_batch_norm_backward(@4, $v, @c, @c, @C, None, None, False, 1e-05, [True, True, True])", 3, 0},
    {"native_group_norm_backward(@4, $v, @g, @h, @c, @n, [True, True, True])", 3, 0}, {"mse_loss($f, $v, 1)", 1, 0},
    {"mse_loss($f, $v, 0)", 1, 0}, {"mse_loss_backward($f, $v, $v, 0)", 1, 0}, {"nll_loss_forward($m, @t, None, 1, -100)", 2, 0},
    {"nll_loss_backward(@L)", 1, 0},
    /* images */
    {"clone(@4, memory_format=torch.channels_last)", 1, KEEPS}, {"_to_copy(@4, dtype=f32, memory_format=torch.channels_last)", 1, 0},
    {"convolution(@4, @w)", 1, 0}, {"convolution(@4, @w)", 1, 0}, {"convolution($3, @w)", 1, 0}, {"convolution_backward(@B)", 3, 0},
    {"max_pool2d_with_indices(@5, @p)", 2, KEEPS}, {"max_pool2d_with_indices_backward(@M)", 1, 0}, {"avg_pool2d(@4, @a)", 1, 0},
    {"avg_pool2d_backward(@A)", 1, 0}, {"_adaptive_avg_pool2d(@4, @o)", 1, 0}, {"im2col(@4, @i)", 1, KEEPS}, {"col2im(@F)", 1, 0},
    {"upsample_nearest2d.vec(@4, @o, None)", 1, KEEPS}, {"upsample_bilinear2d.vec(@4, @o, $k, None)", 1, 0},
    {"upsample_bicubic2d.vec(@4, @o, $k, None)", 1, 0}, {"upsample_nearest2d_backward.vec(@4, @s, None)", 1, 0},
    {"upsample_bilinear2d_backward.vec(@4, @s, $k, None)", 1, 0}, {"reflection_pad2d(@4, [1, 0, 2, 1])", 1, KEEPS},
    {"reflection_pad2d_backward(@4, @r)", 1, 0}, {"grid_sampler_2d(@4, @G, 0, 0, $k)", 1, 0},
    /* views */
    {"permute($a, $p)", 1, KEEPS | VIEWS}, {"permute($a, $p)", 1, KEEPS | VIEWS}, {"transpose.int($a, $d, $e)", 1, KEEPS | VIEWS}, {"view($a, $R)", 1, KEEPS | VIEWS},
    {"_unsafe_view($a, $R)", 1, KEEPS | VIEWS}, {"slice.Tensor($a, $d, $S)", 1, KEEPS | VIEWS}, {"select.int($a, $d, $o)", 1, KEEPS | VIEWS},
    {"expand($a, $E)", 1, KEEPS | VIEWS | OVERLAPS}, {"unsqueeze($a, $d)", 1, KEEPS | VIEWS}, {"squeeze.dim($a, $d)", 1, KEEPS | VIEWS},
    {"split.Tensor($a, $C, $d)", 2, KEEPS | VIEWS}, {"t($m)", 1, KEEPS | VIEWS},
    {"alias($a)", 1, KEEPS | VIEWS},
    /* moves */
    {"cat([$a, $c], $d)", 1, KEEPS}, {"cat([$f, $c, $c], $d)", 1, KEEPS}, {"stack([$a, $v], $d)", 1, KEEPS}, {"flip($a, $D)", 1, KEEPS},
    {"roll($a, [2], [$d])", 1, KEEPS}, {"repeat($f, $r)", 1, KEEPS}, {"constant_pad_nd($f, [1, 2], 0.5)", 1, KEEPS},
    {"constant_pad_nd($m, [0, 0, 1, -1], 0)", 1, KEEPS}, {"constant_pad_nd($m, [-1, 1, 0, 0], 0)", 1, KEEPS},
    {"index_select($a, $d, $I)", 1, KEEPS}, {"gather($a, $d, $G)", 1, KEEPS}, {"embedding($m, $J)", 1, KEEPS},
    {"index.Tensor($a, [$J])", 1, KEEPS}, {"index_add($f, $d, $I, $A)", 1, 0}, {"scatter_add($f, $d, $G, $B)", 1, 0}, {"tril($m)", 1, KEEPS}, {"triu($m, 1)", 1, KEEPS},
    {"index_put($f, @P)", 1, 0}, {"embedding_dense_backward($f, @E)", 1, 0}, {"slice_backward($f, @b)", 1, KEEPS},
    {"select_backward($f, @e)", 1, KEEPS}, {"unfold_backward($f, @u)", 1, 0}, {"_embedding_bag($m, @O)", 4, 0},
    {"new_full($f, $R, $n)", 1, KEEPS},
    /* products */
    {"addmm($W, $P)", 1, 0}, {"addmm($m, $P, beta=$n, alpha=$n)", 1, 0},
    {"mm($m, $M)", 1, 0}, {"mm($m, $M)", 1, 0}, {"bmm($3, $N)", 1, 0}, {"mv($m, $M)", 1, 0},
    /* in place */
    {"relu_($X)", 1, WRITES}, {"add_.Tensor($X, $u)", 1, WRITES}, {"mul_.Tensor($X, $u)", 1, WRITES}, {"copy_($X, $u)", 1, WRITES},
    {"sub_.Tensor($X, $y)", 1, WRITES}, {"fill_.Scalar($X, $n)", 1, WRITES}, {"addmm_($W, $P)", 1, WRITES},
    {"scatter_add_($X, $d, $G, $B)", 1, WRITES}, {"index_add_($X, $d, $I, $A)", 1, WRITES}, {"index_put_($X, @P)", 1, WRITES},
    {"masked_fill_.Scalar($X, $z, $n)", 1, WRITES}, {"div_.Tensor($X, $Q)", 1, WRITES}, {"leaky_relu_($X, 0.1)", 1, WRITES},
    {"addmm_($W, $P, beta=$n, alpha=$n)", 1, WRITES}, {"baddbmm_($H, $P)", 1, WRITES}, {"cumsum_($X, $d)", 1, WRITES},
};

static inline int maker_draw(maker *m, int n) {
    return (int)rng_range(&m->r, 0, n);
}

static inline dtype maker_floating(maker *m) {
    static const dtype types[] = {ASSAY_F32, ASSAY_F32, ASSAY_F32, ASSAY_BF16, ASSAY_F16, ASSAY_F64};
    return types[maker_draw(m, countof(types))];
}

static inline dtype maker_whole(maker *m) {
    static const dtype types[] = {ASSAY_I64, ASSAY_I64, ASSAY_I32, ASSAY_I32, ASSAY_I16, ASSAY_I8, ASSAY_U8};
    return types[maker_draw(m, countof(types))];
}

static inline int64_t maker_size(maker *m) {
    static const int64_t sizes[] = {1, 1, 2, 3, 3, 4, 5, 7, 8, 16, 17, 33, 64};
    return maker_draw(m, m->of_zeros) == 0 ? 0 : maker_draw(m, 25) == 0 ? 130 : sizes[maker_draw(m, countof(sizes))];
}

static inline int64_t made_elements(int ndim, const int64_t *sizes) {
    int64_t n = 1;
    for (int d = 0; d < ndim; d++) {
        n *= sizes[d];
    }
    return n;
}

/* The strides of an input: dense, dense in another order of dimensions, or with gaps. */
static inline void maker_add_strides(maker *m, const made_value *v) {
    int order[TENSOR_MAX_DIMS], way = maker_draw(m, 5);
    if (v->ndim == 0 || way < 3) {
        return;
    }
    int64_t strides[TENSOR_MAX_DIMS], stride = way == 4 ? 2 : 1;
    for (int d = 0; d < v->ndim; d++) {
        order[d] = d;
    }
    for (int d = v->ndim - 1; d > 0 && way == 3; d--) {
        int other = maker_draw(m, d + 1), kept = order[d];
        order[d] = order[other];
        order[other] = kept;
    }
    for (int d = v->ndim - 1; d >= 0; d--) {
        strides[order[d]] = stride;
        stride *= v->sizes[order[d]] > 0 ? v->sizes[order[d]] : 1;
        stride += way == 4 ? 3 : 0;
    }
    text_add(&m->pending, ", stride=(");
    for (int d = 0; d < v->ndim; d++) {
        text_addf(&m->pending, d > 0 ? ", %lld" : "%lld", (long long)strides[d]);
    }
    text_add(&m->pending, v->ndim == 1 ? ",)" : ")");
}

/* A new input; low = high: no range. */
static inline made_value *maker_input(maker *m, dtype t, int ndim, const int64_t *sizes, int64_t low, int64_t high) {
    if (m->n_values == MAKER_VALUES || ndim > MAKER_DIMS || made_elements(ndim, sizes) > MAKER_ELEMENTS) {
        m->failed = true;
        return &m->values[0];
    }
    made_value *v = &m->values[m->n_values++];
    *v = (made_value){.dtype = t, .ndim = ndim, .exact = true, .is_input = true, .memory = m->n_memories++};
    memcpy(v->sizes, sizes, (size_t)ndim * sizeof *sizes);
    snprintf(v->name, sizeof v->name, "x%d", m->next_name++);
    text_addf(&m->pending, "%%%s = input(T([", v->name);
    for (int d = 0; d < ndim; d++) {
        text_addf(&m->pending, d > 0 ? ", %lld" : "%lld", (long long)sizes[d]);
    }
    text_addf(&m->pending, "], %s", assay_dtype_name(t));
    maker_add_strides(m, v);
    text_add(&m->pending, ")");
    if (low < high) {
        text_addf(&m->pending, !dtype_is_floating(t) ? ", low=%lld, high=%lld" : ", low=%lld.0, high=%lld.0", (long long)low,
                  (long long)high);
    }
    text_add(&m->pending, ")\n");
    return v;
}

static inline made_value *maker_any_input(maker *m, dtype t, int ndim) {
    int64_t sizes[TENSOR_MAX_DIMS], n = 1;
    for (int d = 0; d < ndim; d++) {
        sizes[d] = maker_size(m);
        sizes[d] = n * sizes[d] > MAKER_ELEMENTS / 4 ? 3 : sizes[d];
        n *= sizes[d];
    }
    return maker_input(m, t, ndim, sizes, 0, 0);
}

typedef bool maker_wants_fn(const maker *m, const made_value *v);

/* One of the values so far that fits, or NULL. */
static inline made_value *maker_find(maker *m, maker_wants_fn *wants) {
    int fit[MAKER_VALUES], n = 0;
    for (int i = 0; i < m->n_values; i++) {
        if (!m->values[i].gone && wants(m, &m->values[i])) {
            fit[n++] = i;
        }
    }
    if (n == 0) {
        return NULL;
    }
    int at = maker_draw(m, n), other = maker_draw(m, n);
    return &m->values[fit[at > other ? at : other]]; /* rather a late one: programs that are deep */
}

static inline bool maker_floats(const maker *m, const made_value *v) {
    (void)m;
    return dtype_is_floating(v->dtype);
}

static inline bool maker_exact_floats(const maker *m, const made_value *v) {
    return maker_floats(m, v) && v->exact;
}

static inline bool maker_integers(const maker *m, const made_value *v) {
    (void)m;
    return dtype_category_of(v->dtype) == CATEGORY_INTEGRAL && v->exact;
}

static inline bool maker_booleans(const maker *m, const made_value *v) {
    (void)m;
    return v->dtype == ASSAY_B8;
}

static inline bool maker_all(const maker *m, const made_value *v) {
    (void)m, (void)v;
    return true;
}

static inline bool maker_matrices(const maker *m, const made_value *v) {
    return maker_floats(m, v) && v->ndim == 2;
}

static inline bool maker_grids(const maker *m, const made_value *v) {
    return maker_floats(m, v) && v->ndim == 3;
}

static inline bool maker_writable(const maker *m, const made_value *v) {
    return maker_floats(m, v) && (!v->shares || m->writes_shared) && !v->overlaps;
}

static inline bool maker_writable_matrices(const maker *m, const made_value *v) {
    return maker_writable(m, v) && v->ndim == 2;
}

static inline bool maker_writable_grids(const maker *m, const made_value *v) {
    return maker_writable(m, v) && v->ndim == 3;
}

static inline bool maker_alike(const maker *m, const made_value *v) {
    return v->dtype == m->x->dtype && v->ndim == m->x->ndim && memcmp(v->sizes, m->x->sizes, (size_t)v->ndim * sizeof *v->sizes) == 0;
}

static inline bool maker_exact_alike(const maker *m, const made_value *v) {
    return maker_alike(m, v) && v->exact;
}
#endif
