/* SPDX-License-Identifier: Apache-2.0 */
/* Names and lanes: which work a name is, which lanes are a device's, how two traces differ, and the seeds' odd cases.
 */
#include "lab/trace/classify.h"
#include "lab/trace/diff.h"
#include "lab/trace/figures.h"

#include <math.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h> /* last: its fail() is a macro */

typedef struct work_row {
    const char *name;
    trace_work work;
} work_row;

static void kernels_by_name(void **state) {
    (void)state;
    static const work_row rows[] = {
        {"nvjet_hsh_128x256_64x4_2x1_v_bz_coopA_NNT", TRACE_WORK_MATMUL},
        {"sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n", TRACE_WORK_MATMUL},
        {"void cutlass::Kernel2<cutlass_80_tensorop_s1688gemm_64x128_32x3_nn_align4>", TRACE_WORK_MATMUL},
        {"void cublasLt::splitKreduce_kernel<32, 16, int>", TRACE_WORK_MATMUL},
        {"void gemv2T_kernel_val<int, int, float>", TRACE_WORK_MATMUL},
        {"Cijk_Ailk_Bljk_HHS_BH_MT128x128x16", TRACE_WORK_MATMUL},
        {"triton_tem_fused_mm_0", TRACE_WORK_MATMUL},
        {"triton_tem_fused_convolution_1", TRACE_WORK_CONVOLUTION},
        {"triton_tem_fused__to_copy_convert_element_type_mm_2", TRACE_WORK_MATMUL},
        {"triton_poi_fused_addmm_relu_0", TRACE_WORK_OTHER},
        {"triton_red_fused_convolution_native_batch_norm_3", TRACE_WORK_OTHER},
        {"sm90_xmma_fprop_implicit_gemm_f32f32_tf32f32_f32_nhwckrsc_nhwc", TRACE_WORK_CONVOLUTION},
        {"void implicit_convolve_sgemm<float, float>", TRACE_WORK_CONVOLUTION},
        {"void cudnn::ops::convertTensor_kernel<float>", TRACE_WORK_OTHER},
        {"void convert_then_conv2d<float>", TRACE_WORK_CONVOLUTION},
        {"void pytorch_flash::flash_fwd_kernel<Flash_fwd_kernel_traits>", TRACE_WORK_ATTENTION},
        {"fmha_cutlassF_f32_aligned_64x64_rf_sm80", TRACE_WORK_ATTENTION},
        {"cudnn_generated_fort_native_sdpa_sm90_flash_fprop", TRACE_WORK_ATTENTION},
        {"ncclDevKernel_AllReduce_Sum_bf16_RING_LL", TRACE_WORK_COMMUNICATION},
        {"void vllm::cross_device_reduce_1stage<__nv_bfloat16, 2>", TRACE_WORK_COMMUNICATION},
        {"MemcpyD2D", TRACE_WORK_COPY},
        {"Memset (Device)", TRACE_WORK_SET},
        {"void at::native::vectorized_elementwise_kernel<4>", TRACE_WORK_OTHER},
        {"", TRACE_WORK_OTHER},
    };
    for (size_t i = 0; i < countof(rows); i++) {
        trace_work got = trace_work_of_kernel(rows[i].name, strlen(rows[i].name));
        if (got != rows[i].work) {
            fail_msg("%s: expected %s, got %s", rows[i].name, trace_work_text(rows[i].work), trace_work_text(got));
        }
    }
}

static void operators_by_name(void **state) {
    (void)state;
    static const work_row rows[] = {
        {"aten::mm", TRACE_WORK_MATMUL},
        {"aten::addmm.out", TRACE_WORK_MATMUL},
        {"aten::_scaled_mm", TRACE_WORK_MATMUL},
        {"aten::linear", TRACE_WORK_MATMUL},
        {"aten::upsample_bilinear2d", TRACE_WORK_OTHER},
        {"aten::cudnn_convolution", TRACE_WORK_CONVOLUTION},
        {"autograd::engine::evaluate_function: ConvolutionBackward0",
         TRACE_WORK_OTHER}, /* it launches through aten::convolution_backward */
        {"aten::convolution_backward", TRACE_WORK_CONVOLUTION},
        {"prims::convert_element_type", TRACE_WORK_OTHER},
        {"aten::_scaled_dot_product_flash_attention", TRACE_WORK_ATTENTION},
        {"c10d::allreduce_", TRACE_WORK_COMMUNICATION},
        {"aten::add_", TRACE_WORK_OTHER},
        {"mm", TRACE_WORK_MATMUL},
        {"aten::", TRACE_WORK_OTHER},
    };
    for (size_t i = 0; i < countof(rows); i++) {
        trace_work got = trace_work_of_operator(rows[i].name, strlen(rows[i].name));
        if (got != rows[i].work) {
            fail_msg("%s: expected %s, got %s", rows[i].name, trace_work_text(rows[i].work), trace_work_text(got));
        }
    }
}

