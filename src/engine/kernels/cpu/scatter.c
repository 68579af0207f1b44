/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/kernels/cpu/kernels.h"

const kernel_rows kernels_scatter = {NULL, 0};
