/* SPDX-License-Identifier: Apache-2.0 */
/* Operators that PyTorch has dropped, or has for other devices alone, and the ones that do the same work on its CPU. */
#ifndef PLUGINS_TORCH_SUBSTITUTE_H
#define PLUGINS_TORCH_SUBSTITUTE_H

#include "convert.h"

#include <deque>

namespace assay_torch {

/* A call of ATen in the ABI's terms. Lists that a substitute makes itself are kept here: the arguments point to them. */
struct aten_call {
    std::string name;     /* "add" */
    std::string overload; /* "Tensor"; "" for the default one */
    std::vector<assay_argument> arguments;
    const char *note = nullptr; /* what a reader should know of it */
    std::deque<std::vector<int32_t>> index_lists;
};

/* The call of a node: the operator of that name, or what stands in for it. `tensors` (the program's, by index) may get more
   at its end. */
aten_call call_of_node(const assay_node &node, std::vector<at::Tensor> &tensors);

/* Outputs of a node, by index, that its stand-in does not make: undefined ones where there is nothing to add, or no list. */
std::vector<at::Tensor> made_beside(const assay_node &node, const std::vector<at::Tensor> &tensors);

/* Whether the name is one that a substitute serves; the names of what may stand in for it are in *stands_in then. */
bool has_substitute(const std::string &op, const char **stands_in);

/* _cudnn_rnn_backward has no twin on the CPU: the gradient of the forward operator is taken by autograd instead. */
struct rnn_gradient {
    std::vector<at::Tensor> leaves;  /* input, hx, cx (LSTM), weights */
    std::vector<at::Tensor> roots;   /* the forward's outputs that have a gradient */
    std::vector<at::Tensor> grads;   /* of each root */
    std::vector<int32_t> result_of;  /* per output of the node: an index into leaves, -1: left out by the mask */
};

bool is_rnn_backward(const assay_node &node);
/* Runs the forward once, on the inputs' present values. */
rnn_gradient rnn_gradient_of(const assay_node &node, const assay_program &program);
/* One gradient per leaf, undefined where there is none. */
std::vector<at::Tensor> rnn_gradient_run(const rnn_gradient &gradient);

} // namespace assay_torch

#endif
