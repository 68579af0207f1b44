/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of names. They are the vendors' and frameworks' own, as seen in traces of PyTorch 1.8 to 2.11 and JAX. */
#include "lab/trace/classify.h"

#include "base/status.h"
#include "base/text.h"

#include <string.h>

typedef struct category_row {
    const char *category;
    size_t length;
    trace_kind kind;
} category_row;

#define CATEGORY(text, kind)                                                                                           \
    { text, sizeof text - 1, kind }

/* The frequent ones first. Before 1.13 PyTorch began them with a capital. */
static const category_row categories[] = {
    CATEGORY("kernel", TRACE_KIND_KERNEL),
    CATEGORY("cpu_op", TRACE_KIND_OPERATOR),
    CATEGORY("cuda_runtime", TRACE_KIND_CALL),
    CATEGORY("python_function", TRACE_KIND_HOST),
    CATEGORY("cuda_driver", TRACE_KIND_CALL),
    CATEGORY("gpu_memcpy", TRACE_KIND_COPY),
    CATEGORY("gpu_memset", TRACE_KIND_SET),
    CATEGORY("gpu_user_annotation", TRACE_KIND_HOST),
    CATEGORY("user_annotation", TRACE_KIND_HOST),
    CATEGORY("cpu_instant_event", TRACE_KIND_HOST),
    CATEGORY("concurrent_kernel", TRACE_KIND_KERNEL),
    CATEGORY("fwdbwd", TRACE_KIND_HOST),
    CATEGORY("overhead", TRACE_KIND_PROFILER),
    CATEGORY("Trace", TRACE_KIND_PROFILER),
    CATEGORY("Kernel", TRACE_KIND_KERNEL),
    CATEGORY("Memcpy", TRACE_KIND_COPY),
    CATEGORY("Memset", TRACE_KIND_SET),
    CATEGORY("Runtime", TRACE_KIND_CALL),
    CATEGORY("Operator", TRACE_KIND_OPERATOR),
    CATEGORY("hip_runtime", TRACE_KIND_CALL),
    CATEGORY("xpu_runtime", TRACE_KIND_CALL),
    CATEGORY("xpu_driver", TRACE_KIND_CALL),
    CATEGORY("mtia_runtime", TRACE_KIND_CALL),
    CATEGORY("privateuse1_runtime", TRACE_KIND_CALL),
    CATEGORY("privateuse1_driver", TRACE_KIND_CALL),
    CATEGORY("cuda_sync", TRACE_KIND_HOST),
    CATEGORY("cuda_event", TRACE_KIND_HOST),
    CATEGORY("compile", TRACE_KIND_HOST),
    CATEGORY("range", TRACE_KIND_HOST),
    CATEGORY("wait", TRACE_KIND_HOST), /* our own, of a CPU's lane */
};

typedef struct name_row {
    const char *part;
    trace_work work;
    const char *unless; /* what the part must not be followed by */
} name_row;

/* First match wins: what moves data between devices before what computes, attention before the matrix products in it,
   convolutions before the implicit GEMMs that do them. */
