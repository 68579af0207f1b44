/* SPDX-License-Identifier: Apache-2.0 */
/* The backend `inductor`: each call, or each graph of calls as one, is compiled by AOTInductor in a helper process (aot.py), loaded from its package and run
   without Python. Packages are kept beside this library, by what they were made of. */
#include "circumstances.h"
#include "convert.h"
#include "helper.h"
#include "precision.h"
#include "substitute.h"

#include <ATen/Parallel.h>
#include <c10/core/InferenceMode.h>
#include <torch/csrc/inductor/aoti_package/model_package_loader.h>
#include <torch/version.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <fstream>
#include <memory>

#include <dlfcn.h>
#include <malloc.h>
#include <unistd.h>

namespace assay_torch {

/* Importing PyTorch takes seconds on a machine at rest; an operator with autotuning may take minutes. assay's own limit
   (--sample-timeout) is shorter and ends the process; these are for hosts without one. */
static const double START_TIMEOUT_S = 300, COMPILE_TIMEOUT_S = 1800;

struct inductor {
    assay_backend table;
    std::string options;
    int32_t n_threads = 1;
    std::string directory; /* of this library */
    std::unique_ptr<helper> compiler;
};

/* --- requests, as JSON --------------------------------------------------------------------------------------------------------- */

static void add_quoted(std::string &out, const char *text) {
    out += '"';
    for (const char *at = text; *at != '\0'; at++) {
        char escaped[8];
        unsigned char c = (unsigned char)*at;
        if (c == '"' || c == '\\') {
            out += '\\';
            out += *at;
        } else if (c < 0x20) {
            std::snprintf(escaped, sizeof escaped, "\\u%04x", c);
            out += escaped;
        } else {
            out += *at;
        }
    }
    out += '"';
}

static void add_double(std::string &out, double value) {
    char digits[40]; /* with a point, whatever the locale */
    *std::to_chars(digits, digits + sizeof digits - 1, value, std::chars_format::general, 17).ptr = '\0';
    bool whole = std::isfinite(value) && std::string(digits).find_first_of(".e") == std::string::npos;
    out += std::isnan(value) ? "NaN" : std::isinf(value) ? (value < 0 ? "-Infinity" : "Infinity") : digits;
    out += whole ? ".0" : ""; /* or it would be read as an integer */
}

template <typename Item, typename Add> static void add_list(std::string &out, const Item *items, int32_t n, const Add &add) {
    out += '[';
    for (int32_t k = 0; k < n; k++) {
        out += k > 0 ? "," : "";
        add(items[k]);
    }
    out += ']';
}

static void add_ints(std::string &out, const int64_t *items, int32_t n) {
    add_list(out, items, n, [&](int64_t i) { out += std::to_string(i); });
}

static const char *torch_name(int64_t dtype) {
    static const char *const names[] = {
#define NAME_OF(name, short_name, torch_name, size, category) torch_name,
        ASSAY_DTYPE_LIST(NAME_OF)
#undef NAME_OF
    };
    TORCH_CHECK_NOT_IMPLEMENTED(dtype >= 0 && dtype < ASSAY_DTYPE_COUNT, "this plug-in knows no element type ", dtype);
    return names[dtype];
}

static void add_number(std::string &out, const assay_argument &a) {
    if (a.number_category == ASSAY_NUMBER_COMPLEX) {
        out += "{\"complex\":[";
        add_double(out, a.f);
        out += ',';
        add_double(out, a.imaginary);
        out += "]}";
        return;
    }
    out += "{\"value\":";
    if (a.number_category == ASSAY_NUMBER_FLOAT) {
        add_double(out, a.f);
    } else {
        out += a.number_category == ASSAY_NUMBER_BOOL ? (a.i != 0 ? "true" : "false") : std::to_string(a.i);
    }
    out += '}';
}

/* The tensors that the compiled program takes, in the order of its inputs; and which call makes the others. */
struct inputs {
    std::vector<int32_t> of_program;
    struct maker {
        int32_t node = -1, output = 0;
    };
    std::vector<maker> makers; /* by index in the program */
    const maker *maker_of(int32_t index) const {
        bool made = (size_t)index < makers.size() && makers[(size_t)index].node >= 0;
        return made ? &makers[(size_t)index] : nullptr;
    }
    int32_t place_of(int32_t index) {
        for (size_t i = 0; i < of_program.size(); i++) {
            if (of_program[i] == index) {
                return (int32_t)i;
            }
        }
        of_program.push_back(index);
        return (int32_t)of_program.size() - 1;
    }
};

static void add_word(std::string &out, const char *kind, const char *text) {
    out += std::string("{\"") + kind + "\":";
    add_quoted(out, text);
    out += '}';
}

static void add_values(std::string &out, const assay_argument &a) {
    out += "{\"value\":";
    switch (a.kind) {
    case ASSAY_ARG_INT:
        out += std::to_string(a.i);
        break;
    case ASSAY_ARG_FLOAT:
        add_double(out, a.f);
        break;
    case ASSAY_ARG_BOOL:
        out += a.i != 0 ? "true" : "false";
        break;
    case ASSAY_ARG_STR:
        add_quoted(out, a.str);
        break;
    case ASSAY_ARG_INTS:
        add_ints(out, a.ints, a.n);
        break;
    case ASSAY_ARG_FLOATS:
        add_list(out, a.floats, a.n, [&](double f) { add_double(out, f); });
        break;
    default:
        add_list(out, a.bools, a.n, [&](bool b) { out += b ? "true" : "false"; });
        break;
    }
    out += '}';
}

/* A Python number in place of a tensor is a constant of the program, as it is for Python's users. */
static void add_place(std::string &out, int32_t index, inputs &in) {
    const inputs::maker *maker = in.maker_of(index);
    out += maker == nullptr ? std::to_string(in.place_of(index))
                            : "[" + std::to_string(maker->node) + "," + std::to_string(maker->output) + "]";
}

static void add_tensor(std::string &out, int32_t index, const std::vector<at::Tensor> &tensors, inputs &in) {
    if (in.maker_of(index) != nullptr) {
        out += "{\"tensor\":";
        add_place(out, index, in);
        out += '}';
        return;
    }
    const at::Tensor &t = tensors.at((size_t)index);
    if (!t.unsafeGetTensorImpl()->is_wrapped_number()) {
        out += "{\"tensor\":" + std::to_string(in.place_of(index)) + "}";
        return;
    }
    at::Scalar value = t.item();
    assay_argument a = {};
    a.number_category = value.isComplex()         ? ASSAY_NUMBER_COMPLEX
                        : value.isFloatingPoint() ? ASSAY_NUMBER_FLOAT
                        : value.isBoolean()       ? ASSAY_NUMBER_BOOL
                                                  : ASSAY_NUMBER_INT;
    a.i = value.isIntegral(true) ? value.toLong() : 0;
    a.f = value.isComplex() ? value.toComplexDouble().real() : value.toDouble();
    a.imaginary = value.isComplex() ? value.toComplexDouble().imag() : 0;
    add_number(out, a);
}

static void add_argument(std::string &out, const assay_argument &a, const std::vector<at::Tensor> &tensors, inputs &in) {
    switch (a.kind) {
    case ASSAY_ARG_NONE:
    case ASSAY_ARG_GENERATOR:
        out += "null";
        break;
    case ASSAY_ARG_TENSOR:
        add_tensor(out, a.tensors[0], tensors, in);
        break;
    case ASSAY_ARG_TENSORS:
        out += "{\"tensors\":";
        add_list(out, a.tensors, a.n, [&](int32_t index) {
            if (index < 0) {
                out += "null";
            } else {
                add_place(out, index, in);
            }
        });
        out += '}';
        break;
    case ASSAY_ARG_NUMBER:
        add_number(out, a);
        break;
    case ASSAY_ARG_DTYPE:
        add_word(out, "dtype", torch_name(a.i));
        break;
    case ASSAY_ARG_LAYOUT:
        add_word(out, "layout", a.str);
        break;
    case ASSAY_ARG_DEVICE:
        add_word(out, "device", "cpu");
        break;
    case ASSAY_ARG_MEMORY_FORMAT:
        add_word(out, "memory_format", a.str);
        break;
    default:
        add_values(out, a);
        break;
    }
}

static void add_call(std::string &out, const aten_call &call, const std::vector<at::Tensor> &tensors, inputs &in) {
    out += "{\"op\":";
    add_quoted(out, call.name.c_str());
    out += ",\"overload\":";
    add_quoted(out, call.overload.c_str());
    out += ",\"arguments\":[";
    for (size_t i = 0; i < call.arguments.size(); i++) {
        out += i > 0 ? "," : "";
        add_argument(out, call.arguments[i], tensors, in);
    }
    out += "]}";
}

/* Whether the program is one call and answers all that it does. */
static bool answers_all(const assay_program &program) {
    const assay_node &first = program.nodes[0];
    return program.n_nodes == 1 && program.n_outputs == first.n_outputs &&
           std::equal(program.outputs, program.outputs + program.n_outputs, first.outputs);
}

static std::string request_of(const std::vector<aten_call> &calls, const assay_program &program,
                              const std::vector<at::Tensor> &tensors, inputs &in) {
    std::string out = "{\"calls\":[";
    for (size_t n = 0; n < calls.size(); n++) {
        out += n > 0 ? "," : "";
        add_call(out, calls[n], tensors, in);
    }
    out += "],\"outputs\":";
    if (answers_all(program)) {
        out += "null"; /* whatever the one call answers, which may be no tensor where none is asked for */
    } else {
        add_list(out, program.outputs, program.n_outputs, [&](int32_t index) { add_place(out, index, in); });
    }
    out += ",\"tensors\":[";
    for (size_t i = 0; i < in.of_program.size(); i++) {
        TORCH_CHECK_NOT_IMPLEMENTED(in.of_program[i] < program.n_tensors, "packed sequences are not compiled");
        const assay_tensor_view &v = program.tensors[in.of_program[i]];
        TORCH_CHECK_NOT_IMPLEMENTED(v.layout == ASSAY_STRIDED, "AOTInductor takes no sparse tensors");
        out += i > 0 ? ",{\"dtype\":" : "{\"dtype\":";
        add_quoted(out, torch_name(v.dtype));
        out += ",\"sizes\":";
        add_ints(out, v.sizes, v.ndim);
        out += ",\"strides\":";
        add_ints(out, v.strides, v.ndim);
        out += '}';
    }
    return out + "]";
}

/* --- compiling ------------------------------------------------------------------------------------------------------------------ */

/* FNV-1a, twice with different beginnings: 128 bits name a package. */
static std::string name_of(const std::string &made_of) {
    uint64_t a = 0xcbf29ce484222325u, b = 0x9e3779b97f4a7c15u;
    for (unsigned char c : made_of) {
        a = (a ^ c) * 0x100000001b3u;
        b = (b ^ c) * 0x100000001b3u;
    }
    char name[40];
    std::snprintf(name, sizeof name, "%016llx%016llx", (unsigned long long)a, (unsigned long long)b);
    return name;
}

/* What stands behind the helper's `ok`. */
static std::string ask(inductor &self, const std::string &line, double timeout_s) {
    std::string answer;
    verdict what = self.compiler->request(line, timeout_s, &answer);
    TORCH_CHECK_NOT_IMPLEMENTED(what != verdict::unsupported, answer);
    TORCH_CHECK(what == verdict::ok, answer);
    return answer;
}

static void ensure_helper(inductor &self) {
    std::string reason;
    if (self.compiler->is_running()) {
        return;
    }
    TORCH_CHECK(self.compiler->start(&reason), reason);
    std::string line = "{\"configure\":";
    add_quoted(line, self.options.c_str());
    ask(self, line + ",\"threads\":" + std::to_string(self.n_threads) + "}", START_TIMEOUT_S);
}

using loader = torch::inductor::AOTIModelPackageLoader;

static std::unique_ptr<loader> load(const std::string &path) {
    return std::make_unique<loader>(path, "model", true);
}

/* The package of a request, compiled unless it is there and whole. *is_fallback: Inductor wrote no loops of its own. */
static std::unique_ptr<loader> package_of(inductor &self, const std::string &request, bool *is_fallback) {
    std::string made_of = request + "\n" + self.options + "\n" + std::to_string(self.n_threads) + "\n" + circumstances();
    std::string path = self.directory + "/../" ASSAY_TORCH_PACKAGES "/" + name_of(made_of) + ".pt2";
    char known = '0';
    if (access(path.c_str(), R_OK) == 0 && std::ifstream(path + ".fallback").get(known)) {
        *is_fallback = known == '1';
        try {
            return load(path);
        } catch (const std::exception &) { /* damaged: made anew */
            unlink(path.c_str());
        }
    }
    std::string line = request + ",\"package\":";
    ensure_helper(self);
    add_quoted(line, path.c_str());
    *is_fallback = ask(self, line + "}", COMPILE_TIMEOUT_S) == "1";
    return load(path);
}

/* --- plans ---------------------------------------------------------------------------------------------------------------------- */

struct compiled_plan {
    std::unique_ptr<loader> model;
    std::vector<at::Tensor> tensors; /* the program's */
    std::vector<aten_call> calls;
    std::vector<at::Tensor> inputs, outputs;
    std::vector<assay_tensor_view> expected;
    std::vector<at::Tensor> shown, beside;
};

static void fill_compiled(inductor &self, compiled_plan &p, const assay_program &program, assay_plan_facts *facts) {
    inputs in;
    in.makers.resize((size_t)program.n_tensors);
    for (int32_t n = 0; n < program.n_nodes; n++) {
        const assay_node &node = program.nodes[n];
        TORCH_CHECK_NOT_IMPLEMENTED(!is_rnn_backward(node), "AOTInductor compiles no gradient of cuDNN's operator");
        for (int32_t k = 0; k < node.n_outputs; k++) {
            in.makers[(size_t)node.outputs[k]] = {n, k};
        }
    }
    for (int32_t i = 0; i < program.n_tensors; i++) {
        p.tensors.push_back(in.maker_of(i) != nullptr ? at::Tensor() : tensor_of_view(program.tensors[i]));
    }
    for (int32_t i = 0; i < program.n_outputs; i++) {
        p.expected.push_back(program.tensors[program.outputs[i]]);
        TORCH_CHECK_NOT_IMPLEMENTED(p.expected.back().layout == ASSAY_STRIDED, "AOTInductor makes no sparse tensors");
    }
    for (int32_t n = 0; n < program.n_nodes; n++) {
        p.calls.push_back(call_of_node(program.nodes[n], p.tensors));
        facts->note = p.calls.back().note != nullptr ? p.calls.back().note : facts->note;
    }
    std::string request = request_of(p.calls, program, p.tensors, in);
    p.model = package_of(self, request, &facts->is_fallback);
    for (int32_t index : in.of_program) {
        p.inputs.push_back(p.tensors[(size_t)index]);
    }
    p.shown.resize(p.expected.size());
    if (program.n_nodes == 1) {
        p.beside = made_beside(program.nodes[0], p.tensors);
    }
    if (facts->is_fallback && program.n_nodes == 1 && program.n_outputs > 0) { /* Inductor's own loops compute in f32 */
        facts->precision = (uint8_t)precision_of(program.nodes[0].op, program.tensors[program.outputs[0]]);
    }
}

static assay_status prepare_compiled(void *state, const assay_program *program, assay_plan **out, assay_plan_facts *facts,
                                     assay_error *error) {
    auto made = std::make_unique<compiled_plan>();
    assay_status result = guarded(error, [&] {
        c10::InferenceMode no_autograd;
        fill_compiled(*static_cast<inductor *>(state), *made, *program, facts);
    });
    if (result == ASSAY_OK) {
        *out = reinterpret_cast<assay_plan *>(made.release());
    }
    return result;
}

static assay_status run_compiled(assay_plan *opaque, assay_error *error) {
    compiled_plan &p = *reinterpret_cast<compiled_plan *>(opaque);
    return guarded(error, [&] {
        c10::InferenceMode no_autograd;
        p.outputs.clear(); /* its memory is used again */
        p.outputs = p.model->run(p.inputs);
    });
}

static assay_status output_of_compiled(assay_plan *opaque, int32_t i, assay_tensor_view *out, assay_error *error) {
    compiled_plan &p = *reinterpret_cast<compiled_plan *>(opaque);
    if (p.outputs.empty() && !p.expected.empty()) {
        return fail(error, ASSAY_NOT_FOUND, "Inductor's code makes its outputs as it runs; there are none yet");
    }
    return guarded(error, [&] {
        c10::InferenceMode no_autograd;
        bool made = (size_t)i < p.outputs.size() && p.outputs[(size_t)i].defined();
        assay_tensor_view nothing = p.expected.at((size_t)i);
        nothing.data = nullptr;
        bool beside = !made && (size_t)i < p.beside.size() && p.beside[(size_t)i].defined();
        p.shown[(size_t)i] = made     ? p.outputs[(size_t)i].resolve_conj()
                             : beside ? p.beside[(size_t)i]
                                      : tensor_of_view(nothing).zero_();
        *out = view_of_tensor(p.shown[(size_t)i]);
    });
}

static void release_compiled(assay_plan *opaque) {
    delete reinterpret_cast<compiled_plan *>(opaque);
    malloc_trim(0);
}

/* --- the table ------------------------------------------------------------------------------------------------------------------- */

static assay_status set_options(void *state, const char *options, assay_error *) {
    static_cast<inductor *>(state)->options = options;
    return ASSAY_OK;
}

static assay_status configure_inductor(void *state, int32_t n_threads, assay_error *error) {
    inductor &self = *static_cast<inductor *>(state);
    self.n_threads = n_threads;
    keep_freed_memory();
    return guarded(error, [&] {
        at::set_num_threads(n_threads);
        /* Options are checked by who knows them, before anything is measured. */
        if (!self.options.empty()) {
            ensure_helper(self);
        }
    });
}

static void close_inductor(void *state) {
    delete static_cast<inductor *>(state);
}

static std::string own_directory() {
    Dl_info info = {};
    static const char here = 0;
    std::string path = dladdr(&here, &info) != 0 && info.dli_fname != nullptr ? info.dli_fname : ".";
    size_t slash = path.rfind('/');
    return slash == std::string::npos ? "." : path.substr(0, slash);
}

static const assay_backend *open_inductor() {
    auto made = std::make_unique<inductor>();
    made->directory = own_directory();
    made->compiler = std::make_unique<helper>(std::vector<std::string>{ASSAY_TORCH_PYTHON, made->directory + "/aot.py"});
    assay_backend table = {};
    table.abi = ASSAY_BACKEND_ABI;
    table.size_bytes = sizeof table;
    table.name = "inductor";
    table.doc = "PyTorch " TORCH_VERSION ", Inductor: compiled ahead of time by AOTInductor, run without Python";
    table.state = made.get();
    table.configure = configure_inductor;
    table.prepare = prepare_compiled;
    table.run = run_compiled;
    table.release = release_compiled;
    table.output = output_of_compiled;
    table.close = close_inductor;
    table.set_options = set_options;
    made->table = table;
    return &made.release()->table; /* `close` frees it */
}

} // namespace assay_torch

extern "C" __attribute__((visibility("default"))) const assay_backend *assay_backend_entry(uint32_t abi, assay_error *error) {
    if (abi != ASSAY_BACKEND_ABI) {
        assay_torch::fail(error, ASSAY_UNSUPPORTED, "this plug-in speaks version " + std::to_string(ASSAY_BACKEND_ABI) +
                                                        " of assay's plug-in ABI, not " + std::to_string(abi));
        return nullptr;
    }
    return assay_torch::open_inductor();
}
