/* SPDX-License-Identifier: Apache-2.0 */
/* What Inductor's code depends on besides its request. Knows nothing of PyTorch. */
#ifndef PLUGINS_TORCH_CIRCUMSTANCES_H
#define PLUGINS_TORCH_CIRCUMSTANCES_H

#include <string>

namespace assay_torch {

/* The processor, the C++ compiler ($CXX) and Inductor's own settings ($TORCHINDUCTOR_*), a line each. */
std::string circumstances();

} // namespace assay_torch

#endif
