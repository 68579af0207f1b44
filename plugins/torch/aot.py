# SPDX-License-Identifier: Apache-2.0
"""Compiles operator calls, and graphs of them, with AOTInductor. One process, many requests: JSON lines in, one line out for each.

{"configure": "max-autotune,KEY=VALUE", "threads": 2}    answers: ok
{"calls": [{"op": "add", "overload": "Tensor", "arguments": [...]}, ...], "outputs": [[0, 0], ...], "tensors": [...],
 "package": PATH}                                        answers: ok 0|1     (1: the code only calls ATen's kernels)
Other answers: `unsupported TEXT`, `failed TEXT`. An argument is null, {"tensor": place}, {"tensors": [place or null, ...]} or
{"dtype"|"layout"|"memory_format"|"device"|"value": ...}. A place is the index of an input or [call, output]. "outputs" are
places; null stands for whatever the one call answers. The package appears under its name when it is complete.
"""
import ast
import contextlib
import difflib
import json
import os
import re
import shutil
import sys
import tempfile
import time
import zipfile

sys.path.pop(0)  # this folder: nothing in it is to be imported
os.environ.setdefault("TORCHINDUCTOR_COMPILE_THREADS", "1")  # one operator at a time: a pool would only cost its start
answers = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)  # whatever prints goes where errors go: the answers stay clean

import torch  # noqa: E402
import torch._inductor  # noqa: E402
import torch._inductor.config as inductor_config  # noqa: E402

chosen = {}
UNFINISHED = "unfinished-"


class Unsupported(Exception):
    pass


def configurations_like(key):
    """The names nearest to one that is none, or where all of them are."""
    names = [n for n in inductor_config.get_config_copy() if not n.startswith("_")]
    near = difflib.get_close_matches(key, names, 3, 0.5) or [n for n in names if key in n][:3]
    usual = "max_autotune, coordinate_descent_tuning, cpp.threads, freezing"
    return f"did you mean {' or '.join(near)}?" if near else f"there are {usual} and what torch/_inductor/config.py lists besides"


def configure(options, threads):
    """`max-autotune` is max_autotune=True; values are Python's literals, or text."""
    torch.set_num_threads(threads)
    chosen.clear()
    for option in filter(None, options.split(",")):
        key, equals, value = option.partition("=")
        key = key.replace("-", "_")
        try:
            getattr(inductor_config, key.split(".")[0])
            known = key in inductor_config.get_config_copy()
        except AttributeError:
            known = False
        if not known:
            raise Unsupported(f"inductor has no configuration '{key}'; {configurations_like(key)}")
        try:
            chosen[key] = ast.literal_eval(value) if equals else True
        except (ValueError, SyntaxError):
            chosen[key] = value


def example_of(tensor):
    dtype = getattr(torch, tensor["dtype"])
    made = torch.empty_strided(tensor["sizes"], tensor["strides"], dtype=dtype)
    return made if 0 in tensor["strides"] else made.zero_()


def tensor_at(place, tensors, made):
    if place is None:
        return None
    if not isinstance(place, list):
        return tensors[place]
    node, output = place
    if output >= len(made[node]):
        raise Unsupported(f"PyTorch's operator has no output {output}")
    return made[node][output]


def value_of(argument, tensors, made):
    if argument is None:
        return None
    (kind, value), = argument.items()
    if kind == "tensor":
        return tensor_at(value, tensors, made)
    if kind == "tensors":
        return [tensor_at(place, tensors, made) for place in value]
    if kind == "device":
        return torch.device("cpu")
    if kind in ("dtype", "layout", "memory_format"):
        return getattr(torch, value)
    if kind == "complex":
        return complex(*value)
    return value