static const name_row kernel_parts[] = {
    {"nccl", TRACE_WORK_COMMUNICATION, NULL},
    {"rccl", TRACE_WORK_COMMUNICATION, NULL},
    {"oneccl", TRACE_WORK_COMMUNICATION, NULL},
    {"nvshmem", TRACE_WORK_COMMUNICATION, NULL},
    {"cross_device_reduce", TRACE_WORK_COMMUNICATION, NULL},
    {"multimem_", TRACE_WORK_COMMUNICATION, NULL},
    {"_shot_all_reduce", TRACE_WORK_COMMUNICATION, NULL},
    {"all-reduce", TRACE_WORK_COMMUNICATION, NULL},
    {"all-gather", TRACE_WORK_COMMUNICATION, NULL},
    {"all-to-all", TRACE_WORK_COMMUNICATION, NULL},
    {"reduce-scatter", TRACE_WORK_COMMUNICATION, NULL},
    {"collective-permute", TRACE_WORK_COMMUNICATION, NULL},
    {"flash", TRACE_WORK_ATTENTION, NULL},
    {"fmha", TRACE_WORK_ATTENTION, NULL},
    {"sdpa", TRACE_WORK_ATTENTION, NULL},
    {"attention", TRACE_WORK_ATTENTION, NULL},
    {"fprop", TRACE_WORK_CONVOLUTION, NULL},
    {"dgrad", TRACE_WORK_CONVOLUTION, NULL},
    {"wgrad", TRACE_WORK_CONVOLUTION, NULL},
    {"winograd", TRACE_WORK_CONVOLUTION, NULL},
    {"conv", TRACE_WORK_CONVOLUTION, "er"}, /* convert, conversion */
    {"gemm", TRACE_WORK_MATMUL, NULL},
    {"gemv", TRACE_WORK_MATMUL, NULL},
    {"nvjet", TRACE_WORK_MATMUL, NULL},
    {"cutlass", TRACE_WORK_MATMUL, NULL},
    {"_xmma_", TRACE_WORK_MATMUL, NULL},
    {"splitKreduce", TRACE_WORK_MATMUL, NULL},
    {"triton_tem_", TRACE_WORK_MATMUL, NULL}, /* Inductor's templates are all products of some kind */
    {"triton_mm", TRACE_WORK_MATMUL, NULL},
    {"triton_bmm", TRACE_WORK_MATMUL, NULL},
    {"triton_addmm", TRACE_WORK_MATMUL, NULL},
    {"scaled_mm", TRACE_WORK_MATMUL, NULL},
    {"grouped_mm", TRACE_WORK_MATMUL, NULL},
    {"matmul", TRACE_WORK_MATMUL, NULL},
    {"marlin", TRACE_WORK_MATMUL, NULL},
    {"Cijk_", TRACE_WORK_MATMUL, NULL}, /* rocBLAS's Tensile */
};

/* Kernels whose names list the operators fused into them, or wrap another's name: the list says nothing of a product.
 */
static const name_row kernel_prefixes[] = {
    {"triton_poi_", TRACE_WORK_OTHER, NULL}, {"triton_red_", TRACE_WORK_OTHER, NULL},
    {"triton_per_", TRACE_WORK_OTHER, NULL}, {"triton_for_", TRACE_WORK_OTHER, NULL},
    {"triton_mix_", TRACE_WORK_OTHER, NULL}, {"Memcpy", TRACE_WORK_COPY, NULL},
    {"memcpy", TRACE_WORK_COPY, NULL},       {"Memset", TRACE_WORK_SET, NULL},
    {"memset", TRACE_WORK_SET, NULL},
};

static const name_row operator_parts[] = {
    {"c10d", TRACE_WORK_COMMUNICATION, NULL},
    {"nccl", TRACE_WORK_COMMUNICATION, NULL},
    {"record_param_comms", TRACE_WORK_COMMUNICATION, NULL},
    {"attention", TRACE_WORK_ATTENTION, NULL},
    {"conv", TRACE_WORK_CONVOLUTION, "er"},
    {"matmul", TRACE_WORK_MATMUL, NULL},
    {"gemm", TRACE_WORK_MATMUL, NULL},
    {"einsum", TRACE_WORK_MATMUL, NULL},
    {"triton_tem_", TRACE_WORK_MATMUL, NULL},
};

/* Whole names behind the last "::", without an overload's ".name". */
static const char *const matmul_operators[] = {
    "mm",
    "bmm",
    "addmm",
    "baddbmm",
    "addbmm",
    "mv",
    "addmv",
    "dot",
    "vdot",
    "linear",
    "inner",
    "tensordot",
    "_addmm_activation",
    "_scaled_mm",
    "_grouped_mm",
    "_scaled_grouped_mm",
    "_int_mm",
    "_sparse_mm",
    "_weight_int4pack_mm",
    "_weight_int8pack_mm",
    "linear_backward",
    "mkldnn_linear",
    "chain_matmul",
};