static void compat_tests_names_as_the_seeds_do(void **state) {
    (void)state;
    const char *const yes[] = {"gemm", "xconvx", "a cutlass", "wgrad", "convert", "triton_poi_fused_convolution"};
    const char *const no[] = {"", "gem", "Conv", "GEMM", "cutlas", "nvjet", "wgra", "con"};
    for (size_t i = 0; i < countof(yes); i++) {
        assert_true(trace_compat_mm_conv(yes[i], strlen(yes[i])));
    }
    for (size_t i = 0; i < countof(no); i++) {
        assert_false(trace_compat_mm_conv(no[i], strlen(no[i])));
    }
}

static void figures_of(const char *trace, const trace_options *options, arena *memory, trace_figures *f) {
    trace_source *source = NULL;
    error err = {0};
    assert_int_equal(trace_source_open_memory(trace, strlen(trace), 0, &source, &err), ASSAY_OK);
    if (trace_figures_of_source(source, options, memory, f, &err) != ASSAY_OK) {
        fail_msg("%s", err.message);
    }
    trace_source_close(source);
}

typedef struct compat_row {
    const char *trace;
    double covered_us, mm_conv_us; /* what the seeds' get_duration gives, run by hand */
} compat_row;

#define LABEL(pid, labels) "{\"name\":\"process_labels\",\"pid\":" pid ",\"args\":{\"labels\":" labels "}}"

/* Odd traces that the seeds' program takes, and what it says of them. */
static void compat_agrees_in_odd_cases(void **state) {
    (void)state;
    static const compat_row rows[] = {
        {"[]", 0, 0},
        {"[" LABEL("0", "\"GPU 0\"") "]", 0, 0},
        {"[{\"ph\":\"X\",\"pid\":0,\"ts\":1,\"dur\":2}]", 0, 0}, /* not labelled */
        {"[{\"ph\":\"X\",\"pid\":0,\"ts\":1,\"dur\":2}," LABEL("0", "\"my GPUs\"") "," LABEL("0", "\"GPU\"") "]", 2, 0},
        {"[{\"ph\":\"X\",\"pid\":0,\"ts\":1,\"dur\":2}," LABEL("0", "[\"x\",\"GPU\"]") "]", 2, 0},
        {"[{\"ph\":\"X\",\"pid\":0,\"ts\":1,\"dur\":2}," LABEL("0", "[\"GPU 0\"]") "]", 0, 0},
        {"[{\"ph\":\"X\",\"pid\":1.0,\"ts\":1,\"dur\":2,\"name\":\"conv\"}," LABEL("true", "\"GPU\"") "]", 2, 2},
        {"[{\"ph\":\"X\",\"pid\":\"1\",\"ts\":1,\"dur\":2}," LABEL("1", "\"GPU\"") "]", 0, 0},
        {"[{\"ph\":\"X\",\"pid\":null,\"ts\":1,\"dur\":2}," LABEL("null", "\"GPU\"") "]", 2, 0},
        {"[{\"ph\":\"X\",\"pid\":0,\"ts\":5,\"dur\":-3},{\"ph\":\"X\",\"pid\":0,\"ts\":6,\"dur\":1}," LABEL(
             "0", "\"GPU\"") "]",
         -2, 0},
        {"[{\"ph\":\"X\",\"pid\":0,\"ts\":7,\"dur\":-3},{\"ph\":\"X\",\"pid\":0,\"ts\":6,\"dur\":1}," LABEL(
             "0", "\"GPU\"") "]",
         1, 0},
        {"[{\"ph\":\"X\",\"pid\":0,\"ts\":5,\"dur\":10},{\"ph\":\"X\",\"pid\":0,\"ts\":6,\"dur\":1},{\"ph\":\"X\","
         "\"pid\":1,\"ts\":14,\"dur\":3,"
         "\"cat\":\"cpu_op\",\"name\":\"wgrad\"}," LABEL("0", "\"GPU\"") "," LABEL("1", "\"GPU 1\"") "]",
         12, 3},
        {"[{\"ph\":\"B\",\"pid\":0,\"ts\":1},{\"ph\":\"E\",\"pid\":0,\"ts\":4}," LABEL("0", "\"GPU\"") "]", 0, 0},
        {"[{\"ph\":\"X\",\"pid\":0,\"ts\":1},{\"ph\":\"X\",\"pid\":0,\"ts\":\"2\",\"dur\":1},{\"ph\":\"X\",\"pid\":0,"
         "\"ts\":1e400,\"dur\":1},"
         "{\"ph\":\"X\",\"pid\":0,\"ts\":3,\"dur\":1.5}," LABEL("0", "\"GPU\"") "]",
         1.5, 0}, /* warned of, not counted */
    };
    for (size_t i = 0; i < countof(rows); i++) {
        const trace_options options = {.base = TRACE_BASE_GIVEN, .wall_time_s = 1e-5};
        arena memory = {0};
        trace_figures f;
        figures_of(rows[i].trace, &options, &memory, &f);
        if (fabs(f.compat.utilization - rows[i].covered_us / 10) > 1e-12 ||
            fabs(f.compat.mm_conv - rows[i].mm_conv_us / 10) > 1e-12) {
            fail_msg("%s: expected %g and %g us, got %g and %g", rows[i].trace, rows[i].covered_us, rows[i].mm_conv_us,
                     f.compat.utilization * 10, f.compat.mm_conv * 10);
        }
        arena_clear(&memory);
    }
}

