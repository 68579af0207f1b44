/* SPDX-License-Identifier: Apache-2.0 */
/* A complete plug-in: three operators on contiguous f32 tensors, and an honest "unsupported" for everything else.

   Read it from the bottom up: the entry hands out a table, `prepare` finds the operator and checks what it was given, `run`
   computes. It needs nothing but assay/backend.h. */
#include "assay/backend.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_INPUTS = 2 };

typedef struct served_op served_op;

/* What `run` needs: pointers to tensors that assay keeps alive as long as the plan. */
struct assay_plan {
    const served_op *op;
    const assay_tensor_view *inputs[MAX_INPUTS];
    const assay_tensor_view *output;
};

/* One operator of this plug-in. */
struct served_op {
    const char *name;
    int n_inputs;
    /* What the general checks (f32, contiguous) leave open; NULL: nothing. */
    assay_status (*check)(const assay_plan *plan, assay_error *error);
    void (*run)(const assay_plan *plan);
};

/* An error is a code and a sentence that says what was expected and what came. */
static assay_status answer(assay_error *error, assay_status code, const char *op, const char *what) {
    if (error != NULL) {
        error->code = code;
        snprintf(error->message, sizeof error->message, "%s: %s", op, what);
    }
    return code;
}

static int64_t count(const assay_tensor_view *t) {
    int64_t n = 1;
    for (int32_t i = 0; i < t->ndim; i++) {
        n *= t->sizes[i];
    }
    return n;
}

static bool same_sizes(const assay_tensor_view *a, const assay_tensor_view *b) {
    return a->ndim == b->ndim && memcmp(a->sizes, b->sizes, (size_t)a->ndim * sizeof *a->sizes) == 0;
}

/* A dimension of size 1 is never stepped along, so its stride says nothing. */
static bool is_contiguous(const assay_tensor_view *t) {
    int64_t expected = 1;
    for (int32_t i = t->ndim - 1; i >= 0; i--) {
        if (t->sizes[i] != 1 && t->strides[i] != expected) {
            return false;
        }
        expected *= t->sizes[i];
    }
    return true;
}

/* --- the operators ------------------------------------------------------------------------------------------------------- */

static void run_mul(const assay_plan *plan) {
    const float *a = plan->inputs[0]->data, *b = plan->inputs[1]->data;
    float *out = plan->output->data;
    int64_t n = count(plan->output);
    for (int64_t i = 0; i < n; i++) {
        out[i] = a[i] * b[i];
    }
}

static assay_status check_mul(const assay_plan *plan, assay_error *error) {
    return same_sizes(plan->inputs[0], plan->inputs[1])
               ? ASSAY_OK
               : answer(error, ASSAY_UNSUPPORTED, plan->op->name, "expected two tensors of the same sizes, not a broadcast");
}

/* NaN stays NaN: the comparison is written so that it answers "keep" for it. */
static void run_relu(const assay_plan *plan) {
    const float *a = plan->inputs[0]->data;
    float *out = plan->output->data;
    int64_t n = count(plan->output);
    for (int64_t i = 0; i < n; i++) {
        out[i] = a[i] <= 0 ? 0 : a[i];
    }
}

/* Row by row, with the inner loop along rows of b and the output, so that memory is read in order. */
static void run_mm(const assay_plan *plan) {
    const float *a = plan->inputs[0]->data, *b = plan->inputs[1]->data;
    float *out = plan->output->data;
    int64_t rows = plan->inputs[0]->sizes[0], depth = plan->inputs[0]->sizes[1], columns = plan->inputs[1]->sizes[1];
    memset(out, 0, (size_t)(rows * columns) * sizeof *out);
    for (int64_t i = 0; i < rows; i++) {
        for (int64_t k = 0; k < depth; k++) {
            float factor = a[i * depth + k];
            for (int64_t j = 0; j < columns; j++) {
                out[i * columns + j] += factor * b[k * columns + j];
            }
        }
    }
}

static const served_op ops[] = {
    {"mul.Tensor", 2, check_mul, run_mul},
    {"relu.default", 1, NULL, run_relu},
    {"mm.default", 2, NULL, run_mm}, /* assay has checked the shapes: sizes that do not fit never arrive here */
};

