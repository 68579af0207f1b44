/* SPDX-License-Identifier: Apache-2.0 */
/* The lines that random programs are made of. */
#ifndef TESTS_ENGINE_RANDOM_PATTERNS_H
#define TESTS_ENGINE_RANDOM_PATTERNS_H

enum { KEEPS = 1, WRITES = 2, OVERLAPS = 4, VIEWS = 8, DRAWS = 16 };

/* Operands, by the letter behind '$' or '@': see the expanders. */
typedef struct pattern {
    const char *text;
    int n_outputs;
    int flags; /* KEEPS: what is exact stays so; WRITES: into its first operand; DRAWS: has more than one right answer; VIEWS, OVERLAPS */
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
    {"sub.Scalar($f, $n)", 1, 0}, {"div.Scalar($f, 3)", 1, 0}, {"pow.Tensor_Tensor($q, $y)", 1, 0}, {"clamp.Tensor($f, $y, $y)", 1, 0},
    {"clamp.Tensor($f, None, $y)", 1, 0}, {"div.Tensor_mode($i, @l, rounding_mode='floor')", 1, KEEPS},
    {"div.Tensor_mode($i, @l, rounding_mode='trunc')", 1, KEEPS}, {"div.Tensor_mode($f, $Q, rounding_mode=None)", 1, 0},
    {"remainder.Tensor($i, @l)", 1, KEEPS}, {"fmod.Tensor($i, @l)", 1, KEEPS}, {"eq.Scalar($i, 2)", 1, KEEPS}, {"ne.Tensor($i, $Y)", 1, KEEPS},
    {"lt.Tensor($F, $Y)", 1, KEEPS}, {"le.Tensor($F, $Y)", 1, KEEPS}, {"ge.Tensor($F, $Y)", 1, KEEPS}, {"lt.Scalar($F, $n)", 1, KEEPS},
    {"gt.Scalar($F, $n)", 1, KEEPS}, {"ge.Scalar($F, $n)", 1, KEEPS}, {"bitwise_or.Tensor($i, $v)", 1, KEEPS},
    {"bitwise_or.Tensor($b, $v)", 1, KEEPS}, {"logical_or($b, $v)", 1, KEEPS}, {"logical_xor($b, $v)", 1, KEEPS}, {"logical_not($b)", 1, KEEPS},
    {"logical_not($i)", 1, KEEPS}, {"logical_and($i, $Y)", 1, KEEPS}, {"relu($i)", 1, KEEPS}, {"neg($i)", 1, KEEPS}, {"abs($i)", 1, KEEPS},
    {"mul.Tensor($i, $Y)", 1, KEEPS}, {"fill.Tensor($f, @z)", 1, KEEPS}, {"copy($f, $u)", 1, 0}, {"lift_fresh_copy($a)", 1, KEEPS},
    {"new_ones($f, $R)", 1, KEEPS}, {"maximum($i, $Y)", 1, KEEPS}, {"minimum($i, $Y)", 1, KEEPS},
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
    {"min($F)", 1, KEEPS}, {"any($b)", 1, KEEPS}, {"all.dim($b, $d, $k)", 1, KEEPS}, {"norm.Scalar($f, 2)", 1, 0}, {"sum.default($i)", 1, KEEPS},
    {"topk($F, 1, $d, $k, True)", 2, KEEPS | DRAWS}, {"topk($F, 3, $d, $k, True)", 2, KEEPS | DRAWS}, {"max($i)", 1, KEEPS},
    {"native_group_norm_backward(@4, $v, @g, @h, None, @n, [True, False, False])", 3, 0},
    /* images */
    {"clone(@4, memory_format=torch.channels_last)", 1, KEEPS}, {"_to_copy(@4, dtype=f32, memory_format=torch.channels_last)", 1, 0},
    {"convolution(@4, @w)", 1, 0}, {"convolution(@4, @w)", 1, 0}, {"convolution($3, @w)", 1, 0}, {"convolution_backward(@B)", 3, 0},
    {"max_pool2d_with_indices(@5, @p)", 2, KEEPS}, {"max_pool2d_with_indices_backward(@M)", 1, 0}, {"avg_pool2d(@4, @a)", 1, 0},
    {"avg_pool2d_backward(@A)", 1, 0}, {"_adaptive_avg_pool2d(@4, @o)", 1, 0}, {"im2col(@4, @i)", 1, KEEPS}, {"col2im(@F)", 1, 0},
    {"upsample_nearest2d.vec(@4, @o, None)", 1, KEEPS}, {"upsample_bilinear2d.vec(@4, @o, $k, None)", 1, 0},
    {"upsample_bicubic2d.vec(@4, @o, $k, None)", 1, 0}, {"upsample_nearest2d_backward.vec(@4, @s, None)", 1, 0},
    {"upsample_bilinear2d_backward.vec(@4, @s, $k, None)", 1, 0}, {"reflection_pad2d(@4, [1, 0, 2, 1])", 1, KEEPS},
    {"reflection_pad2d_backward(@4, @r)", 1, 0}, {"grid_sampler_2d(@4, @G, 0, 0, $k)", 1, 0},
    {"_adaptive_avg_pool2d_backward(@4, @I)", 1, 0}, {"grid_sampler_2d_backward(@4, @K)", 2, 0}, {"col2im_backward(@4, @i)", 1, KEEPS},
    {"im2col_backward(@F)", 1, 0}, {"_cudnn_rnn($3, @Y)", 5, 0}, {"_cudnn_rnn_backward($3@y)", 4, 0},
    /* views */
    {"permute($a, $p)", 1, KEEPS | VIEWS}, {"permute($a, $p)", 1, KEEPS | VIEWS}, {"transpose.int($a, $d, $e)", 1, KEEPS | VIEWS}, {"view($a, $R)", 1, KEEPS | VIEWS},
    {"_unsafe_view($a, $R)", 1, KEEPS | VIEWS}, {"slice.Tensor($a, $d, $S)", 1, KEEPS | VIEWS}, {"select.int($a, $d, $o)", 1, KEEPS | VIEWS},
    {"expand($a, $E)", 1, KEEPS | VIEWS | OVERLAPS}, {"unsqueeze($a, $d)", 1, KEEPS | VIEWS}, {"squeeze.dim($a, $d)", 1, KEEPS | VIEWS},
    {"split.Tensor($a, $C, $d)", 2, KEEPS | VIEWS}, {"t($m)", 1, KEEPS | VIEWS},
    {"alias($a)", 1, KEEPS | VIEWS},
    {"detach($a)", 1, KEEPS | VIEWS}, {"as_strided($a, @Z)", 1, KEEPS | VIEWS | OVERLAPS}, {"unbind.int($a, @2)", 2, KEEPS | VIEWS},
    {"unbind.int($a, @3)", 3, KEEPS | VIEWS}, {"split_with_sizes($a, @S, $d)", 2, KEEPS | VIEWS},
    /* moves */
    {"cat([$a, $c], $d)", 1, KEEPS}, {"cat([$f, $c, $c], $d)", 1, KEEPS}, {"stack([$a, $v], $d)", 1, KEEPS}, {"flip($a, $D)", 1, KEEPS},
    {"roll($a, [2], [$d])", 1, KEEPS}, {"repeat($f, $r)", 1, KEEPS}, {"constant_pad_nd($f, [1, 2], 0.5)", 1, KEEPS},
    {"constant_pad_nd($m, [0, 0, 1, -1], 0)", 1, KEEPS}, {"constant_pad_nd($m, [-1, 1, 0, 0], 0)", 1, KEEPS},
    {"index_select($a, $d, $I)", 1, KEEPS}, {"gather($a, $d, $G)", 1, KEEPS}, {"embedding($m, $J)", 1, KEEPS},
    {"index.Tensor($a, [$J])", 1, KEEPS}, {"index_add($f, $d, $I, $A)", 1, 0}, {"scatter_add($f, $d, $G, $B)", 1, 0}, {"tril($m)", 1, KEEPS}, {"triu($m, 1)", 1, KEEPS},
    {"index_put($f, @P)", 1, 0}, {"embedding_dense_backward($f, @E)", 1, 0}, {"slice_backward($f, @b)", 1, KEEPS},
    {"select_backward($f, @e)", 1, KEEPS}, {"unfold_backward($f, @u)", 1, 0}, {"_embedding_bag($m, @O)", 4, 0},
    {"new_full($f, $R, $n)", 1, KEEPS},
    {"index.Tensor($a, @j)", 1, KEEPS}, {"index.Tensor($f, @j)", 1, KEEPS}, {"scatter.src($f, @q)", 1, KEEPS}, {"scatter.value($f, $d, $G, $n)", 1, KEEPS},
    {"index_put($f, @U)", 1, KEEPS}, {"_index_put_impl($f, @P)", 1, 0}, {"_embedding_bag_per_sample_weights_backward($m, @W)", 1, 0},
    /* products */
    {"addmm($W, $P)", 1, 0}, {"addmm($m, $P, beta=$n, alpha=$n)", 1, 0},
    {"mm($m, $M)", 1, 0}, {"mm($m, $M)", 1, 0}, {"bmm($3, $N)", 1, 0}, 
    {"mv($m, $w)", 1, 0}, {"dot(@1, $v)", 1, 0}, {"addmv(@1, @V)", 1, 0}, {"addmv(@1, @V, beta=$n, alpha=$n)", 1, 0}, {"baddbmm($H, $P)", 1, 0},
    {"baddbmm($3, $P, beta=$n, alpha=$n)", 1, 0},
    /* in place */
    {"relu_($X)", 1, WRITES}, {"add_.Tensor($X, $u)", 1, WRITES}, {"mul_.Tensor($X, $u)", 1, WRITES}, {"copy_($X, $u)", 1, WRITES},
    {"sub_.Tensor($X, $y)", 1, WRITES}, {"fill_.Scalar($X, $n)", 1, WRITES}, {"addmm_($W, $P)", 1, WRITES},
    {"scatter_add_($X, $d, $G, $B)", 1, WRITES}, {"index_add_($X, $d, $I, $A)", 1, WRITES}, {"index_put_($X, @P)", 1, WRITES},
    {"masked_fill_.Scalar($X, $z, $n)", 1, WRITES}, {"div_.Tensor($X, $Q)", 1, WRITES}, {"leaky_relu_($X, 0.1)", 1, WRITES},
    {"addmm_($W, $P, beta=$n, alpha=$n)", 1, WRITES}, {"baddbmm_($H, $P)", 1, WRITES}, {"cumsum_($X, $d)", 1, WRITES},
    {"bernoulli_.float($X, 0.3)", 1, WRITES | DRAWS}, {"uniform_($X, -1, 2)", 1, WRITES | DRAWS}, {"normal_($X, 1, 2)", 1, WRITES | DRAWS},
    {"floor_divide_.Tensor($i, @l)", 1, WRITES | KEEPS}, {"pow_.Scalar($X, 2)", 1, WRITES},
    /* what is drawn */
    {"native_dropout($f, 0.3, True)", 2, DRAWS}, {"native_dropout($f, 0.5, True)", 2, DRAWS}, {"bernoulli.p($f, 0.4)", 1, KEEPS | DRAWS},
    {"bernoulli(@0)", 1, KEEPS | DRAWS},
};

#endif
