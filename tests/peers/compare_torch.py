#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs PyTorch's CPU operators on inputs that `assay operators --save DIR` wrote and compares with what each backend made
of them.

usage: compare_torch.py DIR [--verbose]

Needs a Python with torch and numpy. Exit code 1 when something differs. An operator that this PyTorch lacks is counted and
named; `_cudnn_rnn` is compared with lstm, gru, rnn_tanh or rnn_relu, the backwards that PyTorch has dropped with the
operators that took their place. Of what is drawn, and of memory that nobody has written, shape, type and strides are compared.
"""
import collections
import json
import math
import os
import sys

import numpy as np
import torch

DTYPES = {"f16": torch.float16, "bf16": torch.bfloat16, "f32": torch.float32, "f64": torch.float64, "c32": torch.complex32,
          "c64": torch.complex64, "c128": torch.complex128, "i8": torch.int8, "i16": torch.int16, "i32": torch.int32,
          "i64": torch.int64, "u8": torch.uint8, "b8": torch.bool}
# Values are chance, or what memory held.
ANY_VALUES = {"bernoulli_", "new_empty", "new_empty_strided"}
# Positions in an image are f32 in torch: rounded in proportion to the image's size, and results are steep in them.
BY_POSITION = {"upsample_bicubic2d"}
WORDS = {"layout": {"strided": torch.strided, "sparse_coo": torch.sparse_coo},
         "memory_format": {"contiguous_format": torch.contiguous_format, "channels_last": torch.channels_last,
                           "channels_last_3d": torch.channels_last_3d, "preserve_format": torch.preserve_format}}


def tensor_of(directory, line):
    values = torch.from_numpy(np.load(os.path.join(directory, line["file"]))).to(DTYPES[line["dtype"]])
    if line["is_number"]:
        return values.item()
    laid_out = torch.empty_strided(line["shape"], line["strides"], dtype=values.dtype) if min(line["shape"], default=1) else None
    if laid_out is None:
        return values
    laid_out.copy_(values) if 0 not in line["strides"] else None
    if 0 in line["strides"]:  # a broadcast tensor: fill what is there once, then expand
        index = tuple(slice(0, 1) if s == 0 else slice(None) for s in line["strides"])
        base = values[index].contiguous()
        return base.expand(line["shape"])
    return laid_out


def number_of(value):
    if isinstance(value, str):
        return float(value)
    return complex(*value) if isinstance(value, list) else value


def argument_of(directory, lines):
    first = lines[0]
    kind = first["kind"]
    if kind == "tensor":
        return tensor_of(directory, first)
    if kind == "tensors":
        return [tensor_of(directory, line) if "file" in line else None for line in lines if line.get("item", -1) >= 0]
    value = first["value"]
    if kind in ("number", "float"):
        return number_of(value)
    if kind == "dtype":
        return DTYPES[value]
    if kind == "device":
        return torch.device("cpu")
    return WORDS[kind].get(value, value) if kind in WORDS and isinstance(value, str) else value


def arguments_of(directory, inputs):
    by_position = collections.defaultdict(list)
    for line in inputs:
        by_position[line["position"]].append(line)
    args, kwargs = [], {}
    for position in sorted(by_position):
        lines = by_position[position]
        if lines[0]["keyword"]:
            if lines[0]["kind"] not in ("none", "generator"):
                kwargs[lines[0]["argument"]] = argument_of(directory, lines)
        else:
            args.append(argument_of(directory, lines))
    return args, kwargs


def cudnn_rnn(args):
    (x, weight, stride0, _buf, hx, cx, mode, hidden, proj, layers, batch_first, dropout, train, bidirectional, sizes, _s) = args
    if dropout and train:
        raise NotImplementedError("dropout's stream differs")
    has_biases = stride0 == 4
    if sizes:
        raise NotImplementedError("packed input")
    state = [hx, cx] if mode == 2 else hx
    fn = {0: torch.rnn_relu, 1: torch.rnn_tanh, 2: torch.lstm, 3: torch.gru}[mode]
    out = fn(x, state, weight, has_biases, layers, 0.0, False, bidirectional, batch_first)
    return list(out) if mode == 2 else [out[0], out[1], torch.empty(0)]


def cudnn_rnn_backward(args):
    (x, weight, stride0, buf, hx, cx, _out, g_out, g_hy, g_cy, mode, hidden, proj, layers, batch_first, dropout, train,
     bidirectional, sizes, state, _reserve, mask) = args
    leaves = [x, hx] + ([cx] if cx is not None else []) + list(weight)
    leaves = [t.detach().clone().requires_grad_() for t in leaves]
    n = 3 if cx is not None else 2
    outs = cudnn_rnn([leaves[0], leaves[n:], stride0, buf, leaves[1], leaves[2] if n == 3 else None, mode, hidden, proj, layers,
                      batch_first, dropout, train, bidirectional, sizes, state])
    grads = [g for g in (g_out, g_hy, g_cy)]
    total = sum((o * g).sum() for o, g in zip(outs, grads) if g is not None and o.requires_grad)
    got = torch.autograd.grad(total, leaves, allow_unused=True)
    return [got[0], got[1], got[2] if n == 3 else torch.empty(0)] + list(got[n:])


def call(name, args, kwargs):
    aten = torch.ops.aten
    base, overload = name.removeprefix("aten.").rsplit(".", 1)
    if base == "_cudnn_rnn":
        return cudnn_rnn(args)
    if base == "_cudnn_rnn_backward":
        return cudnn_rnn_backward(args)
    if base == "im2col_backward":
        return aten.col2im(*args)
    if base == "col2im_backward":
        return aten.im2col(*args)
    if base in ("upsample_nearest2d_backward", "upsample_bilinear2d_backward") and overload == "vec":
        grad, out_size, in_size = args[:3]
        scales = list(args[-1]) if args[-1] is not None else [None, None]
        out_size = out_size or list(grad.shape[2:])
        middle = [args[3]] if "bilinear" in base else []
        return getattr(aten, base).default(grad, out_size, in_size, *middle, *scales)
    if overload == "SymInt":
        overload = "dim_IntList"
    return getattr(getattr(aten, base), overload)(*args, **kwargs)


def flatten(result):
    if isinstance(result, (list, tuple)):
        return [r for item in result for r in flatten(item)]
    return [result]


def compare(expected, got_line, directory, part, base):
    if expected is None:
        return None
    if part is not None:
        expected = expected._indices() if part == "indices" else expected._values()
    got = np.load(os.path.join(directory, got_line["file"]))
    if list(expected.shape) != got_line["shape"]:
        return f"shape {list(expected.shape)} in torch, {got_line['shape']} here"
    if expected.dtype != DTYPES[got_line["dtype"]]:
        return f"dtype {expected.dtype} in torch, {got_line['dtype']} here"
    note = None
    if part is None and expected.numel() > 1 and not expected.is_sparse:
        theirs = [s for s, n in zip(expected.stride(), expected.shape) if n > 1]
        ours = [s for s, n in zip(got_line["strides"], got_line["shape"]) if n > 1]
        if theirs != ours:
            note = f"strides {list(expected.stride())} in torch, {got_line['strides']} here"
    if base in ANY_VALUES:
        return note and "note: " + note
    e = expected.detach().to(torch.complex128 if expected.is_complex() else torch.float64).resolve_conj().numpy()
    g = got.astype(e.dtype)
    if not (np.isnan(e) == np.isnan(g)).all():
        return "NaN in other places"
    if expected.dtype.is_floating_point or expected.dtype.is_complex:
        eps = torch.finfo(expected.dtype).eps
        finite = np.isfinite(e) & np.isfinite(g)
        if not (e[~finite & ~np.isnan(e)] == g[~finite & ~np.isnan(e)]).all() and expected.dtype != torch.float16:
            return "infinities in other places"
        d = np.abs(e[finite] - g[finite])
        if d.size:
            scale = np.maximum(np.abs(g[finite]), math.sqrt(float(np.mean(np.abs(g[finite]) ** 2))))
            worst = float((d / np.maximum(scale, 1e-30)).max())
            # Two roundings to the type on each side, and sums of K terms in f32 (f64 for f64) in any order on each side.
            accumulator = max(torch.finfo(torch.float32).eps if eps > 1e-10 else eps, 0)
            steps = 1 + math.sqrt(got_line["reduction"]) + (max(expected.shape) / 4 if base in BY_POSITION else 0)
            if worst > 2 * eps + 2 * 8 * accumulator * steps:
                return f"differs by {worst:.2e} of its size ({worst / eps:.0f} eps)"
    elif not (e == g).all():
        return f"{int((e != g).sum())} of {e.size} elements differ"
    return note and "note: " + note


def main():
    directory = sys.argv[1]
    verbose = "--verbose" in sys.argv
    torch.manual_seed(0)
    points = collections.OrderedDict()
    with open(os.path.join(directory, "manifest.jsonl")) as manifest:
        for text in manifest:
            line = json.loads(text)
            point = points.setdefault((line["operator"], line["sample_index"]), {"input": [], "output": []})
            point[line["record"]].append(line)
    counts = collections.Counter()
    for (name, index), point in points.items():
        if not point["output"]:
            counts["no output saved"] += 1
            continue
        try:
            args, kwargs = arguments_of(directory, point["input"])
            kwargs.pop("pin_memory", None)
            expected = flatten(call(name, args, kwargs))
        except Exception as reason:  # noqa: BLE001: whatever torch says is the finding
            counts["torch does not run it"] += 1
            print(f"{name}[{index}]: torch: {type(reason).__name__}: {str(reason).splitlines()[0][:160]}")
            continue
        bad = False
        for line in point["output"]:
            if line.get("file") is None or line["output"] >= len(expected):
                continue
            base = name.removeprefix("aten.").rsplit(".", 1)[0]
            verdict = compare(expected[line["output"]], line, directory, line.get("part"), base)
            if verdict and (verbose or not verdict.startswith("note")):
                print(f"{name}[{index}] {line['backend']} output {line['output']}: {verdict}\n    {line['input'][:200]}")
            bad = bad or (verdict is not None and not verdict.startswith("note"))
            counts["other strides"] += verdict is not None and verdict.startswith("note")
        counts["differ" if bad else "agree"] += 1
    print(", ".join(f"{n} {what}" for what, n in counts.items()))
    return 1 if counts["differ"] else 0


if __name__ == "__main__":
    sys.exit(main())
