/* SPDX-License-Identifier: Apache-2.0 */
/* Inductor's way with its helper process, without PyTorch: each `prepare` asks the program that $ASSAY_TEST_HELPER names,
   which may hang, die or print junk, for at most $ASSAY_TEST_PATIENCE_S seconds. Serves relu.default on contiguous f32. */
#include "assay/backend.h"
#include "helper.h"

#include <cstdio>
#include <cstdlib>

using assay_torch::helper;
using assay_torch::verdict;

struct assay_plan {
    const float *input;
    float *output;
    int64_t n;
};

static assay_status answer(assay_error *error, assay_status code, const std::string &message) {
    if (error != nullptr) {
        error->code = code;
        std::snprintf(error->message, sizeof error->message, "%s", message.c_str());
    }
    return code;
}

static assay_status ask(helper &h, const char *op, assay_error *error) {
    static const assay_status statuses[] = {ASSAY_OK, ASSAY_UNSUPPORTED, ASSAY_INVALID, ASSAY_INVALID};
    const char *patience = std::getenv("ASSAY_TEST_PATIENCE_S");
    std::string said, reason;
    if (!h.is_running() && !h.start(&reason)) {
        return answer(error, ASSAY_INVALID, reason);
    }
    verdict what = h.request(op, patience != nullptr ? std::atof(patience) : 10, &said);
    return what == verdict::ok ? ASSAY_OK : answer(error, statuses[(int)what], said);
}

static assay_status prepare(void *state, const assay_program *program, assay_plan **out, assay_plan_facts *,
                            assay_error *error) {
    assay_status asked = ask(*static_cast<helper *>(state), program->nodes[0].op, error);
    if (asked != ASSAY_OK) {
        return asked;
    }
    const assay_tensor_view &output = program->tensors[program->outputs[0]];
    int64_t n = 1;
    for (int32_t i = 0; i < output.ndim; i++) {
        n *= output.sizes[i];
    }
    const assay_tensor_view &input = program->tensors[program->nodes[0].arguments[0].tensors[0]];
    *out = new assay_plan{static_cast<const float *>(input.data), static_cast<float *>(output.data), n};
    return ASSAY_OK;
}

static assay_status run(assay_plan *plan, assay_error *) {
    for (int64_t i = 0; i < plan->n; i++) {
        plan->output[i] = plan->input[i] <= 0 ? 0 : plan->input[i];
    }
    return ASSAY_OK;
}

static void release(assay_plan *plan) {
    delete plan;
}

static void close_helper(void *state) {
    delete static_cast<helper *>(state);
}

extern "C" __attribute__((visibility("default"))) const assay_backend *assay_backend_entry(uint32_t, assay_error *) {
    static assay_backend table = {};
    const char *program = std::getenv("ASSAY_TEST_HELPER");
    table.abi = ASSAY_BACKEND_ABI;
    table.size_bytes = sizeof table;
    table.name = "asks_helper";
    table.doc = "relu, if its helper agrees";
    table.state = new helper({program != nullptr ? program : "/no/helper"});
    table.prepare = prepare;
    table.run = run;
    table.release = release;
    table.close = close_helper;
    return &table;
}
