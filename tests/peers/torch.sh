#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Every operator of the embedded suite on PyTorch's own kernels, checked against the reference, in three element types.
# usage: torch.sh ASSAY
set -eu
assay=$1
if [ -z "${ASSAY_TORCH_PYTHON:-}" ]; then
    echo "skipped: set ASSAY_TORCH_PYTHON to a Python that has PyTorch and run: ctest --preset dev -L peers"
    exit 77
fi
"$assay" list backends --backend torch
code=0
for dtype in f32 bf16 as-recorded; do
    echo "torch, $dtype"
    "$assay" operators --suite embedded --dtype "$dtype" --backend torch --baseline torch --max-samples 3 --repeats 1 \
        --min-time 0 --sample-timeout 300 --color never || code=$?
done
exit $code
