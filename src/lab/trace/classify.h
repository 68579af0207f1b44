/* SPDX-License-Identifier: Apache-2.0 */
/* What an event is, told by its category and its name: the tables of what PyTorch, JAX and the vendors' libraries
   call things. */
#ifndef LAB_TRACE_CLASSIFY_H
#define LAB_TRACE_CLASSIFY_H

#include <stdbool.h>
#include <stddef.h>

/* What a device event, or the operator that launched it, works at. */
#define TRACE_WORK_LIST(X)                                                                                             \
    X(OTHER, "other")                                                                                                  \
    X(MATMUL, "matmul")                                                                                                \
    X(CONVOLUTION, "convolution")                                                                                      \
    X(ATTENTION, "attention")                                                                                          \
    X(COMMUNICATION, "communication")                                                                                  \
    X(COPY, "memcpy")                                                                                                  \
    X(SET, "memset")

typedef enum trace_work {
#define TRACE_WORK_ENUM(name, text) TRACE_WORK_##name,
    TRACE_WORK_LIST(TRACE_WORK_ENUM)
#undef TRACE_WORK_ENUM
        TRACE_N_WORKS
} trace_work;

/* What a complete event is to the figures. */
typedef enum trace_kind {
    TRACE_KIND_PLAIN,    /* no category that is known here: a kernel if it lies on a device's lane */
    TRACE_KIND_HOST,     /* known to be no device work: compat alone may count it */
    TRACE_KIND_PROFILER, /* as HOST, and the profiler's own: not part of the trace's window */
    TRACE_KIND_CALL,     /* into a device's runtime or driver */
    TRACE_KIND_OPERATOR,
    TRACE_KIND_KERNEL,
    TRACE_KIND_COPY,
    TRACE_KIND_SET,
    TRACE_KIND_FLOW_START, /* flow arrows are no complete events, but are put in order with them */
    TRACE_KIND_FLOW_END,
} trace_kind;

const char *trace_work_text(trace_work work);

trace_kind trace_kind_of(const char *category, size_t length);

/* compat's test, to the letter: the name contains gemm, conv, cutlass or wgrad. */
bool trace_compat_mm_conv(const char *name, size_t length);

/* strict's test of a kernel's name, modern ones included; a name that lists what was fused into it is OTHER. */
trace_work trace_work_of_kernel(const char *name, size_t length);

/* Of an operator's name, such as aten::addmm. */
trace_work trace_work_of_operator(const char *name, size_t length);

/* Whether a runtime or driver call puts work on a device. */
bool trace_call_launches(const char *name, size_t length);

/* Whether a process's label or name says that it is a device: PyTorch labels it "GPU 0", JAX names it
   "/device:GPU:0". */
bool trace_says_device(const char *text);

#endif
