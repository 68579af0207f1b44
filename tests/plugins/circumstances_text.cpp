/* SPDX-License-Identifier: Apache-2.0 */
/* What Inductor's packages are named by besides their requests, for a test in Python. */
#include "circumstances.h"

extern "C" const char *circumstances_text() {
    static std::string kept;
    kept = assay_torch::circumstances();
    return kept.c_str();
}
