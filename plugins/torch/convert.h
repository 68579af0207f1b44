/* SPDX-License-Identifier: Apache-2.0 */
/* Between assay's plug-in ABI and ATen: tensors over shared memory, arguments by the types of ATen's schema, outputs back.
   Functions throw c10::Error (NotImplementedError for what ATen has no equivalent of); `guarded` turns that into a status. */
#ifndef PLUGINS_TORCH_CONVERT_H
#define PLUGINS_TORCH_CONVERT_H

#include "assay/backend.h"

#include <ATen/ATen.h>
#include <ATen/core/function_schema.h>
#include <ATen/core/ivalue.h>

#include <cstdio>
#include <new>
#include <string>
#include <vector>

namespace assay_torch {

/* A tensor over the view's own memory, which must outlive it; nothing is copied. */
at::Tensor tensor_of_view(const assay_tensor_view &view);

/* Describes a strided tensor. The description points into `tensor` and holds as long as it does. */
assay_tensor_view view_of_tensor(const at::Tensor &tensor);

/* One argument as the schema's parameter wants it. `tensors` are the program's, by index. Devices become the CPU, whatever
   was recorded. */
c10::IValue value_of_argument(const assay_argument &argument, const c10::Argument &parameter,
                              const std::vector<at::Tensor> &tensors);

/* glibc maps large blocks afresh at each allocation and unmaps them at each free, so that every run would pay for page
   faults. An application that cares keeps its memory: so do these peers (docs/peers.md has the difference). Blocks then come
   from the heap, and the heap's end is not given back while a plan lives. */
void keep_freed_memory();

/* Fills in the error and answers its code. */
assay_status fail(assay_error *error, assay_status code, const std::string &message);

/* What ATen said, without its call stack and without the advice that is for Python's users. */
std::string reason_of(const c10::Error &exception);

/* Calls `body` and turns what it throws into a status. */
template <typename Body> assay_status guarded(assay_error *error, const Body &body) {
    try {
        body();
        return ASSAY_OK;
    } catch (const c10::NotImplementedError &exception) {
        return fail(error, ASSAY_UNSUPPORTED, reason_of(exception));
    } catch (const c10::Error &exception) {
        std::string reason = reason_of(exception);
        bool memory = reason.find("can't allocate memory") != std::string::npos;
        return fail(error, memory ? ASSAY_OUT_OF_MEMORY : ASSAY_INVALID, reason);
    } catch (const std::bad_alloc &) {
        return fail(error, ASSAY_OUT_OF_MEMORY, "PyTorch found no memory");
    } catch (const std::exception &exception) {
        return fail(error, ASSAY_INVALID, exception.what());
    }
}

} // namespace assay_torch

#endif