static const char *const launch_parts[] = {"Launch", "Memcpy", "Memset", "launch", "MemPrefetch"};

const char *trace_work_text(trace_work work) {
    static const char *const texts[] = {
#define WORK_TEXT(name, text) text,
        TRACE_WORK_LIST(WORK_TEXT)
#undef WORK_TEXT
    };
    return texts[work];
}

trace_kind trace_kind_of(const char *category, size_t length) {
    for (size_t i = 0; i < countof(categories); i++) {
        const category_row *row = &categories[i];
        if (row->length == length && row->category[0] == category[0] && memcmp(row->category, category, length) == 0) {
            return row->kind;
        }
    }
    return TRACE_KIND_PLAIN;
}

bool trace_compat_mm_conv(const char *name, size_t length) {
    static const char *const parts[] = {"gemm", "conv", "cutlass", "wgrad"};
    for (size_t i = 0; i + 4 <= length; i++) {
        char c = name[i];
        if (c != 'g' && c != 'c' && c != 'w') {
            continue;
        }
        for (size_t k = 0; k < countof(parts); k++) {
            size_t n = strlen(parts[k]);
            if (n <= length - i && memcmp(name + i, parts[k], n) == 0) {
                return true;
            }
        }
    }
    return false;
}

/* Whether `part` is in the name at least once without `unless` right behind it. */
static bool has_part(const char *name, size_t length, const name_row *row) {
    const char *end = name + length;
    size_t n = strlen(row->part), n_unless = row->unless != NULL ? strlen(row->unless) : 0;
    for (const char *at = name; (at = memmem(at, (size_t)(end - at), row->part, n)) != NULL;) {
        at += n;
        if (n_unless == 0 || (size_t)(end - at) < n_unless || memcmp(at, row->unless, n_unless) != 0) {
            return true;
        }
    }
    return false;
}

static trace_work work_of_parts(const char *name, size_t length, const name_row *rows, size_t n_rows) {
    for (size_t i = 0; i < n_rows; i++) {
        if (has_part(name, length, &rows[i])) {
            return rows[i].work;
        }
    }
    return TRACE_WORK_OTHER;
}

trace_work trace_work_of_kernel(const char *name, size_t length) {
    for (size_t i = 0; i < countof(kernel_prefixes); i++) {
        size_t n = strlen(kernel_prefixes[i].part);
        if (n <= length && memcmp(name, kernel_prefixes[i].part, n) == 0) {
            return kernel_prefixes[i].work;
        }
    }
    return work_of_parts(name, length, kernel_parts, countof(kernel_parts));
}

trace_work trace_work_of_operator(const char *name, size_t length) {
    const char *base = name;
    for (const char *at = name; (at = memmem(at, length - (size_t)(at - name), "::", 2)) != NULL;) {
        at += 2;
        base = at;
    }
    size_t n = length - (size_t)(base - name);
    const char *dot = memchr(base, '.', n);
    n = dot != NULL ? (size_t)(dot - base) : n;
    for (size_t i = 0; i < countof(matmul_operators); i++) {
        if (strlen(matmul_operators[i]) == n && memcmp(matmul_operators[i], base, n) == 0) {
            return TRACE_WORK_MATMUL;
        }
    }
    return work_of_parts(name, length, operator_parts, countof(operator_parts));
}

bool trace_call_launches(const char *name, size_t length) {
    for (size_t i = 0; i < countof(launch_parts); i++) {
        if (memmem(name, length, launch_parts[i], strlen(launch_parts[i])) != NULL) {
            return true;
        }
    }
    return false;
}

bool trace_says_device(const char *subject) {
    static const char *const parts[] = {"GPU", "TPU", "XPU", "NPU", "HPU", "MTIA", "/device:"};
    for (size_t i = 0; i < countof(parts); i++) {
        if (strstr(subject, parts[i]) != NULL && strstr(subject, "/device:CPU") == NULL) {
            return true;
        }
    }
    return false;
}