/* --- the table's functions ------------------------------------------------------------------------------------------------ */

static const served_op *find(const char *name) {
    for (size_t i = 0; i < sizeof ops / sizeof ops[0]; i++) {
        if (strcmp(ops[i].name, name) == 0) {
            return &ops[i];
        }
    }
    return NULL;
}

static assay_status covers(void *state, const char *op, assay_error *error) {
    (void)state;
    return find(op) != NULL ? ASSAY_OK : answer(error, ASSAY_UNSUPPORTED, op, "the example has no code for it");
}

static assay_status check_tensor(const char *op, const assay_tensor_view *t, assay_error *error) {
    char reason[96];
    if (t->layout != ASSAY_STRIDED || t->dtype != ASSAY_F32) {
        /* A plug-in does not link assay, so it spells a dtype by its number's place in assay/dtype.h. */
        static const char *const names[] = {
#define SHORT_NAME(name, short_name, torch_name, size, category) short_name,
            ASSAY_DTYPE_LIST(SHORT_NAME)
#undef SHORT_NAME
        };
        bool known = t->dtype >= 0 && t->dtype < ASSAY_DTYPE_COUNT;
        snprintf(reason, sizeof reason, "expected dense f32, got %s%s", t->layout != ASSAY_STRIDED ? "sparse " : "",
                 known ? names[t->dtype] : "an unknown dtype");
        return answer(error, ASSAY_UNSUPPORTED, op, reason);
    }
    return is_contiguous(t) ? ASSAY_OK : answer(error, ASSAY_UNSUPPORTED, op, "expected contiguous tensors");
}

static assay_status fill_plan(assay_plan *plan, const assay_program *program, assay_error *error) {
    const assay_node *node = &program->nodes[0];
    plan->op = find(node->op);
    if (program->n_nodes != 1 || plan->op == NULL) {
        return answer(error, ASSAY_UNSUPPORTED, node->op, "the example has no code for it");
    }
    for (int i = 0; i < plan->op->n_inputs; i++) {
        if (node->arguments[i].kind != ASSAY_ARG_TENSOR) {
            return answer(error, ASSAY_UNSUPPORTED, node->op, "expected a tensor argument");
        }
        plan->inputs[i] = &program->tensors[node->arguments[i].tensors[0]];
        assay_status status = check_tensor(node->op, plan->inputs[i], error);
        if (status != ASSAY_OK) {
            return status;
        }
    }
    plan->output = &program->tensors[program->outputs[0]];
    assay_status status = check_tensor(node->op, plan->output, error);
    return status == ASSAY_OK && plan->op->check != NULL ? plan->op->check(plan, error) : status;
}

static assay_status prepare(void *state, const assay_program *program, assay_plan **out, assay_plan_facts *facts,
                            assay_error *error) {
    (void)state;
    (void)facts; /* nothing to say: the work is done here, with no conversion */
    assay_plan *plan = malloc(sizeof *plan);
    if (plan == NULL) {
        return answer(error, ASSAY_OUT_OF_MEMORY, "example", "no memory for a plan");
    }
    assay_status status = fill_plan(plan, program, error);
    if (status != ASSAY_OK) {
        free(plan);
        return status;
    }
    *out = plan;
    return ASSAY_OK;
}

static assay_status run(assay_plan *plan, assay_error *error) {
    (void)error;
    plan->op->run(plan);
    return ASSAY_OK;
}

static void release(assay_plan *plan) {
    free(plan);
}

static const assay_backend table = {
    .abi = ASSAY_BACKEND_ABI,
    .size_bytes = sizeof(assay_backend),
    .name = "example",
    .doc = "three operators in plain C, the plug-in example",
    .covers = covers,
    .prepare = prepare,
    .run = run,
    .release = release,
};

#if defined(__GNUC__)
__attribute__((visibility("default")))
#endif
const assay_backend *assay_backend_entry(uint32_t abi, assay_error *error);

const assay_backend *assay_backend_entry(uint32_t abi, assay_error *error) {
    if (abi != ASSAY_BACKEND_ABI) {
        answer(error, ASSAY_UNSUPPORTED, "example", "built for another version of the plug-in ABI");
        return NULL;
    }
    return &table;
}
