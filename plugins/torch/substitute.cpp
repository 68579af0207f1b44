/* SPDX-License-Identifier: Apache-2.0 */
/* Operators under other names. Each works on the ABI's arguments, so that conversion happens in one place. */
#include "substitute.h"

#include <ATen/core/dispatch/Dispatcher.h>
#include <torch/csrc/autograd/autograd.h>

#include <cstring>

namespace assay_torch {

/* --- arguments made here ---------------------------------------------------------------------------------------------------- */

static assay_argument none() {
    assay_argument made = {};
    made.kind = ASSAY_ARG_NONE;
    return made;
}

static assay_argument number(double value) {
    assay_argument made = {};
    made.kind = ASSAY_ARG_FLOAT;
    made.f = value;
    return made;
}

static assay_argument truth(bool value) {
    assay_argument made = {};
    made.kind = ASSAY_ARG_BOOL;
    made.i = value ? 1 : 0;
    return made;
}

static assay_argument tensor_list(aten_call &call, std::vector<int32_t> indices) {
    call.index_lists.push_back(std::move(indices));
    assay_argument made = {};
    made.kind = ASSAY_ARG_TENSORS;
    made.n = (int32_t)call.index_lists.back().size();
    made.tensors = call.index_lists.back().data();
    return made;
}

/* --- backwards without their own operator ----------------------------------------------------------------------------------- */

/* Folding and unfolding are each other's gradient; the arguments are the same. */
static void to_col2im(const assay_node &node, aten_call &call, std::vector<at::Tensor> &) {
    call.name = "col2im";
    call.arguments.assign(node.arguments, node.arguments + node.n_arguments);
    call.note = "runs as col2im";
}

static void to_im2col(const assay_node &node, aten_call &call, std::vector<at::Tensor> &) {
    call.name = "im2col";
    call.arguments.assign(node.arguments, node.arguments + node.n_arguments);
    call.note = "runs as im2col";
}

/* X.vec(grad, output_size?, input_size, ..., scale_factors?) is X(grad, output_size, input_size, ..., scale_h?, scale_w?). */
static void to_sizes_and_scales(const assay_node &node, aten_call &call, std::vector<at::Tensor> &tensors) {
    std::string op = node.op;
    call.name = op.substr(0, op.find('.'));
    call.note = "runs the overload without .vec";
    call.arguments.assign(node.arguments, node.arguments + node.n_arguments - 1);
    const assay_argument &scales = node.arguments[node.n_arguments - 1];
    bool given = scales.kind == ASSAY_ARG_FLOATS && scales.n == 2;
    call.arguments.push_back(given ? number(scales.floats[0]) : none());
    call.arguments.push_back(given ? number(scales.floats[1]) : none());
    if (call.arguments[1].kind == ASSAY_ARG_NONE) { /* the gradient has the size that the forward gave */
        at::Tensor grad = tensors.at((size_t)node.arguments[0].tensors[0]);
        assay_argument &size = call.arguments[1];
        size.kind = ASSAY_ARG_INTS;
        size.n = 2;
        size.ints = grad.sizes().data() + 2; /* as long as the plan's tensor lives */
    }
}

/* --- recurrent networks ------------------------------------------------------------------------------------------------------ */

/* Where cuDNN's two operators have their arguments. */
struct rnn_places {
    int input, weight, stride, weight_buf, hx, cx, mode, n_layers, batch_first, dropout, train, bidirectional, batch_sizes;
};

static const rnn_places forward_places = {0, 1, 2, 3, 4, 5, 6, 9, 10, 11, 12, 13, 14};
static const rnn_places backward_places = {0, 1, 2, 3, 4, 5, 10, 13, 14, 15, 16, 17, 18};
enum { GRAD_OUTPUT = 7, GRAD_HY, GRAD_CY, OUTPUT_MASK = 21 };
enum { MODE_LSTM = 2 };

static const char *const rnn_names[] = {"rnn_relu", "rnn_tanh", "lstm", "gru"};

static void to_rnn_at(const assay_node &node, const rnn_places &at_, aten_call &call, std::vector<at::Tensor> &tensors) {
    const assay_argument *a = node.arguments;
    int64_t mode = a[at_.mode].i;
    TORCH_CHECK(mode >= 0 && mode < 4, "expected a mode from 0 to 3, got ", mode);
    TORCH_CHECK_NOT_IMPLEMENTED(a[at_.dropout].f == 0 || a[at_.train].i == 0, "aten::", rnn_names[mode],
                                " draws other numbers for its dropout than cuDNN's operator, so that there is nothing to compare");
    bool packed = a[at_.batch_sizes].n > 0;
    call.name = rnn_names[mode];
    call.overload = packed ? "data" : "input";
    call.note = mode == MODE_LSTM ? "runs as lstm" : mode == 3 ? "runs as gru" : "runs as rnn";
    call.arguments.push_back(a[at_.input]);
    if (packed) {
        const assay_argument &sizes = a[at_.batch_sizes];
        tensors.push_back(at::tensor(at::IntArrayRef(sizes.ints, (size_t)sizes.n), at::kLong));
        call.index_lists.push_back({(int32_t)tensors.size() - 1});
        assay_argument made = {};
        made.kind = ASSAY_ARG_TENSOR;
        made.n = 1;
        made.tensors = call.index_lists.back().data();
        call.arguments.push_back(made);
    }
    call.arguments.push_back(mode == MODE_LSTM ? tensor_list(call, {a[at_.hx].tensors[0], a[at_.cx].tensors[0]}) : a[at_.hx]);
    call.arguments.push_back(a[at_.weight]);
    call.arguments.push_back(truth(a[at_.stride].i >= 4)); /* two weights a layer, two biases, a projection */
    call.arguments.push_back(a[at_.n_layers]);
    call.arguments.push_back(a[at_.dropout]);
    call.arguments.push_back(a[at_.train]);
    call.arguments.push_back(a[at_.bidirectional]);
    if (!packed) {
        call.arguments.push_back(a[at_.batch_first]);
    }
}

static void to_rnn(const assay_node &node, aten_call &call, std::vector<at::Tensor> &tensors) {
    to_rnn_at(node, forward_places, call, tensors);
}

/* --- the table ---------------------------------------------------------------------------------------------------------------- */

struct substitute {
    const char *op;
    const char *stands_in; /* names of ATen's operators, without overload */
    void (*make)(const assay_node &node, aten_call &call, std::vector<at::Tensor> &tensors);
};

static const substitute substitutes[] = {
    {"im2col_backward.default", "col2im", to_col2im},
    {"col2im_backward.default", "im2col", to_im2col},
    {"upsample_nearest2d_backward.vec", "upsample_nearest2d_backward", to_sizes_and_scales},
    {"upsample_bilinear2d_backward.vec", "upsample_bilinear2d_backward", to_sizes_and_scales},
    {"upsample_bicubic2d_backward.vec", "upsample_bicubic2d_backward", to_sizes_and_scales},
    {"_cudnn_rnn.default", "lstm, gru, rnn_tanh, rnn_relu", to_rnn},
    {"_cudnn_rnn_backward.default", "the gradients of lstm, gru, rnn_tanh, rnn_relu", nullptr},
};

static const substitute *find_substitute(const std::string &op) {
    for (const substitute &s : substitutes) {
        if (op == s.op) {
            return &s;
        }
    }
    return nullptr;
}

bool has_substitute(const std::string &op, const char **stands_in) {
    const substitute *found = find_substitute(op);
    if (found != nullptr) {
        *stands_in = found->stands_in;
    }
    return found != nullptr;
}

aten_call call_of_node(const assay_node &node, std::vector<at::Tensor> &tensors) {
    aten_call call;
    std::string op = node.op;
    const substitute *other = find_substitute(op);
    if (other != nullptr && other->make != nullptr) {
        other->make(node, call, tensors);
        return call;
    }
    size_t dot = op.rfind('.');
    call.name = op.substr(0, dot);
    call.overload = dot == std::string::npos || op.substr(dot + 1) == "default" ? "" : op.substr(dot + 1);
    call.arguments.assign(node.arguments, node.arguments + node.n_arguments);
    return call;
}

/* cuDNN's operator also answers a buffer for its backward, which has no bytes here, and all weights in one piece: the buffer
   that was given, or a copy. */
std::vector<at::Tensor> made_beside(const assay_node &node, const std::vector<at::Tensor> &tensors) {
    enum { WEIGHT_BUFFER = 4 };
    if (std::strcmp(node.op, "_cudnn_rnn.default") != 0) {
        return {};
    }
    const assay_argument &weights = node.arguments[forward_places.weight], &buffer = node.arguments[forward_places.weight_buf];
    std::vector<at::Tensor> beside(WEIGHT_BUFFER + 1);
    if (buffer.kind == ASSAY_ARG_TENSOR) {
        beside[WEIGHT_BUFFER] = tensors.at((size_t)buffer.tensors[0]);
        return beside;
    }
    std::vector<at::Tensor> flat;
    for (int32_t k = 0; k < weights.n; k++) {
        flat.push_back(tensors.at((size_t)weights.tensors[k]).reshape({-1}));
    }
    beside[WEIGHT_BUFFER] = at::cat(flat);
    return beside;
}

/* --- the gradient of a recurrent network -------------------------------------------------------------------------------------- */

bool is_rnn_backward(const assay_node &node) {
    return std::strcmp(node.op, "_cudnn_rnn_backward.default") == 0;
}

static at::Tensor leaf_of(const assay_program &program, int32_t index, bool wanted) {
    return tensor_of_view(program.tensors[index]).set_requires_grad(wanted);
}

static std::vector<at::Tensor> forward_of(const assay_node &node, std::vector<at::Tensor> &tensors) {
    aten_call call;
    to_rnn_at(node, backward_places, call, tensors);
    std::string full = "aten::" + call.name;
    c10::OperatorHandle op = c10::Dispatcher::singleton().findSchemaOrThrow(full.c_str(), call.overload.c_str());
    torch::jit::Stack stack;
    for (size_t i = 0; i < call.arguments.size(); i++) {
        stack.push_back(value_of_argument(call.arguments[i], op.schema().arguments()[i], tensors));
    }
    op.callBoxed(&stack);
    std::vector<at::Tensor> outputs;
    for (const c10::IValue &value : stack) {
        outputs.push_back(value.toTensor());
    }
    return outputs;
}

rnn_gradient rnn_gradient_of(const assay_node &node, const assay_program &program) {
    const assay_argument *a = node.arguments;
    const rnn_places &places = backward_places;
    const bool *mask = a[OUTPUT_MASK].bools;
    bool lstm = a[places.mode].i == MODE_LSTM;
    rnn_gradient made;
    std::vector<at::Tensor> tensors((size_t)program.n_tensors);
    auto add = [&](int32_t index, bool wanted) {
        tensors.at((size_t)index) = leaf_of(program, index, wanted);
        made.leaves.push_back(tensors[(size_t)index]);
    };
    add(a[places.input].tensors[0], true);
    add(a[places.hx].tensors[0], true);
    if (lstm) {
        add(a[places.cx].tensors[0], true);
    }
    for (int32_t k = 0; k < a[places.weight].n; k++) {
        add(a[places.weight].tensors[k], true);
    }
    std::vector<at::Tensor> outputs = forward_of(node, tensors);
    for (size_t k = 0; k < outputs.size(); k++) {
        const assay_argument &grad = a[GRAD_OUTPUT + k];
        if (grad.kind == ASSAY_ARG_TENSOR) {
            made.roots.push_back(outputs[k]);
            made.grads.push_back(tensor_of_view(program.tensors[grad.tensors[0]]));
        }
    }
    made.result_of = {mask[0] ? 0 : -1, mask[1] ? 1 : -1, mask[2] && lstm ? 2 : -1};
    for (int32_t k = 0; mask[3] && k < a[places.weight].n; k++) {
        made.result_of.push_back((lstm ? 3 : 2) + k);
    }
    return made;
}

std::vector<at::Tensor> rnn_gradient_run(const rnn_gradient &gradient) {
    return torch::autograd::grad(gradient.roots, gradient.leaves, gradient.grads, true, false, true);
}

} // namespace assay_torch
