/* SPDX-License-Identifier: Apache-2.0 */
/* Between assay's plug-in ABI and ATen. */
#include "convert.h"

#include <cstring>

#include <malloc.h>

namespace assay_torch {

/* --- errors --------------------------------------------------------------------------------------------------------------- */

assay_status fail(assay_error *error, assay_status code, const std::string &message) {
    if (error != nullptr) {
        *error = {};
        error->code = code;
        std::snprintf(error->message, sizeof error->message, "%s", message.c_str());
    }
    return code;
}

std::string reason_of(const c10::Error &exception) {
    std::string text = exception.what_without_backtrace();
    for (const char *end : {"\n", " This could be because", " To enable"}) {
        text = text.substr(0, text.find(end));
    }
    return text;
}

void keep_freed_memory() {
    mallopt(M_MMAP_MAX, 0);
    mallopt(M_TRIM_THRESHOLD, -1); /* a size_t: never */
    mallopt(M_TOP_PAD, 64 << 20);
}

/* --- element types and other words ------------------------------------------------------------------------------------------ */

struct type_pair {
    assay_dtype ours;
    at::ScalarType theirs;
};

static const type_pair types[] = {
    {ASSAY_F16, at::kHalf},          {ASSAY_BF16, at::kBFloat16},      {ASSAY_F32, at::kFloat},
    {ASSAY_F64, at::kDouble},        {ASSAY_C32, at::kComplexHalf},    {ASSAY_C64, at::kComplexFloat},
    {ASSAY_C128, at::kComplexDouble}, {ASSAY_I8, at::kChar},           {ASSAY_I16, at::kShort},
    {ASSAY_I32, at::kInt},           {ASSAY_I64, at::kLong},           {ASSAY_U8, at::kByte},
    {ASSAY_B8, at::kBool},
};

static at::ScalarType type_of(int64_t dtype) {
    for (const type_pair &pair : types) {
        if (pair.ours == dtype) {
            return pair.theirs;
        }
    }
    TORCH_CHECK_NOT_IMPLEMENTED(false, "this plug-in knows no element type ", dtype);
}

static int32_t dtype_of(at::ScalarType type) {
    for (const type_pair &pair : types) {
        if (pair.theirs == type) {
            return pair.ours;
        }
    }
    TORCH_CHECK_NOT_IMPLEMENTED(false, "an output is of type ", type, ", which assay does not know");
}

struct word {
    const char *text;
    int64_t value;
};

static int64_t value_of_word(const word *words, size_t n, const char *text, const char *what) {
    for (size_t i = 0; i < n; i++) {
        if (text != nullptr && std::strcmp(words[i].text, text) == 0) {
            return words[i].value;
        }
    }
    TORCH_CHECK_NOT_IMPLEMENTED(false, "this plug-in knows no ", what, " called ", text != nullptr ? text : "(none)");
}

static int64_t layout_of(const char *text) {
    static const word words[] = {{"strided", (int64_t)at::kStrided}, {"sparse_coo", (int64_t)at::kSparse}};
    return value_of_word(words, std::size(words), text, "layout");
}

static int64_t memory_format_of(const char *text) {
    static const word words[] = {{"contiguous_format", (int64_t)at::MemoryFormat::Contiguous},
                                 {"preserve_format", (int64_t)at::MemoryFormat::Preserve},
                                 {"channels_last", (int64_t)at::MemoryFormat::ChannelsLast},
                                 {"channels_last_3d", (int64_t)at::MemoryFormat::ChannelsLast3d}};
    return value_of_word(words, std::size(words), text, "memory format");
}

/* --- tensors ---------------------------------------------------------------------------------------------------------------- */

static at::Tensor strided_of_view(const assay_tensor_view &view) {
    at::IntArrayRef sizes(view.sizes, (size_t)view.ndim), strides(view.strides, (size_t)view.ndim);
    at::TensorOptions options = at::TensorOptions().dtype(type_of(view.dtype)).device(at::kCPU);
    bool empty = view.data == nullptr;
    for (int64_t size : sizes) {
        empty = empty || size == 0;
    }
    at::Tensor made = empty ? at::empty_strided(sizes, strides, options) : at::from_blob(view.data, sizes, strides, options);
    if (view.is_wrapped_number) {
        made.unsafeGetTensorImpl()->set_wrapped_number(true);
    }
    return made;
}

at::Tensor tensor_of_view(const assay_tensor_view &view) {
    if (view.layout == ASSAY_STRIDED) {
        return strided_of_view(view);
    }
    at::Tensor indices = strided_of_view(*view.indices), values = strided_of_view(*view.values);
    at::Tensor made = at::_sparse_coo_tensor_unsafe(indices, values, at::IntArrayRef(view.sizes, (size_t)view.ndim));
    return made._coalesced_(view.is_coalesced);
}

assay_tensor_view view_of_tensor(const at::Tensor &tensor) {
    assay_tensor_view view = {};
    view.data = tensor.data_ptr();
    view.sizes = tensor.sizes().data();
    view.strides = tensor.strides().data();
    view.ndim = (int32_t)tensor.dim();
    view.dtype = dtype_of(tensor.scalar_type());
    view.layout = ASSAY_STRIDED;
    return view;
}

/* --- arguments -------------------------------------------------------------------------------------------------------------- */

static at::Scalar scalar_of(const assay_argument &a) {
    switch (a.kind) {
    case ASSAY_ARG_INT:
        return at::Scalar(a.i);
    case ASSAY_ARG_BOOL:
        return at::Scalar(a.i != 0);
    case ASSAY_ARG_FLOAT:
        return at::Scalar(a.f);
    default:
        break;
    }
    TORCH_CHECK_NOT_IMPLEMENTED(a.kind == ASSAY_ARG_NUMBER, "expected a number, got an argument of kind ", a.kind);
    switch (a.number_category) {
    case ASSAY_NUMBER_BOOL:
        return at::Scalar(a.i != 0);
    case ASSAY_NUMBER_INT:
        return at::Scalar(a.i);
    case ASSAY_NUMBER_FLOAT:
        return at::Scalar(a.f);
    default:
        return at::Scalar(c10::complex<double>(a.f, a.imaginary));
    }
}

/* An int parameter also takes what ATen numbers: element types, layouts, memory formats. */
static int64_t int_of(const assay_argument &a) {
    switch (a.kind) {
    case ASSAY_ARG_DTYPE:
        return (int64_t)type_of(a.i);
    case ASSAY_ARG_LAYOUT:
        return layout_of(a.str);
    case ASSAY_ARG_MEMORY_FORMAT:
        return memory_format_of(a.str);
    default:
        return scalar_of(a).toLong();
    }
}

/* -1 stands for None: an undefined tensor. */
static at::Tensor item_of(const assay_argument &a, int32_t k, const std::vector<at::Tensor> &tensors) {
    int32_t index = a.tensors[k];
    return index >= 0 ? tensors.at((size_t)index) : at::Tensor();
}

static at::Tensor tensor_of(const assay_argument &a, const std::vector<at::Tensor> &tensors) {
    if (a.kind == ASSAY_ARG_TENSOR) {
        return item_of(a, 0, tensors);
    }
    at::Scalar number = scalar_of(a); /* a Python number in place of a tensor weighs nothing in type promotion */
    at::Tensor made = at::scalar_tensor(number, at::TensorOptions().dtype(number.type()));
    made.unsafeGetTensorImpl()->set_wrapped_number(true);
    return made;
}

/* A list; a single value for a parameter like int[2] stands for that many. */
template <typename Item> static c10::IValue list_of(const Item *items, const assay_argument &a, int32_t kind, const Item &one,
                                                    int32_t parameter_n) {
    c10::List<Item> list;
    int32_t n = a.kind == kind ? a.n : parameter_n > 0 ? parameter_n : 1;
    list.reserve((size_t)n);
    for (int32_t k = 0; k < n; k++) {
        list.push_back(a.kind == kind ? items[k] : one);
    }
    return c10::IValue(list);
}

static c10::IValue tensors_of(const assay_argument &a, bool may_be_none, const std::vector<at::Tensor> &tensors) {
    c10::List<at::Tensor> plain;
    c10::List<std::optional<at::Tensor>> optional;
    for (int32_t k = 0; k < a.n; k++) {
        at::Tensor item = item_of(a, k, tensors);
        if (may_be_none) {
            optional.push_back(item.defined() ? std::optional<at::Tensor>(item) : std::nullopt);
        } else {
            plain.push_back(item);
        }
    }
    return may_be_none ? c10::IValue(optional) : c10::IValue(plain);
}

static bool is_list(int32_t kind) {
    return kind == ASSAY_ARG_TENSORS || kind == ASSAY_ARG_INTS || kind == ASSAY_ARG_FLOATS || kind == ASSAY_ARG_BOOLS;
}

static c10::IValue list_value(const assay_argument &a, const c10::TypePtr &item, int32_t parameter_n,
                              const std::vector<at::Tensor> &tensors) {
    bool single = !is_list(a.kind);
    switch (item->kind()) {
    case c10::TypeKind::TensorType:
        return tensors_of(a, false, tensors);
    case c10::TypeKind::OptionalType:
        return tensors_of(a, true, tensors);
    case c10::TypeKind::IntType:
    case c10::TypeKind::SymIntType:
        return list_of<int64_t>(a.ints, a, ASSAY_ARG_INTS, single ? int_of(a) : 0, parameter_n);
    case c10::TypeKind::FloatType:
        if (a.kind == ASSAY_ARG_INTS) { /* scale factors recorded as whole numbers */
            std::vector<double> converted(a.ints, a.ints + a.n);
            return c10::IValue(converted);
        }
        return list_of<double>(a.floats, a, ASSAY_ARG_FLOATS, single ? scalar_of(a).toDouble() : 0, parameter_n);
    case c10::TypeKind::BoolType:
        return list_of<bool>(a.bools, a, ASSAY_ARG_BOOLS, single && scalar_of(a).toBool(), parameter_n);
    default:
        TORCH_CHECK_NOT_IMPLEMENTED(false, "this plug-in makes no lists of ", item->str());
    }
}

c10::IValue value_of_argument(const assay_argument &a, const c10::Argument &parameter,
                              const std::vector<at::Tensor> &tensors) {
    c10::TypePtr type = parameter.type();
    if (type->kind() == c10::TypeKind::OptionalType) {
        type = type->castRaw<c10::OptionalType>()->getElementType();
    }
    /* Page-locked memory is for copies to a GPU; on the CPU it would only fail without one. */
    if (a.kind == ASSAY_ARG_NONE || a.kind == ASSAY_ARG_GENERATOR || parameter.name() == "pin_memory") {
        return c10::IValue();
    }
    switch (type->kind()) {
    case c10::TypeKind::TensorType:
        return c10::IValue(tensor_of(a, tensors));
    case c10::TypeKind::ListType:
        return list_value(a, type->castRaw<c10::ListType>()->getElementType(), parameter.N().value_or(0), tensors);
    case c10::TypeKind::NumberType:
        return c10::IValue(scalar_of(a));
    case c10::TypeKind::IntType:
    case c10::TypeKind::SymIntType:
    case c10::TypeKind::ScalarTypeType:
    case c10::TypeKind::LayoutType:
    case c10::TypeKind::MemoryFormatType:
        return c10::IValue(int_of(a));
    case c10::TypeKind::FloatType:
        return c10::IValue(scalar_of(a).toDouble());
    case c10::TypeKind::BoolType:
        return c10::IValue(scalar_of(a).toBool());
    case c10::TypeKind::StringType:
        return c10::IValue(std::string(a.str));
    case c10::TypeKind::DeviceObjType:
        return c10::IValue(c10::Device(c10::kCPU));
    default:
        TORCH_CHECK_NOT_IMPLEMENTED(false, "this plug-in makes no argument of type ", type->str(), " (", parameter.name(), ")");
    }
}

} // namespace assay_torch
