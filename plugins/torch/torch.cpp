/* SPDX-License-Identifier: Apache-2.0 */
/* The backend `torch`: PyTorch's own eager operators, called through ATen's boxed dispatcher. No Python, no autograd. */
#include "convert.h"
#include "precision.h"
#include "substitute.h"

#include <ATen/Parallel.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <c10/core/InferenceMode.h>
#include <torch/version.h>

#include <algorithm>
#include <malloc.h>
#include <memory>

namespace assay_torch {

/* --- plans -------------------------------------------------------------------------------------------------------------------- */

/* An argument that an earlier step makes. */
struct patch {
    size_t argument;
    int32_t item; /* of a list; -1: the argument itself */
    int32_t tensor;
};

/* One call, ready: arguments are converted but for what earlier steps make. */
struct step {
    c10::OperatorHandle op;
    std::vector<c10::IValue> arguments;
    std::vector<patch> patches;
    std::vector<int32_t> outputs; /* the program's tensors that it makes */
    std::vector<int32_t> dead;    /* tensors made inside that nothing behind it needs: their memory is used again */
};

/* What an input looks like that an operator changes the sizes and strides of in place (unsqueeze_): put back before every run. */
struct form {
    at::Tensor tensor;
    std::vector<int64_t> sizes, strides;
    int64_t offset;
};

/* An output as it was last shown to assay. */
struct shown {
    at::Tensor tensor, indices, values;
    assay_tensor_view parts[2];
};

struct plan {
    std::vector<at::Tensor> tensors; /* the program's, by index; those made by steps are filled in as they are made */
    std::vector<aten_call> calls;    /* what the arguments were made of */
    std::vector<step> steps;
    std::vector<form> forms;
    std::unique_ptr<rnn_gradient> gradient;
    std::vector<at::Tensor> gradients;
    std::vector<int32_t> made;       /* every tensor that steps make */
    std::vector<int32_t> results;    /* the program's outputs, of several operators */
    std::vector<size_t> answered;    /* of a single one: which of its outputs they are */
    torch::jit::Stack stack;
    std::vector<shown> outputs;
    std::vector<assay_tensor_view> expected; /* the program's outputs, borrowed */
    std::vector<at::Tensor> beside;          /* outputs that the stand-in for an operator does not make */
    bool ran = false;
};

static void flatten(const c10::IValue &value, std::vector<at::Tensor> &out) {
    if (value.isTensor()) {
        out.push_back(value.toTensor());
    } else if (value.isTensorList()) {
        for (const at::Tensor &item : value.toTensorVector()) {
            out.push_back(item);
        }
    } else if (value.isScalar()) {
        out.push_back(at::scalar_tensor(value.toScalar()));
    } else {
        out.emplace_back();
    }
}

/* Puts what earlier steps made into the arguments on the stack. Lists are shared with the step: theirs are taken out again
   after the call (`made` false), or they would keep memory that is to be used again. */
static void apply_patches(plan &p, step &s, bool made) {
    for (const patch &change : s.patches) {
        const at::Tensor value = made ? p.tensors[(size_t)change.tensor] : at::Tensor();
        c10::IValue &argument = s.arguments[change.argument];
        if (change.item < 0) {
            if (made) {
                p.stack[change.argument] = value;
            }
        } else if (argument.isTensorList()) {
            argument.toTensorList().set((size_t)change.item, value);
        } else {
            argument.toOptionalTensorList().set((size_t)change.item, value);
        }
    }
}

static void run_steps(plan &p) {
    c10::InferenceMode no_autograd;
    p.stack.clear(); /* gives the last run's outputs back first, so that their memory is used again */
    for (int32_t index : p.made) {
        p.tensors[(size_t)index] = at::Tensor();
    }
    for (const form &f : p.forms) {
        f.tensor.unsafeGetTensorImpl()->set_sizes_and_strides(f.sizes, f.strides, f.offset);
    }
    for (step &s : p.steps) {
        p.stack.clear();
        p.stack.insert(p.stack.end(), s.arguments.begin(), s.arguments.end());
        apply_patches(p, s, true);
        s.op.callBoxed(&p.stack);
        apply_patches(p, s, false);
        if (p.steps.size() == 1) {
            break; /* its results stay on the stack */
        }
        std::vector<at::Tensor> made;
        for (const c10::IValue &value : p.stack) {
            flatten(value, made);
        }
        for (size_t k = 0; k < s.outputs.size() && k < made.size(); k++) {
            p.tensors[(size_t)s.outputs[k]] = made[k];
        }
        for (int32_t index : s.dead) {
            p.tensors[(size_t)index] = at::Tensor();
        }
    }
}

static assay_status run(assay_plan *opaque, assay_error *error) {
    plan &p = *reinterpret_cast<plan *>(opaque);
    return guarded(error, [&] {
        if (p.gradient != nullptr) {
            p.gradients.clear();
            p.gradients = rnn_gradient_run(*p.gradient);
        } else {
            run_steps(p);
        }
        p.ran = true;
    });
}

/* --- outputs ------------------------------------------------------------------------------------------------------------------- */

/* All that a single operator answers; of several what the program does. */
static std::vector<at::Tensor> results(const plan &p) {
    std::vector<at::Tensor> made;
    if (p.gradient != nullptr) {
        for (int32_t leaf : p.gradient->result_of) {
            made.push_back(leaf >= 0 ? p.gradients.at((size_t)leaf) : at::Tensor());
        }
        return made;
    }
    for (int32_t index : p.results) {
        made.push_back(p.tensors[(size_t)index]);
    }
    for (size_t i = 0; p.steps.size() == 1 && i < p.stack.size(); i++) {
        flatten(p.stack[i], made);
    }
    return made;
}

/* Where the program's output i is among them. */
static size_t place_of(const plan &p, size_t i) {
    return p.answered.empty() ? i : p.answered.at(i);
}

/* What the operator leaves out (a masked gradient) has no elements in assay's terms; its other absences are zeros. */
static at::Tensor in_place_of_nothing(const plan &p, size_t i) {
    size_t place = place_of(p, i);
    if (place < p.beside.size() && p.beside[place].defined()) {
        return p.beside[place];
    }
    assay_tensor_view v = p.expected[i];
    v.data = nullptr;
    return tensor_of_view(v).zero_();
}

static void describe(plan &p, size_t i, assay_tensor_view *out) {
    std::vector<at::Tensor> made = results(p);
    shown &s = p.outputs.at(i);
    size_t place = place_of(p, i);
    s.tensor = place < made.size() && made[place].defined() ? made[place] : in_place_of_nothing(p, i);
    if (s.tensor.layout() == at::kStrided) {
        s.tensor = s.tensor.resolve_conj().resolve_neg();
        *out = view_of_tensor(s.tensor);
        return;
    }
    TORCH_CHECK_NOT_IMPLEMENTED(s.tensor.layout() == at::kSparse, "output ", i, " has layout ", s.tensor.layout());
    s.indices = s.tensor._indices();
    s.values = s.tensor._values();
    s.parts[0] = view_of_tensor(s.indices);
    s.parts[1] = view_of_tensor(s.values);
    assay_tensor_view view = {};
    view.sizes = s.tensor.sizes().data();
    view.ndim = (int32_t)s.tensor.dim();
    view.dtype = s.parts[1].dtype;
    view.layout = ASSAY_SPARSE_COO;
    view.is_coalesced = s.tensor.is_coalesced();
    view.indices = &s.parts[0];
    view.values = &s.parts[1];
    *out = view;
}

static assay_status output(assay_plan *opaque, int32_t i, assay_tensor_view *out, assay_error *error) {
    plan &p = *reinterpret_cast<plan *>(opaque);
    if (!p.ran) {
        return fail(error, ASSAY_NOT_FOUND, "PyTorch makes its outputs as it runs; there are none yet");
    }
    return guarded(error, [&] {
        c10::InferenceMode no_autograd(p.gradient == nullptr);
        describe(p, (size_t)i, out);
    });
}

/* --- preparation ---------------------------------------------------------------------------------------------------------------- */

static void find_patches(const std::vector<bool> &is_made, const aten_call &call, step &s) {
    for (size_t i = 0; i < call.arguments.size(); i++) {
        const assay_argument &a = call.arguments[i];
        bool single = a.kind == ASSAY_ARG_TENSOR;
        for (int32_t k = 0; (single || a.kind == ASSAY_ARG_TENSORS) && k < a.n; k++) {
            int32_t index = a.tensors[k];
            if (index >= 0 && (size_t)index < is_made.size() && is_made[(size_t)index]) {
                s.patches.push_back({i, single ? -1 : k, index});
            }
        }
    }
}

static c10::OperatorHandle find_operator(const aten_call &call) {
    std::string name = "aten::" + call.name;
    auto found = c10::Dispatcher::singleton().findSchema({name, call.overload});
    TORCH_CHECK_NOT_IMPLEMENTED(found.has_value(), "PyTorch ", TORCH_VERSION, " has no operator ", name,
                                call.overload.empty() ? "" : ".", call.overload);
    return *found;
}

static void add_step(plan &p, const assay_node &node, const std::vector<bool> &is_made) {
    p.calls.push_back(call_of_node(node, p.tensors));
    const aten_call &call = p.calls.back();
    step s = {find_operator(call), {}, {}, {node.outputs, node.outputs + node.n_outputs}};
    const std::vector<c10::Argument> &parameters = s.op.schema().arguments();
    TORCH_CHECK_NOT_IMPLEMENTED(call.arguments.size() <= parameters.size(), "PyTorch ", TORCH_VERSION, "'s ", call.name,
                                " takes ", parameters.size(), " arguments, not ", call.arguments.size());
    for (size_t i = 0; i < parameters.size(); i++) {
        bool given = i < call.arguments.size();
        TORCH_CHECK(given || parameters[i].default_value().has_value(), "no value for ", parameters[i].name());
        s.arguments.push_back(given ? value_of_argument(call.arguments[i], parameters[i], p.tensors)
                                    : *parameters[i].default_value());
    }
    find_patches(is_made, call, s);
    p.steps.push_back(std::move(s));
    if (node.is_view && node.is_in_place && !is_made.at((size_t)node.arguments[0].tensors[0])) {
        const at::Tensor &t = p.tensors.at((size_t)node.arguments[0].tensors[0]);
        p.forms.push_back({t, t.sizes().vec(), t.strides().vec(), t.storage_offset()});
    }
}

static std::vector<bool> made_tensors(const assay_program &program) {
    std::vector<bool> made((size_t)program.n_tensors, false);
    for (int32_t n = 0; n < program.n_nodes; n++) {
        for (int32_t k = 0; k < program.nodes[n].n_outputs; k++) {
            made.at((size_t)program.nodes[n].outputs[k]) = true;
        }
    }
    return made;
}

/* Who reads a tensor last gives it back; what nobody reads goes at once. */
static void find_dead(plan &p, const std::vector<bool> &is_made) {
    std::vector<bool> seen(is_made.size(), false);
    for (int32_t index : p.results) {
        seen[(size_t)index] = true;
    }
    for (size_t i = p.steps.size(); i-- > 0;) {
        step &s = p.steps[i];
        std::vector<int32_t> touched = s.outputs;
        for (const patch &change : s.patches) {
            touched.push_back(change.tensor);
        }
        for (int32_t index : touched) {
            if (!seen[(size_t)index]) {
                seen[(size_t)index] = true;
                s.dead.push_back(index);
            }
        }
    }
}

static bool is_used(const assay_program &program, int32_t index) {
    bool used = std::count(program.outputs, program.outputs + program.n_outputs, index) > 0;
    for (int32_t n = 0; n < program.n_nodes && !used; n++) {
        for (int32_t i = 0; i < program.nodes[n].n_arguments; i++) {
            const assay_argument &a = program.nodes[n].arguments[i];
            bool is_tensor = a.kind == ASSAY_ARG_TENSOR || a.kind == ASSAY_ARG_TENSORS;
            used |= is_tensor && std::count(a.tensors, a.tensors + a.n, index) > 0;
        }
    }
    return used;
}

/* What PyTorch's operator does not answer is made for one that stands alone (made_beside). */
static void check_answers(const assay_program &program, const assay_node &node, size_t n_answers) {
    for (int32_t k = (int32_t)n_answers; k < node.n_outputs; k++) {
        TORCH_CHECK_NOT_IMPLEMENTED(!is_used(program, node.outputs[k]), "output ", k, " of ", node.op, " is answered alone, not in a graph");
    }
}

static void fill_plan(plan &p, const assay_program &program, assay_plan_facts *facts) {
    if (program.n_nodes == 1 && program.n_outputs > 0) {
        facts->precision = (uint8_t)precision_of(program.nodes[0].op, program.tensors[program.outputs[0]]);
    }
    for (int32_t i = 0; i < program.n_outputs; i++) {
        p.expected.push_back(program.tensors[program.outputs[i]]);
    }
    p.outputs.resize((size_t)program.n_outputs);
    for (int32_t i = 0; program.n_nodes == 1 && i < program.n_outputs; i++) {
        const int32_t *first = program.nodes[0].outputs, *last = first + program.nodes[0].n_outputs;
        p.answered.push_back((size_t)(std::find(first, last, program.outputs[i]) - first));
    }
    if (program.n_nodes == 1 && is_rnn_backward(program.nodes[0])) {
        p.gradient = std::make_unique<rnn_gradient>(rnn_gradient_of(program.nodes[0], program));
        facts->note = "autograd's gradient of lstm, gru or rnn, whose forward ran in prepare";
        return;
    }
    c10::InferenceMode no_autograd;
    std::vector<bool> is_made = made_tensors(program);
    for (int32_t i = 0; i < program.n_tensors; i++) {
        p.tensors.push_back(is_made[(size_t)i] ? at::Tensor() : tensor_of_view(program.tensors[i]));
    }
    for (int32_t n = 0; n < program.n_nodes; n++) {
        TORCH_CHECK_NOT_IMPLEMENTED(!is_rnn_backward(program.nodes[n]), "a gradient of cuDNN's operator runs alone");
        add_step(p, program.nodes[n], is_made);
        if (program.n_nodes > 1) {
            const std::vector<c10::Argument> &answers = p.steps.back().op.schema().returns();
            const bool is_list = answers.size() == 1 && answers[0].type()->kind() == c10::TypeKind::ListType;
            check_answers(program, program.nodes[n], is_list ? (size_t)program.nodes[n].n_outputs : answers.size());
        }
        facts->note = p.calls.back().note != nullptr ? p.calls.back().note : facts->note;
    }
    if (program.n_nodes == 1) {
        p.beside = made_beside(program.nodes[0], p.tensors);
    } else {
        p.results.assign(program.outputs, program.outputs + program.n_outputs);
        for (int32_t i = 0; i < program.n_tensors; i++) {
            if (is_made[(size_t)i]) {
                p.made.push_back(i);
            }
        }
        find_dead(p, is_made);
    }
    at::manual_seed(program.nodes[0].seed);
}

static assay_status prepare(void *, const assay_program *program, assay_plan **out, assay_plan_facts *facts,
                            assay_error *error) {
    auto made = std::make_unique<plan>();
    assay_status result = guarded(error, [&] { fill_plan(*made, *program, facts); });
    if (result == ASSAY_OK) {
        *out = reinterpret_cast<assay_plan *>(made.release());
    }
    return result;
}

static void release(assay_plan *opaque) {
    delete reinterpret_cast<plan *>(opaque);
    malloc_trim(0); /* the heap was kept for this plan's sake (see `configure`); the next may want it elsewhere */
}

/* --- the table ------------------------------------------------------------------------------------------------------------------ */

static assay_status configure(void *, int32_t n_threads, assay_error *error) {
    keep_freed_memory();
    return guarded(error, [&] { at::set_num_threads(n_threads); });
}

static assay_status covers(void *, const char *op, assay_error *error) {
    const char *stands_in;
    if (has_substitute(op, &stands_in)) {
        return ASSAY_OK;
    }
    return guarded(error, [&] {
        std::vector<at::Tensor> no_tensors;
        assay_node node = {};
        node.op = op;
        c10::OperatorHandle found = find_operator(call_of_node(node, no_tensors));
        TORCH_CHECK_NOT_IMPLEMENTED(found.hasComputedKernelForDispatchKey(c10::DispatchKey::CPU), "PyTorch ", TORCH_VERSION,
                                    " has no ", op, " for the CPU");
    });
}

static const assay_backend table = {
    ASSAY_BACKEND_ABI,
    sizeof(assay_backend),
    "torch",
    "PyTorch " TORCH_VERSION ", eager: ATen's own operators, called without Python",
    nullptr,
    configure,
    covers,
    prepare,
    run,
    release,
    output,
    nullptr,
    nullptr,
};

} // namespace assay_torch

extern "C" __attribute__((visibility("default"))) const assay_backend *assay_backend_entry(uint32_t abi, assay_error *error) {
    if (abi != ASSAY_BACKEND_ABI) {
        assay_torch::fail(error, ASSAY_UNSUPPORTED, "this plug-in speaks version " + std::to_string(ASSAY_BACKEND_ABI) +
                                                        " of assay's plug-in ABI, not " + std::to_string(abi));
        return nullptr;
    }
    return &assay_torch::table;
}
