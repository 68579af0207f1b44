/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/ops/rows.h"

const op_rows rows_sparse = {NULL, 0};
