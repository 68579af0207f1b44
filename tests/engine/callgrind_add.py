# SPDX-License-Identifier: Apache-2.0
"""Counts the instructions of one call on two small f32 tensors through the C API, and prints them: of add.Tensor on 4 x 4,
of six shapes in turns, of four operators in turns, of both.

usage: callgrind_add.py PROGRAM MOST_INSTRUCTIONS
Exit code 77 (skipped) without valgrind.
"""
import re
import shutil
import subprocess
import sys
import tempfile

program, most = sys.argv[1], int(sys.argv[2])
if shutil.which("valgrind") is None:
    print("skipped: valgrind is not there")
    sys.exit(77)


def instructions(calls, shapes, operators):
    command = [program, str(calls), str(shapes), str(operators)]
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(["valgrind", "--tool=callgrind", f"--callgrind-out-file={folder}/out", *command],
                              capture_output=True, text=True, env={"PATH": "/usr/bin:/bin", "OMP_NUM_THREADS": "1"})
    collected = re.search(r"Collected : (\d+)", done.stderr)
    if done.returncode != 0 or not collected:
        sys.exit(done.stdout + done.stderr)
    return int(collected.group(1))


# The first calls are met for the first time; both counts are multiples of 6 x 4, so that all take part alike.
few, many = 120, 1320
failed = False
for what, shapes, operators in [("add.Tensor on two 4 x 4 f32 tensors", 1, 1), ("six shapes in turns", 6, 1),
                                ("add, mul, sub and div in turns", 1, 4), ("both", 6, 4)]:
    per_call = (instructions(many, shapes, operators) - instructions(few, shapes, operators)) / (many - few)
    print(f"{what}: {per_call:.1f} instructions a call (limit {most})")
    failed = failed or per_call >= most
sys.exit(1 if failed else 0)
