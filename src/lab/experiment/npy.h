/* SPDX-License-Identifier: Apache-2.0 */
/* Tensors as .npy files (NumPy's format, version 1.0). */
#ifndef LAB_EXPERIMENT_NPY_H
#define LAB_EXPERIMENT_NPY_H

#include "base/status.h"
#include "engine/tensor/tensor.h"

/* Writes the tensor's elements in row-major order. Types that the format lacks are widened without loss: bf16 to float32,
   c32 to complex64. *file_dtype, which may be NULL, becomes the name of the type in the file ("float32"). The file appears
   whole or not at all. INVALID: no memory behind the tensor, or sparse. IO, OUT_OF_MEMORY. */
status npy_write(const char *path, const tensor *t, const char **file_dtype, error *err);

#endif
