/* SPDX-License-Identifier: Apache-2.0 */
/* Sparse operators. Making a sparse tensor of its parts computes nothing (its row is a view), so there is no kernel
 * yet. */
#include "engine/kernels/cpu/kernels.h"

const kernel_rows kernels_sparse = {NULL, 0};
