#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Every operator of the embedded suite on PyTorch's own kernels: they agree with the reference, in narrow types as far as
# docs/peers.md says. Then a few operators through Inductor.
# usage: torch.sh ASSAY
set -eu
assay=$1
if [ -z "${ASSAY_TORCH_PYTHON:-}" ]; then
    echo "skipped: set ASSAY_TORCH_PYTHON to a Python that has PyTorch and run: ctest --preset dev -L peers"
    exit 77
fi
run() {
    "$assay" operators --suite embedded --repeats 1 --min-time 0 --sample-timeout 600 --color never "$@"
}
"$assay" list backends --backend torch
echo "torch, f32"
run --backend torch --baseline torch
for dtype in bf16 as-recorded; do
    echo "torch, $dtype"
    run --dtype "$dtype" --backend torch --baseline torch --skip aten.grid_sampler_2d_backward.default
done
echo "inductor, f32"
run --max-samples 1 --op aten.add.Tensor --op aten.relu_.default --op aten.split.Tensor --op aten.native_layer_norm.default \
    --backend inductor --baseline inductor
echo "some of what a call answers"
graphs=$(mktemp -d)
trap 'rm -rf "$graphs"' EXIT
cat > "$graphs/statistics.graph" <<'END'
graph statistics
%x = input(T([16, 33, 3], f32))
%y, %mean, %rstd = native_layer_norm(%x, [3], None, None, 1e-05)
return %rstd, %mean
END
cat > "$graphs/place.graph" <<'END'
graph place
%x = input(T([16, 33], f32))
%largest, %place = max.dim(%x, 1)
return %place
END
"$assay" operators --inputs "$graphs" --repeats 1 --min-time 0 --sample-timeout 600 --color never --backend torch --backend inductor \
    --baseline torch
