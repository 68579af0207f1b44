/* SPDX-License-Identifier: Apache-2.0 */
/* Which of ATen's CPU kernels round to f16 or bf16 on the way, not only at the end. */
#ifndef PLUGINS_TORCH_PRECISION_H
#define PLUGINS_TORCH_PRECISION_H

#include "assay/backend.h"

namespace assay_torch {

/* op: of a node, "index_add_.default"; output: its first. */
assay_precision precision_of(const char *op, const assay_tensor_view &output);

} // namespace assay_torch

#endif
