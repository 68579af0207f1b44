# SPDX-License-Identifier: Apache-2.0
"""What `assay utilization --json` prints is what docs/utilization.schema.json says, on a made-up trace and on real ones.

usage: utilization_schema.py ASSAY SCHEMA DATA    (DATA may be absent)
Exit code 77 (skipped) where Python has no jsonschema that knows draft 2020-12.
"""
import glob
import json
import os
import subprocess
import sys
import tempfile

try:
    from jsonschema import Draft202012Validator
except ImportError:
    print("skipped: Python's jsonschema is not there")
    sys.exit(77)

assay, schema_path, data = sys.argv[1:4]
with open(schema_path) as f:
    schema = json.load(f)
Draft202012Validator.check_schema(schema)
validator = Draft202012Validator(schema)

made_up = [
    {"ph": "M", "name": "process_labels", "pid": "g", "args": {"labels": "GPU 0"}},
    {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 0, "dur": 5, "args": {"External id": 1}},
    {"ph": "X", "cat": "kernel", "name": "gemm \ud83d\ude00", "pid": "g", "tid": 7, "ts": 2, "dur": 9, "args": {"External id": 1}},
    {"ph": "X", "cat": "kernel", "name": "other", "pid": "g", "tid": None, "ts": 20, "dur": 1},
    {"ph": "X", "cat": "gpu_memcpy", "name": "Memcpy", "pid": "g", "tid": 7, "ts": 12, "dur": -1},
    17,
]


def check(arguments):
    printed = subprocess.run([assay, "utilization", "--json"] + arguments, stdout=subprocess.PIPE, check=True).stdout
    figures = json.loads(printed)
    errors = [f"{'/'.join(map(str, e.path))}: {e.message[:300]}" for e in validator.iter_errors(figures)]
    assert not errors, (arguments, errors)
    return figures


with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "made_up.json")
    empty = os.path.join(folder, "empty.json")
    with open(path, "w") as f:
        json.dump({"traceEvents": made_up}, f)
    with open(empty, "w") as f:
        f.write("[]")
    traces = [path, empty] + sorted(glob.glob(os.path.join(data, "traces", "*.json.gz")))
    for trace in traces:
        for options in ([], ["--by-operator"], ["--wall-time", "0.01", "--top", "3"], ["--window", "device"]):
            check([trace] + options)
        check(["--diff", path, trace])
    figures = check([path, "--by-operator"])
    assert figures["operators"][0]["name"] == "aten::mm" and figures["operators"][1]["name"] is None
print(f"{len(traces)} traces agree with the schema")