/* As JAX writes them: no categories, a process named after the device, streams beside lanes that repeat their time. */
static void devices_are_known_by_name(void **state) {
    (void)state;
    static const char trace[] =
        "{\"traceEvents\":[{\"ph\":\"M\",\"pid\":1,\"name\":\"process_name\",\"args\":{\"name\":\"/device:GPU:0\"}},"
        "{\"ph\":\"M\",\"pid\":2,\"name\":\"process_name\",\"args\":{\"name\":\"/host:CPU\"}},"
        "{\"ph\":\"M\",\"pid\":1,\"tid\":3,\"name\":\"thread_name\",\"args\":{\"name\":\"Stream #3(compute)\"}},"
        "{\"ph\":\"M\",\"pid\":1,\"tid\":9,\"name\":\"thread_name\",\"args\":{\"name\":\"XLA Modules\"}},"
        "{\"ph\":\"X\",\"pid\":1,\"tid\":9,\"ts\":0,\"dur\":10,\"name\":\"jit_f\"},"
        "{\"ph\":\"X\",\"pid\":1,\"tid\":3,\"ts\":1,\"dur\":2,\"name\":\"cutlass_gemm\",\"args\":{\"correlation_id\":5}"
        "},"
        "{\"ph\":\"X\",\"pid\":1,\"tid\":3,\"ts\":4,\"dur\":1,\"name\":\"MemcpyD2D\"},"
        "{\"ph\":\"X\",\"pid\":2,\"tid\":1,\"ts\":0,\"dur\":20,\"name\":\"$main\"},{}]}";
    const trace_options options = {.base = TRACE_BASE_TRACE};
    arena memory = {0};
    trace_figures f;
    figures_of(trace, &options, &memory, &f);
    assert_int_equal(f.n_devices, 1);
    assert_string_equal(f.devices[0].name, "/device:GPU:0");
    assert_int_equal(f.devices[0].n_streams, 1);
    assert_true(fabs(f.strict.utilization - 0.1) < 1e-12);
    assert_true(fabs(f.strict.by_name.matmul - 0.1) < 1e-12);
    assert_true(fabs(f.devices[0].split.memcpy_s - 1e-6) < 1e-15);
    assert_true(f.compat.utilization == 0);
    assert_int_equal(f.warnings.count[TRACE_WARNING_NO_LABEL], 1);
    arena_clear(&memory);
}

/* A wall time that was measured is not one that somebody gave. */
static void busy_beyond_the_wall_time(void **state) {
    (void)state;
    static const char trace[] = "[{\"ph\":\"X\",\"cat\":\"kernel\",\"pid\":0,\"tid\":7,\"ts\":0,\"dur\":9,\"name\":\"k\"}]";
    for (int is_of_runs = 0; is_of_runs < 2; is_of_runs++) {
        const trace_options options = {.base = TRACE_BASE_GIVEN, .wall_time_s = 1e-6, .is_of_runs = is_of_runs};
        arena memory = {0};
        trace_figures f;
        figures_of(trace, &options, &memory, &f);
        assert_true(f.strict.utilization == 1);
        assert_int_equal(f.warnings.count[TRACE_WARNING_BUSY_BEYOND_WALL], !is_of_runs);
        assert_int_equal(f.warnings.count[TRACE_WARNING_BUSY_BEYOND_RUNS], is_of_runs);
        assert_int_equal(f.n_devices, 1);
        assert_null(f.devices[0].label);
        arena_clear(&memory);
    }
}