class Program(torch.nn.Module):
    """The calls as a program of their tensors; everything else is constant."""

    def __init__(self, request):
        super().__init__()
        self.calls = [(operator_of(call), call["arguments"]) for call in request["calls"]]
        self.outputs = request["outputs"]

    def forward(self, *tensors):
        made = []
        for op, arguments in self.calls:
            result = self.call(op, arguments, tensors, made)
            made.append(list(result) if isinstance(result, (tuple, list)) else [result])
        if self.outputs is None:
            return result
        return tuple(tensor_at(place, tensors, made) for place in self.outputs)

    @staticmethod
    def call(op, arguments, tensors, made):
        positional, by_name = [], {}
        for parameter, argument in zip(op._schema.arguments, arguments):
            value = value_of(argument, tensors, made)
            if parameter.name == "pin_memory" or parameter.name == "generator":
                value = None
            if parameter.kwarg_only:
                by_name[parameter.name] = value
            else:
                positional.append(value)
        return op(*positional, **by_name)


def operator_of(call):
    try:
        op = getattr(getattr(torch.ops.aten, call["op"]), call["overload"] or "default")
    except AttributeError:
        raise Unsupported(f"PyTorch {torch.__version__} has no operator aten::{call['op']} {call['overload']}") from None
    first = call["arguments"][0] if call["arguments"] else None
    on_input = isinstance(first, dict) and isinstance(first.get("tensor"), int)
    if on_input and torch.Tag.inplace_view in op.tags:
        raise Unsupported("torch.export takes no program that changes the sizes or strides of an input itself")
    return op


def only_calls_back(package):
    """No loops of Inductor's own, but a call of one of ATen's kernels, in the code that it wrote."""
    code = ""
    with zipfile.ZipFile(package) as archive:
        for name in archive.namelist():
            if name.endswith(".cpp"):
                code += archive.read(name).decode(errors="replace")
    own = re.search(r"\bcpp_fused_\w+\(|\bcpp_\w*(?:gemm|template)\w*\(", code)
    called = re.search(r"\baoti_torch_(?:cpu|mkldnn|cpu_mkldnn)_\w+\(|aoti_torch_proxy_executor_call_function\(", code)
    return own is None and called is not None


def flush(path):
    with open(path, "rb") as file:
        os.fsync(file.fileno())


def sweep(folder):
    """What helpers that were killed have left: none works at one package for a day."""
    for name in os.listdir(folder):
        path = os.path.join(folder, name)
        with contextlib.suppress(OSError):
            if name.startswith(UNFINISHED) and time.time() - os.stat(path).st_mtime > 86400:
                shutil.rmtree(path, ignore_errors=True)


@contextlib.contextmanager
def folder_beside(package):
    """A folder of its own beside the package, where it is made: nobody else's names, and nothing is left of it."""
    folder = os.path.dirname(package)
    os.makedirs(folder, exist_ok=True)
    sweep(folder)
    made = tempfile.mkdtemp(prefix=UNFINISHED, dir=folder)
    try:
        yield made
    finally:
        shutil.rmtree(made, ignore_errors=True)


def compile_program(request):
    tensors = tuple(example_of(t) for t in request["tensors"])
    package = request["package"]
    with folder_beside(package) as folder:
        made, note = os.path.join(folder, "made.pt2"), os.path.join(folder, "fallback")
        with torch.no_grad():
            exported = torch.export.export(Program(request), tensors, strict=False)
            torch._inductor.aoti_compile_and_package(exported, package_path=made, inductor_configs=dict(chosen))
        fallback = only_calls_back(made)
        with open(note, "w", encoding="utf-8") as file:
            file.write("1" if fallback else "0")
        for path in (made, note):
            flush(path)
        os.replace(note, f"{package}.fallback")
        os.replace(made, package)
    return fallback


def answer(line):
    request = json.loads(line)
    if "configure" in request:
        configure(request["configure"], request["threads"])
        return "ok"
    return f"ok {int(compile_program(request))}"


def main():
    for line in sys.stdin:
        try:
            said = answer(line)
        except (Unsupported, NotImplementedError) as reason:
            said = f"unsupported {reason}"
        except Exception as reason:  # noqa: BLE001: whatever it is, the next request deserves an answer
            said = f"failed {type(reason).__name__}: {reason}"
        with contextlib.suppress(BrokenPipeError):
            print(" ".join(said.split())[:400], file=answers, flush=True)


main()