/* Flow arrows attribute kernels where the trace has no correlations. */
static void arrows_attribute_kernels(void **state) {
    (void)state;
    static const char trace[] =
        "[{\"ph\":\"X\",\"cat\":\"cpu_op\",\"pid\":1,\"tid\":1,\"ts\":0,\"dur\":10,\"name\":\"aten::outer_one\"},"
        "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"pid\":1,\"tid\":1,\"ts\":1,\"dur\":3,\"name\":\"aten::mm\"},"
        "{\"ph\":\"s\",\"cat\":\"ac2g\",\"pid\":1,\"tid\":1,\"ts\":2,\"id\":\"0x5\"},{\"ph\":\"s\",\"cat\":\"ac2g\","
        "\"pid\":1,\"tid\":1,\"ts\":6,\"id\":6},"
        "{\"ph\":\"X\",\"cat\":\"kernel\",\"pid\":0,\"tid\":7,\"ts\":8,\"dur\":2,\"name\":\"k\"},{\"ph\":\"f\",\"cat\":"
        "\"ac2g\",\"pid\":0,\"tid\":7,\"ts\":8,\"id\":\"0x5\"},"
        "{\"ph\":\"f\",\"cat\":\"ac2g\",\"pid\":0,\"tid\":7,\"ts\":11,\"id\":6},{\"ph\":\"X\",\"cat\":\"kernel\","
        "\"pid\":0,\"tid\":7,\"ts\":11,\"dur\":4,\"name\":\"k\"},"
        "{\"ph\":\"X\",\"cat\":\"kernel\",\"pid\":0,\"tid\":7,\"ts\":16,\"dur\":1,\"name\":\"k\"}]";
    const trace_options options = {.by_operator = true};
    arena memory = {0};
    trace_figures f;
    figures_of(trace, &options, &memory, &f);
    assert_int_equal(f.n_operators, 3);
    assert_string_equal(f.operators[0].name, "aten::outer_one");
    assert_true(fabs(f.operators[0].kernel_s - 4e-6) < 1e-15);
    assert_string_equal(f.operators[1].name, "aten::mm");
    assert_true(fabs(f.operators[1].kernel_s - 2e-6) < 1e-15);
    assert_null(f.operators[2].name);
    assert_true(fabs(f.strict.by_operator.matmul - 2.0 / 17) < 1e-12);
    arena_clear(&memory);
}

static void differences_are_by_name(void **state) {
    (void)state;
    static const char before[] = "[{\"ph\":\"X\",\"cat\":\"kernel\",\"pid\":0,\"ts\":0,\"dur\":5,\"name\":\"slower\"},"
                                 "{\"ph\":\"X\",\"cat\":\"kernel\",\"pid\":0,\"ts\":9,\"dur\":4,\"name\":\"gone\"},"
                                 "{\"ph\":\"X\",\"cat\":\"kernel\",\"pid\":0,\"ts\":20,\"dur\":1,\"name\":\"same\"}]";
    static const char after[] = "[{\"ph\":\"X\",\"cat\":\"kernel\",\"pid\":0,\"ts\":0,\"dur\":5,\"name\":\"slower\"},"
                                "{\"ph\":\"X\",\"cat\":\"kernel\",\"pid\":0,\"ts\":9,\"dur\":7,\"name\":\"slower\"},"
                                "{\"ph\":\"X\",\"cat\":\"kernel\",\"pid\":0,\"ts\":20,\"dur\":1,\"name\":\"same\"},"
                                "{\"ph\":\"X\",\"cat\":\"kernel\",\"pid\":0,\"ts\":30,\"dur\":2,\"name\":\"new\"}]";
    const trace_options options = {.by_operator = true};
    arena memory = {0};
    trace_figures a, b;
    trace_diff d;
    error err = {0};
    figures_of(before, &options, &memory, &a);
    figures_of(after, &options, &memory, &b);
    assert_int_equal(trace_diff_make(&a, &b, &memory, &d, &err), ASSAY_OK);
    static const char *const order[] = {"slower", "new", "same", "gone"};
    static const double changes_us[] = {7, 2, 0, -4};
    assert_int_equal(d.n_kernels, countof(order));
    for (size_t i = 0; i < countof(order); i++) {
        assert_string_equal(d.kernels[i].name, order[i]);
        assert_true(fabs(d.kernels[i].change_s * 1e6 - changes_us[i]) < 1e-9);
    }
    assert_int_equal(d.kernels[0].count_a, 1);
    assert_int_equal(d.kernels[0].count_b, 2);
    const trace_change *largest[2];
    assert_int_equal(trace_diff_largest(d.kernels, d.n_kernels, 2, largest), 2);
    assert_string_equal(largest[0]->name, "slower");
    assert_string_equal(largest[1]->name, "gone");
    assert_int_equal(d.n_operators, 1);
    assert_null(d.operators[0].name);
    arena_clear(&memory);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kernels_by_name),
        cmocka_unit_test(operators_by_name),
        cmocka_unit_test(compat_tests_names_as_the_seeds_do),
        cmocka_unit_test(compat_agrees_in_odd_cases),
        cmocka_unit_test(devices_are_known_by_name),
        cmocka_unit_test(busy_beyond_the_wall_time),
        cmocka_unit_test(arrows_attribute_kernels),
        cmocka_unit_test(differences_are_by_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
